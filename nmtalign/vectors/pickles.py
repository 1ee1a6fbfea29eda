"""Reading old pickles as data, so that no code in them runs; and gensim's files, which are such pickles.

A pickle is a small program. Its names are looked up here in a list of exact (module, name) pairs and never
imported. They stand for inert records, arrays of plain numbers and a few functions of this module.

The unpickler is the one written in Python. The one in C offers no place to look at a dictionary's keys, and
to hash tuples of tuples can take for ever; it also makes room for as many values as a pickle claims.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
from collections.abc import Callable, Iterable
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.errors import DataError
from nmtalign.files.array_files import read_array
from nmtalign.files.compressed import MAX_COMPRESSION_RATIO, max_decompressed_size
from nmtalign.files.paths import file_inside
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.subword_vectors import CharacterNgrams
from nmtalign.vectors.word2vec_files import open_vectors_file

_NUMBER_TYPES = ("b1", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)), "f2", "f4", "f8")
_MAX_DIMENSIONS = 32
# errors of the unpickler for a pickle that is truncated or malformed
_BROKEN = (
    *(AttributeError, EOFError, LookupError, OverflowError, TypeError, ValueError),
    *(pickle.UnpicklingError, struct.error),
)
# instructions that ask for values from outside, and integers of more than 255 bytes
_REFUSED = (
    *(pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.PERSID, pickle.BINPERSID),
    *(pickle.NEXT_BUFFER, pickle.READONLY_BUFFER, pickle.LONG4),
)


_FREE_MEMORY = 1 << 20  # bytes that the objects of any pickle may take
_MEMORY_RATIO = 32  # memory per byte of a larger pickle; normal ones with short words reach 25
# bytes of the objects that short instructions make, and of a place in the memo
_SIZES = {
    **dict.fromkeys(map(ord, (pickle.EMPTY_LIST, pickle.EMPTY_DICT, pickle.TUPLE1, pickle.TUPLE2)), 64),
    **dict.fromkeys(map(ord, (pickle.MARK, pickle.MEMOIZE, pickle.BINPUT, pickle.TUPLE3)), 100),
    ord(pickle.EMPTY_SET): 216,
}


class PickledObject:
    """Stands for an object of a pickle: name of its class with the module, arguments and state unchanged."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name, self.arguments = name, arguments
        self.state: Any = None  # references, not copies, so that no short pickle can multiply a long one

    def get(self, key: str, default: Any = None) -> Any:
        """Return an attribute from the state of the object; the default if it has none with this name."""
        return self.state.get(key, default) if isinstance(self.state, dict) else default

    @property
    def is_array(self) -> bool:
        """Whether the object stands for a NumPy array."""
        return self.name.rpartition(".")[2] in ("_frombuffer", "_reconstruct")

    def array(self) -> AnyArray | None:
        """Return the numbers of a NumPy array, read-only; None for any other object."""
        match self.name.rpartition(".")[2], self.arguments, self.state:
            case "_frombuffer", (raw, dtype, shape, order), _:
                return _number_array(raw, dtype, shape, "F" if order == "F" else "C")
            case "_reconstruct", _, (_, shape, dtype, fortran, raw):
                return _number_array(raw, dtype, shape, "F" if fortran else "C")
        return None


def _number_array(raw: Any, dtype: Any, shape: Any, order: Literal["C", "F"]) -> AnyArray | None:
    """Return numbers as a read-only array over their bytes; None for an array of anything else."""
    kind = _data_type(dtype)
    if kind is None:
        return None
    if isinstance(raw, str):  # Python 2 wrote bytes as text
        raw = raw.encode("latin-1")
    plain = isinstance(raw, bytes) and isinstance(shape, tuple) and len(shape) <= _MAX_DIMENSIONS
    if not plain or not all(isinstance(length, int) and 0 <= length < 2**63 for length in shape):
        raise DataError("the pickle has a NumPy array whose shape or content is not what NumPy writes")
    expected = kind.itemsize * math.prod(shape)
    if expected != len(raw):
        raise DataError(f"the pickle has an array {shape}: expected {expected} bytes, found {len(raw)}")
    try:
        return np.frombuffer(raw, kind).reshape(shape, order=order)
    except ValueError as error:  # no numbers at all, of a shape that NumPy cannot count
        raise DataError(f"the pickle has an array {shape}: {error}") from error


