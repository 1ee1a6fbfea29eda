"""Word vectors of two languages in one space, learned from a bitext.

Axes: V words of both languages together, N sentence pairs, D dimensions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError, UsageError
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.correspondence import EXTRA, leading_directions, scaled_counts, times_gram
from nmtalign.vectors.embeddings import Embeddings, unit_rows

Words = Sequence[str]
Matrix = Any  # a scipy sparse matrix or array
_NOTHING = 1e-6  # share of the largest eigenvalue that is rounding error


def learn_cooccurrence(
    pairs: Iterable[tuple[Words, Words]], *, dimension: int = 300, minimum: int = 2, seed: int = 1
) -> tuple[Embeddings, Embeddings]:
    """Learn vectors from which words occur in which sentence pairs.

    X[w, n] counts word w in sentence pair n, the words of both languages one below the other, shape (V, N).
    With the word counts d and the pair lengths l it is scaled to ``X[w, n] / sqrt(d[w] l[n])`` and
    factorised; the vectors are the left singular vectors without the first, which only tells how frequent a
    word is.

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
    scaled = scaled_counts(vstack([counts, target_counts]))
    if min(scaled.shape) <= dimension:
        found = f"{scaled.shape[0]} words in {scaled.shape[1]} sentence pairs"
        raise DataError(f"{found} are too few for {dimension} dimensions")
    vectors = unit_rows(left_singular_vectors(scaled, dimension + 1, seed=seed)[:, 1:])  # (V, D)
    settings = {"method": "cooccurrence", "dimension": dimension, "minimum": minimum, "seed": seed}
    settings["pairs"] = sides[0].sentences
    source = Embeddings(Vocabulary.from_words(words), vectors[: len(words)], settings=settings)
    target = Embeddings(Vocabulary.from_words(target_words), vectors[len(words) :], settings=settings)
    return source, target


class _CountedSide:
    """One side of a bitext as numbers: no Python object is kept for each word of the text."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.tokens = array("i")
        self.lengths = array("i")

    @property
    def sentences(self) -> int:
        return len(self.lengths)

    def add(self, words: Words) -> None:
        numbers = self.numbers
        self.tokens.extend([numbers.setdefault(word, len(numbers)) for word in words])
        self.lengths.append(len(words))

    def matrix(self, minimum: int) -> tuple[list[str], Matrix]:
        """Return the words, the most frequent first, and their counts in each sentence, shape (V, N)."""
        from scipy.sparse import csr_matrix

        tokens = np.frombuffer(self.tokens, np.int32) if self.tokens else np.zeros(0, np.int32)
        totals = np.bincount(tokens, minlength=len(self.numbers))
        words = sorted(self.numbers, key=lambda word: (-totals[self.numbers[word]], word))
        words = [word for word in words if totals[self.numbers[word]] >= minimum]
        rows = np.full(len(self.numbers), -1, np.int32)
        rows[[self.numbers[word] for word in words]] = np.arange(len(words))
        sentence = np.repeat(np.arange(self.sentences, dtype=np.int32), np.frombuffer(self.lengths, np.int32))
        kept = rows[tokens] >= 0
        cells = (rows[tokens][kept], sentence[kept])
        shape = (len(words), self.sentences)
        return words, csr_matrix((np.ones(len(cells[0]), np.float32), cells), shape=shape)


def left_singular_vectors(matrix: Matrix, count: int, *, seed: int) -> NDArray[np.floating]:
    """Return the first left singular vectors of a sparse matrix (R, C), shape (R, count).

    The exact answer inside the subspace of the leading directions. The sign of each column is chosen so that
    its largest entry is positive. Columns beyond the rank are zero.
    """
    basis = leading_directions(matrix.T, min(count + EXTRA, *matrix.shape), seed=seed)  # (R, size)
    squares, turned = np.linalg.eigh(basis.T @ times_gram(matrix.T, basis))
    vectors = basis @ turned[:, ::-1][:, :count]  # (R, count)
    vectors *= squares[::-1][:count] > _NOTHING * squares[-1]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    result: NDArray[np.floating] = vectors * np.where(largest < 0, -1, 1).astype(np.float32)
    return result
