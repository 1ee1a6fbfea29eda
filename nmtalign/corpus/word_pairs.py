"""The word pairs that co-occur in a bitext, numbered, in bounded memory.

The numbers of a bitext of more than MAX_BUCKET_RUN_CELLS cells are stored in a temporary file. In a bitext of
more than MAX_UNSHARED_CELLS cells, pairs that co-occur once or twice, and less than MIN_LIFT times as often
as by chance, share one number.

Axes: B pairs of a bucket, T target words, S source words, P word pairs that have a number.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Flags, Floats, Integers, Ints, Longs, block_slices, positions_in_runs
from nmtalign.corpus.buckets import Bucket, cells_of_buckets
from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, parallel_map, shared_zeros
from nmtalign.corpus.sides import EncodedSide
from nmtalign.files.array_files import TemporaryArrays

MAX_BUCKET_RUN_CELLS = 1 << 22  # a run of buckets is numbered at a time: 32 MB of keys
MAX_SORTED_CELLS = 1 << 20  # up to this number a plain sort is faster
CELLS_PER_RUN = 1 << 17  # approximate; a run is a range of source words
MAX_KEYS_PER_CELL = 4  # a run with more possible keys per cell is sorted
KEYS_PER_BLOCK = 1 << 17  # a block is processed at a time: one megabyte
KEYS_PER_SPLIT = 1 << 14  # fit the cache of a core
MAX_UNSHARED_CELLS = 1 << 26  # rare pairs of a larger bitext share a number
MAX_RARE_COUNT = 2  # pairs that co-occur more often are always kept
MIN_LIFT = 3.0  # rare pairs are kept if they co-occur this many times as often as by chance
LAST_BITS_PER_KEY = 8  # entries of a table of last bits for each key: an eighth of it is in use
SHARED_NUMBER = 1  # shared number of the pairs that are not kept


@dataclass(frozen=True, eq=False, repr=False)
class WordPairIndex:
    """The word pairs that co-occur in a bitext."""

    source: Ints  # (P,): source word of each pair; pair 0 is the padding
    target: Ints  # (P,): target word of each pair
    pair_numbers: Sequence[Ints]  # (T, S, B) for each bucket: number of the word pair of every cell
    complete: bool = True  # whether each pair has a number of its own

    def __len__(self) -> int:
        return len(self.source)

    def in_blocks(self, size: int) -> Iterator[WordPairIndex]:
        """Yield the pairs in blocks, without the numbers of the cells."""
        for block in block_slices(len(self), size):
            yield WordPairIndex(self.source[block], self.target[block], [])


def index_word_pairs(
    buckets: Sequence[Bucket], source: EncodedSide, target: EncodedSide, workers: int = 1
) -> WordPairIndex:
    """Number the word pairs that co-occur in a sentence pair of the buckets."""
    if is_large(buckets):
        return _index_large(buckets, source, target, workers)
    return number_word_pairs(buckets, len(target.words), workers)


def _index_large(
    buckets: Sequence[Bucket], source: EncodedSide, target: EncodedSide, workers: int
) -> WordPairIndex:
    """Number only the pairs that are kept, one run of buckets after the other."""
    targets = len(target.words)
    kept_keys = _kept_keys(source, target, workers)
    stored = StoredPairNumbers([bucket.shape for bucket in buckets])

    def number_run(run: tuple[int, Sequence[Bucket]]) -> tuple[int, Ints]:
        """Return the number of the first bucket of a run, and the numbers of all cells of the run."""
        first_bucket, run_buckets = run
        run_keys, ranks = rank_distinct(_cell_keys(run_buckets, targets))
        ranks = ranks[:-1]  # without the padding at the end
        return first_bucket, numbers_of_keys(kept_keys, run_keys)[ranks]

    written = parallel_map(
        number_run,
        list(_bucket_runs(buckets)),
        workers,
        then=lambda numbered: stored.write(*numbered),
        work=MIN_PARALLEL_CELLS,  # every run is large enough for a process of its own
    )
    deque(written, maxlen=0)  # the runs are written in order
    return kept_index(kept_keys, targets, stored)


def is_large(buckets: Sequence[Bucket]) -> bool:
    """Return whether rare pairs share a number."""
    return sum(cells_of_buckets(buckets)) > MAX_UNSHARED_CELLS


def number_word_pairs(buckets: Sequence[Bucket], targets: int, workers: int = 1) -> WordPairIndex:
    """Give each word pair a number of its own; `targets` is more than any target word's number."""
    buckets = list(buckets)  # buckets on disk are read once
    cell_count = sum(cells_of_buckets(buckets))
    if cell_count > MAX_SORTED_CELLS:
        keys, numbers = _number_cells(buckets, targets, workers)
    else:
        keys, numbers = rank_distinct(_cell_keys(buckets, targets))
    source, target = split_keys(keys, targets)
    if cell_count > MAX_BUCKET_RUN_CELLS:
        stored = StoredPairNumbers([bucket.shape for bucket in buckets])
        stored.write(0, numbers[:cell_count])
        return WordPairIndex(source, target, stored)
    pair_numbers = []
    start = 0
    for bucket in buckets:
        stop = start + bucket.cell_count
        pair_numbers.append(numbers[start:stop].reshape(bucket.shape))
        start = stop
    return WordPairIndex(source, target, pair_numbers)


