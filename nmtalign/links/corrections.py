"""Corrections: links of single pairs of a text by people who looked, as a report writes and reads them.

A line of JSON for each pair, the links of the JSONL format with more beside them::

    {"pair": 3, "pairs": 447, "text": "ee0c9a5e97be", "links": [[0, 0]], "possible": [[1, 2]], "by": "Ann",
     "at": "2026-05-04T12:00:00Z"}
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmtalign.door import as_path
from nmtalign.errors import DataError
from nmtalign.files import format_ending, named, parse_json, read_lines
from nmtalign.links.alignments import GoldAlignment, Link

_TYPES = {"pair": int, "pairs": int, "text": str, "by": str, "at": str}


class Correction(NamedTuple):
    """The links of a pair, and who looked at them when."""

    pair: int  # line of the text, from 1
    pairs: int  # lines of the text
    text: str  # the words; see `text_key`
    gold: GoldAlignment
    by: str
    at: str  # ISO 8601


def text_key(source: Sequence[str], target: Sequence[str]) -> str:
    """Return twelve digits that tell the words of a pair from others.

    Examples
    --------
    >>> text_key(["the", "cat"], ["le", "chat"])
    'ee0c9a5e97be'
    """
    words = f"{' '.join(source)}\n{' '.join(target)}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def are_corrections(path: str | Path) -> bool:
    """Tell by its name whether a file of gold links holds corrections."""
    return format_ending(as_path(path)) == ".jsonl"


def read_corrections(path: str | Path, *, encoding: str = "utf-8") -> dict[int, Correction]:
    """Return the corrections of a file by the number of the pair: of each pair the latest.

    All are of one text; a DataError names the line.
    """
    latest: dict[int, Correction] = {}
    for number, line in enumerate(named(path, read_lines(path, encoding=encoding)), 1):
        try:
            correction = _parsed(line)
            first = next(iter(latest.values()), correction)
            if correction.pairs != first.pairs:
                expected = f"expected a text of {first.pairs:,} pairs as before"
                raise DataError(f"{expected}, found one of {correction.pairs:,}")
        except DataError as error:
            raise error.at(path, line=number) from None
        if correction.pair not in latest or correction.at >= latest[correction.pair].at:
            latest[correction.pair] = correction
    return latest


def gold_of_json(values: Any, line: str) -> GoldAlignment:
    """Return the links of an object with lists of sure and of possible ones, which `line` says."""
    links: list[Any] = (
        [values.get("links"), values.get("possible", [])] if isinstance(values, dict) else [None]
    )
    if not all(map(_are_links, links)):
        raise DataError(f'expected an object like {{"links": [[0, 0], [1, 2]]}}, found {line[:60]!r}')
    sure, possible = (frozenset(Link(*link) for link in pairs) for pairs in links)
    return GoldAlignment(sure, sure | possible)


def _are_links(value: Any) -> bool:
    pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    return pairs and all(type(n) is int and 0 <= n < 10**9 for pair in value for n in pair)


def _parsed(line: str) -> Correction:
    record = parse_json(line)
    values: dict[str, Any] = record if isinstance(record, dict) else {}
    if not all(type(values.get(name)) is kind for name, kind in _TYPES.items()):
        raise DataError(f"expected a correction with {', '.join(_TYPES)} and links, found {line[:60]!r}")
    if not 1 <= values["pair"] <= values["pairs"]:
        raise DataError(f"expected a pair from 1 to {values['pairs']:,}, found {values['pair']:,}")
    return Correction(gold=gold_of_json(record, line), **{name: values[name] for name in _TYPES})


def gold_of_corrections(path: str | Path, *, encoding: str = "utf-8") -> list[GoldAlignment]:
    """Return the gold links of each pair of the text, none for pairs that nobody looked at."""
    corrections = read_corrections(path, encoding=encoding)
    pairs = next((correction.pairs for correction in corrections.values()), 0)
    none = GoldAlignment(frozenset(), frozenset())
    return [corrections[n].gold if n in corrections else none for n in range(1, pairs + 1)]
