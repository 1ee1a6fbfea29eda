"""Commands over link files: ``nmtalign symmetrize``, ``convert`` and ``project``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

import click

from nmtalign.cli.options.groups import Command, section, with_options
from nmtalign.cli.options.model import SYMMETRIZATIONS
from nmtalign.cli.options.types import INPUT, OUTPUT
from nmtalign.cli.outputs import write_whole
from nmtalign.errors import DataError, UsageError

if TYPE_CHECKING:
    from nmtalign.links.formats import LinkRecord

    Links = Iterable[tuple[int, int]]

READABLE = ("pharaoh", "talp", "naacl", "giza", "tsv", "jsonl")
WRITABLE = (*READABLE, "words", "phrases")
ANNOTATIONS = ("xml", "bio", "spans")
_TOGETHER = 16_384  # pairs read, joined and written at a time

_output = with_options(
    section("Output"),
    click.option("-o", "--output", type=OUTPUT, metavar="FILE", default="-", help="File to write."),
)


@click.command(cls=Command)
@click.argument("forward", type=INPUT)
@click.argument("reverse", type=INPUT)
@section("Input")
@click.option("--reversed", is_flag=True, help="The links of REVERSE are target-source: swap them.")
@_output
@section("Links")
@click.option("--method", type=click.Choice(SYMMETRIZATIONS), default="grow-diag-final-and")
def symmetrize(forward: str, reverse: str, method: str, reversed: bool, output: str) -> None:
    """Join the Pharaoh links of two directions, line by line; both are source-target.

    Example: nmtalign symmetrize forward.txt reverse.txt --method grow-diag-final-and -o links.txt
    """
    write_whole(output, _joined(_both(forward, reverse), method, swapped=reversed))


def _joined(lines: Iterator[tuple[Links, ...]], method: str, *, swapped: bool) -> Iterator[str]:
    from nmtalign.links.formats import format_pharaoh
    from nmtalign.links.symmetrization import symmetrize_many

    while chunk := list(islice(lines, _TOGETHER)):
        first, second = ([pair[side] for pair in chunk] for side in (0, 1))
        if swapped:
            second = [frozenset((s, t) for t, s in links) for links in second]
        yield from (f"{format_pharaoh(links)}\n" for links in symmetrize_many(first, second, method))


def _both(forward: str, reverse: str) -> Iterator[tuple[Links, ...]]:
    """Yield the links of both files side by side; files of different length are an error at the end."""
    from nmtalign.links.formats import read_links

    found = [0, 0]
    for sides in zip_longest(read_links(forward), read_links(reverse)):
        found = [n + (side is not None) for n, side in zip(found, sides, strict=True)]
        if found[0] == found[1]:
            yield sides
    if found[0] != found[1]:
        raise DataError(
            f"expected as many lines in both files, found {found[0]} in {forward} and {found[1]} in {reverse}"
        )


@click.command(cls=Command)
@click.argument("links", type=INPUT)
@section("Input")
@click.option("--from", "from_", type=click.Choice(READABLE), required=True, help="Format of LINKS.")
@click.option("--source", type=INPUT, help="Source text, words between spaces.")
@click.option("--target", type=INPUT, help="Target text, words between spaces.")
@_output
@click.option("--to", type=click.Choice(WRITABLE), required=True, help="Format to write.")
def convert(links: str, from_: str, to: str, output: str, source: str | None, target: str | None) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL, TSV and phrase pairs.

    To giza, words, tsv (source, target, links: for guided training) and phrases (as Moses extracts them)
    the two texts are needed, unless LINKS hold the words. A NAACL file has no line for a pair without links:
    with the texts, empty pairs at its end are kept.

    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
    """
    from nmtalign.links.formats import format_record, read_records

    if (source is None) != (target is None):
        raise UsageError("give both --source and --target, or neither")
    records = read_records(links, format=from_)
    if source is not None and target is not None:
        records = _with_words(records, source, target, links, padded=from_ == "naacl")
    numbered = enumerate(records, 1)
    write_whole(output, (format_record(record, format=to, number=number) for number, record in numbered))


