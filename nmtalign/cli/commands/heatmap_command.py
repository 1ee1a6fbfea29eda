"""``nmtalign heatmap``: draw pairs as pictures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

import nmtalign as na
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, open_progress, warn
from nmtalign.cli.parameter_types import INPUT
from nmtalign.cli.records import (
    RecordOptions,
    pick_lines,
    read_to_end,
    with_unknown_words_warning,
)
from nmtalign.cli.texts import PairsOptions
from nmtalign.declarations import Settings, argument, setting
from nmtalign.display import abbreviate, with_plural
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.external.matrix_files import read_pairs_with_attention
from nmtalign.names import CellValues
from nmtalign.report.chosen_pairs import CorpusRecord, align_record, other_alignments, weights_of_parts
from nmtalign.report.tables import MATRIX_FORMATS, matrices_to_draw, save_matrices
from nmtalign.settings import PictureSettings
from nmtalign.text.bitext import SentencePair

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_LIST_CHARS = 100  # longer lists of words are abbreviated in messages
MAX_PICTURE_WORDS = 150  # words per side of a picture, unless --rows or --columns choose others


class ShownPair(NamedTuple):
    """What the picture of a pair shows: the words that are not cropped, and their weights."""

    pair: na.AlignedPair
    gold: na.GoldAlignment | None
    matrices: dict[str, na.AlignmentMatrix] | None  # by the titles of their panels; None: those of the pair


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(PairsOptions):
    """Two sentences, or a file of pairs."""

    source_sentence: str | None = argument(required=False)
    target_sentence: str | None = argument(required=False)


@dataclass(frozen=True, kw_only=True)
class PictureFileOptions(Settings):
    """The file of the picture, and the part of a pair that it shows."""

    section = "Output"

    output: str = setting(
        MISSING,
        "-o --output FIG",
        "Picture (.png, .svg, .pdf) or file of numbers (.tsv, .csv, .npz).",
        kind="output",
    )
    values: CellValues | Literal["all", "parts"] | None = setting(
        None,
        "--values",
        "Draw the scores before the softmax, the attention of one direction, or both directions combined;"
        " `all` draws forward, reverse and combined; `parts` draws one panel per scorer or attention head."
        "  [combined; with --positions none or diagonal: forward]",
    )
    mark_links: bool = setting(True, "--mark-links/--no-mark-links", "Mark the chosen links.")
    rows: tuple[int, ...] | None = setting(
        None,
        "--rows",
        f"Target words to draw, such as 0-39.  [the first {MAX_PICTURE_WORDS}]",
        kind="numbers",
    )
    columns: tuple[int, ...] | None = setting(
        None,
        "--columns",
        f"Source words to draw, such as 3,10-20.  [the first {MAX_PICTURE_WORDS}]",
        kind="numbers",
    )

    @property
    def as_numbers(self) -> bool:
        """Whether the file contains numbers, not a picture."""
        return Path(self.output).suffix.lower() in MATRIX_FORMATS

    def settings(self, picture: PictureSettings) -> PictureSettings:
        """Return the settings of the picture; raise UsageError if they do not suit the file."""
        values = None if self.values == "parts" else self.values
        chosen = replace(picture, values=values, card=picture.is_card)
        if self.as_numbers:
            picture.refuse_others((), "numbers")
        if (chosen.card or chosen.curves) and self.values in ("all", "parts"):
            raise UsageError(f"--values {self.values}: curves and cards show one matrix; remove it")
        if chosen.card and not self.mark_links:
            raise UsageError("--no-mark-links does not apply to a card; remove it")
        if chosen.pin is not None and (self.rows is not None or self.columns is not None):
            raise UsageError("--pin shows a word in the whole pair; remove --rows and --columns")
        return chosen


@command("heatmap")
def heatmap_command(
    bitext: SentenceOptions,
    file: PictureFileOptions,
    picture: PictureSettings,
    chosen: RecordOptions,
) -> None:
    """Draw the attention weights of a sentence pair.

    Rows are target words, columns are source words. With --gold, links are marked as right, wrong or missed.
    Columns of a right-to-left sentence run from right to left. For files, pass two files, or --pairs FILE,
    and choose pairs with --lines. Several pairs become the pages of a .pdf. To save numbers instead of a
    picture, choose .npz (one array per pair), or .tsv or .csv for a single pair. The weights come from a
    model, or with --attention from another program; SENTENCES and files may then be omitted.

    Example: nmtalign heatmap "the black cat" "le chat noir" --curves -o cat.svg
    """
    from nmtalign.report.style import PICTURE_FORMATS, check_picture_suffix

    check_picture_suffix(file.output, PICTURE_FORMATS + MATRIX_FORMATS)
    settings = file.settings(picture)
    with open_progress("matrices" if file.as_numbers else "pictures") as progress:
        bad = BadRecords()
        pairs, files = _read_pairs(bitext.with_languages_of(chosen.options.model), chosen, bad)
        if chosen.options.vectors.positions == "hmm" and not files:
            raise UsageError(
                "--positions hmm is fitted to a text; pass two files, or --pairs FILE, and choose the pair"
                " with --lines N"
            )
        aligner, all_records = chosen.open(pairs, bitext.encoding, bad, typed=not files)
        records = all_records if chosen.lines is None else pick_lines(all_records, chosen.lines)
        records = read_to_end(records, pairs, all_records, has_links=chosen.gold is not None)
        records = progress.done_one_by_one(
            with_unknown_words_warning(
                _check_not_empty(records, files), aligner, is_model_implicit=chosen.options.path is None
            )
        )
        unknown: dict[str, None] = {}  # words without a vector, in order
        shown = ((record.number, _shown_pair(aligner, record, file, settings, unknown)) for record in records)
        if file.as_numbers:
            save_matrices(((number or 1, _matrices(pair, settings)) for number, pair in shown), file.output)
        else:
            pictures = (_draw_pair(number, pair, file, settings) for number, pair in shown)
            na.save_heatmaps(pictures, file.output, dpi=settings.dpi)
    without = ""
    if unknown:
        without = f"; words without a vector: {abbreviate(', '.join(unknown), MAX_LIST_CHARS)}"
    what = _count_of(progress.done, as_numbers=file.as_numbers)
    log(f"{what} in {file.output}, {progress.seconds:.1f} s{without}", event="drawn")


def _count_of(count: int, *, as_numbers: bool) -> str:
    """Return how many matrices or pictures were written, in words."""
    if as_numbers:
        return f"{count:,} matrix" if count == 1 else f"{count:,} matrices"
    return with_plural(count, "picture")


def _check_not_empty(records: Iterator[CorpusRecord], files: Sequence[str]) -> Iterator[CorpusRecord]:
    """Return records; a DataError names the files if there are none."""
    first = next(records, None)
    if first is None:
        raise DataError("expected sentence pairs, found none").at(" and ".join(files))
    return chain([first], records)


def _read_pairs(
    bitext: SentenceOptions, chosen: RecordOptions, bad: BadRecords
) -> tuple[Iterator[SentencePair], Sequence[str]]:
    """Return sentence pairs, and the files that they are read from: none of two sentences."""
    lines = chosen.lines
    source, target = bitext.source_sentence, bitext.target_sentence
    pairs = bitext.read_file(bad.add)
    if pairs is not None and source is None:
        return bad.track(pairs), [str(bitext.pairs)]
    if pairs is None and source is None and chosen.attention is not None:
        archived = read_pairs_with_attention(chosen.attention)
        return (SentencePair(*given.lines) for given in archived), [chosen.attention]
    if pairs is not None or source is None or target is None:
        raise UsageError("expected two sentences, or --pairs FILE, or two files and --lines N")
    sides = SentencePair(source, target)
    if lines is None:
        _check_not_files(sides)
        return iter([sides]), ()
    _check_sentence_files(sides)
    pairs = iter(na.read_bitext(source, target, encoding=bitext.encoding, on_error=bad.add))
    return bad.track(pairs), sides


def _check_sentence_files(sides: SentencePair) -> None:
    """Raise UsageError if one of two files does not exist, or is the output."""
    context = click.get_current_context()
    parameters = {known.name: known for known in context.command.params}
    for parameter, name in zip(("source_sentence", "target_sentence"), sides, strict=True):
        if name != "-" and not os.path.exists(name):
            found = f"found {name[:80]!r}, which does not exist"
            raise UsageError(f"--lines requires two files instead of sentences, or --pairs FILE; {found}")
        INPUT.note([name], parameters[parameter], context)


def _check_not_files(sides: SentencePair) -> None:
    """Raise UsageError if a sentence is the name of a file."""
    for sentence in filter(os.path.isfile, sides):
        word = f"if {sentence} is a word, add a space: '{sentence} '"
        advice = f"for pairs of two files, add --lines, such as --lines 1; {word}"
        raise UsageError(f"expected two sentences, found the file {sentence}; {advice}")


def _shown_pair(
    aligner: na.Aligner | None,
    record: CorpusRecord,
    file: PictureFileOptions,
    settings: PictureSettings,
    unknown: dict[str, None],
) -> ShownPair:
    """Return what a picture shows of a record, and add its words without a vector to `unknown`."""
    import numpy as np

    from nmtalign.report.heatmap import crop_pair

    pair = align_record(record, aligner)
    T, S = pair.matrix.weights.shape
    other_alignments(record, S, T)
    if pair.matrix.unknown is not None:
        for tokens, positions in zip(pair.tokens, pair.matrix.unknown, strict=True):
            unknown.update(dict.fromkeys(tokens[n] for n in sorted(positions)))
    if settings.pin is not None:
        return ShownPair(pair, record.gold, None)
    max_words = math.inf if file.as_numbers else MAX_PICTURE_WORDS
    where = f"pair {record.number}: " if record.number else ""
    rows = _choose_positions(file.rows, T, max_words, f"{where}target words", "--rows")
    columns = _choose_positions(file.columns, S, max_words, f"{where}source words", "--columns")
    pair, gold = crop_pair(pair, record.gold, rows, columns)
    if file.values != "parts":
        return ShownPair(pair, gold, None)
    weights = weights_of_parts(record, aligner)
    matrices = {
        name: replace(pair.matrix, weights=part[np.ix_(rows, columns)]) for name, part in weights.items()
    }
    alone = "attention" if aligner is None else aligner.scorer.names[0]
    [whole] = _matrices(ShownPair(pair, gold, None), settings).values()
    return ShownPair(pair, gold, matrices | {"combined" if matrices else alone: whole})


def _matrices(shown: ShownPair, settings: PictureSettings) -> dict[str, na.AlignmentMatrix]:
    """Return the matrices of a pair by the titles of their panels."""
    return matrices_to_draw(shown.pair, settings.values) if shown.matrices is None else shown.matrices


def _choose_positions(
    wanted: tuple[int, ...] | None, word_count: int, max_words: float, what: str, option: str
) -> list[int]:
    """Return the positions of the words to show; without `wanted`, a long side is cropped."""
    if wanted is not None:
        chosen = [position for position in wanted if position < word_count]
    else:
        chosen = list(range(int(min(word_count, max_words))))
        if word_count > max_words:
            advice = f"choose others with {option}, such as 0-{max_words - 1}"
            warn(f"{what}: only the first {max_words} of {word_count:,} are drawn; {advice}")
    if word_count and not chosen:
        raise UsageError(f"{option}: there are only {word_count:,} words; positions count from 0")
    return chosen


def _draw_pair(number: int, shown: ShownPair, file: PictureFileOptions, settings: PictureSettings) -> Figure:
    """Draw the matrices of a pair, its links as curves, or its card."""
    from nmtalign.report.drawing import draw

    title = f"pair {number}" if number else ""
    pair = shown.pair
    if not file.mark_links:
        pair = replace(pair, alignment=na.Alignment((), *map(len, pair.tokens)))
    of_pair = replace(settings, gold=shown.gold, title=title.capitalize() if settings.card else title)
    try:
        return draw(pair, of_pair, shown.matrices)
    except DataError as error:
        raise DataError(f"{title}: {error}" if title and settings.card else str(error)) from None
