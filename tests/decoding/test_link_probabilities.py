"""The probability of links: the formula, laws, and links that stay what they are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.corpus import sections as sections_module
from nmtalign.corpus.text import encode_text
from nmtalign.decoding.decoder import Decoder
from nmtalign.decoding.extraction_methods import make_extraction
from nmtalign.decoding.probabilities import LINK_COEFFICIENTS, MAX_GOLD_LOG_ODDS, LinkProbabilities
from nmtalign.settings import LinkSettings
from tests.aligner.toy_language import toy_bitext, toy_training

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
    source, target = ([word for pair in WORDS[:200] for word in pair[side]] for side in (0, 1))
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
