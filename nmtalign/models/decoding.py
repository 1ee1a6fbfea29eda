"""From attention scores to links: prior on positions, weights of both directions, choice of links.

Everything here works on stacks of sentence pairs of equal lengths, so a pair gives the same links alone as in
a batch. Axes: B pairs, T target words, S source words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.extraction import EXTRACTORS, extract
from nmtalign.alignment.symmetrization import METHODS, symmetrize_matrices
from nmtalign.attention.positions import diagonal_prior
from nmtalign.attention.weights import softmax
from nmtalign.errors import UsageError

Floats = NDArray[np.floating]
Cells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

DIAGONAL = 4.0  # strength that suits cosines at their own temperature
# name -> (form of attention.positions.diagonal_prior, strength when none is given)
_FORMS = {
    "diagonal": ("centred", DIAGONAL),
    "fast-align": ("fast_align", DIAGONAL),
    "simalign": ("simalign", 0.5),
}
POSITIONS = ("none", *_FORMS)

_OF_SCORES = ("argmax", "argmax-reverse", "mutual")  # the rest compares weights, or adds them up
_OWN_THRESHOLD = ("posterior", "threshold", "transport")
_CALLED = {"posterior": "threshold"}  # over given vectors it is the same: no word is aligned to null


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
        if self.scores.size == 0:
            return self.scores
        rows, columns = _log_sums(self.scores, -1), _log_sums(self.scores, -2)
        return np.exp(self.scores - (rows[..., None] + columns[..., None, :]) / 2)

    def probability(self, cells: Cells) -> Floats:
        """Return the joint weight of cells (pair, target, source) without building the whole matrix."""
        pair, target, source = cells
        rows, columns = _log_sums(self.scores, -1), _log_sums(self.scores, -2)
        return np.exp(self.scores[cells] - (rows[pair, target] + columns[pair, source]) / 2)


def _log_sums(scores: Floats, axis: int) -> Floats:
    """Return log(sum(exp(scores))) along `axis`; never overflows."""
    top = scores.max(axis=axis, keepdims=True)
    powers = scores - top
    np.exp(powers, out=powers)
    return np.asarray(np.squeeze(top, axis) + np.log(powers.sum(axis=axis)))


@dataclass(frozen=True)
class Extraction:
    """How links are chosen from weights, by name.

    Parameters
    ----------
    method : str, optional
        A key of :data:`nmtalign.alignment.extraction.EXTRACTORS`, or ``posterior``; ``mutual`` if left out.
        The three argmaxes look at the scores, the others at the joint weights.
    threshold : float, optional
        For ``threshold`` and ``transport`` their own, 0.5 if left out; for the others the least joint weight
        of a link, none if left out.
    symmetrize : str, optional
        Join the argmax of both directions by this method instead: a name of
        :data:`nmtalign.alignment.symmetrization.METHODS`.

    Raises
    ------
    UsageError
        If a name is unknown, or both a method and `symmetrize` are given.

    Examples
    --------
    >>> print(Extraction(threshold=0.1))
    extract=mutual threshold=0.1
    """

    method: str | None = None
    threshold: float | None = None
    symmetrize: str | None = None

    def __post_init__(self) -> None:
        if self.symmetrize is not None and self.method is not None:
            raise UsageError("symmetrize joins the argmax of both directions; leave the extraction out")
        if self.symmetrize is not None and self.symmetrize not in METHODS:
            raise UsageError(f"expected one of {', '.join(METHODS)} to symmetrize, found {self.symmetrize!r}")
        if self._name not in (*EXTRACTORS, *_CALLED):
            names = ", ".join((*EXTRACTORS, *_CALLED))
            raise UsageError(f"expected one of the extractions {names}, found {self._name!r}")

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
        """Return the chosen cells of a stack, by pair, source, target, and the joint weight of each."""
        pair, source, target = np.nonzero(self._links(weighed).swapaxes(1, 2))
        probability = weighed.probability((pair, target, source))
        if self.threshold is None or self._name in _OWN_THRESHOLD:
            return (pair, target, source), probability
        kept = probability >= self.threshold
        return (pair[kept], target[kept], source[kept]), probability[kept]

    def _links(self, weighed: Weighed) -> NDArray[np.bool_]:
        if self.symmetrize is not None:
            forward, reverse = (extract(weighed.scores, name) for name in ("argmax", "argmax-reverse"))
            return symmetrize_matrices(forward, reverse, self.symmetrize)
        if self._name in _OF_SCORES:
            return extract(weighed.scores, self._name)
        name = _CALLED.get(self._name, self._name)
        if self._name in _OWN_THRESHOLD and self.threshold is not None:
            return extract(weighed.joint, name, threshold=self.threshold)
        return extract(weighed.joint, name)
