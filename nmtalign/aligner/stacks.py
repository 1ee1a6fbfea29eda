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

from nmtalign.corpus.sides import EncodedSide
from nmtalign.links.alignments import AlignedBatch

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


def stacked(side: EncodedSide, pairs: Positions, values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the `values` of the tokens of sentences of one length, shape (B, length)."""
    length = int(side.offsets[pairs[0] + 1] - side.offsets[pairs[0]])
    return np.asarray(values[side.offsets[pairs][:, None] + np.arange(length)])


def first_places(side: EncodedSide, vectors: Floats) -> NDArray[np.int32]:
    """Return for each token where its vector first stands in its sentence, from 0.

    Parameters
    ----------
    side : EncodedSide
    vectors : array of shape (words, K)
        Those of the words of `side`; different words may have the same one.

    Examples
    --------
    >>> from nmtalign.corpus.sides import encode
    >>> side = encode([["a", "b", "a"], ["b", "b", "c"]])
    >>> first_places(side, np.eye(4)).tolist()
    [0, 1, 0, 0, 0, 2]
    """
    number: dict[bytes, int] = {}
    alike = np.array([number.setdefault(row.tobytes(), len(number)) for row in vectors], dtype=np.int64)
    sentence = np.repeat(np.arange(len(side.lengths)), side.lengths)
    keys = sentence * len(alike) + alike[side.tokens]
    order = np.argsort(keys, kind="stable")  # equal ones of a sentence side by side, the first one first
    new = np.diff(keys[order], prepend=-1) != 0
    begin = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    first = np.empty(len(order), dtype=np.int64)
    first[order] = order[begin]
    return (first - side.offsets[:-1][sentence]).astype(np.int32)


def share_scores(scores: Floats, source_first: NDArray[np.int32], target_first: NDArray[np.int32]) -> None:
    """Give equal vectors of a sentence exactly equal scores: those of the first of them.

    A matrix product may round the same two vectors differently at different places of the matrix.

    Parameters
    ----------
    scores : array (B, T, S), changed in place
    source_first, target_first : arrays (B, S) and (B, T)
        As :func:`first_places` gives them.
    """
    pair, place = np.nonzero(source_first != np.arange(source_first.shape[1]))
    scores[pair, :, place] = scores[pair, :, source_first[pair, place]]
    pair, place = np.nonzero(target_first != np.arange(target_first.shape[1]))
    scores[pair, place, :] = scores[pair, target_first[pair, place], :]


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
