"""Which cells of the posteriors become links, by name.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.buckets import Bucket
from nmtalign.errors import UsageError
from nmtalign.links.extraction import EXTRACTORS, beside_links, best_cells, extract
from nmtalign.links.symmetrization import METHODS, symmetrize_matrices
from nmtalign.positions.hmm import THRESHOLD
from nmtalign.positions.model import Cells, Matrix, Posteriors, SoftmaxPosteriors

Links = NDArray[np.bool_]
Attention = Posteriors | SoftmaxPosteriors

SECOND = 0.3  # least p(s|t) or p(t|s) of a second word; chosen on the development sets
_BY_PROBABILITY = ("posterior", "one-to-one")  # the first finds second words
_OWN_THRESHOLD = (*_BY_PROBABILITY, "threshold", "transport")
_AXES = {"argmax": (1,), "argmax-reverse": (0,), "mutual": (1, 0)}  # of the maximum


@dataclass(frozen=True)
class Extraction:
    """How links are chosen from posteriors, by name.

    Parameters
    ----------
    method : str, optional
        A key of :data:`nmtalign.links.extraction.EXTRACTORS`, or ``one-to-one``: every cell whose joint
        probability is at least the threshold; or ``posterior``: these, and second words (:func:`grown`).
        Left out: ``posterior`` where there is a null word, else ``mutual``.
    threshold : float, optional
        Least joint probability of a link (for ``transport``: its own threshold). With one, ``posterior``
        finds no second words, for these are less likely. Left out: 0.55 for ``posterior`` and
        ``one-to-one``, 0.5 for ``threshold``, none for the others.
    symmetrize : str, optional
        Join the argmax of both directions by this method instead: a name of
        :data:`nmtalign.links.symmetrization.METHODS`.

    Raises
    ------
    UsageError
        If a name is unknown, the threshold is not from 0 to 1, or both a method and `symmetrize` are given.

    Examples
    --------
    >>> print(Extraction("mutual", threshold=0.1))
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
        if self.method is not None and self.method not in (*_BY_PROBABILITY, *EXTRACTORS):
            names = ", ".join((*_BY_PROBABILITY, *EXTRACTORS))
            raise UsageError(f"expected one of the extractions {names}, found {self.method!r}")
        if not (self.threshold is None or (isinstance(self.threshold, Real) and 0 <= self.threshold <= 1)):
            raise UsageError(f"expected a threshold from 0 to 1, found {self.threshold!r}")

    @property
    def name(self) -> str:
        """Name of the method; before :meth:`resolved` it may be empty."""
        return self.symmetrize or self.method or ""

    def __str__(self) -> str:
        name = f"symmetrize={self.symmetrize}" if self.symmetrize else f"extract={self.method}"
        return name if self.least is None else f"{name} threshold={self.least:g}"

    @property
    def least(self) -> float | None:
        """The threshold, or that of the method; second words go below it."""
        return THRESHOLD if self.threshold is None and self.method in _BY_PROBABILITY else self.threshold

    def resolved(self, *, null: bool) -> Extraction:
        """Return the extraction with the default method where none is named."""
        if self.symmetrize is not None:
            return self
        method = self.method or ("posterior" if null else "mutual")
        with_threshold = method == "posterior" and self.threshold is not None
        return replace(self, method="one-to-one" if with_threshold else method)

    def matrix(self, posteriors: Attention) -> Matrix:
        """Return the weights that the links are chosen from, shape (T, S, B)."""
        return _direction(posteriors, self.method)

    def cells(self, posteriors: Attention, bucket: Bucket) -> tuple[Cells, Matrix]:
        """Return the links of a bucket as (target, source, column), and the joint probability of each."""
        t, s, b = np.nonzero(self._links(posteriors, bucket))
        probability = posteriors.probability((t, s, b))
        kept = probability > 0 if self.method in _OWN_THRESHOLD else probability >= (self.threshold or 0)
        return (t[kept], s[kept], b[kept]), probability[kept]

    def _links(self, posteriors: Attention, bucket: Bucket) -> Links:
        """Choose cells, shape (T, S, B); those of the padding are never chosen."""
        if self.method in _AXES:
            compared = _compared(posteriors, self.method)
            lengths = bucket.source_lengths, bucket.target_lengths
            chosen = [best_cells(compared, axis, *lengths) for axis in _AXES[self.method]]
            return np.asarray(np.logical_and.reduce(chosen))
        if self.method in (*_BY_PROBABILITY, "threshold"):
            limit = 0.5 if self.least is None else self.least
            joint = posteriors.joint
            links = np.asarray((joint >= joint.dtype.type(limit)) & bucket.inside)
            if self.method == "posterior":
                links |= grown(links, posteriors.forward, posteriors.reverse)
            return links
        return self._by_lengths(posteriors, bucket)

    def _by_lengths(self, posteriors: Attention, bucket: Bucket) -> Links:
        """Choose cells by a method for matrices without padding: pairs of equal lengths at a time."""
        chosen = np.zeros(bucket.shape, dtype=bool)
        lengths = np.stack([bucket.source_lengths, bucket.target_lengths])
        for S, T in np.unique(lengths[:, bucket.pairs >= 0], axis=1).T:
            columns = np.flatnonzero((lengths[0] == S) & (lengths[1] == T))

            def stack(weights: Matrix, S: int = S, T: int = T, at: NDArray[np.int64] = columns) -> Matrix:
                return np.moveaxis(weights[:T, :S, at], -1, 0)  # (B, T, S)

            chosen[:T, :S, columns] = np.moveaxis(self._stacked(posteriors, stack), 0, -1)
        return chosen

    def _stacked(self, posteriors: Attention, stack: Callable[[Matrix], Matrix]) -> Links:
        """Choose cells of pairs of equal lengths, of which `stack` takes the weights, (B, T, S)."""
        if self.symmetrize is not None:
            names = "argmax", "argmax-reverse"
            both = [extract(stack(_compared(posteriors, name)), name) for name in names]
            return symmetrize_matrices(both[0], both[1], self.symmetrize)
        joint = stack(posteriors.joint)
        if self.method == "transport" and self.threshold is not None:
            return extract(joint, self.method, threshold=self.threshold)
        return extract(joint, str(self.method))


