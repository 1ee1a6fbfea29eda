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

    from nmtalign.alignment.links import AlignedPair, AlignmentMatrix, GoldAlignment
    from nmtalign.models.aligner import Aligner
    from nmtalign.text.bitext import SentencePair

VIEWS = ("combined", "forward", "reverse", "all")
Numbered = "tuple[int, tuple[SentencePair, GoldAlignment | None]]"


@click.command()
@click.argument("source_sentence", required=False)
@click.argument("target_sentence", required=False)
@click.option("-o", "--output", metavar="FIG", required=True, help="Picture: .png, .svg or .pdf.")
@click.option("--pairs", metavar="FILE", help="Take pairs from a bitext, instead of the two sentences.")
@click.option("--format", "format_", metavar="NAME", default="auto", help="Form of --pairs.  [by its ending]")
@click.option("--lines", metavar="LIST", help="Pairs of --pairs to draw, like 3,7-9; several make a .pdf.")
@click.option("--gold", metavar="FILE", help="Gold links, drawn as boxes; one line for each pair.")
@click.option(
    "--view", type=click.Choice(VIEWS), default="combined", show_default=True, help="Which weights."
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
    from nmtalign.report.heatmap import check_format, save_heatmaps

    check_format(output)
    chosen = _choose(source_sentence, target_sentence, pairs, format_, lines, gold)
    with warnings_to_stderr(), whole_file(output) as partial:
        aligner = load_aligner(options)
        figures = (
            _draw(aligner, number, pair, gold_links, view=view, links=links, numbers=numbers)
            for number, (pair, gold_links) in chosen
        )
        save_heatmaps(figures, partial, dpi=dpi)


def _choose(
    source: str | None,
    target: str | None,
    pairs: str | None,
    format_: str,
    lines: str | None,
    gold: str | None,
) -> Iterator[tuple[int, tuple[SentencePair, GoldAlignment | None]]]:
    """Yield the numbered pairs to draw, each with its gold links."""
    from nmtalign.text.bitext import SentencePair, read_bitext

    if (pairs is None) != (source is not None and target is not None) or (pairs and source is not None):
        raise UsageError("expected two sentences, or --pairs FILE")
    if lines is not None and pairs is None:
        raise UsageError("--lines chooses among the pairs of a file; name it with --pairs")
    if source is not None and target is not None:
        return enumerate(_with_gold(iter([SentencePair(source, target)]), gold))  # 0 is no number of a line
    both = _with_gold(read_bitext(str(pairs), format=format_), gold)
    return pick(both, parse_lines(lines)) if lines else enumerate(both, 1)


def _with_gold(
    records: Iterator[SentencePair], gold: str | None
) -> Iterator[tuple[SentencePair, GoldAlignment | None]]:
    """Put the gold links of each line beside the pair."""
    if gold is None:
        return ((record, None) for record in records)
    from nmtalign.alignment.formats import read_gold

    return zip(records, read_gold(gold), strict=True)


def _draw(
    aligner: Aligner,
    number: int,
    pair: SentencePair,
    gold: GoldAlignment | None,
    *,
    view: str,
    links: bool,
    numbers: bool | None,
) -> Figure:
    """Align one pair and draw it."""
    from nmtalign.report.heatmap import draw_heatmaps

    found = aligner.align(*pair)
    return draw_heatmaps(
        _views(found, view),
        links=found.alignment if links else None,
        gold=gold,
        numbers=numbers,
        title=f"pair {number}" if number else "",
    )


def _views(pair: AlignedPair, view: str) -> dict[str, AlignmentMatrix]:
    """Return the matrices to draw, by the title of their panel."""
    from dataclasses import replace

    matrices = {"combined": pair.matrix}
    for name, weights in (("forward", pair.forward), ("reverse", pair.reverse)):
        if weights is not None:
            matrices[name] = replace(pair.matrix, weights=weights)
    if view == "all":
        return {name: matrices[name] for name in ("forward", "reverse", "combined") if name in matrices}
    if view not in matrices:
        raise UsageError(f"these weights have no {view} direction")
    return {"": matrices[view]}
