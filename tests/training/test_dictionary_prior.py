"""A dictionary decides what a text leaves open, whichever side has its headwords."""

from __future__ import annotations

import json
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from nmtalign.aligner.preparation import prepare
from nmtalign.aligner.training_job import open_training_job
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus.sides import encode_both_sides
from nmtalign.dictionaries.reading import open_dictionaries
from nmtalign.errors import DataError, UsageError
from nmtalign.names import Side
from nmtalign.settings import TrainingSettings
from nmtalign.text.containers import as_table
from nmtalign.text.tokenization import Languages, TextSettings
from nmtalign.training.dictionary_prior import (
    MAX_PIVOT_WORDS,
    MAX_WHOLE_CHARS,
    WeightedWordPair,
    dictionary_pairs,
    known_parts,
    possible_parts,
)
from tests.aligner.toy_language import training_job

UNDECIDED = [("red car", "auto rot")] * 10
STRAIGHT, CROSSED = {(0, 0), (1, 1)}, {(0, 1), (1, 0)}


def links(**more: object) -> set[tuple[int, int]]:
    return set(na.train(UNDECIDED, workers=1, **more).align("red car", "auto rot").alignment.links)


def pairs_of(
    given: object,
    source: str,
    target: str,
    *,
    headwords: Side | None = None,
    text_settings: TextSettings | None = None,
    said: list[str] | None = None,
    languages: Languages = (None, None),
) -> set[WeightedWordPair]:
    said = [] if said is None else said
    sides = encode_both_sides([(source.split(), target.split())])
    options = {"headwords": headwords, "report": said.append, "warn": said.append}
    text_settings = text_settings or TextSettings()
    found = dictionary_pairs(open_dictionaries(given), sides, text_settings, languages, **options)
    return set(found.words)


def test_all_kinds_of_dictionaries_decide_the_links(tmp_path: Path) -> None:
    rows = [("red", "rot"), ("car", "auto")]
    (tmp_path / "x.tsv").write_text("red\trot\ncar\tAuto\n", encoding="utf-8")
    assert links(prior=rows) == links(prior=tmp_path / "x.tsv") == CROSSED
    assert links(prior=pd.DataFrame(rows, columns=["en", "de"])) == CROSSED
    assert links(prior=na.read_dictionary(tmp_path / "x.tsv")) == CROSSED
    assert links(prior=[("red", "auto", 3), ("car", "rot", 3)]) == STRAIGHT


def test_translations_may_be_several_in_any_container() -> None:
    several: dict[str, Any] = {"red": ["rot", "rouge"], "car": "auto"}
    frame = pd.DataFrame({"headword": several.keys(), "translation": several.values()})
    expected = {("red", "rot", 1.0), ("red", "rouge", 1.0), ("car", "auto", 1.0)}
    containers = [
        several,
        several.items(),
        list(several.items()),
        pd.Series(several),
        frame,
        {"red": np.array(["rot", "rouge"]), "car": {"auto"}},
    ]
    for given in containers:
        assert pairs_of(given, "red car", "auto rot rouge") == expected
    weighted: dict[str, Any] = {"red": {"rot": 3, "rouge": 0.5}, "car": "auto"}
    expected = {("red", "rot", 3.0), ("red", "rouge", 0.5), ("car", "auto", 1.0)}
    for given in (weighted, weighted.items(), pd.Series(weighted)):
        assert pairs_of(given, "red car", "auto rot rouge") == expected
    with pytest.raises(UsageError, match="row 0 of `prior`: a weight above 0, found 'five'"):
        open_dictionaries({"red": {"rot": "five"}})  # type: ignore[dict-item]


def test_rows_without_text_name_the_way_out() -> None:
    frame = pd.DataFrame({"headword": ["red", None], "translation": ["rot", "auto"]})
    rows: list[Any] = [("red", "rot"), ("car", float("nan"))]
    for given in (frame, rows, {"red": "rot", "car": None}):
        with pytest.raises(UsageError, match=r"row 1 of `prior`.*leave out rows without text.*dropna\(\)"):
            open_dictionaries(given)
    assert len(open_dictionaries(frame.dropna())) == 1
    with pytest.raises(UsageError, match=r"found \('car', 5\)$"):
        open_dictionaries([("red", "rot"), ("car", 5)])


