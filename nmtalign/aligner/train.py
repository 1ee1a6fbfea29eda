"""Learn an aligner from a bitext.

Axes: N sentence pairs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.extraction import Extraction
from nmtalign.aligner.model_folder import is_model
from nmtalign.corpus.long_pairs import cut_long_pairs
from nmtalign.corpus.parallel import default_workers
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import DataError, UsageError
from nmtalign.heads.lexicon import Lexicon
from nmtalign.heads.mapped import WEIGHT, check_vectors, make_vectors_head
from nmtalign.heads.mixture import Mixture, PairScores, SeenViews
from nmtalign.heads.spectral import learn_spectral
from nmtalign.links.alignments import AlignedBatch, GoldAlignment
from nmtalign.links.formats import read_gold
from nmtalign.positions.hmm import HiddenMarkov
from nmtalign.rescoring.features import FREQUENT
from nmtalign.rescoring.network import NAMES
from nmtalign.rescoring.rescorer import INPUTS
from nmtalign.rescoring.training import Sample, chosen_pairs, distil, gold_of_pairs, learn_from_gold
from nmtalign.shipped import place_of
from nmtalign.text.pairs import Pair, Pairs, checked_pairs
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.bitext import bitext_warnings, encode_bitext
from nmtalign.training.checkpoint import Checkpoint, Checkpoints
from nmtalign.training.em import BitextFactory, Estimator, stored_lexicon
from nmtalign.training.prior import Prior, read_word_list, similar_words
from nmtalign.training.settings import PRESETS, Settings
from nmtalign.training.settings import preset as named_preset
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.storage import load_pair


def train(
    bitext: Pairs,
    *,
    preset: str = "default",
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: str | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    prior: str | Path | None = None,
    init: str | Path | None = None,
    vectors: str | Path | tuple[Embeddings, Embeddings] | None = None,
    vectors_weight: float | None = None,
    rescore: str | None = None,
    rescore_inputs: str = "features",
    gold: str | Path | Sequence[GoldAlignment] = (),
    workers: int | None = None,
) -> Aligner:
    """Learn an aligner from sentence pairs; options as of ``nmtalign train``.

    Parameters
    ----------
    bitext : iterable of (source, target), or (list, list), or DataFrame
        Lines of text, or lists of words, which are not cut, as of
        :func:`~nmtalign.text.pairs.checked_pairs`; read once.
    preset : {"default", "fast"}
    tokenizer, lowercase, unicode
        As of :class:`~nmtalign.text.tokenization.TextSettings`. Left out: those of the model `init`.
    languages : (str or None, str or None), optional
        For tokenisers.
    prior : path, optional
        Bilingual word list: word, translation, weight if not 1.
    init : path, optional
        An older model to go on from, or a folder of aligned word vectors to start from.
    vectors : path or (Embeddings, Embeddings), optional
        Word vectors of both languages in one space, or their folder: a head beside the lexicon.
    vectors_weight : float, optional
        Weight of that head, from 0 (none) to 1 (instead of the lexicon, for the words that have vectors).
    rescore : {"additive", "scaled-dot"}, optional
        Distil a rescorer of the posteriors.
    rescore_inputs : {"features", "words"}
        What it looks at.
    gold : path or sequence of GoldAlignment, optional
        Gold links of the last pairs, or of all: they teach a rescorer.
    workers : int, optional
        Threads or processes; the aligner does not depend on it.

    Raises
    ------
    DataError
        If something is no sentence pair, no pair has words on both sides, or a file is damaged.
    UsageError
        If the bitext is no collection of pairs, an option has no such value, or two contradict each other.

    Examples
    --------
    >>> bitext = [("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")] * 5
    >>> train(bitext).align("the car", "la auto").links
    [Link(source=0, target=0), Link(source=1, target=1)]
    >>> train(bitext, rescore="additive").head_names
    ('lexicon', 'spectral', 'additive')
    """
    given = {"tokenizer": tokenizer, "lowercase": lowercase, "unicode": unicode}
    known, text = warm_start(prior, init, given, languages)
    return learn(
        checked_pairs(bitext),
        settings=named_preset(preset),
        text=text,
        languages=languages,
        prior=known,
        vectors=_opened(vectors, languages),
        vectors_weight=vectors_weight,
        rescore=rescore,
        rescore_inputs=rescore_inputs,
        gold=list(read_gold(gold)) if isinstance(gold, str | Path) else gold,
        workers=workers,
        warn=partial(warnings.warn, stacklevel=3),
    ).aligner


def _opened(
    vectors: str | Path | tuple[Embeddings, Embeddings] | None,
    languages: tuple[str | None, str | None],
) -> tuple[Embeddings, Embeddings] | None:
    """Open the folder of two languages' vectors, if it is one."""
    if not isinstance(vectors, str | Path):
        return vectors
    source, target = languages
    return load_pair(place_of(vectors), languages=(source, target) if source and target else None)


