"""Calibrated probabilities: how often links of some posterior are right.

The evidence ℓ of a link is the log likelihood ratio r' of its words, counted without one of their links, so
that no pair is evidence for itself. The size of the training text is

    m = log10 of its source words / 10,000, from MIN_TRAINING_WORDS to MAX_TRAINING_WORDS words

A model that aligns the text it was learned from has counted each link that it judges, and so
believes its links too much; on other text its posteriors are right as they are. Nearly every pair of other
text has a word that the training text lacks. So where all words of a pair are in the training text,

    logit q = α0 + α1 logit p + α2 ℓ + α3 m + b          probability = min(p, q)

with the posterior p of the link, after the votes of an expert, if there is one. Elsewhere the probability is
p. ``scripts/calibration.py`` fits the coefficients α. Where gold links teach a model, they also give b:
it moves the sum of the probabilities of the links of the gold pairs towards the number of right ones.

The score of a sentence pair is another probability, see `nmtalign.decoding.pair_scores`.

Axes: B pairs of a bucket, L links, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Longs, Reals
from nmtalign.corpus.buckets import Bucket

LINK_COEFFICIENTS = -0.7, 0.29, 0.62, 0.54  # α0 to α3
MAX_GOLD_LOG_ODDS = 3.0  # |b| is at most this
BISECTION_STEPS = 30  # they halve the interval of b
MIN_PROBABILITY = 1e-6  # probabilities are at least this, and at most 1 minus this
PSEUDO_LINKS_PER_LOG_ODDS = 10  # keep few gold links from changing b much
# the sizes of the training texts to which the coefficients were fitted
MIN_TRAINING_WORDS = 3_000
MAX_TRAINING_WORDS = 350_000


class TrainingSize(NamedTuple):
    """Size of the text that an aligner is learned from, on which the probability of its links depends."""

    words: int = 100_000  # source words
    length_ratio: float = 1.0  # target words for each source word

    @classmethod
    def of(cls, words: tuple[int, int] | None) -> TrainingSize:
        """Return the size of a text with these source and target words; the defaults if there are none."""
        return cls(words[0], words[1] / words[0]) if words and all(words) else cls()

    @property
    def log_size(self) -> float:
        """The size m of the calibration: log10 of the source words / 10,000, kept within bounds."""
        return float(np.log10(min(max(self.words, MIN_TRAINING_WORDS), MAX_TRAINING_WORDS) / 10_000))


class LinkProbabilities(NamedTuple):
    """Computes the probability of links."""

    known: tuple[Flags, Flags]  # marks the source and the target words (V,) of the training text
    size: float  # m
    gold_log_odds: float = 0.0  # b

    def of_training_text(self, posterior: Reals, evidence: Reals) -> Doubles:
        """Return the probability of links (L,) of the training text, rising with posterior and evidence."""
        p = np.clip(np.asarray(posterior, np.float64), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        constant, of_posterior, of_evidence, of_size = LINK_COEFFICIENTS
        logit = constant + of_posterior * np.log(p / (1 - p)) + of_evidence * np.asarray(evidence, np.float64)
        calibrated = 1 / (1 + np.exp(-logit - of_size * self.size - self.gold_log_odds))
        return np.asarray(np.minimum(p, calibrated))

    def of(self, bucket: Bucket, b: Longs, posterior: Reals, evidence: Reals) -> Reals:
        """Return the probability of links (L,) of the pairs `b` of a bucket."""
        known_source, known_target = self.known
        source_known = (known_source[bucket.source] | (bucket.source == 0)).all(axis=0)  # (B,)
        target_known = (known_target[bucket.target] | (bucket.target == 0)).all(axis=0)
        all_known = source_known & target_known
        probability = np.where(all_known[b], self.of_training_text(posterior, evidence), posterior)
        return np.asarray(probability, np.float32)

    def fit_gold_log_odds(self, posterior: Reals, evidence: Reals, right: Reals) -> float:
        """Return b from the links (L,) of gold pairs; `right` is 1 for right ones, 0 for others."""
        low = -MAX_GOLD_LOG_ODDS
        high = MAX_GOLD_LOG_ODDS
        for _ in range(BISECTION_STEPS):
            middle = (low + high) / 2
            probabilities = self._replace(gold_log_odds=middle).of_training_text(posterior, evidence)
            if probabilities.sum() + PSEUDO_LINKS_PER_LOG_ODDS * middle < right.sum():
                low = middle
            else:
                high = middle
        return (low + high) / 2
