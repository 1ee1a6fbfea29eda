"""Laws of the Transformer's layers; equality with PyTorch stands in test_torch.py."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign import attention as at
from nmtalign.errors import UsageError

from . import naive

T, S, D, H, F = 4, 6, 8, 2, 10


def test_layer_norm_against_slow_loops(library, draw):
    x, gain, bias = draw(3, T, D), draw(D), draw(D)
    expected = [[naive.layer_norm(row, gain, bias, 1e-3) for row in sentence] for sentence in x]
    library.equal(at.layer_norm(library(at.LayerNorm(gain, bias, 1e-3)), library(x)), expected)


@given(scale=st.floats(1, 1e4), shift=st.floats(-1e3, 1e3), seed=st.integers(0, 999))
def test_layer_norm_has_mean_0_and_variance_1(scale, shift, seed):
    x = np.random.default_rng(seed).normal(size=(3, D)) * scale + shift
    y = at.layer_norm(at.LayerNorm.init(D), x)
    assert_allclose(y.mean(axis=-1), 0, atol=1e-9)
    assert_allclose(y.var(axis=-1), 1, atol=1e-3)


def test_a_block_has_as_many_norms_as_sublayers():
    blocks = (at.TransformerBlock.init(D, H, F, seed=0, decoder=decoder) for decoder in (False, True))
    assert [len(block.norms) for block in blocks] == [2, 3]


@pytest.mark.parametrize("epsilon", [1e-5, 0.3])
def test_layer_norm_of_the_deviation_in_every_library(library, draw, epsilon):
    x, gain, bias = draw(T, D), draw(D), draw(D)
    centered = x - x.mean(axis=1, keepdims=True)
    expected = centered / (x.std(axis=1, keepdims=True) + epsilon) * gain + bias
    library.equal(at.layer_norm(library(at.LayerNorm(gain, bias, epsilon, True)), library(x)), expected)


def test_layer_norm_of_equal_entries_is_the_bias():
    assert_array_equal(
        at.layer_norm(at.LayerNorm(np.ones(3), np.array([1.0, 2, 3])), [[5, 5, 5]]), [[1, 2, 3]]
    )


def test_feed_forward_works_on_each_word_by_itself(draw):
    parameters, x = at.FeedForward.init(D, F, seed=0), draw(T, D)
    together = at.feed_forward(parameters, x)
    for word, result in zip(x, together, strict=True):
        assert_allclose(at.feed_forward(parameters, word), result, rtol=1e-12)
        assert_allclose(np.maximum(word @ parameters.W_1, 0) @ parameters.W_2, result, rtol=1e-12)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_where_the_norms_stand(draw, pre_norm):
    block, x = at.TransformerBlock.init(D, H, F, seed=0, pre_norm=pre_norm), draw(S, D)
    variance = at.encoder_block(block, x).context.var(axis=-1)
    assert np.all(np.abs(variance - 1) < 1e-3) != pre_norm


@pytest.mark.parametrize("pre_norm", [True, False])
def test_target_words_see_the_source_and_the_past(draw, pre_norm):
    parameters = at.Transformer.init(D, H, F, layers=2, seed=0, pre_norm=pre_norm)
    source, target = draw(S, D), draw(T, D)
    before = at.transformer(parameters, source, target)
    changed = target.copy()
    changed[2:] = draw(2, D)
    after = at.transformer(parameters, source, changed)
    assert_array_equal(after.words[:2], before.words[:2])
    assert np.abs(after.words[2:] - before.words[2:]).min() > 0
    source[-1] = draw(D)
    assert np.abs(at.transformer(parameters, source, target).words - before.words).max(axis=-1).min() > 0


def test_three_kinds_of_attention(draw):
    parameters = at.Transformer.init(D, H, F, layers=3, seed=0)
    result = at.transformer(parameters, draw(2, S, D), draw(2, T, D))
    shapes = [weights[0].shape for weights in result[2:]]
    assert shapes == [(2, H, S, S), (2, H, T, T), (2, H, T, S)]
    for weights in (*result.encoder_weights, *result.decoder_weights, *result.cross_weights):
        assert_allclose(weights.sum(axis=-1), 1, rtol=1e-12)
    assert_array_equal(result.decoder_weights[1], np.tril(result.decoder_weights[1]))


def test_padding_of_either_side_changes_nothing(draw):
    parameters = at.Transformer.init(D, H, F, layers=2, seed=0)
    source, target = draw(2, S, D), draw(2, T, D)
    padded = at.transformer(
        parameters,
        source,
        target,
        source_mask=at.padding_mask([3, S], S),
        target_mask=at.padding_mask([2, T], T),
    )
    short = at.transformer(parameters, source[0, :3], target[0, :2])
    assert_allclose(padded.words[0, :2], short.words, rtol=1e-10)
    assert_allclose(padded.memory[0, :3], short.memory, rtol=1e-10)


def test_a_mask_of_the_target_joins_the_causal_mask(draw):
    block, x, memory = at.TransformerBlock.init(D, H, F, seed=0, decoder=True), draw(T, D), draw(S, D)
    hidden = np.ones((T, T), dtype=bool)
    hidden[2, 0] = False
    weights = at.decoder_block(block, x, memory, mask=hidden).self_weights
    assert_array_equal(weights[:, 2, 0], 0)
    assert_array_equal(weights, np.tril(weights))
    assert weights[:, 2, 1].min() > 0


def test_a_decoder_alone_sees_the_past_and_no_source(library, draw):
    block, x = at.TransformerBlock.init(D, H, F, seed=0, pre_norm=True), draw(2, T, D)
    words, self_weights, cross_weights = at.decoder_block(library(block), library(x))
    expected = at.encoder_block(block, x, mask=at.causal_mask(T))
    library.equal(words, expected.context)
    library.equal(self_weights, expected.weights)
    assert cross_weights is None
    changed = x.copy()
    changed[:, 2:] = 0
    after = at.decoder_block(block, changed).words
    assert_array_equal(after[:, :2], at.decoder_block(block, x).words[:, :2])


def test_cross_attention_and_memory_come_together(draw):
    with pytest.raises(UsageError, match="expected a block with cross-attention"):
        at.decoder_block(at.TransformerBlock.init(D, H, F, seed=0), draw(T, D), draw(S, D))
    with pytest.raises(UsageError, match="expected a memory"):
        at.decoder_block(at.TransformerBlock.init(D, H, F, seed=0, decoder=True), draw(T, D))


@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh"])
def test_activations_by_name(draw, activation):
    x = draw(T, D)
    parameters = at.FeedForward.init(D, F, seed=0, activation=activation)
    inner = x @ parameters.W_1
    by_name = {
        "relu": inner * (inner > 0),
        "gelu": inner * np.vectorize(NormalDist().cdf)(inner),
        "tanh": np.tanh(inner),
    }
    expected = by_name[activation] @ parameters.W_2
    assert_allclose(at.feed_forward(parameters, x), expected, rtol=1e-10, atol=1e-12)
    whole = at.Transformer.init(D, H, F, layers=1, seed=0, activation=activation)
    assert {b.feed_forward.activation for b in (*whole.encoder, *whole.decoder)} == {activation}
    with pytest.raises(UsageError, match="one of the activations relu, gelu, tanh, found 'swish'"):
        at.FeedForward.init(D, F, seed=0, activation="swish")
