"""Atomic output: a file or folder gets its name when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TextIO

from nmtalign.door import as_path, expect_flag
from nmtalign.errors import DISK_FULL, UsageError
from nmtalign.files import new_partial, open_binary, open_text

_HOW = "`overwrite=True`"


@contextmanager
def whole_file(path: str | Path) -> Iterator[str | Path]:
    """Yield a temporary name beside `path`; the file gets its own name when the block ends well.

    If the block fails, the temporary file is removed and an older file under `path` stays as it was.
    ``-`` (standard output) and things that are not plain files, such as ``/dev/null``, are given as they are.
    The block writes no other file: the error of a full disk that names no file is taken to be about this one.
    """
    with _renamed(path) as partial:
        try:
            yield partial
        except OSError as error:
            if error.errno in DISK_FULL and error.filename is None:
                error.filename = str(path)
            raise


@contextmanager
def _renamed(path: str | Path) -> Iterator[str | Path]:
    """Do what :func:`whole_file` does for one of several files; errors have to name theirs."""
    final = as_path(path)
    if str(path) == "-" or (final.exists() and not final.is_file()):
        yield path
        return
    expect_folder_of(final)
    partial = new_partial(final)  # keeps the ending: it names the format
    try:
        yield partial
        os.replace(partial, final)
    except OSError as error:
        if error.filename == str(partial):
            error.filename, error.filename2 = str(path), None  # the name that the user gave
        raise
    finally:
        partial.unlink(missing_ok=True)


def expect_folder_of(path: str | Path) -> None:
    """Refuse a file whose folder is not there; ``-`` has none."""
    if not (folder := as_path(path).parent).is_dir():
        raise UsageError(f"{path}: there is no folder {folder} to write into; make it first")


class Outputs(ExitStack):
    """Files of one run: all are closed before the first gets its name; see :func:`whole_file`."""

    def __init__(self) -> None:
        super().__init__()
        self._names = ExitStack()

    def binary(self, path: str | Path) -> BinaryIO:
        """Open a file for bytes, packed by its ending."""
        partial = self._names.enter_context(_renamed(path))
        file = open_binary(partial, "w")
        return file if str(path) == "-" else self.enter_context(file)

    def text(self, path: str | Path) -> TextIO:
        """Open a file for text, packed by its ending."""
        partial = self._names.enter_context(_renamed(path))
        return self.enter_context(open_text(partial, "w"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._names.push(super().__exit__)
        return bool(self._names.__exit__(kind, error, trace))


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield a new folder beside `path`, which takes the place of what is there when the block ends well.

    If the block fails, the new folder is removed and the older one stays as it was. :func:`expect_room` tells
    beforehand what may be replaced.
    """
    final = as_path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=final.parent) as partial:
        new = Path(partial, "new")
        new.mkdir()
        try:
            yield new
        except OSError as error:
            # a copy that finds the disk full names the file that is copied
            full = error.errno in DISK_FULL
            if full or error.filename is None or new in Path(error.filename).parents:
                error.filename, error.filename2 = str(path), None  # the name that the user gave
            raise
        older = Path(partial, "older")
        try:
            if final.exists():
                final.rename(older)
            new.rename(final)
        finally:
            if older.exists() and not final.exists():
                older.rename(final)


def expect_new_file(path: str | Path, *, overwrite: bool) -> None:
    """Refuse a file that is there; with `overwrite` none."""
    expect_flag(overwrite, "overwrite")
    if as_path(path).is_file() and not overwrite:
        raise UsageError(f"{path} is there; replace it with {_HOW}, or give another name")


def expect_room(folder: str | Path, own: Collection[str], kind: str, *, overwrite: bool) -> None:
    """Refuse a folder whose content would be lost.

    `own` are the files in it, by their names, that belong to an older result of the same `kind`; with
    `overwrite` they may be replaced, other files never.
    """
    expect_flag(overwrite, "overwrite")
    folder = as_path(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; give a folder for {kind}")
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(folder).as_posix() for path in paths)
    if other := next((name for name in names if name not in own), None):
        raise UsageError(f"{folder} holds other files ({other}); give a new or an empty folder for {kind}")
    if own and not overwrite:
        raise UsageError(f"{folder} holds {kind}; replace it with {_HOW}, or give another folder")
