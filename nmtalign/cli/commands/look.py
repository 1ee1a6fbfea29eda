"""What one looks at: pairs as pictures (``heatmap``) or a page (``report``), a word (``find``, ``index``)."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

import click

import nmtalign as na
from nmtalign.cli import declare, model, texts
from nmtalign.cli.declare import INPUT, OUTPUT, Numbers, OptionGroup, Values, Whole, argument, command, option
from nmtalign.cli.messages import Progress, log, printable, warn
from nmtalign.cli.texts import BitextOptions, LinkedOptions, PairsOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.names import SIDES, VALUES
from nmtalign.output import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from nmtalign.corpus.concordance import LinkedWords, Occurrence, Spotted
    from nmtalign.report.corpus import Record
    from nmtalign.report.sample import Figure
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import Languages, TextSettings

    Shown = tuple[dict[str, na.AlignmentMatrix], frozenset[na.Link], na.GoldAlignment | None]

TOGETHER = 200  # records whose words are counted together


class RecordOptions(Values):
    """Which pairs, their gold links, and what aligns them: `options` of a model, or another's `weights`."""

    def open(
        self, bitext: Iterator[SentencePair], others: Mapping[str, str] | None = None
    ) -> tuple[na.Aligner | None, Iterator[Record]]:
        """Return the aligner, if it is one of ours, and the records; `others` are files of links by name."""
        from nmtalign.aligner.opening import fit_text
        from nmtalign.report.corpus import read_corpus

        files: Any = {"gold": self.gold, "others": others, "encoding": texts.encoding()}
        if self.weights.named(self.options):
            bitext, again = tee(bitext)
            return None, read_corpus(bitext, aligned=self.weights.inspect(self.options, again), **files)
        aligner, bitext = fit_text(model.load_aligner(self.options), bitext)
        return aligner, read_corpus(bitext, **files)


record_options = OptionGroup(
    "chosen",
    "Input",
    option("--lines", Numbers(1), "These pairs only, like 3,7-9."),
    option("--gold", INPUT, "Gold links, one line for each pair."),
    model.model_options,
    model.source_options,
    kind=RecordOptions,
)


def pick(records: Iterable[Record], lines: Sequence[int]) -> Iterator[Record]:
    """Yield the records that `lines` (sorted, from 1) names; read no further than the last."""
    number = 0
    for number, record in enumerate(records, 1):
        if number in lines:
            yield record
        if number == lines[-1]:
            return
    missing = next(line for line in lines if line > number)
    raise DataError(f"expected a pair in line {missing}, found only {number:,} pairs")


def _covered(records: Iterable[Record], aligner: na.Aligner | None) -> Iterator[Record]:
    """Yield records; warn at the end if too few of their words are known for links that can be trusted."""
    from nmtalign.corpus.coverage import Coverage

    records, known = iter(records), Coverage()
    while chunk := list(islice(records, TOGETHER)):
        if aligner is not None:
            known = known.joined(aligner.covered([record.pair for record in chunk]))
        yield from chunk
    if why := known.warning:
        warn(why)


# --- heatmap -------------------------------------------------------------------------------------

LIST_CHARACTERS = 100  # characters of a list of words
PICTURE_WORDS = 150  # words of a side that a picture shows when nothing else is asked for