def join_keys(source: Integers, target: Integers, targets: int) -> Longs:
    """Return the key of each pair: ``source * targets + target``, with more `targets` than any number."""
    return source.astype(np.int64) * targets + target


def split_keys(keys: Longs, targets: int) -> tuple[Ints, Ints]:
    """Return the source and the target of each key; see :func:`join_keys`."""
    source = np.empty(len(keys), np.int32)
    target = np.empty(len(keys), np.int32)
    for block in block_slices(len(keys), KEYS_PER_SPLIT):
        quotients = keys[block] // targets  # faster than np.divmod
        source[block] = quotients
        target[block] = keys[block] - quotients * targets
    return source, target


class _SourceTokens(NamedTuple):
    """The source words of all buckets, and the positions of their cells."""

    word: Integers
    start: Integers  # first cell of each word
    step: Integers  # distance to the next cell of the same word
    first: Integers  # index of the first target word of its pair, in all buckets
    length: Integers  # number of its cells

    @classmethod
    def from_bucket(cls, bucket: Bucket, cells: int, targets: int) -> _SourceTokens:
        """Return the words of a bucket, which follows `cells` cells and `targets` target words."""
        T, S, B = bucket.shape
        filled = np.flatnonzero(bucket.source).astype(np.int32)  # (words,), indices into (S, B)
        pair = filled % np.int32(B)
        first_cell = np.int32(cells) if cells < 1 << 30 else np.int64(cells)
        return cls(
            word=bucket.source.ravel()[filled],
            start=filled + first_cell,
            step=np.full(len(filled), S * B, np.int32),
            first=np.int32(targets) + pair * np.int32(T),
            length=bucket.target_lengths.astype(np.int32)[pair],
        )

    def taken(self, which: Integers | slice) -> _SourceTokens:
        """Return some of the words."""
        return _SourceTokens(*(column[which] for column in self))

    def cells(self) -> tuple[Integers, Integers]:
        """Return the cells of each word, and the index of their target word."""
        nth = positions_in_runs(self.length, np.int32)  # nth cell of its word, from 0
        start = np.repeat(self.start, self.length)
        step = np.repeat(self.step, self.length)
        first = np.repeat(self.first, self.length)
        return start + nth * step, first + nth


