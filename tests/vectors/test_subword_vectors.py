"""Vectors of sub-words: n-grams as gensim composes them; static models as vectors of both sides."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

import nmtalign as na
from nmtalign.errors import DataError, UsageError
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.storage import load_both_languages
from nmtalign.vectors.subword_vectors import CharacterNgrams
from tests.cli.running import run
from tests.vectors.static_model import directions, unigram, wordpiece, write_static_model

ASKED = ["the", "Cats", "sleeping", "zebra", "chatsing", "noir.", "42", ""]


@given(
    words=st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=6),
    shortest=st.integers(0, 4),
    more=st.integers(0, 3),
)
def test_vectors_equal_gensims(words: list[str], shortest: int, more: int) -> None:
    from gensim.models.fasttext import FastTextKeyedVectors

    theirs = FastTextKeyedVectors(5, shortest, shortest + more, 40)
    theirs.vectors_ngrams = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    ours = CharacterNgrams(theirs.vectors_ngrams, shortest, shortest + more)
    for word, vector in zip(words, ours.vectors(words), strict=True):
        np.testing.assert_array_equal(vector, theirs.get_vector(word))


@pytest.mark.parametrize("block", [1, 3, 4096])
def test_blocks_do_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmtalign.vectors.subword_vectors._WORDS_PER_BLOCK", block)
    pieces = CharacterNgrams(np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32), 2, 4)
    many = ["été", "le", "", "maison", "x", "\ud800"]
    alone = np.concatenate([pieces.vectors([word]) for word in many])
    np.testing.assert_array_equal(pieces.vectors(many), alone)
    assert pieces.vectors([]).shape == (0, 5)


def test_without_buckets_a_word_has_its_own_vector_or_none() -> None:
    none = CharacterNgrams(np.zeros((0, 3), np.float32), 3, 6)
    np.testing.assert_array_equal(none.vectors(["le"], np.ones((1, 3))), np.ones((1, 3)))
    assert not none.vectors(["le"]).any()


@pytest.mark.parametrize(
    ("tokenizer", "settings", "extra"),
    [
        (wordpiece, {}, ()),
        (unigram, {}, ()),
        (wordpiece, {"normalize": True}, ()),
        (wordpiece, {}, ("weights",)),
        (wordpiece, {}, ("mapping", "weights")),
        (wordpiece, {}, ("int8",)),
    ],
)
def test_vectors_are_those_of_model2vec(tmp_path, tokenizer, settings, extra):
    model2vec = pytest.importorskip("model2vec")
    tokens = tokenizer()
    size = tokens.get_vocab_size()
    random = np.random.default_rng(2)
    tensors = {"embeddings": directions(size)}
    if "mapping" in extra:
        tensors = {"embeddings": directions(size)[: size // 2]}
        tensors["mapping"] = random.integers(0, size // 2, size)
    if "weights" in extra:
        tensors["weights"] = random.random(size).astype(np.float32)
    if "int8" in extra:
        tensors["embeddings"] = np.rint(50 * tensors["embeddings"]).astype(np.int8)
    folder = write_static_model(tmp_path / "m", tokenizer=tokens, settings=settings, **tensors)
    expected = model2vec.StaticModel.from_pretrained(folder).encode(ASKED)
    found = na.load_embeddings(folder).vectors(ASKED)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_a_word_is_the_mean_of_its_sub_words(tmp_path):
    table = directions(wordpiece().get_vocab_size())
    vectors = na.load_embeddings(write_static_model(tmp_path / "m"))
    cat, ending, ing = table[[4, 10, 11]].astype(np.float64)
    np.testing.assert_allclose(vectors.vectors(["cat"])[0], cat, rtol=1e-6)
    np.testing.assert_allclose(vectors.vectors(["Catsing"])[0], (cat + ending + ing) / 3, rtol=1e-6)
    assert not vectors.vectors(["zebra"]).any()
    known = [word in vectors.own_words for word in ("cat", "CATS", "zebra", "")]
    assert known == [True, True, False, False]
    assert vectors.forms(["Cat", "ZEBRA"], TextSettings()) == ["Cat", "zebra"]
    assert vectors.with_back_off().vectors(["zebra"]).any()
    assert "all words, 6 dimensions, 12 vectors of sub-words" in repr(vectors)


def test_one_folder_is_the_vectors_of_both_sides(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_static_model(Path("m"))
    Path("a").write_text("the black cat sleeps\n", encoding="utf-8")
    Path("b").write_text("le chat noir dort\n", encoding="utf-8")
    for options in (
        ("--vectors", "m"),
        ("--source-vectors", "m", "--target-vectors", "m"),
        ("--source-vectors", "m/model.safetensors", "--target-vectors", "m/tokenizer.json"),
    ):
        assert run("align", "a", "b", *options, "--positions", "none") == 0
        out, err = capsys.readouterr()
        assert out == "0-0 1-2 2-1 3-3\n"
        assert "100.0 % of the source and 100.0 % of the target words are known" in err
    source, target = load_both_languages("m")
    assert source is target
    assert run("vectors", "info", "m") == 0
    assert "m: static\n  all words, 6 dimensions\n" in capsys.readouterr().out
    for command in (
        ("vectors", "info", "m", "--neighbors", "cat"),
        ("vectors", "convert", "m", "out", "--to", "folder"),
        ("vectors", "convert", "m", "out", "--to", "folder", "--limit", "3"),
    ):
        assert run(*command) == 2
        assert "a static model" in capsys.readouterr().err


def test_an_aligner_over_a_static_model_is_saved(tmp_path):
    size = wordpiece().get_vocab_size()
    tensors = {"embeddings": directions(size)[:9], "mapping": np.arange(size) % 9}
    tensors["weights"] = np.linspace(0.5, 1, size, dtype=np.float32)
    aligner = na.load(write_static_model(tmp_path / "m", settings={"normalize": True}, **tensors))
    aligner.save(tmp_path / "model")
    again = na.load(tmp_path / "model")
    pair = "the black cat sleeps", "le chat noir dort zebra"
    np.testing.assert_array_equal(again.align(*pair).scores, aligner.align(*pair).scores)


@pytest.mark.parametrize("name", ["shared.weight", "bert.embeddings.word_embeddings.weight", "any.name"])
def test_the_table_of_a_model_of_hugging_face_is_found(tmp_path, name):
    size = wordpiece().get_vocab_size()
    table = directions(size)
    rest = {"encoder.0.weight": np.ones((6, 6), np.float32), "bias": np.ones(size, np.float32)}
    folder = write_static_model(tmp_path / "m", **{name: table}, **rest)
    np.testing.assert_array_equal(na.load_embeddings(folder).vectors(["cat"])[0], table[4])


def test_bfloat16_is_read(tmp_path):
    table = directions(wordpiece().get_vocab_size())
    halves = (table.view(np.uint32) >> 16).astype("<u2")
    folder = write_static_model(tmp_path / "m")
    entry = {"dtype": "BF16", "shape": list(table.shape), "data_offsets": [0, halves.nbytes]}
    header = json.dumps({"wte.weight": entry}).encode()
    content = len(header).to_bytes(8, "little") + header + halves.tobytes()
    (folder / "model.safetensors").write_bytes(content)
    expected = (halves[4].astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(na.load_embeddings(folder).vectors(["cat"])[0], expected)


def test_files_of_a_hugging_face_cache_are_links_to_its_blobs(tmp_path):
    real = write_static_model(tmp_path / "model" / "blobs")
    snapshot = tmp_path / "model" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    for path in real.iterdir():
        (snapshot / path.name).symlink_to(path)
    assert na.load_embeddings(snapshot).dimension == 6
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for path in real.iterdir():
        (elsewhere / path.name).symlink_to(path)
    with pytest.raises(DataError, match="leads out of it"):
        na.load_embeddings(elsewhere)


def test_nested_files_of_sentence_transformers_are_found(tmp_path):
    write_static_model(tmp_path / "m" / "0_StaticEmbedding")
    assert na.load_embeddings(tmp_path / "m").dimension == 6


def test_models_that_do_not_fit_are_refused(tmp_path):
    size = wordpiece().get_vocab_size()
    table = directions(size)
    for tensors, message in (
        ({"a": table, "b": table}, "expected one table of vectors of sub-words.*; found a, b"),
        ({"x.shared.weight": table, "embed_tokens.weight": table}, "found embed_tokens.weight, x.shared"),
        ({"a": table[:3]}, "found a$"),
        ({"embeddings": table[:3]}, "the tokenizer has 12 sub-words, found 3 vectors"),
        ({"embeddings": table, "weights": np.ones(5, np.float32)}, "12 sub-words, found 5 weights"),
        ({"embeddings": table, "mapping": np.full(size, size)}, "mapping"),
        ({"embeddings": np.full_like(table, np.nan)}, "NaN or infinity"),
    ):
        folder = write_static_model(tmp_path / "m", **tensors)
        with pytest.raises(DataError, match=message):
            na.load_embeddings(folder)
    folder = write_static_model(tmp_path / "m")
    (folder / "tokenizer.json").write_text('{"model": {"vocab": {}}}', encoding="utf-8")
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        na.load_embeddings(folder)
    folder = write_static_model(tmp_path / "m")
    whole = (folder / "model.safetensors").read_bytes()
    for damaged in (whole[:-4], whole[:20], b"", len(whole).to_bytes(8, "little") + whole[8:]):
        (folder / "model.safetensors").write_bytes(damaged)
        with pytest.raises(DataError, match=r"model\.safetensors: expected a safetensors file"):
            na.load_embeddings(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"word2int_XX\.pkl"):
        na.load_embeddings(folder)


def test_a_table_without_its_tokenizer_is_refused(tmp_path):
    save_file({"embeddings": directions(12)}, tmp_path / "table.safetensors")
    with pytest.raises(DataError, match="a static model is named by its folder"):
        na.load_embeddings(tmp_path / "table.safetensors")


def test_limit_does_not_apply(tmp_path):
    folder = write_static_model(tmp_path / "m")
    with pytest.raises(UsageError, match="`limit` does not apply to a static model"):
        na.load(folder, limit=3)
