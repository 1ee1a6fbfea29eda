"""Escapes of Moses, such as ``&apos;``: its tokenizer writes them for characters that Moses itself uses."""

from __future__ import annotations

import re

# As in tokenizer.perl and deescape-special-chars.perl, with the three names of older versions.
_MEANINGS = {
    "&amp;": "&",
    "&#124;": "|",
    "&lt;": "<",
    "&gt;": ">",
    "&apos;": "'",
    "&quot;": '"',
    "&#91;": "[",
    "&#93;": "]",
    "&bar;": "|",
    "&bra;": "[",
    "&ket;": "]",
}
# HTML rarely has these; the others may come from either.
ESCAPES_OF_MOSES_ONLY = frozenset(_MEANINGS) - {"&amp;", "&lt;", "&gt;", "&quot;"}
_ESCAPE = re.compile("|".join(_MEANINGS))
find_escape = _ESCAPE.search


def unescape(line: str) -> str:
    """Return a line with each escape replaced by what it means, once.

    Spaces are not touched, so the words between them keep their numbers.

    Examples
    --------
    >>> unescape("it &apos;s A &amp; B &#124; &amp;lt;")
    "it 's A & B | &lt;"
    """
    if "&" not in line:
        return line
    return _ESCAPE.sub(lambda match: _MEANINGS[match[0]], line)
