"""Parameters of attention scores over fixed word vectors, learned from the posteriors of an aligner.

The softmax of the scores over the source words, and the null word, learns the aligner's p(s|t), and the
softmax over target words its p(t|s): the loss is the sum of both cross-entropies. Adam takes minibatches of
pairs of like length; the parameters of the least held-out loss are kept. Words without a vector are left out.
(Hinton, Vinyals and Dean 2015, "Distilling the Knowledge in a Neural Network".)

Axes: B pairs, T target words, S source words, V vocabulary, D dimension, A units of attention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from nmtalign.arrays import Ints, Reals, block_slices
from nmtalign.attention.scores import additive, additive_gradient, scaled_dot, scaled_dot_gradient
from nmtalign.corpus.buckets import PADDING_SCORE, Bucket
from nmtalign.corpus.parallel import parallel_map
from nmtalign.positions.model import BucketPosteriors
from nmtalign.rescoring.network import Adam

STEP, PARTS = 32, 4  # pairs of a step of Adam, in parts that workers may share
EPOCHS, STEPS = 6, 600  # passes at most; more where they have fewer steps in all
SETTLED = 0.005  # share by which a pass has to lower the held-out loss
PATIENCE = 2  # passes that lower it less in a row; then learning ends
RATE, LAST_RATE = 0.01, 0.1  # learning rate of the first step; the last one, as a share of it
HELD_OUT = 10  # one part in so many chooses the pass
SHARPNESS = 12.0  # scale at which dot products of unit vectors start
HEIGHT, WIDTH = 40.0, 1.5  # of the bump at which additive scores start: sum of |v|, deviation of g.q


class DotParameters(NamedTuple):
    """Projections of scaled dot-product attention."""

    # (D, A): for target and for source words
    W_q: Reals
    W_k: Reals
    null: Reals  # (2,)

    @classmethod
    def start(cls, dimension: int, units: int, lengths: tuple[float, float]) -> Self:
        """Return projections whose scores are scaled dot products."""
        scale = math.sqrt(SHARPNESS * math.sqrt(units))
        diagonal = np.eye(dimension, units, dtype=np.float32)
        W_k, W_q = (diagonal * np.float32(scale / length) for length in lengths)
        return cls(W_q, W_k, np.full(2, SHARPNESS / 3, np.float32))

    def scores(self, queries: Reals, keys: Reals) -> Reals:
        return np.asarray(scaled_dot(queries @ self.W_q, keys @ self.W_k))

    def gradient(self, queries: Reals, keys: Reals, upstream: Reals) -> Sequence[Reals]:
        by_query, by_key = scaled_dot_gradient(queries @ self.W_q, keys @ self.W_k, upstream)
        return np.tensordot(queries, by_query, ((0, 1), (0, 1))), np.tensordot(keys, by_key, ((0, 1), (0, 1)))


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
    def start(cls, dimension: int, units: int, lengths: tuple[float, float]) -> Self:
        """Return weights whose units come in pairs that are bumps where both projections are equal.

        A pair has one random direction g: ``tanh(g.(q - k) + 1) - tanh(g.(q - k) - 1)`` is largest at q = k.
        """
        half = np.random.default_rng(0).normal(0, WIDTH, (dimension, -(-units // 2)))
        directions = np.hstack([half, half])[:, :units]
        signs = np.where(np.arange(units) < half.shape[1], 1.0, -1.0)
        U, W = (-directions / lengths[0], directions / lengths[1])
        arrays = W, U, signs * HEIGHT / units, signs, np.ones(2)
        return cls(*(array.astype(np.float32) for array in arrays))

    def scores(self, queries: Reals, keys: Reals) -> Reals:
        return np.asarray(additive(queries, keys, self.W, self.U, self.v, bias=self.b))

    def gradient(self, queries: Reals, keys: Reals, upstream: Reals) -> Sequence[Reals]:
        slopes = additive_gradient(queries, keys, self.W, self.U, self.v, upstream, bias=self.b)
        return slopes.W, slopes.U, slopes.v, slopes.bias


# arrays of learned scores, the last one the logits of null for target and for source words; `start` takes the
# dimension, the units and the mean lengths of source and target vectors; `gradient` leaves the last array out
KINDS: dict[str, Any] = {"bahdanau": AdditiveParameters, "scaled-dot": DotParameters}


class Part(NamedTuple):
    """Pairs of like length, and what the aligner says of them."""

    # word numbers (B, T) and (B, S)
    target: Ints
    source: Ints
    # (B, T, S)
    forward: Reals
    reverse: Reals
    # probabilities that a word is aligned to null, (B, T) and (B, S)
    target_null: Reals
    source_null: Reals


def parts_of(bucket: Bucket, given: BucketPosteriors) -> Iterator[Part]:
    """Yield parts of the pairs of a bucket in random order, without filler columns."""
    columns = np.random.default_rng(0).permutation(np.flatnonzero(bucket.pieces >= 0))
    for some in block_slices(len(columns), STEP // PARTS):
        chosen = columns[some]
        forward, reverse = (
            np.ascontiguousarray(cells[..., chosen].transpose(2, 0, 1), dtype=np.float32)
            for cells in (given.posteriors.forward, given.posteriors.reverse)
        )
        nulls = (np.maximum(1 - forward.sum(axis=2), 0), np.maximum(1 - reverse.sum(axis=1), 0))
        words = bucket.target[:, chosen].T, bucket.source[:, chosen].T
        yield Part(*words, forward.astype(np.float16), reverse.astype(np.float16), *nulls)


class Result(NamedTuple):
    """Sum of losses of some words, its derivatives, the number of words."""

    loss: float
    gradient: Sequence[Reals]
    words: float


def loss_and_gradient(
    parameters: Any, vectors: tuple[Reals, Reals], part: Part, *, derive: bool = True
) -> Result:
    """Return the loss of a part; `vectors` (V, D) of source and target words are 0 where there is none."""
    queries, keys = vectors[1][part.target], vectors[0][part.source]
    rows, columns = (np.asarray(side.any(axis=2)) for side in (queries, keys))
    inside = rows[:, :, None] & columns[:, None]
    scores = np.where(inside, parameters.scores(queries, keys), np.float32(PADDING_SCORE))
    loss, upstream, by_null = 0.0, np.zeros_like(scores), []
    sides = (2, part.forward, part.target_null * rows), (1, part.reverse, part.source_null * columns)
    for (axis, wanted, null), logit in zip(sides, parameters.null, strict=True):
        of_side, by_scores, by_logit = _cross_entropy(scores, logit, wanted * inside, null, axis)
        loss += of_side
        upstream += by_scores
        by_null.append(by_logit)
    gradient: Sequence[Reals] = ()
    if derive:
        gradient = *parameters.gradient(queries, keys, upstream), np.array(by_null, parameters.null.dtype)
    return Result(loss, gradient, float(rows.sum() + columns.sum()))


def _cross_entropy(
    scores: Reals, logit: np.floating, wanted: Reals, null: Reals, axis: int
) -> tuple[float, Reals, float]:
    """Return the cross-entropy of the softmax along an axis, and its derivatives by scores and logit of null.

    `wanted` (B, T, S) and `null` sum to 1 along the axis, or less: a word counts as much as their sum.
    """
    top = np.maximum(scores.max(axis=axis), logit)
    powers = np.exp(scores - np.expand_dims(top, axis))
    of_null = np.exp(logit - top)
    total = powers.sum(axis=axis) + of_null
    weight = wanted.sum(axis=axis) + null
    loss = (weight * (top + np.log(total)) - null * logit).sum() - (wanted * scores).sum()
    powers *= np.expand_dims(weight / total, axis)
    powers -= wanted
    return float(loss), powers, float((of_null * weight / total - null).sum())


def learn_parameters(
    first: Any,
    vectors: tuple[Reals, Reals],
    parts: Sequence[Part],
    *,
    workers: int = 1,
    report: Callable[[str], None] | None = None,
) -> tuple[Any, float]:
    """Return the parameters of the least held-out loss, and that loss a word; `first` stays as it is."""
    random = np.random.default_rng(0)
    order = [parts[k] for k in random.permutation(len(parts)).tolist()]
    held = order[::HELD_OUT]
    training = [part for n, part in enumerate(order) if n % HELD_OUT] or held
    current = _copied(first)
    best, least, waited, adam = first, _mean_loss(first, vectors, held, workers), 0, Adam(current)
    steps = -(-len(training) // PARTS)
    epochs = max(EPOCHS, -(-STEPS // steps))
    for epoch in range(1, epochs + 1):
        shuffled = [training[k] for k in random.permutation(len(training)).tolist()]
        for gradient in _gradients(current, vectors, shuffled, workers):
            adam.step(gradient, RATE * (1 - (1 - LAST_RATE) * adam.steps / (epochs * steps)))
        loss = _mean_loss(current, vectors, held, workers)
        if report is not None:
            report(f"pass {epoch} of at most {epochs}: held-out loss {loss:.4f} a word")
        waited = waited + 1 if loss > least * (1 - SETTLED) else 0
        if loss < least:
            best, least = _copied(current), loss
        if waited == PATIENCE:
            break
    return best, least


def _copied(parameters: Any) -> Any:
    return type(parameters)(*(array.copy() for array in parameters))


def _mean_loss(parameters: Any, vectors: tuple[Reals, Reals], parts: Sequence[Part], workers: int) -> float:
    loss = partial(loss_and_gradient, parameters, vectors, derive=False)
    results = list(parallel_map(loss, parts, workers))
    return float(sum(result.loss for result in results) / max(sum(result.words for result in results), 1))


def _gradients(
    current: Any, vectors: tuple[Reals, Reals], parts: Sequence[Part], workers: int
) -> Iterator[list[Reals]]:
    """Yield the mean gradient of each step; those of parts are summed in their order."""
    derive = partial(loss_and_gradient, current, vectors)
    for step in block_slices(len(parts), PARTS):
        results = list(parallel_map(derive, parts[step], workers))
        words = np.float32(max(sum(result.words for result in results), 1))
        yield [sum(arrays) / words for arrays in zip(*(result.gradient for result in results), strict=True)]
