"""The scorer that learns from hand-made links: its arithmetic, and what it learns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.alignment.links import GoldAlignment
from nmtalign.errors import DataError, UsageError
from nmtalign.models.clues import CLUES, facts
from nmtalign.models.learned import LearnedAligner, joint_probability
from nmtalign.models.settings import Settings, with_heads
from nmtalign.models.store import load_model, save_model
from nmtalign.models.supervised import (
    INPUTS,
    Cells,
    GoldOpinion,
    LinkScorer,
    doubtful_cells,
    initial_scorer,
    loss_and_gradient,
    most_frequent,
    scores,
)
from nmtalign.models.training import train
from tests.models.batches import check_alone
from tests.models.test_opinion import bucket_of
from tests.models.toy_language import links_of, toy_bitext

TOY = toy_bitext(150)
SETTINGS = with_heads(
    Settings(lexicon_passes=3, jump_passes=2), ("lexicon", "spectral", "bahdanau"), teacher="gold"
)


def without_low_words(toy) -> list[GoldAlignment]:
    """Gold links of people who leave out the target words that begin with 0."""
    found = []
    for target, links in zip(toy.target, toy.links, strict=True):
        words = target.split()
        own = frozenset((s, t) for s, t in links if not words[t].startswith("0"))
        found.append(GoldAlignment(own, own))
    return found


GOLD = without_low_words(TOY)


@pytest.fixture(scope="module")
def model():
    return train(TOY.pairs, settings=SETTINGS, gold=GOLD, workers=1).model


def made_up_cells(seed: int = 0, n: int = 40) -> Cells:
    random = np.random.default_rng(seed)
    inputs = random.normal(size=(INPUTS, n))
    return Cells(inputs, random.integers(0, 5, n), random.integers(0, 5, n))


def test_the_gradient_is_the_numerical_one():
    random = np.random.default_rng(1)
    weights = type(initial_scorer(0))(*(random.normal(0, 0.3, w.shape) for w in initial_scorer(0, 3)))
    cells, links = made_up_cells(), random.integers(0, 2, 40).astype(float)
    _, gradient = loss_and_gradient(weights, cells, links)
    for name, own in weights._asdict().items():
        if name.endswith("words"):
            assert getattr(gradient, name)[0] == 0
        for place in ([1], [len(own.ravel()) - 1], [min(4, own.size - 1)]):
            changed = []
            for step in (1e-6, -1e-6):
                moved = own.copy()
                moved.ravel()[place] += step
                changed.append(loss_and_gradient(weights._replace(**{name: moved}), cells, links)[0])
            numerical = (changed[0] - changed[1]) / 2e-6
            assert getattr(gradient, name).ravel()[place] == pytest.approx(numerical, rel=1e-4, abs=1e-6)


def test_inputs_are_those_of_one_cell_after_the_other():
    pairs = [(["a", "b", "1", "a"], ["x", "1", "y"]), (["b", "b", "c", "d"], ["1", "x", "x"])]
    bucket, emission, words, _, (source, target) = bucket_of(pairs)
    scorer = LinkScorer(initial_scorer(0), ["b", "a"], ["x"])
    seen = scorer.reader(source, target, (source.counts, target.counts)).read(bucket, emission, words)
    random = np.random.default_rng(2)
    forward, reverse = (random.random(emission.shape).astype("f4") * seen.clues.inside / 4 for _ in range(2))
    joint = joint_probability(forward, reverse)
    doubtful, cells = doubtful_cells(seen, forward, reverse, joint)
    assert not doubtful[:, :, 2:].any()
    for n, (t, s, b) in enumerate(zip(*np.nonzero(doubtful), strict=True)):
        p, q = forward[:, :, b], reverse[:, :, b]
        g = np.sqrt(p * q)

        def at(t: int, s: int, g=g) -> float:
            return g[t, s] if 0 <= t < g.shape[0] and 0 <= s < g.shape[1] else 0.0

        expected = [
            np.log(max(p[t, s], 1e-4)) / 4 + 1,
            np.log(max(q[t, s], 1e-4)) / 4 + 1,
            p[t, s],
            q[t, s],
            at(t - 1, s - 1) + at(t + 1, s + 1),
            max(at(t - 1, s), at(t + 1, s), at(t, s - 1), at(t, s + 1)),
            g[t].max() - g[t, s],
            g[:, s].max() - g[t, s],
            1 - p[t].sum(),
            1 - q[:, s].sum(),
            p[:, s].sum(),
            q[t].sum(),
            seen.clues.target[1, t, b],
            seen.clues.source[1, s, b],
            np.log(joint[t, s, b] / (1 - joint[t, s, b])),
            1,
        ]
        np.testing.assert_allclose(cells.inputs[CLUES:, n], expected, atol=2e-5)
        np.testing.assert_array_equal(cells.inputs[:CLUES, n], seen.clues.cells[:, t, s, b])
        word = source.words[bucket.source[s, b]], target.words[bucket.target[t, b]]
        assert (cells.source[n], cells.target[n]) == ({"b": 1, "a": 2}.get(word[0], 0), int(word[1] == "x"))


def test_a_cell_gets_the_same_bits_wherever_it_lies():
    weights = initial_scorer(0)._replace(output=np.ones(16, np.float32))
    wide = made_up_cells(3, 1300)
    cells = Cells(wide.inputs.astype("f4"), wide.source, wide.target)
    everywhere = scores(weights, cells)
    for n in (0, 511, 512, 1299):
        assert scores(weights, cells.part(np.array([n])))[0] == everywhere[n]


def test_a_scorer_that_has_learned_nothing_leaves_the_probabilities():
    pairs = [(["a", "b", "c"], ["x", "y"])]
    bucket, emission, words, _, (source, target) = bucket_of(pairs)
    weights = initial_scorer(0)
    scorer = LinkScorer(weights._replace(output=0 * weights.output), [], [])
    seen = scorer.reader(source, target, (source.counts, target.counts)).read(bucket, emission, words)
    p = np.full(emission.shape, 0.2, np.float32) * seen.clues.inside
    joint = joint_probability(p, p)
    for share in (0.3, 1.0):
        opinion = GoldOpinion(scorer, share)
        np.testing.assert_allclose(opinion.judge(seen, p, p, joint), joint, rtol=1e-5)
        assert opinion.join(seen, p, p) == (p, p)


def test_the_most_frequent_words_come_in_a_fixed_order():
    assert most_frequent(["", "a", "b", "c"], np.array([99, 1, 3, 1])) == ["b", "a", "c"]
    assert facts((["", "a"], ["", "a"]), (np.ones(2, int), np.ones(2, int))).alike.tolist() == [0, 1]


def test_it_learns_what_people_call_a_link(model):
    text = toy_bitext(60, seed=5)
    wanted = [set(links.sure) for links in without_low_words(text)]
    errors = []
    for heads in (("lexicon", "spectral"), model.heads, ("bahdanau",)):
        found = links_of(LearnedAligner(model.with_heads(heads), workers=1).align_batch(text.words))
        errors.append(sum(len(f ^ g) for f, g in zip(found, wanted, strict=True)))
    assert errors[0] >= 40
    assert max(errors[1:]) < 0.4 * errors[0]


def test_the_attention_stays_and_the_matrix_is_the_judged_one(model):
    pair, plain = (
        LearnedAligner(m, workers=1).inspect(*TOY.words[3]) for m in (model, model._replace(opinion=None))
    )
    np.testing.assert_array_equal(pair.forward, plain.forward)
    assert not np.array_equal(pair.matrix.weights, plain.matrix.weights)
    for (s, t), p in pair.probabilities.items():
        assert pair.matrix.weights[t, s] == np.float32(p) > 0.55


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 149), min_size=1, max_size=30), st.integers(0, 29))
def test_a_pair_gets_the_same_bits_alone_and_in_any_batch(model, numbers, place):
    place %= len(numbers)
    pairs = [TOY.words[n] for n in numbers] + [(["13ab"] * 7 + ["new"], ["zu"] * 50)]
    check_alone(LearnedAligner(model, workers=1), pairs, (place, len(pairs) - 1))


def test_a_folder_keeps_it(model, tmp_path: Path):
    assert model.heads == ("lexicon", "spectral", "bahdanau")
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.heads == model.heads
    before, after = (LearnedAligner(m).align_batch(TOY.words) for m in (model, again))
    np.testing.assert_array_equal(before.probability, after.probability)


def test_the_seed_and_nothing_else_decides():
    found = []
    for seed, workers in ((0, 1), (0, 2), (1, 1)):
        learned = train(TOY.pairs, settings=replace(SETTINGS, seed=seed), gold=GOLD, workers=workers).model
        found.append(learned.opinion.network.weights)
    assert all(np.array_equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    assert not np.array_equal(found[0].hidden, found[2].hidden)


def test_too_few_gold_links_and_other_inputs_are_refused():
    with pytest.raises(DataError, match="expected 50 pairs with gold links or more"):
        train(TOY.pairs, settings=SETTINGS, gold=GOLD[-49:], workers=1)
    with pytest.raises(UsageError, match="over clues"):
        with_heads(Settings(), ("lexicon", "vectors", "bahdanau"), inputs="words", teacher="gold")
