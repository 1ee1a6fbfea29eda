"""The spectral head: its logits, what it leaves alone, and its part in a learned aligner."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmtalign.aligner.aligner import load_aligner
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus.text import encode_text
from nmtalign.errors import DataError
from nmtalign.scorers.dense import MAX_NORM_WORDS, MIN_LINKS, SPECTRAL_SCALE, learn_spectral
from nmtalign.scorers.forms import FormCounts
from nmtalign.scorers.likelihood_ratios import emission_ratios
from nmtalign.scorers.mixture import Mixture, interpolate
from nmtalign.scorers.scorer import LogRatios
from nmtalign.training.em import PRESET_HYPERPARAMETERS, Hyperparameters
from tests.aligner.toy_language import toy_bitext, training_job

TOY = toy_bitext(80)
NOTHING = "zu"  # has no translation, so no vector either
SETTINGS = Hyperparameters(spectral_weight=0.4, model1_iterations=3, hmm_iterations=2)


@pytest.fixture(scope="module")
def aligner():
    return replace(train_aligner(TOY.pairs, training_job(SETTINGS, workers=1)).aligner, workers=1)


def emissions_of(aligner, pairs):
    """Emissions of a text before and after the head, with the word pairs they belong to."""
    text = encode_text(pairs)
    sides, word_pairs = (text.source, text.target), text.word_pairs
    before = emission_ratios(aligner.lexicon.lookup(*sides, word_pairs))
    after = before._replace(pair_ratios=interpolate(before.pair_ratios, aligner.scorer.others, text))
    return before, after, sides, word_pairs


def test_the_padding_stays_impossible(aligner):
    before, after, _, index = emissions_of(aligner, TOY.pairs)
    text = encode_text(TOY.pairs)
    assert before.pair_ratios[0] == after.pair_ratios[0] == 0

    class All:
        name, weight = "all", 0.9

        def log_ratios(self, text):
            return LogRatios(np.arange(len(index)), np.full(len(index), 3, np.float32))

    mixed = interpolate(before.pair_ratios, [All()], text)
    assert mixed[0] == 0
    np.testing.assert_allclose(mixed[1:], before.pair_ratios[1:] ** 0.1 * np.exp(2.7), rtol=1e-5)


def headless(aligner):
    """The aligner without its spectral head."""
    return replace(aligner, scorer=Mixture(aligner.lexicon))


def test_logits_are_those_of_the_definition(aligner):
    lexicon, (head,) = aligner.lexicon, aligner.scorer.others
    words = [(lexicon.source_words[1:6], [word for word in lexicon.target_words[1:8] if word != NOTHING])]
    before, after, sides, index = emissions_of(aligner, words)
    unit = []
    for codes in head.codes:
        rows = codes.astype(float)
        unit.append(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
    cosines = unit[0] @ unit[1].T
    assert len(lexicon.source_words) <= MAX_NORM_WORDS
    shares = [c / c.sum() for c in (lexicon.source_counts, lexicon.target_counts)]
    log_z = (
        np.log(np.exp(SPECTRAL_SCALE * cosines) @ shares[1]),
        np.log(shares[0] @ np.exp(SPECTRAL_SCALE * cosines)),
    )
    checked = 0
    for pair in range(1, len(index)):
        e = lexicon.source_words.index(sides[0].words[index.source[pair]])
        f = lexicon.target_words.index(sides[1].words[index.target[pair]])
        assert unit[0][e].any()
        assert unit[1][f].any()
        expected = SPECTRAL_SCALE * cosines[e, f] - (log_z[0][e] + log_z[1][f]) / 2
        expected = 0.4 * expected + 0.6 * np.log(before.pair_ratios[pair])
        assert np.log(after.pair_ratios[pair]) == pytest.approx(expected, abs=1e-3)
        checked += 1
    assert checked == 30
    assert after.pair_ratios[0] == 0


def test_words_that_were_linked_lie_together(aligner):
    lexicon, (head,) = aligner.lexicon, aligner.scorer.others
    table = lexicon.counts_of_kinds[0].table(MIN_LINKS).tocsr()
    source, target = (
        codes / np.maximum(np.linalg.norm(codes.astype(float), axis=1, keepdims=True), 1)
        for codes in head.codes
    )
    frequent = range(1, 20)
    nearest = [int((source[e] @ target.T).argmax()) for e in frequent]
    assert np.mean([n == table[[e]].toarray().argmax() for n, e in zip(nearest, frequent, strict=True)]) > 0.9


def test_unknown_words_are_left_to_the_lexicon(aligner):
    lexicon = aligner.lexicon
    known = lexicon.source_words[1], next(w for w in lexicon.target_words[1:] if w != NOTHING)
    before, after, sides, index = emissions_of(aligner, [(["qqq", known[0]], [known[1], "zzz"])])
    new = (index.source == sides[0].words.index("qqq")) | (index.target == sides[1].words.index("zzz"))
    assert new.sum() == 3
    assert (before.pair_ratios[new] == after.pair_ratios[new]).all()
    assert before.pair_ratios[~new][-1] != after.pair_ratios[~new][-1]


def test_the_head_is_saved_to_the_bit_and_can_be_left_out(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    found = replace(load_aligner(tmp_path / "model"), workers=1)
    assert found.scorer.names == ("lexicon", "spectral")
    pairs = [(source.split(), target.split()) for source, target in TOY.pairs[:20]]
    one, two = (each.align_batch(pairs) for each in (aligner, found))
    assert np.array_equal(one.probability, two.probability)
    assert np.array_equal(one.source, two.source)
    without = found.with_scorers(["lexicon"]).align_batch(pairs)
    plain = headless(aligner).align_batch(pairs)
    assert np.array_equal(without.probability, plain.probability)
    assert not np.array_equal(one.probability, plain.probability)
    alone = found.with_scorers(["spectral"])
    assert alone.scorer.names == ("spectral",)
    assert alone.scorer.others[0].weight == 1


def test_a_damaged_head_is_refused(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    path = tmp_path / "model" / "scorer.spectral.target.npy"
    np.save(path, np.load(path)[:-1])
    with pytest.raises(DataError, match=r"scorer\.spectral\.target\.npy: expected .* bytes, found"):
        load_aligner(tmp_path / "model")


def test_a_folder_without_the_head_opens(aligner, tmp_path):
    headless(aligner).save(tmp_path / "model")
    assert load_aligner(tmp_path / "model").scorer.names == ("lexicon",)


def test_nothing_linked_makes_no_head(aligner):
    lexicon = aligner.lexicon
    kind = lexicon.counts_of_kinds[0]
    sides = [FormCounts(0 * side.linked, side.null, side.all_null) for side in kind.sides]
    bare = kind._replace(keys=kind.keys[:0], counts=kind.counts[:0], sides=tuple(sides))
    assert learn_spectral(replace(lexicon, counts_of_kinds=[bare]), 0.4) is None
    assert learn_spectral(replace(lexicon, counts_of_kinds=lexicon.counts_of_kinds[1:]), 0.4) is None


def test_presets_have_the_head():
    weights = {name: settings.spectral_weight for name, settings in PRESET_HYPERPARAMETERS.items()}
    assert weights == {"fast": 0, "default": 0.4}
