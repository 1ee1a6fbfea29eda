"""Extraction against slow plain loops, laws, and the written tie rule."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nmtalign.errors import DataError
from nmtalign.links.selection import best_cells, itermax, match, mutual_argmax, sinkhorn, transport
from tests.naive_alignment import choose_naively, itermax_naively

# Few different values, so that ties are the rule.
tied = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0, 0.25, 0.5, 1]),
)


GOLDEN = Path(__file__).parent / "extraction_golden.json"
EXTRACTORS = mutual_argmax, itermax, match, transport
every_extractor = pytest.mark.parametrize("extract", EXTRACTORS)


def argmax_forward(weights):
    """Mark the best source word of each target word."""
    return best_cells(weights[..., None], 1, *np.array(weights.shape[::-1])[:, None])[..., 0]


def argmax_reverse(weights):
    """Mark the best target word of each source word."""
    return best_cells(weights[..., None], 0, *np.array(weights.shape[::-1])[:, None])[..., 0]


def cells(links):
    return set(zip(*(axis.tolist() for axis in links.nonzero()), strict=True))


@given(tied)
def test_argmax_equals_the_naive_version_with_ties(weights):
    assert cells(argmax_forward(weights)) == choose_naively(weights.tolist(), 0)
    assert cells(argmax_reverse(weights)) == choose_naively(weights.tolist(), 1)
    assert cells(mutual_argmax(weights)) == choose_naively(weights.tolist(), 0) & choose_naively(
        weights.tolist(), 1
    )


SIZES = st.tuples(st.integers(0, 6), st.integers(0, 6))  # target and source words


@given(st.lists(SIZES, min_size=1, max_size=6), st.integers(0, 10_000), st.sampled_from([0.0, 9.0, np.inf]))
def test_best_cells_of_a_padded_stack_equal_the_naive_ones(sizes, seed, padding):
    """Pairs of different lengths, few different weights, and padding that is better than all of them."""
    random = np.random.default_rng(seed)
    pairs = [random.choice([-np.inf, 0.0, 0.25, 0.5], size) for size in sizes]
    T, S = np.array(sizes).T
    stacked = np.full((T.max(), S.max(), len(sizes)), padding)
    for b, weights in enumerate(pairs):
        stacked[: T[b], : S[b], b] = weights
    for axis, own in ((1, 0), (0, 1)):
        found = best_cells(stacked, axis, S, T)
        assert found.shape == stacked.shape
        for b, weights in enumerate(pairs):
            naive = choose_naively(weights.tolist(), own) if weights.size else set()
            naive = {cell for cell in naive if weights[cell] > -np.inf}  # what cannot be is no link
            assert cells(found[..., b]) == naive
            alone = best_cells(weights[..., None], axis, S[[b]], T[[b]])  # without padding
            assert cells(alone[..., 0]) == naive


@given(tied, st.integers(1, 4), st.sampled_from([0.5, 0.9]))
def test_itermax_equals_the_naive_version(weights, iterations, discount):
    links = itermax(weights, iterations=iterations, discount=discount)
    assert cells(links) == itermax_naively(weights.tolist(), iterations, discount)


def test_equals_simalign():
    for case in json.loads(GOLDEN.read_text(encoding="utf-8")):
        weights = case["weights"]
        found = {"mutual": mutual_argmax(weights), "itermax": itermax(weights), "match": match(weights)}
        found["itermax3"] = itermax(weights, iterations=3)
        for name, links in found.items():
            assert np.argwhere(links).tolist() == case[name], name


def test_equal_weights_lie_on_the_diagonal():
    for S in range(1, 9):
        np.testing.assert_array_equal(argmax_forward(np.zeros((S, S))), np.eye(S, dtype=bool))
        np.testing.assert_array_equal(match(np.ones((S, S))), np.eye(S, dtype=bool))
    # Between two equally near cells the lower position wins.
    np.testing.assert_array_equal(argmax_forward(np.zeros((1, 4))), [[False, True, False, False]])
    np.testing.assert_array_equal(argmax_reverse(np.zeros((4, 1))).T, [[False, True, False, False]])


@given(arrays.arrays(np.float64, (4, 5), elements=st.floats(0, 1), unique=True))
def test_turning_the_matrix_turns_the_links(weights):
    for extractor in (mutual_argmax, itermax):
        np.testing.assert_array_equal(extractor(weights.T), extractor(weights).T)


@every_extractor
def test_many_pairs_are_as_one_by_one(extract):
    weights = np.random.default_rng(4).random((20, 5, 7)).round(1)
    together = extract(weights)
    assert together.dtype == bool
    np.testing.assert_array_equal(together, [extract(one) for one in weights])


@every_extractor
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 3)])
def test_empty_sentences_have_no_links(extract, shape):
    links = extract(np.zeros(shape))
    assert links.shape == shape
    assert not links.any()


@given(tied)
def test_each_row_has_one_forward_link_and_mutual_links_are_one_to_one(weights):
    assert (argmax_forward(weights).sum(axis=1) == 1).all()
    assert (argmax_reverse(weights).sum(axis=0) == 1).all()
    for links in (mutual_argmax(weights), match(weights)):
        assert links.sum(axis=0).max() <= 1
        assert links.sum(axis=1).max() <= 1
    assert (mutual_argmax(weights) <= itermax(weights)).all()


@given(
    arrays.arrays(
        np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=4), elements=st.floats(-1, 1)
    )
)
def test_match_has_the_greatest_sum(weights):
    T, S = weights.shape
    table = np.maximum(weights if T <= S else weights.T, 0)
    best = max(
        sum(table[i, j] for i, j in enumerate(order)) for order in permutations(range(max(T, S)), min(T, S))
    )
    links = match(weights)
    np.testing.assert_allclose(weights[links].sum(), best, atol=1e-8)
    assert (weights[links] > 0).all()


@pytest.mark.parametrize(("T", "S"), [(2, 4), (4, 2), (3, 5), (5, 3), (1, 6), (4, 4)])
def test_of_equal_matchings_the_nearest_to_the_diagonal_is_taken(T, S):
    distance = np.array([[abs((s + 0.5) / S - (t + 0.5) / T) for s in range(S)] for t in range(T)])
    rows = distance if T <= S else distance.T
    ways = permutations(range(max(T, S)), min(T, S))
    least = min(sum(rows[i, j] for i, j in enumerate(order)) for order in ways)
    assert distance[match(np.full((T, S), 0.3))].sum() == pytest.approx(least, abs=1e-12)


@settings(max_examples=25)
@given(arrays.arrays(np.float64, (3, 5), elements=st.floats(-1, 1)))
def test_transport_moves_all_the_mass(weights):
    plan = sinkhorn(weights, iterations=2000, regularization=0.2)
    np.testing.assert_allclose(plan.sum(axis=0), np.full(5, 1 / 5), rtol=1e-9)
    np.testing.assert_allclose(plan.sum(axis=1), np.full(3, 1 / 3), rtol=1e-4)


def test_sinkhorn_equals_plain_scaling():
    weights = np.random.default_rng(5).random((4, 6))
    kernel, u = np.exp(weights / 0.1), np.ones(4)
    v = np.ones(6)
    for _ in range(50):
        u = (1 / 4) / (kernel @ v)
        v = (1 / 6) / (kernel.T @ u)
    np.testing.assert_allclose(sinkhorn(weights, iterations=50), u[:, None] * kernel * v, rtol=1e-10)


def test_transport_of_clear_weights_is_their_matching():
    weights = np.full((4, 4), 0.1) + 0.8 * np.eye(4)[[2, 0, 3, 1]]
    np.testing.assert_array_equal(transport(weights), match(weights))


@every_extractor
def test_whole_numbers_are_weights(extract):
    weights = np.random.default_rng(6).integers(0, 2, (3, 5, 6))
    np.testing.assert_array_equal(extract(weights), extract(weights.astype(float)))
    assert not extract(weights[:, :0]).any()


def test_bad_weights_are_refused():
    with pytest.raises(DataError, match="NaN"):
        mutual_argmax([[np.nan]])
    with pytest.raises(DataError, match=r"\(T, S\) or \(B, T, S\), found \(2,\)"):
        mutual_argmax([1.0, 2.0])
    with pytest.raises(DataError, match="not negative"):
        itermax([[-0.1]])
