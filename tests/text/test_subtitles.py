"""Subtitles: cues are pairs by their numbers, or by their times."""

from __future__ import annotations

import warnings

import pytest

from nmtalign import DataError, read_bitext

ENGLISH = """1
00:00:01,000 --> 00:00:02,500
<i>Where is</i>
the cat?

2
00:00:03,000 --> 00:00:04,000 X1:10 X2:20
{\\an8}In the house.

3
00:00:05,000 --> 00:00:07,000
It sleeps & eats.
"""
FRENCH = """WEBVTT - French

NOTE a comment
of two lines

STYLE
::cue { color: red }

first
00:01.000 --> 00:02.500 align:start
<v Ann>Où est <00:01.500><c>le chat ?</c>

00:03.000 --> 00:04.000
Dans la maison.

00:00:05.000 --> 00:00:07.000
Il dort &amp; mange.
"""
PAIRS = [
    ("Where is the cat?", "Où est le chat ?"),
    ("In the house.", "Dans la maison."),
    ("It sleeps & eats.", "Il dort & mange."),
]


def pairs(tmp_path, source: str, target: str) -> list[tuple[str, str]]:
    (tmp_path / "a.srt").write_text(source, encoding="utf-8")
    (tmp_path / "b.vtt").write_text(target, encoding="utf-8")
    return [tuple(pair) for pair in read_bitext(tmp_path / "a.srt", tmp_path / "b.vtt")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_cues_are_paired_by_their_numbers(end, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pairs(tmp_path, ENGLISH.replace("\n", end), FRENCH.replace("\n", end)) == PAIRS


def test_clocks_may_differ(tmp_path):
    later = FRENCH.replace("00:0", "10:0").replace("10:00:", "10:")
    assert pairs(tmp_path, ENGLISH, later) == PAIRS


def test_other_numbers_are_paired_by_their_times(tmp_path):
    split = FRENCH.replace(
        "00:00:05.000 --> 00:00:07.000\nIl dort &amp; mange.",
        "00:05.000 --> 00:06.000\nIl dort\n\n00:06.000 --> 00:07.000\n&amp; mange.\n\n"
        "00:09.000 --> 00:10.000\nFin",
    )
    with pytest.warns(UserWarning, match="3 and 5 cues make 4 pairs by their times, 1 of them with an empty"):
        assert pairs(tmp_path, ENGLISH, split) == [*PAIRS, ("", "Fin")]


def test_a_missing_cue_leaves_an_empty_side(tmp_path):
    fewer = ENGLISH.replace("2\n00:00:03,000 --> 00:00:04,000 X1:10 X2:20\n{\\an8}In the house.\n\n", "")
    with pytest.warns(UserWarning, match="2 and 3 cues"):
        assert pairs(tmp_path, fewer, FRENCH) == [PAIRS[0], ("", PAIRS[1][1]), PAIRS[2]]


def test_a_block_without_times_is_an_error_in_its_place(tmp_path):
    broken = ENGLISH.replace("00:00:03,000 --> 00:00:04,000 X1:10 X2:20", "00:00:03,000 > 00:00:04,000")
    with pytest.raises(DataError, match=r"a.srt, line 6: expected the times of a cue"):
        pairs(tmp_path, broken, FRENCH)
    errors: list[DataError] = []
    found = read_bitext(tmp_path / "a.srt", tmp_path / "b.vtt", on_error=errors.append)
    assert [tuple(pair) for pair in found] == [PAIRS[0], ("", ""), PAIRS[2]]
    assert len(errors) == 1


def test_times_inside_a_block_begin_another_cue(tmp_path):
    """A blank line is missing; a number that is the next one belongs to the cue after it."""
    joined = ENGLISH.replace("cat?\n\n2\n", "cat?\n2\n")
    assert pairs(tmp_path, joined, FRENCH.replace("le chat ?</c>\n\n", "le chat ?</c>\n")) == PAIRS
    room = "1\n00:00:01,000 --> 00:00:02,000\nRoom\n101\n"
    assert pairs(tmp_path, room, "WEBVTT\n\n00:01.000 --> 00:02.000\nChambre\n101\n") == [
        ("Room 101", "Chambre 101")
    ]
    broken = joined.replace("00:00:03,000 --> 00:00:04,000 X1:10 X2:20", "00:00:03,000 --> 4")
    with pytest.raises(DataError, match=r"a.srt, line 6: expected the times of a cue, found '00:00:03,000"):
        pairs(tmp_path, broken, FRENCH)


EVENT = "Dialogue: 0,{},{},Default,{}\n"
ASS = (
    "[Script Info]\nTitle: x\n\n[Events]\nFormat: Layer, Start, End, Style, Text\n"
    + EVENT.format("0:00:03.00", "0:00:04.00", "{\\i1}Dans{\\i0} la\\Nmaison.")
    + "Comment: 0,0:00:02.00,0:00:04.00,Default,no\n"
    + EVENT.format("0:00:01.00", "0:00:02.50", "Où est le chat ?")
    + EVENT.format("0:00:01.00", "0:00:02.50", "{\\p1}m 0 0 l 1 1")
    + EVENT.format("0:00:05.00", "0:00:07.00", "Il dort & mange.")
)


@pytest.mark.parametrize("name", ["b.ass", "b.srt"])
def test_dialogue_of_substation_is_in_the_order_of_its_times(name, tmp_path):
    (tmp_path / "a.srt").write_text(ENGLISH, encoding="utf-8")
    (tmp_path / name).write_text(ASS, encoding="utf-8-sig")
    assert list(read_bitext(tmp_path / "a.srt", tmp_path / name)) == PAIRS
    (tmp_path / name).write_text(ASS.replace("0:00:05.00", "5 s"), encoding="utf-8")
    with pytest.raises(DataError, match=rf"{name}, line 10: expected the fields Start, End and"):
        list(read_bitext(tmp_path / "a.srt", tmp_path / name))


def test_a_long_character_reference_is_no_error(tmp_path):
    text = ENGLISH.replace("cat?", f"&#{'1' * 5000};cat?")
    assert pairs(tmp_path, text, FRENCH) == PAIRS
