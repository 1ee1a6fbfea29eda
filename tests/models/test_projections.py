"""Multi-head attention with learned projections: its arithmetic, its gradient, and its part in an aligner."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.models.distillation import distil
from nmtalign.models.learned import LearnedAligner
from nmtalign.models.opinion import Lesson, loss_and_gradient
from nmtalign.models.projections import UNITS, ProjectedNetwork, ProjectionWeights, initial_projections
from nmtalign.models.settings import Settings
from nmtalign.models.store import load_model, save_model
from nmtalign.models.training import train
from tests.models.batches import check_alone
from tests.models.gradients import check_gradient
from tests.models.test_additive import PAIRS, D, a_lesson, network_and_text, seen_of, wide
from tests.models.toy_language import toy_bitext

HEADS = 3
TOY = toy_bitext(60)


def projected():
    words, sides = network_and_text()
    random = np.random.default_rng(1)
    first = initial_projections(D, HEADS, 0)
    weights = ProjectionWeights(*(random.normal(0, 0.3, w.shape).astype(np.float32) for w in first))
    return ProjectedNetwork(weights, words.source_rows, words.target_rows), sides


def naive_logs(network, pair):
    """log p(s|t) and log p(t|s) of one pair, head by head, and of null."""
    w = network.weights
    vectors = []
    for words, rows in zip(pair, (network.source_rows, network.target_rows), strict=True):
        own = rows.compose(words).astype(float)
        vectors.append(4 * own / np.linalg.norm(own, axis=1, keepdims=True))
    S, T = map(len, pair)

    def around(side: int, at: int) -> np.ndarray:
        n = len(vectors[side])
        return np.concatenate([vectors[side][at + k] if 0 <= at + k < n else np.zeros(D) for k in (-1, 0, 1)])

    forward, reverse = np.zeros((T, S)), np.zeros((T, S))
    for h in range(HEADS):
        units = slice(h * UNITS, (h + 1) * UNITS)
        e = np.zeros((T, S))
        for t in range(T):
            for s in range(S):
                r = 4 * ((s + 0.5) / S - (t + 0.5) / T)
                q, k = around(1, t) @ w.target[:, units], around(0, s) @ w.source[:, units]
                e[t, s] = q @ k / UNITS**0.5 + w.direct[h] @ [r, abs(r)]
        by_target = vectors[1] @ w.target_null[:-1, h] + w.target_null[-1, h]
        by_source = vectors[0] @ w.source_null[:-1, h] + w.source_null[-1, h]
        forward += np.exp(e) / (np.exp(e).sum(axis=1) + np.exp(by_target))[:, None] / HEADS
        reverse += np.exp(e) / (np.exp(e).sum(axis=0) + np.exp(by_source)) / HEADS
    return np.log(forward), np.log(reverse)


def test_attention_is_the_mean_of_the_heads_of_the_slow_version():
    network, sides = projected()
    bucket, seen = seen_of(network, sides)
    run = network.run(seen)
    forward, reverse = network.logs(seen)
    by_head = network.head_logs(seen)[0]
    assert by_head.words.shape == run.e.shape == (HEADS, *bucket.shape)
    for column, pair in enumerate(bucket.pairs[bucket.pairs >= 0]):
        expected = naive_logs(network, PAIRS[pair])
        np.testing.assert_allclose(forward.words[:, :, column], expected[0], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(reverse.words[:, :, column], expected[1], rtol=1e-3, atol=1e-4)


def test_the_gradient_is_the_numerical_one():
    network, sides = projected()
    lesson = a_lesson(network, sides)
    lesson = Lesson(wide(lesson.seen), lesson.forward.astype(float), lesson.reverse.astype(float))
    weights = ProjectionWeights(*(w.astype(float) for w in network.weights))
    check_gradient(network.replace(weights), lesson)


def test_distilling_comes_close_to_its_teacher():
    network, sides = projected()
    lesson = a_lesson(network, sides)
    learned = distil(network, [lesson] * 80, seed=0)
    assert loss_and_gradient(learned, lesson)[0] < 0.9 * loss_and_gradient(network, lesson)[0]


@pytest.fixture(scope="module")
def model():
    settings = Settings(
        vector_weight=0.4,
        opinion_weight=0.5,
        opinion_inputs="projections",
        opinion_heads=2,
        lexicon_passes=3,
        jump_passes=2,
    )
    return train(TOY.pairs, settings=settings, workers=1).model


def test_a_pair_gets_the_same_bits_alone_and_in_any_batch(model):
    pairs = [*TOY.words, (["13ab"] * 7 + ["new"], [f"{k:02d}yx" for k in range(50)])]
    for own in (model, model.with_heads(["attention"])):
        check_alone(LearnedAligner(own, workers=1), pairs, (0, 7, 33, len(pairs) - 1))


def test_a_folder_keeps_it_and_its_heads_can_be_seen(model, tmp_path):
    save_model(model, tmp_path / "model")
    again = LearnedAligner(load_model(tmp_path / "model"))
    before, after = (a.align_batch(TOY.words) for a in (LearnedAligner(model), again))
    np.testing.assert_array_equal(before.probability, after.probability)
    assert again.heads == ("lexicon", "vectors", "attention")
    source, target = TOY.words[3]
    by_head = again.attention_heads(source, target)
    assert by_head.shape == (2, len(target), len(source))
    alone = again.with_heads(["attention"]).inspect(source, target).forward
    np.testing.assert_allclose(by_head.mean(axis=0), alone, rtol=1e-4, atol=1e-6)