def test_several_dictionaries_are_used_together(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("red rot\n", encoding="utf-8")
    given = [
        tmp_path / "x",
        [("car", "auto")],
        pd.DataFrame([("red", "rot", 2.0)], columns=["a", "b", "weight"]),
    ]
    assert pairs_of(given, "red car", "auto rot") == {("red", "rot", 3.0), ("car", "auto", 1.0)}


def test_headwords_are_found_on_either_side() -> None:
    said: list[str] = []
    rows = [("rot", "red"), ("auto", "car"), ("car", "rot")]
    found = pairs_of(rows, "red car", "auto rot", said=said)
    assert found == {("red", "rot", 1.0), ("car", "auto", 1.0)}
    assert said == ["prior: 2 word pairs for this text, headwords of the target"]
    assert pairs_of(rows, "red car", "auto rot", headwords="source") == {("car", "rot", 1.0)}
    assert links(prior=rows) == CROSSED


def test_words_of_an_entry_with_several_words_share_its_weight() -> None:
    rows = [("give up", "baisser les bras"), ("car", "auto neuve"), ("one two three", "un deux")]
    source, target = "give up car one two three", "baisser les bras auto neuve un deux"
    assert pairs_of([("give up", "baisser bras")], source, target) == {
        (s, t, 0.25) for s in ("give", "up") for t in ("baisser", "bras")
    }
    assert pairs_of(rows, source, target) == {("car", "auto", 0.5), ("car", "neuve", 0.5)}  # others: too many


def test_function_words_of_long_phrases_do_not_count() -> None:
    rows = [(f"w{n}x", f"le t{n}x") for n in range(100)]
    source, target = (" ".join(f"{letter}{n}x" for n in range(100)) for letter in "wt")
    assert pairs_of(rows, source, f"le {target}") == {(f"w{n}x", f"t{n}x", 1.0) for n in range(100)}


def test_entries_without_words_of_the_text_are_left_out() -> None:
    rows = [("moon", "Mond"), ("cars", "Autos"), ("rash", "rot")]
    found = pairs_of(rows, "red car", "auto rot")
    assert found == set()
    found = pairs_of(rows, "redder cars", "autos rot")
    assert found == {("cars", "autos", 1.0)}
    aligner = na.train(UNDECIDED, prior=[*rows, ("red", "rot")], workers=1)
    assert aligner.lexicon.source_words == ["", "red", "car"]


def test_forms_of_a_word_share_its_entries() -> None:
    assert pairs_of([("abandon", "renoncer")], "about", "renoncera") == set()
    assert pairs_of([("abandon", "renoncer")], "abandoned", "renonçait") == {("abandon", "renoncer", 1.0)}


def test_phrases_are_split_as_the_text_is() -> None:
    sides = encode_both_sides([(["中", "国"], ["china"])])
    text_settings = TextSettings("simple")
    options = {"report": print, "warn": print}
    found = dictionary_pairs(open_dictionaries([("中国", "China")]), sides, text_settings, **options)
    assert set(found.words) == {("中", "china", 0.5), ("国", "china", 0.5)}


def test_words_without_an_entry_have_the_translations_of_their_parts() -> None:
    text = [("电脑公司 行", "bank firm")] * 5
    dictionary = [("电脑", "computer"), ("公司", "company"), ("公司", "firm", 8)]
    assert na.train(text, prior=dictionary, workers=1).align(*text[0]).alignment.links == {(0, 1), (1, 0)}
    sides = encode_both_sides([(source.split(), target.split()) for source, target in text])
    options = {"report": print, "warn": print}
    found = dictionary_pairs(open_dictionaries(dictionary), sides, TextSettings(), **options)
    assert found.words == [("公司", "firm", 8.0)]
    assert found.compounds == [("电脑公司", "firm", 2.0)]  # half of the letters, which counts half


def test_words_with_spaces_between_them_have_no_parts() -> None:
    sides = encode_both_sides([(["steamboat"], ["vapeur"])])
    options = {"report": print, "warn": print}
    found = dictionary_pairs(open_dictionaries([("boat", "vapeur")]), sides, TextSettings(), **options)
    assert found == ([], [], [], [])


def test_a_long_word_without_spaces_has_no_parts() -> None:
    long_word = "中" * (MAX_WHOLE_CHARS + 1)
    assert possible_parts([long_word]) == set()
    assert known_parts(long_word, {"中": []}) == []


def test_a_phrase_is_used_if_the_text_has_half_of_its_words() -> None:
    rows = [("ghost town", "ville"), ("red ghost house town", "maison")]
    assert pairs_of(rows, "town", "ville maison") == {("town", "ville", 0.5)}


def test_a_dictionary_of_other_languages_is_told() -> None:
    with pytest.warns(UserWarning, match="prior: no entry has words of both sides of the text"):
        na.train(UNDECIDED, prior=[("moon", "Mond")], workers=1)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ('{"de": "Mond", "hu": "hold"}\n', "German with translations into Hungarian"),
        (
            "##sourceLang\tGerman\n##targetLang\tHungarian\nMond\thold\n",
            "German with translations into Hungar",
        ),
        ("月 月 [yue4] /moon/\n", "Chinese with translations into English"),
        ("月 [つき] /(n) moon/(P)/\n", "Japanese with translations into English"),
        (
            '{"word": "hold", "lang_code": "hu", "senses": [], '
            '"translations": [{"word": "Mond", "code": "de"}]}\n',
            "Hungarian with translations into German",
        ),
        ("Mond\thold\n", ""),
    ],
)
def test_the_languages_that_a_dictionary_names_are_told(content: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text(content, encoding="utf-8")
    told = "is the dictionary for these languages"
    told = f"the dictionary has {named}.*; is it for these languages, English and French" if named else told
    said: list[str] = []
    assert not pairs_of(path, "the cat", "le chat", said=said, languages=("en", "fr"))
    assert re.search(rf"both sides of the text; {told}\?$", said[0]), said


def test_the_columns_of_a_table_name_the_languages_of_a_dictionary() -> None:
    [dictionary] = open_dictionaries(pd.DataFrame({"de": ["Mond"], "hu": ["hold"]}))
    assert dictionary.named_languages() == (["de"], ["hu"])
    [dictionary] = open_dictionaries(pd.DataFrame({"a": ["Mond"], "b": ["hold"]}))
    assert dictionary.named_languages() == ([], [])


def test_a_missing_file_is_an_error_before_the_text_is_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        open_training_job(TrainingSettings(prior=tmp_path / "none"))


@pytest.mark.parametrize(
    "given", [5, {("a", "b")}, [("a", "b"), ("c",)], [("a", "b", -1)], [5], pd.DataFrame({"a": ["b"]})]
)
def test_what_is_not_a_dictionary_is_a_usage_error(given: object) -> None:
    with pytest.raises(UsageError):
        open_training_job(TrainingSettings(prior=given))
    with pytest.raises(UsageError, match="headwords"):
        TrainingSettings(prior=[("a", "b")], headwords="left")  # type: ignore[arg-type]


def test_a_large_dictionary_is_quick_and_leaves_the_model_small(tmp_path: Path) -> None:
    lines = [f"w{n}o\tt{n}o\n" for n in range(1000, 200_000)]
    (tmp_path / "x").write_text("".join([*lines, "red\trot\ncar\tauto\n"]), encoding="utf-8")
    dictionaries = open_dictionaries(tmp_path / "x")
    begin = time.process_time()
    prepared = prepare(UNDECIDED, training_job(dictionaries=dictionaries, workers=1))
    assert time.process_time() - begin < 2  # 0.4 s
    assert prepared.prior is not None
    assert len(prepared.prior.dictionary_pairs) == 2
    result = train_aligner(UNDECIDED, training_job(dictionaries=dictionaries, workers=1))
    assert len(result.aligner.lexicon.source_words) == 3


def test_malformed_entries_are_told_by_train(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("red\trot\ncar\tauto\nalone\n", encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert links(prior=tmp_path / "x") == CROSSED
    assert any("1 of 3 entries are malformed and were skipped" in str(warning.message) for warning in caught)


def test_dictionaries_in_memory_come_in_many_containers():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {"en": ["dog", "cat"], "fr": ["chien", "chat"]}
    frame = pd.DataFrame(columns)
    rows = [("dog", "chien", 1.0), ("cat", "chat", 1.0)]
    given = [
        frame,
        columns,
        polars.DataFrame(columns),
        pyarrow.table(columns),
        frame.assign(note="x", pos="NOUN"),
        frame.rename(columns={"en": "word", "fr": "meaning"}),
        {"dog": "chien", "cat": "chat"},
        {"dog": ["chien"], "cat": ["chat"]},
        zip(columns["en"], columns["fr"], strict=True),
        (row for row in rows),
        frame.itertuples(index=False),
        frame.to_numpy().tolist(),
    ]
    for container in given:
        [dictionary] = open_dictionaries(container)
        assert dictionary.rows == rows
    [weighted] = open_dictionaries(polars.DataFrame({**columns, "weight": [2, 3]}))
    assert [weight for *_, weight in weighted.rows] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("dog", "chien"), r"a single pair goes in a list: \[\('dog', 'chien'\)\]"),
        ([("dog", None)], "row 0 of `prior`: expected a headword and a translation, found .*None"),
        ({"dog": 3}, "row 0 of `prior`"),
        (pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]}), r"found the columns a, b, c; choose two"),
        (5, "expected a path, a DataFrame, a dictionary or pairs as `prior`, found 5"),
    ],
)
def test_other_dictionaries_in_memory_say_what_to_write(given, message):
    with pytest.raises(UsageError, match=message):
        open_dictionaries(given)


