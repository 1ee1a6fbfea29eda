"""``nmtalign align`` and ``nmtalign links-from``: a bitext in, one line of links out for each pair."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign import blas
from nmtalign.cli import model_options, running, texts, unit_options
from nmtalign.cli.bad_records import ErrorOptions, without_split_words
from nmtalign.cli.declare import OUTPUT, Options, OutputPrefix, command, option
from nmtalign.cli.finding_messages import files_of_sides, log_findings, unlinked_clause
from nmtalign.cli.messages import (
    detail,
    log,
    log_option,
    quiet_option,
    verbose_option,
    warn,
)
from nmtalign.cli.progress_display import open_progress
from nmtalign.cli.texts import BitextOptions, EscapedBitextOptions
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.names import SIDES, CellValues, CountName, SubwordMarks
from nmtalign.progress import ProgressReporter

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.batch.shards import ShardRun
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.checks.counting import RunFindings
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.text.bitext import LengthLimit, SentencePair

    Chunks = Generator[AlignedChunk]
    Sinks = list[running.Sink]
    Written = tuple[int, Coverage, RunFindings]  # links, how many words are known, what is wrong


@dataclass(frozen=True, kw_only=True)
class LinkOutputOptions(Options):
    """The files of links and of what belongs to them."""

    section = "Output"

    output: str = option(
        "-o --output LINKS", "Write links in Pharaoh format, one line per pair.", type=OUTPUT, default="-"
    )
    probabilities: str | None = option(
        "--probabilities FILE", "Write the probability of each link, in the order of LINKS.", type=OUTPUT
    )
    pair_scores: str | None = option(
        "--pair-scores FILE", "Write the probability that each pair is a translation.", type=OUTPUT
    )
    table: str | None = option(
        "--table FILE", "Write one row per link: .csv, .tsv, .jsonl or .parquet.", type=OUTPUT
    )
    escape_formulas: bool = texts.formula_option()
    guided: str | None = option(
        "--guided FILE", "Write source, target and links between tabs, for guided training.", type=OUTPUT
    )
    tokens: str | None = option(
        "--tokens PREFIX",
        "Write the tokens, or the pieces, that links count to PREFIX.source and PREFIX.target.",
        type=OutputPrefix(".source", ".target"),
    )
    spaces: str | None = option(
        "--spaces MARK", "Let --tokens have each space as a token MARK, such as ▁, and leave nothing out."
    )
    count: CountName | None = unit_options.count_option("[words; with --tokens: tokens; with --spm: pieces]")
    spm: str | None = unit_options.spm_option()

    @property
    def paths(self) -> dict[str, str]:
        """The files by what they contain; UsageError if the format of the table is unknown."""
        from nmtalign.report.tables import table_format

        given = {
            "links": self.output,
            "probabilities": self.probabilities,
            "pair_scores": self.pair_scores,
            "table": self.table,
            "guided": self.guided,
        }
        paths = {name: path for name, path in given.items() if path is not None}
        if self.table is not None:
            table_format(self.table)  # before the work
        if self.tokens is not None:
            paths |= {side: f"{self.tokens}.{side}" for side in SIDES}
        return paths

    def sinks(self, paths: dict[str, str], stack: AtomicFiles) -> Sinks:
        """Open the files of :attr:`paths`, and return a function for each that writes an aligned chunk."""
        return [
            running.open_sink(name, path, stack, escape_formulas=self.escape_formulas)
            for name, path in paths.items()
        ]

    def unit(self, pieces: SubwordMarks | None = None) -> LinkUnit:
        """What the links count; `pieces` are the marks of lines of sub-words."""
        from nmtalign.corpus.units import link_unit

        if self.spaces is not None and self.tokens is None:
            raise UsageError("--spaces marks spaces among the tokens of --tokens PREFIX; give it, too")
        return link_unit(
            count=self.count,
            pieces=pieces,
            spm=self.spm,
            spaces=self.spaces,
            writes_tokens=self.tokens is not None,
        )

    @property
    def have_plain_words(self) -> bool:
        """Whether a file with words has no quotation marks and no escapes."""
        return self.guided is not None or self.tokens is not None


@dataclass(frozen=True, kw_only=True)
class AlignOutputOptions(LinkOutputOptions):
    """The files that `align` writes."""

    attention: str | None = option(
        "--attention FILE.npz", "Write one matrix (target by source words) per pair.", type=OUTPUT
    )
    values: CellValues | None = option(
        "--values", "Values that --attention contains.  [softmax without null: forward; else combined]"
    )
    pieces: SubwordMarks | None = unit_options.pieces_option()
    costs: str | None = option(
        "--costs FILE", "Two costs per pair, low is good, as OpusFilter has those of eflomal.", type=OUTPUT
    )

    @property
    def paths(self) -> dict[str, str]:
        paths = super().paths
        if self.costs is not None:
            paths |= {"costs": self.costs}
        if self.attention is None:
            if self.values is not None:
                raise UsageError("--values requires --attention FILE.npz, whose values it chooses; add it")
            return paths
        if not self.attention.endswith(".npz"):
            raise UsageError(f"--attention: expected a file name ending in .npz, found {self.attention}")
        return paths | {"attention": self.attention}


@dataclass(frozen=True, kw_only=True)
class BadRecordOptions(ErrorOptions):
    """What happens at records that cannot be aligned."""

    max_length: int | None = texts.length_option()
    strict: bool = option(
        "--strict", "Stop (exit code 3) if few words are known, or the text has errors.", default=False
    )


@dataclass(frozen=True, kw_only=True)
class ExpertLinksOptions(Options):
    """Links of an expert."""

    section = model_options.EXPERT_SECTION

    expert: str | None = model_options.expert_option()


@command(quiet_option, verbose_option, log_option, name="align")
def align_command(
    bitext: EscapedBitextOptions,
    errors: BadRecordOptions,
    outputs: AlignOutputOptions,
    options: model_options.ModelOptions,
    expert_links: ExpertLinksOptions,
    engine: running.EngineOptions,
    sharding: running.ShardOptions,
) -> None:
    """Align a bitext: two files with one sentence per line, or one file with both sides (--pairs).

    Writes one line per sentence pair, such as `0-0 1-2`: pairs of source and target positions, counted from
    0. If a side is empty, the line is empty. Positions count the space-separated words of your lines,
    whichever tokenizer is used; with --tokens, they count the tokens, and with --count pieces sub-words. `-`
    reads standard input. The default model is the bundled English-French one.

    Example: nmtalign align text.en text.fr -o links.txt --table links.tsv
    """
    blas.start_with_one_thread()
    from nmtalign.aligner.fit_to_text import fit_text
    from nmtalign.text.bitext import LengthLimit

    paths = outputs.paths
    unit = outputs.unit(outputs.pieces)
    expert = expert_links.expert
    if expert is not None and options.encoder.encoder is not None:
        raise UsageError("--expert LINKS and --encoder NAME cannot be combined; use one of them")
    files = bitext.files if expert is None else [*bitext.files, expert]
    run = sharding.open(files, paths, escape_formulas=outputs.escape_formulas)
    with AtomicFiles() as stack:
        bad = errors.open(stack)
        progress = stack.enter_context(open_progress("pairs", bitext.files))
        opened = bad.track(bitext.read(bad.add))
        pairs, limit = progress.track(opened), LengthLimit(errors.max_length, bitext.files)
        aligner = replace(options.load(), workers=engine.workers)
        words_of = partial(unit.shown, text=aligner.text, languages=aligner.languages)
        expert_words = partial(unit.expert_words, text=aligner.text, languages=aligner.languages)
        if expert is not None:
            aligner = aligner.with_given_links()
            pairs = model_options.with_expert(
                pairs, expert, bitext.encoding, marked=bad.are_marked, words_of=expert_words
            )
        _check_engine(engine, aligner)
        if not unit.is_plain:
            pairs = unit_options.without_space_marks(pairs, unit, bitext, bad)
            pairs = unit.prepared(pairs, aligner.text, aligner.languages)
        pairs = limit.pairs(pairs, aligner.text, aligner.languages)
        if outputs.have_plain_words:
            pairs = without_split_words(pairs, words_of, bitext, bad)
        aligner, pairs = fit_text(aligner, pairs, count=unit.linked)
        values = None if outputs.attention is None else outputs.values or aligner.default_values
        client = engine.client(stack)
        costs = outputs.costs is not None
        chunks = _align_chunks(aligner, pairs, run, client, unit=unit, values=values, costs=costs)
        stack.enter_context(closing(chunks))
        settings = aligner.description
        if run is None:
            sinks = outputs.sinks(paths, stack)
            writing = _explain_state("--out-shards DIR keeps what is done")
        else:
            described = running.describe_run(
                files,
                options,
                settings={
                    "settings": settings,
                    **unit_options.describe_unit(unit),
                    "format": bitext.pairs_format,
                    "sides": bitext.sides,
                    "encoding": bitext.encoding,
                    "unescape": bitext.unescape,
                    "on_error": errors.on_error,
                    "strict": errors.strict,
                    "max_length": errors.max_length,
                    "escape_formulas": outputs.escape_formulas,
                },
            )
            sinks = [run.write]
            writing = running.assembling_shards(run, paths, described, resume=sharding.may_exist)
        with writing:
            written = _write_chunks(chunks, progress, sinks, bitext, strict=errors.strict)
    # only now do the files have their names
    if run is None or progress.done or not run.kept:  # not if all was done before
        _log_alignment(bitext, outputs.output, progress, written, unit, limit)
    if run is not None:
        _log_shards(run)
    errors.say(bad)
    detail(settings, event="settings")


def _check_engine(engine: running.EngineOptions, aligner: na.Aligner) -> None:
    """Raise UsageError if a cluster would have to load an encoder in each of its workers."""
    if engine.engine == "dask" and not aligner.allows_processes:
        problem = "--engine dask cannot be combined with an encoder, which is loaded only once"
        raise UsageError(f"{problem}; use --out-shards instead")


def _align_chunks(
    aligner: na.Aligner,
    pairs: Iterator[SentencePair],
    run: ShardRun | None,
    client: Client | None,
    unit: LinkUnit,
    values: str | None,
    costs: bool,
) -> Chunks:
    """Align the pairs on a cluster or by processes."""
    from nmtalign.batch.stream import align_chunks
    from nmtalign.corpus.parallel import default_workers
    from nmtalign.text.bitext import MAX_MATRIX_CELLS, PAIRS_PER_CHUNK, chunk_pairs

    workers = default_workers(aligner.workers) if aligner.allows_processes else 1  # an encoder uses all cores
    # with smaller chunks, no core is idle for long at the end
    size = PAIRS_PER_CHUNK if workers == 1 else PAIRS_PER_CHUNK // 2
    max_cells = math.inf if values is None else MAX_MATRIX_CELLS
    chunks = run.missing(pairs) if run else chunk_pairs(pairs, chunk_size=size, cells=max_cells)
    if client is None:
        return align_chunks(aligner, chunks, workers=workers, unit=unit, values=values, costs=costs)
    from nmtalign.batch.cluster import align_unit_on_cluster

    return align_unit_on_cluster(client, aligner, chunks, unit=unit, values=values, costs=costs)


def _write_chunks(
    chunks: Chunks, progress: ProgressReporter, sinks: Sinks, bitext: BitextOptions, *, strict: bool = False
) -> Written:
    """Write aligned chunks to the sinks.

    If `strict`, raise DataError once too few words are known, or something is wrong with the text.
    """
    from nmtalign.checks.counting import RunFindings
    from nmtalign.corpus.coverage import Coverage

    links, known, findings = 0, Coverage(), RunFindings()
    for chunk in chunks:
        if chunk.warning:
            warn(chunk.warning)
        last = chunk.first + len(chunk.batch) - 1
        known = known.joined(chunk.coverage or Coverage())
        if strict and (why := known.warning):
            raise DataError(f"pairs 1 to {last:,}: {why}")
        findings.add_lines(chunk.lines, chunk.first - 1)
        findings.add_links(chunk.batch, chunk.first - 1)
        if chunk.is_swapped is not None and not known.swapped:
            findings.add_swapped(chunk.is_swapped, chunk.first - 1)
        if strict and (error := findings.first_error):
            raise DataError(f"pairs 1 to {last:,}: {error.describe(files_of_sides(bitext))}")
        for sink in sinks:
            sink(chunk)
        links += len(chunk.batch.source)
        progress.advance(len(chunk.batch), last=last)
    return links, known, findings


def _log_alignment(
    bitext: BitextOptions,
    output: str,
    progress: ProgressReporter,
    written: Written,
    unit: LinkUnit,
    limit: LengthLimit | None = None,
) -> None:
    """Log what was done in one line, and warn if too few words are known to trust the links."""
    links, known, findings = written
    languages = texts.languages_of_files(bitext.source, bitext.target)
    pair = "" if "source" in languages else f"{'-'.join(languages)} "
    speed = f"{progress.seconds:.1f} s ({progress.rate:,.0f} pairs a second)"
    of_unit = "" if unit.is_plain else f" of {unit.count}"
    pairs = f"{progress.done:,} {pair}pair{'s'[: progress.done != 1]}"
    text = f"{pairs}, {links:,} links{of_unit} in {speed}{limit or ''}"
    if findings.without_links:
        text += f", {unlinked_clause(findings.without_links)}"
    text += "" if output == "-" else f", in {output}"
    rates = {side: of_side.rate for side, of_side in zip(SIDES, known[:2], strict=True) if of_side.total}
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
    log(text, event="aligned", **progress.values | counts, known=rounded, count=unit.count)
    if why := known.warning:
        warn(why)
    log_findings(findings.counts(), bitext)


def _log_shards(run: ShardRun) -> None:
    """Log how many shards there are, and how many were done before."""
    kept = "all" if 0 < run.kept == run.shards else f"{run.kept:,}"
    text = f"{run.shards:,} shards in {run.folder}, {kept} of them done before"
    log(text, event="shards", shards=run.shards, done_before=run.kept)


@contextmanager
def _explain_state(advice: str) -> Iterator[None]:
    """Name the option that would have kept the work of a run that Ctrl-C stopped."""
    try:
        yield
    except KeyboardInterrupt:
        raise NmtalignError(f"interrupted, nothing is kept; {advice}") from None


# --- links from another program ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SourceTextOptions(Options):
    """The words of the attention or the similarities."""

    section = "Input"

    tokenizer: str | None = option(
        "--tokenizer", "Tokenizer that splits lines into words.  [space]", type=texts.TokenizerType()
    )
    langs: tuple[str, str] | None = option(
        "--langs XX,YY",
        "Source and target language, as the translation model names them.",
        type=texts.LANGUAGES,
        section=model_options.SOURCE_SECTION,
    )


@dataclass(frozen=True, kw_only=True)
class SourceEncoderOptions(model_options.EncoderOptions):
    """An encoder whose similarities become links."""

    section = model_options.SOURCE_SECTION


@command(quiet_option, verbose_option, log_option, name="links-from")
def links_from_command(
    bitext: BitextOptions,
    errors: ErrorOptions,
    text_options: SourceTextOptions,
    outputs: LinkOutputOptions,
    extraction: model_options.ExtractionOptions,
    encoder: SourceEncoderOptions,
    source: model_options.SourceOptions,
) -> None:
    """Create links from the attention (--matrices, --translator) or the word similarities (--encoder,
    --token-vectors, --similarities) of another program or model.

    Links are extracted from attention by --extract, and from similarities by a published method (--method).
    SOURCE and TARGET must contain the same words, or sub-words (--pieces), as the matrices. With --cache, a
    command that was stopped continues when you repeat it.

    Example: nmtalign links-from text.en text.fr --encoder bert-base-multilingual-cased -o links.txt
    """
    blas.start_with_one_thread()
    from nmtalign.aligner.links_from import check_source_unit
    from nmtalign.batch.stream import links_of_source

    paths = outputs.paths
    unit = outputs.unit(source.pieces)
    check_source_unit(unit)
    with AtomicFiles() as stack:
        bad = errors.open(stack)
        progress = stack.enter_context(open_progress("pairs", bitext.files))
        opened: Iterator[SentencePair] = bad.track(bitext.read(bad.add))
        opened = unit_options.without_space_marks(opened, unit, bitext, bad)
        if outputs.have_plain_words:
            words_of = partial(unit.shown, text=model_options.text_of_source(text_options.tokenizer))
            opened = without_split_words(opened, words_of, bitext, bad)
        pairs, again = tee(progress.track(opened))
        linker, text, words = source.open(
            again,
            encoding=bitext.encoding,
            encoder=encoder,
            extraction=extraction,
            tokenizer=text_options.tokenizer,
            langs=text_options.langs,
        )
        chunks = links_of_source(linker, pairs, words, text, marks=source.pieces, unit=unit)
        stack.enter_context(closing(chunks))
        sinks = outputs.sinks(paths, stack)
        with _kept_in_cache(encoder):
            written = _write_chunks(chunks, progress, sinks, bitext)
    _log_alignment(bitext, outputs.output, progress, written, unit)
    errors.say(bad)
    detail(linker.description, event="settings")


@contextmanager
def _kept_in_cache(encoder: model_options.EncoderOptions) -> Iterator[None]:
    """When an encoder is stopped, say whether its work is kept, or which option would have kept it."""
    from nmtalign.batch.shards import resumable

    try:
        yield
    except KeyboardInterrupt:
        if encoder.encoder is None:
            raise
        if encoder.cache is None:
            with _explain_state("--cache FILE keeps what the encoder found"):
                raise
        if not Path(encoder.cache).exists():  # nothing was computed yet
            raise
        with resumable(Path(encoder.cache), again="the same command"):
            raise