def _data_type(record: Any) -> np.dtype[Any] | None:
    """Return the data type that a record stands for; None where its values are not plain numbers."""
    if isinstance(record, PickledObject) and record.name == "numpy.dtype":
        match record.arguments, record.state:
            case (str(code), *_), (_, "<" | ">" | "=" | "|" as order, *_) if code in _NUMBER_TYPES:
                kind: np.dtype[Any] = np.dtype(order + code)
                return kind
    return None


def _make_scalar(unpickler: _Unpickler, dtype: Any, raw: Any = b"") -> Any:
    value = _number_array(raw, dtype, (), "C")
    return None if value is None else value.item()


def _make_bytes(unpickler: _Unpickler, text: Any = "", encoding: Any = "latin1") -> bytes:
    """Return text as bytes: ``bytes()`` of nothing, or ``_codecs.encode(text, "latin1")``."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise DataError("the pickle makes bytes from something other than Latin-1 text")
    unpickler.take(_MEMORY_RATIO * len(text))
    return text.encode("latin-1")


def _make_dict(unpickler: _Unpickler, *arguments: Any) -> dict[Any, Any]:
    """OrderedDict, Counter, defaultdict: a plain dictionary of the pairs they were made from."""
    result: dict[Any, Any] = {}
    for argument in arguments:
        pairs = list(argument.items()) if isinstance(argument, dict) else argument
        if isinstance(pairs, list):
            unpickler.take(_MEMORY_RATIO * len(pairs))
            _check_dict_keys(key for key, _ in pairs)
            result.update(pairs)
    return result


_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("_codecs", "encode"): _make_bytes,
    ("__builtin__", "bytes"): _make_bytes,
    ("builtins", "bytes"): _make_bytes,
    ("collections", "OrderedDict"): _make_dict,
    ("collections", "defaultdict"): _make_dict,
    ("collections", "Counter"): _make_dict,
    ("numpy.core.multiarray", "scalar"): _make_scalar,
    ("numpy._core.multiarray", "scalar"): _make_scalar,  # since NumPy 2
}
_CLASSES = {
    "__builtin__": "hash int long",
    "builtins": "hash int long",
    "gensim.models.fasttext": "FastText FastTextKeyedVectors FastTextTrainables FastTextVocab",
    "gensim.models.keyedvectors": (
        "EuclideanKeyedVectors FastTextKeyedVectors KeyedVectors Vocab Word2VecKeyedVectors"
    ),
    "gensim.models.word2vec": "Vocab Word2Vec Word2VecTrainables Word2VecVocab",
    "gensim.utils": "call_on_class_only",
    "numpy": "dtype ndarray",
    "numpy._core.multiarray": "_reconstruct",
    "numpy._core.numeric": "_frombuffer",
    "numpy.core.multiarray": "_reconstruct",
    "numpy.core.numeric": "_frombuffer",
    "numpy.random": "__RandomState_ctor",
    "numpy.random._mt19937": "MT19937",
    "numpy.random._pickle": "__bit_generator_ctor __randomstate_ctor",
}
_INERT = {(module, name) for module, names in _CLASSES.items() for name in names.split()}
#: The names a pickle may use, exactly; each stands for one of our own functions or an inert record.
ALLOWED: frozenset[tuple[str, str]] = frozenset(_FUNCTIONS) | frozenset(_INERT)


def _check_dict_keys(keys: Iterable[Any]) -> None:
    """Raise DataError for keys whose hash may take forever: nested tuples, huge integers."""
    for key in keys:
        if isinstance(key, int) and key.bit_length() > 64:
            raise DataError(f"expected dictionary keys of at most 64 bits, found {key.bit_length()}")
        if not (key is None or isinstance(key, str | bytes | int | float)):
            raise DataError(f"expected text or numbers as dictionary keys, found {type(key).__name__}")


_Step = Callable[[Any], None]
_STANDARD: dict[int, _Step] = dict(pickle._Unpickler.dispatch)
# Protocols 2 to 5, and dictionaries of protocols 0 and 1
is_pickle = re.compile(rb"\x80[\2-\5]|\(dp\d*\r?\n|\}q\0|ccollections\r?\n").match
_BINARY_PICKLE = b"\x80"  # how pickles of protocol 2 and later begin


def read_pickle(data: bytes, *, encoding: str = "latin-1", file_size: int | None = None) -> Any:
    """Return the value of a pickle of protocol 0 to 5 without running any code.

    Objects become :class:`PickledObject`.

    `encoding` is that of the byte strings of Python 2: ``latin-1`` as gensim has it, ``utf-8`` for words.
    `file_size` is the size of the file that the pickle was unpacked from. A DataError says that the pickle is
    broken, asks for a name that is not allowed, is shorter than it says, or grows out of proportion.
    """
    try:
        data = _with_line_feeds(data)
        return _Unpickler(data, encoding, len(data) if file_size is None else file_size).load()
    except DataError:
        raise
    except _BROKEN as error:
        raise DataError(f"not a pickle, or damaged; it begins with {data[:8]!r}") from error


def _with_line_feeds(data: bytes) -> bytes:
    """Return a pickle of protocol 0, which is text, as it was before a copy in text mode changed its lines.

    A line end inside a word is escaped, so that where each line ends with CR LF the CR is not part of it.
    """
    is_changed = not data.startswith(_BINARY_PICKLE) and 0 < data.count(b"\n") == data.count(b"\r\n")
    return data.replace(b"\r\n", b"\n") if is_changed else data


def _after(check: _Step, code: int) -> _Step:
    """Return an instruction of the standard library that waits for a check of the unpickler."""
    step = _STANDARD[code]

    def checked(unpickler: Any) -> None:
        check(unpickler)
        step(unpickler)

    return checked


def _looking_at(keys: slice, code: bytes) -> _Step:
    """Return an instruction that looks at the keys among the last values before it takes them."""
    return _after(lambda unpickler: _check_dict_keys(unpickler.stack[keys]), ord(code))


class _Unpickler(pickle._Unpickler):
    """The standard library's unpickler with other names, calls and states, and a look at every key."""

    stack: list[Any]

    def __init__(self, data: bytes, encoding: str, file_size: int) -> None:
        self.file = io.BytesIO(data)
        super().__init__(self.file, encoding=encoding)
        self.size = len(data)
        of_pickle = _FREE_MEMORY + _MEMORY_RATIO * self.size
        of_file = max_decompressed_size(file_size) - self.size  # the memory that unpacking has left
        self.budget = min(of_pickle, of_file)

    def take(self, size: int) -> None:
        """Count the bytes that objects take: a short pickle must not grow without end, nor by copies."""
        self.budget -= size
        if self.budget < 0:
            much = f"{_MEMORY_RATIO} times its size in memory"
            packed = f"or {MAX_COMPRESSION_RATIO} times that of a packed file"
            advice = "convert it with the program that wrote it"
            trust = "or pass `unsafe_pickle=True` if you trust it"
            raise DataError(f"the pickle would need more than {much}, {packed}; {advice}, {trust}")

    def find_class(self, module: str, name: str) -> partial[Any]:
        if (module, name) not in ALLOWED:
            raise DataError(
                f"the pickle asks for {module}.{name}, which is not on the list of allowed names and could"
                " run any code; if you trust the file completely, read it with `unsafe_pickle=True`"
            )
        function = _FUNCTIONS.get((module, name))
        return partial(function, self) if function else partial(PickledObject, f"{module}.{name}")

    def _frame(self) -> None:
        """Read a frame's length, only to compare it; its content is read as if there were no frame."""
        (length,) = struct.unpack("<Q", self.file.read(8))
        left = self.size - self.file.tell()
        if length > left:
            raise DataError(f"the pickle claims a frame of {length} bytes where {left} are left")

    def _instantiate(self, maker: Any, arguments: Any) -> None:
        """Make what a name stands for; the objects of protocol 0 and 1 come here by themselves."""
        if not (isinstance(maker, partial) and isinstance(arguments, tuple | list)):
            raise TypeError("a call of something that is not a function")
        self.take(_MEMORY_RATIO * len(arguments))
        self.stack.append(maker(*arguments))

    def _call(self) -> None:
        arguments = self.stack.pop()
        self._instantiate(self.stack.pop(), arguments)

    def _call_with_names(self) -> None:
        self.stack.pop()  # keyword arguments of __new__: none of the allowed names has any
        self._call()

    def _build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if not isinstance(target, PickledObject):
            raise TypeError("a state for something that is not an object")
        target.state = state

    dispatch: ClassVar[dict[int, _Step]] = {
        **{code: step for code, step in _STANDARD.items() if bytes([code]) not in _REFUSED},
        **{code: _after(methodcaller("take", size), code) for code, size in _SIZES.items()},
        ord(pickle.FRAME): _frame,
        ord(pickle.REDUCE): _call,
        ord(pickle.NEWOBJ): _call,
        ord(pickle.NEWOBJ_EX): _call_with_names,
        ord(pickle.BUILD): _build,
        ord(pickle.BYTEARRAY8): _STANDARD[ord(pickle.BINBYTES8)],  # its own makes room for what is claimed
        ord(pickle.SETITEM): _looking_at(slice(-2, -1), pickle.SETITEM),
        ord(pickle.SETITEMS): _looking_at(slice(0, None, 2), pickle.SETITEMS),
        ord(pickle.DICT): _looking_at(slice(0, None, 2), pickle.DICT),
        ord(pickle.ADDITEMS): _looking_at(slice(None), pickle.ADDITEMS),
        ord(pickle.FROZENSET): _looking_at(slice(None), pickle.FROZENSET),
    }


