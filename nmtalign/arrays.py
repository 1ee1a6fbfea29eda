"""Names of array types, a careful reader of NumPy's files (no pickles), and checks of arrays and numbers."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtalign.door import short
from nmtalign.errors import DataError
from nmtalign.files import HIGHEST_RATIO, guarded_read, open_binary

# shapes stand in comments where a type is used
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Reals = NDArray[np.floating]  # of either precision
Codes = NDArray[np.int8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Integers = NDArray[np.integer]  # of any size
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
AnyArray = NDArray[Any]

Shape = tuple[int | None, ...]

_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "i": ("whole numbers (int8 to int64)", (np.int8, np.int16, np.int32, np.int64)),
    "f": ("real numbers (float32 or float64)", (np.float32, np.float64)),
    "v": ("real numbers (float16 to float64)", (np.float16, np.float32, np.float64)),
}
FREE_ARRAYS = 1 << 26  # bytes that any archive of arrays may unpack to
_DOUBLE = 8  # bytes of a number in double precision
_EXPECTED = "not a readable file of arrays"
_PLAIN = "biuf"  # kinds of numbers
_NUMBER = re.compile(r"(\d{1,9})$", re.ASCII)


def real_numbers(values: Any, what: str) -> AnyArray:
    """Return an array of real numbers, also of a tensor that requires a gradient; DataError for others."""
    try:
        array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except Exception:  # rows of unequal lengths, or whatever an array of another package raises
        array = np.asarray(None)
    if array.dtype.kind not in _PLAIN:
        raise DataError(f"expected {what} as real numbers, found {short(values)}")
    return array


def offsets_of(lengths: ArrayLike) -> Longs:
    """Return where runs of these lengths (N,) begin one by one, and where the last ends: (N + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def blocks(length: int, size: int) -> Iterator[slice]:
    """Yield slices of `size` entries that together cover `length` entries."""
    return (slice(start, start + size) for start in range(0, length, size))


class Archive(ExitStack):
    """The arrays of an .npz file, each read when it is asked for.

    A DataError if the file is no archive of plain numbers, has two arrays of one name, or claims to unpack to
    more than `FREE_ARRAYS` bytes and `HIGHEST_RATIO` times its size. A single array counts as if it had
    double precision, which many become.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._path = path
        with guarded_read(path, _EXPECTED):
            if is_array(path):
                raise DataError("expected named arrays (.npz, by numpy.savez), found a single one (.npy)")
            self._file = self.enter_context(zipfile.ZipFile(path))
            infos = self._file.infolist()
            self._members = {info.filename.removesuffix(".npy"): info for info in infos}
            if len(self._members) < len(infos):
                raise DataError("expected arrays of different names, found one twice")
            claimed = sum(info.file_size for info in infos)
            self._most = max(FREE_ARRAYS, HIGHEST_RATIO * os.path.getsize(path))
            if claimed > self._most:
                raise DataError(f"the archive claims to unpack to {claimed:,} bytes; refused")
        self.names = list(self._members)  # in the order of the file

    def read(self, name: str) -> AnyArray:
        """Return an array."""
        with guarded_read(f"{self._path}, {name}", _EXPECTED):
            if name not in self._members:
                raise DataError(f"expected an array named {name!r}, found {', '.join(self.names) or 'none'}")
            info = self._members[name]
            with self._file.open(info) as file:
                shape, _, _ = _check_header(file, info.file_size)
                if math.prod(shape) * _DOUBLE > self._most:
                    raise DataError(f"the array claims {math.prod(shape):,} numbers; refused")
                file.seek(0)
                return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


class ArchiveWriter(ExitStack):
    """Writes arrays one by one into an .npz file; the same arrays give the same bytes."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = self.enter_context(zipfile.ZipFile(file, "w"))

    def write(self, name: str, array: AnyArray) -> None:
        """Write an array, which may not have the name of another one."""
        with self._file.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
            np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)


def in_order(names: Sequence[str], path: str | Path) -> list[str]:
    """Return the names of arrays by the number that they end with: from 0 or from 1, without gaps."""
    numbered = {}
    for name in names:
        number = _NUMBER.search(name)
        if number is None or int(number[1]) in numbered:
            twice = "" if number is None else ", whose number another has"
            expected = "expected names that end with the number of the pair"
            raise DataError(f"{expected}, found {name!r}{twice}").at(path)
        numbered[int(number[1])] = name
    order = sorted(numbered)
    if order and (order[0] > 1 or order[-1] - order[0] != len(order) - 1):
        numbers = f"{len(order)} with numbers from {order[0]} to {order[-1]}"
        raise DataError(f"expected an array for each pair, found {numbers}").at(path)
    return [numbered[n] for n in order]


def read_arrays(path: str | Path) -> dict[str, AnyArray]:
    """Return all arrays of an .npz file by name; errors are those of :class:`Archive`."""
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.names}


