"""Progress on stderr: one line that is rewritten on a terminal, a line every 15 seconds elsewhere.

click's bar shows nothing but on a terminal, needs the length before, and has no form for ``--log-json``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from nmtalign.cli.messages import line_start, log, shows_progress, write

Record = TypeVar("Record")

_PAUSE = 0.2  # seconds between two writings on a terminal
_INTERVAL = 15.0  # and elsewhere
_LOOK = 1_000  # records between two looks at how far the files are read


class Progress:
    """Counts `unit` (a plural), and estimates from the sizes of the `inputs` how long the rest takes.

    As a context manager it clears its line at the end. With `quiet` it writes nothing.
    """

    def __init__(self, unit: str, inputs: Sequence[str] = (), *, quiet: bool = False) -> None:
        self.unit = unit
        self._quiet = quiet
        self.done = 0
        self._inputs = inputs
        self._total: float | None = None  # records of the inputs, as far as it is known
        self._first = self._last = 0  # numbers of the records between which the time went by
        self._start = time.perf_counter()
        self._written = self._start

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        write(line_start(), nl=False)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._start

    @property
    def rate(self) -> float:
        """Things done per second."""
        return self.done / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Time until the inputs are read and done, if their size is known."""
        passed = self._last - self._first
        if self._total is None or not passed:
            return None
        return max(self._total - self._last, 0) * self.seconds / passed

    @property
    def values(self) -> dict[str, Any]:
        """The counts and times, for programs."""
        left = self.seconds_left
        return {
            self.unit: self.done,
            "seconds": round(self.seconds, 3),
            f"{self.unit}_per_s": round(self.rate, 1),
            "seconds_left": None if left is None else round(left, 1),
        }

    def reading(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield records of the inputs, and estimate from the files how many there are."""
        from nmtalign.files import share_read

        number = 0
        for number, record in enumerate(records, 1):
            yield record
            if number % _LOOK == 0 and (share := share_read(self._inputs)):
                self._total = number / share
        self._total = number

    def counted(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield and count records of the inputs."""
        number = 0
        for number, record in enumerate(self.reading(records), 1):
            yield record
            if number % _LOOK == 0:
                self.advance(_LOOK)
        self.advance(number % _LOOK)
        if not self._quiet:
            log(f"{number:,} {self.unit} read", event="read", **self.values)

    def advance(self, count: int, *, last: int | None = None) -> None:
        """Add `count`; `last` is the number of the last one, where some are skipped."""
        self.done += count
        if last is None:
            last = self._last + count
        if not self._last:
            self._first = last - count
        self._last = last
        now = time.perf_counter()
        if not self._quiet and now - self._written > (_PAUSE if shows_progress() else _INTERVAL):
            self._written = now
            left = self.seconds_left
            text = f"{self.done:,} {self.unit}, {self.rate:,.0f} a second"
            text += "" if left is None else f", {_duration(left)} left"
            if shows_progress():
                write(f"{line_start()}{text}", nl=False)
            else:
                log(text, event="progress", **self.values)


def _duration(seconds: float) -> str:
    """Write a time in the units that matter.

    Examples
    --------
    >>> _duration(42.3), _duration(600), _duration(4000), _duration(400_000)
    ('42 s', '10 min', '1 h 7 min', '111 h 7 min')
    """
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
