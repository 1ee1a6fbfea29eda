"""``nmtalign heatmap``: the attention weights of sentence pairs as pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from nmtalign.cli.messages import warnings_to_stderr
from nmtalign.cli.options.bitext import PairsOptions, pairs_options
from nmtalign.cli.options.groups import Command, section
from nmtalign.cli.options.records import RecordOptions, record_options
from nmtalign.cli.options.types import OUTPUT, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nmtalign.aligner.aligner import Aligner
    from nmtalign.links.alignments import AlignmentMatrix
    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair

VIEWS = ("combined", "forward", "reverse", "all", "heads")


@click.command(cls=Command)
@click.argument("source_sentence", required=False)
@click.argument("target_sentence", required=False)
@pairs_options
@section("Output")
@click.option("-o", "--output", type=OUTPUT, metavar="FIG", required=True, help="A .png, .svg or .pdf.")
@click.option("--view", type=click.Choice(VIEWS), default="combined", help="Which weights, or by head.")
@click.option("--links/--no-links", default=True, help="Mark the chosen links.")
@click.option("--numbers/--no-numbers", default=None, help="Write the weights into the cells.  [if they fit]")
@click.option("--dpi", type=Whole(10, 1200), default=150, help="Dots an inch, .png.")
@record_options
def heatmap(
    source_sentence: str | None,
    target_sentence: str | None,
    bitext: PairsOptions,
    output: str,
    view: str,
    links: bool,
    numbers: bool | None,
    dpi: int,
    chosen: RecordOptions,
) -> None:
    """Draw attention weights: target words are rows, source words are columns; gold links are boxes.

    Several pairs (--pairs) make the pages of a .pdf. The weights are those of a model, or with --matrices
    attention of another program.

    Example: nmtalign heatmap "the black cat" "le chat noir" -o cat.png
    """
    from nmtalign.batch.output import whole_file
    from nmtalign.report.heatmap import check_format, save_heatmaps

    check_format(output)
    if chosen.lines is not None and bitext.pairs is None:
        raise UsageError("--lines chooses among the pairs of a file; name it with --pairs")
    if (chosen.options.positions == "hmm" or chosen.options.fitted_in_context) and bitext.pairs is None:
        name = "--positions hmm" if chosen.options.positions == "hmm" else chosen.options.context
        raise UsageError(f"{name} is fitted to a text; give one: --pairs FILE --lines N")
    pairs = _pairs(source_sentence, target_sentence, bitext)
    with warnings_to_stderr(), whole_file(output) as partial:
        aligner, records = chosen.open(pairs)
        if bitext.pairs is None:
            records = (record._replace(number=0) for record in records)  # no line of a file
        figures = (
            _draw(aligner, record, view=view, links=links, numbers=numbers)
            for record in chosen.chosen(records)
        )
        save_heatmaps(figures, partial, dpi=dpi, name=output)


def _pairs(source: str | None, target: str | None, bitext: PairsOptions) -> Iterator[SentencePair]:
    """Return the one pair of the command line, or those of a file."""
    from nmtalign.text.bitext import SentencePair

    pairs = bitext.open()
    if pairs is not None and source is None:
        return pairs
    if pairs is None and source is not None and target is not None:
        return iter([SentencePair(source, target)])
    raise UsageError("expected two sentences, or --pairs FILE")


def _draw(aligner: Aligner | None, record: Record, *, view: str, links: bool, numbers: bool | None) -> Figure:
    """Align one pair and draw it; a pair with the number 0 is no line of a file."""
    from nmtalign.report.corpus import attention_of
    from nmtalign.report.heatmap import draw_heatmap, matrices_of

    found = attention_of(record, aligner)
    return draw_heatmap(
        _by_head(aligner, record, view) if view == "heads" else matrices_of(found, view),
        links=found.alignment if links else None,
        gold=record.gold,
        numbers=numbers,
        title=f"pair {record.number}" if record.number else "",
    )


def _by_head(aligner: Aligner | None, record: Record, view: str) -> dict[str, AlignmentMatrix]:
    """Return the matrix of each head of a learned model by itself, and that of all together."""
    if aligner is None:
        raise UsageError(f"--view {view} is for models; attention of other programs has one head")
    aligner = aligner.at(max(record.number, 1))
    alone = aligner.head_names if len(aligner.head_names) > 1 else ()
    by_head = {head: aligner.with_heads([head]).align(*record.pair).matrix for head in alone}
    return by_head | {"joint" if by_head else aligner.head_names[0]: aligner.align(*record.pair).matrix}
