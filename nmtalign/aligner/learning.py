"""Learn an aligner from a bitext: prepare, estimate, mix, train the rescorer.

Axes: N sentence pairs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from nmtalign import blas
from nmtalign.aligner.aligner import Aligner, check_languages, load_aligner, tokens_of
from nmtalign.aligner.decoding import Decoder
from nmtalign.aligner.experts import (
    PAIRS_PER_ENCODER_CALL,
    Expert,
    choose_expert,
    expert_word_counts,
    with_links,
)
from nmtalign.aligner.fit_to_text import AnyPair
from nmtalign.aligner.opening import open_vectors
from nmtalign.arrays import Doubles, Reals
from nmtalign.calls import check_call
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.coverage import MIN_PAIRS, one_word_lines_warning
from nmtalign.corpus.line_words import gold_of_tokens, links_of_tokens, links_of_words
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, encode_text, line_words_of, split_long_pairs
from nmtalign.dictionaries.entries import JumpCount
from nmtalign.display import with_plural
from nmtalign.errors import DataError, NmtalignWarning, UsageError, advise
from nmtalign.files.paths import resolve_path
from nmtalign.links.alignments import AlignedBatch, GoldAlignment, concatenate_batches
from nmtalign.links.formats import are_corrections, pair_fingerprint, read_corrections, read_gold
from nmtalign.links.inputs import GoldInput, LinksInput, as_gold_sequence, iter_links
from nmtalign.names import MODEL, SIDES, PresetName, Side, UnicodeForm
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.progress import ProgressInput, ProgressReporter, open_reporter
from nmtalign.rescoring.features import MAX_WEIGHTED_WORDS
from nmtalign.rescoring.gold_training import gold_of_pairs, learn_from_gold
from nmtalign.scorers.dense import check_vectors, learn_spectral, make_vectors_scorer
from nmtalign.scorers.likelihood_ratios import TextFormCounts
from nmtalign.scorers.mixture import Mixture
from nmtalign.state import is_model
from nmtalign.text.bitext import ColumnName, Pair, Pairs, Sentences, check_pairs, is_line_pair
from nmtalign.text.lemmas import lemma_language
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings
from nmtalign.training.checkpoint import CHECKPOINT_FILE, CHECKPOINT_FILE_WITH_EXPERT, checkpoint_of
from nmtalign.training.dictionary_prior import (
    Dictionary,
    GivenDictionaries,
    dictionary_pairs,
    open_dictionaries,
)
from nmtalign.training.em import PRESET_HYPERPARAMETERS, BackendFactory, Estimate, Estimator, Hyperparameters
from nmtalign.training.em import preset_hyperparameters as named_preset
from nmtalign.training.encoded_bitext import bitext_warnings, encode_bitext
from nmtalign.training.prior import Prior, similar_words, width_counts
from nmtalign.training.vectors_weight import INITIAL_WEIGHT, fit_vectors_weight
from nmtalign.validation import check_bool, check_choice, check_number
from nmtalign.vectors.embeddings import Embeddings

# up to this many pairs, continuing a model of other text gives better links than the text alone, if the model
# knows at least MIN_KNOWN_SHARE of the words of both sides
MAX_SMALL_PAIRS = 2_000
MIN_KNOWN_SHARE = 0.8
MAX_CHECKED_CELLS = 1 << 16  # a smaller text is aligned to check that it gets any links
MAX_TRUST_CELLS = 1 << 22  # about the number of cells from which the trust in an expert is estimated

BothVectors = tuple[Embeddings, Embeddings]


@check_call("two sides are given as train(sources, targets), options by their names")
def train(
    bitext: Pairs,
    targets: Sentences | None = None,
    *,
    source: ColumnName = None,
    target: ColumnName = None,
    preset: PresetName = "default",
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
    languages: Languages = (None, None),
    prior: GivenDictionaries | None = None,
    headwords: Side | None = None,
    lemmas: bool = False,
    init: str | Path | None = None,
    vectors: str | Path | tuple[Any, Any] | None = None,
    vectors_weight: float | None = None,
    gold: GoldInput | None = None,
    expert: LinksInput | None = None,
    encoder: str | Path | None = None,
    layer: int | None = None,
    device: str | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    progress: ProgressInput = False,
) -> Aligner:
    """Learn an aligner from sentence pairs, as ``nmtalign train`` does.

    Parameters
    ----------
    bitext : Bitext, iterable of (source, target), (list, list), table, or records
        Lines of text, or lists of words or a ``Doc`` of spaCy, which no tokenizer cuts; read once.
        A table is a DataFrame of pandas or polars, a table of pyarrow, a data set of Hugging Face, or a
        dictionary of columns. Records are dictionaries, such as ``{"en": "a cat", "fr": "un chat"}``, alone
        or as ``{"translation": record}``.
    targets : sequence, optional
        The target sentences, if `bitext` has the source sentences: ``train(sources, targets)``.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names, which are
        languages, or words such as ``src`` and ``target``. Two columns of other names are source and target,
        in this order.
    preset : {"default", "fast"}
        ``fast`` takes less time and has a higher error.
    tokenizer : {"space", "simple", "moses", "icu"} or "sentencepiece:FILE[,FILE]", optional
        How lines are split. Default: the setting of the model `init`, else spaces.
    lowercase : bool, optional
        Look words up in lower case. Default: the setting of the model `init`, else True.
    unicode : {"nfc", "nfkc", "strip-accents", "none"}, optional
        Form in which words are looked up. Default: the setting of the model `init`, else ``nfc``.
    languages : (str or None, str or None), optional
        Codes such as ``("en", "fr")``, for tokenizers.
    prior : path, DataFrame, pairs, or a list of these, optional
        Bilingual dictionaries: files of any format of :func:`read_dictionary`, tables with the columns
        ``headword`` and ``translation``, or pairs of a headword and a translation. Both may have a weight:
        a number of links, 1 if left out. Only words that can occur in the text count.
    headwords : {"source", "target"}, optional
        The side of the text whose language the headwords of the dictionaries are in. Default: found for each
        dictionary from the words of the text.
    lemmas : bool
        Count words under their lemmas as well, on the sides whose `languages` have lemmas. Needs the package
        simplemma, also to open the model.
    init : path, optional
        An older model to continue, or a folder of aligned word vectors to start from.
    vectors : path or (Embeddings, Embeddings), optional
        Word vectors of both languages in one space, each side as for :func:`vector_aligner`, or a folder: a
        scorer beside the lexicon.
    vectors_weight : float, optional
        Weight of the vectors, from 0 (none) to 1 (instead of the lexicon, for the words that have vectors).
        Default: fitted to the text, by how well vectors and lexicon predict its links.
    gold : path or iterable, optional
        Gold links of all pairs, or of the last ones: a file, gold alignments, sets of (source, target) or
        Pharaoh lines. They train a rescorer.
        A file of corrections has to be one of this text.
    expert : path or iterable, optional
        Links of each pair, made by an encoder, a translation model or a person: Pharaoh lines, or sets of
        (source, target). They are prior counts of word pairs, and vote on the links. An empty set says
        nothing about its pair. Do not give links that another aligner learned from the same text: they
        raise the error.
    encoder : str or path, optional
        An encoder of the package transformers, whose links are the expert's; the model keeps its name.
    layer : int, optional
        The layer of the encoder whose vectors are compared.
    device : str, optional
        Where the encoder runs, such as ``cpu`` or ``cuda``.
    cache : path, optional
        A file that keeps the encoder's similarities for the next run.
    workers : int, optional
        Threads or processes; the aligner does not depend on it.
    progress : bool or callable
        Show progress: in a notebook as a bar, elsewhere as a line on stderr. A function is called with a
        :class:`Progress` instead.

    Raises
    ------
    DataError
        If an item is not a sentence pair, no pair has words on both sides, or a file is damaged.
    UsageError
        If the bitext is not a collection of pairs, a value is not allowed, or two options cannot be combined.

    Examples
    --------
    >>> bitext = [("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")] * 5
    >>> train(bitext).align("the car", "la auto").links
    [Link(source=0, target=0), Link(source=1, target=1)]
    """
    check_languages(languages)
    rows = check_pairs(bitext, targets, source=source, target=target, languages=languages)
    notes = list[str]()
    advice = list[str]()
    settings = open_options(
        preset=preset,
        tokenizer=tokenizer,
        lowercase=lowercase,
        unicode=unicode,
        languages=languages,
        prior=prior,
        headwords=headwords,
        lemmas=lemmas,
        init=init,
        vectors=vectors,
        vectors_weight=vectors_weight,
        gold=gold,
        has_expert_links=expert is not None,
        encoder=encoder,
        layer=layer,
        device=device,
        cache=cache,
        workers=workers,
    )
    reporter = open_reporter(progress, stage="reading", costs=stage_costs(settings))
    settings = replace(settings, progress=reporter, warn=notes.append, advise=advice.append)
    try:
        pairs = checked_against_corrections(reporter.count(rows), gold)
        if expert is not None:
            pairs = with_links(pairs, iter_links(expert))
        aligner = learn(pairs, settings).aligner
    finally:
        for note in notes:
            warnings.warn(note, NmtalignWarning, stacklevel=3)
        for text in advice:
            advise(text, topic="bundled model", stacklevel=3)
    reporter.finish(f"learned from {with_plural(aligner.training['corpus']['pairs'], 'pair')}")
    return aligner


def open_options(
    *,
    preset: PresetName = "default",
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
    languages: Languages = (None, None),
    prior: GivenDictionaries | None = None,
    headwords: Side | None = None,
    lemmas: bool = False,
    init: str | Path | None = None,
    vectors: str | Path | tuple[Any, Any] | None = None,
    vectors_weight: float | None = None,
    limit: int | None = None,
    unsafe_pickle: bool = False,
    strip_prefix: str | tuple[str, str] | None = None,
    gold: GoldInput | None = None,
    has_expert_links: bool = False,
    encoder: str | Path | None = None,
    layer: int | None = None,
    device: str | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    encoding: str = "utf-8",
) -> LearnOptions:
    """Open the files that the parameters of :func:`train` name.

    `limit`, `unsafe_pickle` and `strip_prefix` are for files of vectors, `encoding` is that of text files.
    """
    if headwords is not None:
        check_choice(headwords, SIDES, "sides as `headwords`")
    opened_prior, text = warm_start(
        init,
        tokenizer=tokenizer,
        lowercase=lowercase,
        unicode=unicode,
        languages=languages,
    )
    opened_vectors = None
    if vectors is not None:
        opened_vectors = open_vectors(
            vectors, languages, limit=limit, unsafe_pickle=unsafe_pickle, strip_prefix=strip_prefix
        )
    return LearnOptions(
        hyperparameters=named_preset(preset).with_lemmas(_lemma_languages(lemmas, languages, opened_prior)),
        text=text,
        languages=languages,
        prior=opened_prior,
        dictionaries=open_dictionaries(prior, encoding),
        headwords=headwords,
        vectors=opened_vectors,
        vectors_weight=vectors_weight,
        gold=() if gold is None else _opened_gold(gold, encoding),
        expert=choose_expert(
            has_links=has_expert_links, encoder=encoder, layer=layer, device=device, cache=cache
        ),
        gold_file=gold if isinstance(gold, str | Path) else None,
        workers=workers,
    )


def _lemma_languages(lemmas: bool, languages: Languages, prior: Prior | None) -> Languages:
    """Return the languages of the lemmas of both sides; a model that is continued has its own."""
    check_bool(lemmas, "lemmas")
    if not lemmas:
        no_model = prior is None or prior.lexicon is None
        return (None, None) if no_model else cast(Prior, prior).lexicon.lemma_languages  # type: ignore[union-attr]
    if languages == (None, None):
        raise UsageError("`lemmas` requires the languages of both sides: pass `languages=en,hu`, for example")
    found = lemma_language(languages[0]), lemma_language(languages[1])
    if found == (None, None):
        named = " nor ".join(map(repr, filter(None, languages)))
        raise UsageError(f"there are no lemmas for {named}; remove `lemmas`")
    return found


def _opened_gold(gold: GoldInput, encoding: str) -> Sequence[GoldAlignment]:
    """Return gold links; an error if there are none."""
    golds: Sequence[GoldAlignment]
    if not isinstance(gold, str | Path):
        given = as_gold_sequence(gold)
        golds = given if isinstance(given, Sequence) else list(given)
        if not golds:
            raise UsageError("expected gold links, found none; omit `gold`")
    elif not (golds := read_gold(gold, encoding=encoding)):
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
    init: str | Path | None,
    *,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
    languages: Languages = (None, None),
) -> tuple[Prior | None, TextSettings]:
    """Return the prior from a model or aligned vectors, and how lines become words.

    Settings that are None are those of the model, if there is one. Raises UsageError if the model splits
    text in another way, or has no lexicon.
    """
    folder = None if init is None else resolve_path(init)
    older = load_aligner(folder) if folder is not None and is_model(folder) else None
    default = TextSettings() if older is None else older.text
    chosen = default.updated(tokenizer, lowercase, unicode)
    if older is None:
        if folder is None:
            return None, chosen
        word_pairs = similar_words(*open_vectors(folder, languages), chosen)
        return (Prior(word_pairs) if word_pairs else None), chosen
    if default != chosen:
        found = f"{init} was learned with text={default}, found text={chosen}"
        raise UsageError(
            f"{found}; remove `tokenizer`, `lowercase` and `unicode`; a continued model keeps its own"
        )
    return _prior_of_model(older), chosen


def _prior_of_model(older: Aligner) -> Prior:
    """Return an older model as a prior."""
    jump_models = getattr(older.positions.without_rescorer, "jump_models", None)
    return Prior(lexicon=older.lexicon, jump_models=jump_models)


def jumps_of_model(aligner: Aligner) -> tuple[Doubles, Doubles] | None:
    """Return the approximate jumps in the text of a model by their width, (2 * MAX_JUMP + 1,) of each side.

    None if the model has learned no jumps.
    """
    counts = _prior_of_model(aligner).jump_counts()
    if counts is None:
        return None
    source, target = counts
    return source.sum(axis=0, dtype=np.float64), target.sum(axis=0, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class LearnOptions:
    """Options of :func:`learn`.

    Raises UsageError if the weight of vectors is out of bounds, or is passed without vectors.
    """

    hyperparameters: Hyperparameters = PRESET_HYPERPARAMETERS["default"]
    text: TextSettings = field(default_factory=TextSettings)  # settings by which lines become words
    languages: Languages = (None, None)
    prior: Prior | None = None  # word pairs, an older model, or both
    dictionaries: Sequence[Dictionary] = ()  # their word pairs join the prior when the text is known
    headwords: Side | None = None  # the side that all dictionaries have headwords of; None finds it
    vectors: BothVectors | None = None  # in one space, mixed with the lexicon
    # in the log-linear interpolation, from 0 (none) to 1; None: fitted to the text
    vectors_weight: float | None = None
    gold: Sequence[GoldAlignment] = ()  # for all pairs, or for the last ones; a rescorer is trained on them
    expert: Expert | None = None  # its links are prior counts, and vote
    gold_file: str | Path | None = None  # the gold links were read from this file, which errors name
    workers: int | None = None  # threads or processes; the aligner does not depend on it
    progress: ProgressReporter = field(default_factory=ProgressReporter)  # left out: shows nothing
    # a function that is called with each warning about the bitext
    warn: Callable[[str], None] = field(default=lambda line: None)
    advise: Callable[[str], None] = field(default=lambda line: None)  # the same with advice
    make_backend: BackendFactory | None = None  # computes expected counts, here or in other processes
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


def stage_costs(options: LearnOptions, *, aligns: bool = False) -> list[float]:
    """Return the relative times of the stages of training, as measured (40,000 pairs).

    The first stage reads the bitext. The others end with a line of text: the co-occurring word pairs, each
    iteration, and the model. With `aligns`, the text is aligned at the end.
    """
    hyperparameters, expert = options.hyperparameters, options.expert
    reading = 23.0 if expert is not None and expert.encoder else 3.0
    counting_word_pairs = 3.0
    iterations = [1.0] * (hyperparameters.model1_iterations - 1) + [4.0] * hyperparameters.hmm_iterations
    if expert is not None:
        iterations *= 2  # learned again with the links of the expert
    model = 1.0
    if hyperparameters.spectral_weight:
        model += 2.0
    if options.gold:
        model += 10.0  # the rescorer
    costs = [reading, counting_word_pairs, *iterations, model]
    return [*costs, 4.0] if aligns else costs


class TrainingResult(NamedTuple):
    """The learned aligner, and a function that aligns the bitext without preparing it again."""

    aligner: Aligner
    align: Callable[..., AlignedBatch]  # align(count=...) returns links of words, or of tokens


@blas.one_thread()
def learn(pairs: Iterable[Pair], options: LearnOptions | None = None) -> TrainingResult:
    """Learn an aligner from checked sentence pairs, read once; the result can also align them.

    Raises DataError if no pair has words on both sides, the vectors do not go together or know no word of a
    side, or the gold links do not belong to the pairs or are too few.
    """
    options = options or LearnOptions()
    bitext = prepare(pairs, options)
    options = replace(options, prior=bitext.prior)
    estimator = Estimator.prepare(
        bitext.text,
        options.hyperparameters,
        prior=options.prior,
        workers=options.workers,
        report=options.progress.step,
        make_backend=options.make_backend,
    )
    estimated = estimate(estimator, bitext, options)
    aligner = mix_scorers(estimated, bitext, options)
    if options.expert is not None:
        expert = expert_with_trust(aligner, bitext.text, options)
        estimated = estimate(estimator, bitext, options, expert)
        aligner = replace(mix_scorers(estimated, bitext, options), expert=expert)
    aligner = train_rescorer(aligner, bitext, options)
    if too_small := _why_too_small(aligner, bitext, options):
        options.warn(f"{too_small}; add text, or continue a model (`init=DIR`)")
    return TrainingResult(aligner, _alignment_of(bitext.text, aligner, estimator, estimated, options))


class PreparedBitext(NamedTuple):
    """A bitext that is ready for training."""

    source: EncodedSide  # with the words of the prior
    target: EncodedSide
    gold: Mapping[int, GoldAlignment]  # by number of the pair, from 0; positions count the words of lines
    corpus: Mapping[str, object]  # the facts about the bitext that the model folder records
    text: EncodedText  # both sides, with long pairs split into sections
    # links of an expert, or cells of graded similarities; their probabilities are prior counts
    prior_links: AlignedBatch | None
    prior: Prior | None  # the prior of the options, with the word pairs of dictionaries


def prepare(pairs: Iterable[Pair], options: LearnOptions) -> PreparedBitext:
    """Number the words of a bitext, and warn if the bitext looks wrong."""
    workers = default_workers(options.workers)
    expert_batches: list[tuple[AlignedBatch, ...]] = []
    if options.expert is not None:
        pairs = _collect_expert_links(pairs, options.expert, options, expert_batches)
    source, target, digest = encode_bitext(pairs, options.text, options.languages, workers)
    if not ((source.lengths > 0) & (target.lengths > 0)).any():
        raise DataError("expected sentence pairs to learn from, found none with words on both sides")
    corpus = {
        "pairs": len(source.lengths),
        "source_tokens": len(source.tokens),
        "target_tokens": len(target.tokens),
        "sha256": digest,
    }
    gold = _numbered_gold(options, source, target)
    prior = _with_dictionaries(options, source, target)
    _warn_about_bitext(source, target, prior, options)

    line_words = line_words_of(source, target)
    voting_links = prior_links = None
    if options.expert is not None:
        # an encoder links tokens; links that come with the pairs count the words of lines
        words = None if options.expert.encoder else line_words
        lengths = source.lengths, target.lengths
        links_of_kinds = []
        for batches_of_kind in zip(*expert_batches, strict=True):
            links_of_kinds.append(links_of_tokens(concatenate_batches(batches_of_kind), words, lengths))
        # an encoder returns its links, and soft counts; other experts return their links only
        voting_links, prior_links = links_of_kinds[0], links_of_kinds[-1]
        if not any(len(links.source) for links, *_ in expert_batches):
            options.warn("the expert links no words of the bitext")

    if prior is not None:
        source, target = prior.extend(source, target)
    if options.vectors is not None:
        check_vectors(options.vectors, (source.words, target.words), options.text)
    source_sections, target_sections, sections = split_long_pairs(source, target)
    text = EncodedText(
        source=source_sections,
        target=target_sections,
        sections=sections,
        buckets=make_buckets(source_sections, target_sections),
        line_words=line_words,
        expert_links=voting_links,
    )
    return PreparedBitext(source, target, gold, corpus, text, prior_links, prior)


def _with_dictionaries(options: LearnOptions, source: EncodedSide, target: EncodedSide) -> Prior | None:
    """Return the prior with the word pairs of the dictionaries that the text can have."""
    if not options.dictionaries:
        return options.prior
    jumps: list[JumpCount] = []
    pairs = dictionary_pairs(
        options.dictionaries,
        (source, target),
        options.text,
        options.languages,
        headwords=options.headwords,
        lemmas=options.hyperparameters.lemmas,
        report=options.progress.note,
        warn=options.warn,
        jumps=jumps,
    )
    prior = options.prior or Prior()
    return replace(
        prior, dictionary_pairs=pairs.words, compound_pairs=pairs.compounds, jumps=width_counts(jumps)
    )


def _warn_about_bitext(
    source: EncodedSide, target: EncodedSide, prior: Prior | None, options: LearnOptions
) -> None:
    """Warn if a bitext looks wrong, or if continuing a model would give better links."""
    for warning in bitext_warnings(source, target):
        options.warn(warning)
    advice = _advice_to_continue(source, target, options)
    if advice:
        options.advise(advice)
    if prior is not None and prior.swapped(source, target):
        options.warn("source and target seem swapped compared with `init`; exchange them")


def _numbered_gold(
    options: LearnOptions, source: EncodedSide, target: EncodedSide
) -> dict[int, GoldAlignment]:
    """Return the gold links by number of the pair; errors name the file if the links were read from one."""
    try:
        return gold_of_pairs(options.gold, source, target) if options.gold else {}
    except DataError as error:
        raise (error if options.gold_file is None else error.at(options.gold_file)) from None


def _collect_expert_links(
    pairs: Iterable[Pair], expert: Expert, options: LearnOptions, batches: list[tuple[AlignedBatch, ...]]
) -> Iterator[Pair]:
    """Yield the pairs; after the last one, `batches` contains the links of the expert."""
    tokens = partial(tokens_of, text=options.text, languages=options.languages)
    remaining = iter(pairs)
    while part := list(islice(remaining, PAIRS_PER_ENCODER_CALL)):
        batches.append(expert.links_and_counts(part, tokens))
        yield from part


def _advice_to_continue(source: EncodedSide, target: EncodedSide, options: LearnOptions) -> str:
    """Return advice if a text is small and the bundled model knows its words; an empty text if not."""
    pairs = len(source.lengths)
    if options.prior is not None or options.dictionaries or not MIN_PAIRS <= pairs <= MAX_SMALL_PAIRS:
        return ""
    model = load_aligner(MODEL)
    if options.text not in (TextSettings(), model.text):
        return ""  # the text settings were chosen, so `init` would be refused
    coverage = model.scorer.coverage_of(source, target)
    for side in (coverage.source, coverage.target):
        if side.total < pairs or side.rate < MIN_KNOWN_SHARE:
            return ""
    shares = f"{100 * coverage.source.rate:.0f} % and {100 * coverage.target.rate:.0f} %"
    found = f"the model {MODEL} knows {shares} of the source and target words"
    return f"{found}; to continue it with this text instead of starting anew, pass `init={MODEL!r}`"


def estimate(
    estimator: Estimator, bitext: PreparedBitext, options: LearnOptions, expert: Expert | None = None
) -> Estimate:
    """Estimate lexicon and jump models by expectation-maximization; links of an expert are a prior."""
    sides, prior, name = (bitext.source, bitext.target), options.prior or Prior(), CHECKPOINT_FILE
    if expert is not None:
        if bitext.prior_links is not None and expert.trust is not None:
            counts = expert_word_counts(bitext.prior_links, *sides, expert.trust.weight)
            prior = replace(prior, word_pairs=[*prior.word_pairs, *counts])
        estimator.set_prior(prior)
        name = CHECKPOINT_FILE_WITH_EXPERT
    checkpoint = checkpoint_of(options.checkpoints, *sides, options.hyperparameters, prior, name=name)
    return estimator.run(checkpoint)


def mix_scorers(estimated: Estimate, bitext: PreparedBitext, options: LearnOptions) -> Aligner:
    """Return the aligner of an estimate; its lexicon is mixed with the other scorers."""
    hyperparameters, lexicon = options.hyperparameters, estimated.lexicon
    mixture = Mixture(lexicon)
    if hyperparameters.spectral_weight:
        spectral = learn_spectral(lexicon, hyperparameters.spectral_weight, seed=hyperparameters.seed)
        mixture = mixture if spectral is None else mixture.with_scorer(spectral)
    if options.vectors is not None and options.vectors_weight != 0:
        given_weight = options.vectors_weight
        vectors = make_vectors_scorer(
            lexicon,
            *options.vectors,
            options.text,
            weight=INITIAL_WEIGHT if given_weight is None else given_weight,
        )
        if given_weight is None:
            fitted = fit_vectors_weight(
                lexicon, vectors, estimated.jump_models, hyperparameters.null, bitext.text
            )
            vectors = replace(vectors, weight=fitted)
            options.progress.note(f"weight of the vectors, fitted to the text: {fitted:.2f}")
        mixture = mixture.with_scorer(vectors)
    return Aligner(
        mixture,
        HiddenMarkov(estimated.jump_models, lexicon.numbers, hyperparameters.null, agree=True),
        text=options.text,
        languages=options.languages,
        training={"settings": hyperparameters.as_dict(), "corpus": bitext.corpus},
    )


def train_rescorer(aligner: Aligner, bitext: PreparedBitext, options: LearnOptions) -> Aligner:
    """Return the aligner with a rescorer trained on gold links, or the same aligner without gold links."""
    if not bitext.gold:
        return aligner
    numbers = list(bitext.gold)
    sentences = [(bitext.source.sentence(n), bitext.target.sentence(n)) for n in numbers]
    scores = aligner.scorer.score_text(encode_text(sentences))
    gold = list(bitext.gold.values())
    if bitext.text.line_words:
        # gold links count the words of lines; those of tokens depend on the links that the aligner finds
        source_words, target_words = bitext.text.line_words
        batch = aligner.decoder(scores).align(default_workers(options.workers))
        gold = []
        for k, n in enumerate(numbers):
            words = source_words.sentence(n), target_words.sentence(n)
            gold.append(gold_of_tokens(bitext.gold[n], batch.links(k), *words))
    positions = learn_from_gold(
        scores,
        aligner.positions,
        gold,
        frequent=aligner.lexicon.frequent(MAX_WEIGHTED_WORDS),
        seed=options.hyperparameters.seed,
        report=options.progress.note,
    )
    log_odds = _gold_log_odds(replace(aligner, positions=positions).decoder(scores), gold)
    return replace(aligner, positions=replace(positions, gold_log_odds=log_odds))


def _why_too_small(aligner: Aligner, bitext: PreparedBitext, options: LearnOptions) -> str:
    """Return a warning if a text is too small to learn from; an empty text if it is not."""
    pairs, text = len(bitext.source.lengths), bitext.text
    alone = options.prior is None and options.vectors is None and options.expert is None
    if alone and _are_equal(bitext.source) and _are_equal(bitext.target):
        copies = f"all {pairs:,} pairs are the same" if pairs > 1 else "it has only 1 pair"
        return f"the text is too small to learn from: {copies}, so nothing can be learned about single words"
    if text.cells <= MAX_CHECKED_CELLS and not len(aligner.align_text(text).source):
        return f"the text is too small to learn from: the model links no words of its {pairs:,} pairs"
    return ""


def _are_equal(side: EncodedSide) -> bool:
    """Return whether all sentences of a side are the same."""
    length = int(side.lengths[0])
    if (side.lengths != length).any():
        return False
    sentences = side.tokens.reshape(-1, length) if length else side.tokens
    return bool((sentences == sentences[:1]).all())


def _gold_log_odds(decoder: Decoder, gold: Sequence[GoldAlignment]) -> float:
    """Return the term that gold links add to the log odds of link probabilities."""
    assert decoder.probabilities is not None  # every learned model has them
    posteriors: list[Reals] = []
    evidence: list[Reals] = []
    right: list[Reals] = []
    for k, bucket in enumerate(decoder.text.buckets):
        scored = decoder.scored_links(k)
        assert scored.cell_evidence is not None
        t, s, b = scored.cells
        links = zip(bucket.sections[b].tolist(), s.tolist(), t.tolist(), strict=True)
        posteriors.append(scored.posterior)
        evidence.append(scored.cell_evidence[t, s, b])
        right.append(np.array([(s, t) in gold[n].possible for n, s, t in links], dtype=float))
    return decoder.probabilities.fit_gold_log_odds(
        np.concatenate(posteriors), np.concatenate(evidence), np.concatenate(right)
    )


def expert_with_trust(aligner: Aligner, text: EncodedText, options: LearnOptions) -> Expert:
    """Return the expert with its trust, estimated by an aligner that was learned without the expert."""
    period = math.ceil(text.cells / MAX_TRUST_CELLS)
    text = replace(text, buckets=text.buckets[::period])  # every n-th bucket of a large text
    aligner = replace(aligner, expert=options.expert, workers=options.workers).with_trust_from(text)
    options.progress.note(f"{aligner.expert}; learned again with its links as a prior")
    return cast(Expert, aligner.expert)


def _alignment_of(
    text: EncodedText, aligner: Aligner, estimator: Estimator, estimated: Estimate, options: LearnOptions
) -> Callable[..., AlignedBatch]:
    """Return a function that aligns the training text.

    Its argument `count` is the unit that links count, "words" (the default) or "tokens". The links are those
    of :meth:`Aligner.align_text`. For a text that is not read part by part, the counts of the estimate are
    used, which takes less than half the time. The first call frees the counts, which are large.
    """
    aligner = replace(aligner, workers=options.workers)
    counts: list[TextFormCounts] = []
    if options.make_backend is None and estimator.index.complete:
        text = text.with_index(estimator.index)
        counts = [estimated.form_counts]

    @cache
    def align_tokens() -> AlignedBatch:
        if counts:
            scores = cast(Mixture, aligner.scorer).score_text(text, counts.pop())
            return aligner.decoder(scores).align(default_workers(aligner.workers))
        return aligner.align_text(text)

    @cache
    def align(count: str = "words") -> AlignedBatch:
        if count == "tokens":
            return align_tokens()
        if warning := one_word_lines_warning(text):
            options.warn(warning)
        return links_of_words(align_tokens(), text.line_words)

    return align
