"""Position models: from the scores of a text to posteriors of both directions, by a softmax over each side.

Axes: B pairs of a bucket (last, so that the numbers of a pair do not depend on the other pairs), T target
words, S source words, P word pairs of a text, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Flags, Floats, Longs, Reals
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import UsageError
from nmtalign.positions.jumps import BothJumpModels
from nmtalign.state import State, Stored
from nmtalign.validation import check_choice

MAX_SCORE = np.float32(40)  # scores are clipped here, far from overflow and underflow of exp
DIAGONAL_STRENGTH = 4.0  # suits cosines at their default temperature
SOFTMAX_POSITIONS = ("none", "diagonal")
CellIndices = tuple[Longs, Longs, Longs]  # t, s and b of cells (T, S, B), each (L,)


class Emissions(NamedTuple):
    """Emission ratios of the words and word pairs of a text."""

    pair_ratios: Floats  # (P,): likelihood ratio of each word pair to chance; 0 for pair 0, the padding
    source_null: Floats  # (V,): likelihood ratio of each word under the null word
    target_null: Floats


class TextScores:
    """Scores of the cells of a text, bucket by bucket.

    A subclass has the attribute `text` and the method :meth:`scores`. The other methods treat the scores as
    log likelihood ratios by default, and suit a scorer without a training text, which knows all words.
    """

    text: EncodedText

    @property
    def null_ratios(self) -> tuple[Floats, Floats]:
        """Likelihood ratio of each source word and each target word under the null word, each (V,)."""
        return self._of_words(1, np.float32)

    def _of_words(self, value: float, kind: type[Any]) -> tuple[AnyArray, AnyArray]:
        """Return one value for every source word and every target word, each (V,)."""
        source, target = self.text.source.words, self.text.target.words
        return np.full(len(source), value, kind), np.full(len(target), value, kind)

    def prepare(self, *, ratios: bool) -> None:
        """Compute what all buckets share, for scores and maybe ratios, before processes are forked."""

    def scores(self, k: int) -> Reals:
        """Return the scores of bucket k, shape (T, S, B), `PADDING_SCORE` outside of the sentences."""
        raise NotImplementedError

    def shown_scores(self, k: int) -> Reals:
        """Return the scores of bucket k in the precision that they have."""
        return self.scores(k)

    def ratios(self, k: int) -> Floats:
        """Return the likelihood ratios of bucket k to chance, shape (T, S, B), 0 outside of the sentences."""
        logits = np.clip(self.scores(k), -MAX_SCORE, MAX_SCORE).astype(np.float32)
        return np.asarray(np.exp(logits, out=logits) * self.text.buckets[k].inside)

    @property
    def training_words(self) -> tuple[int, int] | None:
        """Number of source and target words of the training text; None without one."""
        return None

    @property
    def vocabularies(self) -> tuple[Container[str], Container[str]] | None:
        """The words of the training text; None if words outside the training text also count."""
        return None

    @property
    def training_counts(self) -> tuple[Longs, Longs]:
        """How often each source and target word occurs in the training text, each (V,)."""
        return self._of_words(0, np.int64)

    @property
    def null_surprise(self) -> tuple[Floats, Floats]:
        """How surprising each source and target word is without a partner, each (V,); 0 if that is unknown.

        It is -log of how often the word had no partner in the training text.
        """
        return self._of_words(0, np.float32)

    @property
    def foreignness(self) -> tuple[Doubles, Doubles]:
        """How much likelier each source and target word is on the other side, each (V,).

        It is the log ratio of its frequencies on both sides of the training text.
        """
        return self._of_words(-float(MAX_SCORE), np.float64)

    def linkable(self, k: int, ratios: Floats | None) -> Flags:
        """Mark the cells (T, S, B) of bucket k that may have links: words are known."""
        return self.text.buckets[k].inside

    def evidence(self, k: int, ratios: Floats) -> Floats:
        """Return the evidence of each cell that its sentence pair is parallel, shape (T, S, B)."""
        return np.asarray(np.log(np.maximum(ratios, np.float32(1))))


class PositionModel:
    """Turns scores into posteriors of both directions: where attention may go.

    A subclass has :meth:`posteriors_of`, :meth:`state`, ``from_state`` and `description`; the rest has
    defaults.
    """

    gold_log_odds: float = 0.0  # added to the log odds of link probabilities

    @property
    def has_null(self) -> bool:
        """Whether words may be aligned to the null word."""
        return self.null_probability is not None

    @property
    def unfitted(self) -> bool:
        """Whether the model must be fitted to a text first."""
        return False

    @property
    def improves(self) -> bool:
        """Whether the transitions are those of other texts, and a text may fit them again."""
        return False

    @property
    def description(self) -> str:
        """Name and parameters, as one setting."""
        raise NotImplementedError

    @property
    def learned_jump_models(self) -> BothJumpModels | None:
        """The jump models that were learned or fitted; None if the model has none."""
        return None

    @property
    def null_probability(self) -> float | None:
        """Probability of the null word; None if the model has none."""
        return None

    @property
    def without_rescorer(self) -> PositionModel:
        """The model without a rescorer."""
        return self

    def posteriors_of(self, scores: TextScores) -> Callable[[int], PosteriorsAndRatios]:
        """Return a function that computes the posteriors of a bucket, given its number."""
        raise NotImplementedError

    def state(self) -> State:
        """Return the state, from which the class restores the model."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class Posteriors:
    """Attention in both directions over a bucket, arrays of shape (T, S, B)."""

    forward: Reals  # p(s|t)
    reverse: Reals  # p(t|s)
    joint: Reals  # probability of a link, from both directions
    scores: Reals | None = None  # if given, an argmax compares the scores instead of the posteriors

    def joint_at(self, cells: CellIndices) -> Reals:
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

    def joint_at(self, cells: CellIndices) -> Reals:
        """Return the joint probability of some cells, without computing all cells."""
        t, s, b = cells
        return np.exp(self.scores[cells] - (self._rows[t, b] + self._columns[s, b]) / 2)


