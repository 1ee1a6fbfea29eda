"""Many runs of the program in a child process that has little memory: how each ended, and what it wrote."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nmtalign.cli import main
from tests.cli.running import exit_code, fork, import_all

MEMORY = 1 << 29  # bytes of address space that a child may take besides those of its parent
SECONDS = 5  # of processor time for one run


class Run(NamedTuple):
    """A command that was run, and how it ended."""

    command: str
    code: int
    message: str  # on stderr
    seconds: float  # of processor time


def run(command: str) -> Run:
    """Run a command in this process; one that takes too long is interrupted."""
    written, start = io.StringIO(), time.process_time()
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    with contextlib.redirect_stderr(written), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(command.split(" "))
        except SystemExit as end:
            code = end.code
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return Run(command, int(code or 0), written.getvalue(), time.process_time() - start)


def in_child(steps: Iterator[tuple[str, Run]], folder: Path) -> list[tuple[str, Run]]:
    """Take the steps in a child process with bounded memory, whose working directory is `folder`."""
    import_all()
    reading, writing = os.pipe()
    child = fork(lambda: _take(steps, folder, writing))
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    code = exit_code(child)
    taken = [(label, Run(*run)) for label, run in entries]
    last = taken[-1] if taken else None
    assert code == 0, f"the process ended with {code} after {last}"
    return taken


def _take(steps: Iterator[tuple[str, Run]], folder: Path, writing: int) -> None:
    gc.freeze()  # a collection would touch, and so copy, all objects of the first process
    os.chdir(folder)
    warnings.resetwarnings()
    pages = int(Path("/proc/self/statm").read_text().split(" ")[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with open(writing, "w", encoding="utf-8") as file:
        for label, found in steps:
            file.write(json.dumps([label, found]) + "\n")
            file.flush()
