"""Symmetrization against sil-machine and thot (golden file), a slow naive version, and laws."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import Alignment, Link
from nmtalign.links.selection import SYMMETRIZATION_METHODS, symmetrize_many, symmetrize_matrices
from tests.naive_alignment import symmetrize_naively

GOLDEN = Path(__file__).parent / "symmetrization_golden.tsv"
GROWN = SYMMETRIZATION_METHODS[2:]


def links(text):
    return frozenset(Link(*map(int, pair.split("-"))) for pair in text.split(" ") if pair)


@cache
def symmetrize(forward, reverse, method):
    (links,) = symmetrize_many([forward], [reverse], method)
    return links


def golden():
    header, *rows = (line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").rstrip("\n").split("\n"))
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
def test_many_pairs_are_as_one_by_one(method, pairs):
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
