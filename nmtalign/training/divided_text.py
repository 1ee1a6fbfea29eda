"""Divide a text into parts, and the keys of its word pairs into ranges, which a result store keeps.

There are as many ranges as parts, and they have about the same size: a sample of the keys of all parts gives
the bounds. Whole words are divided first, because rare word pairs may be dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from nmtalign.arrays import Flags, Longs
from nmtalign.corpus.buckets import Bucket, cells_of_buckets
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import WordCounts, is_large
from nmtalign.scorers.forms import FormPairs, Spellings, forms_of
from nmtalign.training.parts_and_ranges import (
    WORD_KIND,
    FormNumbers,
    FormSpellings,
    KeyRange,
    KindOfRange,
    TextPart,
    WordKeys,
    cut_form_keys,
    cut_word_keys,
    merge_forms,
    merge_words,
    number_forms_of_part,
    number_part,
    sample_form_keys,
    sample_word_keys,
)
from nmtalign.training.result_store import Arguments, Handle, Later, ResultStore

# The sample that divides keys into ranges has every n-th key of a part, n at most `MAX_SAMPLE_STRIDE`. These
# are about `SAMPLE_KEYS` keys if all cells of the part differ, and more in a large part.
MAX_SAMPLE_STRIDE = 256
SAMPLE_KEYS = 1 << 10


@dataclass(frozen=True, eq=False)
class DividedText:
    """Handles of the parts and the ranges of a text, and where slices begin."""

    parts: list[Handle[TextPart]]
    ranges: list[Handle[KeyRange]]
    range_sizes: list[list[int]]  # for each range and each kind of form: number of pairs
    bounds: list[Longs]  # for each kind of form: the keys with which ranges begin, but for the first
    # for each part and each kind of form: where the slice of each range begins in the pairs of the part
    cuts_of_parts: list[list[Longs]]


@dataclass(frozen=True, eq=False)
class _DividedWords:
    """Handles of what is made of whole words, before the other kinds of form."""

    words_of_ranges: list[Handle[KindOfRange]]
    bounds: Longs  # the keys with which ranges begin, but for the first
    # the other lists have an entry for each part
    parts: list[Handle[TextPart]]
    keys: list[Handle[WordKeys]]
    cuts: list[Handle[Longs]]  # where the slice of each range begins in the keys
    kept: list[Handle[list[Flags | None]]]  # which pairs of its slices the ranges keep


class TextDivider:
    """Divides a text, again where a store has lost its parts and ranges.

    `form_pairs` has the forms of each kind, without their pairs; `spelling` is the prior count of two
    identical forms, and `part_cells` about the number of cells of a part.
    """

    def __init__(
        self,
        store: ResultStore,
        text: EncodedText,
        form_pairs: Sequence[FormPairs],
        *,
        spelling: float,
        part_cells: int,
    ) -> None:
        self._store = store
        self._text = text
        self._form_pairs = form_pairs
        self._spelling = spelling
        self._sample_stride = max(1, min(MAX_SAMPLE_STRIDE, part_cells // SAMPLE_KEYS))
        self._drops_rare_pairs = is_large(text.buckets)
        part_of_bucket = np.cumsum(cells_of_buckets(text.buckets), dtype=np.int64) // part_cells
        first_buckets = np.flatnonzero(np.diff(part_of_bucket)) + 1
        self._spans = list(pairwise([0, *first_buckets.tolist(), len(text.buckets)]))  # buckets of each part

    @property
    def part_count(self) -> int:
        """Number of parts, and of ranges."""
        return len(self._spans)

    def divide(self) -> DividedText:
        """Make the parts and the ranges."""
        shared_spellings = self._store.share(self._form_spellings())
        words = self._divide_words(shared_spellings)
        return self._divide_forms(words, shared_spellings)

    def _form_spellings(self) -> list[FormSpellings]:
        """Return the spellings of the forms of each kind."""
        spellings_of_kinds = []
        for form_pairs in self._form_pairs:
            source_forms = forms_of(self._text.source, form_pairs.form_kinds[0])[1]
            target_forms = forms_of(self._text.target, form_pairs.form_kinds[1])[1]
            spellings = Spellings.of(source_forms, target_forms)
            target_count = len(target_forms.strings)
            spellings_of_kinds.append(FormSpellings(spellings, target_count, self._spelling))
        return spellings_of_kinds

    def _number_parts(self) -> tuple[list[Handle[TextPart]], list[Handle[WordKeys]]]:
        """Number the word pairs of the parts; also return their keys."""
        calls: list[Arguments] = []
        for first, end in self._spans:
            arguments = {
                "first_bucket": first,
                "buckets": Later(partial(_read_buckets, self._text.buckets[first:end])),
                "target_words": len(self._text.target.words),
                "drops_rare_pairs": self._drops_rare_pairs,
            }
            calls.append(arguments)
        return self._store.map_to_pairs(number_part, calls)

    def _divide_words(self, shared_spellings: Handle[list[FormSpellings]]) -> _DividedWords:
        """Make the parts, and the whole words of the ranges."""
        store = self._store
        word_counts = None
        if self._drops_rare_pairs:
            word_counts = store.share(WordCounts.of(self._text.source, self._text.target))
        parts, keys = self._number_parts()
        calls: list[Arguments] = [{"word_keys": of_part, "stride": self._sample_stride} for of_part in keys]
        samples = store.map(sample_word_keys, calls)
        bounds = _choose_bounds(store.read(samples), self.part_count)
        calls = [{"word_keys": of_part, "bounds": bounds} for of_part in keys]
        # from parts to ranges: slices of the keys; there are as many ranges as parts
        slices_for_ranges, cuts = store.exchange(cut_word_keys, calls, receivers=self.part_count)
        calls = []
        for slices in slices_for_ranges:
            arguments = {
                "slices": slices,
                "forms_of_kinds": shared_spellings,
                "word_counts": word_counts,
            }
            calls.append(arguments)
        # from ranges to parts: which pairs are kept; the whole words of the ranges stay with the store
        kept, words_of_ranges = store.exchange(merge_words, calls, receivers=self.part_count)
        return _DividedWords(words_of_ranges, bounds, parts, keys, cuts, kept)

    def _divide_forms(
        self, words: _DividedWords, shared_spellings: Handle[list[FormSpellings]]
    ) -> DividedText:
        """Number the pairs of forms of the parts, and make the ranges of all kinds of form."""
        store = self._store
        numbers_of_kinds = []
        for form_pairs in self._form_pairs[WORD_KIND + 1 :]:
            numbers_of_kinds.append(FormNumbers(*form_pairs.form_numbers, len(form_pairs.strings[1])))
        shared_numbers = store.share(numbers_of_kinds)
        calls: list[Arguments] = []
        for part, keys, cuts, kept in zip(words.parts, words.keys, words.cuts, words.kept, strict=True):
            arguments = {
                "part": part,
                "word_keys": keys,
                "word_cuts": cuts,
                "kept_of_ranges": kept if self._drops_rare_pairs else None,
                "target_words": len(self._text.target.words),
                "forms_of_kinds": shared_numbers,
            }
            calls.append(arguments)
        parts, form_keys = store.map_to_pairs(number_forms_of_part, calls)
        calls = [{"form_keys": of_part, "stride": self._sample_stride} for of_part in form_keys]
        samples = list(store.read(store.map(sample_form_keys, calls)))
        form_bounds = [_choose_bounds(of_kind, self.part_count) for of_kind in zip(*samples, strict=True)]
        calls = [{"form_keys": of_part, "bounds_of_kinds": form_bounds} for of_part in form_keys]
        slices_for_ranges, cuts_of_parts = store.exchange(cut_form_keys, calls, receivers=self.part_count)
        calls = []
        for slices, words_of_range in zip(slices_for_ranges, words.words_of_ranges, strict=True):
            arguments = {"slices": slices, "words": words_of_range, "forms_of_kinds": shared_spellings}
            calls.append(arguments)
        ranges, range_sizes = store.map_to_pairs(merge_forms, calls)
        return DividedText(
            parts=parts,
            ranges=ranges,
            range_sizes=list(store.read(range_sizes)),
            bounds=[words.bounds, *form_bounds],
            cuts_of_parts=list(store.read(cuts_of_parts)),
        )


def _read_buckets(buckets: Sequence[Bucket]) -> list[Bucket]:
    return list(buckets)


def _choose_bounds(samples: Iterable[Longs], range_count: int) -> Longs:
    """Return the keys with which ranges begin, but for the first; ranges have about the same size."""
    sample = np.sort(np.concatenate(list(samples)))
    return sample[np.arange(1, range_count) * len(sample) // range_count]
