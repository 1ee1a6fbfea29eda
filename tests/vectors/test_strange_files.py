"""Files that people have: read where they say one thing only, else refused with the place and the reason."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtalign.errors import DataError
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.storage import detect_format, load_embeddings, save_embeddings

WORDS = ["the", "black", "été"]
MATRIX = np.array([[1.25, -0.5, 0.125], [0.5, 2, -3], [-1, 0.75, 0.0625]])


def text(
    words: list[str] = WORDS,
    *,
    header: str | None = "3 3",
    after_word: str = " ",
    between: str = " ",
    number: str = "{:.4f}",
    end: str = "\n",
) -> str:
    """Write vectors as text in one of many ways."""
    lines = [] if header is None else [header]
    for word, row in zip(words, MATRIX, strict=True):
        numbers = between.join(number.format(value) for value in row)
        lines.append(word + after_word + numbers)
    return "".join(line + end for line in lines)


def with_commas(content: str) -> str:
    """Write decimal commas, as in a French spreadsheet."""
    return content.replace(".", ",")


TEXTS: dict[str, str | bytes] = {
    "two spaces before a number without a sign": text(number="{: .4f}"),
    "columns of one width": text(number="{:12.4f}"),
    "tabs": text(after_word="\t", between="\t"),
    "tabs and a header with a tab": text(header="3\t3", after_word="\t", between="\t"),
    "a tab after the word": text(after_word="\t"),
    "tabs between the numbers": text(between="\t"),
    "a space and tabs": text(after_word=" \t", between="\t"),
    "a header with spaces": text(header="  3   3 "),
    "decimal commas": with_commas(text()),
    "decimal commas and tabs": with_commas(text(after_word="\t", between="\t")),
    "exponents": text(number="{:.6e}"),
    "signs": text(number="{:+.4f}"),
    "a byte order mark": b"\xef\xbb\xbf" + text().encode(),
    "UTF-16": text().encode("utf-16"),
    "UTF-16 with tabs and CR LF": text(after_word="\t", between="\t", end="\r\n").encode("utf-16"),
    "UTF-32": text().encode("utf-32"),
    "CR LF": text(end="\r\n"),
    "a tab at the end of each line": text(end="\t\n"),
    "a space before CR LF": text(end=" \r\n"),
    "blank lines at the end": text() + "\n \n\n",
}


@pytest.mark.parametrize("headed", [True, False], ids=["header", "no header"])
@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_whatever_separates_its_fields(name: str, headed: bool, tmp_path: Path) -> None:
    content = TEXTS[name]
    data = content.encode() if isinstance(content, str) else content
    if not headed:
        encoding = "utf-32" if name == "UTF-32" else "utf-16" if "UTF-16" in name else "utf-8-sig"
        lines = data.decode(encoding)
        mark = data.startswith(b"\xef\xbb\xbf")
        data = lines[lines.index("\n") + 1 :].encode(encoding if mark or "UTF" in name else "utf-8")
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    assert detect_format(path) == "word2vec"
    found = load_embeddings(path)
    assert found.vocabulary.words == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)
    np.testing.assert_array_equal(load_embeddings(path, limit=2).matrix, MATRIX[:2])


@pytest.mark.parametrize("headed", [True, False], ids=["header", "no header"])
@pytest.mark.parametrize(
    "words",
    [
        ["new york", "the", "a b c"],
        ["1992", "3", "1e5"],
        ["nan", "True", "inf"],
        ["\t", "\xa0", "\u3000"],
        ["1\xa0000", "x", "\u2028"],
        ["", "a", "b"],
        ["/c/en/cat", '"', "#"],
    ],
)
def test_words_that_look_strange_are_words(words: list[str], headed: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.vec"
    path.write_text(text(words, header="3 3" if headed else None), encoding="utf-8")
    found = load_embeddings(path)
    assert found.vocabulary.words == words
    np.testing.assert_array_equal(found.matrix, MATRIX)


def test_gensims_own_files_are_read_as_it_wrote_them(tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    words = ["new york", "le  chat", "x"]
    for dtype in (np.float16, np.float32, np.float64):
        vectors = KeyedVectors(3, dtype=dtype)
        vectors.add_vectors(words, MATRIX.astype(dtype))
        vectors.save_word2vec_format(str(tmp_path / "x.vec"))
        found = load_embeddings(tmp_path / "x.vec")
        assert found.vocabulary.words == words
        np.testing.assert_array_equal(found.matrix, MATRIX)


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a word that ends in a number": (
        "2 2\nroute 66 1 2\na 3 4\n",
        "line 2: expected a word and 2 numbers, found 3 numbers; a word with spaces must not end in a number",
    ),
    "more numbers than the header says": ("2 2\nthe 1 2 3\na 3 4 5\n", "line 2: .* found 3 numbers"),
    "fewer numbers": ("2 3\nthe 1 2\na 3 4\n", "line 2: .* found 2 numbers"),
    "a tab hides one number more": ("2 2\nthe\t1 2 3\na\t3 4 5\n", "line 2: .* found 3 numbers"),
    "a line with one number more": ("the 1 2\na 3 4 5\n", "line 2: .* found 3 numbers"),
    "a first line with one number less": ("the 1 2\na 3 4 5\nb 6 7 8\n", "line 2: .* found 3 numbers"),
    "a point among decimal commas": (
        "2 2\nthe 1,5 2\na 3.5 4\n",
        "line 3: .* found '3.5' in place of a number with a decimal comma",
    ),
    "a comma among decimal points": (
        "2 2\nthe 1.5 2\na 3,5 4\n",
        "line 3: .* found '3,5' in place of a number with a decimal point",
    ),
    "thousands": ("2 2\nthe 1,234.5 1\na 3 4\n", "line 2: .* found '1,234.5'"),
    "an underscore": ("2 2\nthe 1_0 1\na 3 4\n", "line 2: .* found '1_0'"),
    "true": ("2 2\nthe True 1\na 3 4\n", "line 2: .* found 'True'"),
    "true at the end": ("the 1 2\na 3 True", "line 2: .* found 'True'"),
    "semicolons": (
        "the;1;2\na;3;4\n",
        "line 1: .* found 'the;1;2'; write numbers .* and spaces or tabs between",
    ),
    "semicolons and commas": ("2 2\nthe;1,5;2\na;3;4\n", "line 2: .* found 0 numbers"),
    "commas": ("2 2\nthe,1.5,2\na,3,4\n", "line 2: .* found 0 numbers"),
    "a header of names": ("word\tx\ty\nthe\t1\t2\n", "line 1: expected a word and its numbers, found 'word"),
    "numbers alone": ("0.1 0.2 0.3\n0.4 0.5 0.6\n", "line 1: .* found numbers alone: '0.1"),
    "indented numbers alone": ("  0.1 -0.2 0.3\n -0.4 0.5 0.6\n", "line 1: .* found numbers alone"),
    "numbers alone after a header": ("2 3\n0.1 0.2 0.3\n0.4 0.5 0.6\n", "line 2: .* found 2 numbers"),
    "two vectors without a word": ("3 1\n 1\na 2\n 3\n", "before each vector, found 2 vectors without one"),
    "a blank line": ("3 1\na 1\n\nb 2\n", "line 3: expected a word and 1 numbers, found 0"),
    "carriage returns alone": (
        "2 1\ra 1\rb 2\r",
        "line 1: expected lines that end in .* found only carriage returns",
    ),
    "not a number": ("2 1\na nan\nb 2\n", "line 2: the vector of 'a' contains NaN or infinity"),
    "infinity": ("a 1e39\nb 2\n", "line 1: the vector of 'a' contains NaN or infinity"),
    "half a file": ("2 2\nthe 1 2\na 3", "line 3: .* found 1"),
    "sentences": ("the black cat\nle chat noir\n", "line 1: expected a word and its numbers, found 'the"),
    "UTF-16 without its mark": ("2 1\na 1\nb 2\n".encode("utf-16-le"), "encoding=utf-16-le"),
    "UTF-16 the other way round": ("2 1\na 1\nb 2\n".encode("utf-16-be"), "encoding=utf-16-be"),
    "Git LFS": ("version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
    "a web page": ("<!DOCTYPE html>\n<html></html>", "a web page"),
    "safetensors": (
        struct.pack("<Q", 62) + b'{"x":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}' + bytes(10),
        "a safetensors file",
    ),
    "old PyTorch": (b"\x80\2\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\2M\xe9\3.", "a PyTorch file"),
    "a database": (b"SQLite format 3\0" + bytes(100), "an SQLite database"),
    "an array": (
        b"\x93NUMPY\1\0v\0{'descr': '<f8'",
        "a NumPy array .* a matrix X.npy or X.npz needs its words beside it",
    ),
    "any bytes": (b"\x01\x02\x03\xff" * 50, "expected vectors as text, or in a binary form of"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    path = tmp_path / "x.bin"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=rf"x\.bin.*: .*{message}|x\.bin, {message}"):
        load_embeddings(path)


def test_gensims_reader_of_text_changes_or_refuses_what_is_told_or_read_here(tmp_path: Path) -> None:
    """These are the reasons for a reader of our own beside gensim's."""
    from gensim.models import KeyedVectors

    path = tmp_path / "v.txt"

    def by_gensim(content: str) -> KeyedVectors:
        path.write_text(content, encoding="utf-8")
        return KeyedVectors.load_word2vec_format(str(path))

    assert np.isnan(by_gensim("2 1\na nan\nb 2\n")["a"]).all()
    with pytest.raises(DataError, match="NaN"):
        load_embeddings(path)
    assert by_gensim("2 1\na 1_0\nb 2\n")["a"] == 10
    with pytest.raises(DataError, match="1_0"):
        load_embeddings(path)
    assert None in by_gensim("3 1\na 1\na 2\nb 3\n").index_to_key
    with pytest.warns(UserWarning, match="1 words are repeated"):
        assert [*load_embeddings(path).vocabulary] == ["a", "b"]
    for content in (
        "2 1\nnew york 1\nb 2\n",
        "2 1\na\t1\nb\t2\n",
        "2 1\na 1,5\nb 2,5\n",
        "\ufeff2 1\na 1\nb 2\n",
    ):
        with pytest.raises(ValueError, match=r"could not|invalid literal"):
            by_gensim(content)
        assert len(load_embeddings(path)) == 2


