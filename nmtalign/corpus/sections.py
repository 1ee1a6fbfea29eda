"""Sections of long sentence pairs, so that memory and time grow with their length, not with its square.

A pair with up to `MAX_UNSPLIT_WORDS` words per side is one section, aligned exactly. A longer pair is split
into overlapping sections along a path through its matrix, which leads from the first words to the last
through anchors: words with the same spelling and the same count on both sides. The path is the heaviest
increasing chain of anchors. A step costs its squared deviation from the diagonal over the length variance of
translations (Gale and Church 1993, section 3), at most `MAX_GAP_COST`. A section has a core of about
`CORE_WORDS` words of the longer side, and margins that widen with the distance to the anchors. Links are
taken from the cores only.

Cores divide the target words, or the source words if there is less than one target word per section.

Axes: N sentence pairs, B pairs of a bucket, T target words, S source words.

References
----------
Gale and Church (1993), "A program for aligning sentences in bilingual corpora".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from nmtalign.arrays import Doubles, Flags, Longs, Reals, block_slices, offsets_of
from nmtalign.corpus.buckets import Bucket
from nmtalign.corpus.sides import TOKENS_PER_BLOCK, EncodedSide, TokenList, look_up, number_words
from nmtalign.files.array_files import is_mapped, on_disk, release

MAX_UNSPLIT_WORDS = 256  # longer sentences are split into sections
CORE_WORDS = 48  # size that decides how many cores divide a pair, in words of the longer side
MARGIN_WORDS = 16  # margin at both ends of a core, on the longer side, if the path is certain
MARGIN_DEVIATIONS = 1.5  # the margin grows by this many standard deviations of the path
MAX_MARGIN_WORDS = 64  # the largest margin, on the longer side
MAX_GAP_WORDS = 1_024  # maximum size of a section on one side if the other side lacks a part
LENGTH_VARIANCE = 1.0  # variance of the length of a translation, per word
# log-likelihood ratio of an anchor to chance, divided by the count of its word in the sentence
ANCHOR_WEIGHT = 4.0
MAX_GAP_COST = 30.0  # cost of a step over a part of any length that one side lacks
MAX_ANCHOR_COUNT = 3  # a word that is more frequent in its sentence is not an anchor
MAX_PREDECESSORS = 500  # anchors that are considered as predecessors on the path


@dataclass(frozen=True, eq=False, repr=False)
class Sections:
    """The sections of sentence pairs, and their positions in the pairs; most pairs are one section."""

    pair_count: int  # N, the number of sentence pairs
    pair_of_section: Longs  # (sections,)
    source_lengths: Longs  # (N,): source words of each sentence pair
    target_lengths: Longs  # (N,): target words of each sentence pair
    # (2, sections): positions in the source and in the target sentence
    start: Longs  # the first word of each section
    core_start: Longs  # the first word of its core, from which its links are taken
    core_stop: Longs  # the first word after its core

    def on_disk(self) -> Sections:
        """Return the sections with all arrays on disk."""
        return Sections(
            pair_count=self.pair_count,
            pair_of_section=on_disk(self.pair_of_section),
            source_lengths=on_disk(self.source_lengths),
            target_lengths=on_disk(self.target_lengths),
            start=on_disk(self.start),
            core_start=on_disk(self.core_start),
            core_stop=on_disk(self.core_stop),
        )

    @property
    def has_split_pairs(self) -> bool:
        """Whether some pair has more than one section."""
        return len(self.pair_of_section) > self.pair_count

    def links_in_cores(
        self, section: Longs, source: Longs, target: Longs
    ) -> tuple[Flags, Longs, Longs, Longs]:
        """Return which links are in the core of their section, and the pair and positions of these links."""
        words = np.stack([source, target]) + self.start[:, section]  # (2, links): positions in the pair
        is_in_core = (words >= self.core_start[:, section]) & (words < self.core_stop[:, section])
        kept: Flags = np.asarray(is_in_core.all(axis=0))
        kept_source, kept_target = words[:, kept]
        return kept, self.pair_of_section[section][kept], kept_source, kept_target

    def sum_by_pair(self, section: Longs, values: Doubles) -> Doubles:
        """Return the sum (N,) of the values of the sections of each pair."""
        pair = self.pair_of_section[section]
        return np.asarray(np.bincount(pair, values, self.pair_count), dtype=np.float64)

    def core(self, bucket: Bucket) -> Flags | None:
        """Return which cells (T, S, B) of a bucket are in the core of their section; None if all are."""
        core_words = self.core_words(bucket)
        if core_words is None:
            return None
        is_core_source, is_core_target = core_words
        return np.asarray(is_core_target[:, None] & is_core_source)

    def core_words(self, bucket: Bucket) -> tuple[Flags, Flags] | None:
        """Return which words (S, B), (T, B) of a bucket are in the core of their section; None if all are."""
        if not self.has_split_pairs:
            return None
        T, S, _ = bucket.shape
        is_core_source = self._is_in_core(0, bucket.sections, S)
        is_core_target = bucket.is_filled & self._is_in_core(1, bucket.sections, T)
        return is_core_source, is_core_target

    def _is_in_core(self, side: int, section: Longs, size: int) -> Flags:
        """Return which of the first `size` words of sections (B,) are in the core, shape (size, B)."""
        words = self.start[side, section] + np.arange(size)[:, None]  # (size, B): positions in the pair
        return np.asarray((words >= self.core_start[side, section]) & (words < self.core_stop[side, section]))

    def copy_cores_into(self, matrices: Sequence[Reals], bucket: Bucket, weights: Reals) -> None:
        """Write the cores of a bucket's sections (T, S, B) into the matrices (T, S) of their pairs."""
        for b in bucket.filled_columns:
            section = bucket.sections[b]
            source_start, target_start = self.start[:, section]
            s0, t0 = self.core_start[:, section]
            s1, t1 = self.core_stop[:, section]
            rows = slice(t0 - target_start, t1 - target_start)
            columns = slice(s0 - source_start, s1 - source_start)
            matrices[self.pair_of_section[section]][t0:t1, s0:s1] = weights[rows, columns, b]


