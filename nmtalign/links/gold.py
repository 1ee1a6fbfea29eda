"""Gold links of the pairs of a text: a sequence of them, a table, and their files.

Corrections are links of single pairs of a text by people who looked, as a report writes and reads them: a
line of JSON for each pair, the links of ``jsonl`` with more beside them::

    {"pair": 3, "pairs": 447, "text": "ee0c9a5e97be", "links": [[0, 0]], "possible": [[1, 2]], "by": "Ann",
     "at": "2026-05-04T12:00:00Z"}
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from nmtalign.display import with_plural
from nmtalign.errors import DataError
from nmtalign.files.compressed import format_ending
from nmtalign.files.paths import as_path, name_file_in_errors
from nmtalign.files.text_files import parse_json
from nmtalign.links.alignments import BothWords, GoldAlignment
from nmtalign.links.formats import WORD_COUNT_ADVICE, gold_of_json, read_by_line, read_link_records
from nmtalign.names import LinkUnitName, ReadLinksFormat
from nmtalign.results import table_of_rows
from nmtalign.validation import normalize_index, selected_indices

if TYPE_CHECKING:
    import pandas as pd

NO_GOLD = GoldAlignment((), ())
WORD_COLUMNS = ("source_word", "target_word")
GOLD_COLUMNS = ("source_position", "source_word", "target_position", "target_word", "kind")
GOLD_EXAMPLE = (0, "", 0, "", "")
_CORRECTION_FIELDS = {"pair": int, "pairs": int, "text": str, "by": str, "at": str}


@dataclass(frozen=True, eq=False, repr=False)
class GoldLinks(Sequence[GoldAlignment]):
    """The gold links of each pair of a text, which :func:`nmtalign.read_gold` returns. It is read-only.

    ``gold[n]`` are the links of pair n, and ``gold[2:5]`` or ``gold[mask]`` those of several pairs, as of a
    batch. Corrections may claim any number of pairs, so a pair without links is made when it is accessed.
    """

    golds: Mapping[int, GoldAlignment]  # by number of the pair, from 0; all others have no links
    pair_count: int
    # of the pairs whose words the file has
    words: Mapping[int, BothWords] = field(default_factory=dict)
    unit: LinkUnitName | None = None  # what positions count, if the file says so
    # whether only the pairs in `golds` were looked at; else a pair without links has no links
    is_partial: bool = False

    def __repr__(self) -> str:
        sure = sum(len(gold.sure) for gold in self.golds.values())
        possible = sum(len(gold.possible) for gold in self.golds.values()) - sure
        pairs = with_plural(self.pair_count, "pair")
        if self.is_partial:
            pairs = f"{len(self.golds):,} of {pairs}"
        only_possible = f", {possible:,} only possible" if possible else ""
        return f"GoldLinks of {pairs}: {with_plural(sure, 'sure link')}{only_possible}"

    def __eq__(self, other: object) -> bool:
        """Return whether another sequence has the same links."""
        if not isinstance(other, Sequence) or isinstance(other, str) or len(self) != len(other):
            return False
        if isinstance(other, GoldLinks):
            linked = {n for gold in (self, other) for n in gold.golds}
            return all(self[n] == other[n] for n in linked)
        return all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((self.pair_count, frozenset(gold for gold in self.golds.values() if gold.possible)))

    def __len__(self) -> int:
        return self.pair_count

    @overload
    def __getitem__(self, n: int) -> GoldAlignment: ...

    @overload
    def __getitem__(
        self, n: slice | list[int] | list[bool] | NDArray[np.bool_] | NDArray[np.integer]
    ) -> GoldLinks: ...

    def __getitem__(self, n: Any) -> GoldAlignment | GoldLinks:
        numbers = selected_indices(n, self.pair_count)
        if numbers is None:
            return self.golds.get(normalize_index(n, self.pair_count), NO_GOLD)
        if isinstance(numbers, range):  # may be long
            places = [(numbers.index(old), old) for old in sorted(self.golds) if old in numbers]
        else:
            places = [(new, old) for new, old in enumerate(numbers) if old in self.golds]
        golds = {new: self.golds[old] for new, old in places}
        words = {new: self.words[old] for new, old in places if old in self.words}
        return GoldLinks(golds, len(numbers), words, self.unit, self.is_partial)

    @property
    def reviewed(self) -> Sequence[int]:
        """The numbers of the pairs whose gold links are known."""
        return sorted(self.golds) if self.is_partial else range(self.pair_count)

    def table(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each gold link.

        Returns
        -------
        pandas.DataFrame
            The columns ``pair``, ``source_position`` and ``target_position``, all from 0, and ``kind``,
            which is ``sure`` or ``possible``. If the file has words, also ``source_word`` and
            ``target_word``.
        """
        rows = []
        for n, gold in sorted(self.golds.items()):
            words = self.words.get(n)
            rows += [(n, *row) for row in _gold_rows(gold, words)]
        table = table_of_rows(rows, ("pair", *GOLD_COLUMNS), (0, *GOLD_EXAMPLE))
        return table if self.words else table.drop(columns=list(WORD_COLUMNS))


