"""How `align` and `train` run: in shards, in processes or on a cluster; and the outputs of commands."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import nmtalign as na
from nmtalign.cli.declare import OUTPUT, Options, Whole, option
from nmtalign.cli.messages import Progress, log
from nmtalign.cli.model_options import ModelOptions
from nmtalign.errors import UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.checksums import fingerprint
from nmtalign.files.compressed import format_ending
from nmtalign.files.paths import bundled_path, resolve_path
from nmtalign.names import MODEL, SIDES

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.batch.shards import ShardRun
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.report.tables import LinkRow

    Sink = Callable[[AlignedChunk], object]

_ALWAYS = ("links", "probabilities", "pair_scores")  # outputs that every run keeps


@dataclass(frozen=True, kw_only=True)
class ShardOptions(Options):
    """The folder of a run, and the part of it that this job does."""

    out_shards: str | None = option(
        "--out-shards DIR", "Save finished shards here, for --resume.", type=OUTPUT
    )
    resume: bool = option("--resume", "Resume the run in --out-shards.", default=False)
    shard: str | None = option("--shard I/N", "Align every N-th shard, from the I-th on; N jobs align all.")
    shard_pairs: int = option(
        "--shard-pairs", "Sentence pairs in each shard.", type=Whole(min=1), default=100_000
    )

    @property
    def may_exist(self) -> bool:
        """Whether the folder may hold a run; one of several jobs may find it begun by another."""
        return bool(self.resume or self.shard)

    def open(
        self, files: Sequence[str], outputs: Mapping[str, str], *, escape_formulas: bool
    ) -> ShardRun | None:
        """Return the run of these options, None without them; `outputs` are the files to write.

        Inputs can be read twice, and outputs be put together of shards; others are a UsageError.
        """
        from nmtalign.batch.shards import ShardRun

        if self.out_shards is None:
            if self.may_exist:
                raise UsageError("--resume and --shard go with --out-shards DIR; give it too")
            return None
        if "-" in files:
            raise UsageError("--out-shards: not with standard input, which cannot be read again")
        if "attention" in outputs:
            raise UsageError("--out-shards: not with --attention, which is one file")
        for path in files:
            _check_plain(Path(path))
        if self.shard is not None and any(path != "-" for path in outputs.values()):
            advice = "put them together with --resume -o LINKS at the end"
            raise UsageError(f"--shard fills --out-shards only; {advice}")
        paths = {**dict.fromkeys(_ALWAYS, ""), **outputs}
        kinds = {output: _kind(output, path) for output, path in paths.items()}
        if "parquet" in kinds.values():
            raise UsageError("--out-shards: tables as .csv, .tsv or .jsonl, whose shards can be put together")
        part = re.fullmatch(r"(\d{1,9})/(\d{1,9})", self.shard or "1/1", re.ASCII)
        if part is None or not 0 < int(part[1]) <= int(part[2]):
            raise UsageError(f"--shard wants I/N with I from 1 to N, like 2/8; found {self.shard!r}")
        texts = {
            kinds[output]: formatter_of_output(output, path, escape_formulas=escape_formulas)
            for output, path in paths.items()
        }
        inputs, numbers = [Path(path) for path in files], (int(part[1]), int(part[2]))
        return ShardRun(Path(self.out_shards), texts, inputs, pairs=self.shard_pairs, part=numbers)


def _check_plain(path: Path) -> None:
    """Refuse pipes: what is read once for its hash leaves nothing to align."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        why = "once for its hash, and a pipe can be read only once; write it to a file first"
        raise UsageError(f"--out-shards reads {path} twice, {why}")


def _kind(output: str, path: str) -> str:
    """Return the ending of the shards of an output."""
    from nmtalign.report.tables import table_format

    if output == "table":
        return table_format(path)[1:]
    if output == "costs" and format_ending(path) == ".jsonl":
        return "costs-jsonl"
    return output.replace("_", "-")


@contextmanager
def in_shards(
    run: ShardRun, outputs: Mapping[str, str], described: dict[str, Any], *, resume: bool
) -> Iterator[None]:
    """Let a run write its missing shards; when all are there, assemble the outputs that have a file."""
    from nmtalign.batch.shards import resumable
    from nmtalign.report.tables import TABLE_HEADS

    with resumable(run.folder, by=(KeyboardInterrupt,)), run:
        run.start(described, resume=resume)
        with resumable(run.folder):
            yield
            run.finish()
            with AtomicFiles() as files:
                for output, path in outputs.items():
                    if path != "-":
                        kind, file = _kind(output, path), files.text(path)
                        file.write(TABLE_HEADS.get(f".{kind}", ""))
                        run.assemble(kind, file)


