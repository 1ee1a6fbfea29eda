"""A bitext streamed through an aligner, or beside attention or similarities of another program.

Memory depends on the chunk, not on the number of pairs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice, tee
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmtalign.aligner.aligner import Aligner
from nmtalign.arrays import Flags, Reals, offsets_of
from nmtalign.corpus.coverage import Coverage, warn_of_one_word_lines
from nmtalign.corpus.line_words import BothLineWords, LineWords, join_token_values, links_of_words
from nmtalign.corpus.parallel import parallel_imap
from nmtalign.corpus.text import EncodedText, encode_lines
from nmtalign.errors import DataError
from nmtalign.links.alignments import AlignedBatch
from nmtalign.text.bitext import MAX_MATRIX_CELLS, Chunk, SentencePair, chunk_pairs
from nmtalign.text.tokenization import SPACE_SETTINGS, TextSettings, join_pieces, word_numbers

if TYPE_CHECKING:
    from nmtalign.aligner.links_from import Linker
    from nmtalign.encoders.matrix_files import WordPair

PairMatrices = list[tuple[Reals, Flags]]


class AlignedChunk(NamedTuple):
    """Consecutive pairs of a bitext and their links."""

    first: int  # number of the first pair, from 1, like the lines of the file
    lines: list[SentencePair]  # as they stand in the file
    batch: AlignedBatch
    coverage: Coverage | None  # known words; None for links from another program
    text: TextSettings  # what cuts the lines into the words or tokens that the links count
    languages: tuple[str | None, str | None]
    marks: str | None = None  # of the sub-words, "bpe" or "sentencepiece", whose words links count
    warning: str | None = None  # of the first chunk: a side is written without spaces
    attention: PairMatrices | None = None  # (T, S) values and linkable cells of each pair that were asked for

    def tokens(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the source and target words that the links count, as in the lines, sub-words joined."""
        sides: tuple[list[list[str]], list[list[str]]] = [], []
        for pair in self.lines:
            for side, tokens in zip(sides, self.text.tokens_of_pair(pair, self.languages), strict=True):
                texts = [token.text or "▁" for token in tokens]  # sentencepiece knows pieces without letters
                side.append(join_pieces(texts, self.marks) if self.marks else texts)
        return sides

    def pieces(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return what the links count as a translation program reads it.

        Tokens of sentencepiece keep the marks of their spaces; sub-words that became words are these words.
        """
        if self.marks:
            return self.tokens()
        sides = [self.text.pieces_of_pair(pair, self.languages) for pair in self.lines]
        return [source for source, _ in sides], [target for _, target in sides]


def align_chunk(
    aligner: Aligner, chunk: Chunk, *, unit: str = "words", values: str | None = None
) -> AlignedChunk:
    """Align the pairs of one chunk.

    The `unit` is what links count: "words" between spaces of the lines, whatever the tokenizer; "tokens"; or
    "bpe" or "sentencepiece": the words that sub-words with these marks join to. `values` ("scores",
    "forward", "reverse", "combined") are kept of each pair as its attention; a DataError names a pair that
    has more than `MAX_MATRIX_CELLS` of them.
    """
    text = aligner.encoded(chunk.lines, unit=unit, first=chunk.first)
    if values is None:
        batch, attention = aligner.align_text(text), None
    else:
        _check_cells(text, chunk.first)
        batch, arrays = aligner.decoder_of(text).links_and_values([values, "linkable"])
        attention = [*zip(arrays[values], arrays["linkable"], strict=True)]
    known = aligner.scorer.coverage_of(text.source, text.target, text.segments)
    if unit == "tokens":
        return AlignedChunk(*chunk, batch, known, aligner.text, aligner.languages, attention=attention)
    marks = None if unit == "words" else unit
    words = text.line_words if marks is None else _word_of_each_piece(text, chunk.lines, marks)
    batch = links_of_words(batch, words)
    warning = warn_of_one_word_lines(text) if chunk.first == 1 else None
    aligned = AlignedChunk(*chunk, batch, known, SPACE_SETTINGS, aligner.languages, marks, warning, attention)
    if values is None or attention is None or words is None:
        return aligned
    return aligned._replace(attention=_attention_of_words(values, attention, words, aligned))


def _check_cells(text: EncodedText, first: int) -> None:
    """Refuse a pair whose matrix would not fit into memory."""
    cells = text.segments.source_lengths * text.segments.target_lengths
    for n in np.flatnonzero(cells > MAX_MATRIX_CELLS)[:1].tolist():
        expected = (
            f"expected at most {MAX_MATRIX_CELLS:,} weights (target by source words), found {cells[n]:,}"
        )
        raise DataError(f"pair {first + n:,}: {expected}; --max-length 4000 leaves such pairs out")


def _attention_of_words(
    values: str, attention: PairMatrices, words: BothLineWords, chunk: AlignedChunk
) -> PairMatrices:
    """Return values of the words that the links of a chunk count, from those of their tokens."""
    of_words = []
    for n, ((weights, linkable), source, target) in enumerate(zip(attention, *chunk.tokens(), strict=True)):
        word_positions = (words[0].sentence(n), words[1].sentence(n)), (len(target), len(source))
        linkable = join_token_values("combined", linkable, *word_positions)  # where any of the tokens may
        of_words.append((join_token_values(values, weights, *word_positions), linkable))
    return of_words


def _word_of_each_piece(text: EncodedText, pairs: Sequence[SentencePair], marks: str) -> BothLineWords:
    """Return the word that each token of lines of marked sub-words is part of."""
    sides = []
    for side in (0, 1):
        numbers = [word_numbers(SPACE_SETTINGS.words(pair[side]), marks) for pair in pairs]
        if text.line_words is not None:  # a sub-word may be several tokens
            tokens = map(text.line_words[side].sentence, range(len(pairs)))
            numbers = [
                [of_line[piece] for piece in line] for of_line, line in zip(numbers, tokens, strict=True)
            ]
        words = np.array([*chain.from_iterable(numbers)], np.int64)
        sides.append(LineWords(words, offsets_of(list(map(len, numbers)))))
    return sides[0], sides[1]


def links_of_source(
    linker: Linker,
    pairs: Iterable[SentencePair],
    words: Iterable[WordPair],
    text: TextSettings,
    *,
    marks: str | None = None,
    unit: str = "words",
) -> Generator[AlignedChunk]:
    """Yield the links of the pairs of a bitext, whose tokens are as `text` cuts them, chunk by chunk.

    For `unit` see :func:`align_chunk`; `marks` says how the words are marked sub-words, if the linker joins
    them. A DataError if the source has fewer or more than there are pairs, or does not fit one.
    """
    from nmtalign.aligner.links_from import PAIRS_IN_MEMORY

    given = linker.read(words)
    for part in chunk_pairs(pairs, chunk_size=PAIRS_IN_MEMORY):
        matrices = list(islice(given, len(part.lines)))
        batch, shown = linker.align(matrices), text
        if unit == "words" and not marks:
            batch, shown = links_of_words(batch, encode_lines(part.lines, text).line_words), SPACE_SETTINGS
        yield AlignedChunk(*part, batch, None, shown, (None, None), marks)
    next(given, None)  # an error if there is more


MAX_SEQUENTIAL_CHUNKS = 4  # chunks up to which all cores work on one after the other


def align_chunks(
    aligner: Aligner,
    chunks: Iterable[Chunk],
    *,
    workers: int,
    unit: str = "words",
    values: str | None = None,
) -> Generator[AlignedChunk]:
    """Yield the links of chunks, which are read as they are needed, on several cores.

    For `unit` and `values` see :func:`align_chunk`. The links depend neither on `workers` nor on how the
    text is cut. A WorkerError if a worker dies.
    """
    chunks = iter(chunks)
    few = min(MAX_SEQUENTIAL_CHUNKS, workers)
    head = list(islice(chunks, few + 1)) if workers > 1 else []
    chunks = chain(head, chunks)
    if len(head) <= few:
        for chunk in chunks:
            yield align_chunk(replace(aligner, workers=workers), chunk, unit=unit, values=values)
        return
    one = replace(aligner, workers=1)

    def without_lines(chunk: Chunk) -> AlignedChunk:
        return align_chunk(one, chunk, unit=unit, values=values)._replace(lines=[])

    sent, kept = tee(chunks)
    for aligned, chunk in zip(parallel_imap(without_lines, sent, workers), kept, strict=False):
        yield aligned._replace(lines=chunk.lines)
