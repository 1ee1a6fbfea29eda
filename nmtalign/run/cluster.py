"""Alignment and training on a dask.distributed cluster: an existing one, or one on this machine.

Calls are submitted in order, a few more than the cluster has threads, and results are yielded in order. The
call of a worker that dies is repeated by another. What every call needs is sent to each worker once, also to
later ones: workers need neither the files of the model nor those of the text.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import pickle
import re
import signal
import socket
import struct
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from nmtalign import __version__
from nmtalign.aligner.aligner import Aligner
from nmtalign.corpus.units import LinkUnit, link_unit
from nmtalign.display import short_repr
from nmtalign.errors import NmtalignError, UsageError, WorkerError, error_text, require_extra
from nmtalign.names import LinkUnitName
from nmtalign.run.stream import LINKS_ALONE, AlignedChunk, ChunkContents, align_chunk
from nmtalign.text.chunks import Chunk
from nmtalign.training.result_store import (
    Arguments,
    FileStore,
    Handle,
    ItemPath,
    Kept,
    Later,
    LostResultError,
    ResultStore,
    item_at,
)

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

CONNECT_SECONDS = 10  # a scheduler has to answer within this time
RETRY_SECONDS = 3  # a refused connection is tried again for this time
RETRY_PAUSE_SECONDS = 0.2
START_SECONDS = 60  # a cluster has to have a worker within this time
CHECK_SECONDS = 20  # after this time without a result, the workers are counted
MAX_CHECKS_WITHOUT_WORKERS = 3  # after this number in a row, the cluster is lost
MAX_ATTEMPTS = 3  # a call to all workers, or the transfer of a result, fails if a worker dies
_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
_LOOPBACK = "127.0.0.1"
_OTHER_PROGRAM = "another program answers"
_LOST_CLUSTER = "the scheduler of the cluster is lost"
_NO_WORKERS = "the cluster has no workers left"

Item = TypeVar("Item")


@contextmanager
def connected(scheduler: str | None, workers: int) -> Iterator[Client]:
    """Connect to a scheduler at an address; without one, start `workers` processes until the block ends.

    A UsageError says that ``distributed`` is not installed, no scheduler answers, or has no fitting workers.
    A WorkerError says that no process could be started, or that the cluster is lost. For the rest of this
    process dask writes no logs: what matters becomes an error.
    """
    with require_extra("dask", "a dask cluster needs the package distributed"):
        import dask
        from distributed import Client
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if scheduler is not None and not re.fullmatch(r"(\w+://)?[^/]+:\d+", scheduler):
        found = short_repr(scheduler)
        raise UsageError(f"`scheduler` must be an address such as tcp://node1:8786, found {found}")
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}))
        if scheduler is not None:
            _check_scheduler(scheduler)
        address: Any = scheduler or stack.enter_context(_closing_quietly(_start_local_cluster(workers)))
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except OSError:
            raise WorkerError(_LOST_CLUSTER) from None
        stack.enter_context(_closing_quietly(client))
        with lost_cluster_as_error(client):
            _wait_for_workers(client, scheduler)
            _check_worker_versions(client)
        yield client


@contextmanager
def _closing_quietly(resource: Any) -> Iterator[Any]:
    """Enter a client or a cluster; an error of closing it, which a lost one may raise, hides no other."""
    opened = resource.__enter__()
    try:
        yield opened
    finally:
        with contextlib.suppress(Exception):
            resource.__exit__(None, None, None)


def _wait_for_workers(client: Client, scheduler: str | None) -> None:
    """Wait for the first worker; a cluster of this machine, which has no address, has to start one."""
    try:
        client.wait_for_workers(1, timeout=START_SECONDS)
    except TimeoutError:
        if scheduler is None:
            problem = f"no worker process started within {START_SECONDS} s"
            raise WorkerError(f"{problem}; did the machine run out of memory?") from None
        advice = f"start some: dask worker {scheduler}"
        raise UsageError(f"the scheduler at {scheduler} has no workers; {advice}") from None


def _check_scheduler(address: str) -> None:
    """Raise UsageError unless a scheduler answers at an address; dask's client may wait forever."""
    try:
        _check_listener(address)
        identity = asyncio.run(asyncio.wait_for(_ask_identity(address), CONNECT_SECONDS))
        right = isinstance(identity, dict) and identity.get("type") == "Scheduler"
        why = "" if right else _OTHER_PROGRAM
    except Exception as error:  # whatever the bytes of other servers make dask raise
        why = _why_unreachable(error)
    if why:
        hint = "is the address right? Use tls:// if the scheduler requires certificates"
        raise UsageError(f"no dask scheduler answers at {address} ({why}); {hint}")


