"""Characters that do not belong into a line of text: separators, controls, escapes, wrong encodings.

A whole text is searched first, which is fast; its lines are looked at only where something was found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from nmtalign.checks.findings import Finding, SideOfFinding
from nmtalign.names import Side
from nmtalign.text.punctuation import ESCAPES_OF_MOSES_ONLY, find_escape

_ENTITY_IN_TEXT = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
# ftfy's pattern takes ten times as long; what it finds has two characters outside of ASCII side by side
_MAY_BE_MOJIBAKE = re.compile("[^\x00-\x7f](?:[^\x00-\x7f]|(?<=[ÃÂ]) )")
# What a line has if it may have a finding of a kind
_PATTERNS = {
    "tab": re.compile("\t"),
    "bars": re.compile(r"\|\|\|"),
    "carriage-return": re.compile("\r"),
    "html-entity": _ENTITY_IN_TEXT,
    "replacement-character": re.compile("\ufffd"),
    "line-separator": re.compile("[\x85\u2028\u2029]"),
    "mojibake": _MAY_BE_MOJIBAKE,
    # Zero-width spaces, soft hyphens, a byte order mark, and characters that change the direction of text.
    # The joiners of Indic, Arabic and emoji, and marks of one direction, are usual.
    "invisible-character": re.compile("[\u00ad\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"),
    "control-character": re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]"),
}
_SHOWN = {"\t": "\\t", "\r": "\\r", "|||": "|||"}  # other findings are shown by their number in Unicode
_ANY_TAG = re.compile("<[A-Za-z/][^<>]*+>")


def find_characters(lines: Sequence[str], side: Side) -> Iterator[Finding]:
    """Yield the findings about the characters of the lines of one side."""
    text = "\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    kinds_of_lines: defaultdict[int, list[str]] = defaultdict(list)
    for kind, pattern in _PATTERNS.items():
        for number in _lines_with(pattern, text, starts):
            kinds_of_lines[number].append(kind)
    for number in sorted(kinds_of_lines):
        yield from _findings_of_line(number, lines[number], side, kinds_of_lines[number])


def _lines_with(pattern: re.Pattern[str], text: str, starts: Sequence[int]) -> Iterator[int]:
    """Yield the numbers of the lines of a text in which a pattern occurs; each line begins at its start."""
    position = 0
    while match := pattern.search(text, position):
        number = bisect_right(starts, match.start()) - 1
        yield number
        position = starts[number + 1]


def _findings_of_line(number: int, line: str, side: SideOfFinding, kinds: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings of a line that has the patterns of some kinds."""
    for kind in kinds:
        value = _value_of_finding(kind, line)
        if not value:
            continue
        if kind == "html-entity" and find_escape(line) and value in ESCAPES_OF_MOSES_ONLY:
            kind = "moses-escape"
        yield Finding(number, side, kind, value)
        if kind == "mojibake":
            return  # its invisible characters come from the wrong encoding


def _value_of_finding(kind: str, line: str) -> str:
    """Return what is wrong with a line that has the pattern of a kind, or "" if nothing is."""
    if kind == "html-entity":
        return _entity_in_line(line)
    if kind == "mojibake":
        return find_mojibake(line)
    match = _PATTERNS[kind].search(line)
    assert match is not None
    return _SHOWN.get(match[0]) or f"U+{ord(match[0]):04X}"


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


# --- mojibake ------------------------------------------------------------------------------------


def find_mojibake(line: str) -> str:
    """Return what is left of UTF-8 in a wrong encoding, such as ``Ã©`` for *é*; "" if there is nothing.

    Examples
    --------
    >>> find_mojibake("l'Ã©tÃ©"), find_mojibake("l'été À « »"), find_mojibake("„groß“")
    ('Ã©t', '', '')
    """
    if _MAY_BE_MOJIBAKE.search(line) is None:
        return ""
    from ftfy.badness import BADNESS_RE

    for found in BADNESS_RE.finditer(line):
        # a control character between others of ASCII is a finding of its own
        if _MAY_BE_MOJIBAKE.search(line, max(found.start() - 1, 0), found.end() + 1):
            return str(found[0])
    return ""
