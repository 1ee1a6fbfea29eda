"""What a file is: its compression and encoding by its first bytes, its format by its first lines.

A file is read by its content. What cannot be read as text is named, so that nobody has to guess from an
undecodable byte. Only what is certain has a kind: text that merely begins with a bracket, a tag or a time has
none, so that no sentence is taken for a file format. The time is proportional to the length of the head.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from nmtalign.errors import DataError

HEAD_BYTES = 512  # enough for every signature; that of a tar archive is at byte 257

_COMPRESSIONS = {
    ".gz": re.compile(rb"\x1f\x8b\x08"),
    ".bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    ".xz": re.compile(rb"\xfd7zXZ\x00"),
    ".zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}

_ZIP = rb"PK\x03\x04.{26}"  # the name of the first file follows
_NUMPY_ARCHIVE = _ZIP + rb"[^/]+\.npy"
is_numpy_archive = re.compile(_NUMPY_ARCHIVE, re.DOTALL).match
_UNPACK_FIRST = "unpack it first"
_SAVE_AS_TEXT = "save it as plain text, one sentence per line"
_NOT_TEXT = "this command reads text"
_GIVE_PAIRS = "give it as a file of pairs whose name ends in .parquet"
_SAVE_AS_TABLE = "save it as Parquet, CSV or JSON lines"
_FOR_TEXT = (_SAVE_AS_TEXT, _NOT_TEXT, _GIVE_PAIRS, _SAVE_AS_TABLE)
_ZIP_KINDS = (
    (_ZIP + rb"(\[Content_Types\]\.xml|_rels/|docProps/|word/|xl/)", "an Office document", _SAVE_AS_TEXT),
    (_ZIP + rb"mimetypeapplication/", "an OpenDocument file or an e-book", _SAVE_AS_TEXT),
    (_ZIP + rb"[^/]+/(data\.pkl|version|\.format_version|byteorder)", "a PyTorch file", _NOT_TEXT),
    (_NUMPY_ARCHIVE, "a NumPy archive (.npz)", _NOT_TEXT),
)
_COMPRESSIONS[".zip"] = re.compile(
    rb"(?!" + rb"|".join(pattern for pattern, _, _ in _ZIP_KINDS) + rb")PK(\x03\x04|\x05\x06)", re.DOTALL
)
PICKLE, FASTTEXT, XML = "a pickle of Python", "a fastText model", "an XML file"
# kinds of files that cannot be read as text: the pattern of their first bytes, a name, and advice
_OTHER_KINDS = (
    *_ZIP_KINDS,
    (rb"PK(\x03\x04|\x05\x06|\x07\x08)", "a ZIP archive", _UNPACK_FIRST),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK_FIRST),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK_FIRST),
    (rb".{257}ustar(\x00|  \x00)", "a tar archive", _UNPACK_FIRST),
    (rb"\x1f\x8b", "data compressed by gzip", _UNPACK_FIRST),
    (rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", "data compressed by bzip2", _UNPACK_FIRST),
    (rb"\xfd7zXZ\x00", "data compressed by xz", _UNPACK_FIRST),
    (rb"\x28\xb5\x2f\xfd", "data compressed by zstd", _UNPACK_FIRST),
    (rb"\x04\x22\x4d\x18", "data compressed by lz4", _UNPACK_FIRST),
    (rb"LZIP\x01", "data compressed by lzip", _UNPACK_FIRST),
    (rb"\x1f\x9d", "data compressed by compress (.Z)", _UNPACK_FIRST),
    (rb"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19\.", "a PyTorch file", _NOT_TEXT),
    (rb"\x80[\x02-\x05]", PICKLE, _NOT_TEXT),
    (rb".{4}\x00{4}\{\s*[\"}]", "a safetensors file", _NOT_TEXT),
    (rb"\x93NUMPY", "a NumPy array (.npy)", _NOT_TEXT),
    (rb"\x89HDF\r\n", "an HDF5 file", _NOT_TEXT),
    (rb"GGUF[\x00-\x0f]", "a GGUF model", _NOT_TEXT),
    (rb"\xba\x16\x4f\x2f", FASTTEXT, _NOT_TEXT),
    (rb"PAR1\x15", "a Parquet file", _GIVE_PAIRS),
    (rb"ARROW1\x00", "an Arrow file", _SAVE_AS_TABLE),
    (rb"SQLite format 3\x00", "an SQLite database", _NOT_TEXT),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document", _SAVE_AS_TEXT),
    (rb"%PDF-", "a PDF document", _SAVE_AS_TEXT),
    (rb"\{\\rtf", "an RTF document", _SAVE_AS_TEXT),
    (rb"\x89PNG\r\n|\xff\xd8\xff", "a picture", _NOT_TEXT),
    (
        rb"version https://git-lfs\.github\.com/spec/",
        "a pointer of Git LFS instead of the file",
        "fetch the file with `git lfs pull`",
    ),
    (
        rb"[^\n]{0,400}/annex/objects/\S+\s*\Z",
        "a pointer of git-annex instead of the file",
        "fetch the file with `git annex get`",
    ),
    (
        rb"\s*(?i:<!doctype\s+html[^<>]*>\s*(<|\Z)|<html(\s[^>\n]*)?>(<head>)?\s*(\n|<meta|<title))",
        "a web page (HTML)",
        "download the file itself, or save its text, one sentence per line",
    ),
    (rb"\s*<\?xml\s", XML, _NOT_TEXT),
)

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
# Characters take two or four bytes, so that a line does not end at each byte 0x0A.
WIDE_ENCODINGS = {
    *("utf-16", "utf-16-le", "utf-16-be"),
    *("utf-32", "utf-32-le", "utf-32-be"),
}


def detect_compression(head: bytes) -> str | None:
    """Return the ending, such as ``.gz``, that a compressed file with these first bytes should have."""
    for ending, pattern in _COMPRESSIONS.items():
        if pattern.match(head):
            return ending
    return None


def check_readable(
    head: bytes, *, expected: str = "text", readable: Collection[str] = (), advice_on_data: str = ""
) -> None:
    """Raise DataError if the first bytes of a file say that it is of another kind.

    `expected` names the kind that was expected, `readable` those that are read as well. `advice_on_data`
    takes the place of advice for somebody who expects text.
    """
    start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    for pattern, name, advice in _OTHER_KINDS:
        if name not in readable and re.compile(pattern, re.DOTALL).match(head, start):
            advice = advice_on_data if advice_on_data and advice in _FOR_TEXT else advice
            raise DataError(f"expected {expected}, found {name}; {advice}")


def detect_encoding(head: bytes, encoding: str) -> str:
    """Return the encoding of a text file: that of its byte order mark, or `encoding`.

    ``utf-16`` without a byte order mark becomes ``utf-16-le`` or ``utf-16-be``. Raises DataError if the first
    bytes, `HEAD_BYTES` or more, contradict `encoding`.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return name
    wanted = codecs.lookup(encoding).name  # aliases have one name
    found = _wide_encoding(head[:HEAD_BYTES])
    if found is not None and not found.startswith(wanted):
        reason = f"expected {encoding} text, found {found} without a byte order mark"
        raise DataError(f"{reason}; name its encoding (`encoding={found}`)")
    if wanted in WIDE_ENCODINGS and head and b"\0" not in head:  # a space, in any script, has a zero byte
        reason = f"expected {encoding} text, found neither a byte order mark nor a zero byte"
        advice = "remove `encoding`: files with a byte order mark are recognized"
        raise DataError(f"{reason}; {advice}")
    if wanted in ("utf-16", "utf-32"):
        return found or f"{wanted}-le"
    if wanted in WIDE_ENCODINGS:
        return wanted
    return "utf-8" if wanted == "utf-8-sig" else encoding


