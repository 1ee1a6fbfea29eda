"""Learn an aligner from a bitext: prepare it, estimate the lexicon, mix the scorers, train the rescorer.

The public function is :func:`train`; commands call :func:`train_aligner`.

Axes: N sentence pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from nmtalign import blas
from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.experts import Expert, expert_word_counts, paired_with
from nmtalign.aligner.preparation import PreparedBitext, prepare, training_pairs
from nmtalign.aligner.training_job import TrainingJob, open_training_job, stage_costs
from nmtalign.arrays import Reals
from nmtalign.corpus.coverage import one_word_lines_warning
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.regrouping import (
    BothRegroupings,
    of_sentence,
    regroup_batch,
    regroup_gold,
    regroup_links,
)
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.decoding.decoder import Decoder
from nmtalign.decoding.extraction_methods import Extraction
from nmtalign.dictionaries.reading import GivenDictionaries
from nmtalign.display import with_plural
from nmtalign.errors import advise, warn_caller
from nmtalign.external.word_encoders import WordEncoderInput
from nmtalign.links.alignments import AlignedBatch, GoldAlignment
from nmtalign.links.inputs import GoldInput, LinksInput, iter_links
from nmtalign.links.scoring import Counts
from nmtalign.names import DeviceName, PresetName, Side, UnicodeForm
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.positions.position_model import PositionModel, TextScores
from nmtalign.progress import ProgressInput, open_reporter
from nmtalign.rescoring.network import MAX_WEIGHTED_WORDS
from nmtalign.rescoring.rescorer import learn_from_gold
from nmtalign.scorers.dense import learn_spectral, make_vectors_scorer
from nmtalign.scorers.likelihood_ratios import TextFormCounts
from nmtalign.scorers.mixture import Mixture
from nmtalign.settings import EncoderSettings, TrainingSettings, WordSettings
from nmtalign.text.bitext import ColumnName, Pair, Pairs, Sentences, named_languages, read_pairs
from nmtalign.text.tokenization import Languages, check_languages
from nmtalign.training.checkpoint import CHECKPOINT_FILE, CHECKPOINT_FILE_WITH_EXPERT, checkpoint_of
from nmtalign.training.em import EMIterations, Estimate, Estimator
from nmtalign.training.prior import Prior
from nmtalign.training.vectors_weight import INITIAL_WEIGHT, fit_vectors_weight
from nmtalign.validation import check_same_pairs

MAX_CHECKED_CELLS = 1 << 16  # a smaller text is aligned to check that it gets any links
# A warning says so if gold links raise the error rate by this much; 50 pairs may raise it less by chance.
MIN_HARM = 0.01


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
    bridge: GivenDictionaries | None = None,
    headwords: Side | None = None,
    lemmas: bool = False,
    word_encoder: WordEncoderInput | None = None,
    init: str | Path | None = None,
    vectors: str | Path | tuple[Any, Any] | None = None,
    vectors_weight: float | None = None,
    sample: int | None = None,
    gold: GoldInput | None = None,
    expert: LinksInput | None = None,
    encoder: str | Path | None = None,
    layer: int | None = None,
    device: DeviceName | None = None,
    cache: str | Path | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
    progress: ProgressInput = False,
) -> Aligner:
    """Learn an aligner from sentence pairs, as ``nmtalign train`` does.

    Parameters
    ----------
    bitext : Bitext, iterable of (source, target), (list, list), table, or records
        Lines of text, or lists of words or a ``Doc`` of spaCy, which no tokenizer splits; read once.
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
        ``fast`` takes less time and has a higher alignment error rate.
    tokenizer : {"space", "simple", "moses", "icu"} or "sentencepiece:FILE[,FILE]", optional
        How lines are split. Default: the setting of the model `init`, else spaces.
    lowercase : bool, optional
        Look words up in lower case. Default: the setting of the model `init`, else True.
    unicode : {"nfc", "nfkc", "strip-accents", "none"}, optional
        Form in which words are looked up. Default: the setting of the model `init`, else ``nfc``.
    languages : (str or None, str or None), optional
        Codes such as ``("en", "fr")``, for tokenizers, to find the columns of tables that are aligned
        later, and to choose the translations of Wiktionary. Default: those that name the columns of a table
        or the keys of records.
    prior : path, table, dict, pairs, or a list of these, optional
        Bilingual dictionaries: files of any format of :func:`read_dictionary`; tables with the columns
        ``headword`` and ``translation``, or with two columns of other names; dictionaries, or a Series, from
        words to their translations, which may have weights, ``{"house": {"maison": 5}}``; or pairs of a
        headword and a translation, or a list of them. A third item of a pair, or a column ``weight``, is a
        number of links, 1 if omitted; other columns are ignored. Only entries whose words
        can occur in the text are used. A dictionary of lists has columns only if its keys are ``headword``
        and ``translation``, or two names of sides such as ``en`` and ``fr``, with lists of equal length;
        ``weight`` may be added.
    bridge : path, table, dict, pairs, or a list of these, optional
        Dictionaries, as in `prior`, from a third language into the language of one side. A dictionary of
        `prior` may then lead from the other side into the third language: English-German and German-Russian
        are used as English-Russian.
    headwords : {"source", "target"}, optional
        The side of the text whose language the headwords of the dictionaries are in. Default: found for each
        dictionary from the words of the text.
    lemmas : bool
        Count words under their lemmas as well, on the sides whose `languages` have lemmas. Needs the package
        simplemma, also to open the model.
    word_encoder : str, path or object, optional
        A multilingual encoder of words: ``use`` (16 languages; extra ``multilingual``), a folder of
        model2vec, a name or folder of sentence-transformers, or an object with ``encode(list of str)`` that
        returns vectors (N, D). Words of a pair that are each other's nearest become entries of a dictionary.
        The vectors are mixed with the lexicon, unless the text has more than 50,000 pairs or there are other
        `vectors`. The model aligns text without the encoder.
    init : path, optional
        An older model to continue, or a folder of aligned word vectors to start from.
    vectors : path or (Embeddings, Embeddings), optional
        Word vectors of both languages in one space, each side as for :func:`vector_aligner`, or a folder: a
        scorer beside the lexicon.
    vectors_weight : float, optional
        Weight of the vectors, or of those of `word_encoder`, from 0 (none) to 1 (instead of the lexicon, for
        the words that have vectors).
        Default: fitted to the text, by how well vectors and lexicon predict its links.
    sample : int, optional
        Learn from this many pairs, drawn at random, always the same ones. They are kept in memory, about half
        a kilobyte each. Default: all pairs.
    gold : path or iterable, optional
        Gold links of all pairs, or of the last ones: a file, gold alignments, sets of (source, target) or
        Pharaoh lines. They train a rescorer. Corrections of a different text are rejected.
    expert : path or iterable, optional
        Links of each pair, made by an encoder, a translation model or a person: Pharaoh lines, or sets of
        (source, target). They are prior counts of word pairs, and vote on the links. An empty set
        means no opinion about the pair. Do not pass links of another aligner that was trained on the same
        text: they increase the alignment error rate.
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
    memory : int or str, optional
        The number of bytes that learning may use, such as ``"4G"``. A text that needs more is learned from
        temporary files; the aligner is the same. Default: half of the memory of the machine.
    progress : bool or callable
        Show progress as a bar of tqdm, in a notebook or on stderr. A function is called with a
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
    rows = read_pairs(bitext, targets, source=source, target=target, languages=languages).pairs
    check_same_pairs(bitext, expert, "pairs and `expert`")
    check_same_pairs(bitext, gold, "pairs and `gold`")
    if languages == (None, None) and init is None:
        languages = named_languages(bitext, targets, source=source, target=target)
    # issued at the end, also after an error
    warnings = list[str]()
    advice = list[str]()
    settings = TrainingSettings(
        words=WordSettings(tokenizer, lowercase, unicode),
        languages=languages,
        gold=gold,
        sample=sample,
        preset=preset,
        prior=prior,
        bridge=bridge,
        headwords=headwords,
        lemmas=lemmas,
        word_encoder=word_encoder,
        init=init,
        vectors=vectors,
        vectors_weight=vectors_weight,
        expert=expert,
        encoder=EncoderSettings(encoder=encoder, layer=layer, device=device, cache=cache),
        workers=workers,
        memory=memory,
    )
    job = open_training_job(settings)
    reporter = open_reporter(progress, stage="reading", costs=stage_costs(job))
    job = replace(job, progress=reporter, warn=warnings.append, advise=advice.append)
    try:
        add_expert_links = None if expert is None else partial(paired_with, links=iter_links(expert))
        pairs = training_pairs(reporter.count(rows), job, add_expert_links=add_expert_links)
        aligner = train_aligner(pairs, job).aligner
    finally:
        for warning in warnings:
            warn_caller(warning)
        for text in advice:
            advise(text, topic="bundled model")
    reporter.finish(f"learned from {with_plural(aligner.training['corpus']['pairs'], 'pair')}")
    return aligner


