"""Several processes: the links of one, in order; no process where there is no work for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import fields
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.opening import load
from nmtalign.batch import workers as workers_module
from nmtalign.batch.stream import cut
from nmtalign.batch.workers import align_chunks
from nmtalign.errors import DataError, NmtalignError
from nmtalign.shipped import shipped
from nmtalign.text.bitext import SentencePair, read_bitext


def sample() -> list[SentencePair]:
    folder = shipped("en_fr_sample")
    return list(read_bitext(folder / "text.tok.en", folder / "text.tok.fr"))


def killed_on_opening() -> Aligner:
    os._exit(9)


def killed_in_its_answer() -> Aligner:
    """Open an aligner in a process that dies when half of its first answer is written."""

    def half(connection, data):
        os.write(connection.fileno(), data[: len(data) // 2])
        os._exit(9)

    Connection._send = half
    return load()


class Warner(Aligner):
    """An aligner of this module that warns."""

    def align_text(self, text):
        warnings.warn("a pair of note", stacklevel=1)
        return super().align_text(text)


def open_warner() -> Warner:
    """Open it: by this name also in another process."""
    plain = load()
    return Warner(**{field.name: getattr(plain, field.name) for field in fields(plain)})


@pytest.mark.parametrize("settings", [{}, {"path": "en_fr_vectors"}])
def test_the_links_do_not_depend_on_the_number_of_workers(settings):
    pairs = [*sample()[:120], SentencePair("", "le"), *sample()[120:60:-1]]
    opened, runs = load(**settings), []
    for count in (1, 2, 3):
        chunks = cut(iter(pairs), chunk=17)
        runs.append(list(align_chunks(opened, partial(load, **settings), chunks, workers=count)))
    for run in runs:
        assert [pair for chunk in run for pair in chunk.lines] == pairs
        for own, first in zip(run, runs[0], strict=True):
            assert (own.first, own.sizes, own.coverage) == (first.first, first.sizes, first.coverage)
            for name in ("offsets", "source", "target", "probability", "scores"):
                np.testing.assert_array_equal(getattr(own.batch, name), getattr(first.batch, name))


@pytest.mark.parametrize(("count", "size"), [(1, 7), (2, 100)])
def test_no_process_starts_without_work_for_it(count, size, monkeypatch):
    monkeypatch.setattr(workers_module, "_Processes", None)
    chunks = align_chunks(load(), load, cut(sample(), chunk=size), workers=count)
    assert sum(len(chunk.batch) for chunk in chunks) == len(sample())


@pytest.mark.parametrize("opener", [killed_on_opening, killed_in_its_answer])
def test_a_dead_worker_is_an_error(opener):
    with pytest.raises(NmtalignError, match="a worker process died"):
        list(align_chunks(load(), opener, cut(sample(), chunk=30), workers=2))


def test_an_error_of_a_worker_is_told():
    with pytest.raises(DataError, match="no such model: expected"):
        list(align_chunks(load(), partial(load, "no such model"), cut(sample(), chunk=30), workers=2))


def test_warnings_of_workers_are_heard():
    with pytest.warns(UserWarning, match="a pair of note"):
        list(align_chunks(open_warner(), open_warner, cut(sample(), chunk=30), workers=2))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_end_when_the_first_process_is_killed(tmp_path):
    for side in ("en", "fr"):
        (tmp_path / side).write_text("the black cat\n" * 100_000, encoding="utf-8")
    command = [sys.executable, "-m", "nmtalign", "align", "en", "fr", "--workers", "2", "-o", "links"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    children = wait_for(lambda: children_of(process.pid))
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def children_of(parent: int) -> list[int]:
    """Return the processes that another one started, once there are three: two and spawn's tracker."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found if len(found) >= 3 else []


def wait_for(condition):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("waited for a minute")
