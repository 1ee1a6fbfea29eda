"""A bitext and the attention that another program paid to it, streamed into links."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from pathlib import Path

import numpy as np

from nmtalign.batch.remapping import SPACES
from nmtalign.batch.stream import PAIRS, AlignedChunk, Chunk, cut
from nmtalign.errors import DataError
from nmtalign.models.decoding import Extraction, Floats
from nmtalign.models.matrices import Reading, links_of, read_matrices
from nmtalign.models.stacks import StackLinks, joined
from nmtalign.text.bitext import SentencePair

WeightsOf = Callable[[tuple[list[str], list[str]], int], Floats]  # of the pieces of a pair and its number


def align_matrices(
    pairs: Iterable[SentencePair],
    path: str | Path,
    reading: Reading,
    extraction: Extraction,
    *,
    chunk: int = PAIRS,
) -> Generator[AlignedChunk]:
    """Choose links from attention matrices; one is in memory at a time.

    Parameters
    ----------
    pairs : iterable of SentencePair
        The pieces that the matrices are of, between spaces.
    path : str or Path
        Of the matrices, as of :func:`nmtalign.models.matrices.read_matrices`, one a pair.
    reading : Reading
    extraction : Extraction
    chunk : int
        Most pairs of a chunk.

    Yields
    ------
    AlignedChunk
        Its lines are those of the text, sub-words joined to words.

    Raises
    ------
    DataError
        If there are fewer or more matrices than pairs, or one does not fit its pair.
    """
    matrices = read_matrices(path)

    def weights_of(pieces: tuple[list[str], list[str]], number: int) -> Floats:
        attention = next(matrices, None)
        if attention is None:
            raise DataError(f"expected attention for each pair, found none for pair {number}").at(path)
        try:
            return reading.weights(attention, *pieces)
        except DataError as error:
            raise DataError(f"pair {number}: {error}").at(path) from None

    number = 0
    for part in cut(pairs, chunk=chunk):
        yield _aligned(part, weights_of, reading, extraction)
        number += len(part.lines)
    if next(matrices, None) is not None:
        raise DataError(f"expected attention for {number} pairs, as the text has, found more").at(path)


def _aligned(part: Chunk, weights_of: WeightsOf, reading: Reading, extraction: Extraction) -> AlignedChunk:
    found, lines, sizes = [], [], []
    for number, pair in enumerate(part.lines):
        pieces = SPACES.words(pair.source), SPACES.words(pair.target)
        links = links_of(weights_of(pieces, part.first + number), extraction)
        found.append(StackLinks(links.pair + number, links.source, links.target, links.probability))
        words = reading.words(pieces[0]), reading.words(pieces[1])
        lines.append(SentencePair(" ".join(words[0]), " ".join(words[1])))
        sizes.append((len(words[0]), len(words[1])))
    batch = joined(found, np.array([S + T for S, T in sizes], dtype=np.int64))
    return AlignedChunk(part.first, lines, batch, sizes, None, SPACES, (None, None))
