"""Shards, processes and clusters of `align` and `train`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import nmtalign as na
from nmtalign.cli.declare import CLUSTERS
from nmtalign.cli.outputs import formatter_of_output
from nmtalign.declarations import Settings, setting
from nmtalign.errors import UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import format_ending
from nmtalign.files.paths import fingerprint

if TYPE_CHECKING:
    from distributed import Client

    from nmtalign.run.shards import ShardRun
    from nmtalign.run.stream import AlignedChunk

_OUTPUTS_OF_EVERY_RUN = ("links", "probabilities", "pair_scores")


@dataclass(frozen=True, kw_only=True)
class ShardOptions(Settings):
    """The folder of a run, and the part of it that this job does."""

    section = CLUSTERS

    out_shards: str | None = setting(
        None, "--out-shards DIR", "Save finished shards in DIR, so that --resume can continue.", kind="output"
    )
    resume: bool = setting(False, "--resume", "Resume the run in --out-shards.")
    shard: str | None = setting(
        None, "--shard I/N", "Align every N-th shard, starting with the I-th; N jobs align all of them."
    )
    shard_pairs: int = setting(100_000, "--shard-pairs N", "Number of sentence pairs per shard.", minimum=1)

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
        from nmtalign.run.shards import ShardRun

        if self.out_shards is None:
            if self.may_exist:
                raise UsageError("--resume and --shard require --out-shards DIR; add it")
            return None
        if "-" in files:
            raise UsageError(
                "--out-shards cannot be combined with standard input, which cannot be read twice; pass files"
            )
        for output in ("attention", "posteriors"):
            if output in outputs:
                raise UsageError(
                    f"--out-shards cannot be combined with --{output}, which writes one file; remove one"
                )
        for path in files:
            _check_plain(Path(path))
        if self.shard is not None and any(path != "-" for path in outputs.values()):
            advice = "at the end, write the other outputs with --resume -o LINKS"
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
    from nmtalign.report.tables import table_header
    from nmtalign.run.shards import stopped_as_resumable

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


def describe_run(
    files: Sequence[str], model_files: Sequence[Path], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return everything that the links depend on: the text, the model, the settings, the version."""
    model_hashes = ""
    for path in model_files:
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


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Settings):
    """The processes or the cluster that do the work."""

    workers: int | None = setting(
        None, "--workers N", "Number of processes; the result is always the same.  [cores]", minimum=1
    )
    engine: Literal["local", "dask"] = setting(
        "local", "--engine", "Run in processes on this machine, or on a dask cluster.", section=CLUSTERS
    )
    scheduler: str | None = setting(
        None, "--scheduler ADDR", "Address of a dask cluster, such as tcp://node1:8786.", section=CLUSTERS
    )

    def client(self, stack: ExitStack) -> Client | None:
        """Connect to the cluster until the stack ends; None for the processes of this machine."""
        if self.engine == "local":
            if self.scheduler is not None:
                raise UsageError("--scheduler requires --engine dask; add it")
            return None
        if self.scheduler is not None and self.workers is not None:
            raise UsageError("--workers counts processes of this machine; remove it when you use --scheduler")
        from nmtalign.corpus.parallel import default_workers
        from nmtalign.run.cluster import connected

        return stack.enter_context(connected(self.scheduler, default_workers(self.workers)))
