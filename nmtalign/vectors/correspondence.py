"""Word vectors of two languages by correspondence analysis: of links, or of words by sentence pairs.

Axes: E source words, F target words, D dimensions; V words of both languages, N sentence pairs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError, UsageError
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings, unit_rows

Floats = NDArray[np.float32]
Words = Sequence[str]
Matrix = Any  # a scipy sparse matrix or array

_EXTRA = 20  # directions beside the wanted ones
_ROUNDS = 3  # of power iteration
_COLUMNS = 64  # multiplied at a time
_NOTHING = 1e-6  # share of the largest eigenvalue that is rounding error


def correspondence_analysis(
    counts: Matrix, size: int, *, smoothing: float = 0.5, power: float = 1.0, seed: int = 0
) -> tuple[Floats, Floats]:
    """Turn counts of links into vectors whose cosine is high for words that were linked.

    With the sums r of the rows and columns of the counts c itself, the scaled counts

        M = (c / sqrt((r(e) + smoothing) (r(f) + smoothing)))^power,    M ~ U diag(s) V^T,

    are factorised by random projection, three power iterations and the exact answer in the subspace that is
    left; the vectors are ``U sqrt(s)`` and ``V sqrt(s)``.

    Parameters
    ----------
    counts : sparse array of shape (E, F)
        Expected or counted links, none negative.
    size : int
        D; columns beyond the number of words with links are zero.
    smoothing : float
        Added to the sums, so that words with few links get low scores.
    power : float
        Of each scaled count; below 1 it brings rarer translations nearer.
    seed : int
        Of the projection; the same input gives the same bytes with one BLAS thread.

    Returns
    -------
    (source, target) : float32 arrays of shapes (E, D) and (F, D)
        Zero for words without links.

    Notes
    -----
    The few iterations are part of the method. A table of links falls into thousands of groups of words, such
    as a name and its translation, each with a singular value near 1. The exact leading directions would
    show D of these groups and nothing of the others; the projection keeps something of all of them. With 20
    iterations instead of 3 the alignment error of 64 dimensions doubled.

    References
    ----------
    Greenacre (1984), "Theory and applications of correspondence analysis". Halko, Martinsson and Tropp
    (2011), "Finding structure with randomness", algorithms 4.4 and 5.1.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> source, target = correspondence_analysis(csr_array([[9.0, 0, 0], [0, 4, 4]]), 2)
    >>> (source @ target.T > 0.6).tolist()
    [[True, False, False], [False, True, True]]
    """
    if size < 1 or smoothing < 0 or power <= 0:
        found = f"{size}, {smoothing}, {power}"
        raise UsageError(f"expected size >= 1, smoothing >= 0 and power > 0, found {found}")
    scaled = _scaled_counts(counts, smoothing)
    scaled.data **= np.float32(power)
    source, target = (np.zeros((length, size), np.float32) for length in scaled.shape)
    if not scaled.nnz:
        return source, target
    rows, columns = (np.flatnonzero(np.bincount(places)) for places in scaled.nonzero())
    U, s, V = _singular(scaled[rows][:, columns].tocsr(), size, seed)
    source[rows, : len(s)], target[columns, : len(s)] = U * np.sqrt(s), V * np.sqrt(s)
    return source, target


def _scaled_counts(counts: Matrix, smoothing: float = 0.0) -> Matrix:
    """Return ``c / sqrt((r(e) + smoothing) (r(f) + smoothing))`` without its zeros, shape (E, F)."""
    from scipy.sparse import coo_array

    table = coo_array(counts, dtype=np.float64)
    table.sum_duplicates()
    table.eliminate_zeros()
    sums = (table.sum(axis=axis) + smoothing for axis in (1, 0))
    by_row, by_column = (1 / np.sqrt(np.where(margin > 0, margin, 1)) for margin in sums)
    row, column = table.coords
    values = (table.data * by_row[row] * by_column[column]).astype(np.float32)
    return coo_array((values, (row, column)), shape=table.shape).tocsr()


def _singular(matrix: Matrix, size: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return up to `size` singular vectors of a sparse (E, F) and their values, largest first."""
    from scipy.linalg import qr

    basis = _leading_directions(matrix, min(size + _EXTRA, *matrix.shape), seed=seed)
    left, small = qr(matrix @ basis, mode="economic")
    U, s, Vt = np.linalg.svd(small)
    return left @ U[:, :size], s[:size], basis @ Vt[:size].T


def _leading_directions(matrix: Matrix, width: int, *, seed: int) -> Floats:
    """Return orthonormal columns that span what a sparse A (E, F) stretches most, shape (F, width).

    Subspace iteration on ``A^T A`` from a seeded start: Halko, Martinsson and Tropp (2011), algorithm 4.4.
    """
    from scipy.linalg import qr

    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], width), dtype=np.float32)
    for _ in range(_ROUNDS):
        basis, _ = qr(_times_gram(matrix, basis), mode="economic")
    return basis


