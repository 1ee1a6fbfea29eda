"""Expected links of stacks of sentence pairs, given how likely words are as translations.

Where all words have one jump distribution, a jump from i to j depends on the sentence only by its length:

    p(j | i, length) = w(j - i) / sum over j' = 1..length + 1 of w(j' - i)

so the steps of forward-backward are products of one matrix w for all pairs of a stack, between factors of the
positions. That is much faster than the general form of :mod:`nmtalign.models.hmm`, and rounds a pair by its
company, which training does not mind.

Axes: T target words, S source words, B sentence pairs of a stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.corpus import Bucket, EncodedSide
from nmtalign.models.hmm import REACH, TINY, Jumps, estimate_jumps, initial_jumps

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]

DIAGONAL = 6.0  # sharpness of the positions before jumps are known


class Expected(NamedTuple):
    """Expected links of a stack by direction, shape (T, S, B)."""

    forward: Floats
    reverse: Floats


def diagonal_links(stack: Bucket, forward: Floats, reverse: Floats, null: float) -> Expected:
    """Return the expected links where attention prefers the diagonal (Dyer, Chahuneau and Smith 2013)."""
    T, S, _ = stack.shape
    across = np.arange(S)[:, None] / stack.source_lengths  # (S, B)
    down = np.arange(T)[:, None] / stack.target_lengths  # (T, B)
    prior = np.exp(-DIAGONAL * np.abs(across - down[:, None])).astype(np.float32)  # (T, S, B)
    prior *= (stack.source > 0) & (stack.target > 0)[:, None]
    links = []
    for ratio, axis in ((forward, 1), (reverse, 0)):
        share = (1 - null) * prior / np.maximum(prior.sum(axis=axis, keepdims=True), 1e-9)
        share *= ratio
        links.append(share / (null + share.sum(axis=axis, keepdims=True)))
    return Expected(*links)


class Positions:
    """The jumps of both directions, estimated while training goes on.

    Parameters
    ----------
    source, target : EncodedSide
    null : float
        Probability of null.
    """

    def __init__(self, source: EncodedSide, target: EncodedSide, null: float) -> None:
        self.null = null
        self.jumps = [initial_jumps(len(side.words) - 1, 0) for side in (source, target)]
        self.counts = [np.zeros(jumps.tables.size) for jumps in self.jumps]

    def expect(self, stack: Bucket, forward: Floats, reverse: Floats, *, count: bool) -> Expected:
        """Return the expected links of a stack by forward-backward.

        Parameters
        ----------
        stack : Bucket
        forward, reverse : arrays of shape (T, S, B)
            Likelihood ratios of target words under source words and the other way round; 0 in padded cells.
        count : bool
            Also count the jumps.
        """
        padded = stack.source == 0, stack.target == 0
        lengths = stack.source_lengths, stack.target_lengths
        ratios = forward, reverse.transpose(1, 0, 2)
        links = [
            self._attend(k, ratios[k], lengths[k], padded[k], padded[1 - k], count=count) for k in (0, 1)
        ]
        return Expected(links[0], links[1].transpose(1, 0, 2))

    def _attend(
        self,
        k: int,
        ratio: Floats,
        lengths: Longs,
        states: NDArray[np.bool_],
        observed: NDArray[np.bool_],
        *,
        count: bool,
    ) -> Floats:
        weights = _Weights(self.jumps[k], lengths, states, self.null)
        null = np.where(observed, np.float32(1), np.float32(self.null))
        return _forward_backward(ratio, weights, null, observed, self.counts[k] if count else None)

    def update(self) -> None:
        """Move the jumps half way to those counted since the last update."""
        for k, jumps in enumerate(self.jumps):
            counted = estimate_jumps(self.counts[k], jumps).tables
            self.jumps[k] = Jumps((jumps.tables + counted) / np.float32(2), jumps.classes)
            self.counts[k][:] = 0


class _Weights:
    """Jumps among the S words of the sentences of a stack.

    ``matrix[i, j] leave[i, b]`` is the probability to jump from position i (0 = before the sentence) to word
    j + 1 and not to emit from null, ``stop[i, b]`` that to end the sentence.
    """

    def __init__(self, jumps: Jumps, lengths: Longs, padded: NDArray[np.bool_], null: float) -> None:
        tables = jumps.tables.ravel()
        width = jumps.tables.shape[1]
        sums = jumps.sums.ravel()
        S = len(padded)
        i = np.arange(S + 1)[:, None]
        row = np.minimum(i, 1)  # the first table is that of the start of the sentence
        self.entry = np.arange(1, S + 1) - i + REACH + row * width  # (S + 1, S)
        self.end = lengths + 1 - i + REACH + row * width  # (S + 1, B)
        self.matrix = tables[self.entry]
        norm = sums[self.end + row + 1] - sums[1 - i + REACH + row * (width + 1)]
        inverse = 1 / np.maximum(norm, TINY)
        inverse[1:][padded] = 0
        self.leave = np.float32(1 - null) * inverse
        self.stop = tables[self.end] * inverse


def _forward_backward(
    emission: Floats,
    jumps: _Weights,
    null: Floats,
    padded: NDArray[np.bool_],
    counts: Doubles | None,
) -> Floats:
    """Return the probability of links (T, S, B), and add the expected jumps to `counts`.

    As :func:`nmtalign.models.hmm.forward_backward`, which has the reference.
    """
    T, S, B = emission.shape
    matrix, leave = jumps.matrix, jumps.leave
    before = np.empty((T + 1, S + 1, B), dtype=np.float32)  # p(position, words so far), scaled
    before[0] = 0
    before[0, 0] = 1
    links = np.empty((T, S, B), dtype=np.float32)
    inverse = np.empty((T, B), dtype=np.float32)
    left = np.empty((S + 1, B), dtype=np.float32)
    for t in range(T):
        made, here, scale = links[t], before[t + 1], inverse[t]
        np.multiply(before[t], leave, out=left)
        np.matmul(matrix.T, left, out=made)
        made *= emission[t]
        np.multiply(before[t], null[t], out=here)
        here[1:] += made
        np.add.reduce(here, axis=0, out=scale)
        np.maximum(scale, TINY, out=scale)
        scale[padded[t]] = 1
        np.divide(1, scale, out=scale)
        here *= scale
    total = np.maximum(np.einsum("ib,ib->b", before[T], jumps.stop), TINY)
    after = jumps.stop / total  # (S + 1, B)
    if counts is not None:
        counts += np.bincount(jumps.end.ravel(), (before[T] * after).ravel(), len(counts))
    ahead = np.empty((T if counts is not None else 1, S, B), dtype=np.float32)
    for t in range(T - 1, -1, -1):
        after *= inverse[t]
        links[t] *= after[1:]
        weighted = ahead[t if counts is not None else 0]
        np.multiply(emission[t], after[1:], out=weighted)
        np.matmul(matrix, weighted, out=left)
        left *= leave
        after *= null[t]
        after += left
    if counts is not None:
        starts = (before[:T] * leave).transpose(1, 0, 2).reshape(S + 1, T * B)
        meetings = matrix * (starts @ ahead.transpose(1, 0, 2).reshape(S, T * B).T)
        counts += np.bincount(jumps.entry.ravel(), meetings.ravel(), len(counts))
    return links