@command(
    argument("source_sentence", required=False),
    argument("target_sentence", required=False),
    texts.pairs_options,
    "Output",
    option("-o --output FIG", OUTPUT, ".png .svg .pdf; numbers: .tsv .csv .npz.", required=True),
    OptionGroup(
        "look",
        option(
            "--values",
            (*VALUES, "all", "parts"),
            "Scores before the softmax, attention of a direction or both combined; `all`: the latter three;"
            " `parts`: of each scorer or attention head.  [softmax without null: forward; else combined]",
        ),
        option("--links/--no-links", bool, "Mark the chosen links.", default=True),
        option("--numbers/--no-numbers", bool, "Write weights, with --curves positions.  [if they fit]"),
        option("--rows", Numbers(0), f"Target words to draw, like 0-39.  [the first {PICTURE_WORDS}]"),
        option("--columns", Numbers(0), f"Source words to draw, like 3,10-20.  [the first {PICTURE_WORDS}]"),
        option("--light", bool, "Light colors, for paper."),
        option("--linear", bool, "Make colors proportional to the weights."),
        option("--curves", bool, "Draw links as curves between the words, no matrix."),
        option("--dpi", Whole(10, 1200), "Dots per inch of a .png.", default=150),
    ),
    record_options,
)
def heatmap(
    bitext: PairsOptions,
    look: Values,
    chosen: RecordOptions,
    output: str,
    source_sentence: str | None,
    target_sentence: str | None,
) -> None:
    """Draw attention weights: target words are rows, source words are columns; gold links are boxes.

    With --lines, two files take the place of the two sentences. Several pairs of files make the pages of a
    .pdf, or the arrays of an .npz: numbers instead of a picture, as .tsv and .csv of one pair. The weights
    are those of a model, or with --matrices attention of another program.

    Example: nmtalign heatmap "the black cat" "le chat noir" --curves -o cat.svg
    """
    from nmtalign.report.heatmap import FORMATS, check_format
    from nmtalign.report.style import shorten
    from nmtalign.report.tables import OF_MATRICES, save_matrices

    check_format(output, FORMATS + OF_MATRICES)
    as_numbers = Path(output).suffix.lower() in OF_MATRICES
    of_cells = {"--values": look.values in ("all", "parts"), "--light": look.light, "--linear": look.linear}
    given = [name for name, used in {**of_cells, f"-o {output}": as_numbers}.items() if used]
    if look.curves and given:
        raise UsageError(f"--curves draws the links of one matrix, no cells; leave out {', '.join(given)}")
    pairs, files = _pairs(bitext, source_sentence, target_sentence, chosen.lines)
    if chosen.options.positions == "hmm" and not files:
        raise UsageError("--positions hmm is fitted to a text; give one: --pairs FILE --lines N")
    with Progress("matrices" if as_numbers else "pictures") as progress:
        aligner, records = chosen.open(pairs)
        if not files:
            records = (record._replace(number=0, typed=True) for record in records)  # no line of a file
        records = records if chosen.lines is None else pick(records, chosen.lines)
        records = progress.done_one_by_one(_covered(_not_empty(records, files), aligner))
        most = math.inf if as_numbers else PICTURE_WORDS
        lacking: dict[str, None] = {}  # words without a vector, in order
        shown = ((record.number, _shown(aligner, record, look, most, lacking)) for record in records)
        if as_numbers:
            save_matrices(((number or 1, matrices) for number, (matrices, *_) in shown), output)
        else:
            na.save_heatmaps((_draw(number, pair, look) for number, pair in shown), output, dpi=look.dpi)
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
    bitext: PairsOptions, source: str | None, target: str | None, lines: Sequence[int] | None
) -> tuple[Iterator[SentencePair], Sequence[str]]:
    """Return sentence pairs, and the files that they are read from: none of two sentences."""
    from nmtalign.text.bitext import SentencePair

    pairs = bitext.open()
    if pairs is not None and source is None:
        return pairs, (bitext.pairs,)
    if pairs is not None or source is None or target is None:
        raise UsageError("expected two sentences, or --pairs FILE, or two files and --lines N")
    sides = SentencePair(source, target)
    if lines is None:
        _expect_sentences(sides)
        return iter([sides]), ()
    _expect_files(sides)
    return iter(na.read_bitext(source, target, encoding=texts.encoding())), sides


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


def _shown(
    aligner: na.Aligner | None, record: Record, look: Values, most: float, lacking: dict[str, None]
) -> Shown:
    """Return the matrices of a pair by the titles of their panels, its links and its gold links.

    A side is cropped to `most` words; words without a vector are noted in `lacking`.
    """
    from nmtalign.report.corpus import attention_of, parts_of
    from nmtalign.report.heatmap import cropped, matrices_of

    pair = attention_of(record, aligner)
    T, S = pair.matrix.weights.shape
    for tokens, unknown in zip(pair.tokens, pair.matrix.unknown or (), strict=False):
        lacking.update(dict.fromkeys(tokens[n] for n in sorted(unknown)))
    where = f"pair {record.number}: " if record.number else ""
    rows = _kept(look.rows, T, most, f"{where}target words", "--rows")
    columns = _kept(look.columns, S, most, f"{where}source words", "--columns")
    matrices = matrices_of(pair, None if look.values == "parts" else look.values)
    if look.values == "parts":
        [whole] = matrices.values()
        parts = {name: replace(whole, weights=part) for name, part in parts_of(record, aligner).items()}
        alone = "attention" if aligner is None else aligner.scorer.names[0]
        matrices = parts | {"combined" if parts else alone: whole}
    return cropped(matrices, pair.alignment, record.gold, rows, columns)


def _kept(wanted: tuple[int, ...] | None, words: int, most: float, what: str, option: str) -> list[int]:
    """Return the positions of the words to show; a picture holds so many, so a long side is cropped."""
    if wanted is None and words > most:
        warn(f"{what}: {words:,}, the first {most} are drawn; choose others with {option}, like 0-{most - 1}")
    kept = [*range(int(min(words, most)))] if wanted is None else [n for n in wanted if n < words]
    if words and not kept:
        raise UsageError(f"{option}: there are only {words:,} words, counted from 0")
    return kept


def _draw(number: int, shown: Shown, look: Values) -> Picture:
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


# --- report --------------------------------------------------------------------------------------

SAMPLE = 200  # pairs shown when nothing else is asked for


