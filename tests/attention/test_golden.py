"""Worked numbers of the texts that this project grew from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign import attention as at

# --- Four words with queries, keys and values (texts 000 and 001) --------------------------------

WORDS = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
W_Q = np.array([[2, 0, 2], [2, 0, 0], [2, 1, 2]])
W_K = np.array([[2, 2, 2], [0, 2, 1], [0, 1, 1]])
W_V = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0]])
CONTEXTS = [
    [0.98522025, 1.74174051, 0.75652026],
    [0.90965265, 1.40965265, 0.5],
    [0.99851226, 1.75849334, 0.75998108],
    [0.99560386, 1.90407309, 0.90846923],
]


def test_the_matrices_are_what_legacy_numpy_draws_from_seed_42():
    random = np.random.RandomState(42)
    for matrix in (W_Q, W_K, W_V):
        assert_array_equal(random.randint(3, size=(3, 3)), matrix)


def test_scores_weights_and_context_of_the_first_word():
    query, keys, values = WORDS[0] @ W_Q, WORDS @ W_K, WORDS @ W_V
    assert_array_equal(at.dot(query, keys), [8, 2, 10, 2])
    weights = at.softmax(at.scaled_dot(query, keys))
    assert_allclose(weights, [0.23608986, 0.00738988, 0.74913039, 0.00738988], atol=5e-9)
    assert_allclose(weights @ values, CONTEXTS[0], atol=5e-9)


def test_all_words_at_once():
    assert_allclose(at.self_attention(WORDS, W_Q, W_K, W_V).context, CONTEXTS, atol=5e-9)


def test_one_query_at_a_time_gives_the_same():
    queries, keys, values = WORDS @ W_Q, WORDS @ W_K, WORDS @ W_V
    together = at.attend(queries, keys, values)
    for t, query in enumerate(queries):
        alone = at.attend(query, keys, values)
        assert_allclose(alone.context, together.context[t], rtol=1e-14)
        assert_allclose(alone.weights, together.weights[t], rtol=1e-14)


def test_a_matrix_product_worked_by_hand():
    queries = [[2, 0, 2], [2, 0, 0], [4, 0, 2], [2, 1, 2]]
    keys = [[2, 2, 2], [0, 2, 1], [2, 4, 3], [0, 1, 1]]
    expected = [[8, 2, 10, 2], [4, 0, 4, 0], [12, 2, 14, 2], [10, 4, 14, 3]]
    assert_array_equal(at.dot(queries, keys), expected)


def test_products_of_two_vectors_and_of_two_matrices():
    assert at.dot([1, 2, 3], [1, 0, 1]) == 4
    M_1, M_2 = [[1, 2], [3, 4]], [[5, 6], [7, 8]]
    assert_array_equal(at.dot(M_1, np.transpose(M_2)), [[19, 22], [43, 50]])
    assert_array_equal(at.linear(M_1, M_2), [[19, 22], [43, 50]])


# --- Attention from plain lists (text 003) -------------------------------------------------------

FULL = [
    [0.9999484585, 4.5397589783e-05, 6.1438956715e-06],
    [0.9908674726, 0.0066764125, 0.0024561149],
    [0.9646631560, 0.0176684220, 0.0176684220],
]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1, 2, 3], [0.09003057317, 0.24472847105, 0.66524095577]),
        ([1, 0, 1], [0.42231879825, 0.15536240350, 0.42231879825]),
        ([1, 0, 0], [0.57611688477, 0.21194155762, 0.21194155762]),
        ([4], [1.0]),
    ],
)
def test_softmax(row, expected):
    assert_allclose(at.softmax(row), expected, atol=5e-11)


def test_relevance_matrix_full():
    words = [[2, 4], [1, 2], [0, 2]]
    assert_allclose(at.softmax(at.dot(words, words)), FULL, rtol=1e-8)


def test_relevance_matrix_masked():
    words = [[2, 4], [1, 2], [0, 2]]
    expected = [[1, 0, 0], [0.9933071491, 0.0066928509, 0], FULL[2]]
    assert_allclose(at.softmax(at.mask_scores(at.dot(words, words), at.causal_mask(3))), expected, rtol=1e-8)


def contextualized(words):
    return at.attend(words, words, score=at.dot, mask=at.causal_mask(len(words))).context


def test_contextualised_vectors():
    expected = [[2, 4], [1.9933071491, 3.9866142981], [1.9380247020, 2.3991318813]]
    assert_allclose(contextualized([[2, 4], [1, 2], [2, 0.1]]), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([7, 2, 1], [3.4882417066, 3.3861879900, 3.1255703035]),  # each session has a chair
        ([1, 2, 7], [3.1255703035, 3.3861879900, 3.4882417066]),  # each person has a chair
    ],
)
def test_the_word_chair_in_two_contexts(second, expected):
    each, has, a, chair = [4, 3, 3], [3.5, 3, 3.5], [3, 3, 4], [3, 4, 3]
    assert_allclose(contextualized([each, second, has, a, chair])[-1], expected, rtol=1e-9)


def test_length_effect_and_its_cure():
    keys = [[2, 4], [1, 2], [2, 0.1]]
    word = keys[2]
    by_dot, by_cosine = at.dot(word, keys), at.cosine(word, keys)
    assert_allclose(by_dot, [4.4, 2.2, 4.01], rtol=1e-12)
    assert_allclose(at.softmax(by_dot), [0.56, 0.06, 0.38], atol=5e-3)
    assert by_dot.argmax() == 0  # more similar to a longer vector than to itself
    assert by_cosine.argmax() == 2
    assert_allclose(by_cosine[2], 1.0, rtol=1e-15)
    assert_allclose(by_cosine, at.dot(at.l2_normalize(word), at.l2_normalize(keys)), rtol=1e-15)


# --- Layer normalization, epsilon beside the deviation (text 002) --------------------------------


def test_layer_norm_divides_by_the_deviation_and_epsilon():
    """Of 1, 2, 3, 6: the mean is 3, the deviation sqrt((4 + 1 + 0 + 9) / 4)."""
    parameters = at.LayerNorm([2, 1, 1, 1], [0, 0, 5, 0], epsilon=0.5, eps_on_std=True)
    spread = 3.5**0.5 + 0.5
    expected = [2 * -2 / spread, -1 / spread, 5, 3 / spread]
    assert_allclose(at.layer_norm(parameters, [1, 2, 3, 6]), expected, rtol=1e-15)


# --- Bahdanau's score in two layers (text 004) ---------------------------------------------------


@pytest.fixture
def bahdanau_example():
    random = np.random.default_rng(4)
    hidden, attention, length = 16, 10, 5
    return (
        random.normal(size=(length, hidden)),  # encoder states h
        random.normal(size=(1, hidden)),  # decoder state s
        random.normal(size=(2 * hidden, attention)),  # layer 1
        random.random((attention, 1)),  # layer 2
    )


def test_two_layers_over_concatenated_states(bahdanau_example):
    h, s, layer_1, layer_2 = bahdanau_example
    inputs = np.concatenate([h, np.repeat(s, 5, axis=0)], axis=1)  # (5, 32)
    expected = (np.tanh(inputs @ layer_1) @ layer_2)[:, 0]
    score = lambda queries, keys: at.additive_concatenated(queries, keys, layer_1, layer_2)  # noqa: E731
    context, weights = at.attend(s, h, score=score)
    assert_allclose(score(s, h)[0], expected, rtol=1e-12)
    powers = np.exp(expected)
    assert_allclose(weights[0], powers / powers.sum(), rtol=1e-12)
    assert_allclose(context[0], (h * weights.T).sum(axis=0), rtol=1e-12)
    assert context.shape == (1, 16)


def test_summed_form_is_the_same_function(bahdanau_example):
    h, s, layer_1, layer_2 = bahdanau_example
    summed = at.additive(s, h, layer_1[16:], layer_1[:16], layer_2[:, 0])
    assert_allclose(summed, at.additive_concatenated(s, h, layer_1, layer_2), rtol=1e-14)


def test_softmax_does_not_overflow():
    assert_allclose(
        at.softmax([[1e4, 1e4 - 1], [-1e300, 1e300]]), [at.softmax([1.0, 0.0]), [0, 1]], rtol=1e-12
    )
    assert_allclose(at.softmax(np.array([3e38, 3e38], dtype=np.float32)), [0.5, 0.5])


def test_weights_of_the_main_job_unknown_words_are_zero_vectors():
    random = np.random.default_rng(0)
    english, french = random.normal(size=(4, 300)), random.normal(size=(3, 300))
    french[1] = 0
    weights = at.attend(french, english).weights
    expected = np.exp(french @ english.T / np.sqrt(300))
    assert_allclose(weights, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    assert_allclose(weights[1], 0.25)
