"""``nmtalign lexicon``: the translations that a model has learned, or that links show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nmtalign.cli._link_lexicon import list_links
from nmtalign.cli._types import INPUT, Number, OutputPrefix, Whole
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    from nmtalign.heads.lexicon import Lexicon, Translations


@click.command()
@click.argument("texts", type=INPUT, nargs=-1, metavar="[SOURCE TARGET LINKS]")
@click.option(
    "--model", type=INPUT, metavar="DIR", help="A learned model, instead of two texts and their links."
)
@click.option("--word", metavar="WORD", help="Show the translations of one word, of either language.")
@click.option(
    "-o",
    "--output",
    type=OutputPrefix(".s2t", ".t2s", ".tsv"),
    metavar="PREFIX",
    help="Write PREFIX.s2t, PREFIX.t2s and PREFIX.tsv instead of showing them.",
)
@click.option("--limit", type=Whole(min=1), default=100, show_default=True, help="Most per word.")
@click.option("--least", type=Number(0), default=0.01, show_default=True, help="Least probability.")
def lexicon(
    texts: tuple[str, ...], model: str | None, word: str | None, output: str | None, limit: int, least: float
) -> None:
    """List translations with their probabilities: those of a model, or those that LINKS show.

    LINKS are Pharaoh links between the words of SOURCE and TARGET, which stand between spaces; words
    without a link count as linked to nothing.

    PREFIX.s2t has lines `target source p(target|source)`, PREFIX.t2s lines `source target p(source|target)`,
    as Marian reads them; PREFIX.tsv has one line a word pair with its count and both probabilities, and
    for LINKS the log-likelihood ratio of the two words.

    Example: nmtalign lexicon --model model -o lex
    """
    if len(texts) != (0 if model else 3):
        raise UsageError("expected --model DIR, or three files: SOURCE TARGET LINKS")
    if model is None:
        list_links(texts, word, output, limit, least)
        return
    from nmtalign.aligner.model_folder import load_aligner

    learned = load_aligner(model).lexicon
    table = learned.translations()
    if output is None:
        _show(learned, table, word, limit, least)
    else:
        _write(learned, table, output, limit, least)


def _show(learned: Lexicon, table: Translations, word: str | None, limit: int, least: float) -> None:
    """Print the most frequent pairs, or those of one word."""
    click.echo("source\ttarget\tcount\tp(target|source)\tp(source|target)")
    shown = 0
    for s, t, count, forward, reverse in zip(*table, strict=True):
        source, target = learned.source_words[s], learned.target_words[t]
        if (word is None or word in (source, target)) and max(forward, reverse) >= least:
            click.echo(f"{source}\t{target}\t{count:.2f}\t{forward:.4f}\t{reverse:.4f}")
            shown += 1
            if shown == limit:
                return


def _write(learned: Lexicon, table: Translations, prefix: str, limit: int, least: float) -> None:
    """Write both probability tables and the word list."""
    import numpy as np

    from nmtalign.batch.output import whole_file
    from nmtalign.files import open_text

    source, target, words = table.source, table.target, (learned.source_words, learned.target_words)
    forward = ("s2t", table.target_given_source, source, words[1], target, words[0], source)
    reverse = ("t2s", table.source_given_target, target, words[0], source, words[1], target)
    for suffix, probability, given, first_words, first, second_words, second in (forward, reverse):
        order = np.lexsort((-probability, given))
        with whole_file(f"{prefix}.{suffix}") as partial, open_text(partial, "w") as file:
            before, rank = -1, 0
            for k in order.tolist():
                rank = rank + 1 if given[k] == before else 1
                before = given[k]
                if rank <= limit and probability[k] >= least:
                    file.write(f"{first_words[first[k]]} {second_words[second[k]]} {probability[k]:.7f}\n")
    with whole_file(f"{prefix}.tsv") as partial, open_text(partial, "w") as file:
        file.write("source\ttarget\tcount\tp(target|source)\tp(source|target)\n")
        for s, t, count, p, q in zip(*table, strict=True):
            if max(p, q) >= least:
                file.write(f"{words[0][s]}\t{words[1][t]}\t{count:.2f}\t{p:.4f}\t{q:.4f}\n")
