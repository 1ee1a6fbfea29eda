"""Learn the parameters of attention over given vectors from the posteriors of an aligner.

The softmax of the scores over the source words and the null word learns the aligner's p(s|t); the softmax
over the target words and null learns p(t|s). The loss is the sum of both cross-entropies, as in Hinton,
Vinyals and Dean (2015), "Distilling the Knowledge in a Neural Network". Minibatches contain pairs of similar
length. Words without a vector are skipped.

Axes: B pairs, T target words, S source words, V vocabulary, D dimension, A units of attention.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from nmtalign import blas
from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.opening import (
    aligner_over_vectors,
    fit_text,
    open_vectors,
    vector_norms,
)
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.arrays import Floats, Ints, Longs, Reals, block_slices
from nmtalign.attention.adam import Schedule, minimize
from nmtalign.attention.scores import additive, additive_gradient, scaled_dot, scaled_dot_gradient
from nmtalign.corpus.buckets import PADDING_SCORE, Bucket
from nmtalign.corpus.parallel import default_workers, parallel_map
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.display import with_plural
from nmtalign.errors import DataError, warn_caller
from nmtalign.files.atomic_output import AtomicFiles, check_overwrite
from nmtalign.files.paths import as_path, resolve_path
from nmtalign.names import LearnedScoreName, UnicodeForm
from nmtalign.positions.hmm import DEFAULT_NULL
from nmtalign.positions.position_model import PosteriorsAndRatios
from nmtalign.progress import ProgressInput, open_reporter
from nmtalign.scorers.vector_scores import PARAMETER_FILES, BahdanauScore, ProjectedDot, VectorScore
from nmtalign.settings import (
    AttentionSettings,
    GivenVectorsSettings,
    TrainingSettings,
    VectorFileSettings,
    WordSettings,
)
from nmtalign.text.bitext import ColumnName, Pair, Pairs, read_pairs
from nmtalign.text.tokenization import check_languages
from nmtalign.validation import check_type
from nmtalign.vectors.storage import pair_languages
from nmtalign.vectors.subword_vectors import is_static_model

MAX_LEARNING_WORDS = 100  # pairs with more words on a side are not learned from
MAX_LEARNING_PAIRS = 20_000  # spread over the whole text; more pairs gained nothing
PARTS_PER_STEP = 4  # workers share the parts of a step
PAIRS_PER_PART = 8
ATTENTION_SCHEDULE = Schedule(
    held_out_period=10,
    examples_per_step=PARTS_PER_STEP,
    max_epochs=6,
    min_steps=600,
    last_rate_share=0.1,
    patience=2,
    min_gain=0.005,
)
INITIAL_DOT_SCALE = 12.0  # initial scores are dot products of unit vectors, times this
# initial additive scores are bumps
BUMP_HEIGHT = 40.0  # sum of |v|
BUMP_DEVIATION = 1.5  # standard deviation of g.q


@dataclass(frozen=True, eq=False)
class LearnedAttention:
    """Parameters of an attention score that were learned for word vectors.

    The arrays have the names that the formula of the score uses. `null` contains the logits of the null word
    for target and for source words; `null_probability` is that of the aligner's hidden Markov model.
    """

    name: str  # "bahdanau" or "scaled-dot"
    arrays: Mapping[str, Reals]
    about: Mapping[str, Any]  # the source of the parameters, and their held-out loss per word

    def __repr__(self) -> str:
        return f"LearnedAttention: {self}"

    def __str__(self) -> str:
        pairs = self.about["pairs"]
        learned = f"held-out loss {self.about['held-out loss']}, {with_plural(pairs, 'pair')}"
        return f"{self.name} of {self.about['units']} units, {learned}"

    @property
    def score(self) -> VectorScore:
        """The score, as :func:`nmtalign.vector_aligner` takes it."""
        doubles = {name: np.asarray(array, np.float64) for name, array in self.arrays.items()}
        origin = PARAMETER_FILES[self.name]
        null = float(doubles["null_probability"])
        if self.name == "bahdanau":
            return BahdanauScore(
                W=doubles["W"], U=doubles["U"], v=doubles["v"], b=doubles["b"], origin=origin, null=null
            )
        return ProjectedDot(W_q=doubles["W_q"], W_k=doubles["W_k"], origin=origin, null=null)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the parameters into an .npz file, or into the folder of the vectors, and return the file.

        Raises UsageError if the file exists, unless `overwrite` is set.
        """
        path = as_path(path)
        if path.suffix != ".npz":
            path = path / PARAMETER_FILES[self.name]
        check_overwrite(path, overwrite=overwrite)
        note = np.frombuffer(json.dumps(dict(self.about), ensure_ascii=False).encode(), np.uint8)
        with AtomicFiles() as files:
            np.savez_compressed(files.binary(path), allow_pickle=False, **self.arrays, about=note)
        return path


