"""Messages on stderr: lines for people, or with ``--log-json`` one JSON object a line."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import click

from nmtalign.cli.declare import common_option
from nmtalign.display import escape_controls
from nmtalign.progress import ProgressBar, ProgressDisplay, ProgressReporter

MAX_MESSAGE_CHARS = 2_000
COLOR_OF_LEVEL = {"error": "red", "warning": "yellow"}
# A parameter as messages of the library name it, such as `encoder=NAME`.
_PARAMETER_IN_MESSAGE = re.compile(r"(?<!['\"])`([a-z_]+)(?:=([^`]+))?`")
# Options whose names differ from those of the parameters.
_OPTION_OF_PARAMETER = {
    "languages": "langs",
    "format": "from",
    "overwrite": "force",
    "seeds": "dictionary",
    "select": "sides",
}
# Options for files of vectors, which only the commands that read a single file have.
_OPTIONS_OF_VECTOR_FILES = ("strip_prefix", "unsafe_pickle")
# Switches of the command that runs: log_json, verbose, quiet, debug.
enabled_switches: set[str] = set()
# The options of the command that runs, or ran last, by the names of their parameters.
options_of_command: dict[str, str] = {}


def _switch(context: click.Context, parameter: click.Parameter, on: bool) -> None:
    """Switch a kind of messages on, by an option of its name; note the options of the command."""
    options_of_command.clear()
    for known in context.command.params:
        options_of_command[str(known.name)] = max(known.opts, key=len)
        if known.secondary_opts:
            options_of_command[f"{known.name}=False"] = known.secondary_opts[0]
    enabled_switches.update({str(parameter.name)} if on else ())


def _message_option(names: str, help: str) -> click.Option:
    return common_option(names, help, is_flag=True, callback=_switch)


quiet_option = _message_option("-q --quiet", "Print only warnings and errors to stderr.")
verbose_option = _message_option("-v --verbose", "Also print the settings with which the links were created.")
log_option = _message_option("--log-json", "Print messages to stderr as JSON, one object per line.")
debug_option = _message_option("--debug", "After an error, also print its traceback.")


def printable(text: str) -> str:
    """Return text as one short line without control characters, which a terminal would obey."""
    if len(text) > MAX_MESSAGE_CHARS:
        text = f"{text[: MAX_MESSAGE_CHARS // 2]} ... {text[-MAX_MESSAGE_CHARS // 4 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def as_options(text: str, options: Mapping[str, str]) -> str:
    """Return a message of the library with its parameters spelled as options of the command line.

    `options` are those of the command by the names of their parameters. Other words remain.

    >>> options = {"tokenizer": "--tokenizer", "langs": "--langs"}
    >>> as_options("split the text with `tokenizer=simple`, or set `languages` or `heads`", options)
    'split the text with --tokenizer simple, or set --langs or `heads`'
    """
    return _PARAMETER_IN_MESSAGE.sub(partial(_as_option, options), text)


def _as_option(options: Mapping[str, str], parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    if f"{name}={value}" in options:  # a switch that is off
        return options[f"{name}={value}"]
    option = options.get(name) or options.get(_OPTION_OF_PARAMETER.get(name, name))
    converts = option is None and name in _OPTIONS_OF_VECTOR_FILES and value is not None
    if converts:
        option = "--" + name.replace("_", "-")
    if option is None or not option.startswith("-"):
        return parameter.group()
    text = option if value in (None, "True") else f"{option} {value}".replace("'", "")
    return f"`nmtalign vectors convert FILE FOLDER --to folder {text}`" if converts else text


def log_settings(description: str) -> None:
    """Log what links were made with; the line is shown only with ``--verbose`` or ``--log-json``."""
    if enabled_switches & {"verbose", "log_json"}:
        log(description, event="settings")


def log(text: str, *, level: str = "info", event: str = "message", **values: object) -> None:
    """Write one message to stderr; `event` and `values` are for programs that read the JSON."""
    if level == "info" and not shows_info():
        return
    text = "\nnmtalign: ".join(map(printable, as_options(text, options_of_command).split("\nnmtalign: ")))
    if "log_json" in enabled_switches:
        import json
        from datetime import UTC, datetime

        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        message = text.strip().replace("\nnmtalign: ", "; ")
        record = {"time": now, "level": level, "event": event, "message": message, **values}
        write(json.dumps(record, ensure_ascii=False))
    else:
        prefix = "" if level == "info" else click.style(f"{level}: ", fg=COLOR_OF_LEVEL[level], bold=True)
        write(f"{line_start()}nmtalign: {prefix}{text}")


def shows_info() -> bool:
    """Return whether messages are written that are neither warnings nor errors."""
    return "quiet" not in enabled_switches


def print_text(text: str = "") -> None:
    """Write lines of a list to standard output: as they are, or on a terminal without control characters."""
    click.echo(escape_controls(text) if sys.stdout.isatty() else text, color=True)


def print_json(value: object) -> None:
    """Write plain values to standard output as JSON."""
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def write(text: str, *, nl: bool = True) -> None:
    """Write to stderr; if that is full, messages are lost, but not the work."""
    try:
        click.echo(text, nl=nl, err=True, color=in_color())
    except OSError:
        sys.stderr = io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8", write_through=True)


def in_color() -> bool:
    """Return whether stderr shows colors: a terminal does, unless ``NO_COLOR`` is set."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def warn(text: str) -> None:
    """Write a warning."""
    log(text, level="warning", event="warning")


def line_start() -> str:
    """Return the characters that clear the progress line of a terminal; nothing elsewhere."""
    return "\r\x1b[K" if shows_progress() else ""


def shows_progress() -> bool:
    """Return whether stderr is a terminal that shows a progress line."""
    return sys.stderr.isatty() and not enabled_switches & {"log_json", "quiet"}


@contextmanager
def warnings_to_stderr() -> Iterator[None]:
    """Print each different warning of the block once, as one line on stderr."""
    seen: set[str] = set()

    def show(message: Warning | str, *where: object, **settings: object) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # pyparsing's are UserWarnings as well
        warnings.showwarning = show
        yield


# --- progress on stderr --------------------------------------------------------------------------


LOG_SECONDS = 15.0  # time between two messages in a log


def open_progress(unit: str, inputs: Sequence[str] = (), costs: Sequence[float] = ()) -> ProgressReporter:
    """Return a reporter that counts `unit` (a plural) on stderr; see :class:`ProgressReporter`."""
    display = _TerminalBar() if shows_progress() else _LogMessages()
    return ProgressReporter(display, unit, inputs, costs=costs)


class _LogMessages(ProgressDisplay):
    """Writes a message now and then; with ``--log-json`` it has all counts and times."""

    def __init__(self) -> None:
        self.seconds_between_updates = LOG_SECONDS

    def show(self, reporter: ProgressReporter, message: str, event: str) -> None:
        if event == "stage":
            seconds = reporter.seconds
            log(f"{seconds:7.1f} s  {message}", event=event, seconds=round(seconds, 3))
        elif event != "end":  # every command has a last message of its own
            log(message, event=event, **reporter.values)


class _TerminalBar(ProgressBar):
    """Draws a bar below the messages; it is cleared at the end."""

    def __init__(self) -> None:
        super().__init__(keep=False, color="cyan" if in_color() else None)
        self._messages = _LogMessages()

    def show(self, reporter: ProgressReporter, message: str, event: str) -> None:
        if event != "progress":
            self._messages.show(reporter, message, event)
        super().show(reporter, "", event)
