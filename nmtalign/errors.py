"""The errors that nmtalign raises on purpose, and the exit codes they become.

NmtalignError            1   the program failed
├── WorkerError          1   a worker process died, or a cluster was lost
├── UsageError           2   the call makes no sense, whatever the data
├── DataError            3   the data is bad; the message says where, what was expected, what was found
└── StoppedError         4   stopped part-way; finished work is kept and the run can be resumed

Inner code raises a short sentence. The outermost function that knows the file and the line adds them
with :meth:`DataError.at`.
"""

from __future__ import annotations

import errno
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

TOO_MANY_OPEN_FILES = (errno.EMFILE, errno.ENFILE)  # the limit of the process, or of the machine
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, a quota, or the file size limit
# Errors that may be gone when the same command is run again. A missing file or permission stays missing.
TRANSIENT_ERRNOS = (
    *TOO_MANY_OPEN_FILES,
    *DISK_FULL_ERRNOS,
    errno.EAGAIN,
    errno.EIO,
    errno.ENOMEM,
    errno.ESTALE,
    errno.ETIMEDOUT,
)
_LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def error_text(error: BaseException) -> str:
    """Return the text of an error for a message; an error without a text shows its class.

    Examples
    --------
    >>> error_text(OSError(28, "No space left on device", "links.txt")), error_text(TimeoutError())
    ('links.txt: No space left on device', 'TimeoutError')
    """
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        text = f"{place}{error.strerror}"
    return text.strip() or type(error).__name__


def class_and_error_text(error: BaseException) -> str:
    """Return the class of an unexpected error, followed by its text if it has one."""
    kind = type(error).__name__
    return f"{kind}: {error}" if str(error).strip() else kind


class NmtalignWarning(UserWarning):
    """Base class of every warning of this package: ``warnings.simplefilter("ignore", NmtalignWarning)``.

    Examples
    --------
    >>> import nmtalign as na
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", na.NmtalignWarning)
    ...     na.load().align("abc def ghi", "jkl mno pqr")
    no links
    """


class AdviceWarning(NmtalignWarning):
    """Advice on a call that works but could be improved; each piece of advice is shown once."""


_given_advice: set[str] = set()


# frames of these modules may lie between two of the package: those of decorators
_MODULES_OF_DECORATORS = ("contextlib", "functools")


def warn_caller(text: str, category: type[NmtalignWarning] = NmtalignWarning) -> None:
    """Issue a warning that names the line outside of the package from which the package was called."""
    frame = inspect.currentframe()
    frames_inside = 0
    while frame is not None and _is_frame_of_package(frame):
        frames_inside += 1
        frame = frame.f_back
    warnings.warn(text, category, stacklevel=frames_inside + 1)


def _is_frame_of_package(frame: FrameType) -> bool:
    """Return whether a frame is one of the package, or of a decorator of its functions."""
    module = str(frame.f_globals.get("__name__"))
    return module.partition(".")[0] == "nmtalign" or module in _MODULES_OF_DECORATORS


def advise(text: str, *, topic: str) -> None:
    """Issue an AdviceWarning, unless one on this topic was already issued."""
    if topic not in _given_advice:
        _given_advice.add(topic)
        warn_caller(text, AdviceWarning)


class NmtalignError(Exception):
    """Base class of every error raised on purpose."""

    exit_code = 1


def _escape_line_breaks(text: str) -> str:
    return _LINE_BREAK.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class _OneLineError(NmtalignError, ValueError):
    """An error whose message is one line, whatever the values that it shows contain."""

    def __init__(self, text: str = "") -> None:
        super().__init__(_escape_line_breaks(text))


class WorkerError(NmtalignError):
    """A worker process died, or the cluster of workers is lost."""


class UsageError(_OneLineError):
    """Wrong usage: an argument, a combination of options, or an output that would be overwritten.

    The message says what to change.
    """

    exit_code = 2


class DataError(_OneLineError):
    """Bad data. The message names the place, what was expected, what was found, and what to do.

    Examples
    --------
    >>> raise DataError("expected a link like 0-1, found '0:1'").at("links.txt", line=3)
    Traceback (most recent call last):
    nmtalign.errors.DataError: links.txt, line 3: expected a link like 0-1, found '0:1'
    """

    exit_code = 3

    def at(self, path: str | os.PathLike[str], *, line: int | None = None) -> DataError:
        """Return the same error, preceded by its place unless it already has one; lines count from 1."""
        name = _escape_line_breaks(os.fspath(path))
        if str(self).startswith((f"{name}: ", f"{name}, ", f"{name}{os.sep}")):
            return self
        place = name if line is None else f"{name}, line {line}"
        return type(self)(f"{place}: {self}")


class StoppedError(NmtalignError):
    """Stopped part-way; the part that is done is kept and can be resumed."""

    exit_code = 4


OnError = Callable[[DataError], object]  # is called with the error of a record, instead of raising it
OnBadPair = Callable[[int, DataError], object]  # is called with the number of a pair, from 1, and its error


@contextmanager
def require_extra(name: str, need: str, advice: str = "") -> Iterator[None]:
    """Raise UsageError if an import in the block fails; it names the extra of nmtalign to install.

    `need` is the beginning of the message, such as "a Parquet file needs the package pyarrow".
    """
    try:
        yield
    except ImportError:
        raise UsageError(f"{need}: pip install 'nmtalign[{name}]'{advice}") from None


# --- bad records ---------------------------------------------------------------------------------

Record = TypeVar("Record")


class BadRecords:
    """Records that cannot be read, and pairs with words that an output cannot contain.

    The first error is raised; with `report`, this function is called with the number of the record, counted
    from 1, and the message. `advice` ends the raised error of a word that an output cannot contain.
    """

    def __init__(self, report: Callable[[int, str], object] | None = None, advice: str = "") -> None:
        # the bad records of each file that was tracked, counted from 0
        self.of_files: list[set[int]] = []
        self.numbers: set[int] = set()  # of the bad records, from 1
        self._report_error = report
        self._advice = "" if report is not None else advice
        self._done = 0  # how many records are done
        self._last = 0  # the number of the last bad record

    @property
    def count(self) -> int:
        """The number of bad records; a pair with several bad lines counts once."""
        return len(self.numbers)

    @property
    def are_marked(self) -> bool:
        """Whether bad records become empty ones."""
        return self._report_error is not None

    @property
    def has_current(self) -> bool:
        """Whether the record that is being read is bad."""
        return self._last == self._done + 1

    def add(self, error: DataError) -> None:
        """Raise the error of the record that is being read, or report it."""
        self._last = self._done + 1
        self._report(self._last, error)

    def add_to(self, number: int, error: DataError) -> None:
        """Raise or report the error of a pair, from 1; one is enough for a pair that becomes empty."""
        if number not in self.numbers:
            self._report(number, error)

    def _report(self, number: int, error: DataError) -> None:
        if self._report_error is None:
            raise error
        self.numbers.add(number)
        self._report_error(number, str(error))

    def add_cut(self, problem: str, path: str, line: int | None = None) -> None:
        """Add the problem that :func:`nmtalign.files.text_files.find_split_word` found in a record."""
        self.add(DataError(f"{problem}{self._advice}").at(path, line=line))

    def track(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records of a file and count them, to know the number of a bad one."""
        self._done = self._last = 0
        bad_records: set[int] = set()
        self.of_files.append(bad_records)
        for record in records:
            if self.has_current:
                bad_records.add(self._done)
            yield record
            self._done += 1