class Rows:
    """The rows of a large .npy file, which stay there until they are asked for.

    They are read, not mapped: the system ends a process that looks at a mapped file which has become shorter.
    A DataError if the file is no array of plain numbers that lie row after row.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        with guarded_read(path), open(path, "rb") as file:
            self.shape, columns_first, self._dtype = _check_header(file, os.path.getsize(path))
            self._start = file.tell()
            if columns_first or not self.shape:
                raise DataError("expected rows one after another; save numpy.ascontiguousarray of the array")

    def read(self, begin: int, end: int) -> AnyArray:
        """Return some rows; a DataError if the file has become too short for them."""
        width = math.prod(self.shape[1:])
        offset = self._start + begin * width * self._dtype.itemsize
        with guarded_read(self._path):
            rows = np.fromfile(self._path, self._dtype, (end - begin) * width, offset=offset)
            if len(rows) < (end - begin) * width:
                raise DataError(f"expected {end} rows; the file is too short, or has become shorter")
        return rows.reshape(end - begin, *self.shape[1:])


def read_array(path: str | Path) -> AnyArray:
    """Return the array of an .npy file, or ``embeddings`` or the only one of an .npz file."""
    if is_archive(path):
        with Archive(path) as archive:
            only = len(archive.names) == 1 and "embeddings" not in archive.names
            return archive.read(archive.names[0] if only else "embeddings")
    with guarded_read(path, _EXPECTED), open(path, "rb") as file:
        _check_header(file, os.path.getsize(path))
        file.seek(0)
        return np.asarray(np.load(file, allow_pickle=False))


def write_array(path: str | Path, array: AnyArray) -> None:
    """Write an .npy file; NumPy's own way is silent where the disk fills with the last bytes."""
    with open_binary(path, "w") as file:
        only_writes: Any = SimpleNamespace(write=file.write)
        np.lib.format.write_array(only_writes, array, allow_pickle=False)


def is_archive(path: str | Path) -> bool:
    """Tell whether a file begins as an .npz file does."""
    with guarded_read(path), open(path, "rb") as file:
        return file.read(2) == b"PK"


def is_array(path: str | Path) -> bool:
    """Tell whether a file begins as an .npy file does."""
    with guarded_read(path), open(path, "rb") as file:
        return file.read(6) == b"\x93NUMPY"


def _check_header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array; refuse anything but numbers, and a shape too large."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, columns_first, dtype = read(file)
    if dtype.kind not in _PLAIN:
        raise DataError(f"expected an array of real numbers, found {str(dtype)[:60]}")
    needed = file.tell() + dtype.itemsize * math.prod(shape)
    if min(shape, default=0) < 0 or needed > size:
        raise DataError(f"the array claims shape {shape}, {needed:,} bytes, where there are {size:,}")
    return shape, columns_first, dtype


def expect_array(
    array: NDArray[Any],
    kind: str,
    shape: Shape,
    low: float | None = None,
    high: float | None = None,
    *,
    name: str | Path,
) -> NDArray[Any]:
    """Return an array if it has the kind, shape and range that are expected, and all entries are finite.

    `kind` is "i" for whole numbers, "f" for real numbers that are computed with, or "v" for vectors, which
    may have any precision. None in `shape` is any length but 0. Errors begin with `name`.
    """
    what, types = _TYPES[kind]
    if array.dtype not in [np.dtype(one) for one in types]:  # of this machine's byte order
        raise DataError(f"expected {what}, found {array.dtype}").at(name)
    lengths = zip(array.shape, shape, strict=False)
    right = [length > 0 if wanted is None else length == wanted for length, wanted in lengths]
    if array.ndim != len(shape) or not all(right):
        expected = " x ".join("any" if length is None else str(length) for length in shape)
        entries = " x ".join(map(str, array.shape)) or "a single number"
        raise DataError(f"expected {expected} entries, found {entries}").at(name)
    if array.size:
        for end in (array.min(), array.max()):  # NaN is both
            expect_number(end.item(), low, high, name=name)
    return array


def expect_number(
    value: Any, low: float | None = None, high: float | None = None, *, name: str | Path
) -> float:
    """Return a number if it is one, finite, and in the range; for the parameters see :func:`expect_array`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise DataError(f"expected a finite number, found {value!r}").at(name)
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise DataError(f"expected numbers {bounds}, found {value!r}").at(name)
    return value


def expect_whole(value: Any, low: float | None = None, high: float | None = None, *, name: str | Path) -> int:
    """Return a whole number in the range; for the parameters see :func:`expect_array`."""
    if expect_number(value, low, high, name=name) != int(value):
        raise DataError(f"expected a whole number, found {value!r}").at(name)
    return int(value)


def expect_rising(values: NDArray[np.integer], *, name: str | Path) -> None:
    """Refuse numbers of which one is not greater than the one before."""
    wrong = np.flatnonzero(values[1:] <= values[:-1])
    if len(wrong):
        before, after = values[wrong[0] : wrong[0] + 2].tolist()
        entry = f"found {after} after {before} at entry {wrong[0] + 1}"
        raise DataError(f"expected each entry above the one before, {entry}").at(name)
