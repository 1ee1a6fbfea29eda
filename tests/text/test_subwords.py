"""Sub-words of words, and lossless tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.text.subwords import (
    check_space_mark,
    join_marked,
    load_segmenter,
    locate_pieces,
    lossless_tokens,
    segment_line,
)
from nmtalign.text.tokenization import load_tokenizer

WORD = st.text(st.sampled_from("abcéß猫'.-\u0301"), min_size=1, max_size=6)
LINE = st.text(st.sampled_from("ab'.é猫 \u00a0\u202f\u200b\u3000\u0301-1"), max_size=12)


@given(
    st.lists(st.lists(WORD, min_size=1, max_size=4), max_size=5), st.sampled_from(["bpe", "sentencepiece"])
)
def test_joined_words_are_those_that_were_cut(words, marks):
    pieces, numbers = [], []
    for number, cut in enumerate(words):
        marked = (
            [f"{piece}@@" for piece in cut[:-1]] + cut[-1:] if marks == "bpe" else ["▁" + cut[0], *cut[1:]]
        )
        pieces += marked
        numbers += [number] * len(marked)
    joined, found = join_marked(" ".join(pieces), marks)
    assert joined == ["".join(cut) for cut in words]
    assert join_marked(pieces, marks) == (joined, found)
    assert found.pieces == pieces
    ranges = zip(found.first, found.stop, strict=True)
    assert [number for number, (first, stop) in enumerate(ranges) for _ in range(first, stop)] == numbers


@pytest.mark.parametrize(
    ("line", "words", "ranges"),
    [
        ("▁ ▁", "", []),
        ("▁a ▁ ▁ b ▁", "a b", [(0, 1), (3, 4)]),
        ("▁of▁the ▁x", "of the x", [(0, 1), (0, 1), (1, 2)]),
        ("Hello▁ wor ld▁", "Hello world", [(0, 1), (1, 3)]),  # marks at the end of words
        ("▁ <0xF0> <0x9F> <0xA4> <0xA3> x", "🤣x", [(4, 6)]),
        ("▁a <0xC3> <0xA9> b", "aéb", [(0, 4)]),
        ("▁a <0xC3> b", "a<0xC3>b", [(0, 3)]),
        ("▁a <0x0A> b", "a<0x0A>b", [(0, 3)]),  # a line break stays what it is
    ],
)
def test_pieces_of_sentencepiece(line, words, ranges):
    joined, found = join_marked(line, "sentencepiece")
    assert joined == words.split()
    assert [*zip(found.first, found.stop, strict=True)] == ranges


@given(
    st.lists(st.integers(0, 3), max_size=9),
    st.lists(st.tuples(st.integers(1, 2), st.integers(1, 4)), max_size=5),
)
def test_pieces_are_those_that_overlap(lengths, words):
    position, pieces = 0, []
    for length in lengths:
        pieces.append((position, position + length))
        position += length
    position, spans = 0, []
    for gap, length in words:
        spans.append((position + gap, position + gap + length))
        position += gap + length
    found = locate_pieces([""] * len(pieces), pieces, spans)
    for (start, stop), first, end in zip(spans, found.first, found.stop, strict=True):
        expected = [n for n, (a, b) in enumerate(pieces) if not (stop <= a or start >= b)]
        assert [*range(first, end)] == expected


@given(LINE, st.sampled_from(["space", "simple"]), st.sampled_from("▁_"))
def test_lossless_tokens_are_the_whole_line(line, tokenizer, mark):
    spans = load_tokenizer(tokenizer).spans(line)
    found = lossless_tokens(line, spans, mark)
    assert "".join(found.pieces).replace(mark, " ") == line
    assert "".join(" ".join(found.pieces).split(" ")).replace(mark, " ") == line
    assert "".join(found.pieces).count(mark) == line.count(" ")
    counted = " ".join(found.pieces).split()  # at all white space
    assert len(counted) == len(found.pieces) or not line.strip()
    for (start, stop), first, end in zip(spans, found.first, found.stop, strict=True):
        assert line[start:stop].strip() in "".join(found.pieces[first:end]).replace(mark, " ")
        assert first < end


def test_a_line_with_the_mark_is_refused():
    with pytest.raises(DataError, match="spaces=CHARACTER"):
        lossless_tokens("a▁b", [(0, 3)])
    for mark in ("", "ab", " ", "\u00a0", "\n", 3):
        with pytest.raises(UsageError, match="one visible character"):
            check_space_mark(mark)


def test_a_tokenizer_json_gives_pieces_without_special_tokens(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "un": 3, "##happy": 4, "cat": 5}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    found = segment_line("unhappy  dog cat", load_segmenter(str(path)))
    assert found.pieces == ["un", "##happy", "[UNK]", "cat"]
    assert [*zip(found.first, found.stop, strict=True)] == [(0, 2), (2, 3), (3, 4)]
    tokenizer.add_tokens(["dog"])
    tokenizer.save(str(path))  # a file that has changed is opened again
    found = segment_line("unhappy  dog cat", load_segmenter(str(path)))
    assert found.pieces == ["un", "##happy", "dog", "cat"]
