"""Punctuation at the edges of words, such as the comma of ``house,``, and its escapes, such as ``&apos;``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_EDGE_MARKS = 8  # further marks on an edge of a word stay with its middle
_WORD_CHARACTERS = frozenset("%&#@*/\\‰†‡§¶-_'’+=$")  # punctuation in Unicode that is part of words
_OPENING_QUOTES = frozenset("'‘’‚")
_CLOSING_QUOTES = frozenset("'’‘")
ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"  # of HTML or XML
_ENTITY_AT_END = re.compile(rf"{ENTITY}\Z")
_MARK_CATEGORIES = frozenset(("Ps", "Pe", "Pi", "Pf", "Pd", "Po"))


def without_edge_marks(word: str) -> str:
    """Return a word without the punctuation at its edges; a word of nothing else is returned unchanged.

    >>> without_edge_marks("(dogs)."), without_edge_marks("...")
    ('dogs', '...')
    """
    lead, trail = edge_marks(word)
    return word if lead == len(word) else word[lead : len(word) - trail]


def edge_marks(word: str) -> tuple[int, int]:
    """Return the number of marks before and after the middle of a word; all of it if it is punctuation.

    A bracket whose counterpart is inside the word belongs to the word.

    >>> edge_marks("(file(s))."), edge_marks("(un)known")
    ((1, 2), (0, 0))
    """
    if all(map(_is_mark, word)):
        return len(word), 0
    lead = trail = 0
    while lead < MAX_EDGE_MARKS and _is_mark(word[lead]):
        lead += 1
    while trail < MAX_EDGE_MARKS and _is_mark(word[-1 - trail]):
        if _ENTITY_AT_END.search(word, 0, len(word) - trail):
            break  # its semicolon belongs to it
        trail += 1
    middle = word[lead : len(word) - trail]
    lead_marks, trail_marks = word[:lead], word[len(word) - trail :]
    lead -= _marks_up_to_counterpart(reversed(middle), reversed(lead_marks), opening="Pe", closing="Ps")
    trail -= _marks_up_to_counterpart(middle, trail_marks, opening="Ps", closing="Pe")
    middle = word[lead : len(word) - trail]
    if len(middle) > 2 and middle[0] in _OPENING_QUOTES and middle[-1] in _CLOSING_QUOTES:
        return lead + 1, trail + 1  # an apostrophe belongs to the word, a pair of quotation marks does not
    return lead, trail


def _marks_up_to_counterpart(
    middle: Iterable[str], marks: Iterable[str], *, opening: str, closing: str
) -> int:
    """Return the number of marks up to the last one that closes a bracket of the middle.

    Brackets are known by their Unicode categories; the start of a word is read backwards.
    """
    depth = 0
    for character in middle:
        category = unicodedata.category(character)
        if category == opening:
            depth += 1
        elif category == closing:
            depth = max(depth - 1, 0)
    count = 0
    for number, mark in enumerate(marks, 1):
        if depth and unicodedata.category(mark) == closing:
            depth -= 1
            count = number
    return count


def _is_mark(character: str) -> bool:
    """Return whether a character at the edge of a word is not part of it."""
    if character in _WORD_CHARACTERS:
        return False
    return character.isspace() or unicodedata.category(character) in _MARK_CATEGORIES


# --- escapes of Moses: its tokenizer writes them for characters that Moses itself uses -----------


# As in tokenizer.perl and deescape-special-chars.perl, with the three names of older versions.
_MEANINGS = {
    "&amp;": "&",
    "&#124;": "|",
    "&lt;": "<",
    "&gt;": ">",
    "&apos;": "'",
    "&quot;": '"',
    "&#91;": "[",
    "&#93;": "]",
    "&bar;": "|",
    "&bra;": "[",
    "&ket;": "]",
}
# HTML rarely has these; the others may come from either.
ESCAPES_OF_MOSES_ONLY = frozenset(_MEANINGS) - {"&amp;", "&lt;", "&gt;", "&quot;"}
_ESCAPE = re.compile("|".join(_MEANINGS))
find_moses_escape = _ESCAPE.search


def unescape_moses(line: str) -> str:
    """Return a line with each escape replaced by what it means, once.

    Spaces are not touched, so the words between them keep their numbers.

    Examples
    --------
    >>> unescape_moses("it &apos;s A &amp; B &#124; &amp;lt;")
    "it 's A & B | &lt;"
    """
    if "&" not in line:
        return line
    return _ESCAPE.sub(lambda match: _MEANINGS[match[0]], line)
