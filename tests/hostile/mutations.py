"""Wrong values in good files: for each scalar, and for the values, type and shape of each array."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

VALUES: tuple[Any, ...] = (0, -1, 2**31, 10**12, 10**300, 1e300, float("nan"), "", [])
WORDS = ("0", "-1", str(2**31), str(10**12), str(10**300), "1e300", "NaN", "", "[]")
TYPES = (
    "f2",
    "f4",
    "f8",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u8",
    "?",
    ">f4",
    ">i4",
    "g",
    "c8",
    "U3",
    "M8[s]",
    "O",
)
Mutation = tuple[str, bytes]


def in_json(data: bytes) -> Iterator[Mutation]:
    """Yield a JSON file with another value in the place of each scalar and each list or object."""
    content = json.loads(data)
    for path, holder, key in list(_places(content)):
        right = holder[key]
        for value in VALUES:
            if repr(value) != repr(right):
                holder[key] = value
                yield f"{path} = {value!r:.12}", json.dumps(content).encode()
        holder[key] = right


def _places(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(min(len(value), 2)):
            yield f"{path}/{key}", value, key
            yield from _places(value[key], f"{path}/{key}")


def in_text(data: bytes) -> Iterator[Mutation]:
    """Yield a text with something else in the place of each number or word."""
    for match in re.finditer(rb"[\w.+-]+", data):
        for word in WORDS:
            if word.encode() != match[0]:
                changed = data[: match.start()] + word.encode() + data[match.end() :]
                yield f"{match.start()}:{match[0].decode()} = {word:.12}", changed


def npy(array: Any) -> bytes:
    """Return an .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(arrays: dict[str, bytes]) -> bytes:
    """Return an .npz file of these .npy files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def in_array(array: np.ndarray) -> Iterator[Mutation]:
    """Yield .npy files with other values, another type and other shapes."""
    for value in (0, -1, 1, 127, 2**31, 10**12, 10**300, float("inf"), float("nan")):
        for place in ("all", "first"):
            changed = array.copy()
            try:
                with np.errstate(all="ignore"):
                    changed.reshape(-1)[slice(None) if place == "all" else slice(0, 1)] = value
            except (OverflowError, ValueError):
                continue
            yield f"{place} {value!r:.12}", npy(changed)
    for kind in TYPES:
        with np.errstate(all="ignore"):
            yield f"type {kind}", npy(array.astype(kind))
    array = np.atleast_1d(array)
    shapes = {
        "none": array[:0],
        "one": array[:1],
        "less": array[:-1],
        "more": np.concatenate([array, array[-1:]]),
        "twice": np.concatenate([array, array]),
        "scalar": array.reshape(-1)[0] if array.size else array,
        "flat": array.reshape(-1),
        "transposed": np.ascontiguousarray(array.T),
        "deeper": array[None],
        "columns first": np.asfortranarray(array),
        "narrow": array[..., :0],
        "thinner": array[..., :-1],
        "wider": np.concatenate([array, array], axis=-1),
        "backwards": array[::-1],
    }
    for name, changed in shapes.items():
        yield f"shape {name}", npy(changed)
    for shape in (
        (10**12, *array.shape[1:]),
        (10**300,),
        (0, 10**12),
        (10**12, 0),
        (-1,),
        (2**31, 2**31, 2**31),
    ):
        yield f"claims {shape!s:.30}", claiming(array, shape)


def claiming(array: np.ndarray, shape: tuple[int, ...]) -> bytes:
    """Return an .npy file whose header claims another shape."""
    header = repr({"descr": array.dtype.str, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array.tobytes()


def in_npz(arrays: dict[str, np.ndarray]) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield functions that return .npz files with one array changed, or left out.

    A model has thousands of such files, of which a test reads a few: only these are compressed.
    """
    good = {name: npy(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        yield f"{name} left out", partial(npz, {key: value for key, value in good.items() if key != name})
        for label, changed in in_array(array):
            yield f"{name} {label}", partial(npz, {**good, name: changed})
