"""``nmtalign convert``: links from one file format into another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from nmtalign.cli._types import INPUT, OUTPUT
from nmtalign.errors import DataError, UsageError

if TYPE_CHECKING:
    from nmtalign.links.formats import LinkRecord

READABLE = ("pharaoh", "talp", "naacl", "giza", "tsv", "jsonl")
WRITABLE = (*READABLE, "words", "phrases")


@click.command()
@click.argument("links", type=INPUT)
@click.option("--from", "from_", type=click.Choice(READABLE), required=True, help="Format of LINKS.")
@click.option("--to", type=click.Choice(WRITABLE), required=True, help="Format to write.")
@click.option("-o", "--output", type=OUTPUT, default="-", help="File to write.  [standard output]")
@click.option("--source", type=INPUT, help="Source text, words between spaces.")
@click.option("--target", type=INPUT, help="Target text, words between spaces.")
def convert(links: str, from_: str, to: str, output: str, source: str | None, target: str | None) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL, TSV and phrase pairs.

    To giza, words, tsv (source, target, links: for guided training) and phrases (as Moses extracts them)
    the two texts are needed, unless LINKS hold the words. A NAACL file has no line for a pair without links:
    with the texts, empty pairs at its end are kept.

    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
    """
    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text
    from nmtalign.links.formats import format_record, read_records

    if (source is None) != (target is None):
        raise UsageError("give both --source and --target, or neither")
    records = read_records(links, format=from_)
    if source is not None and target is not None:
        records = _with_words(records, source, target, links, padded=from_ == "naacl")
    with whole_file(output) as partial, open_text(partial, "w") as file:
        for number, record in enumerate(records, 1):
            file.write(format_record(record, format=to, number=number))


def _with_words(
    records: Iterator[LinkRecord], source: str, target: str, links: str, *, padded: bool
) -> Iterator[LinkRecord]:
    """Put the words of the texts into the records; `padded` records may end early."""
    from nmtalign.links.alignments import GoldAlignment
    from nmtalign.links.formats import LinkRecord
    from nmtalign.text.bitext import read_bitext

    empty = LinkRecord(GoldAlignment(frozenset(), frozenset())) if padded else None
    pairs = 0
    for pairs, (source_line, target_line) in enumerate(read_bitext(source, target), 1):
        record = next(records, empty)
        if record is None:
            raise DataError(f"expected links for each pair of the texts, found only {pairs - 1} in {links}")
        words = (tuple(filter(None, line.split(" "))) for line in (source_line, target_line))
        yield LinkRecord(record.gold, *words)
    if next(records, None) is not None:
        raise DataError(f"expected links for the {pairs} pairs of the texts, found more in {links}")
