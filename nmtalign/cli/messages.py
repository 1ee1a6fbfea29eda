"""Messages on stderr: lines for people, or with ``--log-json`` one JSON object a line."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import click

from nmtalign.cli.declare import switch
from nmtalign.display import escape_controls
from nmtalign.files.compressed import fraction_read

MAX_MESSAGE_CHARS = 2_000
COLOR_OF_LEVEL = {"error": "red", "warning": "yellow"}
# A parameter as messages of the library name it, such as `encoder=NAME`.
_PARAMETER_IN_MESSAGE = re.compile(r"(?<!['\"])`([a-z_]+)(?:=([^`]+))?`")
# Options whose names differ from those of the parameters.
_OPTION_OF_PARAMETER = {"languages": "langs", "overwrite": "force", "select": "sides"}
# Switches of the command that runs: log_json, verbose, quiet, debug.
enabled_switches: set[str] = set()


def _switch(context: click.Context, parameter: click.Parameter, on: bool) -> None:
    """Switch a kind of messages on, by an option of its name."""
    enabled_switches.update({str(parameter.name)} if on else ())


def _message_option(names: str, help: str) -> click.Option:
    return switch(names, help, is_flag=True, callback=_switch)


quiet_option = _message_option("-q --quiet", "Print only warnings and errors to stderr.")
verbose_option = _message_option("-v --verbose", "Also print the settings with which the links were created.")
log_option = _message_option("--log-json", "Print messages to stderr as JSON, one object per line.")
debug_option = _message_option("--debug", "After an error, also print its traceback.")


def printable(text: str) -> str:
    """Return text as one short line without control characters, which a terminal would obey."""
    if len(text) > MAX_MESSAGE_CHARS:
        text = f"{text[: MAX_MESSAGE_CHARS // 2]} ... {text[-MAX_MESSAGE_CHARS // 4 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def as_options(text: str) -> str:
    """Return a message of the library with its parameters spelled as options of the command line.

    >>> as_options("cut the text with `tokenizer=simple`, or set `attention_heads`")
    'cut the text with --tokenizer simple, or set --attention-heads'
    """
    return _PARAMETER_IN_MESSAGE.sub(_as_option, text)


def _as_option(parameter: re.Match[str]) -> str:
    name, value = parameter.groups()
    option = "--" + _OPTION_OF_PARAMETER.get(name, name).replace("_", "-")
    return option if value in (None, "True") else f"{option} {value}".replace("'", "")


def detail(text: str, *, event: str) -> None:
    """Log a message that is shown only with ``--verbose`` or ``--log-json``."""
    if enabled_switches & {"verbose", "log_json"}:
        log(text, event=event)


def log(text: str, *, level: str = "info", event: str = "message", **values: Any) -> None:
    """Write one message to stderr; `event` and `values` are for programs that read the JSON."""
    if "quiet" in enabled_switches and level == "info":
        return
    text = "\nnmtalign: ".join(map(printable, as_options(text).split("\nnmtalign: ")))
    if "log_json" in enabled_switches:
        import json
        from datetime import UTC, datetime

        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        message = text.strip().replace("\nnmtalign: ", "; ")
        record = {"time": now, "level": level, "event": event, "message": message, **values}
        write(json.dumps(record, ensure_ascii=False))
    else:
        prefix = "" if level == "info" else click.style(f"{level}: ", fg=COLOR_OF_LEVEL[level], bold=True)
        write(f"{line_start()}nmtalign: {prefix}{text}")


def print_text(text: str = "") -> None:
    """Write lines of a list to standard output: as they are, or on a terminal without control characters."""
    click.echo(escape_controls(text) if sys.stdout.isatty() else text, color=True)


def write(text: str, *, nl: bool = True) -> None:
    """Write to stderr; if that is full, messages are lost, but not the work."""
    try:
        click.echo(text, nl=nl, err=True, color=in_color())
    except OSError:
        sys.stderr = io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8", write_through=True)


def in_color() -> bool:
    """Return whether stderr shows colors: a terminal does, unless ``NO_COLOR`` is set."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def warn(text: str) -> None:
    """Write a warning."""
    log(text, level="warning", event="warning")


def line_start() -> str:
    """Return what clears the progress line of a terminal; nothing elsewhere."""
    return "\r\x1b[K" if shows_progress() else ""


def shows_progress() -> bool:
    """Return whether stderr is a terminal that shows a progress line."""
    return sys.stderr.isatty() and not enabled_switches & {"log_json", "quiet"}


@contextmanager
def warnings_to_stderr() -> Iterator[None]:
    """Print each different warning of the block once, as one line on stderr."""
    seen: set[str] = set()

    def show(message: Warning | str, *where: object, **settings: object) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # pyparsing's are UserWarnings as well
        warnings.showwarning = show
        yield


Item = TypeVar("Item")

_TERMINAL_SECONDS = 0.2  # between two lines of progress on a terminal
_TICK = 0.5  # seconds between two drawings of a bar
_WIDTH = 24  # characters of the bar
_INTERVAL = 15.0  # and elsewhere
_LOOK = 1_000  # records between two looks at how far the files are read


