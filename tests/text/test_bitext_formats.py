"""JSONL, TMX, XLIFF, PO and Parquet: a pair for each record, streamed, and nothing hostile is expanded."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.errors import DataError, NmtalignWarning, UsageError
from nmtalign.text.bitext import SentencePair, named_languages, read_bitext
from nmtalign.text.readers import PAIR_FILE_FORMATS
from tests.cli.running import run

XML_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
)
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"))

TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-CA" datatype="plaintext"/><body>
%s
</body></tmx>
"""
UNIT = '<tu><tuv xml:lang="{}"><seg>{}</seg></tuv><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>'


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def tmx(*units):
    return TMX % "\n".join(units)


def po(pairs):
    quoted = ((json.dumps(a, ensure_ascii=False), json.dumps(b, ensure_ascii=False)) for a, b in pairs)
    return 'msgid ""\nmsgstr "Language: fr\\n"\n\n' + "".join(f"msgid {a}\nmsgstr {b}\n\n" for a, b in quoted)


def xliff(pairs):
    units = (
        f"<trans-unit id='{n}'><source>{escape(a)}</source><target>{escape(b)}</target></trans-unit>"
        for n, (a, b) in enumerate(pairs)
    )
    body = "\n".join(units)
    return f'<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff"><file><body>{body}</body></file></xliff>'


WRITERS = {
    "tmx": lambda pairs: tmx(*(UNIT.format("en", escape(a), "fr", escape(b)) for a, b in pairs)),
    "xliff": xliff,
    "jsonl": lambda pairs: "".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in pairs),
}


UNTRANSLATED = pytest.mark.filterwarnings("ignore:.*without a translation", "ignore:.*the file has no")


@UNTRANSLATED
@pytest.mark.parametrize("format", WRITERS)
@given(st.lists(st.tuples(XML_TEXT, XML_TEXT), min_size=1, max_size=4))
def test_pairs_come_back(format, pairs):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / f"pairs.{format}", WRITERS[format](pairs))
        assert list(read_bitext(path)) == pairs


PLAIN = ANY_TEXT.map(lambda text: text.replace("\t", "").replace("|", "").strip(" ").removeprefix("\ufeff"))


@pytest.mark.parametrize(("format", "between"), [("tsv", "\t"), ("fast-align", " ||| ")])
@given(st.lists(st.tuples(PLAIN, PLAIN), max_size=4))
def test_lines_come_back(format, between, pairs):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "pairs", "".join(f"{a}{between}{b}\n" for a, b in pairs))
        assert list(read_bitext(path, format=format)) == pairs


@UNTRANSLATED
@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=4))
def test_po_pairs_come_back(pairs):
    # JSON's strings are PO's but for \uXXXX and \b, \f; control characters are left out.
    pairs = [
        ("x" + "".join(c for c in a if c.isprintable()), "".join(c for c in b if c.isprintable()))
        for a, b in pairs
    ]
    with tempfile.TemporaryDirectory() as folder:
        assert list(read_bitext(write(Path(folder) / "pairs.po", po(pairs)))) == pairs


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=4))
def test_parquet_pairs_come_back(pairs):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.parquet"
        parquet.write_table(
            pyarrow.table(columns, schema=pyarrow.schema(dict.fromkeys(columns, pyarrow.string()))), path
        )
        assert list(read_bitext(path)) == pairs


def test_jsonl_keys_and_errors(tmp_path):
    line = '{"id": 3, "translation": {"en": "a\\nb", "fr": "c"}}'
    path = write(tmp_path / "a.jsonl", f"{line}\n[]\n{{\n" + '{"translation": {"en": 3, "fr": ""}}\n')
    select = ("translation.fr", "translation.en")
    errors = []
    assert list(read_bitext(path, select=select, on_error=errors.append)) == [("c", "a b"), *[("", "")] * 3]
    assert [str(error).partition(": ")[0][-6:] for error in errors] == ["line 2", "line 3", "line 4"]
    with pytest.raises(DataError, match=r"line 2: expected text under the key 'translation.en'"):
        list(read_bitext(path))


def test_jsonl_of_hugging_face_and_lists_of_words(tmp_path):
    rows = [
        {"id": "0", "translation": {"en": "the cat", "fr": "le chat"}},
        {"translation": {"fr": "", "en": "a"}},
        {"en": ["two", "words"], "fr": []},
    ]
    path = write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    expected = [("the cat", "le chat"), ("a", ""), ("two words", "")]
    assert list(read_bitext(path, select=("en", "fr"))) == expected
    for words in (["two words"], [""], [3], [["a"]]):
        write(path, json.dumps({"source": words, "target": ["b"]}) + "\n")
        with pytest.raises(
            DataError, match=r"line 1: expected text under the key 'source', or a list of words"
        ):
            list(read_bitext(path))


def conllu(*sentences, ids=None):
    """Return a CoNLL-U file of sentences of words."""
    blocks = []
    for n, words in enumerate(sentences):
        rows = [f"# sent_id = {ids[n]}"] if ids else ["# text = x"]
        rows += [f"{k}\t{word}" + "\t_" * 8 for k, word in enumerate(words, 1)]
        blocks.append("\n".join(rows) + "\n\n")
    return "".join(blocks)


def test_conllu_files_are_sentences_of_words(tmp_path):
    source = conllu(["the", "cat"], ["New York"], [])
    target = conllu(["le", "chat"], ["b"], ["c"]).replace("1\tle", "1-2\tau" + "\t_" * 8 + "\n1\tle")
    target = target.replace("2\tchat", "1.1\tx" + "\t_" * 8 + "\n2\tchat").rstrip("\n")
    files = write(tmp_path / "a.conllu", source), write(tmp_path / "b.conllu", target)
    expected = [("the cat", "le chat"), ("New\u00a0York", "b"), ("", "c")]
    assert list(read_bitext(*files)) == expected
    write(files[1], target + "\n\n1\td\n")
    with pytest.raises(DataError, match=r"expected"):
        list(read_bitext(*files))


