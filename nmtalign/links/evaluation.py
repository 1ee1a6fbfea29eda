"""Evaluation of links against gold links: counts per sentence, scores from their sums.

With links A, sure gold links S and possible ones P ⊇ S (Och and Ney 2003):

    precision = |A ∩ P| / |A|        recall = |A ∩ S| / |S|        F1 = their harmonic mean
    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

A score whose denominator is 0 is not known and is NaN. One sentence is a corpus of one sentence. Besides, the
errors as a table, and the scores of the links of each threshold, which are chosen again from the posteriors.

Axes: T target words, S source words, L links, or gold links.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice, repeat, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Longs
from nmtalign.display import short_repr, with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import AlignedBatch, GoldAlignment, Link
from nmtalign.links.gold import GoldLinks
from nmtalign.links.inputs import (
    GoldInput,
    LinksInput,
    as_gold_sequence,
    check_gold_inside,
    check_same_words,
    iter_links,
)
from nmtalign.links.scoring import (
    METRICS,
    Bootstrap,
    Counts,
    ExpectedEvaluation,
    HasScores,
    LinkPairs,
    as_bootstrap,
    evaluate_without_gold,
    scores_of_counts,
    table_of_counts,
)
from nmtalign.results import FIRST_AND_SECOND, TableResult, ViewableCurve, table_of_rows, with_frame_index
from nmtalign.validation import check_bool, check_same_pairs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Evaluation(HasScores, TableResult):
    """Scores of a corpus, which :func:`nmtalign.evaluate` returns.

    Attributes
    ----------
    sentences : tuple of Counts
        How many links of each sentence are right.
    intervals : mapping of str to (float, float)
        Bootstrap interval of ``precision``, ``recall``, ``f1`` and ``aer``.
    settings : str
        What made the scores: number of pairs, and how the intervals were drawn.
    bootstrap : Bootstrap
        How the intervals were drawn, and those of :meth:`compare` are drawn.
    """

    sentences: tuple[Counts, ...]
    intervals: Mapping[str, tuple[float, float]] = field(hash=False)
    settings: str
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        object.__setattr__(self, "intervals", MappingProxyType(dict(self.intervals)))

    def __reduce__(self) -> tuple[type[Evaluation], tuple[Any, ...]]:
        """Pickle the arguments: a read-only mapping cannot be pickled."""
        return Evaluation, (self.sentences, dict(self.intervals), self.settings, self.bootstrap)

    def __repr__(self) -> str:
        names = {"AER": "aer", "precision": "precision", "recall": "recall"}
        scores = [f"{name} {self.score(metric):.4f}" for name, metric in names.items()]
        shown = ", ".join(scores).replace("nan", "undefined")
        return f"Evaluation of {with_plural(len(self.sentences), 'pair')}: {shown}"

    def compare(
        self,
        other: Evaluation,
        *,
        names: tuple[str, str] = FIRST_AND_SECOND,
        bootstrap: Bootstrap | int | None = None,
    ) -> pd.DataFrame:
        """Test the differences to another evaluation of the same sentences by paired bootstrap.

        Parameters
        ----------
        other : Evaluation
            The scores of other links of the same sentences.
        names : (str, str)
            What the columns call these links and the other ones.
        bootstrap : Bootstrap or int, optional
            How differences are drawn. Default: as the intervals of both evaluations, which have to agree.

        Returns
        -------
        pandas.DataFrame
            One row for each score: both values, their difference, its interval, and its p-value. The
            attribute ``attrs["settings"]`` of the table says how they were drawn.

        Examples
        --------
        >>> gold, settings = ["0-0 1-1", "0-0"], Bootstrap(samples=200, confidence=0.9)
        >>> first = evaluate(["0-0 1-1", "0-1"], gold, bootstrap=settings)
        >>> second = evaluate(["0-0", "0-0"], gold, bootstrap=settings)
        >>> table = first.compare(second, names=("baseline", "ours"))
        >>> table.columns.tolist(), table.attrs["settings"]
        (['baseline', 'ours', 'difference', 'low', 'high', 'p'], 'bootstrap:200|confidence:0.9|seed:1')
        """
        if bootstrap is not None:
            chosen = as_bootstrap(bootstrap)
            return replace(self, bootstrap=chosen).compare(replace(other, bootstrap=chosen), names=names)
        return super().compare(other, names=names)

    def to_dict(self) -> dict[str, Any]:
        """Return scores, intervals, counts and settings as plain values, for JSON; unknown scores are None.

        Examples
        --------
        >>> result = evaluate(["0-0 1-1"], ["0-0 1-0"], bootstrap=10)
        >>> result.to_dict()["precision"], result.to_dict()["counts"]["links"]
        (0.5, 2)
        """
        scores = {metric: _known_or_none(self.score(metric)) for metric in METRICS}
        intervals = {metric: [*map(_known_or_none, self.intervals[metric])] for metric in METRICS}
        return {
            **scores,
            "intervals": intervals,
            "counts": asdict(self.counts),
            "settings": self.settings,
        }

    @property
    def counts(self) -> Counts:
        """The sums over all sentences."""
        return sum(self.sentences, Counts())

    def score(self, metric: str) -> float:
        """Return one of `METRICS`."""
        return self.counts.score(metric)


def _known_or_none(score: float) -> float | None:
    """Return a score, or None for NaN, which JSON does not have."""
    return None if np.isnan(score) else float(score)


def count_matches(
    alignments: Iterable[LinkPairs], golds: Iterable[GoldAlignment], *, known: int | None = None
) -> tuple[Counts, ...]:
    """Return the counts of each sentence pair; a DataError if the numbers of pairs differ or are 0.

    `known` is the number of gold alignments where it is known before they are read.
    """
    sentences = []
    linked = with_gold = 0
    for links, gold in zip_longest(alignments, golds):
        linked += links is not None
        with_gold += gold is not None
        if links is not None and gold is not None:
            sentences.append(Counts.from_links(links, gold))
        elif links is None and known is not None:
            with_gold = known
            break
    if linked != with_gold:
        expected = f"expected links for the {with_plural(with_gold, 'pair')} with gold links"
        raise DataError(f"{expected}, found links for {linked}")
    if not sentences:
        raise DataError("expected links and gold links of at least one pair, found none")
    return tuple(sentences)


@overload
def evaluate(
    alignments: LinksInput,
    golds: GoldInput,
    *,
    judge: None = None,
    curve: Literal[False] = False,
    bootstrap: Bootstrap | int | None = None,
) -> Evaluation: ...


@overload
def evaluate(alignments: LinksInput, golds: GoldInput, *, curve: Literal[True]) -> ThresholdCurve: ...


@overload
def evaluate(
    alignments: LinksInput,
    golds: None = None,
    *,
    judge: AlignedBatch | None = None,
    curve: Literal[False] = False,
    bootstrap: Bootstrap | int | None = None,
) -> ExpectedEvaluation: ...


def evaluate(
    alignments: LinksInput,
    golds: GoldInput | None = None,
    *,
    judge: AlignedBatch | None = None,
    curve: bool = False,
    bootstrap: Bootstrap | int | None = None,
) -> Evaluation | ExpectedEvaluation | ThresholdCurve:
    """Score alignments against gold links, or estimate the scores without gold links.

    Parameters
    ----------
    alignments : AlignedBatch, path, or iterable
        The links of each pair: aligned pairs, alignments, sets of (source, target), or Pharaoh lines; or the
        path of a file of Pharaoh lines, or of a saved batch.
    golds : path, or iterable of GoldAlignment, of sets of (source, target), or of Pharaoh lines, optional
        As many as `alignments`; links of sets are sure. Of corrections, only the pairs that somebody looked
        at are scored. Without gold links, scores are estimated from the probabilities of the links.
    judge : AlignedBatch, optional
        Without gold links: the same pairs, as an aligner linked them. Its probabilities are those of
        `alignments`, which may come from anywhere. By default, `alignments` is a batch with its own ones.
    curve : bool
        Return the scores of the links of 99 thresholds, which are chosen as by :meth:`AlignedBatch.choose`;
        `alignments` is a batch.
    bootstrap : Bootstrap or int, optional
        Settings of the intervals, or the number of samples; 0 for no intervals of measured scores. Intervals
        are those of 95 percent with gold links, and of 90 percent without.

    Returns
    -------
    Evaluation, ExpectedEvaluation or ThresholdCurve
        Scores, counts and bootstrap intervals; deterministic for a given seed. Without gold links, expected
        scores with their intervals. With `curve`, the scores of each threshold, without intervals.

    Raises
    ------
    DataError
        If the numbers of pairs differ or are 0, or if links are None; the message names the pair. If
        there are fewer than 10 pairs without gold links.
    UsageError
        If there are neither gold links nor probabilities.

    References
    ----------
    Och and Ney 2003; Koehn 2004, "Statistical significance tests for machine translation evaluation".

    Examples
    --------
    >>> gold = GoldAlignment({(0, 0)}, {(0, 0), (1, 1)})
    >>> result = evaluate([{(0, 0), (1, 1), (2, 1)}], [gold])
    >>> round(result.precision, 3), result.recall, result.aer
    (0.667, 1.0, 0.25)
    >>> result
    Evaluation of 1 pair: AER 0.2500, precision 0.6667, recall 1.0000
    >>> evaluate(["0-0 1-1"], ["0-0 1p1"]).aer
    0.0

    The scores of each threshold, and then those without gold links:

    >>> import nmtalign as na
    >>> batch = na.load().align_batch([("the black cat", "le chat noir")])
    >>> evaluate(batch, ["0-0 1-2 2-1"], curve=True).best.f1
    1.0
    >>> batch = na.load().align_batch([("the black cat", "le chat noir")] * 60)
    >>> expected = evaluate(batch)
    >>> low, high = expected.dense.intervals["aer"]
    >>> low < expected.dense.aer < high
    True
    """
    check_bool(curve, "curve")
    if curve:
        if golds is None or judge is not None or bootstrap is not None:
            raise UsageError("a curve needs gold links, and has neither `judge` nor `bootstrap`")
        if not isinstance(alignments, AlignedBatch):
            expected = "expected a batch of align_batch, whose links a curve chooses again"
            raise UsageError(f"{expected}, found {short_repr(alignments)}")
        gold = as_gold_sequence(golds)
        gold = gold if isinstance(gold, Sequence) else list(gold)
        return threshold_curve(alignments, gold, present=evaluate(alignments, gold, bootstrap=0).counts)
    if golds is None:
        expected_bootstrap = None if bootstrap is None else as_bootstrap(bootstrap)
        return evaluate_without_gold(alignments, judge, bootstrap=expected_bootstrap)
    if judge is not None:
        raise UsageError("`judge` stands in for gold links; remove it, or the gold links")
    bootstrap = as_bootstrap(bootstrap)
    check_same_words(alignments, golds)
    gold = as_gold_sequence(golds)
    links = iter_links(alignments)
    check_same_pairs(alignments, golds, "links and gold links")
    known = len(gold) if isinstance(gold, Sequence) else None
    sentences = count_matches(links, check_gold_inside(gold, alignments), known=known)
    if isinstance(gold, GoldLinks) and gold.is_partial:
        sentences = tuple(sentences[n] for n in gold.reviewed)
    drawn = scores_of_counts(bootstrap.draw(table_of_counts(sentences)))
    intervals = {metric: bootstrap.interval(drawn[metric]) for metric in METRICS}
    return Evaluation(sentences, intervals, f"pairs:{len(sentences)}|{bootstrap.settings}", bootstrap)


@dataclass(frozen=True)
class Difference:
    """How much one score of the second alignment is above that of the first."""

    value: float  # second minus first
    interval: tuple[float, float]  # paired bootstrap interval of the difference
    p: float  # probability of a difference at least as large in size if the two were equally good


def compare_evaluations(
    first: Evaluation, second: Evaluation, *, bootstrap: Bootstrap | None = None
) -> dict[str, Difference]:
    """Test the differences of `METRICS` between two evaluations of the same sentences by paired bootstrap.

    The p-value is the share of drawn differences that lie at least as far from their mean as the observed
    difference lies from 0, with one added above and below, so that the p-value is never 0 (Koehn 2004;
    Riezler and Maxwell 2005, figure 1).
    """
    if [counts.sure for counts in first.sentences] != [counts.sure for counts in second.sentences]:
        raise DataError("the two evaluations are not about the same gold links")
    if bootstrap is None:
        bootstrap = first.bootstrap
        if bootstrap != second.bootstrap:
            found = f"found {first.bootstrap} and {second.bootstrap}"
            raise UsageError(f"expected two evaluations with the same Bootstrap, {found}; pass `bootstrap`")
    tables = [table_of_counts(evaluation.sentences) for evaluation in (first, second)]
    drawn = [scores_of_counts(bootstrap.draw(table)) for table in tables]
    differences = {}
    for metric in METRICS:
        value = getattr(second, metric) - getattr(first, metric)
        p = np.nan
        spread = drawn[1][metric] - drawn[0][metric]
        known = spread[~np.isnan(spread)]
        if len(known) and not np.isnan(value):
            as_far = np.abs(known - known.mean()) >= abs(value) - 1e-12
            p = float((as_far.sum() + 1) / (len(known) + 1))
        differences[metric] = Difference(value, bootstrap.interval(known), p)
    return differences


# --- errors as a table ---------------------------------------------------------------------------

ErrorClass = Literal["instead", "unlinked", "additional"]


class LinkError(NamedTuple):
    """A link that is wrong, or a sure gold link that is missing."""

    link: Link
    kind: Literal["missed", "wrong"]
    of_class: ErrorClass


def errors_of_links(links: Collection[Link], gold: GoldAlignment) -> list[LinkError]:
    """Return the errors of the links of one pair, in the order of their positions.

    Of each error, one side has a link that the other side lacks. The class says what the other side has in
    its place: it links one of the two words differently (``instead``), leaves one of them unlinked, or
    agrees on other links of both words (``additional``).
    """
    missed = gold.sure - set(links)
    wrong = set(links) - gold.possible
    errors = []
    for link in sorted(missed | wrong):
        is_missed = link in missed
        opposite, other_side = (wrong, links) if is_missed else (missed, gold.possible)
        of_class: ErrorClass = "additional"
        if any(s == link.source or t == link.target for s, t in opposite):
            of_class = "instead"
        elif not (_has(other_side, 0, link.source) and _has(other_side, 1, link.target)):
            of_class = "unlinked"
        errors.append(LinkError(link, "missed" if is_missed else "wrong", of_class))
    return errors


def _has(links: Iterable[Link], side: int, position: int) -> bool:
    """Return whether a word of one side has a link."""
    return any(link[side] == position for link in links)


ERROR_COLUMNS = (
    "pair",
    "source_position",
    "source_word",
    "target_position",
    "target_word",
    "kind",
    "class",
    "probability",
    "posterior",
    "doubt",
    "source_count",
    "target_count",
)
ERROR_EXAMPLE = (0, 0, "", 0, "", "", "", 0.5, 0.5, 0.5, 1, 1)


def error_table(batch: AlignedBatch, gold: GoldInput) -> pd.DataFrame:
    """Return a DataFrame with one row for each error of the links of a batch.

    See :meth:`nmtalign.AlignedBatch.compare`.
    """
    origin = batch.origin
    if origin is None:
        raise UsageError("this batch has links without words; align the pairs to list its errors")
    golds = as_gold_sequence(gold)
    golds = golds if isinstance(golds, Sequence) else list(golds)
    if len(golds) != len(batch):
        expected = f"expected gold links of {with_plural(len(batch), 'pair')}"
        raise DataError(f"{expected}, found {len(golds):,}")
    check_same_words(batch, golds)
    check_same_pairs(batch, gold, "links and gold links")
    reviewed = golds.reviewed if isinstance(golds, GoldLinks) else range(len(batch))
    golds = list(check_gold_inside(golds, batch))
    rows = []
    for n, matrix in zip(reviewed, _posteriors(batch[list(reviewed)]), strict=True):
        words = origin.tokens(n)
        of_pair = slice(batch.offsets[n], batch.offsets[n + 1])
        probabilities = dict(zip(batch.links(n), batch.probability[of_pair].tolist(), strict=True))
        for link, kind, of_class in errors_of_links(probabilities.keys(), golds[n]):
            s, t = link
            probability = probabilities.get(link, np.nan)
            posterior = np.nan if matrix is None else float(matrix[t, s])
            # a joint posterior is about the product of two directions, so its root is a probability of one
            doubt = probability if kind == "wrong" else 1 - np.sqrt(posterior)
            values = kind, of_class, probability, posterior, doubt
            rows.append((n, s, words[0][s], t, words[1][t], *values))
    counts = Counter[str](), Counter[str]()
    for n in range(len(batch)):
        for counter, side in zip(counts, origin.tokens(n), strict=True):
            counter.update(side)
    complete = [(*row, counts[0][row[2]], counts[1][row[4]]) for row in rows]
    table = table_of_rows(complete, ERROR_COLUMNS, ERROR_EXAMPLE)
    return with_frame_index(table, batch.frame_index)


def _posteriors(batch: AlignedBatch) -> Iterable[NDArray[np.floating] | None]:
    """Return the posteriors of each pair; None for all if the batch does not have them any more."""
    try:
        matrices = batch.matrices("combined")
        first = list(islice(matrices, 1))
    except UsageError:  # it was pickled, or saved without them
        return repeat(None, len(batch))
    return chain(first, matrices)


# --- the scores of each threshold ----------------------------------------------------------------

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
