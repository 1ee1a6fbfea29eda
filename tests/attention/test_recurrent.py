"""Recurrent networks and Bahdanau's model against slow loops; test_torch.py compares with PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign import attention as at
from nmtalign.errors import UsageError

from . import naive

D, A, N = 4, 3, 5


@pytest.mark.parametrize("reset_after", [True, False])
def test_gru_against_slow_loops(library, draw, reset_after):
    arrays = draw(D, 3 * A), draw(A, 3 * A), draw(3 * A), draw(3 * A)
    words, state = draw(2, D), draw(A)
    first = naive.gru_step(words[0], state, *arrays, reset_after=reset_after)
    expected = [first, naive.gru_step(words[1], first, *arrays, reset_after=reset_after)]
    library.equal(at.gru(library(at.GRU(*arrays, reset_after)), library(words), library(state)), expected)


@pytest.mark.parametrize("reset_after", [True, False])
def test_a_gru_without_biases(draw, reset_after):
    W, U, words = draw(D, 3 * A), draw(A, 3 * A), draw(N, D)
    zero = np.zeros(3 * A)
    with_zeros = at.gru(at.GRU(W, U, zero, zero, reset_after), words)
    assert_allclose(at.gru(at.GRU(W, U, reset_after=reset_after), words), with_zeros)


def test_a_gru_goes_on_from_a_state(draw):
    parameters, words = at.GRU.init(D, A, seed=0), draw(N, D)
    states = at.gru(parameters, words)
    assert_allclose(at.gru(parameters, words[2:], states[1]), states[2:], rtol=1e-12)


def test_large_scores_do_not_overflow():
    parameters = at.GRU(np.full((1, 3), 1e6), np.full((1, 3), -1e6))
    assert np.all(np.isfinite(at.gru(parameters, [[1.0], [-1.0], [1.0]])))


def test_backward_is_forward_over_the_reversed_sentence(draw):
    parameters, words = at.GRU.init(D, A, seed=0), draw(N, D)
    assert_allclose(at.gru(parameters, words, backward=True), at.gru(parameters, words[::-1])[::-1])


def test_padding_passes_the_state_on(draw):
    encoder, words = at.RecurrentEncoder.init(D, A, layers=1, seed=0), draw(2, N, D)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], dtype=bool)
    padded = at.recurrent_encoder(encoder, words, mask=mask)
    assert_allclose(padded[1, :2], at.recurrent_encoder(encoder, words[1, :2]), rtol=1e-12)
    assert_allclose(padded[0], at.recurrent_encoder(encoder, words[0]), rtol=1e-12)


def test_no_words():
    assert at.gru(at.GRU.init(D, A, seed=0), np.zeros((2, 0, D))).shape == (2, 0, A)


def test_stacked_layers_read_each_other(draw):
    encoder, words = at.RecurrentEncoder.init(D, A, layers=2, seed=0), draw(N, D)
    first, second = (at.RecurrentEncoder((layer,)) for layer in encoder.layers)
    below = at.recurrent_encoder(first, words)
    assert_array_equal(at.recurrent_encoder(encoder, words), at.recurrent_encoder(second, below))
    one_way = at.RecurrentEncoder.init(D, A, layers=2, seed=0, bidirectional=False)
    assert at.recurrent_encoder(one_way, words).shape == (N, A)


def test_bahdanau_against_slow_loops(library, draw):
    parameters = at.Bahdanau.init(D, 6, A, 7, seed=0)
    source, target = draw(N, D), draw(4, 6)
    expected = naive.bahdanau(parameters, source, target)
    steps = at.align_sentence(library(parameters), library(source), library(target))
    for mine, slow in zip(steps, expected, strict=True):
        library.equal(mine, slow)


def test_bahdanau_in_a_batch_with_padding(draw):
    parameters = at.Bahdanau.init(D, 6, A, 7, seed=0)
    source, target = draw(2, N, D), draw(2, 4, 6)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=bool)
    steps = at.align_sentence(parameters, source, target, mask=mask)
    assert_allclose(steps.weights.sum(axis=-1), 1, rtol=1e-12)
    assert_array_equal(steps.weights[1, :, 3:], 0)
    alone = at.align_sentence(parameters, source[1, :3], target[1])
    assert_allclose(steps.weights[1, :, :3], alone.weights, rtol=1e-10)
    assert_allclose(steps.state[1], alone.state, rtol=1e-10)


def test_one_step_of_bahdanau(draw):
    parameters, source = (
        at.Bahdanau.init(D, 6, A, 7, seed=0),
        at.annotate(at.Bahdanau.init(D, 6, A, 7, seed=0), draw(N, D)),
    )
    assert source.states.shape == (N, 2 * A)
    step = at.decode_step(parameters, draw(6), source.first_state, source)
    assert step.state.shape == (A,)
    assert_allclose(step.context, step.weights @ source.states, rtol=1e-12)


def test_each_step_knows_only_words_that_were_chosen_before(draw):
    parameters = at.Bahdanau.init(D, 6, A, 7, seed=0)
    source, target = draw(N, D), draw(4, 6)
    before = at.align_sentence(parameters, source, target)
    target[1] += 1
    after = at.align_sentence(parameters, source, target)
    assert_array_equal(after.state[:2], before.state[:2])
    assert np.abs(after.state[2] - before.state[2]).max() > 1e-3
    assert_array_equal(after.weights[:3], before.weights[:3])  # from the state before
    assert np.abs(after.weights[3] - before.weights[3]).max() > 1e-6


@pytest.mark.parametrize(("S", "T"), [(0, 2), (2, 0)])
def test_an_empty_sentence_is_refused(S, T):
    with pytest.raises(UsageError, match=f"words on both sides, found {S} and {T}"):
        at.align_sentence(at.Bahdanau.init(D, 6, A, 7, seed=0), np.zeros((S, D)), np.zeros((T, 6)))
