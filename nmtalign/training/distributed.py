"""Expected counts of a bitext that is distributed over worker processes; the M-step is computed here.

Each of n parts contains every n-th bucket. An E-step sends the emissions of words and word pairs to the
process that keeps a part (4 bytes each), and receives their expected counts (8 bytes each).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from nmtalign.arrays import Flags, Ints
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import (
    SHARED_NUMBER,
    WordCounts,
    WordPairIndex,
    frequent_or_associated,
    is_large,
    join_keys,
    kept_index,
    merge_counts,
    number_word_pairs,
    numbers_of_keys,
    split_keys,
)
from nmtalign.positions.e_step import EStep, ExpectedCounts
from nmtalign.positions.position_model import Emissions

CELLS_PER_WORKER_PART = 1 << 22  # 10,000 to 30,000 sentence pairs

PartItem = TypeVar("PartItem")


class Processes(Protocol):
    """Processes that keep the parts."""

    def keep(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call a function in a process and return a handle of its result; arguments may be handles."""

    def in_order(
        self, submit: Callable[[PartItem], Any], items: Iterable[PartItem]
    ) -> Iterator[tuple[PartItem, Any]]:
        """Yield the items in order, each with the result whose handle `submit` returned."""


class WorkerPart(NamedTuple):
    """Some buckets of a bitext, with their own numbers of words and word pairs."""

    numbers: Sequence[int]  # number of each bucket in the whole bitext
    buckets: list[Bucket]
    word_pairs: WordPairIndex
    words: tuple[int, int]  # number of source words and of target words


def open_part(numbers: Sequence[int], buckets: list[Bucket], words: tuple[int, int]) -> WorkerPart:
    """Number the word pairs of a part."""
    return WorkerPart(numbers, buckets, number_word_pairs(buckets, words[1]), words)


def count_pairs(part: WorkerPart) -> tuple[Ints, Ints, Ints]:
    """Return the source and the target word of each word pair, and how often they meet."""
    return part.word_pairs.source, part.word_pairs.target, part.word_pairs.count_meetings()


def merge_dropped_pairs(part: WorkerPart, kept: Flags) -> WorkerPart:
    """Let the word pairs that are not kept share one number; the padding stays number 0."""
    number = np.where(kept, np.cumsum(kept), SHARED_NUMBER).astype(np.int32)
    number[0] = 0
    source = np.insert(part.word_pairs.source[kept], SHARED_NUMBER, 0)
    target = np.insert(part.word_pairs.target[kept], SHARED_NUMBER, 0)
    cells = [number[of_bucket] for of_bucket in part.word_pairs.cells]
    return part._replace(word_pairs=WordPairIndex(source, target, cells, complete=False))


def counts_of_part(part: WorkerPart, step: EStep) -> ExpectedCounts:
    """Return the expected counts of a part."""
    totals = ExpectedCounts.zeros(len(part.word_pairs), part.words, step.jump_models)
    log_likelihood = 0.0
    for number, bucket, cells in zip(part.numbers, part.buckets, part.word_pairs.cells, strict=True):
        log_likelihood += totals.add(step.counts(number, bucket, cells))
    totals.clear_padding()
    return totals._replace(log_likelihood=log_likelihood)


class RemotePart(NamedTuple):
    """A part that another process keeps."""

    handle: Any  # handle of the :class:`WorkerPart`
    # number, in the whole bitext, of each of its words
    source: Ints
    target: Ints
    pairs: Ints  # number, in the whole bitext, of each of its word pairs

    def renumbered(self, step: EStep) -> EStep:
        """Return the E-step for the words and word pairs of the part."""
        emissions = step.emissions
        if emissions is not None:
            emissions = Emissions(
                word_pairs=emissions.word_pairs[self.pairs],
                source_null=emissions.source_null[self.source],
                target_null=emissions.target_null[self.target],
            )
        jump_models = step.jump_models
        if jump_models is not None:
            source_model, target_model = jump_models
            jump_models = source_model.renumbered(self.source), target_model.renumbered(self.target)
        return step._replace(emissions=emissions, jump_models=jump_models)

    def add_to(self, totals: ExpectedCounts, counts: ExpectedCounts) -> None:
        """Add the counts of the part to those of the whole bitext, in place."""
        totals.links[self.pairs] += counts.links
        totals.source_null[self.source] += counts.source_null
        totals.target_null[self.target] += counts.target_null
        totals.forward_jumps[:] += counts.forward_jumps  # all parts have the same jump tables
        totals.reverse_jumps[:] += counts.reverse_jumps


