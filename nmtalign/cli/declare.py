"""How groups of settings become options of a command, and how these are listed in ``--help``.

A command names groups as the types of its parameters, and receives an instance of each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from nmtalign.cli.parameter_types import TYPE_OF_KIND, Integer, Number
from nmtalign.declarations import (
    OTHER_COMMANDS,
    RUNNING,
    Declaration,
    Settings,
    choices_of,
    declaration_of,
    field_types,
    section_of_group,
    types_of,
)
from nmtalign.display import escape_controls
from nmtalign.errors import UsageError

# The last sections. A command lists the names of their options in one line; `DESCRIBED_IN` has the rest.
CLUSTERS = "Shards and clusters"
COMMON = "Options of every command"
DESCRIBED_IN = {CLUSTERS: "docs/scaling.md", COMMON: "`nmtalign --help`"}


AnySettings = TypeVar("AnySettings", bound=Settings)


class SectionOption(click.Option):
    """An option that knows the section of ``--help`` that lists it, and the default of each command."""

    section = RUNNING
    shown_defaults: Mapping[str, str] | None = None  # as in :func:`nmtalign.declarations.setting`

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return names and help, with the default of the command whose help is shown."""
        record = super().get_help_record(ctx)
        if record is None or self.shown_defaults is None:
            return record
        names, help = record
        default = self.shown_defaults.get(str(ctx.command.name), self.shown_defaults[OTHER_COMMANDS])
        return names, f"{help}  [{default}]"


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


def _group_parameters(group: type[Settings], section: str | None = None) -> Iterator[click.Parameter]:
    """Yield the click parameters of a group, those of inner groups in their place."""
    annotations = field_types(group)
    for attribute in fields(group):  # type: ignore[arg-type]  # each group is a dataclass
        annotation = annotations[attribute.name]
        declaration = declaration_of(attribute)
        if declaration is None:
            yield from _group_parameters(annotation, section_of_group(attribute))
        elif declaration.is_argument:
            settings = _parameter_settings(annotation, attribute, declaration)
            yield click.Argument([attribute.name], metavar=declaration.metavar, **settings)
        elif declaration.names:
            made = SectionOption(
                [_parameter_name(attribute, declaration), *declaration.names],
                help=declaration.help,
                metavar=declaration.metavar,
                callback=_only_on_command_line if declaration.only_on_command_line else declaration.callback,
                **_parameter_settings(annotation, attribute, declaration),
            )
            made.section = declaration.section or section or group.section
            made.shown_defaults = declaration.shown_defaults
            yield made


def _only_on_command_line(
    context: click.Context, parameter: click.Parameter, value: bool | None
) -> bool | None:
    """Raise UsageError if a configuration file or the environment sets the option."""
    if value and context.get_parameter_source(str(parameter.name)) is not ParameterSource.COMMANDLINE:
        raise UsageError(
            f"{parameter.opts[0]} can be given on the command line only;"
            " remove it from the configuration file or the environment"
        )
    return value


def _parameter_name(attribute: Field[Any], declaration: Declaration) -> str:
    """Return the name that configuration files and the environment use: that of the long option."""
    if declaration.is_argument:
        return attribute.name
    return declaration.names[-1].split("/")[0].removeprefix("--").replace("-", "_")


def _parameter_settings(annotation: Any, attribute: Field[Any], declaration: Declaration) -> dict[str, Any]:
    """Return the settings of a click parameter that follow from the type of its field and its bounds."""
    is_required = attribute.default is MISSING
    settings: dict[str, Any] = {"required": is_required}
    if not is_required:
        # click takes a default of None for a value that was given
        settings["default"] = None if isinstance(attribute.default, tuple) else attribute.default
    if get_origin(annotation) is tuple and get_args(annotation)[-1] is Ellipsis:
        settings |= {"nargs": -1} if declaration.is_argument else {"multiple": True}
        annotation = get_args(annotation)[0]
    if declaration.is_repeated:
        settings["multiple"] = True
    types = [kind for kind in types_of(annotation) if kind is not NoneType]
    if bool in types:
        settings["is_flag"] = True
    else:
        kind = declaration.kind
        settings["type"] = TYPE_OF_KIND[kind] if kind else declaration.type or _click_type(types, declaration)
    return settings


def _click_type(types: list[Any], declaration: Declaration) -> Any:
    """Return the click type of a field by the types that it may have, and by its bounds."""
    if choices := choices_of(tuple(types)):
        return click.Choice(choices)
    minimum = declaration.minimum if declaration.above is None else declaration.above
    if types == [float]:
        return Number(minimum, declaration.maximum, min_open=declaration.above is not None)
    if types == [int]:
        return Integer(_as_integer(minimum), _as_integer(declaration.maximum))
    return str if str in types else types[0]


def _as_integer(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _make_group(group: type[AnySettings], values: Mapping[str, Any]) -> AnySettings:
    """Return an instance of a group from the values of all options of a command."""
    annotations = field_types(group)
    by_field: dict[str, Any] = {}
    for attribute in fields(group):  # type: ignore[arg-type]  # each group is a dataclass
        declaration = declaration_of(attribute)
        if declaration is None:
            by_field[attribute.name] = _make_group(annotations[attribute.name], values)
        elif declaration.is_argument or declaration.names:
            value = values[_parameter_name(attribute, declaration)]
            # an option that was not given leaves the default of the field
            is_given = value != () if declaration.is_repeated else value is not None
            if attribute.default is MISSING or is_given:
                by_field[attribute.name] = value
    return group(**by_field)


class Command(click.Command):
    """A command whose ``--help`` lists its options in sections, in the order in which these begin."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, whose defaults may come from a file, without control characters."""
        return escape_controls(super().get_help(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = group_by_section(self.get_params(ctx))
        in_one_line = {title: sections.pop(title) for title in DESCRIBED_IN if title in sections}
        for title, options in sections.items():
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])
        for title, options in in_one_line.items():
            names = ", ".join(option.opts[-1] for option in options)
            formatter.write_paragraph()
            formatter.write_text(f"{title}: {names}; see {DESCRIBED_IN[title]}.")


def group_by_section(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options of a command by section, in the order in which these begin; running comes last."""
    sections: dict[str, list[click.Option]] = {}
    for parameter in parameters:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            default = COMMON if "--help" in parameter.opts else RUNNING
            section = getattr(parameter, "section", default)
            sections.setdefault(section, []).append(parameter)
    running = sections.pop(RUNNING, None)
    return sections if running is None else sections | {RUNNING: running}


def command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a function a command.

    Each parameter of the function is annotated with a group of options.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        hints = get_type_hints(function)
        groups: dict[str, type[Settings]] = {key: kind for key, kind in hints.items() if key != "return"}
        parameters = [parameter for group in groups.values() for parameter in _group_parameters(group)]

        @functools.wraps(function)
        def call(**values: Any) -> None:
            function(**{name: _make_group(group, values) for name, group in groups.items()})

        return click.command(name, cls=Command, params=parameters)(call)

    return decorate