@command(
    texts.bitext_options,
    "Input",
    option("--compare NAME=LINKS", declare.COMPARED, "Links of another system.", multiple=True),
    option("--corrections JSONL", INPUT, "Links corrected in a report of this text."),
    OptionGroup(
        "drawn",
        option("--sample N", Whole(min=1), f"Show N random pairs.  [{SAMPLE}]"),
        option("--sample-seed", Whole(min=0), "Seed of --sample.", default=1),
        option("--worst N", Whole(min=1), "Show the N worst pairs of the corpus."),
        option("--by WHAT", str, "Worst by score, gold or the NAME of a system.  [score]"),
    ),
    "Output",
    option("-o --output HTML", OUTPUT, "The report.", required=True),
    option("--title", str, "Title of the page.", default="Word alignment"),
    record_options,
)
def report(bitext: BitextOptions, drawn: Values, chosen: RecordOptions, output: str, **page: Any) -> None:
    """Write an HTML report of aligned pairs: words and curves, weights, gold, other systems, figures.

    The file holds everything it needs and loads nothing from a network.

    Example: nmtalign report text.en text.fr -o report.html --gold gold.txt --worst 50 --by gold
    """
    from nmtalign.report.corpus import show

    by_hand = {"--lines": chosen.lines, "--sample": drawn.sample, "--worst": drawn.worst}
    given = [name for name, value in by_hand.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} contradict each other; choose the pairs in one way")
    if drawn.by is not None and drawn.worst is None:
        raise UsageError("--by is what the --worst pairs are the worst by; give --worst N")
    with Progress("pairs", bitext.files) as progress:
        pairs = progress.count(bitext.open())
        aligner, records = chosen.open(pairs, _systems(page.pop("compare")))
        gold: list[str] = []
        if chosen.gold is not None:
            records = _noted(records, gold)
        kept, page["corpus"], page["systems"] = _choose(records, aligner, chosen.lines, drawn)
        with Progress("pairs shown") as shown_progress:
            shown = show(shown_progress.done_one_by_one(_covered(kept, aligner)), aligner)
        deque(pairs if chosen.gold is None else records, maxlen=0)  # to its end
        total = progress.done
        na.write_report(output, shown, gold=gold or [""] * total, **page)
    with_scorers = sum(bool(pair.parts) for pair in shown)
    if 0 < with_scorers < len(shown):
        warn(f"only the first {with_scorers:,} pairs have the weights of each scorer, to keep the page small")
    of = f" of {total:,}" if len(shown) < total else ""
    drawn_by = " at random" if of and chosen.lines is None and drawn.worst is None else ""
    text = f"{len(shown):,}{of} pairs{drawn_by} in {output}, {progress.seconds:.1f} s; open it in a browser"
    log(text, event="report", pairs=len(shown))


def _noted(records: Iterator[Record], lines: list[str]) -> Iterator[Record]:
    """Yield records, and note the gold links of each as a line."""
    from nmtalign.links.formats import format_gold

    for record in records:
        lines.append(format_gold(record.gold) if record.gold else "")
        yield record


def _systems(compare: tuple[str, ...]) -> dict[str, str]:
    """Parse NAME=LINKS."""
    from nmtalign.report.sample import OWN

    systems: dict[str, str] = {}
    for entry in compare:
        name, _, path = entry.partition("=")
        if not (name and path):
            raise UsageError(f"--compare wants NAME=LINKS, found {entry!r}")
        if name in systems or name in ("gold", "score", OWN):
            raise UsageError(f"--compare: the name {name!r} is taken; give each system a name of its own")
        systems[name] = path
    return systems


def _choose(
    records: Iterator[Record], aligner: na.Aligner | None, lines: Sequence[int] | None, drawn: Values
) -> tuple[list[Record], list[Figure], dict[str, na.Evaluation] | None]:
    """Return the records to show, and figures and evaluations of the whole corpus where it was aligned."""
    from nmtalign.report.corpus import random_sample, worst_sample
    from nmtalign.report.sample import OWN, Figure, evaluation_figures

    if lines is not None:
        return list(pick(records, lines)), [], None
    if drawn.worst is None:
        return random_sample(records, drawn.sample or SAMPLE, seed=drawn.sample_seed), [], None
    by = drawn.by or "score"
    worst = worst_sample(records, drawn.worst, aligner, by=by)
    figures = [Figure("Pairs in the corpus", f"{worst.size:,}", f"the worst by {by} are shown")]
    if OWN in worst.evaluations:
        figures += evaluation_figures(worst.evaluations[OWN], where=" of the corpus")
    return worst.records, figures, worst.evaluations


# --- find and index ------------------------------------------------------------------------------

_BAR = 30  # characters of the longest bar
_AROUND = 9  # words on either side of those that are marked

_named = OptionGroup(
    "named",
    "Model",
    option("--model DIR", INPUT, "A learned model, instead of LINKS."),
    option("--vectors DIR", INPUT, "Word vectors, instead of LINKS."),
)


@command(
    texts.linked_options(required=False),
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
    texts.linked_options(required=False),
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
            click.echo("\n" * (shown > 1) + "\n".join(_lines_about(printable(word), name, spotted)))
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
    aligner = model.open_folder(kind, path)
    aligner = replace(aligner, text=linked.settings(aligner.text))
    return _aligned(aligner, linked), aligner.text, aligner.languages


def _aligned(aligner: na.Aligner, linked: LinkedOptions) -> Iterator[LinkedWords]:
    from nmtalign.batch.stream import align_chunks
    from nmtalign.text.bitext import chunks_of

    pairs = na.read_bitext(linked.source, linked.target, encoding=texts.encoding())
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
