"""A bitext in chunks: every pair once, in order, with its number."""

from __future__ import annotations

import numpy as np
import pytest

from nmtalign.aligner.opening import vector_aligner
from nmtalign.corpus import units
from nmtalign.errors import DataError
from nmtalign.run.stream import align_chunks
from nmtalign.text import chunks, tokenization
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import iter_chunks
from nmtalign.vectors.embeddings import Embeddings, Vocabulary

WORDS = ["a", "b", "c"]
SIDE = Embeddings(Vocabulary.from_words(WORDS), np.eye(3))
ALIGNER = vector_aligner(SIDE, SIDE)
PAIRS = [SentencePair(line, line) for line in ("a", "", "b c", "A  b", "c a b", "", "b")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_every_pair_stands_in_one_chunk_with_its_number(size):
    aligned = list(align_chunks(ALIGNER, iter_chunks(iter(PAIRS), chunk_size=size), workers=1))
    assert [pair for chunk in aligned for pair in chunk.lines] == PAIRS
    assert [chunk.first for chunk in aligned] == list(range(0, len(PAIRS), size))
    assert all(len(chunk.batch) == len(chunk.lines) <= size for chunk in aligned)
    links = [chunk.batch.links(n) for chunk in aligned for n in range(len(chunk.batch))]
    assert [len(found) for found in links] == [1, 0, 2, 2, 3, 0, 1]


def test_long_lines_make_small_chunks(monkeypatch):
    monkeypatch.setattr("nmtalign.text.chunks.MAX_CHUNK_CHARS", 3)
    assert [len(chunk.lines) for chunk in align_chunks(ALIGNER, iter_chunks(PAIRS), workers=1)] == [
        3,
        1,
        1,
        2,
    ]


def test_pairs_are_read_as_they_are_needed():
    def endless():
        while True:
            yield PAIRS[0]

    assert next(align_chunks(ALIGNER, iter_chunks(endless(), chunk_size=5), workers=1)).first == 0


def test_tokens_are_those_that_the_links_count():
    plain, spaced = (
        next(align_chunks(ALIGNER, iter_chunks(PAIRS), workers=1, unit=unit))
        for unit in (units.TOKENS, units.WORDS)
    )
    assert plain.linked_strings() == spaced.linked_strings()
    assert plain.linked_strings()[0][3] == ["A", "b"]
    assert plain.coverage.source.known == 9


def test_a_pair_of_too_many_words_is_refused_with_its_place(monkeypatch):
    monkeypatch.setattr(chunks, "MAX_WORDS_PER_SIDE", 100)
    pairs = [SentencePair("a", "b"), SentencePair("a " * 101, "b")]
    with pytest.raises(DataError, match=r"^a and b, pair 2: expected at most 100 words a side, found 101"):
        list(chunks.LengthLimit(None, ("a", "b")).pairs(pairs, tokenization.SPACE_SETTINGS))
    bound = chunks.LengthLimit(1000)
    assert [pair.source for pair in bound.pairs(pairs, tokenization.SPACE_SETTINGS)] == ["a", ""]
    # the bound of memory is lower
    assert bound.closing_clause() == ", 1 pair with more than 100 tokens skipped"
