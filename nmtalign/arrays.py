"""NumPy's files, read with care: no pickles, nothing larger than its file can hold, one kind of error."""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.files import foreign, most_unpacked

_EXPECTED = "not a readable file of arrays"
_PLAIN = "biuf"  # kinds of numbers
_NPY = b"\x93NUMPY"
_NUMBER = re.compile(r"(\d{1,9})$", re.ASCII)


class Archive:
    """The arrays of an .npz file, each read when it is asked for.

    Attributes
    ----------
    names : list of str
        In the order of the file.

    Raises
    ------
    DataError
        If the file is no archive of plain numbers, has two arrays of one name, or claims to unpack to more
        than :func:`nmtalign.files.most_unpacked` of its size.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        with foreign(path, _EXPECTED):
            _refuse_single(path)
            self._file, self._process = zipfile.ZipFile(path), os.getpid()
            infos = self._file.infolist()
            self._members = {info.filename.removesuffix(".npy"): info for info in infos}
            if len(self._members) < len(infos):
                raise DataError("expected arrays of different names, found one twice")
            claimed = sum(info.file_size for info in infos)
            if claimed > most_unpacked(os.path.getsize(path)):
                raise DataError(f"the archive claims to unpack to {claimed:,} bytes; refused")
        self.names = list(self._members)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, name: str) -> NDArray[Any]:
        """Return an array."""
        with foreign(f"{self._path}, {name}", _EXPECTED):
            if name not in self._members:
                raise DataError(f"expected an array named {name!r}, found {', '.join(self.names) or 'none'}")
            info = self._members[name]
            archive = self._own()
            with archive.open(info) as file:
                _check_header(file, info.file_size)
            with archive.open(info) as file:
                return np.asarray(np.lib.format.read_array(file, allow_pickle=False))

    def _own(self) -> zipfile.ZipFile:
        """Return the file, opened by this process: forked ones would share the place where they read."""
        if self._process != os.getpid():
            self._file, self._process = zipfile.ZipFile(self._path), os.getpid()
        return self._file


def in_order(names: Sequence[str], path: str | Path) -> list[str]:
    """Return the names of arrays by the number that they end with: from 0 or from 1, without gaps."""
    numbered = {}
    for name in names:
        found = _NUMBER.search(name)
        if found is None or int(found[1]) in numbered:
            twice = "" if found is None else ", whose number another has"
            expected = "expected names that end with the number of the pair"
            raise DataError(f"{expected}, found {name!r}{twice}").at(path)
        numbered[int(found[1])] = name
    order = sorted(numbered)
    if order and (order[0] > 1 or order[-1] - order[0] != len(order) - 1):
        raise DataError(
            f"expected an array for each pair, found {len(order)} with numbers from {order[0]} to {order[-1]}"
        ).at(path)
    return [numbered[n] for n in order]


def read_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an .npz file by name; errors as of :class:`Archive`."""
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.names}


def read_array(path: str | Path, *, mapped: bool = False) -> NDArray[Any]:
    """Return the array of an .npy file, or ``embeddings`` or the only one of an .npz file.

    That of an .npy file is memory-mapped if `mapped`.
    """
    if is_archive(path):
        with Archive(path) as archive:
            only = len(archive.names) == 1 and "embeddings" not in archive.names
            return archive.read(archive.names[0] if only else "embeddings")
    with foreign(path, _EXPECTED):
        with open(path, "rb") as file:
            _check_header(file, os.path.getsize(path))
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        return array


def is_archive(path: str | Path) -> bool:
    """Tell whether a file begins as an .npz file does."""
    return _begins(path, b"PK")


def is_array(path: str | Path) -> bool:
    """Tell whether a file begins as an .npy file does."""
    return _begins(path, _NPY)


def _begins(path: str | Path, mark: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(mark)) == mark


def _refuse_single(path: str | Path) -> None:
    if is_array(path):
        raise DataError("expected named arrays (.npz, by numpy.savez), found a single one (.npy)")


def _check_header(file: IO[bytes], size: int) -> None:
    """Refuse anything but numbers, and a shape that needs more bytes than there are."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.kind not in _PLAIN:
        raise DataError(f"expected an array of real numbers, found {str(dtype)[:60]}")
    needed = file.tell() + dtype.itemsize * math.prod(shape)
    if min(shape, default=0) < 0 or needed > size:
        raise DataError(f"the array claims shape {shape}, {needed:,} bytes, where there are {size:,}")
