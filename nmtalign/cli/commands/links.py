"""Commands over link files: join, convert, project, score them; list phrases and translations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

import click

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.declare import INPUT, OUTPUT, Number, OutputPrefix, Whole, argument, command, option
from nmtalign.cli.messages import Progress, log, quiet_option, warn
from nmtalign.cli.running import write_whole
from nmtalign.cli.texts import LinkedOptions, LinkedPair, TextOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.files import read_lines, side_by_side
from nmtalign.names import READ_LINKS, SYMMETRIZATIONS, TAG_FORMATS, WRITTEN_LINKS
from nmtalign.output import Outputs

if TYPE_CHECKING:
    from nmtalign.links.evaluation import Difference, Links
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

    PREFIX.s2t has lines `target source p(target|source)`, PREFIX.t2s lines `source target p(source|target)`;
    PREFIX.tsv has one line a word pair with its links (those of a model are expected counts), both
    probabilities, and for LINKS the log-likelihood ratio of the two words.

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


# --- evaluate ------------------------------------------------------------------------------------

CLEAR = 0.1  # of the error rate: so much lower after a shift, positions are counted otherwise
_SHARE = Number(0, 1, min_open=True, max_open=True)


@command(
    "Input",
    argument("links", INPUT),
    argument("gold", INPUT),
    option("--links-format", READ_LINKS, "Format of LINKS and of --compare.", default="pharaoh"),
    option(
        "--gold-format",
        READ_LINKS,
        "Format of GOLD; in pharaoh (from 0) and talp (from 1), 3-4 is sure and 3p4 possible.",
        default="pharaoh",
    ),
    option("--compare LINKS2", INPUT, "Test the difference to these links."),
    texts.encoding_option,
    "Output",
    option("--by-sentence", bool, "First print a table with the scores of each sentence pair."),
    "Intervals",
    option("--samples", Whole(1), "Bootstrap samples.", default=1000),
    option("--confidence", _SHARE, "Share of the samples within an interval.", default=0.95),
    option("--seed", Whole(min=0), "Seed of the bootstrap.", default=1),
)
def evaluate(links: str, gold: str, compare: str | None, by_sentence: bool, **options: Any) -> None:
    """Score LINKS against GOLD: precision, recall, F1 and alignment error rate, in percent.

    Example: nmtalign evaluate links.txt gold.pharaoh
    """
    from nmtalign.links import evaluation
    from nmtalign.links.formats import are_corrections, read_links

    links_format, gold_format = options.pop("links_format"), options.pop("gold_format")
    golds = na.read_gold(gold, format=gold_format, encoding=texts.encoding())
    reading = {"format": links_format, "encoding": texts.encoding()}
    systems = {path: list(read_links(path, **reading)) for path in filter(None, (links, compare))}
    if gold_format == "pharaoh" and are_corrections(gold):
        golds, systems = _reviewed(gold, golds, systems)
    bootstrap = evaluation.Bootstrap(**options)
    results = {}
    for path, system in systems.items():
        try:
            results[path] = evaluation.evaluate(system, golds, bootstrap=bootstrap)
        except DataError as error:
            raise error.at(path) from None
        _warn_of_shift(path, system, golds, results[path].aer)
    if by_sentence:
        _print_sentences(results)
    if compare is None:
        _print_summary(results[links], bootstrap.confidence)
    else:
        _print_comparison(results, evaluation.compare(*results.values(), bootstrap=bootstrap))
    settings = f"{results[links].settings}|format:{links_format}|gold:{gold_format}"
    click.echo(f"settings    {settings}|version:{na.__version__}")


def _reviewed(
    gold: str, golds: list[na.GoldAlignment], systems: dict[str, list[frozenset[na.Link]]]
) -> tuple[list[na.GoldAlignment], dict[str, list[frozenset[na.Link]]]]:
    """Return the gold and the links of the pairs that were reviewed, of files with a line for each."""
    from nmtalign.links.formats import read_corrections

    if any(len(system) != len(golds) for system in systems.values()):
        return golds, systems  # refused as gold of any other length
    numbers = sorted(read_corrections(gold, encoding=texts.encoding()))
    log(f"scored on the {len(numbers):,} of {len(golds):,} pairs that were reviewed", event="reviewed")
    at = [n - 1 for n in numbers]
    return [golds[n] for n in at], {path: [system[n] for n in at] for path, system in systems.items()}


def _warn_of_shift(path: str, system: Sequence[Links], golds: list[na.GoldAlignment], aer: float) -> None:
    """Warn where links fit the gold better one position on or back: one of the files counts from 1."""
    from nmtalign.links.evaluation import Counts, count

    for step, moved in (1, "higher"), (-1, "lower"):
        shifted = [{(source + step, target + step) for source, target in links} for links in system]
        shifted_aer = sum(count(shifted, golds), Counts()).aer
        if shifted_aer < aer - CLEAR:
            hint = "does one of the files count from 1, as talp does? --links-format and --gold-format say so"
            error = f"the error of {path} would be {100 * shifted_aer:.1f} %"
            warn(f"with all positions one {moved}, {error}; {hint}")


def _print_sentences(results: dict[str, na.Evaluation]) -> None:
    """One row for each sentence pair and link file, between tabs; NaN is an unknown score."""
    from nmtalign.links.evaluation import METRICS

    counted = ("links", "sure", "in_sure", "in_possible")
    click.echo("\t".join(("file", "line", *METRICS, *counted)))
    for path, result in results.items():
        for number, counts in enumerate(result.sentences, 1):
            scores = (f"{100 * getattr(counts, metric):.2f}" for metric in METRICS)
            numbers = (getattr(counts, column) for column in counted)
            click.echo("\t".join(map(str, (path, number, *scores, *numbers))))
    click.echo()


def _percent(value: float, interval: tuple[float, float], sign: str = "") -> str:
    low, high = interval
    return f"{100 * value:{sign}6.2f}  [{100 * low:{sign}.2f}, {100 * high:{sign}.2f}]"


def _print_summary(result: na.Evaluation, confidence: float) -> None:
    click.echo(f"            percent [{100 * confidence:g} % interval]")
    for metric, interval in result.intervals.items():
        click.echo(f"{metric:<12}{_percent(result.score(metric), interval)}")
    counts = result.counts
    links = f"{counts.links} ({counts.in_possible} possible, {counts.in_sure} sure)"
    click.echo(f"pairs {len(result.sentences)}, links {links}, sure gold links {counts.sure}")


def _print_comparison(results: dict[str, na.Evaluation], differences: dict[str, Difference]) -> None:
    """The scores of both files, the second minus the first, and how likely that is by chance."""
    rows = [["", *results, "difference", "p"]]
    for metric, difference in differences.items():
        scores = [_percent(result.score(metric), result.intervals[metric]) for result in results.values()]
        percent = _percent(difference.value, difference.interval, "+")
        rows.append([metric, *scores, percent, f"{difference.p:.4f}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
