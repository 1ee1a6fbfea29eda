"""Groups of options that several commands share: a command receives each group as one object.

``--help`` lists the options of a command in sections.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import click

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


def option_group(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """Return a decorator that gives a command options and their values as one object.

    Parameters
    ----------
    name : str
        Argument of the command that receives the object.
    kind : dataclass
        Its fields are called as the options.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def collect(**arguments: Any) -> Any:
            values = {field.name: arguments.pop(field.name) for field in fields(kind)}
            return command(**{name: kind(**values)}, **arguments)

        return with_options(*options)(collect)

    return decorate
