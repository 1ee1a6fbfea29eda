"""The rescorer: a neural network, trained on gold links, that corrects the posteriors of a sentence pair.

The scores e of the network are log odds of links. They are mixed log-linearly with the posteriors,

    p'(s|t) = softmax over s and null of (1 - w) log p(s|t) + w e(t, s)        the score of null being 0

and in the same way p'(t|s); with the weight w = 1 the network aligns alone. Every link is corrected by
itself, so that a word may get as many links as people give it: the log odds of the joint probability become
(1 - w) logit p + w e.

Some annotators link an article or particle without a translation to the partner of its neighbor, others leave
the word unlinked. The rescorer learns this annotation style from gold links, for neighbors before and after,
on each side, and word by word.

Axes: T target words, S source words, B pairs of a bucket (last).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from nmtalign.arrays import Flags, Floats, Integers, block_slices
from nmtalign.attention.weights import softmax
from nmtalign.corpus.buckets import Bucket
from nmtalign.links.selection import DEFAULT_THRESHOLD, adjacent_link_cells
from nmtalign.names import SIDES
from nmtalign.positions.position_model import PositionModel, Posteriors, PosteriorsAndRatios, TextScores
from nmtalign.rescoring.network import (
    FEATURE_COUNT,
    MAX_WEIGHTED_WORDS,
    KnownWords,
    Network,
    Ranks,
    bucket_columns,
    known_words,
    log_odds,
    make_inputs,
    sigmoid,
)
from nmtalign.state import State, Stored

SCORED_COLUMN_MULTIPLE = 16
SCORED_CELLS = 1 << 15  # about the number of cells that are scored at a time
MIN_RESCORED_POSTERIOR = np.float32(0.003)  # links below it in both directions are not rescored
# bounds that keep logarithms finite
MIN_WORD_PROBABILITY = np.float32(1e-30)
MIN_NULL_PROBABILITY = np.float32(1e-6)
FREE_WORD_KINDS = 4  # free target words after and before the linked word, and the same for source words
PRIOR_SHARE = 0.2  # share of free words that annotators link, before any gold links are seen
PRIOR_WORDS = 10  # weight of the prior share
PRIOR_OCCURRENCES = 3  # weight of the share of all frequent words against that of one word


@dataclass(frozen=True, eq=False, repr=False)
class Rescored(PositionModel):
    """A position model whose posteriors are rescored."""

    base: PositionModel  # has a null word
    network: Network
    weight: float  # w, from 0 (changes nothing) to 1 (aligns alone)
    frequent: tuple[tuple[str, ...], tuple[str, ...]]  # source and target words with weights of their own
    style: Floats  # (FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1): shares of :class:`AnnotationStyle`
    gold_log_odds: float = 0.0  # added to the log odds of link probabilities

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

    def posteriors_of(self, scores: TextScores) -> Callable[[int], PosteriorsAndRatios]:
        bucket_posteriors = self.base.posteriors_of(scores)
        if self.weight == 0:
            return bucket_posteriors
        known = known_words(scores, self.frequent)
        return lambda k: self._rescored(bucket_posteriors(k), scores.text.buckets[k], known)

    def _rescored(
        self, unscored: PosteriorsAndRatios, bucket: Bucket, known: KnownWords
    ) -> PosteriorsAndRatios:
        """Return rescored posteriors.

        Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null.
        """
        posteriors, ratios = unscored
        assert ratios is not None  # as there is a null word
        forward = posteriors.forward
        reverse = posteriors.reverse
        joint = posteriors.joint
        e = self._log_odds(bucket, known, ratios, forward, reverse, joint)
        w = np.float32(self.weight)
        inside = bucket.inside
        candidates = candidates_of(forward, reverse, inside)
        corrected = np.where(candidates, sigmoid((1 - w) * log_odds(joint) + w * e), joint)
        rescored = Posteriors(
            forward=mix_posteriors(forward, e, w, inside, axis=1),
            reverse=mix_posteriors(reverse, e, w, inside, axis=0),
            joint=with_style(corrected, self.style, bucket, known.frequent),
        )
        return PosteriorsAndRatios(rescored, ratios)

    def _log_odds(self, bucket: Bucket, known: KnownWords, *cells: Floats) -> Floats:
        """Return the log odds of links, (T, S, B); they do not depend on the other pairs.

        `cells` are the likelihood ratios, p(s|t), p(t|s) and the joint probability.
        """
        T, S, B = bucket.shape
        e = np.empty((T, S, B), np.float32)
        multiples = SCORED_CELLS // (T * S) // SCORED_COLUMN_MULTIPLE
        columns_per_block = max(SCORED_COLUMN_MULTIPLE, multiples * SCORED_COLUMN_MULTIPLE)
        for columns in block_slices(B, columns_per_block):
            cells_of_block = [np.ascontiguousarray(array[..., columns]) for array in cells]
            inputs = make_inputs(bucket_columns(bucket, columns), known, *cells_of_block)
            e[..., columns] = self.network.scores(inputs).transpose(1, 2, 0)
        return e

    def state(self) -> State:
        arrays = self.network._asdict() | {"style": self.style}
        words = {f"{side}_frequent": words for side, words in zip(SIDES, self.frequent, strict=True)}
        values = {"weight": self.weight, "gold_log_odds": self.gold_log_odds}
        return State("rescored", values, arrays, words=words, parts={"base": self.base.state()})

    @classmethod
    def from_state(cls, stored: Stored, vocabularies: object) -> Rescored:
        C = MAX_WEIGHTED_WORDS + 1
        A = stored.packed[f"{stored.prefix}v"].size
        shapes = (FEATURE_COUNT, A), (A,), (A,), (FEATURE_COUNT,), (C,), (C,), (1,)
        weights = zip(Network._fields, shapes, strict=True)
        return cls(
            base=stored.open("base", vocabularies),
            network=Network(*(stored.array(name, "f", shape) for name, shape in weights)),
            weight=stored.number("weight", minimum=0, maximum=1),
            frequent=(tuple(stored.words("source_frequent")), tuple(stored.words("target_frequent"))),
            style=stored.array("style", "f", (FREE_WORD_KINDS, C), minimum=0, maximum=1),
            gold_log_odds=stored.number("gold_log_odds", minimum=-10, maximum=10),
        )


def candidates_of(forward: Floats, reverse: Floats, inside: Flags) -> Flags:
    """Return the cells (T, S, B) that are rescored: at least one direction gives them a probability."""
    return np.asarray((np.maximum(forward, reverse) > MIN_RESCORED_POSTERIOR) & inside)


def mix_posteriors(p: Floats, e: Floats, weight: np.floating, inside: Flags, axis: int) -> Floats:
    """Return ``softmax((1 - weight) log p + weight e)`` over an axis and the null word, whose score is 0."""
    null_probability = 1 - p.sum(axis=axis, keepdims=True)
    null_scores = np.log(np.maximum(null_probability, MIN_NULL_PROBABILITY)) * (1 - weight)
    word_scores = np.log(np.maximum(p, MIN_WORD_PROBABILITY)) * (1 - weight) + weight * e
    word_scores = np.where(inside, word_scores, np.float32(-np.inf))
    posteriors = softmax(np.concatenate([null_scores, word_scores], axis=axis), axis=axis)
    return np.asarray(np.delete(posteriors, 0, axis=axis))  # without null


def free_words(joint: Floats, bucket: Bucket, ranks: Ranks) -> Iterator[tuple[Flags, Integers]]:
    """Yield the cells (T, S, B) of each kind that link a free word like its neighbor, and the word's rank.

    A word is free if no joint probability (T, S, B) of its links reaches the threshold. `ranks` (V,) are the
    ranks of words among the frequent ones, 0 for all others.
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
        rare, frequent = slice(0, 1), slice(1, None)
        for group in (rare, frequent):
            linked = self._linked[:, group].sum(axis=1, keepdims=True)
            seen = self._seen[:, group].sum(axis=1, keepdims=True)
            shares[:, group] = (linked + PRIOR_WORDS * PRIOR_SHARE) / (seen + PRIOR_WORDS)
        # the share of a frequent word is drawn towards that of all frequent words
        linked = shares[:, frequent] * PRIOR_OCCURRENCES + self._linked[:, frequent]
        shares[:, frequent] = linked / (self._seen[:, frequent] + PRIOR_OCCURRENCES)
        return shares.astype(np.float32)


def with_style(joint: Floats, shares: Floats, bucket: Bucket, ranks: Ranks) -> Floats:
    """Return the joint probability (T, S, B) with links of free words in the annotation style."""
    result = joint.copy()
    for by_rank, (cells, rank) in zip(shares, free_words(joint, bucket, ranks), strict=True):
        share = by_rank[rank]
        np.maximum(result, share, out=result, where=cells & (share >= DEFAULT_THRESHOLD))
    return result
