"""The contextual head: likelihood ratios from the similarities of the tokens of one sentence pair.

    log r(t, s) = slope (log p(s|t) + log S + log p(t|s) + log T) / 2 + bias

where p(s|t) and p(t|s) are softmaxes of the similarities over each side at a fitted temperature. Another head
is mixed with it log-linearly:

    log r = ((1 - weight) log r_base + weight log r) / (weight² + (1 - weight)²)

The divisor is 1 for one head and 1/2 for two of one weight: each adds evidence of its own.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.contextual.encoder import EncoderSimilarities
from nmtalign.corpus.buckets import PADDED, Bucket
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText
from nmtalign.heads.dense import SCORE_LIMIT
from nmtalign.heads.head import TINY
from nmtalign.positions.model import SoftmaxPosteriors, TextScores
from nmtalign.text.tokenization import TextSettings

Floats = NDArray[np.float32]

NAME = "contextual"


class Calibration(NamedTuple):
    """What was fitted to a text: inverse temperature, slope and bias, and weight beside the other head."""

    scale: float
    slope: float
    bias: float
    weight: float


def exponents(weight: float) -> tuple[float, float]:
    """Return the exponents of the ratios of the other head and of the contextual one in their mixture.

    Examples
    --------
    >>> exponents(0.5), exponents(1.0)
    ((1.0, 1.0), (0.0, 1.0))
    """
    squares = weight**2 + (1 - weight) ** 2
    return (1 - weight) / squares, weight / squares


@dataclass(frozen=True)
class _Words:
    """The words that a head knows; an encoder alone knows all."""

    known: Container[str] | None
    text: TextSettings

    def __contains__(self, word: object) -> bool:
        return self.known is None or self.text.normalized([str(word)])[0] in self.known


@dataclass(frozen=True, eq=False)
class ContextualHead:
    """Similarities of tokens in their sentence pair, by themselves or mixed with another head."""

    source: EncoderSimilarities
    base: Any = None  # the other head: Mixture or EmbeddingHead
    text: TextSettings = field(default_factory=TextSettings)  # in which the words of `base` are looked up
    calibration: Calibration | None = None  # None before it is fitted

    @property
    def settings(self) -> str:
        """What makes the scores."""
        parts = [] if self.base is None else [self.base.settings]
        parts.append(self.source.settings)
        if self.calibration is not None:
            scale, slope, bias, weight = self.calibration
            parts.append(f"scale={scale:.4g} slope={slope:.3g} bias={bias:.3g} weight={weight:.3g}")
        return " ".join(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the heads."""
        return (NAME,) if self.base is None else (*self.base.names, NAME)

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]]:
        """The source and target words that are known, before normalisation."""
        known = (None, None) if self.base is None else self.base.vocabularies
        return _Words(known[0], self.text), _Words(known[1], self.text)

    def alone(self) -> ContextualHead:
        """Return the head without the other one."""
        calibration = self.calibration and self.calibration._replace(weight=1.0)
        return replace(self, base=None, calibration=calibration)

    def read(self, text: EncodedText) -> ContextualScores:
        """Ask for the similarities of a text."""
        pieces = sorted(k for bucket in text.buckets for k in bucket.pairs.tolist() if k >= 0)
        words = [(text.source.sentence(piece), text.target.sentence(piece)) for piece in pieces]
        found = dict(zip(pieces, self.source.of(words), strict=True))
        looked_up = replace(text, source=self._folded(text.source), target=self._folded(text.target))
        base = None if self.base is None else self.base.read(looked_up)
        return ContextualScores(looked_up, found, base, self.calibration)

    def _folded(self, side: EncodedSide) -> EncodedSide:
        """Return a side with its words as they are looked up."""
        return replace(side, words=["", *self.text.normalized(side.words[1:])])


