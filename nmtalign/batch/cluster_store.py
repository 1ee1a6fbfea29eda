"""Results of training that the workers of a cluster keep, and pass to each other.

Each call is a task, and each item of its result another one, so a worker fetches only what its own calls
need, directly from the workers that keep it. Values of this program are sent to one worker. Neither the
scheduler nor this program keeps them: with their worker, they are lost, and everything that needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import getitem
from typing import TYPE_CHECKING, Any

from nmtalign.batch.cluster import ClusterProcesses, lost_cluster_as_error
from nmtalign.training.result_store import FileStore, Later, LostResultError, is_later

if TYPE_CHECKING:
    from distributed import Client, Future

ClusterHandle = Any  # of a value on a worker: Future; of a value in a file: Later


class ClusterStore:
    """Calls functions on the workers of a cluster, which keep their results.

    It is a :class:`~nmtalign.training.result_store.ResultStore`.
    """

    place = "on the cluster"

    def __init__(self, client: Client) -> None:
        self._client = client
        self._processes = ClusterProcesses(client)
        self._files = FileStore()  # of what must not be lost

    def map(
        self, function: Callable[..., Sequence[Any]], calls: Sequence[Sequence[Any]], items: int
    ) -> list[Sequence[ClusterHandle]]:
        """Submit a task for each call, and one for each item of its result."""
        handles = []
        with lost_cluster_as_error(self._client):
            for arguments in calls:
                given = [self._sent(argument) for argument in arguments]
                result = self._client.submit(function, *given, pure=False)
                handles.append(self._client.map(getitem, [result] * items, range(items), pure=False))
        return handles

    def _sent(self, argument: Any) -> Any:
        return self.share(argument.read()) if is_later(argument) else argument

    def share(self, value: Any) -> Future[Any]:
        """Send a value to a worker, from which other workers fetch it."""
        with lost_cluster_as_error(self._client):
            try:
                (future,) = self._client.scatter([value], hash=False)
            except OSError:
                if self._client.status != "running":
                    raise
                self._processes.wait_for_a_worker()
                raise LostResultError("a worker of the cluster is lost") from None
        return future

    def put(self, values: Iterable[Any]) -> list[Later]:
        """Write values, one at a time, to a file of this program."""
        return self._files.put(values)

    def read(self, handles: Iterable[ClusterHandle]) -> Iterator[Any]:
        """Yield the values of handles, in order; one at a time is fetched."""
        for handle in handles:
            yield handle.read() if is_later(handle) else self._processes.result_of(handle)

    def saved(self, handles: Sequence[ClusterHandle]) -> list[Later]:
        """Write the values to a file of this program."""
        return self._files.put(self.read(handles))
