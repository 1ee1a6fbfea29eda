"""What a text file is, by its first lines: a format of pairs, subtitles, or the file of another program.

Only what is certain has a kind. Text that merely begins with a bracket, a tag or a time has none, so that no
sentence is taken for a file format. The time is proportional to the length of the head.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from nmtalign.errors import DataError

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
