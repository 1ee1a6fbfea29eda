"""``nmtalign demo``: align the shipped sample, score it, draw it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmtalign.cli.commands.align import align
from nmtalign.cli.commands.evaluate import evaluate
from nmtalign.cli.looking.report import SAMPLE, report
from nmtalign.cli.messages import warnings_to_stderr
from nmtalign.cli.options.groups import Command, section
from nmtalign.cli.options.types import OUTPUT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGES = (1, 2, 4, 6, 7, 8, 10, 11)  # lines of the sample in the PDF


@click.command(cls=Command)
@section("Output")
@click.option("-o", "--output", type=OUTPUT, metavar="DIR", default="out", help="Folder for the results.")
@click.pass_context
def demo(context: click.Context, output: str) -> None:
    """Align the shipped English-French sample, evaluate and draw the links.

    Example: nmtalign demo -o out
    """
    from nmtalign.door import shipped

    sample, folder = shipped("en_fr_sample"), Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    links = str(folder / "links.txt")
    context.invoke(
        align,
        source=str(sample / "text.tok.en"),
        target=str(sample / "text.tok.fr"),
        output=links,
        probabilities=str(folder / "probabilities.txt"),
        table=str(folder / "links.tsv"),
    )
    click.echo(f"\nAgainst the gold links of {sample}:")
    context.invoke(evaluate, links=links, gold=str(sample / "gold.pharaoh"))
    context.invoke(
        report,
        source=str(sample / "text.tok.en"),
        target=str(sample / "text.tok.fr"),
        gold=str(sample / "gold.pharaoh"),
        output=str(folder / "report.html"),
        title="The English-French sample",
    )
    _draw(sample, folder)
    click.echo("\nOpen:")
    for name, what in _RESULTS.items():
        click.echo(f"  {folder / name!s:<26} {what}")


_RESULTS = {
    "report.html": f"{SAMPLE} pairs: words, weights, gold links, figures",
    "heatmap.png": "attention weights of the first pair; dots are links, boxes are gold links",
    "heatmap.svg": "the same, with text that can be searched",
    "heatmaps.pdf": f"{len(PAGES)} pairs, one a page",
    "links.tsv": "one row for each link: pair, positions, words, probability",
    "links.txt": "Pharaoh links, one line for each pair",
    "probabilities.txt": "their probabilities",
}


def _draw(sample: Path, folder: Path) -> None:
    from nmtalign.report.heatmap import save_heatmaps

    with warnings_to_stderr():
        (first,) = _figures(sample, (1,))
        save_heatmaps([first], folder / "heatmap.png")
        save_heatmaps([first], folder / "heatmap.svg")
        save_heatmaps(_figures(sample, PAGES), folder / "heatmaps.pdf")


def _figures(sample: Path, numbers: tuple[int, ...]) -> Iterator[Figure]:
    """Yield the pictures of lines of the sample, with their gold links."""
    from nmtalign.aligner.opening import load
    from nmtalign.cli.options.records import pick
    from nmtalign.links.formats import read_gold
    from nmtalign.report.heatmap import draw_heatmap
    from nmtalign.text.bitext import read_bitext

    aligner = load()
    pairs = read_bitext(sample / "text.tok.en", sample / "text.tok.fr")
    records = zip(pairs, read_gold(sample / "gold.pharaoh"), strict=True)
    for number, (lines, gold) in pick(records, list(numbers)):
        pair = aligner.attend_words(lines)
        yield draw_heatmap(pair.matrix, links=pair.alignment, gold=gold, title=f"pair {number}")
