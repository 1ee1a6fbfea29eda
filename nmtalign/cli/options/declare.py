"""How options are declared: types, groups that a command receives as one object, sections of ``--help``.

Every option and argument that names a file has one of the types of files. When click converts it, the file is
compared with those converted before: every command refuses an output that is an input. A TOML file gives
defaults.
"""

from __future__ import annotations

import functools
import math
import os
import re
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import click

from nmtalign.door import is_word2int, partners, place_of
from nmtalign.errors import DataError, UsageError
from nmtalign.files import check_encoding, foreign

# What vectors of two languages are called in a folder, and the files of a folder with a meta.json.
_OF_PAIRS = (
    *("word2int*.*", "embeddings*.*", "vectors_*.*", "pair.json", "*/meta.json"),
    *("bahdanau.npz", "scaled-dot.npz"),
)
_OF_OWN = ("meta.json", "*.npy", "*.npz", "*.model", "source.txt", "target.txt", "vocab.txt")
_STANDARD = "-"  # input or output


class FileType(click.Path):
    """A file or folder that a command reads or writes.

    An input may be the same as the output that takes its place when it is whole, `instead_of` it.
    """

    def __init__(self, *, writes: bool, instead_of: str | None = None) -> None:
        super().__init__()  # completes names; errors come from whoever opens the file
        self.name = "file"
        self.writes = writes
        self.instead_of = instead_of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        check_paths(self.paths(text), param, ctx, writes=self.writes, instead_of=self.instead_of)
        return text

    def paths(self, value: str) -> list[str]:
        """Return the files or folders that a value names."""
        return [value]


class NamedInput(FileType):
    """``NAME=FILE``."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return rv.split()

    def paths(self, value: str) -> list[str]:
        return [value.partition("=")[2]]


class OutputPrefix(FileType):
    """The beginning of the names of several files."""

    def __init__(self, *endings: str) -> None:
        super().__init__(writes=True)
        self._endings = endings

    def paths(self, value: str) -> list[str]:
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
    paths: list[str]
    writes: bool
    instead_of: str | None

    @property
    def name(self) -> str:
        is_option = isinstance(self.param, click.Option)
        return "/".join(self.param.opts) if is_option else self.param.human_readable_name


def check_paths(
    paths: list[str],
    param: click.Parameter | None,
    ctx: click.Context | None,
    *,
    writes: bool = False,
    instead_of: str | None = None,
) -> None:
    """Compare the files that an option names with those of the options before; no output is given twice."""
    if param is None or ctx is None or ctx.resilient_parsing:
        return
    use = _Use(param, [path for path in paths if path], writes, instead_of)
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
        if path := _common(first.paths, second.paths):
            found = f"{first.name} and {second.name}: two outputs go to the same place, {path}"
            raise UsageError(f"{found}; give each its own file")
        return
    output, read = (first, second) if first.writes else (second, first)
    inputs = [str(place_of(path)) for path in read.paths if path != _STANDARD]
    if read.instead_of == output.param.name:
        return
    if path := _common(_with_parts(output.paths, ("*",)), _with_parts(inputs, _OF_OWN)):
        found = f"{output.name} and {read.name} are one file, {path}"
        raise UsageError(f"{found}: what is written would destroy what is read; write elsewhere")


def _common(first: list[str], second: list[str]) -> str | None:
    """Return a path of the second list that is one of the first, by whatever name or link."""
    known = {key for path in first for key in _keys(path)}
    return next((path for path in second if not known.isdisjoint(_keys(path))), None)


def _keys(path: str) -> set[object]:
    """Return what identifies a file or folder; nothing for devices and pipes."""
    if path == _STANDARD:
        return {path}
    try:
        found = os.stat(path)
    except OSError:
        return {os.path.realpath(path)}
    plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return {os.path.realpath(path), (found.st_dev, found.st_ino)} if plain else set()


def _with_parts(paths: list[str], own: tuple[str, ...]) -> list[str]:
    """Return the paths with what vectors and models consist of: files in a folder, or beside a file.

    `own` are patterns of files in a folder with a meta.json; a model is replaced with all that lies there.
    """
    found = list(paths)
    for path in map(Path, paths):
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
    return [path for number, path in enumerate(beside) if number == 0 or path.is_file()]


# --- groups and sections -------------------------------------------------------------------------

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Command(click.Command):
    """A command whose ``--help`` has the sections of its options, in the order in which they begin."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in in_sections(self.get_params(ctx)).items():
            with formatter.section(title):
                formatter.write_dl(list(filter(None, (option.get_help_record(ctx) for option in options))))