def _check_listener(address: str) -> None:
    """Raise an OSError if no program listens at an address; try again for `RETRY_SECONDS` seconds.

    dask tries again, too, but when its time is over, it has often lost the reason.
    """
    from distributed.comm import parse_address, parse_host_port

    scheme, place = parse_address(address)
    if scheme not in ("tcp", "tls"):
        return
    end = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            with socket.create_connection(parse_host_port(place), timeout=CONNECT_SECONDS):
                return
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(RETRY_PAUSE_SECONDS)


def _why_unreachable(error: BaseException) -> str:
    """Return why no scheduler answers: the first of the errors that led to this one."""
    while True:
        if isinstance(error, TimeoutError):
            return f"it keeps silent for {CONNECT_SECONDS} s"
        cause = error.__cause__ or error.__context__
        if cause is None:
            break
        error = cause
    if isinstance(error, MemoryError | struct.error):  # its first bytes are not the length of a message
        return _OTHER_PROGRAM
    text = error_text(error).partition("\n")[0]
    if isinstance(error, ConnectionRefusedError):
        return f"no program listens there: {text}"
    if isinstance(error, socket.gaierror):
        return f"the host is not found: {text}"
    return text


async def _ask_identity(address: str) -> Any:
    from distributed import Security
    from distributed.comm import connect

    comm = await connect(address, **Security().get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        return await comm.read()
    finally:
        comm.abort()


def _start_local_cluster(workers: int) -> LocalCluster:
    """Start a cluster on this machine, whose processes only this machine can reach."""
    from distributed import LocalCluster

    try:
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
            preload=__name__,
            host=_LOOPBACK,
            dashboard_address=f"{_LOOPBACK}:0",
            worker_dashboard_address=f"{_LOOPBACK}:0",
            silence_logs=logging.CRITICAL,
        )
    except (RuntimeError, TimeoutError) as error:
        raise WorkerError(
            f"worker processes could not be started ({error_text(error)}); did the machine run out of memory?"
        ) from None


def _worker_version() -> str:
    """Return the version of a worker, which asks its own package."""
    import nmtalign

    return nmtalign.__version__


def _check_worker_versions(client: Client) -> None:
    """Raise UsageError if workers have another nmtalign, or none; workers that die meanwhile are ignored."""
    answers = client.run(_worker_version, on_error="return").values()
    for error in answers:
        if isinstance(error, Exception) and not isinstance(error, OSError):
            raise UsageError(
                f"workers cannot run nmtalign ({error_text(error)}); install {__version__} there too"
            )
    versions = {version for version in answers if isinstance(version, str)}
    if versions - {__version__}:
        named = " and ".join(sorted(versions))
        found = f"the workers run nmtalign {named}, this machine {__version__}"
        raise UsageError(f"{found}; install the same version on all machines")


