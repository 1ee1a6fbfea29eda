"""Dictionaries of all formats are recognized by their content and read into headwords and translations."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest

import nmtalign as na
from nmtalign.dictionaries.entries import MAX_ALTERNATIVES, phrases_of
from nmtalign.dictionaries.reading import DictionaryFile
from nmtalign.errors import DataError

CEDICT = "# CC-CEDICT\n貓 猫 [mao1] /cat/to hide (oneself)/CL:隻|只[zhi1]/\n水 水 [shui3] /water; liquid/\n"
EDICT = (
    "　？？？ /EDICT, EDICT_SUB(P)/Copyright/\n"
    "猫(P);ネコ [ねこ(P)] /(n) (1) cat/(2) {cook} pussycat/(P)/EntL1467640X/\n"
    "まあ /(int) well/\n"
)
WIKTIONARY = "\n".join(
    json.dumps(value)
    for value in (
        {"word": "macska", "lang_code": "hu", "senses": [{"glosses": ["cat (animal)"]}]},
        {"word": "macskák", "senses": [{"glosses": ["plural of macska"], "form_of": [{"word": "macska"}]}]},
        {
            "word": "cat",
            "translations": [{"code": "hu", "word": "macska"}],
            "senses": [{"glosses": ["animal"]}],
        },
        {"title": "kitty", "redirect": "cat"},
    )
)
# As PyGlossary converts StarDict, FreeDict, JMdict and dictd
TABFILE = r"""##name	Test
##sourceLang	English
cat|cats	1. chat\n2. matou, félin\nan animal
give up	renoncer\tà \\ x \| y
dog	<div>/<font color="gray">dog</font>/<br>\n<div><font class="grammar">noun</font></div><ol><li><div>\
chien</div><div class="example"><div>a dog</div><div>un chien</div></div></li><li>clebs &amp; toutou</li>\
</ol></div>
猫|ねこ	<div><big>猫</big><br><ol><li><i>Noun</i><br>cat, pussy<br></li></ol></div>
00databaseshort	English-French
wellknown	Well-known /kn/<br />connu<br />
ainu	ainu /a/<br />ainu<br />
house	house /haʊs/ <n><br />maison<br /> see: <a href="bword://home">home</a><br />
""".replace("\\\n", "")
CAT = [("cat", "chat")]
BYTES: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "cedict": (
        CEDICT.encode(),
        [("貓", "cat"), ("貓", "hide"), ("猫", "cat"), ("猫", "hide"), ("水", "water"), ("水", "liquid")],
    ),
    "edict": (
        EDICT.encode("euc-jp"),
        [(word, gloss) for word in ("猫", "ネコ", "ねこ") for gloss in ("cat", "pussycat")]
        + [("まあ", "well")],
    ),
    "wiktionary": (WIKTIONARY.encode(), [("macska", "cat"), ("cat", "macska")]),
    "tabfile": (
        TABFILE.encode(),
        [(word, gloss) for word in ("cat", "cats") for gloss in ("chat", "matou", "félin")]
        + [("give up", "renoncer à \\ x"), ("give up", "y"), ("dog", "chien"), ("dog", "clebs & toutou")]
        + [(word, gloss) for word in ("猫", "ねこ") for gloss in ("cat", "pussy")]
        + [("wellknown", "connu"), ("ainu", "ainu"), ("house", "maison")],
    ),
    "json": (
        b'{"cat": "chat", "dog": ["chien", "clebs"], "give up": "renoncer (a), c\\u00e9der",'
        b' "a": {"un": 2, "une": 1}}',
        [
            *CAT,
            *(("dog", dog) for dog in ("chien", "clebs")),
            *(("give up", to_give_up) for to_give_up in ("renoncer", "céder")),
            *(("a", article) for article in ("un", "une")),
        ],
    ),
    "json-repeated": (
        b'{"cat": "chat", "cat": ["matou"], "cat": {"minou": 2, "minou": 3}}',
        [*CAT, ("cat", "matou"), ("cat", "minou"), ("cat", "minou")],
    ),
    "json-repeated-on-lines": (
        b'{"en": "cat", "fr": "chat", "fr": "matou"}\n{"en": "dog", "fr": "chien"}\n',
        [*CAT, ("cat", "matou"), ("dog", "chien")],
    ),
    "wiktionary-repeated": (
        b'{"word": "cat", "lang": "x", "translations": [{"word": "chat"}],'
        b' "translations": [{"word": "matou"}]}',
        [*CAT, ("cat", "matou")],
    ),
    "json-over-lines": (b'{\n  "cat": "chat",\n  "dog": ["chien"]\n}\n', [*CAT, ("dog", "chien")]),
    "json-words-of-lines": (b'{"cat": "chat"}\n\n{"dog": "chien"}\n', [*CAT, ("dog", "chien")]),
    "json-lines": (
        b'{"en": "cat", "fr": "chat"}\n{"fr": ["chien"], "en": "dog", "id": 7}\n',
        [*CAT, ("dog", "chien")],
    ),
    "json-entries": (b'{"word": "cat", "translation": "chat", "weight": 2}\n', CAT),
    "muse": (b"cat chat\ncats chats\n", [("cat", "chat"), ("cats", "chats")]),
    "tsv": (
        "cat\tchat\ngive up\trenoncer, céder\n".encode(),
        [*CAT, ("give up", "renoncer"), ("give up", "céder")],
    ),
    "eflomal": (b"LEX\tcat\tchat\t2.5\nLEX\tdog\tchien\t1\n", [("cat", "chat"), ("dog", "chien")]),
}


def rows(path: Path) -> list[tuple[str, str]]:
    frame = na.read_dictionary(path)
    return list(zip(frame["headword"], frame["translation"], strict=True))


@pytest.mark.parametrize("name", BYTES)
def test_each_format_is_recognized_by_its_content(name: str, tmp_path: Path) -> None:
    content, expected = BYTES[name]
    (tmp_path / "x").write_bytes(content)
    assert rows(tmp_path / "x") == expected
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    assert rows(tmp_path / "packed") == expected


def test_edict_in_utf8_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(EDICT, encoding="utf-8")
    assert rows(tmp_path / "x") == BYTES["edict"][1]


def test_a_gloss_becomes_its_translations() -> None:
    assert list(phrases_of("1. to abandon (a plan (of sth)), give up; [obs.] forsake")) == [
        "abandon",
        "give up",
        "forsake",
    ]
    assert list(phrases_of("CL:個|个[ge4]")) == list(phrases_of("variant of 猫[mao1]")) == []
    assert list(phrases_of("спира́чка")) == ["спирачка"]


@pytest.mark.parametrize("name", ["cedict", "edict", "wiktionary", "tsv"])
def test_malformed_entries_are_counted_and_the_first_is_named(name: str, tmp_path: Path) -> None:
    content, expected = BYTES[name]
    lines = content.decode("euc-jp" if name == "edict" else "utf-8").splitlines()
    damaged = [*lines, "alone", *lines, "{alone"]
    (tmp_path / "x").write_text("\n".join(damaged), encoding="utf-8")
    number = len(lines) + 1
    with pytest.warns(UserWarning, match=rf"2 of \d+ entries are malformed and were skipped.*line {number}:"):
        assert rows(tmp_path / "x") == expected * 2


@pytest.mark.parametrize("content", [b"alone\n", b"", b"<a>\n", b"<html><body/></html>\n"])
def test_a_file_of_another_kind_is_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match="x"):
        na.read_dictionary(tmp_path / "x")


def test_word_lists_may_mix_tabs_and_spaces_and_have_weights(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("Haus house\nneu\tnew\t2.5\n\n,\t,\n", encoding="utf-8")
    frame = na.read_dictionary(tmp_path / "x")
    assert frame.to_numpy().tolist() == [["Haus", "house", 1.0], ["neu", "new", 2.5], [",", ",", 1.0]]


@pytest.mark.parametrize("line", ["alone", "a\tb\tmany", "a b 0", "a b -1", "a b nan", "a b c d", "\tb"])
def test_bad_word_lists_name_the_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "x").write_text(f"good bien\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        na.read_dictionary(tmp_path / "x")


def test_there_is_no_such_dictionary(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        na.read_dictionary(tmp_path / "none")
    with pytest.raises(DataError, match="No such file"):
        DictionaryFile(tmp_path / "none").check()


STARDICT = b"StarDict's dict ifo file\nversion=3.0.0\n"
JMDICT = b'<?xml version="1.0"?>\n<!-- a -->\n<!DOCTYPE JMdict [<!ELEMENT JMdict (entry*)>]><JMdict></JMdict>'
TEI = b'<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><text/></TEI>'


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"s.ifo": STARDICT, "s.idx": b"", "s.dict.dz": b""}, "pyglossary {}/s.ifo s.txt"),
        ({"s.idx": b"", "s.ifo": STARDICT}, "pyglossary {}/s.ifo s.txt"),
        ({"s.dict": b"chat", "s.ifo": STARDICT}, "pyglossary {}/s.ifo s.txt"),
        ({"x.index": b"cat\tA\tJ\n", "x.dict.dz": b""}, "pyglossary {}/x.index x.txt"),
        ({"x.dict.dz": gzip.compress(b"cat"), "x.index": b""}, "pyglossary {}/x.index x.txt"),
        ({"renamed": STARDICT}, "pyglossary {}/renamed renamed.txt"),
        ({"e.xml.gz": gzip.compress(JMDICT)}, "pyglossary {}/e.xml.gz e.txt --read-format=JMDict"),
        ({"a b.tei": TEI}, "pyglossary '{}/a b.tei' 'a b.txt' --read-format=FreeDict"),
        ({"p4": b"<TEI.2><text>"}, "pyglossary {}/p4 p4.txt --read-format=FreeDict"),
        ({"x.xml": b"<?xml version='1.0'?>\n<lexicon>"}, "pyglossary {}/x.xml x.txt"),
        (
            {"en-es.dix": b"<?xml version='1.0'?><dictionary>"},
            "lt-expand {}/en-es.dix | sed 's/<[^>]*>//g; s/:[<>]:/:/; s/:/\\t/' > en-es.txt",
        ),
    ],
)
def test_another_format_is_refused_with_the_command_that_converts_it(
    files: dict[str, bytes], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    path = tmp_path / next(iter(files))
    expected = f"with `{command.format(tmp_path)}`"
    with pytest.raises(DataError) as caught:
        na.read_dictionary(path)
    assert expected in str(caught.value)
    with pytest.raises(DataError):  # before the text is read
        DictionaryFile(path).check()


def test_the_command_that_converts_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.tei", "x.txt"):
        Path(name).write_bytes(TEI)
    with pytest.raises(DataError, match=r"x\.tei x-2\.txt --read.* and pass x-2\.txt"):
        na.read_dictionary("x.tei")


@pytest.mark.parametrize("name", ["words.dict", "en-fr.xml.txt"])
def test_a_word_list_may_have_any_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("<unk>\t<unk>\ncat\tchat\n", encoding="utf-8")
    assert rows(tmp_path / name) == [("<unk>", "<unk>"), ("cat", "chat")]


def test_a_list_in_json_is_refused_with_the_way_on(tmp_path: Path) -> None:
    (tmp_path / "x").write_text('[{"en": "cat", "fr": "chat"}]', encoding="utf-8")
    with pytest.raises(DataError, match=r"found a list: write one object per line.*jq -c '\.\[\]'"):
        na.read_dictionary(tmp_path / "x")


def test_keys_of_json_lines_that_are_no_words_are_named(tmp_path: Path) -> None:
    lines = '{"term": "cat", "meaning": "chat"}\n{"term": "dog", "meaning": "chien"}\n'
    (tmp_path / "x").write_text(lines, encoding="utf-8")
    with pytest.raises(DataError, match=r"found the keys term, meaning on each line; .*\{en: \.term"):
        na.read_dictionary(tmp_path / "x")


def test_translations_in_a_list_of_strings_are_no_wiktionary(tmp_path: Path) -> None:
    (tmp_path / "x").write_text('{"word": "cat", "translations": ["chat", "matou"]}\n', encoding="utf-8")
    assert rows(tmp_path / "x") == [("cat", "chat"), ("cat", "matou")]


@pytest.mark.parametrize("mark", [": ", "; ", ", ", "= "])
def test_a_mark_between_the_words_of_a_list_is_refused(mark: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(f"cat{mark}chat\ndog{mark}chien\n", encoding="utf-8")
    with pytest.raises(DataError, match="found words that end in a mark on the first lines; write a tab"):
        na.read_dictionary(tmp_path / "x")


def test_json_lines_with_three_languages_name_the_keys(tmp_path: Path) -> None:
    (tmp_path / "x").write_text('{"en": "a", "fr": "b", "de": "c"}\n' * 2, encoding="utf-8")
    with pytest.raises(
        DataError, match="line 1: expected two languages, found the keys en, fr, de; choose two"
    ):
        na.read_dictionary(tmp_path / "x")
    (tmp_path / "x").write_text('{"it": "il", "is": "est", "de": "c"}\n', encoding="utf-8")
    assert len(rows(tmp_path / "x")) == 3  # an object alone has words


@pytest.mark.parametrize(
    "content",
    [
        '{"word": "cat", "senses": []}\n' * 3,
        "貓 猫 [mao1] /CL:隻|只[zhi1]/\n",
        "##name\tTest\ncat\t<i>n.</i>\n",
        '{"cat": []}',
    ],
)
def test_a_dictionary_without_translations_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(content, encoding="utf-8")
    count = 3 if "senses" in content else 1
    with pytest.raises(
        DataError, match=f"no translations were found in {count} of {count} entries, the first"
    ):
        na.read_dictionary(tmp_path / "x")


def test_a_dictionary_with_few_translations_is_read_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("##name\tT\na\t(n)\nb\t(n)\ncat\tchat\n", encoding="utf-8")
    with pytest.warns(
        UserWarning, match="no translations were found in 2 of 3 entries, the first in line 2: 'a'"
    ):
        assert rows(tmp_path / "x") == CAT


def test_forms_of_words_have_no_translations_by_design(tmp_path: Path) -> None:
    form = {"word": "cats", "senses": [{"glosses": ["plural of cat"], "form_of": [{"word": "cat"}]}]}
    cat = {"word": "cat", "senses": [{"glosses": ["chat"]}]}
    (tmp_path / "x").write_text("\n".join(map(json.dumps, [form] * 3 + [cat])), encoding="utf-8")
    assert rows(tmp_path / "x") == CAT  # without a warning


@pytest.mark.parametrize(
    "bad",
    [
        r'{"word": "c\qat", "senses": []}',
        r'{"word": "\u12", "senses": []}',
        r'{"word": "\ud800", "senses": [{"glosses": ["chat"]}]}',
        r'{"word": "cat", "forms": [{"word": "\x"}]}',
    ],
)
def test_a_damaged_word_of_wiktionary_is_counted(bad: str, tmp_path: Path) -> None:
    good = '{"word": "dog", "senses": [{"glosses": ["chien"]}]}'
    (tmp_path / "x").write_text("\n".join([good, bad, good, good]), encoding="utf-8")
    dictionary = DictionaryFile(tmp_path / "x")
    for wanted in ({"dog"}, {"nothing"}):
        with pytest.warns(UserWarning, match="1 of 4 entries are malformed and were skipped.*line 2"):
            found = list(dictionary.entries(lambda words, wanted=wanted: wanted & set(words)))
        assert len(found) == 3 * ("dog" in wanted)


def test_translations_of_wiktionary_are_limited_by_language(tmp_path: Path) -> None:
    languages = [{"word": f"w{n}", "lang_code": f"l{n}"} for n in range(2 * MAX_ALTERNATIVES)]
    entry = {
        "word": "water",
        "lang_code": "en",
        "translations": [{"word": "eau", "lang_code": "fr"}, *languages],
    }
    (tmp_path / "x").write_text(json.dumps(entry), encoding="utf-8")
    assert rows(tmp_path / "x")[0] == ("water", "eau")
    entry["translations"] = [{"word": f"w{n}", "lang_code": "fr"} for n in range(MAX_ALTERNATIVES + 1)]
    (tmp_path / "x").write_text(json.dumps(entry), encoding="utf-8")
    with pytest.raises(DataError, match="line 1: expected at most 1,000"):
        na.read_dictionary(tmp_path / "x")


def test_an_entry_with_very_many_translations_is_malformed(tmp_path: Path) -> None:
    many = "/x" * (MAX_ALTERNATIVES + 1)
    (tmp_path / "x").write_text(f"{CEDICT}貓 猫 [mao1] {many}/\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="1 of 3 entries"):
        na.read_dictionary(tmp_path / "x")


def test_unwanted_headwords_are_not_parsed(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("cedict", "edict", "wiktionary", "tsv", "tabfile", "json"):
            (tmp_path / "x").write_bytes(BYTES[name][0])
            assert not list(DictionaryFile(tmp_path / "x").entries(lambda headwords: set()))


def test_wiktionary_lines_without_a_wanted_word_are_not_parsed(tmp_path: Path) -> None:
    """A line that is not JSON inside its braces is malformed only if a wanted word is in it."""
    lines = ['{"word": "caf\\u00e9", "senses": [{"glosses": ["coffee"]}]}', '{"word": "tea", broken}']
    (tmp_path / "x").write_text("\n".join([*lines, lines[0]]), encoding="utf-8")
    dictionary = DictionaryFile(tmp_path / "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [entry.headwords for entry in dictionary.entries(lambda words: {"café"} & set(words))]
    assert found == [("café",), ("café",)]
    with pytest.warns(UserWarning, match="1 of 3 entries"):
        list(dictionary.entries())
