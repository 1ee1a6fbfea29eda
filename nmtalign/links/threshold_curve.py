"""Precision and recall of the links of each threshold, which are chosen again from the posteriors of a batch.

Axes: L links, or gold links.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nmtalign.arrays import Longs
from nmtalign.display import with_plural
from nmtalign.errors import UsageError
from nmtalign.links.alignments import AlignedBatch, GoldAlignment
from nmtalign.links.gold import GoldLinks
from nmtalign.links.scoring import Counts, HasScores
from nmtalign.results import ViewableCurve

THRESHOLDS = tuple(round(0.01 * n, 2) for n in range(1, 100))


@dataclass(frozen=True)
class CurvePoint(HasScores):
    """The scores of the links of one threshold."""

    threshold: float | None  # None for links that were chosen without one
    counts: Counts

    def score(self, metric: str) -> float:
        """Return one of `METRICS`."""
        return self.counts.score(metric)

    def __str__(self) -> str:
        where = "without a threshold" if self.threshold is None else f"at {self.threshold:g}"
        scores = f"precision {self.precision:.4f}, recall {self.recall:.4f}, F1 {self.f1:.4f}"
        return f"{where}: {scores}".replace("nan", "undefined")


@dataclass(frozen=True, repr=False)
class ThresholdCurve(ViewableCurve):
    """Precision and recall of the links of 99 thresholds, made by ``nmtalign.evaluate(..., curve=True)``.

    The method that chooses the links is that of the batch; only its threshold changes.

    Attributes
    ----------
    points : tuple of CurvePoint
        ``threshold``, ``precision``, ``recall``, ``f1``, ``aer`` and ``counts`` of each threshold, rising.
    present : CurvePoint
        The same of the links of the batch, which may have second words below the threshold.
    method : str
        The method that chooses the links.
    """

    points: tuple[CurvePoint, ...]
    present: CurvePoint
    method: str

    def __repr__(self) -> str:
        thresholds = with_plural(len(self.points), "threshold")
        return f"ThresholdCurve of {thresholds}: best F1 {self.best}; present links {self.present}"

    @property
    def best(self) -> CurvePoint:
        """The point with the best F1; of equal ones, the one nearest to the middle of these."""
        scores = [0.0 if math.isnan(point.f1) else point.f1 for point in self.points]
        equal = [point for point, f1 in zip(self.points, scores, strict=True) if f1 == max(scores)]
        return equal[(len(equal) - 1) // 2]


def threshold_curve(batch: AlignedBatch, gold: Sequence[GoldAlignment], *, present: Counts) -> ThresholdCurve:
    """Return the scores of the links of `THRESHOLDS`; UsageError if the batch has no posteriors.

    `present` are the counts of the links of the batch.
    """
    if isinstance(gold, GoldLinks) and gold.is_partial:
        reviewed = list(gold.reviewed)
        batch = batch[reviewed]
        gold = gold[reviewed]
    matches = _GoldMatches(gold)
    origin = batch.origin
    if origin is None:
        raise UsageError("a curve needs the posteriors of a batch; this one has links without words")
    own = origin.link_settings
    points = []
    for threshold in THRESHOLDS:
        links = origin.choose(replace(own, threshold=threshold))
        points.append(CurvePoint(threshold, matches.count(links)))
    return ThresholdCurve(
        tuple(points),
        CurvePoint(own.threshold, present),
        own.symmetrize or own.extract or "",
    )


class _GoldMatches:
    """Counts the links of batches that are gold links; all pairs together, because there are many batches."""

    def __init__(self, golds: Sequence[GoldAlignment]) -> None:
        rows = [
            (n, source, target, (source, target) in gold.sure)
            for n, gold in enumerate(golds)
            for source, target in gold.possible
        ]
        pair, source, target, is_sure = np.array(rows, np.int64).reshape(-1, 4).T
        self._widths = int(source.max(initial=0)) + 1, int(target.max(initial=0)) + 1
        possible = self._keys(pair, source, target)
        order = np.argsort(possible)
        self._possible = possible[order]
        self._is_sure = is_sure[order] > 0

    def _keys(self, pair: Longs, source: Longs, target: Longs) -> Longs:
        source_width, target_width = self._widths
        return np.asarray((pair * source_width + source) * target_width + target)

    def count(self, batch: AlignedBatch) -> Counts:
        """Return the counts of all pairs of a batch."""
        pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
        source, target = batch.source.astype(np.int64), batch.target.astype(np.int64)
        inside = (source < self._widths[0]) & (target < self._widths[1])
        keys = self._keys(pair[inside], source[inside], target[inside])
        found = np.isin(self._possible, keys, assume_unique=True)
        return Counts(
            links=len(pair),
            sure=int(self._is_sure.sum()),
            in_sure=int((found & self._is_sure).sum()),
            in_possible=int(found.sum()),
        )
