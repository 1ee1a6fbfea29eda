"""Files from strangers: each ends in one line with its place, quickly, and in little memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import sqlite3
import struct
import tracemalloc
import warnings
import zipfile
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
import zstandard
from numpy.testing import assert_array_equal

import nmtalign
from nmtalign import cli
from nmtalign.corpus.bitext_index import open_index, write_index_file
from nmtalign.dictionaries.reading import read_dictionary
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.external.matrix_files import read_vectors
from nmtalign.files import array_files, compressed, text_files
from nmtalign.files.array_files import read_array, read_arrays
from nmtalign.files.paths import file_inside, reraise_as_data_error
from nmtalign.files.text_files import read_json, read_lines
from nmtalign.links.formats import read_link_records
from nmtalign.state import fingerprints
from nmtalign.text import readers as text_readers
from nmtalign.text import xml_bitexts
from nmtalign.text.bitext import read_bitext
from nmtalign.text.tokenization import TextSettings
from nmtalign.vectors.embeddings import Vocabulary
from nmtalign.vectors.pickles import read_pickle
from nmtalign.vectors.storage import load_embeddings, save_embeddings
from nmtalign.vectors.subword_vectors import MAX_NGRAM_CHARS, CharacterNgrams, word_blocks

# --- NumPy's files -------------------------------------------------------------------------------


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(descr: str, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def npz(*members: tuple[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", packing) as archive:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def patched(data: bytes, *places: tuple[int, int, int]) -> bytes:
    """Set bytes at an offset of the local and of the central header."""
    changed, central = bytearray(data), data.index(b"PK\1\2")
    for local, there, value in places:
        changed[local], changed[central + there] = value, value
    return bytes(changed)


GOOD = npy(np.eye(2))
ARRAYS = {
    "one name twice": (npz(("a.npy", GOOD), ("a.npy", npy(np.ones(9)))), "found two of the same name"),
    "with and without ending": (npz(("a", GOOD), ("a.npy", GOOD)), "found two of the same name"),
    "a single array": (GOOD, r"\(\.npz, by numpy.savez\), found a single one"),
    "objects": (
        npz(("a.npy", npy(np.array([{}], object)))),
        "real numbers, found object",
    ),
    "text": (npz(("a.npy", npy(np.array(["a"])))), "expected an array of real numbers"),
    "items of no bytes": (npz(("a.npy", header("V0", (1 << 40,)))), "expected an array of real numbers"),
    "more than there is": (npz(("a.npy", header("<f8", (1 << 40,)))), "found one of shape"),
    "a negative length": (npz(("a.npy", header("<f8", (-1, 2)) + bytes(64))), "found one of shape"),
    "an unclosed header": (npz(("a.npy", b"\x93NUMPY\1\0\x10\0" + b"(" * 16)), "not a readable file"),
    "a nested header": (npz(("a.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 9000) + b"(" * 9000)), "readable"),
    "encrypted": (patched(npz(("a.npy", GOOD)), (6, 8, 1)), "encrypted"),
    "unknown packing": (patched(npz(("a.npy", GOOD)), (8, 10, 99)), "compression method"),
    "cut off": (npz(("a.npy", npy(np.random.default_rng(0).random(99))))[:300], "not a zip file"),
    "no archive": (b"words", "not a zip file"),
    "empty": (b"", "not a zip file"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_bad_archives_are_one_error(case: str, tmp_path: Path) -> None:
    data, message = ARRAYS[case]
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(DataError, match=message) as caught:
        read_arrays(tmp_path / "x.npz")
    assert str(caught.value).startswith(str(tmp_path / "x.npz"))


def test_an_archive_that_unpacks_out_of_proportion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.npz").write_bytes(npz(("a.npy", npy(np.zeros(100_000)))))
    assert_array_equal(read_arrays(tmp_path / "x.npz")["a"], np.zeros(100_000))  # small enough
    monkeypatch.setattr(array_files, "FREE_ARRAY_BYTES", 1000)
    expected = r"an archive that decompresses to at most [\d,]+ bytes, found 800,128"
    with pytest.raises(DataError, match=expected):
        read_arrays(tmp_path / "x.npz")


def test_an_array_counts_as_if_in_double_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of bytes becomes one of doubles, such as vectors of integers."""
    monkeypatch.setattr(array_files, "FREE_ARRAY_BYTES", 200_000)
    for count, most in ((20_000, True), (30_000, False)):
        content = npy(np.zeros(count, np.int8))
        (tmp_path / "x.npz").write_bytes(npz(("a.npy", content)))
        expected = r"a: expected an array of at most [\d,]+ numbers, found 30,000"
        with nullcontext() if most else pytest.raises(DataError, match=expected):
            assert len(read_array(tmp_path / "x.npz")) == count


