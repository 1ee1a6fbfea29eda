"""How options are declared: types, groups that a command receives as one object, sections of ``--help``.

Every option that names a file has one of the types of files. When click converts it, the file is compared
with those converted before: every command refuses an output that is an input. A TOML file gives defaults.
"""

from __future__ import annotations

import functools
import math
import os
import re
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, field, fields
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from nmtalign.display import escape_controls
from nmtalign.errors import DataError, UsageError
from nmtalign.files.json_files import is_nested_too_deep
from nmtalign.files.limits import MAX_JSON_DEPTH
from nmtalign.files.paths import companion_paths, expand_home, is_word2int_path, resolve_path
from nmtalign.files.read_errors import reraise_as_data_error

# What vectors of two languages are called in a folder, and the files of a folder with a meta.json.
_VECTOR_FILE_PATTERNS = (
    *("word2int*.*", "embeddings*.*", "vectors_*.*", "pair.json", "*/meta.json"),
    *("bahdanau.npz", "scaled-dot.npz"),
)
_FOLDER_FILE_PATTERNS = ("meta.json", "*.npy", "*.npz", "*.model", "source.txt", "target.txt", "vocab.txt")


class FileType(click.Path):
    """A file or folder that a command reads or writes; an input may be the output that is `instead_of` it."""

    def __init__(self, *, writes: bool, instead_of: str | None = None) -> None:
        super().__init__()  # completes names; errors come from whoever opens the file
        self.name, self.writes, self.instead_of = "file", writes, instead_of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = self.with_home(str(value))
        check_paths(self.paths(text), self, param, ctx)
        return text

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
    """The beginning of the names of several files."""

    def __init__(self, *endings: str) -> None:
        super().__init__(writes=True)
        self._endings = endings

    def paths(self, value: str) -> list[str]:
        return [value + ending for ending in self._endings]


INPUT, OUTPUT = FileType(writes=False), FileType(writes=True)
COMPARED, HUGGING_FACE = NamedInput(writes=False), HuggingFaceModel(writes=False)


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


class _NamedFiles(NamedTuple):
    """The files that an option or argument names, and their type."""

    param: click.Parameter
    name: str  # as messages call the option
    paths: list[str]
    kind: FileType


