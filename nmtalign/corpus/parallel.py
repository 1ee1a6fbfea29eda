"""Parallel maps, with results in the order of the items.

Large work goes to forked processes where a fork is safe; child processes share arrays without a copy. Results
are the same to the byte with threads and with processes.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.display import short_repr
from nmtalign.errors import UsageError, WorkerError

MAX_RESULTS_AHEAD = 1  # finished results that may wait for their turn in a process
MAX_THREAD_CHECKS = 10  # attempts: the system lists a finished thread for a moment
MIN_PARALLEL_CELLS = 1 << 21  # cells from which processes are worth their start
PR_SET_PDEATHSIG = 1  # PR_SET_PDEATHSIG of Linux: the signal to a process whose parent ends
PIPE_CLOSED_ERRORS = (
    EOFError,
    BrokenPipeError,
    ConnectionResetError,
)  # errors of a pipe without a reader or writer
WORKER_DIED = "a worker process died; was memory short? Try fewer `workers`"

Item = TypeVar("Item")
Value = TypeVar("Value")
Combined = TypeVar("Combined")


def default_workers(workers: int | None = None) -> int:
    """Return `workers`, or the number of cores this process may use; UsageError if they are not 1 or more."""
    if workers is not None:
        if not isinstance(workers, Integral) or isinstance(workers, bool) or workers < 1:
            raise UsageError(f"expected a whole number of workers, 1 or more, found {short_repr(workers)}")
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
    """Map with several processes or threads, with results in the order of the items; few wait in memory.

    `function` changes nothing that this process needs to see. `then` is called with what it returns, in the
    order of the items, perhaps in another process; it may change shared arrays. `work` is the amount of
    work in cells: a small one is done by threads.
    """
    then = then or (lambda value: value)
    workers = min(workers, len(items))
    if workers <= 1:
        return map(then, map(function, items))
    if work >= MIN_PARALLEL_CELLS and may_fork():
        return _map_in_processes(function, then, items, workers)
    return map(then, _map_in_threads(function, items, workers))


def parallel_imap(function: Callable[[Item], Value], items: Iterable[Item], workers: int) -> Iterator[Value]:
    """Map with several processes or threads over a stream of items, with results in order.

    Items and results are pickled where there are processes; each of them works on one item at a time.
    """
    if workers <= 1:
        return map(function, items)
    return (_imap_in_processes if may_fork() else _map_in_threads)(function, iter(items), workers)


def may_fork() -> bool:
    """Tell whether a fork is safe here: on Linux, without other threads, where children are allowed."""
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
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Any] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _map_in_processes(
    function: Callable[[Item], Value], then: Callable[[Value], Combined], items: Sequence[Item], workers: int
) -> Iterator[Combined]:
    """Deal the items out to processes; each is asked for its results when it is their turn."""
    with _forked_processes(
        workers, lambda n, pipe: _serve_dealt_items(function, then, items[n::workers], pipe)
    ) as pipes:
        for number in range(len(items)):
            pipe = pipes[number % workers]
            _send(pipe, None)
            yield _unpack_answer(_receive(pipe))


def _imap_in_processes(
    function: Callable[[Item], Value], items: Iterator[Item], workers: int
) -> Iterator[Value]:
    """Send each process an item whenever it has none."""
    with _forked_processes(workers, lambda number, pipe: _serve_items(function, pipe)) as pipes:
        idle, busy, answers = list(pipes), dict[Connection, int](), dict[int, Any]()
        given = taken = 0
        while True:
            for item in islice(items, min(len(idle), taken + 2 * workers - given)):
                pipe = idle.pop()
                _send(pipe, item)
                busy[pipe] = given
                given += 1
            if taken == given:
                return
            for ready in wait(list(busy), 0 if taken in answers else None):
                pipe = cast(Connection, ready)
                answers[busy.pop(pipe)] = _receive(pipe)
                idle.append(pipe)
            if taken in answers:
                yield _unpack_answer(answers.pop(taken))
                taken += 1


@contextmanager
def _forked_processes(workers: int, work: Callable[[int, Connection], None]) -> Iterator[list[Connection]]:
    """Fork processes that do `work(number, pipe)`; they end with the block, or with this process."""
    fork = get_context("fork")
    with suppress(
        OSError, AttributeError, TypeError
    ):  # the C library keeps much of the memory that was freed
        ctypes.CDLL(None).malloc_trim(0)
    pipes: list[Connection] = []
    processes = []
    try:
        for number in range(workers):
            pipe, other = fork.Pipe()
            pipes.append(pipe)
            process = fork.Process(target=_run_child, args=(work, number, other, pipes), daemon=True)
            process.start()
            processes.append(process)
            other.close()  # the end of a process is then the end of its results
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
    """Work until there is nothing to do, or nobody to do it for."""
    with suppress(OSError, AttributeError, TypeError):  # a lock of the parent lasts as long as its children
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    for other in pipes:
        other.close()
    for interrupt in (signal.SIGINT, signal.SIGHUP):
        signal.signal(interrupt, signal.SIG_IGN)  # the parent is told, and ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(*PIPE_CLOSED_ERRORS):
        work(number, pipe)


def _serve_items(function: Callable[[Item], Value], pipe: Connection) -> None:
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
    pipe: Connection,
) -> None:
    """Answer each item, when asked, with a pair (error, result); stop at the first error."""
    waiting: deque[Value] = deque()

    def answer() -> None:
        pipe.recv()
        pipe.send((None, then(waiting.popleft())))

    try:
        for item in items:
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
