"""How options are declared: groups that a command receives as one object, and the sections of ``--help``."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, field, fields
from difflib import SequenceMatcher, get_close_matches
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from nmtalign.display import escape_controls
from nmtalign.errors import warn_caller

RUNNING = "Running"  # the section of --help that lists the options that name no section
# The last section. A command lists the names of these options in one line; `nmtalign --help` describes them.
COMMON = "Options of every command"
OTHER_COMMANDS = ""  # the key of a default that is shown by all commands without one of their own
_DECLARATION_KEY = "declared"  # the key of a field's metadata


class Options:
    """Base class of option groups: frozen dataclasses whose fields declare the options.

    A command names the groups as the types of its parameters and receives an instance of each. A field
    whose type is another group contains the options of that group.
    """

    section: ClassVar[str] = RUNNING  # where --help lists the options, unless one names another section


AnyOptions = TypeVar("AnyOptions", bound=Options)


class SectionOption(click.Option):
    """An option that knows the section of ``--help`` that lists it, and the default of each command."""

    section = RUNNING
    shown_defaults: Mapping[str, str] | None = None  # as in :func:`option`

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return names and help, with the default of the command whose help is shown."""
        record = super().get_help_record(ctx)
        if record is None or self.shown_defaults is None:
            return record
        names, help = record
        default = self.shown_defaults.get(str(ctx.command.name), self.shown_defaults[OTHER_COMMANDS])
        return names, f"{help}  [{default}]"


class _Declaration(NamedTuple):
    """The parts of a declaration that click needs, besides the name and the type of the field."""

    is_argument: bool
    words: list[str]  # the names of the option, such as -o and --output
    section: str | None
    settings: dict[str, Any]
    shown_defaults: Mapping[str, str] | None = None


def option(
    names: str,
    help: str,
    *,
    type: click.ParamType[Any] | None = None,
    default: Any = None,
    required: bool = False,
    section: str | None = None,
    callback: Callable[..., Any] | None = None,
    shown_defaults: Mapping[str, str] | None = None,
) -> Any:
    """Declare an option as the field of a group: ``output: str = option("-o --output FILE", "Write FILE.")``.

    The last word of `names` is the metavar if it begins with a capital. The annotation of the field gives
    the type: ``bool`` makes a switch, a ``Literal`` a choice, ``tuple[str, ...]`` an option that may be
    repeated. `type` narrows it, for example to a range or to a file. Commands may act differently if the
    option is not given: `shown_defaults` describes what each does, by the name of the command.
    """
    words = names.split()
    settings: dict[str, Any] = {"help": help, "type": type, "required": required, "callback": callback}
    if not required:
        settings["default"] = default  # click takes a default of None for a value that was given
    if words[-1][0].isupper():
        settings["metavar"] = words.pop()
    declared = _Declaration(False, words, section, settings, shown_defaults)
    return field(default=MISSING if required else default, metadata={_DECLARATION_KEY: declared})


def argument(*, type: click.ParamType[Any] | None = None, required: bool = True) -> Any:
    """Declare an argument as the field of a group; a field of the type ``tuple[str, ...]`` takes several."""
    declared = _Declaration(True, [], None, {"type": type, "required": required})
    return field(default=MISSING if required else None, metadata={_DECLARATION_KEY: declared})


def common_option(
    names: str,
    help: str,
    *,
    callback: Callable[..., Any],
    is_flag: bool = False,
    type: click.ParamType[Any] | None = None,
    metavar: str | None = None,
) -> click.Option:
    """Return an option of every command. It acts by its callback; no command receives its value."""
    made = SectionOption(
        names.split(),
        help=help,
        callback=callback,
        is_flag=is_flag,
        type=type,
        metavar=metavar,
        expose_value=False,
        is_eager=True,
    )
    made.section = COMMON
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
        names = [attribute.name, *declared.words]
        if declared.is_argument:
            yield click.Argument(names, **settings)
        else:
            made = SectionOption(names, **settings)
            made.section = declared.section or group.section
            made.shown_defaults = declared.shown_defaults
            yield made


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
    if repeated and declared.is_argument:
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
            warn_caller(text)
        return super().invoke(ctx)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, whose defaults may come from a file, without control characters."""
        return escape_controls(super().get_help(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = group_by_section(self.get_params(ctx))
        common = sections.pop(COMMON, [])
        for title, options in sections.items():
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])
        if common:
            names = ", ".join(option.opts[-1] for option in common)
            formatter.write_paragraph()
            formatter.write_text(f"{COMMON}: {names}; see `nmtalign --help`.")


# A word this similar to the name of a command, from 0 to 1, is taken to mean the command.
MIN_NAME_SIMILARITY = 0.8


def unknown_variables(context: click.Context) -> Iterator[tuple[str, str | None]]:
    """Yield the environment variables that seem to set an option and do not, each with a similar right name.

    These are the variables of the command that runs, and those whose command is misspelt or missing. Others
    that begin with the name of the program may belong to something else.
    """
    known = _variables(context)
    prefix = f"{context.auto_envvar_prefix}_"
    for name in sorted(os.environ):
        if name.startswith(prefix) and name not in known:
            near = get_close_matches(name, known, 1)
            yield name, near[0] if near else None
    while context.parent is not None:
        parent = context.parent
        for variable in known:
            without_command = f"{parent.auto_envvar_prefix}_{variable.removeprefix(prefix)}"
            if without_command in os.environ and without_command not in _variables(parent):
                yield without_command, variable
        context = parent
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


# The order of sections in --help; other sections come before the last one, as they are declared.
_SECTION_ORDER = ("Input", "Output", "Model", "Vectors", "Expert", "Links", "Learning", "Mapping")


def _section_rank(title: str) -> int:
    """Return the place of a section, by the first word of its title."""
    word = title.replace(",", " ").split()[0]
    if title in (RUNNING, COMMON):
        return len(_SECTION_ORDER) + 1 + (title == COMMON)
    return _SECTION_ORDER.index(word) if word in _SECTION_ORDER else len(_SECTION_ORDER)


def group_by_section(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options of a command by section, in the usual order of sections."""
    sections: dict[str, list[click.Option]] = {}
    for parameter in parameters:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            default = COMMON if "--help" in parameter.opts else RUNNING
            section = getattr(parameter, "section", default)
            sections.setdefault(section, []).append(parameter)
    return {title: sections[title] for title in sorted(sections, key=_section_rank)}


def command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a function a command.

    Each parameter of the function is annotated with a group of options.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        hints = get_type_hints(function)
        groups: dict[str, type[Options]] = {key: kind for key, kind in hints.items() if key != "return"}
        parameters = [parameter for group in groups.values() for parameter in _group_parameters(group)]

        @functools.wraps(function)
        def call(**values: Any) -> None:
            function(**{name: _make_group(group, values) for name, group in groups.items()})

        return click.command(name, cls=Command, params=parameters)(call)

    return decorate
