"""Dictionaries of all formats are recognized by their content and read into headwords and translations."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import nmtalign as na
from nmtalign.dictionaries.entries import MAX_ALTERNATIVES, phrases_of
from nmtalign.dictionaries.indexed_dictionaries import MAX_TEXT_BYTES
from nmtalign.dictionaries.reading import DictionaryFile
from nmtalign.errors import DataError

CEDICT = "# CC-CEDICT\n貓 猫 [mao1] /cat/to hide (oneself)/CL:隻|只[zhi1]/\n水 水 [shui3] /water; liquid/\n"
EDICT = (
    "　？？？ /EDICT, EDICT_SUB(P)/Copyright/\n"
    "猫(P);ネコ [ねこ(P)] /(n) (1) cat/(2) {cook} pussycat/(P)/EntL1467640X/\n"
    "まあ /(int) well/\n"
)
JMDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE JMdict [<!ELEMENT JMdict (entry*)> <!ENTITY n "noun (common)">]>
<JMdict><entry><ent_seq>1</ent_seq><k_ele><keb>猫</keb></k_ele><r_ele><reb>ねこ</reb></r_ele>
<sense><pos>&n;</pos><gloss>cat</gloss><gloss xml:lang="fre">chat</gloss></sense></entry></JMdict>
"""
TEI = """<?xml version="1.0" encoding="UTF-8"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>
<entry><form><orth>cat</orth><pron>kat</pron></form><sense><cit type="trans"><quote>macska</quote></cit>
<cit type="example"><quote>a cat</quote><cit type="trans"><quote>egy macska</quote></cit></cit>
</sense></entry>
</body></text></TEI>
"""
TEI_P4 = """<TEI.2><text><body><entry><form><orth>cat</orth></form>
<trans><tr>chat</tr></trans></entry></body></text></TEI.2>"""
DIX = """<?xml version="1.0"?><dictionary><sdefs/><section id="main" type="standard">
<e><p><l>give<b/>up<s n="vblex"/></l><r>rendirse<s n="vblex"/></r></p></e>
<e><i>taxi<s n="n"/></i></e><e><p><l><s n="adj"/></l><r><s n="adj"/></r></p></e></section></dictionary>"""
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
    "jmdict": (JMDICT.encode(), [(w, t) for w in ("猫", "ねこ") for t in ("cat", "chat")]),
    "tei": (TEI.encode(), [("cat", "macska")]),
    "tei-p4": (TEI_P4.encode(), CAT),
    "dix": (DIX.encode(), [("give up", "rendirse"), ("taxi", "taxi")]),
    "wiktionary": (WIKTIONARY.encode(), [("macska", "cat"), ("cat", "macska")]),
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


DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def base64_number(number: int) -> str:
    digits = ""
    while number or not digits:
        digits, number = DIGITS[number % 64] + digits, number // 64
    return digits


def write_dictd(folder: Path, texts: dict[str, str], *, ending: str = ".dict.dz") -> Path:
    data, index = b"", ""
    for headword, text in texts.items():
        index += f"{headword}\t{base64_number(len(data))}\t{base64_number(len(text.encode()))}\n"
        data += text.encode()
    (folder / "x.index").write_text(index, encoding="utf-8")
    (folder / f"x{ending}").write_bytes(gzip.compress(data) if ending.endswith("z") else data)
    return folder / "x.index"


DICTD = {
    "00databaseinfo": "about this dictionary\nThe FreeDict project\n",
    "cat": "cat /kat/ <n>\n1. chat, matou\nan animal\n2. fouet\n",
    "dog": "dog /dɒɡ/\nchien\n see: {hound}\n",
}


@pytest.mark.parametrize("ending", [".dict.dz", ".dict"])
@pytest.mark.parametrize("named", ["x.index", "x.dict", "x"])
def test_dictd(tmp_path: Path, ending: str, named: str) -> None:
    write_dictd(tmp_path, DICTD, ending=ending)
    path = tmp_path / (f"x{ending}" if named == "x.dict" else named)
    assert rows(path) == [("cat", "chat"), ("cat", "matou"), ("cat", "fouet"), ("dog", "chien")]


