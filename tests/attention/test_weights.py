"""Weights against slow loops, their laws, and masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign import attention as at
from nmtalign.errors import UsageError

from . import naive
from .test_scores import numerical_gradient

NORMALIZERS = [at.softmax, at.sparsemax, at.entmax15]
rows = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 8)),
    elements=st.one_of(st.floats(-30, 30), st.sampled_from([0.0, 1.0, -np.inf, 1e300, -1e300])),
)
finite_rows = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.floats(-30, 30)
)


@pytest.mark.parametrize("normalize", NORMALIZERS)
@pytest.mark.parametrize(
    "name", ["random", "constant", "one", "repeated", "masked", "all masked", "large", "sharp"]
)
def test_against_slow_loops(library, draw, normalize, name):
    scores = {
        "random": draw(5, 9),
        "constant": np.full((2, 6), 3.0),
        "one": draw(4, 1),
        "repeated": np.repeat(draw(3, 2), 4, axis=1),
        "masked": np.where(draw(5, 9) > 0.5, -np.inf, draw(5, 9)),
        "all masked": np.full((2, 3), -np.inf),
        "large": 1e4 + draw(3, 5),
        "sharp": 100 * draw(3, 5),
    }[name]
    scores = scores.astype(library.dtype).astype(np.float64)
    expected = [getattr(naive, normalize.__name__)(row) for row in scores]
    library.equal(normalize(library(scores)), expected)


@pytest.mark.parametrize("normalize", NORMALIZERS)
def test_any_axis(library, draw, normalize):
    scores = draw(3, 4, 5)
    for axis in (0, 1, -1):
        expected = np.moveaxis(normalize(np.moveaxis(scores, axis, -1)), -1, axis)
        library.equal(normalize(library(scores), axis=axis), expected)


@pytest.mark.parametrize("normalize", NORMALIZERS)
@given(scores=rows)
def test_weights_are_not_negative_and_sum_to_one(normalize, scores):
    weights = normalize(scores)
    seen = scores.max(axis=-1) > -np.inf
    assert np.all(weights >= 0)
    assert_allclose(weights.sum(axis=-1), seen.astype(float), rtol=1e-12)
    assert np.all(weights[scores == -np.inf] == 0)


@pytest.mark.parametrize("normalize", NORMALIZERS)
@given(scores=finite_rows, shift=st.floats(-1e3, 1e3))
def test_shifting_all_scores_changes_nothing(normalize, scores, shift):
    assert_allclose(normalize(scores + shift), normalize(scores), atol=1e-6)


@pytest.mark.parametrize("normalize", NORMALIZERS)
@given(scores=finite_rows, seed=st.integers(0, 99))
def test_order_is_kept_and_permutation_permutes(normalize, scores, seed):
    weights = normalize(scores)
    order = np.argsort(scores, axis=-1)
    assert np.all(np.diff(np.take_along_axis(weights, order, axis=-1)) >= 0)
    permuted = np.random.default_rng(seed).permutation(scores.shape[1])
    assert_allclose(normalize(scores[:, permuted]), weights[:, permuted], rtol=1e-12, atol=1e-12)


@given(scores=finite_rows)
def test_entmax_lies_between_softmax_and_sparsemax(scores):
    soft, half, sparse = at.softmax(scores), at.entmax15(scores), at.sparsemax(scores)
    assert np.all(soft.max(axis=-1) <= half.max(axis=-1) + 1e-12)
    assert np.all(half.max(axis=-1) <= sparse.max(axis=-1) + 1e-12)
    assert np.all((sparse > 0).sum(axis=-1) <= (half > 0).sum(axis=-1))


def test_sparse_weights_have_exact_zeros():
    scores = [[2.0, 1.0, -1.0, -3.0]]
    assert_array_equal(at.sparsemax(scores), [[1, 0, 0, 0]])
    assert_array_equal(at.entmax15(scores)[0, 2:], 0)
    assert np.all(at.softmax(scores) > 0)


@given(scores=finite_rows, temperature=st.floats(0.05, 20))
def test_temperature_divides_the_scores(scores, temperature):
    assert_allclose(at.softmax(scores, temperature=temperature), at.softmax(scores / temperature), rtol=1e-12)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(UsageError, match=f"positive number, found {temperature}"):
        at.softmax([1.0], temperature=temperature)


@pytest.mark.parametrize("normalize", NORMALIZERS)
def test_no_keys(library, normalize):
    library.equal(normalize(library(np.zeros((3, 0)))), np.zeros((3, 0)))


def test_a_mask_from_lists():
    assert_array_equal(at.mask_scores([[1.0, 2.0]], [[1, 0]]), [[1, -np.inf]])


@pytest.mark.parametrize("blocked", [-np.inf, -1e9, np.finfo(np.float64).min])
def test_floats_of_a_mask_are_added(library, draw, blocked):
    scores = draw(4, 5)
    mask = at.causal_mask(4, 5)
    added = np.where(mask, 0.0, blocked)
    expected = at.softmax(np.where(mask, scores, -np.inf))
    in_double = library.module.asarray(added)  # whatever the scores are
    for added_mask in (added.tolist(), in_double):
        library.equal(at.softmax(at.mask_scores(library(scores), added_mask)), expected)


def test_entropy_of_weights(library, draw):
    weights = at.softmax(3 * draw(2, 3, 4))
    weights[0, 1] = [0, 1, 0, 0]
    weights[1, 2] = 0  # padding
    weights[1, :, 3] = 0
    expected = np.zeros((2, 3))
    for place in np.ndindex(2, 3):
        for weight in weights[place]:
            expected[place] -= weight * np.log2(weight) if weight else 0
    library.equal(at.entropy(library(weights)), expected, atol=1e-6)
    library.equal(at.entropy(library(weights.swapaxes(1, 2)), axis=1), expected, atol=1e-6)
    library.equal(at.entropy(library(np.full((1, 8), 1 / 8))), np.array([3.0]))


def test_scores_have_no_entropy(module):
    with pytest.raises(UsageError, match="found a negative one; are these scores"):
        at.entropy(module.asarray(np.array([[0.5, -0.5]])))


def test_a_float_mask_of_small_numbers_lowers_scores(library, draw):
    scores = draw(2, 3)
    mask = -np.abs(draw(2, 3))
    library.equal(at.mask_scores(library(scores), library(mask)), scores + mask)


def test_masks_of_integers(module):
    mask = module.asarray(np.array([[1, 0, 1]]))
    masked = at.mask_scores(module.asarray(np.array([[1.0, 2.0, 3.0]])), mask)
    assert_array_equal(np.asarray(masked), [[1, -np.inf, 3]])


REFUSED_MASKS = {
    "NaN": ([[0.0, np.nan]], "found NaN"),
    "ones": ([[1.0, 0.0]], r"above 0; ones and zeros become a mask with mask.astype\(bool\)"),
    "infinity": ([[0.0, np.inf]], "above 0"),
    "integers": ([[2, 0]], "mask of 0 and 1, found other integers"),
    "negative integers": ([[0, -10_000]], "mask of 0 and 1, found other integers"),
}


@pytest.mark.parametrize("name", REFUSED_MASKS)
def test_a_mask_with_two_meanings_is_refused(module, name):
    mask, message = REFUSED_MASKS[name]
    with pytest.raises(UsageError, match=message):
        at.mask_scores(module.asarray(np.array([[1.0, 2.0]])), module.asarray(np.array(mask)))


def test_a_mask_of_complex_numbers_is_refused(module):
    if module is not np:
        with pytest.raises(UsageError, match="mask of bools, or of floats to add to the scores, found"):
            at.mask_scores(module.asarray([1.0]), module.asarray([1j]))


def test_masks(module):
    like = module.asarray([1.0])
    assert_array_equal(np.asarray(at.causal_mask(2, 3, like=like)), [[1, 0, 0], [1, 1, 0]])
    assert_array_equal(np.asarray(at.padding_mask([0, 2], 3, like=like)), [[[0, 0, 0]], [[1, 1, 0]]])
    assert type(at.causal_mask(2, like=like)) is type(like)


def test_a_sentence_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="4 words does not fit into 3 places"):
        at.padding_mask([1, 4], 3)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_gradient_of_softmax(library, draw, temperature):
    scores, upstream = draw(2, 3, 5), draw(2, 3, 5)
    expected = numerical_gradient(lambda e: at.softmax(e, temperature=temperature), scores, upstream)
    weights = at.softmax(library(scores), temperature=temperature)
    mine = at.softmax_gradient(weights, library(upstream), temperature=temperature)
    library.equal(mine, expected, rtol=1e-4, atol=1e-6)
    assert_allclose(np.asarray(mine).sum(axis=-1), 0, atol=1e-5)
