"""``nmtalign lexicon``: list the translations of words."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import nmtalign as na
from nmtalign.applications.bilingual_lexicon import (
    NULL_WORD,
    TABLE_HEADER,
    JumpAndFertilityCounts,
    LexiconEntry,
    LinkCounts,
    choose_entries,
    entries_of_model,
    format_jumps,
    format_priors,
    format_row,
    format_shortlist,
    format_vocabulary_map,
    most_frequent,
)
from nmtalign.applications.linked_pairs import LinkedLines, LinkedPair, read_linked_lines
from nmtalign.cli import model_options, texts
from nmtalign.cli.bad_records import ErrorOptions
from nmtalign.cli.declare import command
from nmtalign.cli.messages import log, print_text, shows_progress, warn
from nmtalign.cli.parameter_types import OutputPrefix
from nmtalign.cli.texts import BitextOptions, LinkedOptions
from nmtalign.corpus.regrouping import into_pieces, regroup_links
from nmtalign.corpus.units import LinkUnit, link_unit
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.compressed import path_of_prefix
from nmtalign.files.text_files import find_split_word
from nmtalign.text.bitext import SentencePair, named_languages
from nmtalign.text.languages import known_language
from nmtalign.text.tokenization import Languages, TextSettings

MIN_LISTED_PROBABILITY = 0.01  # of a translation in either direction
MAX_PRINTED_ROWS = 100  # of a table that is not written to a file
MIN_WRITTEN_JUMPS = 0.01  # expected jumps of one width in the text of a model


@dataclass(frozen=True, kw_only=True)
class CountedTextOptions(LinkedOptions):
    """Two texts and the links of their words, and the form in which the words are counted."""

    lowercase: bool = setting(False, "--lowercase", "Count words in lower case.")
    spm: str | None = setting(
        None,
        "--spm SRC[,TGT]",
        "Sub-word models (sentencepiece, tokenizer.json) that split raw lines; count the pieces of linked"
        " words.",
        type=texts.SubwordModels(writes=False),
    )

    def read_units(self, bad: BadRecords, *, plain: bool) -> Iterator[LinkedPair]:
        """Yield the words of each pair, or the pieces of `--spm`, with their links.

        Pairs with words or pieces that `plain` files cannot contain are bad, and empty.
        """
        separator = "" if plain else None
        text = self.text(lowercase=self.lowercase)
        if self.spm is None:
            yield from (pair for _, pair in text.read(bad, separator=separator))
            return
        if self.lowercase:
            raise UsageError(
                "--lowercase and --spm cannot be combined, because models split lines as they are"
            )

        unit = link_unit(spm=self.spm)
        for number, (lines, pair) in enumerate(text.read(bad), 1):
            pieces = _in_pieces(lines, pair, unit, text.text_settings)
            cut = None if separator is None else find_split_word(pieces.source, pieces.target, separator)
            if cut is not None:
                side, problem = cut
                bad.add_cut(problem, *text.bitext.place(number, side))
                pieces = LinkedPair([], [], na.Alignment((), 0, 0))
            yield pieces


def _in_pieces(
    lines: SentencePair, pair: LinkedPair, unit: LinkUnit, text_settings: TextSettings
) -> LinkedPair:
    """Return the pieces of both lines, with a link of all pieces of linked words."""
    piece_lines = unit.piece_lines(lines, text_settings)
    source, target = piece_lines[0].pieces, piece_lines[1].pieces
    links = regroup_links(pair.links.links, into_pieces([piece_lines]))
    return LinkedPair(source, target, na.Alignment(links, len(source), len(target)))


@dataclass(frozen=True, kw_only=True)
class LexiconOptions(Settings):
    """The choice of the listed translations, and the files."""

    section = "Output"

    word: str | None = setting(
        None, "--word WORD", "List only the translations of one word of either language."
    )
    output: str | None = setting(
        None,
        "-o --output PREFIX",
        f"Write PREFIX.s2t, PREFIX.t2s and PREFIX.tsv instead of printing the first {MAX_PRINTED_ROWS} rows.",
        type=OutputPrefix(".s2t", ".t2s", ".tsv"),
    )
    priors: str | None = setting(
        None,
        "--priors FILE",
        "Write eflomal priors: lines of LEX source target count, and jumps; for LINKS, fertilities as well.",
        kind="output",
    )
    vmap: str | None = setting(
        None,
        "--vmap FILE",
        "Write a CTranslate2 vocabulary map: the target words of each source word.",
        kind="output",
    )
    terms: str | None = setting(
        None,
        "--terms FILE",
        "Write a list of terms to FILE.csv, for spreadsheets, to FILE.tbx, for translation tools, or to"
        " FILE.tsv, and nothing else.",
        kind="output",
    )
    min_links: int | None = setting(
        None, "--min-links N", "List translations with at least N links.  [1; --terms: 3]", minimum=1
    )
    min_probability: float | None = setting(
        None,
        "--min-probability",
        "List translations of at least this probability: in the direction of a shortlist; of the table, in"
        " either; of terms, in both.  [0.01; --terms: 0.2]",
        minimum=0,
        maximum=1,
    )
    model: str | None = setting(
        None,
        "--model DIR",
        "List the translations of this learned model, instead of texts and links; --terms aligns with it.",
        kind="input",
        section="Model",
    )

    @property
    def min_listed_probability(self) -> float:
        """The minimum probability of word pairs."""
        return MIN_LISTED_PROBABILITY if self.min_probability is None else self.min_probability

    def choose(self, entries: Iterable[LexiconEntry]) -> list[LexiconEntry]:
        """Return the entries that are listed."""
        return choose_entries(
            entries,
            min_links=self.min_links or 0,
            min_probability=self.min_listed_probability,
            word=self.word,
        )

    @property
    def minimums(self) -> dict[str, float]:
        """The minimums that were given, as :func:`nmtalign.terms` names them."""
        given = {"min_links": self.min_links, "min_probability": self.min_probability}
        return {name: value for name, value in given.items() if value is not None}


@command("lexicon")
def lexicon_command(linked: CountedTextOptions, errors: ErrorOptions, listed: LexiconOptions) -> None:
    """List translations with their probabilities, from LINKS or from a learned model.

    LINKS are Pharaoh links between the space-separated words of SOURCE and TARGET, or of --pairs FILE.
    Words without a link count as linked to the null word. With --spm, a link of two words is a link of all
    their pieces, as in the links of `align --spm`, and each piece is counted as a word is.

    PREFIX.s2t has lines `target source p(target|source)`, PREFIX.t2s lines `source target p(source|target)`;
    as in Moses, words of LINKS without a link have rows with the word NULL.
    The table, also in PREFIX.tsv, has one line per word pair: the number of its links (of a model, the
    expected number), both probabilities, and for LINKS the log-likelihood ratio of the two words. Of LINKS,
    it counts words without the punctuation at their edges; the other files have the words as they are. The
    file is sorted by source words, and their translations by links; without -o, the most frequent rows are
    printed.

    --terms lists terms for people: content words and sequences of them with their translations, the most
    closely associated first, each with its number of links, both probabilities and an example. It needs no
    LINKS: it aligns the texts with --model, or with what it learns from them.

    Example: nmtalign lexicon text.en text.fr --terms terms.csv
    """
    from nmtalign.aligner.aligner import load_aligner

    if listed.terms is not None:
        _write_terms(linked, errors, listed, listed.terms)
        return
    uses_texts = bool(linked.arguments or linked.pairs or linked.lowercase or linked.spm)
    is_complete = linked.has_links if uses_texts else listed.model is not None
    is_mixed = uses_texts and listed.model is not None
    if is_mixed or not is_complete:
        expected = "expected SOURCE TARGET LINKS, --pairs FILE LINKS, or --model DIR alone"
        advice = texts.advice_on_pairs(linked.source) or "--terms FILE needs no LINKS"
        raise UsageError(f"{expected}; {advice}")
    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        plain = any(path is not None for path in (listed.output, listed.priors, listed.vmap))
        others: Iterable[str] = ()  # lines of priors beside word pairs
        null_entries: list[LexiconEntry] = []
        if listed.model is None:
            jumps = None if listed.priors is None else JumpAndFertilityCounts()
            counts = _counts_of_links(linked, bad, plain=plain, others=jumps)
            units = listed.choose(counts.entries())
            null_entries = listed.choose(counts.null_entries())
            table = (
                units if linked.spm is not None else listed.choose(_counts_without_marks(counts).entries())
            )
            others = () if jumps is None else jumps.lines()
        else:
            aligner = load_aligner(listed.model)
            units = table = listed.choose(_entries_of_model(aligner, listed.model, bad, plain=plain))
            others = _jumps_of_model(aligner)
        if listed.word is not None and not units and not table:
            raise DataError(_no_translation(listed.word))
        files = _files(units, null_entries, table, listed, others)
        for path, lines in files.items():
            outputs.text(path).writelines(lines)
    if files and listed.model is not None and (listed.output is not None or listed.vmap is not None):
        why = "a translation model whose vocabularies are pieces finds few of these words"
        log(f"{why}; for it, write nmtalign lexicon SOURCE TARGET LINKS --spm SRC,TGT -o PREFIX")
    if files:
        text = f"{with_plural(len(units), 'word pair')} in {', '.join(files)}"
        if listed.output is not None and len(table) != len(units):
            text += f"; {len(table):,} in the table, without the punctuation at the edges of words"
        log(text, event="written")
    else:
        rows = _table_rows(most_frequent(table, MAX_PRINTED_ROWS), listed)
        print_text("\n".join([TABLE_HEADER, *rows]))
    errors.say(bad)


def _write_terms(linked: CountedTextOptions, errors: ErrorOptions, listed: LexiconOptions, path: str) -> None:
    """Write the terms of a bitext, which is aligned if it has no links."""
    from nmtalign.applications.terminology import TermText, format_terms, terms_format

    others = {
        "--output": listed.output,
        "--priors": listed.priors,
        "--vmap": listed.vmap,
        "--word": listed.word,
        "--spm": linked.spm,
        "--lowercase": linked.lowercase or None,
    }
    given = [option for option, value in others.items() if value is not None]
    if given:
        raise UsageError(f"--terms cannot be combined with {', '.join(given)}; remove one")
    kind = terms_format(path)
    linked = linked.with_languages_of(listed.model)
    languages = _languages_of_bitext(linked.bitext()) if kind == ".tbx" else (None, None)
    text = TermText()
    with AtomicFiles() as outputs:
        bad = errors.open(outputs)
        written = outputs.text(path)  # before the aligner learns, so that a wrong path is an error at once
        for lines in _linked_lines(linked, listed.model, bad):
            text.add(lines)
        terms = text.terms(**listed.minimums)
        rows = format_terms(terms, kind, languages)
        written.writelines(rows)
    where = "" if path == "-" else f" in {path}"
    log(f"{with_plural(len(terms), 'term')}{where}", event="written")
    errors.say(bad)


def _languages_of_bitext(bitext: BitextOptions) -> Languages:
    """Return the languages that a file with both sides states, or the names of two files tell."""
    if bitext.pairs is not None:
        languages = named_languages(bitext.open())
    else:
        source, target = texts.languages_in_paths(bitext.source, bitext.target)
        languages = known_language(source), known_language(target)
    if None in languages:
        advice = "use names such as text.en and text.fr" if bitext.pairs is None else "add --sides XX,YY"
        files = " and ".join(bitext.files)
        raise UsageError(f"a TBX file states languages, which {files} does not tell; {advice}, or write .csv")
    return languages


def _linked_lines(linked: CountedTextOptions, model: str | None, bad: BadRecords) -> Iterator[LinkedLines]:
    """Yield the lines of a bitext with their links: those of LINKS, of a model, or of a model of the text."""
    from nmtalign.aligner.opening import fit_text

    if linked.has_links:
        if model is not None:
            raise UsageError("LINKS and --model cannot be combined; remove one")
        for lines, pair in linked.text().read(bad):
            yield LinkedLines(lines.source, lines.target, pair)
        return
    bitext = linked.bitext()
    opened = bitext.open(bad.add)
    pairs = list(bad.track(opened))
    if model is None:
        log(f"learning an aligner from {with_plural(len(pairs), 'pair')}", event="learning")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", na.AdviceWarning)  # about arguments that are no options here
            aligner = na.train(
                pairs,
                tokenizer="simple",
                languages=named_languages(opened),
                progress=shows_progress(),
            )
    else:
        aligner = model_options.load_given(model=model, files=(bitext.source, bitext.target))
        aligner, _ = fit_text(aligner, pairs, aligned_unit="tokens")
    batch = aligner.align_batch(pairs, count="tokens", progress=shows_progress())
    yield from read_linked_lines(batch)


def _no_translation(word: str) -> str:
    hint = "; a model contains words in lower case" if word != word.lower() else ""
    return f"no translation of {word!r} reaches `min_probability` and `min_links`{hint}"


def _files(
    units: list[LexiconEntry],
    null_entries: list[LexiconEntry],
    table: list[LexiconEntry],
    listed: LexiconOptions,
    others: Iterable[str],
) -> dict[str, Iterable[str]]:
    """Return the lines of each file that is written, by its path; `others` are priors beside word pairs.

    Programs read the `units` that links count, people the words of the `table`. Shortlists also have the
    `null_entries`, of units without a link.
    """
    files: dict[str, Iterable[str]] = {}
    least = listed.min_listed_probability
    if listed.output is not None:
        rows = [*_without_null_word(units), *null_entries] if null_entries else units
        files[path_of_prefix(listed.output, ".s2t")] = format_shortlist(rows, min_probability=least)
        files[path_of_prefix(listed.output, ".t2s")] = format_shortlist(
            rows, reverse=True, min_probability=least
        )
        table_rows = chain([TABLE_HEADER], _table_rows(table, listed))
        files[path_of_prefix(listed.output, ".tsv")] = (f"{row}\n" for row in table_rows)
    if listed.priors is not None:
        files[listed.priors] = chain(format_priors(units), others)
    if listed.vmap is not None:
        files[listed.vmap] = format_vocabulary_map(units, min_probability=least)
    return files


def _without_null_word(entries: list[LexiconEntry]) -> list[LexiconEntry]:
    """Return the entries of a shortlist without those of a word that would be read as the null word."""
    kept = [entry for entry in entries if NULL_WORD not in (entry.source, entry.target)]
    if len(kept) < len(entries):
        count = with_plural(len(entries) - len(kept), "pair")
        warn(f"the shortlists omit {count} with the word {NULL_WORD!r}, which stands for no word there")
    return kept


def _table_rows(entries: Iterable[LexiconEntry], listed: LexiconOptions) -> Iterator[str]:

    for entry in entries:
        yield format_row(entry)


def _counts_of_links(
    linked: CountedTextOptions,
    bad: BadRecords,
    *,
    plain: bool,
    others: JumpAndFertilityCounts | None,
) -> LinkCounts:
    """Return the counts of the linked words of a bitext, and count jumps and fertilities in `others`.

    Pairs with words or pieces that `plain` files cannot contain are bad.
    """
    counts = LinkCounts()
    for pair in linked.read_units(bad, plain=plain):
        counts.add(pair)
        if others is not None and pair.source and pair.target:
            others.add(pair)
    return counts


def _counts_without_marks(counts: LinkCounts) -> LinkCounts:
    """Return the counts of words without the punctuation at their edges."""
    bare = LinkCounts()
    bare.add_without_marks(counts)
    return bare


def _jumps_of_model(aligner: na.Aligner) -> Iterator[str]:
    """Yield the jumps of a model as lines of priors; jumps that it hardly expects are omitted."""
    from nmtalign.aligner.training_job import jumps_of_model

    counts = jumps_of_model(aligner)
    if counts is None:
        return
    of_sides: list[dict[int, float]] = []
    for of_side in counts:
        widest = len(of_side) // 2
        listed = enumerate(of_side.tolist(), -widest)
        of_sides.append({width: count for width, count in listed if count >= MIN_WRITTEN_JUMPS})
    yield from format_jumps(*of_sides)


def _entries_of_model(
    aligner: na.Aligner, model: str, bad: BadRecords, *, plain: bool
) -> Iterator[LexiconEntry]:
    """Yield the word pairs that a model has linked. Those that `plain` files cannot contain are bad."""
    for entry in bad.track(entries_of_model(aligner)):
        found = find_split_word([entry.source], [entry.target]) if plain else None
        if found is None:
            yield entry
        else:
            _, problem = found
            bad.add_cut(problem, model)
