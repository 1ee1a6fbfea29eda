"""The hidden Markov alignment model, with posteriors of both directions in agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.sides import EncodedSide, look_up
from nmtalign.positions.agreement import BothTransitions, hmm_posteriors
from nmtalign.positions.model import BucketPosteriors, Posteriors, TextScores
from nmtalign.positions.transitions import TransitionModel

Floats = NDArray[np.float32]

THRESHOLD = 0.55  # least joint probability of a link; chosen on the development sets
DOUBT = np.float32(1e-6)  # least distance of a posterior from 1: single precision knows no smaller one


def joint_probability(forward: Floats, reverse: Floats) -> Floats:
    """Return the probability of links from p(s|t) and p(t|s): half the mean of their logits.

    ``g / (g + h)`` with ``g = (forward reverse)^(1/4)`` and ``h = ((1 - forward) (1 - reverse))^(1/4)``.
    Each direction is overconfident; halving calibrates (``scripts/calibration.py``).

    Examples
    --------
    >>> half = np.array([0.5], np.float32)
    >>> joint_probability(half, half).tolist()
    [0.5]
    """
    g = np.asarray(forward * reverse)
    h = np.asarray(np.maximum(1 - forward, DOUBT))
    h *= np.maximum(1 - reverse, DOUBT)
    for root in (g, h):  # in place: new arrays of this size take as long as the roots
        np.sqrt(root, out=root)
        np.sqrt(root, out=root)
    h += g
    g /= h
    return g


@dataclass(frozen=True, eq=False)
class HiddenMarkov:
    """Hidden Markov alignment model in both directions.

    References
    ----------
    Vogel, Ney and Tillmann (1996); Och and Ney (2003); Ganchev et al. (2010).
    """

    transitions: BothTransitions  # over source positions and over target positions
    # number of each source and target word in the classes of the transitions
    numbers: tuple[Mapping[str, int], Mapping[str, int]]
    null: float  # probability of the null word
    agree: bool = False  # as of :func:`~nmtalign.positions.agreement.hmm_posteriors`
    # pairs of a text that the transitions were fitted on; None if they were learned with a lexicon
    fitted: int | None = None

    @property
    def settings(self) -> str:
        """Name, and what the transitions were fitted on, as one setting."""
        if self.fitted is None:
            return "positions=hmm"
        return f"positions=hmm({f'fitted on {self.fitted} pairs' if self.fitted else 'unfitted'})"

    has_null: ClassVar[bool] = True

    def transitions_of(self, source: EncodedSide, target: EncodedSide) -> BothTransitions:
        """Return the transitions for the words of a text."""
        first, second = (
            side.memo((self, n), partial(self._renumbered, n, side))
            for n, side in enumerate((source, target))
        )
        return first, second

    def _renumbered(self, n: int, side: EncodedSide) -> TransitionModel:
        return self.transitions[n].renumbered(look_up(self.numbers[n], side.words))

    def over(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
        """Return a function that computes the posteriors of the bucket of a number."""
        scores.prepare(ratios=True)
        text = scores.text
        transitions = self.transitions_of(text.source, text.target)

        def attend(k: int) -> BucketPosteriors:
            ratios = scores.ratios(k)
            model = scores.null_ratios, transitions, self.null
            forward, reverse = hmm_posteriors(text.buckets[k], ratios, *model, agree=self.agree)
            weights = forward.posterior, reverse.posterior.transpose(1, 0, 2)
            return BucketPosteriors(Posteriors(*weights, joint_probability(*weights)), ratios)

        return attend
