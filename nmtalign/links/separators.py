"""Separators inside words, which formats without quotes and escapes cannot represent.

Programs split such a file at white space, at line breaks, and at the separator of its format, so a word that
contains one of these would be read as two words. Space-separated words never contain a space or ``\\n``;
lists of words, and text inside JSON, may.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nmtalign.errors import DataError
from nmtalign.names import SIDES

LINE_BREAKS = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"  # str.splitlines ends a line at each of these
_SEPARATOR_NAMES = {
    " ": "a space",
    "\t": "a tab",
    "\n": "a line break",
    "\v": "a vertical tab",
    "\f": "a form feed",
    "\r": "a carriage return",
}
_find_separator_in_word = re.compile(f"[ \t{LINE_BREAKS}]").search
_find_line_break = re.compile(f"[{LINE_BREAKS}]").search
_find_separator_in_line = re.compile(f"[\t{LINE_BREAKS}]").search


def may_be_split(line: str, separator: str = "") -> bool:
    """Return whether a line contains a separator other than a space, so that one of its words may."""
    return _find_separator_in_line(line) is not None or (separator != "" and separator in line)


def find_split_line(source: str, target: str) -> tuple[int, str] | None:
    """Return the first line at whose middle other programs may end it: its side, 0 or 1, and the problem."""
    for side, line in enumerate((source, target)):
        if found := _find_line_break(line):
            text = line[max(found.start() - 30, 0) : found.start() + 30]
            return side, f"the {SIDES[side]} {text!r} contains {_name_of(found[0])}; replace it"
    return None


def find_split_word(
    source: Sequence[str], target: Sequence[str], separator: str = ""
) -> tuple[int, str] | None:
    """Return the first word that is empty or contains a separator: its side, 0 or 1, and the problem."""
    for side, words in enumerate((source, target)):
        line = " ".join(words)
        more_spaces = line.count(" ") >= max(len(words), 1)
        if more_spaces or "" in words or may_be_split(line, separator):
            for word in words:
                if problem := _split_problem(word, separator):
                    return side, f"the {SIDES[side]} word {word[:60]!r} {problem}; replace it"
    return None


def check_unsplit(source: Sequence[str], target: Sequence[str], separator: str = "") -> None:
    """Raise DataError if a word is empty, or contains white space, a line break or the `separator`."""
    if cut := find_split_word(source, target, separator):
        raise DataError(cut[1])


def _name_of(separator: str) -> str:
    return _SEPARATOR_NAMES.get(separator, f"a line break (U+{ord(separator):04X})")


def _split_problem(word: str, separator: str) -> str:
    """Return the problem of a word; an empty text if there is none."""
    if not word:
        return "is empty, and the file has spaces between words"
    if found := _find_separator_in_word(word):
        return f"contains {_name_of(found[0])}, which separates words or columns in this format"
    if separator and separator in word:
        return f"contains {separator!r}, which separates words or columns in this format"
    return ""


# --- cells of our own tables, which can contain every word ---------------------------------------

_TSV_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_TSV_TRANSLATION = str.maketrans({c: f"\\u{ord(c):04x}" for c in LINE_BREAKS} | _TSV_ESCAPES)
_needs_csv_quotes = re.compile(f'[,"{LINE_BREAKS}]').search
FORMULA_SIGNS = tuple("=+-@\t\r\n＝＋－＠")  # a spreadsheet takes a cell that begins with one for a formula


def tsv_cell(word: str) -> str:
    r"""Return a word as a cell between tabs; tabs, line breaks and backslashes are escaped.

    >>> print(tsv_cell("a\tb\u2028c"))
    a\tb\u2028c
    """
    return word.translate(_TSV_TRANSLATION)


def csv_cell(word: str) -> str:
    """Return a word as a cell of CSV."""
    # the standard library's writer leaves a lone carriage return unquoted
    return '"' + word.replace('"', '""') + '"' if _needs_csv_quotes(word) else word


def without_formula(word: str) -> str:
    """Return a word that no spreadsheet takes for a formula: with an apostrophe before its sign.

    >>> without_formula("=1+1"), without_formula("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{word}" if word.startswith(FORMULA_SIGNS) else word