class DistributedBackend:
    """Computes expected counts in other processes, which keep parts of about `cells` cells.

    A model depends on the size of the parts, but not on the number of processes: the expected counts of a
    text are the sum of the expected counts of its parts (Dempster, Laird and Rubin 1977).
    """

    def __init__(
        self, text: EncodedText, *, processes: Processes, cells: int = CELLS_PER_WORKER_PART
    ) -> None:
        self._processes = processes
        self._words = len(text.source.words), len(text.target.words)
        needed = math.ceil(text.cells / cells)
        count = min(needed, len(text.buckets))
        parts = [self._send_part(range(k, len(text.buckets), count), text.buckets) for k in range(count)]
        self.word_pairs, self.parts = self._number_pairs(parts, text)

    def _send_part(self, numbers: Sequence[int], buckets: Sequence[Bucket]) -> RemotePart:
        """Send the buckets with some numbers to a process."""
        chosen = [buckets[k] for k in numbers]
        source = _distinct_words([bucket.source for bucket in chosen])
        target = _distinct_words([bucket.target for bucket in chosen])
        renumbered = []
        for bucket in chosen:
            part_bucket = replace(
                bucket,
                source=np.searchsorted(source, bucket.source).astype(np.int32),
                target=np.searchsorted(target, bucket.target).astype(np.int32),
            )
            renumbered.append(part_bucket)
        handle = self._processes.keep(open_part, numbers, renumbered, (len(source), len(target)))
        return RemotePart(handle, source, target, np.zeros(0, np.int32))

    def _number_pairs(
        self, parts: list[RemotePart], text: EncodedText
    ) -> tuple[WordPairIndex, list[RemotePart]]:
        """Number the word pairs of all parts; those of a large text that are not kept share one number."""
        targets = len(text.target.words)
        keys = np.zeros(1, np.int64)
        counts = np.ones(1, np.int32)
        keys_of_parts = []
        for part, (source, target, part_counts) in self._processes.in_order(
            lambda part: self._processes.keep(count_pairs, part.handle), parts
        ):
            part_keys = join_keys(part.source[source], part.target[target], targets)
            keys_of_parts.append(part_keys)
            keys, counts = merge_counts(keys, counts, part_keys, part_counts)
        if not is_large(text.buckets):
            numbered = []
            for part, part_keys in zip(parts, keys_of_parts, strict=True):
                places = np.searchsorted(keys, part_keys)
                numbered.append(part._replace(pairs=places.astype(np.int32)))
            return WordPairIndex(*split_keys(keys, targets), []), numbered
        kept_keys = keys[frequent_or_associated(keys, counts, WordCounts.of(text.source, text.target))]
        numbered = []
        for part, part_keys in zip(parts, keys_of_parts, strict=True):
            numbers = numbers_of_keys(kept_keys, part_keys)
            kept = numbers != SHARED_NUMBER
            handle = self._processes.keep(merge_dropped_pairs, part.handle, kept)
            # as `merge_dropped_pairs` numbers them: the padding, the shared number, the pairs that are kept
            pairs = np.concatenate([[0, SHARED_NUMBER], numbers[1:][kept[1:]]])
            numbered.append(part._replace(handle=handle, pairs=pairs.astype(np.int32)))
        return kept_index(kept_keys, targets, []), numbered

    def expected_counts(self, step: EStep) -> ExpectedCounts:
        """Return the expected counts of one E-step, summed in the order of the parts."""
        totals = ExpectedCounts.zeros(len(self.word_pairs), self._words, step.jump_models)
        log_likelihood = 0.0
        for part, counts in self._processes.in_order(
            lambda part: self._processes.keep(counts_of_part, part.handle, part.renumbered(step)), self.parts
        ):
            part.add_to(totals, counts)
            log_likelihood += counts.log_likelihood
        return totals._replace(log_likelihood=log_likelihood)


def _distinct_words(words_of_buckets: Sequence[Ints]) -> Ints:
    """Return the distinct numbers of words, sorted; the padding, number 0, comes first."""
    padding = np.zeros(1, np.int32)
    return np.unique(np.concatenate([padding, *[words.ravel() for words in words_of_buckets]]))
