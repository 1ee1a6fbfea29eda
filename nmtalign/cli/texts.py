"""The texts that a command reads (SOURCE and TARGET, or ``--pairs``), how they are tokenized, and LINKS."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import click

import nmtalign as na
from nmtalign.cli.parameter_types import FileType, TwoNames
from nmtalign.declarations import Settings, argument, setting
from nmtalign.errors import DataError, OnError, UsageError
from nmtalign.files.compressed import format_ending
from nmtalign.files.paths import expand_home, fingerprint, resolve_path
from nmtalign.files.sniffing import CONLLU_ENDING, SUBTITLE_ENDINGS
from nmtalign.files.text_files import check_encoding, zip_lines
from nmtalign.names import ReadLinksFormat
from nmtalign.settings import WordSettings
from nmtalign.text.bitext import SentencePair
from nmtalign.text.languages import known_language
from nmtalign.text.readers import FORMAT_OF_ENDING
from nmtalign.text.tokenization import SPACE_SETTINGS, TextSettings
from nmtalign.text.xml_bitexts import languages_of_memory

if TYPE_CHECKING:
    from nmtalign.applications.linked_pairs import LinkedPair
    from nmtalign.corpus.units import LinkUnit
    from nmtalign.errors import BadRecords

_SIDES = TwoNames("two names such as 1,2 or en,fr")


def _checked_encoding(context: click.Context, parameter: click.Parameter, name: str) -> str:
    check_encoding(name)
    return name


def encoding_option(*, of_vectors: bool = False) -> Any:
    """Declare ``--encoding``; the reader of vectors checks the name itself because it also accepts UTF-16."""
    help = "Encoding of all text files that are read."
    check = None if of_vectors else _checked_encoding
    return setting("utf-8", "--encoding NAME", help, callback=check, section="Input")


def sides_option(file: str) -> Any:
    """Declare ``--sides`` of a file with both sides."""
    help = f"Columns, keys or languages of source and target in {file}."
    return setting(None, "--sides A,B", help, type=_SIDES, section="Input")


def length_option(effect: str) -> Any:
    """Declare ``--max-length``; `effect` is what the command does with long pairs."""
    help = f"{effect} pairs with more than N tokens on a side."
    return setting(None, "--max-length N", help, minimum=1, section="Input")


def languages_option() -> Any:
    """Declare ``--langs``."""
    help = "Source and target language, such as en,fr."
    return setting(None, "--langs XX,YY", help, kind="languages", section="Input")


@dataclass(frozen=True, kw_only=True)
class PairsOptions(Settings):
    """One file with both sides."""

    section = "Input"

    pairs: str | None = setting(
        None, "--pairs FILE", "Read both sides from one FILE instead of two texts.", kind="input"
    )
    sides: tuple[str, str] | None = sides_option("--pairs")
    encoding: str = encoding_option()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sides is not None and self.pairs is None:
            raise UsageError("--sides requires --pairs FILE, one file with both sides; add it")

    def with_languages_of(self, model: str | None) -> Self:
        """Return the options with the languages of a model as sides, if a translation memory has both."""
        from nmtalign.state import languages_of_model

        if self.pairs is None or FORMAT_OF_ENDING.get(format_ending(self.pairs)) != "tmx":
            return self
        if model is None or self.sides is not None:
            return self
        source, target = languages_of_model(resolve_path(model))
        if source is None or target is None:
            return self
        languages = languages_of_memory(self.pairs, preferred=(source, target))
        return replace(self, sides=languages) if languages == (source, target) else self

    def open_file(self, on_error: OnError | None = None, *, unescape: bool = False) -> na.Bitext | None:
        """Return the bitext of ``--pairs``; None if the option was not given."""
        if self.pairs is None:
            return None
        return na.read_bitext(
            self.pairs,
            select=self.sides,
            encoding=self.encoding,
            unescape=unescape,
            on_error=on_error,
        )

    def read_file(self, on_error: OnError | None = None) -> Iterator[SentencePair] | None:
        """Yield the sentence pairs of ``--pairs``; return None if the option was not given."""
        bitext = self.open_file(on_error)
        return None if bitext is None else iter(bitext)


def advice_on_pairs(path: str | None) -> str:
    """Return how to name a file with both sides, if a path has its ending."""
    if path is None or format_ending(path) not in FORMAT_OF_ENDING:
        return ""
    return f"for a file with both sides write --pairs {path}"


@dataclass(frozen=True, kw_only=True)
class BitextOptions(PairsOptions):
    """Two files, or one with both sides."""

    source: str | None = argument(kind="input", required=False)
    target: str | None = argument(kind="input", required=False)
    unescape: bool = setting(False)

    @property
    def files(self) -> list[str]:
        """The files of the bitext: those of both sides, or the one with both."""
        return [path for path in (self.source, self.target, self.pairs) if path is not None]

    def place(self, number: int, side: int) -> tuple[str, int | None]:
        """Return the file of a side of a pair, and its line, or with the file the number of the pair.

        Subtitles have the number of the cue in the place of a line, CoNLL-U that of the sentence.
        """
        if self.pairs is None:
            sides = str(self.source), str(self.target)
            endings = set(map(format_ending, sides))
            if endings <= set(SUBTITLE_ENDINGS):
                from nmtalign.text.paired_files import name_cues

                return f"{sides[side]}, {name_cues(*sides, self.encoding, number, side)}", None
            if endings == {CONLLU_ENDING}:
                return f"{sides[side]}, sentence {number:,}", None
            return sides[side], number
        if FORMAT_OF_ENDING.get(format_ending(self.pairs)) in ("fast-align", "jsonl"):
            return self.pairs, number
        return f"{self.pairs}, pair {number:,}", None

    def read(self, on_error: OnError | None = None) -> Iterator[SentencePair]:
        """Yield the sentence pairs of two files, or of one with both sides."""
        return iter(self.open(on_error))

    def open(self, on_error: OnError | None = None) -> na.Bitext:
        """Return the bitext of two files, or of one with both sides."""
        pairs = self.open_file(on_error, unescape=self.unescape)
        if pairs is not None and self.source is None:
            return pairs
        if pairs is not None or self.source is None or self.target is None:
            advice = "" if pairs is not None else advice_on_pairs(self.source)
            raise UsageError("; ".join(filter(None, ("expected SOURCE and TARGET, or --pairs FILE", advice))))
        for name in (self.source, self.target):
            if " " in name.strip() and not os.path.exists(name):
                found = f"expected the name of a file, found {name[:80]!r}, which does not exist"
                advice = "`nmtalign heatmap` takes two sentences, other commands take two files"
                raise UsageError(f"{found}; {advice}")
        return na.read_bitext(
            self.source,
            self.target,
            encoding=self.encoding,
            unescape=self.unescape,
            on_error=on_error,
        )


@dataclass(frozen=True, kw_only=True)
class EscapedBitextOptions(BitextOptions):
    """The same files, whose text may have the escapes of Moses."""

    unescape: bool = setting(False, "--unescape", "Decode the escapes of Moses, such as &apos;.")


def languages_of_files(source: str | None, target: str | None) -> tuple[str, str]:
    """Return ``en, fr`` for files like train.en.gz and train.fr.gz, else ``source, target``."""
    endings = [re.search(r"\.([a-z]{2,3})(\.(gz|bz2|xz|zst))?$", path or "") for path in (source, target)]
    names = [match.group(1) for match in endings if match]
    return (names[0], names[1]) if len(set(names)) == 2 else ("source", "target")


def languages_in_paths(source: str | None, target: str | None) -> tuple[str, str]:
    """Return the languages of :func:`languages_of_files`, or those in which two paths differ.

    >>> languages_in_paths("en/news.txt", "fr/news.txt"), languages_in_paths("a.en.txt", "b.fr.txt")
    (('en', 'fr'), ('source', 'target'))
    """
    names = languages_of_files(source, target)
    source_parts, target_parts = (re.split(r"[\W_]+", path or "") for path in (source, target))
    if names != ("source", "target") or len(source_parts) != len(target_parts):
        return names
    both = zip(source_parts, target_parts, strict=True)
    different = [(first, second) for first, second in both if first != second]
    if len(different) != 1:
        return names
    first, second = map(known_language, different[0])
    return names if first is None or second is None else (first, second)


# --- words and their links -----------------------------------------------------------------------


class LinkedLine(NamedTuple):
    """One line of a linked bitext: the sentences as they are in the files, and their words with links."""

    lines: SentencePair
    pair: LinkedPair


@dataclass(frozen=True)
class LinkedText:
    """A bitext, and a file of the links of its space-separated words, or of their posteriors."""

    bitext: BitextOptions
    links: str
    text_settings: TextSettings
    format: ReadLinksFormat = "pharaoh"

    @property
    def files(self) -> list[str]:
        """The files of the bitext, and that of the links."""
        return [*self.bitext.files, self.links]

    def read(
        self,
        bad: BadRecords,
        *,
        separator: str | None = None,
        pairs: Iterator[SentencePair] | None = None,
    ) -> Iterator[LinkedLine]:
        """Yield the sentence pairs with their links, one for each pair and line of links.

        `pairs` are those of the bitext, if the caller has opened it. With a `separator`, pairs are bad if a
        word cannot be written into a plain file that has it between words; "" stands for a file of white
        space alone. Bad pairs have no words.
        """
        from nmtalign.applications.linked_pairs import LinkedPair
        from nmtalign.corpus.unit_fit import LinksCheck
        from nmtalign.links.formats import read_link_records

        bitext = self.bitext
        records = read_link_records(
            self.links, format=self.format, encoding=bitext.encoding, on_error=bad.add
        )
        columns = pairs or bitext.read(bad.add), records
        lines = bad.track(zip_lines(columns, (bitext.files[0], self.links)))
        empty = LinkedPair([], [], na.Alignment((), 0, 0))
        check = LinksCheck(self.links, on_error=lambda number, error: bad.add(error))
        for number, (pair, record) in enumerate(lines, 1):
            words = None if bad.has_current else self._words_of_pair(pair, number, bad, separator)
            if words is not None:
                links = check.inside(number, record.gold.possible, *words)  # of the sure ones, too
                if not bad.has_current and not record.has_words(*words):
                    found = " ".join(record.source or ())
                    expected = f"expected links of {pair.source[:80]!r}, found links of {found[:80]!r}"
                    bad.add(DataError(f"{expected}; align this text again").at(self.links, line=number))
            if words is None or bad.has_current:
                yield LinkedLine(pair._replace(source="", target=""), empty)
                continue
            source, target = words
            alignment = na.Alignment(links, len(source), len(target))
            yield LinkedLine(pair, LinkedPair(source, target, alignment))
        check.finish()

    def _words_of_pair(
        self,
        pair: SentencePair,
        number: int,
        bad: BadRecords,
        separator: str | None,
    ) -> tuple[list[str], list[str]] | None:
        """Return the words of both sides; None for a bad pair."""
        from nmtalign.files.text_files import find_split_word

        try:
            source, target = self.text_settings.words_of_pair(pair)
        except DataError as error:  # a side is too long
            bad.add(error.at(" and ".join(self.bitext.files), line=number))
            return None
        if separator is not None and (cut := find_split_word(source, target, separator)):
            side, problem = cut
            bad.add_cut(problem, *self.bitext.place(number, side))
            return None
        return source, target


@dataclass(frozen=True, kw_only=True)
class LinkedOptions(PairsOptions):
    """A bitext, and the links of its words: SOURCE TARGET LINKS, or with --pairs LINKS alone."""

    source: str | None = argument(kind="input", required=False)
    target: str | None = argument(kind="input", required=False)
    links: str | None = argument(kind="input", required=False)

    @property
    def arguments(self) -> list[str]:
        """The files that are named without an option."""
        return [path for path in (self.source, self.target, self.links) if path is not None]

    @property
    def has_links(self) -> bool:
        """Whether LINKS are among the arguments."""
        return len(self.arguments) == (3 if self.pairs is None else 1)

    def bitext(self) -> BitextOptions:
        """Return the bitext without its links."""
        is_links_alone = self.pairs is not None and self.has_links  # so SOURCE is the name of LINKS
        sides = (None, None) if is_links_alone else (self.source, self.target)
        return BitextOptions(
            source=sides[0], target=sides[1], pairs=self.pairs, sides=self.sides, encoding=self.encoding
        )

    def text(self, *, lowercase: bool = False) -> LinkedText:
        """Return the bitext with its links; UsageError if a file is missing, or one too many."""
        links = self.links
        if self.pairs is not None:
            if len(self.arguments) != 1:
                raise UsageError("expected LINKS alone with --pairs FILE, which has both sides")
            links = self.source
        if links is None:
            given = {"SOURCE": self.source, "TARGET": self.target, "LINKS": links}
            missing = " and ".join(name for name, path in given.items() if path is None)
            expected = "expected SOURCE TARGET LINKS, or --pairs FILE LINKS"
            raise UsageError(f"{expected}; {advice_on_pairs(self.source) or f'add {missing}'}")
        return LinkedText(self.bitext(), links, SPACE_SETTINGS.updated(WordSettings(lowercase=lowercase)))


# --- the unit that positions in links count ------------------------------------------------------


class SubwordModels(FileType):
    """The sub-word model of both sides, or one for each, with a comma between."""

    def with_home(self, value: str) -> str:
        return ",".join(expand_home(file) if file else file for file in value.split(","))

    def paths(self, value: str) -> list[str]:
        return value.split(",")


def count_option(default: str) -> Any:
    """Declare ``--count``."""
    return setting(None, "--count", f"Unit of the positions in links.  {default}", section="Output")


def spm_option() -> Any:
    """Declare ``--spm``."""
    return setting(
        None,
        "--spm SRC[,TGT]",
        "Sub-word models (sentencepiece, tokenizer.json) that split raw lines; positions in links count"
        " their pieces.",
        type=SubwordModels(writes=False),
        section="Output",
    )


def pieces_option() -> Any:
    """Declare ``--pieces`` of a text whose sub-words are joined into words before it is aligned."""
    help = "Join sub-words with these marks into words before the lines are aligned."
    return setting(None, "--pieces", help, section="Input")


def describe_unit(unit: LinkUnit) -> dict[str, object]:
    """Return the settings, besides the aligner, on which the links of a run in shards depend."""
    from pathlib import Path

    models = [fingerprint(Path(model))["sha256"] for model in unit.models or ()]
    return {"count": unit.name, "pieces": unit.marks, "subword_models": models, "spaces": unit.spaces}


def without_space_marks(
    pairs: Iterable[Any], unit: LinkUnit, bitext: BitextOptions, bad: BadRecords
) -> Iterator[Any]:
    """Yield the pairs of a bitext; those with the mark of spaces in a line are bad, and empty."""
    if unit.spaces is None:
        yield from pairs
        return
    for number, pair in enumerate(pairs, 1):
        sides = [side for side in (0, 1) if unit.spaces in pair[side]]
        if sides:
            path, line = bitext.place(number, sides[0])
            found = f"the line has {unit.spaces!r}, which would become a space"
            bad.add(DataError(f"{found}; replace it in the text").at(path, line=line))
            pair = SentencePair("", "")
        yield pair
