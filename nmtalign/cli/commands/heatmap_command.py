"""``nmtalign heatmap``: draw pairs as pictures."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

import nmtalign as na
from nmtalign.cli.bad_records import BadRecords
from nmtalign.cli.declare import Options, argument, command, option
from nmtalign.cli.messages import log, warn
from nmtalign.cli.parameter_types import INPUT, OUTPUT, Integer, NumberList
from nmtalign.cli.progress_display import open_progress
from nmtalign.cli.records import (
    RecordOptions,
    ShownTextErrorOptions,
    pick_lines,
    read_to_end,
    with_unknown_words_warning,
)
from nmtalign.cli.texts import PairsOptions
from nmtalign.display import with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.names import CellValues

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from nmtalign.report.card_reasons import PinnedWord
    from nmtalign.report.corpus import CorpusRecord
    from nmtalign.text.bitext import SentencePair


MAX_LIST_CHARS = 100  # longer lists of words are abbreviated in messages
MAX_PICTURE_WORDS = 150  # words per side of a picture, unless --rows or --columns choose others


class ShownPair(NamedTuple):
    """The content of the picture of a pair: the matrices by the titles of their panels, and the links."""

    matrices: dict[str, na.AlignmentMatrix]
    links: frozenset[na.Link]
    gold: na.GoldAlignment | None
    threshold: float | None  # the posterior that a link needs
    has_second_words: bool  # links of second words, which need less
    languages: tuple[str | None, str | None]
    pin: PinnedWord | None = None  # the word that the card explains


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(PairsOptions):
    """Two sentences, or a file of pairs."""

    source_sentence: str | None = argument(required=False)
    target_sentence: str | None = argument(required=False)


@dataclass(frozen=True, kw_only=True)
class PictureOptions(Options):
    """The content of a picture, and its file."""

    section = "Output"

    output: str = option(
        "-o --output FIG",
        "Picture (.png, .svg, .pdf) or file of numbers (.tsv, .csv, .npz).",
        type=OUTPUT,
        required=True,
    )
    values: CellValues | Literal["all", "parts"] | None = option(
        "--values",
        "Draw the scores before the softmax, the attention of one direction, or both directions combined;"
        " `all` draws forward, reverse and combined; `parts` draws one panel per scorer or attention head."
        "  [combined; with --positions none or diagonal: forward]",
    )
    mark_links: bool = option("--mark-links/--no-mark-links", "Mark the chosen links.", default=True)
    numbers: bool | None = option(
        "--numbers/--no-numbers",
        "Write the weight into each cell; with --curves, the position of each word.  [if they fit]",
    )
    rows: tuple[int, ...] | None = option(
        "--rows", f"Target words to draw, such as 0-39.  [the first {MAX_PICTURE_WORDS}]", type=NumberList(0)
    )
    columns: tuple[int, ...] | None = option(
        "--columns",
        f"Source words to draw, such as 3,10-20.  [the first {MAX_PICTURE_WORDS}]",
        type=NumberList(0),
    )
    light: bool | None = option(
        "--light/--dark", "Use light colors, as for paper, or dark ones.  [a card: light; else dark]"
    )
    curves: bool = option(
        "--curves", "Draw the links as curves between the words instead of a matrix.", default=False
    )
    card: bool = option(
        "--card",
        "Draw the card of the report: curves, an explanation, and the matrix.",
        default=False,
    )
    pin: str | None = option(
        "--pin WORD",
        "Show on the card what a word looks at, and why it is linked: a word of the pair, or its place,"
        " such as s0 (the first source word) or t7.",
    )
    dpi: int = option("--dpi N", "Dots per inch of a .png picture.", type=Integer(10, 1200), default=150)


@command("heatmap")
def heatmap_command(
    bitext: SentenceOptions,
    errors: ShownTextErrorOptions,
    picture: PictureOptions,
    chosen: RecordOptions,
) -> None:
    """Draw the attention weights of a sentence pair.

    Rows are target words, columns are source words, and gold links are boxes. Columns of a right-to-left
    sentence run from right to left. For files, pass two files, or --pairs FILE, and choose pairs with
    --lines. Several pairs become the pages of a .pdf. To save numbers instead of a picture, choose .npz
    (one array per pair), or .tsv or .csv for a single pair. The weights come from a model, or with
    --attention from another program; SENTENCES and files may then be omitted.

    Example: nmtalign heatmap "the black cat" "le chat noir" --curves -o cat.svg
    """
    from nmtalign.report.heatmap import PICTURE_FORMATS, check_picture_suffix
    from nmtalign.report.style import abbreviate
    from nmtalign.report.tables import MATRIX_FORMATS, save_matrices

    output = picture.output
    check_picture_suffix(output, PICTURE_FORMATS + MATRIX_FORMATS)
    as_numbers = Path(output).suffix.lower() in MATRIX_FORMATS
    if picture.card:
        _check_card(picture, as_numbers=as_numbers)
    elif picture.pin is not None:
        raise UsageError("--pin applies to cards only; add --card")
    elif picture.curves:
        _check_curves(picture, as_numbers=as_numbers)
    with (
        AtomicFiles() as outputs,
        open_progress("matrices" if as_numbers else "pictures") as progress,
    ):
        bad = errors.open(outputs)
        pairs, files = _read_pairs(bitext, chosen, bad)
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
        max_words = math.inf if as_numbers else MAX_PICTURE_WORDS
        unknown: dict[str, None] = {}  # words without a vector, in order
        shown = (
            (record.number, _matrices_of_record(aligner, record, picture, max_words, unknown))
            for record in records
        )
        if as_numbers:
            matrices = ((number or 1, pair.matrices) for number, pair in shown)
            save_matrices(matrices, output)
        else:
            pictures = (_draw_pair(number, pair, picture) for number, pair in shown)
            na.save_heatmaps(pictures, output, dpi=picture.dpi)
    without = ""
    if unknown:
        without = f"; words without a vector: {abbreviate(', '.join(unknown), MAX_LIST_CHARS)}"
    what = _count_of(progress.done, as_numbers=as_numbers)
    log(f"{what} in {output}, {progress.seconds:.1f} s{without}", event="drawn")
    errors.say(bad)


def _check_curves(picture: PictureOptions, *, as_numbers: bool) -> None:
    """Raise UsageError if an option is about cells, of which curves show none."""
    used = {
        "--values": picture.values in ("all", "parts"),
        "--light": picture.light is True,
        "--dark": picture.light is False,
        f"-o {picture.output}": as_numbers,
    }
    _refuse_used(used, "--curves draws the links of one matrix, not its cells")


def _check_card(picture: PictureOptions, *, as_numbers: bool) -> None:
    """Raise UsageError if an option is about another picture."""
    used = {
        "--values": picture.values is not None,
        "--curves": picture.curves,
        "--numbers": picture.numbers is not None,
        "--no-mark-links": not picture.mark_links,
        f"-o {picture.output}": as_numbers,
    }
    _refuse_used(used, "--card draws curves and the combined matrix")
    if picture.pin is not None:
        cropped = {"--rows": picture.rows is not None, "--columns": picture.columns is not None}
        _refuse_used(cropped, "--pin shows what a word looks at in the whole pair")


def _refuse_used(used: Mapping[str, bool], reason: str) -> None:
    """Raise UsageError with the reason if one of the options is used."""
    names = ", ".join(name for name, is_used in used.items() if is_used)
    if names:
        raise UsageError(f"{reason}; remove {names}")


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
    from nmtalign.external.attention_archive import read_pairs_with_attention
    from nmtalign.text.bitext import SentencePair

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


def _matrices_of_record(
    aligner: na.Aligner | None,
    record: CorpusRecord,
    picture: PictureOptions,
    max_words: float,
    unknown: dict[str, None],
) -> ShownPair:
    """Return what a picture shows of a pair.

    A side is cropped to `max_words` words; words without a vector are added to `unknown`.
    """
    from nmtalign.report.card_reasons import matrix_with_probabilities, min_posterior, pinned_word
    from nmtalign.report.corpus import align_record, other_alignments, weights_of_parts
    from nmtalign.report.heatmap import crop_matrices, matrices_by_title

    pair = align_record(record, aligner)
    T, S = pair.matrix.weights.shape
    other_alignments(record, S, T)
    if pair.matrix.unknown is not None:
        for tokens, positions in zip(pair.tokens, pair.matrix.unknown, strict=True):
            unknown.update(dict.fromkeys(tokens[n] for n in sorted(positions)))
    where = f"pair {record.number}: " if record.number else ""
    rows = _choose_positions(picture.rows, T, max_words, f"{where}target words", "--rows")
    columns = _choose_positions(picture.columns, S, max_words, f"{where}source words", "--columns")
    if picture.pin is not None:
        try:
            pin = pinned_word(pair, picture.pin)
        except DataError as error:
            raise DataError(f"{where}{error}") from None
        return ShownPair(
            matrices={"": matrix_with_probabilities(pair)},
            links=frozenset(pair.alignment.links),
            gold=record.gold,
            threshold=min_posterior(pair),
            has_second_words=pair.second is not None,
            languages=pair.languages,
            pin=pin,
        )
    if picture.card:
        matrices = {"": matrix_with_probabilities(pair)}
    else:
        matrices = matrices_by_title(pair, None if picture.values == "parts" else picture.values)
    if picture.values == "parts":
        [whole] = matrices.values()
        weights = weights_of_parts(record, aligner)
        parts = {name: replace(whole, weights=part) for name, part in weights.items()}
        alone = "attention" if aligner is None else aligner.scorer.names[0]
        matrices = parts | {"combined" if parts else alone: whole}
    matrices, links, gold = crop_matrices(matrices, pair.alignment, record.gold, rows, columns)
    return ShownPair(
        matrices=matrices,
        links=links,
        gold=gold,
        threshold=min_posterior(pair),
        has_second_words=pair.second is not None,
        languages=pair.languages,
    )


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


def _draw_pair(number: int, shown: ShownPair, picture: PictureOptions) -> Picture:
    """Draw the matrices of a pair, its links as curves, or its card."""
    from nmtalign.report.card_picture import draw_card
    from nmtalign.report.card_reasons import title_of_card
    from nmtalign.report.heatmap import draw_curves
    from nmtalign.report.style import DARK_COLORMAP, LIGHT_COLORMAP

    matrices, links, gold = shown.matrices, shown.links, shown.gold
    shown_links = links if picture.mark_links else None
    title = f"pair {number}" if number else ""
    if picture.card:
        [matrix] = matrices.values()
        return draw_card(
            matrix,
            links=links,
            gold=gold,
            threshold=shown.threshold,
            has_second_words=shown.has_second_words,
            title=title_of_card(title.capitalize(), shown.languages),
            dark=picture.light is False,
            pin=shown.pin,
        )
    if picture.curves:
        [matrix] = matrices.values()
        numbers = bool(picture.numbers)
        return draw_curves(matrix, numbers=numbers, links=shown_links, gold=gold, title=title)
    return na.draw_heatmap(
        matrices,
        links=shown_links,
        gold=gold,
        title=title,
        numbers=picture.numbers,
        cmap=LIGHT_COLORMAP if picture.light else DARK_COLORMAP,
    )
