"""Gold links that may be wrong: `check --gold`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import nmtalign as na
from nmtalign.links.gold import pair_fingerprint
from tests.cli.running import run

PAIRS = [("the black cat", "le chat noir"), ("a dog", "un chien"), ("the house", "la maison"), ("", "")] * 3
RIGHT = ["0-0 1-2 2-1", "0-0 1-1", "0-0 1-1", ""] * 3


@pytest.fixture
def text(tmp_path) -> list[str]:
    for side, name in enumerate(("en", "fr")):
        lines = "".join(f"{pair[side]}\n" for pair in PAIRS)
        (tmp_path / f"text.{name}").write_text(lines, encoding="utf-8")
    return [str(tmp_path / "text.en"), str(tmp_path / "text.fr")]  # which the bundled model knows


def gold(tmp_path: Path, changed: dict[int, str]) -> Path:
    lines = [changed.get(n, line) for n, line in enumerate(RIGHT)]
    path = tmp_path / "gold"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_mistakes_of_people_are_listed_the_most_doubtful_first(text, tmp_path, capsys):
    wrong = gold(tmp_path, {1: "0-0 0-1", 8: "0-0 1-2"})
    assert run("check", *text, "--gold", wrong, "-o", tmp_path / "doubts.tsv") == 0
    told = "3 gold links in 2 lines may be wrong, of 12 lines with gold links; listed in"
    assert told in capsys.readouterr().err
    rows = rows_of(tmp_path / "doubts.tsv")
    found = {
        (row["line"], row["change"], row["link"], row["source_word"], row["target_word"]) for row in rows
    }
    assert found == {
        ("2", "add", "1-1", "dog", "chien"),
        ("2", "remove", "0-1", "a", "chien"),
        ("9", "add", "2-1", "cat", "chat"),
    }
    doubts = [float(row["doubt"]) for row in rows]
    assert doubts == sorted(doubts, reverse=True)
    assert min(doubts) >= 0.9
    compared = na.load().align_batch(PAIRS).compare(wrong).sort_values("doubt", ascending=False)
    assert [f"{doubt:.3f}" for doubt in compared["doubt"].head(3)] == [row["doubt"] for row in rows]
    assert {(row["source"], row["target"]) for row in rows} == {PAIRS[1], PAIRS[0]}
    model = "--model", "en_fr_model"
    assert run("check", *text, *model, "--gold", gold(tmp_path, {}), "-o", tmp_path / "none.tsv") == 0
    assert rows_of(tmp_path / "none.tsv") == []


def test_corrections_are_checked_where_somebody_looked(text, tmp_path, capsys):
    words = [side.split() for side in PAIRS[1]]
    record = {"pair": 2, "pairs": 12, "text": pair_fingerprint(*words), "links": [[0, 1]], "by": "", "at": ""}
    path = tmp_path / "corrections.jsonl"
    path.write_text(json.dumps(record) + "\n")
    assert run("check", *text, "--gold", path, "-o", tmp_path / "doubts.tsv") == 0
    assert {row["line"] for row in rows_of(tmp_path / "doubts.tsv")} == {"2"}
    path.write_text(json.dumps(record | {"text": "of others"}) + "\n")
    assert run("check", *text, "--gold", path) == 3
    assert "pair 2: the correction was made for other words" in capsys.readouterr().err


def test_gold_of_another_text_is_refused_with_its_line(text, tmp_path, capsys):
    outside = gold(tmp_path, {5: "0-0 4-4"})
    assert run("check", *text, "--gold", outside) == 3
    assert (
        "gold, line 6: link 4-4 is outside a pair of 2 source and 2 target words" in capsys.readouterr().err
    )
    skipped = "--on-error", "skip-marked", "--error-report", tmp_path / "bad"
    assert run("check", *text, "--gold", outside, *skipped, "-o", tmp_path / "doubts.tsv") == 0
    assert (tmp_path / "bad").read_text().startswith("6\t")
    assert "of 11 lines with gold links" in capsys.readouterr().err
    short = tmp_path / "short"
    short.write_text("0-0\n")
    assert run("check", *text, "--gold", short) == 3
    assert "found 12 in" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [("--strict",), ("--langs", "en,fr"), ("--links", "gold"), ("--tokenizer", "icu")]
)
def test_options_of_other_checks_do_not_go_with_gold(text, tmp_path, options):
    path = gold(tmp_path, {})
    options = [path if option == "gold" else option for option in options]
    assert run("check", *text, "--gold", path, *options) == 2
