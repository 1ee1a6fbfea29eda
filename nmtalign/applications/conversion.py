"""Conversion of files of links from one format to another.

:func:`convert` stops at the first bad record; the command may report bad records and go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nmtalign.applications.markup import TaggedSegments
from nmtalign.corpus.unit_fit import LinksCheck
from nmtalign.errors import BadRecords, DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path
from nmtalign.files.text_files import find_split_word, split_spaces
from nmtalign.links.alignments import GoldAlignment
from nmtalign.links.formats import (
    WORD_COUNT_ADVICE,
    WORD_SEPARATORS,
    LinkRecord,
    format_gold,
    format_record,
    parse_gold,
    read_link_records,
)
from nmtalign.links.saved_tables import is_batch_file
from nmtalign.names import (
    LINKED_FILES,
    READ_LINKS,
    SIDES,
    WRITTEN_LINKS,
    LinkedFileFormat,
    ReadLinksFormat,
    WrittenLinksFormat,
)
from nmtalign.text.bitext import read_bitext
from nmtalign.validation import check_bool, check_choice, check_select

WordsOfPair = Callable[[tuple[str, str]], tuple[list[str], list[str]]]


@dataclass(frozen=True)
class TextsOfLinks:
    """The texts that links belong to, or the TMX or XLIFF file with both."""

    source: str
    target: str | None


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A file of links or posteriors, its format, and the format to write."""

    links: str
    format: ReadLinksFormat | LinkedFileFormat
    to: WrittenLinksFormat | LinkedFileFormat
    texts: TextsOfLinks | None = None
    select: tuple[str, str] | None = None  # languages of a TMX file
    encoding: str = "utf-8"
    invert: bool = False  # whether source and target are swapped
    words_of: WordsOfPair  # splits the lines of texts
    given: Iterator[LinkRecord] | None = None  # instead of those in the file

    def __post_init__(self) -> None:
        target = None if self.texts is None else self.texts.target
        if self.to in LINKED_FILES:
            if self.texts is None or target is not None or self.invert:
                copied = f"`to={self.to}` copies a file with both sides, which `source` names"
                raise UsageError(f"{copied}, without `target` and `invert`")
        elif self.texts is not None and target is None:
            raise UsageError("`source` and `target` are the texts of both sides; pass both")
        if self.select is not None and "tmx" not in (self.format, self.to):
            raise UsageError("`select` chooses the languages of a TMX file, and there is none; remove it")

    def write(self, path: str | Path, files: AtomicFiles, bad: BadRecords) -> None:
        """Write the file of the other format."""
        if self.texts is None or self.to not in LINKED_FILES:
            files.text(path).writelines(self.lines(bad))
            return
        segments = TaggedSegments(self.texts.source, self.to, self.select, files.binary(path).write)
        words = map(self.words_of, segments.pairs(bad.add))
        for record in bad.track(self._with_words(self._read(bad), words, bad)):
            segments.set_links("" if bad.has_current else format_gold(record.gold))

    def lines(self, bad: BadRecords) -> Iterator[str]:
        """Yield the lines of each record, without words and links if the format cannot contain its words."""
        separator = WORD_SEPARATORS.get(self.to)
        for number, record in enumerate(bad.track(self._records(bad)), 1):
            if bad.has_current and record.source is None:
                record = LinkRecord(GoldAlignment((), ()), (), ())
            if separator is not None and record.source is not None and record.target is not None:
                split_word = find_split_word(record.source, record.target, separator)
                if split_word is not None:
                    side, problem = split_word
                    bad.add_cut(problem, *self._place_of_words(number, side))
                    record = LinkRecord(GoldAlignment((), ()), (), ())
            if self.invert:
                record = _inverted(record)
            yield format_record(record, format=self.to, number=number)

    def _records(self, bad: BadRecords) -> Iterator[LinkRecord]:
        """Return the records of the links, with the words of the texts if these are given."""
        records = self._read(bad)
        if self.texts is None:
            return records
        pairs = read_bitext(self.texts.source, self.texts.target, encoding=self.encoding, on_error=bad.add)
        return self._with_words(records, map(self.words_of, pairs), bad)

    def _read(self, bad: BadRecords) -> Iterator[LinkRecord]:
        if self.given is not None:
            return self.given
        if self.format in LINKED_FILES:
            return self._read_segments(bad)
        return read_link_records(self.links, format=self.format, encoding=self.encoding, on_error=bad.add)

    def _read_segments(self, bad: BadRecords) -> Iterator[LinkRecord]:
        """Yield the links in a TMX or XLIFF file, with the words of each pair; DataError if it has none."""
        segments = TaggedSegments(self.links, self.format, self.select, lambda part: None)
        has_links = False
        number = 0
        for number, texts in enumerate(segments.pairs(bad.add), 1):
            has_links |= segments.links is not None
            record = LinkRecord(GoldAlignment((), ()), (), ())
            try:
                source, target = self.words_of(texts)
                record = LinkRecord(parse_gold(segments.links or ""), tuple(source), tuple(target))
            except DataError as error:
                problem = DataError(f"pair {number:,}: {error}; put the links into the file again")
                bad.add(problem.at(self.links, line=segments.line))
            yield record
        if number and not has_links:
            found = "found none"
            if self.format == "tmx":
                found = f"found no prop {segments.type_of_prop}; `select` names the languages in its order"
            expected = f"expected links, as `nmtalign convert --to {self.format}` writes them"
            raise DataError(f"{expected}, {found}").at(self.links)

    def _with_words(
        self,
        records: Iterator[LinkRecord],
        words: Iterator[tuple[list[str], list[str]]],
        bad: BadRecords,
    ) -> Iterator[LinkRecord]:
        """Put the words of the texts into the records; those of NAACL may end early."""
        no_links = GoldAlignment((), ())
        padding = LinkRecord(no_links) if self.format == "naacl" else None
        check = LinksCheck(self.links)
        is_saved = is_batch_file(self.links)
        pairs = 0
        for pairs, (source, target) in enumerate(words, 1):
            record = next(records, padding)
            if record is None:
                expected = "expected links for each pair of the texts"
                raise DataError(f"{expected}, found only {pairs - 1} in {self.links}")
            with_words = LinkRecord(no_links, tuple(source), tuple(target))
            if not bad.has_current:
                try:
                    with_words = replace(with_words, gold=record.gold, unit=record.unit)
                    self._check_unit(record)
                    _check_same_words(record, with_words, is_saved)
                    check.add(pairs, record.gold.possible, source, target)
                except DataError as error:
                    bad.add(DataError(f"pair {pairs}: {error}; {WORD_COUNT_ADVICE}").at(self.links))
            yield with_words
        if next(records, None) is not None:
            raise DataError(f"expected links for the {pairs} pairs of the texts, found more in {self.links}")
        check.finish()

    def _check_unit(self, record: LinkRecord) -> None:
        """Raise DataError if links of sub-words without these would get into a file of lines."""
        if self.to in LINKED_FILES and record.source is None and record.unit not in (None, "words"):
            raise DataError(f"expected links of space-separated words, found links of {record.unit}")

    def _place_of_words(self, number: int, side: int) -> tuple[str, int | None]:
        """Return the file and the line with the words of a side of a record."""
        if self.texts is not None:
            return str((self.texts.source, self.texts.target)[side]), number
        if self.format == "giza":  # three lines per pair, in any order
            return f"{self.links}, pair {number:,}", None
        return self.links, number