def dask_setup(worker: Any) -> None:
    """Prepare a worker of this machine (called by dask): Ctrl-C reaches all, the first process ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def lost_cluster_as_error(client: Client) -> Iterator[None]:
    """Raise WorkerError for every error of a lost cluster.

    A client that has lost its scheduler cancels its calls, and raises errors of many kinds. When it reaches
    another scheduler at the same address, it runs again, but that one does not know the calls. A call that
    needs a value which was sent to a worker, and lost with it, is cancelled, too: a LostResultError.
    """
    from distributed import KilledWorker

    try:
        yield
    except NmtalignError:
        raise
    except KilledWorker:
        problem = "several workers died while they worked on the same task"
        raise WorkerError(f"{problem}; did they run out of memory?") from None
    except (concurrent.futures.CancelledError, asyncio.CancelledError):
        raise LostResultError(_LOST_CLUSTER) from None
    except Exception:
        if client.status == "running":
            raise
        raise WorkerError(_LOST_CLUSTER) from None


class ClusterProcesses:
    """The workers of a cluster. If one is lost, the scheduler lets another one compute its results."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._threads = 0  # the threads of all workers at the last count

    def in_order(
        self, function: Callable[[bytes], Any], items: Iterable[Item]
    ) -> Generator[tuple[Item, Any]]:
        """Call a function with each pickled item and yield the items with their results, in order.

        Items are pickled because dask would otherwise search them for nested tasks. They are read as they are
        needed: half as many calls as the cluster has threads are queued. A WorkerError says that the cluster
        is lost.
        """
        waiting: deque[tuple[Item, Future[Any]]] = deque()
        try:
            with lost_cluster_as_error(self._client):
                for item in items:
                    future = self._client.submit(function, pickle.dumps(item), pure=False)
                    waiting.append((item, future))
                    threads = self._count_threads()
                    while len(waiting) > threads + threads // 2 + 1:
                        first, future = waiting.popleft()
                        yield first, self._answer(future)
                while waiting:
                    first, future = waiting.popleft()
                    yield first, self._answer(future)
        finally:
            if waiting and self._client.status == "running":  # an error ended it
                with contextlib.suppress(Exception):
                    self._client.cancel([future for _, future in waiting])

    def result_of(self, future: Future[Any]) -> Any:
        """Return the result of a call; a LostResultError if something that it needs is lost."""
        with lost_cluster_as_error(self._client):
            return self._answer(future)

    def _answer(self, future: Future[Any]) -> Any:
        """Wait for the result of a call, as long as there are workers."""
        failures = 0
        while True:
            try:
                return self._fetched(future)
            except OSError:
                failures += 1
                of_the_call = future.status == "error"
                if of_the_call or self._client.status != "running" or failures == MAX_ATTEMPTS:
                    raise

    def _fetched(self, future: Future[Any]) -> Any:
        """Wait until the result of a call has arrived; the transfer goes on while workers are counted.

        ``future.result(timeout=...)`` would start the transfer anew after each time-out, and its TimeoutError
        looks like one that the call has raised.
        """

        async def gathered() -> Any:
            return await self._client.gather(future, asynchronous=True)

        transfer = asyncio.run_coroutine_threadsafe(gathered(), self._client.loop.asyncio_loop)
        checks_without = 0  # workers, in a row
        try:
            while not concurrent.futures.wait([transfer], timeout=CHECK_SECONDS).done:
                checks_without = 0 if self._count_threads() else checks_without + 1
                if checks_without == MAX_CHECKS_WITHOUT_WORKERS:
                    raise WorkerError(_NO_WORKERS)
            return transfer.result()
        finally:
            transfer.cancel()

    def wait_for_a_worker(self) -> None:
        """Wait until the cluster has a worker; a WorkerError if it gets none."""
        try:
            self._client.wait_for_workers(1, timeout=START_SECONDS)
        except TimeoutError:
            raise WorkerError(_NO_WORKERS) from None

    def _count_threads(self) -> int:
        """Return the number of threads of all workers; the last known one if the scheduler is late."""
        try:
            self._threads = sum(self._client.nthreads().values())
        except OSError:
            if self._client.status != "running":
                raise
        return self._threads


# --- aligning ------------------------------------------------------------------------------------


