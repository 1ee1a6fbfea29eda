"""Words as labels: every character visible, long words shortened in the middle."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"  # parts of ordinary words in Persian, Devanagari and emoji


def visible(text: str) -> str:
    """Return `text` with control and formatting characters replaced by something that can be seen.

    Examples
    --------
    >>> visible("a\\x00b\\u202e")
    'a⟨U+0000⟩b⟨U+202E⟩'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS or c == "\u00a0" else _picture(c) for c in text)


def _picture(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else f"⟨U+{ord(character):04X}⟩"


def shorten(word: str, longest: int) -> str:
    """Return `word`, or its beginning and end around ``…`` when it has more than `longest` characters.

    Examples
    --------
    >>> shorten("Donaudampfschiffahrtsgesellschaft", 16)
    'Donaudam…llschaft'
    """
    if len(word) <= longest:
        return word
    return f"{word[: longest // 2]}…{word[-(longest // 2) :]}"
