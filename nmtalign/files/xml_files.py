"""Elements of XML files, read one by one: translation memories, localization files.

Entities are never expanded and no DTD is fetched, so that a small file can neither grow to gigabytes
in memory nor include other files.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html.entities import html5
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nmtalign.errors import DataError, error_text
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary
from nmtalign.files.sniffing import XML, check_readable

_XML_BLOCK_BYTES = 1 << 16
_CHARS_PER_ELEMENT = 100  # the characters that an element counts as
_MAX_BYTES_PER_CHAR = 8  # of a unit that is written again, with its entities and comments
# Encodings that write markup as plain bytes; not utf-7, unicode_escape and the like
_SAFE_ENCODINGS = r"utf-?(8|16)|(us-)?ascii|iso-?8859-\d+|latin-?1|(windows-?|cp)\d+|koi8-[ru]"


@dataclass(frozen=True)
class XmlLimits:
    """Limits of the elements that are read from an XML file."""

    what: str  # the noun for an element, with its article, such as "a unit"
    max_chars: int
    max_depth: int


_XmlError = expat.ExpatError | DataError  # a DataError is about an entity, or about a limit


class _TagError(DataError):
    """There are too many open elements, or one has a name that is too long."""


class _Damage(NamedTuple):
    """Damage of a file, which goes on up to the end of what `find_end` finds after a place."""

    find_end: Callable[[bytes, int], re.Match[bytes] | None]
    place: int
    is_reported: bool = True


class _ElementBuilder:
    """Builds the elements with certain names from an XML file, and drops everything around them."""

    def __init__(self, names: Collection[str], limits: XmlLimits, head: str | None) -> None:
        self._names = names
        self._limits = limits
        self._head = head
        alternatives = "|".join(map(re.escape, names)).encode()
        # the end of an element, or the place where another one begins
        self._find_edge = re.compile(
            rb"</(?:[\w.-]+:)?(?:%b)\s*>|(?=<(?:[\w.-]+:)?(?:%b)[\s/>])" % (alternatives, alternatives)
        ).search
        self.root = ""
        self.done: list[tuple[int, Element]] = []
        self.name = ""  # of the element that is being built
        self._builder: TreeBuilder | None = None
        self._line = self._depth = self._size = 0
        self._path: list[str] = []  # the open elements around it
        self._is_past_damage = False  # whether a tag around the elements may have been lost
        self._is_closed = False  # whether the end of the root was found past damage
        self._in_cdata = False
        self._encoding: str | None = None  # that is declared
        # where the tags of the elements in a unit begin, in bytes: kept if the file is written again
        self.tags: dict[Element, tuple[int, int]] | None = None
        self.start_parser(None, lines=0)

    def start_parser(self, encoding: str | None, *, lines: int) -> None:
        self.parser = expat.ParserCreate(encoding)
        self._lines_before = lines
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartCdataSectionHandler = partial(setattr, self, "_in_cdata", True)
        self.parser.EndCdataSectionHandler = partial(setattr, self, "_in_cdata", False)
        self.parser.XmlDeclHandler = self._check_declaration
        self.parser.EntityDeclHandler = _refuse_entity
        self.parser.SkippedEntityHandler = _refuse_entity

    @property
    def line(self) -> int:
        """The line of the file that the parser has reached."""
        return self._lines_before + self.parser.CurrentLineNumber

    def restart(self, lines: int) -> int:
        """Begin after damage; return the bytes that the new parser was fed.

        Nothing is kept of an element that is being built. A new parser is inside of the same elements around
        it. `lines` is the number of lines before.
        """
        path, self._path = self._path, []
        self._builder, self.name, self._in_cdata = None, "", False
        encoding = self._encoding or "utf-8"
        self.start_parser(encoding, lines=lines)
        opening = "".join(f"<{name}>" for name in path).encode(encoding)
        self.parser.Parse(opening, False)
        self.done.clear()  # of a head that is open
        return len(opening)

    def damage(self, error: _XmlError, block: bytes, place: int) -> _Damage | None:
        """Return how damage at a place is skipped; None if reading must stop.

        In an element, it is skipped up to the end of this element, or the beginning of another one. Around
        the elements, a bad character or entity is skipped up to the next tag. Where a tag was lost, the end
        tags of other elements do not match, and are skipped alone.
        """
        if self.name:
            return _Damage(self._find_edge, place)
        if not self._path or isinstance(error, _TagError):
            return None
        code = None if isinstance(error, DataError) else error.code  # a DataError is about an entity
        if code == _TAG_MISMATCH and self._is_past_damage:
            name = _ELEMENT_NAME.match(block, place)
            self._leave("" if name is None else name[0].decode("utf-8", "replace"))
            return _Damage(_find_end_of_tag, place, is_reported=False)
        if code is not None and code not in _BAD_TEXT:
            return None
        self._is_past_damage = True
        find_end = _find_tag
        if self._in_cdata:
            find_end = _find_end_of_cdata
        elif block.rfind(b"<!--", 0, place) > block.rfind(b"-->", 0, place):
            find_end = _find_end_of_comment
        return _Damage(find_end, place + 1)

    def _leave(self, name: str) -> None:
        """Close the innermost element of this name, and those inside it; the root stays open."""
        if name in self._path[1:]:
            del self._path[len(self._path) - 1 - self._path[::-1].index(name) :]
        elif name == self._path[0]:
            del self._path[1:]
            self._is_closed = True

    def is_complete(self, error: _XmlError) -> bool:
        """Return whether an error at the end only says that the root is open, whose end was found."""
        return self._is_closed and isinstance(error, expat.ExpatError) and error.code in _INCOMPLETE

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        full_name, name = name, name.rpartition(":")[2]
        self.root = self.root or name
        if self._builder is None and name == self._head:
            self.done.append((self.line, Element(name, attributes)))
        if self._builder is None and name in self._names:
            self._builder, self._line, self.name = TreeBuilder(), self.line, name
            self._depth = self._size = 0
        elif self._builder is None:
            if len(self._path) >= self._limits.max_depth or len(full_name) > _MAX_TAG_BYTES:
                limits = f"{self._limits.max_depth} deep, with names of at most {_MAX_TAG_BYTES} characters"
                raise _TagError(f"expected elements nested at most {limits}")
            self._path.append(full_name)
        if self._builder is not None:
            self._depth += 1
            if self._depth > self._limits.max_depth:
                raise DataError(f"expected elements nested at most {self._limits.max_depth} deep")
            self._grow(_CHARS_PER_ELEMENT + sum(map(len, (name, *attributes, *attributes.values()))))
            element = self._builder.start(name, attributes)
            if self.tags is not None:
                self.tags[element] = (self.parser.CurrentByteIndex, 0)

    def _data(self, text: str) -> None:
        if self._builder is not None:
            self._grow(len(text))
            self._builder.data(text)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._limits.max_chars:
            raise DataError(f"expected at most {self._limits.max_chars:,} characters in {self._limits.what}")

    def _end(self, name: str) -> None:
        if self._builder is not None:
            element = self._builder.end(name.rpartition(":")[2])
            if self.tags is not None:
                self.tags[element] = (self.tags[element][0], self.parser.CurrentByteIndex)
            self._depth -= 1
            if not self._depth:
                self.done.append((self._line, self._builder.close()))
                self._builder, self.name = None, ""
        else:
            self._path.pop()

    def _check_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        self._encoding = encoding
        if encoding is not None:
            _check_encoding(encoding)


def _check_encoding(name: str) -> None:
    if not re.fullmatch(_SAFE_ENCODINGS, name, re.IGNORECASE):
        raise DataError(f"expected a common encoding such as UTF-8, found {name[:40]!r}")


def _refuse_entity(name: str, *_: object) -> None:
    raise DataError(f"the XML entity {name[:40]!r} is not expanded; write out its text")


def iter_elements(
    path: str | Path,
    names: Collection[str],
    limits: XmlLimits,
    *,
    root: str,
    head: str | None = None,
) -> Iterator[tuple[int, Element | DataError]]:
    """Yield the elements with these names, and their lines; only one block of the file is in memory.

    The element `head` is yielded without its content. A damaged element, or one that breaks a limit, is
    replaced by its DataError, and what follows its end is read. A DataError is also yielded for a bad
    character or entity around the elements. All other damage is raised, and so is a DataError if there is no
    such element and the file has another root element than `root`.
    """
    elements = _ElementBuilder(names, limits, head)
    count = 0
    with _errors_of_file(path), _open_stream(path) as stream:
        file = _XmlFile(path, stream)
        while True:
            error = file.parse(elements)
            count += len(elements.done)
            yield from elements.done
            elements.done.clear()
            if error is None and file.block:
                file.read_block()
                continue
            if error is None or (not file.block and elements.is_complete(error)):
                break
            damage = elements.damage(error, file.block, file.place)
            problem = _describe(error, file.block, file.place).at(path, line=elements.line)
            if damage is None or file.is_wide:
                raise problem
            if damage.is_reported:
                count += 1
                yield elements.line, problem
            if not file.skip(damage):
                raise problem
            file.begin(elements)
        if not count and elements.root != root:
            expected = f"expected a file with the root element <{root}>"
            raise DataError(f"{expected}, found <{elements.root}>").at(path)


class XmlPart(NamedTuple):
    """An element of a file, and the bytes of UTF-8 of this element and of what is before it.

    `contents` are the parts of `text` between the tags of each element inside; elements without an end tag
    have none. The last part of a file has no element.
    """

    line: int
    element: Element | None
    before: bytes
    text: bytes
    contents: dict[Element, slice]


def declared_encoding(head: bytes) -> str:
    """Return the encoding of an XML file by its first bytes; DataError if it is not a common one."""
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return name
    declaration = _XML_DECLARATION.match(head)
    name = "utf-8" if declaration is None else declaration[1].decode("ascii")
    _check_encoding(name)
    return name


def split_at_elements(
    path: str | Path,
    names: Collection[str],
    limits: XmlLimits,
    *,
    root: str,
    head: str | None = None,
) -> Iterator[XmlPart]:
    """Yield all bytes of a well-formed file, in UTF-8, with its elements that have these names.

    One element and one block of the file are in memory. The element `head` comes without bytes. DataError
    is raised for damage, and if the file has another root element than `root`.
    """
    elements = _ElementBuilder(names, limits, head)
    tags: dict[Element, tuple[int, int]] = {}
    elements.tags = tags
    elements.start_parser("utf-8", lines=0)
    rest = bytearray()  # read, and not yet yielded
    max_bytes = _MAX_BYTES_PER_CHAR * limits.max_chars
    passed = 0  # bytes before the rest
    with _errors_of_file(path), _open_stream(path) as stream:
        for data, is_last in _blocks_as_utf8(stream, path):
            rest += data
            try:
                elements.parser.Parse(data, is_last)
            except (expat.ExpatError, DataError) as error:
                place = max(0, elements.parser.ErrorByteIndex - passed)
                raise _describe(error, bytes(rest), place).at(path, line=elements.line) from None
            for line, element in elements.done:
                if element not in tags:
                    yield XmlPart(line, element, b"", b"", {})
                    continue
                part, end = _part_of(line, element, tags, rest, passed)
                yield part
                del rest[:end]
                passed += end
            elements.done.clear()
            if elements.root not in ("", root):
                expected = f"expected a file with the root element <{root}>"
                raise DataError(f"{expected}, found <{elements.root}>").at(path)
            if is_last:
                break
            if not elements.name and (complete := elements.parser.CurrentByteIndex - passed) > 0:
                yield XmlPart(elements.line, None, bytes(rest[:complete]), b"", {})
                del rest[:complete]
                passed += complete
            if len(rest) > max_bytes:
                found = f"expected at most {max_bytes:,} bytes in {limits.what}, with its comments"
                raise DataError(found).at(path, line=elements.line)
    yield XmlPart(elements.line, None, bytes(rest), b"", {})


def _blocks_as_utf8(stream: BinaryIO, path: str | Path) -> Iterator[tuple[bytes, bool]]:
    """Yield the blocks of a file in UTF-8, and whether each is the last one, which is empty."""
    block = stream.read(_XML_BLOCK_BYTES)
    check_readable(block, expected="XML", readable=(XML,))
    encoding = declared_encoding(block)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = 1
    while True:
        try:
            data = decoder.decode(block, not block).encode()
        except UnicodeDecodeError as error:
            lines += error.object[: error.start].decode(encoding, "replace").count("\n")
            found = f"found the byte 0x{error.object[error.start]:02x}"
            advice = "convert the file, or correct its encoding in line 1"
            raise DataError(f"expected {encoding} text, {found}; {advice}").at(path, line=lines) from None
        lines += data.count(b"\n")
        yield data, not block
        if not block:
            return
        block = stream.read(_XML_BLOCK_BYTES)


def _part_of(
    line: int, element: Element, tags: dict[Element, tuple[int, int]], text: bytearray, passed: int
) -> tuple[XmlPart, int]:
    """Return the part of an element, and its end in `text`, which begins after the bytes `passed`."""
    start = tags[element][0] - passed
    contents = {inner: _content(text, passed, *tags.pop(inner)) for inner in element.iter()}
    start_of_content, end = contents[element].start, contents[element].stop
    if start_of_content < end or not text.endswith(b"/>", 0, end):  # it has an end tag
        end = text.index(b">", end) + 1
    for inner, content in contents.items():
        contents[inner] = slice(content.start - start, content.stop - start)
    return XmlPart(line, element, bytes(text[:start]), bytes(text[start:end]), contents), end


def _content(text: bytearray, passed: int, start: int, end: int) -> slice:
    """Return the content of an element whose tags begin at bytes of the file."""
    opening = _OPENING_TAG.match(text, start - passed)
    assert opening is not None
    return slice(opening.end(), max(opening.end(), end - passed))


class _XmlFile:
    """A file, of which one block is in memory."""

    def __init__(self, path: str | Path, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines = self._fed = 0  # lines of the file, and bytes of the parser, before the block
        self.place = 0  # where the parser found damage in the block
        self.block = stream.read(_XML_BLOCK_BYTES)
        check_readable(self.block, expected="XML", readable=(XML,))
        has_mark = self.block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        self.is_wide = has_mark or b"\0" in self.block[:4]

    def read_block(self) -> None:
        self._fed += len(self.block)
        self._lines += self.block.count(b"\n")
        self.block = self._stream.read(_XML_BLOCK_BYTES)

    def parse(self, elements: _ElementBuilder) -> _XmlError | None:
        """Parse the block, which is empty at the end of the file; return the damage that stops the parser."""
        parser = elements.parser
        try:
            parser.Parse(self.block, not self.block)
        except expat.ExpatError as error:
            self.place = max(0, parser.ErrorByteIndex - self._fed)
            return error
        except DataError as error:
            self.place = max(0, parser.CurrentByteIndex - self._fed)
            return error
        return None

    def skip(self, damage: _Damage) -> bool:
        """Drop what comes before the end of damage; return whether the file has this end."""
        place = damage.place
        while (edge := damage.find_end(self.block, place)) is None:
            rest = self.block[max(place, len(self.block) - _MAX_TAG_BYTES) :]
            self._lines += self.block.count(b"\n") - rest.count(b"\n")
            more = self._stream.read(_XML_BLOCK_BYTES)
            if not more:
                return False
            self.block, place = rest + more, 0
        self._lines += self.block.count(b"\n", 0, edge.end())
        # an empty block is the end of the file
        self.block = self.block[edge.end() :] or self._stream.read(_XML_BLOCK_BYTES)
        return True

    def begin(self, elements: _ElementBuilder) -> None:
        """Parse the block by a new parser."""
        self._fed = elements.restart(self._lines)


@contextmanager
def _open_stream(path: str | Path) -> Iterator[BinaryIO]:
    stream = open_binary(path)
    try:
        yield stream
    finally:
        if str(path) != "-":
            stream.close()


@contextmanager
def _errors_of_file(path: str | Path) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except DECOMPRESSION_ERRORS as error:
        damaged = f"the compressed file is damaged or truncated ({error_text(error)})"
        raise DataError(damaged).at(path) from None
    except DataError as error:
        raise error.at(path) from None
    except (LookupError, ValueError) as error:
        reason = f"the declared encoding cannot be read ({error}); correct the declaration in line 1"
        raise DataError(reason).at(path) from None


_XML_DECLARATION = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_OPENING_TAG = re.compile(rb"""<(?>(?:[^<>"']+|"[^"]*"|'[^']*')*)>""")
_find_tag = re.compile(rb"(?=<)").search
_find_end_of_tag = re.compile(rb">").search
_find_end_of_comment = re.compile(rb"-->").search
_find_end_of_cdata = re.compile(rb"\]\]>").search
_ELEMENT_NAME = re.compile(rb"[^\s<>/]+")
_MAX_TAG_BYTES = 200  # a tag that is split between two blocks is found if it is shorter
_ENTITY = re.compile(r"&#?[\w.:-]{1,40};?")
_TAG_MISMATCH = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]
_BAD_TEXT = _INVALID_TOKEN, _UNDEFINED_ENTITY, _BAD_CHARACTER = tuple(
    expat.errors.codes[text]
    for text in (
        expat.errors.XML_ERROR_INVALID_TOKEN,
        expat.errors.XML_ERROR_UNDEFINED_ENTITY,
        expat.errors.XML_ERROR_BAD_CHAR_REF,
    )
)
_INCOMPLETE = {
    expat.errors.codes[text]
    for text in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}
_WRONG_ENCODING = {
    expat.errors.codes[text]
    for text in (expat.errors.XML_ERROR_UNKNOWN_ENCODING, expat.errors.XML_ERROR_INCORRECT_ENCODING)
}


def _describe(error: _XmlError, block: bytes, place: int) -> DataError:
    """Return the error of a parser, with what it found at a place of a block and what to do about it."""
    if isinstance(error, DataError):
        return error
    reason = f"expected well-formed XML ({expat.ErrorString(error.code)})"
    text = block[place : place + 60].decode(errors="replace")
    entity = _ENTITY.match(text)
    if error.code == _UNDEFINED_ENTITY and entity:
        character = html5.get(entity[0][1:])
        advice = f"write &#{ord(character[0])};" if character else "write out its text"
        return DataError(f"{reason}, found {entity[0]}; {advice} in its place")
    if error.code == _BAD_CHARACTER and entity:
        return DataError(f"{reason}, found {entity[0]}, which stands for no character of XML; remove it")
    if error.code == _INVALID_TOKEN and text:
        if re.search(rb"&[\w.:#-]*\Z", block[max(0, place - 40) : place]) or text[0] == "&":
            return DataError(f"{reason}, found & in the text; write &amp; for it")
        if text[0] < " " or text[0] in "\ufffe\uffff":
            return DataError(f"{reason}, found the character U+{ord(text[0]):04X}; remove it")
        if text[0] == "\ufffd":
            byte = f"found the byte 0x{block[place]:02x}, which is not in the encoding of the file"
            return DataError(f"{reason}, {byte}; convert the file, or remove the byte")
        return DataError(f"{reason}, found {text[:20]!r}; write &lt; for < and &amp; for & in a text")
    if error.code in _INCOMPLETE:
        return DataError(f"{reason}; the file ends too early: is it complete?")
    if error.code in _WRONG_ENCODING:
        return DataError(f"{reason}; correct the encoding in line 1, or convert the file")
    return DataError(f"{reason}; correct this line")
