"""Sentence pairs: read from files, and checked if they come from the caller.

The format ``moses`` is two files: line n of one is the translation of line n of the other. The other formats
are in `readers`. A file may be compressed (.gz .bz2 .xz .zst) or ``-``. Line ends inside a record become
spaces. A record that does not parse is an error with its place, or with `on_error` an empty pair, so that no
pair is shifted.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard, overload

from nmtalign.display import name_pair, short_repr, single_line, with_plural
from nmtalign.errors import DataError, OnError, UsageError, warn_caller
from nmtalign.files.compressed import format_ending
from nmtalign.files.paths import expand_home
from nmtalign.files.sniffing import CONLLU_ENDING, SUBTITLE_ENDINGS, check_sentences
from nmtalign.files.text_files import (
    UnequalLinesError,
    check_encoding,
    is_encodable,
    read_lines,
    try_lines,
    without_line_end,
    zip_lines,
)
from nmtalign.names import PairFormat, Side
from nmtalign.text.containers import (
    CellFault,
    PairOrError,
    SideNames,
    as_table,
    check_cells,
    choose_sides,
    keys_of_sides,
    pair_or_error,
    record_rows,
    repair_cell,
    repair_rows,
    words_of_doc,
)
from nmtalign.text.headers import find_side_columns, language_of_column
from nmtalign.text.punctuation import unescape_moses
from nmtalign.text.readers import (
    FORMAT_OF_ENDING,
    PAIR_FILE_FORMATS,
    languages_of_sides,
    read_pair_records,
)
from nmtalign.text.tokenization import SPACE_SETTINGS, Languages, TextSettings
from nmtalign.validation import (
    check_bool,
    check_choice,
    check_same_index,
    check_select,
    is_iterable,
    normalize_index,
    reject_exhausted,
    selected_indices,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


Words = Sequence[str]
Sentence = str | Words
Pair = tuple[Sentence, Sentence]
Pairs = Iterable[Pair] | tuple[Sequence[Sentence], Sequence[Sentence]] | Any  # Any: tables and records
ColumnName = str | int | None  # of a table, or a key of records
Sentences = Iterable[Sentence]  # all sentences of one side
Track = Callable[[Iterable[Any]], Iterator[Any]]  # yields the records of a file


class SentencePair(NamedTuple):
    """One record of a bitext: two lines, unchanged."""

    source: str
    target: str


def read_bitext(
    source: str | Path,
    target: str | Path | None = None,
    *,
    format: Literal["auto", "moses"] | PairFormat = "auto",
    encoding: str = "utf-8",
    select: tuple[str | int, str | int] | None = None,
    unescape: bool = False,
    on_error: OnError | None = None,
) -> Bitext:
    """Open a bitext: its sentence pairs in order, one for each record, read when you iterate over them.

    Parameters
    ----------
    source : str or Path
        The source side, or the file that contains both sides; ``-`` is standard input.
    target : str or Path, optional
        The target side of a two-file bitext.
    format : str
        ``moses`` (two files, of lines, CoNLL-U or subtitles), ``fast-align``, ``tsv``, ``csv``, ``jsonl``,
        ``tmx``, ``xliff``, ``po``, ``po-fuzzy`` or ``parquet``. ``auto`` goes by the ending of the name, then
        by the first line.
    encoding : str
        Encoding of text files. A byte order mark overrides it; XML files declare their own encoding, and
        Parquet is always UTF-8.
    select : (str or int, str or int), optional
        The location of the two sides: columns of a TSV or CSV, counted from 1 or named by its first line;
        keys of JSON objects (``a.b`` for b inside a), languages of a TMX, columns of a Parquet file. Without
        it, the first line of a TSV or CSV is a header if it has usual names of both sides, such as
        ``source,target`` or ``en,fr``.
    unescape : bool
        Decode the escapes of Moses, such as ``&apos;``. Space-separated words keep their positions.
    on_error : callable, optional
        Called with the error of a record that does not parse; an empty pair takes its place.
        Without it the error is raised. Units of a TMX that lack a language are not bad records: they give no
        pair, and a warning counts them.

    Raises
    ------
    DataError
        A record that does not parse, with file and line; two files of different length, with both counts.
    UsageError
        An unknown encoding or format.

    Warns
    -----
    NmtalignWarning
        A first line that may or may not be a header; units or messages that are not read as they are; a file
        that seems to contain both sides where one side was expected.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.txt"
    ...     _ = path.write_text("the cat ||| le chat\\n", encoding="utf-8")
    ...     list(read_bitext(path))
    [SentencePair(source='the cat', target='le chat')]
    """
    check_encoding(encoding)
    if not (on_error is None or callable(on_error)):
        raise UsageError(
            f"expected a function that takes an error as `on_error`, found {short_repr(on_error)}"
        )
    check_choice(format, ("auto", *PAIR_FILE_FORMATS), "bitext formats")
    check_bool(unescape, "unescape")
    sides = check_select(select)
    files = [expand_home(path) for path in ((source,) if target is None else (source, target))]
    read: Callable[[], Iterator[PairOrError]]
    find_languages: Callable[[], Languages] | None = None
    read_sides: Callable[[Track], UnpairedLines] | None = None
    if target is not None:
        if format not in ("auto", "moses"):
            advice = "pass one file, or use `format=moses`"
            raise UsageError(f"the format {format!r} reads one file, found two; {advice}")
        if select is not None:
            raise UsageError(f"`select` chooses the sides of one file, found two files: {short_repr(select)}")
        read = partial(_read_two_files, files[0], files[1], encoding)
        if not {CONLLU_ENDING, *SUBTITLE_ENDINGS} & set(map(format_ending, files)):
            read_sides = partial(_read_sides, files[0], files[1], encoding, on_error, unescape)
    elif format == "moses":
        raise UsageError("the format 'moses' reads two files, found one; pass both")
    else:
        named_by_ending = FORMAT_OF_ENDING.get(format_ending(files[0]), "auto")
        read_as = named_by_ending if format == "auto" else format
        read = partial(read_pair_records, files[0], read_as, encoding, sides)
        find_languages = partial(languages_of_sides, files[0], read_as, sides)
    return FileBitext(files, partial(_raise_or_report, read, on_error, unescape), find_languages, read_sides)


class Bitext(Sequence[SentencePair]):
    """The sentence pairs of one or two files, or in memory.

    :func:`nmtalign.read_bitext` opens the pairs of files; each iteration reads the files again. ``len``,
    ``bitext[n]``, ``bitext[3:9]`` and :meth:`frame` load the pairs, which stay in memory. An index that is
    out of range is an IndexError.

    Parameters
    ----------
    pairs : iterable of (source, target), (list, list), table, or records
        Lines of text; for tables and records see :func:`nmtalign.train`.
    targets : sequence of str, optional
        The target sentences, if `pairs` are the source sentences.
    source, target : str or int, optional
        The columns of a table, or the keys of records.

    Raises
    ------
    DataError
        If an item is not a pair of lines.
    UsageError
        At the second iteration over standard input, which can be read only once, unless it is in memory.

    Examples
    --------
    >>> Bitext(["the cat", "a dog"], ["le chat", "un chien"])
    Bitext of 2 pairs
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.tsv"
    ...     _ = path.write_text("the cat\\tle chat\\na dog\\tun chien\\n", encoding="utf-8")
    ...     bitext = read_bitext(path)
    ...     len(bitext), bitext[-1].target, bitext[:1]
    (2, 'un chien', Bitext of 1 pair from pairs.tsv)
    """

    frame_index: pd.Index | None = None  # index of the DataFrame that the pairs come from
    _pairs: list[SentencePair]
    _languages: Languages

    def __init__(
        self,
        pairs: Pairs,
        targets: Sentences | None = None,
        *,
        source: ColumnName = None,
        target: ColumnName = None,
    ) -> None:
        checked = read_pairs(pairs, targets, source=source, target=target, lines=True)
        self.frame_index = checked.frame_index
        self._pairs = [SentencePair(str(pair[0]), str(pair[1])) for pair in checked.pairs]
        self._languages = named_languages(pairs, targets, source=source, target=target)

    def __repr__(self) -> str:
        return f"Bitext of {with_plural(len(self), 'pair')}"

    def __iter__(self) -> Iterator[SentencePair]:
        return iter(self._pairs)

    def __eq__(self, other: object) -> bool:
        """Return whether another bitext has the same pairs and the same index; both are loaded."""
        if self is other:
            return True
        if not isinstance(other, Bitext):
            return NotImplemented
        if self.frame_index is None or other.frame_index is None:
            same_index = self.frame_index is other.frame_index
        else:
            same_index = self.frame_index.equals(other.frame_index)
        return same_index and self._pairs == other._pairs

    def __hash__(self) -> int:
        return hash(tuple(self._pairs))

    def __len__(self) -> int:
        return len(self._pairs)

    @overload
    def __getitem__(self, n: int) -> SentencePair: ...

    @overload
    def __getitem__(self, n: slice | list[int] | NDArray[Any]) -> Bitext: ...

    def __getitem__(self, n: int | slice | list[int] | NDArray[Any]) -> SentencePair | Bitext:
        numbers = selected_indices(n, len(self), self.frame_index)
        if numbers is None:
            return self._pairs[normalize_index(n, len(self))]
        part = copy.copy(self)
        part._pairs = [self._pairs[number] for number in numbers]
        if self.frame_index is not None:
            part.frame_index = self.frame_index[list(numbers)]
        return part

    def frame(self) -> pd.DataFrame:
        """Return the pairs as a DataFrame with the columns ``source`` and ``target``.

        It has the index of the DataFrame that the pairs come from.
        """
        import pandas as pd

        return pd.DataFrame(self._pairs, self.frame_index, list(SentencePair._fields))


class FileBitext(Bitext):
    """The pairs of files: each iteration reads the files, until the pairs are in memory."""

    def __init__(
        self,
        files: Sequence[str],
        read: Callable[[], Iterator[SentencePair]],
        find_languages: Callable[[], Languages] | None,  # of a file with both sides
        read_sides: Callable[[Track], UnpairedLines] | None,  # of two files of lines
    ) -> None:
        self._files = files
        self._read = read
        self._find_languages = find_languages
        self._read_sides = read_sides
        self._begun = False

    @property
    def _is_loaded(self) -> bool:
        return "_pairs" in vars(self)

    @cached_property
    def _pairs(self) -> list[SentencePair]:  # type: ignore[override]
        return list(iter(self))

    @property
    def _languages(self) -> Languages:  # type: ignore[override]
        return (None, None) if self._find_languages is None else self._find_languages()

    def __repr__(self) -> str:
        text = super().__repr__() if self._is_loaded else "Bitext"
        return single_line(f"{text} from {' and '.join(Path(file).name for file in self._files)}")

    def __iter__(self) -> Iterator[SentencePair]:
        """Yield the pairs.

        Whether they are loaded is asked when the first one is needed, because ``list`` first calls ``len``,
        which may load them.
        """
        if self._is_loaded:
            yield from self._pairs
            return
        if self._begun and "-" in self._files:
            raise UsageError("standard input can be read only once; write it to a file first")
        self._begun = True
        yield from self._read()

    def unpaired_lines(self, track: Track) -> UnpairedLines | None:
        """Read the lines of both sides, whose numbers may differ; None if the files have only pairs."""
        return None if self._read_sides is None or self._is_loaded else self._read_sides(track)


def _raise_or_report(
    read: Callable[[], Iterator[PairOrError]], on_error: OnError | None, unescapes: bool
) -> Iterator[SentencePair]:
    """Raise the errors among the records, or replace them with empty pairs and call `on_error`."""
    for record in read():
        if not isinstance(record, DataError):
            yield SentencePair(*map(unescape_moses, record)) if unescapes else SentencePair(*record)
        elif on_error is None:
            raise record
        else:
            on_error(record)
            yield SentencePair("", "")


def _read_sides(
    source: str | Path,
    target: str | Path,
    encoding: str,
    on_error: OnError | None,
    unescapes: bool,
    track: Track,
) -> UnpairedLines:
    """Return the lines of two files, whose numbers may differ."""
    sides: list[list[str]] = []
    for path in (source, target):
        inspect = partial(_inspect_side, path)
        lines = list(track(read_lines(path, encoding=encoding, on_error=on_error, inspect=inspect)))
        sides.append(list(map(unescape_moses, lines)) if unescapes else lines)
    return UnpairedLines(sides[0], sides[1])


class UnpairedLines(NamedTuple):
    """The lines of both sides of a text, whose numbers may differ."""

    source: list[str]
    target: list[str]
    frame_index: pd.Index | None = None  # index of the DataFrame that they come from
    faults: Sequence[CellFault] = ()  # missing cells, which are empty lines, and line breaks, now spaces


def lines_of_sides(
    pairs: Pairs,
    targets: Sentences | None = None,
    *,
    source: ColumnName = None,
    target: ColumnName = None,
    languages: Languages = (None, None),
    track: Track = iter,
) -> UnpairedLines:
    """Return the lines of both sides; two files, or two sequences, may have different numbers of lines.

    For the containers see :func:`read_pairs`. `track` yields the records of a file, and may count them.
    Missing cells and line breaks are not errors, but `faults` of the result.
    """
    names = SideNames(source, target, languages)
    faults: list[CellFault] = []
    if targets is None and not names.are_given:
        unpaired = pairs.unpaired_lines(track) if isinstance(pairs, FileBitext) else None
        if unpaired is not None:
            return unpaired
        if isinstance(pairs, tuple) and len(pairs) == 2 and all(isinstance(side, list) for side in pairs):
            pairs, targets = pairs
    if targets is not None:
        _check_no_columns(names, "the sentences of both sides")
        source_lines = _check_lines(pairs, "source", faults)
        target_lines = _check_lines(targets, "target", faults)
        return UnpairedLines(source_lines, target_lines, _shared_index(pairs, targets), faults)
    checked = read_pairs(pairs, source=source, target=target, lines=True, languages=languages, faults=faults)
    sides = UnpairedLines([], [], checked.frame_index, faults)
    for source_line, target_line in track(checked.pairs):
        sides.source.append(str(source_line))
        sides.target.append(str(target_line))
    return sides


def _check_lines(side: Any, name: Side, faults: list[CellFault]) -> list[str]:
    lines: list[str] = []
    for number, cell in enumerate(_check_sentences(side, name)):
        lines.append(_check_line(repair_cell(cell, number, name, faults), name))
    return lines


def _check_line(line: Any, name: str) -> str:
    checked = _check_side(line, name)
    if not isinstance(checked, str):
        raise DataError(f"expected lines of text as {name}, found {short_repr(line)}")
    return checked


def _read_two_files(source: str | Path, target: str | Path, encoding: str) -> Iterator[PairOrError]:
    if str(source) == str(target) == "-":
        raise UsageError("only one side can come from standard input")
    if format_ending(source) == format_ending(target) == CONLLU_ENDING:
        from nmtalign.text.paired_files import read_conllu_pairs

        yield from read_conllu_pairs(source, target, encoding)
        return
    if format_ending(source) in SUBTITLE_ENDINGS and format_ending(target) in SUBTITLE_ENDINGS:
        from nmtalign.text.paired_files import read_subtitle_pairs

        yield from read_subtitle_pairs(source, target, encoding)
        return
    source_lines = try_lines(source, encoding=encoding, inspect=partial(_inspect_side, source))
    target_lines = try_lines(target, encoding=encoding, inspect=partial(_inspect_side, target))
    try:
        for source_line, target_line in zip_lines([source_lines, target_lines], [source, target]):
            yield pair_or_error(source_line, target_line)
    except UnequalLinesError as error:
        raise DataError(f"{error}; {_advice_on_unequal_lines(source, target, encoding)}") from None


def _advice_on_unequal_lines(source: str | Path, target: str | Path, encoding: str) -> str:
    """Return where the first line without a partner is, if it can be found, and what shows the others."""
    from nmtalign.text.slips import MAX_LINES_FOR_SLIPS, find_line_gaps, find_line_runs

    command = f"`nmtalign check {source} {target}` shows where lines are shifted"
    if not (Path(source).is_file() and Path(target).is_file()):  # a pipe cannot be read again
        return command
    sides: list[list[str]] = []
    for path in (source, target):
        # a longer file is not searched, so it is not read to its end
        lines = islice(try_lines(path, encoding=encoding), MAX_LINES_FOR_SLIPS + 1)
        sides.append(["" if isinstance(line, DataError) else line for line in lines])
        if len(sides[-1]) > MAX_LINES_FOR_SLIPS:
            return command
    runs = find_line_runs(*sides)
    gaps = find_line_gaps(runs, len(sides[0]), len(sides[1]))
    if not gaps:
        return command
    first, *others = gaps
    places = [
        _describe_lone_lines(lines, among, path)
        for path, lines, among in (
            (source, first.source, first.source_among),
            (target, first.target, first.target_among),
        )
        if lines
    ]
    have = "has" if len(first.source) + len(first.target) == 1 else "have"
    more = f", and {with_plural(len(others), 'gap')} further on" if others else ""
    return f"it seems that {' and '.join(places)} {have} no partner{more}; {command}"


def _describe_lone_lines(lines: range, among: range, path: str | Path) -> str:
    """Return which lines of a file have no partner, or among which lines they are."""
    from nmtalign.text.slips import describe_lines

    if len(among) == len(lines):
        return f"{describe_lines(lines)} of {path}"
    number = "one" if len(lines) == 1 else f"{len(lines):,}"
    return f"{number} of the {describe_lines(among)} of {path}"


def _inspect_side(path: str | Path, head: str) -> None:
    """Warn if a file that is read as one side seems to contain both; `head` is its beginning.

    DataError is raised if it is a file of another kind, such as XML.
    """
    kind = check_sentences(head)
    ending = format_ending(path)
    if kind is not None and kind.advice:
        warn_caller(f"{path}: found {kind.name}; {kind.advice}")
        return
    reason = "" if kind is None else f"found {kind.name}"
    if not reason and _has_header(head):
        reason = "the first line names columns of both sides"
    if not reason and ending in FORMAT_OF_ENDING:
        reason = f"the name ends in {ending}, but the file is read as lines of text"
    if reason:
        warn_caller(f"{path}: {reason}; if the file contains both sides, pass it alone (`pairs=FILE`)")


def _has_header(head: str) -> bool:
    """Return whether the first line of CSV names the two sides, and the second one has as many fields."""
    first, second = [*filter(None, islice(head.split("\n"), 3)), "", ""][:2]
    for separator in (",", ";"):
        names = [name.strip('"') for name in first.rstrip("\r").split(separator)]
        if 1 < len(names) <= second.count(separator) + 1:
            with suppress(DataError):
                return find_side_columns(names) is not None
    return False


# --- pairs of the caller -------------------------------------------------------------------------


class CheckedPairs(NamedTuple):
    """Sentence pairs of the caller, which are checked while they are read."""

    pairs: Iterator[Pair]
    frame_index: pd.Index | None  # index of the DataFrame that they come from


def read_pairs(
    pairs: Pairs,
    targets: Sentences | None = None,
    *,
    source: ColumnName = None,
    target: ColumnName = None,
    lines: bool | None = None,
    languages: Languages = (None, None),
    faults: list[CellFault] | None = None,
) -> CheckedPairs:
    """Return the sentence pairs of a container: the only reader of the pairs of a caller.

    `pairs` are pairs of lines or of lists of words, two lists with the sentences of each side, a table, or
    records (:mod:`nmtalign.text.containers`). `source` and `target` name the columns of a table or the keys
    of records; without them the names decide (:func:`nmtalign.text.containers.choose_sides`), with the help
    of `languages`. With `targets`, `pairs` are the sentences of the source side.

    `lines` says whether all pairs have to be lines of text (True) or lists of words (False); by default, all
    have to be like the first one. A `Bitext` is already checked. With `faults`, missing cells become empty
    lines, line breaks become spaces, and these faults are added to the list; `targets` is then None.

    >>> list(read_pairs((["a house", "a car"], ["une maison", "une auto"])).pairs)
    [('a house', 'une maison'), ('a car', 'une auto')]
    >>> list(read_pairs(["a house"], ["une maison"]).pairs)
    [('a house', 'une maison')]
    >>> list(read_pairs({"fr": ["une maison"], "en": ["a house"]}, source="en", target="fr").pairs)
    [('a house', 'une maison')]
    """
    names = SideNames(source, target, languages)
    if targets is not None:
        _check_no_columns(names, "the sentences of both sides")
        frame_index = _shared_index(pairs, targets)
        rows: Iterable[Any] = _pairs_of_sides(pairs, targets)
        return CheckedPairs(_check_rows(rows, lines, frame_index), frame_index)
    if isinstance(pairs, Bitext) and lines is not False:
        _check_no_columns(names, "a Bitext")
        return CheckedPairs(iter(pairs), pairs.frame_index)
    rows, frame_index = _read_rows(pairs, names, faults)
    rows = rows if faults is None else repair_rows(rows, faults)
    return CheckedPairs(_check_rows(rows, lines, frame_index), frame_index)


def named_languages(
    pairs: Any, targets: Any = None, *, source: ColumnName = None, target: ColumnName = None
) -> Languages:
    """Return the languages that name both sides of a checked container; (None, None) unless both do.

    >>> named_languages({"text_fr": ["un chat"], "text_en": ["a cat"]})
    ('fr', 'en')
    """
    if isinstance(pairs, Bitext):
        return pairs._languages
    sides: list[Any] = []
    if targets is not None or (isinstance(pairs, tuple) and len(pairs) == 2):
        both = pairs if targets is None else (pairs, targets)
        sides = [getattr(side, "name", None) for side in both if hasattr(side, "iloc")]  # columns of pandas
    else:
        keys = keys_of_sides(pairs)
        if keys:
            numbers = choose_sides(keys, SideNames(source, target))
            sides = [keys[number] for number in numbers]
    found = [language_of_column(side) if isinstance(side, str) else None for side in sides]
    if len(found) != 2 or None in found or found[0] == found[1]:
        return None, None
    return found[0], found[1]


def _check_no_columns(names: SideNames, found: str) -> None:
    """Raise UsageError if the caller names columns of something that has none."""
    if names.are_given:
        expected = "`source` and `target` are names of columns of a table, or keys of records"
        raise UsageError(f"{expected}, found {found}; two sides are given as (sources, targets)")


def _shared_index(sources: Any, targets: Any) -> pd.Index | None:
    """Return the index of one or two columns of pandas; None if they have none, or different lengths.

    UsageError is raised if two differ: the rows of the columns then may not belong together.
    """
    indexes: list[pd.Index] = [side.index for side in (sources, targets) if hasattr(side, "iloc")]
    if len(indexes) == 2:
        by_label = "a frame, pd.DataFrame({'source': first, 'target': second}),"
        check_same_index(indexes[0], indexes[1], "the two columns", by_label=by_label)
    lengths = {len(side) for side in (sources, targets) if hasattr(side, "__len__")}
    has_length = hasattr(sources, "__len__") and hasattr(targets, "__len__")
    return indexes[0] if indexes and has_length and len(lengths) == 1 else None


def _check_rows(
    rows: Iterable[Any], lines: bool | None, frame_index: pd.Index | None = None
) -> Iterator[Pair]:
    """Yield rows as pairs; an error names the pair, counted from 0, and its index in a DataFrame."""
    for number, row in enumerate(rows):
        try:
            pair = _check_row(row, lines)
        except DataError as error:
            raise error.at(name_pair(number, frame_index)) from None
        lines = isinstance(pair[0], str)
        yield pair


def _check_row(row: Any, lines: bool | None) -> Pair:
    """Return the item that should be a pair; for `lines` see :func:`read_pairs`."""
    row = row.tolist() if hasattr(row, "tolist") else row  # a row of an array (N, 2)
    if not isinstance(row, tuple | list) or len(row) != 2:
        advice = ""
        if isinstance(row, str) or words_of_doc(row) is not None:
            advice = f"; {_ONE_PAIR}"
        elif _may_be_side(row):
            advice = "; two sides go in a tuple: (sources, targets)"
        raise DataError(f"expected a pair (source, target), found {short_repr(row)}{advice}")
    pair = check_pair(*row)
    pair = row if isinstance(row, SentencePair) else pair  # it may have links of an expert
    if lines is not None and lines is not isinstance(pair[0], str):
        expected, found = "lines of text", "lists of words"
        if not lines:
            expected, found = found, expected
        raise DataError(f"expected {expected} for all pairs, found {found}")
    return pair


def is_line_pair(pair: Pair) -> TypeGuard[tuple[str, str]]:
    """Return whether a checked pair is two lines of text, not two lists of words."""
    return isinstance(pair[0], str) and isinstance(pair[1], str)


def words_between_spaces(pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return both sides of a checked pair: the space-separated words of lines, or the given words."""
    if not is_line_pair(pair):
        return tuple(pair[0]), tuple(pair[1])
    source, target = SPACE_SETTINGS.words_of_pair(pair)
    return tuple(source), tuple(target)


