"""An encoded text: numbered words, pieces of long pairs, buckets of sentence pairs, numbered word pairs.

Long sentence pairs are split into overlapping pieces, so that memory and time grow linearly with the length.
A pair with up to `MAX_UNSPLIT_WORDS` words per side is one piece, aligned exactly. A longer pair is split
along a path through its matrix, which leads from the first words to the last through anchors: words with the
same spelling and the same count on both sides. The path is the heaviest increasing chain of anchors. A step
costs its squared deviation from the diagonal over the length variance of translations (Gale and Church 1993,
section 3), at most `MAX_GAP_COST`. A piece has a core of at most `CORE_WORDS` words of either side, and
margins that widen with the distance to the anchors. Links are taken from the cores only.

Cores divide the target words, or the source words if there is less than one target word a piece.

References
----------
Gale and Church (1993), "A program for aligning sentences in bilingual corpora".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Floats, Longs, Reals, offsets_of
from nmtalign.corpus.buckets import Bucket, make_buckets
from nmtalign.corpus.line_words import BothLineWords, LineWords
from nmtalign.corpus.sides import EncodedSide, WordForms, encode_pairs, look_up, number_words, side_encoders
from nmtalign.corpus.word_pairs import PairIndex, number_pairs
from nmtalign.links.alignments import AlignedBatch
from nmtalign.text.tokenization import TextSettings

MAX_UNSPLIT_WORDS = 256  # words of a sentence that is aligned in one piece
CORE_WORDS = 48  # words of the longer side in the core of a piece
MARGIN_WORDS = 16  # words of the longer side at both ends of the core, where the path is certain
MARGIN_DEVIATIONS = 1.5  # standard deviations of the path added to the margin
MAX_MARGIN_WORDS = 64  # greatest margin, in words of the longer side
MAX_GAP_WORDS = 1_024  # greatest piece on the other side, in words, where this side lacks a part
LENGTH_VARIANCE = 1.0  # of the length of a translation, per word
ANCHOR_WEIGHT = 4.0  # log-likelihood ratio of an anchor to chance, over the count of its word in the sentence
MAX_GAP_COST = 30.0  # greatest cost of a step, over a part of any length that one side lacks
MAX_ANCHOR_COUNT = 3  # greatest count of an anchor in its sentence
MAX_PREDECESSORS = 500  # number of anchors considered as predecessors on the path


@dataclass(frozen=True, eq=False, repr=False)
class Segments:
    """The pieces of sentence pairs, and their positions in the pairs."""

    pairs: int  # number of sentence pairs N
    pair: Longs  # pair of each piece
    # (N,): words of each sentence pair
    source_lengths: Longs
    target_lengths: Longs
    # (2, P): positions in the source and in the target sentence of the first word of each piece, and of the
    # words of its core, from which its links are taken
    start: Longs
    core_start: Longs
    core_stop: Longs

    def restore(self, piece: Longs, source: Longs, target: Longs) -> tuple[Flags, Longs, Longs, Longs]:
        """Return which links lie in the core of their piece, and the pair and positions of these links."""
        words = np.stack([source, target]) + self.start[:, piece]
        kept = ((words >= self.core_start[:, piece]) & (words < self.core_stop[:, piece])).all(axis=0)
        return kept, self.pair[piece][kept], *words[:, kept]

    def total(self, piece: Longs, values: Doubles) -> Doubles:
        """Return the sum of the values of the pieces of each pair."""
        return np.asarray(np.bincount(self.pair[piece], values, self.pairs), dtype=np.float64)

    def core(self, bucket: Bucket) -> Flags | None:
        """Say which cells (T, S, B) of a bucket belong to the core of their piece; None if all do."""
        if len(self.pair) == self.pairs:
            return None
        piece, (T, S, _) = bucket.pieces, bucket.shape

        def in_core(side: int, size: int) -> Flags:
            words = self.start[side, piece] + np.arange(size)[:, None]
            return np.asarray((words >= self.core_start[side, piece]) & (words < self.core_stop[side, piece]))

        return np.asarray(((piece >= 0) & in_core(1, T))[:, None] & in_core(0, S))

    def paste(self, bucket: Bucket, weights: Reals, matrices: Sequence[Reals]) -> None:
        """Write the cores of a bucket's pieces (T, S, B) into the matrices (T, S) of their pairs."""
        for column in np.flatnonzero(bucket.pieces >= 0):
            piece = bucket.pieces[column]
            left, top = self.start[:, piece]
            s, t = map(slice, self.core_start[:, piece], self.core_stop[:, piece])
            core = weights[t.start - top : t.stop - top, s.start - left : s.stop - left, column]
            matrices[self.pair[piece]][t, s] = core


