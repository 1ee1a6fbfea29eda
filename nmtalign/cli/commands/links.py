"""Commands over link files: ``symmetrize``, ``convert``, ``phrases``, ``project`` and ``lexicon``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

import click

from nmtalign.cli.messages import Progress, log, quiet_option
from nmtalign.cli.options.bitext import encoding_option, text_encoding
from nmtalign.cli.options.declare import (
    INPUT,
    OUTPUT,
    Command,
    Number,
    OutputPrefix,
    Whole,
    section,
    with_options,
)
from nmtalign.cli.options.linked import ADVICE, CutOptions, LinkedOptions, cut_options, linked_options
from nmtalign.cli.options.running import write_whole
from nmtalign.errors import DataError, UsageError
from nmtalign.names import READ_LINKS, SYMMETRIZATIONS, TAG_FORMATS, WRITTEN_LINKS

if TYPE_CHECKING:
    from nmtalign.cli.options.linked import LinkedPair
    from nmtalign.links.formats import LinkRecord
    from nmtalign.links.lexicon import Entry
    from nmtalign.links.projection import Cut, Span

    Links = Iterable[tuple[int, int]]

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
@encoding_option
@_output
@section("Links")
@click.option(
    "--method",
    type=click.Choice(SYMMETRIZATIONS),
    default="grow-diag-final-and",
    help="How the links are joined.",
)
def symmetrize(forward: str, reverse: str, method: str, reversed: bool, output: str) -> None:
    """Join the Pharaoh links of two directions, line by line; both are source-target.

    Example: nmtalign symmetrize forward.txt reverse.txt --method grow-diag-final-and -o links.txt
    """
    write_whole({output: _joined((forward, reverse), method, swapped=reversed)})


def _joined(files: tuple[str, str], method: str, *, swapped: bool) -> Iterator[str]:
    from nmtalign.files import side_by_side
    from nmtalign.links.formats import format_pharaoh, read_links
    from nmtalign.links.symmetrization import symmetrize_many

    lines = side_by_side((read_links(path, encoding=text_encoding()) for path in files), files)
    while chunk := list(islice(lines, _TOGETHER)):
        first, second = ([pair[side] for pair in chunk] for side in (0, 1))
        if swapped:
            second = [frozenset((s, t) for t, s in links) for links in second]
        yield from (f"{format_pharaoh(links)}\n" for links in symmetrize_many(first, second, method))


@click.command(cls=Command)
@click.argument("links", type=INPUT)
@section("Input")
@click.option("--from", "from_", type=click.Choice(READ_LINKS), required=True, help="Format of LINKS.")
@click.option("--source", type=INPUT, help="Source text, if LINKS hold no words.")
@click.option("--target", type=INPUT, help="Target text.")
@cut_options
@_output
@click.option("--to", type=click.Choice(WRITTEN_LINKS), required=True, help="Format to write.")
def convert(
    links: str, from_: str, to: str, output: str, source: str | None, target: str | None, cut: CutOptions
) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL and TSV.

    The formats giza, words and tsv (source, target, links) need --source and --target, unless LINKS
    hold the words, which stand between spaces. A NAACL file has no line for a pair without
    links: with the texts, empty pairs at its end are kept.

    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
    """
    from nmtalign.links.formats import format_record, read_records

    if (source is None) != (target is None):
        raise UsageError("give both --source and --target, or neither")
    records = read_records(links, format=from_, encoding=text_encoding())
    if source is not None and target is not None:
        records = _with_words(records, cut.words(source, target), links, padded=from_ == "naacl")
    elif cut.given:
        raise UsageError("--lowercase and --unicode are for words of texts; give --source and --target too")
    numbered = enumerate(records, 1)
    write_whole({output: (format_record(record, format=to, number=number) for number, record in numbered)})


def _with_words(
    records: Iterator[LinkRecord], words: Iterator[tuple[list[str], list[str]]], links: str, *, padded: bool
) -> Iterator[LinkRecord]:
    """Put the words of the texts into the records; `padded` records may end early."""
    from nmtalign.links.alignments import Alignment, GoldAlignment
    from nmtalign.links.formats import LinkRecord

    empty = LinkRecord(GoldAlignment(frozenset(), frozenset())) if padded else None
    pairs = 0
    for pairs, sides in enumerate(words, 1):
        record = next(records, empty)
        if record is None:
            raise DataError(f"expected links for each pair of the texts, found only {pairs - 1} in {links}")
        try:
            Alignment(record.gold.possible, *map(len, sides))
        except DataError as error:
            raise DataError(f"pair {pairs}: {error}; {ADVICE}").at(links) from None
        yield LinkRecord(record.gold, *map(tuple, sides))
    if next(records, None) is not None:
        raise DataError(f"expected links for the {pairs} pairs of the texts, found more in {links}")


