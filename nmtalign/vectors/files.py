"""What the readers of vector files share: opening, naming the file in errors, headers, last checks."""

from __future__ import annotations

import gzip
import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings

BLOCK = 1 << 24  # bytes read at a time
_LONGEST_ROW = 1 << 22  # bytes; no vector has a million numbers
_ROWS_AT_ONCE = 10_000


@contextmanager
def reading(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, through gzip where it begins as gzip does; errors name the file."""
    try:
        with open(path, "rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if compressed else open(path, "rb") as opened:
            yield io.BufferedReader(cast(Any, opened)) if compressed else cast(IO[bytes], opened)
    except DataError as error:
        raise (error if str(error).startswith(str(path)) else error.at(path)) from error
    except (EOFError, struct.error, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"the file is damaged or ends too early ({error})").at(path) from error


def read_header(line: bytes) -> tuple[int, int] | None:
    """Return words and dimension of a word2vec header such as ``20000 300``; None for any other line."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    words, dimension = map(int, fields)
    if not 0 < dimension <= _LONGEST_ROW or words > 2**31:
        raise DataError(f"the header claims {words} words of {dimension} numbers")
    return words, dimension


def first_vectors(words: list[str], matrix: NDArray[Any], path: Path) -> Embeddings:
    """Return words and their vectors; a repeated word keeps its first vector, as in gensim, and is reported.

    Raises
    ------
    DataError
        If a vector holds NaN or infinity.
    """
    for start in range(0, len(words), _ROWS_AT_ONCE):
        bad = np.flatnonzero(~np.isfinite(matrix[start : start + _ROWS_AT_ONCE]).all(axis=1))
        if len(bad):
            row = start + int(bad[0])
            raise DataError(f"the vector of {words[row]!r} (number {row + 1}) holds NaN or infinity")
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    if len(rows) < len(words):
        repeated = len(words) - len(rows)
        warnings.warn(f"{path}: {repeated} words come again; their first vector is kept", stacklevel=3)
        matrix = matrix[list(rows.values())]
    return Embeddings(Vocabulary.from_words(rows), matrix)
