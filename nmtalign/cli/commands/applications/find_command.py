"""``nmtalign find`` and ``index``: show how words are translated, with example lines."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

import click

import nmtalign as na
from nmtalign.cli import model_options
from nmtalign.cli.bad_records import BadRecords
from nmtalign.cli.declare import Options, argument, command, option
from nmtalign.cli.messages import printable
from nmtalign.cli.parameter_types import INPUT, OUTPUT, Integer
from nmtalign.cli.progress_display import open_progress
from nmtalign.cli.texts import OptionalLinkedOptions
from nmtalign.display import with_plural
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import atomic_file
from nmtalign.names import SIDES, Side

if TYPE_CHECKING:
    from nmtalign.applications.concordance import Occurrence, SearchResult
    from nmtalign.corpus.bitext_index import IndexedPair, IndexLanguages
    from nmtalign.text.tokenization import TextSettings

_MAX_BAR_COLUMNS = 30
_MAX_NAME_COLUMNS = 24
_MIN_NAME_COLUMNS = 8
_COUNT_COLUMNS = 20  # of a count and its share, with the spaces around them
_MARGIN_COLUMNS = 11  # before the words of a line: its number
_CONTEXT_WORDS = 9  # on either side of those that are marked


@dataclass(frozen=True, kw_only=True)
class NamedAlignerOptions(Options):
    """An aligner that makes the links."""

    section = "Model"

    model: str | None = option("--model DIR", "Align with this learned model, instead of LINKS.", type=INPUT)
    vectors: str | None = option(
        "--vectors DIR", "Align with these word vectors, instead of LINKS.", type=INPUT
    )

    @property
    def is_given(self) -> bool:
        """Whether an option names an aligner."""
        return self.model is not None or self.vectors is not None

    def load(self) -> na.Aligner | None:
        """Open the aligner; None if no option names one."""
        if self.model is not None and self.vectors is not None:
            raise UsageError("--model and --vectors cannot be combined; remove one")
        if self.model is not None:
            model_options.check_folder("model", self.model)
            return na.load(self.model)
        if self.vectors is not None:
            model_options.check_folder("vectors", self.vectors)
            return na.load(self.vectors)
        return None


@dataclass(frozen=True, kw_only=True)
class IndexFileOptions(Options):
    """The index to write."""

    section = "Output"

    output: str = option("-o --output DB", "Write the index to this SQLite file.", type=OUTPUT, required=True)


@command(name="index")
def index_command(linked: OptionalLinkedOptions, file: IndexFileOptions, named: NamedAlignerOptions) -> None:
    """Write an index of a linked bitext, so that `find` finds the translations of a word at once.

    LINKS are Pharaoh links between the space-separated words of SOURCE and TARGET. With --model DIR or
    --vectors DIR instead, an aligner splits the texts into tokens and aligns these.

    Example: nmtalign index text.en text.fr --model model -o corpus.db
    """
    from nmtalign.corpus.bitext_index import write_index

    output = file.output
    if output == "-":
        raise UsageError("-o: an index cannot be written to standard output; name a file")
    pairs, text_settings, languages = _corpus(linked, named)
    with open_progress("pairs", linked.files) as progress, atomic_file(output) as partial:
        write_index(partial, progress.count(pairs), text_settings, languages)


@dataclass(frozen=True, kw_only=True)
class SearchOptions(Options):
    """What is searched, and how much of it is shown."""

    section = "Output"

    word: str = argument()
    index: str | None = option(
        "--index DB", "Search this file of `index` instead of texts.", type=INPUT, section="Input"
    )
    side: Side | None = option("--side", "Search this side only.  [both]")
    translation: str | None = option(
        "--translation WORDS", "Show only lines with this translation; '' means no link."
    )
    translations: int = option(
        "--translations N", "Show at most N translations.", type=Integer(min=1), default=12
    )
    examples: int = option(
        "--examples N", "Show at most N example lines, drawn at random.", type=Integer(min=0), default=10
    )


@command(name="find")
def find_command(options: SearchOptions, linked: OptionalLinkedOptions, named: NamedAlignerOptions) -> None:
    """Show how WORD is translated: each translation with its count, and example lines.

    WORD may be several adjacent words, such as "prime minister". In each line, the translation is the set of
    all words linked to WORD; "…" is written between words that are not adjacent. Case makes no difference.

    The bitext is SOURCE TARGET LINKS, SOURCE TARGET --model DIR (or --vectors DIR), or --index DB.

    Example: nmtalign find house --index corpus.db
    """
    from nmtalign.applications.concordance import search
    from nmtalign.corpus.bitext_index import build_index

    word = options.word
    if options.index is None:
        index = build_index(*_corpus(linked, named))
    elif linked.files or linked.lowercase is not None or linked.unicode is not None or named.is_given:
        raise UsageError("--index DB contains texts and links; remove other texts, links and models")
    else:
        index = na.open_index(options.index)
    shown = 0
    for side in SIDES if options.side is None else (options.side,):
        result = search(
            index,
            word,
            side,
            translation=options.translation,
            max_translations=options.translations,
            max_examples=options.examples,
        )
        if result.place_count:
            text = "\n".join(_lines_about(printable(word), side, result, _terminal_columns()))
            click.echo(f"\n{text}" if shown else text)
            shown += 1
    if not shown:
        where = f"the {options.side} side of these" if options.side else "these"
        error = DataError(f"{word!r} does not occur in {where} {with_plural(index.pair_count, 'pair')}")
        raise error if options.index is None else error.at(options.index)


def _corpus(
    linked: OptionalLinkedOptions, named: NamedAlignerOptions
) -> tuple[Iterator[IndexedPair], TextSettings, IndexLanguages]:
    """Return the pairs with their links, the settings that split them into words, and their languages."""
    if named.is_given == (linked.links is not None) or linked.target is None:
        raise UsageError("expected SOURCE TARGET LINKS, or SOURCE TARGET with --model DIR or --vectors DIR")
    aligner = named.load()
    if aligner is None:
        pairs = (pair for _, pair in linked.read(BadRecords()))
        indexed = ((pair.source, pair.target, pair.links.links) for pair in pairs)
        return indexed, linked.text_settings, (None, None)
    text_settings = aligner.text_settings.updated(lowercase=linked.lowercase, unicode=linked.unicode)
    aligner = replace(aligner, text_settings=text_settings)
    return _align_files(aligner, linked), aligner.text_settings, aligner.languages


def _align_files(aligner: na.Aligner, linked: OptionalLinkedOptions) -> Iterator[IndexedPair]:
    """Yield the tokens of each pair of the texts, and the links that an aligner chooses."""
    from nmtalign.batch.stream import align_chunks
    from nmtalign.corpus.units import TOKENS
    from nmtalign.text.bitext import chunk_pairs

    assert linked.source is not None
    pairs = na.read_bitext(linked.source, linked.target, encoding=linked.encoding)
    for chunk in align_chunks(aligner, chunk_pairs(pairs), workers=1, unit=TOKENS):
        source_words, target_words = chunk.linked_strings()
        for n in range(len(chunk.batch)):
            yield source_words[n], target_words[n], chunk.batch.links(n)


def _terminal_columns() -> int | None:
    """Return the columns of the terminal; None where the output goes elsewhere, and nothing is cut."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None


