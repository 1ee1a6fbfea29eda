"""The hidden Markov alignment model: jump models of both directions, whose posteriors agree.

The words of one side are the observations, those of the other side the states (Vogel et al. 1996); a word
may also be emitted by the null word, during which the state stays the same (Och and Ney 2003). Agreement is
symmetric posterior regularization (Ganchev et al. 2010, section 5.2).

Axes: B pairs of a bucket (last: no sum runs along it, so the numbers of a pair do not depend on the other
pairs), T target words, S source words, V words of a vocabulary, with the padding as word 0. Names in
`forward_backward` are those of the forward direction, in which the target words are observed; in the reverse
direction, the source words are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Floats, Ints, Longs
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide, look_up
from nmtalign.names import SIDES
from nmtalign.positions.jumps import (
    MIN_TOTAL,
    BothJumpModels,
    BucketTransitions,
    JumpModel,
    bucket_transitions,
    initial_jump_model,
)
from nmtalign.positions.position_model import PositionModel, Posteriors, PosteriorsAndRatios, TextScores
from nmtalign.state import State, Stored

DEFAULT_NULL = 0.1  # probability of the null word in models without a lexicon
OF_OTHER_TEXTS = -1

Vocabularies = tuple[Mapping[str, int], Mapping[str, int]]
AGREEMENT_STEPS = 2  # further steps of posterior regularization agree better but remove no more errors
ODDS_SMOOTHING = np.float32(1e-2)  # added to posteriors and their complements before odds are taken
MIN_COMPLEMENT = np.float32(1e-6)  # 1 - p of a posterior in single precision is at least this
MAX_GROWTH_BITS = 110  # alphas below 1 may grow by this many bits; single precision has 128
ALPHA_FLOOR = np.float32(1e-25)  # alphas below this share of the greatest become 0
# Small alphas become 0 at fixed positions, after every third word, so that results do not depend on the other
# pairs of the bucket. Rescaling is exact, so it may happen anywhere.
WORDS_PER_RESCALING = 3


# --- one direction: forward-backward -------------------------------------------------------------


class DirectionResult(NamedTuple):
    """Posterior of one direction, with expected jumps and log-likelihood."""

    # (observed words, state words, B): p(s|t) as (T, S, B), or in the reverse direction p(t|s) as (S, T, B).
    # Sums over the states are at most 1; the difference is the posterior of the null word.
    posterior: Floats
    expected_jumps: Floats | None  # as in :meth:`BucketTransitions.expected_jumps`; None if not counted
    log_likelihood: Doubles  # (B,): relative to the null word alone


BothDirections = tuple[DirectionResult, DirectionResult]  # p(s|t) of shape (T, S, B), p(t|s) of (S, T, B)


def _forward_pass(
    odds: Floats, transitions: BucketTransitions
) -> tuple[Floats, Floats, dict[int, Floats], Longs]:
    """Return the alphas, the predicted mass, the scales of the alphas after some words, and their exponents.

    The alphas (T + 1, S + 1, B) are p(position, words so far) over null, scaled; the predicted mass (T, S, B)
    of word t is the sum over i of ``alpha[t, i] p(j | i)``; the scales of word t are powers of two (B,), by
    which the alphas after it are multiplied, and the exponents (B,) undo the scales of all words.

    Alphas only grow from word to word. Before an overflow, they are divided by a power of two, which is
    exact. Alphas below `ALPHA_FLOOR` of the greatest become 0: they do not change sums in single precision,
    and subnormal numbers slow products down many times.
    """
    T, S, B = odds.shape
    growth = math.log2(1 + float(odds.max(initial=0)))  # bits that a word can add
    rescales_each_word = growth * WORDS_PER_RESCALING > MAX_GROWTH_BITS
    alpha = np.empty((T + 1, S + 1, B), dtype=np.float32)
    alpha[0] = 0
    alpha[0, 0] = 1  # attention is before the sentence
    predicted = np.empty((T, S, B), dtype=np.float32)
    emitted = np.empty((S, B), dtype=np.float32)
    scales: dict[int, Floats] = {}
    exponents = np.zeros(B, dtype=np.int64)
    predicted[0] = transitions.transition[0]  # as alpha[0] is 1 at position 0, and 0 elsewhere
    for t in range(T):
        if t:
            transitions.forward(alpha[t], predicted[t])
        np.multiply(predicted[t], odds[t], out=emitted)
        alpha_after_word = alpha[t + 1]
        alpha_after_word[0] = alpha[t, 0]
        np.add(alpha[t, 1:], emitted, out=alpha_after_word[1:])  # the null word emits, or a jump ends here
        ends_period = t % WORDS_PER_RESCALING == WORDS_PER_RESCALING - 1
        if ends_period or rescales_each_word:
            powers = np.frexp(np.maximum.reduce(alpha_after_word, axis=0))[1]
            scales[t] = np.ldexp(np.float32(1), -powers)
            alpha_after_word *= scales[t]
            exponents += powers
        if ends_period:
            np.multiply(alpha_after_word, alpha_after_word > ALPHA_FLOOR, out=alpha_after_word)
    return alpha, predicted, scales, exponents


def forward_backward(
    odds: Floats, transitions: BucketTransitions, *, count_jumps: bool = False
) -> DirectionResult:
    """Run forward-backward on a bucket (Rabiner 1989, equations 18 to 38, section V.A).

    `odds` (T, S, B) are p(t|s) / (null p(t|null)), 0 in padded cells; null-aligned words and padding
    therefore change nothing.
    """
    T, S, B = odds.shape
    alpha, posterior, scales, exponents = _forward_pass(odds, transitions)
    total = np.maximum(np.einsum("ib,ib->b", alpha[T], transitions.stop), MIN_TOTAL)
    # beta is p(words after t | position) over null, divided by the likelihood of the pair
    beta = transitions.stop / total  # (S + 1, B)
    ends = alpha[T] * beta
    emitted = np.empty((S, B), dtype=np.float32)
    emitted_beta = np.empty((T if count_jumps else 0, S, B), dtype=np.float32)
    for t in range(T - 1, -1, -1):
        if t in scales:
            beta *= scales[t]
        np.multiply(odds[t], beta[1:], out=emitted)
        posterior[t] *= emitted  # the predicted mass times odds[t] and beta
        if count_jumps:
            emitted_beta[t] = emitted
        if t:
            beta += transitions.backward(emitted)
    expected_jumps = None
    if count_jumps:
        expected_jumps = transitions.expected_jumps(alpha[:T], emitted_beta, ends)
    log_likelihood = np.log(total.astype(np.float64)) + exponents * math.log(2)
    return DirectionResult(posterior, expected_jumps, log_likelihood)


# --- both directions, and their agreement --------------------------------------------------------


def hmm_posteriors(
    bucket: Bucket,
    ratios: Floats,
    null_ratios: tuple[Floats, Floats],
    jump_models: BothJumpModels,
    null: float,
    *,
    agree: bool = False,
    count_jumps: bool = False,
) -> BothDirections:
    """Return the posteriors of the HMM in both directions.

    `ratios` (T, S, B) are the likelihood ratios of cells to chance, `null_ratios` (V,) those of source
    and of target words under the null word, `null` is the probability of the null word.

    With `agree`, `AGREEMENT_STEPS` steps of symmetric posterior regularization are taken. Among the
    distributions over alignments in which both directions give each link the same probability, those nearest
    to the two models (in relative entropy) have the emissions ``r u`` and ``r / u``, with one u = exp λ for
    each cell. A step makes the odds of both directions equal, as if cells were independent::

        u <- u sqrt(odds of p(t|s) / odds of p(s|t))
    """
    source_model, target_model = jump_models
    source_transitions = bucket_transitions(source_model, bucket.source, bucket.source_lengths, null)
    target_transitions = bucket_transitions(target_model, bucket.target, bucket.target_lengths, null)
    # emissions of the null word; 1 for the padding
    target_null = _null_emissions(bucket.target, null_ratios[1], null)  # (T, B)
    source_null = _null_emissions(bucket.source, null_ratios[0], null)  # (S, B)
    # emission ratios over those of null, observed words first: (T, S, B) and (S, T, B)
    forward_odds = np.asarray(ratios * (1 / target_null)[:, None, :], dtype=np.float32)
    reverse_odds = np.asarray(ratios.transpose(1, 0, 2) * (1 / source_null)[:, None, :], dtype=np.float32)

    def run_directions(*, count_jumps: bool) -> BothDirections:
        forward = forward_backward(forward_odds, source_transitions, count_jumps=count_jumps)
        reverse = forward_backward(reverse_odds, target_transitions, count_jumps=count_jumps)
        return forward, reverse

    steps = AGREEMENT_STEPS if agree else 0
    unregularized = run_directions(count_jumps=count_jumps and steps == 0)
    directions = unregularized
    for step in range(1, steps + 1):
        factor = regularization_step(directions)
        forward_odds *= factor
        reverse_odds /= factor.transpose(1, 0, 2)
        # only the jumps of the last step count
        directions = run_directions(count_jumps=count_jumps and step == steps)
    # the likelihoods are absolute, and those of the model without regularization
    forward, reverse = directions
    forward_likelihood = unregularized[0].log_likelihood + _log_product(target_null)
    reverse_likelihood = unregularized[1].log_likelihood + _log_product(source_null)
    return (
        forward._replace(log_likelihood=forward_likelihood),
        reverse._replace(log_likelihood=reverse_likelihood),
    )


def _null_emissions(words: Ints, null_ratios: Floats, null: float) -> Floats:
    """Return the emission ratio of each word under the null word, times `null`; 1 for the padding."""
    return np.where(words, np.float32(null) * null_ratios[words], np.float32(1))


def _log_product(emissions: Floats) -> Doubles:
    """Return the logarithm of the product of emissions (T, B) over the words of each pair, (B,)."""
    return np.asarray(np.log(emissions).sum(axis=0, dtype=np.float64))


def regularization_step(directions: BothDirections) -> Floats:
    """Return the factor of u in a step of posterior regularization, (T, S, B)."""
    forward, reverse = directions
    factor = _odds(reverse.posterior).transpose(1, 0, 2)
    factor /= _odds(forward.posterior)
    return np.asarray(np.sqrt(factor, out=factor))


def _odds(posterior: Floats) -> Floats:
    """Return the smoothed odds of posteriors."""
    odds = posterior + ODDS_SMOOTHING
    odds /= (1 + ODDS_SMOOTHING) - posterior
    return odds


def joint_probability(forward: Floats, reverse: Floats) -> Floats:
    """Return the probability of links, whose logit is half the mean logit of p(s|t) and p(t|s).

    ``g / (g + h)`` with ``g = (forward reverse)^(1/4)`` and ``h = ((1 - forward) (1 - reverse))^(1/4)``.
    Each direction is overconfident; halving calibrates it on new text (``scripts/calibration.py``).
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


