"""Edges found by review: long pairs, matching in company, large batches, underflow, odd vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmtalign.aligner import aligner as aligner_module
from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.training_steps import train
from nmtalign.corpus import buckets
from nmtalign.corpus.text import encode_text
from nmtalign.decoding.extraction_methods import make_extraction
from nmtalign.errors import DataError
from nmtalign.links.selection import match
from nmtalign.scorers import forms
from nmtalign.scorers.dense import make_dense_scorer
from nmtalign.scorers.forms import letter_pairs
from nmtalign.scorers.given_vectors import VectorScorer
from nmtalign.scorers.lexicon import Lexicon
from nmtalign.scorers.likelihood_ratios import Smoothing
from nmtalign.scorers.vector_scores import make_score
from nmtalign.settings import LinkSettings
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from tests.aligner.toy_language import links_of

WORDS = [f"w{n}" for n in range(40)]
VECTORS = np.random.default_rng(5).normal(size=(40, 8)).astype(np.float32)


def over(vectors: np.ndarray, *, temperature: float | None = None, **choices: object) -> Aligner:
    side = Embeddings(Vocabulary.from_words(WORDS), vectors)
    scorer = make_score("cosine", 8, temperature=temperature)
    return Aligner(VectorScorer(side, side, scorer), **choices)


@pytest.mark.parametrize("sizes", [(500, 500), (520, 520), (600, 600), (1, 600), (600, 1)])
def test_the_score_of_a_long_pair_is_at_most_1(sizes):
    S, T = sizes
    words = [f"w{n}" for n in range(600)]
    side = Embeddings(Vocabulary.from_words(words), np.random.default_rng(5).normal(size=(600, 64)))
    aligner = Aligner(VectorScorer(side, side, make_score("cosine", 64, temperature=0.02)))
    pair = aligner.align(words[:S], words[:T])
    assert 0 < pair.score <= 1


def test_a_matching_does_not_depend_on_company():
    weights = np.array([[0.5, 0.50005], [0.50005, 0.5]])
    alone = match(weights)
    together = match(np.stack([weights, np.full((2, 2), 1e6)]))
    np.testing.assert_array_equal(together[0], alone)


def test_batches_are_cut_by_cells_and_lose_nothing(monkeypatch):
    pairs = [(WORDS[: 1 + n % 7], WORDS[: 1 + n % 5]) for n in range(50)] + [([], ["w1"])]
    whole = over(VECTORS).align_batch(pairs)
    monkeypatch.setattr(aligner_module, "CELLS_PER_PART", 60)
    parts = over(VECTORS).align_batch(pairs)
    assert links_of(whole) == links_of(parts)
    np.testing.assert_array_equal(whole.probability, parts.probability)


def test_the_words_of_a_text_are_looked_up_once_for_all_parts(monkeypatch):
    bitext = [("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")] * 20
    aligner = replace(train(bitext), workers=1)
    whole = aligner.align_batch(bitext)
    found = []
    monkeypatch.setattr(forms, "letter_pairs", lambda forms: found.append(forms) or letter_pairs(forms))
    monkeypatch.setattr(aligner_module, "CELLS_PER_PART", 60)
    monkeypatch.setattr(buckets, "MAX_BUCKET_CELLS", 50)
    parts = aligner.align_batch(bitext)
    assert len(found) == 2 * len(aligner.lexicon.counts_of_kinds)  # the sides of each kind
    assert links_of(whole) == links_of(parts)
    np.testing.assert_array_equal(whole.probability, parts.probability)


def test_models_that_share_a_text_do_not_share_what_they_know_of_it():
    bitext = [("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")] * 20
    other = [(target, source) for source, target in bitext] + [("une maison", "the car")] * 40
    text = encode_text([(["the", "car"], ["la", "auto"]), (["a", "house"], ["une", "maison"])])
    for aligner in train(bitext), train(other):
        fresh = replace(text, source=replace(text.source), target=replace(text.target))
        found, alone = aligner.link_text(text), aligner.link_text(fresh)
        assert links_of(found) == links_of(alone)
        np.testing.assert_array_equal(found.probability, alone.probability)
        both = [aligner.positions.jump_models_of(own.source, own.target) for own in (text, fresh)]
        for used, expected in zip(*both, strict=True):
            np.testing.assert_array_equal(used.tables, expected.tables)


def test_dense_heads_that_share_a_text_do_not_share_what_they_know_of_it():
    text = encode_text([(["w1", "w2"], ["w3"]), (["w2"], ["w1", "w3"])])
    words, counts = ["", *WORDS], np.arange(41)[::-1]
    lexicon = Lexicon(words, words, counts, counts, [], Smoothing(1.0, 1.0, 0.0), spelling=1.0)
    for scale in 5.0, 9.0:
        fresh = replace(text, source=replace(text.source), target=replace(text.target))
        vectors = np.vstack([np.zeros(8), VECTORS * scale]).astype(np.float32)
        head = make_dense_scorer("x", lexicon, (vectors, vectors), scale=scale, weight=0.5)
        np.testing.assert_array_equal(head.log_ratios(text).values, head.log_ratios(fresh).values)


def test_argmax_links_every_word_where_probabilities_underflow():
    aligner = over(VECTORS, temperature=1e-5, extraction=make_extraction(LinkSettings("argmax")))
    assert len(aligner.align(WORDS[:6], WORDS[3:12]).links) == 9


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_named(wrong):
    vectors = VECTORS.copy()
    vectors[3, 2] = wrong
    with pytest.raises(DataError, match="'w3' contains NaN or infinity"):
        over(vectors).align(["w1", "w3"], ["w2"])
