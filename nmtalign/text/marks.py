"""Combining marks, and normal forms of text that piles thousands of them on a letter."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

_PILE = 1_000  # marks on one letter; no language has more than a few


@lru_cache(maxsize=1)
def mark_class() -> str:
    """Return the combining marks as the inside of a character class; ``\\w`` leaves them out."""
    codes = (c for c in range(0x300, 0x1FA00) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    runs = (list(group) for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]))
    return "".join(f"\\U{run[0][1]:08x}-\\U{run[-1][1]:08x}" for run in runs)


def normal_form(form: str, text: str) -> str:
    """Return a normal form of `text` in linear time: piles of `_PILE` marks and more stay as they are.

    To put the marks of a pile in order takes time that grows with the square of their number.

    Parameters
    ----------
    form : {"NFC", "NFD", "NFKC", "NFKD"}
    text : str

    Examples
    --------
    >>> normal_form("NFC", "e\\u0301")
    'é'
    >>> pile = "a\\u0301" + 5_000 * "\\u0301\\u0316"
    >>> normal_form("NFC", pile + "e\\u0301") == pile + "é"
    True
    """
    parts = [text]
    # Each pile has a mark at a multiple of its length; the first mark is U+0300
    if len(text) > _PILE and max(text[::_PILE]) >= "\u0300":
        mark = f"[{mark_class()}\uff9e\uff9f]"  # two letters become marks in NFKC
        if re.search(mark, text[::_PILE]):
            parts = re.split(f"((?<!{mark}){mark}{{{_PILE},}})", text)
    parts[::2] = [unicodedata.normalize(form, part) for part in parts[::2]]  # type: ignore[arg-type]
    return "".join(parts)