def test_utf_16_without_its_mark_is_read_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.vec"
    path.write_bytes(text().encode("utf-16-le"))
    found = load_embeddings(path, encoding="utf-16-le")
    assert found.vocabulary.words == WORDS
    path.write_bytes(text().encode("utf-16-le")[:-1])
    with pytest.raises(DataError, match=r"expected word vectors|expected a word and 3 numbers"):
        load_embeddings(path, encoding="utf-16-le")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("format", ["word2vec", "word2vec-binary"])
def test_compressed_files_need_no_ending(compress: Any, format: str, tmp_path: Path) -> None:
    save_embeddings(Embeddings.of(WORDS, MATRIX), tmp_path / "x", format=format)
    (tmp_path / "y").write_bytes(compress((tmp_path / "x").read_bytes()))
    assert detect_format(tmp_path / "y") == format
    np.testing.assert_array_equal(load_embeddings(tmp_path / "y").matrix, MATRIX)


@pytest.mark.parametrize(
    ("member", "what"),
    [
        ("v/data.pkl", "a PyTorch file"),
        ("[Content_Types].xml", "an Office document"),
        ("embeddings.npy", r"a NumPy archive \(.npz\); .* X.npz needs its words beside it"),
    ],
)
def test_archives_are_named(member: str, what: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.bin", "w") as archive:
        archive.writestr(member, "x")
    with pytest.raises(DataError, match=rf"x\.bin: expected word vectors, found {what}"):
        load_embeddings(tmp_path / "x.bin")


# --- word2vec's binary form ----------------------------------------------------------------------


def binary(words: list[str], matrix: Any, header: str | None = None, end: bytes = b"") -> bytes:
    """Write word2vec's binary form."""
    rows = np.asarray(matrix, "<f4")
    start = header or f"{len(words)} {rows.shape[1]}"
    content = [word.encode() + b" " + row.tobytes() + end for word, row in zip(words, rows, strict=True)]
    return start.encode() + b"\n" + b"".join(content)


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize(
    "matrix", [MATRIX, np.zeros((3, 2)), np.ones((3, 1)), np.full((3, 1), 0.1)], ids=lambda m: str(m[0])
)
def test_bytes_are_told_from_text(matrix: Any, end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.vec"
    path.write_bytes(binary(WORDS, matrix, end=end))
    assert detect_format(path) == "word2vec-binary"
    found = load_embeddings(path)
    assert found.vocabulary.words == WORDS
    np.testing.assert_array_equal(found.matrix, matrix.astype(np.float32))


WRONG_BINARY = {
    "more rows": (binary(WORDS, MATRIX, "2 3"), r"promises 2 words, found b'\\xc3\\xa9t\\xc3\\xa9 "),
    "fewer rows": (binary(WORDS, MATRIX, "4 3"), "promises 4 words of 3 numbers|the file ends after 3"),
    "longer rows": (binary(WORDS, MATRIX, "3 2"), "or the header is wrong|found b"),
    "shorter rows": (binary(WORDS, MATRIX, "3 4"), "the file ends after"),
    "a word with a space": (binary(["new york"], [[1, 2]]), "if words contain spaces, write the vectors"),
    "half a row": (binary(WORDS, MATRIX)[:-2], "the file ends after 2"),
    "numbers of 8 bytes": (b"1 2\nthe " + np.ones(2, "<f8").tobytes(), "promises 1 words, found"),
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", WRONG_BINARY)
def test_a_wrong_count_of_bytes_is_refused(name: str, compress: Any, tmp_path: Path) -> None:
    data, message = WRONG_BINARY[name]
    (tmp_path / "x.bin").write_bytes(compress(data))
    with pytest.raises(DataError, match=rf"x\.bin: .*({message})"):
        load_embeddings(tmp_path / "x.bin")


def test_the_first_rows_of_a_longer_file_are_read_by_a_limit(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(binary(WORDS, MATRIX, "2 3"))
    assert load_embeddings(tmp_path / "x.bin", limit=1).vocabulary.words == ["the"]


def test_text_is_never_read_as_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_text(text(), encoding="utf-8")
    with pytest.raises(DataError, match="expected word2vec's binary form, found text"):
        load_embeddings(tmp_path / "x.bin", format="word2vec-binary")


def test_words_with_a_tab_are_not_written_as_text(tmp_path: Path) -> None:
    embeddings = Embeddings.of(["a\tb"], [[1.0]])
    with pytest.raises(DataError, match="contains a space, a tab"):
        save_embeddings(embeddings, tmp_path / "x", format="word2vec")
    save_embeddings(embeddings, tmp_path / "x", format="word2vec-binary")
    assert load_embeddings(tmp_path / "x").vocabulary.words == ["a\tb"]


# --- fastText ------------------------------------------------------------------------------------


def fasttext(model: int, entries: list[tuple[bytes, int]]) -> bytes:
    """Write a fastText model of one dimension without sub-words; entries have a kind, 1 for labels."""
    words = sum(kind == 0 for _, kind in entries)
    head = struct.pack("<i13id", 793712314, 12, 1, 5, 5, 1, 5, 1, 2, model, 0, 0, 0, 100, 1e-4)
    head += struct.pack("<3iqq", len(entries), words, len(entries) - words, 9, -1)
    dictionary = b"".join(word + b"\0" + struct.pack("<qb", 9, kind) for word, kind in entries)
    return head + dictionary + b"\0" + struct.pack("<qq", words, 1) + np.arange(words, dtype="<f4").tobytes()


def test_a_label_in_an_unsupervised_model_has_no_vector(tmp_path: Path) -> None:
    path, entries = tmp_path / "x.bin", [(b"the", 0), (b"cat", 0), (b"__label__x", 1)]
    path.write_bytes(fasttext(2, entries))
    found = load_embeddings(path)
    assert found.vocabulary.words == ["the", "cat"]
    np.testing.assert_array_equal(found.matrix, [[0], [1]])
    path.write_bytes(fasttext(3, entries))
    with pytest.raises(DataError, match=r"supervised fastText model \(1 labels\)"):
        load_embeddings(path)
    path.write_bytes(fasttext(2, entries[::-1]))
    with pytest.raises(DataError, match="expected 2 words and then labels, found b'__label__x'"):
        load_embeddings(path)


# --- pickles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", [np.array, list, tuple])
def test_a_dictionary_of_vectors_is_read(kind: Any, protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "vectors.pkl"
    entries = {word: kind(row) for word, row in zip(WORDS, MATRIX, strict=True)}
    path.write_bytes(pickle.dumps(entries, protocol))
    assert detect_format(path) == "pickle"
    found = load_embeddings(path, limit=2)
    assert found.vocabulary.words == WORDS[:2]
    assert found.matrix.dtype == np.float64
    np.testing.assert_array_equal(found.matrix, MATRIX[:2])
    with pytest.warns(UserWarning, match="can run any code"):
        trusted = load_embeddings(path, unsafe_pickle=True)
    np.testing.assert_array_equal(trusted.matrix, MATRIX)


def test_a_dictionary_of_vectors_may_be_called_word2int(tmp_path: Path) -> None:
    vectors = dict(zip(WORDS, MATRIX.tolist(), strict=True))
    (tmp_path / "word2int_en.pkl").write_bytes(pickle.dumps(vectors))
    (tmp_path / "word2int_fr.json").write_text(json.dumps(vectors), encoding="utf-8")
    for name in ("word2int_en.pkl", "word2int_fr.json"):
        np.testing.assert_array_equal(load_embeddings(tmp_path / name).matrix, MATRIX)
    np.savez(tmp_path / "embeddings_en.npz", embeddings=np.zeros((3, 3)))
    with pytest.warns(UserWarning, match=r"word2int_en\.pkl: .* embeddings_en\.npz is not read"):
        found = load_embeddings(tmp_path / "word2int_en.pkl")
    np.testing.assert_array_equal(found.matrix, MATRIX)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1.0, 2.0], "b": [1.0]}, "expected 2 numbers for the word 'b', .*; found 1"),
        ({"a": [1.0], "b": "x"}, "expected a vector of numbers for the word 'b'"),
        ({"a": [True]}, "expected a vector of numbers for the word 'a'"),
        ({"a": np.eye(2)}, "expected a vector of numbers for the word 'a'"),
        ({"a": [[1.0]]}, "expected a vector of numbers for the word 'a'"),
        ({1: [1.0]}, "expected words as text, found int 1"),
        ({"a": 0, "b": 1}, r"call it word2int_XX\.pkl"),
        ({}, "found a dictionary without vectors"),
        ((("a",), np.eye(1)), "found tuple"),
    ],
)
def test_other_pickles_say_what_is_wrong(value: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.pkl"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(DataError, match=rf"vectors\.pkl: .*{message}"):
        load_embeddings(path)


def test_a_pickle_that_was_copied_as_text_is_mended(tmp_path: Path) -> None:
    words = {"the": 0, "black\r": 1, "été\n": 2}
    (tmp_path / "word2int_en.pkl").write_bytes(pickle.dumps(words, 0).replace(b"\n", b"\r\n"))
    np.savez(tmp_path / "embeddings_en.npz", embeddings=MATRIX)
    assert load_embeddings(tmp_path / "word2int_en.pkl").vocabulary.words == list(words)


@pytest.mark.parametrize("format", ["word2vec", "word2vec-binary"])
def test_the_only_file_of_a_zip_archive_is_read(format: Any, tmp_path: Path) -> None:
    vectors = Embeddings.of(WORDS, MATRIX.astype(np.float32))
    save_embeddings(vectors, tmp_path / "x.vec", format=format)
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "x.zip", "w", compression) as archive:
            archive.mkdir("folder")
            archive.write(tmp_path / "x.vec", "folder/x.vec")
            archive.writestr("__MACOSX/folder/._x.vec", b"\0\1")
            archive.writestr("folder/.DS_Store", b"\0\1")
        read = load_embeddings(tmp_path / "x.zip")
        assert read.vocabulary.words == WORDS
        np.testing.assert_array_equal(read.matrix, MATRIX)


