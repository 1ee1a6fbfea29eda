"""Links from attention or similarities of another program, streamed beside the bitext."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import islice

from nmtalign.aligner.links_from import PAIRS, Linker
from nmtalign.batch.stream import AlignedChunk
from nmtalign.corpus.line_words import links_of_words, words_of_lines
from nmtalign.encoders.files import WordPair
from nmtalign.text.bitext import SentencePair, chunks_of
from nmtalign.text.tokenization import SPACES, TextSettings


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

    For `unit` see :func:`nmtalign.batch.stream.align_chunk`; `marks` says how the words are marked
    sub-words, if the linker joins them. A DataError if the source has fewer or more than there are pairs, or
    does not fit one.
    """
    given = linker.read(words)
    for part in chunks_of(pairs, chunk=PAIRS):
        matrices = list(islice(given, len(part.lines)))
        sizes = [(len(source), len(target)) for (source, target), *_ in matrices]
        batch, shown = linker.align(matrices), text
        if unit == "words" and not marks:
            batch, shown = links_of_words(batch, words_of_lines(part.lines, text)), SPACES
        yield AlignedChunk(*part, batch, sizes, None, shown, (None, None), marks)
    next(given, None)  # an error if there is more
