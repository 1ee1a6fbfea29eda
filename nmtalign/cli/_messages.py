"""Messages on stderr: lines for people, or with ``--log-json`` one JSON object a line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

_as_json = False


def log_json(on: bool) -> None:
    """Write messages as JSON from now on, or no longer."""
    global _as_json
    _as_json = on


log_option = click.option(
    "--log-json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, parameter, on: log_json(on),
    help="Messages on stderr as JSON, one object a line.",
)


def say(text: str, *, level: str = "info", event: str = "message", **values: Any) -> None:
    """Write one message.

    Parameters
    ----------
    text : str
        What people read.
    level : {"info", "warning", "error"}
    event, values
        What programs read: the kind of message, and numbers that the text may hold as well.
    """
    if _as_json:
        import json
        from datetime import UTC, datetime

        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        message = text.strip().replace("\nnmtalign: ", "; ")
        record = {"time": now, "level": level, "event": event, "message": message, **values}
        click.echo(json.dumps(record, ensure_ascii=False), err=True)
    else:
        prefix = "" if level == "info" else f"{level}: "
        click.echo(f"{line_start()}nmtalign: {prefix}{text}", err=True)


def warn(text: str) -> None:
    """Write a warning."""
    say(text, level="warning", event="warning")


def line_start() -> str:
    """Return what clears a line that renews itself on a terminal; nothing elsewhere."""
    return "\r\x1b[K" if renews() else ""


def renews() -> bool:
    """Say whether stderr shows a line that renews itself."""
    return sys.stderr.isatty() and not _as_json


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
