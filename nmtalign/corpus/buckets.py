"""Buckets: sentence pairs of similar length, stacked and padded, so that array operations serve many pairs.

Axes: B pairs of a bucket, S source words, T target words. Word number 0 is padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nmtalign.arrays import Flags, Ints, Longs
from nmtalign.corpus.sides import EncodedSide

MAX_BUCKET_CELLS = 1 << 18  # transition cells (S + 1) * S * B of a bucket, about the cache of a core
PADDING_SCORE = -1e30  # score of a cell outside of the sentences
COLUMN_MULTIPLE = 16  # of the columns of a bucket, so that the order of sums never changes
MIN_LONG_WORDS = 48  # words from which matrix products are faster than sums over stacked pairs
LONG_COLUMN_MULTIPLE = 2  # the same for long sentences
MIN_ROW_CELLS = 6_000  # cells of one target word in a bucket; with fewer, calls of NumPy dominate
SOURCE_GROUP_FACTOR = (
    3  # times ENOUGH cells, up to which a group of like source lengths takes in more lengths
)


@dataclass(frozen=True, eq=False, repr=False)
class Bucket:
    """B sentence pairs of similar length, padded with word 0 to S and T words."""

    pieces: Longs  # (B,): number of the pair, or of the piece of a long one, in each column; -1 is a filler
    # (S, B) and (T, B)
    source: Ints
    target: Ints
    # (B,)
    source_lengths: Longs
    target_lengths: Longs

    @property
    def shape(self) -> tuple[int, int, int]:
        """(T, S, B)."""
        return len(self.target), len(self.source), len(self.pieces)

    @property
    def inside(self) -> Flags:
        """Which cells, of shape (T, S, B), lie inside of the sentences."""
        return (self.target > 0)[:, None, :] & (self.source > 0)

    @property
    def cells(self) -> int:
        """Number of cells of its emission array."""
        return len(self.target) * len(self.source) * len(self.pieces)


def _round_lengths(lengths: Longs) -> Longs:
    """Round long lengths up to a grid, eight steps to each power of two: padding never depends on others."""
    step = np.maximum(1, 1 << np.maximum(0, np.frexp(lengths.astype(float) - 1)[1] - 4)).astype(np.int64)
    rounded = -(-lengths // step) * step
    return np.where(rounded < MIN_LONG_WORDS, lengths, rounded)


def _length_runs(lengths: Longs, cells: int, other: int = 0) -> Iterator[tuple[int, int]]:
    """Cut ascending lengths into runs, each padded to its greatest length.

    The lengths of a run differ by up to a twelfth, by up to a half while the run has fewer than `cells`
    cells, and not at all for long sentences.
    """
    values, starts = np.unique(lengths, return_index=True)
    begin, first = 0, int(values[0])
    for value, start in zip(values[1:].tolist(), starts[1:].tolist(), strict=True):
        few = (start - begin) * max(first, other) < cells
        if value >= MIN_LONG_WORDS or value > first + (max(1, first // 2) if few else first // 12):
            yield begin, start
            begin, first = start, value
    yield begin, len(lengths)


def stack_sentences(side: EncodedSide, pairs: Longs, columns: int, height: int) -> tuple[Ints, Longs]:
    """Return the words of `pairs` as columns of a padded (height, columns) array, and their lengths."""
    lengths = np.zeros(columns, dtype=np.int64)
    lengths[: len(pairs)] = side.lengths[pairs]
    rows = np.arange(height)[:, None]  # (height, 1)
    inside = rows < lengths  # (height, columns)
    starts = np.zeros(columns, dtype=np.int64)
    starts[: len(pairs)] = side.offsets[pairs]
    stacked = np.zeros(inside.shape, dtype=np.int32)
    stacked[inside] = side.tokens[(starts + rows)[inside]]
    return stacked, lengths


def make_buckets(source: EncodedSide, target: EncodedSide) -> list[Bucket]:
    """Stack sentence pairs of similar length, without pairs that have an empty side.

    The buckets depend on the lengths only, never on the number of workers.
    """
    pairs = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
    return [
        bucket
        for source_group in _group_by_length(source, pairs, SOURCE_GROUP_FACTOR * MIN_ROW_CELLS)
        for group in _group_by_length(
            target, source_group, MIN_ROW_CELLS, _padded_length(source, source_group)
        )
        for bucket in _stack_group(source, target, group)
    ]


def _padded_length(side: EncodedSide, pairs: Longs) -> int:
    """Return the length to which the sentences of some pairs are padded."""
    return int(_round_lengths(side.lengths[pairs]).max())


def _group_by_length(side: EncodedSide, pairs: Longs, cells: int, other: int = 0) -> Iterator[Longs]:
    """Yield pairs with sentences of similar length on one side, as in :func:`_length_runs`."""
    grid = _round_lengths(side.lengths[pairs])
    order = np.lexsort((pairs, grid))
    pairs, grid = pairs[order], grid[order]
    for start, stop in _length_runs(grid, cells, other) if len(pairs) else ():
        yield pairs[start:stop]


def _stack_group(source: EncodedSide, target: EncodedSide, pairs: Longs) -> Iterator[Bucket]:
    """Yield buckets of pairs of similar length."""
    longest = max(_padded_length(side, pairs) for side in (source, target))
    multiple = COLUMN_MULTIPLE if longest < MIN_LONG_WORDS else LONG_COLUMN_MULTIPLE
    width = max(multiple, MAX_BUCKET_CELLS // (longest * (longest + 1)) // multiple * multiple)
    for start in range(0, len(pairs), width):
        chosen = pairs[start : start + width]
        columns = -(-len(chosen) // multiple) * multiple
        s, s_lengths = stack_sentences(source, chosen, columns, _padded_length(source, chosen))
        t, t_lengths = stack_sentences(target, chosen, columns, _padded_length(target, chosen))
        numbers = np.full(columns, -1, dtype=np.int64)
        numbers[: len(chosen)] = chosen
        yield Bucket(numbers, s, t, s_lengths, t_lengths)
