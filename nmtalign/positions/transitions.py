"""HMM transition model: distributions of the jump width.

From source position i, attention jumps to position j with probability ``p(j | i)``, a learned distribution
over the jump width ``j - i`` (Vogel et al. 1996), or stays at i while the target word is emitted by the null
word (Och and Ney 2003). Frequent words have distributions of their own.

Axes: B pairs of a bucket (last, so that the numbers of a pair do not depend on the other pairs), S source
words, K classes of words, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmtalign.arrays import Doubles, Floats, Integers, Ints, Longs
from nmtalign.corpus.buckets import LONG

MAX_JUMP = 512  # widest jump; wider jumps count as this one
NEAR = 9  # counts of jumps of at least this width are smoothed
STRENGTH = 50.0  # weight of the table of all words, in jumps, against the table of one word
TINY = np.float32(1e-35)


@dataclass(frozen=True, eq=False, repr=False)
class Transitions:
    """Transition probabilities of the sentences of a bucket."""

    # (S + 1, S, B): probability to jump from position i (0 = before the sentence) to word j
    transition: Floats
    stop: Floats  # (S + 1, B): probability to end the sentence from position i

    @cached_property
    def _matrices(self) -> Floats | None:
        """The transitions by pair, (B, S + 1, S), for long sentences, where matrix products are faster."""
        if self.transition.shape[1] < LONG:
            return None
        return np.ascontiguousarray(self.transition.transpose(2, 0, 1))

    def forward(self, x: Floats, out: Floats) -> None:
        """Write ``sum over i of x[i] p(j | i)``, shape (S, B), for x of shape (S + 1, B)."""
        if self._matrices is None:
            np.einsum("ib,ijb->jb", x, self.transition, out=out)
        else:
            out[...] = np.matmul(np.ascontiguousarray(x.T)[:, None, :], self._matrices)[:, 0, :].T

    def backward(self, x: Floats) -> Floats:
        """Return ``sum over j of p(j | i) x[j]``, shape (S + 1, B), for x of shape (S, B)."""
        if self._matrices is None:
            return np.asarray(np.einsum("ijb,jb->ib", self.transition, x))
        return np.asarray(np.matmul(self._matrices, np.ascontiguousarray(x.T)[:, :, None])[:, :, 0].T)

    def expected_jumps(self, alpha: Floats, beta: Floats, ends: Floats) -> Floats:
        """Return the expected jumps of the bucket, shape (S + 1, S + 1, B).

        Jumps from i to j are the sum over t of ``alpha[t, i] p(j | i) beta[t, j]``, with shapes (T, S + 1, B)
        and (T, S, B). Jumps to the end of the sentence, the last column, are `ends` (S + 1, B).
        """
        jumps = np.empty((len(ends), len(ends), ends.shape[1]), dtype=np.float32)
        if self._matrices is None:
            np.einsum("tib,tjb->ijb", alpha, beta, out=jumps[:, :-1])
        else:
            products = np.matmul(alpha.transpose(2, 1, 0), beta.transpose(2, 0, 1))  # (B, S + 1, S)
            jumps[:, :-1] = products.transpose(1, 2, 0)
        jumps[:, :-1] *= self.transition
        jumps[:, -1] = ends
        return jumps


@dataclass(frozen=True, eq=False, repr=False)
class TransitionModel:
    """Transition model of one direction: distributions of the jump width by class of word."""

    # (K, 2 * MAX_JUMP + 1): weight of each jump width from words of class k; class 0 is the sentence start
    tables: Floats
    classes: Ints  # (V + 1,): class of each word by its number

    @cached_property
    def sums(self) -> Doubles:
        """Running sums of the tables from the left, with a 0 in front, shape (K, 2 * MAX_JUMP + 2).

        In double precision, because the difference of two sums may be small.
        """
        sums = np.zeros((len(self.tables), self.tables.shape[1] + 1))
        np.cumsum(self.tables, axis=1, dtype=np.float64, out=sums[:, 1:])
        return sums

    def renumbered(self, numbers: Integers) -> TransitionModel:
        """Return the model for other word numbers; `numbers` holds the old number of each word, or -1."""
        rare = len(self.tables) - 1
        classes = np.where(numbers >= 0, self.classes[numbers], rare).astype(np.int32)
        found = TransitionModel(self.tables, classes)
        found.__dict__["sums"] = self.sums  # same tables, and computing sums is slow
        return found


def initial_transitions(vocabulary: int, own: int) -> TransitionModel:
    """Return a model that prefers one step ahead; each of the `own` most frequent words has a table."""
    widths = np.arange(-MAX_JUMP, MAX_JUMP + 1)
    table = np.exp(-np.abs(widths - 1) / 2) + 1e-3
    classes = np.minimum(np.arange(vocabulary + 1), own + 1).astype(np.int32)
    return TransitionModel(np.tile((table / table.sum()).astype(np.float32), (own + 2, 1)), classes)


def bucket_transitions(model: TransitionModel, source: Ints, lengths: Longs, null: float) -> Transitions:
    """Return the transitions, times 1 - `null`, between source words (S, B), in sentences of `lengths`."""
    S, B = source.shape
    tables = model.tables
    width = tables.shape[1]
    classes = np.zeros((S + 1, B), dtype=np.intp)
    classes[1:] = model.classes[source]
    i = np.arange(S + 1)[:, None]  # (S + 1, 1)
    start = np.maximum(1 - i + MAX_JUMP, 0)  # entry of the jump to position 1
    end = np.clip(lengths - i + 1 + MAX_JUMP, 0, width - 1)  # entry of the jump to the end, (S + 1, B)
    flat = model.sums.ravel()
    row = classes * (width + 1)
    inverse = (1 / np.maximum(flat[row + end + 1] - flat[row + start], TINY)).astype(np.float32)  # (S + 1, B)
    inverse[i > lengths] = 0
    near = np.arange(1 - S, S + 1).clip(-MAX_JUMP, MAX_JUMP) + MAX_JUMP  # entries of the widths 1 - S to S
    by_width = np.ascontiguousarray(tables[:, near].T)  # (2 S, K)
    transition = np.empty((S + 1, S, B), dtype=np.float32)
    for k in range(S + 1):  # from position k to the words, by widths 1 - k to S - k
        np.take(by_width[S - k : 2 * S - k], classes[k], axis=1, out=transition[k], mode="clip")
    transition *= ((1 - null) * inverse)[:, None, :]
    return Transitions(transition, tables.ravel().take(classes * width + end) * inverse)


def jump_counts(
    expected: Floats, source: Ints, lengths: Longs, model: TransitionModel
) -> tuple[Longs, Doubles]:
    """Return expected jumps (S + 1, S + 1, B) as indices into the flattened tables, distinct, and counts."""
    S1, _, B = expected.shape
    reach = min(S1, MAX_JUMP)
    near = 2 * reach + 1  # widths from -reach to reach; a small table stays in the cache
    row = np.zeros((S1, B), dtype=np.int32)
    row[1:] = model.classes.take(source)
    row *= near
    i = np.arange(S1, dtype=np.int32)[:, None]
    entry = np.clip(i.T + 1 - i, -reach, reach) + reach  # (S + 1, S + 1)
    indices = row[:, None, :] + entry[:, :, None]  # (S + 1, S + 1, B)
    indices[:, -1, :] = row + (np.clip(lengths - i + 1, -reach, reach) + reach)
    kept = np.flatnonzero((expected > 1e-3) & (lengths > 0))
    counts = np.bincount(indices.take(kept), expected.take(kept), len(model.tables) * near)
    found = np.flatnonzero(counts).astype(np.int64)
    words, width = np.divmod(found, near)
    return words * model.tables.shape[1] + (width + MAX_JUMP - reach), counts[found].astype(np.float64)


def _smooth(counts: Doubles) -> Doubles:
    """Spread the counts of far jumps evenly over widths that grow with the distance, along the last axis."""
    result, a = counts.copy(), NEAR
    while a <= MAX_JUMP:
        b = min(int(1.3 * a) + 1, MAX_JUMP)
        for low, high in ((MAX_JUMP + a, MAX_JUMP + b), (MAX_JUMP - b, MAX_JUMP - a)):
            result[..., low : high + 1] = counts[..., low : high + 1].mean(axis=-1, keepdims=True)
        a = b + 1
    return result


def estimate_transitions(counts: Doubles, model: TransitionModel) -> TransitionModel:
    """M-step: return a transition model from expected jumps.

    A word's own table is interpolated with that of all words, with weight ``n / (n + STRENGTH)`` for n jumps.
    """
    smooth = _smooth(counts.reshape(model.tables.shape))
    pooled = smooth.sum(axis=0)
    pooled = pooled / max(pooled.sum(), 1e-9) + 1e-7
    pooled /= pooled.sum()
    n = smooth.sum(axis=1, keepdims=True)
    own = smooth / np.maximum(n, 1e-9)
    weight = n / (n + STRENGTH)
    return TransitionModel((weight * own + (1 - weight) * pooled).astype(np.float32), model.classes)
