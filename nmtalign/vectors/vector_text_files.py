"""Vectors as text: a word and its numbers on each line.

The first line is a header ``V D`` in files of word2vec and fastText; GloVe's have none. A line is read from
its end: the last D fields are the numbers, and the rest is the word. Fields are separated by single spaces.
Where that does not fit, any run of spaces and tabs separates them. A line that can be read in two ways is
refused.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.errors import DataError, warn_caller
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.format_signatures import MAX_NUMBERS, name_other_files, read_header, utf_16_or_32
from nmtalign.vectors.word2vec_files import BYTES_PER_READ, decode_word, first_vectors, open_vectors_file

_MAX_LINE_BYTES = 1 << 22
_MAX_SHOWN = 60  # characters of a line in a message
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DETECTION_LINES = 10  # so many first lines show whether a matrix has words
_DECIMAL = rb"[+-]?(?:\d++(?:%b\d*+)?|%b\d++)(?:[eE][+-]?\d++)?"
_NOT_FINITE = rb"[+-]?(?i:nan|inf(?:inity)?)"
_NUMBER_PATTERNS = {
    mark: b"(?:" + _DECIMAL % (mark, mark) + b"|" + _NOT_FINITE + b")" for mark in (rb"\.", b",")
}
# pandas takes these for 1 and 0; to look for the endings first takes a tenth of the time
_BOOLEAN_ENDINGS = (b"rue", b"RUE", b"alse", b"ALSE")
_BOOLEAN = re.compile(rb"[ \t](?:[Tt]rue|TRUE|[Ff]alse|FALSE)(?:[ \t\n]|\Z)")
_NUMBER_FIRST = re.compile(rb"[ \t]*[+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?[ \t]")
ParsedVectors = tuple[list[str], AnyArray]


class _AsUtf8(io.RawIOBase):
    """Text of an encoding in which line ends are not those of ASCII, read as UTF-8."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._encoding = encoding
        self._text = io.TextIOWrapper(file, encoding, newline="")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._text.read(len(buffer) // 4).encode("utf-8", "surrogatepass")
        except UnicodeError as error:
            raise DataError(f"the file is not text in {self._encoding} ({error})") from None
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def reading_text(path: Path, encoding: str) -> Iterator[tuple[IO[bytes], str]]:
    """Open a file of text, packed or not, and give it with the encoding of its bytes.

    A byte order mark is removed. UTF-16, UTF-32 and others that do not keep the line ends of ASCII become
    UTF-8.
    """
    with open_vectors_file(path) as file:
        start: bytes = file.peek(4)[:4]  # type: ignore[attr-defined]
        encoding = utf_16_or_32(start) or encoding
        if not keeps_ascii(encoding):
            yield io.BufferedReader(_AsUtf8(file, encoding)), "utf-8"
            return
        if start.startswith(BYTE_ORDER_MARK):
            file.read(len(BYTE_ORDER_MARK))
        yield file, encoding


def keeps_ascii(encoding: str) -> bool:
    """Return whether line ends and digits are the same bytes in an encoding and in ASCII."""
    return "\n0 ".encode(encoding).removeprefix(BYTE_ORDER_MARK) == b"\n0 "


class LineLayout(NamedTuple):
    """Layout of a vector file: dimension, number of words in the header, and decimal mark."""

    dimension: int
    words: int | None = None  # the number in the header, if there is one
    decimal: bytes = rb"\."  # the mark, as a pattern

    def split(self, line: bytes) -> tuple[bytes, list[bytes]]:
        """Return the word and the numbers of a line; a DataError says what is wrong with it."""
        text = line.rstrip(b" \t\r\n")
        for separator in (b" ", None):
            fields = text.rsplit(separator, self.dimension)
            if len(fields) == self.dimension + 1 and self._all_numbers(fields[1:]):
                word = fields[0].strip(b" \t") or fields[0]
                if not _ends_in_number(word) and (not word or word.strip(b" ")):
                    return word, fields[1:]
        raise DataError(f"expected a word and {self.dimension} numbers, found {self._found(text)}")

    def vector(self, numbers: list[bytes]) -> AnyArray:
        """Return the numbers of a line as :meth:`split` found them."""
        if self.decimal == b",":
            numbers = [number.replace(b",", b".") for number in numbers]
        return np.array([float(number) for number in numbers], np.float32)

    def _all_numbers(self, fields: list[bytes]) -> bool:
        number = _NUMBER_PATTERNS[self.decimal]
        return re.fullmatch(b"%b(?: %b)*" % (number, number), b" ".join(fields)) is not None

    def _found(self, text: bytes) -> str:
        """Return the content of a line that is not a word and its numbers."""
        fields = text.split()
        if hint := _other_separator(text):
            return hint
        count = _numbers_at_end(fields[1:], self.decimal)
        if count > self.dimension:
            return f"{count} numbers; a word with spaces must not end in a number"
        if count == len(fields) - 1 or not fields:
            return f"{count} numbers"
        wrong = fields[-1 - count]
        found = f"{_quoted_start(wrong)} in place of a number"
        for mark, name in ((rb"\.", "a decimal point"), (b",", "a decimal comma")):
            if mark != self.decimal and re.fullmatch(_NUMBER_PATTERNS[mark], wrong):
                return f"{found}: {name}, unlike the numbers before"
        return found


def _numbers_at_end(fields: list[bytes], decimal: bytes) -> int:
    """Return how many fields at the end are numbers."""
    count = 0
    for field in reversed(fields):
        if not re.fullmatch(_NUMBER_PATTERNS[decimal], field):
            break
        count += 1
    return count


def _ends_in_number(word: bytes) -> bool:
    """Return whether a word has parts and the last one is a number, so that it may belong to the vector."""
    parts = word.split()
    return len(parts) > 1 and any(re.fullmatch(number, parts[-1]) for number in _NUMBER_PATTERNS.values())


def _other_separator(text: bytes) -> str | None:
    """Return advice on a line whose fields are separated by commas or semicolons."""
    for separator in (b";", b","):
        fields = text.split(separator)
        if len(fields) > 2 and _numbers_at_end(fields[1:], _decimal_of(fields[1:])) == len(fields) - 1:
            return f"fields between {separator.decode()!r}: separate them by spaces or tabs"
    return None


def _quoted_start(line: bytes) -> str:
    """Return the beginning of a line for a message."""
    return repr(line[: 4 * _MAX_SHOWN].decode("utf-8", "replace").rstrip()[:_MAX_SHOWN])


def detect_layout(lines: list[bytes]) -> LineLayout:
    """Return the layout of a file from its first lines.

    Raises DataError if the first line is neither a header nor a word and its numbers.
    """
    first, *others = lines or [b""]
    if b"\r" in first.rstrip(b"\r\n"):
        raise DataError(
            "the lines end in carriage returns alone, as on old Macs; convert these to line feeds, for"
            " instance with `tr '\\r' '\\n'`"
        )
    if header := read_header(first):
        words, dimension = header
        return LineLayout(dimension, words, _decimal_of(others[0].split()[-dimension:] if others else []))
    layout = _layout_of_row(first) or _layout_of_spaced_word(first, others)
    if layout is None:
        found = _other_separator(first.rstrip()) or _quoted_start(first)
        raise DataError(f"expected a word and its numbers, found {found}")
    if others and all(map(_NUMBER_FIRST.match, lines)):
        raise DataError(
            f"expected a word and its numbers, found numbers alone: {_quoted_start(first)}; save a"
            " matrix as X.npy with the dictionary word2int_X.pkl or X.json beside it"
        )
    return layout


def _decimal_of(fields: list[bytes]) -> bytes:
    """Return the decimal mark of numbers, as a pattern."""
    has_comma = any(b"," in field for field in fields)
    return b"," if has_comma and _numbers_at_end(fields, b",") == len(fields) else rb"\."


def _layout_of_row(line: bytes) -> LineLayout | None:
    """Return the layout of a line whose word has no spaces; None for any other line."""
    text = line.rstrip(b" \t\r\n")
    for separator in (b" ", None):
        word, *numbers = text.split(separator) or [b""]
        decimal = _decimal_of(numbers)
        if (
            0 < len(numbers) <= MAX_NUMBERS
            and _numbers_at_end(numbers, decimal) == len(numbers)
            and not _ends_in_number(word)
        ):
            return LineLayout(len(numbers), decimal=decimal)
    return None


def _layout_of_spaced_word(line: bytes, others: list[bytes]) -> LineLayout | None:
    """Return the form of a line whose word has spaces, if the next line confirms it."""
    fields = line.split()
    layout = _layout_of_row(others[0]) if others else None
    if layout is None or layout.dimension == 1 or _numbers_at_end(fields, layout.decimal) != layout.dimension:
        return None
    return layout


def read_text_vectors(
    path: Path, limit: int | None, encoding: str, errors: str, prefix: str = ""
) -> Embeddings:
    """Read vectors as text, compressed or not, with or without a header line.

    Only words that begin with `prefix` are kept, without it, so that one language of a file of many takes no
    more memory than it needs.

    The numbers equal ``float32(float(text))`` exactly, as gensim reads them. pandas reads 20,000 vectors of
    300 dimensions in 0.3 s, gensim in 3.5 s.
    """
    words: list[str] = []
    raw = bytearray()
    with reading_text(path, encoding) as (file, encoding):
        layout, lines = _begin(file, path)
        most = min(sys.maxsize if layout.words is None else layout.words, limit or sys.maxsize)
        rows_per_block = 1 + BYTES_PER_READ // (8 * layout.dimension)
        rows_read = 0
        max_rows = most
        if prefix:  # how many rows have so many words with the prefix is not known
            max_rows = sys.maxsize if layout.words is None else layout.words
        while len(words) < most and (
            block := b"".join(islice(lines, min(rows_per_block, max_rows - rows_read)))
        ):
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\n")
            line = rows_read + (1 if layout.words is None else 2)
            parsed = _parse_fast(block, layout, encoding, errors)
            new_words, numbers = parsed or _parse_slowly(block, layout, encoding, errors, path, line)
            rows_read += len(new_words)
            if prefix:
                kept = [n for n, word in enumerate(new_words) if word.startswith(prefix)]
                new_words = [new_words[n].removeprefix(prefix) for n in kept]
                numbers = numbers[kept]
            words += new_words
            raw += numbers.tobytes()
        if layout.words is not None and rows_read < max_rows and len(words) < most:
            raise DataError(f"the header promises {layout.words} words, the file has {rows_read}")
        if layout.words is not None and rows_read == layout.words and next(lines, b""):
            warn_caller(f"{path}: lines after the {layout.words} words of the header are not read")
    if prefix and not words:
        raise DataError(f"expected words that begin with {prefix!r}, found none in {rows_read:,} rows")
    return first_vectors(words, np.frombuffer(raw, np.float32).reshape(-1, layout.dimension), path)


def _begin(file: IO[bytes], path: Path) -> tuple[LineLayout, Iterator[bytes]]:
    """Return the form of a file and its lines with vectors."""
    lines = iter(partial(file.readline, _MAX_LINE_BYTES), b"")
    first_lines = list(islice(lines, _DETECTION_LINES))
    name_other_files(b"".join(first_lines))
    try:
        layout = detect_layout(first_lines)
    except DataError as error:
        raise error.at(path, line=1) from None
    rows = chain(first_lines if layout.words is None else first_lines[1:], lines)
    return layout, _without_last_blanks(rows)


def _without_last_blanks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without the blank ones at the end of the file; others keep their place."""
    blanks = 0
    for line in lines:
        if line.isspace():
            blanks += 1
            continue
        for _ in range(blanks):
            yield b"\n"
        blanks = 0
        yield line


def _parse_fast(block: bytes, layout: LineLayout, encoding: str, errors: str) -> ParsedVectors | None:
    """Return the vectors that pandas' C reader finds, or None if a line is not a word and D numbers."""
    import pandas

    separator = b"\t" if b"\t" in block else b" "
    columns = 1 + layout.dimension + block.split(b"\n", 1)[0].endswith(separator)
    if block.count(separator) != (block.count(b"\n") + 1) * (columns - 1):
        return None
    mixed = separator == b"\t" and b" " in block
    boolean = any(ending in block for ending in _BOOLEAN_ENDINGS) and _BOOLEAN.search(block)
    if mixed or boolean or layout.decimal == b",":
        return None
    # the last column is empty, after a separator at the end
    types: dict[int, Any] = {0: str, layout.dimension + 1: str}
    types |= dict.fromkeys(range(1, layout.dimension + 1), np.float32)
    # pandas from 3.1 always reads numbers exactly, and warns when asked to.
    old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    try:
        table = pandas.read_csv(
            io.BytesIO(block), engine="c", sep=separator.decode(), header=None, index_col=False,
            names=range(columns), dtype=types, quoting=3, na_filter=False, lineterminator="\n",
            encoding=encoding, encoding_errors=errors, skip_blank_lines=False, **exact,
        )  # fmt: skip
    except (ValueError, pandas.errors.ParserError):
        return None
    numbers = table.iloc[:, 1 : layout.dimension + 1].to_numpy(np.float32)
    return (table[0].tolist(), numbers) if np.isfinite(numbers).all() else None


def _parse_slowly(
    block: bytes, layout: LineLayout, encoding: str, errors: str, path: Path, line: int
) -> ParsedVectors:
    """Read line by line: words may contain spaces, and an error names its line."""
    words, vectors = [], []
    for number, text in enumerate(block.split(b"\n"), start=line):
        try:
            word, numbers = layout.split(text)
            vectors.append(layout.vector(numbers))
            if not np.isfinite(vectors[-1]).all():
                raise DataError(
                    f"the vector of {word.decode(encoding, 'replace')!r} contains NaN or infinity"
                )
            words.append(decode_word(word, encoding, errors))
        except DataError as error:
            raise error.at(path, line=number) from None
    return words, np.array(vectors, np.float32)