class Progress:
    """Counts `unit` (a plural), and estimates from the sizes of the `inputs` how long the rest takes."""

    def __init__(self, unit: str, inputs: Sequence[str] = ()) -> None:
        self.unit, self.done = unit, 0
        self._inputs = inputs
        self._total: float | None = None  # records of the inputs, as far as it is known
        self._first = self._last = 0  # numbers of the records between which the time went by
        self._start = self._written = time.perf_counter()

    def __enter__(self) -> Self:
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
        times = {"seconds": round(self.seconds, 3), f"{self.unit}_per_s": round(self.rate, 1)}
        return {self.unit: self.done, **times, "seconds_left": None if left is None else round(left, 1)}

    def track(self, records: Iterable[Item]) -> Iterator[Item]:
        """Yield records of the inputs, and estimate from the files how many there are."""
        number = 0
        for number, record in enumerate(records, 1):
            yield record
            if number % _LOOK == 0 and (share := fraction_read(self._inputs)):
                self._total = number / share
        self._total = number

    def stage(self, line: str) -> None:
        """Write what was done, with the time since the start."""
        log(f"{self.seconds:7.1f} s  {line}", event="stage", seconds=round(self.seconds, 3))

    def done_one_by_one(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and count each as done when the next one is asked for."""
        for item in items:
            yield item
            self.advance(1)

    def count(self, records: Iterable[Item], then: Callable[[], None] = lambda: None) -> Iterator[Item]:
        """Yield and count records of the inputs; call `then` at their end."""
        yield from self.done_one_by_one(self.track(records))
        then()
        log(f"{self.done:,} {self.unit} read", event="read", **self.values)

    def advance(self, count: int, *, last: int | None = None) -> None:
        """Add `count`; `last` is the number of the last one, where some are skipped."""
        self.done += count
        last = self._last + count if last is None else last
        self._first = self._first if self._last else last - count
        self._last = last
        now = time.perf_counter()
        if now - self._written > (_TERMINAL_SECONDS if shows_progress() else _INTERVAL):
            self._written = now
            if shows_progress():
                self._draw()
            else:
                log(self._text, event="progress", **self.values)

    @property
    def _text(self) -> str:
        left = self.seconds_left
        text = f"{self.done:,} {self.unit}, {self.rate:,.0f} a second"
        return text if left is None else f"{text}, {_duration(left)} left"

    def _draw(self) -> None:
        write(f"{line_start()}{self._text}", nl=False)


class Stages(Progress):
    """Progress through stages: the first counts records; `costs` are the relative times of all stages.

    The bar is drawn anew by a timer: beside a thread, work could not be forked.
    """

    def __init__(self, unit: str, inputs: Sequence[str], costs: Sequence[float]) -> None:
        super().__init__(unit, inputs)
        self._costs, self._stage, self._since = list(costs), 0, self._start
        self._before: Any = None  # what the timer called before, while the bar is shown

    def __enter__(self) -> Self:
        if shows_progress() and hasattr(signal, "setitimer"):
            self._before = signal.signal(signal.SIGALRM, lambda *_: self._draw())
            signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
            self._draw()
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._before = None
        super().__exit__(*error)

    def stage(self, line: str) -> None:
        super().stage(line)
        if not line.startswith(("rescorer", "expert")):  # the model ends its stage
            self.next_stage()

    def next_stage(self) -> None:
        """Go on to the next stage, if there is one."""
        self._stage = min(self._stage + 1, len(self._costs) - 1)
        self._since = time.perf_counter()
        if self._before is not None:
            self._draw()

    @property
    def share(self) -> float | None:
        """The share of all work that is done, about; None while that is unknown."""
        done, cost = sum(self._costs[: self._stage]), self._costs[self._stage]
        if self._stage:
            expected = (self._since - self._start) / done * cost
            part = min((time.perf_counter() - self._since) / max(expected, 1e-9), 0.95)
        elif self._total:
            part = self._last / self._total
        else:
            return None
        return (done + part * cost) / sum(self._costs)

    @property
    def seconds_left(self) -> float | None:
        """Time until all stages are done, if that is known."""
        share = self.share
        return self.seconds * (1 - share) / share if share else None

    def _draw(self) -> None:
        """Draw the bar, past Python's buffer: a timer may interrupt another message."""
        share, left = self.share, self.seconds_left
        bar = "━" * round((share or 0) * _WIDTH)
        rest = "─" * (_WIDTH - len(bar))
        text = f"{bar}{rest}" if not in_color() else click.style(bar, fg="cyan") + rest
        text += f" {100 * (share or 0):3.0f} %" + ("" if left is None else f", {_duration(left)} left")
        read = f", {self.done:,} {self.unit} read" if self._stage == 0 else ""
        os.write(sys.stderr.fileno(), f"{line_start()}{text}{read}".encode())


def _duration(seconds: float) -> str:
    """Write a time in the units that matter.

    >>> _duration(42.3), _duration(600), _duration(4000), _duration(400_000)
    ('42 s', '10 min', '1 h 7 min', '111 h 7 min')
    """
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
