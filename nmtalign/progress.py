"""Progress of a long run, on standard error."""

from __future__ import annotations

import sys
import time

_PAUSE = 0.2  # seconds between two writings of progress


class ProgressLine:
    """A line on stderr that is rewritten, if it is wanted; of `total` pairs is known how many are done."""

    def __init__(self, wanted: bool, total: int = 0) -> None:
        self._wanted, self._total, self._done = wanted, total, 0
        self._start, self._written, self._width = time.perf_counter(), -1.0, 0

    def advance(self, count: int) -> None:
        """Show that so many pairs more are done."""
        self._done += count
        self.show(f"{self._done:,} of {self._total:,} pairs, {self._done / self._total:.0%}")

    def show(self, text: str, *, last: bool = False) -> None:
        """Write a text in the place of the one before, a few times a second; the last one stays."""
        now = time.perf_counter() - self._start
        if not self._wanted or (now - self._written < _PAUSE and not last):
            return
        text = f"{text}, {now:.1f} s" if last else text
        sys.stderr.write("\r" + text.ljust(self._width) + ("\n" if last else ""))
        sys.stderr.flush()
        self._written, self._width = now, len(text)