@pytest.mark.parametrize(
    "words",
    [
        {"en": ["dans"], "de": ["of"], "virus": ["virus"]},
        {"it": ["il", "elle"], "or": ["ou"], "to": ["à"], "virus": ["virus"]},
        {"source": ["source"], "target": ["cible", "but"], "my": ["mon", "ma"]},
        {"it": {"il", "elle"}, "is": {"est", "soit"}},
        {"it": "il", "is": "est"},
        {"headword": ["entrée"], "translation": ["traduction"], "house": ["maison"]},
        {"it": ["il", "elle"], "is": ["est", "soit"], **{f"word{n}": ["mot", "parole"] for n in range(9)}},
    ],
)
def test_words_that_are_names_of_columns_are_words(words):
    expected = set()
    for word, translations in words.items():
        listed = [translations] if isinstance(translations, str) else translations
        expected.update((word, translation, 1.0) for translation in listed)
    [dictionary] = open_dictionaries(words)
    assert set(dictionary.rows) == expected


def test_a_dictionary_of_columns_has_two_and_perhaps_weights():
    for names in (("headword", "translation"), ("en", "fr"), ("source", "target")):
        columns = dict(zip(names, (["dog", "cat"], ["chien", "chat"]), strict=True))
        [dictionary] = open_dictionaries({**columns, "weight": [2, 3]})
        assert dictionary.rows == [("dog", "chien", 2.0), ("cat", "chat", 3.0)]
    [dictionary] = open_dictionaries({"headword": ["dog"], "translation": ["chien"]})
    assert dictionary.rows == [("dog", "chien", 1.0)]


