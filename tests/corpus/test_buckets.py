"""A bitext as arrays: numbers of words, buckets of like length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtalign.corpus import buckets as corpus
from nmtalign.corpus.buckets import COLUMN_MULTIPLE, LONG_COLUMN_MULTIPLE, MIN_LONG_WORDS, make_buckets
from tests.corpus.encoded_sides import encode_side

WORDS = st.sampled_from(["a", "b", "c", "", "\x00", "\u2028", "\x85", "\r", "é", "e\u0301", "𝔘"])
SENTENCES = st.lists(st.lists(WORDS, max_size=12), max_size=12)


def sentence(side, n: int) -> list[str]:
    return [side.words[k] for k in side.tokens[side.offsets[n] : side.offsets[n + 1]]]


@given(SENTENCES)
def test_numbers_spell_the_sentences(sentences):
    side = encode_side(sentences)
    assert [sentence(side, n) for n in range(len(sentences))] == sentences
    assert side.lengths.tolist() == [len(words) for words in sentences]
    assert side.tokens.dtype == np.int32
    assert (side.tokens >= 1).all()


@given(SENTENCES)
def test_words_are_numbered_by_frequency_then_by_first_place(sentences):
    side = encode_side(sentences)
    flat = [word for words in sentences for word in words]
    expected = sorted(set(flat), key=lambda word: (-flat.count(word), flat.index(word)))
    assert side.words == ["", *expected]
    assert side.counts.tolist() == [0, *(flat.count(word) for word in expected)]


def test_long_texts_are_numbered_in_parts():
    sentences = [[f"w{(7 * n + k) % 1000}" for k in range(100)] for n in range(6000)]  # 600,000 words
    side = encode_side(sentences)
    assert len(side.tokens) == 600_000
    assert sentence(side, 0) == sentences[0]
    assert sentence(side, 5999) == sentences[5999]


def sides(lengths):
    """A bitext of such lengths in which each word tells where it stands."""
    return tuple(
        encode_side([[f"{n}.{k}" for k in range(pair[side])] for n, pair in enumerate(lengths)])
        for side in (0, 1)
    )


@given(st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), max_size=60))
def test_each_pair_with_words_stands_in_one_column(lengths):
    source, target = sides(lengths)
    seen = []
    for bucket in make_buckets(source, target):
        T, S, B = bucket.shape
        assert B % (COLUMN_MULTIPLE if max(S, T) < MIN_LONG_WORDS else LONG_COLUMN_MULTIPLE) == 0
        for longest, height in ((bucket.source_lengths.max(), S), (bucket.target_lengths.max(), T)):
            assert longest <= height <= longest * 9 / 8 + 1
        for column, n in enumerate(bucket.sections.tolist()):
            for side, words, length in (
                (source, bucket.source, bucket.source_lengths[column]),
                (target, bucket.target, bucket.target_lengths[column]),
            ):
                expected = sentence(side, n) if n >= 0 else []
                assert [side.words[k] for k in words[:length, column]] == expected
                assert (words[length:, column] == 0).all()
        seen += [n for n in bucket.sections.tolist() if n >= 0]
    assert sorted(seen) == [n for n, (s, t) in enumerate(lengths) if s and t]


@given(st.lists(st.tuples(st.integers(1, 80), st.integers(1, 500)), min_size=1, max_size=12))
@example([(1, 241), (1, 241), (2, 241)])  # two buckets, of which one has no sentence of two words
def test_padding_is_at_most_a_half_and_of_long_sentences_their_own(lengths):
    source, target = sides(lengths)
    for bucket in make_buckets(source, target):
        columns = bucket.filled_columns
        for own, height in (
            (bucket.source_lengths[columns], len(bucket.source)),
            (bucket.target_lengths[columns], len(bucket.target)),
        ):
            if height < MIN_LONG_WORDS:
                assert own.max() == height <= own.min() + max(1, own.min() // 2)
            else:
                assert height <= own.min() * 9 / 8
        for n in bucket.sections[columns]:
            (alone,) = make_buckets(*sides([(source.lengths[n], target.lengths[n])]))
            for found, height in zip(bucket.shape[:2], alone.shape[:2], strict=True):
                assert found == height or found < MIN_LONG_WORDS


def test_many_pairs_of_like_length_are_padded_little():
    random = np.random.default_rng(0)
    lengths = random.integers(8, 30, (20_000, 2))
    buckets = make_buckets(*sides(lengths.tolist()))
    assert sum(bucket.cell_count for bucket in buckets) < 1.15 * lengths.prod(axis=1).sum()


def test_buckets_are_cut_to_size(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpus, "MAX_BUCKET_CELLS", 5 * 6 * 32)
    buckets = make_buckets(*sides([(5, 5)] * 100))
    shapes = [bucket.shape for bucket in buckets]
    assert shapes == [(5, 5, 32), (5, 5, 32), (5, 5, 32), (5, 5, COLUMN_MULTIPLE)]
    np.testing.assert_array_equal(buckets[3].sections[:5], [96, 97, 98, 99, -1])


def test_pairs_with_an_empty_side_are_left_out():
    buckets = make_buckets(*sides([(3, 2), (0, 2), (1, 1), (4, 0)]))
    assert sorted(bucket.sections[bucket.is_filled].tolist() for bucket in buckets) == [[0], [2]]


def test_nothing():
    assert make_buckets(*sides([])) == []
    assert make_buckets(*sides([(0, 3), (2, 0)])) == []
