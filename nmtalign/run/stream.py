"""A bitext streamed through an aligner, or beside attention or similarities of another program.

Memory depends on the chunk, not on the number of pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, tee
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmtalign.aligner.aligner import AlignedTextOrigin, Aligner
from nmtalign.arrays import Doubles, Flags, Reals
from nmtalign.corpus.coverage import Coverage, one_word_lines_warning, swapped_pairs
from nmtalign.corpus.parallel import parallel_imap
from nmtalign.corpus.regrouping import BothPieceLines, BothRegroupings, into_pieces
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.units import WORDS, LinkUnit
from nmtalign.decoding.extraction_methods import Extraction
from nmtalign.decoding.kept_posteriors import KEPT_METHODS, KeptPosteriors
from nmtalign.errors import DataError
from nmtalign.links.alignments import AlignedBatch
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import MAX_MATRIX_CELLS, AwaitedChunk, Chunk, chunk_pairs
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings

if TYPE_CHECKING:
    from nmtalign.external.links_from import Linker
    from nmtalign.external.matrix_files import GivenPair, TokenizedPair

PairMatrices = list[tuple[Reals, Flags]]


class ChunkContents(NamedTuple):
    """What a chunk has besides its links."""

    values: str | None = (
        None  # kept of each pair as its attention: "scores", "forward", "reverse", "combined"
    )
    costs: bool = False
    directions: Mapping[str, Extraction] | None = None  # extractions of further links, by name
    posteriors: bool = False  # whether those are kept that other links can be chosen from


LINKS_ALONE = ChunkContents()


class AlignedChunk(NamedTuple):
    """Consecutive pairs of a bitext and their links."""

    first: int  # number of the first pair, from 0; errors count pairs from 1, like the lines of files
    lines: list[SentencePair]  # as they were aligned: lines of sub-words are joined into words
    batch: AlignedBatch
    coverage: Coverage | None  # known words; None for links from another program
    text_settings: TextSettings  # settings that split the lines into the words or tokens that are linked
    languages: tuple[str | None, str | None]
    unit: LinkUnit = WORDS  # the unit of the positions in links
    warning: str | None = None  # a warning of the first chunk: a side is written without spaces
    attention: PairMatrices | None = None  # (T, S) values and linkable cells of each pair that were asked for
    costs: Doubles | None = None  # (N, 2) of the pairs, if they were asked for
    # for links from another program: the pairs with their attention, if they were asked for
    given: list[GivenPair] | None = None
    directions: Mapping[str, AlignedBatch] | None = None  # further links, by name, if they were asked for
    posteriors: KeptPosteriors | None = None  # those that other links can be chosen from
    is_swapped: Flags | None = None  # (N,): which pairs have words of the other side's vocabulary

    def as_batch(self) -> AlignedBatch:
        """Return the links with the words of the pairs and the posteriors that were kept."""
        origin = AlignedTextOrigin(
            self.lines, self.unit, self.text_settings, self.languages, None, self.posteriors
        )
        return replace(self.batch, origin=origin, unit=self.unit.name)

    def linked_strings(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the source and target words, tokens or pieces that the positions of the links count."""
        sides: tuple[list[list[str]], list[list[str]]] = [], []
        for pair in self.lines:
            words_of_pair = self.unit.words_of(pair, self.text_settings, self.languages)
            for side, words in zip(sides, words_of_pair, strict=True):
                side.append([word or "▁" for word in words])  # a piece may have no letters
        return sides

    def side_for_translation(self, side: int) -> list[list[str]]:
        """Return what the positions of the links of one side count, as translation programs read it."""
        tokens_of_side = self.unit.side_for_translation
        return [tokens_of_side(pair, side, self.text_settings, self.languages) for pair in self.lines]


