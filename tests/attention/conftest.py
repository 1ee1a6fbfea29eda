"""The array libraries that every test of equality runs through."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nmtalign.attention import map_arrays

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}


@dataclass(frozen=True)
class Library:
    """A library and a type of floats; calling it turns NumPy arrays, or parameters of them, into its own."""

    module: Any
    dtype: str

    def __call__(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            value = value if value.dtype == bool else value.astype(self.dtype)
            return self.module.asarray(value)
        return map_arrays(self, value)

    def equal(self, result: Any, expected: Any, **tolerance: float) -> None:
        """Assert that a result is of this library and type, and equal to `expected`."""
        assert type(result) is type(self(np.ones(1)))
        assert str(result.dtype).endswith(self.dtype)
        limits = {"rtol": TOLERANCE[self.dtype], "atol": TOLERANCE[self.dtype]} | tolerance
        np.testing.assert_allclose(np.asarray(result), np.asarray(expected), **limits)


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def module(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


@pytest.fixture(params=["float32", "float64"])
def library(module: Any, request: pytest.FixtureRequest) -> Library:
    return Library(module, request.param)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(20261120)


@pytest.fixture
def draw(random: np.random.Generator) -> Callable[..., np.ndarray]:
    """Return a function from a shape to normal numbers that float32 holds exactly."""
    return lambda *shape: random.normal(size=shape).astype(np.float32).astype(np.float64)