@pytest.mark.parametrize("data", [b"", b"words", header("<f8", (9, 9)), npy(np.array([{}], object))])
def test_bad_arrays_are_one_error(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(DataError, match=r"x\.npy: "):
        read_array(tmp_path / "x.npy")


def test_vectors_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "word2int_en.pkl").write_bytes(pickle.dumps({"the": 0}))
    np.savez(tmp_path / "embeddings_en.npz", embeddings=np.array([[1.0, np.nan]]))
    with pytest.raises(DataError, match=r"embeddings_en\.npz: the vectors contain NaN"):
        load_embeddings(tmp_path / "word2int_en.pkl")


# --- pickles and compressed vectors --------------------------------------------------------------

MANY = 1 << 17
HUGE_KEY = pickle.dumps(1 << 2000, 2)[2:-1]
SWELLING = {
    "empty sets": b"\x8f" * MANY,
    "empty dictionaries": b"}" * MANY,
    "empty lists": b"]" * MANY,
    "marks": b"(" * MANY,
    "tuples in tuples": b"N" + b"\x85" * MANY,
    "places in the memo": b"N" + b"\x94" * MANY,
    "a huge number as key": b"}(" + HUGE_KEY + b"Nu",
    "a huge number as key again and again": HUGE_KEY + b"q\0}(" + b"h\0N" * MANY + b"u",
    "5,000 digits": b"I" + b"9" * 5000 + b"\n",
}


@pytest.mark.parametrize("case", SWELLING)
def test_pickles_that_swell_are_refused(case: str) -> None:
    with pytest.raises(DataError, match=r"would need more than|at most 64 bits|not a pickle, or damaged"):
        read_pickle(b"\x80\4" + SWELLING[case] + b".")


