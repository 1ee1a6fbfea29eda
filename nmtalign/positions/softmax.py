"""No memory of positions: a softmax over the words of each side, with or without a prior on the diagonal.

Axes: B pairs of a bucket (last), T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from nmtalign.attention.positions import diagonal_prior
from nmtalign.corpus.buckets import PADDED, Bucket
from nmtalign.errors import UsageError
from nmtalign.positions.model import Attended, Cells, Matrix, TextScores

DIAGONAL = 4.0  # strength that suits cosines at their own temperature
# name -> (form of attention.positions.diagonal_prior, strength when none is given)
_FORMS = {
    "diagonal": ("centred", DIAGONAL),
    "fast-align": ("fast_align", DIAGONAL),
    "simalign": ("simalign", 0.5),
}
SOFTMAX_POSITIONS = ("none", *_FORMS)
_OF_SCORES = ("argmax", "argmax-reverse", "mutual")  # the rest compares weights, or adds them up


@dataclass(frozen=True)
class SoftmaxPositions:
    """Softmax over scores, with a prior on where the translation of a word stands.

    Parameters
    ----------
    name : {"none", "diagonal", "fast-align", "simalign"}
        ``diagonal`` and ``fast-align`` are added to the scores, ``simalign`` multiplies cosines brought to
        0 to 1; the formulas stand at :func:`nmtalign.attention.positions.diagonal_prior`.
    strength : float, optional
        4; for ``simalign`` 0.5.
    scale : float
        The largest score that two words can have, for ``simalign``.

    Raises
    ------
    UsageError
        If the name is unknown, or a strength is given to ``none`` or is negative.
    """

    name: str = "none"
    strength: float | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in SOFTMAX_POSITIONS:
            names = ", ".join(SOFTMAX_POSITIONS)
            raise UsageError(f"expected one of the positions {names}, found {self.name!r}")
        if self.strength is not None and (self.name == "none" or not 0 <= self.strength < math.inf):
            raise UsageError(f"positions {self.name} with strength {self.strength} makes no sense")

    @property
    def settings(self) -> str:
        """What it is, in a few words."""
        return f"positions={self.name}" + ("" if self.name == "none" else f"({self._strength:g})")

    @property
    def has_null(self) -> bool:
        """Every word is aligned to some word."""
        return False

    @property
    def _strength(self) -> float:
        return _FORMS[self.name][1] if self.strength is None else self.strength

    def over(self, scores: TextScores) -> Callable[[int], Attended]:
        """Return a function that attends in the bucket of a number."""
        scores.prepare(ratios=False)

        def attend(k: int) -> Attended:
            bucket, found = scores.text.buckets[k], scores.scores(k)  # (T, S, B)
            return Attended(SoftmaxPosteriors(self.applied(found, bucket), bucket.inside), None)

        return attend

    def applied(self, scores: Matrix, bucket: Bucket) -> Matrix:
        """Return scores (T, S, B) of a bucket under the prior."""
        if self.name == "none":
            return scores
        lengths = np.stack([bucket.target_lengths, bucket.source_lengths])
        distinct, place = np.unique(lengths, axis=1, return_inverse=True)
        T, S, _ = bucket.shape
        form = _FORMS[self.name][0]
        table = np.zeros((T, S, distinct.shape[1]))
        for n, (t, s) in enumerate(distinct.T.tolist()):
            table[:t, :s, n] = _prior(t, s, form, self._strength)
        prior = table[..., place.reshape(-1)]
        if self.name == "simalign":
            return np.where(scores > PADDED / 2, (scores + self.scale) * prior - self.scale, scores)
        return np.asarray(scores + prior)


@lru_cache(maxsize=4096)
def _prior(T: int, S: int, form: str, strength: float) -> NDArray[np.float64]:
    return np.asarray(diagonal_prior(T, S, form=form, strength=strength))


@dataclass(frozen=True, eq=False)
class SoftmaxPosteriors:
    """Posteriors of both directions from scores of shape (T, S, B); what is asked for is computed."""

    scores: Matrix
    inside: NDArray[np.bool_]

    @cached_property
    def _rows(self) -> Matrix:
        """Logarithm of the sum over source words, shape (T, B)."""
        return _log_sum(self.scores, 1)

    @cached_property
    def _columns(self) -> Matrix:
        """Logarithm of the sum over target words, shape (S, B)."""
        return _log_sum(self.scores, 0)

    @cached_property
    def forward(self) -> Matrix:
        """p(s|t), shape (T, S, B); sums over source words are 1."""
        return np.exp(self.scores - self._rows[:, None]) * self.inside

    @cached_property
    def reverse(self) -> Matrix:
        """p(t|s), shape (T, S, B); sums over target words are 1."""
        return np.exp(self.scores - self._columns) * self.inside

    @cached_property
    def joint(self) -> Matrix:
        """sqrt(p(s|t) p(t|s)), shape (T, S, B)."""
        return np.exp(self.scores - (self._rows[:, None] + self._columns) / 2) * self.inside

    def ranking(self, method: str) -> Matrix:
        """Return the scores for an argmax, else the joint weights."""
        return self.scores if method in _OF_SCORES else self.joint

    def probability(self, cells: Cells) -> Matrix:
        """Return the joint weight of some cells without computing all."""
        t, s, b = cells
        return np.exp(self.scores[cells] - (self._rows[t, b] + self._columns[s, b]) / 2)


def _log_sum(scores: Matrix, axis: int) -> Matrix:
    """Return log(sum(exp(scores))) along an axis before the last; never overflows."""
    top = scores.max(axis=axis)
    powers = scores - np.expand_dims(top, axis)
    np.exp(powers, out=powers)
    return np.asarray(top + np.log(powers.sum(axis=axis)))
