"""Second words: links from one word to several, against loops; what a threshold leaves out."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign
from nmtalign.corpus.text import encode_text
from nmtalign.decoding.decoder import Decoder
from nmtalign.decoding.extraction_methods import (
    DEFAULT_THRESHOLD,
    EXTRACTION_CLASSES,
    MIN_SECOND_POSTERIOR,
    Extraction,
    make_extraction,
    second_word_links,
)
from nmtalign.errors import UsageError
from nmtalign.files.paths import bundled_path
from nmtalign.links.selection import transport
from nmtalign.positions.position_model import Posteriors, PosteriorsAndRatios
from nmtalign.settings import LinkSettings
from nmtalign.state import Stored
from tests.aligner import toy_language
from tests.aligner.toy_language import toy_bitext


@st.composite
def attention(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Links, p(s|t) and p(t|s) of a small pair, with probabilities at and about the limit."""
    T, S = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    values = st.sampled_from([0.0, MIN_SECOND_POSTERIOR, np.nextafter(MIN_SECOND_POSTERIOR, 1), 0.9])
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
            if lonely_target and forward[t, s] > MIN_SECOND_POSTERIOR and {(t - 1, s), (t + 1, s)} & cells:
                found.add((t, s))
            if lonely_source and reverse[t, s] > MIN_SECOND_POSTERIOR and {(t, s - 1), (t, s + 1)} & cells:
                found.add((t, s))
    return found


@given(attention())
def test_second_words_are_those_of_the_rule(case):
    links, forward, reverse = case
    new = second_word_links(links, forward, reverse)
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(new)), strict=True)) == naive(*case)
    assert not (new & links).any()
    np.testing.assert_array_equal(second_word_links(links.T, reverse.T, forward.T), new.T)


@given(attention(), attention())
def test_second_words_of_a_pair_do_not_depend_on_its_bucket(first, second):
    T, S = np.maximum(first[0].shape, second[0].shape)
    padded = [np.zeros((T, S, 2), dtype=part.dtype) for part in first]
    for b, case in enumerate((first, second)):
        for whole, part in zip(padded, case, strict=True):
            whole[: part.shape[0], : part.shape[1], b] = part
    together = second_word_links(*padded)
    for b, case in enumerate((first, second)):
        t, s = case[0].shape
        np.testing.assert_array_equal(together[:t, :s, b], second_word_links(*case))
        assert together[..., b].sum() == second_word_links(*case).sum()


def test_posterior_is_a_threshold_and_second_words(learned):
    text = toy_bitext(200, seed=3).words
    chosen = (
        make_extraction(),
        make_extraction(LinkSettings("posterior")),
        make_extraction(LinkSettings("threshold", DEFAULT_THRESHOLD)),
    )
    whole, named, first = (
        toy_language.links_of(replace(learned, extraction=own).align_batch(text)) for own in chosen
    )
    assert whole == named
    assert all(alone <= both for alone, both in zip(first, whole, strict=True))


@st.composite
def joint_matrix(draw) -> np.ndarray:
    """Joint probabilities of a pair of up to five words a side, many of them equal."""
    T, S = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    values = st.sampled_from([0.0, 0.2, 0.55, 0.6, 0.9])
    return np.array(draw(st.lists(values, min_size=T * S, max_size=T * S))).reshape(T, S)


def everywhere(k: int, ratios: object) -> np.ndarray:
    """Let all cells have links."""
    return np.broadcast_to(True, (99, 99, 999))


def links_of(joint: np.ndarray, extraction: Extraction) -> list[tuple[int, int]]:
    """Decode one pair whose posteriors are all the same matrix."""
    text = encode_text([([f"s{n}" for n in range(joint.shape[1])], [f"t{n}" for n in range(len(joint))])])
    T, S, B = text.buckets[0].shape
    stacked = np.zeros((T, S, B))
    stacked[: len(joint), : joint.shape[1], 0] = joint
    attention = PosteriorsAndRatios(Posteriors(stacked, stacked, stacked), None)
    batch = Decoder(text, lambda k: attention, extraction, everywhere).all_links(1)
    return [tuple(link) for link in batch.links(0)]


