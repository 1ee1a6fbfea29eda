"""Vectors of sub-words, of which those of words are composed: fastText's n-grams, and static models.

A static model is a tokenizer, and a vector for each of its sub-words. model2vec writes such folders, and
every model of Hugging Face has a table of this kind as its first layer. A word's vector is the mean of the
vectors of its sub-words. The packages tokenizers and safetensors read the files (extra ``[static]``).

Axes: V sub-words of the tokenizer, D dimensions, N words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nmtalign.arrays import AnyArray, Floats, Longs, check_stored_array, unit_rows
from nmtalign.errors import DataError, require_extra
from nmtalign.files.paths import file_inside, reraise_as_data_error
from nmtalign.files.text_files import parse_json, read_utf8
from nmtalign.state import State, Stored
from nmtalign.text.subwords import hugging_face_tokenizer
from nmtalign.validation import check_type

# bounds of the memory while words are composed of n-grams; a longer word is in a block of its own
_WORDS_PER_BLOCK = 2_048
_CHARS_PER_BLOCK = 1 << 17
MAX_NGRAM_CHARS = 64  # fastText's sub-words have up to 6 by default
_FNV_START, _FNV_PRIME = np.uint32(2166136261), np.uint32(16777619)


class SubwordVectors:
    """Vectors of parts of words, of which the vectors of words are composed."""

    matrix: NDArray[Any]  # one vector for each part
    # whether a composed vector counts as the word's own, because there is no list of words
    are_own: ClassVar[bool] = False
    know_all_words: ClassVar[bool] = False  # whether no word lacks a vector

    def vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the composed vector of each word, zeros for a word without known parts, shape (N, D)."""
        raise NotImplementedError

    def __contains__(self, word: object) -> bool:
        """Return whether a word has known parts."""
        raise NotImplementedError

    def state(self) -> State:
        """Return the state of sub-words that are a part of their own."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class CharacterNgrams(SubwordVectors):
    """fastText's sub-words: one vector for each hash bucket of character n-grams.

    The hash is 32-bit FNV-1a over the UTF-8 bytes, each taken as a signed number, modulo the number of
    buckets. gensim has it too, but its import takes 1.6 s, and it hashes word by word in seven times the
    time. Bojanowski et al. (2017), "Enriching word vectors with subword information", section 3.2.
    """

    matrix: NDArray[Any]  # (buckets, D): vectors of the buckets
    shortest: int  # characters of an n-gram of <word>
    longest: int

    def __post_init__(self) -> None:
        check_type(self.matrix, np.ndarray, "an array of sub-word vectors")
        if self.matrix.ndim != 2 or self.matrix.dtype.kind != "f":
            raise DataError(f"expected sub-word vectors of shape (buckets, D), found {self.matrix.shape}")
        are_integers = type(self.shortest) is int and type(self.longest) is int
        if not are_integers or not 0 <= self.shortest <= self.longest <= MAX_NGRAM_CHARS:
            found = f"found {self.shortest!r:.60} to {self.longest!r:.60}"
            raise DataError(f"expected sub-words of at most {MAX_NGRAM_CHARS} characters, {found}")

    def __str__(self) -> str:
        return f"{len(self.matrix):,} vectors of {self.shortest} to {self.longest} characters"

    def vectors(self, words: Sequence[str], own_vectors: NDArray[Any] | None = None) -> NDArray[np.float32]:
        """Return the mean of each word's n-gram vectors and of its own vector, if given, shape (N, D).

        A word without n-grams gets zeros. N-grams are added in fastText's order, so that the result is
        bit-identical.
        """
        has_own = own_vectors is not None
        if has_own:
            result = np.array(own_vectors, np.float32)
        else:
            result = np.zeros((len(words), self.matrix.shape[1]), np.float32)
        if not len(self.matrix):
            return result
        for block in word_blocks(words):
            buckets, counts = self._buckets(words[block])
            first = np.cumsum(counts) - counts  # the place of each word's first n-gram in `buckets`
            sums = result[block]  # a view
            # the nth n-grams of all words are added together, so the order is that of each word
            for nth in range(counts.max()):
                owners = np.flatnonzero(counts > nth)  # words with so many n-grams
                sums[owners] += self.matrix[buckets[first[owners] + nth]]
            added = counts + 1 if has_own else counts
            sums /= np.maximum(added, 1)[:, None].astype(np.float32)
        return result

    def _buckets(self, words: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the buckets of all n-grams, and the number of n-grams of each word, (N,).

        The n-grams are in the order of their first letters, and those of one first letter in the order of
        their lengths. Letters are those of all words, with the marks < and > around each.
        """
        lengths = np.array([len(word) + 2 for word in words])  # (N,)
        first_letters = np.cumsum(lengths) - lengths  # (N,)
        letter_bytes = _bytes_of_letters("".join(f"<{word}>" for word in words))  # (4, letters)
        letter_count = letter_bytes.shape[1]

        # which n-grams exist: row l, column n - 1 is the n-gram of n letters that begins with letter l
        longest = min(self.longest, lengths.max())
        letters_left = np.repeat(np.cumsum(lengths), lengths) - np.arange(
            letter_count
        )  # to the end, (letters,)
        exists = letters_left[:, None] > np.arange(longest)  # (letters, longest): it ends inside of the word
        exists[:, : max(self.shortest - 1, 0)] = False
        is_mark = (letters_left == 1) | (letters_left == np.repeat(lengths, lengths))
        exists[is_mark, :1] = False  # < and > alone are not n-grams

        # the hash of an n-gram continues that of the n-gram with one letter less
        hashes = np.zeros((letter_count, longest), np.uint32)
        grown = np.full(letter_count, _FNV_START)
        for size in range(longest):
            grown = _extend_hashes(grown[: letter_count - size], letter_bytes[:, size:])
            hashes[: len(grown), size] = grown
        counts = np.add.reduceat(exists.sum(axis=1), first_letters)
        return hashes[exists] % np.uint32(len(self.matrix)), counts