class TrainingResult(NamedTuple):
    """The learned aligner, and a function that aligns the bitext without preparing it again."""

    aligner: Aligner
    # align(extractions, aligned_unit) returns the links of words, or of tokens, by each extraction
    align: Callable[[Sequence[Extraction], str], list[AlignedBatch]]


@blas.one_thread()
def train_aligner(pairs: Iterable[Pair], job: TrainingJob | None = None) -> TrainingResult:
    """Learn an aligner from checked sentence pairs, read once; the result can also align them.

    Raises DataError if no pair has words on both sides, the vectors do not go together or know no word of a
    side, or the gold links do not belong to the pairs or are too few.
    """
    job = job or TrainingJob()
    bitext = prepare(pairs, job)
    job = replace(job, prior=bitext.prior)
    estimator = _make_estimator(bitext, job)
    estimated = estimate(estimator, bitext, job)
    # the aligner that judges an expert is not the result, which repeats its warnings
    first_job = job if job.expert is None else replace(job, warn=lambda warning: None)
    aligner = mix_scorers(estimated, bitext, first_job)
    if job.expert is not None:
        expert = expert_with_trust(aligner, bitext.text, job)
        estimated = estimate(estimator, bitext, job, expert)
        aligner = replace(mix_scorers(estimated, bitext, job), expert=expert)
    aligner = train_rescorer(aligner, bitext, job)
    if too_small := _why_too_small(aligner, bitext, job):
        job.warn(f"{too_small}; add text, or continue a model (`init=DIR`)")
    return TrainingResult(aligner, _alignment_of(bitext, aligner, estimator, estimated, job))


