"""A signal at any moment: the run ends as it would have, or with one line and an exit code.

The first moment is the first line of :mod:`nmtalign.cli`. A signal that comes before, while Python starts,
has the effect that the system and Python give it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# A server that forks a process for each line of its input. The process runs the program, which gets a signal
# after some CPU time, counted from the moment at which it handles signals; signal 0 is none. The server
# prints the exit code and the CPU time. To be quick, it has imported packages of others, or has run the
# program before.
SERVER = """
import importlib.abc, os, signal, sys, numpy, click, logging, json, random, secrets, difflib
RUNS_BEFORE, *COMMAND = sys.argv[1:]

def send(*_):
    os.kill(os.getpid(), number)

def start_timer():
    if not number:
        return
    signal.signal(signal.SIGPROF, send)
    signal.setitimer(signal.ITIMER_PROF, seconds)

class FirstImport(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "nmtalign.cli.program":
            start_timer()

if RUNS_BEFORE == "1":
    from nmtalign import cli
    try:
        cli.main(COMMAND)
    except SystemExit:
        pass
    install = cli.StopSignals.install
    cli.StopSignals.install = lambda self: (install(self), start_timer())
for line in sys.stdin:
    number, seconds = int(line.split()[0]), float(line.split()[1])
    child = os.fork()
    if child == 0:
        os.dup2(os.open("err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open("out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        sys.argv[1:] = COMMAND
        sys.meta_path.insert(0, FirstImport())
        from nmtalign.cli import main
        main()
    _, status, usage = os.wait4(child, 0)
    print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, flush=True)
"""
RUNS_OF_COMMAND = int(os.environ.get("NMTALIGN_SIGNALS", "20"))
# At least this many are stopped. Moments are drawn from the time of a whole run, so some come too late.
MIN_STOPPED = 3


def test_signals_are_handled_before_anything_is_imported():
    program = (
        "import re, signal, sys\n"  # an installed script imports re
        "before = set(sys.modules)\n"
        "from nmtalign.cli import main\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["__future__", "nmtalign", "nmtalign.cli"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("command", "runs_before"),
    [("--version", 0), ("align en fr -o links --table table.tsv --pair-scores scores", 1)],
)
def test_a_signal_at_a_random_moment(tmp_path: Path, command: str, runs_before: int):
    for name, text in (("en", "the cat sleeps\n"), ("fr", "le chat dort\n")):
        (tmp_path / name).write_text(text * 3)
    random_number = random.Random(1)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(runs_before), *command.split()],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def run_program(number: int, moment: float) -> tuple[int, float]:
        server.stdin.write(f"{number} {moment:.6f}\n")
        server.stdin.flush()
        code, seconds = server.stdout.readline().split()
        return int(code), float(seconds)

    stopped = 0
    with server:
        _, seconds = run_program(0, 0.0)
        for _ in range(RUNS_OF_COMMAND):
            number = random_number.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
            moment = seconds * random_number.random()
            code, _ = run_program(number, moment)
            if code == -signal.SIGPROF:
                code = 0  # the timer came as Python ended, after the program
            err = (tmp_path / "err").read_text()
            place = f"{number.name} after {moment} s: exit code {code}, {err}"
            assert code in (0, 1), place
            if code:
                stopped += 1
                *before, last = err.splitlines()
                assert all(line.startswith("nmtalign: 3 pairs") for line in before), place
                assert last.startswith("nmtalign: error: interrupted"), place
            else:
                assert "Traceback" not in err, place
                assert "error" not in err, place
            assert not list(tmp_path.glob(".partial*")), place
        server.stdin.close()
    assert stopped >= MIN_STOPPED