class PosteriorsAndRatios(NamedTuple):
    """Posteriors of a bucket and, if the model has a null word, the likelihood ratios of its cells."""

    posteriors: Posteriors | SoftmaxPosteriors
    ratios: Floats | None  # (T, S, B)


def _log_sum(scores: Reals, axis: int) -> Reals:
    """Return log(sum(exp(scores))) along an axis before the last; never overflows."""
    top = scores.max(axis=axis)
    powers = scores - np.expand_dims(top, axis)
    np.exp(powers, out=powers)
    return np.asarray(top + np.log(powers.sum(axis=axis)))


@dataclass(frozen=True)
class SoftmaxPositions(PositionModel):
    """Softmax over scores, optionally with a prior on the diagonal of the matrix (as Dyer et al. 2013).

    Raises UsageError if the name is unknown, or the strength is negative or given to ``none``.
    """

    # "diagonal" adds :func:`nmtalign.attention.position_encodings.diagonal_prior`
    name: str = "none"
    strength: float | None = None  # strength of the prior; None: DIAGONAL_STRENGTH

    def __post_init__(self) -> None:
        check_choice(self.name, SOFTMAX_POSITIONS, "positions")
        if self.strength is not None and (self.name == "none" or not 0 <= self.strength < math.inf):
            expected = "expected a strength of 0 or more, which only `positions=diagonal` has"
            raise UsageError(f"{expected}; found {self.name} with strength {self.strength}")

    @property
    def description(self) -> str:
        return f"positions={self.name}" + ("" if self.name == "none" else f"({self._strength:g})")

    def state(self) -> State:
        return State("softmax", {"name": self.name, "strength": self.strength})

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: object) -> SoftmaxPositions:
        strength = None if stored.value("strength", object) is None else stored.number("strength", minimum=0)
        return cls(stored.text("name"), strength)

    @property
    def _strength(self) -> float:
        return DIAGONAL_STRENGTH if self.strength is None else self.strength

    def posteriors_of(self, scores: TextScores) -> Callable[[int], PosteriorsAndRatios]:
        scores.prepare(ratios=False)

        def bucket_posteriors(k: int) -> PosteriorsAndRatios:
            bucket = scores.text.buckets[k]
            logits = self._with_prior(scores.scores(k), bucket)
            return PosteriorsAndRatios(SoftmaxPosteriors(logits, bucket.inside), None)

        return bucket_posteriors

    def _with_prior(self, scores: Reals, bucket: Bucket) -> Reals:
        """Return scores (T, S, B) of a bucket with the log prior added."""
        if self.name == "none":
            return scores
        T, S, _ = bucket.shape
        target = _middles_of_words(T, bucket.target_lengths)  # (T, B)
        source = _middles_of_words(S, bucket.source_lengths)  # (S, B)
        log_prior = -self._strength * np.abs(target[:, None] - source)  # (T, S, B)
        return np.asarray(scores + np.where(bucket.inside, log_prior, 0))


def _middles_of_words(count: int, lengths: Longs) -> Doubles:
    """Return where the middle of word n of each sentence is, between 0 and 1, shape (count, B)."""
    return (np.arange(count)[:, None] + 0.5) / np.maximum(lengths, 1)
