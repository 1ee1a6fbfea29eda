"""The Adam optimizer, for a few small arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nmtalign.arrays import Reals

BETAS = (0.9, 0.99)
EPSILON = 1e-8


class Adam:
    """The Adam optimizer (Kingma and Ba 2015, algorithm 1), which changes the parameters in place."""

    def __init__(self, parameters: Sequence[Reals]) -> None:
        self.parameters = parameters
        self.steps = 0
        self.means = [np.zeros_like(p) for p in parameters]
        self.squares = [np.zeros_like(p) for p in parameters]

    def step(self, gradients: Sequence[Reals], rate: float) -> None:
        """Take one step against the gradients, arrays of the shapes of the parameters."""
        self.steps += 1
        b1, b2 = BETAS
        length = rate * (1 - b2**self.steps) ** 0.5 / (1 - b1**self.steps)
        for p, g, m, v in zip(self.parameters, gradients, self.means, self.squares, strict=True):
            m += (1 - b1) * (g - m)
            v += (1 - b2) * (g * g - v)
            p -= length * m / (np.sqrt(v) + EPSILON)
