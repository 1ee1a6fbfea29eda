"""Vectors of words from their character n-grams: fastText's sub-words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError

_BLOCK = 2_048  # words composed at a time, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class CharacterNgrams:
    """One vector for each hash bucket of character n-grams.

    Parameters
    ----------
    matrix : array of shape (K, D)
        The vectors of the K buckets.
    shortest, longest : int
        Length of the n-grams in characters; a word is read as ``<word>``. gensim hashes them, as fastText.

    References
    ----------
    Bojanowski et al. (2017), "Enriching word vectors with subword information", section 3.2.
    """

    matrix: NDArray[Any]
    shortest: int
    longest: int

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.dtype.kind != "f":
            raise DataError(f"expected sub-word vectors of shape (K, D), found {self.matrix.shape}")
        if self.shortest < 0 or self.longest < self.shortest:
            raise DataError(f"sub-words of {self.shortest} to {self.longest} characters make no sense")

    def __str__(self) -> str:
        return f"{len(self.matrix):,} vectors of {self.shortest} to {self.longest} characters"

    def buckets(self, word: str) -> list[int]:
        """Return the buckets of a word's n-grams, by where they begin, then by length."""
        from gensim.models.fasttext import ft_ngram_hashes

        if not len(self.matrix):
            return []
        text = word.encode("utf-8", "replace").decode()  # halves of surrogate pairs have no bytes
        found: list[int] = ft_ngram_hashes(text, self.shortest, self.longest, len(self.matrix))
        return found

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of each word's n-gram vectors, shape (N, D); zeros for a word without n-grams."""
        return self._means(words, np.zeros((len(words), self.matrix.shape[1]), np.float32), 0)

    def complete(self, words: Sequence[str], own: NDArray[Any]) -> NDArray[np.float32]:
        """Return the vectors of known words: the mean of their own vector (N, D) and their n-grams'."""
        return self._means(words, np.asarray(own, np.float32), 1)

    def _means(self, words: Sequence[str], start: NDArray[np.float32], more: int) -> NDArray[np.float32]:
        """Return (start + sum of n-gram vectors) / (their number + more), shape (N, D)."""
        result = np.empty(start.shape, np.float32)
        for begin in range(0, len(words), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            buckets = [self.buckets(word) for word in words[block]]
            counts = np.array([[len(found) + more] for found in buckets], np.float32)  # (n, 1)
            result[block] = self._sums(buckets, start[block]) / np.maximum(counts, 1)
        return result

    def _sums(self, buckets: list[list[int]], start: NDArray[np.float32]) -> NDArray[np.float32]:
        """Add n-gram vectors to the rows of `start`, one after the other, as fastText does: the same bits."""
        from scipy.sparse import csr_array

        N = len(buckets)
        rows, places = np.unique(np.fromiter(chain(*buckets), np.int64), return_inverse=True)
        ends = np.cumsum([len(found) for found in buckets])
        columns = np.insert(places + N, ends - np.diff(ends, prepend=0), np.arange(N))  # its own row first
        pointers = np.append(0, ends + np.arange(1, N + 1))
        table = np.concatenate([start, self.matrix[rows]]).astype(np.float32, copy=False)  # (N + R, D)
        ones = np.ones(len(columns), np.float32)
        total: NDArray[np.float32] = csr_array((ones, columns, pointers), shape=(N, len(table))) @ table
        return total
