"""What the links of an expert are worth: trust, prior counts of word pairs, votes on posteriors.

An expert knows what a text does not say: an encoder, a translation model, a person. An aligner that was
learned without the expert says how far the expert is to be trusted, by the links that it is sure of.
The lexicon is then learned again with the expert's links as prior counts, and the links vote on the
posteriors.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Reals
from nmtalign.corpus.parallel import in_order
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText
from nmtalign.links.alignments import AlignedBatch
from nmtalign.positions.model import BucketPosteriors, Posteriors

SURE = 0.9  # least posterior of a link that the aligner is sure of
POWER = 4  # of the precision: the weight of the expert's links as prior counts
VOTE = 1.5  # times the log odds that precision and recall stand for
# pseudo-observations: where a text is too small to tell, an expert that somebody names has .8 and .6
OBSERVED, RIGHT, FOUND = 5, 4, 3


class Trust(NamedTuple):
    """Precision and recall of an expert beside the sure links of an aligner that does not know the expert.

    Attributes
    ----------
    precision : float
        Share of the expert's links that are right, where both words have a sure link.
    recall : float
        Share of the sure links that the expert has; below 1.

    Examples
    --------
    >>> trust = Trust(0.9, 0.8)
    >>> round(trust.linked_log_odds, 3), round(trust.unlinked_log_odds, 3), round(trust.weight, 3)
    (3.296, -2.414, 0.656)
    """

    precision: float
    recall: float

    @property
    def linked_log_odds(self) -> float:
        """What a link of the expert adds to the log odds of a cell."""
        return VOTE * max(0.0, math.log(self.precision / (1 - self.precision)))

    @property
    def unlinked_log_odds(self) -> float:
        """What no link of the expert adds to the log odds of a cell; at most 0."""
        return VOTE * math.log(1 - self.recall)

    @property
    def weight(self) -> float:
        """The prior count of a link; hardly any of an expert that is mostly wrong."""
        return self.precision**POWER


def trust_of(bucket_posteriors: Callable[[int], BucketPosteriors], text: EncodedText, workers: int) -> Trust:
    """Return the trust in the expert of a text, from the posteriors of its buckets without votes."""

    def counts(k: int) -> Doubles:
        weights, annotated = text.expert_cells(k)
        linked, sure = weights > 0, (bucket_posteriors(k).posteriors.joint > SURE) & annotated
        comparable = linked & sure.any(axis=1, keepdims=True) & sure.any(axis=0)
        return np.array([(linked & sure).sum(), comparable.sum(), sure.sum()], float)

    found = in_order(counts, range(len(text.buckets)), workers, cells=text.cells)
    both, comparable, sure = sum(found, np.zeros(3)).tolist()
    return Trust((both + RIGHT) / (comparable + OBSERVED), (both + FOUND) / (sure + OBSERVED))


def expert_word_counts(
    links: AlignedBatch, source: EncodedSide, target: EncodedSide, weight: float
) -> list[tuple[str, str, float]]:
    """Return linked word pairs with their counts: of a link its probability, times a weight."""
    pair = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    words = source.tokens[source.offsets[pair] + links.source].astype(np.int64)
    keys = words * len(target.words) + target.tokens[target.offsets[pair] + links.target]
    distinct, rank = np.unique(keys, return_inverse=True)
    counts = weight * np.bincount(rank.reshape(-1), links.probability, len(distinct))
    first, second = (own.tolist() for own in np.divmod(distinct, len(target.words)))
    counted = zip(first, second, counts.tolist(), strict=True)
    return [(source.words[s], target.words[t], count) for s, t, count in counted if count > 0]


def voted(
    bucket_posteriors: Callable[[int], BucketPosteriors], text: EncodedText, trust: Trust
) -> Callable[[int], BucketPosteriors]:
    """Return a function that computes the posteriors of a bucket with the votes of the text's expert."""
    if text.expert_links is None:
        return bucket_posteriors

    def with_votes(k: int) -> BucketPosteriors:
        found, ratios = bucket_posteriors(k)
        weights, annotated = text.expert_cells(k)
        log_odds = np.where(weights > 0, trust.linked_log_odds, trust.unlinked_log_odds)
        odds = np.exp(log_odds, dtype=np.float32)
        forward, reverse = (
            _of_words(found.forward, odds, annotated, 1),
            _of_words(found.reverse, odds, annotated, 0),
        )
        joint = np.where(annotated, shifted(found.joint, odds), found.joint)
        return BucketPosteriors(Posteriors(forward, reverse, joint), ratios)

    return with_votes


def shifted(p: Reals, odds: Reals) -> Reals:
    """Return probabilities whose odds are multiplied.

    Examples
    --------
    >>> shifted(np.array([0.5, 0.2]), np.array([4.0, 1.0])).tolist()
    [0.8, 0.2]
    """
    grown = p * odds
    return np.asarray(grown / (1 - p + grown), p.dtype)


def _of_words(p: Reals, odds: Reals, annotated: Flags, axis: int) -> Reals:
    """Return the distribution over the words of an axis, and null, of multiplied odds against null."""
    grown = p * odds
    null = np.maximum(1 - p.sum(axis=axis, keepdims=True), 0)
    grown /= np.maximum(null + grown.sum(axis=axis, keepdims=True), 1e-30)
    return np.asarray(np.where(annotated, grown, p), p.dtype)
