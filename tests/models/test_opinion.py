"""The second opinion: its arithmetic, its gradient, and its part in a learned aligner."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.errors import DataError
from nmtalign.models.clues import CLUES, ClueNetwork, ClueWeights, clues, facts, initial_clues, scores
from nmtalign.models.corpus import encode, make_buckets
from nmtalign.models.distillation import distil
from nmtalign.models.learned import LearnedAligner
from nmtalign.models.lexicon import Emissions
from nmtalign.models.opinion import Lesson, Opinion, lessons, loss_and_gradient
from nmtalign.models.pairs import index_pairs
from nmtalign.models.settings import Settings
from nmtalign.models.store import load_model, save_model
from nmtalign.models.training import train
from tests.models.batches import check_alone
from tests.models.gradients import check_gradient
from tests.models.toy_language import toy_bitext

TOY = toy_bitext(60)
SETTINGS = Settings(opinion_weight=0.5, lexicon_passes=3, jump_passes=2)


@pytest.fixture(scope="module")
def model():
    return train(TOY.pairs, settings=SETTINGS, workers=1).model


def bucket_of(pairs, seed: int = 0):
    """A bucket, made-up ratios for it, and what is known of its words."""
    sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
    (bucket,) = buckets = make_buckets(*sides)
    index = index_pairs(buckets, *sides)
    random = np.random.default_rng(seed)
    ratios = random.lognormal(0, 2, len(index)).astype(np.float32)
    ratios[0] = 0
    nulls = [random.lognormal(0, 1, len(side.words)).astype(np.float32) for side in sides]
    known = facts((sides[0].words, sides[1].words), (sides[0].counts, sides[1].counts))
    return bucket, ratios[index.cells[0]], Emissions(ratios, *nulls), known, sides


def naive_clues(ratio, t: int, s: int, counts, same: bool) -> list[float]:
    """The clues of one cell, from scaled log ratios (T, S)."""
    T, S = ratio.shape

    def at(row: int, column: int, missing: float) -> float:
        return ratio[row, column] if 0 <= row < T and 0 <= column < S else missing

    place = 4 * ((s + 0.5) / S - (t + 0.5) / T)
    beside = max(at(t, s - 1, -20) / 2, at(t, s + 1, -20) / 2, -2)
    above = max(at(t - 1, s, -20) / 2, at(t + 1, s, -20) / 2, -2)
    return [
        place,
        abs(place),
        ratio[t, s],
        ratio[t, s] - ratio[t].max(),
        ratio[t, s] - ratio[:, s].max(),
        beside,
        above,
        at(t - 1, s - 1, 0) / 2,
        at(t + 1, s + 1, 0) / 2,
        np.log(counts[0] + 1) / 5,
        np.log(counts[1] + 1) / 5,
        float(same),
    ]


def test_clues_are_those_of_the_slow_version():
    pairs = [(["a", "b", "1", "a"], ["x", "1", "y"]), (["b", "b", "c", "d"], ["1", "x", "x"])]
    bucket, emission, words, known, (source, target) = bucket_of(pairs)
    seen = clues(bucket, emission, words, known)
    for column, pair in enumerate(bucket.pairs[:2]):
        ratio = 0.4 * np.log(np.maximum(emission[:, :, column], 1e-6))
        for t, f in enumerate(target.sentence(pair)):
            for s, e in enumerate(source.sentence(pair)):
                counts = [side.counts[side.words.index(word)] for side, word in ((source, e), (target, f))]
                expected = naive_clues(ratio, t, s, counts, e == f)
                np.testing.assert_allclose(seen.cells[:, t, s, column], expected, atol=1e-5)
    assert not seen.cells[:, :, :, 2:].any()
    assert not seen.inside[:, :, 2:].any()


def test_scores_are_those_of_one_cell_after_the_other():
    random = np.random.default_rng(1)
    weights = ClueWeights(*(random.normal(size=w.shape) for w in initial_clues(0)))
    cells = random.normal(size=(CLUES, 3, 4, 700))
    found = scores(weights, cells)
    for t, s, b in [(0, 0, 0), (2, 3, 699), (1, 2, 350)]:
        phi = cells[:, t, s, b]
        hidden = np.tanh(weights.hidden @ phi + weights.bias[:, 0])
        assert found[t, s, b] == pytest.approx(weights.output @ hidden + weights.direct @ phi)


def a_lesson() -> Lesson:
    pairs = [
        (["a", "b", "c", "d", "e"], ["v", "w", "x", "y"]),
        (["a", "b", "c", "d", "e"], ["v", "w", "x", "y"]),
    ]
    pairs += [(["a", "c", "a", "d"], ["v", "x"])]
    source, target = (encode(words) for words in zip(*pairs, strict=True))
    for bucket in make_buckets(source, target):
        if len(bucket.source) == 5:
            break
    random = np.random.default_rng(2)
    emission = random.lognormal(0, 2, bucket.shape).astype(np.float32)
    inside = (bucket.source > 0) & (bucket.target > 0)[:, None]
    ones = np.ones(len(source.words), np.float32), np.ones(len(target.words), np.float32)
    known = facts((source.words, target.words), (source.counts, target.counts))
    seen = clues(bucket, emission * inside, Emissions(emission.ravel(), *ones), known)
    p = random.dirichlet(np.ones(6), (4, len(bucket.pairs)))[..., :5].transpose(0, 2, 1) * inside
    q = random.dirichlet(np.ones(5), (5, len(bucket.pairs)))[..., :4].transpose(2, 0, 1) * inside
    (lesson,) = lessons(bucket, seen, p.astype(np.float32), q.astype(np.float32), 48)
    wide = (a.astype(np.float64) for a in lesson.seen[:3])
    cells, of_target, of_source = wide
    seen = lesson.seen._replace(cells=cells, target=of_target, source=of_source)
    return Lesson(seen, lesson.forward.astype(np.float64), lesson.reverse.astype(np.float64))


def test_the_gradient_is_the_numerical_one():
    lesson = a_lesson()
    random = np.random.default_rng(3)
    weights = ClueWeights(*(random.normal(0, 0.5, w.shape) for w in initial_clues(0)))
    check_gradient(ClueNetwork(weights), lesson)


def test_lessons_teach_what_both_directions_agree_on():
    lesson = a_lesson()
    assert (lesson.forward.sum(axis=1) <= 1 + 1e-6).all()
    assert (lesson.reverse.sum(axis=0) <= 1 + 1e-6).all()
    assert not lesson.forward[~lesson.seen.inside].any()


def test_distilling_comes_close_to_its_teacher_and_depends_on_the_seed_alone():
    lesson = a_lesson()
    taught = [
        Lesson(
            lesson.seen._replace(
                **{n: getattr(lesson.seen, n).astype("f4") for n in ("cells", "target", "source")}
            ),
            lesson.forward.astype("f4"),
            lesson.reverse.astype("f4"),
        )
    ] * 60
    first, again, other = (distil(ClueNetwork(initial_clues(seed)), taught, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first.weights, again.weights, strict=True))
    assert not np.array_equal(first.weights.hidden, other.weights.hidden)
    assert (
        loss_and_gradient(first, lesson)[0]
        < 0.8 * loss_and_gradient(ClueNetwork(initial_clues(1)), lesson)[0]
    )


def test_without_a_share_the_posteriors_stay_and_with_all_of_it_they_are_the_opinion():
    bucket, emission, words, known, _ = bucket_of([(["a", "b", "c"], ["x", "y"])])
    seen = clues(bucket, emission, words, known)
    p = np.full(emission.shape, 0.2, np.float32) * seen.inside
    opinion = Opinion(ClueNetwork(initial_clues(0)), 0.0)
    for joined in opinion.join(seen, p, p):
        np.testing.assert_allclose(joined, p, rtol=1e-5)
    alone = opinion.attend(seen)
    for joined, own in zip(replace(opinion, share=1.0).join(seen, p, p), alone, strict=True):
        np.testing.assert_allclose(joined, own, rtol=1e-4, atol=1e-7)
    half = replace(opinion, share=0.5).join(seen, p, p)[0][:, :, 0]
    own = alone[0][:, :, 0]
    product = np.sqrt(own * 0.2)
    null = np.sqrt((1 - own.sum(axis=1)) * (1 - 0.6))
    np.testing.assert_allclose(half, product / (product.sum(axis=1) + null)[:, None], rtol=1e-4)


def test_a_model_has_one_and_its_weights_are_distributions(model):
    assert model.opinion.share == pytest.approx(0.5 * 60 / 160)
    pair = LearnedAligner(model).inspect(*TOY.words[3])
    plain = LearnedAligner(model._replace(opinion=None)).inspect(*TOY.words[3])
    assert not np.array_equal(pair.forward, plain.forward)
    assert (pair.forward.sum(axis=1) <= 1 + 1e-5).all()
    assert (pair.reverse.sum(axis=0) <= 1 + 1e-5).all()


def test_the_links_of_the_toy_language_stay_right(model):
    text = toy_bitext(40, seed=5)
    right = []
    for m in (model, model._replace(opinion=None)):
        batch = LearnedAligner(m).align_batch(text.words)
        found = [{(s, t) for s, t in batch.links(n)} for n in range(40)]
        right.append(sum(len(f & g) / max(len(f | g), 1) for f, g in zip(found, text.links, strict=True)))
    assert right[0] >= right[1] - 0.5


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 59), min_size=1, max_size=30), st.integers(0, 29))
def test_a_pair_gets_the_same_bits_alone_and_in_any_batch(model, numbers, place):
    place %= len(numbers)
    long = [(["13ab"] * 7 + ["new"], [f"{k:02d}yx" for k in range(50)])]
    pairs = [TOY.words[n] for n in numbers] + long
    check_alone(LearnedAligner(model, workers=1), pairs, (place, len(pairs) - 1))


def test_it_does_not_depend_on_the_number_of_workers():
    found = [train(TOY.pairs, settings=SETTINGS, workers=workers) for workers in (1, 3)]
    for name in ClueWeights._fields:
        first, second = (getattr(f.model.opinion.network.weights, name) for f in found)
        np.testing.assert_array_equal(first, second)


def test_a_text_of_long_sentences_only_teaches_none():
    line = " ".join(f"w{k % 30}" for k in range(140))
    assert train([(line, line)] * 4, settings=SETTINGS, workers=1).model.opinion is None


def test_a_folder_keeps_it_and_older_folders_open(model, tmp_path: Path):
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    before, after = (LearnedAligner(m).align_batch(TOY.words) for m in (model, again))
    np.testing.assert_array_equal(before.probability, after.probability)
    save_model(model._replace(opinion=None), tmp_path / "older")
    path = tmp_path / "older" / "meta.json"
    meta = json.loads(path.read_text())
    del meta["opinion"], meta["settings"]["opinion_weight"]
    path.write_text(json.dumps(meta | {"version": 1}))
    assert load_model(tmp_path / "older").opinion is None


def test_a_damaged_opinion_is_refused(model, tmp_path: Path):
    weights = model.opinion.network.weights
    wrong = ClueNetwork(weights._replace(output=np.zeros(3, np.float32)))
    save_model(model._replace(opinion=Opinion(wrong, 0.3)), tmp_path / "model")
    with pytest.raises(DataError, match="opinion_output"):
        load_model(tmp_path / "model")


def test_a_cell_gets_the_same_bits_wherever_it_lies():
    random = np.random.default_rng(4)
    weights = ClueWeights(*(random.normal(size=w.shape).astype("f4") for w in initial_clues(0)))
    cells = random.normal(size=(CLUES, 7, 9, 33)).astype("f4")
    everywhere = scores(weights, cells)
    for t, s, b in [(0, 0, 1), (3, 4, 17), (6, 8, 32)]:
        alone = scores(weights, cells[:, t : t + 1, s : s + 1, b : b + 1])
        assert alone[0, 0, 0] == everywhere[t, s, b]


@pytest.mark.parametrize(("least", "there"), [(60, True), (61, False)])
def test_a_small_bitext_gets_none_where_the_settings_say_so(least: int, there: bool):
    found = train(TOY.pairs, settings=replace(SETTINGS, opinion_from=least), workers=1).model
    assert (found.opinion is not None) is there
