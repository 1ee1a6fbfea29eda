"""gensim's files, read as data (see pickles.py) so that no code in them runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from nmtalign.arrays import read_array
from nmtalign.errors import DataError
from nmtalign.files import file_in
from nmtalign.text.vocabulary import Vocabulary
from nmtalign.vectors.embeddings import CharacterNgrams, Embeddings
from nmtalign.vectors.pickles import Record, read_pickle
from nmtalign.vectors.word2vec_files import reading


def read_gensim(path: Path, limit: int | None, unsafe_pickle: bool) -> Embeddings:
    """Read gensim's KeyedVectors (.kv) or the vectors of a Word2Vec or FastText model, of gensim 1.0 to 4.

    With `unsafe_pickle`, gensim itself reads, which runs whatever the pickle says.
    """
    if unsafe_pickle:
        from gensim.models import KeyedVectors

        return Embeddings.from_gensim(KeyedVectors.load(str(path)))
    with reading(path) as file:
        vectors, place = _keyed_vectors(read_pickle(file.read()), path)
        words = _words(vectors)
        if vectors.name.endswith("FastTextKeyedVectors"):
            return _with_subwords(vectors, place, words[:limit])
        matrix = _array(vectors, place, "vectors", "syn0")
        if len(words) != len(matrix):
            raise DataError(f"{len(words)} words, but {len(matrix)} vectors")
        return Embeddings(Vocabulary.from_words(words[:limit]), matrix[:limit])


def _keyed_vectors(top: Any, path: Path) -> tuple[Record, Path]:
    """Return the vectors inside a model, and the path that the names of its side files begin with."""
    if not isinstance(top, Record):
        hint = "; call a dictionary of words and rows word2int_XX.pkl" if isinstance(top, dict) else ""
        raise DataError(f"expected a gensim object, found {type(top).__name__}{hint}")
    if isinstance(top.get("wv"), Record):
        return top.get("wv"), path.with_name(path.name + ".wv")
    if "KeyedVectors" not in top.name:
        raise DataError(f"a {top.name} without word vectors (wv), as gensim before 1.0 wrote it")
    return top, path


def _words(vectors: Record) -> list[str]:
    """Return the words in the order of their rows; the list had other names in older versions."""
    for name in ("index_to_key", "index2word", "index2entity"):
        words = vectors.get(name)
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return words
    raise DataError(f"the {vectors.name} has no list of words")


def _array(vectors: Record, place: Path, *names: str) -> NDArray[Any]:
    """Return the first of these attributes that is an array of numbers, maybe from a side file."""
    for name in names:
        value = vectors.get(name)
        if isinstance(value, Record) and (array := value.array()) is not None:
            return array.astype(array.dtype.newbyteorder("="), copy=False)
        if name in vectors.get("__numpys", []):
            return _side_file(place, name)
    raise DataError(f"the {vectors.name} has no array {' or '.join(names)}")


def _side_file(place: Path, name: str) -> NDArray[Any]:
    """Return an array that gensim stored beside the pickle: .npy or .npz."""
    compressed = ".gz" in place.suffixes or ".bz2" in place.suffixes
    side = place.with_name(f"{place.name}.{name}.{'npz' if compressed else 'npy'}")
    if not side.exists():
        raise DataError(f"the file {side.name} should lie beside it, and does not")
    return read_array(file_in(side.parent, side.name))


def _with_subwords(vectors: Record, place: Path, words: list[str]) -> Embeddings:
    """Return a fastText model's words, composed of their own and their n-grams' vectors if not stored."""
    if vectors.get("compatible_hash") is not True:
        raise DataError(
            "a fastText model of before gensim 3.8, with other hashes;"
            " load it in gensim 3.8.3 and save it again"
        )
    own = _array(vectors, place, "vectors_vocab")[: len(words)]
    vocabulary = Vocabulary.from_words(words)
    if not vectors.get("bucket"):
        return Embeddings(vocabulary, own)
    sizes = vectors.get("min_n", -1), vectors.get("max_n", -1)
    pieces = CharacterNgrams(_array(vectors, place, "vectors_ngrams"), *sizes)
    if vectors.get("vectors") is None and "vectors" not in vectors.get("__numpys", []):
        return Embeddings(vocabulary, pieces.vectors(words, own), pieces)
    return Embeddings(vocabulary, _array(vectors, place, "vectors")[: len(words)], pieces)
