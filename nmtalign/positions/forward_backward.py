"""Forward-backward over a bucket of sentence pairs.

The T target words are the observations, the S source words the states. No sum runs along the last axis, B, so
the numbers of a pair do not depend on the other pairs of its bucket.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats
from nmtalign.positions.transitions import TINY, Transitions

HEADROOM = 110  # bits that numbers below 1 may grow by; single precision has 128
LOST = np.float32(1e-25)  # alphas below this share of the greatest become 0
PERIOD = 3  # rescale every 3 words, at fixed positions: results do not depend on the other pairs


class Posterior(NamedTuple):
    """Posterior of one direction, with expected jumps and log-likelihood."""

    # (T, S, B): p(s|t); rows sum to at most 1, the rest is the null word
    posterior: Floats
    # expected jumps, as in :meth:`Transitions.expected_jumps`; None if not counted
    jumps: Floats | None
    log_likelihood: Doubles  # (B,): relative to the null word alone


def forward_backward(odds: Floats, transitions: Transitions, *, jumps: bool = False) -> Posterior:
    """Run the forward-backward algorithm on a bucket of sentence pairs.

    Parameters
    ----------
    odds : array of shape (T, S, B)
        Likelihood of target word t under source word s, over its likelihood under the null word times the
        probability of null; 0 in padded cells. Null-aligned words and padding therefore change nothing.
    jumps : bool
        Also count the expected jumps.

    Notes
    -----
    Alphas only grow from word to word. Before an overflow, alphas are divided by a power of two, which is
    exact. Alphas below `LOST` of the greatest become 0: they do not change sums in single precision, and
    subnormal numbers slow products down many times.

    References
    ----------
    Rabiner (1989), equations 18 to 38, with the scaling of section V.A.
    """
    T, S, B = odds.shape
    wild = math.log2(1 + float(odds.max(initial=0))) * PERIOD > HEADROOM  # rescale after each word
    alpha = np.empty((T + 1, S + 1, B), dtype=np.float32)  # p(position, words so far) over null, scaled
    alpha[0] = 0
    alpha[0, 0] = 1
    posterior, emitted = np.empty((T, S, B), dtype=np.float32), np.empty((S, B), dtype=np.float32)
    scales: dict[int, Floats] = {}
    exponents = np.zeros(B, dtype=np.int64)
    posterior[0] = transitions.transition[0]
    for t in range(T):
        here = alpha[t + 1]
        if t:
            transitions.forward(alpha[t], posterior[t])
        np.multiply(posterior[t], odds[t], out=emitted)
        here[0] = alpha[t, 0]
        np.add(alpha[t, 1:], emitted, out=here[1:])
        far = t % PERIOD == PERIOD - 1
        if far or wild:
            powers = np.frexp(np.maximum.reduce(here, axis=0))[1]
            scales[t] = np.ldexp(np.float32(1), -powers)
            here *= scales[t]
            exponents += powers
        if far:
            np.multiply(here, here > LOST, out=here)
    total = np.maximum(np.einsum("ib,ib->b", alpha[T], transitions.stop), TINY)
    beta = transitions.stop / total  # (S + 1, B)
    ends = alpha[T] * beta
    ahead = np.empty((T if jumps else 0, S, B), dtype=np.float32)
    for t in range(T - 1, -1, -1):
        if t in scales:
            beta *= scales[t]
        np.multiply(odds[t], beta[1:], out=emitted)
        posterior[t] *= emitted
        if jumps:
            ahead[t] = emitted
        if t:
            beta += transitions.backward(emitted)
    expected = transitions.expected_jumps(alpha[:T], ahead, ends) if jumps else None
    return Posterior(posterior, expected, np.log(total.astype(np.float64)) + exponents * math.log(2))
