"""Chunks aligned by several processes, in order: the same bytes for any number of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from nmtalign.aligner.aligner import Aligner
from nmtalign.aligner.experts import with_links
from nmtalign.batch.stream import AlignedChunk, align_chunk
from nmtalign.corpus.parallel import streamed
from nmtalign.links.alignments import Link
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import Chunk

# first line number, source and target lines, links of an expert
Packed = tuple[int, list[str], list[str], list[frozenset[Link]] | None]

FEW = 4  # chunks up to which all cores work on one after the other


def align_chunks(
    aligner: Aligner, chunks: Iterable[Chunk], *, workers: int, count: str = "words"
) -> Generator[AlignedChunk]:
    """Align chunks on several cores.

    Parameters
    ----------
    aligner : Aligner
    chunks : iterable of Chunk
        As of :func:`nmtalign.text.chunks.cut`; read as they are needed.
    workers : int
    count : str
        As of :func:`nmtalign.batch.stream.align_stream`.

    Yields
    ------
    AlignedChunk
        In order; equal for any number of workers.

    Raises
    ------
    WorkerError
        If a worker dies.
    """
    chunks = iter(chunks)
    few = min(FEW, workers)
    head = list(islice(chunks, few + 1)) if workers > 1 else []
    if len(head) <= few:
        for chunk in chain(head, chunks):
            yield align_chunk(replace(aligner, workers=workers), chunk, count=count)
        return
    one, given = replace(aligner, workers=1), deque[Chunk]()

    def packed() -> Iterator[Packed]:
        for chunk in chain(head, chunks):
            given.append(chunk)
            yield pack(chunk)

    for found in streamed(lambda own: align_packed(one, own, count), packed(), workers):
        yield found._replace(lines=given.popleft().lines)


def pack(chunk: Chunk) -> Packed:
    """Return a chunk as plain lists of lines: they are sent faster than pairs.

    Examples
    --------
    >>> pack(Chunk(7, [SentencePair("a b", "x"), SentencePair("c", "y")]))
    (7, ['a b', 'c'], ['x', 'y'], None)
    """
    sides = [pair.source for pair in chunk.lines], [pair.target for pair in chunk.lines]
    links: list[frozenset[Link]] = [getattr(pair, "links", frozenset()) for pair in chunk.lines]
    return chunk.first, *sides, links if any(links) else None


def align_packed(aligner: Aligner, packed: Packed, count: str) -> AlignedChunk:
    """Align a chunk in a worker; what comes back is without the lines."""
    first, source, target, links = packed
    lines = list(map(SentencePair, source, target))
    chunk = Chunk(first, lines if links is None else list(with_links(lines, links)))
    return align_chunk(aligner, chunk, count=count)._replace(lines=[])