class _Path(NamedTuple):
    """A rising path through the matrix of a pair: the positions of its corners on both sides."""

    source: Doubles
    target: Doubles

    def deviation(self, at: Longs) -> Doubles:
        """Return the standard deviation of the path at source positions: that of a Brownian bridge."""
        corner = np.clip(np.searchsorted(self.source, at, side="right"), 1, len(self.source) - 1)
        before = at - self.source[corner - 1]
        after = self.source[corner] - at
        return np.sqrt(LENGTH_VARIANCE * before * after / (before + after))


def _find_anchors(source: Longs, target: Longs) -> tuple[Longs, Longs, Doubles]:
    """Return positions and weights of words that are rare and equally frequent on both sides.

    Both sides have the same number for the same word; -1 marks words that are unknown to the other side.
    """
    source_words, source_counts = np.unique(source, return_counts=True)
    target_words, target_counts = np.unique(target, return_counts=True)
    common, in_source, in_target = np.intersect1d(
        source_words, target_words, assume_unique=True, return_indices=True
    )
    counts = source_counts[in_source]
    is_anchor = (common >= 0) & (counts == target_counts[in_target]) & (counts <= MAX_ANCHOR_COUNT)
    anchors = common[is_anchor]
    anchor_counts = counts[is_anchor]
    weights = ANCHOR_WEIGHT / np.repeat(anchor_counts, anchor_counts)
    return _positions_of(anchors, source), _positions_of(anchors, target), weights


def _positions_of(words: Longs, side: Longs) -> Longs:
    """Return the positions of some words, ordered by word."""
    positions = np.flatnonzero(np.isin(side, words))
    return positions[np.argsort(side[positions], kind="stable")]


def _find_path(source: Longs, target: Longs) -> _Path:
    """Return the path of a pair from words numbered as in :func:`_find_anchors`."""
    S, T = len(source), len(target)
    anchor_source, anchor_target, weight = _find_anchors(source, target)
    order = np.lexsort((anchor_target, anchor_source))
    # The corners of all possible paths: the beginning, the middles of the anchors' cells, and the end
    s = np.concatenate([[0], anchor_source[order] + 0.5, [S]])
    t = np.concatenate([[0], anchor_target[order] + 0.5, [T]])
    gain = np.concatenate([[0.0], weight[order], [0.0]])
    best = np.zeros(len(s))  # score of the best path to each corner
    predecessor = np.zeros(len(s), dtype=np.int64)
    for k in range(1, len(s)):
        earlier = np.arange(max(0, k - MAX_PREDECESSORS), k)
        earlier[0] = 0  # every path may start at the beginning
        source_step = s[k] - s[earlier]
        target_step = (t[k] - t[earlier]) * S / T  # measured in source words
        cost = (source_step - target_step) ** 2 / (
            LENGTH_VARIANCE * (np.abs(source_step) + np.abs(target_step))
        )
        cost = np.minimum(cost, MAX_GAP_COST)
        score = np.where((source_step > 0) & (target_step > 0), best[earlier] - cost, -np.inf)
        predecessor[k] = earlier[score.argmax()]
        best[k] = score.max() + gain[k]
    corners = [len(s) - 1]
    while corners[-1]:
        corners.append(int(predecessor[corners[-1]]))
    return _Path(s[corners[::-1]], t[corners[::-1]])


def _split_pair(source: Longs, target: Longs) -> Longs:
    """Return the sections of a pair of words numbered as in :func:`_find_anchors`.

    The shape is (4, 2, sections): `start`, `core_start` and `core_stop` of :class:`Sections`, and the end.
    """
    path = _find_path(source, target)
    if len(source) > CORE_WORDS * len(target):
        return _split_along(path)  # cores divide the source words
    sections = _split_along(_Path(path.target, path.source))  # target before source
    return sections[:, ::-1]


