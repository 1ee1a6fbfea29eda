"""Elements of XML files, read one by one: translation memories, localization files, dictionaries.

Entities are never expanded in text and no DTD is fetched, so that a small file can neither grow to gigabytes
in memory nor include other files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nmtalign.errors import DataError, error_text
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary
from nmtalign.files.file_signatures import check_readable

_XML_BLOCK_BYTES = 1 << 16
CHARS_PER_ELEMENT = 100  # the characters that an element counts as
# Encodings that write markup as plain bytes; not utf-7, unicode_escape and the like
SAFE_ENCODINGS = r"utf-?(8|16)|(us-)?ascii|iso-?8859-\d+|latin-?1|(windows-?|cp)\d+|koi8-[ru]"


@dataclass(frozen=True)
class XmlLimits:
    """Limits of the elements that are read from an XML file."""

    what: str  # the noun for an element, with its article, such as "a unit"
    max_chars: int
    max_depth: int
    # a file may declare entities of so many characters, which are omitted from the text; 0 rejects entities
    max_entity_chars: int = 0
    encodings: str = SAFE_ENCODINGS


class _ElementBuilder:
    """Builds the elements with certain names from an XML file, and drops everything around them."""

    def __init__(self, names: Collection[str], limits: XmlLimits) -> None:
        self._names = names
        self._limits = limits
        self.root = ""
        self.done: list[tuple[int, Element]] = []
        self._builder: TreeBuilder | None = None
        self._line = self._depth = self._size = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.XmlDeclHandler = self._check_declaration
        self.parser.EntityDeclHandler = self._check_entity
        if limits.max_entity_chars:
            self.parser.DefaultHandler = _ignore  # with it, entities are not expanded in text
        else:
            self.parser.SkippedEntityHandler = _refuse_entity

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        self.root = self.root or name
        if self._builder is None and name in self._names:
            self._builder, self._line = TreeBuilder(), self.parser.CurrentLineNumber
            self._depth = self._size = 0
        if self._builder is not None:
            self._depth += 1
            if self._depth > self._limits.max_depth:
                raise DataError(f"expected elements nested at most {self._limits.max_depth} deep")
            self._grow(CHARS_PER_ELEMENT + sum(map(len, (name, *attributes, *attributes.values()))))
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
                self._builder = None

    def _check_declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and not re.fullmatch(self._limits.encodings, encoding, re.IGNORECASE):
            raise DataError(f"expected a common encoding such as UTF-8, found {encoding[:40]!r}")

    def _check_entity(
        self,
        name: str,
        is_parameter: int,
        value: str | None,
        base: str | None,
        system: str | None,
        *_: object,
    ) -> None:
        """Raise DataError if an entity could grow or is in another file; attributes expand entities."""
        max_chars = self._limits.max_entity_chars
        is_internal = value is not None and system is None and not is_parameter
        if not max_chars or not is_internal or len(value or "") > max_chars:
            _refuse_entity(name)
        if "&" in (value or "") or "%" in (value or ""):  # it would expand another entity
            _refuse_entity(name)


def _ignore(data: str) -> None:
    """Drop what no other handler takes: comments, declarations, entities."""


def _refuse_entity(name: str, *_: object) -> None:
    raise DataError(f"the XML entity {name[:40]!r} is not expanded; write out its text")


def iter_elements(
    path: str | Path, names: Collection[str], limits: XmlLimits, *, root: str | None = None
) -> Iterator[tuple[int, Element]]:
    """Yield the elements with these names, and their lines; only one block of the file is in memory.

    Raises DataError if the file is damaged or breaks a limit, or if there is no such element and the file has
    another root element than `root`.
    """
    elements = _ElementBuilder(names, limits)
    stream = open_binary(path)
    count = 0
    try:
        block = stream.read(_XML_BLOCK_BYTES)
        try:
            check_readable(block, expected="XML", may_be_xml=True)
        except DataError as error:
            raise error.at(path) from None
        while True:
            elements.parser.Parse(block, not block)
            count += len(elements.done)
            yield from elements.done
            elements.done.clear()
            if not block:
                break
            block = stream.read(_XML_BLOCK_BYTES)
        if root is not None and not count and elements.root != root:
            expected = f"expected a file with the root element <{root}>"
            raise DataError(f"{expected}, found <{elements.root}>").at(path)
    except DECOMPRESSION_ERRORS as error:
        damaged = f"the compressed file is damaged or truncated ({error_text(error)})"
        raise DataError(damaged).at(path) from None
    except (LookupError, ValueError) as error:  # a wrong encoding, or a DataError
        if isinstance(error, DataError):
            raise error.at(path, line=elements.parser.CurrentLineNumber) from None
        raise DataError(f"the declared encoding cannot be read ({error})").at(path) from None
    except expat.ExpatError as error:
        problem = DataError(f"expected well-formed XML ({expat.ErrorString(error.code)})")
        raise problem.at(path, line=error.lineno) from None
    finally:
        if str(path) != "-":
            stream.close()
