"""The settings of training: the files that they name are opened before any text is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.experts import (
    Expert,
    choose_expert,
)
from nmtalign.aligner.fit_to_text import AnyPair
from nmtalign.aligner.over_vectors import open_vectors
from nmtalign.arrays import Doubles
from nmtalign.errors import DataError, OnBadPair, UsageError
from nmtalign.files.paths import resolve_path
from nmtalign.links.alignments import GoldAlignment
from nmtalign.links.formats import are_corrections, pair_fingerprint, read_corrections, read_gold
from nmtalign.links.inputs import GoldInput, as_gold_sequence
from nmtalign.names import SIDES, DeviceName, PresetName, Side, UnicodeForm
from nmtalign.progress import ProgressReporter
from nmtalign.settings import EncoderSettings, VectorFileSettings, WordSettings
from nmtalign.state import is_model
from nmtalign.text.bitext import is_line_pair
from nmtalign.text.languages import check_language_codes, known_language
from nmtalign.text.lemmas import lemma_language
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings
from nmtalign.training.dictionary_prior import (
    Dictionary,
    GivenDictionaries,
    open_dictionaries,
)
from nmtalign.training.em import PRESET_HYPERPARAMETERS, Hyperparameters
from nmtalign.training.em import preset_hyperparameters as named_preset
from nmtalign.training.memory import default_memory, memory_bytes
from nmtalign.training.prior import Prior, similar_words
from nmtalign.training.result_store import ResultStore
from nmtalign.validation import check_bool, check_choice, check_number
from nmtalign.vectors.embeddings import Embeddings

BothVectors = tuple[Embeddings, Embeddings]


def open_training_settings(
    *,
    preset: PresetName = "default",
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
    languages: Languages = (None, None),
    prior: GivenDictionaries | None = None,
    bridge: GivenDictionaries | None = None,
    headwords: Side | None = None,
    lemmas: bool = False,
    init: str | Path | None = None,
    vectors: str | Path | tuple[Any, Any] | None = None,
    vectors_weight: float | None = None,
    limit: int | None = None,
    unsafe_pickle: bool = False,
    strip_prefix: str | tuple[str, str] | None = None,
    sample: int | None = None,
    gold: GoldInput | None = None,
    has_expert_links: bool = False,
    encoder: str | Path | None = None,
    layer: int | None = None,
    device: DeviceName | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
    encoding: str = "utf-8",
    read_gold_file: GoldReader | None = None,
) -> TrainingSettings:
    """Open the files that the parameters of :func:`train` name.

    `limit`, `unsafe_pickle` and `strip_prefix` are for files of vectors, `encoding` is that of text files;
    `read_gold_file` reads a file of gold links that is not one of corrections.
    """
    if headwords is not None:
        check_choice(headwords, SIDES, "sides as `headwords`")
    if sample is not None:
        check_number(sample, "a number of pairs, 1 or more, as `sample`", minimum=1, integer=True)
        if gold is not None:
            raise UsageError("`gold` has a line for each pair, and `sample` leaves pairs out; remove one")
    check_language_codes(languages)
    dictionaries = open_dictionaries(prior, encoding)
    bridges = open_dictionaries(bridge, encoding, name="bridge")
    if bridges and not dictionaries:
        raise UsageError("`bridge` extends the dictionaries of `prior`; pass `prior` as well")
    words = WordSettings(tokenizer, lowercase, unicode)
    encoder_settings = EncoderSettings(encoder=encoder, layer=layer, device=device, cache=cache)
    files = VectorFileSettings(limit=limit, unsafe_pickle=unsafe_pickle, strip_prefix=strip_prefix)
    initial_prior, text_settings = warm_start(init, words, languages=languages)
    opened_vectors = None
    if vectors is not None:
        opened_vectors = open_vectors(vectors, languages, files=files)
    return TrainingSettings(
        hyperparameters=named_preset(preset).with_lemmas(_lemma_languages(lemmas, languages, initial_prior)),
        text_settings=text_settings,
        languages=languages,
        prior=initial_prior,
        dictionaries=dictionaries,
        bridges=bridges,
        headwords=headwords,
        vectors=opened_vectors,
        vectors_weight=vectors_weight,
        gold=() if gold is None else _opened_gold(gold, encoding, read_gold_file),
        expert=choose_expert(has_links=has_expert_links, encoder=encoder_settings),
        gold_file=gold if isinstance(gold, str | Path) else None,
        sample=sample,
        workers=workers,
        memory=default_memory() if memory is None else memory_bytes(memory),
    )


def _lemma_languages(lemmas: bool, languages: Languages, prior: Prior | None) -> Languages:
    """Return the languages of the lemmas of both sides; a model that is continued has its own."""
    check_bool(lemmas, "lemmas")
    if not lemmas:
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


def warm_start(
    init: str | Path | None, words: WordSettings, *, languages: Languages = (None, None)
) -> tuple[Prior | None, TextSettings]:
    """Return the prior from a model or aligned vectors, and how lines become words.

    Settings that are None are those of the model, if there is one. Raises UsageError if the model splits
    text in another way, or has no lexicon.
    """
    chosen = TextSettings().updated(words)
    if init is None:
        return None, chosen
    folder = resolve_path(init)
    if not is_model(folder):
        word_pairs = similar_words(*open_vectors(folder, languages), chosen)
        return (Prior(word_pairs) if word_pairs else None), chosen
    older = load_aligner(folder)
    chosen = older.text_settings.updated(words)
    if chosen != older.text_settings:
        found = f"{init} was learned with text={older.text_settings}, found text={chosen}"
        raise UsageError(
            f"{found}; remove `tokenizer`, `lowercase` and `unicode`; a continued model keeps its own"
        )
    return _prior_of_model(older), chosen


def _prior_of_model(older: Aligner) -> Prior:
    """Return an older model as a prior."""
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
class TrainingSettings:
    """The settings of :func:`~nmtalign.aligner.training_steps.train_aligner`.

    Raises UsageError if the weight of vectors is out of bounds, or is passed without vectors.
    """

    hyperparameters: Hyperparameters = PRESET_HYPERPARAMETERS["default"]
    text_settings: TextSettings = field(default_factory=TextSettings)  # settings by which lines become words
    languages: Languages = (None, None)
    prior: Prior | None = None  # word pairs, an older model, or both
    # dictionaries whose word pairs join the prior once the words of the text are known
    dictionaries: Sequence[Dictionary] = ()
    bridges: Sequence[Dictionary] = ()  # dictionaries from a third language, which continue the others
    headwords: Side | None = None  # the side of the headwords of all dictionaries; None: detected
    vectors: BothVectors | None = None  # vectors in one space, which are mixed with the lexicon
    # weight of the vectors in the log-linear interpolation, from 0 (none) to 1; None: fitted to the text
    vectors_weight: float | None = None
    gold: Sequence[GoldAlignment] = ()  # gold links of all or of the last pairs, for a rescorer
    expert: Expert | None = None  # an expert whose links are prior counts, and vote
    gold_file: str | Path | None = None  # the file of the gold links, which errors name
    on_bad_gold: OnBadPair | None = None  # is called instead of an error if a gold link is outside
    sample: int | None = None  # number of random pairs to learn from; None: all
    workers: int | None = None  # threads or processes; the aligner does not depend on it
    memory: int | None = None  # bytes that learning may use; None: as many as it needs
    progress: ProgressReporter = field(default_factory=ProgressReporter)  # the default shows nothing
    warn: Callable[[str], None] = field(default=lambda line: None)  # is called with each warning
    advise: Callable[[str], None] = field(default=lambda line: None)  # is called with advice
    store: ResultStore | None = None  # keeps the text in parts, on a cluster; None: this machine keeps it
    # folder of checkpoints: after an interruption, the same call resumes there and learns the same aligner
    checkpoints: str | Path | None = None

    def __post_init__(self) -> None:
        if self.vectors_weight is None:
            return
        if self.vectors is None:
            raise UsageError(
                "`vectors_weight` applies to vectors next to the lexicon; pass `vectors` as well"
            )
        check_number(self.vectors_weight, "a weight of the vectors from 0 to 1", minimum=0, maximum=1)


def stage_costs(settings: TrainingSettings, *, aligns: bool = False) -> list[float]:
    """Return the relative times of the stages of training, as measured (40,000 pairs).

    The first stage reads the bitext. The others end with a line of text: the co-occurring word pairs, each
    iteration, and the model. With `aligns`, the text is aligned at the end.
    """
    hyperparameters = settings.hyperparameters
    expert = settings.expert
    reading = 23.0 if expert is not None and expert.encoder else 3.0
    counting_word_pairs = 3.0
    iterations = [1.0] * (hyperparameters.model1_iterations - 1) + [4.0] * hyperparameters.hmm_iterations
    if expert is not None:
        iterations *= 2  # learned again with the links of the expert
    model = 1.0
    if hyperparameters.spectral_weight:
        model += 2.0
    if settings.gold:
        model += 10.0  # the rescorer
    costs = [reading, counting_word_pairs, *iterations, model]
    return [*costs, 4.0] if aligns else costs
