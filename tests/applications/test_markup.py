"""Projection of markup: segments by hand, laws on random markup, and the parsers of Python as judges."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.applications.linked_pairs import LinkedLines, LinkedPair
from nmtalign.applications.markup import MAX_TAG_DEPTH, find_tags, matched_offsets, parse_markup
from nmtalign.applications.placing import split_line
from nmtalign.applications.projection import project_line
from nmtalign.errors import DataError
from nmtalign.names import MARKUP_FORMATS
from tests.cli.running import run

SEGMENTS = Path(__file__).with_name("projected_segments.tsv")


def project(tagged, source, target, links=(), format="xml", split=False):
    pair = LinkedPair(
        words(source), words(target), na.Alignment(links, len(words(source)), len(words(target)))
    )
    return project_line(tagged, LinkedLines(source, target, pair), format, split=split).text


def words(line):
    return [word for word in line.split(" ") if word]


# --- by hand -------------------------------------------------------------------------------------


class Segment(NamedTuple):
    format: str
    split: str
    source: str
    target: str
    links: str
    tagged: str
    expected: str


def segments() -> list[Segment]:
    _, *lines = SEGMENTS.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [Segment(*line.split("\t")) for line in lines]


@pytest.mark.parametrize("segment", segments(), ids=lambda segment: segment.tagged)
@pytest.mark.filterwarnings("ignore:.*no linked word")
def test_segments_by_hand(segment):
    pair = segment.source, segment.target, segment.links
    split = segment.split == "yes"
    assert na.project([pair], [segment.tagged], format=segment.format, split=split) == [segment.expected]


def test_there_are_a_hundred_segments_of_each_kind():
    assert len(segments()) >= 100
    assert {segment.format for segment in segments()} == set(MARKUP_FORMATS)
    assert sum(segment.split == "yes" for segment in segments()) >= 5


@pytest.mark.parametrize(
    ("format", "line", "message"),
    [
        ("xml", "<b>a", "expected </b> before the end of the line; write <b/> for an element without"),
        ("xml", "a<br>", "expected </br> before the end of the line; write <br/>, or choose the format html"),
        ("xml", "a</b>", "expected no closing tag, found </b>"),
        ("xml", "<b><i>a</b></i>", "expected </i>, found </b>; tags must be nested"),
        ("xml", "<B>a</b>", "expected </B>, found </b>"),
        ("xml", "a<!-- x", "expected --> after <!--; where <!-- is text, write &lt;"),
        ("xml", "a<?x", "expected \\?> after <\\?"),
        ("xml", "<![CDATA[a]]>", "found a CDATA section; write its < and & as"),
        ("xml", "<!ENTITY x 'y'>a", "found a declaration"),
        ("html", "<!DOCTYPE html>a", "found a declaration"),
        ("html", "a</br>", "expected no closing tag, found </br>"),
        ("html", "<script>a", "expected </script> before the end"),
        ("html", "<b><p>a</i>", "expected </b>, found </i>"),
        ("xliff", "<ph>a", "expected </ph> before the end"),
    ],
)
def test_markup_that_is_not_nested_is_refused(format, line, message):
    with pytest.raises(DataError, match=message):
        parse_markup(line, format)


@pytest.mark.parametrize(
    ("line", "advice"),
    [("<a b>the", "write &lt;, and quote"), ("&nbsp;the", "write &lt;"), ("The", "'The'$")],
)
def test_another_text_is_refused(line, advice):
    with pytest.raises(DataError, match=f"expected the source words with tags; word 0 is 'the', .*{advice}"):
        project(line, "the", "la")


def test_a_target_with_markup_is_refused():
    with pytest.raises(DataError, match="expected a target line without tags, found '<b>'"):
        project("a", "a", "x <b>y</b>")
    with pytest.raises(DataError, match="expected a target line whose < is not taken for a tag"):
        project("""a <i c='"'>b</i>""", "a b", '<a " b', {(1, 2)}, format="html")


def test_the_command_splits_and_keeps_spaces(capsys, tmp_path):
    contents = {"s": "not here ", "t": "  ne  là pas", "l": "0-0 0-2 1-1", "tags": "<b>not</b> here<br>"}
    for name, line in contents.items():
        (tmp_path / name).write_text(f"{line}\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in contents]
    arguments = ("project", *files[:3], "--tags", files[3], "--tags-format", "html", "--quiet")
    assert run(*arguments, "--split") == 0
    assert run(*arguments) == 0
    assert capsys.readouterr().out == "  <b>ne</b>  là <b>pas</b><br>\n  <b>ne  là pas</b><br>\n"


def test_the_command_names_the_line_of_the_target_that_has_tags(capsys, tmp_path):
    for name, lines in {"s": "a\na", "t": "b\n<i>b</i>", "l": "0-0\n0-0", "tags": "a\n<u>a</u>"}.items():
        (tmp_path / name).write_text(f"{lines}\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("s", "t", "l", "tags")]
    assert run("project", *files[:3], "--tags", files[3], "-o", str(tmp_path / "o")) == 3
    assert "t, line 2: expected a target line without tags, found '<i>'" in capsys.readouterr().err


# --- laws ----------------------------------------------------------------------------------------

texts = st.text(st.sampled_from("aB1é.,«»\"'’-–!。 \u00a0\t  "), max_size=20)
OPENINGS = {
    "xml": ("<b>", '<a title="x > y">', "<ns:i k='\"'>"),
    "html": ("<b>", "<A href=/x/>", '<i title="</b>" x>'),
    "xliff": ("<g id='1'>", "<mrk mtype='x'>", "<pc id='2'>"),
}
EMPTY = {
    "xml": ("<br/>", "<!-- <b> -->", "<?x <b>?>", '<ph id="1" />'),
    "html": ("<br>", "<!-- <b> -->", '<img alt="<b>">', "<script>'<b>'</script>"),
    "xliff": ("<x id='1'/>", "<ph id='1'>&lt;b></ph>", "<bx id='1'/>"),
}


@st.composite
def marked(draw, text, format, depth=3):
    """Return a text with elements and placeholders between its characters."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return text
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    parts = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        inner = draw(marked(text[start:end], format, depth - 1))
        kind = draw(st.sampled_from(["text", "element", "empty"]))
        if kind == "element":
            opening = draw(st.sampled_from(OPENINGS[format]))
            inner = f"{opening}{inner}</{re.match('[^ >]*', opening[1:])[0]}>"
        elif kind == "empty":
            inner = draw(st.sampled_from(EMPTY[format])) + inner
        parts.append(inner)
    return "".join(parts)