def test_bad_rows_and_other_sentences_of_conllu_are_errors(tmp_path):
    files = [write(tmp_path / f"{side}.conllu", conllu(["a"], ["b"], ids=["x", "y"])) for side in "ab"]
    assert list(read_bitext(*files)) == [("a", "a"), ("b", "b")]
    write(files[1], conllu(["a"], ["b"], ids=["x", "z"]))
    with pytest.raises(DataError, match=r"sentence 2: expected a sentence with the sent_id 'y'"):
        list(read_bitext(*files))
    write(files[1], conllu(["a"], ["b"], ids=["1", "2"]))
    assert len(list(read_bitext(*files))) == 2
    write(files[1], conllu(["a"], ["b"]).replace("1\ta\t_", "1\ta"))
    errors = []
    assert list(read_bitext(*files, on_error=errors.append)) == [("", ""), ("b", "b")]
    assert "b.conllu, line 2: expected 10 columns" in str(errors[0])


def pairs_of(tmp_path, text, *, format="tmx", **options):
    """Return the pairs of a file, and what is told of them without the name of the file."""
    path = write(tmp_path / f"a.{format}", text)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pairs = list(read_bitext(path, **options))
    return pairs, [str(warning.message).removeprefix(f"{path}: ") for warning in told]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (None, ("en", "de")),
        (("fr", "en"), ("fr", "en")),
        (("fr-CA", "de"), ("fr", "de")),
        (("1", "2"), (None, None)),
    ],
)
def test_languages_of_a_memory_are_those_that_are_read(select, expected, tmp_path):
    path = tmp_path / "a.tmx"
    path.write_text(
        tmx(tu(de="x"), UNIT.format("de", "b", "en-GB", "a"), tu(fr="c", en="d")), encoding="utf-8"
    )
    assert named_languages(na.read_bitext(path, select=select)) == expected


def test_a_model_keeps_the_languages_of_its_memory(tmp_path):
    path = tmp_path / "a.tmx"
    words = [("un chat", "a cat"), ("un chien", "a dog"), ("le chien", "the dog"), ("le chat", "the cat")] * 3
    path.write_text(
        tmx(*(UNIT.format("fr", french, "en", english) for french, english in words)), encoding="utf-8"
    )
    assert na.train(na.read_bitext(path)).languages == ("en", "fr")
    train = "train", "--pairs", path, "--preset", "fast", "-q", "-o"
    assert run(*train, tmp_path / "model") == 0
    assert na.load(tmp_path / "model").languages == ("en", "fr")
    assert run(*train, tmp_path / "swapped", "--sides", "fr,en") == 0
    assert na.load(tmp_path / "swapped").languages == ("fr", "en")


def test_tmx_languages_inline_codes_and_lines(tmp_path):
    text = tmx(
        UNIT.format(
            "fr-CA", "Le <bpt i='1'>&lt;b></bpt>chat<ept i='1'/> &amp; <hi>moi</hi>", "EN", "The\ncat"
        ),
        '<tu><note>x</note><tuv lang="en-GB"><prop type="p">q</prop><seg>only</seg></tuv></tu>',
        UNIT.format("en", "<![CDATA[a < b]]>", "fr", "&#233;"),
    )
    pairs = [("The cat", "Le chat & moi"), ("a < b", "é")]
    told = ["of 3 units: 1 skipped without a text in en and fr (the first in line 6)"]
    assert pairs_of(tmp_path, text) == (pairs, told)
    swapped = [SentencePair(b, a) for a, b in pairs]
    assert pairs_of(tmp_path, text, select=("fr", "en"))[0] == swapped
    wanted = "expected units in en and de, found the languages fr-ca, en, en-gb, fr"
    with pytest.raises(DataError, match=f"a.tmx: {wanted}; choose two"):
        pairs_of(tmp_path, text, select=("en", "de"), on_error=print)


@pytest.mark.parametrize(
    ("first", "second", "select"),
    [
        ("en_GB", "fr_FR", ("en", "fr")),
        ("EN-US", "FR-CA", ("en", "fr")),
        ("eng", "fra", ("en", "fr")),
        ("en", "fr", ("en-GB", "FR_fr")),
        ("en-GB", "fr", ("EN_gb", "fre")),
        ("English", "French", ("en", "fr")),
        ("zh_CN", "pt_BR", ("zh", "pt-BR")),
        ("xx-y", "tlh", ("xx", "tlh")),
        ("en-US", "en-GB", ("en-us", "en-gb")),
        ("en-US", "en-GB", None),
        ("de-DE", "fr-FR", None),
    ],
)
@pytest.mark.parametrize("attribute", ["xml:lang", "lang"])
def test_tmx_languages_are_found_however_they_are_written(attribute, first, second, select, tmp_path):
    text = tmx(UNIT.format(first, "a", second, "b")).replace("xml:lang", attribute)
    assert pairs_of(tmp_path, text, select=select) == ([("a", "b")], [])


@pytest.mark.parametrize("select", [("en-us", "fr"), ("de", "fr"), ("en", "e"), ("e", "fr"), ("en", "en-GB")])
def test_tmx_languages_that_only_begin_alike_are_others(select, tmp_path):
    with pytest.raises(DataError, match=r"expected units in .* found the languages en-gb, fr"):
        pairs_of(tmp_path, tmx(UNIT.format("en-GB", "a", "fr", "b")), select=select)


def tu(**texts):
    variants = (f'<tuv xml:lang="{name}"><seg>{text}</seg></tuv>' for name, text in texts.items())
    return f"<tu>{''.join(variants)}</tu>"


