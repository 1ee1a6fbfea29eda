"""Errors of reading a file, as DataErrors that name the file; and warnings about what is not read in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from nmtalign.display import with_plural
from nmtalign.errors import (
    TOO_MANY_OPEN_FILES,
    DataError,
    NmtalignError,
    UsageError,
    class_and_error_text,
    warn_caller,
)

FileRecord = TypeVar("FileRecord")


@contextmanager
def reraise_as_data_error(path: str | Path, expected: str = "the file is damaged") -> Iterator[None]:
    """Turn any exception in the block into a DataError that names the file.

    Check the arguments of the caller before the block: in the block, every exception is attributed to the
    file, which others have written. `expected` begins the message, such as "expected JSON".
    """
    try:
        yield
    except DataError as error:
        raise error.at(path) from None
    except (NmtalignError, Warning):  # a warning is raised if the user turns warnings into errors
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in TOO_MANY_OPEN_FILES:
            error.filename = error.filename or str(path)
            raise
        if isinstance(error, OSError) and str(error.filename) == str(path):
            raise unreadable_file_error(error) from None
        raise DataError(f"{expected} ({class_and_error_text(error)})").at(path) from error


def unreadable_file_error(error: OSError) -> DataError:
    """Return an error of the system about a file, such as a missing file, as a DataError."""
    hint = ", expected a file" if isinstance(error, IsADirectoryError) else ""
    return DataError(f"{error.strerror or error}{hint}").at(str(error.filename))


def name_file_in_errors(path: str | Path, records: Iterator[FileRecord]) -> Iterator[FileRecord]:
    """Yield the records of a file; exceptions become errors of :func:`reraise_as_data_error`."""
    with reraise_as_data_error(path):
        yield from records


# --- records of pairs ----------------------------------------------------------------------------

PairOrError = tuple[str, str] | DataError
Select = tuple[str, str] | None  # columns, keys or languages of the two sides


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
            warn_caller(f"{path}: the file has no {self._record}s")
        elif notes:
            records = with_plural(self.total, self._record)
            warn_caller(f"{path}: of {records}: {'; '.join(notes)}")
