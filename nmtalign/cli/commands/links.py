"""Commands over link files: ``symmetrize``, ``convert``, ``phrases``, ``project`` and ``lexicon``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

import click

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.declare import INPUT, OUTPUT, Number, OutputPrefix, Whole, argument, command, option
from nmtalign.cli.messages import Progress, log, quiet_option
from nmtalign.cli.running import write_whole
from nmtalign.cli.texts import LinkedOptions, LinkedPair, TextOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.files import read_lines, side_by_side
from nmtalign.names import READ_LINKS, SYMMETRIZATIONS, TAG_FORMATS, WRITTEN_LINKS
from nmtalign.output import Outputs

if TYPE_CHECKING:
    from nmtalign.links.formats import LinkRecord
    from nmtalign.links.lexicon import Entry
    from nmtalign.links.projection import Span

_TOGETHER = 16_384  # pairs read, joined and written at a time

_output = ("Output", option("-o --output FILE", OUTPUT, "File to write.", default="-"))


@command(
    argument("forward", INPUT),
    argument("reverse", INPUT),
    "Input",
    option("--reversed", bool, "The links of REVERSE are target-source: swap them."),
    texts.encoding_option,
    _output,
    "Links",
    option("--method", SYMMETRIZATIONS, "How the links are joined.", default="grow-diag-final-and"),
)
def symmetrize(forward: str, reverse: str, method: str, reversed: bool, output: str) -> None:
    """Join the Pharaoh links of two directions, line by line; both are source-target.

    Example: nmtalign symmetrize forward.txt reverse.txt --method grow-diag-final-and -o links.txt
    """
    from nmtalign.links.formats import format_pharaoh, read_links
    from nmtalign.links.symmetrization import symmetrize_many

    def joined() -> Iterator[str]:
        files = forward, reverse
        lines = side_by_side((read_links(path, encoding=texts.encoding()) for path in files), files)
        while chunk := list(islice(lines, _TOGETHER)):
            first, second = ([pair[side] for pair in chunk] for side in (0, 1))
            if reversed:
                second = [frozenset((s, t) for t, s in links) for links in second]
            yield from (f"{format_pharaoh(links)}\n" for links in symmetrize_many(first, second, method))

    write_whole({output: joined()})


@command(
    argument("links", INPUT),
    "Input",
    option("--from from_", READ_LINKS, "Format of LINKS.", required=True),
    option("--source", INPUT, "Source text, if LINKS hold no words."),
    option("--target", INPUT, "Target text."),
    texts.cut_options,
    _output,
    option("--to", WRITTEN_LINKS, "Format to write.", required=True),
)
def convert(links: str, from_: str, to: str, output: str, cut: TextOptions, **bitext: str | None) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL and TSV.

    The formats giza, words and tsv (source, target, links) need --source and --target, unless LINKS
    hold the words, which stand between spaces. A NAACL file has no line for a pair without
    links: with the texts, empty pairs at its end are kept.

    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
    """
    from nmtalign.links.formats import format_record, read_records
    from nmtalign.text.tokenization import SPACES

    source, target = bitext["source"], bitext["target"]
    if (source is None) != (target is None):
        raise UsageError("give both --source and --target, or neither")
    records = read_records(links, format=from_, encoding=texts.encoding())
    if source is not None and target is not None:
        pairs = na.read_bitext(source, target, encoding=texts.encoding())
        words = map(cut.settings(SPACES).words_of_pair, pairs)
        records = _with_words(records, words, links, padded=from_ == "naacl")
    elif cut.given:
        raise UsageError("--lowercase and --unicode are for words of texts; give --source and --target too")
    numbered = enumerate(records, 1)
    write_whole({output: (format_record(record, format=to, number=number) for number, record in numbered)})


def _with_words(
    records: Iterator[LinkRecord], words: Iterator[tuple[list[str], list[str]]], links: str, *, padded: bool
) -> Iterator[LinkRecord]:
    """Put the words of the texts into the records; `padded` records may end early."""
    from nmtalign.links.formats import LinkRecord

    empty = LinkRecord(na.GoldAlignment(frozenset(), frozenset())) if padded else None
    pairs = 0
    for pairs, sides in enumerate(words, 1):
        record = next(records, empty)
        if record is None:
            raise DataError(f"expected links for each pair of the texts, found only {pairs - 1} in {links}")
        try:
            with_words = LinkRecord(record.gold, *map(tuple, sides))
        except DataError as error:
            raise DataError(f"pair {pairs}: {error}; {texts.ADVICE}").at(links) from None
        yield with_words
    if next(records, None) is not None:
        raise DataError(f"expected links for the {pairs} pairs of the texts, found more in {links}")


