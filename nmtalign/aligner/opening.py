"""Open an aligner by path (the folder says what it is), or make one from word vectors; fit it to a text.

The readers of vectors are imported in functions: a learned model does not need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from nmtalign import blas
from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.experts import choose_expert
from nmtalign.arrays import Reals
from nmtalign.corpus.parallel import default_workers
from nmtalign.decoding.extraction_methods import make_extraction
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError, warn_caller
from nmtalign.files.paths import bundled_path, resolve_path
from nmtalign.names import (
    BUNDLED_MODEL,
    BUNDLED_VECTORS,
    MULTILINGUAL_MODEL,
    DeviceName,
    ExtractionName,
    PositionsName,
    ScoreName,
    Symmetrization,
    UnicodeForm,
    UnknownPolicy,
)
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.positions.position_model import DIAGONAL_STRENGTH, PositionModel, SoftmaxPositions
from nmtalign.settings import (
    EncoderSettings,
    GivenVectorsSettings,
    LinkSettings,
    VectorFileSettings,
    WordSettings,
)
from nmtalign.state import is_model
from nmtalign.text.bitext import ColumnName, Pair, Pairs, Sentences, read_pairs
from nmtalign.text.tokenization import Languages, TextSettings
from nmtalign.validation import check_type

if TYPE_CHECKING:
    from nmtalign.scorers.given_vectors import VectorScorer
    from nmtalign.scorers.vector_scores import VectorScore
    from nmtalign.vectors.embeddings import Embeddings


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
    device: DeviceName | None = None,
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
        Above 0, at most 1. Links with a lower posterior are dropped (``transport``: with a lower share of
        the plan); no second words and no phrases of dictionaries are added. The threshold applies to the
        joint posterior of both directions, not to the calibrated, often lower `probability` in tables. To
        filter by probability, select rows of the table. The joint posterior is ``pair.posterior``, except
        with ``argmax`` and ``argmax-reverse``, where ``pair.posterior`` is that of one direction.
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
        For word vectors, as in :func:`vector_aligner`. The commands of nmtalign use ``positions="hmm"`` and
        ``unknown="backoff"``, and fit the aligner to their text, as :func:`fit_to` does.
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
    vectors = GivenVectorsSettings(
        score=score,
        temperature=temperature,
        parameters=parameters,
        positions=positions,
        diagonal=diagonal,
        unknown=unknown,
        languages=languages,
        limit=limit,
        unsafe_pickle=unsafe_pickle,
        strip_prefix=strip_prefix,
    )
    return open_aligner(
        path,
        words=WordSettings(tokenizer, lowercase, unicode),
        links=LinkSettings(extract, threshold, symmetrize),
        vectors=vectors,
        encoder=EncoderSettings(encoder=encoder, layer=layer, device=device, cache=cache),
        scorers=scorers,
    )


def open_aligner(
    path: Any,
    *,
    words: WordSettings,
    links: LinkSettings,
    vectors: GivenVectorsSettings,
    encoder: EncoderSettings,
    scorers: Iterable[str] | None = None,
) -> Aligner:
    """Open what :func:`load` opens, with its settings in groups."""
    aligner = _with_words_and_links(_open_aligner_at(path, vectors), words, links)
    if scorers is not None:
        aligner = aligner.with_scorers(scorers)
    if encoder.given:
        aligner = replace(aligner, expert=choose_expert(aligner.expert, encoder=encoder))
    return aligner


def _open_aligner_at(path: Any, vector_settings: GivenVectorsSettings) -> Aligner:
    """Return an aligner in memory, of a folder, or over word vectors."""
    if isinstance(path, Aligner):
        vector_settings.refuse_for("this is an aligner")
        return path
    if isinstance(path, tuple | list):
        return aligner_of_sides(path, vector_settings)
    folder = _existing_folder(path)
    if not is_model(folder):
        return aligner_of_folder(folder, vector_settings)
    aligner = load_aligner(folder)
    vector_settings.refuse_for(f"{path or BUNDLED_MODEL} is a learned model")
    return aligner


def _existing_folder(path: Any) -> Path:
    """Return the folder of a model or of vectors; DataError if there is none."""
    if not (path is None or isinstance(path, str) or hasattr(path, "__fspath__")):
        vectors = "word vectors of two languages as (source, target)"
        expected = f"expected the path of a folder, an aligner, or {vectors}"
        raise UsageError(f"{expected}, found {short_repr(path)}")
    folder = bundled_path(BUNDLED_MODEL) if path is None else resolve_path(path)
    if not folder.exists():
        bundled = f"{BUNDLED_MODEL}, {BUNDLED_VECTORS}, and with its extra {MULTILINGUAL_MODEL}"
        raise DataError(f"there is no such folder; bundled are {bundled}").at(path or folder)
    if not folder.is_dir():
        raise DataError("expected a folder with a learned model or word vectors of two languages").at(folder)
    return folder


def vector_aligner(
    source: Embeddings | str | Path | Mapping[str, Any] | Any,
    target: Embeddings | str | Path | Mapping[str, Any] | Any,
    *,
    score: ScoreName | VectorScore | None = None,
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
    score : {"cosine", "dot", "scaled-dot", "bahdanau"}, or a score, optional
        Score of a target and a source vector; also the `score` of :func:`nmtalign.learn_attention`.
        Default: ``cosine``.
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
        Treatment of words without a vector. Default: the setting of the embeddings.
    languages : (str, str), optional
        Source and target language, for tokenizers.
    extract, threshold, symmetrize : optional
        How links are chosen, as in :func:`load`.
    tokenizer, lowercase, unicode : optional
        How lines become tokens, as in :func:`load`. Default: the setting of the vectors, if they have one,
        else space-separated words in lower case.
    """
    words = WordSettings(tokenizer, lowercase, unicode)
    links = LinkSettings(extract, threshold, symmetrize)
    settings = GivenVectorsSettings(
        score=score,
        temperature=temperature,
        parameters=parameters,
        positions=positions,
        diagonal=diagonal,
        unknown=unknown,
        languages=languages,
    )
    return open_aligner(
        (source, target), words=words, links=links, vectors=settings, encoder=EncoderSettings()
    )