def test_units_of_other_languages_are_left_out_and_counted(tmp_path):
    units = tu(de="d", it="i"), tu(de="d", fr="f", en="e"), tu(en="x"), tu(), tu(en_US="u", fr_CA="v")
    told = ["of 5 units: 3 skipped without a text in en and fr (the first in line 4)"]
    for errors in (None, print):  # a unit of other languages is no bad record
        found = pairs_of(tmp_path, tmx(*units), select=("en", "fr"), on_error=errors)
        assert found == ([("e", "f"), ("u", "v")], told)


def test_without_a_choice_the_first_unit_of_two_languages_decides_and_more_are_told(tmp_path):
    units = tu(de="x"), tu(de_DE="d", en_US="e", fr="f"), tu(en_GB="e2", de="d2"), tu(de="d3", fr="f3")
    pairs, told = pairs_of(tmp_path, tmx(*units))
    assert pairs == [("e", "d"), ("e2", "d2")]  # the source language of the header is en-CA
    assert told == [
        "en and de are read, not fr; `select=A,B` chooses others",
        "of 4 units: 2 skipped without a text in en and de (the first in line 4)",
    ]
    with pytest.raises(DataError, match="expected units in two languages, found the languages de"):
        pairs_of(tmp_path, tmx(tu(de="x")))


def test_text_that_is_directly_in_a_tuv_is_read(tmp_path):
    bare = (
        '<tu><tuv xml:lang="en">\n <note>n</note>the <hi>house</hi>\n</tuv>'
        '<tuv xml:lang="fr">la maison</tuv></tu>'
    )
    assert pairs_of(tmp_path, tmx(bare)) == ([("the house", "la maison")], [])
    none = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="fr"><note>n</note></tuv></tu>'
    told = ["of 2 units: 1 skipped without a text in en and fr (the first in line 5)"]
    assert pairs_of(tmp_path, tmx(tu(en="a", fr=""), none)) == ([("a", "")], told)
    with pytest.raises(DataError, match="expected units in en and fr, found the languages en"):
        pairs_of(tmp_path, tmx(none), select=("en", "fr"))


def test_several_texts_of_a_language_are_told(tmp_path):
    twice = tu(en="a", fr="b").replace("</tu>", '<tuv xml:lang="fr"><seg>c</seg></tuv></tu>')
    segs = '<tu><tuv xml:lang="en"><seg>c</seg><seg>d</seg></tuv><tuv xml:lang="fr"><seg>e</seg></tuv></tu>'
    regions = tu(en="f", fr_CA="g", fr_FR="h")
    text = tmx(twice, segs, regions, tu(en="i", fr="j", fr_CA="k"))
    pairs, told = pairs_of(tmp_path, text, select=("en", "fr"))
    assert pairs == [("a", "b"), ("c", "e"), ("f", "g"), ("i", "j")]
    assert told == [
        "of 4 units: 3 with several texts in a language, of which the first is read (the first in line 4)"
    ]


def test_a_key_of_json_lines_that_occurs_twice_is_an_error(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"en": "a", "fr": "b", "en": "c"}\n{"en": "d", "fr": "e"}\n')
    with pytest.raises(
        DataError, match="line 1: expected JSON with each key once in an object, found 'en' again"
    ):
        list(read_bitext(path))
    assert list(read_bitext(path, select=("en", "fr"), on_error=print)) == [("", ""), ("d", "e")]


def test_texts_without_a_language_are_not_mixed_up(tmp_path):
    unit = "<tu><tuv><seg>a</seg></tuv><tuv><seg>b</seg></tuv></tu>"
    with pytest.raises(DataError, match="in two languages, found the languages none"):
        pairs_of(tmp_path, tmx(unit))


@pytest.mark.parametrize("format", ["tmx", "xliff"])
def test_a_file_without_units_is_told_or_refused(format, tmp_path):
    empty = f"<{format} version='1'><header srclang='en'/><body/></{format}>"
    noun = "unit" if format == "tmx" else "segment"
    assert pairs_of(tmp_path, empty, format=format) == ([], [f"the file has no {noun}s"])
    for root in ("html", "TMX", "xlif", "rss"):
        with pytest.raises(DataError, match=f"with the root element <{format}>, found <{root}>"):
            pairs_of(tmp_path, f"<?xml version='1.0'?><{root}><x/></{root}>", format=format)


def test_xliff_of_both_versions(tmp_path):
    old = (
        '<x:xliff version="1.2" xmlns:x="urn:x"><x:file><x:body><x:trans-unit id="1"><x:source>a '
        '<x:g id="1">b</x:g>'
        "</x:source><x:alt-trans><x:source>no</x:source><x:target>no</x:target></x:alt-trans></x:trans-unit>"
        "</x:body></x:file></x:xliff>"
    )
    new = (
        '<xliff version="2.0"><file><unit id="1"><segment><source>a</source><target>b</target></segment>'
        "<segment><source>c<ph id='1'/></source><target>d</target></segment></unit></file></xliff>"
    )
    told = [
        "of 1 segment: 1 without a translation, whose target is empty (the first in trans-unit '1', line 1)"
    ]
    assert pairs_of(tmp_path, old, format="xlf") == ([("a b", "")], told)
    assert pairs_of(tmp_path, new, format="xliff") == ([("a", "b"), ("c", "d")], [])


