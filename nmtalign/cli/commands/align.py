"""``nmtalign align`` and ``nmtalign links-from``: a bitext in, one line of links out for each pair."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign.cli import model, running, texts
from nmtalign.cli.declare import OUTPUT, OptionGroup, OutputPrefix, Values, command, option
from nmtalign.cli.messages import Progress, as_options, detail, log, message_options, warn
from nmtalign.cli.texts import BitextOptions
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.names import MARKS, SIDES, VALUES
from nmtalign.output import Outputs

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.batch.shards import ShardRun
    from nmtalign.batch.stream import AlignedChunk, BadRecords
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.text.bitext import LengthLimit, SentencePair

    Chunks = Generator[AlignedChunk]
    Sinks = list[running.Sink]
    Written = tuple[int, Coverage]  # links, and how many words are known

_FILES = ("probabilities", "pair_scores", "table", "guided", "attention")


class FileOptions(Values):
    """The files to write."""

    @property
    def paths(self) -> dict[str, str]:
        """The files by what they hold; UsageError for other kinds of files, and values that nothing holds."""
        from nmtalign.report.tables import table_format

        paths = {"links": self.output} | {name: self.given[name] for name in _FILES if name in self.given}
        if "values" in self.given and "attention" not in paths:
            raise UsageError("--values says what --attention FILE.npz holds; give it, too")
        if not paths.get("attention", ".npz").endswith(".npz"):
            raise UsageError(f"{self.attention}: expected a name ending in .npz for --attention")
        if "table" in paths:
            table_format(paths["table"])  # before the work
        return paths | {side: f"{self.tokens}.{side}" for side in SIDES if self.tokens is not None}


_output_options = (
    "Output",
    option("-o --output LINKS", OUTPUT, "Links in Pharaoh format, a line for each pair.", default="-"),
    option("--probabilities", OUTPUT, "Probability of each link, in the order of LINKS."),
    option("--pair-scores", OUTPUT, "Probability that a pair is a translation."),
    option("--table", OUTPUT, "One row for each link: .csv, .tsv, .jsonl, .parquet."),
    option("--guided", OUTPUT, "Source, target and links between tabs, for guided training."),
    option("--tokens PREFIX", OutputPrefix(".source", ".target"), "Files of the tokens that links count."),
)
_on_error = "At a bad record: stop, or write an empty line and report it."


@command(
    texts.bitext_options,
    texts.max_length_option,
    "Input",
    OptionGroup(
        "errors",
        option("--on-error", ("stop", "skip-marked"), _on_error, default="stop"),
        option("--error-report", OUTPUT, "List the records that --on-error skip-marked replaced."),
        option("--strict", bool, "Stop (exit code 3) if few words are known or sides are swapped."),
    ),
    OptionGroup(
        "outputs",
        _output_options,
        option("--attention FILE.npz", OUTPUT, "One matrix for each pair, target by source."),
        option("--values", VALUES, "What --attention holds.  [softmax without null: forward; else combined]"),
        option("--pieces", MARKS, "Align marked sub-words; links count the words that they make."),
        kind=FileOptions,
    ),
    model.model_options,
    "Expert, whose links vote",
    model.expert_option,
    running.engine_options,
    running.shard_options,
    message_options,
)
def align(
    bitext: BitextOptions,
    max_length: int | None,
    errors: Values,
    outputs: FileOptions,
    expert: str | None,
    engine: running.EngineOptions,
    sharding: running.ShardOptions,
    options: model.ModelOptions,
) -> None:
    """Align a bitext: two files, line by line, or one file with both sides (--pairs). `-` is stdin.

    Every pair gives one line of links `source-target`; an empty side gives an empty line. Positions count the
    words between spaces of your lines, from 0, whatever the tokenizer. With --tokens they count the tokens,
    which are written to PREFIX.source and PREFIX.target. Without --model or --vectors, the shipped
    English-French model is used. `train` learned how far to trust an expert; for a model that had no expert,
    this is estimated on the text. links-from makes links by a published method, or from the attention of
    another program.

    Example: nmtalign align text.en text.fr -o links.txt --table links.tsv
    """
    running.one_blas_thread()
    from nmtalign.aligner.opening import fit_text
    from nmtalign.text.bitext import LengthLimit

    paths = outputs.paths
    if expert is not None and options.encoder is not None:
        raise UsageError("--expert LINKS or --encoder NAME: give one of both")
    files = bitext.files if expert is None else [*bitext.files, expert]
    run = sharding.open(files, paths)
    with Outputs() as stack:
        bad = _bad_records(errors.on_error, errors.error_report, stack)
        progress = stack.enter_context(Progress("pairs", bitext.files))
        opened = bitext.open() if bad is None else bad.track(bitext.open(bad.add))
        pairs, limit = progress.track(opened), LengthLimit(max_length, bitext.files)
        unit = outputs.pieces or ("words" if outputs.tokens is None else "tokens")
        aligner = replace(model.load_aligner(options), workers=engine.workers)
        if expert is not None:
            aligner = aligner.with_given_links()
            pairs = model.with_expert(pairs, expert, marked=bad is not None)
        if engine.engine == "dask" and not aligner.allows_processes:
            raise UsageError("--engine dask: not with an encoder, which is opened once; use --out-shards")
        pairs = limit.pairs(pairs, aligner.text, aligner.languages)
        aligner, pairs = fit_text(aligner, pairs, unit=unit)
        values = None if outputs.attention is None else outputs.values or aligner.default_values
        chunks = _aligned(aligner, pairs, run, engine.client(stack), unit=unit, values=values)
        stack.enter_context(closing(chunks))
        settings = aligner.description
        if run is None:
            sinks = [running.open_sink(name, path, stack) for name, path in paths.items()]
            writing = _explained("--out-shards DIR keeps what is done")
        else:
            reading = {"format": bitext.pairs_format, "sides": bitext.sides, "encoding": texts.encoding()}
            bounds = {"on_error": errors.on_error, "strict": errors.strict, "max_length": max_length}
            described = running.describe(files, options, settings=settings, unit=unit, **reading, **bounds)
            sinks, writing = [run.write], running.in_shards(run, paths, described, resume=sharding.may_exist)
        with writing:
            written = _write_chunks(chunks, progress, sinks, strict=errors.strict)
        if run is None or progress.done or not run.kept:  # not if all was done before
            _say_done(bitext, outputs.output, progress, written, limit)
        if run is not None:
            kept = "all" if 0 < run.kept == run.shards else f"{run.kept:,}"
            text = f"{run.shards:,} shards in {run.folder}, {kept} of them done before"
            log(text, event="shards", shards=run.shards, done_before=run.kept)
    if bad is not None:
        text = f"{bad.count:,} bad records, listed in {errors.error_report}"
        log(text, event="bad records", records=bad.count)
    detail(settings, event="settings")


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
    aligner: na.Aligner,
    pairs: Iterator[SentencePair],
    run: ShardRun | None,
    client: Client | None,
    unit: str,
    values: str | None,
) -> Chunks:
    """Align the pairs on a cluster or by processes."""
    from nmtalign.batch.stream import align_chunks
    from nmtalign.corpus.parallel import default_workers
    from nmtalign.text.bitext import CHUNK_SIZE, KEPT_CELLS, chunks_of

    workers = default_workers(aligner.workers) if aligner.allows_processes else 1  # an encoder uses all cores
    size = CHUNK_SIZE if workers == 1 else CHUNK_SIZE // 2  # of small chunks, no core is idle for long
    max_cells = math.inf if values is None else KEPT_CELLS
    chunks = run.missing(pairs) if run else chunks_of(pairs, chunk=size, cells=max_cells)
    if client is None:
        return align_chunks(aligner, chunks, workers=workers, unit=unit, values=values)
    from nmtalign.batch.cluster import align_on_cluster

    return align_on_cluster(client, aligner, chunks, unit=unit, values=values)


def _write_chunks(chunks: Chunks, progress: Progress, sinks: Sinks, *, strict: bool = False) -> Written:
    """Write aligned chunks into the sinks; if `strict`, none from that on where too few words are known."""
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
    return links, known


def _say_done(
    bitext: BitextOptions, output: str, progress: Progress, written: Written, limit: LengthLimit | None = None
) -> None:
    """Say in one line what was done, and warn if the words say that it is not to be trusted."""
    links, known = written
    languages = texts.languages_of_files(bitext.source, bitext.target)
    pair = "" if "source" in languages else f"{'-'.join(languages)} "
    speed = f"{progress.seconds:.1f} s ({progress.rate:,.0f} pairs a second)"
    text = f"{progress.done:,} {pair}pair{'s'[: progress.done != 1]}, {links:,} links in {speed}{limit or ''}"
    text += "" if output == "-" else f", in {output}"
    rates = {side: of_side.rate for side, of_side in zip(SIDES, known[:2], strict=True) if of_side.total}
    names = dict(zip(SIDES, languages, strict=True))
    shares = [f"{100 * rate:.1f} % of the {names[side]}" for side, rate in rates.items()]
    text += f"; {' and '.join(shares)} words are known" if shares else ""
    counts = {"links": links, "left_out": limit.count if limit else 0, "seconds_left": 0}
    rounded = {side: round(rate, 4) for side, rate in rates.items()}
    log(text, event="aligned", **progress.values | counts, known=rounded)
    if why := known.warning:
        warn(why)


@contextmanager
def _explained(advice: str) -> Iterator[None]:
    """Name the option that would have kept the work of a run that Ctrl-C stopped."""
    try:
        yield
    except KeyboardInterrupt:
        raise NmtalignError(f"interrupted, nothing is kept; {advice}") from None


# --- links from another program ------------------------------------------------------------------


@command(
    texts.bitext_options,
    OptionGroup("outputs", _output_options, kind=FileOptions),
    OptionGroup(
        "options",
        "Input",
        option("--tokenizer", texts.Tokenizer(), "How lines become words.  [space]"),
        "Links",
        model.extraction_options,
        model.SECTION,
        option("--langs XX,YY", texts.LANGUAGES, "Languages, as a translation model calls them."),
        model.encoder_options,
    ),
    model.source_options,
    message_options,
)
def links_from(
    bitext: BitextOptions, weights: model.SourceOptions, options: Values, outputs: FileOptions
) -> None:
    """Choose links from attention (--matrices, --translator) or from similarities of words (--encoder,
    --token-vectors, --similarities), which another program or model has found.

    Attention becomes links by an extraction, similarities by a published method. The text has the words, or
    the sub-words (--pieces), of the attention. With --cache, repeat a stopped command, and it goes on.

    Example: nmtalign links-from text.en text.fr --encoder bert-base-multilingual-cased -o links.txt
    """
    running.one_blas_thread()
    from nmtalign.batch.stream import links_of_source

    paths = outputs.paths
    with Outputs() as stack:
        progress = stack.enter_context(Progress("pairs", bitext.files))
        pairs, again = tee(progress.track(bitext.open()))
        linker, text, words = weights.open(options, again)
        unit = "words" if outputs.tokens is None else "tokens"
        chunks = links_of_source(linker, pairs, words, text, marks=weights.pieces, unit=unit)
        stack.enter_context(closing(chunks))
        sinks = [running.open_sink(name, path, stack) for name, path in paths.items()]
        with _resumable(options):
            written = _write_chunks(chunks, progress, sinks)
        _say_done(bitext, outputs.output, progress, written)
    detail(linker.description, event="settings")


def _resumable(options: Values) -> AbstractContextManager[None]:
    """Say of an encoder that is stopped how the work is kept, or would have been."""
    from nmtalign.batch.shards import resumable

    if options.encoder is None:
        return nullcontext()
    if options.cache is None:
        return _explained("--cache FILE keeps what the encoder found")
    return resumable(Path(options.cache), by=(KeyboardInterrupt,), again="the same command")
