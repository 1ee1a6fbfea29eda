"""The spectral head: word vectors by correspondence analysis of the lexicon's own expected links.

They score words that were never linked, and smooth links that were seen once.
"""

from __future__ import annotations

from nmtalign.heads.dense import DenseHead, make_dense_head
from nmtalign.heads.lexicon import Lexicon
from nmtalign.vectors.correspondence import correspondence_analysis

DIMENSION = 32
SCALE = 14.0  # of cosines; chosen on the development sets, as is the weight of the preset
MIN_LINKS = 0.05  # links that are expected less often are noise


def learn_spectral(lexicon: Lexicon, weight: float, *, seed: int = 0) -> DenseHead | None:
    """Make a spectral head from the counts of a lexicon; `seed` is that of the random projection.

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