SENTENCES = [("Press the red button, then wait.", "Appuyez sur le bouton rouge, puis attendez.")]
INLINE_FILES = {
    "studio.sdlxliff": """<xliff xmlns:sdl="s" version="1.2"><file><body><group><trans-unit id="u1">
        <source>Press the <g id="5">red button</g>, then <x id="6"/>wait.</source>
        <seg-source><mrk mtype="seg" mid="1">Press the <g id="5">red button</g>, then <x id="6"/>wait.</mrk>
        </seg-source>
        <target><mrk mtype="seg" mid="1">Appuyez sur le <g id="5"><mrk mtype="x-sdl-comment"
sdl:cid="c">bouton rouge</mrk></g>, puis <x id="6"/>attendez.</mrk></target>
        <sdl:seg-defs><sdl:seg id="1" conf="Translated"/></sdl:seg-defs>
        </trans-unit></group></body></file></xliff>""",
    "codes.xlf": """<xliff version="1.2"><file><body><trans-unit id="1">
        <source>Press the <bpt id="1">&lt;b&gt;</bpt>red<ept id="1">&lt;/b&gt;</ept> button<ph id="2"/>, then
<it id="3" pos="open">&lt;i&gt;</it>wait.</source>
        <target>Appuyez sur le <bx id="1"/>bouton <bx id="4"/>rouge<ex id="1"/>, puis<ex
id="4"/> attendez.</target>
        <alt-trans><target>Appuyez.</target></alt-trans></trans-unit></body></file></xliff>""",
    "memoq.mqxliff": """<xliff version="1.2" xmlns:mq="MQXliff"><file><body>
        <trans-unit id="1" mq:status="Confirmed">
        <source xml:space="preserve">Press the red button,<ph id="1">&lt;br/&gt;</ph>then wait.</source>
        <target>Appuyez sur le bouton rouge, <ph id="1">&lt;br/&gt;</ph>puis attendez.</target>
        </trans-unit></body></file></xliff>""",
    "second.xliff": """<xliff version="2.0" srcLang="en" trgLang="fr"><file id="f"><unit id="u">
        <originalData><data id="d1">&lt;b&gt;</data></originalData>
        <segment state="final"><source>Press <pc id="1" dataRefStart="d1">the <sc id="2"/>red</pc> button,<ec
startRef="2"/> <ph id="3" equiv="{x}"/>then wait.</source>
        <target>Appuyez sur le <mrk id="m" type="term">bouton</mrk><ph id="4" type="fmt"
subType="xlf:lb"/>rouge, puis <sm id="5" type="comment"/>attendez.<em startRef="5"/></target></segment>
        </unit></file></xliff>""",
    "level2.tmx": """<tmx version="1.4"><header srclang="en"/><body>
        <tu><note>Press</note><prop type="x">1</prop>
        <tuv xml:lang="en"><seg>Press the <hi type="term">red</hi> <bpt i="1" x="1">{\\b </bpt>button<ept
i="1">}</ept>,<ph type="lb" x="2">\\line</ph>then <ut>{\\cf2}</ut>wait.</seg></tuv>
        <tuv xml:lang="fr"><seg>Appuyez sur le bouton rouge, <it pos="begin">&lt;i <sub> </sub>&gt;</it
>puis attendez.</seg></tuv></tu></body></tmx>""",
}


@pytest.mark.parametrize("name", INLINE_FILES)
def test_inline_elements_of_tools_leave_the_text_that_a_translator_reads(name, tmp_path):
    path = tmp_path / name
    path.write_text(INLINE_FILES[name], encoding="utf-8")
    assert list(read_bitext(path)) == SENTENCES


def test_xliff_counts_what_is_missing_and_what_is_too_much(tmp_path):
    units = [
        *("<source>a</source>", "<source>b</source><target/>"),
        *("<source>c</source>" + 2 * "<target>d</target>", "<target>no</target>"),
    ]
    text = "".join(f"<trans-unit>{unit}</trans-unit>" for unit in units)
    errors = []
    pairs, told = pairs_of(
        tmp_path, f"<xliff><file>\n{text}</file></xliff>", format="xlf", on_error=errors.append
    )
    assert pairs == [("a", ""), ("b", ""), ("c", "d"), ("", "")]
    assert told == [
        "of 4 segments: 2 without a translation, whose target is empty (the first in line 2); "
        "1 with several targets, of which the first is read (the first in line 2)"
    ]
    assert str(errors[0]).endswith("a.xlf, line 2: expected a unit with a source, found none")


PO = """# a comment
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#: main.c:12
#, c-format
msgctxt "menu"
msgid "Open\\n"
"the \\"file\\""
msgstr ""
"Ouvrir"
" le fichier"

msgid "one"
msgid_plural "many"
msgstr[0] "un"
msgstr[1] "plusieurs"
#~ msgid "old"
#~ msgstr "vieux"

msgid "not yet"
msgstr ""
"""


def test_po(tmp_path):
    expected = [('Open the "file"', "Ouvrir le fichier"), ("one", "un"), ("not yet", "")]
    pairs, told = pairs_of(tmp_path, PO, format="po")
    assert pairs == expected
    assert told == [
        "of 3 messages: 1 with plural forms, of which the first is read (the first in line 14); "
        "1 without a translation, whose target is empty (the first in line 21)"
    ]
    broken = PO.replace('msgid_plural "many"', "msgid_plural many")
    errors = []
    pairs, _ = pairs_of(tmp_path, broken, format="po", on_error=errors.append)
    assert pairs == [expected[0], ("", ""), expected[2]]
    assert "a.po, line 15: expected msgid" in str(errors[0])


def test_a_fuzzy_translation_is_none_by_default(tmp_path):
    message = 'msgid "{0}"\nmsgstr "{0}!"\n'
    flagged = '#, c-format, fuzzy\n#| msgid "old"\n' + message.format("guess")
    obsolete = '#, fuzzy\n#~ msgid "gone"\n#~ msgstr "parti"\n'
    text = "\n".join([message.format("a"), flagged, message.format("b"), obsolete, message.format("c")])
    text = '#, fuzzy\nmsgid ""\nmsgstr "Language: fr\\n"\n\n' + text
    pairs, told = pairs_of(tmp_path, text, format="po")
    assert pairs == [("a", "a!"), ("guess", ""), ("b", "b!"), ("c", "c!")]
    assert told == ["of 4 messages: 1 with a fuzzy translation, whose target is empty (the first in line 10)"]
    assert list(read_bitext(tmp_path / "a.po", format="po-fuzzy"))[1] == ("guess", "guess!")


