"""Softmax over the words of each side, with or without a prior on the diagonal (as Dyer et al. 2013).

Axes: B pairs of a bucket (last), T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nmtalign.arrays import Doubles, Reals
from nmtalign.attention.positions import diagonal_prior
from nmtalign.corpus.buckets import Bucket
from nmtalign.errors import UsageError
from nmtalign.positions.model import BucketPosteriors, PositionModel, SoftmaxPosteriors, TextScores
from nmtalign.state import State, Stored

DIAGONAL = 4.0  # strength that suits cosines at their default temperature
SOFTMAX_POSITIONS = ("none", "diagonal")


@dataclass(frozen=True)
class SoftmaxPositions(PositionModel):
    """Softmax over scores, optionally with a prior on the diagonal of the alignment matrix.

    Parameters
    ----------
    name : {"none", "diagonal"}
        ``diagonal`` adds :func:`nmtalign.attention.positions.diagonal_prior` to the scores.
    strength : float, optional
        Strength of the diagonal prior; default 4.

    Raises
    ------
    UsageError
        If the name is unknown, or the strength is negative or given to ``none``.
    """

    name: str = "none"
    strength: float | None = None

    def __post_init__(self) -> None:
        if self.name not in SOFTMAX_POSITIONS:
            names = ", ".join(SOFTMAX_POSITIONS)
            raise UsageError(f"expected one of the positions {names}, found {self.name!r}")
        if self.strength is not None and (self.name == "none" or not 0 <= self.strength < math.inf):
            raise UsageError(f"positions {self.name} with strength {self.strength} makes no sense")

    @property
    def description(self) -> str:
        """Name and strength, as one setting."""
        return f"positions={self.name}" + ("" if self.name == "none" else f"({self._strength:g})")

    def state(self) -> State:
        """Return name and strength."""
        return State("softmax", {"name": self.name, "strength": self.strength})

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: object) -> SoftmaxPositions:
        """Return what :meth:`state` was made of."""
        strength = None if stored.value("strength", object) is None else stored.number("strength", low=0)
        return cls(stored.text("name"), strength)

    @property
    def _strength(self) -> float:
        return DIAGONAL if self.strength is None else self.strength

    def posteriors_of(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
        """Return a function that computes the posteriors of a bucket, given its number."""
        scores.prepare(ratios=False)

        def bucket_posteriors(k: int) -> BucketPosteriors:
            bucket, found = scores.text.buckets[k], scores.scores(k)  # (T, S, B)
            return BucketPosteriors(SoftmaxPosteriors(self.applied(found, bucket), bucket.inside), None)

        return bucket_posteriors

    def applied(self, scores: Reals, bucket: Bucket) -> Reals:
        """Return scores (T, S, B) of a bucket with the log prior added."""
        if self.name == "none":
            return scores
        lengths = np.stack([bucket.target_lengths, bucket.source_lengths])
        distinct, place = np.unique(lengths, axis=1, return_inverse=True)
        T, S, _ = bucket.shape
        table = np.zeros((T, S, distinct.shape[1]))
        for n, (t, s) in enumerate(distinct.T.tolist()):
            table[:t, :s, n] = _prior(t, s, self._strength)
        return np.asarray(scores + table[..., place.reshape(-1)])


@lru_cache(maxsize=4096)
def _prior(T: int, S: int, strength: float) -> Doubles:
    return np.asarray(diagonal_prior(T, S, strength=strength))
