"""``nmtalign heatmap``: draw pairs as pictures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import nmtalign as na
from nmtalign.cli import declare, texts
from nmtalign.cli.declare import INPUT, OUTPUT, Numbers, Options, Whole, argument, command, option
from nmtalign.cli.messages import Progress, log, warn
from nmtalign.cli.records import RecordOptions, pick, warn_of_unknown_words
from nmtalign.cli.texts import PairsOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.names import CellValues

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from nmtalign.report.corpus import Record
    from nmtalign.text.bitext import SentencePair

    Shown = tuple[dict[str, na.AlignmentMatrix], frozenset[na.Link], na.GoldAlignment | None]

LIST_CHARACTERS = 100  # characters of a list of words
PICTURE_WORDS = 150  # words of a side that a picture shows when nothing else is asked for


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(PairsOptions):
    """Two sentences, or a file of pairs."""

    source_sentence: str | None = argument(required=False)
    target_sentence: str | None = argument(required=False)


@dataclass(frozen=True, kw_only=True)
class PictureOptions(Options):
    """What a picture shows, and the file."""

    section = "Output"

    output: str = option(
        "-o --output FIG", ".png .svg .pdf; numbers: .tsv .csv .npz.", type=OUTPUT, required=True
    )
    values: CellValues | Literal["all", "parts"] | None = option(
        "--values",
        "Scores before the softmax, attention of one direction, or both directions combined; `all` draws"
        " forward, reverse and combined; `parts` draws one panel per scorer or attention head."
        "  [softmax without null: forward; else combined]",
    )
    links: bool = option("--links/--no-links", "Mark the chosen links.", default=True)
    numbers: bool | None = option(
        "--numbers/--no-numbers", "Write weights, with --curves positions.  [if they fit]"
    )
    rows: tuple[int, ...] | None = option(
        "--rows", f"Target words to draw, like 0-39.  [the first {PICTURE_WORDS}]", type=Numbers(0)
    )
    columns: tuple[int, ...] | None = option(
        "--columns", f"Source words to draw, like 3,10-20.  [the first {PICTURE_WORDS}]", type=Numbers(0)
    )
    light: bool = option("--light", "Light colors, for paper.", default=False)
    linear: bool = option("--linear", "Make colors proportional to the weights.", default=False)
    curves: bool = option("--curves", "Draw links as curves between the words, no matrix.", default=False)
    dpi: int = option("--dpi", "Dots per inch of a .png.", type=Whole(10, 1200), default=150)
    escape_formulas: bool = texts.formula_option()


@command(name="heatmap")
def heatmap_command(bitext: SentenceOptions, look: PictureOptions, chosen: RecordOptions) -> None:
    """Draw attention weights: target words are rows, source words are columns; gold links are boxes.

    With --lines, two files take the place of the two sentences. Several pairs of files make the pages of a
    .pdf, or the arrays of an .npz: numbers instead of a picture, as .tsv and .csv of one pair. The weights
    are those of a model, or with --matrices attention of another program.

    Example: nmtalign heatmap "the black cat" "le chat noir" --curves -o cat.svg
    """
    from nmtalign.report.heatmap import FORMATS, check_format
    from nmtalign.report.style import shorten
    from nmtalign.report.tables import OF_MATRICES, save_matrices

    output = look.output
    check_format(output, FORMATS + OF_MATRICES)
    as_numbers = Path(output).suffix.lower() in OF_MATRICES
    of_cells = {"--values": look.values in ("all", "parts"), "--light": look.light, "--linear": look.linear}
    given = [name for name, used in {**of_cells, f"-o {output}": as_numbers}.items() if used]
    if look.curves and given:
        raise UsageError(f"--curves draws the links of one matrix, no cells; leave out {', '.join(given)}")
    pairs, files = _pairs(bitext, chosen.lines)
    if chosen.options.vectors.positions == "hmm" and not files:
        raise UsageError("--positions hmm is fitted to a text; give one: --pairs FILE --lines N")
    with Progress("matrices" if as_numbers else "pictures") as progress:
        aligner, records = chosen.open(pairs, bitext.encoding)
        if not files:
            records = (record._replace(number=0, typed=True) for record in records)  # no line of a file
        records = records if chosen.lines is None else pick(records, chosen.lines)
        records = progress.done_one_by_one(warn_of_unknown_words(_not_empty(records, files), aligner))
        most = math.inf if as_numbers else PICTURE_WORDS
        lacking: dict[str, None] = {}  # words without a vector, in order
        shown = (
            (record.number, _matrices_of_record(aligner, record, look, most, lacking)) for record in records
        )
        if as_numbers:
            matrices = ((number or 1, of_pair) for number, (of_pair, *_) in shown)
            save_matrices(matrices, output, escape_formulas=look.escape_formulas)
        else:
            na.save_heatmaps((_draw_pair(number, pair, look) for number, pair in shown), output, dpi=look.dpi)
    count = progress.done
    what = f"matri{'x' if count == 1 else 'ces'}" if as_numbers else f"picture{'s'[: count > 1]}"
    without = f"; without a vector: {shorten(', '.join(lacking), LIST_CHARACTERS)}" if lacking else ""
    log(f"{count:,} {what} in {output}, {progress.seconds:.1f} s{without}", event="drawn")


def _not_empty(records: Iterator[Record], files: Sequence[str]) -> Iterator[Record]:
    """Return records; a DataError names the files if there are none."""
    first = next(records, None)
    if first is None:
        raise DataError("expected sentence pairs, found none").at(" and ".join(files))
    return chain([first], records)


def _pairs(
    bitext: SentenceOptions, lines: Sequence[int] | None
) -> tuple[Iterator[SentencePair], Sequence[str]]:
    """Return sentence pairs, and the files that they are read from: none of two sentences."""
    from nmtalign.text.bitext import SentencePair

    source, target = bitext.source_sentence, bitext.target_sentence
    pairs = bitext.read_file()
    if pairs is not None and source is None:
        return pairs, [str(bitext.pairs)]
    if pairs is not None or source is None or target is None:
        raise UsageError("expected two sentences, or --pairs FILE, or two files and --lines N")
    sides = SentencePair(source, target)
    if lines is None:
        _expect_sentences(sides)
        return iter([sides]), ()
    _expect_files(sides)
    return iter(na.read_bitext(source, target, encoding=bitext.encoding)), sides


def _expect_files(sides: SentencePair) -> None:
    """Raise UsageError if one of two files does not exist, or is the output."""
    context = click.get_current_context()
    parameters = {known.name: known for known in context.command.params}
    for parameter, name in zip(("source_sentence", "target_sentence"), sides, strict=True):
        if name != "-" and not os.path.exists(name):
            found = f"found {name[:80]!r}, which is none"
            raise UsageError(f"--lines chooses among the pairs of a file or of two files; {found}")
        declare.check_paths([name], INPUT, parameters[parameter], context)


def _expect_sentences(sides: SentencePair) -> None:
    """Raise UsageError if a sentence is the name of a file."""
    for sentence in filter(os.path.isfile, sides):
        advice = f"pairs of two files are chosen with --lines, like --lines 1; for a word write '{sentence} '"
        raise UsageError(f"expected two sentences, found the file {sentence}; {advice}")


def _matrices_of_record(
    aligner: na.Aligner | None, record: Record, look: PictureOptions, most: float, lacking: dict[str, None]
) -> Shown:
    """Return the matrices of a pair by the titles of their panels, its links and its gold links.

    A side is cropped to `most` words; words without a vector are noted in `lacking`.
    """
    from nmtalign.report.corpus import attention_of, others_inside, parts_of
    from nmtalign.report.heatmap import cropped, matrices_of

    pair = attention_of(record, aligner)
    T, S = pair.matrix.weights.shape
    others_inside(record, S, T)
    for tokens, unknown in zip(pair.tokens, pair.matrix.unknown or (), strict=False):
        lacking.update(dict.fromkeys(tokens[n] for n in sorted(unknown)))
    where = f"pair {record.number}: " if record.number else ""
    rows = _choose_positions(look.rows, T, most, f"{where}target words", "--rows")
    columns = _choose_positions(look.columns, S, most, f"{where}source words", "--columns")
    matrices = matrices_of(pair, None if look.values == "parts" else look.values)
    if look.values == "parts":
        [whole] = matrices.values()
        parts = {name: replace(whole, weights=part) for name, part in parts_of(record, aligner).items()}
        alone = "attention" if aligner is None else aligner.scorer.names[0]
        matrices = parts | {"combined" if parts else alone: whole}
    return cropped(matrices, pair.alignment, record.gold, rows, columns)


def _choose_positions(
    wanted: tuple[int, ...] | None, words: int, most: float, what: str, option: str
) -> list[int]:
    """Return the positions of the words to show; a picture holds so many, so a long side is cropped."""
    if wanted is None and words > most:
        warn(f"{what}: {words:,}, the first {most} are drawn; choose others with {option}, like 0-{most - 1}")
    kept = [*range(int(min(words, most)))] if wanted is None else [n for n in wanted if n < words]
    if words and not kept:
        raise UsageError(f"{option}: there are only {words:,} words, counted from 0")
    return kept


def _draw_pair(number: int, shown: Shown, look: PictureOptions) -> Picture:
    from nmtalign.report.heatmap import draw_curves
    from nmtalign.report.style import DARK, LIGHT

    matrices, links, gold = shown
    marks: Any = {"links": links if look.links else None, "gold": gold}
    marks["title"] = f"pair {number}" if number else ""
    if look.curves:
        [matrix] = matrices.values()
        return draw_curves(matrix, numbers=bool(look.numbers), **marks)
    colors = LIGHT if look.light else DARK
    return na.draw_heatmap(matrices, numbers=look.numbers, linear=look.linear or None, colors=colors, **marks)
