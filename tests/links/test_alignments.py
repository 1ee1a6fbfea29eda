"""Matrices and batches of links refuse impossible states, and keep what they hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign.errors import DataError
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    GoldAlignment,
    concatenate_batches,
)

WEIGHTS = np.array([[0.5, 0.25, 0.0], [0.0, 0.25, 0.75]], dtype=np.float32)


def test_a_matrix_keeps_its_words_and_is_a_copy_that_cannot_be_written():
    weights = WEIGHTS.copy()
    matrix = AlignmentMatrix(weights, list("abc"), list("xy"))
    weights[0, 0] = 9
    assert (matrix.source_tokens, matrix.target_tokens) == (("a", "b", "c"), ("x", "y"))
    assert_array_equal(matrix.weights, WEIGHTS)
    assert matrix.weights.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        matrix.weights[0, 0] = 1
    swapped = matrix.T
    assert (swapped.source_tokens, swapped.target_tokens) == (("x", "y"), ("a", "b", "c"))
    assert_array_equal(swapped.weights, WEIGHTS.T)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (WEIGHTS.T, r"expected weights of shape \(T, S\) = \(2, 3\), found \(3, 2\)"),
        (WEIGHTS * np.nan, "NaN or infinity"),
        (WEIGHTS - np.inf, "NaN or infinity"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        AlignmentMatrix(weights, tuple("abc"), tuple("xy"))


@pytest.mark.parametrize(
    ("sure", "possible", "message"),
    [
        ({(0, 1), (2, 0)}, {(0, 1)}, "sure link 2-0 is not among the possible links"),
        ({(0, 1)}, {(0, 1), (-1, 0)}, "negative position"),
        (set(), {(0, -1)}, "negative position"),
    ],
)
def test_gold_that_cannot_be_is_refused(sure, possible, message):
    with pytest.raises(DataError, match=message):
        GoldAlignment(sure, possible)


def test_what_a_direction_leaves_is_null():
    matrix = AlignmentMatrix(WEIGHTS, tuple("abc"), tuple("xy"))
    pair = AlignedPair(Alignment({(0, 0)}, 3, 2), matrix, forward=WEIGHTS, reverse=WEIGHTS * 2)
    assert pair.posterior is matrix.weights
    assert_allclose(pair.target_null, [0.25, 0.0])  # over source words
    assert_allclose(pair.source_null, [0, 0, 0])  # 1 and more is rounding: never below 0
    bare = AlignedPair(Alignment({(0, 0)}, 3, 2), matrix)
    assert bare.target_null is bare.source_null is None


def test_joined_batches_are_their_pairs_in_order():
    def batch(*pairs: list[tuple[int, int]]) -> AlignedBatch:
        offsets = np.cumsum([0, *map(len, pairs)])
        source, target = np.array([link for pair in pairs for link in pair], dtype=np.int32).reshape(-1, 2).T
        return AlignedBatch(offsets, source, target, source / 10, offsets[1:] / 10)

    first, second, third = batch([(0, 0), (1, 2)], []), batch(), batch([(3, 1)], [(0, 1), (2, 2)])
    joined = concatenate_batches([first, second, third])
    assert [joined.links(n) for n in range(4)] == [first.links(0), [], *map(third.links, range(2))]
    assert len(joined) == 4
    assert_allclose(joined.probability, [0, 0.1, 0.3, 0, 0.2])
    assert_allclose(joined.scores, [*first.scores, *third.scores])


def test_pairs_of_a_batch_count_from_its_end_too_and_others_are_errors():
    batch = AlignedBatch(np.array([0, 1, 1, 3]), *[np.array([0, 1, 2])] * 3, np.zeros(3))
    assert [batch.links(n) for n in (-1, -2, -3)] == [batch.links(n) for n in (2, 1, 0)]
    assert batch.links(-1) == [(1, 1), (2, 2)]
    for outside in (3, -4):
        with pytest.raises(IndexError, match=f"pair index {outside} is out of range for 3 pairs"):
            batch.links(outside)
