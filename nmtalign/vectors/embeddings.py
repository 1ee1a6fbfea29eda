"""Word vectors of one language: a vocabulary, a matrix, and what happens to unknown words.

Axes: V rows of the matrix, D dimensions, N words asked for.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtalign.arrays import as_real_array, in_word_order
from nmtalign.display import short_repr, with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.names import UNKNOWN_POLICIES
from nmtalign.state import State, Stored
from nmtalign.text.subwords import SPACE_MARK
from nmtalign.text.tokenization import TextSettings
from nmtalign.validation import check_choice, check_number, check_type
from nmtalign.vectors.subword_vectors import CharacterNgrams, SubwordVectors

_MIN_PREFIX_LETTERS = 4  # shorter prefixes say little about the meaning of a word
_MAX_COMPARED_LETTERS = 1_000
_LAST_CHARACTER = chr(0x10FFFF)  # follows all letters in alphabetical order


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


@dataclass(frozen=True)
class VectorCoverage:
    """How many of the `total` words asked for have a vector of their own. Counts add up."""

    total: int = 0
    known: int = 0  # words with a row of their own
    composed: int = 0  # unknown words that the policy gave a vector

    def __add__(self, other: VectorCoverage) -> VectorCoverage:
        return VectorCoverage(
            total=self.total + other.total,
            known=self.known + other.known,
            composed=self.composed + other.composed,
        )

    @property
    def rate(self) -> float:
        """Share of words with a vector of their own; 1.0 when no word was asked for."""
        return self.known / self.total if self.total else 1.0

    def __str__(self) -> str:
        text = f"{self.known:,} of {self.total:,} words ({100 * self.rate:.1f} %) have a vector of their own"
        return f"{text}, {self.composed:,} more by sub-words or back-off" if self.composed else text


def _as_stored(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a matrix row after row, in the byte order of this machine, of at most double precision."""
    native = matrix.dtype.newbyteorder("=")
    return np.ascontiguousarray(matrix, native if native.itemsize <= 8 else np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings:
    """Word vectors of one language, made by :func:`nmtalign.load_embeddings` or :meth:`from_gensim`.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words, each with its row of the matrix.
    matrix : array of shape (V, D)
        One vector for each row, floating point; may be memory-mapped.
    subwords : SubwordVectors, optional
        Sub-word vectors, from which the vectors of unknown words are composed; a static model composes all
        of its words.
    unknown : {"zero", "subword", "backoff"}
        What an unknown word gets. ``zero``: the zero vector. ``subword``: a composition of its pieces.
        ``backoff``: the vector of the known word that differs only in case or accents; else the mean of
        the known words that share its longest prefix of at least 4 letters; else a unit direction computed
        from its spelling, so that a name or number written alike in two languages still meets itself.
    settings : mapping, optional
        Settings with which the vectors were made; only nmtalign's own format ``folder`` stores them.

    Raises
    ------
    DataError
        If the matrix is not two-dimensional floating point or has too few rows for the vocabulary.
    UsageError
        If the policy has another name, or asks for sub-words that are not there.

    Examples
    --------
    >>> import nmtalign as na
    >>> english = na.load_embeddings(na.resolve_path("en_fr_vectors") / "embeddings_en.npz", limit=1000)
    >>> english
    Embeddings of 1,000 words, 128 dimensions
    >>> english.vectors(["house", "no-word"]).any(axis=1).tolist()
    [True, False]
    """

    vocabulary: Vocabulary
    matrix: NDArray[Any]
    subwords: SubwordVectors | None = None
    unknown: str = "zero"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_type(self.vocabulary, Vocabulary, "a vocabulary; Embeddings.of(words, matrix) makes one")
        check_type(self.matrix, np.ndarray, "an array of vectors")
        check_type(self.subwords, (SubwordVectors, type(None)), "vectors of sub-words")
        check_type(self.settings, Mapping, "settings as a dictionary")
        is_matrix = self.matrix.ndim == 2 and self.matrix.dtype.kind == "f"
        if not is_matrix or not self.matrix.shape[1]:
            given = f"{self.matrix.dtype} of shape {self.matrix.shape}"
            raise DataError(f"expected a floating-point matrix of shape (V, D), found {given}")
        if self.vocabulary.size > len(self.matrix):
            needed = self.vocabulary.size
            raise DataError(f"the vocabulary needs {needed} rows, the matrix has {len(self.matrix)}")
        check_choice(self.unknown, UNKNOWN_POLICIES, "policies for unknown words")
        if self.unknown == "subword" and self.subwords is None:
            raise UsageError("these vectors have no sub-words; choose 'zero' or 'backoff' for unknown words")

    def __repr__(self) -> str:
        if self.are_static:
            return f"Embeddings of all words, {self.dimension} dimensions, {self.subwords}"
        pieces = "" if self.subwords is None else f", {len(self.subwords.matrix):,} vectors of sub-words"
        return f"Embeddings of {len(self):,} words, {self.dimension} dimensions{pieces}"

    @property
    def are_static(self) -> bool:
        """Whether these are the vectors of a static model, which composes all words of sub-words."""
        return self.subwords is not None and self.subwords.are_own

    @classmethod
    def of(
        cls,
        words: Mapping[str, Any] | Sequence[str] | NDArray[np.str_] | Any,
        matrix: ArrayLike | None = None,
    ) -> Embeddings:
        """Return the rows of a matrix as the vectors of words.

        Parameters
        ----------
        words : mapping of str to int, or sequence or array of str
            The row of each word (``word2int``), or the words in the order of the rows. Without `matrix`: a
            mapping from each word to its vector, or a DataFrame of numbers whose index are the words.
        matrix : array of shape (V, D), optional

        Raises
        ------
        UsageError
            If the words are anything else.
        DataError
            If a list of words and the matrix have different lengths.

        Examples
        --------
        >>> Embeddings.of({"cat": 1, "dog": 0}, np.eye(2)).vectors(["cat"]).tolist()
        [[0.0, 1.0]]
        >>> Embeddings.of({"cat": [0.0, 1.0], "dog": [1.0, 0.0]}).vectors(["cat"]).tolist()
        [[0.0, 1.0]]
        """
        if matrix is None:
            words, matrix = _words_and_matrix(words)
        if hasattr(words, "tolist"):
            words = words.tolist()
        listed = isinstance(words, Mapping | Sequence) and not isinstance(words, str)
        if not listed or any(isinstance(word, list) for word in words):
            raise UsageError(
                f"expected a dictionary word -> row, or a list of words, found {short_repr(words)}"
            )
        if isinstance(words, Mapping):
            known = Vocabulary(cast("Mapping[str, int]", words))
        else:
            known = Vocabulary.from_words(words)
        rows = sorted(words, key=words.__getitem__) if isinstance(words, Mapping) else list(words)
        numbers = as_real_array(in_word_order(matrix, rows), "a matrix of shape (V, D)")
        if not isinstance(words, Mapping) and numbers.shape[:1] != (len(words),):
            expected = f"expected a row of the matrix for each of {with_plural(len(words), 'word')}"
            advice = "pass a dictionary word -> row if some rows have no word"
            raise DataError(f"{expected}, found shape {numbers.shape}; {advice}")
        if numbers.dtype.kind in "iu":
            numbers = numbers.astype(np.float64)
        return cls(known, numbers)

    @classmethod
    def of_static_model(cls, subwords: SubwordVectors) -> Embeddings:
        """Return the vectors of all words, which a static model composes of sub-words."""
        return cls(Vocabulary.from_words(()), np.zeros((0, subwords.matrix.shape[1]), np.float32), subwords)

    @classmethod
    def from_gensim(cls, vectors: Any) -> Embeddings:
        """Return the word vectors of gensim's KeyedVectors, or of a model that has them, with its sub-words.

        Parameters
        ----------
        vectors : gensim.models.KeyedVectors, Word2Vec or FastText

        Examples
        --------
        >>> cats = Embeddings(Vocabulary.from_words(["cat", "dog"]), np.eye(2, dtype=np.float32))
        >>> Embeddings.from_gensim(cats.to_gensim())
        Embeddings of 2 words, 2 dimensions
        """
        keyed_vectors = getattr(vectors, "wv", vectors)
        if not hasattr(keyed_vectors, "index_to_key"):
            expected = "expected gensim's KeyedVectors, or a model that has them"
            raise UsageError(f"{expected}, found {short_repr(vectors)}")
        # behind the last word gensim leaves a place of None for each word that a file had twice
        words = keyed_vectors.index_to_key[: len(keyed_vectors.key_to_index)]
        wrong = [word for word in words if not isinstance(word, str)]
        if wrong:
            raise DataError(f"expected words as keys of the vectors, found {short_repr(wrong[0])}")
        subwords = None
        if hasattr(keyed_vectors, "vectors_ngrams"):
            ngrams = keyed_vectors.vectors_ngrams
            subwords = CharacterNgrams(ngrams, keyed_vectors.min_n, keyed_vectors.max_n)
        matrix = np.asarray(keyed_vectors.vectors)[: len(words)]
        return cls(Vocabulary.from_words(words), matrix, subwords)

    def to_gensim(self) -> Any:
        """Return the words and their vectors as gensim's KeyedVectors; vectors of sub-words are omitted."""
        from gensim.models import KeyedVectors

        whole = self.compact()
        vectors = KeyedVectors(self.dimension, dtype=whole.matrix.dtype)
        vectors.add_vectors(list(whole.vocabulary.words), np.asarray(whole.matrix))
        return vectors

    def state(self) -> State:
        """Return words and vectors; rows that no word has are omitted."""
        whole = self.compact()
        large = {"vectors": _as_stored(whole.matrix)}
        lengths = None
        parts = {}
        if isinstance(whole.subwords, CharacterNgrams):
            large["subwords"] = _as_stored(whole.subwords.matrix)
            lengths = [whole.subwords.shortest, whole.subwords.longest]
        elif whole.subwords is not None:
            parts["subwords"] = whole.subwords.state()
        values = {"unknown": self.unknown, "subwords": lengths, "settings": dict(self.settings)}
        words = {"vocab": whole.vocabulary.words}
        return State("embeddings", values, large=large, words=words, parts=parts)

    @classmethod
    def from_state(cls, stored: Stored) -> Embeddings:
        """Return the embeddings that have a state of :meth:`state`."""
        words = Vocabulary.from_words(stored.words("vocab"))
        matrix = stored.large("vectors", "v", (len(words), None))
        pieces: SubwordVectors | None = None
        if stored.parts():
            pieces = stored.open("subwords", matrix.shape[1])
        elif stored.value("subwords", object) is not None:
            table = stored.large("subwords", "v", (None, matrix.shape[1]))
            pieces = CharacterNgrams(table, *stored.value("subwords", list))
        return cls(words, matrix, pieces, stored.text("unknown"), stored.value("settings", dict))

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def dimension(self) -> int:
        """Length D of a vector."""
        return int(self.matrix.shape[1])

    def with_unknown(self, policy: str) -> Embeddings:
        """Return the same vectors with another choice of `unknown`."""
        return replace(self, unknown=policy)

    def with_back_off(self) -> Embeddings:
        """Return the same vectors with vectors for unknown words, if these have none: of sub-words if any."""
        if self.unknown != "zero":
            return self
        composes = self.subwords is not None and not self.are_static
        return self.with_unknown("subword" if composes else "backoff")

    def first(self, count: int) -> Embeddings:
        """Return the first words only (usually the most frequent ones)."""
        check_number(count, "a number of words, 0 or more", minimum=0, integer=True)
        return self if count >= len(self) else self._with_words(self.vocabulary.words[:count])

    def without_prefix(self, prefix: str) -> Embeddings:
        """Return the words that begin with a prefix, without it; DataError if there is none."""
        words = [word for word in self.vocabulary.words if word.startswith(prefix)]
        if not words:
            raise DataError(f"expected words that begin with {prefix!r}, found none")
        whole = self._with_words(words)
        return replace(whole, vocabulary=Vocabulary.from_words([word.removeprefix(prefix) for word in words]))

    def compact(self) -> Embeddings:
        """Return the same words with row n for the n-th word, without rows that no word has."""
        words = self.vocabulary.words
        return self if len(words) == len(self.matrix) else self._with_words(words)

    def _with_words(self, words: list[str]) -> Embeddings:
        rows = self.vocabulary.rows(words)
        return replace(self, vocabulary=Vocabulary.from_words(words), matrix=self.matrix[rows])

    def vectors(self, words: Sequence[str]) -> NDArray[np.floating]:
        """Return the vector of each word; `unknown` says what a word without one gets.

        Parameters
        ----------
        words : sequence of str
            N words, spelled as in the vocabulary: most vocabularies are lower-cased.

        Returns
        -------
        array of shape (N, D)
            float32 or wider; the rows of equal words are exactly equal.
        """
        _check_words(words)
        rows = self.vocabulary.rows(words)
        dtype = np.result_type(self.matrix.dtype, np.float32)
        result = np.zeros((len(rows), self.dimension), dtype)  # (N, D)
        result[rows >= 0] = self.matrix[rows[rows >= 0]]
        missing = np.flatnonzero(rows < 0).tolist()
        composes = self.are_static or self.unknown == "subword"
        if missing and self.subwords is not None and composes:
            result[missing] = self.subwords.vectors([words[n] for n in missing])
            missing = [n for n in missing if not result[n].any()]
        if missing and self.unknown == "backoff":
            result[missing] = [self._back_off(words[n]) for n in missing]
        return result

    def forms(self, words: Sequence[str], text_settings: TextSettings) -> list[str]:
        """Return the form in which each word is looked up: a word of the vocabulary, if any fits.

        The word itself is preferred, then the word in the case and Unicode form of `text_settings`, then the
        first word of the vocabulary that has the same case and Unicode form, then the sentencepiece piece
        that is the whole word, such as ``▁the`` for *the*. A word that none of these finds is returned in
        that form.

        Parameters
        ----------
        words : sequence of str
            N words as they stand in a text.
        text_settings : TextSettings
            Whether case counts, and in which Unicode form words are compared.

        Returns
        -------
        list of str
            N words.

        Examples
        --------
        >>> cities = Embeddings.of(["Paris", "polish", "Polish"], np.eye(3))
        >>> cities.forms(["paris", "Polish", "POLISH", "Rome"], TextSettings())
        ['Paris', 'Polish', 'polish', 'rome']
        """
        _check_words(words)
        forms = list(words)
        own_words = self.own_words if self.are_static else self.vocabulary
        missing = [n for n, word in enumerate(words) if word not in own_words]
        normalized = text_settings.normalized([words[n] for n in missing])
        unfolded = self._unfolded(text_settings) if missing else {}
        for n, word in zip(missing, normalized, strict=True):
            piece = f"{SPACE_MARK}{word}"
            if word in self.vocabulary:
                forms[n] = word
            elif word not in unfolded and piece in self.vocabulary:
                forms[n] = piece
            else:
                forms[n] = unfolded.get(word, word)
        return forms

    def _unfolded(self, text_settings: TextSettings) -> dict[str, str]:
        """Return the first word of the vocabulary that has each form, without forms that are words."""
        key = text_settings.lowercase, text_settings.unicode
        if key not in self._known_forms:
            words = self.vocabulary.words
            first_words: dict[str, str] = {}
            for word, form in zip(words, text_settings.normalized(words), strict=True):
                if form != word and form not in self.vocabulary:
                    first_words.setdefault(form, word)
            self._known_forms[key] = first_words
        return self._known_forms[key]

    @cached_property
    def _known_forms(self) -> dict[tuple[bool, str], dict[str, str]]:
        """What :meth:`_unfolded` has found, by case and Unicode form."""
        return {}

    @property
    def own_words(self) -> Container[str]:
        """The words that have a vector of their own, which is not zero."""
        if self.subwords is not None and self.subwords.are_own:
            return self.subwords
        return OwnWords(self)

    @cached_property
    def zero_words(self) -> frozenset[str]:
        """The words whose vector is zero, which says nothing."""
        words = self.vocabulary.words
        row_is_zero = ~np.any(self.matrix, axis=1)
        word_is_zero = row_is_zero[self.vocabulary.rows(words)]
        numbers = np.flatnonzero(word_is_zero).tolist()
        return frozenset(words[n] for n in numbers)

    def coverage(self, words: Sequence[str]) -> VectorCoverage:
        """Count how many words have a vector of their own, and how many `unknown` gives one."""
        _check_words(words)
        own = self.own_words
        missing = [word for word in words if word not in own]
        composed = int(self.vectors(missing).any(axis=1).sum())
        return VectorCoverage(len(words), len(words) - len(missing), composed)

    def _back_off(self, word: str) -> NDArray[np.floating]:
        """Return the vector of an unknown word under the policy ``backoff``, shape (D,)."""
        rows = self._relatives(fold(word))
        if not rows:
            return np.asarray(self._typical_length * spelling_direction(word, self.dimension))
        precision = np.result_type(self.matrix.dtype, np.float32)
        vectors = np.asarray(self.matrix[rows], dtype=precision)  # (rows, D)
        return np.asarray(vectors.mean(axis=0))

    def _relatives(self, folded: str) -> list[int]:
        """Return the rows of the known words spelled alike, else of those that share the longest prefix."""
        spellings, rows = self._sorted_spellings
        alike = rows[bisect_left(spellings, folded) : bisect_right(spellings, folded)]
        has_digit = any(map(str.isdigit, folded))  # numbers that begin alike have nothing in common
        if alike or has_digit:
            return alike
        for length in range(len(folded), _MIN_PREFIX_LETTERS - 1, -1):
            prefix = folded[:length]
            start = bisect_left(spellings, prefix)
            stop = bisect_left(spellings, prefix + _LAST_CHARACTER)
            if start < stop:
                return rows[start:stop]
        return []

    @cached_property
    def _sorted_spellings(self) -> tuple[list[str], list[int]]:
        """The folded words in alphabetical order and their rows."""
        words = self.vocabulary.words
        rows = self.vocabulary.rows(words).tolist()
        pairs = sorted(zip(map(fold, words), rows, strict=True))
        return [spelling for spelling, _ in pairs], [row for _, row in pairs]

    @cached_property
    def _typical_length(self) -> float:
        rows = np.asarray(self.matrix[:10_000], dtype=np.float32)
        return float(np.linalg.norm(rows, axis=1).mean()) if len(rows) else 1.0


@dataclass(frozen=True)
class OwnWords:
    """The words of embeddings whose vector is not zero."""

    embeddings: Embeddings

    def __contains__(self, word: object) -> bool:
        return word in self.embeddings.vocabulary and word not in self.embeddings.zero_words

    def __len__(self) -> int:
        return len(self.embeddings) - len(self.embeddings.zero_words)


def fold(word: str) -> str:
    """Return the word in lower case and without accents."""
    decomposed = unicodedata.normalize("NFD", word[:_MAX_COMPARED_LETTERS].casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def spelling_direction(word: str, dimension: int) -> NDArray[np.float32]:
    """Return a unit vector, shape (D,), of hash bits of the folded spelling: the same on every machine."""
    spelling = fold(word).encode("utf-8", "surrogatepass")
    digest = hashlib.shake_256(spelling).digest(math.ceil(dimension / 8))
    bits = np.unpackbits(np.frombuffer(digest, np.uint8))[:dimension]
    signs = 2.0 * bits - 1.0
    return np.asarray(signs / np.sqrt(dimension), np.float32)


def _words_and_matrix(vectors: Any) -> tuple[list[Any], Any]:
    """Return the words, and the matrix of their vectors, of a DataFrame or a dictionary of vectors."""
    if is_word_frame(vectors):
        words = vectors.index.tolist()
        wrong = [word for word in words if not isinstance(word, str)]
        if wrong:
            expected = "expected a DataFrame whose index are the words"
            raise UsageError(f"{expected}, found {short_repr(wrong[0])}; set_index(column) makes it so")
        return words, vectors.to_numpy()
    if isinstance(vectors, Mapping):
        rows = list(vectors.values())
        lengths = {np.shape(row) for row in rows}
        if len(lengths) == 1 and len(lengths.pop()) == 1:
            return list(vectors), np.array(rows)
    raise UsageError(
        "expected words with their matrix, a dictionary word -> vector with vectors of the same dimension,"
        f" or a DataFrame indexed by words; found {short_repr(vectors)}"
    )


def is_word_frame(vectors: Any) -> bool:
    """Return whether an object is a DataFrame with an index, as those of pandas."""
    return hasattr(vectors, "to_numpy") and hasattr(vectors, "index") and hasattr(vectors, "columns")


def _check_words(words: Any) -> None:
    if isinstance(words, str) or not isinstance(words, Collection):
        raise UsageError(f"expected a list of words, found {short_repr(words)}")
    for word in words:
        if not isinstance(word, str):
            raise UsageError(f"expected words, found {short_repr(word)}")
