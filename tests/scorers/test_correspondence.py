"""Correspondence analysis of links and of words by sentence pairs: equal to the dense definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix

from nmtalign.scorers.dense import correspondence_analysis


def table(seed: int, shape: tuple[int, int] = (40, 30), density: float = 0.2) -> csr_array:
    random = np.random.default_rng(seed)
    return csr_array(9 * random.random(shape) * (random.random(shape) < density))


def dense_definition(counts: csr_array, size: int, power: float) -> np.ndarray:
    """The best product of rank `size` to the scaled counts, by the exact singular values."""
    c = counts.toarray()
    margins = np.outer(c.sum(axis=1) + 0.5, c.sum(axis=0) + 0.5)
    U, s, Vt = np.linalg.svd((c / np.sqrt(margins)) ** power, full_matrices=False)
    return np.asarray(U[:, :size] * s[:size] @ Vt[:size])


@pytest.mark.parametrize("power", [1.0, 0.75])
@pytest.mark.parametrize("size", [3, 10])
def test_products_equal_those_of_the_dense_definition(size: int, power: float) -> None:
    """With 20 directions beside the wanted ones, 23 or 30 of 30 are kept: as good as exact."""
    counts = table(size)
    source, target = correspondence_analysis(counts, size, power=power)
    assert source.dtype == target.dtype == np.float32
    expected = dense_definition(counts, size, power)
    np.testing.assert_allclose(source @ target.T, expected, atol=2e-3)


def test_both_sides_share_the_singular_values() -> None:
    source, target = correspondence_analysis(table(1), 8)
    lengths = np.linalg.norm(source, axis=0)
    np.testing.assert_allclose(lengths, np.linalg.norm(target, axis=0), rtol=1e-4)
    assert (np.diff(lengths) <= 1e-5).all()


def test_words_without_links_are_zero_and_change_nothing() -> None:
    counts = table(2)
    rows, columns = np.arange(40) * 2, np.arange(30) + 5
    wide = np.zeros((90, 50))
    wide[np.ix_(rows, columns)] = counts.toarray()
    narrow, spread = correspondence_analysis(counts, 6), correspondence_analysis(csr_array(wide), 6)
    for k, places in enumerate((rows, columns)):
        np.testing.assert_array_equal(spread[k][places], narrow[k])
        assert not np.delete(spread[k], places, axis=0).any()


@pytest.mark.parametrize("form", [csr_matrix, coo_array, csr_array])
def test_any_sparse_form_will_do(form: type) -> None:
    counts = table(3)
    before = counts.copy()
    found = correspondence_analysis(form(counts), 4, power=0.5)
    np.testing.assert_array_equal(found[0], correspondence_analysis(counts, 4, power=0.5)[0])
    assert (counts != before).nnz == 0


def test_few_words_leave_columns_of_zeros() -> None:
    source, target = correspondence_analysis(csr_array(np.eye(3)), 5)
    assert source.shape == target.shape == (3, 5)
    assert not source[:, 3:].any()
    np.testing.assert_allclose(source @ target.T, np.eye(3) / 1.5, atol=1e-6)
    empty, _ = correspondence_analysis(csr_array((4, 3)), 2)
    np.testing.assert_array_equal(empty, np.zeros((4, 2)))


@given(st.integers(0, 5), st.integers(1, 12))
def test_swapped_tables_give_swapped_products(seed: int, size: int) -> None:
    counts = table(seed, (12, 9), 0.5)  # so few words that nothing is left to chance
    source, target = correspondence_analysis(counts, size)
    there, back = correspondence_analysis(csr_array(counts.T), size)
    np.testing.assert_allclose(source @ target.T, back @ there.T, atol=1e-5)
