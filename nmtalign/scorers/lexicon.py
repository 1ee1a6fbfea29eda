"""The lexicon of a model: learned counts of words and their forms, and look-up of any words of a text.

An unknown word falls back on its shorter forms, then on its spelling. `StoredForms` are the counts of one
kind of form, and :mod:`nmtalign.scorers.likelihood_ratios` computes the ratios of words from these counts.

Axes: P word pairs of a text, Q pairs of forms, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Floats, Longs, check_strictly_increasing
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import WordPairIndex, join_keys, lookup_values
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES
from nmtalign.scorers.dictionary_phrases import Phrases
from nmtalign.scorers.forms import (
    MAX_COUNT,
    WHOLE_WORD,
    FormCounts,
    FormKind,
    FormPairCounts,
    FormPairs,
    form_function,
    forms_of,
    make_form_pairs,
)
from nmtalign.scorers.likelihood_ratios import Smoothing, TextFormCounts
from nmtalign.state import State, Stored
from nmtalign.text.languages import lemma_language

# The ratio of two forms if one is unknown: so low that other kinds of form or the positions decide.
UNKNOWN_RATIO = 0.2
MAX_FORM_LETTERS = 1000
FOREIGN_PSEUDO_COUNT = 0.5  # added to the counts of a word on both sides
_PHRASES = "phrases"  # the name of the part of a state


class CountedWordPair(NamedTuple):
    """A word pair of the lexicon with its expected number of links."""

    source: str
    target: str
    links: float
    forward: float  # p(target|source)
    reverse: float  # p(source|target)


class KnownForms(NamedTuple):
    """The forms of one kind on one side of a text, as a lexicon knows them."""

    numbers: Longs  # number of each form in the lexicon, -1 if it is unknown
    counts: FormCounts  # counts of each form; 0 if it is unknown


class StoredForms(NamedTuple):
    """Expected counts of one kind of form, as a model keeps them."""

    form_kinds: tuple[FormKind, FormKind]  # kinds of the source forms and of the target forms
    keys: Longs  # (Q,): ``source form * number of target forms + target form``, sorted
    counts: Floats  # (Q,)
    sides: tuple[FormCounts, FormCounts]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of source forms and of target forms."""
        return len(self.sides[0].linked), len(self.sides[1].linked)

    def state(self) -> State:
        rows, targets = np.divmod(self.keys, self.shape[1])
        pairs = np.bincount(rows, minlength=self.shape[0]).astype(np.int32)
        # A value and an array may share a name: the value `pairs` is the number of all pairs, and the array
        # `pairs` that of each source form; `source_null` is the sum over all forms, and the count of each.
        arrays: dict[str, AnyArray] = {"pairs": pairs}
        values: dict[str, Any] = {"letters": list(self.form_kinds), "pairs": len(self.keys)}
        for side, counts in zip(SIDES, self.sides, strict=True):
            values[f"{side}_null"] = counts.all_null
            for name in ("linked", "null"):
                arrays[f"{side}_{name}"] = getattr(counts, name).astype(np.float32)
        return State("forms", values, arrays, {"targets": targets.astype(np.int32), "counts": self.counts})

    @classmethod
    def from_state(cls, stored: Stored, words: tuple[int, int]) -> StoredForms:
        """Return the counts of a state; `words` are the sizes of both vocabularies."""
        form_kinds = _form_kinds_of(stored)
        source, target = (
            FormCounts.from_state(stored, side, word_count if form_kind == WHOLE_WORD else None)
            for side, word_count, form_kind in zip(SIDES, words, form_kinds, strict=True)
        )
        pairs = stored.integer("pairs", minimum=0)
        forms = len(target.linked)
        of_source = stored.array("pairs", "i", (len(source.linked),), minimum=0, maximum=forms)
        if of_source.sum() != pairs:
            found = f"expected {pairs:,} word pairs of all forms, found {of_source.sum():,}"
            raise DataError(found).at(f"{stored.folder / 'arrays.npz'}, {stored.prefix}pairs")
        targets = stored.large("targets", "i", (pairs,), minimum=0, maximum=forms - 1)
        keys = np.repeat(np.arange(len(of_source)) * forms, of_source) + targets
        check_strictly_increasing(keys, name=stored.folder / f"{stored.prefix}targets.npy")
        counts = stored.large("counts", "f", (pairs,), minimum=0, maximum=MAX_COUNT)
        return cls(form_kinds, keys, counts, (source, target))

    def table(self, min_links: float) -> Any:
        """Return pairs with at least `min_links` links as a sparse table (source forms, target forms)."""
        from scipy.sparse import coo_array

        kept = self.counts >= min_links
        cells = np.divmod(self.keys[kept], self.shape[1])
        return coo_array((self.counts[kept], cells), shape=self.shape)