def _lines_about(word: str, side: Side, result: SearchResult, columns: int | None) -> Iterator[str]:
    """Yield the lines that show what was found: a head, translations with bars, lines of context."""
    yield f"{click.style(word, bold=True)}: {result.place_count:,} in the {side}"
    name_columns = _MAX_NAME_COLUMNS
    bar_columns = _MAX_BAR_COLUMNS
    if columns is not None:
        name_columns = min(_MAX_NAME_COLUMNS, max(_MIN_NAME_COLUMNS, columns - _COUNT_COLUMNS - 2))
        bar_columns = min(_MAX_BAR_COLUMNS, columns - name_columns - _COUNT_COLUMNS - 2)
    _, largest = result.translations[0]
    remaining = result.place_count
    for text, count in result.translations:
        name = printable(text) or "(no link)"
        if columns is not None:
            name = _shortened(name, name_columns)
        line = f"  {_padded(name, name_columns)} {count:>9,} {count / result.place_count:>7.1%}"
        bar = "█" * max(1, round(bar_columns * count / largest)) if bar_columns > 0 else ""
        yield f"{line}  {bar}".rstrip()
        remaining -= count
    if others := result.translation_count - len(result.translations):
        name = _padded(f"({others:,} others)", name_columns)
        yield f"  {name} {remaining:>9,} {remaining / result.place_count:>7.1%}"
    drawn = len(result.occurrences)
    if 0 < drawn < result.candidates:
        told = f"{drawn:,} of {result.candidates:,} places, drawn at random, the same each time:"
        yield ""
        yield from textwrap.wrap(told, columns or 120, initial_indent="  ", subsequent_indent="  ")
    room = None if columns is None else columns - _MARGIN_COLUMNS
    for occurrence in result.occurrences:
        line = f"{occurrence.pair + 1:>9,}"
        yield f"\n{line}  {_in_context(occurrence, 0, room)}"
        yield f"{'':>9}  {_in_context(occurrence, 1, room)}"


