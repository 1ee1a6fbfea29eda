"""Vectors as bytes: word2vec's binary form and fastText's models."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.files import BLOCK, GrowingRows, open_binary, read_header
from nmtalign.vectors.folders import words_and_matrix
from nmtalign.vectors.subwords import CharacterNgrams
from nmtalign.vectors.text_files import check_writable

FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_LONGEST_WORD = 1 << 16  # bytes
_ROWS_AT_ONCE = 10_000


def read_word2vec_binary(
    path: Path, *, limit: int | None = None, encoding: str = "utf-8", errors: str = "strict"
) -> Embeddings:
    """Read word2vec's binary form: a header line, then each word, a space and D little-endian float32."""
    with open_binary(path) as file:
        promised = read_header(file.readline(256))
        if promised is None:
            raise DataError("expected a first line with the number of words and dimensions").at(path)
        count = promised[0] if limit is None else min(promised[0], limit)
        rows = GrowingRows(promised[1], path)
        words: list[str] = []
        block = np.empty((_ROWS_AT_ONCE, promised[1]), np.float32)
        for word, vector in _binary_rows(file, promised[1], count, path):
            block[len(words)] = vector
            words.append(_decode(word, encoding, errors, path, rows.read + len(words) + 1))
            if len(words) == _ROWS_AT_ONCE:
                rows.add(words, block)
                words = []
        rows.add(words, block[: len(words)])
    return rows.finish()


def _binary_rows(
    file: IO[bytes], dimension: int, count: int, path: Path
) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    """Give `count` words and vectors; the file must hold them."""
    buffer, place, size = b"", 0, 4 * dimension
    for row in range(count):
        end = buffer.find(b" ", place)
        while end < 0 or end + 1 + size > len(buffer):
            chunk = file.read(BLOCK)
            if not chunk or (end < 0 and len(buffer) - place > _LONGEST_WORD):
                reason = f"the header promises {count} words, but the file ends or breaks at word {row + 1}"
                raise DataError(reason).at(path)
            buffer, place = buffer[place:] + chunk, 0
            end = buffer.find(b" ", place)
        yield buffer[place:end].lstrip(b"\n"), np.frombuffer(buffer, "<f4", dimension, end + 1)
        place = end + 1 + size


def _decode(word: bytes, encoding: str, errors: str, path: Path, number: int) -> str:
    try:
        return word.decode(encoding, errors)
    except UnicodeDecodeError as error:
        reason = f"word {number}, {word[:40]!r}, is not {encoding}; choose another encoding or error handling"
        raise DataError(reason).at(path) from error


def write_word2vec_binary(embeddings: Embeddings, path: Path) -> None:
    """Write word2vec's binary form, which gensim reads with ``load_word2vec_format(binary=True)``."""
    words, matrix = words_and_matrix(embeddings)
    with open(path, "wb") as file:
        file.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for word, vector in zip(words, matrix.astype("<f4"), strict=True):
            check_writable(word)
            file.write(word.encode() + b" " + vector.tobytes() + b"\n")


@dataclass(frozen=True)
class _FastTextHeader:
    """What of fastText's training settings matters for reading."""

    dimension: int
    buckets: int
    shortest: int
    longest: int
    new: bool  # files since 2017 begin with a magic number and a version


def read_fasttext_binary(
    path: Path, *, limit: int | None = None, encoding: str = "utf-8", errors: str = "backslashreplace"
) -> Embeddings:
    """Read an unsupervised fastText model with its sub-words.

    Parameters
    ----------
    path : path
        A ``.bin`` file, plain or gzip, of any version of fastText.
    limit : int, optional
        Compose only the first words; sub-words are kept whole.
    encoding, errors : str
        How to read the words.

    Returns
    -------
    Embeddings
        Vectors equal to gensim's: the mean of the word's own row and its n-grams' rows.

    Raises
    ------
    DataError
        If the model is supervised, quantised or pruned, or shorter than it says.
    """
    with open_binary(path) as file:
        try:
            header = _read_fasttext_header(file)
            words = _read_fasttext_words(file, header, encoding, errors, path)
            table = _read_fasttext_matrix(file, header, len(words))
        except struct.error as error:
            raise DataError("the file ends too early for a fastText model").at(path) from error
        except DataError as error:
            raise error.at(path) from error
    kept = words if limit is None else words[:limit]
    pieces = CharacterNgrams(table[len(words) :], header.shortest, header.longest)
    return Embeddings(Vocabulary.from_words(kept), pieces.complete(kept, table[: len(kept)]), pieces)


