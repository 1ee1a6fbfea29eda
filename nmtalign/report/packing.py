"""The pairs of a page, packed: numbers as levels, which the picture of a card shows as well, and columns.

Columns compress to two thirds of the same pairs in rows; `assets/rows.js` makes rows of them again. A column
has a value for each pair. The keys are those of the rows, with these differences:

* s, t are the words joined by ends of lines, None without words;
* ls, lt, lp are the source positions, the target positions and the probabilities of the links;
* m has no places, because the weights of a view are joined, pair by pair;
* nt, ns are 1 if null probabilities follow the weights, as levels from 0 to 255;
* bf, br have only the words whose best partner is not that of the rounded weights.

Axes: T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

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


UNCHANGED = ("n", "h", "g", "o", "c", "p", "a", "u")
NULLS = ("nt", "ns")


def pairs_in_columns(rows: Sequence[Mapping[str, Any]], levels: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the columns of pairs, and their levels in the order in which the script reads them."""
    columns: dict[str, Any] = {key: [row[key] for row in rows] for key in UNCHANGED}
    for side in ("s", "t"):
        columns[side] = ["\n".join(row[side]) if row[side] else None for row in rows]
    for place, key in enumerate(("ls", "lt", "lp")):
        columns[key] = [row["l"][place::3] for row in rows]
    columns["m"] = [{view: scale[:2] for view, scale in row["m"].items()} for row in rows]
    for key in NULLS:
        columns[key] = [int(row[key] is not None) for row in rows]
    all_levels = np.frombuffer(levels, np.uint8)
    columns["bf"] = [_hidden_partners(row, all_levels, "forward") for row in rows]
    columns["br"] = [_hidden_partners(row, all_levels, "reverse") for row in rows]
    return columns, _reordered_levels(rows, levels)


def _reordered_levels(rows: Sequence[Mapping[str, Any]], levels: bytes) -> bytes:
    """Return the levels view by view, then those of the null words: similar levels compress better together.

    `rows` are those of :func:`pairs_in_columns`; ``row["m"][view]`` has the place of the levels of a view.
    """
    views = dict.fromkeys(view for row in rows for view in row["m"])
    parts: list[bytes] = []
    for view in views:
        for row in rows:
            if view in row["m"]:
                start = row["m"][view][2]
                parts.append(levels[start : start + len(row["s"]) * len(row["t"])])
    for key in NULLS:
        thousandths = np.array(list(chain.from_iterable(row[key] or () for row in rows)), dtype=float)
        parts.append(null_levels(thousandths).tobytes())
    return b"".join(parts)


def _hidden_partners(row: Mapping[str, Any], levels: NDArray[np.uint8], view: str) -> list[int]:
    """Return the words whose best partner is not that of the rounded weights: position, partner, and so on.

    The script finds the first of the largest weights, and no partner where the null word is likelier.
    """
    best, nulls = (row["bf"], row["nt"]) if view == "forward" else (row["br"], row["ns"])
    low, high, start = row["m"].get(view, row["m"]["combined"])
    T, S = len(row["t"]), len(row["s"])
    if T == 0 or S == 0:
        return []
    cells = levels[start : start + T * S].reshape(T, S)
    if view == "reverse":
        cells = cells.T
    found = cells.argmax(axis=1)
    if nulls is not None:
        largest = low + ((high - low) * cells.max(axis=1).astype(float)) / MAX_LEVEL
        found[null_levels(np.array(nulls, dtype=float)) / MAX_LEVEL > largest] = -1
    hidden = np.flatnonzero(found != best).tolist()
    return list(chain.from_iterable((position, best[position]) for position in hidden))
