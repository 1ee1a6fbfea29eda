"""Open an aligner by path (what lies in the folder decides what it is), and fit it to a text.

The readers of vectors are imported in functions: a learned model opens without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.experts import choose_expert
from nmtalign.aligner.extraction import make_extraction
from nmtalign.arrays import Reals
from nmtalign.calls import check_call
from nmtalign.corpus.parallel import default_workers
from nmtalign.door import expect_kind, expect_names, place_of, shipped, short
from nmtalign.errors import DataError, UsageError
from nmtalign.names import MODEL, POSITIONS, VECTORS
from nmtalign.positions.hmm import unfitted_hmm
from nmtalign.positions.model import DIAGONAL, PositionModel, SoftmaxPositions
from nmtalign.state import is_model
from nmtalign.text.bitext import Pair, Pairs, Sentences, checked_pairs
from nmtalign.text.tokenization import Languages, TextSettings

if TYPE_CHECKING:
    from nmtalign.scorers.given_vectors import VectorScorer
    from nmtalign.scorers.vector_scores import VectorScore
    from nmtalign.vectors.embeddings import Embeddings

READING = ("limit", "unsafe_pickle")  # of vectors
_OF_VECTORS = (
    *("score", "temperature", "parameters", "positions", "diagonal", "unknown", "languages"),
    *READING,
)
_KINDS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("temperature", "diagonal"), (Real, "a number")),
    "limit": (Integral, "a whole number"),
    "unsafe_pickle": (bool, "True or False"),
}
FIRST = 20_000  # words that stand for all
UNEVEN = 0.2  # deviation of lengths, over their mean, from which on cosines do better than dot products
FITTED = 5_000  # pairs of a text to which transitions are fitted
AnyPair = TypeVar("AnyPair", bound=Pair)


@check_call("settings are given by their names, vectors as a tuple: load((source, target))")
def load(
    path: str | Path | tuple[Any, Any] | list[Any] | None = None,
    *,
    extract: str | None = None,
    threshold: float | None = None,
    symmetrize: str | None = None,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: str | None = None,
    scorers: str | Iterable[str] | None = None,
    encoder: str | Path | None = None,
    layer: int | None = None,
    device: str | None = None,
    cache: str | Path | None = None,
    score: str | VectorScore | None = None,
    temperature: float | None = None,
    parameters: str | Path | None = None,
    positions: str | None = None,
    diagonal: float | None = None,
    unknown: str | None = None,
    languages: tuple[str, str] | None = None,
    limit: int | None = None,
    unsafe_pickle: bool | None = None,
) -> Aligner:
    """Open a learned model, or make an aligner over word vectors.

    Parameters
    ----------
    path : str or Path, or (Embeddings, Embeddings), optional
        The folder of a learned model; or a folder with word vectors of two languages (``word2int_XX.pkl``
        and ``embeddings_XX.npz``, or sub-folders that nmtalign wrote); or the name of shipped vectors; or
        source and target vectors: two files, embeddings or gensim's KeyedVectors. Left out: the shipped
        English-French model.
    extract : str, optional
        How links are chosen: ``posterior``, ``mutual``, ``one-to-one`` and others, see ``nmtalign align
        --help``.
    threshold : float, optional
        Least posterior of a link.
    symmetrize : str, optional
        How the best choices of both directions are joined.
    tokenizer, lowercase, unicode : optional
        How lines become words, as for :func:`vector_aligner`; left out, as the model was learned.
    scorers : str or iterable of str, optional
        Of a learned model: the names of some of its scorers.
    encoder : str or path, optional
        Adds an expert whose links vote: the name or folder of a model of the package transformers. A model
        that was learned with an encoder needs no setting; any other is then fitted by :func:`fit_to`.
    layer : int, optional
        The layer of the encoder whose vectors are compared.
    device : str, optional
        Where the encoder runs, such as ``cpu`` or ``cuda``.
    cache : path, optional
        A file that keeps the encoder's similarities for the next run.
    score, temperature, parameters, positions, diagonal, unknown : optional
        Of word vectors, as for :func:`vector_aligner`.
    languages : (str, str), optional
        Source and target language of word vectors, if the folder does not say.
    limit : int, optional
        Read only so many words of each side.
    unsafe_pickle : bool, optional
        Trust the code in a pickle of word vectors.

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
    if not (path is None or isinstance(path, str | tuple | list) or hasattr(path, "__fspath__")):
        expected = "expected the path of a folder, or word vectors of two languages as (source, target)"
        raise UsageError(f"{expected}, found {short(path)}")
    all_settings = {
        "extract": extract,
        "threshold": threshold,
        "symmetrize": symmetrize,
        "tokenizer": tokenizer,
        "lowercase": lowercase,
        "unicode": unicode,
        "score": score,
        "temperature": temperature,
        "parameters": parameters,
        "positions": positions,
        "diagonal": diagonal,
        "unknown": unknown,
        "languages": languages,
        "limit": limit,
        "unsafe_pickle": unsafe_pickle,
    }
    settings = {name: value for name, value in all_settings.items() if value is not None}
    _check_settings(settings)
    aligner = _of_two_sides(path, settings) if isinstance(path, tuple | list) else _of_folder(path, settings)
    aligner = aligner if scorers is None else aligner.with_scorers(scorers)
    of_encoder = {"encoder": encoder, "layer": layer, "device": device, "cache": cache}
    given: Any = {name: value for name, value in of_encoder.items() if value is not None}
    return replace(aligner, expert=choose_expert(aligner.expert, **given)) if given else aligner


