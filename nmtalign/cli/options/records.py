"""The options of `heatmap` and `report` that choose pairs of a bitext and their attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import tee
from typing import TYPE_CHECKING, TypeVar

import click

from nmtalign.cli.options.groups import Decorator, option_group, with_options
from nmtalign.cli.options.matrices import MatrixOptions, matrix_options
from nmtalign.cli.options.model import ModelOptions, load_aligner, model_options
from nmtalign.cli.options.types import INPUT
from nmtalign.errors import DataError, UsageError

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair

Item = TypeVar("Item")
MOST_LINES = 1_000_000  # of a range: they are drawn
LONGEST_RANGE = 30  # characters


@dataclass(frozen=True)
class RecordOptions:
    """The values of the options, those of the model and of matrices included."""

    lines: str | None
    gold: str | None
    given: MatrixOptions
    options: ModelOptions

    def open(
        self, bitext: Iterator[SentencePair], others: Mapping[str, str] | None = None, *, fit: bool = True
    ) -> tuple[Aligner | None, Iterator[Record]]:
        """Return the aligner, none for attention of other programs, and the records of a bitext.

        Parameters
        ----------
        bitext : iterator of SentencePair
        others : dict of str to path, optional
            Links of other systems.
        fit : bool
            Fit transitions to the bitext, where the aligner has some to fit.
        """
        from nmtalign.aligner.fitting import fit_text, with_fit
        from nmtalign.report.corpus import read_corpus

        self.given.check()
        if self.given.matrices is not None:
            bitext, again = tee(bitext)
            aligned = self.given.inspect(self.options, again)
            return None, read_corpus(bitext, gold=self.gold, others=others, aligned=aligned)
        aligner = load_aligner(self.options)
        if fit:
            found, bitext = fit_text(aligner, bitext)
            aligner = with_fit(aligner, found)
        return aligner, read_corpus(bitext, gold=self.gold, others=others)

    def chosen(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records that --lines names; all where it is left out."""
        if self.lines is None:
            return records
        return (record for _, record in pick(records, parse_lines(self.lines)))


record_options: Decorator = with_options(
    matrix_options,
    model_options,
    option_group(
        "chosen",
        RecordOptions,
        click.option("--lines", metavar="LIST", help="These pairs only, like 3,7-9."),
        click.option("--gold", type=INPUT, help="Gold links, one line for each pair."),
    ),
)


def parse_lines(text: str) -> list[int]:
    """Return the line numbers, counted from 1, that a list of numbers and ranges names; sorted, each once.

    Raises
    ------
    UsageError
        If it is no such list, or a range goes down.

    Examples
    --------
    >>> parse_lines("7-9,3")
    [3, 7, 8, 9]
    """
    lines: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else not last)) or len(part) > LONGEST_RANGE:
            raise UsageError(f"expected lines like 3,7-9, found {text[:80]!r}")
        start, end = int(first), int(last or first)
        if not 1 <= start <= end < start + MOST_LINES:
            found = f"expected lines from 1 on, ranges going up, of at most {MOST_LINES:,} lines"
            raise UsageError(f"{found}; found {part!r} in {text[:80]!r}")
        lines.update(range(start, end + 1))
    return sorted(lines)


def pick(records: Iterable[Item], lines: list[int]) -> Iterator[tuple[int, Item]]:
    """Yield the numbered records that `lines` (sorted, from 1) names; stops reading after the last.

    Raises
    ------
    DataError
        If the records end before the last line.
    """
    wanted = iter(lines)
    next_line = next(wanted, None)
    count = 0
    for count, record in enumerate(records, 1):
        if count == next_line:
            yield count, record
            next_line = next(wanted, None)
        if next_line is None:
            return
    if next_line is not None:
        raise DataError(f"expected a pair in line {next_line}, found only {count:,} pairs")
