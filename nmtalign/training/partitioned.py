"""Expectation-maximization over a text in parts, with the counts of its word pairs in ranges.

A result store keeps parts and ranges: in temporary files, or on the workers of a cluster. An M-step computes
the likelihood ratios of each range, one slice for each part. An E-step computes the counts of each part, one
slice for each range, which sums the slices of all parts, in the order of the parts. Nothing else passes
between parts and ranges, so the bytes that move grow with the text. This program has the vocabularies, the
counts of single words and of forms, and the jump models; the text and the counts of the ranges are in its
temporary files. If a worker is lost, parts and ranges are made again from the text, and training goes on from
the last iteration.

The sums are those of :class:`~nmtalign.training.em.Estimator`. Expected counts are single precision and at
least `MIN_LINK_COUNT`, so up to a sum of 8192 double precision adds them without rounding, in any order.

Axes: Q pairs of forms of a range, P parts, R = P ranges, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Floats, Longs
from nmtalign.corpus.buckets import Bucket, cells_of_buckets
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import WordCounts, WordPairIndex, is_large
from nmtalign.errors import UsageError, WorkerError
from nmtalign.positions.e_step import EStep, ExpectedCounts
from nmtalign.positions.position_model import Emissions
from nmtalign.scorers.form_counts import FormCounts, FormPairCounts, sum_at
from nmtalign.scorers.forms import WHOLE_WORD, Spellings, forms_of, make_form_pairs
from nmtalign.scorers.lexicon import StoredForms
from nmtalign.scorers.likelihood_ratios import TextFormCounts, mean_null_ratios, ratio_factors
from nmtalign.state import Stored
from nmtalign.training.checkpoint import ArrayItems
from nmtalign.training.em import EMState, Estimate, Estimator, Hyperparameters, form_kinds_of_text
from nmtalign.training.parts_and_ranges import (
    WORD_KIND,
    FormNumbers,
    KindOfForms,
    RangeCounts,
    counts_of_part,
    cut_form_keys,
    cut_word_keys,
    linked_pairs_of_range,
    merge_forms,
    merge_words,
    number_forms_of_part,
    number_part,
    prior_of_range,
    ratios_of_range,
    sum_range,
)
from nmtalign.training.prior import Prior
from nmtalign.training.result_store import FileStore, Handle, Later, LostResultError, ResultStore

MAX_SAMPLE_STEP = 256  # at most every n-th key of a part is in the sample that divides keys into ranges
CELLS_PER_SAMPLE = 1 << 10  # a part has about one key in the sample for so many cells
MAX_LOSSES = 5  # a step that loses workers so often fails

Result = TypeVar("Result")


class PartitionedCounts(ExpectedCounts):
    """Expected counts of which those of word pairs are in ranges; `links` is empty."""

    ranges: Sequence[Later]  # handles of the counts of each range
    linked: tuple[Doubles, Doubles]  # (V,): joint counts of source and of target words

    @classmethod
    def of(
        cls, counts: ExpectedCounts, ranges: Sequence[Later], linked: tuple[Doubles, Doubles]
    ) -> PartitionedCounts:
        """Return counts with handles of the counts of word pairs, and their sums."""
        result = cls(*counts)
        result.ranges = ranges
        result.linked = linked
        return result


class PartitionedEmissions(Emissions):
    """Emission ratios of which those of word pairs are in slices; `pair_ratios` is empty."""

    slices: list[Sequence[Handle]]  # for each range: handles of the ratios of each part

    @classmethod
    def of(cls, emissions: Emissions, slices: list[Sequence[Handle]]) -> PartitionedEmissions:
        """Return emissions with handles of the ratios of word pairs."""
        result = cls(*emissions)
        result.slices = slices
        return result


class PlacedWords(NamedTuple):
    """Handles of what is made of whole words, before the other kinds of form."""

    parts: list[Handle]
    keys: list[Handle]  # the keys of each part
    cuts: list[Handle]  # where each range begins in the keys of each part
    kept: list[list[Handle]]  # for each part: which of its keys each range keeps; empty if all are kept
    ranges: list[Handle]
    bounds: Longs  # (R - 1,): the keys with which ranges begin, but for the first


class PartitionedEstimator(Estimator):
    """Expectation-maximization over parts of a text and ranges of its word pairs, which a store keeps.

    `cells` is about the number of cells of a part, which sets how much memory a process uses.
    """

    def __init__(
        self,
        text: EncodedText,
        hyperparameters: Hyperparameters,
        *,
        cells: int,
        store: ResultStore | None = None,
        prior: Prior | None = None,
        workers: int | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.text = text
        self.source = text.source
        self.target = text.target
        self.hyperparameters = hyperparameters
        self.workers = default_workers(workers)
        self.report = report or (lambda line: None)
        no_pairs = np.zeros(0, np.int32)
        self.word_pairs = WordPairIndex(no_pairs, no_pairs, [], complete=False)
        self._store = FileStore(self.workers) if store is None else store
        kinds = form_kinds_of_text(text, hyperparameters, prior)
        if kinds[WORD_KIND] != (WHOLE_WORD, WHOLE_WORD):
            raise UsageError("a text in parts is counted by whole words first; begin `forms` with 0")
        self.form_pairs = []  # the forms of each kind, without their pairs
        for kind in kinds:
            header = make_form_pairs(
                self.source, self.target, self.word_pairs, kind, spelling=0, merge_equal=False
            )
            self.form_pairs.append(header)
        part_of_bucket = np.cumsum(cells_of_buckets(text.buckets), dtype=np.int64) // cells
        cuts = np.flatnonzero(np.diff(part_of_bucket)) + 1
        self._spans = list(pairwise([0, *cuts.tolist(), len(text.buckets)]))  # buckets of each part
        self._sample_step = max(1, min(MAX_SAMPLE_STEP, cells // CELLS_PER_SAMPLE))
        super().set_prior(None)
        self._surviving(self._place_text)
        self.set_prior(prior)
        word_pairs = sum(sizes[WORD_KIND] for sizes in self.range_sizes) - 1  # without the padding
        self.report(
            f"{len(text.source.words) - 1:,} source and {len(text.target.words) - 1:,} target words,"
            f" {word_pairs:,} co-occurring word pairs, in {len(self._spans)} parts {self._store.place}"
        )

    def _surviving(self, step: Callable[..., Result], *given: Any) -> Result:
        """Return the result of a step; if a result of a store is lost, make all again and repeat the step."""
        for _ in range(MAX_LOSSES):
            try:
                return step(*given)
            except LostResultError:
                pass
            try:
                self._place_all()
            except LostResultError:
                continue
        raise WorkerError(f"workers died {MAX_LOSSES} times in one step; did they run out of memory?")

    def _place_all(self) -> None:
        """Make the parts and the ranges, and what they know of the prior."""
        self._place_text()
        self._place_prior()

    # --- parts and ranges ------------------------------------------------------------------------

    def _place_text(self) -> None:
        """Make the parts and the ranges."""
        self._parts: list[Handle] = []  # frees those of a cluster that has lost others
        self._ranges: list[Handle] = []
        shared_kinds = self._store.share(self._kinds_of_forms())
        self._place_forms(self._place_words(shared_kinds), shared_kinds)

    def _kinds_of_forms(self) -> list[KindOfForms]:
        """Return what ranges need to know of the forms."""
        kinds = []
        for header in self.form_pairs:
            source_forms = forms_of(self.source, header.form_kinds[0])[1]
            target_forms = forms_of(self.target, header.form_kinds[1])[1]
            spellings = Spellings.of(source_forms, target_forms)
            kinds.append(KindOfForms(len(header.strings[1]), spellings, self.hyperparameters.spelling))
        return kinds

    def _place_words(self, shared_kinds: Handle) -> PlacedWords:
        """Number the word pairs of the parts, and make the ranges of whole words."""
        store = self._store
        parts = len(self._spans)
        drops_rare_pairs = is_large(self.text.buckets)
        word_counts = store.share(WordCounts.of(self.source, self.target)) if drops_rare_pairs else None
        calls: list[tuple[Any, ...]] = []
        for first, end in self._spans:
            buckets = Later(partial(_read_buckets, self.text.buckets[first:end]))
            calls.append((first, buckets, len(self.target.words), self._sample_step, drops_rare_pairs))
        numbered = store.map(number_part, calls, items=3)
        keys = [of_part[1] for of_part in numbered]
        bounds = _bounds(store.read([of_part[2] for of_part in numbered]), parts)
        cut = store.map(cut_word_keys, [(of_part, bounds) for of_part in keys], items=parts + 1)
        calls = [(shared_kinds, word_counts, *(of_part[r] for of_part in cut)) for r in range(parts)]
        merged = store.map(merge_words, calls, items=parts + 1)
        kept_of_parts: list[list[Handle]] = [[] for _ in numbered]
        if drops_rare_pairs:
            kept_of_parts = [[of_range[1 + p] for of_range in merged] for p in range(parts)]
        return PlacedWords(
            parts=[of_part[0] for of_part in numbered],
            keys=keys,
            cuts=[of_part[parts] for of_part in cut],
            kept=kept_of_parts,
            ranges=[of_range[0] for of_range in merged],
            bounds=bounds,
        )

    def _place_forms(self, words: PlacedWords, shared_kinds: Handle) -> None:
        """Number the pairs of forms of the parts, and make the ranges of all kinds of form."""
        store = self._store
        parts = len(self._spans)
        numbers_of_kinds = []
        for header in self.form_pairs[WORD_KIND + 1 :]:
            numbers_of_kinds.append(FormNumbers(*header.form_numbers, len(header.strings[1])))
        shared_numbers = store.share(numbers_of_kinds)
        calls = []
        for part, keys, cuts, kept in zip(words.parts, words.keys, words.cuts, words.kept, strict=True):
            arguments = part, keys, cuts, len(self.target.words), shared_numbers, self._sample_step, *kept
            calls.append(arguments)
        numbered = store.map(number_forms_of_part, calls, items=4)
        self._parts = [of_part[0] for of_part in numbered]
        cuts_of_words = list(store.read([of_part[1] for of_part in numbered]))
        samples = list(store.read([of_part[3] for of_part in numbered]))
        form_bounds = [_bounds(of_kind, parts) for of_kind in zip(*samples, strict=True)]
        calls = [(of_part[2], form_bounds, parts) for of_part in numbered]
        cut = store.map(cut_form_keys, calls, items=parts + 1)
        calls = []
        for r, of_words in enumerate(words.ranges):
            calls.append((shared_kinds, of_words, *(of_part[r] for of_part in cut)))
        merged = store.map(merge_forms, calls, items=2)
        self._ranges = [of_range[0] for of_range in merged]
        # for each range and each kind of form: the number of pairs
        self.range_sizes = list(store.read([of_range[1] for of_range in merged]))
        cuts_of_forms = store.read([of_part[parts] for of_part in cut])
        # for each part and each kind of form: where each range begins in the pairs of the part
        self._cuts = [[w, *f] for w, f in zip(cuts_of_words, cuts_of_forms, strict=True)]
        self._bounds = [words.bounds, *form_bounds]

    def set_prior(self, prior: Prior | None) -> None:
        """Replace the prior, whose words the vocabularies contain."""
        super().set_prior(prior)
        self._surviving(self._place_prior)

    def _place_prior(self) -> None:
        """Give each range its part of the prior."""
        self._priors: list[Handle] = [None] * len(self._spans)  # of each range
        if not self.form_priors:
            return
        keys_of_ranges: list[list[AnyArray]] = [[] for _ in self._spans]
        counts_of_ranges: list[list[AnyArray]] = [[] for _ in self._spans]
        for form_prior, bounds in zip(self.form_priors, self._bounds, strict=True):
            cuts = np.searchsorted(form_prior.keys, bounds)
            for of_range, keys in zip(keys_of_ranges, np.split(form_prior.keys, cuts), strict=True):
                of_range.append(keys)
            for of_range, counts in zip(counts_of_ranges, np.split(form_prior.counts, cuts), strict=True):
                of_range.append(counts)
        prior_of_ranges = self._store.put(zip(keys_of_ranges, counts_of_ranges, strict=True))
        calls = list(zip(self._ranges, prior_of_ranges, strict=True))
        self._priors = [prior for (prior,) in self._store.map(prior_of_range, calls, items=1)]

    # --- expectation -----------------------------------------------------------------------------

    def _e_step(self, step: EStep) -> PartitionedCounts:
        """Return the expected counts; those of word pairs are summed in ranges.

        The slices of the emissions are freed as soon as they are counted: a step has emissions of its own.
        """
        store = self._store
        parts = len(self._spans)
        slices: list[Sequence[Handle]] = []
        if step.emissions is not None:
            assert isinstance(step.emissions, PartitionedEmissions)
            slices = step.emissions.slices
            step = step._replace(emissions=Emissions(*step.emissions))  # without the handles
        shared_step = store.share(step)
        calls: list[tuple[Any, ...]] = []
        for p, (part, cuts) in enumerate(zip(self._parts, self._cuts, strict=True)):
            calls.append((part, cuts, shared_step, *(of_range[p] for of_range in slices)))
        counted = store.map(counts_of_part, calls, items=parts + 1)
        slices.clear()  # a store frees what has no handle
        calls = []
        for r, key_range in enumerate(self._ranges):
            calls.append((key_range, len(self.target.words), *(of_part[r] for of_part in counted)))
        summed = store.map(sum_range, calls, items=2)
        words = len(self.source.words), len(self.target.words)
        totals = ExpectedCounts.zeros(0, words, step.jump_models)
        log_likelihood = 0.0
        for counts_of_buckets in store.read([of_part[parts] for of_part in counted]):
            log_likelihood += sum(map(totals.add, counts_of_buckets))
        totals.source_null[0] = 0
        totals.target_null[0] = 0
        del counted, calls
        linked = np.zeros(words[0]), np.zeros(words[1])
        for linked_words in store.read([of_range[1] for of_range in summed]):
            linked_words.add_to(linked)
        ranges = store.saved([of_range[0] for of_range in summed])
        return PartitionedCounts.of(totals._replace(log_likelihood=log_likelihood), ranges, linked)

    # --- maximization ----------------------------------------------------------------------------

    def _no_counts(self) -> PartitionedCounts:
        words = len(self.source.words), len(self.target.words)
        ranges = self._store.put([np.zeros(size, np.float32) for size in sizes] for sizes in self.range_sizes)
        linked = np.zeros(words[0]), np.zeros(words[1])
        return PartitionedCounts.of(ExpectedCounts.zeros(0, words, None), ranges, linked)

    def _form_counts_of(self, counts: ExpectedCounts) -> TextFormCounts:
        """Return the expected counts of forms, without those of their pairs."""
        assert isinstance(counts, PartitionedCounts)
        sides = []
        for linked, null in zip(counts.linked, (counts.source_null, counts.target_null), strict=True):
            sides.append(FormCounts(linked, null, float(null.sum())))
        no_pairs = np.zeros(0, np.float32)
        counts_of_kinds = []
        for kind, header in enumerate(self.form_pairs):
            of_forms = []
            for side, words in enumerate(sides):
                size = len(header.strings[side])
                of_forms.append(words.apply(partial(sum_at, header.form_numbers[side], size)))
            form_counts = FormPairCounts(no_pairs, (of_forms[0], of_forms[1]))
            if self.form_priors:
                nothing = np.zeros(0, np.int64), no_pairs
                form_counts = self.form_priors[kind].add_to(nothing, form_counts)
            counts_of_kinds.append(form_counts)
        return TextFormCounts(self.form_pairs, counts_of_kinds, self.smoothing)

    def _emissions(self, counts: ExpectedCounts, floor: float) -> PartitionedEmissions:
        """Return the likelihood ratios: those of word pairs as handles, those of null words as arrays."""
        assert isinstance(counts, PartitionedCounts)
        store = self._store
        form_counts = self._form_counts_of(counts)
        smoothing = form_counts.smoothing._replace(floor=floor)
        factors = store.share([ratio_factors(of_kind.sides, smoothing) for of_kind in form_counts.counts])
        targets = [len(header.strings[1]) for header in self.form_pairs]
        calls = []
        for key_range, pairs, prior in zip(self._ranges, counts.ranges, self._priors, strict=True):
            calls.append((key_range, pairs, prior, factors, targets, floor))
        slices = store.map(ratios_of_range, calls, items=len(self._spans))
        form_counts = form_counts._replace(smoothing=smoothing)
        emissions = Emissions(
            pair_ratios=np.zeros(0, np.float32),
            source_null=mean_null_ratios(form_counts, 0),
            target_null=mean_null_ratios(form_counts, 1),
        )
        return PartitionedEmissions.of(emissions, slices)

    def _initial_state(self) -> EMState:
        return self._surviving(super()._initial_state)

    def _model1_iteration(self, state: EMState) -> EMState:
        return self._surviving(super()._model1_iteration, state)

    def _hmm_iteration(self, state: EMState) -> EMState:
        return self._surviving(super()._hmm_iteration, state)

    def _estimate(self, state: EMState) -> Estimate:
        """Return the estimate of the last iteration; very small counts are dropped."""
        assert isinstance(state.counts, PartitionedCounts)
        form_counts = self._form_counts_of(state.counts)
        pruned = [self._pruned(counts) for counts in form_counts.counts]
        pairs_of_kinds = self._surviving(self._linked_pairs, state.counts.ranges)
        stored = []
        for header, counts, (keys, pairs) in zip(self.form_pairs, pruned, pairs_of_kinds, strict=True):
            stored.append(StoredForms(header.form_kinds, keys, pairs, counts.sides))
        return Estimate(form_counts._replace(counts=pruned), state.jump_models, self._lexicon(stored))

    def _linked_pairs(self, counts_of_ranges: Sequence[Later]) -> list[tuple[Longs, Floats]]:
        """Return the keys and the counts of the pairs that the model keeps, for each kind of form."""
        calls = []
        for key_range, counts, prior in zip(self._ranges, counts_of_ranges, self._priors, strict=True):
            calls.append((key_range, counts, prior, self.hyperparameters.prune))
        found = self._store.map(linked_pairs_of_range, calls, items=1)
        pairs_of_ranges = list(self._store.read([of_range[0] for of_range in found]))
        joined = []
        for of_kind in zip(*pairs_of_ranges, strict=True):
            keys, pairs = map(np.concatenate, zip(*of_kind, strict=True))
            joined.append((keys, pairs))
        return joined

    # --- checkpoints -----------------------------------------------------------------------------

    def _as_arrays(self, state: EMState) -> ArrayItems:
        """Yield the arrays of a state of training, with their names."""
        assert isinstance(state.counts, PartitionedCounts)
        yield from super()._as_arrays(state)
        yield from zip(("source_linked", "target_linked"), state.counts.linked, strict=True)
        for number, counts in enumerate(self._store.read(state.counts.ranges)):
            for kind, pairs in enumerate(counts):
                yield _name_of_counts(kind, number), pairs

    def _from_checkpoint(self, stored: Stored) -> EMState:
        state = super()._from_checkpoint(stored)
        linked = []
        for name, words in (("source_linked", self.source.words), ("target_linked", self.target.words)):
            linked.append(stored.array(name, "f", (len(words),), minimum=0))
        ranges = self._store.put(self._counts_from_checkpoint(stored))
        counts = PartitionedCounts.of(state.counts, ranges, (linked[0], linked[1]))
        return state._replace(counts=counts)

    def _counts_from_checkpoint(self, stored: Stored) -> Iterator[RangeCounts]:
        """Yield the counts of each range."""
        for number, sizes in enumerate(self.range_sizes):
            counts = []
            for kind, size in enumerate(sizes):
                pairs = stored.array(_name_of_counts(kind, number), "f", (size,), minimum=0)
                counts.append(pairs.astype(np.float32))
            yield counts


def _name_of_counts(kind: int, number: int) -> str:
    """Return the name, in a checkpoint, of the counts of a range."""
    return f"counts_{kind}_{number}"


def _read_buckets(buckets: Sequence[Bucket]) -> list[Bucket]:
    return list(buckets)


def _bounds(samples: Iterable[Longs], ranges: int) -> Longs:
    """Return the keys with which ranges begin, but for the first; ranges have about the same size."""
    sample = np.sort(np.concatenate(list(samples)))
    return sample[np.arange(1, ranges) * len(sample) // ranges]
