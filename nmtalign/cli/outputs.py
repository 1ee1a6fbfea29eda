"""The outputs of commands: files of links and how they are formatted and written, and the closing lines."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nmtalign.cli import texts
from nmtalign.cli.messages import log, warn
from nmtalign.cli.parameter_types import OutputPrefix
from nmtalign.cli.texts import BitextOptions
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import BadRecords, DataError, NmtalignError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import format_ending, path_of_prefix
from nmtalign.names import BUNDLED_MODEL, SIDES, ExtractionName, LinkUnitName, SubwordMarks
from nmtalign.progress import ProgressReporter
from nmtalign.settings import LinkSettings
from nmtalign.text.chunks import LengthLimit

if TYPE_CHECKING:
    from nmtalign.checks.findings import KindCount
    from nmtalign.checks.lines import RunFindings
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.decoding.extraction_methods import Extraction
    from nmtalign.report.tables import LinkRow
    from nmtalign.run.stream import AlignedChunk

    Chunks = Generator[AlignedChunk]
    Sink = Callable[[AlignedChunk], object]
    Sinks = list[Sink]


@dataclass(frozen=True, kw_only=True)
class OutputFileOptions(Settings):
    """The file to write."""

    section = "Output"

    output: str = setting("-", "-o --output FILE", "Write to FILE; `-` is standard output.", kind="output")


MARK_OF_SPACES = "▁"  # as programs that train with such tokens write it
MIN_JUDGED_WORDS = 10  # words of either side, below which a model that no option names is not refused


class WrittenLinks(NamedTuple):
    """A summary of the written links: their number, the known words, and the findings in the text."""

    links: int
    coverage: Coverage
    findings: RunFindings


def probabilities_option(links: str) -> Any:
    """Declare ``--probabilities``; `links` names the file of links in the help."""
    help = f"Write the probability of each link, in the order of {links}."
    return setting(None, "--probabilities FILE", help, kind="output")


def direction_option(direction: Literal["forward", "reverse"]) -> Any:
    """Declare ``--forward`` or ``--reverse``."""
    best = {
        "forward": "the best source word of each target word (`--extract argmax`)",
        "reverse": "the best target word of each source word (`--extract argmax-reverse`)",
    }
    help = f"Also write {best[direction]}, in Pharaoh format."
    return setting(None, f"--{direction} FILE", help, kind="output")


def directions_of(options: LinkSettings, names: Iterable[str]) -> dict[str, Extraction]:
    """Return the extractions of those directions that are among the names of outputs.

    A threshold of the links applies to those of each direction.
    """
    from nmtalign.decoding.extraction_methods import make_extraction

    methods: dict[str, ExtractionName] = {"forward": "argmax", "reverse": "argmax-reverse"}
    return {
        name: make_extraction(LinkSettings(extract=methods[name], threshold=options.threshold))
        for name in names
        if name in methods
    }


def pair_scores_option() -> Any:
    """Declare ``--pair-scores``."""
    help = "Write the probability that each pair is a translation."
    return setting(None, "--pair-scores FILE", help, kind="output")


def table_option() -> Any:
    """Declare ``--table``."""
    help = "Write one row per link: .csv, .tsv, .jsonl or .parquet."
    return setting(None, "--table FILE", help, kind="output")


@dataclass(frozen=True, kw_only=True)
class LinkOutputOptions(Settings):
    """The files of links and of what belongs to them."""

    section = "Output"

    output: str = setting(
        "-", "-o --output LINKS", "Write links in Pharaoh format, one line per pair.", kind="output"
    )
    probabilities: str | None = probabilities_option("LINKS")
    pair_scores: str | None = pair_scores_option()
    table: str | None = table_option()
    escape_formulas: bool = setting(
        False,
        "--escape-formulas",
        "In CSV and TSV, put ' before words that a spreadsheet would read as formulas.",
    )
    guided: str | None = setting(
        None,
        "--guided FILE",
        "Write source, target and links between tabs, for guided training.",
        kind="output",
    )
    tokens: str | None = setting(
        None,
        "--tokens PREFIX",
        "Write the tokens, or the pieces, to PREFIX.source and PREFIX.target; positions count these.",
        type=OutputPrefix(".source", ".target"),
    )
    count: LinkUnitName | Literal["tokens+spaces"] | None = texts.count_option(
        "`tokens+spaces` makes each space a token ▁ of the --tokens files, so that no character is lost."
        "  [words; with --tokens: tokens; with --spm: pieces]"
    )
    spm: str | None = texts.spm_option()

    def checked_paths(self) -> dict[str, str]:
        """Return the files by what they contain; raise UsageError if the format of the table is unknown."""
        given = {
            "links": self.output,
            "probabilities": self.probabilities,
            "pair_scores": self.pair_scores,
            "table": self.table,
            "guided": self.guided,
        }
        paths = {name: path for name, path in given.items() if path is not None}
        if self.table is not None:
            from nmtalign.report.tables import table_format

            table_format(self.table)  # before the work
        if self.tokens is not None:
            paths |= {side: path_of_prefix(self.tokens, f".{side}") for side in SIDES}
        return paths

    def sinks(self, paths: dict[str, str], stack: AtomicFiles, unit: LinkUnit) -> Sinks:
        """Open the files, and return a function for each that writes an aligned chunk to it."""
        return [
            open_sink(name, path, stack, escape_formulas=self.escape_formulas, unit=unit.name)
            for name, path in paths.items()
        ]

    def unit(self, pieces: SubwordMarks | None = None) -> LinkUnit:
        """The unit that positions count; `pieces` are the marks of lines of sub-words."""
        from nmtalign.corpus.units import link_unit

        writes_tokens = self.tokens is not None
        if self.count != "tokens+spaces":
            return link_unit(count=self.count, pieces=pieces, spm=self.spm, writes_tokens=writes_tokens)
        if not writes_tokens:
            raise UsageError("--count tokens+spaces requires --tokens PREFIX; add it")
        if pieces is not None or self.spm is not None:
            raise UsageError("--count tokens+spaces cannot be combined with --pieces and --spm; remove them")
        return link_unit(spaces=MARK_OF_SPACES)

    @property
    def have_plain_words(self) -> bool:
        """Whether a file with words has no quotation marks and no escapes."""
        return self.guided is not None or self.tokens is not None


def refuse_unknown_text(coverage: Coverage) -> None:
    """Raise DataError if the bundled model, which no option has named, knows too few words of a text.

    A few words are not enough to judge by: they may be names.
    """
    if min(coverage.source.total, coverage.target.total) < MIN_JUDGED_WORDS:
        return
    if coverage.swapped:
        raise DataError(coverage.warning)
    if coverage.low_rates:
        train = "learn one of these languages (nmtalign train SOURCE TARGET -o DIR), and pass --model DIR, or"
        train += " install the multilingual one (pip install 'nmtalign[multilingual]')"
        raise DataError(
            f"the bundled English-French model knows {coverage.low_rates}, so its links would be guesses;"
            f" {train}; --model {BUNDLED_MODEL} uses the bundled one all the same"
        )


def write_chunks(
    chunks: Chunks,
    progress: ProgressReporter,
    sinks: Sinks,
    bitext: BitextOptions,
    bad_records: BadRecords,
    *,
    strict: bool = False,
    is_model_implicit: bool = False,
) -> WrittenLinks:
    """Write aligned chunks to the sinks.

    If `strict`, raise DataError once too few words are known, or something is wrong with the text; if no
    option names a model, once too few words are known.
    """
    from nmtalign.checks.lines import RunFindings
    from nmtalign.corpus.coverage import Coverage

    links = 0
    coverage = Coverage()
    findings = RunFindings(bad_records.numbers)
    for chunk in chunks:
        if chunk.warning:
            warn(chunk.warning)
        last = chunk.first + len(chunk.batch)
        coverage = coverage.joined(chunk.coverage or Coverage())
        if is_model_implicit:
            refuse_unknown_text(coverage)
        if strict and coverage.warning:
            raise DataError(f"pairs 1 to {last:,}: {coverage.warning}")
        findings.add_lines(chunk.lines, chunk.first)
        findings.add_links(chunk.batch, chunk.first)
        if chunk.is_swapped is not None and not coverage.swapped:
            findings.add_swapped(chunk.is_swapped, chunk.first)
        error = findings.first_error
        if strict and error:
            raise DataError(f"pairs 1 to {last:,}: {error.describe(files_of_sides(bitext))}")
        for sink in sinks:
            sink(chunk)
        links += len(chunk.batch.source)
        progress.advance(len(chunk.batch), last=last)
        del chunk  # its lines are freed before the next chunk is aligned
    return WrittenLinks(links, coverage, findings)


def log_alignment(
    bitext: BitextOptions,
    output: str,
    progress: ProgressReporter,
    written: WrittenLinks,
    unit: LinkUnit,
    limit: LengthLimit | None = None,
) -> None:
    """Log what was done in one line, and warn if too few words are known to trust the links."""
    links, coverage, findings = written
    languages = texts.languages_of_files(bitext.source, bitext.target)
    pair = "" if "source" in languages else f"{'-'.join(languages)} "
    speed = f"{progress.seconds:.1f} s ({progress.rate:,.0f} pairs per second)"
    of_unit = "" if unit.is_plain else f" of {unit.name}"
    pairs = with_plural(progress.done, f"{pair}pair")
    text = f"{pairs}, {with_plural(links, 'link')}{of_unit} in {speed}"
    if limit is not None:
        text += limit.closing_clause()
    if findings.without_links:
        text += f", {unlinked_clause(findings.without_links)}"
    text += "" if output == "-" else f", in {output}"
    rates = {side: of_side.rate for side, of_side in zip(SIDES, coverage[:2], strict=True) if of_side.total}
    names = dict(zip(SIDES, languages, strict=True))
    shares = [f"{100 * rate:.1f} % of the {names[side]}" for side, rate in rates.items()]
    text += f"; {' and '.join(shares)} words are known" if shares else ""
    counts = {
        "links": links,
        "without_links": findings.without_links,
        "left_out": limit.count if limit else 0,
        "seconds_left": 0,
    }
    rounded = {side: round(rate, 4) for side, rate in rates.items()}
    log(text, event="aligned", **progress.values | counts, known=rounded, count=unit.name)
    if coverage.warning:
        warn(coverage.warning)
    log_findings(findings.counts(), bitext)


@contextmanager
def explain_lost_work(advice: str) -> Iterator[None]:
    """Name the option that would have kept the work of a run that Ctrl-C stopped."""
    try:
        yield
    except KeyboardInterrupt:
        raise NmtalignError(f"interrupted, nothing is kept; {advice}") from None


def files_of_sides(bitext: BitextOptions) -> dict[str, str]:
    """Return the files of both sides, in whose lines findings are; nothing for one file with both sides."""
    if bitext.source is None or bitext.target is None:
        return {}
    return {"source": bitext.source, "target": bitext.target}


def unlinked_clause(count: int) -> str:
    """Return the clause of a closing line that counts the pairs without links."""
    return f"{with_plural(count, 'pair')} without links"


def log_findings(counts: Iterable[KindCount], bitext: BitextOptions) -> None:
    """Log one line for each kind of findings: the number, the first line, and what to do."""
    for count in counts:
        log(
            count.describe(files_of_sides(bitext)),
            event="finding",
            kind=count.kind,
            severity=count.severity,
            count=count.count,
            line=count.first.line + 1,
        )


def unused_path(name: str) -> str:
    """Return a name for the output of a command that a message recommends: `name`, unless it exists.

    Whoever follows the message literally then replaces no file.
    """
    path = Path(name)
    number = 2
    while path.exists():
        path = path.with_name(f"{Path(name).stem}_{number}{Path(name).suffix}")
        number += 1
    return str(path)


def log_written(what: str, paths: list[str], progress: ProgressReporter) -> None:
    """Log what was written where, in one line."""
    where = "" if "-" in paths else f" in {' and '.join(paths)}"
    log(f"{what}{where}, {progress.seconds:.1f} s", event="written")


# --- how outputs are formatted and written -------------------------------------------------------


def table_rows_of_chunk(path: str, *, escape_formulas: bool) -> Callable[[AlignedChunk], Iterable[LinkRow]]:
    """Return a function that yields the rows of a table for an aligned chunk."""
    from nmtalign.report.tables import batch_rows, without_formulas

    def rows(chunk: AlignedChunk) -> Iterable[LinkRow]:
        plain_rows = batch_rows(chunk.batch, *chunk.linked_strings(), first=chunk.first + 1)
        return without_formulas(plain_rows, path) if escape_formulas else plain_rows

    return rows


def formatter_of_output(output: str, path: str, *, escape_formulas: bool) -> Callable[[AlignedChunk], str]:
    """Return a function that formats an output; the ending of `path` is the format of a table."""
    from nmtalign.links import formats

    if output == "table":
        from nmtalign.report.tables import table_format, table_text

        kind = table_format(path)
        rows = table_rows_of_chunk(path, escape_formulas=escape_formulas)
        return lambda chunk: table_text(kind, rows(chunk), chunk.unit.name)

    def side(chunk: AlignedChunk) -> str:
        return "".join(f"{' '.join(words)}\n" for words in chunk.side_for_translation(SIDES.index(output)))

    def guided(chunk: AlignedChunk) -> str:
        sides = chunk.side_for_translation(0), chunk.side_for_translation(1)
        return formats.format_guided_batch(chunk.batch, *sides, first=chunk.first + 1)

    def costs(chunk: AlignedChunk) -> str:
        is_json = format_ending(path) == ".jsonl"
        return "" if chunk.costs is None else formats.format_costs(chunk.costs, for_opusfilter=is_json)

    def direction(chunk: AlignedChunk) -> str:
        return formats.format_pharaoh_batch((chunk.directions or {})[output])

    formatters: dict[str, Callable[[AlignedChunk], str]] = {
        "links": lambda chunk: formats.format_pharaoh_batch(chunk.batch),
        "probabilities": lambda chunk: formats.format_probabilities_batch(chunk.batch),
        "pair_scores": lambda chunk: formats.format_pair_scores_batch(chunk.batch),
        "forward": direction,
        "reverse": direction,
        "source": side,
        "target": side,
        "guided": guided,
        "costs": costs,
    }
    return formatters[output]


def open_sink(
    output: str, path: str, files: AtomicFiles, *, escape_formulas: bool, unit: LinkUnitName
) -> Sink:
    """Return a function that writes an aligned chunk, whose positions count `unit`, to an output."""
    if output in ("given", "attention"):
        return _open_matrices(path, files, unit)
    if output == "posteriors":
        from nmtalign.decoding.batches import open_batch_file

        write_batch = files.enter_context(open_batch_file(path, files))
        return lambda chunk: write_batch(chunk.as_batch())
    if output == "table":
        from nmtalign.report.tables import open_table

        write_rows = open_table(path, files, unit=unit)
        rows = table_rows_of_chunk(path, escape_formulas=escape_formulas)
        return lambda chunk: write_rows(rows(chunk))
    file = files.text(path)
    format_chunk = formatter_of_output(output, path, escape_formulas=escape_formulas)

    def write_lines(chunk: AlignedChunk) -> None:
        file.write(format_chunk(chunk))
        if path == "-":  # its reader may wait for these lines
            file.flush()

    return write_lines


def _open_matrices(path: str, files: AtomicFiles, unit: LinkUnitName) -> Sink:
    """Return a function that writes the attention of a chunk, given or computed, to an archive."""
    from nmtalign.external.matrix_files import LINKABLE, write_pair
    from nmtalign.files.array_files import NpzWriter

    archive = files.enter_context(NpzWriter(files.binary(path), comment=f"unit: {unit}"))

    def write_matrices(chunk: AlignedChunk) -> None:
        for number, given in enumerate(chunk.given or (), chunk.first + 1):
            write_pair(archive, number, given)
        for number, (weights, linkable) in enumerate(chunk.attention or (), chunk.first + 1):
            archive.write(f"pair-{number}", weights)
            if not linkable.all():
                archive.write(f"{LINKABLE}-{number}", linkable)

    return write_matrices
