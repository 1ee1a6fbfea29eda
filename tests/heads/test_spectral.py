"""The spectral head: its logits, what it leaves alone, and its part in a learned aligner."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nmtalign.aligner.learned import LearnedAligner
from nmtalign.aligner.model_folder import load_model, save_model
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.sides import encode
from nmtalign.corpus.word_pairs import index_pairs
from nmtalign.errors import DataError
from nmtalign.heads.counts import FormCounts, emissions
from nmtalign.heads.spectral import FREQUENT, LEAST_LINKS, TEMPERATURE, learn_spectral
from nmtalign.training.settings import PRESETS, Settings
from nmtalign.training.train import train
from tests.aligner.toy_language import toy_bitext

TOY = toy_bitext(80)
NOTHING = "zu"  # has no translation, so no vector either
SETTINGS = Settings(spectral_weight=0.4, model1_iterations=3, hmm_iterations=2)


@pytest.fixture(scope="module")
def model():
    return train(TOY.pairs, settings=SETTINGS, workers=1).model


def emissions_of(model, pairs):
    """Emissions of a text before and after the head, with the word pairs they belong to."""
    sides = encode(words for words, _ in pairs), encode(words for _, words in pairs)
    index = index_pairs(make_buckets(*sides), *sides)
    before = emissions(*model.lexicon.looked_up(*sides, index))
    return before, model.joined(before, *sides, index), sides, index


def test_logits_are_those_of_the_definition(model):
    lexicon, head = model.lexicon, model.spectral
    words = [(lexicon.source_words[1:6], [word for word in lexicon.target_words[1:8] if word != NOTHING])]
    before, after, sides, index = emissions_of(model, words)
    unit = []
    for codes in (head.source, head.target):
        rows = codes.astype(float)
        unit.append(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
    cosines = unit[0] @ unit[1].T
    assert len(lexicon.source_words) <= FREQUENT
    shares = [c / c.sum() for c in (lexicon.source_counts, lexicon.target_counts)]
    log_z = (
        np.log(np.exp(TEMPERATURE * cosines) @ shares[1]),
        np.log(shares[0] @ np.exp(TEMPERATURE * cosines)),
    )
    checked = 0
    for pair in range(1, len(index)):
        e = lexicon.source_words.index(sides[0].words[index.source[pair]])
        f = lexicon.target_words.index(sides[1].words[index.target[pair]])
        assert unit[0][e].any()
        assert unit[1][f].any()
        expected = TEMPERATURE * cosines[e, f] - (log_z[0][e] + log_z[1][f]) / 2
        expected = 0.4 * expected + 0.6 * np.log(before.pairs[pair])
        assert np.log(after.pairs[pair]) == pytest.approx(expected, abs=1e-3)
        checked += 1
    assert checked == 30
    assert after.pairs[0] == 0


def test_words_that_were_linked_lie_together(model):
    lexicon, head = model.lexicon, model.spectral
    table = lexicon.views[0].table(LEAST_LINKS).tocsr()
    source, target = (
        codes / np.maximum(np.linalg.norm(codes.astype(float), axis=1, keepdims=True), 1)
        for codes in (head.source, head.target)
    )
    frequent = range(1, 20)
    nearest = [int((source[e] @ target.T).argmax()) for e in frequent]
    assert np.mean([n == table[[e]].toarray().argmax() for n, e in zip(nearest, frequent, strict=True)]) > 0.9


def test_unknown_words_are_left_to_the_lexicon(model):
    known = model.lexicon.source_words[1], next(w for w in model.lexicon.target_words[1:] if w != NOTHING)
    before, after, sides, index = emissions_of(model, [(["qqq", known[0]], [known[1], "zzz"])])
    new = (index.source == sides[0].words.index("qqq")) | (index.target == sides[1].words.index("zzz"))
    assert new.sum() == 3
    assert (before.pairs[new] == after.pairs[new]).all()
    assert before.pairs[~new][-1] != after.pairs[~new][-1]


def test_the_head_is_saved_to_the_bit_and_can_be_left_out(model, tmp_path):
    save_model(model, tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert found.heads == ("lexicon", "spectral")
    pairs = [(source.split(), target.split()) for source, target in TOY.pairs[:20]]
    one, two = (LearnedAligner(m, workers=1).align_batch(pairs) for m in (model, found))
    assert np.array_equal(one.probability, two.probability)
    assert np.array_equal(one.source, two.source)
    without = LearnedAligner(found.with_heads(["lexicon"]), workers=1).align_batch(pairs)
    plain = LearnedAligner(model._replace(spectral=None), workers=1).align_batch(pairs)
    assert np.array_equal(without.probability, plain.probability)
    assert not np.array_equal(one.probability, plain.probability)
    alone = found.with_heads(["spectral"])
    assert alone.heads == ("spectral",)
    assert alone.spectral.weight == 1


def test_a_damaged_head_is_refused(model, tmp_path):
    save_model(model, tmp_path / "model")
    path = tmp_path / "model" / "target.spectral.npy"
    np.save(path, np.load(path)[:-1])
    with pytest.raises(DataError, match=r"target\.spectral\.npy: expected .* bytes, found"):
        load_model(tmp_path / "model")


def test_a_folder_without_the_head_opens(model, tmp_path):
    save_model(model._replace(spectral=None), tmp_path / "model")
    path = tmp_path / "model" / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    del meta["spectral"], meta["settings"]["spectral_weight"]
    path.write_text(json.dumps(meta), encoding="utf-8")
    assert load_model(tmp_path / "model").heads == ("lexicon",)


def test_nothing_linked_makes_no_head(model):
    view = model.lexicon.views[0]
    sides = [FormCounts(0 * side.linked, side.null, side.all_null) for side in (view.source, view.target)]
    bare = view._replace(keys=view.keys[:0], counts=view.counts[:0], source=sides[0], target=sides[1])
    assert learn_spectral(replace(model.lexicon, views=[bare]), 0.4) is None
    assert learn_spectral(replace(model.lexicon, views=model.lexicon.views[1:]), 0.4) is None


def test_presets_have_the_head():
    weights = {name: settings.spectral_weight for name, settings in PRESETS.items()}
    assert weights == {"fast": 0, "default": 0.4}
