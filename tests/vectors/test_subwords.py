"""Words are composed of their character n-grams as gensim composes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.vectors.subwords import CharacterNgrams

words = st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=6)


@given(words=words, shortest=st.integers(0, 4), more=st.integers(0, 3))
def test_vectors_equal_gensims(words: list[str], shortest: int, more: int) -> None:
    from gensim.models.fasttext import FastTextKeyedVectors

    theirs = FastTextKeyedVectors(5, shortest, shortest + more, 40)
    theirs.vectors_ngrams = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    ours = CharacterNgrams(theirs.vectors_ngrams, shortest, shortest + more)
    for word, vector in zip(words, ours.vectors(words), strict=True):
        np.testing.assert_array_equal(vector, theirs.get_vector(word))


@pytest.mark.parametrize("block", [1, 3, 4096])
def test_blocks_do_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmtalign.vectors.subwords._BLOCK", block)
    pieces = CharacterNgrams(np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32), 2, 4)
    many = ["été", "le", "", "maison", "x", "\ud800"]
    alone = np.concatenate([pieces.vectors([word]) for word in many])
    np.testing.assert_array_equal(pieces.vectors(many), alone)
    assert pieces.vectors([]).shape == (0, 5)


def test_without_buckets_a_word_has_its_own_vector_or_none() -> None:
    none = CharacterNgrams(np.zeros((0, 3), np.float32), 3, 6)
    np.testing.assert_array_equal(none.complete(["le"], np.ones((1, 3))), np.ones((1, 3)))
    assert not none.vectors(["le"]).any()
