"""Links from attention or similarities of another program, streamed beside the bitext."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import islice

from nmtalign.aligner.links_from import PAIRS, Linker
from nmtalign.batch.stream import AlignedChunk
from nmtalign.encoders.files import WordPair
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import cut
from nmtalign.text.tokenization import TextSettings


def links_of_source(
    linker: Linker,
    pairs: Iterable[SentencePair],
    words: Iterable[WordPair],
    text: TextSettings,
    *,
    marks: str | None = None,
) -> Generator[AlignedChunk]:
    """Yield the links of the pairs of a bitext, whose words are as `text` cuts them, chunk by chunk.

    `marks` says how the words are marked sub-words, if the linker joins them. A DataError if the source has
    fewer or more than there are pairs, or does not fit one.
    """
    given = linker.read(words)
    for part in cut(pairs, chunk=PAIRS):
        own = list(islice(given, len(part.lines)))
        sizes = [(len(source), len(target)) for (source, target), *_ in own]
        yield AlignedChunk(*part, linker.align(own), sizes, None, text, (None, None), marks)
    next(given, None)  # an error if there is more
