"""The lexicon: expected counts learned from a bitext, and the likelihood ratios they give any words.

An unknown word falls back on its shortened forms, then on its spelling.

Axes: P word pairs of a text, Q pairs of a view, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.checks import expect_rising, expect_whole
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import PairIndex, values_of
from nmtalign.errors import DataError, UsageError
from nmtalign.scorers.counts import FormCounts, Smoothing, ViewCounts
from nmtalign.scorers.views import Letters, View, cut, forms_of, make_view
from nmtalign.state import State, Stored

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]

SIDES = ("source", "target")
_RANGES: dict[str, dict[str, float]] = {  # of the constants of smoothing, in their order
    "words": {"low": 1, "high": 1e12},
    "discount": {"low": 1e-6, "high": 1e6},
    "floor": {"low": 0, "high": 1},
}
UNKNOWN_RATIO = 0.2  # of two forms of which one is unknown: the other views decide, or the positions


class StoredView(NamedTuple):
    """Expected counts of one view, as a model keeps them."""

    letters: Letters
    keys: Longs  # (Q,): ``source form * number of target forms + target form``, sorted
    counts: Floats  # (Q,)
    source: FormCounts
    target: FormCounts

    def state(self) -> State:
        """Return the view as plain values and arrays."""
        rows, targets = np.divmod(self.keys, len(self.target.linked))
        arrays: dict[str, NDArray[Any]] = {
            "pairs": np.bincount(rows, minlength=len(self.source.linked)).astype(np.int32)
        }
        values: dict[str, Any] = {"letters": list(self.letters), "pairs": len(self.keys)}
        for side, counts in zip(SIDES, (self.source, self.target), strict=True):
            values[f"{side}_null"] = counts.all_null
            for name in ("linked", "null"):
                arrays[f"{side}_{name}"] = getattr(counts, name).astype(np.float32)
        return State("view", values, arrays, {"targets": targets.astype(np.int32), "counts": self.counts})

    @classmethod
    def from_state(cls, stored: Stored, words: tuple[int, int]) -> StoredView:
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
            raise DataError(found).at(f"{stored.folder / 'arrays.npz'}, {stored.place}pairs")
        targets = stored.large("targets", "i", (pairs,), low=0, high=forms - 1)
        keys = np.repeat(np.arange(len(of_source)) * forms, of_source) + targets
        expect_rising(keys, name=stored.folder / f"{stored.place}targets.npy")
        return cls((first, second), keys, stored.large("counts", "f", (pairs,), low=0), source, target)

    def table(self, least: float) -> Any:
        """Return the pairs with at least `least` links as a sparse table, (source forms, target forms)."""
        from scipy.sparse import coo_array

        kept = self.counts >= least
        shape = len(self.source.linked), len(self.target.linked)
        return coo_array((self.counts[kept], np.divmod(self.keys[kept], shape[1])), shape=shape)


def _form_counts(side: str, forms: int | None, stored: Stored) -> FormCounts:
    """Return the counts of the forms of a side, (forms,) or as many as there are."""
    linked = stored.array(f"{side}_linked", "f", (forms,), low=0).astype(np.float64)
    null = stored.array(f"{side}_null", "f", (len(linked),), low=0).astype(np.float64)
    return FormCounts(linked, null, stored.number(f"{side}_null", low=0))


def stored_view(view: View, counts: ViewCounts) -> StoredView:
    """Keep the pairs of a view that have a count."""
    kept = np.flatnonzero(counts.pairs > 0)
    keys = view.source[kept].astype(np.int64) * len(view.target_forms) + view.target[kept]
    return StoredView(view.letters, keys, counts.pairs[kept], counts.source, counts.target)


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
    """A learned lexicon: likelihood ratios for any words, also for unknown ones."""

    # ``words[0]`` is the padding
    source_words: list[str]
    target_words: list[str]
    # how often each word occurred
    source_counts: Longs
    target_counts: Longs
    views: list[StoredView]
    smoothing: Smoothing
    spelling: float  # prior count of two forms with one spelling

    def __repr__(self) -> str:
        words = f"{len(self.source_words) - 1:,} source and {len(self.target_words) - 1:,} target words"
        return f"Lexicon of {words}"

    def state(self) -> State:
        """Return the lexicon as plain values, arrays, word lists and views."""
        return State(
            "lexicon",
            {"spelling": self.spelling, **self.smoothing._asdict()},
            {"source_counts": self.source_counts, "target_counts": self.target_counts},
            words={"source": self.source_words[1:], "target": self.target_words[1:]},
            parts={f"view-{k}": view.state() for k, view in enumerate(self.views)},
        )

    @classmethod
    def from_state(cls, stored: Stored) -> Lexicon:
        """Return what :meth:`state` was made of."""
        source, target = (["", *stored.words(side)] for side in SIDES)
        V = len(source), len(target)
        if not stored.parts():
            raise DataError("expected at least one view of the lexicon").at(stored.folder)
        return cls(
            source,
            target,
            stored.array("source_counts", "i", (V[0],), low=0),
            stored.array("target_counts", "i", (V[1],), low=0),
            [StoredView.from_state(stored.part(name), V) for name in stored.parts()],
            Smoothing(*(stored.number(name, **bounds) for name, bounds in _RANGES.items())),
            stored.number("spelling", low=0, high=1000),
        )

    @cached_property
    def forms(self) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Number of each source and target form, for each view."""
        sides = self.source_words, self.target_words

        @cache  # views have letters in common
        def forms(side: int, letters: int) -> dict[str, int]:
            if not letters:
                return self.numbers[side]
            return number_words(dict.fromkeys(map(itemgetter(cut(letters)), sides[side])))

        return [(forms(0, view.letters[0]), forms(1, view.letters[1])) for view in self.views]

    @cached_property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Number of each source and target word."""
        return number_words(self.source_words), number_words(self.target_words)

    @property
    def whole(self) -> StoredView | None:
        """The view of whole words, if there is one."""
        return self.view((0, 0))

    def view(self, letters: Letters) -> StoredView | None:
        """Return the view through words of so many letters, if there is one."""
        return next((view for view in self.views if view.letters == letters), None)

    def known(self, source: EncodedSide, target: EncodedSide) -> tuple[Longs, Longs]:
        """Return the number of each source and target word of a text, -1 for unknown words."""
        return look_up(self.numbers[0], source.words), look_up(self.numbers[1], target.words)

    def frequent(self, count: int) -> tuple[list[str], list[str]]:
        """Return the most frequent source and target words; words are numbered by falling frequency."""
        return self.source_words[1 : count + 1], self.target_words[1 : count + 1]

    def translations(self) -> Translations:
        """Return the linked word pairs by falling count; UsageError if there is no view of whole words."""
        whole = self.whole
        if whole is None:
            raise UsageError("this lexicon knows shortened words only; it has no translations to list")
        source, target = np.divmod(whole.keys, len(self.target_words))
        counts = np.asarray(whole.counts, dtype=np.float64)
        order = np.lexsort((target, source, -counts))
        source, target, counts = source[order], target[order], counts[order]
        totals = [  # words of a list that were never linked have counts, but no links
            np.maximum(side.linked[words], counts)
            for side, words in ((whole.source, source), (whole.target, target))
        ]
        return Translations(source, target, counts, counts / totals[0], counts / totals[1])

    def looked_up(
        self, source: EncodedSide, target: EncodedSide, pairs: PairIndex
    ) -> tuple[list[View], list[ViewCounts], Smoothing]:
        """Return the views of a text, their learned counts, and what :func:`emissions` needs besides."""
        views, counts = [], []
        for n, learned in enumerate(self.views):
            view = make_view(source, target, pairs, learned.letters, spelling=self.spelling, apart=False)
            views.append(view)
            known = self._known_forms(n, 0, source), self._known_forms(n, 1, target)
            counts.append(self._counts(n, view, *known))
        return views, counts, self.smoothing

    def _known_forms(self, n: int, side: int, text: EncodedSide) -> KnownForms:
        """Return the forms of one side of a text, through view n, in this lexicon."""

        def look_up_forms() -> KnownForms:
            view = self.views[n]
            place = look_up(self.forms[n][side], forms_of(text, view.letters[side])[1].forms)
            known = (view.source, view.target)[side]
            return KnownForms(place, known.apply(lambda values: np.where(place < 0, 0.0, values[place])))

        return text.memo((self, n, side), look_up_forms)

    def _counts(self, n: int, view: View, source: KnownForms, target: KnownForms) -> ViewCounts:
        """Return the learned counts of a text's view; those of unknown forms make a ratio `UNKNOWN_RATIO`."""
        learned, smoothing = self.views[n], self.smoothing
        at_source, at_target = source.place.take(view.source), target.place.take(view.target)
        missing = (at_source < 0) | (at_target < 0)
        keys = at_source * len(self.forms[n][1]) + at_target
        keys[missing] = -1
        counts = values_of(learned.keys, learned.counts, keys)
        unknown = np.flatnonzero(missing & (view.source > 0))
        by_chance = (source.counts.linked + smoothing.discount)[view.source[unknown]]
        by_chance *= (target.counts.linked + smoothing.discount)[view.target[unknown]] / smoothing.words
        counts[unknown] = UNKNOWN_RATIO * by_chance
        return ViewCounts(counts, source.counts, target.counts)


class KnownForms(NamedTuple):
    """Forms of one side of a text as a lexicon knows them."""

    place: Longs  # number in the lexicon, -1 for unknown forms
    counts: FormCounts
