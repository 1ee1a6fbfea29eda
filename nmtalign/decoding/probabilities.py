"""Calibrated probabilities: that a link is right, and that the two sides of a pair are translations.

**Links.** The evidence ℓ of a link is the log likelihood ratio r' of its words, counted without one of their
links, so that no pair is evidence for itself. The size of the training text is

    m = log10 of its source words / 10,000, from MIN_TRAINING_WORDS to MAX_TRAINING_WORDS words

A model that aligns the text it was learned from has counted each link that it judges, and so
believes its links too much; on other text its posteriors are right as they are. Nearly every pair of other
text has a word that the training text lacks. So where all words of a pair are in the training text,

    logit q = α0 + α1 logit p + α2 ℓ + α3 m + b          probability = min(p, q)

with the posterior p of the link, after the votes of an expert, if there is one. Elsewhere the probability is
p. ``scripts/calibration.py`` fits the coefficients α. Where gold links teach a model, they also give b:
it moves the sum of the probabilities of the links of the gold pairs towards the number of right ones.

**Pairs.** A pair has one of three faults, or none: its sides are *other* sentences, a part is *missing* on
one side, or one side is *copied* from the other. Each fault has log odds against a sound pair, which are
linear in a few features, and the score is the probability that there is none:

    p(parallel) = 1 / (1 + sum over faults of exp(log odds of the fault))

With the posteriors of both directions, and S source and T target words,

    v = sum over cells of (p(s|t) + p(t|s)) max(0, log r'(s, t)) / (S + T)
    n = log of 1 + (S + T) / 2, where (S + T) / 2 is at most MAX_MEAN_LENGTH_WORDS
    x = log((T + 1/2) / (k S + 1/2)), where k is the ratio T / S of the training text

A word without a partner counts as far as the model did not expect that. With q, the probability that the
word has no partner in this pair, and e, how often it had none in training,

    u_s, u_t = mean of -q log e over the source and the target words

The features of each fault are

    other                 1, n, |x| sqrt(min(S, T)), v n, m
    missing in the target 1, u_s, u_t, -x, n
    copied to the target  1, mean over target words of log p(word in the source) / p(word in the target)

and the same with the sides exchanged for text that is missing in the source, or copied to it.
``scripts/fit_pair_scores.py`` fits the coefficients to text in which one pair in ten has a fault; where the
share of wrong pairs is w, the logit of the score is ``log(9) - log((1 - w) / w)`` too high.

Axes: B pairs of a bucket, T target words, S source words, N sentence pairs, L links, V words of a vocabulary,
with the padding as word 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Longs, Reals
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


# --- pairs ---------------------------------------------------------------------------------------

# the coefficients of each fault, in the order of its features
OTHER_COEFFICIENTS = -5.117, 4.279, 0.4674, -2.984, 2.871
MISSING_COEFFICIENTS = -9.844, 3.057, 1.78, 11.17, 0.4486
COPIED_COEFFICIENTS = -3.57, 4.382
MAX_COST = 30.0  # of a pair about which nothing is known; log odds have at most this absolute value
MAX_MEAN_LENGTH_WORDS = 500
MAX_LENGTH_DEVIATION = 6.0  # |x| sqrt(min(S, T)) is at most this
MAX_LENGTH_LOG_RATIO = 1.5  # |x| is at most this where a part is missing


class PairEvidence(NamedTuple):
    """What the posteriors of N pairs, or of N sections of pairs, show; sums over words, each (N,)."""

    forward: Doubles  # sum over cells of p(s|t) max(0, log r'(s, t))
    reverse: Doubles
    source_surprise: Doubles  # S u_s
    target_surprise: Doubles


class PairFeatures(NamedTuple):
    """What the log odds of the faults of N pairs depend on."""

    evidence: PairEvidence
    foreignness: tuple[Doubles, Doubles]  # mean over the words of each side
    lengths: tuple[Longs, Longs]  # S and T, each (N,)
    size: TrainingSize

    @property
    def of_faults(self) -> tuple[Doubles, ...]:
        """The features of each field of `PairFaults`, each (features, N), in the order of coefficients."""
        S, T = (lengths.astype(np.float64) for lengths in self.lengths)
        words = np.maximum(S + T, 1)
        one = np.ones_like(words)
        v = (self.evidence.forward + self.evidence.reverse) / words
        n = np.log1p(np.minimum(words / 2, MAX_MEAN_LENGTH_WORDS))
        m = np.full_like(words, self.size.log_size)
        x = np.log((T + 0.5) / (self.size.length_ratio * S + 0.5))
        deviation = np.minimum(np.abs(x) * np.sqrt(np.minimum(S, T)), MAX_LENGTH_DEVIATION)
        x = np.clip(x, -MAX_LENGTH_LOG_RATIO, MAX_LENGTH_LOG_RATIO)
        u_s = self.evidence.source_surprise / np.maximum(S, 1)
        u_t = self.evidence.target_surprise / np.maximum(T, 1)
        of_source, of_target = self.foreignness
        return (
            np.stack([one, n, deviation, v * n, m]),
            np.stack([one, u_s, u_t, -x, n]),
            np.stack([one, u_t, u_s, x, n]),
            np.stack([one, of_target]),
            np.stack([one, of_source]),
        )

    @property
    def faults(self) -> PairFaults:
        """The log odds of each fault."""
        coefficients = (
            OTHER_COEFFICIENTS,
            *(MISSING_COEFFICIENTS, MISSING_COEFFICIENTS),
            *(COPIED_COEFFICIENTS, COPIED_COEFFICIENTS),
        )
        log_odds = [
            (features * np.array(weights)[:, None]).sum(axis=0)
            for features, weights in zip(self.of_faults, coefficients, strict=True)
        ]
        return PairFaults(*log_odds)

    def probability(self) -> Doubles:
        """Return the probability that the pairs are parallel, (N,); 0 where a side is empty."""
        probability = 1 / (1 + np.exp(-self.faults.parallel_log_odds))
        bounded = np.clip(probability, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        return np.where(np.minimum(*self.lengths) > 0, bounded, 0.0)

    def costs(self) -> Doubles:
        """Return two costs of each pair, from ``-MAX_COST`` to `MAX_COST`, of shape (N, 2): low is good.

        The cost of a direction is ``-logit p(parallel)``, with the mean of the evidence per word of this
        direction and of both as v. So it is below 0 where the pair is rather a translation.
        """
        S, T = self.lengths
        forward, reverse, *_ = self.evidence
        words = np.maximum(S + T, 1)
        costs = []
        for of_direction in (forward / np.maximum(T, 1), reverse / np.maximum(S, 1)):
            evidence = self.evidence._replace(
                forward=(words * of_direction) / 2, reverse=(forward + reverse) / 2
            )
            costs.append(-self._replace(evidence=evidence).faults.parallel_log_odds)
        costs_of_pairs = np.stack(costs, axis=1)
        costs_of_pairs[np.minimum(S, T) == 0] = MAX_COST
        return costs_of_pairs


class PairFaults(NamedTuple):
    """Log odds of the faults of N pairs against sound pairs; each (N,)."""

    other: Doubles  # the sides are not translations of each other
    missing_in_target: Doubles
    missing_in_source: Doubles
    copied_to_target: Doubles
    copied_to_source: Doubles

    @property
    def missing_probability(self) -> Doubles:
        """Probability that the pairs are without a part of the source, or of the target; shape (2, N)."""
        of_any = np.logaddexp.reduce(np.stack(self), axis=0)
        missing = np.stack([self.missing_in_source, self.missing_in_target])
        return np.asarray(np.exp(missing - np.logaddexp(0, of_any)))

    @property
    def parallel_log_odds(self) -> Doubles:
        """Log odds that the pairs are parallel, bounded by `MAX_COST` on both sides."""
        log_odds = -np.asarray(np.logaddexp.reduce(np.stack(self), axis=0))
        return np.asarray(np.clip(log_odds, -MAX_COST, MAX_COST))


def link_evidence(posterior: Floats, evidence: Floats) -> Doubles:
    """Return the evidence of the links of each pair of a bucket (B,), from arrays of cells (T, S, B).

    The evidence is 0 in cells that belong to another section of a long pair.
    """
    by_word = np.add.reduce(posterior * evidence, axis=1)  # (T, B)
    return np.asarray(np.add.reduce(by_word.astype(np.float64), axis=0))


def surprise_of_words(linked: Reals, null_surprise: Floats) -> Doubles:
    """Return the sum over words of -q log e for each pair of a bucket (B,).

    `linked` is 1 - q of each word, and `null_surprise` -log e, both (T, B) or (S, B).
    """
    without_partner = 1 - np.minimum(linked, 1)
    return np.asarray(np.add.reduce((without_partner * null_surprise).astype(np.float64), axis=0))
