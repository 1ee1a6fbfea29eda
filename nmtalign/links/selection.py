"""Selection of links: which cells of a matrix of posteriors or attention weights become links.

Every function of the first part takes weights of shape (T, S), or (B, T, S) for B pairs of the same lengths,
and returns a boolean array of the same shape. Nothing else is needed, so the weights can come from anywhere.

Ties: of equal weights the cell nearest to the diagonal wins, by the distance |(s + 1/2)/S - (t + 1/2)/T|;
of two equally near cells the one with the lower position.

**Symmetrization** joins the links of two directions: intersection, union, grow-diag and its final steps.

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

from nmtalign.arrays import Flags, Longs, Reals
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import AlignedBatch, Link
from nmtalign.links.inputs import LinksInput, batch_of_links, check_same_words, iter_links
from nmtalign.names import LinkUnitName, Symmetrization
from nmtalign.validation import check_bool, check_choice, check_same_pairs

DEFAULT_THRESHOLD = 0.55  # minimum joint probability of a link; chosen on the development sets
DEFAULT_SHARE = 0.5  # minimum share of a link in a plan of optimal transport

OneLink = tuple[bool, bool]  # whether each source word, and each target word, has at most one link
ANY_LINKS: OneLink = (False, False)


def _as_weights(weights: ArrayLike) -> Reals:
    matrix = np.asarray(weights)
    if matrix.ndim not in (2, 3):
        raise DataError(f"expected weights of shape (T, S) or (B, T, S), found {matrix.shape}")
    if not np.issubdtype(matrix.dtype, np.floating):
        matrix = matrix.astype(np.float64)
    if np.isnan(matrix).any():
        raise DataError("expected numbers as weights, found NaN")
    return matrix


def best_cells(weights: Reals, axis: int, source_lengths: Longs, target_lengths: Longs) -> Flags:
    """Mark the greatest cell of each row (axis 1) or column (axis 0) in a padded stack (T, S, B) of matrices.

    Cells beyond the lengths (B,) are padding and are never marked, nor are cells of weight -inf.
    """
    T, S, B = weights.shape
    if weights.size == 0:
        return np.zeros((T, S, B), dtype=bool)
    source_padding = np.arange(S)[:, None] >= source_lengths  # (S, B)
    target_padding = np.arange(T)[:, None] >= target_lengths  # (T, B)
    is_padding = source_padding | target_padding[:, None]  # (T, S, B)
    inner_weights = np.where(is_padding, -np.inf, weights) if is_padding.any() else weights
    maximum = inner_weights.max(axis=axis, keepdims=True)
    best = (inner_weights == maximum) & (maximum > -np.inf)
    # rows (or columns) with ties, and their pairs, each (N,); of the best cells, the nearest one remains
    line, b = np.nonzero(best.sum(axis=axis, dtype=np.int32) > 1)
    if len(line):
        t, s = (line[:, None], np.arange(S)) if axis == 1 else (np.arange(T), line[:, None])
        lengths = source_lengths[b][:, None], target_lengths[b][:, None]
        distance = np.abs((2 * s + 1) * lengths[1] - (2 * t + 1) * lengths[0])  # (N, S) or (N, T)
        cells = (t, s, b[:, None])
        nearest = np.where(best[cells], distance, np.iinfo(np.int64).max).argmin(axis=1)
        best[cells] = np.arange(distance.shape[1]) == nearest[:, None]
    return np.asarray(best, dtype=bool)


def best_of_words(
    links: tuple[Longs, Longs, Longs], weights: Reals, lengths: tuple[Longs, Longs], one_link: OneLink
) -> Flags:
    """Mark the links, each (pair, source, target) of shape (L,), that are the best of their words.

    Links are compared by their `weights`, over the words of each side of which `one_link` is true: with both
    sides, a link remains if it is the best of both of its words. `lengths` are the source and target lengths
    of the pair of each link, each (L,).
    """
    pair, source, target = links
    S, T = lengths
    distance = np.abs((2 * source + 1) * T - (2 * target + 1) * S)
    order = np.lexsort((target, source, distance, -weights))
    best = np.ones(len(pair), dtype=bool)
    for word, is_limited in zip((source, target), one_link, strict=True):
        if is_limited:
            key = pair * (word.max(initial=0) + 1) + word
            _, first = np.unique(key[order], return_index=True)
            is_first = np.zeros(len(pair), dtype=bool)
            is_first[order[first]] = True
            best &= is_first
    return np.asarray(best)


def mutual_argmax(weights: ArrayLike) -> Flags:
    """Mutual argmax: mark the cells that are the greatest of their row and the greatest of their column."""
    matrix = _as_weights(weights)
    T, S = matrix.shape[-2:]
    stacked = np.moveaxis(matrix.reshape(math.prod(matrix.shape[:-2]), T, S), 0, -1)  # (T, S, B)
    lengths = np.full(stacked.shape[-1], S), np.full(stacked.shape[-1], T)
    best = best_cells(stacked, 0, *lengths) & best_cells(stacked, 1, *lengths)
    return np.asarray(np.moveaxis(best, -1, 0).reshape(matrix.shape))


def itermax(weights: ArrayLike, *, iterations: int = 2, discount: float = 0.9) -> Flags:
    """Itermax: mutual argmax, iterated with discounted weights.

    After the first iteration, cells whose row and column both have a link are excluded, cells where one of
    the two has a link are multiplied by `discount`, and the mutual best cells are added. No iteration follows
    when all source words or all target words are linked, or when either side has two words or fewer (Jalili
    Sabet, Dufter, Yvon and Schütze 2020, "SimAlign", algorithm 1). Weights are not negative, so that
    discounting lowers them: probabilities, or (1 + cosine) / 2.
    """
    matrix = _as_weights(weights)
    if (matrix < 0).any():
        raise DataError("itermax needs weights that are not negative; use (1 + cosine) / 2 for cosines")
    links = mutual_argmax(matrix)
    for _ in range(iterations - 1 if min(matrix.shape[-2:]) > 2 else 0):
        target_linked = np.any(links, axis=-1, keepdims=True)  # (..., T, 1)
        source_linked = np.any(links, axis=-2, keepdims=True)  # (..., 1, S)
        either_linked = target_linked | source_linked
        both_linked = target_linked & source_linked
        factor = np.where(either_linked, np.where(both_linked, 0, discount), 1)
        more = mutual_argmax(matrix * factor)
        some_target_free = ~np.all(target_linked, axis=-2, keepdims=True)
        some_source_free = ~np.all(source_linked, axis=-1, keepdims=True)
        links |= more & ~both_linked & some_target_free & some_source_free
    return links


def match(weights: ArrayLike) -> Flags:
    """Maximum-weight bipartite matching: one-to-one links with the greatest sum of weights (Melamed 2000).

    Cells with weight 0 or less are never linked. Of matchings with equal sums, the one nearest to the
    diagonal is taken; a sum that is smaller by more than 1e-9 of the greatest weight is never taken.
    """
    from scipy.optimize import linear_sum_assignment

    matrix = _as_weights(weights)
    T, S = matrix.shape[-2:]
    chosen = np.zeros(matrix.shape, dtype=bool)
    if matrix.size == 0:
        return chosen
    s = 2 * np.arange(S) + 1  # twice the middle of each cell
    t = 2 * np.arange(T)[:, None] + 1
    distance = np.abs(s * T - t * S)  # the unit is 1/(2 S T), so that equal distances are exactly equal
    gain = np.maximum(matrix, 0).astype(np.float64)
    gain -= 1e-9 / (2 * S * T * min(S, T)) * gain.max(axis=(-2, -1), keepdims=True) * distance
    for pair_gain, links in zip(gain.reshape(-1, T, S), chosen.reshape(-1, T, S), strict=True):
        links[linear_sum_assignment(pair_gain, maximize=True)] = True
    return chosen & (matrix > 0)


def sinkhorn(weights: ArrayLike, *, regularization: float = 0.1, iterations: int = 100) -> Reals:
    """Return the plan of entropic optimal transport between the source and the target words.

    Minimizes ``sum(P * (max(weights) - weights)) - regularization * entropy(P)``, where every one of the
    T rows of P sums to 1/T, in the limit of many iterations, and every one of the S columns to 1/S (Cuturi
    2013, "Sinkhorn distances", algorithm 1, in the logarithm). The regularization is in the units of the
    weights; the smaller, the nearer to a one-to-one plan.
    """
    plan = _as_weights(weights).astype(np.float64) / regularization
    if plan.size == 0:
        return plan
    T, S = plan.shape[-2:]
    for _ in range(iterations):
        plan -= _logsumexp(plan, -1) + np.log(T)
        plan -= _logsumexp(plan, -2) + np.log(S)
    return np.asarray(np.exp(plan))


def _logsumexp(matrix: Reals, axis: int) -> Reals:
    maximum = matrix.max(axis=axis, keepdims=True)
    return np.asarray(maximum + np.log(np.exp(matrix - maximum).sum(axis=axis, keepdims=True)))


def transport(weights: ArrayLike, *, threshold: float = DEFAULT_SHARE) -> Flags:
    """Extraction by optimal transport: link the cells that carry much of the plan.

    A cell of :func:`sinkhorn`'s plan can carry at most min(1/S, 1/T); a cell that carries `threshold` of
    that or more becomes a link (Dou and Neubig 2021; Arase et al. 2023).
    """
    plan = sinkhorn(weights)
    return np.asarray(plan * max(plan.shape[-2:]) >= threshold)


def adjacent_link_cells(links: Flags) -> tuple[Flags, Flags, Flags, Flags]:
    """Return the cells (T, S, ...) that link a word without a link to the partner of its neighbor.

    In the first array, the word without a link is the target word after the linked one; in the others, it is
    the target word before it, the source word after it, and the source word before it.
    """
    free_target = ~np.asarray(links.any(axis=1, keepdims=True))
    free_source = ~np.asarray(links.any(axis=0, keepdims=True))
    after, before, source_after, source_before = np.zeros((4, *links.shape), dtype=bool)
    after[1:] = links[:-1] & free_target[1:]
    before[:-1] = links[1:] & free_target[:-1]
    source_after[:, 1:] = links[:, :-1] & free_source[:, 1:]
    source_before[:, :-1] = links[:, 1:] & free_source[:, :-1]
    return after, before, source_after, source_before


# --- symmetrization ------------------------------------------------------------------------------

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
    method: Symmetrization = "grow-diag-final-and",
    *,
    reversed: bool = False,
) -> AlignedBatch:
    """Join the links of two directions, pair by pair.

    Parameters
    ----------
    forward, reverse : AlignedBatch, path, or iterable
        The links of each direction: a batch, the file of one, or of Pharaoh lines, or for each pair an
        aligned pair, an alignment, a set of (source, target), or a Pharaoh line.
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
