"""``nmtalign align``: a bitext in, one line of links out for each pair."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click

from nmtalign.cli._engine import EngineOptions, engine_options
from nmtalign.cli._matrices import MatrixOptions, check_unused, matrix_options, read_by_options
from nmtalign.cli._messages import log_option, say, warn, warnings_to_stderr
from nmtalign.cli._model_options import ModelOptions, load_aligner, model_options, remap_option
from nmtalign.cli._progress import Progress
from nmtalign.cli._shards import ShardOptions, assemble, describe, open_run, shard_options
from nmtalign.cli._threads import one_blas_thread
from nmtalign.cli._types import INPUT, OUTPUT, Whole
from nmtalign.errors import NmtalignError, UsageError

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.aligner.aligner import Aligner
    from nmtalign.aligner.fitting import Fit
    from nmtalign.batch.marking import BadRecords
    from nmtalign.batch.shards import ShardRun
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.text.bitext import SentencePair
    from nmtalign.vectors.embeddings import Coverage

    Sink = Callable[[AlignedChunk], None]

FEW_KNOWN = 0.5  # share of words with a vector, below which something is likely to be wrong
_CAUSES = "check the order of the languages (--langs), --tokenizer, --lowercase and --unicode"
LONG = 25_000_000  # cells (T x S) of one pair; its weights take 200 MB for each array of them


@click.command()
@click.argument("source", type=INPUT, required=False)
@click.argument("target", type=INPUT, required=False)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="LINKS",
    default="-",
    help="Pharaoh links, one line a pair.  [stdout]",
)
@click.option("--pairs", type=INPUT, help="One file with both sides, instead of SOURCE and TARGET.")
@click.option("--format", "bitext_format", metavar="NAME", default="auto", help="Form of the bitext.  [auto]")
@click.option(
    "--columns",
    "--keys",
    "columns",
    metavar="A,B",
    help="Sides in one file: TSV columns, JSON keys, languages.",
)
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip-marked"]),
    default="stop",
    help="A bad record: stop, or an empty line and a report.  [stop]",
)
@click.option("--error-report", type=OUTPUT, help="Bad records that --on-error skip-marked passed over.")
@click.option("--scores", type=OUTPUT, help="Probabilities of the links, parallel to LINKS.")
@click.option("--pair-scores", type=OUTPUT, help="Probability that a pair is parallel, one a line.")
@click.option("--table", type=OUTPUT, help="One row a link: .csv, .tsv, .jsonl, .parquet.")
@click.option("--guided", type=OUTPUT, help="Source, target and links between tabs: guided training.")
@remap_option
@click.option("--workers", type=Whole(min=1), help="Processes; the links are the same.  [cores]")
@engine_options
@log_option
@shard_options
@matrix_options
@model_options
def align(
    source: str | None,
    target: str | None,
    pairs: str | None,
    bitext_format: str,
    columns: str | None,
    on_error: str,
    error_report: str | None,
    remap: str | None,
    workers: int | None,
    engine: EngineOptions,
    sharding: ShardOptions,
    given: MatrixOptions,
    options: ModelOptions,
    **outputs: str | None,
) -> None:
    """Align a bitext: two files, line by line, or one file with both sides (--pairs). `-` is stdin.

    Every pair gives one line of links `source-target`, counted from 0; an empty side gives an empty line.
    Without an option for the model, the shipped English-French one is used; with --matrices, the attention of
    another program, and the text holds the pieces that it is of.

    Example: nmtalign align text.en text.fr -o links.txt --table links.tsv
    """
    from nmtalign.batch.shards import resumable

    one_blas_thread()
    check_unused(given, remap, engine.engine)
    inputs = source, target, pairs
    run = open_run(sharding, inputs, outputs, given.matrices)
    with warnings_to_stderr(), ExitStack() as stack:
        bad = _bad_records(on_error, error_report, stack)
        progress = stack.enter_context(Progress("pairs", [path for path in inputs if path is not None]))
        bitext = progress.reading(open_bitext(*inputs, bitext_format, columns=columns, bad=bad))
        if given.matrices is None:
            client = engine.client(workers, stack)
            chunks, settings = _aligned(options, bitext, workers, remap, run, client)
        else:
            chunks, settings = read_by_options(given, options, bitext)
        stack.enter_context(closing(chunks))
        if run is None:
            stack.enter_context(_explained())
            sinks = [_SINKS[name](path, stack) for name, path in outputs.items() if path is not None]
            _run(chunks, sinks, progress)
        else:
            more = {"format": bitext_format, "columns": columns, "on_error": on_error, "remap": remap}
            described = describe(inputs, options, settings=settings, **more)
            with resumable(run.folder, by=(KeyboardInterrupt,)), run:
                run.start(described, resume=sharding.resumes)
                _run_in_shards(run, chunks, outputs, progress)
    if bad is not None:
        say(f"{bad.count:,} bad records, listed in {error_report}", event="bad records", records=bad.count)
    say(settings, event="settings")


def open_bitext(
    source: str | None,
    target: str | None,
    pairs: str | None,
    bitext_format: str,
    *,
    columns: str | None = None,
    bad: BadRecords | None = None,
) -> Iterator[SentencePair]:
    """Return the pairs of SOURCE and TARGET, or of the one file of --pairs."""
    from nmtalign.text.bitext import read_bitext

    on_error = bad.add if bad else None
    if pairs is not None and source is None:
        found = read_bitext(pairs, format=bitext_format, select=_two_columns(columns), on_error=on_error)
    elif pairs is None and source is not None and target is not None:
        if columns is not None:
            raise UsageError("--columns choose the sides in one file (--pairs), but two were given")
        found = read_bitext(source, target, format=bitext_format, on_error=on_error)
    else:
        raise UsageError("expected SOURCE and TARGET, two files with as many lines, or --pairs FILE")
    return bad.counted(found) if bad else found


def _two_columns(text: str | None) -> tuple[str, str] | None:
    """Parse ``1,3`` or ``text.en,text.fr``."""
    if text is None:
        return None
    names = tuple(name.strip(" ") for name in text.split(","))
    if len(names) != 2 or not all(names):
        raise UsageError(f"--columns wants two names like 1,2 or en,fr; found {text!r}")
    return names[0], names[1]


def _bad_records(on_error: str, path: str | None, stack: ExitStack) -> BadRecords | None:
    """Open the report of bad records, if they are to be passed over."""
    from nmtalign.batch.marking import BadRecords

    if (on_error == "skip-marked") != (path is not None):
        raise UsageError("--on-error skip-marked and --error-report FILE go together; give both")
    return BadRecords(_open_whole(path, stack).write) if path is not None else None


def _aligned(
    options: ModelOptions,
    bitext: Iterator[SentencePair],
    workers: int | None,
    remap: str | None,
    run: ShardRun | None,
    client: Client | None,
) -> tuple[Generator[AlignedChunk], str]:
    """Align the bitext on a cluster or by `workers` processes, as many as there are cores if nothing is said.

    Returns the chunks and the settings that make their links.
    """
    from nmtalign.aligner.fitting import fit_text, with_fit
    from nmtalign.batch.stream import cut
    from nmtalign.batch.workers import align_chunks
    from nmtalign.corpus.parallel import default_workers

    aligner = load_aligner(options)
    fit, bitext = fit_text(aligner, bitext)
    aligner = with_fit(aligner, fit)
    chunks = run.missing(bitext) if run else cut(bitext)
    if client is not None:
        from nmtalign.batch.cluster import align_on_cluster

        return align_on_cluster(client, aligner, chunks, remap_to=remap), aligner.settings
    opened = partial(_opened, options, fit)
    workers = workers or default_workers()
    return align_chunks(aligner, opened, chunks, workers=workers, remap_to=remap), aligner.settings


def _opened(options: ModelOptions, fit: Fit | None) -> Aligner:
    """Open the aligner in another process, with what was fitted in this one."""
    from nmtalign.aligner.fitting import with_fit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this process has said it
        aligner = load_aligner(options)
    return with_fit(aligner, fit)


def _run(chunks: Iterator[AlignedChunk], sinks: list[Sink], progress: Progress) -> None:
    """Stream aligned chunks into the sinks and say what was done."""
    links, coverage = 0, _CoverageCount()
    for chunk in chunks:
        _warn_of_long_pairs(chunk)
        for sink in sinks:
            sink(chunk)
        links += len(chunk.batch.source)
        coverage.add(chunk.coverage)
        progress.advance(len(chunk.batch), last=chunk.first + len(chunk.batch) - 1)
    speed = f"{progress.seconds:.1f} s ({progress.rate:,.0f} pairs a second)"
    text = f"{progress.done:,} pairs, {links:,} links in {speed}"
    say(text, event="aligned", **progress.values | {"links": links, "seconds_left": 0})
    coverage.say()


def _run_in_shards(
    run: ShardRun, chunks: Iterator[AlignedChunk], outputs: dict[str, str | None], progress: Progress
) -> None:
    """Make the missing shards; when all are there, put the outputs that have a file together."""
    from nmtalign.batch.shards import resumable

    with resumable(run.folder):
        _run(chunks, [run.write], progress)
        run.finish()
        for name, path in outputs.items():
            if path not in (None, "-"):
                with ExitStack() as stack:
                    assemble(run, name, str(path), _open_whole(str(path), stack))
    text = f"{run.shards:,} shards in {run.folder}, {run.kept:,} of them done before"
    say(text, event="shards", shards=run.shards, done_before=run.kept)


@contextmanager
def _explained() -> Iterator[None]:
    """Say how a run that Ctrl-C stopped could have kept what was done."""
    try:
        yield
    except KeyboardInterrupt:
        raise NmtalignError("interrupted, nothing is kept; --out-shards DIR keeps what is done") from None


class _CoverageCount:
    """How many words have a vector, for aligners over given vectors."""

    def __init__(self) -> None:
        self._sides: tuple[Coverage, ...] = ()

    def add(self, found: tuple[Coverage, Coverage] | None) -> None:
        if found is not None:
            before = self._sides or (None, None)
            self._sides = tuple(a + b if a else b for a, b in zip(before, found, strict=True))

    def say(self) -> None:
        for name, side in zip(("source", "target"), self._sides, strict=False):
            say(f"{name}: {side}", event="coverage", side=name, share=round(side.rate, 4))
            if side.rate < FEW_KNOWN:
                warn(f"few {name} words are known; {_CAUSES}")


def _warn_of_long_pairs(chunk: AlignedChunk) -> None:
    for number, (source, target) in enumerate(chunk.sizes, chunk.first):
        if source * target > LONG:
            sizes = f"{source:,} and {target:,} words"
            warn(f"pair {number} has {sizes}; it is aligned, but takes memory")


def _text_sink(path: str, stack: ExitStack, text: Callable[[AlignedChunk], str]) -> Sink:
    """Return a sink that writes one text a chunk; the file gets its name when all is done."""
    file = _open_whole(path, stack)

    def write(chunk: AlignedChunk) -> None:
        file.write(text(chunk))

    return write


def _open_whole(path: str, stack: ExitStack) -> TextIO:
    """Open a file that gets its name when the stack ends well."""
    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text

    return stack.enter_context(open_text(stack.enter_context(whole_file(path)), "w"))


def _links(path: str, stack: ExitStack) -> Sink:
    from nmtalign.links.formats import format_pharaoh_batch

    return _text_sink(path, stack, lambda chunk: format_pharaoh_batch(chunk.batch))


def _scores(path: str, stack: ExitStack) -> Sink:
    from nmtalign.links.formats import format_scores_batch

    return _text_sink(path, stack, lambda chunk: format_scores_batch(chunk.batch))


def _pair_scores(path: str, stack: ExitStack) -> Sink:
    from nmtalign.links.formats import format_pair_scores_batch

    return _text_sink(path, stack, lambda chunk: format_pair_scores_batch(chunk.batch))


def _guided(path: str, stack: ExitStack) -> Sink:
    from nmtalign.links.formats import format_guided_batch

    return _text_sink(
        path, stack, lambda chunk: format_guided_batch(chunk.batch, *chunk.pieces(), first=chunk.first)
    )


def _table(path: str, stack: ExitStack) -> Sink:
    from nmtalign.batch.output import whole_file
    from nmtalign.report.tables import TableWriter, batch_rows

    table = stack.enter_context(TableWriter(stack.enter_context(whole_file(path))))

    def write(chunk: AlignedChunk) -> None:
        table.write(batch_rows(chunk.batch, *chunk.tokens(), first=chunk.first))

    return write


_SINKS: dict[str, Callable[[str, ExitStack], Sink]] = {
    "output": _links,
    "scores": _scores,
    "pair_scores": _pair_scores,
    "table": _table,
    "guided": _guided,
}
