"""Attention with memory, one sentence pair at a time, in plain loops; and every alignment written out.

``transition[i][j]`` jumps from position i (0 = before the sentence) to word j + 1, ``stop[i]`` ends there.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict


def naive_transitions(weight, S, p0):
    """Transition and stop probabilities of a sentence of S words; ``weight(i, width)`` is the jump table."""
    transition, stop = [], []
    for i in range(S + 1):
        row = [weight(i, j - i) for j in range(1, S + 2)]
        transition.append([(1 - p0) * w / sum(row) for w in row[:S]])
        stop.append(row[S] / sum(row))
    return transition, stop


def naive_forward_backward(emission, transition, stop, null):
    """Return attention [t][s], expected jumps [i][j] (last column: the end) and the log-likelihood."""
    T, S = len(emission), len(stop) - 1

    def move(t, i, j):  # jump from i to the word at j, which makes target word t
        return transition[i][j - 1] * emission[t][j - 1]

    before = [[1.0] + [0.0] * S]
    logs = 0.0
    for t in range(T):
        row = [before[t][j] * null[t] for j in range(S + 1)]
        for j in range(1, S + 1):
            row[j] += sum(before[t][i] * move(t, i, j) for i in range(S + 1))
        logs += math.log(sum(row))
        before.append([x / sum(row) for x in row])
    after = [list(stop)]
    for t in range(T - 1, -1, -1):
        row = [
            after[0][i] * null[t] + sum(move(t, i, j) * after[0][j] for j in range(1, S + 1))
            for i in range(S + 1)
        ]
        after.insert(0, [x / max(row) for x in row])
    attention = [[0.0] * S for _ in range(T)]
    jumps = [[0.0] * (S + 1) for _ in range(S + 1)]
    for t in range(T):
        ways = {
            (i, j): before[t][i] * move(t, i, j) * after[t + 1][j]
            for i in range(S + 1)
            for j in range(1, S + 1)
        }
        total = sum(ways.values()) + sum(before[t][i] * null[t] * after[t + 1][i] for i in range(S + 1))
        for (i, j), way in ways.items():
            attention[t][j - 1] += way / total
            jumps[i][j - 1] += way / total
    ends = [before[T][i] * stop[i] for i in range(S + 1)]
    for i in range(S + 1):
        jumps[i][S] = ends[i] / sum(ends)
    return attention, jumps, logs + math.log(sum(ends))


def enumerate_alignments(emission, transition, stop, null):
    """The same from a sum over all (S + 1)^T alignments; also the probability of null of each target word."""
    T, S = len(emission), len(stop) - 1
    attention, nulls, jumps, total = defaultdict(float), Counter(), defaultdict(float), 0.0
    for alignment in itertools.product(range(S + 1), repeat=T):  # 0: null
        at, probability, taken = 0, 1.0, []
        for t, j in enumerate(alignment):
            if j == 0:
                probability *= null[t]
            else:
                probability *= transition[at][j - 1] * emission[t][j - 1]
                taken.append((at, j - 1))
                at = j
        probability *= stop[at]
        taken.append((at, S))
        total += probability
        for t, j in enumerate(alignment):
            if j:
                attention[t, j - 1] += probability
            else:
                nulls[t] += probability
        for jump in taken:
            jumps[jump] += probability
    return (
        [[attention[t, s] / total for s in range(S)] for t in range(T)],
        [[jumps[i, j] / total for j in range(S + 1)] for i in range(S + 1)],
        math.log(total),
        [nulls[t] / total for t in range(T)],
    )


def naive_model1(ratio, source_null, target_null, p0):
    """p(s|t), p(t|s), each [t][s], by IBM model 1 with ratios to chance; null has p0 of the mass.

    Equals p(t|s) / (sum over s' of p(t|s') + S p0 / (1 - p0) p(t|null)) when all are divided by p(t).
    """
    T, S = len(ratio), len(ratio[0])
    odds = p0 / (1 - p0)
    forward = [
        [ratio[t][s] / (sum(ratio[t]) + odds * S * target_null[t]) for s in range(S)] for t in range(T)
    ]
    columns = [sum(ratio[t][s] for t in range(T)) for s in range(S)]
    reverse = [[ratio[t][s] / (columns[s] + odds * T * source_null[s]) for s in range(S)] for t in range(T)]
    return forward, reverse
