"""Slow plain loops for neighbors across two spaces."""

from __future__ import annotations

import numpy as np


def hubness(x: np.ndarray, keys: np.ndarray, k: int = 10) -> float:
    """Mean cosine of x to its k nearest keys."""
    return float(np.mean(sorted((float(x @ y) for y in keys), reverse=True)[:k]))


def csls(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """2 cos(x, y) - r(x) - r(y) for every pair."""
    return np.array(
        [[2 * float(x @ y) - hubness(x, keys) - hubness(y, queries) for y in keys] for x in queries]
    )


def mutual(queries: np.ndarray, keys: np.ndarray) -> set[tuple[int, int]]:
    """Pairs in which each is the nearest of the other."""
    score = csls(queries, keys)
    pairs = set()
    for i in range(len(queries)):
        j = max(range(len(keys)), key=lambda j: score[i, j])
        if max(range(len(queries)), key=lambda n: score[n, j]) == i:
            pairs.add((i, j))
    return pairs
