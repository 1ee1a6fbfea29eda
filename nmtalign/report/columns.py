"""The pairs of a page in columns, which compress to two thirds of the same pairs in rows.

`assets/rows.js` makes rows of the columns again. A column has a value for each pair. The keys are those
of the rows, with these differences:

* s, t are the words joined by ends of lines, None without words;
* ls, lt, lp are the source positions, the target positions and the probabilities of the links;
* m has no places, because the weights of a view are joined, pair by pair;
* nt, ns are 1 if null probabilities follow the weights, as levels from 0 to 255;
* bf, br have only the words whose best partner is not that of the rounded weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.report.levels import MAX_LEVEL, null_levels

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
