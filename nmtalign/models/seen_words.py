"""Words, their neighbours and their places, as networks look at them.

Axes: T target words, S source words, B pairs of a bucket (last), V words of a text, D dimension, C places of
the context, H units, N scores of the null word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.models.attention_vectors import WordRows, lay_out
from nmtalign.models.corpus import Bucket, EncodedSide
from nmtalign.models.lexicon import Emissions
from nmtalign.models.opinion import Array, Floats
from nmtalign.vectors.embeddings import Embeddings

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

CONTEXT = (-1, 0, 1)
LENGTH = 4.0  # of the vectors that come in


class Tables(NamedTuple):
    """Vectors of the words of a text, and what they add to the hidden layer from each place of the context.

    Attributes
    ----------
    source_vectors, target_vectors : arrays of shape (V, D)
    source, target : arrays of shape (V, C H + N)
        The last columns are the scores of the null word.
    """

    source_vectors: Array
    target_vectors: Array
    source: Array
    target: Array


class SeenWords(NamedTuple):
    """What the network looks at in a bucket: word numbers (S, B) and (T, B), lengths (B,), tables."""

    source: Ints
    target: Ints
    source_lengths: Longs
    target_lengths: Longs
    tables: Tables

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which cells lie inside of the sentences, (T, S, B)."""
        return (self.source > 0) & (self.target > 0)[:, None]

    @property
    def shares(self) -> tuple[Array, Array]:
        """Four times the share of a sentence that lies before each word, (S, B) and (T, B)."""
        found = []
        for words, lengths in ((self.source, self.source_lengths), (self.target, self.target_lengths)):
            share = 4 * (np.arange(len(words))[:, None] + 0.5) / np.maximum(lengths, 1) * (words > 0)
            found.append(share.astype(self.tables.source.dtype))
        return found[0], found[1]

    @property
    def vectors(self) -> tuple[Array, Array]:
        """Vectors of target and of source words with their neighbours, (C D, T, B) and (C D, S, B)."""
        return (
            with_context(self.tables.target_vectors, self.target),
            with_context(self.tables.source_vectors, self.source),
        )

    def part(self, columns: slice) -> SeenWords:
        """Return what is to be seen of some pairs."""
        return self._replace(
            source=np.ascontiguousarray(self.source[:, columns]),
            target=np.ascontiguousarray(self.target[:, columns]),
            source_lengths=self.source_lengths[columns],
            target_lengths=self.target_lengths[columns],
        )


@dataclass(frozen=True, eq=False)
class WordReader:
    """Looks up the words of the buckets of one text."""

    tables: Tables

    def read(self, bucket: Bucket, emission: Floats, words: Emissions) -> SeenWords:
        """Return what the network looks at; the likelihood ratios are not."""
        return SeenWords(
            bucket.source, bucket.target, bucket.source_lengths, bucket.target_lengths, self.tables
        )


def _of_one_length(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("vd,vd->v", vectors, vectors))
    return np.asarray(vectors * (np.float32(LENGTH) / np.maximum(lengths, np.float32(1e-9)))[:, None])


def table(vectors: Floats, weights: Array, null: Array) -> Floats:
    """Return (V, C H + N): what each word adds to the units from each place, and the scores of null.

    Parameters
    ----------
    vectors : array of shape (V, D)
    weights : array of shape (C D, H)
    null : array of shape (D + 1,) or (D + 1, N)
        The last row is added.
    """
    D = vectors.shape[1]
    places = [*weights.reshape(len(CONTEXT), D, -1), null[:-1].reshape(D, -1)]
    matrix = np.concatenate(places, axis=1)  # (D, C H + N)
    found = np.asarray((vectors[:, None] @ matrix)[:, 0])  # row by row: the same bits anywhere
    found[:, -np.size(null[-1]) :] += null[-1]
    return found


def _shifted(words: Ints, by: int) -> Ints:
    """Return the words that stand `by` places after each, 0 beyond the ends; (length, B)."""
    moved = np.zeros_like(words)
    n = len(words)
    moved[max(0, -by) : n - max(0, by)] = words[max(0, by) : n - max(0, -by)]
    return moved


def looked_up(values: Array, words: Ints, nulls: int = 1) -> tuple[Array, Array]:
    """Return the units (H, length, B) of words with their neighbours, and null scores (N, length, B)."""
    H = (values.shape[1] - nulls) // len(CONTEXT)
    total = np.zeros((*words.shape, H), values.dtype)
    for k, by in enumerate(CONTEXT):
        total += values[:, k * H : (k + 1) * H][_shifted(words, by)]
    return np.ascontiguousarray(total.transpose(2, 0, 1)), np.moveaxis(values[:, -nulls:][words], -1, 0)


def with_context(vectors: Array, words: Ints) -> Array:
    """Return the vectors of words and of their neighbours, (C D, length, B)."""
    places = [vectors[_shifted(words, by)].transpose(2, 0, 1) for by in CONTEXT]
    return np.concatenate(places)


def _own(of_words: Array) -> Array:
    """Return the vectors of the words themselves, (D, length, B)."""
    D = len(of_words) // len(CONTEXT)
    at = CONTEXT.index(0)
    return of_words[at * D : (at + 1) * D]


def null_scores(of_words: Array, null: Array) -> Array:
    """Return the scores of the null word, (length, B) or (N, length, B), from `null` as of :func:`table`."""
    scores = np.tensordot(null[:-1].T, _own(of_words), (-1, 0))
    return np.asarray(scores + (null[-1] if null.ndim == 1 else null[-1][:, None, None]))


def null_gradient(of_words: Array, d: Array) -> Array:
    """Return the gradient by `null` of :func:`table` from that by the null scores."""
    by_vector = np.tensordot(_own(of_words), d, ((1, 2), (-2, -1)))
    return np.concatenate([by_vector, d.sum(axis=(-2, -1))[None]])


def given_rows(words: list[str], given: Embeddings) -> WordRows:
    """Return given vectors as rows of words, the first of which is the padding, in half precision."""
    found = lay_out(words, (), given.dimension)
    rows = given.vectors(words).astype(np.float16).astype(np.float32)
    rows[0] = 0
    found.rows[found.parts[:, 0]] = rows
    return found


def vectors_of(side: EncodedSide, rows: WordRows) -> Floats:
    """Return vectors (V, D) of the words of a text, all of one length; that of the padding is zero."""
    return _of_one_length(rows.compose(side.words))


def reader_of(
    source: EncodedSide, target: EncodedSide, rows: tuple[WordRows, WordRows], weights: Any
) -> WordReader:
    """Return what looks up the words of a text.

    Parameters
    ----------
    source, target : EncodedSide
    rows : (WordRows, WordRows)
        What vectors of source and target words are made of.
    weights : named tuple
        Its `source` and `target` project words, `source_null` and `target_null` score them under null.
    """
    vectors = vectors_of(source, rows[0]), vectors_of(target, rows[1])
    return WordReader(
        Tables(
            *vectors,
            table(vectors[0], weights.source, weights.source_null),
            table(vectors[1], weights.target, weights.target_null),
        )
    )


def far(across: Array, down: Array) -> Array:
    """Return how far each cell is from the diagonal, (T, S, B), from :attr:`SeenWords.shares`."""
    return np.asarray(across - down[:, None])
