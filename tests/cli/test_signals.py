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

from nmtalign.cli import StopSignals, program
from nmtalign.errors import DataError
from tests.aligner.toy_language import toy_training

# A server that forks a process for each line of its input. The process runs the program, which gets a signal
# after some CPU time, counted from the moment at which it handles signals; signal 0 is none, and then the
# program's CPU time from that moment is written to the file `seconds`. The server prints the exit code. To be
# quick, it has imported packages of others, or has run the program before.
SERVER = """
import atexit, gc, importlib.abc, os, pathlib, signal, sys, time
import numpy, click, logging, json, random, secrets, difflib
RUNS_BEFORE, *COMMAND = sys.argv[1:]

def send(*_):
    os.kill(os.getpid(), number)

def start_timer():
    if not number:
        started = time.process_time()
        atexit.register(lambda: pathlib.Path("seconds").write_text(str(time.process_time() - started)))
        return
    if not seconds:
        send()
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
gc.freeze()  # the end of a process would touch, and so copy, all objects of the server
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
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""
RUNS_OF_COMMAND = int(os.environ.get("NMTALIGN_SIGNALS", "20"))
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


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
    [("--version", 0), ("align en fr --model model -o links --table table.tsv --pair-scores scores", 1)],
)
def test_a_signal_at_a_random_moment(tmp_path: Path, command: str, runs_before: int):
    for name, text in (("en", "the cat sleeps\n"), ("fr", "le chat dort\n")):
        (tmp_path / name).write_text(text * 3)
    toy_training("fast").aligner.save(tmp_path / "model")
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

    def run_program(number: int, moment: float) -> int:
        server.stdin.write(f"{number} {moment:.6f}\n")
        server.stdin.flush()
        return int(server.stdout.readline())

    with server:
        assert run_program(0, 0.0) == 0
        seconds = float((tmp_path / "seconds").read_text())
        random_moments = [
            (random_number.choice(SIGNALS), seconds * random_number.random()) for _ in range(RUNS_OF_COMMAND)
        ]
        for number, moment in [*((number, 0.0) for number in SIGNALS), *random_moments]:
            code = run_program(number, moment)
            if code == -signal.SIGPROF:
                code = 0  # the timer came as Python ended, after the program
            err = (tmp_path / "err").read_text()
            place = f"{number.name} after {moment} s: exit code {code}, {err}"
            # a timer is only as exact as the clock of the system, so any later signal may come too late
            assert code in ((0, 1) if moment else (1,)), place
            if code:
                *before, last = err.splitlines()
                assert all(line.startswith("nmtalign: 3 pairs") for line in before), place
                assert last.startswith("nmtalign: error: interrupted"), place
            else:
                assert "Traceback" not in err, place
                assert "error" not in err, place
            assert not list(tmp_path.glob(".partial*")), place
        server.stdin.close()


@pytest.mark.parametrize(("have_come", "code", "text"), [(True, 1, "interrupted"), (False, 3, "unreadable")])
def test_a_read_that_was_interrupted_is_not_told_as_a_damaged_file(
    have_come: bool, code: int, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """NumPy may make another error of a KeyboardInterrupt that comes while it reads a file."""

    def read(_: list[str]) -> None:
        raise DataError("unreadable").at("counts.npy")

    monkeypatch.setattr(program, "_run_command", read)
    signals = StopSignals()
    signals._first = 0.0 if have_come else None
    assert program.run_program([], signals) == code
    assert text in capsys.readouterr().err
