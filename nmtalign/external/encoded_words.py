"""The vectors of any words by an encoder of words, as a part of an aligner over vectors.

Axes: N words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from nmtalign.arrays import Floats
from nmtalign.errors import DataError
from nmtalign.external.word_encoders import UNIVERSAL_ENCODER, WordEncoder, load_word_encoder
from nmtalign.scorers.given_vectors import VectorScorer
from nmtalign.scorers.scorer import Scorer
from nmtalign.state import State, Stored
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings, SubwordVectors, unit_rows

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
