"""``nmtalign align``: a bitext in, one line of links out for each pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from nmtalign.cli._messages import warnings_to_stderr
from nmtalign.cli._model_options import ModelOptions, load_aligner, model_options
from nmtalign.cli._progress import Progress
from nmtalign.cli._threads import one_blas_thread
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.batch.stream import AlignedChunk
    from nmtalign.models.aligner import Aligner
    from nmtalign.text.bitext import SentencePair

    Sink = Callable[[AlignedChunk], None]

FEW_KNOWN = 0.5  # share of words with a vector, below which something is likely to be wrong
_CAUSES = "check the order of the languages (--langs), --tokenizer, --lowercase and --unicode"
LONG = 25_000_000  # cells (T x S) of one pair; its weights take 200 MB for each array of them


@click.command()
@click.argument("source", required=False)
@click.argument("target", required=False)
@click.option(
    "-o", "--output", metavar="LINKS", default="-", help="Pharaoh links, one line a pair.  [stdout]"
)
@click.option("--pairs", metavar="FILE", help="One file with both sides, instead of SOURCE and TARGET.")
@click.option("--format", "bitext_format", metavar="NAME", default="auto", help="Form of the bitext.  [auto]")
@click.option("--scores", metavar="FILE", help="Probabilities of the links, parallel to LINKS.")
@click.option("--pair-scores", metavar="FILE", help="One number a pair: how parallel it looks.")
@click.option("--table", metavar="FILE", help="One row a link: .csv, .tsv, .jsonl, .parquet.")
@click.option("--remap", type=click.Choice(["space"]), help="Give links between words between spaces.")
@model_options
def align(
    source: str | None,
    target: str | None,
    pairs: str | None,
    bitext_format: str,
    remap: str | None,
    options: ModelOptions,
    **outputs: str | None,
) -> None:
    """Align a bitext: two files, line by line, or one file with both sides (--pairs). `-` is stdin.

    Every pair gives one line of links `source-target`, counted from 0; an empty side gives an empty line.
    Without an option for the model, the shipped English-French one is used.

    Example: nmtalign align text.en text.fr -o links.txt --table links.tsv
    """
    one_blas_thread()
    bitext = open_bitext(source, target, pairs, bitext_format)
    _check_outputs(outputs)
    with warnings_to_stderr(), ExitStack() as stack:
        aligner = load_aligner(options)
        sinks = [_SINKS[name](path, stack) for name, path in outputs.items() if path is not None]
        summary = _run(aligner, bitext, sinks, whitespace=remap == "space")
    click.echo(f"{summary}\nnmtalign: {aligner.settings}", err=True)


def open_bitext(
    source: str | None, target: str | None, pairs: str | None, bitext_format: str
) -> Iterator[SentencePair]:
    """Return the pairs of SOURCE and TARGET, or of the one file of --pairs."""
    from nmtalign.text.bitext import read_bitext

    if pairs is not None and source is None:
        return read_bitext(pairs, format=bitext_format)
    if pairs is None and source is not None and target is not None:
        return read_bitext(source, target, format=bitext_format)
    raise UsageError("expected SOURCE and TARGET, two files with as many lines, or --pairs FILE")


def _check_outputs(outputs: dict[str, str | None]) -> None:
    """Refuse two outputs into one file."""
    paths = [path for path in outputs.values() if path is not None]
    if len(set(paths)) < len(paths):
        raise UsageError("two outputs go to the same place; give each its own file")


def _run(aligner: Aligner, bitext: Iterator[SentencePair], sinks: list[Sink], *, whitespace: bool) -> str:
    """Stream the bitext into the sinks and return a summary of what was done."""
    from nmtalign.batch.stream import align_stream

    links, coverage = 0, _CoverageCount(aligner)
    with Progress("pairs") as progress:
        for chunk in align_stream(aligner, bitext, whitespace=whitespace):
            _warn_of_long_pairs(chunk)
            for sink in sinks:
                sink(chunk)
            links += len(chunk.batch.source)
            coverage.add(chunk)
            progress.advance(len(chunk.batch))
    speed = f"{progress.seconds:.1f} s ({progress.rate:,.0f} pairs a second)"
    return f"nmtalign: {progress.done:,} pairs, {links:,} links in {speed}{coverage}"


class _CoverageCount:
    """How many words have a vector, for aligners over given vectors."""

    def __init__(self, aligner: Aligner) -> None:
        from nmtalign.models.aligner import VectorAligner
        from nmtalign.vectors.embeddings import Coverage

        self._aligner = aligner if isinstance(aligner, VectorAligner) else None
        self._sides = [Coverage(), Coverage()] if self._aligner else []

    def add(self, chunk: AlignedChunk) -> None:
        if self._aligner is not None:
            found = self._aligner.coverage(chunk.words)
            self._sides = [a + b for a, b in zip(self._sides, found, strict=True)]

    def __str__(self) -> str:
        lines = []
        for name, side in zip(("source", "target"), self._sides, strict=False):
            lines.append(f"\nnmtalign: {name}: {side}")
            if side.rate < FEW_KNOWN:
                lines.append(f"\nnmtalign: warning: few {name} words are known; {_CAUSES}")
        return "".join(lines)


def _warn_of_long_pairs(chunk: AlignedChunk) -> None:
    for number, (source, target) in enumerate(chunk.words, chunk.first):
        if len(source) * len(target) > LONG:
            sizes = f"{len(source):,} and {len(target):,} words"
            click.echo(
                f"nmtalign: warning: pair {number} has {sizes}; it is aligned, but takes memory", err=True
            )


def _text_sink(path: str, stack: ExitStack, text: Callable[[AlignedChunk], str]) -> Sink:
    """Return a sink that writes one text a chunk; the file gets its name when all is done."""
    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text

    file = stack.enter_context(open_text(stack.enter_context(whole_file(path)), "w"))

    def write(chunk: AlignedChunk) -> None:
        file.write(text(chunk))

    return write


def _links(path: str, stack: ExitStack) -> Sink:
    from nmtalign.alignment.formats import format_pharaoh_batch

    return _text_sink(path, stack, lambda chunk: format_pharaoh_batch(chunk.batch))


def _scores(path: str, stack: ExitStack) -> Sink:
    from nmtalign.alignment.formats import format_scores_batch

    return _text_sink(path, stack, lambda chunk: format_scores_batch(chunk.batch))


def _pair_scores(path: str, stack: ExitStack) -> Sink:
    return _text_sink(path, stack, lambda chunk: "".join(f"{score:.6f}\n" for score in chunk.batch.scores))


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
}
