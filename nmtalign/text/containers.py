"""Tables and records of sentence pairs: their two sides, what their rows are, and what is not read.

A table is a DataFrame of pandas or polars, a table of pyarrow, a data set of Hugging Face, or a dictionary of
columns. Records are dictionaries, one for each pair, such as ``{"en": ..., "fr": ...}`` or
``{"translation": {"en": ..., "fr": ...}}``. None of these packages is imported: their objects are known by
their attributes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from nmtalign.display import name_pair, short_repr, with_plural
from nmtalign.errors import DataError, UsageError, warn_caller
from nmtalign.names import SIDES, Side
from nmtalign.text.headers import find_text_columns, language_of_column, refuse_identifiers
from nmtalign.validation import is_iterable

TRANSLATION_COLUMN = "translation"  # its rows are dictionaries with one text per language
MAX_LISTED_CELLS = 5  # an error shows at most this many
ADVICE_ON_COLUMNS = "name both sides, such as `source='en'` and `target='fr'`"


class Frame(Protocol):
    """A DataFrame of pandas or polars, to type checkers."""

    @property
    def columns(self) -> Any:
        """The names of the columns, in order; those of pandas need not be strings."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return the column with this name."""


class NamedColumns(Protocol):
    """A table of pyarrow or a data set of Hugging Face, to type checkers."""

    @property
    def column_names(self) -> Any: ...


Table = Frame | NamedColumns


class SideNames(NamedTuple):
    """The names of the columns of both sides, as the caller gives them; None to go by the names."""

    source: Hashable | None = None
    target: Hashable | None = None
    languages: tuple[str | None, str | None] = (None, None)  # languages of the aligner

    @property
    def are_given(self) -> bool:
        """Whether the caller names a column."""
        return self.source is not None or self.target is not None


class PairTable(NamedTuple):
    """The columns of a table."""

    names: Sequence[Hashable]
    column: Callable[[int], Sequence[Any]]  # the values of a column, by its number
    frame_index: Any = None  # the index of a DataFrame of pandas

    def rows(self, names: SideNames, *, faults: list[CellFault] | None = None) -> Iterable[Any]:
        """Return what should be pairs (source, target).

        DataError is raised if a cell is missing or has a line break; with `faults`, see :func:`repair_rows`.
        """
        if _has_translations(self, names):
            return record_rows(self.column(list(self.names).index(TRANSLATION_COLUMN)), names)
        source, target = choose_sides(self.names, names)
        columns = self.column(source), self.column(target)
        if faults is None:
            check_cells(columns, self.frame_index, (self.names[source], self.names[target]))
        rows = zip(*columns, strict=True)
        return rows if names.are_given else refuse_identifiers(rows, ADVICE_ON_COLUMNS)


class CellFault(NamedTuple):
    """A cell that is not a line of text."""

    row: int
    side: Side
    kind: Literal["missing", "line-break"]
    value: Any


def _place_of_fault(fault: CellFault) -> tuple[int, int]:
    return fault.row, SIDES.index(fault.side)


def check_cells(
    columns: tuple[Iterable[Any], Iterable[Any]],
    frame_index: Any = None,
    names: tuple[Hashable, Hashable] | None = None,
) -> None:
    """Raise DataError if cells of both sides are missing, or have line breaks; it counts and lists them."""
    faults: list[CellFault] = []
    for side, column in zip(SIDES, columns, strict=True):
        for row, value in enumerate(column):
            repair_cell(value, row, side, faults)
    if not faults:
        return
    first = min(faults, key=_place_of_fault)
    same_kind = [fault for fault in faults if fault.kind == first.kind]
    same_kind.sort(key=_place_of_fault)
    if first.kind == "missing":
        expected = f"expected a line of text or a list of words as {first.side}"
        message = f"{expected}, found {short_repr(first.value)}"
    else:
        message = f"expected one line a side, found a line break in the {first.side}"
    if len(same_kind) > 1:
        listed = [f"{name_pair(fault.row, frame_index)} {fault.side}" for fault in same_kind]
        shown = ", ".join(listed[:MAX_LISTED_CELLS]) + (", ..." if len(listed) > MAX_LISTED_CELLS else "")
        message += f"; {len(same_kind):,} cells have this fault: {shown}"
    raise DataError(f"{message}; {_advice_on(first, frame_index, names)}").at(
        name_pair(first.row, frame_index)
    )


