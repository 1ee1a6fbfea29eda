"""Results of calls, which are kept where later calls find them: in temporary files, or on a cluster.

Training that does not fit into the memory of one process consists of calls of functions. Their arguments are
values, or handles of what a store keeps; only results that this program asks for are read here.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import getitem
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from nmtalign.arrays import Longs
from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, parallel_map
from nmtalign.errors import WorkerError
from nmtalign.files.array_files import ArrayPlace, TemporaryArrays

PICKLE_PROTOCOL = 5  # copies arrays without a detour

Kept = TypeVar("Kept")
Other = TypeVar("Other")

Arguments = Mapping[str, Any]  # of a call, by name: values and handles; the function gets values only
ItemPath = tuple[int, ...]  # indices that lead to an item of a result; none: the result itself


class LostResultError(WorkerError):
    """A kept result is lost, with the worker that kept it; the calls that led to it can be repeated."""


class Handle(Generic[Kept]):
    """Stands for a kept value in the arguments of calls; its class depends on the store.

    The value is kept as long as a handle of it, or of a result that is still to be computed from it, exists.
    """


@dataclass(frozen=True)
class Later(Handle[Kept]):
    """A handle of a value that this program has, in memory or in a file.

    A call that needs the value gets it from `read`.
    """

    read: Callable[[], Kept]


class ResultStore(ABC):
    """Calls functions, and keeps their results.

    `calls` are the arguments of each call. The handles that a method returns are in the order of the calls.
    """

    place: ClassVar[str]  # where results are kept, in words

    def map(self, function: Callable[..., Kept], calls: Sequence[Arguments]) -> list[Handle[Kept]]:
        """Call a function; keep its result."""
        return [items[0] for items in self.call(function, calls, [()])]

    def map_to_pairs(
        self, function: Callable[..., tuple[Kept, Other]], calls: Sequence[Arguments]
    ) -> tuple[list[Handle[Kept]], list[Handle[Other]]]:
        """Call a function that returns two results; keep the first results, and the second ones."""
        pairs = self.call(function, calls, [(0,), (1,)])
        return [first for first, _ in pairs], [second for _, second in pairs]

    def exchange(
        self,
        function: Callable[..., tuple[Sequence[Kept], Other]],
        calls: Sequence[Arguments],
        receivers: int,
    ) -> tuple[list[Handle[list[Kept]]], list[Handle[Other]]]:
        """Call a function that returns slices, one for each receiver, and another result.

        Return, for each receiver, a handle of the list of its slices, one from each call. Also return handles
        of the other results, one for each call.
        """
        slices: list[ItemPath] = [(0, number) for number in range(receivers)]
        results = self.call(function, calls, [*slices, (1,)])
        slices_of_receivers = [self.list_of(results, number) for number in range(receivers)]
        return slices_of_receivers, [items[receivers] for items in results]

    @abstractmethod
    def call(
        self, function: Callable[..., Any], calls: Sequence[Arguments], paths: Sequence[ItemPath]
    ) -> Sequence[Sequence[Handle[Any]]]:
        """Call a function; return handles of the items of each result to which the paths lead."""

    @abstractmethod
    def list_of(self, results: Sequence[Sequence[Handle[Kept]]], number: int) -> Handle[list[Kept]]:
        """Return a handle of the list of one item, by its number, of each result."""

    @abstractmethod
    def share(self, value: Kept) -> Handle[Kept]:
        """Return a handle of a value of this program that many calls need."""

    @abstractmethod
    def put(self, values: Iterable[Kept]) -> list[Handle[Kept]]:
        """Write values, one at a time, to a file of this program, and return their handles."""

    @abstractmethod
    def read(self, handles: Iterable[Handle[Kept]]) -> Iterator[Kept]:
        """Yield the values of handles, in order; only a few are in memory."""

    @abstractmethod
    def saved(self, handles: Sequence[Handle[Kept]]) -> list[Handle[Kept]]:
        """Return handles of the same values, which cannot be lost with a worker."""


def item_at(result: Any, path: ItemPath) -> Any:
    """Return the item of a result that a path of indices leads to; the result if there are no indices."""
    return reduce(getitem, path, result)


class FileStore(ResultStore):
    """Keeps results in temporary files, and computes them in processes of this machine."""

    place = "on disk"

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def call(
        self, function: Callable[..., Any], calls: Sequence[Arguments], paths: Sequence[ItemPath]
    ) -> list[_StoredResults]:
        # several processes write their results one by one to one file
        file = TemporaryArrays()

        def call(arguments: Arguments) -> list[bytes]:
            result = function(**{name: _value_of(given) for name, given in arguments.items()})
            return [pickle.dumps(item_at(result, path), PICKLE_PROTOCOL) for path in paths]

        append = partial(_append_all, file)
        # every call is large enough for a process of its own
        places = parallel_map(call, calls, self._workers, then=append, work=MIN_PARALLEL_CELLS)
        return [_StoredResults(file, *place) for place in places]

    def list_of(self, results: Sequence[Sequence[Handle[Kept]]], number: int) -> Handle[list[Kept]]:
        return Later(lambda: list(self.read(items[number] for items in results)))

    def share(self, value: Kept) -> Handle[Kept]:
        return Later(lambda: value)  # which is in the memory of all processes

    def put(self, values: Iterable[Kept]) -> list[Handle[Kept]]:
        file = TemporaryArrays()
        handles: list[Handle[Kept]] = []
        for value in values:
            place = _append_all(file, [pickle.dumps(value, PICKLE_PROTOCOL)])
            handles.extend(_StoredResults(file, *place))
        return handles

    def read(self, handles: Iterable[Handle[Kept]]) -> Iterator[Kept]:
        return map(_value_of, handles)

    def saved(self, handles: Sequence[Handle[Kept]]) -> list[Handle[Kept]]:
        return list(handles)  # files are not lost


def _value_of(given: Any) -> Any:
    return given.read() if isinstance(given, Later) else given


def _append_all(file: TemporaryArrays, pickles: Sequence[bytes]) -> tuple[ArrayPlace, Longs]:
    """Write pickled values one after the other.

    Return their common place, where each begins in it, and where the last one ends: n + 1 positions.
    """
    begins = np.cumsum([0, *map(len, pickles)])
    place = file.reserve(int(begins[-1]), np.uint8)
    for pickled, begin in zip(pickles, begins[:-1].tolist(), strict=True):
        file.write(place, np.frombuffer(pickled, np.uint8), begin)
    return place, begins


class _StoredResults(Sequence[Later[Any]]):
    """Handles of the results of one call, which are pickled in a file.

    The file exists as long as one of the handles. A handle is made when it is needed: there may be hundreds
    of thousands of slices.
    """

    def __init__(self, file: TemporaryArrays, place: ArrayPlace, begins: Longs) -> None:
        self._file = file
        self._place = place
        self._begins = begins

    def __len__(self) -> int:
        return len(self._begins) - 1

    def __getitem__(self, k: int) -> Later[Any]:  # type: ignore[override]
        begin = int(self._begins[k])
        end = int(self._begins[k + 1])  # raises IndexError after the last result
        return Later(partial(self._load, begin, end))

    def _load(self, begin: int, end: int) -> Any:
        return pickle.loads(self._file.read(self._place, begin, end).data)