@click.command(cls=Command)
@linked_options()
@section("Output")
@click.option(
    "-o",
    "--output",
    type=OutputPrefix(".extract", ".extract.inv"),
    metavar="PREFIX",
    help="Write PREFIX.extract and PREFIX.extract.inv instead of showing the former.",
)
@click.option("--longest", type=Whole(min=1), default=7, help="Most words of a phrase, on either side.")
@section("Running")
@quiet_option
def phrases(linked: LinkedOptions, output: str | None, longest: int) -> None:
    """List the phrase pairs that are consistent with Pharaoh LINKS; words stand between spaces.

    A line holds `source words ||| target words
    ||| links inside`, as Moses' extract writes it; PREFIX.extract.inv is the same with the sides swapped.

    Example: nmtalign phrases text.en text.fr links.txt -o corpus
    """
    from nmtalign.links.lexicon import format_phrases
    from nmtalign.output import Outputs

    count = 0
    with Outputs() as outputs, Progress("pairs", linked.files) as progress:
        paths = ["-"] if output is None else [f"{output}.extract", f"{output}.extract.inv"]
        files = [outputs.text(path) for path in paths]
        pairs = progress.done_one_by_one(progress.reading(linked.read()))
        for number, (_, source, target, links) in enumerate(pairs, 1):
            sides = (source, target, links), (target, source, links.reversed())
            for file, side in zip(files, sides, strict=False):
                with _placed(linked.source, number):
                    text = format_phrases(*side, longest=longest)
                file.write(text)
            count += text.count("\n")
    _say_written(f"{count:,} phrase pairs of {progress.done:,} sentence pairs", paths, progress)


@click.command(cls=Command)
@linked_options()
@section("Input")
@click.option("--tags", type=INPUT, required=True, help="Annotations of SOURCE, a line for each pair.")
@click.option("--tags-format", type=click.Choice(TAG_FORMATS), default="xml", help="Format of --tags.")
@_output
@section("Running")
@quiet_option
def project(linked: LinkedOptions, tags: str, tags_format: str, output: str) -> None:
    """Project annotations from SOURCE to TARGET over Pharaoh LINKS; words stand between spaces.

    --tags holds the lines of SOURCE with XML tags, or BIO labels (B-X, I-X, O) of the source words, or spans
    like 0-2:NAME, where words count from 0 and the end is not included. The output has the same format. Tags
    stay nested. If no word of an annotation has a link, an XML element goes between the words beside it, and
    a label or span is left out; the last message names the lines.

    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
    """
    lost: list[int] = []  # lines with an annotation whose words have no link
    with Progress("pairs", linked.files) as progress:
        lines = _projected(linked, tags, _PROJECTIONS[tags_format], lost)
        write_whole({output: progress.done_one_by_one(lines)})
    _say_written(f"annotations of {progress.done:,} lines", [output], progress)
    if lost:
        where = ", ".join(map(str, dict.fromkeys(lost[:5]))) + (", ..." if len(lost) > 5 else "")
        done = "put between the words beside them" if tags_format == "xml" else "left out"
        log(f"annotations of words without a link: {len(lost):,}, {done} (line {where})", event="unlinked")


def _say_written(what: str, paths: list[str], progress: Progress) -> None:
    """Say in one line what was written where."""
    where = "" if "-" in paths else f" in {' and '.join(paths)}"
    log(f"{what}{where}, {progress.seconds:.1f} s", event="written")


def _projected(
    linked: LinkedOptions, tags: str, project_line: Callable[..., tuple[str, list[Span]]], lost: list[int]
) -> Iterator[str]:
    from nmtalign.files import read_lines, side_by_side
    from nmtalign.links.projection import unlinked

    columns, files = (linked.read(), read_lines(tags, encoding=text_encoding())), (str(linked.source), tags)
    for number, (pair, line) in enumerate(side_by_side(columns, files), 1):
        with _placed(tags, number):
            projected, spans = project_line(line, pair, linked.spans)
            lost += [number] * len(unlinked(spans, pair.links))
            yield f"{projected}\n"


@contextmanager
def _placed(path: str | None, number: int) -> Iterator[None]:
    """Add the file and the line to an error."""
    try:
        yield
    except DataError as error:
        raise error.at(str(path), line=number) from None


def _project_tags(tagged: str, pair: LinkedPair, cut: Cut) -> tuple[str, list[Span]]:
    from nmtalign.links.projection import parse_tags, project_tags, spans_of_tags

    words, line = parse_tags(tagged, cut)
    expected = [pair.pair.source[start:end] for start, end in cut(pair.pair.source)]
    if words != expected:
        both = enumerate(zip_longest(expected, words, fillvalue=""))
        at, word, found = next((at, word, found) for at, (word, found) in both if word != found)
        raise DataError(f"expected the source words with tags; word {at} is {word!r}, found {found!r}")
    return project_tags(line, pair.target, pair.links), spans_of_tags(line)


def _project_labels(line: str, pair: LinkedPair, _: Cut) -> tuple[str, list[Span]]:
    from nmtalign.links.projection import labels_of_spans, project_spans, spans_of_labels

    labels = [label for label in line.split(" ") if label]
    if len(labels) != len(pair.source):
        raise DataError(f"expected a label for each of {len(pair.source)} source words, found {len(labels)}")
    given = spans_of_labels(labels)
    spans = project_spans(given, pair.links, len(pair.target))
    return " ".join(labels_of_spans(spans, len(pair.target))), given


def _project_spans(line: str, pair: LinkedPair, _: Cut) -> tuple[str, list[Span]]:
    from nmtalign.links.projection import parse_spans, project_spans

    given = parse_spans(line, len(pair.source))
    spans = project_spans(given, pair.links, len(pair.target))
    return " ".join(f"{start}-{end}:{label}" for start, end, label in spans), given


_PROJECTIONS = {"xml": _project_tags, "bio": _project_labels, "spans": _project_spans}


# --- lexicon -------------------------------------------------------------------------------------

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