def test_messages_of_po_are_neither_joined_nor_lost(tmp_path):
    lines = [
        *('msgid "one"', 'msgid "two"', 'msgstr "deux"'),
        *('msgid "three"', 'msgstr "trois"', 'msgstr "3"'),
        *('msgid ""', 'msgstr "a second header"'),
        *('msgid "four"', 'msgctxt "menu"', 'msgid "five"', 'msgstr "cinq"'),
    ]
    errors = []
    pairs, told = pairs_of(tmp_path, "\n".join(lines), format="po", on_error=errors.append)
    assert pairs == [("one", ""), ("two", "deux"), ("", ""), ("four", ""), ("five", "cinq")]
    assert told == ["of 5 messages: 2 without a translation, whose target is empty (the first in line 1)"]
    assert ["line 6: expected one msgstr" in str(error) for error in errors] == [True]
    with pytest.raises(DataError, match=r"a\.po, line 1: expected a msgid, found a message of msgstr"):
        pairs_of(tmp_path, 'msgstr "alone"\n', format="po")
    assert pairs_of(tmp_path, 'msgid ""\nmsgstr "x"\n', format="po") == ([], ["the file has no messages"])


def as_csv(rows):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=4))
def test_csv_pairs_come_back(pairs):
    pairs = [(a.removeprefix("\ufeff"), b) for a, b in pairs]
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "pairs.csv", as_csv(pairs))
        assert list(read_bitext(path)) == pairs
        write(path, as_csv([("n", "target", "source"), *((7, b, a) for a, b in pairs)]))
        assert list(read_bitext(path)) == pairs
        assert list(read_bitext(path, select=("target", "source"))) == [(b, a) for a, b in pairs]


def test_a_header_line_names_the_columns(tmp_path):
    tsv = write(tmp_path / "a.tsv", "id\tenglish\tfrench\n1\ta cat\tun chat\n\n")
    assert list(read_bitext(tsv, select=("french", "english"))) == [("un chat", "a cat"), ("", "")]
    assert next(iter(read_bitext(tsv, select=("2", "3")))) == ("english", "french")
    with pytest.raises(DataError, match="line 1: expected the columns german and english in the first"):
        list(read_bitext(tsv, select=("german", "english")))
    named = write(tmp_path / "b.tsv", "source\ttarget\na cat\tun chat\n")
    assert list(read_bitext(named)) == [("a cat", "un chat")]


def test_csv_errors_name_the_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'"a\nb",c\n"x"y,z\n\xff,u\na,b,c\n\nd,e\n')
    errors = []
    pairs = list(read_bitext(path, on_error=errors.append))
    assert pairs == [("a b", "c"), *[("", "")] * 4, ("d", "e")]
    assert [str(error).partition(": ")[0][-6:] for error in errors] == ["line 3", "line 4", "line 5"]
    with pytest.raises(DataError, match="line 1: expected a record of CSV"):
        list(read_bitext(write(path, '"never closed,b\nc,d\n')))


def test_parquet_columns(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    rows = [{"en": "a\nb", "fr": "c"}, {"en": None, "fr": "d"}, None]
    parquet.write_table(pyarrow.table({"translation": rows, "n": [1, 2, 3]}), path)
    select, errors = ("translation.fr", "translation.en"), []
    assert list(read_bitext(path, select=select, on_error=errors.append)) == [
        ("c", "a b"),
        ("", ""),
        ("", ""),
    ]
    assert "a.parquet, row 2: expected text in translation.fr" in str(errors[0])
    assert next(iter(read_bitext(path))) == ("a b", "c")  # by the names of the keys, as in JSON lines
    parquet.write_table(pyarrow.table({"id": [1], "fr": ["un chat"], "en": ["a cat"]}), path)
    assert list(read_bitext(path)) == [("un chat", "a cat")]
    parquet.write_table(pyarrow.table({"en": ["a"], "fr": ["b"], "de": ["c"]}), path)
    with pytest.raises(DataError, match=r"a.parquet: expected the names of two sides, found en, fr, de"):
        list(read_bitext(path))
    parquet.write_table(pyarrow.table({"left": ["a"], "right": ["b"]}), path)
    with pytest.raises(DataError, match=r"expected a column 'source', found left, right"):
        list(read_bitext(path))
    parquet.write_table(pyarrow.table({"en": pyarrow.nulls(5_000_000), "fr": ["b"] * 5_000_000}), path)
    with pytest.raises(
        DataError, match=r"a.parquet: expected columns .* at most 4,194,304 bytes, found 10,0"
    ):
        next(iter(read_bitext(path)))
    with pytest.raises(DataError, match="expected a Parquet file"):
        list(read_bitext(write(tmp_path / "b.parquet", "plain")))
    with pytest.raises(UsageError, match="standard input"):
        list(read_bitext("-", format="parquet"))


LAUGHS = (
    '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><tmx><tu><tuv><seg>&b;</seg></tuv></tu></tmx>'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "line 1: the XML entity 'a' is not expanded"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>', "entity 'a'"),
        ('<!DOCTYPE x [<!ENTITY % a SYSTEM "http://x/y"> %a;]><x/>', "entity 'a'"),
        ('<!DOCTYPE x [<!ENTITY a "">]><x/>', "entity 'a'"),
        (
            '<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><tu><tuv><seg>&nbsp;</seg></tuv></tu></tmx>',
            "entity 'nbsp'",
        ),
        ("<tmx><tu></tmx>", "line 1: expected well-formed XML"),
        ("<tmx>\n<tu>", r"line 2: expected well-formed XML \(no element found\)"),
        ("", "expected well-formed XML"),
        ("plain", "expected well-formed XML"),
    ],
)
@pytest.mark.parametrize("format", ["tmx", "xliff"])
def test_bad_xml_is_refused(tmp_path, format, text, message):
    with pytest.raises(DataError, match=message):
        list(read_bitext(write(tmp_path / f"a.{format}", text)))


