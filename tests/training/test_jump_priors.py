"""Jumps of eflomal's priors become prior counts of the hidden Markov model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.aligner.training_job import jumps_of_model
from nmtalign.dictionaries.entries import Entry, JumpCount
from nmtalign.dictionaries.reading import DictionaryFile
from nmtalign.positions.jumps import MAX_JUMP, add_width_counts, initial_jump_model
from nmtalign.training.prior import width_counts
from tests.cli.running import write

SOURCE = ["a b c d", "c d a b", "b a d c", "d c b a"] * 3
TARGET = ["A B C D", "C D A B", "B A D C", "D C B A"] * 3
PAIRS = list(zip(SOURCE, TARGET, strict=True))
LEX = ["LEX\ta\tA\t3", "LEX\tb\tB\t3"]


def learned(path: Path, **options) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each width is expected in the text of a model that has a prior."""
    aligner = na.train(PAIRS, prior=path, preset="fast", **options)
    jumps = jumps_of_model(aligner)
    assert jumps is not None
    return jumps


@pytest.mark.filterwarnings("ignore:few pairs")
def test_jumps_are_prior_counts_of_their_direction(tmp_path):
    plain = learned(write(tmp_path / "plain", LEX))
    back = [*LEX, "HMMF\t-3\t1000", "HMMF\t1\t10"]
    forward, reverse = learned(write(tmp_path / "back", back))
    three_back = MAX_JUMP - 3
    share = [jumps[three_back] / jumps.sum() for jumps in (plain[0], forward, plain[1], reverse)]
    assert share[1] > 0.5 > share[0] + 0.2
    assert share[3] == pytest.approx(share[2], abs=0.05)
    swapped = [line.replace("LEX\ta\tA", "LEX\tA\ta").replace("LEX\tb\tB", "LEX\tB\tb") for line in back]
    forward, reverse = learned(write(tmp_path / "swapped", swapped), headwords="target")
    assert reverse[three_back] / reverse.sum() > 0.5 > forward[three_back] / forward.sum() + 0.2


def test_jumps_of_other_languages_are_not_used(tmp_path):
    other = write(tmp_path / "other", ["LEX\tx\ty\t1", "HMMF\t-3\t1000"])
    with pytest.warns(UserWarning, match="no entry has words of both sides"):
        forward, _ = learned(other)
    assert forward[MAX_JUMP - 3] / forward.sum() < 0.3


def test_a_prior_is_divided_as_the_jumps_are():
    model = initial_jump_model(3, 1)
    counts = np.zeros(model.tables.shape)
    counts[1, MAX_JUMP + 1], counts[2, MAX_JUMP + 2] = 3, 1
    widths = np.zeros(2 * MAX_JUMP + 1)
    widths[MAX_JUMP - 1] = 8
    added = add_width_counts(counts.ravel(), widths, model).reshape(counts.shape) - counts
    assert added[:, MAX_JUMP - 1].tolist() == [0, 6, 2]
    assert added.sum() == 8


def test_wide_jumps_count_as_the_widest():
    assert width_counts([]) is None
    counts = width_counts([JumpCount("source", -900, 2.0), JumpCount("target", 1, 1.5)])
    assert counts is not None
    assert (counts[0][0], counts[1][MAX_JUMP + 1]) == (2.0, 1.5)


@pytest.mark.parametrize(
    "line", ["HMMF\t1.5\t3", "HMMR\t1\t-2", "HMMF\t1\tnan", "FERF\ta\tb\t1", "FERR\ta\t1\t0"]
)
def test_malformed_jumps_and_fertilities_are_named(tmp_path, line):
    jumps: list[JumpCount] = []
    file = DictionaryFile(write(tmp_path / "priors", [*LEX, "HMMF\t1\t2", line]))
    with pytest.warns(
        UserWarning, match="1 of 4 entries are malformed and were skipped, the first: .*line 4"
    ) as caught:
        assert all(isinstance(entry, Entry) for entry in file.entries(jumps=jumps))
    assert line.split("\t")[0] in str(caught[0].message)
    assert jumps == [JumpCount("source", 1, 2.0)]
