"""The four scores of links, and the bootstrap over sentences that estimates their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from numbers import Integral
from operator import add
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import UsageError
from nmtalign.links.alignments import Alignment, GoldAlignment
from nmtalign.validation import check_choices, check_number, check_type

MAX_SAMPLES = 1_000_000
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
        return Counts(*map(add, astuple(self), astuple(other)))

    def score(self, metric: str) -> float:
        """Return one of `METRICS`."""
        check_choices([metric], METRICS, "metrics")
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
        draws = (np.bincount(random.integers(0, N, N), minlength=N) for _ in range(self.samples))
        return np.array([times @ table for times in draws]).reshape(-1, table.shape[1])

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
