"""The data of a page that its script draws: pairs in columns, whose numbers are packed as levels.

The picture of a card shows the same rounded numbers. Columns compress to two thirds of the same pairs in
rows; `assets/rows.js` makes rows of them again. A column has a value for each pair. The keys are those of the
rows (see :func:`_pair_data`), with these differences:

* s, t are the words joined by ends of lines, None without words;
* ls, lt, lp are the source positions, the target positions and the probabilities of the links;
* m has no places, because the weights of a view are joined, pair by pair;
* nt, ns are 1 if null probabilities follow the weights, as levels from 0 to 255;
* bf, br have only the words whose best partner is not that of the rounded weights.

Axes: T target words, S source words.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.display import visible
from nmtalign.errors import UsageError
from nmtalign.links.gold import pair_fingerprint
from nmtalign.links.scoring import Counts
from nmtalign.report.page_content import (
    EMPTY_PAIR,
    SamplePair,
    best_sources,
    best_targets,
    distributions,
    example_with_crossing,
    headline,
    lexicon_rows,
    min_posterior,
    most_instructive,
    names_of_sides,
    probabilities_in_order,
    summarize,
)

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


# --- the data of pairs ----------------------------------------------------------------------------


def report_data(pairs: Sequence[SamplePair]) -> dict[str, Any]:
    """Return the data that the script draws; the short keys of pairs are explained in :func:`_pair_data`."""
    data, levels = data_and_levels(pairs)
    return data | {"weights": compress_levels(levels)}


def data_and_levels(pairs: Sequence[SamplePair]) -> tuple[dict[str, Any], bytes]:
    """Return the data that the script draws, and the levels of the weights of all pairs."""
    numbers = {pair.line for pair in pairs}
    if len(numbers) < len(pairs):
        raise UsageError("two pairs of the report have the same number; numbers must be unique")
    if len({tuple(pair.others) for pair in pairs}) > 1:
        raise UsageError("expected all pairs of a report to show the same other systems, in the same order")
    others = list(pairs[0].others) if pairs else []
    aligned = pairs[0].aligned if pairs else EMPTY_PAIR
    with_gold = any(pair.gold is not None for pair in pairs)
    parts = dict.fromkeys(name for pair in pairs for name in pair.parts)
    statistics = summarize(pairs)
    levels = bytearray()
    first = most_instructive(pairs)
    shown = [_pair_data(pair, levels) for pair in pairs]
    directions = [name for name in ("forward", "reverse") if any(name in pair["m"] for pair in shown)]
    data = {
        "headline": headline(statistics),
        "settings": aligned.description,
        "caption": aligned.matrix.caption,
        "rule": {
            "name": aligned.extraction,
            "threshold": min_posterior(aligned),
            "second": aligned.second,
        },
        "gold": with_gold,
        "languages": aligned.languages,
        "names": names_of_sides(aligned.languages),
        "others": [visible(name) for name in others],
        "compare": "gold" if with_gold else "0" if others else "none",
        "views": ["combined", *directions, *parts],
        "usual": aligned.default_values,
        "parts": "attention" if aligned.scores is None else "posterior",  # weights of heads, or of scorers
        "summary": [statistic[:3] for statistic in statistics],
        "example": example_with_crossing(pairs),
        "first": first and (first[0], *first[1]),
        "plots": [distribution._asdict() for distribution in distributions(pairs)],
        "lexicon": lexicon_rows(pairs),
        "pairs": shown,
    }
    return data, bytes(levels)


def _pair_data(pair: SamplePair, levels: bytearray) -> dict[str, Any]:
    """Return the data of one pair under short keys, because a page has many pairs.

    Keys: n number of the pair; h fingerprint of its words; s, t source and target words; l links (source,
    target, probability in thousandths); g gold links (source, target, whether sure); o links of other
    systems; m matrices (see :func:`pack_weights`); c links of each part by itself; bf, br best source of
    each target word and best target of each source word; nt, ns null probabilities of target and source
    words; p pair score; a AER; u positions of words without a vector.
    """
    aligned = pair.aligned
    matrix = aligned.matrix
    gold = pair.gold
    aer = math.nan if gold is None else Counts.from_links(aligned.alignment, gold).aer
    links: list[int] = []
    for link, probability in probabilities_in_order(aligned):
        links += [*link, in_thousandths(probability)]
    gold_links: list[int] | None = None
    if gold is not None:
        gold_links = []
        for link in sorted(gold.possible):
            gold_links += [*link, int(link in gold.sure)]
    others = [_flatten(sorted(other.links)) for other in pair.others.values()]
    links_of_parts = {part: _flatten(pair.chosen_by(part)) for part in pair.parts}
    unknown = None
    if matrix.unknown is not None:
        unknown = [sorted(side) for side in matrix.unknown]
    return {
        "n": pair.line,
        "h": pair_fingerprint(*aligned.tokens),
        "s": [visible(word) for word in matrix.source_tokens],
        "t": [visible(word) for word in matrix.target_tokens],
        "l": links,
        "g": gold_links,
        "o": others,
        "m": _pack_matrices(pair, levels),
        "c": links_of_parts,
        "bf": best_sources(aligned),
        "br": best_targets(aligned),
        "nt": null_thousandths(aligned.target_null),
        "ns": null_thousandths(aligned.source_null),
        "p": None if aligned.score is None else round(aligned.score, 4),
        "a": None if math.isnan(aer) else round(aer, 4),
        "u": unknown,
    }


def _flatten(links: Iterable[tuple[int, int]]) -> list[int]:
    """Return source, target, source, target, ... of links."""
    return list(chain.from_iterable(links))


def _pack_matrices(pair: SamplePair, levels: bytearray) -> dict[str, tuple[float, float, int]]:
    """Pack the matrices of a pair and return where they are, by name; systems are called ``=0``, ``=1``."""
    aligned = pair.aligned
    named = {"combined": aligned.matrix.weights, "forward": aligned.forward, "reverse": aligned.reverse}
    scores = aligned.scores if aligned.default_values == "forward" else None
    if scores is not None and np.isfinite(scores).all():
        named["scores"] = scores  # the page shows them as the reason for a link
    named |= pair.parts
    for number, name in enumerate(pair.others):
        if name in pair.weights:
            named[f"={number}"] = pair.weights[name]
    packed: dict[str, tuple[float, float, int]] = {}
    for name, weights in named.items():
        if weights is not None:
            packed[name] = pack_weights(weights, levels)
    return packed


def compress_levels(levels: bytes) -> str:
    """Return levels compressed and encoded as base64.

    Most levels are runs of zeros. These are found faster, and compressed better, if zlib looks for runs only,
    not for other repetitions.
    """
    compressor = zlib.compressobj(memLevel=zlib.DEF_MEM_LEVEL + 1, strategy=zlib.Z_RLE)
    packed = compressor.compress(levels) + compressor.flush()
    return base64.b64encode(packed).decode()
