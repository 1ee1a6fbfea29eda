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

from nmtalign.cli import main
from nmtalign.errors import WorkerError
from tests.cli.running import exit_code, file_size_limit, fork, run
from tests.corpus.test_parallel import needs_fork

PROGRAM = [sys.executable, "-m", "nmtalign"]
FULL = Path("/dev/full")
PAIRS = "the cat ||| le chat\n" * 12_000  # more than one chunk


@contextmanager
def started(*arguments: object, **more: object) -> Iterator[subprocess.Popen[str]]:
    """Start the program; its error output is read by whoever waits for it."""
    command = [*PROGRAM, *map(str, arguments)]
    with subprocess.Popen(command, text=True, stderr=subprocess.PIPE, **more) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    err = process.communicate(timeout=100)[1]
    return process.returncode, err


@contextmanager
def forked(*arguments: object, folder: Path) -> Iterator[tuple[int, TextIO]]:
    """Start the program in a process that is forked from this one; yield its number and its error output."""
    reading, writing = os.pipe()

    def program() -> None:
        os.chdir(folder)
        os.dup2(writing, 2)
        sys.stderr = os.fdopen(2, "w", buffering=1)
        sys.argv[1:] = map(str, arguments)
        main()

    number = fork(program)
    os.close(writing)
    with open(reading) as err:
        yield number, err


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs"
    path.write_text(PAIRS)
    return path


@pytest.fixture
def few(tmp_path: Path) -> Path:
    path = tmp_path / "few"
    path.write_text("the cat ||| le chat\n")
    return path


@needs_fork
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
    with forked(*command, "--pairs", pipe, folder=tmp_path) as (process, err), open(pipe, "w") as file:
        file.write(PAIRS)  # the pipe opened when the program did
        os.kill(process, signal.Signals[number])
        *before, last = err.read().splitlines()
        assert exit_code(process) == 1
    assert all("checkpoints" in line for line in before)  # where `train` keeps its work
    assert says in last
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@needs_fork
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_to_a_run_in_shards_says_how_to_go_on(tmp_path, pairs, number):
    pairs.write_text(PAIRS * 20)
    arguments = "align", "--pairs", pairs, "-o", "links", "--out-shards", "run"
    with forked(*arguments, folder=tmp_path) as (process, err):
        while not (tmp_path / "run" / "manifest.json").exists():
            assert os.waitpid(process, os.WNOHANG) == (0, 0)
            time.sleep(0.01)
        os.kill(process, signal.Signals[number])
        said = err.read()
        assert exit_code(process) == 4
    assert "interrupted\nnmtalign: finished work is kept in" in said
    assert "the same command with --resume resumes the run" in said
    assert not (tmp_path / "links").exists()


@pytest.mark.parametrize(
    ("command", "text"),
    [(["align", "--pairs"], PAIRS), (["convert", "--from", "pharaoh", "--to", "talp"], "0-0 1-1\n" * 20_000)],
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
def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, pairs, capsys, name):
    if name != "/dev/full":
        name = str(tmp_path / name)
        Path(name).symlink_to("/dev/full")
    assert run("align", "--pairs", pairs, "-o", tmp_path / "links", "--probabilities", name) == 1
    assert capsys.readouterr().err == f"nmtalign: error: {name}: No space left on device\n"
    assert not (tmp_path / "links").exists()


@pytest.mark.skipif(not FULL.exists(), reason="needs the device /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line(pairs):
    with FULL.open("w") as out, started("align", "--pairs", pairs, stdout=out) as process:
        assert ended(process) == (1, "nmtalign: error: No space left on device\n")


def test_a_disk_that_fills_during_the_run_leaves_the_older_file(tmp_path, pairs, capsys):
    links = tmp_path / "links"
    links.write_text("older\n")
    with file_size_limit(50_000):
        assert run("align", "--pairs", pairs, "-o", links, "--workers", 1) == 1
    assert capsys.readouterr().err == f"nmtalign: error: {links}: File too large\n"
    assert links.read_text() == "older\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "pairs"]


def test_an_input_that_vanished_is_named(tmp_path, few, capsys):
    for arguments in (["align", few, tmp_path / "gone"], ["train", few, tmp_path / "gone"]):
        assert run(*arguments, "-o", tmp_path / "out") == 3
        *_, last = capsys.readouterr().err.splitlines()
        assert last == f"nmtalign: error: {tmp_path / 'gone'}: No such file or directory"
    assert [path.name for path in tmp_path.iterdir()] == ["few"]


def test_a_working_directory_that_is_gone_is_named(tmp_path, monkeypatch, few, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run("align", "--pairs", few, "-o", "links") == 1
    said = capsys.readouterr().err
    assert said == "nmtalign: error: the working directory: No such file or directory\n"


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
@pytest.mark.usefixtures("few")
def test_a_closed_stream_is_told_and_no_file_gets_its_number(tmp_path, closed, command, code, says):
    with started(*command, cwd=tmp_path, preexec_fn=lambda: os.close(closed)) as process:
        found, err = ended(process)
    assert found == code
    assert says in err
    if closed == 2:
        assert (tmp_path / "links").read_text() == "0-0 1-1\n"


@pytest.mark.skipif(not FULL.exists(), reason="needs the device /dev/full")
@pytest.mark.usefixtures("few")
def test_with_full_standard_error_messages_are_lost_but_not_the_work(tmp_path):
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


def test_partial_files_of_long_names(tmp_path, few):
    name = "é" * 125 + ".txt"
    assert run("align", "--pairs", few, "-o", tmp_path / name) == 0
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
def test_an_error_without_a_text_shows_its_class(error, says, monkeypatch, capsys, tmp_path, few):
    def failing(*given, **options):
        raise error

    monkeypatch.setattr("nmtalign.run.stream.align_chunk", failing)
    assert run("align", "--pairs", few, "-o", tmp_path / "links") == 1
    assert says in capsys.readouterr().err
