"""Expectations of one bucket against loops; the machinery around them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign import load, train
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.sections import whole_pairs
from nmtalign.corpus.sides import EncodedSide
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import index_word_pairs
from nmtalign.positions.e_step import EStep, expected_counts, hmm_counts, model1_counts, uniform_counts
from nmtalign.positions.hmm import AGREEMENT_STEPS, hmm_posteriors, regularization_step
from nmtalign.positions.jumps import bucket_transitions, initial_jump_model
from nmtalign.positions.position_model import Emissions
from nmtalign.training import em
from nmtalign.training.em import (
    PRESET_HYPERPARAMETERS,
    Estimator,
    Hyperparameters,
)
from tests.aligner.toy_language import toy_bitext
from tests.corpus.encoded_sides import encode_side
from tests.positions.naive_hmm import naive_model1

BITEXT = [("a b", "x y z"), ("a c", "x w"), ("b", "y"), ("c c b", "w w"), ("d", "u x")]
P0 = 0.03


def text_of(source: EncodedSide, target: EncodedSide) -> EncodedText:
    return EncodedText(source, target, whole_pairs(source, target), make_buckets(source, target))


@pytest.fixture
def encoded():
    return tuple(encode_side([pair[side].split(" ") for pair in BITEXT]) for side in (0, 1))


def random_emissions(index, source, target, seed: int = 0) -> Emissions:
    rng = np.random.default_rng(seed)
    found = Emissions(
        *(
            np.exp(rng.normal(scale=2, size=n)).astype(np.float32)
            for n in map(len, (index, source.words, target.words))
        )
    )
    found.pair_ratios[0] = 0
    return found


def summed(sparse, size: int) -> np.ndarray:
    counts = np.bincount(sparse.indices.ravel(), sparse.values.ravel(), size)
    counts[0] = 0  # padding
    return counts


def naive_counts(source, target, index, words: Emissions, mean: bool):
    number = {
        pair: k for k, pair in enumerate(zip(index.source.tolist(), index.target.tolist(), strict=True))
    }
    links, nulls = np.zeros(len(index)), (np.zeros(len(source.words)), np.zeros(len(target.words)))
    for n in range(len(source.lengths)):
        s = source.tokens[source.offsets[n] : source.offsets[n + 1]].tolist()
        t = target.tokens[target.offsets[n] : target.offsets[n + 1]].tolist()
        ratio = [[float(words.pair_ratios[number[a, b]]) for a in s] for b in t]
        side_nulls = (
            [float(null[k]) for k in own] for null, own in ((words.source_null, s), (words.target_null, t))
        )
        forward, reverse = map(np.array, naive_model1(ratio, *side_nulls, P0))
        link = (forward + reverse) / 2 if mean else forward * reverse
        for j, b in enumerate(t):
            nulls[1][b] += 1 - forward[j].sum()
            for i, a in enumerate(s):
                links[number[a, b]] += link[j, i]
        for i, a in enumerate(s):
            nulls[0][a] += 1 - reverse[:, i].sum()
    return links, nulls


@pytest.mark.parametrize("mean", [False, True])
def test_counts_without_positions_are_those_of_model_1(encoded, mean: bool):
    source, target = encoded
    buckets = make_buckets(source, target)
    word_pairs = index_word_pairs(buckets, source, target)
    words = random_emissions(word_pairs, source, target)
    expected_links, expected_nulls = naive_counts(source, target, word_pairs, words, mean)
    found = [
        model1_counts(bucket, cells, words, P0, mean=mean)
        for bucket, cells in zip(buckets, word_pairs.pair_numbers, strict=True)
    ]
    links = sum(summed(e.links, len(word_pairs)) for e in found)
    np.testing.assert_allclose(links, expected_links, rtol=1e-4, atol=1e-4)
    for k, name in enumerate(("source_null", "target_null")):
        nulls = sum(summed(getattr(e, name), len(expected_nulls[k])) for e in found)
        np.testing.assert_allclose(nulls, expected_nulls[k], rtol=1e-4, atol=1e-5)


def test_at_first_every_word_is_as_likely(encoded):
    source, target = encoded
    buckets = make_buckets(source, target)
    word_pairs = index_word_pairs(buckets, source, target)
    links = sum(
        summed(uniform_counts(bucket, cells, P0).links, len(word_pairs))
        for bucket, cells in zip(buckets, word_pairs.pair_numbers, strict=True)
    )
    number = {
        (source.words[s], target.words[t]): k
        for k, (s, t) in enumerate(zip(word_pairs.source, word_pairs.target, strict=True))
    }
    np.testing.assert_allclose(links[number["a", "x"]], (1 / 2 + 1 / 3) / 2 + (1 / 2 + 1 / 2) / 2, rtol=1e-6)
    np.testing.assert_allclose(links[number["c", "w"]], 1 / 2 + 2 * 2 * (1 / 3 + 1 / 2) / 2, rtol=1e-6)
    np.testing.assert_allclose(links[number["b", "y"]], (1 / 2 + 1 / 3) / 2 + 1, rtol=1e-6)


def test_with_jumps_a_link_counts_as_the_product_of_both_directions(encoded):
    source, target = encoded
    jumps = tuple(initial_jump_model(len(side.words) - 1, 2) for side in encoded)
    buckets = make_buckets(source, target)
    word_pairs = index_word_pairs(buckets, source, target)
    words = random_emissions(word_pairs, source, target, 1)
    for bucket, cells in zip(buckets, word_pairs.pair_numbers, strict=True):
        found = hmm_counts(bucket, cells, words, jumps, 0.06, count_jumps=True)
        forward, reverse = posteriors(bucket, words.pair_ratios.take(cells), words, jumps)
        assert forward.posterior.sum(axis=1).max() <= 1 + 1e-5
        assert reverse.posterior.sum(axis=1).max() <= 1 + 1e-5
        product = forward.posterior * reverse.posterior.transpose(1, 0, 2)
        expected = np.bincount(cells.ravel(), product.ravel(), len(word_pairs))
        np.testing.assert_allclose(summed(found.links, len(word_pairs)), expected, atol=1e-3)
        real = bucket.is_filled
        likelihood = forward.log_likelihood[real].sum() + reverse.log_likelihood[real].sum()
        np.testing.assert_allclose(found.log_likelihood, likelihood)


def test_jumps_are_counted_in_every_so_many_th_bucket():
    sides = [encode_side([[*"abcdefghijklmnop"[: 2 * n]] for n in range(1, 9)]) for _ in range(2)]
    jumps = tuple(initial_jump_model(len(side.words) - 1, 2) for side in sides)
    buckets = make_buckets(*sides)
    word_pairs = index_word_pairs(buckets, *sides)
    step = EStep(P0, random_emissions(word_pairs, *sides, 1), jumps, jump_period=3)
    assert len(buckets) == 4
    for k, (bucket, cells) in enumerate(zip(buckets, word_pairs.pair_numbers, strict=True)):
        some, all_of_it = step.counts(k, bucket, cells), step._replace(jump_period=1).counts(k, bucket, cells)
        np.testing.assert_array_equal(some.links.values, all_of_it.links.values)
        for found, expected in zip(some[3:5], all_of_it[3:5], strict=True):
            if k % 3:
                assert found is None
            else:
                np.testing.assert_array_equal(found.indices, expected.indices)
                np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize(("share", "step"), [(1, 1), (2, 3), (3.5, 5)])
def test_jumps_of_a_large_bitext_are_counted_in_an_odd_share_of_its_buckets(share, step, monkeypatch):
    sides = [encode_side([[*"abcdefgh"[:n]] for n in range(1, 9)]) for _ in range(2)]
    estimator = Estimator(text_of(*sides), PRESET_HYPERPARAMETERS["fast"], workers=1)
    cells, steps = estimator.text.cell_count, []
    monkeypatch.setattr(em, "MAX_JUMP_CELLS", int(cells / share))
    own = estimator._e_step
    monkeypatch.setattr(estimator, "_e_step", lambda e: steps.append(e.jump_period) or own(e))
    estimator.run()
    assert set(steps[-2:]) == {step}


def posteriors(bucket, emission, words: Emissions, transitions, **options):
    """The HMM's posteriors of a bucket with these emission ratios."""
    nulls = words.source_null, words.target_null
    return hmm_posteriors(bucket, emission, nulls, transitions, 0.06, **options)


