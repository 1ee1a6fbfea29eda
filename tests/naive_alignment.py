"""Slow, plain versions of extraction, symmetrisation and evaluation, one cell at a time."""

from __future__ import annotations


def symmetrize_naively(forward, reverse, method):
    """Grow as the docstring of nmtalign.alignment.symmetrization says, on sets of (source, target)."""
    chosen = set(forward & reverse)
    if method == "union":
        return frozenset(forward | reverse)
    if method == "intersection":
        return frozenset(chosen)

    def free_source(s):
        return all(a != s for a, _ in chosen)

    def free_target(t):
        return all(b != t for _, b in chosen)

    before = None
    while before != chosen:
        before = set(chosen)
        for s, t in sorted(forward | reverse):
            touches = any(max(abs(a - s), abs(b - t)) == 1 for a, b in chosen)
            if (s, t) not in chosen and touches and (free_source(s) or free_target(t)):
                chosen.add((s, t))
    for direction in (forward, reverse):
        for s, t in sorted(direction):
            if (method == "grow-diag-final" and (free_source(s) or free_target(t))) or (
                method == "grow-diag-final-and" and free_source(s) and free_target(t)
            ):
                chosen.add((s, t))
    return frozenset(chosen)
