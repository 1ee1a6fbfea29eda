"""The expectation step: which links each bucket of a bitext is expected to have, with what is known so far.

A link counts as ``p(s|t) p(t|s)``: only what both directions believe in is learned (Liang et al. 2006). In
the last passes, and whenever text is aligned, both directions are brought to agree before (:func:`attend`).

Axes: B pairs of a bucket, T target words, S source words, P word pairs that meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.corpus import Bucket
from nmtalign.models.hmm import Jumps, OwnWalk, Posterior, forward_backward, walk_by, widths
from nmtalign.models.lexicon import Emissions

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int32]

LEAST = 1e-5  # links less likely than this are not counted; a higher cut costs accuracy
UNSURE = np.float32(1e-2)  # odds that a direction gives every link and its contrary when it hears the other
FLUSH = 1 << 21  # counted links that are held before they are summed, or as many as there are word pairs


class Sparse(NamedTuple):
    """Numbers to be added to some entries of an array."""

    place: NDArray[np.integer]
    value: NDArray[np.floating]


class Expected(NamedTuple):
    """What one bucket adds to the counts.

    Attributes
    ----------
    links : Sparse
        Agreed links, by number of the word pair.
    source_null, target_null : Sparse
        Unaligned words, by number of the word.
    forward_jumps, reverse_jumps : Sparse
        Jumps, by place in the flattened jump tables.
    log_likelihood : float
    """

    links: Sparse
    source_null: Sparse
    target_null: Sparse
    forward_jumps: Sparse | None = None
    reverse_jumps: Sparse | None = None
    log_likelihood: float = 0.0

    @property
    def sparse(self) -> tuple[Sparse | None, ...]:
        """All that is to be added up."""
        return self.links, self.source_null, self.target_null, self.forward_jumps, self.reverse_jumps


class Counts(NamedTuple):
    """Expected counts of a pass over the bitext."""

    pairs: Doubles  # (P,)
    source_null: Doubles  # (V + 1,)
    target_null: Doubles
    forward_jumps: Doubles  # flattened tables
    reverse_jumps: Doubles
    log_likelihood: float


class _Sum:
    """Adds up sparse numbers in the order they come, so that the sum does not depend on the workers."""

    def __init__(self, size: int) -> None:
        self.total = np.zeros(size)
        self._waiting: list[Sparse] = []
        self._size = 0

    def add(self, numbers: Sparse | None) -> None:
        if numbers is not None:
            self._waiting.append(Sparse(numbers.place.ravel(), numbers.value.ravel()))
            self._size += numbers.place.size
        if self._size > max(FLUSH, len(self.total)):
            self.flush()

    def flush(self) -> Doubles:
        if self._waiting:
            place, value = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
            self.total += np.bincount(place, value, len(self.total))
            self._waiting.clear()
            self._size = 0
        return self.total


def expect_uniform(bucket: Bucket, cells: Ints, null: float) -> Expected:
    """Expect links when nothing is known: every word of the other side is as likely."""
    s = (1 / np.maximum(bucket.source_lengths, 1)).astype(np.float32)
    t = (1 / np.maximum(bucket.target_lengths, 1)).astype(np.float32)
    link = np.broadcast_to((s + t) / 2, cells.shape)
    source_null, target_null = (np.full(w.shape, null, np.float32) for w in (bucket.source, bucket.target))
    return Expected(
        Sparse(cells, link), Sparse(bucket.source, source_null), Sparse(bucket.target, target_null)
    )


def expect_without_positions(
    bucket: Bucket, cells: Ints, words: Emissions, null: float, *, agree: bool
) -> Expected:
    """Expect links by the lexicon alone (IBM model 1, both directions, their product or their mean)."""
    odds = np.float32(null / (1 - null))
    weights = words.pairs.take(cells)  # (T, S, B)
    by_target = weights.sum(axis=1)  # (T, B)
    by_source = weights.sum(axis=0)  # (S, B)
    target_null = odds * bucket.source_lengths.astype(np.float32) * words.target_null[bucket.target]
    source_null = odds * bucket.target_lengths.astype(np.float32) * words.source_null[bucket.source]
    per_target = 1 / np.maximum(by_target + target_null, np.float32(1e-30))
    per_source = 1 / np.maximum(by_source + source_null, np.float32(1e-30))
    if agree:
        weights *= weights
        weights *= per_target[:, None, :]
        weights *= per_source
    else:
        weights *= (per_target[:, None, :] + per_source) / 2
    kept = weights > LEAST
    return Expected(
        Sparse(cells[kept], weights[kept]),
        Sparse(bucket.source, _unaligned(by_source * per_source)),
        Sparse(bucket.target, _unaligned(by_target * per_target)),
    )


def _unaligned(linked: Floats) -> Floats:
    """Return the probability of null; rounded posteriors may add up to a little more than 1."""
    return np.maximum(1 - linked, 0)


class Attention(NamedTuple):
    """Both directions of a bucket: ``forward`` p(s|t) of shape (T, S, B), ``reverse`` p(t|s) of (S, T, B)."""

    forward: Posterior
    reverse: Posterior


class _Direction(NamedTuple):
    """What one direction of a bucket needs besides emissions; see :func:`forward_backward`."""

    walk: OwnWalk
    by_null: Floats  # (T, B)

    def odds(self, emission: Floats) -> Floats:
        """Return the emissions (T, S, B), of which the observed words come first, over those of null."""
        return np.asarray(emission * (1 / self.by_null)[:, None, :], dtype=np.float32)

    def likely(self, alone: Posterior, found: Posterior) -> Posterior:
        """Return what was found with the log-likelihood that this direction has by itself, not over null."""
        by_null = np.log(self.by_null).sum(axis=0, dtype=np.float64)  # (B,)
        return found._replace(log_likelihood=alone.log_likelihood + by_null)


def _direction(
    jumps: Jumps, states: Ints, lengths: NDArray[np.int64], observed: Ints, ratio: Floats, null: float
) -> _Direction:
    """Return the direction in which `observed` words (T, B) are made by `states` (S, B) or by null."""
    by_null = np.float32(null) * ratio[observed]
    by_null[observed == 0] = 1
    return _Direction(walk_by(jumps, states, lengths, null), by_null)


def attend(
    bucket: Bucket,
    emission: Floats,
    words: Emissions,
    jumps: tuple[Jumps, Jumps],
    null: float,
    *,
    rounds: int = 0,
    counted: slice | None = None,
) -> Attention:
    """Attend in both directions with memory of where attention looked last.

    Parameters
    ----------
    emission : float32 array of shape (T, S, B)
        Likelihood ratio of each cell to chance.
    rounds : int
        So many times each direction hears what the other believes of each link, and attends anew.
    counted : slice, optional
        As of :func:`nmtalign.models.hmm.forward_backward`.

    Returns
    -------
    Attention
        With the log-likelihood of each direction by itself.

    Notes
    -----
    Among the distributions over alignments in which both directions give each link the same probability,
    those nearest to the two models (in relative entropy) have the emissions ``r u`` and ``r / u``, with one
    number u for each cell. A round moves u to where the odds of both directions would meet if cells did not
    touch each other::

        u <- u sqrt(odds of p(t|s) / odds of p(s|t))

    References
    ----------
    Ganchev, Graça, Gillenwater and Taskar (2010), "Posterior regularization for structured latent variable
    models", section 5.2 (symmetric constraints).
    """
    null_ratios = words.target_null, words.source_null
    forward = _direction(jumps[0], bucket.source, bucket.source_lengths, bucket.target, null_ratios[0], null)
    reverse = _direction(jumps[1], bucket.target, bucket.target_lengths, bucket.source, null_ratios[1], null)
    by_source, by_target = forward.odds(emission), reverse.odds(emission.transpose(1, 0, 2))

    def look(*, last: bool) -> Attention:
        columns = counted if last else None
        return Attention(
            forward_backward(by_source, forward.walk, counted=columns),
            forward_backward(by_target, reverse.walk, counted=columns),
        )

    found = alone = look(last=rounds == 0)
    for number in range(1, rounds + 1):
        step = _odds(found.reverse.attention).transpose(1, 0, 2)
        step /= _odds(found.forward.attention)
        np.sqrt(step, out=step)
        by_source *= step
        by_target /= step.transpose(1, 0, 2)
        found = look(last=number == rounds)
    return Attention(
        forward.likely(alone.forward, found.forward), reverse.likely(alone.reverse, found.reverse)
    )


def _odds(attention: Floats) -> Floats:
    """Return the odds of links, none of which is surer or more hopeless than `UNSURE`."""
    odds = attention + UNSURE
    odds /= (1 + UNSURE) - attention
    return odds


def expect_with_jumps(
    bucket: Bucket,
    cells: Ints,
    words: Emissions,
    jumps: tuple[Jumps, Jumps],
    null: float,
    *,
    rounds: int = 0,
    counted: slice | None,
) -> Expected:
    """Expect links by lexicon and jumps (hidden Markov model, both directions, their product)."""
    forward, reverse = attend(
        bucket, words.pairs.take(cells), words, jumps, null, rounds=rounds, counted=counted
    )
    link = forward.attention * reverse.attention.transpose(1, 0, 2)
    kept = link > LEAST
    real = bucket.pairs >= 0
    found = Expected(
        Sparse(cells[kept], link[kept]),
        Sparse(bucket.source, _unaligned(reverse.attention.sum(axis=1))),
        Sparse(bucket.target, _unaligned(forward.attention.sum(axis=1))),
        log_likelihood=float(forward.log_likelihood[real].sum() + reverse.log_likelihood[real].sum()),
    )
    if counted is None:
        return found
    walked = [
        Sparse(*widths(own.jumps, words[:, counted], lengths[counted], table))
        for own, words, lengths, table in (
            (forward, bucket.source, bucket.source_lengths, jumps[0]),
            (reverse, bucket.target, bucket.target_lengths, jumps[1]),
        )
    ]
    return found._replace(forward_jumps=walked[0], reverse_jumps=walked[1])


class Pass(NamedTuple):
    """What is known in one pass over the bitext.

    Attributes
    ----------
    null : float
        Probability of the null word.
    words : Emissions, optional
        Left out in the very first pass.
    jumps : (Jumps, Jumps), optional
        Left out in passes without positions.
    agree : bool
        As of :func:`expect_without_positions`.
    rounds : int
        As of :func:`attend`.
    step : int
        Jumps are counted in every so many-th pair.
    """

    null: float
    words: Emissions | None = None
    jumps: tuple[Jumps, Jumps] | None = None
    agree: bool = True
    rounds: int = 0
    step: int = 1

    def expect(self, k: int, bucket: Bucket, cells: Ints) -> Expected:
        """Return what bucket k adds to the counts."""
        if self.words is None:
            return expect_uniform(bucket, cells, self.null)
        if self.jumps is None:
            return expect_without_positions(bucket, cells, self.words, self.null, agree=self.agree)
        counted = slice(k % self.step, None, self.step)
        return expect_with_jumps(
            bucket, cells, self.words, self.jumps, self.null, rounds=self.rounds, counted=counted
        )


def summed(found: Iterable[Expected], sizes: Sequence[int], jumps: Sequence[Jumps]) -> Counts:
    """Add up what buckets expect, in order; `sizes`: numbers of word pairs, source words, target words."""
    sums = [_Sum(size) for size in (*sizes, *(own.tables.size for own in jumps))]
    log_likelihood = 0.0
    for expected in found:
        for total, numbers in zip(sums, expected.sparse, strict=False):
            total.add(numbers)
        log_likelihood += expected.log_likelihood
    totals = [total.flush() for total in sums] + [np.zeros(0)] * (2 - len(jumps))
    for counts in totals[:3]:
        counts[0] = 0
    return Counts(totals[0], totals[1], totals[2], totals[3], totals[4], log_likelihood)
