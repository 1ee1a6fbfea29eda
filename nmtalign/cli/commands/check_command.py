"""``nmtalign check``: what is wrong with a bitext, line by line."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign import blas
from nmtalign.cli.bad_records import LeftOutOptions
from nmtalign.cli.declare import Options, command, option
from nmtalign.cli.outputs import OutputFileOptions, log_findings, log_written
from nmtalign.cli.parameter_types import INPUT
from nmtalign.cli.progress_display import open_progress
from nmtalign.cli.texts import EscapedBitextOptions, languages_in_paths, languages_option
from nmtalign.display import with_plural
from nmtalign.errors import DataError
from nmtalign.files.atomic_output import AtomicFiles

if TYPE_CHECKING:
    from nmtalign.checks.findings import Finding


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """The aligner that judges the pairs, and the exit code."""

    section = "Model"

    model: str | None = option(
        "--model DIR",
        "Judge the pairs by this learned model; en_fr_model is the bundled one.  [learned from the text]",
        type=INPUT,
    )
    langs: tuple[str, str] | None = languages_option()
    strict: bool = option(
        "--strict", "End with exit code 3 if there is an error.", default=False, section="Output"
    )


@command("check")
def check_command(
    bitext: EscapedBitextOptions,
    errors: LeftOutOptions,
    outputs: OutputFileOptions,
    options: CheckOptions,
) -> None:
    """Find what is wrong with a bitext: two files, or one with both sides (--pairs).

    Writes a table with one row per finding: its line, the last line if there are several, the side, the kind,
    whether it is an error or a hint, a value, and what to do. The two files may have different numbers of
    lines: the findings `slip` and `no-partner` show where the lines do not match. A summary is printed to
    stderr.

    Without --model, an aligner is learned from the text itself, if it has at least 500 pairs. Swapped files
    are found by --langs, or by the names of the files, such as text.en and text.fr.

    Example: nmtalign check text.en text.fr -o findings.tsv
    """
    blas.start_with_one_thread()
    from nmtalign.checks.checking import find_all
    from nmtalign.checks.counting import KindCounts
    from nmtalign.text.bitext import lines_of_sides

    aligner = None if options.model is None else na.load(options.model)
    with AtomicFiles() as files, open_progress("lines", bitext.files) as progress:
        bad = errors.open(files)
        sides = lines_of_sides(bitext.open(bad.add), track=bad.track)
        if not (sides.source or sides.target):
            raise DataError("expected lines of text, found none").at(" and ".join(bitext.files))
        languages = options.langs or bitext.sides or languages_in_paths(bitext.source, bitext.target)
        # two files of lines are tracked one after the other, a file with both sides once
        unread = bad.of_files[0], bad.of_files[-1]
        findings = find_all(sides.source, sides.target, aligner, languages=languages, unread=unread)
        write_findings(findings, outputs.output, files)
        progress.advance(max(len(sides.source), len(sides.target)))
    log_findings(KindCounts(findings), bitext)
    counts = f"{with_plural(len(findings), 'finding')} in {with_plural(progress.done, 'line')}"
    log_written(counts, [outputs.output], progress)
    errors.say(bad)
    count = sum(finding.severity == "error" for finding in findings)
    if options.strict and count:
        number = "1 error was" if count == 1 else f"{count:,} errors were"
        raise DataError(f"{number} found, listed in {outputs.output}; without --strict the exit code is 0")


def write_findings(findings: Sequence[Finding], path: str, files: AtomicFiles) -> None:
    """Write findings as a table with tabs between its columns."""
    from nmtalign.checks.checking import FINDING_COLUMNS, row_of_finding

    writer = csv.writer(files.text(path), delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(FINDING_COLUMNS)
    for finding in findings:
        writer.writerow(row_of_finding(finding))
