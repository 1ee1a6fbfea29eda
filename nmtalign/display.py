"""Values as messages, ``repr`` and a terminal show them."""

from __future__ import annotations

import re
from reprlib import repr as shortened_repr
from typing import Any

MAX_REPR_CHARS = 180  # longer reprs are truncated

# Control characters other than tab and line feed, other line breaks, marks that change the direction of
# text, and surrogates
_TERMINAL_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def single_line(text: str) -> str:
    """Return text on one line, truncated after `MAX_REPR_CHARS` characters."""
    if len(text) > MAX_REPR_CHARS:
        text = f"{text[:MAX_REPR_CHARS]} ..."
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def short_repr(value: Any) -> str:
    """Return a value as messages show it: shortened, and on one line even if its repr has several.

    >>> short_repr([1, 2]), short_repr(memoryview(b"abc"))
    ('[1, 2]', 'memoryview of shape (3,)')
    """
    type_name = type(value).__name__
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:  # an array or a table
        return f"{type_name} of shape {tuple(shape)}"
    representation: object = type(value).__repr__
    if representation is object.__repr__:  # would show the address in memory
        return type_name
    text = shortened_repr(value)
    return text if text.isprintable() else single_line(" ".join(text.split()))


def name_pair(number: int, frame_index: Any = None) -> str:
    """Return how errors name a pair that is given in Python: counted from 0, with the index of its DataFrame.

    >>> name_pair(2), name_pair(1, ["s7", "s9"])
    ('pair 2', "pair 1 (index 's9')")
    """
    if frame_index is None:
        return f"pair {number:,}"
    return f"pair {number:,} (index {show_label(frame_index, number)})"


def show_label(frame_index: Any, number: int) -> str:
    """Return the label of a row of an index, as messages show it."""
    label = frame_index[number]
    label = label.item() if hasattr(label, "item") else label  # a number of NumPy as one of Python
    return short_repr(label)


def escape_controls(text: str) -> str:
    r"""Return text that cannot command a terminal: control characters are escaped.

    Tabs and line ends are kept.

    >>> escape_controls("a\x1b[2Jb\u202e\tc")
    'a\\x1b[2Jb\\u202e\tc'
    """
    return _TERMINAL_CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def with_plural(number: int, noun: str) -> str:
    """Return a number with its noun, which becomes a plural in "s" unless the number is 1.

    >>> with_plural(1, "pair"), with_plural(2_000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
