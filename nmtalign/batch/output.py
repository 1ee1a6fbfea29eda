"""Atomic output: a file gets its name when it is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmtalign.errors import UsageError
from nmtalign.files import new_partial


@contextmanager
def whole_file(path: str | Path) -> Iterator[str | Path]:
    """Yield a temporary name beside `path`; the file gets its own name when the block ends well.

    If the block fails, the temporary file is removed and an older file under `path` stays as it was.
    ``-`` (standard output) and things that are not plain files, such as ``/dev/null``, are given as they are.

    Raises
    ------
    UsageError
        If the folder of `path` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "links.txt"
    ...     with whole_file(path) as partial:
    ...         _ = Path(partial).write_text("0-0", encoding="utf-8")
    ...         path.exists()
    ...     path.read_text(encoding="utf-8")
    False
    '0-0'
    """
    final = Path(path)
    if str(path) == "-" or (final.exists() and not final.is_file()):
        yield path
        return
    expect_folder_of(path)
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
    if not (folder := Path(path).parent).is_dir():
        raise UsageError(f"{path}: there is no folder {folder} to write into; make it first")
