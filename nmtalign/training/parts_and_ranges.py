"""The calls of training over parts of a text and ranges of the keys of its word pairs.

A part is a run of buckets, which numbers its own word pairs. A range has the pairs of forms, of every kind of
form, whose keys are between two bounds. All that passes between parts and ranges are slices: the arrays of
the pairs of one part in one range. A :class:`~nmtalign.training.result_store.ResultStore` makes these calls.

Axes: L word pairs of a part, K pairs of forms of a part, Q pairs of forms of a range, P parts, R ranges, V
words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Ints, Longs
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.word_pairs import (
    WordCounts,
    frequent_or_associated,
    join_keys,
    lookup_values,
    number_word_pairs,
    rank_distinct,
    split_keys,
)
from nmtalign.positions.e_step import BucketCounts, EStep, Sparse
from nmtalign.scorers.form_counts import sum_at
from nmtalign.scorers.forms import Spellings, spelled_alike
from nmtalign.scorers.likelihood_ratios import mean_of_kinds, scale_to_ratios

WORD_KIND = 0  # number of the kind of form that is whole words
NO_COUNTS = Sparse(np.zeros(0, np.int32), np.zeros(0, np.float32))


# --- what a store keeps --------------------------------------------------------------------------


class TextPart(NamedTuple):
    """A run of buckets with the numbers of its word pairs. Pair 0 is the padding."""

    first: int  # number of the first bucket
    buckets: list[Bucket]
    cells: list[Ints]  # (T, S, B) for each bucket: word pair of every cell
    word_pairs: int  # L
    # (L,) for each kind of form: pair of forms of each word pair; None if the numbers are the same
    pairs: list[Ints | None]


class PartKeys(NamedTuple):
    """The keys of the word pairs of a part, while ranges are made of them."""

    keys: Longs  # (L,): ``source word * number of target words + target word``, sorted
    meetings: Ints | None  # how often each pair occurs together; None if all pairs are kept

    def cut(self, begin: int, end: int) -> PartKeys:
        """Return some of the keys."""
        meetings = None if self.meetings is None else self.meetings[begin:end]
        return PartKeys(self.keys[begin:end], meetings)


class KeyRange(NamedTuple):
    """The pairs of forms of one kind whose keys are in a range."""

    keys: Longs  # (Q,): ``source form * number of target forms + target form``, sorted
    similar: Longs  # the pairs with similar spellings
    spelling: Floats  # their prior counts
    positions: list[Ints]  # for each part: the place of its pairs of forms in the range


class KindOfForms(NamedTuple):
    """What ranges need to know of the forms of one kind."""

    targets: int  # number of target forms
    spellings: Spellings
    spelling: float  # prior count of two identical forms


class FormNumbers(NamedTuple):
    """What parts need to know of the forms of one kind."""

    source: Ints  # (V,): number of the form of each source word
    target: Ints
    targets: int  # number of target forms


class RangePrior(NamedTuple):
    """The prior counts of the pairs of a range."""

    counts: list[tuple[Longs, Floats]]  # indices and values for each kind of form

    def add_to(self, kind: int, pairs: Floats) -> None:
        """Add the prior to the counts of the pairs of one kind, in place."""
        indices, values = self.counts[kind]
        pairs[indices] += values


class LinkedWords(NamedTuple):
    """The joint counts of word pairs, in the order of their keys."""

    source: Ints
    target: Ints
    counts: Doubles

    def add_to(self, linked: tuple[Doubles, Doubles]) -> None:
        """Add the counts to those of the source words and of the target words, in place and in order."""
        np.add.at(linked[0], self.source, self.counts)
        np.add.at(linked[1], self.target, self.counts)


class SliceCounts(NamedTuple):
    """The counts of the pairs of one part in one range."""

    counted: Ints | None  # the pairs with a count; None: all pairs
    counts: Doubles

    @classmethod
    def of(cls, counts: Doubles) -> SliceCounts:
        """Return counts without zeros, if that is shorter; in later passes, most are 0."""
        counted = np.flatnonzero(counts).astype(np.int32)
        if 3 * len(counted) > 2 * len(counts):  # a count has 8 bytes, and a number 4
            return cls(None, counts)
        return cls(counted, counts[counted])

    def add_to(self, total: Doubles, positions: Ints) -> None:
        """Add the counts to those of a range in place; `positions` are the places of all pairs, distinct."""
        places = positions if self.counted is None else positions[self.counted]
        total[places] += self.counts


KeyRanges = list[KeyRange]  # one for each kind of form
RangeCounts = list[Floats]  # (Q,) for each kind of form
Slice = list[Any]  # one array for each kind of form, or one :class:`SliceCounts`


# --- calls that make parts and ranges ------------------------------------------------------------


def number_part(
    first: int, buckets: list[Bucket], targets: int, step: int, drops_rare_pairs: bool
) -> tuple[TextPart, PartKeys, Longs]:
    """Number the word pairs of a part; also return their keys, and every `step`-th key."""
    index = number_word_pairs(buckets, targets)
    keys = join_keys(index.source, index.target, targets)
    meetings = index.count_meetings() if drops_rare_pairs else None
    part = TextPart(first, buckets, list(index.pair_numbers), len(keys), pairs=[None])
    return part, PartKeys(keys, meetings), keys[::step]


def cut_word_keys(keys: PartKeys, bounds: Longs) -> list[Any]:
    """Return the keys for each range, and where each range begins in the keys."""
    cuts = _find_cuts(keys.keys, bounds)
    return [*(keys.cut(begin, end) for begin, end in pairwise(cuts.tolist())), cuts]


def merge_words(kinds: list[KindOfForms], words: WordCounts | None, *parts: PartKeys) -> list[Any]:
    """Make a range of whole words from the keys of all parts.

    With the counts of words, rare pairs are dropped. For each part, also return which of its pairs are kept;
    None if all are.
    """
    keys, positions = _merge_keys([part.keys for part in parts])
    kept_of_parts: list[Flags | None] = [None] * len(parts)
    if words is not None:
        meetings_of_parts = [part.meetings for part in parts if part.meetings is not None]
        meetings = np.bincount(np.concatenate(positions), np.concatenate(meetings_of_parts), len(keys))
        kept = frequent_or_associated(keys, meetings.astype(np.int32), words)
        keys = keys[kept]
        new_position = (np.cumsum(kept) - 1).astype(np.int32)
        kept_of_parts = [kept[of_part] for of_part in positions]
        positions = [new_position[of_part[kept[of_part]]] for of_part in positions]
    return [[_make_range(kinds[WORD_KIND], keys, positions)], *kept_of_parts]


def number_forms_of_part(
    part: TextPart,
    keys: PartKeys,
    cuts: Longs,
    targets: int,
    numbers_of_kinds: list[FormNumbers],
    step: int,
    *kept_of_ranges: Flags,
) -> tuple[TextPart, Longs, list[Longs], list[Longs]]:
    """Number the pairs of forms of a part for all kinds but whole words.

    `kept_of_ranges` are passed if word pairs are dropped. Return the part, where each range begins in its
    kept word pairs, its keys of each kind, and every `step`-th of these keys.
    """
    word_keys = keys.keys
    kept = None
    pairs = part.pairs
    if kept_of_ranges:
        kept = np.concatenate(kept_of_ranges)
        kept_before = np.concatenate([[0], np.cumsum(kept)])
        pairs = [np.where(kept, kept_before[:-1], 0).astype(np.int32)]
        cuts = kept_before[cuts]
        word_keys = word_keys[kept]
    source, target = split_keys(word_keys, targets)
    keys_of_kinds = []
    for numbers in numbers_of_kinds:
        all_keys = join_keys(numbers.source[source], numbers.target[target], numbers.targets)
        form_keys, pair = rank_distinct(all_keys)
        if kept is not None:
            pair_of_kept = pair
            pair = np.zeros(len(kept), np.int32)
            pair[kept] = pair_of_kept
        pairs = [*pairs, pair]
        keys_of_kinds.append(form_keys)
    samples = [form_keys[::step] for form_keys in keys_of_kinds]
    return part._replace(pairs=pairs), cuts, keys_of_kinds, samples


def cut_form_keys(keys_of_kinds: list[Longs], bounds_of_kinds: list[Longs], ranges: int) -> list[Any]:
    """Return the keys for each range, and where each range begins in the keys of each kind."""
    kinds = zip(keys_of_kinds, bounds_of_kinds, strict=True)
    cuts = [_find_cuts(keys, bounds) for keys, bounds in kinds]
    return [*_cut_kinds(keys_of_kinds, cuts, ranges), cuts]


def merge_forms(
    kinds: list[KindOfForms], words: KeyRanges, *parts: list[Longs]
) -> tuple[KeyRanges, list[int]]:
    """Add the pairs of forms of the other kinds to a range; also return its numbers of pairs."""
    ranges = list(words)
    for kind, *keys_of_parts in zip(kinds[WORD_KIND + 1 :], *parts, strict=True):
        keys, positions = _merge_keys(keys_of_parts)
        ranges.append(_make_range(kind, keys, positions))
    return ranges, [len(key_range.keys) for key_range in ranges]


def _find_cuts(keys: Longs, bounds: Longs) -> Longs:
    return np.concatenate([[0], np.searchsorted(keys, bounds), [len(keys)]])


def _cut_kinds(arrays_of_kinds: Sequence[Any], cuts_of_kinds: Sequence[Longs], ranges: int) -> list[Slice]:
    """Return the slice for each range."""
    slices = []
    for number in range(ranges):
        kinds = zip(arrays_of_kinds, cuts_of_kinds, strict=True)
        slices.append([array[cuts[number] : cuts[number + 1]] for array, cuts in kinds])
    return slices


def _merge_keys(keys_of_parts: Sequence[Longs]) -> tuple[Longs, list[Ints]]:
    """Return the distinct keys of all parts, sorted, and their positions for each part."""
    keys, positions = rank_distinct(np.concatenate(keys_of_parts))
    ends = np.cumsum([len(of_part) for of_part in keys_of_parts])
    return keys, np.split(positions, ends[:-1])


def _make_range(kind: KindOfForms, keys: Longs, positions: list[Ints]) -> KeyRange:
    spelling = np.float32(kind.spelling) * spelled_alike(kind.spellings, *split_keys(keys, kind.targets))
    similar = np.flatnonzero(spelling)
    return KeyRange(keys, similar, spelling[similar], positions)


def prior_of_range(ranges: KeyRanges, prior: Sequence[list[Any]]) -> tuple[RangePrior]:
    """Return the prior counts of the pairs of a range, from those of all keys between its bounds.

    For each kind of form, the prior has sorted keys and their counts.
    """
    found = []
    for key_range, keys, counts in zip(ranges, *prior, strict=True):
        values = lookup_values(keys, counts, key_range.keys)
        indices = np.flatnonzero(values)
        found.append((indices, values[indices]))
    return (RangePrior(found),)


# --- calls of an iteration -----------------------------------------------------------------------


def ratios_of_range(
    ranges: KeyRanges,
    counts: RangeCounts,
    prior: RangePrior | None,
    factors_of_kinds: list[tuple[Floats, Floats]],
    targets_of_kinds: list[int],
    floor: float,
) -> list[Slice]:
    """Return the likelihood ratios of a range for each part: the M-step of the lexicon."""
    slices: list[Slice] = [[] for _ in ranges[WORD_KIND].positions]
    for kind, key_range in enumerate(ranges):
        ratios = counts[kind].copy()
        if prior is not None:
            prior.add_to(kind, ratios)
        ratios[key_range.similar] += key_range.spelling
        forms = split_keys(key_range.keys, targets_of_kinds[kind])
        scale_to_ratios(ratios, forms, factors_of_kinds[kind], floor)
        for of_part, positions in zip(slices, key_range.positions, strict=True):
            of_part.append(ratios.take(positions))
    return slices


def counts_of_part(part: TextPart, cuts: list[Longs], step: EStep, *ratios: Slice) -> list[Any]:
    """Return the expected counts of the word pairs of a part for each range, and then its other counts.

    `ratios` are the slices of all ranges; there are none in the first iteration.
    """
    if step.emissions is not None:
        ratios_of_kinds = [np.concatenate(of_ranges) for of_ranges in zip(*ratios, strict=True)]
        kinds = zip(ratios_of_kinds, part.pairs, strict=True)
        pairs = mean_of_kinds(kinds, part.word_pairs, len(part.pairs))
        step = step._replace(emissions=step.emissions._replace(pair_ratios=pairs))
    links = np.zeros(part.word_pairs, np.float64)
    others = []
    for k, (bucket, cells) in enumerate(zip(part.buckets, part.cells, strict=True), part.first):
        counts = step.counts(k, bucket, cells)
        np.add.at(links, counts.links.indices.ravel(), counts.links.values.ravel().astype(np.float64))
        others.append(counts._replace(links=NO_COUNTS))
    counted = np.flatnonzero(links)
    sums_of_kinds = []
    for pair, cuts_of_kind in zip(part.pairs, cuts, strict=True):
        sums = links
        if pair is not None:
            sums = sum_at(pair[counted], int(cuts_of_kind[-1]), links[counted])
        sums[0] = 0  # the padding, and pairs that are dropped
        sums_of_kinds.append(sums)
    slices = _cut_kinds(sums_of_kinds, cuts, len(cuts[WORD_KIND]) - 1)
    return [*([SliceCounts.of(sums) for sums in of_range] for of_range in slices), _join_buckets(others)]


def _join_buckets(counts_of_buckets: Sequence[BucketCounts]) -> list[BucketCounts]:
    """Return the counts of unaligned words as one sum, and those of jumps, which are few, as they are.

    The probability of being unaligned is a multiple of 2^-30 at least, so its sums are exact in any order.
    """
    words = BucketCounts(
        links=NO_COUNTS,
        source_null=_sum_sparse([counts.source_null for counts in counts_of_buckets]),
        target_null=_sum_sparse([counts.target_null for counts in counts_of_buckets]),
        log_likelihood=sum(counts.log_likelihood for counts in counts_of_buckets),
    )
    jumps = []
    for counts in counts_of_buckets:
        if counts.forward_jumps is not None:
            without_words = counts._replace(source_null=NO_COUNTS, target_null=NO_COUNTS, log_likelihood=0.0)
            jumps.append(without_words)
    return [words, *jumps]


def _sum_sparse(counts: Sequence[Sparse]) -> Sparse:
    """Return the sum of sparse counts, with distinct indices."""
    indices = np.concatenate([of_bucket.indices.ravel() for of_bucket in [NO_COUNTS, *counts]])
    values = np.concatenate([of_bucket.values.ravel() for of_bucket in [NO_COUNTS, *counts]])
    sums = sum_at(indices, int(indices.max(initial=-1)) + 1, values.astype(np.float64))
    counted = np.flatnonzero(sums)
    return Sparse(counted, sums[counted])


def sum_range(ranges: KeyRanges, targets: int, *slices: Slice) -> tuple[RangeCounts, LinkedWords]:
    """Sum the counts of all parts in a range; also return those of word pairs in double precision."""
    totals = []
    for kind, key_range in enumerate(ranges):
        total = np.zeros(len(key_range.keys), np.float64)
        for of_part, positions in zip(slices, key_range.positions, strict=True):
            of_part[kind].add_to(total, positions)
        totals.append(total)
    words = totals[WORD_KIND]
    counted = np.flatnonzero(words)
    source, target = split_keys(ranges[WORD_KIND].keys[counted], targets)
    return [total.astype(np.float32) for total in totals], LinkedWords(source, target, words[counted])


def linked_pairs_of_range(
    ranges: KeyRanges, counts: RangeCounts, prior: RangePrior | None, prune: float
) -> tuple[list[tuple[Longs, Floats]]]:
    """Return the keys and the counts of the pairs that the model keeps, for each kind of form."""
    found = []
    for kind, key_range in enumerate(ranges):
        pairs = counts[kind].copy()
        if prior is not None:
            prior.add_to(kind, pairs)
        kept = np.flatnonzero((pairs >= prune) & (pairs > 0))
        found.append((key_range.keys[kept], pairs[kept]))
    return (found,)
