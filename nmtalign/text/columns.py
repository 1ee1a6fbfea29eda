"""Sentence pairs in two columns of a Parquet file (extra ``[parquet]``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmtalign.errors import DataError, UsageError

Record = tuple[str, str] | DataError
_ROWS = 10_000  # read at a time


def read_parquet(path: str | Path, select: tuple[str, str] | None = None) -> Iterator[Record]:
    """Yield a pair for each row.

    Parameters
    ----------
    path : str or Path
    select : (str, str), optional
        Names of the two columns, ``a.b`` for field b of a column a; by default ``source`` and ``target``.

    Yields
    ------
    (str, str) or DataError
        An error for a row in which a side is not text.
    """
    if str(path) == "-":
        raise UsageError("a Parquet file cannot come from standard input; name the file")
    columns = select or ("source", "target")
    for number, pair in enumerate(_rows(path, columns), 1):
        if all(isinstance(side, str) for side in pair):
            yield pair[0].replace("\n", " "), pair[1].replace("\n", " ")
        else:
            yield DataError(f"expected text in {' and '.join(columns)}, found {pair}").at(
                f"{path}, row {number}"
            )


def _rows(path: str | Path, columns: tuple[str, str]) -> Iterator[tuple[Any, Any]]:
    file = _open(path, columns)
    try:
        for batch in file.iter_batches(batch_size=_ROWS, columns=list(columns)):
            yield from zip(*(_values(batch, column) for column in columns), strict=True)
    except (OSError, ValueError) as error:  # damaged pages, bytes that are not UTF-8
        raise DataError(f"the Parquet file is damaged ({error})").at(path) from None


def _open(path: str | Path, columns: tuple[str, str]) -> Any:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UsageError(
            "a Parquet file needs the package pyarrow: pip install 'nmtalign[parquet]'"
        ) from None
    try:
        file = ParquetFile(path)
        names = {column.path for column in (file.schema.column(n) for n in range(len(file.schema)))}
    except (ArrowException, OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataError(f"expected a Parquet file ({error})").at(path) from None
    for column in columns:
        if column not in names:
            found = ", ".join(sorted(names))
            raise DataError(f"expected a column {column!r}, found {found}; choose source and target").at(path)
    return file


def _values(batch: Any, column: str) -> list[Any]:
    """Return the values of a column, also of one inside a struct."""
    first, *fields = column.split(".")
    values = batch.column(first).to_pylist()
    for field in fields:
        values = [value and value.get(field) for value in values]
    return values  # type: ignore[no-any-return]
