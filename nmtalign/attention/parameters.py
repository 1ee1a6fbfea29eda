"""Parameters: plain dataclasses of arrays; how they start, how they are stored, how they come from PyTorch.

A dataclass of parameters holds arrays, numbers, other such dataclasses, and tuples of them. Its arrays have
names like those of Python: ``encoder.0.attention.W_Q``. The same names are used in the npz file.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from nmtalign.attention._arrays import Array
from nmtalign.errors import DataError

Parameters = TypeVar("Parameters")
Seed: TypeAlias = int | np.random.Generator
StateDict: TypeAlias = Mapping[str, Any]  # of PyTorch: names to tensors


def glorot(random: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    r"""Glorot's uniform start: between :math:`\pm\sqrt{6 / (n_{in} + n_{out})}`, of variance
    :math:`2 / (n_{in} + n_{out})`.

    The last two of `shape` are :math:`n_{in}` and :math:`n_{out}`; a vector counts as one column. One seeded
    generator starts a whole model (Glorot & Bengio 2010, "Understanding the Difficulty of Training Deep
    Feedforward Neural Networks", eq. 16).

    Examples
    --------
    >>> bool(abs(glorot(np.random.default_rng(0), 100, 200)).max() < (6 / 300) ** 0.5)
    True
    """
    fan_in, fan_out = (shape[-2], shape[-1]) if len(shape) > 1 else (shape[0], 1)
    limit = math.sqrt(6 / (fan_in + fan_out))
    return random.uniform(-limit, limit, shape)


def map_arrays(function: Callable[[Array], Array], parameters: Any) -> Any:
    """Return `parameters` with `function` done to every array, for instance ``torch.asarray``.

    Examples
    --------
    >>> from nmtalign.attention import LayerNorm
    >>> map_arrays(lambda a: a.astype("float32"), LayerNorm.start(2)).gain
    array([1., 1.], dtype=float32)
    """
    if isinstance(parameters, tuple):
        return tuple(map_arrays(function, part) for part in parameters)
    if dataclasses.is_dataclass(parameters):
        kind: Any = type(parameters)
        return kind(**{name: map_arrays(function, part) for name, part in vars(parameters).items()})
    return parameters if isinstance(parameters, bool | int | float | str | None) else function(parameters)


def named_arrays(parameters: Any, prefix: str = "") -> dict[str, Array]:
    """Return every array and number of `parameters` by its dotted name.

    Examples
    --------
    >>> from nmtalign.attention import LayerNorm
    >>> sorted(named_arrays(LayerNorm.start(2)))
    ['bias', 'epsilon', 'gain']
    """
    if parameters is None:
        return {}
    if isinstance(parameters, tuple):
        parts: dict[Any, Any] = dict(enumerate(parameters))
    elif dataclasses.is_dataclass(parameters):
        parts = vars(parameters)
    else:
        return {prefix.removesuffix("."): parameters}
    return {n: a for name, part in parts.items() for n, a in named_arrays(part, f"{prefix}{name}.").items()}


def save_parameters(path: str | os.PathLike[str], parameters: Any) -> None:
    """Write a dataclass of parameters to an npz file, one entry for each array and number, nothing pickled.

    The name is kept as it is. :func:`load_parameters` reads the file.
    """
    arrays = {name: np.asarray(array) for name, array in named_arrays(parameters).items()}
    with open(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_parameters(path: str | os.PathLike[str], kind: type[Parameters]) -> Parameters:
    """Read what :func:`save_parameters` wrote, as an object of `kind` with NumPy arrays.

    `kind` is the dataclass that was saved, for instance :class:`~nmtalign.attention.mechanism.MultiHead`.

    Raises
    ------
    DataError
        If the file is no npz file of plain arrays, an entry is missing, or there are more than `kind` has.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            result = _built(kind, arrays := dict(file), "")
    except DataError as error:
        raise error.at(path) from None
    except (ValueError, TypeError, BadZipFile) as error:
        raise DataError(f"expected an npz file of plain arrays, found: {error}").at(path) from None
    surplus = sorted(set(arrays) - set(named_arrays(result)))
    if surplus:
        raise DataError(f"expected the parameters of {kind.__name__}, found also {surplus[0]!r}").at(path)
    return result  # type: ignore[no-any-return]


def _built(kind: Any, arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """Return the part called `name` as its type hint says: a dataclass, tuple, number, array, or None."""
    prefix = f"{name}." if name else ""
    inside = [key for key in arrays if key == name or key.startswith(prefix)]
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind).items()
        return kind(**{part: _built(hint, arrays, prefix + part) for part, hint in hints})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        size = len({key.removeprefix(prefix).split(".")[0] for key in inside})
        return tuple(_built(get_args(kind)[0], arrays, f"{prefix}{index}") for index in range(size))
    if type(None) in get_args(kind):
        return _built(get_args(kind)[0], arrays, name) if inside else None
    if name not in arrays:
        raise DataError(f"expected an entry {name!r}, found none")
    return kind(arrays[name].item()) if kind in (bool, int, float, str) else arrays[name]


# A PyTorch state dict maps names to tensors. PyTorch keeps a layer as a matrix (out, in) for x @ matrix.T;
# here W is (in, out) for x @ W, so matrices are transposed when they are read.


def torch_part(state: StateDict, prefix: str) -> dict[str, Any]:
    """Return the entries of a PyTorch state dict below `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def torch_matrix(state: StateDict, name: str) -> NDArray[Any]:
    """Return the matrix (out, in) called `name` of a PyTorch state dict as (in, out)."""
    return np.ascontiguousarray(torch_array(state, name).T)


def torch_array(state: StateDict, name: str) -> NDArray[Any]:
    """Return the entry called `name` of a PyTorch state dict as a NumPy array."""
    if name not in state:
        raise DataError(f"expected {name!r} in the state dict, found {', '.join(sorted(state)) or 'nothing'}")
    return np.array(state[name])


def torch_vector(state: StateDict, name: str) -> NDArray[Any] | None:
    """Return the entry called `name`, or None for a layer that was made with ``bias=False``."""
    return torch_array(state, name) if name in state else None
