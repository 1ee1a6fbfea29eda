"""Link probabilities: how often links of some posterior and evidence are right.

A model that aligns the text it was learned from has counted each link that it judges, and so believes its
links too much; on other text its posteriors are right as they are. Other text shows: of nearly every pair the
training text lacks a word. So where all words of a pair are in the training text,

    logit q = a0 + a1 logit p + a2 e + a3 u + d          probability = min(p, q)

with the posterior p of the link (after the votes of an expert, if there is one), its evidence e without one
of the links of its words, and the size u of the training text, as pair scores have them. Elsewhere the
probability is p.

The coefficients a are fitted by ``scripts/calibration.py``. Where gold links teach a model, they also give d:
with it the probabilities of the links of the gold pairs sum to the number of right ones.

Axes: B pairs of a bucket, V vocabulary, L links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Longs, Reals
from nmtalign.corpus.buckets import Bucket

FITTED = -0.7, 0.29, 0.62, 0.54  # a0 to a3
LARGEST, STEPS = 3.0, 30  # greatest |d|, and halvings of its interval
SUREST = 1e-6  # least distance of a probability from 0 and 1
FEW = 10  # links for each unit of d, so that few gold links move little


class LinkProbabilities(NamedTuple):
    """Gives links their probability.

    Examples
    --------
    >>> known = np.array([True, True, True])
    >>> found = LinkProbabilities((known, known), 0.0)
    >>> found.of_training_text(np.array([0.9, 0.9, 0.2]), np.array([0, 4, 4])).round(2).tolist()
    [0.48, 0.9, 0.2]
    """

    known: tuple[Flags, Flags]  # the source and the target words (V,) that the training text has
    size: float  # u
    gold_log_odds: float = 0.0  # d

    def of_training_text(self, posterior: Reals, evidence: Reals) -> Doubles:
        """Return the probability of links (L,) of the training text, rising with posterior and evidence."""
        p = np.clip(np.asarray(posterior, np.float64), SUREST, 1 - SUREST)
        constant, of_posterior, of_evidence, of_size = FITTED
        logit = constant + of_posterior * np.log(p / (1 - p)) + of_evidence * np.asarray(evidence, np.float64)
        return np.asarray(np.minimum(p, 1 / (1 + np.exp(-logit - of_size * self.size - self.gold_log_odds))))

    def of(self, bucket: Bucket, column: Longs, posterior: Reals, evidence: Reals) -> Reals:
        """Return the probability of links (L,) in some columns of a bucket."""
        sides = zip(self.known, (bucket.source, bucket.target), strict=True)
        seen = np.logical_and.reduce([(known[words] | (words == 0)).all(axis=0) for known, words in sides])
        found = np.where(seen[column], self.of_training_text(posterior, evidence), posterior)
        return np.asarray(found, np.float32)

    def fit_gold_log_odds(self, posterior: Reals, evidence: Reals, right: Reals) -> float:
        """Return d from the links (L,) of gold pairs; `right` is 1 for right ones, 0 for others."""
        low, high = -LARGEST, LARGEST
        for _ in range(STEPS):
            middle = (low + high) / 2
            sum_ = self._replace(gold_log_odds=middle).of_training_text(posterior, evidence).sum()
            low, high = (middle, high) if sum_ + FEW * middle < right.sum() else (low, middle)
        return (low + high) / 2