@dataclass(frozen=True, eq=False, repr=False)
class EncodedText:
    """Sentence pairs as arrays."""

    # long pairs are cut into pieces
    source: EncodedSide
    target: EncodedSide
    segments: Segments  # where the pieces come from
    buckets: Sequence[Bucket]
    line_words: BothLineWords | None = None  # of the tokens of lines; None: tokens are the words
    # links of tokens that an expert gives, with their weights; nothing is known of a pair without links
    expert_links: AlignedBatch | None = None

    @cached_property
    def index(self) -> PairIndex:
        """The co-occurring word pairs, numbered when they are first asked for."""
        return number_pairs(self.buckets, len(self.target.words))

    def with_index(self, index: PairIndex) -> EncodedText:
        """Return the text with word pairs that are already numbered."""
        text = replace(self)
        text.__dict__["index"] = index  # the place in which cached_property keeps its value
        return text

    def expert_cells(self, k: int) -> tuple[Floats, Flags]:
        """Return the weights of the expert's links in bucket k, (T, S, B), and cells of annotated pairs."""
        bucket, weights = self.buckets[k], np.zeros(self.buckets[k].shape, np.float32)
        assert self.expert_links is not None
        pair = self.segments.pair[bucket.pieces]
        first, end = (self.expert_links.offsets[pair + n] for n in (0, 1))
        end = np.where(bucket.pieces >= 0, end, first)  # filler columns have none
        column = np.repeat(np.arange(len(pair)), end - first)  # of each link
        row = np.arange(len(column)) + np.repeat(end - np.cumsum(end - first), end - first)
        s = self.expert_links.source[row] - self.segments.start[0, bucket.pieces][column]
        t = self.expert_links.target[row] - self.segments.start[1, bucket.pieces][column]
        inside = (s >= 0) & (s < bucket.source_lengths[column])
        inside &= (t >= 0) & (t < bucket.target_lengths[column])
        weights[t[inside], s[inside], column[inside]] = self.expert_links.probability[row[inside]]
        return weights, bucket.inside & (end > first)

    @property
    def cells(self) -> int:
        """Cells of all buckets: the amount of work."""
        return sum(bucket.cells for bucket in self.buckets)

    def parts(self, cells: int) -> Iterator[EncodedText]:
        """Yield texts of some of the buckets, of at most about so many cells; there is one at least."""
        part = np.cumsum([bucket.cells for bucket in self.buckets], dtype=np.int64) // cells
        cuts = np.flatnonzero(np.diff(part)) + 1
        for start, stop in pairwise([0, *cuts.tolist(), len(self.buckets)]):
            yield replace(self, buckets=self.buckets[start:stop])


