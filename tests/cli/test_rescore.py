"""Gold links that teach a rescorer, and the commands that use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nmtalign
from nmtalign.errors import DataError
from nmtalign.links.gold import pair_fingerprint
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import run

TOY = toy_bitext(120)


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return TOY.write(tmp_path_factory.mktemp("bitext"))


@pytest.fixture(scope="module")
def model(bitext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rescored") / "model"
    assert run("train", *bitext, "-o", folder, "--gold", gold_file(folder.parent, 60), "-q") == 0
    return folder


def gold_file(folder: Path, pairs: int) -> Path:
    lines = [" ".join(f"{s}-{t}" for s, t in sorted(links)) for links in TOY.links[-pairs:]]
    path = folder / "gold"
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_it_rescores_unless_scorers_are_chosen_and_is_drawn(bitext, model, tmp_path: Path):
    found = {}
    for name, options in {"all": (), "plain": ("--scorers", "lexicon,spectral")}.items():
        outputs = "-o", tmp_path / "links", "--probabilities", tmp_path / name
        assert run("align", *bitext, "--model", model, *outputs, *options) == 0
        found[name] = (tmp_path / name).read_text()
    assert found["all"] != found["plain"]
    other = tmp_path / "other.txt"  # of a model that was taught nothing
    assert run("train", *bitext, "-o", tmp_path / "other", "-q", "--probabilities", other) == 0
    assert found["plain"] == other.read_text()
    pair = TOY.source[0], TOY.target[0]
    assert run("heatmap", *pair, "--model", model, "-o", tmp_path / "all.svg") == 0
    assert TOY.source[0].split()[0] in (tmp_path / "all.svg").read_text()
    assert run("heatmap", *pair, "--model", model, "--values", "parts", "-o", tmp_path / "heads.svg") == 0
    assert "spectral" in (tmp_path / "heads.svg").read_text()


def test_gold_links_teach(bitext, tmp_path: Path, capsys):
    folder = tmp_path / "model"
    assert run("train", *bitext, "-o", folder, "--gold", gold_file(tmp_path, 60), "--preset", "fast") == 0
    assert "rescorer: trained on the gold links of 60 pairs" in capsys.readouterr().err
    assert run("align", *bitext, "--model", folder, "-o", tmp_path / "links", "-v") == 0
    said = capsys.readouterr().err
    assert "scorers=lexicon " in said
    assert "positions=hmm rescored=gold " in said


def test_gold_that_cannot_teach(bitext, tmp_path: Path, capsys):
    few = gold_file(tmp_path, 30)
    assert run("train", *bitext, "-o", tmp_path / "model", "--gold", few) == 3
    assert "at least 50 pairs of at most 128 words, found 30" in capsys.readouterr().err
    empty = tmp_path / "gold"
    empty.write_text("")
    assert run("train", *bitext, "-o", tmp_path / "model", "--gold", empty) == 3
    assert "gold: expected gold links, found an empty file" in capsys.readouterr().err
    with pytest.raises(DataError, match="gold: expected gold links, found an empty file"):
        nmtalign.train(TOY.pairs, gold=empty)


def corrections(folder: Path, **changed: object) -> Path:
    """Write corrections of 60 pairs of the toy text; the fifth line is changed."""
    path = folder / "corrections.jsonl"
    sides = ([line.split() for line in side] for side in (TOY.source, TOY.target))
    records = [
        {
            "pair": n,
            "pairs": 120,
            "text": pair_fingerprint(*words),
            "links": sorted(links),
            "by": "",
            "at": "2026",
        }
        for n, words, links in zip(range(1, 61), zip(*sides, strict=True), TOY.links, strict=False)
    ]
    records[4] |= changed
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_corrections_of_this_text_teach_and_those_of_another_are_refused(bitext, tmp_path: Path, capsys):
    command = "train", *bitext, "-o", tmp_path / "model", "--preset", "fast", "--gold"
    assert run(*command, corrections(tmp_path)) == 0
    assert "rescorer: trained on the gold links of 60 pairs" in capsys.readouterr().err
    wrong = corrections(tmp_path, text="of others", links=[])
    assert run(*command, wrong, "--force") == 3
    told = "corrections.jsonl: pair 5: the correction was made for other words"
    assert told in capsys.readouterr().err
    with pytest.raises(DataError, match=told):
        nmtalign.train(TOY.pairs, gold=wrong)
    words = [(source.split(), target.split()) for source, target in TOY.pairs]
    with pytest.raises(DataError, match=told):
        nmtalign.train(words, gold=wrong)
    with pytest.raises(DataError, match="expected corrections of a text of 121 pairs, found 120"):
        nmtalign.train([*TOY.pairs, ("new", "neu")], gold=corrections(tmp_path))


def test_scorers_that_are_not_there(bitext, model, tmp_path: Path, capsys):
    align = "align", *bitext, "--model", model, "-o", tmp_path / "links"
    assert run(*align, "--scorers", "scaled-dot") == 2
    assert "this aligner has the scorers lexicon,spectral, not scaled-dot" in capsys.readouterr().err