@blas.one_thread()
def learn_attention(
    bitext: Pairs,
    vectors: str | Path | tuple[Any, Any],
    *,
    source: ColumnName = None,
    target: ColumnName = None,
    score: LearnedScoreName = "bahdanau",
    model: Aligner | str | Path | None = None,
    units: int = 128,
    workers: int | None = None,
    progress: ProgressInput = False,
    languages: tuple[str, str] | None = None,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
    limit: int | None = None,
    unsafe_pickle: bool = False,
    strip_prefix: str | tuple[str, str] | None = None,
) -> LearnedAttention:
    """Learn the parameters of an attention score over given word vectors from the posteriors of an aligner.

    Parameters
    ----------
    bitext : iterable of (source, target), (list, list), table, or records
        Lines of text, or lists of words, as for :func:`train`; read once.
    vectors : path, (path, path) or (Embeddings, Embeddings)
        Word vectors of both languages, also gensim's, which are not changed; they need not share a space.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.
    score : {"bahdanau", "scaled-dot"}
    model : Aligner or path, optional
        The aligner whose posteriors are learned. Default: an aligner that is learned from the bitext.
    units : int
        Size of the attention layer.
    workers : int, optional
        Threads or processes; the parameters do not depend on it.
    progress : bool or callable
        Show progress after each pass, as a bar of tqdm in a notebook or on stderr. A function is called with
        a :class:`Progress` instead.
    languages : (str, str), optional
        Source and target language. Default: the languages that the folder of the vectors names.
    tokenizer, lowercase, unicode : optional
        How lines become tokens, as in :func:`load`. Default: the setting of the vectors, else
        space-separated words in lower case.
    limit : int, optional
        Read only the first `limit` vectors of each file.
    unsafe_pickle : bool
        Let pickled vectors run code; only for files that you trust.
    strip_prefix : str or (str, str), optional
        As in :func:`load`.

    Raises
    ------
    UsageError
        If the score does not exist, or the number of units is not an integer from 1.
    DataError
        If no pair has words on both sides, or no word of a side has a vector.

    Examples
    --------
    >>> import nmtalign as na
    >>> bitext = [("the black cat", "le chat noir"), ("the white dog", "le chien blanc")] * 20
    >>> learned = na.learn_attention(bitext, "en_fr_vectors", model=na.load(), units=16)
    >>> na.load("en_fr_vectors", score=learned.score).align("the cat", "le chat").links
    [Link(source=0, target=0), Link(source=1, target=1)]
    """
    words_of_lines = WordSettings(tokenizer, lowercase, unicode)
    files = VectorFileSettings(limit=limit, unsafe_pickle=unsafe_pickle, strip_prefix=strip_prefix)
    attention = AttentionSettings(score=score, units=units)
    check_type(model, (Aligner, str, Path, type(None)), "an aligner, or the folder of a model")
    reporter = open_reporter(progress, stage="learning")
    workers = default_workers(workers)
    if languages is not None:
        check_languages(languages)
    elif isinstance(vectors, str | Path) and not is_static_model(resolve_path(vectors)):
        languages = pair_languages(resolve_path(vectors))
    source_vectors, target_vectors = open_vectors(vectors, languages, files=files)
    student = aligner_over_vectors(source_vectors, target_vectors, "dot", GivenVectorsSettings(), languages)
    student = replace(student, text_settings=student.text_settings.updated(words_of_lines))
    pairs = list(read_pairs(bitext, source=source, target=target).pairs)
    words = [student.words_of(pair) for pair in pairs]
    job = TrainingJob(text_settings=student.text_settings, settings=TrainingSettings(workers=workers))
    teacher, teacher_name = _teacher(model, pairs, words, job)

    chosen = _choose_pairs(words)
    student_text = encode_text([words[n] for n in chosen])
    _warn_about_coverage(student, student_text, "vectors")
    known = _known_vectors(student, student_text)
    # the teacher gets the student's tokens, but looks them up in its own forms
    teacher_text = encode_text([teacher.words_of(student.tokens_of(pairs[n])) for n in chosen])
    _warn_about_coverage(teacher, teacher_text, "model")

    parts = _teacher_parts(teacher, student_text, teacher_text, workers)
    if len(parts) == 1:
        warn_caller("too few pairs to hold any out: the reported loss is the training loss")
    dimension = known[0].shape[1]
    norms = float(vector_norms(known[0]).mean()), float(vector_norms(known[1]).mean())
    initial = PARAMETER_CLASSES[attention.score].init(dimension, attention.units, norms)
    learned, loss = learn_parameters(initial, known, parts, workers=workers, report=reporter.step)
    reporter.finish(f"attention learned from {with_plural(len(chosen), 'pair')}")
    about = {
        "score": score,
        "units": units,
        "pairs": len(chosen),
        "aligner": teacher_name,
        "held-out loss": round(loss, 4),
    }
    null = teacher.positions.null_probability
    if null is None:
        null = DEFAULT_NULL
    arrays = {**learned._asdict(), "null_probability": np.asarray(np.float64(null))}
    return LearnedAttention(name=score, arrays=arrays, about=about)


