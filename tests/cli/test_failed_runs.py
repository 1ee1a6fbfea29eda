"""Whatever writes: a run that fails leaves what was there byte by byte, and nothing half-written beside it.

Every option that writes is here (a new one makes a test fail until it is), with an input whose end is
damaged, on a disk without any room, and on one whose room ends with the last byte of the largest output.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtalign.cli.commands import demo_command, report_command
from nmtalign.external import hf_encoder
from nmtalign.files.paths import bundled_path
from nmtalign.links.formats import format_pharaoh
from tests.aligner.toy_language import toy_bitext, toy_training
from tests.cli.running import file_size_limit, run
from tests.cli.test_types import ALL, is_output

pytest.importorskip("resource")
TOY = toy_bitext(30, seed=5)
NO_TEXT = b"\xff\n"
ALIGN = "align source target --model model --workers 1 "
BAD_ROW = b"few 1\n"
TWO_WORDS = b"two words" + b" 1" * 8 + b"\n"
TRAIN = "train source target --preset fast --workers 1 -q -o out "
LINKED = "source target links "
MARKED = "--on-error skip-marked --error-report report "
FROM = "links-from source target --method simalign-argmax --encoder tiny --layer 1 "


@dataclass
class Case:
    """A command line with the parameter that it is about.

    `bad` is the input whose last line becomes `tail`; `again` are options of the runs that are to fail;
    `gone` is removed before them, so that they have something to do.
    """

    parameter: str
    line: str
    bad: str = "target"
    tail: bytes = NO_TEXT
    again: str = ""
    gone: str = ""

    @property
    def command(self) -> str:
        words = self.line.split()
        return " ".join(words[:2] if words[0] == "vectors" else words[:1])


CASES = [
    Case("output", "demo", bad=""),
    Case(
        "error_report",
        "align --pairs worse --model model --on-error skip-marked --error-report out",
        bad="model/meta.json",
    ),
    Case("output", ALIGN + "-o out"),
    Case("output", ALIGN + "-o out.gz"),
    Case("output", ALIGN + "-o out.xz"),
    Case("output", ALIGN + "-o out.bz2"),
    Case("output", ALIGN + "-o out.zst"),
    Case("probabilities", ALIGN + "--probabilities out"),
    Case("pair_scores", ALIGN + "--pair-scores out"),
    Case("table", ALIGN + "-o links-out --table out.tsv"),
    Case("table", ALIGN + "-o links-out --table out.parquet"),
    Case("attention", ALIGN + "-o links-out --attention out.npz"),
    Case("guided", ALIGN + "--guided out"),
    Case("tokens", ALIGN + "--tokens out"),
    Case("costs", ALIGN + "--costs out"),
    Case("forward", ALIGN + "--forward out"),
    Case("reverse", ALIGN + "--reverse out"),
    Case("posteriors", ALIGN + "-o links-out --posteriors out.npz"),
    Case("posteriors", ALIGN + "-o links-out --posteriors out.parquet"),
    Case(
        "out_shards", ALIGN + "--out-shards out --shard-pairs 12", again="--resume", gone="out/000001.links"
    ),
    Case("cache", FROM + "--cache cache -o out", again="--layer 2"),
    Case("output", FROM + "-o out"),
    Case("probabilities", FROM + "--probabilities out"),
    Case("pair_scores", FROM + "--pair-scores out"),
    Case("table", FROM + "-o links-out --table out.tsv"),
    Case("attention", FROM + "-o links-out --attention out.npz"),
    Case("guided", FROM + "--guided out"),
    Case("tokens", FROM + "--tokens out"),
    Case("output", TRAIN),
    Case("links", TRAIN + "--links links-out"),
    Case("probabilities", TRAIN + "--probabilities links-out"),
    Case("pair_scores", TRAIN + "--pair-scores links-out"),
    Case("forward", TRAIN + "--forward links-out"),
    Case("reverse", TRAIN + "--reverse links-out"),
    Case("table", TRAIN + "--table links-out.tsv.gz"),
    Case("error_report", f"train --pairs worse --preset fast -o out {MARKED}", bad=""),
    Case("output", "check source target --model model -o out"),
    Case("error_report", f"check --pairs worse --model model {MARKED}", bad="model/meta.json"),
    Case("curve", "evaluate kept.npz links --curve out.tsv", bad="links"),
    Case("curve", "evaluate kept.npz links --curve out.png", bad="links"),
    Case("output", "convert links links2 --symmetrize union -o out", bad="links2"),
    Case("output", "convert links --from pharaoh --to talp -o out", bad="links"),
    Case("output", "phrases " + LINKED + "-o out", bad="links"),
    Case("output", "project " + LINKED + "--tags tags --tags-format bio -o out", bad="tags"),
    Case("output", "heatmap --pairs pairs --model model --lines 1,30 -o out.pdf", bad="pairs"),
    Case("output", "heatmap --pairs pairs --model model --lines 30 -o out.png", bad="pairs"),
    Case("output", "heatmap --pairs pairs --model model --lines 30 -o out.svg", bad="pairs"),
    Case("output", "heatmap --pairs pairs --model model --lines 30 -o out.tsv", bad="pairs"),
    Case("output", "heatmap --pairs pairs --model model --lines 1,30 -o out.npz", bad="pairs"),
    Case("output", "report source target --model model --sample 5 -o out.html"),
    Case("output", "vectors convert x.vec out --to word2vec", "x.vec", TWO_WORDS),
    Case("output", "vectors convert x.vec out --to word2vec-binary", "x.vec", TWO_WORDS),
    Case("output", "vectors convert x.vec out --to folder", "x.vec", BAD_ROW),
    Case("output", "vectors convert x.vec word2int_xx.pkl --to word2int", "x.vec", BAD_ROW),
    Case("output", "vectors learn source target --dimension 8 -o out"),
    Case("output", "vectors map x.vec y.vec --langs en,fr -o out", "y.vec", BAD_ROW),
    Case("output", "lexicon " + LINKED + "-o out", bad="links"),
    Case("priors", "lexicon " + LINKED + "-o out --priors priors", bad="links"),
    Case("vmap", "lexicon " + LINKED + "-o out --vmap vmap", bad="links"),
    Case("terms", "lexicon " + LINKED + "--terms terms.csv", bad="links"),
    Case("error_report", "links-from --pairs worse --encoder tiny --layer 1 " + MARKED, bad=""),
    Case(
        "error_report",
        f"check source target --links bad-links {MARKED}",
        bad="bad-links",
        tail=b"0-0\n0-0\n",
    ),
]


def test_every_option_that_writes_is_here():
    found = {(name, str(param.name)) for name, own in ALL.items() for param in own.params if is_output(param)}
    assert {(case.command, case.parameter) for case in CASES} == found


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    TOY.write(folder)
    links = "".join(format_pharaoh(sorted(own)) + "\n" for own in TOY.links)
    texts = {
        "links": links,
        "links2": links,
        "bad-links": f"0:1\n{links.partition(chr(10))[2]}",
        "pairs": "".join(f"{source} ||| {target}\n" for source, target in TOY.pairs),
        "worse": "one ||| two\nneither\n",
        "tags": "".join(" ".join("O" for _ in source) + "\n" for source, _ in TOY.words),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    aligner = toy_training("fast").aligner
    aligner.save(folder / "model")
    aligner.align_batch(TOY.words, posteriors=True).save(folder / "kept.npz")
    (folder / "sample").mkdir()
    for path in bundled_path("en_fr_sample").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        short = [lines[n] for n in (25, 264, 98)]
        (folder / "sample" / path.name).write_text("".join(short), encoding="utf-8")
    words = [f"word{n}" for n in range(200)]
    for name in ("x.vec", "y.vec"):
        matrix = np.random.default_rng(1).standard_normal((200, 8)).astype(np.float32)
        rows = zip(words, matrix.tolist(), strict=True)  # without a header, which counts them
        (folder / name).write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows))
    return folder


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return which file each name stands for, and its bytes; a cache, which any run adds to, is left out."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name[:5] != "cache")
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.read_bytes()) for path in files}


def cached(folder: Path) -> set[tuple[str, bytes]]:
    """Return the entries of the cache; to open it undoes what was not finished."""
    if not (folder / "cache").exists():
        return set()
    with closing(sqlite3.connect(folder / "cache")) as file:
        return set(file.execute("SELECT key, value FROM similarities"))


@pytest.fixture
def small_work(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the encoder return made-up vectors, and the demo draw and report few pairs."""
    monkeypatch.setattr(hf_encoder.Encoder, "check", lambda encoder: None)
    monkeypatch.setattr(hf_encoder.Encoder, "identity", [])
    monkeypatch.setattr(hf_encoder.Encoder, "vectors", vectors)
    monkeypatch.setattr(demo_command, "LINES_IN_PDF", (1,))
    monkeypatch.setattr(demo_command, "COMPARED_LINE", 2)
    monkeypatch.setattr(report_command, "DEFAULT_SAMPLE_PAIRS", 3)
    monkeypatch.setattr(
        demo_command,
        "bundled_path",
        lambda name: inputs / "sample" if "sample" in name else bundled_path(name),
    )
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the first half of a compiled file would be kept


