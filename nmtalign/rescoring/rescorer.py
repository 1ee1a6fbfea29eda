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
from nmtalign.corpus.sides import EncodedSide
from nmtalign.errors import DataError
from nmtalign.positions.model import BucketPosteriors, PositionModel, Posteriors, TextScores
from nmtalign.rescoring.annotation_style import KINDS, with_style
from nmtalign.rescoring.features import (
    FREQUENT,
    Counts,
    Vectors,
    Words,
    inputs_of,
    known_words,
    log_odds,
    part_of,
)
from nmtalign.rescoring.network import Network, Weights, sigmoid
from nmtalign.state import State, Stored

COLUMN_MULTIPLE, CELLS = 16, 1 << 15  # columns, and approximate cells, scored at a time
MIN_POSTERIOR = np.float32(0.003)  # links are rescored if one direction gives them this probability
SMALLEST = np.float32(1e-30)  # probability under a logarithm
LEAST_NULL = np.float32(1e-6)  # probability of the null word under a logarithm

ThreeMatrices = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False, repr=False)
class Rescorer:
    """A rescorer of alignment posteriors.

    Attributes
    ----------
    network : Network
    weight : float
        w, from 0 (changes nothing) to 1 (aligns alone).
    frequent : (sequence of str, sequence of str)
        Source and target words that have a weight of their own.
    style : float32 array (KINDS, FREQUENT + 1)
        Shares of :class:`~nmtalign.rescoring.annotation_style.AnnotationStyle`.
    """

    network: Network
    weight: float
    frequent: tuple[tuple[str, ...], tuple[str, ...]]
    style: Floats

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise DataError(f"expected a weight of the rescorer from 0 to 1, found {self.weight}")

    def reader(self, source: EncodedSide, target: EncodedSide, counts: Counts) -> Reader:
        """Return what reads and rescores the buckets of a text.

        Parameters
        ----------
        source, target : EncodedSide
        counts : pair of int arrays (V,)
            How often each word occurs in the bitext that was learned from.
        """
        return Reader(self, known_words(source, target, counts, self.frequent))


@dataclass(frozen=True, eq=False, repr=False)
class Rescored(PositionModel):
    """A position model whose posteriors are rescored."""

    base: PositionModel  # with a null word
    rescorer: Rescorer
    gold_log_odds: float = 0.0  # what the gold links add to the log odds of link probabilities

    @property
    def settings(self) -> str:
        """Those of the position model, and that its posteriors are rescored."""
        return f"{self.base.settings} rescored=gold"

    @property
    def has_null(self) -> bool:
        """Whether words may be aligned to the null word."""
        return self.base.has_null

    @property
    def unfitted(self) -> bool:
        """Whether the position model has to be fitted to a text first."""
        return self.base.unfitted

    @property
    def without_rescorer(self) -> PositionModel:
        """The position model alone."""
        return self.base

    def posteriors_of(self, scores: TextScores) -> Callable[[int], BucketPosteriors]:
        """Return a function that computes the rescored posteriors of the bucket of a number."""
        text, bucket_posteriors = scores.text, self.base.posteriors_of(scores)
        reader = self.rescorer.reader(text.source, text.target, scores.training_counts)

        def rescored(k: int) -> BucketPosteriors:
            found, ratios = bucket_posteriors(k)
            assert ratios is not None  # as there is a null word
            posteriors = found.forward, found.reverse, found.joint
            again = reader.rescore(text.buckets[k], ratios, scores.null_ratios, *posteriors)
            return BucketPosteriors(Posteriors(*again), ratios)

        return rescored

    def state(self) -> State:
        """Return the position model, the weights of the network and what the style counts."""
        own = self.rescorer
        arrays = own.network.weights._asdict() | {"style": own.style}
        words = {f"{side}_frequent": own.frequent[n] for n, side in enumerate(("source", "target"))}
        values = {"weight": own.weight, "gold_log_odds": self.gold_log_odds}
        return State("rescored", values, arrays, words=words, parts={"base": self.base.state()})

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: object) -> Rescored:
        """Return what :meth:`state` was made of; `vocabularies` are for the position model."""
        weights = Weights(*(stored.packed[stored.prefix + name] for name in Weights._fields))
        weights.check()
        for name, own in weights._asdict().items():
            stored.array(name, "f", own.shape)  # finite
        style = stored.array("style", "f", (KINDS, FREQUENT + 1), low=0, high=1)
        frequent = tuple(stored.words("source_frequent")), tuple(stored.words("target_frequent"))
        rescorer = Rescorer(Network(weights), stored.number("weight", low=0, high=1), frequent, style)
        gold = stored.number("gold_log_odds", low=-10, high=10)
        return cls(stored.open("base", vocabularies), rescorer, gold)


@dataclass(frozen=True, eq=False, repr=False)
class Reader:
    """Rescores the buckets of one text."""

    rescorer: Rescorer
    known: Words

    def scores(self, bucket: Bucket, ratios: Floats, nulls: Vectors, *posteriors: Floats) -> Floats:
        """Return the log odds of links, (T, S, B); they do not depend on the other pairs."""
        e = np.empty(bucket.shape, np.float32)
        T, S, B = bucket.shape
        width = max(COLUMN_MULTIPLE, CELLS // (T * S) // COLUMN_MULTIPLE * COLUMN_MULTIPLE)
        for start in range(0, B, width):
            some = slice(start, start + width)
            own = (np.ascontiguousarray(p[..., some]) for p in (ratios, *posteriors))
            inputs = inputs_of(part_of(bucket, some), self.known, next(own), nulls, *own)
            e[..., some] = self.rescorer.network.scores(inputs).transpose(1, 2, 0)
        return e

    def rescore(
        self,
        bucket: Bucket,
        ratios: Floats,
        nulls: Vectors,
        forward: Floats,
        reverse: Floats,
        joint: Floats,
    ) -> ThreeMatrices:
        """Return p(s|t), p(t|s) and the joint probability after the rescorer.

        Parameters
        ----------
        bucket : Bucket
        ratios : float32 array (T, S, B)
            Likelihood ratio of each cell.
        nulls : (float32 array, float32 array)
            Likelihood ratios of source and of target words under null, by word number.
        forward, reverse, joint : float32 arrays (T, S, B)
            Posteriors before rescoring.

        Returns
        -------
        forward, reverse, joint : float32 arrays (T, S, B)
            Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null.
        """
        if self.rescorer.weight == 0:
            return forward, reverse, joint
        e = self.scores(bucket, ratios, nulls, forward, reverse, joint)
        inside = bucket.inside
        w = np.float32(self.rescorer.weight)
        mixed = mix(forward, e, w, inside, axis=1), mix(reverse, e, w, inside, axis=0)
        doubtful = (np.maximum(forward, reverse) > MIN_POSTERIOR) & inside
        corrected = np.where(doubtful, sigmoid((1 - w) * log_odds(joint) + w * e), joint)
        return *mixed, with_style(corrected, self.rescorer.style, bucket, self.known.frequent)


def mix(p: Floats, e: Floats, weight: np.floating, inside: Flags, axis: int) -> Floats:
    """Return ``softmax((1 - weight) log p + weight e)`` over an axis and the null word, whose score is 0."""
    null = np.log(np.maximum(1 - p.sum(axis=axis, keepdims=True), LEAST_NULL)) * (1 - weight)
    words = np.log(np.maximum(p, SMALLEST)) * (1 - weight) + weight * e
    scores = np.concatenate([null, np.where(inside, words, np.float32(-np.inf))], axis=axis)
    return np.asarray(np.delete(softmax(scores, axis=axis), 0, axis=axis))
