"""Paths of users, of bundled data, of files that others have written, and errors that name such files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nmtalign.display import short_repr
from nmtalign.errors import (
    TOO_MANY_OPEN_FILES,
    DataError,
    NmtalignError,
    UsageError,
    class_and_error_text,
)

FileRecord = TypeVar("FileRecord")


@contextmanager
def reraise_as_data_error(path: str | Path, expected: str = "the file is damaged") -> Iterator[None]:
    """Turn any exception in the block into a DataError that names the file.

    Check the arguments of the caller before the block: in the block, every exception is attributed to the
    file, which others have written. `expected` begins the message, such as "expected JSON".
    """
    try:
        yield
    except DataError as error:
        raise error.at(path) from None
    except (NmtalignError, Warning):  # a warning is raised if the user turns warnings into errors
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in TOO_MANY_OPEN_FILES:
            error.filename = error.filename or str(path)
            raise
        if isinstance(error, OSError) and str(error.filename) == str(path):
            raise unreadable_file_error(error) from None
        raise DataError(f"{expected} ({class_and_error_text(error)})").at(path) from error


def unreadable_file_error(error: OSError) -> DataError:
    """Return an error of the system about a file, such as a missing file, as a DataError."""
    hint = ", expected a file" if isinstance(error, IsADirectoryError) else ""
    return DataError(f"{error.strerror or error}{hint}").at(str(error.filename))


def name_file_in_errors(path: str | Path, records: Iterator[FileRecord]) -> Iterator[FileRecord]:
    """Yield the records of a file; exceptions become errors of :func:`reraise_as_data_error`."""
    with reraise_as_data_error(path):
        yield from records


# --- paths ---------------------------------------------------------------------------------------


# Vectors in the format word2int are two files: a dictionary from words to rows, and a matrix.
DICTIONARY_SUFFIXES = (".pkl", ".json")
MATRIX_SUFFIXES = (".npz", ".npy")

# Bundled data is in the installed package, or in data/ of a checkout.
_PACKAGE = Path(__file__).parent.parent
_DATA_FOLDERS = (_PACKAGE / "data", _PACKAGE.parent / "data")


class FileVersion(NamedTuple):
    """Checks whether a file is still the one that was opened."""

    modified_ns: int
    size: int


def file_version(path: str) -> FileVersion:
    """Return the version of a file: the time of its last change, and its size; an OSError without a file."""
    status = os.stat(path)
    return FileVersion(status.st_mtime_ns, status.st_size)


def as_path(path: Any) -> Path:
    """Return `path` with ``~`` expanded; raise UsageError for other values, such as an open file."""
    return Path(expand_home(path))


def expand_home(path: Any) -> str:
    """Return a path, or the name of a model, with ``~`` at its beginning expanded to the home folder.

    The name is otherwise unchanged, because ``./name`` and ``name`` may be different things, such as a folder
    and a model at Hugging Face.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or not _may_be_path(text):
        raise UsageError(f"expected the path of a file or folder, found {short_repr(path)}")
    return os.path.expanduser(text)


def _may_be_path(text: str) -> bool:
    """Return whether the system accepts the text as the name of a file."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # a surrogate
        return False


def bundled_path(name: str) -> Path:
    """Return the path of a bundled file or folder; raise UsageError if it is not installed."""
    for folder in _DATA_FOLDERS:
        if (folder / name).exists():
            return folder / name
    raise UsageError(f"this installation of nmtalign has no data named {name!r}; name your own files")


def resolve_path(path: str | Path) -> Path:
    """Return `path` if it exists, or else the bundled file or folder of that name.

    If neither exists, `path` is returned unchanged.

    >>> resolve_path("en_fr_vectors").is_dir(), resolve_path("nothing/of/the/kind").exists()
    (True, False)
    """
    path = as_path(path)
    if path.exists():
        return path
    for folder in _DATA_FOLDERS:
        if (folder / path).exists():
            return folder / path
    return path


def is_word2int_path(path: Path) -> bool:
    """Return whether a name is that of a dictionary or a matrix of vectors in the format word2int."""
    is_matrix = path.suffix in MATRIX_SUFFIXES
    is_dictionary = path.suffix in DICTIONARY_SUFFIXES and path.name.startswith("word2int")
    return is_matrix or is_dictionary


def companion_paths(path: Path) -> list[Path]:
    """Return the possible paths of the dictionary that belongs to a matrix, and vice versa.

    The companion of ``word2int_en.json`` is ``embeddings_en`` or ``en``, with an ending of a matrix.
    """
    if path.suffix in MATRIX_SUFFIXES:
        prefix, companion_prefix, endings = "embeddings", "word2int", DICTIONARY_SUFFIXES
    else:
        prefix, companion_prefix, endings = "word2int", "embeddings", MATRIX_SUFFIXES
    middle = path.stem.removeprefix(prefix) if path.stem.startswith(prefix) else f"_{path.stem}"
    stems = [companion_prefix + middle]
    bare_stem = middle.lstrip("_-.")
    if bare_stem:
        stems.append(bare_stem)
    return [path.with_name(stem + ending) for stem in stems for ending in endings]


def file_inside(folder: Path, name: str, listed: Collection[str] | None = None) -> Path:
    """Return the path of a file in a folder that others have written.

    A DataError unless the file exists, is a plain file (a pipe would block, a device has no end), is inside
    the folder after links are resolved, and is in `listed`, if the folder has such a list.
    """
    path = folder / name
    # the name may be invalid, and a link may lead to itself
    with reraise_as_data_error(path, "expected a plain file"):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"expected a file inside the folder, found {name!r}, which leads out of it")
        if not path.is_file():
            raise DataError(f"expected a plain file, found {'something else' if path.exists() else 'none'}")
        if listed is not None and name not in listed:
            raise DataError("expected a file that meta.json lists, found one that it does not list")
    return path


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size of a file and the SHA-256 of its bytes."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}