def attempt(line: str, capsys: pytest.CaptureFixture[str], limit: int | None = None) -> tuple[int, str]:
    """Run the program on a disk whose files have no room for more bytes than `limit`."""
    capsys.readouterr()
    with file_size_limit(limit):
        code = run(*line.split())
    return code, capsys.readouterr().err


def vectors(encoder: Any, pairs: dict[int, tuple[list[str], list[str]]]) -> list[Any]:
    """Return what stands for the states of an encoder."""

    def of_side(words: list[str]) -> Any:
        return np.array([[len(w), *w[:2].encode()] for w in words], np.float32), np.arange(len(words))

    return [(of_side(source), of_side(target)) for source, target in pairs.values()]


@pytest.mark.usefixtures("small_work")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.line.replace("/", "-"))
def test_a_failed_run_leaves_what_was_there(
    case: Case, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    for ending, package in (("parquet", "pyarrow"), ("zst", "zstandard")):
        if ending in case.line:
            pytest.importorskip(package)
    folder = tmp_path / "work"
    shutil.copytree(inputs, folder)
    monkeypatch.chdir(folder)
    code, err = attempt(case.line, capsys)
    assert code == 0, err
    files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    written = [folder / path for path in files if not (inputs / path).exists()]
    assert written
    about = "cache" if case.parameter == "cache" else case.gone
    largest = max(path.stat().st_size for path in ([folder / about] if about else written))
    if case.gone:
        (folder / case.gone).unlink()
    force = " --force" if any(param.name == "force" for param in ALL[case.command].params) else ""
    line = f"{case.line} {case.again}{force}"
    before = contents(folder)
    outputs = {path.relative_to(folder).parts[0] for path in written}
    for limit in (0, largest - 1):
        fails(folder, line, before, capsys, limit, outputs)
    if case.bad:
        bad = folder / case.bad
        bad.write_bytes(b"".join(bad.read_bytes().splitlines(keepends=True)[:-1]) + case.tail)
        fails(folder, line, contents(folder), capsys)


def fails(
    folder: Path,
    line: str,
    before: dict[str, tuple[int, bytes]],
    capsys: pytest.CaptureFixture[str],
    limit: int | None = None,
    outputs: Collection[str] = (),
) -> None:
    """Check a run that fails; on a full disk, the message names one of the `outputs`."""
    kept = cached(folder)
    code, err = attempt(line, capsys, limit)
    assert kept <= cached(folder)
    assert code in ((1, 4) if limit is not None else (2, 3)), err
    assert "nmtalign: error: " in err
    assert "not foreseen" not in err
    if limit is not None:
        assert any(f"error: {name}" in err for name in outputs), err
    after = contents(folder)
    assert after.keys() == before.keys()
    for name, (file, data) in before.items():
        assert after[name][1] == data, name
        assert after[name][0] == file or line.startswith("demo"), f"{name} is another file"  # one by one