# --- dictionaries of vectors ---------------------------------------------------------------------


def has_vectors(entries: Any) -> bool:
    """Return whether a value is a dictionary whose first entry is a vector, and not a row."""
    if not isinstance(entries, dict):
        return False
    first = next(iter(entries.values()), None)
    return isinstance(first, list | tuple | np.ndarray) or (
        isinstance(first, PickledObject) and first.is_array
    )


def vectors_of_dictionary(entries: dict[Any, Any]) -> Embeddings:
    """Return the vectors of a dictionary from words to arrays or lists of numbers."""
    vectors = [_vector_of(word, value) for word, value in entries.items()]
    for word, vector in zip(entries, vectors, strict=True):
        if len(vector) != len(vectors[0]):
            expected = f"expected {len(vectors[0])} numbers for the word {word!r}, as for the first word"
            raise DataError(f"{expected}; found {len(vector)}")
    return Embeddings.of(list(entries), np.array(vectors))


def _vector_of(word: Any, value: Any) -> AnyArray:
    """Return the vector of a word as an array of one axis."""
    array = value.array() if isinstance(value, PickledObject) else value
    if isinstance(array, list | tuple) and not all(map(_is_number, array)):
        array = None
    vector = np.asarray(array)
    if vector.ndim != 1 or vector.dtype.kind not in "iuf":
        raise DataError(f"expected a vector of numbers for the word {word!r}, found something else")
    return vector


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def read_pickled_vectors(path: Path, unsafe_pickle: bool) -> Embeddings:
    """Read a pickled dictionary from words to vectors."""
    with open_vectors_file(path) as file:
        data = file.read()
        entries = (
            pickle.loads(data)
            if unsafe_pickle
            else read_pickle(data, encoding="utf-8", file_size=path.stat().st_size)
        )
        if not has_vectors(entries):
            raise DataError(_not_vectors(entries))
        return vectors_of_dictionary(entries)