def _number_cells(buckets: Sequence[Bucket], targets: int, workers: int = 1) -> tuple[Longs, Ints]:
    """Return the distinct keys of all cells, and the rank of each cell, as :func:`rank_distinct` would.

    Instead of comparing keys, this sorts by counting. Runs of source words are numbered one after the other:
    if a run has few words, by a table of all its possible keys; otherwise, its cells are sorted by their
    target word, and then by their source word.
    """
    tokens = _tokens_by_word(buckets)
    target_words = _in_few_bytes(np.concatenate([bucket.target.T.ravel() for bucket in buckets]))
    last_of_word = np.flatnonzero(np.diff(tokens.word, append=-1))
    cells_up_to = np.cumsum(tokens.length, dtype=np.int64)
    run_of_word = cells_up_to[last_of_word] // CELLS_PER_RUN
    last_of_run = last_of_word[np.flatnonzero(np.diff(run_of_word))]
    cuts = [0, *(last_of_run + 1).tolist(), len(tokens.word)]
    cell_count = sum(bucket.cell_count for bucket in buckets)
    # memory of one process may have large pages, in which random places are written faster
    zeros = shared_zeros if workers > 1 else np.zeros
    numbers = zeros(cell_count, np.int32)  # rank of each cell
    key_count = zeros(1, np.int32)  # number of keys in the runs so far

    def rank_run(span: tuple[int, int]) -> tuple[Integers, Ints, Longs]:
        """Return the cells of a run of tokens, their ranks from 1, and the distinct keys."""
        run = tokens.taken(slice(*span))
        cells, target_index = run.cells()
        target = target_words.take(target_index.astype(np.intp))
        first_word = int(run.word[0])
        possible_keys = (int(run.word[-1]) + 1 - first_word) * targets
        if possible_keys <= MAX_KEYS_PER_CELL * len(cells):
            keys = np.repeat((run.word - first_word) * np.int64(targets), run.length) + target
            is_key = np.zeros(possible_keys, bool)
            is_key[keys] = True
            ranks = np.cumsum(is_key, dtype=np.int32).take(keys)
            return cells, ranks, np.flatnonzero(is_key) + first_word * targets
        source = np.repeat(_in_few_bytes(run.word), run.length)
        order = _order_by_counting(target)
        order = order.take(_order_by_counting(source.take(order)))
        source = source.take(order)
        target = target.take(order)
        is_new = np.ones(len(order), bool)
        is_new[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
        distinct_keys = join_keys(source[is_new], target[is_new], targets)
        return cells.take(order), np.cumsum(is_new, dtype=np.int32), distinct_keys

    def number_run(run: tuple[Integers, Ints, Longs]) -> Longs:
        cells, ranks_in_run, keys = run
        numbers[cells.astype(np.intp)] = ranks_in_run + key_count
        key_count[0] += len(keys)
        return keys

    keys = parallel_map(rank_run, list(pairwise(cuts)), workers, then=number_run, work=len(numbers))
    return np.concatenate([np.zeros(1, np.int64), *keys]), numbers


def _tokens_by_word(buckets: Sequence[Bucket]) -> _SourceTokens:
    """Return the source words of all buckets, sorted by word."""
    tokens_of_buckets = []
    cell_count = 0
    target_count = 0
    for bucket in buckets:
        tokens_of_buckets.append(_SourceTokens.from_bucket(bucket, cell_count, target_count))
        cell_count += bucket.cell_count
        target_count += bucket.target.size
    in_text_order = _SourceTokens(*map(np.concatenate, zip(*tokens_of_buckets, strict=True)))
    return in_text_order.taken(_order_by_counting(in_text_order.word))


def _in_few_bytes(numbers: Integers) -> Integers:
    """Return numbers from 0 on in the smallest type that holds them: they are sorted and compared faster."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _order_by_counting(numbers: Integers) -> Longs:
    """Return the stable order of numbers from 0 to 2^32, by digits of 16 bits, which NumPy counts."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")  # of the low 16 bits
    if numbers.max(initial=0) > 0xFFFF:
        high_digits = (numbers >> 16).astype(np.uint16)
        order = order[np.argsort(high_digits[order], kind="stable")]
    return order


