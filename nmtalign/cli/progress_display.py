"""Displays of progress on stderr: a line or a bar on a terminal, elsewhere a message now and then."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import click

from nmtalign.cli.messages import in_color, line_start, log, shows_progress, write
from nmtalign.progress import UPDATE_SECONDS, ProgressReporter, format_duration

LOG_SECONDS = 15.0  # time between two messages in a log
REDRAW_SECONDS = 0.5  # time between two drawings of a bar
BAR_CHARS = 24


def open_progress(unit: str, inputs: Sequence[str] = (), costs: Sequence[float] = ()) -> ProgressReporter:
    """Return a reporter that counts `unit` (a plural) on stderr; see :class:`ProgressReporter`."""
    display: _LogMessages
    if not shows_progress():
        display = _LogMessages()
    elif costs:
        display = _TerminalBar()
    else:
        display = _TerminalLine()
    return ProgressReporter(display, unit, inputs, costs=costs)


class _LogMessages:
    """Writes a message now and then; with ``--log-json`` it has all counts and times."""

    def __init__(self) -> None:
        self.seconds_between_updates = LOG_SECONDS

    def open(self, reporter: ProgressReporter) -> None:
        pass

    def update(self, reporter: ProgressReporter) -> None:
        log(reporter.text, event="progress", **reporter.values)

    def write(self, reporter: ProgressReporter, message: str, *, event: str) -> None:
        if event == "read":
            log(message, event=event, **reporter.values)
        else:
            seconds = reporter.seconds
            log(f"{seconds:7.1f} s  {message}", event=event, seconds=round(seconds, 3))

    def finish(self, reporter: ProgressReporter, message: str) -> None:
        """Write nothing: every command has a last message of its own."""

    def close(self) -> None:
        pass


class _TerminalLine(_LogMessages):
    """Overwrites one line; messages stay above it."""

    def __init__(self) -> None:
        self.seconds_between_updates = UPDATE_SECONDS

    def update(self, reporter: ProgressReporter) -> None:
        write(f"{line_start()}{reporter.text}", nl=False)

    def close(self) -> None:
        write(line_start(), nl=False)


class _TerminalBar(_TerminalLine):
    """Draws a bar, also while a step takes long.

    A timer redraws the bar, because work could not be forked beside a thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self._previous_handler: Any = None  # the function that the timer called before the bar was opened

    def open(self, reporter: ProgressReporter) -> None:
        def redraw(number: int, frame: FrameType | None) -> None:
            self.update(reporter)

        if hasattr(signal, "setitimer"):
            self._previous_handler = signal.signal(signal.SIGALRM, redraw)
            signal.setitimer(signal.ITIMER_REAL, REDRAW_SECONDS, REDRAW_SECONDS)
        self.update(reporter)

    def write(self, reporter: ProgressReporter, message: str, *, event: str) -> None:
        super().write(reporter, message, event=event)
        self.update(reporter)

    def update(self, reporter: ProgressReporter) -> None:
        """Draw the bar, past Python's buffer: the timer may interrupt another message."""
        share = reporter.share or 0.0
        left = reporter.seconds_left
        done = "━" * round(share * BAR_CHARS)
        remaining = "─" * (BAR_CHARS - len(done))
        text = f"{click.style(done, fg='cyan') if in_color() else done}{remaining} {100 * share:3.0f} %"
        if left is not None:
            text += f", {format_duration(left)} left"
        if reporter.is_counting:
            text += f", {reporter.done:,} {reporter.unit} read"
        os.write(sys.stderr.fileno(), f"{line_start()}{text}".encode())

    def close(self) -> None:
        if self._previous_handler is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._previous_handler)
            self._previous_handler = None
        super().close()
