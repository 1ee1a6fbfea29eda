"""Bahdanau's alignment model over words: its arithmetic, its gradient, and its part in a learned aligner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmtalign.errors import UsageError
from nmtalign.models.additive import WordNetwork, WordWeights, initial_words
from nmtalign.models.attention_vectors import lay_out
from nmtalign.models.corpus import encode, make_buckets
from nmtalign.models.distillation import distil
from nmtalign.models.learned import LearnedAligner
from nmtalign.models.lexicon import Emissions
from nmtalign.models.opinion import Lesson, Opinion, lessons, loss_and_gradient
from nmtalign.models.seen_words import SeenWords, Tables
from nmtalign.models.settings import Settings
from nmtalign.models.store import load_model, save_model
from nmtalign.models.training import train
from tests.models.batches import check_alone
from tests.models.gradients import check_gradient
from tests.models.toy_language import toy_bitext

D = 5
TOY = toy_bitext(60)
PAIRS = [
    (["a", "b", "c", "a"], ["x", "y", "z"]),
    (["b", "d", "a", "e"], ["y", "x", "w"]),
    (["c", "c", "b", "f"], ["w", "v", "x"]),
]


def network_and_text():
    sides = encode(words for words, _ in PAIRS), encode(words for _, words in PAIRS)
    random = np.random.default_rng(1)
    rows = []
    for side in sides:
        table = lay_out(side.words, (1,), D)
        values = random.normal(size=table.rows.shape).astype(np.float32)
        values[table.parts[0]] = 0
        rows.append(replace(table, rows=values))
    weights = WordWeights(
        *(random.normal(0, 0.5, w.shape).astype(np.float32) for w in initial_words(D, 0, hidden=7))
    )
    return WordNetwork(weights, *rows), sides


def seen_of(network, sides):
    (bucket,) = make_buckets(*sides)
    reader = network.reader(*sides, (sides[0].counts, sides[1].counts))
    ones = Emissions(np.ones(1, "f4"), np.ones(1, "f4"), np.ones(1, "f4"))
    return bucket, reader.read(bucket, np.ones(1, "f4"), ones)


def naive_scores(network, pair):
    """e and the null scores of one pair, word by word."""
    w = network.weights
    vectors = []
    for words, rows in zip(pair, (network.source_rows, network.target_rows), strict=True):
        own = rows.compose(words).astype(float)
        vectors.append(4 * own / np.linalg.norm(own, axis=1, keepdims=True))
    S, T = map(len, pair)

    def around(side: int, at: int) -> np.ndarray:
        n = len(vectors[side])
        return np.concatenate([vectors[side][at + k] if 0 <= at + k < n else np.zeros(D) for k in (-1, 0, 1)])

    e = np.zeros((T, S))
    for t in range(T):
        for s in range(S):
            r = 4 * ((s + 0.5) / S - (t + 0.5) / T)
            hidden = around(1, t) @ w.target + around(0, s) @ w.source + r * w.place + w.bias
            e[t, s] = w.output @ np.tanh(hidden) + w.direct @ [r, abs(r)]
    nulls = [vectors[1] @ w.target_null[:-1] + w.target_null[-1]]
    nulls.append(vectors[0] @ w.source_null[:-1] + w.source_null[-1])
    return e, *nulls


def test_scores_are_those_of_the_slow_version_in_training_and_in_use():
    network, sides = network_and_text()
    bucket, seen = seen_of(network, sides)
    run = network.run(seen)
    forward, reverse = network.logs(seen)
    for column, pair in enumerate(bucket.pairs[bucket.pairs >= 0]):
        e, of_target, of_source = naive_scores(network, PAIRS[pair])
        np.testing.assert_allclose(run.e[:, :, column], e, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(run.target_null[:, column], of_target, rtol=1e-4, atol=1e-5)
        rows = np.log(np.exp(e).sum(axis=1) + np.exp(of_target))
        np.testing.assert_allclose(forward.words[:, :, column], e - rows[:, None], rtol=1e-4, atol=1e-4)
        columns = np.log(np.exp(e).sum(axis=0) + np.exp(of_source))
        np.testing.assert_allclose(reverse.words[:, :, column], e - columns, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(reverse.null[:, column], of_source - columns, rtol=1e-4, atol=1e-4)


def wide(seen: SeenWords) -> SeenWords:
    return seen._replace(tables=Tables(*(a.astype(np.float64) for a in seen.tables)))


def a_lesson(network, sides) -> Lesson:
    bucket, seen = seen_of(network, sides)
    random = np.random.default_rng(2)
    p = random.dirichlet(np.ones(5), (3, len(bucket.pairs)))[..., :4].transpose(0, 2, 1) * seen.inside
    (lesson,) = lessons(bucket, seen, p.astype("f4"), p.astype("f4"), 48)
    return lesson


def test_the_gradient_is_the_numerical_one():
    network, sides = network_and_text()
    lesson = a_lesson(network, sides)
    lesson = Lesson(wide(lesson.seen), lesson.forward.astype(float), lesson.reverse.astype(float))
    weights = WordWeights(*(w.astype(float) for w in network.weights))
    check_gradient(network.replace(weights), lesson)


def test_distilling_comes_close_to_its_teacher():
    network, sides = network_and_text()
    lesson = a_lesson(network, sides)
    learned = distil(network, [lesson] * 80, seed=0)
    assert loss_and_gradient(learned, lesson)[0] < 0.9 * loss_and_gradient(network, lesson)[0]


@pytest.fixture(scope="module")
def model():
    settings = Settings(
        vector_weight=0.4, opinion_weight=0.5, opinion_inputs="words", lexicon_passes=3, jump_passes=2
    )
    return train(TOY.pairs, settings=settings, workers=1).model


def test_a_pair_gets_the_same_bits_alone_and_in_any_batch(model):
    pairs = [*TOY.words, (["13ab"] * 7 + ["new"], [f"{k:02d}yx" for k in range(50)])]
    for own in (model, model.with_heads(["bahdanau"])):
        check_alone(LearnedAligner(own, workers=1), pairs, (0, 7, 33, len(pairs) - 1))


def test_alone_it_finds_most_links_of_the_toy_language(model):
    text = toy_bitext(40, seed=5)
    batch = LearnedAligner(model.with_heads(["bahdanau"])).align_batch(text.words)
    right = wanted = 0
    for n, links in enumerate(text.links):
        right += len({(s, t) for s, t in batch.links(n)} & links)
        wanted += len(links)
    assert right > 0.5 * wanted


def test_a_folder_keeps_it(model, tmp_path):
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    before, after = (LearnedAligner(m).align_batch(TOY.words) for m in (model, again))
    np.testing.assert_array_equal(before.probability, after.probability)


def test_words_need_vectors():
    with pytest.raises(UsageError, match="needs vectors"):
        train(TOY.pairs, settings=Settings(opinion_weight=0.3, opinion_inputs="words"), workers=1)


def test_an_opinion_has_a_share():
    network, _ = network_and_text()
    assert Opinion(network, 0.3).share == 0.3
