"""The learned aligner: a lexicon, jumps, and what it takes to align text with them.

Axes: B pairs of a bucket, T target words, S source words, P word pairs that meet, L links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.extraction import extract
from nmtalign.alignment.links import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    GoldAlignment,
    joined_batches,
)
from nmtalign.alignment.symmetrization import symmetrize_matrices
from nmtalign.errors import UsageError
from nmtalign.models.aligner import Words, align_lines
from nmtalign.models.checkpoint import Checkpoint
from nmtalign.models.corpus import Bucket, EncodedSide, encode, make_buckets
from nmtalign.models.decoding import Extraction
from nmtalign.models.estimation import Estimator, PlaceBitext
from nmtalign.models.expectation import attend
from nmtalign.models.hmm import Jumps
from nmtalign.models.knowledge import Knowledge
from nmtalign.models.lexicon import Emissions, Lexicon, Smoothing, View, ViewCounts, emissions
from nmtalign.models.pairs import PairIndex, index_pairs
from nmtalign.models.parallel import default_workers, in_order
from nmtalign.models.parallelness import (
    Learned,
    evidence_of_pairs,
    evidence_of_words,
    others_evidence,
    parallel_probability,
)
from nmtalign.models.segments import Segments, cut_long_pairs
from nmtalign.models.settings import RESCORERS, Settings, chosen_heads
from nmtalign.models.spectral import SpectralHead, learn_spectral
from nmtalign.models.stages import Stages
from nmtalign.rescoring.features import Counts, Vectors, most_frequent
from nmtalign.rescoring.rescorer import Reader, Rescorer
from nmtalign.rescoring.training import distil, learn_from_gold, sample
from nmtalign.text.tokenization import TextSettings
from nmtalign.views import Listed

Floats = NDArray[np.float32]
Longs = NDArray[np.int64]

BATCH = 20_000  # sentence pairs that are aligned at a time
DOUBT = np.float32(1e-6)  # least doubt: closer to 1, single precision knows no difference
THRESHOLD = 0.55  # of the joint probability; chosen on the development sets


def joint_probability(forward: Floats, reverse: Floats) -> Floats:
    """Return the probability of links from both directions: half the mean of their two logits.

    Each direction is too sure of itself. Halving the mean changes no order, and brings the probabilities to
    the share of links that are right (``scripts/calibration.py``).

    Parameters
    ----------
    forward, reverse : arrays of one shape
        p(s|t) and p(t|s).

    Returns
    -------
    array
        ``g / (g + h)`` with ``g = (forward reverse)^(1/4)`` and ``h = ((1 - forward) (1 - reverse))^(1/4)``,
        where no direction is surer than ``1 - DOUBT``.

    Examples
    --------
    >>> float(joint_probability(np.float32(0.5), np.float32(0.5)))
    0.5
    """
    g = np.sqrt(np.sqrt(forward * reverse))
    h = np.sqrt(np.sqrt(np.maximum(1 - forward, DOUBT) * np.maximum(1 - reverse, DOUBT)))
    return np.asarray(g / (g + h))


class Model(NamedTuple):
    """What is learned from a bitext.

    Attributes
    ----------
    lexicon : Lexicon
    jumps : (Jumps, Jumps)
        Over source positions and over target positions.
    settings : Settings
    text : TextSettings
        How lines become words.
    languages : (str or None, str or None)
    corpus : dict
        What it was learned from: number of pairs and words, hash.
    spectral : SpectralHead, optional
        Vectors of the lexicon's own links, mixed with it.
    rescorer : Rescorer, optional
        Looks at the posteriors once more.
    """

    lexicon: Lexicon
    jumps: tuple[Jumps, Jumps]
    settings: Settings
    text: TextSettings
    languages: tuple[str | None, str | None]
    corpus: dict[str, Any]
    spectral: SpectralHead | None = None
    rescorer: Rescorer | None = None

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the heads, as of :data:`nmtalign.models.settings.HEADS`."""
        last = () if self.rescorer is None else (self.rescorer.name,)
        if self.rescorer is not None and self.rescorer.weight == 1:
            return last
        if self.spectral is None:
            return ("lexicon", *last)
        return ("spectral", *last) if self.spectral.weight == 1 else ("lexicon", "spectral", *last)

    def with_heads(self, names: Iterable[str]) -> Model:
        """Return a model that aligns by some of its heads.

        The spectral head without the lexicon scores the words it knows by itself. The rescorer alone looks
        at the emissions of all heads.

        Raises
        ------
        UsageError
            If the model lacks one of them.
        """
        chosen = chosen_heads(names)
        missing = [name for name in chosen if name not in self.heads]
        if missing:
            found = f"this model has the heads {','.join(self.heads)}, not {','.join(missing)}"
            raise UsageError(found)
        if set(chosen) <= set(RESCORERS) and self.rescorer is not None:
            return self._replace(rescorer=self.rescorer.alone())
        rescorer = self.rescorer if set(chosen) & set(RESCORERS) else None
        if rescorer is not None and rescorer.needs_vectors and "spectral" not in chosen:
            raise UsageError(f"this {rescorer.name} looks at the vectors of the head spectral; name it too")
        spectral = self.spectral if "spectral" in chosen else None
        if spectral is not None and "lexicon" not in chosen:
            spectral = replace(spectral, weight=1.0)
        return self._replace(spectral=spectral, rescorer=rescorer)

    def counts(self, source: EncodedSide, target: EncodedSide) -> Counts:
        """Return how often the words of a text occur in the bitext that was learned from."""
        known, lexicon = self.lexicon.known(source, target), self.lexicon
        counts = lexicon.source_counts, lexicon.target_counts
        found = [np.where(k < 0, 0, own[k]) for k, own in zip(known, counts, strict=True)]
        return found[0], found[1]

    def word_vectors(self, source: EncodedSide, target: EncodedSide) -> Vectors | None:
        """Return the spectral vectors of the words of a text, if the model has any."""
        known = self.lexicon.known(source, target)
        return None if self.spectral is None else self.spectral.word_vectors(*known)

    def reader(self, source: EncodedSide, target: EncodedSide) -> Reader | None:
        """Return what rescores the buckets of a text, where there is a rescorer."""
        if self.rescorer is None:
            return None
        vectors = self.word_vectors(source, target) if self.rescorer.needs_vectors else None
        return self.rescorer.reader(source, target, self.counts(source, target), vectors)

    def joined(
        self, words: Emissions, source: EncodedSide, target: EncodedSide, pairs: PairIndex
    ) -> Emissions:
        """Mix the spectral head, where there is one, into the emissions of a text."""
        if self.spectral is None:
            return words
        return self.spectral.join(words, *self.lexicon.known(source, target), pairs)


