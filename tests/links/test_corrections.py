"""Corrections of single pairs of a text, as gold links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nmtalign import DataError, evaluate, load, read_gold, train, write_report
from nmtalign.links.formats import format_gold
from nmtalign.links.gold import pair_fingerprint, read_corrections
from nmtalign.report.chosen_pairs import read_corpus
from nmtalign.text.bitext import SentencePair


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
        (line(pairs=10**9), "expected the number of pairs of a text, found 1000000000"),
        (line(pairs=-1), "expected the number of pairs of a text, found -1"),
        (line(pairs=10**300), "expected the number of pairs of a text, found 10{59}$"),
        (line(10**300), "expected a pair from 1 to 4, found 10{59}$"),
        (line(pairs=9), "expected a text of 4 pairs as before, found one of 9"),
    ],
)
def test_a_line_that_is_no_correction_is_named(tmp_path: Path, bad: str, why: str) -> None:
    file = tmp_path / "corrections.jsonl"
    file.write_text(line(1) + bad, encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        read_corrections(file)
    assert "corrections.jsonl, line 2" in str(caught.value)


def test_a_file_may_claim_many_pairs_and_takes_no_memory_for_them(tmp_path: Path) -> None:
    """Nor time: no loop over all of them would end while the test runs."""
    file, links = tmp_path / "corrections.jsonl", tmp_path / "links"
    file.write_text(line(2, pairs=999_999_999), encoding="utf-8")
    links.write_text("0-0\n0-0\n", encoding="utf-8")
    golds = read_gold(file)
    assert len(golds) == 999_999_999
    assert [format_gold(golds[n]) for n in (0, 1, -1)] == ["", "0-0 1p0", ""]
    assert [format_gold(gold) for gold in golds[:3]] == ["", "0-0 1p0", ""]
    with pytest.raises(IndexError):
        golds[999_999_999]
    with pytest.raises(DataError, match="the 999,999,999 pairs with gold links, found links for 2"):
        evaluate(links, file)
    with pytest.raises(DataError, match="found 2 in the bitext and 999,999,999 in "):
        list(read_corpus([SentencePair("a b", "c d")] * 2, gold=file))
    with pytest.raises(DataError, match="expected gold links for each of 2 pairs, found 999,999,999"):
        write_report(tmp_path / "r.html", load().align_batch([("the cat", "le chat")] * 2), gold=file)
    with pytest.raises(DataError, match="corrections of a text of 1 pairs, found 999,999,999"):
        train([("a b", "c d")], gold=file)
    with pytest.raises(DataError, match="the 999,999,999 pairs with gold links, found links for 2"):
        evaluate(links, golds)
    with pytest.raises(DataError, match="expected gold links for at most 1 pairs, found 999,999,999"):
        train([("a b", "c d")], gold=golds)


def test_words_that_differ_have_other_keys() -> None:
    pairs = [(["a", "b"], ["c"]), (["a"], ["b", "c"]), (["a b"], ["c", ""]), (["A", "b"], ["c"])]
    assert len({pair_fingerprint(*pair) for pair in pairs}) == len(pairs)
