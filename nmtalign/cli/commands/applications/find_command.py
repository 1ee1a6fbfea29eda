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
from nmtalign.cli.declare import INPUT, OUTPUT, Options, Whole, argument, command, option
from nmtalign.cli.messages import Progress, printable
from nmtalign.cli.texts import OptionalLinkedOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES, Side
from nmtalign.output import whole_file

if TYPE_CHECKING:
    from nmtalign.corpus.concordance import LinkedWords, Occurrence, Spotted
    from nmtalign.text.tokenization import Languages, TextSettings

_BAR = 30  # characters of the longest bar
_AROUND = 9  # words on either side of those that are marked


@dataclass(frozen=True, kw_only=True)
class NamedAlignerOptions(Options):
    """An aligner that makes the links."""

    section = "Model"

    model: str | None = option("--model DIR", "A learned model, instead of LINKS.", type=INPUT)
    vectors: str | None = option("--vectors DIR", "Word vectors, instead of LINKS.", type=INPUT)

    @property
    def is_given(self) -> bool:
        """Whether an option names an aligner."""
        return self.model is not None or self.vectors is not None

    def load(self) -> na.Aligner | None:
        """Open the aligner; None if no option names one."""
        if self.model is not None and self.vectors is not None:
            raise UsageError("--model and --vectors contradict each other; give one of them")
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

    output: str = option("-o --output DB", "The index, one SQLite file.", type=OUTPUT, required=True)


@command(name="index")
def index_command(linked: OptionalLinkedOptions, file: IndexFileOptions, named: NamedAlignerOptions) -> None:
    """Write the index of a linked bitext, in which `find` finds the translations of a word at once.

    LINKS are Pharaoh links between the words of SOURCE and TARGET, which stand between spaces. With --model
    DIR or --vectors DIR instead, an aligner cuts the texts into tokens, and aligns these.

    Example: nmtalign index text.en text.fr --model model -o corpus.db
    """
    from nmtalign.corpus.concordance import write_index

    output = file.output
    if output == "-":
        raise UsageError("-o - : an index is a file of its own; name it")
    pairs, text, languages = _corpus(linked, named)
    with Progress("pairs", linked.files) as progress, whole_file(output) as partial:
        write_index(partial, progress.count(pairs), text, languages)


@dataclass(frozen=True, kw_only=True)
class SearchOptions(Options):
    """What is searched, and how much of it is shown."""

    section = "Output"

    word: str = argument()
    index: str | None = option(
        "--index DB", "File of `index`, instead of texts.", type=INPUT, section="Input"
    )
    side: Side | None = option("--side", "Side of WORD.  [both]")
    translation: str | None = option(
        "--translation WORDS", "Lines with this translation only; '' for no link."
    )
    limit: int = option("--limit", "Show at most N translations.", type=Whole(min=1), default=12)
    context: int = option(
        "--context N", "Show at most N places, drawn at random.", type=Whole(min=0), default=10
    )


@command(name="find")
def find_command(search: SearchOptions, linked: OptionalLinkedOptions, named: NamedAlignerOptions) -> None:
    """Show what WORD is translated by: how often, and in which lines.

    WORD may be several words that stand side by side, "prime minister". Its translation in a line are all
    words that it is linked to; "…" stands between those that are not neighbors. Case makes no difference.

    The bitext is SOURCE TARGET LINKS, SOURCE TARGET --model DIR (or --vectors DIR), or --index DB.

    Example: nmtalign find house --index corpus.db
    """
    from nmtalign.corpus.concordance import Index

    word = search.word
    if search.index is None:
        corpus = Index.of(*_corpus(linked, named))
    elif linked.files or linked.lowercase is not None or linked.unicode is not None or named.is_given:
        raise UsageError("--index DB contains texts and links; leave out other texts, links and models")
    else:
        corpus = Index(search.index)
    shown = 0
    for name in SIDES if search.side is None else (search.side,):
        spotted = corpus.find(
            word,
            SIDES.index(name),
            translation=search.translation,
            limit=search.limit,
            most=search.context,
        )
        if spotted.total:
            shown += 1
            click.echo("\n" * (shown > 1) + "\n".join(_lines_about(printable(word), name, spotted)))
    if not shown:
        where = f"the {search.side} side of these" if search.side else "these"
        error = DataError(f"{word!r} does not occur in {where} {corpus.pairs:,} pairs")
        raise error if search.index is None else error.at(search.index)


