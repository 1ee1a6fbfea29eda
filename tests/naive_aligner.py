"""Attention over word vectors in plain loops, one cell after the other."""

from __future__ import annotations

import math


def naive_scores(source, target, *, scale, unit):
    """Scores [t][s] of two lists of vectors."""

    def shortened(vector):
        length = math.sqrt(sum(x * x for x in vector)) if unit else 1.0
        return [x / length for x in vector] if length else vector

    return [
        [scale * sum(a * b for a, b in zip(shortened(t), shortened(s), strict=True)) for s in source]
        for t in target
    ]


def naive_softmax(row):
    powers = [math.exp(x - max(row)) for x in row]
    return [x / sum(powers) for x in powers]


def naive_joint(scores):
    """sqrt(p(s|t) p(t|s)) of scores [t][s]."""
    rows = [naive_softmax(row) for row in scores]
    columns = [naive_softmax(column) for column in zip(*scores, strict=True)]
    return [[math.sqrt(rows[t][s] * columns[s][t]) for s in range(len(rows[0]))] for t in range(len(rows))]


def naive_mutual(scores, same):
    """Links (s, t) of mutual best cells; ties to the diagonal, then to the lower position.

    `same(a, b)` says whether two scores count as equal.
    """
    T, S = len(scores), len(scores[0])

    def distance(t, s):
        return abs((2 * s + 1) * T - (2 * t + 1) * S)

    def best(cells):
        top = max(scores[t][s] for t, s in cells)
        tied = [(distance(t, s), t, s) for t, s in cells if same(scores[t][s], top)]
        return min(tied)[1:]

    forward = {best([(t, s) for s in range(S)]) for t in range(T)}
    reverse = {best([(t, s) for t in range(T)]) for s in range(S)}
    return {(s, t) for t, s in forward & reverse}
