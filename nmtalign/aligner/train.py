"""The public function :func:`train`: an aligner that is learned from a bitext."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.experts import with_links
from nmtalign.aligner.preparation import training_pairs
from nmtalign.aligner.training_job import open_training_job, stage_costs
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.display import with_plural
from nmtalign.errors import advise, warn_caller
from nmtalign.external.word_encoders import WordEncoderInput
from nmtalign.links.inputs import GoldInput, LinksInput, iter_links
from nmtalign.names import DeviceName, PresetName, Side, UnicodeForm
from nmtalign.progress import ProgressInput, open_reporter
from nmtalign.settings import EncoderSettings, TrainingSettings, WordSettings
from nmtalign.text.bitext import ColumnName, Pairs, Sentences, named_languages, read_pairs
from nmtalign.text.tokenization import Languages, check_languages
from nmtalign.training.dictionary_prior import (
    GivenDictionaries,
)
from nmtalign.validation import check_same_pairs


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
        add_expert_links = None if expert is None else partial(with_links, links=iter_links(expert))
        pairs = training_pairs(reporter.count(rows), job, add_expert_links=add_expert_links)
        aligner = train_aligner(pairs, job).aligner
    finally:
        for warning in warnings:
            warn_caller(warning)
        for text in advice:
            advise(text, topic="bundled model")
    reporter.finish(f"learned from {with_plural(aligner.training['corpus']['pairs'], 'pair')}")
    return aligner