def known_gold(golds: Sequence[GoldAlignment], n: int) -> GoldAlignment | None:
    """Return the gold links of pair `n`, from 0; None if nobody has looked at the pair."""
    is_unknown = isinstance(golds, GoldLinks) and golds.is_partial and n not in golds.golds
    return None if is_unknown else golds[n]


def gold_table(gold: GoldAlignment) -> pd.DataFrame:
    """Return a DataFrame with one row for each gold link of one pair."""
    table = table_of_rows(_gold_rows(gold, None), GOLD_COLUMNS, GOLD_EXAMPLE)
    return table.drop(columns=list(WORD_COLUMNS))


def _gold_rows(gold: GoldAlignment, words: BothWords | None) -> Iterator[tuple[Any, ...]]:
    """Yield the values of `GOLD_COLUMNS` for each link of a pair; words are None where they are unknown."""
    for s, t in sorted(gold.possible):
        source, target = (None, None) if words is None else (words[0][s], words[1][t])
        yield s, source, t, target, "sure" if (s, t) in gold.sure else "possible"


def read_gold(path: str | Path, *, format: ReadLinksFormat = "pharaoh", encoding: str = "utf-8") -> GoldLinks:
    """Return the gold links of each pair.

    Parameters
    ----------
    path : str or Path
        A file of gold links, which may be compressed, or ``corrections.jsonl``, which a report saves; it has
        gold for the pairs that somebody looked at, and only these are scored.
    format : {"pharaoh", "talp", "naacl", "giza", "tsv", "jsonl"}
        Pharaoh counts from 0, with ``3-4`` for a sure link and ``3p4`` for a possible one; TALP and NAACL
        count from 1.
    encoding : str
        Encoding of the file.

    Returns
    -------
    GoldLinks
        A read-only sequence with a :class:`GoldAlignment` for each pair, which can be sliced like a batch.
        Its method ``table()`` returns a DataFrame with one row for each link: ``pair``, positions, words if
        the file has them, and ``kind``, which is ``sure`` or ``possible``.

    Raises
    ------
    DataError
        With the line, where the file is not of that format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "gold.pharaoh"
    ...     _ = path.write_text("0-0 1p2\\n", encoding="utf-8")
    ...     gold = read_gold(path)
    >>> gold, gold[0]
    (GoldLinks of 1 pair: 1 sure link, 1 only possible, GoldAlignment: 0-0 1p2)
    >>> print(gold.table().to_string(index=False))
     pair  source_position  target_position     kind
        0                0                0     sure
        0                1                2 possible
    """
    if format == "pharaoh" and are_corrections(path):
        corrections = read_corrections(path, encoding=encoding)
        golds = {number - 1: correction.gold for number, correction in corrections.items()}
        pairs = next((correction.pairs for correction in corrections.values()), 0)
        return GoldLinks(golds, pairs, is_partial=True)
    records = list(read_link_records(path, format=format, encoding=encoding))
    golds = {n: record.gold for n, record in enumerate(records)}
    words = {}
    for n, record in enumerate(records):
        if record.source is not None and record.target is not None:
            words[n] = record.source, record.target
    unit = next((record.unit for record in records if record.unit is not None), None)
    return GoldLinks(golds, len(records), words, unit)


