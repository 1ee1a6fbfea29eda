"""Attention against slow loops, and the laws of self-, masked, cross- and multi-head attention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign import attention as at
from nmtalign.errors import UsageError

from . import naive

T, S, D = 4, 6, 8
sizes = st.integers(1, 6)


@pytest.mark.parametrize("masked", [False, True])
def test_attend_against_slow_loops(library, draw, random, masked):
    queries, keys, values = draw(T, D), draw(S, D), draw(S, 3)
    mask = random.random((T, S)) < 0.5 if masked else np.ones((T, S), dtype=bool)
    mask[0] = not masked
    context, weights = naive.attend(queries, keys, values, mask)
    attended = at.attend(library(queries), library(keys), library(values), mask=library(mask))
    library.equal(attended.context, context)
    library.equal(attended.weights, weights)


@pytest.mark.parametrize("heads", [1, 2, 8])
def test_multi_head_against_slow_loops(library, draw, heads):
    queries, keys = draw(T, 5), draw(S, 7)
    W_Q, W_K, W_V, W_O = draw(5, D), draw(7, D), draw(7, D), draw(D, 3)
    mask = at.causal_mask(T, S)
    expected = naive.multi_head(queries, keys, keys, W_Q, W_K, W_V, W_O, heads, mask)
    parameters = library(at.MultiHead(W_Q, W_K, W_V, W_O, heads))
    attended = at.multi_head(parameters, library(queries), library(keys), mask=library(mask))
    library.equal(attended.context, expected)
    assert attended.weights.shape == (heads, T, S)


@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (0, 0)])
def test_empty_sentences(draw, lengths):
    queries, keys = draw(lengths[0], D), draw(lengths[1], D)
    assert_array_equal(at.attend(queries, keys).context, np.zeros((lengths[0], D)))
    parameters = at.MultiHead.init(D, 2, seed=0)
    assert_array_equal(at.multi_head(parameters, queries, keys).context, np.zeros((lengths[0], D)))


@pytest.mark.parametrize("normalize", [at.softmax, at.sparsemax, at.entmax15])
@given(T=sizes, S=sizes, seed=st.integers(0, 999))
def test_permuting_keys_and_values_together_changes_nothing(normalize, T, S, seed):
    random = np.random.default_rng(seed)
    queries, keys, values = (random.normal(size=size) for size in ((T, 3), (S, 3), (S, 2)))
    order = random.permutation(S)
    before = at.attend(queries, keys, values, normalize=normalize)
    after = at.attend(queries, keys[order], values[order], normalize=normalize)
    assert_allclose(after.context, before.context, rtol=1e-10, atol=1e-10)
    assert_allclose(after.weights, before.weights[:, order], rtol=1e-10, atol=1e-10)


@given(N=st.integers(2, 6), seed=st.integers(0, 999))
def test_permuting_the_words_permutes_self_attention_until_positions_are_added(N, seed):
    random = np.random.default_rng(seed)
    words, *matrices = (random.normal(size=size) for size in ((N, 4), (4, 4), (4, 4), (4, 4)))
    order = np.roll(np.arange(N), 1)
    plain = at.self_attention(words, *matrices).context
    assert_allclose(at.self_attention(words[order], *matrices).context, plain[order], rtol=1e-9, atol=1e-9)
    placed = at.self_attention(words + at.sinusoidal(N, 4), *matrices).context
    moved = at.self_attention(words[order] + at.sinusoidal(N, 4), *matrices).context
    assert np.abs(moved - placed[order]).max() > 1e-6


@given(N=st.integers(1, 6), cut=st.integers(0, 5), seed=st.integers(0, 999))
def test_with_a_causal_mask_no_row_sees_the_future(N, cut, seed):
    random = np.random.default_rng(seed)
    words = random.normal(size=(N, 4))
    changed = words.copy()
    changed[cut + 1 :] = random.normal(size=changed[cut + 1 :].shape)
    parameters = at.MultiHead.init(4, 2, seed=seed)
    before, after = (at.multi_head(parameters, x, mask=at.causal_mask(N)) for x in (words, changed))
    assert_array_equal(before.context[: cut + 1], after.context[: cut + 1])
    assert_array_equal(before.weights, np.tril(before.weights))


def test_cross_attention_has_a_row_for_each_target_word(draw):
    attended = at.cross_attention(draw(T, 5), draw(S, 7), draw(5, D), draw(7, D), draw(7, 2))
    assert attended.context.shape == (T, 2)
    assert attended.weights.shape == (T, S)


@pytest.mark.parametrize("heads", [1, 2, 4, D])
def test_heads_are_single_heads_side_by_side(draw, heads):
    W_Q, W_K, W_V, words = draw(D, D), draw(D, D), draw(D, D), draw(T, D)
    many = at.multi_head(at.MultiHead(W_Q, W_K, W_V, np.eye(D), heads), words)
    for h in range(heads):
        own = slice(h * D // heads, (h + 1) * D // heads)
        single = at.self_attention(words, W_Q[:, own], W_K[:, own], W_V[:, own])
        assert_allclose(many.context[:, own], single.context, rtol=1e-10)
        assert_allclose(many.weights[h], single.weights, rtol=1e-10)


def test_heads_are_independent(draw):
    W_Q, W_K, W_V, words = draw(D, D), draw(D, D), draw(D, D), draw(T, D)
    before = at.multi_head(at.MultiHead(W_Q, W_K, W_V, np.eye(D), 2), words)
    W_Q[:, : D // 2] += 1
    after = at.multi_head(at.MultiHead(W_Q, W_K, W_V, np.eye(D), 2), words)
    assert_array_equal(after.weights[1], before.weights[1])
    assert np.abs(after.weights[0] - before.weights[0]).max() > 1e-3


def test_a_mask_speaks_to_all_heads_and_a_bias_to_each(draw):
    parameters, words = at.MultiHead.init(D, 2, seed=0), draw(3, T, D)
    mask = at.padding_mask([1, 2, 4], T)
    bias = draw(2, T, T)
    weights = at.multi_head(parameters, words, mask=mask, bias=bias).weights
    assert weights.shape == (3, 2, T, T)
    assert_array_equal(weights[0, :, :, 1:], 0)
    bias[1] = 0
    alone = at.multi_head(parameters, words, mask=mask).weights
    some = at.multi_head(parameters, words, mask=mask, bias=bias).weights
    assert_array_equal(some[:, 1], alone[:, 1])
    assert np.abs(some[:, 0] - alone[:, 0]).max() > 1e-3


def test_multi_head_can_use_another_score(draw):
    parameters, words = at.MultiHead.init(D, 2, seed=0), draw(T, D)
    attended = at.multi_head(parameters, words, score=lambda q, k: at.dot(q, k) / np.sqrt(D / 2))
    assert_allclose(attended.context, at.multi_head(parameters, words).context, rtol=1e-12)


@pytest.mark.parametrize("normalize", [at.sparsemax, at.entmax15])
def test_multi_head_can_normalize_otherwise(draw, normalize):
    parameters, words = at.MultiHead(*(draw(D, D) for _ in range(4)), heads=2), draw(T, D)
    weights = at.multi_head(parameters, words, normalize=normalize).weights
    queries, keys = words @ parameters.W_Q, words @ parameters.W_K
    for h, own in enumerate((slice(0, 4), slice(4, 8))):
        assert_allclose(weights[h], normalize(at.scaled_dot(queries[:, own], keys[:, own])), rtol=1e-12)
    assert (weights == 0).any()


def test_batches_are_their_sentences_one_by_one(draw):
    parameters, words, memory = at.MultiHead.init(D, 2, seed=0), draw(5, T, D), draw(5, S, D)
    together = at.multi_head(parameters, words, memory)
    for b in range(5):
        assert_allclose(
            at.multi_head(parameters, words[b], memory[b]).context, together.context[b], rtol=1e-12
        )


@pytest.mark.parametrize("heads", [0, 3, 16, -2])
def test_heads_that_do_not_divide_are_refused(heads):
    with pytest.raises(UsageError, match=f"8 dimensions do not divide into {heads} heads"):
        at.MultiHead.init(D, heads, seed=0)


def test_errors(draw):
    with pytest.raises(UsageError, match=r"values must have 6 entries along axis -2 .* found shape \(5, 8\)"):
        at.attend(draw(T, D), draw(S, D), draw(5, D))
    with pytest.raises(UsageError, match="W must have 8 entries"):
        at.linear(draw(T, D), draw(3, 3))