def align_chunk(
    aligner: Aligner,
    chunk: Chunk,
    *,
    unit: LinkUnit = WORDS,
    contents: ChunkContents = LINKS_ALONE,
) -> AlignedChunk:
    """Align the pairs of one chunk, as :meth:`LinkUnit.prepare_pairs` gives them.

    The `unit` is what positions count. If values are kept, a DataError names a pair that has more than
    `MAX_MATRIX_CELLS` of them.
    """
    text = aligner.text_of_pairs(chunk.lines, aligned_unit=unit.aligned_unit, first=chunk.first + 1)
    directions = contents.directions or {}
    extractions = [aligner.resolved_extraction, *directions.values()]
    batches, attention, kept = _decode_batches(aligner, text, extractions, contents, chunk.first + 1)
    settings = aligner.text_settings
    warning = None
    if unit.aligned_unit == "words":
        settings = SPACE_SETTINGS
        warning = one_word_lines_warning(text) if chunk.first == 0 else None
    piece_lines = _piece_lines_of_chunk(chunk, unit, settings, aligner.languages)
    batch, *of_directions = (
        unit.convert(batch, text.line_words, piece_lines, one_link=extraction.one_link)
        for batch, extraction in zip(batches, extractions, strict=True)
    )
    if kept is not None:
        words = text.line_words if unit.aligned_unit == "words" else None
        kept = replace(kept, words=words, pieces=into_pieces(piece_lines) if unit.expands else None)
    if contents.values is not None and attention is not None:
        attention = _convert_attention(
            contents.values, attention, unit, chunk.lines, text.line_words, piece_lines
        )
    return AlignedChunk(
        first=chunk.first,
        lines=chunk.lines,
        batch=batch,
        coverage=aligner.scorer.coverage_of(text.source, text.target, text.sections),
        text_settings=settings,
        languages=aligner.languages,
        unit=unit,
        warning=warning,
        attention=attention,
        costs=aligner.decoder_for_text(text).pair_costs() if contents.costs else None,
        posteriors=kept,
        is_swapped=swapped_pairs(text, aligner.scorer.vocabularies),
        directions=dict(zip(directions, of_directions, strict=True)),
    )


def _decode_batches(
    aligner: Aligner,
    text: EncodedText,
    extractions: Sequence[Extraction],
    contents: ChunkContents,
    first: int,
) -> tuple[list[AlignedBatch], PairMatrices | None, KeptPosteriors | None]:
    """Return the links of each extraction, of which the first is the aligner's, and what else is wanted.

    Positions count tokens. `first` is the number of the first pair, for errors.
    """
    kept = aligner.keep_posteriors(text, methods=KEPT_METHODS) if contents.posteriors else None
    if contents.values is not None:
        _check_cells(text, first)
        batch, arrays = aligner.decoder_for_text(text).links_and_values([contents.values, "linkable"])
        of_directions = aligner.link_text_by(text, extractions[1:]) if len(extractions) > 1 else []
        attention = list(zip(arrays[contents.values], arrays["linkable"], strict=True))
        return [batch, *of_directions], attention, kept
    if kept is not None and not any(map(kept.refusal, extractions)):
        return [kept.choose(extraction) for extraction in extractions], None, kept
    return aligner.link_text_by(text, extractions), None, kept


def _piece_lines_of_chunk(
    chunk: Chunk, unit: LinkUnit, text_settings: TextSettings, languages: Languages
) -> list[BothPieceLines]:
    """Return the pieces of each word or token that is linked; errors name the pair.

    Returns an empty list if links are not expanded to pieces.
    """
    piece_lines: list[BothPieceLines] = []
    if not unit.expands:
        return piece_lines
    for number, pair in enumerate(chunk.lines, chunk.first + 1):
        try:
            piece_lines.append(unit.piece_lines(pair, text_settings, languages))
        except DataError as error:
            raise error.at(f"pair {number:,}") from None
    return piece_lines


def _check_cells(text: EncodedText, first: int) -> None:
    """Raise DataError if the matrix of a pair would not fit into memory."""
    cell_counts = text.sections.source_lengths * text.sections.target_lengths
    for n in np.flatnonzero(cell_counts > MAX_MATRIX_CELLS)[:1].tolist():
        expected = f"expected at most {MAX_MATRIX_CELLS:,} weights (target by source words)"
        found = f"found {cell_counts[n]:,}; `max_length=4000` leaves such pairs out"
        raise DataError(f"pair {first + n:,}: {expected}, {found}")


