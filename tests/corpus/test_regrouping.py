"""Links, values and pairs in another unit, against loops in plain Python and values worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign.corpus.regrouping import (
    Regrouping,
    into_pieces,
    of_sentence,
    regroup_batch,
    regroup_gold,
    regroup_links,
    regroup_pair,
    regroup_values,
    share_links,
)
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    GoldAlignment,
    Link,
)
from nmtalign.links.selection import ANY_LINKS
from nmtalign.text.subwords import PieceLine
from tests.corpus.naive_units import naive_links, naive_values

PAIR = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=12, unique_by=lambda x: x[:2]
)
NUMBERS = st.lists(st.integers(0, 300), min_size=6, max_size=6).map(sorted)
SIX_WORDS = st.lists(st.integers(0, 5), min_size=6, max_size=6).map(sorted)
# the first piece of six words, and the ends of their pieces: both ascend, and a word may have no piece
PIECES = st.tuples(SIX_WORDS, SIX_WORDS).map(
    lambda both: PieceLine(list("abcdef"), both[0], [max(own) for own in zip(*both, strict=True)])
)
PAIR_OF_PIECES = st.tuples(PIECES, PIECES)
REGROUPED = st.lists(st.tuples(PAIR, PAIR_OF_PIECES), max_size=5)


def overlaps(line: PieceLine) -> list[list[int]]:
    return [list(range(*ends)) for ends in zip(line.first, line.stop, strict=True)]


def batch_of(pairs) -> AlignedBatch:
    """Return a batch of links with tenths as their probabilities."""
    rows = [sorted(links) for links in pairs]
    flat = np.array([link for row in rows for link in row], dtype=np.int32).reshape(-1, 3)
    offsets = np.cumsum([0, *map(len, rows)])
    probability = (flat[:, 2] / 10).astype(np.float32)
    return AlignedBatch(offsets, flat[:, 0], flat[:, 1], probability, np.arange(len(pairs), dtype=float))


@given(REGROUPED)
def test_links_of_a_batch_are_the_images_of_its_links(pairs):
    batch = batch_of([links for links, _ in pairs])
    found = regroup_batch(batch, into_pieces([lines for _, lines in pairs]), one_link=ANY_LINKS)
    assert_array_equal(found.scores, batch.scores)
    for n, (links, lines) in enumerate(pairs):
        tenths = {(s, t): float(np.float32(tenth / 10)) for s, t, tenth in links}
        expected = naive_links(tenths, *map(overlaps, lines))
        probability = found.probability[found.offsets[n] : found.offsets[n + 1]].tolist()
        assert [tuple(link) for link in found.links(n)] == sorted(expected)
        assert probability == [expected[link] for link in sorted(expected)]
        assert regroup_links(tenths, into_pieces([lines])) == set(expected)


@given(REGROUPED, st.sampled_from([(True, True), (True, False), (False, True)]))
def test_of_the_links_of_a_new_unit_the_most_probable_remains(pairs, one_link):
    """Ties go to the link nearest to the diagonal, and then to the lower positions."""
    batch = batch_of([links for links, _ in pairs])
    regroupings = into_pieces([lines for _, lines in pairs])
    everything = regroup_batch(batch, regroupings, one_link=ANY_LINKS)
    found = regroup_batch(batch, regroupings, one_link=one_link)
    assert_array_equal(found.scores, batch.scores)
    for n, (_, lines) in enumerate(pairs):
        S, T = (max(line.stop) for line in lines)
        rows = slice(everything.offsets[n], everything.offsets[n + 1])
        probability = dict(zip(everything.links(n), everything.probability[rows].tolist(), strict=True))

        def rank(link, S=S, T=T, probability=probability):
            distance = abs((2 * link.source + 1) * T - (2 * link.target + 1) * S)
            return -probability[link], distance, link

        best = set(probability)
        for side in (0, 1):
            if one_link[side]:
                best &= {
                    min((link for link in probability if link[side] == unit), key=rank)
                    for unit in {link[side] for link in probability}
                }
        assert found.links(n) == sorted(best)
        kept = slice(found.offsets[n], found.offsets[n + 1])
        assert found.probability[kept].tolist() == [probability[link] for link in sorted(best)]
        words = tuple("abcdef"), tuple("abcdef")
        matrix = AlignmentMatrix(np.zeros((6, 6)), *words)
        in_order = slice(batch.offsets[n], batch.offsets[n + 1])
        given_links = dict(zip(batch.links(n), batch.probability[in_order].tolist(), strict=True))
        alone = AlignedPair(Alignment(frozenset(given_links), 6, 6), matrix, None, None, given_links)
        pieces = tuple("p" * S), tuple("p" * T)
        regrouped = regroup_pair(alone, of_sentence(regroupings, n), pieces, one_link=one_link)
        assert regrouped.links == found.links(n)
        assert regrouped.probabilities == {link: probability[link] for link in best}


@given(PAIR_OF_PIECES, st.sampled_from(["scores", "forward", "reverse", "combined"]), st.booleans())
def test_values_are_bit_identical_to_those_of_loops(lines, values, single):
    weights = np.linspace(-1, 1, 36).reshape(6, 6) ** 3 / 3
    weights = weights.astype(np.float32 if single else np.float64)
    found = regroup_values(values, weights, into_pieces([lines]), (6, 6))
    expected = naive_values(values, weights, *map(overlaps, lines), (6, 6))
    assert found.dtype == weights.dtype
    assert_array_equal(found, expected)


@given(st.lists(PAIR_OF_PIECES, min_size=1, max_size=4), st.data())
def test_the_way_back_finds_the_old_units_of_each_new_unit(pairs, data):
    n = data.draw(st.integers(0, len(pairs) - 1))
    for side, regrouping in enumerate(of_sentence(into_pieces(pairs), n)):
        back = regrouping.inverse(6)
        for new in range(6):
            expected = [old for old, pieces in enumerate(overlaps(pairs[n][side])) if new in pieces]
            assert sorted(back.new_units([new])) == expected


@pytest.mark.parametrize("links", [[], [(0, 0, 5)]])
def test_words_without_pieces_have_no_links(links):
    nothing = PieceLine(["x"], [0], [0])
    found = regroup_batch(batch_of([links]), into_pieces([(nothing, nothing)]), one_link=(True, True))
    assert (len(found), found.links(0), found.probability.dtype) == (1, [], np.float32)


def test_a_pair_of_words_has_the_weights_of_its_tokens():
    """Tokens a b. | x y z as words ab. | x yz: rows of forward and columns of reverse are worked by hand."""
    forward = np.array([[0.5, 0.2, 0.1], [0.1, 0.6, 0.2], [0.0, 0.3, 0.3]])
    reverse = np.array([[0.6, 0.1, 0.0], [0.2, 0.5, 0.4], [0.1, 0.2, 0.3]])
    joint = forward * reverse
    links = {Link(0, 0): 0.3, Link(1, 1): 0.4, Link(2, 1): 0.2}
    tokens = AlignedPair(
        Alignment(frozenset(links), 3, 3),
        AlignmentMatrix(joint, ("a", "b", "."), ("x", "y", "z")),
        forward,
        reverse,
        links,
        score=0.7,
        scores=joint - 1,
    )
    words = (
        Regrouping.into_words(np.array([0, 0, 1]), np.array([0, 3])),
        Regrouping.into_words(np.array([0, 1, 1]), np.array([0, 3])),
    )
    found = regroup_pair(tokens, words, (("ab", "."), ("x", "yz")), one_link=ANY_LINKS)
    assert (found.matrix.source_tokens, found.matrix.target_tokens) == (("ab", "."), ("x", "yz"))
    assert found.probabilities == {Link(0, 0): 0.3, Link(0, 1): 0.4, Link(1, 1): 0.2}
    assert found.links == sorted(found.probabilities)
    assert_allclose(found.posterior, [[0.3, 0.0], [0.3, 0.09]], atol=1e-9)
    assert_allclose(found.forward, [[0.7, 0.1], [0.5, 0.25]], atol=1e-9)
    assert_allclose(found.reverse, [[0.35, 0.0], [0.5, 0.7]], atol=1e-9)
    assert_allclose(found.scores, [[-0.7, -1.0], [-0.7, -0.91]], atol=1e-9)
    assert found.score == 0.7
    assert regroup_pair(tokens, None, ((), ()), one_link=ANY_LINKS) is tokens


@given(PAIR, PAIR, SIX_WORDS, SIX_WORDS)
def test_regrouped_gold_says_no_more_than_gold_of_words(gold, links, source, target):
    sure = frozenset(Link(s, t) for s, t, tenths in gold if tenths > 4)
    words = GoldAlignment(sure, frozenset(Link(s, t) for s, t, _ in gold))
    numbers = [min(number, 5) for number in source], [min(number, 5) for number in target]
    own = {Link(s, t) for s, t, _ in links}
    to_words = tuple(Regrouping.into_words(np.array(side), np.array([0, 6])) for side in numbers)
    found = regroup_gold(words, own, to_words)
    cells = [Link(s, t) for s in range(6) for t in range(6)]
    image = {cell: Link(numbers[0][cell.source], numbers[1][cell.target]) for cell in cells}
    assert found.possible == {cell for cell in cells if image[cell] in words.possible}
    alone = {cell for cell in cells if list(image.values()).count(image[cell]) == 1}
    assert found.sure == {cell for cell in cells if image[cell] in sure and (cell in own or cell in alone)}


@given(st.lists(st.tuples(PAIR, NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_shared_links_divide_the_probability_of_their_words(pairs):
    numbers = [[[list(dict.fromkeys(own)).index(word) for word in own] for own in pair[1:]] for pair in pairs]
    linked = [
        sorted((s, t, tenths / 10) for s, t, tenths in links if s in source and t in target)
        for (links, *_), (source, target) in zip(pairs, numbers, strict=True)
    ]
    flat = np.array([link for links in linked for link in links]).reshape(-1, 3)
    offsets = np.cumsum([0, *map(len, linked)])
    ends = flat[:, 0].astype(np.int32), flat[:, 1].astype(np.int32)
    batch = AlignedBatch(offsets, *ends, flat[:, 2].astype(np.float32), np.zeros(len(pairs)))
    starts, lengths = 6 * np.arange(len(pairs) + 1), np.full(len(pairs), 6)
    words = [
        Regrouping.into_words(np.array([pair[side] for pair in numbers]).ravel(), starts) for side in (0, 1)
    ]
    found = share_links(batch, (words[0], words[1]), (lengths, lengths))
    for n, (links, (source, target)) in enumerate(zip(linked, numbers, strict=True)):
        expected = {
            (s, t): probability / (source.count(one) * target.count(other))
            for one, other, probability in links
            for s in range(6)
            for t in range(6)
            if (source[s], target[t]) == (one, other)
        }
        assert [tuple(link) for link in found.links(n)] == sorted(expected)
        probability = found.probability[found.offsets[n] : found.offsets[n + 1]]
        assert_allclose(probability, [expected[link] for link in sorted(expected)], rtol=1e-6)
