"""Groups of options that several commands share: a command receives each group as one object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


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
