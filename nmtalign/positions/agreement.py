"""Both directions of the hidden Markov model over a bucket, and their agreement.

Agreement is symmetric posterior regularization (Ganchev et al. 2010, section 5.2).

Axes: B pairs of a bucket (last, so that the numbers of a pair do not depend on the other pairs), T target
words, S source words, V words of a vocabulary, with the padding as word 0.
"""

from __future__ import annotations

import numpy as np

from nmtalign.arrays import Doubles, Floats, Ints
from nmtalign.corpus.buckets import Bucket
from nmtalign.positions.forward_backward import DirectionResult, forward_backward
from nmtalign.positions.jumps import BothJumpModels, bucket_transitions

AGREEMENT_STEPS = 2  # further steps of posterior regularization agree better but remove no more errors
ODDS_SMOOTHING = np.float32(1e-2)  # added to posteriors and their complements before odds are taken
MIN_COMPLEMENT = np.float32(1e-6)  # 1 - p of a posterior in single precision is at least this

BothDirections = tuple[DirectionResult, DirectionResult]  # p(s|t) of shape (T, S, B), p(t|s) of (S, T, B)


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
