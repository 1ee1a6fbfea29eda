"""Progress of a run: one reporter, for Python and for the command line.

A function that takes long counts its work on a :class:`ProgressReporter`, which estimates how much is left
and informs its display. The displays of Python are here; those of the command line are in
``cli/messages.py``.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from nmtalign.display import short_repr, with_plural
from nmtalign.errors import UsageError
from nmtalign.files.compressed import fraction_read

UPDATE_SECONDS = 0.2  # time between two updates of a display that a person watches
RECORDS_PER_ESTIMATE = 1_000  # the records between two estimates of the number of all records
DEFAULT_COLUMNS = 80  # of a terminal that says it has none, as in a container

Counted = TypeVar("Counted")


@dataclass(frozen=True)
class Progress:
    """Progress of a call; passed to the function that was given as `progress`.

    The function is called at most five times per second while pairs are counted, after each step of learning,
    and at the end. An error that it raises ends the call.

    Parameters
    ----------
    stage : {"reading", "learning", "aligning", "linking"}
        What is being done.
    done : int
        How many pairs are done; how many steps, if the stage is ``learning``.
    total : int, optional
        How many pairs or steps there are in all; None while that is unknown. Learning may end earlier.
        In the last call, `done` and `total` are equal.
    message : str
        What is done, in one line.

    Examples
    --------
    >>> import nmtalign as na
    >>> calls = []
    >>> batch = na.load().align_batch([("the cat", "le chat")] * 3, progress=calls.append)
    >>> calls[-1]
    Progress(stage='aligning', done=3, total=3, message='3 pairs aligned')
    """

    stage: str
    done: int
    total: int | None
    message: str


class ProgressDisplay:
    """Shows the progress of a run that a reporter counts; this one shows nothing."""

    seconds_between_updates = UPDATE_SECONDS

    def show(self, reporter: ProgressReporter, message: str, event: str) -> None:
        """Show a message.

        `event` says what has happened: records were counted (``progress``), all have been read (``read``), a
        step or a part of it has ended (``stage``), or all is done (``end``).
        """

    def close(self) -> None:
        """Leave the place where the run was shown, after an error as well."""


class ProgressReporter:
    """Counts what a run has done, estimates the time left, and informs a display.

    A run counts records in `unit`, a plural. Their number is announced by :meth:`expect`, or is estimated
    from the fraction of the files `inputs` that has been read. If `costs` are passed, the run has further
    stages, its steps: `costs` are the relative times of the counting and of each step.
    """

    def __init__(
        self,
        display: ProgressDisplay | None = None,
        unit: str = "pairs",
        inputs: Sequence[str] = (),
        *,
        stage: str = "reading",
        costs: Sequence[float] = (),
    ) -> None:
        self.unit = unit
        self.done = 0
        self.steps_done = 0
        self._display = ProgressDisplay() if display is None else display
        self._inputs = inputs
        self._stage = stage
        self._total: int | None = None  # records of the inputs, as far as it is known
        # records done when the run began, because it resumes another one or is a part of it, and done so far
        self.first = self._last = 0
        self.costs = list(costs)  # without any, the work is measured by the number of records
        self._total_steps: int | None = len(self.costs) - 1 if costs else None
        self._current_cost = 0  # number of the stage that runs, among `costs`
        self._start = self._updated = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._display.close()

    # ------------------------------------------------------------ what is known of the run

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._start

    @property
    def rate(self) -> float:
        """Records done per second."""
        return self.done / max(self.seconds, 1e-9)

    @property
    def work(self) -> tuple[float, float | None]:
        """How much is done, and of how much: costs, steps or records; None if that is unknown."""
        if self.costs:
            done = sum(self.costs[: self._current_cost])
            if self._current_cost == 0 and self._total:
                done = self.costs[0] * min(self._last / self._total, 1.0)
            return done, sum(self.costs)
        if self.steps_done:
            return self.steps_done, self._total_steps
        return self._last, self._total

    @property
    def seconds_left(self) -> float | None:
        """Estimated time until all is done; None while that is unknown."""
        done, total = self.work
        passed = done - self.first
        if total is None or not passed:
            return None
        return max(total - done, 0) * self.seconds / passed

    @property
    def text(self) -> str:
        """The number of finished records and the remaining time, in one line."""
        left = self.seconds_left
        text = f"{self.done:,} {self.unit}, {self.rate:,.0f} per second"
        return text if left is None else f"{text}, {format_duration(left)} left"

    @property
    def values(self) -> dict[str, Any]:
        """The counts and times, for programs."""
        left = self.seconds_left
        times = {"seconds": round(self.seconds, 3), f"{self.unit}_per_s": round(self.rate, 1)}
        return {self.unit: self.done, **times, "seconds_left": None if left is None else round(left, 1)}

    def state(self, message: str, *, is_last: bool) -> Progress:
        """Return the state that a callback receives; in the last call, all is done."""
        if self.steps_done:
            done = self.steps_done
            return Progress("learning", done, done if is_last else self._total_steps, message)
        done, total = self.done, self._total
        if is_last:
            done = total = done if total is None else total  # pairs with an empty side are not counted
        return Progress(self._stage, done, total, message)

    # ------------------------------------------------------------ what the run reports

    def expect(self, total: int) -> None:
        """Announce how many records there are."""
        self._total = total

    def track(self, records: Iterable[Counted]) -> Iterator[Counted]:
        """Yield records of the inputs, and estimate from the files how many there are."""
        number = 0
        for number, record in enumerate(records, 1):
            yield record
            if number % RECORDS_PER_ESTIMATE == 0 and (fraction := fraction_read(self._inputs)):
                self._total = round(number / fraction)
        self._total = number

    def done_one_by_one(self, items: Iterable[Counted]) -> Iterator[Counted]:
        """Yield items, and count each as done when the next one is asked for."""
        for item in items:
            yield item
            self.advance(1)

    def count(self, records: Iterable[Counted]) -> Iterator[Counted]:
        """Yield and count records of the inputs; at their end, the first step begins."""
        yield from self.done_one_by_one(self.track(records))
        self._begin_next_stage()
        self._display.show(self, f"{with_plural(self.done, self.unit.removesuffix('s'))} read", "read")

    def advance(self, count: int, *, last: int | None = None) -> None:
        """Count `count` records as done; `last` is the number of the last one, where some are skipped."""
        self.done += count
        last = self._last + count if last is None else last
        self.first = self.first if self._last else last - count
        self._last = last
        now = time.perf_counter()
        if now - self._updated > self._display.seconds_between_updates:
            self._updated = now
            self._display.show(self, self.text, "progress")

    def step(self, message: str, total: int | None = None) -> None:
        """Report the end of a step; `total` is the maximum number of steps, if no costs are known."""
        self.steps_done += 1
        self._total_steps = self._total_steps if total is None else total
        self._begin_next_stage()
        self._display.show(self, message, "stage")

    def note(self, message: str) -> None:
        """Report what has been done within a step."""
        self._display.show(self, message, "stage")

    def finish(self, message: str) -> None:
        """Report that all is done, the last step of a run with costs as well."""
        if self.costs:
            self.steps_done += 1
        self._display.show(self, message, "end")

    def _begin_next_stage(self) -> None:
        if self.costs:
            self._current_cost = min(self._current_cost + 1, len(self.costs) - 1)


def format_duration(seconds: float) -> str:
    """Return a time in the units that matter.

    >>> format_duration(42.3), format_duration(600), format_duration(4000), format_duration(400_000)
    ('42 s', '10 min', '1 h 7 min', '111 h 7 min')
    """
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# --- displays of Python --------------------------------------------------------------------------

# False, True, or a function that is called; the command line passes its reporter
ProgressInput = bool | Callable[[Progress], object] | ProgressReporter


def open_reporter(progress: ProgressInput, *, stage: str, costs: Sequence[float] = ()) -> ProgressReporter:
    """Return the reporter for the parameter `progress` of a public function.

    Raises UsageError if the parameter is neither a bool nor a function; text such as ``"no"`` would count as
    True.
    """
    if isinstance(progress, ProgressReporter):
        return progress
    return ProgressReporter(_display_for(progress), stage=stage, costs=costs)


def _display_for(progress: bool | Callable[[Progress], object]) -> ProgressDisplay:
    if type(progress).__name__ in ("bool", "bool_"):  # Python's or NumPy's
        return ProgressBar() if progress else ProgressDisplay()
    if not callable(progress):
        raise UsageError(f"expected True, False or a function as `progress`, found {short_repr(progress)}")
    return _CallbackDisplay(progress)


class _CallbackDisplay(ProgressDisplay):
    """Calls a function with a :class:`Progress`."""

    def __init__(self, function: Callable[[Progress], object]) -> None:
        self._function = function

    def show(self, reporter: ProgressReporter, message: str, event: str) -> None:
        self._function(reporter.state(message, is_last=event == "end"))


class ProgressBar(ProgressDisplay):
    """Shows a bar of tqdm on stderr, or in a notebook that has ipywidgets."""

    def __init__(self, *, keep: bool = True, color: str | None = None) -> None:
        self._settings = {"leave": keep, "colour": color}
        self._bar: Any = None

    def show(self, reporter: ProgressReporter, message: str, event: str) -> None:
        bar = self._bar = self._bar or self._open(reporter)
        done, total = reporter.work
        bar.n, bar.total = done, total
        if event == "end":  # pairs with an empty side are not counted
            bar.n = bar.total = total or done
        if event != "progress":  # the bar shows counts and times itself
            bar.set_postfix_str(message, refresh=False)
        bar.refresh()
        if event == "end":
            self.close()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None

    def _open(self, reporter: ProgressReporter) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of notebooks with, and of those without ipywidgets
            from tqdm.autonotebook import tqdm
        # Nothing can be forked beside the thread that tqdm starts to watch its bars
        kind = type("Bar", (tqdm,), {"monitor_interval": 0})
        if reporter.costs:
            self._settings["bar_format"] = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        bar = kind(
            total=reporter.work[1],
            initial=reporter.first,
            unit=f" {reporter.unit}",
            delay=1e-9,  # shows nothing before the first refresh
            **_terminal_size(),
            **self._settings,
        )
        bar.start_t = time.time() - reporter.seconds
        return bar


def _terminal_size() -> dict[str, Any]:
    """Return the settings of the size of a terminal, if it does not know its own."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # no terminal
        columns = DEFAULT_COLUMNS
    return {"dynamic_ncols": True} if columns else {"ncols": DEFAULT_COLUMNS, "nrows": 2}
