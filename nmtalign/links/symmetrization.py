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
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import and_, or_

import numpy as np
from numpy.typing import ArrayLike

from nmtalign.arrays import Flags, Longs
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import AlignedBatch, Link
from nmtalign.links.inputs import LinksInput, batch_of_links, check_same_words, iter_links
from nmtalign.names import LinkUnitName, Symmetrization
from nmtalign.validation import check_bool, check_choice, check_same_pairs

_NEIGHBOR_OFFSETS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
_PAIRS_PER_BLOCK = 4096  # many pairs share one loop, and still fit the cache


@dataclass
class _Grid:
    """The cells that any pair of a block uses; bit b of each integer belongs to pair b."""

    cells: list[tuple[int, int]]  # (source, target), in scanning order
    forward: list[int]  # for each cell, the pairs whose forward links have it
    reverse: list[int]
    chosen: list[int]  # for each cell, the pairs whose symmetrized links have it so far
    source_linked: dict[int, int]  # for each source word, the pairs in which it has a link
    target_linked: dict[int, int]

    def add(self, cell: int, pairs: int) -> None:
        """Add a cell to the links of some pairs."""
        source, target = self.cells[cell]
        self.chosen[cell] |= pairs
        self.source_linked[source] |= pairs
        self.target_linked[target] |= pairs


def _combine(grid: _Grid, operation: Callable[[int, int], int]) -> None:
    """Add the intersection (``and_``) or the union (``or_``) of both directions."""
    for cell, (forward, reverse) in enumerate(zip(grid.forward, grid.reverse, strict=True)):
        grid.add(cell, operation(forward, reverse))


