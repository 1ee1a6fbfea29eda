"""Links from the attention of another program.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.decoding import Decoder
from nmtalign.aligner.extraction import Extraction
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.long_pairs import whole_pairs
from nmtalign.corpus.sides import encode_pairs
from nmtalign.corpus.text import EncodedText
from nmtalign.positions.model import BucketPosteriors, Posteriors

Floats = NDArray[np.floating]


def given_posteriors(forward: Floats) -> Posteriors:
    """Return posteriors from the weights (T, S, B) that target words give to source words.

    What a word gave to the end of the sentence is lost to it: rows of `forward` sum to at most 1. Columns of
    `reverse` are brought to the sum 1, and `joint` is sqrt(p(s|t) p(t|s)).
    """
    sums = forward.sum(axis=0)
    reverse = np.asarray(forward / np.where(sums > 0, sums, 1))
    compared = np.where(forward > 0, forward, -np.inf)  # a weight of 0 is never a link
    return Posteriors(forward, reverse, np.sqrt(forward * reverse), scores=compared)


def external_decoder(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]], weights: Sequence[Floats], extraction: Extraction
) -> Decoder:
    """Return the decoder of attention weights (T, S) of other programs, one for each pair of words.

    Examples
    --------
    >>> decoder = external_decoder([(["a", "b"], ["c"])], [np.array([[0.9, 0.1]])], Extraction())
    >>> decoder.align(1).links(0)
    [Link(source=0, target=0)]
    """
    source, target = encode_pairs(pairs)
    text = EncodedText(source, target, whole_pairs(source, target), make_buckets(source, target))

    def attend(k: int) -> BucketPosteriors:
        bucket = text.buckets[k]
        found = np.zeros(bucket.shape)
        for column in np.flatnonzero(bucket.pairs >= 0):
            own = weights[bucket.pairs[column]]
            found[: own.shape[0], : own.shape[1], column] = own
        return BucketPosteriors(given_posteriors(found), None)

    return Decoder(text, attend, extraction.resolved(null=False))
