"""Dictionaries in XML: JMdict, FreeDict's TEI, bilingual dictionaries of Apertium (.dix).

The root element determines the format. Entities are not expanded: those that JMdict declares for its remarks,
such as ``&n;``, are omitted, and a file with any other declaration is rejected. No DTD is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from nmtalign.dictionaries.entries import UNUSED_ENTRY, Entry, Record, Wanted, check_size, without_empty
from nmtalign.errors import DataError
from nmtalign.files.xml_files import SAFE_ENCODINGS, XmlLimits, iter_elements

MAX_ENTRY_CHARS = 1 << 20  # characters of an entry; an element counts as 100
MAX_DEPTH = 100  # elements nested in an entry
MAX_ENTITY_CHARS = 200  # characters of the text that JMdict declares for a remark
_LIMITS = XmlLimits(
    "an entry",
    max_chars=MAX_ENTRY_CHARS,
    max_depth=MAX_DEPTH,
    max_entity_chars=MAX_ENTITY_CHARS,
    encodings=f"{SAFE_ENCODINGS}|euc-jp",
)


def _texts(element: Element, path: str) -> list[str]:
    """Return the texts of the elements at a path that have any."""
    return without_empty("".join(found.itertext()) for found in element.iterfind(path))


def _jmdict_entry(line: int, element: Element) -> Entry:
    headwords = _texts(element, "k_ele/keb") + _texts(element, "r_ele/reb")
    return Entry(line, headwords, _texts(element, "sense/gloss"))


def _tei_entry(line: int, element: Element) -> Entry:
    return Entry(line, _texts(element, "form//orth"), list(_tei_translations(element)))


def _tei_translations(element: Element) -> Iterator[str]:
    """Yield the translations of an entry or sense, in TEI P5 or P4; those of examples are skipped."""
    for child in element:
        name, kind = child.tag, child.get("type")
        if name == "cit" and kind in ("trans", "translation"):
            yield from _texts(child, "quote")
        elif name == "tr":
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
    for line, element in iter_elements(path, {chosen.element}, _LIMITS):
        entry = chosen.read(line, element)
        if not entry.headwords and chosen.needs_headword:
            yield DataError("expected a headword, found none").at(path, line=line)
        elif entry.glosses and wanted(entry.headwords):
            checked = check_size(entry)
            yield checked.at(path, line=line) if isinstance(checked, DataError) else checked
        else:
            yield UNUSED_ENTRY