@pytest.mark.parametrize("protocol", range(6))
def test_honest_pickles_of_short_words_do_not_swell(protocol: int) -> None:
    words = {"".join(letters): n for n, letters in enumerate(product(ascii_lowercase, repeat=3))}
    assert read_pickle(pickle.dumps(words, protocol)) == words
    assert read_pickle(pickle.dumps(list(words), protocol)) == list(words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"2 4000000\nthe 1 2\n", "the header claims 2 words of 4000000 numbers"),
        (b"9" * 5000 + b" " + b"9" * 5000 + b"\nthe 1 2\n", "line 1"),
        (b"the" + b" 1" * 70_000 + b"\n", "expected a word and its numbers"),
    ],
)
def test_headers_and_rows_out_of_all_proportion(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.vec").write_bytes(text)
    with pytest.raises(DataError, match=message):
        load_embeddings(tmp_path / "x.vec")


@pytest.mark.parametrize("name", ["x.vec.gz", "x.kv.gz"])
def test_compressed_vectors_unpack_to_a_bound(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "FREE_DECOMPRESSED_BYTES", 1 << 16)
    start = b"\x80\2" if ".kv" in name else b"the "
    (tmp_path / name).write_bytes(gzip.compress(start + b"x" * (1 << 22)))
    with pytest.raises(DataError, match="unpacks to over"):
        load_embeddings(tmp_path / name, format="gensim" if ".kv" in name else "word2vec")


def test_long_words_are_composed_of_ngrams_a_few_at_a_time() -> None:
    words = ["a", *[letter * 50_000 for letter in ascii_lowercase[:5]], "b" * 200_000, *"cd" * 1500]
    blocks = list(word_blocks(words))
    assert [word for block in blocks for word in words[block]] == words
    for block in blocks:
        chars = sum(map(len, words[block]))
        assert len(words[block]) <= 2048
        assert chars <= 1 << 17 or len(words[block]) == 1
    assert len(blocks) == 6
    with pytest.raises(DataError, match="expected sub-words of at most 64 characters, found 1 to 65"):
        CharacterNgrams(np.ones((3, 2), np.float32), 1, MAX_NGRAM_CHARS + 1)


def test_a_packed_pickle_has_one_budget(tmp_path: Path) -> None:
    """What it unpacks to and the objects that are made of this count together."""
    lists, zeros = b"]" * (1 << 18), b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20)
    pickled = b"\x80\4(" + lists + zeros + b"l."
    packed = gzip.compress(pickled)
    (tmp_path / "x.kv").write_bytes(packed)
    tracemalloc.start()
    try:
        with pytest.raises(
            DataError, match=r"x\.kv: the pickle would need more than .* 100 times that of a packed"
        ):
            load_embeddings(tmp_path / "x.kv")
        assert tracemalloc.get_traced_memory()[1] < 4 * compressed.FREE_DECOMPRESSED_BYTES
    finally:
        tracemalloc.stop()
    with pytest.raises(DataError, match="found list"):  # a plain file is larger, and has more
        load_embeddings(_written(tmp_path / "y.kv", pickled), format="gensim")


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("format", ["folder", "word2vec", "word2vec-binary"])
@pytest.mark.parametrize("word", ["a\nb", "\ud800"])
def test_words_that_no_line_can_hold_are_not_written(word: str, format: str, tmp_path: Path) -> None:
    embeddings = nmtalign.Embeddings(Vocabulary.from_words([word]), np.eye(1))
    with pytest.raises(DataError, match=r"cannot keep (it|the word)"):
        save_embeddings(embeddings, tmp_path / "x", format=format)


GENSIM = {  # attributes of gensim's KeyedVectors, beside its list of words
    "a number of side files": {"__numpys": 3},
    "side files of another type": {"__numpys": [["vectors"]]},
    "text for side files": {"__numpys": "vectors"},
    "a side file that is not there": {"__numpys": ["vectors"]},
    "vectors that are a list": {"vectors": [[1.0]], "__numpys": None},
    "one axis": {"vectors": np.ones(1)},
    "no axis": {"vectors": np.array(1.0)},
}


@pytest.mark.parametrize("case", GENSIM)
@pytest.mark.parametrize("kind", ["KeyedVectors", "FastTextKeyedVectors"])
def test_gensim_files_with_attributes_of_other_types(kind: str, case: str, tmp_path: Path) -> None:
    from gensim.models import fasttext, keyedvectors

    made = getattr(fasttext if "Fast" in kind else keyedvectors, kind)
    vectors = made.__new__(made)
    vectors.__dict__ = {"index_to_key": ["the"], "compatible_hash": True, **GENSIM[case]}
    (tmp_path / "x.kv").write_bytes(pickle.dumps(vectors))
    with pytest.raises(DataError, match=r"x\.kv: "):
        load_embeddings(tmp_path / "x.kv")


def test_an_encoding_that_there_is_not_is_the_fault_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / "x.vec").write_text("the 1 2\n", encoding="utf-8")
    for given in ({"encoding": "x"}, {"errors": "x"}):
        with pytest.raises(UsageError, match=r"expected an encoding such as|words cannot be decoded"):
            load_embeddings(tmp_path / "x.vec", **given)


@pytest.mark.parametrize("lengths", [[2**63, 2**63, 2], [2**64 - 1, 3], [-1, 3], [3]])
def test_lengths_of_token_vectors_that_wrap(lengths: list[int], tmp_path: Path) -> None:
    for side in ("source", "target"):
        np.save(tmp_path / f"{side}.npy", np.eye(2))
        np.save(tmp_path / f"{side}_lengths.npy", np.array([2]))
    pairs = [(["a", "b"], ["c", "d"])]
    list(read_vectors(tmp_path, "cosine", "subwords", pairs))
    kind = np.int64 if min(lengths) < 0 else np.uint64
    np.save(tmp_path / "target_lengths.npy", np.array(lengths, kind))
    with pytest.raises(DataError, match=r"target_lengths\.npy: expected 0 to 2 words in each pair, found"):
        list(read_vectors(tmp_path, "cosine", "subwords", [(["a"], ["c"])]))