def one_pair(seed: int, S: int, T: int):
    sides = encode_side([[f"s{k}" for k in range(S)]]), encode_side([[f"t{k}" for k in range(T)]])
    (bucket,) = make_buckets(*sides)
    word_pairs = index_word_pairs([bucket], *sides)
    words = random_emissions(word_pairs, *sides, seed)
    jumps = tuple(initial_jump_model(len(side.words) - 1, 2) for side in sides)
    return bucket, words.pair_ratios.take(word_pairs.pair_numbers[0]), words, jumps


def dual(log_u: np.ndarray, bucket, emission: np.ndarray, words: Emissions, jumps):
    """Log-likelihood of both directions with emissions r u and r / u, and its gradient for log u."""
    u = np.exp(log_u).reshape(*emission.shape[:2], 1)
    forward, _ = posteriors(bucket, emission * u, words, jumps)
    _, reverse = posteriors(bucket, emission / u, words, jumps)
    slope = forward.posterior - reverse.posterior.transpose(1, 0, 2)
    value = forward.log_likelihood[0] + reverse.log_likelihood[0]
    return float(value), slope[:, :, :1].astype(float).ravel()


@pytest.mark.parametrize(("seed", "S", "T"), [(0, 2, 2), (1, 3, 2), (2, 3, 4), (3, 4, 4)])
def test_agreement_leads_to_the_nearest_distributions_that_agree(seed: int, S: int, T: int):
    from scipy.optimize import minimize

    bucket, emission, words, jumps = one_pair(seed, S, T)
    emission, given = emission.astype(float), (words, jumps)
    best = minimize(dual, np.zeros(S * T), (bucket, emission, *given), jac=True, method="BFGS")
    forward, _ = posteriors(bucket, emission * np.exp(best.x).reshape(T, S, 1), *given)
    found, gaps = posteriors(bucket, emission, *given), []
    agreed, u = posteriors(bucket, emission, *given, agree=True), np.ones_like(emission)
    for _ in range(60):
        gaps.append(np.abs(found[0].posterior - found[1].posterior.transpose(1, 0, 2)).max())
        u *= regularization_step(found)
        found = (
            posteriors(bucket, emission * u, *given)[0],
            posteriors(bucket, emission / u, *given)[1],
        )
        if len(gaps) == AGREEMENT_STEPS:
            for own, expected in zip(agreed, found, strict=True):
                np.testing.assert_allclose(own.posterior, expected.posterior, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[0].posterior, forward.posterior, atol=5e-3)
    assert gaps[0] > 0.05
    assert gaps[AGREEMENT_STEPS] < 0.7 * gaps[0]
    assert gaps[-1] < 2e-3


