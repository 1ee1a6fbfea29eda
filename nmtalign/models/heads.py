"""The dense head of a learned aligner: attention vectors beside the counted lexicon.

The lexicon views are sparse heads, learned by counting; the attention vectors of
:mod:`nmtalign.models.gradient` are a dense head, learned by gradient. They are trained apart and err
independently; their logits are averaged in the last expectation step only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.attention_vectors import AttentionVectors, log_norms
from nmtalign.models.lexicon import Emissions
from nmtalign.models.pairs import PairIndex

Floats = NDArray[np.float32]

LEAST = np.float32(1e-30)


@dataclass(frozen=True, eq=False)
class VectorHead:
    """Attention vectors that have a say in the emissions of a lexicon.

    Attributes
    ----------
    vectors : AttentionVectors
        Of the words that were learned from, their rows in half precision: a model keeps no more.
    weight : float
        Share of the vectors in the logits, from 0 to 1.
    """

    vectors: AttentionVectors
    weight: float

    def join(
        self, words: Emissions, source_words: Sequence[str], target_words: Sequence[str], pairs: PairIndex
    ) -> Emissions:
        """Return emissions with ``log r = (1 - weight) log r_lexicon + weight log r_vectors``."""
        logits = self._of_words(source_words, target_words).log_ratio(pairs.source, pairs.target)
        joint = blended(words.pairs, logits, self.weight)
        joint[words.pairs == 0] = 0
        return words._replace(pairs=joint)

    def _of_words(self, source_words: Sequence[str], target_words: Sequence[str]) -> AttentionVectors:
        """Return the vectors of any words, the first of each side being the padding."""
        own = self.vectors
        keys, queries = own.source_rows.compose(source_words), own.target_rows.compose(target_words)
        known = self._known
        source_norms = word_norms(
            known[0], source_words, own.source_norms, keys, own.target, own.target_share
        )
        target_norms = word_norms(
            known[1], target_words, own.target_norms, queries, own.source, own.source_share
        )
        return replace(own, source=keys, target=queries, source_norms=source_norms, target_norms=target_norms)

    @cached_property
    def _known(self) -> tuple[dict[str, int], dict[str, int]]:
        """Number of each source and target word."""
        source, target = (
            {word: k for k, word in enumerate(rows.words)}
            for rows in (self.vectors.source_rows, self.vectors.target_rows)
        )
        return source, target


def blended(ratios: Floats, logits: Floats, weight: float) -> Floats:
    """Return ``exp((1 - weight) log ratio + weight logit)``; `logits` is overwritten."""
    logits *= np.float32(weight)
    logits += np.float32(1 - weight) * np.log(np.maximum(ratios, LEAST))
    return np.exp(logits, out=logits)


def word_norms(
    number: dict[str, int],
    words: Sequence[str],
    learned: Floats,
    vectors: Floats,
    others: Floats,
    shares: Floats,
) -> Floats:
    """Return log Z of words: as learned, or for new words over the known words of the other side."""
    known = np.array([number.get(word, -1) for word in words])
    norms: Floats = learned[known]
    new = known < 0
    if new.any():
        norms[new] = log_norms(vectors[new], others, shares)
    return norms
