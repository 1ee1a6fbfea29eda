"""The hidden Markov alignment model, with posteriors of both directions in agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from nmtalign.arrays import AnyArray, Floats
from nmtalign.corpus.sides import EncodedSide, look_up
from nmtalign.positions.forward_backward import BothTransitions, hmm_posteriors
from nmtalign.positions.model import BucketPosteriors, PositionModel, Posteriors, TextScores
from nmtalign.positions.transitions import MAX_JUMP, TransitionModel, initial_transitions
from nmtalign.state import State, Stored

NULL = 0.1  # probability of the null word for models without a lexicon
THRESHOLD = 0.55  # least joint probability of a link; chosen on the development sets
DOUBT = np.float32(1e-6)  # least distance of a posterior from 1 in single precision


def joint_probability(forward: Floats, reverse: Floats) -> Floats:
    """Return the probability of links, whose logit is half the mean logit of p(s|t) and p(t|s).

    ``g / (g + h)`` with ``g = (forward reverse)^(1/4)`` and ``h = ((1 - forward) (1 - reverse))^(1/4)``.
    Each direction is overconfident; halving calibrates it on new text (``scripts/calibration.py``).

    Examples
    --------
    >>> half = np.array([0.5], np.float32)
    >>> joint_probability(half, half).tolist()
    [0.5]
    """
    g = np.asarray(forward * reverse)
    h = np.asarray(np.maximum(1 - forward, DOUBT))
    h *= np.maximum(1 - reverse, DOUBT)
    for root in (g, h):  # in place: allocating new arrays would take as long as the roots
        np.sqrt(root, out=root)
        np.sqrt(root, out=root)
    h += g
    g /= h
    return g


Vocabularies = tuple[Mapping[str, int], Mapping[str, int]]


def _stored_transitions(side: str, words: int, stored: Stored) -> TransitionModel:
    tables = stored.array(f"{side}_tables", "f", (None, 2 * MAX_JUMP + 1), low=0, high=1)
    classes = stored.array(f"{side}_classes", "i", (max(words, 1),), low=0, high=len(tables) - 1)
    return TransitionModel(tables, classes)


@dataclass(frozen=True, eq=False, repr=False)
class HiddenMarkov(PositionModel):
    """Hidden Markov alignment model in both directions.

    References
    ----------
    Vogel, Ney and Tillmann (1996); Och and Ney (2003); Ganchev et al. (2010).
    """

    transitions: BothTransitions  # over source positions and over target positions
    # number of each source and target word, the index into the classes of the transitions
    numbers: Vocabularies
    null: float  # probability of the null word
    agree: bool = False  # as in :func:`~nmtalign.positions.forward_backward.hmm_posteriors`
    # number of pairs that the transitions were fitted to; None if they were learned with a lexicon
    fitted_pairs: int | None = None

    @property
    def description(self) -> str:
        """Name, and the number of pairs that the transitions were fitted to, as one setting."""
        if self.fitted_pairs is None:
            return "positions=hmm"
        return f"positions=hmm({f'fitted on {self.fitted_pairs} pairs' if self.fitted_pairs else 'unfitted'})"

    has_null: ClassVar[bool] = True

    @property
    def unfitted(self) -> bool:
        """Whether the transitions must be fitted to a text first."""
        return self.fitted_pairs == 0

    def state(self) -> State:
        """Return the transitions; the scorer keeps the words."""
        arrays: dict[str, AnyArray] = {}
        for side, own, numbers in zip(("source", "target"), self.transitions, self.numbers, strict=True):
            arrays[f"{side}_tables"] = own.tables
            arrays[f"{side}_classes"] = own.classes[: max(len(numbers), 1)]  # no word has another class
        return State("hmm", {"null": self.null, "agree": self.agree, "fitted": self.fitted_pairs}, arrays)

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: Vocabularies) -> HiddenMarkov:
        """Return the model with a state; `vocabularies` are those of the lexicon, if there is one."""
        fitted = None
        if stored.value("fitted", object) is not None:  # all words have one class
            fitted, vocabularies = stored.whole("fitted", low=0), ({}, {})
        first, second = (
            _stored_transitions(side, len(numbers), stored)
            for side, numbers in zip(("source", "target"), vocabularies, strict=True)
        )
        null = stored.number("null", low=1e-9, high=0.999)
        return cls((first, second), vocabularies, null, stored.value("agree", bool), fitted)

    def transitions_of(self, source: EncodedSide, target: EncodedSide) -> BothTransitions:
        """Return the transitions for the words of a text."""
        first, second = (
            side.memo((self, n), partial(self._renumbered, n, side))
            for n, side in enumerate((source, target))
        )
        return first, second

    def _renumbered(self, n: int, side: EncodedSide) -> TransitionModel:
        return self.transitions[n].renumbered(look_up(self.numbers[n], side.words))

    def posteriors_of(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
        """Return a function that computes the posteriors of a bucket, given its number."""
        scores.prepare(ratios=True)
        text = scores.text
        transitions = self.transitions_of(text.source, text.target)

        def bucket_posteriors(k: int) -> BucketPosteriors:
            ratios = scores.ratios(k)
            model = scores.null_ratios, transitions, self.null
            forward, reverse = hmm_posteriors(text.buckets[k], ratios, *model, agree=self.agree)
            weights = forward.posterior, reverse.posterior.transpose(1, 0, 2)
            return BucketPosteriors(Posteriors(*weights, joint_probability(*weights)), ratios)

        return bucket_posteriors


def unfitted_hmm() -> HiddenMarkov:
    """Return a hidden Markov model that prefers one step ahead, for any words."""
    return HiddenMarkov(
        (initial_transitions(0, 0), initial_transitions(0, 0)), ({}, {}), NULL, fitted_pairs=0
    )
