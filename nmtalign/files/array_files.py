"""Files of NumPy and Parquet, read with care: no pickles, and no array larger than its file may claim."""

from __future__ import annotations

import math
import mmap
import os
import re
import tempfile
import threading
import weakref
import zipfile
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from nmtalign.arrays import NUMERIC_KINDS, AnyArray, Longs
from nmtalign.display import with_plural
from nmtalign.errors import DataError, require_extra
from nmtalign.files.compressed import MAX_COMPRESSION_RATIO, open_binary
from nmtalign.files.paths import reraise_as_data_error

FREE_ARRAY_BYTES = 1 << 26  # any archive of arrays may decompress to this size
DOUBLE_BYTES = 8  # bytes of a number in double precision
_NOT_ARRAYS = "not a readable file of arrays"
_TRAILING_NUMBER = re.compile(r"(\d{1,9})$", re.ASCII)


def max_array_bytes(path: str | Path) -> int:
    """Return how many bytes the arrays of a file may decompress to."""
    return max(FREE_ARRAY_BYTES, MAX_COMPRESSION_RATIO * os.path.getsize(path))


class NpzReader(ExitStack):
    """Reads arrays of an .npz file by name.

    Raises DataError if the file is not an archive of numeric arrays, has two arrays of one name, or claims to
    decompress to more than `FREE_ARRAY_BYTES` bytes and `MAX_COMPRESSION_RATIO` times its size.
    A single array counts as if it had double precision, because many are converted to it.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._path = path
        with reraise_as_data_error(path, _NOT_ARRAYS):
            if is_npy_file(path):
                raise DataError("expected named arrays (.npz, by numpy.savez), found a single one (.npy)")
            self._file = self.enter_context(zipfile.ZipFile(path))
            infos = self._file.infolist()
            self._members = {info.filename.removesuffix(".npy"): info for info in infos}
            if len(self._members) < len(infos):
                raise DataError("expected arrays of different names, found two of the same name")
            claimed = sum(info.file_size for info in infos)
            self._most = max_array_bytes(path)
            if claimed > self._most:
                expected = f"expected an archive that decompresses to at most {self._most:,} bytes"
                raise DataError(f"{expected}, found {claimed:,}")
        self.names = list(self._members)  # ordered as in the file

    def read(self, name: str) -> AnyArray:
        """Return an array."""
        with reraise_as_data_error(f"{self._path}, {name}", _NOT_ARRAYS):
            if name not in self._members:
                raise DataError(f"expected an array named {name!r}, found {', '.join(self.names) or 'none'}")
            info = self._members[name]
            with self._file.open(info) as file:
                shape, _, _ = _check_header(file, info.file_size)
                most, size = self._most // DOUBLE_BYTES, math.prod(shape)
                if size > most:
                    raise DataError(f"expected an array of at most {most:,} numbers, found {size:,}")
                file.seek(0)
                return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


class NpzWriter(ExitStack):
    """Writes arrays one by one into an .npz file; the same arrays give identical files.

    The `comment` of the archive is what ``unzip -z`` and ``zipfile.ZipFile(path).comment`` show.
    """

    def __init__(self, file: BinaryIO, *, comment: str = "") -> None:
        super().__init__()
        self._file = self.enter_context(zipfile.ZipFile(file, "w"))
        self._file.comment = comment.encode("utf-8")

    def write(self, name: str, array: AnyArray) -> None:
        """Write an array, which may not have the name of another one."""
        with self._file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
            np.lib.format.write_array(entry, np.asarray(array, order="C"), allow_pickle=False)


def sort_by_trailing_number(names: Sequence[str], path: str | Path) -> list[str]:
    """Return names of arrays, sorted by the number at their end.

    A DataError unless the numbers begin with 0 or 1 and have no gaps.
    """
    numbered: dict[int, str] = {}
    for name in names:
        match = _TRAILING_NUMBER.search(name)
        if match is None:
            raise DataError(f"expected names that end with the number of the pair, found {name!r}").at(path)
        number = int(match[1])
        if number in numbered:
            found = f"{numbered[number]!r} and {name!r}"
            raise DataError(f"expected one array per pair, found two with the same number: {found}").at(path)
        numbered[number] = name
    order = sorted(numbered)
    if order and (order[0] > 1 or order[-1] - order[0] != len(order) - 1):
        expected = "expected one array per pair, numbered from 0 or 1 without gaps"
        numbers = f"{with_plural(len(order), 'array')} numbered from {order[0]} to {order[-1]}"
        raise DataError(f"{expected}, found {numbers}").at(path)
    return [numbered[n] for n in order]


def read_arrays(path: str | Path) -> dict[str, AnyArray]:
    """Return all arrays of an .npz file by name; errors are those of :class:`NpzReader`."""
    with NpzReader(path) as archive:
        return {name: archive.read(name) for name in archive.names}


class NpyRowReader:
    """Reads rows of a large .npy file when they are needed.

    The file is not mapped into memory: if a mapped file becomes shorter, the system ends the process that
    accesses it. Raises DataError if the file is not an array of numbers in row-major order.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        with reraise_as_data_error(path), open(path, "rb") as file:
            self.shape, columns_first, self._dtype = _check_header(file, os.path.getsize(path))
            self._start = file.tell()
            if columns_first or not self.shape:
                raise DataError("expected rows one after another; save numpy.ascontiguousarray of the array")

    def read(self, begin: int, end: int) -> AnyArray:
        """Return rows `begin` to `end`; a DataError if the file is now too short for them."""
        width = math.prod(self.shape[1:])
        offset = self._start + begin * width * self._dtype.itemsize
        with reraise_as_data_error(self._path):
            rows = np.fromfile(self._path, self._dtype, (end - begin) * width, offset=offset)
            if len(rows) < (end - begin) * width:
                raise DataError(f"expected {end} rows; the file is too short, or has become shorter")
        return rows.reshape(end - begin, *self.shape[1:])


