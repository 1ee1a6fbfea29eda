"""Buckets: sentence pairs of similar length, stacked and padded, so that array operations serve many pairs.

Axes: B pairs of a bucket, S source words, T target words. Word number 0 is padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from nmtalign.arrays import Flags, Ints, Longs
from nmtalign.corpus.sides import EncodedSide
from nmtalign.files.array_files import ArrayPlace, TemporaryArrays, release

MAX_BUCKET_CELLS = 1 << 18  # transition cells (S + 1) * S * B; more do not fit the cache of a core
PADDING_SCORE = -1e30  # score of a cell outside of the sentences
# The number of columns of a bucket is a multiple of this, so that the order of sums never changes.
COLUMN_MULTIPLE = 16
MIN_LONG_WORDS = 48  # for sentences of this length, matrix products are faster than sums over stacked pairs
LONG_COLUMN_MULTIPLE = 2  # the column multiple of sentences of at least MIN_LONG_WORDS
MIN_ROW_CELLS = 6_000  # with fewer cells per target word of a bucket, calls of NumPy dominate
# A group of similar source lengths takes in more lengths until it has this many times MIN_ROW_CELLS cells.
SOURCE_GROUP_FACTOR = 3
PAIRS_PER_RELEASE = 1 << 15  # the pages of so many pairs of a text on disk are in memory


@dataclass(frozen=True, eq=False, repr=False)
class Bucket:
    """B sentence pairs of similar length, padded with word 0 to S and T words."""

    sections: Longs  # (B,): number of the section of a pair in each column; -1 is a filler
    source: Ints  # (S, B): source words
    target: Ints  # (T, B): target words
    source_lengths: Longs  # (B,): number of source words without padding
    target_lengths: Longs  # (B,): number of target words without padding

    @property
    def shape(self) -> tuple[int, int, int]:
        """The axes of an array of its cells: (T, S, B), with the padding."""
        return len(self.target), len(self.source), len(self.sections)

    @property
    def is_filled(self) -> Flags:
        """Which columns, of shape (B,), hold a section, and are not fillers."""
        return self.sections >= 0

    @property
    def filled_columns(self) -> Longs:
        """The columns that hold a section."""
        return np.flatnonzero(self.is_filled)

    @property
    def inside(self) -> Flags:
        """Which cells, of shape (T, S, B), lie inside of the sentences."""
        return (self.target > 0)[:, None, :] & (self.source > 0)

    @property
    def cell_count(self) -> int:
        """Number of cells of its emission array."""
        return len(self.target) * len(self.source) * len(self.sections)


def _round_lengths(lengths: Longs) -> Longs:
    """Round long lengths up to a grid with eight steps for each power of two.

    So the padding of a sentence does not depend on other sentences.
    """
    _, exponent = np.frexp(lengths.astype(float) - 1)
    step = (1 << np.maximum(0, exponent - 4)).astype(np.int64)
    rounded = -(-lengths // step) * step
    return np.where(rounded < MIN_LONG_WORDS, lengths, rounded)


def _length_runs(lengths: Longs, min_cells: int, other_length: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the runs (start, stop) of ascending lengths that are padded to the same length.

    The lengths of a run differ by up to a twelfth, by up to a half while the run has fewer than `min_cells`
    cells, and not at all for long sentences. The cells of a run are its number of pairs times the longer of
    its length and `other_length`, the padded length of the other side, which is 0 if it is not known yet.
    """
    values, starts = np.unique(lengths, return_index=True)
    begin = 0  # index of the first length of the run
    first = int(values[0])  # the length that it has
    for value, start in zip(values[1:].tolist(), starts[1:].tolist(), strict=True):
        has_few_cells = (start - begin) * max(first, other_length) < min_cells
        tolerance = max(1, first // 2) if has_few_cells else first // 12
        if value >= MIN_LONG_WORDS or value > first + tolerance:
            yield begin, start
            begin = start
            first = value
    yield begin, len(lengths)


def stack_sentences(side: EncodedSide, pairs: Longs, column_count: int, row_count: int) -> tuple[Ints, Longs]:
    """Return the words of `pairs` as columns of a padded array (rows, columns), and their lengths."""
    lengths = np.zeros(column_count, dtype=np.int64)
    lengths[: len(pairs)] = side.lengths[pairs]
    rows = np.arange(row_count)[:, None]  # (rows, 1)
    inside = rows < lengths  # (rows, columns)
    starts = np.zeros(column_count, dtype=np.int64)
    starts[: len(pairs)] = side.offsets[pairs]
    stacked = np.zeros(inside.shape, dtype=np.int32)
    stacked[inside] = side.tokens[(starts + rows)[inside]]
    return stacked, lengths


def make_buckets(source: EncodedSide, target: EncodedSide) -> list[Bucket]:
    """Stack sentence pairs of similar length, without pairs that have an empty side.

    The buckets depend on the lengths only, never on the number of workers.
    """
    return [stack_pairs(source, target, *plan) for plan in _plan_buckets(source, target)]


def _plan_buckets(source: EncodedSide, target: EncodedSide) -> Iterator[tuple[Longs, int]]:
    """Yield the pairs of each bucket, and its number of columns."""
    pairs = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
    for source_group in _group_by_length(source, pairs, SOURCE_GROUP_FACTOR * MIN_ROW_CELLS):
        source_length = _padded_length(source, source_group)
        for group in _group_by_length(target, source_group, MIN_ROW_CELLS, source_length):
            yield from _split_group(source, target, group)


def _padded_length(side: EncodedSide, pairs: Longs) -> int:
    """Return the length to which the sentences of some pairs are padded."""
    return int(_round_lengths(side.lengths[pairs]).max())


def _group_by_length(
    side: EncodedSide, pairs: Longs, min_cells: int, other_length: int = 0
) -> Iterator[Longs]:
    """Yield pairs with sentences of similar length on one side, as in :func:`_length_runs`."""
    if not len(pairs):
        return
    lengths = _round_lengths(side.lengths[pairs])
    order = np.lexsort((pairs, lengths))
    pairs = pairs[order]
    for start, stop in _length_runs(lengths[order], min_cells, other_length):
        yield pairs[start:stop]


def _split_group(source: EncodedSide, target: EncodedSide, pairs: Longs) -> Iterator[tuple[Longs, int]]:
    """Split pairs of similar length into buckets, as in :func:`_plan_buckets`."""
    longest = max(_padded_length(source, pairs), _padded_length(target, pairs))
    multiple = COLUMN_MULTIPLE if longest < MIN_LONG_WORDS else LONG_COLUMN_MULTIPLE
    most_columns = MAX_BUCKET_CELLS // (longest * (longest + 1)) // multiple * multiple
    bucket_size = max(multiple, most_columns)
    for start in range(0, len(pairs), bucket_size):
        bucket_pairs = pairs[start : start + bucket_size]
        yield bucket_pairs, -(-len(bucket_pairs) // multiple) * multiple  # rounded up


def stack_pairs(source: EncodedSide, target: EncodedSide, pairs: Longs, columns: int) -> Bucket:
    """Return the bucket of some pairs, with a number of columns."""
    s, s_lengths = stack_sentences(source, pairs, columns, _padded_length(source, pairs))
    t, t_lengths = stack_sentences(target, pairs, columns, _padded_length(target, pairs))
    numbers = np.full(columns, -1, dtype=np.int64)
    numbers[: len(pairs)] = pairs
    return Bucket(sections=numbers, source=s, target=t, source_lengths=s_lengths, target_lengths=t_lengths)


@dataclass(frozen=True, eq=False, repr=False)
class StoredBuckets(Sequence[Bucket]):
    """Buckets in a temporary file; read by any thread or process."""

    file: TemporaryArrays
    places: list[list[ArrayPlace]]  # places of the arrays of each bucket
    cell_counts: list[int]  # number of cells of each bucket

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return StoredBuckets(self.file, self.places[k], self.cell_counts[k])
        return Bucket(*map(self.file.read, self.places[k]))


def store_buckets(source: EncodedSide, target: EncodedSide) -> StoredBuckets:
    """Return the buckets of :func:`make_buckets`, one at a time of which is in memory."""
    stored = StoredBuckets(TemporaryArrays(), [], [])
    pairs_read = 0
    for pairs, columns in _plan_buckets(source, target):
        bucket = stack_pairs(source, target, pairs, columns)
        arrays = [np.asarray(getattr(bucket, field.name)) for field in fields(bucket)]
        stored.places.append([stored.file.append(array) for array in arrays])
        stored.cell_counts.append(bucket.cell_count)
        pairs_read += len(pairs)
        if pairs_read > PAIRS_PER_RELEASE:
            release(source.tokens)
            release(target.tokens)
            pairs_read = 0
    return stored


def cells_of_buckets(buckets: Sequence[Bucket]) -> list[int]:
    """Return the number of cells of each bucket."""
    if isinstance(buckets, StoredBuckets):
        return buckets.cell_counts
    return [bucket.cell_count for bucket in buckets]
