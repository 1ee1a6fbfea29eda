"""Sub-words and the words they are part of."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.text.tokenization import TextSettings, join_pieces, word_numbers, words_containing

words = st.lists(st.lists(st.text("abé'1", min_size=1, max_size=3), min_size=1, max_size=4), max_size=6)


def bpe(word):
    return [f"{piece}@@" for piece in word[:-1]] + word[-1:]


def sentencepiece(word):
    return [f"▁{word[0]}", *word[1:]]


@pytest.mark.parametrize(("marks", "cut"), [("bpe", bpe), ("sentencepiece", sentencepiece)])
@given(words)
def test_pieces_know_their_word(marks, cut, split_words):
    pieces = [piece for word in split_words for piece in cut(word)]
    expected = [n for n, word in enumerate(split_words) for _ in word]
    assert word_numbers(pieces, marks) == expected
    assert join_pieces(pieces, marks) == ["".join(word) for word in split_words]


def test_the_first_piece_begins_a_word_with_or_without_a_mark():
    assert word_numbers(["a", "b", "▁c"], "sentencepiece") == [0, 0, 1]
    assert word_numbers(["a@@"], "bpe") == [0]
    assert word_numbers([], "bpe") == join_pieces([], "bpe") == []
    with pytest.raises(UsageError, match="bpe, sentencepiece"):
        word_numbers([], "##")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    sentences = ["the black cat sleeps in the house", "l’école est là", "the cats and the dogs sleep"] * 30
    out = io.BytesIO()
    trainer.train(
        sentence_iterator=iter(sentences),
        model_writer=out,
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("model") / "m.model"
    path.write_bytes(out.getvalue())
    return path


def test_a_sentencepiece_model_cuts_and_keeps_places(model):
    settings = TextSettings(f"sentencepiece:{model}", lowercase=False)
    for line in ["the cats sleep", "L’école  est\u00a0là", "½ 東 e\u0301t\u0301 fin ", "", "  ", "the  x"]:
        tokens, pieces = settings.tokens(line), settings.words(line)
        assert len(tokens) == len(pieces)
        assert all(line[token.start : token.end] == token.text for token in tokens)
        assert "".join(token.text for token in tokens) == "".join(line.split())
        words = [word for word in line.split(" ") if word]
        assert set(words_containing([token.start for token in tokens], line)) == set(range(len(words)))
    assert "".join(settings.words("the cats")).replace("▁", " ") == " the cats"


def test_a_file_that_is_no_model_is_refused(tmp_path):
    pytest.importorskip("sentencepiece")
    with pytest.raises(DataError, match="expected a sentencepiece model"):
        TextSettings(f"sentencepiece:{tmp_path / 'none'}").words("a")
    for name in ("sentencepiece", "sentencepiece:", "simple:x", "bpe"):
        with pytest.raises(UsageError, match="sentencepiece:FILE"):
            TextSettings(name)
