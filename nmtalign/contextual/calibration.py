"""Fit slope and bias of the contextual head, and its weight, to a text without gold links.

Slope and bias: an EM algorithm in which a cell is a link or not. Given the posteriors of the hidden Markov
model, the likelihood ratio of links to other cells is a logistic regression on the log softmax ratio
(Anderson 1972): its slope, and its intercept less the log odds of a link.

Weight: 2 A - B, within bounds, so a head is trusted as far as it finds what the other one knows for
certain. A is the mean posterior that this head, by itself, gives to the links that the other one is sure
of, by the words and not by positions alone. B is the share of the links that this head is sure of in what
the other one gives to their words. The other may be a lexicon that was learned from this very text: each of
its word pairs has one link less (``scripts/evaluate_weight.py``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nmtalign.contextual.head import Calibration, ContextualScores
from nmtalign.corpus.parallel import in_order
from nmtalign.positions.agreement import BothPosteriors, BothTransitions, hmm_posteriors
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.positions.model import TextScores
from nmtalign.positions.transitions import estimate_transitions

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

FEW, UNFITTED = 20, 0.75  # pairs below which nothing is fitted, and the weight that is taken then
ITERATIONS, SETTLED = 12, 0.02  # of the EM algorithm, until the slope moves by less
STEEPEST = 6.0  # slope; it would grow without end where similarities leave no doubt
SHARPNESS = 12.0  # scale of similarities whose standard deviation is 1, before the slope
SURE = 0.9  # least posterior of a link that a head is sure of
WEIGHTS = 0.05, 0.95  # least and largest: each head may know words that are foreign to the other
NEWTON = 25  # steps at most


class Fitting:
    """The scores of a text that is fitted to, and the hidden Markov model.

    Parameters
    ----------
    scores : ContextualScores
    transitions : (TransitionModel, TransitionModel)
        For the words of the text.
    null : float
        Probability of the null word.
    workers : int
    """

    def __init__(
        self, scores: ContextualScores, transitions: BothTransitions, null: float, workers: int
    ) -> None:
        self.scores, self.transitions, self.null, self.workers = scores, transitions, null, workers
        self.buckets = scores.text.buckets

    @property
    def _few(self) -> bool:
        return sum(int((bucket.pairs >= 0).sum()) for bucket in self.buckets) < FEW

    def calibrate(self) -> Calibration:
        """Return slope and bias of the head alone; the transitions are estimated with them."""
        cells = [np.asarray(own, np.float64).ravel() for own in self.scores.found.values()]
        deviation = float(np.concatenate(cells).std()) if cells else 0.0
        fitted = Calibration(SHARPNESS / max(deviation, 1e-6), 1.0, 0.0, 1.0)
        if self._few:
            return fitted
        for _ in range(ITERATIONS):
            last = fitted.slope
            slope, bias = self._logistic(fitted)
            fitted = fitted._replace(slope=min(slope, STEEPEST), bias=bias)
            if abs(fitted.slope - last) < SETTLED * last:
                break
        return fitted

    def _logistic(self, fitted: Calibration) -> tuple[float, float]:
        """Return slope and bias of the log softmax ratio, given the posteriors under a calibration."""
        ratios, links, jumps = [], [], [np.zeros(model.tables.size) for model in self.transitions]

        def cells(k: int) -> tuple[Floats, BothPosteriors]:
            return self.scores.softmax_ratios(k, fitted.scale), self._posteriors(k, fitted, jumps=True)

        for k, (own, found) in enumerate(in_order(cells, range(len(self.buckets)), self.workers)):
            inside = self.buckets[k].inside
            ratios.append(own[inside])
            links.append(found.product[inside])
            counts = found.jumps(self.buckets[k], self.transitions)
            for total, (place, value) in zip(jumps, counts, strict=True):
                total[place] += value
        first, second = (estimate_transitions(n, m) for n, m in zip(jumps, self.transitions, strict=True))
        self.transitions = first, second
        return _regression(np.concatenate(ratios), np.concatenate(links))

    def _posteriors(self, k: int, fitted: Calibration, *, jumps: bool = False) -> BothPosteriors:
        ratios, nulls = self.scores.likelihoods(k, fitted), self.scores.nulls(fitted.weight)
        return hmm_posteriors(self.buckets[k], ratios, nulls, self.transitions, self.null, jumps=jumps)

    def weight(self, fitted: Calibration, other: TextScores, positions: HiddenMarkov) -> float:
        """Return the weight beside another head with its positions, of the calibration of this head alone."""
        if self._few:
            return UNFITTED
        sides = self.scores.text.source, self.scores.text.target
        model = other.null_ratios, positions.transitions_of(*sides), positions.null

        def found(k: int) -> Doubles:
            ratios = _left_one_out(other, k)
            own = self._posteriors(k, fitted).product
            others = hmm_posteriors(self.buckets[k], ratios, *model).product
            known, sure = (others > SURE) & (ratios > 1), own > SURE
            linked = np.maximum(others.sum(axis=0), others.sum(axis=1)[:, None])  # one of both words, to any
            return np.array([own[known].sum(), known.sum(), others[sure].sum(), linked[sure].sum()], float)

        total = np.array([1.0, 1.0, 0.0, 1.0])  # the weight is the largest if the other is sure of nothing
        for counts in in_order(found, range(len(self.buckets)), self.workers):
            total += counts
        return float(np.clip(2 * total[0] / total[1] - total[2] / total[3], *WEIGHTS))


def _left_one_out(scores: TextScores, k: int) -> Floats:
    """Return the likelihood ratios of bucket k; those above 1 with one link less."""
    ratios = scores.ratios(k)
    evidence = scores.evidence(k, ratios)
    return np.where(evidence > 0, np.exp(evidence), np.minimum(ratios, 1))


def _regression(ratios: Floats, links: Floats) -> tuple[float, float]:
    """Return slope and bias of a logistic regression of links on log ratios, by Newton's method.

    Examples
    --------
    >>> ratios = np.array([2.0, 2, 2, 2, -2, -2, -2, -2])
    >>> slope, bias = _regression(ratios, np.array([1.0, 1, 1, 0, 0, 0, 0, 1]))
    >>> round(slope, 3) == round(math.log(9) / 4, 3), round(bias, 3) == 0
    (True, True)
    """
    inputs = np.stack([ratios.astype(np.float64), np.ones(len(ratios))])  # (2, cells)
    odds = math.log(max(float(links.sum()), 1e-9) / max(float((1 - links).sum()), 1e-9))
    slopes = np.array([0.0, odds])
    for _ in range(NEWTON):
        expected = 1 / (1 + np.exp(-np.clip(slopes @ inputs, -30, 30)))
        spread = (inputs * (expected * (1 - expected))) @ inputs.T + 1e-6 * np.eye(2)
        step = np.linalg.solve(spread, inputs @ (links - expected))
        slopes += step / max(1.0, float(np.abs(step).max()))  # a whole step may lead away
        if np.abs(step).max() < 1e-6:
            break
    return float(slopes[0]), float(slopes[1]) - odds
