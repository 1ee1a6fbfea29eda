"""The probability that a pair is parallel: the formula, laws, and pairs that are not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus import sections as sections_module
from nmtalign.decoding import decoder
from nmtalign.decoding.probabilities import TrainingSize, evidence_of_pairs, parallel_probability
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from tests.aligner.batches import training_links
from tests.aligner.toy_language import toy_bitext, training_job

WEIGHTS = arrays(np.float32, (3, 2, 4), elements=st.floats(0, 1, width=32))


@given(WEIGHTS, WEIGHTS, WEIGHTS)
def test_evidence_is_a_sum_over_cells(forward, reverse, evidence):
    found = evidence_of_pairs(forward, reverse, evidence)
    for b in range(4):
        cells = [(t, s, b) for t in range(3) for s in range(2)]
        expected = sum((float(forward[c]) + float(reverse[c])) * float(evidence[c]) for c in cells)
        assert found[b] == pytest.approx(expected, abs=1e-5)


lengths = st.integers(1, 2000)


@given(st.floats(0, 1e4), st.floats(0, 1e4), lengths, lengths, st.floats(0.5, 2), st.integers(0, 10**9))
def test_it_is_a_probability_that_rises_with_the_evidence(first, second, S, T, relation, words):
    sizes = np.array([S, S]), np.array([T, T])
    low, high = parallel_probability(np.sort([first, second]), *sizes, TrainingSize(words, relation))
    assert 0 < low <= high < 1


def test_relations_of_length_that_are_strange_are_held_against_a_pair():
    evidence, words = np.full(3, 20.0), np.array([10, 5, 15])
    alike, short, long = parallel_probability(evidence, 20 - words, words, TrainingSize())
    assert alike > max(short, long)
    assert math.isclose(short, long, rel_tol=1e-9)
    assert parallel_probability(np.zeros(1), np.array([0]), np.array([3]), TrainingSize())[0] == 0


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


def test_a_pair_is_no_witness_for_itself():
    """Words that met only here count as much as words that never met."""
    toy = toy_bitext(200, longest=8)
    pairs = [*toy.pairs, ("qq rr ss tt", "vv ww xx yy")]
    found = train_aligner(pairs, training_job(PRESET_HYPERPARAMETERS["fast"], workers=1))
    batch = training_links(found)
    assert len(batch.links(200)) > 0  # attention believes in them
    assert batch.scores[200] < np.quantile(batch.scores[:200], 0.02)


def test_a_long_pair_in_pieces_has_the_evidence_of_the_whole(dirty, monkeypatch):
    monkeypatch.setattr(decoder, "parallel_probability", lambda evidence, *rest: evidence)
    toy = toy_bitext(60, longest=12, seed=5)
    source, target = (" ".join(side).split() for side in (toy.source, toy.target))
    aligner = replace(dirty.aligner, workers=1)
    (whole,) = aligner.align_batch([(source, target)]).scores
    for name, words in (("MAX_UNSPLIT_WORDS", 100), ("CORE_WORDS", 50), ("MARGIN_WORDS", 40)):
        monkeypatch.setattr(sections_module, name, words)
    (pieces,) = aligner.align_batch([(source, target)]).scores
    assert pieces == pytest.approx(whole, rel=0.02)
