"""Similarities of tokens by a pretrained encoder, remembered in memory and on disk.

Axes: T target words, S source words.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from nmtalign.arrays import Floats
from nmtalign.encoders.files import PRODUCTS, Given, WordPair, finite
from nmtalign.encoders.transformer import Encoder
from nmtalign.errors import DataError, NmtalignError

PAIRS = 512  # pairs whose vectors are in memory
CELLS = 1 << 26  # greatest number of cells of a pair
REMEMBERED = 10_000  # pairs whose similarities stay in memory, for fitting and then aligning a text


@dataclass(eq=False)
class EncoderSimilarities:
    """Similarities of the token vectors of an encoder.

    Parameters
    ----------
    encoder : Encoder
    product : {"cosine", "dot"}
    cache : str or Path, optional
        File that keeps similarities by a hash of model, layer and text (SQLite).
    """

    encoder: Encoder
    product: str = "cosine"
    cache: str | Path | None = None
    _memory: dict[str, Floats] = field(default_factory=dict)

    @property
    def settings(self) -> str:
        return f"encoder={self.encoder.name} layer={self.encoder.layer}"

    def of(self, pairs: Sequence[WordPair]) -> list[Floats]:
        """Return the similarities (T, S) of each pair."""
        keys = [self._key(pair) for pair in pairs]
        found = {key: self._memory[key] for key in keys if key in self._memory}
        if self.cache is not None:
            asked = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in found}
            found |= _Cache(self.cache).read(asked)
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in found}
        for start in range(0, len(missing), PAIRS):
            found |= self._computed(dict(list(missing.items())[start : start + PAIRS]))
        return [found[key] for key in keys]

    def read(self, pairs: Iterable[WordPair]) -> Iterator[Given]:
        """Yield the similarities of each pair; a DataError if a pair has more than `CELLS`."""
        rest, first = iter(pairs), 1
        while part := list(islice(rest, PAIRS)):
            for number, (source, target) in enumerate(part, first):
                if (cells := len(source) * len(target)) > CELLS:
                    expected = f"expected at most {CELLS:,} cells (target by source words), found {cells:,}"
                    raise DataError(f"pair {number}: {expected}; cut the pair into shorter ones")
            found = iter(self.of([words for words in part if all(words)]))
            for words in part:
                yield Given(words, next(found) if all(words) else np.zeros((len(words[1]), len(words[0]))))
            first += len(part)

    def _computed(self, pairs: dict[str, WordPair]) -> dict[str, Floats]:
        sides = [[pair[side] for pair in pairs.values()] for side in (0, 1)]
        vectors = self.encoder.vectors([*sides[0], *sides[1]])
        both = zip(vectors[: len(pairs)], vectors[len(pairs) :], strict=True)
        found = {key: finite(PRODUCTS[self.product](*own)) for key, own in zip(pairs, both, strict=True)}
        if self.cache is not None:
            _Cache(self.cache).write(found)
        if len(self._memory) < REMEMBERED:
            self._memory |= found
        return found

    @cached_property
    def _identity(self) -> list[str]:
        which = self.encoder.identity if self.cache is not None else []
        return [*which, str(self.encoder.layer), self.product, self.encoder.device]

    def _key(self, pair: WordPair) -> str:
        text = json.dumps([self._identity, *pair], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Cache:
    """Arrays by key in a file of SQLite, open for one exchange."""

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def read(self, pairs: dict[str, WordPair]) -> dict[str, Floats]:
        """Return the stored arrays of some pairs."""
        rows = self._run("SELECT value FROM similarities WHERE key = ?", [(key,) for key in pairs])
        found = {}
        for (key, pair), row in zip(pairs.items(), rows, strict=True):
            shape = len(pair[1]), len(pair[0])
            if row is not None and len(row[0]) == 4 * shape[0] * shape[1]:
                found[key] = np.frombuffer(row[0], np.float32).reshape(shape)
        return found

    def write(self, found: dict[str, Floats]) -> None:
        """Store arrays."""
        values = [(key, np.ascontiguousarray(own).tobytes()) for key, own in found.items()]
        self._run("INSERT OR REPLACE INTO similarities VALUES (?, ?)", values)

    def _run(self, command: str, rows: Sequence[tuple[object, ...]]) -> list[tuple[bytes] | None]:
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