@dataclass(frozen=True, eq=False)
class ContextualScores:
    """Scores of a text: similarities (T, S) by number of the piece, and the scores of the other head."""

    text: EncodedText
    found: Mapping[int, Floats]
    base: TextScores | None
    calibration: Calibration | None

    def similarities(self, k: int) -> Floats:
        """Return the similarities of bucket k, shape (T, S, B), `PADDED` outside of the sentences."""
        bucket = self.text.buckets[k]
        stacked = np.full(bucket.shape, PADDED, np.float32)
        for column in np.flatnonzero(bucket.pairs >= 0):
            own = self.found[int(bucket.pairs[column])]
            stacked[: own.shape[0], : own.shape[1], column] = own
        return stacked

    def softmax_ratios(self, k: int, scale: float) -> Floats:
        """Return log r of slope 1, without bias, shape (T, S, B); 0 outside of the sentences."""
        bucket = self.text.buckets[k]
        joint = SoftmaxPosteriors(self.similarities(k) * np.float32(scale), bucket.inside).log_joint
        shift = np.log(np.maximum(bucket.source_lengths * bucket.target_lengths, 1)) / 2
        return np.where(bucket.inside, joint + shift.astype(np.float32), 0)

    def log_ratios(self, k: int, calibration: Calibration) -> Floats:
        """Return the mixed log ratios of bucket k, shape (T, S, B)."""
        scale, slope, bias, weight = calibration
        of_base, own = exponents(weight)
        found = self.softmax_ratios(k, scale) * np.float32(slope * own) + np.float32(bias * own)
        if self.base is not None and weight < 1:
            found += np.float32(of_base) * np.log(np.maximum(self.base.ratios(k), TINY))
        return np.clip(found, -SCORE_LIMIT, SCORE_LIMIT, out=found)

    def nulls(self, weight: float) -> tuple[Floats, Floats]:
        """Return the likelihood ratios of the words under null; to the contextual head they are 1."""
        if self.base is None:
            first, second = (
                np.ones(len(side.words), np.float32) for side in (self.text.source, self.text.target)
            )
        else:
            first, second = (own ** np.float32(exponents(weight)[0]) for own in self.base.null_ratios)
        return first, second

    @property
    def _fitted(self) -> Calibration:
        assert self.calibration is not None
        return self.calibration

    @property
    def null_ratios(self) -> tuple[Floats, Floats]:
        """Likelihood ratio of each source and each target word under the null word."""
        return self.nulls(self._fitted.weight)

    def prepare(self, *, ratios: bool) -> None:
        """Compute what all buckets share."""
        if self.base is not None:
            self.base.prepare(ratios=ratios)

    def scores(self, k: int) -> Floats:
        """Return the log ratios of bucket k, shape (T, S, B), `PADDED` outside of the sentences."""
        return np.where(self.text.buckets[k].inside, self.log_ratios(k, self._fitted), PADDED)

    def ratios(self, k: int) -> Floats:
        """Return the likelihood ratios of bucket k to chance, shape (T, S, B), 0 outside of the sentences."""
        return self.likelihoods(k, self._fitted)

    def likelihoods(self, k: int, calibration: Calibration) -> Floats:
        """Return :meth:`ratios` under some calibration."""
        bucket: Bucket = self.text.buckets[k]
        return np.asarray(np.exp(self.log_ratios(k, calibration)) * bucket.inside)

    def informed(self, k: int, ratios: Floats | None) -> NDArray[np.bool_]:
        """Tell which pairs of bucket k have words that are known: all."""
        return np.ones(len(self.text.buckets[k].pairs), dtype=bool)

    def evidence(self, k: int, ratios: Floats) -> Floats:
        """Return the evidence of each cell that its pair is parallel, shape (T, S, B)."""
        own = np.log(np.maximum(ratios, np.float32(1)))
        weight = np.float32(self._fitted.weight)
        if self.base is None or weight == 1:
            return np.asarray(own)
        return np.asarray(weight * own + (1 - weight) * self.base.evidence(k, ratios))
