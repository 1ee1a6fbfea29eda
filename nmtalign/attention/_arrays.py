"""Which library the arrays belong to: NumPy, or any other that follows the array API standard.

Plain NumPy never imports an array API package. Only what NumPy 1.26 and the standard spell differently stands
here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from nmtalign.display import short_repr
from nmtalign.errors import UsageError

Array: TypeAlias = Any  # any array that follows the standard; NumPy's, PyTorch's, CuPy's, JAX's
_NUMPY_TYPES = (np.ndarray, np.generic, list, tuple, int, float)


def namespace(*arrays: Array) -> Any:
    """Return the module that works on `arrays`: ``numpy``, or the one that array-api-compat finds."""
    if all(isinstance(array, _NUMPY_TYPES) for array in arrays):
        return np
    for array in arrays:
        if not isinstance(array, _NUMPY_TYPES) and not _is_array(array):
            raise UsageError(f"expected an array of numbers, found {short_repr(array)}")
    names = [type(array).__name__ for array in arrays]
    mixed = UsageError(f"expected arrays of one library, found {', '.join(names)}")
    if any(isinstance(array, int | float) for array in arrays):
        raise mixed  # array-api-compat passes over them
    try:
        from array_api_compat import array_namespace

        return array_namespace(*arrays)
    except ImportError:
        raise UsageError(
            f"arrays of type {names[0]} need the package array-api-compat: "
            "pip install 'nmtalign[arrays]', or pass NumPy arrays"
        ) from None
    except TypeError:
        if len(set(names)) > 1:
            raise mixed from None
        advice = "pass NumPy arrays, such as x.toarray()"
        raise UsageError(f"a {names[0]} does not follow the array API standard; {advice}") from None


def _is_array(value: Any) -> bool:
    """Return whether a value looks like an array of some library."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def without_table(value: Any) -> Any:
    """Return the numbers of a table or column, of pandas or polars, as a NumPy array; others unchanged."""
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def as_floats(*arrays: Array) -> tuple[Array, ...]:
    """Return `arrays` as arrays of floats.

    Lists and integers become float64, and tables NumPy arrays.
    """
    return namespace_and_floats(*arrays)[1:]


def namespace_and_floats(*arrays: Array) -> tuple[Any, ...]:
    """Return the namespace, then `arrays` as :func:`as_floats` returns them."""
    arrays = tuple(map(without_table, arrays))
    xp = namespace(*arrays)
    if xp is np:
        plain = map(as_numpy, arrays)
        return np, *(a if a.dtype.kind == "f" else a.astype(np.float64) for a in plain)
    return xp, *(a if xp.isdtype(a.dtype, "real floating") else xp.astype(a, xp.float64) for a in arrays)


def as_numpy(value: Any) -> Array:
    """Return a list as a NumPy array of one axis or more; NumPy's own arrays as they are."""
    try:
        array = np.asarray(value)
    except Exception:  # rows of unequal lengths, or whatever a list of tensors raises
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise UsageError(f"expected numbers in rows of equal length, found {short_repr(value)}")
    return array


def convert_like(array: Array, like: Array, kind: type) -> Array:
    """Return a mask or bias, maybe a list, as an array of a kind in the library and place of `like`."""
    array = without_table(array)
    if not isinstance(array, _NUMPY_TYPES):
        namespace(array, like)  # an error unless it is an array of the same library
    return as_like(as_numpy(array).astype(kind), like) if isinstance(array, _NUMPY_TYPES) else array


def as_like(value: Any, like: Array | None) -> Array:
    """Return a number or NumPy array in the library and place of `like`; floats also take its type."""
    value = np.asarray(value)
    if like is None:
        return value
    if not _is_array(like):
        raise UsageError(f"expected an array as `like`, found {short_repr(like)}")
    dtype = like.dtype if value.dtype.kind == "f" else None
    if isinstance(like, np.ndarray):
        return value.astype(dtype or value.dtype, copy=False)
    device = getattr(like, "device", None)  # JAX compiles a function with arrays that are in no place yet
    return namespace(like).asarray(value, dtype=dtype, device=device)


