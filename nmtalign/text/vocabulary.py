"""Vocabulary: words and their rows in a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from nmtalign.display import short_repr
from nmtalign.errors import DataError


class Vocabulary:
    """The words of one language, ordered by their rows, which are unique; old files may omit rows.

    A matrix must have `size` rows for them all: the highest row plus one.

    >>> vocabulary = Vocabulary.from_words(["the", "cat"])
    >>> vocabulary.rows(["cat", "dog"]).tolist()
    [1, -1]
    """

    __slots__ = ("_rows", "size", "words")

    def __init__(self, word2int: Mapping[str, int]) -> None:
        self._rows = {word: _check_vocabulary_row(word, row) for word, row in word2int.items()}
        self.words = sorted(self._rows, key=self._rows.__getitem__)
        self.size = self._rows[self.words[-1]] + 1 if self.words else 0
        for first, second in zip(self.words, self.words[1:], strict=False):
            if self._rows[first] == self._rows[second]:
                raise DataError(f"the words {first!r} and {second!r} share row {self._rows[first]}")

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Vocabulary:
        """Return the vocabulary whose n-th word has row n; a repeated word is an error."""
        rows: dict[str, int] = {}
        for row, word in enumerate(words):
            if rows.setdefault(word, row) != row:
                raise DataError(f"the word {word!r} is in row {rows[word]} and again in row {row}")
        return cls(rows)

    def rows(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the row of each word, -1 for an unknown one, shape (N,)."""
        return np.fromiter(map(self._rows.get, words, repeat(-1)), dtype=np.int32)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"


def _check_vocabulary_row(word: object, row: object) -> int:
    if not isinstance(word, str):
        raise DataError(f"expected words as text, found {type(word).__name__} {short_repr(word)}")
    if isinstance(row, bool) or not isinstance(row, (int, np.integer)):
        raise DataError(f"expected an integer as the row of {word!r}, found {short_repr(row)}")
    if not 0 <= row < 2**31:
        raise DataError(f"the row of {word!r} is {row}; rows count from 0 to 2^31 - 1")
    return int(row)
