"""Positions against slow loops and their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign import attention as at
from nmtalign.errors import UsageError

from . import naive

FORMS = ["centered", "fast_align", "simalign"]
sizes = st.integers(1, 7)


def test_sinusoidal(library):
    library.equal(at.sinusoidal(30, 16, like=library(np.ones(1))), naive.sinusoidal(30, 16))


@given(n=st.integers(0, 50), m=st.integers(0, 50), shift=st.integers(0, 50), half=st.integers(1, 16))
def test_sinusoidal_dot_products_depend_on_the_distance_only(n, m, shift, half):
    P = at.sinusoidal(101, 2 * half)
    assert_allclose(P[n] @ P[m], P[n + shift] @ P[m + shift], atol=1e-11)
    assert_allclose(P[n] @ P[n], half, rtol=1e-12)


def test_position_table_is_the_same_for_the_same_seed():
    assert_array_equal(at.position_table(5, 3, seed=1), at.position_table(5, 3, seed=1))
    assert np.any(at.position_table(5, 3, seed=1) != at.position_table(5, 3, seed=2))
    table = at.position_table(500, 300, seed=1)
    assert abs(table.std() - 0.02) < 1e-3
    assert abs(table.mean()) < 1e-3


def test_positions_added_and_concatenated(library, draw):
    words, positions = draw(2, 4, 6), draw(9, 6)
    library.equal(at.add_positions(library(words), library(positions)), words + positions[:4])
    behind = np.asarray(at.concatenate_positions(library(words), library(positions)))
    assert behind.shape == (2, 4, 12)
    library.equal(library(behind[..., :6]), words)
    library.equal(library(behind[1, :, 6:]), positions[:4])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("T", "S"), [(1, 1), (1, 5), (4, 1), (3, 3), (2, 4), (4, 7)])
def test_diagonal_prior(library, form, T, S):
    expected = naive.diagonal_prior(T, S, form, 0.5)
    library.equal(at.diagonal_prior(T, S, form=form, strength=0.5, like=library(np.ones(1))), expected)


@pytest.mark.parametrize("form", FORMS)
@given(T=sizes, S=sizes, strength=st.floats(0, 10))
def test_swapping_the_sentences_transposes_the_diagonal_prior(form, T, S, strength):
    prior = at.diagonal_prior(T, S, form=form, strength=strength)
    assert_array_equal(prior, at.diagonal_prior(S, T, form=form, strength=strength).T)


@given(T=sizes, S=sizes)
def test_the_centered_prior_is_the_same_backwards(T, S):
    prior = at.diagonal_prior(T, S)
    assert_allclose(prior[::-1, ::-1], prior, atol=1e-12)


def test_softmax_of_the_fast_align_prior_is_its_distribution():
    T, S, tension = 3, 5, 4.0
    h = np.array([[-abs(i / T - j / S) for j in range(1, S + 1)] for i in range(1, T + 1)])
    expected = np.exp(tension * h) / np.exp(tension * h).sum(axis=1, keepdims=True)
    assert_allclose(
        at.softmax(at.diagonal_prior(T, S, form="fast_align", strength=tension)), expected, rtol=1e-12
    )


@pytest.mark.parametrize("form", FORMS)
def test_empty_sentences(form):
    assert at.diagonal_prior(0, 3, form=form).shape == (0, 3)
    assert at.diagonal_prior(3, 0, form=form).shape == (3, 0)
    assert at.sinusoidal(0, 4).shape == (0, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: at.sinusoidal(3, 5), "expected an even D, found 5"),
        (
            lambda: at.add_positions(np.ones((4, 2)), np.ones((3, 2))),
            "at most 3 words, one for each position, found 4",
        ),
        (lambda: at.add_positions(np.ones((4, 2)), np.ones((5, 3))), "positions must have 2 entries"),
        (
            lambda: at.diagonal_prior(2, 2, form="gaussian"),
            "centered, fast_align, simalign, found 'gaussian'",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(UsageError, match=message):
        call()
