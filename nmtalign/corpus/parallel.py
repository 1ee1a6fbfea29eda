"""Parallel maps, with results in the order of the items.

Large work is done by forked processes if a fork is safe; child processes share arrays without a copy. Results
of threads and of processes are bit-identical.

:func:`parallel_map` knows all items before: process n does the items n, n + workers, ..., and only results
travel through its pipe. :func:`parallel_imap` reads a stream: idle processes get the next items, and results
wait until all earlier ones have been yielded.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.display import short_repr
from nmtalign.errors import UsageError, WorkerError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MAX_RESULTS_AHEAD = 1  # finished results that may wait in a process for their turn
MAX_THREAD_CHECKS = 10  # the system lists a finished thread for a moment, so it is looked at again
MIN_PARALLEL_CELLS = 1 << 21  # with fewer cells, starting processes takes longer than the work
PR_SET_PDEATHSIG = 1  # prctl of Linux: sets the signal that a process gets when its parent ends
PIPE_CLOSED_ERRORS = EOFError, BrokenPipeError, ConnectionResetError
WORKER_DIED = "a worker process died; did the machine run out of memory? Try fewer `workers`"

Item = TypeVar("Item")
Value = TypeVar("Value")
Combined = TypeVar("Combined")


def default_workers(workers: int | None = None) -> int:
    """Return `workers`, or the number of cores this process may use; raise UsageError if it is below 1."""
    if workers is not None:
        if not isinstance(workers, Integral) or isinstance(workers, bool) or workers < 1:
            raise UsageError(
                f"expected an integer as the number of workers, 1 or more, found {short_repr(workers)}"
            )
        return int(workers)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_zeros(size: int, kind: type[Any] = np.float64) -> AnyArray:
    """Return zeros in memory shared with forked processes."""
    return np.frombuffer(mmap.mmap(-1, max(size, 1) * np.dtype(kind).itemsize), kind, size)


def parallel_map(
    function: Callable[[Item], Value],
    items: Sequence[Item],
    workers: int,
    *,
    then: Callable[[Value], Any] | None = None,
    work: int = 0,
) -> Iterator[Any]:
    """Map with several processes or threads, and yield the results in the order of the items.

    Only a few results are in memory at a time. `function` may run in another process, so this process does
    not see what it changes. `then` is called with each result, in the order of the items, perhaps in another
    process as well, where it can change shared arrays. `work` is the amount of work in cells; a small amount
    is done by threads, which start faster than processes.
    """
    combine = _unchanged if then is None else then
    workers = min(workers, len(items))
    if workers <= 1:
        return map(combine, map(function, items))
    if work >= MIN_PARALLEL_CELLS and may_fork():
        return _map_in_processes(function, combine, items, workers)
    return map(combine, _map_in_threads(function, items, workers))


def _unchanged(value: Any) -> Any:
    return value


def parallel_imap(function: Callable[[Item], Value], items: Iterable[Item], workers: int) -> Iterator[Value]:
    """Map with several processes or threads over a stream of items, with results in order.

    If processes do the work, items and results are pickled. Each process works on one item at a time.
    """
    if workers <= 1:
        return map(function, items)
    if may_fork():
        return _imap_in_processes(function, iter(items), workers)
    return _map_in_threads(function, items, workers)


def may_fork() -> bool:
    """Return whether a fork is safe: on Linux, without other threads, in a process that may have children."""
    from multiprocessing import current_process

    if sys.platform != "linux" or current_process().daemon or threading.active_count() > 1:
        return False
    for _ in range(MAX_THREAD_CHECKS):
        try:
            if len(os.listdir("/proc/self/task")) == 1:
                return True
        except OSError:
            return False
        time.sleep(0.002)
    return False


def _map_in_threads(
    function: Callable[[Item], Value], items: Iterable[Item], workers: int
) -> Iterator[Value]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        futures: deque[Any] = deque()  # in the order of the items
        for item in items:
            futures.append(pool.submit(function, item))
            if len(futures) > 2 * workers:  # bounds the results in memory
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()


def _map_in_processes(
    function: Callable[[Item], Value], then: Callable[[Value], Combined], items: Sequence[Item], workers: int
) -> Iterator[Combined]:
    """Assign items to processes in turn; each process is asked for a result when its turn comes."""
    serve = partial(_serve_dealt_items, function, then, items, workers)
    with _forked_processes(workers, serve) as pipes:
        for number in range(len(items)):
            pipe = pipes[number % workers]
            _send(pipe, None)  # asks for the next result
            yield _unpack_answer(_receive(pipe))


def _imap_in_processes(
    function: Callable[[Item], Value], items: Iterator[Item], workers: int
) -> Iterator[Value]:
    """Send each process an item whenever it is idle."""
    from multiprocessing.connection import wait

    with _forked_processes(workers, partial(_serve_items, function)) as pipes:
        idle = list(pipes)
        busy: dict[Connection, int] = {}  # the number of the item that a process works on
        answers: dict[int, Any] = {}  # finished items, by number, that wait for their turn
        sent = yielded = 0
        while True:
            room = yielded + 2 * workers - sent  # bounds the answers in memory
            for item in islice(items, min(len(idle), room)):
                pipe = idle.pop()
                _send(pipe, item)
                busy[pipe] = sent
                sent += 1
            if yielded == sent:
                return
            # if the next answer is there, only look whether others are, without waiting for them
            timeout = 0 if yielded in answers else None
            for ready in wait(list(busy), timeout):
                pipe = cast("Connection", ready)
                answers[busy.pop(pipe)] = _receive(pipe)
                idle.append(pipe)
            if yielded in answers:
                yield _unpack_answer(answers.pop(yielded))
                yielded += 1


@contextmanager
def _forked_processes(workers: int, work: Callable[[int, Connection], None]) -> Iterator[list[Connection]]:
    """Fork processes that do `work(number, pipe)`; they end with the block, or with this process."""
    from multiprocessing import get_context

    fork = get_context("fork")
    # The C library keeps much of the memory that was freed; children would inherit it. Not every C library
    # has this function.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    pipes: list[Connection] = []
    processes = []
    try:
        for number in range(workers):
            pipe, end_of_child = fork.Pipe()
            pipes.append(pipe)
            arguments = (work, number, end_of_child, pipes)
            process = fork.Process(target=_run_child, args=arguments, daemon=True)
            with _without_signals():  # a child unblocks them once it handles them in its own way
                process.start()
            processes.append(process)
            end_of_child.close()  # so that the pipe reports its end if the child dies
        yield pipes
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.kill()  # SIGTERM can be lost where a process has just been forked
            process.join()


def _send(pipe: Connection, item: object) -> None:
    try:
        pipe.send(item)
    except OSError:
        raise WorkerError(WORKER_DIED) from None


def _receive(pipe: Connection) -> Any:
    try:
        return pipe.recv()
    except (EOFError, OSError):  # before or within an answer
        raise WorkerError(WORKER_DIED) from None


def _unpack_answer(answer: tuple[Exception | None, Any]) -> Any:
    error, result = answer
    if error is not None:
        raise error
    return result


# --- in a forked process -------------------------------------------------------------------------


def _run_child(
    work: Callable[[int, Connection], None], number: int, pipe: Connection, pipes: Sequence[Connection]
) -> None:
    """Work until all items are done, or the parent is gone."""
    # If the parent is killed, the children end too: they would hold its file locks as long as they live.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    for end_of_parent in pipes:
        end_of_parent.close()
    for interrupt in (signal.SIGINT, signal.SIGHUP):
        signal.signal(interrupt, signal.SIG_IGN)  # the parent is told, and ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    with suppress(*PIPE_CLOSED_ERRORS):
        work(number, pipe)


@contextmanager
def _without_signals() -> Iterator[None]:
    """Let the signals that stop a run wait until the block has ended."""
    stopping = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _serve_items(function: Callable[[Item], Value], number: int, pipe: Connection) -> None:
    """Answer each item with a pair (error, result)."""
    while True:
        item = pipe.recv()
        try:
            answer: tuple[Exception | None, Value | None] = None, function(item)
        except Exception as error:
            answer = error, None
        pipe.send(answer)


def _serve_dealt_items(
    function: Callable[[Item], Value],
    then: Callable[[Value], Combined],
    items: Sequence[Item],
    workers: int,
    number: int,
    pipe: Connection,
) -> None:
    """Answer each item of process `number`, when asked, with a pair (error, result); stop at an error."""
    waiting: deque[Value] = deque()  # results that have not been asked for

    def answer() -> None:
        pipe.recv()  # waits for the turn of this process
        pipe.send((None, then(waiting.popleft())))

    try:
        for item in items[number::workers]:
            waiting.append(function(item))
            while waiting and (len(waiting) > MAX_RESULTS_AHEAD or pipe.poll()):
                answer()
        while waiting:
            answer()
    except PIPE_CLOSED_ERRORS:
        raise
    except Exception as error:
        while waiting:
            answer()
        pipe.recv()
        pipe.send((error, None))
