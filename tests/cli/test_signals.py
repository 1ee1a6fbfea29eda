"""A signal at any moment: the run ends as it would have, or with one line and an exit code."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# A server that forks a process for each line of its input. The process runs the program, which gets a signal
# after some CPU time, counted from the moment at which it handles signals. To be quick, the server has
# imported packages of others, or has run the program before.
SERVER = """
import importlib.abc, os, signal, sys, numpy, click, logging, json, random, secrets, difflib
RUNS_BEFORE, *COMMAND = sys.argv[1:]

def send(*_):
    os.kill(os.getpid(), number)

def start_timer():
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
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
RUNS_OF_COMMAND = 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("command", "runs_before", "seconds"),
    [("--version", 0, 0.06), ("align en fr -o links --table table.tsv --pair-scores scores", 1, 0.12)],
)
def test_a_signal_at_a_random_moment(tmp_path: Path, command: str, runs_before: int, seconds: float):
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
    stopped = 0
    with server:
        for _ in range(RUNS_OF_COMMAND):
            number = random_number.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
            moment = seconds * random_number.random()
            server.stdin.write(f"{int(number)} {moment:.6f}\n")
            server.stdin.flush()
            code = int(server.stdout.readline())
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
    assert stopped
