"""Checks of files and arrays: each raises one line with the place, what was expected and what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtalign.errors import DataError
from nmtalign.files import file_in, fingerprint

Shape = tuple[int | None, ...]

_KINDS = {"i": "whole numbers", "f": "real numbers"}
_DAMAGED = "; the file is damaged or of another model: copy the folder again, or learn the model again"


def fingerprints(folder: Path) -> dict[str, dict[str, Any]]:
    """Return size and SHA-256 of each file of a folder by its name."""
    return {
        path.relative_to(folder).as_posix(): fingerprint(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def expect_files(folder: Path, expected: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse files of other sizes or bytes than `expected`, which is as :func:`fingerprints` gives them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "source.txt").write_text("the\\n")
    ...     expect_files(Path(folder), {"source.txt": {"bytes": 5}})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    nmtalign.errors.DataError: ...source.txt: expected 5 bytes, found 4; the file is damaged...
    """
    for name, wanted in expected.items():
        path = file_in(folder, name)
        size = path.stat().st_size
        if size != wanted["bytes"]:
            raise DataError(f"expected {wanted['bytes']:,} bytes, found {size:,}{_DAMAGED}").at(path)
    for name, wanted in expected.items():
        found = fingerprint(folder / name)["sha256"]
        if found != wanted["sha256"]:
            what = f"expected the SHA-256 {wanted['sha256'][:8]}..., found {found[:8]}..."
            raise DataError(what + _DAMAGED).at(folder / name)


def expect_array(
    array: NDArray[Any],
    kind: str,
    shape: Shape,
    low: float | None = None,
    high: float | None = None,
    *,
    name: str | Path,
) -> NDArray[Any]:
    """Return an array if it has the kind, shape and range that are expected, and all entries are finite.

    `kind` is "i" or "f" as of ``array.dtype``; None in `shape` is any length but 0; `name` is the place in
    errors.

    Examples
    --------
    >>> expect_array(np.array([0.5, -1.0]), "f", (2,), low=0, name="counts.npy")
    Traceback (most recent call last):
    nmtalign.errors.DataError: counts.npy: expected numbers of at least 0, found -1.0
    """
    if array.dtype.kind != kind:
        raise DataError(f"expected {_KINDS[kind]}, found {array.dtype}").at(name)
    lengths = zip(array.shape, shape, strict=False)
    right = [found == wanted if wanted is not None else found > 0 for found, wanted in lengths]
    if array.ndim != len(shape) or not all(right):
        wanted = " x ".join("any" if length is None else str(length) for length in shape)
        found = " x ".join(map(str, array.shape)) or "a single number"
        raise DataError(f"expected {wanted} entries, found {found}").at(name)
    if array.size:
        for end in (array.min(), array.max()):  # NaN is both
            expect_number(end.item(), low, high, name=name)
    return array


def expect_number(
    value: Any, low: float | None = None, high: float | None = None, *, name: str | Path
) -> float:
    """Return a number if it is one, finite, and in the range; parameters as of :func:`expect_array`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise DataError(f"expected a finite number, found {value!r}").at(name)
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise DataError(f"expected numbers {bounds}, found {value!r}").at(name)
    return value


def expect_whole(value: Any, low: float | None = None, high: float | None = None, *, name: str | Path) -> int:
    """Return a whole number in the range; parameters as of :func:`expect_array`."""
    if expect_number(value, low, high, name=name) != int(value):
        raise DataError(f"expected a whole number, found {value!r}").at(name)
    return int(value)


def expect_rising(values: NDArray[np.integer], *, name: str | Path) -> None:
    """Refuse numbers of which one is not greater than the one before."""
    wrong = np.flatnonzero(values[1:] <= values[:-1])
    if len(wrong):
        before, after = values[wrong[0] : wrong[0] + 2].tolist()
        where = f"found {after} after {before} at entry {wrong[0] + 1}"
        raise DataError(f"expected each entry above the one before, {where}").at(name)
