"""Messages on stderr: lines for people, or with ``--log-json`` one JSON object a line."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from nmtalign.cli.declare import switch
from nmtalign.display import escape_controls

MOST_CHARACTERS = 2_000  # of a message
COLORS = {"error": "red", "warning": "yellow"}
_PARAMETER = re.compile(r"(?<!['\"])`([a-z_]+)(?:=([^`]+))?`")  # of the library
_OPTIONS = {"languages": "langs", "overwrite": "force", "select": "sides"}  # those of another name
switched: set[str] = set()  # by options of the command that runs: log_json, verbose, quiet, debug


def _switch(context: click.Context, parameter: click.Parameter, on: bool) -> None:
    """Switch a kind of messages on, by an option of its name."""
    switched.update({str(parameter.name)} if on else ())


def _message_option(names: str, help: str) -> click.Option:
    return switch(names, help, is_flag=True, callback=_switch)


quiet_option = _message_option("-q --quiet", "Only warnings and errors on stderr.")
verbose_option = _message_option("-v --verbose", "Also say with which settings links were made.")
log_option = _message_option("--log-json", "Messages on stderr as JSON, one object per line.")
debug_option = _message_option("--debug", "After an error, also print its traceback.")


def printable(text: str) -> str:
    """Return text as one short line: whatever a file holds, a terminal only shows it."""
    if len(text) > MOST_CHARACTERS:
        text = f"{text[: MOST_CHARACTERS // 2]} ... {text[-MOST_CHARACTERS // 4 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def as_options(text: str) -> str:
    """Write parameters, as messages of the library name them, as they are typed on the command line.

    >>> as_options("cut the text with `tokenizer=simple`, or set `attention_heads`")
    'cut the text with --tokenizer simple, or set --attention-heads'
    """
    return _PARAMETER.sub(_as_option, text)


def _as_option(parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    option = "--" + _OPTIONS.get(name, name).replace("_", "-")
    return option if value in (None, "True") else f"{option} {value}".replace("'", "")


def detail(text: str, *, event: str) -> None:
    """Write what only programs and ``--verbose`` want to know."""
    if switched & {"verbose", "log_json"}:
        log(text, event=event)


def log(text: str, *, level: str = "info", event: str = "message", **values: Any) -> None:
    """Write one message to stderr; `event` and `values` are for programs that read the JSON."""
    if "quiet" in switched and level == "info":
        return
    text = "\nnmtalign: ".join(map(printable, as_options(text).split("\nnmtalign: ")))
    if "log_json" in switched:
        import json
        from datetime import UTC, datetime

        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        message = text.strip().replace("\nnmtalign: ", "; ")
        record = {"time": now, "level": level, "event": event, "message": message, **values}
        write(json.dumps(record, ensure_ascii=False))
    else:
        prefix = "" if level == "info" else click.style(f"{level}: ", fg=COLORS[level], bold=True)
        write(f"{line_start()}nmtalign: {prefix}{text}")


def print_text(text: str = "") -> None:
    """Write lines of a list to standard output: as they are, or on a terminal without control characters."""
    click.echo(escape_controls(text) if sys.stdout.isatty() else text, color=True)


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
    """Return what clears the progress line of a terminal; nothing elsewhere."""
    return "\r\x1b[K" if shows_progress() else ""


def shows_progress() -> bool:
    """Return whether stderr is a terminal that shows a progress line."""
    return sys.stderr.isatty() and not switched & {"log_json", "quiet"}


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
