"""Positions that users can see: words between spaces, against sets and loops in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nmtalign.corpus.line_words import (
    LineWords,
    gold_of_tokens,
    links_of_tokens,
    links_of_words,
    number_line_words,
    pair_of_words,
)
from nmtalign.corpus.text import encode_lines
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    AlignmentMatrix,
    GoldAlignment,
    Link,
)
from nmtalign.text.tokenization import TextSettings

PAIR = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 9)), max_size=12, unique_by=lambda x: x[:2]
)
NUMBERS = st.lists(st.integers(0, 300), min_size=6, max_size=6).map(sorted)
LINES = st.lists(st.text(alphabet="ab'’ .-é\t\u00a0\u3000\u200b日\x00"), max_size=4)
SIMPLE = TextSettings("simple")


def naive(line: str, text_settings: TextSettings = SIMPLE) -> list[int]:
    """Count the words that end before each token."""
    before = (line[: token.start].split(" ") for token in text_settings.tokens(line))
    glued = (line[: token.start].endswith(" ") for token in text_settings.tokens(line))
    return [
        len([word for word in words if word]) - (bool(words[-1]) and not own)
        for words, own in zip(before, glued, strict=True)
    ]


@given(LINES)
@example(["\u00a0 a", "a \u00a0 b \t c", "a \u00a0", "a\u00a0 b"])
@example(["hon. members", "2.8c. and", "", "  l'eau   froide. ", "10\u00a0000 \u200b x\u200by"])
def test_tokens_begin_in_the_words_that_a_loop_finds(lines):
    text, found = encode_lines([(line, "x") for line in lines], SIMPLE), None
    if lines:
        found = encode_lines([(line, line) for line in lines], SIMPLE).line_words
        assert text.line_words[0].numbers.tolist() == [number for line in lines for number in naive(line)]
    for side in found or ():
        assert [side.sentence(n) for n in range(len(lines))] == list(map(naive, lines))
    for n, line in enumerate(lines):
        words = [word for word in line.split(" ") if word]
        assert all(number < len(words) for number in found[0].sentence(n))


@pytest.mark.parametrize(
    ("line", "tokens", "numbers"),
    [
        ("the hon. member", ["the", "hon", ".", "member"], [0, 1, 1, 2]),
        ("of 2.8c. now", ["of", "2", ".", "8c", ".", "now"], [0, 1, 1, 1, 1, 2]),
        ("Est-ce  vrai ?", ["Est", "-ce", "vrai", "?"], [0, 0, 1, 2]),
    ],
)
def test_words_that_are_cut_count_once(line, tokens, numbers):
    assert [token.text for token in SIMPLE.tokens(line)] == tokens
    assert encode_lines([(line, line)], SIMPLE).line_words[0].sentence(0) == numbers


def test_tokens_between_spaces_are_the_words():
    assert encode_lines([("a  b", "c")], TextSettings("space", unicode="nfkc")).line_words is None
    assert encode_lines([("a  b", "c")], TextSettings()).line_words is None


def test_lines_that_are_not_the_letters_of_their_tokens_are_looked_through():
    asked = []

    def spans(line):
        asked.append(line)
        return [(0, 1), (2, 3)]

    lines, tokens = ["ab c", "x y", "d"], ["a", "b", "c", "▁x", "▁y", "d"]
    assert number_line_words(lines, tokens, [3, 2, 1], spans).tolist() == [0, 0, 1, 0, 1, 0]
    assert asked == ["x y"]
    assert number_line_words(["a\nb c"], ["a\nb", "c"], [2], lambda line: [(0, 3), (4, 5)]).tolist() == [0, 1]


@given(st.lists(st.tuples(PAIR, NUMBERS, NUMBERS), max_size=5))
def test_links_of_words_are_the_images_of_the_links(pairs):
    rows = [sorted(links) for links, _, _ in pairs]
    flat = np.array([link for row in rows for link in row], dtype=np.int32).reshape(-1, 3)
    offsets = np.cumsum([0, *map(len, rows)])
    scores = np.arange(len(pairs), dtype=float)
    batch = AlignedBatch(offsets, flat[:, 0], flat[:, 1], (flat[:, 2] / 10).astype(np.float32), scores)
    both = [np.array([pair[side] for pair in pairs], np.int64).ravel() for side in (1, 2)]
    source, target = (LineWords(side, 6 * np.arange(len(pairs) + 1)) for side in both)
    moved = links_of_words(batch, (source, target))
    for n, (links, own, other) in enumerate(pairs):
        expected: dict[tuple[int, int], float] = {}
        for s, t, tenths in links:
            image = own[s], other[t]
            expected[image] = max(expected.get(image, 0), tenths)
        probability = moved.probability[moved.offsets[n] : moved.offsets[n + 1]]
        assert [tuple(link) for link in moved.links(n)] == sorted(expected)
        assert_allclose(probability, [expected[link] / 10 for link in sorted(expected)], rtol=1e-6)
    assert_array_equal(moved.scores, scores)


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
    words = LineWords(np.array([0, 0, 1]), np.array([0, 3])), LineWords(np.array([0, 1, 1]), np.array([0, 3]))
    found = pair_of_words(tokens, ("ab  . ", "x yz"), words)
    assert (found.matrix.source_tokens, found.matrix.target_tokens) == (("ab", "."), ("x", "yz"))
    assert found.probabilities == {Link(0, 0): 0.3, Link(0, 1): 0.4, Link(1, 1): 0.2}
    assert found.links == sorted(found.probabilities)
    assert_allclose(found.posterior, [[0.3, 0.0], [0.3, 0.09]], atol=1e-9)
    assert_allclose(found.forward, [[0.7, 0.1], [0.5, 0.25]], atol=1e-9)
    assert_allclose(found.reverse, [[0.35, 0.0], [0.5, 0.7]], atol=1e-9)
    assert_allclose(found.scores, [[-0.7, -1.0], [-0.7, -0.91]], atol=1e-9)
    assert found.score == 0.7
    assert pair_of_words(tokens, ("a b .", "x y z"), None) is tokens


@given(PAIR, PAIR, NUMBERS, NUMBERS)
def test_gold_of_tokens_says_no_more_than_gold_of_words(gold, links, source, target):
    sure = frozenset(Link(s, t) for s, t, tenths in gold if tenths > 4)
    words = GoldAlignment(sure, frozenset(Link(s, t) for s, t, _ in gold))
    numbers = [number % 6 for number in source], [number % 6 for number in target]
    own = {Link(s, t) for s, t, _ in links}
    found = gold_of_tokens(words, own, *numbers)
    cells = [Link(s, t) for s in range(6) for t in range(6)]
    image = {cell: Link(numbers[0][cell.source], numbers[1][cell.target]) for cell in cells}
    assert found.possible == {cell for cell in cells if image[cell] in words.possible}
    alone = {cell for cell in cells if list(image.values()).count(image[cell]) == 1}
    assert found.sure == {cell for cell in cells if image[cell] in sure and (cell in own or cell in alone)}


@given(st.lists(st.tuples(PAIR, NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_links_of_tokens_share_the_probability_of_their_words(pairs):
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
    words = [LineWords(np.array([pair[side] for pair in numbers]).ravel(), starts) for side in (0, 1)]
    found = links_of_tokens(batch, (words[0], words[1]), (lengths, lengths))
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
