"""Corrections of single pairs of a text, as gold links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nmtalign import DataError, read_gold
from nmtalign.links.formats import format_gold, read_corrections, text_key


def line(pair: int = 2, at: str = "2026-05-04T12:00:00Z", **others: Any) -> str:
    record = {
        "pair": pair,
        "pairs": 4,
        "text": "k",
        "links": [[0, 0]],
        "possible": [[1, 0]],
        "by": "",
        "at": at,
    }
    return json.dumps(record | others) + "\n"


def test_the_latest_correction_of_a_pair_is_its_gold_and_others_have_none(tmp_path: Path) -> None:
    file = tmp_path / "corrections.jsonl"
    newer = line(2, "2026-05-05T08:00:00Z", links=[[3, 3], [0, 0]], possible=[])
    file.write_text(newer + line(4, by="Ann") + line(2), encoding="utf-8")
    assert [format_gold(gold) for gold in read_gold(file)] == ["", "0-0 3-3", "", "0-0 1p0"]
    assert {n: one.by for n, one in read_corrections(file).items()} == {2: "", 4: "Ann"}


def test_of_two_corrections_of_the_same_time_the_later_line_counts(tmp_path: Path) -> None:
    file = tmp_path / "corrections.jsonl"
    file.write_text(line(by="Ann") + line(by="Ben"), encoding="utf-8")
    assert read_corrections(file)[2].by == "Ben"


def test_a_review_that_leaves_no_link_counts(tmp_path: Path) -> None:
    file = tmp_path / "corrections.jsonl"
    file.write_text(line(links=[], possible=[]), encoding="utf-8")
    assert list(read_corrections(file)) == [2]
    assert len(list(read_gold(file))) == 4


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("0-0 1-1\n", "expected JSON"),
        ('{"links": [[0, 0]]}\n', "expected a correction with pair, pairs, text, by, at and links"),
        (line(5), "expected a pair from 1 to 4, found 5"),
        (line(0), "expected a pair from 1 to 4, found 0"),
        (line(links=[[0]]), "expected an object like"),
        (line(pairs=True), "expected a correction"),
        (line(pairs=9), "expected a text of 4 pairs as before, found one of 9"),
    ],
)
def test_a_line_that_is_no_correction_is_named(tmp_path: Path, bad: str, why: str) -> None:
    file = tmp_path / "corrections.jsonl"
    file.write_text(line(1) + bad, encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        read_corrections(file)
    assert "corrections.jsonl, line 2" in str(caught.value)


def test_words_that_differ_have_other_keys() -> None:
    pairs = [(["a", "b"], ["c"]), (["a"], ["b", "c"]), (["a b"], ["c", ""]), (["A", "b"], ["c"])]
    assert len({text_key(*pair) for pair in pairs}) == len(pairs)
