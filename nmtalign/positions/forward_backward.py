"""Forward-backward: the posteriors of one direction over one bucket.

The T observed words are emitted by the S state words, or by the null word, during which the state stays the
same (Och and Ney 2003). Names are those of the forward direction, in which the target words are observed; in
the reverse direction, the source words are.

Axes: B pairs of a bucket (last: no sum runs along it, so the numbers of a pair do not depend on the other
pairs), T observed words, S state words.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats
from nmtalign.positions.jumps import MIN_TOTAL, BucketTransitions

MAX_GROWTH_BITS = 110  # alphas below 1 may grow by this many bits; single precision has 128
ALPHA_FLOOR = np.float32(1e-25)  # alphas below this share of the greatest become 0
# Small alphas become 0 at fixed positions, after every third word, so that results do not depend on the other
# pairs of the bucket. Rescaling is exact, so it may happen anywhere.
WORDS_PER_RESCALING = 3


class DirectionResult(NamedTuple):
    """Posterior of one direction, with expected jumps and log-likelihood."""

    # (observed words, state words, B): p(s|t) as (T, S, B), or in the reverse direction p(t|s) as (S, T, B).
    # Sums over the states are at most 1; the difference is the posterior of the null word.
    posterior: Floats
    expected_jumps: Floats | None  # as in :meth:`BucketTransitions.expected_jumps`; None if not counted
    log_likelihood: Doubles  # (B,): relative to the null word alone


def forward_backward(
    odds: Floats, transitions: BucketTransitions, *, count_jumps: bool = False
) -> DirectionResult:
    """Run forward-backward on a bucket (Rabiner 1989, equations 18 to 38, section V.A).

    `odds` (T, S, B) are p(t|s) / (null p(t|null)), 0 in padded cells; null-aligned words and padding
    therefore change nothing. Alphas only grow from word to word. Before an overflow, alphas are divided by a
    power of two, which is exact. Alphas below `ALPHA_FLOOR` of the greatest become 0: they do not change sums
    in single precision, and subnormal numbers slow products down many times.
    """
    T, S, B = odds.shape
    growth = math.log2(1 + float(odds.max(initial=0)))  # bits that a word can add
    rescales_each_word = growth * WORDS_PER_RESCALING > MAX_GROWTH_BITS
    alpha = np.empty((T + 1, S + 1, B), dtype=np.float32)  # p(position, words so far) over null, scaled
    alpha[0] = 0
    alpha[0, 0] = 1  # attention is before the sentence
    # Forward pass: posterior[t] is the predicted mass, sum over i of alpha[t, i] p(j | i). The backward
    # pass multiplies the prediction with odds[t] and beta, which makes it the posterior.
    posterior = np.empty((T, S, B), dtype=np.float32)
    emitted = np.empty((S, B), dtype=np.float32)
    scales: dict[int, Floats] = {}  # powers of two by which the alphas after word t are multiplied
    exponents = np.zeros(B, dtype=np.int64)
    posterior[0] = transitions.transition[0]  # as alpha[0] is 1 at position 0, and 0 elsewhere
    for t in range(T):
        if t:
            transitions.forward(alpha[t], posterior[t])
        np.multiply(posterior[t], odds[t], out=emitted)
        alpha_after_word = alpha[t + 1]
        alpha_after_word[0] = alpha[t, 0]
        np.add(alpha[t, 1:], emitted, out=alpha_after_word[1:])  # the null word emits, or a jump ends here
        ends_period = t % WORDS_PER_RESCALING == WORDS_PER_RESCALING - 1
        if ends_period or rescales_each_word:
            powers = np.frexp(np.maximum.reduce(alpha_after_word, axis=0))[1]
            scales[t] = np.ldexp(np.float32(1), -powers)
            alpha_after_word *= scales[t]
            exponents += powers
        if ends_period:
            np.multiply(alpha_after_word, alpha_after_word > ALPHA_FLOOR, out=alpha_after_word)
    total = np.maximum(np.einsum("ib,ib->b", alpha[T], transitions.stop), MIN_TOTAL)
    # Backward pass: beta is p(words after t | position) over null, divided by the likelihood of the pair.
    beta = transitions.stop / total  # (S + 1, B)
    ends = alpha[T] * beta
    emitted_beta = np.empty((T if count_jumps else 0, S, B), dtype=np.float32)
    for t in range(T - 1, -1, -1):
        if t in scales:
            beta *= scales[t]
        np.multiply(odds[t], beta[1:], out=emitted)
        posterior[t] *= emitted
        if count_jumps:
            emitted_beta[t] = emitted
        if t:
            beta += transitions.backward(emitted)
    expected_jumps = None
    if count_jumps:
        expected_jumps = transitions.expected_jumps(alpha[:T], emitted_beta, ends)
    log_likelihood = np.log(total.astype(np.float64)) + exponents * math.log(2)
    return DirectionResult(posterior, expected_jumps, log_likelihood)
