"""Lines, words and cells in text files. Lines end at ``\\n`` and nowhere else.

Lone carriage returns, U+2028, U+0085 and other characters that ``str.splitlines`` splits at stay inside
their line, so that line n of one file never becomes line n + 1.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import select
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from nmtalign.display import escape_controls
from nmtalign.errors import DataError, OnError, UsageError, error_text
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary
from nmtalign.files.paths import file_inside, reraise_as_data_error
from nmtalign.files.sniffing import HEAD_BYTES, WIDE_ENCODINGS, XML, check_readable, detect_encoding
from nmtalign.names import SIDES

Inspect = Callable[[str], object]  # takes the beginning of a text
MAX_LINE_BYTES = 1 << 26
MAX_JSON_DEPTH = 100  # lists and objects inside each other
INSPECTED_BYTES = 1 << 14
_READ_BYTES = 1 << 17
LONE_RETURNS = (
    "expected lines that end in \\n or \\r\\n, found only carriage returns (\\r), as old Macs wrote them; "
    "convert the line ends: tr '\\r' '\\n' < OLD > NEW"
)


def open_text(path: str | Path, mode: str = "r") -> io.TextIOWrapper:
    """Open `path` as text, compressed as in :func:`open_binary`; ``-`` is standard input or output.

    Line ends are not translated, neither when reading nor when writing.
    """
    stream = open_binary(path, mode)
    if str(path) == "-":
        return _BorrowedStream(stream, encoding="utf-8", newline="\n")
    return io.TextIOWrapper(stream, encoding="utf-8", newline="\n")


class _BorrowedStream(io.TextIOWrapper):
    """Text over a standard stream, which stays open when this object is closed.

    On a terminal, control characters are escaped.
    """

    _released = False

    def write(self, text: str) -> int:
        return super().write(escape_controls(text) if self.isatty() else text)

    def close(self) -> None:
        if not self._released:
            self._released = True
            self.detach()


class _StandardInput:
    """The state of standard input, which a process reads once."""

    lines_left = 0  # lines that have come, and were not yielded yet


_standard_input = _StandardInput()
_MAX_PAUSE_SECONDS = 0.01  # between two blocks of a program that writes without waiting for answers


def is_input_awaited() -> bool:
    """Return whether the next line of standard input has not come, perhaps because its writer awaits answers.

    False for a file, at the end of the input, and on Windows, where a pipe cannot be asked.
    """
    if _standard_input.lines_left:
        return False
    try:
        readable, _, _ = select.select([sys.stdin], [], [], _MAX_PAUSE_SECONDS)
    except (OSError, ValueError):
        return False
    return not readable


def read_lines(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError | None = None,
    inspect: Inspect | None = None,
) -> Iterator[str]:
    """Yield the lines of `path` without their end: ``\\n``, or ``\\r\\n`` as Windows writes it.

    A byte order mark at the start overrides `encoding` and is removed, so that files in UTF-16 and UTF-8 can
    be read together. All other characters are kept, so that the n-th line out is the n-th line in. The file
    is read as it is consumed.

    A DataError names a line that cannot be decoded; with `on_error` the error is passed to that function
    instead, and the line is empty. A file of another kind, such as an archive or a PDF, is a DataError that
    names the kind. For `inspect` see :func:`try_lines`.
    """
    for line in try_lines(path, encoding=encoding, inspect=inspect):
        if not isinstance(line, DataError):
            yield line
        elif on_error is None:
            raise line
        else:
            on_error(line)
            yield ""


def try_lines(
    path: str | Path, *, encoding: str = "utf-8", inspect: Inspect | None = None
) -> Iterator[str | DataError]:
    """Yield the lines of :func:`read_lines`; a line that cannot be decoded is replaced by its DataError.

    `inspect` is called once with the beginning of the text, at most `INSPECTED_BYTES`, and may raise a
    DataError.
    """
    check_encoding(encoding)
    stream = open_binary(path)
    number = 0
    try:
        blocks, encoding = text_blocks(stream, encoding, path, inspect)
        block_encoding = "utf-8" if encoding in WIDE_ENCODINGS else encoding
        for block in blocks:
            if number == 0 and b"\r" in block and b"\n" not in block:
                raise DataError(LONE_RETURNS).at(path)
            if len(block) >= MAX_LINE_BYTES and b"\n" not in block[:MAX_LINE_BYTES]:
                raise DataError(f"expected at most {MAX_LINE_BYTES:,} bytes").at(path, line=number + 1)
            lines = _decode_lines(block, block_encoding, shown_encoding=encoding)
            if number == 0 and isinstance(lines[0], str):
                lines[0] = lines[0].removeprefix("\ufeff")
            for left, line in enumerate(lines, 1 - len(lines)):
                number += 1
                if str(path) == "-":
                    _standard_input.lines_left = -left
                yield line if isinstance(line, str) else line.at(path, line=number)
    except DECOMPRESSION_ERRORS as error:
        damage = DataError(f"the compressed file is damaged or truncated ({error_text(error)})")
        raise damage.at(path, line=number + 1) from None
    finally:
        if str(path) != "-":
            stream.close()


def check_encoding(name: str) -> None:
    """Raise UsageError unless Python knows the encoding, and lines in it end at a line feed byte."""
    try:
        wide = codecs.lookup(name).name in WIDE_ENCODINGS
        why = "" if wide or b"\n".decode(name) == "\n" else "its line ends are not those of ASCII"
    except (LookupError, ValueError, TypeError) as error:
        why = str(error)
    if why:
        expected = "expected an encoding such as utf-8 or cp1252"
        raise UsageError(f"{expected}, found {name} ({why}); convert the file to UTF-8")


def _iter_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a stream as they come, without waiting for a full block."""
    read = getattr(stream, "read1", stream.read)
    while block := read(_READ_BYTES):
        yield block