def test_agreement_does_not_depend_on_the_side_nor_on_whether_jumps_are_counted():
    bucket, emission, words, jumps = one_pair(5, 4, 3)
    found = posteriors(bucket, emission, words, jumps, agree=True)
    alone = posteriors(bucket, emission, words, jumps)
    swapped = posteriors(
        dataclasses.replace(
            bucket,
            source=bucket.target,
            target=bucket.source,
            source_lengths=bucket.target_lengths,
            target_lengths=bucket.source_lengths,
        ),
        np.ascontiguousarray(emission.transpose(1, 0, 2)),
        Emissions(words.pair_ratios, words.target_null, words.source_null),
        jumps[::-1],
        agree=True,
        count_jumps=True,
    )
    np.testing.assert_allclose(swapped[0].posterior, found[1].posterior, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(swapped[1].posterior, found[0].posterior, rtol=1e-4, atol=1e-6)
    assert swapped[0].expected_jumps is not None
    np.testing.assert_array_equal(found[0].log_likelihood, alone[0].log_likelihood)


@pytest.mark.parametrize("agree", [False, True])
def test_the_likelihood_of_words_that_only_null_can_make(agree: bool):
    bucket, emission, words, jumps = one_pair(6, 3, 4)
    found = posteriors(bucket, 0 * emission, words, jumps, agree=agree)
    for posterior, own, states, lengths, observed, ratio in (
        (found[0], jumps[0], bucket.source, bucket.source_lengths, bucket.target, words.target_null),
        (found[1], jumps[1], bucket.target, bucket.target_lengths, bucket.source, words.source_null),
    ):
        stop = bucket_transitions(own, states, lengths, 0.06).stop[0, 0]
        expected = np.log(0.06 * ratio[observed[:, 0]]).sum() + np.log(stop)
        np.testing.assert_allclose(posterior.log_likelihood[0], expected, rtol=1e-5)


def test_presets():
    assert PRESET_HYPERPARAMETERS["default"] == Hyperparameters(spectral_weight=0.4)
    assert PRESET_HYPERPARAMETERS["fast"].hmm_iterations < Hyperparameters().hmm_iterations
    values = Hyperparameters(forms=(0, 4)).as_dict()
    forms = {name: tuple(values[name]) for name in ("forms", "short_forms")}
    assert Hyperparameters(**values | forms) == Hyperparameters(forms=(0, 4))


def test_the_estimate_does_not_depend_on_the_threads():
    toy = toy_bitext(60)
    sides = [encode_side([pair[side] for pair in toy.words]) for side in (0, 1)]
    one, two = (
        Estimator(text_of(*sides), PRESET_HYPERPARAMETERS["fast"], workers=workers).run()
        for workers in (1, 3)
    )
    for a, b in zip(one.form_counts.counts, two.form_counts.counts, strict=True):
        np.testing.assert_array_equal(a.links, b.links)
        np.testing.assert_array_equal(a.sides[0].null, b.sides[0].null)
    for a, b in zip(one.jump_models, two.jump_models, strict=True):
        np.testing.assert_array_equal(a.tables, b.tables)


def test_stages_are_reported():
    toy, lines = toy_bitext(30), []
    sides = [encode_side([pair[side] for pair in toy.words]) for side in (0, 1)]
    settings = dataclasses.replace(PRESET_HYPERPARAMETERS["fast"], model1_iterations=2, hmm_iterations=3)
    Estimator(text_of(*sides), settings, workers=1, report=lines.append).run()
    assert "co-occurring word pairs" in lines[0]
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "model 1, iteration 1 of 1",
        *(f"hidden Markov model, iteration {k} of 3" for k in (1, 2, 3)),
    ]
    likelihood = [float(line.split("log-likelihood ")[1].split(" ")[0]) for line in lines[2:]]
    assert likelihood[-1] > likelihood[0]