def encode_text(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> EncodedText:
    """Number the words of sentence pairs, cut long pairs and stack pairs of similar length."""
    return _build_text(*encode_pairs(pairs))


def encode_lines(
    pairs: Iterable[tuple[str, str]],
    text: TextSettings,
    languages: tuple[str | None, str | None] = (None, None),
    forms: tuple[WordForms, WordForms] | None = None,
) -> EncodedText:
    """Return the text of lines; faster than :func:`encode_text` of their words.

    `forms` give the forms in which source and target words are looked up; left out, these are the words that
    `text` gives.
    """
    pairs, encoders = list(pairs), side_encoders(text, languages, forms)
    for side, encoder in enumerate(encoders):
        encoder.add_lines([pair[side] for pair in pairs])
    return _build_text(encoders[0].finish(), encoders[1].finish())


def _build_text(source: EncodedSide, target: EncodedSide) -> EncodedText:
    words = line_words_of(source, target)
    source, target, segments = split_long_pairs(source, target)
    return EncodedText(source, target, segments, make_buckets(source, target), words)


def line_words_of(source: EncodedSide, target: EncodedSide) -> BothLineWords | None:
    """Return the words between spaces that the tokens of a text begin in; None where tokens are the words."""
    if source.line_words is None or target.line_words is None:
        return None
    return LineWords(source.line_words, source.offsets), LineWords(target.line_words, target.offsets)


# --- pieces of long pairs --------------------------------------------------------------------------


class _Path(NamedTuple):
    """A rising path through the matrix of a pair: the positions of its K corners on both sides."""

    source: Doubles
    target: Doubles

    def deviation(self, at: Longs) -> Doubles:
        """Return the standard deviation of the path at source positions: that of a Brownian bridge."""
        corner = np.clip(np.searchsorted(self.source, at, side="right"), 1, len(self.source) - 1)
        before, after = at - self.source[corner - 1], self.source[corner] - at
        return np.sqrt(LENGTH_VARIANCE * before * after / (before + after))


def _find_anchors(source: Longs, target: Longs) -> tuple[Longs, Longs, Doubles]:
    """Return positions and weights of words that are rare and equally frequent on both sides.

    Both sides number words alike; -1 marks words that are unknown to the other side.
    """
    first, of_first = np.unique(source, return_counts=True)
    second, of_second = np.unique(target, return_counts=True)
    common, a, b = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    usable = (common >= 0) & (of_first[a] == of_second[b]) & (of_first[a] <= MAX_ANCHOR_COUNT)
    occurrences = of_first[a][usable]
    s, t = (_positions_of(common[usable], side) for side in (source, target))
    return s, t, ANCHOR_WEIGHT / np.repeat(occurrences, occurrences)


def _positions_of(words: Longs, side: Longs) -> Longs:
    """Return the positions of some words, ordered by word."""
    places = np.flatnonzero(np.isin(side, words))
    return places[np.argsort(side[places], kind="stable")]


def _find_path(source: Longs, target: Longs) -> _Path:
    """Return the path of a pair from words numbered as in :func:`_find_anchors`."""
    S, T = len(source), len(target)
    at_source, at_target, weight = _find_anchors(source, target)
    order = np.lexsort((at_target, at_source))
    s = np.concatenate([[0], at_source[order] + 0.5, [S]])
    t = np.concatenate([[0], at_target[order] + 0.5, [T]])
    gain = np.concatenate([[0.0], weight[order], [0.0]])
    best, predecessor = np.zeros(len(s)), np.zeros(len(s), dtype=np.int64)
    for k in range(1, len(s)):
        earlier = np.arange(max(0, k - MAX_PREDECESSORS), k)
        earlier[0] = 0
        source_step, target_step = s[k] - s[earlier], (t[k] - t[earlier]) * S / T
        cost = (source_step - target_step) ** 2 / (
            LENGTH_VARIANCE * (np.abs(source_step) + np.abs(target_step))
        )
        cost = np.minimum(cost, MAX_GAP_COST)
        score = np.where((source_step > 0) & (target_step > 0), best[earlier] - cost, -np.inf)
        predecessor[k], best[k] = earlier[score.argmax()], score.max() + gain[k]
    corners = [len(s) - 1]
    while corners[-1]:
        corners.append(int(predecessor[corners[-1]]))
    return _Path(s[corners[::-1]], t[corners[::-1]])


def _split_pair(source: Longs, target: Longs) -> Longs:
    """Return the pieces of a pair of words numbered as in :func:`_find_anchors`.

    The shape is (4, 2, pieces): `start`, `core_start` and `core_stop` of :class:`Segments`, and the end.
    """
    path = _find_path(source, target)
    if len(source) > CORE_WORDS * len(target):
        return _split_along(path)
    return _split_along(_Path(path.target, path.source))[:, ::-1]


def _split_along(path: _Path) -> Longs:
    """Cut the source side into cores; return pieces as :func:`_split_pair` does."""
    words, others = int(path.source[-1]), int(path.target[-1])
    longer = max(words, others)
    count, share = -(-longer // CORE_WORDS), words / longer
    cores = np.arange(count + 1) * words // count
    start, stop = cores[:-1], cores[1:]
    deviation = np.maximum(path.deviation(start), path.deviation(stop))
    margin = np.ceil(
        np.minimum(MARGIN_WORDS * share + MARGIN_DEVIATIONS * deviation, MAX_MARGIN_WORDS * share)
    ).astype(np.int64)
    first, last = np.maximum(start - margin, 0), np.minimum(stop + margin, words)
    low, high = np.floor(np.interp(first, *path)), np.ceil(np.interp(last, *path))
    high = np.minimum(high, low + MAX_GAP_WORDS)
    return np.array([[first, low], [start, low], [stop, high], [last, high]]).astype(np.int64)


def whole_pairs(source: EncodedSide, target: EncodedSide) -> Segments:
    """Return the segments of sentence pairs that are not cut into pieces."""
    S, T = source.lengths, target.lengths
    lengths = np.stack([S, T])
    zeros = np.zeros_like(lengths)
    return Segments(len(S), np.arange(len(S)), S, T, zeros, zeros, lengths)


def split_long_pairs(source: EncodedSide, target: EncodedSide) -> tuple[EncodedSide, EncodedSide, Segments]:
    """Cut pairs with more than UNCUT_WORDS words into pieces; other pairs are one piece each."""
    S, T = source.lengths, target.lengths
    long = (np.maximum(S, T) > MAX_UNSPLIT_WORDS) & (np.minimum(S, T) > 0)
    if not long.any():
        return source, target, whole_pairs(source, target)
    numbers = look_up(number_words(target.words), source.words)  # number on the target side of source words
    pieces = []
    for n in np.flatnonzero(long).tolist():
        words = [side.tokens[side.offsets[n] : side.offsets[n + 1]] for side in (source, target)]
        pieces.append(_split_pair(numbers[words[0]], words[1].astype(np.int64)))
    count = np.ones(len(S), dtype=np.int64)
    count[long] = [of_pair.shape[2] for of_pair in pieces]
    pair = np.repeat(np.arange(len(S)), count)
    lengths = np.stack([S[pair], T[pair]])
    zeros = np.zeros_like(lengths)
    bounds = np.stack([zeros, zeros, lengths, lengths])
    bounds[:, :, long[pair]] = np.concatenate(pieces, axis=2)
    start, core_start, core_stop, stop = bounds
    source, target = (
        _take_pieces(source, pair, start[0], stop[0]),
        _take_pieces(target, pair, start[1], stop[1]),
    )
    return source, target, Segments(len(S), pair, S, T, start, core_start, core_stop)


def _take_pieces(side: EncodedSide, pair: Longs, start: Longs, stop: Longs) -> EncodedSide:
    """Return a side whose sentences are parts of sentences."""
    begin, end = side.offsets[pair] + start, side.offsets[pair] + stop
    runs = np.flatnonzero(begin[1:] != end[:-1])  # of sentences that follow each other
    first, last = begin[[0, *(runs + 1)]], end[[*runs, -1]]
    tokens = [side.tokens[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    return replace(side, tokens=np.concatenate(tokens), offsets=offsets_of(stop - start), line_words=None)
