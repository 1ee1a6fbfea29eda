"""Slow attention: plain loops over plain numbers, written from the formulas and from nothing else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

Vector = Sequence[float]


def dot(q: Vector, k: Vector) -> float:
    return math.fsum(a * b for a, b in zip(q, k, strict=True))


def scaled_dot(q: Vector, k: Vector) -> float:
    return dot(q, k) / math.sqrt(len(q))


def cosine(q: Vector, k: Vector) -> float:
    lengths = math.sqrt(dot(q, q)) * math.sqrt(dot(k, k))
    return dot(q, k) / lengths if lengths else 0.0


def additive(q: Vector, k: Vector, W: Sequence[Vector], U: Sequence[Vector], v: Vector, b: Vector) -> float:
    score = 0.0
    for a in range(len(v)):
        inner = b[a]
        inner += math.fsum(q[i] * W[i][a] for i in range(len(q)))
        inner += math.fsum(k[i] * U[i][a] for i in range(len(k)))
        score += v[a] * math.tanh(inner)
    return score


def all_scores(queries: Sequence[Vector], keys: Sequence[Vector], score: Callable[..., float]) -> np.ndarray:
    return np.array([[score(q, k) for k in keys] for q in queries])


def softmax(row: Vector) -> list[float]:
    finite = [x for x in row if x > -math.inf]
    if not finite:
        return [0.0] * len(row)
    powers = [math.exp(x - max(finite)) if x > -math.inf else 0.0 for x in row]
    return [p / math.fsum(powers) for p in powers]


def bisected(row: Vector, weight: Callable[[float, float], float]) -> list[float]:
    """Return weight(x, tau) for the tau at which they sum to 1, found by halving an interval."""
    if max(row) == -math.inf:
        return [0.0] * len(row)
    low, high = max(row) - 2.0, max(row)
    for _ in range(200):
        middle = (low + high) / 2
        if math.fsum(weight(x, middle) for x in row) > 1:
            low = middle
        else:
            high = middle
    return [weight(x, low) for x in row]


def sparsemax(row: Vector) -> list[float]:
    return bisected(row, lambda x, tau: max(x - tau, 0.0))


def entmax15(row: Vector) -> list[float]:
    return bisected([x / 2 for x in row], lambda x, tau: max(x - tau, 0.0) ** 2)


def attend(
    queries: Sequence[Vector], keys: Sequence[Vector], values: Sequence[Vector], mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (contexts, weights) of scaled dot-product attention."""
    T, S, D = len(queries), len(keys), len(values[0])
    contexts, weights = np.zeros((T, D)), np.zeros((T, S))
    for t in range(T):
        scores = [scaled_dot(queries[t], keys[s]) if mask[t, s] else -math.inf for s in range(S)]
        weights[t] = softmax(scores)
        for s, d in itertools.product(range(S), range(D)):
            contexts[t, d] += weights[t, s] * values[s][d]
    return contexts, weights


def multi_head(queries, keys, values, W_Q, W_K, W_V, W_O, heads, mask):
    """Return the output of H separate attentions, each with its own columns of the matrices."""
    size = W_Q.shape[1] // heads
    outputs = []
    for h in range(heads):
        own = slice(h * size, (h + 1) * size)
        projected = queries @ W_Q[:, own], keys @ W_K[:, own], values @ W_V[:, own]
        outputs.append(attend(*projected, mask)[0])
    return np.concatenate(outputs, axis=1) @ W_O


def sinusoidal(N: int, D: int) -> np.ndarray:
    P = np.zeros((N, D))
    for n, i in itertools.product(range(N), range(D // 2)):
        P[n, 2 * i] = math.sin(n / 10000 ** (2 * i / D))
        P[n, 2 * i + 1] = math.cos(n / 10000 ** (2 * i / D))
    return P


def diagonal_prior(T: int, S: int, form: str, strength: float) -> np.ndarray:
    P = np.zeros((T, S))
    for t, s in itertools.product(range(T), range(S)):
        if form == "centered":
            P[t, s] = -strength * abs((t + 0.5) / T - (s + 0.5) / S)
        elif form == "fast_align":
            P[t, s] = -strength * abs((t + 1) / T - (s + 1) / S)
        else:
            P[t, s] = 1.0 if min(T, S) < 2 else 1 - strength * (t / (T - 1) - s / (S - 1)) ** 2
    return P


def layer_norm(x: Vector, gain: Vector, bias: Vector, epsilon: float) -> list[float]:
    mean = math.fsum(x) / len(x)
    variance = math.fsum((a - mean) ** 2 for a in x) / len(x)
    return [g * (a - mean) / math.sqrt(variance + epsilon) + b for a, g, b in zip(x, gain, bias, strict=True)]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gru_step(x, h, W, U, b_W, b_U, *, reset_after):
    """Return the next state; columns of W (D, 3A) and U (A, 3A) are reset, update, new."""
    A = len(h)

    def column(vector, matrix, j):
        return math.fsum(vector[i] * matrix[i][j] for i in range(len(vector)))

    r = [sigmoid(column(x, W, a) + b_W[a] + column(h, U, a) + b_U[a]) for a in range(A)]
    z = [sigmoid(column(x, W, A + a) + b_W[A + a] + column(h, U, A + a) + b_U[A + a]) for a in range(A)]
    n = []
    for a in range(A):
        j = 2 * A + a
        if reset_after:
            recurrent = r[a] * (column(h, U, j) + b_U[j])
        else:
            recurrent = column([r[i] * h[i] for i in range(A)], U, j) + b_U[j]
        n.append(math.tanh(column(x, W, j) + b_W[j] + recurrent))
    return [(1 - z[a]) * n[a] + z[a] * h[a] for a in range(A)]


def bahdanau(p, source, target):
    """Return (states, weights, contexts) of the whole model, word by word."""
    ((forward, backward),) = p.encoder.layers

    def step(g, x, h):
        return gru_step(x, h, g.W, g.U, g.b_W, g.b_U, reset_after=False)

    A = len(p.W_s)
    right, left, state = [], [], [0.0] * A
    for word in source:
        state = step(forward, word, state)
        right.append(state)
    state = [0.0] * A
    for word in source[::-1]:
        state = step(backward, word, state)
        left.insert(0, state)
    h = [r + l for r, l in zip(right, left, strict=True)]
    s = np.tanh(np.array(left[0]) @ p.W_s)
    states, weights, contexts, before = [], [], [], np.zeros(len(target[0]))
    for word in target:
        alpha = softmax([additive(s, h_j, p.W_a, p.U_a, p.v_a, np.zeros(len(p.v_a))) for h_j in h])
        c = [math.fsum(alpha[j] * h[j][i] for j in range(len(h))) for i in range(2 * A)]
        s = step(p.decoder, [*before, *c], list(s))
        states.append(s)
        weights.append(alpha)
        contexts.append(c)
        before = word
    return np.array(states), np.array(weights), np.array(contexts)
