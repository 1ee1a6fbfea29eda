"""Dictionaries in XML: JMdict, FreeDict's TEI, bilingual dictionaries of Apertium (.dix).

The root element tells the format. Entities are not expanded: those that JMdict declares for its remarks, such
as ``&n;``, are left out, and a file with any other declaration is refused. No DTD is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nmtalign.dictionaries.entries import Entry, Record, Wanted, check_size, without_empty
from nmtalign.errors import DataError, error_text
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary

MAX_ENTRY_CHARS = 1 << 20  # characters of an entry; an element counts as 100
MAX_DEPTH = 100  # elements nested in an entry
MAX_ENTITY_CHARS = 200  # of the text that JMdict declares for a remark
_BLOCK = 1 << 16
# Encodings whose bytes mean what they say; not utf-7, unicode_escape and the like.
_ENCODINGS = re.compile(
    r"utf-?(8|16)|(us-)?ascii|iso-?8859-\d+|latin-?1|(windows-?|cp)\d+|koi8-[ru]|euc-jp", re.I
)


class _Elements:
    """Builds the elements of one name out of an XML file, and drops everything around them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.done: list[tuple[int, Element]] = []
        self._builder: TreeBuilder | None = None
        self._line = self._depth = self._size = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.XmlDeclHandler = _check_declaration
        self.parser.EntityDeclHandler = _check_entity
        self.parser.DefaultHandler = _ignore  # with it, entities are not expanded in text

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if self._builder is None and name == self._name:
            self._builder, self._line = TreeBuilder(), self.parser.CurrentLineNumber
            self._depth = self._size = 0
        if self._builder is not None:
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise DataError(f"expected elements nested at most {MAX_DEPTH} deep")
            self._grow(100 + sum(map(len, (name, *attributes, *attributes.values()))))
            self._builder.start(name, attributes)

    def _data(self, text: str) -> None:
        if self._builder is not None:
            self._grow(len(text))
            self._builder.data(text)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_ENTRY_CHARS:
            raise DataError(f"expected at most {MAX_ENTRY_CHARS:,} characters in an entry")

    def _end(self, name: str) -> None:
        if self._builder is not None:
            self._builder.end(name.rpartition(":")[2])
            self._depth -= 1
            if not self._depth:
                self.done.append((self._line, self._builder.close()))
                self._builder = None


def _ignore(data: str) -> None:
    """Drop what no other handler takes: comments, declarations, entities."""


def _check_declaration(version: str, encoding: str | None, standalone: int) -> None:
    if encoding is not None and not _ENCODINGS.fullmatch(encoding):
        raise DataError(f"expected a common encoding such as UTF-8, found {encoding[:40]!r}")


def _check_entity(
    name: str, is_parameter: int, value: str | None, base: str | None, system: str | None, *_: object
) -> None:
    """Refuse an entity that could grow or that is in another file; attributes expand entities."""
    is_short = value is not None and len(value) <= MAX_ENTITY_CHARS and "&" not in value and "%" not in value
    if is_parameter or system is not None or not is_short:
        raise DataError(f"the XML entity {name[:40]!r} is not expanded; write out its text")


def _elements(path: str | Path, name: str) -> Iterator[tuple[int, Element]]:
    """Yield the elements of a name with their lines; memory holds one block of the file."""
    elements = _Elements(name)
    stream = open_binary(path)
    try:
        while True:
            block = stream.read(_BLOCK)
            elements.parser.Parse(block, not block)
            yield from elements.done
            elements.done.clear()
            if not block:
                break
    except DECOMPRESSION_ERRORS as error:
        raise DataError(f"the compressed file is damaged or cut off ({error_text(error)})").at(path) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, DataError):
            raise error.at(path, line=elements.parser.CurrentLineNumber) from None
        raise DataError(f"the declared encoding cannot be read ({error})").at(path) from None
    except expat.ExpatError as error:
        problem = DataError(f"expected well-formed XML ({expat.ErrorString(error.code)})")
        raise problem.at(path, line=error.lineno) from None
    finally:
        stream.close()


