"""Slow, plain versions of extraction, symmetrization and evaluation, one cell at a time."""

from __future__ import annotations


def symmetrize_naively(forward, reverse, method):
    """Grow as the docstring of nmtalign.links.selection says, on sets of (source, target)."""
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


def choose_naively(weights, own):
    """Best position of each row (own=0) or column (own=1) as (t, s) cells; ties by the written rule."""
    T, S = len(weights), len(weights[0])
    cells = [(t, s) for t in range(T) for s in range(S)]
    chosen = set()
    for line in range((T, S)[own]):
        candidates = [cell for cell in cells if cell[own] == line]
        chosen.add(
            min(candidates, key=lambda cell: (-weights[cell[0]][cell[1]], _distance(cell, T, S), cell))
        )
    return chosen


def _distance(cell, T, S):
    return abs((2 * cell[1] + 1) * T - (2 * cell[0] + 1) * S)


def itermax_naively(weights, iterations, discount):
    """SimAlign's algorithm 1, cell by cell."""
    T, S = len(weights), len(weights[0])
    links = choose_naively(weights, 0) & choose_naively(weights, 1)
    for _ in range(iterations - 1):
        rows, columns = {t for t, _ in links}, {s for _, s in links}
        if min(T, S) <= 2 or len(rows) == T or len(columns) == S:
            break
        factor = [[(1, discount, 0)[(t in rows) + (s in columns)] for s in range(S)] for t in range(T)]
        changed = [[weights[t][s] * factor[t][s] for s in range(S)] for t in range(T)]
        more = choose_naively(changed, 0) & choose_naively(changed, 1)
        links |= {(t, s) for t, s in more if factor[t][s]}
    return links


def count_naively(links, sure, possible):
    """|A|, |S|, |A and S|, |A and P| by looking at every link."""
    in_sure = sum(link in sure for link in links)
    in_possible = sum(link in possible for link in links)
    return len(links), len(sure), in_sure, in_possible
