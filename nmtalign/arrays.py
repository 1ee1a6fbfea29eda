"""Names of array types, and checks of arrays and numbers that were read from files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtalign.display import short_repr
from nmtalign.errors import DataError

# These names give the type of the entries; comments give the shape.
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Reals = NDArray[np.floating]  # single or double precision
Codes = NDArray[np.int8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Integers = NDArray[np.integer]  # any size
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
AnyArray = NDArray[Any]
Shape = tuple[int | None, ...]
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "i": ("integers (int8 to int64)", (np.int8, np.int16, np.int32, np.int64)),
    "f": ("real numbers (float32 or float64)", (np.float32, np.float64)),
    "v": ("real numbers (float16 to float64)", (np.float16, np.float32, np.float64)),
}
NUMERIC_KINDS = "biuf"  # kinds of numbers


def as_real_array(values: Any, what: str) -> AnyArray:
    """Return `values` as an array of real numbers; raise DataError if they are not numbers.

    Tensors are accepted, also those that require a gradient. `what` describes the values in the message.
    """
    try:
        array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except Exception:  # rows of unequal lengths, or whatever an array of another package raises
        array = np.asarray(None)
    if array.dtype.kind not in NUMERIC_KINDS:
        raise DataError(f"expected {what} as real numbers, found {short_repr(values)}")
    return array


def in_word_order(values: Any, rows: Sequence[str], columns: Sequence[str] | None = None) -> Any:
    """Return a DataFrame whose labels are words in the order of its words; other values unchanged.

    Labels in the order of the words may have others before and after them. DataError is raised if labels are
    words in an order that cannot be restored, because they are others or are repeated.
    """
    is_pandas = hasattr(values, "itertuples")
    if not is_pandas and not hasattr(values, "iter_rows"):  # of polars, which has labels of columns only
        return values
    of_axes = [("rows", rows), ("columns", columns)]
    known = {word for _, words in of_axes for word in words or ()}
    for axis, (name, words) in enumerate(of_axes):
        if words is None or not (is_pandas or axis):
            continue
        labels = list(values.axes[axis]) if is_pandas else list(values.columns)
        if not all(isinstance(label, str) for label in labels) or known.isdisjoint(labels):
            continue
        start = labels.index(words[0]) if words and words[0] in labels else 0
        if labels[start : start + len(words)] == list(words):
            continue
        if set(labels) != set(words) or len(labels) != len(words) or len(set(labels)) < len(labels):
            expected = f"expected {name} with the labels {short_repr(list(words))}"
            advice = "frame.to_numpy() is read by position"
            raise DataError(f"{expected}, found {short_repr(labels)}; {advice}")
        values = values.reindex(list(words), axis=axis) if is_pandas else values[list(words)]
    return values


def offsets_of(lengths: ArrayLike) -> Longs:
    """Return the offsets (N + 1,) of consecutive runs with these lengths (N,): starts, and the last end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def positions_in_runs(counts: Integers, dtype: type[np.integer] = np.int64) -> Integers:
    """Return the position of each entry in its run, from 0, where run k has ``counts[k]`` entries.

    >>> positions_in_runs(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts, dtype=dtype)
    starts = ends - counts.astype(dtype, copy=False)
    positions = np.arange(counts.sum(), dtype=dtype)
    positions -= np.repeat(starts, counts)
    return positions


def rows_of_runs(offsets: Longs, runs: Integers) -> Longs:
    """Return the entries of some of the consecutive runs that have these offsets, run by run.

    >>> rows_of_runs(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    counts = np.diff(offsets)[runs]
    return np.asarray(np.repeat(offsets[runs], counts) + positions_in_runs(counts))


def unit_rows(matrix: AnyArray) -> Reals:
    """Return the rows at unit norm in float32 or wider; a zero row stays zero, shape (V, D)."""
    wide = np.asarray(matrix, dtype=np.result_type(matrix.dtype, np.float32))
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)  # (V, 1)
    return np.asarray(wide / np.where(lengths > 0, lengths, 1))


def block_slices(length: int, size: int) -> Iterator[slice]:
    """Yield slices of `size` entries that cover `length` entries; the last slice may be shorter."""
    return (slice(start, start + size) for start in range(0, length, size))


def check_stored_array(
    array: NDArray[Any],
    kind: str,
    shape: Shape,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    name: str | Path,
) -> NDArray[Any]:
    """Return an array if it has the kind, shape and range that are expected, and all entries are finite.

    `kind` is "i" for integers, "f" for real numbers that are computed with, or "v" for vectors, which
    may have any precision. None in `shape` is any length but 0. Errors begin with `name`.
    """
    what, types = _TYPES[kind]
    if array.dtype not in [np.dtype(one) for one in types]:  # rejects another byte order, too
        raise DataError(f"expected {what}, found {array.dtype}").at(name)
    lengths = zip(array.shape, shape, strict=False)
    right = [length > 0 if wanted is None else length == wanted for length, wanted in lengths]
    if array.ndim != len(shape) or not all(right):
        expected = " x ".join("any" if length is None else str(length) for length in shape)
        entries = " x ".join(map(str, array.shape)) or "a single number"
        raise DataError(f"expected {expected} entries, found {entries}").at(name)
    if array.size:
        for end in (array.min(), array.max()):  # NaN is both
            check_stored_number(end.item(), minimum, maximum, name=name)
    return array


def check_stored_number(
    value: Any, minimum: float | None = None, maximum: float | None = None, *, name: str | Path
) -> float:
    """Return a stored number if it is finite and in the range, as :func:`check_stored_array` does."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise DataError(f"expected a finite number, found {value!r}").at(name)
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise DataError(f"expected numbers {bounds}, found {value!r}").at(name)
    return value


def check_stored_integer(
    value: Any, minimum: float | None = None, maximum: float | None = None, *, name: str | Path
) -> int:
    """Return a stored integer if it is in the range, as :func:`check_stored_array` does."""
    if check_stored_number(value, minimum, maximum, name=name) != int(value):
        raise DataError(f"expected an integer, found {value!r}").at(name)
    return int(value)


def check_strictly_increasing(values: NDArray[np.integer], *, name: str | Path) -> None:
    """Raise DataError unless each value is greater than the one before it."""
    wrong = np.flatnonzero(values[1:] <= values[:-1])
    if len(wrong):
        before, after = values[wrong[0] : wrong[0] + 2].tolist()
        entry = f"found {after} after {before} at entry {wrong[0] + 1}"
        raise DataError(f"expected each entry above the one before, {entry}").at(name)
