"""Readers of bitext files: a generator for each format, which yields a pair or an error for each record.

===========  =========================================================================
fast-align   one file, ``source ||| target`` on a line
tsv          one file, columns between tabs, no quoting
csv          one file, columns between commas, quoted as RFC 4180 has it
jsonl        one file, an object on a line: ``{"source": "...", "target": "..."}``
tmx          translation memory; a pair for each unit
xliff        1.2 and 2.0; a pair for each unit or segment, the target empty where there is none
po           gettext catalogue; a pair for each message, the target empty where it is missing or fuzzy
po-fuzzy     the same with the fuzzy translations
parquet      two columns (extra ``[parquet]``)
===========  =========================================================================
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nmtalign.errors import DataError, UsageError, text_of
from nmtalign.files import DAMAGE, extra, guarded_read, open_binary, parse_json, try_lines

Record = tuple[str, str] | DataError
Select = tuple[str, str] | None  # where the two sides are
Line = str | DataError
Row = TypeVar("Row")


def read_records(path: str | Path, format: str, encoding: str, select: Select) -> Iterator[Record]:
    """Yield the records of a file that holds both sides; ``auto`` goes by its first line."""
    with guarded_read(path):
        if format in _FILE_READERS:
            yield from _FILE_READERS[format](path, select)
            return
        lines = try_lines(path, encoding=encoding)
        if format == "auto":
            format, lines = _guess(path, lines)
        yield from _LINE_READERS[format](lines, path, select)


def _expect_no_choice(select: Select, kind: str) -> None:
    if select is not None:
        raise UsageError(f"{kind} has one source and one target; {','.join(select)} cannot be chosen")


def _guess(path: str | Path, lines: Iterator[Line]) -> tuple[str, Iterator[Line]]:
    """Return the format of the first line, and all lines again."""
    first = next(lines, None)
    if isinstance(first, DataError):
        raise first
    if first and "|||" not in first and "\t" not in first:
        found = "expected 'source ||| target' or 'source<tab>target', found neither"
        raise DataError(f"{found}; name the format, or give two files").at(path, line=1)
    format = "tsv" if first and "|||" not in first else "fast-align"
    return format, lines if first is None else chain([first], lines)


def _parsed(
    rows: Iterable[tuple[int, Row | DataError]], path: str | Path, parse: Callable[[Row], tuple[str, str]]
) -> Iterator[Record]:
    """Yield the pair of each row, with the number of its line; errors name it."""
    for line, row in rows:
        try:
            yield row if isinstance(row, DataError) else parse(row)
        except DataError as error:
            yield error.at(path, line=line)


def _on_one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ")


# --- one record a line ---------------------------------------------------------------------------


def _read_fast_align(lines: Iterator[Line], path: str | Path, select: Select) -> Iterator[Record]:
    _expect_no_choice(select, "a line of the format 'fast-align'")
    return _parsed(enumerate(lines, 1), path, _parse_fast_align)


def _parse_fast_align(line: str) -> tuple[str, str]:
    if not line:
        return "", ""
    sides = line.split("|||")
    if len(sides) != 2:
        raise DataError(f"expected one '|||' between source and target, found {len(sides) - 1}")
    if "\t" in line:
        raise DataError("expected 'source ||| target' without tabs, found a tab; a number in front?")
    return sides[0].strip(" "), sides[1].strip(" ")


def _read_json(lines: Iterator[Line], path: str | Path, select: Select) -> Iterator[Record]:
    keys = select or ("source", "target")

    def parse(line: str) -> tuple[str, str]:
        record = parse_json(line)
        return _value(record, keys[0]), _value(record, keys[1])

    return _parsed(enumerate(lines, 1), path, parse)


def _value(record: Any, key: str) -> str:
    value = record
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, str):
        raise DataError(f"expected text under the key {key!r}, found {json.dumps(record)[:80]}")
    return _on_one_line(value)


# --- columns of a table --------------------------------------------------------------------------


def _read_table(
    rows: Iterator[tuple[int, list[str] | DataError]], path: str | Path, select: Select
) -> Iterator[Record]:
    """Yield a pair for each row of a table, from the columns that `select` numbers from 1 or names.

    By default these are ``source`` and ``target`` where the first row names them, else the only two.
    """
    for line, row in rows:
        if isinstance(row, DataError):  # it may hold the names
            raise row
        columns, named = _columns(row, select, path)
        rest = rows if named else chain([(line, row)], rows)
        width = 2 if select is None and not named else None
        yield from _parsed(rest, path, partial(_sides, columns=columns, width=width))


def _columns(row: list[str], select: Select, path: str | Path) -> tuple[tuple[int, int], bool]:
    """Return which fields the two sides are, and whether the first row has names instead of text."""
    names = select or ("source", "target")
    if all(name in row for name in names):
        return (row.index(names[0]), row.index(names[1])), True
    if select is None:
        return (0, 1), False
    if all(name.isdecimal() and len(name) < 10 for name in names):
        first, second = map(int, names)
        if not (first and second):
            raise UsageError(f"expected two columns counted from 1, such as 1,2, found {','.join(names)}")
        return (first - 1, second - 1), False
    wanted = f"expected the columns {' and '.join(names)} in the first line"
    raise DataError(f"{wanted}, found {', '.join(row)[:80]}").at(path, line=1)


def _sides(row: list[str], columns: tuple[int, int], width: int | None) -> tuple[str, str]:
    if row in ([], [""]):
        return "", ""
    if width is not None and len(row) != width:
        raise DataError(f"expected {width} columns, found {len(row)}; choose which hold source and target")
    if len(row) <= max(columns):
        raise DataError(f"expected at least {max(columns) + 1} columns, found {len(row)}")
    return row[columns[0]], row[columns[1]]


def _read_tsv(lines: Iterator[Line], path: str | Path, select: Select) -> Iterator[Record]:
    rows = (line if isinstance(line, DataError) else line.split("\t") for line in lines)
    return _read_table(enumerate(rows, 1), path, select)


def _read_csv(lines: Iterator[Line], path: str | Path, select: Select) -> Iterator[Record]:
    return _read_table(_csv_rows(lines, path), path, select)


def _csv_rows(lines: Iterator[Line], path: str | Path) -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield the first line of each record, and its fields; line ends inside of quotes are spaces."""
    reader = csv.reader(map(_with_end, lines), strict=True)
    unread = 0  # lines that the reader does not count
    while True:
        first = reader.line_num + unread + 1
        try:
            fields = next(reader, None)
        except DataError as error:
            unread += 1
            yield first, error
        except csv.Error as error:
            yield first, DataError(f"expected a record of CSV ({error})").at(path, line=first)
        else:
            if fields is None:
                return
            yield first, list(map(_on_one_line, fields))


