"""Similarities of the words or sub-words of sentence pairs by a pretrained encoder, which a file may keep.

Axes: T target, S source words or sub-words.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np

from nmtalign.arrays import Floats, Integers
from nmtalign.encoders.files import Given, similar
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
        own = self.encoder
        languages = f" langs={','.join(own.languages)}" if own.languages else ""
        return f"encoder={own.name} layer={own.layer}{languages}"

    def read(self, pairs: Iterable[WordPair]) -> Iterator[Given]:
        """Yield the similarities of each pair; a DataError if a pair has more than `CELLS`."""
        numbered = enumerate(pairs, 1)
        while part := dict(islice(numbered, PAIRS)):
            found = self._found({number: words for number, words in part.items() if all(words)})
            for number, words in part.items():
                yield found.get(number) or Given(words, np.zeros((len(words[1]), len(words[0]))))

    def _found(self, pairs: Mapping[int, WordPair]) -> dict[int, Given]:
        """Return the similarities of some pairs by their number, from the cache or the encoder."""
        if self.cache is None:
            return self._computed(pairs)
        keys, cache = {number: self._key(pair) for number, pair in pairs.items()}, _Cache(self.cache)
        stored = zip(pairs.items(), cache.read(list(keys.values())), strict=True)
        of_words = self.units == "words"
        found = {
            number: Given(words, own[0], None if of_words else own[1])
            for (number, words), own in stored
            if own is not None
        }
        new = self._computed({number: pair for number, pair in pairs.items() if number not in found})
        cache.write({keys[number]: given for number, given in new.items()})
        return found | new

    def _computed(self, pairs: Mapping[int, WordPair]) -> dict[int, Given]:
        vectors = self.encoder.vectors(pairs) if pairs else []
        found = {}
        for (number, pair), own in zip(pairs.items(), vectors, strict=True):
            sizes = map(len, pair) if self.units == "words" else (len(of_word) for _, of_word in own)
            if (cells := prod(sizes)) > CELLS:
                expected = (
                    f"expected at most {CELLS:,} cells (target by source {self.units}), found {cells:,}"
                )
                raise DataError(f"pair {number}: {expected}; cut the pair into shorter ones")
            try:
                found[number] = similar(pair, own, self.product, self.units)
            except DataError as error:
                place = f"layer {self.encoder.layer} in {PRECISION[self.encoder.device]}"
                raise DataError(f"pair {number}: {error}, by {place}; --device cpu is more precise") from None
        return found

    @cached_property
    def _identity(self) -> list[object]:
        own = self.encoder
        how = [own.layer, own.languages, own.device, PRECISION[own.device], LONGEST, self.product, self.units]
        return [*(own.identity if self.cache is not None else []), *how]

    def _key(self, pair: WordPair) -> str:
        text = json.dumps([self._identity, *pair], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _packed(given: Given) -> bytes:
    """Return an entry: a checksum, T and S, how many numbers of words follow and these, the matrix."""
    numbers = np.concatenate(given.of_word or [[]])
    header = np.concatenate([given.matrix.shape, [len(numbers)], numbers]).astype("<i4")
    body = header.tobytes() + given.matrix.astype("<f4").tobytes()
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


class _Cache:
    """Entries by key in a file of SQLite, open for one exchange."""

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def read(self, keys: Sequence[str]) -> list[Stored | None]:
        """Return the stored entry of each key; None where there is none, or a damaged one."""
        rows = self._run("SELECT value FROM similarities WHERE key = ?", [(key,) for key in keys])
        return [None if row is None else _unpacked(row[0]) for row in rows]

    def write(self, found: Mapping[str, Given]) -> None:
        """Store entries."""
        rows = [(key, _packed(own)) for key, own in found.items()]
        self._run("INSERT OR REPLACE INTO similarities VALUES (?, ?)", rows)

    def _run(self, command: str, rows: Sequence[tuple[object, ...]]) -> list[tuple[object] | None]:
        try:
            with closing(sqlite3.connect(self.path, timeout=60)) as file, file:
                if file.execute("SELECT 1 FROM sqlite_master WHERE tbl_name != 'similarities'").fetchone():
                    raise sqlite3.DatabaseError("it holds other tables")
                file.execute("CREATE TABLE IF NOT EXISTS similarities (key TEXT PRIMARY KEY, value BLOB)")
                return [file.execute(command, row).fetchone() for row in rows]
        except sqlite3.Error as error:
            if "full" in str(error) or "I/O" in str(error):
                raise NmtalignError(f"{self.path}: {error}") from None
            found = f"expected a cache that nmtalign wrote ({error}); name another file"
            raise DataError(found).at(self.path) from None
