"""Phrases of a dictionary: single words whose translation has several words, such as *according to*.

A dictionary tells which words belong together. Where the links of a sentence pair connect a word with one
word of such a translation, the other words of the translation are linked to it as well, if they have no link.

Axes: B pairs of a bucket, T target words, S source words, V words of a side, with the padding as word 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Ints, Reals
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


class _Occurrence(NamedTuple):
    """A place in a bucket where a word and a phrase that translates it occur together."""

    side: int  # of the word, 0 or 1
    entry: int  # number of the entry
    cells: list[tuple[int, int, int]]  # (t, s, b) of each word of the phrase with the single word


class _Direction:
    """Phrases that translate words of one side (`side`, 0 or 1), by the numbers of their words."""

    def __init__(self, side: int, entries: Iterable[tuple[int, str, list[str]]]) -> None:
        self.side = side
        # the single words and the words of phrases, numbered from 1
        words: dict[str, int] = {}
        phrase_words: dict[str, int] = {}
        self.numbers = (words, phrase_words) if side == 0 else (phrase_words, words)  # source, target
        # the entries of each phrase by the single word; a phrase may also be the beginning of others
        self.phrases: dict[tuple[int, ...], defaultdict[int, list[int]]] = {}
        for number, word, phrase in entries:
            single = words.setdefault(word, len(words) + 1)
            spelled = [phrase_words.setdefault(w, len(phrase_words) + 1) for w in phrase]
            for size in range(2, len(spelled) + 1):
                self.phrases.setdefault(tuple(spelled[:size]), defaultdict(list))
            self.phrases[tuple(spelled)][single].append(number)
        for entries_of_words in self.phrases.values():
            if sum(map(len, entries_of_words.values())) > MAX_PHRASE_TRANSLATIONS:
                entries_of_words.clear()
        # keys of the first two words of the phrases, sorted
        self.base = len(phrase_words) + 1
        self.first_words = np.unique([n * self.base + m for n, m, *_ in self.phrases]).astype(np.int64)

    def occurrences(self, source: Ints, target: Ints) -> Iterator[_Occurrence]:
        """Yield the occurrences in a bucket; the arrays are the numbers of its words, (S, B) and (T, B)."""
        words, phrase_words = (source, target) if self.side == 0 else (target, source)
        neighbors = phrase_words[:-1].astype(np.int64) * self.base + phrase_words[1:]
        nearest = np.searchsorted(self.first_words[:-1], neighbors)
        for start, b in np.argwhere(self.first_words[nearest] == neighbors).tolist():
            following = phrase_words[start : start + MAX_EXPRESSION_WORDS, b].tolist()
            for size in range(2, len(following) + 1):
                entries_of_words = self.phrases.get(tuple(following[:size]))
                if entries_of_words is None:
                    break
                for position, word in enumerate(words[:, b].tolist() if entries_of_words else ()):
                    for entry in entries_of_words.get(word, ()):
                        places = range(start, start + size)
                        if self.side == 0:
                            yield _Occurrence(0, entry, [(place, position, b) for place in places])
                        else:
                            yield _Occurrence(1, entry, [(position, place, b) for place in places])


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

    def _numbers(self, direction: _Direction, side: int, encoded: EncodedSide) -> Ints:
        """Return the number of the form of each word (V,) of a side in a direction; 0 if it has none."""

        def look_up_forms() -> Ints:
            numbers, forms = forms_of(encoded, self.kinds[side])
            found = look_up(direction.numbers[side], forms, 0)
            found[0] = 0  # the padding
            return found.astype(np.int32)[numbers]

        return encoded.memo((self, direction.side, side), look_up_forms)

    def _occurrences(self, text: EncodedText, bucket: Bucket) -> Iterator[_Occurrence]:
        """Yield the occurrences of phrases in a bucket."""
        for direction in self._directions:
            if direction.phrases:
                source = self._numbers(direction, 0, text.source)[bucket.source]
                target = self._numbers(direction, 1, text.target)[bucket.target]
                yield from direction.occurrences(source, target)

    def occurring(self, text: EncodedText) -> Phrases:
        """Return those phrases that occur together with their word in a sentence pair of a text."""
        found = {of_pair.entry for bucket in text.buckets for of_pair in self._occurrences(text, bucket)}
        return Phrases([self.entries[number] for number in sorted(found)], self.kinds)

    def complete(
        self, text: EncodedText, bucket: Bucket, cells: CellIndices, posterior: Reals
    ) -> tuple[CellIndices, Reals]:
        """Return links with those that complete phrases, and their posteriors.

        A new link gets the greatest posterior of the links of its word and its phrase.
        """
        weights = np.zeros(bucket.shape, dtype=posterior.dtype)
        weights[cells] = posterior
        is_linked = np.zeros(bucket.shape, dtype=bool)
        is_linked[cells] = True
        # cells whose target word, and cells whose source word, has a link: the words of phrases
        has_link = [np.broadcast_to(is_linked.any(axis, keepdims=True), bucket.shape) for axis in (1, 0)]
        new: dict[tuple[int, int, int], Any] = {}
        for found in self._occurrences(text, bucket):
            linked = [cell for cell in found.cells if is_linked[cell]]
            if not linked:
                continue
            best = max(weights[cell] for cell in linked)
            for cell in found.cells:
                if not has_link[found.side][cell]:
                    new[cell] = max(best, new.get(cell, best))
        if not new:
            return cells, posterior
        new_cells = np.array(list(new), np.int64).T
        both = [np.concatenate(columns) for columns in zip(cells, new_cells, strict=True)]
        order = np.lexsort((both[2], both[1], both[0]))
        completed = both[0][order], both[1][order], both[2][order]
        return completed, np.concatenate([posterior, np.array(list(new.values()), posterior.dtype)])[order]

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
