"""Attention matrices of other programs, brought to one weight for each pair of words.

Axes: T target and S source pieces of a sentence pair (its words, where nothing is cut into sub-words).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.decoding import Cells, Extraction, Weighed
from nmtalign.aligner.stacks import StackLinks, joined
from nmtalign.errors import DataError
from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix
from nmtalign.text.subwords import join_pieces, word_numbers

Floats = NDArray[np.floating]

LEAST = 1e-30  # stands for a weight of 0 under the logarithm
ROUNDED = 1e-3  # most that half precision and printed decimals take a row away from the sum 1


class Given(Weighed):
    """Attention that target words were seen to pay, from logarithms of weights of shape (B, T, S).

    What a word paid to the end of the sentence is lost to it: rows of `forward` sum to at most 1.
    """

    @classmethod
    def of(cls, weights: Floats) -> Given:
        """Return the attention of one pair."""
        return cls(np.log(np.maximum(weights, LEAST))[None])

    @cached_property
    def forward(self) -> Floats:
        """The weights, shape (B, T, S)."""
        return np.exp(self.scores)

    @cached_property
    def joint(self) -> Floats:
        """sqrt(p(s|t) p(t|s)), the columns brought to the sum 1 for p(t|s), shape (B, T, S)."""
        return np.sqrt(self.forward * self.reverse)

    def probability(self, cells: Cells) -> Floats:
        """Return the joint weight of cells (pair, target, source)."""
        return np.asarray(self.joint[cells])


def links_of(weights: Floats, extraction: Extraction) -> StackLinks:
    """Choose links from the weights of one pair, shape (T, S); a weight of 0 is never a link.

    Examples
    --------
    >>> links_of(np.array([[0.9, 0.1], [0.0, 0.0]]), Extraction("argmax")).source
    array([0])
    """
    if weights.size == 0:
        none = np.zeros(0, np.int64)
        return StackLinks(none, none, none, np.zeros(0))
    (pair, target, source), probability = extraction.cells(Given.of(weights))
    kept = weights[target, source] > 0
    return StackLinks(pair[kept], source[kept], target[kept], probability[kept])


def inspect_weights(
    weights: Floats, words: tuple[Sequence[str], Sequence[str]], extraction: Extraction, *, settings: str = ""
) -> AlignedPair:
    """Choose links from the weights of one pair, with all weights to look at.

    Parameters
    ----------
    weights : array of shape (T, S)
    words : (source words, target words)
    extraction : Extraction
    settings : str
        Signature of what made the weights.

    Examples
    --------
    >>> pair = inspect_weights(np.array([[0.9, 0.1]]), (["a", "b"], ["c"]), Extraction())
    >>> pair.alignment.links, pair.reverse.tolist()
    (frozenset({Link(source=0, target=0)}), [[1.0, 1.0]])
    """
    given, (S, T) = Given.of(weights), map(len, words)
    batch = joined([links_of(weights, extraction)], np.array([S + T], dtype=np.int64))
    links = batch.links(0)
    empty = weights.size == 0
    shown = np.zeros((T, S)) if empty else extraction.weights(given)[0]
    return AlignedPair(
        Alignment(frozenset(links), S, T),
        AlignmentMatrix(shown, tuple(words[0]), tuple(words[1])),
        forward=np.asarray(weights),
        reverse=np.zeros((T, S)) if empty else given.reverse[0],
        probabilities=dict(zip(links, map(float, batch.probability), strict=True)),
        score=float(batch.scores[0]),
        settings=settings,
    )


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
    """

    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    shift: int = 0
    pieces: str | None = None
    normalize: bool = False

    def __str__(self) -> str:
        layers, heads = (
            "all" if numbers is None else ",".join(map(str, numbers)) for numbers in (self.layers, self.heads)
        )
        normalized = " normalized" if self.normalize else ""
        return f"layers={layers} heads={heads} shift={self.shift} pieces={self.pieces}{normalized}"

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
        rows = np.arange(T) + self.shift
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
