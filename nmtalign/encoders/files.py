"""Sources of similarities: files of token vectors and of similarities, read pair by pair.

Axes: T target words, S source words, D dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import (
    AnyArray,
    Archive,
    Flags,
    Floats,
    Integers,
    Reals,
    Rows,
    in_order,
    is_archive,
    read_array,
)
from nmtalign.door import expect_kind
from nmtalign.encoders.attention_files import read_linkable, read_npz
from nmtalign.encoders.transformer import WordPair
from nmtalign.errors import DataError
from nmtalign.files import file_in
from nmtalign.names import SIDES

Tokens = tuple[Reals, Integers | None]  # vectors of words, or of sub-words and the word of each
Item = TypeVar("Item")


def cosines(source: Reals, target: Reals) -> Floats:
    """Return the cosines (T, S) of the vectors (S, D) and (T, D) of two sentences; 0 for a zero vector."""
    first, second = (np.asarray(side, np.float32) for side in (source, target))
    lengths = [np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second)]
    units = [side / np.where(n > 0, n, 1) for side, n in zip((first, second), lengths, strict=True)]
    return np.asarray(units[1] @ units[0].T)


def dot_products(source: Reals, target: Reals) -> Reals:
    """Return the dot products (T, S) of the vectors (S, D) and (T, D) of two sentences."""
    return np.asarray(target @ source.T, np.float32)


PRODUCTS = {"cosine": cosines, "dot": dot_products}


class Given(NamedTuple):
    """What a source gives for one sentence pair."""

    words: WordPair  # those that the matrix is of, source and target
    matrix: Reals  # (T, S), of words or of sub-words
    of_word: tuple[Integers, Integers] | None = None  # the word of each source and target sub-word
    by_head: Callable[[], dict[str, Reals]] = dict  # computes the matrix of each attention head by name
    linkable: Flags | None = None  # (T, S) cells that may have links; all, if left out

    @property
    def unlinked(self) -> tuple[frozenset[int], frozenset[int]] | None:
        """Source and target words that may have no link at all; None where nothing is said of cells."""
        if self.linkable is None:
            return None
        source, target = (np.flatnonzero(~self.linkable.any(axis=axis)).tolist() for axis in (0, 1))
        return frozenset(source), frozenset(target)


def beside(
    pairs: Iterable[WordPair],
    found: Iterator[Item],
    path: str | Path,
    make: Callable[[WordPair, Item], Given],
) -> Iterator[Given]:
    """Yield what `make` makes of each pair and of what a file has `found` for the pair.

    A DataError if the file has fewer or more than there are pairs; with the number of the pair if `make`
    raises it.
    """
    number = 0
    for number, words in enumerate(pairs, 1):
        own = next(found, None)
        if own is None:
            raise DataError(f"expected an array for each pair, found none for pair {number}").at(path)
        try:
            given = make(words, own)
        except DataError as error:
            raise DataError(f"pair {number}: {error}").at(path) from None
        yield given
    if next(found, None) is not None:
        raise DataError(f"expected arrays for {number} pairs, as the text has, found more").at(path)


def marked(given: Iterator[Given], path: str | Path) -> Iterator[Given]:
    """Yield what an .npz file gives for each pair with the cells that may have links, where the file says."""
    for number, (own, linkable) in enumerate(zip(given, read_linkable(path), strict=False), 1):
        if linkable is not None and (linkable.dtype != bool or linkable.shape != own.matrix.shape):
            found = f"{linkable.dtype} of shape {linkable.shape}"
            expected = f"expected linkable cells as bool of shape {own.matrix.shape}"
            raise DataError(f"pair {number}: {expected}, found {found}").at(path)
        yield own if linkable is None else own._replace(linkable=linkable)


def finite(matrix: Reals) -> Floats:
    """Return similarities in single precision; a DataError if one is no number."""
    found = np.asarray(matrix, np.float32)
    if not np.isfinite(found).all():
        raise DataError("expected similarities, found NaN or infinity")
    return found


def read_similarities(given: str | Path | Iterable[AnyArray], pairs: Iterable[WordPair]) -> Iterator[Given]:
    """Yield similarities, an array (T, S) a pair, given or of an .npz file in :func:`in_order`."""
    if isinstance(given, str | Path):
        return marked(beside(pairs, read_npz(given), given, _similarities), given)
    expect_kind(given, Iterable, "a file of similarities, or an array for each pair")
    return beside(pairs, map(np.asarray, given), "similarities", _similarities)


def _similarities(words: WordPair, found: Reals) -> Given:
    S, T = map(len, words)
    if not S * T:
        return Given(words, np.zeros((T, S)))
    if found.shape != (T, S) or found.dtype.kind not in "biuf":
        raise DataError(f"expected {T} target by {S} source words, found {found.dtype} {found.shape}")
    return Given(words, finite(found))


@np.errstate(invalid="ignore", over="ignore")  # `finite` tells
def similar(words: WordPair, found: Sequence[Tokens], product: str, units: str) -> Given:
    """Return the products of the vectors of a pair; of sub-words, if there are any, or of the means of words.

    `found` has vectors (L, D) of source and target, and the word of each if they are of sub-words.
    """
    if units == "words":
        pairs = zip(found, words, strict=True)
        means = [own if of is None else _means(own, of, len(side)) for (own, of), side in pairs]
        return Given(words, finite(PRODUCTS[product](*means)))
    source, target = (np.arange(len(own)) if of is None else of for own, of in found)
    return Given(words, finite(PRODUCTS[product](*(own for own, _ in found))), (source, target))


def _means(vectors: Reals, of_word: Integers, count: int) -> Reals:
    """Return the mean vector of the sub-words of each word; zeros for a word without any."""
    sums = np.zeros((count, vectors.shape[1]), vectors.dtype)
    np.add.at(sums, of_word, vectors)
    return np.asarray(sums / np.maximum(np.bincount(of_word, minlength=count), 1)[:, None])


def read_vectors(path: str | Path, product: str, units: str, pairs: Iterable[WordPair]) -> Iterator[Given]:
    """Yield products of the token vectors of other programs, of sub-words or of words (`units`).

    `path` is an .npz file of arrays (words, D), two a pair, whose names begin with ``source`` or ``target``
    and end with the number of the pair (from 0 or 1); or a folder with the vectors of all words in
    ``source.npy`` and ``target.npy`` and the words of each pair in ``source_lengths.npy`` and
    ``target_lengths.npy``, which is read pair by pair. Vectors are of sub-words if there is also the number
    of the word, from 0 in each sentence, that each belongs to: arrays whose names begin with ``words-source``
    and ``words-target``, or files ``source_words.npy`` and ``target_words.npy``. Sub-words of a word are
    averaged.

    A DataError if a file is not there or no such, the sides differ in their number of pairs or in D, or a
    pair has not a vector for each word.
    """
    opened = _of_folder if Path(path).is_dir() else _of_archive
    sides = [opened(Path(path), side) for side in SIDES]
    counts = [side.sentences for side in sides]
    if counts[0] != counts[1]:
        found = f"{counts[0]} source and {counts[1]} target lines"
        raise DataError(f"expected vectors of both sides of each pair, found {found}").at(path)
    rows = ([side.read(n) for side in sides] for n in range(counts[0]))
    return beside(pairs, rows, path, lambda words, found: _products(words, found, product, units))


def _products(words: WordPair, found: Sequence[Tokens], product: str, units: str) -> Given:
    if not all(words):
        return Given(words, np.zeros((len(words[1]), len(words[0]))))
    for name, (vectors, of_word), side in zip(SIDES, found, words, strict=True):
        count = sum(vectors.shape[:1]) if of_word is None else _count_words(vectors, of_word)
        if vectors.ndim != 2 or count != len(side) or vectors.shape[1] != found[0][0].shape[-1]:
            expected = f"expected vectors of {len(side)} {name} words, all of one length"
            raise DataError(f"{expected}, found an array of {vectors.shape} of {count} words")
    return similar(words, found, product, units)


class _Side(NamedTuple):
    """One side of a text; `read` gives the vectors of a sentence, and the word of each if of sub-words."""

    sentences: int
    read: Callable[[int], Tokens]


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
    vectors = Rows(file_in(path, rows.name))
    of_word = Rows(file_in(path, words.name)) if words.exists() else None
    lengths = read_array(file_in(path, f"{side}_lengths.npy"))
    if lengths.dtype.kind not in "iu" or lengths.ndim != 1:
        found = f"expected the words of each pair, found {lengths.dtype} of shape {lengths.shape}"
        raise DataError(found).at(path / f"{side}_lengths.npy")
    wrong = lengths[(lengths < 0) | (lengths > vectors.shape[0])]
    if len(wrong):  # a sum could wrap around
        found = f"expected 0 to {vectors.shape[0]} words in each pair, found {wrong[0]}"
        raise DataError(found).at(path / f"{side}_lengths.npy")
    lengths = lengths.astype(np.int64)
    ends = np.cumsum(lengths)
    if len(vectors.shape) != 2 or int(lengths.sum()) != vectors.shape[0]:
        found = f"expected {int(lengths.sum())} vectors, found an array of {vectors.shape}"
        raise DataError(found).at(rows)

    def read(n: int) -> Tokens:
        own = int(ends[n] - lengths[n]), int(ends[n])
        return vectors.read(*own), None if of_word is None else of_word.read(*own)

    return _Side(len(lengths), read)


def _count_words(vectors: Reals, words: Integers) -> int:
    """Return how many words sub-words have; a DataError if these are not numbered from 0, in order."""
    begins = np.diff(np.asarray(words, np.int64).ravel(), prepend=-1)  # 1 where a word begins
    fits = words.shape == vectors.shape[:1] and words.dtype.kind in "iu"
    if not fits or begins[:1].any() != bool(len(begins)) or not np.isin(begins, (0, 1)).all():
        found = f"for vectors of shape {vectors.shape} found {words.dtype} of shape {words.shape}"
        raise DataError(f"expected the word of each vector, from 0, in order and without gaps; {found}")
    return int(begins.sum())
