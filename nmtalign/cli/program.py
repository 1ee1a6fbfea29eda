"""The program, its commands, and the defaults of options that a file or the environment sets.

Commands are loaded when called, so ``nmtalign --help`` stays fast.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from copy import copy
from typing import Any, NoReturn

import click

from nmtalign import __version__
from nmtalign.cli import StopSignals
from nmtalign.cli.declare import common_option
from nmtalign.cli.messages import (
    debug_option,
    enabled_switches,
    log,
    log_option,
    printable,
    quiet_option,
    verbose_option,
    warnings_to_stderr,
    write,
)
from nmtalign.cli.parameter_types import INPUT, FileType, has_outputs
from nmtalign.display import escape_controls
from nmtalign.errors import (
    DISK_FULL_ERRNOS,
    TOO_MANY_OPEN_FILES,
    DataError,
    NmtalignError,
    UsageError,
    class_and_error_text,
    error_text,
)
from nmtalign.files.paths import reraise_as_data_error
from nmtalign.files.text_files import MAX_JSON_DEPTH, is_nested_too_deep
from nmtalign.validation import hint_at_closest

# name -> (module, attribute, one line of help)
COMMANDS = {
    name: (f"nmtalign.cli.commands.{word}_command", f"{word}_command", text)
    for name, text in (
        ("demo", "Align, evaluate and draw the bundled sample."),
        ("align", "Align a bitext: write links, probabilities and tables."),
        ("links-from", "Create links from the attention or similarities of another program."),
        ("train", "Learn an alignment model from a bitext."),
        ("check", "Find what is wrong with a bitext, or whether links fit it."),
        ("evaluate", "Score links: precision, recall, F1, AER, with gold links or without."),
        ("convert", "Convert files of links, or join those of two directions."),
        ("phrases", "List phrase pairs that are consistent with the links."),
        ("project", "Project tags, labels or spans over links to the target."),
        ("heatmap", "Draw attention weights and links as a picture."),
        ("report", "Write an HTML report of aligned pairs."),
        ("vectors", "Show, convert, learn and map word vectors."),
        ("lexicon", "List translations with probabilities."),
        ("find", "Show how a word is translated, with example lines."),
        ("serve", "Serve a web page that aligns pairs as you type them."),
    )
    for word in [name.replace("-", "_")]
}


# --- defaults of options from a file or the environment ------------------------------------------

MAX_CONFIG_BYTES = 1 << 16
MAX_CONFIG_DOTS = 1_000  # the time for reading a line grows with the square of the parts of its key
_PATH = "nmtalign.config"  # key of the path of the file among the values that contexts share


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


def _set_defaults(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Use the tables of a TOML file as defaults; given after a command, the table of that command.

    click calls this for each command and option ``--config``, so the defaults of each command are checked.
    """
    if path is not None:
        context.meta[_PATH] = path
        tables = read_config(path)
        _check_table(context.find_root(), tables)
        for name in context.command_path.split()[1:]:  # such as vectors and learn
            tables = tables.get(name, {})
        context.default_map = tables
    if context.default_map is not None:
        _check_table(context, context.default_map)
    _check_environment(context)


def _check_table(context: click.Context, table: Any) -> None:
    """Raise UsageError if a table is not one of options of the command.

    click would leave out an option that is misspelt, and take the value ``true`` for a file of this name.
    """
    path = click.get_current_context().meta.get(_PATH, "")
    name = ".".join(context.command_path.split()[1:])
    if not isinstance(table, dict):
        raise UsageError(f"{path}: expected a table [{name}], found {name} = {table!r:.60}")
    commands = context.command.list_commands(context) if isinstance(context.command, click.Group) else []
    parameters = {str(parameter.name): parameter for parameter in context.command.params}
    for entry, value in table.items():
        if entry in commands:
            if not isinstance(value, dict):
                raise UsageError(f"{path}: expected a table [{entry}], found {entry} = {value!r:.60}")
        elif entry not in parameters:
            hint = hint_at_closest(entry, [*commands, *parameters])
            where = f"[{name}] has no option" if name else "there is no command or option"
            raise UsageError(f"{path}: {where} {entry!r}{hint}")
        elif not _has_type_of(parameters[entry], value):
            raise UsageError(f"{path}: [{name}] {entry} cannot be {value!r:.60}")


def _check_environment(context: click.Context) -> None:
    """Raise UsageError if a variable of the environment is named after a command, but after no option.

    Variables of the commands of a group begin as those of the group.
    """
    if context.parent is None:
        return
    prefix = f"{context.auto_envvar_prefix}_"
    commands = context.command.list_commands(context) if isinstance(context.command, click.Group) else []
    of_commands = tuple(f"{prefix}{name.upper()}_" for name in commands)
    known = [f"{prefix}{str(parameter.name).upper()}" for parameter in context.command.params]
    for variable in sorted(os.environ):
        if variable.startswith(prefix) and variable not in known and not variable.startswith(of_commands):
            hint = hint_at_closest(variable, known)
            raise UsageError(f"the variable {variable} of the environment names no option{hint}")


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