def _advice_on(fault: CellFault, frame_index: Any, names: tuple[Hashable, Hashable] | None) -> str:
    """Return what to write instead of a table, or lists, with faults."""
    check = "nmtalign.check lists all faults"
    if frame_index is not None and names is not None:
        if fault.kind == "missing":
            return f"write frame.dropna(subset={list(names)!r}); {check}"
        column = f"frame[{names[SIDES.index(fault.side)]!r}]"
        return f"write {column} = {column}.str.replace('\\n', ' '); {check}"
    if fault.kind == "missing":
        return f"leave these pairs out, or write '' for an empty side; {check}"
    return f"replace line breaks by spaces; {check}"


def repair_rows(rows: Iterable[Any], faults: list[CellFault]) -> Iterator[Any]:
    """Yield rows with empty lines for missing cells and spaces for line breaks, and collect the faults."""
    for number, row in enumerate(rows):
        if isinstance(row, tuple | list) and len(row) == 2:
            yield [repair_cell(cell, number, side, faults) for cell, side in zip(row, SIDES, strict=True)]
        else:
            yield row


def repair_cell(value: Any, row: int, side: Side, faults: list[CellFault]) -> Any:
    """Return a cell of :func:`repair_rows`; what is neither text nor missing is checked later."""
    if isinstance(value, str):
        if "\n" not in value:
            return value
        faults.append(CellFault(row, side, "line-break", value))
        return value.replace("\n", " ")
    is_nan = isinstance(value, float) and value != value
    is_missing = value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")  # of pandas
    if not is_missing:
        return value
    faults.append(CellFault(row, side, "missing", value))
    return ""


def as_table(value: Any) -> PairTable | None:
    """Return the columns of a table; None if the value is not a table.

    UsageError is raised for a table whose rows cannot be read as they are.
    """
    if hasattr(value, "itertuples"):  # pandas
        return PairTable(list(value.columns), lambda k: value.iloc[:, k].tolist(), value.index)
    if hasattr(value, "collect") and hasattr(value, "collect_schema"):  # a lazy frame of polars
        raise UsageError(f"expected a table, found a {type(value).__name__}; write table.collect()")
    if hasattr(value, "iter_rows"):  # polars
        return PairTable(value.columns, lambda k: value[value.columns[k]].to_list())
    if isinstance(value, Mapping):
        return _table_of_mapping(value)
    names = getattr(value, "column_names", None)
    if not names or not hasattr(value, "__getitem__"):  # a stream of records has names only
        return None
    if hasattr(value, "to_pylist"):  # pyarrow
        return PairTable(names, lambda k: value.column(k).to_pylist())
    return PairTable(names, lambda k: list(value[names[k]]))


def keys_of_sides(value: Any) -> list[Hashable]:
    """Return the names of the columns of a table or of the keys of a list of records; empty for others."""
    table = as_table(value)
    if table is not None:
        if not _has_translations(table, SideNames()):
            return list(table.names)
        return _text_keys({TRANSLATION_COLUMN: table.column(list(table.names).index(TRANSLATION_COLUMN))[0]})[
            0
        ]
    if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        return _text_keys(value[0])[0]
    return []


def _table_of_mapping(value: Mapping[Any, Any]) -> PairTable:
    """Return a dictionary of columns as a table; raise UsageError for any other dictionary."""
    names = list(value)
    if names and all(hasattr(part, "column_names") for part in value.values()):
        found = f"found several parts: {', '.join(map(str, names))[:80]}"
        raise UsageError(f"expected one data set, {found}; choose one: dataset[{names[0]!r}]")
    for name, column in value.items():
        if isinstance(column, str | bytes | Mapping) or not is_iterable(column):
            expected = "expected a dictionary of columns, such as {'en': [...], 'fr': [...]}"
            advice = "the record of a single pair goes in a list: [record]"
            raise UsageError(f"{expected}, found {short_repr(column)} as {name!r}; {advice}")
    lengths = {name: len(column) for name, column in value.items() if hasattr(column, "__len__")}
    if len(set(lengths.values())) > 1:
        first, *others = lengths
        other = next(name for name in others if lengths[name] != lengths[first])
        both = [f"{short_repr(name)} has {lengths[name]:,}" for name in (first, other)]
        raise DataError(f"expected columns of the same length, found different ones: {', '.join(both)}")
    return PairTable(names, lambda k: value[names[k]])


def _has_translations(table: PairTable, names: SideNames) -> bool:
    """Return whether the sides are inside of the column ``translation``."""
    if TRANSLATION_COLUMN not in table.names:
        return False
    if names.are_given and {names.source, names.target} <= {None, *table.names}:
        return False
    column = table.column(list(table.names).index(TRANSLATION_COLUMN))
    return len(column) > 0 and isinstance(column[0], Mapping)


