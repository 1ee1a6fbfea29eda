"""The weight of given vectors next to a lexicon, fitted to the text without gold links.

The links are those that the aligner expects in the text. In the log-linear mixture of both scorers,

    log r(e, f) = (1 - w) log r_lexicon(e, f) + w log r_vectors(e, f),

w = b / (a + b), with the factors a and b for which softmaxes of ``a log r_lexicon + b log r_vectors`` over
the words of the other side give these links the greatest likelihood. The lexicon has counted the links
itself, so it would seem perfect. Therefore each link is predicted by the lexicon without one link of its
word pair (leaving one out), as a new link would be.

Vectors that do not know the words of the text seem useful to this likelihood, because they were mixed into
the expected links. Therefore the weight is 0 unless the vectors agree with the links that the lexicon
expects alone.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats
from nmtalign.corpus.text import EncodedText
from nmtalign.positions.hmm import hmm_posteriors
from nmtalign.positions.jumps import BothJumpModels
from nmtalign.positions.position_model import Emissions
from nmtalign.scorers.dense import DenseScorer
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.likelihood_ratios import emission_ratios, without_one_link, word_pair_ratios
from nmtalign.scorers.mixture import interpolate
from nmtalign.scorers.scorer import MIN_RATIO

MAX_SAMPLE_CELLS = 1 << 17  # one number needs little text; every n-th bucket of a larger text is a sample
INITIAL_WEIGHT = 0.5
ROUNDS = 2  # the second round expects the links that the weight of the first one finds
NEWTON_STEPS = 6
INITIAL_FACTORS = np.array([0.5, 0.5])
MIN_FACTOR, MAX_FACTOR = 1e-3, 10.0
# A weak normal prior of the factors: without evidence, the lexicon counts alone. It matters in a text whose
# links the lexicon predicts without an error, or which has none.
PRIOR_FACTORS = np.array([1.0, 0.0])
PRIOR_PRECISION = 1.0
# The expected links are partly errors of the lexicon, so the likeliest weight is too close to 1/2. The odds
# of the weight are raised to this power; scripts/evaluate_vectors_weight.py has the errors of others.
ODDS_POWER = 2.5
# The weight is reduced in proportion if the agreement is lower than the second number, and 0 at the first.
# Vectors that lowered the error by more than a point had an agreement of 0.36 to 0.9, on texts of eight
# languages; those that raised it by more than 0.3 had at most 0.26, and random vectors 0.06.
NO_AGREEMENT, FULL_AGREEMENT = 0.3, 0.38


class VectorsWeight(NamedTuple):
    """A fitted weight of vectors, and how far they agree with the text."""

    weight: float  # from 0 to 1
    # share of the links that the lexicon expects between words with vectors, which are each other's nearest
    agreement: float


class BucketPrediction(NamedTuple):
    """Expected links of a bucket, and the log ratios that predict them, each (T, S, B)."""

    links: Floats
    lexicon: Floats  # log ratios without one link of the word pair
    vectors: Floats
    known: Flags  # whether both words have vectors


def fit_vectors_weight(
    lexicon: Lexicon, vectors: DenseScorer, jump_models: BothJumpModels, null: float, text: EncodedText
) -> VectorsWeight:
    """Return the weight of vectors next to a lexicon that was learned from a text.

    `jump_models` and `null` are those of the hidden Markov model.
    """
    agreement = agreement_with_text(lexicon, vectors, jump_models, null, text)
    share = (agreement - NO_AGREEMENT) / (FULL_AGREEMENT - NO_AGREEMENT)
    if share <= 0:
        return VectorsWeight(0.0, agreement)
    likeliest = likeliest_weight(lexicon, vectors, jump_models, null, text)
    return VectorsWeight(min(share, 1.0) * sharpened(likeliest), agreement)


def sharpened(weight: float, power: float = ODDS_POWER) -> float:
    """Return the weight whose odds are a power of those of `weight`.

    >>> round(sharpened(0.75, power=2.0), 2)
    0.9
    """
    if not 0 < weight < 1:
        return weight
    odds: float = (weight / (1 - weight)) ** power
    return odds / (1 + odds)


def agreement_with_text(
    lexicon: Lexicon, vectors: DenseScorer, jump_models: BothJumpModels, null: float, text: EncodedText
) -> float:
    """Return the share of the expected links whose words are each other's nearest in their sentence pair.

    The links are those that the lexicon expects, without the vectors, between words that have vectors. Words
    that are equally near to several others have no nearest one. Parameters as above.
    """
    sample = _sample_of(text)
    emissions = emission_ratios(lexicon.lookup(sample.source, sample.target, sample.word_pairs))
    vector_ratios = _ratios_of_vectors(vectors, sample)
    agreeing = expected = 0.0
    for k, bucket in enumerate(sample.buckets):
        links = _expected_links(emissions, sample, k, jump_models, null)
        ratios = vector_ratios.take(sample.word_pairs.pair_numbers[k])
        known = np.isfinite(ratios) & bucket.inside
        ratios = np.where(known, ratios, -np.inf)
        nearest = known & _is_only_maximum(ratios, axis=0) & _is_only_maximum(ratios, axis=1)
        agreeing += float(links[nearest].sum(dtype=np.float64))
        expected += float(links[known].sum(dtype=np.float64))
    return agreeing / expected if expected else 0.0


def _is_only_maximum(values: Floats, *, axis: int) -> Flags:
    is_maximum = values == values.max(axis=axis, keepdims=True)
    return np.asarray(is_maximum & (is_maximum.sum(axis=axis, keepdims=True) == 1))


def _ratios_of_vectors(vectors: DenseScorer, sample: EncodedText) -> Floats:
    """Return the log ratios of the word pairs of a text, (P,); NaN where a word has no vector."""
    known_pairs, log_ratios = vectors.log_ratios(sample)
    ratios = np.full(len(sample.word_pairs), np.nan, np.float32)
    ratios[known_pairs] = log_ratios
    return ratios


def _expected_links(
    emissions: Emissions, sample: EncodedText, k: int, jump_models: BothJumpModels, null: float
) -> Floats:
    """Return the expected links of bucket k, (T, S, B): the product of the posteriors of both directions."""
    forward, reverse = hmm_posteriors(
        sample.buckets[k],
        emissions.pair_ratios.take(sample.word_pairs.pair_numbers[k]),
        (emissions.source_null, emissions.target_null),
        jump_models,
        null,
        agree=False,
        count_jumps=False,
    )
    return forward.posterior * reverse.posterior.transpose(1, 0, 2)


def likeliest_weight(
    lexicon: Lexicon, vectors: DenseScorer, jump_models: BothJumpModels, null: float, text: EncodedText
) -> float:
    """Return the weight with the greatest likelihood of the expected links; parameters as above."""
    sample = _sample_of(text)
    form_counts = lexicon.lookup(sample.source, sample.target, sample.word_pairs)
    emissions = emission_ratios(form_counts)
    with_link = np.log(np.maximum(emissions.pair_ratios, MIN_RATIO))
    without_link = np.log(np.maximum(word_pair_ratios(without_one_link(form_counts)), MIN_RATIO))
    vector_ratios = _ratios_of_vectors(vectors, sample)

    weight = INITIAL_WEIGHT
    for _ in range(ROUNDS):
        mixed_ratios = interpolate(emissions.pair_ratios, [replace(vectors, weight=weight)], sample)
        mixed = emissions._replace(pair_ratios=mixed_ratios)
        buckets = []
        for k, bucket in enumerate(sample.buckets):
            cells = sample.word_pairs.pair_numbers[k]
            links = _expected_links(mixed, sample, k, jump_models, null)
            # leave one out: the more of a link a cell has, the more its ratio is the one without the link
            lexicon_ratios = links * without_link.take(cells) + (1 - links) * with_link.take(cells)
            vector_ratios_of_cells = vector_ratios.take(cells)
            known = np.isfinite(vector_ratios_of_cells) & bucket.inside
            buckets.append(
                BucketPrediction(
                    links=links * known,
                    lexicon=lexicon_ratios,
                    vectors=np.nan_to_num(vector_ratios_of_cells),
                    known=known,
                )
            )
        a, b = _maximum(buckets).tolist()
        weight = b / (a + b)
    return weight


def _sample_of(text: EncodedText) -> EncodedText:
    """Return every n-th bucket of a text, with about `MAX_SAMPLE_CELLS` cells."""
    period = max(1, math.ceil(text.cell_count / MAX_SAMPLE_CELLS))
    return text.with_buckets(text.buckets[::period])


def _maximum(buckets: list[BucketPrediction]) -> Doubles:
    """Return the factors a and b with the greatest posterior, by Newton's method.

    The logarithm of the posterior is concave.
    """
    factors = INITIAL_FACTORS
    for _ in range(NEWTON_STEPS):
        gradient = PRIOR_PRECISION * (PRIOR_FACTORS - factors)
        curvature = PRIOR_PRECISION * np.eye(2)
        for bucket in buckets:
            gradient_of_bucket, curvature_of_bucket = _derivatives(bucket, factors)
            gradient += gradient_of_bucket
            curvature += curvature_of_bucket
        factors = np.clip(factors + np.linalg.solve(curvature, gradient), MIN_FACTOR, MAX_FACTOR)
    return factors


def _derivatives(bucket: BucketPrediction, factors: Doubles) -> tuple[Doubles, Doubles]:
    """Return the derivatives of the log-likelihood of the links of a bucket, in both directions, by a and b.

    The gradient (2,) is the log ratios that the links have, minus those that the softmaxes expect. The
    curvature (2, 2), minus the second derivatives, is the covariance of the log ratios under the softmaxes.
    """
    a, b = factors.astype(np.float32)
    logits = np.where(bucket.known, a * bucket.lexicon + b * bucket.vectors, -np.inf)
    gradient = np.zeros(2)
    curvature = np.zeros((2, 2))
    for axis in (0, 1):
        highest = logits.max(axis=axis, keepdims=True)
        powers = np.exp(logits - np.where(np.isfinite(highest), highest, 0))  # 0 where a word has no vector
        powers /= np.maximum(powers.sum(axis=axis, keepdims=True), MIN_RATIO)
        links = bucket.links.sum(axis=axis, dtype=np.float64)
        both_ratios = bucket.lexicon, bucket.vectors
        means = [(powers * ratios).sum(axis=axis, dtype=np.float64) for ratios in both_ratios]
        for m, first in enumerate(both_ratios):
            observed = (bucket.links * first).sum(dtype=np.float64)
            gradient[m] += observed - (links * means[m]).sum()
            for n, second in enumerate(both_ratios):
                of_products = (powers * first * second).sum(axis=axis, dtype=np.float64)
                curvature[m, n] += (links * (of_products - means[m] * means[n])).sum()
    return gradient, curvature