def read_array(path: str | Path) -> AnyArray:
    """Return the array of an .npy file, or ``embeddings`` or the only one of an .npz file."""
    if is_npz_file(path):
        with NpzReader(path) as archive:
            only = len(archive.names) == 1 and "embeddings" not in archive.names
            return archive.read(archive.names[0] if only else "embeddings")
    with reraise_as_data_error(path, _NOT_ARRAYS), open(path, "rb") as file:
        _check_header(file, os.path.getsize(path))
        file.seek(0)
        return np.asarray(np.load(file, allow_pickle=False))


def write_array(path: str | Path, array: AnyArray) -> None:
    """Write an .npy file.

    NumPy's own function does not raise an error if the disk is full when the last bytes are written.
    """
    with open_binary(path, "w") as file:
        only_writes: Any = SimpleNamespace(write=file.write)
        np.lib.format.write_array(only_writes, array, allow_pickle=False)


def is_npz_file(path: str | Path) -> bool:
    """Return whether a file begins like an .npz file."""
    with reraise_as_data_error(path), open(path, "rb") as file:
        return file.read(2) == b"PK"


def is_npy_file(path: str | Path) -> bool:
    """Return whether a file begins like an .npy file."""
    with reraise_as_data_error(path), open(path, "rb") as file:
        return file.read(6) == b"\x93NUMPY"


