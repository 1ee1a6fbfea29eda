"""``nmtalign align``: a bitext in, one line of links out for each pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from nmtalign.cli.messages import (
    Progress,
    as_options,
    detail,
    log,
    log_option,
    quiet_option,
    verbose_option,
    warn,
    warnings_to_stderr,
)
from nmtalign.cli.options.bitext import (
    BitextOptions,
    bitext_options,
    languages_of_files,
    max_length_option,
    text_encoding,
)
from nmtalign.cli.options.declare import (
    OUTPUT,
    Command,
    OutputPrefix,
    Values,
    option,
    option_group,
    section,
    with_options,
)
from nmtalign.cli.options.model import ModelOptions, expert_option, load_aligner, model_options, with_expert
from nmtalign.cli.options.running import (
    EngineOptions,
    ShardOptions,
    assemble,
    describe,
    engine_options,
    one_blas_thread,
    open_sink,
    shard_options,
)
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.names import MARKS, SIDES, VALUES

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.aligner.aligner import Aligner
    from nmtalign.batch.shards import ShardRun
    from nmtalign.batch.stream import AlignedChunk, BadRecords
    from nmtalign.cli.options.running import Sink
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.output import Outputs
    from nmtalign.text.bitext import LengthLimit, SentencePair

    Chunks = Generator[AlignedChunk]
    Write = Callable[[list[Sink]], None]


output_options = with_options(
    section("Output"),
    option("-o --output", OUTPUT, "Pharaoh links, a line a pair.", metavar="LINKS", default="-"),
    option("--probabilities", OUTPUT, "Probability of each link, in the order of LINKS."),
    option("--pair-scores", OUTPUT, "Probability that a pair is a translation."),
    option("--table", OUTPUT, "One row for each link: .csv, .tsv, .jsonl, .parquet."),
    option("--guided", OUTPUT, "Source, target and links between tabs, for guided training."),
    option(
        "--tokens",
        OutputPrefix(*(f".{side}" for side in SIDES)),
        "PREFIX.source and PREFIX.target: tokens, a line a pair. Links count these.",
        metavar="PREFIX",
    ),
)


_error_options = option_group(
    "errors",
    Values,
    option(
        "--on-error",
        ("stop", "skip-marked"),
        "At a bad record: stop, or write an empty line and report it.",
        default="stop",
    ),
    option("--error-report", OUTPUT, "List the records that --on-error skip-marked replaced."),
    option("--strict", bool, "Stop (exit code 3) if few words are known or sides are swapped."),
)


class WrittenOptions(Values):
    """What the links count, and the matrices that are written."""

    def check(self) -> None:
        """Refuse values that are written nowhere, and another kind of file."""
        if self.attention is None and self.values is not None:
            raise UsageError("--values says what --attention FILE.npz holds; give it, too")
        if self.attention is not None and not self.attention.endswith(".npz"):
            raise UsageError(f"{self.attention}: expected a name ending in .npz for --attention")

    def values_of(self, aligner: Aligner) -> str | None:
        """Return which values of each pair are kept."""
        return None if self.attention is None else self.values or aligner.default_values


_written_options = option_group(
    "written",
    WrittenOptions,
    section("Output"),
    option("--attention", OUTPUT, "One matrix for each pair, target by source.", metavar="FILE.npz"),
    option("--values", VALUES, "What --attention holds.  [softmax without null: forward; else combined]"),
    option("--pieces", MARKS, "Join marked sub-words, and link the words."),
)


@click.command(cls=Command)
@bitext_options
@max_length_option
@section("Input")
@_error_options
@output_options
@_written_options
@model_options
@section("Expert, whose links vote")
@expert_option
@engine_options
@shard_options
@quiet_option
@verbose_option
@log_option
def align(
    bitext: BitextOptions,
    max_length: int | None,
    errors: Values,
    written: WrittenOptions,
    expert: str | None,
    engine: EngineOptions,
    sharding: ShardOptions,
    options: ModelOptions,
    **outputs: str | None,
) -> None:
    """Align a bitext: two files, line by line, or one file with both sides (--pairs). `-` is stdin.

    Every pair gives one line of links `source-target`; an empty side gives an empty line. Positions count the
    words between spaces of your lines, from 0, whatever the tokenizer. With --tokens they count the tokens.
    Without --model or --vectors, the shipped English-French model is used. `train` learned how far
    to trust an expert; for a model that had no expert, this is estimated on the text. links-from makes links
    by a published method, or from the attention of another program.

    Example: nmtalign align text.en text.fr -o links.txt --table links.tsv
    """
    one_blas_thread()
    from nmtalign.aligner.opening import fit_text
    from nmtalign.output import Outputs
    from nmtalign.text.bitext import LengthLimit

    written.check()
    if None not in (expert, options.encoder):
        raise UsageError("--expert LINKS or --encoder NAME: give one of both")
    paths = paths_of(**outputs, attention=written.attention)
    files = bitext.files if expert is None else [*bitext.files, expert]
    run = sharding.open(files, paths)
    with warnings_to_stderr(), Outputs() as stack:
        bad = _bad_records(errors.on_error, errors.error_report, stack)
        progress = stack.enter_context(Progress("pairs", bitext.files))
        opened = bitext.open() if bad is None else bad.counted(bitext.open(bad.add))
        pairs, limit = progress.reading(opened), LengthLimit(max_length, bitext.files)
        unit = written.pieces or ("words" if outputs["tokens"] is None else "tokens")
        aligner = replace(load_aligner(options), workers=engine.workers)
        if expert is not None:
            aligner, pairs = aligner.with_given_links(), with_expert(pairs, expert, marked=bad is not None)
        if engine.engine == "dask" and not aligner.allows_processes:
            raise UsageError("--engine dask: not with an encoder, which is opened once; use --out-shards")
        pairs = limit.pairs(pairs, aligner.text, aligner.languages)
        aligner, pairs = fit_text(aligner, pairs, unit=unit)
        values = written.values_of(aligner)
        chunks = _aligned(aligner, pairs, run, engine.client(stack), unit=unit, values=values)
        stack.enter_context(closing(chunks))
        settings = aligner.description
        done = partial(say_done, languages_of_files(bitext.source, bitext.target), paths["links"], limit, run)
        write = partial(write_chunks, chunks, progress, errors.strict, done)
        if run is None:
            with explained("--out-shards DIR keeps what is done"):
                write([open_sink(name, path, stack) for name, path in paths.items()])
        else:
            reading = {"format": bitext.pairs_format, "sides": bitext.sides, "encoding": text_encoding()}
            bounds = {"on_error": errors.on_error, "strict": errors.strict, "max_length": max_length}
            described = describe(files, options, settings=settings, unit=unit, **reading, **bounds)
            _run_in_shards(run, write, paths, described, resume=sharding.may_exist)
    if bad is not None:
        log(
            f"{bad.count:,} bad records, listed in {errors.error_report}",
            event="bad records",
            records=bad.count,
        )
    detail(settings, event="settings")


def paths_of(output: str | None, tokens: str | None, **more: str | None) -> dict[str, str]:
    """Return the files to write by what they hold, from the values of `output_options`."""
    from nmtalign.report.tables import table_format

    paths = {name: path for name, path in {"links": output, **more}.items() if path is not None}
    if "table" in paths:
        table_format(paths["table"])  # before the work
    return paths | {side: f"{tokens}.{side}" for side in SIDES if tokens is not None}


def _bad_records(on_error: str, path: str | None, files: Outputs) -> BadRecords | None:
    """Open the report of bad records, if they are to be replaced."""
    from nmtalign.batch.stream import BadRecords

    if (on_error == "skip-marked") != (path is not None):
        raise UsageError("--on-error skip-marked and --error-report FILE go together; give both")
    if path is None:
        return None
    write = files.text(path).write
    return BadRecords(lambda line: write(as_options(line)))


def _aligned(
    aligner: Aligner,
    pairs: Iterator[SentencePair],
    run: ShardRun | None,
    client: Client | None,
    *,
    unit: str,
    values: str | None,
) -> Chunks:
    """Align the pairs on a cluster or by processes."""
    from nmtalign.batch.stream import align_chunks
    from nmtalign.corpus.parallel import default_workers
    from nmtalign.text.bitext import CELLS, PAIRS, chunks_of

    workers = default_workers(aligner.workers) if aligner.allows_processes else 1  # an encoder uses all cores
    size = PAIRS if workers == 1 else PAIRS // 2  # small chunks leave no core idle at the end for long
    most = math.inf if values is None else CELLS
    chunks = run.missing(pairs) if run else chunks_of(pairs, chunk=size, cells=most)
    if client is None:
        return align_chunks(aligner, chunks, workers=workers, unit=unit, values=values)
    from nmtalign.batch.cluster import align_on_cluster

    return align_on_cluster(client, aligner, chunks, unit=unit, values=values)


def write_chunks(
    chunks: Chunks,
    progress: Progress,
    strict: bool,
    close: Callable[[Progress, int, Coverage], None],
    sinks: list[Sink],
) -> None:
    """Write aligned chunks into the sinks, then call `close` with the number of links and known words.

    If `strict`, nothing is written of the first chunk with which too few words are known.
    """
    from nmtalign.corpus.coverage import Coverage

    links, known = 0, Coverage()
    for chunk in chunks:
        if chunk.warning:
            warn(chunk.warning)
        last = chunk.first + len(chunk.batch) - 1
        known = known.joined(chunk.coverage or Coverage())
        if strict and (why := known.warning):
            raise DataError(f"pairs 1 to {last:,}: {why}")
        for sink in sinks:
            sink(chunk)
        links += len(chunk.batch.source)
        progress.advance(len(chunk.batch), last=last)
    close(progress, links, known)


def say_done(
    languages: tuple[str, str],
    output: str,
    limit: LengthLimit,
    run: ShardRun | None,
    progress: Progress,
    links: int,
    known: Coverage,
) -> None:
    """Say in one line what was done, and warn if the words say that it is not to be trusted."""
    if run is not None and run.kept and not progress.done:
        return  # all was done before
    name = "" if "source" in languages else f"{'-'.join(languages)} "
    speed = f"{progress.seconds:.1f} s ({progress.rate:,.0f} pairs a second)"
    text = f"{progress.done:,} {name}pair{'s'[: progress.done != 1]}, {links:,} links in {speed}{limit}"
    text += "" if output == "-" else f", in {output}"
    sides = [
        f"{100 * side.rate:.1f} % of the {language}"
        for language, side in zip(languages, known, strict=True)
        if side.total
    ]
    text += f"; {' and '.join(sides)} words are known" if sides else ""
    shares = {name: round(side.rate, 4) for name, side in known._asdict().items() if side.total}
    counts = {"links": links, "left_out": limit.count, "seconds_left": 0, "known": shares}
    log(text, event="aligned", **progress.values | counts)
    if why := known.warning:
        warn(why)


def _run_in_shards(
    run: ShardRun, write: Write, outputs: dict[str, str], described: dict[str, object], *, resume: bool
) -> None:
    """Make the missing shards; when all are there, assemble the outputs that have a file."""
    from nmtalign.batch.shards import resumable
    from nmtalign.output import Outputs

    with resumable(run.folder, by=(KeyboardInterrupt,)), run:
        run.start(described, resume=resume)
        with resumable(run.folder):
            write([run.write])
            run.finish()
            with Outputs() as files:
                for name, path in outputs.items():
                    if path != "-":
                        assemble(run, name, path, files.text(path))
    kept = "all" if 0 < run.kept == run.shards else f"{run.kept:,}"
    text = f"{run.shards:,} shards in {run.folder}, {kept} of them done before"
    log(text, event="shards", shards=run.shards, done_before=run.kept)


@contextmanager
def explained(advice: str) -> Iterator[None]:
    """Name the option that would have kept the work of a run that Ctrl-C stopped."""
    try:
        yield
    except KeyboardInterrupt:
        raise NmtalignError(f"interrupted, nothing is kept; {advice}") from None
