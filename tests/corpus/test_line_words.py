"""Positions that users can see: words between spaces, against sets and loops in plain Python."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtalign.corpus.sides import number_line_words
from nmtalign.corpus.text import encode_lines
from nmtalign.text.tokenization import TextSettings

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
        assert text.line_words[0].first.tolist() == [number for line in lines for number in naive(line)]
    for side in found or ():
        assert [side.sentence(n).first.tolist() for n in range(len(lines))] == list(map(naive, lines))
    for n, line in enumerate(lines):
        words = [word for word in line.split(" ") if word]
        assert all(number < len(words) for number in found[0].sentence(n).first)


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
    assert encode_lines([(line, line)], SIMPLE).line_words[0].sentence(0).first.tolist() == numbers


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
