"""The head of given word vectors, mixed with a lexicon: any two sets of embeddings that share a space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.heads.dense import FREQUENT, SCORE_LIMIT, DenseHead, make_dense_head
from nmtalign.heads.lexicon import Lexicon
from nmtalign.vectors.embeddings import Embeddings, unit_rows

Doubles = NDArray[np.float64]

MAX_SCALE = 60.0
WEIGHT = 0.45  # of the head, where none is given: the least mean error in scripts/evaluate_vectors_head.py


def make_vectors_head(
    lexicon: Lexicon, source: Embeddings, target: Embeddings, *, weight: float = WEIGHT
) -> DenseHead:
    """Make a head of given vectors for the words of a lexicon; its scale is fitted to the lexicon's links.

    Parameters
    ----------
    lexicon : Lexicon
    source, target : Embeddings
        Of one space.
    weight : float
        In the log-linear interpolation.

    Raises
    ------
    DataError
        As of :func:`check_vectors`.
    """
    words = lexicon.source_words, lexicon.target_words
    check_vectors((source, target), words)
    vectors = [unit_rows(side.vectors(own)) for side, own in zip((source, target), words, strict=True)]
    for side in vectors:
        side[0] = 0  # the padding
    counts = lexicon.source_counts, lexicon.target_counts
    scale = fitted_scale(lexicon, (vectors[0], vectors[1]))
    return make_dense_head("vectors", words, counts, (vectors[0], vectors[1]), scale=scale, weight=weight)


def check_vectors(vectors: tuple[Embeddings, Embeddings], words: tuple[Sequence[str], Sequence[str]]) -> None:
    """Refuse vectors that differ in length, or know no word of a side.

    Parameters
    ----------
    vectors : (Embeddings, Embeddings)
    words : (sequence of str, sequence of str)
        Source and target words, the first of each the padding.

    Raises
    ------
    DataError
    """
    source, target = vectors
    if source.dimension != target.dimension:
        found = f"found {source.dimension} and {target.dimension} dimensions"
        raise DataError(f"expected source and target vectors of one length, {found}")
    for name, side, own in zip(("source", "target"), vectors, words, strict=True):
        coverage = side.coverage(own[1:])
        if not coverage.known + coverage.composed:
            raise DataError(f"the vectors know none of the {name} words; are the languages swapped?")


def fitted_scale(lexicon: Lexicon, vectors: tuple[NDArray[np.floating], NDArray[np.floating]]) -> float:
    """Return the scale of cosines under which the links of the most frequent words are likeliest.

    Parameters
    ----------
    lexicon : Lexicon
    vectors : (array, array) of shapes (V, D)
        Unit rows by word number.

    Notes
    -----
    The expected log-likelihood of the links c in both directions,

        L(b) = sum c(e, f) (2 b cos(e, f) - log Z_e(b) - log Z_f(b)),

    is concave in the scale b.
    """
    from scipy.optimize import minimize_scalar

    cosines = np.asarray(vectors[0][: FREQUENT + 1] @ vectors[1][: FREQUENT + 1].T, dtype=np.float64)
    links = np.zeros(cosines.shape)
    if lexicon.whole is not None:
        s, t = np.divmod(lexicon.whole.keys, len(lexicon.target_words))
        kept = (s < len(links)) & (t < len(links.T))
        links[s[kept], t[kept]] = lexicon.whole.counts[kept]
    links[~vectors[0][: FREQUENT + 1].any(axis=1)] = 0
    links[:, ~vectors[1][: FREQUENT + 1].any(axis=1)] = 0
    tops = lexicon.source_counts[: FREQUENT + 1], lexicon.target_counts[: FREQUENT + 1]
    shares = [np.asarray(counts / max(int(counts.sum()), 1)) for counts in tops]

    def loss(b: float) -> float:
        likelihood = np.exp(np.minimum(b * cosines, SCORE_LIMIT))
        norms = np.log(likelihood @ shares[1]), np.log(shares[0] @ likelihood)
        return float(
            links.sum(axis=1) @ norms[0] + links.sum(axis=0) @ norms[1] - 2 * b * (links * cosines).sum()
        )

    return float(minimize_scalar(loss, bounds=(1.0, MAX_SCALE), method="bounded").x)
