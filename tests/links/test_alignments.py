"""Matrices and batches of links refuse impossible states, and keep what they hold."""

from __future__ import annotations

import copy as copies
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nmtalign as na
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    GoldAlignment,
    Link,
    concatenate_batches,
)
from nmtalign.links.inputs import batch_of_links

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


def batch_of_two() -> AlignedBatch:
    return na.load().align_batch([("the black cat", "le chat noir"), ("a dog", "un chien")])


def test_probabilities_cannot_be_changed():
    given = {Link(0, 0): 0.5}
    own = AlignedPair(Alignment([(0, 0)], 1, 1), AlignmentMatrix([[0.5]], ["a"], ["b"]), probabilities=given)
    given.clear()
    for pair in (own, batch_of_two()[0]):
        before = pair.table()
        with pytest.raises(AttributeError):
            pair.probabilities.clear()
        with pytest.raises(TypeError):
            pair.probabilities[Link(0, 0)] = 0.0
        assert pair.table().equals(before)
        assert dict(pair.probabilities) == pickle.loads(pickle.dumps(pair)).probabilities
    evaluation = na.evaluate(["0-0"], ["0-0"])
    with pytest.raises(AttributeError):
        evaluation.intervals.clear()
    assert pickle.loads(pickle.dumps(evaluation)) == evaluation


def test_a_pickled_batch_has_words_and_links_but_not_the_model():
    batch = batch_of_two()
    dumped = pickle.dumps(batch)
    assert len(dumped) < 5_000
    loaded = pickle.loads(dumped)
    assert loaded == batch
    assert loaded[1:][0] == batch[1]
    assert loaded[0].texts == batch[0].texts
    assert loaded.table().equals(batch.table())
    for attention in (lambda: loaded[0].forward, lambda: next(loaded.matrices("forward"))):
        with pytest.raises(UsageError, match=r"not its aligner, .*; align the pairs again"):
            attention()
    copy = copies.deepcopy(batch)
    np.testing.assert_array_equal(copy[0].forward, batch[0].forward)


def test_a_pickled_pair_of_a_batch_has_its_texts():
    pair = batch_of_two()[0]
    assert pair.texts is not None
    assert pickle.loads(pickle.dumps(pair)).texts == pair.texts


def test_a_pair_of_a_batch_can_be_replaced():
    pair = batch_of_two()[0]
    changed = dataclasses.replace(pair, score=0.25)
    assert (changed.score, changed.links, changed.texts) == (0.25, pair.links, pair.texts)
    np.testing.assert_array_equal(changed.forward, pair.forward)
    assert dataclasses.replace(changed, score=pair.score) == pair


@pytest.mark.parametrize(
    "as_row",
    [
        pd.DataFrame,
        lambda batch: pytest.importorskip("polars").DataFrame(list(batch)),
        lambda batch: pd.DataFrame(list(batch)),
        lambda b: dataclasses.asdict(b[0]),
    ],
)
def test_a_pair_is_not_a_row_of_a_table(as_row):
    """Its cells would be dictionaries and arrays, and the attention of all pairs would be computed."""
    with pytest.raises(UsageError, match=r"not a row of a table; write batch\.table\(\)"):
        as_row(batch_of_two())


def test_readers_of_arrow_take_the_table_of_a_batch():
    batch = batch_of_two()
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(batch).to_pandas().equals(batch.table())
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(batch).equals(polars.from_pandas(batch.table()))
    assert polars.DataFrame(batch[:0]).columns == batch.table().columns.tolist()


@pytest.mark.skipif(not hasattr(pd.DataFrame, "from_arrow"), reason="pandas 3 reads Arrow")
def test_pandas_takes_the_table_of_a_batch():
    frame = pd.DataFrame({"source": ["the cat"], "target": ["le chat"]}, index=["a"])
    batch = na.load().align_batch(frame)
    assert pd.DataFrame.from_arrow(batch).equals(batch.table())


def test_matrices_are_equal_if_their_content_is():
    matrix = batch_of_two()[0].matrix
    for copy in (copies.copy(matrix), pickle.loads(pickle.dumps(matrix)), matrix.T.T):
        assert copy == matrix
        assert hash(copy) == hash(matrix)
    for name, other in (
        ("caption", "x"),
        ("weights", matrix.weights + 1),
        ("source_tokens", ["x", "y", "z"]),
    ):
        assert dataclasses.replace(matrix, **{name: other}) != matrix
    assert matrix != 3


def test_joined_batches_keep_their_unit():
    first, second = batch_of_links([[(0, 0)]]), batch_of_links([[(1, 1)], []])
    words, tokens = (dataclasses.replace(second, unit=unit) for unit in ("words", "tokens"))
    assert concatenate_batches([words, words]).unit == "words"
    assert concatenate_batches([first, words]).unit is None
    assert concatenate_batches([tokens, words]).unit is None
    assert [concatenate_batches([first, words]).links(n) for n in range(3)] == [[(0, 0)], [(1, 1)], []]


def test_results_of_the_package_are_not_checked_again(monkeypatch):
    aligner = na.load()
    lines = [("the black cat, it sleeps", "le chat noir, il dort")]
    before = aligner.align_batch(lines)[0]
    swapped = before.alignment.reversed(), before.matrix.T

    def refuse(*values: object) -> None:
        raise AssertionError

    for name in ("links_inside", "as_links", "as_real_array", "_check_unknown"):
        monkeypatch.setattr(f"nmtalign.links.alignments.{name}", refuse)
    after = aligner.align_batch(lines)[0]
    assert (after.alignment.reversed(), after.matrix.T) == swapped
    assert_array_equal(after.forward, before.forward)
