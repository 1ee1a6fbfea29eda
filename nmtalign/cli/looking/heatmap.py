"""``nmtalign heatmap``: the attention weights of sentence pairs as pictures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nmtalign.cli.messages import Progress, log, warn
from nmtalign.cli.options.bitext import PairsOptions, pairs_options
from nmtalign.cli.options.declare import OUTPUT, Numbers, Values, Whole, command, option, option_group
from nmtalign.cli.options.sources import RecordOptions, covered, pick, record_options, warn_of_coverage
from nmtalign.errors import DataError, UsageError
from nmtalign.names import VALUES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nmtalign.aligner.aligner import Aligner
    from nmtalign.corpus.coverage import Coverage
    from nmtalign.links.alignments import AlignmentMatrix, GoldAlignment, Link
    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair

LONGEST = 100  # characters of a list of words
MOST = 150  # words of a side that a picture shows when nothing else is asked for


_look_options = option_group(
    "look",
    option(
        "--values",
        (*VALUES, "all", "parts"),
        "Scores before the softmax, attention of a direction or both combined; `all`: the latter three;"
        " `parts`: of each scorer or attention head.  [softmax without null: forward; else combined]",
    ),
    option("--links/--no-links", bool, "Mark the chosen links.", default=True),
    option("--numbers/--no-numbers", bool, "Write weights, with --curves positions.  [if they fit]"),
    option("--rows", Numbers(0), f"Target words to draw, like 0-39.  [the first {MOST}]"),
    option("--columns", Numbers(0), f"Source words to draw, like 3,10-20.  [the first {MOST}]"),
    option("--light", bool, "Light colors, for paper."),
    option("--linear", bool, "Make colors proportional to the weights."),
    option("--curves", bool, "Draw links as curves between the words, no matrix."),
    option("--dpi", Whole(10, 1200), "Dots per inch of a .png.", default=150),
)


@command(
    click.argument("source_sentence", required=False),
    click.argument("target_sentence", required=False),
    pairs_options,
    "Output",
    option("-o --output FIG", OUTPUT, ".png .svg .pdf; numbers: .tsv .csv .npz.", required=True),
    _look_options,
    record_options,
)
def heatmap(bitext: PairsOptions, look: Values, chosen: RecordOptions, output: str, **sentences: Any) -> None:
    """Draw attention weights: target words are rows, source words are columns; gold links are boxes.

    Several pairs (--pairs) make the pages of a .pdf, or the arrays of an .npz: numbers instead of a picture,
    as .tsv and .csv of one pair. The weights are those of a model, or with --matrices attention of another
    program.

    Example: nmtalign heatmap "the black cat" "le chat noir" --curves -o cat.svg
    """
    from nmtalign.report.heatmap import FORMATS, check_format, save_heatmaps
    from nmtalign.report.style import shorten
    from nmtalign.report.tables import OF_MATRICES, save_matrices

    check_format(output, FORMATS + OF_MATRICES)
    as_numbers = Path(output).suffix.lower() in OF_MATRICES
    of_cells = {"--values": look.values in ("all", "parts"), "--light": look.light, "--linear": look.linear}
    given = [name for name, used in {**of_cells, f"-o {output}": as_numbers}.items() if used]
    if look.curves and given:
        raise UsageError(f"--curves draws the links of one matrix, no cells; leave out {', '.join(given)}")
    if chosen.lines is not None and bitext.pairs is None:
        raise UsageError("--lines chooses among the pairs of a file; name it with --pairs")
    if chosen.options.positions == "hmm" and bitext.pairs is None:
        raise UsageError("--positions hmm is fitted to a text; give one: --pairs FILE --lines N")
    drawn = Progress("matrices" if as_numbers else "pictures")
    with drawn:
        aligner, records = chosen.open(_pairs(bitext, **sentences))
        if bitext.pairs is None:
            records = (record._replace(number=0, typed=True) for record in records)  # no line of a file
        known: list[Coverage] = []
        records = records if chosen.lines is None else pick(records, chosen.lines)
        records = covered(_not_empty(records, bitext.pairs), aligner, known)
        most = math.inf if as_numbers else MOST
        lacking: dict[str, None] = {}  # words without a vector, in order
        shown = (_shown(aligner, record, look, most, lacking) for record in records)
        if as_numbers:
            numbered = ((pair.number or 1, pair.matrices) for pair in shown)
            save_matrices(drawn.done_one_by_one(numbered), output)
        else:
            figures = (_draw(pair, look) for pair in shown)
            save_heatmaps(drawn.done_one_by_one(figures), output, dpi=look.dpi)
    warn_of_coverage(known)
    what = f"matri{'x' if drawn.done == 1 else 'ces'}" if as_numbers else f"picture{'s'[: drawn.done > 1]}"
    without = f"; without a vector: {shorten(', '.join(lacking), LONGEST)}" if lacking else ""
    log(f"{drawn.done:,} {what} in {output}, {drawn.seconds:.1f} s{without}", event="drawn")


def _not_empty(records: Iterator[Record], file: str | None) -> Iterator[Record]:
    """Yield records; a DataError names the file if there are none."""
    first = next(records, None)
    if first is None:
        raise DataError("expected sentence pairs, found none").at(str(file))
    yield first
    yield from records


def _pairs(
    bitext: PairsOptions, source_sentence: str | None, target_sentence: str | None
) -> Iterator[SentencePair]:
    """Return the one pair of the command line, or those of a file."""
    from nmtalign.text.bitext import SentencePair

    pairs = bitext.open()
    if pairs is not None and source_sentence is None:
        return pairs
    if pairs is None and source_sentence is not None and target_sentence is not None:
        pair = SentencePair(source_sentence, target_sentence)
        for sentence in filter(os.path.isfile, pair):
            how = f"`paste {' '.join(pair)} > pairs.tsv`, then `--pairs pairs.tsv --lines 1`"
            advice = f"for a pair of two files {how}; for a word '{sentence} '"
            raise UsageError(f"expected two sentences, found the file {sentence}; {advice}")
        return iter([pair])
    raise UsageError("expected two sentences, or --pairs FILE")


class _Shown(NamedTuple):
    """The matrices of a pair by the titles of their panels, as far as they are shown, and its links."""

    number: int  # 0 of a pair that is no line of a file
    matrices: dict[str, AlignmentMatrix]
    links: frozenset[Link]
    gold: GoldAlignment | None


def _shown(
    aligner: Aligner | None, record: Record, look: Values, most: float, lacking: dict[str, None]
) -> _Shown:
    """Align one pair, crop it to `most` words a side, and note words without a vector in `lacking`."""
    from nmtalign.report.corpus import attention_of, parts_of
    from nmtalign.report.heatmap import cropped, matrices_of

    pair = attention_of(record, aligner)
    T, S = pair.matrix.weights.shape
    for tokens, unknown in zip(pair.tokens, pair.matrix.unknown or (), strict=False):
        lacking.update(dict.fromkeys(tokens[n] for n in sorted(unknown)))
    place = f"pair {record.number}: " if record.number else ""
    rows = _kept(look.rows, T, most, f"{place}target words", "--rows")
    columns = _kept(look.columns, S, most, f"{place}source words", "--columns")
    matrices = matrices_of(pair, None if look.values == "parts" else look.values)
    if look.values == "parts":
        [whole] = matrices.values()
        parts = {name: replace(whole, weights=part) for name, part in parts_of(record, aligner).items()}
        alone = "attention" if aligner is None else aligner.scorer.names[0]
        matrices = parts | {"combined" if parts else alone: whole}
    return _Shown(record.number, *cropped(matrices, pair.alignment, record.gold, rows, columns))


def _draw(shown: _Shown, look: Values) -> Figure:
    from nmtalign.report.heatmap import draw_curves, draw_heatmap
    from nmtalign.report.style import DARK, LIGHT

    links, title = shown.links if look.links else None, f"pair {shown.number}" if shown.number else ""
    if look.curves:
        [matrix] = shown.matrices.values()
        return draw_curves(matrix, links=links, gold=shown.gold, title=title, numbers=bool(look.numbers))
    return draw_heatmap(
        shown.matrices,
        links=links,
        gold=shown.gold,
        title=title,
        numbers=look.numbers,
        linear=look.linear or None,
        colors=LIGHT if look.light else DARK,
    )


def _kept(wanted: tuple[int, ...] | None, words: int, most: float, what: str, option: str) -> list[int]:
    """Return the positions of the words to show; a picture holds so many, so a long side is cropped."""
    if wanted is None and words > most:
        warn(f"{what}: {words:,}, the first {most} are drawn; choose others with {option}, like 0-{most - 1}")
    kept = [*range(int(min(words, most)))] if wanted is None else [n for n in wanted if n < words]
    if words and not kept:
        raise UsageError(f"{option}: there are only {words:,} words, counted from 0")
    return kept
