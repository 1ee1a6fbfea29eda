"""Links, values and whole pairs in another unit: tokens become words, and words become pieces.

A `Regrouping` says which new units each old unit of one side overlaps. Every conversion is given one for each
side, (source, target); None instead of both says that the units stay the same.

Axes: N sentence pairs, L links, T target units, S source units.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import (
    AnyArray,
    Integers,
    Longs,
    Reals,
    offsets_of,
    positions_in_runs,
    rows_of_runs,
)
from nmtalign.errors import DataError
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    BothWords,
    GoldAlignment,
    Link,
    make_alignment,
    make_gold,
    make_matrix,
)
from nmtalign.links.selection import OneLink, best_of_words
from nmtalign.text.subwords import PieceLine


class Ranges(NamedTuple):
    """Consecutive units, a range for each of some other units of the same sentences."""

    first: Longs
    size: Longs


class Regrouping(NamedTuple):
    """The new units that each old unit of one side of a text overlaps.

    A token overlaps the word in which it begins, and a word its pieces. These are consecutive, and counted
    from 0 in their sentence.
    """

    first: Integers  # (old units of all sentences,): the first new unit of each
    size: Integers  # (old units of all sentences,): the number of its new units
    offsets: Longs  # (N + 1,): the old units of sentence n are those from offsets[n] to offsets[n + 1]

    @classmethod
    def into_words(cls, words: Integers, offsets: Longs) -> Regrouping:
        """Return the regrouping of units of which each is part of one word; `words` has its number."""
        return cls(words, np.broadcast_to(np.int64(1), words.shape), offsets)

    def sentence(self, n: int) -> Regrouping:
        """Return the regrouping of one sentence."""
        own = slice(self.offsets[n], self.offsets[n + 1])
        first = self.first[own].astype(np.int64)
        return Regrouping(first, self.size[own], offsets_of([len(first)]))

    def of_sentences(self, sentences: Longs) -> Regrouping:
        """Return the regrouping of some sentences, in their order."""
        units = rows_of_runs(self.offsets, sentences)
        return Regrouping(self.first[units], self.size[units], offsets_of(np.diff(self.offsets)[sentences]))

    def new_of(self, sentence: Longs, old: Integers) -> Ranges:
        """Return the new units of old units, each of a sentence."""
        index = self.offsets[sentence] + old
        return Ranges(self.first[index].astype(np.int64), self.size[index].astype(np.int64))

    def new_lengths(self, sentence: Longs) -> Longs:
        """Return how many new units there are in sentences, none of which is empty."""
        last = self.offsets[sentence + 1] - 1
        return self.first[last].astype(np.int64) + self.size[last]

    def old_of(self, sentence: Longs, new: Integers) -> Ranges:
        """Return the old units that overlap new units, each of a sentence; both are in the same order.

        The range of a new unit after all others begins at the end of the sentence.
        """
        greatest = int(self.first.max(initial=0)) + int(self.size.max(initial=0))
        width = max(greatest, int(new.max(initial=0))) + 1
        # sentence and new unit make one key, which ascends over the old units
        new_keys = sentence * width + new
        keys = np.repeat(np.arange(len(self.offsets) - 1) * width, np.diff(self.offsets))
        keys += self.first
        stop = np.searchsorted(keys, new_keys, "right")
        keys += self.size
        start = np.searchsorted(keys, new_keys, "right")
        return Ranges(start - self.offsets[sentence], stop - start)

    def inverse(self, new_units: int) -> Regrouping:
        """Return the regrouping back to the old units of one sentence that has so many new units."""
        old = self.old_of(np.zeros(new_units, np.int64), np.arange(new_units))
        return Regrouping(old.first, old.size, offsets_of([new_units]))

    def overlaps(self) -> Overlaps:
        """Return the overlaps of old and new units in one sentence."""
        old = np.repeat(np.arange(len(self.first)), self.size)
        new = self.first[old] + positions_in_runs(self.size)
        return Overlaps(old, new, self.size[old])

    def new_ranges(self) -> list[range]:
        """Return the new units of each old unit of one sentence."""
        starts_and_sizes = zip(self.first.tolist(), self.size.tolist(), strict=True)
        return [range(start, start + size) for start, size in starts_and_sizes]

    def new_units(self, old: Iterable[int]) -> frozenset[int]:
        """Return the new units of some old units of one sentence."""
        ranges = self.new_ranges()
        return frozenset(unit for n in old for unit in ranges[n])


class Overlaps(NamedTuple):
    """The overlaps of the old and new units of one sentence, in order."""

    old: Longs
    new: Longs
    size: Integers  # the number of new units that the old unit overlaps


BothRegroupings = tuple[Regrouping, Regrouping]  # of the source and of the target
BothPieceLines = tuple[PieceLine, PieceLine]  # of the source and of the target


class PiecesOfWords:
    """The pieces of the words of both sides, while the pairs of a text are read."""

    def __init__(self) -> None:
        self._lengths = array("q"), array("q")
        self._first = array("q"), array("q")
        self._stop = array("q"), array("q")

    def add(self, lines: BothPieceLines) -> None:
        """Add a pair."""
        for side, line in enumerate(lines):
            self._lengths[side].append(len(line.first))
            self._first[side].extend(line.first)
            self._stop[side].extend(line.stop)

    def regroupings(self) -> BothRegroupings:
        """Return the regroupings from the words of all pairs to their pieces."""
        return self._regrouping(0), self._regrouping(1)

    def _regrouping(self, side: int) -> Regrouping:
        first = np.array(self._first[side], np.int64)
        stop = np.array(self._stop[side], np.int64)
        return Regrouping(first, stop - first, offsets_of(np.array(self._lengths[side], np.int64)))


def into_pieces(lines: Iterable[BothPieceLines]) -> BothRegroupings:
    """Return the regroupings from words to pieces, given the pieces of both lines of each pair."""
    pieces = PiecesOfWords()
    for both in lines:
        pieces.add(both)
    return pieces.regroupings()


def of_sentence(regroupings: BothRegroupings, n: int) -> BothRegroupings:
    """Return the regroupings of one pair of a text."""
    return regroupings[0].sentence(n), regroupings[1].sentence(n)


def regroup_links(links: Iterable[tuple[int, int]], regroupings: BothRegroupings) -> frozenset[Link]:
    """Return the links of all new units of linked units of one sentence pair."""
    source, target = regroupings[0].new_ranges(), regroupings[1].new_ranges()
    return frozenset(Link(*cell) for s, t in links for cell in product(source[s], target[t]))


def regroup_batch(
    batch: AlignedBatch, regroupings: BothRegroupings | None, *, one_link: OneLink
) -> AlignedBatch:
    """Return the links of all new units of linked units; each has the probability of the old link.

    Links that coincide become one, with the greatest of their probabilities. If the extraction gives each old
    unit of a side at most one link (`one_link`), so does each new unit have: the most probable one.
    """
    if regroupings is None:
        return batch
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))  # (L,)
    source = regroupings[0].new_of(pair, batch.source)
    target = regroupings[1].new_of(pair, batch.target)
    link, new_source, new_target = _cells(source, target)
    merged = _merged(batch, pair[link], new_source, new_target, batch.probability[link])
    return _best_of_units(merged, regroupings, one_link) if any(one_link) else merged


def _best_of_units(batch: AlignedBatch, regroupings: BothRegroupings, one_link: OneLink) -> AlignedBatch:
    """Return a batch of new units without the links that are not the best of their units."""
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))  # (L,)
    links = pair, batch.source.astype(np.int64), batch.target.astype(np.int64)
    lengths = regroupings[0].new_lengths(pair), regroupings[1].new_lengths(pair)
    best = best_of_words(links, batch.probability, lengths, one_link)
    return replace(
        batch,
        offsets=offsets_of(np.bincount(pair[best], minlength=len(batch))),
        source=batch.source[best],
        target=batch.target[best],
        probability=batch.probability[best],
    )


def share_links(
    batch: AlignedBatch,
    regroupings: BothRegroupings | None,
    lengths: tuple[Longs, Longs],
    *,
    first: int = 0,
) -> AlignedBatch:
    """Return the links of all tokens of linked words, which share the probability of the link.

    This is the way back: `regroupings` lead from tokens to words, and `lengths` are the source and target
    tokens of each pair. A DataError names the first pair, counted from `first`, with a link outside.
    """
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))  # (L,)
    if regroupings is None:
        one = np.ones(len(pair), np.int64)
        source = Ranges(batch.source.astype(np.int64), one)
        target = Ranges(batch.target.astype(np.int64), one)
    else:
        source = regroupings[0].old_of(pair, batch.source)
        target = regroupings[1].old_of(pair, batch.target)
    outside = np.flatnonzero((source.first >= lengths[0][pair]) | (target.first >= lengths[1][pair]))
    if len(outside):
        n = outside[0]
        place = f"pair {first + pair[n]:,}"
        found = f"{batch.source[n]}-{batch.target[n]}"
        S, T = int(lengths[0][pair[n]]), int(lengths[1][pair[n]])
        raise DataError(
            f"{place}: the expert's link {found} is outside a pair of {S} source and {T} target tokens; "
            "positions count the space-separated words of the line, from 0"
        )
    if regroupings is None:
        return batch
    cell_counts = source.size * target.size
    shared_link, source_token, target_token = _cells(source, target)
    shares = batch.probability[shared_link] / cell_counts[shared_link]
    return _merged(batch, pair[shared_link], source_token, target_token, shares.astype(np.float32))


def _cells(source: Ranges, target: Ranges) -> tuple[Longs, Longs, Longs]:
    """Return all combinations of the units of both ranges of each link: the link, and both units."""
    counts = source.size * target.size  # (L,)
    link = np.repeat(np.arange(len(counts)), counts)
    nth = positions_in_runs(counts)
    width = target.size[link]
    return link, source.first[link] + nth // width, target.first[link] + nth % width


def _merged(
    batch: AlignedBatch, pair: Longs, source: Longs, target: Longs, probability: Reals
) -> AlignedBatch:
    """Return a batch with other links, in the order of a batch; those that coincide become one."""
    key = (pair * (source.max(initial=0) + 1) + source) * (target.max(initial=0) + 1) + target
    order = key.argsort(kind="stable")  # fast, because the keys are nearly in order
    first = np.flatnonzero(np.diff(key[order], prepend=-1))  # of each run of equal keys
    kept = order[first]
    counts = np.bincount(pair[kept], minlength=len(batch))
    return replace(
        batch,
        offsets=offsets_of(counts),
        source=source[kept].astype(np.int32),
        target=target[kept].astype(np.int32),
        probability=np.maximum.reduceat(probability[order], first) if len(first) else probability,
    )


def regroup_gold(gold: GoldAlignment, links: Collection[Link], regroupings: BothRegroupings) -> GoldAlignment:
    """Return the gold links of tokens from those of words; `regroupings` lead from tokens to words.

    A link of words with one token each becomes the link of their tokens. If a word has several tokens, the
    gold link does not tell which of them are linked: the links that an aligner chose (`links`) are sure, if
    the gold link is, and all others are possible.
    """
    words = 1 + max((max(link) for link in gold.possible), default=0)
    tokens = regroupings[0].inverse(words), regroupings[1].inverse(words)
    sure: set[Link] = set()
    possible: set[Link] = set()
    for link in gold.possible:
        token_links = regroup_links([link], tokens)
        possible |= token_links
        if link in gold.sure:
            sure |= token_links if len(token_links) == 1 else token_links.intersection(links)
    return make_gold(frozenset(sure), frozenset(possible))


def regroup_values(
    values: str, weights: AnyArray, regroupings: BothRegroupings, shape: tuple[int, int]
) -> AnyArray:
    """Return one kind of values of the new units of a pair, of shape (T, S), from those of its old units.

    `values` is "scores", "forward", "reverse" or "combined". The score, or combined weight, of two new units
    is the maximum over their old units. In one direction, the weight of an old unit that is attended to is
    divided evenly among its new units, and added to theirs, and the weights of old units that attend are
    averaged, so the weights of a new unit sum to at most 1. A unit without old units has weights of 0, and
    scores of NaN.
    """
    source, target = regroupings
    return _regroup_cells(values, weights, source.overlaps(), target.overlaps(), shape)


def _regroup_cells(
    values: str, weights: AnyArray, source: Overlaps, target: Overlaps, shape: tuple[int, int]
) -> AnyArray:
    """Do what :func:`regroup_values` does, given the overlaps of both sides."""
    if values == "reverse":
        return _regroup_cells("forward", weights.T, target, source, shape[::-1]).T
    old_cells = weights[target.old[:, None], source.old]
    new_cells = target.new[:, None], source.new
    if values != "forward":
        maximum = np.full(shape, np.nan if values == "scores" else 0, weights.dtype)
        np.fmax.at(maximum, new_cells, old_cells)
        return maximum
    shares = old_cells / source.size
    total = np.zeros(shape, weights.dtype)
    np.add.at(total, new_cells, shares.astype(weights.dtype))
    old_units = np.bincount(target.new, minlength=shape[0])  # (T,): number of averaged rows
    total /= np.maximum(old_units, 1).astype(weights.dtype)[:, None]
    return total


def regroup_pair(
    pair: AlignedPair, regroupings: BothRegroupings | None, words: BothWords, *, one_link: OneLink
) -> AlignedPair:
    """Return an aligned pair with the new units `words` in place of its words; see :func:`regroup_values`.

    A unit has no vector if one of its old units has none. Links are those of :func:`regroup_batch`.
    """
    if regroupings is None:
        return pair
    source, target = regroupings
    overlaps = source.overlaps(), target.overlaps()
    shape = len(words[1]), len(words[0])  # (T, S)

    def converted(values: str, weights: Reals | None) -> Any:
        return None if weights is None else _regroup_cells(values, weights, *overlaps, shape)

    unknown = pair.matrix.unknown
    if unknown is not None:
        unknown = source.new_units(unknown[0]), target.new_units(unknown[1])
    source_ranges, target_ranges = source.new_ranges(), target.new_ranges()
    probabilities: dict[Link, float] = {}
    for (s, t), probability in pair.probabilities.items():
        for cell in product(source_ranges[s], target_ranges[t]):
            link = Link(*cell)
            probabilities[link] = max(probability, probabilities.get(link, 0.0))
    if any(one_link):
        best = _best_links(probabilities, regroupings, one_link)
        probabilities = {link: probabilities[link] for link in probabilities if link in best}
    weights = converted("combined", pair.matrix.weights)
    return replace(
        pair,
        alignment=make_alignment(frozenset(probabilities), len(words[0]), len(words[1])),
        matrix=make_matrix(weights, *words, unknown, pair.matrix.caption),
        forward=converted("forward", pair.forward),
        reverse=converted("reverse", pair.reverse),
        probabilities=probabilities,
        scores=converted("scores", pair.scores),
    )


def _best_links(
    probabilities: dict[Link, float], regroupings: BothRegroupings, one_link: OneLink
) -> frozenset[Link]:
    """Return the links of one pair that are the best of their units."""
    links = list(probabilities)
    source, target = np.array(links, np.int64).reshape(-1, 2).T
    pair = np.zeros(len(links), np.int64)
    lengths = regroupings[0].new_lengths(pair), regroupings[1].new_lengths(pair)
    weights = np.array(list(probabilities.values()), np.float64)
    best = best_of_words((pair, source, target), weights, lengths, one_link)
    return frozenset(links[n] for n in np.flatnonzero(best))
