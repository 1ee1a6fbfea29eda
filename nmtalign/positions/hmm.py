"""The hidden Markov alignment model: transitions, forward-backward in both directions, and their agreement.

The T target words are the observations, the S source words the states. From source position i, attention
jumps to position j with probability ``p(j | i)``, a learned distribution over the jump width ``j - i`` (Vogel
et al. 1996), or stays at i while the target word is emitted by the null word (Och and Ney 2003). Frequent
words have distributions of their own.

Axes: B pairs of a bucket (last: no sum runs along it, so the numbers of a pair do not depend on the other
pairs), T target words, S source words, K classes of words, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray, Doubles, Floats, Integers, Ints, Longs
from nmtalign.corpus.buckets import MIN_LONG_WORDS, Bucket
from nmtalign.corpus.sides import EncodedSide, look_up
from nmtalign.positions.position_model import BucketPosteriors, PositionModel, Posteriors, TextScores
from nmtalign.state import State, Stored

MAX_JUMP = 512  # wider jumps count as this one
MIN_SMOOTHED_JUMP = 9  # counts of jumps of at least this width are smoothed
POOLED_JUMPS = 50.0  # weight of the table of all words, in jumps, against the table of one word
MIN_TOTAL = np.float32(1e-35)  # keeps divisions finite
DEFAULT_NULL = 0.1  # probability of the null word in models without a lexicon
DEFAULT_THRESHOLD = 0.55  # of the joint probability of a link; chosen on the development sets
MIN_COMPLEMENT = np.float32(1e-6)  # 1 - p of a posterior in single precision is at least this
MAX_GROWTH_BITS = 110  # alphas below 1 may grow by so many bits; single precision has 128
ALPHA_FLOOR = np.float32(1e-25)  # alphas below this share of the greatest become 0
# rescaling happens at fixed positions, so that results do not depend on the other pairs
WORDS_PER_RESCALING = 3
AGREEMENT_STEPS = 2  # further steps of posterior regularization agree better but remove no more errors
ODDS_SMOOTHING = np.float32(1e-2)  # added to posteriors and their complements before odds are taken

Vocabularies = tuple[Mapping[str, int], Mapping[str, int]]


@dataclass(frozen=True, eq=False, repr=False)
class Transitions:
    """Transition probabilities p(j | i) of the sentences of a bucket."""

    transition: Floats  # (S + 1, S, B): from position i (0 = before the sentence) to word j
    stop: Floats  # (S + 1, B): probability to end the sentence from position i

    @cached_property
    def _matrices(self) -> Floats | None:
        """The transitions by pair, (B, S + 1, S), for long sentences, where matrix products are faster."""
        if self.transition.shape[1] < MIN_LONG_WORDS:
            return None
        return np.ascontiguousarray(self.transition.transpose(2, 0, 1))

    def forward(self, x: Floats, out: Floats) -> None:
        """Write ``sum over i of x[i] p(j | i)``, shape (S, B), for x of shape (S + 1, B)."""
        if self._matrices is None:
            np.einsum("ib,ijb->jb", x, self.transition, out=out)
        else:
            out[...] = np.matmul(np.ascontiguousarray(x.T)[:, None, :], self._matrices)[:, 0, :].T

    def backward(self, x: Floats) -> Floats:
        """Return ``sum over j of p(j | i) x[j]``, shape (S + 1, B), for x of shape (S, B)."""
        if self._matrices is None:
            return np.asarray(np.einsum("ijb,jb->ib", self.transition, x))
        return np.asarray(np.matmul(self._matrices, np.ascontiguousarray(x.T)[:, :, None])[:, :, 0].T)

    def expected_jumps(self, alpha: Floats, beta: Floats, ends: Floats) -> Floats:
        """Return the expected jumps of the bucket, shape (S + 1, S + 1, B).

        Jumps from i to j are the sum over t of ``alpha[t, i] p(j | i) beta[t, j]``, with shapes (T, S + 1, B)
        and (T, S, B). Jumps to the end of the sentence, the last column, are `ends` (S + 1, B).
        """
        jumps = np.empty((len(ends), len(ends), ends.shape[1]), dtype=np.float32)
        if self._matrices is None:
            np.einsum("tib,tjb->ijb", alpha, beta, out=jumps[:, :-1])
        else:
            products = np.matmul(alpha.transpose(2, 1, 0), beta.transpose(2, 0, 1))  # (B, S + 1, S)
            jumps[:, :-1] = products.transpose(1, 2, 0)
        jumps[:, :-1] *= self.transition
        jumps[:, -1] = ends
        return jumps


@dataclass(frozen=True, eq=False, repr=False)
class TransitionModel:
    """Transition model of one direction: distributions of the jump width by class of word."""

    # (K, 2 * MAX_JUMP + 1): weight of each jump width from words of class k; class 0 is the sentence start
    tables: Floats
    classes: Ints  # (V + 1,): class of each word by its number

    @cached_property
    def sums(self) -> Doubles:
        """Running sums of the tables from the left, with a 0 in front, shape (K, 2 * MAX_JUMP + 2).

        In double precision, because the difference of two sums may be small.
        """
        sums = np.zeros((len(self.tables), self.tables.shape[1] + 1))
        np.cumsum(self.tables, axis=1, dtype=np.float64, out=sums[:, 1:])
        return sums

    @classmethod
    def from_state(cls, stored: Stored, tables: str, classes: str, words: int) -> TransitionModel:
        """Return the model of two arrays of a state; `words` is the length of the classes."""
        rows = stored.array(tables, "f", (None, 2 * MAX_JUMP + 1), minimum=0, maximum=1)
        return cls(rows, stored.array(classes, "i", (words,), minimum=0, maximum=len(rows) - 1))

    def renumbered(self, numbers: Integers) -> TransitionModel:
        """Return the model for other word numbers; `numbers` holds the old number of each word, or -1."""
        rare = len(self.tables) - 1
        classes = np.where(numbers >= 0, self.classes[numbers], rare).astype(np.int32)
        model = TransitionModel(self.tables, classes)
        # computing sums is slow, and these are the sums of the same tables
        model.__dict__["sums"] = self.sums
        return model


def initial_transitions(vocabulary: int, frequent: int) -> TransitionModel:
    """Return a model that prefers one step ahead; each of the `frequent` most frequent words has a table."""
    widths = np.arange(-MAX_JUMP, MAX_JUMP + 1)
    table = np.exp(-np.abs(widths - 1) / 2) + 1e-3
    classes = np.minimum(np.arange(vocabulary + 1), frequent + 1).astype(np.int32)
    return TransitionModel(np.tile((table / table.sum()).astype(np.float32), (frequent + 2, 1)), classes)


def bucket_transitions(model: TransitionModel, source: Ints, lengths: Longs, null: float) -> Transitions:
    """Return the transitions, times 1 - `null`, between source words (S, B), in sentences of `lengths`."""
    S, B = source.shape
    tables = model.tables
    width = tables.shape[1]
    classes = np.zeros((S + 1, B), dtype=np.intp)
    classes[1:] = model.classes[source]
    i = np.arange(S + 1)[:, None]  # (S + 1, 1)
    start = np.maximum(1 - i + MAX_JUMP, 0)  # entry of the jump to position 1
    end = np.clip(lengths - i + 1 + MAX_JUMP, 0, width - 1)  # entry of the jump to the end, (S + 1, B)
    flat = model.sums.ravel()
    row = classes * (width + 1)
    inverse = (1 / np.maximum(flat[row + end + 1] - flat[row + start], MIN_TOTAL)).astype(
        np.float32
    )  # (S + 1, B)
    inverse[i > lengths] = 0
    width_columns = np.arange(1 - S, S + 1).clip(-MAX_JUMP, MAX_JUMP) + MAX_JUMP  # of the widths 1 - S to S
    by_width = np.ascontiguousarray(tables[:, width_columns].T)  # (2 S, K)
    transition = np.empty((S + 1, S, B), dtype=np.float32)
    for k in range(S + 1):  # from position k to the words, by widths 1 - k to S - k
        np.take(by_width[S - k : 2 * S - k], classes[k], axis=1, out=transition[k], mode="clip")
    transition *= ((1 - null) * inverse)[:, None, :]
    return Transitions(transition, tables.ravel().take(classes * width + end) * inverse)


def jump_counts(
    expected: Floats, source: Ints, lengths: Longs, model: TransitionModel
) -> tuple[Longs, Doubles]:
    """Return expected jumps (S + 1, S + 1, B) as distinct indices into the flattened tables, and counts."""
    S1, _, B = expected.shape
    reach = min(S1, MAX_JUMP)
    row_length = 2 * reach + 1  # widths from -reach to reach; a small table stays in the cache
    row = np.zeros((S1, B), dtype=np.int32)
    row[1:] = model.classes.take(source)
    row *= row_length
    i = np.arange(S1, dtype=np.int32)[:, None]
    entry = np.clip(i.T + 1 - i, -reach, reach) + reach  # (S + 1, S + 1)
    indices = row[:, None, :] + entry[:, :, None]  # (S + 1, S + 1, B)
    indices[:, -1, :] = row + (np.clip(lengths - i + 1, -reach, reach) + reach)
    kept = np.flatnonzero((expected > 1e-3) & (lengths > 0))
    counts = np.bincount(indices.take(kept), expected.take(kept), len(model.tables) * row_length)
    entries = np.flatnonzero(counts).astype(np.int64)
    words, width = np.divmod(entries, row_length)
    return words * model.tables.shape[1] + (width + MAX_JUMP - reach), counts[entries].astype(np.float64)


def _smooth(counts: Doubles) -> Doubles:
    """Spread the counts of far jumps evenly over widths that grow with the distance, along the last axis."""
    result = counts.copy()
    narrowest = MIN_SMOOTHED_JUMP
    while narrowest <= MAX_JUMP:
        widest = min(int(1.3 * narrowest) + 1, MAX_JUMP)
        ahead = slice(MAX_JUMP + narrowest, MAX_JUMP + widest + 1)
        back = slice(MAX_JUMP - widest, MAX_JUMP - narrowest + 1)
        for widths in (ahead, back):
            result[..., widths] = counts[..., widths].mean(axis=-1, keepdims=True)
        narrowest = widest + 1
    return result


def add_width_counts(counts: Doubles, widths: Doubles, model: TransitionModel) -> Doubles:
    """Return expected jumps with prior counts of jump widths (2 * MAX_JUMP + 1,) added.

    The prior does not say from which words the jumps start. It is divided among the tables of a model in
    proportion to their expected jumps.
    """
    of_tables = counts.reshape(model.tables.shape)  # (K, 2 * MAX_JUMP + 1)
    shares = of_tables.sum(axis=1) / max(of_tables.sum(), 1e-9)
    return np.asarray((of_tables + shares[:, None] * widths).ravel())


def estimate_transitions(counts: Doubles, model: TransitionModel) -> TransitionModel:
    """M-step: return a transition model from expected jumps.

    The table of a word with n jumps is interpolated with the table of all words. Its weight is
    ``n / (n + POOLED_JUMPS)``.
    """
    smooth = _smooth(counts.reshape(model.tables.shape))
    pooled = smooth.sum(axis=0)
    pooled = pooled / max(pooled.sum(), 1e-9) + 1e-7
    pooled /= pooled.sum()
    jumps = smooth.sum(axis=1, keepdims=True)  # (K, 1)
    of_word = smooth / np.maximum(jumps, 1e-9)
    weight = jumps / (jumps + POOLED_JUMPS)
    tables = weight * of_word + (1 - weight) * pooled
    return TransitionModel(tables.astype(np.float32), model.classes)


BothTransitions = tuple[TransitionModel, TransitionModel]  # over source positions, over target positions


class Posterior(NamedTuple):
    """Posterior of one direction, with expected jumps and log-likelihood."""

    posterior: Floats  # (T, S, B): p(s|t); rows sum to at most 1, the rest is the null word
    jumps: Floats | None  # as in :meth:`Transitions.expected_jumps`; None if not counted
    log_likelihood: Doubles  # (B,): relative to the null word alone


def forward_backward(odds: Floats, transitions: Transitions, *, jumps: bool = False) -> Posterior:
    """Run forward-backward on a bucket (Rabiner 1989, equations 18 to 38, section V.A).

    `odds` (T, S, B) are p(t|s) / (null p(t|null)), 0 in padded cells; null-aligned words and padding
    therefore change nothing. Alphas only grow from word to word. Before an overflow, alphas are divided by a
    power of two, which is exact. Alphas below `ALPHA_FLOOR` of the greatest become 0: they do not change sums
    in single precision, and subnormal numbers slow products down many times.
    """
    T, S, B = odds.shape
    growth = math.log2(1 + float(odds.max(initial=0)))  # bits that a word can add
    alpha = np.empty((T + 1, S + 1, B), dtype=np.float32)  # p(position, words so far) over null, scaled
    alpha[0] = 0
    alpha[0, 0] = 1
    posterior, emitted = np.empty((T, S, B), dtype=np.float32), np.empty((S, B), dtype=np.float32)
    scales: dict[int, Floats] = {}
    exponents = np.zeros(B, dtype=np.int64)
    posterior[0] = transitions.transition[0]
    for t in range(T):
        after = alpha[t + 1]  # the word
        if t:
            transitions.forward(alpha[t], posterior[t])
        np.multiply(posterior[t], odds[t], out=emitted)
        after[0] = alpha[t, 0]
        np.add(alpha[t, 1:], emitted, out=after[1:])
        ends_period = t % WORDS_PER_RESCALING == WORDS_PER_RESCALING - 1
        if ends_period or growth * WORDS_PER_RESCALING > MAX_GROWTH_BITS:
            powers = np.frexp(np.maximum.reduce(after, axis=0))[1]
            scales[t] = np.ldexp(np.float32(1), -powers)
            after *= scales[t]
            exponents += powers
        if ends_period:
            np.multiply(after, after > ALPHA_FLOOR, out=after)
    total = np.maximum(np.einsum("ib,ib->b", alpha[T], transitions.stop), MIN_TOTAL)
    beta = transitions.stop / total  # (S + 1, B)
    ends = alpha[T] * beta
    emitted_beta = np.empty((T if jumps else 0, S, B), dtype=np.float32)
    for t in range(T - 1, -1, -1):
        if t in scales:
            beta *= scales[t]
        np.multiply(odds[t], beta[1:], out=emitted)
        posterior[t] *= emitted
        if jumps:
            emitted_beta[t] = emitted
        if t:
            beta += transitions.backward(emitted)
    expected = transitions.expected_jumps(alpha[:T], emitted_beta, ends) if jumps else None
    return Posterior(posterior, expected, np.log(total.astype(np.float64)) + exponents * math.log(2))


BothPosteriors = tuple[Posterior, Posterior]  # p(s|t) of shape (T, S, B), p(t|s) of shape (S, T, B)


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
    and of target words under the null word, `null` is the probability of the null word.

    With `agree`, `AGREEMENT_STEPS` steps of symmetric posterior regularization are taken (Ganchev et al.
    2010, section 5.2). Among the distributions over alignments in which both directions give each link the
    same probability, those nearest to the two models (in relative entropy) have the emissions ``r u`` and
    ``r / u``, with one u = exp λ for each cell. A step makes the odds of both directions equal, as if cells
    were independent::

        u <- u sqrt(odds of p(t|s) / odds of p(s|t))
    """
    source_transitions, target_transitions = transitions
    moves = (
        bucket_transitions(source_transitions, bucket.source, bucket.source_lengths, null),
        bucket_transitions(target_transitions, bucket.target, bucket.target_lengths, null),
    )
    # emissions of the null word; 1 for the padding
    target_null = _null_emissions(bucket.target, null_ratios[1], null)  # (T, B)
    source_null = _null_emissions(bucket.source, null_ratios[0], null)  # (S, B)
    # emission ratios over those of null, observed words first: (T, S, B) and (S, T, B)
    forward_odds = np.asarray(ratios * (1 / target_null)[:, None, :], dtype=np.float32)
    reverse_odds = np.asarray(ratios.transpose(1, 0, 2) * (1 / source_null)[:, None, :], dtype=np.float32)

    def both(*, jumps: bool) -> BothPosteriors:
        forward = forward_backward(forward_odds, moves[0], jumps=jumps)
        return forward, forward_backward(reverse_odds, moves[1], jumps=jumps)

    posteriors = unregularized = both(jumps=jumps and not agree)
    for remaining_steps in reversed(range(AGREEMENT_STEPS if agree else 0)):
        step = regularization_step(posteriors)
        forward_odds *= step
        reverse_odds /= step.transpose(1, 0, 2)
        posteriors = both(jumps=jumps and not remaining_steps)
    # the likelihoods are absolute, and those of the model without regularization
    forward, reverse = posteriors
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


