"""Chunks of a bitext: what is read, given to a worker and held in memory at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nmtalign.text.bitext import SentencePair

PAIRS = 20_000  # of one chunk: enough pairs of equal lengths to fill buckets
CHARACTERS = 4_000_000  # of one chunk; a chunk of very long lines has fewer pairs

CELLS = 16_000_000  # weights (target by source words) that are kept at a time; a million takes 8 MB


class Chunk(NamedTuple):
    """Consecutive pairs of a bitext; `first` is the number of the first one, from 1."""

    first: int
    lines: list[SentencePair]


def cut(
    pairs: Iterable[SentencePair], *, chunk: int = PAIRS, first: int = 1, cells: float = math.inf
) -> Iterator[Chunk]:
    """Cut a stream into chunks of at most `chunk` pairs and about `CHARACTERS` characters.

    Parameters
    ----------
    pairs : iterable of SentencePair
    chunk : int
    first : int
        Number of the first pair.
    cells : float
        Where matrices are kept: source by target characters of all pairs of a chunk, about.

    Examples
    --------
    >>> [(part.first, len(part.lines)) for part in cut([SentencePair("a", "b")] * 5, chunk=2)]
    [(1, 2), (3, 2), (5, 1)]
    >>> [len(part.lines) for part in cut([SentencePair("a", "bc")] * 3, cells=3)]
    [2, 1]
    """
    lines: list[SentencePair] = []
    characters = area = 0
    for pair in pairs:
        lines.append(pair)
        characters += len(pair.source) + len(pair.target)
        area += len(pair.source) * len(pair.target)
        if len(lines) == chunk or characters > CHARACTERS or area > cells:
            yield Chunk(first, lines)
            first, lines, characters, area = first + len(lines), [], 0, 0
    if lines:
        yield Chunk(first, lines)
