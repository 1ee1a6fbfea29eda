"""The word pairs that co-occur in a bitext, numbered, in bounded memory.

In a bitext of more than PIECE cells, their numbers lie in a temporary file. In one of more than LARGE cells,
pairs that meet once or twice, no more often than by chance, share one number.

Axes: B pairs of a bucket, T target words, S source words, P word pairs.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Flags, Floats, Integers, Ints, Longs
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, parallel_map, shared_zeros
from nmtalign.corpus.sides import EncodedSide

MAX_PIECE_CELLS = 1 << 22  # cells numbered at a time: 32 MB of keys
MAX_SORTED_CELLS = 1 << 20  # cells up to which a plain sort is faster
CELLS_PER_RUN = 1 << 18  # approximate number of cells in a run of source words
KEYS_PER_PART = 1 << 17  # keys processed at a time: one megabyte
MAX_UNSHARED_CELLS = 1 << 26  # cells of a bitext from which rare pairs share a number
MAX_RARE_COUNT = 2  # pairs that co-occur more often are always kept
MIN_LIFT = 3.0  # other pairs are kept if they co-occur this many times as often as by chance
SHARED_NUMBER = 1  # shared number of the pairs that are not kept


@dataclass(frozen=True, eq=False, repr=False)
class PairIndex:
    """The word pairs that co-occur in a bitext."""

    # (P,): the two words of each pair; pair 0 is the padding
    source: Ints
    target: Ints
    cells: Sequence[Ints]  # (T, S, B): number of the word pair of every cell of every bucket
    complete: bool = True  # whether each pair has a number of its own

    def __len__(self) -> int:
        return len(self.source)


def index_pairs(
    buckets: Sequence[Bucket], source: EncodedSide, target: EncodedSide, workers: int = 1
) -> PairIndex:
    """Number the word pairs that co-occur in a sentence pair; `buckets` hold all of them."""
    if is_large(buckets):
        return _index_large(buckets, source, target, workers)
    index = number_pairs(buckets, len(target.words), workers)
    if sum(bucket.cells for bucket in buckets) <= MAX_PIECE_CELLS:
        return index
    cells = StoredCells([bucket.shape for bucket in buckets])
    for k, numbers in enumerate(index.cells):
        cells.write(k, numbers)
    return replace(index, cells=cells)


def _index_large(
    buckets: Sequence[Bucket], source: EncodedSide, target: EncodedSide, workers: int
) -> PairIndex:
    """Number only the pairs that are kept, piece by piece."""
    targets, keys = len(target.words), _kept_keys(source, target, workers)
    cells = StoredCells([bucket.shape for bucket in buckets])

    def numbered(piece: tuple[int, Sequence[Bucket]]) -> tuple[int, Ints]:
        of_piece, ranks = rank_distinct(_cell_keys(piece[1], targets))
        return piece[0], numbers_of_keys(keys, of_piece)[ranks[:-1]]

    pieces = [*_cell_pieces(buckets)]
    for _ in parallel_map(
        numbered, pieces, workers, then=lambda piece: cells.write(*piece), work=MIN_PARALLEL_CELLS
    ):
        pass
    return kept_index(keys, targets, cells)


def is_large(buckets: Sequence[Bucket]) -> bool:
    """Tell whether rare pairs share a number."""
    return sum(bucket.cells for bucket in buckets) > MAX_UNSHARED_CELLS


def number_pairs(buckets: Sequence[Bucket], targets: int, workers: int = 1) -> PairIndex:
    """Give each word pair a number of its own; `targets` is more than any target word's number."""
    many = sum(bucket.cells for bucket in buckets) > MAX_SORTED_CELLS
    keys, numbers = (
        _number_cells(buckets, targets, workers) if many else rank_distinct(_cell_keys(buckets, targets))
    )
    parts = np.split(numbers, np.cumsum([bucket.cells for bucket in buckets], dtype=np.int64))
    cells = [part.reshape(bucket.shape) for part, bucket in zip(parts, buckets, strict=False)]
    return PairIndex(*split_keys(keys, targets), cells)


def split_keys(keys: Longs, targets: int) -> tuple[Ints, Ints]:
    """Return the source and the target word of each key."""
    source, target = np.divmod(keys, targets)
    return source.astype(np.int32), target.astype(np.int32)


class _SourceTokens(NamedTuple):
    """The source words of all buckets, and the positions of their cells."""

    word: Integers
    start: Integers  # first cell of each word
    step: Integers  # from there to its next cell
    first: Integers  # first target word of its pair, among those of all buckets
    length: Integers  # number of its cells

    @classmethod
    def of(cls, bucket: Bucket, cells: int, targets: int) -> _SourceTokens:
        """Return the words of a bucket, which follows `cells` cells and `targets` target words."""
        (T, S, B), filled = bucket.shape, np.flatnonzero(bucket.source).astype(np.int32)
        pair = filled % np.int32(B)
        step = np.full(len(filled), S * B, np.int32)
        length = bucket.target_lengths.astype(np.int32)[pair]
        start = filled + (np.int32 if cells < 1 << 30 else np.int64)(cells)
        return cls(bucket.source.ravel()[filled], start, step, np.int32(targets) + pair * np.int32(T), length)

    def cells(self) -> tuple[Integers, Integers]:
        """Return the cells of each word, and the index of their target word."""
        ends = np.cumsum(self.length, dtype=np.int32)
        nth: Ints = np.arange(self.length.sum(), dtype=np.int32) - np.repeat(ends - self.length, self.length)
        start, step, first = (np.repeat(a, self.length) for a in (self.start, self.step, self.first))
        return start + nth * step, first + nth