def test_other_zip_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    several = "expected one file, found a ZIP archive of 4 files \\(a.vec, b.vec, c.vec, ...\\); unpack it"
    for names, message in (
        (("a.vec", "b.vec", "c.vec", "d.vec"), several),
        ((), "found a ZIP archive of no file"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, text())
        with pytest.raises(DataError, match=message):
            load_embeddings(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.vec", text(header=None) + "word 0 0 0\n" * 2_000_000)
    with pytest.raises(DataError, match="the file unpacks to over 4,194,304 bytes and 100 times its size"):
        load_embeddings(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.vec", text())
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(DataError, match="the zip archive is damaged or ends too early"):
        load_embeddings(path)


def prefixed(prefixes: list[str]) -> str:
    """Write vectors with a language in front of each word."""
    words = [prefix + word for prefix in prefixes for word in WORDS]
    lines = [f"{len(words)} 3"]
    lines += [f"{word} {n} 1 2" for n, word in enumerate(words)]
    return "".join(f"{line}\n" for line in lines)


def test_a_language_in_front_of_words_is_stripped(tmp_path: Path) -> None:
    path = tmp_path / "n.txt"
    path.write_text(prefixed(["/c/de/", "/c/en/", "/c/fr/"]), encoding="utf-8")
    several = r"all words begin with a language \(/c/de/, /c/en/, /c/fr/\); .* `strip_prefix=/c/de/`"
    with pytest.warns(UserWarning, match=several):
        every = load_embeddings(path)
    assert len(every) == 9
    save_embeddings(every, tmp_path / "n.bin", format="word2vec-binary")
    save_embeddings(every, tmp_path / "folder")
    for name in ("n.txt", "n.bin", "folder"):
        for limit in (None, 2):
            read = load_embeddings(tmp_path / name, strip_prefix="/c/en/", limit=limit)
            assert read.vocabulary.words == WORDS[:limit]
            assert read.matrix[:, 0].tolist() == [3, 4, 5][:limit]
        with pytest.raises(DataError, match="expected words that begin with '/c/it/', found none"):
            load_embeddings(tmp_path / name, strip_prefix="/c/it/")


def test_the_prefix_of_conceptnet_is_stripped_if_it_is_the_only_one(tmp_path: Path) -> None:
    path = tmp_path / "n.txt"
    words = ["the", "black", "cat", "sleeps"]
    rows = [f"/c/en/{word} {n} 1" for n, word in enumerate(words)]
    path.write_text("\n".join(rows), encoding="utf-8")
    with pytest.warns(UserWarning, match="words are read without their common prefix /c/en/"):
        assert load_embeddings(path).vocabulary.words == words
    path.write_text("\n".join(row.replace("/c/en/", "en_") for row in rows), encoding="utf-8")
    with pytest.warns(UserWarning, match="all words begin with a language"):
        assert load_embeddings(path).vocabulary.words == [f"en_{word}" for word in words]
    path.write_text("\n".join([*rows, "word 1 2"]), encoding="utf-8")
    assert len(load_embeddings(path)) == 5
