"""The network of the rescorer, log odds of a link from additive attention over features.

    e(t, s) = v . tanh(P phi(t, s) + b) + u . phi(t, s) + a[f_t] + c[e_s] + o

phi(t, s) are the features of a cell, a and c the weights of frequent words. A score is the log odds of a
link; the score of the null word is 0 (Bahdanau, Cho and Bengio 2014, A.1.2).

Axes: B pairs, T target words, S source words, A size of the attention layer, C classes of words:
one of each frequent word, one of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Integers, Reals
from nmtalign.rescoring.features import (
    LEXICAL_FEATURES,
    LOGIT_FEATURE,
    MAX_WEIGHTED_WORDS,
    POSTERIOR_FEATURES,
    Inputs,
)

FEATURE_COUNT = LEXICAL_FEATURES + POSTERIOR_FEATURES
HIDDEN_UNITS = 16  # A of one network, before the mean of several networks is taken
# weights on this grid have 22 bits; their products with features of 21 bits leave 10 bits for the sum
WEIGHT_STEPS_PER_UNIT = 2.0**18


class Network(NamedTuple):
    """A network: its learned weights."""

    P: Reals  # (features, A)
    # (A,)
    b: Reals
    v: Reals
    u: Reals  # (features,)
    # (C,): of frequent target and source words; the first entry, for all other words, stays 0
    a: Reals
    c: Reals
    o: Reals  # (1,)

    def rounded(self) -> Network:
        """Return the network with weights rounded to a grid, so that the sums of :meth:`scores` are exact."""
        return Network(
            *(
                (np.rint(weights * WEIGHT_STEPS_PER_UNIT) / WEIGHT_STEPS_PER_UNIT).astype(np.float32)
                for weights in self
            )
        )

    def scores(self, inputs: Inputs) -> Reals:
        """Return the log odds e of links, float32 (B, T, S)."""
        # NumPy's einsum sums each cell by itself, so that its bits depend on no other
        e = np.einsum("...a,a->...", np.tanh(_product(inputs.features, self.P) + self.b), self.v)
        words = self.a[inputs.target_words], self.c[inputs.source_words]
        return np.asarray(e + _product(inputs.features, self.u) + words[0] + words[1] + self.o)

    def gradient(self, inputs: Inputs, upstream: Reals) -> Network:
        """Return the gradient of a loss from its gradient by the scores, (B, T, S)."""
        rows, slopes = inputs.features.reshape(upstream.size, -1), upstream.ravel()
        active = np.tanh(inputs.features @ self.P + self.b).reshape(upstream.size, -1)  # (cells, A)
        inner = slopes[:, None] * self.v * (1 - active * active)
        return Network(
            P=rows.T @ inner,
            b=inner.sum(axis=0),
            v=slopes @ active,
            u=slopes @ rows,
            a=_sum_by_class(upstream, inputs.target_words, len(self.a)),
            c=_sum_by_class(upstream, inputs.source_words, len(self.c)),
            o=upstream.sum(keepdims=True).reshape(1),
        )


def _product(rows: Reals, weights: Reals) -> Reals:
    """Return ``rows @ weights`` summed in double precision."""
    return np.asarray(rows.astype(np.float64) @ weights.astype(np.float64)).astype(weights.dtype)


def _sum_by_class(upstream: Reals, classes: Integers, size: int) -> Reals:
    """Return the sum of the gradient over the cells of each frequent word."""
    sums = np.bincount(np.broadcast_to(classes, upstream.shape).ravel(), upstream.ravel(), size)
    sums[0] = 0
    return sums.astype(upstream.dtype)


def initial_network(seed: int) -> Network:
    """Return a network with random weights that starts nearly as the log odds of the joint probability."""
    random = np.random.default_rng(seed)
    P = random.normal(0, 0.3, (FEATURE_COUNT, HIDDEN_UNITS))
    # Two rows are drawn, although one is used, so that a seed gives the network that was measured with it.
    _, v = random.normal(0, 0.1 * HIDDEN_UNITS**-0.5, (2, HIDDEN_UNITS))
    u = np.zeros(FEATURE_COUNT, np.float32)
    u[LOGIT_FEATURE] = 1
    return Network(
        P=P.astype(np.float32),
        b=np.zeros(HIDDEN_UNITS, np.float32),
        v=v.astype(np.float32),
        u=u,
        a=np.zeros(MAX_WEIGHTED_WORDS + 1, np.float32),
        c=np.zeros(MAX_WEIGHTED_WORDS + 1, np.float32),
        o=np.zeros(1, np.float32),
    )


def mean_network(networks: Sequence[Network]) -> Network:
    """Return the network whose score is the mean of the scores of several."""
    n = np.float32(len(networks))
    parts = {name: [getattr(network, name) for network in networks] for name in Network._fields}
    hidden = {name: np.concatenate(parts[name], axis=-1) for name in ("P", "b", "v")}
    direct = {name: sum(parts[name]) / n for name in ("u", "a", "c", "o")}
    return Network(**(hidden | direct | {"v": hidden["v"] / n}))


def sigmoid(e: Reals) -> Reals:
    """Return ``1 / (1 + exp(-e))``."""
    return np.asarray(1 / (1 + np.exp(-np.clip(e, -60, 60))))


class CellExamples(NamedTuple):
    """Cells of one or more sentence pairs, each with its target from 0 to 1 and its importance, (B, T, S)."""

    inputs: Inputs
    targets: Reals
    importance: Reals


def cell_loss(network: Network, examples: CellExamples) -> tuple[float, Network]:
    """Return the mean binary cross-entropy over cells, and its gradient."""
    e = network.scores(examples.inputs)
    y = examples.targets
    m = examples.importance
    total = m.sum()
    loss = float((m * (np.logaddexp(0, e) - y * e)).sum() / total)
    return loss, network.gradient(examples.inputs, m * (sigmoid(e) - y) / total)