def tags_of(line, format):
    return sorted(line[tag.start : tag.end] for tag in find_tags(line, format))


class HtmlText(HTMLParser):
    """The text of HTML by the parser of the standard library."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.text, self.hidden = "", False

    def handle_starttag(self, tag, attributes):
        self.hidden = tag == "script"

    def handle_endtag(self, tag):
        self.hidden = False

    def handle_data(self, data):
        self.text += "" if self.hidden else data


def text_by_other_parser(line, format):
    """Return the text without markup, by a parser of the standard library."""
    if format == "html":
        parser = HtmlText()
        parser.feed(line)
        parser.close()
        return parser.text
    root = ElementTree.fromstring(f"<line xmlns:ns='x'>{line}</line>")
    for code in root.iter("ph"):
        code.text = ""
    return "".join(root.itertext())


@pytest.mark.parametrize("format", MARKUP_FORMATS)
@given(data=st.data())
def test_the_text_is_that_of_the_other_parser(format, data):
    text = data.draw(texts)
    line = data.draw(marked(text, format))
    assert parse_markup(line, format).text == text
    assert text_by_other_parser(line, format) == text


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("format", MARKUP_FORMATS)
@given(data=st.data())
def test_only_markup_is_added_to_the_target(format, split, data):
    source, target = data.draw(texts), data.draw(texts)
    cells = [(s, t) for s in range(len(words(source))) for t in range(len(words(target)))]
    links = data.draw(st.frozensets(st.sampled_from(cells))) if cells else frozenset()
    line = data.draw(marked(source, format))
    projected = project(line, source, target, links, format, split)
    assert parse_markup(projected, format).text == target  # also: the tags are nested
    assert text_by_other_parser(projected, format) == target
    if split:
        assert set(tags_of(projected, format)) == set(tags_of(line, format))
        placeholders = [tag for tag in tags_of(line, format) if tag in EMPTY[format]]
        assert [tag for tag in tags_of(projected, format) if tag in EMPTY[format]] == placeholders
    else:
        assert tags_of(projected, format) == tags_of(line, format)


PAIRED_CODES = (("<bx id='{}'/>", "<ex id='{}'/>"), ("<sc id='{}'/>", "<ec startRef='{}'/>"))


@pytest.mark.parametrize("split", [False, True])
@given(data=st.data())
def test_codes_that_overlap_are_kept_and_end_after_their_start(split, data):
    source, target = data.draw(texts), data.draw(texts)
    tagged = data.draw(marked(source, "xliff"))
    pieces = re.findall("<ph.*?</ph>|<[^>]*>|[^<]", tagged)
    codes = []
    for number in range(2):
        opening, closing = (tag.format(f"c{number}") for tag in PAIRED_CODES[data.draw(st.integers(0, 1))])
        start = data.draw(st.integers(0, len(pieces)))
        end = data.draw(st.integers(start, len(pieces)))
        pieces = [*pieces[:start], opening, *pieces[start:end], closing, *pieces[end:]]
        codes.append((opening, closing))
    tagged = "".join(pieces)
    cells = [(s, t) for s in range(len(words(source))) for t in range(len(words(target)))]
    links = data.draw(st.frozensets(st.sampled_from(cells))) if cells else frozenset()
    projected = project(tagged, source, target, links, "xliff", split)
    assert parse_markup(projected, "xliff").text == target
    assert text_by_other_parser(projected, "xliff") == target
    if not split:
        assert tags_of(projected, "xliff") == tags_of(tagged, "xliff")
    for opening, closing in codes:
        assert projected.count(opening) == projected.count(closing) >= 1
        assert projected.index(opening) < projected.index(closing)


@given(data=st.data())
def test_links_of_equal_words_change_nothing(data):
    text = data.draw(texts)
    atoms = split_line(text).atoms
    line = ""
    open_tags = []
    position = 0
    for atom in atoms:  # an element begins at the start of an atom and ends at the end of one
        line += text[position : atom.start]
        for _ in range(data.draw(st.integers(0, 2))):
            tag = data.draw(st.sampled_from(["<b>", "<i>", "<x/>"]))
            line += tag
            if tag != "<x/>":
                open_tags.append(tag)
        line += text[atom.start : atom.end]
        while open_tags and data.draw(st.booleans()):
            line += open_tags.pop().replace("<", "</")
        position = atom.end
    line += "".join(tag.replace("<", "</") for tag in reversed(open_tags)) + text[position:]
    links = {(n, n) for n in range(len(words(text)))}
    for split in (False, True):
        assert project(line, text, text, links, split=split) == line


@given(texts, st.data())
def test_spaces_and_escapes_need_not_agree(text, data):
    escaped = "".join(f"&#{ord(c)};" if c != " " and data.draw(st.booleans()) else c for c in text)
    spaced = "".join(c + " " * data.draw(st.integers(0, 1)) for c in text if c != " ")
    offset = matched_offsets(escaped, spaced, "xml")
    assert offset(len(escaped)) == len(text.replace(" ", ""))
    assert matched_offsets(f"{escaped}a", spaced, "xml") is None


@given(texts)
def test_atoms_are_all_characters_but_the_spaces(text):
    line = split_line(text)
    assert "".join(text[start:end] for start, end in line.atoms) == text.replace(" ", "")
    numbers = [n for word in line.words for n in (*word.lead, word.middle, *word.trail)]
    assert numbers == list(range(len(line.atoms)))


# --- bounds --------------------------------------------------------------------------------------

FEW, MANY = 200, 2_000
MAX_RATIO = 25  # of their times: 10 is linear, 100 is quadratic

LONG_LINES = {
    "long name": lambda n: f"<{'a' * n}",
    "slashes": lambda n: f"<a{' /' * n}",
    "starts of tags": lambda n: "<a " * n,
    "quotes": lambda n: "<a '\" " * n,
    "quotes across tags": lambda n: """<a "<a ' """ * n,
    "elements without spaces": lambda n: "<b>w</b>" * n,
    "placeholders": lambda n: f"word {'<br/>' * n}",
    "placeholders and words": lambda n: f"{'<br/>w ' * n}",
    "elements": lambda n: f"<i>{'<b>w </b>' * n}</i> w",
    "elements in elements": lambda n: f"<i>{'<b><u>w</u></b>' * n}</i>",
    "escapes": lambda n: "&amp;" * n,
    "marks": lambda n: f"{'.' * n}x<b>y</b>{'.' * n}",
}


