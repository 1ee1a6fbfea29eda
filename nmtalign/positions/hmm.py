"""The hidden Markov alignment model: forward-backward in both directions of a bucket, and their agreement.

The T target words are the observations, the S source words the states. No sum runs along the last axis, B, so
the numbers of a pair do not depend on the other pairs of its bucket.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Floats
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide, look_up
from nmtalign.positions.model import BucketPosteriors, PositionModel, Posteriors, TextScores
from nmtalign.positions.transitions import (
    MAX_JUMP,
    TINY,
    TransitionModel,
    Transitions,
    bucket_transitions,
    initial_transitions,
)
from nmtalign.state import State, Stored

NULL = 0.1  # probability of the null word for models without a lexicon
THRESHOLD = 0.55  # least joint probability of a link; chosen on the development sets
MIN_COMPLEMENT = np.float32(1e-6)  # least 1 - p of a posterior in single precision
HEADROOM = 110  # bits that numbers below 1 may grow by; single precision has 128
LOST = np.float32(1e-25)  # alphas below this share of the greatest become 0
PERIOD = 3  # rescale every 3 words, at fixed positions: results do not depend on the other pairs
STEPS = 2  # of posterior regularization; further steps agree better but remove no more errors
SMOOTHING = np.float32(1e-2)  # added to posteriors and their complements before odds are taken

BothTransitions = tuple[TransitionModel, TransitionModel]  # over source positions, over target positions
Vocabularies = tuple[Mapping[str, int], Mapping[str, int]]


class Posterior(NamedTuple):
    """Posterior of one direction, with expected jumps and log-likelihood."""

    # (T, S, B): p(s|t); rows sum to at most 1, the rest is the null word
    posterior: Floats
    # expected jumps, as in :meth:`Transitions.expected_jumps`; None if not counted
    jumps: Floats | None
    log_likelihood: Doubles  # (B,): relative to the null word alone


def forward_backward(odds: Floats, transitions: Transitions, *, jumps: bool = False) -> Posterior:
    """Run the forward-backward algorithm on a bucket of sentence pairs; count the expected `jumps`, if asked.

    `odds` (T, S, B) are the likelihood of target word t under source word s, over its likelihood under the
    null word times the probability of null; 0 in padded cells. Null-aligned words and padding therefore
    change nothing. Alphas only grow from word to word. Before an overflow, alphas are divided by a power of
    two, which is exact. Alphas below `LOST` of the greatest become 0: they do not change sums in single
    precision, and subnormal numbers slow products down many times.

    References
    ----------
    Rabiner (1989), equations 18 to 38, with the scaling of section V.A.
    """
    T, S, B = odds.shape
    wild = math.log2(1 + float(odds.max(initial=0))) * PERIOD > HEADROOM  # rescale after each word
    alpha = np.empty((T + 1, S + 1, B), dtype=np.float32)  # p(position, words so far) over null, scaled
    alpha[0] = 0
    alpha[0, 0] = 1
    posterior, emitted = np.empty((T, S, B), dtype=np.float32), np.empty((S, B), dtype=np.float32)
    scales: dict[int, Floats] = {}
    exponents = np.zeros(B, dtype=np.int64)
    posterior[0] = transitions.transition[0]
    for t in range(T):
        here = alpha[t + 1]
        if t:
            transitions.forward(alpha[t], posterior[t])
        np.multiply(posterior[t], odds[t], out=emitted)
        here[0] = alpha[t, 0]
        np.add(alpha[t, 1:], emitted, out=here[1:])
        far = t % PERIOD == PERIOD - 1
        if far or wild:
            powers = np.frexp(np.maximum.reduce(here, axis=0))[1]
            scales[t] = np.ldexp(np.float32(1), -powers)
            here *= scales[t]
            exponents += powers
        if far:
            np.multiply(here, here > LOST, out=here)
    total = np.maximum(np.einsum("ib,ib->b", alpha[T], transitions.stop), TINY)
    beta = transitions.stop / total  # (S + 1, B)
    ends = alpha[T] * beta
    ahead = np.empty((T if jumps else 0, S, B), dtype=np.float32)
    for t in range(T - 1, -1, -1):
        if t in scales:
            beta *= scales[t]
        np.multiply(odds[t], beta[1:], out=emitted)
        posterior[t] *= emitted
        if jumps:
            ahead[t] = emitted
        if t:
            beta += transitions.backward(emitted)
    expected = transitions.expected_jumps(alpha[:T], ahead, ends) if jumps else None
    return Posterior(posterior, expected, np.log(total.astype(np.float64)) + exponents * math.log(2))


class BothPosteriors(NamedTuple):
    """Both directions of a bucket: `forward` p(s|t) of shape (T, S, B), `reverse` p(t|s) of (S, T, B)."""

    forward: Posterior
    reverse: Posterior


def hmm_posteriors(
    bucket: Bucket,
    ratios: Floats,
    null_ratios: tuple[Floats, Floats],
    transitions: BothTransitions,
    null: float,
    *,
    agree: bool = False,
    jumps: bool = False,
) -> BothPosteriors:
    """Return the posteriors of the HMM in both directions.

    `ratios` (T, S, B) are the likelihood ratios of cells to chance, `null_ratios` (V + 1,) those of source
    and of target words under the null word, `null` is the probability of the null word. With `agree`, `STEPS`
    steps of symmetric posterior regularization are taken.

    Notes
    -----
    Among the distributions over alignments in which both directions give each link the same probability,
    those nearest to the two models (in relative entropy) have the emissions ``r u`` and ``r / u``, with one
    u = exp λ for each cell. A step makes the odds of both directions equal, as if cells were independent::

        u <- u sqrt(odds of p(t|s) / odds of p(s|t))

    References
    ----------
    Ganchev, Graça, Gillenwater and Taskar (2010), "Posterior regularization for structured latent variable
    models", section 5.2 (symmetric constraints).
    """
    states = (bucket.source, bucket.source_lengths), (bucket.target, bucket.target_lengths)
    moves = [bucket_transitions(model, *own, null) for model, own in zip(transitions, states, strict=True)]
    observed = (bucket.target, null_ratios[1]), (bucket.source, null_ratios[0])
    nulls = [np.where(words, np.float32(null) * own[words], np.float32(1)) for words, own in observed]
    odds = [  # emission ratios, observed words first, over those of null
        np.asarray(own * (1 / of_null)[:, None, :], dtype=np.float32)
        for own, of_null in zip((ratios, ratios.transpose(1, 0, 2)), nulls, strict=True)
    ]

    def both(*, jumps: bool) -> BothPosteriors:
        return BothPosteriors(*map(partial(forward_backward, jumps=jumps), odds, moves))

    found = first = both(jumps=jumps and not agree)
    for left in reversed(range(STEPS if agree else 0)):
        step = regularization_step(found)
        odds[0] *= step
        odds[1] /= step.transpose(1, 0, 2)
        found = both(jumps=jumps and not left)
    likelihoods = [  # absolute ones, of the model without regularization
        before.log_likelihood + np.log(of_null).sum(axis=0, dtype=np.float64)
        for before, of_null in zip(first, nulls, strict=True)
    ]
    return BothPosteriors(
        *(own._replace(log_likelihood=n) for own, n in zip(found, likelihoods, strict=True))
    )


def regularization_step(found: BothPosteriors) -> Floats:
    """Return the factor of u in a step of posterior regularization, (T, S, B)."""
    step = _odds(found.reverse.posterior).transpose(1, 0, 2)
    step /= _odds(found.forward.posterior)
    return np.asarray(np.sqrt(step, out=step))


def _odds(posterior: Floats) -> Floats:
    """Return the smoothed odds of posteriors."""
    odds = posterior + SMOOTHING
    odds /= (1 + SMOOTHING) - posterior
    return odds


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
    h = np.asarray(np.maximum(1 - forward, MIN_COMPLEMENT))
    h *= np.maximum(1 - reverse, MIN_COMPLEMENT)
    for root in (g, h):  # in place: allocating new arrays would take as long as the roots
        np.sqrt(root, out=root)
        np.sqrt(root, out=root)
    h += g
    g /= h
    return g


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
    agree: bool = False  # as in :func:`~nmtalign.positions.hmm.hmm_posteriors`
    # number of pairs that the transitions were fitted to; None if they were learned with a lexicon
    fitted_pairs: int | None = None

    @property
    def description(self) -> str:
        if self.fitted_pairs is None:
            return "positions=hmm"
        return f"positions=hmm({f'fitted on {self.fitted_pairs} pairs' if self.fitted_pairs else 'unfitted'})"

    has_null: ClassVar[bool] = True

    @property
    def unfitted(self) -> bool:
        return self.fitted_pairs == 0

    def state(self) -> State:
        arrays: dict[str, AnyArray] = {}
        for side, own, numbers in zip(("source", "target"), self.transitions, self.numbers, strict=True):
            arrays[f"{side}_tables"] = own.tables
            arrays[f"{side}_classes"] = own.classes[: max(len(numbers), 1)]  # no word has another class
        return State("hmm", {"null": self.null, "agree": self.agree, "fitted": self.fitted_pairs}, arrays)

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: Vocabularies) -> HiddenMarkov:
        fitted = None
        if stored.value("fitted", object) is not None:  # all words have one class
            fitted, vocabularies = stored.whole("fitted", low=0), ({}, {})
        models = []
        for side, numbers in zip(("source", "target"), vocabularies, strict=True):
            tables = stored.array(f"{side}_tables", "f", (None, 2 * MAX_JUMP + 1), low=0, high=1)
            top, words = len(tables) - 1, max(len(numbers), 1)
            classes = stored.array(f"{side}_classes", "i", (words,), low=0, high=top)
            models.append(TransitionModel(tables, classes))
        null = stored.number("null", low=1e-9, high=0.999)
        return cls((models[0], models[1]), vocabularies, null, stored.value("agree", bool), fitted)

    def transitions_of(self, source: EncodedSide, target: EncodedSide) -> BothTransitions:
        """Return the transitions for the words of a text."""

        def renumbered(n: int, side: EncodedSide) -> TransitionModel:
            return self.transitions[n].renumbered(look_up(self.numbers[n], side.words))

        first, second = (
            side.memo((self, n), partial(renumbered, n, side)) for n, side in enumerate((source, target))
        )
        return first, second

    def posteriors_of(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
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
