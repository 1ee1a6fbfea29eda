"""Dictionaries as text: CC-CEDICT, EDICT, word lists, eflomal's priors; and the choice of the reader.

The first lines decide on the format. EDICT files are in EUC-JP unless they are valid UTF-8.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from nmtalign.dictionaries.entries import (
    ENTRIES_PER_BLOCK,
    MAX_WEIGHT,
    UNUSED_ENTRY,
    Entry,
    JumpCount,
    NumberedLine,
    NumberedLines,
    Record,
    Wanted,
    every_headword,
    is_weight,
    read_wanted_lines,
    without_brackets,
)
from nmtalign.dictionaries.json_dictionaries import (
    is_json,
    is_wiktionary,
    read_json_lines,
    read_json_object,
    read_wiktionary,
)
from nmtalign.display import with_plural
from nmtalign.errors import DataError, warn_caller
from nmtalign.files.text_files import try_lines
from nmtalign.names import Side

_INTEGER = re.compile(r"-?\d{1,6}", re.ASCII).fullmatch
_FIRST_LINES = 200  # the lines that decide on the format

_CEDICT = re.compile(r"(\S+) (\S+) \[[^\]]*\] /(.*)/\s*").fullmatch
_EDICT = re.compile(r"(\S+) (?:\[([^\]]*)\] )?/(.*)/\s*").fullmatch
_EDICT_HEADWORDS = re.compile(r"[^ \[\];]+").findall
_EDICT_HEADER = "？？？"
# the number of columns and the first column of the lines in eflomal's priors that are not about words
_OTHER_PRIORS = {(3, "HMMF"), (3, "HMMR"), (4, "FERF"), (4, "FERR")}


class LineFormat(NamedTuple):
    """A format with one entry per line."""

    name: str
    matches: Callable[[str], object]  # whether a line could be an entry
    read: Callable[[NumberedLines, str | Path, Wanted], Iterator[Record]]
    # the languages of headwords and translations, by the first lines; None if the entries have them, or none
    languages: Callable[[list[str]], tuple[str, str]] | None = None


def read_lines_of(path: str | Path, encoding: str, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of a text file."""
    format, lines = _open_lines(path, encoding)
    return format.read(lines, path, wanted)


def languages_of_file(path: str | Path, encoding: str) -> tuple[list[str], list[str]]:
    """Return the languages of headwords and of translations that a text file names, in its first entries."""
    format, lines = _open_lines(path, encoding)
    if format.languages is not None:
        first = [line for _, line in islice(lines, _FIRST_LINES) if isinstance(line, str)]
        source, target = format.languages(first)
        return [source] if source else [], [target] if target else []
    sources: dict[str, None] = {}
    targets: dict[str, None] = {}
    for record in islice(format.read(lines, path, every_headword), ENTRIES_PER_BLOCK):
        if isinstance(record, Entry):
            sources[record.language] = None
            targets.update(dict.fromkeys(record.languages))
    return list(filter(None, sources)), list(filter(None, targets))


def _open_lines(path: str | Path, encoding: str) -> tuple[LineFormat, NumberedLines]:
    lines: NumberedLines = enumerate(try_lines(path, encoding=encoding), 1)
    first = list(islice(lines, _FIRST_LINES))
    if encoding == "utf-8" and any(isinstance(line, DataError) for _, line in first):
        japanese = enumerate(try_lines(path, encoding="euc-jp"), 1)
        first_japanese = list(islice(japanese, _FIRST_LINES))
        if _format_of(first_japanese).name == "edict":
            lines, first = japanese, first_japanese
    return _format_of(first), chain(first, lines)


def _format_of(first: list[NumberedLine]) -> LineFormat:
    """Return the format that half of the first lines, or more, have."""
    texts = [line for _, line in first if isinstance(line, str) and line.strip()]
    if texts and is_tabfile_header(texts[0]):
        return _TABFILE
    texts = [text for text in texts if not text.startswith("#")]
    if texts and texts[0].lstrip().startswith(("{", "[")):
        if 2 * sum(map(is_json, texts)) < len(texts):
            return _JSON_OBJECT
        return _WIKTIONARY if any(map(is_wiktionary, texts)) else _JSON_LINES
    for candidate in _LINE_FORMATS:
        matching = sum(bool(candidate.matches(text)) for text in texts)
        if matching and 2 * matching >= len(texts):
            return candidate
    return _WORD_LIST


