"""The option ``--config``: a TOML file of default options."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import click

from nmtalign.cli.declare import common_option
from nmtalign.cli.parameter_types import INPUT, FileType
from nmtalign.errors import DataError, UsageError
from nmtalign.files.json_files import is_nested_too_deep
from nmtalign.files.limits import MAX_JSON_DEPTH
from nmtalign.files.read_errors import reraise_as_data_error

MAX_CONFIG_BYTES = 1 << 16
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
    """Raise UsageError if the type of a value differs from that of the option.

    click would convert it to text, such as a file named "True".
    """
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    if isinstance(parameter.type, click.types.BoolParamType):
        wanted = "true or false"
        types = {bool, str, int}
    elif isinstance(parameter.type, FileType):
        wanted = "the name of a file"
        types = {str}
    else:
        wanted = "text or a number"
        types = {str, int, float}
    entries = value if several and isinstance(value, list) else [value]
    types_fit = all(type(entry) in types for entry in entries)
    if not types_fit:
        more = ", or a list of these" if several else ""
        raise UsageError(f"configuration: {name} must be {wanted}{more}, found {value!r:.60}")


def _names_of_command(context: click.Context) -> list[str]:
    """Return the names that call the command of a context, such as vectors and learn."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return names


def _set_defaults(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Use the tables of a TOML file as defaults; given after a command, the table of that command."""
    if path is None:
        return
    content = read_config(path)
    _check_tables(context.find_root(), content)
    names = _names_of_command(context)
    for name in names:
        content = content.get(name, {})
    if names:
        check_names(context.command, ".".join(names), content)
    context.default_map = content


_CONFIG_HELP = "TOML file of default options, with one table per command, such as [align]."
config_option = common_option("--config", _CONFIG_HELP, type=INPUT, metavar="FILE", callback=_set_defaults)
