"""What the links of an expert are worth: prior counts of word pairs, and the weight of a vote.

An expert knows what a text does not say: an encoder, a translation model, a person. The expert's links prime
the lexicon, which then is learned as always. The posteriors of the primed aligner say how far the expert is
to be trusted: c, the log odds of the mean posterior of the expert's links, at least 0. In decoding the log
odds of a cell that the expert links grow by c, those of other cells shrink by c.

Axes: B pairs of a bucket, T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nmtalign.corpus.parallel import in_order
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText
from nmtalign.links.alignments import AlignedBatch
from nmtalign.positions.model import BucketPosteriors
from nmtalign.positions.voted import Trust

CERTAIN = 1e-6  # least distance of a mean posterior from 1


def prime(
    links: AlignedBatch, source: EncodedSide, target: EncodedSide, weight: float = 1.0
) -> list[tuple[str, str, float]]:
    """Return the linked word pairs with their counts, a prior of the lexicon.

    Parameters
    ----------
    links : AlignedBatch
        Links of the tokens of a text; their probabilities are counted.
    source, target : EncodedSide
        The sides of the text.
    weight : float
        Count of a link of probability 1.
    """
    pair = np.repeat(np.arange(len(links)), np.diff(links.offsets))
    words = source.tokens[source.offsets[pair] + links.source].astype(np.int64)
    keys = words * len(target.words) + target.tokens[target.offsets[pair] + links.target]
    distinct, rank = np.unique(keys, return_inverse=True)
    counts = weight * np.bincount(rank.reshape(-1), links.probability, len(distinct))
    first, second = (own.tolist() for own in np.divmod(distinct, len(target.words)))
    counted = zip(first, second, counts.tolist(), strict=True)
    return [(source.words[s], target.words[t], count) for s, t, count in counted if count > 0]


def trust(posterior: float, links: float) -> Trust:
    """Return the votes of an expert from the sum of the posteriors of so many links.

    Examples
    --------
    >>> trust(9.0, 10.0)  # log(.9 / .1)
    Trust(yes=2.1972245773362196, no=2.1972245773362196)
    >>> trust(4.0, 10.0)
    Trust(yes=0.0, no=0.0)
    """
    mean = min(posterior / links, 1 - CERTAIN) if links else 0.0
    constant = math.log(mean / (1 - mean)) if mean > 0.5 else 0.0
    return Trust(constant, constant)


def trust_of(attend: Callable[[int], BucketPosteriors], text: EncodedText, workers: int) -> Trust:
    """Return the votes of the expert of a text; `attend` gives the posteriors of a bucket without votes."""

    def sums(k: int) -> tuple[float, float]:
        weights, _ = text.expert_links(k)
        return float((attend(k).posteriors.joint * weights).sum(dtype=np.float64)), float(weights.sum())

    found = list(in_order(sums, range(len(text.buckets)), workers, cells=text.cells))
    return trust(math.fsum(own for own, _ in found), math.fsum(links for _, links in found))
