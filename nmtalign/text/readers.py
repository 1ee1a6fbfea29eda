"""Readers of bitext files: a generator for each format, which yields a pair or an error for each record.

===========  =========================================================================
fast-align   one file, ``source ||| target`` on a line
tsv          one file, columns between tabs, no quoting
csv          one file, columns between commas, semicolons, tabs or bars, quoted as RFC 4180 has it
jsonl        one file, one object per line: ``{"source": "...", "target": "..."}``, or keys of languages
tmx          translation memory; a pair for each unit that has both languages
xliff        1.2 and 2.0; a pair for each unit or segment, the target empty where there is none
po           gettext catalogue; a pair for each message, the target empty where it is missing or fuzzy
po-fuzzy     the same with the fuzzy translations
parquet      two columns (extra ``[parquet]``)
===========  =========================================================================
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nmtalign.errors import DataError, UsageError, warn_caller
from nmtalign.files.compressed import max_decompressed_size
from nmtalign.files.paths import reraise_as_data_error
from nmtalign.files.sniffing import PAIR_FORMATS_READ, check_pair_file
from nmtalign.files.text_files import parse_json, try_lines
from nmtalign.text.containers import (
    TRANSLATION_COLUMN,
    PairOrError,
    ReaderNotes,
    Select,
    SideNames,
    check_no_select,
    keys_of_record,
)
from nmtalign.text.headers import (
    find_side_columns,
    find_text_columns,
    language_of_column,
    refuse_identifiers,
)
from nmtalign.text.tokenization import Languages
from nmtalign.text.xml_bitexts import languages_of_localization, languages_of_memory, read_tmx, read_xliff

LineOrError = str | DataError
Row = TypeVar("Row")
TableRow = tuple[int, list[str] | DataError]  # the number of its first line, and its fields


def read_pair_records(path: str | Path, format: str, encoding: str, select: Select) -> Iterator[PairOrError]:
    """Yield the records of a file with both sides; ``auto`` detects the format from its first lines.

    DataError is raised if one side has identifiers, unless the user has chosen the sides.
    """
    with reraise_as_data_error(path):
        if format in _FILE_READERS:
            yield from _without_identifiers(_FILE_READERS[format](path, select), format, select)
            return
        found = format

        def inspect(head: str) -> None:
            nonlocal found
            found = check_pair_file(head, format)

        lines = try_lines(path, encoding=encoding, inspect=inspect)
        first = list(islice(lines, 1))
        if found in _FILE_READERS:  # it is read again, by the parser of XML
            if not Path(path).is_file():
                raise DataError(f"expected lines, found {found}; name its format: `format={found}`").at(path)
            yield from _without_identifiers(_FILE_READERS[found](path, select), found, select)
            return
        if found == "auto":
            found = _format_of_line(first[0] if first else "", path)
        records = _LINE_READERS[found](chain(first, lines), path, select)
        yield from _without_identifiers(records, found, select)


def languages_of_sides(path: str | Path, format: str, select: Select) -> Languages:
    """Return the languages of a file with both sides; (None, None) unless it names them.

    They are those that `select` names, those of the units of a translation memory that are read, or those of
    a localization file.
    """
    if select is not None:
        source, target = map(language_of_column, select)
        return (None, None) if source == target or None in (source, target) else (source, target)
    if format not in ("tmx", "xliff") or str(path) == "-":  # standard input can be read only once
        return None, None
    with reraise_as_data_error(path):
        return languages_of_memory(path) if format == "tmx" else languages_of_localization(path)


_FORMATS_WITH_FIXED_SIDES = ("fast-align", "xliff", "po", "po-fuzzy")


def _without_identifiers(
    records: Iterator[PairOrError], format: str, select: Select
) -> Iterator[PairOrError]:
    """Yield records; raise DataError if one side has identifiers, unless the user has chosen the sides."""
    if select is not None:
        return records
    advice = "pair the texts of both languages by these identifiers: write them as TSV"
    if format not in _FORMATS_WITH_FIXED_SIDES:
        advice = f"choose both texts (`select=A,B`), or {advice}"
    return refuse_identifiers(records, advice)


def _format_of_line(line: LineOrError, path: str | Path) -> str:
    """Return the format of a file of pairs by its first line."""
    if isinstance(line, DataError):
        raise line
    if line and "|||" not in line and "\t" not in line:
        found = "expected 'source ||| target' or 'source<tab>target', found neither"
        raise DataError(f"{found}; name the format, or pass two files ({PAIR_FORMATS_READ})").at(path, line=1)
    return "tsv" if line and "|||" not in line else "fast-align"


def _parse_rows(
    rows: Iterable[tuple[int, Row | DataError]], path: str | Path, parse: Callable[[Row], tuple[str, str]]
) -> Iterator[PairOrError]:
    """Yield the pair of each row, with the number of its line; errors name it."""
    for line, row in rows:
        try:
            yield row if isinstance(row, DataError) else parse(row)
        except DataError as error:
            yield error.at(path, line=line)


def _on_one_line(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ")


# --- one record a line ---------------------------------------------------------------------------


def _read_fast_align(lines: Iterator[LineOrError], path: str | Path, select: Select) -> Iterator[PairOrError]:
    check_no_select(select, "a line of the format 'fast-align'")
    first = list(islice(lines, 1))
    names = first[0].split("|||") if first and isinstance(first[0], str) else []
    if len(names) == 2 and find_side_columns([name.strip(" ") for name in names]):
        reason = "this format has no names of columns, so the line is read as a sentence pair"
        warn_caller(f"{path}, line 1: {reason}; remove it if it is a header")
    return _parse_rows(enumerate(chain(first, lines), 1), path, _parse_fast_align)


def _parse_fast_align(line: str) -> tuple[str, str]:
    if not line:
        return "", ""
    sides = line.split("|||")
    if len(sides) != 2:
        raise DataError(f"expected one '|||' between source and target, found {len(sides) - 1}")
    if "\t" in line:
        raise DataError("expected 'source ||| target' without tabs, found a tab; a number in front?")
    return sides[0].strip(" "), sides[1].strip(" ")


def _read_json(lines: Iterator[LineOrError], path: str | Path, select: Select) -> Iterator[PairOrError]:
    keys = select

    def parse(line: str) -> tuple[str, str]:
        nonlocal keys
        if not line.strip():
            return "", ""
        record = parse_json(line)
        if keys is None:
            keys = _side_keys(record)
        return _value_at_key(record, keys[0]), _value_at_key(record, keys[1])

    return _parse_rows(enumerate(lines, 1), path, parse)


def _side_keys(record: Any) -> tuple[str, str]:
    """Return the keys of both sides, which a record has under usual names, such as en and fr.

    A key inside of another one has a dot.
    """
    keys = keys_of_record(record, SideNames(), by_order=False) if isinstance(record, dict) else None
    if keys is None:
        return "source", "target"
    prefix = f"{TRANSLATION_COLUMN}." if keys.is_nested else ""
    return f"{prefix}{keys.source}", f"{prefix}{keys.target}"


def _value_at_key(record: Any, key: str) -> str:
    """Return the text of one side of a JSON record; DataError if there is no text under the key."""
    value = _find_value(record, key)
    if value is None and isinstance(record, dict):
        value = _find_value(record.get("translation"), key)  # as in data sets of Hugging Face
    if isinstance(value, list):
        value = _line_of_words(value)
    if not isinstance(value, str):
        expected = f"expected text under the key {key!r}, or a list of words"
        advice = "; `select=A,B` names the keys of both sides"
        raise DataError(f"{expected}, found {json.dumps(record)[:80]}{advice}")
    return _on_one_line(value)


def _find_value(record: Any, key: str) -> Any:
    """Return the value of a key, which may have a dot for a key inside a key; None without a value."""
    if not isinstance(record, dict) or key in record:
        return record.get(key) if isinstance(record, dict) else None
    first, _, others = key.partition(".")
    return _find_value(record.get(first), others) if others else None


def _line_of_words(words: list[Any]) -> str | None:
    """Return a list of words as a line; None for other lists, and for words that a line cannot contain."""
    for word in words:
        if not isinstance(word, str) or not word or " " in word or "\n" in word:
            return None
    return " ".join(words)


# --- columns of a table --------------------------------------------------------------------------


def _read_table(rows: Iterator[TableRow], path: str | Path, select: Select) -> Iterator[PairOrError]:
    """Yield a pair for each row of a table, from the columns that `select` numbers from 1 or names.

    Without `select`, the columns are those that the first row names (see :mod:`nmtalign.text.headers`), or
    the only two. Empty rows before the first one are empty pairs.
    """
    for line, row in rows:
        if isinstance(row, DataError):  # it may contain the names
            raise row
        if row in ([], [""]):
            yield "", ""
            continue
        try:
            first = _first_row(row, select)
        except DataError as error:
            raise error.at(path, line=line) from None
        width = 2 if select is None and not first.is_header else None
        header = row if first.is_header else None
        parse = partial(_sides_of_row, columns=first.columns, width=width, header=header)
        rest = _warn_about_first_row(first, row, rows, f"{path}, line {line}")
        yield from _parse_rows(rest if first.is_header else chain([(line, row)], rest), path, parse)


class _FirstRow(NamedTuple):
    """Which fields the two sides are, and whether the first row has their names instead of text."""

    columns: tuple[int, int]
    is_header: bool
    is_certain: bool


def _first_row(row: list[str], select: Select) -> _FirstRow:
    """Return where both sides are, by the choice of the user or by the names in the first row."""
    if select is None:
        sides = find_text_columns(row)
        if sides is None:
            return _FirstRow((0, 1), is_header=False, is_certain=False)
        return _FirstRow((sides.source, sides.target), is_header=True, is_certain=sides.is_certain)
    found = _named_columns(row, select)
    if found is not None:
        return _FirstRow(found, is_header=True, is_certain=True)
    if all(name.isdecimal() and len(name) < 10 for name in select):
        first, second = map(int, select)
        if not (first and second):
            raise UsageError(f"expected two columns counted from 1, such as 1,2, found {','.join(select)}")
        return _FirstRow((first - 1, second - 1), is_header=False, is_certain=False)
    wanted = f"expected the columns {' and '.join(select)} in the first line"
    raise DataError(f"{wanted}, found {', '.join(row)[:80]}")


def _named_columns(row: list[str], names: tuple[str, str]) -> tuple[int, int] | None:
    """Return the fields that have two names, in another case if need be; None unless both are there."""
    if not all(name in row for name in names):
        row = [field.strip(' "').casefold() for field in row]
        names = names[0].casefold(), names[1].casefold()
    if not all(name in row for name in names):
        return None
    return row.index(names[0]), row.index(names[1])


_SNIFFED_ROWS = 5  # after the first one
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def _warn_about_first_row(
    first: _FirstRow, row: list[str], rows: Iterator[TableRow], place: str
) -> Iterator[TableRow]:
    """Yield the rows after the first one; warn if the first one may be misread, as a header or as a pair.

    Codes of two languages are a header, unless the rows below are single words as well. Two single words
    above rows of text, or names of the two sides, look like a header.
    """
    cells = [row[column] for column in first.columns if column < len(row)]
    if first.is_header and all(len(cell) > 2 and cell[0] == cell[-1] == '"' for cell in cells):
        warn_caller(
            f"{place}: the names are quoted; tsv has no quoting, so the quotation marks of the text stay"
        )
    if first.is_certain or len(cells) < 2:
        yield from rows
        return
    texts = others = 0  # rows below with several words on both sides, and without
    for line, later in islice(rows, _SNIFFED_ROWS):
        if isinstance(later, list) and len(later) > max(first.columns):
            are_texts = all(" " in later[column].strip(" ") for column in first.columns)
            texts += are_texts
            others += not are_texts
        yield line, later
    is_above_texts = texts > 0 and not others
    cells = [cell.strip('" ') for cell in cells]
    if first.is_header:
        if not is_above_texts:
            names = ",".join(cells)
            reason = f"{names} is read as the names of the columns, not as a sentence pair"
            warn_caller(f"{place}: {reason}; `select={names}` says so, `select=1,2` reads it as a pair")
    elif _are_names(row) or (is_above_texts and all(map(_IDENTIFIER.fullmatch, cells))):
        reason = f"{cells[0]} and {cells[1]} are read as a sentence pair"
        warn_caller(f"{place}: {reason}; if they name the columns, use `select={','.join(cells)}`")
    yield from rows


def _are_names(row: list[str]) -> bool:
    """Return whether the fields of a row certainly are names of columns, of which two or more are sides."""
    try:
        sides = find_side_columns(row)
    except DataError:
        return True
    return sides is not None and sides.is_certain


_SEPARATORS = {"tabs": "\t", "semicolons": ";", "commas": ",", "bars": "|"}


def _sides_of_row(
    row: list[str], columns: tuple[int, int], width: int | None, header: list[str] | None
) -> tuple[str, str]:
    if row in ([], [""]):
        return "", ""
    if row == header:
        raise DataError("expected a sentence pair, found the names of the columns again")
    if header is not None and any(row[len(header) :]):
        found = f"found {len(row)} where the first line names {len(header)}"
        raise DataError(f"expected as many columns in each line, {found}; is a separator inside a text?")
    if width is not None and len(row) != width:
        advice = "choose those of source and target (`select=A,B`)"
        if len(row) == 1:
            separators = [name for name, separator in _SEPARATORS.items() if separator in row[0]]
            advice = f"are they separated by {' or '.join(separators)}?" if separators else advice
        raise DataError(f"expected {width} columns, found {len(row)}; {advice}")
    if len(row) <= max(columns):
        raise DataError(f"expected at least {max(columns) + 1} columns, found {len(row)}")
    return row[columns[0]], row[columns[1]]


def _read_tsv(lines: Iterator[LineOrError], path: str | Path, select: Select) -> Iterator[PairOrError]:
    rows = (line if isinstance(line, DataError) else line.split("\t") for line in lines)
    return _read_table(enumerate(rows, 1), path, select)


_SEPARATOR_LINE = re.compile(r"sep=(.)", re.IGNORECASE)  # a convention of Excel


_SNIFFED_CSV_LINES = 20
_CSV_SEPARATORS = (",", ";", "\t", "|")


def _read_csv(lines: Iterator[LineOrError], path: str | Path, select: Select) -> Iterator[PairOrError]:
    head = list(islice(lines, _SNIFFED_CSV_LINES))
    match = _SEPARATOR_LINE.fullmatch(head[0]) if head and isinstance(head[0], str) else None
    if match:
        return _read_table(_csv_rows(chain(head[1:], lines), path, match[1], read=1), path, select)
    separator = _csv_separator([line for line in head if isinstance(line, str)])
    return _read_table(_csv_rows(chain(head, lines), path, separator), path, select)


def _csv_separator(lines: list[str]) -> str:
    """Return the separator of the columns: a comma, unless only another one gives all rows equal widths.

    If none does, because some rows are damaged, it is the only one that is in the first row.
    """
    for separator in _CSV_SEPARATORS:
        try:
            rows = list(csv.reader(map(_with_end, lines), strict=True, delimiter=separator))
        except csv.Error:  # also if a quoted field goes on after these lines
            continue
        widths = {len(row) for row in rows if row}
        if len(widths) == 1 and widths != {1}:
            return separator
    in_first_row = [separator for separator in _CSV_SEPARATORS if lines and separator in lines[0]]
    return in_first_row[0] if len(in_first_row) == 1 else ","


def _csv_rows(
    lines: Iterator[LineOrError], path: str | Path, separator: str = ",", *, read: int = 0
) -> Iterator[TableRow]:
    """Yield the first line of each record, and its fields; line ends inside of quotes are spaces.

    `read` counts the lines that were read before.
    """
    reader = csv.reader(map(_with_end, lines), strict=True, delimiter=separator)
    unread = read  # lines that the reader does not count
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


def _with_end(line: LineOrError) -> str:
    if isinstance(line, DataError):
        raise line
    return f"{line}\n"


def _read_parquet(path: str | Path, select: Select) -> Iterator[PairOrError]:
    """Yield a pair for each row, an error where a side is not text.

    `select` names the two columns, ``a.b`` field b of a column a; by default, they have usual names.
    """
    if str(path) == "-":
        raise UsageError("a Parquet file cannot come from standard input; name the file")
    file, columns = _open_parquet_columns(path, select)
    with reraise_as_data_error(path, "the Parquet file is damaged"):
        batches = file.iter_batches(batch_size=10_000, columns=list(columns))
        rows = (zip(*(_column_values(batch, column) for column in columns), strict=True) for batch in batches)
        for number, (source, target) in enumerate(chain.from_iterable(rows), 1):
            if isinstance(source, str) and isinstance(target, str):
                yield source.replace("\n", " "), target.replace("\n", " ")
            else:
                expected = f"expected text in {' and '.join(columns)}, found {(source, target)}"
                yield DataError(expected).at(f"{path}, row {number}")


def _open_parquet_columns(path: str | Path, select: Select) -> tuple[Any, tuple[str, str]]:
    """Open a Parquet file, and choose its columns; DataError if it is too large, or a column is missing."""
    from nmtalign.files.array_files import check_parquet_size, import_parquet  # which imports NumPy

    parquet = import_parquet().parquet
    with reraise_as_data_error(path, "expected a Parquet file"):
        file = parquet.ParquetFile(path)
        names = [file.schema.column(n).path for n in range(len(file.schema))]
        columns = select or _side_columns(names)
        # a text counts as a byte at least, its line end
        check_parquet_size(file.metadata, columns, 1, max_decompressed_size(os.path.getsize(path)))
    for column in columns:
        if column not in names:
            found = ", ".join(sorted(names))
            raise DataError(f"expected a column {column!r}, found {found}; choose source and target").at(path)
    # read_dictionary keeps equal texts as one object: many rows may share a text as long as the whole file
    return parquet.ParquetFile(path, metadata=file.metadata, read_dictionary=list(columns)), columns


def _side_columns(names: list[str]) -> tuple[str, str]:
    """Return the columns of both sides, which have usual names, perhaps inside of ``translation``."""
    record: dict[str, Any] = {name: "" for name in names if "." not in name}
    nested = [name.partition(".")[2] for name in names if name.startswith(f"{TRANSLATION_COLUMN}.")]
    if nested:
        record[TRANSLATION_COLUMN] = dict.fromkeys(nested, "")
    return _side_keys(record)


def _column_values(batch: Any, column: str) -> list[Any]:
    """Return the values of a column, which may be inside a struct; equal texts are one object."""
    from pyarrow import compute

    from nmtalign.files.array_files import texts_of_parquet

    first, *fields = column.split(".")
    array = batch.column(first)
    for field in fields:
        array = compute.struct_field(array, field)
    return texts_of_parquet(array)


# --- gettext catalogues --------------------------------------------------------------------------

# Catalogues are not read by polib. It is as fast (50,000 messages in 0.8 s), but it keeps all messages in
# memory (39 MB instead of 0.1), silently drops a message if a quotation mark is missing, rejects the whole
# file at other mistakes, and splits lines at U+2028.
_PO_KEYWORD = re.compile(r"(msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d+\])\s+(\".*)")
_PO_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_PO_FUZZY = re.compile(r"#,.*\bfuzzy\b")
_PO_ESCAPE = re.compile(r"\\(.)")
_PO_ESCAPES = {"n": " ", "t": "\t", "r": "", '"': '"', "\\": "\\"}  # a line end inside a message is a space


def _read_po(
    lines: Iterator[LineOrError], path: str | Path, select: Select, *, fuzzy: bool = False
) -> Iterator[PairOrError]:
    """Yield a pair for each message but the header (an empty ``msgid``) and obsolete ones (``#~``).

    A translation marked as fuzzy is a guess: as in gettext's own msgfmt, it is used only if `fuzzy` is set.
    Of a message with plural forms the first is used. A line that is not part of a catalogue is an error in
    place of its message. A warning counts the messages without a translation, with a guess, and with plural
    forms.
    """
    check_no_select(select, "a PO file")
    message = _PoMessage()
    notes = ReaderNotes("message")
    is_next_fuzzy = False  # whether a comment has marked the next message as fuzzy
    keyword = ""  # the keyword of the string that the current line begins or continues
    for number, line in enumerate(lines, 1):
        if isinstance(line, DataError):
            raise line  # the line may be the beginning of a message
        line = line.strip(" \t")
        if not line or line.startswith("#"):
            if line.startswith("#~"):  # an obsolete message, with the mark before it
                is_next_fuzzy = False
            elif _PO_FUZZY.match(line):
                is_next_fuzzy = True
            continue
        match = _PO_KEYWORD.fullmatch(line)
        if match and message.ends_before(match[1]):
            yield from message.pair(path, fuzzy, notes)
            message = _PoMessage()
        if match and not message.strings and is_next_fuzzy:
            message.is_fuzzy = True
            is_next_fuzzy = False
        if match:
            keyword = match[1]
        string = _PO_STRING.fullmatch(match[2] if match else line)
        if string is None or not keyword:
            expected = f'expected msgid "..." or msgstr "..." or "...", found {line[:60]!r}'
            message.problem = message.problem or DataError(expected).at(path, line=number)
        elif match and keyword in message.strings:
            expected = f"expected one {keyword} in a message, found another one"
            message.problem = message.problem or DataError(expected).at(path, line=number)
        else:
            text = _PO_ESCAPE.sub(lambda match: _PO_ESCAPES.get(match[1], match[0]), string[1])
            message.strings.setdefault(keyword, []).append(text)
            message.line = message.line or number
    yield from message.pair(path, fuzzy, notes)
    notes.warn(path)


class _PoMessage:
    """A message of a catalogue while its lines are read."""

    def __init__(self) -> None:
        self.strings: dict[str, list[str]] = {}
        self.problem: DataError | None = None
        self.is_fuzzy = False
        self.line = 0

    def ends_before(self, keyword: str) -> bool:
        """Return whether a line with this keyword begins the next message."""
        if keyword not in ("msgctxt", "msgid"):
            return False
        if keyword in self.strings or any(key.startswith("msgstr") for key in self.strings):
            return True
        return keyword == "msgctxt" and "msgid" in self.strings

    def text(self, keyword: str) -> str:
        return "".join(self.strings.get(keyword, ()))

    def pair(self, path: str | Path, fuzzy: bool, notes: ReaderNotes) -> Iterator[PairOrError]:
        """Yield and count the pair, or the problem of the message; the header yields nothing."""
        source, target = self.text("msgid"), self.text("msgstr") or self.text("msgstr[0]")
        if self.problem is None and self.strings and "msgid" not in self.strings:
            problem = DataError(f"expected a msgid, found a message of {', '.join(self.strings)}")
            self.problem = problem.at(path, line=self.line)
        if self.problem is not None:
            notes.total += 1
            yield self.problem
        elif source:
            is_guess = self.is_fuzzy and not fuzzy and bool(target)
            place = f"line {self.line:,}"
            notes.total += 1
            notes.add("without a translation, whose target is empty", not target, place)
            notes.add("with a fuzzy translation, whose target is empty", is_guess, place)
            notes.add("with plural forms, of which the first is read", bool(self.text("msgstr[1]")), place)
            yield source, "" if is_guess else target


_LINE_READERS: dict[str, Callable[[Iterator[LineOrError], str | Path, Select], Iterator[PairOrError]]] = {
    "fast-align": _read_fast_align,
    "jsonl": _read_json,
    "tsv": _read_tsv,
    "csv": _read_csv,
    "po": _read_po,
    "po-fuzzy": partial(_read_po, fuzzy=True),
}
_FILE_READERS: dict[str, Callable[[str | Path, Select], Iterator[PairOrError]]] = {
    "tmx": read_tmx,
    "xliff": read_xliff,
    "parquet": _read_parquet,
}
PAIR_FILE_FORMATS = ("moses", *_LINE_READERS, *_FILE_READERS)
FORMAT_OF_ENDING = {f".{format}": format for format in PAIR_FILE_FORMATS[2:]} | {
    ".xlf": "xliff",
    ".sdlxliff": "xliff",
    ".mqxliff": "xliff",
    ".mxliff": "xliff",
    ".pot": "po",
}
