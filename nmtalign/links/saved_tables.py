"""The file of a saved batch, .npz or .parquet: a table with one row per sentence pair, and its links.

A column has one number for each pair, or a list of numbers or of words. The pairs are written and read in
chunks, so that memory does not depend on their number. A JSON text describes the table: ``meta`` of .npz, as
bytes in UTF-8, and in .parquet the metadata ``nmtalign`` of the schema. In .npz, chunk k of a column of lists
is ``NAME-k`` (the values of all lists) and ``NAME-count-k`` (the size of each list); words are bytes.

Axes: N sentence pairs, L links.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from nmtalign.arrays import AnyArray, Longs, offsets_of
from nmtalign.errors import DataError, UsageError
from nmtalign.files.array_files import (
    DOUBLE_BYTES,
    NpzReader,
    NpzWriter,
    check_parquet_size,
    import_parquet,
    max_array_bytes,
    texts_of_parquet,
)
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path, reraise_as_data_error
from nmtalign.files.sniffing import HEAD_BYTES, is_numpy_archive
from nmtalign.links.alignments import BothWords
from nmtalign.names import LINK_UNITS, SIDES, LinkUnitName

BATCH_KIND = "nmtalign batch"
BATCH_VERSION = 1
BATCH_FORMATS = (".npz", ".parquet")
_FOREIGN = "this is not a saved batch of nmtalign (batch.save, batch.to_dict, or align --posteriors)"
DAMAGED_BATCH = "the file is damaged; write it again"
_LINK_COLUMNS = ("pair_score", "link_source", "link_target", "source_words", "target_words")


class Column(NamedTuple):
    """The values of N pairs: one for each pair, or a list of them."""

    values: AnyArray | list[str]
    offsets: Longs | None = None  # (N + 1,): the values of each pair; None if each has one


Columns = dict[str, Column]


# --- write ---------------------------------------------------------------------------------------


def check_batch_path(path: str | Path) -> None:
    """Raise UsageError unless a file name has an ending of `BATCH_FORMATS`, or a package is missing."""
    ending = as_path(path).suffix.lower()
    if ending not in BATCH_FORMATS:
        raise UsageError(f"{path}: expected a file name ending in {' or '.join(BATCH_FORMATS)}")
    if ending == ".parquet":
        import_parquet()


class TableWriter(AbstractContextManager["TableWriter"], Protocol):
    """Writes chunks of the columns of a table."""

    def write(self, meta: Mapping[str, Any], columns: Columns) -> None: ...


def open_table_writer(path: str | Path, files: AtomicFiles) -> TableWriter:
    """Return a writer of the kind that a path ends in."""
    file = files.binary(path)
    return _ParquetFile(file) if as_path(path).suffix.lower() == ".parquet" else _NpzFile(file)


class _NpzFile(NpzWriter):
    chunks = 0

    def write(self, meta: Mapping[str, Any], columns: Columns) -> None:  # type: ignore[override]
        if not self.chunks:
            super().write("meta", np.frombuffer(json.dumps(meta).encode(), np.uint8))
        for name, (values, offsets) in columns.items():
            if offsets is not None:
                super().write(f"{name}-count-{self.chunks}", _narrow(np.diff(offsets)))
            if isinstance(values, list):
                encoded = [value.encode("utf-8", "surrogatepass") for value in values]
                sizes = np.array([len(value) for value in encoded], np.int64)
                super().write(f"{name}-bytes-{self.chunks}", _narrow(sizes))
                values = np.frombuffer(b"".join(encoded), np.uint8)
            super().write(f"{name}-{self.chunks}", _narrow(values))
        self.chunks += 1


def _narrow(values: AnyArray) -> AnyArray:
    """Return integers in the smallest type without a sign that has them all; other numbers as they are."""
    if values.dtype.kind not in "iu" or (len(values) and values.min() < 0):
        return values
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


class _ParquetFile:
    """Writes chunks of columns as row groups of a Parquet file, opened by us: errors then name it."""

    def __init__(self, file: BinaryIO) -> None:
        self._arrow = import_parquet()
        self._file = file
        self._writer: Any = None

    def __enter__(self) -> _ParquetFile:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, meta: Mapping[str, Any], columns: Columns) -> None:
        arrow = self._arrow
        arrays = {}
        for name, (values, offsets) in columns.items():
            flat = arrow.array(values, arrow.string() if isinstance(values, list) else None)
            if offsets is not None:
                flat = arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), flat)
            arrays[name] = flat
        table = arrow.table(arrays)
        if self._writer is None:
            schema = table.schema.with_metadata({"nmtalign": json.dumps(meta)})
            self._writer = arrow.parquet.ParquetWriter(self._file, schema)
        self._writer.write_table(table.cast(self._writer.schema))


# --- read ----------------------------------------------------------------------------------------


def is_batch_file(path: str | Path) -> bool:
    """Return whether a file begins like .npz or .parquet, and so may be a saved batch.

    Standard input and pipes are not, since nobody else could read what is read here.
    """
    if str(path) == "-":
        return False
    file = as_path(path)
    if not file.is_file() and file.exists():
        return False
    with reraise_as_data_error(path), file.open("rb") as opened:
        return _is_batch_head(opened.read(HEAD_BYTES))


def _is_batch_head(head: bytes) -> bool:
    """Return whether a file that begins with these bytes may be a saved batch."""
    return is_numpy_archive(head) is not None or head.startswith(b"PAR1")


def read_tables(
    path: str | Path, names: Collection[str] | None = None
) -> Iterator[tuple[dict[str, Any], Columns]]:
    """Yield what describes a saved batch, and the columns of each chunk, or those with these names.

    Raises DataError if the file is damaged, or not a saved batch.
    """
    path = as_path(path)
    with reraise_as_data_error(path, _FOREIGN), open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    if not _is_batch_head(head):
        raise DataError(_FOREIGN).at(path)
    yield from _read_parquet_batch(path, names) if head.startswith(b"PAR1") else _read_npz(path, names)


class SavedLinks(NamedTuple):
    """The links of a pair in a saved batch, its words if it has them, and what positions count."""

    links: list[tuple[int, int]]
    words: BothWords | None
    unit: LinkUnitName | None


def read_saved_links(path: str | Path) -> Iterator[SavedLinks]:
    """Yield the links of each pair of a saved batch, without its posteriors."""
    for meta, columns in read_tables(path, _LINK_COLUMNS):
        with reraise_as_data_error(path, DAMAGED_BATCH):
            count = len(columns["pair_score"].values)
            source, target = (lists_of(columns, f"link_{side}", count) for side in SIDES)
            check_fit(np.array_equal(source.offsets, target.offsets))
            unit = unit_from(meta)
            words = words_from(columns, count) if "source_words" in columns else itertools.repeat(None)
            links = list(zip(source.values.tolist(), target.values.tolist(), strict=True))
        for words_of_pair, (start, end) in zip(
            words, itertools.pairwise(source.offsets.tolist()), strict=False
        ):
            yield SavedLinks(links[start:end], words_of_pair, unit)


def unit_from(meta: Mapping[str, Any]) -> LinkUnitName | None:
    """Return what positions count."""
    unit: LinkUnitName | None = meta["unit"]
    check_fit(unit is None or unit in LINK_UNITS)
    return unit


def _meta_from_json(text: bytes, path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(text)
    except ValueError:
        raise DataError(_FOREIGN).at(path) from None
    return checked_meta(meta, path)


def checked_meta(meta: Any, path: Path | str) -> dict[str, Any]:
    if not isinstance(meta, dict) or meta.get("format") != BATCH_KIND:
        raise DataError(_FOREIGN).at(path)
    if meta.get("version") != BATCH_VERSION:
        found = f"found version {str(meta.get('version'))[:20]}"
        raise DataError(
            f"expected a saved batch of version {BATCH_VERSION}, {found}; save the batch again"
        ).at(path)
    return meta


def _read_npz(path: Path, wanted: Collection[str] | None) -> Iterator[tuple[dict[str, Any], Columns]]:
    with NpzReader(path) as archive:
        if "meta" not in archive.names:
            raise DataError(_FOREIGN).at(path)
        meta = _meta_from_json(archive.read("meta").astype(np.uint8).tobytes(), path)
        names = set(archive.names)
        chunk = 0
        while f"pair_score-{chunk}" in names:
            ending = f"-{chunk}"
            own = [name.removesuffix(ending) for name in archive.names if name.endswith(ending)]
            columns: Columns = {}
            for name in own:
                if name.endswith(("-count", "-bytes")) or not (wanted is None or name in wanted):
                    continue
                values: Any = archive.read(f"{name}-{chunk}")
                if f"{name}-bytes" in own:
                    values = _strings(values, archive.read(f"{name}-bytes-{chunk}"), path)
                counted = f"{name}-count" in own
                offsets = offsets_of(archive.read(f"{name}-count-{chunk}")) if counted else None
                columns[name] = Column(values, offsets)
            yield meta, columns
            chunk += 1


def _strings(encoded: AnyArray, sizes: AnyArray, path: Path) -> list[str]:
    blob = encoded.astype(np.uint8).tobytes()
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    if (ends[-1] if ends else 0) != len(blob):
        raise DataError(DAMAGED_BATCH).at(path)
    starts = [0, *ends[:-1]]
    with reraise_as_data_error(path, DAMAGED_BATCH):
        parts = [blob[start:end] for start, end in zip(starts, ends, strict=False)]
        return [part.decode("utf-8", "surrogatepass") for part in parts]


def _read_parquet_batch(
    path: Path, wanted: Collection[str] | None
) -> Iterator[tuple[dict[str, Any], Columns]]:
    arrow = import_parquet()
    with reraise_as_data_error(path, _FOREIGN), open(path, "rb") as file:
        try:
            metadata = arrow.parquet.read_metadata(file)
            columns = map(metadata.schema.column, range(metadata.num_columns))
            texts = [column.path for column in columns if column.logical_type.type == "STRING"]
            # a text as long as the file may be in each row: as a dictionary, equal texts are one object
            table = arrow.parquet.ParquetFile(file, metadata=metadata, read_dictionary=texts)
            meta = _meta_from_json((table.schema_arrow.metadata or {}).get(b"nmtalign", b""), path)
            names = [name for name in table.schema_arrow.names if wanted is None or name in wanted]
            # a value counts as in double precision, as those of .npz
            check_parquet_size(metadata, names, DOUBLE_BYTES, max_array_bytes(path))
            for group in range(table.num_row_groups):
                rows = table.read_row_group(group, names)
                yield meta, {name: _column_of(rows[name]) for name in rows.column_names}
        except arrow.ArrowException:
            raise DataError(DAMAGED_BATCH).at(path) from None


def _column_of(chunked: Any) -> Column:
    array = chunked.combine_chunks()
    if not hasattr(array, "flatten") or not hasattr(array, "offsets"):
        return Column(_flat(array))
    offsets = array.offsets.to_numpy().astype(np.int64)
    return Column(_flat(array.flatten()), offsets - offsets[0])


def _flat(array: Any) -> AnyArray | list[str]:
    is_text = "string" in str(array.type)
    values: AnyArray | list[str]
    values = texts_of_parquet(array) if is_text else array.to_numpy(zero_copy_only=False)
    return values


def check_fit(fits: Any) -> None:
    """Raise DataError unless columns fit each other."""
    if not fits:
        raise DataError(DAMAGED_BATCH)


class Lists(NamedTuple):
    values: AnyArray
    offsets: Longs


def numbers_of(columns: Columns, name: str, count: int | None, kind: Any = np.int64) -> AnyArray:
    """Return a column with one number for each pair."""
    column = columns[name]
    values = np.asarray(column.values)
    check_fit(column.offsets is None and values.ndim == 1 and (count is None or len(values) == count))
    return _of_kind(values, kind)


def lists_of(columns: Columns, name: str, count: int, kind: Any = np.int64) -> Lists:
    """Return a column with a list of numbers for each pair; integers are not negative."""
    column = columns[name]
    values = np.asarray(column.values)
    check_fit(column.offsets is not None and values.ndim == 1 and len(column.offsets) == count + 1)
    assert column.offsets is not None
    check_fit((np.diff(column.offsets) >= 0).all() and column.offsets[-1] == len(values))
    return Lists(_of_kind(values, kind), column.offsets)


def _of_kind(values: AnyArray, kind: Any) -> AnyArray:
    if kind is np.int64:
        check_fit(values.dtype.kind in "iu" and (not len(values) or values.min() >= 0))
        return values.astype(np.int64)
    check_fit(values.dtype.kind == "f")
    return values if kind is None else values.astype(kind)


def words_from(columns: Columns, count: int) -> list[BothWords]:
    sides = []
    for side in SIDES:
        words, offsets = columns[f"{side}_words"]
        check_fit(isinstance(words, list) and offsets is not None and len(offsets) == count + 1)
        assert offsets is not None
        check_fit(offsets[-1] == len(words))
        bounds = offsets.tolist()
        sides.append([tuple(words[a:b]) for a, b in itertools.pairwise(bounds)])
    return list(zip(*sides, strict=True))
