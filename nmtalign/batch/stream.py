"""A bitext streamed through an aligner: memory depends on the chunk, not on the number of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nmtalign.alignment.links import AlignedBatch
from nmtalign.models.aligner import Aligner
from nmtalign.text.bitext import SentencePair

PAIRS = 10_000  # of one chunk: enough pairs of equal lengths to stack
CHARACTERS = 4_000_000  # of one chunk; a chunk of very long lines has fewer pairs


class AlignedChunk(NamedTuple):
    """Consecutive pairs of a bitext and their links.

    Attributes
    ----------
    first : int
        Number of the first pair, from 1, like the lines of the file.
    lines : list of SentencePair
        As they stand in the file.
    words : list of (source words, target words)
        Normalised, as they were looked up.
    batch : AlignedBatch
    """

    first: int
    lines: list[SentencePair]
    words: list[tuple[list[str], list[str]]]
    batch: AlignedBatch


def align_stream(
    aligner: Aligner, pairs: Iterable[SentencePair], *, chunk: int = PAIRS
) -> Iterator[AlignedChunk]:
    """Align a bitext chunk by chunk; the links do not depend on how it is cut.

    Parameters
    ----------
    aligner : Aligner
    pairs : iterable of SentencePair
        Read as it is needed.
    chunk : int
        Most pairs of a chunk.

    Yields
    ------
    AlignedChunk
        In order; each pair is in exactly one, also an empty one.
    """
    first = 1
    for lines in _chunks(pairs, chunk):
        words = [_words(aligner, pair) for pair in lines]
        yield AlignedChunk(first, lines, words, aligner.align_batch(words))
        first += len(lines)


def _words(aligner: Aligner, pair: SentencePair) -> tuple[list[str], list[str]]:
    source, target = aligner.languages
    return (
        aligner.text.words(pair.source, language=source),
        aligner.text.words(pair.target, language=target),
    )


def _chunks(pairs: Iterable[SentencePair], most: int) -> Iterator[list[SentencePair]]:
    """Cut a stream into lists of at most `most` pairs and about `CHARACTERS` characters."""
    chunk: list[SentencePair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(chunk) == most or characters > CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk
