"""What aligners over given word vectors are made of.

Apart from :mod:`nmtalign.aligner.opening`, so that a learned model opens without the readers of vectors.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.door import place_of
from nmtalign.errors import UsageError
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.positions.model import DIAGONAL, PositionModel, SoftmaxPositions
from nmtalign.scorers.given_vectors import VectorScorer
from nmtalign.scorers.vector_scores import VectorScore, cosine_scale, score_in
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.spaces import warn_if_unrelated
from nmtalign.vectors.storage import both_embeddings, load_pair, pair_languages

FIRST = 20_000  # words that stand for all
UNEVEN = 0.2  # deviation of lengths, over their mean, from which on cosines do better than dot products


def make_positions(name: str, strength: float | None, scorer: VectorScorer) -> PositionModel:
    """Return a position model by name; `strength` is that of a diagonal."""
    if name == "hmm":
        if strength is not None:
            raise UsageError("positions hmm learn their transitions; leave the strength of a diagonal out")
        return unfitted_hmm()
    if strength is None and name == "diagonal" and scorer.score.raw:
        # for dot products of any size, what the default is for cosines
        lengths = [float(_lengths(side.first(FIRST)).mean()) for side in (scorer.source, scorer.target)]
        scale = cosine_scale(scorer.source.dimension)
        strength = DIAGONAL * lengths[0] * lengths[1] * scorer.score.scale / scale
    return SoftmaxPositions(name, strength)


def open_vectors(
    vectors: Any, languages: tuple[str | None, str | None] | None = None, **reading: Any
) -> tuple[Embeddings, Embeddings]:
    """Return the vectors of both languages: given ones, or those of two files, or of a folder."""
    if isinstance(vectors, tuple | list):
        return both_embeddings(vectors, **reading)
    source, target = languages or (None, None)
    return load_pair(place_of(vectors), languages=(source, target) if source and target else None, **reading)


def read_folder(
    folder: Path, settings: Mapping[str, Any], **reading: Any
) -> tuple[tuple[Embeddings, Embeddings], dict[str, Any]]:
    """Return the vectors of a folder, and the settings with its languages and learned score."""
    languages, score = settings.get("languages") or pair_languages(folder), settings.get("score")
    vectors = load_pair(folder, languages=languages, **reading)
    if settings.get("parameters") is None and isinstance(score, str):
        score = score_in(folder, score, vectors[0].dimension)
    given = {} if score is None else {"score": score}
    return vectors, {**settings, **given, "languages": languages}


def checked_vectors(
    both: tuple[Embeddings, Embeddings], score: str | VectorScore
) -> tuple[Embeddings, Embeddings]:
    """Return two vectors; warn where they do not look like one space, or their lengths spoil dot products."""
    if score == "bahdanau" or not isinstance(score, str):  # its projections may bring any two spaces together
        return both
    first = [side.first(FIRST) for side in both]
    warn_if_unrelated(*first)
    if score == "cosine":
        return both
    spread = max(_lengths(side).std() / _lengths(side).mean() for side in first)
    if spread > UNEVEN:
        percent = f"{100 * spread:.0f} %"
        warnings.warn(
            f"the lengths of the vectors differ by {percent} of their mean: dot products favor the long"
            " ones, whatever they mean; try `score=cosine`",
            stacklevel=4,
        )
    return both


def _lengths(side: Embeddings) -> NDArray[np.floating]:
    """Return the lengths of the vectors that are not zero."""
    lengths = np.linalg.norm(np.asarray(side.matrix, dtype=np.float32), axis=1)
    return lengths[lengths > 0] if lengths.any() else np.ones(1, np.float32)
