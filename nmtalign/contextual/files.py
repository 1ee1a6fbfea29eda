"""Token vectors and similarities of other programs, read pair by pair.

Axes: T target words, S source words, D dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import Archive, in_order, is_archive, read_array
from nmtalign.contextual.head import TokenPair
from nmtalign.errors import DataError
from nmtalign.files import file_in, foreign

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


def dot_products(source: Floats, target: Floats) -> Floats:
    """Return the dot products (T, S) of the vectors (S, D) and (T, D) of two sentences."""
    return np.asarray(target @ source.T, np.float32)


PRODUCTS = {"cosine": cosines, "dot": dot_products}


def _part(array: Floats, pair: TokenPair, axes: Sequence[int]) -> Floats:
    """Return the rows and columns of a piece; `axes` are the sides (0 source, 1 target) of its axes."""
    return array[tuple(slice(pair.starts[a], pair.starts[a] + len(pair.words[a])) for a in axes)]


class _Given:
    """A file with something for each pair; another process opens it again."""

    option = ""  # of the command line

    def __init__(self, path: str | Path, pairs: int, *settings: str) -> None:
        self.path, self._pairs, self._settings = path, pairs, settings

    def __reduce__(self) -> tuple[type[_Given], tuple[str | Path, ...]]:
        return type(self), (self.path, *self._settings)

    @property
    def settings(self) -> str:
        return f"{self.option}={self.path}"

    def __len__(self) -> int:
        return self._pairs

    def of(self, pairs: Sequence[TokenPair]) -> list[NDArray[np.float32]]:
        """Return the similarities of some pairs; a DataError names the first that is not there or unfit."""
        if pairs and pairs[-1].number > len(self):
            found = f"expected an array for each pair, found none for pair {len(self) + 1}"
            raise DataError(found).at(self.path)
        with foreign(self.path):
            return [np.asarray(self._of(pair), np.float32) for pair in pairs]

    def _of(self, pair: TokenPair) -> Floats:
        raise NotImplementedError

    def _unfit(self, pair: TokenPair, found: object) -> DataError:
        return DataError(f"pair {pair.number}: {found}").at(self.path)


class GivenSimilarities(_Given):
    """Similarities in an .npz file, one array (T, S) a pair; their names end with its number, from 0 or 1."""

    option = "similarities"

    def __init__(self, path: str | Path) -> None:
        self._archive = Archive(path)
        self._names = in_order(self._archive.names, path)
        super().__init__(path, len(self._names))

    def _of(self, pair: TokenPair) -> Floats:
        array = self._archive.read(self._names[pair.number - 1])
        S, T = pair.lengths
        if array.shape != (T, S):
            raise self._unfit(pair, f"expected {T} target by {S} source words, found {array.shape}")
        return _part(array, pair, (1, 0))


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
    product : {"cosine", "dot"}

    Raises
    ------
    DataError
        If a file is not there or no such, the sides differ in their number of pairs or in D, or a pair has
        not a vector for each word.
    """

    option = "token-vectors"

    def __init__(self, path: str | Path, product: str = "cosine") -> None:
        self._product = PRODUCTS[product]
        opened = _of_folder if Path(path).is_dir() else _of_archive
        with foreign(path):
            self._sides = [opened(Path(path), side) for side in SIDES]
        counts = [side.sentences for side in self._sides]
        if counts[0] != counts[1]:
            found = f"{counts[0]} source and {counts[1]} target lines"
            raise DataError(f"expected vectors of both sides of each pair, found {found}").at(path)
        super().__init__(path, counts[0], product)

    def _of(self, pair: TokenPair) -> Floats:
        found = [self._words(side, pair) for side in self._sides]
        for name, vectors, words in zip(SIDES, found, pair.lengths, strict=True):
            if vectors.ndim != 2 or len(vectors) != words or vectors.shape[1] != found[0].shape[-1]:
                expected = f"expected {words} {name} vectors of one length"
                raise self._unfit(pair, f"{expected}, found an array of {vectors.shape}")
        return self._product(*(_part(side, pair, (axis,)) for axis, side in enumerate(found)))

    def _words(self, side: _Side, pair: TokenPair) -> Floats:
        """Return the vectors of the words of one side of a pair."""
        vectors, words = side.read(pair.number - 1)
        try:
            return vectors if words is None else word_means(vectors, words)
        except DataError as error:
            raise self._unfit(pair, error) from None


class _Side(NamedTuple):
    """One side of a text; `read` gives the vectors of a sentence, and the word of each if of sub-words."""

    sentences: int
    read: Callable[[int], tuple[Floats, Ints | None]]


def _of_archive(path: Path, side: str) -> _Side:
    if not is_archive(path):
        raise DataError("expected an .npz file or a folder with token vectors").at(path)
    archive = Archive(path)
    vectors, words = (
        in_order([name for name in archive.names if name.startswith(begin)], path)
        for begin in (side, f"words-{side}")
    )
    if words and len(words) != len(vectors):
        raise DataError(f"expected {len(vectors)} arrays words-{side}, found {len(words)}").at(path)
    return _Side(
        len(vectors), lambda n: (archive.read(vectors[n]), archive.read(words[n]) if words else None)
    )


def _of_folder(path: Path, side: str) -> _Side:
    rows, words = path / f"{side}.npy", path / f"{side}_words.npy"
    if not rows.exists():
        raise DataError(f"expected a file {rows.name} with the vectors of all words").at(path)
    vectors = read_array(file_in(path, rows.name), mapped=True)
    of_word = read_array(file_in(path, words.name), mapped=True) if words.exists() else None
    lengths = read_array(file_in(path, f"{side}_lengths.npy"))
    if lengths.dtype.kind not in "iu" or lengths.ndim != 1:
        found = f"expected the words of each pair, found {lengths.dtype} of shape {lengths.shape}"
        raise DataError(found).at(path / f"{side}_lengths.npy")
    wrong = lengths[(lengths < 0) | (lengths > len(vectors))]
    if len(wrong):  # a sum could wrap around
        found = f"expected 0 to {len(vectors)} words in each pair, found {wrong[0]}"
        raise DataError(found).at(path / f"{side}_lengths.npy")
    lengths = lengths.astype(np.int64)
    ends = np.cumsum(lengths)
    if vectors.ndim != 2 or int(lengths.sum()) != len(vectors):
        found = f"expected {int(lengths.sum())} vectors, found an array of {vectors.shape}"
        raise DataError(found).at(rows)

    def read(n: int) -> tuple[Floats, Ints | None]:
        own = slice(ends[n] - lengths[n], ends[n])
        return np.asarray(vectors[own]), None if of_word is None else of_word[own]

    return _Side(len(lengths), read)


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
