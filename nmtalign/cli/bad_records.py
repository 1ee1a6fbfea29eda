"""``--on-error``: what happens to records that cannot be read, and to words that an output cannot contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from nmtalign.cli.messages import as_options, log, options_of_command, printable
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import BadRecords, DataError, OnError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.progress import Counted
from nmtalign.text.bitext import SentencePair

if TYPE_CHECKING:
    from nmtalign.cli.texts import BitextOptions


_ADVICE_ON_SPLIT_WORDS = ", or skip the pair with `on_error=skip-marked`"


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
        return BadRecords(_warn_of_record if self.on_error == "skip-marked" else None, _ADVICE_ON_SPLIT_WORDS)

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
            return BadRecords(None, _ADVICE_ON_SPLIT_WORDS)
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
