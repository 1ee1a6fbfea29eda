"""``nmtalign lexicon``: list the translations of words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import nmtalign as na
from nmtalign.cli import texts
from nmtalign.cli.bad_records import BadRecords, ErrorOptions
from nmtalign.cli.declare import INPUT, OUTPUT, Number, Options, OutputPrefix, Whole, command, option
from nmtalign.cli.messages import log, quiet_option, show
from nmtalign.cli.texts import OptionalLinkedOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.links.separators import tsv_cell, without_formula
from nmtalign.output import Outputs

if TYPE_CHECKING:
    from nmtalign.applications.bilingual_lexicon import Entry

_HEADER = "source\ttarget\tlinks\tp(target|source)\tp(source|target)\tassociation"


@dataclass(frozen=True, kw_only=True)
class LexiconOptions(Options):
    """Which translations are listed, and the files."""

    section = "Output"

    word: str | None = option("--word WORD", "The translations of one word only, of either language.")
    output: str | None = option(
        "-o --output PREFIX", "Write three files, show nothing.", type=OutputPrefix(".s2t", ".t2s", ".tsv")
    )
    priors: str | None = option(
        "--priors FILE", "Write links as eflomal's priors, lines of LEX source target links.", type=OUTPUT
    )
    escape_formulas: bool = texts.formula_option()
    limit: int = option(
        "--limit",
        "Write at most N translations per word to the shortlists; without -o, print at most N rows.",
        type=Whole(min=1),
        default=100,
    )
    min_probability: float = option(
        "--min-probability",
        "Minimum probability of a translation, in either direction.",
        type=Number(0),
        default=0.01,
    )
    model: str | None = option(
        "--model DIR", "A learned model, instead of texts and links.", type=INPUT, section="Model"
    )


@command(quiet_option, name="lexicon")
def lexicon_command(linked: OptionalLinkedOptions, errors: ErrorOptions, listed: LexiconOptions) -> None:
    """List translations with their probabilities: those of a model, or those that LINKS show.

    LINKS are Pharaoh links between the words of SOURCE and TARGET, which stand between spaces; words without
    a link count as linked to the null word.

    PREFIX.s2t has lines `target source p(target|source)`, PREFIX.t2s lines `source target p(source|target)`;
    PREFIX.tsv has one line a word pair with its links (those of a model are expected counts), both
    probabilities, and for LINKS the log-likelihood ratio of the two words.

    Example: nmtalign lexicon --model model -o lex
    """
    from nmtalign.applications import bilingual_lexicon as lexicons

    uses_texts = bool(linked.files) or linked.lowercase is not None or linked.unicode is not None
    if uses_texts == (listed.model is not None) or any(map(os.path.isdir, linked.files)):
        raise UsageError("expected --model DIR alone, or three files: SOURCE TARGET LINKS")
    with Outputs() as outputs:
        bad = errors.open(outputs)
        plain = listed.output is not None or listed.priors is not None
        entries = _chosen(
            _entries(linked, listed.model, bad, plain=plain), listed.word, listed.min_probability
        )
        row = partial(_row, escape_formulas=listed.escape_formulas)
        files: dict[str, Iterable[str]] = {}
        if listed.output is not None:
            files[f"{listed.output}.s2t"] = lexicons.shortlist(entries, most=listed.limit)
            files[f"{listed.output}.t2s"] = lexicons.shortlist(entries, reverse=True, most=listed.limit)
            files[f"{listed.output}.tsv"] = (f"{line}\n" for line in chain([_HEADER], map(row, entries)))
        if listed.priors is not None:
            files[listed.priors] = lexicons.priors(entries)
        for path, lines in files.items():
            outputs.text(path).writelines(lines)
    if files:
        log(f"{len(entries):,} word pairs in {', '.join(files)}", event="written")
    else:
        most_linked = sorted(entries, key=lambda entry: -entry.links)[: listed.limit]
        show("\n".join([_HEADER, *map(row, most_linked)]))
    errors.say(bad)


def _chosen(entries: Iterable[Entry], word: str | None, least: float) -> list[Entry]:
    """Return the entries that are probable enough, of one word if it is given."""
    chosen = [entry for entry in entries if max(entry.forward, entry.reverse) >= least]
    if word is None:
        return chosen
    of_word = [entry for entry in chosen if word in (entry.source, entry.target)]
    if not of_word:
        lower = "; a model contains words in lower case" if word != word.lower() else ""
        raise DataError(f"no translation of {word!r} is as probable as --min-probability{lower}")
    return of_word


def _entries(
    linked: OptionalLinkedOptions, model: str | None, bad: BadRecords, *, plain: bool
) -> Iterable[Entry]:
    """Return the linked words of a bitext, or the word pairs that a learned lexicon has linked.

    Records with words that `plain` files cannot hold are bad.
    """
    if model is not None:
        return _entries_of_model(model, bad, plain=plain)
    counts = na.LinkCounts()
    for _, source, target, links in linked.read(bad, separator="" if plain else None):
        counts.add(source, target, links)
    return counts.entries()


def _entries_of_model(model: str, bad: BadRecords, *, plain: bool) -> Iterator[Entry]:
    from nmtalign.aligner.aligner import load_aligner
    from nmtalign.applications.bilingual_lexicon import Entry
    from nmtalign.links.separators import find_cut

    for pair in bad.track(load_aligner(model).lexicon.translations()):
        found = find_cut([pair.source], [pair.target]) if plain else None
        if found is None:
            yield Entry(*pair)
        else:
            bad.add_cut(found[1], model)


def _row(entry: Entry, *, escape_formulas: bool) -> str:
    """Return the cells of one line; expected counts have two digits after the point."""
    words = entry.source, entry.target
    if escape_formulas:
        words = without_formula(entry.source), without_formula(entry.target)
    links = f"{entry.links:.2f}".removesuffix(".00")
    association = "" if entry.association is None else f"{entry.association:.2f}"
    cells = *map(tsv_cell, words), links, f"{entry.forward:.4f}", f"{entry.reverse:.4f}", association
    return "\t".join(cells)
