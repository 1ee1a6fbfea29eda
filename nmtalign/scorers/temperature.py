"""Fit the temperature of given word vectors to a text.

The likelihood ratio of two words comes from their score,

    r(e, f) = exp(score(e, f) - (log Z_e + log Z_f) / 2)      Z_e = sum over f of p(f) exp(score(e, f)),

and 1 is the ratio of the null word. Transitions and temperature are estimated by expectation-maximization;
the temperature maximizes the likelihood in :mod:`nmtalign.scorers.dense_training`. The probability of null is
fixed, because its maximum likelihood estimate gave a greater error on nearly every text.

Axes: V vocabulary (word 0 is padding), P word pairs that meet.

References
----------
Vogel, Ney and Tillmann (1996).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from nmtalign.arrays import Floats
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.positions.e_step import iterated
from nmtalign.positions.hmm import BothTransitions, unfitted_hmm
from nmtalign.scorers.dense_training import Links, ScaleLikelihood

FITTED = 5_000  # pairs of a text to which transitions are fitted
TUNED = 1 << 13  # words of a side to which the temperature is fitted; one number needs fewer data
MAX_ITERATIONS = 10  # of the temperature
SETTLED = 0.02  # change of the log scale below which the temperature is found
MAX_STEP = 4  # factor by which an iteration may change the scale of the scores


class ScoreTable(Protocol):
    """Scores of all words of a text with each other at scale 1, (V source, V target)."""

    def __call__(self, text: EncodedText, /) -> Floats: ...


def fit_temperature(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]], scores: ScoreTable, workers: int
) -> tuple[float, BothTransitions]:
    """Return the factor of plain scores (1 / temperature), and transitions, by expectation-maximization.

    Each iteration takes one step of Newton's method. The initial scale gives the scores a standard deviation
    of 1, whatever the length of the vectors.
    """
    sizes = np.cumsum([max(map(len, pair)) for pair in pairs])
    text = encode_text(pairs[: max(1, int((sizes <= TUNED).sum()))])
    table = ScaleLikelihood(scores(text), (_share(text.source), _share(text.target)))
    scale, words, transitions = 1 / max(_deviation(table), 1e-9), text.index, unfitted_hmm().transitions
    for _ in range(MAX_ITERATIONS):
        likelihood, of_source, of_target = table.likelihood(scale)
        ratios = likelihood[words.source, words.target]
        ratios /= np.sqrt(of_source[words.source] * of_target[words.target])
        ratios[0] = 0  # the padding
        transitions, links = iterated(text, ratios, transitions, workers)
        slope, spread = table.derivatives(scale, Links(words.source, words.target, links))
        last, scale = scale, min(max(scale + slope / spread, scale / MAX_STEP), scale * MAX_STEP)
        if abs(math.log(scale / last)) < SETTLED:
            break
    return scale, transitions


def _share(side: EncodedSide) -> Floats:
    """Return the share of each word in the text."""
    return np.asarray(side.counts / side.counts.sum(), dtype=np.float32)


def _deviation(table: ScaleLikelihood) -> float:
    """Return the standard deviation of the scores of words drawn from the text."""
    source, target = table.shares
    mean = source @ table.scores @ target
    return math.sqrt(max(float(source @ (table.scores - mean) ** 2 @ target), 0.0))
