"""Elements of XML files, read one by one: translation memories, localization files.

Entities are never expanded and no DTD is fetched, so that a small file can neither grow to gigabytes
in memory nor include other files.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html.entities import html5
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nmtalign.errors import DataError, error_text
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary
from nmtalign.files.file_signatures import check_readable

_XML_BLOCK_BYTES = 1 << 16
_CHARS_PER_ELEMENT = 100  # the characters that an element counts as
# Encodings that write markup as plain bytes; not utf-7, unicode_escape and the like
_SAFE_ENCODINGS = r"utf-?(8|16)|(us-)?ascii|iso-?8859-\d+|latin-?1|(windows-?|cp)\d+|koi8-[ru]"


@dataclass(frozen=True)
class XmlLimits:
    """Limits of the elements that are read from an XML file."""

    what: str  # the noun for an element, with its article, such as "a unit"
    max_chars: int
    max_depth: int


class _ElementBuilder:
    """Builds the elements with certain names from an XML file, and drops everything around them."""

    def __init__(self, names: Collection[str], limits: XmlLimits) -> None:
        self._names = names
        self._limits = limits
        self.root = ""
        self.done: list[tuple[int, Element]] = []
        self.name = ""  # of the element that is being built
        self._builder: TreeBuilder | None = None
        self._line = self._depth = self._size = 0
        self._path: list[str] = []  # the open elements around it
        self._encoding: str | None = None  # that is declared
        self._start_parser(None, lines=0)

    def _start_parser(self, encoding: str | None, *, lines: int) -> None:
        self.parser = expat.ParserCreate(encoding)
        self._lines_before = lines
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.XmlDeclHandler = self._check_declaration
        self.parser.EntityDeclHandler = _refuse_entity
        self.parser.SkippedEntityHandler = _refuse_entity

    @property
    def line(self) -> int:
        """The line of the file that the parser has reached."""
        return self._lines_before + self.parser.CurrentLineNumber

    def restart(self, lines: int) -> int:
        """Begin after a bad element, of which nothing is kept; return the bytes that the new parser was fed.

        A new parser is inside of the same elements. `lines` is the number of lines before.
        """
        path, self._path = self._path, []
        self._builder, self.name = None, ""
        encoding = self._encoding or "utf-8"
        self._start_parser(encoding, lines=lines)
        opening = "".join(f"<{name}>" for name in path).encode(encoding)
        self.parser.Parse(opening, False)
        return len(opening)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        full_name, name = name, name.rpartition(":")[2]
        self.root = self.root or name
        if self._builder is None and name in self._names:
            self._builder, self._line, self.name = TreeBuilder(), self.line, name
            self._depth = self._size = 0
        elif self._builder is None:
            self._path.append(full_name)
        if self._builder is not None:
            self._depth += 1
            if self._depth > self._limits.max_depth:
                raise DataError(f"expected elements nested at most {self._limits.max_depth} deep")
            self._grow(_CHARS_PER_ELEMENT + sum(map(len, (name, *attributes, *attributes.values()))))
            self._builder.start(name, attributes)

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
            self._builder.end(name.rpartition(":")[2])
            self._depth -= 1
            if not self._depth:
                self.done.append((self._line, self._builder.close()))
                self._builder, self.name = None, ""
        else:
            self._path.pop()

    def _check_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        self._encoding = encoding
        if encoding is not None and not re.fullmatch(_SAFE_ENCODINGS, encoding, re.IGNORECASE):
            raise DataError(f"expected a common encoding such as UTF-8, found {encoding[:40]!r}")


def _refuse_entity(name: str, *_: object) -> None:
    raise DataError(f"the XML entity {name[:40]!r} is not expanded; write out its text")


def iter_elements(
    path: str | Path,
    names: Collection[str],
    limits: XmlLimits,
    *,
    root: str | None = None,
    replaced: Collection[str] = (),
) -> Iterator[tuple[int, Element | DataError]]:
    """Yield the elements with these names, and their lines; only one block of the file is in memory.

    A damaged element, or one that breaks a limit, is replaced by its DataError if its name is one of
    `replaced`; what follows its end is read. Otherwise the error is raised. DataError is also raised if there
    is no such element and the file has another root element than `root`.
    """
    elements = _ElementBuilder(names, limits)
    find_edge = re.compile(
        rb"<(?:/(?:[\w.-]+:)?(?:%b)\s*>|(?=(?:[\w.-]+:)?(?:%b)[\s/>]))" % ((_alternatives(names),) * 2)
    ).search
    stream = open_binary(path)
    count = 0
    lines = fed = 0  # lines of the file, and bytes of the parser, before the block
    try:
        block = stream.read(_XML_BLOCK_BYTES)
        try:
            check_readable(block, expected="XML", may_be_xml=True)
        except DataError as error:
            raise error.at(path) from None
        is_wide = b"\0" in block[:4] or block[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        while True:
            problem = None
            try:
                elements.parser.Parse(block, not block)
            except (expat.ExpatError, DataError) as error:
                is_expat = isinstance(error, expat.ExpatError)
                index = elements.parser.ErrorByteIndex if is_expat else elements.parser.CurrentByteIndex
                place = max(0, index - fed)
                problem = _describe(error, block, place) if isinstance(error, expat.ExpatError) else error
                problem = problem.at(path, line=elements.line)
            count += len(elements.done)
            yield from elements.done
            elements.done.clear()
            if problem is not None:
                if elements.name not in replaced or is_wide:
                    raise problem
                count += 1
                yield elements.line, problem
                while (edge := find_edge(block, place)) is None:  # up to the end of the element
                    rest = block[max(place, len(block) - _MAX_TAG_BYTES) :]
                    lines += block.count(b"\n") - rest.count(b"\n")
                    more = stream.read(_XML_BLOCK_BYTES)
                    if not more:
                        raise problem
                    block, place = rest + more, 0
                end = edge.start() if edge.end() == edge.start() + 1 else edge.end()
                lines += block.count(b"\n", 0, end)
                fed = elements.restart(lines)
                block = block[end:]
                continue
            if not block:
                break
            fed += len(block)
            lines += block.count(b"\n")
            block = stream.read(_XML_BLOCK_BYTES)
        if root is not None and not count and elements.root != root:
            expected = f"expected a file with the root element <{root}>"
            raise DataError(f"{expected}, found <{elements.root}>").at(path)
    except DECOMPRESSION_ERRORS as error:
        damaged = f"the compressed file is damaged or truncated ({error_text(error)})"
        raise DataError(damaged).at(path) from None
    except (LookupError, ValueError) as error:  # a wrong encoding, or a DataError
        if isinstance(error, DataError):
            raise
        reason = f"the declared encoding cannot be read ({error}); correct the declaration in line 1"
        raise DataError(reason).at(path) from None
    finally:
        if str(path) != "-":
            stream.close()


def _alternatives(names: Collection[str]) -> bytes:
    return "|".join(map(re.escape, names)).encode()


_MAX_TAG_BYTES = 200  # a tag that is split between two blocks is found if it is shorter
_ENTITY = re.compile(r"&#?[\w.:-]{1,40};?")
_INVALID_TOKEN, _UNDEFINED_ENTITY, _BAD_CHARACTER = (
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


def _describe(error: expat.ExpatError, block: bytes, place: int) -> DataError:
    """Return the error of a parser, with what it found at a place of a block and what to do about it."""
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
