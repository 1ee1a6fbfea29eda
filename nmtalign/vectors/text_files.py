"""Vectors as text: a word and its numbers a line; first ``V D`` (word2vec, fastText) or nothing (GloVe)."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.files import BLOCK, first_vectors, read_header, reading
from nmtalign.vectors.folders import words_and_matrix


def read_text_vectors(
    path: Path, *, limit: int | None = None, encoding: str = "utf-8", errors: str = "strict"
) -> Embeddings:
    """Read vectors as text, with or without a header line, in blocks of some 20 MB and float32.

    pandas reads the numbers: 20,000 vectors of 300 dimensions take it 0.3 s, and gensim 3.5 s.

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
    words: list[str] = []
    raw = bytearray()
    with reading(path) as file:
        header, dimension, lines = _begin(file, path)
        most = min(header[0] if header else sys.maxsize, limit or sys.maxsize)
        while block := b"".join(islice(lines, min(1 + BLOCK // (8 * dimension), most - len(words)))):
            line = len(words) + (2 if header else 1)
            found, numbers = _parse(block, dimension, encoding, errors, path, line)
            words += found
            raw += numbers.tobytes()
        if header and len(words) < most:
            raise DataError(f"the header promises {header[0]} words, the file has {len(words)}")
        if header and len(words) == header[0] and next(lines, b"").strip():
            warnings.warn(
                f"{path}: lines after the {header[0]} words of the header are not read", stacklevel=2
            )
        return first_vectors(words, np.frombuffer(raw, np.float32).reshape(-1, dimension), path)


def _begin(file: IO[bytes], path: Path) -> tuple[tuple[int, int] | None, int, Iterator[bytes]]:
    """Return the header if there is one, the dimension, and the lines with vectors."""
    first = file.readline()
    try:
        header = read_header(first)
        return header, header[1] if header else first_dimension(first), chain([] if header else [first], file)
    except DataError as error:
        raise error.at(path, line=1) from error


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


def _parse(
    block: bytes, dimension: int, encoding: str, errors: str, path: Path, line: int
) -> tuple[list[str], NDArray[Any]]:
    """Return words and numbers of a block of lines; the slow way tells which line is bad."""
    block = block.replace(b"\r\n", b"\n").removesuffix(b"\n")
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
            if not np.isfinite(numbers[-1]).all():
                raise DataError(f"the vector of {word.decode(encoding, 'replace')!r} holds NaN or infinity")
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