# --- corrections ---------------------------------------------------------------------------------


class Correction(NamedTuple):
    """The links of a pair, and who looked at them when."""

    pair: int  # line of the text, from 1
    pairs: int  # lines of the text
    text: str  # the words; see `pair_fingerprint`
    gold: GoldAlignment
    by: str
    at: str  # ISO 8601
    note: str = ""


def pair_fingerprint(source: Sequence[str], target: Sequence[str]) -> str:
    """Return a fingerprint of the words of a pair: twelve hexadecimal digits."""
    words = f"{' '.join(source)}\n{' '.join(target)}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class TextFingerprint:
    """The fingerprint of a whole text, which is computed while its pairs are read.

    It depends on the words and the order of all pairs, and on how sub-words are joined (`pieces`), because
    the positions of words depend on it.

    >>> key = TextFingerprint()
    >>> for pair in (["the", "cat"], ["le", "chat"]), (["a", "dog"], ["un", "chien"]):
    ...     key.add(*pair)
    >>> len(str(key))
    12
    """

    def __init__(self, pieces: str | None = None) -> None:
        self._hash = hashlib.sha256(f"{pieces or ''}\n".encode())

    def add(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Add the words of the next pair."""
        words = f"{' '.join(source)}\n{' '.join(target)}\n"
        self._hash.update(words.encode("utf-8", "surrogatepass"))

    def __str__(self) -> str:
        return self._hash.hexdigest()[:12]


def are_corrections(path: str | Path) -> bool:
    """Return whether a file of gold links contains corrections, according to its name."""
    return format_ending(as_path(path)) == ".jsonl"


def read_corrections(path: str | Path, *, encoding: str = "utf-8") -> dict[int, Correction]:
    """Return the latest correction of each pair, by the number of the pair.

    All corrections have to be of one text; a DataError names the line.
    """
    latest: dict[int, Correction] = {}
    for number, correction in enumerate(
        name_file_in_errors(path, read_by_line(path, encoding, _parse_correction)), 1
    ):
        if isinstance(correction, DataError):
            raise correction
        first = next(iter(latest.values()), correction)
        if correction.pairs != first.pairs:
            expected = f"expected a text of {first.pairs:,} pairs as before"
            raise DataError(f"{expected}, found one of {correction.pairs:,}").at(path, line=number)
        if correction.pair not in latest or correction.at >= latest[correction.pair].at:
            latest[correction.pair] = correction
    return latest


def _parse_correction(line: str) -> Correction:
    record = parse_json(line)
    values: dict[str, Any] = record if isinstance(record, dict) else {}
    if not all(type(values.get(name)) is kind for name, kind in _CORRECTION_FIELDS.items()):
        names = ", ".join(_CORRECTION_FIELDS)
        raise DataError(f"expected a correction with {names} and links, found {line[:60]!r}")
    if not 0 < values["pairs"] < 10**9:
        raise DataError(f"expected the number of pairs of a text, found {values['pairs']!r:.60}")
    if not 1 <= values["pair"] <= values["pairs"]:
        raise DataError(f"expected a pair from 1 to {values['pairs']:,}, found {values['pair']!r:.60}")
    note = values.get("note", "")
    if not isinstance(note, str):
        raise DataError(f"expected a note as text, found {note!r:.60}")
    fields = {name: values[name] for name in _CORRECTION_FIELDS}
    return Correction(gold=gold_of_json(record, line), note=note, **fields)


def outside_link_error(error: DataError, number: int, file: str | Path | None = None) -> DataError:
    """Return the error of a link outside its pair, with the place of the pair, from 1, and advice.

    In a file, the place is the line of the pair; corrections are in any order, and name their pair instead.
    """
    complete = DataError(f"{error}; {WORD_COUNT_ADVICE}")
    if file is not None and not are_corrections(file):
        return complete.at(file, line=number)
    numbered = DataError(f"pair {number:,}: {complete}")
    return numbered if file is None else numbered.at(file)
