"""What the readers of vector files share: opening, and rows that arrive one block at a time."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings

BLOCK = 1 << 24  # bytes read at a time
_LONGEST_ROW = 1 << 22  # bytes; no vector has a million numbers


def open_binary(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, through gzip where it begins as gzip does."""
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path, "rb")) if compressed else open(path, "rb")


def read_header(line: bytes) -> tuple[int, int] | None:
    """Return words and dimension of a word2vec header such as ``20000 300``; None for any other line."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    words, dimension = map(int, fields)
    if not 0 < dimension <= _LONGEST_ROW or words > 2**31:
        raise DataError(f"the header claims {words} words of {dimension} numbers")
    return words, dimension


class GrowingRows:
    """Words and vectors collected as they are read; memory follows what came, not what a header claims."""

    def __init__(self, dimension: int, path: Path) -> None:
        self.path = path
        self.words: dict[str, int] = {}
        self.matrix = np.zeros((1024, dimension), np.float32)
        self.read = 0  # rows seen, also the repeated ones

    def add(self, words: list[str], block: NDArray[Any]) -> None:
        """Take one block of vectors, shape (N, D); a repeated word keeps its first vector, as in gensim."""
        if not np.isfinite(block).all():
            row = int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
            number = self.read + row + 1
            raise DataError(f"the vector of {words[row]!r} (number {number}) holds NaN or infinity").at(
                self.path
            )
        before, kept = len(self.words), []
        for row, word in enumerate(words):
            if word not in self.words:
                self.words[word] = len(self.words)
                kept.append(row)
        self._make_room(len(self.words))
        self.matrix[before : len(self.words)] = block if len(kept) == len(words) else block[kept]
        self.read += len(words)

    def _make_room(self, rows: int) -> None:
        if rows > len(self.matrix):
            wider = np.zeros((max(rows, 2 * len(self.matrix)), self.matrix.shape[1]), np.float32)
            wider[: len(self.matrix)] = self.matrix
            self.matrix = wider

    def finish(self) -> Embeddings:
        """Return the vectors; repeated words are reported."""
        repeated = self.read - len(self.words)
        if repeated:
            warnings.warn(
                f"{self.path}: {repeated} words come again; their first vector is kept", stacklevel=2
            )
        return Embeddings(Vocabulary(self.words), self.matrix[: len(self.words)])