def tokens_of(
    pair: Pair, text_settings: TextSettings, languages: Languages = (None, None)
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of both sides of a checked pair as they were given; the settings split lines."""
    if text_settings == SPACE_SETTINGS or not is_line_pair(pair):
        return words_between_spaces(pair)
    source, target = text_settings.tokens_of_pair(pair, languages)
    return tuple(token.text for token in source), tuple(token.text for token in target)


def check_pair(source: Sentence, target: Sentence) -> Pair:
    """Return one sentence pair, with arrays of words as lists; raise the errors of :func:`read_pairs`."""
    pair = _check_side(source, "source"), _check_side(target, "target")
    if isinstance(pair[0], str) != isinstance(pair[1], str):
        raise DataError("expected two lines of text or two lists of words, found one of each")
    return pair


def _check_side(side: Any, name: str) -> Sentence:
    """Return a line, or a list of words."""
    if isinstance(side, str):
        if "\n" in side:
            found = f"found a line break in the {name}"
            advice = "read_bitext reads files; in a line, write a space"
            raise DataError(f"expected one line per side, {found}; {advice}")
        if not (side.isascii() or is_encodable(side)):
            raise DataError(f"expected text, found an unpaired surrogate in the {name}: {short_repr(side)}")
        return side
    words = side.tolist() if hasattr(side, "tolist") else side  # an array, for example in a table
    doc_words = words_of_doc(side)
    if doc_words is not None:
        words = doc_words
    if not isinstance(words, list | tuple):
        raise DataError(f"expected a line of text or a list of words as {name}, found {short_repr(side)}")
    for word in words:
        if (
            not isinstance(word, str)
            or not word
            or "\n" in word
            or not (word.isascii() or is_encodable(word))
        ):
            found = f"expected words, none empty or with a line break, in the {name}"
            raise DataError(f"{found}, found {short_repr(word)}")
    return words


def _read_rows(
    pairs: Any, names: SideNames, faults: list[CellFault] | None = None
) -> tuple[Iterable[Any], pd.Index | None]:
    """Return an iterable over what should be pairs, and the index of a DataFrame."""
    table = as_table(pairs)
    if table is not None:
        return table.rows(names, faults=faults), table.frame_index
    if isinstance(pairs, str | bytes | Path) or not is_iterable(pairs):
        wanted = "expected sentence pairs (source, target)"
        raise UsageError(f"{wanted}, found {short_repr(pairs)}; nmtalign.read_bitext reads files")
    if isinstance(pairs, Set):
        wanted = "expected sentence pairs in an order, such as a list of (source, target)"
        raise UsageError(f"{wanted}, found a {type(pairs).__name__}: {short_repr(pairs)}")
    if isinstance(pairs, tuple) and len(pairs) == 2 and all(map(_may_be_side, pairs)):
        _check_no_columns(names, "the sentences of both sides")
        return _rows_of_two(pairs, faults), _shared_index(*pairs)
    if isinstance(pairs, Iterator):
        pairs = reject_exhausted(pairs, "sentence pairs")
    return _rows_or_records(pairs, names), None


def _rows_or_records(rows: Iterable[Any], names: SideNames) -> Iterator[Any]:
    """Yield rows unchanged, and the sides of records."""
    iterator = iter(rows)
    first = list(islice(iterator, 1))
    both = chain(first, iterator)
    if first and isinstance(first[0], Mapping):
        yield from record_rows(both, names)
        return
    _check_no_columns(names, f"rows such as {short_repr(first[0])}" if first else "no row")
    yield from both


def _may_be_side(value: Any) -> bool:
    """Return whether a value may be the sentences of a side; a named tuple is a record, such as a pair."""
    if isinstance(value, str | bytes | Path | Mapping | Set) or hasattr(value, "_fields"):
        return False
    return is_iterable(value) and words_of_doc(value) is None


def _rows_of_two(both: tuple[Any, Any], faults: list[CellFault] | None) -> Iterable[Any]:
    """Return the pairs of a tuple of two: they are two sides or, if that is impossible, two pairs.

    Two lists, arrays or columns of a table are always sides. Plain tuples may be sides or pairs; a UsageError
    if both readings are possible.
    """
    if any(type(part) is tuple for part in both) and all(map(_is_pair, both)):
        if not all(map(_is_pair, zip(*both, strict=True))):
            return both
        raise UsageError(
            f"expected pairs, or the sentences of both sides, found {short_repr(both)}, which may be either; "
            "write two pairs as a list, [(source, target), (source, target)], "
            "two sides as two lists, ([source, source], [target, target])"
        )
    return _pairs_of_sides(*both, faults)


def _is_pair(row: Any) -> bool:
    """Return whether a row can be read as a sentence pair."""
    if not isinstance(row, tuple | list) or len(row) != 2:
        return False
    try:
        check_pair(*row)
    except DataError:
        return False
    return True


_ONE_PAIR = "read_bitext reads files, and a single pair goes in a list: [(source, target)]"
_MISSING: Any = object()


def _pairs_of_sides(
    sources: Any, targets: Any, faults: list[CellFault] | None = None
) -> Iterator[tuple[Any, Any]]:
    """Return pairs from the sentences of both sides; raise UsageError unless both are sequences.

    For `faults` see :func:`read_pairs`; without them, missing cells are an error.
    """
    checked_sources = _check_sentences(sources, "source")
    checked_targets = _check_sentences(targets, "target")
    if isinstance(sources, Sized) and isinstance(targets, Sized):
        _check_equal_counts(len(sources), len(targets))
        if faults is None and not any(isinstance(side, Iterator) for side in (sources, targets)):
            check_cells((checked_sources, checked_targets), _shared_index(sources, targets))
    return _zip_sides(checked_sources, checked_targets)


def _check_sentences(side: Any, name: str) -> Iterable[Any]:
    """Return the sentences of a side; raise UsageError, with what to write instead, for anything else."""
    expected = f"expected the {name} sentences as a list"
    if hasattr(side, "to_pylist"):  # a column of pyarrow
        return list(side.to_pylist())
    if isinstance(side, str | bytes | Path):
        advice = "align takes two lines of text, read_bitext reads two files, and options have names"
        raise UsageError(f"{expected}, found {short_repr(side)}; {advice}")
    if hasattr(side, "itertuples"):  # a table of pandas
        raise UsageError(f"{expected}, found {short_repr(side)}; pass its column: table['en']")
    if isinstance(side, Bitext):
        raise UsageError(f"{expected}, found {short_repr(side)}, which has both sides; pass it alone")
    if isinstance(side, Mapping | Set) or not is_iterable(side):
        raise UsageError(f"{expected}, found {short_repr(side)}; options have names")
    if isinstance(side, io.TextIOBase):
        return map(without_line_end, reject_exhausted(side, f"{name} sentences"))
    return reject_exhausted(side, f"{name} sentences") if isinstance(side, Iterator) else side


def _zip_sides(sources: Iterable[Any], targets: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of two sides; raise DataError if one side has more sentences, or contains pairs."""
    source_count = target_count = 0
    for number, (source, target) in enumerate(zip_longest(sources, targets, fillvalue=_MISSING)):
        source_count += source is not _MISSING
        target_count += target is not _MISSING
        if source_count == target_count:
            for sentence in (source, target):
                _check_no_pair(sentence, number)
            yield source, target
    _check_equal_counts(source_count, target_count)


def _check_equal_counts(source: int, target: int) -> None:
    if source != target:
        found = f"found {source:,} and {target:,}"
        raise DataError(f"expected the same number of source and target sentences, {found}")


def _check_no_pair(sentence: Any, number: int) -> None:
    """Raise DataError for a pair of lines where a sentence is expected: its lines are not two words."""
    if not isinstance(sentence, tuple) or len(sentence) != 2:
        return
    if any(isinstance(line, str) and " " in line for line in sentence):
        found = f"expected a sentence of one side, found the pair {short_repr(sentence)}"
        raise DataError(f"pair {number:,}: {found}; pass pairs as one list")
