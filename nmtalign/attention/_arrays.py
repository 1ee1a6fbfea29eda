"""Which library the arrays belong to: NumPy, or any other that follows the array API standard.

Plain NumPy never imports an array API package. Only what NumPy 1.26 and the standard spell differently
stands here; everything else is written once, in the names that both share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from nmtalign.errors import UsageError

Array: TypeAlias = Any  # any array that follows the standard; NumPy's, PyTorch's, CuPy's, JAX's
_PLAIN = (np.ndarray, np.generic, list, tuple, int, float)


def namespace(*arrays: Array) -> Any:
    """Return the module that works on `arrays`: ``numpy``, or the one that array-api-compat finds."""
    for array in arrays:
        if not isinstance(array, _PLAIN):
            return _foreign_namespace(arrays)
    return np


def _foreign_namespace(arrays: Sequence[Array]) -> Any:
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise UsageError(
            f"arrays of type {type(arrays[0]).__name__} need the package array-api-compat: "
            "pip install array-api-compat, or pass NumPy arrays"
        ) from None
    try:
        return array_namespace(*arrays)
    except TypeError:
        names = ", ".join(type(array).__name__ for array in arrays)
        raise UsageError(f"expected arrays of one library, found {names}") from None


def as_floats(*arrays: Array) -> tuple[Any, ...]:
    """Return the namespace, then `arrays` as arrays of floats (lists and whole numbers become float64)."""
    xp = namespace(*arrays)
    if xp is np:
        return np, *(_as_float(np.asarray(array)) for array in arrays)
    return xp, *(a if xp.isdtype(a.dtype, "real floating") else xp.astype(a, xp.float64) for a in arrays)


def _as_float(array: Array) -> Array:
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def constant(value: float, like: Array) -> Array:
    """Return `value` as an array of no axes, in the library, type and place of `like`."""
    if isinstance(like, np.ndarray):
        return np.asarray(value, dtype=like.dtype)
    return namespace(like).asarray(value, dtype=like.dtype, device=_device(like))


def moved(array: Array, like: Array | None) -> Array:
    """Return the NumPy `array` in the library and place of `like`; floats also take its type."""
    if like is None:
        return array
    dtype = like.dtype if array.dtype.kind == "f" else None
    if isinstance(like, np.ndarray):
        return array.astype(dtype) if dtype is not None else array
    return namespace(like).asarray(array, dtype=dtype, device=_device(like))


def _device(array: Array) -> Any:
    return getattr(array, "device", None)  # JAX compiles a function with arrays that are in no place yet


def transposed(array: Array) -> Array:
    """Return `array` with its last two axes swapped (a view)."""
    return np.swapaxes(array, -1, -2) if isinstance(array, np.ndarray) else array.mT


def joined(arrays: Sequence[Array], axis: int) -> Array:
    """Return `arrays` joined along an axis that exists."""
    if len(arrays) == 1:
        return arrays[0]
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays, axis=axis)
    return namespace(*arrays).concat(list(arrays), axis=axis)


def running_sum(array: Array) -> Array:
    """Return the running sums along the last axis."""
    if isinstance(array, np.ndarray):
        return np.cumsum(array, axis=-1)
    return namespace(array).cumulative_sum(array, axis=-1)


def expect_axis(
    name: str, array: Array, axis: int, size: int, other: str, fitted: Array | None = None
) -> None:
    """Raise a :class:`UsageError` unless `array` has `size` entries along `axis`, to fit `other`."""
    if array.ndim < -axis or array.shape[axis] != size:
        shape = "" if fitted is None else f" of shape {tuple(fitted.shape)}"
        raise UsageError(
            f"{name} must have {size} entries along axis {axis} to fit {other}{shape},"
            f" found shape {tuple(array.shape)}"
        )