def in_sections(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options of a command by section; "Running", which has all others, is last."""
    found: dict[str, list[click.Option]] = {}
    for option in parameters:
        if isinstance(option, click.Option) and not option.hidden:
            found.setdefault(vars(option).get("section", "Running"), []).append(option)
    return {title: found[title] for title in sorted(found, key="Running".__eq__)}


def option(names: str, kind: Any, help: str, **more: Any) -> Decorator:
    """Return an option: its names, its type (choices are a tuple, a switch is ``bool``), its line of help."""
    if kind is bool:
        more = {"is_flag": True} | more
    else:
        more["type"] = click.Choice(kind) if isinstance(kind, tuple) else kind
    return click.option(*names.split(), help=help, **more)


def section(title: str) -> Decorator:
    """Return a heading: ``--help`` lists the options below it, up to the next one, under this title."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for parameter in vars(command).get("__click_params__", ()):
            vars(parameter).setdefault("section", title)
        return command

    return decorate


def with_options(*options: Decorator) -> Decorator:
    """Return a decorator that gives a command options, which ``--help`` lists in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class Values(SimpleNamespace):
    """The values of a group of options by name; a subclass adds what is done with them."""

    @property
    def given(self) -> dict[str, Any]:
        """The values other than None, which stands for an option that was not given."""
        return {name: value for name, value in vars(self).items() if value is not None}


def option_group(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """Return a decorator that gives a command options, and their values as its argument `name` of a `kind`.

    A group in a group is one value of the outer one.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        parameters = vars(command).setdefault("__click_params__", [])
        before = len(parameters)

        @functools.wraps(command)
        def collect(**arguments: Any) -> Any:
            values = {value: arguments.pop(value) for value in names}
            return command(**{name: kind(**values)}, **arguments)

        grouped = with_options(*options)(collect)
        own = parameters[before:]
        exposed = (option for option in reversed(own) if option.expose_value)  # decorators add the last first
        names = dict.fromkeys(vars(option).get("group", option.name) for option in exposed)
        for option in own:
            vars(option)["group"] = name
        return grouped

    return decorate


def read_config(path: str) -> dict[str, Any]:
    """Read a TOML file: a table for each command, such as ``[vectors.learn]``, with its long options."""
    import tomllib

    with foreign(path, "expected TOML"):
        try:
            with open(path, "rb") as file:
                content = tomllib.load(file)
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})") from None
    return {name: _underscored(value) for name, value in content.items()}


def _underscored(value: Any) -> Any:
    """Write option names as click names parameters."""
    if not isinstance(value, dict):
        return value
    return {name.replace("-", "_"): _underscored(entry) for name, entry in value.items()}


def check_names(command: click.Command, name: str, table: Any) -> None:
    """Refuse entries that a command does not have: a misspelt option must not be ignored."""
    if not isinstance(table, dict):
        raise UsageError(f"configuration: expected a table [{name}], found {name} = {table!r:.60}")
    parts = command.commands if isinstance(command, click.Group) else {}
    known = {str(parameter.name): parameter for parameter in command.params}
    for entry, value in table.items():
        if entry in parts:
            check_names(parts[entry], f"{name}.{entry}", value)
        elif entry not in known:
            raise UsageError(f"configuration: [{name}] has no option {entry.replace('_', '-')!r}")
        else:
            _check_value(known[entry], f"[{name}] {entry}", value)


def _check_value(parameter: click.Parameter, name: str, value: Any) -> None:
    """Refuse a value of another type than the option: click makes text of it, such as a file "True"."""
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    wanted, types = "text or a number", {str, int, float}
    if isinstance(parameter.type, click.types.BoolParamType):
        wanted, types = "true or false", {bool, str, int}
    elif isinstance(parameter.type, FileType):
        wanted, types = "the name of a file", {str}
    if not all(type(one) in types for one in (value if several and isinstance(value, list) else [value])):
        more = ", or a list of these" if several else ""
        raise UsageError(f"configuration: {name} wants {wanted}{more}, found {value!r:.60}")


def config_option() -> click.Option:
    """Return the option ``--config`` for the group or for one command of it."""
    return click.Option(
        ["--config"],
        type=INPUT,
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_set_defaults,
        help="TOML file with defaults: a table for each command, like [align].",
    )


def _set_defaults(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Use the tables of a TOML file as defaults; given after a command, the table of that command."""
    if path is None:
        return
    content = read_config(path)
    if context.parent is not None and context.info_name is not None:
        content = content.get(context.info_name, {})
        check_names(context.command, context.info_name, content)
    context.default_map = content
