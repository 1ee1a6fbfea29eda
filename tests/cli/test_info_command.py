"""`info`: whether links fit a text, and what they count."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmtalign.files.paths import bundled_path
from tests.cli.running import lines, run, write

SAMPLE = bundled_path("en_fr_sample")
RAW = [SAMPLE / f"text.{side}" for side in ("en", "fr")]


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> list[Path]:
    """Some lines, and files of their sub-words: each word is cut after its third letter."""
    folder = tmp_path_factory.mktemp("text")
    files = []
    for path in RAW:
        raw = lines(path)[:40]
        files.append(write(folder / path.name, raw))
        cut = [
            [word if len(word) < 4 else f"{word[:3]}@@ {word[3:]}" for word in line.split(" ")]
            for line in raw
        ]
        write(folder / f"{path.name}.bpe", [" ".join(line) for line in cut])
    return files


@pytest.mark.parametrize(
    ("aligned", "checked", "expected"),
    [
        ([], [], "words"),
        (["--count", "tokens"], [], "tokens"),
        (["--tokens", "cut", "--spaces", "▁"], ["--spaces", "▁"], "tokens"),
        (["--pieces", "bpe"], ["--pieces", "bpe"], "words"),
        (["--pieces", "bpe", "--count", "pieces"], ["--pieces", "bpe"], "pieces"),
    ],
)
def test_the_unit_is_found(text, tmp_path, monkeypatch, capsys, aligned, checked, expected):
    monkeypatch.chdir(tmp_path)
    files = [path.with_name(f"{path.name}.bpe") for path in text] if "bpe" in checked else text
    assert run("align", *files, *aligned, "-o", "links", "-q") == 0
    capsys.readouterr()
    assert run("info", "links", *files, *checked) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"links of {expected}"
    assert run("info", "links", *files, *checked, "--count", expected) == 0
    other = "tokens" if expected == "words" else "words"
    assert run("info", "links", *files, *checked, "--count", other) == 3
    assert f"expected links of {other}, found links of {expected}" in capsys.readouterr().err


def test_links_of_another_text_or_unit_fit_nothing(text, tmp_path, capsys):
    assert run("align", *text, "-o", tmp_path / "links", "-q") == 0
    swapped = [text[1], text[0]]
    bpe = [path.with_name(f"{path.name}.bpe") for path in text]
    capsys.readouterr()
    assert run("info", tmp_path / "links", *bpe) == 3
    assert "they reach only" in capsys.readouterr().err
    assert run("info", tmp_path / "links", *swapped) == 3
    assert "is outside of" in capsys.readouterr().err
    write(tmp_path / "short", lines(tmp_path / "links")[:-1])
    assert run("info", tmp_path / "short", *text) == 3


def test_no_links_fit_every_text(text, tmp_path, capsys):
    write(tmp_path / "links", [""] * 40)
    assert run("info", tmp_path / "links", *text) == 0
    assert "links of words or tokens" in capsys.readouterr().out


def test_other_commands_warn_of_links_of_another_unit(text, tmp_path, capsys):
    bpe = [path.with_name(f"{path.name}.bpe") for path in text]
    assert run("align", *text, "-o", tmp_path / "links", "-q") == 0
    capsys.readouterr()
    assert run("lexicon", *text, tmp_path / "links", "-o", tmp_path / "lex") == 0
    assert "warning" not in capsys.readouterr().err
    assert run("lexicon", *bpe, tmp_path / "links", "-o", tmp_path / "lex") == 0
    assert "so they may count other units than the words of this text" in capsys.readouterr().err