def _check_header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array.

    Raises DataError if the entries are not numbers, or the shape needs more bytes than the file has.
    """
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, columns_first, dtype = read(file)
    if dtype.kind not in NUMERIC_KINDS:
        raise DataError(f"expected an array of real numbers, found {str(dtype)[:60]}")
    needed = file.tell() + dtype.itemsize * math.prod(shape)
    if min(shape, default=0) < 0 or needed > size:
        raise DataError(f"expected an array of at most {size:,} bytes, found one of shape {shape}")
    return shape, columns_first, dtype


# --- arrays in a temporary file, which is gone with the last reference to it ---------------------


class ArrayPlace(NamedTuple):
    """The place of an array in a file."""

    start: int  # first byte
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class TemporaryArrays:
    """A temporary file of arrays, which any thread or forked process reads and writes.

    Processes that reserve places take turns (`then` of :func:`nmtalign.corpus.parallel.parallel_map`).
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it is gone when the last reference is
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        # in memory that forked processes share
        self._end: Longs = np.frombuffer(mmap.mmap(-1, 8), np.int64)

    def reserve(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> ArrayPlace:
        """Return the place of a new array, whose entries are 0 until they are written."""
        place = ArrayPlace(int(self._end[0]), np.dtype(dtype), (shape,) if isinstance(shape, int) else shape)
        self._end[0] += place.dtype.itemsize * math.prod(place.shape)
        try:
            os.truncate(self._file.fileno(), int(self._end[0]))
        except OSError as error:
            error.filename = tempfile.gettempdir()
            raise
        return place

    def append(self, array: AnyArray) -> ArrayPlace:
        """Write a new array and return its place."""
        place = self.reserve(array.shape, array.dtype)
        self.write(place, array)
        return place

    def read(self, place: ArrayPlace, begin: int = 0, end: int | None = None) -> AnyArray:
        """Return an array, or some of its rows."""
        row_bytes = place.dtype.itemsize * math.prod(place.shape[1:])
        end = place.shape[0] if end is None else end
        array = np.empty((end - begin, *place.shape[1:]), place.dtype)
        if not array.size:
            return array
        space = array.data.cast("B")
        start = place.start + begin * row_bytes
        if hasattr(os, "preadv"):  # forked processes share the position in the file
            while space:  # a single call reads at most two gigabytes
                count = os.preadv(self._file.fileno(), [space], start)
                space, start = space[count:], start + count
            return array
        with self._lock:
            self._file.seek(start)
            self._file.readinto(space)
        return array

    def write(self, place: ArrayPlace, array: AnyArray, begin: int = 0) -> None:
        """Write rows of an array, from row `begin` on."""
        if not array.size:
            return
        unwritten = np.ascontiguousarray(array).data.cast("B")
        start = place.start + begin * place.dtype.itemsize * math.prod(place.shape[1:])
        try:
            while unwritten:  # an almost full disk takes a part, and rejects the next one
                count = self._write(unwritten, start)
                unwritten, start = unwritten[count:], start + count
        except OSError as error:
            error.filename = tempfile.gettempdir()
            raise

    def _write(self, data: memoryview, start: int) -> int:
        """Write at a position; return how many bytes were written."""
        if hasattr(os, "pwrite"):
            return os.pwrite(self._file.fileno(), data, start)
        with self._lock:
            self._file.seek(start)
            return int(self._file.write(data))

    def mapped(self, place: ArrayPlace) -> AnyArray:
        """Return an array whose pages are read when they are used; they can be written to."""
        if not math.prod(place.shape):
            return np.empty(place.shape, place.dtype)
        return np.asarray(np.memmap(self._file, place.dtype, "r+", place.start, place.shape))


def on_disk(array: AnyArray) -> AnyArray:
    """Return an array that is mapped from a file: a copy in a temporary file, unless it is mapped already."""
    if is_mapped(array):
        return array
    file = TemporaryArrays()
    return file.mapped(file.append(array))


def is_mapped(array: AnyArray) -> bool:
    """Return whether an array is mapped from a file."""
    return _mapping_of(array) is not None


def release(array: AnyArray) -> None:
    """Free the memory of the pages of a mapped array, which stay on disk; leave other arrays as they are."""
    mapping = _mapping_of(array)
    if hasattr(mapping, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        with suppress(OSError, ValueError):
            mapping.madvise(mmap.MADV_DONTNEED)


def _mapping_of(array: AnyArray) -> Any:
    """Return the mapping of the file that an array, or the array that it is a view of, is mapped from."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    return base.base if isinstance(base, np.memmap) else None


# --- Parquet -------------------------------------------------------------------------------------


def import_parquet() -> Any:
    """Return the package pyarrow, with its module of Parquet."""
    with require_extra("parquet", "a Parquet file needs the package pyarrow"):
        import pyarrow.parquet
    return pyarrow


def check_parquet_size(metadata: Any, columns: Collection[str], value_bytes: int, most: int) -> None:
    """Raise DataError if columns exceed a number of bytes; each value takes so many bytes at least.

    In a file, equal values take next to no space.
    """
    claimed = 0
    for group_number in range(metadata.num_row_groups):
        group = metadata.row_group(group_number)
        for column in map(group.column, range(group.num_columns)):
            path: str = column.path_in_schema  # a list of numbers is ``name.list.element``
            if path in columns or path.partition(".")[0] in columns:
                claimed += max(column.total_uncompressed_size, value_bytes * column.num_values)
    if claimed > most:
        raise DataError(f"expected columns that decompress to at most {most:,} bytes, found {claimed:,}")


def texts_of_parquet(array: Any) -> list[Any]:
    """Return the texts of an array; equal ones are one object if the column is read as a dictionary."""
    if not hasattr(array, "indices"):
        return list(array.to_pylist())
    distinct = array.indices.unique().drop_null()
    texts = dict(zip(distinct.to_pylist(), array.dictionary.take(distinct).to_pylist(), strict=True))
    return [texts.get(number) for number in array.indices.to_pylist()]
