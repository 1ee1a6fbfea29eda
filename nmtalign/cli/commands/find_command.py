"""``nmtalign find``: show how words are translated, with example lines."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

import click

import nmtalign as na
from nmtalign.cli import model_options
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import open_progress, printable
from nmtalign.cli.texts import BitextOptions, LinkedText
from nmtalign.declarations import Settings, argument, setting
from nmtalign.display import split_characters, with_plural
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles, atomic_file
from nmtalign.names import SIDES, Side
from nmtalign.text.chunks import chunk_pairs
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings

if TYPE_CHECKING:
    from nmtalign.applications.concordance import Occurrence, SearchResult
    from nmtalign.corpus.bitext_index import BitextIndex, IndexedPair

_MAX_TRANSLATIONS = 12
_MAX_BAR_COLUMNS = 30
_MAX_NAME_COLUMNS = 24
_MIN_NAME_COLUMNS = 8
_COUNT_COLUMNS = 20  # a count and its share, with the spaces around them
_MARGIN_COLUMNS = 11  # the number of a line, before its words
_NARROW_COLUMNS = 40  # narrower terminals have the number of a line above its words
_INDENT = "  "
_MIN_CUT_WORD_COLUMNS = 4
_WIDE_PICTURE = "\ufe0f"  # after a sign: shown as a picture, which takes two columns
_CONTEXT_WORDS_PER_SIDE = 9


@dataclass(frozen=True, kw_only=True)
class NamedAlignerOptions(Settings):
    """An aligner that makes the links."""

    section = "Model"

    model: str | None = setting(
        None, "--model DIR", "Align with this learned model, instead of --links.", kind="input"
    )


@dataclass(frozen=True, kw_only=True)
class SearchedTextOptions(BitextOptions):
    """A bitext, and the links of its words in a file that an option names."""

    links: str | None = setting(
        None,
        "--links FILE",
        "Links of the space-separated words of SOURCE and TARGET, in Pharaoh format, or posteriors.",
        kind="input",
        section="Input",
    )


@dataclass(frozen=True, kw_only=True)
class SearchOptions(Settings):
    """The search, and the amount of results that is shown."""

    section = "Output"

    word: str = argument()
    index: str | None = setting(
        None,
        "--index DB",
        "Search the index DB; with texts, first write it, as a new file.",
        kind="input",
        section="Input",
    )
    translation: str | None = setting(
        None, "--translation WORDS", "Show only lines with this translation; '' means no link."
    )
    examples: int = setting(10, "--examples N", "Show at most N example lines, drawn at random.", minimum=0)


@command("find")
def find_command(
    options: SearchOptions,
    linked: SearchedTextOptions,
    errors: ErrorOptions,
    named: NamedAlignerOptions,
) -> None:
    """Show how WORD is translated: each translation with its count, and example lines.

    WORD may be several adjacent words, such as "prime minister". In each line, the translation is the set of
    all words linked to WORD; "…" is written between words that are not adjacent. Case makes no difference,
    nor does punctuation at the edges of space-separated words.

    The bitext is SOURCE TARGET, or --pairs FILE, with --links FILE, or with --model DIR, which splits the
    texts into tokens and aligns these. With --index DB as well, an index of the bitext is written, in which
    later searches are quick; they need --index DB only.

    Example: nmtalign find house text.en text.fr --model model --index corpus.db
    """
    from nmtalign.applications.concordance import search

    word = options.word
    index = _open_index(options.index, linked, errors, named)
    shown = 0
    for side in SIDES:
        result = search(
            index,
            word,
            side,
            translation=options.translation,
            max_translations=_MAX_TRANSLATIONS,
            max_examples=options.examples,
        )
        if result.occurrence_count:
            text = "\n".join(_lines_about(printable(word), side, result, _terminal_columns()))
            click.echo(f"\n{text}" if shown else text)
            shown += 1
    if not shown:
        error = DataError(f"{word!r} does not occur in these {with_plural(index.pair_count, 'pair')}")
        raise error if options.index is None else error.at(options.index)


def _open_index(
    path: str | None, linked: SearchedTextOptions, errors: ErrorOptions, named: NamedAlignerOptions
) -> BitextIndex:
    """Return the index of --index, which is written first where it is missing, or that of the texts."""
    from nmtalign.corpus.bitext_index import build_index, write_index_file

    has_texts = bool(linked.files or linked.links or named.model)
    if path == "-":
        raise UsageError("--index: an index cannot be written to standard output; name a file")
    if path is not None and (os.path.exists(path) or not has_texts):
        if has_texts:
            advice = "remove the texts, links and models to search it, or remove the file to make it again"
            raise UsageError(f"--index {path} already exists; {advice}")
        if errors.on_error != "stop":
            raise UsageError("--index DB has no bad records; remove --on-error")
        return na.open_index(path)
    with AtomicFiles() as files, ExitStack() as stack:
        bad = errors.open(files)
        if path is None:
            index = build_index(*_corpus(linked, named, bad))
        else:
            partial = stack.enter_context(atomic_file(path))
            progress = stack.enter_context(open_progress("pairs", linked.files))
            pairs, text_settings, languages = _corpus(linked, named, bad)
            write_index_file(partial, progress.count(pairs), text_settings, languages)
    errors.say(bad)
    return index if path is None else na.open_index(path)


def _corpus(
    linked: SearchedTextOptions, named: NamedAlignerOptions, bad: BadRecords
) -> tuple[Iterator[IndexedPair], TextSettings, Languages]:
    """Return the pairs with their links, the settings that split them into words, and their languages."""
    has_text = (linked.pairs is None) == (linked.target is not None)
    if (named.model is not None) == (linked.links is not None) or not has_text:
        expected = "WORD SOURCE TARGET with --links FILE or --model DIR, or WORD --index DB"
        raise UsageError(f"expected {expected}; --pairs FILE may take the place of SOURCE TARGET")
    if linked.links is not None:
        pairs = (pair for _, pair in LinkedText(linked, linked.links, SPACE_SETTINGS).read(bad))
        indexed = ((pair.source, pair.target, pair.links.links) for pair in pairs)
        return indexed, SPACE_SETTINGS, (None, None)
    aligner = model_options.load_given(model=named.model, files=(linked.source, linked.target))
    searched = linked.with_languages_of(named.model)
    return _align_searched(aligner, searched, bad), aligner.text_settings, aligner.languages


def _align_searched(aligner: na.Aligner, bitext: BitextOptions, bad: BadRecords) -> Iterator[IndexedPair]:
    """Yield the tokens of each pair of a bitext, and the links that an aligner chooses."""
    from nmtalign.aligner.opening import fit_text
    from nmtalign.corpus.units import TOKENS
    from nmtalign.run.stream import align_chunks

    aligner, tracked = fit_text(aligner, bad.track(bitext.read(bad.add)), aligned_unit="tokens")
    for chunk in align_chunks(aligner, chunk_pairs(tracked), workers=1, unit=TOKENS):
        source_words, target_words = chunk.linked_strings()
        for n in range(len(chunk.batch)):
            yield source_words[n], target_words[n], chunk.batch.links(n)


def _terminal_columns() -> int | None:
    """Return the columns of the terminal; None where the output goes elsewhere, and nothing is shortened."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None


