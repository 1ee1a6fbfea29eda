"""What each stage of learning a model keeps, so that a run that was killed can go on: files in one folder."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign.models.checkpoint import Checkpoint, training_key
from nmtalign.models.corpus import EncodedSide

STAGES = ("lexicon", "rescorer")


class Stages:
    """The states of the stages of one training.

    Parameters
    ----------
    folder : str or Path, optional
        Made when there is something to keep; left out, nothing is kept.
    source, target : EncodedSide
        What is learned from.
    others
        All else that decides what is learned: settings, knowledge, vectors; made of arrays, tuples,
        dataclasses and plain values.
    """

    def __init__(
        self, folder: str | Path | None, source: EncodedSide, target: EncodedSide, *others: object
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        if folder is None:
            return
        key = hashlib.sha256()
        for value in others:
            _feed(key, value)
        self._key = training_key(source, target, key.hexdigest())

    def path(self, stage: str) -> Path | None:
        """Return the file of a stage."""
        return None if self.folder is None else self.folder / f"{stage}.npz"

    def checkpoint(self, stage: str) -> Checkpoint | None:
        """Return what keeps the state of a stage; the clock of its writings starts here."""
        path = self.path(stage)
        return None if path is None else Checkpoint(path, self._key)


def remove_stages(folder: str | Path) -> None:
    """Remove the states in a folder, and the folder if nothing else is in it."""
    folder = Path(folder)
    for stage in STAGES:
        (folder / f"{stage}.npz").unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _feed(key: Any, value: object) -> None:
    """Hash a value with its parts."""
    if isinstance(value, np.ndarray):
        key.update(f"{value.dtype.str} {value.shape}".encode())
        key.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        for part in fields(value):
            _feed(key, getattr(value, part.name))
    elif isinstance(value, tuple | list):
        key.update(f"({len(value)}".encode())
        for part in value:
            _feed(key, part)
    else:
        key.update(f"{value!r},".encode("utf-8", "surrogatepass"))
