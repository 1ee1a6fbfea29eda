"""What a file is, by its content: other kinds of files are named, and plain text is never refused."""

from __future__ import annotations

import warnings

import pytest

from nmtalign import DataError, read_bitext
from nmtalign.files.sniffing import check_labels, identify

ROW = "1\tle" + "\t_" * 8
SUBTITLES = "00:00:01,000 --> 00:00:02,000\nthe house\n\n2\n00:00:03,000 --> 00:00:04,000\nthe cat\n"
# the content, a part of its name, and a part of the advice
KINDS = {
    "srcset": ('<srcset setid="x">\n<doc docid="a">\n<seg id="1">the</seg>\n', "SGML", "sed -n"),
    "refset with doctype": ("<!DOCTYPE refset>\n<refset>\n<doc>\n", "SGML", "sed -n"),
    "segments": ('<seg id="1">the house</seg>\n<seg id="2">the cat</seg>\n', "SGML", "sed -n"),
    "doc": ("<corpus>\n<doc id='1'>\n<p>the house</p>\n", "XML or SGML", "plain text"),
    "xml": ('<?xml version="1.0"?>\n<book>the house</book>\n', "XML or SGML", "plain text"),
    "tmx": ('<?xml version="1.0"?>\n<tmx version="1.4"><header/>\n', "TMX", "pairs=FILE"),
    "xliff": ('<!-- x -->\n<xliff version="1.2">\n<file>\n', "XLIFF", "pairs=FILE"),
    "prefixed": ('<?xml version="1.0"?><xlf:xliff version="1.2"><file>\n', "XLIFF", "pairs=FILE"),
    "ts": ('<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS version="2.1">\n', "Qt", "lconvert"),
    "android": ("<resources>\n<string name='a'>the house</string>\n", "Android", "TSV"),
    "tbx": ('<?xml version="1.0"?><!DOCTYPE martif SYSTEM "x">\n<martif>\n', "TBX", "TSV"),
    "ces": ('<?xml version="1.0"?>\n<cesAlign version="1.0">\n<linkGrp>\n', "cesAlign", "Moses"),
    "entities": ('<!DOCTYPE x [\n<!ENTITY a "b">\n]>\n<x>\n', "XML", "plain text"),
    "json catalog": ('{\n  "title": "the house",\n  "menu": {\n', "JSON object", "keys"),
    "json whole": ('{\n"title": "the house"}', "JSON object", "keys"),
    "json lines": ('{"en": "the house"}\n{"en": "the cat"}\n', "JSON lines", "pairs=FILE"),
    "json array": ('[{"en": "the house"}, {"en": "the cat"}]\n', "JSON array", "jq"),
    "json array on lines": ('[\n  "the house",\n  "the ca', "JSON array", "jq"),
    "long json": ('{"a": "' + "the house " * 200, "JSON lines", "pairs=FILE"),
    "po": ('# x\nmsgid ""\nmsgstr ""\n"Language: fr"\n', "PO", "pairs=FILE"),
    "srt": ("1\n" + SUBTITLES, "SubRip", r"\.srt"),
    "srt without numbers": (SUBTITLES, "SubRip", r"\.srt"),
    "vtt": ("WEBVTT\n\n00:01.000 --> 00:02.000\nthe house\n", "WebVTT", r"\.vtt"),
    "ass": ("[Script Info]\nTitle: x\n", "SubStation", r"\.ass"),
    "microdvd": ("{0}{25}the house\n{30}{50}the cat\n", "MicroDVD", r"\.srt"),
    "conllu": (f"# sent_id = 1\n{ROW}\n", "CoNLL-U", r"\.conllu"),
    "conll2003": ("-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\n", "columns of CoNLL", "awk"),
    "two columns": ("He O\nlives O\nin O\nParis B-LOC\n", "columns of CoNLL", "awk"),
    "subviewer": ("0:00:01.000,0:00:02.000\nthe house\n\n", "SubViewer", r"\.srt"),
    "lyrics": ("[ti:x]\n[00:01.00]the house\n[00:02.00]the cat\n", "LRC", "sed"),
    "mpl2": ("[0][25]the house\n[30][50]the cat\n", "MicroDVD", r"\.srt"),
    "latex": ("\\documentclass{article}\n\\begin{document}\nthe house\n", "LaTeX", "detex"),
    "php": ("<?php\nreturn [\n'k' => 'the house',\n", "PHP", "TSV"),
    "strings": ('/* x */\n"title" = "the house";\n"pet" = "the cat";\n', "Apple", "TSV"),
}
# text whose lines have the form of another kind is read, with a warning
POSSIBLE_KINDS = {
    "properties": ("# x\napp.title=the house\napp.pet = the cat\napp.dog=the dog\n", "a key in", "TSV"),
    "ini": ("[menu]\ntitle=the house\npet=the cat\ndog=the dog\n", "a key in", "TSV"),
    "yaml": ('en:\n  title: "the house"\n  pet: the cat\n', "a key in", "TSV"),
    "yaml document": ("---\ntitle: the house\npet: the cat\ndog: the dog\n", "a key in", "TSV"),
    "json strings": ('"the house"\n"the cat"\n"the \\"dog\\""\n', "a JSON string", "jq"),
    "html": (
        "<p>the house</p>\n<p class='a'>the <b>cat</b></p>\n<p>the dog</p>\n",
        "an element",
        "plain text",
    ),
    "talks": ("<url>x</url>\n<title>y</title>\n<talkid>1</talkid>\nthe house\n", "an element", "plain text"),
}
SENTENCES = [
    "Anna: yes\nBob: no\nCleo: yes",
    "Note: read this\nA = b\nC: d",
    "x = 1\nx = 2\nx = 3",
    '"the house"\n"the cat',
    "[ Applause ]",
    "[1] See the annex .",
    '["Hello", he said]',
    "[",
    "{",
    "{0} of {1} files",
    "{}",
    "[]",
    "{a} + {b}",
    '{"id": 1} is an object .',
    '{"id": 1',
    "{name: the house}",
    "{\\an8}In the house.",
    "[]{",
    "<b>Hello</b> world",
    "<unk> the house",
    "<s> the cat </s>",
    "<html> is a tag",
    "< 5 %",
    "<3",
    "<br>",
    "<tmx> begins a memory",
    '<?xml version="1.0"?> is the declaration',
    "<!-- a comment",
    "<a",
    "<<",
    "<?",
    "<b><i>the</i></b>",
    "<html><head/><body><p>Yes</p></body></html>",
    "<!DOCTYPE html> is obsolete",
    "<>",
    "1",
    "12 monkeys",
    "1\n2\n3",
    "00:00:01,000",
    "10:30 --> 11:00",
    "at 00:00:01,000 --> 00:00:02,000",
    "1.",
    "WEBVTT",
    "WEBVTT is a format",
    "[Script Info] heads it",
    "msgid",
    'msgid "a"',
    "# heading",
    "#",
    '"',
    '"a" = "b"',
    "O",
    "Yes O\nNo O",
    "vitamin B-12\nthe cat",
    "%PDF files",
    "a = b",
    "-DOCSTART",
    "&nbsp;",
    "the house, the cat",
    "source, target",
    "PK",
    "a | b",
    "1-2 3-4",
    "",
    " ",
    "\t",
    "$",
    "\\",
    "//",
    "/*",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_named_with_the_way_on(kind, tmp_path):
    content, name, advice = KINDS[kind]
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path = tmp_path / "a.en"
        path.write_text(content, encoding=encoding)
        with pytest.raises(DataError, match=rf"a\.en: expected plain text, .*, found .*{name}.*; .*{advice}"):
            list(read_bitext(path, path))


@pytest.mark.parametrize("kind", POSSIBLE_KINDS)
def test_text_that_may_be_of_another_kind_is_read_with_a_warning(kind, tmp_path):
    content, name, advice = POSSIBLE_KINDS[kind]
    path = tmp_path / "a.en"
    path.write_text(content, encoding="utf-8")
    with pytest.warns(UserWarning, match=rf"a\.en: found {name} .*; .*{advice}"):
        pairs = list(read_bitext(path, path))
    assert [pair.source for pair in pairs] == content.split("\n")[:-1]


@pytest.mark.parametrize("text", SENTENCES)
def test_text_with_such_characters_is_read(text, tmp_path):
    for more in ("\n", "\nthe house\nthe <b>cat</b>\n", "\n[2] {b}\n"):
        path = tmp_path / "a.en"
        path.write_text(text + more, encoding="utf-8")
        lines = (text + more).split("\n")[:-1]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert [pair.source for pair in read_bitext(path, path)] == lines


READ = {
    "tmx": '<?xml version="1.0"?><tmx><body><tu><tuv xml:lang="en"><seg>a</seg></tuv>'
    '<tuv xml:lang="fr"><seg>b</seg></tuv></tu></body></tmx>',
    "xliff": '<xliff version="1.2"><file><body><trans-unit id="1"><source>a</source><target>b</target>'
    "</trans-unit></body></file></xliff>",
    "po": 'msgid "a"\nmsgstr "b"\n',
    "jsonl": '{"en": "a", "fr": "b"}\n',
}


@pytest.mark.parametrize("format", READ)
@pytest.mark.parametrize("name", ["a", "a.xml", "a.json"])
def test_pairs_are_read_by_their_content(format, name, tmp_path):
    path = tmp_path / name
    path.write_text(READ[format], encoding="utf-8")
    assert list(read_bitext(path)) == [("a", "b")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_not_of_pairs_is_named_too(kind, tmp_path):
    content, name, advice = KINDS[kind]
    path = tmp_path / "a.x"
    path.write_text(content, encoding="utf-8")
    if advice == "pairs=FILE":
        return
    with pytest.raises(DataError, match=rf"found .*{name}.*; .*{advice}") as raised:
        list(read_bitext(path))
    assert "pairs=FILE" not in str(raised.value)


def test_a_format_that_is_named_is_compared_with_the_content(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(READ["jsonl"], encoding="utf-8")
    with pytest.raises(DataError, match=r"expected the format tsv, found JSON lines; .*`format=jsonl`"):
        list(read_bitext(path))
    assert list(read_bitext(path, format="jsonl")) == [("a", "b")]
    path.write_text(KINDS["json array"][0], encoding="utf-8")
    with pytest.raises(DataError, match="expected the format jsonl, found a JSON array"):
        list(read_bitext(path, format="jsonl"))


def test_blank_lines_of_json_are_empty_pairs(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"en": "a", "fr": "b"}\n \n', encoding="utf-8")
    assert list(read_bitext(path)) == [("", ""), ("a", "b"), ("", "")]


def test_a_deep_head_is_no_error():
    assert identify("[" * 16_000) is None
    assert identify("<!--" * 4_000) is None


def test_labels_of_a_sentence_are_on_a_line():
    check_labels("O O B-PER\nO O O\nO O\n")
    for kind, advice in (("two columns", "awk"), ("conll2003", "awk"), ("conllu", "tags_format=conllu")):
        with pytest.raises(DataError, match=f"annotations of a sentence on each line, found .*; .*{advice}"):
            check_labels(KINDS[kind][0])
