"""Results of training that the workers of a cluster keep, and pass to each other.

Each call is a task, and each of several results of a call another one, so a worker fetches only what its own
calls need, directly from the workers that keep it. Values of this program are sent to one worker. Neither the
scheduler nor this program keeps them: with their worker, they are lost, and everything that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

from nmtalign.run.cluster import ClusterProcesses, lost_cluster_as_error
from nmtalign.training.result_store import (
    Arguments,
    FileStore,
    Handle,
    Kept,
    LostResultError,
    Other,
    is_later,
)

if TYPE_CHECKING:
    from distributed import Client, Future


class ClusterStore:
    """Calls functions on the workers of a cluster, which keep their results.

    It is a :class:`~nmtalign.training.result_store.ResultStore`. The handle of a value on a worker is a
    Future of dask, that of a list of slices is a list of Futures, and that of a value in a file is a `Later`.
    """

    place = "on the cluster"

    def __init__(self, client: Client) -> None:
        self._client = client
        self._processes = ClusterProcesses(client)
        self._files = FileStore()  # of what must not be lost

    def map(self, function: Callable[..., Kept], calls: Sequence[Arguments]) -> list[Handle[Kept]]:
        """Call a function; keep its result."""
        return [result for (result,) in self.submit(function, calls, [()])]

    def map_to_pairs(
        self, function: Callable[..., tuple[Kept, Other]], calls: Sequence[Arguments]
    ) -> tuple[list[Handle[Kept]], list[Handle[Other]]]:
        """Call a function that returns two results; keep the first results, and the second ones."""
        pairs = self.submit(function, calls, [(0,), (1,)])
        return [first for first, _ in pairs], [second for _, second in pairs]

    def exchange(
        self,
        function: Callable[..., tuple[Sequence[Kept], Other]],
        calls: Sequence[Arguments],
        receivers: int,
    ) -> tuple[list[Handle[list[Kept]]], list[Handle[Other]]]:
        """Call a function that returns slices, one for each receiver, and another result."""
        paths: list[tuple[int, ...]] = [(0, number) for number in range(receivers)]
        results = self.submit(function, calls, [*paths, (1,)])
        slices_of_receivers: Any = [[of_call[number] for of_call in results] for number in range(receivers)]
        return slices_of_receivers, [of_call[receivers] for of_call in results]

    def submit(
        self, function: Callable[..., Any], calls: Sequence[Arguments], paths: Sequence[tuple[int, ...]]
    ) -> list[list[Future[Any]]]:
        """Submit a task for each call, and tasks that take items out of its result.

        An item is where a path of indices leads to. Return the futures of the items of each call.
        """
        futures = []
        with lost_cluster_as_error(self._client):
            for arguments in calls:
                given = {name: self._sent(argument) for name, argument in arguments.items()}
                result = self._client.submit(function, **given, pure=False)
                items = self._client.map(_item_at, [result] * len(paths), paths, pure=False)
                futures.append(items)
        return futures

    def _sent(self, argument: Any) -> Any:
        """Return an argument of a call, in place of which workers get its value."""
        return self.share(argument.read()) if is_later(argument) else argument

    def share(self, value: Kept) -> Handle[Kept]:
        """Send a value to a worker, from which other workers fetch it."""
        with lost_cluster_as_error(self._client):
            try:
                (future,) = self._client.scatter([value], hash=False)
            except OSError:
                if self._client.status != "running":
                    raise
                self._processes.wait_for_a_worker()
                raise LostResultError("a worker of the cluster is lost") from None
        return future  # type: ignore[no-any-return]

    def put(self, values: Iterable[Kept]) -> list[Handle[Kept]]:
        """Write values, one at a time, to a file of this program."""
        return self._files.put(values)

    def read(self, handles: Iterable[Handle[Kept]]) -> Iterator[Kept]:
        """Yield the values of handles, in order; one at a time is fetched."""
        for handle in handles:
            yield handle.read() if is_later(handle) else self._processes.result_of(handle)

    def saved(self, handles: Sequence[Handle[Kept]]) -> list[Handle[Kept]]:
        """Write the values to a file of this program."""
        return self._files.put(self.read(handles))


def _item_at(result: Any, path: Sequence[int]) -> Any:
    """Return the item of a result that a path of indices leads to; the result if there are no indices."""
    return reduce(getitem, path, result)
