"""Dictionaries of other formats, which another program converts to a word list.

They are recognized by their endings and first bytes.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from nmtalign.errors import DataError, error_text
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary

_HEAD_BYTES = 1 << 20  # the DTD of JMdict comes before its first element
_PACKED = re.compile(r"\.(?:gz|dz|bz2|xz|zst)$")
_STARDICT_INFO = b"StarDict's dict ifo file"
_ROOT = re.compile(rb"<(?:!DOCTYPE\s+)?(?:[\w.-]+:)?([A-Za-z][\w.-]*+)")
# Endings, what the files are, and the file that PyGlossary opens
_ENDINGS = {
    ".ifo": ("a StarDict dictionary", ".ifo"),
    ".idx": ("a StarDict dictionary", ".ifo"),
    ".syn": ("a StarDict dictionary", ".ifo"),
    ".index": ("a dictionary of dictd", ".index"),
    ".mdx": ("a dictionary of MDict", ".mdx"),
    ".bgl": ("a dictionary of Babylon", ".bgl"),
    ".slob": ("a dictionary of Aard", ".slob"),
    ".dsl": ("a dictionary of Lingvo", ".dsl"),
    ".xdxf": ("a dictionary in XDXF", ".xdxf"),
}
# Root elements, what the files are, and the options of PyGlossary
_ROOTS = {
    "JMdict": ("JMdict", " --read-format=JMDict"),
    "TEI": ("a dictionary in TEI", " --read-format=FreeDict"),
    "TEI.2": ("a dictionary in TEI", " --read-format=FreeDict"),
    "xdxf": ("a dictionary in XDXF", " --read-format=Xdxf"),
}
_EXPECTED = "expected a word list, CC-CEDICT, EDICT or an extract of Wiktionary"


def check_own_format(path: Path) -> None:
    """Raise DataError if a dictionary is of another format, with the command that converts it."""
    name = _PACKED.sub("", path.name)
    stem, ending = Path(name).stem, Path(name).suffix
    if ending == ".dict":  # the texts of StarDict and dictd, or a word list
        indexes = (path.with_name(f"{stem}{other}") for other in (".ifo", ".index"))
        ending = next((index.suffix for index in indexes if index.is_file()), "")
    if ending in _ENDINGS:
        kind, opened = _ENDINGS[ending]
        is_opened = Path(name).suffix == opened
        raise _converted(path, kind, path if is_opened else path.with_name(f"{stem}{opened}"))
    head = _head_of(path)
    if head.startswith(_STARDICT_INFO):
        raise _converted(path, "a StarDict dictionary", path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    root = _root_of(text) if text.startswith(b"<") else ""
    is_xml = text.startswith((b"<?xml", b"<!DOCTYPE")) and root != "html"
    if not is_xml and root not in (*_ROOTS, "dictionary"):
        return
    if root == "dictionary":
        words = _unused_name(path)
        command = f"lt-expand {shlex.quote(str(path))} | sed 's/<[^>]*>//g; s/:[<>]:/:/; s/:/\\t/' > {words}"
        advice = f"convert it with `{command}` (from Apertium's lttoolbox), and pass {words}"
        raise DataError(f"{_EXPECTED}, found a dictionary of Apertium; {advice}").at(path)
    kind, options = _ROOTS.get(root, (f"XML with the root element <{root}>", ""))
    raise _converted(path, kind, path, options)


def _converted(path: Path, kind: str, opened: Path, options: str = "") -> DataError:
    """Return an error with the command of PyGlossary that converts a dictionary."""
    words = _unused_name(opened)
    command = f"pyglossary {shlex.quote(str(opened))} {words}{options}"
    advice = f"convert it with `{command}` (pip install 'pyglossary<5.3' lxml), and pass {words}"
    return DataError(f"{_EXPECTED}, found {kind}; {advice}").at(path)


def _unused_name(path: Path) -> str:
    """Return a name for the word list of a dictionary that no file of this folder has."""
    stem = Path(_PACKED.sub("", path.name)).stem
    name, number = f"{stem}.txt", 1
    while Path(name).exists():
        number += 1
        name = f"{stem}-{number}.txt"
    return shlex.quote(name)


def _root_of(text: bytes) -> str:
    """Return the name of the root element of XML, or that of its DTD; "" if there is none."""
    place = 0
    while text.startswith((b"<?", b"<!--"), place):
        closing = b"?>" if text.startswith(b"<?", place) else b"-->"
        end = text.find(closing, place)
        if end < 0:
            return ""
        place = end + len(closing)
        while text[place : place + 1].isspace():
            place += 1
    root = _ROOT.match(text, place)
    return "" if root is None else root[1].decode("ascii", "replace")


def _head_of(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        with open_binary(path) as stream:
            return stream.read(_HEAD_BYTES)
    except DECOMPRESSION_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"the compressed file is damaged or truncated ({error_text(error)})") from None
