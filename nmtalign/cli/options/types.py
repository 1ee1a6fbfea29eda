"""Types of options: files that are read, files that are written, and numbers.

Every option and argument that names a file has one of these types. When click converts it, the file is
compared with those converted before: every command refuses an output that is an input.
"""

from __future__ import annotations

import math
import os
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple

import click

from nmtalign.door import is_word2int, partners, place_of
from nmtalign.errors import UsageError
from nmtalign.files import check_encoding

# What vectors of two languages are called in a folder, and the files of a folder with a meta.json.
_OF_PAIRS = (
    *("word2int*.*", "embeddings*.*", "vectors_*.*", "pair.json", "*/meta.json"),
    *("bahdanau.npz", "scaled-dot.npz"),
)
_OF_OWN = ("meta.json", "*.npy", "*.npz", "*.model", "source.txt", "target.txt", "vocab.txt")
_STANDARD = "-"  # input or output


class FileType(click.Path):
    """A file or folder that a command reads or writes.

    Parameters
    ----------
    writes : bool
    instead_of : str, optional
        Of an input: the output that takes its place when it is whole, and so may be the same.
    """

    def __init__(self, *, writes: bool, instead_of: str | None = None) -> None:
        super().__init__()  # completes names; errors come from whoever opens the file
        self.name = "file"
        self.writes = writes
        self.instead_of = instead_of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        check_places(self.places(text), param, ctx, writes=self.writes, instead_of=self.instead_of)
        return text

    def places(self, value: str) -> list[str]:
        """Return the files or folders that a value names."""
        return [value]


class NamedInput(FileType):
    """``NAME=FILE``."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return rv.split()

    def places(self, value: str) -> list[str]:
        return [value.partition("=")[2]]


class OutputPrefix(FileType):
    """The beginning of the names of several files."""

    def __init__(self, *endings: str) -> None:
        super().__init__(writes=True)
        self._endings = endings

    def places(self, value: str) -> list[str]:
        return [value + ending for ending in self._endings]


INPUT, OUTPUT = FileType(writes=False), FileType(writes=True)
COMPARED = NamedInput(writes=False)


class Encoding(click.ParamType):  # type: ignore[type-arg]  # click 8.2 knows no argument
    """The name of an encoding."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        check_encoding(str(value))
        return str(value)


class Number(click.FloatRange):
    """A number; neither NaN, which no bound keeps out, nor an infinity."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"expected a finite number, found {value!r}", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number; a configuration file may hold others."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, float) and not value.is_integer():
            self.fail(f"expected a whole number, found {value!r}", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


LONGEST_SPAN = 1_000_000  # numbers in a range


class Numbers(click.ParamType):  # type: ignore[type-arg]  # click 8.2 knows no argument
    """A list of numbers and spans like ``3,7-9``, from `first` on; sorted, each once.

    Examples
    --------
    >>> Numbers(1).convert("7-9,3", None, None)
    (3, 7, 8, 9)
    """

    name = "list"

    def __init__(self, first: int) -> None:
        self.first = first

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        numbers: set[int] = set()
        for part in str(value).replace(" ", "").split(","):
            span = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", part, re.ASCII)
            start, end = (int(span[1]), int(span[2] or span[1])) if span else (0, -1)
            if not self.first <= start <= end < start + LONGEST_SPAN:
                found = f"ranges going up, of at most {LONGEST_SPAN:,}, like 3,7-9; found {value[:80]!r}"
                self.fail(f"expected numbers from {self.first} on, {found}", param, ctx)
            numbers.update(range(start, end + 1))
        return tuple(sorted(numbers))


SEED = Whole(min=0)


class _Use(NamedTuple):
    """What one option names."""

    param: click.Parameter
    places: list[str]
    writes: bool
    instead_of: str | None

    @property
    def name(self) -> str:
        is_option = isinstance(self.param, click.Option)
        return "/".join(self.param.opts) if is_option else self.param.human_readable_name


def check_places(
    places: list[str],
    param: click.Parameter | None,
    ctx: click.Context | None,
    *,
    writes: bool = False,
    instead_of: str | None = None,
) -> None:
    """Compare the files that an option names with those of the options before.

    Raises
    ------
    UsageError
        If two outputs are one file, or an output is an input.
    """
    if param is None or ctx is None or ctx.resilient_parsing:
        return
    use = _Use(param, [place for place in places if place], writes, instead_of)
    earlier = ctx.meta.setdefault(__name__, [])
    for other in earlier:
        if other.param is not param and (use.writes or other.writes):
            _compare(other, use)
    earlier.append(use)


def has_outputs(context: click.Context) -> bool:
    """Return whether the command writes data, to a file or standard output; lists are no data."""
    uses: list[_Use] = context.meta.get(__name__, [])
    return any(use.writes for use in uses)


def _compare(first: _Use, second: _Use) -> None:
    if first.writes and second.writes:
        if place := _common(first.places, second.places):
            found = f"{first.name} and {second.name}: two outputs go to the same place, {place}"
            raise UsageError(f"{found}; give each its own file")
        return
    output, read = (first, second) if first.writes else (second, first)
    inputs = [str(place_of(place)) for place in read.places if place != _STANDARD]
    if read.instead_of == output.param.name:
        return
    if place := _common(_with_parts(output.places, ("*",)), _with_parts(inputs, _OF_OWN)):
        found = f"{output.name} and {read.name} are one file, {place}"
        raise UsageError(f"{found}: what is written would destroy what is read; write elsewhere")


def _common(first: list[str], second: list[str]) -> str | None:
    """Return a place of the second list that is one of the first, by whatever name or link."""
    known = {key for place in first for key in _keys(place)}
    return next((place for place in second if not known.isdisjoint(_keys(place))), None)


def _keys(place: str) -> set[object]:
    """Return what identifies a file or folder; nothing for devices and pipes."""
    if place == _STANDARD:
        return {place}
    try:
        found = os.stat(place)
    except OSError:
        return {os.path.realpath(place)}
    plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return {os.path.realpath(place), (found.st_dev, found.st_ino)} if plain else set()


def _with_parts(places: list[str], own: tuple[str, ...]) -> list[str]:
    """Return the places with what vectors and models consist of: files in a folder, or beside a file.

    `own` are patterns of files in a folder with a meta.json; a model is replaced with all that lies there.
    """
    found = list(places)
    for path in map(Path, places):
        parts = _in_folder(path, own) if path.is_dir() else _beside(path)
        found += map(str, parts)
    return found


def _in_folder(folder: Path, own: tuple[str, ...]) -> list[Path]:
    named = [path for pattern in _OF_PAIRS for path in folder.glob(pattern)]
    owners = [path.parent for path in (*named, folder / "meta.json") if path.name == "meta.json"]
    whole = [owner for owner in owners if (owner / "meta.json").is_file()]
    parts = [path for owner in whole for pattern in own for path in owner.glob(pattern)]
    return [folder, *named, *whole, *parts]


def _beside(path: Path) -> list[Path]:
    """Return the files that are read and written together with one of word vectors."""
    beside = partners(path) if is_word2int(path) else []  # the first is written, one of all is read
    return [place for number, place in enumerate(beside) if number == 0 or place.is_file()]
