"""The part of ``nmtalign lexicon`` that counts the links of a file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

import click

from nmtalign.errors import DataError

if TYPE_CHECKING:
    from nmtalign.links.lexicon import Entry

_HEADER = "source\ttarget\tlinks\tp(target|source)\tp(source|target)\tassociation"


def list_links(
    texts: tuple[str, ...], word: str | None, output: str | None, limit: int, least: float
) -> None:
    """Show or write the lexicon of SOURCE, TARGET and LINKS."""
    source, target, links = texts
    entries = _count(source, target, links, least)
    if output is None:
        _show(entries, word, limit)
    else:
        _write(entries, output, limit)


def _count(source: str, target: str, links: str, least: float) -> list[Entry]:
    """Return the linked words of a bitext; `least` is the least probability, of either direction."""
    from nmtalign.links.alignments import Alignment
    from nmtalign.links.formats import read_links
    from nmtalign.links.lexicon import LinkCounts
    from nmtalign.text.bitext import read_bitext

    counts = LinkCounts()
    for number, (pair, chosen) in enumerate(zip_longest(read_bitext(source, target), read_links(links)), 1):
        if pair is None or chosen is None:
            short = links if chosen is None else f"{source} and {target}"
            raise DataError(f"expected links for each pair, but {short} ends after {number - 1} lines")
        source_words, target_words = ([word for word in line.split(" ") if word] for line in pair)
        try:
            checked = Alignment(chosen, len(source_words), len(target_words))
        except DataError as error:
            raise error.at(links, line=number) from None
        counts.add(source_words, target_words, checked)
    return [entry for entry in counts.entries() if max(entry.forward, entry.reverse) >= least]


def _show(entries: Iterable[Entry], word: str | None, limit: int) -> None:
    """Print the most linked words, or those linked to one word."""
    frequent = sorted(entries, key=lambda entry: -entry.links)
    click.echo(_HEADER)
    for entry in islice((e for e in frequent if word is None or word in (e.source, e.target)), limit):
        click.echo(_row(entry))


def _write(entries: list[Entry], prefix: str, limit: int) -> None:
    """Write PREFIX.s2t, PREFIX.t2s and PREFIX.tsv."""
    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text
    from nmtalign.links.lexicon import shortlist

    contents = {
        "s2t": shortlist(entries, most=limit),
        "t2s": shortlist(entries, reverse=True, most=limit),
        "tsv": (f"{line}\n" for line in (_HEADER, *map(_row, entries))),
    }
    for suffix, lines in contents.items():
        with whole_file(f"{prefix}.{suffix}") as partial, open_text(partial, "w") as file:
            file.writelines(lines)


def _row(entry: Entry) -> str:
    probabilities = f"{entry.forward:.4f}\t{entry.reverse:.4f}"
    return f"{entry.source}\t{entry.target}\t{entry.links}\t{probabilities}\t{entry.association:.2f}"
