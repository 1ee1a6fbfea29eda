"""Vectors as text: a word and its numbers a line; first ``V D`` (word2vec, fastText) or nothing (GloVe)."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.files import BLOCK, GrowingRows, open_binary, read_header
from nmtalign.vectors.folders import words_and_matrix


def read_text_vectors(
    path: Path, *, limit: int | None = None, encoding: str = "utf-8", errors: str = "strict"
) -> Embeddings:
    """Read vectors as text, with or without a header line, in blocks of 16 MB and float32.

    Parameters
    ----------
    path : path
        Plain or gzip.
    limit : int, optional
        Read only the first lines.
    encoding, errors : str
        How to read the words, as for :meth:`bytes.decode`.

    Returns
    -------
    Embeddings
        The numbers equal ``float32(float(text))`` exactly, as gensim reads them.

    Raises
    ------
    DataError
        With the line, if a line is not a word and D numbers, or a word is not readable; or if there are
        fewer lines than the header says.
    """
    with open_binary(path) as file:
        first = file.readline()
        try:
            promised = read_header(first)
            dimension = promised[1] if promised else first_dimension(first)
        except DataError as error:
            raise error.at(path, line=1) from error
        rows = GrowingRows(dimension, path)
        stop = min(promised[0] if promised else sys.maxsize, sys.maxsize if limit is None else limit)
        more = False
        for block in _blocks(file, b"" if promised else first):
            lines, more = _first_lines(block, stop - rows.read)
            if lines:
                line = rows.read + (2 if promised else 1)
                rows.add(*_parse(lines, dimension, encoding, errors, path, line))
            if more:
                break
    if promised:
        _check_count(path, promised[0], rows.read, more, limit)
    return rows.finish()


def first_dimension(line: bytes) -> int:
    """Return how many numbers follow the word of a line; anything but a word and numbers is refused."""
    numbers = line.rstrip(b" \r\n").split(b" ")[1:]
    if not numbers or not all(map(_is_number, numbers)):
        shown = line[:60].decode("utf-8", "replace").rstrip()
        raise DataError(f"expected a word and its numbers, found {shown!r}")
    return len(numbers)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _blocks(file: IO[bytes], rest: bytes) -> Iterator[bytes]:
    """Give whole lines in blocks of about 16 MB, without the last line end."""
    while chunk := file.read(BLOCK):
        block, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            yield block.replace(b"\r\n", b"\n") if b"\r\n" in block else block
    if rest.strip(b"\r\n"):
        yield rest.rstrip(b"\r\n")


def _first_lines(block: bytes, count: int) -> tuple[bytes, bool]:
    """Return at most `count` lines of the block, and whether there were more."""
    if block.count(b"\n") < count:
        return block, False
    lines = block.split(b"\n", count)
    return b"\n".join(lines[:count]), bool(lines[count].strip())


def _parse(
    block: bytes, dimension: int, encoding: str, errors: str, path: Path, line: int
) -> tuple[list[str], NDArray[Any]]:
    """Return words and numbers of a block of lines; the slow way tells which line is bad."""
    fast = _parse_fast(block, dimension, encoding, errors)
    return fast or _parse_slowly(block, dimension, encoding, errors, path, line)


def _parse_fast(
    block: bytes, dimension: int, encoding: str, errors: str
) -> tuple[list[str], NDArray[Any]] | None:
    """Return what pandas' C reader finds, or None where a line is not a word and D numbers."""
    import pandas

    columns = 1 + dimension + block.split(b"\n", 1)[0].endswith(b" ")
    if block.count(b" ") != (block.count(b"\n") + 1) * (columns - 1):
        return None
    types: dict[int, Any] = {0: str, dimension + 1: str}  # the last one is empty, after a space at the end
    types |= dict.fromkeys(range(1, dimension + 1), np.float32)
    try:
        table = pandas.read_csv(
            io.BytesIO(block), engine="c", sep=" ", header=None, index_col=False, names=range(columns),
            dtype=types, quoting=3, na_filter=False, lineterminator="\n",
            encoding=encoding, encoding_errors=errors, skip_blank_lines=False,
            **_exact_numbers(pandas.__version__),
        )  # fmt: skip
    except (ValueError, pandas.errors.ParserError):
        return None
    numbers = table.iloc[:, 1 : dimension + 1].to_numpy(np.float32)
    if not np.isfinite(numbers).all():
        return None
    return table[0].tolist(), numbers


def _exact_numbers(pandas_version: str) -> dict[str, Any]:
    """Older pandas must be asked to read numbers exactly; newer ones always do, and warn when asked."""
    major, minor = map(int, pandas_version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def _parse_slowly(
    block: bytes, dimension: int, encoding: str, errors: str, path: Path, line: int
) -> tuple[list[str], NDArray[Any]]:
    """Read line by line: words may hold spaces, and an error names its line."""
    words, numbers = [], []
    for number, text in enumerate(block.split(b"\n"), start=line):
        try:
            word, *fields = text.rstrip(b" ").rsplit(b" ", dimension)
            if len(fields) != dimension:
                raise DataError(f"expected a word and {dimension} numbers, found {len(fields)} numbers")
            numbers.append([float(field) for field in fields])
            words.append(word.decode(encoding, errors))
        except UnicodeDecodeError as error:
            raise DataError(
                f"the word {word!r} is not {encoding}; choose another encoding, or what to do with such"
                " bytes (errors='ignore', 'replace' or 'backslashreplace')"
            ).at(path, line=number) from error
        except DataError as error:
            raise error.at(path, line=number) from error
        except ValueError as error:
            reason = f"expected a word and {dimension} numbers, {error}"
            raise DataError(reason).at(path, line=number) from error
    return words, np.array(numbers, np.float32)


def _check_count(path: Path, promised: int, read: int, more: bool, limit: int | None) -> None:
    """Compare the lines with the header, as far as the limit lets us see."""
    if read < promised and (limit is None or read < limit):
        raise DataError(f"the header promises {promised} words, the file has {read}").at(path)
    if more and read == promised:
        warnings.warn(f"{path}: lines after the {promised} words of the header are not read", stacklevel=3)


def write_text_vectors(embeddings: Embeddings, path: Path, *, header: bool = True) -> None:
    """Write vectors as text; the shortest digits that give the same numbers back."""
    words, matrix = words_and_matrix(embeddings)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        if header:
            file.write(f"{len(words)} {matrix.shape[1]}\n")
        for word, vector in zip(words, matrix.astype(np.result_type(matrix, np.float32)), strict=True):
            check_writable(word)
            file.write(f"{word} {' '.join(vector.astype('U32').tolist())}\n")


def check_writable(word: str) -> None:
    """Refuse a word that a format with spaces between its fields cannot hold."""
    if " " in word or "\n" in word:
        raise DataError(f"the word {word!r} holds a space or a line end; this format cannot keep it")
