"""Characters that do not belong into a line of text: separators, controls, escapes, wrong encodings.

A whole text is searched first, which is fast; its lines are looked at only where something was found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from nmtalign.checks.findings import Finding, SideOfFinding
from nmtalign.names import Side
from nmtalign.text.escapes import ESCAPES_OF_MOSES_ONLY, find_escape

Search = Callable[[str], str]  # returns what was found in a line, or ""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_SEPARATOR = re.compile("[\x85\u2028\u2029]")
# Zero-width spaces, soft hyphens, a byte order mark, and characters that change the direction of text. The
# joiners of Indic, Arabic and emoji, and marks of one direction, are usual.
_INVISIBLE = re.compile("[\u00ad\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_ANY_TAG = re.compile("<[A-Za-z/][^<>]*+>")
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
# UTF-8 that was read as another encoding: the first byte of a character, then one or more later bytes.
_WRONG_ENCODINGS = ("cp1252", "latin-1", "cp1250", "cp1251")
# Letters with marks, punctuation, symbols and emoji; other characters are rarely alone.
_OFTEN_ALONE = re.compile("[\u0080-\u017f\u2000-\u2bff\ufeff\ufffd\U0001f000-\U0001faff]")
_LATIN = re.compile("[\u0180-\u024f\u1e00-\u1eff]")
_MARKS_AFTER_WORDS = "\u00a0”“’‘»«›‹…–—™®©°€•"
_MIN_SEQUENCES = {"cp1252": 1, "latin-1": 1, "cp1250": 1, "cp1251": 3}


def find_characters(lines: Sequence[str], side: Side) -> Iterator[Finding]:
    """Yield the findings about the characters of the lines of one side."""
    text = "\n".join(lines)
    searches = _searches(text)
    if not searches:
        return
    for number, line in enumerate(lines):
        yield from _findings_of_line(number, line, side, searches)


def _searches(text: str) -> dict[str, Search]:
    """Return the kinds of findings that occur in a text, with the functions that find them in a line."""
    searches: dict[str, Search] = {}
    if "\t" in text:
        searches["tab"] = lambda line: "\\t" if "\t" in line else ""
    if "|||" in text:
        searches["bars"] = lambda line: "|||" if "|||" in line else ""
    if "\r" in text:
        searches["carriage-return"] = lambda line: "\\r" if "\r" in line else ""
    if "&" in text and _ENTITY.search(text):
        searches["html-entity"] = _entity_in_line
    if "\ufffd" in text:
        searches["replacement-character"] = lambda line: "U+FFFD" if "\ufffd" in line else ""
    if not text.isascii():
        if _LINE_SEPARATOR.search(text):
            searches["line-separator"] = _line_separator_in_line
        if _may_have_mojibake(text):
            searches["mojibake"] = find_mojibake
        if _INVISIBLE.search(text):
            searches["invisible-character"] = _invisible_in_line
    if _CONTROL.search(text):
        searches["control-character"] = _control_in_line
    return searches


def _findings_of_line(
    number: int, line: str, side: SideOfFinding, searches: dict[str, Search]
) -> Iterator[Finding]:
    for kind, search in searches.items():
        value = search(line)
        if not value:
            continue
        if kind == "html-entity" and find_escape(line) and value in ESCAPES_OF_MOSES_ONLY:
            kind = "moses-escape"
        yield Finding(number, side, kind, value)
        if kind == "mojibake":
            return  # its invisible characters come from the wrong encoding


def _entity_in_line(line: str) -> str:
    """Return an entity that text should not have; one that only Moses writes goes before others."""
    entities = _ENTITY.findall(line)
    for entity in entities:
        if entity in ESCAPES_OF_MOSES_ONLY:
            return str(entity)
    if _has_tags(line):
        return ""
    known = [entity for entity in entities if _is_known_entity(entity)]
    return str(known[0]) if known else ""


def _has_tags(line: str) -> bool:
    """Return whether a line has tags of XML or HTML, and so should have entities."""
    for tag in _ANY_TAG.findall(line):
        if tag.startswith("</") or tag.endswith("/>") or "=" in tag or tag.lower() == "<br>":
            return True
    return False


def _is_known_entity(entity: str) -> bool:
    from html.entities import html5

    return entity.startswith("&#") or entity[1:] in html5


def _control_in_line(line: str) -> str:
    match = _CONTROL.search(line)
    return f"U+{ord(match[0]):04X}" if match else ""


def _invisible_in_line(line: str) -> str:
    match = _INVISIBLE.search(line)
    return f"U+{ord(match[0]):04X}" if match else ""


def _line_separator_in_line(line: str) -> str:
    match = _LINE_SEPARATOR.search(line)
    return f"U+{ord(match[0]):04X}" if match else ""


# --- mojibake ------------------------------------------------------------------------------------


def _look_in(encoding: str, first: int, last: int) -> str:
    """Return how bytes look in an encoding, as the inside of a character class."""
    characters = []
    for code in range(first, last + 1):
        raw = bytes([code])
        try:
            characters.append(re.escape(raw.decode(encoding)))
        except UnicodeDecodeError:
            characters.append(re.escape(raw.decode("latin-1")))  # as Windows does
    return "".join(characters)


def _sequence_pattern(encoding: str) -> re.Pattern[str]:
    """Return the pattern of the characters of UTF-8 as they look in another encoding."""
    later = f"[{_look_in(encoding, 0x80, 0xBF)}]"
    two = f"[{_look_in(encoding, 0xC2, 0xDF)}]{later}"
    three = f"[{_look_in(encoding, 0xE0, 0xEF)}]{later}{later}"
    four = f"[{_look_in(encoding, 0xF0, 0xF4)}]{later}{later}{later}"
    return re.compile(f"{two}|{three}|{four}")


@cache
def _hint_pattern() -> re.Pattern[str]:
    """Return a pattern without alternatives, which is searched fast and matches wherever others match."""
    leads = "".join(_look_in(encoding, 0xC2, 0xF4) for encoding in _WRONG_ENCODINGS)
    later = "".join(_look_in(encoding, 0x80, 0xBF) for encoding in _WRONG_ENCODINGS)
    return re.compile(f"[{leads}][{later}]")


# The patterns are compiled at their first use: a text in ASCII needs none, and a clean text only the first.
@cache
def _sequence_patterns() -> dict[str, re.Pattern[str]]:
    return {encoding: _sequence_pattern(encoding) for encoding in _WRONG_ENCODINGS}


def _may_have_mojibake(text: str) -> bool:
    return _hint_pattern().search(text) is not None


def find_mojibake(line: str) -> str:
    """Return what UTF-8 became in a wrong encoding, such as ``Ã©`` for *é*; "" if there is nothing.

    Mojibake shows as letters with a mark followed by symbols; a quotation mark after such a letter, as in
    ``À »`` or ``„groß“``, is none. In Cyrillic, where single sequences occur in words, several are expected.

    Examples
    --------
    >>> find_mojibake("lâ€™Ã©tÃ©"), find_mojibake("l'été À « »"), find_mojibake("„groß“")
    ('â€™', '', '')
    """
    if line.isascii() or not _may_have_mojibake(line):
        return ""
    for encoding, pattern in _sequence_patterns().items():
        sequences = list(pattern.finditer(line))
        characters = [_read_as_utf8(sequence[0], encoding) for sequence in sequences]
        if not all(characters):
            continue  # one of them is none, so the others are not, either
        borders = Counter(border for sequence in sequences for border in sequence.span())
        conclusive = []
        for sequence, character in zip(sequences, characters, strict=True):
            is_joined = max(borders[border] for border in sequence.span()) > 1
            if is_joined or _is_conclusive(line, sequence, character):
                conclusive.append(sequence[0])
        if len(conclusive) >= _MIN_SEQUENCES[encoding]:
            return str(conclusive[0])
    return ""


def _read_as_utf8(text: str, encoding: str) -> str:
    """Return the letter or symbol that a sequence is in UTF-8; "" if texts do not have it."""
    raw = b""
    for character in text:
        try:
            raw += character.encode(encoding)
        except UnicodeEncodeError:
            raw += character.encode("latin-1", "replace")
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    is_double = "\u0080" <= decoded <= "\u00ad"  # a part of a character that was encoded twice
    return decoded if decoded.isprintable() or is_double else ""


def _is_conclusive(line: str, sequence: re.Match[str], character: str) -> bool:
    """Return whether a sequence that is not joined to another one cannot be honest text.

    In honest text a letter at the end of a word is followed by a mark: ``„groß“``, ``créé »``, ``CAFÉ…``. Of
    most scripts, mojibake has sequences that are joined to each other, because words have several letters.
    """
    before, after = line[: sequence.start()][-1:], line[sequence.end() :][:1]
    if _OFTEN_ALONE.match(character) is None:
        return _LATIN.match(character) is not None and after.isalpha()
    ends_capitals = before.isupper() and sequence[0][0].isupper() and not after.isalpha()
    return not (ends_capitals and sequence[0][1:] in _MARKS_AFTER_WORDS)
