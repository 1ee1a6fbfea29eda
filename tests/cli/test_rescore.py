"""Options of train that make a rescorer, and the commands that use it."""

from __future__ import annotations

from pathlib import Path

import pytest

import nmtalign
from nmtalign.cli import main
from nmtalign.errors import DataError
from tests.aligner.toy_language import toy_bitext

TOY = toy_bitext(120)


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return TOY.write(tmp_path_factory.mktemp("bitext"))


@pytest.fixture(scope="module")
def model(bitext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rescored") / "model"
    options = "--rescore", "additive", "--rescore-inputs", "words", "-q"
    assert run("train", *bitext, "-o", folder, *options) == 0
    return folder


def gold_file(folder: Path, pairs: int) -> Path:
    lines = [" ".join(f"{s}-{t}" for s, t in sorted(links)) for links in TOY.links[-pairs:]]
    path = folder / "gold"
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_it_aligns_alone_and_is_drawn(bitext, model, tmp_path: Path):
    found = {}
    for name, options in {"all": (), "alone": ("--heads", "additive")}.items():
        outputs = "-o", tmp_path / "links", "--probabilities", tmp_path / name
        assert run("align", *bitext, "--model", model, *outputs, *options) == 0
        found[name] = (tmp_path / name).read_text()
    assert found["all"] != found["alone"]
    pair = TOY.source[0], TOY.target[0]
    picture = tmp_path / "additive.svg"
    assert run("heatmap", *pair, "--model", model, "--heads", "additive", "-o", picture) == 0
    assert TOY.source[0].split()[0] in picture.read_text()
    assert run("heatmap", *pair, "--model", model, "--view", "heads", "-o", tmp_path / "heads.svg") == 0
    assert "additive" in (tmp_path / "heads.svg").read_text()


def test_what_was_learned_over_words_is_read_as_bahdanau(bitext, model, tmp_path: Path):
    vectors = model / "bahdanau"
    options = "--score", "bahdanau", "--bahdanau", vectors / "weights.npz", "--positions", "none"
    out = tmp_path / "links"
    assert run("align", *bitext, "--vectors", vectors, *options, "-o", out) == 0
    found = [
        {tuple(map(int, link.split("-"))) for link in line.split()} for line in out.read_text().splitlines()
    ]
    right = sum(len(a & b) for a, b in zip(found, TOY.links, strict=True))
    assert 2 * right > 0.9 * sum(len(a) + len(b) for a, b in zip(found, TOY.links, strict=True))


def test_gold_links_teach(bitext, tmp_path: Path, capsys):
    folder = tmp_path / "model"
    assert run("train", *bitext, "-o", folder, "--gold", gold_file(tmp_path, 60), "--preset", "fast") == 0
    assert "rescorer: taught by the gold links of 60 pairs" in capsys.readouterr().err
    assert run("align", *bitext, "--model", folder, "-o", tmp_path / "links", "-v") == 0
    assert "heads=lexicon,additive " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--rescore-inputs", "words"), 2, "add --rescore additive"),
        (("--rescore", "luong"), 2, "'additive', 'scaled-dot'"),
        (("--rescore", "scaled-dot", "--preset", "fast"), 2, "looks at word vectors; take --preset default"),
    ],
)
def test_options_that_make_no_sense(bitext, tmp_path: Path, capsys, options, code, message):
    assert run("train", *bitext, "-o", tmp_path / "model", *options) == code
    assert message in capsys.readouterr().err


def test_gold_that_cannot_teach(bitext, tmp_path: Path, capsys):
    few = gold_file(tmp_path, 30)
    assert run("train", *bitext, "-o", tmp_path / "model", "--gold", few) == 3
    assert "at least 50 pairs of at most 128 words, found 30" in capsys.readouterr().err
    assert run("train", *bitext, "-o", tmp_path / "model", "--gold", few, "--rescore", "additive") == 2
    assert "leave --rescore out" in capsys.readouterr().err
    empty = tmp_path / "gold"
    empty.write_text("")
    assert run("train", *bitext, "-o", tmp_path / "model", "--gold", empty) == 3
    assert "gold: expected gold links, found an empty file" in capsys.readouterr().err
    with pytest.raises(DataError, match="gold: expected gold links, found an empty file"):
        nmtalign.train(TOY.pairs, gold=empty)


def test_heads_that_are_not_there(bitext, model, tmp_path: Path, capsys):
    align = "align", *bitext, "--model", model, "-o", tmp_path / "links"
    assert run(*align, "--heads", "scaled-dot") == 2
    assert "this model has the heads lexicon,spectral,additive, not scaled-dot" in capsys.readouterr().err
    assert run(*align, "--heads", "lexicon,additive") == 2
    assert "looks at the vectors of the head spectral" in capsys.readouterr().err
