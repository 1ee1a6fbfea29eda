"""Links from attention of translation models and other programs, streamed beside the bitext."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.external import external_decoder
from nmtalign.aligner.extraction import Extraction
from nmtalign.batch.attention_files import read_matrices
from nmtalign.batch.remapping import SPACES
from nmtalign.batch.stream import AlignedChunk
from nmtalign.contextual.choice import Choice, rank
from nmtalign.contextual.translator import Translator
from nmtalign.errors import DataError
from nmtalign.links.alignments import AlignedPair
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import Chunk, cut
from nmtalign.text.subwords import join_pieces, word_numbers

PAIRS = 1_000  # of one chunk, whose matrices are held in memory
FEW, CHOSEN = 20, 300  # pairs from which on a head is chosen, and most that are looked at
ROUNDED = 1e-3  # rows may differ so much from a sum of 1: programs write few decimals

Floats = NDArray[np.floating]


def align_matrices(
    pairs: Iterable[SentencePair],
    path: str | Path,
    reading: Reading,
    extraction: Extraction,
    *,
    matrices: Iterator[Floats] | None = None,
    chunk: int = PAIRS,
) -> Generator[AlignedChunk]:
    """Choose links from attention matrices; those of a chunk are in memory.

    Parameters
    ----------
    pairs : iterable of SentencePair
        The pieces that the matrices are of, between spaces.
    path : str or Path
        Of the matrices, as of :func:`nmtalign.batch.attention_files.read_matrices`, one a pair.
    reading : Reading
    extraction : Extraction
    matrices : iterator of arrays, optional
        Instead of what the file at `path` holds: those of :func:`translated`.
    chunk : int
        Most pairs of a chunk.

    Yields
    ------
    AlignedChunk
        Its lines are those of the text, sub-words joined to words.

    Raises
    ------
    DataError
        If there are fewer or more matrices than pairs, or one does not fit its pair.
    """
    given = _Weights(path, reading, matrices)
    for part in cut(pairs, chunk=chunk):
        yield _aligned(part, given, extraction)
    given.check_end()


def inspect_matrices(
    pairs: Iterable[SentencePair],
    path: str | Path,
    reading: Reading,
    extraction: Extraction,
    *,
    matrices: Iterator[Floats] | None = None,
) -> Iterator[tuple[AlignedPair, Callable[[], dict[str, Floats]]]]:
    """Yield each pair with its weights, and what computes those of each head.

    Parameters and errors are those of :func:`align_matrices`.
    """
    given = _Weights(path, reading, matrices)
    settings = f"{'matrices' if matrices is None else 'translator'}={path} {reading} {extraction}"
    for pair in pairs:
        words, weights = given.next(pair)
        aligned = external_decoder([words], [weights], extraction).pair(words, settings)
        yield aligned, partial(reading.by_head, *given.last)
    given.check_end()


def choose_head(
    pairs: Iterator[SentencePair], translator: Translator
) -> tuple[Choice | None, Iterator[SentencePair]]:
    """Return the best candidate of a translation model by the first pairs of a text, and the whole text.

    None is chosen from fewer than `FEW` pairs; see :func:`nmtalign.contextual.choice.rank`.
    """
    first = list(islice(pairs, CHOSEN))
    words = [_words(pair) for pair in first]
    choice = rank(words, translator.attention(words))[0] if len(first) >= FEW else None
    return choice, chain(first, pairs)


def translated(pairs: Iterable[SentencePair], translator: Translator, shift: int) -> Iterator[Floats]:
    """Yield the attention (L, H, T, S + 1) of a translation model, pair by pair."""
    pairs, again = tee(pairs)
    found = translator.attention(map(_words, again))
    for pair, attention in zip(pairs, found, strict=True):
        yield attention.of_words(len(SPACES.words(pair.target)), shift)


def _words(pair: SentencePair) -> tuple[list[str], list[str]]:
    return SPACES.words(pair.source), SPACES.words(pair.target)


class _Weights:
    """The weights of one pair after the other."""

    def __init__(self, path: str | Path, reading: Reading, matrices: Iterator[Floats] | None) -> None:
        self.reading = reading
        self._path, self._matrices, self._number = path, matrices or read_matrices(path), 0
        self.last: tuple[Floats, list[str], list[str]]  # attention and pieces of the latest pair

    def next(self, pair: SentencePair) -> tuple[tuple[list[str], list[str]], NDArray[np.floating]]:
        """Return the words of the next pair and their weights, shape (T, S)."""
        self._number += 1
        attention = next(self._matrices, None)
        if attention is None:
            found = f"expected attention for each pair, found none for pair {self._number}"
            raise DataError(found).at(self._path)
        pieces = _words(pair)
        try:
            weights = self.reading.weights(attention, *pieces)
            self.last = attention, *pieces
        except DataError as error:
            raise DataError(f"pair {self._number}: {error}").at(self._path) from None
        return (self.reading.words(pieces[0]), self.reading.words(pieces[1])), weights

    def check_end(self) -> None:
        """Refuse more matrices than pairs."""
        if next(self._matrices, None) is not None:
            found = f"expected attention for {self._number} pairs, as the text has, found more"
            raise DataError(found).at(self._path)


def _aligned(part: Chunk, given: _Weights, extraction: Extraction) -> AlignedChunk:
    words, weights = zip(*(given.next(pair) for pair in part.lines), strict=True)
    lines = [SentencePair(*map(" ".join, pair)) for pair in words]
    sizes = [(len(source), len(target)) for source, target in words]
    batch = external_decoder(words, weights, extraction).align(1)
    return AlignedChunk(part.first, lines, batch, sizes, None, SPACES, (None, None))


@dataclass(frozen=True)
class Reading:
    """How attention becomes one weight for each pair of words.

    Parameters
    ----------
    layers, heads : tuple of int, optional
        Those that are averaged, from 0; all if left out.
    shift : int
        The weights of target piece t stand in row ``t + shift``: -1 where the rows are the pieces that the
        model has read and it attends while predicting the next one, 1 where the first row is that of the
        begin of the sentence.
    pieces : {"bpe", "sentencepiece"}, optional
        Sub-words to be joined: a word gets the sum over its source pieces and the mean over its target
        pieces, so that rows which sum to 1 still do (Clark et al. 2019).
    normalize : bool
        Divide each row by its sum. Otherwise rows have to sum to 1, the end of the sentence included, or to
        be zero: a word without attention.
    shifted : bool
        Whether row t has the weights of target word t already, as :func:`translated` gives them.
    """

    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    shift: int = 0
    pieces: str | None = None
    normalize: bool = False
    shifted: bool = False

    def __str__(self) -> str:
        layers, heads = (
            "all" if numbers is None else ",".join(map(str, numbers)) for numbers in (self.layers, self.heads)
        )
        normalized = " normalized" if self.normalize else ""
        pieces = self.pieces or "none"
        return f"layers={layers} heads={heads} shift={self.shift} pieces={pieces}{normalized}"

    def words(self, pieces: Sequence[str]) -> list[str]:
        """Return the words that the pieces of a line make; a word of nothing but a mark is kept as ``▁``."""
        if self.pieces is None:
            return list(pieces)
        return [word or "▁" for word in join_pieces(pieces, self.pieces)]

    def weights(self, attention: NDArray[Any], source: Sequence[str], target: Sequence[str]) -> Floats:
        """Return the weights of the words of one pair, target words by source words; rows sum to 1 at most.

        Parameters
        ----------
        attention : array of shape (T, S) or (layers, heads, T, S)
            With a row or a column more, or both, it is the end of the sentence (with shift 1, for rows: the
            begin), which is left out.
        source, target : sequences of str
            The S and T pieces.

        Raises
        ------
        DataError
            If the shape does not fit the pieces, a layer or head is not there, weights are negative or not
            finite, or rows do not sum to 1 and are not to be normalised.

        Examples
        --------
        >>> Reading(pieces="bpe").weights(np.array([[0.5, 0.25, 0.25]]), ["a@@", "b", "c"], ["d"])
        array([[0.75, 0.25]])
        """
        S, T = len(source), len(target)
        weights = self._shifted(self._averaged(attention, S, T), S, T)
        if self.pieces is None:
            return weights
        rows, columns = (_membership(word_numbers(side, str(self.pieces))) for side in (target, source))
        sums = rows @ weights @ columns.T
        return np.asarray(np.minimum(sums / rows.sum(axis=1, keepdims=True), 1))  # sums round

    def by_head(
        self, attention: NDArray[Any], source: Sequence[str], target: Sequence[str]
    ) -> dict[str, Floats]:
        """Return the weights as of :meth:`weights` by each head alone; none where there is one.

        Examples
        --------
        >>> attention = np.array([[[[0.75, 0.25]], [[0.5, 0.5]]]])
        >>> {name: w.tolist() for name, w in Reading().by_head(attention, ["a", "b"], ["c"]).items()}
        {'head 0': [[0.75, 0.25]], 'head 1': [[0.5, 0.5]]}
        """
        shape = _numbers(attention).shape
        layers, heads = (self.layers or range(shape[0])), (self.heads or range(shape[1]))
        if len(layers) * len(heads) == 1:
            return {}
        return {
            (f"layer {layer} " if shape[0] > 1 else "") + f"head {head}": replace(
                self, layers=(layer,), heads=(head,)
            ).weights(attention, source, target)
            for layer in layers
            for head in heads
        }

    def _averaged(self, attention: NDArray[Any], S: int, T: int) -> Floats:
        """Return the mean over the chosen layers and heads, as many rows and columns as there are."""
        weights = _numbers(attention)
        weights = _chosen(_chosen(weights, 0, self.layers, "layer"), 1, self.heads, "head")
        rows, columns = weights.shape[2:]
        if not (S and T):  # an empty line; some programs write a weight for its end
            return np.zeros((T, S))
        if rows - T not in (0, 1) or columns - S not in (0, 1):
            raise DataError(
                f"expected attention of {T} target and {S} source pieces, or one more for the end of the"
                f" sentence, found {rows} and {columns}"
            )
        sums = weights.sum(axis=3, keepdims=True)  # (layers, heads, T, 1)
        if not self.normalize:
            self._check_sums(sums[..., 0])
            sums = np.maximum(sums, 1)
        return np.asarray((weights / np.where(sums > 0, sums, 1)).mean(axis=(0, 1)))

    def _check_sums(self, sums: Floats) -> None:
        """Refuse rows that sum neither to 1 nor to 0, from sums of shape (layers, heads, T)."""
        wrong = np.argwhere((np.abs(sums - 1) > ROUNDED) & (sums != 0))
        if not len(wrong):
            return
        layer, head, row = wrong[0].tolist()
        found = f"{sums[layer, head, row]:.6g} in row {row + 1}"
        if sums[..., 0].size > 1:
            layer, head = (self.layers or range(layer + 1))[layer], (self.heads or range(head + 1))[head]
            found += f" of layer {layer}, head {head}"
        raise DataError(
            f"expected rows that sum to 1, found {found}; give attention after its softmax, or --normalize to"
            " divide each row by its sum"
        )

    def _shifted(self, weights: Floats, S: int, T: int) -> Floats:
        """Return the rows of the target pieces; a piece without a row gets zeros."""
        rows = np.arange(T) + (0 if self.shifted else self.shift)
        there = (rows >= 0) & (rows < len(weights))
        shifted = np.zeros((T, S))
        shifted[there] = weights[rows[there], :S]
        return shifted


def _numbers(attention: NDArray[Any]) -> Floats:
    """Return weights of shape (layers, heads, T, S)."""
    if attention.dtype.kind not in "fiub" or attention.ndim not in (2, 4):
        found = f"{attention.dtype} of shape {attention.shape}"
        raise DataError(f"expected numbers of shape (T, S) or (layers, heads, T, S), found {found}")
    weights: Floats = attention.astype(np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("expected attention weights, found a negative one, NaN or infinity")
    return weights[None, None] if weights.ndim == 2 else weights


def _chosen(weights: Floats, axis: int, numbers: tuple[int, ...] | None, name: str) -> Floats:
    if numbers is None:
        return weights
    if max(numbers) >= weights.shape[axis]:
        raise DataError(f"there is no {name} {max(numbers)}: found {weights.shape[axis]}, counted from 0")
    return np.asarray(np.take(weights, numbers, axis=axis))


def _membership(numbers: Sequence[int]) -> Floats:
    """Return which pieces are part of which word, shape (words, pieces)."""
    words = numbers[-1] + 1 if numbers else 0
    of_word: Floats = np.equal.outer(np.arange(words), np.asarray(numbers, dtype=np.int64)).astype(np.float64)
    return of_word