def _not_vectors(value: Any) -> str:
    """Return why a pickle has neither gensim's object nor a dictionary of vectors."""
    expected = "expected a gensim object, or a dictionary from words to vectors"
    if isinstance(value, dict):
        named = "call it word2int_XX.pkl, and put embeddings_XX.npz beside it"
        return f"{expected}; found a dictionary without vectors: if it has the rows of a matrix, {named}"
    what = value.name if isinstance(value, PickledObject) else type(value).__name__
    return f"{expected}; found {what}"


# --- gensim's files ------------------------------------------------------------------------------


def read_gensim(path: Path, limit: int | None, unsafe_pickle: bool) -> Embeddings:
    """Read gensim's KeyedVectors (.kv) or the vectors of a Word2Vec or FastText model, of gensim 1.0 to 4.

    With `unsafe_pickle`, gensim itself reads, which runs whatever the pickle says.
    """
    if unsafe_pickle:
        from gensim.models import KeyedVectors

        return Embeddings.from_gensim(KeyedVectors.load(str(path)))
    with open_vectors_file(path) as file:
        content = read_pickle(file.read(), file_size=path.stat().st_size)
        vectors, start = _keyed_vectors(content, path)
        words = _words_by_row(vectors)
        if vectors.name.endswith("FastTextKeyedVectors"):
            return _with_subwords(vectors, start, words[:limit])
        matrix = _array(vectors, start, "vectors", "syn0")
        if len(words) != len(matrix):
            raise DataError(f"{len(words)} words, but {len(matrix)} vectors")
        return Embeddings(Vocabulary.from_words(words[:limit]), matrix[:limit])


