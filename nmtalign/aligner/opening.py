"""Open an aligner by path: what lies in the folder decides what it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.extraction import make_extraction
from nmtalign.aligner.model_folder import is_model
from nmtalign.door import expect_names, place_of, shipped
from nmtalign.errors import DataError, UsageError
from nmtalign.names import MODEL, VECTORS
from nmtalign.positions.hmm import HiddenMarkov, unfitted_hmm
from nmtalign.positions.softmax import DIAGONAL, SoftmaxPositions
from nmtalign.scorers.given_vectors import VectorScorer
from nmtalign.scorers.vector_scores import (
    BahdanauScore,
    VectorScore,
    cosine_scale,
    make_score,
    score_in,
)
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.mapping import warn_if_unrelated
from nmtalign.vectors.storage import both_embeddings, load_pair, pair_languages

_NAME_VECTORS = f"name vectors, like the shipped {VECTORS} (--vectors)"
_TEXT = ("tokenizer", "lowercase", "unicode")
_COMMON = ("extract", "threshold", "symmetrize", *_TEXT, "scorers")
_RUNNING = ("device", "cache")  # of an encoder that was learned with
_READING = ("limit", "unsafe_pickle")  # of vectors
_OF_VECTORS = (
    *("score", "temperature", "bahdanau", "positions", "diagonal", "unknown", "languages"),
    *_READING,
)
_KINDS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("temperature", "diagonal"), (Real, "a number")),
    "limit": (Integral, "a whole number"),
    "unsafe_pickle": (bool, "True or False"),
    "scorers": (Iterable, "names"),
}
FIRST = 20_000  # words that stand for all
UNEVEN = 0.2  # deviation of lengths, over their mean, from which on cosines do better than dot products


def load(path: str | Path | tuple[Any, Any] | None = None, **settings: Any) -> Aligner:
    """Open an aligner.

    Parameters
    ----------
    path : str or Path, or (Embeddings, Embeddings), optional
        A learned model, or a folder with word vectors of two languages (``word2int_XX.pkl`` and
        ``embeddings_XX.npz``, or sub-folders of the own format), or the name of shipped ones, or source and
        target vectors: two files, embeddings or gensim's KeyedVectors. Left out: the shipped English-French
        model, whatever the settings.
    **settings
        As of :func:`vector_aligner`; for vectors also ``languages`` (source and target, where the folder does
        not tell), ``limit`` and ``unsafe_pickle``. A learned model takes ``scorers`` (names of some of its
        scorers) and the settings of the extraction and of the text, which is otherwise cut into words as its
        bitext was; one that was learned with an encoder also ``device`` and ``cache``, as of
        :func:`nmtalign.with_context`.

    Raises
    ------
    DataError
        If the folder is not there or holds nothing of the kind.
    UsageError
        If a setting makes no sense for what is in the folder.

    Examples
    --------
    >>> aligner = load()
    >>> aligner.align("the black cat", "le chat noir").links
    [Link(source=0, target=0), Link(source=1, target=2), Link(source=2, target=1)]
    """
    _check_settings(settings)
    if isinstance(path, tuple | list):
        reading = _reading(settings) if all(isinstance(side, str | Path) for side in path) else {}
        return _over(*both_embeddings(path, **reading), settings)
    folder = shipped(MODEL) if path is None else place_of(path)
    if not folder.is_dir():
        raise DataError("expected a folder with a learned model or word vectors of two languages").at(folder)
    if is_model(folder):
        running = {name: settings.pop(name) for name in _RUNNING if name in settings}
        others = ", ".join(name.replace("_", "-") for name in settings if name in _OF_VECTORS)
        if others:
            found = f"{others}: only for word vectors, and {folder} is a learned model"
            raise UsageError(f"{found}; {_NAME_VECTORS}, or leave it out")
        names = settings.pop("scorers", None)
        aligner = load_aligner(folder)
        if running:
            aligner = replace(aligner, scorer=aligner.scorer.running(**running))
        aligner = _configured(aligner, **settings)
        return aligner if names is None else aligner.with_scorers(names)
    reading = _reading(settings)
    languages = settings.pop("languages", None) or pair_languages(folder)
    source, target = load_pair(folder, languages=languages, **reading)
    score = settings.get("score")
    if settings.get("bahdanau") is None and isinstance(score, str):
        settings["score"] = score_in(folder, score, source.dimension)
    return _over(source, target, settings | {"languages": languages})


def _over(source: Embeddings, target: Embeddings, settings: Mapping[str, Any]) -> Aligner:
    """Return an aligner over vectors; warn where they do not look like one space."""
    warn_about(source, target, settings.get("score", "cosine"))
    return vector_aligner(source, target, **settings)


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that there are not, and values of another kind."""
    expect_names(settings, (*_COMMON, *_OF_VECTORS, *_RUNNING), "settings")
    for name, value in settings.items():
        kind, what = _KINDS.get(name, (object, ""))
        if value is not None and not isinstance(value, kind):
            raise UsageError(f"expected {what} as {name}, found {value!r}")