def check_paths(
    paths: list[str], kind: FileType, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    """Compare the files that an option names with those of the options before; no output is given twice."""
    if param is None or ctx is None or ctx.resilient_parsing:
        return
    name = "/".join(param.opts) if isinstance(param, click.Option) else param.human_readable_name
    use = _NamedFiles(param, name, [path for path in paths if path], kind)
    earlier: list[_NamedFiles] = ctx.meta.setdefault(__name__, [])
    for other in earlier:
        if other.param is not param and (kind.writes or other.kind.writes):
            _compare(other, use)
    earlier.append(use)


def has_outputs(context: click.Context) -> bool:
    """Return whether the command writes data, to a file or standard output; printed lists are not data."""
    return any(use.kind.writes for use in context.meta.get(__name__, []))


def _compare(first: _NamedFiles, second: _NamedFiles) -> None:
    """Raise UsageError if two outputs are the same file, or an output is an input."""
    if first.kind.writes and second.kind.writes:
        if path := _first_shared_file(first.paths, second.paths):
            problem = f"{first.name} and {second.name}: two outputs have the same path, {path}"
            raise UsageError(f"{problem}; choose another for one of them")
        return
    output, read = (first, second) if first.kind.writes else (second, first)
    inputs = [str(resolve_path(path)) for path in read.paths if path != "-"]
    written = _with_contained_files(output.paths, ("*",))
    files_read = _with_contained_files(inputs, _FOLDER_FILE_PATTERNS)
    path = _first_shared_file(written, files_read)
    if path and read.kind.instead_of != output.param.name:
        problem = f"{output.name} and {read.name} are the same file, {path}"
        raise UsageError(f"{problem}; the output would destroy the input, so write to another file")


def _first_shared_file(first: list[str], second: list[str]) -> str | None:
    """Return a path of the second list that is one of the first, by whatever name or link."""
    known = {key for path in first for key in _file_identities(path)}
    return next((path for path in second if not known.isdisjoint(_file_identities(path))), None)


def _file_identities(path: str) -> set[object]:
    """Return the identity of a file or folder; nothing for devices and pipes."""
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


# --- groups of options ---------------------------------------------------------------------------

RUNNING = "Running"  # the last section of --help; it holds the options that name no section
_DECLARATION_KEY = "declared"  # the key of a field's metadata


class Options:
    """Base class of option groups: frozen dataclasses whose fields declare the options.

    A command names the groups as the types of its parameters and receives an instance of each. A field
    whose type is another group contains the options of that group.
    """

    section: ClassVar[str] = RUNNING  # where --help lists the options, unless one names another section


AnyOptions = TypeVar("AnyOptions", bound=Options)


class _Declaration(NamedTuple):
    """The parts of a declaration that click needs, besides the name and the type of the field."""

    parameter: type[click.Parameter]
    words: list[str]  # the names of the option, such as -o and --output
    section: str | None
    settings: dict[str, Any]


def option(
    names: str,
    help: str,
    *,
    type: click.ParamType[Any] | None = None,
    default: Any = None,
    required: bool = False,
    section: str | None = None,
    callback: Callable[..., Any] | None = None,
) -> Any:
    """Declare an option as the field of a group: ``output: str = option("-o --output FILE", "Write FILE.")``.

    The last word of `names` is the metavar if it begins with a capital. The annotation of the field gives
    the type: ``bool`` makes a switch, a ``Literal`` a choice, ``tuple[str, ...]`` an option that may be
    repeated. `type` narrows it, for example to a range or to a file.
    """
    words = names.split()
    settings: dict[str, Any] = {"help": help, "type": type, "required": required, "callback": callback}
    if not required:
        settings["default"] = default  # click takes a default of None for a value that was given
    if words[-1][0].isupper():
        settings["metavar"] = words.pop()
    declared = _Declaration(click.Option, words, section, settings)
    return field(default=MISSING if required else default, metadata={_DECLARATION_KEY: declared})


def argument(*, type: click.ParamType[Any] | None = None, required: bool = True) -> Any:
    """Declare an argument as the field of a group; a field of the type ``tuple[str, ...]`` takes several."""
    declared = _Declaration(click.Argument, [], None, {"type": type, "required": required})
    return field(default=MISSING if required else None, metadata={_DECLARATION_KEY: declared})


def switch(
    names: str,
    help: str,
    *,
    callback: Callable[..., Any],
    is_flag: bool = False,
    type: click.ParamType[Any] | None = None,
    metavar: str | None = None,
) -> click.Option:
    """Return an option that acts by its callback; no command receives its value."""
    made = click.Option(
        names.split(),
        help=help,
        callback=callback,
        is_flag=is_flag,
        type=type,
        metavar=metavar,
        expose_value=False,
        is_eager=True,
    )
    vars(made)["section"] = RUNNING
    return made


def _group_parameters(group: type[Options]) -> Iterator[click.Parameter]:
    """Yield the click parameters of a group, those of inner groups in their place."""
    annotations = get_type_hints(group)
    for attribute in fields(group):  # type: ignore[arg-type]  # each group is a dataclass
        declared: _Declaration | None = attribute.metadata.get(_DECLARATION_KEY)
        if declared is None:
            yield from _group_parameters(annotations[attribute.name])
            continue
        settings = _settings_of_type(annotations[attribute.name], declared)
        parameter = declared.parameter([attribute.name, *declared.words], **settings)
        vars(parameter)["section"] = declared.section or group.section
        yield parameter


def _settings_of_type(annotation: Any, declared: _Declaration) -> dict[str, Any]:
    """Return the settings of a click parameter, completed by the annotation of its field."""
    settings = dict(declared.settings)
    repeated = get_origin(annotation) is tuple and get_args(annotation)[-1] is Ellipsis
    kinds = [annotation]
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    choices: list[Any] = []
    for kind in kinds:
        if get_origin(kind) is Literal:
            choices += get_args(kind)
    if bool in kinds:
        settings["is_flag"] = True
    elif settings["type"] is None:
        element = get_args(annotation)[0] if repeated else kinds[0]
        settings["type"] = click.Choice(choices) if choices else element
    if repeated and declared.parameter is click.Argument:
        settings["nargs"] = -1
    elif repeated and "multiple" not in settings:
        settings["multiple"] = True
    return settings


def _make_group(group: type[AnyOptions], values: Mapping[str, Any]) -> AnyOptions:
    """Return an instance of a group from the values of all options of a command."""
    annotations = get_type_hints(group)
    by_field: dict[str, Any] = {}
    for attribute in fields(group):  # type: ignore[arg-type]  # each group is a dataclass
        if _DECLARATION_KEY in attribute.metadata:
            by_field[attribute.name] = values[attribute.name]
        else:
            by_field[attribute.name] = _make_group(annotations[attribute.name], values)
    return group(**by_field)


class Command(click.Command):
    """A command whose ``--help`` lists its options in sections, in the order in which these begin."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; warn of environment variables that look like a setting and are none."""
        for name, meant in unknown_variables(ctx):
            hint = f"; did you mean {meant}?" if meant else ""
            text = f"the environment variable {name} does not set any option{hint}"
            warnings.warn(text, stacklevel=2)
        return super().invoke(ctx)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, whose defaults may come from a file, without control characters."""
        return escape_controls(super().get_help(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in group_by_section(self.get_params(ctx)).items():
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])


# The order of sections in --help; other sections come before the last one, as they are declared.
_SECTION_ORDER = ("Input", "Output", "Model", "Vectors", "Expert", "Links", "Learning", "Mapping")


def _section_rank(title: str) -> int:
    """Return the place of a section, by the first word of its title."""
    word = title.replace(",", " ").split()[0]
    if title == RUNNING:
        return len(_SECTION_ORDER) + 1
    return _SECTION_ORDER.index(word) if word in _SECTION_ORDER else len(_SECTION_ORDER)


def group_by_section(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options of a command by section, in the usual order of sections."""
    sections: dict[str, list[click.Option]] = {}
    for parameter in parameters:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            section = vars(parameter).get("section", RUNNING)
            sections.setdefault(section, []).append(parameter)
    return {title: sections[title] for title in sorted(sections, key=_section_rank)}


def command(
    *switches: click.Option, name: str | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a function a command.

    Each parameter of the function is annotated with a group of options. `switches` are further options that
    act by themselves, such as ``--quiet``.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        hints = get_type_hints(function)
        groups: dict[str, type[Options]] = {key: kind for key, kind in hints.items() if key != "return"}
        parameters = [parameter for group in groups.values() for parameter in _group_parameters(group)]
        parameters += [copy(option) for option in switches]  # click writes the default of a context into it

        @functools.wraps(function)
        def call(**values: Any) -> None:
            function(**{name: _make_group(group, values) for name, group in groups.items()})

        return click.command(name, cls=Command, params=parameters)(call)

    return decorate


# --- configuration -------------------------------------------------------------------------------


MIN_NAME_SIMILARITY = 0.8  # likeness of a word to the name of a command that is then taken to be meant
MAX_CONFIG_BYTES = 1 << 16
MAX_CONFIG_DOTS = 1_000  # in a line; the time that a key takes grows with the square of its parts


def read_config(path: str) -> dict[str, Any]:
    """Read a TOML file: a table for each command, such as ``[vectors.learn]``, with its long options.

    A DataError says that the file is larger than `MAX_CONFIG_BYTES`, nested too deeply, or not TOML.
    """
    with reraise_as_data_error(path, "expected TOML"):
        content = _parse_config(_read_config_bytes(path))
    return {name: _with_underscores(value) for name, value in content.items()}


def _read_config_bytes(path: str) -> bytes:
    """Return the bytes of a configuration file, which may be a pipe, or a device without an end."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})") from None
    if len(data) > MAX_CONFIG_BYTES:
        raise DataError(f"expected a configuration file of at most {MAX_CONFIG_BYTES:,} bytes, found more")
    return data


def _parse_config(data: bytes) -> dict[str, Any]:
    import tomllib

    text = data.decode("utf-8-sig")  # editors on Windows write a byte order mark
    too_deep = DataError(f"expected TOML nested at most {MAX_JSON_DEPTH} deep")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_CONFIG_DOTS:
            raise DataError(f"line {number}: expected a key of at most {MAX_CONFIG_DOTS:,} parts")
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    if is_nested_too_deep(content):
        raise too_deep
    return content


def _with_underscores(value: Any) -> Any:
    """Write option names as click names parameters."""
    if not isinstance(value, dict):
        return value
    return {name.replace("-", "_"): _with_underscores(entry) for name, entry in value.items()}


def _check_tables(root: click.Context, content: dict[str, Any]) -> None:
    """Raise UsageError if a table names no command: a misspelt one must not be ignored."""
    commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    known = [*commands, *(str(parameter.name) for parameter in root.command.params)]
    for name in content:
        if name not in known:
            hint = _closest_hint(name, known)
            raise UsageError(f"configuration: the command {name!r} does not exist{hint}")


def _closest_hint(name: str, known: Iterable[str]) -> str:
    """Return a question that names what may be meant, or nothing."""
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_names(command: click.Command, name: str, table: Any) -> None:
    """Raise UsageError if a table has an unknown option: a misspelt one must not be ignored."""
    if not isinstance(table, dict):
        raise UsageError(f"configuration: expected a table [{name}], found {name} = {table!r:.60}")
    parts = command.commands if isinstance(command, click.Group) else {}
    known = {str(parameter.name): parameter for parameter in command.params}
    for entry, value in table.items():
        if entry in parts:
            check_names(parts[entry], f"{name}.{entry}", value)
        elif entry not in known:
            option = entry.replace("_", "-")
            options = [known_name.replace("_", "-") for known_name in known]
            hint = _closest_hint(option, options)
            raise UsageError(f"configuration: [{name}] has no option {option!r}{hint}")
        else:
            _check_value(known[entry], f"[{name}] {entry}", value)


def _check_value(parameter: click.Parameter, name: str, value: Any) -> None:
    """Raise UsageError if a value has another type than the option.

    click would convert it to text, such as a file named "True".
    """
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    wanted, types = "text or a number", {str, int, float}
    if isinstance(parameter.type, click.types.BoolParamType):
        wanted, types = "true or false", {bool, str, int}
    elif isinstance(parameter.type, FileType):
        wanted, types = "the name of a file", {str}
    entries = value if several and isinstance(value, list) else [value]
    if not all(type(entry) in types for entry in entries):
        more = ", or a list of these" if several else ""
        raise UsageError(f"configuration: {name} must be {wanted}{more}, found {value!r:.60}")


def _set_defaults(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Use the tables of a TOML file as defaults; given after a command, the table of that command."""
    if path is None:
        return
    content = read_config(path)
    _check_tables(context.find_root(), content)
    if context.parent is not None and context.info_name is not None:
        content = content.get(context.info_name, {})
        check_names(context.command, context.info_name, content)
    context.default_map = content


_CONFIG_HELP = "TOML file of default options, with one table per command, such as [align]."
config_option = switch("--config", _CONFIG_HELP, type=INPUT, metavar="FILE", callback=_set_defaults)


def unknown_variables(context: click.Context) -> Iterator[tuple[str, str | None]]:
    """Yield the environment variables that seem to set an option and do not, each with a similar right name.

    These are the variables of the command that runs, and those whose command is misspelt. Others that begin
    with the name of the program may belong to something else.
    """
    known = _variables(context)
    prefix = f"{context.auto_envvar_prefix}_"
    for name in sorted(os.environ):
        if name.startswith(prefix) and name not in known:
            near = get_close_matches(name, known, 1)
            yield name, near[0] if near else None
    while context.parent is not None:
        context = context.parent
        yield from _misspelt_commands(context)


def _variables(context: click.Context) -> list[str]:
    """Return the environment variables that set the options of a command."""
    options = [param for param in context.command.params if isinstance(param, click.Option)]
    return [f"{context.auto_envvar_prefix}_{str(option.name).upper()}" for option in options]


def _misspelt_commands(context: click.Context) -> Iterator[tuple[str, str]]:
    """Yield environment variables whose command is almost one of a group, with the right name."""
    assert isinstance(context.command, click.Group)
    prefix = f"{context.auto_envvar_prefix}_"
    known = _variables(context)
    commands = [name.upper().replace("-", "_") for name in context.command.list_commands(context)]
    for name in sorted(os.environ):
        setting = name.removeprefix(prefix)
        names_command = any(setting.startswith(f"{command}_") for command in commands)
        if not name.startswith(prefix) or name in known or names_command:
            continue
        words = setting.split("_")
        for command in commands:
            count = command.count("_") + 1
            head, option = "_".join(words[:count]), "_".join(words[count:])
            if option and SequenceMatcher(None, head, command).ratio() >= MIN_NAME_SIMILARITY:
                yield name, f"{prefix}{command}_{option}"
                break
