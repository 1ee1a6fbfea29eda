"""The external head: attention of other programs, brought to one weight for each pair of words.

Axes: B pairs of a bucket, T target and S source pieces of a sentence pair (its words, where there are
no sub-words).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.decoding import Decoder
from nmtalign.aligner.extraction import Extraction
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.long_pairs import whole_pairs
from nmtalign.corpus.sides import encode_pairs
from nmtalign.corpus.text import EncodedText
from nmtalign.errors import DataError
from nmtalign.positions.model import Attended, Cells, TextScores
from nmtalign.text.subwords import join_pieces, word_numbers

Floats = NDArray[np.floating]

ROUNDED = 1e-3  # rows may differ so much from a sum of 1: programs write few decimals


@dataclass(frozen=True, eq=False)
class ExternalScores:
    """Attention weights of the pairs of a text.

    Attributes
    ----------
    text : EncodedText
    weights : sequence of arrays of shape (T, S)
        One for each sentence pair.
    """

    text: EncodedText
    weights: Sequence[Floats]

    @property
    def null_ratios(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """None are known."""
        return np.zeros(0, np.float32), np.zeros(0, np.float32)

    def prepare(self, *, ratios: bool) -> None:
        """Do nothing: weights are given."""

    def scores(self, k: int) -> Floats:
        """Return the weights of bucket k, shape (T, S, B), 0 outside of the sentences."""
        bucket = self.text.buckets[k]
        found = np.zeros(bucket.shape)
        for column in np.flatnonzero(bucket.pairs >= 0):
            own = self.weights[bucket.pairs[column]]
            found[: own.shape[0], : own.shape[1], column] = own
        return found

    def ratios(self, k: int) -> NDArray[np.float32]:
        """Refuse: weights are no likelihood ratios."""
        raise NotImplementedError

    def evidence(self, k: int, ratios: NDArray[np.float32]) -> NDArray[np.float32]:
        """Refuse: weights are no likelihood ratios."""
        raise NotImplementedError


@dataclass(frozen=True)
class AsGiven:
    """The position model of attention that is finished: weights stay as they are."""

    settings: str = "positions=given"
    has_null: bool = False

    def over(self, scores: TextScores) -> Callable[[int], Attended]:
        """Return a function that attends in the bucket of a number."""
        return lambda k: Attended(GivenPosteriors(scores.scores(k)), None)


@dataclass(frozen=True, eq=False)
class GivenPosteriors:
    """Attention that target words were seen to pay, shape (T, S, B).

    What a word paid to the end of the sentence is lost to it: rows of `forward` sum to at most 1.
    """

    forward: Floats

    @cached_property
    def reverse(self) -> Floats:
        """The weights with columns brought to the sum 1, shape (T, S, B)."""
        sums = self.forward.sum(axis=0)
        return np.asarray(self.forward / np.where(sums > 0, sums, 1))

    @cached_property
    def joint(self) -> Floats:
        """sqrt(p(s|t) p(t|s)), shape (T, S, B)."""
        return np.sqrt(self.forward * self.reverse)

    def ranking(self, method: str) -> Floats:
        """Return the weights for an argmax, else the joint weights."""
        return self.forward if method in ("argmax", "argmax-reverse", "mutual") else self.joint

    def probability(self, cells: Cells) -> Floats:
        """Return the joint weight of some cells."""
        return np.asarray(self.joint[cells])


def external_decoder(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]], weights: Sequence[Floats], extraction: Extraction
) -> Decoder:
    """Return what chooses links from the attention of other programs.

    Parameters
    ----------
    pairs : sequence of (source words, target words)
    weights : sequence of arrays of shape (T, S)
    extraction : Extraction

    Examples
    --------
    >>> decoder = external_decoder([(["a", "b"], ["c"])], [np.array([[0.9, 0.1]])], Extraction())
    >>> decoder.align(1).links(0)
    [Link(source=0, target=0)]
    """
    source, target = encode_pairs(pairs)
    text = EncodedText(source, target, whole_pairs(source, target), make_buckets(source, target))
    scores = ExternalScores(text, weights)
    return Decoder(scores, AsGiven().over(scores), extraction.resolved(null=False), null=False)


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
