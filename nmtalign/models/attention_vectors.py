"""Log likelihood ratios of word pairs from the dot products of their vectors.

The dot product of a key and a query, less half of what either has with all words together, is the logarithm
of how much likelier than chance two words are as translations:

    log r(e, f) = k_e . q_f - (log Z_e + log Z_f) / 2        Z_e = sum over f of p(f) exp(k_e . q_f)

Axes: V vocabulary (word 0 is padding), N words asked for, D dimension.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

HIGHEST = np.float32(40)  # score: exp of it and of its opposite are far from overflow and from zero
CELLS, PAIRS = 1 << 22, 1 << 16  # word pairs scored at a time: all of some words, and chosen ones


def log_ratios(
    vectors: tuple[Floats, Floats],
    norms: tuple[Floats, Floats],
    source: NDArray[np.integer],
    target: NDArray[np.integer],
) -> Floats:
    """Return ``k . q - (log Z_e + log Z_f) / 2`` for pairs of words, given by number, shape (N,).

    Parameters
    ----------
    vectors, norms : pairs of arrays of shapes (V, D) and (V,)
        Of source and target words.
    source, target : int arrays of shape (N,)
    """
    result = np.empty(len(source), dtype=np.float32)
    for at in range(0, len(source), PAIRS):
        e, f = source[at : at + PAIRS], target[at : at + PAIRS]
        scores = np.einsum("nd,nd->n", vectors[0][e], vectors[1][f])
        np.clip(scores, -HIGHEST, HIGHEST, out=scores)
        result[at : at + PAIRS] = scores - (norms[0][e] + norms[1][f]) / 2
    return result


def _exponentials(keys: Floats, queries: Floats) -> Iterator[tuple[slice, Floats]]:
    """Give ``exp(k . q)`` of some keys and all queries, in memory that is used again."""
    width = max(1, CELLS // max(1, len(queries)))
    memory = np.empty((min(width, len(keys)), len(queries)), dtype=np.float32)
    for at in range(0, len(keys), width):
        some = keys[at : at + width]
        scores = memory[: len(some)]
        np.matmul(some, queries.T, out=scores)
        np.clip(scores, -HIGHEST, HIGHEST, out=scores)
        yield slice(at, at + len(some)), np.exp(scores, out=scores)


def log_norms(keys: Floats, queries: Floats, shares: Floats) -> Floats:
    """Return ``log sum over f of p(f) exp(k . q_f)`` for each key.

    Parameters
    ----------
    keys : array of shape (N, D)
    queries : array of shape (V, D)
    shares : array of shape (V,)
        p(f); sums to 1.
    """
    result = np.empty(len(keys), dtype=np.float32)
    for rows, scores in _exponentials(keys, queries):
        result[rows] = scores @ shares
    return np.log(result, out=result)
