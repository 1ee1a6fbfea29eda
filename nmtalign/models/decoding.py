"""From attention scores to links: the prior on positions, the weights of both directions, the choice of links.

Everything here works on stacks of sentence pairs of equal lengths, so a pair gives the same links alone as in
a batch. Axes: B pairs, T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.links import Alignment
from nmtalign.attention.positions import diagonal_prior
from nmtalign.attention.weights import softmax
from nmtalign.errors import UsageError

Floats = NDArray[np.floating]
Cells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

# name -> (form of attention.positions.diagonal_prior, strength when none is given)
_FORMS = {"diagonal": ("centred", 4.0), "fast-align": ("fast_align", 4.0), "simalign": ("simalign", 0.5)}
POSITIONS = ("none", *_FORMS)


@dataclass(frozen=True)
class Positions:
    """Prior on where the translation of a word stands.

    Parameters
    ----------
    name : {"none", "diagonal", "fast-align", "simalign"}
        ``diagonal`` and ``fast-align`` are added to the scores, ``simalign`` multiplies cosines brought to
        0 to 1; the formulas stand at :func:`nmtalign.attention.positions.diagonal_prior`.
    strength : float, optional
        4; for ``simalign`` 0.5.

    Raises
    ------
    UsageError
        If the name is unknown, or a strength is given to ``none`` or is negative.

    Examples
    --------
    >>> Positions("diagonal", 2.0).apply(np.zeros((1, 1, 2)))
    array([[[-0.5, -0.5]]])
    """

    name: str = "none"
    strength: float | None = None

    def __post_init__(self) -> None:
        if self.name not in POSITIONS:
            raise UsageError(f"expected one of the positions {', '.join(POSITIONS)}, found {self.name!r}")
        if self.strength is not None and (self.name == "none" or not 0 <= self.strength < math.inf):
            raise UsageError(f"positions {self.name} with strength {self.strength} makes no sense")

    def __str__(self) -> str:
        return f"positions={self.name}" + ("" if self.name == "none" else f"({self._strength:g})")

    @property
    def _strength(self) -> float:
        return _FORMS[self.name][1] if self.strength is None else self.strength

    def apply(self, scores: Floats, *, scale: float = 1.0) -> Floats:
        """Return scores (..., T, S) under the prior; `scale` is the largest score that two words can have."""
        if self.name == "none":
            return scores
        T, S = scores.shape[-2:]
        prior = diagonal_prior(T, S, form=_FORMS[self.name][0], strength=self._strength)
        if self.name == "simalign":
            return np.asarray((scores + scale) * prior - scale)
        return np.asarray(scores + prior)


@dataclass(frozen=True)
class Weighed:
    """The attention of a stack of pairs, from scores of shape (B, T, S).

    Attributes
    ----------
    scores : array of shape (B, T, S)
        Finite.
    """

    scores: Floats

    @cached_property
    def forward(self) -> Floats:
        """p(s|t): rows sum to 1, shape (B, T, S)."""
        return np.asarray(softmax(self.scores, -1))

    @cached_property
    def reverse(self) -> Floats:
        """p(t|s): columns sum to 1, shape (B, T, S)."""
        return np.asarray(softmax(self.scores, -2))

    @cached_property
    def joint(self) -> Floats:
        """sqrt(p(s|t) p(t|s)), the weight that both directions agree on, shape (B, T, S)."""
        return np.asarray(np.sqrt(self.forward * self.reverse))

    def probability(self, cells: Cells) -> Floats:
        """Return the joint weight of single cells (pair, target, source) without building the whole matrix."""
        pair, target, source = cells
        rows, columns = _log_sums(self.scores, -1)[..., 0], _log_sums(self.scores, -2)[..., 0, :]
        return np.exp(self.scores[cells] - (rows[pair, target] + columns[pair, source]) / 2)


def _log_sums(scores: Floats, axis: int) -> Floats:
    """Return log(sum(exp(scores))) along `axis`, kept; never overflows."""
    top = scores.max(axis=axis, keepdims=True)
    powers = scores - top
    np.exp(powers, out=powers)
    return np.asarray(top + np.log(powers.sum(axis=axis, keepdims=True)))


@dataclass(frozen=True)
class Extraction:
    """How links are chosen from weights, by name.

    Parameters
    ----------
    method : str, optional
        ``argmax`` (each target word takes its best source word), ``argmax-reverse``, ``mutual``, or one that
        works on the joint weights: ``threshold``, ``itermax``, ``match``, ``transport``. ``mutual`` if left out.
    threshold : float, optional
        Least probability of a link. For ``threshold`` 0.5 if left out; for the others none.
    symmetrize : str, optional
        Join the argmax of both directions by this method instead.

    Raises
    ------
    UsageError
        If a name is unknown, or both a method and `symmetrize` are given.
    """

    method: str | None = None
    threshold: float | None = None
    symmetrize: str | None = None

    def __post_init__(self) -> None:
        if self.symmetrize is not None and self.method is not None:
            raise UsageError("symmetrize joins the argmax of both directions; leave the extraction out")
        if self.symmetrize is not None and self.symmetrize not in METHODS:
            raise UsageError(f"expected one of {', '.join(METHODS)} to symmetrize, found {self.symmetrize!r}")
        if self.method is not None and self.method not in EXTRACTIONS:
            raise UsageError(
                f"expected one of the extractions {', '.join(EXTRACTIONS)}, found {self.method!r}"
            )

    @property
    def _name(self) -> str:
        return self.method or "mutual"

    def __str__(self) -> str:
        name = f"symmetrize={self.symmetrize}" if self.symmetrize else f"extract={self._name}"
        return name if self.threshold is None else f"{name} threshold={self.threshold:g}"

    def weights(self, weighed: Weighed) -> Floats:
        """Return the weights that the links are chosen from, shape (B, T, S)."""
        if self._name == "argmax":
            return weighed.forward
        return weighed.reverse if self._name == "argmax-reverse" else weighed.joint

    def cells(self, weighed: Weighed) -> tuple[Cells, Floats]:
        """Return the chosen cells (pair, target, source) of a stack and the joint weight of each."""
        if self.symmetrize is not None:
            cells = _symmetrized(weighed.scores, self.symmetrize)
        else:
            cells = _CHOICES[self._name](weighed, self.threshold)
        probability = weighed.probability(cells)
        if self.threshold is None:
            return cells, probability
        kept = probability >= self.threshold
        pair, target, source = cells
        return (pair[kept], target[kept], source[kept]), probability[kept]


def _best(scores: Floats, axis: int) -> NDArray[np.int64]:
    """Return where the largest score along `axis` of (B, T, S) stands.

    Ties go to the word nearest the diagonal, then to the lower position. Distances are whole numbers,
    so that two places equally far away are exactly equal.
    """
    T, S = scores.shape[1:]
    distance = np.abs((2 * np.arange(T) + 1)[:, None] * S - (2 * np.arange(S) + 1) * T)  # (T, S)
    tied = scores == scores.max(axis=axis, keepdims=True)
    return np.where(tied, distance, 2 * T * S).argmin(axis=axis)


def _forward(weighed: Weighed, threshold: float | None) -> Cells:
    best = _best(weighed.scores, 2)  # (B, T)
    pair, target = np.indices(best.shape)
    return pair.ravel(), target.ravel(), best.ravel()


def _reverse(weighed: Weighed, threshold: float | None) -> Cells:
    best = _best(weighed.scores, 1)  # (B, S)
    pair, source = np.indices(best.shape)
    return pair.ravel(), best.ravel(), source.ravel()


def _mutual(weighed: Weighed, threshold: float | None) -> Cells:
    forward, reverse = _best(weighed.scores, 2), _best(weighed.scores, 1)  # (B, T), (B, S)
    returned = np.take_along_axis(reverse, forward, axis=1)  # (B, T)
    pair, target = np.nonzero(returned == np.arange(forward.shape[1]))
    return pair, target, forward[pair, target]


_CHOICES: dict[str, Callable[[Weighed, float | None], Cells]] = {
    "argmax": _forward,
    "argmax-reverse": _reverse,
    "mutual": _mutual,
}
EXTRACTIONS = tuple(_CHOICES)
METHODS = ()
