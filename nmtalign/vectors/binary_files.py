"""Vectors as bytes: word2vec's binary form and fastText's models; what a header claims is checked first.

gensim reads word2vec's form: of a million words of 100 dimensions in 4.0 s and 0.6 GB, where our own reader
took 2.9 s and 0.7 GB. fastText's models are read here: with a million words and as many sub-words in 6.6 s
and 1.3 GB, where gensim's ``load_facebook_vectors`` takes 38.5 s and 2.5 GB, never comes back from a
dictionary that is cut off, and asks for the memory that a header claims (``scripts/benchmark_vectors.py
binary``).
"""

from __future__ import annotations

import struct
import warnings
from pathlib import Path
from typing import IO

import numpy as np

from nmtalign.errors import DataError
from nmtalign.output import Outputs
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import CharacterNgrams, Embeddings
from nmtalign.vectors.text_files import (
    BLOCK,
    check_writable,
    decoded,
    expect_bytes,
    first_vectors,
    read_header,
    reading,
)

FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_LONGEST_WORD = 1 << 16  # bytes


def _read_word(file: IO[bytes]) -> bytes:
    """Return the bytes up to a zero."""
    word = bytearray()
    while (byte := file.read(1)) != b"\0":
        if not byte or len(word) > _LONGEST_WORD:
            raise EOFError(f"no end of the word {bytes(word[:40])!r}")
        word += byte
    return bytes(word)


def read_word2vec_binary(
    path: Path, *, limit: int | None = None, encoding: str = "utf-8", errors: str = "strict"
) -> Embeddings:
    """Read word2vec's binary form: a header line, then each word, a space and D little-endian float32."""
    from gensim.models import keyedvectors

    with reading(path) as file:
        header = read_header(first := file.readline(256))
        if header is None:
            raise DataError(f"expected a first line with words and dimensions, found {first[:60]!r}")
        count, dimension = header
        wanted = min(count, limit or count)
        expect_bytes(path, wanted * (1 + 4 * dimension), f"{wanted} words of {dimension} numbers")
        vectors = keyedvectors.KeyedVectors(dimension, wanted)
        try:  # not load_word2vec_format, which opens the file itself and unpacks it without bounds
            keyedvectors._word2vec_read_binary(
                file, vectors, None, wanted, dimension, np.float32, errors, BLOCK, encoding
            )
        except UnicodeDecodeError as error:
            decoded(error.object.lstrip(b"\n"), encoding, errors)
        words = list(vectors.key_to_index)  # without those that came again
        return first_vectors(words, vectors.vectors[: len(words)], path, wanted - len(words))


def write_word2vec_binary(embeddings: Embeddings, path: Path) -> None:
    """Write word2vec's binary form."""
    with Outputs() as files:
        file = files.binary(path)
        file.write(f"{len(embeddings)} {embeddings.dimension}\n".encode())
        for word, vector in zip(embeddings.vocabulary, embeddings.matrix.astype("<f4"), strict=True):
            check_writable(word)
            file.write(word.encode() + b" " + vector.tobytes() + b"\n")


def read_fasttext_binary(
    path: Path, *, limit: int | None = None, encoding: str = "utf-8", errors: str = "backslashreplace"
) -> Embeddings:
    """Read an unsupervised fastText model (.bin, plain or gzip, of any version) with all its sub-words.

    The vectors equal gensim's: the mean of the word's own row and its n-grams' rows.
    """
    with reading(path) as file:
        start = file.read(8)  # a magic number and the version, in files since 2017; else as below
        new = start.startswith(FASTTEXT_MAGIC)
        # dimension, window, 6 settings, buckets, shortest, longest, 1 setting, sampling
        fields = struct.unpack("<12id", (b"" if new else start) + file.read(56 if new else 48))
        dimension, buckets, shortest, longest = fields[0], *fields[8:11]
        found = f"{dimension} dimensions, {buckets} sub-words of {shortest} to {longest}"
        if not 0 < dimension < 1 << 16 or buckets < 0 or not 0 <= shortest <= longest < 1 << 10:
            raise DataError(f"not a fastText model: {found}")
        size, _, labels, _ = struct.unpack("<3iq", file.read(20))
        pruned = struct.unpack("<q", file.read(8))[0] if new else -1
        if labels:
            raise DataError(f"a supervised fastText model ({labels} labels): its rows are no word vectors")
        if pruned > 0:
            raise DataError("a pruned or quantised fastText model (.ftz); use the .bin or .vec file")
        if size < 0:
            raise DataError(f"not a fastText model: {size} words")
        expect_bytes(path, 10 * size + 4 * dimension * (size + buckets), f"{size} words, {found}")
        words = _read_fasttext_words(file, size, encoding, errors, path)
        if new and file.read(1) != b"\0":
            raise DataError("a quantised fastText model (.ftz); use the .bin or .vec file")
        shape = struct.unpack("<qq", file.read(16))
        if shape != (len(words) + buckets, dimension):
            raise DataError(f"{len(words)} words and {found}, but a matrix of shape {shape}")
        size = 4 * shape[0] * shape[1]
        raw = file.read(size)  # the rows of all words, then of all n-gram buckets
        if len(raw) < size:
            raise DataError(f"the matrix should have {size} bytes, found {len(raw)}")
    table = np.frombuffer(raw, "<f4").reshape(shape)
    kept = words if limit is None else words[:limit]
    pieces = CharacterNgrams(table[len(words) :], shortest, longest)
    return Embeddings(Vocabulary.from_words(kept), pieces.vectors(kept, table[: len(kept)]), pieces)


def _read_fasttext_words(file: IO[bytes], size: int, encoding: str, errors: str, path: Path) -> list[str]:
    """Return the words of the dictionary: bytes up to a zero, then a count and a kind."""
    words, strange = [], 0
    for _ in range(size):
        raw = _read_word(file)
        words.append(decoded(raw, encoding, errors))
        strange += words[-1].encode(encoding, "replace") != raw
        struct.unpack("<qb", file.read(9))
    if strange:
        reason = f"{strange} words are not {encoding}; their bad bytes are replaced"
        warnings.warn(f"{path}: {reason}", stacklevel=3)
    return words
