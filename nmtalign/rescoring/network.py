"""The network of the rescorer, log odds of a link from additive attention over features of a cell.

    e(t, s) = v . tanh(P phi(t, s) + b) + u . phi(t, s) + a[f_t] + c[e_s] + o

phi(t, s) are the features, scores of the cell and its neighbors; a and c are the weights of frequent words. A
score is the log odds of a link; the score of the null word is 0 (Bahdanau, Cho and Bengio 2014, A.1.2).

All features are multiples of 1/65536, so that sums of products with weights on a grid are exact in double
precision in any order: the results of a pair do not depend on the other pairs.

Axes: B pairs of a bucket, T target words, S source words, V words of a text, A size of the attention layer, C
classes of words: one of each frequent word, one of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Flags, Floats, Integers, Reals
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import look_up, number_words
from nmtalign.positions.position_model import TextScores

Ranks = tuple[Integers, Integers]  # the ranks of source and target words
WordValues = tuple[Floats, Floats]  # one value per source and target word

LEXICAL_FEATURES = 14  # computed from the emissions
POSTERIOR_FEATURES = 13  # computed from posteriors, in addition
LOGIT_FEATURE = LEXICAL_FEATURES + POSTERIOR_FEATURES - 1  # log odds of the joint probability
MAX_WEIGHTED_WORDS = 60  # the frequent words of a side that have weights of their own
GRID_STEPS_PER_UNIT = np.float32(65536)
MAX_FEATURE = np.float32(32)
LOG_RATIO_SCALE = np.float32(0.4)  # brings log ratios to the size of the other features
OUTSIDE_LOG_RATIO = np.float32(-20)  # stands for cells outside the matrix; lower than any maximum
MIN_NEIGHBOR_FEATURE = np.float32(-2)
# bounds that keep logarithms finite
MIN_LIKELIHOOD_RATIO = np.float32(1e-6)
MIN_LOG_PROBABILITY = np.float32(1e-4)
MAX_LOG_ODDS = np.float32(12)
FEATURE_COUNT = LEXICAL_FEATURES + POSTERIOR_FEATURES
HIDDEN_UNITS = 16  # A of one network, before the mean of several networks is taken
# weights on this grid have 22 bits; their products with features of 21 bits leave 10 bits for the sum
WEIGHT_STEPS_PER_UNIT = 2.0**18


# --- features ------------------------------------------------------------------------------------


class Inputs(NamedTuple):
    """Inputs of the network for some sentence pairs."""

    features: Floats  # (B, T, S, features)
    # (B, T, 1) and (B, 1, S): rank of each word among the frequent ones from 1; 0 for all others
    target_words: Integers
    source_words: Integers

    def cells(self, pair: int, chosen: Flags) -> Inputs:
        """Return chosen cells (T, S) of a pair as N pairs of one word each."""
        target_ranks = np.broadcast_to(self.target_words[pair], chosen.shape)  # (T, S)
        source_ranks = np.broadcast_to(self.source_words[pair], chosen.shape)
        return Inputs(
            features=self.features[pair][chosen][:, None, None],  # (N, 1, 1, features)
            target_words=target_ranks[chosen][:, None, None],
            source_words=source_ranks[chosen][:, None, None],
        )


def on_grid(values: Reals) -> Floats:
    """Return `values` rounded to multiples of 1/65536, from -32 to 32."""
    return np.asarray(
        np.rint(np.clip(values, -MAX_FEATURE, MAX_FEATURE) * GRID_STEPS_PER_UNIT) / GRID_STEPS_PER_UNIT,
        np.float32,
    )


class KnownWords(NamedTuple):
    """Facts about the words (V,) of a text."""

    counts: WordValues  # log(count + 1) / 5 of source and target words in the training text
    same: Integers  # number of the target word that is spelled like a source word, or -1
    frequent: Ranks  # rank of source and target words among the frequent ones, from 1
    nulls: WordValues  # likelihood ratios of source and target words under null


def known_words(scores: TextScores, frequent: tuple[Sequence[str], Sequence[str]]) -> KnownWords:
    """Look up the words of a text."""
    source, target = scores.text.source.words, scores.text.target.words
    source_counts, target_counts = scores.training_counts
    source_frequent, target_frequent = frequent
    return KnownWords(
        counts=(_count_feature(source_counts), _count_feature(target_counts)),
        same=look_up(number_words(target), source),
        frequent=(
            look_up(number_words(["", *source_frequent]), source, 0),
            look_up(number_words(["", *target_frequent]), target, 0),
        ),
        nulls=scores.null_ratios,
    )


def _count_feature(counts: Integers) -> Floats:
    """Return log(count + 1) / 5 of each word."""
    return np.asarray(np.log(np.asarray(counts) + 1) / 5).astype(np.float32)


def lexical_features(bucket: Bucket, known: KnownWords, ratios: Floats) -> list[Floats]:
    """Return features from likelihood ratios (T, S, B) and of null: arrays that broadcast to (T, S, B)."""
    inside = bucket.inside
    ratio = np.where(
        inside, np.log(np.maximum(ratios, MIN_LIKELIHOOD_RATIO)) * LOG_RATIO_SCALE, OUTSIDE_LOG_RATIO
    )
    distance = _distance(bucket)
    framed = _framed(ratio / 2, OUTSIDE_LOG_RATIO / 2)  # (T + 2, S + 2, B)
    same_target_word = np.maximum(framed[1:-1, :-2], framed[1:-1, 2:])  # cells left and right
    same_source_word = np.maximum(framed[:-2, 1:-1], framed[2:, 1:-1])  # cells above and below
    framed[framed == OUTSIDE_LOG_RATIO / 2] = 0
    source_null = known.nulls[0][bucket.source]  # (S, B)
    target_null = known.nulls[1][bucket.target][:, None]  # (T, 1, B)
    return [
        distance,
        np.abs(distance),
        ratio,
        ratio - ratio.max(axis=1, keepdims=True),
        ratio - ratio.max(axis=0, keepdims=True),
        np.maximum(same_target_word, MIN_NEIGHBOR_FEATURE),
        np.maximum(same_source_word, MIN_NEIGHBOR_FEATURE),
        framed[:-2, :-2],
        framed[2:, 2:],
        known.counts[0][bucket.source],
        known.counts[1][bucket.target][:, None],
        (known.same[bucket.source] == bucket.target[:, None]).astype(np.float32),
        np.log(np.maximum(target_null, MIN_LIKELIHOOD_RATIO)) * LOG_RATIO_SCALE,
        np.log(np.maximum(source_null, MIN_LIKELIHOOD_RATIO)) * LOG_RATIO_SCALE,
    ]


def _distance(bucket: Bucket) -> Floats:
    """Return four times the signed distance of cells to the diagonal, (T, S, B)."""
    T, S, _ = bucket.shape
    across = (np.arange(S)[:, None] + 0.5) / np.maximum(bucket.source_lengths, 1)  # (S, B)
    down = (np.arange(T)[:, None] + 0.5) / np.maximum(bucket.target_lengths, 1)  # (T, B)
    return (4 * (across - down[:, None])).astype(np.float32)


def _framed(cells: Reals, value: np.floating) -> Floats:
    """Return cells (T, S, B) with a frame of `value`, one cell wide, around each pair."""
    return np.pad(cells.astype(np.float32), ((1, 1), (1, 1), (0, 0)), constant_values=value)


def posterior_features(forward: Floats, reverse: Floats, joint: Floats) -> list[Floats]:
    """Return features from p(s|t), p(t|s) and the joint probability, each (T, S, B)."""
    both = np.sqrt(forward * reverse)
    framed = _framed(both, np.float32(0))  # (T + 2, S + 2, B)
    same_target_word = np.maximum(framed[1:-1, :-2], framed[1:-1, 2:])
    same_source_word = np.maximum(framed[:-2, 1:-1], framed[2:, 1:-1])
    return [
        np.log(np.maximum(forward, MIN_LOG_PROBABILITY)) / 4 + 1,
        np.log(np.maximum(reverse, MIN_LOG_PROBABILITY)) / 4 + 1,
        forward,
        reverse,
        framed[:-2, :-2] + framed[2:, 2:],
        np.maximum(same_target_word, same_source_word),
        both.max(axis=1, keepdims=True) - both,
        both.max(axis=0, keepdims=True) - both,
        1 - forward.sum(axis=1, keepdims=True),
        1 - reverse.sum(axis=0, keepdims=True),
        forward.sum(axis=0, keepdims=True),
        reverse.sum(axis=1, keepdims=True),
        np.clip(log_odds(joint), -MAX_LOG_ODDS, MAX_LOG_ODDS),
    ]


def log_odds(probability: Floats) -> Floats:
    """Return log(p / (1 - p)), finite for all p from 0 to 1."""
    least = np.float32(1e-9)
    return np.log(np.maximum(probability, least)) - np.log(np.maximum(1 - probability, least))


def make_inputs(bucket: Bucket, known: KnownWords, ratios: Floats, *posteriors: Floats) -> Inputs:
    """Return the inputs of the network for a bucket, from arrays (T, S, B)."""
    source_ranks, target_ranks = known.frequent
    T, S, B = bucket.shape
    features = lexical_features(bucket, known, ratios) + posterior_features(*posteriors)
    cells = np.empty((B, T, S, len(features)), np.float32)
    for k, feature in enumerate(features):
        cells[..., k] = np.broadcast_to(feature, (T, S, B)).transpose(2, 0, 1)
    return Inputs(
        features=on_grid(cells) * bucket.inside.transpose(2, 0, 1)[..., None],
        target_words=target_ranks[bucket.target.T][:, :, None],  # (B, T, 1)
        source_words=source_ranks[bucket.source.T][:, None],  # (B, 1, S)
    )


def bucket_columns(bucket: Bucket, columns: slice) -> Bucket:
    """Return a bucket with some of the pairs."""
    return replace(
        bucket,
        sections=bucket.sections[columns],
        source=np.ascontiguousarray(bucket.source[:, columns]),
        target=np.ascontiguousarray(bucket.target[:, columns]),
        source_lengths=bucket.source_lengths[columns],
        target_lengths=bucket.target_lengths[columns],
    )


# --- the network ---------------------------------------------------------------------------------


class Network(NamedTuple):
    """A network: its learned weights."""

    P: Reals  # (features, A)
    # (A,)
    b: Reals
    v: Reals
    u: Reals  # (features,)
    # (C,): of frequent target and source words; the first entry, for all other words, stays 0
    a: Reals
    c: Reals
    o: Reals  # (1,)

    def rounded(self) -> Network:
        """Return the network with weights rounded to a grid, so that the sums of :meth:`scores` are exact."""
        return Network(
            *(
                (np.rint(weights * WEIGHT_STEPS_PER_UNIT) / WEIGHT_STEPS_PER_UNIT).astype(np.float32)
                for weights in self
            )
        )

    def scores(self, inputs: Inputs) -> Reals:
        """Return the log odds e of links, float32 (B, T, S)."""
        # NumPy's einsum sums each cell by itself, so that its bits depend on no other
        e = np.einsum("...a,a->...", np.tanh(_product(inputs.features, self.P) + self.b), self.v)
        words = self.a[inputs.target_words], self.c[inputs.source_words]
        return np.asarray(e + _product(inputs.features, self.u) + words[0] + words[1] + self.o)

    def gradient(self, inputs: Inputs, upstream: Reals) -> Network:
        """Return the gradient of a loss from its gradient by the scores, (B, T, S)."""
        rows, slopes = inputs.features.reshape(upstream.size, -1), upstream.ravel()
        active = np.tanh(inputs.features @ self.P + self.b).reshape(upstream.size, -1)  # (cells, A)
        inner = slopes[:, None] * self.v * (1 - active * active)
        return Network(
            P=rows.T @ inner,
            b=inner.sum(axis=0),
            v=slopes @ active,
            u=slopes @ rows,
            a=_sum_by_class(upstream, inputs.target_words, len(self.a)),
            c=_sum_by_class(upstream, inputs.source_words, len(self.c)),
            o=upstream.sum(keepdims=True).reshape(1),
        )


def _product(rows: Reals, weights: Reals) -> Reals:
    """Return ``rows @ weights`` summed in double precision."""
    return np.asarray(rows.astype(np.float64) @ weights.astype(np.float64)).astype(weights.dtype)


def _sum_by_class(upstream: Reals, classes: Integers, size: int) -> Reals:
    """Return the sum of the gradient over the cells of each frequent word."""
    sums = np.bincount(np.broadcast_to(classes, upstream.shape).ravel(), upstream.ravel(), size)
    sums[0] = 0
    return sums.astype(upstream.dtype)


def initial_network(seed: int) -> Network:
    """Return a network with random weights that starts nearly as the log odds of the joint probability."""
    random = np.random.default_rng(seed)
    P = random.normal(0, 0.3, (FEATURE_COUNT, HIDDEN_UNITS))
    # Two rows are drawn, although one is used, so that a seed gives the network that was measured with it.
    _, v = random.normal(0, 0.1 * HIDDEN_UNITS**-0.5, (2, HIDDEN_UNITS))
    u = np.zeros(FEATURE_COUNT, np.float32)
    u[LOGIT_FEATURE] = 1
    return Network(
        P=P.astype(np.float32),
        b=np.zeros(HIDDEN_UNITS, np.float32),
        v=v.astype(np.float32),
        u=u,
        a=np.zeros(MAX_WEIGHTED_WORDS + 1, np.float32),
        c=np.zeros(MAX_WEIGHTED_WORDS + 1, np.float32),
        o=np.zeros(1, np.float32),
    )


def mean_network(networks: Sequence[Network]) -> Network:
    """Return the network whose score is the mean of the scores of several."""
    n = np.float32(len(networks))
    parts = {name: [getattr(network, name) for network in networks] for name in Network._fields}
    hidden = {name: np.concatenate(parts[name], axis=-1) for name in ("P", "b", "v")}
    direct = {name: sum(parts[name]) / n for name in ("u", "a", "c", "o")}
    return Network(**(hidden | direct | {"v": hidden["v"] / n}))


def sigmoid(e: Reals) -> Reals:
    """Return ``1 / (1 + exp(-e))``."""
    return np.asarray(1 / (1 + np.exp(-np.clip(e, -60, 60))))


class CellExamples(NamedTuple):
    """Cells of one or more sentence pairs, each with its target from 0 to 1 and its importance, (B, T, S)."""

    inputs: Inputs
    targets: Reals
    importance: Reals


def cell_loss(network: Network, examples: CellExamples) -> tuple[float, Network]:
    """Return the mean binary cross-entropy over cells, and its gradient."""
    e = network.scores(examples.inputs)
    y = examples.targets
    m = examples.importance
    total = m.sum()
    loss = float((m * (np.logaddexp(0, e) - y * e)).sum() / total)
    return loss, network.gradient(examples.inputs, m * (sigmoid(e) - y) / total)
