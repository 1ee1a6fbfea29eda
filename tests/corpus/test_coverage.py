"""Coverage: which words are counted, and when sides are few or swapped."""

from __future__ import annotations

import pytest

from nmtalign.corpus.coverage import FEW, Coverage, SideCoverage, coverage
from nmtalign.corpus.sides import encode_pairs

VOCABULARIES = {"the", "cat", "die"}, {"le", "chat"}


def counted(*pairs: tuple[str, str]) -> Coverage:
    return coverage(*encode_pairs([(s.split(), t.split()) for s, t in pairs]), VOCABULARIES)


def test_numbers_signs_and_names_of_both_sides_are_not_counted():
    found = counted(("the cat Zoé , 7", "le chat Zoé , 7"), ("the zebra -", "le zèbre -"))
    assert found == Coverage(SideCoverage(4, 3, 0), SideCoverage(4, 3, 0))


def test_a_known_word_counts_also_where_both_sides_have_it():
    assert counted(("die", "die")) == Coverage(SideCoverage(1, 1, 0), SideCoverage(1, 0, 1))


def test_counts_of_parts_add_up():
    pairs = ("the cat", "le chat"), ("the die", "le sort"), ("zebra", "zèbre")
    parts = [counted(pair) for pair in pairs]
    assert parts[0].joined(parts[1]).joined(parts[2]) == counted(*pairs)


@pytest.mark.parametrize("pairs", [[], [("", "")], [("7 , Zoé", "7 ; Zoé")]])
def test_a_text_without_words_is_neither_few_nor_swapped(pairs):
    found = counted(*pairs) if pairs else Coverage()
    assert (found.few, found.swapped, found.source.rate) == ({}, False, 1.0)


def test_the_share_decides_what_is_few():
    total = 1000
    at, below = (SideCoverage(total, int(FEW * total) - n, 0) for n in (0, 1))
    assert Coverage(at, below).few == {"target": below}


def test_swapped_takes_both_sides_and_enough_words():
    better, worse, unknown = SideCoverage(10, 5, 9), SideCoverage(10, 9, 5), SideCoverage(10, 1, 3)
    assert Coverage(better, better).swapped
    for sides in ((better, worse), (worse, better), (better, unknown), (unknown, better)):
        assert not Coverage(*sides).swapped
    assert not Coverage(SideCoverage(10, 7, 7), better).swapped


def test_words_of_both_sides_never_make_them_look_swapped():
    assert not coverage(*encode_pairs([(["a", "b"], ["a", "b"])]), ({"a"}, {"b"})).swapped
