"""Values as messages, ``repr`` and a terminal show them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from reprlib import repr as shortened_repr
from typing import Any

MAX_REPR_CHARS = 180  # longer reprs are truncated

# Control characters other than tab and line feed, other line breaks, marks that change the direction of
# text, and surrogates
_TERMINAL_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


_JOINER = "\u200d"  # joins several emoji into one
# after a letter or an emoji, besides combining marks: joiners, variants, skin colors, tags of regions
_MODIFIERS = re.compile("[\u200c\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_HALF_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")  # two of them are the flag of a country


def split_characters(text: str) -> list[str]:
    """Return the characters of a text as readers see them: marks stay with their letter, emoji are whole.

    >>> [len(one) for one in split_characters("e\u0301\U0001f469\u200d\U0001f467\U0001f1eb\U0001f1f7x")]
    [2, 3, 2, 1]
    """
    if text.isascii():
        return list(text)
    starts: list[int] = []
    previous = ""
    is_half_flag = False
    for place, code_point in enumerate(text):
        is_mark = unicodedata.category(code_point) in ("Mn", "Mc", "Me")
        is_flag_part = _HALF_FLAG.match(code_point) is not None
        completes_flag = is_half_flag and is_flag_part
        continues = is_mark or _MODIFIERS.match(code_point) or previous == _JOINER or completes_flag
        if not (previous and continues):
            starts.append(place)
        is_half_flag = is_flag_part and not completes_flag
        previous = code_point
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def single_line(text: str) -> str:
    """Return text on one line, truncated after `MAX_REPR_CHARS` characters."""
    if len(text) > MAX_REPR_CHARS:
        following = text[: MAX_REPR_CHARS + 1]
        text = f"{''.join(split_characters(following)[:-1])} ..."
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


# --- words in pictures and pages -----------------------------------------------------------------

_VISIBLE = "\u200c\u200d\u00a0"  # joiners are parts of ordinary words in Persian, Devanagari and emoji
RIGHT_TO_LEFT_MARK = "\u200f"  # invisible


def visible(text: str) -> str:
    """Return `text` with control and formatting characters replaced by something that can be seen.

    >>> visible("a\\x00b\\u202e")
    'a⟨U+0000⟩b⟨U+202E⟩'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _VISIBLE else _visible_code_point(c) for c in text)


def _visible_code_point(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else f"⟨U+{ord(character):04X}⟩"


def abbreviate(word: str, longest: int) -> str:
    """Return `word`, or its beginning and end around ``…`` when it has more than `longest` characters.

    >>> abbreviate("Donaudampfschiffahrtsgesellschaft", 16)
    'Donaudam…llschaft'
    """
    characters = split_characters(word)
    if len(characters) <= longest:
        return word
    beginning = characters[: longest // 2]
    end = characters[-(longest // 2) :]
    return f"{''.join(beginning)}…{''.join(end)}"


def _first_direction(words: Iterable[str]) -> str:
    """Return the direction of the first letter that has one: ``L``, ``R`` or ``AL``; empty if none has."""
    for word in words:
        for letter in word:
            direction = unicodedata.bidirectional(letter)
            if direction in ("L", "R", "AL"):
                return direction
    return ""


def is_right_to_left(words: Iterable[str]) -> bool:
    """Return whether the first letter of a sentence is one that is written from right to left."""
    return _first_direction(words) in ("R", "AL")


def are_opposite(source: Iterable[str], target: Iterable[str]) -> bool:
    """Return whether two sentences are written in opposite directions."""
    return is_right_to_left(source) != is_right_to_left(target)


def mark_mirrored_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a sentence, with right-to-left marks around those whose brackets face to the left.

    A bracket that is a word of its own has no direction; it faces as in its sentence.
    """
    if not is_right_to_left(words):
        return words
    marked: list[str] = []
    for word in words:
        has_bracket = any(unicodedata.mirrored(letter) for letter in word)
        if has_bracket and _first_direction(word) != "L":
            word = f"{RIGHT_TO_LEFT_MARK}{word}{RIGHT_TO_LEFT_MARK}"
        marked.append(word)
    return marked
