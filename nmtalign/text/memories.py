"""Translation memories and localisation files in XML: TMX and XLIFF, streamed unit by unit.

Entities are never expanded: a file that declares one is refused, so that no small file can grow to
gigabytes in memory or reach for other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nmtalign.errors import DataError, UsageError
from nmtalign.files import DAMAGE, open_binary
from nmtalign.text.columns import Record, Select

_CODES = {"bpt", "ept", "ph", "it", "ut", "sub"}  # inside a sentence: codes of another format, not words
_BLOCK = 1 << 16
_DEEPEST = 100  # elements inside each other in a unit
LONGEST_UNIT = 1 << 22  # characters of a unit, in all languages; an element counts as 100
# Encodings whose bytes mean what they say; not utf-7, unicode_escape and the like.
_ENCODINGS = re.compile(r"utf-?(8|16)|(us-)?ascii|iso-?8859-\d+|latin-?1|(windows-?|cp)\d+|koi8-[ru]", re.I)


class _Units:
    """Builds the elements of some names out of an XML file, and drops everything around them."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.header: dict[str, str] = {}
        self.done: list[tuple[int, Element]] = []
        self._builder: TreeBuilder | None = None
        self._line = self._depth = self._size = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.XmlDeclHandler = self._declared
        self.parser.EntityDeclHandler = self._refuse
        self.parser.SkippedEntityHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name == "header":
            self.header = attributes
        if self._builder is None and name in self.names:
            self._builder, self._line, self._depth = TreeBuilder(), self.parser.CurrentLineNumber, 0
            self._size = 0
        if self._builder is not None:
            self._depth += 1
            if self._depth > _DEEPEST:
                raise DataError(f"expected elements nested at most {_DEEPEST} deep")
            self._grow(100 + sum(map(len, (name, *attributes, *attributes.values()))))
            self._builder.start(name, attributes)

    def _data(self, text: str) -> None:
        if self._builder is not None:
            self._grow(len(text))
            self._builder.data(text)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > LONGEST_UNIT:
            raise DataError(f"expected at most {LONGEST_UNIT:,} characters in a unit")

    def _end(self, name: str) -> None:
        if self._builder is not None:
            name = name.rpartition(":")[2]
            self._builder.end(name)
            self._depth -= 1
            if name in self.names:
                self.done.append((self._line, self._builder.close()))
                self._builder = None

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and not _ENCODINGS.fullmatch(encoding):
            raise DataError(f"expected a common encoding such as UTF-8, found {encoding[:40]!r}")

    def _refuse(self, name: str, *declaration: object) -> None:
        raise DataError(f"the XML entity {name!r} is not expanded; write out its text")


def _units(path: str | Path, names: set[str]) -> Iterator[tuple[int, Element, dict[str, str]]]:
    """Yield (line, element, attributes of the header) of each unit; memory holds one block of the file."""
    units = _Units(names)
    stream = open_binary(path)
    try:
        block = b"start"
        while block:
            block = stream.read(_BLOCK)
            units.parser.Parse(block, not block)
            for line, element in units.done:
                yield line, element, units.header
            units.done.clear()
    except DAMAGE as error:
        raise DataError(f"the compressed file is damaged or cut off ({error})").at(path) from None
    except (LookupError, ValueError) as error:  # of an encoding, unless it is a DataError
        if isinstance(error, DataError):
            raise error.at(path, line=units.parser.CurrentLineNumber) from None
        raise DataError(f"the declared encoding cannot be read ({error})").at(path) from None
    except expat.ExpatError as error:
        problem = DataError(f"expected well-formed XML ({expat.ErrorString(error.code)})")
        raise problem.at(path, line=error.lineno) from None
    finally:
        if str(path) != "-":
            stream.close()


def _text(element: Element | None) -> str:
    """Return the words of a sentence without the codes inside it; line ends become spaces."""
    return "" if element is None else "".join(_pieces(element)).replace("\n", " ")


def _pieces(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag not in _CODES:
            yield from _pieces(child)
        yield child.tail or ""


def read_tmx(path: str | Path, select: Select = None) -> Iterator[Record]:
    """Yield a pair for each unit of a TMX file, an error for a unit that has not both languages.

    `select` names source and target language, such as ``("en", "fr")``; ``en`` also finds ``en-CA``. By
    default it is the first two languages of the first unit, the header's source language first.
    """
    for line, unit, header in _units(path, {"tu"}):
        texts = {_language(variant): variant.find("seg") for variant in unit.findall("tuv")}
        if select is None:
            try:
                select = _first_languages(texts, header)
            except DataError as error:
                raise error.at(path, line=line) from None
        sides = [_find_language(texts, language) for language in select]
        if sides[0] is None or sides[1] is None:
            found = ", ".join(texts) or "none"
            yield DataError(f"expected a unit in {' and '.join(select)}, found {found}").at(path, line=line)
        else:
            yield _text(texts[sides[0]]), _text(texts[sides[1]])


def _language(variant: Element) -> str:
    return (variant.get("xml:lang") or variant.get("lang") or "").lower()


def _first_languages(texts: dict[str, Element | None], header: dict[str, str]) -> tuple[str, str]:
    languages = list(texts)
    if len(languages) < 2:
        found = ", ".join(languages) or "none"
        raise DataError(f"expected two languages in the first unit, found {found}; choose source and target")
    source = _find_language(texts, header.get("srclang", "")) or languages[0]
    return source, next(language for language in languages if language != source)


def _find_language(texts: dict[str, Element | None], language: str) -> str | None:
    """Return the language of a unit that is `language` or a regional variant, in either direction."""
    wanted = language.lower()
    kinds = (found for found in texts if found.startswith(f"{wanted}-") or wanted.startswith(f"{found}-"))
    return wanted if wanted in texts else next(kinds, None)


def read_xliff(path: str | Path, select: Select = None) -> Iterator[Record]:
    """Yield a pair for each translation unit (XLIFF 1.2) or segment (2.0); no target gives an empty one.

    Translations that are only proposed (``alt-trans``) are left out.
    """
    if select is not None:
        raise UsageError("an XLIFF file has one source and one target; languages cannot be chosen")
    for _, unit, _ in _units(path, {"trans-unit", "segment"}):
        yield _text(unit.find("source")), _text(unit.find("target"))
