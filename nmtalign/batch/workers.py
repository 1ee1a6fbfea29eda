"""Chunks aligned by several processes, in order: the same bytes for any number of them.

The processes are spawned, open the model once and use one thread each; BLAS follows ``OPENBLAS_NUM_THREADS``.
They receive lines and return flat arrays of links. While they start, the first process aligns chunks as well.
"""

from __future__ import annotations

import contextlib
import errno
import io
import multiprocessing
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import Connection
from typing import Any, cast

from nmtalign.aligner.aligner import Aligner
from nmtalign.batch.stream import AlignedChunk, Chunk, align_chunk
from nmtalign.errors import NmtalignError
from nmtalign.text.bitext import SentencePair

OpenAligner = Callable[[], Aligner]  # has to be picklable: a function of a module, or a partial of one
Packed = tuple[int, list[str], list[str]]  # first line number, source and target lines
Answer = tuple[AlignedChunk, list[str]]  # without its lines, and the warnings on the way

FEW = 4  # chunks that are aligned before as many processes have started
MOST = 5  # chunks for each process that wait for the first answer
_PIPE_ENDED = (None, errno.EPIPE, errno.ECONNRESET)  # None in the middle of a message


class WorkerError(NmtalignError):
    """A worker process died."""


def align_chunks(
    aligner: Aligner,
    open_aligner: OpenAligner,
    chunks: Iterable[Chunk],
    *,
    workers: int,
    remap_to: str | None = None,
) -> Generator[AlignedChunk]:
    """Align chunks on several cores.

    Parameters
    ----------
    aligner : Aligner
        Used in this process when there is one worker or there are few chunks: no process is started then.
    open_aligner : callable
        Opens the same aligner in another process.
    chunks : iterable of Chunk
        As of :func:`nmtalign.batch.stream.cut`; read as they are needed.
    workers : int
    remap_to : str, optional
        As of :func:`nmtalign.batch.stream.align_stream`.

    Yields
    ------
    AlignedChunk
        In order; equal for any number of workers.

    Raises
    ------
    WorkerError
        If a worker dies.
    """
    chunks = iter(chunks)
    head = list(islice(chunks, FEW + 1)) if workers > 1 else []
    if len(head) > FEW:
        here = partial(align_chunk, replace(aligner, workers=1), remap_to=remap_to)
        yield from _by_processes(open_aligner, chain(head, chunks), workers, remap_to, here)
        return
    own = replace(aligner, workers=workers)
    for chunk in chain(head, chunks):
        yield align_chunk(own, chunk, remap_to=remap_to)


def _by_processes(
    open_aligner: OpenAligner,
    chunks: Iterable[Chunk],
    workers: int,
    remap_to: str | None,
    here: Callable[[Chunk], AlignedChunk],
) -> Iterator[AlignedChunk]:
    """Align chunks by other processes, and in this one while they start."""
    processes, waiting, answered = _Processes(open_aligner), deque[tuple[Chunk, Future[Answer]]](), False
    pool = ThreadPoolExecutor(workers)
    try:
        for chunk in chunks:
            starting = bool(waiting) and not answered and not waiting[0][1].done()
            if starting and len(waiting) > workers:
                future: Future[Answer] = Future()
                future.set_result((here(chunk), []))
            else:
                future = pool.submit(processes.align, pack(chunk), remap_to)
            waiting.append((chunk, future))
            if len(waiting) > (MOST * workers if starting else workers + 1):
                yield _finished(*waiting.popleft())
                answered = True
        while waiting:
            yield _finished(*waiting.popleft())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        processes.end()
        pool.shutdown()


class _Processes:
    """A process for each thread that calls, with a pipe of its own: the end of a process ends its pipe.

    With the queues of a ProcessPoolExecutor all wait for ever for the rest of a message whose writer died.
    """

    def __init__(self, open_aligner: OpenAligner) -> None:
        self._open_aligner = open_aligner
        self._own = threading.local()
        self._started: list[Any] = []

    def align(self, packed: Packed, remap_to: str | None) -> Answer:
        """Align a chunk in the process of this thread."""
        try:
            if not hasattr(self._own, "connection"):
                self._own.connection = self._start()
            self._own.connection.send((packed, remap_to))
            error, answer = self._own.connection.recv()
        except (EOFError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in _PIPE_ENDED:
                raise  # no process could be started
            raise WorkerError(
                "a worker process died; was memory short? Each holds the model, so try fewer --workers"
            ) from None
        if error is not None:
            raise error
        return cast(Answer, answer)

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        connection, others = context.Pipe()
        process = context.Process(target=_serve, args=(others, self._open_aligner), daemon=True)
        process.start()
        self._started.append(process)
        others.close()
        return connection

    def end(self) -> None:
        """End the processes, whatever they do."""
        for process in self._started:
            process.kill()
            process.join()


def _finished(chunk: Chunk, future: Future[Answer]) -> AlignedChunk:
    return unpacked(future.result(), chunk)


def pack(chunk: Chunk) -> Packed:
    """Return a chunk as plain lists of lines: they are sent faster than pairs.

    Examples
    --------
    >>> pack(Chunk(7, [SentencePair("a b", "x"), SentencePair("c", "y")]))
    (7, ['a b', 'c'], ['x', 'y'])
    """
    return chunk.first, [pair.source for pair in chunk.lines], [pair.target for pair in chunk.lines]


def unpacked(answer: Answer, chunk: Chunk) -> AlignedChunk:
    """Return the links that a worker found in a chunk, and warn of what it warned of."""
    found, messages = answer
    for message in messages:
        warnings.warn(message, stacklevel=2)
    return found._replace(lines=chunk.lines)


# --- in a worker process -------------------------------------------------------------------------


def _serve(connection: Connection, open_aligner: OpenAligner) -> None:
    """Open the aligner and send (error, answer) for each chunk, until the first process ends."""
    for number in (signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)):
        signal.signal(number, signal.SIG_IGN)  # it reaches all; the first process ends the others
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # its warnings are those of the first process
                aligner = replace(open_aligner(), workers=1)
            while True:
                packed, remap_to = connection.recv()
                connection.send((None, align_packed(aligner, packed, remap_to)))
        except (EOFError, ConnectionError):
            raise
        except Exception as error:
            connection.send((error, None))


def align_packed(aligner: Aligner, packed: Packed, remap_to: str | None) -> Answer:
    """Align a chunk in a worker; the answer is without the lines."""
    first, *sides = packed
    chunk = Chunk(first, list(map(SentencePair, *sides)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = align_chunk(aligner, chunk, remap_to=remap_to)
    return found._replace(lines=[]), [str(warning.message) for warning in caught]