@given(joint_matrix(), st.sampled_from([None, 0.2, 0.6]))
def test_one_to_one_links_are_the_best_of_both_words(joint, threshold):
    T, S = joint.shape
    worth = {
        (s, t): (joint[t, s], -abs((2 * s + 1) * T - (2 * t + 1) * S), -s, -t)
        for t in range(T)
        for s in range(S)
    }
    best = {
        max((cell for cell in worth if cell[side] == n), key=worth.__getitem__)
        for side, words in enumerate((S, T))
        for n in range(words)
    }
    wanted = {
        cell
        for cell in best
        if worth[cell][0] >= (DEFAULT_THRESHOLD if threshold is None else threshold)
        and all(
            worth[cell] >= worth[other] for other in worth if (other[0] == cell[0]) != (other[1] == cell[1])
        )
    }
    assert set(links_of(joint, make_extraction(LinkSettings("one-to-one", threshold)))) == wanted


WITH_ONE_LINK = [name for name, method in EXTRACTION_CLASSES.items() if any(method().one_link)]


def assert_no_word_has_two_links(links, method):
    for side, has_one_link in enumerate(EXTRACTION_CLASSES[method]().one_link):
        words = [link[side] for link in links]
        assert not has_one_link or len(set(words)) == len(words)


@pytest.mark.parametrize("method", WITH_ONE_LINK)
@pytest.mark.parametrize("words", [30, 600])  # one piece, and many that overlap
def test_no_word_has_two_links(method, words):
    random = np.random.default_rng(words)
    pair = [" ".join(random.choice(["the", "cat", "house", "sleeps"], words)), ""]
    pair[1] = " ".join(random.choice(["le", "la", "chat", "maison", "dort"], words))
    aligner = nmtalign.load(extract=method, threshold=0.05, tokenizer="space")
    links = aligner.align_batch([tuple(pair), ("the cat", "le chat")])
    assert len(links.links(0)) > words / 10
    assert_no_word_has_two_links(links.links(0), method)
    assert len(links.links(1)) == 2


def test_methods_that_promise_one_link_are_known():
    assert WITH_ONE_LINK == ["one-to-one", "argmax", "argmax-reverse", "mutual", "match"]
    assert make_extraction(LinkSettings(symmetrize="intersection")).one_link == (True, True)
    assert make_extraction(LinkSettings(symmetrize="union")).one_link == (False, False)


RAW_LINES = [
    ("The dog's house isn't big, is it?", "L'accord n'est-ce pas la maison d'un chien, qu'est-ce?"),
    ("(The black cat) sleeps.", "« Le chat noir » dort."),
]


@pytest.mark.parametrize("method", WITH_ONE_LINK)
def test_a_word_of_several_tokens_has_one_link(method):
    """Links of tokens become links of words, and the promise of the method holds for these."""
    batch = nmtalign.load(extract=method, threshold=None).align_batch(RAW_LINES)
    for n, pair in enumerate(batch):
        assert batch.links(n)
        assert pair.links == batch.links(n)
        assert_no_word_has_two_links(batch.links(n), method)
    tokens = nmtalign.load(extract=method).align_batch(RAW_LINES, count="tokens")
    words_of_tokens = sum(map(len, map(tokens.links, range(2)))), sum(map(len, map(batch.links, range(2))))
    assert words_of_tokens[0] > words_of_tokens[1]


@pytest.mark.parametrize("method", ["posterior", "threshold"])
def test_a_cell_of_probability_0_is_no_link_at_any_threshold(method):
    joint = np.array([[0.9, 0.0], [0.0, 1e-6]], np.float32)
    assert links_of(joint, make_extraction(LinkSettings(method, threshold=5e-324))) == [(0, 0), (1, 1)]


@pytest.mark.parametrize(("threshold", "links"), [(0.12, 4), (0.14, 2), (0.86, 2), (0.88, 0)])
def test_the_threshold_of_transport_is_one_of_the_plan_and_not_of_posteriors(threshold, links):
    """The plan shares each word in the ratio exp(0.2 / 0.1) to exp(0.01 / 0.1): 0.870 to 0.130."""
    joint = np.array([[0.2, 0.01], [0.01, 0.2]])
    assert len(links_of(joint, make_extraction(LinkSettings("transport", threshold=threshold)))) == links


def test_the_default_threshold_of_transport_is_that_of_the_function():
    joint = np.random.default_rng(1).random((6, 5))
    pair = nmtalign.load(extract="transport").align("the black cat", "le chat noir")
    assert pair.threshold == inspect.signature(transport).parameters["threshold"].default == 0.5
    chosen = links_of(joint, make_extraction(LinkSettings("transport")))
    assert chosen == links_of(joint, make_extraction(LinkSettings("transport", threshold=0.5)))
    assert chosen != links_of(joint, make_extraction(LinkSettings("transport", threshold=0.4)))


