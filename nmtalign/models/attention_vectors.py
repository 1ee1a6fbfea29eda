"""Attention vectors: keys of source words and queries of target words, sums of rows for words and prefixes.

The dot product of a key and a query, less half of what either has with all words together, is the logarithm
of how much likelier than chance two words are as translations:

    log r(e, f) = k_e . q_f - (log Z_e + log Z_f) / 2        Z_e = sum over f of p(f) exp(k_e . q_f)

Axes: V vocabulary (word 0 is padding), N words asked for, D dimension, P rows that make up a word, R rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.lexicon import shorten

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

HIGHEST = np.float32(40)  # score: exp of it and of its opposite are far from overflow and from zero
CELLS, PAIRS = 1 << 22, 1 << 16  # word pairs scored at a time: all of some words, and chosen ones


@dataclass(frozen=True, eq=False)
class WordRows:
    """Rows of one side, of which the vectors of words are sums.

    Attributes
    ----------
    words : list of str
        ``words[0]`` is the padding.
    cuts : tuple of int
        Letters of each view of the words; 0 stands for the whole word.
    forms : list of list of str
        The forms of each view, as :func:`~nmtalign.models.lexicon.shorten` numbers them; the first is "",
        whose row is zero.
    parts : int32 array of shape (V + 1, P)
        The rows of each word.
    rows : float32 array of shape (R, D)
        Rows of all forms, view after view.
    """

    words: list[str]
    cuts: tuple[int, ...]
    forms: list[list[str]]
    parts: Ints
    rows: Floats

    @property
    def vectors(self) -> Floats:
        """Vectors by word number, shape (V + 1, D); row 0 is zero."""
        return self.of(np.arange(len(self.words)))

    def of(self, numbers: NDArray[np.integer]) -> Floats:
        """Return the vectors of words by number, shape (N, D)."""
        return self._sums(self.parts[numbers])

    def compose(self, words: Sequence[str]) -> Floats:
        """Return the vectors of any words, shape (N, D): sums of the rows there are, else zero."""
        parts = np.empty((len(words), len(self.cuts)), dtype=np.int32)  # (N, P)
        for view, (cut, row) in enumerate(zip(self.cuts, self._places, strict=True)):
            parts[:, view] = [row.get(word[: cut or None], row[""]) for word in words]
        return self._sums(parts)

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        """The row of each form, for each view."""
        starts = np.cumsum([0, *map(len, self.forms)]).tolist()
        return [
            {form: start + number for number, form in enumerate(forms)}
            for forms, start in zip(self.forms, starts, strict=False)
        ]

    def _sums(self, parts: Ints) -> Floats:
        sums = self.rows[parts[:, 0]]
        for view in range(1, parts.shape[1]):
            sums += self.rows[parts[:, view]]
        return sums


def lay_out(words: list[str], prefixes: Sequence[int], dimension: int) -> WordRows:
    """Return zero rows for the forms of `words`, the first of which is the padding.

    Examples
    --------
    >>> rows = lay_out(["", "cats", "catch"], (3,), 2)
    >>> rows.forms, rows.parts.tolist(), rows.rows.shape
    ([['', 'cats', 'catch'], ['', 'cat']], [[0, 3], [1, 4], [2, 4]], (5, 2))
    """
    cuts = (0, *prefixes)
    views = [shorten(words, cut) for cut in cuts]
    starts = np.cumsum([0, *(len(forms) for _, forms in views)], dtype=np.int32)
    parts = np.stack([numbers + start for (numbers, _), start in zip(views, starts, strict=False)], axis=1)
    rows = np.zeros((int(starts[-1]), dimension), dtype=np.float32)
    return WordRows(words, cuts, [forms for _, forms in views], parts, rows)


@dataclass(frozen=True, eq=False)
class AttentionVectors:
    """Keys of source words and queries of target words; made by :func:`joined` or training.

    Attributes
    ----------
    source, target : float32 arrays of shape (V + 1, D)
        Vectors by word number; row 0, the padding, is zero.
    source_norms, target_norms : float32 arrays of shape (V + 1,)
        log Z of each word.
    source_rows, target_rows : WordRows
        What the vectors are made of.
    source_share, target_share : float32 arrays of shape (V' + 1,)
        Share of each word of the rows in the text.
    """

    source: Floats
    target: Floats
    source_norms: Floats
    target_norms: Floats
    source_rows: WordRows
    target_rows: WordRows
    source_share: Floats
    target_share: Floats

    def log_ratio(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> Floats:
        """Return how much likelier than chance pairs of words are as translations.

        Parameters
        ----------
        source, target : int arrays of shape (N,)
            Word numbers.

        Returns
        -------
        float32 array of shape (N,)
            ``k . q - (log Z_e + log Z_f) / 2``, the mean of log p(f|e)/p(f) and log p(e|f)/p(e).
        """
        vectors, norms = (self.source, self.target), (self.source_norms, self.target_norms)
        return log_ratios(vectors, norms, source, target)

    def numbered(self, source: Sequence[str], target: Sequence[str]) -> AttentionVectors:
        """Return the same vectors for words in another order, unseen ones composed of their prefixes.

        Parameters
        ----------
        source, target : sequences of str
            Words by their new numbers; the first is the padding "".
        """
        keys, queries = self.source_rows.compose(source), self.target_rows.compose(target)
        return AttentionVectors(
            keys,
            queries,
            log_norms(keys, self.target_rows.vectors, self.target_share),
            log_norms(queries, self.source_rows.vectors, self.source_share),
            self.source_rows,
            self.target_rows,
            self.source_share,
            self.target_share,
        )

    def folded(self) -> tuple[Floats, Floats]:
        """Return vectors of D + 2 entries whose dot product is :meth:`log_ratio`, shapes (V + 1, D + 2).

        They are ``[k, -log Z_e / 2, 1]`` and ``[q, 1, -log Z_f / 2]``.
        """
        ones = np.ones((len(self.source), 1), np.float32), np.ones((len(self.target), 1), np.float32)
        return (
            np.hstack([self.source, -self.source_norms[:, None] / 2, ones[0]]),
            np.hstack([self.target, ones[1], -self.target_norms[:, None] / 2]),
        )


def joined(
    source_rows: WordRows, target_rows: WordRows, source_share: Floats, target_share: Floats
) -> AttentionVectors:
    """Return the vectors that rows make up, with log Z over the shares of the words of the other side."""
    keys, queries = source_rows.vectors, target_rows.vectors
    norms = both_log_norms(keys, queries, source_share, target_share)
    return AttentionVectors(keys, queries, *norms, source_rows, target_rows, source_share, target_share)


def log_ratios(
    vectors: tuple[Floats, Floats],
    norms: tuple[Floats, Floats],
    source: NDArray[np.integer],
    target: NDArray[np.integer],
) -> Floats:
    """Return ``k . q - (log Z_e + log Z_f) / 2`` for pairs of words, given by number, shape (N,).

    Parameters
    ----------
    vectors, norms : pairs of arrays of shapes (V, D) and (V,)
        Of source and target words.
    source, target : int arrays of shape (N,)
    """
    result = np.empty(len(source), dtype=np.float32)
    for at in range(0, len(source), PAIRS):
        e, f = source[at : at + PAIRS], target[at : at + PAIRS]
        scores = np.einsum("nd,nd->n", vectors[0][e], vectors[1][f])
        np.clip(scores, -HIGHEST, HIGHEST, out=scores)
        result[at : at + PAIRS] = scores - (norms[0][e] + norms[1][f]) / 2
    return result


def both_log_norms(
    keys: Floats, queries: Floats, source_share: Floats, target_share: Floats
) -> tuple[Floats, Floats]:
    """Return log Z of keys (V, D) and of queries (W, D), as :func:`log_norms` would, from one product.

    Parameters
    ----------
    keys, queries : arrays of shapes (V, D) and (W, D)
    source_share, target_share : arrays of shapes (V,) and (W,)
    """
    of_source, of_target = np.empty(len(keys), np.float32), np.zeros(len(queries))
    for rows, scores in _exponentials(keys, queries):
        of_source[rows] = scores @ target_share
        of_target += source_share[rows] @ scores
    return np.log(of_source), np.log(of_target).astype(np.float32)


def _exponentials(keys: Floats, queries: Floats) -> Iterator[tuple[slice, Floats]]:
    """Give ``exp(k . q)`` of some keys and all queries, in memory that is used again."""
    width = max(1, CELLS // max(1, len(queries)))
    memory = np.empty((min(width, len(keys)), len(queries)), dtype=np.float32)
    for at in range(0, len(keys), width):
        some = keys[at : at + width]
        scores = memory[: len(some)]
        np.matmul(some, queries.T, out=scores)
        np.clip(scores, -HIGHEST, HIGHEST, out=scores)
        yield slice(at, at + len(some)), np.exp(scores, out=scores)


def log_norms(keys: Floats, queries: Floats, shares: Floats) -> Floats:
    """Return ``log sum over f of p(f) exp(k . q_f)`` for each key.

    Parameters
    ----------
    keys : array of shape (N, D)
    queries : array of shape (V, D)
    shares : array of shape (V,)
        p(f); sums to 1.
    """
    result = np.empty(len(keys), dtype=np.float32)
    for rows, scores in _exponentials(keys, queries):
        result[rows] = scores @ shares
    return np.log(result, out=result)
