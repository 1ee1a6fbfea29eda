"""Colours and labels that pages, notebooks and pictures share."""

from __future__ import annotations

import functools
import unicodedata

import numpy as np

LEVELS = 32
_JOINERS = "\u200c\u200d"  # parts of ordinary words in Persian, Devanagari and emoji


@functools.cache
def scale(name: str = "inferno") -> tuple[str, ...]:
    """Return `LEVELS` colours of a map of matplotlib; inferno is readable without colour vision."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return tuple(to_hex(colormaps[name](level)) for level in np.linspace(0, 1, LEVELS))


def is_light(colour: str) -> bool:
    """Tell whether dark text is easier to read on a colour like ``#fcffa4`` (luminance of Rec. 709).

    Examples
    --------
    >>> is_light("#fcffa4"), is_light("#000004")
    (True, False)
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 * 255


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
