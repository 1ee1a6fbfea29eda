"""Messages on stderr: lines for people, or with ``--log-json`` one JSON object a line."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

MOST_CHARACTERS = 2_000  # of a message
COLOURS = {"error": "red", "warning": "yellow"}
_as_json = False
_verbose = False
_quiet = False
_debugging = False


def log_json(on: bool) -> None:
    """Switch messages between JSON and lines for people."""
    global _as_json
    _as_json = on


def verbose(on: bool) -> None:
    """Switch messages for those who look closely on and off."""
    global _verbose
    _verbose = on


def quiet(on: bool) -> None:
    """Switch all messages but warnings and errors off and on."""
    global _quiet
    _quiet = on


def debug(on: bool) -> None:
    """Switch tracebacks of errors on and off."""
    global _debugging
    _debugging = on


def debugging() -> bool:
    """Return whether errors come with a traceback."""
    return _debugging


def debug_option() -> click.Option:
    """Return the option ``--debug`` for the group or for one command of it."""
    return click.Option(
        ["--debug"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=lambda context, parameter, on: debug(on or debugging()),
        help="With an error also print its traceback.",
    )


def printable(text: str) -> str:
    """Return text as one short line: whatever a file holds, a terminal only shows it.

    Examples
    --------
    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if len(text) > MOST_CHARACTERS:
        text = f"{text[: MOST_CHARACTERS // 2]} ... {text[-MOST_CHARACTERS // 4 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _switch(*names: str, turn: Callable[[bool], None], help: str) -> Callable[[Any], Any]:
    """Return an option that turns a kind of messages on."""
    return click.option(
        *names,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=lambda context, parameter, on: turn(on),
        help=help,
    )


log_option = _switch("--log-json", turn=log_json, help="Messages on stderr as JSON, one object a line.")
verbose_option = _switch(
    "-v", "--verbose", turn=verbose, help="Also say with which settings the links were made."
)
quiet_option = _switch("-q", "--quiet", turn=quiet, help="Only warnings and errors on stderr.")


def detail(text: str, *, event: str) -> None:
    """Write what only programs and ``--verbose`` want to know."""
    if _verbose or _as_json:
        log(text, event=event)


def log(text: str, *, level: str = "info", event: str = "message", **values: Any) -> None:
    """Write one message to stderr; `event` and `values` are for programs that read the JSON."""
    if _quiet and level == "info":
        return
    text = "\nnmtalign: ".join(map(printable, text.split("\nnmtalign: ")))
    if _as_json:
        import json
        from datetime import UTC, datetime

        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        message = text.strip().replace("\nnmtalign: ", "; ")
        record = {"time": now, "level": level, "event": event, "message": message, **values}
        write(json.dumps(record, ensure_ascii=False))
    else:
        prefix = "" if level == "info" else click.style(f"{level}: ", fg=COLOURS[level], bold=True)
        write(f"{line_start()}nmtalign: {prefix}{text}")


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
    return sys.stderr.isatty() and not _as_json and not _quiet


@contextmanager
def warnings_to_stderr() -> Iterator[None]:
    """Print each different warning of the block once, as one line on stderr."""
    seen: set[str] = set()

    def show(message: Warning | str, *place: object, **more: object) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # pyparsing's are UserWarnings as well
        warnings.showwarning = show
        yield