def _columns_of(text: str) -> int:
    """Return the columns of a text in a terminal: wide letters take two, marks none."""
    columns = 0
    for character in text:
        if not combining(character):
            columns += 2 if east_asian_width(character) in ("W", "F") else 1
    return columns


def _padded(text: str, columns: int) -> str:
    """Return a text with spaces up to a number of columns."""
    return text + " " * (columns - _columns_of(text))


def _shortened(text: str, columns: int) -> str:
    """Return the beginning of a text with "…" if it is wider than a number of columns."""
    if _columns_of(text) <= columns:
        return text
    while _columns_of(text) > columns - 1:
        text = text[:-1]
    return f"{text}…"


def _in_context(occurrence: Occurrence, side: int, room: int | None) -> str:
    """Return the marked words of a sentence and as many words around them as have room."""
    words = occurrence.words[side]
    marked = occurrence.positions[side]
    if not words:
        return ""
    if marked:
        first, last = marked[0], marked[-1]
    else:  # show the words that are as far in the sentence as the marked ones of the other side
        other = 1 - side
        fraction = occurrence.positions[other][0] / max(1, len(occurrence.words[other]))
        first = last = min(len(words) - 1, int(fraction * len(words)))

    def fits(positions: set[int]) -> bool:
        return room is None or _columns_of(_joined(words, positions, marked)) <= room

    shown = set(range(first, last + 1))
    if not fits(shown):
        shown = set(marked) or {first}
    sides_to_extend = {-1: first, 1: last}  # the direction, and the last word that is shown there
    for _ in range(_CONTEXT_WORDS):
        for direction, edge in list(sides_to_extend.items()):
            position = edge + direction
            if 0 <= position < len(words) and fits(shown | {position}):
                shown.add(position)
                sides_to_extend[direction] = position
            else:
                del sides_to_extend[direction]
    return _joined(words, shown, marked, bold=True)


def _joined(words: Sequence[str], shown: set[int], marked: Sequence[int], *, bold: bool = False) -> str:
    """Return some words of a sentence, the marked ones in brackets, with "…" for those between and around."""
    parts: list[str] = []
    previous = -1
    for position in sorted(shown):
        if position > previous + 1:
            parts.append("…")
        word = printable(words[position])
        if position in marked:
            word = click.style(f"[{word}]", bold=True) if bold else f"[{word}]"
        parts.append(word)
        previous = position
    if previous < len(words) - 1:
        parts.append("…")
    return " ".join(parts)
