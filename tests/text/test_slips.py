"""Lines that slip are found where they begin to, whatever the number of lines that are missing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmtalign import DataError, read_bitext
from nmtalign.text import bitext
from nmtalign.text.slips import LineGap, LineRun, describe_lines, find_line_gaps, find_line_runs

WORDS = 120


def text_of_two_languages(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return invented lines: each word of one language has one translation in the other."""
    generator = random.Random(seed)
    source, target = [], []
    for _ in range(count):
        numbers = [generator.randrange(WORDS) for _ in range(generator.randint(3, 12))]
        source.append(" ".join(f"wort{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in numbers))
        target.append(" ".join(f"{chr(97 + n // 26)}mo{chr(97 + n % 26)}" for n in reversed(numbers)))
    return source, target


SOURCE, TARGET = text_of_two_languages(300)


def runs(source: list[str], target: list[str]) -> list[tuple[int, int, int]]:
    """Return the runs of lines; not the empty one after the text."""
    found = find_line_runs(source, target)
    return [(run.source.start, run.source.stop, run.shift) for run in found if run.source]


def test_an_honest_text_is_one_run():
    assert runs(SOURCE, TARGET) == [(0, 300, 0)]


@pytest.mark.parametrize("place", [0, 1, 40, 150, 260])
@pytest.mark.parametrize("missing", [1, 3, 30])
def test_missing_lines_of_either_side_are_located(place, missing):
    fewer = TARGET[:place] + TARGET[place + missing :]
    before = [(0, place, 0)] if place >= 10 else []  # fewer lines are not worth a change
    expected = [*before, (place + missing, 300, -missing)]
    found = runs(SOURCE, fewer)
    assert found[-1][1:] == expected[-1][1:]
    assert abs(found[-1][0] - expected[-1][0]) <= (3 if before else 10)
    mirrored = runs(TARGET[:place] + TARGET[place + missing :], SOURCE)
    assert mirrored[-1][2] == missing


def test_a_shifted_block_begins_and_ends():
    rotated = TARGET[:100] + TARGET[101:150] + TARGET[100:101] + TARGET[150:]
    assert runs(SOURCE, rotated) == [(0, 100, 0), (101, 150, -1), (150, 300, 0)]


@pytest.mark.parametrize(("place", "copied"), [(60, 230), (200, 60), (100, 200)])
def test_a_copied_block_does_not_take_the_partners_of_the_lines_between(place, copied):
    source = [*SOURCE[:place], *SOURCE[copied : copied + 40], *SOURCE[place + 40 :]]
    assert runs(source, TARGET) == [(0, place, 0), (place + 40, 300, 0)]


def test_a_text_that_is_shifted_from_its_first_line():
    assert runs(SOURCE, TARGET[1:] + TARGET[:1]) == [(1, 300, -1)]


def test_partners_rise_and_exist():
    generator = random.Random(1)
    for seed in range(5):
        source, target = text_of_two_languages(80, seed)
        target = [line for line in target if generator.random() < 0.7]
        done = 0
        for run in find_line_runs(source, target):
            assert done <= run.target.start <= run.target.stop <= len(target)
            assert run.source.stop <= len(source)
            done = run.target.stop


def test_gaps_are_the_lines_of_no_run():
    found = [LineRun(range(2, 5), 0), LineRun(range(5, 9), 3, earlier=1, later=9)]
    assert find_line_gaps(found, 10, 12) == [
        LineGap(range(2), range(2), range(2), range(2)),
        LineGap(range(5, 5), range(5, 8), range(5, 5), range(4, 12)),
        LineGap(range(9, 10), range(12, 12), range(9, 10), range(12, 12)),
    ]


def test_few_lines_are_one_run_and_may_lack_any_line():
    assert find_line_runs(["a", "b"], ["a", "b"]) == [LineRun(range(2), 0)]
    found = find_line_runs(["a", "b"], ["a"])
    assert [gap.source_among for gap in find_line_gaps(found, 2, 1)] == [range(2)]


@pytest.mark.parametrize("place", [0, 5, 15, 20])
def test_a_line_too_many_is_located_in_a_short_text(place):
    source, target = SOURCE[:20], [*TARGET[:place], "zu viel", *TARGET[place:20]]
    (gap,) = find_line_gaps(find_line_runs(source, target), 20, 21)
    assert not gap.source
    assert place in range(gap.target_among.start - 2, gap.target_among.stop + 2)


def test_a_place_between_lines_that_tell_nothing_is_uncertain():
    blank = range(40, 60)
    source = ["" if n in blank else line for n, line in enumerate(SOURCE[:100])]
    target = ["" if n in blank else line for n, line in enumerate(TARGET[:100])]
    target.insert(50, "")
    run = find_line_runs(source, target)[-1]
    assert (run.source.stop, run.shift) == (100, 1)
    assert run.starts.start <= 41
    assert run.starts.stop >= 59
    (gap,) = find_line_gaps([LineRun(range(run.source.start), 0), run], 100, 101)
    assert len(gap.target) == 1
    assert len(gap.target_among) >= 18


def test_lines_are_described():
    assert describe_lines(range(6, 7)) == "line 7"
    assert describe_lines(range(6, 9)) == "lines 7 to 9"


def write(tmp_path, source: list[str], target: list[str]) -> tuple[str, str]:
    paths = str(tmp_path / "a.en"), str(tmp_path / "a.fr")
    for path, lines in zip(paths, (source, target), strict=True):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    return paths


def test_the_error_of_unequal_files_names_the_line(tmp_path):
    source, target = write(tmp_path, SOURCE, [*TARGET[:200], "zu viel", *TARGET[200:]])
    with pytest.raises(DataError, match=rf"seems that line 201 of {target} has no partner; `nmtalign check"):
        list(read_bitext(source, target))


def test_the_error_of_several_gaps_counts_them(tmp_path):
    paths = write(tmp_path, SOURCE[:90] + SOURCE[93:], TARGET[:200] + TARGET[201:])
    with pytest.raises(DataError, match=r"lines 91 to 93 of .*a.fr have no partner, and 1 gap further on"):
        list(read_bitext(*paths))


def test_the_error_of_few_lines_names_the_command(tmp_path):
    paths = write(tmp_path, ["a", "b"], ["c"])
    with pytest.raises(DataError, match=r"one of the lines 1 to 2 of .*a.en has no partner; `nmtalign check"):
        list(read_bitext(*paths))


def test_files_that_are_too_long_to_be_searched_are_not_read_again_to_their_end(tmp_path, monkeypatch):
    source, target = tmp_path / "a.en", tmp_path / "a.fr"
    source.write_text("a\n" * 100)
    target.write_text("b\n" * 99)
    read = []

    def counted_lines(path: Path, encoding: str) -> Iterator[str]:
        for _ in range(100):
            read.append(path)
            yield "a"

    monkeypatch.setattr("nmtalign.text.bitext.try_lines", counted_lines)
    monkeypatch.setattr("nmtalign.text.slips.MAX_LINES_FOR_SLIPS", 5)
    assert bitext._advice_on_unequal_lines(source, target, "utf-8").startswith("`nmtalign check")
    assert len(read) == 6
