"""Results of training that the workers of a cluster keep, and pass to each other.

Each call is a task, and each of several results of a call another one, so a worker fetches only what its own
calls need, directly from the workers that keep it. Values of this program are sent to one worker. Neither the
scheduler nor this program keeps them: with their worker, they are lost, and everything that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nmtalign.run.cluster import ClusterProcesses, lost_cluster_as_error
from nmtalign.training.result_store import (
    Arguments,
    FileStore,
    Handle,
    ItemPath,
    Kept,
    LostResultError,
    ResultStore,
    is_later,
    item_at,
)

if TYPE_CHECKING:
    from distributed import Client, Future


class ClusterStore(ResultStore):
    """Calls functions on the workers of a cluster, which keep their results.

    The handle of a value on a worker is a
    Future of dask, that of a list of slices is a list of Futures, and that of a value in a file is a `Later`.
    """

    place = "on the cluster"

    def __init__(self, client: Client) -> None:
        self._client = client
        self._processes = ClusterProcesses(client)
        self._files = FileStore()  # of what must not be lost

    def call(
        self, function: Callable[..., Any], calls: Sequence[Arguments], paths: Sequence[ItemPath]
    ) -> list[list[Future[Any]]]:
        # a task for each call, and tasks that take items out of its result
        futures = []
        with lost_cluster_as_error(self._client):
            for arguments in calls:
                given = {name: self._sent(argument) for name, argument in arguments.items()}
                result = self._client.submit(function, **given, pure=False)
                items = self._client.map(item_at, [result] * len(paths), paths, pure=False)
                futures.append(items)
        return futures

    def list_of(self, results: Sequence[Sequence[Handle[Kept]]], number: int) -> Handle[list[Kept]]:
        futures: Any = [items[number] for items in results]
        return futures  # type: ignore[no-any-return]

    def _sent(self, argument: Any) -> Any:
        """Return an argument of a call, in place of which workers get its value."""
        return self.share(argument.read()) if is_later(argument) else argument

    def share(self, value: Kept) -> Handle[Kept]:
        # other workers fetch it from the worker that gets it
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
        return self._files.put(values)

    def read(self, handles: Iterable[Handle[Kept]]) -> Iterator[Kept]:
        for handle in handles:
            yield handle.read() if is_later(handle) else self._processes.result_of(handle)

    def saved(self, handles: Sequence[Handle[Kept]]) -> list[Handle[Kept]]:
        return self._files.put(self.read(handles))
