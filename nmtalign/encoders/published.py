"""From the matrices of sentence pairs to posteriors: published methods for similarities, and attention.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Flags, Reals
from nmtalign.attention.weights import entmax15, softmax
from nmtalign.corpus.buckets import PADDING_SCORE
from nmtalign.positions.position_model import Posteriors


class Method(NamedTuple):
    """A published way from similarities to links: an extraction of posteriors.

    ``simalign-argmax``, ``-itermax``, ``-match`` are those of Jalili Sabet et al. (2020) over
    ``(1 + cosine) / 2``. ``awesome-align`` links where both softmaxes of dot products are at least 0.001 (Dou
    and Neubig 2021), ``awesome-align-entmax`` where both 1.5-entmaxes are above 0 (Peters et al. 2019).
    ``transport`` is optimal transport. Of similarities of sub-words, words are linked if any of their
    sub-words are, as in the programs of these papers.
    """

    extract: str
    threshold: float | None = None  # with one, probabilities of dot products are extracted
    normalize: Callable[..., Any] = softmax

    @property
    def product(self) -> str:
        """Of token vectors: ``cosine`` or ``dot``."""
        return "cosine" if self.threshold is None else "dot"

    @property
    def min_similarity(self) -> float:
        """The least similarity that the method is defined for."""
        return -1.0 if self.extract == "itermax" else -math.inf

    def posteriors(self, similarities: Reals, inside: Flags) -> Posteriors:
        """Return the posteriors of a bucket of similarities, `PADDING_SCORE` outside of the sentences."""
        forward, reverse = (self.normalize(similarities, axis) * inside for axis in (1, 0))
        cosines = self.product == "cosine"
        if cosines:
            halved = (1 + similarities) / 2
            rounded = np.maximum(halved, 0) if self.min_similarity == -1 else halved
            joint = np.where(inside, rounded, 0)
        else:
            joint = np.minimum(forward, reverse)
        return Posteriors(forward, reverse, joint, scores=similarities)


PUBLISHED_METHODS = {
    "simalign-argmax": Method("mutual"),
    "simalign-itermax": Method("itermax"),
    "simalign-match": Method("match"),
    "awesome-align": Method("threshold", 0.001),
    "awesome-align-entmax": Method("threshold", 0.0, entmax15),
    "transport": Method("transport"),
}
DEFAULT_METHOD = "simalign-itermax"
SOFT_SHARPNESS = 4  # logits of a similarity that is a standard deviation greater
MIN_DEVIATION = 1e-6  # deviation below which similarities are equal but for rounding


def soft_posteriors(similarities: Reals, inside: Flags) -> Posteriors:
    """Return posteriors that count words: of a cell the product of both softmaxes of sharpened similarities.

    Similarities (T, S, B) are measured in their standard deviation over the cells of their sentence pair, so
    that no pair depends on others, and an encoder whose cosines are all alike is as sharp as any other.
    """
    cells = np.maximum(inside.sum(axis=(0, 1)), 1)
    mean = np.sum(similarities, axis=(0, 1), where=inside) / cells
    centered = np.where(inside, similarities - mean, 0)
    deviation = np.sqrt(np.sum(centered**2, axis=(0, 1)) / cells)
    sharp = np.where(inside, SOFT_SHARPNESS * centered / np.maximum(deviation, MIN_DEVIATION), PADDING_SCORE)
    forward, reverse = (softmax(sharp, axis) * inside for axis in (1, 0))
    return Posteriors(forward, reverse, forward * reverse)


def attention_posteriors(weights: Reals, inside: Flags) -> Posteriors:
    """Return posteriors from the weights (T, S, B) that target words give to source words.

    What a word gave to the end of the sentence is lost to it: rows of `forward` sum to at most 1. Columns of
    `reverse` are brought to the sum 1, and `joint` is sqrt(p(s|t) p(t|s)).
    """
    forward = np.where(inside, weights, 0)
    sums = forward.sum(axis=0)
    reverse = np.asarray(forward / np.where(sums > 0, sums, 1))
    compared = np.where(forward > 0, forward, -np.inf)  # a weight of 0 is never a link
    return Posteriors(forward, reverse, np.sqrt(forward * reverse), scores=compared)