@pytest.mark.parametrize(
    "given",
    [
        {"it": ["il"], "is": ["est"]},
        {"it": ["il", "elle"], "is": ["est"]},
        {"en": ["dog", "cat"], "fr": ["chien", "chat"], "note": ["x", "y"]},
        {"en": ["dog", "cat"], "fr": ["chien", "chat"], "de": ["Hund", "Katze"]},
        {"headword": ["dog", "cat"], "translation": ["chien", "chat"], "note": ["x", "y"]},
    ],
)
def test_a_dictionary_of_words_or_columns_is_refused(given):
    message = r"`prior`: .*may be words or names of columns: .*; write pairs, .*, or a DataFrame"
    with pytest.raises(UsageError, match=message):
        open_dictionaries(given)


def test_messages_about_many_columns_are_short():
    many = {f"column{n}": ["x"] * (1 + n % 2) for n in range(1000)}
    with pytest.raises(DataError, match=r"'column0' has 1, 'column1' has 2$"):
        as_table(many)
    wide = pd.DataFrame([["x"] * 1000], columns=list(many))
    with pytest.raises(UsageError) as caught:
        open_dictionaries(wide)
    assert len(str(caught.value)) < 300


def test_a_bridge_continues_a_dictionary_into_a_third_language() -> None:
    prior, bridge = [("red", "rouge"), ("car", "voiture")], [("rouge", "rot"), ("Voiture", "auto")]
    assert links(prior=prior, bridge=bridge) == CROSSED
    assert links(prior=[("rot", "rouge"), ("auto", "voiture")], bridge=[("rouge", "red"), ("voiture", "car")])
    said: list[str] = []
    sides = encode_both_sides([(["red", "car"], ["auto", "rot"])])
    given = open_dictionaries([("red", "rouge", 0.5)]), sides, TextSettings()
    options = {
        "bridges": open_dictionaries(bridge, name="bridge"),
        "report": said.append,
        "warn": said.append,
    }
    assert dictionary_pairs(*given, **options).words == [("red", "rot", 0.5)]
    assert said == ["prior through bridge: 1 word pairs for this text, headwords of the source"]


