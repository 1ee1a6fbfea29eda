"""Numbered word pairs: against np.unique, in memory and piece by piece."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtalign.corpus import word_pairs as pairs
from nmtalign.corpus.buckets import make_buckets
from nmtalign.corpus.word_pairs import StoredPairNumbers, index_word_pairs, lookup_values, rank_distinct
from tests.corpus.encoded_sides import encode_side

WORD = st.sampled_from("abcdefghij")
SENTENCE = st.lists(WORD, max_size=7) | st.lists(WORD, min_size=17, max_size=18)  # 17 and 18 share buckets


def cell_words(buckets):
    """Source and target word number of every cell, 0 and 0 where padded, each (T, S, B)."""
    for bucket in buckets:
        source, target = np.broadcast_arrays(bucket.source[None], bucket.target[:, None])
        inside = (source > 0) & (target > 0)
        yield source * inside, target * inside


@settings(max_examples=50)
@example([(["a", "a"], []), (["b"], ["x"])], 10, (0, 7), 0)  # the first word meets none
@example([(["a", "b"], ["x"])], pairs.MAX_BUCKET_RUN_CELLS, (0, 1000), 0)  # both meet the same word
@example([(["a", "b"], ["x"])], pairs.MAX_BUCKET_RUN_CELLS, (0, 1000), 1000)
@given(
    st.lists(st.tuples(SENTENCE, SENTENCE), max_size=20),
    st.sampled_from([10, pairs.MAX_BUCKET_RUN_CELLS]),
    st.sampled_from([(0, 7), (0, 1000), (pairs.MAX_SORTED_CELLS, pairs.CELLS_PER_RUN)]),
    st.sampled_from([0, 2, 1000]),  # all runs are sorted, some, none
)
def test_numbers_are_those_of_unique(bitext, piece, few_and_run, keys_per_cell):
    source, target = (encode_side([pair[side] for pair in bitext]) for side in (0, 1))
    buckets = make_buckets(source, target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "MAX_BUCKET_RUN_CELLS", piece)
        patch.setattr(pairs, "MAX_KEYS_PER_CELL", keys_per_cell)
        for name, size in zip(("MAX_SORTED_CELLS", "CELLS_PER_RUN"), few_and_run, strict=True):
            patch.setattr(pairs, name, size)
        word_pairs = index_word_pairs(buckets, source, target)
    meet = {(0, 0)}
    for cells, (s, t) in zip(word_pairs.pair_numbers, cell_words(buckets), strict=True):
        np.testing.assert_array_equal(word_pairs.source[cells], s)
        np.testing.assert_array_equal(word_pairs.target[cells], t)
        meet |= set(zip(s.ravel().tolist(), t.ravel().tolist(), strict=True))
    assert list(zip(word_pairs.source.tolist(), word_pairs.target.tolist(), strict=True)) == sorted(meet)
    assert word_pairs.complete


def test_large_bitexts_keep_the_pairs_that_meet_often(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pairs, "MAX_UNSHARED_CELLS", 0)
    monkeypatch.setattr(pairs, "MAX_BUCKET_RUN_CELLS", 500)
    rng = np.random.default_rng(0)
    sides = [
        encode_side([[f"w{k}" for k in rng.zipf(1.4, rng.integers(0, 9)) % 40] for _ in range(200)])
        for _ in range(2)
    ]
    buckets = make_buckets(*sides)
    word_pairs = index_word_pairs(buckets, *sides)
    meet = {}
    for s, t in cell_words(buckets):
        for pair in zip(s.ravel().tolist(), t.ravel().tolist(), strict=True):
            meet[pair] = meet.get(pair, 0) + 1
    chance = {p: sides[0].counts[p[0]] * sides[1].counts[p[1]] / 200 for p in meet}
    kept = {p for p, n in meet.items() if n > 2 or n >= 3 * chance[p]} | {(0, 0)}
    own = list(zip(word_pairs.source.tolist(), word_pairs.target.tolist(), strict=True))
    assert own[1] == (0, 0)  # the shared number
    assert [own[0], *own[2:]] == sorted(kept)
    assert 10 < len(kept) < len(meet)
    for cells, (s, t) in zip(word_pairs.pair_numbers, cell_words(buckets), strict=True):
        for number, pair in zip(
            cells.ravel().tolist(), zip(s.ravel().tolist(), t.ravel().tolist(), strict=True), strict=True
        ):
            assert number == 1 if pair not in kept else own[number] == pair
    assert not word_pairs.complete


@given(
    st.lists(st.integers(0, 9) | st.integers(0, 2**40), min_size=1, max_size=200),
    st.sampled_from([3, 8, 1 << 17]),
)
def test_distinct_is_unique(keys, part):
    expected = np.unique(keys, return_inverse=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "KEYS_PER_BLOCK", part)
        found = rank_distinct(np.array(keys, dtype=np.int64))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


KEYS = st.integers(0, 40) | st.integers(0, 2**62)


@given(st.dictionaries(KEYS, st.floats(1, 9, width=32), max_size=9), st.lists(KEYS | st.just(-1)))
def test_values_are_looked_up_as_in_a_dictionary(table, wanted):
    keys = np.array(sorted(table), np.int64)
    values = np.array([table[key] for key in keys.tolist()], np.float32)
    found = lookup_values(keys, values, np.array(wanted, np.int64))
    assert found.dtype == np.float32
    assert found.tolist() == [table.get(key, 0) for key in wanted]


def test_two_million_words_a_side_do_not_overflow():
    keys = np.zeros(1 << 21, dtype=np.int64)
    keys[1::2] = 2_000_000 * 2_000_001 + 5  # 2^42, and 22 bits for the place
    found, _ = rank_distinct(keys.copy())
    np.testing.assert_array_equal(found, np.unique(keys))


def test_an_almost_full_disk_is_an_error_that_names_the_temporary_folder():
    resource = pytest.importorskip("resource")
    cells = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    stored = StoredPairNumbers([cells.shape])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))  # so many bytes are taken, the others refused
    try:
        with pytest.raises(OSError, match="too large") as caught:
            stored.write(0, cells)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == tempfile.gettempdir()
    stored.write(0, cells)
    np.testing.assert_array_equal(stored[0], cells)


@given(st.lists(st.integers(0, 2**31 - 1) | st.sampled_from([0, 1, 65_535, 65_536, 65_537])))
def test_the_order_by_counting_is_that_of_comparing(numbers):
    words = np.array(numbers, np.int32)
    np.testing.assert_array_equal(pairs._order_by_counting(words), np.argsort(words, kind="stable"))
