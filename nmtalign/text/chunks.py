"""Split a stream of sentence pairs into chunks, and bound the length of a pair, so that memory is bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from nmtalign.display import with_plural
from nmtalign.errors import DataError
from nmtalign.text.bitext import ColumnName, Pair, Pairs, SentencePair, Sentences, read_pairs
from nmtalign.text.tokenization import MAX_TEXT_CHARS, Languages, TextSettings
from nmtalign.validation import check_number

PAIRS_PER_CHUNK = 10_000  # large enough to fill the buckets of all lengths
MAX_CHUNK_CHARS = 4_000_000  # a chunk of very long lines has fewer pairs
MAX_MATRIX_CELLS = 16_000_000  # weights (target by source words) in memory; a million take 8 MB


class Chunk(NamedTuple):
    """Consecutive pairs of a bitext; `first` is the number of the first one, from 0."""

    first: int
    lines: list[SentencePair]


class AwaitedChunk(Chunk):
    """A chunk that ends early, because whoever writes the text may wait for its links."""


def iter_chunks(
    pairs: Pairs,
    targets: Sentences | None = None,
    *,
    source: ColumnName = None,
    target: ColumnName = None,
    chunk_size: int = PAIRS_PER_CHUNK,
    first: int = 0,
    cells: float = math.inf,
) -> Iterator[Chunk]:
    """Split a stream of sentence pairs into chunks, so that memory does not grow with the text.

    Parameters
    ----------
    pairs : Bitext, iterable of (source, target), (list, list), table, or records
        Lines of text; for tables and records see :func:`nmtalign.train`.
    targets : sequence of str, optional
        The target sentences, if `pairs` are the source sentences.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.
    chunk_size : int
        Maximum number of pairs per chunk. Chunks of long lines, about 4 million characters together, have
        fewer.
    first : int
        Number of the first pair, from 0.
    cells : float
        Limit for runs that keep matrices: the sum, over the pairs of a chunk, of source characters times
        target characters.

    Examples
    --------
    >>> [(part.first, len(part.lines)) for part in iter_chunks([("a", "b")] * 5, chunk_size=2)]
    [(0, 2), (2, 2), (4, 1)]
    >>> [len(part.lines) for part in iter_chunks([("a", "bc")] * 3, cells=3)]
    [2, 1]
    """
    check_number(chunk_size, "a number of pairs of a chunk, 1 or more", minimum=1, integer=True)
    check_number(first, "a number of the first pair, 0 or more", minimum=0, integer=True)
    check_number(cells, "a number of cells")
    checked = read_pairs(pairs, targets, source=source, target=target, lines=True)
    sentence_pairs = map(_as_sentence_pair, checked.pairs)
    return chunk_pairs(sentence_pairs, chunk_size=chunk_size, first=first, cells=cells)


def _as_sentence_pair(pair: Pair) -> SentencePair:
    """Return a checked pair of lines; a SentencePair, which may have links of an expert, stays as it is."""
    return pair if isinstance(pair, SentencePair) else SentencePair(str(pair[0]), str(pair[1]))


def chunk_pairs(
    pairs: Iterable[SentencePair],
    *,
    chunk_size: int = PAIRS_PER_CHUNK,
    first: int = 0,
    cells: float = math.inf,
    is_awaited: Callable[[], bool] | None = None,
) -> Iterator[Chunk]:
    """Split a stream of checked pairs, which may be empty, as :func:`iter_chunks` does.

    A chunk also ends where `is_awaited` returns True.
    """
    lines: list[SentencePair] = []
    char_count = cell_count = 0
    for pair in pairs:
        lines.append(pair)
        char_count += len(pair.source) + len(pair.target)
        cell_count += len(pair.source) * len(pair.target)
        is_full = len(lines) == chunk_size or char_count > MAX_CHUNK_CHARS or cell_count > cells
        if is_full or (is_awaited is not None and is_awaited()):
            yield Chunk(first, lines) if is_full else AwaitedChunk(first, lines)
            first += len(lines)
            lines = []
            char_count = cell_count = 0
    if lines:
        yield Chunk(first, lines)


# --- long pairs ----------------------------------------------------------------------------------

# A tokenizer may make several tokens of a character: in NFKC, a ligature may become 18 letters.
MAX_TOKENS_PER_CHAR = 20
# Longer pairs could be aligned, piece by piece, but a pair of this length already takes a minute.
MAX_WORDS_PER_SIDE = 100_000


class LengthLimit:
    """Replaces each pair with more than `max_words` tokens on a side by an empty pair, and counts these.

    If `max_words` is None, all pairs are kept; a pair with more than `MAX_WORDS_PER_SIDE` tokens or
    `MAX_TEXT_CHARS` characters on a side is then a DataError that names `files`.
    """

    def __init__(self, max_words: int | None, files: Sequence[str] = ()) -> None:
        self.max_words = None if max_words is None else min(max_words, MAX_WORDS_PER_SIDE)
        self.count = 0
        self._files = files

    def closing_clause(self) -> str:
        """Return what a command adds to its closing line: a comma and a clause, or nothing."""
        if self.max_words is None:
            return ""
        return f", {with_plural(self.count, 'pair')} with more than {self.max_words:,} tokens skipped"

    def pairs(
        self,
        pairs: Iterable[SentencePair],
        text_settings: TextSettings,
        languages: Languages = (None, None),
    ) -> Iterator[SentencePair]:
        """Yield the pairs in order; `text_settings` splits them into tokens."""
        self.count = 0
        max_words = MAX_WORDS_PER_SIDE if self.max_words is None else self.max_words
        for number, pair in enumerate(pairs, 1):
            longest_side = max(len(pair.source), len(pair.target))
            if longest_side <= max_words // MAX_TOKENS_PER_CHAR:
                yield pair  # too short to have so many tokens
                continue
            excess = _describe_excess(pair, max_words, text_settings, languages)
            if not excess:
                yield pair
            elif self.max_words is None:
                problem = DataError(f"{excess}; `max_length={max_words}` leaves such pairs out")
                raise problem.at(f"{' and '.join(self._files)}, pair {number:,}")
            else:
                self.count += 1
                yield SentencePair("", "")


def _describe_excess(
    pair: SentencePair, max_words: int, text_settings: TextSettings, languages: Languages
) -> str:
    """Return by how much a pair is too long; an empty text if it is not.

    Characters are counted first, because a line of too many characters must not be tokenized.
    """
    char_count = max(len(pair.source), len(pair.target))
    if char_count > MAX_TEXT_CHARS:
        return f"expected at most {MAX_TEXT_CHARS:,} characters a side, found {char_count:,}"
    source_pieces, target_pieces = text_settings.pieces_of_pair(pair, languages)
    word_count = max(len(source_pieces), len(target_pieces))
    if word_count > max_words:
        return f"expected at most {max_words:,} words a side, found {word_count:,}"
    return ""
