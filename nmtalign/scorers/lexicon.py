"""The lexicon: expected counts learned from a bitext, and the likelihood ratios of any words.

An unknown word falls back on its shorter forms, then on its spelling.

Axes: P word pairs of a text, Q pairs of forms, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Floats, Longs, expect_rising, expect_whole
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import PairIndex, values_of
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES
from nmtalign.scorers.counts import FormCounts, FormPairCounts, Smoothing
from nmtalign.scorers.forms import FormPairs, Letters, cut, forms_of, make_form_pairs
from nmtalign.state import State, Stored

_RANGES: dict[str, dict[str, float]] = {  # of the fields of Smoothing, in order
    "words": {"low": 1, "high": 1e12},
    "pseudo_count": {"low": 1e-6, "high": 1e6},
    "floor": {"low": 0, "high": 1},
}
UNKNOWN_RATIO = 0.2  # of two forms, one of them unknown: other kinds of form or the positions decide


class StoredForms(NamedTuple):
    """Expected counts of one kind of form, as a model keeps them."""

    letters: Letters
    keys: Longs  # (Q,): ``source form * number of target forms + target form``, sorted
    counts: Floats  # (Q,)
    source: FormCounts
    target: FormCounts

    def state(self) -> State:
        """Return the counts as plain values and arrays."""
        rows, targets = np.divmod(self.keys, len(self.target.linked))
        arrays: dict[str, AnyArray] = {
            "pairs": np.bincount(rows, minlength=len(self.source.linked)).astype(np.int32)
        }
        values: dict[str, Any] = {"letters": list(self.letters), "pairs": len(self.keys)}
        for side, counts in zip(SIDES, (self.source, self.target), strict=True):
            values[f"{side}_null"] = counts.all_null
            for name in ("linked", "null"):
                arrays[f"{side}_{name}"] = getattr(counts, name).astype(np.float32)
        return State("forms", values, arrays, {"targets": targets.astype(np.int32), "counts": self.counts})

    @classmethod
    def from_state(cls, stored: Stored, words: tuple[int, int]) -> StoredForms:
        """Return what :meth:`state` was made of; `words` are the sizes of both vocabularies."""
        first, second = (expect_whole(n, name=stored.folder) for n in stored.value("letters", list))
        source, target = (
            _form_counts(side, None if letters else size, stored)
            for side, size, letters in zip(SIDES, words, (first, second), strict=True)
        )
        pairs, forms = stored.whole("pairs", low=0), len(target.linked)
        of_source = stored.array("pairs", "i", (len(source.linked),), low=0, high=forms)
        if of_source.sum() != pairs:
            found = f"expected {pairs:,} word pairs of all forms, found {of_source.sum():,}"
            raise DataError(found).at(f"{stored.folder / 'arrays.npz'}, {stored.prefix}pairs")
        targets = stored.large("targets", "i", (pairs,), low=0, high=forms - 1)
        keys = np.repeat(np.arange(len(of_source)) * forms, of_source) + targets
        expect_rising(keys, name=stored.folder / f"{stored.prefix}targets.npy")
        return cls((first, second), keys, stored.large("counts", "f", (pairs,), low=0), source, target)

    def table(self, least: float) -> Any:
        """Return the pairs with at least `least` links as a sparse table, (source forms, target forms)."""
        from scipy.sparse import coo_array

        kept = self.counts >= least
        shape = len(self.source.linked), len(self.target.linked)
        return coo_array((self.counts[kept], np.divmod(self.keys[kept], shape[1])), shape=shape)


def _form_counts(side: str, forms: int | None, stored: Stored) -> FormCounts:
    """Return the counts of the forms of a side, shape (forms,); None accepts any number of forms."""
    linked = stored.array(f"{side}_linked", "f", (forms,), low=0).astype(np.float64)
    null = stored.array(f"{side}_null", "f", (len(linked),), low=0).astype(np.float64)
    return FormCounts(linked, null, stored.number(f"{side}_null", low=0))


def stored_forms(kind: FormPairs, counts: FormPairCounts) -> StoredForms:
    """Return the pairs of forms that have a count."""
    kept = np.flatnonzero(counts.pairs > 0)
    keys = kind.source[kept].astype(np.int64) * len(kind.target_forms) + kind.target[kept]
    return StoredForms(kind.letters, keys, counts.pairs[kept], counts.source, counts.target)


class Translations(NamedTuple):
    """Word pairs with counts, each of shape (Q,)."""

    # numbers of the words
    source: Longs
    target: Longs
    links: Doubles  # expected number of links
    # p(target word | source word) and p(source word | target word)
    target_given_source: Doubles
    source_given_target: Doubles


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon:
    """A learned lexicon: likelihood ratios of any words, known or unknown."""

    # ``words[0]`` is the padding
    source_words: list[str]
    target_words: list[str]
    # how often each word occurred
    source_counts: Longs
    target_counts: Longs
    forms: list[StoredForms]  # one entry for each kind of form
    smoothing: Smoothing
    spelling: float  # prior count of two identical forms

    def __repr__(self) -> str:
        words = f"{len(self.source_words) - 1:,} source and {len(self.target_words) - 1:,} target words"
        return f"Lexicon of {words}"

    def state(self) -> State:
        """Return the lexicon as plain values, arrays, word lists and counts of forms."""
        return State(
            "lexicon",
            {"spelling": self.spelling, **self.smoothing._asdict()},
            {"source_counts": self.source_counts, "target_counts": self.target_counts},
            words={"source": self.source_words[1:], "target": self.target_words[1:]},
            parts={f"forms-{k}": kind.state() for k, kind in enumerate(self.forms)},
        )

    @classmethod
    def from_state(cls, stored: Stored) -> Lexicon:
        """Return what :meth:`state` was made of."""
        source, target = (["", *stored.words(side)] for side in SIDES)
        V = len(source), len(target)
        if not stored.parts():
            raise DataError("expected a lexicon with at least one kind of form, found none").at(stored.folder)
        return cls(
            source,
            target,
            stored.array("source_counts", "i", (V[0],), low=0),
            stored.array("target_counts", "i", (V[1],), low=0),
            [StoredForms.from_state(stored.part(name), V) for name in stored.parts()],
            Smoothing(*(stored.number(name, **bounds) for name, bounds in _RANGES.items())),
            stored.number("spelling", low=0, high=1000),
        )

    @cached_property
    def form_numbers(self) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Number of each source form and of each target form, for each kind of form."""
        sides = self.source_words, self.target_words

        @cache  # two kinds may share the forms of a side
        def numbers(side: int, letters: int) -> dict[str, int]:
            if not letters:
                return self.numbers[side]
            return number_words(dict.fromkeys(map(itemgetter(cut(letters)), sides[side])))

        return [(numbers(0, kind.letters[0]), numbers(1, kind.letters[1])) for kind in self.forms]

    @cached_property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Number of each source and target word."""
        return number_words(self.source_words), number_words(self.target_words)

    @property
    def whole(self) -> StoredForms | None:
        """The counts of whole words, if there are any."""
        return self.with_letters((0, 0))

    def with_letters(self, letters: Letters) -> StoredForms | None:
        """Return the counts of the forms with these letters, if there are any."""
        return next((kind for kind in self.forms if kind.letters == letters), None)

    def known(self, source: EncodedSide, target: EncodedSide) -> tuple[Longs, Longs]:
        """Return the number of each source and target word of a text, -1 for unknown words."""
        return look_up(self.numbers[0], source.words), look_up(self.numbers[1], target.words)

    def frequent(self, count: int) -> tuple[list[str], list[str]]:
        """Return the most frequent source and target words; words are numbered by falling frequency."""
        return self.source_words[1 : count + 1], self.target_words[1 : count + 1]

    def translations(self) -> Translations:
        """Return the linked word pairs by falling count; UsageError if whole words have no counts."""
        whole = self.whole
        if whole is None:
            raise UsageError("this lexicon counts parts of words only; it has no translations to list")
        source, target = np.divmod(whole.keys, len(self.target_words))
        counts = np.asarray(whole.counts, dtype=np.float64)
        order = np.lexsort((target, source, -counts))
        source, target, counts = source[order], target[order], counts[order]
        totals = [  # words of a word list may have counts without links
            np.maximum(side.linked[words], counts)
            for side, words in ((whole.source, source), (whole.target, target))
        ]
        return Translations(source, target, counts, counts / totals[0], counts / totals[1])

    def looked_up(
        self, source: EncodedSide, target: EncodedSide, pairs: PairIndex
    ) -> tuple[list[FormPairs], list[FormPairCounts], Smoothing]:
        """Return the arguments of :func:`emissions` for a text: pairs of forms, learned counts, constants."""
        forms, counts = [], []
        for n, learned in enumerate(self.forms):
            kind = make_form_pairs(
                source, target, pairs, learned.letters, spelling=self.spelling, apart=False
            )
            forms.append(kind)
            known = self._known_forms(n, 0, source), self._known_forms(n, 1, target)
            counts.append(self._counts(n, kind, *known))
        return forms, counts, self.smoothing

    def _known_forms(self, n: int, side: int, text: EncodedSide) -> KnownForms:
        """Return what this lexicon knows of the forms of kind n on one side of a text."""

        def look_up_forms() -> KnownForms:
            kind = self.forms[n]
            place = look_up(self.form_numbers[n][side], forms_of(text, kind.letters[side])[1].forms)
            known = (kind.source, kind.target)[side]
            return KnownForms(place, known.apply(lambda values: np.where(place < 0, 0.0, values[place])))

        return text.memo((self, n, side), look_up_forms)

    def _counts(self, n: int, kind: FormPairs, source: KnownForms, target: KnownForms) -> FormPairCounts:
        """Return the learned counts of pairs of forms; unknown forms get the count of `UNKNOWN_RATIO`."""
        learned, smoothing = self.forms[n], self.smoothing
        at_source, at_target = source.place.take(kind.source), target.place.take(kind.target)
        missing = (at_source < 0) | (at_target < 0)
        keys = at_source * len(self.form_numbers[n][1]) + at_target
        keys[missing] = -1
        counts = values_of(learned.keys, learned.counts, keys)
        unknown = np.flatnonzero(missing & (kind.source > 0))
        by_chance = (source.counts.linked + smoothing.pseudo_count)[kind.source[unknown]]
        by_chance *= (target.counts.linked + smoothing.pseudo_count)[kind.target[unknown]] / smoothing.words
        counts[unknown] = UNKNOWN_RATIO * by_chance
        return FormPairCounts(counts, source.counts, target.counts)


class KnownForms(NamedTuple):
    """What a lexicon knows of the forms of one side of a text."""

    place: Longs  # number in the lexicon, -1 for unknown forms
    counts: FormCounts
