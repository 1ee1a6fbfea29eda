"""Work by several cores: the order of results, errors, and processes that are forked."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from nmtalign.corpus.parallel import MUCH, in_order, may_fork


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(workers: int):
    def slow(k: int) -> int:
        time.sleep(0.002 * (k % 3))
        return k * k

    assert list(in_order(slow, range(30), workers)) == [k * k for k in range(30)]


def test_an_error_in_a_thread_is_seen():
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda k: 1 // (k - 3), range(10), 2))


def test_few_results_wait():
    started, lock = [0], threading.Lock()

    def count(k: int) -> int:
        with lock:
            started[0] += 1
        return k

    for k in in_order(count, range(100), 2):
        assert started[0] <= k + 7


def test_there_is_no_fork_beside_threads():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not may_fork()
        assert list(in_order(lambda k: os.getpid(), range(3), 2, cells=MUCH)) == [os.getpid()] * 3
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
        from nmtalign.corpus.parallel import MUCH, in_order
        found = list(in_order(lambda k: (k, os.getpid()), range(11), 3, cells=MUCH))
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
        from nmtalign.corpus.parallel import MUCH, in_order

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
                for k in in_order(function, range(9), 2, cells=MUCH):
                    seen.append(k)
            except NmtalignError as error:
                print(type(error).__name__, error)
        print(seen[:5], seen[5:] in ([0, 1], [0, 1, 2, 3]))  # a process may die before it has given the last
        results = in_order(lambda k: bytes(1_000_000), range(50), 2, cells=MUCH)
        next(results)
        results.close()  # what is not wanted any more is ended
        print(multiprocessing.active_children())
    """)
    assert out.splitlines() == [
        "DataError the fifth",
        "NmtalignError a process ended in the middle of its work; was the memory used up?",
        "[0, 1, 2, 3, 4] True",
        "[]",
    ]


@needs_fork
def test_what_comes_then_is_done_in_the_order_of_the_items_into_shared_arrays():
    out = run_alone("""
        import time
        from nmtalign.corpus.parallel import MUCH, in_order, shared_zeros

        def slow(k):
            time.sleep(0.003 * (k % 3))
            return k

        for workers, cells in (1, 0), (2, 0), (3, MUCH):
            total = shared_zeros(1)

            def add(k):
                total[0] = 2 * total[0] + k
                return k

            print(list(in_order(slow, range(9), workers, then=add, cells=cells)) == [*range(9)], total)
    """)
    assert out == 3 * "True [502.]\n"


@needs_fork
@pytest.mark.parametrize("large", [False, True])
def test_a_model_is_the_same_whoever_does_the_work(large: bool):
    out = run_alone(f"""
        import hashlib, pathlib, tempfile
        from nmtalign.corpus import parallel, word_pairs as pairs
        from nmtalign.aligner.extraction import Extraction
        from nmtalign.aligner.train import learn
        from tests.aligner.toy_language import toy_bitext

        if {large}:
            pairs.LARGE = 1000  # numbers of cells lie in a file
        toy, digests, forks = toy_bitext(80), set(), []
        own = parallel._forked
        parallel._forked = lambda *given: forks.append(1) or own(*given)
        for parallel.MUCH in 1, 1 << 40:
            for workers in 1, 2, 3:
                training = learn(toy.pairs, workers=workers)
                with tempfile.TemporaryDirectory() as folder:
                    training.aligner.save(folder + "/model")
                    paths = sorted(pathlib.Path(folder, "model").iterdir())
                    content = b"".join(path.read_bytes() for path in paths)
                batch = training.align(Extraction())
                content += b"".join(column.tobytes() for column in (batch.source, batch.probability))
                digests.add(hashlib.sha256(content).hexdigest())
        print(len(digests), len(forks) > 5)
    """)
    assert out == "1 True\n"
