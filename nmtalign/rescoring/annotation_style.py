"""Annotation style: do annotators link a word without a translation to the partner of its neighbor?

Some annotators link an article or particle without a translation to the partner of its neighbor, others leave
the word unlinked. Gold links show the style, for neighbors before and after, on each side, and word by word.

Axes: T target words, S source words, B pairs of a bucket.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nmtalign.arrays import Flags, Floats, Integers
from nmtalign.corpus.buckets import Bucket
from nmtalign.links.extraction import beside_links
from nmtalign.positions.hmm import THRESHOLD
from nmtalign.rescoring.features import FREQUENT, Counts

KINDS = 4  # a free target word after and before the linked one, a free source word likewise
PRIOR, STRENGTH = 0.2, 10  # prior share of linked words, and its weight in words
WORD_STRENGTH = 3  # weight of the share of all frequent words, in occurrences of one word


def free_words(joint: Floats, bucket: Bucket, ranks: Counts) -> Iterator[tuple[Flags, Integers]]:
    """Yield, by kind, the cells (T, S, B) that link a free word as its neighbor, and the word's rank.

    A word is free if no link of the joint probability (T, S, B) reaches the threshold; `ranks` (V,) of words
    are those among the frequent ones, 0 for all others.
    """
    of_target, of_source = ranks[1][bucket.target][:, None], ranks[0][bucket.source]
    kinds = of_target, of_target, of_source, of_source
    cells = beside_links((joint >= THRESHOLD) & bucket.inside)
    for own, rank in zip(cells, kinds, strict=True):
        yield own & bucket.inside, np.broadcast_to(rank, own.shape)


class AnnotationStyle:
    """Counts free words in gold links, bucket by bucket."""

    def __init__(self) -> None:
        self._linked, self._seen = np.zeros((2, KINDS, FREQUENT + 1))

    def add(self, joint: Floats, bucket: Bucket, ranks: Counts, sure: Flags, possible: Flags) -> None:
        """Count the free words of a bucket; links that are only possible do not count."""
        for kind, (cells, rank) in enumerate(free_words(joint, bucket, ranks)):
            annotated = cells & (sure | ~possible)
            self._seen[kind] += np.bincount(rank[annotated], minlength=FREQUENT + 1)
            self._linked[kind] += np.bincount(rank[annotated & sure], minlength=FREQUENT + 1)

    def shares(self) -> Floats:
        """Return the share of free words that are linked, by kind and rank, shape (KINDS, FREQUENT + 1)."""
        shares = np.empty_like(self._seen)
        for group in slice(0, 1), slice(1, None):  # all other words, frequent ones
            linked, seen = (x[:, group].sum(axis=1, keepdims=True) for x in (self._linked, self._seen))
            shares[:, group] = (linked + STRENGTH * PRIOR) / (seen + STRENGTH)
        own = shares[:, 1:] * WORD_STRENGTH + self._linked[:, 1:]
        shares[:, 1:] = own / (self._seen[:, 1:] + WORD_STRENGTH)
        return shares.astype(np.float32)


def with_style(joint: Floats, shares: Floats, bucket: Bucket, ranks: Counts) -> Floats:
    """Return the joint probability (T, S, B) with links of free words in the annotation style."""
    result = joint.copy()
    for own, (cells, rank) in zip(shares, free_words(joint, bucket, ranks), strict=True):
        share = own[rank]
        np.maximum(result, share, out=result, where=cells & (share >= THRESHOLD))
    return result
