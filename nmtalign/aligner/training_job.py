"""A job of training: its settings, whose files are opened before any text is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.experts import (
    Expert,
    choose_expert,
)
from nmtalign.aligner.opening import AnyPair, open_vectors
from nmtalign.arrays import Doubles
from nmtalign.dictionaries.reading import Dictionary, open_dictionaries
from nmtalign.errors import DataError, OnBadPair, UsageError
from nmtalign.external.word_encoders import WordEncoder, load_word_encoder
from nmtalign.files.paths import resolve_path
from nmtalign.links.alignments import GoldAlignment
from nmtalign.links.gold import are_corrections, pair_fingerprint, read_corrections, read_gold
from nmtalign.links.inputs import GoldInput, as_gold_sequence
from nmtalign.progress import ProgressReporter
from nmtalign.settings import TrainingSettings
from nmtalign.state import is_model
from nmtalign.text.bitext import is_line_pair
from nmtalign.text.languages import check_language_codes, known_language, lemma_language
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings
from nmtalign.training.em import PRESET_HYPERPARAMETERS, Hyperparameters
from nmtalign.training.encoded_bitext import default_memory, memory_bytes
from nmtalign.training.prior import Prior, similar_words
from nmtalign.training.result_store import ResultStore
from nmtalign.vectors.embeddings import Embeddings

BothVectors = tuple[Embeddings, Embeddings]


def open_training_job(
    settings: TrainingSettings, *, encoding: str = "utf-8", read_gold_file: GoldReader | None = None
) -> TrainingJob:
    """Open the files that the settings name.

    `encoding` is that of text files; `read_gold_file` reads a file of gold links that is not one of
    corrections.
    """
    gold, vectors = settings.gold, settings.vectors
    check_language_codes(settings.languages)
    if settings.sample is not None and gold is not None:
        raise UsageError("`gold` has a line for each pair, and `sample` leaves pairs out; remove one")
    if settings.vectors_weight is not None and vectors is None and settings.word_encoder is None:
        raise UsageError(
            "`vectors_weight` applies to vectors next to the lexicon; pass `vectors` or `word_encoder`, too"
        )
    dictionaries = open_dictionaries(settings.prior, encoding)
    bridges = open_dictionaries(settings.bridge, encoding, name="bridge")
    if bridges and not dictionaries:
        raise UsageError("`bridge` extends the dictionaries of `prior`; pass `prior` as well")
    initial_prior, text_settings = _warm_start(settings)
    opened_vectors = None
    if vectors is not None:
        opened_vectors = open_vectors(vectors, settings.languages, files=settings.vector_files)
    memory = settings.memory
    return TrainingJob(
        PRESET_HYPERPARAMETERS[settings.preset].with_lemmas(_lemma_languages(settings, initial_prior)),
        settings=settings,
        text_settings=text_settings,
        prior=initial_prior,
        dictionaries=dictionaries,
        bridges=bridges,
        word_encoder=None if settings.word_encoder is None else load_word_encoder(settings.word_encoder),
        vectors=opened_vectors,
        gold=() if gold is None else _opened_gold(gold, encoding, read_gold_file),
        expert=choose_expert(has_links=settings.expert is not None, encoder=settings.encoder),
        gold_file=gold if isinstance(gold, str | Path) else None,
        memory=default_memory() if memory is None else memory_bytes(memory),
    )


def _lemma_languages(settings: TrainingSettings, prior: Prior | None) -> Languages:
    """Return the languages of the lemmas of both sides; a model that is continued has its own."""
    languages = settings.languages
    if not settings.lemmas:
        if prior is None or prior.lexicon is None:
            return None, None
        return prior.lexicon.lemma_languages
    if languages == (None, None):
        raise UsageError("`lemmas` requires the languages of both sides: pass `languages=en,hu`, for example")
    for language in languages:
        if language is not None and known_language(language) is None:
            advice = "write a code such as 'en', or None for a side without lemmas"
            raise UsageError(
                f"`languages`: expected known languages for `lemmas`, found {language!r}; {advice}"
            )
    found = lemma_language(languages[0]), lemma_language(languages[1])
    if found == (None, None):
        named = " nor ".join(map(repr, filter(None, languages)))
        raise UsageError(f"there are no lemmas for {named}; remove `lemmas`")
    return found


def _opened_gold(gold: GoldInput, encoding: str, read_file: GoldReader | None) -> Sequence[GoldAlignment]:
    """Return gold links that are given, or those of a file; UsageError or DataError if there are none."""
    golds: Sequence[GoldAlignment]
    if not isinstance(gold, str | Path):
        given = as_gold_sequence(gold)
        golds = given if isinstance(given, Sequence) else list(given)
        if not golds:
            raise UsageError("expected gold links, found none; omit `gold`")
        return golds
    if read_file is None or are_corrections(gold):
        golds = read_gold(gold, encoding=encoding)
    else:
        golds = read_file(gold)
    if not golds:
        raise DataError("expected gold links, found an empty file; remove `gold`, or pass another file").at(
            gold
        )
    return golds


def checked_against_corrections(
    pairs: Iterable[AnyPair], gold: GoldInput | None, *, encoding: str = "utf-8"
) -> Iterator[AnyPair]:
    """Yield the pairs of a bitext; a DataError where corrections in a file of gold are of another text.

    Gold links of other kinds do not say which words they are of.
    """
    if not isinstance(gold, str | Path) or not are_corrections(gold):
        yield from pairs
        return
    corrections, number = read_corrections(gold, encoding=encoding), 0
    for number, pair in enumerate(pairs, 1):
        correction = corrections.get(number)
        words = map(SPACE_SETTINGS.words, pair) if is_line_pair(pair) else pair
        if correction is not None and correction.text != pair_fingerprint(*words):
            problem = f"pair {number:,}: the correction was made for other words"
            raise DataError(f"{problem}; pass the text of the report that saved it").at(gold)
        yield pair
    lines = next((correction.pairs for correction in corrections.values()), number)
    if lines != number:
        raise DataError(f"expected corrections of a text of {number:,} pairs, found {lines:,}").at(gold)


def _warm_start(settings: TrainingSettings) -> tuple[Prior | None, TextSettings]:
    """Return the prior from a model or aligned vectors, and how lines become words.

    Settings that are None are those of the model, if there is one. Raises UsageError if the model splits
    text in another way, or has no lexicon.
    """
    init = settings.init
    chosen = TextSettings().updated(settings.words)
    if init is None:
        return None, chosen
    folder = resolve_path(init)
    if not is_model(folder):
        word_pairs = similar_words(*open_vectors(folder, settings.languages), chosen)
        return (Prior(word_pairs) if word_pairs else None), chosen
    older = load_aligner(folder)
    chosen = older.text_settings.updated(settings.words)
    if chosen != older.text_settings:
        found = f"{init} was learned with text={older.text_settings}, found text={chosen}"
        raise UsageError(
            f"{found}; remove `tokenizer`, `lowercase` and `unicode`; a continued model keeps its own"
        )
    return _prior_of_model(older), chosen


def _prior_of_model(older: Aligner) -> Prior:
    jump_models = older.positions.without_rescorer.learned_jump_models
    return Prior(lexicon=older.lexicon, jump_models=jump_models)


def jumps_of_model(aligner: Aligner) -> tuple[Doubles, Doubles] | None:
    """Return the approximate jumps in the text of a model by their width, (TABLE_WIDTHS,) of each side.

    None if the model has learned no jumps.
    """
    counts = _prior_of_model(aligner).jump_counts()
    if counts is None:
        return None
    source, target = counts
    return source.sum(axis=0, dtype=np.float64), target.sum(axis=0, dtype=np.float64)


GoldReader = Callable[[str | Path], Sequence[GoldAlignment]]


@dataclass(frozen=True, eq=False, repr=False)
class TrainingJob:
    """What :func:`~nmtalign.aligner.training_steps.train_aligner` works with: settings and opened files."""

    hyperparameters: Hyperparameters = PRESET_HYPERPARAMETERS["default"]
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    text_settings: TextSettings = field(default_factory=TextSettings)  # settings by which lines become words
    prior: Prior | None = None  # word pairs, an older model, or both
    # dictionaries whose word pairs join the prior once the words of the text are known
    dictionaries: Sequence[Dictionary] = ()
    bridges: Sequence[Dictionary] = ()  # dictionaries from a third language, which continue the others
    word_encoder: WordEncoder | None = None  # finds word pairs that join the prior, as those of dictionaries
    languages_of_files: Languages = (None, None)  # from their names; messages only tell what is known of them
    vectors: BothVectors | None = None  # vectors in one space, which are mixed with the lexicon
    gold: Sequence[GoldAlignment] = ()  # gold links of all or of the last pairs, for a rescorer
    expert: Expert | None = None  # an expert whose links are prior counts, and vote
    gold_file: str | Path | None = None  # the file of the gold links, which errors name
    on_bad_gold: OnBadPair | None = None  # is called instead of an error if a gold link is outside
    memory: int | None = None  # bytes that learning may use; None: as many as it needs
    progress: ProgressReporter = field(default_factory=ProgressReporter)  # the default shows nothing
    warn: Callable[[str], None] = field(default=lambda line: None)  # is called with each warning
    advise: Callable[[str], None] = field(default=lambda line: None)  # is called with advice
    store: ResultStore | None = None  # keeps the text in parts, on a cluster; None: this machine keeps it
    # folder of checkpoints: after an interruption, the same call resumes there and learns the same aligner
    checkpoints: str | Path | None = None


def stage_costs(job: TrainingJob, *, aligns: bool = False) -> list[float]:
    """Return the relative times of the stages of training, as measured (40,000 pairs).

    The first stage reads the bitext. The others end with a line of text: the co-occurring word pairs, each
    iteration, and the model. With `aligns`, the text is aligned at the end.
    """
    hyperparameters = job.hyperparameters
    expert = job.expert
    reading = 23.0 if expert is not None and expert.encoder else 3.0
    counting_word_pairs = 3.0
    iterations = [1.0] * (hyperparameters.model1_iterations - 1) + [4.0] * hyperparameters.hmm_iterations
    if expert is not None:
        iterations *= 2  # learned again with the links of the expert
    model = 1.0
    if hyperparameters.spectral_weight:
        model += 2.0
    if job.gold:
        model += 10.0  # the rescorer
    costs = [reading, counting_word_pairs, *iterations, model]
    return [*costs, 4.0] if aligns else costs
