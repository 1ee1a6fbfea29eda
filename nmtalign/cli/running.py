"""Shards, processes and clusters of `align` and `train`, and the outputs of commands."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import nmtalign as na
from nmtalign.cli.declare import Options, option
from nmtalign.cli.messages import log
from nmtalign.cli.model_options import ModelOptions
from nmtalign.cli.parameter_types import OUTPUT, Integer
from nmtalign.errors import UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import format_ending
from nmtalign.files.paths import bundled_path, fingerprint, resolve_path
from nmtalign.names import BUNDLED_MODEL, SIDES, LinkUnitName
from nmtalign.progress import ProgressReporter

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.batch.shards import ShardRun
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.report.tables import LinkRow

    Sink = Callable[[AlignedChunk], object]

_OUTPUTS_OF_EVERY_RUN = ("links", "probabilities", "pair_scores")


@dataclass(frozen=True, kw_only=True)
class ShardOptions(Options):
    """The folder of a run, and the part of it that this job does."""

    out_shards: str | None = option(
        "--out-shards DIR", "Save finished shards in DIR, so that --resume can continue.", type=OUTPUT
    )
    resume: bool = option("--resume", "Resume the run in --out-shards.", default=False)
    shard: str | None = option(
        "--shard I/N", "Align every N-th shard, starting with the I-th; N jobs align all of them."
    )
    shard_pairs: int = option(
        "--shard-pairs N", "Number of sentence pairs per shard.", type=Integer(min=1), default=100_000
    )

    @property
    def may_exist(self) -> bool:
        """Whether the folder may contain a run, which another of several jobs may have begun."""
        return bool(self.resume or self.shard)

    def open(
        self, files: Sequence[str], outputs: Mapping[str, str], *, escape_formulas: bool
    ) -> ShardRun | None:
        """Return the run that the options describe, or None; `outputs` are the files to write.

        Raise UsageError if an input cannot be read twice, or an output cannot be joined from shards.
        """
        from nmtalign.batch.shards import ShardRun

        if self.out_shards is None:
            if self.may_exist:
                raise UsageError("--resume and --shard require --out-shards DIR; add it")
            return None
        if "-" in files:
            raise UsageError(
                "--out-shards cannot be combined with standard input, which cannot be read twice; pass files"
            )
        if "attention" in outputs:
            raise UsageError(
                "--out-shards cannot be combined with --attention, which writes one file; remove one"
            )
        for path in files:
            _check_plain(Path(path))
        if self.shard is not None and any(path != "-" for path in outputs.values()):
            advice = "at the end, write the others with --resume -o LINKS"
            raise UsageError(f"--shard writes to --out-shards only; {advice}")
        paths = {**dict.fromkeys(_OUTPUTS_OF_EVERY_RUN, ""), **outputs}
        endings = {output: _shard_ending(output, path) for output, path in paths.items()}
        if "parquet" in endings.values():
            raise UsageError(
                "--out-shards cannot write a .parquet table; use .csv, .tsv or .jsonl,"
                " whose shards can be joined"
            )
        part = re.fullmatch(r"(\d{1,9})/(\d{1,9})", self.shard or "1/1", re.ASCII)
        if part is None or not 0 < int(part[1]) <= int(part[2]):
            raise UsageError(f"--shard must be I/N with I from 1 to N, such as 2/8; found {self.shard!r}")
        formatters: dict[str, Callable[[AlignedChunk], str]] = {}
        for output, path in paths.items():
            formatter = formatter_of_output(output, path, escape_formulas=escape_formulas)
            formatters[endings[output]] = formatter
        inputs = [Path(path) for path in files]
        numbers = int(part[1]), int(part[2])
        return ShardRun(Path(self.out_shards), formatters, inputs, pairs=self.shard_pairs, part=numbers)


def _check_plain(path: Path) -> None:
    """Raise UsageError if a path is a pipe, which would be empty once its hash is computed."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        why = "once for its hash, but a pipe can be read only once; write it to a file first"
        raise UsageError(f"--out-shards reads {path} twice, {why}")


def _shard_ending(output: str, path: str) -> str:
    """Return the ending of the shards of an output."""
    from nmtalign.report.tables import table_format

    if output == "table":
        return table_format(path)[1:]
    if output == "costs" and format_ending(path) == ".jsonl":
        return "costs-jsonl"
    return output.replace("_", "-")


@contextmanager
def assembling_shards(
    run: ShardRun, outputs: Mapping[str, str], described: dict[str, Any], *, resume: bool
) -> Iterator[None]:
    """Let a run write its missing shards, then join the shards of each output that has a file."""
    from nmtalign.batch.shards import stopped_as_resumable
    from nmtalign.report.tables import table_header

    with stopped_as_resumable(run.folder, by=(KeyboardInterrupt,)), run:
        run.start(described, resume=resume)
        with stopped_as_resumable(run.folder):
            yield
            run.finish()
            with AtomicFiles() as files:
                for output, path in outputs.items():
                    if path != "-":
                        ending = _shard_ending(output, path)
                        file = files.text(path)
                        if output == "table":
                            file.write(table_header(f".{ending}"))
                        run.assemble(ending, file)


