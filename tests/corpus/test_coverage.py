"""Coverage: which words are counted, and when sides are few or swapped."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.corpus import sections as sections_module
from nmtalign.corpus.coverage import MIN_KNOWN_RATE, Coverage, SideCoverage, foreign_pairs, measure_coverage
from nmtalign.corpus.sides import encode_both_sides
from nmtalign.corpus.text import encode_text

VOCABULARIES = {"the", "cat", "die"}, {"le", "chat"}


def counted(*pairs: tuple[str, str]) -> Coverage:
    return measure_coverage(*encode_both_sides([(s.split(), t.split()) for s, t in pairs]), VOCABULARIES)


def test_numbers_signs_and_names_of_both_sides_are_not_counted():
    found = counted(("the cat Zoé , 7", "le chat Zoé , 7"), ("the zebra -", "le zèbre -"))
    assert found == Coverage(SideCoverage(4, 3, 0), SideCoverage(4, 3, 0), 2)


def test_every_word_counts_where_each_needs_a_vector():
    sides = encode_both_sides([(["the", "cat", "Zoé", ",", "7"], ["le", "chat", "Zoé", ",", "7"])])
    found = measure_coverage(*sides, VOCABULARIES, every_word=True)
    assert found == Coverage(SideCoverage(5, 2, 0), SideCoverage(5, 2, 0), 1)


def test_a_known_word_counts_also_where_both_sides_have_it():
    assert counted(("die", "die")) == Coverage(SideCoverage(1, 1, 0), SideCoverage(1, 0, 1), 1, 1)


def test_counts_of_parts_add_up():
    pairs = ("the cat", "le chat"), ("the die", "le sort"), ("zebra", "zèbre")
    parts = [counted(pair) for pair in pairs]
    assert parts[0].joined(parts[1]).joined(parts[2]) == counted(*pairs)


PAIR = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)


@given(st.lists(st.tuples(PAIR, PAIR), max_size=6))
def test_copies_are_pairs_whose_sides_are_equal(pairs):
    expected = sum(source == target != [] for source, target in pairs)
    assert measure_coverage(*encode_both_sides(pairs), VOCABULARIES).copies == expected


def test_a_file_given_twice_is_told():
    for copies, told in ((25, False), (26, True)):
        found = counted(*[("the cat", "the cat")] * copies, *[("the cat", "le chat")] * (50 - copies))
        assert ("pairs have the same words on both sides" in found.warning) is told


def pair_of_pieces(source: list[str], target: list[str]) -> Coverage:
    """Return the coverage of a pair that is cut into pieces of about ten words, after 49 short ones."""
    pairs = [(["the"], ["le"])] * 49 + [(source, target)]
    with mock.patch.multiple(sections_module, MAX_UNSPLIT_WORDS=10, CORE_WORDS=5, MARGIN_WORDS=2):
        text = encode_text(pairs)
    assert len(text.sections.pair_of_section) > len(pairs) + 9
    return measure_coverage(text.source, text.target, VOCABULARIES, text.sections)


def test_a_long_pair_counts_once_however_many_pieces_it_has():
    words = [f"w{n}" for n in range(1000)]
    assert pair_of_pieces(words, words)[2:] == (50, 1)
    assert pair_of_pieces(words, [*words[:-1], "x"])[2:] == (50, 0), "but for a word the pieces are copies"
    assert pair_of_pieces(words, words).warning == ""


@pytest.mark.parametrize("pairs", [[], [("", "")], [("7 , Zoé", "7 ; Zoé")]])
def test_a_text_without_words_is_neither_few_nor_swapped(pairs):
    found = counted(*pairs) if pairs else Coverage()
    assert (found.warning, found.swapped, found.source.rate) == ("", False, 1.0)


def test_the_share_decides_what_is_few():
    total = 1000
    at, below = (SideCoverage(total, int(MIN_KNOWN_RATE * total) - n, 0) for n in (0, 1))
    assert Coverage(at, below).warning.startswith("only 44.9 % of the target words are known")


def test_swapped_takes_both_sides_and_enough_words():
    better, worse, unknown = SideCoverage(10, 5, 9), SideCoverage(10, 9, 5), SideCoverage(10, 1, 3)
    assert Coverage(better, better).swapped
    for sides in ((better, worse), (worse, better), (better, unknown), (unknown, better)):
        assert not Coverage(*sides).swapped
    assert not Coverage(SideCoverage(10, 7, 7), better).swapped


def test_words_of_both_sides_never_make_them_look_swapped():
    assert not measure_coverage(*encode_both_sides([(["a", "b"], ["a", "b"])]), ({"a"}, {"b"})).swapped


WORDS = st.lists(st.sampled_from(["the", "cat", "le", "chat", "Rex", "Hund", "7", ".", "x1"]), max_size=4)


def naive_foreign(side, other, own) -> bool:
    words = [word for word in side if any(map(str.isalpha, word))]
    return not any(word in own for word in words) and any(word not in other for word in words)


@pytest.mark.parametrize("longest", [256, 2])
@given(pairs=st.lists(st.tuples(WORDS, WORDS), max_size=6))
def test_foreign_pairs_are_those_of_loops_also_where_pairs_are_cut(longest, pairs):
    with mock.patch.multiple(sections_module, MAX_UNSPLIT_WORDS=longest, CORE_WORDS=1, MARGIN_WORDS=1):
        text = encode_text(pairs)
    own = {"the", "cat", ".", "7"}, {"le", "chat", "."}
    expected = [naive_foreign(s, t, own[0]) or naive_foreign(t, s, own[1]) for s, t in pairs]
    assert foreign_pairs(text, own).tolist() == expected
