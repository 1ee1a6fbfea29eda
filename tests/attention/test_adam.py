"""Minibatch training with Adam: the best weights are kept, and training ends when the loss stalls."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from nmtalign.attention.adam import Schedule, minimize

SCHEDULE = Schedule(
    held_out_period=4, examples_per_step=2, max_epochs=50, first_rate=0.1, last_rate_share=0.1
)
EXAMPLES = [1.0, 2.0, 3.0, 2.0, 2.5, 1.5, 2.0, 2.0]


class Mean(NamedTuple):
    """A model with one weight, which approaches the mean of the examples."""

    value: np.ndarray


def gradient(mean: Mean, examples: list[float]) -> list[np.ndarray]:
    return [2 * (mean.value - np.mean(examples))]


def squared_error(mean: Mean, examples: list[float]) -> float:
    return float(np.mean([(mean.value - example) ** 2 for example in examples]))


def test_weights_approach_the_minimum_and_the_initial_ones_stay():
    initial = Mean(np.zeros(1))
    best, loss = minimize(initial, EXAMPLES, SCHEDULE, gradient=gradient, held_out_loss=squared_error, seed=0)
    assert abs(best.value[0] - 2) < 0.5
    assert loss < squared_error(initial, EXAMPLES)
    assert initial.value[0] == 0


def test_the_weights_of_the_best_epoch_are_kept():
    losses = iter([5.0, 4.0, 3.0, 6.0, 7.0])
    seen = []

    def loss_of_epoch(mean: Mean, held_out: list[float]) -> float:
        seen.append(mean.value.copy())
        return next(losses)

    schedule = replace(SCHEDULE, max_epochs=4)
    best, loss = minimize(
        Mean(np.zeros(1)), EXAMPLES, schedule, gradient=gradient, held_out_loss=loss_of_epoch, seed=0
    )
    assert loss == 3
    np.testing.assert_array_equal(best.value, seen[2])


@pytest.mark.parametrize(("patience", "epochs"), [(None, 6), (1, 2), (2, 3)])
def test_training_ends_when_the_loss_stalls(patience, epochs):
    losses = iter([5.0, 4.0, 3.99, 3.98, 3.0, 2.0, 1.0])
    reported = []
    schedule = replace(SCHEDULE, max_epochs=6, patience=patience, min_gain=0.1)
    minimize(
        Mean(np.zeros(1)),
        EXAMPLES,
        schedule,
        gradient=gradient,
        held_out_loss=lambda mean, held_out: next(losses),
        seed=0,
        report=lambda epoch, epochs, loss: reported.append(epoch),
    )
    assert reported == list(range(1, epochs + 1))


def test_few_examples_are_read_more_often():
    reported = []
    schedule = replace(SCHEDULE, max_epochs=1, min_steps=12)  # 6 examples make 3 steps in an epoch
    minimize(
        Mean(np.zeros(1)),
        EXAMPLES,
        schedule,
        gradient=gradient,
        held_out_loss=squared_error,
        seed=0,
        report=lambda epoch, epochs, loss: reported.append(epochs),
    )
    assert reported == [4] * 4
