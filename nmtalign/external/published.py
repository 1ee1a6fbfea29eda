"""From the matrices of sentence pairs to posteriors: published methods for similarities, and attention.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from nmtalign.arrays import Flags, Reals
from nmtalign.attention.weights import entmax15, softmax
from nmtalign.corpus.buckets import PADDING_SCORE
from nmtalign.names import ExtractionName, MethodUnit
from nmtalign.positions.position_model import Posteriors


class Method(NamedTuple):
    """A published method that turns similarities into links: posteriors and their extraction.

    ``simalign-argmax``, ``-itermax`` and ``-match`` are the methods of Jalili Sabet et al. (2020) over
    ``(1 + cosine) / 2``. ``awesome-align`` links two words if both softmaxes of dot products are at least
    0.001 (Dou and Neubig 2021), ``awesome-align-entmax`` if both 1.5-entmaxes are above 0 (Peters et al.
    2019). ``transport`` is optimal transport. If the similarities are those of sub-words, two words are
    linked if any of their sub-words are, as in the programs of these papers.
    """

    extract: ExtractionName
    product: Literal["cosine", "dot"] = "cosine"  # how the vectors of two tokens are compared
    threshold: float | None = None  # applies to probabilities of dot products
    normalize: Callable[..., Any] = softmax
    min_similarity: float = -math.inf  # the smallest similarity for which the method is defined

    def posteriors(self, similarities: Reals, inside: Flags) -> Posteriors:
        """Return the posteriors of a bucket of similarities, `PADDING_SCORE` outside of the sentences."""
        forward = self.normalize(similarities, 1) * inside
        reverse = self.normalize(similarities, 0) * inside
        if self.product == "cosine":
            joint = (1 + similarities) / 2
            if self.min_similarity >= -1:
                joint = np.maximum(joint, 0)  # rounded cosines may be slightly below -1
            joint = np.where(inside, joint, 0)
        else:
            joint = np.minimum(forward, reverse)
        return Posteriors(forward, reverse, joint, scores=similarities)


PUBLISHED_METHODS = {
    "simalign-argmax": Method("mutual"),
    "simalign-itermax": Method("itermax", min_similarity=-1.0),
    "simalign-match": Method("match"),
    "awesome-align": Method("threshold", "dot", threshold=0.001),
    # most 1.5-entmaxes are exactly 0, and none of the others is below 1e-30
    "awesome-align-entmax": Method("threshold", "dot", threshold=1e-30, normalize=entmax15),
    "transport": Method("transport"),
}
DEFAULT_METHOD = "simalign-itermax"
DEFAULT_UNITS: MethodUnit = "subwords"
SOFT_SHARPNESS = 4  # logits per standard deviation of the similarities
MIN_DEVIATION = 1e-6  # similarities with a smaller deviation differ by rounding only


def soft_posteriors(similarities: Reals, inside: Flags) -> Posteriors:
    """Return posteriors that serve as counts: the product of both softmaxes of sharpened similarities.

    Similarities (T, S, B) are divided by their standard deviation within the sentence pair. So no pair
    depends on others, and an encoder with nearly equal cosines is as sharp as any other.
    """
    cell_count = np.maximum(inside.sum(axis=(0, 1)), 1)  # (B,)
    mean = np.sum(similarities, axis=(0, 1), where=inside) / cell_count
    centered = np.where(inside, similarities - mean, 0)
    deviation = np.sqrt(np.sum(centered**2, axis=(0, 1)) / cell_count)
    sharp = np.where(inside, SOFT_SHARPNESS * centered / np.maximum(deviation, MIN_DEVIATION), PADDING_SCORE)
    forward = softmax(sharp, axis=1) * inside
    reverse = softmax(sharp, axis=0) * inside
    return Posteriors(forward, reverse, forward * reverse)


def attention_posteriors(weights: Reals, inside: Flags) -> Posteriors:
    """Return posteriors from the weights (T, S, B) that target words give to source words.

    Rows of `forward` sum to at most 1, because the weight of the end of the sentence is omitted. Columns of
    `reverse` are normalized to the sum 1, and `joint` is sqrt(p(s|t) p(t|s)).
    """
    forward = np.where(inside, weights, 0)
    column_sums = forward.sum(axis=0)  # (S, B)
    reverse = np.asarray(forward / np.where(column_sums > 0, column_sums, 1))
    compared = np.where(forward > 0, forward, -np.inf)  # a weight of 0 is never a link
    return Posteriors(forward, reverse, np.sqrt(forward * reverse), scores=compared)
