r"""Expectation-maximization over a text in parts, with the counts of its word pairs in ranges.

A result store keeps parts and ranges: in temporary files, or on the workers of a cluster. A pass, which is an
M-step of the lexicon and one E-step, goes from the counts in the ranges to those after them::

    range 0 ----> part 0 ----> range 0      ratios_of_range  a slice of ratios for each part (the M-step)
             \/           \/                counts_of_part   a slice of counts for each range (the E-step)
             /\           /\                sum_range        the sums of the slices, in the order of the parts
    range 1 ----> part 1 ----> range 1
         ratios       counts

:mod:`nmtalign.training.parts_and_ranges` has these calls, and an example of slices.
Nothing else passes between parts and ranges, so the bytes that move grow with the text. This program has the
vocabularies, the counts of single words and of forms, and the jump models; the text and the counts of the
ranges are in its temporary files. If a worker is lost, parts and ranges are made again from the text, and
training goes on from the last pass.

The sums are those of :class:`~nmtalign.training.em.Estimator`. Expected counts are single precision and at
least `MIN_LINK_COUNT`, so up to a sum of 8192 double precision adds them without rounding, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Longs
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import WordCounts, WordPairIndex, is_large
from nmtalign.errors import WorkerError
from nmtalign.positions.e_step import BucketCounts, EStep, ExpectedCounts
from nmtalign.positions.position_model import Emissions
from nmtalign.scorers.forms import (
    FormCounts,
    FormPairCounts,
    FormPairs,
    counts_of_forms,
    make_form_pairs,
    spellings_of,
)
from nmtalign.scorers.lexicon import StoredForms
from nmtalign.scorers.likelihood_ratios import TextFormCounts, mean_null_ratios, ratio_factors
from nmtalign.state import Stored
from nmtalign.training.checkpoint import ArrayItems
from nmtalign.training.em import (
    EMIterations,
    Hyperparameters,
    counts_from_arrays,
    form_kinds_of_text,
)
from nmtalign.training.parts_and_ranges import (
    WORD_KIND,
    CountSlices,
    FormNumbers,
    KeyRange,
    LinkedWords,
    PairCounts,
    RangeCounts,
    RangePrior,
    RatioSlices,
    TextPart,
    choose_pairs,
    counts_of_part,
    cut_keys,
    cut_word_keys,
    linked_pairs_of_range,
    merge_slices,
    number_forms_of_part,
    number_part,
    prior_of_range,
    ratios_of_range,
    sample_keys,
    sum_range,
)
from nmtalign.training.prior import Prior
from nmtalign.training.result_store import Arguments, FileStore, Handle, Later, LostResultError, ResultStore

MAX_LOSSES = 5  # an attempt that loses workers so often fails
NO_PAIR_COUNTS: Floats = np.zeros(0, np.float32)
LINKED_NAMES = "source_linked", "target_linked"  # of the joint counts of words in a checkpoint

Result = TypeVar("Result")
# The sample that divides keys into ranges has every n-th key of a part, n at most `MAX_SAMPLE_STRIDE`. These
# are about `SAMPLE_KEYS` keys if all cells of the part differ, and more in a large part.
MAX_SAMPLE_STRIDE = 256
SAMPLE_KEYS = 1 << 10


# --- division ------------------------------------------------------------------------------------
# There are as many ranges as parts, and they have about the same size: a sample of the keys of all parts
# gives the bounds. Before, the rare word pairs of a large text are dropped, which also takes an exchange.


@dataclass(frozen=True, eq=False)
class DividedText:
    """Handles of the parts and the ranges of a text, and where slices begin."""

    parts: list[Handle[TextPart]]
    ranges: list[Handle[KeyRange]]
    range_sizes: list[list[int]]  # for each range and each kind of form: number of pairs
    bounds: list[Longs]  # for each kind of form: the keys with which ranges begin, but for the first
    # for each part and each kind of form: where the slice of each range begins in the pairs of the part
    cuts_of_parts: list[list[Longs]]


def divide_text(
    store: ResultStore,
    text: EncodedText,
    kinds: Sequence[FormPairs],
    *,
    spelling: float,
    part_cells: int,
) -> DividedText:
    """Make the parts and the ranges of a text.

    `kinds` has the forms of each kind, without their pairs; `spelling` is the prior count of two identical
    forms, and `part_cells` about the number of cells of a part.
    """
    target_words = len(text.target.words)
    calls: list[Arguments] = [
        {
            "first_bucket": first,
            "buckets": Later(partial(list, text.buckets[first:end])),
            "target_words": target_words,
        }
        for first, end in text.spans(part_cells)
    ]
    parts, word_keys = store.map_to_pairs(number_part, calls)
    stride = max(1, min(MAX_SAMPLE_STRIDE, part_cells // SAMPLE_KEYS))
    kept_of_parts = _choose_kept_pairs(store, text, parts, word_keys, stride)
    # of each kind but whole words
    form_numbers = [FormNumbers(*kind.form_numbers, len(kind.strings[1])) for kind in kinds[WORD_KIND + 1 :]]
    shared_numbers = store.share(form_numbers)
    calls = [
        {
            "part": part,
            "word_keys": keys,
            "kept_of_ranges": kept,
            "target_words": target_words,
            "forms_of_kinds": shared_numbers,
        }
        for part, keys, kept in zip(parts, word_keys, kept_of_parts, strict=True)
    ]
    parts, keys_of_parts = store.map_to_pairs(number_forms_of_part, calls)
    del word_keys, kept_of_parts  # a store frees what has no handle
    bounds = _choose_bounds(store, keys_of_parts, stride)
    calls = [{"keys_of_kinds": keys, "bounds_of_kinds": bounds} for keys in keys_of_parts]
    slices_for_ranges, cuts_of_parts = store.exchange(cut_keys, calls, receivers=len(parts))
    spellings = [spellings_of(text.source, text.target, kind.form_kinds) for kind in kinds]
    shared_spellings = store.share(spellings)
    calls = [
        {"slices": slices, "spellings_of_kinds": shared_spellings, "spelling": spelling}
        for slices in slices_for_ranges
    ]
    ranges, range_sizes = store.map_to_pairs(merge_slices, calls)
    return DividedText(
        parts=parts,
        ranges=ranges,
        range_sizes=list(store.read(range_sizes)),
        bounds=bounds,
        cuts_of_parts=list(store.read(cuts_of_parts)),
    )


def _choose_kept_pairs(
    store: ResultStore,
    text: EncodedText,
    parts: list[Handle[TextPart]],
    word_keys: list[Handle[list[Longs]]],
    stride: int,
) -> Sequence[Handle[list[Flags]] | None]:
    """Return which word pairs of each part are kept, for each range; None for all of them."""
    if not is_large(text.buckets):
        return [None] * len(parts)
    bounds = _choose_bounds(store, word_keys, stride)
    calls: list[Arguments] = [
        {"part": part, "word_keys": keys, "bounds_of_kinds": bounds}
        for part, keys in zip(parts, word_keys, strict=True)
    ]
    # from parts to ranges: slices of the keys; there are as many ranges as parts
    slices_for_ranges, _ = store.exchange(cut_word_keys, calls, receivers=len(parts))
    words = store.share(WordCounts.of(text.source, text.target))
    calls = [{"slices": slices, "words": words} for slices in slices_for_ranges]
    # from ranges to parts: which pairs are kept
    kept_of_parts, _ = store.exchange(choose_pairs, calls, receivers=len(parts))
    return kept_of_parts


def _choose_bounds(
    store: ResultStore, keys_of_parts: Sequence[Handle[list[Longs]]], stride: int
) -> list[Longs]:
    """Return the keys with which ranges begin, but for the first, for each kind of form.

    The ranges have about the same size.
    """
    calls: list[Arguments] = [{"keys_of_kinds": keys, "stride": stride} for keys in keys_of_parts]
    samples_of_parts = list(store.read(store.map(sample_keys, calls)))
    ranges = len(samples_of_parts)
    bounds = []
    for of_kind in zip(*samples_of_parts, strict=True):
        keys = np.sort(np.concatenate(of_kind))
        bounds.append(keys[np.arange(1, ranges) * len(keys) // ranges])
    return bounds


# --- estimation ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PartitionedCounts:
    """Expected counts, of which those of pairs of forms are in ranges."""

    without_pairs: ExpectedCounts  # of single words and jumps; `links` is empty
    counts_of_ranges: Sequence[Handle[RangeCounts]]  # the counts of the pairs of each range
    linked: tuple[Doubles, Doubles]  # (words,): joint counts of source words and of target words


class PartitionedEstimator(EMIterations[PartitionedCounts]):
    """Expectation-maximization over parts of a text and ranges of its word pairs, which a store keeps.

    `part_cells` is about the number of cells of a part, which sets how much memory a process uses.
    """

    def __init__(
        self,
        text: EncodedText,
        hyperparameters: Hyperparameters,
        *,
        part_cells: int,
        store: ResultStore | None = None,
        prior: Prior | None = None,
        workers: int | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        no_word_pairs = WordPairIndex(np.zeros(0, np.int32), np.zeros(0, np.int32), [])
        form_pairs = [  # the forms of each kind, without their pairs; whole words come first
            make_form_pairs(text.source, text.target, no_word_pairs, kind, spelling=0, merge_equal=False)
            for kind in form_kinds_of_text(text, hyperparameters, prior)
        ]
        super().__init__(text, form_pairs, hyperparameters, report or (lambda line: None))
        self._store = FileStore(default_workers(workers)) if store is None else store
        self._divide = partial(
            divide_text,
            self._store,
            text,
            form_pairs,
            spelling=hyperparameters.spelling,
            part_cells=part_cells,
        )
        self._divided: DividedText | None = None  # None until it is made, and after a loss
        self._priors: list[Handle[RangePrior] | None] = []  # of each range
        self.range_sizes = self._surviving(lambda divided: divided.range_sizes)
        self.set_prior(prior)
        word_pairs = sum(sizes[WORD_KIND] for sizes in self.range_sizes) - 1  # without the padding
        self.report(
            f"{len(text.source.words) - 1:,} source and {len(text.target.words) - 1:,} target words,"
            f" {word_pairs:,} co-occurring word pairs,"
            f" in {len(self.range_sizes)} parts {self._store.place}"
        )

    def _surviving(self, attempt: Callable[[DividedText], Result]) -> Result:
        """Return the result of an attempt; if a result of the store is lost, divide the text and try again.

        Dividing depends only on the text and the settings: the new ranges have the same pairs at the same
        positions. Therefore the counts of the last pass, which were saved, fit the new ranges.
        """
        for _ in range(MAX_LOSSES):
            try:
                if self._divided is None:
                    self._divided = self._divide()
                    self._priors = self._place_prior(self._divided)
                return attempt(self._divided)
            except LostResultError:
                self._divided = None  # frees what the other workers keep
                self._priors = []
        raise WorkerError(f"workers died {MAX_LOSSES} times in one step; did they run out of memory?")

    def set_prior(self, prior: Prior | None) -> None:
        """Replace the prior, whose words the vocabularies contain."""
        super().set_prior(prior)
        self._priors = self._surviving(self._place_prior)

    def _place_prior(self, divided: DividedText) -> list[Handle[RangePrior] | None]:
        """Return handles of the prior counts of each range; None without a prior."""
        if not self.form_priors:
            return [None] * len(divided.ranges)
        prior_of_ranges: list[list[PairCounts]] = [[] for _ in divided.ranges]
        for form_prior, bounds in zip(self.form_priors, divided.bounds, strict=True):
            cuts = np.searchsorted(form_prior.keys, bounds)
            slices = zip(np.split(form_prior.keys, cuts), np.split(form_prior.counts, cuts), strict=True)
            for of_range, keys_and_counts in zip(prior_of_ranges, slices, strict=True):
                of_range.append(keys_and_counts)
        calls: list[Arguments] = [
            {"key_range": key_range, "prior_of_kinds": prior}
            for key_range, prior in zip(divided.ranges, self._store.put(prior_of_ranges), strict=True)
        ]
        return list(self._store.map(prior_of_range, calls))

    # --- a pass ----------------------------------------------------------------------------------

    def _e_step(self, step: EStep) -> PartitionedCounts:
        return self._surviving(lambda divided: self._pass(divided, step, [None] * len(divided.parts)))

    def _next_counts(self, counts: PartitionedCounts, floor: float, step: EStep) -> PartitionedCounts:
        form_counts = self._form_counts_of(counts).with_floor(floor)
        smoothing = form_counts.smoothing
        factors_of_kinds = [ratio_factors(of_kind.sides, smoothing) for of_kind in form_counts.counts]
        null_emissions = Emissions(
            pair_ratios=np.zeros(0, np.float32),  # each part computes its own
            source_null=mean_null_ratios(form_counts, 0),
            target_null=mean_null_ratios(form_counts, 1),
        )
        step = step._replace(emissions=null_emissions)

        def ratios(divided: DividedText) -> list[Handle[RatioSlices]]:
            """The M-step: return, for each part, the likelihood ratios of its slices of all ranges."""
            shared_factors = self._store.share(factors_of_kinds)
            calls = self._calls_of_ranges(
                divided, counts.counts_of_ranges, factors_of_kinds=shared_factors, floor=floor
            )
            return self._store.exchange(ratios_of_range, calls, len(divided.parts))[0]

        return self._surviving(lambda divided: self._pass(divided, step, ratios(divided)))

    def _pass(
        self, divided: DividedText, step: EStep, slices_for_parts: Sequence[Handle[RatioSlices] | None]
    ) -> PartitionedCounts:
        """Return the expected counts of an E-step; the first one, of uniform links, has no ratios."""
        slices_for_ranges, others = self._count_parts(divided, step, slices_for_parts)
        del slices_for_parts  # a store frees what has no handle
        counts_of_ranges, linked_words = self._sum_slices(divided, slices_for_ranges)
        del slices_for_ranges
        totals = ExpectedCounts.zeros(0, self.vocabulary_sizes, step.jump_models)
        log_likelihood = 0.0
        for counts_of_buckets in self._store.read(others):
            # `add` changes the totals, and returns the log-likelihood of a bucket
            log_likelihood += sum([totals.add(counts) for counts in counts_of_buckets])
        totals.clear_padding()
        linked = np.zeros(self.vocabulary_sizes[0]), np.zeros(self.vocabulary_sizes[1])
        for source, target, joint_counts in self._store.read(linked_words):
            np.add.at(linked[0], source, joint_counts)
            np.add.at(linked[1], target, joint_counts)
        totals = totals._replace(log_likelihood=log_likelihood)
        return PartitionedCounts(totals, self._store.saved(counts_of_ranges), linked)

    def _calls_of_ranges(
        self, divided: DividedText, counts_of_ranges: Sequence[Handle[RangeCounts]], **shared: object
    ) -> list[Arguments]:
        """Return the arguments of a call for each range: its pairs, counts and prior, and what all share."""
        ranges = zip(divided.ranges, counts_of_ranges, self._priors, strict=True)
        return [
            {"key_range": key_range, "counts": counts, "prior": prior, **shared}
            for key_range, counts, prior in ranges
        ]

    def _count_parts(
        self, divided: DividedText, step: EStep, slices_for_parts: Sequence[Handle[RatioSlices] | None]
    ) -> tuple[list[Handle[CountSlices]], list[Handle[list[BucketCounts]]]]:
        """Return the expected counts of pairs of forms: for each range, its slices of all parts.

        Also return the other counts of each part.
        """
        shared_step = self._store.share(step)
        parts = zip(divided.parts, divided.cuts_of_parts, slices_for_parts, strict=True)
        calls: list[Arguments] = [
            {"part": part, "cuts_of_kinds": cuts_of_kinds, "step": shared_step, "ratios": ratios}
            for part, cuts_of_kinds, ratios in parts
        ]
        return self._store.exchange(counts_of_part, calls, len(divided.ranges))

    def _sum_slices(
        self, divided: DividedText, slices_for_ranges: list[Handle[CountSlices]]
    ) -> tuple[list[Handle[RangeCounts]], list[Handle[LinkedWords]]]:
        """Return the counts of each range, and the joint counts of its word pairs."""
        target_words = len(self.target.words)
        calls: list[Arguments] = [
            {"key_range": key_range, "slices": slices, "target_words": target_words}
            for key_range, slices in zip(divided.ranges, slices_for_ranges, strict=True)
        ]
        return self._store.map_to_pairs(sum_range, calls)

    def _no_counts(self) -> PartitionedCounts:
        zeros = ([np.zeros(size, np.float32) for size in sizes] for sizes in self.range_sizes)
        counts_of_ranges = self._store.put(zeros)
        without_pairs = ExpectedCounts.zeros(0, self.vocabulary_sizes, None)
        linked = np.zeros(self.vocabulary_sizes[0]), np.zeros(self.vocabulary_sizes[1])
        return PartitionedCounts(without_pairs, counts_of_ranges, linked)

    def _counts_without_pairs(self, counts: PartitionedCounts) -> ExpectedCounts:
        return counts.without_pairs

    def _form_counts_of(self, counts: PartitionedCounts) -> TextFormCounts:
        source_linked, target_linked = counts.linked
        words = (
            FormCounts.of_words(source_linked, counts.without_pairs.source_null),
            FormCounts.of_words(target_linked, counts.without_pairs.target_null),
        )
        counts_of_kinds = []
        for kind, form_pairs in enumerate(self.form_pairs):
            # the pairs of forms are counted in the ranges
            form_counts = FormPairCounts(NO_PAIR_COUNTS, counts_of_forms(form_pairs, words))
            if self.form_priors:
                no_prior_of_pairs = np.zeros(0, np.int64), NO_PAIR_COUNTS
                form_counts = self.form_priors[kind].add_to(no_prior_of_pairs, form_counts)
            counts_of_kinds.append(form_counts)
        return TextFormCounts(self.form_pairs, counts_of_kinds, self.smoothing)

    # --- the estimate, and checkpoints -----------------------------------------------------------

    def _stored_forms(self, counts: PartitionedCounts, pruned: Sequence[FormPairCounts]) -> list[StoredForms]:
        pairs_of_kinds = self._surviving(lambda divided: self._linked_pairs(divided, counts))
        kinds = zip(self.form_pairs, pruned, pairs_of_kinds, strict=True)
        return [
            StoredForms(form_pairs.form_kinds, keys, pair_counts, of_kind.sides)
            for form_pairs, of_kind, (keys, pair_counts) in kinds
        ]

    def _linked_pairs(self, divided: DividedText, counts: PartitionedCounts) -> list[PairCounts]:
        """Return the keys and the counts of the pairs that the model keeps, for each kind of form."""
        calls = self._calls_of_ranges(divided, counts.counts_of_ranges, prune=self.hyperparameters.prune)
        pairs_of_ranges = list(self._store.read(self._store.map(linked_pairs_of_range, calls)))
        pairs_of_kinds = []
        for of_ranges in zip(*pairs_of_ranges, strict=True):
            keys = np.concatenate([keys for keys, _ in of_ranges])
            kept_counts = np.concatenate([kept_counts for _, kept_counts in of_ranges])
            pairs_of_kinds.append((keys, kept_counts))
        return pairs_of_kinds

    def _arrays_of_counts(self, counts: PartitionedCounts) -> ArrayItems:
        for name, values in counts.without_pairs._asdict().items():
            yield name, np.asarray(values)
        yield from zip(LINKED_NAMES, counts.linked, strict=True)
        for number, counts_of_kinds in enumerate(self._store.read(counts.counts_of_ranges)):
            for kind, pair_counts in enumerate(counts_of_kinds):
                yield _name_of_counts(kind, number), pair_counts

    def _counts_from_checkpoint(self, stored: Stored) -> PartitionedCounts:
        source_linked, target_linked = (
            stored.array(name, "f", (word_count,), minimum=0)
            for name, word_count in zip(LINKED_NAMES, self.vocabulary_sizes, strict=True)
        )
        counts_of_ranges = self._store.put(self._stored_ranges(stored))
        without_pairs = counts_from_arrays(stored, self.vocabulary_sizes, 0)
        return PartitionedCounts(without_pairs, counts_of_ranges, (source_linked, target_linked))

    def _stored_ranges(self, stored: Stored) -> Iterator[RangeCounts]:
        """Yield the counts of each range of a checkpoint."""
        for number, sizes in enumerate(self.range_sizes):
            counts_of_kinds = [
                stored.array(_name_of_counts(kind, number), "f", (size,), minimum=0)
                for kind, size in enumerate(sizes)
            ]
            yield [pair_counts.astype(np.float32) for pair_counts in counts_of_kinds]


def _name_of_counts(kind: int, number: int) -> str:
    """Return the name, in a checkpoint, of the counts of a range."""
    return f"counts_{kind}_{number}"
