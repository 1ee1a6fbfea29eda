"""Colors and labels that pages, notebooks and pictures share."""

from __future__ import annotations

import functools
import unicodedata

import numpy as np

LEVELS = 32
DARK, LIGHT = "inferno", "Blues"  # maps whose zero is black, for screens, and white, for paper
_JOINERS = "\u200c\u200d"  # parts of ordinary words in Persian, Devanagari and emoji


@functools.cache
def scale(name: str = DARK) -> tuple[str, ...]:
    """Return `LEVELS` colors of a map of matplotlib; inferno is readable without color vision."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return tuple(to_hex(colormaps[name](level)) for level in np.linspace(0, 1, LEVELS))


def is_light(color: str) -> bool:
    """Tell whether black has more contrast than white with a color like ``#fcffa4`` (WCAG 2: at least 4.58).

    >>> is_light("#fcffa4"), is_light("#000004")
    (True, False)
    """
    shares = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return bool(linear @ (0.2126, 0.7152, 0.0722) > 0.179)


def visible(text: str) -> str:
    """Return `text` with control and formatting characters replaced by something that can be seen.

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

    >>> shorten("Donaudampfschiffahrtsgesellschaft", 16)
    'Donaudam…llschaft'
    """
    if len(word) <= longest:
        return word
    return f"{word[: longest // 2]}…{word[-(longest // 2) :]}"
