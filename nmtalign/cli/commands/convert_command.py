"""``nmtalign convert``: rewrite files of links in another format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.bad_records import BadRecords, ErrorOptions
from nmtalign.cli.declare import INPUT, argument, command, option
from nmtalign.cli.messages import warn
from nmtalign.cli.running import OutputFileOptions
from nmtalign.cli.texts import WordFormOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.names import SIDES, ReadLinksFormat, WrittenLinksFormat

if TYPE_CHECKING:
    from nmtalign.links.formats import LinkRecord


@dataclass(frozen=True, kw_only=True)
class ConvertedLinksOptions(WordFormOptions):
    """The links to convert, and their words."""

    links: str = argument(type=INPUT)
    format: ReadLinksFormat = option("--from", "Format of the file LINKS.", required=True)
    source: str | None = option(
        "--source FILE", "Source text, needed if LINKS does not contain the words.", type=INPUT
    )
    target: str | None = option("--target FILE", "Target text, to go with --source.", type=INPUT)
    encoding: str = texts.encoding_option()
    to: WrittenLinksFormat = option("--to", "Format to write.", required=True, section="Output")


@command(name="convert")
def convert_command(converted: ConvertedLinksOptions, errors: ErrorOptions, file: OutputFileOptions) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL and TSV.

    The formats giza, words and tsv (source, target, links) need --source and --target, unless LINKS
    contains the words. Words are separated by spaces. NAACL files have no line for a pair without links;
    with --source and --target, such pairs at the end of the file are kept.

    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
    """
    if (converted.source is None) != (converted.target is None):
        raise UsageError("--source and --target must be used together; add the missing one")
    if converted.source is None and (converted.lowercase is not None or converted.unicode is not None):
        raise UsageError("--lowercase and --unicode change the words of texts; add --source and --target")
    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        records = bad.track(_read_records(converted, bad))
        outputs.text(file.output).writelines(_format_records(records, converted, bad))
    errors.say(bad)


def _read_records(converted: ConvertedLinksOptions, bad: BadRecords) -> Iterator[LinkRecord]:
    """Return the records of LINKS, with the words of the texts if these are given."""
    from nmtalign.links.formats import read_link_records

    records = read_link_records(
        converted.links, format=converted.format, encoding=converted.encoding, on_error=bad.add
    )
    if converted.source is None or converted.target is None:
        return records
    pairs = na.read_bitext(converted.source, converted.target, encoding=converted.encoding, on_error=bad.add)
    words = map(converted.text.words_of_pair, pairs)
    return _with_words(records, words, converted.links, bad, padded=converted.format == "naacl")


def _with_words(
    records: Iterator[LinkRecord],
    words: Iterator[tuple[list[str], list[str]]],
    links: str,
    bad: BadRecords,
    *,
    padded: bool,
) -> Iterator[LinkRecord]:
    """Put the words of the texts into the records; `padded` records may end early."""
    from nmtalign.corpus.unit_check import UnitCheck
    from nmtalign.links.formats import LinkRecord

    none = na.GoldAlignment((), ())
    unit_check = UnitCheck(links)
    pairs = 0
    for pairs, (source, target) in enumerate(words, 1):
        record = next(records, LinkRecord(none) if padded else None)
        if record is None:
            raise DataError(f"expected links for each pair of the texts, found only {pairs - 1} in {links}")
        with_words = LinkRecord(none, tuple(source), tuple(target))
        if not bad.has_current:
            try:
                with_words = replace(with_words, gold=record.gold, unit=record.unit)
                _check_same_words(record, with_words)
                unit_check.add(pairs, record.gold.possible, source, target)
            except DataError as error:
                bad.add(DataError(f"pair {pairs}: {error}; {texts.WORD_COUNT_ADVICE}").at(links))
        yield with_words
    if next(records, None) is not None:
        raise DataError(f"expected links for the {pairs} pairs of the texts, found more in {links}")
    if warning := unit_check.warning():
        warn(warning)


def _check_same_words(record: LinkRecord, of_texts: LinkRecord) -> None:
    """Raise DataError if the file of links has other words than the texts, such as sub-words."""
    for side in SIDES:
        of_file, of_text = getattr(record, side), getattr(of_texts, side)
        if of_file is not None and len(of_file) != len(of_text):
            unit = "words" if record.unit is None else record.unit
            found = f"found {len(of_text):,} words in the text"
            raise DataError(f"expected the {len(of_file):,} {side} {unit} of the links, {found}")


def _format_records(
    records: Iterator[LinkRecord], converted: ConvertedLinksOptions, bad: BadRecords
) -> Iterator[str]:
    """Yield the lines of each record; it has no words and links if the format cannot hold its words."""
    from nmtalign.links.formats import WORD_SEPARATORS, LinkRecord, format_record
    from nmtalign.links.separators import find_split_word

    separator = WORD_SEPARATORS.get(converted.to)
    for number, record in enumerate(records, 1):
        if separator is not None and record.source is not None and record.target is not None:
            found = find_split_word(record.source, record.target, separator)
            if found is not None:
                side, problem = found
                bad.add_cut(problem, *_place_of_words(converted, number, side))
                record = LinkRecord(na.GoldAlignment((), ()), (), ())
        yield format_record(record, format=converted.to, number=number)


def _place_of_words(converted: ConvertedLinksOptions, number: int, side: int) -> tuple[str, int | None]:
    """Return the file and the line that hold the words of a side of a record."""
    if converted.source is not None:
        return str((converted.source, converted.target)[side]), number
    if converted.format == "giza":  # three lines per pair, in any order
        return f"{converted.links}, pair {number:,}", None
    return converted.links, number
