"""Expected links of stacks of sentence pairs, given how likely words are as translations.

Where all words have one jump distribution, a jump from i to j depends on the sentence only by its length:

    p(j | i, length) = w(j - i) / sum over j' = 1..length + 1 of w(j' - i)

so the steps of forward-backward are products of one matrix w for all pairs of a stack, between factors of the
positions. That is much faster than :class:`~nmtalign.models.hmm.OwnWalk`, and rounds a pair by its
company, which training does not mind.

Axes: T target words, S source words, B sentence pairs of a stack.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.corpus import Bucket, EncodedSide
from nmtalign.models.hmm import REACH, TINY, Jumps, estimate_jumps, forward_backward, initial_jumps

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
        walk = _SharedWalk(self.jumps[k], lengths, states, self.null)
        odds = ratio * walk.leave[1:]
        odds *= np.where(observed, np.float32(1), np.float32(1 / self.null))[:, None, :]
        found = forward_backward(odds, walk, counted=slice(None) if count else None)
        if count:
            self.counts[k] += found.jumps
        return found.attention

    def update(self) -> None:
        """Move the jumps half way to those counted since the last update."""
        for k, jumps in enumerate(self.jumps):
            counted = estimate_jumps(self.counts[k], jumps).tables
            self.jumps[k] = Jumps((jumps.tables + counted) / np.float32(2), jumps.classes)
            self.counts[k][:] = 0


class _SharedWalk:
    """A walk with one matrix for all sentences.

    ``matrix[i, j] leave[i, b]`` is the probability to jump from position i (0 = before the sentence) to word
    j + 1 and not to emit from null. The weight of being at a position is times `leave`, and so are the odds.
    """

    def __init__(self, jumps: Jumps, lengths: Longs, padded: NDArray[np.bool_], null: float) -> None:
        self._tables = jumps.tables.ravel()
        width = jumps.tables.shape[1]
        sums = jumps.sums.ravel()
        S = len(padded)
        i = np.arange(S + 1)[:, None]
        row = np.minimum(i, 1)  # the first table is that of the start of the sentence
        self._entry = np.arange(1, S + 1) - i + REACH + row * width  # (S + 1, S)
        self._end = lengths + 1 - i + REACH + row * width  # (S + 1, B)
        self.matrix = self._tables[self._entry]
        norm = sums[self._end + row + 1] - sums[1 - i + REACH + row * (width + 1)]
        inverse = 1 / np.maximum(norm, TINY)
        inverse[1:][padded] = 0
        self.leave = np.float32(1 - null) * inverse
        self.start = self.leave[0]
        self.stop = self._tables[self._end] / np.float32(1 - null)

    def first(self, out: Floats) -> None:
        np.multiply(self.matrix[0][:, None], self.start, out=out)

    def onward(self, x: Floats, out: Floats) -> None:
        np.matmul(self.matrix.T, x, out=out)

    def backward(self, x: Floats) -> Floats:
        return np.asarray(self.matrix @ x)

    def meetings(self, before: Floats, ahead: Floats, ends: Floats, columns: slice) -> Doubles:
        """Return the expected jumps of all columns, by place in the flattened tables."""
        T, S, B = ahead.shape
        starts = before.transpose(1, 0, 2).reshape(S + 1, T * B)
        jumps = self.matrix * (starts @ ahead.transpose(1, 0, 2).reshape(S, T * B).T)
        found = np.zeros(len(self._tables))
        for place, value in ((self._entry, jumps), (self._end[:, columns], ends)):
            found += np.bincount(place.ravel(), value.ravel(), len(found))
        return found
