"""The network of the rescorer: a cell by hand, its gradient beside differences, Adam beside its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nmtalign.attention.adam import Adam
from nmtalign.rescoring.network import (
    FEATURE_COUNT,
    LOGIT_FEATURE,
    CellExamples,
    Inputs,
    Network,
    cell_loss,
    initial_network,
    mean_network,
    on_grid,
)

B, T, S = 2, 3, 4


def made_up_inputs() -> Inputs:
    random = np.random.default_rng(0)
    return Inputs(
        on_grid(random.normal(size=(B, T, S, FEATURE_COUNT))),
        random.integers(0, 4, (B, T, 1)),
        random.integers(0, 4, (B, 1, S)),
    )


def test_a_cell_by_hand():
    inputs = Inputs(
        np.array([[[[3.0]]]]),
        np.array([[[1]]]),
        np.array([[[0]]]),
    )
    network = Network(
        P=np.array([[0.125]]),
        b=np.array([0.25]),
        v=np.array([2.0]),
        u=np.array([0.5]),
        a=np.array([0.0, 0.75]),
        c=np.array([0.0, 5.0]),
        o=-np.ones(1),
    )
    expected = 2 * math.tanh(0.375 + 0.25) + 1.5 + 0.75 + 0 - 1
    assert network.scores(inputs)[0, 0, 0] == pytest.approx(expected)


def test_the_gradient_is_the_numerical_one():
    random, inputs = np.random.default_rng(1), made_up_inputs()
    network = Network(*(random.normal(0, 0.3, w.shape) for w in initial_network(seed=0)))
    batch = CellExamples(inputs, random.random((B, T, S)), random.integers(0, 3, (B, T, S)).astype(float))
    _, gradient = cell_loss(network, batch)
    for field, own, slopes in zip(Network._fields, network, gradient, strict=True):
        assert own.shape == slopes.shape
        if field in "ac":
            assert slopes[0] == 0
        start = 1 if field in "ac" else 0
        for place in np.unique(np.linspace(start, own.size - 1, 9).astype(int)) if own.size > start else ():
            losses = []
            for step in (1e-4, -1e-4):
                moved = own.copy()
                moved.flat[place] += step
                changed = network._replace(**{field: moved})
                losses.append(cell_loss(changed, batch)[0])
            assert (losses[0] - losses[1]) / 2e-4 == pytest.approx(slopes.flat[place], abs=2e-6), field


def test_the_same_bits_in_any_company_and_padding():
    random = np.random.default_rng(5)
    own = initial_network(seed=2).rounded()
    cells = on_grid(random.normal(0, 2, (7, 5, 23, FEATURE_COUNT)))
    places = random.integers(0, 9, (7, 5, 1)), random.integers(0, 9, (7, 1, 23))
    together = own.scores(Inputs(cells, *places))
    assert together.dtype == np.float32
    for n, (T1, S1) in enumerate([(5, 23), (1, 23), (5, 1), (3, 2), (2, 7), (4, 22), (1, 1)]):
        parts = cells[n, :T1, :S1], places[0][n, :T1], places[1][n, :, :S1]
        alone = Inputs(*(np.ascontiguousarray(part[None]) for part in parts))
        np.testing.assert_array_equal(own.scores(alone)[0], together[n, :T1, :S1])


def test_untaught_by_gold_it_is_nearly_the_log_odds_of_the_aligner():
    inputs = made_up_inputs()
    scores = initial_network(seed=0).scores(inputs)
    assert np.abs(scores - inputs.features[..., LOGIT_FEATURE]).max() < 0.5
    assert np.abs(scores - inputs.features[..., LOGIT_FEATURE]).max() > 0


def test_the_mean_of_networks_has_the_mean_of_their_scores():
    inputs = made_up_inputs()
    networks = [initial_network(seed=k) for k in range(3)]
    expected = np.mean([own.scores(inputs) for own in networks], axis=0)
    np.testing.assert_allclose(mean_network(networks).scores(inputs), expected, rtol=1e-4, atol=1e-5)


def test_chosen_cells_have_the_scores_of_their_pair():
    inputs, chosen = made_up_inputs(), np.eye(T, S, dtype=bool)
    own = initial_network(seed=0).rounded()
    found = own.scores(inputs.cells(1, chosen))
    assert found.shape == (chosen.sum(), 1, 1)
    np.testing.assert_array_equal(found[:, 0, 0], own.scores(inputs)[1][chosen])


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
