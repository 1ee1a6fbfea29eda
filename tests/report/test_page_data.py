"""The columns of a page are its pairs: rows that are made of them are the rows that they were made of."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from nmtalign import AlignedPair, Alignment, AlignmentMatrix
from nmtalign.report.page_content import SamplePair
from nmtalign.report.page_data import pairs_in_columns, report_data
from tests.report.sample_pairs import CAT, aligned_pair, corpus, inflated, rows_of


def plain_pair(weights: np.ndarray) -> AlignedPair:
    target, source = ([f"w{n}" for n in range(length)] for length in weights.shape)
    return AlignedPair(
        Alignment(frozenset(), len(source), len(target)), AlignmentMatrix(weights, source, target)
    )


PAIRS = {
    "of an aligner": corpus(5, 12),
    "with parts and gold": [replace(CAT, parts={"head 3": CAT.aligned.forward.T}), replace(CAT, line=18)],
    "without words": [
        SamplePair(1, plain_pair(np.zeros((2, 0)))),
        SamplePair(2, plain_pair(np.zeros((0, 0)))),
        SamplePair(3, aligned_pair([""], ["", "a b"])),
    ],
    "whose best weights are rounded to equal levels": [
        SamplePair(1, plain_pair(np.array([[0.51, 0.5101, 0.0], [0.3, 0.3, 0.3], [-2.0, 1.0, 0.9999]])))
    ],
}


@pytest.mark.parametrize("name", PAIRS)
def test_rows_become_columns_and_rows_again(name: str) -> None:
    data = report_data(PAIRS[name])
    rows, levels = json.loads(json.dumps(data["pairs"])), inflated(data["weights"])
    columns, stored = pairs_in_columns(rows, levels)
    again = rows_of(json.loads(json.dumps(columns)), stored)
    assert len(again) == len(rows)
    for row, found in zip(rows, again, strict=True):
        size = len(row["s"]) * len(row["t"])
        for view, (low, high, at) in row["m"].items():
            assert found["m"][view][:2] == [low, high]
            start = found["m"][view][2]
            assert stored[start : start + size] == levels[at : at + size]
        for key in ("nt", "ns"):
            assert (found[key] is None) == (row[key] is None)
            assert found[key] is None or found[key] == pytest.approx(row[key], abs=1000 / 510 + 1e-9)
        changed = ("m", "nt", "ns")
        assert {key: found[key] for key in row if key not in changed} == {
            key: row[key] for key in row if key not in changed
        }


def test_only_partners_that_rounding_hides_are_stored() -> None:
    data = report_data(PAIRS["whose best weights are rounded to equal levels"])
    columns, _ = pairs_in_columns(data["pairs"], inflated(data["weights"]))
    # the first of equal levels is not the best in the first two rows; ties are nearest the diagonal
    assert columns["bf"] == [[0, 1, 1, 1]]


def test_levels_are_compressed_as_runs() -> None:
    """A general search for repetitions takes ten times as long, and finds less."""
    random = np.random.default_rng(0)
    weights = np.where(random.random((200, 200)) < 0.1, random.random((200, 200)), 0)
    data = report_data([SamplePair(1, plain_pair(weights))])
    levels = inflated(data["weights"])
    assert len(data["weights"]) * 3 / 4 < 0.95 * len(zlib.compress(levels))
