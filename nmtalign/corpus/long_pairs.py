"""Long sentence pairs as overlapping pieces, so that memory and time grow with the length, not its square.

A pair with up to 500 words a side is one piece and is aligned exactly. A longer one is cut along the
diagonal: each piece holds at most 64 words of either side with a margin of 64 words of the longer side at
both ends, and the words of the other side that stand at the same share of the sentence. So the diagonal of a
piece is that of its pair. Links are taken from the middle of each piece, its core.

Cores divide the target words. Where there are fewer than one to a piece, they divide the source words: a
target word then stands in several pieces, and what it gives to source words sums to 1 in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide

Longs = NDArray[np.int64]

LONGEST = 500  # words of a sentence that is aligned in one piece
CORE = 64  # words of the longer side in the core of a piece
MARGIN = 64  # words of the longer side at both ends of the core


@dataclass(frozen=True)
class Segments:
    """The pieces of long sentence pairs, and where they come from."""

    pairs: int  # number of sentence pairs N
    pair: Longs  # pair of each piece
    # first word of each piece in its sentence
    source_start: Longs
    target_start: Longs
    # target and source words (in the sentence) whose links are taken from the piece
    core_start: Longs
    core_stop: Longs
    source_core_start: Longs
    source_core_stop: Longs
    # (N,): words of each sentence pair
    source_lengths: Longs
    target_lengths: Longs

    def restore(
        self, piece: Longs, source: Longs, target: Longs
    ) -> tuple[NDArray[np.bool_], Longs, Longs, Longs]:
        """Return which links lie in the core of their piece, and the pair and positions of those."""
        source, target = source + self.source_start[piece], target + self.target_start[piece]
        kept = (target >= self.core_start[piece]) & (target < self.core_stop[piece])
        kept &= (source >= self.source_core_start[piece]) & (source < self.source_core_stop[piece])
        return kept, self.pair[piece][kept], source[kept], target[kept]

    def total(self, piece: Longs, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the values of the pieces of each pair."""
        return np.asarray(np.bincount(self.pair[piece], values, self.pairs), dtype=np.float64)

    def core(self, bucket: Bucket) -> NDArray[np.bool_] | None:
        """Say which cells (T, S, B) of a bucket belong to the core of their piece; None if all do."""
        if len(self.pair) == self.pairs:
            return None
        piece, (T, S, _) = bucket.pairs, bucket.shape
        t, s = (
            self.target_start[piece] + np.arange(T)[:, None],
            self.source_start[piece] + np.arange(S)[:, None],
        )
        rows = (piece >= 0) & (t >= self.core_start[piece]) & (t < self.core_stop[piece])  # (T, B)
        columns = (s >= self.source_core_start[piece]) & (s < self.source_core_stop[piece])  # (S, B)
        return np.asarray(rows[:, None] & columns)

    def paste(self, bucket: Bucket, weights: NDArray[np.float32], matrix: NDArray[np.float32]) -> None:
        """Write the cores of a bucket's pieces (T, S, B), all of one pair, into its matrix (T, S)."""
        for column in np.flatnonzero(bucket.pairs >= 0):
            piece = bucket.pairs[column]
            top, left = self.target_start[piece], self.source_start[piece]
            t = slice(self.core_start[piece], self.core_stop[piece])
            s = slice(self.source_core_start[piece], self.source_core_stop[piece])
            own = weights[t.start - top : t.stop - top, s.start - left : s.stop - left, column]
            matrix[t, s] = own


class _Piece(NamedTuple):
    """A piece of a pair, or many, words counted from the start of the sentence."""

    source_start: Any
    source_stop: Any
    target_start: Any
    target_stop: Any
    core_start: Any
    core_stop: Any
    source_core_start: Any
    source_core_stop: Any


def _pieces(S: int, T: int) -> list[_Piece]:
    """Return the pieces of a pair of S and T words."""
    if max(S, T) <= LONGEST or S == 0 or T == 0:
        return [_Piece(0, S, 0, T, 0, T, 0, S)]
    if S > CORE * T:
        return [_Piece(*source, *target, *target, *core) for core, source, target in _spans(S, T)]
    return [_Piece(*source, *target, *core, *source) for core, target, source in _spans(T, S)]


Span = tuple[int, int]


def _spans(words: int, others: int) -> Iterator[tuple[Span, Span, Span]]:
    """Cut a side of so many words; yield the core of each piece, its words, and those of the other side."""
    longer = max(words, others)
    count = -(-longer // CORE)
    margin = -(-MARGIN * words // longer)
    for start, stop in pairwise(words * k // count for k in range(count + 1)):
        first, last = max(0, start - margin), min(words, stop + margin)
        yield (start, stop), (first, last), (others * first // words, -(-others * last // words))


def whole_pairs(source: EncodedSide, target: EncodedSide) -> Segments:
    """Return the segments of sentence pairs that are not cut."""
    S, T = source.lengths, target.lengths
    zero = np.zeros(len(S), dtype=np.int64)
    return Segments(len(S), np.arange(len(S)), zero, zero, zero, T, zero, S, S, T)


def cut_long_pairs(source: EncodedSide, target: EncodedSide) -> tuple[EncodedSide, EncodedSide, Segments]:
    """Cut pairs of more than LONGEST words into pieces; the others stay one piece each."""
    S, T = source.lengths, target.lengths
    if not ((S > LONGEST) | (T > LONGEST)).any():
        return source, target, whole_pairs(source, target)
    pieces = [_pieces(*lengths) for lengths in zip(S.tolist(), T.tolist(), strict=True)]
    pair = np.repeat(np.arange(len(S)), list(map(len, pieces)))
    cut = _Piece(*np.array(list(chain.from_iterable(pieces)), dtype=np.int64).T)
    return (
        _cut(source, pair, cut.source_start, cut.source_stop),
        _cut(target, pair, cut.target_start, cut.target_stop),
        Segments(
            len(S),
            pair,
            cut.source_start,
            cut.target_start,
            cut.core_start,
            cut.core_stop,
            cut.source_core_start,
            cut.source_core_stop,
            S,
            T,
        ),
    )


def _cut(side: EncodedSide, pair: Longs, start: Longs, stop: Longs) -> EncodedSide:
    """Return the side with the given parts of its sentences as sentences."""
    begin = side.offsets[pair] + start
    tokens = [side.tokens[a : a + n] for a, n in zip(begin.tolist(), (stop - start).tolist(), strict=True)]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(stop - start)])
    return replace(side, tokens=np.concatenate(tokens), offsets=offsets)