def _of_folder(path: str | Path | None, settings: dict[str, Any]) -> Aligner:
    """Return the learned aligner in a folder, or one over the vectors in a folder."""
    folder = shipped(MODEL) if path is None else place_of(path)
    if not folder.exists():
        raise DataError(f"there is no such folder; shipped are {MODEL} and {VECTORS}").at(path or folder)
    if not folder.is_dir():
        raise DataError("expected a folder with a learned model or word vectors of two languages").at(folder)
    if is_model(folder):
        if others := ", ".join(f"`{name}`" for name in settings if name in _OF_VECTORS):
            found = f"{others}: only for word vectors, and {folder} is a learned model"
            raise UsageError(f"{found}; name vectors, like the shipped {VECTORS}, or leave it out")
        return _configured(load_aligner(folder), **settings)
    from nmtalign.scorers.vector_scores import score_in
    from nmtalign.vectors.storage import load_pair, pair_languages

    reading = {name: settings.pop(name) for name in READING if name in settings}
    settings["languages"] = settings.get("languages") or pair_languages(folder)
    vectors = load_pair(folder, languages=settings["languages"], **reading)
    if settings.get("parameters") is None and isinstance(settings.get("score"), str):
        settings["score"] = score_in(folder, settings["score"], vectors[0].dimension)
    _warn_about(vectors, settings.get("score", "cosine"))
    return vector_aligner(*vectors, **settings)


def _of_two_sides(sides: Sequence[Any], settings: dict[str, Any]) -> Aligner:
    """Return an aligner over source and target vectors, given or of two files."""
    from nmtalign.scorers.vector_scores import how_to_learn
    from nmtalign.vectors.storage import both_embeddings

    of_files = any(isinstance(side, str | Path) for side in sides)
    unfit = [name for name in READING if name in settings and not of_files]
    if unfit:
        raise UsageError(f"`{unfit[0]}`: only for a folder or files of vectors; leave it out")
    if of_files and settings.get("score") == "bahdanau" and settings.get("parameters") is None:
        names = f"--source-vectors {sides[0]} --target-vectors {sides[-1]} -o FILE"
        raise UsageError(f"the score bahdanau needs parameters; {how_to_learn(names)}")
    reading = {name: settings.pop(name) for name in READING if name in settings}
    vectors = both_embeddings(sides, **reading)
    _warn_about(vectors, settings.get("score", "cosine"))
    return vector_aligner(*vectors, **settings)


def open_vectors(
    vectors: Any, languages: Languages | None = None, **reading: Any
) -> tuple[Embeddings, Embeddings]:
    """Return the vectors of both languages: given ones, or those of two files, or of a folder."""
    from nmtalign.vectors.storage import both_embeddings, load_pair

    if isinstance(vectors, tuple | list):
        return both_embeddings(vectors, **reading)
    expect_kind(vectors, (str, Path), "source and target vectors, or the path of a folder that has both")
    source, target = languages or (None, None)
    return load_pair(place_of(vectors), languages=(source, target) if source and target else None, **reading)


