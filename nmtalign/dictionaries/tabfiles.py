r"""Word lists that PyGlossary writes (its format Tabfile), of dictionaries in other formats.

A line has headwords with bars between, a tab, and a text, plain or HTML, in which ``\n``, ``\t``, ``\|`` and
``\\`` stand for characters. Lines that begin with ``##`` are about the dictionary.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from nmtalign.dictionaries.entries import (
    UNUSED_ENTRY,
    Entry,
    NumberedLines,
    Record,
    Wanted,
    read_wanted_lines,
    without_brackets,
)
from nmtalign.errors import DataError

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


def read_tabfile(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of a word list of PyGlossary."""
    return read_wanted_lines(
        lines, path, wanted, headwords_of=_headwords, looks_like_entry=_is_tabfile_entry, parse=_tabfile_entry
    )


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