def text_blocks(
    stream: BinaryIO, encoding: str, path: str | Path, inspect: Inspect | None = None
) -> tuple[Iterator[bytes], str]:
    """Return a text file as blocks of whole lines, and the encoding that its first bytes show.

    The blocks of UTF-16 and UTF-32 are UTF-8, in which a line end is one byte. A line that is longer than
    `MAX_LINE_BYTES` is a block without a line end. Raises DataError if the file is not text.
    """
    blocks = _iter_blocks(stream)
    head = b""
    for block in blocks:
        head += block
        if len(head) >= HEAD_BYTES or b"\n" in head:  # someone who types a line waits for its links
            break
    try:
        check_readable(head, readable=() if inspect is None else (XML,))
        detected = detect_encoding(head, encoding)
        if inspect is not None:
            with suppress(UnicodeError):  # of codecs that know no errors="ignore"
                inspect(head[:INSPECTED_BYTES].decode(detected, errors="ignore"))
    except DataError as error:
        raise error.at(path) from None
    blocks = chain([head], blocks)
    if detected in WIDE_ENCODINGS:
        blocks = _as_utf8(blocks, detected, path)
    return _blocks_of_whole_lines(blocks), detected


def _as_utf8(blocks: Iterator[bytes], encoding: str, path: str | Path) -> Iterator[bytes]:
    """Yield text as UTF-8; an unpaired surrogate becomes an invalid byte, which is an error of its line."""
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    try:
        for block in blocks:
            yield decoder.decode(block).encode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DataError(f"expected {encoding} text ({error.reason})").at(path) from None
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        yield b"\xff"