MEMORY = (
    '<?xml version="1.0"?>\n<tmx><header srclang="en"/><body>\n<tu><tuv xml:lang="en"><seg>a</seg></tuv>'
    '<tuv xml:lang="fr"><seg>b</seg></tuv></tu>\n<group><tu><tuv xml:lang="en"><seg>BAD</seg></tuv>'
    '<tuv xml:lang="fr"><seg>x</seg></tuv></tu></group>\nFILLER<tu><tuv xml:lang="en"><seg>c</seg></tuv>'
    '<tuv xml:lang="fr"><seg>d</seg></tuv></tu>\n<tu><tuv xml:lang="en"><seg>e&oops;</seg></tuv></tu>'
    "</body></tmx>"
)
BAD_TEXTS = {
    "the&#x1F;": "found &#x1F;, .*; remove it",
    "&#55357;&#56832;": "found &#55357;, .*; remove it",
    "the\x0b": "found the character U\\+000B; remove it",
    "the&nbsp;cat": "found &nbsp;; write &#160; in its place",
    "the &oops; cat": "found &oops;; write out its text",
    "R&D": "found & in the text; write &amp;",
    "1 < 2": "found .*; write &lt; for <",
    "<b>the": "mismatched tag",
    "<b>" * 101 + "</b>" * 101: "nested at most 100 deep",
}


@pytest.mark.parametrize("filler", ["", "<!-- -->" * 10_000])  # the next unit is in another block
@pytest.mark.parametrize("bad", BAD_TEXTS)
def test_a_damaged_unit_is_replaced_and_the_others_are_read(bad, filler, tmp_path):
    path = tmp_path / "a.tmx"
    text = MEMORY.replace("BAD", bad).replace("FILLER", filler)
    path.write_text(text, encoding="utf-8")
    errors = []
    assert list(read_bitext(path, on_error=errors.append)) == [("a", "b"), ("", ""), ("c", "d"), ("", "")]
    assert re.search(f"a.tmx, line 4: expected .*{BAD_TEXTS[bad]}", str(errors[0]))
    assert "a.tmx, line 6: expected well-formed XML (undefined entity), found &oops;" in str(errors[1])
    with pytest.raises(DataError, match="line 4: expected "):
        list(read_bitext(path))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MEMORY.replace("BAD", "\x01").partition("x</seg>")[0], r"line 4: .*U\+0001; remove it"),
        (MEMORY.replace("BAD", "a").partition("FILLER")[0], "line 5: .*the file ends too early"),
        (MEMORY.replace('"1.0"', '"1.0" encoding="utf-16"'), "correct the encoding in line 1"),
        (
            MEMORY.replace("<body>", "<body>" + 100 * "<b>"),
            "line 2: expected elements nested at most 100 deep",
        ),
        (MEMORY.replace("<body>", f"<{'b' * 201}>"), "line 2: .* names of at most 200 characters"),
    ],
)
def test_a_file_that_cannot_be_read_on_is_refused_with_the_way_on(text, why, tmp_path):
    path = tmp_path / "a.tmx"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=why):
        list(read_bitext(path, on_error=lambda error: None))


BAD_AROUND_UNITS = {
    "skeleton": ("{}", "<![CDATA[<segment>{}</segment> <p>]]>", "<!-- {} <segment> -->", "<p>{}<br>"),
    "note": ("{}", "x</note><note x='{}'>"),
    "meta": ("{}",),
}


@pytest.mark.parametrize("bad", ["\x01", "&nbsp;", "R&D", "&#x1f;", "\ufffe"])
@pytest.mark.parametrize("element", BAD_AROUND_UNITS)
def test_damage_around_segments_is_one_bad_record(element, bad, tmp_path):
    for content in BAD_AROUND_UNITS[element]:
        if "<!" in content and "&" in bad:
            continue  # it is text there
        damaged = f"<{element}>{content.format(bad)}</{element}>"
        segment = "<segment><source>{}</source><target>{}</target></segment>"
        text = (
            f"<unit><notes>{damaged}</notes>{segment.format('a', 'b')}{segment.format('c', 'd')}</unit>\n"
            f"<!-- -->{damaged}<unit>{segment.format('e', 'f')}</unit>"
        )
        path = write(tmp_path / "a.xliff", f'<xliff version="2.0"><file>{text}</file></xliff>')
        errors = []
        pairs = list(read_bitext(path, on_error=errors.append))
        assert pairs == [("", ""), ("a", "b"), ("c", "d"), ("", ""), ("e", "f")]
        assert [str(error).partition(": expected well-formed XML")[0] for error in errors] == [
            f"{path}, line {number}" for number in (1, 2)
        ]
        with pytest.raises(DataError, match="line 1: expected well-formed XML"):
            list(read_bitext(path))


