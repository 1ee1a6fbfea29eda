"""The number of threads of BLAS, the library behind NumPy's and SciPy's matrix products.

Many small products are slower with several threads, and the last bits of a large product depend on the
number of threads.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

# The names of functions of OpenBLAS in the wheels of NumPy and SciPy. Newer wheels have a prefix in front;
# builds for large arrays have the suffix 64_.
_GETTERS = (
    "scipy_openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
)
_SETTERS = tuple(name.replace("_get_", "_set_") for name in _GETTERS)


def start_with_one_thread() -> None:
    """Keep BLAS to one thread, unless the user chose a number; works only before NumPy is imported."""
    for name in VARIABLES:
        os.environ.setdefault(name, "1")


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep OpenBLAS to one thread during the block, so that the same numbers come out on every machine.

    This reaches the libraries in the wheels of NumPy and SciPy. For another BLAS, or another build, set the
    variables in `VARIABLES` before Python starts.
    """
    libraries = _libraries()
    before = [get_threads() for get_threads, _ in libraries]
    try:
        for _, set_threads in libraries:
            set_threads(1)
        yield
    finally:
        for (_, set_threads), number in zip(libraries, before, strict=True):
            set_threads(number)


@cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return the functions that get and set the number of threads, for each OpenBLAS of NumPy and SciPy."""
    found = []
    for package in ("numpy", "scipy"):
        for path in _paths_of_openblas(package):
            library = ctypes.CDLL(str(path))
            for getter, setter in zip(_GETTERS, _SETTERS, strict=True):
                if hasattr(library, getter) and hasattr(library, setter):
                    found.append((getattr(library, getter), getattr(library, setter)))
                    break
    return found


def _paths_of_openblas(package: str) -> list[Path]:
    """Return the files of OpenBLAS that the wheel of a package contains."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    home = Path(spec.origin).parent
    folders = [home.parent / f"{package}.libs", home / ".dylibs"]  # Linux and Windows; macOS
    return [path for folder in folders for path in sorted(folder.glob("*openblas*"))]
