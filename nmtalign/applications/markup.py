"""Inline markup: the text of a line of XML, HTML or XLIFF, its elements, and files of segments with tags.

Markup is copied, never interpreted: no entity is expanded and no attribute is changed. What does not have
the form of a tag, such as ``1 < 2``, is text. The time is proportional to the length of the line, which the
parsers of the standard library do not guarantee.

Files of segments can also have links, where tools keep what they do not know: in a TMX file, in a ``prop`` of
the unit, whose type ``x-alignment:en:fr`` names the languages; in XLIFF 1.2, in the attribute
``nmtalign:links`` of the target, or of the marked segment in it; in XLIFF 2, in an annotation of the target.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element as XmlElement

from nmtalign.errors import DataError, OnError, UsageError
from nmtalign.files.compressed import open_binary
from nmtalign.files.sniffing import HEAD_BYTES
from nmtalign.files.xml_files import XmlPart, declared_encoding, split_at_elements
from nmtalign.names import MarkupFormat
from nmtalign.text.punctuation import ENTITY
from nmtalign.text.xml_bitexts import (
    UNITS,
    ElementPair,
    Unit,
    languages_of_memory,
    pairs_of_memory,
    pairs_of_segments,
    texts_of_pair,
    unit_limits,
)

MAX_TAG_DEPTH = 100  # tags inside each other

# HTML elements that have no end tag, those whose end tag may be omitted, and those that contain no text
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_OPTIONAL_END = frozenset(
    ("p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup")
)
_RAW = frozenset(("script", "style"))
# XLIFF elements that contain codes of the original file instead of text, and pairs of empty elements
_CODES = frozenset(("ph", "bpt", "ept", "it", "ut"))
_END_OF_CODE = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
_START_OF_CODE = {end: start for start, end in _END_OF_CODE.items()}

# Groups are atomic, (?>...), where a repetition must not be tried again with less: before Python 3.11.5, the
# possessive (...)*+ also matches a part of a group. The last group is empty where the tag is not complete.
_TAG = re.compile(r"""<(/?)([^\W\d][\w:.-]*+)(?=[\s/>])((?>(?:[^<>"']++|"[^"]*+"|'[^']*+')*))(>?)""")
_DECLARATION = re.compile("<![A-Za-z]")
_XML_ATTRIBUTES = re.compile(r"""(?>(?:\s++[^\s=<>"'/&]++\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'))*)\s*+/?""")
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]++)\s*+=\s*+("[^"]*+"|'[^']*+')""")
_SELF_CLOSING = re.compile(r"""(?:^|[\s"'])/$""")
_XML_ENTITY = re.compile("&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_HTML_ENTITY = re.compile(ENTITY)


class Tag(NamedTuple):
    """The characters from `start` up to `end` of a line are markup; an empty tag is an element of its own."""

    start: int
    end: int
    kind: Literal["open", "close", "empty"]
    name: str
    attributes: str


@dataclass
class Element:
    """An element around the characters from `start` up to `end` of a text, or a placeholder around none."""

    name: str
    opening: str
    start: int
    end: int
    closing: str = ""
    children: list[Element] = field(default_factory=list)
    overlaps: bool = False  # a paired code that starts in one element and ends in another one


class MarkedText(NamedTuple):
    """A text, and a nameless element around all of it, which contains the elements of its markup.

    The paired codes in `overlapping` start in one element and end in another one.
    """

    text: str
    root: Element
    overlapping: list[Element]


# --- tags ----------------------------------------------------------------------------------------


def find_tags(line: str, format: MarkupFormat) -> Iterator[Tag]:
    """Yield the tags, comments and processing instructions of a line.

    >>> [line[tag.start : tag.end] for line in ['a <br> < b<img alt=">">'] for tag in find_tags(line, "html")]
    ['<br>', '<img alt=">">']
    """
    position = line.find("<")
    while position >= 0:
        tag = _tag_at(line, position, format)
        if isinstance(tag, Tag):
            yield tag
            position = line.find("<", tag.end)
        else:
            position = line.find("<", tag)


def _tag_at(line: str, start: int, format: MarkupFormat) -> Tag | int:
    """Return the tag that begins at a character, or where the search for tags goes on."""
    if line.startswith("<!--", start):
        return _empty_until(line, start, start + 4, "-->")
    if line.startswith("<?", start):
        return _empty_until(line, start, start + 2, "?>")
    if line.startswith("<![CDATA[", start):
        raise DataError("expected text, found a CDATA section; write its < and & as &lt; and &amp;")
    if _DECLARATION.match(line, start):
        raise DataError("expected tags and text, found a declaration; remove the part that begins with <!")
    match = _TAG.match(line, start)
    if match is None:
        return start + 1
    slash, name, attributes, complete = match.groups()
    if not complete or (format != "html" and not _XML_ATTRIBUTES.fullmatch(attributes)):
        return match.end()
    name = name.lower() if format == "html" else name
    tag = Tag(start, match.end(), "open", name, attributes)
    if slash:
        return tag._replace(kind="close") if not attributes.strip() else match.end()
    if _SELF_CLOSING.search(attributes) or (format == "html" and name in _VOID):
        return tag._replace(kind="empty")
    has_no_text = name in _RAW if format == "html" else format == "xliff" and _local(name) in _CODES
    if has_no_text:
        return _with_content(line, tag)
    return tag


def _empty_until(line: str, start: int, content: int, ending: str) -> Tag:
    """Return a comment or a processing instruction."""
    end = line.find(ending, content)
    if end < 0:
        opening = line[start:content]
        raise DataError(f"expected {ending} after {opening}; where {opening} is text, write &lt; for <")
    return Tag(start, end + len(ending), "empty", "", "")


def _with_content(line: str, tag: Tag) -> Tag:
    """Return an element whose content is not text as one placeholder."""
    end_tag = re.compile(rf"</{re.escape(tag.name)}\s*+>", re.IGNORECASE).search(line, tag.end)
    if end_tag is None:
        raise DataError(f"expected </{tag.name}> before the end of the line")
    return tag._replace(end=end_tag.end(), kind="empty")


def _local(name: str) -> str:
    """Return a name without the prefix of its namespace."""
    return name.rpartition(":")[2]


# --- elements ------------------------------------------------------------------------------------


def parse_markup(line: str, format: MarkupFormat) -> MarkedText:
    """Return the text of a line without its markup, and its elements; DataError if these are not nested.

    >>> text, root, _ = parse_markup('the <b class="x">house</b>, <br/>here', "xml")
    >>> text, [(element.name, element.start, element.end) for element in root.children]
    ('the house, here', [('b', 4, 9), ('br', 11, 11)])
    """
    builder = _Builder(format)
    parts: list[str] = []
    length = 0
    position = 0
    for tag in find_tags(line, format):
        parts.append(line[position : tag.start])
        length += tag.start - position
        builder.add(tag, line[tag.start : tag.end], length)
        position = tag.end
    parts.append(line[position:])
    text = "".join(parts)
    return MarkedText(text, builder.finish(len(text)), builder.overlapping)


class _Builder:
    """Builds the tree of elements from one tag after the other."""

    def __init__(self, format: MarkupFormat) -> None:
        self._format = format
        self._path = [Element("", "", 0, 0)]  # the elements that are open
        self._codes: list[tuple[str, str] | None] = [None]  # their kinds and ids, if they are paired codes
        self._isolated: dict[tuple[str, str], Element] = {}
        self.overlapping: list[Element] = []

    def add(self, tag: Tag, markup: str, position: int) -> None:
        """Add a tag at a character of the text."""
        if tag.kind == "close":
            self._close(tag, markup, position)
            return
        code = self._code_of(tag)
        if code is not None and _local(tag.name) in _START_OF_CODE:
            self._end_code(tag, code, markup, position)
            return
        if tag.kind == "open" and tag.name == self._path[-1].name and self._may_stay_open():
            self._pop_placeholder()  # such as <li> after an <li> without an end tag
        element = Element(tag.name, markup, position, position)
        self._path[-1].children.append(element)
        if tag.kind == "open" or code is not None:
            self._path.append(element)
            self._codes.append(code)
            if len(self._path) > MAX_TAG_DEPTH:
                raise DataError(f"expected tags at most {MAX_TAG_DEPTH} deep inside each other")

    def finish(self, length: int) -> Element:
        """Return the element around a text, after its last tag."""
        while self._may_stay_open():
            self._pop_placeholder()
        root, *unclosed = self._path
        if unclosed:
            name = unclosed[-1].name
            advice = f"write <{name}/> for an element without content, and &lt; where < is text"
            if name.lower() in _VOID:
                advice = f"write <{name}/>, or choose the format html"
            raise DataError(f"expected </{name}> before the end of the line; {advice}")
        root.end = length
        return root

    def _close(self, tag: Tag, markup: str, position: int) -> None:
        """Close the element that was opened last."""
        while self._path[-1].name != tag.name and self._may_stay_open():
            self._pop_placeholder()
        element = self._path[-1]
        if element.name != tag.name or len(self._path) == 1:
            expected = f"</{element.name}>" if element.name else "no closing tag"
            raise DataError(f"expected {expected}, found </{tag.name}>; tags must be nested")
        self._pop(markup, position)

    def _end_code(self, tag: Tag, code: tuple[str, str], markup: str, position: int) -> None:
        """Close a paired code; one whose start is in another segment is a placeholder."""
        while self._codes[-1] not in (None, code) and code in self._codes:
            self._pop_placeholder()
        if self._codes[-1] == code:
            self._pop(markup, position)
        elif code in self._codes:
            self._overlap(self._take_open(self._codes.index(code)), markup, position)
        elif code in self._isolated:
            self._overlap(self._isolated.pop(code), markup, position)
        else:
            self._path[-1].children.append(Element(tag.name, markup, position, position))

    def _take_open(self, depth: int) -> Element:
        """Take an open code off the path; its parent gets what it contains."""
        element = self._path.pop(depth)
        self._codes.pop(depth)
        self._path[depth - 1].children += element.children
        element.children = []
        return element

    def _overlap(self, element: Element, markup: str, position: int) -> None:
        """Close a code that ends in another element, or after a code that started later."""
        element.overlaps = True
        element.closing = markup
        element.end = position
        self.overlapping.append(element)

    def _code_of(self, tag: Tag) -> tuple[str, str] | None:
        """Return the kind and the id of a paired code of XLIFF, the same for its start and its end."""
        name = _local(tag.name)
        if self._format != "xliff" or name not in _END_OF_CODE.keys() | _START_OF_CODE.keys():
            return None
        values = {name: value[1:-1] for name, value in _ATTRIBUTE.findall(tag.attributes)}
        given = (values.get(key) for key in ("startRef", "rid", "id", "i"))
        return _START_OF_CODE.get(name, name), next((value for value in given if value is not None), "")

    def _may_stay_open(self) -> bool:
        """Return whether the element that was opened last needs no end."""
        is_optional = self._format == "html" and self._path[-1].name in _OPTIONAL_END
        return is_optional or self._codes[-1] is not None

    def _pop(self, closing: str, position: int) -> None:
        element = self._path.pop()
        self._codes.pop()
        element.closing = closing
        element.end = position

    def _pop_placeholder(self) -> None:
        """Make a placeholder of an element without an end; what it contains goes after it."""
        element = self._path.pop()
        code = self._codes.pop()
        if code is not None:
            self._isolated[code] = element
        self._path[-1].children += element.children
        element.children = []


# --- the text and another version of it ----------------------------------------------------------


def matched_offsets(text: str, plain: str, format: MarkupFormat) -> Callable[[int], int] | None:
    """Return a function from the characters of a text with escapes to those of a plain text.

    Characters are counted without the spaces, which need not agree. The escapes may be the same in both.
    None is returned if the texts have different characters.

    >>> offset = matched_offsets("R&amp;D works", "R & D works", "xml")
    >>> offset(7), offset(8)
    (3, 3)
    """
    wanted = plain.replace(" ", "")
    starts = [offset for offset, character in enumerate(text) if character != " "]
    if text.replace(" ", "") != wanted:
        characters: list[str] = []
        starts = []
        for offset, decoded in _decoded(text, _HTML_ENTITY if format == "html" else _XML_ENTITY):
            characters.append(decoded)
            starts += [offset] * len(decoded)
        if "".join(characters) != wanted:
            return None
    return lambda offset: bisect_left(starts, offset)


def _decoded(text: str, entity: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield the characters of a text without spaces, and where they are; entities are decoded."""
    position = 0
    for match in entity.finditer(text):
        yield from _characters(text, position, match.start())
        decoded = html.unescape(match[0])
        yield match.start(), decoded.replace("\n", " ").replace(" ", "")
        position = match.end()
    yield from _characters(text, position, len(text))


def _characters(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for offset in range(start, end):
        if text[offset] != " ":
            yield offset, text[offset]


# --- segments of files, with tags ----------------------------------------------------------------


_PREFIX, _NAMESPACE = "nmtalign", "urn:nmtalign"
_LINKS_NAME = f"{_PREFIX}:links"  # the name of an attribute, or the type of an annotation


class TaggedSegments:
    """The segments of a TMX or XLIFF file, which is written again with tags in targets, or with links.

    Read :meth:`pairs` to their end, and call :meth:`set_target` or :meth:`set_links` after some of them:
    `write` gets the parts of the file, in which only these targets, or their links, are replaced.
    """

    def __init__(
        self,
        path: str | Path,
        format: str,
        select: tuple[str, str] | None,
        write: Callable[[bytes], object],
    ) -> None:
        if str(path) == "-" or Path(path).is_fifo():
            raise UsageError(f"{path}: expected a file, which is read twice, not a pipe; save it as a file")
        self._path, self._format, self._select = path, format, select
        self._encoding = _encoding_of(path)
        self._write = write
        self._part: XmlPart | None = None  # whose targets may be replaced
        self._replaced: list[tuple[slice, str]] = []
        self._pair: ElementPair | None = None
        self._number = 0  # of the pair

    def pairs(self, on_error: OnError) -> Iterator[tuple[str, str]]:
        """Yield the texts of each pair, as `read_bitext` does; damage of the file is raised."""
        read = pairs_of_memory if self._format == "tmx" else pairs_of_segments
        for pair in read(self._units(), self._path, self._select):
            self._number += 1
            if isinstance(pair, DataError):  # a unit without a source
                self._pair = None
                on_error(pair)
                yield "", ""
            else:
                self._pair = pair
                yield texts_of_pair(pair)

    def _units(self) -> Iterator[Unit]:
        names, head = UNITS[self._format]
        parts = split_at_elements(self._path, names, unit_limits(), root=self._format, head=head)
        for part in parts:
            self._finish_part()
            self._part = part
            if part.element is not None:
                yield part.line, part.element
        self._finish_part()

    def _finish_part(self) -> None:
        if self._part is None:
            return
        parts = [self._part.before]
        position = 0
        for content, target in sorted(self._replaced, key=lambda replaced: replaced[0].start):
            parts += self._part.text[position : content.start], target.encode()
            position = content.stop
        parts.append(self._part.text[position:])
        text = b"".join(parts).decode()
        self._write(text.encode(self._encoding, "xmlcharrefreplace"))
        self._part = None
        self._replaced.clear()

    @property
    def tagged_source(self) -> str | None:
        """The source of the pair with its tags; None without tags, also if it has comments or CDATA."""
        source = None if self._pair is None else _inside_of_marker(self._pair[0])
        return self._content(0) if source is not None and len(source) else None

    @property
    def plain_target(self) -> str | None:
        """The target of the pair with its line breaks; None if it has tags, or no text."""
        content = self._content(1)
        if content is None or "<" in content or self._pair is None:
            return None
        target = _inside_of_marker(self._pair[1])
        return target.text if target is not None and (target.text or "").strip() else None

    def set_target(self, text: str) -> None:
        """Replace the content of the target of the pair, which is XML."""
        assert self._part is not None
        assert self._pair is not None
        target = _inside_of_marker(self._pair[1])
        assert target is not None
        content = self._part.contents[target]
        if b"\r\n" in self._part.text:  # the parser of XML reads these line ends as plain ones
            text = text.replace("\n", "\r\n")
        self._replaced.append((content, text))

    @property
    def line(self) -> int | None:
        """The line in which the unit of the pair begins."""
        return None if self._part is None else self._part.line

    @property
    def links(self) -> str | None:
        """The links of the pair in the file, as a Pharaoh line; None without any."""
        holder = self._holder_of_links()
        if holder is None:
            return None
        return holder.text if holder.tag == "prop" else holder.get(_attribute_of(holder))

    def set_links(self, line: str) -> None:
        """Put links of the pair into the file; they replace those that it has."""
        if self._part is None or self._part.element is None or self._pair is None:
            return
        contents = self._part.contents
        holder = self._holder_of_links()
        target = _inside_of_marker(self._pair[1])
        if holder is not None and holder.tag == "prop":
            place, tag = self._opening_tag(holder)
            if tag.endswith("/>"):
                name = tag[1:].split(maxsplit=1)[0]
                self._replaced.append((place, f"{tag[:-2]}>{line}</{name}>"))
            else:
                self._replaced.append((contents[holder], line))
        elif holder is not None:
            self._set_attribute(holder, line)
        elif line and self._format == "tmx":
            start = contents[self._part.element].start
            self._replaced.append((slice(start, start), f'<prop type="{self.type_of_prop}">{line}</prop>'))
        elif line and target is not None and self._part.element.tag == "segment":
            name = f"{self._prefix_of(target)}mrk"
            mark = f'<{name} id="links-{self._number}" type="{_LINKS_NAME}" value="{line}">'
            content = self._part.text[contents[target]].decode()
            self._replaced.append((contents[target], f"{mark}{content}</{name}>"))
        elif line and target is not None:
            self._set_attribute(target, line)

    @cached_property
    def type_of_prop(self) -> str:
        """The type of the props of a TMX file that have links."""
        languages = languages_of_memory(self._path, self._select)
        return ":".join(("x-alignment", *map(str, languages)))

    def _holder_of_links(self) -> XmlElement | None:
        """Return the element of the file that has the links of the pair."""
        if self._part is None or self._part.element is None or self._pair is None:
            return None
        if self._format == "tmx":
            props = self._part.element.findall("prop")
            return next((prop for prop in props if prop.get("type") == self.type_of_prop), None)
        target = _inside_of_marker(self._pair[1])
        if target is None or target.get(_LINKS_NAME) is not None or target.get("type") == _LINKS_NAME:
            return target
        return next((mark for mark in target.findall("mrk") if mark.get("type") == _LINKS_NAME), None)

    def _opening_tag(self, element: XmlElement) -> tuple[slice, str]:
        """Return the place and the text of the opening tag of an element."""
        assert self._part is not None
        end = self._part.contents[element].start
        start = self._part.text.rindex(b"<", 0, end)
        return slice(start, end), self._part.text[start:end].decode()

    def _prefix_of(self, element: XmlElement) -> str:
        """Return the prefix of the name of an element, with its colon: that of its namespace."""
        name = self._opening_tag(element)[1].split(maxsplit=1)[0].strip("<>")
        prefix, colon, _ = name.rpartition(":")
        return prefix + colon

    def _set_attribute(self, element: XmlElement, line: str) -> None:
        """Put links into the opening tag of an element of XLIFF."""
        place, tag = self._opening_tag(element)
        name = _attribute_of(element)
        tag = re.sub(rf"""\s{name}\s*=\s*(?:"[^"]*"|'[^']*')""", "", tag)
        is_declared = name == "value" or f"xmlns:{_PREFIX}" in tag
        declaration = "" if is_declared else f' xmlns:{_PREFIX}="{_NAMESPACE}"'
        end = "/>" if tag.endswith("/>") else ">"
        self._replaced.append((place, f'{tag.removesuffix(end)}{declaration} {name}="{line}"{end}'))

    def _content(self, side: int) -> str | None:
        """Return the XML inside of a side of the pair; None without one."""
        element = None if self._pair is None else _inside_of_marker(self._pair[side])
        if element is None or element.tag == "tuv" or self._part is None:
            return None
        return self._part.text[self._part.contents[element]].decode().replace("\r\n", "\n")


def _attribute_of(element: XmlElement) -> str:
    """Return the name of the attribute that has the links of an element of XLIFF."""
    return "value" if element.get("type") == _LINKS_NAME else _LINKS_NAME


def _encoding_of(path: str | Path) -> str:
    with open_binary(path) as file:
        head = file.read(HEAD_BYTES)
    try:
        return declared_encoding(head)
    except DataError as error:
        raise error.at(path, line=1) from None


def _inside_of_marker(side: XmlElement | None) -> XmlElement | None:
    """Return the marked segment, or the annotation with links, that is all of a side, or the side."""
    if side is None or len(side) != 1 or (side.text or "").strip() or (side[0].tail or "").strip():
        return side
    is_marker = side[0].get("mtype") == "seg" or side[0].get("type") == _LINKS_NAME
    return side[0] if side[0].tag == "mrk" and is_marker else side