class Found(NamedTuple):
    """Links of some pairs: pair, source and target position, probability, each (L,); evidence of pairs."""

    pair: Longs
    source: Longs
    target: Longs
    probability: Floats
    pairs: Longs
    evidence: NDArray[np.float64]


class Prepared(NamedTuple):
    """A text ready for attention.

    Attributes
    ----------
    segments : Segments
        Where the sentence pairs of the buckets come from.
    buckets : sequence of Bucket
    cells : sequence of int32 arrays of shape (T, S, B)
        Number of the word pair of each cell.
    words : Emissions
    jumps : (Jumps, Jumps)
    null : float
        Probability of the null word.
    rounds : int
        As of :func:`nmtalign.models.expectation.attend`.
    evidence : float32 array of shape (P,), optional
        What each word pair is worth for a sentence pair; by its emission, if left out.
    learned : Learned
        From how much, as far as it is known.
    rescorer : Reader, optional
        Rescores the posteriors.
    """

    segments: Segments
    buckets: Sequence[Bucket]
    cells: Sequence[NDArray[np.int32]]
    words: Emissions
    jumps: tuple[Jumps, Jumps]
    null: float
    rounds: int = 0
    evidence: Floats | None = None
    learned: Learned = Learned()
    rescorer: Reader | None = None

    def attend(self, k: int) -> tuple[Floats, Floats, Floats]:
        """Return p(s|t), p(t|s) and the joint probability of bucket k, each (T, S, B)."""
        emission = self.words.pairs.take(self.cells[k])
        forward, reverse = attend(
            self.buckets[k], emission, self.words, self.jumps, self.null, rounds=self.rounds
        )
        weights = forward.attention, reverse.attention.transpose(1, 0, 2)
        found = *weights, joint_probability(*weights)
        if self.rescorer is None:
            return found
        return self.rescorer.rescore(self.buckets[k], emission, self.words, *found)


def find_links(text: Prepared, k: int, extraction: Extraction, evidence: Floats) -> Found:
    """Attend in bucket k and choose links; `evidence` is that of word pairs."""
    bucket = text.buckets[k]
    forward, reverse, joint = text.attend(k)  # (T, S, B)
    if extraction.method in (None, "posterior") and extraction.symmetrize is None:
        chosen = joint > np.float32(THRESHOLD if extraction.threshold is None else extraction.threshold)
    else:
        chosen = _by_name(bucket, forward, reverse, joint, extraction)
    t, s, b = np.nonzero(chosen)
    real = np.flatnonzero(bucket.pairs >= 0)
    worth = evidence.take(text.cells[k])
    found = evidence_of_pairs(forward, reverse, worth, text.segments.core(bucket))
    return Found(bucket.pairs[b], s, t, joint[t, s, b], bucket.pairs[real], found[real])


