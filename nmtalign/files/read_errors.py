"""Errors of reading a file, as DataErrors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from nmtalign.errors import TOO_MANY_OPEN_FILES, DataError, NmtalignError, class_and_error_text

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
