"""Links from attention of other programs, streamed beside the bitext."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmtalign.aligner.attention_files import read_matrices
from nmtalign.aligner.external import Reading, external_decoder
from nmtalign.aligner.extraction import Extraction
from nmtalign.batch.remapping import SPACES
from nmtalign.batch.stream import AlignedChunk, Chunk, cut
from nmtalign.errors import DataError
from nmtalign.links.alignments import AlignedPair
from nmtalign.text.bitext import SentencePair

PAIRS = 1_000  # of one chunk, whose matrices are held in memory


def align_matrices(
    pairs: Iterable[SentencePair],
    path: str | Path,
    reading: Reading,
    extraction: Extraction,
    *,
    chunk: int = PAIRS,
) -> Generator[AlignedChunk]:
    """Choose links from attention matrices; those of a chunk are in memory.

    Parameters
    ----------
    pairs : iterable of SentencePair
        The pieces that the matrices are of, between spaces.
    path : str or Path
        Of the matrices, as of :func:`nmtalign.aligner.attention_files.read_matrices`, one a pair.
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
    given = _Weights(path, reading)
    for part in cut(pairs, chunk=chunk):
        yield _aligned(part, given, extraction)
    given.check_end()


def inspect_matrices(
    pairs: Iterable[SentencePair], path: str | Path, reading: Reading, extraction: Extraction
) -> Iterator[AlignedPair]:
    """Yield each pair with its weights; parameters and errors as of :func:`align_matrices`."""
    given = _Weights(path, reading)
    settings = f"matrices={path} {reading} {extraction}"
    for pair in pairs:
        words, weights = given.next(pair)
        yield external_decoder([words], [weights], extraction).pair(words, settings)
    given.check_end()


class _Weights:
    """The weights of one pair after the other."""

    def __init__(self, path: str | Path, reading: Reading) -> None:
        self.reading = reading
        self._path, self._matrices, self._number = path, read_matrices(path), 0

    def next(self, pair: SentencePair) -> tuple[tuple[list[str], list[str]], NDArray[np.floating]]:
        """Return the words of the next pair and their weights, shape (T, S)."""
        self._number += 1
        attention = next(self._matrices, None)
        if attention is None:
            found = f"expected attention for each pair, found none for pair {self._number}"
            raise DataError(found).at(self._path)
        pieces = SPACES.words(pair.source), SPACES.words(pair.target)
        try:
            weights = self.reading.weights(attention, *pieces)
        except DataError as error:
            raise DataError(f"pair {self._number}: {error}").at(self._path) from None
        return (self.reading.words(pieces[0]), self.reading.words(pieces[1])), weights

    def check_end(self) -> None:
        """Refuse more matrices than pairs."""
        if next(self._matrices, None) is not None:
            found = f"expected attention for {self._number} pairs, as the text has, found more"
            raise DataError(found).at(self._path)


def _aligned(part: Chunk, given: _Weights, extraction: Extraction) -> AlignedChunk:
    words, weights = zip(*(given.next(pair) for pair in part.lines), strict=True)
    lines = [SentencePair(*map(" ".join, pair)) for pair in words]
    sizes = [(len(source), len(target)) for source, target in words]
    batch = external_decoder(words, weights, extraction).align(1)
    return AlignedChunk(part.first, lines, batch, sizes, None, SPACES, (None, None))
