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
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.errors import DataError, warn_caller
from nmtalign.files.file_signatures import WIDE_ENCODINGS
from nmtalign.files.text_files import LONE_RETURNS, text_blocks
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.word2vec_files import (
    BYTES_PER_READ,
    MAX_NUMBERS,
    decode_word,
    first_vectors,
    open_vectors_file,
    read_header,
)

_MAX_LINE_BYTES = 1 << 22
_MAX_SHOWN = 60  # characters of a line in a message
_DETECTION_LINES = 10  # so many first lines show whether a matrix has words
_NUMBER = rb"[+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?|(?i:nan|inf(?:inity)?))"
_is_number = re.compile(_NUMBER).fullmatch
_are_numbers = re.compile(rb"%b(?: %b)*" % (_NUMBER, _NUMBER)).fullmatch
_NUMBERS = "write numbers with a decimal point, and spaces or tabs between"
# pandas takes these for 1 and 0; to look for the endings first takes a tenth of the time
_BOOLEAN_ENDINGS = (b"rue", b"RUE", b"alse", b"ALSE")
_BOOLEAN = re.compile(rb"[ \t](?:[Tt]rue|TRUE|[Ff]alse|FALSE)(?:[ \t\n]|\Z)")
_NUMBER_FIRST = re.compile(rb"[ \t]*[+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?[ \t]")
ParsedVectors = tuple[list[str], AnyArray]


class LineLayout(NamedTuple):
    """Layout of a vector file: dimension, and number of words in the header."""

    dimension: int
    words: int | None = None  # the number in the header, if there is one

    def split(self, line: bytes) -> tuple[bytes, list[bytes]]:
        """Return the word and the numbers of a line; a DataError says what is wrong with it."""
        text = line.rstrip(b" \t\r\n")
        for separator in (b" ", None):
            fields = text.rsplit(separator, self.dimension)
            if len(fields) == self.dimension + 1 and _are_numbers(b" ".join(fields[1:])):
                word = fields[0].strip(b" \t") or fields[0]
                if not _ends_in_number(word) and (not word or word.strip(b" ")):
                    return word, fields[1:]
        raise DataError(f"expected a word and {self.dimension} numbers, found {self._found(text)}")

    def _found(self, text: bytes) -> str:
        """Return the content of a line that is not a word and its numbers."""
        fields = text.split()
        count = _numbers_at_end(fields[1:])
        if count > self.dimension:
            return f"{count} numbers; a word with spaces must not end in a number"
        if count == len(fields) - 1 or not fields:
            return f"{count} numbers"
        return f"{_quoted_start(fields[-1 - count])} in place of a number; {_NUMBERS}"


def _numbers_at_end(fields: list[bytes]) -> int:
    """Return how many fields at the end are numbers."""
    return sum(1 for _ in takewhile(_is_number, reversed(fields)))


def _ends_in_number(word: bytes) -> bool:
    """Return whether a word has parts and the last one is a number, so that it may belong to the vector."""
    parts = word.split()
    return len(parts) > 1 and _is_number(parts[-1]) is not None


def _quoted_start(line: bytes) -> str:
    """Return the beginning of a line for a message."""
    return repr(line[: 4 * _MAX_SHOWN].decode("utf-8", "replace").rstrip()[:_MAX_SHOWN])


def detect_layout(lines: list[bytes]) -> LineLayout:
    """Return the layout of a file from its first lines.

    Raises DataError if the first line is neither a header nor a word and its numbers.
    """
    first, *others = lines or [b""]
    if b"\r" in first.rstrip(b"\r\n"):
        raise DataError(LONE_RETURNS)
    if header := read_header(first):
        words, dimension = header
        return LineLayout(dimension, words)
    layout = _layout_of_row(first) or _layout_of_spaced_word(first, others)
    if layout is None:
        raise DataError(f"expected a word and its numbers, found {_quoted_start(first)}; {_NUMBERS}")
    if others and all(map(_NUMBER_FIRST.match, lines)):
        raise DataError(
            f"expected a word and its numbers, found numbers alone: {_quoted_start(first)}; save a"
            " matrix as X.npy with the dictionary word2int_X.pkl or X.json beside it"
        )
    return layout


def _layout_of_row(line: bytes) -> LineLayout | None:
    """Return the layout of a line whose word has no spaces; None for any other line."""
    text = line.rstrip(b" \t\r\n")
    for separator in (b" ", None):
        word, *numbers = text.split(separator) or [b""]
        has_numbers = 0 < len(numbers) <= MAX_NUMBERS and all(map(_is_number, numbers))
        if has_numbers and not _ends_in_number(word):
            return LineLayout(len(numbers))
    return None


def _layout_of_spaced_word(line: bytes, others: list[bytes]) -> LineLayout | None:
    """Return the form of a line whose word has spaces, if the next line confirms it."""
    layout = _layout_of_row(others[0]) if others else None
    if layout is None or layout.dimension == 1 or _numbers_at_end(line.split()) != layout.dimension:
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
    with open_vectors_file(path) as file:
        blocks, encoding = text_blocks(file, encoding, path)
        encoding = "utf-8" if encoding in WIDE_ENCODINGS else encoding
        layout, lines = _begin(blocks, path)
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


def _begin(blocks: Iterable[bytes], path: Path) -> tuple[LineLayout, Iterator[bytes]]:
    """Return the form of a file and its lines with vectors."""
    lines = _lines_of(blocks)
    first_lines = [line.removeprefix(BOM_UTF8) for line in islice(lines, _DETECTION_LINES)]
    try:
        layout = detect_layout(first_lines)
    except DataError as error:
        raise error.at(path, line=1) from None
    rows = chain(first_lines if layout.words is None else first_lines[1:], lines)
    return layout, _without_last_blanks(rows)


def _lines_of(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        if len(block) > _MAX_LINE_BYTES and b"\n" not in block[:_MAX_LINE_BYTES]:
            raise DataError(f"expected lines of at most {_MAX_LINE_BYTES:,} bytes, found a longer one")
        yield from io.BytesIO(block)


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
    if mixed or boolean:
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
            vectors.append(np.array(list(map(float, numbers)), np.float32))
            if not np.isfinite(vectors[-1]).all():
                raise DataError(
                    f"the vector of {word.decode(encoding, 'replace')!r} contains NaN or infinity"
                )
            words.append(decode_word(word, encoding, errors))
        except DataError as error:
            raise error.at(path, line=number) from None
    return words, np.array(vectors, np.float32)
