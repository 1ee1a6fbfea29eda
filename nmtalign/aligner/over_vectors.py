"""An aligner over word vectors of two languages: the vectors are opened, and a scorer and positions are made.

The readers of vectors are imported in functions: a learned model does not need them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nmtalign.aligner.aligner import Aligner
from nmtalign.arrays import Reals
from nmtalign.errors import UsageError, warn_caller
from nmtalign.files.paths import resolve_path
from nmtalign.names import ScoreName
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.positions.position_model import DIAGONAL_STRENGTH, PositionModel, SoftmaxPositions
from nmtalign.settings import GivenVectorsSettings, VectorFileSettings
from nmtalign.text.tokenization import Languages, TextSettings
from nmtalign.validation import check_type

if TYPE_CHECKING:
    from nmtalign.scorers.given_vectors import VectorScorer
    from nmtalign.scorers.vector_scores import VectorScore
    from nmtalign.vectors.embeddings import Embeddings

SAMPLE_WORDS = 20_000  # the words from which statistics of vectors are computed
# dot products do worse than cosines where the standard deviation of the lengths, over their mean, is greater
MAX_NORM_VARIATION = 0.2


def aligner_of_sides(sides: Sequence[Any], settings: GivenVectorsSettings) -> Aligner:
    """Return an aligner over source and target vectors, given as objects or files."""
    _check_two_sides(sides, settings)
    source, target = open_vectors(sides, files=settings)
    score = settings.score or "cosine"
    warn_about_spaces(source, target, score)
    return aligner_over_vectors(source, target, score, settings, settings.languages)


def aligner_of_folder(folder: Path, settings: GivenVectorsSettings) -> Aligner:
    """Return an aligner over the vectors of a folder, with the parameters that it has for the score."""
    from nmtalign.scorers.vector_scores import score_in
    from nmtalign.vectors.static_models import is_static_model
    from nmtalign.vectors.storage import load_both_languages, pair_languages

    languages = settings.languages
    if languages is None and not is_static_model(folder):
        languages = pair_languages(folder)
    source, target = load_both_languages(folder, languages=languages, files=settings)
    score = settings.score or "cosine"
    if settings.parameters is None and isinstance(score, str):
        score = score_in(folder, score, source.dimension)
    warn_about_spaces(source, target, score)
    return aligner_over_vectors(source, target, score, settings, languages)


def aligner_over_vectors(
    source: Embeddings,
    target: Embeddings,
    score: ScoreName | VectorScore,
    settings: GivenVectorsSettings,
    languages: tuple[str, str] | None,
) -> Aligner:
    """Return an aligner over vectors that are open, with the settings of its scorer and its positions."""
    from nmtalign.scorers.given_vectors import VectorScorer
    from nmtalign.scorers.vector_scores import make_score

    temperature = settings.temperature
    vector_score = make_score(
        score, source.dimension, temperature=temperature, parameters=settings.parameters
    )
    if settings.unknown is not None:
        source = source.with_unknown(settings.unknown)
        target = target.with_unknown(settings.unknown)
    # learned scores have a temperature of their own
    fits_temperature = temperature is None and vector_score.null is None
    scorer = VectorScorer(source, target, vector_score, fits_temperature=fits_temperature)
    positions = settings.positions
    if positions is None:
        positions = "diagonal" if isinstance(score, str) and score == "cosine" else "none"
    return Aligner(
        scorer,
        _make_positions(positions, settings.diagonal, scorer),
        text_settings=TextSettings.from_dict(source.settings.get("text", {})),
        languages=(None, None) if languages is None else languages,
    )


def _check_two_sides(sides: Sequence[Any], settings: GivenVectorsSettings) -> None:
    """Raise UsageError if a setting does not suit source and target vectors, given as objects or files."""
    are_files = any(isinstance(side, str | Path) for side in sides)
    if are_files and settings.score == "bahdanau" and settings.parameters is None:
        advice = "pass a folder of vectors with bahdanau.npz, or in Python `parameters=FILE`"
        raise UsageError(f"the score bahdanau needs parameters, which two files do not have; {advice}")
    if not are_files and (settings.limit is not None or settings.unsafe_pickle):
        name = "limit" if settings.limit is not None else "unsafe_pickle"
        raise UsageError(f"`{name}` applies to a folder or files of vectors only; remove it")


def open_vectors(
    vectors: Any,
    languages: Languages | None = None,
    *,
    files: VectorFileSettings = VectorFileSettings(),
) -> tuple[Embeddings, Embeddings]:
    """Return the vectors of both languages: given ones, or those of two files, or of a folder."""
    from nmtalign.vectors.storage import both_embeddings, load_both_languages

    if isinstance(vectors, tuple | list):
        return both_embeddings(vectors, files=files)
    check_type(vectors, (str, Path), "source and target vectors, or the path of a folder that has both")
    source, target = languages or (None, None)
    chosen = (source, target) if source and target else None
    return load_both_languages(resolve_path(vectors), languages=chosen, files=files)


def warn_about_spaces(source: Embeddings, target: Embeddings, score: str | VectorScore) -> None:
    """Warn if two sets of vectors do not look like one space, or if their norms distort dot products."""
    if score == "bahdanau" or not isinstance(score, str):  # its projections may bring any two spaces together
        return
    from nmtalign.vectors.spaces import warn_if_unrelated

    source = source.first(SAMPLE_WORDS)
    target = target.first(SAMPLE_WORDS)
    warn_if_unrelated(source, target)
    if score == "cosine":
        return
    variation = max(_norm_variation(source), _norm_variation(target))
    if variation > MAX_NORM_VARIATION:
        percent = f"{100 * variation:.0f} %"
        warn_caller(
            f"the norms of the vectors differ by {percent} of their mean: dot products favor large"
            " norms, whatever the words mean; try `score=cosine`"
        )


def _norm_variation(vectors: Embeddings) -> float:
    """Return the standard deviation of the norms of vectors, divided by their mean."""
    norms = vector_norms(vectors.matrix)
    return float(norms.std() / norms.mean())


def vector_norms(vectors: Reals) -> Reals:
    """Return the norms of the vectors that are not zero."""
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float32), axis=1)
    return norms[norms > 0] if norms.any() else np.ones(1, np.float32)


def _make_positions(name: str, strength: float | None, scorer: VectorScorer) -> PositionModel:
    """Return a position model by name; `strength` is that of a diagonal."""
    if name == "hmm":
        if strength is not None:
            raise UsageError(
                "`diagonal` does not apply to `positions=hmm`, which learns transitions; remove it"
            )
        return unfitted_hmm()
    if strength is None and name == "diagonal" and scorer.score.grows_with_length:
        from nmtalign.scorers.vector_scores import cosine_scale

        # dot products grow with the norms of the vectors; relative to them, the prior is that of cosines
        source_norms = vector_norms(scorer.source.first(SAMPLE_WORDS).matrix)
        target_norms = vector_norms(scorer.target.first(SAMPLE_WORDS).matrix)
        norms = float(source_norms.mean()) * float(target_norms.mean())
        strength = DIAGONAL_STRENGTH * norms * scorer.score.scale / cosine_scale(scorer.source.dimension)
    return SoftmaxPositions(name, strength)