def _blocks_of_whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes in blocks that end with a line, or exceed the maximum length of a line."""
    parts, size = list[bytes](), 0
    for block in blocks:
        end = block.rfind(b"\n") + 1 or (len(block) if size >= MAX_LINE_BYTES else 0)
        if end:
            yield b"".join([*parts, block[:end]])
            parts, size = [], 0
        parts.append(block[end:])
        size += len(parts[-1])
    if size:
        yield b"".join(parts)


def _decode_lines(block: bytes, encoding: str, *, shown_encoding: str) -> list[str | DataError]:
    """Return the lines of a block; a line that cannot be decoded is replaced by its error.

    Errors name `shown_encoding`, the encoding of the file.
    """
    try:
        text = block.decode(encoding)
        in_blocks = text.count("\n") == block.count(b"\n")  # not so in some old encodings
    except UnicodeDecodeError:
        in_blocks = False
    except UnicodeError as error:
        raise UsageError(f"text cannot be read as {encoding} ({error})") from None
    if not in_blocks:
        return [
            _decode_line(raw, encoding, shown_encoding=shown_encoding)
            for raw in io.BytesIO(block).readlines()
        ]
    lines: list[str | DataError] = [*text.replace("\r\n", "\n").split("\n")]
    return lines if lines[-1] else lines[:-1]


def _decode_line(raw: bytes, encoding: str, *, shown_encoding: str) -> str | DataError:
    try:
        line = raw.decode(encoding)
    except UnicodeDecodeError as error:
        if shown_encoding != encoding:
            return DataError(f"expected {shown_encoding} text, found an unpaired surrogate")
        byte = f"the byte 0x{raw[error.start]:02x} at column {error.start + 1}"
        advice = "convert the file, or name its encoding (`encoding=NAME`)"
        return DataError(f"expected {encoding} text, found {byte}; {advice}")
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def zip_lines(columns: Iterable[Iterable[Any]], files: Sequence[str | Path]) -> Iterator[tuple[Any, ...]]:
    """Yield the lines of several files together; raise DataError at the end if one file has more lines."""
    longest, missing = 0, [0] * len(files)
    for row in zip_longest(*columns):
        longest += 1
        if None in row:
            missing = [count + (line is None) for count, line in zip(missing, row, strict=True)]
        else:
            yield row
    if any(missing):
        raise unequal_lines_error([longest - count for count in missing], files)


class UnequalLinesError(DataError):
    """Files that belong together have different numbers of lines."""


def unequal_lines_error(counts: Iterable[int], files: Iterable[str | Path]) -> UnequalLinesError:
    """Return the error for files with different numbers of lines."""
    lines = " and ".join(f"{count:,} in {file}" for count, file in zip(counts, files, strict=True))
    advice = "a line is missing or surplus, so the lines after it do not match"
    return UnequalLinesError(f"expected the same number of lines in each file, found {lines}; {advice}")


def without_line_end(line: str) -> str:
    """Return a line without the line break with which an open file of Python yields it."""
    return line.removesuffix("\n").removesuffix("\r")


def split_spaces(line: str) -> list[str]:
    """Return the parts of a line between spaces."""
    return [part for part in line.split(" ") if part]


def is_encodable(text: str) -> bool:
    """Return whether text can be encoded; an unpaired surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_utf8(path: Path) -> str:
    """Return the text of a file with its line ends unchanged; raise DataError if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise DataError(f"expected UTF-8 ({error})").at(path) from None


# --- JSON ----------------------------------------------------------------------------------------


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
ObjectHook = Callable[[list[tuple[str, Any]]], Any]  # makes an object of its keys and values


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raise DataError if a key occurs twice, of which a dictionary would keep one value."""
    value = dict(pairs)
    if len(value) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise DataError(f"expected JSON with each key once in an object, found {key[:40]!r} again")
    return value


def parse_json(text: str, *, make_object: ObjectHook = _with_unique_keys) -> Any:
    """Return the value of JSON, whose objects `make_object` makes.

    Raises DataError if it is invalid, too deep, or has an unpaired surrogate; by default, also if an object
    has a key twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=make_object)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected JSON ({error}), found {text[:60]!r}") from None
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and is_nested_too_deep(value):
        raise DataError(f"expected JSON nested at most {MAX_JSON_DEPTH} deep")
    if _SURROGATE.search(text) and not is_encodable(json.dumps(value, ensure_ascii=False)):
        raise DataError("expected JSON, found an unpaired surrogate, such as \\ud83d alone")
    return value


def is_nested_too_deep(value: Any) -> bool:
    """Return whether lists and objects are nested more than `MAX_JSON_DEPTH` levels deep."""
    level = [value]  # all values at one depth
    for _ in range(MAX_JSON_DEPTH + 1):
        containers = [part for part in level if isinstance(part, dict | list)]
        level = []
        for container in containers:
            level += container.values() if isinstance(container, dict) else container
    return bool(containers)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a small JSON file; raise DataError if it contains anything else."""
    with reraise_as_data_error(path, "expected JSON"):
        value = parse_json(read_utf8(file_inside(path.parent, path.name)))
        if not isinstance(value, dict):
            raise DataError(f"expected a JSON object, found {type(value).__name__}")
    return value