def _by_name(
    bucket: Bucket, forward: Floats, reverse: Floats, joint: Floats, extraction: Extraction
) -> NDArray[np.bool_]:
    """Choose links by one of the extractions made for matrices without padding."""
    chosen = np.zeros(joint.shape, dtype=bool)
    lengths = np.stack([bucket.source_lengths, bucket.target_lengths])
    for S, T in np.unique(lengths[:, bucket.pairs >= 0], axis=1).T:
        columns = np.flatnonzero((lengths[0] == S) & (lengths[1] == T))
        own = [np.moveaxis(w[:T, :S, columns], -1, 0) for w in (forward, reverse, joint)]  # (B, T, S)
        chosen[:T, :S, columns] = np.moveaxis(_extracted(own[0], own[1], own[2], extraction), 0, -1)
    return chosen


def _extracted(forward: Floats, reverse: Floats, joint: Floats, extraction: Extraction) -> NDArray[np.bool_]:
    """Choose links in a stack (B, T, S) by name."""
    if extraction.symmetrize is not None:
        return symmetrize_matrices(
            extract(forward, "argmax"), extract(reverse, "argmax-reverse"), extraction.symmetrize
        )
    method = extraction.method or "threshold"
    weights = {"argmax": forward, "argmax-reverse": reverse}.get(method, joint)
    if method in ("threshold", "transport") and extraction.threshold is not None:
        return extract(weights, method, threshold=extraction.threshold)
    chosen = extract(weights, method)
    return chosen if extraction.threshold is None else chosen & (joint >= extraction.threshold)


def collect(found: Sequence[Found], segments: Segments, learned: Learned) -> AlignedBatch:
    """Put the links of all buckets into the order of the pairs."""
    columns = [np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*found, strict=True)]
    if not columns:
        columns = [np.zeros(0, np.int64) for _ in Found._fields]
    piece, source, target, probability = (column for column in columns[:4])
    kept, pair, source, target = segments.restore(piece.astype(np.int64), source, target)
    order = np.lexsort((target, source, pair))
    counts = np.bincount(pair, minlength=segments.pairs)
    return AlignedBatch(
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]),
        source=source[order].astype(np.int32),
        target=target[order].astype(np.int32),
        probability=probability[kept][order].astype(np.float32),
        scores=parallel_probability(
            segments.total(columns[4].astype(np.int64), columns[5].astype(np.float64)),
            segments.source_lengths,
            segments.target_lengths,
            learned,
        ),
    )


def align_prepared(text: Prepared, extraction: Extraction, workers: int | None) -> AlignedBatch:
    """Align a text; the links do not depend on the number of workers."""
    evidence = evidence_of_words(text.words.pairs) if text.evidence is None else text.evidence
    found = in_order(
        lambda k: find_links(text, k, extraction, evidence),
        range(len(text.buckets)),
        default_workers() if workers is None else workers,
        cells=sum(bucket.cells for bucket in text.buckets),
    )
    return collect(list(found), text.segments, text.learned)


def inspect_prepared(
    text: Prepared, source_words: Words, target_words: Words, extraction: Extraction
) -> AlignedPair:
    """Align a text that is one sentence pair, with all weights to look at."""
    S, T = len(source_words), len(target_words)
    forward, reverse, joint = np.zeros((3, T, S), np.float32)
    for k, bucket in enumerate(text.buckets):
        for found, whole in zip(text.attend(k), (forward, reverse, joint), strict=True):
            text.segments.paste(bucket, found, whole)
    batch = align_prepared(text, extraction, 1)
    links = batch.links(0)
    return AlignedPair(
        Alignment(frozenset(links), S, T),
        AlignmentMatrix(joint, tuple(source_words), tuple(target_words)),
        forward=forward,
        reverse=reverse,
        probabilities=dict(zip(links, map(float, batch.probability), strict=True)),
        score=float(batch.scores[0]),
    )


