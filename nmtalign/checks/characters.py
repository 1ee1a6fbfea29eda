"""Characters that do not belong into a line of text: separators, controls, escapes, wrong encodings.

A whole text is searched first, which is fast; its lines are looked at only where something was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

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
_ENTITY_IN_TEXT = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")


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
    if "&" in text and _ENTITY_IN_TEXT.search(text):
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
    entities = _ENTITY_IN_TEXT.findall(line)
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

# ftfy's pattern takes ten times as long; what it finds has two characters outside of ASCII side by side
_may_have_mojibake = re.compile("[^\x00-\x7f]{2}|[ÃÂ] ").search


def find_mojibake(line: str) -> str:
    """Return what is left of UTF-8 in a wrong encoding, such as ``Ã©`` for *é*; "" if there is nothing.

    Examples
    --------
    >>> find_mojibake("l'Ã©tÃ©"), find_mojibake("l'été À « »"), find_mojibake("„groß“")
    ('Ã©t', '', '')
    """
    if _may_have_mojibake(line) is None:
        return ""
    from ftfy.badness import BADNESS_RE

    for found in BADNESS_RE.finditer(line):
        # a control character between others of ASCII is a finding of its own
        if _may_have_mojibake(line, max(found.start() - 1, 0), found.end() + 1):
            return str(found[0])
    return ""
