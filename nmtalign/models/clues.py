"""Clues to links, and a small additive scorer over them: the network of a second opinion.

Attention with memory walks through a sentence word by word. This network looks at every cell of the matrix of
log ratios together with its neighbours, with the best of its row and of its column and with its place, by
Bahdanau's alignment model with one hidden layer over these clues,

    e(t, s) = v . tanh(P phi(t, s) + b) + u . phi(t, s)

Axes: T target words, S source words, B pairs of a bucket (last, so that a pair gets the same bits with any
company), F clues, H hidden units, N cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.corpus import Bucket, EncodedSide
from nmtalign.models.lexicon import Emissions
from nmtalign.models.opinion import LEAST, Array, Counts, Floats, Logs, Run, both_directions

CLUES = 12
HIDDEN = 16
SCALE = np.float32(0.4)  # of log ratios: brings them to the size of the other clues
OUTSIDE = np.float32(-20)  # scaled log ratio of cells that are not there, where a maximum is taken
LOWEST = np.float32(-2)  # clue of neighbours
BLOCK = 512  # cells of one product: of one shape always, so that a cell gets the same bits anywhere


class Facts(NamedTuple):
    """What is known of the words of a text, by word number.

    Attributes
    ----------
    source_counts, target_counts : float32 arrays
        log(count + 1) / 5, the counts those of the bitext that was learned from.
    alike : int array
        Number of the target word that is spelled like a source word, or -1.
    """

    source_counts: Floats
    target_counts: Floats
    alike: NDArray[np.integer]


def facts(
    words: tuple[Sequence[str], Sequence[str]], counts: tuple[NDArray[np.integer], NDArray[np.integer]]
) -> Facts:
    """Return the facts of source and target words, the first of each the padding, from their counts."""
    logs = [(np.log(np.asarray(c) + 1) / 5).astype(np.float32) for c in counts]
    place = {word: k for k, word in enumerate(words[1])}
    return Facts(logs[0], logs[1], np.array([place.get(word, -1) for word in words[0]], dtype=np.int32))


class Clues(NamedTuple):
    """What the second opinion looks at in a bucket.

    Attributes
    ----------
    cells : array of shape (F, T, S, B)
        Zero outside of the sentences.
    target, source : arrays of shapes (3, T, B) and (3, S, B)
        For the null word: 1, log ratio of a word under null, best log ratio of its row or column.
    inside : bool array of shape (T, S, B)
    """

    cells: Array
    target: Array
    source: Array
    inside: NDArray[np.bool_]

    def part(self, columns: slice) -> Clues:
        """Return the clues of some pairs."""
        return Clues(
            np.ascontiguousarray(self.cells[..., columns]),
            np.ascontiguousarray(self.target[..., columns]),
            np.ascontiguousarray(self.source[..., columns]),
            np.ascontiguousarray(self.inside[..., columns]),
        )


def clues(bucket: Bucket, emission: Floats, words: Emissions, known: Facts) -> Clues:
    """Return the clues of a bucket from its likelihood ratios (T, S, B)."""
    T, S, B = emission.shape
    inside = (bucket.source > 0) & (bucket.target > 0)[:, None]
    cells = np.empty((CLUES, T, S, B), np.float32)
    ratio = np.log(np.maximum(emission, LEAST))
    ratio *= SCALE
    ratio[~inside] = OUTSIDE
    best = ratio.max(axis=1, keepdims=True), ratio.max(axis=0, keepdims=True)
    _set_places(cells, bucket)
    cells[2] = ratio
    np.subtract(ratio, best[0], out=cells[3])
    np.subtract(ratio, best[1], out=cells[4])
    framed = np.full((T + 2, S + 2, B), OUTSIDE)
    framed[1:-1, 1:-1] = ratio
    framed /= 2
    np.maximum(framed[1:-1, :-2], framed[1:-1, 2:], out=cells[5])
    np.maximum(framed[:-2, 1:-1], framed[2:, 1:-1], out=cells[6])
    np.maximum(cells[5:7], LOWEST, out=cells[5:7])
    framed[framed == OUTSIDE / 2] = 0
    cells[7] = framed[:-2, :-2]
    cells[8] = framed[2:, 2:]
    cells[9] = known.source_counts[bucket.source]
    cells[10] = known.target_counts[bucket.target][:, None]
    cells[11] = known.alike[bucket.source] == bucket.target[:, None]
    cells *= inside
    target = _null_clues(words.target_null[bucket.target], best[0][:, 0], bucket.target)
    source = _null_clues(words.source_null[bucket.source], best[1][0], bucket.source)
    return Clues(cells, target, source, inside)


def _set_places(cells: Floats, bucket: Bucket) -> None:
    """Fill in how far a cell is from the diagonal, with and without sign."""
    T, S, _ = bucket.shape
    across = (np.arange(S)[:, None] + 0.5) / np.maximum(bucket.source_lengths, 1)  # (S, B)
    down = (np.arange(T)[:, None] + 0.5) / np.maximum(bucket.target_lengths, 1)  # (T, B)
    np.subtract(4 * across, 4 * down[:, None], out=cells[0], casting="same_kind")
    np.abs(cells[0], out=cells[1])


def _null_clues(ratio: Floats, best: Floats, words: NDArray[np.int32]) -> Floats:
    """Return the clues (3, length, B) of the null word for the words of one side."""
    found = np.zeros((3, *words.shape), np.float32)
    found[0] = 1
    found[1] = np.log(np.maximum(ratio, LEAST)) * SCALE
    found[2] = best / 2
    found *= words > 0
    return found


class ClueWeights(NamedTuple):
    """The numbers that are learned.

    Attributes
    ----------
    hidden : array of shape (H, F)
        P.
    bias : array of shape (H, 1)
        b.
    output : array of shape (H,)
        v.
    direct : array of shape (F,)
        u.
    target_null, source_null : arrays of shape (3,)
        Of the clues of the null word.
    """

    hidden: Array
    bias: Array
    output: Array
    direct: Array
    target_null: Array
    source_null: Array


def initial_clues(seed: int) -> ClueWeights:
    """Return random weights that prefer high ratios near the diagonal."""
    random = np.random.default_rng(seed)
    hidden = random.normal(0, 0.3, (HIDDEN, CLUES))
    bias = random.normal(0, 0.5, (HIDDEN, 1))
    output = random.normal(0, HIDDEN**-0.5, HIDDEN)
    direct = np.zeros(CLUES)
    direct[1:3] = -1, 2
    arrays = (hidden, bias, output, direct, np.zeros(3), np.zeros(3))
    return ClueWeights(*(a.astype(np.float32) for a in arrays))


def _tanh(x: Array) -> None:
    """Replace x by ``tanh(x) = 1 - 2 / (exp(2 x) + 1)``, which takes a third of the time of ``np.tanh``."""
    np.clip(x, -10, 10, out=x)
    x *= 2
    np.exp(x, out=x)
    x += 1
    np.divide(-2, x, out=x)
    x += 1


def scores(weights: ClueWeights, cells: Array) -> Array:
    """Return e of cells (F, T, S, B), shape (T, S, B), in blocks of one size."""
    flat = cells.reshape(len(cells), -1)  # (F, N)
    layers = np.concatenate([weights.hidden, weights.direct[None]])  # (H + 1, F)
    found = np.empty(flat.shape[1], cells.dtype)
    for start in range(0, len(found), BLOCK):
        block = flat[:, start : start + BLOCK]
        n = block.shape[1]
        if n < BLOCK:
            block = np.pad(block, ((0, 0), (0, BLOCK - n)))
        both = np.einsum("hf,fn->hn", layers, block)  # a matrix product sums in an order of its own
        hidden = both[:-1]
        hidden += weights.bias
        _tanh(hidden)
        found[start : start + n] = (np.einsum("h,hn->n", weights.output, hidden) + both[-1])[:n]
    return found.reshape(cells.shape[1:])


@dataclass(frozen=True, eq=False)
class ClueReader:
    """Reads the clues of the buckets of one text."""

    known: Facts

    def read(self, bucket: Bucket, emission: Floats, words: Emissions) -> Clues:
        """Return the clues of a bucket from its likelihood ratios (T, S, B)."""
        return clues(bucket, emission, words, self.known)


@dataclass(frozen=True, eq=False)
class ClueNetwork:
    """Bahdanau's alignment model over clues.

    References
    ----------
    Bahdanau, Cho and Bengio (2014), A.1.2.
    """

    weights: ClueWeights

    def reader(self, source: EncodedSide, target: EncodedSide, counts: Counts) -> ClueReader:
        """Return what reads the clues of a text whose words occur so often in what was learned from."""
        return ClueReader(facts((source.words, target.words), counts))

    def replace(self, weights: Sequence[Array]) -> ClueNetwork:
        """Return the network with other weights."""
        return ClueNetwork(ClueWeights(*weights))

    def logs(self, seen: Clues) -> tuple[Logs, Logs]:
        """Return log p(s|t) and log p(t|s), the same bits for a pair with any company."""
        return both_directions(scores(self.weights, seen.cells), *self._nulls(seen), seen.inside)

    def run(self, seen: Clues) -> Run:
        """Return scores and what their gradient takes."""
        flat = seen.cells.reshape(len(seen.cells), -1)  # (F, N)
        hidden = self.weights.hidden @ flat + self.weights.bias  # (H, N)
        _tanh(hidden)
        e = self.weights.output @ hidden + self.weights.direct @ flat
        return Run(e.reshape(seen.inside.shape), *self._nulls(seen), hidden)

    def gradient(self, seen: Clues, run: Run, d: Array, target: Array, source: Array) -> ClueWeights:
        """Return the gradient of a loss, from that by scores (T, S, B) and by null scores (rows, B)."""
        flat, d = seen.cells.reshape(len(seen.cells), -1), d.ravel()
        back = (1 - run.hidden * run.hidden) * (self.weights.output[:, None] * d)  # (H, N)
        return ClueWeights(
            back @ flat.T,
            back.sum(axis=1, keepdims=True),
            run.hidden @ d,
            flat @ d,
            np.einsum("ctb,tb->c", seen.target, target),
            np.einsum("csb,sb->c", seen.source, source),
        )

    def _nulls(self, seen: Clues) -> tuple[Array, Array]:
        return (
            np.einsum("c,ctb->tb", self.weights.target_null, seen.target),
            np.einsum("c,csb->sb", self.weights.source_null, seen.source),
        )
