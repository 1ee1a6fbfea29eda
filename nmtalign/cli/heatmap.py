"""``nmtalign heatmap``: the attention weights of sentence pairs as pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from nmtalign.cli._lines import parse_lines, pick
from nmtalign.cli._messages import warnings_to_stderr
from nmtalign.cli._model_options import ModelOptions, load_aligner, model_options
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nmtalign.alignment.links import AlignmentMatrix
    from nmtalign.models.aligner import Aligner
    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair

VIEWS = ("combined", "forward", "reverse", "all", "heads")


@click.command()
@click.argument("source_sentence", required=False)
@click.argument("target_sentence", required=False)
@click.option("-o", "--output", metavar="FIG", required=True, help="Picture: .png, .svg or .pdf.")
@click.option("--pairs", metavar="FILE", help="Take pairs from a bitext, instead of the two sentences.")
@click.option("--format", "format_", metavar="NAME", default="auto", help="Form of --pairs.  [by its ending]")
@click.option("--lines", metavar="LIST", help="Pairs of --pairs to draw, like 3,7-9; several make a .pdf.")
@click.option("--gold", metavar="FILE", help="Gold links, drawn as boxes; one line for each pair.")
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    default="combined",
    show_default=True,
    help="Which weights, or by head.",
)
@click.option("--links/--no-links", default=True, help="Mark the chosen links.  [yes]")
@click.option("--numbers/--no-numbers", default=None, help="Write the weights into the cells.  [if they fit]")
@click.option(
    "--dpi", type=click.IntRange(10, 1200), default=150, show_default=True, help="Dots an inch, .png."
)
@model_options
def heatmap(
    source_sentence: str | None,
    target_sentence: str | None,
    output: str,
    pairs: str | None,
    format_: str,
    lines: str | None,
    gold: str | None,
    view: str,
    links: bool,
    numbers: bool | None,
    dpi: int,
    options: ModelOptions,
) -> None:
    """Draw attention weights: target words are rows, source words are columns.

    Example: nmtalign heatmap "the black cat" "le chat noir" -o cat.png
    """
    from nmtalign.batch.output import whole_file
    from nmtalign.models.positional import fitted_on
    from nmtalign.report.heatmap import check_format, save_heatmaps

    check_format(output)
    bitext = _bitext(source_sentence, target_sentence, pairs, format_, lines)
    with warnings_to_stderr(), whole_file(output) as partial:
        aligner = load_aligner(options)
        if pairs is not None:
            aligner, bitext = fitted_on(aligner, bitext)
        records = _choose(bitext, lines, gold, numbered=pairs is not None)
        figures = (_draw(aligner, record, view=view, links=links, numbers=numbers) for record in records)
        save_heatmaps(figures, partial, dpi=dpi)


def _bitext(
    source: str | None, target: str | None, pairs: str | None, format_: str, lines: str | None
) -> Iterator[SentencePair]:
    """Return the one pair of the command line, or those of a file."""
    from nmtalign.text.bitext import SentencePair, read_bitext

    if (pairs is None) != (source is not None and target is not None) or (pairs and source is not None):
        raise UsageError("expected two sentences, or --pairs FILE")
    if lines is not None and pairs is None:
        raise UsageError("--lines chooses among the pairs of a file; name it with --pairs")
    if source is not None and target is not None:
        return iter([SentencePair(source, target)])
    return read_bitext(str(pairs), format=format_)


def _choose(
    bitext: Iterator[SentencePair], lines: str | None, gold: str | None, *, numbered: bool
) -> Iterator[Record]:
    """Yield the records to draw; that of a pair which is no line of a file has the number 0."""
    from nmtalign.report.corpus import read_corpus

    records = read_corpus(bitext, gold=gold)
    if not numbered:
        return (record._replace(number=0) for record in records)
    return (record for _, record in pick(records, parse_lines(lines))) if lines else records


def _draw(aligner: Aligner, record: Record, *, view: str, links: bool, numbers: bool | None) -> Figure:
    """Align one pair and draw it; a pair with the number 0 is no line of a file."""
    from nmtalign.report.heatmap import draw_heatmaps, matrices_of

    found = aligner.align(*record.pair)
    return draw_heatmaps(
        _by_head(aligner, record) if view == "heads" else matrices_of(found, view),
        links=found.alignment if links else None,
        gold=record.gold,
        numbers=numbers,
        title=f"pair {record.number}" if record.number else "",
    )


def _by_head(aligner: Aligner, record: Record) -> dict[str, AlignmentMatrix]:
    """Return the matrix of each head of a learned model by itself, and that of all together."""
    from nmtalign.models.learned import LearnedAligner

    if not isinstance(aligner, LearnedAligner):
        raise UsageError("--view heads is for learned models; word vectors have one head")
    alone = aligner.heads if len(aligner.heads) > 1 else ()
    by_head = {head: aligner.with_heads([head]).align(*record.pair).matrix for head in alone}
    return by_head | {"joint" if by_head else aligner.heads[0]: aligner.align(*record.pair).matrix}