def regularization_step(posteriors: BothPosteriors) -> Floats:
    """Return the factor of u in a step of posterior regularization, (T, S, B)."""
    forward, reverse = posteriors
    step = _odds(reverse.posterior).transpose(1, 0, 2)
    step /= _odds(forward.posterior)
    return np.asarray(np.sqrt(step, out=step))


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


@dataclass(frozen=True, eq=False, repr=False)
class HiddenMarkov(PositionModel):
    """Hidden Markov alignment model in both directions."""

    transitions: BothTransitions
    numbers: Vocabularies  # of source and target words: the index into the classes of the transitions
    null: float  # probability of the null word
    agree: bool = False  # as in :func:`~nmtalign.positions.hmm.hmm_posteriors`
    fitted_pairs: int | None = (
        None  # the transitions were fitted to so many pairs; None: learned with a lexicon
    )

    @property
    def description(self) -> str:
        if self.fitted_pairs is None:
            return "positions=hmm"
        if self.fitted_pairs == 0:
            return "positions=hmm(unfitted)"
        return f"positions=hmm(fitted on {self.fitted_pairs} pairs)"

    has_null: ClassVar[bool] = True

    @property
    def unfitted(self) -> bool:
        return self.fitted_pairs == 0

    def state(self) -> State:
        arrays: dict[str, AnyArray] = {}
        for side, model, numbers in zip(("source", "target"), self.transitions, self.numbers, strict=True):
            arrays[f"{side}_tables"] = model.tables
            arrays[f"{side}_classes"] = model.classes[: max(len(numbers), 1)]  # no word has another class
        return State("hmm", {"null": self.null, "agree": self.agree, "fitted": self.fitted_pairs}, arrays)

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: Vocabularies) -> HiddenMarkov:
        fitted = None
        if stored.value("fitted", object) is not None:  # all words have one class
            fitted, vocabularies = stored.integer("fitted", minimum=0), ({}, {})
        models = []
        for side, numbers in zip(("source", "target"), vocabularies, strict=True):
            names, words = (f"{side}_tables", f"{side}_classes"), max(len(numbers), 1)
            models.append(TransitionModel.from_state(stored, *names, words))
        null = stored.number("null", minimum=1e-9, maximum=0.999)
        return cls((models[0], models[1]), vocabularies, null, stored.value("agree", bool), fitted)

    def transitions_of(self, source: EncodedSide, target: EncodedSide) -> BothTransitions:
        """Return the transitions for the words of a text."""

        def of_side(n: int, side: EncodedSide) -> TransitionModel:
            model, numbers = self.transitions[n], self.numbers[n]
            return side.memo((self, n), lambda: model.renumbered(look_up(numbers, side.words)))

        return of_side(0, source), of_side(1, target)

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
    transitions = initial_transitions(0, 0), initial_transitions(0, 0)
    return HiddenMarkov(transitions, ({}, {}), DEFAULT_NULL, fitted_pairs=0)