def _split_along(path: _Path) -> Longs:
    """Split the source side into cores; return sections as :func:`_split_pair` does."""
    S, T = int(path.source[-1]), int(path.target[-1])
    longer = max(S, T)
    core_count = -(-longer // CORE_WORDS)
    share = S / longer  # source words per word of the longer side
    borders = np.arange(core_count + 1) * S // core_count
    start = borders[:-1]
    stop = borders[1:]
    deviation = np.maximum(path.deviation(start), path.deviation(stop))
    margin = np.ceil(
        np.minimum(MARGIN_WORDS * share + MARGIN_DEVIATIONS * deviation, MAX_MARGIN_WORDS * share)
    ).astype(np.int64)
    section_start = np.maximum(start - margin, 0)
    section_stop = np.minimum(stop + margin, S)
    # the target words between the points of the path at both ends of a section
    target_start = np.floor(np.interp(section_start, path.source, path.target))
    target_stop = np.ceil(np.interp(section_stop, path.source, path.target))
    target_stop = np.minimum(target_stop, target_start + MAX_GAP_WORDS)
    starts = [[section_start, target_start], [start, target_start]]
    stops = [[stop, target_stop], [section_stop, target_stop]]
    return np.array([*starts, *stops]).astype(np.int64)  # (4, 2, sections)


def whole_pairs(source: EncodedSide, target: EncodedSide) -> Sections:
    """Return the sections of sentence pairs that are not split."""
    S, T = source.lengths, target.lengths
    lengths = np.stack([S, T])
    zeros = np.zeros_like(lengths)
    return Sections(
        pair_count=len(S),
        pair_of_section=np.arange(len(S)),
        source_lengths=S,
        target_lengths=T,
        start=zeros,
        core_start=zeros,
        core_stop=lengths,
    )


def split_long_pairs(source: EncodedSide, target: EncodedSide) -> tuple[EncodedSide, EncodedSide, Sections]:
    """Split pairs with more than MAX_UNSPLIT_WORDS words into sections; other pairs are one section."""
    S, T = source.lengths, target.lengths
    is_long = (np.maximum(S, T) > MAX_UNSPLIT_WORDS) & (np.minimum(S, T) > 0)
    if not is_long.any():
        return source, target, whole_pairs(source, target)
    # number, among the target words, of each source word; -1 if the target side lacks the word
    target_number = look_up(number_words(target.words), source.words)
    sections_of_pairs = []
    for n in np.flatnonzero(is_long).tolist():
        source_words = source.tokens[source.offsets[n] : source.offsets[n + 1]]
        target_words = target.tokens[target.offsets[n] : target.offsets[n + 1]]
        sections_of_pairs.append(_split_pair(target_number[source_words], target_words.astype(np.int64)))
    section_counts = np.ones(len(S), dtype=np.int64)
    section_counts[is_long] = [sections.shape[2] for sections in sections_of_pairs]
    pair = np.repeat(np.arange(len(S)), section_counts)  # (sections,)
    lengths = np.stack([S[pair], T[pair]])  # (2, sections)
    zeros = np.zeros_like(lengths)
    bounds = np.stack([zeros, zeros, lengths, lengths])  # (4, 2, sections), of pairs in one section
    bounds[:, :, is_long[pair]] = np.concatenate(sections_of_pairs, axis=2)
    start, core_start, core_stop, stop = bounds
    sections = Sections(
        pair_count=len(S),
        pair_of_section=pair,
        source_lengths=S,
        target_lengths=T,
        start=start,
        core_start=core_start,
        core_stop=core_stop,
    )
    source_sections = _take_sections(source, pair, start[0], stop[0])
    target_sections = _take_sections(target, pair, start[1], stop[1])
    return source_sections, target_sections, sections


def _take_sections(side: EncodedSide, pair: Longs, start: Longs, stop: Longs) -> EncodedSide:
    """Return a side whose sentences are parts of the sentences of pairs."""
    begin = side.offsets[pair] + start
    end = side.offsets[pair] + stop
    # Consecutive sentences without a gap or an overlap between them are copied as one run.
    breaks = np.flatnonzero(begin[1:] != end[:-1])
    run_begins = begin[[0, *(breaks + 1)]].tolist()
    run_ends = end[[*breaks, -1]].tolist()
    tokens = TokenList(TOKENS_PER_BLOCK if is_mapped(side.tokens) else math.inf)
    for run_begin, run_end in zip(run_begins, run_ends, strict=True):
        run = side.tokens[run_begin:run_end]
        for block in block_slices(len(run), TOKENS_PER_BLOCK):
            tokens.append(run[block])
    joined = tokens.joined(np.int32)
    release(side.tokens)
    return replace(side, tokens=joined, offsets=offsets_of(stop - start), line_word_of_token=None)
