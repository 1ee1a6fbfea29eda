"""`check --links`: whether links fit a text, and what they count."""

from __future__ import annotations

import shutil
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
        (["--pieces", "bpe"], ["--pieces", "bpe"], "words"),
        (["--pieces", "bpe", "--count", "pieces"], ["--pieces", "bpe"], "pieces"),
    ],
)
def test_the_unit_is_found(text, tmp_path, monkeypatch, capsys, aligned, checked, expected):
    monkeypatch.chdir(tmp_path)
    files = [path.with_name(f"{path.name}.bpe") for path in text] if "bpe" in checked else text
    assert run("align", *files, *aligned, "-o", "links", "-q") == 0
    capsys.readouterr()
    assert run("check", *files, "--links", "links", *checked) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"links of {expected}"
    assert run("check", *files, "--links", "links", *checked, "--count", expected) == 0
    other = "tokens" if expected == "words" else "words"
    assert run("check", *files, "--links", "links", *checked, "--count", other) == 3
    assert f"expected links of {other}, found links of {expected}" in capsys.readouterr().err


def test_links_of_another_text_or_unit_fit_nothing(text, tmp_path, capsys):
    assert run("align", *text, "-o", tmp_path / "links", "-q") == 0
    swapped = [text[1], text[0]]
    bpe = [path.with_name(f"{path.name}.bpe") for path in text]
    capsys.readouterr()
    assert run("check", *bpe, "--links", tmp_path / "links") == 3
    assert "% of the lines end in linked words" in capsys.readouterr().err
    assert run("check", *swapped, "--links", tmp_path / "links") == 3
    assert "is outside of" in capsys.readouterr().err
    write(tmp_path / "short", lines(tmp_path / "links")[:-1])
    assert run("check", *text, "--links", tmp_path / "short") == 3


def test_no_links_fit_every_text(text, tmp_path, capsys):
    write(tmp_path / "links", [""] * 40)
    assert run("check", *text, "--links", tmp_path / "links") == 0
    assert "links of words or tokens" in capsys.readouterr().out


@pytest.fixture
def wrong_links(text, tmp_path) -> Path:
    """Links of the words of the text."""
    assert run("align", *text, "-o", tmp_path / "links", "-q") == 0
    return tmp_path / "links"


COMMANDS = {
    "lexicon": ["lexicon", "SOURCE", "TARGET", "LINKS", "-o", "out"],
    "phrases": ["phrases", "SOURCE", "TARGET", "LINKS", "-o", "out"],
    "project": ["project", "SOURCE", "TARGET", "LINKS", "--tags", "SOURCE", "-o", "out"],
    "find": ["find", "le", "SOURCE", "TARGET", "--links", "LINKS", "--index", "out"],
    "convert": [
        "convert",
        "LINKS",
        "--from",
        "pharaoh",
        "--to",
        "giza",
        "--source",
        "SOURCE",
        "--target",
        "TARGET",
    ],
    "align": ["align", "SOURCE", "TARGET", "--expert", "LINKS", "-o", "out"],
    "expert of pieces": [
        *(
            "align",
            "SOURCE",
            "TARGET",
            "--pieces",
            "bpe",
            "--count",
            "pieces",
            "--expert",
            "LINKS",
            "-o",
            "out",
        )
    ],
    "train": ["train", "SOURCE", "TARGET", "--preset", "fast", "--expert", "LINKS", "-o", "out"],
    "report": ["report", "SOURCE", "TARGET", "-o", "out.html", "--gold", "LINKS"],
    "report --compare": ["report", "SOURCE", "TARGET", "-o", "out.html", "--compare", "other=LINKS"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_reject_links_of_the_words_of_sub_words(
    text, wrong_links, tmp_path, monkeypatch, capsys, command
):
    monkeypatch.chdir(tmp_path)
    bpe = [path.with_name(f"{path.name}.bpe") for path in text]
    for sides, code in ((text, 0), (bpe, 3)):
        if "--pieces" in COMMANDS[command] and code == 0:
            continue
        values = {"SOURCE": sides[0], "TARGET": sides[1], "LINKS": wrong_links}
        line = [str(values.get(word, word)) for word in COMMANDS[command]]
        line = [word.replace("=LINKS", f"={wrong_links}") for word in line]
        capsys.readouterr()
        assert run(*line) == code
        err = capsys.readouterr().err
        assert ("whole words instead of" in err) == (code == 3)
        assert "may not count the" not in err
        assert not Path("out").exists() or code == 0
        shutil.rmtree("out", ignore_errors=True)
        Path("out").unlink(missing_ok=True)


def test_commands_warn_of_links_of_larger_units(text, wrong_links, tmp_path, capsys):
    """Here the text consists of pieces without marks, such as the tokens of --tokens."""
    bare = []
    for path in text:
        cut = [line.replace("@@", "") for line in lines(path.with_name(f"{path.name}.bpe"))]
        bare.append(write(tmp_path / path.name, cut))
    for sides in (text, bare):
        capsys.readouterr()
        assert run("lexicon", *sides, wrong_links, "-o", tmp_path / "lex") == 0
        warning = "links may not count the words of this text: only"
        err = capsys.readouterr().err
        assert (warning in err) == (sides is bare)
        assert ("or the files of align --tokens PREFIX; " in err.replace("`", "")) == (sides is bare)


def test_gold_of_larger_units_is_named(text, wrong_links, tmp_path, capsys):
    raw = [write(tmp_path / path.name, [*lines(path), *lines(path)]) for path in text]
    bpe = [
        write(tmp_path / f"{path.name}.bpe", 2 * lines(path.with_name(f"{path.name}.bpe"))) for path in text
    ]
    gold = write(tmp_path / "gold", 2 * lines(wrong_links))
    for sides, code in ((raw, 0), (bpe, 3)):
        capsys.readouterr()
        model = tmp_path / f"model-{code}"
        assert run("train", *sides, "--gold", gold, "--preset", "fast", "-o", model) == code
        assert ("whole words instead of" in capsys.readouterr().err) == (code == 3)


def test_few_links_are_not_suspected(text, wrong_links, tmp_path, capsys):
    """A person may link a word of a line here and there."""
    links = [line.split(" ") for line in lines(wrong_links)]
    few = write(tmp_path / "few", [line[n % len(line)] for n, line in enumerate(links)])
    capsys.readouterr()
    assert run("align", *text, "--expert", few, "-o", tmp_path / "links") == 0
    assert "may count" not in capsys.readouterr().err


@pytest.mark.parametrize("is_swapped", [False, True])
def test_evaluate_warns_of_gold_of_another_unit(text, wrong_links, tmp_path, capsys, is_swapped):
    bpe = [path.with_name(f"{path.name}.bpe") for path in text]
    pieces = tmp_path / "pieces"
    assert run("align", *bpe, "--pieces", "bpe", "--count", "pieces", "-o", pieces, "-q") == 0
    files = [pieces, wrong_links] if is_swapped else [wrong_links, pieces]
    capsys.readouterr()
    for gold, is_warned in ((files[0], False), (files[1], True)):
        assert run("evaluate", files[0], gold) == 0
        assert ("may count different units" in capsys.readouterr().err) == is_warned
