"""E-step: the expected counts of a bitext under the current model, bucket by bucket.

The expected count of a link is the mean of both posteriors in the first iterations, then their product,
``p(s|t) p(t|s)`` (Liang et al. 2006). In the last iterations, where the settings have them, the posteriors
agree (:func:`~nmtalign.positions.hmm.hmm_posteriors`).

Axes: B pairs of a bucket, T target words, S source words, P word pairs of the bitext, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Integers, Ints, Longs, Reals
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.parallel import parallel_map, shared_zeros
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import PairIndex
from nmtalign.positions.hmm import (
    DEFAULT_NULL,
    BothTransitions,
    Posterior,
    TransitionModel,
    estimate_transitions,
    hmm_posteriors,
    jump_counts,
)
from nmtalign.positions.position_model import Emissions, TextScores

TRANSITION_ITERATIONS = 3
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
    forward_jumps: Sparse | None = None  # by index in the flattened transition tables
    reverse_jumps: Sparse | None = None
    log_likelihood: float = 0.0


class ExpectedCounts(NamedTuple):
    """Expected counts of a bitext: sums of those of the buckets, in the order of :class:`BucketCounts`."""

    pairs: Doubles  # (P,): links
    source_null: Doubles  # (V + 1,): unaligned words
    target_null: Doubles
    forward_jumps: Doubles  # flattened transition tables
    reverse_jumps: Doubles
    log_likelihood: float = 0.0

    @classmethod
    def zeros(cls, sizes: Sequence[int], transitions: Sequence[TransitionModel]) -> ExpectedCounts:
        """Return no counts; `sizes` are the numbers of word pairs, source words and target words."""
        jumps = [model.tables.size for model in transitions] or [0, 0]
        pairs, source, target, forward, reverse = map(shared_zeros, (*sizes, *jumps))
        return cls(pairs, source, target, forward, reverse)

    def add(self, counts: BucketCounts) -> float:
        """Add the counts of a bucket, and return its log-likelihood."""
        for total, numbers in zip(self[:5], counts[:5], strict=True):
            if numbers is not None:  # in order, so that a sum does not depend on the workers
                np.add.at(total, numbers.indices.ravel(), numbers.values.ravel().astype(np.float64))
        return counts.log_likelihood

    def with_likelihood(self, log_likelihood: float) -> ExpectedCounts:
        """Return the counts, none of the padding, and a log-likelihood."""
        for counts_of_words in self[:3]:
            counts_of_words[0] = 0
        return self._replace(log_likelihood=log_likelihood)


def uniform_counts(bucket: Bucket, cells: Ints, null: float) -> BucketCounts:
    """E-step under uniform translation probabilities: the first iteration of model 1."""
    per_source = (1 / np.maximum(bucket.source_lengths, 1)).astype(np.float32)  # (B,)
    per_target = (1 / np.maximum(bucket.target_lengths, 1)).astype(np.float32)
    link = np.broadcast_to((per_source + per_target) / 2, cells.shape)
    source_null = np.full(bucket.source.shape, null, np.float32)
    target_null = np.full(bucket.target.shape, null, np.float32)
    return BucketCounts(
        links=Sparse(cells, link),
        source_null=Sparse(bucket.source, source_null),
        target_null=Sparse(bucket.target, target_null),
    )


def model1_counts(
    bucket: Bucket, cells: Ints, emissions: Emissions, null: float, *, mean: bool
) -> BucketCounts:
    """E-step of IBM model 1: the product of the posteriors of both directions, or their mean.

    With r = p(t|s) / p(t): p(s|t) = r(s,t) / (sum over s of r(s,t) + S null / (1 - null) r(null,t)).
    """
    odds = np.float32(null / (1 - null))
    weights = emissions.pairs.take(cells)  # (T, S, B)
    by_target = weights.sum(axis=1)  # (T, B)
    by_source = weights.sum(axis=0)  # (S, B)
    target_null = odds * bucket.source_lengths.astype(np.float32) * emissions.target_null[bucket.target]
    source_null = odds * bucket.target_lengths.astype(np.float32) * emissions.source_null[bucket.source]
    per_target = 1 / np.maximum(by_target + target_null, MIN_SUM)
    per_source = 1 / np.maximum(by_source + source_null, MIN_SUM)
    if mean:
        weights *= (per_target[:, None, :] + per_source) / 2
    else:
        weights *= weights
        weights *= per_target[:, None, :]
        weights *= per_source
    return BucketCounts(
        _link_counts(cells, weights),
        Sparse(bucket.source, _null_posterior(by_source * per_source)),
        Sparse(bucket.target, _null_posterior(by_target * per_target)),
    )


def _link_counts(cells: Ints, counts: Floats) -> Sparse:
    """Return the counts of the cells above `MIN_LINK_COUNT`."""
    kept = np.flatnonzero(counts > MIN_LINK_COUNT)  # indexing by bools is several times slower
    return Sparse(cells.take(kept), counts.take(kept))


def _null_posterior(linked: Floats) -> Floats:
    """Return the posterior of null; the sum of rounded posteriors may exceed 1."""
    return np.maximum(1 - linked, 0)


def hmm_counts(
    bucket: Bucket,
    cells: Ints,
    emissions: Emissions,
    transitions: BothTransitions,
    null: float,
    *,
    agree: bool = False,
    jumps: bool = False,
) -> BucketCounts:
    """E-step of the hidden Markov model: the product of the posteriors of both directions."""
    ratios = emissions.pairs.take(cells)  # (T, S, B)
    null_ratios = emissions.source_null, emissions.target_null
    forward, reverse = hmm_posteriors(
        bucket, ratios, null_ratios, transitions, null, agree=agree, jumps=jumps
    )
    source_model, target_model = transitions
    product = np.asarray(forward.posterior * reverse.posterior.transpose(1, 0, 2))
    is_pair = bucket.pieces >= 0  # not a filler column
    log_likelihood = forward.log_likelihood[is_pair].sum() + reverse.log_likelihood[is_pair].sum()
    return BucketCounts(
        links=_link_counts(cells, product),
        source_null=Sparse(bucket.source, _null_posterior(reverse.posterior.sum(axis=1))),
        target_null=Sparse(bucket.target, _null_posterior(forward.posterior.sum(axis=1))),
        forward_jumps=_jumps_of(forward, bucket.source, bucket.source_lengths, source_model),
        reverse_jumps=_jumps_of(reverse, bucket.target, bucket.target_lengths, target_model),
        log_likelihood=float(log_likelihood),
    )


def _jumps_of(direction: Posterior, words: Ints, lengths: Longs, model: TransitionModel) -> Sparse | None:
    """Return the expected jumps of one direction by index in the flattened tables; None if not counted."""
    if direction.jumps is None:
        return None
    indices, counts = jump_counts(direction.jumps, words, lengths, model)
    return Sparse(indices, counts)


class EStep(NamedTuple):
    """The parameters of one EM iteration, and its E-step over a bucket."""

    null: float  # probability of the null word
    emissions: Emissions | None = None  # None in the first iteration
    transitions: BothTransitions | None = None  # None in iterations of IBM model 1
    mean: bool = False  # as in :func:`model1_counts`
    agree: bool = False  # as in :func:`~nmtalign.positions.hmm.hmm_posteriors`
    jump_period: int = 1  # jumps are counted in every `jump_period`-th bucket

    def counts(self, k: int, bucket: Bucket, cells: Ints) -> BucketCounts:
        """Return the expected counts of bucket k."""
        if self.emissions is None:
            return uniform_counts(bucket, cells, self.null)
        if self.transitions is None:
            return model1_counts(bucket, cells, self.emissions, self.null, mean=self.mean)
        model = self.emissions, self.transitions, self.null
        return hmm_counts(bucket, cells, *model, agree=self.agree, jumps=k % self.jump_period == 0)


def expected_counts(step: EStep, text: EncodedText, index: PairIndex, workers: int) -> ExpectedCounts:
    """Return the expected counts of one E-step over all buckets; they do not depend on the workers.

    `index` numbers the word pairs of the text.
    """
    sizes = len(index), len(text.source.words), len(text.target.words)
    totals = ExpectedCounts.zeros(sizes, step.transitions or ())
    likelihoods = parallel_map(
        lambda k: step.counts(k, text.buckets[k], index.cells[k]),
        range(len(text.buckets)),
        workers,
        then=totals.add,
        work=text.cells,
    )
    return totals.with_likelihood(sum(likelihoods))


def fit_transitions(scores: TextScores, transitions: BothTransitions, workers: int) -> BothTransitions:
    """Fit transitions to a text whose likelihood ratios are the emissions.

    EM runs for `TRANSITION_ITERATIONS` iterations.
    """
    scores.prepare(ratios=True)
    text = scores.text
    ratios = np.zeros(len(text.index), np.float32)
    for k, cells in enumerate(text.index.cells):
        ratios[cells] = scores.ratios(k)  # all cells of a word pair have exactly the same ratio
    for _ in range(TRANSITION_ITERATIONS):
        transitions, _ = em_iteration(text, ratios, transitions, workers)
    return transitions


def em_iteration(
    text: EncodedText, ratios: Floats, transitions: BothTransitions, workers: int
) -> tuple[BothTransitions, Doubles]:
    """Return the transitions after one more EM iteration, and the joint counts of word pairs (P,)."""
    source_model, target_model = transitions
    source_words, target_words = len(text.source.words), len(text.target.words)
    emissions = Emissions(
        pairs=ratios,
        source_null=np.ones(source_words, np.float32),
        target_null=np.ones(target_words, np.float32),
    )
    # every word of the text is treated as unknown, so that all words share one table
    of_text = (
        source_model.renumbered(np.full(source_words, -1)),
        target_model.renumbered(np.full(target_words, -1)),
    )
    counts = expected_counts(EStep(DEFAULT_NULL, emissions, of_text), text, text.index, workers)
    new_source_model = estimate_transitions(counts.forward_jumps, source_model)
    new_target_model = estimate_transitions(counts.reverse_jumps, target_model)
    return (new_source_model, new_target_model), counts.pairs