def grown(links: Links, forward: Matrix, reverse: Matrix) -> Links:
    """Return the links of second words, by which one word is linked to several: *not - ne ... pas*.

    A target word without a link is linked to s if p(s|t) is above `SECOND` and a neighbour of it is linked to
    s; a source word without a link likewise, by p(t|s).

    Parameters
    ----------
    links : bool array of shape (T, S, ...)
    forward, reverse : arrays of the same shape
        p(s|t) and p(t|s).

    Examples
    --------
    >>> links = np.array([[True, False], [False, False], [False, True]])  # he slept - il a dormi
    >>> grown(links, np.array([[0.9, 0.0], [0.0, 0.6], [0.0, 0.8]]), np.zeros((3, 2))).astype(int)
    array([[0, 0],
           [0, 1],
           [0, 0]])
    """
    after, before, source_after, source_before = beside_links(links)
    of_target = (after | before) & (forward > SECOND)
    of_source = (source_after | source_before) & (reverse > SECOND)
    return np.asarray(of_target | of_source)


def _direction(posteriors: Attention, method: str | None) -> Matrix:
    """Return the posteriors of one direction for its argmax, else the joint probability."""
    if method == "argmax":
        return posteriors.forward
    return posteriors.reverse if method == "argmax-reverse" else posteriors.joint


def _compared(posteriors: Attention, method: str | None) -> Matrix:
    """Return what the argmax of a method compares."""
    return _direction(posteriors, method) if posteriors.scores is None else posteriors.scores