def swap_last_axes(array: Array) -> Array:
    """Return `array` with its last two axes swapped (a view)."""
    return np.swapaxes(array, -1, -2) if isinstance(array, np.ndarray) else array.mT


def concatenate(arrays: Sequence[Array], axis: int) -> Array:
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


def error_function(array: Array) -> Array:
    """Return erf of each entry; a UsageError where its library has none, for it is not in the standard."""
    if isinstance(array, np.ndarray):
        from scipy.special import erf

        return erf(array)
    xp = namespace(array)
    if not hasattr(xp, "erf"):
        lacking = type(array).__module__
        raise UsageError(f"GELU needs erf, which {lacking} lacks; pass arrays of NumPy or PyTorch")
    return xp.erf(array)


def divide_or_keep(array: Array, by: Array) -> Array:
    """Return ``array / by``, and `array` where `by` is 0."""
    return array / namespace(by).where(by == 0, as_like(1.0, by), by)


def zero_for_minus_infinity(array: Array) -> Array:
    """Return `array` with 0 in place of minus infinity."""
    return namespace(array).where(array == -math.inf, as_like(0.0, array), array)


def check_sizes(**sizes: object) -> None:
    """Raise a :class:`UsageError` unless sizes are integers from 0."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 0:
            raise UsageError(f"expected {name} as an integer from 0, found {short_repr(size)}")


def check_parameters(kind: type, parameters: Any) -> None:
    """Raise a :class:`UsageError` unless parameters are of a kind."""
    if not isinstance(parameters, kind):
        raise UsageError(f"expected parameters of type {kind.__name__}, found {type(parameters).__name__}")


def check_function(name: str, function: Any) -> None:
    """Raise a :class:`UsageError` unless something can be called."""
    if not callable(function):
        raise UsageError(f"expected a function as `{name}`, found {short_repr(function)}")


def check_temperature(temperature: Any) -> None:
    """Raise a :class:`UsageError` unless this is a positive number, perhaps in an array of its own."""
    try:
        positive = not isinstance(temperature, bool) and bool(0 < temperature < math.inf)
    except Exception:  # whatever the comparison of other things raises
        positive = False
    if not positive:
        raise UsageError(f"the temperature must be a positive number, found {short_repr(temperature)}")


def generator(seed: Any) -> np.random.Generator:
    """Return a generator of random numbers; a :class:`UsageError` for what is not a seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise UsageError(f"expected a seed, an integer from 0, found {short_repr(seed)}") from None


def check_one_axis(name: str, array: Array) -> None:
    """Raise a :class:`UsageError` unless an array is a single vector."""
    if array.ndim != 1:
        raise UsageError(f"expected {name} as one vector, found shape {tuple(array.shape)}")


def check_matrix(name: str, array: Array) -> None:
    """Raise a :class:`UsageError` unless an array is a single matrix."""
    if array.ndim != 2:
        raise UsageError(f"expected {name} as one matrix, found shape {tuple(array.shape)}")


def check_rows(**arrays: Array) -> None:
    """Raise a :class:`UsageError` unless arrays consist of rows of vectors."""
    for name, array in arrays.items():
        if array.ndim < 2:
            raise UsageError(f"expected {name} as rows of vectors, found shape {tuple(array.shape)}")


def check_to_fit(name: str, array: Array, scores: Array) -> None:
    """Raise a :class:`UsageError` unless an array broadcasts to scores; it may have more leading axes."""
    given = tuple(array.shape)
    shape = tuple(scores.shape)
    try:
        fits = np.broadcast_shapes(given, shape)[-2:] == shape[-2:]
    except ValueError:
        fits = False
    if not fits:
        raise UsageError(f"{name} must broadcast to scores of shape {shape}, found shape {given}")


def check_axis(name: str, array: Array, axis: int, size: int, other: str) -> None:
    """Raise a :class:`UsageError` unless `array` has `size` entries along `axis`, to fit `other`."""
    if array.ndim < -axis or array.shape[axis] != size:
        shape = tuple(array.shape)
        raise UsageError(
            f"{name} must have {size} entries along axis {axis} to fit {other}, found shape {shape}"
        )
