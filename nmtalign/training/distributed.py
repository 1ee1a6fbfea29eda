"""A bitext that is distributed over processes, which compute the E-step; the M-step is computed here.

Each of n shards holds every n-th bucket. An E-step sends the emissions of words and word pairs to a shard (4
bytes each), and receives their expected counts (8 bytes each).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from nmtalign.arrays import Flags, Ints
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import (
    SHARED_NUMBER,
    PairIndex,
    frequent_or_associated,
    is_large,
    kept_index,
    merge_counts,
    number_word_pairs,
    numbers_of_keys,
    split_keys,
)
from nmtalign.positions.e_step import EStep, ExpectedCounts
from nmtalign.positions.position_model import Emissions

CELLS_PER_SHARD = 1 << 22  # 10,000 to 30,000 sentence pairs

ShardItem = TypeVar("ShardItem")


class Processes(Protocol):
    """Processes that hold the shards."""

    def keep(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call a function in a process and return a handle of its result; arguments may be handles."""

    def in_order(
        self, submit: Callable[[ShardItem], Any], items: Iterable[ShardItem]
    ) -> Iterator[tuple[ShardItem, Any]]:
        """Yield the items in order, each with the result whose handle `submit` returned."""


class Shard(NamedTuple):
    """Some buckets of a bitext, with their own numbers of words and word pairs."""

    numbers: Sequence[int]  # number of each bucket in the whole bitext
    buckets: list[Bucket]
    pairs: PairIndex
    sizes: tuple[int, int]  # source and target words


def open_shard(numbers: Sequence[int], buckets: list[Bucket], sizes: tuple[int, int]) -> Shard:
    """Number the word pairs of a shard."""
    return Shard(numbers, buckets, number_word_pairs(buckets, sizes[1]), sizes)


def pair_counts(shard: Shard) -> tuple[Ints, Ints, Ints]:
    """Return the source and the target word of each pair, and how often they meet."""
    counts = np.zeros(len(shard.pairs), np.int32)
    for cells in shard.pairs.cells:
        counts += np.bincount(cells.ravel(), minlength=len(counts)).astype(np.int32)
    return shard.pairs.source, shard.pairs.target, counts


def merge_dropped_pairs(shard: Shard, kept: Flags) -> Shard:
    """Let the pairs that are not kept share one number; the padding stays number 0."""
    index, number = shard.pairs, np.where(kept, np.cumsum(kept), SHARED_NUMBER).astype(np.int32)
    number[0] = 0
    source, target = (np.insert(words[kept], SHARED_NUMBER, 0) for words in (index.source, index.target))
    cells = [number[of_bucket] for of_bucket in index.cells]
    return shard._replace(pairs=PairIndex(source, target, cells, complete=False))


def shard_counts(shard: Shard, step: EStep) -> ExpectedCounts:
    """Return the expected counts of a shard."""
    totals = ExpectedCounts.zeros((len(shard.pairs), *shard.sizes), step.transitions or ())
    log_likelihood = 0.0
    for number, bucket, cells in zip(shard.numbers, shard.buckets, shard.pairs.cells, strict=True):
        log_likelihood += totals.add(step.counts(number, bucket, cells))
    return totals.with_likelihood(log_likelihood)


class RemoteShard(NamedTuple):
    """A shard that another process holds."""

    shard: Any
    # number, in the whole bitext, of each of its words
    source: Ints
    target: Ints
    pairs: Ints  # number of each of its word pairs

    def renumbered(self, step: EStep) -> EStep:
        """Return the E-step for the emissions and word pairs of the shard."""
        emissions, transitions = step.emissions, step.transitions
        if emissions is not None:
            emissions = Emissions(
                emissions.pairs[self.pairs],
                emissions.source_null[self.source],
                emissions.target_null[self.target],
            )
        if transitions is not None:
            transitions = transitions[0].renumbered(self.source), transitions[1].renumbered(self.target)
        return step._replace(emissions=emissions, transitions=transitions)


class DistributedBitext:
    """A bitext in shards of about `cells` cells, which other processes hold.

    A model depends on the size of the shards, but not on the number of processes: the expected counts of a
    text are the sum of the expected counts of its parts (Dempster, Laird and Rubin 1977).
    """

    def __init__(self, text: EncodedText, *, processes: Processes, cells: int = CELLS_PER_SHARD) -> None:
        self._processes, self._sizes = processes, (len(text.source.words), len(text.target.words))
        count = min(-(-text.cells // cells), len(text.buckets))
        shards = [self._sent(range(k, len(text.buckets), count), text.buckets) for k in range(count)]
        self.index, self.shards = self._numbered(shards, text)

    def _sent(self, numbers: Sequence[int], buckets: Sequence[Bucket]) -> RemoteShard:
        """Send a shard to a process."""
        part = [buckets[k] for k in numbers]
        source = np.unique(np.concatenate([np.zeros(1, np.int32), *(b.source.ravel() for b in part)]))
        target = np.unique(np.concatenate([np.zeros(1, np.int32), *(b.target.ravel() for b in part)]))
        part = [
            replace(
                bucket,
                source=np.searchsorted(source, bucket.source).astype(np.int32),
                target=np.searchsorted(target, bucket.target).astype(np.int32),
            )
            for bucket in part
        ]
        shard = self._processes.keep(open_shard, numbers, part, (len(source), len(target)))
        return RemoteShard(shard, source, target, np.zeros(0, np.int32))

    def _numbered(self, shards: list[RemoteShard], text: EncodedText) -> tuple[PairIndex, list[RemoteShard]]:
        """Number the word pairs of all shards; those of a large text that are not kept share one number."""
        targets, large = len(text.target.words), is_large(text.buckets)
        keys, counts = np.zeros(1, np.int64), np.ones(1, np.int32)
        of_shards = []
        for shard, (s, t, times) in self._processes.in_order(
            lambda shard: self._processes.keep(pair_counts, shard.shard), shards
        ):
            of_shards.append(shard.source[s].astype(np.int64) * targets + shard.target[t])
            keys, counts = merge_counts(keys, counts, of_shards[-1], times)
        if large:
            keys = keys[frequent_or_associated(keys, counts, text.source, text.target)]
        numbered = []
        for shard, shard_keys in zip(shards, of_shards, strict=True):
            if large:
                numbers = numbers_of_keys(keys, shard_keys)
                kept = numbers != SHARED_NUMBER
                pairs = np.concatenate([[0, SHARED_NUMBER], numbers[1:][kept[1:]]])
                shard = shard._replace(shard=self._processes.keep(merge_dropped_pairs, shard.shard, kept))
            else:
                pairs = np.searchsorted(keys, shard_keys)
            numbered.append(shard._replace(pairs=pairs.astype(np.int32)))
        index = kept_index(keys, targets, []) if large else PairIndex(*split_keys(keys, targets), [])
        return index, numbered

    def expected_counts(self, step: EStep) -> ExpectedCounts:
        """Return the expected counts of one E-step, summed in the order of the shards."""
        sums, likelihood = ExpectedCounts.zeros((len(self.index), *self._sizes), step.transitions or ()), 0.0
        for shard, counts in self._processes.in_order(
            lambda shard: self._processes.keep(shard_counts, shard.shard, shard.renumbered(step)), self.shards
        ):
            numbers: tuple[Any, ...] = shard.pairs, shard.source, shard.target, slice(None), slice(None)
            for total, entries, of_shard in zip(sums[:5], numbers, counts[:5], strict=True):
                total[entries] += of_shard
            likelihood += counts.log_likelihood
        return sums._replace(log_likelihood=likelihood)