def choose_sides(columns: Sequence[Hashable], names: SideNames) -> tuple[int, int]:
    """Return the numbers of the columns of the source and the target.

    The names that the caller gives come first, then those of the languages of the aligner, then those that
    :mod:`nmtalign.text.headers` knows. Two columns with other names are source and target, in this order.

    >>> choose_sides(["id", "fr", "en"], SideNames(languages=("en", "fr")))
    (2, 1)
    >>> choose_sides(["target", "source"], SideNames()), choose_sides(["a", "b"], SideNames())
    ((1, 0), (0, 1))
    """
    try:
        sides = _find_sides(columns, names)
    except DataError as error:
        if len(columns) == 2:  # one has identifiers
            raise UsageError(f"{str(error).partition('; ')[0]}; {ADVICE_ON_COLUMNS}") from None
        sides = None  # more than two columns may be sides
    if sides is not None:
        return sides
    if len(columns) == 2:
        return 0, 1
    found = ", ".join(map(str, columns)) or "none"
    raise UsageError(
        f"expected a table of two columns, found {len(columns)}: {found}; {ADVICE_ON_COLUMNS}, "
        "or choose source and target: table[['en', 'fr']]"
    )


def _find_sides(columns: Sequence[Hashable], names: SideNames) -> tuple[int, int] | None:
    """Return the columns of both sides by their names; None if they are not known, DataError if unclear."""
    if names.are_given:
        return _given_sides(columns, names)
    texts = [str(column) for column in columns]
    by_language = _sides_of_languages(texts, names.languages)
    if by_language is not None:
        return by_language
    sides = find_text_columns(texts)
    return None if sides is None else (sides.source, sides.target)


def _given_sides(columns: Sequence[Hashable], names: SideNames) -> tuple[int, int]:
    """Return the numbers of the columns that the caller names."""
    numbers: list[int] = []
    for parameter, name in (("source", names.source), ("target", names.target)):
        if name is None:
            raise UsageError(f"expected names of both sides, found no `{parameter}`; {ADVICE_ON_COLUMNS}")
        places = [number for number, column in enumerate(columns) if column == name]
        if len(places) != 1:
            known = ", ".join(map(str, columns))
            how_often = "none" if not places else f"{len(places)}"
            raise UsageError(
                f"expected a column {name!r} as `{parameter}`, found {how_often} among the columns {known}"
            )
        numbers.append(places[0])
    if numbers[0] == numbers[1]:
        raise UsageError(f"`source` and `target` name the same column, {names.source!r}; name two")
    return numbers[0], numbers[1]


def _sides_of_languages(
    columns: Sequence[str], languages: tuple[str | None, str | None]
) -> tuple[int, int] | None:
    """Return the columns whose names are the languages of the aligner; None unless each is there once."""
    numbers: list[int] = []
    known_columns = [language_of_column(column) for column in columns]
    for language in languages:
        code = language_of_column(language) if language else None
        if code is None or known_columns.count(code) != 1:
            return None
        numbers.append(known_columns.index(code))
    return (numbers[0], numbers[1]) if numbers[0] != numbers[1] else None


class RecordKeys(NamedTuple):
    """The keys of both sides in a record, or in the one inside of its key ``translation``."""

    source: Hashable
    target: Hashable
    is_nested: bool


def keys_of_record(
    record: Mapping[Any, Any], names: SideNames, *, by_order: bool = True
) -> RecordKeys | None:
    """Return the keys of both sides; the only function that chooses them, for JSON lines as well.

    With `by_order`, two keys of other names are source and target, in this order, and a UsageError says that
    there are others. Without it, the result is then None, and a DataError says that more than two may be.

    >>> keys_of_record({"id": 7, "translation": {"fr": "un chat", "en": "a cat"}}, SideNames())
    RecordKeys(source='fr', target='en', is_nested=True)
    """
    keys, is_nested = _text_keys(record, names)
    sides = choose_sides(keys, names) if by_order else _find_sides(keys, names)
    return None if sides is None else RecordKeys(keys[sides[0]], keys[sides[1]], is_nested)


def _text_keys(record: Mapping[Any, Any], names: SideNames | None = None) -> tuple[list[Hashable], bool]:
    """Return the keys that may be those of texts, and whether they are inside of the key ``translation``."""
    are_given = names is not None and names.are_given
    sides = {names.source, names.target} if names is not None and are_given else {"source", "target"}
    is_nested = isinstance(record.get(TRANSLATION_COLUMN), Mapping) and not record.keys() >= sides
    inner = record[TRANSLATION_COLUMN] if is_nested else record
    return [key for key, value in inner.items() if are_given or _may_be_text(value)], is_nested


