"""The learned lexicon: how much more often two words translate each other than chance would have it.

A *view* shortens every word (the word itself, its first 3, 4, 6 letters), so that rare words share what is
known of their relatives. For each view there are expected counts c(e, f) of links on which both directions
agree, and from them the ratio

    r(e, f) = (c(e, f) + prior(e, f)) N / ((c(e) + s) (c(f) + s)) + floor

which is p(f|e) / p(f) and p(e|f) / p(e) at once, with s taken off rare words. The emission of a word pair is
the geometric mean of its ratios over the views: an average of logits, as over the heads of one attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import UsageError
from nmtalign.models.corpus import EncodedSide
from nmtalign.models.hmm import Jumps
from nmtalign.models.pairs import PairIndex, distinct

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

NEUTRAL = 0.2  # ratio of two forms of which one is unknown: the other views decide, or the positions
RAREST = 1e-3  # expected null count of a word that was never unaligned


def shorten(words: Sequence[str], letters: int) -> tuple[Ints, list[str]]:
    """Number the first `letters` letters of each word (0: whole words, negative: the last letters).

    Returns
    -------
    numbers : int32 array of shape (len(words),)
    forms : list of str
        ``forms[numbers[k]]`` is the shortened ``words[k]``; form 0 is the padding "".
    """
    cut = slice(letters, None) if letters < 0 else slice(0, letters or None)
    shortened = [word[cut] for word in words]
    forms = list(dict.fromkeys(["", *shortened]))
    number = {form: k for k, form in enumerate(forms)}
    return np.fromiter(map(number.__getitem__, shortened), np.int32, len(words)), forms


@dataclass(frozen=True)
class View:
    """The word pairs of a bitext seen through shortened words.

    Attributes
    ----------
    letters : int
        As of :func:`shorten`.
    source_forms, target_forms : list of str
    source_number, target_number : int32 arrays
        Form of each source and target word.
    pair : int32 array of shape (P,) or None
        Number of the view's pair for each word pair; None where they are the same.
    source, target : int32 arrays of shape (Q,)
        Forms of the view's pairs.
    prior : float32 array of shape (Q,)
        Counts added beforehand.
    """

    letters: int
    source_forms: list[str]
    target_forms: list[str]
    source_number: Ints
    target_number: Ints
    pair: Ints | None
    source: Ints
    target: Ints
    prior: Floats

    def counts(self, counts: Doubles) -> Doubles:
        """Sum counts of word pairs (P,) into counts of the view's pairs (Q,)."""
        return counts if self.pair is None else _summed(self.pair, counts, len(self.source))

    def spread(self, values: Floats) -> Floats:
        """Return values of the view's pairs (Q,) for each word pair (P,)."""
        return values if self.pair is None else values.take(self.pair)


def _telling(form: str) -> bool:
    """Tell whether two words with this spelling are likely to be translations."""
    return len(form) > 2 or any(c.isdigit() for c in form)


