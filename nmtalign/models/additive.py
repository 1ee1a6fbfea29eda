"""Bahdanau's alignment model over word vectors, with context and positions: the network of a head.

    e(t, s) = v . tanh(W q(t) + U k(s) + p r(t, s) + b) + u1 r(t, s) + u2 |r(t, s)|

q(t) and k(s) are the vectors of a word and of its neighbours, r is how far the cell is from the diagonal. No
table of translations and no cosine: what words mean together is in W, U and v. The
score of the null word is linear in the vector of a word.

All inside of tanh is a sum of something of the target word and something of the source word, a and c; with
``tanh(a + c) = 1 - 2 / (exp(2 a) exp(2 c) + 1)`` a cell takes no exponential, only a product and a quotient.

Axes: T target words, S source words, B pairs of a bucket (last), V words of a text, D dimension, H hidden
units, C places of the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.attention_vectors import WordRows
from nmtalign.models.corpus import Bucket, EncodedSide
from nmtalign.models.lexicon import Emissions
from nmtalign.models.opinion import Array, Counts, Floats, Logs, Run, both_directions

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

HIDDEN = 128
CONTEXT = (-1, 0, 1)
LENGTH = 4.0  # of the vectors that come in
HIGHEST = 40  # exponent: two such powers are multiplied


class WordWeights(NamedTuple):
    """The numbers that are learned.

    Attributes
    ----------
    target, source : arrays of shape (C D, H)
        W and U.
    place, bias, output : arrays of shape (H,)
        p, b and v.
    direct : array of shape (2,)
        u.
    target_null, source_null : arrays of shape (D + 1,)
        The last is added.
    """

    target: Array
    source: Array
    place: Array
    bias: Array
    output: Array
    direct: Array
    target_null: Array
    source_null: Array


def initial_words(dimension: int, seed: int, hidden: int = HIDDEN) -> WordWeights:
    """Return random weights; W = -U, so that equal vectors score alike wherever they lie."""
    random = np.random.default_rng(seed)
    size = len(CONTEXT) * dimension
    target = random.normal(0, size**-0.5, (size, hidden))
    place = random.normal(0, 0.3, hidden)
    bias = random.normal(0, 0.5, hidden)
    output = random.normal(0, hidden**-0.5, hidden)
    nulls = np.zeros((2, dimension + 1))
    arrays = (target, -target, place, bias, output, np.array([0.0, -1.0]), *nulls)
    return WordWeights(*(a.astype(np.float32) for a in arrays))


class Tables(NamedTuple):
    """Vectors of the words of a text, and what they add to the hidden layer from each place of the context.

    Attributes
    ----------
    source_vectors, target_vectors : arrays of shape (V, D)
    source, target : arrays of shape (V, C H + 1)
        The last column is the score of the null word.
    """

    source_vectors: Array
    target_vectors: Array
    source: Array
    target: Array


class SeenWords(NamedTuple):
    """What the network looks at in a bucket: word numbers (S, B) and (T, B), lengths (B,), tables."""

    source: Ints
    target: Ints
    source_lengths: Longs
    target_lengths: Longs
    tables: Tables

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which cells lie inside of the sentences, (T, S, B)."""
        return (self.source > 0) & (self.target > 0)[:, None]

    @property
    def shares(self) -> tuple[Array, Array]:
        """Four times the share of a sentence that lies before each word, (S, B) and (T, B)."""
        found = []
        for words, lengths in ((self.source, self.source_lengths), (self.target, self.target_lengths)):
            share = 4 * (np.arange(len(words))[:, None] + 0.5) / np.maximum(lengths, 1) * (words > 0)
            found.append(share.astype(self.tables.source.dtype))
        return found[0], found[1]

    def part(self, columns: slice) -> SeenWords:
        """Return what is to be seen of some pairs."""
        return self._replace(
            source=np.ascontiguousarray(self.source[:, columns]),
            target=np.ascontiguousarray(self.target[:, columns]),
            source_lengths=self.source_lengths[columns],
            target_lengths=self.target_lengths[columns],
        )


@dataclass(frozen=True, eq=False)
class WordReader:
    """Looks up the words of the buckets of one text."""

    tables: Tables

    def read(self, bucket: Bucket, emission: Floats, words: Emissions) -> SeenWords:
        """Return what the network looks at; the likelihood ratios are not."""
        return SeenWords(
            bucket.source, bucket.target, bucket.source_lengths, bucket.target_lengths, self.tables
        )


