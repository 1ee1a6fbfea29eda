"""Votes of an expert: posteriors whose log odds are shifted where the expert has an opinion.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Reals
from nmtalign.corpus.text import EncodedText
from nmtalign.positions.model import BucketPosteriors, Posteriors


class Trust(NamedTuple):
    """What a vote of an expert adds to the log odds of a cell: for a link, and against."""

    yes: float
    no: float


def voted(
    attend: Callable[[int], BucketPosteriors], text: EncodedText, trust: Trust
) -> Callable[[int], BucketPosteriors]:
    """Return a function that computes the posteriors of a bucket with the votes of the text's expert."""
    if text.expert is None or not any(trust):
        return attend

    def with_votes(k: int) -> BucketPosteriors:
        found, ratios = attend(k)
        weights, opinion = text.expert_links(k)
        odds = np.exp(np.where(weights > 0, np.float32(trust.yes), -np.float32(trust.no)))
        both = ((found.forward, 1), (found.reverse, 0))
        forward, reverse = (np.where(opinion, _of_words(p, odds, axis), p) for p, axis in both)
        joint = np.where(opinion, shifted(found.joint, odds), found.joint)
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


def _of_words(p: Reals, odds: Reals, axis: int) -> Reals:
    """Return the distribution over the words of an axis, and null, of multiplied odds against null."""
    grown = p * odds
    null = np.maximum(1 - p.sum(axis=axis, keepdims=True), 0)
    return np.asarray(grown / np.maximum(null + grown.sum(axis=axis, keepdims=True), 1e-30), p.dtype)
