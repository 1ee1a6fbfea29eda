"""Symmetrization of the links of two directions: intersection, union, grow-diag and its final steps.

GROW-DIAG(forward, reverse)                          (Koehn, Och and Marcu 2003; Koehn et al. 2005)
    alignment = forward ∩ reverse
    repeat until nothing is added
        for each point of forward ∪ reverse that is not in the alignment, by source, then target word
            if one of the 8 points around it is in the alignment
               and (its source word or its target word has no link yet): add it
FINAL(direction)                                     forward first, then reverse
    for each point of the direction, by source, then target word
        if its source word or its target word has no link yet  (-and: neither has one): add it

The order of the points matters where two of them rule each other out. This is the order of fast_align's
``atools``, of thot and of sil-machine. Koehn's pseudo-code and Moses' ``symal`` go through the points of the
alignment instead and try the 8 points around each, and may then keep the other one of two rivals.

Many pairs are grown at once, bit-sliced: a cell (source, target) is one long integer with one bit for each
pair, so a step for thousands of pairs is a handful of integer operations, in the very order above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import and_, or_
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import Alignment, Link

_AROUND = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
_CHUNK = 4096  # pairs that are grown together: long enough to share the loop, small enough to stay in cache

FlatLinks = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # pair, source, target
Links = TypeVar("Links", Alignment, frozenset[Link])


@dataclass
class _Grid:
    """Cells that any pair uses, in scanning order; bit b of an integer belongs to pair b."""

    cells: list[tuple[int, int]]
    forward: list[int]
    reverse: list[int]
    chosen: list[int]
    source_linked: dict[int, int]
    target_linked: dict[int, int]

    def add(self, cell: int, pairs: int) -> None:
        source, target = self.cells[cell]
        self.chosen[cell] |= pairs
        self.source_linked[source] |= pairs
        self.target_linked[target] |= pairs


def _combine(grid: _Grid, operation: Callable[[int, int], int]) -> None:
    for cell, (forward, reverse) in enumerate(zip(grid.forward, grid.reverse, strict=True)):
        grid.add(cell, operation(forward, reverse))


def _grow_diag(grid: _Grid) -> None:
    _combine(grid, and_)
    place = {cell: index for index, cell in enumerate(grid.cells)}
    around = [[place[s + a, t + b] for a, b in _AROUND if (s + a, t + b) in place] for s, t in grid.cells]
    waiting = [(f | r) & ~c for f, r, c in zip(grid.forward, grid.reverse, grid.chosen, strict=True)]
    grew = True
    while grew:
        grew = False
        for cell, candidates in enumerate(waiting):
            if not candidates:
                continue
            source, target = grid.cells[cell]
            near = 0
            for neighbor in around[cell]:
                near |= grid.chosen[neighbor]
            added = candidates & near & ~(grid.source_linked[source] & grid.target_linked[target])
            if added:
                grid.add(cell, added)
                waiting[cell] = candidates & ~added
                grew = True


def _final(grid: _Grid, linked: Callable[[int, int], int]) -> None:
    """Add points whose words are not yet `linked`: both of them, or with ``or_`` either of them."""
    for direction in (grid.forward, grid.reverse):
        for cell, (source, target) in enumerate(grid.cells):
            grid.add(cell, direction[cell] & ~linked(grid.source_linked[source], grid.target_linked[target]))


_STEPS: dict[str, tuple[Callable[[_Grid], None], ...]] = {
    "intersection": (partial(_combine, operation=and_),),
    "union": (partial(_combine, operation=or_),),
    "grow-diag": (_grow_diag,),
    "grow-diag-final": (_grow_diag, partial(_final, linked=and_)),
    "grow-diag-final-and": (_grow_diag, partial(_final, linked=or_)),
}
METHODS = tuple(_STEPS)


def symmetrize(forward: Links, reverse: Links, method: str = "grow-diag-final-and") -> Links:
    """Return one set of links from the links of two directions.

    Parameters
    ----------
    forward, reverse : Alignment, or set of (source, target)
        Both as source-target links; `reverse` is what the other direction found, already turned round.
    method : {"intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"}

    Returns
    -------
    Alignment or frozenset of Link
        Holds the intersection of the two and lies within their union.

    Raises
    ------
    UsageError
        If there is no such method.
    DataError
        If the two alignments are of different lengths.

    Examples
    --------
    >>> forward, reverse = frozenset({Link(0, 0), Link(1, 1)}), frozenset({Link(0, 0), Link(2, 1)})
    >>> sorted(tuple(link) for link in symmetrize(forward, reverse, "grow-diag"))
    [(0, 0), (1, 1), (2, 1)]
    """
    lengths = [(a.source_length, a.target_length) for a in (forward, reverse) if isinstance(a, Alignment)]
    if len(set(lengths)) > 1:
        raise DataError(f"the two directions are of different lengths (source, target): {lengths}")
    (links,) = symmetrize_many([frozenset(forward)], [frozenset(reverse)], method)
    return Alignment(links, *lengths[0]) if isinstance(forward, Alignment) else links  # type: ignore[return-value]


def symmetrize_many(
    forward: Sequence[Iterable[tuple[int, int]]], reverse: Sequence[Iterable[tuple[int, int]]], method: str
) -> list[frozenset[Link]]:
    """Return :func:`symmetrize` of each pair of link sets, many pairs at once."""
    if len(forward) != len(reverse):
        raise DataError(f"expected as many pairs in both directions, found {len(forward)} and {len(reverse)}")
    pairs, sources, targets = symmetrize_flat(_flat(forward), _flat(reverse), len(forward), method)
    ends = np.searchsorted(pairs, np.arange(len(forward) + 1)).tolist()
    links = list(map(Link._make, zip(sources.tolist(), targets.tolist(), strict=True)))
    return [frozenset(links[a:b]) for a, b in pairwise(ends)]


def _flat(sets: Sequence[Iterable[tuple[int, int]]]) -> FlatLinks:
    rows = [(n, s, t) for n, links in enumerate(sets) for s, t in links]
    pair, source, target = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return pair, source, target


def symmetrize_matrices(forward: ArrayLike, reverse: ArrayLike, method: str) -> NDArray[np.bool_]:
    """Return :func:`symmetrize` of boolean matrices.

    Parameters
    ----------
    forward, reverse : array of shape (T, S) or (B, T, S)
        Non-zero where a direction has a link.

    Returns
    -------
    array of the same shape
        True where the joined alignment has a link.

    Examples
    --------
    >>> symmetrize_matrices([[1, 0], [0, 1]], [[1, 1], [0, 0]], "intersection").astype(int)
    array([[1, 0],
           [0, 0]])
    """
    both = [np.asarray(matrix, dtype=bool) for matrix in (forward, reverse)]
    if both[0].shape != both[1].shape:
        raise DataError(f"the two directions have different shapes: {both[0].shape} and {both[1].shape}")
    if method in ("intersection", "union"):
        combine = np.logical_and if method == "intersection" else np.logical_or
        return np.asarray(combine(*both))
    count = math.prod(both[0].shape[:-2])
    first, second = (matrix.reshape(count, *matrix.shape[-2:]).nonzero() for matrix in both)
    pair, source, target = symmetrize_flat(
        (first[0], first[2], first[1]), (second[0], second[2], second[1]), count, method
    )
    joined = np.zeros((count, *both[0].shape[-2:]), dtype=bool)  # (B, T, S)
    joined[pair, target, source] = True
    return joined.reshape(both[0].shape)


def symmetrize_flat(forward: FlatLinks, reverse: FlatLinks, count: int, method: str) -> FlatLinks:
    """Return :func:`symmetrize` of `count` pairs whose links are flat arrays.

    Parameters
    ----------
    forward, reverse : (pair, source, target) integer arrays of shape (L,)
        Sorted by pair; pairs count from 0.

    Returns
    -------
    (pair, source, target) integer arrays
        Sorted by pair, then source, then target.
    """
    if method not in _STEPS:
        raise UsageError(f"there is no method {method!r}; choose one of {', '.join(METHODS)}")
    parts = [
        _symmetrize_chunk(_part(forward, start), _part(reverse, start), method)
        for start in range(0, count, _CHUNK)
    ]
    shifted = [(pair + n * _CHUNK, source, target) for n, (pair, source, target) in enumerate(parts)]
    empty = np.zeros(0, dtype=np.int64)
    pair, source, target = (np.concatenate(column) for column in zip(*shifted or [(empty,) * 3], strict=True))
    return pair, source, target


def _part(links: FlatLinks, start: int) -> FlatLinks:
    """Return the links of pairs `start` to `start + _CHUNK`, counted from `start`."""
    chosen = slice(*np.searchsorted(links[0], (start, start + _CHUNK)))
    return links[0][chosen] - start, links[1][chosen], links[2][chosen]


def _symmetrize_chunk(forward: FlatLinks, reverse: FlatLinks, method: str) -> FlatLinks:
    width = 1 + max((int(links[2].max()) for links in (forward, reverse) if len(links[2])), default=0)
    keys = [links[1] * width + links[2] for links in (forward, reverse)]  # by source, then target
    cells = np.unique(np.concatenate(keys))  # (K,)
    bits = [
        _sliced(links[0], np.searchsorted(cells, key), len(cells))
        for links, key in zip((forward, reverse), keys, strict=True)
    ]
    places = [divmod(key, width) for key in cells.tolist()]
    sources, targets = dict.fromkeys((s for s, _ in places), 0), dict.fromkeys((t for _, t in places), 0)
    grid = _Grid(places, bits[0], bits[1], [0] * len(places), sources, targets)
    for step in _STEPS[method]:
        step(grid)
    pair, cell = _unsliced(grid.chosen).T.nonzero()
    return pair, cells[cell] // width, cells[cell] % width


def _sliced(pair: NDArray[np.int64], cell: NDArray[np.intp], count: int) -> list[int]:
    """Return one integer for each cell, with bit b set where pair b has the cell."""
    table = np.zeros((count, _CHUNK), dtype=bool)  # (K, pairs)
    table[cell, pair] = True
    packed = np.packbits(table, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _unsliced(integers: list[int]) -> NDArray[np.uint8]:
    data = b"".join(integer.to_bytes(_CHUNK // 8, "little") for integer in integers)
    packed = np.frombuffer(data, dtype=np.uint8).reshape(-1, _CHUNK // 8)
    return np.unpackbits(packed, axis=1, bitorder="little")  # (K, pairs)
