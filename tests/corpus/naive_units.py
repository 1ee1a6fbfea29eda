"""Other units of links and values, slowly: with one loop over all pairs of an old and a new unit.

`source` and `target` list, for each old unit of a side, the new units that it overlaps.
"""

from __future__ import annotations

import numpy as np

Overlaps = list[list[int]]


def naive_links(links: dict[tuple[int, int], float], source: Overlaps, target: Overlaps):
    """Return the greatest probability of each link of new units."""
    found: dict[tuple[int, int], float] = {}
    for (s, t), probability in links.items():
        for new in [(own, other) for own in source[s] for other in target[t]]:
            found[new] = max(probability, found.get(new, 0.0))
    return found


def naive_values(
    values: str, weights: np.ndarray, source: Overlaps, target: Overlaps, shape: tuple[int, int]
):
    """Return values (T, S) of new units: the greatest ones, or those of a direction, shared and averaged."""
    if values == "reverse":
        return naive_values("forward", weights.T, target, source, shape[::-1]).T
    found = np.full(shape, np.nan if values == "scores" else 0, weights.dtype)
    for t, new_targets in enumerate(target):
        for new_target in new_targets:
            for s, new_sources in enumerate(source):
                for new_source in new_sources:
                    cell = new_target, new_source
                    if values == "forward":
                        found[cell] += weights[t, s] / weights.dtype.type(len(new_sources))
                    else:
                        found[cell] = np.fmax(found[cell], weights[t, s])
    if values == "forward":
        for new_target in range(shape[0]):
            averaged = sum(new_target in new_targets for new_targets in target)
            found[new_target] /= max(averaged, 1)
    return found