@command(
    texts.linked_options(),
    "Output",
    option("-o --output PREFIX", OutputPrefix(".extract", ".extract.inv"), "Write two files, show nothing."),
    option("--longest", Whole(min=1), "Most words of a phrase, on either side.", default=7),
    quiet_option,
)
def phrases(linked: LinkedOptions, output: str | None, longest: int) -> None:
    """List the phrase pairs that are consistent with Pharaoh LINKS; words stand between spaces.

    A line holds `source words ||| target words ||| links inside`, as Moses' extract writes it. With -o, the
    files are PREFIX.extract and PREFIX.extract.inv, where the sides are swapped.

    Example: nmtalign phrases text.en text.fr links.txt -o corpus
    """
    from nmtalign.links.lexicon import format_phrases

    count = 0
    with Outputs() as outputs, Progress("pairs", linked.files) as progress:
        paths = ["-"] if output is None else [f"{output}.extract", f"{output}.extract.inv"]
        files = [outputs.text(path) for path in paths]
        pairs = progress.done_one_by_one(progress.track(linked.read()))
        for number, (_, source, target, links) in enumerate(pairs, 1):
            sides = (source, target, links), (target, source, links.reversed())
            for file, side in zip(files, sides, strict=False):
                with _placed(linked.source, number):
                    text = format_phrases(*side, longest=longest)
                file.write(text)
            count += text.count("\n")
    _say_written(f"{count:,} phrase pairs of {progress.done:,} sentence pairs", paths, progress)


@command(
    texts.linked_options(),
    "Input",
    option("--tags", INPUT, "Annotations of SOURCE, a line for each pair.", required=True),
    option("--tags-format", TAG_FORMATS, "Format of --tags.", default="xml"),
    _output,
    quiet_option,
)
def project(linked: LinkedOptions, tags: str, tags_format: str, output: str) -> None:
    """Project annotations from SOURCE to TARGET over Pharaoh LINKS; words stand between spaces.

    --tags holds the lines of SOURCE with XML tags, or BIO labels (B-X, I-X, O) of the source words, or spans
    like 0-2:NAME, where words count from 0 and the end is not included. The output has the same format. Tags
    stay nested. If no word of an annotation has a link, an XML element goes between the words beside it, and
    a label or span is left out; the last message names the lines.

    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
    """
    from nmtalign.links.projection import unlinked

    lost: list[int] = []  # lines with an annotation whose words have no link

    def projected() -> Iterator[str]:
        columns = linked.read(), read_lines(tags, encoding=texts.encoding())
        for number, (pair, line) in enumerate(side_by_side(columns, (linked.source, tags)), 1):
            with _placed(tags, number):
                text, spans = _PROJECTIONS[tags_format](line, pair)
                lost.extend([number] * len(unlinked(spans, pair.links)))
            yield f"{text}\n"

    with Progress("pairs", linked.files) as progress:
        write_whole({output: progress.done_one_by_one(projected())})
    _say_written(f"annotations of {progress.done:,} lines", [output], progress)
    if lost:
        where = ", ".join(map(str, dict.fromkeys(lost[:5]))) + (", ..." if len(lost) > 5 else "")
        done = "put between the words beside them" if tags_format == "xml" else "left out"
        log(f"annotations of words without a link: {len(lost):,}, {done} (line {where})", event="unlinked")


def _say_written(what: str, paths: list[str], progress: Progress) -> None:
    """Say in one line what was written where."""
    where = "" if "-" in paths else f" in {' and '.join(paths)}"
    log(f"{what}{where}, {progress.seconds:.1f} s", event="written")


@contextmanager
def _placed(path: str, number: int) -> Iterator[None]:
    """Add the file and the line to an error."""
    try:
        yield
    except DataError as error:
        raise error.at(path, line=number) from None


def _project_tags(tagged: str, pair: LinkedPair) -> tuple[str, list[Span]]:
    from nmtalign.links.projection import parse_tags, project_tags, spans_of_tags

    words, line = parse_tags(tagged)
    expected = [word for word in pair.pair.source.split(" ") if word]
    if words != expected:
        both = enumerate(zip_longest(expected, words, fillvalue=""))
        at, word, other = next((at, word, other) for at, (word, other) in both if word != other)
        raise DataError(f"expected the source words with tags; word {at} is {word!r}, found {other!r}")
    return project_tags(line, pair.target, pair.links), spans_of_tags(line)


