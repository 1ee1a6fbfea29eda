"""A bitext and the attention that another program paid to it, streamed into links."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import numpy as np

from nmtalign.aligner.attention_files import read_matrices
from nmtalign.aligner.decoding import Extraction, Floats
from nmtalign.aligner.external import Reading, inspect_weights, links_of
from nmtalign.aligner.stacks import StackLinks, joined
from nmtalign.batch.remapping import SPACES
from nmtalign.batch.stream import PAIRS, AlignedChunk, Chunk, cut
from nmtalign.errors import DataError
from nmtalign.links.alignments import AlignedPair
from nmtalign.text.bitext import SentencePair


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
    """Yield each pair with its weights to look at; parameters and errors as of :func:`align_matrices`."""
    given = _Weights(path, reading)
    settings = f"matrices={path} {reading} {extraction}"
    for pair in pairs:
        pieces = SPACES.words(pair.source), SPACES.words(pair.target)
        weights = given.next(pieces)
        words = reading.words(pieces[0]), reading.words(pieces[1])
        yield inspect_weights(weights, words, extraction, settings=settings)
    given.check_end()


class _Weights:
    """The weights of one pair after the other."""

    def __init__(self, path: str | Path, reading: Reading) -> None:
        self.reading = reading
        self._path, self._matrices, self._number = path, read_matrices(path), 0

    def next(self, pieces: tuple[list[str], list[str]]) -> Floats:
        """Return the weights of the words of the next pair."""
        self._number += 1
        attention = next(self._matrices, None)
        if attention is None:
            found = f"expected attention for each pair, found none for pair {self._number}"
            raise DataError(found).at(self._path)
        try:
            return self.reading.weights(attention, *pieces)
        except DataError as error:
            raise DataError(f"pair {self._number}: {error}").at(self._path) from None

    def check_end(self) -> None:
        """Refuse matrices that no pair is left for."""
        if next(self._matrices, None) is not None:
            found = f"expected attention for {self._number} pairs, as the text has, found more"
            raise DataError(found).at(self._path)


def _aligned(part: Chunk, given: _Weights, extraction: Extraction) -> AlignedChunk:
    found, lines, sizes = [], [], []
    for number, pair in enumerate(part.lines):
        pieces = SPACES.words(pair.source), SPACES.words(pair.target)
        links = links_of(given.next(pieces), extraction)
        found.append(StackLinks(links.pair + number, links.source, links.target, links.probability))
        words = given.reading.words(pieces[0]), given.reading.words(pieces[1])
        lines.append(SentencePair(" ".join(words[0]), " ".join(words[1])))
        sizes.append((len(words[0]), len(words[1])))
    batch = joined(found, np.array([S + T for S, T in sizes], dtype=np.int64))
    return AlignedChunk(part.first, lines, batch, sizes, None, SPACES, (None, None))
