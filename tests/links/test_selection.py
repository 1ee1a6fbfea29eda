"""Extraction and symmetrization against slow plain loops, laws, other programs, and the written tie rule."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nmtalign as na
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import Alignment, Link
from nmtalign.links.selection import (
    SYMMETRIZATION_METHODS,
    best_cells,
    itermax,
    match,
    mutual_argmax,
    sinkhorn,
    symmetrize_many,
    symmetrize_matrices,
    transport,
)
from tests.naive_alignment import choose_naively, itermax_naively, symmetrize_naively

# Few different values, so that ties are the rule.
tied = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0, 0.25, 0.5, 1]),
)


EXTRACTION_GOLDEN = Path(__file__).parent / "extraction_golden.json"
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
    for case in json.loads(EXTRACTION_GOLDEN.read_text(encoding="utf-8")):
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
def test_many_pairs_are_extracted_as_one_by_one(extract):
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
    plan = sinkhorn(weights, iterations=400, regularization=0.5)
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


SYMMETRIZATION_GOLDEN = Path(__file__).parent / "symmetrization_golden.tsv"
GROWN = SYMMETRIZATION_METHODS[2:]


def links(text):
    return frozenset(Link(*map(int, pair.split("-"))) for pair in text.split(" ") if pair)


@cache
def symmetrize(forward, reverse, method):
    (links,) = symmetrize_many([forward], [reverse], method)
    return links


@cache
def golden():
    header, *rows = (
        line.split("\t")
        for line in SYMMETRIZATION_GOLDEN.read_text(encoding="utf-8").rstrip("\n").split("\n")
    )
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_the_golden_file_holds_enough_pairs_of_each_kind():
    kinds = [row["kind"] for row in golden()]
    assert kinds.count("random") >= 500
    assert kinds.count("real") >= 500


@pytest.mark.parametrize("method", SYMMETRIZATION_METHODS)
def test_equals_another_implementation(method):
    rows = golden()
    forward, reverse = ([links(row[side]) for row in rows] for side in ("forward", "reverse"))
    assert symmetrize_many(forward, reverse, method) == [links(row[method]) for row in rows]


some_links = st.frozensets(st.sampled_from(list(product(range(7), range(7)))), max_size=16)
pair_of_links = st.tuples(some_links, some_links)


@pytest.mark.parametrize("method", SYMMETRIZATION_METHODS)
@given(pair_of_links)
def test_equals_the_naive_version(method, pair):
    assert symmetrize(*pair, method) == symmetrize_naively(*pair, method)


@pytest.mark.parametrize("method", SYMMETRIZATION_METHODS)
@given(pair_of_links)
def test_lies_between_intersection_and_union(method, pair):
    forward, reverse = pair
    joined = symmetrize(forward, reverse, method)
    assert forward & reverse <= joined <= forward | reverse


@given(pair_of_links)
def test_each_method_adds_to_the_one_before(pair):
    grown, final, final_and = (symmetrize(*pair, method) for method in GROWN)
    assert grown <= final_and
    assert grown <= final
    assert {s for s, _ in final} == {s for s, _ in pair[0] | pair[1]}


@pytest.mark.parametrize("method", SYMMETRIZATION_METHODS)
@given(st.lists(pair_of_links, max_size=3))
def test_many_pairs_are_symmetrized_as_one_by_one(method, pairs):
    together = symmetrize_many([a for a, _ in pairs], [b for _, b in pairs], method)
    assert together == [symmetrize(a, b, method) for a, b in pairs]


@pytest.mark.parametrize("method", SYMMETRIZATION_METHODS)
def test_more_pairs_than_one_chunk(method):
    random = np.random.default_rng(3)
    forward, reverse = random.random((2, 5000, 4, 5)) < 0.3
    matrices = symmetrize_matrices(forward, reverse, method)
    for n in (0, 4095, 4096, 4999):
        one = symmetrize(*(Alignment.from_matrix(m[n]) for m in (forward, reverse)), method)
        np.testing.assert_array_equal(matrices[n], Alignment(one, 5, 4).to_matrix())
    np.testing.assert_array_equal(symmetrize_matrices(forward[7], reverse[7], method), matrices[7])


def test_no_pairs_and_no_links():
    assert symmetrize_many([], [], "grow-diag") == []
    assert symmetrize_many([[], []], [[], []], "grow-diag-final") == [frozenset(), frozenset()]
    assert symmetrize_matrices(np.zeros((2, 0, 3)), np.zeros((2, 0, 3)), "grow-diag").shape == (2, 0, 3)


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="grow-diag-final-and"):
        na.symmetrize([""], [""], method="grow")
    with pytest.raises(DataError, match="found 1 and 2"):
        symmetrize_many([[]], [[], []], "union")
    with pytest.raises(DataError, match="shapes"):
        symmetrize_matrices(np.zeros((1, 2)), np.zeros((2, 1)), "union")


def test_two_batches_have_one_unit():
    unknown = na.symmetrize(["0-0 1-1", "0-0"], ["0-0", "0-0"])
    words, tokens = replace(unknown, unit="words"), replace(unknown, unit="tokens")
    message = "expected links of the same unit, found positions of words in `forward`, of tokens in `reverse`"
    with pytest.raises(UsageError, match=message):
        na.symmetrize(words, tokens)
    assert na.symmetrize(words, words).unit == "words"
    assert na.symmetrize(tokens, tokens, method="union").unit == "tokens"
    for reverse in (unknown, ["0-0", "0-0"]):
        assert na.symmetrize(tokens, reverse).unit is None


def scored(scores):
    links = na.symmetrize(["0-0"] * len(scores), ["0-0"] * len(scores))
    return replace(links, scores=np.array(scores))


def test_pair_scores_are_the_mean_of_two_batches_or_unknown():
    joined = na.symmetrize(scored([0.25, 1.0, np.nan]), scored([0.75, 0.5, 0.5]))
    np.testing.assert_array_equal(joined.scores, [0.5, 0.75, np.nan])
    assert repr(joined) == "AlignedBatch of 3 pairs, 3 links"
    for links in (na.symmetrize(["0-0"], ["0-0"]), na.symmetrize(scored([0.5]), ["0-0"])):
        assert np.isnan(links.scores).all()
        assert repr(links) == "AlignedBatch of 1 pair, 1 link, without pair scores"
        assert links == na.symmetrize(["0-0"], ["0-0"])


def test_a_filter_by_unknown_scores_warns():
    unknown = na.symmetrize(["0-0", "0-0"], ["0-0", "0-0"])
    with pytest.warns(na.NmtalignWarning, match="drops all 2 pairs whose pair score is unknown") as caught:
        assert len(unknown[unknown.scores > 0.5]) == 0
    assert caught[0].filename == __file__
    some = replace(unknown, scores=np.array([0.75, np.nan]))
    with pytest.warns(na.NmtalignWarning, match="drops all 1 pair whose pair score is unknown"):
        assert len(some[some.scores > 0.5]) == 1
    assert len(some[[True, True]]) == 2
    assert len(some[:1]) == len(some[[0]]) == 1


def test_batches_of_different_pairs_are_refused():
    batch = na.load().align_batch([("the cat", "le chat"), ("a", "un")])
    with pytest.raises(DataError, match="pair 0: expected links of the same words"):
        na.symmetrize(batch, batch[::-1])


def test_a_pair_of_unknown_score_has_none():
    batch = na.load().align_batch([("the cat", "le chat")])
    joined = na.symmetrize(batch, ["0-0"])
    assert joined[0].score is None
    assert np.isnan(joined.table()["pair_score"]).all()
    np.testing.assert_array_equal(na.symmetrize(batch, batch).scores, batch.scores)
