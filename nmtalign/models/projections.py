"""Scaled dot-product attention with several heads over word vectors, its projections learned.

Each head h has queries ``q W_h`` of target words and keys ``k U_h`` of source words, with their neighbours,

    e_h(t, s) = (W_h q(t)) . (U_h k(s)) / sqrt(K) + u1_h r(t, s) + u2_h |r(t, s)|

where r is how far the cell is from the diagonal, scores of the null word of its own, and a softmax of its
own; the attention is the mean of the heads'.

Axes: T target words, S source words, B pairs of a bucket (last), A heads, K units of a head, C places of the
context, D dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmtalign.models.attention_vectors import WordRows
from nmtalign.models.corpus import EncodedSide
from nmtalign.models.opinion import Array, Counts, Logs, Run, both_directions, mean_of_heads
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

UNITS = 32  # of each head


class ProjectionWeights(NamedTuple):
    """The numbers that are learned.

    Attributes
    ----------
    target, source : arrays of shape (C D, A K)
        W and U.
    direct : array of shape (A, 2)
        u.
    target_null, source_null : arrays of shape (D + 1, A)
        The last row is added.
    """

    target: Array
    source: Array
    direct: Array
    target_null: Array
    source_null: Array


def initial_projections(dimension: int, heads: int, seed: int) -> ProjectionWeights:
    """Return random projections, one for queries and keys of the words themselves, small ones for others."""
    random = np.random.default_rng(seed)
    own = random.normal(0, UNITS**-0.5, (dimension, heads * UNITS))
    sides = []
    for _ in range(2):
        side = random.normal(0, 0.1 * UNITS**-0.5, (len(CONTEXT), dimension, heads * UNITS))
        side[CONTEXT.index(0)] = own
        sides.append(side.reshape(len(CONTEXT) * dimension, -1))
    direct = np.tile([0.0, -1.0], (heads, 1))
    arrays = (*sides, direct, *np.zeros((2, dimension + 1, heads)))
    return ProjectionWeights(*(a.astype(np.float32) for a in arrays))


@dataclass(frozen=True, eq=False)
class ProjectedNetwork:
    """Multi-head attention over words and their neighbours.

    Attributes
    ----------
    weights : ProjectionWeights
    source_rows, target_rows : WordRows
        What vectors are made of; they are brought to one length.

    References
    ----------
    Vaswani et al. (2017), equation 1 and section 3.2.2.
    """

    weights: ProjectionWeights
    source_rows: WordRows
    target_rows: WordRows

    @property
    def heads(self) -> int:
        """A."""
        return len(self.weights.direct)

    def reader(self, source: EncodedSide, target: EncodedSide, counts: Counts) -> WordReader:
        """Return what looks up the words of a text."""
        return reader_of(source, target, (self.source_rows, self.target_rows), self.weights)

    def replace(self, weights: Sequence[Array]) -> ProjectedNetwork:
        """Return the network with other weights."""
        return ProjectedNetwork(ProjectionWeights(*weights), self.source_rows, self.target_rows)

    def logs(self, seen: SeenWords) -> tuple[Logs, Logs]:
        """Return log p(s|t) and log p(t|s), the same bits for a pair with any company."""
        forward, reverse = self.head_logs(seen)
        return mean_of_heads(forward), mean_of_heads(reverse)

    def head_logs(self, seen: SeenWords) -> tuple[Logs, Logs]:
        """Return log p(s|t) and log p(t|s) of each head, (A, T, S, B) and (A, rows, B)."""
        queries, target_null = looked_up(seen.tables.target, seen.target, self.heads)  # (A K, T, B)
        keys, source_null = looked_up(seen.tables.source, seen.source, self.heads)
        e = self._by_place(seen)
        queries *= np.float32(UNITS**-0.5)
        product = np.empty(e.shape[1:], e.dtype)
        for unit, (q, k) in enumerate(zip(queries, keys, strict=True)):
            np.multiply(q[:, None], k, out=product)
            e[unit // UNITS] += product
        return both_directions(e, target_null, source_null, seen.inside)

    def run(self, seen: SeenWords) -> Run:
        """Return scores (A, T, S, B) and what their gradient takes."""
        w, words = self.weights, seen.vectors
        queries, keys = (
            np.tensordot(side, own, (0, 0)).reshape(self.heads, UNITS, *own.shape[1:])
            for side, own in zip((w.target, w.source), words, strict=True)
        )
        e = _products(queries.transpose(0, 3, 2, 1), keys.transpose(0, 3, 1, 2))  # (A, B, T, S)
        e = np.moveaxis(e, 1, -1) / UNITS**0.5 + self._by_place(seen)
        nulls = null_scores(words[0], w.target_null), null_scores(words[1], w.source_null)
        return Run(e.astype(w.target.dtype), *nulls, (queries, keys, *words))

    def gradient(
        self, seen: SeenWords, run: Run, d: Array, target: Array, source: Array
    ) -> ProjectionWeights:
        """Return the gradient of a loss, from that by scores (A, T, S, B) and null scores (A, rows, B)."""
        queries, keys, of_target, of_source = run.hidden
        scaled = np.moveaxis(d, -1, 1) / UNITS**0.5  # (A, B, T, S)
        by_query = _products(scaled, keys.transpose(0, 3, 2, 1))  # (A, B, T, K)
        by_key = _products(scaled.swapaxes(2, 3), queries.transpose(0, 3, 2, 1))
        distance = far(*seen.shares)
        return ProjectionWeights(
            _by_weights(of_target, by_query),
            _by_weights(of_source, by_key),
            np.stack([(d * distance).sum((1, 2, 3)), (d * np.abs(distance)).sum((1, 2, 3))], axis=1),
            null_gradient(of_target, target),
            null_gradient(of_source, source),
        )

    def _by_place(self, seen: SeenWords) -> Array:
        distance, direct = far(*seen.shares), self.weights.direct[:, :, None, None, None]
        return np.asarray(direct[:, 0] * distance + direct[:, 1] * np.abs(distance))


def _products(left: Array, right: Array) -> Array:
    return np.asarray(np.ascontiguousarray(left) @ np.ascontiguousarray(right))


def _by_weights(of_words: Array, by_units: Array) -> Array:
    """Return the gradient (C D, A K) by a projection, from that by units (A, B, length, K)."""
    A, B, n, K = by_units.shape
    units = by_units.transpose(2, 1, 0, 3).reshape(n * B, A * K)
    return np.asarray(of_words.reshape(len(of_words), n * B) @ units)
