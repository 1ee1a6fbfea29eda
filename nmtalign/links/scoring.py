"""The four scores of links: counted, or expected without gold links; intervals by a bootstrap over sentences.

Two signals of the links A of a text say how people would judge them:

    c = share of the links A whose probability is above SURE_LINK_PROBABILITY
    u = share of the words without a link

    logit precision = a0 + a1 c + a2 u + a3 k        logit recall = b0 + b1 c + b2 u + b3 k

F1 is the harmonic mean of both. The style of annotation decides what counts as right. In dense gold (k = 0),
each word that has a counterpart is linked, and all links are sure, so that AER = 1 - F1. In gold with sure
and possible links (k = 1), with ρ sure links for each link of A,

    AER = 1 - (precision + ρ recall) / (1 + ρ)

An interval is that of a normal distribution of the logit of the score. Its variance is that of texts that
took no part in the fit, and four times the bootstrap variance of the estimate: the links of few pairs are a
sample, and so are the judgments about them. ``scripts/fit_expected_scores.py`` fits the constants, and prints
the errors on held-out texts.

**Two files of links.** A model expects Σ_A p + m right links, with the posterior p of each cell and the sum m
of those outside of A, so that the expected error is 1 - 2 Σ_A p / (|A| + Σ_A p + m). A model prefers its own
links, right or wrong. So there is a verdict only where the same script has shown that it is mostly right: if
neither file has links that the model thinks impossible (*foreign*, p < MAX_FOREIGN_PROBABILITY), so that both
are ways to choose links from its posteriors.

Axes: N sentence pairs, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import zip_longest
from numbers import Integral
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from nmtalign.display import name_pair, with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import AlignedBatch, AlignedPair, Alignment, GoldAlignment, Link, links_inside
from nmtalign.links.inputs import LinksInput, iter_links
from nmtalign.results import TableResult
from nmtalign.validation import check_choice, check_number, check_same_pairs, check_type

MAX_SAMPLES = 1_000_000
DRAWS_PER_BLOCK = 1 << 16  # of the bootstrap; bounds memory
METRICS = ("precision", "recall", "f1", "aer")
LinkPairs = Iterable[tuple[int, int]] | Alignment


class HasScores:
    """A result with the four scores."""

    def score(self, metric: str) -> float:
        """Return one of `METRICS`."""
        raise NotImplementedError

    @property
    def precision(self) -> float:
        """Share of the links that are possible."""
        return self.score("precision")

    @property
    def recall(self) -> float:
        """Share of the sure links that were found."""
        return self.score("recall")

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return self.score("f1")

    @property
    def aer(self) -> float:
        """Alignment error rate."""
        return self.score("aer")


@dataclass(frozen=True)
class Counts(HasScores):
    """Counts of any number of sentences, which add up: |A|, |S|, |A ∩ S| and |A ∩ P|."""

    links: int = 0
    sure: int = 0
    in_sure: int = 0
    in_possible: int = 0

    @classmethod
    def from_links(cls, links: LinkPairs, gold: GoldAlignment) -> Counts:
        """Return the counts of one sentence pair."""
        chosen = frozenset(links)
        return cls(len(chosen), len(gold.sure), len(chosen & gold.sure), len(chosen & gold.possible))

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.links + other.links,
            self.sure + other.sure,
            self.in_sure + other.in_sure,
            self.in_possible + other.in_possible,
        )

    def score(self, metric: str) -> float:
        """Return one of `METRICS`."""
        check_choice(metric, METRICS, "metrics")
        return float(scores_of_counts(np.array(astuple(self)))[metric])


def scores_of_counts(counts: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    """Return each of `METRICS` of counts (..., 4), NaN where it is not known."""
    links, sure, in_sure, in_possible = np.moveaxis(counts, -1, 0)
    precision = _ratio(in_possible, links)
    recall = _ratio(in_sure, sure)
    both = precision + recall
    f1 = np.where(both == 0, 0.0, _ratio(2 * precision * recall, both))
    aer = 1 - _ratio(in_sure + in_possible, links + sure)
    return {"precision": precision, "recall": recall, "f1": f1, "aer": aer}


def table_of_counts(sentences: Sequence[Counts]) -> NDArray[np.float64]:
    """Return the counts of N sentences, shape (N, 4)."""
    return np.array([astuple(counts) for counts in sentences], np.float64)


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    unknown = np.full(np.shape(part), np.nan)
    return np.asarray(np.divide(part, whole, out=unknown, where=np.asarray(whole) != 0))


@dataclass(frozen=True)
class Bootstrap:
    """Settings of the bootstrap over sentences that estimates confidence intervals.

    Parameters
    ----------
    samples : int
        How many samples of the same number of sentences are drawn, with replacement. With 0, there are no
        intervals: their ends are NaN.
    confidence : float
        Share of the samples whose score lies within the interval, above 0 and below 1.
    seed : int
        The same seed draws the same samples.

    Examples
    --------
    >>> import nmtalign as na
    >>> result = na.evaluate(["0-0 1-1"], ["0-0 1-0"], bootstrap=Bootstrap(samples=100, confidence=0.9))
    >>> result.settings
    'pairs:1|bootstrap:100|confidence:0.9|seed:1'
    """

    samples: int = 1000
    confidence: float = 0.95
    seed: int = 1

    def __post_init__(self) -> None:
        wanted = f"a number of bootstrap samples from 0 to {MAX_SAMPLES:,}"
        check_number(self.samples, wanted, minimum=0, maximum=MAX_SAMPLES, integer=True)
        check_number(self.seed, "a seed, an integer from 0", minimum=0, integer=True)
        check_number(self.confidence, "a confidence above 0 and below 1")
        if not 0 < self.confidence < 1:
            found = f"expected a confidence above 0 and below 1, such as 0.95, found {self.confidence}"
            raise UsageError(found)

    @property
    def settings(self) -> str:
        """The settings in one line."""
        return f"bootstrap:{self.samples}|confidence:{self.confidence:g}|seed:{self.seed}"

    def draw(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of the rows of each drawn corpus, shape (samples, columns), the same for a seed.

        `table` has a row for each sentence pair.
        """
        random = np.random.default_rng(self.seed)
        N = len(table)
        samples_per_block = max(1, DRAWS_PER_BLOCK // max(1, N))
        sums = [np.empty((0, table.shape[1]))]
        for begin in range(0, self.samples, samples_per_block):
            count = min(samples_per_block, self.samples - begin)
            drawn = random.integers(0, N, (count, N)) + N * np.arange(count)[:, None]  # rows share no number
            times = np.bincount(drawn.ravel(), minlength=count * N).reshape(count, 1, N)
            sums.append((times @ table)[:, 0])
        return np.concatenate(sums)

    def interval(self, scores: NDArray[np.float64]) -> tuple[float, float]:
        """Return the percentile interval of the known scores."""
        known = scores[~np.isnan(scores)]
        if not len(known):
            return np.nan, np.nan
        low, high = np.quantile(known, [(1 - self.confidence) / 2, (1 + self.confidence) / 2])
        return float(low), float(high)


def as_bootstrap(given: Any) -> Bootstrap:
    """Return how intervals are found; an integer is that of the samples."""
    if given is None:
        return Bootstrap()
    if isinstance(given, Integral) and not isinstance(given, bool):
        return Bootstrap(int(given))
    check_type(given, Bootstrap, "a number of samples, or nmtalign.Bootstrap(samples=1000)")
    return cast(Bootstrap, given)


# --- expected scores -----------------------------------------------------------------------------

SURE_LINK_PROBABILITY = 0.9
MAX_FOREIGN_PROBABILITY = 0.1
# Fitted and measured by scripts/fit_expected_scores.py: constant, c, u, k
COEFFICIENTS = {
    "precision": (0.037, 3.328, -0.297, 0.74),
    "recall": (1.074, 1.327, -3.799, 1.373),
}
SURE_GOLD_PER_LINK = 0.73  # ρ
HELD_OUT_SD = {"precision": 0.339, "recall": 0.35, "f1": 0.296, "aer": 0.296}  # of the logits
SAMPLING_VARIANCES = 4  # times the bootstrap variance of an estimate
# the fewest for which intervals were measured; one pair has no bootstrap variance at all
MIN_ESTIMATED_PAIRS = 10
# A verdict about two results needs at least this difference of the expected error:
MIN_DIFFERENCE_OF_OWN = 0.02  # each with the probabilities of its own aligner
MIN_DIFFERENCE_OF_JUDGED = 0.06  # links of one text, which one model judges
# Besides, at most so many links of both are foreign, or so many of the worse one that no aligner of this text
# made them.
MAX_FOREIGN_RATE = 0.0005
MIN_FOREIGN_RATE_OF_NOISE = 0.6

STYLES = {"sure_possible": "sure and possible links", "dense": "dense links"}
Rows = NDArray[np.float64]


class LinkSignals(NamedTuple):
    """Sums over the words and links of each pair, shape (N,), or of a drawn text."""

    links: Rows
    sure: Rows  # links whose probability is above `SURE_LINK_PROBABILITY`
    words: Rows  # of both sides
    linked_words: Rows
    # of links that a model judges; 0 without one
    expected: Rows  # sum of the probabilities of the links
    missed: Rows  # sum of the posteriors of the other cells
    foreign: Rows  # links whose probability is below `MAX_FOREIGN_PROBABILITY`

    def sums(self) -> LinkSignals:
        """Return the sums over all pairs."""
        return LinkSignals(*(column.sum(axis=-1) for column in self))

    def drawn(self, bootstrap: Bootstrap) -> LinkSignals:
        """Return the sums of each drawn text, shape (samples,); the same draws for the same seed."""
        return LinkSignals(*bootstrap.draw(np.stack(self, axis=-1)).T)

    def expected_scores(self, style: str) -> dict[str, Rows]:
        """Return the expected value of each metric in a style of annotation."""
        c = self.sure / np.maximum(self.links, 1)
        u = 1 - self.linked_words / np.maximum(self.words, 1)
        k = np.full_like(c, style == "sure_possible")
        features = np.stack([np.ones_like(c), c, u, k], axis=-1)
        precision = _from_logit(features @ np.array(COEFFICIENTS["precision"]))
        recall = _from_logit(features @ np.array(COEFFICIENTS["recall"]))
        f1 = 2 * precision * recall / (precision + recall)
        aer = 1 - f1
        if style == "sure_possible":
            aer = 1 - (precision + SURE_GOLD_PER_LINK * recall) / (1 + SURE_GOLD_PER_LINK)
        return {"precision": precision, "recall": recall, "f1": f1, "aer": aer}

    def error_for_judge(self) -> Rows:
        """Return the error rate that the model itself expects, by its posteriors."""
        denominator = self.links + self.expected + self.missed
        return np.asarray(1 - 2 * self.expected / np.maximum(denominator, 1e-9))


def _from_logit(logit: Rows) -> Rows:
    return np.asarray(1 / (1 + np.exp(-logit)))


def _logit(score: Any) -> Any:
    return np.log(score) - np.log1p(-np.asarray(score))


@dataclass(frozen=True, repr=False)
class ExpectedScores(HasScores):
    """Expected scores in one style of annotation, with their intervals.

    Attributes
    ----------
    values : mapping of str to float
        The expected ``precision``, ``recall``, ``f1`` and ``aer``.
    intervals : mapping of str to (float, float)
        Their intervals.
    """

    values: Mapping[str, float] = field(hash=False)
    intervals: Mapping[str, tuple[float, float]] = field(hash=False)

    def score(self, metric: str) -> float:
        """Return one of `METRICS`."""
        check_choice(metric, METRICS, "metrics")
        return self.values[metric]

    def __repr__(self) -> str:
        low, high = self.intervals["aer"]
        return f"ExpectedScores: AER {self.aer:.3f} [{low:.3f}, {high:.3f}]"


@dataclass(frozen=True, repr=False, eq=False)
class ExpectedEvaluation(TableResult):
    """Expected scores of links without gold links, which :func:`nmtalign.evaluate` returns.

    Attributes
    ----------
    dense, sure_possible : ExpectedScores
        The scores that dense gold links would give (each word that has a counterpart is linked, all links are
        sure), and those that gold links would give some of which are sure, and more possible.
    settings : str
        Number of pairs, and how the intervals were computed.
    signals : LinkSignals
        Sums of each pair, from which the scores follow.
    is_judged : bool
        Whether the model of a `judge` gave the probabilities, instead of the aligner of the links.
    """

    dense: ExpectedScores
    sure_possible: ExpectedScores
    settings: str
    signals: LinkSignals
    is_judged: bool
    bootstrap: Bootstrap

    @property
    def pairs(self) -> int:
        """Number of sentence pairs."""
        return len(self.signals.links)

    @property
    def styles(self) -> Mapping[str, ExpectedScores]:
        """The scores of both styles by name, ``sure_possible`` and ``dense``."""
        return MappingProxyType({"sure_possible": self.sure_possible, "dense": self.dense})

    def __repr__(self) -> str:
        return f"ExpectedEvaluation of {with_plural(self.pairs, 'pair')}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The expected error rate in one sentence, such as the head of a report shows."""
        ranges = [f"{_percents(self.styles[name].intervals['aer'])} ({STYLES[name]})" for name in STYLES]
        return f"expected alignment error rate {' or '.join(ranges)}, without gold links"

    def to_dict(self) -> dict[str, Any]:
        """Return scores, intervals and settings as plain values, for JSON.

        Examples
        --------
        >>> import nmtalign as na
        >>> batch = na.load().align_batch([("the black cat", "le chat noir")] * 60)
        >>> expected = na.evaluate(batch).to_dict()
        >>> sorted(expected["dense"]), expected["pairs"]
        (['aer', 'f1', 'intervals', 'precision', 'recall'], 60)
        """
        styles = {}
        for name, scores in self.styles.items():
            intervals = {metric: list(interval) for metric, interval in scores.intervals.items()}
            styles[name] = {**scores.values, "intervals": intervals}
        return {"pairs": self.pairs, **styles, "settings": self.settings}


def _percents(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{100 * low:.0f} to {100 * high:.0f} %"


@dataclass(frozen=True)
class Verdict:
    """Which of two results has the lower expected error."""

    errors: tuple[float, float]
    interval: tuple[float, float]  # paired bootstrap interval of the difference, second minus first
    better: int | None  # 0 or 1; None without a verdict
    reason: str

    @property
    def difference(self) -> float:
        """The expected error of the second result minus that of the first."""
        return self.errors[1] - self.errors[0]

    def describe(self, names: Sequence[str]) -> str:
        """Return the verdict in words, with the names of the results."""
        better = "no verdict" if self.better is None else f"{names[self.better]} is better"
        return f"{better}: {self.reason}"


def compare_expected(first: ExpectedEvaluation, second: ExpectedEvaluation) -> Verdict:
    """Compare the expected errors of two results of the same pairs by paired bootstrap.

    Links that one model judges are compared by the error that it expects. Others, each with the probabilities
    of its own aligner, are compared by their expected AER.
    """
    check_type(second, ExpectedEvaluation, "another expected evaluation")
    if first.is_judged != second.is_judged:
        found = "found one of a judge, and one with probabilities of its own"
        raise UsageError(f"expected two results of the same judge, {found}; pass `judge` to both")
    if not np.array_equal(first.signals.words, second.signals.words):
        raise DataError("the two results are not about the same sentence pairs")

    def error(signals: LinkSignals) -> Rows:
        return signals.error_for_judge() if first.is_judged else signals.expected_scores("dense")["aer"]

    totals = [result.signals.sums() for result in (first, second)]
    drawn = [error(result.signals.drawn(first.bootstrap)) for result in (first, second)]
    errors = float(error(totals[0])), float(error(totals[1]))
    interval = first.bootstrap.interval(drawn[1] - drawn[0])
    better: int | None = int(errors[1] < errors[0])
    if interval[0] <= 0 <= interval[1]:
        better, reason = None, "the difference may be due to chance"
    elif first.is_judged:
        better, reason = _verdict_of_judge(totals, errors)
    elif abs(errors[1] - errors[0]) < MIN_DIFFERENCE_OF_OWN:
        better, reason = None, _too_small(MIN_DIFFERENCE_OF_OWN)
    else:
        reason = "its aligner is surer of its links, or leaves fewer words without one"
    return Verdict(errors, interval, better, reason)


def _verdict_of_judge(totals: Sequence[LinkSignals], errors: tuple[float, float]) -> tuple[int | None, str]:
    """Return which of two files of links is better by the model that judges both, and why."""
    better = int(errors[1] < errors[0])
    foreign = [float(total.foreign / total.links) for total in totals]
    shares = " and ".join(f"{100 * share:.1f} %" for share in foreign)
    if abs(errors[1] - errors[0]) < MIN_DIFFERENCE_OF_JUDGED:
        return None, _too_small(MIN_DIFFERENCE_OF_JUDGED)
    if max(foreign) <= MAX_FOREIGN_RATE:
        return better, "the model considers all links of both files possible"
    if foreign[1 - better] >= MIN_FOREIGN_RATE_OF_NOISE:
        return better, f"the model rules {shares} of the links out"
    return None, f"the model rules {shares} of the links out, and it prefers its own, right or wrong"


def _too_small(least: float) -> str:
    return f"differences of less than {100 * least:g} points are not reliable"


def evaluate_without_gold(
    alignments: LinksInput, judge: AlignedBatch | None = None, *, bootstrap: Bootstrap | None = None
) -> ExpectedEvaluation:
    """Return the expected scores of a batch, or of any links that the aligner of `judge` judges."""
    if judge is None:
        check_type(
            alignments,
            AlignedBatch,
            "gold links, or a batch of an aligner (for links of another source, pass `judge=batch`)",
        )
        assert isinstance(alignments, AlignedBatch)
        signals = _signals_of_batch(alignments)
    else:
        check_type(judge, AlignedBatch, "a batch of the same pairs, made by an aligner")
        check_same_pairs(alignments, judge, "links")
        signals = _judged_signals(iter_links(alignments), judge)
    return expected_evaluation(signals, is_judged=judge is not None, bootstrap=bootstrap)


def evaluate_pairs(pairs: Iterable[AlignedPair]) -> ExpectedEvaluation:
    """Return the expected scores of aligned pairs, such as those of a report."""
    rows = []
    for pair in pairs:
        probabilities = np.array([pair.probability(link) for link in pair.links])
        words = sum(map(len, pair.tokens))
        rows.append((probabilities, words, _count_linked_words(pair.links)))
    signals = _signals(rows)
    return expected_evaluation(signals, is_judged=False)


def expected_evaluation(
    signals: LinkSignals, *, is_judged: bool, bootstrap: Bootstrap | None = None
) -> ExpectedEvaluation:
    """Return the scores that the signals of N pairs lead to expect; DataError for few pairs or no links."""
    if not signals.links.sum():
        raise DataError("expected links, found none in all pairs; without links, nothing can be estimated")
    count = len(signals.links)
    if count < MIN_ESTIMATED_PAIRS:
        found = f"found {count}; the links of fewer pairs cannot be judged without gold links"
        raise DataError(f"expected at least {MIN_ESTIMATED_PAIRS} pairs, {found}")
    bootstrap = bootstrap or Bootstrap(confidence=0.9)
    drawn = signals.drawn(bootstrap)
    total = signals.sums()
    quantile = NormalDist().inv_cdf((1 + bootstrap.confidence) / 2)
    styles = {}
    for style in STYLES:
        values = {}
        intervals = {}
        of_samples = drawn.expected_scores(style)
        for metric, value in total.expected_scores(style).items():
            variance = np.var(_logit(of_samples[metric])) if bootstrap.samples else 0
            sd = np.sqrt(HELD_OUT_SD[metric] ** 2 + SAMPLING_VARIANCES * variance)
            bounds = _logit(value) + quantile * sd * np.array([-1, 1])
            values[metric] = float(value)
            low, high = _from_logit(bounds).tolist()
            intervals[metric] = (low, high)
        styles[style] = ExpectedScores(values, intervals)
    settings = f"pairs:{count}|expected|{bootstrap.settings}"
    return ExpectedEvaluation(
        dense=styles["dense"],
        sure_possible=styles["sure_possible"],
        settings=settings,
        signals=signals,
        is_judged=is_judged,
        bootstrap=bootstrap,
    )


def _signals_of_batch(batch: AlignedBatch) -> LinkSignals:
    """Return the signals of the links of a batch, with their own probabilities."""
    words = _lengths_of(batch).sum(axis=1)
    N = len(batch)
    pair = np.repeat(np.arange(N), np.diff(batch.offsets))
    linked_words = np.zeros(N)
    for positions in (batch.source, batch.target):
        of_words = np.unique(np.stack([pair, positions.astype(np.int64)]), axis=1)
        linked_words += np.bincount(of_words[0], minlength=N)
    none = np.zeros(N)
    return LinkSignals(
        links=np.diff(batch.offsets).astype(float),
        sure=np.bincount(pair[batch.probability > SURE_LINK_PROBABILITY], minlength=N).astype(float),
        words=words.astype(float),
        linked_words=linked_words,
        expected=none,
        missed=none,
        foreign=none,
    )


def _lengths_of(batch: AlignedBatch) -> NDArray[np.int64]:
    """Return the number of source and target words of each pair, (N, 2); UsageError if they are not known."""
    origin = batch.origin
    if origin is None or not origin.has_probabilities:
        found = "the links of this batch have no probabilities"
        raise UsageError(f"{found}; pass `judge`, a batch of these pairs by an aligner with a null word")
    lengths = [list(map(len, origin.tokens(n))) for n in range(len(batch))]
    return np.array(lengths, np.int64).reshape(-1, 2)


def _count_linked_words(links: Iterable[tuple[int, int]]) -> int:
    source, target = set(), set()
    for s, t in links:
        source.add(s)
        target.add(t)
    return len(source) + len(target)


def _judged_signals(links: Iterator[frozenset[Link]], judge: AlignedBatch) -> LinkSignals:
    """Return the signals of links by the probabilities and posteriors of a batch of the same pairs."""
    lengths = _lengths_of(judge)
    rows = []
    matrices = judge.matrices("combined")
    for n, (links_of_pair, posteriors) in enumerate(zip_longest(links, matrices)):
        if links_of_pair is None or posteriors is None:
            count = sum(1 for _ in links) + n + 1 if posteriors is None else n
            raise DataError(f"expected links for the {with_plural(len(judge), 'pair')}, found {count:,}")
        S, T = lengths[n].tolist()
        try:
            listed = links_inside(sorted(links_of_pair), S, T)
        except DataError as error:
            place = name_pair(n, judge.frame_index)
            raise DataError(f"{place}: {error}; do both count the same words?") from None
        probability = np.array(posteriors, np.float64)  # (T, S)
        own = slice(judge.offsets[n], judge.offsets[n + 1])
        probability[judge.target[own], judge.source[own]] = judge.probability[own]
        s, t = np.array(listed, np.int64).reshape(-1, 2).T
        outside = float(posteriors.sum() - posteriors[t, s].sum())
        rows.append((probability[t, s], S + T, _count_linked_words(listed), max(outside, 0.0)))
    return _signals(rows)


def _signals(rows: Iterable[tuple[Any, ...]]) -> LinkSignals:
    """Return signals from the probabilities of the links, the words, and the linked words of each pair."""
    table = []
    for probability, words, linked_words, *missed in rows:
        sure = (probability > SURE_LINK_PROBABILITY).sum()
        foreign = (probability < MAX_FOREIGN_PROBABILITY).sum()
        right = probability.sum()
        table.append((len(probability), sure, words, linked_words, right, sum(missed), foreign))
    return LinkSignals(*np.array(table, np.float64).reshape(-1, len(LinkSignals._fields)).T)
