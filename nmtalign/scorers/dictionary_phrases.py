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

    entry: int  # number of the entry
    cells: list[tuple[int, int, int]]  # (t, s, b) of each word of the phrase with the single word


class _Direction:
    """Phrases that translate words of one side (`side`, 0 or 1), by the numbers of their words."""

    def __init__(self, side: int, entries: Iterable[tuple[int, str, list[str]]]) -> None:
        self.side = side
        self.words: dict[str, int] = {}  # the single words, numbered from 1
        self.phrase_words: dict[str, int] = {}
        # the entries of each phrase by the single word; a phrase may also be the beginning of others
        self.phrases: dict[tuple[int, ...], defaultdict[int, list[int]]] = {}
        for number, word, phrase in entries:
            single = self.words.setdefault(word, len(self.words) + 1)
            spelled = [self.phrase_words.setdefault(w, len(self.phrase_words) + 1) for w in phrase]
            for size in range(2, len(spelled) + 1):
                self.phrases.setdefault(tuple(spelled[:size]), defaultdict(list))
            self.phrases[tuple(spelled)][single].append(number)
        for entries_of_words in self.phrases.values():
            if sum(map(len, entries_of_words.values())) > MAX_PHRASE_TRANSLATIONS:
                entries_of_words.clear()
        # keys of the first two words of the phrases, sorted
        self.base = len(self.phrase_words) + 1
        self.first_words = np.unique([n * self.base + m for n, m, *_ in self.phrases]).astype(np.int64)

    def occurrences(self, words: Ints, phrase_words: Ints) -> Iterator[_Occurrence]:
        """Yield the occurrences in a bucket; the arrays are the numbers of its words, (S, B) and (T, B)."""
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
                            yield _Occurrence(entry, [(place, position, b) for place in places])
                        else:
                            yield _Occurrence(entry, [(position, place, b) for place in places])


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
            found = look_up(known, forms, 0)
            found[0] = 0  # the padding
            return found.astype(np.int32)[numbers]

        return encoded.memo((self, n, side), look_up_forms)

    def _occurrences(self, text: EncodedText, bucket: Bucket) -> Iterator[tuple[int, _Occurrence]]:
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
        found = {of_pair.entry for bucket in text.buckets for _, of_pair in self._occurrences(text, bucket)}
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
        # which target words (T, B) and which source words (S, B)
        has_link = np.asarray(is_linked.any(axis=1)), np.asarray(is_linked.any(axis=0))
        new: dict[tuple[int, int, int], Any] = {}
        for n, found in self._occurrences(text, bucket):
            linked = [cell for cell in found.cells if is_linked[cell]]
            if not linked:
                continue
            best = max(weights[cell] for cell in linked)
            for cell in found.cells:
                t, s, b = cell
                if not has_link[n][(t, b) if n == 0 else (s, b)]:
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
