"""Vectors in files of word2vec, fastText and GloVe, as text and as bytes; all may be packed by gzip.

A text has a word and its numbers a line; first ``V D`` (word2vec, fastText) or nothing (GloVe).

gensim reads word2vec's binary form: a million words of 100 dimensions in 4.0 s and 0.6 GB, where our own
reader took 2.9 s and 0.7 GB. fastText's models are read here: with a million words and as many sub-words in
6.6 s and 1.3 GB, where gensim's ``load_facebook_vectors`` takes 38.5 s and 2.5 GB, never comes back from a
dictionary that is cut off, and asks for the memory that a header claims (``scripts/benchmark_vectors.py
binary``).
"""

from __future__ import annotations

import io
import re
import struct
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.errors import DataError
from nmtalign.files import guarded_read, is_text, most_unpacked, unpacked
from nmtalign.output import Outputs
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import CharacterNgrams, Embeddings

FASTTEXT_MAGIC = struct.pack("<i", 793712314)
BLOCK = 1 << 24  # bytes read at a time
_LONGEST_ROW = 1 << 22  # bytes of a line
_MOST_NUMBERS = 1 << 16  # of a vector
_LONGEST_WORD = 1 << 16  # bytes
Parsed = tuple[list[str], AnyArray]


@contextmanager
def reading(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, through gzip where it begins as gzip does; errors name the file."""
    with (
        guarded_read(path, "the file is damaged or ends too early"),
        unpacked(io.FileIO(path), ".gz") if _is_packed(path) else open(path, "rb") as opened,
    ):
        yield opened


def _is_packed(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _expect_bytes(path: Path, least: int, promised: str) -> None:
    """Refuse a header that promises more than a file can hold."""
    size = path.stat().st_size
    most = most_unpacked(size) if _is_packed(path) else size
    if least > most:
        bytes_held = f"the file has {size:,}" + (f", which unpack to at most {most:,}" if most > size else "")
        raise DataError(f"the header promises {promised}: expected at least {least:,} bytes; {bytes_held}")


def read_header(line: bytes) -> tuple[int, int] | None:
    """Return words and dimension of a word2vec header such as ``20000 300``; None for any other line."""
    fields = line.split() if len(line) < 100 else []
    if len(fields) != 2 or not all(re.fullmatch(rb"-?\d{1,20}", field) for field in fields):
        return None
    words, dimension = map(int, fields)
    if not 0 < dimension <= _MOST_NUMBERS or not 0 <= words <= 2**31:
        expected = f"expected at most 2^31 words of 1 to {_MOST_NUMBERS}"
        raise DataError(f"the header claims {words} words of {dimension} numbers; {expected}")
    return words, dimension


def _decoded(word: bytes, encoding: str, errors: str) -> str:
    """Return a word as text."""
    try:
        return word.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise DataError(
            f"the word {word[:40]!r} is not {encoding}; choose another encoding, or what to do with such"
            " bytes (errors='ignore', 'replace' or 'backslashreplace')"
        ) from error


def _first_vectors(words: list[str], matrix: AnyArray, path: Path, repeated: int = 0) -> Embeddings:
    """Return words and vectors; a repeated word keeps its first one, as in gensim, with a warning."""
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, row)
    if repeated := repeated + len(words) - len(rows):
        warnings.warn(f"{path}: {repeated} words come again; their first vector is kept", stacklevel=3)
        matrix = matrix[list(rows.values())]
    return Embeddings(Vocabulary.from_words(rows), matrix)


def read_text_vectors(path: Path, limit: int | None, encoding: str, errors: str) -> Embeddings:
    """Read vectors as text, plain or gzip, with or without a header line.

    The numbers equal ``float32(float(text))`` exactly, as gensim reads them. pandas reads 20,000 vectors of
    300 dimensions in 0.3 s, gensim in 3.5 s.
    """
    words: list[str] = []
    raw = bytearray()
    with reading(path) as file:
        header, dimension, lines = _begin(file, path)
        most = min(header[0] if header else sys.maxsize, limit or sys.maxsize)
        while block := b"".join(islice(lines, min(1 + BLOCK // (8 * dimension), most - len(words)))):
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\n")
            line = len(words) + (2 if header else 1)
            parsed = _parse_fast(block, dimension, encoding, errors)
            new_words, numbers = parsed or _parse_slowly(block, dimension, encoding, errors, path, line)
            words += new_words
            raw += numbers.tobytes()
        if header and len(words) < most:
            raise DataError(f"the header promises {header[0]} words, the file has {len(words)}")
        if header and len(words) == header[0] and next(lines, b"").strip():
            warnings.warn(
                f"{path}: lines after the {header[0]} words of the header are not read", stacklevel=2
            )
        return _first_vectors(words, np.frombuffer(raw, np.float32).reshape(-1, dimension), path)


def _begin(file: IO[bytes], path: Path) -> tuple[tuple[int, int] | None, int, Iterator[bytes]]:
    """Return the header if there is one, the dimension, and the lines with vectors."""
    first = file.readline(_LONGEST_ROW)
    lines = iter(partial(file.readline, _LONGEST_ROW), b"")
    try:
        if header := read_header(first):
            return header, header[1], lines
        return None, first_dimension(first), chain([first], lines)
    except DataError as error:
        raise error.at(path, line=1) from None


def first_dimension(line: bytes) -> int:
    """Return how many numbers follow the word of a line; anything but a word and numbers is refused."""
    numbers = line.rstrip(b" \r\n").split(b" ")[1:]
    try:
        if list(map(float, numbers)) and len(numbers) <= _MOST_NUMBERS:
            return len(numbers)
    except ValueError:
        pass
    shown = line[:60].decode("utf-8", "replace").rstrip()
    raise DataError(f"expected a word and its numbers, found {shown!r}")


def _parse_fast(block: bytes, dimension: int, encoding: str, errors: str) -> Parsed | None:
    """Return what pandas' C reader finds, or None where a line is not a word and D numbers."""
    import pandas

    columns = 1 + dimension + block.split(b"\n", 1)[0].endswith(b" ")
    if block.count(b" ") != (block.count(b"\n") + 1) * (columns - 1):
        return None
    types: dict[int, Any] = {0: str, dimension + 1: str}  # the last one is empty, after a space at the end
    types |= dict.fromkeys(range(1, dimension + 1), np.float32)
    # pandas from 3.1 always reads numbers exactly, and warns when asked to.
    old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if old else {}
    try:
        table = pandas.read_csv(
            io.BytesIO(block), engine="c", sep=" ", header=None, index_col=False, names=range(columns),
            dtype=types, quoting=3, na_filter=False, lineterminator="\n",
            encoding=encoding, encoding_errors=errors, skip_blank_lines=False, **exact,
        )  # fmt: skip
    except (ValueError, pandas.errors.ParserError):
        return None
    numbers = table.iloc[:, 1 : dimension + 1].to_numpy(np.float32)
    return (table[0].tolist(), numbers) if np.isfinite(numbers).all() else None


def _parse_slowly(block: bytes, dimension: int, encoding: str, errors: str, path: Path, line: int) -> Parsed:
    """Read line by line: words may hold spaces, and an error names its line."""
    words, numbers = [], []
    for number, text in enumerate(block.split(b"\n"), start=line):
        try:
            word, *fields = text.rstrip(b" ").rsplit(b" ", dimension)
            if len(fields) != dimension:
                raise DataError(f"expected a word and {dimension} numbers, found {len(fields)} numbers")
            numbers.append(np.array([float(field) for field in fields], np.float32))
            if not np.isfinite(numbers[-1]).all():
                raise DataError(f"the vector of {word.decode(encoding, 'replace')!r} holds NaN or infinity")
            words.append(_decoded(word, encoding, errors))
        except DataError as error:
            raise error.at(path, line=number) from None
        except ValueError as error:
            reason = f"expected a word and {dimension} numbers, {error}"
            raise DataError(reason).at(path, line=number) from error
    return words, np.array(numbers, np.float32)


# ---------------------------------------------------------------- vectors as bytes


def read_word2vec_binary(path: Path, limit: int | None, encoding: str, errors: str) -> Embeddings:
    """Read word2vec's binary form: a header line, then each word, a space and D little-endian float32."""
    from gensim.models import keyedvectors

    with reading(path) as file:
        header = read_header(first := file.readline(256))
        if header is None:
            raise DataError(f"expected a first line with words and dimensions, found {first[:60]!r}")
        count, dimension = header
        wanted = min(count, limit or count)
        _expect_bytes(path, wanted * (1 + 4 * dimension), f"{wanted} words of {dimension} numbers")
        vectors = keyedvectors.KeyedVectors(dimension, wanted)
        try:  # not load_word2vec_format, which opens the file itself and unpacks it without bounds
            keyedvectors._word2vec_read_binary(
                file, vectors, None, wanted, dimension, np.float32, errors, BLOCK, encoding
            )
        except UnicodeDecodeError as error:
            _decoded(error.object.lstrip(b"\n"), encoding, errors)
        words = list(vectors.key_to_index)  # without those that came again
        return _first_vectors(words, vectors.vectors[: len(words)], path, wanted - len(words))


def read_fasttext_binary(path: Path, limit: int | None, encoding: str, errors: str) -> Embeddings:
    """Read an unsupervised fastText model (.bin, plain or gzip, of any version) with all its sub-words.

    The vectors equal gensim's: the mean of the word's own row and its n-grams' rows.
    """
    with reading(path) as file:
        start = file.read(8)  # a magic number and the version, in files since 2017; else as below
        new = start.startswith(FASTTEXT_MAGIC)
        # dimension, window, 6 settings, buckets, shortest, longest, 1 setting, sampling
        fields = struct.unpack("<12id", (b"" if new else start) + file.read(56 if new else 48))
        dimension, buckets, shortest, longest = fields[0], *fields[8:11]
        sizes = f"{dimension} dimensions, {buckets} sub-words of {shortest} to {longest}"
        if not 0 < dimension < 1 << 16 or buckets < 0 or not 0 <= shortest <= longest < 1 << 10:
            raise DataError(f"not a fastText model: {sizes}")
        size, _, labels, _ = struct.unpack("<3iq", file.read(20))
        pruned = struct.unpack("<q", file.read(8))[0] if new else -1
        if labels:
            raise DataError(f"a supervised fastText model ({labels} labels): its rows are no word vectors")
        if pruned > 0:
            raise DataError("a pruned or quantized fastText model (.ftz); use the .bin or .vec file")
        if size < 0:
            raise DataError(f"not a fastText model: {size} words")
        _expect_bytes(path, 10 * size + 4 * dimension * (size + buckets), f"{size} words, {sizes}")
        words = _read_fasttext_words(file, size, encoding, errors, path)
        if new and file.read(1) != b"\0":
            raise DataError("a quantized fastText model (.ftz); use the .bin or .vec file")
        shape = struct.unpack("<qq", file.read(16))
        if shape != (len(words) + buckets, dimension):
            raise DataError(f"{len(words)} words and {sizes}, but a matrix of shape {shape}")
        size = 4 * shape[0] * shape[1]
        raw = file.read(size)  # the rows of all words, then of all n-gram buckets
        if len(raw) < size:
            raise DataError(f"the matrix should have {size} bytes, found {len(raw)}")
    table = np.frombuffer(raw, "<f4").reshape(shape)
    kept = words[:limit]
    pieces = CharacterNgrams(table[len(words) :], shortest, longest)
    return Embeddings(Vocabulary.from_words(kept), pieces.vectors(kept, table[: len(kept)]), pieces)


def _read_fasttext_words(file: IO[bytes], size: int, encoding: str, errors: str, path: Path) -> list[str]:
    """Return the words of the dictionary: bytes up to a zero, then a count and a kind."""
    words, strange = [], 0
    for _ in range(size):
        word = bytearray()
        while (byte := file.read(1)) != b"\0":
            if not byte or len(word) > _LONGEST_WORD:
                raise EOFError(f"no end of the word {bytes(word[:40])!r}")
            word += byte
        words.append(_decoded(bytes(word), encoding, errors))
        strange += words[-1].encode(encoding, "replace") != word
        struct.unpack("<qb", file.read(9))
    if strange:
        reason = f"{strange} words are not {encoding}; their bad bytes are replaced"
        warnings.warn(f"{path}: {reason}", stacklevel=3)
    return words


def write_word2vec(embeddings: Embeddings, path: Path, *, binary: bool) -> None:
    """Write word2vec's form; a text has the shortest digits that give the same numbers back."""
    matrix = embeddings.matrix
    matrix = matrix.astype("<f4" if binary else np.result_type(matrix, np.float32))
    with Outputs() as files:
        file = files.binary(path)
        file.write(f"{len(embeddings)} {embeddings.dimension}\n".encode())
        for word, vector in zip(embeddings.vocabulary, matrix, strict=True):
            if " " in word or "\n" in word or not is_text(word):
                held = "a space, a line end or half a character"
                raise DataError(f"the word {word[:60]!r} holds {held}; this format cannot keep it")
            numbers = vector.tobytes() if binary else " ".join(vector.astype("U32").tolist()).encode()
            file.write(word.encode() + b" " + numbers + b"\n")