def _lines_about(word: str, side: Side, result: SearchResult, columns: int | None) -> Iterator[str]:
    """Yield the lines that show what was found: a head, translations with bars, lines of context."""
    yield from _head_lines(word, f"{result.occurrence_count:,} in the {side}", columns)
    yield from _table_lines(result, columns)
    drawn = len(result.occurrences)
    if 0 < drawn < result.candidates:
        drawn_of_all = f"{drawn:,} of {result.candidates:,} occurrences"
        told = f"{drawn_of_all} (a random sample, the same in every run):"
        yield ""
        yield from textwrap.wrap(told, columns or 120, initial_indent=_INDENT, subsequent_indent=_INDENT)
    if columns is not None and columns < _NARROW_COLUMNS:
        for occurrence in result.occurrences:
            yield f"\n{occurrence.pair + 1:,}"
            for shown_side in (0, 1):
                yield f"{_INDENT}{_in_context(occurrence, shown_side, columns - len(_INDENT))}"
        return
    room = None if columns is None else columns - _MARGIN_COLUMNS
    for occurrence in result.occurrences:
        line = f"{occurrence.pair + 1:>9,}"
        yield f"\n{line}  {_in_context(occurrence, 0, room)}"
        yield f"{'':>9}  {_in_context(occurrence, 1, room)}"


def _head_lines(word: str, places: str, columns: int | None) -> Iterator[str]:
    """Yield the word that was searched, and in how many places it is; on two lines where one is too short."""
    if columns is None or _columns_of(f"{word}: {places}") <= columns:
        yield f"{click.style(word, bold=True)}: {places}"
        return
    yield f"{click.style(_shortened(word, columns - 1), bold=True)}:"
    yield places