def _cedict_entry(number: int, line: str) -> Entry | None:
    if line.startswith("#"):
        return None
    found = _CEDICT(line)
    if found is None:
        raise _malformed("traditional simplified [pinyin] /translation/", line)
    return Entry(number, _cedict_headwords(line), found[3].split("/"))


def _cedict_headwords(line: str) -> list[str]:
    """Return the traditional and the simplified form, once if they are the same."""
    return list(dict.fromkeys(line.split(" ", 2)[:2]))


def _edict_entry(number: int, line: str) -> Entry | None:
    if line.lstrip().startswith(_EDICT_HEADER):
        return None
    found = _EDICT(line)
    if found is None:
        raise _malformed("word [reading] /translation/", line)
    return Entry(number, _edict_headwords(line), found[3].split("/"))


def _edict_headwords(line: str) -> list[str]:
    """Return the spellings and the readings of a word, without remarks such as *(P)*."""
    before = line.partition("/")[0]
    if "(" in before:
        before = without_brackets(before.replace("[", ";").replace("]", ""))
    return _EDICT_HEADWORDS(before)


def _looks_like_entry(line: str) -> bool:
    """Return whether a line could be an entry of CC-CEDICT or EDICT; this is a quick check."""
    return line[-1:] == "/" and " /" in line


def _malformed(wanted: str, line: str) -> DataError:
    return DataError(f"expected {wanted}, found {line[:60]!r}")


# --- word lists ----------------------------------------------------------------------------------