def _name_config(error: click.ClickException) -> None:
    """Name the configuration file in the error of click about a value that it has set."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or parameter is None:
        return
    if context.get_parameter_source(parameter.name) is click.core.ParameterSource.DEFAULT_MAP:
        error.message = f"{context.meta[_PATH]}: {error.message}"  # type: ignore[misc]


_CONFIG_HELP = "TOML file of default options, with one table per command, such as [align]."
config_option = common_option("--config", _CONFIG_HELP, type=INPUT, metavar="FILE", callback=_set_defaults)
COMMON_OPTIONS = (quiet_option, verbose_option, log_option, config_option, debug_option)


# --- commands ------------------------------------------------------------------------------------


def _add_common_options(command: click.Command) -> None:
    """Give a command, and those of a group, the options that every command has."""
    if all(parameter.name != config_option.name for parameter in command.params):
        # A copy for each command, because click writes the defaults of a context into an option.
        command.params += map(copy, COMMON_OPTIONS)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _add_common_options(inner)


class LazyGroup(click.Group):
    """A click group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if not ctx.resilient_parsing:
                ctx.fail(f"No such command {cmd_name!r}{hint_at_closest(cmd_name, COMMANDS)}")
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        _add_common_options(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    params=list(COMMON_OPTIONS),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "NMTALIGN",
        "show_default": True,
        "max_content_width": 110,
    },
)
@click.version_option(__version__, prog_name="nmtalign")
def group() -> None:
    """Word alignment from attention.

    Example: nmtalign align text.en text.fr -o links.txt

    Options can also be set by environment variables named NMTALIGN_COMMAND_OPTION, such as
    NMTALIGN_ALIGN_SCORE=dot, and by a TOML file (--config). The command line overrides the variables, which
    override the file. Exit codes: 0 success, 1 failure, 2 wrong usage, 3 bad data, 4 stopped, can be resumed.
    """


def run_program(arguments: list[str] | None, signals: StopSignals) -> int:
    """Run the command line; return its exit code once everything, or the message of an error, is written."""
    enabled_switches.clear()
    os.environ["MPLBACKEND"] = "agg"  # a notebook exports its own backend, which may be unknown here
    _hold_closed_streams()
    try:
        try:
            _run_command(sys.argv[1:] if arguments is None else arguments)
            return 0
        except KeyboardInterrupt:
            raise NmtalignError("interrupted") from None
        except DataError as error:
            if signals.have_come:  # a file may seem damaged where a read of it was interrupted
                raise NmtalignError("interrupted") from error
            raise
        except NmtalignError:
            raise
        except Exception as error:
            if signals.have_come:  # an import that was interrupted may raise other errors
                raise NmtalignError("interrupted") from error
            raise
    except click.exceptions.Exit as end:  # of --help
        return end.exit_code
    except click.ClickException as error:
        signals.ended = True
        _name_config(error)
        error.message = printable(error.message)  # type: ignore[misc]  # final for click, which shows it
        shown = io.StringIO()
        error.show(shown)
        write(shown.getvalue(), nl=False)
        return error.exit_code
    except NmtalignError as error:
        signals.ended = True
        return _end(error_text(error), error.exit_code)
    except OSError as error:
        signals.ended = True
        return _end(*_describe_system_error(error))
    except Exception as error:
        signals.ended = True
        what = "memory ran out" if isinstance(error, MemoryError) else "this was not foreseen"
        hint = "--debug shows where it occurred" if "debug" not in enabled_switches else "please report it"
        return _end(f"{what} ({class_and_error_text(error)}); {hint}", NmtalignError.exit_code)


def _end(text: str, exit_code: int) -> int:
    """Log the error of which an except clause takes care; return its exit code."""
    if "debug" in enabled_switches:
        write(escape_controls(traceback.format_exc()), nl=False)
    log(text, level="error", event="failed", exit_code=exit_code)
    return exit_code


def _run_command(arguments: list[str]) -> None:
    """Run the command that the arguments name; a closed pipe ends it.

    The steps are those of click's `main`, which would print a line of its own for a signal.
    """
    if "_NMTALIGN_COMPLETE" in os.environ:  # a shell asks for completions
        group.main(arguments, prog_name="nmtalign")
    context: click.Context | None = None
    try:
        with group.make_context("nmtalign", arguments) as context, warnings_to_stderr():
            group.invoke(context)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # the reader of a list, such as `head`, has closed it
        if context is not None and has_outputs(context):
            raise NmtalignError("standard output was closed before everything was written") from None


def _describe_system_error(error: OSError) -> tuple[str, int]:
    """Return the message and the exit code for an error of the operating system."""
    text = error_text(error)
    if isinstance(error, FileNotFoundError) and not error.filename:  # raised by os.getcwd
        text = f"the working directory: {text}"
    if error.errno in TOO_MANY_OPEN_FILES:
        text += " (raise their number with ulimit -n)"
    if isinstance(error, IsADirectoryError):
        text += ", expected a file"
    lacks_resources = error.errno in (*DISK_FULL_ERRNOS, *TOO_MANY_OPEN_FILES)
    is_bad_input = error.filename and not lacks_resources
    return text, DataError.exit_code if is_bad_input else NmtalignError.exit_code


def _hold_closed_streams() -> None:
    """Replace closed standard streams, so that no file that is opened gets their descriptors.

    Using a replacement raises an error.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
            raw = io.FileIO(2, "w") if number == 2 else _Closed(name)
            setattr(sys, name, io.TextIOWrapper(raw, encoding="utf-8", write_through=True))


class _Closed(io.RawIOBase):
    """Replaces a standard stream that was closed before the program started."""

    def __init__(self, name: str) -> None:
        self._text = f"standard {name.removeprefix('std')}put is closed"

    def readable(self) -> bool:
        return True

    writable = readable

    def readinto(self, buffer: Any) -> NoReturn:
        raise NmtalignError(self._text)

    write = readinto
