"""Input and output of position models: scores of a text, and posteriors of both directions.

Axes: B pairs of a bucket (last, so that the numbers of a pair do not depend on the other pairs), T target
words, S source words, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from nmtalign.arrays import Flags, Floats, Longs, Reals
from nmtalign.corpus.text import EncodedText
from nmtalign.positions.agreement import BothTransitions
from nmtalign.state import State

Cells = tuple[Longs, Longs, Longs]  # target, source, column


class Emissions(NamedTuple):
    """Emission ratios of the words and word pairs of a text."""

    pairs: Floats  # (P,): likelihood ratio of each word pair to chance; 0 for pair 0, the padding
    # (V + 1,): likelihood ratio of each word under the null word
    source_null: Floats
    target_null: Floats


class TextScores(Protocol):
    """Scores of the word pairs of a text, bucket by bucket."""

    @property
    def text(self) -> EncodedText: ...

    @property
    def null_ratios(self) -> tuple[Floats, Floats]:
        """Likelihood ratio of each source word and each target word under the null word, shape (V + 1,)."""
        ...

    def prepare(self, *, ratios: bool) -> None:
        """Compute what all buckets share, for scores and maybe ratios, before processes are forked."""

    def scores(self, k: int) -> Reals:
        """Return the scores of bucket k, shape (T, S, B), `PADDED` outside of the sentences."""
        ...

    def ratios(self, k: int) -> Floats:
        """Return the likelihood ratios of bucket k to chance, shape (T, S, B), 0 outside of the sentences."""
        ...

    @property
    def training_words(self) -> tuple[int, int] | None:
        """Number of source and target words of the training text; None without one."""
        ...

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]] | None:
        """The words of the training text; None if words outside the training text also count."""
        ...

    @property
    def training_counts(self) -> tuple[Longs, Longs]:
        """How often each source and target word occurs in the training text, each (V + 1,)."""
        ...

    def informed(self, k: int, ratios: Floats | None) -> Flags:
        """Mark the pairs (B,) or cells (T, S, B) of bucket k that may have links: words are known."""
        ...

    def evidence(self, k: int, ratios: Floats) -> Floats:
        """Return the evidence of each cell that its sentence pair is parallel, shape (T, S, B)."""
        ...


class PositionModel(Protocol):
    """Turns scores into posteriors of both directions: where attention may go."""

    @property
    def has_null(self) -> bool:
        """Whether words may be aligned to the null word."""
        ...

    @property
    def unfitted(self) -> bool:
        """Whether the model must be fitted to a text first."""
        ...

    @property
    def settings(self) -> str:
        """Name and parameters, as one setting."""
        ...

    @property
    def transitions(self) -> BothTransitions | None:
        """The transitions of a hidden Markov model; None for other models."""
        ...

    @property
    def plain(self) -> PositionModel:
        """The model without a rescorer."""
        ...

    def over(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
        """Return a function that computes the posteriors of a bucket, given its number."""
        ...

    def state(self) -> State:
        """Return the state, from which the class restores the model."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Posteriors:
    """Attention in both directions over a bucket, arrays of shape (T, S, B)."""

    # p(s|t) and p(t|s)
    forward: Reals
    reverse: Reals
    joint: Reals  # probability of a link, from both directions
    scores: Reals | None = None  # if given, an argmax compares the scores instead of the posteriors

    def probability(self, cells: Cells) -> Reals:
        """Return the joint probability of some cells."""
        return np.asarray(self.joint[cells])


@dataclass(frozen=True, eq=False, repr=False)
class SoftmaxPosteriors:
    """Posteriors by a softmax of scores (T, S, B) over each side, computed on demand."""

    scores: Reals
    inside: Flags

    @cached_property
    def _rows(self) -> Reals:
        """Logarithm of the sum over source words, shape (T, B)."""
        return _log_sum(self.scores, 1)

    @cached_property
    def _columns(self) -> Reals:
        """Logarithm of the sum over target words, shape (S, B)."""
        return _log_sum(self.scores, 0)

    @cached_property
    def forward(self) -> Reals:
        """p(s|t); sums over source words are 1."""
        return np.exp(self.scores - self._rows[:, None]) * self.inside

    @cached_property
    def reverse(self) -> Reals:
        """p(t|s); sums over target words are 1."""
        return np.exp(self.scores - self._columns) * self.inside

    @cached_property
    def joint(self) -> Reals:
        """sqrt(p(s|t) p(t|s))."""
        return np.exp(self.scores - (self._rows[:, None] + self._columns) / 2) * self.inside

    def probability(self, cells: Cells) -> Reals:
        """Return the joint probability of some cells, without computing all cells."""
        t, s, b = cells
        return np.exp(self.scores[cells] - (self._rows[t, b] + self._columns[s, b]) / 2)


class BucketPosteriors(NamedTuple):
    """Posteriors of a bucket, and their likelihood ratios (T, S, B) if the model has a null word."""

    posteriors: Posteriors | SoftmaxPosteriors
    ratios: Floats | None


def _log_sum(scores: Reals, axis: int) -> Reals:
    """Return log(sum(exp(scores))) along an axis before the last; never overflows."""
    top = scores.max(axis=axis)
    powers = scores - np.expand_dims(top, axis)
    np.exp(powers, out=powers)
    return np.asarray(top + np.log(powers.sum(axis=axis)))
