"""Agreement of both directions of the HMM by posterior regularization.

Axes: B pairs of a bucket, T target words, S source words, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Floats, Longs
from nmtalign.corpus.buckets import Bucket
from nmtalign.positions.forward_backward import Posterior, forward_backward
from nmtalign.positions.transitions import TransitionModel, Transitions, bucket_transitions, jump_counts

BothTransitions = tuple[TransitionModel, TransitionModel]  # over source positions, over target positions

STEPS = 2  # of posterior regularization; further steps agree better but remove no more errors
SMOOTHING = np.float32(1e-2)  # added to posteriors and their complements before odds are taken


class BothPosteriors(NamedTuple):
    """Both directions of a bucket: `forward` p(s|t) of shape (T, S, B), `reverse` p(t|s) of (S, T, B)."""

    forward: Posterior
    reverse: Posterior

    @property
    def product(self) -> Floats:
        """p(s|t) p(t|s), the expected counts of links, shape (T, S, B)."""
        return np.asarray(self.forward.posterior * self.reverse.posterior.transpose(1, 0, 2))

    def jumps(self, bucket: Bucket, transitions: BothTransitions) -> list[tuple[Longs, Doubles]]:
        """Return the expected jumps of both directions, as in :func:`jump_counts`; none if not counted."""
        sides = (bucket.source, bucket.source_lengths), (bucket.target, bucket.target_lengths)
        return [
            jump_counts(own.jumps, states, lengths, model)
            for own, (states, lengths), model in zip(self, sides, transitions, strict=True)
            if own.jumps is not None
        ]


class _Direction(NamedTuple):
    """One direction of a bucket: transitions, and the probability of observed words under null (T, B)."""

    transitions: Transitions
    null: Floats

    def odds(self, ratios: Floats) -> Floats:
        """Return the emission ratios (T, S, B), observed words first, over those of null."""
        return np.asarray(ratios * (1 / self.null)[:, None, :], dtype=np.float32)

    def with_likelihood(self, first: Posterior, found: Posterior) -> Posterior:
        """Return the posterior `found` with the absolute log-likelihood of the posterior `first`."""
        of_null = np.log(self.null).sum(axis=0, dtype=np.float64)  # (B,)
        return found._replace(log_likelihood=first.log_likelihood + of_null)


def _directions(
    bucket: Bucket, null_ratios: tuple[Floats, Floats], transitions: BothTransitions, null: float
) -> Iterator[_Direction]:
    """Yield the direction in which source words emit target words, and the reverse one."""
    source, target = (bucket.source, bucket.source_lengths), (bucket.target, bucket.target_lengths)
    both = (source, target, null_ratios[1]), (target, source, null_ratios[0])
    for model, ((states, lengths), (observed, _), of_words) in zip(transitions, both, strict=True):
        of_null = np.float32(null) * of_words[observed]
        of_null[observed == 0] = 1
        yield _Direction(bucket_transitions(model, states, lengths, null), of_null)


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

    Parameters
    ----------
    bucket : Bucket
    ratios : float32 array of shape (T, S, B)
        Likelihood ratio of each cell to chance.
    null_ratios : (array, array) of shape (V + 1,)
        Likelihood ratio of each source and each target word under the null word.
    null : float
        Probability of the null word.
    agree : bool
        Take `STEPS` steps of symmetric posterior regularization.
    jumps : bool
        As in :func:`~nmtalign.positions.forward_backward.forward_backward`.

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
    forward, reverse = _directions(bucket, null_ratios, transitions, null)
    by_source, by_target = forward.odds(ratios), reverse.odds(ratios.transpose(1, 0, 2))

    def both(*, jumps: bool) -> BothPosteriors:
        return BothPosteriors(
            forward_backward(by_source, forward.transitions, jumps=jumps),
            forward_backward(by_target, reverse.transitions, jumps=jumps),
        )

    found = first = both(jumps=jumps and not agree)
    for left in reversed(range(STEPS if agree else 0)):
        step = regularization_step(found)
        by_source *= step
        by_target /= step.transpose(1, 0, 2)
        found = both(jumps=jumps and not left)
    return BothPosteriors(
        forward.with_likelihood(first.forward, found.forward),
        reverse.with_likelihood(first.reverse, found.reverse),
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