def describe_run(files: Sequence[str], model: ModelOptions, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything that the links depend on: the text, the model, the settings, the version."""
    paths = [resolve_path(path) for path in model.files] or [bundled_path(BUNDLED_MODEL)]
    model_hashes = ""
    for path in paths:
        _check_plain(path)
        for file in _files_under(path):
            model_hashes += fingerprint(file)["sha256"]
    model_hash = hashlib.sha256(model_hashes.encode()).hexdigest()
    text = [fingerprint(Path(path)) for path in files]
    return {"version": na.__version__, "text": text, "model": model_hash, **settings}


def _files_under(path: Path) -> list[Path]:
    """Return the files of a folder in order, or the one file that a path names."""
    candidates = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [candidate for candidate in candidates if candidate.is_file()]


def formatters_of_links() -> dict[str, Callable[[na.AlignedBatch], str]]:
    """Return the functions that format the outputs for which a batch of links suffices."""
    from nmtalign.links import formats

    return {
        "links": formats.format_pharaoh_batch,
        "probabilities": formats.format_probabilities_batch,
        "pair_scores": formats.format_pair_scores_batch,
    }


def table_rows_of_chunk(path: str, *, escape_formulas: bool) -> Callable[[AlignedChunk], Iterable[LinkRow]]:
    """Return a function that yields the rows of a table for an aligned chunk."""
    from nmtalign.report.tables import batch_rows, without_formulas

    def rows(chunk: AlignedChunk) -> Iterable[LinkRow]:
        plain_rows = batch_rows(chunk.batch, *chunk.linked_strings(), first=chunk.first + 1)
        return without_formulas(plain_rows, path) if escape_formulas else plain_rows

    return rows


def formatter_of_output(output: str, path: str, *, escape_formulas: bool) -> Callable[[AlignedChunk], str]:
    """Return a function that formats an output; the ending of `path` is the format of a table."""
    from nmtalign.links.formats import format_costs, format_guided_batch
    from nmtalign.report.tables import table_format, table_text

    if output == "table":
        kind = table_format(path)
        rows = table_rows_of_chunk(path, escape_formulas=escape_formulas)
        return lambda chunk: table_text(kind, rows(chunk), chunk.unit.name)
    if output == "guided":
        return lambda chunk: format_guided_batch(
            chunk.batch, *chunk.strings_for_translation(), first=chunk.first + 1
        )
    if output == "costs":
        is_json = format_ending(path) == ".jsonl"
        return lambda chunk: "" if chunk.costs is None else format_costs(chunk.costs, for_opusfilter=is_json)
    if output in SIDES:
        return lambda chunk: "".join(f"{' '.join(words)}\n" for words in _tokens_of_side(chunk, output))
    text = formatters_of_links()[output]
    return lambda chunk: text(chunk.batch)


def _tokens_of_side(chunk: AlignedChunk, side: str) -> list[list[str]]:
    """Return the tokens, or the pieces, of one side."""
    if chunk.unit.expands and chunk.joined_marks is None:
        n = SIDES.index(side)
        return [
            chunk.unit.piece_line(pair, n, chunk.text_settings, chunk.languages).pieces
            for pair in chunk.lines
        ]
    # the other side is emptied, because splitting it would double the time
    other_side = {name: "" for name in SIDES if name != side}
    lines = [pair._replace(**other_side) for pair in chunk.lines]
    return chunk._replace(lines=lines).strings_for_translation()[SIDES.index(side)]


def open_sink(
    output: str, path: str, files: AtomicFiles, *, escape_formulas: bool, unit: LinkUnitName
) -> Sink:
    """Return a function that writes an aligned chunk, whose positions count `unit`, to an output."""
    from nmtalign.encoders.matrix_files import LINKABLE
    from nmtalign.files.array_files import NpzWriter
    from nmtalign.report.tables import open_table

    if output == "attention":
        archive = files.enter_context(NpzWriter(files.binary(path), comment=f"unit: {unit}"))

        def write(chunk: AlignedChunk) -> None:
            for number, (weights, linkable) in enumerate(chunk.attention or (), chunk.first + 1):
                archive.write(f"pair-{number}", weights)
                if not linkable.all():
                    archive.write(f"{LINKABLE}-{number}", linkable)

        return write
    if output == "table":
        write_rows = open_table(path, files, unit=unit)
        rows = table_rows_of_chunk(path, escape_formulas=escape_formulas)
        return lambda chunk: write_rows(rows(chunk))
    file = files.text(path)
    format_chunk = formatter_of_output(output, path, escape_formulas=escape_formulas)
    return lambda chunk: file.write(format_chunk(chunk))


def write_files(texts: Mapping[str, Iterable[str]]) -> None:
    """Write the lines of each file; the files get their names once all of them are complete."""
    with AtomicFiles() as files:
        for path, lines in texts.items():
            files.text(path).writelines(lines)


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """The processes or the cluster that do the work."""

    workers: int | None = option(
        "--workers N", "Number of processes; the result is always the same.  [cores]", type=Integer(min=1)
    )
    engine: Literal["local", "dask"] = option(
        "--engine", "Run in processes on this machine, or on a dask cluster.", default="local"
    )
    scheduler: str | None = option("--scheduler ADDR", "Address of a dask cluster, such as tcp://node1:8786.")

    def client(self, stack: ExitStack) -> Client | None:
        """Connect to the cluster until the stack ends; None for the processes of this machine."""
        if self.engine == "local":
            if self.scheduler is not None:
                raise UsageError("--scheduler requires --engine dask; add it")
            return None
        if self.scheduler is not None and self.workers is not None:
            raise UsageError("--workers counts processes of this machine; remove it when you use --scheduler")
        from nmtalign.batch.cluster import connected
        from nmtalign.corpus.parallel import default_workers

        return stack.enter_context(connected(self.scheduler, default_workers(self.workers)))


@dataclass(frozen=True, kw_only=True)
class OutputFileOptions(Options):
    """The file to write."""

    section = "Output"

    output: str = option(
        "-o --output FILE", "Write to FILE; `-` is standard output.", type=OUTPUT, default="-"
    )


def log_written(what: str, paths: list[str], progress: ProgressReporter) -> None:
    """Log what was written where, in one line."""
    where = "" if "-" in paths else f" in {' and '.join(paths)}"
    log(f"{what}{where}, {progress.seconds:.1f} s", event="written")