def _may_be_text(value: Any) -> bool:
    """Return whether a value may be text, or is missing, such as NaN."""
    is_number = isinstance(value, int | float) and value == value
    return not is_number and not isinstance(value, Mapping)


def record_rows(records: Iterable[Any], names: SideNames) -> Iterator[tuple[Any, Any]]:
    """Yield the sides of records, which have the keys of the first one; an error counts records from 0.

    >>> rows = record_rows([{"translation": {"en": "a cat", "fr": "un chat"}}], SideNames())
    >>> list(rows)
    [('a cat', 'un chat')]
    """
    rows = iter(records)
    first = next(rows, None)
    if first is None:
        return
    keys = keys_of_record(_inner_record(first, is_nested=False, number=0), names)
    assert keys is not None  # otherwise choose_sides raises an error
    sides = _sides_of_records(chain([first], rows), keys)
    yield from sides if names.are_given else refuse_identifiers(sides, ADVICE_ON_COLUMNS)


def _sides_of_records(records: Iterable[Any], keys: RecordKeys) -> Iterator[tuple[Any, Any]]:
    for number, row in enumerate(records):
        record = _inner_record(row, keys.is_nested, number)
        for key in (keys.source, keys.target):
            if key not in record:
                found = ", ".join(map(str, record))[:80]
                expected = f"expected a record with the keys {keys.source!r} and {keys.target!r}"
                raise DataError(f"pair {number:,}: {expected}, found {found or 'none'}")
        yield record[keys.source], record[keys.target]


def _inner_record(row: Any, is_nested: bool, number: int) -> Mapping[Any, Any]:
    """Return a record, or the one inside of its key ``translation``."""
    record = row.get(TRANSLATION_COLUMN) if is_nested and isinstance(row, Mapping) else row
    if not isinstance(record, Mapping):
        raise DataError(f"pair {number:,}: expected a record such as the first one, found {short_repr(row)}")
    return record


class DocWords(list[str]):
    """The tokens of a ``Doc`` or ``Span`` of spaCy, with its text and where they are in it."""

    def __init__(self, words: Iterable[str], text: str, spans: Sequence[tuple[int, int]]) -> None:
        super().__init__(words)
        self.text = text
        self.spans = spans  # start and end of each word in `text`

    def __reduce__(self) -> tuple[type[DocWords], tuple[Any, ...]]:
        return DocWords, (list(self), self.text, self.spans)


def words_of_doc(value: Any) -> DocWords | None:
    """Return the tokens of a ``Doc`` or ``Span`` of spaCy; None for anything else.

    A line break is a token of its own there. It becomes a space, because words have no line breaks, and
    positions have to be those of the document.
    """
    if not (hasattr(value, "vocab") and hasattr(value, "noun_chunks")):
        return None
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    text_start = getattr(value, "start_char", 0)  # of a Span, whose tokens count from the start of the Doc
    for token in value:
        words.append(token.text.replace("\n", " ").replace("\r", " "))
        start = token.idx - text_start
        spans.append((start, start + len(token.text)))
    return DocWords(words, value.text, spans)


# --- records of files ----------------------------------------------------------------------------

PairOrError = tuple[str, str] | DataError
Select = tuple[str, str] | None  # columns, keys or languages of the two sides


def pair_or_error(source: str | DataError, target: str | DataError) -> PairOrError:
    """Return the lines of a pair, or the first error among them."""
    if isinstance(source, DataError):
        return source
    return target if isinstance(target, DataError) else (source, target)


def check_no_select(select: Select, kind: str) -> None:
    """Raise UsageError if sides are chosen of a file that has one source and one target."""
    if select is not None:
        raise UsageError(f"{kind} has one source and one target; {','.join(select)} cannot be chosen")


class ReaderNotes:
    """How many records of a file are not read as they are, why, and where the first one of each kind is."""

    def __init__(self, record: str) -> None:
        self.total = 0
        self._record = record  # what the file calls a record
        self._counts: Counter[str] = Counter()
        self._first_places: dict[str, str] = {}

    def add(self, kind: str, number: int, place: str) -> None:
        """Count so many records, or parts of a record, of a kind."""
        if number:
            self._counts[kind] += number
            self._first_places.setdefault(kind, place)

    def warn(self, path: str | Path, **names: str) -> None:
        """Warn once, at the end of a file; `names` are put into the kinds."""
        notes = []
        for kind, count in self._counts.items():
            notes.append(f"{count:,} {kind.format(**names)} (the first in {self._first_places[kind]})")
        if not self.total:
            warn_caller(f"{path}: the file has no {self._record}s")
        elif notes:
            records = with_plural(self.total, self._record)
            warn_caller(f"{path}: of {records}: {'; '.join(notes)}")
