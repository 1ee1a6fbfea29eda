"""The records that --lines chooses."""

from __future__ import annotations

from itertools import count

import pytest

from nmtalign.cli.records import pick_lines
from nmtalign.errors import DataError


class Numbers(tuple):
    """Numbers that are read one after the other, and never searched."""

    def __contains__(self, number):
        raise AssertionError("searched")


def test_lines_are_picked_in_one_pass():
    assert list(pick_lines(count(1), Numbers(range(3, 50_000, 2)))) == list(range(3, 50_000, 2))


def test_nothing_is_read_after_the_last_line():
    records = iter(range(1, 100))
    assert list(pick_lines(records, (2, 5))) == [2, 5]
    assert next(records) == 6


@pytest.mark.parametrize(("lines", "missing"), [((2, 5), 5), ((4,), 4), ((1, 2, 3, 7, 9), 7)])
def test_a_line_after_the_end_is_named(lines, missing):
    with pytest.raises(DataError, match=f"pair {missing} is out of range for 3 pairs"):
        list(pick_lines([1, 2, 3], lines))
