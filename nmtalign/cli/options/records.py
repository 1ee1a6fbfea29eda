"""The options of `heatmap` and `report` that choose pairs of a bitext and their attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice, tee
from typing import TYPE_CHECKING, Any, TypeVar

from nmtalign.cli.messages import warn
from nmtalign.cli.options.bitext import text_encoding
from nmtalign.cli.options.declare import INPUT, Numbers, Values, option, option_group, section
from nmtalign.cli.options.model import load_aligner, model_options
from nmtalign.cli.options.sources import source_options
from nmtalign.errors import DataError

if TYPE_CHECKING:
    from nmtalign.aligner.aligner import Aligner
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair

Item = TypeVar("Item")
TOGETHER = 200  # records whose words are counted together


class RecordOptions(Values):
    """Which pairs, their gold links, and what aligns them: `options` of a model, or another's `weights`."""

    def open(
        self, bitext: Iterator[SentencePair], others: Mapping[str, str] | None = None
    ) -> tuple[Aligner | None, Iterator[Record]]:
        """Return the aligner, none for attention of other programs, and the records of a bitext.

        `others` are the files with links of other systems.
        """
        from nmtalign.aligner.opening import fit_text
        from nmtalign.report.corpus import read_corpus

        files: Any = {"gold": self.gold, "others": others, "encoding": text_encoding()}
        if self.weights.named(self.options):
            bitext, again = tee(bitext)
            aligned = self.weights.inspect(self.options, again)
            return None, read_corpus(bitext, aligned=aligned, **files)
        aligner = load_aligner(self.options)
        aligner, bitext = fit_text(aligner, bitext)
        return aligner, read_corpus(bitext, **files)

    def chosen(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records that --lines names; all where it is left out."""
        if self.lines is None:
            return records
        return (record for _, record in pick(records, self.lines))


record_options = option_group(
    "chosen",
    RecordOptions,
    section("Input"),
    option("--lines", Numbers(1), "These pairs only, like 3,7-9."),
    option("--gold", INPUT, "Gold links, one line for each pair."),
    model_options,
    source_options,
)


def covered(records: Iterable[Record], aligner: Aligner | None, known: list[Coverage]) -> Iterator[Record]:
    """Yield records, and note in `known` how many of their words the aligner knows."""
    records = iter(records)
    while chunk := list(islice(records, TOGETHER)):
        if aligner is not None:
            known.append(aligner.covered([record.pair for record in chunk]))
        yield from chunk


def warn_of_coverage(known: Iterable[Coverage]) -> None:
    """Warn if the words of all records together are too little known for links that can be trusted."""
    from nmtalign.corpus.coverage import Coverage

    if why := reduce(Coverage.joined, known, Coverage()).warning:
        warn(why)


def pick(records: Iterable[Item], lines: Sequence[int]) -> Iterator[tuple[int, Item]]:
    """Yield the numbered records that `lines` (sorted, from 1) names; read no further than the last."""
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