def test_which_e_steps_agree(monkeypatch):
    """Model 1 averages both directions, then agrees; so do the last steps of the hidden Markov model."""
    toy, steps = toy_bitext(30), []
    sides = [encode_side([pair[side] for pair in toy.words]) for side in (0, 1)]
    counted = Estimator._e_step
    monkeypatch.setattr(
        Estimator, "_e_step", lambda estimator, step: steps.append(step) or counted(estimator, step)
    )
    settings = dataclasses.replace(
        PRESET_HYPERPARAMETERS["default"],
        model1_iterations=4,
        mean_iterations=2,
        hmm_iterations=3,
        agreed_iterations=1,
    )
    Estimator(text_of(*sides), settings, workers=1).run()
    first, *model_1 = steps[:4]
    assert first.emissions is None
    assert [step.mean for step in model_1] == [True, True, False]
    assert [step.agree for step in steps[4:]] == [False, False, True]


@pytest.mark.parametrize("one", [EStep(P0), EStep(P0, mean=True)])
def test_the_padding_of_a_bucket_is_not_counted(encoded, one):
    text = text_of(*encoded)
    if one.mean:
        one = one._replace(emissions=random_emissions(text.word_pairs, *encoded))
    assert any((bucket.source == 0).any() and (bucket.target == 0).any() for bucket in text.buckets)
    counts = expected_counts(one, text, text.word_pairs, workers=1)
    for name in ("links", "source_null", "target_null"):
        padding, *others = getattr(counts, name)
        assert padding == 0, name
        assert max(others) > 0, name


