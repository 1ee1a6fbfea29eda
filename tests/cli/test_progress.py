"""What a run says while it goes on: on a terminal, elsewhere, and as JSON."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import warnings
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from nmtalign import progress as progress_module
from nmtalign.cli import messages
from nmtalign.cli.commands import align_command
from nmtalign.cli.messages import warnings_to_stderr
from nmtalign.progress import ProgressDisplay, ProgressReporter
from nmtalign.text.bitext import read_bitext
from tests.cli.running import run

PAIR = "the black cat\tle chat noir\n"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIR * 2_500)
    return path


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a run into chunks of 2,000 pairs, so that it has progress to tell of."""
    monkeypatch.setattr(align_command, "PAIRS_PER_CHUNK", 2_000)


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "perf_counter", lambda: now[0])
    return now


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_time_left_follows_from_the_size_of_the_file(tmp_path, clock, ending):
    letters = Random(1)
    text = "".join(f"{letters.randbytes(n % 7 * 40).hex()}\tword {n}\n" for n in range(12_000)).encode()
    pairs = tmp_path / f"pairs.tsv{ending}"
    pairs.write_bytes(gzip.compress(text) if ending else text)
    progress = ProgressReporter(None, "pairs", [str(pairs)])
    read = progress.track(read_bitext(pairs))
    assert progress.seconds_left is None
    for _ in range(6_000):
        next(read)
    clock[0] = 10.0
    progress.advance(6_000)
    ahead = 0.5 if ending else 0.2  # gzip reads 128 KiB at once from Python 3.12 on
    assert progress.seconds_left == pytest.approx(10, rel=ahead)
    assert sum(1 for _ in read) == 6_000
    assert progress.seconds_left == 10


def test_skipped_pairs_count_as_passed_and_not_as_done(clock):
    progress = ProgressReporter(None, "pairs")
    list(progress.track(range(1000)))
    clock[0] = 10.0
    progress.advance(100, last=500)  # 400 were done before
    assert (progress.rate, progress.seconds_left) == (10, 50)
    progress.advance(100, last=800)  # 200 are those of another job
    assert progress.seconds_left == pytest.approx(10 / 400 * 200)


def test_elsewhere_there_is_a_line_now_and_then(tmp_path, pairs, small_chunks, monkeypatch, capsys):
    options = "--pairs", pairs, "-o", tmp_path / "links", "--workers", 1
    assert run("align", *options) == 0
    assert "left" not in capsys.readouterr().err  # it took less than the interval
    monkeypatch.setattr(messages, "LOG_SECONDS", 0.0)
    assert run("align", *options) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("nmtalign: 2,000 pairs, ")
    assert " per second, " in lines[0]
    assert lines[0].endswith(" s left")
    assert lines[1].startswith("nmtalign: 2,500 pairs, ")
    assert lines[1].endswith(", 0 s left")


