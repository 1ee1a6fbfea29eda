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


def read_bias(bias: Array, scores: Array) -> Array:
    """Return numbers to add to scores, maybe a list, in the library, place and type of the scores."""
    bias = _in_library_of(bias, scores)
    if _kind(bias) == "bool":
        raise UsageError("expected a bias of numbers, which are added to the scores; pass bools as a mask")
    return _as_type_of(bias, scores)


def read_mask(mask: Array, scores: Array) -> Array:
    """Return a mask, maybe a list, as bools, or as floats to add to the scores.

    Integers are 0 and 1, which become False and True. As in PyTorch, floats are added to the scores.
    """
    mask = _in_library_of(mask, scores)
    kind = _kind(mask)
    if kind == "integral":
        if _has_entry((mask != 0) & (mask != 1)):
            raise UsageError("expected a mask of 0 and 1, found other integers; True or 1 may look")
        return mask != 0
    if kind == "real floating":
        if _has_entry(mask != mask):
            raise UsageError("expected a mask of floats to add to the scores, found NaN")
        if _has_entry(mask > 0):
            expected = "expected a mask of floats to add to the scores, 0 or below, found one above 0"
            advice = "ones and zeros become a mask with mask.astype(bool); other numbers are passed as `bias`"
            raise UsageError(f"{expected}; {advice}")
        return _as_type_of(mask, scores)
    if kind != "bool":
        raise UsageError(f"expected a mask of bools, or of floats to add to the scores, found {mask.dtype}")
    return mask


def read_padding(mask: Array, like: Array) -> Array:
    """Return a mask of words as bools; floats, which would be added to scores, are a UsageError."""
    mask = read_mask(mask, like)
    if _kind(mask) != "bool":
        raise UsageError("expected a mask of bools, True for words and False for padding, found floats")
    return mask


def _in_library_of(array: Array, like: Array) -> Array:
    """Return an array, or a list or table of numbers, in the library and place of `like`."""
    array = without_table(array)
    if not isinstance(array, _NUMPY_TYPES):
        namespace(array, like)  # an error unless it is an array of the same library
        return array
    with np.errstate(over="ignore"):  # a number that is too small for the type becomes minus infinity
        return as_like(as_numpy(array), like)


def _kind(array: Array) -> str:
    """Return the kind of an array's entries, as the array API standard names it; "" for others."""
    if isinstance(array, np.ndarray):
        return {"b": "bool", "i": "integral", "u": "integral", "f": "real floating"}.get(array.dtype.kind, "")
    xp = namespace(array)
    kinds = ("bool", "integral", "real floating")
    return next((kind for kind in kinds if xp.isdtype(array.dtype, kind)), "")


def _as_type_of(array: Array, like: Array) -> Array:
    """Return numbers in the type of `like`; what is too small for it becomes minus infinity."""
    if isinstance(array, np.ndarray):
        return array.astype(like.dtype, copy=False)
    with np.errstate(over="ignore"):
        return namespace(like).astype(array, like.dtype)


def _has_entry(condition: Array) -> bool:
    """Return whether a condition is True anywhere; False where entries are unknown, in a traced function."""
    try:
        return bool(namespace(condition).any(condition))
    except Exception:  # whatever a library raises that compiles functions, such as JAX
        return False


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
