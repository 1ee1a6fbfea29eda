"""Attention learned from posteriors: the loss by slow loops, numerical gradients, planted parameters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nmtalign.aligner import attention_learning
from nmtalign.aligner.attention_learning import (
    ATTENTION_SCHEDULE,
    PARAMETER_CLASSES,
    AdditiveParameters,
    DotParameters,
    TeacherPart,
    learn_parameters,
    part_loss,
)

D, A, WORDS = 4, 6, 40
SHAPES = {"scaled-dot": [(D, A), (D, A), (2,)], "bahdanau": [(D, A), (D, A), (A,), (A,), (2,)]}
SCORES = list(SHAPES)


def drawn(score: str, seed: int = 0, size: float = 1.0):
    """Parameters by hand: numbers of a generator, null less likely than most words."""
    random = np.random.default_rng(seed)
    *arrays, null = (size * random.normal(size=shape) for shape in SHAPES[score])
    return PARAMETER_CLASSES[score](*arrays, null - 1)


def vectors(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of source and target words; word 0 is padding and word 1 has none."""
    found = np.random.default_rng(seed).normal(size=(2, WORDS, D))
    found[:, :2] = 0
    return found[0], found[1]


def naive_scores(parameters, query: np.ndarray, key: np.ndarray) -> float:
    if isinstance(parameters, DotParameters):
        return float((query @ parameters.W_q) @ (key @ parameters.W_k)) / math.sqrt(A)
    inner = [math.tanh(x) for x in query @ parameters.W + key @ parameters.U + parameters.b]
    return float(parameters.v @ inner)


def naive_direction(scores: list[float], logit: float, wanted: list[float], null: float) -> float:
    """Cross-entropy of one word's softmax over the words of the other side and null."""
    total = sum(math.exp(score) for score in scores) + math.exp(logit)
    given = sum(w * (score - math.log(total)) for w, score in zip(wanted, scores, strict=True))
    return -given - null * (logit - math.log(total))


def naive_loss(parameters, known, part: TeacherPart) -> float:
    """The sum over all words that have a vector, of the words that have one; word by word."""
    total = 0.0
    for pair in range(len(part.target)):
        rows = [(t, w) for t, w in enumerate(part.target[pair]) if w > 1]
        columns = [(s, w) for s, w in enumerate(part.source[pair]) if w > 1]
        e = {(t, s): naive_scores(parameters, known[1][a], known[0][b]) for t, a in rows for s, b in columns}
        for t, _ in rows:
            wanted = [float(part.forward[pair, t, s]) for s, _ in columns]
            scores = [e[t, s] for s, _ in columns]
            total += naive_direction(scores, parameters.null[0], wanted, part.target_null[pair, t])
        for s, _ in columns:
            wanted = [float(part.reverse[pair, t, s]) for t, _ in rows]
            scores = [e[t, s] for t, _ in rows]
            total += naive_direction(scores, parameters.null[1], wanted, part.source_null[pair, s])
    return total


def small_part(seed: int = 2) -> TeacherPart:
    """Three pairs of up to 4 and 5 words, one padded, some words without a vector."""
    random = np.random.default_rng(seed)
    target, source = random.integers(1, 9, (3, 4)), random.integers(1, 9, (3, 5))
    target[0, 3] = source[1, 4] = 0
    forward, reverse = random.dirichlet(np.ones(6), (3, 4))[..., :5], random.dirichlet(np.ones(5), (3, 5))
    reverse = reverse[..., :4].transpose(0, 2, 1)
    nulls = 1 - forward.sum(axis=2), 1 - reverse.sum(axis=1)
    return TeacherPart(target, source, forward, reverse, *nulls)


@pytest.mark.parametrize("score", SCORES)
def test_the_loss_is_that_of_slow_loops(score):
    parameters, known, part = drawn(score), vectors(), small_part()
    found = part_loss(parameters, known, part, derive=False)
    assert found.loss == pytest.approx(naive_loss(parameters, known, part), rel=1e-9)
    assert found.words == (part.target > 1).sum() + (part.source > 1).sum()


