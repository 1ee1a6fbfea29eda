"""Displays of progress on stderr: a bar on a terminal, elsewhere a message now and then."""

from __future__ import annotations

from collections.abc import Sequence

from nmtalign.cli.messages import in_color, log, shows_progress
from nmtalign.progress import ProgressBar, ProgressDisplay, ProgressReporter

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
