"""Progress of a run: one reporter, for Python and for the command line.

A function that takes long counts its work on a :class:`ProgressReporter`, which estimates how much is left
and informs its display. The displays of Python are here; those of the command line are in
``cli/progress_display.py``.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar, cast

from nmtalign.display import short_repr
from nmtalign.errors import UsageError
from nmtalign.files.compressed import fraction_read

UPDATE_SECONDS = 0.2  # time between two updates of a display that a person watches
RECORDS_PER_ESTIMATE = 1_000  # the records between two estimates of the number of all records
MAX_STEP_SHARE = 0.95  # a step that takes longer than expected seems nearly done until it ends

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
        The line of text that ``progress=True`` shows.

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


class ProgressDisplay(Protocol):
    """Shows the progress of a run, which a reporter counts, on a terminal, in a notebook or by a callback."""

    seconds_between_updates: float

    def open(self, reporter: ProgressReporter) -> None:
        """Begin to show a run."""

    def update(self, reporter: ProgressReporter) -> None:
        """Show how many records are done."""

    def write(self, reporter: ProgressReporter, message: str, *, event: str) -> None:
        """Show what has been done: the end of the reading (``read``) or of a step (``stage``)."""

    def finish(self, reporter: ProgressReporter, message: str) -> None:
        """Show that all is done."""

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
        self._display = _NoDisplay() if display is None else display
        self._inputs = inputs
        self._stage = stage
        self._total: float | None = None  # records of the inputs, as far as it is known
        self._first = self._last = 0  # first and last record on which the estimate of the time left is based
        self._costs = list(costs)
        self._total_steps: int | None = len(self._costs) - 1 if costs else None
        self._current_cost = 0  # number of the stage that runs, among `costs`
        self._start = self._updated = self._stage_start = time.perf_counter()

    def __enter__(self) -> Self:
        self._display.open(self)
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
    def is_counting(self) -> bool:
        """Whether records are still counted, and no step has begun."""
        return self._current_cost == 0

    @property
    def share(self) -> float | None:
        """The estimated share of all work that is done; None while that is unknown."""
        if self._current_cost:
            return self._share_with_steps(self._share_of_step())
        if not self._total:
            return None
        counted = min(self._last / self._total, 1.0)
        return self._share_with_steps(counted) if self._costs else counted

    def _share_of_step(self) -> float:
        """Return the share of the current step that is done, from the time that earlier stages took."""
        earlier_cost = sum(self._costs[: self._current_cost])
        seconds_per_cost = (self._stage_start - self._start) / earlier_cost
        expected = seconds_per_cost * self._costs[self._current_cost]
        passed = time.perf_counter() - self._stage_start
        return min(passed / max(expected, 1e-9), MAX_STEP_SHARE)

    def _share_with_steps(self, share_of_stage: float) -> float:
        earlier_cost = sum(self._costs[: self._current_cost])
        current_cost = self._costs[self._current_cost]
        return (earlier_cost + share_of_stage * current_cost) / sum(self._costs)

    @property
    def seconds_left(self) -> float | None:
        """Estimated time until all is done; None while that is unknown."""
        if self._costs:
            share = self.share
            return self.seconds * (1 - share) / share if share else None
        passed = self._last - self._first
        if self._total is None or not passed:
            return None
        return max(self._total - self._last, 0) * self.seconds / passed

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

    def state(self, message: str) -> Progress:
        """Return the state that a callback receives."""
        if self.steps_done:
            return Progress("learning", self.steps_done, self._total_steps, message)
        total = None if self._total is None else round(self._total)
        return Progress(self._stage, self.done, total, message)

    def final_state(self, message: str) -> Progress:
        """Return the state that a callback receives in the last call: all is done."""
        state = self.state(message)
        if self.steps_done:
            return replace(state, total=state.done)
        done = state.done if state.total is None else state.total  # pairs with an empty side are not counted
        return replace(state, done=done, total=done)

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
                self._total = number / fraction
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
        self._display.write(self, f"{self.done:,} {self.unit} read", event="read")

    def advance(self, count: int, *, last: int | None = None) -> None:
        """Count `count` records as done; `last` is the number of the last one, where some are skipped."""
        self.done += count
        last = self._last + count if last is None else last
        self._first = self._first if self._last else last - count
        self._last = last
        now = time.perf_counter()
        if now - self._updated > self._display.seconds_between_updates:
            self._updated = now
            self._display.update(self)

    def step(self, message: str, total: int | None = None) -> None:
        """Report the end of a step; `total` is the maximum number of steps, if no costs are known."""
        self.steps_done += 1
        self._total_steps = self._total_steps if total is None else total
        self._begin_next_stage()
        self._display.write(self, message, event="stage")

    def note(self, message: str) -> None:
        """Report what has been done within a step."""
        self._display.write(self, message, event="stage")

    def finish(self, message: str) -> None:
        """Report that all is done, the last step of a run with costs as well."""
        if self._costs:
            self.steps_done += 1
        self._display.finish(self, message)

    def _begin_next_stage(self) -> None:
        if self._costs:
            self._current_cost = min(self._current_cost + 1, len(self._costs) - 1)
        self._stage_start = time.perf_counter()


def format_duration(seconds: float) -> str:
    """Return a time in the units that matter.

    >>> format_duration(42.3), format_duration(600), format_duration(4000), format_duration(400_000)
    ('42 s', '10 min', '1 h 7 min', '111 h 7 min')
    """
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# ---------------------------------------------------------------- displays of Python

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
        if not progress:
            return _NoDisplay()
        return _open_notebook_bar() or _OverwrittenLine()
    if not callable(progress):
        raise UsageError(f"expected True, False or a function as `progress`, found {short_repr(progress)}")
    return _CallbackDisplay(progress)


class _NoDisplay:
    """Shows nothing; the base of the displays of Python, which need not be opened or closed."""

    seconds_between_updates = UPDATE_SECONDS

    def open(self, reporter: ProgressReporter) -> None:
        pass

    def update(self, reporter: ProgressReporter) -> None:
        pass

    def write(self, reporter: ProgressReporter, message: str, *, event: str) -> None:
        pass

    def finish(self, reporter: ProgressReporter, message: str) -> None:
        pass

    def close(self) -> None:
        pass


class _CallbackDisplay(_NoDisplay):
    """Calls a function with a :class:`Progress`."""

    def __init__(self, function: Callable[[Progress], object]) -> None:
        self._function = function

    def update(self, reporter: ProgressReporter) -> None:
        self._function(reporter.state(reporter.text))

    def write(self, reporter: ProgressReporter, message: str, *, event: str) -> None:
        self._function(reporter.state(message))

    def finish(self, reporter: ProgressReporter, message: str) -> None:
        self._function(reporter.final_state(message))


class _OverwrittenLine(_NoDisplay):
    """Writes a line to stderr over the line before; the last line stays."""

    def __init__(self) -> None:
        self._width = 0
        self._written = -UPDATE_SECONDS

    def update(self, reporter: ProgressReporter) -> None:
        self._overwrite(reporter.text)

    def write(self, reporter: ProgressReporter, message: str, *, event: str) -> None:
        if reporter.seconds - self._written >= UPDATE_SECONDS:
            self._written = reporter.seconds
            self._overwrite(message)

    def finish(self, reporter: ProgressReporter, message: str) -> None:
        self._overwrite(f"{message}, {reporter.seconds:.1f} s", end="\n")

    def _overwrite(self, text: str, *, end: str = "") -> None:
        sys.stderr.write(f"\r{text.ljust(self._width)}{end}")
        sys.stderr.flush()
        self._width = len(text)


class _NotebookBar(_NoDisplay):
    """Shows a bar of the package ipywidgets, with the line of text beside it."""

    def __init__(self, widgets: Any) -> None:
        self._bar = widgets.FloatProgress(value=0.0, min=0.0, max=1.0)
        self._label = widgets.Label()
        importlib.import_module("IPython.display").display(widgets.HBox([self._bar, self._label]))

    def update(self, reporter: ProgressReporter) -> None:
        self._show(reporter, reporter.text)

    def write(self, reporter: ProgressReporter, message: str, *, event: str) -> None:
        self._show(reporter, message)

    def finish(self, reporter: ProgressReporter, message: str) -> None:
        self._bar.value = 1.0
        self._bar.bar_style = "success"
        self._label.value = f"{message}, {reporter.seconds:.1f} s"

    def _show(self, reporter: ProgressReporter, text: str) -> None:
        state = reporter.state(text)
        share = reporter.share
        if share is None:
            share = state.done / state.total if state.total else 0.0
        self._bar.value = min(share, 1.0)
        self._label.value = text


def _open_notebook_bar() -> ProgressDisplay | None:
    """Return a bar; None outside of a notebook, or without the package ipywidgets."""
    ipython = cast(Any, sys.modules.get("IPython"))  # whoever runs in a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    try:
        widgets = importlib.import_module("ipywidgets")
    except ImportError:
        return None
    return _NotebookBar(widgets)