def on_terminal(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    """Return what a run shows on a terminal."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    seen = []

    def read() -> None:
        with suppress(OSError):  # all of it is read
            while True:
                seen.append(os.read(master, 1000))

    reader = Thread(target=read)
    reader.start()
    with monkeypatch.context() as patch, os.fdopen(slave, "w", encoding="utf-8", buffering=1) as terminal:
        patch.setattr(sys, "stderr", terminal)
        assert run(*arguments) == 0
    reader.join()
    os.close(master)
    return b"".join(seen).decode()


def test_training_shows_a_bar_below_its_messages(tmp_path, pairs, monkeypatch):
    monkeypatch.setattr(ProgressDisplay, "seconds_between_updates", 0)
    pairs.write_text("".join(f"a{n} b{n % 7} c\tx{n} y{n % 7} z\n" for n in range(1_000)))
    seen = on_terminal(monkeypatch, "train", "--pairs", pairs, "-o", tmp_path / "model", "--preset", "fast")
    place, _, shown = seen.partition("\n")
    assert place.removeprefix("\r\x1b[K").startswith("nmtalign: checkpoints are in")
    bars = re.findall(r" (\d+)%\|\x1b\[36m[█▏▎▍▌▋▊▉ ]*\x1b\[0m\| \d\d:\d\d<[\d?:]+", shown)
    assert int(bars[0]) < 20 < 90 < int(bars[-1])
    assert re.search(r"\r +\r\r\x1b\[Knmtalign: to inspect", shown)
    messages = [line for line in shown.split("\r\x1b[K") if line.startswith("nmtalign: ")]
    assert messages[0].startswith("nmtalign: 1,000 pairs read\r\n")
    assert "\x1b[3" not in "".join(message.partition("\n")[0] for message in messages)


def test_work_is_the_sum_of_the_costs_of_finished_stages(clock):
    stages = ProgressReporter(None, "pairs", costs=[1.0, 1.0, 2.0])
    stages.expect(4)
    assert (stages.work, stages.seconds_left) == ((0.0, 4.0), None)
    stages.advance(2)
    assert stages.work == (0.5, 4.0)
    list(stages.count(range(3)))
    assert stages.work == (1.0, 4.0)
    clock[0] = 10.0
    stages.step("a step")
    assert stages.work == (2.0, 4.0)
    assert stages.seconds_left == 10.0
    for _ in range(5):  # more stages than were planned
        stages.step("a step")
    assert stages.work == (2.0, 4.0)


def test_a_terminal_shows_one_line_that_renews_itself(tmp_path, pairs, small_chunks, monkeypatch):
    monkeypatch.setattr(ProgressDisplay, "seconds_between_updates", 0)
    pairs.write_text(PAIR * 10_000)
    seen = on_terminal(monkeypatch, "align", "--pairs", pairs, "-o", tmp_path / "links", "--workers", "1")
    shown, summary = seen.split("\r\x1b[Knmtalign: ", 1)
    assert re.search(r"[2468]000/\d+ \[\d\d:\d\d<\d\d:\d\d, .* pairs/s\]", shown)
    assert "\n" not in shown
    assert summary.startswith("10,000 pairs, ")


def test_quiet_and_json_show_no_bar_on_a_terminal(tmp_path, pairs, monkeypatch):
    options = "align", "--pairs", pairs, "-o", tmp_path / "links"
    assert on_terminal(monkeypatch, *options, "--quiet") == ""
    assert "|" not in on_terminal(monkeypatch, *options, "--log-json")


def records(err: str) -> list[dict[str, object]]:
    found = [json.loads(line) for line in err.splitlines()]
    assert all(datetime.fromisoformat(record["time"]).tzinfo for record in found)
    return found


def test_json_has_an_object_a_line(tmp_path, pairs, small_chunks, monkeypatch, capsys):
    monkeypatch.setattr(messages, "LOG_SECONDS", 0.0)
    assert run("align", "--pairs", pairs, "-o", tmp_path / "links", "--log-json", "--workers", 1) == 0
    *lines, done, settings = records(capsys.readouterr().err)
    assert [record["pairs"] for record in lines] == [2_000, 2_500]
    for record in lines:
        assert (record["event"], record["level"]) == ("progress", "info")
        assert record["pairs_per_s"] > 0 <= record["seconds_left"]
    assert (done["event"], done["pairs"], done["seconds_left"]) == ("aligned", 2_500, 0)
    assert done["links"] == len((tmp_path / "links").read_text().split())
    assert settings["event"] == "settings"


def test_training_errors_and_warnings_are_json_too(tmp_path, pairs, capsys):
    pairs.write_text("".join(f"word{n} same\tword{n} same\n" for n in range(60)))
    assert run("train", "--pairs", pairs, "-o", tmp_path / "model", "--log-json") == 0
    found = records(capsys.readouterr().err)
    events = {record["event"] for record in found}
    assert events == {"checkpoints", "read", "warning", "stage", "finding", "next", "expected"}
    assert next(record["pairs"] for record in found if record["event"] == "read") == 60
    assert run("align", tmp_path / "gone", pairs, "--log-json") == 3
    (failed,) = records(capsys.readouterr().err)
    assert (failed["event"], failed["level"], failed["exit_code"]) == ("failed", "error", 3)
    assert run("align", tmp_path / "gone", pairs) == 3
    assert capsys.readouterr().err.startswith("nmtalign: error: ")  # one run does not change the next


def test_warnings_for_programmers_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    class Renamed(UserWarning, DeprecationWarning):
        """As pyparsing has it below Matplotlib."""

    with warnings_to_stderr():
        warnings.warn("parseString is deprecated", Renamed, stacklevel=1)
        warnings.warn("two spaces in line 3", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "nmtalign: warning: two spaces in line 3\n"
