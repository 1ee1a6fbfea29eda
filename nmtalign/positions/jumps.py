"""The jump model: where attention goes next, by the distance to the word where it is now.

From source position i, attention jumps to position j with probability ``p(j | i)``, a learned distribution
over the jump width ``j - i`` (Vogel et al. 1996). Frequent words have distributions of their own. Position 0
is before the sentence, and position (sentence length + 1) is the end of the sentence.

The model is one for each direction. The names are those of the forward direction, in which the source words
are the states; in the reverse direction, the states are the target words.

Axes: B pairs of a bucket (last: no sum runs along it, so the numbers of a pair do not depend on the other
pairs), T observed words, S state words, C classes of words, V words of a
vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Floats, Integers, Ints, Longs
from nmtalign.corpus.buckets import MIN_LONG_WORDS
from nmtalign.state import Stored

MAX_JUMP = 512  # wider jumps count as this one
TABLE_WIDTHS = 2 * MAX_JUMP + 1  # a table has an entry for each width from -MAX_JUMP to MAX_JUMP
MIN_SMOOTHED_JUMP = 9  # counts of jumps of at least this width are smoothed
POOLED_JUMPS = 50.0  # weight of the table of all words, in jumps, against the table of one word
MIN_JUMP_COUNT = 1e-3  # smaller expected counts of jumps are omitted
MIN_TOTAL = np.float32(1e-35)  # keeps divisions finite


def jump_column(widths: AnyArray, reach: int = MAX_JUMP) -> AnyArray:
    """Return the column of each jump width in a table of the widths from -`reach` to `reach`."""
    return np.clip(widths, -reach, reach) + reach


@dataclass(frozen=True, eq=False, repr=False)
class BucketTransitions:
    """Transition probabilities p(j | i) of the sentences of a bucket.

    Those between words have the factor 1 - null, the probability that a word has a partner.
    """

    # (S + 1, S, B): from position i (0 = before the sentence) to word j, which is position j + 1,
    # times 1 - null
    transition: Floats
    stop: Floats  # (S + 1, B): probability to end the sentence from position i, without this factor

    @cached_property
    def _matrices(self) -> Floats | None:
        """The transitions by pair, (B, S + 1, S), for long sentences, where matrix products are faster."""
        if self.transition.shape[1] < MIN_LONG_WORDS:
            return None
        return np.ascontiguousarray(self.transition.transpose(2, 0, 1))

    def forward(self, x: Floats, out: Floats) -> None:
        """Write ``sum over i of x[i] p(j | i)``, shape (S, B), for x of shape (S + 1, B)."""
        if self._matrices is None:
            np.einsum("ib,ijb->jb", x, self.transition, out=out)
            return
        rows = np.ascontiguousarray(x.T)[:, None, :]  # (B, 1, S + 1)
        products = np.matmul(rows, self._matrices)  # (B, 1, S)
        out[...] = products[:, 0, :].T

    def backward(self, x: Floats) -> Floats:
        """Return ``sum over j of p(j | i) x[j]``, shape (S + 1, B), for x of shape (S, B)."""
        if self._matrices is None:
            return np.asarray(np.einsum("ijb,jb->ib", self.transition, x))
        columns = np.ascontiguousarray(x.T)[:, :, None]  # (B, S, 1)
        products = np.matmul(self._matrices, columns)  # (B, S + 1, 1)
        return np.asarray(products[:, :, 0].T)

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
class JumpModel:
    """The jump model of one direction: distributions of the jump width by class of word."""

    # (C, TABLE_WIDTHS): weight of each jump width from words of class c; class 0 is the sentence start
    tables: Floats
    classes: Ints  # (V,): class of each word by its number
    known_sums: Doubles | None = None  # the sums, if those of the same tables were already computed

    @cached_property
    def sums(self) -> Doubles:
        """Running sums of the tables from the left, with a 0 in front, shape (C, TABLE_WIDTHS + 1).

        In double precision, because the difference of two sums may be small.
        """
        if self.known_sums is not None:
            return self.known_sums
        sums = np.zeros((len(self.tables), self.tables.shape[1] + 1))
        np.cumsum(self.tables, axis=1, dtype=np.float64, out=sums[:, 1:])
        return sums

    @classmethod
    def from_state(cls, stored: Stored, tables: str, classes: str, words: int) -> JumpModel:
        """Return the model of two arrays of a state; `words` is the length of the classes."""
        rows = stored.array(tables, "f", (None, TABLE_WIDTHS), minimum=0, maximum=1)
        return cls(rows, stored.array(classes, "i", (words,), minimum=0, maximum=len(rows) - 1))

    def renumbered(self, numbers: Integers) -> JumpModel:
        """Return the model for other word numbers; `numbers` has the old number of each word, or -1."""
        rare = len(self.tables) - 1
        classes = np.where(numbers >= 0, self.classes[numbers], rare).astype(np.int32)
        return JumpModel(self.tables, classes, known_sums=self.sums)

    def classes_of_positions(self, words: Ints) -> Ints:
        """Return the class of each position (S + 1, B) of sentences of words (S, B); position 0 has 0."""
        classes = np.zeros((len(words) + 1, words.shape[1]), dtype=np.int32)
        classes[1:] = self.classes[words]
        return classes


BothJumpModels = tuple[JumpModel, JumpModel]  # over source positions, over target positions


def initial_jump_model(vocabulary: int, frequent: int) -> JumpModel:
    """Return a model that prefers one step ahead; each of the `frequent` most frequent words has a table.

    `vocabulary` is the number of words. They are numbered by falling frequency, from 1
    (:mod:`nmtalign.corpus.sides`), so the words 1 to `frequent` are the most frequent ones.
    """
    widths = np.arange(-MAX_JUMP, MAX_JUMP + 1)
    table = np.exp(-np.abs(widths - 1) / 2) + 1e-3
    table = (table / table.sum()).astype(np.float32)
    rare = frequent + 1  # class of all other words
    classes = np.minimum(np.arange(vocabulary + 1), rare).astype(np.int32)
    return JumpModel(np.tile(table, (rare + 1, 1)), classes)


def bucket_transitions(model: JumpModel, words: Ints, lengths: Longs, null: float) -> BucketTransitions:
    """Return the transitions, times 1 - `null`, between words (S, B), in sentences of `lengths` (B,).

    The weights of the widths that stay inside of the sentence are divided by their sum, so the probabilities
    of all jumps from a position, to a word or to the end, sum to 1.
    """
    S, B = words.shape
    classes = model.classes_of_positions(words).astype(np.intp)  # (S + 1, B)
    position = np.arange(S + 1)[:, None]  # (S + 1, 1)
    # columns of the first and the last jump inside of the sentence: to its first word, and to its end
    first_column = jump_column(1 - position)  # (S + 1, 1)
    end_column = jump_column(lengths + 1 - position)  # (S + 1, B)
    mass = model.sums[classes, end_column + 1] - model.sums[classes, first_column]  # of all these jumps
    inverse_mass = (1 / np.maximum(mass, MIN_TOTAL)).astype(np.float32)  # (S + 1, B)
    inverse_mass[position > lengths] = 0  # no jumps from the padding
    # the weights of the widths 1 - S to S by class, so that the jumps from a position are consecutive rows
    by_width = np.ascontiguousarray(model.tables[:, jump_column(np.arange(1 - S, S + 1))].T)  # (2 S, C)
    transition = np.empty((S + 1, S, B), dtype=np.float32)
    # row r of `by_width` has the weights of the width r + 1 - S
    for i in range(S + 1):  # from position i to the words, by widths 1 - i to S - i
        widths = slice(S - i, 2 * S - i)
        # all classes are valid; with `out`, the default mode "raise" would copy through a buffer
        np.take(by_width[widths], classes[i], axis=1, out=transition[i], mode="clip")
    transition *= ((1 - null) * inverse_mass)[:, None, :]
    return BucketTransitions(transition, stop=model.tables[classes, end_column] * inverse_mass)


def jump_counts(expected: Floats, words: Ints, lengths: Longs, model: JumpModel) -> tuple[Longs, Doubles]:
    """Return expected jumps (S + 1, S + 1, B) as distinct indices into the flattened tables, and counts.

    `words` (S, B) and `lengths` (B,) are those of the sentences; the last column of the jumps is the end.
    """
    positions = len(expected)  # S + 1
    # Count into tables of the widths from -reach to reach: they are narrow, and so stay in the cache.
    reach = min(positions, MAX_JUMP)
    row_length = 2 * reach + 1
    row_start = model.classes_of_positions(words) * np.int32(row_length)  # (S + 1, B)
    start = np.arange(positions, dtype=np.int32)[:, None]  # (S + 1, 1): position that is left
    goal = start.T + 1  # (1, S + 1): position of each word
    columns = jump_column(goal - start, reach)  # (S + 1, S + 1)
    indices = row_start[:, None, :] + columns[:, :, None]  # (S + 1, S + 1, B)
    indices[:, -1, :] = row_start + jump_column(lengths + 1 - start, reach)
    kept = np.flatnonzero((expected > MIN_JUMP_COUNT) & (lengths > 0))
    narrow_tables = np.bincount(indices.take(kept), expected.take(kept), len(model.tables) * row_length)
    filled = np.flatnonzero(narrow_tables).astype(np.int64)
    classes, narrow_column = np.divmod(filled, row_length)
    column = narrow_column + (MAX_JUMP - reach)
    return classes * model.tables.shape[1] + column, narrow_tables[filled].astype(np.float64)


def _smooth(counts: Doubles) -> Doubles:
    """Spread the counts of far jumps evenly over widths that grow with the distance, along the last axis."""
    result = counts.copy()
    shortest = MIN_SMOOTHED_JUMP
    while shortest <= MAX_JUMP:
        longest = min(int(1.3 * shortest) + 1, MAX_JUMP)
        ahead = slice(MAX_JUMP + shortest, MAX_JUMP + longest + 1)
        back = slice(MAX_JUMP - longest, MAX_JUMP - shortest + 1)
        for widths in (ahead, back):
            result[..., widths] = counts[..., widths].mean(axis=-1, keepdims=True)
        shortest = longest + 1
    return result


def add_width_counts(counts: Doubles, widths: Doubles, model: JumpModel) -> Doubles:
    """Return expected jumps with prior counts of jump widths (2 * MAX_JUMP + 1,) added.

    The prior does not say from which words the jumps start. It is divided among the tables of a model in
    proportion to their expected jumps.
    """
    of_tables = counts.reshape(model.tables.shape)  # (C, 2 * MAX_JUMP + 1)
    shares = of_tables.sum(axis=1) / max(of_tables.sum(), 1e-9)
    return np.asarray((of_tables + shares[:, None] * widths).ravel())


def estimate_jump_model(counts: Doubles, model: JumpModel) -> JumpModel:
    """M-step: return a jump model from expected jumps, for the words of `model`.

    The table of a word with n jumps is interpolated with the table of all words. Its weight is
    ``n / (n + POOLED_JUMPS)``.
    """
    smooth = _smooth(counts.reshape(model.tables.shape))
    pooled = smooth.sum(axis=0)
    pooled = pooled / max(pooled.sum(), 1e-9) + 1e-7
    pooled /= pooled.sum()
    jumps = smooth.sum(axis=1, keepdims=True)  # (C, 1)
    of_word = smooth / np.maximum(jumps, 1e-9)
    weight = jumps / (jumps + POOLED_JUMPS)
    tables = weight * of_word + (1 - weight) * pooled
    return JumpModel(tables.astype(np.float32), model.classes)