def _keyed_vectors(top: Any, path: Path) -> tuple[PickledObject, Path]:
    """Return the vectors inside a model, and the path that the names of its side files begin with."""
    if not isinstance(top, PickledObject):
        raise DataError(_not_vectors(top))
    if isinstance(top.get("wv"), PickledObject):
        return top.get("wv"), path.with_name(path.name + ".wv")
    if "KeyedVectors" not in top.name:
        raise DataError(f"a {top.name} without word vectors (wv), as gensim before 1.0 wrote it")
    return top, path


def _words_by_row(vectors: PickledObject) -> list[str]:
    """Return the words in the order of their rows; the list had other names in older versions."""
    for name in ("index_to_key", "index2word", "index2entity"):
        words = vectors.get(name)
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return words
    raise DataError(f"the {vectors.name} has no list of words")


def _array(vectors: PickledObject, start: Path, *names: str) -> AnyArray:
    """Return the first of these attributes that is an array of numbers, maybe from an .npy or .npz file."""
    for name in names:
        value = vectors.get(name)
        if isinstance(value, PickledObject) and (array := value.array()) is not None:
            return array.astype(array.dtype.newbyteorder("="), copy=False)
        if name in vectors.get("__numpys", []):
            compressed = ".gz" in start.suffixes or ".bz2" in start.suffixes
            side = start.with_name(f"{start.name}.{name}.{'npz' if compressed else 'npy'}")
            if not side.exists():
                raise DataError(f"{side.name} is missing; put it in the same folder")
            return read_array(file_inside(side.parent, side.name))
    raise DataError(f"the {vectors.name} has no array {' or '.join(names)}")


def _with_subwords(vectors: PickledObject, start: Path, words: list[str]) -> Embeddings:
    """Return a fastText model's words, composed of their own and their n-grams' vectors if not stored."""
    if vectors.get("compatible_hash") is not True:
        raise DataError(
            "a fastText model of before gensim 3.8, with other hashes;"
            " load it in gensim 3.8.3 and save it again"
        )
    own_vectors = _array(vectors, start, "vectors_vocab")[: len(words)]
    vocabulary = Vocabulary.from_words(words)
    if not vectors.get("bucket"):
        return Embeddings(vocabulary, own_vectors)
    sizes = vectors.get("min_n", -1), vectors.get("max_n", -1)
    pieces = CharacterNgrams(_array(vectors, start, "vectors_ngrams"), *sizes)
    if vectors.get("vectors") is None and "vectors" not in vectors.get("__numpys", []):
        return Embeddings(vocabulary, pieces.vectors(words, own_vectors), pieces)
    return Embeddings(vocabulary, _array(vectors, start, "vectors")[: len(words)], pieces)
