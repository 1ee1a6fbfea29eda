"""Batches of a bitext for training by gradient: stacks of sentence pairs of like length, and their words.

Axes: B sentence pairs, S source words, T target words, E and F distinct words of a batch (number 0 is
padding), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.models.corpus import Bucket, EncodedSide, stack

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

LONGEST = 256  # words: longer sentences teach the jumps to wander and cost much; training leaves them out
CELLS = 1 << 18  # cells of one stack of sentence pairs
STACKS = 4  # stacks of a batch: pairs of like length lie together


class Batch(NamedTuple):
    """Stacks of sentence pairs, and the distinct words in them; the first of these is the padding."""

    stacks: list[Bucket]
    source: Longs  # (E,)
    target: Longs  # (F,)
    source_share: Floats  # (E,) weights that make sums over the batch sums over the vocabulary
    target_share: Floats  # (F,)
    source_place: list[Longs]  # (S, B) of each stack: place of a word in `source`
    target_place: list[Longs]  # (T, B)


class Batches:
    """Batches of about `size` sentence pairs for ever; every pair is in one batch of each pass.

    Parameters
    ----------
    source, target : EncodedSide
        Pairs with an empty side or more than LONGEST words are left out.
    size : int
    random : numpy.random.Generator

    Raises
    ------
    DataError
        If no pair is left.
    """

    def __init__(
        self, source: EncodedSide, target: EncodedSide, size: int, random: np.random.Generator
    ) -> None:
        self._sides = source, target
        self._lengths = source.lengths, target.lengths
        shortest, longest = np.minimum(*self._lengths), np.maximum(*self._lengths)
        pairs = np.flatnonzero((shortest > 0) & (longest <= LONGEST))
        if not len(pairs):
            raise DataError(f"no sentence pair has words on both sides and at most {LONGEST} of them")
        self._pieces = self._drawn(pairs, -(-size // STACKS), random)

    def _drawn(self, pairs: Longs, width: int, random: np.random.Generator) -> Iterator[list[Longs]]:
        """Give the pairs of each batch, by stack."""
        waiting: list[Longs] = []
        taken = min(STACKS, -(-len(pairs) // width))
        source, target = self._lengths
        while True:
            while len(waiting) < taken:
                shuffled = random.permutation(pairs)
                shuffled = shuffled[np.lexsort((target[shuffled], source[shuffled]))]
                pieces = [shuffled[at : at + width] for at in range(0, len(shuffled), width)]
                waiting.extend(pieces[k] for k in random.permutation(len(pieces)))
            yield waiting[:taken]
            del waiting[:taken]

    def skip(self, count: int) -> None:
        """Pass over the next batches."""
        next(islice(self._pieces, count, count), None)

    def take(self) -> Batch:
        """Return the next batch."""
        stacks = [stack for pairs in next(self._pieces) for stack in self._stacks(pairs)]
        source, target = self._sides
        s, s_share, s_place = _batch_words(source, [stack.source for stack in stacks])
        t, t_share, t_place = _batch_words(target, [stack.target for stack in stacks])
        return Batch(stacks, s, t, s_share, t_share, s_place, t_place)

    def _stacks(self, pairs: Longs) -> Iterator[Bucket]:
        """Stack sentence pairs, as many at a time as CELLS allows."""
        longest = int(max(lengths[pairs].max() for lengths in self._lengths))
        width = max(1, CELLS // longest**2)
        for at in range(0, len(pairs), width):
            chosen = pairs[at : at + width]
            (source, s_lengths), (target, t_lengths) = (
                stack(side, chosen, len(chosen), int(lengths[chosen].max()))
                for side, lengths in zip(self._sides, self._lengths, strict=True)
            )
            yield Bucket(chosen, source, target, s_lengths, t_lengths)


def _batch_words(side: EncodedSide, stacks: list[Ints]) -> tuple[Longs, Floats, list[Longs]]:
    """Return the distinct words of a batch, their weights (E,), and the place of each word among them.

    A word of share p is in a batch of n words with probability ``1 - exp(-p n)``; weighted by p over that
    probability, sums over the words of the batch estimate sums over the vocabulary.
    """
    flat = np.concatenate([words.ravel() for words in stacks])
    words, place = distinct(np.append(flat, 0), len(side.words))
    share = side.counts[words] / len(side.tokens)
    chance = -np.expm1(-share * np.count_nonzero(flat))
    chance[0] = 1
    places = np.split(place[:-1], np.cumsum([stack.size for stack in stacks])[:-1])
    shaped = [p.reshape(stack.shape) for p, stack in zip(places, stacks, strict=True)]
    return words, (share / chance).astype(np.float32), shaped


def distinct(numbers: NDArray[np.integer], size: int) -> tuple[Longs, Longs]:
    """Return the distinct numbers below `size`, ascending, and the place of each number among them.

    Examples
    --------
    >>> found, place = distinct(np.array([[4, 2], [2, 7]]), 9)
    >>> found.tolist(), place.tolist()
    ([2, 4, 7], [[1, 0], [0, 2]])
    """
    place = np.zeros(size, dtype=np.int64)
    place[numbers] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[numbers]
