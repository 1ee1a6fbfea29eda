"""What the readers of records share: their types, and warnings about what is not read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from nmtalign.display import with_plural
from nmtalign.errors import DataError, UsageError, warn_caller

PairOrError = tuple[str, str] | DataError
Select = tuple[str, str] | None  # columns, keys or languages of the two sides


def warn_at(place: str | Path, text: str) -> None:
    """Warn about a file, or a line of a file, that is read."""
    warn_caller(f"{place}: {text}")


def check_no_select(select: Select, kind: str) -> None:
    """Raise UsageError if sides are chosen of a file that has one source and one target."""
    if select is not None:
        raise UsageError(f"{kind} has one source and one target; {','.join(select)} cannot be chosen")


class ReaderNotes:
    """How many records of a file are not read as they are, why, and where the first one of each kind is."""

    def __init__(self, record: str) -> None:
        self.total = 0
        self._record = record  # what the file calls a record
        self._counts: Counter[str] = Counter()
        self._first_places: dict[str, str] = {}

    def add(self, kind: str, number: int, place: str) -> None:
        """Count so many records, or parts of a record, of a kind."""
        if number:
            self._counts[kind] += number
            self._first_places.setdefault(kind, place)

    def warn(self, path: str | Path, **names: str) -> None:
        """Warn once, at the end of a file; `names` are put into the kinds."""
        notes = []
        for kind, count in self._counts.items():
            notes.append(f"{count:,} {kind.format(**names)} (the first in {self._first_places[kind]})")
        if not self.total:
            warn_at(path, f"the file has no {self._record}s")
        elif notes:
            records = with_plural(self.total, self._record)
            warn_at(path, f"of {records}: {'; '.join(notes)}")
