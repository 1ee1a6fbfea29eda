"""What one looks at: pairs as pictures (``heatmap``) or a page (``report``), a word (``find``, ``index``)."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import combining, east_asian_width

import click

import nmtalign as na
from nmtalign.cli import declare, model, texts
from nmtalign.cli.bad_records import BadRecords
from nmtalign.cli.declare import INPUT, OUTPUT, Numbers, Options, Whole, argument, command, option
from nmtalign.cli.messages import Progress, log, printable, warn
from nmtalign.cli.texts import BitextOptions, OptionalLinkedOptions, PairsOptions
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import atomic_file
from nmtalign.names import SIDES, CellValues, Side

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from nmtalign.corpus.concordance import LinkedWords, Occurrence, Spotted
    from nmtalign.links.formats import TextFingerprint
    from nmtalign.report.corpus import Record
    from nmtalign.report.sample import Figure
    from nmtalign.text.bitext import SentencePair
    from nmtalign.text.tokenization import Languages, TextSettings

    Shown = tuple[dict[str, na.AlignmentMatrix], frozenset[na.Link], na.GoldAlignment | None]

TOGETHER = 200  # records whose words are counted together


@dataclass(frozen=True, kw_only=True)
class RecordOptions(Options):
    """Which pairs, their gold links, and what aligns them: an aligner, or another program."""

    section = "Input"

    lines: tuple[int, ...] | None = option("--lines", "These pairs only, like 3,7-9.", type=Numbers(1))
    gold: str | None = option("--gold FILE", "Gold links, one line per pair.", type=INPUT)
    options: model.ModelOptions
    source: model.SourceOptions

    def open(
        self,
        bitext: Iterator[SentencePair],
        encoding: str,
        systems: Mapping[str, str] | None = None,
    ) -> tuple[na.Aligner | None, Iterator[Record]]:
        """Return the records, and the aligner if there is one; `systems` are files of links by name."""
        from nmtalign.aligner.fit_to_text import fit_text
        from nmtalign.report.corpus import read_corpus

        if self.source.is_given(self.options.encoder.encoder):
            bitext, again = tee(bitext)
            aligned = self.source.inspect(again, encoding=encoding, options=self.options)
            records = read_corpus(bitext, aligned=aligned, gold=self.gold, others=systems, encoding=encoding)
            return None, records
        aligner, bitext = fit_text(self.options.load(), bitext)
        return aligner, read_corpus(bitext, gold=self.gold, others=systems, encoding=encoding)


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


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(PairsOptions):
    """Two sentences, or a file of pairs."""

    source_sentence: str | None = argument(required=False)
    target_sentence: str | None = argument(required=False)


@dataclass(frozen=True, kw_only=True)
class PictureOptions(Options):
    """What a picture shows, and the file."""

    section = "Output"

    output: str = option(
        "-o --output FIG", ".png .svg .pdf; numbers: .tsv .csv .npz.", type=OUTPUT, required=True
    )
    values: CellValues | Literal["all", "parts"] | None = option(
        "--values",
        "Scores before the softmax, attention of one direction, or both directions combined; `all` draws"
        " forward, reverse and combined; `parts` draws one panel per scorer or attention head."
        "  [softmax without null: forward; else combined]",
    )
    links: bool = option("--links/--no-links", "Mark the chosen links.", default=True)
    numbers: bool | None = option(
        "--numbers/--no-numbers", "Write weights, with --curves positions.  [if they fit]"
    )
    rows: tuple[int, ...] | None = option(
        "--rows", f"Target words to draw, like 0-39.  [the first {PICTURE_WORDS}]", type=Numbers(0)
    )
    columns: tuple[int, ...] | None = option(
        "--columns", f"Source words to draw, like 3,10-20.  [the first {PICTURE_WORDS}]", type=Numbers(0)
    )
    light: bool = option("--light", "Light colors, for paper.", default=False)
    linear: bool = option("--linear", "Make colors proportional to the weights.", default=False)
    curves: bool = option("--curves", "Draw links as curves between the words, no matrix.", default=False)
    dpi: int = option("--dpi", "Dots per inch of a .png.", type=Whole(10, 1200), default=150)
    escape_formulas: bool = texts.formula_option()


@command()
def heatmap(bitext: SentenceOptions, look: PictureOptions, chosen: RecordOptions) -> None:
    """Draw attention weights: target words are rows, source words are columns; gold links are boxes.

    With --lines, two files take the place of the two sentences. Several pairs of files make the pages of a
    .pdf, or the arrays of an .npz: numbers instead of a picture, as .tsv and .csv of one pair. The weights
    are those of a model, or with --matrices attention of another program.

    Example: nmtalign heatmap "the black cat" "le chat noir" --curves -o cat.svg
    """
    from nmtalign.report.heatmap import FORMATS, check_format
    from nmtalign.report.style import shorten
    from nmtalign.report.tables import OF_MATRICES, save_matrices

    output = look.output
    check_format(output, FORMATS + OF_MATRICES)
    as_numbers = Path(output).suffix.lower() in OF_MATRICES
    of_cells = {"--values": look.values in ("all", "parts"), "--light": look.light, "--linear": look.linear}
    given = [name for name, used in {**of_cells, f"-o {output}": as_numbers}.items() if used]
    if look.curves and given:
        raise UsageError(f"--curves draws the links of one matrix, no cells; leave out {', '.join(given)}")
    pairs, files = _pairs(bitext, chosen.lines)
    if chosen.options.vectors.positions == "hmm" and not files:
        raise UsageError("--positions hmm is fitted to a text; give one: --pairs FILE --lines N")
    with Progress("matrices" if as_numbers else "pictures") as progress:
        aligner, records = chosen.open(pairs, bitext.encoding)
        if not files:
            records = (record._replace(number=0, typed=True) for record in records)  # no line of a file
        records = records if chosen.lines is None else pick(records, chosen.lines)
        records = progress.done_one_by_one(_covered(_not_empty(records, files), aligner))
        most = math.inf if as_numbers else PICTURE_WORDS
        lacking: dict[str, None] = {}  # words without a vector, in order
        shown = ((record.number, _shown(aligner, record, look, most, lacking)) for record in records)
        if as_numbers:
            matrices = ((number or 1, of_pair) for number, (of_pair, *_) in shown)
            save_matrices(matrices, output, escape_formulas=look.escape_formulas)
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
    bitext: SentenceOptions, lines: Sequence[int] | None
) -> tuple[Iterator[SentencePair], Sequence[str]]:
    """Return sentence pairs, and the files that they are read from: none of two sentences."""
    from nmtalign.text.bitext import SentencePair

    source, target = bitext.source_sentence, bitext.target_sentence
    pairs = bitext.read_file()
    if pairs is not None and source is None:
        return pairs, [str(bitext.pairs)]
    if pairs is not None or source is None or target is None:
        raise UsageError("expected two sentences, or --pairs FILE, or two files and --lines N")
    sides = SentencePair(source, target)
    if lines is None:
        _expect_sentences(sides)
        return iter([sides]), ()
    _expect_files(sides)
    return iter(na.read_bitext(source, target, encoding=bitext.encoding)), sides


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
    aligner: na.Aligner | None, record: Record, look: PictureOptions, most: float, lacking: dict[str, None]
) -> Shown:
    """Return the matrices of a pair by the titles of their panels, its links and its gold links.

    A side is cropped to `most` words; words without a vector are noted in `lacking`.
    """
    from nmtalign.report.corpus import attention_of, others_inside, parts_of
    from nmtalign.report.heatmap import cropped, matrices_of

    pair = attention_of(record, aligner)
    T, S = pair.matrix.weights.shape
    others_inside(record, S, T)
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


def _draw(number: int, shown: Shown, look: PictureOptions) -> Picture:
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


@dataclass(frozen=True, kw_only=True)
class SampleOptions(Options):
    """Which pairs of a corpus are shown."""

    section = "Input"

    sample: int | None = option("--sample N", f"Show N random pairs.  [{SAMPLE}]", type=Whole(min=1))
    sample_seed: int = option("--sample-seed", "Seed of --sample.", type=Whole(min=0), default=1)
    worst: int | None = option("--worst N", "Show the N worst pairs of the corpus.", type=Whole(min=1))
    by: str | None = option("--by WHAT", "Worst by score, gold or the NAME of a system.  [score]")


@dataclass(frozen=True, kw_only=True)
class PageOptions(Options):
    """The page, and the links with which it compares."""

    section = "Output"

    output: str = option("-o --output HTML", "The report.", type=OUTPUT, required=True)
    title: str = option("--title", "Title of the page.", default="Word alignment")
    compare: tuple[str, ...] = option(
        "--compare NAME=LINKS", "Links of another system.", type=declare.COMPARED, section="Input"
    )
    corrections: str | None = option(
        "--corrections JSONL", "Links corrected in a report of this text.", type=INPUT, section="Input"
    )


@command()
def report(bitext: BitextOptions, drawn: SampleOptions, page: PageOptions, chosen: RecordOptions) -> None:
    """Write an HTML report of aligned pairs: words and curves, weights, gold, other systems, figures.

    The file holds everything it needs and loads nothing from a network.

    Example: nmtalign report text.en text.fr -o report.html --gold gold.txt --worst 50 --by gold
    """
    from nmtalign.links.formats import TextFingerprint
    from nmtalign.report.corpus import show

    by_hand = {"--lines": chosen.lines, "--sample": drawn.sample, "--worst": drawn.worst}
    given = [name for name, value in by_hand.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} contradict each other; choose the pairs in one way")
    if drawn.by is not None and drawn.worst is None:
        raise UsageError("--by is what the --worst pairs are the worst by; give --worst N")
    with Progress("pairs", bitext.files) as progress:
        key = TextFingerprint(chosen.source.pieces)
        pairs = _with_key(progress.count(bitext.read()), key)
        aligner, records = chosen.open(pairs, bitext.encoding, _systems(page.compare))
        gold: list[str] = []
        if chosen.gold is not None:
            records = _noted(records, gold)
        kept, figures, evaluations = _choose(records, aligner, chosen.lines, drawn)
        with Progress("pairs shown") as shown_progress:
            shown = show(shown_progress.done_one_by_one(_covered(kept, aligner)), aligner)
        deque(pairs if chosen.gold is None else records, maxlen=0)  # to its end
        total = progress.done
        na.write_report(
            page.output,
            shown,
            title=page.title,
            corrections=page.corrections,
            gold=gold or [""] * total,
            corpus=figures,
            systems=evaluations,
            text=str(key),
        )
    with_scorers = sum(bool(pair.parts) for pair in shown)
    if 0 < with_scorers < len(shown):
        warn(f"only the first {with_scorers:,} pairs have the weights of each scorer, to keep the page small")
    of = f" of {total:,}" if len(shown) < total else ""
    drawn_by = " at random" if of and chosen.lines is None and drawn.worst is None else ""
    text = (
        f"{len(shown):,}{of} pairs{drawn_by} in {page.output}, {progress.seconds:.1f} s; open it in a browser"
    )
    log(text, event="report", pairs=len(shown))


def _with_key(pairs: Iterable[SentencePair], key: TextFingerprint) -> Iterator[SentencePair]:
    """Yield sentence pairs, and add the words between the spaces of each to the key of the text."""
    from nmtalign.text.tokenization import SPACE_SETTINGS

    for pair in pairs:
        key.add(*SPACE_SETTINGS.words_of_pair(pair))
        yield pair


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
    records: Iterator[Record], aligner: na.Aligner | None, lines: Sequence[int] | None, drawn: SampleOptions
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
            model.check_folder("model", self.model)
            return na.load(self.model)
        if self.vectors is not None:
            model.check_folder("vectors", self.vectors)
            return na.load(self.vectors)
        return None


@dataclass(frozen=True, kw_only=True)
class IndexFileOptions(Options):
    """The index to write."""

    section = "Output"

    output: str = option("-o --output DB", "The index, one SQLite file.", type=OUTPUT, required=True)


@command()
def index(linked: OptionalLinkedOptions, file: IndexFileOptions, named: NamedAlignerOptions) -> None:
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
    with Progress("pairs", linked.files) as progress, atomic_file(output) as partial:
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


@command()
def find(search: SearchOptions, linked: OptionalLinkedOptions, named: NamedAlignerOptions) -> None:
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
    from nmtalign.text.bitext import chunk_pairs

    assert linked.source is not None
    pairs = na.read_bitext(linked.source, linked.target, encoding=linked.encoding)
    for chunk in align_chunks(aligner, chunk_pairs(pairs), workers=1, unit="tokens"):
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