@pytest.mark.parametrize("score", SCORES)
def test_gradients_are_the_numerical_ones(score):
    parameters, known, part = drawn(score), vectors(), small_part()
    step = 1e-5
    for own, gradient in zip(parameters, part_loss(parameters, known, part).gradient, strict=True):
        assert gradient.shape == own.shape
        for place in np.ndindex(own.shape):
            value, sides = own[place], []
            for sign in (1, -1):
                own[place] = value + sign * step
                sides.append(part_loss(parameters, known, part, derive=False).loss)
            own[place] = value
            numerical = (sides[0] - sides[1]) / (2 * step)
            # The error of a central difference is of the order of step^2.
            assert gradient[place] == pytest.approx(numerical, rel=1e-5, abs=1e-6)


def planted(score: str, pairs: int = 1500) -> tuple[object, list[TeacherPart]]:
    """Parameters by hand, and parts whose posteriors are their own softmax."""
    truth, known = drawn(score, seed=5, size=2.0), vectors()
    random = np.random.default_rng(6)
    parts = []
    for _ in range(pairs // 10):
        target, source = random.integers(2, WORDS, (10, 5)), random.integers(2, WORDS, (10, 6))
        e = truth.scores(known[1][target], known[0][source])
        powers = np.exp(e)
        null = np.exp(truth.null)
        forward = powers / (powers.sum(axis=2, keepdims=True) + null[0])
        reverse = powers / (powers.sum(axis=1, keepdims=True) + null[1])
        nulls = 1 - forward.sum(axis=2), 1 - reverse.sum(axis=1)
        parts.append(TeacherPart(target, source, forward, reverse, *nulls))
    return truth, parts


def mean_loss(parameters, parts) -> float:
    found = [part_loss(parameters, vectors(), part, derive=False) for part in parts]
    return sum(one.loss for one in found) / sum(one.words for one in found)


def best_sources(parameters, parts) -> np.ndarray:
    known = vectors()
    return np.stack([parameters.scores(known[1][p.target], known[0][p.source]).argmax(-1) for p in parts])


@pytest.mark.parametrize("score", SCORES)
def test_planted_parameters_are_found(score, monkeypatch):
    """Not the arrays, which other arrays equal: the posteriors, and so what an argmax chooses."""
    schedule = replace(attention_learning.ATTENTION_SCHEDULE, max_epochs=40, first_rate=0.05)
    monkeypatch.setattr(attention_learning, "ATTENTION_SCHEDULE", schedule)
    truth, parts = planted(score)
    first = PARAMETER_CLASSES[score].init(D, 4 * A if score == "bahdanau" else A, (2.0, 2.0))
    known = tuple(side.astype(np.float32) for side in vectors())
    found, held_out = learn_parameters(first, known, parts)
    least, before, after = (mean_loss(one, parts) for one in (truth, first, found))
    assert least <= after < least + 0.1 * (before - least)
    assert held_out < least + 0.1 * (before - least)
    agreed = (best_sources(found, parts) == best_sources(truth, parts)).mean()
    assert agreed > 0.8 > (best_sources(first, parts) == best_sources(truth, parts)).mean()


@pytest.mark.parametrize("score", SCORES)
def test_any_number_of_workers_learns_the_same_bytes(score, monkeypatch):
    few = replace(ATTENTION_SCHEDULE, min_steps=60)
    monkeypatch.setattr(attention_learning, "ATTENTION_SCHEDULE", few)
    _, parts = planted(score, pairs=300)
    known = tuple(side.astype(np.float32) for side in vectors())
    first = PARAMETER_CLASSES[score].init(D, A, (2.0, 2.0))
    runs = [learn_parameters(first, known, parts, workers=workers)[0] for workers in (1, 1, 2, 3)]
    assert len({b"".join(array.tobytes() for array in run) for run in runs}) == 1
    assert not all(np.array_equal(a, b) for a, b in zip(first, runs[0], strict=True))


def test_additive_scores_start_as_a_bump():
    """Equal vectors score highest, and the score falls with their distance."""
    first = AdditiveParameters.init(D, 256, (1.0, 1.0))
    key = np.zeros((1, D), np.float32)
    queries = np.outer([0.0, 0.3, 0.7, 1.5], np.eye(D)[0]).astype(np.float32)
    assert np.argsort(-first.scores(queries, key)[:, 0]).tolist() == [0, 1, 2, 3]