# --- the model -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class HiddenMarkov(PositionModel):
    """Hidden Markov alignment model in both directions."""

    jump_models: BothJumpModels
    numbers: Vocabularies  # number of each source and target word: its index into the classes of a jump model
    null: float  # probability of the null word
    agree: bool = False  # as in :func:`~nmtalign.positions.hmm.hmm_posteriors`
    # number of the pairs that the jump models were fitted to; None: they were learned with a lexicon;
    # OF_OTHER_TEXTS: they are those of other texts
    fitted_pairs: int | None = None

    @property
    def description(self) -> str:
        if self.fitted_pairs is None:
            return "positions=hmm"
        if self.improves:
            return "positions=hmm(of other texts)"
        if self.fitted_pairs == 0:
            return "positions=hmm(unfitted)"
        return f"positions=hmm(fitted on {self.fitted_pairs} pairs)"

    @property
    def unfitted(self) -> bool:
        return self.fitted_pairs == 0

    @property
    def improves(self) -> bool:
        return self.fitted_pairs == OF_OTHER_TEXTS

    @property
    def learned_jump_models(self) -> BothJumpModels:
        return self.jump_models

    @property
    def null_probability(self) -> float:
        return self.null

    def state(self) -> State:
        arrays: dict[str, AnyArray] = {}
        for side, model, numbers in zip(SIDES, self.jump_models, self.numbers, strict=True):
            words = max(len(numbers), 1)  # without a vocabulary, the padding alone has a class
            arrays[f"{side}_tables"] = model.tables
            arrays[f"{side}_classes"] = model.classes[:words]
        return State("hmm", {"null": self.null, "agree": self.agree, "fitted": self.fitted_pairs}, arrays)

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: Vocabularies) -> HiddenMarkov:
        fitted = None
        if stored.value("fitted", object) is not None:  # all words have one class
            fitted = stored.integer("fitted", minimum=OF_OTHER_TEXTS)
            vocabularies = {}, {}
        source_model, target_model = (
            JumpModel.from_state(stored, f"{side}_tables", f"{side}_classes", max(len(numbers), 1))
            for side, numbers in zip(SIDES, vocabularies, strict=True)
        )
        null = stored.number("null", minimum=1e-9, maximum=0.999)
        return cls((source_model, target_model), vocabularies, null, stored.value("agree", bool), fitted)

    def jump_models_of(self, source: EncodedSide, target: EncodedSide) -> BothJumpModels:
        """Return the jump models for the words of a text."""
        return self._jump_model_of(0, source), self._jump_model_of(1, target)

    def _jump_model_of(self, n: int, side: EncodedSide) -> JumpModel:
        """Return the jump model for the words of one side (0 or 1) of a text."""
        model = self.jump_models[n]
        numbers = self.numbers[n]
        return side.memo((self, n), lambda: model.renumbered(look_up(numbers, side.words)))

    def posteriors_of(self, scores: TextScores) -> Callable[[int], PosteriorsAndRatios]:
        scores.prepare(ratios=True)
        text = scores.text
        jump_models = self.jump_models_of(text.source, text.target)

        def bucket_posteriors(k: int) -> PosteriorsAndRatios:
            ratios = scores.ratios(k)
            forward, reverse = hmm_posteriors(
                text.buckets[k], ratios, scores.null_ratios, jump_models, self.null, agree=self.agree
            )
            p_source = forward.posterior  # p(s|t), (T, S, B)
            p_target = reverse.posterior.transpose(1, 0, 2)  # p(t|s), (T, S, B)
            joint = joint_probability(p_source, p_target)
            return PosteriorsAndRatios(Posteriors(p_source, p_target, joint), ratios)

        return bucket_posteriors


def unfitted_hmm() -> HiddenMarkov:
    """Return a hidden Markov model that prefers one step ahead, for any words."""
    jump_models = initial_jump_model(0, 0), initial_jump_model(0, 0)
    return HiddenMarkov(jump_models, ({}, {}), DEFAULT_NULL, fitted_pairs=0)