def _with_end(line: Line) -> str:
    if isinstance(line, DataError):
        raise line
    return f"{line}\n"


def _read_parquet(path: str | Path, select: Select) -> Iterator[Record]:
    """Yield a pair for each row, an error where a side is not text.

    `select` names the two columns, ``a.b`` field b of a column a; by default ``source`` and ``target``.
    """
    if str(path) == "-":
        raise UsageError("a Parquet file cannot come from standard input; name the file")
    columns = select or ("source", "target")
    file = _open_parquet(path, columns)
    with guarded_read(path, "the Parquet file is damaged"):
        batches = file.iter_batches(batch_size=10_000, columns=list(columns))
        rows = (zip(*(_values(batch, column) for column in columns), strict=True) for batch in batches)
        for number, (source, target) in enumerate(chain.from_iterable(rows), 1):
            if isinstance(source, str) and isinstance(target, str):
                yield source.replace("\n", " "), target.replace("\n", " ")
            else:
                expected = f"expected text in {' and '.join(columns)}, found {(source, target)}"
                yield DataError(expected).at(f"{path}, row {number}")


def _open_parquet(path: str | Path, columns: tuple[str, str]) -> Any:
    with extra("parquet", "a Parquet file needs the package pyarrow"):
        from pyarrow.parquet import ParquetFile
    with guarded_read(path, "expected a Parquet file"):
        file = ParquetFile(path)
        names = {column.path for column in (file.schema.column(n) for n in range(len(file.schema)))}
    for column in columns:
        if column not in names:
            found = ", ".join(sorted(names))
            raise DataError(f"expected a column {column!r}, found {found}; choose source and target").at(path)
    return file


