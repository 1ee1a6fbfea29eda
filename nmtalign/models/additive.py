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

from nmtalign.models.attention_vectors import WordRows
from nmtalign.models.corpus import EncodedSide
from nmtalign.models.opinion import Array, Counts, Logs, Run, both_directions
from nmtalign.models.seen_words import (
    CONTEXT,
    SeenWords,
    WordReader,
    far,
    looked_up,
    null_gradient,
    null_scores,
    reader_of,
)

HIDDEN = 128
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
        return reader_of(source, target, (self.source_rows, self.target_rows), self.weights)

    def replace(self, weights: Sequence[Array]) -> WordNetwork:
        """Return the network with other weights."""
        return WordNetwork(WordWeights(*weights), self.source_rows, self.target_rows)

    def logs(self, seen: SeenWords) -> tuple[Logs, Logs]:
        """Return log p(s|t) and log p(t|s), the same bits for a pair with any company."""
        w, tables = self.weights, seen.tables
        across, down = seen.shares
        target, target_null = looked_up(tables.target, seen.target)  # (H, T, B), (T, B)
        source, source_null = looked_up(tables.source, seen.source)
        target, source = _powers(w, target, source, across, down)
        e = _by_place(w, across, down)
        hidden = np.empty_like(e)
        for a, c, v in zip(target, source, w.output, strict=True):
            np.multiply(a[:, None], c, out=hidden)
            hidden += 1
            np.divide(-2 * v, hidden, out=hidden)
            e += hidden
        return both_directions(e + w.output.sum(), target_null[0], source_null[0], seen.inside)

    def run(self, seen: SeenWords) -> Run:
        """Return scores and what their gradient takes."""
        w, words = self.weights, seen.vectors
        across, down = seen.shares
        layers = np.tensordot(w.target, words[0], (0, 0)), np.tensordot(w.source, words[1], (0, 0))
        target, source = _powers(w, *layers, across, down)
        hidden = target[:, :, None] * source[:, None]  # (H, T, S, B)
        hidden += 1
        np.divide(-2, hidden, out=hidden)
        hidden += 1
        e = np.tensordot(w.output, hidden, (0, 0)) + _by_place(w, across, down)
        return Run(
            e, null_scores(words[0], w.target_null), null_scores(words[1], w.source_null), (hidden, *words)
        )

    def gradient(self, seen: SeenWords, run: Run, d: Array, target: Array, source: Array) -> WordWeights:
        """Return the gradient of a loss, from that by scores (T, S, B) and by null scores (rows, B)."""
        hidden, of_target, of_source = run.hidden
        across, down = seen.shares
        distance = far(across, down)
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
            np.array([(distance * d).sum(), (np.abs(distance) * d).sum()], dtype=d.dtype),
            null_gradient(of_target, target),
            null_gradient(of_source, source),
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
    distance = far(across, down)
    return np.asarray(w.direct[0] * distance + w.direct[1] * np.abs(distance))