def _make_estimator(bitext: PreparedBitext, job: TrainingJob) -> EMIterations[Any]:
    """Return the estimator of a bitext: in memory, or in parts, on disk or on a cluster."""
    if bitext.part_cells is not None:
        from nmtalign.training.partitioned import PartitionedEstimator

        return PartitionedEstimator(
            bitext.text,
            job.hyperparameters,
            prior=job.prior,
            workers=job.settings.workers,
            report=job.progress.step,
            part_cells=bitext.part_cells,
            store=job.store,
        )
    return Estimator(
        bitext.text,
        job.hyperparameters,
        prior=job.prior,
        workers=job.settings.workers,
        report=job.progress.step,
    )


def estimate(
    estimator: EMIterations[Any],
    bitext: PreparedBitext,
    job: TrainingJob,
    expert: Expert | None = None,
) -> Estimate:
    """Estimate lexicon and jump models by expectation-maximization; links of an expert are a prior."""
    sides = bitext.source, bitext.target
    prior = job.prior or Prior()
    name = CHECKPOINT_FILE
    if expert is not None:
        if bitext.prior_links is not None and expert.trust is not None:
            entries = {(source, target) for source, target, _ in prior.dictionary_pairs}
            counts = expert_word_counts(bitext.prior_links, *sides, expert.trust, entries)
            prior = replace(prior, vocabulary_pairs=[*prior.vocabulary_pairs, *counts])
        estimator.set_prior(prior)
        name = CHECKPOINT_FILE_WITH_EXPERT
    checkpoint = checkpoint_of(job.checkpoints, *sides, job.hyperparameters, prior, name=name)
    return estimator.run(checkpoint)


def mix_scorers(estimated: Estimate, bitext: PreparedBitext, job: TrainingJob) -> Aligner:
    """Return the aligner of an estimate; its lexicon is mixed with the other scorers."""
    hyperparameters = job.hyperparameters
    lexicon = estimated.lexicon
    mixture = Mixture(lexicon)
    if hyperparameters.spectral_weight:
        spectral = learn_spectral(lexicon, hyperparameters.spectral_weight, seed=hyperparameters.seed)
        mixture = mixture if spectral is None else mixture.with_scorer(spectral)
    word_vectors = job.vectors or bitext.word_vectors
    if word_vectors is not None and job.settings.vectors_weight != 0:
        given_weight = job.settings.vectors_weight
        vectors = make_vectors_scorer(
            lexicon,
            *word_vectors,
            job.text_settings,
            weight=INITIAL_WEIGHT if given_weight is None else given_weight,
        )
        if given_weight is None:
            fitted = fit_vectors_weight(
                lexicon, vectors, estimated.jump_models, hyperparameters.null, bitext.text
            )
            vectors = replace(vectors, weight=fitted.weight)
            found = f"their nearest words have {fitted.agreement:.0%} of the links that the text expects"
            if fitted.weight:
                weight = f"weight of the vectors, fitted to the text: {fitted.weight:.2f}"
                job.progress.note(f"{weight} ({found})")
            elif job.vectors is not None:
                job.warn(f"the vectors do not fit the text and are not used: {found}")
        if vectors.weight:
            mixture = mixture.with_scorer(vectors)
    training: dict[str, object] = {"settings": hyperparameters.as_dict(), "corpus": bitext.corpus}
    if bitext.word_encoder is not None:
        training["word_encoder"] = bitext.word_encoder
    return Aligner(
        mixture,
        HiddenMarkov(estimated.jump_models, lexicon.numbers, hyperparameters.null, agree=True),
        text_settings=job.text_settings,
        languages=job.settings.languages,
        training=training,
    )


