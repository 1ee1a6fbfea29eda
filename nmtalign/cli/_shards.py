"""The options of a run in shards, and the run."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from nmtalign import __version__
from nmtalign.cli._types import OUTPUT, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.batch.shards import ShardRun, Text
    from nmtalign.cli._model_options import ModelOptions

_NAMES = ("out_shards", "resume", "shard", "shard_pairs")
_OPTIONS = (
    click.option(
        "--out-shards", type=OUTPUT, metavar="DIR", help="Keep what is done in shards, to go on after a stop."
    ),
    click.option("--resume", is_flag=True, help="Go on with the run in --out-shards."),
    click.option("--shard", metavar="I/N", help="Only each N-th shard from the I-th on; N jobs do all."),
    click.option("--shard-pairs", type=Whole(min=1), default=100_000, help="Of a shard.  [100000]"),
)


@dataclass(frozen=True)
class ShardOptions:
    """What the user chose."""

    out_shards: str | None
    resume: bool
    shard: str | None
    shard_pairs: int

    @property
    def resumes(self) -> bool:
        """Whether the folder may hold a run; one of several jobs may always find it begun."""
        return self.resume or self.shard is not None

    def part(self) -> tuple[int, int]:
        """Parse ``2/8``."""
        parts = (self.shard or "1/1").split("/")
        if len(parts) == 2 and all(part.isdecimal() for part in parts) and 0 < int(parts[0]) <= int(parts[1]):
            return int(parts[0]), int(parts[1])
        raise UsageError(f"--shard wants I/N with I from 1 to N, like 2/8; found {self.shard!r}")


def shard_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options of a run in shards; it receives them as ``sharding: ShardOptions``."""

    @functools.wraps(command)
    def collect(**arguments: Any) -> Any:
        return command(sharding=ShardOptions(**{name: arguments.pop(name) for name in _NAMES}), **arguments)

    for option in reversed(_OPTIONS):
        collect = option(collect)
    return collect


def open_run(
    sharding: ShardOptions,
    inputs: Sequence[str | None],
    outputs: Mapping[str, str | None],
    matrices: str | None,
) -> ShardRun | None:
    """Return the run in shards that the options ask for, if they do."""
    from nmtalign.batch.shards import ShardRun
    from nmtalign.links.formats import format_pharaoh_batch, format_scores_batch

    if sharding.out_shards is None:
        if sharding.resume or sharding.shard is not None:
            raise UsageError("--resume and --shard go with --out-shards DIR; give it too")
        return None
    files = [path for path in inputs if path is not None]
    if matrices is not None or "-" in files:
        raise UsageError("--out-shards: not with --matrices or standard input, which cannot be read again")
    for path in files:
        _check_plain(Path(path))
    if sharding.shard is not None and any(path not in (None, "-") for path in outputs.values()):
        raise UsageError(
            "--shard fills --out-shards only; put them together with --resume -o LINKS at the end"
        )
    texts: dict[str, Text] = {
        "links": lambda chunk: format_pharaoh_batch(chunk.batch),
        "scores": lambda chunk: format_scores_batch(chunk.batch),
        "pair-scores": lambda chunk: "".join(f"{score:.6f}\n" for score in chunk.batch.scores),
    }
    texts |= _asked_for(outputs)
    return ShardRun(
        Path(sharding.out_shards),
        texts,
        [Path(path) for path in files],
        pairs=sharding.shard_pairs,
        part=sharding.part(),
    )


def _check_plain(path: Path) -> None:
    """Refuse pipes: what is read once for its hash leaves nothing to align."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(
            f"--out-shards reads {path} twice, once for its hash, and a pipe can be read only once; write it"
            " to a file first"
        )


def _asked_for(outputs: Mapping[str, str | None]) -> dict[str, Text]:
    """Return what makes the shards of tables and guided text, which repeat the words, where asked for."""
    from nmtalign.links.formats import format_guided_batch
    from nmtalign.report.tables import TABLE_HEADS, batch_rows, table_text

    texts: dict[str, Text] = {}
    if outputs["guided"] is not None:
        texts["guided"] = lambda chunk: format_guided_batch(chunk.batch, *chunk.pieces(), first=chunk.first)
    if outputs["table"] is not None:
        kind = _kind("table", outputs["table"])
        if f".{kind}" not in TABLE_HEADS:
            raise UsageError("--out-shards: tables as .csv, .tsv or .jsonl, whose shards can be put together")
        texts[kind] = lambda chunk: table_text(
            f".{kind}", batch_rows(chunk.batch, *chunk.tokens(), first=chunk.first)
        )
    return texts


def _kind(output: str, path: str) -> str:
    """Return the ending of the shards of an output."""
    from nmtalign.report.tables import table_format

    if output == "table":
        return table_format(path)[1:]
    return {"output": "links", "pair_scores": "pair-scores"}.get(output, output)


def assemble(run: ShardRun, output: str, path: str, file: TextIO) -> None:
    """Put the shards of an output together in an open file."""
    from nmtalign.report.tables import TABLE_HEADS

    kind = _kind(output, path)
    file.write(TABLE_HEADS.get(f".{kind}", ""))
    run.assemble(kind, file)


def describe(inputs: Sequence[str | None], options: ModelOptions, **settings: Any) -> dict[str, Any]:
    """Return all that the links depend on: text, model, settings, version."""
    from nmtalign.aligner.opening import MODEL
    from nmtalign.files import fingerprint
    from nmtalign.shipped import place_of, shipped

    named = options.chosen("model", "vectors", "source_vectors", "target_vectors")
    places = [place_of(place) for place in named.values()] or [shipped(MODEL)]
    places += [Path(options.bahdanau)] if options.bahdanau else []
    for place in places:
        _check_plain(place)
    files = [file for place in places for file in (sorted(place.rglob("*")) if place.is_dir() else [place])]
    model = [fingerprint(file)["sha256"] for file in files if file.is_file()]
    return {
        "version": __version__,
        "text": [fingerprint(Path(path)) for path in inputs if path is not None],
        "model": hashlib.sha256("".join(model).encode()).hexdigest(),
        **settings,
    }
