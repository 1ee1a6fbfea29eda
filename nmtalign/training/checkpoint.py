"""Checkpoints of training, in a folder that exists until the run has written all its files."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign import __version__
from nmtalign.arrays import AnyArray
from nmtalign.corpus.sides import EncodedSide
from nmtalign.errors import DataError
from nmtalign.files.array_files import NpzWriter, read_arrays
from nmtalign.files.atomic_output import atomic_file
from nmtalign.files.paths import as_path, file_inside, fingerprint
from nmtalign.files.text_files import read_json

CheckpointArrays = dict[str, AnyArray]
ArrayItems = Iterator[tuple[str, AnyArray]]  # only one array at a time is in memory

SECONDS_BETWEEN_CHECKPOINTS = 10.0
CHECKPOINT_FILE = "checkpoint.npz"
CHECKPOINT_FILE_WITH_EXPERT = "checkpoint-with-expert.npz"
CHECKPOINT_FILES = (CHECKPOINT_FILE, CHECKPOINT_FILE_WITH_EXPERT)
RUN_FILE = "run.json"
_KEY = "key"


class Checkpoint:
    """A file with the state of training, which is written completely or not at all.

    `key` is a hash of the settings and the bitext; a checkpoint with another key is ignored.
    """

    def __init__(self, path: str | Path, key: str) -> None:
        self.path = Path(path)
        self.key = key
        self._key = np.frombuffer(key.encode(), np.uint8)
        self._written = time.monotonic()

    def read(self) -> CheckpointArrays | None:
        """Return the arrays; None if there is no file with this key."""
        try:
            arrays = read_arrays(file_inside(self.path.parent, self.path.name))
        except (OSError, DataError):
            return None  # without a checkpoint, training only takes longer
        return arrays if np.array_equal(arrays.pop(_KEY, ()), self._key) else None

    def write_if_due(self, arrays: Callable[[], ArrayItems]) -> None:
        """Write what `arrays` returns if the last checkpoint is `SECONDS_BETWEEN_CHECKPOINTS` old."""
        if time.monotonic() - self._written >= SECONDS_BETWEEN_CHECKPOINTS:
            self.write(arrays)

    def write(self, arrays: Callable[[], ArrayItems]) -> None:
        """Write what `arrays` returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.path) as partial, open(partial, "wb") as file, NpzWriter(file) as archive:
            archive.write(_KEY, self._key)
            for name, array in arrays():
                archive.write(name, array)
        self._written = time.monotonic()


def checkpoint_of(
    folder: str | Path | None,
    source: EncodedSide,
    target: EncodedSide,
    *others: object,
    name: str = CHECKPOINT_FILE,
) -> Checkpoint | None:
    """Return the checkpoint of a training run in a folder; None without a folder.

    The key is a hash of the version of the program, of the sides, and of `others`, which are all other things
    that the model depends on, as arrays, tuples, dataclasses and plain values.
    """
    if folder is None:
        return None
    key = hashlib.sha256()
    _update_hash(key, (__version__, source, target, *others))
    return Checkpoint(as_path(folder) / name, key.hexdigest())


@dataclass(frozen=True)
class TrainingRun:
    """The state of a run of ``nmtalign train``: a record of its command, next to the checkpoints.

    The record shows whether a checkpoint, or a finished model, was written by the same command of the same
    version of the program. `command` describes everything that the model is learned from.
    """

    folder: Path
    command: str

    def start(self) -> None:
        """Write the record; remove what a run of another command left."""
        if not self._record():
            self.remove()
            self._write()

    def model_is_saved(self, model: Path) -> None:
        """Record that the model is complete, but not yet the files of links."""
        self._write(model=fingerprint(file_inside(model, "meta.json")))

    def has_saved(self, model: Path) -> bool:
        """Return whether an earlier run of the same command has saved the model in this folder."""
        try:
            return bool(self._record().get("model") == fingerprint(file_inside(model, "meta.json")))
        except (OSError, DataError):
            return False

    @property
    def has_progress(self) -> bool:
        """Whether the same command would find a checkpoint, or a model that it has saved."""
        record = self._record()
        files = [self.folder / name for name in CHECKPOINT_FILES]
        return bool(record) and ("model" in record or any(file.is_file() for file in files))

    def remove(self) -> None:
        """Remove the files of a run, and the folder if it has no others."""
        paths = [path for name in (*CHECKPOINT_FILES, RUN_FILE) for path in self.folder.glob(f"*{name}")]
        for path in paths:  # with partial files, which a killed run has left
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    @property
    def _command_hash(self) -> str:
        described = f"{__version__}\n{self.command}"
        return hashlib.sha256(described.encode("utf-8", "surrogatepass")).hexdigest()

    def _record(self) -> dict[str, Any]:
        """Return the record of the same command; empty if there is none or it is damaged."""
        try:
            record = read_json(self.folder / RUN_FILE)
        except (OSError, DataError):
            return {}
        return record if record.get("command") == self._command_hash else {}

    def _write(self, **model: object) -> None:
        """Write the record of the command, and of the model if it is saved."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.folder / RUN_FILE) as partial:
            record = json.dumps({"command": self._command_hash, **model})
            Path(partial).write_text(record, encoding="utf-8")


def _update_hash(key: Any, value: object) -> None:
    """Hash a value with its parts."""
    if isinstance(value, np.ndarray):
        key.update(f"{value.dtype.str} {value.shape}".encode())
        key.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    elif is_dataclass(value):
        for part in fields(value):
            _update_hash(key, getattr(value, part.name))
    elif isinstance(value, tuple | list):
        key.update(f"({len(value)}".encode())
        for part in value:
            _update_hash(key, part)
    else:
        key.update(f"{value!r},".encode("utf-8", "surrogatepass"))
