"""The rounding of the numbers of a page, which the picture of a card shows as well.

Axes: T target words, S source words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

THOUSAND = 1000
MAX_LEVEL = 255
HALF_LEVEL = 0.5 / MAX_LEVEL  # a share is off by at most so much


def pack_weights(weights: NDArray[np.floating], levels: bytearray) -> tuple[float, float, int]:
    """Append weights to `levels` and return their minimum, their maximum and where they begin.

    The (T, S) weights become bytes, row by row. A byte counts 255ths of the range from minimum to maximum,
    so a weight that is read back is off by at most 1/510 of this range.

    >>> levels = bytearray(b"before")
    >>> pack_weights(np.array([[0.0, 0.2, 1.0]]), levels), list(levels[6:])
    ((0.0, 1.0, 6), [0, 51, 255])
    """
    start = len(levels)
    low, high, own_levels = _levels_of(weights)
    levels += own_levels.tobytes()
    return low, high, start


def as_on_page(weights: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return weights as the script of a page reads them back from their levels.

    >>> (255 * as_on_page(np.array([[0.0, 0.25, 1.0]]))).round(3).tolist()
    [[0.0, 64.0, 255.0]]
    """
    low, high, levels = _levels_of(weights)
    return np.asarray(low + (high - low) * levels.astype(float) / MAX_LEVEL, np.float32)


def _levels_of(weights: NDArray[np.floating]) -> tuple[float, float, NDArray[np.uint8]]:
    """Return the minimum and the maximum of weights, and their levels from 0 to 255 between these."""
    if not weights.size:
        return 0.0, 1.0, np.zeros(weights.shape, np.uint8)
    low, high = float(f"{weights.min():.6g}"), float(f"{weights.max():.6g}")
    if abs(low) < 1e-6 * high:
        low = 0.0
    weight_range = high - low
    if weight_range < np.finfo(float).tiny:  # the quotient below would overflow
        weight_range = 1.0
    steps = (weights.astype(float) - low) * (MAX_LEVEL / weight_range)
    np.maximum(steps, 0, out=steps)
    np.minimum(steps, MAX_LEVEL, out=steps)
    return low, high, np.rint(steps, out=steps).astype(np.uint8)


def in_thousandths(probability: float) -> int:
    """Return a probability in thousandths, as the page has those of links."""
    return round(THOUSAND * probability)


def null_thousandths(probabilities: NDArray[np.floating] | None) -> list[int] | None:
    """Return null probabilities in thousandths; None without a null word, or if all would be 0."""
    if probabilities is None or not (probabilities > 0.5 / THOUSAND).any():
        return None
    thousandths: list[int] = np.rint(THOUSAND * probabilities.astype(float)).astype(int).tolist()
    return thousandths


def null_levels(thousandths: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return null probabilities as levels from 0 to 255."""
    levels: NDArray[np.uint8] = np.rint(thousandths * (MAX_LEVEL / THOUSAND)).astype(np.uint8)
    return levels


def nulls_on_page(probabilities: NDArray[np.floating] | None) -> NDArray[np.floating] | None:
    """Return null probabilities as the script of a page reads them back; None as :func:`null_thousandths`."""
    thousandths = null_thousandths(probabilities)
    if thousandths is None:
        return None
    return null_levels(np.array(thousandths, dtype=float)).astype(float) / MAX_LEVEL