def _corpus(
    linked: OptionalLinkedOptions, named: NamedAlignerOptions
) -> tuple[Iterator[LinkedWords], TextSettings, Languages]:
    """Return the pairs with their links, the settings that split them into words, and their languages."""
    if named.is_given == (linked.links is not None) or linked.target is None:
        raise UsageError("expected SOURCE TARGET LINKS, or SOURCE TARGET with --model DIR or --vectors DIR")
    aligner = named.load()
    if aligner is None:
        pairs = ((source, target, links.links) for _, source, target, links in linked.read(BadRecords()))
        return pairs, linked.text, (None, None)
    text = aligner.text.updated(lowercase=linked.lowercase, unicode=linked.unicode)
    aligner = replace(aligner, text=text)
    return _aligned(aligner, linked), aligner.text, aligner.languages


def _aligned(aligner: na.Aligner, linked: OptionalLinkedOptions) -> Iterator[LinkedWords]:
    from nmtalign.batch.stream import align_chunks
    from nmtalign.text.bitext import chunks_of

    assert linked.source is not None
    pairs = na.read_bitext(linked.source, linked.target, encoding=linked.encoding)
    for chunk in align_chunks(aligner, chunks_of(pairs), workers=1, unit="tokens"):
        yield from zip(*chunk.tokens(), map(chunk.batch.links, range(len(chunk.batch))), strict=True)


def _lines_about(word: str, side: str, spotted: Spotted) -> Iterator[str]:
    """Yield the lines that show what was found: a head, translations with bars, lines of context."""
    yield f"{click.style(word, bold=True)}: {spotted.total:,} in the {side}"
    most = spotted.translations[0][1]
    for text, count in spotted.translations:
        name, bar = printable(text) or "(no link)", "█" * max(1, round(_BAR * count / most))
        yield f"  {_padded(name, 24)} {count:>9,} {count / spotted.total:>7.1%}  {bar}"
    if others := spotted.different - len(spotted.translations):
        count = spotted.total - sum(count for _, count in spotted.translations)
        yield f"  {_padded(f'({others:,} others)', 24)} {count:>9,} {count / spotted.total:>7.1%}"
    if 0 < len(spotted.lines) < spotted.among:
        yield f"\n  {len(spotted.lines):,} of {spotted.among:,} places, drawn at random, the same each time:"
    for occurrence in spotted.lines:
        yield f"\n{occurrence.line:>9,}  {_in_context(occurrence, 0)}"
        yield f"{'':>9}  {_in_context(occurrence, 1)}"


def _padded(text: str, width: int) -> str:
    """Return a text with spaces up to a width; wide letters take two columns, marks none."""
    columns = sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)
    return text + " " * (width - columns)


def _in_context(occurrence: Occurrence, side: int) -> str:
    """Return the words of a sentence around those that are marked."""
    words, marked = occurrence.words[side], occurrence.marked[side]
    if not marked:  # about where the other side is
        other = occurrence.marked[1 - side][0] / max(1, len(occurrence.words[1 - side]))
        first = last = int(other * len(words))
    else:
        first, last = marked[0], marked[-1]
    start, end = max(0, first - _AROUND), min(len(words), last + _AROUND + 1)
    shown = [
        click.style(f"[{printable(word)}]", bold=True) if n in marked else printable(word)
        for n, word in enumerate(words[start:end], start)
    ]
    return " ".join(["…"] * (start > 0) + shown + ["…"] * (end < len(words)))