def seconds_of_projection(line, count, split):
    """Return the time that the processor takes to project a line onto many words, and the result."""
    format = "html"  # attributes may have all characters
    source, target = parse_markup(line, format).text, " ".join(["t"] * count)
    star = {(0, n) for n in range(count)} if words(source) else set()
    start = time.process_time()
    projected = project(line, source, target, star, format, split)
    return time.process_time() - start, projected


@pytest.mark.parametrize("kind", LONG_LINES)
def test_long_lines_take_linear_time(kind):
    few, many = (LONG_LINES[kind](count) for count in (FEW, MANY))
    for split in (False, True):
        short = min(seconds_of_projection(few, FEW, split)[0] for _ in range(2))
        long, projected = seconds_of_projection(many, MANY, split)
        if long > MAX_RATIO * short:  # other programs may have taken the time
            long = min(seconds_of_projection(many, MANY, split)[0] for _ in range(3))
        assert long < MAX_RATIO * short
        if not split:
            assert tags_of(projected, "html") == tags_of(many, "html")


def test_deep_markup_is_refused():
    deep = MAX_TAG_DEPTH - 1
    assert project(f"{'<b>' * deep}w{'</b>' * deep}", "w", "x", {(0, 0)}).count("<b>") == deep
    many = "<li>w " * 2 * deep
    assert project(many, "w " * 2 * deep, "x", {(0, 0)}, format="html").count("<li>") == 2 * deep
    for format in MARKUP_FORMATS:
        with pytest.raises(DataError, match="at most 100 deep"):
            parse_markup("<b>" * 5000 + "the" + "</b>" * 5000, format)
    with pytest.raises(DataError, match="at most 100 deep"):
        parse_markup("".join(f"<bx id='{n}'/>" for n in range(5000)), "xliff")