def _texts(element: Element, path: str) -> list[str]:
    """Return the texts of the elements at a path that have any."""
    return without_empty("".join(found.itertext()) for found in element.iterfind(path))


def _jmdict_entry(line: int, element: Element) -> Entry:
    headwords = _texts(element, "k_ele/keb") + _texts(element, "r_ele/reb")
    return Entry(line, headwords, _texts(element, "sense/gloss"))


def _tei_entry(line: int, element: Element) -> Entry:
    return Entry(line, _texts(element, "form//orth"), list(_tei_translations(element)))


def _tei_translations(element: Element) -> Iterator[str]:
    """Yield the translations of an entry or sense, in TEI P5 or P4; those of examples are left out."""
    for child in element:
        name, kind = child.tag, child.get("type")
        if name == "cit" and kind in ("trans", "translation"):
            yield from _texts(child, "quote")
        elif name in ("tr", "trans") and name == "tr":
            yield "".join(child.itertext())
        elif name in ("sense", "trans", "hom", "entry", "gramGrp"):
            yield from _tei_translations(child)


def _dix_entry(line: int, element: Element) -> Entry:
    pair = element.find("p")
    same = "".join(_dix_text(part) for part in element.findall("i"))
    left, right = (None, None) if pair is None else (pair.find("l"), pair.find("r"))
    texts = [same + ("" if part is None else _dix_text(part)) for part in (left, right)]
    return Entry(line, without_empty(texts[:1]), without_empty(texts[1:]), 1.0, True)


def _dix_text(element: Element) -> str:
    """Return the words of a side, without the symbols of their grammar; ``<b/>`` is a space."""
    pieces = [element.text or ""]
    for child in element:
        inner = " " if child.tag in ("b", "j") else "" if child.tag == "s" else _dix_text(child)
        pieces += [inner, child.tail or ""]
    return "".join(pieces).replace("\n", " ")


class XmlFormat(NamedTuple):
    """A format by its root element."""

    name: str
    element: str  # the name of the element of an entry
    read: Callable[[int, Element], Entry]
    needs_headword: bool = True


_TEI = XmlFormat("tei", "entry", _tei_entry)
XML_FORMATS = {
    "JMdict": XmlFormat("jmdict", "entry", _jmdict_entry),
    "TEI": _TEI,
    "TEI.2": _TEI,
    "dictionary": XmlFormat("dix", "e", _dix_entry, needs_headword=False),
}
_ROOT = re.compile(rb"<\s*(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]")
_NO_ROOT = re.compile(rb"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)


def xml_format(head: bytes) -> XmlFormat | None:
    """Return the format of an XML file by its first bytes; a DataError if it is of another kind.

    JMdict begins with a long DTD, whose name is that of the root element.
    """
    doctype = re.search(rb"<!DOCTYPE\s+([\w.-]+)", head)
    found = doctype or _ROOT.search(_NO_ROOT.sub(b"", head))
    if found is None:
        return None
    root = found[1].decode("ascii", "replace")
    if root not in XML_FORMATS:
        known = ", ".join(XML_FORMATS)
        raise DataError(f"expected a dictionary in XML with one of the root elements {known}, found <{root}>")
    return XML_FORMATS[root]


def read_xml(path: str | Path, chosen: XmlFormat, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of a dictionary in XML."""
    for line, element in _elements(path, chosen.element):
        entry = chosen.read(line, element)
        if not entry.headwords and chosen.needs_headword:
            yield DataError("expected a headword, found none").at(path, line=line)
        elif entry.glosses and any(map(wanted, entry.headwords)):
            checked = check_size(entry)
            yield checked.at(path, line=line) if isinstance(checked, DataError) else checked
        else:
            yield None
