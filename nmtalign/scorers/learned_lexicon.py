"""The lexicon: expected counts of links learned from a bitext, and likelihood ratios of any words.

Every word is counted under several *forms*: the word itself, and its first letters (3, 4 and 6 by the preset
``default``). For each kind of form, the joint counts c(e, f), expected counts of links in both directions at
once (the product of their posteriors), give the likelihood ratio to chance

    r(e, f) = (c(e, f) + prior(e, f)) N / ((c(e) + s) (c(f) + s)) + floor

which estimates both p(f|e) / p(f) and p(e|f) / p(e). The pseudo-count s lowers the ratios of rare words;
prior(e, f) grows with the similarity of the spellings. The emission ratio of a word pair is the geometric
mean of the ratios of its forms. An unknown word falls back on its shorter forms, then on its spelling.

`FormPairs` are the pairs of forms of a text, `FormPairCounts` their counts of one kind, with the `FormCounts`
of both sides; `CountedForms` are both for all kinds. `StoredForms` are the counts of one kind in a model.

Axes: P word pairs of a text, Q pairs of forms, V vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import (
    AnyArray,
    Doubles,
    Floats,
    Integers,
    Longs,
    block_slices,
    check_strictly_increasing,
)
from nmtalign.corpus.parallel import parallel_map
from nmtalign.corpus.sides import EncodedSide, look_up, number_words
from nmtalign.corpus.word_pairs import PairIndex, lookup_values
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES
from nmtalign.positions.position_model import Emissions
from nmtalign.scorers.forms import (
    EVERY,
    FormKind,
    FormPairs,
    form_function,
    forms_of,
    make_form_pairs,
)
from nmtalign.state import State, Stored
from nmtalign.text.lemmas import lemma_language

WORD_PAIRS_PER_BLOCK = 1 << 16  # a thread works on so many word pairs at a time
MIN_NULL_COUNT = 1e-3  # stands for the null count of a word that was never unaligned
UNKNOWN_RATIO = 0.2  # of two forms if one is unknown, so that other kinds of form or the positions decide
MAX_COUNT = 10**12  # no training text has more words or links
MAX_FORM_LETTERS = 1000


class CountedWordPair(NamedTuple):
    """A word pair of the lexicon with its expected number of links."""

    source: str
    target: str
    links: float
    forward: float  # p(target|source)
    reverse: float  # p(source|target)


class FormCounts(NamedTuple):
    """Expected counts of the forms of one kind on one side."""

    linked: Doubles  # joint counts of each form
    null: Doubles  # how often each form was aligned to null
    all_null: float  # sum of `null` over all forms of the model

    def apply(self, function: Callable[[Doubles], Doubles]) -> FormCounts:
        """Return the counts with a function applied to `linked` and to `null`."""
        return self._replace(linked=function(self.linked), null=function(self.null))

    @classmethod
    def from_state(cls, stored: Stored, side: str, forms: int | None) -> FormCounts:
        """Return the counts of the forms of a side, shape (forms,); None accepts any number of forms."""
        linked = stored.array(f"{side}_linked", "f", (forms,), minimum=0, maximum=MAX_COUNT)
        null = stored.array(f"{side}_null", "f", (len(linked),), minimum=0, maximum=MAX_COUNT)
        all_null = stored.number(f"{side}_null", minimum=0, maximum=MAX_COUNT)
        return cls(linked.astype(np.float64), null.astype(np.float64), all_null)

    def null_ratios(self, words: float, pseudo_count: float) -> Doubles:
        """Return p(form | null) / p(form) of each form, at most 1,000."""
        by_null = (self.null + MIN_NULL_COUNT) / (self.all_null + 1)
        return np.minimum(1000.0, by_null / ((self.linked + pseudo_count) / words))


KnownForms = tuple[Longs, FormCounts]  # of a side of a text: numbers in the lexicon, -1 if unknown; counts


class FormPairCounts(NamedTuple):
    """Expected counts of one kind of form: joint counts of pairs (Q,), and counts of both sides."""

    pairs: Floats
    sides: tuple[FormCounts, FormCounts]


def form_pair_counts(
    forms: Sequence[FormPairs], index: PairIndex, pairs: Doubles, source_null: Doubles, target_null: Doubles
) -> list[FormPairCounts]:
    """Sum expected counts of word pairs (P,) and unaligned words (V + 1,) by form, for each kind of form."""
    counted = np.flatnonzero(pairs)  # late in training, at most one pair in ten
    # if most pairs have a count, adding all pairs is faster than picking these
    linked = counted if 4 * len(counted) < 3 * len(pairs) else EVERY
    source_linked = sum_at(index.source[linked], len(source_null), pairs[linked])
    target_linked = sum_at(index.target[linked], len(target_null), pairs[linked])
    words = (
        FormCounts(source_linked, source_null, float(source_null.sum())),
        FormCounts(target_linked, target_null, float(target_null.sum())),
    )
    counts = []
    for kind in forms:
        source = words[0].apply(partial(sum_at, kind.numbers[0], len(kind.forms[0])))
        target = words[1].apply(partial(sum_at, kind.numbers[1], len(kind.forms[1])))
        if kind.pair is None:
            form_pair_sums = pairs
        else:
            form_pair_sums = sum_at(kind.pair[linked], len(kind.source), pairs[linked])
        counts.append(FormPairCounts(form_pair_sums.astype(np.float32), (source, target)))
    return counts


def sum_at(indices: Integers, size: int, values: Doubles) -> Doubles:
    """Sum the values at each index, shape (size,)."""
    return np.asarray(np.bincount(indices, values, size), dtype=np.float64)


class Smoothing(NamedTuple):
    """Constants of the likelihood ratios: number of words N, pseudo-count s, floor.

    N is the geometric mean of the numbers of source and target words, plus that of an older model.
    """

    words: float
    pseudo_count: float
    floor: float


def ratios(form_pairs: FormPairs, counts: FormPairCounts, smoothing: Smoothing, workers: int = 1) -> Floats:
    """Return r(e, f) of each pair of forms of one kind, shape (Q,)."""
    size, pseudo_count, floor = smoothing
    result = counts.pairs.copy()
    result[form_pairs.alike] += form_pairs.prior
    source_counts, target_counts = counts.sides
    # the factors N / (c(e) + s) and 1 / (c(f) + s)
    source_factors = (size / (source_counts.linked + pseudo_count)).astype(np.float32)
    target_factors = (1 / (target_counts.linked + pseudo_count)).astype(np.float32)

    def scale(part: slice) -> None:
        block = result[part]
        block *= source_factors.take(form_pairs.source[part])
        block *= target_factors.take(form_pairs.target[part])
        block += np.float32(floor)

    _in_blocks(scale, len(result), workers)
    return result


def _in_blocks(function: Callable[[slice], None], size: int, workers: int) -> None:
    """Call a function in several threads, with slices that together cover an array of `size` entries."""
    deque(parallel_map(function, [*block_slices(size, WORD_PAIRS_PER_BLOCK)], workers), maxlen=0)


class CountedForms(NamedTuple):
    """Pairs of forms of a text with their counts, one entry for each kind of form."""

    forms: Sequence[FormPairs]
    counts: Sequence[FormPairCounts]
    smoothing: Smoothing


def emission_ratios(counted: CountedForms, workers: int = 1) -> Emissions:
    """Average over the kinds of form: geometric mean for word pairs, arithmetic mean for the null word."""
    forms, counts, (size, pseudo_count, _) = counted
    nulls = []
    for side in (0, 1):
        total: Any = sum(
            kind_counts.sides[side].null_ratios(size, pseudo_count)[form_pairs.numbers[side]]
            for form_pairs, kind_counts in zip(forms, counts, strict=True)
        )
        nulls.append((total / len(forms)).astype(np.float32))
    return Emissions(mean_ratios(counted, workers), *nulls)


def mean_ratios(counted: CountedForms, workers: int = 1) -> Floats:
    """Return the geometric mean of the ratios of each word pair (P,), 0 for the padding."""
    forms, counts, smoothing = counted
    pairs = len(forms[0].source if forms[0].pair is None else forms[0].pair)
    joint = np.ones(pairs, dtype=np.float32)
    for form_pairs, kind_counts in zip(forms, counts, strict=True):
        kind_ratios = ratios(form_pairs, kind_counts, smoothing, workers)

        def multiply(
            part: slice, form_pairs: FormPairs = form_pairs, kind_ratios: Floats = kind_ratios
        ) -> None:
            joint[part] *= form_pairs.by_word_pair(kind_ratios, part)

        _in_blocks(multiply, pairs, workers)
    _in_blocks(lambda part: _root(joint[part], len(forms)), pairs, workers)
    joint[:1] = 0
    return joint


def _root(values: Floats, n: int) -> None:
    """Take the n-th root of each value in place; square roots are faster than powers."""
    while n % 2 == 0:
        np.sqrt(values, out=values)
        n //= 2
    if n > 1:
        np.power(values, np.float32(1 / n), out=values)


class StoredForms(NamedTuple):
    """Expected counts of one kind of form, as a model keeps them."""

    letters: tuple[FormKind, FormKind]
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
        arrays: dict[str, AnyArray] = {"pairs": pairs}
        values: dict[str, Any] = {"letters": list(self.letters), "pairs": len(self.keys)}
        for side, counts in zip(SIDES, self.sides, strict=True):
            values[f"{side}_null"] = counts.all_null
            for name in ("linked", "null"):
                arrays[f"{side}_{name}"] = getattr(counts, name).astype(np.float32)
        return State("forms", values, arrays, {"targets": targets.astype(np.int32), "counts": self.counts})

    @classmethod
    def from_state(cls, stored: Stored, words: tuple[int, int]) -> StoredForms:
        """Return the counts of a state; `words` are the sizes of both vocabularies."""
        first, second = _letters_of(stored)
        source, target = (
            FormCounts.from_state(stored, side, None if letters else size)
            for side, size, letters in zip(SIDES, words, (first, second), strict=True)
        )
        pairs, forms = stored.integer("pairs", minimum=0), len(target.linked)
        of_source = stored.array("pairs", "i", (len(source.linked),), minimum=0, maximum=forms)
        if of_source.sum() != pairs:
            found = f"expected {pairs:,} word pairs of all forms, found {of_source.sum():,}"
            raise DataError(found).at(f"{stored.folder / 'arrays.npz'}, {stored.prefix}pairs")
        targets = stored.large("targets", "i", (pairs,), minimum=0, maximum=forms - 1)
        keys = np.repeat(np.arange(len(of_source)) * forms, of_source) + targets
        check_strictly_increasing(keys, name=stored.folder / f"{stored.prefix}targets.npy")
        counts = stored.large("counts", "f", (pairs,), minimum=0, maximum=MAX_COUNT)
        return cls((first, second), keys, counts, (source, target))

    def table(self, min_links: float) -> Any:
        """Return pairs with at least `min_links` links as a sparse table (source forms, target forms)."""
        from scipy.sparse import coo_array

        kept = self.counts >= min_links
        cells = np.divmod(self.keys[kept], self.shape[1])
        return coo_array((self.counts[kept], cells), shape=self.shape)


def _letters_of(stored: Stored) -> tuple[FormKind, FormKind]:
    """Return the kinds of form that a model names: numbers of letters, or languages of lemmas."""
    values = stored.meta.get("letters")
    if not isinstance(values, list) or not any(isinstance(value, str) for value in values):
        first, second = stored.integers("letters", 2, minimum=-MAX_FORM_LETTERS, maximum=MAX_FORM_LETTERS)
        return first, second
    if len(values) != 2 or not all(_is_kind(value) for value in values):
        raise DataError(f"expected two kinds of form, found {values!r}").at(stored.folder)
    return values[0], values[1]


def _is_kind(value: object) -> bool:
    """Return whether a value names a kind of form."""
    if isinstance(value, str):
        return lemma_language(value) == value
    return type(value) is int and abs(value) <= MAX_FORM_LETTERS


def stored_forms(form_pairs: FormPairs, counts: FormPairCounts) -> StoredForms:
    """Return the pairs of forms that have a count."""
    kept = np.flatnonzero(counts.pairs > 0)
    keys = form_pairs.source[kept].astype(np.int64) * len(form_pairs.forms[1]) + form_pairs.target[kept]
    return StoredForms(form_pairs.letters, keys, counts.pairs[kept], counts.sides)


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
        return State(
            "lexicon",
            {"spelling": self.spelling, **self.smoothing._asdict()},
            {"source_counts": self.source_counts, "target_counts": self.target_counts},
            words={"source": self.source_words[1:], "target": self.target_words[1:]},
            parts={f"forms-{k}": stored.state() for k, stored in enumerate(self.forms)},
        )

    @classmethod
    def from_state(cls, stored: Stored) -> Lexicon:
        source, target = (["", *stored.words(side)] for side in SIDES)
        V = len(source), len(target)
        if not stored.parts():
            raise DataError("expected a lexicon with at least one kind of form, found none").at(stored.folder)
        smoothing = Smoothing(
            words=stored.number("words", minimum=1, maximum=MAX_COUNT),
            pseudo_count=stored.number("pseudo_count", minimum=1e-6, maximum=1e6),
            floor=stored.number("floor", minimum=0, maximum=1),
        )
        lexicon = cls(
            source,
            target,
            stored.array("source_counts", "i", (V[0],), minimum=0, maximum=MAX_COUNT),
            stored.array("target_counts", "i", (V[1],), minimum=0, maximum=MAX_COUNT),
            [StoredForms.from_state(stored.part(name), V) for name in stored.parts()],
            smoothing,
            stored.number("spelling", minimum=0, maximum=1000),
        )
        lexicon._check_forms(stored)
        return lexicon

    def _check_forms(self, stored: Stored) -> None:
        """Raise a DataError if the stored counts are not those of the forms that the words have."""
        for name, learned, numbers in zip(stored.parts(), self.forms, self.form_numbers, strict=True):
            expected = len(numbers[0]), len(numbers[1])
            if learned.shape != expected:
                what = "counts of {:,} source and {:,} target forms of the words"
                found = f"found counts of {learned.shape[0]:,} and {learned.shape[1]:,}"
                place = f"{stored.folder / 'meta.json'}, {stored.prefix}{name}"
                text = f"expected {what.format(*expected)} for the letters {learned.letters}, {found}"
                raise DataError(text).at(place)

    @cached_property
    def form_numbers(self) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Number of each source form and of each target form, for each kind of form."""
        sides = self.source_words, self.target_words

        @cache  # two kinds may share the forms of a side
        def numbers(side: int, letters: FormKind) -> dict[str, int]:
            if not letters:
                return self.numbers[side]
            return number_words(dict.fromkeys(map(form_function(letters), sides[side])))

        return [(numbers(0, stored.letters[0]), numbers(1, stored.letters[1])) for stored in self.forms]

    @cached_property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Number of each source and target word."""
        return number_words(self.source_words), number_words(self.target_words)

    @property
    def whole(self) -> StoredForms | None:
        """The counts of whole words, if there are any."""
        return self.with_letters((0, 0))

    @property
    def lemma_languages(self) -> tuple[str | None, str | None]:
        """The languages of the lemmas that are forms of the source words, and of the target words."""
        source, target = ({kind.letters[side] for kind in self.forms} for side in (0, 1))
        first, second = ([kind for kind in kinds if isinstance(kind, str)] for kinds in (source, target))
        return (first[0] if first else None), (second[0] if second else None)

    def with_letters(self, letters: tuple[FormKind, FormKind]) -> StoredForms | None:
        """Return the counts of the forms with these letters, if there are any."""
        return next((stored for stored in self.forms if stored.letters == letters), None)

    def known(self, source: EncodedSide, target: EncodedSide) -> tuple[Longs, Longs]:
        """Return the number of each source and target word of a text, -1 for unknown words."""
        return look_up(self.numbers[0], source.words), look_up(self.numbers[1], target.words)

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

    def lookup(self, source: EncodedSide, target: EncodedSide, pairs: PairIndex) -> CountedForms:
        """Return the pairs of forms of a text, with the learned counts."""
        forms, counts = [], []
        for n, learned in enumerate(self.forms):
            kind = make_form_pairs(
                source, target, pairs, learned.letters, spelling=self.spelling, merge_equal=False
            )
            known = self._known_forms(n, 0, source), self._known_forms(n, 1, target)
            forms.append(kind)
            counts.append(_counts_of(kind, learned, known, self.smoothing))
        return CountedForms(forms, counts, self.smoothing)

    def _known_forms(self, n: int, side: int, text: EncodedSide) -> KnownForms:
        """Return what this lexicon knows of the forms of one kind on one side of a text."""

        def look_up_forms() -> KnownForms:
            stored = self.forms[n]
            numbers = look_up(self.form_numbers[n][side], forms_of(text, stored.letters[side])[1].forms)
            return numbers, stored.sides[side].apply(lambda c: np.where(numbers < 0, 0.0, c[numbers]))

        return text.memo((self, n, side), look_up_forms)


def _counts_of(
    pairs: FormPairs, learned: StoredForms, known: tuple[KnownForms, KnownForms], smoothing: Smoothing
) -> FormPairCounts:
    """Return the learned counts of pairs of forms; unknown forms get the count of `UNKNOWN_RATIO`."""
    (source, of_source), (target, of_target) = known
    at_source, at_target = source.take(pairs.source), target.take(pairs.target)
    missing = (at_source < 0) | (at_target < 0)
    keys = at_source * learned.shape[1] + at_target
    keys[missing] = -1
    counts = lookup_values(learned.keys, learned.counts, keys)
    unknown = np.flatnonzero(missing & (pairs.source > 0))
    by_chance = (of_source.linked + smoothing.pseudo_count)[pairs.source[unknown]]
    by_chance *= (of_target.linked + smoothing.pseudo_count)[pairs.target[unknown]] / smoothing.words
    counts[unknown] = UNKNOWN_RATIO * by_chance
    return FormPairCounts(counts, (of_source, of_target))