def _teacher(
    model: Aligner | str | Path | None,
    pairs: Sequence[Pair],
    words: Sequence[Pair],
    job: TrainingJob,
) -> tuple[Aligner, str]:
    """Return the aligner to learn from, and a name for it."""
    if model is None:
        return train_aligner(words, job).aligner, "learned from the same text"
    if isinstance(model, str | Path):
        return load_aligner(model), Path(model).name
    return fit_text(model, pairs)[0], model.scorer.description


def _choose_pairs(words: Sequence[Pair]) -> list[int]:
    """Return the numbers of pairs to learn from: evenly spread, none with an empty or a long side."""
    are_usable = [all(0 < len(side) <= MAX_LEARNING_WORDS for side in pair) for pair in words]
    usable = np.flatnonzero(are_usable).tolist()
    if not usable:
        raise DataError(
            f"expected sentence pairs of 1 to {MAX_LEARNING_WORDS} words per side to learn from, found none"
        )
    count = min(len(usable), MAX_LEARNING_PAIRS)
    places = np.linspace(0, len(usable) - 1, count).round().astype(int)
    return [usable[k] for k in places]


def _warn_about_coverage(aligner: Aligner, text: EncodedText, what: str) -> None:
    """Warn if so few words of a text are known that little can be learned from it."""
    if why := aligner.scorer.coverage_of(text.source, text.target, text.sections).warning:
        warn_caller(f"{what}: {why}")


def _known_vectors(student: Aligner, text: EncodedText) -> tuple[Reals, Reals]:
    """Return the vectors of the source and target words of a text; 0 for a word without one."""
    scores: Any = student.scorer.score_text(text)
    # the first parts are as long as the vectors
    source = scores.keys[:, 0]
    target = scores.queries[:, 0]
    for name, side in (("source", source), ("target", target)):
        if not side.any():
            raise DataError(f"no {name} word of the text has a vector; are the languages swapped?")
    return source.astype(np.float32), target.astype(np.float32)


def _teacher_parts(
    teacher: Aligner, student_text: EncodedText, teacher_text: EncodedText, workers: int
) -> list[TeacherPart]:
    """Return the pairs of a text, numbered as the student does, with the posteriors of the teacher."""
    bucket_posteriors = teacher.positions.posteriors_of(teacher.scorer.score_text(teacher_text))

    def parts_of_bucket(k: int) -> list[TeacherPart]:
        return list(teacher_parts(student_text.buckets[k], bucket_posteriors(k)))

    numbers = range(len(student_text.buckets))  # texts of equal lengths have the same buckets
    return list(
        chain.from_iterable(parallel_map(parts_of_bucket, numbers, workers, work=student_text.cell_count))
    )


# --- the parameters, and their loss --------------------------------------------------------------


class DotParameters(NamedTuple):
    """Projections of scaled dot-product attention."""

    # (D, A): for target and for source words
    W_q: Reals
    W_k: Reals
    null: Reals  # (2,)

    @classmethod
    def init(cls, dimension: int, units: int, lengths: tuple[float, float]) -> Self:
        """Return projections whose scores are scaled dot products of unit vectors.

        `lengths` are the mean norms of source and target vectors.
        """
        source_length, target_length = lengths
        # the product of both scales undoes the division by sqrt(A) in the score
        scale = math.sqrt(INITIAL_DOT_SCALE * math.sqrt(units))
        diagonal = np.eye(dimension, units, dtype=np.float32)
        return cls(
            W_q=diagonal * np.float32(scale / target_length),
            W_k=diagonal * np.float32(scale / source_length),
            null=np.full(2, INITIAL_DOT_SCALE / 3, np.float32),
        )

    def scores(self, queries: Reals, keys: Reals) -> Reals:
        """Return the scores (B, T, S) of vectors (B, T, D) and (B, S, D)."""
        return np.asarray(scaled_dot(queries @ self.W_q, keys @ self.W_k))

    def gradient(self, queries: Reals, keys: Reals, upstream: Reals) -> Sequence[Reals]:
        """Return the derivatives of a loss by `W_q` and `W_k`, from those by the scores (B, T, S)."""
        by_query, by_key = scaled_dot_gradient(queries @ self.W_q, keys @ self.W_k, upstream)
        pairs_and_words = (0, 1), (0, 1)  # axes that are summed over
        by_W_q = np.tensordot(queries, by_query, pairs_and_words)  # (D, A)
        by_W_k = np.tensordot(keys, by_key, pairs_and_words)
        return by_W_q, by_W_k


