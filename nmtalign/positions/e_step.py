"""E-step: the expected counts of a bitext under the current model, bucket by bucket.

The expected count of a link is the mean of both posteriors in the first iterations, then their product,
``p(s|t) p(t|s)`` (Liang et al. 2006). In the last iterations, where the settings have them, the posteriors
agree (:func:`~nmtalign.positions.hmm.hmm_posteriors`).

Axes: B pairs of a bucket, T target words, S source words, P word pairs of the bitext, V words of a
vocabulary, with the padding as word 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Integers, Ints, Longs, Reals
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.parallel import parallel_map, shared_zeros
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import WordPairIndex
from nmtalign.positions.hmm import DEFAULT_NULL, DirectionResult, hmm_posteriors
from nmtalign.positions.jumps import BothJumpModels, JumpModel, estimate_jump_model, jump_counts
from nmtalign.positions.position_model import Emissions, TextScores

JUMP_FITTING_ITERATIONS = 3
MIN_LINK_COUNT = 1e-5  # smaller expected counts are omitted; a higher threshold costs accuracy
MIN_SUM = np.float32(1e-30)  # keeps divisions finite


class Sparse(NamedTuple):
    """Numbers to add to some entries of an array."""

    indices: Integers
    values: Reals


class BucketCounts(NamedTuple):
    """Expected counts of one bucket."""

    links: Sparse  # joint counts, by number of the word pair
    source_null: Sparse  # unaligned words, by number of the word
    target_null: Sparse
    forward_jumps: Sparse | None = None  # by index in the flattened jump tables; None if not counted
    reverse_jumps: Sparse | None = None
    log_likelihood: float = 0.0


# The counts that are summed: fields of both :class:`BucketCounts` and :class:`ExpectedCounts`
COUNT_FIELDS = "links", "source_null", "target_null", "forward_jumps", "reverse_jumps"


class ExpectedCounts(NamedTuple):
    """Expected counts of a bitext: sums of those of the buckets."""

    links: Doubles  # (P,): joint counts of word pairs
    source_null: Doubles  # (V,): unaligned words
    target_null: Doubles  # (V,)
    forward_jumps: Doubles  # flattened jump tables of the source positions
    reverse_jumps: Doubles  # flattened jump tables of the target positions
    log_likelihood: float = 0.0

    @classmethod
    def zeros(
        cls, pair_count: int, words: tuple[int, int], jump_models: BothJumpModels | None
    ) -> ExpectedCounts:
        """Return counts of 0 for a number of word pairs, and for numbers of source and target words.

        The arrays are in shared memory: worker processes compute the counts of buckets, and their parent
        adds them up. Without jump models, there are no counts of jumps.
        """
        source_words, target_words = words
        forward_jumps = reverse_jumps = 0
        if jump_models is not None:
            forward_jumps = jump_models[0].tables.size
            reverse_jumps = jump_models[1].tables.size
        return cls(
            links=shared_zeros(pair_count),
            source_null=shared_zeros(source_words),
            target_null=shared_zeros(target_words),
            forward_jumps=shared_zeros(forward_jumps),
            reverse_jumps=shared_zeros(reverse_jumps),
        )

    def add(self, counts: BucketCounts) -> float:
        """Add the counts of a bucket in place, and return its log-likelihood.

        A child process of :func:`parallel_map` sends only this result of `then` back to its parent.
        """
        for name in COUNT_FIELDS:
            total: Doubles = getattr(self, name)
            numbers: Sparse | None = getattr(counts, name)
            if numbers is not None:  # in order, so that a sum does not depend on the workers
                np.add.at(total, numbers.indices.ravel(), numbers.values.ravel().astype(np.float64))
        return counts.log_likelihood

    def clear_padding(self) -> None:
        """Set the counts of the padding, number 0, to 0 in place."""
        self.links[:1] = 0  # there are none where word pairs are counted elsewhere
        self.source_null[0] = 0
        self.target_null[0] = 0


def uniform_counts(bucket: Bucket, pair_numbers: Ints, null: float) -> BucketCounts:
    """Uniform step: the E-step under uniform probabilities, before the iterations of model 1.

    `null` is added to the counts of links, not taken from them: each direction alone sums to 1 without it.
    The padding is counted, too; :meth:`ExpectedCounts.clear_padding` removes it.
    """
    per_source = (1 / np.maximum(bucket.source_lengths, 1)).astype(np.float32)  # (B,)
    per_target = (1 / np.maximum(bucket.target_lengths, 1)).astype(np.float32)
    link = np.broadcast_to((per_source + per_target) / 2, pair_numbers.shape)
    source_null = np.full(bucket.source.shape, null, np.float32)
    target_null = np.full(bucket.target.shape, null, np.float32)
    return BucketCounts(
        links=Sparse(pair_numbers, link),
        source_null=Sparse(bucket.source, source_null),
        target_null=Sparse(bucket.target, target_null),
    )


def model1_counts(
    bucket: Bucket, pair_numbers: Ints, emissions: Emissions, null: float, *, mean: bool
) -> BucketCounts:
    """E-step of IBM model 1: the product of the posteriors of both directions, or their mean.

    With ``r(s, t) = p(t|s) / p(t)`` and ``n = null / (1 - null)``::

        p(s|t) = r(s, t) / (sum over s' of r(s', t) + S n r(null, t))
        p(t|s) = r(s, t) / (sum over t' of r(s, t') + T n r(s, null))
    """
    odds = np.float32(null / (1 - null))
    weights = emissions.pair_ratios.take(pair_numbers)  # (T, S, B): r(s, t)
    by_target = weights.sum(axis=1)  # (T, B)
    by_source = weights.sum(axis=0)  # (S, B)
    target_null = odds * bucket.source_lengths.astype(np.float32) * emissions.target_null[bucket.target]
    source_null = odds * bucket.target_lengths.astype(np.float32) * emissions.source_null[bucket.source]
    per_target = 1 / np.maximum(by_target + target_null, MIN_SUM)  # (T, B): p(s|t) / r(s, t)
    per_source = 1 / np.maximum(by_source + source_null, MIN_SUM)  # (S, B): p(t|s) / r(s, t)
    if mean:
        weights *= (per_target[:, None, :] + per_source) / 2
    else:  # p(s|t) p(t|s) = r(s, t)^2 per_target per_source
        weights *= weights
        weights *= per_target[:, None, :]
        weights *= per_source
    return BucketCounts(
        _link_counts(pair_numbers, weights),
        Sparse(bucket.source, _null_posterior(by_source * per_source)),
        Sparse(bucket.target, _null_posterior(by_target * per_target)),
    )


def _link_counts(pair_numbers: Ints, counts: Floats) -> Sparse:
    """Return the counts of the cells above `MIN_LINK_COUNT`."""
    kept = np.flatnonzero(counts > MIN_LINK_COUNT)  # indexing by bools is several times slower
    return Sparse(pair_numbers.take(kept), counts.take(kept))


def _null_posterior(linked: Floats) -> Floats:
    """Return the posterior of null; the sum of rounded posteriors may exceed 1."""
    return np.maximum(1 - linked, 0)


def hmm_counts(
    bucket: Bucket,
    pair_numbers: Ints,
    emissions: Emissions,
    jump_models: BothJumpModels,
    null: float,
    *,
    agree: bool = False,
    count_jumps: bool = False,
) -> BucketCounts:
    """E-step of the hidden Markov model: the product of the posteriors of both directions."""
    ratios = emissions.pair_ratios.take(pair_numbers)  # (T, S, B)
    null_ratios = emissions.source_null, emissions.target_null
    forward, reverse = hmm_posteriors(
        bucket, ratios, null_ratios, jump_models, null, agree=agree, count_jumps=count_jumps
    )
    source_model, target_model = jump_models
    product = np.asarray(forward.posterior * reverse.posterior.transpose(1, 0, 2))
    is_filled = bucket.is_filled
    log_likelihood = forward.log_likelihood[is_filled].sum() + reverse.log_likelihood[is_filled].sum()
    return BucketCounts(
        links=_link_counts(pair_numbers, product),
        source_null=Sparse(bucket.source, _null_posterior(reverse.posterior.sum(axis=1))),
        target_null=Sparse(bucket.target, _null_posterior(forward.posterior.sum(axis=1))),
        forward_jumps=_jumps_of(forward, bucket.source, bucket.source_lengths, source_model),
        reverse_jumps=_jumps_of(reverse, bucket.target, bucket.target_lengths, target_model),
        log_likelihood=float(log_likelihood),
    )


def _jumps_of(direction: DirectionResult, words: Ints, lengths: Longs, model: JumpModel) -> Sparse | None:
    """Return the expected jumps of one direction by index in the flattened tables; None if not counted."""
    if direction.expected_jumps is None:
        return None
    indices, counts = jump_counts(direction.expected_jumps, words, lengths, model)
    return Sparse(indices, counts)


class EStep(NamedTuple):
    """The parameters of one EM iteration, and its E-step over a bucket."""

    null: float  # probability of the null word
    emissions: Emissions | None = None  # None in the uniform step, before the iterations of model 1
    jump_models: BothJumpModels | None = None  # None in iterations of IBM model 1
    mean: bool = False  # as in :func:`model1_counts`
    agree: bool = False  # as in :func:`~nmtalign.positions.hmm.hmm_posteriors`
    jump_period: int = 1  # jumps are counted in every `jump_period`-th bucket

    def counts(self, k: int, bucket: Bucket, pair_numbers: Ints) -> BucketCounts:
        """Return the expected counts of bucket k."""
        if self.emissions is None:
            return uniform_counts(bucket, pair_numbers, self.null)
        if self.jump_models is None:
            return model1_counts(bucket, pair_numbers, self.emissions, self.null, mean=self.mean)
        return hmm_counts(
            bucket,
            pair_numbers,
            self.emissions,
            self.jump_models,
            self.null,
            agree=self.agree,
            count_jumps=k % self.jump_period == 0,
        )


def expected_counts(
    step: EStep, text: EncodedText, word_pairs: WordPairIndex, workers: int
) -> ExpectedCounts:
    """Return the expected counts of one E-step over all buckets; they do not depend on the workers.

    `word_pairs` numbers the word pairs of the text.
    """
    words = len(text.source.words), len(text.target.words)
    totals = ExpectedCounts.zeros(len(word_pairs), words, step.jump_models)
    # Several workers compute the counts of buckets. A worker adds them to the totals, which are in shared
    # memory, by `then`: one bucket at a time, in the order of the buckets.
    log_likelihoods = parallel_map(
        lambda k: step.counts(k, text.buckets[k], word_pairs.pair_numbers[k]),
        range(len(text.buckets)),
        workers,
        then=totals.add,
        work=text.cell_count,
    )
    log_likelihood = sum(log_likelihoods)  # the map runs while its results are read
    totals.clear_padding()
    return totals._replace(log_likelihood=log_likelihood)


def fit_jump_models(scores: TextScores, jump_models: BothJumpModels, workers: int) -> BothJumpModels:
    """Fit jump models to a text whose likelihood ratios are the emissions.

    EM runs for `JUMP_FITTING_ITERATIONS` iterations.
    """
    scores.prepare(ratios=True)
    text = scores.text
    ratios = np.zeros(len(text.word_pairs), np.float32)
    for k, pair_numbers in enumerate(text.word_pairs.pair_numbers):
        ratios[pair_numbers] = scores.ratios(k)  # all cells of a word pair have exactly the same ratio
    for _ in range(JUMP_FITTING_ITERATIONS):
        jump_models, _ = em_iteration(text, ratios, jump_models, workers)
    return jump_models


def em_iteration(
    text: EncodedText, ratios: Floats, jump_models: BothJumpModels, workers: int
) -> tuple[BothJumpModels, Doubles]:
    """Return the jump models after one more EM iteration, and the joint counts of word pairs (P,)."""
    source_model, target_model = jump_models
    source_words = len(text.source.words)
    target_words = len(text.target.words)
    emissions = Emissions(
        pair_ratios=ratios,
        source_null=np.ones(source_words, np.float32),
        target_null=np.ones(target_words, np.float32),
    )
    # every word of the text is treated as unknown, so that all words share one table
    models_of_text = (
        source_model.renumbered(np.full(source_words, -1)),
        target_model.renumbered(np.full(target_words, -1)),
    )
    counts = expected_counts(EStep(DEFAULT_NULL, emissions, models_of_text), text, text.word_pairs, workers)
    new_source_model = estimate_jump_model(counts.forward_jumps, source_model)
    new_target_model = estimate_jump_model(counts.reverse_jumps, target_model)
    return (new_source_model, new_target_model), counts.links
