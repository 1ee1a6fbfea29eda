"""The state of a part of an aligner: plain values, arrays, word lists, and the states of its own parts.

Every part has a method ``state()``. Its class makes the part again from a :class:`Stored` state, which checks
what it hands out. A folder holds one state: values in meta.json, small arrays in arrays.npz, and a file for
each large array and each word list. Names tell the place: ``scorer.lexicon.source_counts``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Shape, expect_array, expect_number, expect_whole, read_array, write_array
from nmtalign.errors import DataError
from nmtalign.files import is_text, read_utf8

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class State:
    """What a part is made of."""

    kind: str  # which class makes the part again
    values: Mapping[str, Any] = field(default_factory=dict)  # plain, for JSON
    arrays: Arrays = field(default_factory=dict)  # small ones, which are packed together
    large: Arrays = field(default_factory=dict)  # which have a file each
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)  # word lists
    files: Mapping[str, str | Path] = field(default_factory=dict)  # that are copied under a name
    parts: Mapping[str, State] = field(default_factory=dict)

    def write(self, folder: Path) -> dict[str, Any]:
        """Write arrays and word lists into a folder; return all else, for JSON."""
        packed: dict[str, NDArray[Any]] = {}
        meta = self._written(folder, "", packed)
        if packed:
            np.savez_compressed(folder / "arrays.npz", **packed)  # type: ignore[arg-type]
        return meta

    def _written(self, folder: Path, prefix: str, packed: dict[str, NDArray[Any]]) -> dict[str, Any]:
        packed |= {prefix + name: array for name, array in self.arrays.items()}
        for name, array in self.large.items():
            write_array(folder / f"{prefix}{name}.npy", array)
        for name, words in self.words.items():
            _write_words(words, folder / f"{prefix}{name}.txt")
        for name, path in self.files.items():
            shutil.copyfile(path, folder / f"{prefix}{name}")
        parts = {name: part._written(folder, f"{prefix}{name}.", packed) for name, part in self.parts.items()}
        counts = {name: len(words) for name, words in self.words.items()}
        return {"kind": self.kind, **self.values, "lists": counts, "parts": parts}


def _write_words(words: Sequence[str], path: Path) -> None:
    """Write a word a line; DataError for a word that a line cannot keep."""
    for number, word in enumerate(words):
        if "\n" in word or not is_text(word):
            found = f"word {number}, {word[:60]!r}, holds a line end or half a character"
            raise DataError(f"{found}; a word list cannot keep the word")
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8", newline="\n")


@dataclass(frozen=True, eq=False)
class Stored:
    """A state as a folder holds it; what is read is checked, and an error is a DataError with its place."""

    folder: Path
    meta: Mapping[str, Any]
    packed: Arrays  # of arrays.npz
    kinds: Mapping[str, Callable[..., Any]]  # what makes a part of each kind, from its Stored state
    file: Callable[[str], Path]  # gives the path of a file of the folder by its name, if it may be opened
    prefix: str = ""  # of the names of the part's files and arrays

    def part(self, name: str) -> Stored:
        """Return the state of a part."""
        prefix = f"{self.prefix}{name}."
        return replace(self, meta=_entry(self.meta["parts"], name, dict, self._meta), prefix=prefix)

    def parts(self) -> list[str]:
        """Return the names of the parts."""
        return list(self.meta["parts"])

    def open(self, name: str, *context: Any) -> Any:
        """Return a part; `context` is what its class wants to know besides."""
        stored = self.part(name)
        kind = stored.text("kind")
        if kind not in self.kinds:
            kinds = ", ".join(self.kinds)
            raise DataError(f"expected one of the kinds {kinds}, found {kind!r}").at(self._meta)
        return self.kinds[kind](stored, *context)

    @property
    def _meta(self) -> Path:
        return self.folder / "meta.json"

    def value(self, name: str, kind: type) -> Any:
        """Return a plain value of a type."""
        return _entry(self.meta, name, kind, self._meta)

    def text(self, name: str) -> str:
        """Return a text."""
        return str(self.value(name, str))

    def number(self, name: str, **bounds: float) -> float:
        """Return a finite number; `bounds` are its `low` and `high`."""
        return expect_number(self.meta.get(name), **bounds, name=self._meta)

    def whole(self, name: str, **bounds: float) -> int:
        """Return a whole number; `bounds` are its `low` and `high`."""
        return expect_whole(self.meta.get(name), **bounds, name=self._meta)

    def array(self, name: str, kind: str, shape: Shape, **bounds: float) -> NDArray[Any]:
        """Return a packed array; parameters as of :func:`nmtalign.arrays.expect_array`."""
        place = f"{self.folder / 'arrays.npz'}, {self.prefix}{name}"
        return expect_array(self.packed[self.prefix + name], kind, shape, **bounds, name=place)

    def large(self, name: str, kind: str, shape: Shape, **bounds: float) -> NDArray[Any]:
        """Return an array that has a file of its own."""
        path = self.file(f"{self.prefix}{name}.npy")
        return expect_array(read_array(path), kind, shape, **bounds, name=path)

    def words(self, name: str) -> list[str]:
        """Return a word list."""
        path = self.file(f"{self.prefix}{name}.txt")
        count = expect_whole(self.meta["lists"][name], low=0, name=self._meta)
        words = read_utf8(path).split("\n")[:-1]
        if len(words) != count:
            raise DataError(f"expected {count} words, found {len(words)}").at(path)
        return words


def _entry(meta: Mapping[str, Any], name: str, kind: type, path: Path) -> Any:
    value = meta.get(name)
    if not isinstance(value, kind):
        raise DataError(f"expected {kind.__name__} as {name!r}, found {type(value).__name__}").at(path)
    return value
