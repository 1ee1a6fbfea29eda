"""The calls of training over parts of a text and ranges of the keys of its word pairs.

A part is a run of buckets, which numbers its own word pairs. A range has the pairs of forms, of every kind of
form, whose keys are between two bounds. All that passes between parts and ranges are slices: arrays over the
pairs that a part has in a range. Slices of keys and ratios have an entry for each of these pairs; slices of
counts may omit zeros.

For example, part 0 is the pair *the house = das Haus*, part 1 is *the book = das Buch*, and the second range
begins with the key of *house-das*. These are the slices of the kind "whole words", without the padding::

                range 0                       range 1
    part 0      the-das the-Haus              house-das house-Haus
    part 1      the-das          the-Buch                          book-das book-Buch
    the range   the-das the-Haus the-Buch     house-das house-Haus book-das book-Buch

Pair 0, the padding, is the first pair of each part and of range 0. With it, the positions of the pairs of
both parts in range 0 are ``0 1 2`` and ``0 1 3``.

A :class:`~nmtalign.training.result_store.ResultStore` makes these calls. Their slices are in the order of the
parts, or of the ranges.

Axes: T target words, S source words, B sentence pairs of a bucket. Other axes are named: *words* of a
vocabulary, *word pairs* of a part, *form pairs* (pairs of forms) of a part or a range. Number 0 is padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

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
from nmtalign.scorers.forms import Spellings, spelled_alike, sum_at
from nmtalign.scorers.likelihood_ratios import mean_of_kinds, scale_to_ratios

WORD_KIND = 0  # number of the kind of form that is whole words
NO_COUNTS = Sparse(np.zeros(0, np.int32), np.zeros(0, np.float32))


# --- what a store keeps --------------------------------------------------------------------------


class TextPart(NamedTuple):
    """A run of buckets with the numbers of its word pairs. Pair 0 is the padding."""

    first_bucket: int  # its number in the text
    buckets: list[Bucket]
    pair_numbers: list[Ints]  # (T, S, B) for each bucket: number of the word pair of every cell
    word_pair_count: int
    # (word pairs,) for each kind of form: pair of forms of each word pair; None if the numbers are the same
    form_pair_numbers: list[Ints | None]


class KindOfRange(NamedTuple):
    """The pairs of forms of one kind whose keys are in a range."""

    keys: Longs  # (form pairs,): ``source form * number of target forms + target form``, sorted
    similar_pairs: Longs  # positions of the pairs with similar spellings
    spelling_counts: Floats  # prior counts of the similar pairs
    positions_of_parts: list[Ints]  # for each part: positions in `keys` of the pairs of its slice


class FormNumbers(NamedTuple):
    """The forms of the words of a text, of one kind."""

    source: Ints  # (words,): number of the form of each source word
    target: Ints  # (words,)
    target_forms: int  # number of target forms


class SliceCounts(NamedTuple):
    """The counts of the pairs of a slice, of one kind of form."""

    counted: Ints | None  # indices of the pairs with a count; None: all pairs
    counts: Doubles

    @classmethod
    def of(cls, counts: Doubles) -> SliceCounts:
        """Return counts without zeros, if that is shorter; in later passes, most are 0."""
        counted = np.flatnonzero(counts).astype(np.int32)
        if 3 * len(counted) > 2 * len(counts):  # a count has 8 bytes, and an index 4
            return cls(None, counts)
        return cls(counted, counts[counted])

    def add_to(self, totals: Doubles, positions: Ints) -> None:
        """Add the counts to those of a range in place; `positions` are those of the pairs of the slice."""
        counted = positions if self.counted is None else positions[self.counted]
        totals[counted] += self.counts  # the positions are distinct


KeyRange = list[KindOfRange]  # one for each kind of form
RangeCounts = list[Floats]  # (form pairs,) for each kind of form
RangePrior = list[tuple[Longs, Floats]]  # positions of pairs, and their prior counts, for each kind of form
LinkedWords = tuple[Ints, Ints, Doubles]  # source, target and joint count of word pairs, in the order of keys
WordKeys = tuple[Longs, Ints]  # sorted keys of word pairs, and how often each pair occurs together
RatioSlices = list[list[Floats]]  # of a part: one for each range, with an array for each kind of form
CountSlices = list[list[SliceCounts]]  # of a range: one for each part, with counts for each kind of form
PairCounts = tuple[Longs, Floats]  # sorted keys of pairs of forms of one kind, and their counts
PairArray = TypeVar("PairArray", Longs, Doubles)  # (form pairs,) of a part


# --- calls that make parts and ranges ------------------------------------------------------------


def number_part(first_bucket: int, buckets: list[Bucket], target_words: int) -> tuple[TextPart, list[Longs]]:
    """Number the word pairs of a part; also return their keys, which are those of one kind of form."""
    index = number_word_pairs(buckets, target_words)
    keys = join_keys(index.source, index.target, target_words)
    part = TextPart(first_bucket, buckets, list(index.pair_numbers), len(keys), form_pair_numbers=[None])
    return part, [keys]


def cut_word_keys(
    part: TextPart, word_keys: list[Longs], bounds_of_kinds: list[Longs]
) -> tuple[list[WordKeys], None]:
    """Cut the keys of the word pairs of a part into slices for the ranges; there is no other result."""
    keys = word_keys[WORD_KIND]
    meetings = np.zeros(len(keys), np.int32)
    for numbers in part.pair_numbers:
        meetings += np.bincount(numbers.ravel(), minlength=len(keys)).astype(np.int32)
    cuts = _find_cuts(keys, bounds_of_kinds[WORD_KIND])
    return [(keys[begin:end], meetings[begin:end]) for begin, end in pairwise(cuts)], None


def choose_pairs(slices: list[WordKeys], words: WordCounts) -> tuple[list[Flags], None]:
    """Return, for each part, which word pairs of its slice are kept, because they are not rare."""
    keys_of_parts, meetings_of_parts = zip(*slices, strict=True)
    keys, positions_of_parts = _merge_keys(keys_of_parts)
    meetings = np.bincount(np.concatenate(positions_of_parts), np.concatenate(meetings_of_parts), len(keys))
    kept = frequent_or_associated(keys, meetings.astype(np.int32), words)
    return [kept[positions] for positions in positions_of_parts], None


def number_forms_of_part(
    part: TextPart,
    word_keys: list[Longs],
    kept_of_ranges: list[Flags] | None,
    target_words: int,
    forms_of_kinds: list[FormNumbers],
) -> tuple[TextPart, list[Longs]]:
    """Number the pairs of forms of a part for all kinds of form; also return their keys.

    `word_keys` are those of whole words alone. `kept_of_ranges`, where word pairs are dropped, are the
    slices of :func:`choose_pairs`. `forms_of_kinds` are those of all kinds but whole words.
    """
    keys = word_keys[WORD_KIND]
    kept = None
    form_pair_numbers = part.form_pair_numbers
    if kept_of_ranges is not None:
        kept = np.concatenate(kept_of_ranges)
        # a dropped pair has number 0, as the padding has: no counts, and the same ratio
        form_pair_numbers = [np.where(kept, np.cumsum(kept) - 1, 0).astype(np.int32)]
        keys = keys[kept]
    source, target = split_keys(keys, target_words)
    keys_of_kinds = [keys]
    for forms in forms_of_kinds:
        all_keys = join_keys(forms.source[source], forms.target[target], forms.target_forms)
        form_keys, numbers = rank_distinct(all_keys)
        if kept is not None:
            numbers_of_kept = numbers
            numbers = np.zeros(len(kept), np.int32)
            numbers[kept] = numbers_of_kept
        form_pair_numbers = [*form_pair_numbers, numbers]
        keys_of_kinds.append(form_keys)
    return part._replace(form_pair_numbers=form_pair_numbers), keys_of_kinds


def sample_keys(keys_of_kinds: list[Longs], stride: int) -> list[Longs]:
    """Return every `stride`-th key of the pairs of forms of a part, for each kind of form."""
    return [keys[::stride] for keys in keys_of_kinds]


def cut_keys(
    keys_of_kinds: list[Longs], bounds_of_kinds: list[Longs]
) -> tuple[list[list[Longs]], list[Longs]]:
    """Cut the keys of a part into slices for the ranges.

    Also return, for each kind of form, where the slice of each range begins.
    """
    cuts_of_kinds = list(map(_find_cuts, keys_of_kinds, bounds_of_kinds))
    return _cut_kinds(keys_of_kinds, cuts_of_kinds), cuts_of_kinds


def merge_slices(
    slices: list[list[Longs]], spellings_of_kinds: list[Spellings], spelling: float
) -> tuple[KeyRange, list[int]]:
    """Make a range of the slices of all parts; also return its numbers of pairs of each kind of form.

    `spelling` is the prior count of two identical forms.
    """
    key_range = []
    for spellings, *keys_of_parts in zip(spellings_of_kinds, *slices, strict=True):
        keys, positions_of_parts = _merge_keys(keys_of_parts)
        target_forms = len(spellings.sizes[1])
        similarity = spelled_alike(spellings, *split_keys(keys, target_forms))
        spelling_counts = np.float32(spelling) * similarity
        similar_pairs = np.flatnonzero(spelling_counts)
        key_range.append(KindOfRange(keys, similar_pairs, spelling_counts[similar_pairs], positions_of_parts))
    return key_range, [len(of_kind.keys) for of_kind in key_range]


def prior_of_range(key_range: KeyRange, prior_of_kinds: list[PairCounts]) -> RangePrior:
    """Return the prior counts of the pairs of a range, from those of all keys between its bounds."""
    counts_of_kinds = []
    for of_kind, (keys, counts) in zip(key_range, prior_of_kinds, strict=True):
        prior_counts = lookup_values(keys, counts, of_kind.keys)
        positions = np.flatnonzero(prior_counts)
        counts_of_kinds.append((positions, prior_counts[positions]))
    return counts_of_kinds


def _with_prior(counts: RangeCounts, prior: RangePrior | None, kind: int) -> Floats:
    """Return the counts of the pairs of one kind in a range, with the prior added."""
    pair_counts = counts[kind].copy()
    if prior is not None:
        positions, prior_counts = prior[kind]
        pair_counts[positions] += prior_counts
    return pair_counts


def _find_cuts(keys: Longs, bounds: Longs) -> Longs:
    """Return where each range begins in the sorted keys of a part, and the end, shape (ranges + 1,)."""
    return np.concatenate([[0], np.searchsorted(keys, bounds), [len(keys)]])


def _cut_kinds(arrays_of_kinds: Sequence[PairArray], cuts_of_kinds: Sequence[Longs]) -> list[list[PairArray]]:
    """Cut arrays of the pairs of a part, one for each kind of form, into slices for the ranges."""
    slices = []
    for bounds in zip(*map(pairwise, cuts_of_kinds), strict=True):  # of a range, for each kind of form
        kinds = zip(arrays_of_kinds, bounds, strict=True)
        slices.append([array[begin:end] for array, (begin, end) in kinds])
    return slices


def _merge_keys(keys_of_parts: Sequence[Longs]) -> tuple[Longs, list[Ints]]:
    """Return the distinct keys of all parts, sorted, and the positions of the keys of each part."""
    keys, positions = rank_distinct(np.concatenate(keys_of_parts))
    ends = np.cumsum([len(keys_of_part) for keys_of_part in keys_of_parts])
    return keys, np.split(positions, ends[:-1])


# --- calls of an iteration -----------------------------------------------------------------------


def ratios_of_range(
    key_range: KeyRange,
    counts: RangeCounts,
    prior: RangePrior | None,
    factors_of_kinds: list[tuple[Floats, Floats]],
    floor: float,
) -> tuple[list[list[Floats]], None]:
    """Return slices of the likelihood ratios of a range for the parts: the M-step of the lexicon.

    `factors_of_kinds` are those of :func:`~nmtalign.scorers.likelihood_ratios.ratio_factors`. There is no
    other result.
    """
    slices: list[list[Floats]] = [[] for _ in key_range[WORD_KIND].positions_of_parts]
    for kind, of_kind in enumerate(key_range):
        ratios = _with_prior(counts, prior, kind)
        ratios[of_kind.similar_pairs] += of_kind.spelling_counts
        factors = factors_of_kinds[kind]
        target_forms = len(factors[1])
        scale_to_ratios(ratios, split_keys(of_kind.keys, target_forms), factors, floor)
        for of_part, positions in zip(slices, of_kind.positions_of_parts, strict=True):
            of_part.append(ratios.take(positions))
    return slices, None


def counts_of_part(
    part: TextPart, cuts_of_kinds: list[Longs], step: EStep, ratios: RatioSlices | None
) -> tuple[list[list[SliceCounts]], list[BucketCounts]]:
    """Return slices of the expected counts of the word pairs of a part for the ranges; also its other counts.

    `ratios` are the slices of all ranges; None in the uniform step.
    """
    if step.emissions is not None and ratios is not None:
        pair_ratios = _word_pair_ratios(part, ratios)
        step = step._replace(emissions=step.emissions._replace(pair_ratios=pair_ratios))
    pair_counts = np.zeros(part.word_pair_count, np.float64)
    others = []
    numbered_buckets = zip(part.buckets, part.pair_numbers, strict=True)
    for k, (bucket, pair_numbers) in enumerate(numbered_buckets, part.first_bucket):
        counts = step.counts(k, bucket, pair_numbers)
        links = counts.links
        np.add.at(pair_counts, links.indices.ravel(), links.values.ravel().astype(np.float64))
        others.append(counts._replace(links=NO_COUNTS))
    slices_of_counts = _cut_kinds(_sum_by_form(part, cuts_of_kinds, pair_counts), cuts_of_kinds)
    slices = [list(map(SliceCounts.of, counts_of_kinds)) for counts_of_kinds in slices_of_counts]
    return slices, _join_buckets(others)


def _word_pair_ratios(part: TextPart, ratios: RatioSlices) -> Floats:
    """Return the ratios of the word pairs of a part from the slices of all ranges, shape (word pairs,)."""
    ratios_of_kinds = [np.concatenate(of_ranges) for of_ranges in zip(*ratios, strict=True)]
    kinds = zip(ratios_of_kinds, part.form_pair_numbers, strict=True)
    pair_ratios = mean_of_kinds(kinds, part.word_pair_count, len(part.form_pair_numbers))
    pair_ratios[:1] = 0  # the padding
    return pair_ratios


def _sum_by_form(part: TextPart, cuts_of_kinds: list[Longs], pair_counts: Doubles) -> list[Doubles]:
    """Return the counts of the pairs of forms of a part, shape (form pairs,), for each kind of form.

    The counts of whole words may be `pair_counts` itself, in which the count of the padding becomes 0.
    """
    counted = np.flatnonzero(pair_counts)
    sums_of_kinds = []
    for numbers, cuts in zip(part.form_pair_numbers, cuts_of_kinds, strict=True):
        sums = pair_counts
        if numbers is not None:
            form_pairs = int(cuts[-1])
            sums = sum_at(numbers[counted], form_pairs, pair_counts[counted])
        sums[0] = 0  # the padding, and pairs that are dropped
        sums_of_kinds.append(sums)
    return sums_of_kinds


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
    jumps = [
        counts._replace(source_null=NO_COUNTS, target_null=NO_COUNTS, log_likelihood=0.0)
        for counts in counts_of_buckets
        if counts.forward_jumps is not None
    ]
    return [words, *jumps]


def _sum_sparse(counts: Sequence[Sparse]) -> Sparse:
    """Return the sum of sparse counts, with distinct indices."""
    indices = np.concatenate([of_bucket.indices.ravel() for of_bucket in [NO_COUNTS, *counts]])
    values = np.concatenate([of_bucket.values.ravel() for of_bucket in [NO_COUNTS, *counts]])
    sums = sum_at(indices, int(indices.max(initial=-1)) + 1, values.astype(np.float64))
    counted = np.flatnonzero(sums)
    return Sparse(counted, sums[counted])


def sum_range(key_range: KeyRange, slices: CountSlices, target_words: int) -> tuple[RangeCounts, LinkedWords]:
    """Sum the slices of all parts in a range; also return the sums of word pairs in double precision."""
    totals_of_kinds = []
    for kind, of_kind in enumerate(key_range):
        totals = np.zeros(len(of_kind.keys), np.float64)
        for of_part, positions in zip(slices, of_kind.positions_of_parts, strict=True):
            of_part[kind].add_to(totals, positions)
        totals_of_kinds.append(totals)
    word_totals = totals_of_kinds[WORD_KIND]
    counted = np.flatnonzero(word_totals)
    source, target = split_keys(key_range[WORD_KIND].keys[counted], target_words)
    linked = source, target, word_totals[counted]
    return [totals.astype(np.float32) for totals in totals_of_kinds], linked


def linked_pairs_of_range(
    key_range: KeyRange, counts: RangeCounts, prior: RangePrior | None, prune: float
) -> list[PairCounts]:
    """Return the keys and the counts of the pairs that the model keeps, for each kind of form."""
    pairs_of_kinds = []
    for kind, of_kind in enumerate(key_range):
        pair_counts = _with_prior(counts, prior, kind)
        kept = np.flatnonzero((pair_counts >= prune) & (pair_counts > 0))
        pairs_of_kinds.append((of_kind.keys[kept], pair_counts[kept]))
    return pairs_of_kinds