def write_stardict(folder: Path, texts: dict[str, bytes], *, wide: bool = False, kinds: str = "m") -> Path:
    data, index = b"", b""
    for headword, text in texts.items():
        index += headword.encode() + b"\0" + struct.pack(">QI" if wide else ">II", len(data), len(text))
        data += text
    info = f"StarDict's dict ifo file\nversion=3.0.0\nwordcount={len(texts)}\n"
    info += "idxoffsetbits=64\n" * wide + f"sametypesequence={kinds}\n" * bool(kinds)
    (folder / "s.ifo").write_text(info, encoding="utf-8")
    (folder / "s.idx").write_bytes(index)
    (folder / "s.dict.dz").write_bytes(gzip.compress(data))
    return folder / "s.ifo"


@pytest.mark.parametrize("wide", [False, True])
def test_stardict(tmp_path: Path, wide: bool) -> None:
    path = write_stardict(tmp_path, {"cat": b"1. chat\n2. matou", "dog": b"chien"}, wide=wide)
    expected = [("cat", "chat"), ("cat", "matou"), ("dog", "chien")]
    for name in (path.name, "s.idx", "s.dict.dz"):
        assert rows(tmp_path / name) == expected


def test_stardict_with_a_kind_before_each_text_and_markup(tmp_path: Path) -> None:
    both = b"tkat\0h<div><b>chat</b><br>matou &amp; cie</div>\0"
    assert rows(write_stardict(tmp_path, {"cat": both}, kinds="")) == [
        ("cat", "chat"),
        ("cat", "matou & cie"),
    ]
    assert rows(write_stardict(tmp_path, {"cat": b"kat\0chat"}, kinds="tm")) == CAT


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


def test_stardict_without_its_other_files_says_which_are_missing(tmp_path: Path) -> None:
    path = write_stardict(tmp_path, {"cat": b"chat"})
    (tmp_path / "s.dict.dz").unlink()
    with pytest.raises(DataError, match=r"s\.ifo: expected the files \.idx and \.dict"):
        na.read_dictionary(path)


LAUGHS = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 9}">' for n in range(9))


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY a0 "ha">' + LAUGHS, '<!ENTITY a SYSTEM "/etc/passwd">', f'<!ENTITY a "{"ha" * 200}">'],
)
def test_entities_that_could_grow_are_refused(declared: str, tmp_path: Path) -> None:
    text = JMDICT.replace('<!ENTITY n "noun (common)">', declared)
    (tmp_path / "x").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"entity '.*' is not expanded"):
        na.read_dictionary(tmp_path / "x")


def damage_place(folder: Path) -> Path:
    path = write_dictd(folder, DICTD)
    with open(path, "a", encoding="utf-8") as file:
        file.write("far\tZZZZ\tZ\n")
    return path


def damage_columns(folder: Path) -> Path:
    path = write_dictd(folder, DICTD)
    with open(path, "a", encoding="utf-8") as file:
        file.write("alone\n")
    return path


def cut_index(folder: Path) -> Path:
    path = write_stardict(folder, {"cat": b"chat", "dog": b"chien"})
    index = (folder / "s.idx").read_bytes()
    (folder / "s.idx").write_bytes(index + b"far\0")
    return path


@pytest.mark.parametrize("damage", [damage_place, damage_columns, cut_index])
def test_damaged_places_are_malformed_entries(damage: Callable[[Path], Path], tmp_path: Path) -> None:
    path = damage(tmp_path)
    with pytest.warns(UserWarning, match="1 of [34] entries are malformed"):
        assert len(rows(path)) >= 2


def test_an_index_that_names_one_text_over_and_over_is_refused(tmp_path: Path) -> None:
    text = "x" * MAX_TEXT_BYTES
    lines = f"a\tA\t{base64_number(len(text))}\n" * 300
    (tmp_path / "x.dict.dz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "x.index").write_text(lines, encoding="utf-8")
    with pytest.raises(DataError, match="the same text over and over"):
        na.read_dictionary(tmp_path / "x.index")


def test_an_entry_with_very_many_translations_is_malformed(tmp_path: Path) -> None:
    many = "/x" * (MAX_ALTERNATIVES + 1)
    (tmp_path / "x").write_text(f"{CEDICT}貓 猫 [mao1] {many}/\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="1 of 3 entries"):
        na.read_dictionary(tmp_path / "x")


def test_unwanted_headwords_are_not_parsed(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("cedict", "edict", "jmdict", "tei", "dix", "wiktionary", "tsv"):
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


def test_the_numbers_of_an_index_are_those_of_base64() -> None:
    """Three bytes of base64 are four of its digits."""
    assert base64.b64encode((70_000).to_bytes(3, "big")).decode().lstrip("A") == base64_number(70_000)
