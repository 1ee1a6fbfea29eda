"""Phrases of a dictionary: single words whose translation has several words, such as *according to*.

A dictionary tells which words belong together. Where the links of a sentence pair connect a word with one
word of such a translation, the other words of the translation are linked to it as well, if they have no link.

Axes: B pairs of a bucket, T target words, S source words, V words of a side, with the padding as word 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Flags, Ints, Longs, Reals, positions_in_runs
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide, look_up
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import DataError
from nmtalign.positions.position_model import CellIndices
from nmtalign.scorers.forms import FormKind, form_function, forms_of
from nmtalign.state import State, Stored

MAX_EXPRESSION_WORDS = 5
MAX_PHRASE_TRANSLATIONS = 100  # a phrase with more translations is not an expression of its own

Phrase = tuple[str, str]  # source words and target words, between spaces; one of the sides is one word


def is_phrase(source: Sequence[str], target: Sequence[str]) -> bool:
    """Return whether one side is a word, and the other one has several words, but not many.

    >>> is_phrase(["selon"], ["according", "to"]), is_phrase(["chat"], ["cat"])
    (True, False)
    """
    shorter, longer = sorted([len(source), len(target)])
    return shorter == 1 and 1 < longer <= MAX_EXPRESSION_WORDS


class _Occurrences(NamedTuple):
    """The places (N,) in a bucket where a word and a phrase that translates it occur together."""

    entry: Longs  # which phrase of the direction
    word: Longs  # position of the word
    start: Longs  # position of the first word of the phrase
    b: Longs  # the pair in the bucket
    size: int  # words of the phrase


class _Level(NamedTuple):
    """The beginnings of phrases that have some number of words, and the phrases that end there.

    The key of a beginning is ``number of the beginning without its last word * base + last word``.
    """

    keys: Longs  # of all beginnings, sorted; a beginning is numbered from 1 in this order
    offsets: Longs  # phrases ``offsets[k]`` to ``offsets[k + 1]`` end with beginning k + 1
    words: Longs  # the single word that each of these phrases translates
    entries: Longs  # the number of each of these phrases


class _Direction:
    """Phrases that translate words of one side (`side`, 0 or 1), by the numbers of their words.

    Phrases are found word by word, with one level for each number of words.
    """

    def __init__(self, side: int, entries: Iterable[tuple[int, str, list[str]]]) -> None:
        self.side = side
        self.words: dict[str, int] = {}  # the single words, numbered from 1
        self.phrase_words: dict[str, int] = {}
        prefixes: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for number, word, phrase in entries:
            single = self.words.setdefault(word, len(self.words) + 1)
            spelled = [self.phrase_words.setdefault(w, len(self.phrase_words) + 1) for w in phrase]
            for size in range(1, len(spelled)):
                prefixes.setdefault(tuple(spelled[:size]), [])
            prefixes.setdefault(tuple(spelled), []).append((single, number))
        self.levels = self._levels(prefixes)

    def _levels(self, prefixes: dict[tuple[int, ...], list[tuple[int, int]]]) -> list[_Level]:
        """Return the levels from 2 words on; `prefixes` have the word and entry of each phrase that ends."""
        base = len(self.phrase_words) + 1
        numbers: dict[tuple[int, ...], int] = {(word,): word for word in range(1, base)}
        levels = []
        for size in range(2, MAX_EXPRESSION_WORDS + 1):
            of_size = {prefix: ends for prefix, ends in prefixes.items() if len(prefix) == size}
            keys = {numbers[prefix[:-1]] * base + prefix[-1]: prefix for prefix in of_size}
            ordered = sorted(keys)
            numbers = {keys[key]: number for number, key in enumerate(ordered, 1)}
            ends = [of_size[keys[key]] for key in ordered]
            ends = [[] if len(found) > MAX_PHRASE_TRANSLATIONS else found for found in ends]
            offsets = np.cumsum([0, *map(len, ends)], dtype=np.int64)
            flat = [phrase for found in ends for phrase in found]
            words = np.array([word for word, _ in flat], dtype=np.int64)
            entries = np.array([entry for _, entry in flat], dtype=np.int64)
            levels.append(_Level(np.array(ordered, dtype=np.int64), offsets, words, entries))
        return levels

    def occurrences(self, words: Ints, phrase_words: Ints) -> Iterator[_Occurrences]:
        """Yield the occurrences in a bucket; the arrays are the numbers of its words, (S, B) and (T, B)."""
        base = len(self.phrase_words) + 1
        places = _Places(words, len(self.words) + 1)
        # the number of the beginning of `size` words that starts at each position, 0 if there is none
        beginning = phrase_words.astype(np.int64)
        for size, level in enumerate(self.levels, 2):
            if len(beginning) < 2 or not len(level.keys):
                return
            following = phrase_words[size - 1 :]
            wanted = beginning[: len(following)] * base + following
            index = np.minimum(np.searchsorted(level.keys, wanted), len(level.keys) - 1)
            is_found = (level.keys[index] == wanted) & (following > 0)
            beginning = np.where(is_found, index + 1, 0)

            # the phrases that end with each beginning that was found
            start, b = np.nonzero(beginning)
            k = beginning[start, b] - 1
            counts = level.offsets[k + 1] - level.offsets[k]
            found = np.repeat(np.arange(len(k)), counts)  # which of the beginnings each phrase ends
            phrase = np.repeat(level.offsets[k], counts) + positions_in_runs(counts)

            # of these, the phrases whose word is in the other sentence
            which, position = places.of(level.words[phrase], b[found])
            found, phrase = found[which], phrase[which]
            if len(found):
                yield _Occurrences(level.entries[phrase], position, start[found], b[found], size)


class _Places:
    """Where the numbered words of one side of a bucket occur."""

    def __init__(self, words: Ints, base: int) -> None:
        position, b = np.nonzero(words)
        keys = b.astype(np.int64) * base + words[position, b]
        order = np.argsort(keys, kind="stable")
        self.keys, self.position, self.base = keys[order], position[order], base

    def of(self, words: Longs, b: Longs) -> tuple[Longs, Longs]:
        """Return the occurrences of words (N,) in pairs `b` (N,): which of the words, at which position."""
        wanted = b * self.base + words
        first = np.searchsorted(self.keys, wanted, "left")
        counts = np.searchsorted(self.keys, wanted, "right") - first
        at = np.repeat(first, counts) + positions_in_runs(counts)
        return np.repeat(np.arange(len(wanted)), counts), self.position[at]


@dataclass(frozen=True, eq=False, repr=False)
class Phrases:
    """Phrases of dictionaries; their words are compared by their lemmas, where words have any."""

    entries: Sequence[Phrase]
    kinds: tuple[FormKind, FormKind]  # kinds of form by which words are compared: 0, or a language of lemmas

    @cached_property
    def _directions(self) -> list[_Direction]:
        """Phrases that translate source words, and phrases that translate target words."""
        functions = [form_function(kind) for kind in self.kinds]
        directions = []
        for side in (0, 1):
            chosen = []
            for number, entry in enumerate(self.entries):
                sides = [list(map(f, text.split(" "))) for f, text in zip(functions, entry, strict=True)]
                if len(sides[side]) == 1:
                    chosen.append((number, sides[side][0], sides[1 - side]))
            directions.append(_Direction(side, chosen))
        return directions

    def _numbers(self, n: int, side: int, encoded: EncodedSide) -> Ints:
        """Return the number of the form of each word (V,) of a side in direction n; 0 if it has none."""

        def look_up_forms() -> Ints:
            direction = self._directions[n]
            known = direction.words if side == direction.side else direction.phrase_words
            numbers, forms = forms_of(encoded, self.kinds[side])
            found = look_up(known, forms.strings, 0)
            found[0] = 0  # the padding
            return found.astype(np.int32)[numbers]

        return encoded.memo((self, n, side), look_up_forms)

    def _occurrences(self, text: EncodedText, bucket: Bucket) -> Iterator[tuple[int, _Occurrences]]:
        """Yield the occurrences in a bucket of phrases that translate words of one side, with this side."""
        for n, direction in enumerate(self._directions):
            if direction.words:
                source = self._numbers(n, 0, text.source)[bucket.source]
                target = self._numbers(n, 1, text.target)[bucket.target]
                words, phrase_words = (source, target) if n == 0 else (target, source)
                for found in direction.occurrences(words, phrase_words):
                    yield n, found

    def occurring(self, text: EncodedText) -> Phrases:
        """Return those phrases that occur together with their word in a sentence pair of a text."""
        if not self.entries:
            return self
        are_found = np.zeros(len(self.entries), dtype=bool)
        for bucket in text.buckets:
            for _, found in self._occurrences(text, bucket):
                are_found[found.entry] = True
        kept = [entry for entry, is_found in zip(self.entries, are_found.tolist(), strict=True) if is_found]
        return Phrases(kept, self.kinds)

    def complete(
        self, text: EncodedText, bucket: Bucket, cells: CellIndices, posterior: Reals
    ) -> tuple[CellIndices, Reals]:
        """Return links with those that complete phrases, and their posteriors.

        A new link gets the greatest posterior of the links of its word and its phrase.
        """
        occurrences = list(self._occurrences(text, bucket))
        if not occurrences:
            return cells, posterior
        links = np.zeros(bucket.shape, dtype=bool)
        links[cells] = True
        weights = np.zeros(bucket.shape, dtype=posterior.dtype)
        weights[cells] = posterior
        added = np.zeros_like(weights)
        is_new = np.zeros_like(links)
        has_link = _linked_words(links)
        for n, found in occurrences:
            of_phrase = [_cell(n, found, k) for k in range(found.size)]
            are_linked = np.logical_or.reduce([links[cell] for cell in of_phrase])
            best = np.maximum.reduce([weights[cell] for cell in of_phrase])
            for cell in of_phrase:
                t, s, b = cell
                is_free = ~(has_link[1][t, b] if n == 0 else has_link[0][s, b])
                chosen = np.flatnonzero(are_linked & is_free)
                new = t[chosen], s[chosen], b[chosen]
                is_new[new] = True
                np.maximum.at(added, new, best[chosen])
        if not is_new.any():
            return cells, posterior
        new_cells = np.nonzero(is_new)
        both = [np.concatenate(columns) for columns in zip(cells, new_cells, strict=True)]
        order = np.lexsort((both[2], both[1], both[0]))
        t, s, b = (column[order] for column in both)
        return (t, s, b), np.concatenate([posterior, added[new_cells]])[order]

    def state(self) -> State:
        words = {"source": [source for source, _ in self.entries], "target": [t for _, t in self.entries]}
        return State("phrases", words=words)

    @classmethod
    def from_state(cls, stored: Stored, kinds: tuple[FormKind, FormKind]) -> Phrases:
        source, target = stored.words("source"), stored.words("target")
        if len(source) != len(target):
            counts = f"{len(source)} and {len(target)}"
            raise DataError(f"expected the same number of source and target phrases, found {counts}")
        for entry in zip(source, target, strict=True):
            if not is_phrase(*(text.split(" ") for text in entry)):
                raise DataError(f"expected a word and its translation of several words, found {entry!r}")
        return cls(list(zip(source, target, strict=True)), kinds)


def _linked_words(links: Flags) -> tuple[Flags, Flags]:
    """Return which source words (S, B) and which target words (T, B) have a link."""
    return np.asarray(links.any(axis=0)), np.asarray(links.any(axis=1))


def _cell(n: int, found: _Occurrences, k: int) -> CellIndices:
    """Return the cells of the k-th words of phrases with their words."""
    if n == 0:
        return found.start + k, found.word, found.b
    return found.word, found.start + k, found.b
