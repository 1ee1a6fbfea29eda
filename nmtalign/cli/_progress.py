"""Progress on stderr: a line that renews itself on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time

import click

_PAUSE = 0.2  # seconds between two writings


class Progress:
    """Count things that are done; as a context manager it clears its line at the end.

    Parameters
    ----------
    unit : str
        What is counted, in the plural.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.done = 0
        self._start = time.perf_counter()
        self._written = self._start

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self._write("")

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._start

    @property
    def rate(self) -> float:
        """Things done per second."""
        return self.done / max(self.seconds, 1e-9)

    def advance(self, count: int) -> None:
        """Add `count` and renew the line if it is old."""
        self.done += count
        now = time.perf_counter()
        if now - self._written > _PAUSE:
            self._written = now
            self._write(f"{self.done:,} {self.unit}, {self.rate:,.0f} a second")

    def _write(self, text: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
