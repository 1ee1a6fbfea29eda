"""Fit temperature and bias of the contextual head, and its weight, to a text without gold links.

Temperature and bias: an EM algorithm in which a cell is a link or not. Given the posteriors of the hidden
Markov model, the likelihood ratio of links to other cells is a logistic regression on the log softmax ratio
(Anderson 1972). Its slope moves the temperature, as far as the bounds of this allow. Its intercept, less the
log odds of a link, is the bias.

Weight: the largest likelihood of the text, under ratios divided by their mean over cells without a link. The
log ratios of a lexicon are taken with one link less, for it may have been learned from this very text.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nmtalign.contextual.head import Calibration, ContextualScores
from nmtalign.corpus.parallel import in_order
from nmtalign.positions.agreement import BothPosteriors, BothTransitions, hmm_posteriors
from nmtalign.positions.transitions import estimate_transitions

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

FEW = 20  # pairs below which nothing is fitted
ITERATIONS, SETTLED = 12, 0.02  # of the EM algorithm, until the temperature moves by less
# scale of similarities whose standard deviation is 1: the first, and the bounds; those of some encoders are
# either near 0 or near 1, and nothing would hold it
START, LEAST, MOST = 4.0, 1.0, 12.0
MAX_STEP = 2.0  # factor by which an iteration may change the scale
WEIGHTS = np.linspace(0.15, 0.9, 16)  # with little text, weights near 0 or 1 are chosen too easily
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

    def calibrate(self) -> Calibration:
        """Return temperature and bias of the head alone; the transitions are estimated with them."""
        unit = self._unit()
        fitted = Calibration(START * unit, 1.0, 0.0, 1.0)
        if sum(int((bucket.pairs >= 0).sum()) for bucket in self.buckets) < FEW:
            return fitted
        for _ in range(ITERATIONS):
            slope, bias = self._logistic(fitted)
            last, slope = fitted.scale, min(max(slope, 1 / MAX_STEP), MAX_STEP)
            scale = min(max(last * slope, LEAST * unit), MOST * unit)
            fitted = Calibration(scale, slope * last / scale, bias, 1.0)
            if abs(math.log(scale / last)) < SETTLED:
                break
        return fitted

    def _unit(self) -> float:
        """Return the scale that gives similarities the standard deviation 1."""
        cells = [np.asarray(own, np.float64).ravel() for own in self.scores.found.values()]
        deviation = float(np.concatenate(cells).std()) if cells else 0.0
        return 1 / max(deviation, 1e-6)

    def _logistic(self, fitted: Calibration) -> tuple[float, float]:
        """Return slope and bias of the log softmax ratio, given the posteriors under a calibration."""
        ratios, links, jumps = [], [], [np.zeros(model.tables.size) for model in self.transitions]

        def cells(k: int) -> tuple[Floats, BothPosteriors]:
            return self.scores.softmax_ratios(k, fitted.scale), self._posteriors(k, fitted, counted=True)

        for k, (own, found) in enumerate(in_order(cells, range(len(self.buckets)), self.workers)):
            inside = self.buckets[k].inside
            ratios.append(own[inside])
            links.append(found.product[inside])
            counts = found.jumps(self.buckets[k], self.transitions, slice(None))
            for total, (place, value) in zip(jumps, counts, strict=True):
                total[place] += value
        first, second = (estimate_transitions(n, m) for n, m in zip(jumps, self.transitions, strict=True))
        self.transitions = first, second
        return _regression(np.concatenate(ratios), np.concatenate(links))

    def _posteriors(
        self, k: int, fitted: Calibration, of_base: Floats | None = None, *, counted: bool = False
    ) -> BothPosteriors:
        ratios, nulls = self.scores.likelihoods(k, fitted, of_base), self.scores.nulls(fitted.weight)
        columns = slice(None) if counted else None
        return hmm_posteriors(self.buckets[k], ratios, nulls, self.transitions, self.null, counted=columns)

    def weigh(self, fitted: Calibration) -> Calibration:
        """Return the calibration with the likeliest weight beside the other head."""
        likelihood = [self._likelihood(fitted._replace(weight=float(weight))) for weight in WEIGHTS]
        return fitted._replace(weight=float(WEIGHTS[int(np.argmax(likelihood))]))

    def _likelihood(self, fitted: Calibration) -> float:
        """Return the log-likelihood of the text; ratios are divided by their mean over unlinked cells."""
        total = np.zeros(4)  # log-likelihood, sum of ratios, cells without links, words
        for part in in_order(lambda k: self._parts(k, fitted), range(len(self.buckets)), self.workers):
            total += part
        return float(total[0] - total[3] * math.log(total[1] / total[2]))

    def _parts(self, k: int, fitted: Calibration) -> Doubles:
        bucket, of_base = self.buckets[k], self._left_one_out(k)
        found = self._posteriors(k, fitted, of_base)
        real, free = bucket.pairs >= 0, (1 - found.product) * bucket.inside
        ratios = self.scores.likelihoods(k, fitted, of_base)
        words = bucket.source_lengths.sum() + bucket.target_lengths.sum()
        likelihood = sum(float(own.log_likelihood[real].sum()) for own in found)
        sums = [float((ratios * free).sum(dtype=np.float64)), float(free.sum(dtype=np.float64))]
        return np.array([likelihood, *sums, float(words)])

    def _left_one_out(self, k: int) -> Floats:
        """Return the log ratios of the other head; those above 0 with one link less."""
        assert self.scores.base is not None
        ratios = self.scores.base.ratios(k)
        evidence = self.scores.base.evidence(k, ratios)
        return np.where(evidence > 0, evidence, np.minimum(np.log(np.maximum(ratios, 1e-30)), 0))


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
        slopes += step
        if np.abs(step).max() < 1e-6:
            break
    return float(slopes[0]), float(slopes[1]) - odds
