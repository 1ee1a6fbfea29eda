"""The external head: attention of another program, aligned in buckets like any other.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.decoding import Decoder
from nmtalign.aligner.extraction import Extraction
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.long_pairs import whole_pairs
from nmtalign.corpus.sides import encode_pairs
from nmtalign.corpus.text import EncodedText
from nmtalign.positions.model import Attended, Cells, TextScores

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class ExternalScores:
    """Attention weights of the pairs of a text.

    Attributes
    ----------
    text : EncodedText
    weights : sequence of arrays of shape (T, S)
        One for each sentence pair.
    """

    text: EncodedText
    weights: Sequence[Floats]

    @property
    def null_ratios(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """None are known."""
        return np.zeros(0, np.float32), np.zeros(0, np.float32)

    def prepare(self, *, ratios: bool) -> None:
        """Do nothing: weights are given."""

    def scores(self, k: int) -> Floats:
        """Return the weights of bucket k, shape (T, S, B), 0 outside of the sentences."""
        bucket = self.text.buckets[k]
        found = np.zeros(bucket.shape)
        for column in np.flatnonzero(bucket.pairs >= 0):
            own = self.weights[bucket.pairs[column]]
            found[: own.shape[0], : own.shape[1], column] = own
        return found

    def ratios(self, k: int) -> NDArray[np.float32]:
        """Refuse: weights are no likelihood ratios."""
        raise NotImplementedError

    def evidence(self, k: int, ratios: NDArray[np.float32]) -> NDArray[np.float32]:
        """Refuse: weights are no likelihood ratios."""
        raise NotImplementedError


@dataclass(frozen=True)
class AsGiven:
    """The position model of attention that is finished: weights stay as they are."""

    settings: str = "positions=given"
    has_null: bool = False

    def over(self, scores: TextScores) -> Callable[[int], Attended]:
        """Return a function that attends in the bucket of a number."""
        return lambda k: Attended(GivenPosteriors(scores.scores(k)), None)


@dataclass(frozen=True, eq=False)
class GivenPosteriors:
    """Attention that target words were seen to pay, shape (T, S, B).

    What a word paid to the end of the sentence is lost to it: rows of `forward` sum to at most 1.
    """

    forward: Floats

    @cached_property
    def reverse(self) -> Floats:
        """The weights with columns brought to the sum 1, shape (T, S, B)."""
        sums = self.forward.sum(axis=0)
        return np.asarray(self.forward / np.where(sums > 0, sums, 1))

    @cached_property
    def joint(self) -> Floats:
        """sqrt(p(s|t) p(t|s)), shape (T, S, B)."""
        return np.sqrt(self.forward * self.reverse)

    def ranking(self, method: str) -> Floats:
        """Return the weights for an argmax, else the joint weights."""
        return self.forward if method in ("argmax", "argmax-reverse", "mutual") else self.joint

    def probability(self, cells: Cells) -> Floats:
        """Return the joint weight of some cells."""
        return np.asarray(self.joint[cells])


def external_decoder(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]], weights: Sequence[Floats], extraction: Extraction
) -> Decoder:
    """Return what chooses links from the attention of other programs.

    Parameters
    ----------
    pairs : sequence of (source words, target words)
    weights : sequence of arrays of shape (T, S)
    extraction : Extraction

    Examples
    --------
    >>> decoder = external_decoder([(["a", "b"], ["c"])], [np.array([[0.9, 0.1]])], Extraction())
    >>> decoder.align(1).links(0)
    [Link(source=0, target=0)]
    """
    source, target = encode_pairs(pairs)
    text = EncodedText(source, target, whole_pairs(source, target), make_buckets(source, target))
    scores = ExternalScores(text, weights)
    return Decoder(scores, AsGiven().over(scores), extraction.resolved(null=False), null=False)
