"""The rescorer: a neural network, trained on gold links, that corrects the posteriors of a sentence pair.

Its scores e are log odds of links. They are mixed log-linearly with the posteriors,

    p'(s|t) = softmax over s and null of (1 - w) log p(s|t) + w e(t, s)        the score of null being 0

and likewise p'(t|s); with the weight w = 1 it aligns alone. Single links are corrected, so that a word may
get as many as people give it: the log odds of the joint probability become (1 - w) logit p + w e.

Some annotators link an article or particle without a translation to the partner of its neighbor, others leave
the word unlinked. Gold links show this annotation style, for neighbors before and after, on each side, and
word by word.

Axes: T target words, S source words, B pairs of a bucket (last).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from nmtalign.arrays import Flags, Floats, Integers, block_slices
from nmtalign.attention.weights import softmax
from nmtalign.corpus.buckets import Bucket
from nmtalign.links.selection import adjacent_link_cells
from nmtalign.names import SIDES
from nmtalign.positions.hmm import DEFAULT_THRESHOLD
from nmtalign.positions.position_model import BucketPosteriors, PositionModel, Posteriors, TextScores
from nmtalign.rescoring.features import (
    MAX_WEIGHTED_WORDS,
    KnownWords,
    Ranks,
    bucket_columns,
    known_words,
    log_odds,
    make_inputs,
)
from nmtalign.rescoring.network import FEATURE_COUNT, Network, sigmoid
from nmtalign.state import State, Stored

SCORED_COLUMN_MULTIPLE, SCORED_CELLS = 16, 1 << 15  # columns, and approximate cells, scored at a time
MIN_RESCORED_POSTERIOR = np.float32(0.003)  # links are rescored if one direction gives them this probability
MIN_WORD_PROBABILITY = np.float32(1e-30)  # probability under a logarithm
MIN_NULL_PROBABILITY = np.float32(1e-6)  # probability of the null word under a logarithm
FREE_WORD_KINDS = 4  # a free target word after and before the linked one, a free source word likewise
PRIOR_SHARE, PRIOR_WORDS = 0.2, 10  # prior share of linked words, and its weight in words
PRIOR_OCCURRENCES = 3  # weight of the share of all frequent words, in occurrences of one word


@dataclass(frozen=True, eq=False, repr=False)
class Rescored(PositionModel):
    """A position model whose posteriors are rescored."""

    base: PositionModel  # with a null word
    network: Network
    weight: float  # w, from 0 (changes nothing) to 1 (aligns alone)
    frequent: tuple[tuple[str, ...], tuple[str, ...]]  # source and target words with a weight of their own
    style: Floats  # (FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1): shares of :class:`AnnotationStyle`
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
        bucket_posteriors = self.base.posteriors_of(scores)
        if self.weight == 0:
            return bucket_posteriors
        known = known_words(scores, self.frequent)
        return lambda k: self._rescored(bucket_posteriors(k), scores.text.buckets[k], known)

    def _rescored(self, given: BucketPosteriors, bucket: Bucket, known: KnownWords) -> BucketPosteriors:
        """Return rescored posteriors.

        Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null.
        """
        posteriors, ratios = given
        assert ratios is not None  # as there is a null word
        forward, reverse, joint = posteriors.forward, posteriors.reverse, posteriors.joint
        e = self._log_odds(bucket, known, ratios, forward, reverse, joint)
        inside, w = bucket.inside, np.float32(self.weight)
        candidates = candidates_of(forward, reverse, inside)
        corrected = np.where(candidates, sigmoid((1 - w) * log_odds(joint) + w * e), joint)
        joint = with_style(corrected, self.style, bucket, known.frequent)
        forward, reverse = (
            mix_posteriors(forward, e, w, inside, axis=1),
            mix_posteriors(reverse, e, w, inside, axis=0),
        )
        return BucketPosteriors(Posteriors(forward, reverse, joint), ratios)

    def _log_odds(self, bucket: Bucket, known: KnownWords, *cells: Floats) -> Floats:
        """Return the log odds of links, (T, S, B); they do not depend on the other pairs.

        `cells` are the likelihood ratios, p(s|t), p(t|s) and the joint probability.
        """
        T, S, B = bucket.shape
        e = np.empty((T, S, B), np.float32)
        width = max(
            SCORED_COLUMN_MULTIPLE, SCORED_CELLS // (T * S) // SCORED_COLUMN_MULTIPLE * SCORED_COLUMN_MULTIPLE
        )
        for some in block_slices(B, width):
            of_some = (np.ascontiguousarray(array[..., some]) for array in cells)
            inputs = make_inputs(bucket_columns(bucket, some), known, *of_some)
            e[..., some] = self.network.scores(inputs).transpose(1, 2, 0)
        return e

    def state(self) -> State:
        arrays = self.network._asdict() | {"style": self.style}
        words = {f"{side}_frequent": words for side, words in zip(SIDES, self.frequent, strict=True)}
        values = {"weight": self.weight, "gold_log_odds": self.gold_log_odds}
        return State("rescored", values, arrays, words=words, parts={"base": self.base.state()})

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: object) -> Rescored:
        F, C, A = FEATURE_COUNT, MAX_WEIGHTED_WORDS + 1, stored.packed[f"{stored.prefix}v"].size
        shapes = (F, A), (A,), (A,), (F,), (C,), (C,), (1,)
        weights = zip(Network._fields, shapes, strict=True)
        return cls(
            stored.open("base", vocabularies),
            Network(*(stored.array(name, "f", shape) for name, shape in weights)),
            stored.number("weight", minimum=0, maximum=1),
            (tuple(stored.words("source_frequent")), tuple(stored.words("target_frequent"))),
            stored.array("style", "f", (FREE_WORD_KINDS, C), minimum=0, maximum=1),
            stored.number("gold_log_odds", minimum=-10, maximum=10),
        )


def candidates_of(forward: Floats, reverse: Floats, inside: Flags) -> Flags:
    """Return the cells (T, S, B) that are rescored: one direction at least gives them a probability."""
    return np.asarray((np.maximum(forward, reverse) > MIN_RESCORED_POSTERIOR) & inside)


def mix_posteriors(p: Floats, e: Floats, weight: np.floating, inside: Flags, axis: int) -> Floats:
    """Return ``softmax((1 - weight) log p + weight e)`` over an axis and the null word, whose score is 0."""
    null = np.log(np.maximum(1 - p.sum(axis=axis, keepdims=True), MIN_NULL_PROBABILITY)) * (1 - weight)
    words = np.log(np.maximum(p, MIN_WORD_PROBABILITY)) * (1 - weight) + weight * e
    scores = np.concatenate([null, np.where(inside, words, np.float32(-np.inf))], axis=axis)
    return np.asarray(np.delete(softmax(scores, axis=axis), 0, axis=axis))


def free_words(joint: Floats, bucket: Bucket, ranks: Ranks) -> Iterator[tuple[Flags, Integers]]:
    """Yield, by kind, the cells (T, S, B) that link a free word as its neighbor, and the word's rank.

    A word is free if no link of the joint probability (T, S, B) reaches the threshold; `ranks` (V,) of words
    are those among the frequent ones, 0 for all others.
    """
    of_target, of_source = ranks[1][bucket.target][:, None], ranks[0][bucket.source]
    kinds = of_target, of_target, of_source, of_source
    cells = adjacent_link_cells((joint >= DEFAULT_THRESHOLD) & bucket.inside)
    for free, rank in zip(cells, kinds, strict=True):
        yield free & bucket.inside, np.broadcast_to(rank, free.shape)


class AnnotationStyle:
    """Counts free words in gold links, bucket by bucket."""

    def __init__(self) -> None:
        self._linked, self._seen = np.zeros((2, FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1))

    def add(self, joint: Floats, bucket: Bucket, ranks: Ranks, sure: Flags, possible: Flags) -> None:
        """Count the free words of a bucket; links that are only possible do not count."""
        for kind, (cells, rank) in enumerate(free_words(joint, bucket, ranks)):
            annotated = cells & (sure | ~possible)
            self._seen[kind] += np.bincount(rank[annotated], minlength=MAX_WEIGHTED_WORDS + 1)
            self._linked[kind] += np.bincount(rank[annotated & sure], minlength=MAX_WEIGHTED_WORDS + 1)

    def shares(self) -> Floats:
        """Return the share of free words that are linked, by kind and rank.

        The shape is (FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1).
        """
        shares = np.empty_like(self._seen)
        for group in slice(0, 1), slice(1, None):  # all other words, frequent ones
            linked, seen = (x[:, group].sum(axis=1, keepdims=True) for x in (self._linked, self._seen))
            shares[:, group] = (linked + PRIOR_WORDS * PRIOR_SHARE) / (seen + PRIOR_WORDS)
        linked = shares[:, 1:] * PRIOR_OCCURRENCES + self._linked[:, 1:]
        shares[:, 1:] = linked / (self._seen[:, 1:] + PRIOR_OCCURRENCES)
        return shares.astype(np.float32)


def with_style(joint: Floats, shares: Floats, bucket: Bucket, ranks: Ranks) -> Floats:
    """Return the joint probability (T, S, B) with links of free words in the annotation style."""
    result = joint.copy()
    for by_rank, (cells, rank) in zip(shares, free_words(joint, bucket, ranks), strict=True):
        share = by_rank[rank]
        np.maximum(result, share, out=result, where=cells & (share >= DEFAULT_THRESHOLD))
    return result
