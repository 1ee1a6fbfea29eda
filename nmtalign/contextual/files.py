"""Token vectors and similarities of other programs, read pair by pair.

Axes: T target words, S source words, D dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Archive, in_order, is_archive, read_array
from nmtalign.contextual.head import TokenPair
from nmtalign.errors import DataError

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

SIDES = ("source", "target")


def cosines(source: Floats, target: Floats) -> NDArray[np.float32]:
    """Return the cosines (T, S) of the vectors (S, D) and (T, D) of two sentences; 0 for a zero vector.

    Examples
    --------
    >>> cosines(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[4.0, 3.0]])).round(2).tolist()
    [[0.9599999785423279, 0.0]]
    """
    first, second = (np.asarray(side, np.float32) for side in (source, target))
    lengths = [np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second)]
    units = [side / np.where(n > 0, n, 1) for side, n in zip((first, second), lengths, strict=True)]
    return np.asarray(units[1] @ units[0].T)


def _part(array: Floats, pair: TokenPair, axes: Sequence[int]) -> Floats:
    """Return the rows and columns of a piece; `axes` are the sides (0 source, 1 target) of its axes."""
    return array[tuple(slice(pair.starts[a], pair.starts[a] + len(pair.words[a])) for a in axes)]


class _Given:
    """A file with something for each pair; another process opens it again."""

    option = ""  # of the command line

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[type[_Given], tuple[str | Path]]:
        return type(self), (self.path,)

    @property
    def settings(self) -> str:
        return f"{self.option}={self.path}"

    def of(self, pairs: Sequence[TokenPair]) -> list[NDArray[np.float32]]:
        """Return the similarities of some pairs; a DataError names the first that is not there or unfit."""
        return [self._of(pair) for pair in pairs]

    def _of(self, pair: TokenPair) -> NDArray[np.float32]:
        raise NotImplementedError


class GivenSimilarities(_Given):
    """Similarities in an .npz file, one array (T, S) a pair; their names end with its number, from 0 or 1."""

    option = "similarities"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._archive = Archive(path)
        self._names = in_order(self._archive.names, path)

    def __len__(self) -> int:
        return len(self._names)

    def _of(self, pair: TokenPair) -> NDArray[np.float32]:
        if pair.number > len(self):
            found = f"expected an array for each pair, found none for pair {pair.number}"
            raise DataError(found).at(self.path)
        array = self._archive.read(self._names[pair.number - 1])
        expected = pair.lengths[::-1]
        if array.shape != expected:
            found = f"expected {expected[0]} target by {expected[1]} source words, found {array.shape}"
            raise DataError(f"pair {pair.number}: {found}").at(self.path)
        return np.asarray(_part(array, pair, (1, 0)), np.float32)


class GivenVectors(_Given):
    """Token vectors of other programs.

    Parameters
    ----------
    path : str or Path
        An .npz file of arrays (words, D), two a pair, whose names begin with ``source`` or ``target`` and end
        with the number of the pair (from 0 or 1); or a folder with the vectors of all words in
        ``source.npy`` and ``target.npy`` and the words of each pair in ``source_lengths.npy`` and
        ``target_lengths.npy``, which is memory-mapped. Vectors of sub-words are averaged if there is also the
        number of the word, from 0 in each sentence, that each belongs to: arrays whose names begin with
        ``words-source`` and ``words-target``, or files ``source_words.npy`` and ``target_words.npy``.

    Raises
    ------
    DataError
        If a file is not there or no such, the sides differ in their number of pairs or in D, or a pair has
        not a vector for each word.
    """

    option = "token-vectors"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        kind = _Folder if Path(path).is_dir() else _Npz
        self._sides = [kind(Path(path), side) for side in SIDES]
        if len(self._sides[0]) != len(self._sides[1]):
            found = " and ".join(f"{len(own)} {side}" for own, side in zip(self._sides, SIDES, strict=True))
            raise DataError(f"expected vectors of both sides of each pair, found {found} lines").at(path)

    def __len__(self) -> int:
        return len(self._sides[0])

    def _of(self, pair: TokenPair) -> NDArray[np.float32]:
        if pair.number > len(self):
            raise DataError(f"expected vectors of each pair, found none for pair {pair.number}").at(self.path)
        found = [self._words(side, pair.number) for side in self._sides]
        for name, vectors, words in zip(SIDES, found, pair.lengths, strict=True):
            if vectors.ndim != 2 or len(vectors) != words or vectors.shape[1] != found[0].shape[-1]:
                expected = f"expected {words} {name} vectors of one length, found an array of {vectors.shape}"
                raise DataError(f"pair {pair.number}: {expected}").at(self.path)
        return cosines(*(_part(side, pair, (axis,)) for axis, side in enumerate(found)))

    def _words(self, side: _Npz | _Folder, number: int) -> Floats:
        """Return the vectors of the words of one side of a pair."""
        vectors, words = side.read(number - 1)
        try:
            return vectors if words is None else word_means(vectors, words)
        except DataError as error:
            raise DataError(f"pair {number}: {error}").at(self.path) from None


class _Npz:
    """The arrays of one side in an .npz file."""

    def __init__(self, path: Path, side: str) -> None:
        if not is_archive(path):
            raise DataError("expected an .npz file or a folder with token vectors").at(path)
        self._archive = Archive(path)
        self._names = self._named(side, path)
        self._words = self._named(f"words-{side}", path)
        if self._words and len(self._words) != len(self._names):
            found = f"expected {len(self._names)} arrays words-{side}, found {len(self._words)}"
            raise DataError(found).at(path)

    def _named(self, begin: str, path: Path) -> list[str]:
        return in_order([name for name in self._archive.names if name.startswith(begin)], path)

    def __len__(self) -> int:
        return len(self._names)

    def read(self, n: int) -> tuple[Floats, Ints | None]:
        """Return vectors, and the word of each if they are of sub-words."""
        words = self._archive.read(self._words[n]) if self._words else None
        return self._archive.read(self._names[n]), words


class _Folder:
    """The rows of one side in a folder."""

    def __init__(self, path: Path, side: str) -> None:
        self._rows = read_array(path / f"{side}.npy", mapped=True)
        words = path / f"{side}_words.npy"
        self._words = read_array(words, mapped=True) if words.exists() else None
        lengths = read_array(path / f"{side}_lengths.npy")
        if lengths.dtype.kind not in "iu" or lengths.ndim != 1 or (lengths < 0).any():
            found = f"expected the words of each pair, found {lengths.dtype} of shape {lengths.shape}"
            raise DataError(found).at(path / f"{side}_lengths.npy")
        self._lengths = lengths
        if self._rows.ndim != 2 or int(lengths.sum()) != len(self._rows):
            found = f"expected {int(lengths.sum())} vectors, found an array of {self._rows.shape}"
            raise DataError(found).at(path / f"{side}.npy")

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self._lengths, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._lengths)

    def read(self, n: int) -> tuple[Floats, Ints | None]:
        """Return vectors, and the word of each if they are of sub-words."""
        own = slice(self._ends[n] - self._lengths[n], self._ends[n])
        return np.asarray(self._rows[own]), None if self._words is None else self._words[own]


def word_means(vectors: Floats, words: Ints) -> Floats:
    """Return the mean vector (words, D) of the sub-words of each word; `words` numbers them from 0, in order.

    Examples
    --------
    >>> word_means(np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]]), np.array([0, 0, 1])).tolist()
    [[2.0, 1.0], [5.0, 5.0]]
    """
    begins = np.diff(np.asarray(words, np.int64).ravel(), prepend=-1)  # 1 where a word begins
    fits = words.shape == vectors.shape[:1] and words.dtype.kind in "iu"
    if not fits or begins[:1].any() != bool(len(begins)) or not np.isin(begins, (0, 1)).all():
        found = f"for vectors of shape {vectors.shape} found {words.dtype} of shape {words.shape}"
        raise DataError(f"expected the word of each vector, from 0, in order and without gaps; {found}")
    starts = np.flatnonzero(begins)
    counts = np.diff(starts, append=len(begins))
    return np.asarray(np.add.reduceat(vectors, starts, axis=0) / counts[:, None]) if len(starts) else vectors
