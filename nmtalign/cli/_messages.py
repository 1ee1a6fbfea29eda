"""Warnings for people: one line on stderr, without the place in the program."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def warnings_to_stderr() -> Iterator[None]:
    """Print each different warning of the block once, as one line on stderr."""
    seen: set[str] = set()

    def show(message: Warning | str, *place: object, **more: object) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            click.echo(f"nmtalign: warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
