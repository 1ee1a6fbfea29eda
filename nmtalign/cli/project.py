"""``nmtalign project``: annotations of the source text carried over links to the target text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

import click

from nmtalign.cli._types import INPUT, OUTPUT
from nmtalign.errors import DataError

FORMATS = ("xml", "bio", "spans")


@click.command()
@click.argument("source", type=INPUT)
@click.argument("target", type=INPUT)
@click.argument("links", type=INPUT)
@click.option("--tags", type=INPUT, required=True, help="Annotations of SOURCE, a line for each pair.")
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="xml", show_default=True, help="Of --tags."
)
@click.option("-o", "--output", type=OUTPUT, default="-", help="File to write.  [standard output]")
def project(source: str, target: str, links: str, tags: str, format_: str, output: str) -> None:
    """Carry annotations from SOURCE to TARGET over Pharaoh LINKS; words stand between spaces.

    --tags holds the source words with XML tags, or BIO labels (B-X, I-X, O) of the source words, or spans
    like 0-2:NAME, words from 0 and the end not included. What comes out is the same for the target words.

    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
    """
    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text, read_lines
    from nmtalign.links.alignments import Alignment
    from nmtalign.links.formats import read_links

    carry = {"xml": _carry_tags, "bio": _carry_labels, "spans": _carry_spans}[format_]
    paths = (source, target, links, tags)
    records = zip_longest(read_lines(source), read_lines(target), read_links(links), read_lines(tags))
    with whole_file(output) as partial, open_text(partial, "w") as file:
        for number, record in enumerate(records, 1):
            _check_all(record, paths, number)
            source_words, target_words = ([word for word in line.split(" ") if word] for line in record[:2])
            try:
                chosen = Alignment(record[2], len(source_words), len(target_words))
            except DataError as error:
                raise error.at(links, line=number) from None
            try:
                file.write(carry(record[3], source_words, target_words, chosen) + "\n")
            except DataError as error:
                raise error.at(tags, line=number) from None


def _check_all(record: Sequence[object], paths: Sequence[str], number: int) -> None:
    for part, path in zip(record, paths, strict=True):
        if part is None:
            raise DataError(f"expected as many lines in all four files, but {path} ends after {number - 1}")


def _carry_tags(tagged: str, source: list[str], target: list[str], links: Iterable[tuple[int, int]]) -> str:
    from nmtalign.links.projection import parse_tags, project_tags

    words = parse_tags(tagged)[0]
    if words != source:
        raise DataError(f"expected the source words with tags, found the words {' '.join(words)[:60]!r}")
    return project_tags(tagged, target, links)


def _carry_labels(line: str, source: list[str], target: list[str], links: Iterable[tuple[int, int]]) -> str:
    from nmtalign.links.projection import labels_of_spans, project_spans, spans_of_labels

    labels = [label for label in line.split(" ") if label]
    if len(labels) != len(source):
        raise DataError(f"expected a label for each of {len(source)} source words, found {len(labels)}")
    spans = project_spans(spans_of_labels(labels), links, len(target))
    return " ".join(labels_of_spans(spans, len(target)))


def _carry_spans(line: str, source: list[str], target: list[str], links: Iterable[tuple[int, int]]) -> str:
    from nmtalign.links.projection import parse_spans, project_spans

    spans = project_spans(parse_spans(line, len(source)), links, len(target))
    return " ".join(f"{start}-{end}:{label}" for start, end, label in spans)
