"""``nmtalign lexicon``: the translations that a model has learned, or that links show."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

from nmtalign.cli.messages import log, quiet_option
from nmtalign.cli.options.declare import INPUT, OUTPUT, Command, Number, OutputPrefix, Whole, section
from nmtalign.cli.options.linked import LinkedOptions, linked_options
from nmtalign.cli.options.running import write_whole
from nmtalign.errors import DataError, UsageError

if TYPE_CHECKING:
    from nmtalign.links.lexicon import Entry

_HEADER = "source\ttarget\tlinks\tp(target|source)\tp(source|target)\tassociation"


@click.command(cls=Command)
@linked_options(required=False)
@section("Output")
@click.option("--word", metavar="WORD", help="The translations of one word only, of either language.")
@click.option(
    "-o",
    "--output",
    type=OutputPrefix(".s2t", ".t2s", ".tsv"),
    metavar="PREFIX",
    help="Write PREFIX.s2t, PREFIX.t2s and PREFIX.tsv instead of showing them.",
)
@click.option(
    "--priors", type=OUTPUT, help="Write links as eflomal's priors, lines of LEX source target links."
)
@click.option(
    "--limit", type=Whole(min=1), default=100, help="Most translations of a word; without -o, most lines."
)
@click.option(
    "--least", type=Number(0), default=0.01, help="Least probability of a translation, in either direction."
)
@section("Model")
@click.option("--model", type=INPUT, metavar="DIR", help="A learned model, instead of texts and links.")
@section("Running")
@quiet_option
def lexicon(
    linked: LinkedOptions,
    model: str | None,
    word: str | None,
    output: str | None,
    priors: str | None,
    limit: int,
    least: float,
) -> None:
    """List translations with their probabilities: those of a model, or those that LINKS show.

    LINKS are Pharaoh links between the words of SOURCE and TARGET, which stand between spaces; words without
    a link count as linked to the null word.

    PREFIX.s2t has lines `target source p(target|source)`, PREFIX.t2s lines `source target p(source|target)`,
    as Marian reads them; PREFIX.tsv has one line a word pair with its links (those of a model are expected
    counts), both probabilities, and for LINKS the log-likelihood ratio of the two words.

    Example: nmtalign lexicon --model model -o lex
    """
    from nmtalign.links.lexicon import priors as format_priors

    if bool(linked.given) == bool(model) or any(map(os.path.isdir, linked.files)):
        raise UsageError("expected --model DIR alone, or three files: SOURCE TARGET LINKS")
    listed = _of_links(linked) if model is None else _of_model(model)
    entries = [entry for entry in listed if max(entry.forward, entry.reverse) >= least]
    if word is not None:
        entries = _of_word(entries, word)
    texts = {} if output is None else _texts(entries, output, limit)
    if priors is not None:
        texts[priors] = format_priors(entries)
    if texts:
        write_whole(texts)
        log(f"{len(entries):,} word pairs in {', '.join(texts)}", event="written")
    else:
        most_linked = sorted(entries, key=lambda entry: -entry.links)[:limit]
        click.echo("\n".join([_HEADER, *map(_row, most_linked)]))


def _of_model(model: str) -> Iterator[Entry]:
    """Yield the word pairs that a learned lexicon has linked."""
    from nmtalign.aligner.aligner import load_aligner
    from nmtalign.links.lexicon import Entry

    lexicon = load_aligner(model).lexicon
    table = lexicon.translations()
    for s, t, *numbers in zip(*(column.tolist() for column in table), strict=True):
        yield Entry(lexicon.source_words[s], lexicon.target_words[t], *numbers)


def _of_links(linked: LinkedOptions) -> list[Entry]:
    """Return the linked words of a bitext."""
    from nmtalign.links.lexicon import LinkCounts

    counts = LinkCounts()
    for _, source, target, links in linked.read():
        counts.add(source, target, links)
    return counts.entries()


def _of_word(entries: list[Entry], word: str) -> list[Entry]:
    """Return the translations of a word of either language."""
    found = [entry for entry in entries if word in (entry.source, entry.target)]
    if not found:
        lower = "; a model holds words in lower case" if word != word.lower() else ""
        raise DataError(f"no translation of {word!r} is as probable as --least{lower}")
    return found


def _texts(entries: list[Entry], prefix: str, limit: int) -> dict[str, Iterable[str]]:
    """Return the lines of PREFIX.s2t, PREFIX.t2s and PREFIX.tsv."""
    from nmtalign.links.lexicon import shortlist

    return {
        f"{prefix}.s2t": shortlist(entries, most=limit),
        f"{prefix}.t2s": shortlist(entries, reverse=True, most=limit),
        f"{prefix}.tsv": (f"{line}\n" for line in chain([_HEADER], map(_row, entries))),
    }


def _row(entry: Entry) -> str:
    """Return the cells of one line; expected counts have two digits after the point."""
    links = f"{entry.links:.2f}".removesuffix(".00")
    association = "" if entry.association is None else f"{entry.association:.2f}"
    cells = entry.source, entry.target, links, f"{entry.forward:.4f}", f"{entry.reverse:.4f}", association
    return "\t".join(cells)
