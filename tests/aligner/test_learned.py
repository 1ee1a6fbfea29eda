"""The learned aligner: a planted language, swapped sides, pairs alone and together, new words."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.decoding.extraction_methods import DEFAULT_THRESHOLD, make_extraction
from nmtalign.positions.hmm import joint_probability
from nmtalign.settings import LinkSettings
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from tests.aligner.batches import training_links
from tests.aligner.toy_language import links_of, toy_bitext, toy_training, training_job

pytestmark = pytest.mark.filterwarnings("ignore:(only|the sides seem)")  # made-up words

TOY = toy_bitext(300)
NEW = toy_bitext(60, seed=5)
METHODS = ["argmax", "argmax-reverse", "mutual", "threshold", "itermax", "match", "transport"]
SYMMETRIZATIONS = ["intersection", "union", "grow-diag-final-and"]


def aligner(**extraction) -> Aligner:
    return replace(toy_training().aligner, extraction=make_extraction(LinkSettings(**extraction)), workers=1)


def test_the_dictionary_is_recovered_exactly():
    best = {}
    for entry in toy_training().aligner.lexicon.translations():
        best[entry.source] = max(best.get(entry.source, (0.0, "")), (entry.forward, entry.target))
    expected = {}
    for (source, target), links in zip(TOY.words, TOY.links, strict=True):
        expected |= {source[s]: target[t] for s, t in links}
    assert {word: translation for word, (_, translation) in best.items()} == expected
    assert min(probability for probability, _ in best.values()) > 0.8


def test_words_in_order_are_recovered_exactly():
    toy = toy_bitext(300, disorder=0.5, empty=0.2)
    assert links_of(training_links(train_aligner(toy.pairs, training_job(workers=1)))) == toy.links


@pytest.mark.parametrize("empty", [0.0, 0.1, 0.3])
def test_words_moved_about_are_recovered_but_for_one_in_fifty(empty: float):
    toy = toy_bitext(300, empty=empty)
    found = links_of(training_links(train_aligner(toy.pairs, training_job(workers=1))))
    right = sum(len(a & b) for a, b in zip(found, toy.links, strict=True))
    assert right >= 0.98 * sum(map(len, found))
    assert right >= 0.98 * sum(map(len, toy.links))


def test_text_that_was_not_learned_from_is_aligned_as_well():
    found = links_of(aligner().align_batch(NEW.words))
    assert sum(a != b for a, b in zip(found, NEW.links, strict=True)) <= 3


def test_the_bitext_itself_is_aligned_as_any_text():
    own, other = training_links(toy_training()), aligner().align_batch(TOY.words)
    for name in ("offsets", "source", "target", "probability", "scores"):
        np.testing.assert_array_equal(getattr(own, name), getattr(other, name))


def swapped_training(toy):
    return train_aligner(
        [(target, source) for source, target in toy.pairs],
        training_job(PRESET_HYPERPARAMETERS["fast"], workers=1),
    )


def test_swapped_sides_give_the_same_links():
    forward = training_links(toy_training("fast"))
    reverse = training_links(swapped_training(TOY))
    assert links_of(forward) == [{(t, s) for s, t in links} for links in links_of(reverse)]


def test_swapped_sides_transpose_the_weights():
    toy = toy_bitext(100, empty=1.0, longest=6)  # twice as many target words
    forward = train_aligner(toy.pairs, training_job(PRESET_HYPERPARAMETERS["fast"], workers=1)).aligner
    reverse = swapped_training(toy).aligner
    for source, target in toy.words[:20]:
        here, there = forward.align(source, target), reverse.align(target, source)
        np.testing.assert_allclose(here.matrix.weights, there.matrix.weights.T, atol=2e-3)


WORD = st.sampled_from(
    [*chain.from_iterable(chain(*TOY.words[:6])), "zu", "unknown", "1997", "\u2028", "\r", "\x00"]
)
SENTENCE = st.lists(WORD, max_size=12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(SENTENCE, SENTENCE), max_size=8))
def test_one_by_one_is_as_together(pairs):
    batch = aligner().align_batch(pairs)
    assert len(batch) == len(pairs)
    for n, pair in enumerate(pairs):
        alone = aligner().align_batch([pair])
        rows = slice(batch.offsets[n], batch.offsets[n + 1])
        assert alone.links(0) == batch.links(n) == sorted(batch.links(n))
        np.testing.assert_array_equal(alone.probability, batch.probability[rows])
        assert alone.scores[0] == batch.scores[n]


@settings(max_examples=25, deadline=None)
@given(SENTENCE, SENTENCE)
def test_weights_add_up_to_at_most_one(source, target):
    pair = aligner().align(source, target)
    S, T = len(source), len(target)
    assert pair.forward.shape == pair.reverse.shape == pair.matrix.weights.shape == (T, S)
    assert pair.forward.min(initial=0) >= 0
    assert pair.forward.sum(axis=1).max(initial=0) <= 1 + 1e-5
    assert pair.reverse.sum(axis=0).max(initial=0) <= 1 + 1e-5
    np.testing.assert_allclose(pair.target_null, 1 - pair.forward.sum(axis=1), atol=1e-5)
    for link, probability in pair.probabilities.items():
        assert pair.matrix.weights[link.target, link.source] == pytest.approx(probability, abs=1e-6)
        beside = {(s + k, t) for s, t in [link] for k in (-1, 1)} | {(link[0], link[1] + k) for k in (-1, 1)}
        assert probability >= DEFAULT_THRESHOLD or any(
            pair.probabilities.get(b, 0) >= DEFAULT_THRESHOLD for b in beside
        )
    firm = [link for link, probability in pair.probabilities.items() if probability >= DEFAULT_THRESHOLD]
    if len(pair.links):  # of words that nothing is known of there are none
        assert (pair.matrix.weights >= DEFAULT_THRESHOLD).sum() == len(firm)


@pytest.mark.parametrize(
    "chosen",
    [
        {"extract": "posterior"},
        *({"extract": m} for m in METHODS),
        *({"symmetrize": m} for m in SYMMETRIZATIONS),
    ],
)
def test_every_extraction(chosen):
    batch = aligner(**chosen).align_batch([*NEW.words[:12], ([], ["zu"]), (["qqq"], [])])
    assert len(batch) == 14
    found = links_of(batch)
    assert found[12:] == [set(), set()]
    right = sum(len(a & b) for a, b in zip(found, NEW.links[:12], strict=False))
    assert right >= 0.85 * sum(map(len, NEW.links[:12]))
    assert right >= 0.6 * sum(map(len, found))


def test_a_threshold_decides():
    low, high = (links_of(aligner(threshold=t).align_batch(NEW.words)) for t in (0.1, 0.95))
    assert all(a >= b for a, b in zip(low, high, strict=True))
    assert sum(map(len, low)) > sum(map(len, high))


@pytest.mark.parametrize(
    ("chosen", "part"), [({"threshold": 0.45}, "0.45"), ({"symmetrize": "union"}, "union")]
)
def test_the_settings_name_the_extraction(chosen, part):
    assert part in aligner(**chosen).description


def test_a_word_eight_times():
    (source, target), links = NEW.words[0], NEW.links[0]
    s, t = sorted(links)[0]
    pair = aligner().align([source[s]] * 8, [target[t]] * 8)
    np.testing.assert_array_equal(pair.matrix.weights.argmax(axis=1), np.arange(8))
    assert np.isfinite(pair.score)


def test_pairs_of_one_word():
    (source, target), links = NEW.words[0], NEW.links[0]
    s, t = sorted(links)[0]
    batch = aligner().align_batch([([source[s]], [target[t]])])
    assert batch.links(0) == [(0, 0)]


def test_unknown_words_align_by_spelling_and_numbers():
    found = aligner().align("Montreal 1997 4.5 zzz", "zu Montreal 1997 4.5").alignment.links
    assert {(0, 1), (1, 2), (2, 3)} <= found


def test_forms_of_known_words_align():
    (source, target), links = max(zip(NEW.words, NEW.links, strict=True), key=lambda pair: len(pair[1]))
    inflected = [word + "ing" for word in source], [word + "eux" for word in target]
    right = set(aligner().align_batch([inflected]).links(0))
    assert len(right & links) >= 0.7 * len(links)


def test_nothing():
    batch = aligner().align_batch([])
    assert len(batch) == 0
    batch = aligner().align_batch([([], []), ([], ["zu"]), (["a"], [])])
    assert batch.offsets.tolist() == [0, 0, 0, 0]
    assert batch.scores.tolist() == [0, 0, 0]
    pair = aligner().align("", "zu")
    assert pair.matrix.weights.shape == (1, 0)
    assert not pair.alignment.links


def test_lines_keep_their_words():
    lower = replace(aligner(), text_settings=TextSettings(lowercase=True))
    source, target = NEW.pairs[0]
    pair = lower.align(source.upper(), target.upper())
    assert pair.matrix.source_tokens == tuple(source.upper().split())
    assert set(pair.alignment.links) == NEW.links[0]


def test_better_pairs_score_higher():
    right = aligner().align_batch(NEW.words).scores
    wrong = (
        aligner()
        .align_batch([(s, t) for (s, _), (_, t) in zip(NEW.words, NEW.words[1:], strict=False)])
        .scores
    )
    assert np.quantile(right, 0.1) > np.quantile(wrong, 0.9)


@given(st.floats(0, 1, width=32), st.floats(0, 1, width=32))
def test_joint_probability_is_half_the_mean_of_the_logits(p, q):
    found = joint_probability(np.float32(p), np.float32(q))
    assert 0 <= found <= 1
    if 1e-3 < p < 0.999 and 1e-3 < q < 0.999:
        logit = (np.log(p / (1 - p)) + np.log(q / (1 - q))) / 4
        np.testing.assert_allclose(found, 1 / (1 + np.exp(-logit)), atol=1e-4)


def test_sentences_of_unknown_words_have_no_links():
    for words in (["never", "seen"], ["never"]):
        assert not aligner().align(words, ["anywhere", "at", "all"]).links
    known = TOY.words[0]
    assert not aligner().align(known[0][:1], ["anywhere"]).links
    assert aligner().align(*known).links
    batch = aligner().align_batch([(["never"], ["anywhere"]), known, (["never", "seen"], known[1])])
    assert [len(links) for links in links_of(batch)] == [0, len(aligner().align(*known).links), 0]
