"""``nmtalign find`` and ``index``: show how words are translated, with example lines."""

from __future__ import annotations

from collections.abc import Iterator
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

_MAX_BAR_CHARS = 30
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
    pairs, text, languages = _corpus(linked, named)
    with open_progress("pairs", linked.files) as progress, atomic_file(output) as partial:
        write_index(partial, progress.count(pairs), text, languages)


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
            text = "\n".join(_lines_about(printable(word), side, result))
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
        return indexed, linked.text, (None, None)
    text = aligner.text.updated(lowercase=linked.lowercase, unicode=linked.unicode)
    aligner = replace(aligner, text=text)
    return _align_files(aligner, linked), aligner.text, aligner.languages


def _align_files(aligner: na.Aligner, linked: OptionalLinkedOptions) -> Iterator[IndexedPair]:
    """Yield the tokens of each pair of the texts, and the links that an aligner chooses."""
    from nmtalign.batch.stream import align_chunks
    from nmtalign.corpus.units import TOKENS
    from nmtalign.text.bitext import chunk_pairs

    assert linked.source is not None
    pairs = na.read_bitext(linked.source, linked.target, encoding=linked.encoding)
    for chunk in align_chunks(aligner, chunk_pairs(pairs), workers=1, unit=TOKENS):
        source_words, target_words = chunk.tokens()
        for n in range(len(chunk.batch)):
            yield source_words[n], target_words[n], chunk.batch.links(n)


def _lines_about(word: str, side: Side, result: SearchResult) -> Iterator[str]:
    """Yield the lines that show what was found: a head, translations with bars, lines of context."""
    yield f"{click.style(word, bold=True)}: {result.place_count:,} in the {side}"
    _, largest = result.translations[0]
    remaining = result.place_count
    for text, count in result.translations:
        bar = "█" * max(1, round(_MAX_BAR_CHARS * count / largest))
        yield f"{_line_of_translation(printable(text) or '(no link)', count, result.place_count)}  {bar}"
        remaining -= count
    if others := result.translation_count - len(result.translations):
        yield _line_of_translation(f"({others:,} others)", remaining, result.place_count)
    drawn = len(result.occurrences)
    if 0 < drawn < result.candidates:
        yield f"\n  {drawn:,} of {result.candidates:,} places, drawn at random, the same each time:"
    for occurrence in result.occurrences:
        line = occurrence.pair + 1
        yield f"\n{line:>9,}  {_in_context(occurrence, 0)}"
        yield f"{'':>9}  {_in_context(occurrence, 1)}"


def _line_of_translation(name: str, count: int, total: int) -> str:
    """Return the line of a translation, without its bar."""
    return f"  {_padded(name, 24)} {count:>9,} {count / total:>7.1%}"


def _padded(text: str, width: int) -> str:
    """Return a text with spaces up to a width; wide letters take two columns, marks none."""
    columns = 0
    for character in text:
        if not combining(character):
            columns += 2 if east_asian_width(character) in ("W", "F") else 1
    return text + " " * (width - columns)


def _in_context(occurrence: Occurrence, side: int) -> str:
    """Return the words of a sentence around those that are marked."""
    words = occurrence.words[side]
    marked = occurrence.positions[side]
    if marked:
        first, last = marked[0], marked[-1]
    else:  # show the words that are as far in the sentence as the marked ones of the other side
        other = 1 - side
        fraction = occurrence.positions[other][0] / max(1, len(occurrence.words[other]))
        first = last = int(fraction * len(words))
    start = max(0, first - _CONTEXT_WORDS)
    end = min(len(words), last + _CONTEXT_WORDS + 1)
    shown: list[str] = []
    for position in range(start, end):
        word = printable(words[position])
        shown.append(click.style(f"[{word}]", bold=True) if position in marked else word)
    if start > 0:
        shown.insert(0, "…")
    if end < len(words):
        shown.append("…")
    return " ".join(shown)