def _project_labels(line: str, pair: LinkedPair) -> tuple[str, list[Span]]:
    from nmtalign.links.projection import labels_of_spans, project_spans, spans_of_labels

    labels = [label for label in line.split(" ") if label]
    if len(labels) != len(pair.source):
        raise DataError(f"expected a label for each of {len(pair.source)} source words, found {len(labels)}")
    given = spans_of_labels(labels)
    spans = project_spans(given, pair.links, len(pair.target))
    return " ".join(labels_of_spans(spans, len(pair.target))), given


def _project_spans(line: str, pair: LinkedPair) -> tuple[str, list[Span]]:
    from nmtalign.links.projection import parse_spans, project_spans

    given = parse_spans(line, len(pair.source))
    spans = project_spans(given, pair.links, len(pair.target))
    return " ".join(f"{start}-{end}:{label}" for start, end, label in spans), given


_PROJECTIONS = {"xml": _project_tags, "bio": _project_labels, "spans": _project_spans}


# --- lexicon -------------------------------------------------------------------------------------

_HEADER = "source\ttarget\tlinks\tp(target|source)\tp(source|target)\tassociation"


@command(
    texts.linked_options(required=False),
    "Output",
    option("--word WORD", str, "The translations of one word only, of either language."),
    option("-o --output PREFIX", OutputPrefix(".s2t", ".t2s", ".tsv"), "Write three files, show nothing."),
    option("--priors", OUTPUT, "Write links as eflomal's priors, lines of LEX source target links."),
    option("--limit", Whole(min=1), "Most translations of a word; without -o, most lines.", default=100),
    option("--least", Number(0), "Least probability of a translation, in either direction.", default=0.01),
    "Model",
    option("--model DIR", INPUT, "A learned model, instead of texts and links."),
    quiet_option,
)
def lexicon(linked: LinkedOptions, word: str | None, output: str | None, **options: Any) -> None:
    """List translations with their probabilities: those of a model, or those that LINKS show.

    LINKS are Pharaoh links between the words of SOURCE and TARGET, which stand between spaces; words without
    a link count as linked to the null word.

    PREFIX.s2t has lines `target source p(target|source)`, PREFIX.t2s lines `source target p(source|target)`,
    as Marian reads them; PREFIX.tsv has one line a word pair with its links (those of a model are expected
    counts), both probabilities, and for LINKS the log-likelihood ratio of the two words.

    Example: nmtalign lexicon --model model -o lex
    """
    from nmtalign.links import lexicon as lexicons

    if bool(linked.given) == bool(options["model"]) or any(map(os.path.isdir, linked.files)):
        raise UsageError("expected --model DIR alone, or three files: SOURCE TARGET LINKS")
    entries = [
        entry
        for entry in _entries(linked, options["model"])
        if max(entry.forward, entry.reverse) >= options["least"]
    ]
    if word is not None:
        entries = [entry for entry in entries if word in (entry.source, entry.target)]
        if not entries:
            lower = "; a model holds words in lower case" if word != word.lower() else ""
            raise DataError(f"no translation of {word!r} is as probable as --least{lower}")
    files: dict[str, Iterable[str]] = {}
    if output is not None:
        files[f"{output}.s2t"] = lexicons.shortlist(entries, most=options["limit"])
        files[f"{output}.t2s"] = lexicons.shortlist(entries, reverse=True, most=options["limit"])
        files[f"{output}.tsv"] = (f"{line}\n" for line in chain([_HEADER], map(_row, entries)))
    if options["priors"] is not None:
        files[options["priors"]] = lexicons.priors(entries)
    if files:
        write_whole(files)
        log(f"{len(entries):,} word pairs in {', '.join(files)}", event="written")
    else:
        most_linked = sorted(entries, key=lambda entry: -entry.links)[: options["limit"]]
        click.echo("\n".join([_HEADER, *map(_row, most_linked)]))


def _entries(linked: LinkedOptions, model: str | None) -> Iterable[Entry]:
    """Return the linked words of a bitext, or the word pairs that a learned lexicon has linked."""
    if model is not None:
        from nmtalign.aligner.aligner import load_aligner

        entries: Iterator[Entry] = load_aligner(model).lexicon.translations()
        return entries
    counts = na.LinkCounts()
    for _, source, target, links in linked.read():
        counts.add(source, target, links)
    return counts.entries()


def _row(entry: Entry) -> str:
    """Return the cells of one line; expected counts have two digits after the point."""
    links = f"{entry.links:.2f}".removesuffix(".00")
    association = "" if entry.association is None else f"{entry.association:.2f}"
    cells = entry.source, entry.target, links, f"{entry.forward:.4f}", f"{entry.reverse:.4f}", association
    return "\t".join(cells)