def _find_neighbors(cells: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return for each cell the numbers of the cells around it."""
    number = {cell: n for n, cell in enumerate(cells)}
    neighbors = []
    for source, target in cells:
        around = [(source + s, target + t) for s, t in _NEIGHBOR_OFFSETS]
        neighbors.append([number[cell] for cell in around if cell in number])
    return neighbors


def _grow_diag(grid: _Grid) -> None:
    """Add the intersection, then cells of the union next to links; see the head of this module."""
    _combine(grid, and_)
    neighbors = _find_neighbors(grid.cells)
    waiting = []  # for each cell, the pairs that have it in the union, but not yet in the alignment
    for forward, reverse, chosen in zip(grid.forward, grid.reverse, grid.chosen, strict=True):
        waiting.append((forward | reverse) & ~chosen)
    grew = True
    while grew:
        grew = False
        for cell, candidates in enumerate(waiting):
            if not candidates:
                continue
            source, target = grid.cells[cell]
            next_to_link = 0
            for neighbor in neighbors[cell]:
                next_to_link |= grid.chosen[neighbor]
            both_linked = grid.source_linked[source] & grid.target_linked[target]
            added = candidates & next_to_link & ~both_linked
            if added:
                grid.add(cell, added)
                waiting[cell] = candidates & ~added
                grew = True


def _final(grid: _Grid, linked: Callable[[int, int], int]) -> None:
    """Add cells of each direction unless both words (``and_``) or either word (``or_``) is linked."""
    for direction in (grid.forward, grid.reverse):
        for cell, (source, target) in enumerate(grid.cells):
            excluded = linked(grid.source_linked[source], grid.target_linked[target])
            grid.add(cell, direction[cell] & ~excluded)


_STEPS_OF_METHOD: dict[str, tuple[Callable[[_Grid], None], ...]] = {
    "intersection": (partial(_combine, operation=and_),),
    "union": (partial(_combine, operation=or_),),
    "grow-diag": (_grow_diag,),
    "grow-diag-final": (_grow_diag, partial(_final, linked=and_)),
    "grow-diag-final-and": (_grow_diag, partial(_final, linked=or_)),
}
SYMMETRIZATION_METHODS = tuple(_STEPS_OF_METHOD)


def symmetrize(
    forward: LinksInput,
    reverse: LinksInput,
    *,
    method: Symmetrization = "grow-diag-final-and",
    reversed: bool = False,
) -> AlignedBatch:
    """Join the links of two directions, pair by pair.

    Parameters
    ----------
    forward, reverse : AlignedBatch, path, or iterable
        The links of each direction: a batch, a file of Pharaoh lines, or for each pair an aligned pair, an
        alignment, a set of (source, target), or a Pharaoh line.
    method : {"intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"}
        Links of both directions are always kept; the methods differ in which others are added.
    reversed : bool
        Whether the links of `reverse` are (target, source); their positions are swapped.

    Returns
    -------
    AlignedBatch
        The joined links, each with probability 1. If `forward` is a batch, the words are those of its pairs.
        Of two batches, the pair scores are the mean of both, and the unit is that of both. Otherwise the pair
        scores are NaN, because they are unknown.

    Raises
    ------
    UsageError
        If the positions of two batches count different units, such as words and tokens.
    DataError
        If the directions have different numbers of pairs, two batches have pairs of different lengths, or a
        link is not a pair of positions.

    References
    ----------
    Och and Ney 2003; Koehn, Och and Marcu 2003; Koehn et al. 2005.

    Examples
    --------
    >>> import nmtalign as na
    >>> batch = na.symmetrize(["0-0 1-1"], ["0-0 1-1 2-1"])
    >>> batch.links(0)
    [Link(source=0, target=0), Link(source=1, target=1), Link(source=2, target=1)]
    >>> len(na.symmetrize(["0-0 1-1"], ["1-1 1-2"], method="intersection").links(0))
    1
    """
    check_choice(method, SYMMETRIZATION_METHODS, "methods to symmetrize")
    check_bool(reversed, "reversed")
    unit = _common_unit(forward, reverse)
    forward_links = list(iter_links(forward))
    reverse_links: list[Iterable[tuple[int, int]]] = list(iter_links(reverse))
    check_same_pairs(forward, reverse, "links of both directions")
    if reversed:
        reverse_links = [[(s, t) for t, s in links] for links in reverse_links]
    joined = batch_of_links(symmetrize_many(forward_links, reverse_links, method))
    if not isinstance(forward, AlignedBatch):
        return joined
    joined = replace(joined, origin=forward.origin, frame_index=forward.frame_index, unit=unit)
    if not isinstance(reverse, AlignedBatch):
        return joined
    check_same_words(forward, reverse)
    return replace(joined, scores=(forward.scores + reverse.scores) / 2)


def _common_unit(forward: LinksInput, reverse: LinksInput) -> LinkUnitName | None:
    """Return the unit of two batches, None if it is not known of both; UsageError if there are two."""
    if not isinstance(forward, AlignedBatch) or not isinstance(reverse, AlignedBatch):
        return None
    if forward.unit == reverse.unit:
        return forward.unit
    if forward.unit is not None and reverse.unit is not None:
        found = f"found positions of {forward.unit} in `forward`, of {reverse.unit} in `reverse`"
        advice = f"align both with the same unit, such as count={forward.unit!r}"
        raise UsageError(f"expected links of the same unit, {found}; {advice}")
    return None


def symmetrize_many(
    forward: Sequence[Iterable[tuple[int, int]]],
    reverse: Sequence[Iterable[tuple[int, int]]],
    method: Symmetrization,
) -> list[frozenset[Link]]:
    """Return one set of links for each pair from the links of two directions, both source-target.

    Each set contains the intersection of the two and lies within their union.
    """
    if len(forward) != len(reverse):
        found = f"found {len(forward)} and {len(reverse)}"
        raise DataError(f"expected the same number of pairs in both directions, {found}")
    pairs, sources, targets = _symmetrize(
        _flatten_links(forward), _flatten_links(reverse), len(forward), method
    )
    links = list(map(Link, sources.tolist(), targets.tolist()))
    offsets = np.searchsorted(pairs, np.arange(len(forward) + 1)).tolist()
    return [frozenset(links[begin:end]) for begin, end in pairwise(offsets)]


def _flatten_links(sets: Sequence[Iterable[tuple[int, int]]]) -> Longs:
    """Return all links as rows of (3, L): pair, source, target."""
    rows = []
    for pair, links in enumerate(sets):
        rows += [(pair, source, target) for source, target in links]
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T


def symmetrize_matrices(forward: ArrayLike, reverse: ArrayLike, method: Symmetrization) -> Flags:
    """Return the symmetrized links of matrices (T, S) or (B, T, S), whose nonzero cells are links."""
    forward_links = np.asarray(forward, dtype=bool)
    reverse_links = np.asarray(reverse, dtype=bool)
    if forward_links.shape != reverse_links.shape:
        shapes = f"{forward_links.shape} and {reverse_links.shape}"
        raise DataError(f"the two directions have different shapes: {shapes}")
    if method == "intersection":
        return np.asarray(forward_links & reverse_links)
    if method == "union":
        return np.asarray(forward_links | reverse_links)
    *stack_shape, T, S = forward_links.shape
    B = math.prod(stack_shape)
    result = np.zeros((B, T, S), dtype=bool)
    # nonzero gives pair, source and target in the order of all three, if the axes are in this order
    forward_rows = np.stack(forward_links.reshape(B, T, S).swapaxes(1, 2).nonzero())
    reverse_rows = np.stack(reverse_links.reshape(B, T, S).swapaxes(1, 2).nonzero())
    pair, source, target = _symmetrize(forward_rows, reverse_rows, B, method)
    result[pair, target, source] = True
    return result.reshape(forward_links.shape)


def symmetrize_cells(
    cells: Longs, forward: Longs, reverse: Longs, count: int, method: Symmetrization
) -> Flags:
    """Return which of the cells (L,) the symmetrized links of `count` pairs have.

    `cells` (3, L) are pair, source and target, sorted by pair. `forward` and `reverse` are the indices of the
    links of each direction; a cell that is none of these is not marked.
    """
    pair, source, target = cells
    width = 1 + int(target.max(initial=0))
    key = (pair * (1 + int(source.max(initial=0))) + source) * width + target
    joined = _symmetrize(cells[:, forward], cells[:, reverse], count, method)
    joined_key = (joined[0] * (1 + int(source.max(initial=0))) + joined[1]) * width + joined[2]
    directions = np.zeros(len(key), bool)
    directions[forward] = directions[reverse] = True
    return np.asarray(directions & np.isin(key, joined_key))


def _symmetrize(forward: Longs, reverse: Longs, count: int, method: Symmetrization) -> Longs:
    """Return the symmetrized links of `count` pairs, as rows of (3, L): pair, source, target.

    The given links have to be sorted by pair; the returned links are sorted by pair, source and target.
    """
    check_choice(method, SYMMETRIZATION_METHODS, "methods to symmetrize")
    blocks = [np.zeros((3, 0), np.int64)]
    for start in range(0, count, _PAIRS_PER_BLOCK):
        forward_block = _links_of_pairs(forward, start, start + _PAIRS_PER_BLOCK)
        reverse_block = _links_of_pairs(reverse, start, start + _PAIRS_PER_BLOCK)
        blocks.append(_symmetrize_block(forward_block, reverse_block, start, method))
    return np.concatenate(blocks, axis=1)


def _links_of_pairs(links: Longs, first: int, end: int) -> Longs:
    """Return the links (3, L) of some pairs; the links are sorted by pair."""
    begin_row, end_row = np.searchsorted(links[0], (first, end))
    return links[:, begin_row:end_row]


def _symmetrize_block(forward: Longs, reverse: Longs, start: int, method: Symmetrization) -> Longs:
    """Return the links (3, L) of pairs `start` to `start + _PAIRS_PER_BLOCK`."""
    width = 1 + max(int(forward[2].max(initial=0)), int(reverse[2].max(initial=0)))
    forward_keys = forward[1] * width + forward[2]  # order cells by source, then target
    reverse_keys = reverse[1] * width + reverse[2]
    keys = np.unique(np.concatenate([forward_keys, reverse_keys]))  # (cells,)
    cells = [divmod(key, width) for key in keys.tolist()]
    grid = _Grid(
        cells=cells,
        forward=_pack_pairs(np.searchsorted(keys, forward_keys), forward[0] - start, len(keys)),
        reverse=_pack_pairs(np.searchsorted(keys, reverse_keys), reverse[0] - start, len(keys)),
        chosen=[0] * len(cells),
        source_linked={source: 0 for source, _ in cells},
        target_linked={target: 0 for _, target in cells},
    )
    for step in _STEPS_OF_METHOD[method]:
        step(grid)
    joined = b"".join(pairs.to_bytes(_PAIRS_PER_BLOCK // 8, "little") for pairs in grid.chosen)
    packed = np.frombuffer(joined, dtype=np.uint8).reshape(-1, _PAIRS_PER_BLOCK // 8)
    pair, cell = np.unpackbits(packed, axis=1, bitorder="little").T.nonzero()  # of (pairs, cells)
    return np.stack([pair + start, keys[cell] // width, keys[cell] % width])


def _pack_pairs(cell: Longs, pair: Longs, cell_count: int) -> list[int]:
    """Return one integer for each cell; bit b is set if pair b has a link in the cell."""
    table = np.zeros((cell_count, _PAIRS_PER_BLOCK), dtype=bool)  # (cells, pairs)
    table[cell, pair] = True
    packed = np.packbits(table, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]
