"""Parameters: plain dataclasses of arrays; how they start, how they come from PyTorch.

A dataclass of parameters holds arrays, numbers, other such dataclasses, and tuples of them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from nmtalign.arrays import AnyArray, Doubles
from nmtalign.attention._arrays import Array, as_floats
from nmtalign.errors import DataError

Seed: TypeAlias = int | np.random.Generator
StateDict: TypeAlias = Mapping[str, Any]  # of PyTorch: names to tensors


class Parameters:
    """What every dataclass of parameters does: lists of numbers become arrays."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, list):
                object.__setattr__(self, name, as_floats(value)[1])


def glorot(random: np.random.Generator, *shape: int) -> Doubles:
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


# A PyTorch state dict maps names to tensors. PyTorch keeps a layer as a matrix (out, in) for x @ matrix.T;
# here W is (in, out) for x @ W, so matrices are transposed when they are read.


def torch_part(state: StateDict, prefix: str) -> dict[str, Any]:
    """Return the entries of a PyTorch state dict below `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def torch_matrix(state: StateDict, name: str) -> AnyArray:
    """Return the matrix (out, in) called `name` of a PyTorch state dict as (in, out)."""
    return np.ascontiguousarray(torch_array(state, name).T)


def torch_array(state: StateDict, name: str) -> AnyArray:
    """Return the entry called `name` of a PyTorch state dict as a NumPy array."""
    if name not in state:
        raise DataError(f"expected {name!r} in the state dict, found {', '.join(sorted(state)) or 'nothing'}")
    return np.array(state[name])


def torch_vector(state: StateDict, name: str) -> AnyArray | None:
    """Return the entry called `name`, or None for a layer that was made with ``bias=False``."""
    return torch_array(state, name) if name in state else None
