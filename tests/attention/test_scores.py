"""Scores against slow loops, their laws, their gradients, and their errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nmtalign.attention import scores
from nmtalign.errors import UsageError

from . import naive

T, S, D, K, A, C = 3, 4, 5, 6, 7, 2


def parameters_of_additive(draw):
    return draw(D, A), draw(K, A), draw(A), draw(A)


def slow_concatenated(q, k, layer_1, layer_2):
    return naive.additive(q, k, layer_1[K:], layer_1[:K], layer_2.reshape(-1), np.zeros(A))


SCORES = {  # the function, its slow form, the size of a key, the shapes of the parameters
    "dot": (scores.dot, naive.dot, D, []),
    "scaled_dot": (scores.scaled_dot, naive.scaled_dot, D, []),
    "cosine": (scores.cosine, naive.cosine, D, []),
    "additive": (
        lambda q, k, W, U, v, b: scores.additive(q, k, W, U, v, bias=b),
        naive.additive,
        K,
        [(D, A), (K, A), (A,), (A,)],
    ),
    "concatenated": (scores.additive_concatenated, slow_concatenated, K, [(K + D, A), (A,)]),
    "concatenated, a column": (scores.additive_concatenated, slow_concatenated, K, [(K + D, A), (A, 1)]),
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_against_slow_loops(library, draw, name):
    score, slow, size, shapes = SCORES[name]
    queries, keys, parameters = draw(T, D), draw(S, size), [draw(*shape) for shape in shapes]
    queries[1] = 0
    expected = naive.all_scores(queries, keys, lambda q, k: slow(q, k, *parameters))
    library.equal(score(library(queries), library(keys), *map(library, parameters)), expected)


@pytest.mark.parametrize("name", SCORES)
def test_one_query_all_queries_and_batches_agree(draw, name):
    score, _, size, shapes = SCORES[name]
    queries, keys, parameters = draw(2, 3, T, D), draw(2, 3, S, size), [draw(*shape) for shape in shapes]
    together = score(queries, keys, *parameters)
    assert together.shape == (2, 3, T, S)
    for b in np.ndindex(2, 3):
        alone = score(queries[b], keys[b], *parameters)
        assert_allclose(alone, together[b], rtol=1e-12, atol=1e-14)
        for t in range(T):
            row = score(queries[b][t], keys[b], *parameters)
            assert_allclose(row, together[b][t], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(("rows", "columns"), [(0, S), (T, 0), (0, 0)])
def test_empty_sentences(draw, name, rows, columns):
    score, _, size, shapes = SCORES[name]
    parameters = [draw(*shape) for shape in shapes]
    assert score(draw(rows, D), draw(columns, size), *parameters).shape == (rows, columns)


def test_additive_in_blocks(draw, monkeypatch):
    queries, keys = draw(2, 9, D), draw(2, S, K)
    W, U, v, _ = parameters_of_additive(draw)
    whole = scores.additive(queries, keys, W, U, v)
    monkeypatch.setattr(
        scores, "_NUMBERS_PER_BLOCK", 2 * S * A * 2
    )  # two query rows at a time, one left over
    rows, activations = [], scores._activations
    monkeypatch.setattr(
        scores, "_activations", lambda xp, q, *rest: rows.append(q.shape[1]) or activations(xp, q, *rest)
    )
    assert_allclose(scores.additive(queries, keys, W, U, v), whole, rtol=1e-13)
    assert rows == [2, 2, 2, 2, 1]


def test_lists_and_whole_numbers_are_welcome():
    assert scores.dot([[1, 2]], [[3, 4]]).dtype == np.float64
    assert scores.cosine(np.array([[0, 2]]), np.array([[0, 5]])) == 1


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(0, 2**32))
def test_cosine_does_not_see_lengths(a, b, seed):
    random = np.random.default_rng(seed)
    queries, keys = random.normal(size=(T, D)), random.normal(size=(S, D))
    cosines = scores.cosine(queries, keys)
    assert_allclose(scores.cosine(a * queries, b * keys), cosines, rtol=1e-9, atol=1e-12)
    assert np.all(np.abs(cosines) <= 1 + 1e-12)
    assert_allclose(scores.cosine(keys, queries), cosines.T, rtol=1e-12)


# --- gradients -----------------------------------------------------------------------------------


def numerical_gradient(function, argument, upstream, step=1e-6):
    """Derivative of sum(upstream * function(argument)) by each entry, by central differences."""
    gradient = np.zeros_like(argument)
    for place in np.ndindex(argument.shape):
        moved = argument.copy()
        moved[place] += step
        above = np.sum(upstream * function(moved))
        moved[place] -= 2 * step
        gradient[place] = (above - np.sum(upstream * function(moved))) / (2 * step)
    return gradient


def test_gradient_of_scaled_dot(library, draw):
    queries, keys, upstream = draw(2, T, D), draw(2, S, D), draw(2, T, S)
    expected = (
        numerical_gradient(lambda q: scores.scaled_dot(q, keys), queries, upstream),
        numerical_gradient(lambda k: scores.scaled_dot(queries, k), keys, upstream),
    )
    own = scores.scaled_dot_gradient(library(queries), library(keys), library(upstream))
    for mine, numerical in zip(own, expected, strict=True):
        library.equal(mine, numerical, rtol=1e-5, atol=1e-6)


def test_gradient_of_additive(library, draw):
    drawn = [draw(2, T, D), draw(2, S, K), *parameters_of_additive(draw)]
    arguments = dict(zip(["queries", "keys", "W", "U", "v", "bias"], drawn, strict=True))
    upstream = draw(2, T, S)
    mine = scores.additive_gradient(
        **{name: library(value) for name, value in arguments.items()}, upstream=library(upstream)
    )
    for name, value in arguments.items():
        numerical = numerical_gradient(
            lambda x, name=name: scores.additive(**(arguments | {name: x})),
            value,
            upstream,
        )
        library.equal(getattr(mine, name), numerical, rtol=1e-5, atol=2e-5)


# --- errors --------------------------------------------------------------------------------------


ones = np.ones


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (scores.dot, [ones((2, 3)), ones((2, 4))], r"keys must have 3 entries .* found shape \(2, 4\)"),
        (
            scores.additive_concatenated,
            [ones((1, 2)), ones((1, 3)), ones((4, 1)), [1]],
            "layer_1 must have 5",
        ),
        (scores.additive, [[[1.0]], [[1.0]], [[1.0, 2.0]], [[1.0]], [1.0]], "projected queries must have 1"),
    ],
)
def test_errors_name_what_was_expected_and_found(call, arguments, message):
    with pytest.raises(UsageError, match=message):
        call(*arguments)


def test_arrays_of_two_libraries_are_refused(module):
    if module is not np:
        with pytest.raises(UsageError, match="one library"):
            scores.dot(module.asarray([[1.0]]), np.ones((1, 1)))