def align_on_cluster(
    client: Client,
    aligner: Aligner,
    chunks: Iterable[Chunk],
    *,
    count: LinkUnitName = "words",
    values: str | None = None,
) -> Generator[AlignedChunk]:
    """Align chunks on a cluster.

    The aligner is sent to each worker once, through the scheduler; each chunk sends its text and returns its
    links. The result does not depend on the number of workers, provided that all have the same type of
    processor.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    aligner : Aligner
    chunks : iterable of Chunk
        The text, as returned by :func:`nmtalign.iter_chunks`; consumed lazily.
    count : {"words", "tokens"}
        What positions count: the space-separated words of the lines, or the tokens.
    values : str, optional
        Name of the values (such as ``forward`` or ``combined``) whose matrices are kept for each pair.

    Yields
    ------
    AlignedChunk
        In the order of the chunks.

    Raises
    ------
    WorkerError
        If the cluster is lost.
    """
    if not hasattr(client, "register_plugin"):
        raise UsageError(f"expected a client of dask, found {short_repr(client)}")
    contents = ChunkContents(values)
    yield from align_unit_on_cluster(client, aligner, chunks, unit=link_unit(count=count), contents=contents)


def align_unit_on_cluster(
    client: Client,
    aligner: Aligner,
    chunks: Iterable[Chunk],
    *,
    unit: LinkUnit,
    contents: ChunkContents = LINKS_ALONE,
) -> Generator[AlignedChunk]:
    """Yield aligned chunks as :func:`align_on_cluster` does; positions count the `unit`."""
    with _aligner_on_workers(client, replace(aligner, workers=1)) as name:
        align = partial(_align_on_worker, name, unit, contents)
        for chunk, aligned in ClusterProcesses(client).in_order(align, chunks):
            yield aligned._replace(lines=chunk.lines)


@contextmanager
def _aligner_on_workers(client: Client, aligner: Aligner) -> Iterator[str]:
    """Send every worker the aligner under a name, for the duration of the block."""
    from distributed import WorkerPlugin

    class Holder(WorkerPlugin):  # type: ignore[misc]
        """Opens the aligner in each worker."""

        def __init__(self, data: bytes) -> None:
            self.data = data

        def setup(self, worker: Any) -> None:
            self.aligner = pickle.loads(self.data)
            self.data = b""

    name = f"nmtalign-{uuid.uuid4().hex}"
    holder = Holder(pickle.dumps(aligner))
    with lost_cluster_as_error(client):
        for left in reversed(range(MAX_ATTEMPTS)):
            try:
                client.register_plugin(holder, name=name)
                break
            except OSError:  # a worker died meanwhile
                if not left:
                    raise
    try:
        yield name
    finally:
        if client.status == "running":
            with contextlib.suppress(Exception):  # the cluster may be lost all the same
                client.unregister_worker_plugin(name)


def _align_on_worker(name: str, unit: LinkUnit, contents: ChunkContents, pickled: bytes) -> AlignedChunk:
    """Align a pickled chunk in a worker; the result omits the input lines."""
    from distributed import get_worker

    aligner, chunk = get_worker().plugins[name].aligner, pickle.loads(pickled)
    return align_chunk(aligner, chunk, unit=unit, contents=contents)._replace(lines=[])


# --- results of training that the workers keep ---------------------------------------------------
# Each call is a task, and each of several results of a call another one, so a worker fetches only what
# its own calls need, directly from the workers that keep it. Values of this program are sent to one
# worker. Neither the scheduler nor this program keeps them: with their worker, they are lost, and
# everything that needs them.


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
                # workers get the values of this program, which other arguments stand for
                given = {
                    name: self.share(argument.read()) if isinstance(argument, Later) else argument
                    for name, argument in arguments.items()
                }
                result = self._client.submit(function, **given, pure=False)
                items = self._client.map(item_at, [result] * len(paths), paths, pure=False)
                futures.append(items)
        return futures

    def list_of(self, results: Sequence[Sequence[Handle[Kept]]], number: int) -> Handle[list[Kept]]:
        futures: Any = [items[number] for items in results]
        return futures  # type: ignore[no-any-return]

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
            yield handle.read() if isinstance(handle, Later) else self._processes.result_of(handle)

    def saved(self, handles: Sequence[Handle[Kept]]) -> list[Handle[Kept]]:
        return self._files.put(self.read(handles))