def _with_words_and_links(aligner: Aligner, words: WordSettings, links: LinkSettings) -> Aligner:
    """Return an aligner with the settings that are given."""
    aligner = replace(aligner, text_settings=aligner.text_settings.updated(words))
    if not links.given:
        return aligner
    return replace(aligner, extraction=make_extraction(links, null=aligner.positions.has_null))


# --- fitting to a text ---------------------------------------------------------------------------


MAX_FITTING_PAIRS = 5_000  # more pairs of a text are not needed to fit transitions
MIN_IMPROVING_PAIRS = 50  # fewer pairs do not improve transitions of other texts
AnyPair = TypeVar("AnyPair", bound=Pair)


def fit_text(
    aligner: Aligner, pairs: Iterable[AnyPair], *, aligned_unit: str = "words"
) -> tuple[Aligner, Iterator[AnyPair]]:
    """Return an aligner fitted to the first pairs of a text, if it needs that, and all pairs again.

    `aligned_unit` is what the links of an expert count: words or tokens, as in :meth:`Aligner.text_of_pairs`.
    """
    remaining = iter(pairs)
    if not (aligner.needs_fitting or aligner.positions.improves):
        return aligner, remaining
    first_pairs = list(islice(remaining, MAX_FITTING_PAIRS))
    words_of_pairs = [aligner.words_of(pair) for pair in first_pairs]
    words = [(source, target) for source, target in words_of_pairs if source and target]
    positions = aligner.positions
    improves = positions.improves and len(words) >= MIN_IMPROVING_PAIRS
    if improves or (positions.unfitted and words):
        start = positions.learned_jump_models
        assert start is not None
        scorer, positions = aligner.scorer.fitted(words, default_workers(aligner.workers), start)
        aligner = replace(aligner, scorer=scorer, positions=positions)
    if aligner.needs_trust and first_pairs:
        aligner = aligner.with_trust_from(aligner.text_of_pairs(first_pairs, aligned_unit=aligned_unit))
    return aligner, chain(first_pairs, remaining)


@blas.one_thread()
def fit_to(
    aligner: Aligner,
    bitext: Pairs,
    targets: Sentences | None = None,
    *,
    source: ColumnName = None,
    target: ColumnName = None,
) -> Aligner:
    """Return an aligner over vectors, or with an encoder, fitted to the first pairs of a bitext.

    Parameters
    ----------
    aligner : Aligner
        Made by ``load(vectors, positions="hmm")`` or ``load(model, encoder=name)``; any other is returned
        unchanged.
    bitext : iterable of (source, target), (list, list), table, or records
        Lines of text, or lists of words, as for :func:`train`; at most 5,000 pairs are read.
    targets : sequence, optional
        The target sentences, if `bitext` has the source sentences.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.

    References
    ----------
    Vogel, Ney and Tillmann (1996).

    Examples
    --------
    >>> from nmtalign import load
    >>> aligner = load("en_fr_vectors", positions="hmm")
    >>> fit_to(aligner, [("the black cat", "le chat noir")] * 9).positions.description
    'positions=hmm(fitted on 9 pairs)'
    """
    check_type(aligner, Aligner, "an aligner, as in fit_to(aligner, pairs)")
    pairs = read_pairs(bitext, targets, source=source, target=target, languages=aligner.languages).pairs
    fitted, _ = fit_text(aligner, pairs)
    if fitted.needs_fitting:
        raise DataError("expected sentence pairs with words on both sides to fit to, found none")
    return fitted


# --- an aligner over word vectors ----------------------------------------------------------------

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
    from nmtalign.vectors.storage import load_both_languages, pair_languages
    from nmtalign.vectors.subword_vectors import is_static_model

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
