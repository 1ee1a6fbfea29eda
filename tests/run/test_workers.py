"""Several processes: the links of one, in order; no process where there is no work for it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from nmtalign.aligner.opening import load
from nmtalign.cli import main
from nmtalign.corpus import parallel
from nmtalign.files.paths import bundled_path
from nmtalign.run import stream as workers_module
from nmtalign.run.stream import align_chunks
from nmtalign.text.bitext import SentencePair, read_bitext
from nmtalign.text.chunks import iter_chunks
from tests.cli.running import exit_code, fork
from tests.corpus.test_parallel import needs_fork


def sample() -> list[SentencePair]:
    folder = bundled_path("en_fr_sample")
    return list(read_bitext(folder / "text.tok.en", folder / "text.tok.fr"))


def align_with_workers() -> None:
    """Compare the links of one, two and three processes, and of threads, in a process without threads."""
    pairs = [*sample()[:30], SentencePair("", "le"), *sample()[30:15:-1]]
    started = []
    forked = parallel._forked_processes
    parallel._forked_processes = lambda *given: started.append(given[0]) or forked(*given)
    for opened in (load(), load("en_fr_vectors")):
        runs = []
        for workers, forks in ((1, True), (2, True), (3, True), (3, False)):
            parallel.may_fork = lambda forks=forks: forks
            runs.append(list(align_chunks(opened, iter_chunks(iter(pairs), chunk_size=6), workers=workers)))
        for run in runs:
            assert [pair for chunk in run for pair in chunk.lines] == pairs
            for found, first in zip(run, runs[0], strict=True):
                assert (found.first, found.coverage) == (first.first, first.coverage)
                for name in ("offsets", "source", "target", "probability", "scores"):
                    np.testing.assert_array_equal(getattr(found.batch, name), getattr(first.batch, name))
    assert started == [2, 3, 2, 3]


@needs_fork
def test_the_links_do_not_depend_on_the_number_of_workers():
    assert exit_code(fork(align_with_workers)) == 0


@pytest.mark.parametrize(("count", "size"), [(1, 7), (2, 200)])
def test_no_process_starts_without_work_for_it(count, size, monkeypatch):
    monkeypatch.setattr(workers_module, "parallel_imap", None)
    chunks = align_chunks(load(), iter_chunks(sample(), chunk_size=size), workers=count)
    assert sum(len(chunk.batch) for chunk in chunks) == len(sample())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_end_when_the_first_process_is_killed(tmp_path):
    for side, line in (("en", "the black cat\n"), ("fr", "le chat noir\n")):
        (tmp_path / side).write_text(line * 100_000, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("en", "fr")]
    process = fork(lambda: main(["align", *files, "--workers", "2", "-o", f"{files[0]}.links"]))
    children = wait_for(lambda: children_of(process))
    os.kill(process, signal.SIGKILL)
    assert exit_code(process) == -signal.SIGKILL
    wait_for(lambda: not any(is_running(child) for child in children))


def is_running(process: int) -> bool:
    """Return whether a process exists and has not ended, as one has that nobody waits for."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def children_of(parent: int) -> list[int]:
    """Return the processes that another one started, once there are two."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found if len(found) >= 2 else []


def wait_for(condition):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("waited for a minute")
