"""Character n-grams hash as fastText's do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.vectors.subwords import CharacterNgrams, ngram_hashes

words = st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=6)


@given(words=words, shortest=st.integers(0, 4), more=st.integers(0, 3))
def test_hashes_equal_gensims(words: list[str], shortest: int, more: int) -> None:
    from gensim.models.fasttext import ft_ngram_hashes

    longest = shortest + more
    owners, hashes = ngram_hashes(words, shortest, longest)
    for number, word in enumerate(words):
        expected = ft_ngram_hashes(word, shortest, longest, 2**32)
        assert hashes[owners == number].tolist() == expected


@pytest.mark.parametrize("block", [1, 3, 4096])
def test_blocks_do_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmtalign.vectors.subwords._BLOCK", block)
    pieces = CharacterNgrams(np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32), 2, 4)
    many = ["été", "le", "", "maison", "x"]
    alone = np.concatenate([pieces.vectors([word]) for word in many])
    np.testing.assert_array_equal(pieces.vectors(many), alone)
    assert pieces.vectors([]).shape == (0, 5)
