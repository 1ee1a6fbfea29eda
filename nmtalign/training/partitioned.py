"""Expectation-maximization in bounded memory: the counts of word pairs are on disk, in partitions.

The text is divided into parts: runs of buckets with about `cells` cells, which number their own word pairs.
For each kind of form, the pairs of forms of all parts, sorted by their keys, are divided into ranges, which
have the counts. An E-step computes the counts of each part and writes them to disk, where the ranges read and
sum them, in the order of the parts. An M-step computes the likelihood ratios of each range and writes them
where the parts read them. Nothing else passes between parts and ranges, so all of them may be in different
processes, and the bytes that are read and written grow with the text.

The sums are those of :class:`~nmtalign.training.em.Estimator`. Expected counts are single precision and at
least `MIN_LINK_COUNT`, so up to a sum of 8192 double precision adds them without rounding, in any order.

Axes: L word pairs of a part, K pairs of forms of a part, Q pairs of forms of a range, P parts, R ranges, F
forms, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Ints, Longs
from nmtalign.corpus.buckets import cells_of_buckets
from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, default_workers, parallel_map, shared_zeros
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import (
    WordPairIndex,
    frequent_or_associated,
    is_large,
    join_keys,
    number_word_pairs,
    rank_distinct,
    split_keys,
)
from nmtalign.errors import UsageError
from nmtalign.files.temporary_arrays import ArrayPlace, TemporaryArrays
from nmtalign.positions.e_step import BucketCounts, EStep, ExpectedCounts, Sparse
from nmtalign.positions.position_model import Emissions
from nmtalign.scorers.form_counts import FormCounts, FormPairCounts, sum_at
from nmtalign.scorers.forms import WHOLE_WORD, FormPairs, forms_of, make_form_pairs, spelled_alike
from nmtalign.scorers.lexicon import StoredForms, stored_forms
from nmtalign.scorers.likelihood_ratios import (
    TextFormCounts,
    form_pair_ratios,
    mean_null_ratios,
    mean_of_kinds,
)
from nmtalign.state import Stored
from nmtalign.training.checkpoint import ArrayItems
from nmtalign.training.em import EMState, Estimate, Estimator, Hyperparameters, form_kinds_of_text
from nmtalign.training.prior import Prior

SAMPLE_STEP = 256  # every n-th key of a part is in the sample that divides the keys into ranges
CELLS_PER_RANGE_ENTRY = 4  # a range has one entry for so many cells of a part
WORD_KIND = 0  # number of the kind of form that is whole words
NO_LINKS = Sparse(np.zeros(0, np.int32), np.zeros(0, np.float32))


class PartForms(NamedTuple):
    """The pairs of forms of one kind of a part of the text. Pair 0 is the padding."""

    pair: ArrayPlace | None  # (L,): pair of forms of each word pair; None if the numbers are the same
    positions: ArrayPlace  # (K,): the place of each pair of forms in its range
    cuts: Longs  # (R + 1,): the first pair of forms of each range
    sums: ArrayPlace  # (K,): expected counts of the last E-step
    ratios: ArrayPlace  # (K,): likelihood ratios for the next E-step


class TextPart(NamedTuple):
    """A run of buckets with the numbers of its word pairs."""

    first: int  # number of the first bucket
    end: int
    cells: ArrayPlace  # word pair of each cell of all buckets
    cell_counts: list[int]  # number of cells of each bucket
    word_pairs: int  # L
    forms: list[PartForms]  # one entry for each kind of form


class KeyRange(NamedTuple):
    """The pairs of forms of one kind whose keys are in a range."""

    keys: ArrayPlace  # (Q,): ``source form * number of target forms + target form``, sorted
    similar: ArrayPlace  # the pairs with similar spellings
    spelling: ArrayPlace  # their prior counts
    counts: tuple[ArrayPlace, ArrayPlace]  # (Q,): of the last E-step, and of the one before it


class PartKeys(NamedTuple):
    """The keys of a part, while ranges are made of them."""

    file: TemporaryArrays  # is freed when the ranges are made
    keys: ArrayPlace  # sorted
    meetings: ArrayPlace | None  # how often each pair occurs together; None if all pairs are kept

    def read(self) -> Longs:
        keys: Longs = self.file.read(self.keys)
        return keys


class PartitionedCounts(ExpectedCounts):
    """Expected counts of which those of word pairs are on disk; `links` is empty."""

    slot: int  # which of the counts of each range they are
    linked: tuple[Doubles, Doubles]  # (V,): joint counts of source and of target words

    @classmethod
    def of(cls, counts: ExpectedCounts, slot: int, linked: tuple[Doubles, Doubles]) -> PartitionedCounts:
        """Return counts with the place and the sums of the counts of word pairs."""
        result = cls(*counts)
        result.slot = slot
        result.linked = linked
        return result


class FormTable(NamedTuple):
    """The pairs of forms of one kind."""

    header: FormPairs  # the forms, without their pairs
    ranges: list[KeyRange]

    @property
    def pairs(self) -> int:
        return sum(key_range.keys.shape[0] for key_range in self.ranges)


class PartitionedEstimator(Estimator):
    """Expectation-maximization over a text whose word pairs are counted on disk.

    `cells` is about the number of cells of a part, which sets how much memory is used.
    """

    def __init__(
        self,
        text: EncodedText,
        hyperparameters: Hyperparameters,
        *,
        prior: Prior | None = None,
        workers: int | None = None,
        report: Callable[[str], None] | None = None,
        cells: int,
    ) -> None:
        self.text = text
        self.source = text.source
        self.target = text.target
        self.hyperparameters = hyperparameters
        self.workers = default_workers(workers)
        self.report = report or (lambda line: None)
        no_pairs = np.zeros(0, np.int32)
        self.word_pairs = WordPairIndex(no_pairs, no_pairs, [], complete=False)
        self._file = TemporaryArrays()
        self._max_entries = max(cells // CELLS_PER_RANGE_ENTRY, 1)
        self._counts_of_cells = cells_of_buckets(text.buckets)
        self._slot = 0  # of the counts that the next E-step writes
        kinds = form_kinds_of_text(text, hyperparameters, prior)
        if kinds[WORD_KIND] != (WHOLE_WORD, WHOLE_WORD):
            raise UsageError("a text on disk is counted by whole words first; begin `forms` with 0")
        headers = []  # the forms of each kind, without their pairs
        for kind in kinds:
            header = make_form_pairs(
                self.source, self.target, self.word_pairs, kind, spelling=0, merge_equal=False
            )
            headers.append(header)
        self.parts, keys_of_words = self._number_parts(cells)
        self.tables = [self._table_of_words(headers[WORD_KIND], keys_of_words)]
        for header in headers[WORD_KIND + 1 :]:
            self.tables.append(self._make_table(header, keys_of_words))
        self.form_pairs = headers
        self.set_prior(prior)
        word_pairs = self.tables[WORD_KIND].pairs - 1  # without the padding
        self.report(
            f"{len(text.source.words) - 1:,} source and {len(text.target.words) - 1:,} target words,"
            f" {word_pairs:,} co-occurring word pairs, in {len(self.parts)} parts on disk"
        )

    def _map(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        then: Callable[[Any], Any] | None = None,
    ) -> list[Any]:
        """Map over parts or ranges, whose `then` writes to disk; return the results."""
        return list(parallel_map(function, items, self.workers, then=then, work=MIN_PARALLEL_CELLS))

    # --- parts and ranges ------------------------------------------------------------------------

    def _number_parts(self, cells: int) -> tuple[list[TextPart], list[PartKeys]]:
        """Number the word pairs of each part; a key joins the numbers of a source and a target word."""
        part_of_bucket = np.cumsum(self._counts_of_cells, dtype=np.int64) // cells
        cuts = [0, *(np.flatnonzero(np.diff(part_of_bucket)) + 1).tolist(), len(self._counts_of_cells)]
        targets = len(self.target.words)
        drops_rare_pairs = is_large(self.text.buckets)
        file = TemporaryArrays()

        def number(span: tuple[int, int]) -> tuple[tuple[int, int], list[Ints], Longs, Ints | None]:
            first, end = span
            index = number_word_pairs(self.text.buckets[first:end], targets)
            keys = join_keys(index.source, index.target, targets)
            meetings = index.count_meetings() if drops_rare_pairs else None
            return span, list(index.cells), keys, meetings

        def store(
            numbered: tuple[tuple[int, int], list[Ints], Longs, Ints | None],
        ) -> tuple[TextPart, ArrayPlace, ArrayPlace | None]:
            (first, end), numbers, keys, meetings = numbered
            cell_counts = self._counts_of_cells[first:end]
            place = self._file.reserve(sum(cell_counts), np.int32)
            start = 0
            for of_bucket in numbers:
                self._file.write(place, of_bucket.ravel(), start)
                start += of_bucket.size
            part = TextPart(first, end, place, cell_counts, len(keys), forms=[])
            return part, file.append(keys), None if meetings is None else file.append(meetings)

        stored = self._map(number, list(pairwise(cuts)), store)
        return [part for part, *_ in stored], [PartKeys(file, *places) for _, *places in stored]

    def _make_table(self, header: FormPairs, keys_of_words: Sequence[PartKeys]) -> FormTable:
        """Make the ranges of one kind of form, and what the parts know of it."""
        targets = len(self.target.words)
        target_forms = len(header.forms[1])

        file = TemporaryArrays()

        def form_keys(number: int) -> tuple[Longs, Ints]:
            """Return the keys of the forms of a part, and the pair of forms of each word pair."""
            keys = keys_of_words[number].read()
            kept = self._kept_pairs(self.parts[number])
            source, target = split_keys(keys if kept is None else keys[kept], targets)
            all_keys = join_keys(header.numbers[0][source], header.numbers[1][target], target_forms)
            distinct_keys, pair = rank_distinct(all_keys)
            if kept is not None:
                pair_of_kept = pair
                pair = np.zeros(len(keys), np.int32)
                pair[kept] = pair_of_kept
            return distinct_keys, pair

        def store(keys_and_pair: tuple[Longs, Ints]) -> tuple[ArrayPlace, ArrayPlace]:
            keys, pair = keys_and_pair
            return file.append(keys), self._file.append(pair)

        stored = self._map(form_keys, range(len(self.parts)), store)
        keys_of_parts = [PartKeys(file, keys, None) for keys, _ in stored]
        ranges, positions, cuts = self._make_ranges(header, keys_of_parts, self._file)
        for part, (_, pair), places, of_part in zip(self.parts, stored, positions, cuts, strict=True):
            part.forms.append(self._part_forms(pair, places, of_part))
        return FormTable(header, ranges)

    def _table_of_words(self, header: FormPairs, keys_of_parts: Sequence[PartKeys]) -> FormTable:
        """Make the ranges of whole words; rare pairs of a large text are dropped."""
        drops_rare_pairs = keys_of_parts[0].meetings is not None
        file = TemporaryArrays() if drops_rare_pairs else self._file
        ranges, positions, cuts = self._make_ranges(header, keys_of_parts, file)
        for part, places, of_part in zip(self.parts, positions, cuts, strict=True):
            if not drops_rare_pairs:
                part.forms.append(self._part_forms(None, places, of_part))
                continue
            in_range = file.read(places)  # -1 where a pair is dropped
            kept = in_range >= 0
            kept_before = np.concatenate([[0], np.cumsum(kept)])
            pair = self._file.append(np.where(kept, kept_before[:-1], 0).astype(np.int32))
            places_of_kept = self._file.append(in_range[kept])
            part.forms.append(self._part_forms(pair, places_of_kept, kept_before[of_part]))
        return FormTable(header, ranges)

    def _kept_pairs(self, part: TextPart) -> Flags | None:
        """Return which word pairs of a part (L,) are kept; None if all are."""
        pair = part.forms[WORD_KIND].pair
        if pair is None:
            return None
        kept = self._file.read(pair) > 0
        kept[0] = True  # the padding
        return kept

    def _part_forms(self, pair: ArrayPlace | None, positions: ArrayPlace, cuts: Longs) -> PartForms:
        """Reserve the places of the counts and ratios of a part."""
        size = positions.shape
        sums = self._file.reserve(size, np.float64)
        return PartForms(pair, positions, cuts, sums, self._file.reserve(size, np.float32))

    def _make_ranges(
        self, header: FormPairs, parts: Sequence[PartKeys], file: TemporaryArrays
    ) -> tuple[list[KeyRange], list[ArrayPlace], list[Longs]]:
        """Merge the keys of all parts; return the ranges, and positions and cuts of the keys of each part.

        The positions are written to `file`.
        """
        bounds = self._bounds(parts)
        cuts = []
        for part in parts:
            keys = part.read()
            cuts.append(np.concatenate([[0], np.searchsorted(keys, bounds), [len(keys)]]))
        positions = [file.reserve(part.keys.shape, np.int32) for part in parts]

        def merge(number: int) -> tuple[Longs, Floats]:
            """Merge the keys of a range; write their positions for the parts; return keys and spellings."""
            spans = [(cut[number], cut[number + 1]) for cut in cuts]
            columns = zip(parts, spans, strict=True)
            keys = np.concatenate([part.file.read(part.keys, *span) for part, span in columns])
            keys, ranks = rank_distinct(keys)
            if parts[0].meetings is not None:
                kept = self._often_enough(keys, ranks, parts, spans)
                keys = keys[kept]
                ranks = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)[ranks]
            start = 0
            for place, (begin, end) in zip(positions, spans, strict=True):
                file.write(place, ranks[start : start + end - begin], begin)
                start += end - begin
            source, target = split_keys(keys, len(header.forms[1]))
            source_kind, target_kind = header.form_kinds
            _, source_forms = forms_of(self.source, source_kind)
            _, target_forms = forms_of(self.target, target_kind)
            spelling = np.float32(self.hyperparameters.spelling)
            return keys, spelling * spelled_alike(source_forms, target_forms, source, target)

        def store(merged: tuple[Longs, Floats]) -> KeyRange:
            keys, spelling = merged
            similar = np.flatnonzero(spelling)
            return KeyRange(
                keys=self._file.append(keys),
                similar=self._file.append(similar),
                spelling=self._file.append(spelling[similar]),
                counts=(
                    self._file.reserve(len(keys), np.float32),
                    self._file.reserve(len(keys), np.float32),
                ),
            )

        return self._map(merge, range(len(bounds) + 1), store), positions, cuts

    def _bounds(self, parts: Sequence[PartKeys]) -> Longs:
        """Return the keys with which ranges begin, but for the first; ranges have about the same size."""
        total = sum(part.keys.shape[0] for part in parts)
        ranges = -(-total // self._max_entries)
        step = max(1, min(SAMPLE_STEP, self._max_entries // SAMPLE_STEP))
        sample = np.sort(np.concatenate([part.read()[::step] for part in parts]))
        return np.unique(sample[np.arange(1, ranges) * len(sample) // ranges])

    def _often_enough(
        self, keys: Longs, ranks: Ints, parts: Sequence[PartKeys], spans: Sequence[tuple[int, int]]
    ) -> Flags:
        """Return which keys of a range are kept."""
        columns = zip(parts, spans, strict=True)
        meetings = [part.file.read(part.meetings, *span) for part, span in columns if part.meetings]
        counts = np.bincount(ranks, np.concatenate(meetings), len(keys))
        return frequent_or_associated(keys, counts.astype(np.int32), self.source, self.target)

    def set_prior(self, prior: Prior | None) -> None:
        """Replace the prior, whose words the vocabularies contain."""
        super().set_prior(prior)
        self._prior_places: list[list[tuple[ArrayPlace, ArrayPlace]]] = []  # of each range of each kind
        if prior is None:
            return
        for form_prior, table in zip(self.form_priors, self.tables, strict=True):
            places = []
            for key_range in table.ranges:
                indices, values = form_prior.counts_of(self._form_pairs(table, key_range))
                places.append((self._file.append(indices), self._file.append(values)))
            self._prior_places.append(places)

    def _form_pairs(self, table: FormTable, key_range: KeyRange) -> FormPairs:
        """Return the pairs of forms of a range."""
        source, target = split_keys(self._file.read(key_range.keys), len(table.header.forms[1]))
        return replace(
            table.header,
            source=source,
            target=target,
            similar_pairs=self._file.read(key_range.similar),
            spelling_counts=self._file.read(key_range.spelling),
        )

    # --- expectation -----------------------------------------------------------------------------

    def _e_step(self, step: EStep) -> PartitionedCounts:
        """Return the expected counts; those of word pairs are summed in ranges on disk."""
        words = len(self.source.words), len(self.target.words)
        totals = ExpectedCounts.zeros(0, words, step.jump_models)

        def add(counts_of_buckets: list[BucketCounts]) -> float:
            return sum(totals.add(counts) for counts in counts_of_buckets)

        log_likelihoods = self._map(partial(self._counts_of_part, step), self.parts, add)
        totals.source_null[0] = 0
        totals.target_null[0] = 0
        linked = self._sum_ranges()
        return self._written(totals._replace(log_likelihood=sum(log_likelihoods)), linked)

    def _written(self, counts: ExpectedCounts, linked: tuple[Doubles, Doubles]) -> PartitionedCounts:
        """Return counts of which those of word pairs have been written; the next ones go elsewhere.

        The counts before these are kept, so that a checkpoint of them can still be written.
        """
        written = PartitionedCounts.of(counts, self._slot, linked)
        self._slot = 1 - self._slot
        return written

    def _counts_of_part(self, step: EStep, part: TextPart) -> list[BucketCounts]:
        """Write the counts of word pairs of a part, and return the other counts of its buckets."""
        if step.emissions is not None:
            step = step._replace(emissions=self._emissions_of_part(step.emissions, part))
        links = np.zeros(part.word_pairs, np.float64)
        others = []
        start = 0
        for k, cell_count in zip(range(part.first, part.end), part.cell_counts, strict=True):
            bucket = self.text.buckets[k]
            cells = self._file.read(part.cells, start, start + cell_count).reshape(bucket.shape)
            counts = step.counts(k, bucket, cells)
            np.add.at(links, counts.links.indices.ravel(), counts.links.values.ravel().astype(np.float64))
            others.append(counts._replace(links=NO_LINKS))
            start += cell_count
        counted = np.flatnonzero(links)
        for forms in part.forms:
            sums = links
            if forms.pair is not None:
                pair = self._file.read(forms.pair)
                sums = sum_at(pair[counted], forms.sums.shape[0], links[counted])
            sums[0] = 0  # the padding, and pairs that are dropped
            self._file.write(forms.sums, sums)
        return others

    def _emissions_of_part(self, emissions: Emissions, part: TextPart) -> Emissions:
        """Return the emissions with the ratios of the word pairs of a part."""
        ratios_of_kinds = (
            (self._file.read(forms.ratios), None if forms.pair is None else self._file.read(forms.pair))
            for forms in part.forms
        )
        pairs = mean_of_kinds(ratios_of_kinds, part.word_pairs, len(part.forms))
        return emissions._replace(word_pairs=pairs)

    def _sum_ranges(self) -> tuple[Doubles, Doubles]:
        """Sum the counts of all parts by range; return the sums by source and by target word."""
        linked = shared_zeros(len(self.source.words)), shared_zeros(len(self.target.words))

        def sum_parts(item: tuple[int, int]) -> tuple[int, int, Doubles]:
            kind, number = item
            counts = self.tables[kind].ranges[number].counts[self._slot]
            total = np.zeros(counts.shape, np.float64)
            for part in self.parts:
                forms = part.forms[kind]
                begin, end = forms.cuts[number], forms.cuts[number + 1]
                positions = self._file.read(forms.positions, begin, end)
                # the pairs of a part are distinct
                total[positions] += self._file.read(forms.sums, begin, end)
            self._file.write(counts, total.astype(np.float32))
            return kind, number, total

        def add_words(summed: tuple[int, int, Doubles]) -> None:
            kind, number, total = summed
            if kind != WORD_KIND:
                return
            counted = np.flatnonzero(total)
            keys = self._file.read(self.tables[kind].ranges[number].keys)[counted]
            for sums, words in zip(linked, split_keys(keys, len(self.target.words)), strict=True):
                np.add.at(sums, words, total[counted])

        self._map(sum_parts, self._all_ranges, add_words)
        return linked

    @property
    def _all_ranges(self) -> list[tuple[int, int]]:
        """The ranges, each with the number of its kind."""
        return [(kind, n) for kind, table in enumerate(self.tables) for n in range(len(table.ranges))]

    # --- maximization ----------------------------------------------------------------------------

    def _no_counts(self) -> PartitionedCounts:
        words = len(self.source.words), len(self.target.words)
        for kind, number in self._all_ranges:
            counts = self.tables[kind].ranges[number].counts[self._slot]
            self._file.write(counts, np.zeros(counts.shape, np.float32))
        linked = np.zeros(words[0]), np.zeros(words[1])
        return self._written(ExpectedCounts.zeros(0, words, None), linked)

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
                size = len(header.forms[side])
                of_forms.append(words.apply(partial(sum_at, header.numbers[side], size)))
            form_counts = FormPairCounts(no_pairs, (of_forms[0], of_forms[1]))
            if self.form_priors:
                nothing = np.zeros(0, np.int64), no_pairs
                form_counts = self.form_priors[kind].add_to(nothing, form_counts)
            counts_of_kinds.append(form_counts)
        return TextFormCounts(self.form_pairs, counts_of_kinds, self.smoothing)

    def _counts_of_range(self, kind: int, number: int, slot: int) -> Floats:
        """Return the counts of the pairs of a range, with the prior added."""
        counts: Floats = self._file.read(self.tables[kind].ranges[number].counts[slot])
        if self.form_priors:
            indices, values = map(self._file.read, self._prior_places[kind][number])
            counts[indices] += values
        return counts

    def _emissions(self, counts: ExpectedCounts, floor: float) -> Emissions:
        """Write the likelihood ratios of all ranges where the parts read them; return those of null words."""
        assert isinstance(counts, PartitionedCounts)
        slot = counts.slot
        form_counts = self._form_counts_of(counts)
        smoothing = form_counts.smoothing._replace(floor=floor)

        def write_ratios(item: tuple[int, int]) -> None:
            kind, number = item
            table = self.tables[kind]
            pairs = self._counts_of_range(kind, number, slot)
            of_range = form_counts.counts[kind]._replace(pairs=pairs)
            ratios = form_pair_ratios(self._form_pairs(table, table.ranges[number]), of_range, smoothing)
            for part in self.parts:
                forms = part.forms[kind]
                begin, end = forms.cuts[number], forms.cuts[number + 1]
                positions = self._file.read(forms.positions, begin, end)
                self._file.write(forms.ratios, ratios.take(positions), begin)

        self._map(write_ratios, self._all_ranges)
        form_counts = form_counts._replace(smoothing=smoothing)
        return Emissions(
            word_pairs=np.zeros(0, np.float32),
            source_null=mean_null_ratios(form_counts, 0),
            target_null=mean_null_ratios(form_counts, 1),
        )

    def _estimate(self, state: EMState) -> Estimate:
        """Return the estimate of the last iteration; very small counts are dropped."""
        assert isinstance(state.counts, PartitionedCounts)
        form_counts = self._form_counts_of(state.counts)
        pruned = [self._pruned(counts) for counts in form_counts.counts]
        stored = []
        for kind, (table, counts) in enumerate(zip(self.tables, pruned, strict=True)):
            forms_of_ranges = []
            for number, key_range in enumerate(table.ranges):
                pairs = self._counts_of_range(kind, number, state.counts.slot)
                of_range = self._pruned(counts._replace(pairs=pairs))
                forms_of_ranges.append(stored_forms(self._form_pairs(table, key_range), of_range))
            stored.append(join_ranges(forms_of_ranges))
        return Estimate(form_counts._replace(counts=pruned), state.jump_models, self._lexicon(stored))

    # --- checkpoints -----------------------------------------------------------------------------

    def _as_arrays(self, state: EMState) -> ArrayItems:
        """Yield the arrays of a state of training, with their names."""
        assert isinstance(state.counts, PartitionedCounts)
        yield from super()._as_arrays(state)
        yield from zip(("source_linked", "target_linked"), state.counts.linked, strict=True)
        for kind, number in self._all_ranges:
            place = self.tables[kind].ranges[number].counts[state.counts.slot]
            yield f"counts_{kind}_{number}", self._file.read(place)

    def _from_checkpoint(self, stored: Stored) -> EMState:
        state = super()._from_checkpoint(stored)
        linked = []
        for name, words in (("source_linked", self.source.words), ("target_linked", self.target.words)):
            linked.append(stored.array(name, "f", (len(words),), minimum=0))
        for kind, number in self._all_ranges:
            place = self.tables[kind].ranges[number].counts[self._slot]
            pairs = stored.array(f"counts_{kind}_{number}", "f", place.shape, minimum=0)
            self._file.write(place, pairs.astype(np.float32))
        return state._replace(counts=self._written(state.counts, (linked[0], linked[1])))


def join_ranges(forms_of_ranges: Sequence[StoredForms]) -> StoredForms:
    """Join the counts of ranges, in order."""
    return forms_of_ranges[0]._replace(
        keys=np.concatenate([forms.keys for forms in forms_of_ranges]),
        counts=np.concatenate([forms.counts for forms in forms_of_ranges]),
    )