def _read_word_list(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the pairs of a word list: word, translation, perhaps a weight; between tabs, else spaces."""
    first = list(islice(lines, 2))
    if len(first) == 2 and all(isinstance(line, str) and _is_marked(line) for _, line in first):
        found = "words that end in a mark on the first lines"
        advice = "write a tab for it: sed 's/ *[:;,=] */\\t/' OLD > NEW"
        raise DataError(
            f"expected a word and its translation between tabs or spaces, found {found}; {advice}"
        )
    return read_wanted_lines(
        chain(first, lines),
        path,
        wanted,
        headwords_of=_word_list_headword,
        looks_like_entry=_is_pair_of_words,
        parse=lambda number, line: _word_list_entry(number, _columns(line), line),
    )


def _columns(line: str) -> list[str]:
    return line.split("\t" if "\t" in line else " ")


def _is_marked(line: str) -> bool:
    """Return whether the first of two words ends in a mark, which may be what separates the words."""
    word, *others = line.split(" ")
    return len(others) == 1 and "\t" not in line and len(word) > 1 and word[-1] in ":;,="


def _is_pair_of_words(line: str) -> bool:
    """Return whether a line has two columns between tabs."""
    return line.count("\t") == 1 and line[0] != "\t" and line[-1] != "\t"


def _word_list_headword(line: str) -> list[str]:
    return _columns(line)[:1]


def _read_eflomal(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the pairs of the lines ``LEX``, and jumps; a warning counts the lines of fertilities."""
    fertilities = 0

    def parse(number: int, line: str) -> Record:
        nonlocal fertilities
        columns = _columns(line)
        if (len(columns), columns[0]) in _OTHER_PRIORS:
            jump = _prior_of_numbers(columns)
            fertilities += jump is None
            return UNUSED_ENTRY if jump is None else jump
        pair = columns[1:] if len(columns) == 4 and columns[0] == "LEX" else columns
        return _word_list_entry(number, pair, line)

    yield from read_wanted_lines(
        lines,
        path,
        wanted,
        headwords_of=_eflomal_headword,
        looks_like_entry=lambda line: False,
        parse=parse,
    )
    if fertilities:
        skipped = f"{with_plural(fertilities, 'line')} of fertilities (FERF, FERR)"
        why = "a model of nmtalign has no fertilities"
        warn_caller(f"{path}: skipped {skipped}; {why}")


def _prior_of_numbers(columns: list[str]) -> JumpCount | None:
    """Return a jump, or None for a fertility."""
    *_, number, count = columns
    is_jump = len(columns) == 3
    expected = "HMMF or HMMR, a jump" if is_jump else "FERF or FERR, a word, a number of links"
    if not _INTEGER(number) or math.isnan(_weight(count)):
        wanted = f"{expected}, and a weight above 0, to {MAX_WEIGHT:g}"
        raise DataError(f"expected {wanted}, found {' '.join(columns)[:80]!r}")
    if not is_jump:
        return None
    side: Side = "source" if columns[0] == "HMMF" else "target"
    return JumpCount(side, int(number), float(count))


def _weight(text: str) -> float:
    """Return the weight that a text says; NaN if it says none."""
    try:
        weight = float(text)
    except ValueError:
        return math.nan
    return weight if is_weight(weight) else math.nan


def _eflomal_headword(line: str) -> list[str]:
    """Return the word that a line is about, which comes after ``LEX``."""
    columns = _columns(line)
    return columns[1:2] if columns[0] == "LEX" else columns[:1]


def _word_list_entry(number: int, columns: list[str], line: str) -> Entry:
    weight = _weight(columns[2]) if len(columns) > 2 else 1.0
    if not (2 <= len(columns) <= 3 and columns[0] and columns[1]) or math.isnan(weight):
        expected = (
            "expected a word, its translation and perhaps a weight above 0, "
            f"to {MAX_WEIGHT:g}, between tabs or spaces"
        )
        raise DataError(f"{expected}, found {line[:80]!r}")
    is_word = " " not in columns[1].strip()  # a word is taken as it is: it may be a comma
    return Entry(number, (columns[0],), (columns[1],), weight, is_word)


def _is_eflomal(line: str) -> bool:
    columns = _columns(line)
    return (len(columns), columns[0]) in _OTHER_PRIORS or (len(columns) == 4 and columns[0] == "LEX")


# --- word lists of PyGlossary (its format Tabfile), of dictionaries in other formats -------------
#
# A line has headwords with bars between, a tab, and a text, plain or HTML. In it, \n, \t, \| and \\ stand
# for characters. Lines that begin with ## are about the dictionary.


is_tabfile_header = re.compile(r"##\w+\t").match
_TABFILE_ESCAPE = re.compile(r"\\(.)")
_MEANING_OF_ESCAPE = {"n": "\n", "t": " ", "r": " ", "\\": "\\", "|": "|"}
_HEADWORD = re.compile(r"(?:[^\\|]++|\\.)+")
_HTML_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*+)([^<>]*+)>")
# Elements that begin a line
_BLOCKS = {
    *("blockquote", "br", "dd", "div", "dl", "dt", "dtrn", "h1", "h2", "h3", "h4", "hr", "li", "ol", "p"),
    *("table", "td", "th", "tr", "ul"),
}
# Elements of grammar, pronunciation and examples
_REMARKS = {"abbr", "abr", "co", "ex", "font", "i", "iref", "k", "kref", "pos", "rref", "small", "sub", "sup"}
_CLASS_OF_REMARK = re.compile(r"""class\s*+=\s*+["']?(?:example|k|abr|grammar|pron|phonetic|cm)\b""").search
_NUMBERED_SENSE = re.compile(r"\d{1,3}[.)]\s").match
_ABOUT_THE_DICTIONARY = ("00database", "00-database")  # headwords of dictd


def languages_of_header(lines: list[str]) -> tuple[str, str]:
    """Return the languages of headwords and of translations; "" for one that the header does not name."""
    names = dict(line[2:].split("\t", 1) for line in lines if is_tabfile_header(line))
    return names.get("sourceLang", ""), names.get("targetLang", "")


def _tabfile_entry(number: int, line: str) -> Record | None:
    if is_tabfile_header(line):
        return None
    if not _is_tabfile_entry(line):
        raise DataError(f"expected headwords, a tab and a text, found {line[:60]!r}")
    headwords = _headwords(line)
    if headwords[0].startswith(_ABOUT_THE_DICTIONARY):
        return UNUSED_ENTRY
    return Entry(number, headwords, _glosses(line, headwords))


