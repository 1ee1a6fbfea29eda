"""What stops a run from outside: one clear line, the exit code of the contract, nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from nmtalign.errors import WorkerError
from tests.cli.running import run

PROGRAM = [sys.executable, "-m", "nmtalign"]
FULL = Path("/dev/full")
PAIRS = "the cat ||| le chat\n" * 24_000  # more than one chunk


@contextmanager
def started(*arguments: object, **more: object) -> Iterator[subprocess.Popen[str]]:
    """Start the program; its error output is read by whoever waits for it."""
    command = [*PROGRAM, *map(str, arguments)]
    with subprocess.Popen(command, text=True, stderr=subprocess.PIPE, **more) as process:
        try:
            yield process
        finally:
            process.kill()


def opened(pipe: Path, process: subprocess.Popen[str]) -> TextIO:
    """Open a named pipe when the program has opened it; it never does if it fails before."""
    while True:
        try:
            number = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert process.poll() is None
            time.sleep(0.01)
        else:
            os.set_blocking(number, True)
            return open(number, "w")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    err = process.communicate(timeout=100)[1]
    return process.returncode, err


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs"
    path.write_text(PAIRS)
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize(
    ("command", "says", "number"),
    [
        (["align", "-o", "links", "--pair-scores", "s.gz"], "--out-shards DIR keeps", "SIGINT"),
        (["align", "-o", "links", "--workers", "2"], "--out-shards DIR keeps", "SIGTERM"),
        (["train", "-o", "model", "--links", "links"], "interrupted", "SIGHUP"),
    ],
)
def test_a_signal_is_one_line_and_leaves_no_file(tmp_path, command, says, number):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with started(*command, "--pairs", pipe, cwd=tmp_path) as process, opened(pipe, process) as file:
        file.write(PAIRS)  # the pipe opened when the program did
        process.send_signal(signal.Signals[number])
        code, err = ended(process)
    *before, last = err.splitlines()
    assert code == 1
    assert all("checkpoints" in line for line in before)  # where `train` keeps its work
    assert says in last
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_to_a_run_in_shards_says_how_to_go_on(tmp_path, pairs, number):
    run = tmp_path / "run"
    with started("align", "--pairs", pairs, "-o", tmp_path / "links", "--out-shards", run) as process:
        while not (run / "manifest.json").exists():
            assert process.poll() is None
        process.send_signal(signal.Signals[number])
        code, err = ended(process)
    assert code == 4
    assert "interrupted\nnmtalign: finished work is kept in" in err
    assert "the same command with --resume resumes the run" in err
    assert not (tmp_path / "links").exists()


@pytest.mark.parametrize(
    ("command", "text"),
    [(["align", "--pairs"], PAIRS), (["convert", "--from", "pharaoh", "--to", "talp"], "0-0 1-1\n" * 60_000)],
    ids=["align", "convert"],  # the id stands in the environment of every process that the test starts
)
def test_a_closed_pipe_is_one_line(tmp_path, command, text):
    (tmp_path / "text").write_text(text)
    with started(*command, tmp_path / "text", stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == (
            "nmtalign: error: standard output was closed before everything was written\n"
        )
    assert process.returncode == 1


@pytest.mark.skipif(not FULL.exists(), reason="needs the device /dev/full")
@pytest.mark.parametrize("name", ["/dev/full", "full.gz"])
def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, pairs, name):
    if name != "/dev/full":
        name = str(tmp_path / name)
        Path(name).symlink_to("/dev/full")
    with started("align", "--pairs", pairs, "-o", tmp_path / "links", "--probabilities", name) as process:
        assert ended(process) == (1, f"nmtalign: error: {name}: No space left on device\n")
    assert not (tmp_path / "links").exists()


@pytest.mark.skipif(not FULL.exists(), reason="needs the device /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line(pairs):
    with FULL.open("w") as out, started("align", "--pairs", pairs, stdout=out) as process:
        assert ended(process) == (1, "nmtalign: error: No space left on device\n")


def test_a_disk_that_fills_during_the_run_leaves_the_older_file(tmp_path, pairs):
    resource = pytest.importorskip("resource")
    links = tmp_path / "links"
    links.write_text("older\n")

    def small() -> None:
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)  # what is covered would not fit either
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # the first half of a compiled file would be kept
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    with started("align", "--pairs", pairs, "-o", links, preexec_fn=small) as process:
        assert ended(process) == (1, f"nmtalign: error: {links}: File too large\n")
    assert links.read_text() == "older\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "pairs"]


def test_an_input_that_vanished_is_named(tmp_path, pairs):
    for arguments in (["align", pairs, tmp_path / "gone"], ["train", pairs, tmp_path / "gone"]):
        with started(*arguments, "-o", tmp_path / "out") as process:
            code, err = ended(process)
        assert (code, err.splitlines()[-1]) == (
            3,
            f"nmtalign: error: {tmp_path / 'gone'}: No such file or directory",
        )
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]


def test_a_working_directory_that_is_gone_is_named(tmp_path, monkeypatch, pairs):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with started("align", "--pairs", pairs, "-o", "links") as process:
        assert ended(process) == (1, "nmtalign: error: the working directory: No such file or directory\n")


def test_who_has_seen_enough_of_a_list_gets_no_message(tmp_path):
    for name, line in (("source", "the cat {}"), ("target", "le chat {}"), ("links", "0-0 1-1 2-2")):
        (tmp_path / name).write_text("".join(f"{line.format(n)}\n" for n in range(3_000)))
    text = tmp_path / "source", tmp_path / "target"
    examples = "--links", tmp_path / "links", "--examples", 3_000  # more than a pipe holds
    with started("find", "the", *text, *examples, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "the: 3,000 in the source\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("closed", "command", "code", "says"),
    [
        (0, ["align", "--pairs", "-"], 1, "standard input is closed"),
        (1, ["align", "--pairs", "few"], 1, "standard output is closed"),
        (2, ["align", "--pairs", "few", "-o", "links"], 0, ""),
    ],
)
def test_a_closed_stream_is_told_and_no_file_gets_its_number(tmp_path, closed, command, code, says):
    (tmp_path / "few").write_text("the cat ||| le chat\n")
    with started(*command, cwd=tmp_path, preexec_fn=lambda: os.close(closed)) as process:
        found, err = ended(process)
    assert found == code
    assert says in err
    if closed == 2:
        assert (tmp_path / "links").read_text() == "0-0 1-1\n"


@pytest.mark.skipif(not FULL.exists(), reason="needs the device /dev/full")
def test_with_full_standard_error_messages_are_lost_but_not_the_work(tmp_path):
    (tmp_path / "few").write_text("the cat ||| le chat\n")
    with FULL.open("w") as full:
        command = [*PROGRAM, "align", "--pairs", "few", "-o", "links"]
        assert subprocess.run(command, cwd=tmp_path, stderr=full).returncode == 0
        assert subprocess.run([*command, "--nope"], cwd=tmp_path, stderr=full).returncode == 2
    assert (tmp_path / "links").read_text() == "0-0 1-1\n"


@pytest.mark.parametrize("most", [5, 12])
def test_too_many_open_files_is_said_as_such(tmp_path, pairs, most):
    resource = pytest.importorskip("resource")
    pairs.write_text(PAIRS * 5)

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    with started("align", "--pairs", pairs, "-o", tmp_path / "l", "--workers", 2, preexec_fn=few) as process:
        code, err = ended(process)
    assert code == 1
    assert err.splitlines()[-1].endswith("Too many open files (raise their number with ulimit -n)")
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]


def test_partial_files_of_long_names(tmp_path):
    (tmp_path / "few").write_text("the cat ||| le chat\n")
    name = "é" * 125 + ".txt"
    with started("align", "--pairs", "few", "-o", name, cwd=tmp_path) as process:
        assert ended(process)[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few", name]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (TimeoutError(), "error: TimeoutError"),
        (WorkerError(), "error: WorkerError"),
        (MemoryError(), "memory ran out (MemoryError); "),
        (RuntimeError(), "not foreseen (RuntimeError); "),
        (EOFError("no data"), "not foreseen (EOFError: no data); "),  # not an interruption
        (OSError(5, "Input/output error"), "error: Input/output error"),
    ],
)
def test_an_error_without_a_text_shows_its_class(error, says, monkeypatch, capsys, tmp_path):
    (tmp_path / "few").write_text("the cat ||| le chat\n")

    def failing(*given, **options):
        raise error

    monkeypatch.setattr("nmtalign.run.stream.align_chunk", failing)
    assert run("align", "--pairs", tmp_path / "few", "-o", tmp_path / "links") == 1
    assert says in capsys.readouterr().err
