"""Atomic output: a file or folder gets its name when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TextIO
from uuid import uuid4

from nmtalign.errors import DISK_FULL_ERRNOS, UsageError
from nmtalign.files.compressed import open_binary
from nmtalign.files.paths import as_path
from nmtalign.files.text_files import open_text
from nmtalign.validation import check_bool

_HOW_TO_REPLACE = "pass `overwrite=True` to replace"
# A partial file keeps this many characters of its name: those of some languages take 4 bytes.
_KEPT_NAME_CHARS = 40


@contextmanager
def atomic_file(path: str | Path) -> Iterator[str | Path]:
    """Yield a temporary name beside `path`; the file gets its own name when the block ends well.

    If the block fails, the temporary file is removed and an older file under `path` stays as it was.
    The new file has the permissions of the older one; a symbolic link stays, and its file is written.
    ``-`` (standard output) and things that are not plain files, such as ``/dev/null``, are given as they are.
    The block must not write other files: the error of a full disk may name no file, and then names this one.
    """
    with _renamed(path) as partial:
        try:
            yield partial
        except OSError as error:
            if error.errno in DISK_FULL_ERRNOS and error.filename is None:
                error.filename = str(path)
            raise


@contextmanager
def _renamed(path: str | Path) -> Iterator[str | Path]:
    """Do what :func:`atomic_file` does for one of several files; errors have to name theirs."""
    final = as_path(path)
    if str(path) == "-" or (final.exists() and not final.is_file()):
        yield path
        return
    name = final.name  # whose ending names the format
    final = _followed(final)
    check_parent_folder(final)
    partial = create_partial_file(final, name)
    try:
        yield partial
        os.replace(partial, final)
    except OSError as error:
        if error.filename == str(partial):
            error.filename, error.filename2 = str(path), None  # the name that the user gave
        raise
    finally:
        partial.unlink(missing_ok=True)


def check_parent_folder(path: str | Path) -> None:
    """Raise UsageError if the folder of an output file does not exist."""
    folder = as_path(path).parent
    if not folder.is_dir():
        raise UsageError(f"{path}: the folder {folder} does not exist; create it first")


class AtomicFiles(ExitStack):
    """Files of one run: all are closed before the first gets its name; see :func:`atomic_file`."""

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
        # The files are on top of the stack, so they are closed before they are given their names.
        self._names.push(super().__exit__)
        return bool(self._names.__exit__(kind, error, trace))


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield a new folder beside `path`, which takes the place of what is there when the block ends well.

    If the block fails, the new folder is removed and the older one stays as it was. Call
    :func:`check_replaceable` first, which raises an error if files would be lost.
    """
    final = _followed(as_path(path))
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=final.parent) as partial:
        new = Path(partial, "new")
        new.mkdir()
        try:
            yield new
        except OSError as error:
            # a copy that finds the disk full names the file that is copied
            full = error.errno in DISK_FULL_ERRNOS
            if full or error.filename is None or new in Path(error.filename).parents:
                error.filename, error.filename2 = str(path), None  # the name that the user gave
            raise
        older = Path(partial, "older")
        try:
            if final.exists():
                _copy_permissions(final, new)
                final.rename(older)
            new.rename(final)
        finally:
            if older.exists() and not final.exists():
                older.rename(final)


def check_overwrite(path: str | Path, *, overwrite: bool) -> None:
    """Raise UsageError if a file exists and `overwrite` is False."""
    check_bool(overwrite, "overwrite")
    if as_path(path).is_file() and not overwrite:
        raise UsageError(f"{path} already exists; {_HOW_TO_REPLACE} it, or choose another name")


def check_replaceable(
    folder: str | Path, replaceable: Collection[str], kind: str, *, overwrite: bool
) -> None:
    """Raise UsageError if writing a folder would destroy files.

    `replaceable` are the names of the files that belong to an older result of the same `kind`: with
    `overwrite` they may be replaced. Other files are never replaced.
    """
    check_bool(overwrite, "overwrite")
    folder = as_path(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose a folder for {kind}")
    for path in folder.rglob("*"):
        is_folder = path.is_dir() and not path.is_symlink()
        name = path.relative_to(folder).as_posix()
        if not is_folder and name not in replaceable:
            raise UsageError(
                f"{folder} contains other files ({name}); choose a new or an empty folder for {kind}"
            )
    if replaceable and not overwrite:
        raise UsageError(f"{folder} contains {kind}; {_HOW_TO_REPLACE} the folder, or choose another one")


def _followed(path: Path) -> Path:
    """Return the file or folder that a symbolic link names; a path that is no link is itself."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def create_partial_file(path: Path, name: str | None = None) -> Path:
    """Make an empty file beside `path` whose name no other process has; it ends as `name`, else as `path`.

    If there is an older file, the new one has its permissions before anything is written: what its owner made
    private stays private.
    """
    partial = path.with_name(f".partial-{uuid4().hex}-{(name or path.name)[-_KEPT_NAME_CHARS:]}")
    try:
        if path.is_file():
            partial.touch(0o600, exist_ok=False)
            shutil.copymode(path, partial)
        else:
            partial.touch(exist_ok=False)
    except BaseException as error:  # a signal, too
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # the name that is known
        raise
    return partial


def _copy_permissions(older: Path, new: Path) -> None:
    """Give a new folder, and the files that the older one has as well, the permissions of the older ones."""
    for path in (new, *new.rglob("*")):
        counterpart = older / path.relative_to(new)
        if counterpart.exists():
            shutil.copymode(counterpart, path)
