"""``nmtalign find``: the translations of a word in a linked bitext; ``nmtalign index`` makes it quick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

import click

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.declare import INPUT, OUTPUT, OptionGroup, Values, Whole, argument, command, option
from nmtalign.cli.messages import Progress, printable
from nmtalign.cli.model import open_folder
from nmtalign.cli.texts import LinkedOptions, linked_options
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES
from nmtalign.output import whole_file

if TYPE_CHECKING:
    from nmtalign.corpus.concordance import LinkedWords, Occurrence, Spotted
    from nmtalign.text.tokenization import Languages, TextSettings

_BAR = 30  # characters of the longest bar
_AROUND = 9  # words on either side of those that are marked

_named = OptionGroup(
    "named",
    "Model",
    option("--model DIR", INPUT, "A learned model, instead of LINKS."),
    option("--vectors DIR", INPUT, "Word vectors, instead of LINKS."),
)


@command(
    linked_options(required=False),
    "Output",
    option("-o --output DB", OUTPUT, "The index, one SQLite file.", required=True),
    _named,
)
def index(linked: LinkedOptions, named: Values, output: str) -> None:
    """Write the index of a linked bitext, in which `find` finds the translations of a word at once.

    LINKS are Pharaoh links between the words of SOURCE and TARGET, which stand between spaces. With --model
    DIR or --vectors DIR instead, an aligner cuts the texts into tokens, and aligns these.

    Example: nmtalign index text.en text.fr --model model -o corpus.db
    """
    from nmtalign.corpus.concordance import write_index

    if output == "-":
        raise UsageError("-o - : an index is a file of its own; name it")
    pairs, text, languages = _corpus(linked, named)
    with Progress("pairs", linked.files) as progress, whole_file(output) as partial:
        write_index(partial, progress.count(pairs), text, languages)


@command(
    argument("word"),
    linked_options(required=False),
    option("--index database DB", INPUT, "File of `index`, instead of texts."),
    "Output",
    option("--side", SIDES, "Side of WORD.  [both]"),
    option("--translation WORDS", str, "Lines with this translation only; '' for no link."),
    option("--limit", Whole(min=1), "Most translations.", default=12),
    option("--context N", Whole(min=0), "Most places shown, at random.", default=10),
    _named,
)
def find(linked: LinkedOptions, named: Values, word: str, side: str | None, **options: Any) -> None:
    """Show what WORD is translated by: how often, and in which lines.

    WORD may be several words that stand side by side, "prime minister". Its translation in a line are all
    words that it is linked to; "…" stands between those that are not neighbors. Case makes no difference.

    The bitext is SOURCE TARGET LINKS, SOURCE TARGET --model DIR (or --vectors DIR), or --index DB.

    Example: nmtalign find house --index corpus.db
    """
    from nmtalign.corpus.concordance import Index

    database, most = options.pop("database"), options.pop("context")
    if database is None:
        corpus = Index.of(*_corpus(linked, named))
    elif linked.given or named.given:
        raise UsageError("--index DB holds texts and links; give no others beside it")
    else:
        corpus = Index(database)
    shown = 0
    for name in SIDES if side is None else (side,):
        spotted = corpus.find(word, SIDES.index(name), most=most, **options)
        if spotted.total:
            shown += 1
            click.echo("\n" * (shown > 1) + "\n".join(_shown(printable(word), name, spotted)))
    if not shown:
        where = f"the {side} side of these" if side else "these"
        raise DataError(f"{word!r} stands nowhere in {where} {corpus.pairs:,} pairs")


def _corpus(linked: LinkedOptions, named: Values) -> tuple[Iterator[LinkedWords], TextSettings, Languages]:
    """Return the pairs with their links, what cuts them into words, and their languages."""
    if len(named.given) + (linked.links is not None) != 1 or linked.target is None:
        raise UsageError("expected SOURCE TARGET LINKS, or SOURCE TARGET with --model DIR or --vectors DIR")
    if not named.given:
        pairs = ((source, target, links.links) for _, source, target, links in linked.read())
        return pairs, linked.text, (None, None)
    [(kind, path)] = named.given.items()
    aligner = open_folder(kind, path)
    aligner = replace(aligner, text=linked.settings(aligner.text))
    return _aligned(aligner, linked), aligner.text, aligner.languages


def _aligned(aligner: na.Aligner, linked: LinkedOptions) -> Iterator[LinkedWords]:
    from nmtalign.batch.stream import align_chunks
    from nmtalign.text.bitext import chunks_of

    pairs = na.read_bitext(linked.source, linked.target, encoding=texts.encoding())
    for chunk in align_chunks(aligner, chunks_of(pairs), workers=1, unit="tokens"):
        yield from zip(*chunk.tokens(), map(chunk.batch.links, range(len(chunk.batch))), strict=True)


# --- on the terminal -----------------------------------------------------------------------------


def _shown(word: str, side: str, spotted: Spotted) -> Iterator[str]:
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
