"""No output of a command is one of its inputs, and no two outputs are one file.

The files that the options of a command name are compared as click converts them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

from nmtalign.errors import UsageError
from nmtalign.files.paths import companion_paths, is_word2int_path, resolve_path

# The names of vectors of two languages in a folder, and the files of a folder with a meta.json
_VECTOR_FILE_PATTERNS = (
    *("word2int*.*", "embeddings*.*", "vectors_*.*", "pair.json", "*/meta.json"),
    *("bahdanau.npz", "scaled-dot.npz"),
)
_FOLDER_FILE_PATTERNS = ("meta.json", "*.npy", "*.npz", "*.model", "source.txt", "target.txt", "vocab.txt")


class FileUse(NamedTuple):
    """The files that an option or argument names."""

    param: click.Parameter
    paths: list[str]
    writes: bool  # whether they are outputs
    instead_of: str | None  # for an input, the option whose output may be the same file

    @property
    def name(self) -> str:
        """The option as messages call it."""
        if isinstance(self.param, click.Option):
            return "/".join(self.param.opts)
        return self.param.human_readable_name


def note_files(use: FileUse, context: click.Context) -> None:
    """Note the files that an option names.

    UsageError says that a file is the output of two options, or the output of one and the input of another.
    """
    earlier_uses: list[FileUse] = context.meta.setdefault(__name__, [])
    use = use._replace(paths=[path for path in use.paths if path])
    for earlier in earlier_uses:
        if earlier.param is not use.param:
            _refuse_shared_files(earlier, use)
    earlier_uses.append(use)


def has_outputs(context: click.Context) -> bool:
    """Return whether the command writes data, to a file or standard output; printed lists are not data."""
    return any(use.writes for use in context.meta.get(__name__, []))


def _refuse_shared_files(first: FileUse, second: FileUse) -> None:
    """Raise UsageError if two outputs are the same file, or an output is an input."""
    if first.writes and second.writes:
        path = _first_shared_file(first.paths, second.paths)
        if path is not None:
            problem = f"{first.name} and {second.name}: two outputs have the same path, {path}"
            raise UsageError(f"{problem}; choose another for one of them")
    elif first.writes:
        _refuse_overwritten_input(first, second)
    elif second.writes:
        _refuse_overwritten_input(second, first)


def _refuse_overwritten_input(output: FileUse, read: FileUse) -> None:
    """Raise UsageError if an output is an input, unless the input may be replaced by this output."""
    input_paths = [str(resolve_path(path)) for path in read.paths if path != "-"]
    files_written = _with_contained_files(output.paths, ("*",))
    files_read = _with_contained_files(input_paths, _FOLDER_FILE_PATTERNS)
    path = _first_shared_file(files_written, files_read)
    if path is not None and read.instead_of != output.param.name:
        problem = f"{output.name} and {read.name} are the same file, {path}"
        raise UsageError(f"{problem}; the output would destroy the input, so write to another file")


def _first_shared_file(first: list[str], second: list[str]) -> str | None:
    """Return a path of the second list that is one of the first, by whatever name or link."""
    known: set[object] = set()
    for path in first:
        known |= _file_identities(path)
    for path in second:
        if not known.isdisjoint(_file_identities(path)):
            return path
    return None


def _file_identities(path: str) -> set[object]:
    """Return what identifies a file or folder; nothing for devices and pipes."""
    if path == "-":  # standard input or output
        return {path}
    try:
        status = os.stat(path)
    except OSError:
        return {os.path.realpath(path)}
    plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return {os.path.realpath(path), (status.st_dev, status.st_ino)} if plain else set()


def _with_contained_files(paths: list[str], patterns: tuple[str, ...]) -> list[str]:
    """Return paths and the files that vectors and models have there.

    A folder with a meta.json contains files of the `patterns`.
    """
    contained: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            vectors = _glob_all(path, _VECTOR_FILE_PATTERNS)
            contained += [path, *vectors]
            for file in (*vectors, path / "meta.json"):
                if file.name == "meta.json" and file.is_file():
                    contained.append(file.parent)
                    contained += _glob_all(file.parent, patterns)
        elif is_word2int_path(path):
            # the first companion is the one that would be written; any that exists may be read
            first, *others = companion_paths(path)
            contained.append(first)
            contained += [other for other in others if other.is_file()]
    return [*paths, *map(str, contained)]


def _glob_all(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a folder that match one of the patterns."""
    files: list[Path] = []
    for pattern in patterns:
        files += folder.glob(pattern)
    return files