class AdditiveParameters(NamedTuple):
    """Weights of Bahdanau's additive attention."""

    # (D, A): for target and for source words
    W: Reals
    U: Reals
    # (A,)
    v: Reals
    b: Reals
    null: Reals  # (2,)

    @classmethod
    def init(cls, dimension: int, units: int, lengths: tuple[float, float]) -> Self:
        """Return weights whose units come in pairs that are bumps where both projections are equal.

        A pair has one random direction g: ``tanh(g.(q - k) + 1) - tanh(g.(q - k) - 1)`` is largest at q = k.
        `lengths` are the mean norms of source and target vectors.
        """
        source_length, target_length = lengths
        unit_pairs = math.ceil(units / 2)
        half = np.random.default_rng(0).normal(0, BUMP_DEVIATION, (dimension, unit_pairs))
        directions = np.hstack([half, half])[:, :units]  # (D, A)
        signs = np.where(np.arange(units) < unit_pairs, 1.0, -1.0)
        return cls(
            W=(directions / target_length).astype(np.float32),
            U=(-directions / source_length).astype(np.float32),
            v=(signs * BUMP_HEIGHT / units).astype(np.float32),
            b=signs.astype(np.float32),
            null=np.ones(2, np.float32),
        )

    def scores(self, queries: Reals, keys: Reals) -> Reals:
        """Return the scores (B, T, S) of vectors (B, T, D) and (B, S, D)."""
        return np.asarray(additive(queries, keys, self.W, self.U, self.v, bias=self.b))

    def gradient(self, queries: Reals, keys: Reals, upstream: Reals) -> Sequence[Reals]:
        """Return the derivatives of a loss by W, U, v and b, from those by the scores (B, T, S)."""
        slopes = additive_gradient(queries, keys, self.W, self.U, self.v, upstream, bias=self.b)
        return slopes.W, slopes.U, slopes.v, slopes.bias


# The last array of each class has the logits of null for target and for source words; `gradient` omits it.
ScoreParameters = DotParameters | AdditiveParameters
PARAMETER_CLASSES: dict[str, type[DotParameters] | type[AdditiveParameters]] = {
    "bahdanau": AdditiveParameters,
    "scaled-dot": DotParameters,
}


class TeacherPart(NamedTuple):
    """Pairs of similar length, and the posteriors of the aligner."""

    # word numbers (B, T) and (B, S)
    target: Ints
    source: Ints
    # (B, T, S)
    forward: Reals
    reverse: Reals
    # probabilities that a word is aligned to null, (B, T) and (B, S)
    target_null: Reals
    source_null: Reals


def teacher_parts(bucket: Bucket, teacher: PosteriorsAndRatios) -> Iterator[TeacherPart]:
    """Yield the pairs of a bucket in parts, in random order, without filler columns."""
    columns = np.random.default_rng(0).permutation(bucket.filled_columns)
    for part in block_slices(len(columns), PAIRS_PER_PART):
        chosen = columns[part]
        forward = _pairs_first(teacher.posteriors.forward, chosen)
        reverse = _pairs_first(teacher.posteriors.reverse, chosen)
        yield TeacherPart(
            target=bucket.target[:, chosen].T,
            source=bucket.source[:, chosen].T,
            forward=forward.astype(np.float16),
            reverse=reverse.astype(np.float16),
            # a sum of rounded posteriors may exceed 1
            target_null=np.maximum(1 - forward.sum(axis=2), 0),
            source_null=np.maximum(1 - reverse.sum(axis=1), 0),
        )


def _pairs_first(cells: Reals, columns: Longs) -> Floats:
    """Return some columns of cells (T, S, B) as an array (B, T, S)."""
    return np.ascontiguousarray(cells[..., columns].transpose(2, 0, 1), dtype=np.float32)


