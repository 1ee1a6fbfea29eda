"""``align --posteriors``, and what chooses links from the file: ``convert`` and ``evaluate --curve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from nmtalign.links.inputs import write_links
from nmtalign.names import SYMMETRIZATIONS
from tests.aligner.batches import check_same_bits
from tests.cli.running import lines, run, write

SOURCE = ["the black cat, a dog", "", "don't go", "the house of the cat", "a dog sees the black house"]
TARGET = ["le chat noir, un chien", "le", "n'y va pas", "la maison du chat", "un chien voit la maison noire"]
GOLD = ["0-0 1-2 2p1", "", "0-0", "0-0 1-1 4p3", "0-0 1-1 2-2 3-3"]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setattr("nmtalign.cli.commands.align_command.PAIRS_PER_CHUNK", 2)
    return write(tmp_path / "text.en", SOURCE), write(tmp_path / "text.fr", TARGET)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize(
    "options", [[], ["--tokenizer", "simple"], ["--tokenizer", "simple", "--tokens", "tokens"]], ids=str
)
def test_links_of_any_method_are_those_of_align(
    text: tuple[Path, Path], tmp_path: Path, ending: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / f"kept.{ending}"
    assert run("align", *text, *options, "-o", "links", "--posteriors", file, "--workers", 1) == 0
    assert run("convert", file, "-o", "same") == 0
    assert lines(tmp_path / "same") == lines(tmp_path / "links")
    wanted = [["--threshold", 0.2], ["--extract", "match"], ["--extract", "argmax", "--threshold", 0.3]]
    wanted.append(["--symmetrize", SYMMETRIZATIONS[-1]])
    for choice in wanted:
        assert run("align", *text, *options, *choice, "-o", "expected", "--workers", 1) == 0
        assert run("convert", file, *choice, "-o", "chosen") == 0
        assert lines(tmp_path / "chosen") == lines(tmp_path / "expected")


def test_the_file_is_that_of_a_batch(text: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    assert run("align", *text, "-o", tmp_path / "links", "--posteriors", file, "--workers", 1) == 0
    expected = na.load().align_batch(SOURCE, TARGET, posteriors=True)
    opened = na.open_batch(file)
    check_same_bits(opened, expected)
    check_same_bits(opened.choose(extract="itermax"), expected.choose(extract="itermax"))
    assert [pair.texts for pair in opened] == [pair.texts for pair in expected]


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_a_text_without_pairs_has_a_file_without_pairs(tmp_path: Path, ending: str) -> None:
    text = write(tmp_path / "text.en", []), write(tmp_path / "text.fr", [])
    file, again = tmp_path / f"kept.{ending}", tmp_path / f"again.{ending}"
    assert run("align", *text, "-o", tmp_path / "links", "--posteriors", file) == 0
    assert run("convert", file, "--threshold", 0.2, "-o", tmp_path / "chosen") == 0
    assert lines(tmp_path / "chosen") == []
    na.open_batch(file).save(again)
    check_same_bits(na.open_batch(again), na.load().align_batch([], posteriors=True))


def test_a_method_that_is_not_kept_can_be_written(text: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    options = ["-o", tmp_path / "links", "--extract", "transport", "--posteriors", file]
    assert run("align", *text, *options) == 0
    assert run("convert", file, "-o", tmp_path / "same") == 0
    assert lines(tmp_path / "same") == lines(tmp_path / "links")
    assert run("convert", file, "--extract", "mutual", "-o", tmp_path / "mutual") == 0


def test_other_formats_have_words_and_unit(
    text: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.npz"
    assert run("align", *text, "-o", tmp_path / "links", "--posteriors", file) == 0
    assert run("convert", file, "--threshold", 0.9, "--to", "jsonl", "-o", tmp_path / "chosen.jsonl") == 0
    table = pd.read_json(tmp_path / "chosen.jsonl", lines=True)
    assert table["source"].tolist()[0] == SOURCE[0].split()
    assert set(table["unit"]) == {"words"}
    assert run("convert", file, "--to", "tsv", "--invert") == 0
    assert capsys.readouterr().out.startswith("le chat noir, un chien\tthe black cat, a dog\t")


READERS = [
    ["check", "text.en", "text.fr", "--links", "LINKS"],
    ["evaluate", "LINKS", "gold"],
    ["evaluate", "gold", "LINKS", "--compare", "LINKS"],
    ["convert", "LINKS", "--invert"],
    ["convert", "LINKS", "gold", "--symmetrize", "union"],
    ["project", "text.en", "text.fr", "LINKS", "--tags", "tags"],
    ["lexicon", "text.en", "text.fr", "LINKS"],
    ["phrases", "text.en", "text.fr", "LINKS"],
    ["find", "cat", "text.en", "text.fr", "--links", "LINKS"],
    ["align", "text.en", "text.fr", "--expert", "LINKS"],
]


@pytest.mark.parametrize("arguments", READERS, ids=" ".join)
def test_posteriors_are_read_wherever_links_are(
    text: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    batch = na.load().align_batch(SOURCE, TARGET, posteriors=True)
    batch.save("links.npz")
    batch.save("links.parquet")
    write_links("links.txt", batch)
    write_links("gold", batch.choose(threshold=0.9))
    write(tmp_path / "tags", [f"<b>{line}</b>" if line else "" for line in SOURCE])
    results = []
    for name in ("links.txt", "links.npz", "links.parquet"):
        assert run(*[name if argument == "LINKS" else argument for argument in arguments]) == 0
        results.append(capsys.readouterr().out.replace(name, "LINKS "))
    assert results[0]
    assert results[1] == results[0]
    assert "".join(results[2].split()) == "".join(results[0].split())


def test_posteriors_state_their_format_and_unit(
    text: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    na.load(tokenizer="simple").align_batch(SOURCE, TARGET, posteriors=True, count="tokens").save("kept.npz")
    for arguments in (
        ["evaluate", "kept.npz", "kept.npz", "--links-format", "talp"],
        ["evaluate", "kept.npz", "kept.npz", "--gold-format", "naacl"],
        ["convert", "kept.npz", "--from", "giza", "--to", "talp"],
    ):
        assert run(*arguments) == 2
        assert "kept.npz is a file of align --posteriors" in capsys.readouterr().err
    for arguments in (
        ["align", *text, "--expert", "kept.npz"],
        ["train", *text, "--gold", "kept.npz", "-o", "model"],
        ["check", *text, "--gold", "kept.npz"],
        ["report", *text, "--gold", "kept.npz", "-o", "report.html"],
        ["report", *text, "--compare", "other=kept.npz", "-o", "report.html"],
    ):
        assert run(*arguments) == 3
        assert (
            "kept.npz: expected links of space-separated words, found links of tokens"
            in capsys.readouterr().err
        )
    assert run("phrases", *text, "kept.npz") == 3
    assert (
        "kept.npz, line 1: link 5-5 is outside a pair of 5 source and 5 target words"
        in capsys.readouterr().err
    )


def test_a_curve_is_drawn(
    text: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, gold = tmp_path / "kept.npz", write(tmp_path / "gold", GOLD)
    assert run("align", *text, "-o", tmp_path / "links", "--posteriors", file) == 0
    assert run("evaluate", tmp_path / "links", gold) == 0
    of_links = capsys.readouterr().out
    for ending in ("png", "svg", "pdf", "tsv"):
        assert run("evaluate", file, gold, "--curve", tmp_path / f"curve.{ending}") == 0
        said = capsys.readouterr()
        assert said.out == of_links
        assert "the best F1 is" in said.err
        assert "--threshold" in said.err
    table = pd.read_csv(tmp_path / "curve.tsv", sep="\t")
    curve = na.evaluate(na.load().align_batch(SOURCE, TARGET), gold, curve=True)
    np.testing.assert_allclose(table, curve.table(), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["convert", "links", "--threshold", "0.3"], 2, "pass a file that align --posteriors has written"),
        (["convert", "kept.npz", "--threshold", "0.001"], 3, "kept from 0.01, found --threshold 0.001"),
        (["convert", "kept.npz", "--extract", "transport"], 3, "kept.npz: --extract transport compares"),
        (["convert", "kept.npz", "--extract", "match", "--symmetrize", "union"], 2, "cannot be combined"),
        (["convert", "foreign.npz", "--threshold", "0.3"], 3, "foreign.npz: this is not a saved batch"),
        (["convert", "short.npz", "--threshold", "0.3"], 3, "short.npz: not a readable file"),
        (["evaluate", "links", "gold", "--curve", "c.png"], 2, "write them with align --posteriors FILE"),
        (["evaluate", "kept.npz", "gold", "--curve", "c.gif"], 2, "ending in .png, .svg, .pdf, .tsv"),
        (["evaluate", "kept.npz", "few", "--curve", "c.png"], 3, "for the 1 pair with gold links"),
        (["evaluate", "kept.npz", "far", "--curve", "c.png"], 3, "gold link 9-9 is outside"),
        (["align", "text.en", "text.fr", "--posteriors", "p.txt"], 2, "ending in .npz or .parquet"),
        (
            ["align", "text.en", "text.fr", "-o", "l", "--posteriors", "p.npz", "--out-shards", "d"],
            2,
            "cannot be combined with --posteriors",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    text: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    na.load().align_batch(SOURCE, TARGET, posteriors=True).save("kept.npz")
    write(tmp_path / "links", ["0-0"] * 5)
    write(tmp_path / "gold", GOLD)
    write(tmp_path / "few", GOLD[:1])
    write(tmp_path / "far", ["9-9", *GOLD[1:]])
    np.savez("foreign.npz", np.eye(2))
    Path("short.npz").write_bytes(Path("kept.npz").read_bytes()[:-100])
    before = set(Path().iterdir())
    assert run(*arguments) == code
    assert message in capsys.readouterr().err
    assert set(Path().iterdir()) == before


def test_attention_and_posteriors_are_written_in_one_run(text: tuple[Path, Path], tmp_path: Path) -> None:
    options: list[Any] = ["--posteriors", tmp_path / "kept.npz", "--attention", tmp_path / "attention.npz"]
    assert run("align", *text, "-o", tmp_path / "links", *options) == 0
    assert run("convert", tmp_path / "kept.npz", "-o", tmp_path / "same") == 0
    assert lines(tmp_path / "same") == lines(tmp_path / "links")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have no names here")
def test_links_from_a_pipe_are_read_whole(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"0-1\n\n2-1\n")
    os.close(writing)
    try:
        assert run("convert", f"/dev/fd/{reading}", "--invert", "-o", tmp_path / "links") == 0
    finally:
        os.close(reading)
    assert lines(tmp_path / "links") == ["1-0", "", "1-2"]


@pytest.mark.parametrize("command", [["convert"], ["evaluate", "--curve", "curve.png"]], ids=str)
def test_missing_posteriors_are_said_to_be_missing(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = [write(tmp_path / "gold", GOLD)] if "evaluate" in command else ["--threshold", 0.3]
    assert run(*command, tmp_path / "missing.npz", *gold) == 3
    assert "missing.npz: No such file" in capsys.readouterr().err