def _unpack(file: IO[bytes], layout: str) -> tuple[int, ...]:
    return struct.unpack("<" + layout, file.read(struct.calcsize("<" + layout)))


def _read_fasttext_header(file: IO[bytes]) -> _FastTextHeader:
    start = file.read(4)
    new = start == FASTTEXT_MAGIC
    if new:
        _, dimension, _ = _unpack(file, "iii")  # version, dimension, window
    else:
        dimension = struct.unpack("<i", start)[0]
        _unpack(file, "i")  # window
    fields = _unpack(file, "10id")
    buckets, shortest, longest = fields[6:9]
    if not 0 < dimension < 1 << 16 or buckets < 0 or not 0 <= shortest <= longest < 1 << 10:
        raise DataError(
            f"not a fastText model: {dimension} dimensions, {buckets} sub-words of {shortest} to {longest}"
        )
    return _FastTextHeader(dimension, buckets, shortest, longest, new)


def _read_fasttext_words(
    file: IO[bytes], header: _FastTextHeader, encoding: str, errors: str, path: Path
) -> list[str]:
    size, _, labels = _unpack(file, "3i")
    _unpack(file, "q")  # tokens
    pruned = _unpack(file, "q")[0] if header.new else -1
    if labels:
        raise DataError(f"a supervised fastText model ({labels} labels): its rows are no word vectors")
    if pruned > 0:
        raise DataError("a pruned or quantised fastText model (.ftz); use the .bin or .vec file")
    if size < 0:
        raise DataError(f"not a fastText model: it claims {size} words")
    raw = list(_fasttext_words(file, size))
    words = [word.decode(encoding, errors) for word in raw]
    pairs = zip(raw, words, strict=True)
    strange = sum(text.encode(encoding, "replace") != word for word, text in pairs)
    if strange:
        warnings.warn(
            f"{path}: {strange} words are not {encoding}; their bad bytes are replaced", stacklevel=3
        )
    return words


def _fasttext_words(file: IO[bytes], count: int) -> Iterator[bytes]:
    """Give the words of the dictionary: bytes up to a zero, then a count and a kind."""
    for _ in range(count):
        word = bytearray()
        while (byte := file.read(1)) != b"\0":
            if not byte or len(word) > _LONGEST_WORD:
                raise DataError("the dictionary of the fastText model is broken")
            word += byte
        _unpack(file, "qb")
        yield bytes(word)


def _read_fasttext_matrix(file: IO[bytes], header: _FastTextHeader, words: int) -> NDArray[np.float32]:
    """Return the rows of all words, then of all n-gram buckets, shape (V + K, D)."""
    if header.new and _unpack(file, "?")[0]:
        raise DataError("a quantised fastText model (.ftz); use the .bin or .vec file")
    rows, columns = _unpack(file, "qq")
    if rows != words + header.buckets or columns != header.dimension:
        raise DataError(
            f"expected a matrix of {words} words + {header.buckets} sub-words by {header.dimension},"
            f" found {rows} by {columns}"
        )
    raw = bytearray()
    while len(raw) < 4 * rows * columns:
        chunk = file.read(min(BLOCK, 4 * rows * columns - len(raw)))
        if not chunk:
            raise DataError(f"the matrix should have {4 * rows * columns} bytes, found {len(raw)}")
        raw += chunk
    return np.frombuffer(raw, "<f4").reshape(rows, columns)