def warm_start(
    words: str | Path | None,
    init: str | Path | None,
    text: Mapping[str, Any],
    languages: tuple[str | None, str | None] = (None, None),
) -> tuple[Prior | None, TextSettings]:
    """Return the prior that a word list, and a model or aligned vectors make, and how lines become words.

    `text` holds fields of :class:`~nmtalign.text.tokenization.TextSettings`; those that are None are the
    model's, if there is one.

    Raises
    ------
    UsageError
        If the model cuts text in another way.
    """
    init = None if init is None else place_of(init)
    older = load_aligner(init) if init is not None and is_model(init) else None
    default = TextSettings() if older is None else older.text
    settings = replace(default, **{name: value for name, value in text.items() if value is not None})
    listed = [] if words is None else read_word_list(words, settings)
    if older is None:
        vectors = None if init is None else _opened(init, languages)
        listed += [] if vectors is None else similar_words(*vectors)
        return (Prior(listed) if listed else None), settings
    if older.text != settings:
        found = f"{init} was learned with text={older.text}, found text={settings}"
        raise UsageError(f"{found}; leave these options out, and they are the model's")
    assert isinstance(older.positions, HiddenMarkov)  # as every learned aligner has
    return Prior(listed, older.lexicon, older.positions.transitions), settings


class Training(NamedTuple):
    """What came of learning from a bitext.

    Attributes
    ----------
    aligner : Aligner
    align : callable
        Takes an :class:`~nmtalign.aligner.extraction.Extraction` and returns the links of the bitext itself,
        without preparing it again.
    """

    aligner: Aligner
    align: Callable[[Extraction], AlignedBatch]


