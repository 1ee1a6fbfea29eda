"""Groups of options that several commands share: a command receives each group as one object.

``--help`` lists the options of a command in sections.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import click

from nmtalign.cli.options.types import INPUT, FileType
from nmtalign.errors import DataError, UsageError
from nmtalign.files import foreign

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
        names = {vars(option).get("group", option.name) for option in own if option.expose_value}
        for option in own:
            vars(option)["group"] = name
        return grouped

    return decorate


def read_config(path: str) -> dict[str, Any]:
    """Read a TOML file with one table for each command: ``[align]``, ``[vectors.learn]``.

    Names are those of the long options without ``--``.

    Raises
    ------
    DataError
        If the file is not there or no TOML.
    """
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