def _reading(settings: dict[str, Any]) -> dict[str, Any]:
    """Take out of the settings those of reading vectors, and refuse those of learned models."""
    _check_settings(settings)
    if others := ", ".join(name for name in settings if name in _RUNNING):
        raise UsageError(f"{others}: only for a model that was learned with an encoder; leave it out")
    return {name: settings.pop(name) for name in _READING if name in settings}


def vector_aligner(
    source: Embeddings,
    target: Embeddings,
    *,
    score: str | VectorScore = "cosine",
    temperature: float | None = None,
    bahdanau: str | Path | BahdanauScore | None = None,
    positions: str | None = None,
    diagonal: float | None = None,
    unknown: str | None = None,
    **common: Any,
) -> Aligner:
    """Build an aligner over given vectors from settings by name.

    Parameters
    ----------
    source, target : Embeddings
        Of one space.
    score, temperature, bahdanau
        As of :func:`nmtalign.scorers.vector_scores.make_score`; `bahdanau` is its `weights`. Or a score
        such as that of :func:`nmtalign.learn_attention`.
    positions, diagonal
        Name and strength of :class:`~nmtalign.positions.softmax.SoftmaxPositions`; a strength that is left
        out grows with the vectors for dot products. Left out: ``diagonal`` for ``cosine``, whose temperature
        it is made for, else ``none``. ``hmm`` is a hidden Markov model, whose transitions are fitted to the
        text, and the temperature where it is left out and was not learned.
    unknown : str, optional
        Policy for unknown words; that of the embeddings if left out.
    **common
        ``languages``, source and target, for tokenizers; ``extract`` (the method), ``threshold`` and
        ``symmetrize`` as of :class:`~nmtalign.aligner.extraction.Extraction`; ``tokenizer``, ``lowercase``
        and ``unicode`` as of :class:`~nmtalign.text.tokenization.TextSettings`. Left out: as the vectors were
        learned, where they say so, else words between spaces in lower case.
    """
    _check_settings(common | {"temperature": temperature, "diagonal": diagonal})
    if found := ", ".join(name for name in (*_RUNNING, *_READING) if name in common):
        raise UsageError(f"{found}: only for a folder; leave it out")
    vector_score = make_score(score, source.dimension, temperature=temperature, weights=bahdanau)
    if unknown is not None:
        source, target = source.with_unknown(unknown), target.with_unknown(unknown)
    aligner = Aligner(
        VectorScorer(source, target, vector_score, tune=temperature is None and vector_score.null is None),
        _positions(positions, diagonal, score, source, target, vector_score),
        text=TextSettings.from_dict(source.settings.get("text", {})),
    )
    return _configured(aligner, **common)


def _configured(
    aligner: Aligner,
    *,
    languages: tuple[str, str] | None = None,
    extract: str | None = None,
    threshold: float | None = None,
    symmetrize: str | None = None,
    scorers: Sequence[str] | None = None,
    **text: Any,
) -> Aligner:
    """Return an aligner with the settings that vectors and learned models share."""
    aligner = aligner if scorers is None else aligner.with_scorers(scorers)
    chosen = {name: value for name, value in text.items() if value is not None}
    aligner = replace(aligner, text=replace(aligner.text, **chosen), languages=languages or aligner.languages)
    if (extract, threshold, symmetrize) == (None, None, None):
        return aligner
    extraction = make_extraction(extract, threshold, symmetrize, null=aligner.positions.has_null)
    return replace(aligner, extraction=extraction)


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


def warn_about(source: Embeddings, target: Embeddings, score: str | VectorScore) -> None:
    """Warn where vectors do not look like one space, or their lengths spoil raw dot products."""
    if score == "bahdanau" or not isinstance(score, str):  # its projections may bring any two spaces together
        return
    source, target = source.first(FIRST), target.first(FIRST)
    warn_if_unrelated(source, target)
    if score == "cosine":
        return
    spread = max(_lengths(side).std() / _lengths(side).mean() for side in (source, target))
    if spread > UNEVEN:
        percent = f"{100 * spread:.0f} %"
        warnings.warn(
            f"the lengths of the vectors differ by {percent} of their mean: dot products favor the long"
            " ones, whatever they mean; try --score cosine",
            stacklevel=4,
        )


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
