"""A word list or an older model speaks before the bitext does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.training_steps import train, train_aligner
from nmtalign.errors import UsageError
from nmtalign.scorers.forms import FormCounts, FormPairCounts, FormPairs
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.training.prior import FormPrior, Prior, form_prior, similar_words
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from tests.aligner.batches import training_links
from tests.aligner.toy_language import toy_bitext, toy_training, training_job

UNDECIDED = [("red car", "auto rot"), ("red car", "auto rot")] * 5
FAST = PRESET_HYPERPARAMETERS["fast"]


def links_of(words: list[tuple[str, str, float]]) -> set[tuple[int, int]]:
    found = train_aligner(UNDECIDED, training_job(FAST, prior=Prior(words), workers=1))
    return set(found.aligner.align("red car", "auto rot").alignment.links)


def test_a_word_list_decides_what_the_text_leaves_open():
    assert links_of([("red", "rot", 5.0), ("car", "auto", 5.0)]) == {(0, 1), (1, 0)}
    assert links_of([("red", "auto", 5.0), ("car", "rot", 5.0)]) == {(0, 0), (1, 1)}


def test_listed_words_that_the_text_does_not_show_are_kept():
    lexicon = train_aligner(
        UNDECIDED, training_job(FAST, prior=Prior([("Moon", "Mond", 3.0)]), workers=1)
    ).aligner.lexicon
    assert ("Moon", "Mond") in {(entry.source, entry.target) for entry in lexicon.translations()}


def test_going_on_from_a_model_keeps_what_it_knows():
    older = toy_training("fast").aligner
    known = known_of(older)
    newer = train_aligner([("qa qb qc", "ra rb rc")] * 20, training_job(FAST, prior=known, workers=1))
    text = toy_bitext(50, seed=9)
    before = older.align_batch(text.words)
    after = newer.aligner.align_batch(text.words)
    same = [before.links(n) == after.links(n) for n in range(len(before))]
    assert np.mean(same) > 0.95
    assert older.lexicon.smoothing.corpus_size < newer.aligner.lexicon.smoothing.corpus_size


def known_of(older: Aligner) -> Prior:
    return Prior(lexicon=older.lexicon, jump_models=older.positions.jump_models)


@pytest.mark.parametrize("presets", [("fast", "default"), ("default", "fast")])
def test_every_view_has_the_mass_of_the_text_and_of_the_older_model(presets: tuple[str, str]):
    older = toy_training(presets[0]).aligner
    newer = train_aligner(
        toy_bitext(50, seed=5).pairs,
        training_job(PRESET_HYPERPARAMETERS[presets[1]], prior=known_of(older), workers=1),
    )
    lexicon = newer.aligner.lexicon
    for side in (0, 1):
        linked = [kind.sides[side].linked.sum() for kind in lexicon.counts_of_kinds]
        np.testing.assert_allclose(linked, linked[0], rtol=1e-6)
    np.testing.assert_allclose(linked[0], lexicon.smoothing.corpus_size, rtol=0.1)
    np.testing.assert_allclose([kind.counts.sum() for kind in lexicon.counts_of_kinds], linked[0], rtol=1e-3)


def test_an_older_model_of_other_views_without_whole_words_is_refused():
    older = train_aligner(toy_bitext(20).pairs, training_job(replace(FAST, forms=(3,)), workers=1)).aligner
    with pytest.raises(UsageError, match=r"whole words or with the forms \(0, 0\), found \[\(3, 3\)\]"):
        train_aligner(toy_bitext(20).pairs, training_job(FAST, prior=known_of(older), workers=1))


def test_a_prior_adds_its_counts_of_pairs_of_words_and_of_null():
    both = [np.arange(2)] * 2
    kind = FormPairs((0, 0), (["", "a"], ["", "x"]), tuple(both), None, *both, [], [])
    own = FormPairCounts(np.float32([0, 2]), (FormCounts(np.array([0, 2.0]), np.array([0, 0.5]), 0.5),) * 2)
    sides = FormCounts(np.array([0, 5.0]), np.array([0, 3.0]), 4.0), FormCounts(np.ones(2), np.ones(2), 7.0)
    prior = FormPrior(np.array([3]), np.float32([5]), sides)
    found = prior.add_to(prior.counts_of(kind), own)
    assert found.links.tolist() == [0, 7]
    assert [side.linked.tolist() for side in found.sides] == [[0, 7], [1, 3]]
    assert [side.null.tolist() for side in found.sides] == [[0, 3.5], [1, 1.5]]
    assert [side.all_null for side in found.sides] == [4.5, 7.5]


@pytest.mark.parametrize(("kind", "keys"), [((0, 0), [3]), ((1, 1), [])])
def test_compounds_are_counted_for_whole_words_only(kind: tuple[int, int], keys: list[int]):
    both = [np.arange(2)] * 2
    form_pairs = FormPairs(kind, (["", "haus"], ["", "house"]), tuple(both), None, *both, [], [])
    prior = form_prior(form_pairs, Prior(compound_pairs=[("haus", "house", 2.0)]))
    assert prior.keys.tolist() == keys  # 1 * 2 forms + 1
    assert prior.counts.tolist() == [2.0] * len(keys)


def test_training_links_are_those_of_the_model():

    found = train_aligner(
        toy_bitext(60).pairs, training_job(FAST, prior=Prior([("aa", "bb", 1.0)]), workers=1)
    )
    own, again = training_links(found), found.aligner.align_batch(toy_bitext(60).words)
    np.testing.assert_array_equal(own.source, again.source)
    np.testing.assert_array_equal(own.probability, again.probability)


def test_swapped_sides_are_noticed():
    toy = toy_bitext(100)
    older = train_aligner(toy.pairs, training_job(FAST, workers=1)).aligner
    known = known_of(older)
    said: list[str] = []
    train_aligner(toy.pairs, training_job(FAST, prior=known, workers=1, warn=said.append))
    assert not said
    train_aligner(
        [(t, s) for s, t in toy.pairs],
        training_job(FAST, prior=known, workers=1, warn=said.append),
    )
    assert any("swapped" in line for line in said)


def test_similar_words_are_mutual_neighbors():
    rows = np.eye(4, dtype=np.float32)
    english = Embeddings(Vocabulary.from_words(["one", "two", "red", "odd"]), rows)
    french = Embeddings(Vocabulary.from_words(["rouge", "deux", "un"]), rows[[2, 1, 0]])
    found = {(s, t) for s, t, _ in similar_words(english, french, TextSettings())}
    assert {("one", "un"), ("two", "deux"), ("red", "rouge")} <= found


def test_similar_words_are_normalized_and_keep_their_rows():
    english = Embeddings(Vocabulary({"One": 1, "Two": 3}), np.eye(4, dtype=np.float32))
    french = Embeddings(Vocabulary({"UN": 0, "DEUX": 1}), np.eye(4, dtype=np.float32)[[1, 3]])
    assert similar_words(english, french, TextSettings()) == [("one", "un", 1.0), ("two", "deux", 1.0)]


def test_an_older_model_gives_what_cuts_the_text(tmp_path):
    bitext = [("The house .", "la maison ."), ("the car .", "la voiture .")] * 5
    train(bitext, tokenizer="simple", lowercase=False).save(tmp_path / "model")
    assert str(train(bitext, init=tmp_path / "model").text_settings) == "simple+cased+nfc"
    with pytest.raises(UsageError, match="a continued model keeps its own"):
        train(bitext, init=tmp_path / "model", lowercase=True)


def test_python_hears_of_raw_text_too():
    with pytest.warns(UserWarning, match="end in punctuation, like 'maison.'"):
        train([("the house", "la maison."), ("the car", "la voiture.")] * 5)
