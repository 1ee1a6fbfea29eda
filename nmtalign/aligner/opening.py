"""Open an aligner by path (the content of the folder decides what it is), or make one from word vectors.

The readers of vectors are imported in functions: a learned model does not need them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.experts import choose_expert
from nmtalign.aligner.extraction_methods import make_extraction
from nmtalign.arrays import Reals
from nmtalign.calls import check_call
from nmtalign.display import short_repr
from nmtalign.errors import DataError, NmtalignWarning, UsageError
from nmtalign.files.paths import bundled_path, resolve_path
from nmtalign.names import (
    BUNDLED_MODEL,
    BUNDLED_VECTORS,
    POSITIONS,
    ExtractionName,
    PositionsName,
    ScoreName,
    Symmetrization,
    UnicodeForm,
    UnknownPolicy,
)
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.positions.position_model import DIAGONAL_STRENGTH, PositionModel, SoftmaxPositions
from nmtalign.state import is_model
from nmtalign.text.tokenization import Languages, TextSettings
from nmtalign.validation import check_bool, check_choices, check_number, check_type, quote_parameter

if TYPE_CHECKING:
    from nmtalign.scorers.given_vectors import VectorScorer
    from nmtalign.scorers.vector_scores import VectorScore
    from nmtalign.vectors.embeddings import Embeddings

SAMPLE_WORDS = 20_000  # the words from which statistics of vectors are computed
# dot products do worse than cosines where the standard deviation of the lengths, over their mean, is greater
MAX_NORM_VARIATION = 0.2


@check_call("settings are given by their names, vectors as a tuple: load((source, target))")
def load(
    path: str | Path | Aligner | tuple[Any, Any] | list[Any] | None = None,
    *,
    extract: ExtractionName | None = None,
    threshold: float | None = None,
    symmetrize: Symmetrization | None = None,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
    languages: tuple[str, str] | None = None,
    scorers: Iterable[str] | None = None,
    encoder: str | Path | None = None,
    layer: int | None = None,
    device: str | None = None,
    cache: str | Path | None = None,
    score: ScoreName | VectorScore | None = None,
    temperature: float | None = None,
    parameters: str | Path | Mapping[str, ArrayLike] | None = None,
    positions: PositionsName | None = None,
    diagonal: float | None = None,
    unknown: UnknownPolicy | None = None,
    limit: int | None = None,
    unsafe_pickle: bool = False,
    strip_prefix: str | tuple[str, str] | None = None,
) -> Aligner:
    """Open a learned model, make an aligner over word vectors, or change the settings of an aligner.

    Parameters
    ----------
    path : str or Path, Aligner, or (Embeddings, Embeddings), optional
        The folder of a learned model; or a folder with word vectors of two languages (``word2int_XX.pkl``
        and ``embeddings_XX.npz``, or sub-folders that nmtalign wrote); or the name of bundled vectors; or
        source and target vectors, as for :func:`vector_aligner`; or the folder of a static model, which has
        the vectors of both sides. An aligner in memory is returned with other settings, such as another
        `extract`, and is not changed itself. Default: the bundled English-French model.
    extract : {"posterior", "one-to-one", "argmax", "argmax-reverse", "mutual", "threshold", "itermax", \
            "match", "transport"}, optional
        How links are chosen. Default: ``posterior``; ``mutual`` without a null word.
    threshold : float, optional
        Above 0, at most 1. Links with a lower posterior are dropped; no second words and no phrases of
        dictionaries are added. It is compared with the posterior, ``pair.posterior``, not with the
        `probability` of tables, which is calibrated and often lower; by that choose rows of the table.
    symmetrize : {"intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"}, optional
        Join the best choices of both directions instead.
    tokenizer : {"space", "simple", "moses", "icu"} or "sentencepiece:FILE", optional
        How lines become tokens. Default: the setting of the model.
    lowercase : bool, optional
        Look words up in lower case. Default: the setting of the model.
    unicode : {"nfc", "nfkc", "strip-accents", "none"}, optional
        Form in which words are looked up. Default: the setting of the model.
    languages : (str, str), optional
        Source and target language. Default: the languages that the folder names.
    scorers : iterable of str, optional
        Names of the scorers of a learned model to use. Default: all.
    encoder : str or path, optional
        Name or folder of an encoder of the package transformers: an expert whose links vote. A model that
        was learned with an encoder needs none; any other is then fitted by :func:`fit_to`.
    layer : int, optional
        The layer of the encoder whose vectors are compared.
    device : {"cpu", "cuda", "mps"}, optional
        Where the encoder runs.
    cache : path, optional
        A file that keeps the similarities of the encoder.
    score, temperature, parameters, positions, diagonal, unknown : optional
        For word vectors, as in :func:`vector_aligner`.
    limit : int, optional
        Read only the first `limit` vectors of each file.
    unsafe_pickle : bool
        Let pickled vectors run code; only for files that you trust.
    strip_prefix : str or (str, str), optional
        Keep only words that begin with this prefix, and remove it: ``("/c/en/", "/c/fr/")``.

    Raises
    ------
    DataError
        If the folder does not exist, or contains neither a model nor word vectors.
    UsageError
        If a setting does not apply to the content of the folder.

    Examples
    --------
    >>> aligner = load()
    >>> aligner.align("the black cat", "le chat noir").links
    [Link(source=0, target=0), Link(source=1, target=2), Link(source=2, target=1)]
    >>> load(aligner, threshold=0.99).align("the black cat", "le chat noir").links
    [Link(source=1, target=2), Link(source=2, target=1)]
    """
    check_bool(unsafe_pickle, "unsafe_pickle")
    folder = _folder_of(path)
    learned = _learned_aligner(path, folder)
    if learned is not None:
        aligner, found = learned
        _refuse_settings_of_vectors(
            found,
            score=score,
            temperature=temperature,
            parameters=parameters,
            positions=positions,
            diagonal=diagonal,
            unknown=unknown,
            languages=languages,
            limit=limit,
            unsafe_pickle=unsafe_pickle or None,
            strip_prefix=strip_prefix,
        )
        text_settings = aligner.text_settings.updated(tokenizer, lowercase, unicode)
        aligner = replace(aligner, text_settings=text_settings)
        aligner = with_extraction(aligner, extract, threshold, symmetrize)
    else:
        if folder is None:
            assert isinstance(path, tuple | list)
            _check_two_sides(path, score, parameters, limit, unsafe_pickle=unsafe_pickle)
            vectors = open_vectors(path, limit=limit, unsafe_pickle=unsafe_pickle, strip_prefix=strip_prefix)
        else:
            from nmtalign.scorers.vector_scores import score_in
            from nmtalign.vectors.static_models import is_static_model
            from nmtalign.vectors.storage import load_both_languages, pair_languages

            if languages is None and not is_static_model(folder):
                languages = pair_languages(folder)
            vectors = load_both_languages(
                folder,
                languages=languages,
                limit=limit,
                unsafe_pickle=unsafe_pickle,
                strip_prefix=strip_prefix,
            )
            if parameters is None and isinstance(score, str):
                score = score_in(folder, score, vectors[0].dimension)
        _warn_about_spaces(vectors, score or "cosine")
        aligner = vector_aligner(
            *vectors,
            score=score or "cosine",
            temperature=temperature,
            parameters=parameters,
            positions=positions,
            diagonal=diagonal,
            unknown=unknown,
            languages=languages,
            extract=extract,
            threshold=threshold,
            symmetrize=symmetrize,
            tokenizer=tokenizer,
            lowercase=lowercase,
            unicode=unicode,
        )
    if scorers is not None:
        aligner = aligner.with_scorers(scorers)
    if any(value is not None for value in (encoder, layer, device, cache)):
        expert = choose_expert(aligner.expert, encoder=encoder, layer=layer, device=device, cache=cache)
        aligner = replace(aligner, expert=expert)
    return aligner


def _folder_of(path: Any) -> Path | None:
    """Return the folder that a path names; None for word vectors and aligners in memory."""
    if isinstance(path, tuple | list | Aligner):
        return None
    if path is None or isinstance(path, str) or hasattr(path, "__fspath__"):
        return _existing_folder(path)
    vectors = "word vectors of two languages as (source, target)"
    expected = f"expected the path of a folder, an aligner, or {vectors}"
    raise UsageError(f"{expected}, found {short_repr(path)}")


def _learned_aligner(path: Any, folder: Path | None) -> tuple[Aligner, str] | None:
    """Return an aligner in memory, or of a folder, and what errors call it; None for word vectors."""
    if folder is None:
        return (path, "this is an aligner") if isinstance(path, Aligner) else None
    return (load_aligner(folder), f"{folder} is a learned model") if is_model(folder) else None


def _existing_folder(path: str | Path | None) -> Path:
    """Return the folder of a model or of vectors; DataError if there is none."""
    folder = bundled_path(BUNDLED_MODEL) if path is None else resolve_path(path)
    if not folder.exists():
        raise DataError(f"there is no such folder; bundled are {BUNDLED_MODEL} and {BUNDLED_VECTORS}").at(
            path or folder
        )
    if not folder.is_dir():
        raise DataError("expected a folder with a learned model or word vectors of two languages").at(folder)
    return folder


def _refuse_settings_of_vectors(found: str, **settings: object) -> None:
    """Raise UsageError if a setting of word vectors is given for something else, which was `found`."""
    given = [quote_parameter(name) for name, value in settings.items() if value is not None]
    if given:
        names = ", ".join(given)
        applies = "applies" if len(given) == 1 else "apply"
        removed = "it" if len(given) == 1 else "them"
        problem = f"{names} {applies} to word vectors only, and {found}"
        raise UsageError(f"{problem}; remove {removed}, or open word vectors, such as {BUNDLED_VECTORS}")


def _check_two_sides(
    sides: Sequence[Any],
    score: ScoreName | VectorScore | None,
    parameters: str | Path | Mapping[str, ArrayLike] | None,
    limit: int | None,
    *,
    unsafe_pickle: bool,
) -> None:
    """Raise UsageError if a setting does not suit source and target vectors, given as objects or files."""
    from nmtalign.scorers.vector_scores import how_to_learn

    are_files = any(isinstance(side, str | Path) for side in sides)
    if are_files and score == "bahdanau" and parameters is None:
        names = f"--source-vectors {sides[0]} --target-vectors {sides[-1]} -o FILE"
        raise UsageError(f"the score bahdanau needs parameters; {how_to_learn(names)}")
    if not are_files and (limit is not None or unsafe_pickle):
        name = "limit" if limit is not None else "unsafe_pickle"
        raise UsageError(f"`{name}` applies to a folder or files of vectors only; remove it")


def open_vectors(
    vectors: Any,
    languages: Languages | None = None,
    *,
    limit: int | None = None,
    unsafe_pickle: bool = False,
    strip_prefix: str | tuple[str, str] | None = None,
) -> tuple[Embeddings, Embeddings]:
    """Return the vectors of both languages: given ones, or those of two files, or of a folder."""
    from nmtalign.vectors.storage import both_embeddings, load_both_languages

    if isinstance(vectors, tuple | list):
        return both_embeddings(vectors, limit=limit, unsafe_pickle=unsafe_pickle, strip_prefix=strip_prefix)
    check_type(vectors, (str, Path), "source and target vectors, or the path of a folder that has both")
    source, target = languages or (None, None)
    chosen = (source, target) if source and target else None
    return load_both_languages(
        resolve_path(vectors),
        languages=chosen,
        limit=limit,
        unsafe_pickle=unsafe_pickle,
        strip_prefix=strip_prefix,
    )


def _warn_about_spaces(vectors: tuple[Embeddings, Embeddings], score: str | VectorScore) -> None:
    """Warn if two sets of vectors do not look like one space, or if their norms distort dot products."""
    if score == "bahdanau" or not isinstance(score, str):  # its projections may bring any two spaces together
        return
    from nmtalign.vectors.spaces import warn_if_unrelated

    source, target = vectors[0].first(SAMPLE_WORDS), vectors[1].first(SAMPLE_WORDS)
    warn_if_unrelated(source, target)
    if score == "cosine":
        return
    variation = max(_norm_variation(source), _norm_variation(target))
    if variation > MAX_NORM_VARIATION:
        percent = f"{100 * variation:.0f} %"
        warnings.warn(
            f"the norms of the vectors differ by {percent} of their mean: dot products favor large norms,"
            " whatever the words mean; try `score=cosine`",
            NmtalignWarning,
            stacklevel=5,
        )


def _norm_variation(vectors: Embeddings) -> float:
    """Return the standard deviation of the norms of vectors, divided by their mean."""
    norms = vector_norms(vectors.matrix)
    return float(norms.std() / norms.mean())


def vector_norms(vectors: Reals) -> Reals:
    """Return the norms of the vectors that are not zero."""
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float32), axis=1)
    return norms[norms > 0] if norms.any() else np.ones(1, np.float32)


@check_call("settings are given by their names")
def vector_aligner(
    source: Embeddings | str | Path | Mapping[str, Any] | Any,
    target: Embeddings | str | Path | Mapping[str, Any] | Any,
    *,
    score: ScoreName | VectorScore = "cosine",
    temperature: float | None = None,
    parameters: str | Path | Mapping[str, ArrayLike] | None = None,
    positions: PositionsName | None = None,
    diagonal: float | None = None,
    unknown: UnknownPolicy | None = None,
    languages: tuple[str, str] | None = None,
    extract: ExtractionName | None = None,
    threshold: float | None = None,
    symmetrize: Symmetrization | None = None,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
) -> Aligner:
    """Build an aligner over given vectors from settings by name.

    Parameters
    ----------
    source, target : Embeddings, path, gensim's KeyedVectors, or vectors in memory
        Vectors of both languages, in one space. Vectors in memory are a dictionary word -> vector, a tuple
        (words, matrix), or a DataFrame indexed by words.
    score : {"cosine", "dot", "scaled-dot", "bahdanau"}, or a score
        Score of a target and a source vector; also the `score` of :func:`nmtalign.learn_attention`.
    temperature : float, optional
        Divisor of the scores. Default: 1; for ``cosine`` 1/sqrt(D), from 1/20 to 1/8.
    parameters : path, or dict of str to array, optional
        npz file, or arrays by their names, of the parameters of ``bahdanau`` (``W``, ``U``, ``v`` and, if
        there is one, ``b``) or of ``scaled-dot`` (``W_q``, ``W_k``). Default: those in the folder of the
        vectors.
    positions : {"diagonal", "none", "hmm"}, optional
        Where attention may go: near the diagonal, anywhere, or as a hidden Markov model says, which
        :func:`nmtalign.fit_to` fits to the text (and the temperature, if it is omitted and was not
        learned). Default: ``diagonal`` for ``cosine``, else ``none``. The links of a pair then depend on no
        other pair, in a batch, too; ``nmtalign align`` uses ``hmm``, because it has a whole text.
    diagonal : float, optional
        Strength of ``diagonal``. By default, it grows with the vectors for dot products.
    unknown : {"zero", "subword", "backoff"}, optional
        Vector of a word that has none. Default: the setting of the embeddings.
    languages : (str, str), optional
        Source and target language, for tokenizers.
    extract, threshold, symmetrize : optional
        How links are chosen, as in :func:`load`.
    tokenizer, lowercase, unicode : optional
        How lines become tokens, as in :func:`load`. Default: the setting of the vectors, if they have one,
        else space-separated words in lower case.
    """
    from nmtalign.scorers.given_vectors import VectorScorer
    from nmtalign.scorers.vector_scores import make_score
    from nmtalign.vectors.storage import both_embeddings

    source, target = both_embeddings((source, target))
    if temperature is not None:
        check_number(temperature, "a number as temperature")
    if diagonal is not None:
        check_number(diagonal, "a number as diagonal")
    vector_score = make_score(score, source.dimension, temperature=temperature, parameters=parameters)
    if unknown is not None:
        source, target = source.with_unknown(unknown), target.with_unknown(unknown)
    # learned scores have a temperature of their own
    fits_temperature = temperature is None and vector_score.null is None
    scorer = VectorScorer(source, target, vector_score, fits_temperature=fits_temperature)
    if positions is None:
        positions = "diagonal" if isinstance(score, str) and score == "cosine" else "none"
    text_of_vectors = TextSettings.from_dict(source.settings.get("text", {}))
    text_settings = text_of_vectors.updated(tokenizer, lowercase, unicode)
    aligner = Aligner(scorer, _make_positions(positions, diagonal, scorer), text_settings=text_settings)
    if languages is not None:
        aligner = replace(aligner, languages=languages)
    return with_extraction(aligner, extract, threshold, symmetrize)


def _make_positions(name: str, strength: float | None, scorer: VectorScorer) -> PositionModel:
    """Return a position model by name; `strength` is that of a diagonal."""
    check_choices([name], POSITIONS, "positions")
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


def with_extraction(
    aligner: Aligner,
    extract: ExtractionName | None = None,
    threshold: float | None = None,
    symmetrize: Symmetrization | None = None,
) -> Aligner:
    """Return an aligner that chooses links as the settings say; without any, it is unchanged."""
    if extract is None and threshold is None and symmetrize is None:
        return aligner
    # Extraction accepts 0, which the method awesome-align-entmax needs; only users may not pass it
    if isinstance(threshold, Real) and threshold == 0:
        raise UsageError("`threshold` must be above 0 and at most 1; 0 would link every word to every word")
    extraction = make_extraction(extract, threshold, symmetrize, null=aligner.positions.has_null)
    return replace(aligner, extraction=extraction)
