"""Runs in shards: whatever stops one, going on gives the bytes of the run that nothing stopped."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from nmtalign.aligner.aligner import Aligner
from nmtalign.cli import main
from nmtalign.errors import StoppedError, WorkerError
from nmtalign.files.paths import bundled_path
from nmtalign.run import shards
from nmtalign.run.shards import ShardRun
from tests.cli.running import exit_code, fork, run
from tests.corpus.test_parallel import needs_fork

KILLS = int(os.environ.get("NMTALIGN_KILLS", "2"))  # state machine: tests/hostile/test_runs.py
OUTPUTS = {"-o": "links", "--probabilities": "scores", "--pair-scores": "pair-scores"}


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> tuple[Path, Path]:
    """53 pairs, some with an empty side."""
    folder = tmp_path_factory.mktemp("text")
    for side, last in (("en", "\nno\n\n"), ("fr", "\nnon\nle\n")):
        lines = (bundled_path("en_fr_sample") / f"text.tok.{side}").read_text(encoding="utf-8")
        first = "".join(lines.splitlines(keepends=True)[:25])
        (folder / side).write_text(first * 2 + last, encoding="utf-8")
    return folder / "en", folder / "fr"


@pytest.fixture(scope="module")
def wanted(text) -> dict[str, bytes]:
    """What one undisturbed run without shards gives."""
    folder = text[0].parent / "wanted"
    folder.mkdir()
    assert run("align", *text, *files(folder), "--workers", 1) == 0
    return {name: (folder / name).read_bytes() for name in OUTPUTS.values()}


def files(folder: Path) -> list[str]:
    return [part for option, name in OUTPUTS.items() for part in (option, str(folder / name))]


def found(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in OUTPUTS.values() if (folder / name).exists()}


@pytest.fixture
def command(text, tmp_path) -> list[object]:
    """Shards by one process; more are started where they matter."""
    return ["align", *text, "--out-shards", tmp_path / "shards", "--shard-pairs", 10, "--workers", 1]


def test_ctrl_c_right_after_the_manifest_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    start = ShardRun.start

    def interrupted(*arguments, **options):
        start(*arguments, **options)
        raise KeyboardInterrupt

    (tmp_path / "pairs").write_text("the cat ||| le chat\n")
    arguments = (
        "align",
        "--pairs",
        tmp_path / "pairs",
        "-o",
        tmp_path / "links",
        "--out-shards",
        tmp_path / "run",
    )
    with monkeypatch.context() as patch:
        patch.setattr(ShardRun, "start", interrupted)
        assert run(*arguments) == 4
    assert "the same command with --resume resumes the run" in capsys.readouterr().err
    assert run(*arguments, "--resume") == 0
    assert (tmp_path / "links").read_text() == "0-0 1-1\n"


def test_shards_put_together_are_the_run_without_shards(command, wanted, tmp_path, capsys):
    assert run(*command, *files(tmp_path), "--workers", 2) == 0
    assert found(tmp_path) == wanted
    manifest = json.loads((tmp_path / "shards" / "manifest.json").read_text())
    assert {"version", "text", "model", "settings"} <= set(manifest)
    records = [json.loads(path.read_text()) for path in sorted((tmp_path / "shards").glob("0*.json"))]
    assert sum(record["pairs"] for record in records) == wanted["links"].count(b"\n")
    assert sum(record["links"] for record in records) == len(wanted["links"].split())
    assert run(*command) == 2
    assert "--resume" in capsys.readouterr().err


@needs_fork
def test_runs_killed_at_any_moment_end_with_the_same_bytes(command, wanted, tmp_path):
    def start(workers: int) -> int:
        arguments = [*command, "--resume", *files(tmp_path), "--workers", workers]
        return fork(lambda: main([str(argument) for argument in arguments]))

    chance = random.Random(7)
    begin = time.monotonic()
    assert exit_code(start(1)) == 0
    longest, killed = time.monotonic() - begin, 0
    for attempt in range(20 * KILLS):
        if found(tmp_path) == wanted:  # it was faster than the kill: begin again
            shutil.rmtree(tmp_path / "shards")
            for name in OUTPUTS.values():
                (tmp_path / name).unlink()
        process = start(1 + attempt % 2)
        time.sleep(chance.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        killed += exit_code(process) == -signal.SIGKILL
        assert all(data == wanted[name] for name, data in found(tmp_path).items())
        if killed == KILLS:
            break
    assert killed == KILLS
    assert exit_code(start(1)) == 0
    assert found(tmp_path) == wanted


@pytest.mark.parametrize("kind", ["csv", "tsv.gz", "jsonl"])
def test_tables_and_guided_text_in_shards(kind, command, text, tmp_path):
    for name, start in (("alone", ["align", *text]), ("sharded", command)):
        outputs = ["--table", tmp_path / f"{name}.{kind}", "--guided", tmp_path / f"{name}.guided"]
        assert run(*start, *outputs, "-o", tmp_path / name) == 0
    opened = gzip.open if kind.endswith("gz") else open
    for ending in (f".{kind}", ".guided"):
        files = [tmp_path / f"{name}{ending}" for name in ("alone", "sharded")]
        read = opened if ending != ".guided" else open
        contents = [read(file, "rb").read() for file in files]
        assert contents[0] == contents[1]
        assert contents[0].count(b"\n") > 50


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"9" + data[1:], None])
def test_a_damaged_shard_is_made_again(damage, command, wanted, tmp_path, capsys):
    assert run(*command) == 0
    shard = tmp_path / "shards" / "000003.links"
    if damage:
        shard.write_bytes(damage(shard.read_bytes()))
    else:
        shard.unlink()
    assert run(*command, "--resume", *files(tmp_path)) == 0
    assert found(tmp_path) == wanted
    assert "10 pairs" in (err := capsys.readouterr().err)
    assert "6 shards" in err
    assert "5 of them already finished" in err


def test_another_run_is_not_gone_on_with(command, text, tmp_path, capsys):
    assert run(*command) == 0
    for options in (
        ["--threshold", 0.9],
        ["--pieces", "bpe"],
        ["--shard-pairs", 5],
        ["--scorers", "lexicon"],
        ["--vectors", "en_fr_vectors"],
    ):
        assert run(*command, "--resume", *options) == 2
        assert "contains a run with a different" in capsys.readouterr().err
    other = tmp_path / "other"
    other.write_bytes(text[0].read_bytes().replace(b"the", b"The", 1))
    assert run("align", other, text[1], *command[3:], "--resume") == 2
    assert "a different text" in capsys.readouterr().err


def test_parts_fill_one_folder(command, wanted, tmp_path, capsys):
    for part in ("2/3", "1/3", "3/3"):
        assert run(*command, "--shard", part) == 0
    assert run(*command, "--resume", *files(tmp_path)) == 0
    assert found(tmp_path) == wanted
    assert capsys.readouterr().err.endswith("shards, all of them already finished\n")
    for part in ("0/3", "4/3", "x"):
        assert run(*command, "--shard", part) == 2


@pytest.mark.parametrize("options", [["--table", "t.parquet"], ["--shard", "1/2", "-o", "x"]])
def test_what_shards_cannot_hold_is_refused(options, command):
    assert run(*command, *options) == 2


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt(), WorkerError("a worker process died"), OSError(5, "gone")]
)
def test_a_stop_from_outside_can_be_resumed(stop, command, wanted, tmp_path, monkeypatch, capsys):
    plain, calls = Aligner.link_text_by, []

    def stopping(aligner, *given):
        calls.append(given)
        if len(calls) == 4:
            raise stop
        return plain(aligner, *given)

    monkeypatch.setattr(Aligner, "link_text_by", stopping)
    assert run(*command, *files(tmp_path), "--workers", 1) == StoppedError.exit_code
    assert "--resume resumes the run" in capsys.readouterr().err
    assert not found(tmp_path)
    assert run(*command, *files(tmp_path), "--resume", "--workers", 1) == 0
    assert found(tmp_path) == wanted
    assert "3 of them already finished" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_can_be_resumed(command, wanted, tmp_path, monkeypatch, capsys):
    def full(path: Path) -> Path:
        found = plain(path)
        if path.name == "000002.links":
            found.unlink()
            found.symlink_to("/dev/full")
        return found

    plain = shards.create_partial_file
    with monkeypatch.context() as patch:
        patch.setattr(shards, "create_partial_file", full)
        assert run(*command, *files(tmp_path)) == 4
    assert f"{tmp_path / 'shards' / '000002.links'}: No space left on device" in capsys.readouterr().err
    assert not list((tmp_path / "shards").glob(".partial-*"))
    assert run(*command, "--resume", "-o", "/dev/full") == 4
    assert run(*command, "--resume", *files(tmp_path)) == 0
    assert found(tmp_path) == wanted
    assert "all of them already finished" in capsys.readouterr().err


def during(monkeypatch, act) -> None:
    """Do something once, while the second chunk is aligned."""
    plain, calls = Aligner.link_text_by, []

    def meanwhile(aligner, *given):
        calls.append(given)
        if len(calls) == 2:
            act()
        return plain(aligner, *given)

    monkeypatch.setattr(Aligner, "link_text_by", meanwhile)


@pytest.mark.skipif(shards.fcntl is None, reason="no flock here")
def test_a_second_run_in_the_folder_is_refused(command, wanted, tmp_path, monkeypatch, capsys):
    others = []

    def start_another():
        for options in (["--resume"], [], ["--shard", "1/2"]):
            capsys.readouterr()
            others.append((run(*command, *options), capsys.readouterr().err))

    during(monkeypatch, start_another)
    assert run(*command, *files(tmp_path)) == 0
    assert found(tmp_path) == wanted
    assert len(others) == 3
    for code, err in others:
        assert code == 2
        assert re.fullmatch(".*: error: another run is writing to .*/shards; .*--resume.*\n", err)


@pytest.mark.skipif(shards.fcntl is None, reason="no flock here")
def test_jobs_of_other_parts_share_the_folder(command, wanted, tmp_path, monkeypatch):
    codes = []

    def start_others():
        codes.extend(
            run(*command, *options) for options in (["--shard", "2/2"], ["--shard", "1/2"], ["--resume"])
        )

    during(monkeypatch, start_others)
    assert run(*command, "--shard", "1/2") == 0
    assert codes == [0, 2, 2]
    assert run(*command, "--resume", *files(tmp_path)) == 0
    assert found(tmp_path) == wanted


def test_two_runs_without_locks_do_no_harm(command, wanted, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "fcntl", None)
    monkeypatch.setattr("nmtalign.text.chunks.MAX_CHUNK_CHARS", 1_000)  # so that a shard has several chunks
    again = tmp_path / "again"
    again.mkdir()
    during(monkeypatch, lambda: run(*command, "--resume", *files(again), "--workers", 1))
    assert run(*command, *files(tmp_path), "--workers", 1) == 0
    assert found(tmp_path) == found(again) == wanted


def test_what_a_killed_run_left_is_removed(command, tmp_path):
    (tmp_path / "shards").mkdir()
    left = tmp_path / "shards" / ".partial-0123-000001.links"
    left.write_text("0-0\n")
    assert run(*command) == 0
    assert not left.exists()


def test_a_shard_that_changes_before_it_is_put_together_is_refused(command, tmp_path, monkeypatch, capsys):
    finish = ShardRun.finish

    def changing(self):
        finish(self)
        shard = tmp_path / "shards" / "000001.links"
        if shard.exists():
            shard.write_bytes(b"9" + shard.read_bytes()[1:])

    monkeypatch.setattr(ShardRun, "finish", changing)
    assert run(*command, *files(tmp_path)) == 3
    assert "000001.links: the file does not match its hash in 000001.json" in capsys.readouterr().err
    assert not found(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused(text, command, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    reading, writing = os.pipe()
    os.write(writing, b"the cat\n")
    os.close(writing)
    for pipe in (tmp_path / "pipe", f"/dev/fd/{reading}"):
        assert run("align", text[0], pipe, *command[3:]) == 2
        assert "a pipe can be read only once; write it to a file first" in capsys.readouterr().err
    os.close(reading)
    assert not (tmp_path / "shards").exists()


def test_a_text_that_changes_or_vanishes_is_noticed(text, tmp_path, monkeypatch, capsys):
    sides = [shutil.copy(path, tmp_path / path.name) for path in text]
    command = ["align", *sides, "--out-shards", tmp_path / "shards", "--shard-pairs", 10, "--workers", 1]
    plain, act = Aligner.link_text_by, [lambda: os.utime(sides[0], (1, 1)), lambda: os.remove(sides[0])]
    monkeypatch.setattr(Aligner, "link_text_by", lambda *given: (act[0](), plain(*given))[1])
    assert run(*command) == 3
    assert "changed while it was being read" in capsys.readouterr().err
    act.pop(0)
    assert run(*command, "--resume") == 3  # to resume would meet the same error
    err = capsys.readouterr().err
    assert f"{sides[0]}: No such file" in err
    assert "resumes the run" not in err


def test_ctrl_c_without_shards_leaves_nothing(text, tmp_path, monkeypatch, capsys):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr("nmtalign.aligner.aligner.Aligner.link_text_by", interrupted)
    assert run("align", *text, "-o", tmp_path / "links") == 1
    assert "interrupted" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
