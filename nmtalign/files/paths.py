"""Paths: of users, of the data that comes with nmtalign, and of files in folders written by others."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from nmtalign.calls import check_call
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.read_errors import reraise_as_data_error

DICTIONARY_SUFFIXES, MATRIX_SUFFIXES = (".pkl", ".json"), (".npz", ".npy")  # of the form word2int
# of the data that comes with nmtalign: inside the installed package, or data/ of a checkout
_PACKAGE = Path(__file__).parent.parent
_DATA_FOLDERS = (_PACKAGE / "data", _PACKAGE.parent / "data")


def as_path(path: Any) -> Path:
    """Return a path, with the home folder for ``~``; UsageError for anything else, such as an open file."""
    return Path(expand_home(path))


def expand_home(path: Any) -> str:
    """Return a path, or the name of a model, with the home folder for ``~`` at its beginning.

    Nothing else expands ``~``. Otherwise the name stays as it was written, because ``./name`` and ``name``
    may be different things, such as a folder and a model at Hugging Face.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or not _may_be_path(text):
        raise UsageError(f"expected the path of a file or folder, found {short_repr(path)}")
    return os.path.expanduser(text)


def _may_be_path(text: str) -> bool:
    """Return whether the system could have a file of a name."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half of a character
        return False


def bundled_path(name: str) -> Path:
    """Return the path of a shipped file or folder; a UsageError if this installation has none of the name."""
    for folder in _DATA_FOLDERS:
        if (folder / name).exists():
            return folder / name
    raise UsageError(f"this installation of nmtalign holds no data named {name!r}; name your own files")


@check_call()
def resolve_path(path: str | Path) -> Path:
    """Return a path as it is, or where there is nothing of that name, the shipped folder that is called so.

    >>> resolve_path("en_fr_vectors").is_dir(), resolve_path("nothing/of/the/kind").exists()
    (True, False)
    """
    path = as_path(path)
    paths = [path, *(folder / path for folder in _DATA_FOLDERS)]
    return next((path for path in paths if path.exists()), path)


def is_word2int_path(path: Path) -> bool:
    """Tell whether a file of vectors is a dictionary from words to rows or a matrix, by its name."""
    return path.suffix in MATRIX_SUFFIXES or (
        path.suffix in DICTIONARY_SUFFIXES and path.name.startswith("word2int")
    )


def companion_paths(path: Path) -> list[Path]:
    """Return the names that the dictionary of a matrix may have, or the matrix of a dictionary."""
    name, other, endings = "word2int", "embeddings", MATRIX_SUFFIXES
    if path.suffix in MATRIX_SUFFIXES:
        name, other, endings = other, name, DICTIONARY_SUFFIXES
    middle = path.stem.removeprefix(name) if path.stem.startswith(name) else f"_{path.stem}"
    stems = [f"{other}{middle}", *filter(None, [middle.lstrip("_-.")])]
    return [path.with_name(stem + ending) for stem in stems for ending in endings]


def file_inside(folder: Path, name: str, listed: Collection[str] | None = None) -> Path:
    """Return the path of a file that a folder written by others makes us open.

    A DataError unless the file is there, is plain (a pipe waits, a device has no end), lies inside the folder
    wherever links lead, and is `listed`, where the folder has a list.
    """
    path = folder / name
    with reraise_as_data_error(
        path, "expected a plain file"
    ):  # a name may be none, a link may lead to itself
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"expected a file inside the folder, found {name!r}, which leads out of it")
        if not path.is_file():
            raise DataError(f"expected a plain file, found {'something else' if path.exists() else 'none'}")
        if listed is not None and name not in listed:
            raise DataError("expected a file that meta.json lists, found one that it does not")
    return path
