"""Selection of links: which cells of a matrix of posteriors or attention weights become links.

Every function takes weights of shape (T, S), or (B, T, S) for B pairs of the same lengths, and returns a
boolean array of the same shape. Nothing else is needed, so the weights can come from anywhere.

Ties: of equal weights the cell nearest to the diagonal wins, by the distance |(s + 1/2)/S - (t + 1/2)/T|;
of two equally near cells the one with the lower position.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nmtalign.arrays import Flags, Longs, Reals
from nmtalign.errors import DataError

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