def _wide_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32, with the order of its bytes, if the first bytes look like it.

    The zero bytes of ASCII characters are all at odd places, or all at even ones, and each byte 0x0A is
    one half of a line end.
    """
    zeros = [place for place, byte in enumerate(head) if not byte]
    if len(head) < 8 or len(zeros) < 2:
        return None
    if re.match(rb"([\x20-\x7e]\x00{3}){2}", head):
        return "utf-32-le"
    if re.match(rb"(\x00{3}[\x20-\x7e]){2}", head):
        return "utf-32-be"
    order = zeros[0] % 2  # 1 where the zero byte comes second
    if any(place % 2 != order for place in zeros):
        return None
    line_ends = [place for place, byte in enumerate(head[:-1]) if byte == 0x0A]
    if order:
        is_consistent = all(place % 2 == 0 and not head[place + 1] for place in line_ends)
        letters = re.search(rb"[\x20-\x7e]\x00", head)
    else:
        is_consistent = all(place % 2 == 1 and not head[place - 1] for place in line_ends)
        letters = re.search(rb"\x00[\x20-\x7e]", head)
    if not is_consistent or letters is None:
        return None
    return "utf-16-le" if order else "utf-16-be"


# --- text files, by their first lines ------------------------------------------------------------


_SNIFFED_LINES = 10
_MIN_CHARS_ON_ONE_LINE = 1000  # a sentence that is the beginning of JSON is shorter
_AS_TEXT = "write its sentences as plain text, one per line"
_AS_TABLE = "write the texts of both languages as TSV"
_BOTH_TEXTS = "pass the files of both languages as the two texts"
PAIR_FORMATS_READ = "files of pairs are TSV, CSV, JSON lines, TMX, XLIFF, PO, Parquet, or `source ||| target`"


class FileKind(NamedTuple):
    """A kind of file that is not plain text."""

    name: str  # with its article
    advice: str = ""  # what to do with it where it is not read
    format: str | None = None  # the format of pairs that reads it
    endings: tuple[str, ...] = ()  # the names of files that are read as the two texts
    is_text: bool = False  # it may be plain text after all


TMX = FileKind("a translation memory (TMX)", format="tmx")
XLIFF = FileKind("an XLIFF file", format="xliff")
PO = FileKind("a gettext catalog (PO)", format="po")
JSON_LINES = FileKind("JSON lines", format="jsonl")
JSON_ARRAY = FileKind("a JSON array", "write one object per line: jq -c '.[]' OLD.json > NEW.jsonl")
JSON_OBJECT = FileKind("a JSON object", f"pair the texts of both languages by their keys: {_AS_TABLE}")
SUBRIP = FileKind("subtitles (SubRip)", endings=(".srt",))
WEBVTT = FileKind("subtitles (WebVTT)", endings=(".vtt",))
SUBSTATION = FileKind("subtitles (SubStation Alpha)", endings=(".ass", ".ssa"))
CONLLU = FileKind("CoNLL-U", endings=(".conllu",))
CONLLU_ENDING = ".conllu"
SUBTITLE_ENDINGS = (*SUBRIP.endings, *WEBVTT.endings, *SUBSTATION.endings)
_MICRODVD = FileKind("subtitles (MicroDVD)", "convert them to SubRip, whose names end in .srt")
COLUMNS = FileKind(
    "columns of CoNLL, a word with its label on each line",
    "write the words, or the labels, of a sentence on one line: "
    'awk \'NF {printf "%s ", $NF} !NF {print ""}\' OLD > NEW writes the last column',
)
_APPLE_STRINGS = FileKind("messages in Apple's form (.strings)", f"pair them by their keys: {_AS_TABLE}")
_SGML = FileKind(
    "SGML of a shared task",
    "write its segments as plain text, one per line: "
    r"sed -n 's/.*<seg[^>]*> *\(.*[^ ]\) *<\/seg>.*/\1/p' OLD > NEW",
)
_ELEMENT = FileKind("an XML or SGML file", _AS_TEXT)
_SUBVIEWER = FileKind("subtitles (SubViewer)", "convert them to SubRip, whose names end in .srt")
_LYRICS = FileKind("lyrics with times (LRC)", r"remove the times: sed 's/^\[[^]]*\] *//' OLD > NEW")
_LATEX = FileKind("LaTeX", f"{_AS_TEXT}: detex OLD > NEW")
_PHP = FileKind("PHP", f"pair its texts by their keys: {_AS_TABLE}")
_KEYED_LINES = FileKind(
    "a key in each of the first lines, as in .properties, .ini and YAML",
    f"if the keys are no words of the text, pair the texts by them: {_AS_TABLE}",
    is_text=True,
)
_QUOTED_LINES = FileKind(
    "a JSON string in each of the first lines",
    "if the quotation marks are not of the text, remove them: jq -r . OLD > NEW",
    is_text=True,
)
_TAGGED_LINES = FileKind(
    "an element of XML or HTML in each of the first lines",
    f"if these are not of the text, {_AS_TEXT}",
    is_text=True,
)
_KIND_OF_ROOT = {
    "tmx": TMX,
    "xliff": XLIFF,
    "ts": FileKind("a Qt translation file", "convert it to XLIFF: lconvert -i OLD.ts -o NEW.xlf"),
    "resources": FileKind("Android strings", f"pair them by their names: {_AS_TABLE}"),
    "martif": FileKind("a terminology file (TBX)", f"it has terms, not sentences: {_AS_TABLE}"),
    "cesalign": FileKind(
        "an alignment of OPUS (cesAlign), which only numbers sentences",
        "download the texts from OPUS in the format Moses, or write them with opus_read",
    ),
    "tt": FileKind("subtitles (TTML)", "convert them to SubRip, whose names end in .srt"),
    **dict.fromkeys(("srcset", "refset", "tstset"), _SGML),
    **dict.fromkeys(("mteval", "dataset", "cesdoc", "tei", "text"), _ELEMENT),
}
_KIND_OF_ROOT["tbx"] = _KIND_OF_ROOT["martif"]

_skip_spaces = re.compile(r"\s*").match
_find_name = re.compile(r"<([A-Za-z_][\w.-]*)(?::([A-Za-z_][\w.-]*))?(?=[\s/>])").match
_PROLOGUE = {"<?": "?>", "<!--": "-->"}
_is_segment = re.compile(r"<seg\b[^<>]*>.*</seg>", re.IGNORECASE).fullmatch
_is_time = re.compile(
    r"(?:\d{1,3}:)?\d{1,2}:\d{1,2}[,.]\d{1,3} *--> *(?:\d{1,3}:)?\d{1,2}:\d{1,2}[,.]\d"
).match
_is_subviewer_time = re.compile(r"\d{1,2}:\d\d:\d\d\.\d{2,3},\d{1,2}:\d\d:\d\d\.\d{2,3}").fullmatch
_is_frame = re.compile(r"\{\d{1,9}\}\{\d{1,9}\}|\[\d{1,9}\]\[\d{1,9}\]").match
_is_lyric = re.compile(r"\[(?:\d{1,3}:\d\d(?:[.:]\d{1,3})?|[a-z]{2,6}:[^]]*)\]").match
_is_element = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>.*</\1>").fullmatch
_find_key = re.compile(r"(?:- )?(?:[^\W\d][\w.-]*+|\"[^\"]+\"|'[^']+')(?= *=|:(?: |$))").match
_is_section = re.compile(r"\[[^\[\]]+\]|---").fullmatch
_is_message = re.compile(r'"[^"]*" *= *".*";').fullmatch
_is_tag_label = re.compile(r"O|[BIES]-\S+").fullmatch
_is_row_number = re.compile(r"\d+(?:[-.]\d+)?").fullmatch


def identify(head: str) -> FileKind | None:
    """Return the kind of a file that begins with this text; None for plain text.

    >>> identify('{"en": "a house", "fr": "une maison"}\\n').name
    'JSON lines'
    >>> identify("<b>a</b> house\\n"), identify("[1] a house\\n"), identify("1\\n00:01 it began\\n")
    (None, None, None)
    """
    head = head.removeprefix("\ufeff")
    *complete, last = head.split("\n")
    stripped = [line.strip() for line in complete or [last]]
    lines = [line for line in stripped if line][:_SNIFFED_LINES]
    if not lines:
        return None
    if lines[0][0] == "<":
        return _kind_of_markup(head, lines) or _kind_of_tagged(lines)
    kind = _kind_of_json(head, lines) if lines[0][0] in "{[" else None
    return kind or _kind_of_lines(lines) or _kind_of_table(lines)


def check_sentences(head: str) -> FileKind | None:
    """Raise DataError if a file that begins with this text is not one of two texts; return what it may be."""
    kind = identify(head)
    if kind is None or kind.is_text:
        return kind
    advice = kind.advice
    if kind.endings:
        advice = f"{_BOTH_TEXTS}, with names that end in {' or '.join(kind.endings)}"
    elif kind.format:
        advice = "if it has both sides, pass it alone (`pairs=FILE`)"
        advice += f"; if not, {_AS_TABLE}" if kind is JSON_LINES else ""
    raise DataError(f"expected plain text, one sentence per line, found {kind.name}; {advice}")


def check_pair_file(head: str, format: str) -> str:
    """Return the format of a file of pairs that begins with this text; `auto` is that of its content.

    DataError if it is a file of another kind.
    """
    kind = identify(head)
    if kind is None or kind.is_text or format in (kind.format, f"{kind.format}-fuzzy"):
        return format
    if kind in (CONLLU, COLUMNS) and format == "tsv":  # whose columns may be chosen
        return format
    if format == "auto" and kind.format:
        return kind.format
    if kind.format:
        advice = f"name its format: `format={kind.format}`"
    elif kind.endings:
        advice = f"{_BOTH_TEXTS}, with names that end in {' or '.join(kind.endings)}"
    else:
        advice = f"{kind.advice}; {PAIR_FORMATS_READ}"
    expected = "sentence pairs" if format == "auto" else f"the format {format}"
    raise DataError(f"expected {expected}, found {kind.name}; {advice}")


def check_labels(head: str) -> None:
    """Raise DataError if annotations, a line per sentence, begin as columns, a line per word."""
    kind = identify(head)
    if kind in (CONLLU, COLUMNS):
        advice = COLUMNS.advice if kind is COLUMNS else "name its format: `tags_format=conllu`"
        raise DataError(f"expected the annotations of a sentence on each line, found {kind.name}; {advice}")


def _kind_of_markup(head: str, lines: list[str]) -> FileKind | None:
    """Return the kind of XML or SGML, by its root element; None for text that begins with a tag.

    A root is followed by another tag. One that is not known is alone on its line, or has a declaration.
    """
    if all(map(_is_segment, lines)):
        return _SGML
    position = _end_of_spaces(head, 0)
    is_declared = False
    while True:
        ending = next((end for start, end in _PROLOGUE.items() if head.startswith(start, position)), None)
        if ending is None and head[position : position + 9].upper() == "<!DOCTYPE":
            subset = head.find("[", position, head.find(">", position) + 1)
            ending = ">" if subset < 0 else "]"
        if ending is None:
            break
        is_declared = is_declared or head[position : position + 5].lower() in ("<?xml", "<!doc")
        end = head.find(ending, position)
        if end < 0:
            return _ELEMENT if is_declared and head.count("\n", position) > 1 else None
        end = head.find(">", end) + 1 if ending == "]" else end + len(ending)
        position = _end_of_spaces(head, end)
    tag = _find_name(head, position)
    if tag is None:
        return None
    name = (tag[2] or tag[1]).lower()
    end = head.find(">", tag.end())
    following = _end_of_spaces(head, end + 1)
    if end < 0 or (head[following : following + 1] not in ("<", "") and not is_declared):
        return None
    if name in _KIND_OF_ROOT:
        return _KIND_OF_ROOT[name]
    is_alone = "\n" in head[end:following] and len(lines) > 2 and all(line[0] == "<" for line in lines)
    return _ELEMENT if is_declared or is_alone else None


def _end_of_spaces(text: str, start: int) -> int:
    match = _skip_spaces(text, start)
    return start if match is None else match.end()


def _kind_of_json(head: str, lines: list[str]) -> FileKind | None:
    """Return the kind of JSON: objects on lines, or a value over several lines."""
    values = [_parsed(line) for line in lines]
    if all(isinstance(value, dict) and value for value in values):
        return JSON_LINES
    value = _parsed(head)
    if value is None and _is_begun(head):
        is_on_one_line = "\n" not in head.strip()  # the line of a long document
        of_objects = JSON_LINES if is_on_one_line else JSON_OBJECT
        return JSON_ARRAY if lines[0][0] == "[" else of_objects
    if isinstance(value, dict) and value:
        return JSON_OBJECT
    has_parts = isinstance(value, list) and (len(value) > 1 or (value and isinstance(value[0], dict)))
    has_texts = has_parts and any(isinstance(part, str | dict | list) for part in value)
    return JSON_ARRAY if has_texts else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_begun(head: str) -> bool:
    """Return whether the text is the beginning of a JSON value with keys or texts in it."""
    try:
        json.loads(head)
    except json.JSONDecodeError as error:
        has_string = '"' in head[: error.pos]
        is_at_end = error.pos >= len(head.rstrip()) or error.msg.startswith("Unterminated string")
        return has_string and is_at_end and ("\n" in head.strip() or len(head) >= _MIN_CHARS_ON_ONE_LINE)
    except (ValueError, RecursionError):
        return False
    return False


def _kind_of_lines(lines: list[str]) -> FileKind | None:
    """Return the kind of a file whose lines have a form of their own."""
    has_times = any(map(_is_time, lines))
    if has_times and lines[0].split(" ")[0] == "WEBVTT":
        return WEBVTT
    if any(map(_is_time, lines[:1])) or (lines[0].isdecimal() and any(map(_is_time, lines[1:2]))):
        return SUBRIP
    if lines[0].lower() == "[script info]":
        return SUBSTATION
    rows = [line for line in lines if not line.startswith("#")]
    if rows and rows[0].startswith(("msgid ", "msgctxt ")) and any(row.startswith("msgstr") for row in rows):
        return PO
    columns = [row.split("\t") for row in rows]
    if rows and all(len(row) == 10 and _is_row_number(row[0]) for row in columns):
        return CONLLU
    if len(lines) > 1 and all(map(_is_frame, lines)):
        return _MICRODVD
    if _is_subviewer_time(lines[0]):
        return _SUBVIEWER
    if len(lines) > 2 and all(map(_is_lyric, lines)):
        return _LYRICS
    if lines[0].startswith("\\documentclass"):
        return _LATEX
    if rows and all(map(_is_message, [row for row in rows if not row.startswith(("/*", "//", "*"))] or [""])):
        return _APPLE_STRINGS
    words = [re.split("[ \t]+", line) for line in lines]
    end_in_labels = len({len(row) for row in words}) == 1 < len(words[0]) and len(lines) > 2
    end_in_labels = end_in_labels and all(_is_tag_label(row[-1]) for row in words)
    has_words = not all(_is_tag_label(row[0]) for row in words)  # else each line has the labels of a sentence
    if words[0][0] == "-DOCSTART-" or (end_in_labels and has_words):
        return COLUMNS
    if len(lines) > 2 and all(isinstance(_parsed(line), str) for line in lines):
        return _QUOTED_LINES
    return _KEYED_LINES if _have_keys(rows) else None


def _have_keys(rows: list[str]) -> bool:
    """Return whether each line begins with a key of its own, in a section or below another key.

    A name and a colon begin the lines of a dialogue too, so these need a section or a key without a text.
    """
    entries = [row for row in rows if row[0] not in ";!" and not _is_section(row)]
    keys = [_find_key(row) for row in entries]
    names = {key[0] for key in keys if key is not None}
    if len(entries) < 3 or len(names) < len(entries):
        return False
    after = [row[key.end() :].strip() for row, key in zip(entries, keys, strict=True) if key is not None]
    return all(text[0] == "=" for text in after) or len(entries) < len(rows) or ":" in after


def _kind_of_tagged(lines: list[str]) -> FileKind | None:
    if lines[0].startswith("<?php"):
        return _PHP
    return _TAGGED_LINES if len(lines) > 2 and all(map(_is_element, lines[:3])) else None


def _kind_of_table(lines: list[str]) -> FileKind | None:
    """Return a table with both sides that each of the lines may be a row of; it may be text as well."""
    for separator, name in (("\t", "a tab"), (" ||| ", "'|||'")):
        if all(part.strip() for line in lines for part in _first_parts(line, separator)):
            return FileKind(f"{name} in each of the first lines", is_text=True)
    return None


def _first_parts(line: str, separator: str) -> list[str]:
    """Return the first two parts of a line; an empty one takes the place of a missing one."""
    return [*line.split(separator, 2)[:2], ""][:2]