def _values(batch: Any, column: str) -> list[Any]:
    """Return the values of a column, also of one inside a struct."""
    first, *fields = column.split(".")
    values = batch.column(first).to_pylist()
    for field in fields:
        values = [value and value.get(field) for value in values]
    return values  # type: ignore[no-any-return]


# --- gettext catalogues --------------------------------------------------------------------------

# They are read here and not by polib. It is as fast (50,000 messages in 0.8 s), but it keeps them all (39 MB
# where this keeps 0.1), drops a message without a word where a quotation mark is missing, gives the whole
# file up at other mistakes, and cuts lines at U+2028.
_KEYWORD = re.compile(r"(msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d+\])\s+(\".*)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_DOUBTFUL = "fuzzy"
_FUZZY = re.compile(r"#,.*\bfuzzy\b")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": " ", "t": "\t", "r": "", '"': '"', "\\": "\\"}  # a line end inside a message is a space


def _read_po(
    lines: Iterator[Line], path: str | Path, select: Select, *, fuzzy: bool = False
) -> Iterator[Record]:
    """Yield a pair for each message but the header (an empty ``msgid``) and obsolete ones (``#~``).

    A translation marked as fuzzy is a guess: like gettext's own msgfmt, it is taken only if `fuzzy`. Of a
    message with plural forms the first is taken. A line of no catalogue is an error in place of its message.
    """
    _expect_no_choice(select, "a PO file")
    message: dict[str, list[str]] = {}
    problem: DataError | None = None
    doubtful = False  # of the message that comes next
    keyword = ""
    for number, line in enumerate(lines, 1):
        if isinstance(line, DataError):
            raise line  # it may begin a message
        line = line.strip(" \t")
        if not line or line.startswith("#"):
            doubtful = (doubtful or bool(_FUZZY.match(line))) and not line.startswith("#~")
            continue
        match = _KEYWORD.fullmatch(line)
        if match and match[1] in ("msgctxt", "msgid") and any(key.startswith("msgstr") for key in message):
            yield from _pair(message, problem, fuzzy)
            message, problem = {}, None
        if match and not message and doubtful:
            message, doubtful = {_DOUBTFUL: []}, False
        keyword = match[1] if match else keyword
        string = _STRING.fullmatch(match[2] if match else line)
        if string and keyword:
            text = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[0]), string[1])
            message.setdefault(keyword, []).append(text)
        else:
            expected = f'expected msgid "..." or msgstr "..." or "...", found {line[:60]!r}'
            problem = problem or DataError(expected).at(path, line=number)
    yield from _pair(message, problem, fuzzy)


def _pair(message: dict[str, list[str]], problem: DataError | None, fuzzy: bool) -> Iterator[Record]:
    """Yield the pair of a message, or what is wrong with it; nothing for the header."""
    if problem:
        yield problem
    elif source := "".join(message.get("msgid", ())):
        known = fuzzy or _DOUBTFUL not in message
        yield source, "".join(message.get("msgstr", message.get("msgstr[0]", ()))) if known else ""


# --- XML: translation memories and localisation files --------------------------------------------

# Entities are never expanded: a file that declares one is refused, so that no small file can grow to
# gigabytes in memory or reach for other files.
_CODES = {"bpt", "ept", "ph", "it", "ut", "sub"}  # inside a sentence: codes of another format, not words
_BLOCK = 1 << 16
_DEEPEST = 100  # elements inside each other in a unit
LONGEST_UNIT = 1 << 22  # characters of a unit, in all languages; an element counts as 100
# Encodings whose bytes mean what they say; not utf-7, unicode_escape and the like.
_ENCODINGS = re.compile(r"utf-?(8|16)|(us-)?ascii|iso-?8859-\d+|latin-?1|(windows-?|cp)\d+|koi8-[ru]", re.I)


