"""Every format that is written is read back the same; damaged files are refused with the place."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import struct
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtalign.errors import DataError, UsageError
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import (
    detect_format,
    languages_of,
    load_both_languages,
    load_embeddings,
    save_embeddings,
    save_pair,
)
from nmtalign.vectors.subword_vectors import CharacterNgrams

WORDS = ["le", "été", "日本", "\x85", "a\u2028b", "null", "NA", '"', "1e5", "#", "\\", "𝒳"]
PLACES = {
    "folder": "french",
    "word2int": "word2int_fr.pkl",
    "word2vec": "french.vec",
    "word2vec-binary": "french.bin",
}


def made(dtype: str = "float32") -> Embeddings:
    matrix = np.random.default_rng(3).standard_normal((len(WORDS), 6)).astype(dtype)
    matrix[2] = 0
    return Embeddings(Vocabulary.from_words(WORDS), matrix)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("format", PLACES)
def test_what_is_written_is_read_back(format: str, dtype: str, tmp_path: Path) -> None:
    path, embeddings = tmp_path / PLACES[format], made(dtype)
    save_embeddings(embeddings, path, format=format)
    assert detect_format(path) == format
    found = load_embeddings(path)
    assert found.vocabulary.words == WORDS
    kept = embeddings.matrix if format in ("folder", "word2int") else embeddings.matrix.astype(np.float32)
    np.testing.assert_array_equal(found.matrix, kept)
    np.testing.assert_array_equal(load_embeddings(path, limit=3).matrix, kept[:3])


@pytest.mark.parametrize("format", ["word2vec", "word2vec-binary"])
def test_gensim_reads_what_is_written_and_gzip_is_read(format: str, tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    embeddings = Embeddings(Vocabulary.from_words(["le", "été"]), np.eye(2, 3, dtype=np.float32) / 3)
    path = tmp_path / "x.vec"
    save_embeddings(embeddings, path, format=format)
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=format == "word2vec-binary")
    assert theirs.index_to_key == ["le", "été"]
    np.testing.assert_array_equal(theirs.vectors, embeddings.matrix)
    packed = tmp_path / "x.vec.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(load_embeddings(packed).matrix, embeddings.matrix)


def test_the_own_format_keeps_subwords_and_settings(tmp_path: Path) -> None:
    pieces = CharacterNgrams(np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32), 3, 6)
    plain = made()
    embeddings = Embeddings(plain.vocabulary, plain.matrix, pieces, settings={"method": "mine"})
    save_embeddings(embeddings, tmp_path / "x")
    found = load_embeddings(tmp_path / "x").with_unknown("subword")
    assert found.settings == {"method": "mine"}
    np.testing.assert_array_equal(
        found.vectors(["nouveau"]), embeddings.with_unknown("subword").vectors(["nouveau"])
    )


def test_vectors_do_not_change_when_their_file_shrinks(tmp_path: Path) -> None:
    save_embeddings(made(), tmp_path / "x")
    found = load_embeddings(tmp_path / "x")
    os.truncate(tmp_path / "x" / "vectors.npy", 130)
    np.testing.assert_array_equal(found.matrix, made().matrix)
    with pytest.raises(DataError, match=r"vectors\.npy: "):
        load_embeddings(tmp_path / "x")


@pytest.mark.parametrize("format", PLACES)
def test_an_older_file_or_folder_is_replaced_by_request_only(format: str, tmp_path: Path) -> None:
    path = tmp_path / PLACES[format]
    save_embeddings(made(), path, format=format)
    before = contents(tmp_path)
    other = Embeddings(Vocabulary.from_words(["un"]), np.ones((1, 2), np.float32))
    with pytest.raises(UsageError, match=r"pass `overwrite=True` to replace (it|the folder), or"):
        save_embeddings(other, path, format=format)
    assert contents(tmp_path) == before
    save_embeddings(other, path, format=format, overwrite=True)
    assert load_embeddings(path).vocabulary.words == ["un"]
    assert contents(tmp_path).keys() == before.keys()


def test_other_files_in_a_folder_are_never_replaced(tmp_path: Path) -> None:
    save_embeddings(made(), tmp_path / "x" / "fr")
    save_pair(made(), made(), tmp_path / "y", languages=("en", "fr"))
    for place in ("x/fr/thesis.txt", "y/en/thesis.txt"):
        (tmp_path / place).write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(UsageError, match=r"other files \(thesis\.txt\)"):
        save_embeddings(made(), tmp_path / "x" / "fr", overwrite=True)
    with pytest.raises(UsageError, match=r"other files \(en/thesis\.txt\)"):
        save_pair(made(), made(), tmp_path / "y", languages=("en", "fr"), overwrite=True)
    with pytest.raises(UsageError, match="is a file"):
        save_embeddings(made(), tmp_path / "y" / "pair.json", overwrite=True)
    assert contents(tmp_path) == before


def test_the_seeds_own_code_reads_our_files(tmp_path: Path) -> None:
    save_embeddings(made(), tmp_path / "word2int_fr.pkl", format="word2int")
    with open(tmp_path / "word2int_fr.pkl", "rb") as file:
        word2int = pickle.load(file)
    matrix = np.load(tmp_path / "embeddings_fr.npz")["embeddings"]
    assert type(word2int) is dict
    np.testing.assert_array_equal(matrix[word2int["été"]], made().matrix[1])


def test_the_same_vectors_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        save_embeddings(made(), tmp_path / name / "word2int_fr.pkl", format="word2int")
    for file in ("word2int_fr.pkl", "embeddings_fr.npz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("found", ["word2int_fr.pkl", "embeddings_fr.npz"])
def test_a_missing_file_is_named_beside_the_one_that_is_there(found: str, tmp_path: Path) -> None:
    save_embeddings(made(), tmp_path / "word2int_fr.pkl", format="word2int")
    (missing,) = (path for path in tmp_path.iterdir() if path.name != found)
    missing.unlink()
    with pytest.raises(DataError, match=rf"{found}: expected {missing.name} beside it"):
        load_embeddings(tmp_path / found)


def test_a_folder_without_vectors_says_what_it_should_hold(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected word2int_XX.pkl and embeddings_XX.npz"):
        load_embeddings(tmp_path)


@pytest.mark.parametrize("name", [*PLACES.values(), "french.kv"])
def test_vectors_that_are_not_finite_are_refused(name: str, tmp_path: Path) -> None:
    embeddings, path = made(), tmp_path / name
    embeddings.matrix[4, 1] = np.inf
    if name == "french.kv":
        embeddings.to_gensim().save(str(path))
    else:
        save_embeddings(embeddings, path, format=dict(zip(PLACES.values(), PLACES, strict=True))[name])
    with pytest.raises(DataError, match=r"line 6: .*NaN|NaN or infinity, first in row 5"):
        load_embeddings(path)


def test_rows_without_a_word_are_left_out(tmp_path: Path) -> None:
    matrix = np.arange(12.0).reshape(6, 2)
    save_embeddings(Embeddings(Vocabulary({"b": 5, "a": 1}), matrix), tmp_path / "x")
    found = load_embeddings(tmp_path / "x")
    assert found.vocabulary.words == ["a", "b"]
    np.testing.assert_array_equal(found.matrix, matrix[[1, 5]])


def test_real_word2int_pickles(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "vocabularies" / "coursera_word2int"
    (tmp_path / "word2int_fr.pkl").write_bytes((folder / "word2int_fr.pkl").read_bytes())
    np.savez(tmp_path / "embeddings_fr.npz", embeddings=np.ones((10_000, 2)))
    found = load_embeddings(tmp_path / "embeddings_fr.npz")
    assert found.vocabulary.words == (folder / "vocab_fr.txt").read_text(encoding="utf-8").split("\n")[:-1]


# --- gensim's own files --------------------------------------------------------------------------


@pytest.mark.parametrize("large", [False, True], ids=["one file", "side files"])
@pytest.mark.parametrize("kind", ["Word2Vec", "FastText"])
@pytest.mark.parametrize("part", ["model", "kv"])
def test_files_of_todays_gensim(kind: str, part: str, large: bool, tmp_path: Path) -> None:
    import gensim.models

    sentences = [["le", "chat", "noir"], ["la", "maison", "blanche"]] * 5
    more = {"bucket": 200} if kind == "FastText" else {}
    model = getattr(gensim.models, kind)(sentences, vector_size=8, min_count=1, seed=1, workers=1, **more)
    path = tmp_path / f"x.{part}"
    names = ["vectors_vocab", "vectors_ngrams"] if kind == "FastText" else ["vectors"]
    saved = model if part == "model" else model.wv
    if large and part == "kv":
        saved.save(str(path), separately=names)
    else:
        saved.save(str(path), sep_limit=1 if large else 10**9)
    assert len(list(tmp_path.iterdir())) > 1 or not large
    found = load_embeddings(path)
    assert found.vocabulary.words == model.wv.index_to_key
    np.testing.assert_array_equal(found.matrix, model.wv.vectors)
    if kind == "FastText":
        vector = found.with_unknown("subword").vectors(["maisonnette"])[0]
        np.testing.assert_array_equal(vector, model.wv.get_vector("maisonnette"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = load_embeddings(path, unsafe_pickle=True)
    np.testing.assert_array_equal(theirs.matrix, found.matrix)


def test_a_missing_side_file_is_named(tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(2)
    vectors.add_vectors(["le", "la"], np.eye(2, dtype=np.float32))
    vectors.save(str(tmp_path / "x.kv"), separately=["vectors"])
    (tmp_path / "x.kv.vectors.npy").unlink()
    with pytest.raises(DataError, match=r"x\.kv\.vectors\.npy is missing; put it in the same folder"):
        load_embeddings(tmp_path / "x.kv")


# --- text: what real files get wrong -------------------------------------------------------------


def read_text(tmp_path: Path, text: bytes, **options: Any) -> Embeddings:
    (tmp_path / "x.vec").write_bytes(text)
    return load_embeddings(tmp_path / "x.vec", **options)


def test_words_with_spaces_as_in_the_largest_glove_files(tmp_path: Path) -> None:
    found = read_text(tmp_path, b"le 1 2 3\n. . . 4 5 6\nat name@domain 7 8 9\n")
    assert found.vocabulary.words == ["le", ". . .", "at name@domain"]
    np.testing.assert_array_equal(found.matrix[1], [4, 5, 6])


def test_windows_lines_spaces_at_the_end_and_no_last_line_end(tmp_path: Path) -> None:
    for text in (b"2 2\r\nle 1 2\r\nla 3 4\r\n", b"2 2\nle 1 2 \nla 3 4 \n", b"2 2\nle 1 2\nla 3 4"):
        np.testing.assert_array_equal(read_text(tmp_path, text).matrix, [[1, 2], [3, 4]])


def test_repeated_words_keep_their_first_vector(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="1 words are repeated"):
        found = read_text(tmp_path, b"3 2\nle 1 2\nle 3 4\nla 5 6\n")
    np.testing.assert_array_equal(found.matrix, [[1, 2], [5, 6]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"2 2\nle 1 2\nla 3\n", "line 3: expected a word and 2 numbers, found 1"),
        (b"2 2\nle 1 x\nla 3 4\n", "line 2: expected a word and 2 numbers, found 'x' in place"),
        (b"2 2\nle 1  2\nla 3 4 5\n", "line 3: expected a word and 2 numbers, found 3 numbers"),
        (b"5 2\nle 1 2\n", "promises 5 words, the file has 1"),
        (b"le 1 2\nla nan 4\n", "line 2: the vector of 'la' contains NaN"),
        (b"le 1 2\n\nla 3 4\n", "line 2: expected a word and 2 numbers, found 0"),
        (b"le chat 1\n", "line 1|expected a word and its numbers"),
        (b"", "expected a word and its numbers"),
        (b"2 2\nl\xe9 1 2\nla 3 4\n", "line 2: the word .* is not utf-8"),
        (b"999999999999 2\n", "line 1: the header claims 999999999999 words of 2"),
        (b"2 99999999999\n", "line 1: the header claims 2 words of 99999999999"),
        (b"2 -3\nle 1 2\n", "line 1: the header claims 2 words of -3"),
    ],
)
def test_bad_lines_are_named(text: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_text(tmp_path, text, format="word2vec")
    assert "x.vec" in str(caught.value)


def test_other_encodings(tmp_path: Path) -> None:
    found = read_text(tmp_path, "été 1 2\nle 3 4\n".encode("latin-1"), encoding="latin-1")
    assert found.vocabulary.words == ["été", "le"]


def test_lines_after_those_of_the_header_are_reported(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="lines after the 1 words"):
        assert len(read_text(tmp_path, b"1 2\nle 1 2\nla 3 4\n")) == 1


def test_blocks_are_cut_at_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made()
    words = Vocabulary.from_words([f"w{n}" for n in range(70)])
    whole = Embeddings(words, np.random.default_rng(0).standard_normal((70, 4)).astype(np.float32))
    for format, place in (("word2vec", "x.vec"), ("word2vec-binary", "x.bin")):
        save_embeddings(whole, tmp_path / place, format=format)
    (tmp_path / "x.txt").write_bytes((tmp_path / "x.vec").read_bytes().split(b"\n", 1)[1])  # no header
    monkeypatch.setattr("nmtalign.vectors.word2vec_files.BYTES_PER_READ", 40)
    for place in ("x.vec", "x.bin", "x.txt"):
        for limit in (None, 1, 69, 70, 71):
            found = load_embeddings(tmp_path / place, limit=limit)
            np.testing.assert_array_equal(found.matrix, whole.matrix[:limit])


def fasttext_header(*, dimension: int = 1000, buckets: int = 5, words: int = 1, rows: int = 6) -> bytes:
    """Return the start of a fastText model with one word and hardly a matrix."""
    model = struct.pack("<i13id", 793712314, 12, dimension, *[5] * 7, buckets, 3, 6, 100, 1e-4)
    model += struct.pack("<3iqq", words, words, 0, 9, -1) + b"le\0" + struct.pack("<qb", 9, 0)
    return model + b"\0" + struct.pack("<qq", rows, dimension) + b"\0" * 4000


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("format", "data", "message"),
    [
        ("word2vec-binary", b"2000000000 1000\nle " + b"\0" * 4000, "promises 2000000000 words of 1000"),
        ("word2vec-binary", b"1000000000000 3\nle " + b"\0" * 12, "claims 1000000000000 words of 3"),
        ("word2vec-binary", b"2 -3\nle " + b"\0" * 12, "claims 2 words of -3"),
        ("word2vec-binary", b"-2 3\nle " + b"\0" * 12, "claims -2 words of 3"),
        ("word2vec-binary", b"two 3\nle " + b"\0" * 12, "expected a first line with .*, found b'two 3"),
        ("word2vec", b"2000000000 3\nle 1 2 3\n", "promises 2000000000 words, the file has 1"),
        ("fasttext", fasttext_header(buckets=1 << 30, rows=1 + (1 << 30)), "promises 1 words, 1000"),
        ("fasttext", fasttext_header(words=2_000_000_000), "promises 2000000000 words"),
        ("fasttext", fasttext_header(words=-2, rows=3), "not a fastText model: -2 words"),
        ("fasttext", fasttext_header(dimension=-1000), "not a fastText model: -1000 dimensions"),
        ("fasttext", fasttext_header(dimension=10, rows=1 << 60), "a matrix of shape"),
    ],
)
def test_a_header_is_refused_at_once(pack, format: str, data: bytes, message: str, tmp_path: Path) -> None:
    """No memory, no look through the file."""
    import gensim.models  # noqa: F401  (takes memory itself)

    path = tmp_path / "x.bin"
    path.write_bytes(pack(data))
    tracemalloc.start()
    with pytest.raises(DataError, match=rf"x\.bin.*: .*{message}"):
        load_embeddings(path, format=format)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_words_that_are_not_text_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"2 1\nle \0\0\0\0\nl\xe9 \0\0\x80?")
    with pytest.raises(DataError, match=r"x\.bin: the word b'l\\xe9' is not utf-8; choose another encoding"):
        load_embeddings(path, format="word2vec-binary")
    found = load_embeddings(path, format="word2vec-binary", encoding="latin-1")
    assert found.vocabulary.words == ["le", "lé"]


def test_repeated_words_of_a_binary_file_keep_their_first_vector(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    words = b"".join(word + struct.pack("<f", n) for n, word in enumerate((b"a ", b"a ", b"b ")))
    path.write_bytes(b"3 1\n" + words)
    with pytest.warns(UserWarning, match=r"x\.bin: 1 words are repeated"):
        found = load_embeddings(path, format="word2vec-binary")
    assert (found.vocabulary.words, found.matrix.tolist()) == (["a", "b"], [[0.0], [2.0]])
    from gensim.models import KeyedVectors

    theirs = Embeddings.from_gensim(KeyedVectors.load_word2vec_format(str(path), binary=True))
    assert (theirs.vocabulary.words, theirs.matrix.tolist()) == (["a", "b"], [[0.0], [2.0]])


@pytest.mark.parametrize("name", ["lee_fasttext_new.bin", "toy-model.bin", "euclidean_vectors.bin"])
def test_half_a_binary_file_is_refused(name: str, shared_data: Path, tmp_path: Path) -> None:
    data = (shared_data / "loader_samples" / "gensim" / name).read_bytes()
    packed, format = gzip.compress(data), "word2vec-binary" if "euclidean" in name else "fasttext"
    for part in (0.3, 0.6):
        for some in (data[: int(part * len(data))], packed[: int(part * len(packed))]):
            (tmp_path / "x.bin").write_bytes(some)
            with pytest.raises(DataError, match=r"x\.bin"):
                load_embeddings(tmp_path / "x.bin", format=format)


# --- the own format and pairs --------------------------------------------------------------------


def test_damage_in_a_folder_is_named(tmp_path: Path) -> None:
    save_embeddings(made(), tmp_path / "x")
    (tmp_path / "x" / "vocab.txt").write_text("le\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"vocab.txt has 1 words, vectors.npy 12 rows"):
        load_embeddings(tmp_path / "x")
    (tmp_path / "x" / "meta.json").write_text('{"format": "other"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"meta.json: expected format nmtalign-vectors"):
        load_embeddings(tmp_path / "x")
    with pytest.raises(DataError, match="no such file"):
        load_embeddings(tmp_path / "nothing")


def test_words_that_a_format_cannot_hold_are_refused(tmp_path: Path) -> None:
    embeddings = Embeddings(Vocabulary.from_words(["a b"]), np.ones((1, 2)))
    for format in ("word2vec", "word2vec-binary"):
        with pytest.raises(DataError, match="'a b' contains a space"):
            save_embeddings(embeddings, tmp_path / "x", format=format)
    with pytest.raises(UsageError, match="load_word2vec_format"):
        save_embeddings(embeddings, tmp_path / "x", format="gensim")


@pytest.mark.parametrize("format", ["folder", "word2int"])
def test_pairs_come_back_in_their_order(format: str, tmp_path: Path) -> None:
    source = Embeddings(Vocabulary.from_words(["z"]), np.eye(1, 2), settings={"method": "mine"})
    target = Embeddings(Vocabulary.from_words(["a"]), np.eye(1, 2), settings={"method": "mine"})
    save_pair(source, target, tmp_path, languages=("fr", "en"), format=format)
    assert list(languages_of(tmp_path) or {}) == ["en", "fr"]
    first, second = load_both_languages(tmp_path)
    assert (first.vocabulary.words, second.vocabulary.words) == (["z"], ["a"])
    assert first.settings == second.settings == {"method": "mine"}
    swapped, _ = load_both_languages(tmp_path, languages=("en", "fr"))
    assert swapped.vocabulary.words == ["a"]
    with pytest.raises(DataError, match="expected vectors of the language 'de', found en, fr"):
        load_both_languages(tmp_path, languages=("en", "de"))


@pytest.mark.parametrize("languages", [[], ["en"], ["en", "fr", "de"], None, "en", ["en", 2]])
def test_languages_that_a_folder_notes_are_two(tmp_path: Path, languages: object) -> None:
    side = Embeddings(Vocabulary.from_words(["a"]), np.eye(1, 2))
    save_pair(side, side, tmp_path / "pair", languages=("en", "fr"))
    (tmp_path / "pair" / "pair.json").write_text(json.dumps({"languages": languages}), encoding="utf-8")
    with pytest.raises(DataError, match=r"pair\.json: expected (a source and a target|a list of names)"):
        load_both_languages(tmp_path / "pair")


def test_pairs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for language, size in (("en", 2), ("fr", 3)):
        embeddings = Embeddings(Vocabulary.from_words(["a"]), np.ones((1, size)))
        save_embeddings(embeddings, tmp_path / f"word2int_{language}.pkl", format="word2int")
    with pytest.raises(DataError, match=r"embeddings_en\.npz has 2 dimensions, .*embeddings_fr\.npz has 3"):
        load_both_languages(tmp_path)
    save_embeddings(embeddings, tmp_path / "word2int_de.pkl", format="word2int")
    with pytest.raises(UsageError, match="name them"):
        load_both_languages(tmp_path)
    (tmp_path / "pair.json").write_text(json.dumps([1]), encoding="utf-8")
    with pytest.raises(DataError, match=r"pair\.json"):
        load_both_languages(tmp_path)
    with pytest.raises(DataError, match="there is none"):
        load_both_languages(tmp_path / "nothing")


# --- a matrix with its word2int beside it --------------------------------------------------------

ROWS = {"chat": 1, "le": 0}


def write_rows(path: Path) -> None:
    """Write the dictionary as its name says."""
    path.write_bytes(json.dumps(ROWS).encode() if path.suffix == ".json" else pickle.dumps(ROWS))


def write_matrix(path: Path) -> None:
    """Write a matrix as its name says."""
    np.save(path, np.eye(2)) if path.suffix == ".npy" else np.savez(path, embeddings=np.eye(2))


@pytest.mark.parametrize("ending", [".pkl", ".json"])
@pytest.mark.parametrize(
    ("matrix", "rows"),
    [
        ("embeddings_fr.npz", "word2int_fr"),
        ("embeddings_fr.npy", "word2int_fr"),
        ("embeddings.npy", "word2int"),
        ("fr.npy", "fr"),
        ("fr.npz", "word2int_fr"),
        ("wiki.fr.npy", "wiki.fr"),
    ],
)
def test_a_matrix_is_read_with_its_dictionary(matrix: str, rows: str, ending: str, tmp_path: Path) -> None:
    write_matrix(tmp_path / matrix)
    write_rows(tmp_path / (rows + ending))
    named = [tmp_path / matrix] + [tmp_path / (rows + ending)] * rows.startswith("word2int")
    for path in named:
        found = load_embeddings(path)
        assert found.vectors(["chat", "le", "?"]).tolist() == [[0, 1], [1, 0], [0, 0]]
        assert load_embeddings(path, limit=1).vocabulary.words == ["le"]


def test_a_matrix_with_no_dictionary_or_two_is_refused(tmp_path: Path) -> None:
    write_matrix(tmp_path / "fr.npy")
    expected = r"fr\.npy: expected word2int_fr\.pkl beside it, or word2int_fr\.json, or fr\.pkl, or fr\.json"
    with pytest.raises(DataError, match=rf"{expected} instead; found none"):
        load_embeddings(tmp_path / "fr.npy")
    write_rows(tmp_path / "fr.pkl")
    write_rows(tmp_path / "word2int_fr.json")
    with pytest.raises(DataError, match=r"found word2int_fr\.json and fr\.pkl"):
        load_embeddings(tmp_path / "fr.npy")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'["le"]', "expected a dictionary word -> row, found list"),
        (b'{"le": "0"}', "expected an integer as the row of 'le', found '0'"),
        (b'{"le": 0, "la": 0}', "the words 'le' and 'la' share row 0"),
        (b'{"le": 5}', r"expected 6 rows for the words of fr\.json, found 2"),
        (b'{"le": ', "expected JSON"),
        (b'{"l\xe9": 0}', "expected UTF-8"),
    ],
)
def test_a_wrong_dictionary_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    write_matrix(tmp_path / "fr.npy")
    (tmp_path / "fr.json").write_bytes(content)
    with pytest.raises(DataError, match=rf"fr\.(json|npy): {message}"):
        load_embeddings(tmp_path / "fr.npy")


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"", b"PK\3\4", b"le 0\nla 1\n", b"\x80\4}(\x8c"])
def test_what_is_no_pickle_is_named_in_a_sentence(content: bytes, tmp_path: Path) -> None:
    write_matrix(tmp_path / "fr.npy")
    (tmp_path / "word2int_fr.pkl").write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_embeddings(tmp_path / "fr.npy")
    told = f"word2int_fr.pkl: not a pickle, or damaged; it begins with {content[:8]!r}"
    assert str(caught.value).endswith(told)


def test_a_dictionary_under_another_name_says_what_to_call_it(tmp_path: Path) -> None:
    (tmp_path / "words.pkl").write_bytes(pickle.dumps(ROWS))
    with pytest.raises(DataError, match=r"words\.pkl: expected a gensim object, .*word2int_XX\.pkl"):
        load_embeddings(tmp_path / "words.pkl")


def test_a_folder_of_json_and_npy_is_a_pair(tmp_path: Path) -> None:
    for language in ("en", "fr"):
        write_matrix(tmp_path / f"embeddings_{language}.npy")
        write_rows(tmp_path / f"word2int_{language}.json")
    assert [side.vocabulary.words for side in load_both_languages(tmp_path)] == [["le", "chat"]] * 2


def test_a_folder_of_two_languages_names_the_vectors_of_one(tmp_path):
    embeddings = Embeddings.of(["a", "b"], np.eye(2))
    for language in ("en", "fr"):
        save_embeddings(embeddings, tmp_path / f"word2int_{language}.pkl", format="word2int")
    with pytest.raises(DataError, match=r"vectors of one language, .* of en, fr; pass .*word2int_en\.pkl"):
        load_embeddings(tmp_path)


def test_files_whose_names_end_in_their_languages_are_a_folder_of_vectors(tmp_path):
    (tmp_path / "wiki.en.vec").write_text("2 2\nthe 1 0\ncat 0 1\n", encoding="utf-8")
    (tmp_path / "fr.vec").write_text("2 2\nle 1 0\nchat 0 1\n", encoding="utf-8")
    (tmp_path / "text.en").write_text("the cat\n", encoding="utf-8")
    assert list(languages_of(tmp_path)) == ["en", "fr"]
    source, target = load_both_languages(tmp_path, languages=("fr", "en"))
    assert list(source.vocabulary) == ["le", "chat"]
    assert list(target.vocabulary) == ["the", "cat"]

    third = tmp_path / "de.vec"
    third.write_text("1 2\nder 1 0\n", encoding="utf-8")
    with pytest.raises(UsageError, match="expected vectors of two languages"):
        load_both_languages(tmp_path)
    third.rename(tmp_path / "news.en.vec")
    with pytest.raises(DataError, match=r"found news.en.vec and wiki.en.vec, both of 'en'; name two files"):
        load_both_languages(tmp_path)


def test_folders_of_models_are_not_languages(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.json").write_text('{"format": "nmtalign model", "version": 1}')
    assert languages_of(tmp_path) == {}
    with pytest.raises(DataError, match=r"expected a model \(meta.json\) or vectors of two languages"):
        load_both_languages(tmp_path)