def describe(files: Sequence[str], model: ModelOptions, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the links depend on: the text, the model, the settings, the version."""
    paths = [resolve_path(path) for path in model.files] or [bundled_path(MODEL)]
    for path in paths:
        _check_plain(path)
    parts = [part for path in paths for part in _files_in(path)]
    model_hashes = "".join(fingerprint(part)["sha256"] for part in parts)
    model_hash = hashlib.sha256(model_hashes.encode()).hexdigest()
    text = [fingerprint(Path(path)) for path in files]
    return {"version": na.__version__, "text": text, "model": model_hash, **settings}


def _files_in(path: Path) -> list[Path]:
    """Return the files of a folder in order, or the one file that a path names."""
    candidates = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [candidate for candidate in candidates if candidate.is_file()]


def batch_texts() -> dict[str, Callable[[na.AlignedBatch], str]]:
    """Return what makes the text of each output that needs the links alone."""
    from nmtalign.links import formats

    return {
        "links": formats.format_pharaoh_batch,
        "probabilities": formats.format_scores_batch,
        "pair_scores": formats.format_pair_scores_batch,
    }


def rows_of(path: str, *, escape_formulas: bool) -> Callable[[AlignedChunk], Iterable[LinkRow]]:
    """Return what makes the rows of a table."""
    from nmtalign.report.tables import batch_rows, without_formulas

    def rows(chunk: AlignedChunk) -> Iterable[LinkRow]:
        found = batch_rows(chunk.batch, *chunk.tokens(), first=chunk.first)
        return without_formulas(found, path) if escape_formulas else found

    return rows


def formatter_of_output(output: str, path: str, *, escape_formulas: bool) -> Callable[[AlignedChunk], str]:
    """Return what makes the text of an output; `path` gives the format of a table."""
    from nmtalign.links.formats import format_costs, format_guided_batch
    from nmtalign.report.tables import table_format, table_text

    if output == "table":
        kind, rows = table_format(path), rows_of(path, escape_formulas=escape_formulas)
        return lambda chunk: table_text(kind, rows(chunk))
    if output == "guided":
        return lambda chunk: format_guided_batch(chunk.batch, *chunk.pieces(), first=chunk.first)
    if output == "costs":
        is_json = format_ending(path) == ".jsonl"
        return lambda chunk: "" if chunk.costs is None else format_costs(chunk.costs, for_opusfilter=is_json)
    if output in SIDES:
        return lambda chunk: "".join(f"{' '.join(words)}\n" for words in _of_side(chunk, output))
    text = batch_texts()[output]
    return lambda chunk: text(chunk.batch)


def _of_side(chunk: AlignedChunk, side: str) -> list[list[str]]:
    """Return the tokens of one side; the other one is emptied, as cutting it would take as long again."""
    if chunk.unit.expands and chunk.joined_marks is None:
        n = SIDES.index(side)
        return [chunk.unit.segment(pair, n, chunk.text, chunk.languages).pieces for pair in chunk.lines]
    other = {name: "" for name in SIDES if name != side}
    lines = [pair._replace(**other) for pair in chunk.lines]
    return chunk._replace(lines=lines).pieces()[SIDES.index(side)]


def open_sink(output: str, path: str, files: AtomicFiles, *, escape_formulas: bool) -> Sink:
    """Return what writes an output chunk by chunk."""
    from nmtalign.encoders.matrix_files import LINKABLE
    from nmtalign.files.array_files import NpzWriter
    from nmtalign.report.tables import open_table

    if output == "attention":
        archive = files.enter_context(NpzWriter(files.binary(path)))

        def write(chunk: AlignedChunk) -> None:
            for number, (weights, linkable) in enumerate(chunk.attention or (), chunk.first):
                archive.write(f"pair-{number}", weights)
                if not linkable.all():
                    archive.write(f"{LINKABLE}-{number}", linkable)

        return write
    if output == "table":
        write_rows, rows = open_table(path, files), rows_of(path, escape_formulas=escape_formulas)
        return lambda chunk: write_rows(rows(chunk))
    file, text = files.text(path), formatter_of_output(output, path, escape_formulas=escape_formulas)
    return lambda chunk: file.write(text(chunk))


def write_whole(texts: Mapping[str, Iterable[str]]) -> None:
    """Write the lines of each file; all get their names when all are written."""
    with AtomicFiles() as files:
        for path, lines in texts.items():
            files.text(path).writelines(lines)


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """The processes or the cluster that do the work."""

    workers: int | None = option(
        "--workers", "Processes; the result is the same.  [cores]", type=Whole(min=1)
    )
    engine: Literal["local", "dask"] = option(
        "--engine", "Run in processes here, or on a cluster.", default="local"
    )
    scheduler: str | None = option("--scheduler ADDR", "Address of a dask cluster, like tcp://node1:8786.")

    def client(self, stack: ExitStack) -> Client | None:
        """Connect to the cluster until the stack ends; None for the processes of this machine."""
        if self.engine == "local":
            if self.scheduler is not None:
                raise UsageError("--scheduler goes with --engine dask; give it too")
            return None
        if self.scheduler is not None and self.workers is not None:
            raise UsageError("--workers counts processes of this machine; with --scheduler leave it out")
        from nmtalign.batch.cluster import connected
        from nmtalign.corpus.parallel import default_workers

        return stack.enter_context(connected(self.scheduler, default_workers(self.workers)))


@dataclass(frozen=True, kw_only=True)
class OutputFileOptions(Options):
    """The file to write."""

    section = "Output"

    output: str = option("-o --output FILE", "File to write.", type=OUTPUT, default="-")


def say_written(what: str, paths: list[str], progress: Progress) -> None:
    """Say in one line what was written where."""
    where = "" if "-" in paths else f" in {' and '.join(paths)}"
    log(f"{what}{where}, {progress.seconds:.1f} s", event="written")
