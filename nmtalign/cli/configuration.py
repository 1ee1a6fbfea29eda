"""The option ``--config``: a TOML file of default options."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import click

from nmtalign.cli.declare import common_option
from nmtalign.cli.parameter_types import INPUT, FileType
from nmtalign.errors import DataError, UsageError
from nmtalign.files.read_errors import reraise_as_data_error
from nmtalign.files.text_files import MAX_JSON_DEPTH, is_nested_too_deep

MAX_CONFIG_BYTES = 1 << 16
_PATH = "nmtalign.config"  # key of the path of the file among the values that contexts share
MAX_CONFIG_DOTS = 1_000  # the time for reading a line grows with the square of the parts of its key


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


def check_table(path: str, command: click.Command, name: str, table: Any) -> None:
    """Raise UsageError if a table is not one of options of the command.

    click would leave out an option that is misspelt, and take the value ``true`` for a file of this name.
    """
    if not isinstance(table, dict):
        raise UsageError(f"{path}: expected a table [{name}], found {name} = {table!r:.60}")
    commands = command.commands if isinstance(command, click.Group) else {}
    parameters = {str(parameter.name): parameter for parameter in command.params}
    for entry, value in table.items():
        if entry in commands:
            check_table(path, commands[entry], f"{name}.{entry}", value)
        elif entry not in parameters:
            option = entry.replace("_", "-")
            hint = _closest_hint(option, [known.replace("_", "-") for known in parameters])
            raise UsageError(f"{path}: [{name}] has no option {option!r}{hint}")
        elif not _has_type_of(parameters[entry], value):
            raise UsageError(f"{path}: [{name}] {entry} cannot be {value!r:.60}")


def check_environment(command: click.Command, name: str) -> None:
    """Raise UsageError if a variable of the environment is named after a command, but after no option.

    The name of a command in a group follows that of the group: ``vectors learn``.
    """
    prefix = _prefix_of_variables(name)
    parts = command.commands if isinstance(command, click.Group) else {}
    for part, inner in parts.items():
        check_environment(inner, f"{name} {part}")
    of_parts = tuple(_prefix_of_variables(f"{name} {part}") for part in parts)
    known = [f"{prefix}{str(parameter.name).upper()}" for parameter in command.params]
    for variable in sorted(os.environ):
        if variable.startswith(prefix) and variable not in known and not variable.startswith(of_parts):
            hint = _closest_hint(variable, known)
            raise UsageError(f"the variable {variable} of the environment names no option{hint}")


def _prefix_of_variables(command: str) -> str:
    """Return how click begins the variables of a command: ``NMTALIGN_LINKS_FROM_`` for ``links-from``."""
    return f"NMTALIGN_{re.sub('[- ]', '_', command).upper()}_"


def _has_type_of(parameter: click.Parameter, value: Any) -> bool:
    """Return whether a value is true or false for a switch, text for a file, else text or a number."""
    types: tuple[type, ...] = (str, int, float)
    if getattr(parameter, "is_flag", False):
        types = (bool,)
    elif isinstance(parameter.type, FileType):
        types = (str,)
    if isinstance(value, list) and getattr(parameter, "multiple", False):
        return all(type(entry) in types for entry in value)
    return type(value) in types


def _closest_hint(name: str, known: Iterable[str]) -> str:
    """Return a question that names what may be meant, or nothing."""
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _set_defaults(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Use the tables of a TOML file as defaults; given after a command, the table of that command."""
    if path is None:
        return
    tables = read_config(path)
    root = context.find_root()
    commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    known = [*commands, *(str(parameter.name) for parameter in root.command.params)]
    for name in tables:
        if name not in known:
            hint = _closest_hint(name, known)
            raise UsageError(f"{path}: the command {name!r} does not exist{hint}")
    names = context.command_path.split()[1:]  # such as vectors and learn
    for name in names:
        tables = tables.get(name, {})
    if names:
        check_table(path, context.command, ".".join(names), tables)
    context.meta[_PATH] = path
    context.default_map = tables


def path_of_config(context: click.Context) -> str:
    """Return the file that has set defaults; empty without one."""
    path: str = context.meta.get(_PATH, "")
    return path


def name_config(error: click.ClickException) -> None:
    """Name the configuration file in the error of click about a value that it has set."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or parameter is None:
        return
    if context.get_parameter_source(parameter.name) is click.core.ParameterSource.DEFAULT_MAP:
        error.message = f"{path_of_config(context)}: {error.message}"  # type: ignore[misc]


_CONFIG_HELP = "TOML file of default options, with one table per command, such as [align]."
config_option = common_option("--config", _CONFIG_HELP, type=INPUT, metavar="FILE", callback=_set_defaults)
