"""Words and their rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.errors import DataError
from nmtalign.vectors.embeddings import Vocabulary


@given(st.lists(st.text(), unique=True), st.lists(st.text()))
def test_rows_are_positions_in_the_list(words, others):
    vocabulary = Vocabulary.from_words(words)
    expected = [words.index(word) if word in words else -1 for word in words + others]
    np.testing.assert_array_equal(vocabulary.rows(words + others), expected)
    assert vocabulary.rows(words).dtype == np.int32
    assert vocabulary.words == words == list(vocabulary)
    assert len(vocabulary) == vocabulary.size == len(words)
    assert vocabulary == Vocabulary({word: row for row, word in enumerate(words)})


def test_rows_may_be_left_out():
    vocabulary = Vocabulary({"b": 7, "a": np.int64(2)})
    assert vocabulary.words == ["a", "b"]
    assert (vocabulary.size, len(vocabulary), vocabulary.rows(["a", "c"]).tolist()) == (8, 2, [2, -1])
    assert "a" in vocabulary
    assert "c" not in vocabulary


@pytest.mark.parametrize(
    ("word2int", "message"),
    [
        ({"a": 1, "b": 1}, "'a' and 'b' share row 1"),
        ({"a": -1}, "row of 'a' is -1"),
        ({"a": 2**31}, "rows count from 0"),
        ({"a": 1.0}, "integer as the row of 'a', found 1.0"),
        ({"a": True}, "integer"),
        ({3: 1}, "words as text, found int 3"),
    ],
)
def test_bad_dictionaries_are_refused(word2int, message):
    with pytest.raises(DataError, match=message):
        Vocabulary(word2int)


def test_a_word_that_comes_twice_is_refused():
    with pytest.raises(DataError, match="'a' is in row 0 and again in row 2"):
        Vocabulary.from_words(["a", "b", "a"])