# --- separators inside words, which formats without quotes and escapes cannot represent ----------
# Programs split such a file at white space, at line breaks, and at the separator of its format, so a word
# that contains one of these would be read as two words. Space-separated words never contain a space or \n;
# lists of words, and text inside JSON, may.

LINE_BREAKS = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"  # str.splitlines ends a line at each of these
_SEPARATOR_NAMES = {
    " ": "a space",
    "\t": "a tab",
    "\n": "a line break",
    "\v": "a vertical tab",
    "\f": "a form feed",
    "\r": "a carriage return",
}
_find_separator_in_word = re.compile(f"[ \t{LINE_BREAKS}]").search
_find_line_break = re.compile(f"[{LINE_BREAKS}]").search
_find_separator_in_line = re.compile(f"[\t{LINE_BREAKS}]").search


def may_be_split(line: str, separator: str = "") -> bool:
    """Return whether a line contains a separator other than a space, so that one of its words may."""
    return _find_separator_in_line(line) is not None or (separator != "" and separator in line)


def find_split_line(source: str, target: str) -> tuple[int, str] | None:
    """Return the first line at whose middle other programs may end it: its side, 0 or 1, and the problem."""
    for side, line in enumerate((source, target)):
        if found := _find_line_break(line):
            text = line[max(found.start() - 30, 0) : found.start() + 30]
            return side, f"the {SIDES[side]} {text!r} contains {_name_of(found[0])}; replace it"
    return None


def find_split_word(
    source: Sequence[str], target: Sequence[str], separator: str = ""
) -> tuple[int, str] | None:
    """Return the first word that is empty or contains a separator: its side, 0 or 1, and the problem."""
    for side, words in enumerate((source, target)):
        line = " ".join(words)
        more_spaces = line.count(" ") >= max(len(words), 1)
        if more_spaces or "" in words or may_be_split(line, separator):
            for word in words:
                if problem := _split_problem(word, separator):
                    return side, f"the {SIDES[side]} word {word[:60]!r} {problem}; replace it"
    return None


def check_unsplit(source: Sequence[str], target: Sequence[str], separator: str = "") -> None:
    """Raise DataError if a word is empty, or contains white space, a line break or the `separator`."""
    if cut := find_split_word(source, target, separator):
        raise DataError(cut[1])


def _name_of(separator: str) -> str:
    return _SEPARATOR_NAMES.get(separator, f"a line break (U+{ord(separator):04X})")


def _split_problem(word: str, separator: str) -> str:
    """Return the problem of a word; an empty text if there is none."""
    if not word:
        return "is empty, and the file has spaces between words"
    if found := _find_separator_in_word(word):
        return f"contains {_name_of(found[0])}, which separates words or columns in this format"
    if separator and separator in word:
        return f"contains {separator!r}, which separates words or columns in this format"
    return ""


# --- cells of our own tables, which can contain every word ---------------------------------------

_TSV_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_TSV_TRANSLATION = str.maketrans({c: f"\\u{ord(c):04x}" for c in LINE_BREAKS} | _TSV_ESCAPES)
_needs_csv_quotes = re.compile(f'[,"{LINE_BREAKS}]').search
FORMULA_SIGNS = tuple("=+-@\t\r\n＝＋－＠")  # a spreadsheet takes a cell that begins with one for a formula


def tsv_cell(word: str) -> str:
    r"""Return a word as a cell between tabs; tabs, line breaks and backslashes are escaped.

    >>> print(tsv_cell("a\tb\u2028c"))
    a\tb\u2028c
    """
    return word.translate(_TSV_TRANSLATION)


def csv_cell(word: str) -> str:
    """Return a word as a cell of CSV."""
    # the standard library's writer leaves a lone carriage return unquoted
    return '"' + word.replace('"', '""') + '"' if _needs_csv_quotes(word) else word


def without_formula(word: str) -> str:
    """Return a word that no spreadsheet takes for a formula: with an apostrophe before its sign.

    >>> without_formula("=1+1"), without_formula("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{word}" if word.startswith(FORMULA_SIGNS) else word
