"""The spectral head: word vectors from the links that the lexicon has counted itself.

A table of links says nothing of two words that were never linked, and believes every link it has seen once.
Its leading singular vectors say what the table says as a whole: words whose translations keep each other's
company lie close together. Correspondence analysis of the counts gives both languages vectors in one space,
and :mod:`nmtalign.heads.dense` makes a head of them.
"""

from __future__ import annotations

from nmtalign.heads.dense import DenseHead, make_dense_head
from nmtalign.heads.lexicon import Lexicon
from nmtalign.vectors.correspondence import correspondence_analysis

DIMENSION = 32
SCALE = 14.0  # of cosines; chosen on the development sets, as is the weight of the preset
MIN_LINKS = 0.05  # links that are expected less often are noise


def learn_spectral(lexicon: Lexicon, weight: float, *, seed: int = 0) -> DenseHead | None:
    """Make a spectral head from the counts of a lexicon.

    Parameters
    ----------
    lexicon : Lexicon
    weight : float
        In the log-linear interpolation.
    seed : int
        Of the random projection.

    Returns
    -------
    DenseHead or None
        None if nothing was linked, or the lexicon has no view of whole words.

    References
    ----------
    Greenacre (1984), "Theory and applications of correspondence analysis".
    """
    table = None if lexicon.whole is None else lexicon.whole.table(MIN_LINKS)
    if table is None or not table.nnz:
        return None
    return make_dense_head(
        "spectral",
        (lexicon.source_words, lexicon.target_words),
        (lexicon.source_counts, lexicon.target_counts),
        correspondence_analysis(table, DIMENSION, seed=seed),
        scale=SCALE,
        weight=weight,
    )