def check_counts(sides, ratios: np.ndarray) -> None:
    """Check the counts of each kind of pass with these ratios of the word pairs."""
    text = text_of(*sides)
    words = Emissions(ratios, *(np.ones(len(side.words), np.float32) for side in sides))
    words.pair_ratios[0] = 0
    jumps = tuple(initial_jump_model(len(side.words) - 1, 2) for side in sides)
    for one in (
        EStep(P0),
        EStep(P0, words),
        EStep(P0, words, mean=True),
        EStep(P0, words, jumps),
        EStep(P0, words, jumps, agree=True),
    ):
        found = expected_counts(one, text, text.word_pairs, workers=1)
        for name, counts in found._replace(log_likelihood=0.0)._asdict().items():
            assert np.isfinite(counts).all(), name
            assert np.min(counts, initial=0) >= 0, name


def test_a_symbol_that_is_always_linked_is_unaligned_zero_times_and_not_fewer():
    """The posteriors of a long line add up to a little more than 1."""
    songs = [(["*", f"w{n}", "*"] * 84, ["*", f"v{n}", "*"] * 84) for n in range(3)]
    sides = [encode_side([song[side] for song in songs]) for side in (0, 1)]
    word_pairs = index_word_pairs(make_buckets(*sides), *sides)
    same = (word_pairs.source == sides[0].words.index("*")) == (
        word_pairs.target == sides[1].words.index("*")
    )
    check_counts(sides, np.where(same, 1e6, 1e-5).astype(np.float32))


SENTENCES = st.lists(st.sampled_from("abcdef*"), max_size=30)


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=12), st.integers(0, 10_000))
def test_counts_of_any_bitext_are_finite_and_not_negative(pairs, seed: int):
    sides = [encode_side([pair[side] for pair in pairs]) for side in (0, 1)]
    word_pairs = index_word_pairs(make_buckets(*sides), *sides)
    check_counts(
        sides, (10 ** np.random.default_rng(seed).uniform(-5, 7, len(word_pairs))).astype(np.float32)
    )


def test_a_side_of_short_words_has_views_of_its_first_and_last_letter(tmp_path):
    chinese = ["今天 天气 很 好", "明天 天气 不 好", "今天 他 不 来"]
    english = ["the weather is fine today", "the weather is bad tomorrow", "he is not coming today"]
    aligner = train([*zip(chinese, english, strict=True)] * 5)
    assert [kind.form_kinds for kind in aligner.lexicon.counts_of_kinds] == [(0, 0), (1, 3), (4, 4), (-1, 6)]
    assert "forms=0,1/3,4,-1/6" in aligner.description
    aligner.save(tmp_path / "model")
    opened = load(tmp_path / "model")
    pair = ("明年 天上 很 好", "the weather tomorrow")  # words that only letters are known of
    np.testing.assert_array_equal(opened.align(*pair).posterior, aligner.align(*pair).posterior)
    turned = train([*zip(english, chinese, strict=True)] * 5, preset="fast")
    assert [kind.form_kinds for kind in turned.lexicon.counts_of_kinds] == [(0, 0), (4, 1)]