def _cell_keys(buckets: Sequence[Bucket], targets: int) -> Longs:
    """Return ``source * targets + target`` of every cell, 0 where padded, and one 0 at the end."""
    keys = np.zeros(sum(bucket.cell_count for bucket in buckets) + 1, dtype=np.int64)
    start = 0
    for bucket in buckets:
        block = keys[start : start + bucket.cell_count].reshape(bucket.shape)  # (T, S, B)
        np.add(bucket.source.astype(np.int64) * targets, bucket.target[:, None, :], out=block)
        is_padding = (bucket.source == 0)[None, :, :] | (bucket.target == 0)[:, None, :]
        if is_padding.any():
            block[is_padding] = 0
        start += bucket.cell_count
    return keys


def rank_distinct(keys: Longs) -> tuple[Longs, Ints]:
    """Return the sorted distinct keys and the rank of each key. `keys` is overwritten.

    A key and its index are packed into one integer, so that a plain sort does the work of np.unique, whose
    argsort is slow.
    """
    index_bits = len(keys).bit_length()
    key_bits = int(keys.max(initial=0)).bit_length()
    if key_bits + index_bits > 63:
        unique, inverse = np.unique(keys, return_inverse=True)
        return unique, inverse.reshape(-1).astype(np.int32)
    blocks = [keys[part] for part in block_slices(len(keys), KEYS_PER_BLOCK)]  # views
    for k, block in enumerate(blocks):
        first_index = k * KEYS_PER_BLOCK
        block <<= index_bits
        block |= np.arange(first_index, first_index + len(block))
    keys.sort()
    ranks = np.empty(len(keys), dtype=np.int32)
    distinct_keys = [keys[:0]]
    last_key = -1
    last_rank = -1
    for block in blocks:
        indices = block & ((1 << index_bits) - 1)
        block >>= index_bits
        is_new = block != np.concatenate([[last_key], block[:-1]])
        block_ranks = np.cumsum(is_new, dtype=np.int32)
        block_ranks += np.int32(last_rank)
        ranks[indices] = block_ranks
        distinct_keys.append(block[is_new])
        last_key = int(block[-1])
        last_rank = int(block_ranks[-1])
    return np.concatenate(distinct_keys), ranks


