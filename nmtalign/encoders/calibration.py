"""Scores from the similarities of the tokens of sentence pairs; slope, bias and weight are fitted to a text.

Slope and bias: an EM algorithm in which a cell is a link or not. Given the posteriors of the hidden Markov
model, the likelihood ratio of links to other cells is a logistic regression on the log softmax ratio
(Anderson 1972): its slope, and its intercept less the log odds of a link.

Weight: 2 A - B, within bounds, so a scorer is trusted as far as it finds what the other one knows for
certain. A is the mean posterior that this scorer, by itself, gives to the links that the other one is sure
of, by the words and not by positions alone. B is the share of the links that this scorer is sure of in what
the other one gives to their words. The other may be a lexicon that was learned from this very text: each of
its word pairs has one link less (``scripts/evaluate_weight.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Longs
from nmtalign.corpus.buckets import PADDED, Bucket
from nmtalign.corpus.parallel import in_order
from nmtalign.corpus.text import EncodedText
from nmtalign.positions.forward_backward import BothPosteriors, BothTransitions, hmm_posteriors
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.positions.model import SoftmaxPosteriors, TextScores
from nmtalign.positions.transitions import estimate_transitions
from nmtalign.scorers.dense import SCORE_LIMIT
from nmtalign.scorers.scorer import TINY

FEW, UNFITTED = 20, 0.75  # pairs below which nothing is fitted, and the weight that is taken then
ITERATIONS, SETTLED = 12, 0.02  # of the EM algorithm, until the slope moves by less
STEEPEST = 6.0  # slope; it would grow without end where similarities leave no doubt
SHARPNESS = 12.0  # scale of similarities whose standard deviation is 1, before the slope
SURE = 0.9  # least posterior of a link that a scorer is sure of
WEIGHTS = 0.05, 0.95  # least and largest: each scorer may know words that are foreign to the other
NEWTON = 25  # steps at most


class Calibration(NamedTuple):
    """What was fitted to a text: inverse temperature, slope and bias, and weight beside the other scorer."""

    scale: float
    slope: float
    bias: float
    weight: float


def exponents(weight: float) -> tuple[float, float]:
    """Return the exponents of the ratios of the other scorer and of the contextual one in their mixture.

    Examples
    --------
    >>> exponents(0.5), exponents(1.0)
    ((1.0, 1.0), (0.0, 1.0))
    """
    squares = weight**2 + (1 - weight) ** 2
    return (1 - weight) / squares, weight / squares


@dataclass(frozen=True, eq=False, repr=False)
class EncoderScores:
    """Scores of a text: similarities (T, S) by number of the piece, and the scores of the other scorer."""

    text: EncodedText
    found: Mapping[int, Floats]
    base: TextScores | None
    calibration: Calibration | None

    def similarities(self, k: int) -> Floats:
        """Return the similarities of bucket k, shape (T, S, B), `PADDED` outside of the sentences."""
        bucket = self.text.buckets[k]
        stacked = np.full(bucket.shape, PADDED, np.float32)
        for column in np.flatnonzero(bucket.pairs >= 0):
            own = self.found[int(bucket.pairs[column])]
            stacked[: own.shape[0], : own.shape[1], column] = own
        return stacked

    def softmax_ratios(self, k: int, scale: float) -> Floats:
        """Return log r of slope 1, without bias, shape (T, S, B); 0 outside of the sentences."""
        bucket = self.text.buckets[k]
        joint = SoftmaxPosteriors(self.similarities(k) * np.float32(scale), bucket.inside).log_joint
        shift = np.log(np.maximum(bucket.source_lengths * bucket.target_lengths, 1)) / 2
        return np.where(bucket.inside, joint + shift.astype(np.float32), 0)

    def log_ratios(self, k: int, calibration: Calibration) -> Floats:
        """Return the mixed log ratios of bucket k, shape (T, S, B)."""
        scale, slope, bias, weight = calibration
        of_base, own = exponents(weight)
        found = self.softmax_ratios(k, scale) * np.float32(slope * own) + np.float32(bias * own)
        if self.base is not None and weight < 1:
            found += np.float32(of_base) * np.log(np.maximum(self.base.ratios(k), TINY))
        return np.clip(found, -SCORE_LIMIT, SCORE_LIMIT, out=found)

    def nulls(self, weight: float) -> tuple[Floats, Floats]:
        """Return the likelihood ratios of the words under null; to the scorer of the encoder they are 1."""
        if self.base is None:
            first, second = (
                np.ones(len(side.words), np.float32) for side in (self.text.source, self.text.target)
            )
        else:
            first, second = (own ** np.float32(exponents(weight)[0]) for own in self.base.null_ratios)
        return first, second

    @property
    def agreed(self) -> bool:
        """Whether the ratios come from softmaxes of both directions."""
        return self._fitted.weight > 0

    vocabularies: ClassVar[None] = None  # an encoder knows other words, too

    @property
    def training_words(self) -> tuple[int, int] | None:
        """Those of the other scorer."""
        return None if self.base is None else self.base.training_words

    @property
    def training_counts(self) -> tuple[Longs, Longs]:
        """Those of the other scorer; 0 without one."""
        if self.base is not None:
            return self.base.training_counts
        sizes = len(self.text.source.words), len(self.text.target.words)
        return np.zeros(sizes[0], np.int64), np.zeros(sizes[1], np.int64)

    @property
    def _fitted(self) -> Calibration:
        assert self.calibration is not None
        return self.calibration

    @property
    def null_ratios(self) -> tuple[Floats, Floats]:
        """Likelihood ratio of each source and each target word under the null word."""
        return self.nulls(self._fitted.weight)

    def prepare(self, *, ratios: bool) -> None:
        """Compute what all buckets share."""
        if self.base is not None:
            self.base.prepare(ratios=ratios)

    def scores(self, k: int) -> Floats:
        """Return the log ratios of bucket k, shape (T, S, B), `PADDED` outside of the sentences."""
        return np.where(self.text.buckets[k].inside, self.log_ratios(k, self._fitted), PADDED)

    def ratios(self, k: int) -> Floats:
        """Return the likelihood ratios of bucket k to chance, shape (T, S, B), 0 outside of the sentences."""
        return self.likelihoods(k, self._fitted)

    def likelihoods(self, k: int, calibration: Calibration) -> Floats:
        """Return :meth:`ratios` under some calibration."""
        bucket: Bucket = self.text.buckets[k]
        return np.asarray(np.exp(self.log_ratios(k, calibration)) * bucket.inside)

    def informed(self, k: int, ratios: Floats | None) -> Flags:
        """Tell which pairs of bucket k have words that are known: all."""
        return np.ones(len(self.text.buckets[k].pairs), dtype=bool)

    def evidence(self, k: int, ratios: Floats) -> Floats:
        """Return the evidence of each cell that its pair is parallel, shape (T, S, B)."""
        own = np.log(np.maximum(ratios, np.float32(1)))
        weight = np.float32(self._fitted.weight)
        if self.base is None or weight == 1:
            return np.asarray(own)
        return np.asarray(weight * own + (1 - weight) * self.base.evidence(k, ratios))


class Fitting:
    """The scores of a text that is fitted to, and the hidden Markov model.

    Parameters
    ----------
    scores : EncoderScores
    transitions : (TransitionModel, TransitionModel)
        For the words of the text.
    null : float
        Probability of the null word.
    workers : int
    """

    def __init__(
        self, scores: EncoderScores, transitions: BothTransitions, null: float, workers: int
    ) -> None:
        self.scores, self.transitions, self.null, self.workers = scores, transitions, null, workers
        self.buckets = scores.text.buckets

    @property
    def _few(self) -> bool:
        return sum(int((bucket.pairs >= 0).sum()) for bucket in self.buckets) < FEW

    def calibrate(self) -> Calibration:
        """Return slope and bias of the scorer alone; the transitions are estimated with them."""
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
        """Return the weight beside another scorer with its positions, calibrated alone."""
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