@dataclass(frozen=True)
class LearnedAligner(Listed):
    """An aligner learned from a bitext: location-aware attention over a lexicon.

    Parameters
    ----------
    model : Model
    extraction : Extraction, optional
        How links are chosen; by posterior if left out.
    workers : int, optional
        Threads.
    """

    model: Model
    extraction: Extraction = field(default_factory=Extraction)
    workers: int | None = None

    @property
    def text(self) -> TextSettings:
        """How lines become words."""
        return self.model.text

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """Source and target language, where known."""
        return self.model.languages

    @property
    def settings(self) -> str:
        """The settings that make the links, in one line."""
        learned = self.model.settings
        views = ",".join(map(str, learned.views))
        own = Extraction("posterior", THRESHOLD)
        chosen = own if self.extraction == Extraction() else self.extraction
        passes = f"{learned.lexicon_passes}+{learned.jump_passes}"
        pairs = self.model.corpus.get("pairs", 0)
        heads = "" if self.heads == ("lexicon",) else "heads=" + ",".join(self.heads) + " "
        return f"learned {heads}views={views} passes={passes} pairs={pairs} {chosen} text={self.text}"

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the heads of the model."""
        return self.model.heads

    def with_heads(self, names: Iterable[str]) -> LearnedAligner:
        """Return an aligner by some of the heads; each head's own matrix comes from this one by one.

        See Also
        --------
        Model.with_heads
        """
        return replace(self, model=self.model.with_heads(names))

    def align(self, source: str, target: str) -> AlignedPair:
        """Align two lines of text; the matrix shows the words as they stand in the lines."""
        return align_lines(self, source, target)

    def align_batch(self, pairs: Sequence[tuple[Words, Words]]) -> AlignedBatch:
        """Align many pairs of words that are already normalised; the same links as one by one."""
        return align_prepared(self._prepared(pairs), self.extraction, self.workers)

    def inspect(self, source_words: Words, target_words: Words) -> AlignedPair:
        """Align two sentences of words that are already normalised, with all weights to look at.

        Returns
        -------
        AlignedPair
            Rows of `forward` and columns of `reverse` sum to 1 minus the probability of null; `matrix` is
            :func:`joint_probability` of both.
        """
        text = self._prepared([(source_words, target_words)])
        pair = inspect_prepared(text, source_words, target_words, self.extraction)
        return replace(pair, settings=self.settings)

    def _prepared(self, pairs: Sequence[tuple[Words, Words]]) -> Prepared:
        sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
        source, target, segments = cut_long_pairs(*sides)
        buckets = make_buckets(source, target)
        index = index_pairs(buckets, source, target)
        lexicon = self.model.lexicon
        jumps = lexicon.renumbered(self.model.jumps, source, target)
        seen = lexicon.looked_up(source, target, index)
        return _ready(self.model, (source, target, segments), buckets, index, seen, jumps)


def _ready(
    model: Model,
    text: tuple[EncodedSide, EncodedSide, Segments],
    buckets: Sequence[Bucket],
    index: PairIndex,
    seen: tuple[Sequence[View], Sequence[ViewCounts], Smoothing],
    jumps: tuple[Jumps, Jumps],
) -> Prepared:
    """Make a text ready for attention: views and counts are those of its words, so are the jumps."""
    source, target, segments = text
    return Prepared(
        segments,
        buckets,
        index.cells,
        model.joined(emissions(*seen), source, target, index),
        jumps,
        model.settings.null,
        model.settings.rounds,
        others_evidence(*seen),
        _learned(model.lexicon),
        model.reader(source, target),
    )


def _learned(lexicon: Lexicon) -> Learned:
    """Return from how many words a lexicon was learned."""
    source, target = int(lexicon.source_counts.sum()), int(lexicon.target_counts.sum())
    return Learned(source, target / source) if source and target else Learned()


class Training(NamedTuple):
    """What came of learning from a bitext.

    Attributes
    ----------
    model : Model
        To be saved.
    align : callable
        Takes an :class:`~nmtalign.models.decoding.Extraction` and returns the links of the bitext itself,
        without preparing it again.
    """

    model: Model
    align: Callable[[Extraction], AlignedBatch]

    @property
    def aligner(self) -> LearnedAligner:
        """The learned model, ready to align text."""
        return LearnedAligner(self.model)


def learn(
    source: EncodedSide,
    target: EncodedSide,
    settings: Settings,
    *,
    text: TextSettings,
    languages: tuple[str | None, str | None] = (None, None),
    corpus: dict[str, Any] | None = None,
    known: Knowledge | None = None,
    workers: int | None = None,
    report: Callable[[str], None] | None = None,
    place: PlaceBitext | None = None,
    rescore: tuple[str, str] | None = None,
    gold: Mapping[int, GoldAlignment] | None = None,
    state: str | Path | None = None,
) -> Training:
    """Learn a model from an encoded bitext.

    Parameters
    ----------
    source, target : EncodedSide
    settings : Settings
    text, languages, corpus
        Kept in the model.
    known : Knowledge, optional
        What is known beforehand.
    workers : int, optional
        Threads; the model does not depend on it.
    report : callable, optional
        Called with one line of text after each stage.
    place : callable, optional
        As of :class:`nmtalign.models.estimation.Estimator`.
    rescore : (str, str), optional
        Name and inputs of a rescorer to distil, as of :func:`nmtalign.rescoring.training.distil`.
    gold : mapping of int to GoldAlignment, optional
        Gold links of some pairs, by number from 0, that teach a rescorer.
    state : str or Path, optional
        Folder that keeps the state of each stage: the same call goes on from there and learns the same model
        as if it had never stopped. :func:`nmtalign.models.stages.remove_stages` removes it afterwards.
    """
    if known is not None:
        source, target = known.extend(source, target)
    whole = source, target
    stages = Stages(state, *whole, settings, known, rescore)
    source, target, segments = cut_long_pairs(source, target)
    estimator = Estimator(source, target, settings, known=known, workers=workers, report=report, place=place)
    estimate = estimator.run(stages.checkpoint("lexicon"))
    lexicon = Lexicon(
        source.words,
        target.words,
        source.counts,
        target.counts,
        estimate.learned,
        estimator.smoothing,
        settings.spelling,
    )
    model = Model(lexicon, estimate.jumps, settings, text, languages, corpus or {})
    if settings.spectral_weight:
        spectral = learn_spectral(lexicon, settings.spectral_weight, seed=settings.seed)
        model = model._replace(spectral=spectral)
    if rescore is not None:
        model = _distilled(model, whole, rescore, stages.checkpoint("rescorer"), report)
    if gold:
        model = _taught(model, whole, gold, report)

    def align(extraction: Extraction) -> AlignedBatch:
        if place is not None or not estimator.index.complete:
            return _align_in_batches(LearnedAligner(model, extraction, workers), whole)
        seen = estimate.views, estimate.counts, estimator.smoothing
        sides = source, target, segments
        text = _ready(model, sides, estimator.buckets, estimator.index, seen, estimate.jumps)
        return align_prepared(text, extraction, workers)

    return Training(model, align)


def _distilled(
    model: Model,
    bitext: tuple[EncodedSide, EncodedSide],
    rescore: tuple[str, str],
    kept: Checkpoint | None,
    report: Callable[[str], None] | None,
) -> Model:
    """Return the model with a rescorer distilled from its posteriors."""
    name, inputs = rescore
    if model.spectral is None and rescore != ("additive", "features"):
        raise UsageError(f"a rescorer {name} over {inputs} looks at word vectors; take --preset default")
    pairs = [(bitext[0].sentence(n), bitext[1].sentence(n)) for n in sample(*bitext, model.settings.seed)]
    if not pairs:
        return model
    sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
    rescorer = distil(
        LearnedAligner(model)._prepared(pairs),
        sides,
        name=name,
        inputs=inputs,
        counts=model.counts(*sides),
        frequent=_frequent(model.lexicon),
        vectors=model.word_vectors(*sides),
        pairs=len(bitext[0].lengths),
        seed=model.settings.seed,
        kept=kept,
        report=report,
    )
    return model._replace(rescorer=rescorer)


def _taught(
    model: Model,
    bitext: tuple[EncodedSide, EncodedSide],
    gold: Mapping[int, GoldAlignment],
    report: Callable[[str], None] | None,
) -> Model:
    """Return the model with a rescorer taught by gold links."""
    pairs = [(bitext[0].sentence(n), bitext[1].sentence(n)) for n in gold]
    sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
    rescorer = learn_from_gold(
        LearnedAligner(model)._prepared(pairs),
        sides,
        list(gold.values()),
        counts=model.counts(*sides),
        frequent=_frequent(model.lexicon),
        seed=model.settings.seed,
        report=report,
    )
    return model._replace(rescorer=rescorer)


def _frequent(lexicon: Lexicon) -> tuple[list[str], list[str]]:
    """Return the most frequent source and target words."""
    return (
        most_frequent(lexicon.source_words, lexicon.source_counts),
        most_frequent(lexicon.target_words, lexicon.target_counts),
    )


def _align_in_batches(aligner: LearnedAligner, sides: tuple[EncodedSide, EncodedSide]) -> AlignedBatch:
    """Align an encoded bitext as new text, a batch at a time."""
    batches = []
    for start in range(0, len(sides[0].lengths), BATCH):
        numbers = range(start, min(start + BATCH, len(sides[0].lengths)))
        batches.append(aligner.align_batch([(sides[0].sentence(n), sides[1].sentence(n)) for n in numbers]))
    return joined_batches(batches)
