"""Work by several cores: the order of results, errors, and processes that are forked."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import pytest

from nmtalign.aligner.training_steps import train
from nmtalign.corpus.parallel import (
    MIN_PARALLEL_CELLS,
    default_workers,
    may_fork,
    parallel_imap,
    parallel_map,
)
from nmtalign.errors import UsageError


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(workers: int):
    def slow(k: int) -> int:
        time.sleep(0.002 * (k % 3))
        return k * k

    assert list(parallel_map(slow, range(30), workers)) == [k * k for k in range(30)]


@pytest.mark.parametrize("workers", [-1, 0, 1.5, "2", True])
def test_workers_that_cannot_be_are_refused_wherever_they_are_given(workers, learned):
    assert default_workers(3) == 3
    assert default_workers() >= 1
    for call in (
        lambda: default_workers(workers),
        lambda: replace(learned, workers=workers),
        lambda: train([("a", "b")], workers=workers),
    ):
        with pytest.raises(UsageError, match=f"workers.* (1 or more|at least 1), found {workers!r}"):
            call()


def test_an_error_in_a_thread_is_seen():
    with pytest.raises(ZeroDivisionError):
        list(parallel_map(lambda k: 1 // (k - 3), range(10), 2))


def test_few_results_wait():
    started, lock = [0], threading.Lock()

    def count(k: int) -> int:
        with lock:
            started[0] += 1
        return k

    for k in parallel_map(count, range(100), 2):
        assert started[0] <= k + 7


def test_there_is_no_fork_beside_threads():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not may_fork()
        assert (
            list(parallel_map(lambda k: os.getpid(), range(3), 2, work=MIN_PARALLEL_CELLS))
            == [os.getpid()] * 3
        )
    finally:
        stop.set()
        thread.join()


needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


def run_alone(code: str) -> str:
    """Run code in a process without threads; return what it prints."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@needs_fork
def test_much_work_is_done_by_other_processes_in_order():
    out = run_alone("""
        import os
        from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, parallel_map
        found = list(parallel_map(lambda k: (k, os.getpid()), range(11), 3, work=MIN_PARALLEL_CELLS))
        assert [k for k, _ in found] == list(range(11))
        assert len({pid for _, pid in found}) == 3 and os.getpid() not in {pid for _, pid in found}
        print("done")
    """)
    assert out == "done\n"


@needs_fork
def test_errors_and_deaths_of_processes_are_seen():
    out = run_alone("""
        import multiprocessing, os
        from nmtalign.errors import DataError, NmtalignError
        from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, parallel_map

        def fail(k):
            if k == 5:
                raise DataError("the fifth")
            return k

        def die(k):
            if k == 4:
                os.kill(os.getpid(), 9)
            return k

        seen = []
        for function in fail, die:
            try:
                for k in parallel_map(function, range(9), 2, work=MIN_PARALLEL_CELLS):
                    seen.append(k)
            except NmtalignError as error:
                print(type(error).__name__, error)
        print(seen[:5], seen[5:] in ([0, 1], [0, 1, 2, 3]))  # a process may die before it has given the last
        results = parallel_map(lambda k: bytes(1_000_000), range(50), 2, work=MIN_PARALLEL_CELLS)
        next(results)
        results.close()  # what is not wanted any more is ended
        print(multiprocessing.active_children())
    """)
    assert out.splitlines() == [
        "DataError the fifth",
        "WorkerError a worker process died; did the machine run out of memory? Try fewer `workers`",
        "[0, 1, 2, 3, 4] True",
        "[]",
    ]


@needs_fork
def test_what_comes_then_is_done_in_the_order_of_the_items_into_shared_arrays():
    out = run_alone("""
        import time
        from nmtalign.corpus.parallel import MIN_PARALLEL_CELLS, parallel_map, shared_zeros

        def slow(k):
            time.sleep(0.003 * (k % 3))
            return k

        for workers, cells in (1, 0), (2, 0), (3, MIN_PARALLEL_CELLS):
            total = shared_zeros(1)

            def add(k):
                total[0] = 2 * total[0] + k
                return k

            print(list(parallel_map(slow, range(9), workers, then=add, work=cells)) == [*range(9)], total)
    """)
    assert out == 3 * "True [502.]\n"