def test_bridges_in_memory_come_in_the_same_containers_as_dictionaries() -> None:
    polars = pytest.importorskip("polars")
    columns = {"fr": ["rouge", "voiture"], "de": ["rot", "auto"]}
    pairs = list(zip(*columns.values(), strict=True))
    for bridge in (columns, dict(pairs), iter(pairs), pd.DataFrame(columns), polars.DataFrame(columns)):
        assert links(prior={"red": "rouge", "car": "voiture"}, bridge=bridge) == CROSSED
    for bad, message in (
        ({"rouge": 3}, "row 0 of `bridge`: expected a headword and a translation"),
        (("rouge", "rot"), "expected word pairs, or files, as `bridge`"),
        (pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]}), "`bridge`: expected the columns"),
        (5, "expected a path, a DataFrame, a dictionary or pairs as `bridge`, found 5"),
    ):
        with pytest.raises(UsageError, match=message):
            links(prior=[("red", "rouge")], bridge=bad)


def test_a_word_of_a_third_language_with_many_translations_is_skipped() -> None:
    sides = encode_both_sides([(["red"], ["rot"])])
    many = [("rouge", "rot"), *(("rouge", f"rot{n}") for n in range(MAX_PIVOT_WORDS))]
    options = {"report": [].append, "warn": [].append}
    for bridge, expected in ((many, []), (many[:-1], [("red", "rot", 1.0)])):
        given = open_dictionaries([("red", "rouge")]), sides, TextSettings()
        found = dictionary_pairs(*given, bridges=open_dictionaries(bridge), **options)
        assert [pair for pair in found.words if pair[1] == "rot"] == expected


def test_a_bridge_that_leads_nowhere_is_told() -> None:
    with pytest.warns(na.NmtalignWarning, match="bridge: expected headwords that are translations"):
        na.train(UNDECIDED, prior=[("red", "rot")], bridge=[("rouge", "rot")], workers=1)
    with pytest.raises(UsageError, match="pass `prior` as well"):
        na.train(UNDECIDED, bridge=[("rouge", "rot")])


def wiktionary(path: Path) -> Path:
    """Write an extract with translations into two languages that share a word, and headwords of two."""
    translations = [
        {"lang_code": "de", "word": "chat"},
        {"code": "fr", "word": "causette"},
        {"lang_code": "fr", "word": "discussion"},
    ]
    cat = {"word": "cat", "lang_code": "en", "translations": [{"code": "fr", "word": "chat"}]}
    lines = [
        {"word": "chat", "lang_code": "en", "translations": translations},
        cat,
        {"word": "cat", "lang_code": "ga", "senses": [{"glosses": ["discussion"]}]},
        {"word": "causette", "lang_code": "fr", "senses": [{"glosses": ["chat"]}]},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_translations_into_other_languages_are_skipped(tmp_path: Path) -> None:
    """Whether the languages are given or found: *chat* is German for *chat*, and French for *cat*."""
    path = wiktionary(tmp_path / "x.jsonl")
    source, target = "a chat with the cat", "une causette avec le chat une discussion"
    found = {("chat", "causette", 1.0), ("chat", "discussion", 1.0), ("cat", "chat", 1.0)}
    assert pairs_of(path, source, target) == found
    assert pairs_of(path, source, target, languages=("en-GB", "fr")) == found
    assert pairs_of(path, target, source, languages=("fr", "en")) == {(t, s, 1.0) for s, t, _ in found}
    german = pairs_of(path, "a chat", "ein chat", languages=("en", "de"))
    assert german == {("chat", "chat", 1.0)}
    unknown = pairs_of(path, source, target, languages=("en", "xx"))
    assert unknown == found
