"""Errors in files name the file, and the line or the pair."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from nmtalign.names import MethodName
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import run, write

METHODS = get_args(MethodName)

TOY = toy_bitext(60, seed=3)
OUTSIDE = "outside, line 5: link 99-0 is outside a pair of"
ADVICE = "positions count space-separated words; pass the text that was aligned"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bitext, and links that fit, of which one lies outside, or one is too few, or too many."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a", TOY.source)
    write(tmp_path / "b", TOY.target)
    links = [" ".join(f"{s}-{t}" for s, t in sorted(own)) for own in TOY.links]
    write(tmp_path / "links", links)
    write(tmp_path / "outside", [*links[:4], "99-0", *links[5:]])
    write(tmp_path / "shorter", [*links[1:4], "99-0", *links[5:]])
    write(tmp_path / "longer", [*TOY.target, "x"])
    write(tmp_path / "long", [*links, "0-0"])
    write(tmp_path / "empty", [""] * 60)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("report a b --gold outside -o r.html", OUTSIDE),
        ("report a b --gold outside --worst 60 -o r.html", OUTSIDE),
        ("report a b --gold outside --lines 1 -o r.html", OUTSIDE),
        ("report a b --compare other=outside -o r.html", OUTSIDE),
        ("report a b --compare other=outside --lines 1 -o r.html", OUTSIDE),
        ("heatmap a b --gold outside --lines 1 -o h.npz", OUTSIDE),
        ("train a b -o m --gold outside", OUTSIDE),
        ("train a b -o m --gold shorter", "shorter, line 4: link 99-0 is outside a pair of"),
        (
            "train a b -o m --gold shorter",
            "the 59 gold lines belong to the last of the 60 pairs, this one to pair 5",
        ),
        ("train a b -o m --gold long", "long: expected gold links for at most 60 pairs, found 61"),
        ("train a b -o m --gold empty", "empty: expected gold links of at least"),
        ("train a b -o m --expert outside", OUTSIDE),
        ("align a b --expert outside", OUTSIDE),
        ("align a b --expert outside --tokens t", OUTSIDE),
        ("lexicon a b outside", OUTSIDE),
        ("phrases a b outside", OUTSIDE),
        ("find w a b --links outside --index db", OUTSIDE),
        (
            "heatmap a longer --lines 1 -o h.npz",
            "expected the same number of lines in each file, found 60 in a and 61 in longer",
        ),
        (
            "heatmap a b --gold long --lines 1 -o h.npz",
            "expected the same number of lines in each file, found 60 in the",
        ),
        (
            "report a b --compare other=long --lines 1 -o r.html",
            "expected the same number of lines in each file, found 60",
        ),
        ("evaluate links long", "links: expected links for the 61 pairs with gold links, found links for 60"),
    ],
)
def test_links_that_do_not_fit(files: Path, capsys, line: str, says: str):
    assert run(*line.split()) == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert says in error
    assert ADVICE in error or says != OUTSIDE
    assert not [name for name in ("r.html", "h.npz", "m", "db") if (files / name).exists()]


def test_gold_links_outside_are_taken_as_none_where_errors_are_marked(files: Path, capsys):
    marked = "--on-error", "skip-marked", "--error-report", "bad"
    assert run("train", "a", "b", "-o", "m", "--gold", "outside", *marked) == 0
    assert "trained on the gold links of 59 pairs" in capsys.readouterr().err
    [bad] = (files / "bad").read_text(encoding="utf-8").splitlines()
    assert bad.startswith(f"5\t{OUTSIDE}")


def test_gold_links_of_pairs_that_are_too_long_are_not_used(files: Path, capsys):
    longest = max(len(line.split()) for pair in TOY.pairs for line in pair)
    pairs = sum(max(len(line.split()) for line in pair) < longest for pair in TOY.pairs)
    assert run("train", "a", "b", "-o", "m", "--gold", "links", "--max-length", str(longest - 1)) == 0
    assert f"trained on the gold links of {pairs} pairs" in capsys.readouterr().err


def test_gold_of_a_picture(files: Path, capsys):
    write(files / "pairs.tsv", [f"{source}\t{target}" for source, target in TOY.pairs])
    assert run("heatmap", "--pairs", "pairs.tsv", "--gold", "outside", "--lines", "5", "-o", "h.npz") == 3
    assert f"error: {OUTSIDE}" in capsys.readouterr().err


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [-3.0, -1.01, -1.000001, 0.5, 7.0])
def test_similarities_that_a_method_cannot_use(files: Path, capsys, method: str, value: float):
    write(files / "a", ["the big cat"] * 2)
    write(files / "b", ["le gros chat"] * 2)
    second = np.full((3, 3), value, np.float32)
    np.savez("s.npz", np.eye(3, dtype=np.float32), second)
    code = run("links-from", "a", "b", "--similarities", "s.npz", "--method", method)
    err = capsys.readouterr().err
    if method == "simalign-itermax" and value < -1.00001:
        assert code == 3
        assert f"error: s.npz: pair 2: expected similarities of at least -1.0, found {value:.6g}" in err
    else:
        assert code == 0


def test_more_arrays_than_pairs(files: Path, capsys):
    np.savez("s.npz", *[np.eye(2)] * 3)
    write(files / "a", ["the cat"])
    write(files / "b", ["le chat"])
    for option in ("--similarities", "--matrices"):
        assert run("links-from", "a", "b", option, "s.npz") == 3
        assert (
            "error: s.npz: expected arrays for the 1 pair of the text, found more" in capsys.readouterr().err
        )