def _form_kinds_of(stored: Stored) -> tuple[FormKind, FormKind]:
    """Return the kinds of form that a model names: numbers of letters, or languages of lemmas."""
    values = stored.value("letters", list)
    if len(values) != 2 or not all(map(_is_form_kind, values)):
        kinds = f"up to {MAX_FORM_LETTERS} letters, or a language of lemmas"
        error = DataError(f"expected two kinds of form ({kinds}), found {short_repr(values)}")
        raise error.at(stored.folder / "meta.json")
    return values[0], values[1]


def _is_form_kind(value: object) -> bool:
    """Return whether a value names a kind of form."""
    if isinstance(value, str):
        return lemma_language(value) == value
    return type(value) is int and abs(value) <= MAX_FORM_LETTERS


def stored_forms(form_pairs: FormPairs, counts: FormPairCounts) -> StoredForms:
    """Return the pairs of forms that have a count."""
    kept = np.flatnonzero(counts.links > 0)
    keys = join_keys(form_pairs.source[kept], form_pairs.target[kept], len(form_pairs.strings[1]))
    return StoredForms(form_pairs.form_kinds, keys, counts.links[kept], counts.sides)


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon:
    """A learned lexicon: likelihood ratios of any words, known or unknown."""

    source_words: list[str]  # ``source_words[0]`` is the padding
    target_words: list[str]
    source_counts: Longs  # (V,): how often each source word occurred in the training text
    target_counts: Longs  # (V,): how often each target word occurred in the training text
    counts_of_kinds: list[StoredForms]  # one entry for each kind of form
    smoothing: Smoothing
    spelling: float  # prior count of two identical forms
    phrases: Phrases | None = None  # of dictionaries, which complete links

    def __repr__(self) -> str:
        words = f"{len(self.source_words) - 1:,} source and {len(self.target_words) - 1:,} target words"
        return f"Lexicon of {words}"

    def state(self) -> State:
        parts = {f"forms-{k}": stored.state() for k, stored in enumerate(self.counts_of_kinds)}
        if self.phrases is not None:
            parts[_PHRASES] = self.phrases.state()
        return State(
            "lexicon",
            {
                "spelling": self.spelling,
                "words": self.smoothing.corpus_size,
                "pseudo_count": self.smoothing.pseudo_count,
                "floor": self.smoothing.floor,
            },
            {"source_counts": self.source_counts, "target_counts": self.target_counts},
            words={"source": self.source_words[1:], "target": self.target_words[1:]},
            parts=parts,
        )

    @classmethod
    def from_state(cls, stored: Stored) -> Lexicon:
        source = ["", *stored.words("source")]
        target = ["", *stored.words("target")]
        V = len(source), len(target)
        forms = [name for name in stored.parts() if name != _PHRASES]
        if not forms:
            raise DataError("expected a lexicon with at least one kind of form, found none").at(stored.folder)
        smoothing = Smoothing(
            corpus_size=stored.number("words", minimum=1, maximum=MAX_COUNT),
            pseudo_count=stored.number("pseudo_count", minimum=1e-6, maximum=1e6),
            floor=stored.number("floor", minimum=0, maximum=1),
        )
        lexicon = cls(
            source_words=source,
            target_words=target,
            source_counts=stored.array("source_counts", "i", (V[0],), minimum=0, maximum=MAX_COUNT),
            target_counts=stored.array("target_counts", "i", (V[1],), minimum=0, maximum=MAX_COUNT),
            counts_of_kinds=[StoredForms.from_state(stored.part(name), V) for name in forms],
            smoothing=smoothing,
            spelling=stored.number("spelling", minimum=0, maximum=1000),
        )
        lexicon._check_forms(stored, forms)
        if _PHRASES not in stored.parts():
            return lexicon
        phrases = Phrases.from_state(stored.part(_PHRASES), lexicon.phrase_kinds)
        return replace(lexicon, phrases=phrases)

    def _check_forms(self, stored: Stored, names: list[str]) -> None:
        """Raise a DataError if the stored counts are not those of the forms that the words have."""
        for name, learned, numbers in zip(names, self.counts_of_kinds, self.form_numbers, strict=True):
            expected = len(numbers[0]), len(numbers[1])
            if learned.shape != expected:
                what = "counts of {:,} source and {:,} target forms of the words"
                found = f"found counts of {learned.shape[0]:,} and {learned.shape[1]:,}"
                place = f"{stored.folder / 'meta.json'}, {stored.prefix}{name}"
                text = f"expected {what.format(*expected)} for the letters {learned.form_kinds}, {found}"
                raise DataError(text).at(place)

    @cached_property
    def form_numbers(self) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Number of each source form and of each target form, for each kind of form."""
        sides = self.source_words, self.target_words

        @cache  # two kinds of form may share the forms of a side
        def numbers_of_forms(side: int, form_kind: FormKind) -> dict[str, int]:
            if form_kind == WHOLE_WORD:
                return self.numbers[side]
            strings: Iterable[str] = sides[side]
            if isinstance(form_kind, int) and form_kind > 0:
                kinds = [stored.form_kinds[side] for stored in self.counts_of_kinds]
                longer = [kind for kind in kinds if isinstance(kind, int) and kind > form_kind]
                # longer beginnings of words have the same beginnings in the same order, and are fewer
                strings = numbers_of_forms(side, min(longer)) if longer else strings
            return number_words(dict.fromkeys(map(form_function(form_kind), strings)))

        numbers = []
        for stored in self.counts_of_kinds:
            source_kind, target_kind = stored.form_kinds
            numbers.append((numbers_of_forms(0, source_kind), numbers_of_forms(1, target_kind)))
        return numbers

    @cached_property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Number of each source and target word."""
        return number_words(self.source_words), number_words(self.target_words)

    @property
    def whole(self) -> StoredForms | None:
        """The counts of whole words, if there are any."""
        return self.of_kinds((WHOLE_WORD, WHOLE_WORD))

    @property
    def lemma_languages(self) -> tuple[str | None, str | None]:
        """The languages of the lemmas that are forms of the source words, and of the target words."""
        kinds_of_sides = zip(*(stored.form_kinds for stored in self.counts_of_kinds), strict=True)
        source, target = ([kind for kind in kinds if isinstance(kind, str)] for kinds in kinds_of_sides)
        return source[0] if source else None, target[0] if target else None

    @property
    def phrase_kinds(self) -> tuple[FormKind, FormKind]:
        """The kinds of form by which the words of phrases are compared: lemmas, else whole words."""
        source, target = self.lemma_languages
        return source or WHOLE_WORD, target or WHOLE_WORD

    def of_kinds(self, form_kinds: tuple[FormKind, FormKind]) -> StoredForms | None:
        """Return the counts of the forms of these kinds, if there are any."""
        return next((stored for stored in self.counts_of_kinds if stored.form_kinds == form_kinds), None)

    def known(self, source: EncodedSide, target: EncodedSide) -> tuple[Longs, Longs]:
        """Return the number of each source and target word of a text, -1 for unknown words."""
        return look_up(self.numbers[0], source.words), look_up(self.numbers[1], target.words)

    def foreignness(self, text: EncodedSide, side: int) -> Doubles:
        """Return the log ratio of the frequencies of each word (V,) on the other side and on `side`."""
        frequencies = []
        for n, counts in enumerate((self.source_counts, self.target_counts)):
            numbers = look_up(self.numbers[n], text.words)
            known_counts = np.where(numbers < 0, 0, counts[numbers])
            frequencies.append((known_counts + FOREIGN_PSEUDO_COUNT) / max(counts.sum(), 1))
        log_ratios = np.log(frequencies[1 - side]) - np.log(frequencies[side])
        log_ratios[0] = 0  # the padding
        return np.asarray(log_ratios)

    def frequent(self, count: int) -> tuple[list[str], list[str]]:
        """Return the most frequent source and target words; words are numbered by falling frequency."""
        return self.source_words[1 : count + 1], self.target_words[1 : count + 1]

    def translations(self) -> Iterator[CountedWordPair]:
        """Yield the linked word pairs by falling count; UsageError if whole words have no counts."""
        whole = self.whole
        if whole is None:
            raise UsageError("this lexicon counts parts of words only; it has no translations to list")
        source, target = np.divmod(whole.keys, len(self.target_words))
        links = np.asarray(whole.counts, dtype=np.float64)
        # entries of a word list may have counts without links
        forward = links / np.maximum(whole.sides[0].linked[source], links)
        reverse = links / np.maximum(whole.sides[1].linked[target], links)
        order = np.lexsort((target, source, -links))
        columns = [column[order].tolist() for column in (source, target, links, forward, reverse)]
        for s, t, count, p_target, p_source in zip(*columns, strict=True):
            yield CountedWordPair(self.source_words[s], self.target_words[t], count, p_target, p_source)

    def lookup(self, source: EncodedSide, target: EncodedSide, word_pairs: WordPairIndex) -> TextFormCounts:
        """Return the pairs of forms of a text, with the learned counts."""
        pairs_of_kinds = []
        counts = []
        for n, learned in enumerate(self.counts_of_kinds):
            form_pairs = make_form_pairs(
                source, target, word_pairs, learned.form_kinds, spelling=self.spelling, merge_equal=False
            )
            known = self._known_forms(n, 0, source), self._known_forms(n, 1, target)
            pairs_of_kinds.append(form_pairs)
            counts.append(_known_counts(form_pairs, learned, known, self.smoothing))
        return TextFormCounts(pairs_of_kinds, counts, self.smoothing)

    def _known_forms(self, n: int, side: int, text: EncodedSide) -> KnownForms:
        """Return what this lexicon knows of the forms of kind n on one side (0 or 1) of a text."""

        def look_up_forms() -> KnownForms:
            stored = self.counts_of_kinds[n]
            _, forms = forms_of(text, stored.form_kinds[side])
            numbers = look_up(self.form_numbers[n][side], forms)
            counts = stored.sides[side].apply(lambda c: np.where(numbers < 0, 0.0, c[numbers]))
            return KnownForms(numbers, counts)

        return text.memo((self, n, side), look_up_forms)


def _known_counts(
    form_pairs: FormPairs, learned: StoredForms, known: tuple[KnownForms, KnownForms], smoothing: Smoothing
) -> FormPairCounts:
    """Return the learned counts of pairs of forms.

    A pair with an unknown form gets the count at which its ratio is `UNKNOWN_RATIO`, without the floor.
    """
    source, target = known
    source_number = source.numbers.take(form_pairs.source)  # (Q,)
    target_number = target.numbers.take(form_pairs.target)
    is_unknown = (source_number < 0) | (target_number < 0)
    keys = source_number * learned.shape[1] + target_number
    keys[is_unknown] = -1
    counts = lookup_values(learned.keys, learned.counts, keys)
    unknown = np.flatnonzero(is_unknown & (form_pairs.source > 0))  # without the padding
    # the count at which their ratio is 1: (c(e) + d) (c(f) + d) / N
    by_chance = (source.counts.linked + smoothing.pseudo_count)[form_pairs.source[unknown]]
    target_counts = (target.counts.linked + smoothing.pseudo_count)[form_pairs.target[unknown]]
    by_chance *= target_counts / smoothing.corpus_size
    counts[unknown] = UNKNOWN_RATIO * by_chance
    return FormPairCounts(counts, (source.counts, target.counts))