class _Units:
    """Builds the elements of some names out of an XML file, and drops everything around them."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
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
        if self._builder is None and name in self._names:
            self._builder, self._line = TreeBuilder(), self.parser.CurrentLineNumber
            self._depth = self._size = 0
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
            self._builder.end(name.rpartition(":")[2])
            self._depth -= 1
            if not self._depth:
                self.done.append((self._line, self._builder.close()))
                self._builder = None

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and not _ENCODINGS.fullmatch(encoding):
            raise DataError(f"expected a common encoding such as UTF-8, found {encoding[:40]!r}")

    def _refuse(self, name: str, *declaration: object) -> None:
        raise DataError(f"the XML entity {name!r} is not expanded; write out its text")


def _units(path: str | Path, names: set[str]) -> Iterator[tuple[int, Element]]:
    """Yield the elements of some names with their lines; memory holds one block of the file."""
    units = _Units(names)
    stream = open_binary(path)
    try:
        block = b"start"
        while block:
            block = stream.read(_BLOCK)
            units.parser.Parse(block, not block)
            yield from units.done
            units.done.clear()
    except DAMAGE as error:
        raise DataError(f"the compressed file is damaged or cut off ({text_of(error)})").at(path) from None
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
    if element is None:
        return ""
    pieces = [element.text or ""]
    for child in element:
        pieces += ["" if child.tag in _CODES else _text(child), child.tail or ""]
    return "".join(pieces).replace("\n", " ")


def _read_tmx(path: str | Path, select: Select) -> Iterator[Record]:
    """Yield a pair for each unit of a TMX file, an error for a unit that has not both languages.

    `select` names the languages; ``en`` also finds ``en-CA``. By default they are the first two of the first
    unit, the header's source language first.
    """
    source_language = ""
    for line, unit in _units(path, {"header", "tu"}):
        if unit.tag == "header":
            source_language = unit.get("srclang", "")
            continue
        texts: dict[str, Element | None] = {}
        for variant in unit.findall("tuv"):
            language = (variant.get("xml:lang") or variant.get("lang") or "").lower()
            texts[language] = variant.find("seg")
        if select is None:
            try:
                select = _first_languages(texts, source_language)
            except DataError as error:
                raise error.at(path, line=line) from None
        sides = [_find_language(texts, language) for language in select]
        if sides[0] is None or sides[1] is None:
            found = ", ".join(texts) or "none"
            yield DataError(f"expected a unit in {' and '.join(select)}, found {found}").at(path, line=line)
        else:
            yield _text(texts[sides[0]]), _text(texts[sides[1]])


def _first_languages(texts: dict[str, Element | None], source_language: str) -> tuple[str, str]:
    languages = list(texts)
    if len(languages) < 2:
        found = ", ".join(languages) or "none"
        raise DataError(f"expected two languages in the first unit, found {found}; choose source and target")
    source = _find_language(texts, source_language) or languages[0]
    return source, next(language for language in languages if language != source)


def _find_language(texts: dict[str, Element | None], language: str) -> str | None:
    """Return the language of a unit that is `language` or a regional variant, in either direction."""
    wanted = language.lower()
    variants = (name for name in texts if name.startswith(f"{wanted}-") or wanted.startswith(f"{name}-"))
    return wanted if wanted in texts else next(variants, None)


def _read_xliff(path: str | Path, select: Select) -> Iterator[Record]:
    """Yield a pair for each unit (XLIFF 1.2) or segment (2.0), without proposals (``alt-trans``)."""
    _expect_no_choice(select, "an XLIFF file")
    for _, unit in _units(path, {"trans-unit", "segment"}):
        yield _text(unit.find("source")), _text(unit.find("target"))


_LINE_READERS: dict[str, Callable[[Iterator[Line], str | Path, Select], Iterator[Record]]] = {
    "fast-align": _read_fast_align,
    "jsonl": _read_json,
    "tsv": _read_tsv,
    "csv": _read_csv,
    "po": _read_po,
    "po-fuzzy": partial(_read_po, fuzzy=True),
}
_FILE_READERS: dict[str, Callable[[str | Path, Select], Iterator[Record]]] = {
    "tmx": _read_tmx,
    "xliff": _read_xliff,
    "parquet": _read_parquet,
}
FORMATS = ("moses", *_LINE_READERS, *_FILE_READERS)
ENDINGS = {f".{format}": format for format in FORMATS[2:]} | {".xlf": "xliff", ".pot": "po"}
