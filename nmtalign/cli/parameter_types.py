"""The types of options and arguments: files, numbers, lists of numbers, names.

Every option that names a file has one of the types of files. When click converts its value, the file is
noted, so that no output of a command is one of its inputs.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import click

from nmtalign.declarations import ValueKind
from nmtalign.errors import DataError, UsageError
from nmtalign.files.compressed import path_of_prefix
from nmtalign.files.paths import companion_paths, expand_home, is_word2int_path, resolve_path
from nmtalign.names import TOKENIZERS


class FileType(click.Path):
    """A file or folder that a command reads or writes; an input may be the output that is `instead_of` it."""

    def __init__(self, *, writes: bool, instead_of: str | None = None) -> None:
        super().__init__()  # completes names; errors come from whoever opens the file
        self.name = "file"
        self.writes = writes
        self.instead_of = instead_of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = self.with_home(str(value))
        self.note(self.paths(text), param, ctx)
        return text

    def note(self, paths: list[str], param: click.Parameter | None, ctx: click.Context | None) -> None:
        """Note the files that a parameter of a command names; UsageError if an output is an input."""
        if param is not None and ctx is not None and not ctx.resilient_parsing:
            note_files(FileUse(param, paths, self.writes, self.instead_of), ctx)

    def with_home(self, value: str) -> str:
        """Return a value with the home folder for ``~``, which not every shell and no file expands."""
        return expand_home(value) if value else value

    def paths(self, value: str) -> list[str]:
        """Return the files or folders that a value names."""
        return [value]


class NamedInput(FileType):
    """``NAME=FILE``."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return rv.split()

    def with_home(self, value: str) -> str:
        name, equals, path = value.partition("=")
        return f"{name}{equals}{super().with_home(path)}"

    def paths(self, value: str) -> list[str]:
        return [value.partition("=")[2]]


class HuggingFaceModel(FileType):
    """A model by its name at Hugging Face, or its folder."""

    def paths(self, value: str) -> list[str]:
        if value.startswith((".", "/")) and not os.path.isdir(value):
            raise DataError(
                "there is no such folder; pass an existing one, or the name of a Hugging Face model"
            ).at(value)
        return [value]


class OutputPrefix(FileType):
    """The beginning of the names of several files; an ending such as .gz compresses them."""

    def __init__(self, *endings: str) -> None:
        super().__init__(writes=True)
        self._endings = endings

    def noted(self, prefix: str, param: click.Parameter, ctx: click.Context) -> list[str]:
        """Return the files of a prefix, after they are noted as outputs of a parameter."""
        paths = self.paths(prefix)
        self.note(paths, param, ctx)
        return paths

    def paths(self, value: str) -> list[str]:
        if value == "-":
            raise UsageError("standard output takes one file, this writes several; pass a prefix of names")
        return [path_of_prefix(value, ending) for ending in self._endings]


INPUT = FileType(writes=False)
OUTPUT = FileType(writes=True)
COMPARED = NamedInput(writes=False)
HUGGING_FACE = HuggingFaceModel(writes=False)


class Number(click.FloatRange):
    """A finite number: bounds alone would let NaN and infinity pass."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, found {value!r}", param, ctx)
        return number


class Integer(click.IntRange):
    """An integer; a configuration file may contain other numbers."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, float) and not value.is_integer():
            self.fail(f"expected an integer, found {value!r}", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


MAX_RANGE_NUMBERS = 1_000_000


class NumberList(click.ParamType):  # type: ignore[type-arg]  # click 8.2 knows no argument
    """A list of numbers from `first` and of ranges, such as ``7-9,3``; sorted, without duplicates."""

    name = "list"

    def __init__(self, first: int) -> None:
        self.first = first

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> tuple[int, ...]:
        numbers: set[int] = set()
        for part in str(value).replace(" ", "").split(","):
            span = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", part, re.ASCII)
            start, end = (int(span[1]), int(span[2] or span[1])) if span else (0, -1)
            if not self.first <= start <= end < start + MAX_RANGE_NUMBERS:
                ranges = f"rising ranges of at most {MAX_RANGE_NUMBERS:,} numbers"
                expected = f"expected numbers from {self.first} and {ranges}, such as 3,7-9"
                self.fail(f"{expected}; found {value[:80]!r}", param, ctx)
            numbers.update(range(start, end + 1))
        return tuple(sorted(numbers))


class LengthType(click.ParamType):  # type: ignore[type-arg]  # click 8.2 knows no argument
    """A length with its unit, such as ``84mm``, in inches; a number alone is inches."""

    name = "length"
    _PER_INCH: ClassVar = {"in": 1.0, "": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.0}

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> float:
        parts = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+) ?([a-z]*)", str(value).strip(" "))
        if parts is None or parts[2] not in self._PER_INCH:
            self.fail(f"expected a length in in, cm, mm or pt, such as 3.3in; found {value!r}", param, ctx)
        return float(parts[1]) / self._PER_INCH[parts[2]]


class TwoNames(click.ParamType):  # type: ignore[type-arg]  # click 8.2 knows no argument
    """Two names such as ``en,fr``; `wanted` describes them in messages."""

    name = "names"

    def __init__(self, wanted: str, *, distinct: bool = False) -> None:
        self._wanted = wanted
        self._distinct = distinct

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> tuple[str, str]:
        names = [name.strip(" ") for name in str(value).split(",")]
        if len(names) != 2 or not all(names) or (self._distinct and names[0] == names[1]):
            option = "the value" if param is None else param.opts[0]
            raise UsageError(f"{option} must be {self._wanted}; found {value!r}")
        return names[0], names[1]


class TokenizerType(click.Choice[str]):
    """The name of a tokenizer, with the files of its models where it has any."""

    def __init__(self) -> None:
        super().__init__(TOKENIZERS)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        kind, colon, files = value.partition(":")
        if kind != "sentencepiece" or not colon:
            return super().convert(value, param, ctx)
        paths = [INPUT.with_home(file) for file in files.split(",")]
        INPUT.note(paths, param, ctx)
        return value


LANGUAGES = TwoNames("two different languages such as en,fr", distinct=True)
TYPE_OF_KIND: dict[ValueKind, click.ParamType[Any]] = {
    "input": INPUT,
    "output": OUTPUT,
    "older model": FileType(writes=False, instead_of="output"),  # a model that the new one may replace
    "Hugging Face model": HUGGING_FACE,
    "tokenizer": TokenizerType(),
    "languages": LANGUAGES,
    "numbers": NumberList(0),
    "length": LengthType(),
}


# --- no output of a command is one of its inputs -------------------------------------------------
# The files that the options of a command name are compared as click converts them.


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