def learn(
    pairs: Iterable[Pair],
    *,
    settings: Settings | None = None,
    text: TextSettings | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    prior: Prior | None = None,
    workers: int | None = None,
    report: Callable[[str], None] | None = None,
    warn: Callable[[str], None] | None = None,
    place: BitextFactory | None = None,
    state: str | Path | None = None,
    vectors: tuple[Embeddings, Embeddings] | None = None,
    vectors_weight: float | None = None,
    rescore: str | None = None,
    rescore_inputs: str = "features",
    gold: Sequence[GoldAlignment] = (),
) -> Training:
    """Learn an aligner from sentence pairs, and be ready to align them.

    Parameters
    ----------
    pairs : iterable of (source, target)
        Read once; as of :func:`~nmtalign.text.pairs.checked_pairs`.
    settings : Settings, optional
        A preset of :data:`nmtalign.training.settings.PRESETS` or your own.
    text : TextSettings, optional
        How lines become words.
    languages : (str or None, str or None), optional
        For tokenisers.
    prior : Prior, optional
        A bilingual word list, an older model, or both.
    workers : int, optional
        Threads or processes; the aligner does not depend on it.
    report, warn : callable, optional
        Called with a line of text: progress, and what looks wrong with the bitext.
    place : callable, optional
        As of :class:`nmtalign.training.em.Estimator`: where the bitext is held.
    state : str or Path, optional
        Folder of checkpoints: the same call goes on from there and learns the same aligner as if it had never
        stopped. :func:`nmtalign.training.checkpoint.remove_checkpoints` removes it afterwards.
    vectors : (Embeddings, Embeddings), optional
        Word vectors that share a space, mixed with the lexicon as a head.
    vectors_weight : float, optional
        Its weight in the log-linear interpolation, from 0 (makes none) to 1.
    rescore, rescore_inputs : str, optional
        Name and inputs of a rescorer to distil, as of :func:`nmtalign.rescoring.training.distil`.
    gold : sequence of GoldAlignment
        Gold links of the last pairs, or of all, that teach a rescorer, as of
        :func:`nmtalign.rescoring.training.gold_of_pairs`.

    Raises
    ------
    DataError
        If no pair has words on both sides, the vectors do not go together or know no word of a side, or the
        gold links do not belong to the pairs or are too few.
    UsageError
        If a rescorer or weight is none that there is, or two options contradict each other.
    """
    text, settings, known = text or TextSettings(), settings or PRESETS["default"], prior or Prior()
    _check_options(settings, vectors, vectors_weight, rescore, rescore_inputs, gold)
    source, target, corpus = _read(pairs, text, languages, default_workers(workers))
    gold_links = gold_of_pairs(gold, source, target) if gold else {}
    for warning in _warnings(source, target, known):
        (warn or (lambda line: None))(warning)
    source, target = known.extend(source, target)
    if vectors is not None:
        check_vectors(vectors, (source.words, target.words))
    cut_source, cut_target, segments = cut_long_pairs(source, target)
    estimator = Estimator(
        cut_source, cut_target, settings, prior=prior, workers=workers, report=report, place=place
    )
    estimate = estimator.run(Checkpoints(state, source, target, settings, known).of("lexicon"))
    lexicon = stored_lexicon(estimator, estimate)
    heads = _mixture(lexicon, settings, vectors, WEIGHT if vectors_weight is None else vectors_weight)
    aligner = Aligner(
        heads,
        HiddenMarkov(estimate.transitions, lexicon.numbers, settings.null, agree=True),
        text=text,
        languages=languages,
        training={"settings": settings.as_dict(), "corpus": corpus},
    )
    if rescore is not None:
        others = heads.others, rescore, rescore_inputs  # what a distilled rescorer depends on as well
        kept = Checkpoints(state, source, target, settings, known, *others).of("rescorer")
        aligner = _distilled(aligner, (source, target), rescore, rescore_inputs, settings.seed, kept, report)
    elif gold_links:
        aligner = _taught(aligner, (source, target), gold_links, settings.seed, report)

    encoded = EncodedText(cut_source, cut_target, segments, estimator.buckets)
    if place is not None or not estimator.index.complete:
        return Training(
            aligner, lambda own: replace(aligner, extraction=own, workers=workers).align_text(encoded)
        )
    encoded.__dict__["index"] = estimator.index
    seen = SeenViews(estimate.views, estimate.counts, estimator.smoothing)
    return Training(aligner, _own_links(aligner, heads, encoded, seen, workers))


def _own_links(
    aligner: Aligner, heads: Mixture, text: EncodedText, seen: SeenViews, workers: int | None
) -> Callable[[Extraction], AlignedBatch]:
    """Return what aligns the text that was learned from; its views are gone once they are read."""
    views = [seen]

    @cache
    def scores() -> PairScores:
        return heads.read(text, views.pop())

    def align(extraction: Extraction) -> AlignedBatch:
        chosen = replace(aligner, extraction=extraction, workers=workers)
        return chosen.decoder(scores()).align(default_workers(workers))

    return align


def _check_options(
    settings: Settings,
    vectors: tuple[Embeddings, Embeddings] | None,
    weight: float | None,
    rescore: str | None,
    inputs: str,
    gold: Sequence[GoldAlignment],
) -> None:
    """Refuse options that have no such value or contradict each other, before any work is done."""
    if weight is not None and vectors is None:
        raise UsageError(
            "a weight of vectors is for vectors that are mixed with the lexicon; give these, too"
        )
    if weight is not None and not 0 <= weight <= 1:
        raise UsageError(f"expected a weight of the vectors from 0 to 1, found {weight}")
    if rescore is None:
        return
    for found, expected in ((rescore, NAMES), (inputs, INPUTS)):
        if found not in expected:
            raise UsageError(f"expected a rescorer of {' or '.join(expected)}, found {found!r}")
    if gold:
        raise UsageError("gold links teach a rescorer of their own; leave the other one out")
    if not settings.spectral_weight and (rescore, inputs) != ("additive", "features"):
        raise UsageError(f"a rescorer {rescore} over {inputs} looks at word vectors; take --preset default")


