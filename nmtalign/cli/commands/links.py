"""Commands over link files: join, convert, project, score them; list phrases and translations."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.bad_records import BadRecords, ErrorOptions
from nmtalign.cli.declare import (
    INPUT,
    OUTPUT,
    Number,
    Options,
    OutputPrefix,
    Whole,
    argument,
    command,
    option,
)
from nmtalign.cli.messages import Progress, log, printable, quiet_option, show, warn
from nmtalign.cli.running import write_whole
from nmtalign.cli.texts import LinkedOptions, LinkedPair, OptionalLinkedOptions, WordFormOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.text_files import read_lines, zip_lines
from nmtalign.links.separators import tsv_cell, without_formula
from nmtalign.names import ReadLinksFormat, Symmetrization, TagFormat, WrittenLinksFormat

if TYPE_CHECKING:
    from nmtalign.links.evaluation import Counts, Difference, LinkPairs
    from nmtalign.links.formats import LinkRecord
    from nmtalign.links.lexicon import Entry
    from nmtalign.links.projection import Span

_TOGETHER = 16_384  # pairs read, joined and written at a time


@dataclass(frozen=True, kw_only=True)
class OutputFileOptions(Options):
    """The file to write."""

    section = "Output"

    output: str = option("-o --output FILE", "File to write.", type=OUTPUT, default="-")


@dataclass(frozen=True, kw_only=True)
class DirectionOptions(Options):
    """The links of both directions, and how they are joined."""

    section = "Links"

    forward: str = argument(type=INPUT)
    reverse: str = argument(type=INPUT)
    reversed: bool = option(
        "--reversed", "The links of REVERSE are target-source: swap them.", default=False, section="Input"
    )
    encoding: str = texts.encoding_option()
    method: Symmetrization = option("--method", "How the links are joined.", default="grow-diag-final-and")


@command()
def symmetrize(directions: DirectionOptions, file: OutputFileOptions) -> None:
    """Join the Pharaoh links of two directions, line by line; both are source-target.

    Example: nmtalign symmetrize forward.txt reverse.txt --method grow-diag-final-and -o links.txt
    """
    from nmtalign.links.formats import format_pharaoh, read_links
    from nmtalign.links.symmetrization import symmetrize_many

    def joined() -> Iterator[str]:
        files = directions.forward, directions.reverse
        links_of_files = [read_links(path, encoding=directions.encoding) for path in files]
        lines = zip_lines(links_of_files, files)
        while chunk := list(islice(lines, _TOGETHER)):
            first = [pair[0] for pair in chunk]
            second = [pair[1] for pair in chunk]
            if directions.reversed:
                second = [frozenset((s, t) for t, s in links) for links in second]
            for links in symmetrize_many(first, second, directions.method):
                yield f"{format_pharaoh(links)}\n"

    write_whole({file.output: joined()})


@dataclass(frozen=True, kw_only=True)
class ConvertedOptions(WordFormOptions):
    """The links to convert, and their words."""

    links: str = argument(type=INPUT)
    format: ReadLinksFormat = option("--from", "Format of LINKS.", required=True)
    source: str | None = option("--source FILE", "Source text, if LINKS contain no words.", type=INPUT)
    target: str | None = option("--target FILE", "Target text.", type=INPUT)
    encoding: str = texts.encoding_option()
    to: WrittenLinksFormat = option("--to", "Format to write.", required=True, section="Output")


@command()
def convert(converted: ConvertedOptions, errors: ErrorOptions, file: OutputFileOptions) -> None:
    """Convert LINKS between Pharaoh, talp, NAACL, GIZA A3, word pairs, JSONL and TSV.

    The formats giza, words and tsv (source, target, links) need --source and --target, unless LINKS
    hold the words, which stand between spaces. A NAACL file has no line for a pair without
    links: with the texts, empty pairs at its end are kept.

    Example: nmtalign convert gold.talp --from talp --to pharaoh -o gold.pharaoh
    """
    if (converted.source is None) != (converted.target is None):
        raise UsageError("give both --source and --target, or neither")
    if converted.source is None and (converted.lowercase is not None or converted.unicode is not None):
        raise UsageError("--lowercase and --unicode are for words of texts; give --source and --target too")
    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        records = bad.track(_records(converted, bad))
        outputs.text(file.output).writelines(_converted(records, converted, bad))
    errors.say(bad)


def _records(converted: ConvertedOptions, bad: BadRecords) -> Iterator[LinkRecord]:
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
    from nmtalign.links.formats import LinkRecord

    none = na.GoldAlignment((), ())
    pairs = 0
    for pairs, (source, target) in enumerate(words, 1):
        record = next(records, LinkRecord(none) if padded else None)
        if record is None:
            raise DataError(f"expected links for each pair of the texts, found only {pairs - 1} in {links}")
        with_words = LinkRecord(none, tuple(source), tuple(target))
        try:
            yield with_words if bad.has_current else replace(with_words, gold=record.gold)
        except DataError as error:
            bad.add(DataError(f"pair {pairs}: {error}; {texts.ADVICE}").at(links))
            yield with_words
    if next(records, None) is not None:
        raise DataError(f"expected links for the {pairs} pairs of the texts, found more in {links}")


def _converted(records: Iterator[LinkRecord], converted: ConvertedOptions, bad: BadRecords) -> Iterator[str]:
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


def _place_of_words(converted: ConvertedOptions, number: int, side: int) -> tuple[str, int | None]:
    """Return the file and the line that hold the words of a side of a record."""
    if converted.source is not None:
        return str((converted.source, converted.target)[side]), number
    if converted.format == "giza":  # three lines per pair, in any order
        return f"{converted.links}, pair {number:,}", None
    return converted.links, number


@dataclass(frozen=True, kw_only=True)
class PhraseOptions(Options):
    """Which phrases are listed, and the files."""

    section = "Output"

    output: str | None = option(
        "-o --output PREFIX",
        "Write PREFIX.extract and PREFIX.extract.inv.  [print one list]",
        type=OutputPrefix(".extract", ".extract.inv"),
    )
    longest: int = option(
        "--longest", "Maximum number of words on either side of a phrase pair.", type=Whole(min=1), default=7
    )


@command(quiet_option)
def phrases(linked: LinkedOptions, errors: ErrorOptions, phrase: PhraseOptions) -> None:
    """List the phrase pairs that are consistent with Pharaoh LINKS; words stand between spaces.

    A line holds `source words ||| target words ||| links inside`, as Moses' extract writes it. With -o, the
    files are PREFIX.extract and PREFIX.extract.inv, where the sides are swapped.

    Example: nmtalign phrases text.en text.fr links.txt -o corpus
    """
    from nmtalign.links.lexicon import BETWEEN_SIDES, format_phrases

    count = 0
    with AtomicFiles() as outputs, Progress("pairs", linked.files) as progress:
        bad = errors.open(outputs)
        paths = ["-"]
        if phrase.output is not None:
            paths = [f"{phrase.output}.extract", f"{phrase.output}.extract.inv"]
        files = [outputs.text(path) for path in paths]
        pairs = linked.read(bad, separator=BETWEEN_SIDES)
        for _, source, target, links in progress.done_one_by_one(progress.track(pairs)):
            sides = (source, target, links), (target, source, links.reversed())
            for file, side in zip(files, sides, strict=False):
                text = format_phrases(*side, longest=phrase.longest)
                file.write(text)
            count += text.count("\n")
    _say_written(f"{count:,} phrase pairs of {progress.done:,} sentence pairs", paths, progress)
    errors.say(bad)


@dataclass(frozen=True, kw_only=True)
class AnnotationOptions(Options):
    """The annotations to project."""

    section = "Input"

    tags: str = option("--tags FILE", "Annotations of SOURCE, one line per pair.", type=INPUT, required=True)
    tags_format: TagFormat = option("--tags-format", "Format of --tags.", default="xml")


@command(quiet_option)
def project(
    linked: LinkedOptions,
    errors: ErrorOptions,
    annotations: AnnotationOptions,
    file: OutputFileOptions,
) -> None:
    """Project annotations from SOURCE to TARGET over Pharaoh LINKS; words stand between spaces.

    --tags holds the lines of SOURCE with XML tags, or BIO labels (B-X, I-X, O) of the source words, or spans
    like 0-2:NAME, where words count from 0 and the end is not included. The output has the same format. Tags
    stay nested. If no word of an annotation has a link, an XML element goes between the words beside it, and
    a label or span is left out; the last message names the lines.

    Example: nmtalign project text.en text.fr links.txt --tags tagged.en -o tagged.fr
    """
    from nmtalign.links.projection import unlinked

    tags, tags_format = annotations.tags, annotations.tags_format
    lost: list[int] = []  # lines with an annotation whose words have no link

    def projected() -> Iterator[str]:
        lines = read_lines(tags, encoding=linked.encoding, on_error=bad.add)
        columns = linked.read(bad), lines
        for number, (pair, line) in enumerate(zip_lines(columns, (linked.source, tags)), 1):
            text = ""
            if not bad.has_current:
                try:
                    text, spans = _PROJECTIONS[tags_format](line, pair)
                    lost.extend([number] * len(unlinked(spans, pair.links)))
                except DataError as error:
                    bad.add(error.at(tags, line=number))
            yield f"{text}\n"

    with AtomicFiles() as outputs, Progress("pairs", linked.files) as progress:
        bad = errors.open(outputs)
        outputs.text(file.output).writelines(progress.done_one_by_one(projected()))
    _say_written(f"annotations of {progress.done:,} lines", [file.output], progress)
    errors.say(bad)
    if lost:
        where = ", ".join(map(str, dict.fromkeys(lost[:5]))) + (", ..." if len(lost) > 5 else "")
        done = "put between the words beside them" if tags_format == "xml" else "left out"
        log(f"annotations of words without a link: {len(lost):,}, {done} (line {where})", event="unlinked")


def _say_written(what: str, paths: list[str], progress: Progress) -> None:
    """Say in one line what was written where."""
    where = "" if "-" in paths else f" in {' and '.join(paths)}"
    log(f"{what}{where}, {progress.seconds:.1f} s", event="written")


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


@dataclass(frozen=True, kw_only=True)
class LexiconOptions(Options):
    """Which translations are listed, and the files."""

    section = "Output"

    word: str | None = option("--word WORD", "The translations of one word only, of either language.")
    output: str | None = option(
        "-o --output PREFIX", "Write three files, show nothing.", type=OutputPrefix(".s2t", ".t2s", ".tsv")
    )
    priors: str | None = option(
        "--priors FILE", "Write links as eflomal's priors, lines of LEX source target links.", type=OUTPUT
    )
    escape_formulas: bool = texts.formula_option()
    limit: int = option(
        "--limit",
        "Write at most N translations per word to the shortlists; without -o, print at most N rows.",
        type=Whole(min=1),
        default=100,
    )
    min_probability: float = option(
        "--min-probability",
        "Minimum probability of a translation, in either direction.",
        type=Number(0),
        default=0.01,
    )
    model: str | None = option(
        "--model DIR", "A learned model, instead of texts and links.", type=INPUT, section="Model"
    )


@command(quiet_option)
def lexicon(linked: OptionalLinkedOptions, errors: ErrorOptions, listed: LexiconOptions) -> None:
    """List translations with their probabilities: those of a model, or those that LINKS show.

    LINKS are Pharaoh links between the words of SOURCE and TARGET, which stand between spaces; words without
    a link count as linked to the null word.

    PREFIX.s2t has lines `target source p(target|source)`, PREFIX.t2s lines `source target p(source|target)`;
    PREFIX.tsv has one line a word pair with its links (those of a model are expected counts), both
    probabilities, and for LINKS the log-likelihood ratio of the two words.

    Example: nmtalign lexicon --model model -o lex
    """
    from nmtalign.links import lexicon as lexicons

    uses_texts = bool(linked.files) or linked.lowercase is not None or linked.unicode is not None
    if uses_texts == (listed.model is not None) or any(map(os.path.isdir, linked.files)):
        raise UsageError("expected --model DIR alone, or three files: SOURCE TARGET LINKS")
    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        plain = listed.output is not None or listed.priors is not None
        entries = _chosen(
            _entries(linked, listed.model, bad, plain=plain), listed.word, listed.min_probability
        )
        row = partial(_row, escape_formulas=listed.escape_formulas)
        files: dict[str, Iterable[str]] = {}
        if listed.output is not None:
            files[f"{listed.output}.s2t"] = lexicons.shortlist(entries, most=listed.limit)
            files[f"{listed.output}.t2s"] = lexicons.shortlist(entries, reverse=True, most=listed.limit)
            files[f"{listed.output}.tsv"] = (f"{line}\n" for line in chain([_HEADER], map(row, entries)))
        if listed.priors is not None:
            files[listed.priors] = lexicons.priors(entries)
        for path, lines in files.items():
            outputs.text(path).writelines(lines)
    if files:
        log(f"{len(entries):,} word pairs in {', '.join(files)}", event="written")
    else:
        most_linked = sorted(entries, key=lambda entry: -entry.links)[: listed.limit]
        show("\n".join([_HEADER, *map(row, most_linked)]))
    errors.say(bad)


def _chosen(entries: Iterable[Entry], word: str | None, least: float) -> list[Entry]:
    """Return the entries that are probable enough, of one word if it is given."""
    chosen = [entry for entry in entries if max(entry.forward, entry.reverse) >= least]
    if word is None:
        return chosen
    of_word = [entry for entry in chosen if word in (entry.source, entry.target)]
    if not of_word:
        lower = "; a model contains words in lower case" if word != word.lower() else ""
        raise DataError(f"no translation of {word!r} is as probable as --min-probability{lower}")
    return of_word


def _entries(
    linked: OptionalLinkedOptions, model: str | None, bad: BadRecords, *, plain: bool
) -> Iterable[Entry]:
    """Return the linked words of a bitext, or the word pairs that a learned lexicon has linked.

    Records with words that `plain` files cannot hold are bad.
    """
    if model is not None:
        return _entries_of_model(model, bad, plain=plain)
    counts = na.LinkCounts()
    for _, source, target, links in linked.read(bad, separator="" if plain else None):
        counts.add(source, target, links)
    return counts.entries()


def _entries_of_model(model: str, bad: BadRecords, *, plain: bool) -> Iterator[Entry]:
    from nmtalign.aligner.aligner import load_aligner
    from nmtalign.links.separators import find_split_word

    for entry in bad.track(load_aligner(model).lexicon.translations()):
        found = find_split_word([entry.source], [entry.target]) if plain else None
        if found is None:
            yield entry
        else:
            bad.add_cut(found[1], model)


def _row(entry: Entry, *, escape_formulas: bool) -> str:
    """Return the cells of one line; expected counts have two digits after the point."""
    words = entry.source, entry.target
    if escape_formulas:
        words = without_formula(entry.source), without_formula(entry.target)
    links = f"{entry.links:.2f}".removesuffix(".00")
    association = "" if entry.association is None else f"{entry.association:.2f}"
    cells = *map(tsv_cell, words), links, f"{entry.forward:.4f}", f"{entry.reverse:.4f}", association
    return "\t".join(cells)


# --- evaluate ------------------------------------------------------------------------------------

CLEAR = 0.1  # of the error rate: so much lower after a shift, positions are counted otherwise
_SHARE = Number(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True, kw_only=True)
class ScoredOptions(Options):
    """The links that are scored, and the gold links."""

    section = "Input"

    links: str = argument(type=INPUT)
    gold: str = argument(type=INPUT)
    links_format: ReadLinksFormat = option(
        "--links-format", "Format of LINKS and of --compare.", default="pharaoh"
    )
    gold_format: ReadLinksFormat = option(
        "--gold-format",
        "Format of GOLD; in pharaoh (from 0) and talp (from 1), 3-4 is sure and 3p4 possible.",
        default="pharaoh",
    )
    compare: str | None = option("--compare LINKS2", "Test the difference to these links.", type=INPUT)
    encoding: str = texts.encoding_option()
    by_sentence: bool = option(
        "--by-sentence",
        "First print a table with the scores of each sentence pair.",
        default=False,
        section="Output",
    )


@dataclass(frozen=True, kw_only=True)
class IntervalOptions(Options):
    """The bootstrap that estimates intervals."""

    section = "Intervals"

    samples: int = option("--samples", "Bootstrap samples.", type=Whole(1), default=1000)
    confidence: float = option(
        "--confidence", "Confidence level of the intervals.", type=_SHARE, default=0.95
    )
    seed: int = option("--seed", "Seed of the bootstrap.", type=Whole(min=0), default=1)


@command()
def evaluate(scored: ScoredOptions, intervals: IntervalOptions) -> None:
    """Score LINKS against GOLD: precision, recall, F1 and alignment error rate, in percent.

    Example: nmtalign evaluate links.txt gold.pharaoh
    """
    from nmtalign.links import evaluation
    from nmtalign.links.formats import are_corrections, read_links

    links, gold, compare = scored.links, scored.gold, scored.compare
    golds = na.read_gold(gold, format=scored.gold_format, encoding=scored.encoding)
    systems = {
        path: list(read_links(path, format=scored.links_format, encoding=scored.encoding))
        for path in (links, compare)
        if path is not None
    }
    if scored.gold_format == "pharaoh" and are_corrections(gold):
        golds, systems = _reviewed(gold, golds, systems, scored.encoding)
    bootstrap = evaluation.Bootstrap(
        samples=intervals.samples, confidence=intervals.confidence, seed=intervals.seed
    )
    results = {}
    for path, system in systems.items():
        try:
            results[path] = evaluation.evaluate(system, golds, bootstrap=bootstrap)
        except DataError as error:
            raise error.at(path) from None
        _warn_of_shift(path, system, golds, results[path].aer)
        _warn_of_undefined(path, gold, results[path].counts)
    if scored.by_sentence:
        _print_sentences(results)
    if compare is None:
        _print_summary(results[links], bootstrap.confidence)
    else:
        _print_comparison(results, evaluation.compare_evaluations(*results.values(), bootstrap=bootstrap))
    settings = f"{results[links].settings}|format:{scored.links_format}|gold:{scored.gold_format}"
    show(f"settings    {settings}|version:{na.__version__}")


def _reviewed(
    gold: str,
    golds: Sequence[na.GoldAlignment],
    systems: dict[str, list[frozenset[na.Link]]],
    encoding: str,
) -> tuple[Sequence[na.GoldAlignment], dict[str, list[frozenset[na.Link]]]]:
    """Return the gold and the links of the pairs that were reviewed, of files with a line for each."""
    from nmtalign.links.formats import read_corrections

    if any(len(system) != len(golds) for system in systems.values()):
        return golds, systems  # refused as gold of any other length
    numbers = sorted(read_corrections(gold, encoding=encoding))
    log(f"scored on the {len(numbers):,} of {len(golds):,} pairs that were reviewed", event="reviewed")
    at = [n - 1 for n in numbers]
    return [golds[n] for n in at], {path: [system[n] for n in at] for path, system in systems.items()}


def _warn_of_shift(
    path: str, system: Sequence[LinkPairs], golds: Sequence[na.GoldAlignment], aer: float
) -> None:
    """Warn where links fit the gold better one position on or back: one of the files counts from 1."""
    from nmtalign.links.evaluation import Counts, count_matches

    for step, moved in (1, "higher"), (-1, "lower"):
        shifted = [{(source + step, target + step) for source, target in links} for links in system]
        shifted_aer = sum(count_matches(shifted, golds), Counts()).aer
        if shifted_aer < aer - CLEAR:
            hint = "does one of the files count from 1, as talp does? --links-format and --gold-format say so"
            error = f"the error of {path} would be {100 * shifted_aer:.1f} %"
            warn(f"with all positions one {moved}, {error}; {hint}")


def _warn_of_undefined(path: str, gold: str, counts: Counts) -> None:
    """Say why scores are undefined."""
    if not counts.links:
        warn(f"{path} has no links, so precision and F1 are undefined")
    if not counts.sure:
        warn(f"{gold} has no sure links, so recall and F1 are undefined")


def _print_sentences(results: dict[str, na.Evaluation]) -> None:
    """One row for each sentence pair and link file, between tabs; NaN is an unknown score."""
    from nmtalign.links.evaluation import METRICS

    counted = ("links", "sure", "in_sure", "in_possible")
    show("\t".join(("file", "line", *METRICS, *counted)))
    for path, result in results.items():
        for number, counts in enumerate(result.sentences, 1):
            scores = (f"{100 * getattr(counts, metric):.2f}" for metric in METRICS)
            numbers = (getattr(counts, column) for column in counted)
            show("\t".join(map(str, (printable(path), number, *scores, *numbers))))
    show()


def _percent(value: float, interval: tuple[float, float], sign: str = "") -> str:
    if math.isnan(value):
        return "undefined"
    low, high = interval
    return f"{100 * value:{sign}6.2f}  [{100 * low:{sign}.2f}, {100 * high:{sign}.2f}]"


def _print_summary(result: na.Evaluation, confidence: float) -> None:
    show(f"            percent [{100 * confidence:g} % interval]")
    for metric, interval in result.intervals.items():
        show(f"{metric:<12}{_percent(result.score(metric), interval)}")
    counts = result.counts
    links = f"{counts.links} ({counts.in_possible} possible, {counts.in_sure} sure)"
    show(f"pairs {len(result.sentences)}, links {links}, sure gold links {counts.sure}")


def _print_comparison(results: dict[str, na.Evaluation], differences: dict[str, Difference]) -> None:
    """The scores of both files, the second minus the first, and how likely that is by chance."""
    rows = [["", *map(printable, results), "difference", "p"]]
    for metric, difference in differences.items():
        scores = [_percent(result.score(metric), result.intervals[metric]) for result in results.values()]
        percent = _percent(difference.value, difference.interval, "+")
        rows.append([metric, *scores, percent, "" if math.isnan(difference.p) else f"{difference.p:.4f}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        show("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
