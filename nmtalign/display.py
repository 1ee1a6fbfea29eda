"""How values are shown in messages and on a terminal."""

from __future__ import annotations

import re
from reprlib import repr as shortened_repr
from typing import Any

MAX_REPR_CHARS = 180  # characters of a result in one line
# Control characters other than tab and line feed, line breaks, and what turns the direction of text
_TERMINAL_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def single_line(text: str) -> str:
    """Return text that shows a result: one line, cut where it is long."""
    text = text if len(text) <= MAX_REPR_CHARS else f"{text[:MAX_REPR_CHARS]} ..."
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def short_repr(value: Any) -> str:
    """Return how messages show a value: shortened, and on one line, also where its repr has several.

    >>> short([1, 2]), short(memoryview(b"abc"))
    ('[1, 2]', 'memoryview of shape (3,)')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:  # of an array or a table
        return f"{type(value).__name__} of shape {tuple(shape)}"
    representation: object = type(value).__repr__
    if representation is object.__repr__:  # it would show the address in memory
        return type(value).__name__
    text = shortened_repr(value)
    return text if text.isprintable() else single_line(" ".join(text.split()))


def escape_controls(text: str) -> str:
    r"""Return text that a terminal only shows, whatever commands words hold; tabs and line ends stay.

    >>> escape_controls("a\x1b[2Jb\u202e\tc")
    'a\\x1b[2Jb\\u202e\tc'
    """
    return _TERMINAL_CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
