"""Long sentence pairs as overlapping pieces, so that memory and time grow with the length, not its square.

A pair with up to 500 words a side is one piece and is aligned exactly. A longer one is cut along the
diagonal: each piece holds at most 256 words of either side with a margin of 192 words of the longer side at
both ends, and the words of the other side that stand at the same share of the sentence. So the diagonal of a
piece is that of its pair. Links are taken from the middle of each piece.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import EncodedSide

Longs = NDArray[np.int64]

LONGEST = 500  # words of a sentence that is aligned in one piece
CORE = 256  # target words of a piece whose links are kept
MARGIN = 192  # words of the longer side at both ends of the core


@dataclass(frozen=True)
class Segments:
    """The pieces of long sentence pairs, and where they come from."""

    pairs: int  # number of sentence pairs N
    pair: Longs  # pair of each piece
    # first word of each piece in its sentence
    source_start: Longs
    target_start: Longs
    # target words (in the sentence) whose links are taken from the piece
    core_start: Longs
    core_stop: Longs
    # (N,): words of each sentence pair
    source_lengths: Longs
    target_lengths: Longs

    def restore(
        self, piece: Longs, source: Longs, target: Longs
    ) -> tuple[NDArray[np.bool_], Longs, Longs, Longs]:
        """Return which links lie in the core of their piece, and the pair and positions of those."""
        source, target = source + self.source_start[piece], target + self.target_start[piece]
        kept = (target >= self.core_start[piece]) & (target < self.core_stop[piece])
        return kept, self.pair[piece][kept], source[kept], target[kept]

    def total(self, piece: Longs, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the values of the pieces of each pair."""
        return np.asarray(np.bincount(self.pair[piece], values, self.pairs), dtype=np.float64)

    def core(self, bucket: Bucket) -> NDArray[np.bool_]:
        """Say which target words (T, B) of a bucket belong to the core of their piece."""
        piece, t = bucket.pairs, np.arange(bucket.target.shape[0])[:, None]
        start = self.core_start[piece] - self.target_start[piece]
        return (piece >= 0) & (t >= start) & (t < self.core_stop[piece] - self.target_start[piece])

    def paste(self, bucket: Bucket, weights: NDArray[np.float32], matrix: NDArray[np.float32]) -> None:
        """Write the cores of a bucket's pieces (T, S, B), all of one pair, into its matrix (T, S)."""
        for column in np.flatnonzero(bucket.pairs >= 0):
            piece = bucket.pairs[column]
            S, left = bucket.source_lengths[column], self.source_start[piece]
            top, start, stop = self.target_start[piece], self.core_start[piece], self.core_stop[piece]
            matrix[start:stop, left : left + S] = weights[start - top : stop - top, :S, column]


def _pieces(S: int, T: int) -> list[tuple[int, int, int, int, int, int]]:
    """Return (source start, source stop, target start, target stop, core start, core stop) of each piece."""
    if max(S, T) <= LONGEST or S == 0 or T == 0:
        return [(0, S, 0, T, 0, T)]
    count = max(-(-T // CORE), -(-S // CORE))
    edges = [T * k // count for k in range(count + 1)]
    margin = -(-MARGIN * T // max(S, T))
    spans = [(max(0, start - margin), min(T, stop + margin)) for start, stop in pairwise(edges)]
    return [
        (S * first // T, -(-S * last // T), first, last, start, stop)
        for (first, last), (start, stop) in zip(spans, pairwise(edges), strict=True)
    ]


def whole_pairs(source: EncodedSide, target: EncodedSide) -> Segments:
    """Return the segments of sentence pairs that are not cut."""
    S, T = source.lengths, target.lengths
    zero = np.zeros(len(S), dtype=np.int64)
    return Segments(len(S), np.arange(len(S)), zero, zero, zero, T, S, T)


def cut_long_pairs(source: EncodedSide, target: EncodedSide) -> tuple[EncodedSide, EncodedSide, Segments]:
    """Cut pairs of more than LONGEST words into pieces; the others stay one piece each."""
    S, T = source.lengths, target.lengths
    if not ((S > LONGEST) | (T > LONGEST)).any():
        return source, target, whole_pairs(source, target)
    rows = [
        (n, *piece)
        for n, (s, t) in enumerate(zip(S.tolist(), T.tolist(), strict=True))
        for piece in _pieces(s, t)
    ]
    pair, left, right, first, last, start, stop = np.array(rows, dtype=np.int64).T
    return (
        _cut(source, pair, left, right),
        _cut(target, pair, first, last),
        Segments(len(S), pair, left, first, start, stop, S, T),
    )


def _cut(side: EncodedSide, pair: Longs, start: Longs, stop: Longs) -> EncodedSide:
    """Return the side with the given parts of its sentences as sentences."""
    begin = side.offsets[pair] + start
    tokens = [side.tokens[a : a + n] for a, n in zip(begin.tolist(), (stop - start).tolist(), strict=True)]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(stop - start)])
    return replace(side, tokens=np.concatenate(tokens), offsets=offsets)
