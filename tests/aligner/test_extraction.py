"""Second words: links from one word to several, against loops; what a threshold leaves out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign
from nmtalign.aligner.decoding import Decoder
from nmtalign.aligner.extraction import SECOND, THRESHOLD, Extraction, grown
from nmtalign.corpus.text import encode_text
from nmtalign.errors import UsageError
from nmtalign.positions.model import BucketPosteriors, Posteriors
from tests.aligner.toy_language import toy_bitext


@st.composite
def attention(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Links, p(s|t) and p(t|s) of a small pair, with probabilities at and about the limit."""
    T, S = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    values = st.sampled_from([0.0, SECOND, np.nextafter(SECOND, 1), 0.9])
    cells = draw(st.lists(st.tuples(st.booleans(), values, values), min_size=T * S, max_size=T * S))
    columns = zip(*cells, strict=True) if cells else ([], [], [])
    links, forward, reverse = (np.array(list(column)).reshape(T, S) for column in columns)
    return links.astype(bool), forward, reverse


def naive(links, forward, reverse) -> set[tuple[int, int]]:
    """Go over target and source words one by one."""
    T, S = links.shape
    cells = {(t, s) for t in range(T) for s in range(S) if links[t, s]}
    found = set()
    for t in range(T):
        for s in range(S):
            lonely_target = all((t, k) not in cells for k in range(S))
            lonely_source = all((k, s) not in cells for k in range(T))
            if lonely_target and forward[t, s] > SECOND and {(t - 1, s), (t + 1, s)} & cells:
                found.add((t, s))
            if lonely_source and reverse[t, s] > SECOND and {(t, s - 1), (t, s + 1)} & cells:
                found.add((t, s))
    return found


@given(attention())
def test_second_words_are_those_of_the_rule(case):
    links, forward, reverse = case
    new = grown(links, forward, reverse)
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(new)), strict=True)) == naive(*case)
    assert not (new & links).any()
    np.testing.assert_array_equal(grown(links.T, reverse.T, forward.T), new.T)


@given(attention(), attention())
def test_second_words_of_a_pair_do_not_depend_on_its_bucket(first, second):
    T, S = np.maximum(first[0].shape, second[0].shape)
    padded = [np.zeros((T, S, 2), dtype=part.dtype) for part in first]
    for b, case in enumerate((first, second)):
        for whole, part in zip(padded, case, strict=True):
            whole[: part.shape[0], : part.shape[1], b] = part
    together = grown(*padded)
    for b, case in enumerate((first, second)):
        t, s = case[0].shape
        np.testing.assert_array_equal(together[:t, :s, b], grown(*case))
        assert together[..., b].sum() == grown(*case).sum()


def test_posterior_is_one_to_one_and_second_words(learned):
    text = toy_bitext(200, seed=3).words
    links = {
        method: [set(found) for found in replace(learned, extraction=Extraction(method)).align_batch(text)]
        for method in (None, "posterior", "one-to-one")
    }
    assert links[None] == links["posterior"]
    assert all(first <= both for first, both in zip(links["one-to-one"], links[None], strict=True))


def test_the_shipped_model_finds_both_words_of_a_unit():
    sentences = "The measures were adopted yesterday.", "Les mesures ont été adoptées hier."
    pair, alone = (nmtalign.load(extract=extract).align(*sentences) for extract in (None, "one-to-one"))
    (second,) = set(pair.links) - set(alone.links)
    assert second == (2, 2)  # were - ont, beside were - été
    assert set(alone.links) < set(pair.links)
    assert pair.probabilities[second] == pytest.approx(pair.posterior[2, 2])
    assert SECOND < pair.probabilities[second] < THRESHOLD


def test_a_threshold_is_the_least_probability_so_that_there_are_no_second_words(learned):
    wanted = Extraction("posterior", threshold=0.4).resolved(null=True)
    assert wanted == Extraction("one-to-one", threshold=0.4) == wanted.resolved(null=True)
    assert str(Extraction("posterior")) == "extract=posterior threshold=0.55"


@pytest.mark.parametrize("threshold", [7, -1, 1.01, np.nan, np.inf, "0.5"])
def test_a_threshold_that_is_no_probability_is_refused(threshold):
    fitting = [0, 0.5, np.float32(1), None]
    assert [Extraction(threshold=least).threshold for least in fitting] == fitting
    with pytest.raises(UsageError, match=f"expected a threshold from 0 to 1, found {threshold!r}"):
        Extraction(threshold=threshold)


@pytest.mark.parametrize(("word", "linked"), [("z", True), ("3.", True), (";", False), ("«»", False)])
def test_signs_are_no_second_words(word, linked):
    text = encode_text([(["a", "b"], ["x", word, "y"])])
    joint = np.array([[0.9, 0.0], [0.4, 0.0], [0.0, 0.9]])[..., None]
    attention = BucketPosteriors(Posteriors(joint, joint, joint), None)
    found = Decoder(text, lambda k: attention, Extraction("posterior")).align(1)
    assert found.links(0) == [(0, 0), *([(0, 1)] if linked else []), (1, 2)]
    alone = Decoder(text, lambda k: attention, Extraction("one-to-one")).align(1)
    assert alone.links(0) == [(0, 0), (1, 2)]
