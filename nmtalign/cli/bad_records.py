"""Bad records: records that cannot be read, and pairs with words that an output cannot contain.

``--on-error`` decides what happens to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from nmtalign.cli.messages import as_options, log, options_of_command, printable
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import DataError, OnError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.progress import Counted
from nmtalign.text.bitext import SentencePair

if TYPE_CHECKING:
    from nmtalign.cli.texts import BitextOptions


class BadRecords:
    """Raises the first error of a record, or with `report` reports each error.

    `report` is called with the number of the record, counted from 1, and the message.
    """

    def __init__(self, report: Callable[[int, str], object] | None = None) -> None:
        # the bad records of each file that was tracked, counted from 0
        self.of_files: list[set[int]] = []
        self._bad_numbers: set[int] = set()
        self._report_error = report
        self._done = 0  # how many records are done
        self._last = 0  # the number of the last bad record

    @property
    def count(self) -> int:
        """The number of bad records; a pair with several bad lines counts once."""
        return len(self._bad_numbers)

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
        if number not in self._bad_numbers:
            self._report(number, error)

    def _report(self, number: int, error: DataError) -> None:
        if self._report_error is None:
            raise error
        self._bad_numbers.add(number)
        self._report_error(number, str(error))

    def add_cut(self, problem: str, path: str, line: int | None = None) -> None:
        """Add the problem that :func:`nmtalign.files.text_files.find_split_word` found in a record."""
        advice = "" if self.are_marked else ", or skip the pair with `on_error=skip-marked`"
        self.add(DataError(f"{problem}{advice}").at(path, line=line))

    def track(self, records: Iterable[Counted]) -> Iterator[Counted]:
        """Yield the records of a file and count them, to know the number of a bad one."""
        self._done = self._last = 0
        bad_records: set[int] = set()
        self.of_files.append(bad_records)
        for record in records:
            if self.has_current:
                bad_records.add(self._done)
            yield record
            self._done += 1


@dataclass(frozen=True, kw_only=True)
class ErrorOptions(Settings):
    """The treatment of bad records."""

    section = "Input"

    on_error: Literal["stop", "skip-marked"] = setting(
        "stop",
        "--on-error",
        "Stop at a bad record, or print a warning and skip it: a line that would be written for it is empty.",
    )

    def open(self, files: AtomicFiles) -> BadRecords:
        """Return what happens to bad records."""
        return BadRecords() if self.on_error == "stop" else BadRecords(_warn_of_record)

    def say(self, bad: BadRecords) -> None:
        """Log how many records were bad."""
        if bad.are_marked:
            log(with_plural(bad.count, "bad record"), event="bad records", records=bad.count)


def _warn_of_record(number: int, message: str) -> None:
    """Warn of a bad record."""
    log(f"bad record {number:,}: {message}", level="warning", event="bad record", record=number)


@dataclass(frozen=True, kw_only=True)
class ListedErrorOptions(ErrorOptions):
    """The treatment of bad records, of which there may be so many that a file lists them."""

    on_error: Literal["stop", "skip-marked"] = setting(
        "stop",
        "--on-error",
        "Stop at a bad record, or skip it (a line written for it is empty) and list it in --error-report.",
    )
    error_report: str | None = setting(
        None,
        "--error-report FILE",
        "List the bad records in FILE, for --on-error skip-marked.",
        kind="output",
    )

    def open(self, files: AtomicFiles) -> BadRecords:
        """Open the report of bad records, if bad records do not stop the command."""
        path = self.error_report
        if (self.on_error == "skip-marked") != (path is not None):
            raise UsageError(
                "--on-error skip-marked and --error-report FILE must be used together; add the missing one"
            )
        if path is None:
            return BadRecords()
        file = files.text(path)

        def write(number: int, message: str) -> None:
            file.write(f"{number}\t{printable(as_options(message, options_of_command))}\n")

        return BadRecords(write)

    def say(self, bad: BadRecords) -> None:
        """Log how many records were bad, and where they are listed."""
        if bad.are_marked:
            text = f"{with_plural(bad.count, 'bad record')}, listed in {self.error_report}"
            log(text, event="bad records", records=bad.count)


def look_ahead(
    read: Callable[[OnError], Iterator[Counted]], on_error: OnError, count: int
) -> tuple[list[Counted], Iterator[Counted]]:
    """Return the first records of a reader, and all records again.

    The errors of the first records are passed on when these are read again, so that their numbers are right.
    """
    first: list[Counted] = []
    errors_before: dict[int, list[DataError]] = {}  # by the number of the record that follows, from 0
    is_ahead = True

    def add(error: DataError) -> None:
        if is_ahead:
            errors_before.setdefault(len(first), []).append(error)
        else:
            on_error(error)

    records = read(add)
    for record in islice(records, count):
        first.append(record)
    is_ahead = False

    def again() -> Iterator[Counted]:
        for number, record in enumerate(first):
            for error in errors_before.get(number, ()):
                on_error(error)
            yield record
        for error in errors_before.get(len(first), ()):
            on_error(error)
        yield from records

    return first, again()


def without_split_words(
    pairs: Iterable[SentencePair],
    words_of: Callable[[SentencePair], tuple[list[str], list[str]]],
    bitext: BitextOptions,
    bad: BadRecords,
) -> Iterator[SentencePair]:
    """Yield the pairs of a bitext; a pair with a word that plain files cannot contain is bad, and empty.

    `words_of` splits the lines into the words that are written.
    """
    from nmtalign.files.text_files import find_split_word, may_be_split

    for number, pair in enumerate(pairs, 1):
        if any(map(may_be_split, pair)):
            cut = find_split_word(*words_of(pair))
            if cut is not None:
                side, problem = cut
                bad.add_cut(problem, *bitext.place(number, side))
                pair = SentencePair("", "")
        yield pair
