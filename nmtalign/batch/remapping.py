"""Links of tokens mapped to whitespace tokens of the lines, or to the words that sub-words make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from nmtalign.links.alignments import AlignedBatch
from nmtalign.text.bitext import SentencePair
from nmtalign.text.subwords import word_numbers
from nmtalign.text.tokenization import TextSettings, remap

SPACES = TextSettings("space", lowercase=False, unicode="none")


def places_of(
    pair: SentencePair, text: TextSettings, languages: tuple[str | None, str | None], to: str
) -> tuple[list[int], list[int]]:
    """Return the new position of every token of a pair.

    Parameters
    ----------
    pair : SentencePair
    text : TextSettings
        What cuts it into tokens.
    languages : (str or None, str or None)
    to : {"space", "bpe", "sentencepiece"}
        What is counted: whitespace tokens of the lines, or the words that those make when they are sub-words
        marked like that.

    Examples
    --------
    >>> pair = SentencePair("un@@ happy cat", "chat mal@@ heureux")
    >>> places_of(pair, SPACES, (None, None), "bpe")
    ([0, 0, 1], [0, 1, 1])
    """
    sides: list[list[int]] = []
    for line, tokens in zip(pair, text.tokens_of_pair(pair, languages), strict=True):
        numbers = remap(tokens, line)
        if to != "space":
            words = word_numbers(SPACES.words(line), to)
            numbers = [words[number] for number in numbers]
        sides.append(numbers)
    return sides[0], sides[1]


def remap_batch(
    batch: AlignedBatch, source_places: Sequence[Sequence[int]], target_places: Sequence[Sequence[int]]
) -> AlignedBatch:
    """Move each link from token positions to other positions; links that coincide become one.

    Parameters
    ----------
    batch : AlignedBatch
    source_places, target_places : sequences of N sequences of int
        The new position of every token of each pair, as :func:`nmtalign.text.tokenization.remap` gives them.

    Returns
    -------
    AlignedBatch
        At most as many links; the probability of a link is the greatest of those that coincide, the
        scores of the pairs stay as they were.

    Examples
    --------
    >>> source, target, probability = np.array([0, 1, 2]), np.array([0, 0, 1]), np.array([0.5, 0.9, 0.8])
    >>> batch = AlignedBatch(np.array([0, 3]), source, target, probability, scores=np.array([0.7]))
    >>> remapped = remap_batch(batch, [[0, 0, 1]], [[0, 1]])
    >>> remapped.links(0), remapped.probability.tolist()
    ([Link(source=0, target=0), Link(source=1, target=1)], [0.9, 0.8])
    """
    pair = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    source, target = _moved(batch.source, pair, source_places), _moved(batch.target, pair, target_places)
    order = np.lexsort((batch.probability, target, source, pair))
    pair, source, target = pair[order], source[order], target[order]
    last = np.ones(len(order), dtype=bool)  # of equal links the last one is the most probable
    last[:-1] = (np.diff(pair) != 0) | (np.diff(source) != 0) | (np.diff(target) != 0)
    counts = np.bincount(pair[last], minlength=len(batch))
    return AlignedBatch(
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]),
        source=source[last].astype(np.int32),
        target=target[last].astype(np.int32),
        probability=batch.probability[order][last],
        scores=batch.scores,
    )


def _moved(
    positions: NDArray[np.int32], pair: NDArray[np.int64], places: Sequence[Sequence[int]]
) -> NDArray[np.int64]:
    starts = np.cumsum([0, *map(len, places)])[:-1]
    flat = np.fromiter(chain.from_iterable(places), dtype=np.int64)
    return np.asarray(flat[starts[pair] + positions])
