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

The order of the points matters where two of them rule each other out. This is the order of thot and of
sil-machine. Koehn's pseudo-code goes through the points of the alignment instead, tries the 8 points around
each, and may then keep the other one of two rivals.

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

import numpy as np
from numpy.typing import ArrayLike

from nmtalign.arrays import Flags, Longs
from nmtalign.errors import DataError
from nmtalign.links.alignments import Link
from nmtalign.validation import check_choice

_NEIGHBOR_OFFSETS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
_PAIRS_PER_BLOCK = (
    4096  # pairs that are grown together: long enough to share the loop, small enough to stay in cache
)


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
    number = {cell: n for n, cell in enumerate(grid.cells)}
    around = [
        [number[s + a, t + b] for a, b in _NEIGHBOR_OFFSETS if (s + a, t + b) in number]
        for s, t in grid.cells
    ]
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


_STEPS_OF_METHOD: dict[str, tuple[Callable[[_Grid], None], ...]] = {
    "intersection": (partial(_combine, operation=and_),),
    "union": (partial(_combine, operation=or_),),
    "grow-diag": (_grow_diag,),
    "grow-diag-final": (_grow_diag, partial(_final, linked=and_)),
    "grow-diag-final-and": (_grow_diag, partial(_final, linked=or_)),
}
SYMMETRIZATION_METHODS = tuple(_STEPS_OF_METHOD)


def symmetrize_many(
    forward: Sequence[Iterable[tuple[int, int]]], reverse: Sequence[Iterable[tuple[int, int]]], method: str
) -> list[frozenset[Link]]:
    """Return one set of links for each pair from the links of two directions, both source-target.

    Each set holds the intersection of the two and lies within their union.
    """
    if len(forward) != len(reverse):
        raise DataError(f"expected as many pairs in both directions, found {len(forward)} and {len(reverse)}")
    pairs, sources, targets = _symmetrize(
        _flatten_links(forward), _flatten_links(reverse), len(forward), method
    )
    ends = np.searchsorted(pairs, np.arange(len(forward) + 1)).tolist()
    links = list(map(Link._make, zip(sources.tolist(), targets.tolist(), strict=True)))
    return [frozenset(links[a:b]) for a, b in pairwise(ends)]


def _flatten_links(sets: Sequence[Iterable[tuple[int, int]]]) -> Longs:
    rows = [(n, s, t) for n, links in enumerate(sets) for s, t in links]
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T


def symmetrize_matrices(forward: ArrayLike, reverse: ArrayLike, method: str) -> Flags:
    """Return the symmetrized links of matrices (T, S) or (B, T, S), which are not zero where a link is."""
    both = [np.asarray(matrix, dtype=bool) for matrix in (forward, reverse)]
    if both[0].shape != both[1].shape:
        raise DataError(f"the two directions have different shapes: {both[0].shape} and {both[1].shape}")
    if method in ("intersection", "union"):
        combine = np.logical_and if method == "intersection" else np.logical_or
        return np.asarray(combine(*both))
    count = math.prod(both[0].shape[:-2])
    joined = np.zeros((count, *both[0].shape[-2:]), dtype=bool)  # (B, T, S)
    first, second = (np.stack(matrix.reshape(joined.shape).swapaxes(1, 2).nonzero()) for matrix in both)
    pair, source, target = _symmetrize(first, second, count, method)
    joined[pair, target, source] = True
    return joined.reshape(both[0].shape)


def _symmetrize(forward: Longs, reverse: Longs, count: int, method: str) -> Longs:
    """Return the symmetrized links of `count` pairs, as rows of (3, L): pair, source, target.

    The links that are given are in the order of pairs, those that are returned in that of all three.
    """
    check_choice(method, SYMMETRIZATION_METHODS, "methods to symmetrize")
    chunks = [np.zeros((3, 0), np.int64)]
    for start in range(0, count, _PAIRS_PER_BLOCK):
        ends = start, start + _PAIRS_PER_BLOCK
        sides = [links[:, slice(*np.searchsorted(links[0], ends))] for links in (forward, reverse)]
        chunks.append(_symmetrize_block(sides[0], sides[1], start, method))
    return np.concatenate(chunks, axis=1)


def _symmetrize_block(forward: Longs, reverse: Longs, start: int, method: str) -> Longs:
    """Return the links (3, L) of pairs `start` to `start + _CHUNK`."""
    width = 1 + max(int(links[2].max(initial=0)) for links in (forward, reverse))
    keys = [links[1] * width + links[2] for links in (forward, reverse)]  # by source, then target
    cells = np.unique(np.concatenate(keys))  # (K,)
    bits = []  # of each direction: one integer for each cell, with bit b set where pair b has the cell
    for links, key in zip((forward, reverse), keys, strict=True):
        table = np.zeros((len(cells), _PAIRS_PER_BLOCK), dtype=bool)  # (K, pairs)
        table[np.searchsorted(cells, key), links[0] - start] = True
        packed = np.packbits(table, axis=1, bitorder="little")
        bits.append([int.from_bytes(row.tobytes(), "little") for row in packed])
    positions = [divmod(key, width) for key in cells.tolist()]
    sources, targets = {s: 0 for s, _ in positions}, {t: 0 for _, t in positions}
    grid = _Grid(positions, bits[0], bits[1], [0] * len(positions), sources, targets)
    for step in _STEPS_OF_METHOD[method]:
        step(grid)
    joined = b"".join(integer.to_bytes(_PAIRS_PER_BLOCK // 8, "little") for integer in grid.chosen)
    packed = np.frombuffer(joined, dtype=np.uint8).reshape(-1, _PAIRS_PER_BLOCK // 8)
    pair, cell = np.unpackbits(packed, axis=1, bitorder="little").T.nonzero()  # (pairs, K)
    return np.stack([pair + start, cells[cell] // width, cells[cell] % width])
