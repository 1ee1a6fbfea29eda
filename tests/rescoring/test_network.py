"""The network of the rescorer: a cell by hand, its gradient beside differences, Adam beside its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nmtalign.rescoring import network
from nmtalign.rescoring.features import FREQUENT, LEXICAL, LOGIT, POSTERIOR, Inputs, on_grid
from nmtalign.rescoring.network import Batch, Network, Weights, initial, loss_and_gradient, mean_of
from nmtalign.rescoring.optimiser import Adam

B, T, S, D, F = 2, 3, 4, 5, LEXICAL


def made_up_inputs(*, dimension: int = D, features: int = F, seed: int = 0) -> Inputs:
    random = np.random.default_rng(seed)
    return Inputs(
        on_grid(random.normal(size=(B, T, dimension))),
        on_grid(random.normal(size=(B, S, dimension))),
        on_grid(random.normal(size=(B, T, S, features))),
        random.integers(0, 4, (B, T, 1)),
        random.integers(0, 4, (B, 1, S)),
        np.ones((B, T, S), bool),
    )


def test_a_cell_by_hand():
    inputs = Inputs(
        np.array([[[1.0, 0.0]]]),
        np.array([[[0.0, 2.0]]]),
        np.array([[[[3.0]]]]),
        np.array([[[1]]]),
        np.array([[[0]]]),
        np.ones((1, 1, 1), bool),
    )
    one = np.ones
    weights = Weights(
        W=np.array([[0.5], [9.0]]),
        U=np.array([[9.0], [-0.25]]),
        P=np.array([[0.125]]),
        b=np.array([0.25]),
        v=np.array([2.0]),
        u=np.array([0.5]),
        a=np.array([0.0, 0.75]),
        c=np.array([0.0, 5.0]),
        o=-one(1),
    )
    expected = 2 * math.tanh(0.5 - 0.5 + 0.375 + 0.25) + 1.5 + 0.75 + 0 - 1
    assert Network("additive", weights).scores(inputs)[0, 0, 0] == pytest.approx(expected)
    dots = 0.5 * -0.5 / math.sqrt(1)
    assert Network("scaled-dot", weights).scores(inputs)[0, 0, 0] == pytest.approx(dots + 1.5 + 0.75 - 1)


@pytest.mark.parametrize(
    ("name", "dimension", "features"),
    [("additive", 0, LEXICAL + POSTERIOR), ("additive", D, 0), ("additive", D, F), ("scaled-dot", D, F)],
)
def test_the_gradient_is_the_numerical_one(monkeypatch, name, dimension, features):
    monkeypatch.setattr(network, "_coarse", lambda projected: projected)  # steps are finer than the grid
    random = np.random.default_rng(1)
    first = initial(name, dimension, features, seed=0, hidden=3)
    weights = Weights(*(random.normal(0, 0.3, w.shape) for w in first.weights))
    inputs = made_up_inputs(dimension=dimension, features=features)
    if not features:
        inputs = inputs._replace(target_words=0 * inputs.target_words, source_words=0 * inputs.source_words)
    batch = Batch(inputs, random.random((B, T, S)), random.integers(0, 3, (B, T, S)).astype(float))
    _, gradient = loss_and_gradient(Network(name, weights), batch)
    for field, own, slopes in zip(Weights._fields, weights, gradient, strict=True):
        assert own.shape == slopes.shape
        if field in "ac":
            assert slopes[0] == 0
        start = 1 if field in "ac" else 0
        for place in np.unique(np.linspace(start, own.size - 1, 9).astype(int)) if own.size > start else ():
            losses = []
            for step in (1e-4, -1e-4):
                moved = own.copy()
                moved.flat[place] += step
                changed = Network(name, weights._replace(**{field: moved}))
                losses.append(loss_and_gradient(changed, batch)[0])
            assert (losses[0] - losses[1]) / 2e-4 == pytest.approx(slopes.flat[place], abs=2e-6), field


@pytest.mark.parametrize("name", ["additive", "scaled-dot"])
def test_the_same_bits_in_any_company_and_padding(name):
    random = np.random.default_rng(5)
    own = initial(name, 33, F, seed=2, hidden=19).rounded()
    queries, keys, cells = (
        on_grid(random.normal(0, 2, shape)) for shape in ((7, 5, 33), (7, 23, 33), (7, 5, 23, F))
    )
    places = random.integers(0, 9, (7, 5, 1)), random.integers(0, 9, (7, 1, 23))
    together = own.scores(Inputs(queries, keys, cells, *places, np.ones((7, 5, 23), bool)))
    assert together.dtype == np.float32
    for n, (T1, S1) in enumerate([(5, 23), (1, 23), (5, 1), (3, 2), (2, 7), (4, 22), (1, 1)]):
        parts = queries[n, :T1], keys[n, :S1], cells[n, :T1, :S1], places[0][n, :T1], places[1][n, :, :S1]
        alone = Inputs(*(np.ascontiguousarray(part[None]) for part in parts), np.ones((1, T1, S1), bool))
        np.testing.assert_array_equal(own.scores(alone)[0], together[n, :T1, :S1])


def test_untaught_by_gold_it_is_nearly_the_log_odds_of_the_aligner():
    inputs = made_up_inputs(dimension=0, features=LEXICAL + POSTERIOR)
    scores = initial("additive", 0, LEXICAL + POSTERIOR, seed=0).scores(inputs)
    assert np.abs(scores - inputs.features[..., LOGIT]).max() < 0.5
    assert np.abs(scores - inputs.features[..., LOGIT]).max() > 0


def test_the_mean_of_networks_has_the_mean_of_their_scores():
    inputs = made_up_inputs()
    networks = [initial("additive", D, F, seed=k) for k in range(3)]
    expected = np.mean([own.scores(inputs) for own in networks], axis=0)
    np.testing.assert_allclose(mean_of(networks).scores(inputs), expected, rtol=1e-4, atol=1e-5)


def test_other_words_have_no_weight():
    weights = initial("additive", 0, F, seed=0).weights
    assert len(weights.a) == len(weights.c) == FREQUENT + 1


def test_adam_is_the_published_one():
    x, gradient = np.array([1.0, -2.0]), np.array([0.5, -3.0])
    adam = Adam([x])
    adam.step([gradient], rate=0.1)
    np.testing.assert_allclose(x, [0.9, -1.9], atol=1e-6)  # the first step is as long as the rate
    adam.step([2 * gradient], rate=0.1)
    mean = (0.9 * 0.1 + 0.1 * 2) / (1 - 0.9**2)
    square = (0.99 * 0.01 + 0.01 * 4) / (1 - 0.99**2)
    np.testing.assert_allclose(
        x, [0.9 - 0.1 * mean / square**0.5, -1.9 + 0.1 * mean / square**0.5], atol=1e-6
    )
