"""Second opinions on links: networks that look at a whole matrix, learned from what others found.

A network scores every cell of a sentence pair; a softmax over the source words and one over the target words,
each with a score of the null word, make attention in both directions. It is learned from the links that both
directions of the learned aligner agree on (distilled), and then joined with them: the logarithms of the
probabilities are averaged, the null word being one outcome.

Axes: T target words, S source words, B pairs of a bucket (last, so that a pair gets the same bits with any
company).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.corpus import Bucket, EncodedSide

Floats = NDArray[np.float32]
Array = NDArray[np.floating]
Counts = tuple[NDArray[np.integer], NDArray[np.integer]]

LEAST = np.float32(1e-6)  # ratio, and probability
BATCH, LESSONS = 32, 100  # most pairs of one step, all of one bucket; about as many steps at least in a pass


class Logs(NamedTuple):
    """Logarithms of probabilities over the words of one side, and of the null word: (T, S, B), (rows, B)."""

    words: Array
    null: Array


def _log_softmax(e: Array, null: Array, axis: int) -> Logs:
    top = np.maximum(e.max(axis=axis), null)
    exps = np.exp(e - np.expand_dims(top, axis))
    top = top + np.log(exps.sum(axis=axis) + np.exp(null - top))
    return Logs(e - np.expand_dims(top, axis), null - top)


def both_directions(
    e: Array, target_null: Array, source_null: Array, inside: NDArray[np.bool_]
) -> tuple[Logs, Logs]:
    """Return log p(s|t) and log p(t|s) from scores (..., T, S, B) and those of the null word."""
    kept = np.where(inside, e, e.dtype.type(-60))
    return _log_softmax(kept, target_null, -2), _log_softmax(kept, source_null, -3)


def mean_of_heads(logs: Logs) -> Logs:
    """Return the logarithm of the mean probability over the first axis, that of heads."""
    found = []
    for own in logs:
        top = own.max(axis=0)
        found.append(top + np.log(np.exp(own - top).mean(axis=0)))
    return Logs(*found)


class Run(NamedTuple):
    """Scores of cells and of the null word and what their gradient takes.

    The axes are (T, S, B), (T, B) and (S, B), or all have one more in front, for heads of one attention each.
    """

    e: Array
    target_null: Array
    source_null: Array
    hidden: Any


class Scorer(Protocol):
    """Learned weights that score cells of what a reader makes of a text."""

    @property
    def weights(self) -> Any:
        """A named tuple of arrays."""
        ...

    def reader(self, source: EncodedSide, target: EncodedSide, counts: Counts) -> Any:
        """Return what reads the buckets of a text: ``read(bucket, emission, words)``."""
        ...


class Network(Scorer, Protocol):
    """A scorer whose scores become attention in both directions."""

    def replace(self, weights: Sequence[Array]) -> Network:
        """Return the network with other weights."""
        ...

    def logs(self, seen: Any) -> tuple[Logs, Logs]:
        """Return log p(s|t) and log p(t|s), the same bits for a pair with any company."""
        ...

    def run(self, seen: Any) -> Run:
        """Return scores and what their gradient takes."""
        ...

    def gradient(self, seen: Any, run: Run, d: Array, target: Array, source: Array) -> Sequence[Array]:
        """Return the gradient of a loss, from that by scores (T, S, B) and by null scores (rows, B)."""
        ...


@dataclass(frozen=True, eq=False)
class SecondOpinion:
    """A second opinion and how much it counts.

    Attributes
    ----------
    network : Scorer
    share : float
        Of the opinion in the logarithms of the probabilities, from 0 to 1.
    """

    network: Scorer
    share: float

    def join(self, seen: Any, forward: Floats, reverse: Floats) -> tuple[Floats, Floats]:
        """Return p(s|t) and p(t|s), each (T, S, B), after this opinion."""
        return forward, reverse

    def judge(self, seen: Any, forward: Floats, reverse: Floats, joint: Floats) -> Floats:
        """Return the joint probability of links, (T, S, B), after this opinion."""
        return joint


@dataclass(frozen=True, eq=False)
class Opinion(SecondOpinion):
    """A second opinion on attention in both directions."""

    network: Network

    def attend(self, seen: Any) -> tuple[Floats, Floats]:
        """Return the opinion alone: p(s|t) and p(t|s), each (T, S, B)."""
        forward, reverse = self.network.logs(seen)
        return np.exp(forward.words) * seen.inside, np.exp(reverse.words) * seen.inside

    def join(self, seen: Any, forward: Floats, reverse: Floats) -> tuple[Floats, Floats]:
        """Return p(s|t) and p(t|s) joined with the opinion; rows and columns still sum to 1 with null.

        Proportional to ``p^(1 - share) opinion^share``, the null word being one of the outcomes.
        """
        if self.share == 1:
            return self.attend(seen)
        own = self.network.logs(seen)
        return (
            self._product(forward, own[0], 1) * seen.inside,
            self._product(reverse, own[1], 0) * seen.inside,
        )

    def _product(self, p: Floats, opinion: Logs, axis: int) -> Floats:
        share = np.float32(self.share)
        null = np.log(np.maximum(1 - p.sum(axis=axis), LEAST))
        null = np.exp((1 - share) * null + share * opinion.null)
        joint = np.log(np.maximum(p, LEAST * LEAST))
        joint *= 1 - share
        joint += share * opinion.words
        np.exp(joint, out=joint)
        joint[p == 0] = 0
        total = joint.sum(axis=axis) + null
        joint /= np.expand_dims(total, axis)
        return np.asarray(joint, dtype=np.float32)


class Lesson(NamedTuple):
    """Some pairs of one bucket to learn from.

    Attributes
    ----------
    seen : what a network looks at
    forward, reverse : arrays of shape (T, S, B)
        What p(s|t) and p(t|s) ought to be.
    ratios : array of shape (T, S, B), optional
        Likelihood ratios of the words instead, whose likelihood under the attention is to grow.
    """

    seen: Any
    forward: Array
    reverse: Array
    ratios: Array | None = None


def pairs_of_a_lesson(pairs: int) -> int:
    """Return how many of so many pairs one lesson has: few pairs are no reason for few steps."""
    return min(BATCH, max(1, pairs // LESSONS))


def lessons(bucket: Bucket, seen: Any, forward: Floats, reverse: Floats, size: int) -> Iterator[Lesson]:
    """Cut a bucket into lessons of some pairs: the links that p(s|t) and p(t|s), each (T, S, B), agree on."""
    targets = _agreed(forward, reverse)
    for start in range(0, int((bucket.pairs >= 0).sum()), size):
        chosen = slice(start, start + size)
        yield Lesson(seen.part(chosen), *(np.ascontiguousarray(a[..., chosen]) for a in targets))


def untold(bucket: Bucket, seen: Any, ratios: Floats, size: int) -> Iterator[Lesson]:
    """Cut a bucket into lessons that tell no links, only how likely words are as translations."""
    for start in range(0, int((bucket.pairs >= 0).sum()), size):
        part = np.ascontiguousarray(ratios[..., start : start + size])
        yield Lesson(seen.part(slice(start, start + size)), part, part, part)


def _agreed(forward: Array, reverse: Array) -> tuple[Array, Array]:
    """Return what both directions agree on as p(s|t) and p(t|s)."""
    both = np.sqrt(forward * reverse)
    return both / np.maximum(both.sum(axis=1, keepdims=True), 1), both / np.maximum(both.sum(axis=0), 1)


def _expected(
    logs: tuple[Logs, Logs], ratios: Array, inside: NDArray[np.bool_]
) -> tuple[tuple[Array, Array], float]:
    """Return the links to expect where attention is a prior, and the log-likelihood over chance."""
    ratio = np.log(np.maximum(ratios, LEAST))
    found, likelihood = [], 0.0
    for own, axis in zip(logs, (1, 0), strict=True):
        after = _log_softmax(np.where(inside, own.words + ratio, -60), own.null, axis)
        found.append(np.exp(after.words) * inside)
        likelihood += float((own.null - after.null)[inside.any(axis=axis)].sum())
    return _agreed(found[0], found[1]), likelihood


def loss_and_gradient(network: Network, lesson: Lesson) -> tuple[float, Sequence[Array]]:
    """Return the cross-entropy of a lesson a target word, and its gradient.

    With R the opinion and Q the lesson, of either direction, dL/de = (R1 - Q1) + (R2 - Q2). Where no links
    are told, Q is what both directions expect and agree on (Liang, Taskar and Klein 2006), and the loss is
    the negative log-likelihood of the words.
    """
    seen = lesson.seen
    run = network.run(seen)
    inside = seen.inside
    there = inside.any(axis=1), inside.any(axis=0)  # (T, B), (S, B)
    words = there[0].sum()
    several = run.e.ndim == inside.ndim + 1
    by_head = both_directions(run.e, run.target_null, run.source_null, inside)
    logs = (mean_of_heads(by_head[0]), mean_of_heads(by_head[1])) if several else by_head
    links, loss = (lesson.forward, lesson.reverse), 0.0
    if lesson.ratios is not None:
        links, likelihood = _expected(logs, lesson.ratios, inside)
    slope, nulls = np.zeros_like(run.e), []
    for own, joint, wanted, real, axis in zip(by_head, logs, links, there, (-2, -3), strict=True):
        wanted_null = real - wanted.sum(axis=axis)
        loss -= float((wanted * joint.words).sum() + (wanted_null * joint.null).sum())
        if several:  # each head is asked for its share in what was found
            wanted = wanted * np.exp(own.words - joint.words) / len(own.words)
            wanted_null = wanted_null * np.exp(own.null - joint.null) / len(own.null)
            real = wanted.sum(axis=axis) + wanted_null
        slope += np.exp(own.words) * np.expand_dims(real, axis) - wanted
        nulls.append((np.exp(own.null) * real - wanted_null) / words)
    if lesson.ratios is not None:
        loss = -likelihood
    return loss / words, network.gradient(seen, run, slope * inside / words, nulls[0], nulls[1])