def _read(
    pairs: Iterable[Pair], text: TextSettings, languages: tuple[str | None, str | None], workers: int
) -> tuple[EncodedSide, EncodedSide, dict[str, object]]:
    """Number the words of a bitext; also return what the model notes of it."""
    source, target, digest = encode_bitext(pairs, text, languages, workers)
    if not ((source.lengths > 0) & (target.lengths > 0)).any():
        raise DataError("expected sentence pairs to learn from, found none with words on both sides")
    corpus = {
        "pairs": len(source.lengths),
        "source_tokens": len(source.tokens),
        "target_tokens": len(target.tokens),
        "sha256": digest,
    }
    return source, target, corpus


def _warnings(source: EncodedSide, target: EncodedSide, known: Prior) -> list[str]:
    """Return what looks wrong with a bitext."""
    swapped = "the sides look like those of the older model the other way round; are they swapped?"
    return bitext_warnings(source, target) + ([swapped] if known.swapped(source, target) else [])


def _mixture(
    lexicon: Lexicon, settings: Settings, vectors: tuple[Embeddings, Embeddings] | None, weight: float
) -> Mixture:
    """Return the lexicon with the heads that are mixed with it."""
    heads = Mixture(lexicon)
    if settings.spectral_weight:
        spectral = learn_spectral(lexicon, settings.spectral_weight, seed=settings.seed)
        heads = heads if spectral is None else heads.with_head(spectral)
    if vectors is not None and weight:
        heads = heads.with_head(make_vectors_head(lexicon, *vectors, weight=weight))
    return heads


def _distilled(
    aligner: Aligner,
    bitext: tuple[EncodedSide, EncodedSide],
    name: str,
    inputs: str,
    seed: int,
    checkpoint: Checkpoint | None,
    report: Callable[[str], None] | None,
) -> Aligner:
    """Return the aligner with a rescorer distilled from its posteriors on a sample of the bitext."""
    heads = aligner.mixture
    if "spectral" not in heads.names and (name, inputs) != ("additive", "features"):
        raise DataError(f"a rescorer {name} over {inputs} looks at word vectors, this bitext makes none")
    sample = _sample(aligner, bitext, chosen_pairs(*bitext, seed))
    rescorer = distil(
        sample,
        name=name,
        inputs=inputs,
        counts=heads.counts(sample.scores.text),
        frequent=heads.lexicon.frequent(FREQUENT),
        vectors=heads.word_vectors(sample.scores.text.source.words, sample.scores.text.target.words),
        pairs=len(bitext[0].lengths),
        seed=seed,
        kept=checkpoint,
        report=report,
    )
    return replace(aligner, rescorer=rescorer)


def _taught(
    aligner: Aligner,
    bitext: tuple[EncodedSide, EncodedSide],
    gold: Mapping[int, GoldAlignment],
    seed: int,
    report: Callable[[str], None] | None,
) -> Aligner:
    """Return the aligner with a rescorer trained on gold links."""
    heads, sample = aligner.mixture, _sample(aligner, bitext, list(gold))
    rescorer = learn_from_gold(
        sample,
        list(gold.values()),
        counts=heads.counts(sample.scores.text),
        frequent=heads.lexicon.frequent(FREQUENT),
        seed=seed,
        report=report,
    )
    return replace(aligner, rescorer=rescorer)


def _sample(aligner: Aligner, bitext: tuple[EncodedSide, EncodedSide], numbers: Sequence[int]) -> Sample:
    """Return some pairs of a bitext with the posteriors of the aligner."""
    pairs = [(bitext[0].sentence(n), bitext[1].sentence(n)) for n in numbers]
    scores = aligner.mixture.read(encode_text(pairs))
    return Sample(scores, aligner.positions.over(scores))
