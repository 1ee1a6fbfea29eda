"""The network of the rescorer: the log odds of a link from additive or scaled dot-product attention.

    additive    e(t, s) = v . tanh(W q_t + U k_s + P phi(t, s) + b) + u . phi(t, s) + a[f_t] + c[e_s] + o
    scaled-dot  e(t, s) = (W q_t) . (U k_s) / sqrt(A) + u . phi(t, s) + a[f_t] + c[e_s] + o

q_t and k_s are vectors of target and source words, phi(t, s) are features of a cell, a and c are weights of
frequent words. A score is the log odds of a link against none: that of the null word is 0.

Axes: B pairs, T target words, S source words, D dimension, F features, A size of the attention layer, C
frequent words and all others.

References
----------
Bahdanau, Cho and Bengio (2014), A.1.2; Vaswani et al. (2017), equation 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.attention.scores import additive_gradient, additive_projected, scaled_dot, scaled_dot_gradient
from nmtalign.errors import DataError
from nmtalign.rescoring.features import FREQUENT, LEXICAL, LOGIT, POSTERIOR, Inputs

Array = NDArray[np.floating]

NAMES = ("additive", "scaled-dot")
HIDDEN = 16  # A over features
WORD_HIDDEN = 64  # A over word vectors
FINE = 2.0**18  # grid of weights, 22 bits of a product of features (21 bits) leave 10 for the sum


class Weights(NamedTuple):
    """The numbers that are learned; arrays that a network does without are empty.

    Attributes
    ----------
    W, U : arrays of shape (D, A)
    P : array of shape (F, A)
    b, v : arrays of shape (A,)
    u : array of shape (F,)
    a, c : arrays of shape (C,)
        Of frequent target and source words; the first entry, that of all other words, stays 0.
    o : array of shape (1,)
    """

    W: Array
    U: Array
    P: Array
    b: Array
    v: Array
    u: Array
    a: Array
    c: Array
    o: Array

    def check(self) -> None:
        """Refuse weights whose shapes do not fit each other."""
        (D, A), F, C, inner = self.W.shape, len(self.u), len(self.a), len(self.v)
        expected = Weights(*((D, A), (D, A), (F, inner), (inner,), (inner,), (F,), (C,), (C,), (1,)))  # type: ignore[arg-type]
        sizes = F in (0, LEXICAL, LEXICAL + POSTERIOR) and C in (1, FREQUENT + 1) and inner in (0, A)
        for name, own, shape in zip(self._fields, self, expected, strict=True):
            if own.shape != shape or not sizes:
                found = f"found {name} of shape {own.shape}"
                raise DataError(f"expected weights of the rescorer that fit each other, {found}")

    def copy(self) -> Weights:
        """Return weights of their own memory."""
        return Weights(*(w.copy() for w in self))


@dataclass(frozen=True, eq=False)
class Network:
    """A network with its weights.

    Attributes
    ----------
    name : {"additive", "scaled-dot"}
    weights : Weights
    """

    name: str
    weights: Weights

    def replace(self, weights: Sequence[Array]) -> Network:
        """Return the network with other weights."""
        return Network(self.name, Weights(*weights))

    def rounded(self) -> Network:
        """Return the network with weights on a grid, for which :meth:`scores` is exact in its sums."""
        return self.replace([(np.rint(w * FINE) / FINE).astype(np.float32) for w in self.weights])

    def scores(self, inputs: Inputs) -> Array:
        """Return the log odds e of links, float32 (B, T, S)."""
        w = self.weights
        queries, keys = _product(inputs.queries, w.W), _product(inputs.keys, w.U)
        if self.name == "additive":
            cells = _product(inputs.features, w.P)
            e = additive_projected(queries + w.b, keys, w.v, cells=cells)
        else:
            e = scaled_dot(_coarse(queries), _coarse(keys)).astype(w.o.dtype)
        return np.asarray(
            e + _product(inputs.features, w.u) + w.a[inputs.target_words] + w.c[inputs.source_words] + w.o
        )

    def gradient(self, inputs: Inputs, upstream: Array) -> Weights:
        """Return the gradient of a loss from that by the scores, (B, T, S)."""
        w, q, k = self.weights, inputs.queries, inputs.keys
        words = [
            _by_class(upstream, place, len(own))
            for place, own in ((inputs.target_words, w.a), (inputs.source_words, w.c))
        ]
        direct = upstream.ravel() @ inputs.features.reshape(upstream.size, -1)
        last = direct, *words, upstream.sum(keepdims=True).reshape(1)
        if self.name == "additive":
            g = additive_gradient(q, k, w.W, w.U, w.v, upstream, bias=w.b, features=inputs.features, L=w.P)
            return Weights(g.W, g.U, np.asarray(g.L), g.bias, g.v, *last)
        by_query, by_key = scaled_dot_gradient(q @ w.W, k @ w.U, upstream)
        return Weights(_outer(q, by_query), _outer(k, by_key), w.P, w.b, w.v, *last)


def _product(rows: Array, weights: Array) -> Array:
    """Return ``rows @ weights`` summed in double precision."""
    return np.asarray(rows.astype(np.float64) @ weights.astype(np.float64)).astype(weights.dtype)


def _coarse(projected: Array) -> NDArray[np.float64]:
    """Return projections on a grid of 2^-18 below 32, whose products are exact in double precision."""
    return np.rint(np.clip(projected.astype(np.float64), -32, 32) * FINE) / FINE


def _outer(rows: Array, columns: Array) -> Array:
    """Return the sum of outer products of the last axes."""
    return np.asarray(rows.reshape(-1, rows.shape[-1]).T @ columns.reshape(-1, columns.shape[-1]))


def _by_class(upstream: Array, places: NDArray[np.integer], size: int) -> Array:
    """Return the sum of the gradient over the cells of each frequent word."""
    found = np.bincount(np.broadcast_to(places, upstream.shape).ravel(), upstream.ravel(), size)
    found[0] = 0
    return found.astype(upstream.dtype)


def initial(name: str, dimension: int, features: int, seed: int, hidden: int = HIDDEN) -> Network:
    """Return a network with random weights that prefer likely cells near the diagonal.

    With features of posteriors it starts nearly as the log odds of the joint probability.
    """
    random = np.random.default_rng(seed)
    W = random.normal(0, max(dimension, 1) ** -0.5, (dimension, hidden))
    additive, taught = name == "additive", features == LEXICAL + POSTERIOR
    inner = hidden if additive else 0
    u = np.zeros(features)
    if taught:
        u[LOGIT] = 1
    elif features:
        u[[1, 2, 12, 13]] = -1, 2, -1, -1
    words = np.zeros((2, FREQUENT + 1 if features else 1))
    arrays = (
        W,
        -W if additive else W,
        random.normal(0, 0.3, (features, inner)),
        random.normal(0, 0.5, inner) * (not taught),
        random.normal(0, (0.1 if taught else 1) * hidden**-0.5, inner),
        u,
        *words,
        np.full(1, 0.0 if taught else -2.0),
    )
    return Network(name, Weights(*(w.astype(np.float32) for w in arrays)))


def mean_of(networks: Sequence[Network]) -> Network:
    """Return the network whose score is the mean of the scores of several additive ones."""
    n = np.float32(len(networks))
    parts = {name: [getattr(own.weights, name) for own in networks] for name in Weights._fields}
    hidden = {name: np.concatenate(parts[name], axis=-1) for name in ("W", "U", "P", "b", "v")}
    direct = {name: sum(parts[name]) / n for name in ("u", "a", "c", "o")}
    return Network(networks[0].name, Weights(**(hidden | direct | {"v": hidden["v"] / n})))


def sigmoid(e: Array) -> Array:
    """Return ``1 / (1 + exp(-e))``."""
    return np.asarray(1 / (1 + np.exp(-np.clip(e, -60, 60))))


class Batch(NamedTuple):
    """A minibatch: inputs, and for each cell (B, T, S) its target from 0 to 1 and its importance."""

    inputs: Inputs
    targets: Array
    importance: Array


def loss_and_gradient(network: Network, batch: Batch) -> tuple[float, Weights]:
    """Return the mean binary cross-entropy over the cells of a minibatch, and its gradient."""
    e, y, m = network.scores(batch.inputs), batch.targets, batch.importance
    total = m.sum()
    loss = float((m * (np.logaddexp(0, e) - y * e)).sum() / total)
    return loss, network.gradient(batch.inputs, m * (sigmoid(e) - y) / total)