def test_damage_that_ends_with_a_block_is_not_the_end_of_the_file(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>\x01</seg></tuv><tuv xml:lang="fr"><seg>b</seg></tuv></tu>'
    before = TMX.partition("%s")[0]
    for missing in range(3):
        filler = "x" * ((1 << 16) - len(before) - len(f"<!---->{unit}") - missing)
        text = tmx(f"<!--{filler}-->{unit}{tu(en='c', fr='d')}")
        pairs = list(read_bitext(write(tmp_path / "a.tmx", text), on_error=lambda error: None))
        assert pairs == [("", ""), ("c", "d")]


def test_json_lines_may_begin_with_a_long_document(tmp_path):
    records = [{"en": "a cat " * 20_000, "fr": "un chat " * 20_000}, {"en": "a dog", "fr": "un chien"}]
    text = "".join(json.dumps(record) + "\n" for record in records)
    for name in ("a.jsonl", "a"):
        assert [pair.target[:7] for pair in read_bitext(write(tmp_path / name, text))] == [
            "un chat",
            "un chie",
        ]


def test_a_lost_tag_costs_only_its_segment(tmp_path):
    segment = "<segment id='{}'><source>{}</source><target>t</target></segment>"
    text = segment.format(1, "a") + segment.format("\x01", "b") + f"<unit>{segment.format(3, 'c')}</unit>"
    path = write(tmp_path / "a.xliff", f'<xliff version="2.0"><unit>{text}</unit></xliff>')
    assert list(read_bitext(path, on_error=lambda error: None)) == [("a", "t"), ("", ""), ("c", "t")]
    whole = path.read_text()
    without_end = write(tmp_path / "c.xliff", whole.replace("</unit></xliff>", "</unit\x01></xliff>\n"))
    assert len(list(read_bitext(without_end, on_error=lambda error: None))) == 4
    cut = write(tmp_path / "b.xliff", whole.removesuffix("</xliff>"))
    with pytest.raises(DataError, match="the file ends too early"):
        list(read_bitext(cut, on_error=lambda error: None))


def test_the_languages_of_a_damaged_header_are_read(tmp_path):
    memory = tmx(tu(en="a", fr="b")).replace(
        'srclang="en-CA" datatype="plaintext"/>', 'srclang="fr"><note>\x01</note></header>'
    )
    pairs = list(read_bitext(write(tmp_path / "a.tmx", memory), on_error=lambda error: None))
    assert pairs == [("", ""), ("b", "a")]


MARKED = '<mrk mtype="seg" mid="{}">{}</mrk>'


@pytest.mark.parametrize("inside", ["{}", '<g id="1">{}</g>'])
def test_marked_segments_of_xliff_are_pairs_by_their_mid(inside, tmp_path):
    source = MARKED.format(1, "one .") + MARKED.format(2, "two .") + MARKED.format(3, "three .")
    target = MARKED.format(2, "deux .") + MARKED.format(1, "un .") + MARKED.format(9, "neuf .")
    unit = "<trans-unit id='1'><source>{}</source><seg-source>{}</seg-source><target>{}</target></trans-unit>"
    xliff = "<xliff version='1.2'><file><body>{}</body></file></xliff>"

    def read(target):
        text = xliff.format(unit.format("one . two . three .", inside.format(source), target))
        return pairs_of(tmp_path, text, format="xliff")

    pairs, told = read(inside.format(target))
    assert pairs == [("one .", "un ."), ("two .", "deux ."), ("three .", "")]
    place = "(the first in trans-unit '1', line 1)"
    assert told == [
        "of 3 segments: 1 of a target that have no source segment with their mid, and are not read "
        f"{place}; 1 without a translation, whose target is empty {place}"
    ]
    assert read("")[0] == [("one .", ""), ("two .", ""), ("three .", "")]
    assert read("un . deux . trois .")[0] == [("one . two . three .", "un . deux . trois .")]
    only_target = unit.format(
        "one . two .", "one . two .", MARKED.format(1, "un.") + MARKED.format(2, "deux.")
    )
    assert pairs_of(tmp_path, xliff.format(only_target), format="xliff")[0] == [("one . two .", "un. deux.")]


def test_texts_outside_of_segments_are_counted(tmp_path):
    one, two, again = MARKED.format(1, "one"), MARKED.format(2, "two"), MARKED.format(1, "three")
    unit = "<trans-unit id='{}'><source>s</source><seg-source>{}</seg-source><target>{}</target></trans-unit>"
    units = [
        unit.format("u1", f"{one} {two}", f"{one}<x id='1'/> <ph>code</ph>{two}"),
        unit.format("u2", f"{one}<g id='1'> and {two}</g>", f"{one} {two}"),
        unit.format("u3", f"{one}{two}{again}", f"{again}{one}"),
    ]
    text = f"<xliff version='1.2'><file><body>{''.join(units)}</body></file></xliff>"
    pairs, told = pairs_of(tmp_path, text, format="xliff")
    first = [("one", "one"), ("two", "two")]
    assert pairs == [*first, *first, ("one", "three"), ("two", ""), ("three", "one")]
    not_read = "1 with text outside of segments, which is not read (the first in"
    assert told[0].startswith(f"of 7 segments: {not_read} trans-unit 'u2', line 1)")
    ignorable = "<ignorable id='i{}'><source>{}</source></ignorable>"
    segment = "<segment><source>a</source><target>b</target></segment>"
    unit = f"<unit>{ignorable.format(1, ' ')}{segment}{ignorable.format(2, 'x')}</unit>"
    pairs, told = pairs_of(tmp_path, f"<xliff version='2.0'>{unit}</xliff>", format="xliff")
    assert pairs == [("a", "b")]
    assert told == [f"of 1 segment: {not_read} ignorable 'i2', line 1)"]


def test_a_warning_that_is_an_error_is_not_a_damaged_file(tmp_path):
    path = write(tmp_path / "a.po", 'msgid "a"\nmsgstr ""\n')
    with pytest.raises(NmtalignWarning, match="1 without a translation"):  # tests raise all warnings
        list(read_bitext(path))


def test_text_inside_of_codes_is_counted(tmp_path):
    code = "the <ph>{x<sub>a footnote</sub>}</ph>cat <ph><sub> </sub></ph>"
    told = "1 with text inside of codes (sub), which is not read (the first in "
    unit = tu(en=code, fr="le chat"), tu(en="a <ph>{<sub/>}</ph>", fr="b")
    assert pairs_of(tmp_path, tmx(*unit)) == (
        [("the cat ", "le chat"), ("a ", "b")],
        [f"of 2 units: {told}line 4)"],
    )
    units = f"<trans-unit id='u'><source>{code}</source><target>le chat</target></trans-unit>"
    assert pairs_of(tmp_path, f"<xliff><file>{units}</file></xliff>", format="xliff") == (
        [("the cat ", "le chat")],
        [f"of 1 segment: {told}trans-unit 'u', line 1)"],
    )


def test_a_cut_off_compressed_memory_is_an_error(tmp_path):
    path = tmp_path / "a.tmx.gz"
    path.write_bytes(gzip.compress(tmx(UNIT.format("en", "a" * 5000, "fr", "b")).encode())[:-9])
    with pytest.raises(DataError, match="damaged or truncated"):
        list(read_bitext(path))


def peak_of_reading(path, count):
    """Return the highest memory, in MB, of a process that reads the file."""
    program = (  # ru_maxrss would be at least the memory of the process of the tests
        "import re, sys\n"
        "from nmtalign.text.bitext import read_bitext\n"
        f"assert sum(1 for _ in read_bitext(sys.argv[1])) == {count}\n"
        "status = open('/proc/self/status').read()\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+) kB', status)[1]) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is read from /proc")
def test_a_memory_of_forty_thousand_units_needs_no_more_memory_than_a_small_one(tmp_path):
    before, after = TMX.split("%s")
    unit = UNIT.format("en", "the black cat sleeps %d " * 4, "fr", "le chat noir dort %d " * 4)
    peaks = {}
    for count in (100, 40_000):  # 10 MB of text
        path = tmp_path / f"{count}.tmx.gz"
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
            file.write(before)
            file.writelines(unit % tuple(range(n, n + 8)) + "\n" for n in range(count))
            file.write(after)
        peaks[count] = peak_of_reading(path, count)
    assert peaks[40_000] < peaks[100] + 5, peaks


@pytest.mark.parametrize("format", ["xliff", "po", "fast-align"])
def test_where_sides_have_fixed_places_none_can_be_chosen(tmp_path, format):
    with pytest.raises(UsageError, match="cannot be chosen"):
        list(read_bitext(write(tmp_path / "a", "x ||| y\n"), format=format, select=("en", "fr")))


def test_undecodable_lines_keep_their_place(tmp_path):
    for side, lines in (("a", b"x\n\xff\nz\n\xfe\n"), ("b", b"1\n2\n\xff\n\xfd\n")):
        (tmp_path / side).write_bytes(lines)
    errors = []
    pairs = list(read_bitext(tmp_path / "a", tmp_path / "b", on_error=errors.append))
    assert pairs == [("x", "1"), ("", ""), ("", ""), ("", "")]
    assert ["a, line 2" in str(errors[0]), "b, line 3" in str(errors[1]), len(errors)] == [True, True, 3]


def test_every_format_is_read_here():
    assert set(PAIR_FILE_FORMATS) == {
        "moses",
        "fast-align",
        "tsv",
        "csv",
        "po",
        "po-fuzzy",
        "parquet",
        *WRITERS,
    }


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
@pytest.mark.parametrize("header", ["source{}target", "the cat{}le chat"])
def test_csv_dialects(separator, header, tmp_path):
    path = tmp_path / "a.csv"
    rows = [header, '"a, b{0} c"{0}"x ""y"", z"', "the dog{}le chien"]
    path.write_text("".join(f"{row}\n" for row in rows).replace("{}", separator).replace("{0}", separator))
    expected = [(f"a, b{separator} c", 'x "y", z'), ("the dog", "le chien")]
    found = [tuple(pair) for pair in read_bitext(path)]
    assert found[-2:] == expected
    assert len(found) == (2 if header.startswith("source") else 3)


def test_damaged_rows_do_not_hide_the_separator(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id;source;target\n1;a, cat;un chat\n2;a;b;c\n3;a dog;un chien\n4\n")
    problems: list[DataError] = []
    pairs = [tuple(pair) for pair in read_bitext(path, on_error=problems.append)]
    assert pairs == [("a, cat", "un chat"), ("", ""), ("a dog", "un chien"), ("", "")]
    assert [str(problem).split(":")[0] for problem in problems] == [f"{path}, line {n}" for n in (3, 5)]


@pytest.mark.parametrize("encoding", ["UTF-16LE", "utf_16_be", "utf-32le", "U16"])
def test_other_names_of_wide_encodings(encoding, tmp_path):
    files = tmp_path / "a.en", tmp_path / "a.fr"
    for path, text in zip(files, ("the cat\na dog\n", "le chat\nun chien\n"), strict=True):
        path.write_bytes(text.encode(encoding))
    found = [tuple(pair) for pair in read_bitext(*files, encoding=encoding)]
    assert found == [("the cat", "le chat"), ("a dog", "un chien")]


@pytest.mark.parametrize(
    "record",
    [
        {"en": "the cat", "fr": "le chat", "id": 3},
        {"translation": {"en": "the cat", "fr": "le chat"}},
        {"src": "the cat", "tgt": "le chat"},
        {"tgt": "le chat", "src": "the cat"},
        {"source": "the cat", "target": "le chat", "en": "no"},
    ],
)
def test_usual_keys_of_json_lines_need_no_choice(record, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record) + "\n")
    assert [tuple(pair) for pair in read_bitext(path)] == [("the cat", "le chat")]


@pytest.mark.parametrize("ending", ["xlf", "xliff", "sdlxliff", "mqxliff", "mxliff"])
def test_xliff_of_translation_tools_is_known_by_its_ending(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    path.write_text(
        '<xliff version="1.2" xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0"><file><body>'
        '<trans-unit id="1"><source><g id="1">the</g> <x id="2"/>cat</source>'
        '<seg-source><mrk mtype="seg" mid="1">no</mrk></seg-source>'
        '<target><mrk mtype="seg" mid="1">le chat</mrk></target></trans-unit></body></file></xliff>'
    )
    assert [tuple(pair) for pair in read_bitext(path)] == [("the cat", "le chat")]
