"""Similarities of the words or sub-words of sentence pairs by a pretrained encoder, which a file may keep.

Axes: T target, S source words or sub-words.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np

from nmtalign.arrays import Floats, Integers
from nmtalign.encoders.files import PairMatrix, similar
from nmtalign.encoders.transformer import LONGEST, PRECISION, Encoder, WordPair
from nmtalign.errors import DataError, NmtalignError

PAIRS = 256  # pairs whose vectors are in memory, and of one entry into the cache
CELLS = 1 << 26  # greatest number of cells of a pair

Stored = tuple[Floats, tuple[Integers, Integers]]  # the matrix, and the words of sub-words if it is of these


@dataclass(eq=False)
class EncoderSimilarities:
    """Similarities of the token vectors of an encoder.

    `cache` is a file of SQLite that keeps similarities by a hash of all that makes them: content or commit of
    the model, layer, languages, precision, greatest window, product, units, words.
    """

    encoder: Encoder
    product: str = "cosine"
    cache: str | Path | None = None
    units: str = "words"

    @property
    def description(self) -> str:
        encoder = self.encoder
        languages = f" langs={','.join(encoder.languages)}" if encoder.languages else ""
        return f"encoder={encoder.name} layer={encoder.layer}{languages}"

    def read(self, pairs: Iterable[WordPair]) -> Iterator[PairMatrix]:
        """Yield the similarities of each pair; a DataError if a pair has more than `CELLS`."""
        numbered = enumerate(pairs, 1)
        while part := dict(islice(numbered, PAIRS)):
            similarities = self._similarities({number: words for number, words in part.items() if all(words)})
            for number, words in part.items():
                empty = PairMatrix(words, np.zeros((len(words[1]), len(words[0]))))
                yield similarities.get(number, empty)

    def _similarities(self, pairs: Mapping[int, WordPair]) -> dict[int, PairMatrix]:
        """Return the similarities of some pairs by their number, from the cache or the encoder."""
        if self.cache is None:
            return self._computed(pairs)
        keys, stored = {number: self._key(pair) for number, pair in pairs.items()}, {}
        rows = _exchanged(self.cache, "SELECT value FROM similarities WHERE key = ?", zip(keys.values()))
        for (number, words), row in zip(pairs.items(), rows, strict=True):
            entry = None if row is None else _unpacked(row[0])
            if entry is not None:
                stored[number] = PairMatrix(words, entry[0], None if self.units == "words" else entry[1])
        new = self._computed({number: pair for number, pair in pairs.items() if number not in stored})
        entries = [(keys[number], _packed(pair)) for number, pair in new.items()]
        _exchanged(self.cache, "INSERT OR REPLACE INTO similarities VALUES (?, ?)", entries)
        return stored | new

    def _computed(self, pairs: Mapping[int, WordPair]) -> dict[int, PairMatrix]:
        vectors = self.encoder.vectors(pairs) if pairs else []
        similarities = {}
        for (number, pair), sides in zip(pairs.items(), vectors, strict=True):
            sizes = map(len, pair) if self.units == "words" else (len(words) for _, words in sides)
            if (cells := prod(sizes)) > CELLS:
                expected = f"expected at most {CELLS:,} cells (target by source {self.units})"
                raise DataError(f"pair {number}: {expected}, found {cells:,}; cut the pair into shorter ones")
            try:
                similarities[number] = similar(pair, sides, self.product, self.units)
            except DataError as error:
                place = f"layer {self.encoder.layer} in {PRECISION[self.encoder.device]}"
                raise DataError(f"pair {number}: {error}, by {place}; --device cpu is more precise") from None
        return similarities

    @cached_property
    def _identity(self) -> list[object]:
        encoder, precision = self.encoder, PRECISION[self.encoder.device]
        how = [encoder.layer, encoder.languages, encoder.device, precision, LONGEST, self.product, self.units]
        return [*(encoder.identity if self.cache is not None else []), *how]

    def _key(self, pair: WordPair) -> str:
        text = json.dumps([self._identity, *pair], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _packed(pair: PairMatrix) -> bytes:
    """Return an entry: a checksum, T and S, how many numbers of words follow and these, the matrix."""
    numbers = np.concatenate(pair.word_of_piece or [[]])
    header = np.concatenate([pair.matrix.shape, [len(numbers)], numbers]).astype("<i4")
    body = header.tobytes() + pair.matrix.astype("<f4").tobytes()
    return zlib.crc32(body).to_bytes(4, "little") + body


def _unpacked(value: object) -> Stored | None:
    """Return an entry; None for one that is damaged, or that nmtalign did not write."""
    if not isinstance(value, bytes) or len(value) < 16:
        return None
    if zlib.crc32(value[4:]).to_bytes(4, "little") != value[:4]:
        return None
    T, S, count = np.frombuffer(value, "<i4", 3, 4).tolist()
    numbers = np.frombuffer(value, "<i4", count, 16)
    matrix = np.frombuffer(value, "<f4", T * S, 16 + 4 * count).reshape(T, S)
    return matrix, (numbers[:S], numbers[S:])


def _exchanged(
    path: str | Path, command: str, rows: Iterable[tuple[object, ...]]
) -> list[tuple[object] | None]:
    """Run a command for each row on a cache, a file of SQLite, and return what it answers."""
    try:
        with closing(sqlite3.connect(path, timeout=60)) as file, file:
            if file.execute("SELECT 1 FROM sqlite_master WHERE tbl_name != 'similarities'").fetchone():
                raise sqlite3.DatabaseError("it holds other tables")
            file.execute("CREATE TABLE IF NOT EXISTS similarities (key TEXT PRIMARY KEY, value BLOB)")
            return [file.execute(command, row).fetchone() for row in rows]
    except sqlite3.Error as error:
        if "full" in str(error) or "I/O" in str(error):
            raise NmtalignError(f"{path}: {error}") from None
        found = f"expected a cache that nmtalign wrote ({error}); name another file"
        raise DataError(found).at(path) from None
