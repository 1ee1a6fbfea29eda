"""What heads learn from: a bitext by itself, and hand-made links that weigh them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmtalign.alignment.links import GoldAlignment
from nmtalign.errors import DataError
from nmtalign.models.clues import ClueNetwork, ClueWeights, initial_clues
from nmtalign.models.corpus import encode
from nmtalign.models.learned import LearnedAligner
from nmtalign.models.opinion import Lesson, loss_and_gradient
from nmtalign.models.settings import Settings, with_heads
from nmtalign.models.teaching import gold_of_pairs, learn_from_gold
from nmtalign.models.training import train
from tests.models.test_opinion import a_lesson
from tests.models.toy_language import links_of, toy_bitext

TOY = toy_bitext(130)
SETTINGS = Settings(
    vector_weight=0.45, spectral_weight=0.3, opinion_weight=0.3, lexicon_passes=3, jump_passes=2
)


def as_gold(links) -> GoldAlignment:
    return GoldAlignment(frozenset(links), frozenset(links))


def an_untold_lesson() -> Lesson:
    told = a_lesson()
    ratios = np.random.default_rng(5).lognormal(0, 1, told.forward.shape)
    return Lesson(told.seen, ratios, ratios, ratios)


def likelihood(network, lesson: Lesson) -> float:
    """Log-likelihood of the words of a lesson over chance, word by word."""
    forward, reverse = network.logs(lesson.seen)
    inside = lesson.seen.inside
    total = 0.0
    for t, b in zip(*np.nonzero(inside.any(axis=1)), strict=True):
        own = np.exp(forward.words[t, :, b]) * lesson.ratios[t, :, b] * inside[t, :, b]
        total += np.log(own.sum() + np.exp(forward.null[t, b]))
    for s, b in zip(*np.nonzero(inside.any(axis=0)), strict=True):
        own = np.exp(reverse.words[:, s, b]) * lesson.ratios[:, s, b] * inside[:, s, b]
        total += np.log(own.sum() + np.exp(reverse.null[s, b]))
    return total


def test_without_told_links_the_loss_is_the_likelihood_and_a_step_lowers_it():
    lesson = an_untold_lesson()
    weights = ClueWeights(*(w.astype(float) for w in initial_clues(0)))
    network = ClueNetwork(weights)
    loss, gradient = loss_and_gradient(network, lesson)
    words = lesson.seen.inside.any(axis=1).sum()
    assert loss == pytest.approx(-likelihood(network, lesson) / words, rel=1e-6)
    for _ in range(20):
        _, gradient = loss_and_gradient(network, lesson)
        network = network.replace([w - 0.05 * g for w, g in zip(network.weights, gradient, strict=True)])
    assert loss_and_gradient(network, lesson)[0] < loss


def test_a_head_learned_from_the_bitext_finds_links_by_itself():
    heads = ("lexicon", "vectors", "bahdanau")
    settings = with_heads(SETTINGS, heads, inputs="words", teacher="bitext")
    aligner = train(TOY.pairs, settings=settings, workers=1).aligner.with_heads(["bahdanau"])
    text = toy_bitext(40, seed=5)
    batch = aligner.align_batch(text.words)
    found = [set(map(tuple, batch.links(n))) for n in range(40)]
    right = sum(len(f & g) for f, g in zip(found, text.links, strict=True))
    assert right > 0.5 * sum(map(len, text.links))


def test_gold_links_take_weight_from_a_head_that_errs():
    gold = [as_gold(links) for links in TOY.links]
    plain, weighed = (train(TOY.pairs, settings=SETTINGS, gold=g, workers=1).model for g in ((), gold))
    assert plain.vectors.weight == weighed.vectors.weight == pytest.approx(0.45 * 130 / 230)
    vectors = plain.vectors.vectors
    rows = replace(vectors.source_rows, rows=vectors.source_rows.rows[::-1])
    wrong = replace(plain.vectors, vectors=replace(vectors, source_rows=rows), weight=0.9)
    erring = plain._replace(vectors=wrong)
    taught = learn_from_gold(
        erring, lambda model, pairs: LearnedAligner(model)._prepared(pairs), TOY.words, gold
    )
    assert taught.vectors.weight < 0.5
    errors = []
    for model in (erring, taught):
        found = links_of(LearnedAligner(model).align_batch(TOY.words))
        errors.append(sum(len(f ^ g) for f, g in zip(found, TOY.links, strict=True)))
    assert errors[1] < 0.7 * errors[0]


def test_links_that_contradict_the_heads_still_give_weights_in_range():
    backwards = [as_gold({(s, t)}) for s, t in ((0, len(t.split()) - 1) for t in TOY.target)]
    model = train(TOY.pairs, settings=SETTINGS, gold=backwards, workers=1).model
    assert 0 <= model.vectors.weight <= 1
    assert 0 <= model.opinion.share <= 1


def test_gold_links_of_other_words_are_refused():
    gold = [as_gold({(40, 0)})] * len(TOY.pairs)
    with pytest.raises(DataError, match="gold link 40-0 lies outside of a pair of"):
        train(TOY.pairs, settings=SETTINGS, gold=gold, workers=1)
    sides = encode([["a", "b"]] * 2), encode([["c"]] * 2)
    for link in ((2, 0), (0, 1)):
        with pytest.raises(DataError, match="outside of a pair of 2 and 1 words, number 2: 'a b'"):
            gold_of_pairs([as_gold({(1, 0)}), as_gold({link})], *sides)


def test_few_gold_links_change_nothing_and_say_so():
    gold = [as_gold(links) for links in TOY.links[-20:]]
    warnings: list[str] = []
    few, none = (
        train(TOY.pairs, settings=Settings(vector_weight=0.45), gold=g, workers=1, warn=warnings.append)
        for g in (gold, ())
    )
    assert few.model.vectors.weight == none.model.vectors.weight
    assert [w for w in warnings if "20 pairs with gold links are too few" in w]


def test_more_gold_links_than_pairs_are_refused():
    with pytest.raises(DataError, match="at most 2 pairs, found 3 lines"):
        gold_of_pairs([as_gold(set())] * 3, encode([["a"]] * 2), encode([["b"]] * 2))