class StoredPairNumbers(Sequence[Ints]):
    """Numbers of the cells of all buckets in a temporary file; read by any thread or process."""

    def __init__(self, shapes: Sequence[tuple[int, int, int]]) -> None:
        self._file = TemporaryArrays()
        sizes = [math.prod(shape) for shape in shapes]
        self._starts = np.cumsum([0, *sizes], dtype=np.int64).tolist()
        self._place = self._file.reserve(self._starts[-1], np.int32)
        self._shapes = list(shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def __getitem__(self, k: int) -> Ints:  # type: ignore[override]
        numbers = self._file.read(self._place, self._starts[k], self._starts[k + 1])
        return numbers.reshape(self._shapes[k])

    def write(self, k: int, numbers: Ints) -> None:
        """Write the numbers of the cells of the buckets from `k` on."""
        self._file.write(self._place, numbers.ravel(), self._starts[k])


def _bucket_runs(buckets: Sequence[Bucket]) -> Iterator[tuple[int, Sequence[Bucket]]]:
    """Yield runs of buckets with about MAX_BUCKET_RUN_CELLS cells, with the number of the first bucket."""
    first = 0
    size = 0
    for k, bucket in enumerate(buckets):
        if size and size + bucket.cell_count > MAX_BUCKET_RUN_CELLS:
            yield first, buckets[first:k]
            first = k
            size = 0
        size += bucket.cell_count
    yield first, buckets[first:]


def _kept_keys(source: EncodedSide, target: EncodedSide, workers: int) -> Longs:
    """Return the sorted keys of the pairs that are kept, 0 first.

    How often words meet is the product of two sparse matrices, (words, sentences) and (sentences, words).
    """
    from scipy.sparse import csr_array

    def by_sentence(side: EncodedSide) -> csr_array:
        shape = len(side.lengths), len(side.words)
        return csr_array((np.ones(len(side.tokens), np.int32), side.tokens, side.offsets), shape=shape)

    source_words = by_sentence(source).T.tocsr()  # (source words, sentences)
    target_words = by_sentence(target)  # (sentences, target words)
    # runs of source words that have about as many cells as a run of buckets
    cells_of_word = np.asarray(source_words @ target.lengths)
    run_of_word = np.cumsum(cells_of_word) // MAX_BUCKET_RUN_CELLS
    cuts = [0, *(np.flatnonzero(np.diff(run_of_word)) + 1).tolist(), len(source.words)]
    word_counts = WordCounts.of(source, target)

    def keys_of_run(span: tuple[int, int]) -> Longs:
        first_word, end_word = span
        counts = (source_words[first_word:end_word] @ target_words).tocoo()
        keys = (counts.row.astype(np.int64) + first_word) * len(target.words) + counts.col
        return np.sort(keys[frequent_or_associated(keys, counts.data, word_counts)])

    # every run is large enough for a process of its own
    keys_of_runs = parallel_map(keys_of_run, list(pairwise(cuts)), workers, work=MIN_PARALLEL_CELLS)
    padding = np.zeros(1, np.int64)
    return np.concatenate([padding, *keys_of_runs])


def kept_index(keys: Longs, targets: int, pair_numbers: Sequence[Ints]) -> WordPairIndex:
    """Return the index of pairs of which only those with these keys are kept.

    Key 0, the padding, keeps number 0. `SHARED_NUMBER` stands for the dropped pairs and comes next, so the
    number of every other key is one more than its position among the keys.
    """
    source, target = split_keys(keys, targets)  # (P - 1,)
    source = np.insert(source, SHARED_NUMBER, 0)  # (P,)
    target = np.insert(target, SHARED_NUMBER, 0)
    return WordPairIndex(source, target, pair_numbers, complete=False)


def numbers_of_keys(kept: Longs, keys: Longs) -> Ints:
    """Return the number of each key in :func:`kept_index`; `SHARED_NUMBER` if it is not kept."""
    indices = np.minimum(np.searchsorted(kept, keys), len(kept) - 1)
    numbers = np.where(indices == 0, 0, indices + 1)  # the shared number comes after the padding
    return np.where(kept[indices] == keys, numbers, SHARED_NUMBER).astype(np.int32)


def lookup_values(keys: Longs, values: Floats, wanted: Longs) -> Floats:
    """Return the value of each wanted key in a table of sorted keys, 0 where it is missing."""
    if len(keys) > 2 * len(wanted):
        return _search_values(keys, values, wanted)
    # Most wanted keys are missing. A table of the last bits of the keys shows that faster than a search.
    last_bits = (1 << (LAST_BITS_PER_KEY * len(keys)).bit_length()) - 1
    is_used = np.zeros(last_bits + 1, bool)
    is_used[keys & last_bits] = True
    possible = np.flatnonzero(is_used.take(wanted & last_bits))
    found = np.zeros(len(wanted), values.dtype)
    if len(possible):
        found[possible] = _search_values(keys, values, wanted.take(possible))
    return found


def _search_values(keys: Longs, values: Floats, wanted: Longs) -> Floats:
    indices = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys.take(indices) == wanted, values.take(indices), np.float32(0))


class WordCounts(NamedTuple):
    """How often each source word and each target word occurs in a text, and its number of sentences."""

    source: Longs
    target: Longs
    sentences: int

    @classmethod
    def of(cls, source: EncodedSide, target: EncodedSide) -> WordCounts:
        """Return the counts of the words of both sides."""
        return cls(source.counts, target.counts, len(source.lengths))


def frequent_or_associated(keys: Longs, counts: Ints, words: WordCounts) -> Flags:
    """Return which pairs co-occur often, or at least much more often than by chance."""
    at_source, at_target = split_keys(keys, len(words.target))
    by_chance = words.source[at_source] * (words.target[at_target] / words.sentences)
    return np.asarray((counts > MAX_RARE_COUNT) | (counts >= MIN_LIFT * by_chance) | (keys == 0))
