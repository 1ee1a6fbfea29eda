"""Arrays in a temporary file, which is gone when the last reference to it is, also after a kill."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import threading
import weakref
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from nmtalign.arrays import AnyArray, Longs


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
