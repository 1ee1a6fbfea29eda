"""The gradient of a network's loss beside differences of its loss."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.models.opinion import Lesson, Network, loss_and_gradient


def check_gradient(network: Network, lesson: Lesson) -> None:
    """Compare every array of the gradient with central differences, at a dozen places; all in float64."""
    weights = network.weights
    _, gradient = loss_and_gradient(network, lesson)
    random = np.random.default_rng(3)
    for name, values, slopes in zip(weights._fields, weights, gradient, strict=True):
        assert values.shape == slopes.shape
        for place in random.choice(values.size, min(values.size, 12), replace=False):
            losses = []
            for step in (1e-5, -1e-5):
                moved = values.copy()
                moved.flat[place] += step
                losses.append(
                    loss_and_gradient(network.replace(weights._replace(**{name: moved})), lesson)[0]
                )
            assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(slopes.flat[place], abs=1e-7), name
