"""Results of calls, which are kept where later calls find them: in temporary files, or on a cluster.

Training that does not fit into the memory of one process consists of calls of functions. Their arguments are
values, or handles of what a store keeps; only results that this program asks for are read here.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from nmtalign.arrays import Longs
from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, parallel_map
from nmtalign.errors import WorkerError
from nmtalign.files.temporary_arrays import ArrayPlace, TemporaryArrays

PICKLE_PROTOCOL = 5  # copies arrays without a detour

Handle = Any  # of a kept value: its type depends on the store


class LostResultError(WorkerError):
    """A kept result is lost, with the worker that kept it; the calls that led to it can be repeated."""


class Later(NamedTuple):
    """A handle of a value that is read from a file of this program where a call needs it."""

    read: Callable[[], Any]


class ResultStore(Protocol):
    """Calls functions, and keeps their results."""

    place: str  # where they are, in words

    def map(
        self, function: Callable[..., Sequence[Any]], calls: Sequence[Sequence[Any]], items: int
    ) -> list[Sequence[Handle]]:
        """Call a function with the arguments of each call, some of which may be handles.

        The function returns so many items, which are kept one by one; their handles are returned.
        """

    def share(self, value: Any) -> Handle:
        """Return a handle of a value of this program that many calls need."""

    def put(self, values: Iterable[Any]) -> list[Later]:
        """Write values, one at a time, to a file of this program, and return their handles."""

    def read(self, handles: Iterable[Handle]) -> Iterator[Any]:
        """Yield the values of handles, in order; only a few are in memory."""

    def saved(self, handles: Sequence[Handle]) -> list[Later]:
        """Return handles of the same values, which cannot be lost with a worker."""


class FileStore:
    """Keeps results in temporary files, and computes them in processes of this machine."""

    place = "on disk"

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def map(
        self, function: Callable[..., Sequence[Any]], calls: Sequence[Sequence[Any]], items: int
    ) -> list[Sequence[Handle]]:
        """Call a function in several processes, which write the results to one file."""
        file = TemporaryArrays()

        def call(arguments: Sequence[Any]) -> list[bytes]:
            results = function(*map(_value_of, arguments))
            return [pickle.dumps(result, PICKLE_PROTOCOL) for result in results]

        def write(results: list[bytes]) -> tuple[ArrayPlace, Longs]:
            return _append_all(file, results)

        places = parallel_map(call, calls, self._workers, then=write, work=MIN_PARALLEL_CELLS)
        return [_StoredItems(file, *place) for place in places]

    def share(self, value: Any) -> Handle:
        """Return the value, which is in the memory of all processes."""
        return value

    def put(self, values: Iterable[Any]) -> list[Later]:
        """Write values, one at a time, to one file."""
        file = TemporaryArrays()
        handles: list[Later] = []
        for value in values:
            place = _append_all(file, [pickle.dumps(value, PICKLE_PROTOCOL)])
            handles.extend(_StoredItems(file, *place))
        return handles

    def read(self, handles: Iterable[Handle]) -> Iterator[Any]:
        """Yield the values of handles, in order."""
        return map(_value_of, handles)

    def saved(self, handles: Sequence[Handle]) -> list[Later]:
        """Return the handles: files are not lost."""
        return list(handles)


def is_later(given: Any) -> bool:
    """Return whether an argument of a call is the handle of a value in a file."""
    return isinstance(given, Later)


def _value_of(given: Any) -> Any:
    return given.read() if is_later(given) else given


def _append_all(file: TemporaryArrays, pickles: Sequence[bytes]) -> tuple[ArrayPlace, Longs]:
    """Write pickled values one after the other; return their common place and where each begins in it."""
    begins = np.cumsum([0, *map(len, pickles)])
    place = file.reserve(int(begins[-1]), np.uint8)
    for pickled, begin in zip(pickles, begins.tolist(), strict=False):
        file.write(place, np.frombuffer(pickled, np.uint8), begin)
    return place, begins


class _StoredItems(Sequence[Later]):
    """Handles of values that are pickled in a file, which exists as long as one of the handles."""

    def __init__(self, file: TemporaryArrays, place: ArrayPlace, begins: Longs) -> None:
        self._file = file
        self._place = place
        self._begins = begins

    def __len__(self) -> int:
        return len(self._begins) - 1

    def __getitem__(self, k: int) -> Later:  # type: ignore[override]
        begin = int(self._begins[k])
        end = int(self._begins[k + 1])  # raises IndexError after the last item
        return Later(partial(self._load, begin, end))

    def _load(self, begin: int, end: int) -> Any:
        return pickle.loads(self._file.read(self._place, begin, end).data)
