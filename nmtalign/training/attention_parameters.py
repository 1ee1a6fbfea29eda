"""Parameters of attention scores over fixed word vectors, learned from the posteriors of an aligner.

The softmax of the scores over the source words and the null word learns the aligner's p(s|t); the softmax
over the target words and null learns p(t|s). The loss is the sum of both cross-entropies, as in Hinton,
Vinyals and Dean (2015), "Distilling the Knowledge in a Neural Network". Minibatches contain pairs of similar
length. Words without a vector are skipped.

Axes: B pairs, T target words, S source words, V vocabulary, D dimension, A units of attention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from nmtalign.arrays import Floats, Ints, Longs, Reals, block_slices
from nmtalign.attention.adam import Schedule, minimize
from nmtalign.attention.scores import additive, additive_gradient, scaled_dot, scaled_dot_gradient
from nmtalign.corpus.buckets import PADDING_SCORE, Bucket
from nmtalign.corpus.parallel import parallel_map
from nmtalign.positions.position_model import PosteriorsAndRatios

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
