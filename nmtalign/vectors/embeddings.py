"""Word vectors of one language: a vocabulary, a matrix, and what happens to unknown words.

Axes: V rows of the matrix, D dimensions, N words asked for.
"""

from __future__ import annotations

import hashlib
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError, UsageError
from nmtalign.text.vocabulary import Vocabulary

UNKNOWN_POLICIES = ("zero", "subword", "backoff")
SHORTEST_PREFIX = 4  # letters; shorter ones say little about a word's meaning


class Subwords(Protocol):
    """Anything that composes vectors of words from their pieces."""

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector for each word, shape (N, D); zeros for a word that has no known piece."""
        ...


@dataclass(frozen=True)
class Coverage:
    """How many of the words asked for have a vector of their own. Counts add up.

    Attributes
    ----------
    total : int
        Words asked for.
    known : int
        Those with a row of their own.
    composed : int
        Unknown ones that the policy gave a vector other than zero.

    Examples
    --------
    >>> print(Coverage(total=8, known=6, composed=1) + Coverage(total=2, known=2))
    8 of 10 words (80.0 %) have a vector of their own, 1 more by sub-words or back-off
    """

    total: int = 0
    known: int = 0
    composed: int = 0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(self.total + other.total, self.known + other.known, self.composed + other.composed)

    @property
    def rate(self) -> float:
        """Share of words with a vector of their own; 1.0 when no word was asked for."""
        return self.known / self.total if self.total else 1.0

    def __str__(self) -> str:
        text = f"{self.known:,} of {self.total:,} words ({100 * self.rate:.1f} %) have a vector of their own"
        return f"{text}, {self.composed:,} more by sub-words or back-off" if self.composed else text


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Word vectors of one language.

    Parameters
    ----------
    vocabulary : Vocabulary
        Row of each word.
    matrix : array of shape (V, D)
        One vector for each row, floating point; may be memory-mapped.
    subwords : Subwords, optional
        Composes vectors of unknown words from their pieces.
    unknown : {"zero", "subword", "backoff"}
        What an unknown word gets. ``zero``: the zero vector. ``subword``: a composition of its pieces.
        ``backoff``: the vector of the known word that differs only in case or accents; else the mean of
        the known words that share its longest prefix of at least 4 letters; else a unit direction computed
        from its spelling, so that a name or number written alike in two languages still meets itself.
    settings : mapping, optional
        What made the vectors; kept with them by the own format.

    Raises
    ------
    DataError
        If the matrix is not two-dimensional floating point or has too few rows for the vocabulary.
    UsageError
        If the policy has another name, or asks for sub-words that are not there.

    Examples
    --------
    >>> import numpy as np
    >>> cats = Embeddings(Vocabulary.from_words(["cat", "dog"]), np.eye(2, 3))
    >>> cats.vectors(["dog", "zebra"]).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """

    vocabulary: Vocabulary
    matrix: NDArray[Any]
    subwords: Subwords | None = None
    unknown: str = "zero"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.dtype.kind != "f":
            found = f"{self.matrix.dtype} of shape {self.matrix.shape}"
            raise DataError(f"expected a floating-point matrix of shape (V, D), found {found}")
        if self.vocabulary.size > len(self.matrix):
            raise DataError(
                f"the vocabulary needs {self.vocabulary.size} rows, the matrix has {len(self.matrix)}"
            )
        if self.unknown not in UNKNOWN_POLICIES:
            raise UsageError(f"unknown words: expected one of {UNKNOWN_POLICIES}, found {self.unknown!r}")
        if self.unknown == "subword" and self.subwords is None:
            raise UsageError("these vectors have no sub-words; choose 'zero' or 'backoff' for unknown words")

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def dimension(self) -> int:
        """Length D of a vector."""
        return int(self.matrix.shape[1])

    def with_unknown(self, policy: str) -> Embeddings:
        """Return the same vectors under another policy for unknown words."""
        return replace(self, unknown=policy)

    def first(self, count: int) -> Embeddings:
        """Return the first words only (usually the most frequent ones)."""
        if count >= len(self):
            return self
        words = self.vocabulary.words[:count]
        rows = self.vocabulary.rows(words)
        return replace(self, vocabulary=Vocabulary.from_words(words), matrix=self.matrix[rows])

    def compact(self) -> Embeddings:
        """Return the same words with row n for the n-th word, without rows that no word has."""
        rows = self.vocabulary.rows(self.vocabulary.words)
        if np.array_equal(rows, np.arange(len(self.matrix))):
            return self
        words = Vocabulary.from_words(self.vocabulary.words)
        return replace(self, vocabulary=words, matrix=self.matrix[rows])

    def vectors(self, words: Sequence[str]) -> NDArray[np.floating]:
        """Return the vector of each word under the policy for unknown words.

        Parameters
        ----------
        words : sequence of str
            N words, normalised as the vocabulary is.

        Returns
        -------
        array of shape (N, D)
            float32 or wider; the rows of equal words are exactly equal.
        """
        rows = self.vocabulary.rows(words)
        dtype = np.result_type(self.matrix.dtype, np.float32)
        result = np.zeros((len(rows), self.dimension), dtype)  # (N, D)
        known = rows >= 0
        result[known] = self.matrix[rows[known]]
        missing = np.flatnonzero(~known)
        if len(missing) and self.unknown != "zero":
            result[missing] = self._compose([words[int(n)] for n in missing])
        return result

    def coverage(self, words: Sequence[str]) -> Coverage:
        """Count how many of the words have a vector of their own, or get one by the policy."""
        missing = [word for word in words if word not in self.vocabulary]
        composed = 0
        if missing and self.unknown != "zero":
            composed = int(self._compose(missing).any(axis=1).sum())
        return Coverage(len(words), len(words) - len(missing), composed)

    def normalized(self) -> Embeddings:
        """Return the vectors at unit length (zero rows stay zero), in float32 or wider, without sub-words."""
        policy = "zero" if self.unknown == "subword" else self.unknown
        return Embeddings(self.vocabulary, unit_rows(self.matrix), unknown=policy, settings=self.settings)

    def _compose(self, words: Sequence[str]) -> NDArray[np.floating]:
        if self.unknown == "subword" and self.subwords is not None:
            return self.subwords.vectors(words)
        return np.stack([self._back_off(word) for word in words])

    def _back_off(self, word: str) -> NDArray[np.floating]:
        """Mean vector of the word's spelling variants, else of its prefix family; else from its spelling."""
        rows = self._relatives(fold(word))
        if len(rows):
            mean: NDArray[np.floating] = np.asarray(self.matrix[rows], dtype=np.float32).mean(axis=0)
            return mean
        direction: NDArray[np.floating] = self._typical_length * spelling_direction(word, self.dimension)
        return direction

    def _relatives(self, folded: str) -> list[int]:
        """Rows of the known words spelled alike, else of those that share the longest prefix."""
        spellings, rows = self._sorted_spellings
        place = bisect_left(spellings, folded)
        stop = bisect_right(spellings, folded)
        if place < stop:
            return rows[place:stop]
        neighbours = spellings[max(place - 1, 0) : place + 1]
        prefix = max((common_prefix(folded, word) for word in neighbours), key=len, default="")
        if len(prefix) < SHORTEST_PREFIX or any(map(str.isdigit, folded)):
            return []
        return rows[bisect_left(spellings, prefix) : bisect_left(spellings, prefix + chr(0x10FFFF))]

    @cached_property
    def _sorted_spellings(self) -> tuple[list[str], list[int]]:
        """The folded words in alphabetical order and their rows."""
        pairs = sorted((fold(word), row) for word, row in self.vocabulary.as_word2int().items())
        return [spelling for spelling, _ in pairs], [row for _, row in pairs]

    @cached_property
    def _typical_length(self) -> float:
        rows = np.asarray(self.matrix[:10_000], dtype=np.float32)
        return float(np.linalg.norm(rows, axis=1).mean()) if len(rows) else 1.0


def fold(word: str) -> str:
    """Return the word in lower case and without accents.

    >>> fold("Évêque")
    'eveque'
    """
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def common_prefix(first: str, second: str) -> str:
    """Return the longest beginning that two words share.

    >>> common_prefix("running", "runner")
    'runn'
    """
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    return first[:alike]


def spelling_direction(word: str, dimension: int) -> NDArray[np.float32]:
    """Return a unit vector, shape (D,), of hash bits of the folded spelling: the same on every machine."""
    digest = hashlib.shake_256(fold(word).encode("utf-8", "surrogatepass")).digest(-(-dimension // 8))
    bits = np.unpackbits(np.frombuffer(digest, np.uint8))[:dimension]
    unit: NDArray[np.float32] = ((2.0 * bits - 1.0) / np.sqrt(dimension)).astype(np.float32)
    return unit


def unit_rows(matrix: NDArray[Any]) -> NDArray[np.floating]:
    """Return the rows at unit length in float32 or wider; a zero row stays zero, shape (V, D)."""
    wide = np.asarray(matrix, dtype=np.result_type(matrix.dtype, np.float32))
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)  # (V, 1)
    result: NDArray[np.floating] = wide / np.where(lengths > 0, lengths, 1)
    return result
