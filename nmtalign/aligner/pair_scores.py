"""Pair scores: the probability that the two sides of a sentence pair are translations of each other.

The evidence of a link is the log likelihood ratio r' of its words, counted without one of their links, so
that no pair is evidence for itself. With the posteriors of both directions,

    v = sum over cells of (p(s|t) + p(t|s)) max(0, log r'(s, t)) / (S + T)
    n = log of (S + T) / 2, at most log LONGEST
    z = |log((T + 1/2) / (c S + 1/2))| sqrt(min(S, T)), at most MAX_LENGTH_DEVIATION
    u = log10 of the source words of the training text / 10,000, from LEAST to MOST words

where c is the ratio T / S of the training text. The probability is

    p(parallel) = 1 / (1 + exp(-(b0 + b1 v + b2 n + b3 z + b4 v n + b5 u)))

The coefficients b are fitted by ``scripts/fit_parallelness.py`` to one wrong pair in ten; where the share of
wrong pairs is w, the logit is ``log(9) - log((1 - w) / w)`` too high.

Axes: B pairs of a bucket, T target words, S source words, P word pairs that meet, N sentence pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Longs

LONGEST = 500  # words
MAX_LENGTH_DEVIATION = 6.0
LEAST, MOST = 3_000, 350_000  # words of a training text: the range to which the coefficients are fitted
SUREST = 1e-6  # least distance of a probability from 0 and 1


class TrainingSize(NamedTuple):
    """Size of a training text."""

    words: int = 100_000  # source words
    relation: float = 1.0  # target words for each source word

    @classmethod
    def of(cls, words: tuple[int, int] | None) -> TrainingSize:
        """Return the size of a text with these source and target words; without any, a usual size."""
        return cls(words[0], words[1] / words[0]) if words and all(words) else cls()

    @property
    def learned(self) -> float:
        """The size u, as defined above."""
        return float(np.log10(min(max(self.words, LEAST), MOST) / 10_000))


class Coefficients(NamedTuple):
    """Coefficients of the logit of :func:`parallel_probability`."""

    constant: float
    evidence: float
    length: float
    relation: float
    evidence_length: float
    learned: float


FITTED = Coefficients(2.588, 3.152, -2.69, -0.6784, 1.105, -2.956)


def evidence_of_pairs(forward: Floats, reverse: Floats, evidence: Floats) -> Doubles:
    """Return the evidence of each pair of a bucket (B,), from posteriors and evidence of cells (T, S, B).

    The evidence is 0 in cells that belong to another piece of a long pair.
    """
    worth = (forward + reverse) * evidence
    by_word = np.add.reduce(worth, axis=1)  # (T, B)
    return np.asarray(np.add.reduce(by_word.astype(np.float64), axis=0))


def parallel_probability(
    evidence: Doubles,
    source_lengths: Longs,
    target_lengths: Longs,
    size: TrainingSize,
) -> Doubles:
    """Return the probability that N pairs are parallel, rising with the evidence; 0 where a side is empty.

    `evidence` (N,) comes from :func:`evidence_of_pairs`; the lengths (N,) are in words.

    Examples
    --------
    >>> lengths = np.array([10, 10, 10, 0])
    >>> found = parallel_probability(np.array([2.0, 20, 60, 0]), lengths, lengths, TrainingSize())
    >>> found.round(2).tolist()
    [0.0, 0.3, 1.0, 0.0]
    """
    features = pair_features(evidence, source_lengths, target_lengths, size)
    logit = (features * np.array(FITTED)[:, None]).sum(axis=0)
    probability = np.clip(1 / (1 + np.exp(-np.clip(logit, -30, 30))), SUREST, 1 - SUREST)
    return np.where((source_lengths > 0) & (target_lengths > 0), probability, 0.0)


def pair_features(
    evidence: Doubles, source_lengths: Longs, target_lengths: Longs, size: TrainingSize
) -> Doubles:
    """Return 1, v, n, z, v n and u of each pair, as defined above, shape (6, N)."""
    S, T = source_lengths.astype(np.float64), target_lengths.astype(np.float64)
    words = np.maximum(S + T, 1)
    v = evidence / words
    n = np.log(np.minimum(words / 2, LONGEST))
    z = np.abs(np.log((T + 0.5) / (size.relation * S + 0.5))) * np.sqrt(np.minimum(S, T))
    z = np.minimum(z, MAX_LENGTH_DEVIATION)
    return np.stack([np.ones_like(v), v, n, z, v * n, np.full_like(v, size.learned)])
