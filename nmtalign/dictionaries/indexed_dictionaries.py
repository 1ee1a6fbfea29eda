"""Dictionaries of several files: dictd (.index, .dict), and StarDict (.ifo, .idx, .dict).

An index says where in the other file the text of each headword is. Either file, or their common name without
an ending, names the dictionary.
"""

from __future__ import annotations

import html
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nmtalign.dictionaries.entries import UNUSED_ENTRY, Entry, Record, Wanted
from nmtalign.errors import DataError, error_text
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary
from nmtalign.files.limits import FREE_DECOMPRESSED_BYTES, MAX_COMPRESSION_RATIO
from nmtalign.files.paths import file_inside

MAX_TEXT_BYTES = 1 << 16  # longer texts of a headword are about the dictionary as a whole
PLACES_PER_BLOCK = 1_000  # headwords that are looked at together, which is quicker
MAX_INFO_BYTES = 1 << 16  # the size of the file .ifo
_ENDINGS = re.compile(r"(\.dict(\.dz|\.gz)?|\.index|\.ifo|\.idx(\.gz|\.dz)?)$")
_DICTD_LINE = re.compile(rb"[^\t\n]*\t[A-Za-z0-9+/]{1,11}\t[A-Za-z0-9+/]{1,11}(\t[^\n]*)?\r?").fullmatch
_DIGITS = {
    letter: value
    for value, letter in enumerate(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}
_NUMBERED_SENSES = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+(.*)$", re.MULTILINE).findall
_OF_THE_DICTIONARY = ("00database", "00-database")  # headwords of remarks about the dictionary


@dataclass(frozen=True)
class IndexedFiles:
    """The files of a dictionary that has an index."""

    index: Path
    text: Path
    info: Path | None = None  # the file .ifo of StarDict


def indexed_files(path: Path) -> IndexedFiles | None:
    """Return the files of the dictionary that a path belongs to, or None if it has no index and text."""
    stem, folder = _ENDINGS.sub("", path.name), path.parent
    text = _first_file(folder, [f"{stem}{ending}" for ending in (".dict.dz", ".dict", ".dict.gz")])
    if text is None:
        return None
    info, index = folder / f"{stem}.ifo", folder / f"{stem}.index"
    if info.is_file():
        packed = _first_file(folder, [f"{stem}{ending}" for ending in (".idx", ".idx.gz", ".idx.dz")])
        return None if packed is None else IndexedFiles(packed, text, info)
    return IndexedFiles(index, text) if index.is_file() else None


def _first_file(folder: Path, names: Iterable[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_indexed(files: IndexedFiles, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of a dictionary with an index."""
    text = _content(files.text)
    left = max(
        FREE_DECOMPRESSED_BYTES,
        MAX_COMPRESSION_RATIO * (os.path.getsize(files.index) + os.path.getsize(files.text)),
    )
    places, glosses_of = _parts_of(files, wanted)
    for number, place in enumerate(places, 1):
        if place is None:
            yield UNUSED_ENTRY
        elif isinstance(place, DataError):
            yield place.at(files.index, line=number)
        elif not place.headword.startswith(_OF_THE_DICTIONARY) and place.size <= MAX_TEXT_BYTES:
            left -= place.size
            if left < 0:
                raise DataError("the index names the same text over and over again").at(files.index)
            record = _entry(number, place, text, glosses_of)
            yield record.at(files.index, line=number) if isinstance(record, DataError) else record


class Place(NamedTuple):
    """Where in the file .dict the text of a headword is."""

    headword: str
    begin: int
    size: int


Places = Iterator[Place | DataError | None]


def _parts_of(files: IndexedFiles, wanted: Wanted) -> tuple[Places, Callable[[bytes], list[str]]]:
    """Return the places of an index, and the function that returns the glosses in a text."""
    if files.info is None:
        return _dictd_places(files.index, wanted), _dictd_glosses
    settings = _stardict_settings(files.info)
    places = _stardict_places(files.index, wanted, wide=settings.get("idxoffsetbits") == "64")
    return places, partial(_stardict_glosses, kinds=settings.get("sametypesequence", ""))


def _entry(number: int, place: Place, text: bytes, glosses_of: Callable[[bytes], list[str]]) -> Record:
    """Return the entry of a place, `UNUSED_ENTRY` if it has no translation, or what is wrong with it."""
    end = place.begin + place.size
    if end > len(text):
        expected = f"expected the text of {place.headword[:40]!r} within {len(text):,} bytes"
        return DataError(f"{expected}, found byte {end:,}")
    try:
        glosses = glosses_of(text[place.begin : end])
    except UnicodeDecodeError as error:
        return DataError(f"expected UTF-8 text for {place.headword[:40]!r} ({error.reason})")
    return Entry(number, (place.headword,), glosses) if glosses else UNUSED_ENTRY


def _content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked within the bounds of packed files."""
    try:
        with open_binary(file_inside(path.parent, path.name)) as stream:
            return stream.read()
    except DECOMPRESSION_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        damaged = f"the compressed file is damaged or truncated ({error_text(error)})"
        raise DataError(damaged).at(path) from None


# --- dictd ---------------------------------------------------------------------------------------


def _dictd_places(path: Path, wanted: Wanted) -> Places:
    """Yield the place of each line of an index: headword, first byte and size, in base 64."""
    lines = [line for line in _content(path).split(b"\n") if line]
    headwords = list(map(_dictd_headword, lines))
    chosen = wanted([headword for headword in headwords if isinstance(headword, str)])
    for line, headword in zip(lines, headwords, strict=True):
        if isinstance(headword, DataError):
            yield headword
        elif headword not in chosen and line.count(b"\t") > 1:
            yield None
        elif _DICTD_LINE(line) is None:
            yield DataError(f"expected headword, place and size between tabs, found {line[:60]!r}")
        else:
            columns = line.split(b"\t")
            size = columns[2].removesuffix(b"\r")
            yield Place(headword.strip(), _base64_number(columns[1]), _base64_number(size))


def _dictd_headword(line: bytes) -> str | DataError:
    """Return the headword of a line of an index; a fourth column has the headword with all its letters."""
    columns = line.split(b"\t")
    headword = columns[3] if len(columns) > 3 and columns[3].strip() else columns[0]
    try:
        return headword.decode()
    except UnicodeDecodeError as error:
        return DataError(f"expected UTF-8 text ({error.reason})")


def _base64_number(digits: bytes) -> int:
    number = 0
    for digit in digits:
        number = 64 * number + _DIGITS[digit]
    return number


def _dictd_glosses(data: bytes) -> list[str]:
    """Return the translations in the text of a headword.

    The first line repeats the headword. Translations are the lines with numbers, or if there are none, the
    next line; others explain them, or refer to other headwords.
    """
    text = data.decode().strip("\n").partition("\n")[2]
    numbered: list[str] = _NUMBERED_SENSES(text)
    if numbered:
        return numbered
    first = next((line for line in text.split("\n") if line.strip()), "")
    return [] if first.lstrip().startswith(("see:", "Synonym")) or not first else [first]


# --- StarDict ------------------------------------------------------------------------------------


def _stardict_settings(path: Path) -> dict[str, str]:
    with open_binary(file_inside(path.parent, path.name)) as stream:
        text = stream.read(MAX_INFO_BYTES).decode("utf-8", "replace")
    lines = [line.partition("=") for line in text.split("\n")]
    return {name.strip(): value.strip() for name, equals, value in lines if equals}


def _stardict_places(path: Path, wanted: Wanted, *, wide: bool) -> Places:
    """Yield the place of each entry of an index whose headword is wanted, None for the others."""
    places = _all_stardict_places(path, wide=wide)
    while block := list(islice(places, PLACES_PER_BLOCK)):
        chosen = wanted([place.headword for place in block if isinstance(place, Place)])
        for place in block:
            yield place if isinstance(place, DataError) or place.headword in chosen else None


def _all_stardict_places(path: Path, *, wide: bool) -> Iterator[Place | DataError]:
    """Yield the place of each entry of an index: UTF-8, a zero byte, first byte and size, big-endian."""
    data, place = _content(path), 0
    numbers = struct.Struct(">QI" if wide else ">II")
    while place < len(data):
        end = data.find(b"\0", place)
        if end < 0 or end + 1 + numbers.size > len(data):
            yield DataError(f"expected a headword with two numbers at byte {place:,}, found the end")
            return
        try:
            headword = data[place:end].decode()
        except UnicodeDecodeError as error:
            yield DataError(f"expected UTF-8 text ({error.reason})")
        else:
            yield Place(headword, *numbers.unpack_from(data, end + 1))
        place = end + 1 + numbers.size


_TEXT_KINDS = set("mlghxtywk")  # kinds whose content ends at a zero byte
_SHOWN_KINDS = set("mlghx")  # plain text, Pango markup, HTML, XDXF
_BREAKS = re.compile(r"<(?:br|p|div|li|dtrn|tr|blockquote)\b[^<>]*>|\n", re.I)
_TAGS = re.compile(r"<[^<>]*>")
_PRONUNCIATION = re.compile(r"<(k|tr|abr|co|ex)>.*?</\1>", re.I | re.S)  # tags of XDXF


def _stardict_glosses(data: bytes, kinds: str) -> list[str]:
    """Return the lines of the texts of a headword, without markup."""
    glosses: list[str] = []
    for kind, content in _stardict_fields(data, kinds):
        if kind not in _SHOWN_KINDS:
            continue
        text = content.decode()
        if kind in "ghx":
            lines = _BREAKS.split(_PRONUNCIATION.sub("", text))
            lines = [html.unescape(_TAGS.sub("", line)) for line in lines]
        else:
            lines = text.split("\n")
        glosses += [line.strip() for line in lines if line.strip()]
    return glosses


def _stardict_fields(data: bytes, kinds: str) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and the content of each text of a headword.

    With `kinds`, no text has its kind, and the last one has no end. Pictures and sounds end the list.
    """
    place = 0
    for known in kinds or "?" * len(data):
        if place >= len(data):
            return
        kind = known
        if not kinds:
            kind, place = chr(data[place]), place + 1
        if kind not in _TEXT_KINDS:
            return
        end = data.find(b"\0", place)
        is_last = bool(kinds) and len(kinds) == 1
        end = len(data) if end < 0 or is_last else end
        yield kind, data[place:end]
        place = end + 1