def train_rescorer(aligner: Aligner, bitext: PreparedBitext, job: TrainingJob) -> Aligner:
    """Return the aligner with a rescorer trained on gold links, or the same aligner without gold links."""
    if not bitext.gold:
        return aligner
    numbers = list(bitext.gold)
    sentences = [(bitext.source.sentence(n), bitext.target.sentence(n)) for n in numbers]
    scores = aligner.scorer.score_text(encode_text(sentences))
    gold = list(bitext.gold.values())
    regroupings: list[BothRegroupings | None] = [None] * len(numbers)
    if bitext.text.line_words:
        # gold links join words of lines; those of tokens depend on the links that the aligner finds
        batch = aligner.decoder_for_scores(scores).all_links(default_workers(job.settings.workers))
        gold = []
        regroupings = []
        for k, n in enumerate(numbers):
            to_words = of_sentence(bitext.text.line_words, n)
            regroupings.append(to_words)
            gold.append(regroup_gold(bitext.gold[n], batch.links(k), to_words))
    learn = partial(
        learn_from_gold,
        base=aligner.positions,
        frequent=aligner.lexicon.frequent(MAX_WEIGHTED_WORDS),
        seed=job.hyperparameters.seed,
    )
    gold_pairs = map(GoldPair, sentences, bitext.gold.values(), gold, regroupings)
    validation = cross_validate(aligner, list(gold_pairs), partial(learn, networks=1))
    job.progress.note(
        f"rescorer: trained on the gold links of {with_plural(len(gold), 'pair')}; {validation}"
    )
    if validation.aer > validation.aer_without_gold + MIN_HARM:
        job.warn(f"the gold links do not help: {validation}; are they links of this text, by one annotator?")
    positions = learn(scores, gold=gold)
    log_odds = _gold_log_odds(replace(aligner, positions=positions).decoder_for_scores(scores), gold)
    record = {"pairs": len(gold), **validation.record}
    return replace(
        aligner,
        positions=replace(positions, gold_log_odds=log_odds),
        training={**aligner.training, "gold": record},
    )


def _why_too_small(aligner: Aligner, bitext: PreparedBitext, job: TrainingJob) -> str:
    """Return a warning if a text is too small to learn from; an empty text if it is not."""
    pairs = len(bitext.source.lengths)
    text = bitext.text
    alone = job.prior is None and job.vectors is None and job.expert is None
    if alone and _are_equal(bitext.source) and _are_equal(bitext.target):
        copies = f"all {pairs:,} pairs are the same" if pairs > 1 else "it has only 1 pair"
        return f"the text is too small to learn from: {copies}, so nothing can be learned about single words"
    if text.cell_count <= MAX_CHECKED_CELLS and not len(aligner.link_text(text).source):
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


def expert_with_trust(aligner: Aligner, text: EncodedText, job: TrainingJob) -> Expert:
    """Return the expert with its trust, estimated by an aligner that was learned without the expert."""
    aligner = replace(aligner, expert=job.expert, workers=job.settings.workers).with_trust_from(text)
    job.progress.note(f"{aligner.expert}; learned again with its links as a prior")
    return cast(Expert, aligner.expert)


