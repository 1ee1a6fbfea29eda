"""An encoded text: numbered words, sections of long pairs, buckets of sentence pairs, numbered word pairs.

Axes: N sentence pairs, B pairs of a bucket, T target words, S source words, L links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from nmtalign.arrays import Flags, Floats, positions_in_runs
from nmtalign.corpus.buckets import Bucket, cells_of_buckets, make_buckets
from nmtalign.corpus.regrouping import BothRegroupings, Regrouping
from nmtalign.corpus.sections import Sections, split_long_pairs
from nmtalign.corpus.sides import EncodedSide, WordForms, encode_both_sides, side_encoders
from nmtalign.corpus.word_pairs import WordPairIndex, number_word_pairs
from nmtalign.links.alignments import AlignedBatch
from nmtalign.text.tokenization import Languages, TextSettings


@dataclass(frozen=True, eq=False, repr=False)
class EncodedText:
    """Sentence pairs as arrays."""

    # the sentences of both sides are the sections of the pairs
    source: EncodedSide
    target: EncodedSide
    sections: Sections  # the positions of the sections in their pairs
    buckets: Sequence[Bucket]
    line_words: BothRegroupings | None = None  # from tokens to space-separated words; None: tokens are these
    # links of tokens that an expert gives, with their weights; a pair without links has no expert
    expert_links: AlignedBatch | None = None
    numbered_pairs: WordPairIndex | None = None  # the word pairs, if they are already numbered

    @cached_property
    def word_pairs(self) -> WordPairIndex:
        """The co-occurring word pairs, numbered when they are first needed."""
        if self.numbered_pairs is not None:
            return self.numbered_pairs
        return number_word_pairs(self.buckets, len(self.target.words))

    def with_buckets(self, buckets: Sequence[Bucket]) -> EncodedText:
        """Return the text with other buckets, whose word pairs are not numbered yet."""
        return replace(self, buckets=buckets, numbered_pairs=None)

    def expert_cells(self, k: int) -> tuple[Floats, Flags]:
        """Return the weights of the expert's links in bucket k, (T, S, B), and cells of annotated pairs."""
        assert self.expert_links is not None
        bucket = self.buckets[k]
        pair = self.sections.pair_of_section[bucket.sections]  # (B,)
        first_link = self.expert_links.offsets[pair]  # (B,): row of the first link
        end = self.expert_links.offsets[pair + 1]
        end = np.where(bucket.is_filled, end, first_link)
        link_counts = end - first_link
        # (L,): the pair in the bucket, and the row in the expert's links, of each link
        b = np.repeat(np.arange(len(pair)), link_counts)
        row = first_link[b] + positions_in_runs(link_counts)
        section_start = self.sections.start[:, bucket.sections]  # (2, B)
        s = self.expert_links.source[row] - section_start[0, b]
        t = self.expert_links.target[row] - section_start[1, b]
        inside = (s >= 0) & (s < bucket.source_lengths[b])
        inside &= (t >= 0) & (t < bucket.target_lengths[b])
        weights = np.zeros(bucket.shape, np.float32)
        weights[t[inside], s[inside], b[inside]] = self.expert_links.probability[row[inside]]
        return weights, bucket.inside & (end > first_link)

    @property
    def cell_count(self) -> int:
        """Number of cells of all buckets, which measures the amount of work."""
        return sum(cells_of_buckets(self.buckets))

    def spans(self, max_cells: int) -> Iterator[tuple[int, int]]:
        """Return the spans of consecutive buckets, each with at most about `max_cells` cells."""
        part = np.cumsum(cells_of_buckets(self.buckets), dtype=np.int64) // max_cells
        cuts = np.flatnonzero(np.diff(part)) + 1
        return pairwise([0, *cuts.tolist(), len(self.buckets)])

    def parts(self, max_cells: int) -> Iterator[EncodedText]:
        """Yield texts of consecutive buckets, each with at most about `max_cells` cells."""
        for start, stop in self.spans(max_cells):
            yield self.with_buckets(self.buckets[start:stop])


def encode_text(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> EncodedText:
    """Number the words of sentence pairs, split long pairs, and stack pairs of similar length."""
    return _build_text(*encode_both_sides(pairs))


def encode_lines(
    pairs: Iterable[tuple[str, str]],
    text_settings: TextSettings,
    languages: Languages = (None, None),
    forms: tuple[WordForms, WordForms] | None = None,
) -> EncodedText:
    """Return the text of lines; this is faster than :func:`encode_text` of their words.

    `forms` return the forms in which source and target words are looked up; by default these are the words
    themselves.
    """
    pairs = list(pairs)
    source, target = side_encoders(text_settings, languages)
    source.add_lines([pair[0] for pair in pairs])
    target.add_lines([pair[1] for pair in pairs])
    source_forms, target_forms = forms or (None, None)
    return _build_text(source.finish(source_forms), target.finish(target_forms))


def _build_text(source: EncodedSide, target: EncodedSide) -> EncodedText:
    """Split the long pairs of two sides, and stack pairs of similar length."""
    words = line_words_of(source, target)
    source, target, sections = split_long_pairs(source, target)
    return EncodedText(source, target, sections, make_buckets(source, target), words)


def line_words_of(source: EncodedSide, target: EncodedSide) -> BothRegroupings | None:
    """Return the regroupings from tokens to the words in which they begin; None if tokens are the words."""
    source_words = source.line_word_of_token
    target_words = target.line_word_of_token
    if source_words is None or target_words is None:
        return None
    return (
        Regrouping.into_words(source_words, source.offsets),
        Regrouping.into_words(target_words, target.offsets),
    )
