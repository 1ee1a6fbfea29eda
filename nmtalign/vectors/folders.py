"""Vectors in folders: the own format, and the seeds' ``word2int`` pickle beside a matrix.

The own format is a folder with ``vectors.npy`` (V, D; memory-mapped when read), ``vocab.txt`` (one word a
line, line n + 1 is row n), ``meta.json``, and ``subwords.npy`` (K, D) where there are sub-words.
"""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.pickles import read_pickle
from nmtalign.vectors.subwords import CharacterNgrams

_FORMAT = "nmtalign-vectors"
_HIGHEST_DEFLATE_RATIO = 1100  # no honest member of a zip file grows more than 1032 times


def read_folder(folder: Path) -> Embeddings:
    """Read the own format; the matrix stays on disk until its rows are used."""
    meta = read_json(folder / "meta.json", _is_own, f"format {_FORMAT} version 1")
    words = _read_words(folder / "vocab.txt")
    matrix = load_array(folder / "vectors.npy", mapped=True)
    if len(words) != len(matrix):
        raise DataError(f"vocab.txt has {len(words)} words, vectors.npy {len(matrix)} rows").at(folder)
    pieces = meta.get("subwords")
    subwords = None
    if pieces:
        table = load_array(folder / "subwords.npy", mapped=True)
        subwords = CharacterNgrams(table, pieces["shortest"], pieces["longest"])
    return Embeddings(Vocabulary.from_words(words), matrix, subwords, settings=meta.get("settings", {}))


def write_folder(embeddings: Embeddings, folder: Path) -> None:
    """Write the own format; ``meta.json`` comes last, so a folder that has it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.json").unlink(missing_ok=True)
    words, matrix = words_and_matrix(embeddings)
    _write_words(words, folder / "vocab.txt")
    np.save(folder / "vectors.npy", matrix, allow_pickle=False)
    meta: dict[str, Any] = {"format": _FORMAT, "version": 1}
    meta |= {"words": len(words), "dimension": matrix.shape[1]}
    if isinstance(embeddings.subwords, CharacterNgrams):
        pieces = embeddings.subwords
        np.save(folder / "subwords.npy", pieces.matrix, allow_pickle=False)
        meta["subwords"] = {"shortest": pieces.shortest, "longest": pieces.longest}
    meta["settings"] = dict(embeddings.settings)
    (folder / "meta.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_word2int(pickle_path: Path, matrix_path: Path, *, unsafe_pickle: bool = False) -> Embeddings:
    """Read the seeds' form: a pickled dictionary word -> row, and a matrix in an .npz or .npy file."""
    vocabulary = read_word2int_pickle(pickle_path, unsafe_pickle=unsafe_pickle)
    matrix = load_array(matrix_path, unsafe_pickle=unsafe_pickle)
    try:
        return Embeddings(vocabulary, _as_floating(matrix))
    except DataError as error:
        raise error.at(matrix_path) from error


def read_word2int_pickle(path: Path, *, unsafe_pickle: bool = False) -> Vocabulary:
    """Read a pickled dictionary word -> row."""
    data = path.read_bytes()
    try:
        content = pickle.loads(data) if unsafe_pickle else read_pickle(data, encoding="utf-8")
        if not isinstance(content, dict):
            raise DataError(f"expected a dictionary word -> row, found {type(content).__name__}")
        return Vocabulary.from_word2int(content)
    except DataError as error:
        raise error.at(path) from error


def write_word2int(embeddings: Embeddings, pickle_path: Path, matrix_path: Path) -> None:
    """Write the seeds' form; the same content gives the same bytes."""
    words, matrix = words_and_matrix(embeddings)
    _write_word2int_pickle({word: row for row, word in enumerate(words)}, pickle_path)
    np.savez_compressed(matrix_path, allow_pickle=False, embeddings=matrix)


def _write_word2int_pickle(word2int: dict[str, int], path: Path) -> None:
    """Write the one pickle there is: a plain dictionary of text and whole numbers, and nothing else."""
    for word, row in word2int.items():
        if type(word) is not str or type(row) is not int:
            raise DataError(f"only text -> whole number may be pickled, found {word!r}: {row!r}")
    path.write_bytes(pickle.dumps(dict(word2int), protocol=2))


def words_and_matrix(embeddings: Embeddings) -> tuple[list[str], NDArray[Any]]:
    """Return the words in the order of their rows and a matrix without the rows that no word has."""
    whole = embeddings.compact()
    return list(whole.vocabulary.words), np.ascontiguousarray(whole.matrix)


def load_array(path: Path, *, mapped: bool = False, unsafe_pickle: bool = False) -> NDArray[Any]:
    """Read an .npy file, or ``embeddings`` (or the only array) of an .npz file; no pickled objects."""
    try:
        if zipfile.is_zipfile(path):
            return _load_member(path, unsafe_pickle)
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=unsafe_pickle)
        return array
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not a readable array of numbers ({error})").at(path) from error


def _load_member(path: Path, unsafe_pickle: bool) -> NDArray[Any]:
    with zipfile.ZipFile(path) as archive:
        names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        name = "embeddings" if "embeddings" in names or len(names) != 1 else names[0]
        if name not in names:
            raise DataError(f"expected an array named 'embeddings', found {names}").at(path)
        info = archive.infolist()[names.index(name)]
        if info.file_size > _HIGHEST_DEFLATE_RATIO * max(info.compress_size, 1):
            found = f"{info.file_size} bytes from {info.compress_size}"
            raise DataError(f"the array {name!r} claims to unpack to {found}; refused").at(path)
        with archive.open(info) as file:
            _check_header(file, info.file_size)
    with np.load(path, allow_pickle=unsafe_pickle) as arrays:
        array: NDArray[Any] = arrays[name]
        return array


def _check_header(file: Any, size: int) -> None:
    """Refuse a shape that needs more bytes than the member has, before memory is asked for."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    needed = dtype.itemsize * int(np.prod(shape, dtype=object))
    if not dtype.hasobject and needed > size:
        raise DataError(f"the array claims shape {shape}, {needed} bytes, in a member of {size}")


def _as_floating(matrix: NDArray[Any]) -> NDArray[Any]:
    return matrix.astype(np.float64) if matrix.dtype.kind in "iu" else matrix


def read_json(path: Path, right: Callable[[dict[str, Any]], bool], expected: str) -> dict[str, Any]:
    """Return the object of a JSON file, of which `right` says whether it is what is expected."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"not readable as JSON ({error})").at(path) from error
    if not isinstance(found, dict) or not right(found):
        raise DataError(f"expected {expected}").at(path)
    return found


def _is_own(meta: dict[str, Any]) -> bool:
    return meta.get("format") == _FORMAT and meta.get("version") == 1


def _read_words(path: Path) -> list[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def _write_words(words: list[str], path: Path) -> None:
    for row, word in enumerate(words):
        if "\n" in word:
            raise DataError(f"the word {word!r} in row {row} holds a line end; vocab.txt cannot keep it")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{word}\n" for word in words)