def _alignment_of(
    bitext: PreparedBitext,
    aligner: Aligner,
    estimator: EMIterations[Any],
    estimated: Estimate,
    job: TrainingJob,
) -> Callable[[Sequence[Extraction], str], list[AlignedBatch]]:
    """Return a function that aligns the training text by each of several extractions.

    Its argument `aligned_unit` is the unit of positions, "words" or "tokens". The links are those of
    :meth:`Aligner.link_text`. For a text that is not read part by part, the counts of the estimate are used,
    which takes less than half the time. The first call frees the counts, which are large.
    """
    text = bitext.text
    aligner = replace(aligner, workers=job.settings.workers)
    counts: list[TextFormCounts] = []
    if estimator.complete_word_pairs is not None:
        text = replace(text, numbered_pairs=estimator.complete_word_pairs)
        counts = [estimated.form_counts]

    def token_links(extractions: Sequence[Extraction]) -> list[AlignedBatch]:
        if counts:
            # the counts are large and needed once: pop frees them
            scores = cast(Mixture, aligner.scorer).score_text(text, counts.pop())
            decoder = aligner.decoder_for_scores(scores)
            return decoder.links_by_extraction(extractions, default_workers(aligner.workers))
        if bitext.part_cells is not None:
            more = "the links of all pairs are kept in memory and may need more than `memory` allows"
            job.warn(f"{more}; `nmtalign align` writes them chunk by chunk")
        return aligner.link_text_by(text, extractions)

    def align(extractions: Sequence[Extraction], aligned_unit: str) -> list[AlignedBatch]:
        batches = token_links(extractions)
        if aligned_unit == "tokens":
            return batches
        if warning := one_word_lines_warning(text):
            job.warn(warning)
        return [
            regroup_batch(batch, text.line_words, one_link=extraction.one_link)
            for batch, extraction in zip(batches, extractions, strict=True)
        ]

    return align


# --- cross-validation of a rescorer --------------------------------------------------------------

FOLDS = 4
MAX_VALIDATED_PAIRS = 300  # bounds the time


class GoldPair(NamedTuple):
    """A pair with gold links."""

    words: tuple[list[str], list[str]]
    gold: GoldAlignment  # between words of the lines
    of_tokens: GoldAlignment  # the same links between tokens
    to_words: BothRegroupings | None  # from tokens to words of the lines; None if these are the same


class Validation(NamedTuple):
    """Alignment error rates of pairs whose gold links were not used in training."""

    pairs: int
    aer: float  # with a rescorer trained on the gold links of the other folds
    aer_without_gold: float

    @property
    def record(self) -> dict[str, Any]:
        """The figures as a model records them."""
        rates = {"aer": round(self.aer, 4), "aer_without_gold": round(self.aer_without_gold, 4)}
        return {"validated_pairs": self.pairs, "folds": FOLDS, **rates}

    def __str__(self) -> str:
        rates = f"{100 * self.aer:.1f} % with and {100 * self.aer_without_gold:.1f} % without gold links"
        return f"the alignment error rate of pairs left out of training is {rates}"


def cross_validate(
    aligner: Aligner, pairs: Sequence[GoldPair], learn: Callable[..., PositionModel]
) -> Validation:
    """Return the error rates of an aligner without and with what `learn` learns from gold links.

    `learn(scores, gold=gold)` returns a position model from the scores of a text and its gold links.

    Pairs with the same words are in the same fold, so that nothing is learned about the pairs of a fold. A
    rescorer of a fold learns from fewer pairs than the one that is kept, which is better rather than worse.
    """
    count = min(len(pairs), MAX_VALIDATED_PAIRS)
    chosen = [pairs[k * len(pairs) // count] for k in range(count)]
    fold_of_words: dict[object, int] = {}
    folds: list[list[GoldPair]] = [[] for _ in range(FOLDS)]
    for pair in chosen:
        words = tuple(map(tuple, pair.words))
        folds[fold_of_words.setdefault(words, len(fold_of_words) % FOLDS)].append(pair)
    with_gold = without_gold = Counts()
    for held_out in filter(None, folds):
        others = [pair for fold in folds if fold is not held_out for pair in fold]
        if others:
            positions = learn(_scores(aligner, others), gold=[pair.of_tokens for pair in others])
            with_gold += _counts(replace(aligner, positions=positions), held_out)
            without_gold += _counts(aligner, held_out)
    return Validation(len(chosen), with_gold.aer, without_gold.aer)


def _scores(aligner: Aligner, pairs: Sequence[GoldPair]) -> TextScores:
    return aligner.scorer.score_text(encode_text([pair.words for pair in pairs]))


def _counts(aligner: Aligner, pairs: Sequence[GoldPair]) -> Counts:
    """Return the counts of the links that an aligner chooses."""
    batch = aligner.decoder_for_scores(_scores(aligner, pairs)).all_links(default_workers(aligner.workers))
    counts = Counts()
    for k, pair in enumerate(pairs):
        links = frozenset(batch.links(k))
        if pair.to_words is not None:
            links = regroup_links(links, pair.to_words)
        counts += Counts.from_links(links, pair.gold)
    return counts