def _table_lines(result: SearchResult, columns: int | None) -> Iterator[str]:
    """Yield a line for each translation: its count, and its share and a bar where there is room."""
    name_columns = _MAX_NAME_COLUMNS
    bar_columns = _MAX_BAR_COLUMNS
    count_columns = 9
    has_share = True
    _, largest = result.translations[0]
    remaining = result.occurrence_count - sum(count for _, count in result.translations)
    if columns is not None:
        if columns < _MIN_NAME_COLUMNS + _COUNT_COLUMNS + 2:
            has_share = False
            count_columns = len(f"{max(largest, remaining):,}")
        used = _COUNT_COLUMNS if has_share else count_columns + len(_INDENT) + 1
        name_columns = min(_MAX_NAME_COLUMNS, max(1, columns - used))
        bar_columns = min(_MAX_BAR_COLUMNS, columns - name_columns - _COUNT_COLUMNS - 2)

    def line(name: str, count: int) -> str:
        name = name if columns is None else _shortened(name, name_columns)
        share = f" {count / result.occurrence_count:>7.1%}" if has_share else ""
        return f"{_INDENT}{_padded(name, name_columns)} {count:>{count_columns},}{share}"

    for text, count in result.translations:
        bar = "█" * max(1, round(bar_columns * count / largest)) if bar_columns > 0 else ""
        yield f"{line(printable(text) or '(no link)', count)}  {bar}".rstrip()
    if others := result.translation_count - len(result.translations):
        yield line(f"({others:,} others)", remaining)


def _columns_of(text: str) -> int:
    """Return the columns of a text in a terminal: wide letters take two, marks and joiners none."""
    columns = 0
    last = 0
    for character in text:
        if character == _WIDE_PICTURE and last == 1:
            columns += 1
            last = 2
        elif category(character) not in ("Mn", "Me", "Cf"):
            last = 2 if east_asian_width(character) in ("W", "F") else 1
            columns += last
    return columns


def _padded(text: str, columns: int) -> str:
    """Return a text with spaces up to a number of columns."""
    return text + " " * (columns - _columns_of(text))


def _shortened(text: str, columns: int) -> str:
    """Return the beginning of a text with "…" if it is wider than a number of columns."""
    if _columns_of(text) <= columns:
        return text
    text = text[: 2 * columns + _MAX_NAME_COLUMNS]  # so that the end of a long text is not cut step by step
    characters = split_characters(text)
    while characters and _columns_of("".join(characters)) > columns - 1:
        characters.pop()
    return f"{''.join(characters)}…"


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
    if room is not None and not fits(shown):
        return _cut_to_room(words, sorted(shown), marked, room)
    sides_to_extend = {-1: first, 1: last}  # the direction, and the last word that is shown there
    for _ in range(_CONTEXT_WORDS_PER_SIDE):
        for direction, edge in list(sides_to_extend.items()):
            position = edge + direction
            if 0 <= position < len(words) and fits(shown | {position}):
                shown.add(position)
                sides_to_extend[direction] = position
            else:
                del sides_to_extend[direction]
    return _joined(words, shown, marked, bold=True)


def _cut_to_room(words: Sequence[str], positions: Sequence[int], marked: Sequence[int], room: int) -> str:
    """Return as many of some words as have room, each with the end cut off, the marked ones in brackets."""
    for count in range(len(positions), 0, -1):
        shown = set(positions[:count])
        left = room - _columns_of(_joined(words, shown, marked, longest=_MIN_CUT_WORD_COLUMNS))
        if left >= 0 or count == 1:
            break
    longest = max(1, _MIN_CUT_WORD_COLUMNS + left // count)
    # words of wide letters may have taken one column less before
    while longest > 1 and _columns_of(_joined(words, shown, marked, longest=longest)) > room:
        longest -= 1
    return _joined(words, shown, marked, bold=True, longest=longest)


def _joined(
    words: Sequence[str],
    shown: set[int],
    marked: Sequence[int],
    *,
    bold: bool = False,
    longest: int | None = None,
) -> str:
    """Return some words of a sentence, the marked ones in brackets, with "…" for those between and around.

    Words of more columns than `longest` are cut.
    """
    parts: list[str] = []
    previous = -1
    for position in sorted(shown):
        if position > previous + 1:
            parts.append("…")
        word = printable(words[position])
        if longest is not None:
            word = _shortened(word, longest)
        if position in marked:
            word = click.style(f"[{word}]", bold=True) if bold else f"[{word}]"
        parts.append(word)
        previous = position
    if previous < len(words) - 1:
        parts.append("…")
    return " ".join(parts)
