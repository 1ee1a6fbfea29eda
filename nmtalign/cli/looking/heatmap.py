"""``nmtalign heatmap``: the attention weights of sentence pairs as pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from nmtalign.cli.messages import Progress, log, warn, warnings_to_stderr
from nmtalign.cli.options.bitext import PairsOptions, pairs_options
from nmtalign.cli.options.groups import Command, option_group, section
from nmtalign.cli.options.records import RecordOptions, covered, record_options, warn_of_doubt
from nmtalign.cli.options.types import OUTPUT, Numbers, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nmtalign.aligner.aligner import Aligner
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.links.alignments import AlignmentMatrix
    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair

MOST = 150  # words of a side that a picture shows when nothing else is asked for
VALUES = ("scores", "forward", "reverse", "combined", "all", "parts")


@dataclass(frozen=True)
class LookOptions:
    """What of a matrix is drawn, and how."""

    values: str
    links: bool
    numbers: bool | None
    rows: tuple[int, ...] | None
    columns: tuple[int, ...] | None
    light: bool
    linear: bool
    dpi: int


_look_options = option_group(
    "look",
    LookOptions,
    click.option(
        "--values",
        type=click.Choice(VALUES),
        default="combined",
        help="Scores before the softmax, attention of a direction or both combined; `all`: the latter three;"
        " `parts`: of each scorer or attention head.",
    ),
    click.option("--links/--no-links", default=True, help="Mark the chosen links."),
    click.option(
        "--numbers/--no-numbers", default=None, help="Write the weights into the cells.  [if they fit]"
    ),
    click.option("--rows", type=Numbers(0), help=f"Target words to draw, like 0-39.  [the first {MOST}]"),
    click.option(
        "--columns", type=Numbers(0), help=f"Source words to draw, like 3,10-20.  [the first {MOST}]"
    ),
    click.option("--light", is_flag=True, help="Light colors, for paper."),
    click.option("--linear", is_flag=True, help="Colors in proportion to weights, from the smallest on."),
    click.option("--dpi", type=Whole(10, 1200), default=150, help="Dots an inch, .png."),
)


@click.command(cls=Command)
@click.argument("source_sentence", required=False)
@click.argument("target_sentence", required=False)
@pairs_options
@section("Output")
@click.option("-o", "--output", type=OUTPUT, metavar="FIG", required=True, help="A .png, .svg or .pdf.")
@_look_options
@record_options
def heatmap(
    source_sentence: str | None,
    target_sentence: str | None,
    bitext: PairsOptions,
    output: str,
    look: LookOptions,
    chosen: RecordOptions,
) -> None:
    """Draw attention weights: target words are rows, source words are columns; gold links are boxes.

    Several pairs (--pairs) make the pages of a .pdf. The weights are those of a model, or with --matrices
    attention of another program.

    Example: nmtalign heatmap "the black cat" "le chat noir" -o cat.png
    """
    from nmtalign.report.heatmap import check_format, save_heatmaps
    from nmtalign.report.style import DARK, LIGHT

    check_format(output)
    if chosen.lines is not None and bitext.pairs is None:
        raise UsageError("--lines chooses among the pairs of a file; name it with --pairs")
    if chosen.options.positions == "hmm" and bitext.pairs is None:
        raise UsageError("--positions hmm is fitted to a text; give one: --pairs FILE --lines N")
    pairs = _pairs(source_sentence, target_sentence, bitext)
    style = {
        "numbers": look.numbers,
        "linear": look.linear or None,
        "colors": LIGHT if look.light else DARK,
    }
    drawn = Progress("pictures")
    with warnings_to_stderr(), drawn:
        aligner, records = chosen.open(pairs)
        if bitext.pairs is None:
            records = (record._replace(number=0, typed=True) for record in records)  # no line of a file
        known: list[Coverage] = []
        figures = (
            _draw(aligner, record, look, style) for record in covered(chosen.chosen(records), aligner, known)
        )
        save_heatmaps(drawn.done_one_by_one(figures), output, dpi=look.dpi)
    warn_of_doubt(known)
    log(f"{drawn.done:,} picture{'s'[: drawn.done > 1]} in {output}, {drawn.seconds:.1f} s", event="drawn")


def _pairs(source: str | None, target: str | None, bitext: PairsOptions) -> Iterator[SentencePair]:
    """Return the one pair of the command line, or those of a file."""
    from nmtalign.text.bitext import SentencePair

    pairs = bitext.open()
    if pairs is not None and source is None:
        return pairs
    if pairs is None and source is not None and target is not None:
        for sentence in filter(os.path.isfile, (source, target)):
            found = f"expected two sentences, found the file {sentence}"
            how = f"`paste {source} {target} > pairs.tsv`, then `--pairs pairs.tsv --lines 1`"
            raise UsageError(f"{found}; for a pair of two files {how}; for a word '{sentence} '")
        return iter([SentencePair(source, target)])
    raise UsageError("expected two sentences, or --pairs FILE")


def _draw(aligner: Aligner | None, record: Record, look: LookOptions, style: dict[str, Any]) -> Figure:
    """Align one pair and draw it; a pair with the number 0 is no line of a file."""
    from nmtalign.report.corpus import attention_of
    from nmtalign.report.heatmap import cropped, draw_heatmap, matrices_of

    found = attention_of(record, aligner)
    T, S = found.matrix.weights.shape
    place = f"pair {record.number}: " if record.number else ""
    shown = (
        _shown(look.rows, T, f"{place}target words", "--rows"),
        _shown(look.columns, S, f"{place}source words", "--columns"),
    )
    matrices = (
        _by_part(aligner, record, found.matrix) if look.values == "parts" else matrices_of(found, look.values)
    )
    matrices, kept, gold = cropped(matrices, found.alignment, record.gold, *shown)
    return draw_heatmap(
        matrices,
        links=kept if look.links else None,
        gold=gold,
        title=f"pair {record.number}" if record.number else "",
        **style,
    )


def _shown(wanted: tuple[int, ...] | None, words: int, what: str, option: str) -> list[int]:
    """Return the positions of the words to draw; a picture holds so many, so a long side is cropped."""
    if wanted is None and words > MOST:
        warn(f"{what}: {words:,}, the first {MOST} are drawn; choose others with {option}, like 0-{MOST - 1}")
    chosen = range(min(words, MOST)) if wanted is None else [n for n in wanted if n < words]
    if words and not chosen:
        raise UsageError(f"{option}: there are only {words:,} words, counted from 0")
    return list(chosen)


def _by_part(aligner: Aligner | None, record: Record, matrix: AlignmentMatrix) -> dict[str, AlignmentMatrix]:
    """Return the matrix of each scorer or attention head by itself, and that of all together."""
    from nmtalign.report.corpus import parts_of

    by_part = {name: replace(matrix, weights=weights) for name, weights in parts_of(record, aligner).items()}
    alone = "attention" if aligner is None else aligner.scorer.names[0]
    return by_part | {"combined" if by_part else alone: matrix}
