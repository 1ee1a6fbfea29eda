"""The seeds' form: a dictionary from words to rows (word2int), and the matrix of the rows, a file each.

The matrix is an .npz or .npy file. The dictionary is a pickle (.pkl) or a JSON object (.json) beside it.
``embeddings_en.npz`` belongs to ``word2int_en.pkl``, ``en.npy`` to ``word2int_en.pkl`` or ``en.pkl``.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import read_array
from nmtalign.door import MATRICES, partners
from nmtalign.errors import DataError, UsageError
from nmtalign.files import file_in, foreign, parse_json, read_utf8
from nmtalign.output import Outputs
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import Embeddings
from nmtalign.vectors.pickles import read_pickle


def _partner(path: Path) -> Path:
    """Return the one partner of a file that is there."""
    places = partners(path)
    found = [place for place in places if place.is_file()]
    if len(found) != 1:
        first, *others = (place.name for place in places)
        expected = f"expected {first} beside it, or {', or '.join(others)} instead"
        names = " and ".join(place.name for place in found) or "none"
        raise DataError(f"{expected}; found {names}").at(path)
    return file_in(path.parent, found[0].name)


def matrix_of(path: Path) -> Path:
    """Return the file of the vectors, given either of the two files."""
    return path if path.suffix in MATRICES else _partner(path)


def read_word2int(path: Path, *, unsafe_pickle: bool = False) -> Embeddings:
    """Read word vectors, given either of the two files."""
    matrix_path = matrix_of(path)
    dictionary_path = _partner(matrix_path)
    with foreign(dictionary_path):
        vocabulary = Vocabulary(_read_dictionary(dictionary_path, unsafe_pickle))
    with foreign(matrix_path):
        matrix = finite(read_array(matrix_path), matrix_path)
        if matrix.ndim and vocabulary.size > len(matrix):
            expected = f"expected {vocabulary.size} rows for the words of {dictionary_path.name}"
            raise DataError(f"{expected}, found {len(matrix)}")
        return Embeddings(vocabulary, matrix.astype(np.float64) if matrix.dtype.kind in "iu" else matrix)


def finite(matrix: NDArray[Any], path: Path) -> NDArray[Any]:
    """Return vectors; a DataError unless all numbers are finite."""
    if matrix.size and not np.isfinite([matrix.min(), matrix.max()]).all():
        raise DataError("the vectors hold NaN or infinity").at(path)
    return matrix


def _read_dictionary(path: Path, unsafe_pickle: bool) -> dict[str, int]:
    rows: Any
    if path.suffix == ".json":
        rows = parse_json(read_utf8(path))
    else:
        data = path.read_bytes()
        rows = pickle.loads(data) if unsafe_pickle else read_pickle(data, encoding="utf-8")
    if not isinstance(rows, dict):
        raise DataError(f"expected a dictionary word -> row, found {type(rows).__name__}")
    return rows


def written_files(path: Path) -> tuple[Path, Path]:
    """Return the names under which dictionary and matrix are written, given either."""
    for start, end, other in (("word2int", ".pkl", ".npz"), ("embeddings", ".npz", ".pkl")):
        if path.name.startswith(start) and path.suffix == end:
            pair = (path, next(place for place in partners(path) if place.suffix == other))
            return pair if end == ".pkl" else pair[::-1]
    raise UsageError(f"{path}: expected a name like word2int_en.pkl or embeddings_en.npz")


def write_word2int(embeddings: Embeddings, path: Path) -> None:
    """Write both files; the same content gives the same bytes."""
    dictionary_path, matrix_path = written_files(path)
    word2int = {word: row for row, word in enumerate(embeddings.vocabulary)}
    with Outputs() as files:
        files.binary(dictionary_path).write(pickle.dumps(word2int, protocol=2))
        np.savez_compressed(files.binary(matrix_path), allow_pickle=False, embeddings=embeddings.matrix)
