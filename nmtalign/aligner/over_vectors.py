"""Aligners over given word vectors.

Apart from :mod:`nmtalign.aligner.opening`, so that a learned model opens without the readers of vectors.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.aligner import Aligner
from nmtalign.door import expect_kind, place_of
from nmtalign.errors import UsageError
from nmtalign.positions.hmm import HiddenMarkov, unfitted_hmm
from nmtalign.positions.model import DIAGONAL, SoftmaxPositions
from nmtalign.scorers.given_vectors import VectorScorer
from nmtalign.scorers.vector_scores import (
    VectorScore,
    cosine_scale,
    make_score,
    score_in,
)
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.spaces import warn_if_unrelated
from nmtalign.vectors.storage import both_embeddings, load_pair, pair_languages

FIRST = 20_000  # words that stand for all
UNEVEN = 0.2  # deviation of lengths, over their mean, from which on cosines do better than dot products


def over_vectors(
    source: Embeddings,
    target: Embeddings,
    *,
    score: str | VectorScore,
    temperature: float | None,
    parameters: str | Path | None,
    positions: str | None,
    diagonal: float | None,
    unknown: str | None,
) -> Aligner:
    """Return an aligner; for the parameters see :func:`nmtalign.vector_aligner`."""
    for side in (source, target):
        expect_kind(side, Embeddings, "Embeddings")
    vector_score = make_score(score, source.dimension, temperature=temperature, parameters=parameters)
    if unknown is not None:
        source, target = source.with_unknown(unknown), target.with_unknown(unknown)
    return Aligner(
        VectorScorer(source, target, vector_score, tune=temperature is None and vector_score.null is None),
        _positions(positions, diagonal, score, source, target, vector_score),
        text=TextSettings.from_dict(source.settings.get("text", {})),
    )


def _positions(
    name: str | None,
    strength: float | None,
    score: str | VectorScore,
    source: Embeddings,
    target: Embeddings,
    vector_score: VectorScore,
) -> SoftmaxPositions | HiddenMarkov:
    """Return a position model by name."""
    name = name or ("diagonal" if score == "cosine" else "none")
    if name == "hmm":
        if strength is not None:
            raise UsageError("positions hmm learn their transitions; leave the strength of a diagonal out")
        return unfitted_hmm()
    if strength is None and name == "diagonal":
        strength = _fitting_strength(source, target, vector_score)
    return SoftmaxPositions(name, strength)


def open_vectors(
    vectors: Any, languages: tuple[str | None, str | None] | None = None, **reading: Any
) -> tuple[Embeddings, Embeddings]:
    """Return the vectors of both languages: given ones, or those of two files, or of a folder."""
    if not isinstance(vectors, tuple | list):
        source, target = languages or (None, None)
        known = (source, target) if source and target else None
        return load_pair(place_of(vectors), languages=known, **reading)
    return both_embeddings(vectors, **reading)


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


def _fitting_strength(source: Embeddings, target: Embeddings, scorer: VectorScore) -> float | None:
    """Return a strength of a diagonal for dot products of any size: what the default is for cosines."""
    if not scorer.raw:
        return None
    products = [float(_lengths(side.first(FIRST)).mean()) for side in (source, target)]
    return DIAGONAL * products[0] * products[1] * scorer.scale / cosine_scale(source.dimension)
