"""The rescorer in a learned model: its laws, gold links, the folder."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import nmtalign
from nmtalign.aligner import training_steps
from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_steps import train_aligner, train_rescorer
from nmtalign.corpus.text import encode_text
from nmtalign.decoding.probabilities import MAX_GOLD_LOG_ODDS, PSEUDO_LINKS_PER_LOG_ODDS
from nmtalign.errors import DataError
from nmtalign.links.alignments import GoldAlignment
from nmtalign.rescoring import rescorer
from nmtalign.rescoring.network import (
    Network,
    initial_network,
    known_words,
    lexical_features,
    posterior_features,
)
from nmtalign.rescoring.rescorer import mix_posteriors
from nmtalign.training.em import Hyperparameters
from tests.aligner.batches import check_alone, check_same_bits
from tests.aligner.toy_language import links_of, toy_bitext, training_job

TOY = toy_bitext(100)
SETTINGS = Hyperparameters(model1_iterations=3, hmm_iterations=2, spectral_weight=0.4)


def without_low_words(toy) -> list[GoldAlignment]:
    """Gold links of people who leave out the target words that begin with 0; ties of 1 are possible only."""
    found = []
    for target, links in zip(toy.target, toy.links, strict=True):
        words = target.split()
        own = frozenset((s, t) for s, t in links if not words[t].startswith("0"))
        sure = frozenset((s, t) for s, t in own if not words[t].startswith("1"))
        found.append(GoldAlignment(sure, own))
    return found


GOLD = without_low_words(TOY)


@pytest.fixture(scope="module")
def taught():
    """An aligner that was learned with gold links."""
    return train_aligner(TOY.pairs, training_job(SETTINGS, workers=1, gold=GOLD)).aligner


def test_scorers_beside_a_rescorer(taught):
    assert taught.scorer.names == ("lexicon", "spectral")
    assert "positions=hmm rescored=gold" in taught.description
    plain = taught.with_scorers(["lexicon"])
    assert plain.scorer.names == ("lexicon",)
    assert plain.positions is taught.positions.base


def weighing(aligner: Aligner, weight: float) -> Aligner:
    """Return an aligner with another weight of its rescorer."""
    return replace(aligner, positions=replace(aligner.positions, weight=weight))


def unrescored(aligner: Aligner) -> Aligner:
    return replace(aligner, positions=aligner.positions.without_rescorer)


def decoder_for_text(aligner: Aligner, pairs):
    return aligner.decoder_for_scores(aligner.scorer.score_text(encode_text(pairs)))


def test_rows_and_columns_sum_to_at_most_1(taught):
    for aligner in (taught, weighing(taught, 1.0)):
        decoder = decoder_for_text(aligner, TOY.words[:40])
        for k, bucket in enumerate(decoder.text.buckets):
            found = decoder.bucket_posteriors(k).posteriors
            forward, reverse, joint = found.forward, found.reverse, found.joint
            assert forward.shape == reverse.shape == joint.shape == bucket.shape
            assert min(forward.min(), reverse.min(), joint.min()) >= 0
            assert max(forward.sum(axis=1).max(), reverse.sum(axis=0).max(), joint.max()) <= 1 + 1e-5
            padding = ~((bucket.source > 0) & (bucket.target > 0)[:, None])
            assert not joint[padding].any()
            assert not forward[padding].any()


def test_link_probabilities_of_gold_pairs_sum_to_the_right_links(taught):
    """PSEUDO_LINKS_PER_LOG_ODDS links for each unit of log odds keep few gold links from moving much."""
    batch = taught.align_batch(TOY.words)
    right = sum(len(gold.possible.intersection(batch.links(n))) for n, gold in enumerate(GOLD))
    log_odds = taught.positions.gold_log_odds
    assert 0 < abs(log_odds) < MAX_GOLD_LOG_ODDS
    assert batch.probability.sum() + PSEUDO_LINKS_PER_LOG_ODDS * log_odds == pytest.approx(right, abs=0.01)


def test_alone_as_in_a_batch_padded_or_not(taught):
    pairs = TOY.words[:60] + [(s + s, t + t) for s, t in TOY.words[:20]]
    for aligner in (taught, weighing(taught, 1.0)):
        check_alone(replace(aligner, workers=1), pairs, range(0, 80, 7))


def test_weight_0_changes_nothing(taught):
    idle = weighing(taught, 0.0)
    idle = replace(idle, positions=replace(idle.positions, gold_log_odds=0.0))
    plain = unrescored(taught).align_batch(TOY.words[:30])
    found = idle.align_batch(TOY.words[:30])
    np.testing.assert_array_equal(found.probability, plain.probability)
    assert not np.array_equal(taught.align_batch(TOY.words[:30]).probability, plain.probability)


def test_mixing_is_log_linear_with_null():
    p, e = np.array([[[0.6], [0.3]]], np.float32), np.array([[[2.0], [-1.0]]], np.float32)
    inside = np.ones(p.shape, bool)
    w = 0.25
    odds = np.array([0.1**0.75, 0.6**0.75 * np.exp(w * 2), 0.3**0.75 * np.exp(-w)])
    np.testing.assert_allclose(
        mix_posteriors(p, e, np.float32(w), inside, axis=1)[0, :, 0], odds[1:] / odds.sum(), rtol=1e-5
    )
    np.testing.assert_allclose(
        mix_posteriors(p, e, np.float32(1), inside, axis=0)[0, :, 0],
        [1 / (1 + np.exp(-2)), 1 / (1 + np.exp(1))],
        rtol=1e-5,
    )


def test_gold_links_teach_a_style(taught):
    new = toy_bitext(80, seed=7)
    wanted = [gold.possible for gold in without_low_words(new)]

    def wrong(aligner) -> int:
        found = links_of(aligner.align_batch(new.words))
        return sum(len(a ^ b) for a, b in zip(found, wanted, strict=True))

    assert wrong(taught) < 0.5 * wrong(unrescored(taught))


def test_the_same_text_makes_the_same_weights(taught):
    again = train_aligner(TOY.pairs, training_job(SETTINGS, workers=2, gold=GOLD)).aligner
    for name, array in taught.positions.state().arrays.items():
        np.testing.assert_array_equal(again.positions.state().arrays[name], array, err_msg=name)


def test_a_model_folder_keeps_it(taught, tmp_path):
    taught.save(tmp_path / "model")
    again = load_aligner(tmp_path / "model")
    before, after = taught.positions.state(), again.positions.state()
    assert (after.values, after.words) == (before.values, before.words)
    for name, array in before.arrays.items():
        np.testing.assert_array_equal(after.arrays[name], array)


@pytest.mark.parametrize("name", Network._fields)
def test_weights_of_other_shapes_are_refused(taught, tmp_path, name):
    network = taught.positions.network
    network = network._replace(**{name: getattr(network, name)[:-1]})
    replace(taught, positions=replace(taught.positions, network=network)).save(tmp_path / "model")
    with pytest.raises(DataError, match=r"arrays\.npz, positions\.\w: expected \d+.* entries, found"):
        load_aligner(tmp_path / "model")


def test_features_of_cells_one_by_one(taught):
    aligner = unrescored(taught)
    pairs = [(["a", "b", "1", "a"], ["x", "1", "y"]), (["b", "b", "c", "d"], ["1", "x", "x"])]
    decoder = decoder_for_text(aligner, pairs)
    source, target = decoder.text.source, decoder.text.target
    nulls = aligner.scorer.score_text(decoder.text).null_ratios
    counts = source.counts, target.counts
    scores = SimpleNamespace(text=decoder.text, training_counts=counts, null_ratios=nulls)
    known = known_words(scores, (["b"], []))
    bucket = decoder.text.buckets[0]
    found, ratios = decoder.bucket_posteriors(0)
    forward, reverse, joint = found.forward, found.reverse, found.joint
    features = lexical_features(bucket, known, ratios)
    features += posterior_features(forward, reverse, joint)
    cells = np.stack([np.broadcast_to(own, bucket.shape) for own in features])
    b = int(np.flatnonzero(bucket.sections == 0)[0])
    t, s, both = 1, 2, np.sqrt(forward * reverse)[:, :, b]
    log = np.log(ratios[:, :, b]) * 0.4
    expected = {
        0: 4 * (2.5 / 4 - 1.5 / 3),
        2: log[t, s],
        3: log[t, s] - log[t].max(),
        4: log[t, s] - log[:, s].max(),
        5: max(log[t, s - 1], log[t, s + 1], -4) / 2,
        6: max(log[t - 1, s], log[t + 1, s], -4) / 2,
        7: log[t - 1, s - 1] / 2,
        8: log[t + 1, s + 1] / 2,
        9: np.log(2) / 5,
        11: 1,
        16: forward[t, s, b],
        18: both[t - 1, s - 1] + both[t + 1, s + 1],
        19: max(both[t - 1, s], both[t + 1, s], both[t, s - 1], both[t, s + 1]),
        20: both[t].max() - both[t, s],
        22: 1 - forward[t, :, b].sum(),
        24: forward[:, s, b].sum(),
        26: np.log(joint[t, s, b] / (1 - joint[t, s, b])),
    }
    for k, value in expected.items():
        assert cells[k, t, s, b] == pytest.approx(value, abs=1e-4), k
    assert known.frequent[0][source.words.index("b")] == 1


def test_what_cannot_be_taught_is_refused():
    outside = GoldAlignment(frozenset({(90, 0)}), frozenset({(90, 0)}))
    for gold, message in (
        (GOLD[-49:], r"at least 50 pairs .* found 4\d"),
        ([*GOLD, GOLD[0]], "at most 100 pairs, found 101"),
        ([*GOLD[:-1], outside], "pair 99: gold link 90-0 is outside a pair of"),
    ):
        with pytest.raises(DataError, match=message):
            train_aligner(TOY.pairs, training_job(SETTINGS, gold=gold))


def test_gold_of_the_last_pairs_teaches_sure_links_and_leaves_possible_ones_out(monkeypatch):
    seen = []

    def keep(batches, seed):
        seen[:] = batches
        return initial_network(seed)

    monkeypatch.setattr(rescorer, "train_network", keep)
    aligner = train_aligner(TOY.pairs, training_job(SETTINGS, gold=GOLD[-80:], workers=1)).aligner
    usable = [gold for gold in GOLD[-80:] if gold.possible]
    assert aligner.positions.weight == pytest.approx(len(usable) / (len(usable) + 10))
    assert 0.9 * len(usable) < len(seen) <= len(usable)
    for batch in seen:
        np.testing.assert_array_equal(batch.importance, 1 + batch.targets)
    sure = sum(len(gold.sure) for gold in usable)
    assert 0.9 * sure < sum(batch.targets.sum() for batch in seen) <= sure


def test_no_pair_is_scored_by_what_was_learned_from_its_gold_links(taught, monkeypatch):
    plain = unrescored(taught)
    words = [(source.split(), target.split()) for source, target in TOY.pairs[:30]] * 2  # each pair twice
    golds = [GoldAlignment(gold.sure, gold.possible) for gold in GOLD[:30] * 2]
    pairs = [training_steps.GoldPair(both, gold, gold, None) for both, gold in zip(words, golds, strict=True)]
    words_of_gold = {id(pair.gold): pair.words for pair in pairs}
    seen_by = {}
    scored = []

    def learn(scores, *, gold):
        positions = replace(plain.positions)
        seen_by[id(positions)] = positions, [words_of_gold[id(one)] for one in gold]
        return positions

    def count(aligner, held_out):
        scored.append((aligner, held_out))
        return training_steps.Counts()

    monkeypatch.setattr(training_steps, "_counts", count)
    training_steps.cross_validate(plain, pairs, learn)
    rescored = [(aligner, held_out) for aligner, held_out in scored if id(aligner.positions) in seen_by]
    assert len(rescored) == len(seen_by) == training_steps.FOLDS
    for aligner, held_out in rescored:
        _, seen = seen_by[id(aligner.positions)]
        assert len(seen) + len(held_out) == len(pairs)
        assert not [pair for pair in held_out if pair.words in seen]
    assert sorted(id(pair.gold) for _, held_out in rescored for pair in held_out) == sorted(map(id, golds))


def trained_again(aligner: Aligner, gold) -> tuple[Aligner, list[str]]:
    """Return the aligner with a rescorer trained on other gold links, and the warnings."""
    warnings = []
    job = replace(training_job(SETTINGS, workers=1, gold=gold), warn=warnings.append)
    return train_rescorer(unrescored(aligner), prepare(TOY.pairs, job), job), warnings


def inside(gold: GoldAlignment, source, target) -> GoldAlignment:
    """Return the gold links of another pair that are inside of a pair."""
    both = []
    for links in (gold.sure, gold.possible):
        both.append([(s, t) for s, t in links if s < len(source) and t < len(target)])
    return GoldAlignment(*both)


def test_the_figure_that_is_told_is_of_pairs_left_out_of_training(taught):
    record = taught.training["gold"]
    assert record["pairs"] == record["validated_pairs"]
    assert record["aer"] < record["aer_without_gold"] < 1
    order = np.random.default_rng(2).permutation(len(GOLD))
    shuffled = [inside(GOLD[other], *pair) for other, pair in zip(order, TOY.words, strict=True)]
    aligner, warnings = trained_again(taught, shuffled)
    rates = aligner.training["gold"]
    assert rates["aer"] > 6 * record["aer"]
    assert rates["aer"] > rates["aer_without_gold"]
    told = f"the gold links do not help: .* {100 * rates['aer']:.1f} % with and "
    assert any(re.match(told, warning) for warning in warnings)


@pytest.mark.parametrize(
    "options", [{}, {"threshold": 0.2}, {"extract": "argmax"}, {"symmetrize": "grow-diag"}]
)
def test_corrected_posteriors_are_chosen_from(taught, options):
    batch = taught.align_batch(TOY.pairs[:60], posteriors=True)
    check_same_bits(batch.choose(**options), nmtalign.load(taught, **options).align_batch(TOY.pairs[:60]))
