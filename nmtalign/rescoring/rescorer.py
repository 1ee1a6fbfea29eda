"""The rescorer: a neural network, trained on gold links, that corrects the posteriors of a sentence pair.

Its scores e are log odds of links. They are mixed log-linearly with the posteriors,

    p'(s|t) = softmax over s and null of (1 - w) log p(s|t) + w e(t, s)        the score of null being 0

and likewise p'(t|s); with the weight w = 1 it aligns alone. Single links are corrected, so that a word may
get as many as people give it: the log odds of the joint probability become (1 - w) logit p + w e.

Axes: T target words, S source words, B pairs of a bucket (last).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nmtalign.arrays import Flags, Floats
from nmtalign.attention.weights import softmax
from nmtalign.corpus.buckets import Bucket
from nmtalign.errors import DataError
from nmtalign.positions.model import BucketPosteriors, PositionModel, Posteriors, TextScores
from nmtalign.rescoring.annotation_style import KINDS, with_style
from nmtalign.rescoring.features import (
    FREQUENT,
    Vectors,
    Words,
    inputs_of,
    known_words,
    log_odds,
    part_of,
)
from nmtalign.rescoring.network import Network, sigmoid
from nmtalign.state import State, Stored

COLUMN_MULTIPLE, CELLS = 16, 1 << 15  # columns, and approximate cells, scored at a time
MIN_POSTERIOR = np.float32(0.003)  # links are rescored if one direction gives them this probability
SMALLEST = np.float32(1e-30)  # probability under a logarithm
LEAST_NULL = np.float32(1e-6)  # probability of the null word under a logarithm


@dataclass(frozen=True, eq=False, repr=False)
class Rescorer:
    """A rescorer of alignment posteriors."""

    network: Network
    weight: float  # w, from 0 (changes nothing) to 1 (aligns alone)
    frequent: tuple[tuple[str, ...], tuple[str, ...]]  # source and target words with a weight of their own
    style: Floats  # (KINDS, FREQUENT + 1): shares of :class:`AnnotationStyle`

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise DataError(f"expected a weight of the rescorer from 0 to 1, found {self.weight}")

    def scores(
        self, bucket: Bucket, known: Words, ratios: Floats, nulls: Vectors, *posteriors: Floats
    ) -> Floats:
        """Return the log odds of links, (T, S, B); they do not depend on the other pairs."""
        e = np.empty(bucket.shape, np.float32)
        T, S, B = bucket.shape
        width = max(COLUMN_MULTIPLE, CELLS // (T * S) // COLUMN_MULTIPLE * COLUMN_MULTIPLE)
        for start in range(0, B, width):
            some = slice(start, start + width)
            own = (np.ascontiguousarray(p[..., some]) for p in (ratios, *posteriors))
            inputs = inputs_of(part_of(bucket, some), known, next(own), nulls, *own)
            e[..., some] = self.network.scores(inputs).transpose(1, 2, 0)
        return e

    def rescored(
        self, found: BucketPosteriors, bucket: Bucket, known: Words, nulls: Vectors
    ) -> BucketPosteriors:
        """Return rescored posteriors; `nulls` are the likelihood ratios of words under null.

        Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null.
        """
        posteriors, ratios = found
        forward, reverse, joint = posteriors.forward, posteriors.reverse, posteriors.joint
        if self.weight == 0:
            return found
        assert ratios is not None  # as there is a null word
        e = self.scores(bucket, known, ratios, nulls, forward, reverse, joint)
        inside, w = bucket.inside, np.float32(self.weight)
        candidates = (np.maximum(forward, reverse) > MIN_POSTERIOR) & inside
        corrected = np.where(candidates, sigmoid((1 - w) * log_odds(joint) + w * e), joint)
        joint = with_style(corrected, self.style, bucket, known.frequent)
        forward, reverse = mix(forward, e, w, inside, axis=1), mix(reverse, e, w, inside, axis=0)
        return BucketPosteriors(Posteriors(forward, reverse, joint), ratios)


@dataclass(frozen=True, eq=False, repr=False)
class Rescored(PositionModel):
    """A position model whose posteriors are rescored."""

    base: PositionModel  # with a null word
    rescorer: Rescorer
    gold_log_odds: float = 0.0  # what the gold links add to the log odds of link probabilities

    @property
    def description(self) -> str:
        return f"{self.base.description} rescored=gold"

    @property
    def has_null(self) -> bool:
        return self.base.has_null

    @property
    def unfitted(self) -> bool:
        return self.base.unfitted

    @property
    def without_rescorer(self) -> PositionModel:
        return self.base

    def posteriors_of(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
        text, bucket_posteriors = scores.text, self.base.posteriors_of(scores)
        known = known_words(text.source, text.target, scores.training_counts, self.rescorer.frequent)

        def rescored(k: int) -> BucketPosteriors:
            found, bucket = bucket_posteriors(k), text.buckets[k]
            return self.rescorer.rescored(found, bucket, known, scores.null_ratios)

        return rescored

    def state(self) -> State:
        own = self.rescorer
        arrays = own.network._asdict() | {"style": own.style}
        words = {f"{side}_frequent": own.frequent[n] for n, side in enumerate(("source", "target"))}
        values = {"weight": own.weight, "gold_log_odds": self.gold_log_odds}
        return State("rescored", values, arrays, words=words, parts={"base": self.base.state()})

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: object) -> Rescored:
        network = Network(*(stored.packed[stored.prefix + name] for name in Network._fields))
        network.check()
        for name, own in network._asdict().items():
            stored.array(name, "f", own.shape)  # finite
        style = stored.array("style", "f", (KINDS, FREQUENT + 1), low=0, high=1)
        frequent = tuple(stored.words("source_frequent")), tuple(stored.words("target_frequent"))
        rescorer = Rescorer(network, stored.number("weight", low=0, high=1), frequent, style)
        gold = stored.number("gold_log_odds", low=-10, high=10)
        return cls(stored.open("base", vocabularies), rescorer, gold)


def mix(p: Floats, e: Floats, weight: np.floating, inside: Flags, axis: int) -> Floats:
    """Return ``softmax((1 - weight) log p + weight e)`` over an axis and the null word, whose score is 0."""
    null = np.log(np.maximum(1 - p.sum(axis=axis, keepdims=True), LEAST_NULL)) * (1 - weight)
    words = np.log(np.maximum(p, SMALLEST)) * (1 - weight) + weight * e
    scores = np.concatenate([null, np.where(inside, words, np.float32(-np.inf))], axis=axis)
    return np.asarray(np.delete(softmax(scores, axis=axis), 0, axis=axis))