def _inverted(record: LinkRecord) -> LinkRecord:
    sure, possible = ([(t, s) for s, t in links] for links in (record.gold.sure, record.gold.possible))
    gold = GoldAlignment(sure, possible)
    return replace(record, gold=gold, source=record.target, target=record.source)


def _check_same_words(record: LinkRecord, of_texts: LinkRecord, is_saved: bool) -> None:
    """Raise DataError if the words of the link file differ from those of the texts, such as sub-words.

    Those of a saved batch have to be the same; those of other files may be normalized.
    """
    for side in SIDES:
        of_file, of_text = getattr(record, side), getattr(of_texts, side)
        if of_file is not None and len(of_file) != len(of_text):
            unit = "words" if record.unit is None else record.unit
            found = f"found {len(of_text):,} words in the text"
            raise DataError(f"expected the {len(of_file):,} {side} {unit} of the links, {found}")
    if is_saved and not record.has_words(of_texts.source or (), of_texts.target or ()):
        expected, found = (" ".join(words or ())[:80] for words in (of_texts.source, record.source))
        raise DataError(f"expected links of {expected!r}, found links of {found!r}")


def _split_at_spaces(pair: tuple[str, str]) -> tuple[list[str], list[str]]:
    source, target = pair
    return split_spaces(source), split_spaces(target)


def convert(
    links: str | Path,
    path: str | Path,
    *,
    format: ReadLinksFormat | LinkedFileFormat,
    to: WrittenLinksFormat | LinkedFileFormat,
    source: str | Path | None = None,
    target: str | Path | None = None,
    select: tuple[str, str] | None = None,
    encoding: str = "utf-8",
    invert: bool = False,
) -> None:
    """Rewrite a file of links in another format.

    Parameters
    ----------
    links : str or Path
        The file of links, which may be compressed.
    path : str or Path
        The file to write. It appears when it is complete.
    format : {"pharaoh", "talp", "naacl", "giza", "tsv", "jsonl", "tmx", "xliff"}
        The format of `links`.
    to : {"pharaoh", "talp", "naacl", "giza", "tsv", "jsonl", "words", "tmx", "xliff"}
        The format to write. GIZA, words and TSV contain words, too. TMX and XLIFF are copies of the file
        `source`, with the links of its pairs in it.
    source, target : str or Path, optional
        The texts, if `links` has no words and `to` needs them, or if NAACL links end before the text does.
        Words are separated by spaces.
    select : (str, str), optional
        Languages of a TMX file that has more than two.
    encoding : str
        Encoding of the files that are read.
    invert : bool
        Swap source and target in what is written; `source` and `target` remain the texts of `links`.

    Raises
    ------
    DataError
        With file and line, where a file is not of its format, or does not fit the texts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gold = pathlib.Path(folder, "gold.talp")
    ...     _ = gold.write_text("1-1 2-3\\n", encoding="utf-8")
    ...     convert(gold, f"{folder}/gold.txt", format="talp", to="pharaoh")
    ...     pathlib.Path(folder, "gold.txt").read_text(encoding="utf-8")
    '0-0 1-2\\n'
    """
    check_choice(format, (*READ_LINKS, *LINKED_FILES), "formats of links to read")
    check_choice(to, (*WRITTEN_LINKS, *LINKED_FILES), "formats of links to write")
    if source is None and target is not None:
        raise UsageError("`source` and `target` are the texts of both sides; pass both")
    texts = None
    if source is not None:
        texts = TextsOfLinks(str(as_path(source)), None if target is None else str(as_path(target)))
    check_bool(invert, "invert")
    conversion = Conversion(
        links=str(as_path(links)),
        format=format,
        to=to,
        texts=texts,
        select=check_select(select),
        encoding=encoding,
        invert=invert,
        words_of=_split_at_spaces,
    )
    with AtomicFiles() as files:
        conversion.write(as_path(path), files, BadRecords())