def _with_words(
    records: Iterator[LinkRecord], source: str, target: str, links: str, *, padded: bool
) -> Iterator[LinkRecord]:
    """Put the words of the texts into the records; `padded` records may end early."""
    from nmtalign.links.alignments import GoldAlignment
    from nmtalign.links.formats import LinkRecord
    from nmtalign.text.bitext import read_bitext

    empty = LinkRecord(GoldAlignment(frozenset(), frozenset())) if padded else None
    pairs = 0
    for pairs, lines in enumerate(read_bitext(source, target), 1):
        record = next(records, empty)
        if record is None:
            raise DataError(f"expected links for each pair of the texts, found only {pairs - 1} in {links}")
        yield LinkRecord(record.gold, *(tuple(_words(line)) for line in lines))
    if next(records, None) is not None:
        raise DataError(f"expected links for the {pairs} pairs of the texts, found more in {links}")


def _words(line: str) -> list[str]:
    return [word for word in line.split(" ") if word]


@click.command(cls=Command)
@click.argument("source", type=INPUT)
@click.argument("target", type=INPUT)
@click.argument("links", type=INPUT)
@section("Input")
@click.option("--tags", type=INPUT, required=True, help="Annotations of SOURCE, a line for each pair.")
@click.option("--tags-format", type=click.Choice(ANNOTATIONS), default="xml", help="Of --tags.")
@_output
def project(source: str, target: str, links: str, tags: str, tags_format: str, output: str) -> None:
    """Project annotations from SOURCE to TARGET over Pharaoh LINKS; words stand between spaces.

    --tags holds the source words with XML tags, or BIO labels (B-X, I-X, O) of the source words, or spans
    like 0-2:NAME, words from 0 and the end not included. The output is the same for the target words.

    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
    """
    write_whole(output, _projected((source, target, links, tags), _PROJECTIONS[tags_format]))


def _projected(paths: Sequence[str], project_line: Callable[..., str]) -> Iterator[str]:
    from nmtalign.files import read_lines
    from nmtalign.links.alignments import Alignment
    from nmtalign.links.formats import read_links

    source, target, links, tags = paths
    records = zip_longest(read_lines(source), read_lines(target), read_links(links), read_lines(tags))
    for number, record in enumerate(records, 1):
        _check_all(record, paths, number)
        words = _words(record[0]), _words(record[1])
        place = links
        try:
            chosen = Alignment(record[2], len(words[0]), len(words[1]))
            place = tags
            yield project_line(record[3], *words, chosen) + "\n"
        except DataError as error:
            raise error.at(place, line=number) from None


def _check_all(record: Sequence[object], paths: Sequence[str], number: int) -> None:
    for part, path in zip(record, paths, strict=True):
        if part is None:
            raise DataError(f"expected as many lines in all four files, but {path} ends after {number - 1}")


def _project_tags(tagged: str, source: list[str], target: list[str], links: Links) -> str:
    from nmtalign.links.projection import parse_tags, project_tags

    words = parse_tags(tagged)[0]
    if words != source:
        raise DataError(f"expected the source words with tags, found the words {' '.join(words)[:60]!r}")
    return project_tags(tagged, target, links)


def _project_labels(line: str, source: list[str], target: list[str], links: Links) -> str:
    from nmtalign.links.projection import labels_of_spans, project_spans, spans_of_labels

    labels = _words(line)
    if len(labels) != len(source):
        raise DataError(f"expected a label for each of {len(source)} source words, found {len(labels)}")
    spans = project_spans(spans_of_labels(labels), links, len(target))
    return " ".join(labels_of_spans(spans, len(target)))


def _project_spans(line: str, source: list[str], target: list[str], links: Links) -> str:
    from nmtalign.links.projection import parse_spans, project_spans

    spans = project_spans(parse_spans(line, len(source)), links, len(target))
    return " ".join(f"{start}-{end}:{label}" for start, end, label in spans)


_PROJECTIONS = {"xml": _project_tags, "bio": _project_labels, "spans": _project_spans}
