"""JSONL, TMX, XLIFF, PO and Parquet: a pair for each record, streamed, and nothing hostile is expanded."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.text.bitext import SentencePair, read_bitext
from nmtalign.text.readers import FORMATS

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
    with pytest.raises(DataError, match=r"line 1: expected text under the key 'source'"):
        list(read_bitext(path))


def test_tmx_languages_inline_codes_and_lines(tmp_path):
    path = write(
        tmp_path / "a.tmx",
        tmx(
            UNIT.format(
                "fr-CA", "Le <bpt i='1'>&lt;b></bpt>chat<ept i='1'/> &amp; <hi>moi</hi>", "EN", "The\ncat"
            ),
            '<tu><note>x</note><tuv lang="en-GB"><prop type="p">q</prop><seg>only</seg></tuv></tu>',
            UNIT.format("en", "<![CDATA[a < b]]>", "fr", "&#233;"),
        ),
    )
    errors = []
    pairs = [("The cat", "Le chat & moi"), ("", ""), ("a < b", "é")]
    assert list(read_bitext(path, on_error=errors.append)) == pairs
    assert len(errors) == 1
    assert "a.tmx, line 6: expected a unit in en" in str(errors[0])
    swapped = [SentencePair(b, a) for a, b in pairs]
    assert list(read_bitext(path, select=("fr", "en"), on_error=errors.append)) == swapped
    with pytest.raises(DataError, match="line 4: expected a unit in en and de, found fr-ca, en"):
        list(read_bitext(path, select=("en", "de")))
    with pytest.raises(DataError, match=r"line 4: expected two languages .* found none"):
        list(read_bitext(write(tmp_path / "b.tmx", tmx("<tu/>"))))


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
    assert list(read_bitext(write(tmp_path / "a.xlf", old))) == [("a b", "")]
    assert list(read_bitext(write(tmp_path / "b.xliff", new))) == [("a", "b"), ("c", "d")]


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
    assert list(read_bitext(write(tmp_path / "a.po", PO))) == expected
    broken = write(tmp_path / "b.po", PO.replace('msgid_plural "many"', "msgid_plural many"))
    errors = []
    assert list(read_bitext(broken, on_error=errors.append)) == [expected[0], ("", ""), expected[2]]
    assert "b.po, line 15: expected msgid" in str(errors[0])


def test_a_fuzzy_translation_is_none_by_default(tmp_path):
    message = 'msgid "{0}"\nmsgstr "{0}!"\n'
    flagged = '#, c-format, fuzzy\n#| msgid "old"\n' + message.format("guess")
    obsolete = '#, fuzzy\n#~ msgid "gone"\n#~ msgstr "parti"\n'
    text = "\n".join([message.format("a"), flagged, message.format("b"), obsolete, message.format("c")])
    path = write(tmp_path / "a.po", '#, fuzzy\nmsgid ""\nmsgstr "Language: fr\\n"\n\n' + text)
    assert list(read_bitext(path)) == [("a", "a!"), ("guess", ""), ("b", "b!"), ("c", "c!")]
    assert list(read_bitext(path, format="po-fuzzy"))[1] == ("guess", "guess!")


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
    with pytest.raises(DataError, match=r"expected a column 'source', found n, translation.en"):
        list(read_bitext(path))
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


def test_a_cut_off_compressed_memory_is_an_error(tmp_path):
    path = tmp_path / "a.tmx.gz"
    path.write_bytes(gzip.compress(tmx(UNIT.format("en", "a" * 5000, "fr", "b")).encode())[:-9])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(read_bitext(path))


def peak_of_reading(path, count):
    """Return the highest memory, in MB, of a process that reads the file."""
    program = (
        "import resource, sys\n"
        "from nmtalign.text.bitext import read_bitext\n"
        f"assert sum(1 for _ in read_bitext(sys.argv[1])) == {count}\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_a_memory_of_a_hundred_thousand_units_needs_no_more_memory_than_a_small_one(tmp_path):
    pytest.importorskip("resource")
    before, after = TMX.split("%s")
    unit = UNIT.format("en", "the black cat sleeps " * 4, "fr", "le chat noir dort " * 4)
    peaks = {}
    for count in (100, 100_000):
        path = tmp_path / f"{count}.tmx.gz"
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
            file.write(before)
            file.writelines(f"{unit}\n" for _ in range(count))
            file.write(after)
        peaks[count] = peak_of_reading(path, count)
    assert peaks[100_000] < peaks[100] + 5, peaks


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
    assert set(FORMATS) == {"moses", "fast-align", "tsv", "csv", "po", "po-fuzzy", "parquet", *WRITERS}