def _number_cells(buckets: Sequence[Bucket], targets: int, workers: int = 1) -> tuple[Longs, Ints]:
    """Return what :func:`rank_distinct` does of the keys of the buckets, by counting sorts.

    Runs of source words are numbered one after the other. Turning a sparse matrix and back sorts the cells of
    a run by source and target word.
    """
    from scipy.sparse import csr_array

    starts = [np.cumsum([0, *n]) for n in zip(*((b.cells, b.target.size) for b in buckets), strict=True)]
    columns = (
        _SourceTokens.of(b, c, t) for b, c, t in zip(buckets, *(s.tolist() for s in starts), strict=False)
    )
    tokens = _SourceTokens(*map(np.concatenate, zip(*columns, strict=True)))
    words = np.concatenate([b.target.T.ravel() for b in buckets])
    order = np.arange(len(tokens.word), dtype=np.int32)
    by_word = csr_array((order, tokens.word, [0, len(order)])).tocsc()
    begin = np.concatenate([[0], np.cumsum(tokens.length[by_word.data], dtype=np.int64)])[by_word.indptr]
    cuts = [0, *(np.flatnonzero(np.diff(begin[1:] // CELLS_PER_RUN)) + 1).tolist(), len(begin) - 1]
    numbers, done = shared_zeros(starts[0][-1], np.int32), shared_zeros(1, np.int32)

    def sorted_cells(span: tuple[int, int]) -> tuple[Ints, Ints, Longs]:
        low, high = span
        of_run = by_word.data[by_word.indptr[low] : by_word.indptr[high]]
        cells, at = _SourceTokens(*(column[of_run] for column in tokens)).cells()
        rows = begin[low : high + 1] - begin[low]
        run = csr_array((cells, words[at], rows), shape=(high - low, targets)).tocsc().tocsr()
        new = np.diff(run.indices, prepend=-1) != 0
        new[rows[:-1][np.diff(rows) > 0]] = True
        keys = (np.repeat(np.arange(low, high), np.diff(rows)) * targets + run.indices)[new]
        return run.data, np.cumsum(new, dtype=np.int32), keys

    def number(run: tuple[Ints, Ints, Longs]) -> Longs:
        cells, of_run, keys = run
        numbers[cells] = of_run + done
        done[0] += len(keys)
        return keys

    keys = parallel_map(sorted_cells, [*pairwise(cuts)], workers, then=number, work=len(numbers))
    return np.concatenate([np.zeros(1, np.int64), *keys]), numbers


def _cell_keys(buckets: Sequence[Bucket], targets: int) -> Longs:
    """Return ``source * targets + target`` of every cell, 0 where padded, and one 0 at the end."""
    keys = np.zeros(sum(b.cells for b in buckets) + 1, dtype=np.int64)
    start = 0
    for b in buckets:
        block = keys[start : start + b.cells].reshape(b.shape)  # (T, S, B)
        np.add(b.source.astype(np.int64) * targets, b.target[:, None, :], out=block)
        padded = (b.source == 0)[None, :, :] | (b.target == 0)[:, None, :]
        if padded.any():
            block[padded] = 0
        start += b.cells
    return keys


def rank_distinct(keys: Longs) -> tuple[Longs, Ints]:
    """Return the sorted distinct keys and the rank of each key. `keys` is overwritten.

    A key and its index share one integer: a plain sort does the work of np.unique with its slow argsort.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        unique, indices = np.unique(keys, return_inverse=True)
        return unique, indices.reshape(-1).astype(np.int32)
    parts = [keys[at : at + KEYS_PER_PART] for at in range(0, len(keys), KEYS_PER_PART)]
    for k, part in enumerate(parts):
        part <<= bits
        part |= np.arange(k * KEYS_PER_PART, k * KEYS_PER_PART + len(part))
    keys.sort()
    rank = np.empty(len(keys), dtype=np.int32)
    runs, last, count = [keys[:0]], -1, -1
    for part in parts:
        indices = part & ((1 << bits) - 1)
        part >>= bits
        new = part != np.concatenate([[last], part[:-1]])
        numbers = np.cumsum(new, dtype=np.int32)
        numbers += np.int32(count)
        rank[indices] = numbers
        runs.append(part[new])
        last, count = int(part[-1]), int(numbers[-1])
    return np.concatenate(runs), rank


class StoredCells(Sequence[Ints]):
    """Numbers of the cells of all buckets in a temporary file; read by any thread or process."""

    def __init__(self, shapes: Sequence[tuple[int, int, int]]) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it is gone when the last reference is
        self._lock = threading.Lock()
        self._shapes = list(shapes)
        sizes = [4 * t * s * b for t, s, b in self._shapes]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def __len__(self) -> int:
        return len(self._shapes)

    def __getitem__(self, k: int) -> Ints:  # type: ignore[override]
        numbers = np.empty(self._shapes[k], dtype=np.int32)
        space, start = numbers.data.cast("B"), int(self._starts[k])
        if hasattr(os, "preadv"):  # forked processes share the place where a file is read
            os.preadv(self._file.fileno(), [space], start)
            return numbers
        with self._lock:
            self._file.seek(start)
            self._file.readinto(space)
        return numbers

    def write(self, k: int, numbers: Ints) -> None:
        """Write the numbers of the buckets from `k` on."""
        rest = np.ascontiguousarray(numbers).data.cast("B")
        with self._lock:
            self._file.seek(int(self._starts[k]))
            try:
                while rest:  # an almost full disk takes a part, and refuses the next one
                    rest = rest[self._file.write(rest) :]
            except OSError as error:
                error.filename = tempfile.gettempdir()
                raise


def _cell_pieces(buckets: Sequence[Bucket]) -> Iterator[tuple[int, Sequence[Bucket]]]:
    """Cut the buckets into runs of at most about PIECE cells; yield the number of the first, and the run."""
    first, size = 0, 0
    for k, bucket in enumerate(buckets):
        if size and size + bucket.cells > MAX_PIECE_CELLS:
            yield first, buckets[first:k]
            first, size = k, 0
        size += bucket.cells
    yield first, buckets[first:]


def _kept_keys(source: EncodedSide, target: EncodedSide, workers: int) -> Longs:
    """Return the sorted keys of the pairs that are kept, 0 first.

    How often words meet is the product of two sparse matrices, (words, sentences) and (sentences, words).
    """
    from scipy.sparse import csr_array

    def by_sentence(side: EncodedSide) -> csr_array:
        shape = len(side.lengths), len(side.words)
        return csr_array((np.ones(len(side.tokens), np.int32), side.tokens, side.offsets), shape=shape)

    of_word, of_target = by_sentence(source).T.tocsr(), by_sentence(target)
    cells = np.cumsum(np.asarray(of_word @ target.lengths)) // MAX_PIECE_CELLS
    cuts = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(source.words)]

    def kept(span: tuple[int, int]) -> Longs:
        meet = (of_word[slice(*span)] @ of_target).tocoo()
        keys = (meet.row.astype(np.int64) + span[0]) * len(target.words) + meet.col
        return np.sort(keys[frequent_or_associated(keys, meet.data, source, target)])

    return np.concatenate(
        [np.zeros(1, np.int64), *parallel_map(kept, [*pairwise(cuts)], workers, work=MIN_PARALLEL_CELLS)]
    )


def kept_index(keys: Longs, targets: int, cells: Sequence[Ints]) -> PairIndex:
    """Return the index of pairs of which only those with these keys are kept."""
    at_source, at_target = (np.insert(words, SHARED_NUMBER, 0) for words in split_keys(keys, targets))
    return PairIndex(at_source, at_target, cells, complete=False)


def numbers_of_keys(kept: Longs, keys: Longs) -> Ints:
    """Return the number of each key in :func:`kept_index`; SHARED if it is not kept."""
    indices = np.minimum(np.searchsorted(kept, keys), len(kept) - 1)
    return np.where(kept[indices] == keys, indices + (indices > 0), SHARED_NUMBER).astype(np.int32)


def lookup_values(keys: Longs, values: Floats, wanted: Longs) -> Floats:
    """Return the value of each wanted key in a table of sorted keys, 0 where it is missing."""
    if not len(keys):
        return np.zeros(len(wanted), values.dtype)
    indices = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys.take(indices) == wanted, values.take(indices), np.float32(0))


def merge_counts(keys: Longs, counts: Ints, more: Longs, more_counts: Ints) -> tuple[Longs, Ints]:
    """Merge two sorted lists of distinct keys and add up their counts."""
    indices = np.searchsorted(keys, more)
    known = keys[np.minimum(indices, len(keys) - 1)] == more
    counts[indices[known]] += more_counts[known]
    new = ~known
    return np.insert(keys, indices[new], more[new]), np.insert(counts, indices[new], more_counts[new])


def frequent_or_associated(keys: Longs, counts: Ints, source: EncodedSide, target: EncodedSide) -> Flags:
    """Tell which pairs co-occur often, or at least much more often than by chance."""
    at_source, at_target = split_keys(keys, len(target.words))
    by_chance = source.counts[at_source] * (target.counts[at_target] / len(source.lengths))
    return np.asarray((counts > MAX_RARE_COUNT) | (counts >= MIN_LIFT * by_chance) | (keys == 0))
