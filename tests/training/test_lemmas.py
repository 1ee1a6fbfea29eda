"""Lemmas are a form of words: forms of a word share counts, in training and later."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.cli import main
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.scorers.forms import number_forms
from nmtalign.state import fingerprints
from nmtalign.text import languages
from nmtalign.text.languages import MAX_LEMMATIZED_CHARS, lemma_language, lemmatizer
from nmtalign.training.em import PRESET_HYPERPARAMETERS

BITEXT = [("the mice went", "les souris allèrent"), ("a mouse goes", "une souris va")] * 10
KINDS = {"default": [(0, 0), (3, 3), (4, 4), ("en", "fr")], "fast": [(0, 0), (4, 4), ("en", "fr")]}


def test_words_share_the_form_of_their_lemma() -> None:
    numbers, forms = number_forms(["", "mice", "mouse", "went", "go"], "en")
    assert forms == ["", "mouse", "go"]
    assert numbers.tolist() == [0, 1, 1, 2, 2]


def test_lemmas_of_words_that_are_not_words() -> None:
    long = "a" * (MAX_LEMMATIZED_CHARS + 1)
    assert [lemmatizer("en")(word) for word in ("", ".", "3,5", long, "Mice")] == [
        "",
        ".",
        "3,5",
        long,
        "mouse",
    ]


@pytest.mark.parametrize("preset", ["default", "fast"])
def test_lemmas_take_the_place_of_six_letters_or_are_added(preset: na.names.PresetName) -> None:
    aligner = na.train(BITEXT, preset=preset, lemmas=True, languages=("en", "fr"), workers=1)
    assert [kind.form_kinds for kind in aligner.lexicon.counts_of_kinds] == KINDS[preset]


def test_a_side_without_lemmas_keeps_its_letters() -> None:
    aligner = na.train(BITEXT, lemmas=True, languages=("en", "vi"), workers=1)
    assert [kind.form_kinds for kind in aligner.lexicon.counts_of_kinds] == [
        (0, 0),
        (3, 3),
        (4, 4),
        ("en", 6),
    ]
    chinese = [("the mice", "小 老鼠 们"), ("a mouse", "一只 老鼠")] * 10
    aligner = na.train(chinese, lemmas=True, languages=("en", "zh"), workers=1)
    assert aligner.lexicon.counts_of_kinds[3].form_kinds == ("en", -1)


def test_a_model_with_lemmas_is_the_same_when_it_is_opened_again(tmp_path: Path) -> None:
    aligner = na.train(BITEXT, lemmas=True, languages=("en", "fr"), workers=1)
    aligner.save(tmp_path / "model")
    again = na.load(tmp_path / "model")
    for pair in (("the mouse went", "les souris va"), ("the mice went", "une souris allèrent")):
        before, after = aligner.align(*pair), again.align(*pair)
        assert before.links == after.links
        np.testing.assert_array_equal(before.forward, after.forward)


def test_a_continued_model_keeps_its_lemmas(tmp_path: Path) -> None:
    na.train(BITEXT, lemmas=True, languages=("en", "fr"), workers=1).save(tmp_path / "model")
    more = na.train([("some mice", "des souris")] * 5, init=tmp_path / "model", workers=1)
    assert more.lexicon.lemma_languages == ("en", "fr")
    plain = na.train(BITEXT, workers=1)
    plain.save(tmp_path / "plain")
    newer = na.train(BITEXT, init=tmp_path / "plain", lemmas=True, languages=("en", "fr"), workers=1)
    assert newer.lexicon.lemma_languages == ("en", "fr")


def test_settings_without_lemmas_are_as_before() -> None:
    assert "lemmas" not in PRESET_HYPERPARAMETERS["default"].as_dict()
    assert PRESET_HYPERPARAMETERS["default"].with_lemmas((None, None)) is PRESET_HYPERPARAMETERS["default"]


def test_lemmas_need_languages_that_have_them() -> None:
    with pytest.raises(UsageError, match="`lemmas` requires the languages"):
        na.train(BITEXT, lemmas=True)
    with pytest.raises(UsageError, match="no lemmas for 'zh' nor 'ja'; remove `lemmas`"):
        na.train(BITEXT, lemmas=True, languages=("zh", "ja"))
    with pytest.raises(UsageError, match="True or False as `lemmas`"):
        na.train(BITEXT, lemmas="en")  # type: ignore[arg-type]


def test_codes_of_languages() -> None:
    assert [lemma_language(code) for code in ("en_US", "no", "hr", None, "zh")] == [
        "en",
        "nb",
        "hbs",
        None,
        None,
    ]


def test_a_model_with_lemmas_says_what_it_needs(tmp_path: Path, monkeypatch, capsys) -> None:
    na.train(BITEXT, lemmas=True, languages=("en", "fr"), workers=1).save(tmp_path / "model")
    languages.lemmatizer.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "simplemma"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        NmtalignError, match=r"lemmas need the package simplemma: pip install 'nmtalign\[lemmas\]'"
    ):
        na.load(tmp_path / "model")
    (tmp_path / "en").write_text("mice\n")
    with pytest.raises(SystemExit):
        main(["align", str(tmp_path / "en"), str(tmp_path / "en"), "--model", str(tmp_path / "model")])
    assert "pip install 'nmtalign[lemmas]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "letters", [["en", "xx"], ["en"], ["en", 0.5], ["en", True], ["en", "../fr"], ["en", 10**9]]
)
def test_a_model_with_other_kinds_of_form_is_refused(letters: list[object], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    na.train(BITEXT, lemmas=True, languages=("en", "fr"), workers=1).save(folder)
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    text = json.dumps(meta)
    damaged = text.replace('["en", "fr"], "pairs"', f'{json.dumps(letters)}, "pairs"')
    assert damaged != text
    (folder / "meta.json").unlink()
    (folder / "meta.json").write_text(json.dumps(json.loads(damaged) | {"files": fingerprints(folder)}))
    with pytest.raises(DataError, match="expected two kinds of form"):
        na.load(folder)


def test_headwords_are_matched_by_lemma() -> None:
    text = [("went out", "partit dehors")] * 5
    entries = [("go", "dehors"), ("out", "partir")]
    plain = na.train(text, prior=entries, languages=("en", "fr"), workers=1)
    aligner = na.train(text, prior=entries, lemmas=True, languages=("en", "fr"), workers=1)
    assert set(aligner.align("went out", "partit dehors").alignment.links) == {(0, 1), (1, 0)}
    assert plain.lexicon.lemma_languages == (None, None)
