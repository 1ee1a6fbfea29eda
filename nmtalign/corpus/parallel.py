"""Work on buckets by several cores, with results in the order of the buckets.

Large work is dealt out to forked processes where a fork is safe: they see the arrays of this one without a
copy. Results are the same to the byte either way.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import NmtalignError

AHEAD = 1  # results that a process keeps beyond the next one until it is their turn
LOOKS = 10  # a thread that has ended is listed by the system for a moment
MUCH = 1 << 21  # cells from which on processes are worth their start

Item = TypeVar("Item")
Found = TypeVar("Found")
Result = TypeVar("Result")


def default_workers(workers: int | None = None) -> int:
    """Return `workers`, or the number of cores this process may use."""
    if workers is not None:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_zeros(size: int, kind: type[Any] = np.float64) -> NDArray[Any]:
    """Return zeros that forked processes change for this one, too."""
    return np.frombuffer(mmap.mmap(-1, max(size, 1) * np.dtype(kind).itemsize), kind, size)


def in_order(
    function: Callable[[Item], Found],
    items: Sequence[Item],
    workers: int,
    *,
    then: Callable[[Found], Any] | None = None,
    cells: int = 0,
) -> Iterator[Any]:
    """Map by several processes or threads, with results in the order of the items; few wait in memory.

    `function` changes nothing that this process needs to see. `then` is called with what it returns, in the
    order of the items, perhaps in another process; it may change shared arrays. `cells` is the amount of
    work: a small one is done by threads.
    """
    then = then or _itself
    workers = min(workers, len(items))
    if workers <= 1:
        return map(then, map(function, items))
    if cells >= MUCH and may_fork():
        return _forked(function, then, items, workers)
    return map(then, _threaded(function, items, workers))


def _itself(found: Found) -> Found:
    return found


def may_fork() -> bool:
    """Tell whether a fork is safe here: on Linux, without other threads, where children are allowed."""
    if sys.platform != "linux" or current_process().daemon or threading.active_count() > 1:
        return False
    for _ in range(LOOKS):
        try:
            if len(os.listdir("/proc/self/task")) == 1:
                return True
        except OSError:
            return False
        time.sleep(0.002)
    return False


def _threaded(function: Callable[[Item], Found], items: Sequence[Item], workers: int) -> Iterator[Found]:
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Any] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _forked(
    function: Callable[[Item], Found], then: Callable[[Found], Result], items: Sequence[Item], workers: int
) -> Iterator[Result]:
    """Deal the items out to processes; each is asked for its results when it is their turn."""
    fork = get_context("fork")
    _release_memory()
    receivers: list[Connection] = []
    processes = []
    try:
        for first in range(workers):
            receiver, sender = fork.Pipe()
            receivers.append(receiver)
            given = function, then, items[first::workers], sender, receivers
            process = fork.Process(target=_work, args=given, daemon=True)
            process.start()
            processes.append(process)
            sender.close()  # the end of a process is then the end of its results
        for number in range(len(items)):
            yield _received(receivers[number % workers])
    finally:
        for receiver in receivers:
            receiver.close()
        for process in processes:
            process.kill()  # SIGTERM can be lost where a process has just been forked
            process.join()


def _release_memory() -> None:
    """Give memory that was freed back to the system, where the C library can; it keeps much of it in use."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _received(receiver: Connection) -> Any:
    try:
        receiver.send(None)
        error, result = receiver.recv()
    except (EOFError, OSError):  # before or within an answer
        raise NmtalignError("a process ended in the middle of its work; was the memory used up?") from None
    if error is not None:
        raise error
    return result


def _work(
    function: Callable[[Item], Found],
    then: Callable[[Found], Result],
    items: Sequence[Item],
    sender: Connection,
    receivers: Sequence[Connection],
) -> None:
    """Send a pair (error, result) for each item; stop at the first error, or when nobody is to receive it."""
    for receiver in receivers:
        receiver.close()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent is told, and ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    waiting: deque[Found] = deque()
    try:
        for item in items:
            waiting.append(function(item))
            while waiting and (len(waiting) > AHEAD or sender.poll()):
                _answer(sender, then, waiting)
        while waiting:
            _answer(sender, then, waiting)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception as error:
        with suppress(EOFError, OSError):
            while waiting:
                _answer(sender, then, waiting)
            sender.recv()
            sender.send((error, None))


def _answer(sender: Connection, then: Callable[[Found], Result], waiting: deque[Found]) -> None:
    """Send the first of the waiting results when it is asked for."""
    sender.recv()
    sender.send((None, then(waiting.popleft())))
