"""NumPy's files, read with care: no pickles, and no array larger than its file."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, BinaryIO

import numpy as np

from nmtalign.arrays import NUMERIC_KINDS, AnyArray
from nmtalign.display import with_plural
from nmtalign.errors import DataError
from nmtalign.files import limits
from nmtalign.files.compressed import open_binary
from nmtalign.files.read_errors import reraise_as_data_error

_DOUBLE_BYTES = 8  # bytes of a number in double precision
_NOT_ARRAYS = "not a readable file of arrays"
_TRAILING_NUMBER = re.compile(r"(\d{1,9})$", re.ASCII)


class NpzReader(ExitStack):
    """Reads arrays of an .npz file by name.

    Raises DataError if the file is not an archive of numeric arrays, has two arrays of one name, or claims to
    decompress to more than `limits.FREE_ARRAY_BYTES` bytes and `limits.MAX_COMPRESSION_RATIO` times its size.
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
            self._most = max(limits.FREE_ARRAY_BYTES, limits.MAX_COMPRESSION_RATIO * os.path.getsize(path))
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
                most, size = self._most // _DOUBLE_BYTES, math.prod(shape)
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