def _warn_about(vectors: tuple[Embeddings, Embeddings], score: str | VectorScore) -> None:
    """Warn where two vectors do not look like one space, or their lengths spoil dot products."""
    if score == "bahdanau" or not isinstance(score, str):  # its projections may bring any two spaces together
        return
    from nmtalign.vectors.spaces import warn_if_unrelated

    source, target = (side.first(FIRST) for side in vectors)
    warn_if_unrelated(source, target)
    if score == "cosine":
        return
    lengths = vector_lengths(source.matrix), vector_lengths(target.matrix)
    relative_deviation = max(of_side.std() / of_side.mean() for of_side in lengths)
    if relative_deviation > UNEVEN:
        percent = f"{100 * relative_deviation:.0f} %"
        warnings.warn(
            f"the lengths of the vectors differ by {percent} of their mean: dot products favor the long"
            " ones, whatever they mean; try `score=cosine`",
            stacklevel=5,
        )


def vector_lengths(vectors: Reals) -> Reals:
    """Return the lengths of the vectors that are not zero."""
    lengths = np.linalg.norm(np.asarray(vectors, dtype=np.float32), axis=1)
    return lengths[lengths > 0] if lengths.any() else np.ones(1, np.float32)


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Raise UsageError for values of another kind than their settings."""
    for name, value in settings.items():
        kind, what = _KINDS.get(name, (object, ""))
        no_number = isinstance(value, bool) and kind in (Real, Integral)
        if no_number or (value is not None and not isinstance(value, kind)):
            raise UsageError(f"expected {what} as {name}, found {short(value)}")


@check_call("settings are given by their names")
def vector_aligner(
    source: Embeddings,
    target: Embeddings,
    *,
    score: str | VectorScore = "cosine",
    temperature: float | None = None,
    parameters: str | Path | None = None,
    positions: str | None = None,
    diagonal: float | None = None,
    unknown: str | None = None,
    languages: tuple[str, str] | None = None,
    extract: str | None = None,
    threshold: float | None = None,
    symmetrize: str | None = None,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: str | None = None,
) -> Aligner:
    """Build an aligner over given vectors from settings by name.

    Parameters
    ----------
    source, target : Embeddings
        Vectors of both languages, in one space.
    score : {"cosine", "dot", "scaled-dot", "bahdanau"}, or a score
        Score of a target and a source vector; also the `score` of :func:`nmtalign.learn_attention`.
    temperature : float, optional
        Divisor of the scores. Left out: 1; for ``cosine`` 1/sqrt(D), from 1/20 to 1/8.
    parameters : path, optional
        npz file of the parameters of ``bahdanau`` (``W``, ``U``, ``v`` and, if there is one, ``b``) or of
        ``scaled-dot`` (``W_q``, ``W_k``). Left out: those in the folder of the vectors.
    positions : {"diagonal", "none", "hmm"}, optional
        Where attention may go: near the diagonal, anywhere, or as a hidden Markov model says, which
        :func:`nmtalign.fit_to` fits to the text (and the temperature, if it is left out and was not
        learned). Left out: ``diagonal`` for ``cosine``, else ``none``.
    diagonal : float, optional
        Strength of ``diagonal``. Left out, it grows with the vectors for dot products.
    unknown : {"zero", "subword", "backoff"}, optional
        What stands for a word without a vector. Left out: what the embeddings say.
    languages : (str, str), optional
        Source and target language, for tokenizers.
    extract, threshold, symmetrize : optional
        How links are chosen, as for :func:`load`.
    tokenizer : {"space", "simple", "moses", "icu"} or "sentencepiece:FILE", optional
        How lines are cut. Left out, like `lowercase` and `unicode`: as the vectors were learned, if they say
        so, else words between spaces in lower case.
    lowercase : bool, optional
        Look words up in lower case.
    unicode : {"nfc", "nfkc", "strip-accents", "none"}, optional
        Form in which words are looked up.
    """
    _check_settings({"temperature": temperature, "diagonal": diagonal})
    from nmtalign.scorers.given_vectors import VectorScorer
    from nmtalign.scorers.vector_scores import make_score
    from nmtalign.vectors.embeddings import Embeddings

    for side in (source, target):
        expect_kind(side, Embeddings, "Embeddings")
    vector_score = make_score(score, source.dimension, temperature=temperature, parameters=parameters)
    if unknown is not None:
        source, target = source.with_unknown(unknown), target.with_unknown(unknown)
    tune = temperature is None and vector_score.null is None
    scorer = VectorScorer(source, target, vector_score, tune=tune)
    name = positions or ("diagonal" if score == "cosine" else "none")
    text = TextSettings.from_dict(source.settings.get("text", {}))
    return _configured(
        Aligner(scorer, _make_positions(name, diagonal, scorer), text=text),
        languages=languages,
        extract=extract,
        threshold=threshold,
        symmetrize=symmetrize,
        tokenizer=tokenizer,
        lowercase=lowercase,
        unicode=unicode,
    )


def _make_positions(name: str, strength: float | None, scorer: VectorScorer) -> PositionModel:
    """Return a position model by name; `strength` is that of a diagonal."""
    expect_names([name], POSITIONS, "positions")
    if name == "hmm":
        if strength is not None:
            raise UsageError("positions hmm learn their transitions; leave the strength of a diagonal out")
        return unfitted_hmm()
    if strength is None and name == "diagonal" and scorer.score.raw:
        from nmtalign.scorers.vector_scores import cosine_scale

        # for dot products of any size, what the default is for cosines
        source, target = (side.first(FIRST).matrix for side in (scorer.source, scorer.target))
        length = float(vector_lengths(source).mean()) * float(vector_lengths(target).mean())
        strength = DIAGONAL * length * scorer.score.scale / cosine_scale(scorer.source.dimension)
    return SoftmaxPositions(name, strength)


def _configured(
    aligner: Aligner,
    *,
    languages: tuple[str, str] | None = None,
    extract: str | None = None,
    threshold: float | None = None,
    symmetrize: str | None = None,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: str | None = None,
) -> Aligner:
    """Return an aligner with the settings that vectors and learned models share."""
    text: dict[str, Any] = {"tokenizer": tokenizer, "lowercase": lowercase, "unicode": unicode}
    chosen = {name: value for name, value in text.items() if value is not None}
    aligner = replace(aligner, text=replace(aligner.text, **chosen), languages=languages or aligner.languages)
    if (extract, threshold, symmetrize) == (None, None, None):
        return aligner
    if threshold == 0:
        raise UsageError("a threshold of 0 links all words with all words; expected more than 0, at most 1")
    extraction = make_extraction(extract, threshold, symmetrize, null=aligner.positions.has_null)
    return replace(aligner, extraction=extraction)


def fit_text(
    aligner: Aligner, pairs: Iterable[AnyPair], *, unit: str = "words"
) -> tuple[Aligner, Iterator[AnyPair]]:
    """Return an aligner fitted to the first pairs of a text, if it needs that, and the whole text again.

    `unit` is what the links of an expert count: words or tokens, as in :meth:`Aligner.encoded`.
    """
    rest = iter(pairs)
    if not aligner.needs_fitting:
        return aligner, rest
    first = list(islice(rest, FITTED))
    words = [sides for pair in first if all(sides := aligner.words_of(pair))]
    if aligner.positions.unfitted and words:
        scorer, positions = aligner.scorer.fitted(words, default_workers(aligner.workers))
        aligner = replace(aligner, scorer=scorer, positions=positions)
    if aligner.needs_trust and first:
        aligner = aligner.with_trust_from(aligner.encoded(first, unit=unit))
    return aligner, chain(first, rest)


@check_call("write fit_to(aligner, pairs), or fit_to(aligner, sources, targets)")
def fit_to(aligner: Aligner, bitext: Pairs, targets: Sentences | None = None) -> Aligner:
    """Return an aligner over vectors, or with an encoder, fitted to the first pairs of a bitext.

    Parameters
    ----------
    aligner : Aligner
        Made by ``load(vectors, positions="hmm")`` or ``load(model, encoder=name)``; others are returned as
        they are.
    bitext : iterable of (source, target), or (list, list), or DataFrame
        Lines of text, or lists of words; at most 5,000 pairs are read.
    targets : sequence, optional
        The target sentences, if `bitext` has the source sentences.

    References
    ----------
    Vogel, Ney and Tillmann (1996).

    Examples
    --------
    >>> aligner = load("en_fr_vectors", positions="hmm")
    >>> fit_to(aligner, [("the black cat", "le chat noir")] * 9).positions.description
    'positions=hmm(fitted on 9 pairs)'
    """
    expect_kind(aligner, Aligner, "an aligner")
    fitted = fit_text(aligner, checked_pairs(bitext, targets, languages=aligner.languages))[0]
    if fitted.needs_fitting:
        raise DataError("expected sentence pairs with words on both sides to fit to, found none")
    return fitted
