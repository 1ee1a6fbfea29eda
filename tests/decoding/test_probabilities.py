"""Probabilities of links and of pairs: the formulas, laws, and links and pairs that are wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus import sections as sections_module
from nmtalign.corpus.text import encode_text
from nmtalign.decoding import probabilities
from nmtalign.decoding.decoder import Decoder
from nmtalign.decoding.extraction_methods import make_extraction
from nmtalign.decoding.probabilities import (
    LINK_COEFFICIENTS,
    MAX_GOLD_LOG_ODDS,
    LinkProbabilities,
    PairEvidence,
    PairFaults,
    PairFeatures,
    TrainingSize,
    link_evidence,
)
from nmtalign.settings import LinkSettings
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from tests.aligner.batches import training_links
from tests.aligner.toy_language import toy_bitext, toy_training, training_job

ALL = np.ones(3, bool), np.ones(3, bool)
WORDS = toy_bitext(300).words  # those that the model of toy_training was learned from


def one(posterior: float, evidence: float, size: float, gold: float = 0.0) -> float:
    found = LinkProbabilities(ALL, size, gold).of_training_text(np.array([posterior]), np.array([evidence]))
    return float(found[0])


def test_worked_numbers():
    """-0.7 + 0.29 log(0.9 / 0.1) + 0.62 * 1 + 0.54 * 0.5 = 0.8272; 1 / (1 + exp(-0.8272)) = 0.6957."""
    assert one(0.9, 1.0, 0.5) == pytest.approx(0.6957, abs=1e-4)
    assert one(0.9, 1.0, 0.5, gold=-0.8272) == pytest.approx(0.5, abs=1e-4)
    assert one(0.6, 2.0, 0.5) == pytest.approx(0.6)  # 0.928 is above logit 0.6 = 0.405
    assert LINK_COEFFICIENTS == (-0.7, 0.29, 0.62, 0.54)


chances, evidences = st.floats(0, 1), st.floats(0, 60)
sizes, golds = st.floats(-0.6, 1.6), st.floats(-MAX_GOLD_LOG_ODDS, MAX_GOLD_LOG_ODDS)


@given(chances, chances, evidences, evidences, sizes, sizes, golds, golds)
def test_a_probability_that_rises_and_is_at_most_the_posterior(p, p2, e, e2, u, u2, d, d2):
    found = one(min(p, p2), min(e, e2), min(u, u2), min(d, d2))
    assert 0 < found < 1
    assert found <= max(min(p, p2), 1e-6)
    assert found <= one(max(p, p2), max(e, e2), max(u, u2), max(d, d2)) + 1e-12


@given(st.lists(st.tuples(chances, evidences, st.booleans()), min_size=1), sizes)
def test_gold_links_move_the_sum_of_probabilities_to_the_right_ones(links, size):
    posterior, evidence, right = (np.array(column, float) for column in zip(*links, strict=True))
    found = LinkProbabilities(ALL, size)
    d = found.fit_gold_log_odds(posterior, evidence, right)
    with_gold = found._replace(gold_log_odds=d).of_training_text(posterior, evidence).sum()
    before = found.of_training_text(posterior, evidence).sum()
    assert abs(with_gold - right.sum()) <= abs(before - right.sum()) + 1e-6
    assert math.copysign(1, d) == math.copysign(1, right.sum() - before) or abs(d) < 1e-6


def decoder_for_text(pairs, extraction=None) -> Decoder:
    aligner = replace(toy_training().aligner, extraction=extraction)
    return aligner.decoder_for_scores(aligner.scorer.score_text(encode_text(pairs)))


class Contrary(LinkProbabilities):
    """Says of likely links that they are not."""

    def of(self, bucket, column, posterior, evidence):
        return 1 - posterior


@pytest.mark.parametrize("method", ["posterior", "one-to-one", "mutual", "symmetrize"])
def test_links_and_pair_scores_are_those_of_the_posteriors(method, monkeypatch):
    """Of a long pair in pieces, too, whose words are in such disorder that several pieces link them."""
    for name, words in (("MAX_UNSPLIT_WORDS", 40), ("CORE_WORDS", 20), ("MARGIN_WORDS", 15)):
        monkeypatch.setattr(sections_module, name, words)
    source, target = ([word for pair in WORDS[:100] for word in pair[side]] for side in (0, 1))
    pairs = [*WORDS[:20], (source, target[::-1])]
    chosen = (
        make_extraction(LinkSettings(symmetrize="union"))
        if method == "symmetrize"
        else make_extraction(LinkSettings(method))
    )
    decoder = decoder_for_text(pairs, chosen)
    found, plain = decoder.all_links(1), decoder._replace(probabilities=None).all_links(1)
    contrary = decoder._replace(probabilities=Contrary(*decoder.probabilities)).all_links(1)
    for column in ("offsets", "source", "target", "scores"):
        np.testing.assert_array_equal(getattr(found, column), getattr(plain, column))
        np.testing.assert_array_equal(getattr(contrary, column), getattr(plain, column))
    assert (found.probability <= plain.probability).all()
    assert (found.probability < plain.probability).any()


def test_a_pair_with_a_new_word_keeps_its_posteriors():
    """On both sides; the other pairs of the batch do not matter."""
    words = WORDS[:12]
    new = [([*s, "qqq"], t) if n % 2 else (s, [*t, "vvv"]) for n, (s, t) in enumerate(words)]
    decoder = decoder_for_text([*words, *new])
    found, plain = decoder.all_links(1), decoder._replace(probabilities=None).all_links(1)
    first = found.offsets[len(words)]
    np.testing.assert_array_equal(found.probability[first:], plain.probability[first:])
    assert (found.probability[:first] < plain.probability[:first]).mean() > 0.5


WEIGHTS = arrays(np.float32, (3, 2, 4), elements=st.floats(0, 1, width=32))


@given(WEIGHTS, WEIGHTS)
def test_evidence_is_a_sum_over_cells(posterior, evidence):
    found = link_evidence(posterior, evidence)
    for b in range(4):
        cells = [(t, s, b) for t in range(3) for s in range(2)]
        expected = sum(float(posterior[c]) * float(evidence[c]) for c in cells)
        assert found[b] == pytest.approx(expected, abs=1e-5)


def features(*, S, T, links=20.0, surprise=(0.0, 0.0), foreignness=(-5.0, -5.0), size=None):
    """Return the features of pairs; numbers are those of each pair."""
    S, T = np.atleast_1d(S), np.atleast_1d(T)
    row = np.ones(len(S))
    half = links / 2 * row
    return PairFeatures(
        PairEvidence(half, half, surprise[0] * row, surprise[1] * row),
        (foreignness[0] * row, foreignness[1] * row),
        (S, T),
        size or TrainingSize(),
    )


lengths = st.integers(1, 2000)


@given(st.floats(0, 1e4), st.floats(0, 1e4), lengths, lengths, st.floats(0.5, 2), st.integers(0, 10**9))
def test_it_is_a_probability_that_rises_with_the_evidence(first, second, S, T, relation, words):
    links = np.sort([first, second])
    size = TrainingSize(words, relation)
    low, high = features(S=[S, S], T=[T, T], links=links, size=size).probability()
    assert 0 < low <= high < 1


def test_strange_ratios_of_length_lower_a_score():
    words = np.array([10, 5, 15])
    alike, short, long = features(S=20 - words, T=words).probability()
    assert alike > max(short, long)
    assert math.isclose(short, long, rel_tol=1e-9)
    assert features(S=0, T=3).probability()[0] == 0


@given(lengths, lengths, st.floats(0, 1e3), st.floats(0, 5), st.floats(0, 5), st.floats(-9, 9))
def test_exchanged_sides_exchange_the_faults(S, T, links, of_source, of_target, foreignness):
    found = features(S=S, T=T, links=links, surprise=(of_source, of_target), foreignness=(foreignness, 1))
    turned = features(S=T, T=S, links=links, surprise=(of_target, of_source), foreignness=(1, foreignness))
    other, in_target, in_source, to_target, to_source = turned.faults
    expected = PairFaults(other, in_source, in_target, to_source, to_target)
    np.testing.assert_allclose(np.stack(found.faults), np.stack(expected), rtol=1e-9, atol=1e-9)


@given(lengths, lengths, st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e3), st.floats(-9, 9))
def test_words_without_partners_and_words_of_the_other_side_lower_a_score(S, T, links, low, more, foreign):
    usual = features(S=S, T=T, links=links, surprise=(low, 0), foreignness=(foreign, -5))
    missing = features(S=S, T=T, links=links, surprise=(low + more, 0), foreignness=(foreign, -5))
    copied = features(S=S, T=T, links=links, surprise=(low, 0), foreignness=(foreign, -4))
    assert missing.probability()[0] <= usual.probability()[0]
    assert copied.probability()[0] <= usual.probability()[0]


def test_a_score_is_the_softmax_of_the_faults():
    """By hand: 10 source words, 6 target words, the evidence 20."""
    pair = features(S=10, T=6, surprise=(12.0, 3.0))
    v, n, x = 20 / 16, math.log(9), math.log(6.5 / 10.5)
    rows = (
        (probabilities.OTHER_COEFFICIENTS, (1, n, -x * math.sqrt(6), v * n, 1)),
        (probabilities.MISSING_COEFFICIENTS, (1, 1.2, 0.5, -x, n)),
        (probabilities.MISSING_COEFFICIENTS, (1, 0.5, 1.2, x, n)),
        (probabilities.COPIED_COEFFICIENTS, (1, -5)),
        (probabilities.COPIED_COEFFICIENTS, (1, -5)),
    )
    odds = [math.exp(sum(map(mul, weights, values))) for weights, values in rows]
    assert pair.probability()[0] == pytest.approx(1 / (1 + sum(odds)), rel=1e-9)
    in_source, in_target = pair.faults.missing_probability[:, 0]
    assert (in_source, in_target) == pytest.approx((odds[2] / (1 + sum(odds)), odds[1] / (1 + sum(odds))))


@pytest.fixture(scope="module")
def dirty():
    """A text whose first 30 target lines changed places, and what was learned from it."""
    toy = toy_bitext(300, longest=12, seed=3)
    target = [*toy.target[1:30], toy.target[0], *toy.target[30:]]
    return train_aligner(
        list(zip(toy.source, target, strict=True)),
        training_job(PRESET_HYPERPARAMETERS["fast"], workers=1),
    )


def ranks(scores: np.ndarray) -> float:
    """Return how often one of the first 30 has a lower score than one of the others."""
    return float((scores[:30, None] < scores[None, 30:]).mean())


def test_pairs_that_changed_places_have_low_scores_also_where_the_model_learned_from_them(dirty):
    scores = training_links(dirty).scores
    assert ranks(scores) > 0.97
    assert np.median(scores[30:]) > 0.9


def test_text_that_is_missing_added_or_copied_has_low_scores(dirty):
    toy = toy_bitext(200, longest=12, seed=8)
    pairs = [(s.split(), t.split()) for s, t in toy.pairs if len(t.split()) >= 6]
    others = [target for _, target in pairs[1:] + pairs[:1]]
    faults = [
        [(source, target[: len(target) // 2]) for source, target in pairs],
        [(source[len(source) // 2 :], target) for source, target in pairs],
        [(source, target + other) for (source, target), other in zip(pairs, others, strict=True)],
        [(source, source) for source, _ in pairs],
    ]
    scores = dirty.aligner.align_batch(list(chain(pairs, *faults))).scores
    sound, *of_faults = np.split(scores, len(faults) + 1)
    for faulty in of_faults:
        assert (faulty[:, None] < sound).mean() > 0.97


def test_a_pair_is_no_witness_for_itself():
    """Words that met only here count as much as words that never met."""
    toy = toy_bitext(200, longest=8)
    pairs = [*toy.pairs, ("qq rr ss tt", "vv ww xx yy")]
    found = train_aligner(pairs, training_job(PRESET_HYPERPARAMETERS["fast"], workers=1))
    batch = training_links(found)
    assert len(batch.links(200)) > 0  # attention believes in them
    assert batch.scores[200] < np.quantile(batch.scores[:200], 0.02)


def test_a_long_pair_in_pieces_has_the_evidence_of_the_whole(dirty, monkeypatch):
    monkeypatch.setattr(PairFeatures, "probability", lambda pairs: sum(pairs.evidence[:2]))
    toy = toy_bitext(60, longest=12, seed=5)
    source, target = (" ".join(side).split() for side in (toy.source, toy.target))
    aligner = replace(dirty.aligner, workers=1)
    (whole,) = aligner.align_batch([(source, target)]).scores
    for name, words in (("MAX_UNSPLIT_WORDS", 100), ("CORE_WORDS", 50), ("MARGIN_WORDS", 40)):
        monkeypatch.setattr(sections_module, name, words)
    (pieces,) = aligner.align_batch([(source, target)]).scores
    assert pieces == pytest.approx(whole, rel=0.02)
