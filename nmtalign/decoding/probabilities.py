"""Calibrated probabilities: how often links of some posterior are right, and which pairs are translations.

The evidence ℓ of a link is the log likelihood ratio r' of its words, counted without one of their links, so
that no pair is evidence for itself. The size of the training text is

    m = log10 of its source words / 10,000, from MIN_TRAINING_WORDS to MAX_TRAINING_WORDS words

**Links.** A model that aligns the text it was learned from has counted each link that it judges, and so
believes its links too much; on other text its posteriors are right as they are. Nearly every pair of other
text has a word that the training text lacks. So where all words of a pair are in the training text,

    logit q = α0 + α1 logit p + α2 ℓ + α3 m + b          probability = min(p, q)

with the posterior p of the link, after the votes of an expert, if there is one. Elsewhere the probability is
p. ``scripts/calibration.py`` fits the coefficients α. Where gold links teach a model, they also give b:
it moves the sum of the probabilities of the links of the gold pairs towards the number of right ones.

**Sentence pairs.** With the posteriors of both directions and the evidence v of the pair per word,

    v = sum over cells of (p(s|t) + p(t|s)) max(0, log r'(s, t)) / (S + T)
    n = log of (S + T) / 2, at most log MAX_MEAN_LENGTH_WORDS
    z = |log((T + 1/2) / (k S + 1/2))| sqrt(min(S, T)), at most MAX_LENGTH_DEVIATION

    p(parallel) = 1 / (1 + exp(-(c0 + c1 v + c2 n + c3 z + c4 v n + c5 m)))

where k is the ratio T / S of the training text. ``scripts/fit_parallelness.py`` fits the coefficients c to
one wrong pair in ten; where the share of wrong pairs is w, the logit is ``log(9) - log((1 - w) / w)`` too
high.

Axes: B pairs of a bucket, T target words, S source words, L links, N sentence pairs, V words of a
vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Longs, Reals
from nmtalign.corpus.buckets import Bucket

LINK_COEFFICIENTS = -0.7, 0.29, 0.62, 0.54  # α0 to α3
PAIR_COEFFICIENTS = 2.588, 3.152, -2.69, -0.6784, 1.105, -2.956  # c0 to c5
MAX_GOLD_LOG_ODDS = 3.0  # |b| is at most this
BISECTION_STEPS = 30  # they halve the interval of b
MIN_PROBABILITY = 1e-6  # probabilities are at least this, and at most 1 minus this
PSEUDO_LINKS_PER_LOG_ODDS = 10  # keep few gold links from changing b much
MAX_PAIR_LOG_ODDS = 30.0  # the log odds that a pair is parallel have at most this absolute value
MAX_COST = MAX_PAIR_LOG_ODDS  # cost of a pair about which nothing is known
MAX_MEAN_LENGTH_WORDS = 500
MAX_LENGTH_DEVIATION = 6.0
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


def evidence_of_pairs(forward: Floats, reverse: Floats, evidence: Floats) -> Doubles:
    """Return the evidence of each pair of a bucket (B,), from posteriors and evidence of cells (T, S, B).

    The evidence is 0 in cells that belong to another section of a long pair.
    """
    expected = (forward + reverse) * evidence
    by_word = np.add.reduce(expected, axis=1)  # (T, B)
    return np.asarray(np.add.reduce(by_word.astype(np.float64), axis=0))


def parallel_probability(
    evidence: Doubles, source_lengths: Longs, target_lengths: Longs, size: TrainingSize
) -> Doubles:
    """Return the probability that N pairs are parallel, rising with the evidence; 0 where a side is empty.

    `evidence` (N,) comes from :func:`evidence_of_pairs`; the lengths (N,) are in words.
    """
    logit = _parallel_logit(evidence, source_lengths, target_lengths, size)
    probability = np.clip(1 / (1 + np.exp(-logit)), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return np.where((source_lengths > 0) & (target_lengths > 0), probability, 0.0)


def _parallel_logit(
    evidence: Doubles, source_lengths: Longs, target_lengths: Longs, size: TrainingSize
) -> Doubles:
    """Return the log odds that N pairs are parallel, bounded by `MAX_PAIR_LOG_ODDS` on both sides."""
    features = pair_features(evidence, source_lengths, target_lengths, size)
    logit = (features * np.array(PAIR_COEFFICIENTS)[:, None]).sum(axis=0)
    return np.asarray(np.clip(logit, -MAX_PAIR_LOG_ODDS, MAX_PAIR_LOG_ODDS))


def pair_costs(
    forward: Doubles,
    reverse: Doubles,
    source_lengths: Longs,
    target_lengths: Longs,
    size: TrainingSize,
) -> Doubles:
    """Return two costs of N pairs, from ``-MAX_COST`` to `MAX_COST`, of shape (N, 2): low costs are good.

    The evidence of each direction (N,) is summed as in :func:`evidence_of_pairs`. The cost of a direction is
    ``-logit p(parallel)``, with the mean of the evidence per word of this direction and of both as v. So it
    is below 0 where the pair is rather a translation.
    """
    words = np.maximum(source_lengths + target_lengths, 1)
    of_both = (forward + reverse) / words
    of_directions = forward / np.maximum(target_lengths, 1), reverse / np.maximum(source_lengths, 1)
    costs = []
    for of_direction in of_directions:
        evidence = words * (of_direction + of_both) / 2
        logit = _parallel_logit(evidence, source_lengths, target_lengths, size)
        costs.append(-logit)
    costs_of_pairs = np.stack(costs, axis=1)
    costs_of_pairs[(source_lengths == 0) | (target_lengths == 0)] = MAX_COST
    return costs_of_pairs


def pair_features(
    evidence: Doubles, source_lengths: Longs, target_lengths: Longs, size: TrainingSize
) -> Doubles:
    """Return 1, v, n, z, v n and m of each pair, shape (6, N)."""
    S = source_lengths.astype(np.float64)
    T = target_lengths.astype(np.float64)
    words = np.maximum(S + T, 1)
    v = evidence / words
    n = np.log(np.minimum(words / 2, MAX_MEAN_LENGTH_WORDS))
    z = np.abs(np.log((T + 0.5) / (size.length_ratio * S + 0.5))) * np.sqrt(np.minimum(S, T))
    z = np.minimum(z, MAX_LENGTH_DEVIATION)
    return np.stack([np.ones_like(v), v, n, z, v * n, np.full_like(v, size.log_size)])