def _times_gram(matrix: Matrix, basis: Floats) -> Floats:
    """Return ``A^T (A B)``, a few columns at a time, so that memory stays bounded, shape (F, width)."""
    turned = matrix.T.tocsr()
    starts = range(0, basis.shape[1], _COLUMNS)
    return np.hstack([turned @ (matrix @ basis[:, at : at + _COLUMNS]) for at in starts])


# ---------------------------------------------------------------- words by sentence pairs


def learn_cooccurrence(
    pairs: Iterable[tuple[Words, Words]], *, dimension: int = 300, minimum: int = 2, seed: int = 1
) -> tuple[Embeddings, Embeddings]:
    """Learn vectors from which words occur in which sentence pairs.

    X[w, n] counts word w in sentence pair n, the words of both languages one below the other, shape (V, N).
    With the word counts d and the pair lengths l it is scaled to ``X[w, n] / sqrt(d[w] l[n])``. The vectors
    are the left singular vectors without the first, which only shows how frequent a word is.

    Parameters
    ----------
    pairs : iterable of (source words, target words)
        Normalised words; read once.
    dimension : int
        D.
    minimum : int
        Rarer words get no vector.
    seed : int
        Of the random start; the same input gives the same bytes with one BLAS thread.

    Returns
    -------
    (source, target) : Embeddings
        Unit rows in float32, the most frequent words first.

    Raises
    ------
    DataError
        If there are too few words or pairs for so many dimensions.

    References
    ----------
    Littman, Dumais, Landauer (1998), "Automatic cross-language information retrieval using latent semantic
    indexing". Halko, Martinsson, Tropp (2011), "Finding structure with randomness", algorithm 4.4.

    Examples
    --------
    >>> pairs = [("the cat".split(), "le chat".split()), ("the dog".split(), "le chien".split())] * 3
    >>> english, french = learn_cooccurrence(pairs, dimension=1)
    >>> bool(english.vectors(["cat"]) @ french.vectors(["chat"]).T > 0.99)
    True
    """
    if dimension < 1 or minimum < 1:
        raise UsageError(f"dimension and minimum count must be at least 1, found {dimension} and {minimum}")
    from scipy.sparse import vstack

    sides = _CountedSide(), _CountedSide()
    for pair in pairs:
        for side, words in zip(sides, pair, strict=True):
            side.add(words)
    (words, counts), (target_words, target_counts) = (side.matrix(minimum) for side in sides)
    scaled = _scaled_counts(vstack([counts, target_counts]))
    if min(scaled.shape) <= dimension:
        found = f"{scaled.shape[0]} words in {scaled.shape[1]} sentence pairs"
        raise DataError(f"{found} are too few for {dimension} dimensions")
    vectors = unit_rows(_left_singular_vectors(scaled, dimension + 1, seed=seed)[:, 1:])  # (V, D)
    settings = {"method": "cooccurrence", "dimension": dimension, "minimum": minimum, "seed": seed}
    settings["pairs"] = len(sides[0].lengths)
    source = Embeddings(Vocabulary.from_words(words), vectors[: len(words)], settings=settings)
    target = Embeddings(Vocabulary.from_words(target_words), vectors[len(words) :], settings=settings)
    return source, target


class _CountedSide:
    """One side of a bitext as numbers: no Python object is kept for each word of the text."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.tokens = array("i")
        self.lengths = array("i")

    def add(self, words: Words) -> None:
        numbers = self.numbers
        self.tokens.extend([numbers.setdefault(word, len(numbers)) for word in words])
        self.lengths.append(len(words))

    def matrix(self, minimum: int) -> tuple[list[str], Matrix]:
        """Return the words, the most frequent first, and their counts in each sentence, shape (V, N)."""
        from scipy.sparse import csr_matrix

        tokens, numbers = np.array(self.tokens, np.int32), self.numbers
        totals = np.bincount(tokens, minlength=len(numbers))
        words = [word for word in numbers if totals[numbers[word]] >= minimum]
        words.sort(key=lambda word: (-totals[numbers[word]], word))
        sentences = np.repeat(np.arange(len(self.lengths), dtype=np.int32), self.lengths)
        ones, shape = np.ones(len(tokens), np.float32), (len(numbers), len(self.lengths))
        counts = csr_matrix((ones, (tokens, sentences)), shape=shape)
        return words, counts[[numbers[word] for word in words]]


def _left_singular_vectors(matrix: Matrix, count: int, *, seed: int) -> NDArray[np.floating]:
    """Return the first left singular vectors of a sparse matrix (R, C), shape (R, count).

    The exact answer inside the subspace of the leading directions. The sign of each column is chosen so that
    its largest entry is positive. Columns beyond the rank are zero.
    """
    basis = _leading_directions(matrix.T, min(count + _EXTRA, *matrix.shape), seed=seed)  # (R, size)
    squares, turned = np.linalg.eigh(basis.T @ _times_gram(matrix.T, basis))
    vectors = basis @ turned[:, ::-1][:, :count]  # (R, count)
    vectors *= squares[::-1][:count] > _NOTHING * squares[-1]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    result: NDArray[np.floating] = vectors * np.where(largest < 0, -1, 1).astype(np.float32)
    return result