def test_token_vectors_without_axes(tmp_path: Path) -> None:
    for name in ("source", "target", "source_lengths", "target_lengths"):
        np.save(tmp_path / f"{name}.npy", np.array(2))
    with pytest.raises(DataError, match=str(tmp_path)):
        list(read_vectors(tmp_path, "cosine", "subwords", [(["a"], ["c"])]))


# --- one place for whatever goes wrong -----------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        *(KeyError("a"), TypeError("b"), RecursionError(), OverflowError(), ZeroDivisionError()),
        *(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), OSError("no name"), EOFError(), MemoryError()),
        FileNotFoundError(2, "gone", "another file"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_file_makes_python_raise_is_one_error(error: Exception) -> None:
    expected = rf"^x: bad \({type(error).__name__}(: .+)?\)$"
    with pytest.raises(DataError, match=expected) as caught, reraise_as_data_error("x", "bad"):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [UsageError("a"), NmtalignError("b"), OSError(24, "too many", "x"), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
def test_what_is_not_the_fault_of_a_file_stays(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, reraise_as_data_error("x", "bad"):
        raise error
    assert caught.value is error


def test_a_file_that_is_not_there_is_bad_data() -> None:
    with pytest.raises(DataError, match=r"^x: gone$"), reraise_as_data_error("x", "bad"):
        raise FileNotFoundError(2, "gone", "x")


def test_an_error_is_not_its_own_cause() -> None:
    """Such a one cannot be sent to another process."""
    with pytest.raises(DataError) as caught, reraise_as_data_error("x", "bad"):
        raise DataError("x: gone")
    assert caught.value.__cause__ is None


def test_a_name_that_is_no_name_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    for name in ("a\0b", "x" * 5000, "round"):
        with pytest.raises((DataError, OSError)):
            file_inside(tmp_path, name)


# --- text ----------------------------------------------------------------------------------------


def xml(encoding: str) -> str:
    return f'<?xml version="1.0" encoding="{encoding}"?><tmx/>'


BITEXTS = {
    "deep list.jsonl": ("[" * 100_000, "line 1: expected JSON"),
    "deep object.jsonl": ('{"a":' * 100_000, "line 1: expected JSON"),
    "digits.jsonl": ('{"source": ' + "9" * 5000 + "}", "line 1: expected JSON"),
    "an unpaired surrogate.jsonl": ('{"source": "\\ud83d", "target": "b"}', "line 1: .*unpaired surrogate"),
    "deep.tmx": ("<tmx><tu><tuv><seg>" + "<hi>" * 100_000, "line 1: expected elements nested at most"),
    "utf-7.tmx": (xml("utf-7"), "expected a common encoding"),
    "unknown.tmx": (xml("x-unknown"), "expected a common encoding"),
    "escape.tmx": (xml("unicode_escape"), "expected a common encoding"),
    "entity.tmx": ('<!DOCTYPE a [<!ENTITY b "c">]><tmx>&b;</tmx>', "is not expanded"),
}


@pytest.mark.parametrize("name", BITEXTS)
def test_bad_bitexts_are_one_error(name: str, tmp_path: Path) -> None:
    text, message = BITEXTS[name]
    (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        list(read_bitext(tmp_path / name))
    assert str(caught.value).startswith(str(tmp_path / name))
    assert len(str(caught.value)) < 1000


def test_a_whole_character_of_two_halves_is_text(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"source": "\\ud83d\\ude00", "target": "b"}\n', encoding="utf-8")
    assert [tuple(pair) for pair in read_bitext(tmp_path / "x.jsonl")] == [("\U0001f600", "b")]


def test_a_small_parquet_file_takes_little_memory(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    repeated = {"source": ["a" * 500_000] * 100, "target": ["b"] * 100}
    parquet.write_table(arrow.table(repeated), path)  # with a dictionary of one text
    before = arrow.total_allocated_bytes()
    tracemalloc.start()
    try:
        rows = list(text_readers.read_pair_records(path, "parquet", "utf-8", None))
        assert {len(source) for source, _ in rows} == {500_000}
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        assert arrow.total_allocated_bytes() - before < 10_000_000
    finally:
        tracemalloc.stop()
    long = {"source": ["a" * 5_000_000], "target": ["b"]}
    parquet.write_table(arrow.table(long), path, compression="zstd", use_dictionary=False)
    expected = r"x\.parquet: expected columns that decompress to at most [\d,]+ bytes, found 5,000,\d+"
    with pytest.raises(DataError, match=expected):
        list(read_bitext(path))


@pytest.mark.parametrize("place", [10, 40, 200, -60])
def test_damaged_parquet(place: int, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"source": [f"the cat {n}" for n in range(2000)], "target": ["le chat"] * 2000})
    parquet.write_table(table, tmp_path / "x.parquet", compression="none")
    data = bytearray((tmp_path / "x.parquet").read_bytes())
    data[place : place + 8] = b"\xff" * 8
    (tmp_path / "x.parquet").write_bytes(data)
    with suppress(DataError):  # a byte inside a word is no damage that could be seen
        list(read_bitext(tmp_path / "x.parquet"))


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"links": [[1e999, 0]]}',
        '{"links": [[0.5, 0]]}',
        '{"links": [[true, 0]]}',
        '{"links": [[99999999999999999999, 0]]}',
        '{"links": "01"}',
        '{"links": [], "possible": {"a": 1}}',
        '{"links": [], "source": [1], "target": "ab"}',
        '{"links": [], "source": ["\\ud800"], "target": ["b"]}',
    ],
    ids=lambda line: line[:30],
)
def test_links_in_json_are_whole_numbers_and_text(line: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1"):
        list(read_link_records(tmp_path / "x", format="jsonl"))


def test_a_pair_number_out_of_all_proportion(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("999999999 1 1\n", encoding="utf-8")
    with pytest.raises(DataError, match="at most 1,000,000 pairs without a line"):
        list(read_link_records(tmp_path / "x", format="naacl"))


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 1000)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"short\n" + b"x" * 5000))
    with pytest.raises(DataError, match="line 2: expected at most 1,000 bytes"):
        list(read_lines(tmp_path / "x.gz"))


PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


@pytest.mark.parametrize("ending", PACKED)
def test_text_unpacks_to_a_bound(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "FREE_DECOMPRESSED_BYTES", 1 << 16)
    path = tmp_path / f"x.txt{ending}"
    path.write_bytes(PACKED[ending](b"a ||| b\n" * (1 << 13)))  # as much as any file may
    assert sum(1 for _ in read_lines(path)) == 1 << 13
    lines = [f"{n * n} ||| {n}" for n in range(1 << 13)]
    path.write_bytes(PACKED[ending]("\n".join(lines).encode()))  # more, and in proportion
    assert list(read_lines(path)) == lines
    path.write_bytes(PACKED[ending](b"a ||| b\n" * (1 << 17)))
    with pytest.raises(DataError, match="unpacks to over 65,536 bytes and 100 times its size") as caught:
        list(read_lines(path))
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("ending", PACKED)
def test_a_small_file_takes_little_memory(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is unpacked at a time, 16 MB at most, and the longest line; not the 32 MB that are in the file."""
    monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 1 << 20)
    path = tmp_path / f"x.txt{ending}"
    path.write_bytes(PACKED[ending](bytes(1 << 25)))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="line 1: expected at most 1,048,576 bytes"):
            list(read_lines(path))
        assert tracemalloc.get_traced_memory()[1] < 1.2 * (1 << 24) + 4 * text_files.MAX_LINE_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["x.tmx", "x.tmx.gz", "x.xliff"])
@pytest.mark.parametrize("filling", ["a ", "<hi/>", '<ph x="aaaaaaaaaaaaaaaaaaaaaaaaaaa"/>'])
def test_a_unit_is_limited_while_it_is_read(
    filling: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_bitexts, "MAX_UNIT_CHARS", 20_000)
    start = '<f><tu><tuv xml:lang="en"><seg>' if "tmx" in name else "<f><segment><source>"
    middle = '</seg></tuv><tuv xml:lang="fr"><seg>' if "tmx" in name else "</source><target>"
    end = "</seg></tuv></tu></f>" if "tmx" in name else "</target></segment></f>"
    pack = gzip.compress if name.endswith(".gz") else bytes
    (tmp_path / name).write_bytes(pack(f"{start}{filling * 50}{middle}b{end}".encode()))
    assert len(list(read_bitext(tmp_path / name))) == 1
    (tmp_path / name).write_bytes(pack(f"{start}{filling * 20_000}".encode()))  # no end is needed
    with pytest.raises(DataError, match="line 1: expected at most 20,000 characters in a unit"):
        list(read_bitext(tmp_path / name))


def test_units_are_limited_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_bitexts, "MAX_UNIT_CHARS", 2_000)
    unit = "<segment><source>a</source><target>b</target></segment>"
    (tmp_path / "x.xliff").write_text(f"<f>{'x' * 5000}{unit * 100}</f>", encoding="utf-8")
    assert len(list(read_bitext(tmp_path / "x.xliff"))) == 100


def test_messages_of_many_lines_and_piles_of_marks_take_little_time(tmp_path: Path) -> None:
    (tmp_path / "x.po").write_text('msgid ""\n' + '"x"\n' * 50_000 + 'msgstr "b"\n', encoding="utf-8")
    assert [len(pair.source) for pair in read_bitext(tmp_path / "x.po")] == [50_000]
    word = "a" + "\u0301\u0323" * 50_000
    assert TextSettings().words(word) == [word]
    assert TextSettings(unicode="strip-accents").words("e\u0301" * 600) == ["e" * 600]


def test_pairs_without_a_line_are_counted_together(tmp_path: Path) -> None:
    """A line for each millionth pair would make a million pairs of each."""
    (tmp_path / "x").write_text("400000 1 1\n800000 1 1\n1200000 1 1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 3: expected .* at most 1,000,000 pairs without a line"):
        deque(read_link_records(tmp_path / "x", format="naacl"), maxlen=0)


def test_short_lines_of_gold_that_are_equal_share_their_links(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("0-0 1p1\n\n" * 1000, encoding="utf-8")
    assert len(set(map(id, nmtalign.read_gold(tmp_path / "gold")))) == 2


def test_a_word_list_without_measure(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("the le 1e308\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 1: .*a weight above 0, to 1e"):
        read_dictionary(tmp_path / "x")


def test_many_tags_take_little_time_and_deep_ones_are_refused() -> None:
    many = "<b/>" * 20_000 + "the"
    [projected] = nmtalign.project([("the", "le", "0-0")], [many])
    assert projected == "<b/>" * 20_000 + "le"
    with pytest.raises(DataError, match="at most 100 deep"):
        nmtalign.project([("the", "le", "0-0")], ["<b>" * 5000 + "the" + "</b>" * 5000])


def test_an_index_with_other_tables_is_refused(tmp_path: Path) -> None:
    write_index_file(tmp_path / "x", [(["a"], ["b"], {(0, 0)})], TextSettings())
    with sqlite3.connect(tmp_path / "x") as database:
        database.execute("DROP TABLE words")
        endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
        database.execute(f"CREATE VIEW words AS {endless} SELECT n AS side, n AS number, n AS word FROM r")
    with pytest.raises(DataError, match="expected the tables of an index"):
        open_index(tmp_path / "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_for_a_small_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "meta.json")
    with pytest.raises(DataError, match="expected a plain file"):
        read_json(tmp_path / "meta.json")


# --- a model from elsewhere ----------------------------------------------------------------------


def lexicon_of(meta: dict[str, Any]) -> Any:
    return meta["parts"]["scorer"]["parts"]["lexicon"]


def forms_of(meta: dict[str, Any]) -> Any:
    return lexicon_of(meta)["parts"]["forms-0"]


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "no forms": lambda meta: lexicon_of(meta)["parts"].clear(),
    "parts of another type": lambda meta: lexicon_of(meta).update(parts=[]),
    "forms of another type": lambda meta: lexicon_of(meta)["parts"].update({"forms-0": None}),
    "one language": lambda meta: meta.update(languages=["en"]),
    "a language that is no text": lambda meta: meta.update(languages=[["en"], "fr"]),
    "a corpus that is no object": lambda meta: meta["training"].update(corpus="x"),
    "a corpus of -1 pairs": lambda meta: meta["training"]["corpus"].update(pairs=-1),
    "a corpus of text for pairs": lambda meta: meta["training"]["corpus"].update(pairs=""),
    "settings that are no object": lambda meta: meta.update(training=[]),
    "a tokenizer outside": lambda meta: meta["text"].update(tokenizer="sentencepiece:../../x"),
    "a tokenizer beside the folder": lambda meta: meta["text"].update(tokenizer="sentencepiece:../x.model"),
    "a device as tokenizer": lambda meta: meta["text"].update(tokenizer="sentencepiece:/dev/zero"),
    "a number as tokenizer": lambda meta: meta["text"].update(tokenizer=3),
    "no text for lowercase": lambda meta: meta["text"].update(lowercase="no"),
    "a null probability of 0": lambda meta: meta["parts"]["positions"].update(null=0),
    "a scale without bounds": lambda meta: meta["parts"]["scorer"]["parts"]["spectral"].update(scale=1e308),
    "infinity": lambda meta: lexicon_of(meta).update(spelling=float("inf")),
    "10^400": lambda meta: lexicon_of(meta).update(spelling=10**400),
    "an unknown scorer": lambda meta: meta["parts"]["scorer"]["parts"].update(other={}),
    "a scorer of an unknown kind": lambda meta: lexicon_of(meta).update(kind="other"),
    "no scorer": lambda meta: meta["parts"].pop("scorer"),
    "no kind": lambda meta: meta["parts"]["positions"].pop("kind"),
    "parts that are no object": lambda meta: meta.update(parts=[]),
    "no word lists": lambda meta: lexicon_of(meta).pop("lists"),
    "a view of three": lambda meta: forms_of(meta).update(letters=[0, 0, 0]),
    "a view of letters that are no number": lambda meta: forms_of(meta).update(letters=["a", 0]),
    "a view of half a letter": lambda meta: forms_of(meta).update(letters=[0.5, 0]),
    "an extraction that there is not": lambda meta: meta["parts"]["extraction"].update(name="best"),
    "a threshold above 1": lambda meta: meta["parts"]["extraction"]["parameters"].update(threshold=7),
    "a parameter that there is not": lambda meta: meta["parts"]["extraction"]["parameters"].update(other=7),
    "an aligner for a scorer": lambda meta: meta["parts"].update(scorer=meta["parts"]["positions"]),
    "a file outside": lambda meta: meta["files"].update({"../x": {"bytes": 1, "sha256": ""}}),
    "a file without size": lambda meta: meta["files"].update({"arrays.npz": None}),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("model") / "model"
    (folder.parent / "x.model").write_bytes(b"")
    nmtalign.train([("the cat", "le chat"), ("a dog", "un chien"), ("the dog", "le chien")] * 9).save(folder)
    return folder


@pytest.mark.parametrize("case", WRONG)
def test_a_model_with_a_wrong_entry_is_refused(case: str, model: Path) -> None:
    original = (model / "meta.json").read_text(encoding="utf-8")
    meta = json.loads(original)
    WRONG[case](meta)
    (model / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    try:
        with pytest.raises(DataError, match=str(model)):
            nmtalign.load(model)
    finally:
        (model / "meta.json").write_text(original, encoding="utf-8")


def test_a_model_with_arrays_of_others_is_refused(model: Path) -> None:
    packed = (model / "arrays.npz").read_bytes()
    original = (model / "meta.json").read_text(encoding="utf-8")
    given = read_arrays(model / "arrays.npz")
    try:
        for name in (name for name in given if not name.endswith("_norms")):  # which are logarithms
            changed = {**given, name: np.full(given[name].shape, -1, given[name].dtype)}
            np.savez(model / "arrays.npz", **changed)  # type: ignore[arg-type]
            (model / "meta.json").unlink()
            meta = json.loads(original) | {"files": fingerprints(model)}
            (model / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
            with pytest.raises(DataError, match=str(model)):
                nmtalign.load(model)
    finally:
        (model / "arrays.npz").write_bytes(packed)
        (model / "meta.json").write_text(original, encoding="utf-8")
    nmtalign.load(model)


# --- the command line ----------------------------------------------------------------------------


def ended(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Any, str]:
    with pytest.raises(SystemExit) as caught:
        cli.main([*map(str, arguments)])
    return caught.value.code, capsys.readouterr().err


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), ZeroDivisionError("x\x1b[2J")])
def test_what_is_not_foreseen_is_one_line(
    error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*given: object, **named: object) -> None:
        raise error

    monkeypatch.setattr("nmtalign.applications.conversion.read_link_records", fail)
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    command = "convert", tmp_path / "links", "--from", "pharaoh", "--to", "talp"
    code, said = ended(capsys, *command)
    assert (code, said.count("\n"), "\x1b" in said) == (1, 1, False)
    assert type(error).__name__ in said
    assert "--debug" in said
    code, said = ended(capsys, *command, "--debug")
    assert code == 1
    assert "Traceback" in said


def test_foreign_text_in_messages_is_escaped_and_short(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "links").write_text("\x1b[2J" * 100_000 + "\n", encoding="utf-8")
    code, said = ended(capsys, "convert", tmp_path / "links", "--from", "pharaoh", "--to", "talp")
    assert code == 3
    assert "\x1b" not in said
    assert len(said) < 3000
    (tmp_path / "c.toml").write_text(f'[align]\nscore = "\\u001b[2J{"x" * 50_000}"\n', encoding="utf-8")
    code, said = ended(capsys, "--config", tmp_path / "c.toml", "align", "a", "b")
    assert code == 2
    assert "\x1b" not in said
    assert len(said) < 3000


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a = " + "[" * 60_000, DataError),
        ("a = " + "[" * 100_000, DataError),
        ("a = " + "{a = " * 10_000, DataError),
        ("[" + "a." * 900 + "a]", DataError),
        ("a." * 900 + "a = 1", DataError),
        ("a." * 30_000 + "a = 1", DataError),
        ("#" * 100_000, DataError),
        ("[algin]", UsageError),
        ("[vectors.learn]\n[vektors.learn]", UsageError),
        ("[align]\nthreshold = " + "9" * 5000, DataError),
        ("[align]\nscore = {a = 1}", UsageError),
        ("[align]\nunsafe-pickle = true", UsageError),
        ("[align]\nthreshold = [1]", UsageError),
        ("[align]\nprobabilities = true", UsageError),
        ("[align]\noutput = 3", UsageError),
        ("[align]\nthreshold = true", UsageError),
        ("[align]\nlowercase = [true]", UsageError),
        ("[align]\nscore = [[]]", UsageError),
        ("align = [1]", UsageError),
    ],
    ids=lambda given: given[:40] if isinstance(given, str) else "",
)
def test_configurations(
    text: str,
    error: type[DataError | UsageError],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("the\n", encoding="utf-8")
    code, said = ended(capsys, "--config", tmp_path / "c.toml", "align", "a", "a")
    assert code == error.exit_code
    assert said.startswith("nmtalign: error: ")
    code, said = ended(capsys, "align", "a", "a", "--config", tmp_path / "c.toml")
    assert code == error.exit_code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c.toml"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
def test_a_configuration_without_an_end_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = ended(capsys, "--config", "/dev/zero", "align", "a", "b")
    assert code == 3
    assert "/dev/zero: expected a configuration file of at most" in said


def test_unsafe_pickles_are_not_for_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NMTALIGN_VECTORS_INFO_UNSAFE_PICKLE", "1")
    code, said = ended(capsys, "vectors", "info", "a")
    assert code == 2
    assert "on the command line only" in said


@pytest.mark.parametrize("numbers", ["1-99999999999", "9" * 5000])
def test_numbers_out_of_all_proportion(numbers: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("report", "-o", "x.html", "--lines"), ("links-from", "--matrices", "m", "--layers")):
        code, said = ended(capsys, command[0], "a", "b", *command[1:], numbers)
        assert code == 2
        assert len(said) < 1000
