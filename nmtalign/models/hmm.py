"""Attention that remembers where it looked last: a hidden Markov model over source positions.

The observations are the T target words, the states the S source words. In each step attention jumps from
position i to position j with probability ``p(j | i)``, a learned distribution over the width ``j - i``
(Vogel et al. 1996), or stays at i and emits the target word from the null word (Och and Ney 2003).
Everything works on buckets: the last axis B runs over sentence pairs, and every sum runs along another axis,
so that the numbers of a pair do not depend on which pairs it was stacked with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

REACH = 512  # widest jump; a wider one, in a long piece of a longer sentence, counts as this
LONG = 48  # positions from which on products of whole matrices are faster than sums over stacked pairs
TINY = np.float32(1e-35)
HEADROOM = 110  # bits that numbers below 1 may grow by; single precision has 128


class Posterior(NamedTuple):
    """What forward-backward returns.

    Attributes
    ----------
    attention : float32 array of shape (T, S, B)
        ``attention[t, s, b]``: probability that target word t was made by source word s. Rows sum to at most
        1; the rest is the null word.
    jumps : array or None
        Expected jumps, as :meth:`Walk.meetings` gives them; None if they are not counted.
    log_likelihood : float64 array of shape (B,)
        Over that of null alone.
    """

    attention: Floats
    jumps: Any
    log_likelihood: NDArray[np.float64]


class Walk(Protocol):
    """How attention moves over the source words of a bucket, from before the sentence (0) to its end.

    Attributes
    ----------
    start : float32 array of shape (B,)
        Weight of position 0.
    stop : float32 array of shape (S + 1, B)
        Weight of ending the sentence from each position.
    """

    @property
    def start(self) -> Floats: ...

    @property
    def stop(self) -> Floats: ...

    def first(self, out: Floats) -> None:
        """Write what goes from the start to each word, (S, B)."""

    def onward(self, x: Floats, out: Floats) -> None:
        """Write the sum over positions i of ``x[i] p(j|i)``, (S, B)."""

    def backward(self, x: Floats) -> Floats:
        """Return the sum over words j of ``p(j|i) x[j]``, (S + 1, B)."""

    def meetings(self, before: Floats, ahead: Floats, ends: Floats, columns: slice) -> Any:
        """Return expected jumps of C columns of the bucket.

        Those from i to j are the sum over t of ``before[t, i] p(j|i) ahead[t, j]``, with shapes (T, S + 1, C)
        and (T, S, C); those to the end of the sentence are `ends`, (S + 1, C).
        """


def forward_backward(odds: Floats, walk: Walk, *, counted: slice | None = None) -> Posterior:
    """Run the forward-backward algorithm on a bucket of sentence pairs.

    Parameters
    ----------
    odds : array of shape (T, S, B)
        How likely target word t is under source word s, divided by how likely it is under null (times the
        probability of null); 0 in padded cells. So a word that null emits, or that is padding, changes
        nothing.
    walk : Walk
        Its probabilities to jump are times the probability not to emit from null.
    counted : slice, optional
        Columns whose expected jumps are wanted, too.

    Returns
    -------
    Posterior
        ``attention.sum(axis=1)`` is 1 minus the probability of null. The log-likelihood is that over null:
        of all target words made by null it would be the logarithm of ``start * stop[0]``.

    Notes
    -----
    Numbers only grow from word to word. Each time they might come near the end of single precision, they are
    divided by a power of two, which rounds nothing.

    References
    ----------
    Rabiner (1989), equations 18 to 38, with the scaling of section V.A.
    """
    T, S, B = odds.shape
    often = _steps_to_overflow(odds)
    before = np.empty((T + 1, S + 1, B), dtype=np.float32)  # p(position, words so far) over null, scaled
    before[0] = 0
    before[0, 0] = walk.start
    attention, made = np.empty((T, S, B), dtype=np.float32), np.empty((S, B), dtype=np.float32)
    scales: dict[int, Floats] = {}
    exponents = np.zeros(B, dtype=np.int64)
    walk.first(attention[0])
    for t in range(T):
        here = before[t + 1]
        if t:
            walk.onward(before[t], attention[t])
        np.multiply(attention[t], odds[t], out=made)
        here[0] = before[t, 0]
        np.add(before[t, 1:], made, out=here[1:])
        if t % often == often - 1:
            powers = np.frexp(np.maximum.reduce(here, axis=0))[1]
            scales[t] = np.ldexp(np.float32(1), -powers)
            here *= scales[t]
            exponents += powers
    total = np.maximum(np.einsum("ib,ib->b", before[T], walk.stop), TINY)
    after = walk.stop / total  # (S + 1, B)
    ends = before[T] * after
    columns = range(B)[counted] if counted else range(0)
    ahead = np.empty((T, S, len(columns)), dtype=np.float32)
    for t in range(T - 1, -1, -1):
        if t in scales:
            after *= scales[t]
        np.multiply(odds[t], after[1:], out=made)
        attention[t] *= made
        if counted:
            ahead[t] = made[:, counted]
        if t:
            after += walk.backward(made)
    jumps = walk.meetings(before[:T, :, counted], ahead, ends[:, counted], counted) if counted else None
    return Posterior(attention, jumps, np.log(total.astype(np.float64)) + exponents * math.log(2))


def _steps_to_overflow(odds: Floats) -> int:
    """Return after how many steps numbers that start below 1 may have grown by `HEADROOM` bits."""
    return max(1, int(HEADROOM / math.log2(1 + float(odds.max(initial=0)) + 1e-3)))


@dataclass(frozen=True, eq=False)
class OwnWalk:
    """A walk with transitions of its own for each sentence.

    Attributes
    ----------
    transition : array of shape (S + 1, S, B)
        Probability to jump from position i (0 = before the sentence) to word j.
    stop : array of shape (S + 1, B)
        Probability to end the sentence from position i.
    """

    transition: Floats
    stop: Floats

    @property
    def start(self) -> Floats:
        return np.ones(self.stop.shape[1], dtype=np.float32)

    @cached_property
    def _matrices(self) -> Floats | None:
        """The transitions by pair, (B, S + 1, S), where products of them are faster than sums over pairs."""
        if self.transition.shape[1] < LONG:
            return None
        return np.ascontiguousarray(self.transition.transpose(2, 0, 1))

    def first(self, out: Floats) -> None:
        out[...] = self.transition[0]

    def onward(self, x: Floats, out: Floats) -> None:
        if self._matrices is None:
            np.einsum("ib,ijb->jb", x, self.transition, out=out)
        else:
            out[...] = np.matmul(np.ascontiguousarray(x.T)[:, None, :], self._matrices)[:, 0, :].T

    def backward(self, x: Floats) -> Floats:
        if self._matrices is None:
            return np.asarray(np.einsum("ijb,jb->ib", self.transition, x))
        return np.asarray(np.matmul(self._matrices, np.ascontiguousarray(x.T)[:, :, None])[:, :, 0].T)

    def meetings(self, before: Floats, ahead: Floats, ends: Floats, columns: slice) -> Floats:
        """Return expected jumps of each pair, (S + 1, S + 1, C); the last are to the end of the sentence."""
        jumps = np.empty((len(ends), len(ends), ends.shape[1]), dtype=np.float32)
        if self._matrices is None:
            np.einsum("tib,tjb->ijb", np.ascontiguousarray(before), ahead, out=jumps[:, :-1])
        else:
            products = np.matmul(before.transpose(2, 1, 0), ahead.transpose(2, 0, 1))  # (B, S + 1, S)
            jumps[:, :-1] = products.transpose(1, 2, 0)
        jumps[:, :-1] *= self.transition[..., columns]
        jumps[:, -1] = ends
        return jumps


@dataclass(frozen=True)
class Jumps:
    """Jump distributions of one direction.

    Attributes
    ----------
    tables : float32 array of shape (K, 2 * REACH + 1)
        Row k: relative weight of each jump width -REACH..REACH for words of class k. Class 0 is the start of
        the sentence.
    classes : int32 array of shape (V + 1,)
        Class of each word by its number.
    """

    tables: Floats
    classes: NDArray[np.int32]

    @cached_property
    def sums(self) -> Floats:
        """Running sums of the tables from the left, with a 0 in front, shape (K, 2 * REACH + 2)."""
        sums = np.zeros((len(self.tables), self.tables.shape[1] + 1))
        np.cumsum(self.tables, axis=1, out=sums[:, 1:])
        return sums.astype(np.float32)

    def renumbered(self, numbers: NDArray[np.integer]) -> Jumps:
        """Return the jumps for other word numbers; `numbers` gives the old number of each word, or -1."""
        rare = len(self.tables) - 1
        return Jumps(self.tables, np.where(numbers >= 0, self.classes[numbers], rare).astype(np.int32))


def initial_jumps(vocabulary: int, own: int) -> Jumps:
    """Return jumps that prefer one step ahead; the `own` most frequent words get tables of their own."""
    widths = np.arange(-REACH, REACH + 1)
    table = np.exp(-np.abs(widths - 1) / 2) + 1e-3
    classes = np.minimum(np.arange(vocabulary + 1), own + 1).astype(np.int32)
    return Jumps(np.tile((table / table.sum()).astype(np.float32), (own + 2, 1)), classes)


def walk_by(jumps: Jumps, source: NDArray[np.int32], lengths: NDArray[np.int64], p0: float) -> OwnWalk:
    """Return the walk over the source words (S, B) of a bucket; `p0` is the probability of null."""
    S, B = source.shape
    tables = jumps.tables
    width = tables.shape[1]
    classes = np.zeros((S + 1, B), dtype=np.intp)
    classes[1:] = jumps.classes[source]
    i = np.arange(S + 1)[:, None]  # (S + 1, 1)
    start = np.maximum(1 - i + REACH, 0)  # entry of the jump to position 1
    end = np.clip(lengths - i + 1 + REACH, 0, width - 1)  # entry of the jump to the end, (S + 1, B)
    flat = jumps.sums.ravel()
    row = classes * (width + 1)
    inverse = 1 / np.maximum(flat[row + end + 1] - flat[row + start], TINY)  # (S + 1, B)
    inverse[i > lengths] = 0
    near = np.arange(1 - S, S + 1).clip(-REACH, REACH) + REACH  # entries of the widths 1 - S to S
    by_width = np.ascontiguousarray(tables[:, near].T)  # (2 S, K)
    transition = np.empty((S + 1, S, B), dtype=np.float32)
    for k in range(S + 1):  # from position k to the words, by widths 1 - k to S - k
        np.take(by_width[S - k : 2 * S - k], classes[k], axis=1, out=transition[k], mode="clip")
    transition *= ((1 - p0) * inverse)[:, None, :]
    return OwnWalk(transition, tables.ravel().take(classes * width + end) * inverse)


def widths(
    expected: Floats, source: NDArray[np.int32], lengths: NDArray[np.int64], jumps: Jumps
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return expected jumps (S + 1, S + 1, B) as places in the flattened tables, and what to add there.

    Each place is there once: that is much less to send between processes.
    """
    S1, _, B = expected.shape
    width = jumps.tables.shape[1]
    row = np.zeros((S1, B), dtype=np.int64)
    row[1:] = jumps.classes[source]
    row *= width
    i = np.arange(S1)[:, None]
    entry = np.clip(np.arange(1, S1 + 1)[None, :] - i + REACH, 0, width - 1)  # (S + 1, S + 1)
    place = row[:, None, :] + entry[:, :, None]  # (S + 1, S + 1, B)
    place[:, -1, :] = row + np.clip(lengths - i + 1 + REACH, 0, width - 1)
    kept = (expected > 1e-3) & (lengths > 0)
    counts = np.asarray(np.bincount(place[kept], expected[kept], jumps.tables.size), dtype=np.float64)
    found = np.flatnonzero(counts).astype(np.int64)
    return found, counts[found]


def _smooth(counts: NDArray[np.float64], near: int = 9) -> NDArray[np.float64]:
    """Spread the counts of far jumps evenly over widths that grow with the distance, along the last axis."""
    result = counts.copy()
    a = near
    while a <= REACH:
        b = min(int(1.3 * a) + 1, REACH)
        for low, high in ((REACH + a, REACH + b), (REACH - b, REACH - a)):
            result[..., low : high + 1] = counts[..., low : high + 1].mean(axis=-1, keepdims=True)
        a = b + 1
    return result


def estimate_jumps(counts: NDArray[np.float64], jumps: Jumps, *, strength: float = 50.0) -> Jumps:
    """Return jump tables from expected counts; a word's own table is weighted n / (n + strength)."""
    smooth = _smooth(counts.reshape(jumps.tables.shape))
    pooled = smooth.sum(axis=0)
    pooled = pooled / max(pooled.sum(), 1e-9) + 1e-7
    pooled /= pooled.sum()
    n = smooth.sum(axis=1, keepdims=True)
    own = smooth / np.maximum(n, 1e-9)
    weight = n / (n + strength)
    return Jumps((weight * own + (1 - weight) * pooled).astype(np.float32), jumps.classes)
