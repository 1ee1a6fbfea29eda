"""``nmtalign check``: what is wrong with a bitext, line by line, or whether links fit it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import nmtalign as na
from nmtalign import blas
from nmtalign.cli import texts
from nmtalign.cli.bad_records import ListedErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, open_progress
from nmtalign.cli.model_options import JUDGED_PAIRS, load_given
from nmtalign.cli.outputs import OutputFileOptions, log_findings, log_written, refuse_unknown_text
from nmtalign.cli.texts import EscapedBitextOptions, languages_in_paths, languages_option
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.text_files import zip_lines
from nmtalign.names import LinkUnitName, SubwordMarks
from nmtalign.text.bitext import SentencePair, lines_of_sides, named_languages
from nmtalign.text.tokenization import Languages, TextSettings

if TYPE_CHECKING:
    from nmtalign.checks.findings import Finding
    from nmtalign.corpus.unit_fit import UnitFit
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.links.alignments import GoldAlignment, Link


MIN_DOUBT = 0.9  # of gold links that are listed
DOUBT_COLUMNS = ("line", "change", "link", "source_word", "target_word", "doubt", "source", "target")


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Settings):
    """The aligner that judges the pairs, and the exit code."""

    section = "Model"

    model: str | None = setting(
        None,
        "--model DIR",
        "Judge the pairs by this learned model; en_fr_model is the bundled one.  [learned from the text;"
        " --gold: bundled]",
        kind="input",
    )
    langs: tuple[str, str] | None = languages_option()
    gold: str | None = setting(
        None,
        "--gold FILE",
        "List the gold links (Pharaoh format, or corrections) that may be wrong instead of findings.",
        kind="input",
        section="Links",
    )
    strict: bool = setting(False, "--strict", "End with exit code 3 if there is an error.", section="Output")


@dataclass(frozen=True, kw_only=True)
class CheckedLinksOptions(Settings):
    """Links that may be of the text, and the units that are tried."""

    section = "Links"

    links: str | None = setting(
        None,
        "--links FILE",
        "Show whether these links (Pharaoh format, or posteriors) fit the text, and in which unit, instead of"
        " findings.",
        kind="input",
    )
    count: LinkUnitName | None = setting(
        None, "--count", "Fail (exit code 3) unless this is the unit of the positions in --links."
    )
    tokenizer: str | None = setting(
        None, "--tokenizer", "Tokenizer whose tokens --links may count.  [simple]", kind="tokenizer"
    )
    pieces: SubwordMarks | None = setting(None, "--pieces", "Lines consist of sub-words with these marks.")
    spm: str | None = setting(
        None,
        "--spm SRC[,TGT]",
        "Sub-word models whose pieces --links may count.",
        type=texts.SubwordModels(writes=False),
    )

    def units(self) -> dict[str, LinkUnit]:
        """Return the units that are tried, by name."""
        from nmtalign.corpus.units import link_unit

        units = {name: link_unit(count=name, pieces=self.pieces) for name in ("words", "tokens")}
        if self.spm is not None or self.pieces is not None:
            units["pieces"] = link_unit(count="pieces", pieces=self.pieces, spm=self.spm)
        return units


@command("check")
def check_command(
    bitext: EscapedBitextOptions,
    errors: ListedErrorOptions,
    outputs: OutputFileOptions,
    options: CheckOptions,
    checked: CheckedLinksOptions,
) -> None:
    """Find what is wrong with a bitext: two files, or one with both sides (--pairs).

    Writes a table with one row per finding: its line, the last line if there are several, the side, the kind,
    whether it is an error or a hint, a value, and what to do. The two files may have different numbers of
    lines: the findings `slip` and `no-partner` show where the lines do not match. A summary is printed to
    stderr.

    Without --model, an aligner is learned from the text itself, if it has at least 500 pairs. Swapped files
    are found by --langs, or by the names of the files, such as text.en and text.fr.

    With --links, the command shows instead whether links fit the text, and in which unit: words, tokens or
    pieces. A unit fits if no link is outside of its line, and if the last unit of a line is linked about as
    often as the others: word positions, for example, are valid piece positions but never reach the last
    pieces of a line. The exit code is 3 if no unit fits, or if the unit of --count does not fit.

    With --gold, the table has the links that people may have missed (`add`) or made by mistake (`remove`),
    because the model is sure of the opposite. The most doubtful come first.

    Example: nmtalign check text.en text.fr -o findings.tsv
    """
    bitext = bitext.with_languages_of(options.model)
    if checked.links is not None:
        if options.given:
            raise UsageError("--model, --gold, --langs and --strict do not go with --links; remove them")
        _check_links(bitext, errors, outputs, checked)
        return
    if checked.given:
        raise UsageError("--count, --tokenizer, --pieces and --spm are about --links FILE; add it")
    if options.gold is not None:
        _check_gold(bitext, errors, outputs, options)
        return
    blas.start_with_one_thread()
    from nmtalign.checks.checking import find_all
    from nmtalign.checks.findings import KindCounts

    aligner = None if options.model is None else na.load(options.model)
    with AtomicFiles() as files, open_progress("lines", bitext.files) as progress:
        bad = errors.open(files)
        table = files.text(outputs.output)  # a wrong path is an error at once
        opened = bitext.open(bad.add)
        sides = lines_of_sides(opened, track=bad.track)
        if not (sides.source or sides.target):
            raise DataError("expected lines of text, found none").at(" and ".join(bitext.files))
        languages: Languages = languages_in_paths(bitext.source, bitext.target)
        if options.langs is not None:
            languages = options.langs
        elif bitext.pairs is not None:
            languages = named_languages(opened)
        # two files of lines are tracked one after the other, a file with both sides once
        unread = bad.of_files[0], bad.of_files[-1]
        findings = find_all(sides.source, sides.target, aligner, languages=languages, unread=unread)
        write_findings(findings, table)
        progress.advance(max(len(sides.source), len(sides.target)))
    log_findings(KindCounts(findings), bitext)
    counts = f"{with_plural(len(findings), 'finding')} in {with_plural(progress.done, 'line')}"
    log_written(counts, [outputs.output], progress)
    errors.say(bad)
    count = sum(finding.severity == "error" for finding in findings)
    if options.strict and count:
        number = "1 error was" if count == 1 else f"{count:,} errors were"
        place = "" if outputs.output == "-" else f", listed in {outputs.output}"
        raise DataError(f"{number} found{place}; without --strict the exit code is 0")


def _check_links(
    bitext: EscapedBitextOptions,
    errors: ListedErrorOptions,
    outputs: OutputFileOptions,
    checked: CheckedLinksOptions,
) -> None:
    """Show which units of the text the positions in links fit; DataError if they fit none, or not --count."""
    from nmtalign.corpus.unit_fit import fits_of_units, fitting_units

    links = str(checked.links)
    text_settings = TextSettings(checked.tokenizer or "simple", lowercase=False, unicode="none")
    with AtomicFiles() as files:
        bad = errors.open(files)
        fits = fits_of_units(_linked_pairs(bitext, links, bad), checked.units(), text_settings)
        names = list(fitting_units(fits))
        rows = ["unit    pairs outside  ends linked"]
        rows += [f"{fit.name:<7} {fit.outside:>13,}  {100 * fit.end_rate:9.1f} %" for fit in fits]
        if names:
            rows.append(f"links of {' or '.join(names)}")
        files.text(outputs.output).writelines(f"{row}\n" for row in rows)
    errors.say(bad)
    if not names:
        raise DataError(
            f"the links fit none of these units ({_why(fits)}); were they made for this text?"
        ).at(links)
    if checked.count is not None and checked.count not in names:
        found = " or ".join(names)
        raise DataError(f"expected links of {checked.count}, found links of {found}").at(links)


def _check_gold(
    bitext: EscapedBitextOptions,
    errors: ListedErrorOptions,
    outputs: OutputFileOptions,
    options: CheckOptions,
) -> None:
    """Write the gold links that the model doubts, as a table for the people who made them."""
    gold = str(options.gold)
    if options.langs is not None or options.strict:
        raise UsageError("--langs and --strict do not go with --gold; remove them")
    with AtomicFiles() as files:
        bad = errors.open(files)
        table = files.text(outputs.output)
        numbered = list(_gold_pairs(bitext, gold, bad))
        pairs = [pair for _, pair, _ in numbered]
        names = bitext.source, bitext.target
        aligner = load_given(model=options.model, first_lines=pairs[:JUDGED_PAIRS], files=names)
        if options.model is None:
            refuse_unknown_text(aligner.measure_coverage(pairs))
        batch = aligner.align_batch(pairs)
        compared = batch.compare([links for _, _, links in numbered])
        doubtful = compared[compared["doubt"] >= MIN_DOUBT].sort_values(
            "doubt", ascending=False, kind="stable"
        )
        writer = csv.writer(table, delimiter="\t", lineterminator="\n")
        writer.writerow(DOUBT_COLUMNS)
        for row in doubtful.to_dict("records"):
            line, pair, _ = numbered[row["pair"]]
            change = "add" if row["kind"] == "wrong" else "remove"
            link = f"{row['source_position']}-{row['target_position']}"
            cells = line, change, link, row["source_word"], row["target_word"], f"{row['doubt']:.3f}"
            writer.writerow((*cells, pair.source, pair.target))
    errors.say(bad)
    lines = doubtful["pair"].nunique()
    found = f"{with_plural(len(doubtful), 'gold link')} in {with_plural(lines, 'line')} may be wrong"
    place = "" if outputs.output == "-" else f"; listed in {outputs.output}"
    log(f"{found}, of {with_plural(len(numbered), 'line')} with gold links{place}", event="doubtful gold")


def _gold_pairs(
    bitext: EscapedBitextOptions, path: str, bad: BadRecords
) -> Iterator[tuple[int, SentencePair, GoldAlignment]]:
    """Yield the line, the pair and the gold links of each good record that somebody looked at."""
    from nmtalign.aligner.training_job import checked_against_corrections
    from nmtalign.links.alignments import links_inside
    from nmtalign.links.formats import check_unit, read_link_records
    from nmtalign.links.gold import are_corrections, outside_link_error, read_gold

    reviewed: set[int] | None = None
    golds: Iterable[GoldAlignment]
    if are_corrections(path):
        golds = corrections = read_gold(path, encoding=bitext.encoding)
        reviewed = set(corrections.reviewed)
    else:
        check_unit(path, encoding=bitext.encoding)
        records = read_link_records(path, encoding=bitext.encoding, on_error=bad.add)
        golds = (record.gold for record in records)
    pairs = checked_against_corrections(bitext.read(bad.add), path, encoding=bitext.encoding)
    rows = bad.track(zip_lines((pairs, golds), (bitext.files[0], path)))
    for number, (pair, gold) in enumerate(rows):
        if reviewed is not None and number not in reviewed:
            continue
        try:
            links_inside(gold.possible, len(pair.source.split()), len(pair.target.split()))
        except DataError as error:
            bad.add(outside_link_error(error, number + 1, path))
        if not bad.has_current:
            yield number + 1, pair, gold


def _linked_pairs(
    bitext: EscapedBitextOptions, links: str, bad: BadRecords
) -> Iterator[tuple[SentencePair, frozenset[Link]]]:
    """Yield the pairs of the text with their links; bad ones are left out."""
    from nmtalign.links.formats import read_links

    of_both = bitext.read(bad.add), read_links(links, encoding=bitext.encoding, on_error=bad.add)
    for record in bad.track(zip_lines(of_both, (bitext.files[0], links))):
        if not bad.has_current:
            yield record


def _why(fits: list[UnitFit]) -> str:
    """Return why the best unit does not fit."""
    best = min(fits, key=lambda fit: (fit.outside, -fit.end_rate))
    rate = f"only {100 * best.end_rate:.0f} % of the lines end in linked {best.name}"
    return best.example or rate


def write_findings(findings: Sequence[Finding], file: TextIO) -> None:
    """Write findings as a table with tabs between its columns."""
    from nmtalign.checks.findings import FINDING_COLUMNS, row_of_finding

    writer = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(FINDING_COLUMNS)
    for finding in findings:
        writer.writerow(row_of_finding(finding))