class PartLoss(NamedTuple):
    """The sum of the losses of some words, its derivatives, and the number of words."""

    loss: float
    gradient: Sequence[Reals]
    words: float


def part_loss(
    parameters: ScoreParameters, vectors: tuple[Reals, Reals], part: TeacherPart, *, derive: bool = True
) -> PartLoss:
    """Return the loss of a part, without its gradient unless `derive` is set.

    `vectors` (V, D) of source and target words are 0 for words without a vector.
    """
    keys = vectors[0][part.source]  # (B, S, D)
    queries = vectors[1][part.target]  # (B, T, D)
    known_source = np.asarray(keys.any(axis=2))
    known_target = np.asarray(queries.any(axis=2))
    inside = known_target[:, :, None] & known_source[:, None]  # (B, T, S)
    scores = np.where(inside, parameters.scores(queries, keys), np.float32(PADDING_SCORE))
    of_target = _cross_entropy(
        scores, parameters.null[0], part.forward * inside, part.target_null * known_target, axis=2
    )
    of_source = _cross_entropy(
        scores, parameters.null[1], part.reverse * inside, part.source_null * known_source, axis=1
    )
    gradient: Sequence[Reals] = ()
    if derive:
        upstream = of_target.by_scores + of_source.by_scores
        by_null = np.array([of_target.by_null, of_source.by_null], parameters.null.dtype)
        gradient = (*parameters.gradient(queries, keys, upstream), by_null)
    words = known_target.sum() + known_source.sum()
    return PartLoss(of_target.loss + of_source.loss, gradient, float(words))


class CrossEntropy(NamedTuple):
    """A cross-entropy, and its derivatives."""

    loss: float
    by_scores: Reals  # derivatives by the scores, (B, T, S)
    by_null: float  # derivative by the logit of the null word


def _cross_entropy(
    scores: Reals, null_logit: np.floating, wanted: Reals, wanted_null: Reals, *, axis: int
) -> CrossEntropy:
    """Return the cross-entropy of the softmax of scores (B, T, S), and a null logit, along an axis.

    `wanted` (B, T, S) and `wanted_null` sum to at most 1 along the axis; a word counts as much as their sum.
    """
    top = np.maximum(scores.max(axis=axis), null_logit)
    powers = np.exp(scores - np.expand_dims(top, axis))
    null_power = np.exp(null_logit - top)
    total = powers.sum(axis=axis) + null_power
    weight = wanted.sum(axis=axis) + wanted_null
    log_total = top + np.log(total)
    loss = (weight * log_total - wanted_null * null_logit).sum() - (wanted * scores).sum()
    # derivative: weight times the softmax, minus what is wanted
    powers *= np.expand_dims(weight / total, axis)
    powers -= wanted
    by_null = (null_power * weight / total - wanted_null).sum()
    return CrossEntropy(float(loss), powers, float(by_null))


def learn_parameters(
    initial: ScoreParameters,
    vectors: tuple[Reals, Reals],
    parts: Sequence[TeacherPart],
    *,
    workers: int = 1,
    report: Callable[[str, int], None] | None = None,
) -> tuple[ScoreParameters, float]:
    """Return the parameters with the least held-out loss, and that loss per word.

    `initial` is not changed. `report` is called after each pass with a line of text and the maximum
    number of passes.
    """

    def gradient(parameters: ScoreParameters, step: Sequence[TeacherPart]) -> list[Reals]:
        losses = list(parallel_map(partial(part_loss, parameters, vectors), step, workers))
        words = np.float32(max(sum(loss.words for loss in losses), 1))
        # added in the order of the parts, so that the sum does not depend on the workers
        sums = [sum(arrays) for arrays in zip(*(loss.gradient for loss in losses), strict=True)]
        return [np.asarray(total / words) for total in sums]

    def held_out_loss(parameters: ScoreParameters, held_out: Sequence[TeacherPart]) -> float:
        loss_of_part = partial(part_loss, parameters, vectors, derive=False)
        losses = list(parallel_map(loss_of_part, held_out, workers))
        words = max(sum(loss.words for loss in losses), 1)
        return float(sum(loss.loss for loss in losses) / words)

    def report_pass(number: int, passes: int, loss: float) -> None:
        if report is not None:
            report(f"pass {number} of at most {passes}: held-out loss {loss:.4f} per word", passes)

    return minimize(
        initial,
        parts,
        ATTENTION_SCHEDULE,
        gradient=gradient,
        held_out_loss=held_out_loss,
        seed=0,
        report=report_pass,
    )
