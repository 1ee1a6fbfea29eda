"""Sentence pairs in two columns of a table: TSV, CSV, or Parquet (extra ``[parquet]``)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmtalign.errors import DataError, UsageError
from nmtalign.files import foreign

Record = tuple[str, str] | DataError
Select = tuple[str, str] | None  # where the two sides are
Line = str | DataError
Row = tuple[int, list[str] | DataError]  # its first line, and its fields
_ROWS = 10_000  # read at a time


def _read_table(path: str | Path, rows: Iterator[Row], select: Select) -> Iterator[Record]:
    """Yield a pair for each row of a table whose columns are numbered, or named by its first row.

    `select` names two columns, by number from 1 or by name; by default ``source`` and ``target`` where the
    first row names these, else the only two that there are.
    """
    columns: tuple[int, int] | None = None
    width = 2 if select is None else None
    for line, row in rows:
        if columns is None:
            if isinstance(row, DataError):  # it may hold the names
                raise row
            columns, named = _places(row, select, path)
            if named:
                width = None
                continue
        try:
            yield row if isinstance(row, DataError) else _sides(row, columns, width)
        except DataError as error:
            yield error.at(path, line=line)


def _places(row: list[str], select: Select, path: str | Path) -> tuple[tuple[int, int], bool]:
    """Return which fields the two sides are, and whether the first row has names instead of text."""
    names = select or ("source", "target")
    if all(name in row for name in names):
        return (row.index(names[0]), row.index(names[1])), True
    if select is None:
        return (0, 1), False
    if all(name.isdecimal() and len(name) < 10 for name in names):
        first, second = map(int, names)
        if not (first and second):
            raise UsageError(f"expected two columns counted from 1, such as 1,2, found {','.join(names)}")
        return (first - 1, second - 1), False
    wanted = f"expected the columns {' and '.join(names)} in the first line"
    raise DataError(f"{wanted}, found {', '.join(row)[:80]}").at(path, line=1)


def _sides(row: list[str], columns: tuple[int, int], width: int | None) -> tuple[str, str]:
    if row in ([], [""]):
        return "", ""
    if width is not None and len(row) != width:
        raise DataError(f"expected {width} columns, found {len(row)}; choose which hold source and target")
    if len(row) <= max(columns):
        raise DataError(f"expected at least {max(columns) + 1} columns, found {len(row)}")
    return row[columns[0]], row[columns[1]]


def read_tsv(lines: Iterator[Line], path: str | Path, select: Select) -> Iterator[Record]:
    """Yield what stands between the tabs of each line."""
    rows = (line if isinstance(line, DataError) else line.split("\t") for line in lines)
    return _read_table(path, enumerate(rows, 1), select)


class _Counted:
    """Lines with their end, counted; an error among them is raised, and does not end them."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines, self.number = lines, 0

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        if isinstance(line, DataError):
            raise line
        return f"{line}\n"


def read_csv(lines: Iterator[Line], path: str | Path, select: Select) -> Iterator[Record]:
    """Yield a pair for each record; line ends inside of quotes are spaces."""
    return _read_table(path, _csv_rows(lines, path), select)


def _csv_rows(lines: Iterator[Line], path: str | Path) -> Iterator[Row]:
    counted = _Counted(lines)
    reader = csv.reader(counted, strict=True)
    while True:
        first = counted.number + 1
        try:
            fields = next(reader, None)
        except DataError as error:
            yield first, error
        except csv.Error as error:
            yield first, DataError(f"expected a record of CSV ({error})").at(path, line=first)
        else:
            if fields is None:
                return
            yield first, [field.replace("\r\n", " ").replace("\n", " ") for field in fields]


def read_parquet(path: str | Path, select: Select = None) -> Iterator[Record]:
    """Yield a pair for each row, an error where a side is not text.

    `select` names the two columns, ``a.b`` field b of a column a; by default ``source`` and ``target``.
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
    with foreign(path, "the Parquet file is damaged"):
        for batch in file.iter_batches(batch_size=_ROWS, columns=list(columns)):
            yield from zip(*(_values(batch, column) for column in columns), strict=True)


def _open(path: str | Path, columns: tuple[str, str]) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise UsageError(
            "a Parquet file needs the package pyarrow: pip install 'nmtalign[parquet]'"
        ) from None
    with foreign(path, "expected a Parquet file"):
        file = ParquetFile(path)
        names = {column.path for column in (file.schema.column(n) for n in range(len(file.schema)))}
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
