"""A bitext streamed through an aligner: memory depends on the chunk, not on the number of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nmtalign.alignment.links import AlignedBatch
from nmtalign.batch.remapping import remap_batch
from nmtalign.models.aligner import Aligner
from nmtalign.text.bitext import SentencePair
from nmtalign.text.tokenization import TextSettings, remap

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
    text : TextSettings
        What cuts the lines into the tokens that the links count.
    languages : (str or None, str or None)
    """

    first: int
    lines: list[SentencePair]
    words: list[tuple[list[str], list[str]]]
    batch: AlignedBatch
    text: TextSettings
    languages: tuple[str | None, str | None]

    def tokens(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the source and target tokens of each pair, as they stand in the lines."""
        source, target = (
            [[token.text for token in self.text.tokens(pair[side], language=language)] for pair in self.lines]
            for side, language in enumerate(self.languages)
        )
        return source, target


def align_stream(
    aligner: Aligner, pairs: Iterable[SentencePair], *, chunk: int = PAIRS, whitespace: bool = False
) -> Iterator[AlignedChunk]:
    """Align a bitext chunk by chunk; the links do not depend on how it is cut.

    Parameters
    ----------
    aligner : Aligner
    pairs : iterable of SentencePair
        Read as it is needed.
    chunk : int
        Most pairs of a chunk.
    whitespace : bool
        Give links between the whitespace tokens of the lines, whatever the tokeniser.

    Yields
    ------
    AlignedChunk
        In order; each pair is in exactly one, also an empty one.
    """
    first = 1
    for lines in _chunks(pairs, chunk):
        words = [_words(aligner, pair) for pair in lines]
        found = AlignedChunk(first, lines, words, aligner.align_batch(words), aligner.text, aligner.languages)
        yield _on_whitespace(found) if whitespace else found
        first += len(lines)


def _words(aligner: Aligner, pair: SentencePair) -> tuple[list[str], list[str]]:
    source, target = aligner.languages
    return (
        aligner.text.words(pair.source, language=source),
        aligner.text.words(pair.target, language=target),
    )


def _on_whitespace(chunk: AlignedChunk) -> AlignedChunk:
    """Return the chunk with links between the whitespace tokens of its lines."""
    source, target = (
        [remap(chunk.text.tokens(pair[side], language=language), pair[side]) for pair in chunk.lines]
        for side, language in enumerate(chunk.languages)
    )
    return chunk._replace(batch=remap_batch(chunk.batch, source, target), text=TextSettings("space"))


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