@dataclass(frozen=True, eq=False)
class WordNetwork:
    """Bahdanau's alignment model over words, their neighbours and their places.

    Attributes
    ----------
    weights : WordWeights
    source_rows, target_rows : WordRows
        What vectors are made of; they are brought to one length.

    References
    ----------
    Bahdanau, Cho and Bengio (2014), A.1.2.
    """

    weights: WordWeights
    source_rows: WordRows
    target_rows: WordRows

    def reader(self, source: EncodedSide, target: EncodedSide, counts: Counts) -> WordReader:
        """Return what looks up the words of a text."""
        w = self.weights
        vectors = [
            _of_one_length(rows.compose(side.words))
            for rows, side in ((self.source_rows, source), (self.target_rows, target))
        ]
        tables = (_table(vectors[0], w.source, w.source_null), _table(vectors[1], w.target, w.target_null))
        return WordReader(Tables(vectors[0], vectors[1], *tables))

    def replace(self, weights: Sequence[Array]) -> WordNetwork:
        """Return the network with other weights."""
        return WordNetwork(WordWeights(*weights), self.source_rows, self.target_rows)

    def logs(self, seen: SeenWords) -> tuple[Logs, Logs]:
        """Return log p(s|t) and log p(t|s), the same bits for a pair with any company."""
        w, tables = self.weights, seen.tables
        across, down = seen.shares
        target, target_null = _looked_up(tables.target, seen.target)  # (H, T, B), (T, B)
        source, source_null = _looked_up(tables.source, seen.source)
        target, source = _powers(w, target, source, across, down)
        e = _by_place(w, across, down)
        hidden = np.empty_like(e)
        for a, c, v in zip(target, source, w.output, strict=True):
            np.multiply(a[:, None], c, out=hidden)
            hidden += 1
            np.divide(-2 * v, hidden, out=hidden)
            e += hidden
        return both_directions(e + w.output.sum(), target_null, source_null, seen.inside)

    def run(self, seen: SeenWords) -> Run:
        """Return scores and what their gradient takes."""
        w, tables = self.weights, seen.tables
        across, down = seen.shares
        words = (
            _with_context(tables.target_vectors, seen.target),
            _with_context(tables.source_vectors, seen.source),
        )
        layers = np.tensordot(w.target, words[0], (0, 0)), np.tensordot(w.source, words[1], (0, 0))
        target, source = _powers(w, *layers, across, down)
        hidden = target[:, :, None] * source[:, None]  # (H, T, S, B)
        hidden += 1
        np.divide(-2, hidden, out=hidden)
        hidden += 1
        e = np.tensordot(w.output, hidden, (0, 0)) + _by_place(w, across, down)
        return Run(e, _null(words[0], w.target_null), _null(words[1], w.source_null), (hidden, *words))

    def gradient(self, seen: SeenWords, run: Run, d: Array, target: Array, source: Array) -> WordWeights:
        """Return the gradient of a loss, from that by scores (T, S, B) and by null scores (rows, B)."""
        hidden, of_target, of_source = run.hidden
        across, down = seen.shares
        far = across - down[:, None]
        output = hidden.reshape(len(hidden), -1) @ d.ravel()
        back = hidden * hidden
        np.subtract(1, back, out=back)
        back *= d
        back *= self.weights.output[:, None, None, None]
        by_target = back.sum(axis=2).reshape(len(back), -1)  # (H, T B)
        by_source = back.sum(axis=1).reshape(len(back), -1)
        return WordWeights(
            of_target.reshape(len(of_target), -1) @ by_target.T,
            of_source.reshape(len(of_source), -1) @ by_source.T,
            by_source @ across.ravel() - by_target @ down.ravel(),
            by_target.sum(axis=1),
            output,
            np.array([(far * d).sum(), (np.abs(far) * d).sum()], dtype=d.dtype),
            _null_gradient(of_target, target),
            _null_gradient(of_source, source),
        )


def _powers(w: WordWeights, target: Array, source: Array, across: Array, down: Array) -> tuple[Array, Array]:
    """Return exp(2 a) and exp(2 c) of the parts of the hidden layer, (H, T, B) and (H, S, B)."""
    a = target + w.bias[:, None, None]
    a -= w.place[:, None, None] * down
    c = source + w.place[:, None, None] * across
    for part in (a, c):
        part *= 2
        np.clip(part, -HIGHEST, HIGHEST, out=part)
        np.exp(part, out=part)
    return a, c


def _by_place(w: WordWeights, across: Array, down: Array) -> Array:
    """Return what the score gets from the place of a cell alone, (T, S, B)."""
    far = across - down[:, None]
    return np.asarray(w.direct[0] * far + w.direct[1] * np.abs(far))


def _of_one_length(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("vd,vd->v", vectors, vectors))
    return np.asarray(vectors * (np.float32(LENGTH) / np.maximum(lengths, np.float32(1e-9)))[:, None])


def _table(vectors: Floats, weights: Array, null: Array) -> Floats:
    """Return (V, C H + 1): the part of the hidden layer of each place, and the score of null."""
    places = [*weights.reshape(len(CONTEXT), vectors.shape[1], -1), null[:-1, None]]
    matrix = np.concatenate(places, axis=1)  # (D, C H + 1)
    table = np.asarray((vectors[:, None] @ matrix)[:, 0])  # row by row: the same bits anywhere
    table[:, -1] += null[-1]
    return table


def _shifted(words: Ints, by: int) -> Ints:
    """Return the words that stand `by` places after each, 0 beyond the ends; (length, B)."""
    moved = np.zeros_like(words)
    n = len(words)
    moved[max(0, -by) : n - max(0, by)] = words[max(0, by) : n - max(0, -by)]
    return moved


def _looked_up(table: Array, words: Ints) -> tuple[Array, Array]:
    """Return the hidden layer (H, length, B) of words with their neighbours, and their null scores."""
    H = table.shape[1] // len(CONTEXT)
    total = np.zeros((*words.shape, H), table.dtype)
    for k, by in enumerate(CONTEXT):
        total += table[:, k * H : (k + 1) * H][_shifted(words, by)]
    return np.ascontiguousarray(total.transpose(2, 0, 1)), table[:, -1][words]


def _with_context(vectors: Array, words: Ints) -> Array:
    """Return the vectors of words and of their neighbours, (C D, length, B)."""
    places = [vectors[_shifted(words, by)].transpose(2, 0, 1) for by in CONTEXT]
    return np.concatenate(places)


def _own(of_words: Array) -> Array:
    """Return the vectors of the words themselves, (D, length, B)."""
    D = len(of_words) // len(CONTEXT)
    at = CONTEXT.index(0)
    return of_words[at * D : (at + 1) * D]


def _null(of_words: Array, null: Array) -> Array:
    return np.asarray(np.tensordot(null[:-1], _own(of_words), (0, 0)) + null[-1])


def _null_gradient(of_words: Array, d: Array) -> Array:
    return np.append(np.tensordot(_own(of_words), d, ((1, 2), (0, 1))), d.sum())
