"""Which pairs of a bitext a command shows: ``--lines 3,7-9``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from nmtalign.errors import DataError, UsageError

Record = TypeVar("Record")


def parse_lines(text: str) -> list[int]:
    """Return the line numbers, counted from 1, that a list of numbers and ranges names; sorted, each once.

    Raises
    ------
    UsageError
        If it is no such list, or a range goes down.

    Examples
    --------
    >>> parse_lines("7-9,3")
    [3, 7, 8, 9]
    """
    lines: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else not last)):
            raise UsageError(f"expected lines like 3,7-9, found {text!r}")
        start, end = int(first), int(last or first)
        if not 1 <= start <= end:
            raise UsageError(f"expected lines from 1 on, ranges going up; found {part!r} in {text!r}")
        lines.update(range(start, end + 1))
    return sorted(lines)


def pick(records: Iterable[Record], lines: list[int]) -> Iterator[tuple[int, Record]]:
    """Yield the numbered records that `lines` (sorted, from 1) names; stops reading after the last.

    Raises
    ------
    DataError
        If the records end before the last line.
    """
    wanted = iter(lines)
    next_line = next(wanted, None)
    count = 0
    for count, record in enumerate(records, 1):
        if count == next_line:
            yield count, record
            next_line = next(wanted, None)
        if next_line is None:
            return
    if next_line is not None:
        raise DataError(f"expected a pair in line {next_line}, found only {count:,} pairs")
