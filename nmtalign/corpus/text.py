"""An encoded text: numbered words, buckets of sentence pairs, numbered word pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from nmtalign.arrays import Flags, Floats
from nmtalign.corpus.buckets import Bucket, make_buckets
from nmtalign.corpus.line_words import BothLineWords, LineWords
from nmtalign.corpus.long_pairs import Segments, cut_long_pairs
from nmtalign.corpus.sides import EncodedSide, encode_pairs, side_encoders
from nmtalign.corpus.word_pairs import PairIndex, number_pairs
from nmtalign.links.alignments import AlignedBatch
from nmtalign.text.tokenization import TextSettings


@dataclass(frozen=True, eq=False, repr=False)
class EncodedText:
    """Sentence pairs as arrays."""

    # long pairs are cut into pieces
    source: EncodedSide
    target: EncodedSide
    segments: Segments  # where the pieces come from
    buckets: Sequence[Bucket]
    line_words: BothLineWords | None = None  # of the tokens of lines; None: tokens are the words
    # links of tokens that an expert gives, with their weights; nothing is known of a pair without links
    expert_links: AlignedBatch | None = None

    @cached_property
    def index(self) -> PairIndex:
        """The co-occurring word pairs, numbered when they are first asked for."""
        return number_pairs(self.buckets, len(self.target.words))

    def expert_cells(self, k: int) -> tuple[Floats, Flags]:
        """Return the weights of the expert's links in bucket k, (T, S, B), and cells of annotated pairs."""
        bucket, weights = self.buckets[k], np.zeros(self.buckets[k].shape, np.float32)
        assert self.expert_links is not None
        pair = self.segments.pair[bucket.pieces]
        first, end = (self.expert_links.offsets[pair + n] for n in (0, 1))
        end = np.where(bucket.pieces >= 0, end, first)  # filler columns have none
        column = np.repeat(np.arange(len(pair)), end - first)  # of each link
        row = np.arange(len(column)) + np.repeat(end - np.cumsum(end - first), end - first)
        s = self.expert_links.source[row] - self.segments.source_start[bucket.pieces][column]
        t = self.expert_links.target[row] - self.segments.target_start[bucket.pieces][column]
        inside = (s >= 0) & (s < bucket.source_lengths[column])
        inside &= (t >= 0) & (t < bucket.target_lengths[column])
        weights[t[inside], s[inside], column[inside]] = self.expert_links.probability[row[inside]]
        return weights, bucket.inside & (end > first)

    @property
    def cells(self) -> int:
        """Cells of all buckets: the amount of work."""
        return sum(bucket.cells for bucket in self.buckets)

    def parts(self, cells: int) -> Iterator[EncodedText]:
        """Yield texts of some of the buckets, of at most about so many cells; there is one at least."""
        part = np.cumsum([bucket.cells for bucket in self.buckets], dtype=np.int64) // cells
        cuts = np.flatnonzero(np.diff(part)) + 1
        for start, stop in pairwise([0, *cuts.tolist(), len(self.buckets)]):
            yield replace(self, buckets=self.buckets[start:stop])


def encode_text(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> EncodedText:
    """Number the words of sentence pairs, cut long pairs and stack pairs of similar length."""
    return _stacked(*encode_pairs(pairs))


def encode_lines(
    pairs: Iterable[tuple[str, str]],
    text: TextSettings,
    languages: tuple[str | None, str | None] = (None, None),
) -> EncodedText:
    """Return the text of lines; faster than :func:`encode_text` of their words."""
    return _stacked(*_sides_of_lines(pairs, text, languages))


def words_of_lines(pairs: Iterable[tuple[str, str]], text: TextSettings) -> BothLineWords | None:
    """Return the words between spaces that the tokens of lines begin in; None where tokens are the words."""
    return line_words_of(*_sides_of_lines(pairs, text))


def _sides_of_lines(
    pairs: Iterable[tuple[str, str]],
    text: TextSettings,
    languages: tuple[str | None, str | None] = (None, None),
) -> tuple[EncodedSide, EncodedSide]:
    pairs, encoders = list(pairs), side_encoders(text, languages)
    for side, encoder in enumerate(encoders):
        encoder.add_lines([pair[side] for pair in pairs])
    return encoders[0].finish(), encoders[1].finish()


def _stacked(source: EncodedSide, target: EncodedSide) -> EncodedText:
    words = line_words_of(source, target)
    source, target, segments = cut_long_pairs(source, target)
    return EncodedText(source, target, segments, make_buckets(source, target), words)


def line_words_of(source: EncodedSide, target: EncodedSide) -> BothLineWords | None:
    """Return the words between spaces that the tokens of a text begin in; None where tokens are the words."""
    if source.line_words is None or target.line_words is None:
        return None
    return LineWords(source.line_words, source.offsets), LineWords(target.line_words, target.offsets)
