"""Links, gold links, attention matrices, and batches of alignments as arrays.

Axes: T target words, S source words. Matrices are ``weights[t, s]`` (a row is a query = one target word);
links are ``(source, target)``, 0-based. Only this folder converts between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtalign.errors import DataError
from nmtalign.views import Viewable


class Link(NamedTuple):
    """Source word ``source`` translates target word ``target``; both count from 0."""

    source: int
    target: int


def _checked(links: Iterable[tuple[int, int]], source_length: int, target_length: int) -> frozenset[Link]:
    """Return `links` as a set, refusing positions outside the two sentences."""
    result = frozenset(Link(int(s), int(t)) for s, t in links)
    for link in result:
        if not (0 <= link.source < source_length and 0 <= link.target < target_length):
            raise DataError(
                f"link {link.source}-{link.target} is outside a pair of {source_length} source"
                f" and {target_length} target words"
            )
    return result


@dataclass(frozen=True)
class Alignment(Viewable):
    """The links of one sentence pair.

    Parameters
    ----------
    links : iterable of (int, int)
        ``(source, target)`` positions from 0; kept as a frozenset, so ``a.links & b.links`` reads like
        the formulas.
    source_length, target_length : int
        Number of words S and T.

    Raises
    ------
    DataError
        If a link lies outside the sentence pair.

    Examples
    --------
    >>> a = Alignment({(0, 0), (1, 2)}, 2, 3)
    >>> sorted(a.reversed().links)
    [Link(source=0, target=0), Link(source=2, target=1)]
    """

    links: frozenset[Link]
    source_length: int
    target_length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "links", _checked(self.links, self.source_length, self.target_length))

    def __iter__(self) -> Iterator[Link]:
        return iter(sorted(self.links))

    def __len__(self) -> int:
        return len(self.links)

    def reversed(self) -> Alignment:
        """Return the alignment with source and target swapped."""
        return Alignment(
            frozenset(Link(link.target, link.source) for link in self.links),
            self.target_length,
            self.source_length,
        )

    def to_matrix(self) -> NDArray[np.bool_]:
        """Return the links as a boolean matrix of shape (T, S)."""
        matrix = np.zeros((self.target_length, self.source_length), dtype=bool)  # (T, S)
        for link in self.links:
            matrix[link.target, link.source] = True
        return matrix

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Alignment:
        """Return the alignment of the non-zero cells of a (T, S) matrix."""
        cells = np.asarray(matrix)
        target, source = np.nonzero(cells)
        links = frozenset(Link(int(s), int(t)) for s, t in zip(source, target, strict=True))
        return cls(links, cells.shape[1], cells.shape[0])


@dataclass(frozen=True)
class GoldAlignment:
    """Gold links of one sentence pair: `sure` ones are a subset of `possible` ones (Och and Ney, 2003).

    Raises
    ------
    DataError
        If a sure link is not possible, or a position is negative.
    """

    sure: frozenset[Link]
    possible: frozenset[Link]

    def __post_init__(self) -> None:
        for name in ("sure", "possible"):
            links = frozenset(Link(int(s), int(t)) for s, t in getattr(self, name))
            object.__setattr__(self, name, links)
        stray = self.sure - self.possible
        if stray:
            s, t = min(stray)
            raise DataError(
                f"sure link {s}-{t} is not among the possible links; sure links are possible ones"
            )
        if any(s < 0 or t < 0 for s, t in self.possible):
            raise DataError("a gold link has a negative position; positions count from 0")


@dataclass(frozen=True)
class AlignmentMatrix(Viewable):
    """Attention weights of one sentence pair, read-only and finite.

    Parameters
    ----------
    weights : array of shape (T, S)
        ``weights[t, s]``: how much target word t attends to source word s.
    source_tokens, target_tokens : sequence of str
        The S and T words.
    """

    weights: NDArray[np.floating]
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.result_type(self.weights, np.float32))
        object.__setattr__(self, "source_tokens", tuple(self.source_tokens))
        object.__setattr__(self, "target_tokens", tuple(self.target_tokens))
        expected = (len(self.target_tokens), len(self.source_tokens))
        if weights.shape != expected:
            raise DataError(f"expected weights of shape (T, S) = {expected}, found {weights.shape}")
        if not np.isfinite(weights).all():
            raise DataError("the weights hold NaN or infinity")
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    @property
    def T(self) -> AlignmentMatrix:
        """The matrix with source and target swapped."""
        return AlignmentMatrix(self.weights.T, self.target_tokens, self.source_tokens)


@dataclass(frozen=True)
class AlignedPair(Viewable):
    """One aligned sentence pair: links, posteriors of both directions, pair score.

    Attributes
    ----------
    alignment : Alignment
        The chosen links.
    matrix : AlignmentMatrix
        The weights the links were chosen from (both directions combined), shape (T, S).
    forward, reverse : array of shape (T, S), optional
        Weights of each direction: rows of `forward` sum to at most 1 (target words attend to source words;
        the rest is the null word), columns of `reverse` sum to at most 1.
    probabilities : dict of Link to float
        Probability of every chosen link.
    score : float, optional
        Pair score: the probability that the two sides are translations, where a null word is known.
    settings : str
        Signature of the settings that made it.
    extraction : str
        Name of the method that chose the links.
    threshold : float, optional
        Least probability of a link, where the method has one.
    second : float, optional
        Least probability of a second word in its direction, where the method looks for second words.
    """

    alignment: Alignment
    matrix: AlignmentMatrix
    forward: NDArray[np.floating] | None = None
    reverse: NDArray[np.floating] | None = None
    probabilities: dict[Link, float] = field(default_factory=dict)
    score: float | None = None
    settings: str = ""
    extraction: str = ""
    threshold: float | None = None
    second: float | None = None

    @property
    def links(self) -> list[Link]:
        """The chosen links in order."""
        return list(self.alignment)

    @property
    def posterior(self) -> NDArray[np.floating]:
        """Probability of each cell to be a link, shape (T, S)."""
        return self.matrix.weights

    @property
    def target_null(self) -> NDArray[np.floating] | None:
        """Probability of each target word to have no source word, shape (T,)."""
        return None if self.forward is None else np.clip(1.0 - self.forward.sum(axis=1), 0.0, 1.0)

    @property
    def source_null(self) -> NDArray[np.floating] | None:
        """Probability of each source word to have no target word, shape (S,)."""
        return None if self.reverse is None else np.clip(1.0 - self.reverse.sum(axis=0), 0.0, 1.0)


@dataclass(frozen=True)
class AlignedBatch:
    """The links of N sentence pairs as flat arrays: no Python object per link.

    Attributes
    ----------
    offsets : int64 array of shape (N + 1,)
        The links of pair n are rows ``offsets[n]:offsets[n + 1]``, sorted by source, then target.
    source, target : int32 arrays of shape (L,)
    probability : float32 array of shape (L,)
    scores : float64 array of shape (N,)
        Pair scores.
    """

    offsets: NDArray[np.int64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    probability: NDArray[np.float32]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[list[Link]]:
        return map(self.links, range(len(self)))

    def links(self, n: int) -> list[Link]:
        """Return the links of pair `n`, from 0, or from the end if it is negative; IndexError outside."""
        if not -len(self) <= n < len(self):
            raise IndexError(f"expected the number of one of {len(self):,} pairs, from 0, found {n}")
        n %= len(self)
        rows = slice(self.offsets[n], self.offsets[n + 1])
        return [Link(int(s), int(t)) for s, t in zip(self.source[rows], self.target[rows], strict=True)]


def joined_batches(batches: Sequence[AlignedBatch]) -> AlignedBatch:
    """Concatenate batches."""
    starts = np.cumsum([0, *(len(batch.source) for batch in batches)])
    offsets = [batch.offsets[1:] + start for batch, start in zip(batches, starts, strict=False)]
    return AlignedBatch(
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        *(
            np.concatenate([getattr(b, name) for b in batches])
            for name in ("source", "target", "probability", "scores")
        ),
    )
