"""Scorers: worked numbers, the formula of the field, weights from files."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from nmtalign.attention.scores import additive_concatenated
from nmtalign.errors import DataError, UsageError
from nmtalign.scorers.vector_scores import (
    BahdanauScore,
    exact_parts,
    exact_rows,
    make_score,
    products_of_parts,
)
from tests.scorers.bahdanau import untrained_bahdanau

QUERIES = np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]])  # (T, D); an unknown word is the zero vector
KEYS = np.array([[3.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 4.0, 2.0]])  # (S, D)


def scores(name: str, **options: object) -> np.ndarray:
    score = make_score(untrained_bahdanau(4, seed=3) if name == "bahdanau" else name, 4, **options)
    return score(score.queries(QUERIES), score.keys(KEYS))


def test_dot_is_the_sum_of_products():
    np.testing.assert_array_equal(scores("dot"), [[3, 4, 10], [0, 0, 0]])


def test_scaled_dot_divides_by_the_root_of_the_dimension():
    np.testing.assert_array_equal(scores("scaled-dot"), [[1.5, 2, 5], [0, 0, 0]])


def test_cosine_looks_at_directions_only():
    expected = [[3 / math.sqrt(60), 4 / math.sqrt(24), 10 / math.sqrt(120)], [0, 0, 0]]
    # Entries of unit vectors are rounded by at most 2^-26: by Cauchy-Schwarz 2 sqrt(D) 2^-26 in a product.
    near = {"rtol": 0, "atol": 2 * math.sqrt(4) * 2**-26}
    np.testing.assert_allclose(scores("cosine", temperature=1.0), expected, **near)
    score = make_score("cosine", 4, temperature=1.0)
    longer = score(score.queries(7 * QUERIES), score.keys(0.01 * KEYS))
    np.testing.assert_allclose(longer, expected, **near)


def vectors(size: int, dimension: int, random: np.random.Generator) -> np.ndarray:
    """Vectors whose lengths lie over six decades, one of them zero."""
    rows = random.normal(size=(size, dimension))
    rows *= (10 ** random.uniform(-3, 3, size) / np.linalg.norm(rows, axis=1))[:, None]
    rows[size // 2] = 0
    return rows


@pytest.mark.parametrize("dimension", [1, 2, 50, 300, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_products_of_exact_rows_are_exact_in_any_order(dimension: int, seed: int):
    random = np.random.default_rng(seed)
    plain = [vectors(size, dimension, random) for size in (9, 33)]
    queries, keys = (exact_rows(rows) for rows in plain)
    expected = [
        [math.fsum(products) for products in query * keys] for query in queries
    ]  # sums without rounding
    order = random.permutation(dimension)
    for found in (
        queries @ keys.T,
        queries[:, order] @ keys[:, order].T,
        np.einsum("td,sd->ts", queries[:, ::-1], keys[:, ::-1]),
        np.matmul(queries[:, None], keys.T[None])[:, 0],
        np.stack([queries @ key for key in keys], axis=1),
        (queries[:, None, order] * keys[:, order]).sum(axis=2),
    ):
        np.testing.assert_array_equal(found, expected)
    lengths = np.outer(*(np.linalg.norm(rows, axis=1) for rows in plain))
    assert (
        np.abs(queries @ keys.T - plain[0] @ plain[1].T) <= 4 * math.sqrt(dimension) * 2**-26 * lengths
    ).all()


def exact_product(query: np.ndarray, key: np.ndarray) -> float:
    """The dot product of two vectors in fractions, rounded once."""
    return float(sum(Fraction(a) * Fraction(b) for a, b in zip(query, key, strict=True)))


@pytest.mark.parametrize("dimension", [1, 2, 50, 300, 1000])
def test_products_of_three_parts_have_double_precision_in_any_order(dimension: int):
    random = np.random.default_rng(dimension)
    plain = [vectors(size, dimension, random) for size in (9, 33)]
    queries, keys = (exact_parts(rows, 3) for rows in plain)
    found = products_of_parts(queries, keys)
    expected = [[exact_product(query, key) for key in plain[1]] for query in plain[0][::4]]
    lengths = np.outer(*(np.linalg.norm(rows, axis=1) for rows in (plain[0][::4], plain[1])))
    assert (np.abs(found[::4] - expected) <= 2**-51 * lengths).all()
    order = random.permutation(dimension)
    np.testing.assert_array_equal(products_of_parts(queries[..., order], keys[..., order]), found)
    alone = [[products_of_parts(q[None], k[None])[0, 0] for k in keys] for q in queries]
    np.testing.assert_array_equal(alone, found)


def test_rows_of_few_bits_and_zeros_stay_as_they_are():
    rows = np.vstack([QUERIES, KEYS, [[1e-3 * 2**-20, 0, 0, 0]]])
    rows[-1] = np.ldexp(np.rint(np.ldexp(rows[-1], 50)), -50)
    np.testing.assert_array_equal(exact_rows(rows), rows)
    np.testing.assert_array_equal(exact_rows(exact_rows(rows / 3)), exact_rows(rows / 3))


@pytest.mark.parametrize(("dimension", "scale"), [(4, 8), (144, 12), (300, math.sqrt(300)), (900, 20)])
def test_cosine_is_scaled_by_the_root_of_the_dimension_within_bounds(dimension: int, scale: float):
    assert make_score("cosine", dimension).scale == pytest.approx(scale)


@pytest.mark.parametrize("name", ["dot", "scaled-dot", "cosine", "bahdanau"])
def test_temperature_divides_the_scores(name: str):
    np.testing.assert_allclose(scores(name, temperature=0.25), 4 * scores(name, temperature=1.0), rtol=1e-12)


def test_bahdanau_is_the_formula_of_the_paper():
    score = untrained_bahdanau(4, seed=3)
    expected = [
        [score.v @ np.tanh(score.W.T @ query + score.U.T @ key + score.b) for key in KEYS]
        for query in QUERIES
    ]
    np.testing.assert_allclose(scores("bahdanau"), expected, rtol=1e-12)


def test_bahdanau_projects_each_word_alike_alone_and_among_others():
    score, words = untrained_bahdanau(300), np.random.default_rng(0).normal(size=(40, 300))
    for n in range(40):
        np.testing.assert_array_equal(score.queries(words)[n], score.queries(words[n : n + 1])[0])
        np.testing.assert_array_equal(score.keys(words)[n], score.keys(words[n:])[0])


def test_untrained_weights_are_repeatable_and_say_so():
    first, again, other = (untrained_bahdanau(4, seed=seed) for seed in (5, 5, 6))
    assert "untrained, seed 5" in first.description
    np.testing.assert_array_equal(first.W, again.W)
    assert (first.W != other.W).any()


def test_bahdanau_weights_come_from_a_file(tmp_path):
    made = untrained_bahdanau(4, seed=1)
    path = tmp_path / "weights.npz"
    np.savez(path, W=made.W, U=made.U, v=made.v, b=np.full(128, 0.5))
    read = BahdanauScore.load(path, 4)
    assert read.description == "score=bahdanau(weights.npz) scale=1"
    shifted = BahdanauScore(made.W, made.U, made.v, np.full(128, 0.5))
    np.testing.assert_array_equal(read.queries(QUERIES), shifted.queries(QUERIES))


def test_weights_of_two_layers_over_concatenated_vectors_are_read(tmp_path):
    random = np.random.default_rng(3)
    layer_1, layer_2 = random.normal(size=(8, 10)), random.normal(size=(10, 1))
    np.savez(tmp_path / "layers.npz", layer_1=layer_1, layer_2=layer_2)
    read = BahdanauScore.load(tmp_path / "layers.npz", 4)
    np.testing.assert_allclose(
        read(read.queries(QUERIES), read.keys(KEYS)),
        additive_concatenated(QUERIES, KEYS, layer_1, layer_2),
        rtol=1e-12,
    )
    with pytest.raises(DataError, match=r"layers.npz, W: expected 5 x 10 entries, found 3 x 10"):
        BahdanauScore.load(tmp_path / "layers.npz", 5)


FITTING = {"W": np.ones((4, 2)), "U": np.ones((4, 2)), "v": np.ones(2)}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"W": np.ones((4, 2)), "U": np.ones((4, 2))}, r"arrays W, U and v, or .*; found \['U', 'W'\]"),
        ({"W": np.ones((3, 2)), "U": np.ones((4, 2)), "v": np.ones(2)}, "W: expected 4 x 2 .* found 3 x 2"),
        (FITTING | {"b": np.ones(1)}, "b: expected 2 entries, found 1"),
        (FITTING | {"W": np.full((4, 2), np.nan)}, "W: expected a finite number, found nan"),
        (FITTING | {"v": np.array([1.0, -np.inf])}, "v: expected a finite number, found -inf"),
        (FITTING | {"b": np.array([1.0, 1e300])}, "b: expected numbers from -.* found 1e.300"),
    ],
)
def test_a_weights_file_that_does_not_fit_is_refused(tmp_path, arrays, message):
    path = tmp_path / "weights.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=message) as caught:
        BahdanauScore.load(path, 4)
    assert str(path) in str(caught.value)


def test_a_weights_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "weights.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match="not a readable file of arrays"):
        BahdanauScore.load(path, 4)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bahdanau", {}),
        ("cosine", {"parameters": "w.npz"}),
        (untrained_bahdanau(4), {"parameters": "w.npz"}),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, options):
    with pytest.raises(UsageError):
        make_score(name, 4, **options)


def test_weights_that_are_no_file_are_refused():
    with pytest.raises(UsageError, match="expected the path of a file or folder, found 3"):
        make_score("bahdanau", 4, parameters=3)
