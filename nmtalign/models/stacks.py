"""Stacks of sentence pairs of exactly equal lengths, and the flat arrays that their links are joined into.

No padding: a pair is scored by the same products alone as in a stack, so its scores are the same to the bit.

Axes: N pairs, B pairs of a stack, T target words, S source words, L links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.alignment.links import AlignedBatch
from nmtalign.models.corpus import EncodedSide

Positions = NDArray[np.int64]
Floats = NDArray[np.floating]


class StackLinks(NamedTuple):
    """Links of one stack: the pair each belongs to, its positions and its probability, each of shape (L,)."""

    pair: Positions
    source: Positions
    target: Positions
    probability: Floats


def equal_lengths(source: EncodedSide, target: EncodedSide, *, size: int, room: int) -> Iterator[Positions]:
    """Yield the numbers of pairs of equal lengths, stack by stack; pairs with an empty side are left out.

    Parameters
    ----------
    source, target : EncodedSide
    size : int
        Length of a word's vector.
    room : int
        Numbers that the vectors or the scores of one stack may take; a stack has at least one pair.
    """
    S, T = source.lengths, target.lengths
    order = np.lexsort((T, S))  # stable: by length, then as they came
    order = order[(S[order] > 0) & (T[order] > 0)]
    starts = np.flatnonzero(np.diff(S[order], prepend=0) | np.diff(T[order], prepend=0))
    for start, stop in pairwise([*starts.tolist(), len(order)]):
        s, t = int(S[order[start]]), int(T[order[start]])
        width = max(1, room // max((s + t) * size, s * t))
        for first in range(start, stop, width):
            yield order[first : min(first + width, stop)]


def stacked(side: EncodedSide, pairs: Positions) -> NDArray[np.int32]:
    """Return the word numbers of sentences of one length, shape (B, length)."""
    length = int(side.lengths[pairs[0]])
    return side.tokens[side.offsets[pairs][:, None] + np.arange(length)]


def share_scores(scores: Floats, source: NDArray[np.int32], target: NDArray[np.int32]) -> None:
    """Give equal words of a sentence exactly equal scores: those of the first of them.

    A matrix product may round the same two vectors differently at different places of the matrix.

    Parameters
    ----------
    scores : array (B, T, S), changed in place
    source, target : word numbers (B, S) and (B, T)
    """
    pair, source_place, first = _repeats(source)
    scores[pair, :, source_place] = scores[pair, :, first]
    pair, target_place, first = _repeats(target)
    scores[pair, target_place, :] = scores[pair, first, :]


def _repeats(words: NDArray[np.int32]) -> tuple[Positions, Positions, Positions]:
    """Return sentence and place of each word that stood before in its sentence, and its first place."""
    if words.shape[1] == 0:
        return (np.zeros(0, dtype=np.int64),) * 3
    order = np.argsort(words, axis=1, kind="stable")  # equal words side by side, first one first
    ordered = np.take_along_axis(words, order, axis=1)
    new = np.ones(words.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    begin = np.maximum.accumulate(np.where(new, np.arange(words.shape[1]), 0), axis=1)
    pair, rank = np.nonzero(~new)
    return pair, order[pair, rank], order[pair, begin[pair, rank]]


def joined(found: Sequence[StackLinks], words: Positions) -> AlignedBatch:
    """Put the links of all stacks into the order of the pairs.

    Parameters
    ----------
    found : sequence of StackLinks
    words : array of shape (N,)
        S + T of each pair; the score of a pair is ``2 sum(probabilities) / (S + T)``, 0 for an empty one.
    """
    columns = [np.concatenate([*column, np.zeros(0)]) for column in zip(*found, strict=True)] or [
        np.zeros(0)
    ] * 4
    pair, source, target = (column.astype(np.int64) for column in columns[:3])
    order = np.lexsort((target, source, pair))
    counts = np.bincount(pair, minlength=len(words))
    sums = np.bincount(pair, weights=columns[3], minlength=len(words))
    return AlignedBatch(
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]),
        source=source[order].astype(np.int32),
        target=target[order].astype(np.int32),
        probability=columns[3][order].astype(np.float32),
        scores=2 * sums / np.maximum(words, 1),
    )