def make_view(
    source: EncodedSide,
    target: EncodedSide,
    pairs: PairIndex,
    letters: int,
    *,
    spelling: float,
    apart: bool = True,
) -> View:
    """Return the view of `pairs` through words of so many letters.

    Parameters
    ----------
    source, target : EncodedSide
    pairs : PairIndex
    letters : int
        As of :func:`shorten`.
    spelling : float
        Prior count of two forms with one spelling.
    apart : bool
        Number the view's pairs apart, so that counts can be summed; else there is one for each word pair.
    """
    s, s_forms = shorten(source.words, letters)
    t, t_forms = shorten(target.words, letters)
    of_pair = None
    at_source, at_target = s[pairs.source], t[pairs.target]
    if apart and letters:
        keys = at_source.astype(np.int64) * len(t_forms) + at_target
        keys, of_pair = distinct(keys)
        at_source, at_target = (keys // len(t_forms)).astype(np.int32), (keys % len(t_forms)).astype(np.int32)
    prior = np.float32(spelling) * _spelled_alike(s_forms, t_forms, at_source, at_target)
    return View(letters, s_forms, t_forms, s, t, of_pair, at_source, at_target, prior)


def _spelled_alike(source: Sequence[str], target: Sequence[str], at_source: Ints, at_target: Ints) -> Floats:
    """Return 1 for pairs of forms that are one string of three letters or more or with a digit, else 0."""
    place = {form: k for k, form in enumerate(target)}
    same = np.array([place.get(form, -1) if _telling(form) else -1 for form in source], dtype=np.int32)
    return np.asarray(same[at_source] == at_target, dtype=np.float32)


class Emissions(NamedTuple):
    """What forward-backward needs to know about words.

    Attributes
    ----------
    pairs : float32 array of shape (P,)
        Likelihood ratio of each word pair to chance; 0 for pair 0, the padding.
    source_null, target_null : float32 arrays of shape (V + 1,)
        Likelihood ratio of each word under the null word.
    """

    pairs: Floats
    source_null: Floats
    target_null: Floats


class FormCounts(NamedTuple):
    """Expected counts of the forms of one side of a view.

    Attributes
    ----------
    linked : float64 array
        Agreed links of each form.
    null : float64 array
        How often each form was aligned to null.
    all_null : float
        The same, of all forms of the model.
    """

    linked: Doubles
    null: Doubles
    all_null: float

    def null_ratios(self, words: float, discount: float) -> Doubles:
        """Return p(form | null) / p(form) of each form, at most 1,000."""
        by_null = (self.null + RAREST) / (self.all_null + 1)
        return np.minimum(1000.0, by_null / ((self.linked + discount) / words))


class ViewCounts(NamedTuple):
    """Expected counts of one view: agreed links of each of its pairs (Q,), and of the forms of both sides."""

    pairs: Floats
    source: FormCounts
    target: FormCounts


class WordCounts(NamedTuple):
    """Expected counts of word pairs (P,), and of linked and unaligned words of both sides (V + 1,)."""

    pairs: Doubles
    source: Doubles
    target: Doubles
    source_null: Doubles
    target_null: Doubles


def word_counts(index: PairIndex, pairs: Doubles, source_null: Doubles, target_null: Doubles) -> WordCounts:
    """Add up how often each word was linked."""
    return WordCounts(
        pairs,
        _summed(index.source, pairs, len(source_null)),
        _summed(index.target, pairs, len(target_null)),
        source_null,
        target_null,
    )


def view_counts(view: View, words: WordCounts) -> ViewCounts:
    """Sum the counts of words and word pairs into those of a view."""
    sides = []
    for forms, number, linked, null in (
        (view.source_forms, view.source_number, words.source, words.source_null),
        (view.target_forms, view.target_number, words.target, words.target_null),
    ):
        of_forms = [_summed(number, values, len(forms)) for values in (linked, null)]
        sides.append(FormCounts(of_forms[0], of_forms[1], float(null.sum())))
    return ViewCounts(view.counts(words.pairs).astype(np.float32), *sides)


def _summed(place: Ints, values: Doubles, size: int) -> Doubles:
    """Add values up by place."""
    return np.asarray(np.bincount(place, values, size), dtype=np.float64)


class Smoothing(NamedTuple):
    """How counts become ratios: words of the bitext N, discount s, floor."""

    words: float
    discount: float
    floor: float


def ratios(view: View, counts: ViewCounts, smoothing: Smoothing) -> Floats:
    """Return r(e, f) of each of the view's pairs, shape (Q,); see the head of this module."""
    words, discount, floor = smoothing
    result = counts.pairs + view.prior
    result *= (words / (counts.source.linked + discount)).astype(np.float32)[view.source]
    result *= (1 / (counts.target.linked + discount)).astype(np.float32)[view.target]
    result += np.float32(floor)
    return result


def emissions(views: Sequence[View], counts: Sequence[ViewCounts], smoothing: Smoothing) -> Emissions:
    """Join the views: geometric mean of the ratios of pairs, arithmetic mean of those of null."""
    joint = view_product(views, counts, smoothing)
    nulls = []
    for side, number in (("source", "source_number"), ("target", "target_number")):
        total = sum(
            getattr(c, side).null_ratios(smoothing.words, smoothing.discount)[getattr(view, number)]
            for view, c in zip(views, counts, strict=True)
        )
        nulls.append((total / len(views)).astype(np.float32))
    return Emissions(joint, *nulls)


def view_product(views: Sequence[View], counts: Sequence[ViewCounts], smoothing: Smoothing) -> Floats:
    """Return the geometric mean over views of the ratios of each word pair (P,), 0 for the padding."""
    joint = np.ones(1, dtype=np.float32)
    for view, c in zip(views, counts, strict=True):
        joint = joint * view.spread(ratios(view, c, smoothing))
    joint = _root(joint, len(views))
    joint[0] = 0
    return joint


def _root(values: Floats, n: int) -> Floats:
    """Return the n-th root; square roots where they do."""
    while n % 2 == 0:
        np.sqrt(values, out=values)
        n //= 2
    return values if n == 1 else np.power(values, np.float32(1 / n), out=values)


class LearnedView(NamedTuple):
    """What a model knows of one view.

    Attributes
    ----------
    letters : int
    keys : int64 array of shape (Q,)
        ``source form * number of target forms + target form``, sorted.
    counts : float32 array of shape (Q,)
    source, target : FormCounts
    """

    letters: int
    keys: Longs
    counts: Floats
    source: FormCounts
    target: FormCounts

    def table(self, least: float) -> Any:
        """Return the pairs with at least `least` links as a sparse table, (source forms, target forms)."""
        from scipy.sparse import coo_array

        kept = self.counts >= least
        shape = len(self.source.linked), len(self.target.linked)
        return coo_array((self.counts[kept], np.divmod(self.keys[kept], shape[1])), shape=shape)


def learned_view(view: View, counts: ViewCounts) -> LearnedView:
    """Keep the pairs of a view that have a count."""
    kept = np.flatnonzero(counts.pairs > 0)
    keys = view.source[kept].astype(np.int64) * len(view.target_forms) + view.target[kept]
    return LearnedView(view.letters, keys, counts.pairs[kept], counts.source, counts.target)


class Translations(NamedTuple):
    """Word pairs with counts, each of shape (Q,).

    Attributes
    ----------
    source, target : int arrays
        Numbers of the words.
    links : float array
        Expected number of links.
    target_given_source, source_given_target : float arrays
        p(target word | source word) and p(source word | target word).
    """

    source: Longs
    target: Longs
    links: Doubles
    target_given_source: Doubles
    source_given_target: Doubles


@dataclass(frozen=True)
class Lexicon:
    """A learned lexicon: ratios for any words, also for words it has never seen.

    An unknown word falls back on its shortened forms, then on its spelling.

    Attributes
    ----------
    source_words, target_words : list of str
        ``words[0]`` is the padding.
    source_counts, target_counts : int64 arrays
        How often each word occurred.
    views : list of LearnedView
    smoothing : Smoothing
    spelling : float
        Count that two forms of one spelling start with.
    """

    source_words: list[str]
    target_words: list[str]
    source_counts: Longs
    target_counts: Longs
    views: list[LearnedView]
    smoothing: Smoothing
    spelling: float

    @cached_property
    def forms(self) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Number of each source and target form, for each view."""
        result = []
        for view in self.views:
            sides = (shorten(words, view.letters)[1] for words in (self.source_words, self.target_words))
            source, target = ({form: k for k, form in enumerate(forms)} for forms in sides)
            result.append((source, target))
        return result

    @cached_property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Number of each source and target word."""
        source, target = (
            {word: k for k, word in enumerate(words)} for words in (self.source_words, self.target_words)
        )
        return source, target

    @property
    def whole(self) -> LearnedView | None:
        """The view of whole words, if there is one."""
        return next((view for view in self.views if view.letters == 0), None)

    def known(self, source: EncodedSide, target: EncodedSide) -> tuple[Longs, Longs]:
        """Return the number of each source and target word of a text, -1 for unknown words."""
        source_known, target_known = (
            np.array([numbers.get(word, -1) for word in side.words])
            for numbers, side in zip(self.numbers, (source, target), strict=True)
        )
        return source_known, target_known

    def renumbered(
        self, jumps: tuple[Jumps, Jumps], source: EncodedSide, target: EncodedSide
    ) -> tuple[Jumps, Jumps]:
        """Return the jumps that were learned with this lexicon for the words of a text."""
        of_source, of_target = self.known(source, target)
        return jumps[0].renumbered(of_source), jumps[1].renumbered(of_target)

    def translations(self) -> Translations:
        """Return the word pairs that were linked, by falling count.

        Raises
        ------
        UsageError
            If the lexicon has no view of whole words.
        """
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
        for learned, forms in zip(self.views, self.forms, strict=True):
            view = make_view(source, target, pairs, learned.letters, spelling=self.spelling, apart=False)
            views.append(view)
            counts.append(_looked_up(view, learned, *forms, self.smoothing))
        return views, counts, self.smoothing


def _looked_up(
    view: View,
    learned: LearnedView,
    source_forms: dict[str, int],
    target_forms: dict[str, int],
    smoothing: Smoothing,
) -> ViewCounts:
    """Return the learned counts of a text's view; for unknown forms, those that make a ratio of NEUTRAL."""
    source = np.array([source_forms.get(form, -1) for form in view.source_forms])
    target = np.array([target_forms.get(form, -1) for form in view.target_forms])
    keys = source[view.source] * len(target_forms) + target[view.target]
    keys[(source[view.source] < 0) | (target[view.target] < 0)] = -1
    place = np.minimum(np.searchsorted(learned.keys, keys), max(len(learned.keys) - 1, 0))
    counts = np.zeros(len(keys), dtype=np.float32)
    if len(learned.keys):
        known = learned.keys[place] == keys
        counts[known] = learned.counts[place[known]]
    sides = (_known_forms(learned.source, source), _known_forms(learned.target, target))
    unknown = (keys < 0) & (view.source > 0)
    by_chance = (sides[0].linked + smoothing.discount)[view.source[unknown]]
    by_chance *= (sides[1].linked + smoothing.discount)[view.target[unknown]] / smoothing.words
    counts[unknown] = NEUTRAL * by_chance
    return ViewCounts(counts, *sides)


def _known_forms(counts: FormCounts, rows: Longs) -> FormCounts:
    """Return the counts of forms by their row in the model; 0 for row -1."""
    known = rows >= 0
    linked, null = (np.where(known, values[rows], 0.0) for values in (counts.linked, counts.null))
    return FormCounts(linked, null, counts.all_null)
