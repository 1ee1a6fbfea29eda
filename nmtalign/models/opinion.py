"""A second opinion on links: a small additive scorer that sees the whole matrix at once.

Attention with memory walks through a sentence word by word. The second opinion looks at every cell of the
matrix of log ratios together with its neighbours, with the best of its row and of its column and with its
place, by Bahdanau's alignment model with one hidden layer over these clues,

    e(t, s) = v . tanh(P phi(t, s) + b) + u . phi(t, s)

and a softmax over the source words, one over the target words, each with a score of the null word. It is
learned from the links that both directions of the learned aligner agree on (distilled; no hand-made links),
and then joined with them: the logarithms of the probabilities are averaged, the null word is one outcome.

Axes: T target words, S source words, B pairs of a bucket (last, so that a pair gets the same bits with any
company), F clues, H hidden units, N cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.adam import Adam
from nmtalign.models.corpus import Bucket
from nmtalign.models.lexicon import Emissions

Floats = NDArray[np.float32]
Array = NDArray[np.floating]

CLUES = 12
HIDDEN = 16
SCALE = np.float32(0.4)  # of log ratios: brings them to the size of the other clues
LEAST = np.float32(1e-6)  # ratio, and probability
OUTSIDE = np.float32(-20)  # scaled log ratio of cells that are not there, where a maximum is taken
LOWEST = np.float32(-2)  # clue of neighbours
BLOCK = 2048  # cells of one matrix product: of one shape always, so that a cell gets the same bits anywhere
BATCH = 48  # pairs of one step, all of one bucket
CELLS = 3_000_000  # cells seen in training
RATE, LAST_RATE = 0.01, 0.05  # first learning rate, and the last as a share of it
HELD_OUT = 20  # one batch in so many is kept to see when to stop
PATIENCE = 2  # passes without progress before training stops


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


class Weights(NamedTuple):
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


def initial_weights(seed: int) -> Weights:
    """Return random weights that prefer high ratios near the diagonal."""
    random = np.random.default_rng(seed)
    hidden = random.normal(0, 0.3, (HIDDEN, CLUES))
    bias = random.normal(0, 0.5, (HIDDEN, 1))
    output = random.normal(0, HIDDEN**-0.5, HIDDEN)
    direct = np.zeros(CLUES)
    direct[1:3] = -1, 2
    arrays = (hidden, bias, output, direct, np.zeros(3), np.zeros(3))
    return Weights(*(a.astype(np.float32) for a in arrays))


def scores(weights: Weights, cells: Array) -> Array:
    """Return e of cells (F, T, S, B), shape (T, S, B), in blocks of one size."""
    flat = cells.reshape(len(cells), -1)  # (F, N)
    layers = np.concatenate([weights.hidden, weights.direct[None]])  # (H + 1, F)
    found = np.empty(flat.shape[1], cells.dtype)
    for start in range(0, len(found), BLOCK):
        block = flat[:, start : start + BLOCK]
        n = block.shape[1]
        if n < BLOCK:
            block = np.pad(block, ((0, 0), (0, BLOCK - n)))
        both = layers @ block  # (H + 1, BLOCK)
        hidden = both[:-1]
        hidden += weights.bias
        np.tanh(hidden, out=hidden)
        found[start : start + n] = (weights.output @ hidden + both[-1])[:n]
    return found.reshape(cells.shape[1:])


class Logs(NamedTuple):
    """Logarithms of probabilities over the words of one side, and of the null word: (T, S, B), (rows, B)."""

    words: Array
    null: Array


def _log_softmax(e: Array, null: Array, axis: int) -> Logs:
    top = np.maximum(e.max(axis=axis), null)
    exps = np.exp(e - np.expand_dims(top, axis))
    top = top + np.log(exps.sum(axis=axis) + np.exp(null - top))
    return Logs(e - np.expand_dims(top, axis), null - top)


def log_attention(weights: Weights, seen: Clues, e: Array) -> tuple[Logs, Logs]:
    """Return log p(s|t) and log p(t|s) from scores (T, S, B)."""
    inside = np.where(seen.inside, e, e.dtype.type(-60))
    target_null = np.einsum("c,ctb->tb", weights.target_null, seen.target)
    source_null = np.einsum("c,csb->sb", weights.source_null, seen.source)
    return _log_softmax(inside, target_null, 1), _log_softmax(inside, source_null, 0)


@dataclass(frozen=True, eq=False)
class Opinion:
    """A second opinion and how much it counts.

    Attributes
    ----------
    weights : Weights
    share : float
        Of the opinion in the logarithms of the probabilities, from 0 to 1.
    """

    weights: Weights
    share: float

    def attend(self, seen: Clues) -> tuple[Floats, Floats]:
        """Return the opinion alone: p(s|t) and p(t|s), each (T, S, B)."""
        forward, reverse = log_attention(self.weights, seen, scores(self.weights, seen.cells))
        return np.exp(forward.words) * seen.inside, np.exp(reverse.words) * seen.inside

    def join(self, seen: Clues, forward: Floats, reverse: Floats) -> tuple[Floats, Floats]:
        """Return p(s|t) and p(t|s) joined with the opinion; rows and columns still sum to 1 with null.

        Proportional to ``p^(1 - share) opinion^share``, the null word being one of the outcomes.
        """
        own = log_attention(self.weights, seen, scores(self.weights, seen.cells))
        return (
            self._product(forward, own[0], 1) * seen.inside,
            self._product(reverse, own[1], 0) * seen.inside,
        )

    def _product(self, p: Floats, opinion: Logs, axis: int) -> Floats:
        share = np.float32(self.share)
        null = np.log(np.maximum(1 - p.sum(axis=axis), LEAST))
        null = np.exp((1 - share) * null + share * opinion.null)
        joint = np.log(np.maximum(p, LEAST * LEAST))
        joint *= 1 - share
        joint += share * opinion.words
        np.exp(joint, out=joint)
        joint[p == 0] = 0
        total = joint.sum(axis=axis) + null
        joint /= np.expand_dims(total, axis)
        return np.asarray(joint, dtype=np.float32)


class Lesson(NamedTuple):
    """Some pairs of one bucket to learn from.

    Attributes
    ----------
    seen : Clues
    forward, reverse : arrays of shape (T, S, B)
        What p(s|t) and p(t|s) ought to be.
    """

    seen: Clues
    forward: Array
    reverse: Array


def lessons(bucket: Bucket, seen: Clues, forward: Floats, reverse: Floats) -> Iterator[Lesson]:
    """Cut a bucket into lessons: the links that p(s|t) and p(t|s), each (T, S, B), agree on."""
    agreed = np.sqrt(forward * reverse)
    targets = [agreed / np.maximum(agreed.sum(axis=axis, keepdims=True), 1) for axis in (1, 0)]
    for start in range(0, int((bucket.pairs >= 0).sum()), BATCH):
        chosen = slice(start, start + BATCH)
        part = (np.ascontiguousarray(a[..., chosen]) for a in (*seen, *targets))
        cells, target, source, inside, first, second = part
        yield Lesson(Clues(cells, target, source, inside), first, second)


def loss_and_gradient(weights: Weights, lesson: Lesson) -> tuple[float, Weights]:
    """Return the cross-entropy of a lesson a target word, and its gradient.

    With R the opinion and Q the lesson, of either direction, dL/de = (R1 - Q1) + (R2 - Q2).
    """
    seen = lesson.seen
    flat = seen.cells.reshape(len(seen.cells), -1)  # (F, N)
    hidden = np.tanh(weights.hidden @ flat + weights.bias)  # (H, N)
    e = (weights.output @ hidden + weights.direct @ flat).reshape(seen.inside.shape)
    words = seen.target[0].sum()
    loss, slope, nulls = 0.0, np.zeros_like(e), []
    wanted = lesson.forward, lesson.reverse
    there = seen.target[0], seen.source[0]
    for logs, own, words_there, axis in zip(
        log_attention(weights, seen, e), wanted, there, (1, 0), strict=True
    ):
        own_null = words_there - own.sum(axis=axis)
        loss -= float((own * logs.words).sum() + (own_null * logs.null).sum())
        slope += np.exp(logs.words) * np.expand_dims(words_there, axis) - own
        nulls.append(np.exp(logs.null) * words_there - own_null)
    d = (slope * seen.inside).ravel() / words
    back = (1 - hidden * hidden) * (weights.output[:, None] * d)  # (H, N)
    return loss / words, Weights(
        back @ flat.T,
        back.sum(axis=1, keepdims=True),
        hidden @ d,
        flat @ d,
        np.einsum("ctb,tb->c", seen.target, nulls[0]) / words,
        np.einsum("csb,sb->c", seen.source, nulls[1]) / words,
    )


def distil(
    taught: Iterable[Lesson],
    *,
    seed: int,
    report: Callable[[str], None] | None = None,
) -> Weights:
    """Learn a second opinion from lessons, with Adam, until held-out lessons are told no better.

    Parameters
    ----------
    taught : iterable of Lesson
        Held in memory, about 60 bytes a cell.
    seed : int
    report : callable, optional
        Called with a line of text at the end.

    References
    ----------
    Hinton, Vinyals and Dean (2015), "Distilling the Knowledge in a Neural Network"; Bahdanau, Cho and Bengio
    (2014), A.1.2, for the score.
    """
    everything = list(taught)
    random = np.random.default_rng(seed)
    order = random.permutation(len(everything))
    held = [everything[k] for k in order[::HELD_OUT]]
    training = [everything[k] for place, k in enumerate(order) if place % HELD_OUT] or held
    passes = min(max(CELLS // max(sum(lesson.forward.size for lesson in training), 1), 2), 10)
    weights = initial_weights(seed)
    adam = Adam(weights)
    best, least, waited, step = weights, np.inf, 0, 0
    for _ in range(passes):
        for k in random.permutation(len(training)):
            _, gradient = loss_and_gradient(weights, training[k])
            rate = RATE * (1 - (1 - LAST_RATE) * step / (passes * len(training)))
            adam.descend(gradient, rate)
            step += 1
        loss = float(np.mean([loss_and_gradient(weights, lesson)[0] for lesson in held]))
        waited = 0 if loss < least else waited + 1
        if loss < least:
            best, least = Weights(*(w.copy() for w in weights)), loss
        if waited == PATIENCE:
            break
    if report is not None:
        report(f"second opinion: {step} steps, held-out cross-entropy {least:.4f} a word")
    return best
