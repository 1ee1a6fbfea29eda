"""A Bahdanau score with seeded random weights: shapes and arithmetic without training."""

import numpy as np

from nmtalign.scorers.vector_scores import BahdanauScore

ATTENTION_SIZE = 128


def untrained_bahdanau(dimension: int, *, seed: int = 0) -> BahdanauScore:
    random = np.random.default_rng(seed)
    W, U = random.normal(0, dimension**-0.5, (2, dimension, ATTENTION_SIZE))
    v = random.normal(0, ATTENTION_SIZE**-0.5, ATTENTION_SIZE)
    return BahdanauScore(W, U, v, np.zeros(ATTENTION_SIZE), origin=f"untrained, seed {seed}")
