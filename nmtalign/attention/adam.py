"""The Adam optimizer, and minibatch training with early stopping, for the small networks of the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from nmtalign.arrays import Reals, block_slices

MEAN_DECAY, SQUARE_DECAY = 0.9, 0.99  # beta_1 and beta_2 of Kingma and Ba (2015)
EPSILON = 1e-8  # keeps the step finite where gradients are 0

Weights = TypeVar("Weights", bound=Sequence[Reals])  # a named tuple of arrays
Example = TypeVar("Example")


class Adam:
    """The Adam optimizer (Kingma and Ba 2015, algorithm 1), which changes the parameters in place."""

    def __init__(self, parameters: Sequence[Reals]) -> None:
        self.parameters = parameters
        self.steps = 0
        self._means = [np.zeros_like(array) for array in parameters]
        self._squares = [np.zeros_like(array) for array in parameters]

    def step(self, gradients: Sequence[Reals], rate: float) -> None:
        """Take one step against the gradients, which have the shapes of the parameters."""
        self.steps += 1
        # the running means start at 0; this corrects their bias
        mean_bias = 1 - MEAN_DECAY**self.steps
        square_bias = 1 - SQUARE_DECAY**self.steps
        length = rate * square_bias**0.5 / mean_bias
        moments = zip(self.parameters, gradients, self._means, self._squares, strict=True)
        for parameter, gradient, mean, square in moments:
            mean += (1 - MEAN_DECAY) * (gradient - mean)
            square += (1 - SQUARE_DECAY) * (gradient * gradient - square)
            parameter -= length * mean / (np.sqrt(square) + EPSILON)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long, and with which learning rates, a network is trained."""

    held_out_period: int  # every n-th example, in random order, is held out to choose the epoch
    examples_per_step: int
    max_epochs: int
    min_steps: int = 0  # few examples are read in more than `max_epochs` epochs until they make so many steps
    # the learning rate falls linearly; the last one is a share of the first
    first_rate: float = 0.01
    last_rate_share: float
    # training stops after `patience` epochs in a row that lower the held-out loss by less than `min_gain`, a
    # share of the least loss so far; None never stops early
    patience: int | None = None
    min_gain: float = 0.0


def minimize(
    initial: Weights,
    examples: Sequence[Example],
    schedule: Schedule,
    *,
    gradient: Callable[[Weights, Sequence[Example]], Sequence[Reals]],
    held_out_loss: Callable[[Weights, Sequence[Example]], float],
    seed: int,
    report: Callable[[int, int, float], None] | None = None,
) -> tuple[Weights, float]:
    """Return the weights with the least held-out loss, and this loss; `initial` is not changed.

    `gradient` is that of the loss over the examples of a step. A single example is both held out and learned
    from. `report` is called after each epoch with its number, the greatest number of epochs, and the held-out
    loss.
    """
    random = np.random.default_rng(seed)
    shuffled = _shuffled(examples, random)
    held_out = shuffled[:: schedule.held_out_period]
    training = [example for n, example in enumerate(shuffled) if n % schedule.held_out_period] or held_out
    steps_per_epoch = math.ceil(len(training) / schedule.examples_per_step)
    epochs = max(schedule.max_epochs, math.ceil(schedule.min_steps / steps_per_epoch))

    weights = _copied(initial)
    adam = Adam(weights)
    best_weights = initial
    least_loss = held_out_loss(initial, held_out)
    epochs_without_gain = 0
    for epoch in range(1, epochs + 1):
        examples_of_epoch = _shuffled(training, random)
        for step in block_slices(len(training), schedule.examples_per_step):
            lost_share = (1 - schedule.last_rate_share) * adam.steps / (epochs * steps_per_epoch)
            slopes = gradient(weights, examples_of_epoch[step])
            adam.step(slopes, schedule.first_rate * (1 - lost_share))
        loss = held_out_loss(weights, held_out)
        if report is not None:
            report(epoch, epochs, loss)
        stalled = loss > least_loss * (1 - schedule.min_gain)
        epochs_without_gain = epochs_without_gain + 1 if stalled else 0
        if loss < least_loss:
            best_weights = _copied(weights)
            least_loss = loss
        if epochs_without_gain == schedule.patience:
            break
    return best_weights, least_loss


def _shuffled(examples: Sequence[Example], random: np.random.Generator) -> list[Example]:
    """Return the examples in random order."""
    return [examples[k] for k in random.permutation(len(examples)).tolist()]


def _copied(weights: Weights) -> Weights:
    """Return a copy of a named tuple and of its arrays."""
    copies = [array.copy() for array in weights]
    return cast(Weights, cast(Any, type(weights))(*copies))
