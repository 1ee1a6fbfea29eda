"""Reading old pickles as data.

A pickle is a small program. This module runs it on a machine of its own that can only build plain values
(text, numbers, lists, dictionaries), NumPy arrays, and inert records in place of objects. Names are looked up
in a list of exact (module, name) pairs and never imported, so no code of any package runs. Every length is
checked against the bytes that are there, so memory stays in proportion to the file.
"""

from __future__ import annotations

import codecs
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError

_NUMERIC_KINDS = "biuf"


class Record:
    """What an object of a pickle becomes: its class name, the arguments it was made with, its state.

    Attributes
    ----------
    name : str
        Module and name of the class, for example ``gensim.models.keyedvectors.KeyedVectors``.
    state : dict
        The attributes of the object.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: dict[str, Any] = {}

    def get(self, key: str, default: Any = None) -> Any:
        """Return one attribute."""
        return self.state.get(key, default)

    def build(self, state: Any) -> None:
        """Take the state; a reference, not a copy, so that no short pickle can multiply a long one."""
        if isinstance(state, dict):
            self.state = state


class _Global:
    """A name of the allow-list. Calling it makes an inert record."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, arguments: tuple[Any, ...], machine: _Machine) -> Any:
        return Record(self.name)


class _Function(_Global):
    """A name that stands for one of the few functions below."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self.function = function

    def call(self, arguments: tuple[Any, ...], machine: _Machine) -> Any:
        return self.function(machine, *arguments)


class _DataType(Record):
    """A NumPy data type on its way: the code comes first, the byte order with the state."""

    def __init__(self, code: str) -> None:
        super().__init__("numpy.dtype")
        self.code, self.order = code, "="

    def build(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">", "=", "|"):
            self.order = state[1]

    def resolve(self) -> np.dtype[Any] | None:
        """Return the data type, or None where its values are not plain numbers."""
        if self.code[:1] not in _NUMERIC_KINDS or self.code[1:] not in ("1", "2", "4", "8"):
            return None
        try:
            return np.dtype(self.order + self.code)
        except TypeError:
            return None


class ArrayRecord(Record):
    """A NumPy array on its way: the shell comes first, shape and bytes with the state.

    Attributes
    ----------
    value : array or None
        The array, read-only; None where it holds anything but plain numbers.
    """

    value: NDArray[Any] | None = None

    def build(self, state: Any) -> None:
        if not (isinstance(state, tuple) and len(state) == 5):
            raise DataError("the pickle has a NumPy array without shape and content")
        _, shape, dtype, fortran, raw = state
        self.value = _array_of(raw, dtype, shape, "F" if fortran else "C")


def _array_of(raw: Any, dtype: Any, shape: Any, order: Any) -> NDArray[Any] | None:
    """Return numbers as a read-only array over their bytes; None for an array of anything else."""
    kind = dtype.resolve() if isinstance(dtype, _DataType) else None
    if kind is None:
        return None
    if isinstance(raw, str):  # Python 2 wrote bytes as text
        raw = raw.encode("latin-1")
    if not (isinstance(raw, bytes) and isinstance(shape, tuple) and all(_is_length(n) for n in shape)):
        raise DataError("the pickle has a NumPy array whose shape or content is not what NumPy writes")
    expected = kind.itemsize * math.prod(shape)
    if expected != len(raw):
        raise DataError(f"the pickle has an array {shape}: expected {expected} bytes, found {len(raw)}")
    return np.frombuffer(raw, kind).reshape(shape, order="F" if order == "F" else "C")


def _is_length(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 2**63


def _make_dtype(machine: _Machine, code: Any, *_: Any) -> _DataType:
    return _DataType(code if isinstance(code, str) else "?")


def _make_array(machine: _Machine, *_: Any) -> ArrayRecord:
    return ArrayRecord("numpy.ndarray")


def _make_frombuffer(machine: _Machine, raw: Any, dtype: Any, shape: Any, order: Any) -> ArrayRecord:
    record = ArrayRecord("numpy.ndarray")
    record.value = _array_of(raw, dtype, shape, order)
    return record


def _make_scalar(machine: _Machine, dtype: Any, raw: Any = b"") -> Any:
    value = _array_of(raw, dtype, (), "C")
    return None if value is None else value.item()


def _make_bytes(machine: _Machine, text: Any = "", encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise DataError("_codecs.encode with anything but text in latin-1")
    machine.spend(len(text))
    return text.encode("latin-1")


def _make_dict(machine: _Machine, *arguments: Any) -> dict[Any, Any]:
    """OrderedDict, Counter, defaultdict: a plain dictionary of the pairs they were made from."""
    result: dict[Any, Any] = {}
    for argument in arguments:
        pairs = list(argument.items()) if isinstance(argument, dict) else argument
        if isinstance(pairs, list):
            machine.spend(len(pairs))
            for pair in pairs:
                key, value = pair
                result[_checked_key(key)] = value
    return result


def _make_empty_bytes(machine: _Machine, *arguments: Any) -> bytes:
    if arguments:
        raise DataError("bytes() with arguments")
    return b""


_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("_codecs", "encode"): _make_bytes,
    ("__builtin__", "bytes"): _make_empty_bytes,
    ("builtins", "bytes"): _make_empty_bytes,
    ("collections", "OrderedDict"): _make_dict,
    ("collections", "defaultdict"): _make_dict,
    ("collections", "Counter"): _make_dict,
    ("numpy", "dtype"): _make_dtype,
    ("numpy.core.multiarray", "_reconstruct"): _make_array,
    ("numpy._core.multiarray", "_reconstruct"): _make_array,
    ("numpy.core.multiarray", "scalar"): _make_scalar,
    ("numpy._core.multiarray", "scalar"): _make_scalar,
    ("numpy.core.numeric", "_frombuffer"): _make_frombuffer,
    ("numpy._core.numeric", "_frombuffer"): _make_frombuffer,
}
_INERT = {
    *((module, name) for module in ("__builtin__", "builtins") for name in ("hash", "int", "long")),
    ("gensim.models.fasttext", "FastText"),
    ("gensim.models.fasttext", "FastTextKeyedVectors"),
    ("gensim.models.fasttext", "FastTextTrainables"),
    ("gensim.models.fasttext", "FastTextVocab"),
    ("gensim.models.keyedvectors", "EuclideanKeyedVectors"),
    ("gensim.models.keyedvectors", "FastTextKeyedVectors"),
    ("gensim.models.keyedvectors", "KeyedVectors"),
    ("gensim.models.keyedvectors", "Vocab"),
    ("gensim.models.keyedvectors", "Word2VecKeyedVectors"),
    ("gensim.models.word2vec", "Vocab"),
    ("gensim.models.word2vec", "Word2Vec"),
    ("gensim.models.word2vec", "Word2VecTrainables"),
    ("gensim.models.word2vec", "Word2VecVocab"),
    ("gensim.utils", "call_on_class_only"),
    ("numpy", "ndarray"),
    ("numpy.random", "__RandomState_ctor"),
    ("numpy.random._mt19937", "MT19937"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pickle", "__randomstate_ctor"),
}
#: The names a pickle may use, exactly; each stands for one of our own functions or an inert record.
ALLOWED: frozenset[tuple[str, str]] = frozenset(_FUNCTIONS) | frozenset(_INERT)


def _lookup(module: Any, name: Any) -> _Global:
    if (module, name) in _FUNCTIONS:
        return _Function(f"{module}.{name}", _FUNCTIONS[module, name])
    if (module, name) in _INERT:
        return _Global(f"{module}.{name}")
    raise DataError(
        f"the pickle asks for {module}.{name}, which is not on the list of allowed names and could run"
        " any code; if you trust the file completely, read it with unsafe_pickle (--unsafe-pickle)"
    )


def _checked_key(key: Any) -> Any:
    """Return a dictionary key; nested tuples are refused, for hashing them can take for ever."""
    if key is None or isinstance(key, str | bytes | int | float):
        return key
    raise DataError(f"expected text or numbers as dictionary keys, found {type(key).__name__}")


def read_pickle(data: bytes, *, encoding: str = "latin-1") -> Any:
    """Return the value of a pickle of protocol 0 to 5 without running any code.

    Parameters
    ----------
    data : bytes
        The whole pickle.
    encoding : str
        How to read the byte strings of Python 2: ``latin-1`` as gensim does, ``utf-8`` for words.

    Returns
    -------
    object
        Plain values; objects become :class:`Record`, arrays :class:`ArrayRecord`.

    Raises
    ------
    DataError
        If the pickle is broken, asks for a name that is not allowed, or claims more bytes than it has.

    Examples
    --------
    >>> import pickle
    >>> read_pickle(pickle.dumps({"the": 0, "cat": 1}))
    {'the': 0, 'cat': 1}
    """
    machine = _Machine(data, encoding)
    try:
        return machine.run()
    except DataError:
        raise
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, struct.error) as error:
        raise DataError(f"not a readable pickle: broken at byte {machine.position} ({error})") from error


class _Machine:
    """The stack machine: one method for each kind of instruction, no way to reach anything outside."""

    def __init__(self, data: bytes, encoding: str) -> None:
        self.data, self.encoding = data, encoding
        self.position = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.budget = len(data)  # what the functions may copy in all

    def run(self) -> Any:
        data, instructions = self.data, _INSTRUCTIONS
        while self.position < len(data):
            code = data[self.position]
            self.position += 1
            if code == 0x2E:  # STOP
                return self.stack[-1]
            step = instructions.get(code)
            if step is None:
                raise DataError(f"not a readable pickle: instruction {bytes([code])!r} is not allowed")
            step(self)
        raise DataError("not a readable pickle: it ends before its end mark")

    def spend(self, amount: int) -> None:
        """Count what is copied: a short pickle must not grow without end."""
        self.budget -= amount
        if self.budget < 0:
            raise DataError("the pickle copies its content over and over; refused")

    def take(self, length: int) -> bytes:
        """Return the next bytes, refusing a length that the file does not have."""
        left = len(self.data) - self.position
        if not 0 <= length <= left:
            raise DataError(f"the pickle claims {length} bytes where {left} are left")
        self.position += length
        return self.data[self.position - length : self.position]

    def line(self) -> bytes:
        """Return the next line of protocol 0, without the line end."""
        end = self.data.index(b"\n", self.position)
        line = self.data[self.position : end]
        self.position = end + 1
        return line

    def number(self, code: struct.Struct) -> Any:
        return code.unpack(self.take(code.size))[0]

    def since_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items


def _mark(machine: _Machine) -> None:
    machine.marks.append(len(machine.stack))


def _pop(machine: _Machine) -> None:
    machine.stack.pop()


def _pop_mark(machine: _Machine) -> None:
    machine.since_mark()


def _dup(machine: _Machine) -> None:
    machine.stack.append(machine.stack[-1])


def _protocol(machine: _Machine) -> None:
    version = machine.take(1)[0]
    if version > 5:
        raise DataError(f"the pickle is of protocol {version}; 0 to 5 are known")


def _frame(machine: _Machine) -> None:
    length, left = machine.number(struct.Struct("<Q")), len(machine.data) - machine.position
    if length > left:
        raise DataError(f"the pickle claims a frame of {length} bytes where {left} are left")


def _int_line(machine: _Machine) -> None:
    line = machine.line()
    machine.stack.append({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line))


def _long_line(machine: _Machine) -> None:
    machine.stack.append(int(machine.line().rstrip(b"L")))


def _float_line(machine: _Machine) -> None:
    machine.stack.append(float(machine.line()))


def _string_line(machine: _Machine) -> None:
    quoted = machine.line().strip()
    if len(quoted) < 2 or quoted[:1] not in (b"'", b'"') or quoted[-1:] != quoted[:1]:
        raise ValueError("a text without quotes")
    raw = codecs.escape_decode(quoted[1:-1])[0]
    machine.stack.append(raw.decode(machine.encoding))


def _unicode_line(machine: _Machine) -> None:
    machine.stack.append(machine.line().decode("raw-unicode-escape"))


def _get_line(machine: _Machine) -> None:
    machine.stack.append(machine.memo[int(machine.line())])


def _put_line(machine: _Machine) -> None:
    machine.memo[int(machine.line())] = machine.stack[-1]


def _memoize(machine: _Machine) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _list(machine: _Machine) -> None:
    machine.stack.append(machine.since_mark())


def _tuple(machine: _Machine) -> None:
    machine.stack.append(tuple(machine.since_mark()))


def _dict(machine: _Machine) -> None:
    items = machine.since_mark()
    machine.stack.append({})
    _set_items(machine, items)


def _set(machine: _Machine) -> None:
    items = machine.since_mark()
    machine.stack.append(frozenset(map(_checked_key, items)))


def _append(machine: _Machine) -> None:
    _extend(machine, [machine.stack.pop()])


def _appends(machine: _Machine) -> None:
    _extend(machine, machine.since_mark())


def _extend(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, list):
        raise TypeError("items for something that is not a list")
    target.extend(items)


def _add_items(machine: _Machine) -> None:
    items, target = machine.since_mark(), machine.stack[-1]
    if not isinstance(target, set):
        raise TypeError("items for something that is not a set")
    target.update(map(_checked_key, items))


def _set_item(machine: _Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _set_items(machine, [key, value])


def _set_items_from_mark(machine: _Machine) -> None:
    _set_items(machine, machine.since_mark())


def _set_items(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if not isinstance(target, dict) or len(items) % 2:
        raise TypeError("pairs for something that is not a dictionary")
    target.update(zip(map(_checked_key, items[::2]), items[1::2], strict=True))


def _global_lines(machine: _Machine) -> None:
    module, name = machine.line().decode(), machine.line().decode()
    machine.stack.append(_lookup(module, name))


def _stack_global(machine: _Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if not (isinstance(module, str) and isinstance(name, str)):
        raise TypeError("a name that is not text")
    machine.stack.append(_lookup(module, name))


def _instance_lines(machine: _Machine) -> None:
    found = _lookup(machine.line().decode(), machine.line().decode())
    _call(machine, found, tuple(machine.since_mark()))


def _instance(machine: _Machine) -> None:
    found, *arguments = machine.since_mark()
    _call(machine, found, tuple(arguments))


def _reduce(machine: _Machine) -> None:
    arguments, found = machine.stack.pop(), machine.stack.pop()
    _call(machine, found, arguments)


def _new_with_names(machine: _Machine) -> None:
    machine.stack.pop()  # keyword arguments of __new__: none of the allowed names has any
    _reduce(machine)


def _call(machine: _Machine, found: Any, arguments: Any) -> None:
    if not isinstance(found, _Global) or not isinstance(arguments, tuple):
        raise TypeError("a call of something that is not a function")
    machine.stack.append(found.call(arguments, machine))


def _build(machine: _Machine) -> None:
    state, target = machine.stack.pop(), machine.stack[-1]
    if not isinstance(target, Record):
        raise TypeError("a state for something that is not an object")
    target.build(state)


def _constant(make: Callable[[], Any]) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(make())


def _number(code: str) -> Callable[[_Machine], None]:
    layout = struct.Struct(code)
    return lambda machine: machine.stack.append(machine.number(layout))


def _counted(code: str, convert: Callable[[_Machine, bytes], Any]) -> Callable[[_Machine], None]:
    layout = struct.Struct(code)
    return lambda machine: machine.stack.append(convert(machine, machine.take(machine.number(layout))))


def _fixed_tuple(size: int) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        items = tuple(machine.stack[-size:])
        if len(items) < size:
            raise IndexError("too few values for a tuple")
        del machine.stack[-size:]
        machine.stack.append(items)

    return step


def _get(code: str) -> Callable[[_Machine], None]:
    layout = struct.Struct(code)
    return lambda machine: machine.stack.append(machine.memo[machine.number(layout)])


def _put(code: str) -> Callable[[_Machine], None]:
    layout = struct.Struct(code)
    return lambda machine: machine.memo.__setitem__(machine.number(layout), machine.stack[-1])


def _old_text(machine: _Machine, raw: bytes) -> str:
    return raw.decode(machine.encoding)


def _text(machine: _Machine, raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _bytes(machine: _Machine, raw: bytes) -> bytes:
    return raw


def _long(machine: _Machine, raw: bytes) -> int:
    return int.from_bytes(raw, "little", signed=True)


_INSTRUCTIONS: dict[int, Callable[[_Machine], None]] = {
    ord(code): step
    for code, step in {
        "(": _mark, "0": _pop, "1": _pop_mark, "2": _dup, "\x80": _protocol, "\x95": _frame,
        "N": _constant(lambda: None), "\x88": _constant(lambda: True), "\x89": _constant(lambda: False),
        "I": _int_line, "L": _long_line, "F": _float_line, "S": _string_line, "V": _unicode_line,
        "K": _number("<B"), "M": _number("<H"), "J": _number("<i"), "G": _number(">d"),
        "\x8a": _counted("<B", _long), "\x8b": _counted("<i", _long),
        "U": _counted("<B", _old_text), "T": _counted("<i", _old_text),
        "\x8c": _counted("<B", _text), "X": _counted("<I", _text), "\x8d": _counted("<Q", _text),
        "C": _counted("<B", _bytes), "B": _counted("<I", _bytes), "\x8e": _counted("<Q", _bytes),
        "\x96": _counted("<Q", _bytes),
        "]": _constant(list), "l": _list, "a": _append, "e": _appends,
        ")": _constant(tuple), "t": _tuple,
        "\x85": _fixed_tuple(1), "\x86": _fixed_tuple(2), "\x87": _fixed_tuple(3),
        "}": _constant(dict), "d": _dict, "s": _set_item, "u": _set_items_from_mark,
        "\x8f": _constant(set), "\x90": _add_items, "\x91": _set,
        "g": _get_line, "h": _get("<B"), "j": _get("<I"),
        "p": _put_line, "q": _put("<B"), "r": _put("<I"), "\x94": _memoize,
        "c": _global_lines, "\x93": _stack_global, "i": _instance_lines, "o": _instance,
        "R": _reduce, "\x81": _reduce, "\x92": _new_with_names, "b": _build,
    }.items()
}  # fmt: skip