def test_the_shipped_model_finds_both_words_of_a_unit():
    sentences = "The measures were adopted yesterday.", "Les mesures ont été adoptées hier."
    pair, alone = (nmtalign.load(threshold=least).align(*sentences) for least in (None, DEFAULT_THRESHOLD))
    assert "extract=posterior threshold=0.55 second=0.3" in pair.description
    assert "extract=posterior threshold=0.55 second=none" in alone.description
    (second,) = set(pair.links) - set(alone.links)
    assert second == (2, 2)  # were - ont, beside were - été
    assert set(alone.links) < set(pair.links)
    assert pair.probabilities[second] == pytest.approx(pair.posterior[2, 2])
    assert MIN_SECOND_POSTERIOR < pair.probabilities[second] < DEFAULT_THRESHOLD


def test_a_threshold_is_the_least_probability_so_that_there_are_no_second_words():
    joint = np.array([[0.9, 0.0], [0.4, 0.0], [0.0, 0.5]])
    assert links_of(joint, make_extraction(LinkSettings("posterior"))) == [(0, 0), (0, 1)]
    assert links_of(joint, make_extraction(LinkSettings("posterior", threshold=0.45))) == [(0, 0), (1, 2)]
    assert make_extraction(LinkSettings(threshold=0.4)) == make_extraction(
        LinkSettings("posterior", threshold=0.4)
    )


@pytest.mark.parametrize("threshold", [7, -1, 0, 0.0, 1.01, np.nan, np.inf, "0.5"])
def test_a_threshold_that_is_no_probability_is_refused(threshold):
    fitting = [5e-324, 0.5, np.float32(1), None]
    assert [LinkSettings(threshold=least).threshold for least in fitting] == fitting
    meta = {"name": "argmax", "parameters": {"threshold": threshold}}
    stored = Stored(Path(), meta, {}, {}, Path)
    for make in (lambda: LinkSettings(threshold=threshold), lambda: Extraction.from_state(stored)):
        with pytest.raises(UsageError, match=f"above 0 and at most 1, found {threshold!r}"):
            make()


@pytest.mark.parametrize(("word", "linked"), [("z", True), ("3.", True), (";", False), ("«»", False)])
def test_signs_are_no_second_words(word, linked):
    text = encode_text([(["a", "b"], ["x", word, "y"])])
    joint = np.array([[0.9, 0.0], [0.4, 0.0], [0.0, 0.9]])[..., None]
    attention = PosteriorsAndRatios(Posteriors(joint, joint, joint), None)
    found = Decoder(
        text, lambda k: attention, make_extraction(LinkSettings("posterior")), everywhere
    ).all_links(1)
    assert found.links(0) == [(0, 0), *([(0, 1)] if linked else []), (1, 2)]
    alone = Decoder(
        text, lambda k: attention, make_extraction(LinkSettings("posterior", DEFAULT_THRESHOLD)), everywhere
    ).all_links(1)
    assert alone.links(0) == [(0, 0), (1, 2)]


WORDS = [
    ("the black cat sat on the mat", "le chat noir"),
    ("zzz yyy", "qqq"),
    ("a zzz", "un qqq rrr"),
    ("", "x"),
]
LONG = [("the black cat " * 100, "le chat noir " * 110), ("zzz yyy " * 150, "qqq " * 280)]


@pytest.mark.parametrize("unit", ["words", "tokens"])
def test_every_word_of_a_pair_with_words_on_both_sides_has_a_link(unit):
    aligner = nmtalign.load(extract="every-word")
    batch = aligner.align_batch(WORDS + LONG, count=unit)
    for n, (source, target) in enumerate(WORDS + LONG):
        links = batch.links(n)
        is_linkable = bool(source and target)
        for side, line in enumerate((source, target)):
            assert {link[side] for link in links} == set(range(len(line.split()) if is_linkable else 0))


def test_words_without_a_link_get_their_best_partner():
    sides = (bundled_path("en_fr_sample") / f"text.tok.{side}" for side in ("en", "fr"))
    pairs = list(nmtalign.read_bitext(*sides))[:100]
    found = {}
    for method in ("posterior", "every-word", "argmax", "argmax-reverse"):
        batch = nmtalign.load(extract=method).align_batch(pairs)
        found[method] = [set(batch.links(n)) for n in range(len(pairs))]
    added = 0
    for posterior, every, forward, reverse in zip(*found.values(), strict=True):
        linked = [{link[side] for link in posterior} for side in (0, 1)]
        partners = {link for link in forward if link[1] not in linked[1]}
        partners |= {link for link in reverse if link[0] not in linked[0]}
        assert every == posterior | partners
        added += len(partners)
    assert added > 100
