"""The annotators' style for words without a partner: counts against loops, what it adds to the links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.aligner.aligner import load_aligner
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus.text import encode_text
from nmtalign.errors import DataError
from nmtalign.links.formats import parse_gold
from nmtalign.links.selection import DEFAULT_THRESHOLD
from nmtalign.rescoring.network import MAX_WEIGHTED_WORDS
from nmtalign.rescoring.rescorer import (
    FREE_WORD_KINDS,
    PRIOR_OCCURRENCES,
    PRIOR_SHARE,
    PRIOR_WORDS,
    AnnotationStyle,
    free_words,
    with_style,
)
from tests.aligner.toy_language import training_job


def one_bucket(lengths: list[tuple[int, int]]):
    """A bucket of pairs of these lengths, and places of its words: every other word is frequent."""
    text = encode_text([([f"s{k}" for k in range(S)], [f"t{k}" for k in range(T)]) for S, T in lengths])
    (bucket,) = text.buckets
    sizes = len(text.source.words), len(text.target.words)
    return bucket, tuple(np.arange(size) % 2 * np.arange(size) for size in sizes)


def naive(links: np.ndarray, S: int, T: int) -> list[set[tuple[int, int]]]:
    """Go over the words of a pair one by one."""
    found: list[set[tuple[int, int]]] = [set() for _ in range(FREE_WORD_KINDS)]
    for t in range(T):
        for s in range(S):
            if not links[t, :S].any():
                for kind, other in enumerate((t - 1, t + 1)):
                    if 0 <= other < T and links[other, s]:
                        found[kind].add((t, s))
            if not links[:T, s].any():
                for kind, other in enumerate((s - 1, s + 1), 2):
                    if 0 <= other < S and links[t, other]:
                        found[kind].add((t, s))
    return found


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3), st.integers(0, 99))
def test_free_words_are_those_beside_a_link(lengths, seed):
    lengths = [lengths[0]] * len(lengths)  # one bucket
    bucket, places = one_bucket(lengths)
    joint = np.random.default_rng(seed).choice([0.1, DEFAULT_THRESHOLD, 0.9], bucket.shape, p=[0.7, 0.1, 0.2])
    joint = joint.astype(np.float64) * bucket.inside
    (S, T), found = lengths[0], list(free_words(joint, bucket, places))
    assert len(found) == FREE_WORD_KINDS
    for b in bucket.filled_columns:
        for (cells, _), expected in zip(found, naive(joint[..., b] >= DEFAULT_THRESHOLD, S, T), strict=True):
            assert set(zip(*map(np.ndarray.tolist, np.nonzero(cells[..., b])), strict=True)) == expected
        for kind, (_, place) in enumerate(found):
            for t in range(T):
                for s in range(S):
                    word = bucket.target[t, b] if kind < 2 else bucket.source[s, b]
                    assert place[t, s, b] == places[1 if kind < 2 else 0][word]
    assert not any((cells & ~bucket.inside).any() for cells, _ in found)


def test_shares_are_counts_with_a_prior():
    bucket, _ = one_bucket([(2, 2)])
    places = np.array([0, 0, 0]), np.array([0, 7, 0])  # the first target word is frequent
    joint = np.zeros(bucket.shape)
    joint[1, 0, 0] = 0.9  # the first target word and the second source word are free
    none, style = np.zeros(bucket.shape, bool), AnnotationStyle()
    sure, possible = none.copy(), none.copy()
    sure[0, 0, 0] = possible[0, 0, 0] = True  # the target word before the linked one
    for _ in range(3):
        style.add(joint, bucket, places, sure, possible)
    style.add(joint, bucket, places, none, possible)  # possible and not sure: tells nothing of it
    style.add(joint, bucket, places, none, none)
    shares = style.shares()
    assert shares.shape == (FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1)
    of_frequent = (3 + PRIOR_WORDS * PRIOR_SHARE) / (4 + PRIOR_WORDS)
    assert shares[1, 1] == pytest.approx(of_frequent)
    assert shares[1, 7] == pytest.approx((3 + PRIOR_OCCURRENCES * of_frequent) / (4 + PRIOR_OCCURRENCES))
    assert shares[1, 0] == shares[0, 0] == pytest.approx(PRIOR_SHARE)
    assert shares[2, 0] == pytest.approx(PRIOR_WORDS * PRIOR_SHARE / (5 + PRIOR_WORDS))  # never linked


def test_what_the_style_asks_for_becomes_a_link():
    bucket, _ = one_bucket([(2, 2)])
    places = np.zeros(3, int), np.zeros(3, int)
    joint = np.full(bucket.shape, 0.1, np.float32)
    joint[1, 0, 0] = 0.9
    shares = np.zeros((FREE_WORD_KINDS, MAX_WEIGHTED_WORDS + 1), np.float32)
    np.testing.assert_array_equal(with_style(joint, shares, bucket, places), joint)
    shares[1, 0] = 0.5  # below the threshold
    np.testing.assert_array_equal(with_style(joint, shares, bucket, places), joint)
    shares[1, 0] = 0.7
    expected = joint.copy()
    expected[0, 0, 0] = 0.7
    np.testing.assert_array_equal(with_style(joint, shares, bucket, places), expected)


@pytest.mark.parametrize("share", [-0.1, 1.5, np.nan])
def test_stored_shares_are_from_0_to_1(share, tmp_path):
    aligner = train_aligner(
        [("a b", "x y")] * 60, training_job(gold=[parse_gold("0-0 1-1")] * 60, workers=1)
    ).aligner
    positions = aligner.positions
    style = positions.style.copy()
    style[0, 3] = share
    replace(aligner, positions=replace(positions, style=style)).save(tmp_path / "model")
    with pytest.raises(DataError, match=r"positions\.style: expected"):
        load_aligner(tmp_path / "model")
