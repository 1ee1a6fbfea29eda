"""Layer 9: the command line. This module handles signals, from before the rest of the program is imported.

Until it does, a signal has the effect that the system and Python give it, so nothing is imported first. The
program is in :mod:`nmtalign.cli.program`.
"""

from __future__ import annotations

import signal
import sys
import time

TYPE_CHECKING = False  # as in typing, whose import takes longer than all others here
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

_INTERRUPTED = 1  # the exit code
# A signal that comes this soon after the first is taken for the same one: `timeout` sends it to the program
# and to its group.
REPEAT_SECONDS = 2.0
RAISE_AGAIN_SECONDS = 0.01  # an interrupt that was lost in a destructor is raised again after this time


class StopSignals:
    """Turns SIGINT, SIGTERM and SIGHUP into one KeyboardInterrupt, until the run has ended.

    Signals that are ignored, as under nohup, stay so. `ended` becomes true once everything is written, or the
    message of an error: a signal is then too late to stop anything.
    """

    def __init__(self) -> None:
        self.ended = False
        self._first: float | None = None  # when the first signal came
        self._previous: dict[int, Any] = {}
        self._previous_hook = sys.unraisablehook

    @property
    def have_come(self) -> bool:
        """Whether a signal has stopped the run."""
        return self._first is not None

    def install(self) -> None:
        """Handle signals from now on; only the main thread can do so."""
        names = ("SIGINT", "SIGTERM", "SIGHUP")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]  # Windows has no SIGHUP
        try:
            for number in numbers:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._stop)
        except ValueError:  # outside the main thread
            pass
        sys.unraisablehook = self._raise_again

    def ignore(self) -> None:
        """Ignore further signals: Python, which is about to end, would restore their default actions."""
        for number in self._previous:
            signal.signal(number, signal.SIG_IGN)

    def restore(self) -> None:
        """Give the signals back to a caller that goes on."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        sys.unraisablehook = self._previous_hook

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, unless the run is ending already."""
        now = time.monotonic()
        is_repeated = self._first is not None and now < self._first + REPEAT_SECONDS
        if self.ended or is_repeated:
            return
        self._first = now
        raise KeyboardInterrupt

    def _raise_again(self, unraisable: Any) -> None:
        """Raise a KeyboardInterrupt again that Python would only print, as in a destructor."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt) or not hasattr(signal, "setitimer"):
            self._previous_hook(unraisable)
            return
        self._first = None
        self._previous.setdefault(signal.SIGALRM, signal.signal(signal.SIGALRM, self._stop))
        signal.setitimer(signal.ITIMER_REAL, RAISE_AGAIN_SECONDS)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; every error and every signal becomes one message and an exit code.

    With `arguments`, the caller is a program that goes on, so it gets its handlers of signals back.
    """
    signals = StopSignals()
    try:
        try:
            signals.install()
            from nmtalign.cli.program import run_program  # a signal may come during this import

            code = run_program(arguments, signals)
            signals.ended = True
        except KeyboardInterrupt:
            code = _INTERRUPTED
            sys.stderr.write("nmtalign: error: interrupted\n")
        except Exception:
            if not signals.have_come:
                raise
            code = _INTERRUPTED  # an import that was interrupted may raise other errors
            sys.stderr.write("nmtalign: error: interrupted\n")
        if arguments is None:
            signals.ignore()
    finally:
        if arguments is not None:
            signals.restore()
    sys.exit(code)