def _convert_attention(
    values: str,
    attention: PairMatrices,
    unit: LinkUnit,
    lines: list[SentencePair],
    line_words: BothRegroupings | None,
    piece_lines: list[BothPieceLines],
) -> PairMatrices:
    """Return values of the linked unit from those of the tokens, as :meth:`LinkUnit.convert_values`."""
    converted = []
    for n, ((weights, linkable), pair) in enumerate(zip(attention, lines, strict=True)):
        pieces = piece_lines[n] if unit.expands else None
        # a link is possible where any of the tokens may have one
        may_link = unit.convert_values("combined", linkable, pair, line_words, pieces, n)
        converted.append((unit.convert_values(values, weights, pair, line_words, pieces, n), may_link))
    return converted


def links_of_source(
    linker: Linker,
    pairs: Iterable[SentencePair],
    words: Iterable[TokenizedPair],
    text_settings: TextSettings,
    *,
    unit: LinkUnit = WORDS,
    with_attention: bool = False,
) -> Generator[AlignedChunk]:
    """Yield the links of the pairs of a bitext, which `text_settings` splits into tokens, chunk by chunk.

    The `unit` is what positions count; `with_attention` keeps the attention of each pair. Raises DataError if
    the source has fewer or more matrices than there are pairs, or does not fit one.
    """
    from nmtalign.external.links_from import PAIRS_IN_MEMORY, given_pair, words_of_linked_tokens

    remaining_matrices = linker.read(words)
    prepared = unit.prepare_pairs(pairs, text_settings, first=1)
    for chunk in chunk_pairs(prepared, chunk_size=PAIRS_IN_MEMORY):
        matrices = list(islice(remaining_matrices, len(chunk.lines)))
        batch = linker.align(matrices)
        settings = SPACE_SETTINGS if unit.aligned_unit == "words" else text_settings
        line_words = words_of_linked_tokens(chunk.lines, text_settings, unit)
        piece_lines = _piece_lines_of_chunk(chunk, unit, settings, (None, None))
        batch = unit.convert(batch, line_words, piece_lines, one_link=linker.one_link)
        given = None
        if with_attention:
            given = [
                given_pair(linker, matrix, pair, text_settings, unit)
                for matrix, pair in zip(matrices, chunk.lines, strict=True)
            ]
        yield AlignedChunk(
            first=chunk.first,
            lines=chunk.lines,
            batch=batch,
            given=given,
            coverage=None,
            text_settings=settings,
            languages=(None, None),
            unit=unit,
        )
    next(remaining_matrices, None)  # an error if there is more


MAX_SEQUENTIAL_CHUNKS = 4  # chunks up to which all cores work on one after the other


def align_chunks(
    aligner: Aligner,
    chunks: Iterable[Chunk],
    *,
    workers: int,
    unit: LinkUnit = WORDS,
    contents: ChunkContents = LINKS_ALONE,
) -> Generator[AlignedChunk]:
    """Yield the links of chunks, which are read as they are needed, on several cores.

    For `unit` and `contents` see :func:`align_chunk`. The links depend neither on `workers` nor on how
    the text is split into chunks. A WorkerError if a worker dies.
    """
    chunks = iter(chunks)
    few = min(MAX_SEQUENTIAL_CHUNKS, workers)
    head = _first_chunks(chunks, few + 1) if workers > 1 else deque()
    are_few = len(head) <= few
    chunks = chain(_taken(head), chunks)
    if are_few:
        # a map keeps no chunk while the next one is read
        threaded = replace(aligner, workers=workers)
        yield from map(partial(align_chunk, threaded, unit=unit, contents=contents), chunks)
        return
    one = replace(aligner, workers=1)

    def without_lines(chunk: Chunk) -> AlignedChunk:
        return align_chunk(one, chunk, unit=unit, contents=contents)._replace(lines=[])

    sent, kept = tee(chunks)
    for aligned, chunk in zip(parallel_imap(without_lines, sent, workers), kept, strict=False):
        yield aligned._replace(lines=chunk.lines)


def _first_chunks(chunks: Iterator[Chunk], count: int) -> deque[Chunk]:
    """Return up to `count` chunks; none is read after an awaited one."""
    head: deque[Chunk] = deque()
    for chunk in chunks:
        head.append(chunk)
        if len(head) == count or isinstance(chunk, AwaitedChunk):
            break
    return head


def _taken(chunks: deque[Chunk]) -> Iterator[Chunk]:
    """Yield chunks, and keep none of those that were yielded."""
    while chunks:
        yield chunks.popleft()