def _bytes_of_letters(text: str) -> NDArray[np.uint32]:
    """Return the UTF-8 bytes of each letter as signed numbers, then zeros, shape (4, letters).

    Half a character becomes a question mark.
    """
    encodable = text.encode("utf-8", "replace").decode()
    code_points = np.frombuffer(encodable.encode("utf-32-le"), "<u4")
    letters, letter_of = np.unique(code_points, return_inverse=True)
    utf8 = np.array([chr(letter).encode() for letter in letters], "S4")
    signed_bytes = utf8.view(np.int8).reshape(-1, 4)  # of distinct letters
    return np.asarray(signed_bytes.astype(np.uint32)[letter_of].T)


def word_blocks(words: Sequence[str]) -> Iterator[slice]:
    """Yield slices that together cover all words.

    A slice has at most `_WORDS_PER_BLOCK` words and `_CHARS_PER_BLOCK` characters; a longer word is alone.
    """
    begin = chars = 0
    for n, word in enumerate(words):
        if n > begin and (n - begin == _WORDS_PER_BLOCK or chars + len(word) > _CHARS_PER_BLOCK):
            yield slice(begin, n)
            begin, chars = n, 0
        chars += len(word)
    if begin < len(words):
        yield slice(begin, len(words))


def _extend_hashes(hashes: NDArray[np.uint32], letters: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the FNV-1a hashes of n-grams with one more letter each, shape (letters,)."""
    hashes = (hashes ^ letters[0]) * _FNV_PRIME
    for byte in letters[1:]:
        hashes = np.where(byte > 0, (hashes ^ byte) * _FNV_PRIME, hashes)
    return hashes


# --- static models -------------------------------------------------------------------------------

TOKENIZER_FILE, TABLE_FILE = STATIC_FILES = "tokenizer.json", "model.safetensors"
SETTINGS_FILE = "config.json"
# sub-folder in which sentence-transformers may keep the files
_NESTED_FOLDER = "0_StaticEmbedding"
# how the names of tables of input vectors end, in models of Hugging Face and in static models
_TABLE_NAMES = (
    "embeddings",
    "embedding.weight",
    "word_embeddings.weight",
    "tok_embeddings.weight",
    "embed_tokens.weight",
    "shared.weight",
    "wte.weight",
)
_FLOAT_TYPES = ("F64", "F32", "F16", "BF16")
_TABLE_TYPES = (*_FLOAT_TYPES, "I8")
_MAX_SHOWN_NAMES = 4
# what the package requires of a WordPiece model, and files may omit: the values of BERT
_WORDPIECE_DEFAULTS = {
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}
_NEEDED_PACKAGES = "a static model needs the packages tokenizers and safetensors"


def is_static_model(folder: Path) -> bool:
    """Return whether a folder has the files of a static model."""
    return _folder_of_files(folder) is not None


def _folder_of_files(folder: Path) -> Path | None:
    """Return the folder that has a tokenizer and a table: the folder itself, or its nested folder."""
    for place in (folder, folder / _NESTED_FOLDER):
        if (place / TOKENIZER_FILE).is_file() and (place / TABLE_FILE).is_file():
            return place
    return None


@dataclass(frozen=True, eq=False, repr=False)
class StaticSubwords(SubwordVectors):
    """The vectors of the sub-words of a tokenizer; those of words are their means."""

    tokenizer_json: str  # the content of a tokenizer.json, in one line
    matrix: AnyArray  # (rows, D)
    rows: Longs | None = None  # (V,): the row of each sub-word; None: sub-word n has row n
    weights: Floats | None = None  # (V,): factor of the vector of each sub-word; None: all are 1
    unit_length: bool = False  # whether the vectors of words have norm 1
    are_own: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.dtype.kind != "f" or not self.matrix.shape[1]:
            found = f"{self.matrix.dtype} of shape {self.matrix.shape}"
            raise DataError(f"expected floating-point vectors of sub-words, found {found}")
        ids = self._tokenizer.get_vocab(with_added_tokens=True).values()
        count = max(ids, default=-1) + 1
        for name, array in (("rows", self.rows), ("weights", self.weights)):
            if array is not None and len(array) < count:
                raise DataError(f"the tokenizer has {count:,} sub-words, found {len(array):,} {name}")
        if self.rows is None and len(self.matrix) < count:
            raise DataError(f"the tokenizer has {count:,} sub-words, found {len(self.matrix):,} vectors")

    def __str__(self) -> str:
        return f"{len(self.matrix):,} vectors of sub-words of a tokenizer"

    @cached_property
    def _tokenizer(self) -> Any:
        """The tokenizer, which neither truncates nor pads."""
        return hugging_face_tokenizer(self.tokenizer_json)

    @cached_property
    def _unknown_id(self) -> int | None:
        """The number of the sub-word that stands for unknown characters, which has no meaning."""
        model = parse_json(self._tokenizer.to_str())["model"]
        if model.get("unk_id") is not None:  # of a unigram model
            return int(model["unk_id"])
        token = model.get("unk_token")
        return None if token is None else self._tokenizer.token_to_id(token)

    def __contains__(self, word: object) -> bool:
        """Return whether a word has sub-words other than the unknown one."""
        return isinstance(word, str) and bool(self._ids(word))

    def _ids(self, word: str) -> list[int]:
        """Return the numbers of the sub-words of a word, without the unknown one."""
        try:
            # one word at a time: a batch starts threads, which processes that are forked later do not have
            encoding = self._tokenizer.encode(word, add_special_tokens=False)
        except Exception:  # the word has unknown characters, and the tokenizer has no sub-word for these
            return []
        return [number for number in encoding.ids if number != self._unknown_id]

    def vectors(self, words: Sequence[str]) -> Floats:
        """Return the mean of the vectors of each word's sub-words, zeros for a word without any, (N, D)."""
        result = np.zeros((len(words), self.matrix.shape[1]), np.float32)
        for n, word in enumerate(words):
            ids = self._ids(word)
            if not ids:
                continue
            rows = ids if self.rows is None else self.rows[ids]
            vectors = self.matrix[rows].astype(np.float32)  # (sub-words, D)
            if self.weights is not None:
                vectors *= self.weights[ids][:, None]
            result[n] = vectors.mean(axis=0)
        return np.asarray(unit_rows(result), np.float32) if self.unit_length else result

    def state(self) -> State:
        """Return the state, from which the class makes the sub-words again."""
        arrays: dict[str, AnyArray] = {}
        if self.rows is not None:
            arrays["rows"] = self.rows
        if self.weights is not None:
            arrays["weights"] = self.weights
        values = {"unit_length": self.unit_length, "has": sorted(arrays)}
        large = {"table": self.matrix, **arrays}
        return State("static", values, large=large, words={"tokenizer": [self.tokenizer_json]})

    @classmethod
    def from_state(cls, stored: Stored, dimension: int) -> StaticSubwords:
        """Return what :meth:`state` was made of."""
        lines = stored.words("tokenizer")
        matrix = stored.large("table", "v", (None, dimension))
        names = stored.value("has", list)
        rows: Longs | None = None
        weights: Floats | None = None
        if "rows" in names:
            rows = stored.large("rows", "i", (None,), minimum=0, maximum=len(matrix) - 1)
        if "weights" in names:
            weights = stored.large("weights", "f", (None,))
        return cls("".join(lines), matrix, rows, weights, stored.value("unit_length", bool))


def read_static_model(folder: Path) -> StaticSubwords:
    """Read a folder with ``tokenizer.json`` and ``model.safetensors``.

    The tensors `weights` and `mapping` are those of model2vec. Raises DataError if it is not clear which
    tensor is the table, or the files do not belong together.
    """
    place = _folder_of_files(folder)
    if place is None:
        raise DataError(f"expected {TOKENIZER_FILE} and {TABLE_FILE}, found neither").at(folder)
    with require_extra("static", _NEEDED_PACKAGES):
        import safetensors
        import tokenizers  # noqa: F401
    tokenizer_path = _file_of(place, TOKENIZER_FILE)
    with reraise_as_data_error(tokenizer_path, f"expected a {TOKENIZER_FILE} of Hugging Face"):
        tokenizer = json.loads(read_utf8(tokenizer_path))
        size = len(tokenizer["model"]["vocab"])
        if tokenizer["model"].get("type") == "WordPiece":
            tokenizer["model"] = _WORDPIECE_DEFAULTS | tokenizer["model"]
        tokenizer_json = json.dumps(tokenizer, ensure_ascii=False)
    table_path = _file_of(place, TABLE_FILE)
    expected = "expected a safetensors file"
    with (
        reraise_as_data_error(table_path, expected),
        safetensors.safe_open(table_path, framework="np") as file,
    ):
        name = _table_name(file, size)
        matrix = _read_subword_table(file, name, table_path)
        rows, weights = _read_companions(file, name, len(matrix))
    with reraise_as_data_error(tokenizer_path):
        return StaticSubwords(tokenizer_json, matrix, rows, weights, _has_unit_length(place))


def _file_of(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder; a link may also lead to the blobs of a Hugging Face cache."""
    blobs = folder.parent.parent / "blobs"
    target = (folder / name).resolve()
    if target.parent == blobs.resolve() and target.is_file():
        return target
    return file_inside(folder, name)


def _table_name(file: Any, size: int) -> str:
    """Return the name of the table of vectors; `size` is the number of sub-words of the tokenizer.

    A table is known by its name, or else is the only one with a row for each sub-word. DataError if there
    is none, or more than one.
    """
    matrices: dict[str, int] = {}
    for name in file.keys():  # noqa: SIM118  # the file is not a mapping
        tensor = file.get_slice(name)
        if len(tensor.get_shape()) == 2 and tensor.get_dtype() in _TABLE_TYPES:
            matrices[name] = tensor.get_shape()[0]
    endings = tuple(f".{name}" for name in _TABLE_NAMES)
    candidates = [name for name in matrices if f".{name}".endswith(endings)]
    if not candidates:
        candidates = [name for name, rows in matrices.items() if rows == size]
    if len(candidates) != 1:
        shown = ", ".join(sorted(candidates or matrices)[:_MAX_SHOWN_NAMES]) or "none"
        raise DataError(f"expected one table of vectors of sub-words, such as embeddings; found {shown}")
    table_name: str = candidates[0]
    return table_name


def _read_subword_table(file: Any, name: str, path: Path) -> AnyArray:
    """Return the table of vectors (rows, D) as floating-point numbers."""
    if file.get_slice(name).get_dtype() == "BF16":
        return _read_bfloat16(path, name)
    table = np.asarray(file.get_tensor(name))
    return table if table.dtype.kind == "f" else table.astype(np.float32)


def _read_bfloat16(path: Path, name: str) -> Floats:
    """Return a tensor of bfloat16, which NumPy does not have: the upper halves of single-precision numbers.

    The package has checked the header when it opened the file.
    """
    with open(path, "rb") as opened:
        header_bytes = int.from_bytes(opened.read(8), "little")
        entry = json.loads(opened.read(header_bytes))[name]
        start, end = entry["data_offsets"]
        opened.seek(8 + header_bytes + start)
        halves = np.frombuffer(opened.read(end - start), "<u2").astype(np.uint32)
    return (halves << np.uint32(16)).view(np.float32).reshape(entry["shape"])


def _read_companions(file: Any, table: str, size: int) -> tuple[Longs | None, Floats | None]:
    """Return the row and the weight of each sub-word, where model2vec has stored them next to the table."""
    names = set(file.keys())
    rows = weights = None
    if table == "embeddings" and "mapping" in names:
        numbers = np.asarray(file.get_tensor("mapping")).astype(np.int64)
        rows = check_stored_array(numbers, "i", (None,), 0, size - 1, name="mapping")
    if table == "embeddings" and "weights" in names:
        factors = np.asarray(file.get_tensor("weights")).astype(np.float32)
        weights = check_stored_array(factors, "f", (None,), name="weights")
    return rows, weights


def _has_unit_length(folder: Path) -> bool:
    """Return whether the settings of the model ask for vectors of norm 1."""
    if not (folder / SETTINGS_FILE).is_file():
        return False
    path = _file_of(folder, SETTINGS_FILE)
    with reraise_as_data_error(path):
        settings = parse_json(read_utf8(path))
        return isinstance(settings, dict) and settings.get("normalize") is True