@needs_fork
@pytest.mark.parametrize("large", [False, True])
def test_a_model_is_the_same_whoever_does_the_work(large: bool):
    out = run_alone(f"""
        import hashlib, pathlib, tempfile
        from nmtalign.aligner import aligner
        from nmtalign.corpus import parallel, word_pairs as pairs
        from tests.aligner.toy_language import training_job
        from nmtalign.aligner.training_steps import train_aligner
        from nmtalign.training import encoded_bitext
        from tests.aligner.toy_language import toy_bitext

        if {large}:
            encoded_bitext.PAIRS_PER_NUMBERING = 15  # words are numbered in parts
            pairs.MAX_UNSHARED_CELLS = 500  # numbers of cells lie in a file
            aligner.CELLS_PER_PART = 250  # the text is aligned in parts
        toy, digests, forks, numbering = toy_bitext(40), set(), [], set()
        parallel_imap = encoded_bitext.parallel_imap
        encoded_bitext.parallel_imap = lambda work, items, n: (
            numbering.add(n) or parallel_imap(work, items, n)
        )
        own = parallel._forked_processes
        parallel._forked_processes = lambda *given: forks.append(1) or own(*given)
        for parallel.MIN_PARALLEL_CELLS, all_workers in (1, (2, 3)), (1 << 40, (1, 2, 3)):
            for workers in all_workers:
                training = train_aligner(toy.pairs, training_job(workers=workers))
                with tempfile.TemporaryDirectory() as folder:
                    training.aligner.save(folder + "/model")
                    paths = sorted(pathlib.Path(folder, "model").iterdir())
                    content = b"".join(path.read_bytes() for path in paths)
                extraction = training.aligner.resolved_extraction
                [batch] = training.align([extraction], "words")
                content += b"".join(column.tobytes() for column in (batch.source, batch.probability))
                digests.add(hashlib.sha256(content).hexdigest())
        aligner.CELLS_PER_PART = 1 << 23
        again = training.aligner.align_batch(toy.pairs)
        assert again.source.tobytes() == batch.source.tobytes()
        assert again.offsets.tobytes() == batch.offsets.tobytes()
        assert numbering == ({{1, 2, 3}} if {large} else {{1}})
        print(len(digests), len(forks) > 5)
    """)
    assert out == "1 True\n"


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_items_are_read_as_they_are_needed(workers: int):
    read = [0]

    def items():
        for k in range(60):
            read[0] += 1
            yield k

    for k, found in enumerate(parallel_imap(lambda k: k * k, items(), workers)):
        assert found == k * k
        assert read[0] <= k + 2 * workers + 1


@needs_fork
def test_items_are_sent_to_processes_and_the_first_error_is_that_of_the_first_item():
    out = run_alone("""
        import multiprocessing, os, time
        from nmtalign.corpus.parallel import parallel_imap
        from nmtalign.errors import DataError, NmtalignError

        def slow(k):
            time.sleep(.05 if k == 0 else 0)
            return k, os.getpid(), bytes(300_000)

        read = []
        def items():
            for k in range(40):
                read.append(k)
                yield k

        pids = set()
        for k, (found, pid, _) in enumerate(parallel_imap(slow, items(), 3)):
            assert found == k and len(read) <= k + 7, (found, k, read)
            pids.add(pid)
        assert len(pids) == 3 and os.getpid() not in pids

        def fail(k):
            if k == 4:
                time.sleep(.1)
            if k in (4, 5):
                raise DataError(f"item {k}")
            return k

        def die(k):
            if k == 4:
                os.kill(os.getpid(), 9)
            return k

        def half(k):
            if k == 2:
                from multiprocessing.connection import Connection
                def some(pipe, data):
                    os.write(pipe.fileno(), data[: len(data) // 2])
                    os._exit(9)
                Connection._send = some
            return bytes(1000)

        for function in fail, die, half:
            seen = []
            try:
                for found in parallel_imap(function, iter(range(20)), 2):
                    seen.append(found)
            except NmtalignError as error:
                print(type(error).__name__, error, len(seen) <= 4)
        print(multiprocessing.active_children())
    """)
    died = "WorkerError a worker process died; did the machine run out of memory? Try fewer `workers` True"
    assert out.splitlines() == ["DataError item 4 True", died, died, "[]"]


@needs_fork
def test_processes_are_gone_when_their_parent_is_killed():
    """They hold its locks, and would keep a run from being resumed while they finish an item."""
    out = run_alone("""
        import os, signal, time
        from pathlib import Path
        from nmtalign.corpus.parallel import parallel_imap

        def tell(k):
            Path(f"/proc/self/fd/{writer}").open("w").write(f"{os.getpid()} ")
            time.sleep(60)

        reader, writer = os.pipe()
        parent = os.fork()
        if not parent:
            list(parallel_imap(tell, iter(range(2)), 2))
        children = b""
        while children.count(b" ") < 2:
            children += os.read(reader, 99)
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)

        def state(child):  # nobody may wait for it here: it is dead, or a zombie
            try:
                return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
            except FileNotFoundError:
                return "gone"

        for _ in range(100):
            states = {state(child) for child in children.decode().split()}
            if states <= {"gone", "Z"}:
                break
            time.sleep(0.05)
        print(states <= {"gone", "Z"})
    """)
    assert out == "True\n"
