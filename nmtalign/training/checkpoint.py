"""Checkpoints of training: plain arrays in a file, and a hash of the settings and the text."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign.arrays import AnyArray
from nmtalign.corpus.sides import EncodedSide
from nmtalign.errors import DataError
from nmtalign.files.array_files import read_arrays
from nmtalign.files.atomic_output import atomic_file
from nmtalign.files.paths import as_path, file_inside

CheckpointArrays = dict[str, AnyArray]

SECONDS_BETWEEN_CHECKPOINTS = 10.0
CHECKPOINT_FILE = "checkpoint.npz"
_KEY = "key"


class Checkpoint:
    """A file with the state of training, which is written completely or not at all.

    `key` is a hash of the settings and the bitext; a checkpoint with another key is ignored.
    """

    def __init__(self, path: str | Path, key: str) -> None:
        self.path, self.key = Path(path), key
        self._key = np.frombuffer(key.encode(), np.uint8)
        self._written = time.monotonic()

    def read(self) -> CheckpointArrays | None:
        """Return the arrays; None if there is no file with this key."""
        try:
            arrays = read_arrays(file_inside(self.path.parent, self.path.name))
        except (OSError, DataError):
            return None  # without a checkpoint, training only takes longer
        return arrays if np.array_equal(arrays.pop(_KEY, ()), self._key) else None

    def write_if_due(self, arrays: Callable[[], Mapping[str, AnyArray]]) -> None:
        """Write what `arrays` returns if the last checkpoint is `SECONDS_BETWEEN_CHECKPOINTS` old."""
        if time.monotonic() - self._written < SECONDS_BETWEEN_CHECKPOINTS:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.path) as partial, open(partial, "wb") as file:
            np.savez(file, **{_KEY: self._key}, **arrays())  # type: ignore[arg-type]
        self._written = time.monotonic()


def checkpoint_of(
    folder: str | Path | None,
    source: EncodedSide,
    target: EncodedSide,
    *others: object,
    name: str = CHECKPOINT_FILE,
) -> Checkpoint | None:
    """Return the checkpoint of a training run in a folder; None without a folder.

    The key is a hash of the sides and of `others`, which are all other things that the model depends on, as
    arrays, tuples, dataclasses and plain values.
    """
    if folder is None:
        return None
    key = hashlib.sha256()
    _update_hash(key, (source, target, *others))
    return Checkpoint(as_path(folder) / name, key.hexdigest())


def remove_checkpoints(folder: str | Path) -> None:
    """Remove the checkpoints in a folder, and the folder if nothing else is in it."""
    folder = as_path(folder)
    for path in folder.glob(f"*{CHECKPOINT_FILE}"):  # includes temporary files of a killed run
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _update_hash(key: Any, value: object) -> None:
    """Hash a value with its parts."""
    if isinstance(value, np.ndarray):
        key.update(f"{value.dtype.str} {value.shape}".encode())
        key.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        for part in fields(value):
            _update_hash(key, getattr(value, part.name))
    elif isinstance(value, tuple | list):
        key.update(f"({len(value)}".encode())
        for part in value:
            _update_hash(key, part)
    else:
        key.update(f"{value!r},".encode("utf-8", "surrogatepass"))