def _is_tabfile_entry(line: str) -> bool:
    headwords, tab, _ = line.partition("\t")
    return bool(tab) and not headwords.startswith("##") and headwords.strip() != ""


def _headwords(line: str) -> list[str]:
    found = _HEADWORD.findall(line.partition("\t")[0])
    return [_unescaped(headword).strip() for headword in found]


def _unescaped(text: str) -> str:
    return _TABFILE_ESCAPE.sub(lambda escape: _MEANING_OF_ESCAPE.get(escape[1], escape[1]), text)


def _glosses(line: str, headwords: list[str]) -> list[str]:
    """Return the lines of the text that have translations.

    A first line that repeats the headword is omitted. Where lines are numbered, the others explain them;
    below a headword with its pronunciation, as in dictd, only the next line is a translation.
    """
    text = _unescaped(line.partition("\t")[2])
    glosses = [without_brackets(gloss).strip() for gloss in _without_tags(text).split("\n")]
    glosses = [gloss for gloss in glosses if gloss]
    repeated, slash, _ = glosses[0].partition("/") if glosses else ("", "", "")
    if len(glosses) > 1 and _letters(repeated) in map(_letters, headwords):
        glosses = glosses[1:]
    else:
        slash = ""
    numbered = [gloss for gloss in glosses if _NUMBERED_SENSE(gloss)]
    if numbered:
        return numbered
    return glosses[:1] if slash else glosses


def _letters(text: str) -> str:
    """Return the letters of a headword, whose lines may be capitalized or hyphenated."""
    return "".join(filter(str.isalnum, text.casefold()))


def _without_tags(text: str) -> str:
    """Return the lines of a text in HTML, without its remarks."""
    if "<" not in text:
        return html.unescape(text)
    pieces: list[str] = []
    remark = ""  # the name of the element of a remark that has begun
    depth = 0  # elements of this name that have not ended
    place = 0
    for tag in _HTML_TAG.finditer(text):
        if not remark:
            pieces.append(text[place : tag.start()])
        place = tag.end()
        is_end, name, attributes = bool(tag[1]), tag[2].lower(), tag[3]
        is_empty = attributes.endswith("/") or name in ("br", "hr")
        if remark:
            depth += (name == remark and not is_empty) * (-1 if is_end else 1)
            remark = remark if depth > 0 else ""
        elif not is_end and not is_empty and (name in _REMARKS or _CLASS_OF_REMARK(attributes)):
            remark, depth = name, 1
        if name in _BLOCKS:
            pieces.append("\n")
    if not remark:
        pieces.append(text[place:])
    return html.unescape("".join(pieces))


_read_cedict = partial(
    read_wanted_lines,
    headwords_of=_cedict_headwords,
    looks_like_entry=_looks_like_entry,
    parse=_cedict_entry,
)
_read_edict = partial(
    read_wanted_lines,
    headwords_of=_edict_headwords,
    looks_like_entry=_looks_like_entry,
    parse=_edict_entry,
)
_read_tabfile = partial(
    read_wanted_lines, headwords_of=_headwords, looks_like_entry=_is_tabfile_entry, parse=_tabfile_entry
)
_LINE_FORMATS = (
    LineFormat("cedict", _CEDICT, _read_cedict, lambda first: ("zh", "en")),
    LineFormat("edict", _EDICT, _read_edict, lambda first: ("ja", "en")),
    LineFormat("eflomal", _is_eflomal, _read_eflomal),
)
_WORD_LIST = LineFormat("word-list", bool, _read_word_list)
_TABFILE = LineFormat("tabfile", bool, _read_tabfile, languages_of_header)
_WIKTIONARY = LineFormat("wiktionary", is_wiktionary, read_wiktionary)
_JSON_LINES = LineFormat("json-lines", is_json, read_json_lines)
_JSON_OBJECT = LineFormat("json-object", bool, read_json_object)
