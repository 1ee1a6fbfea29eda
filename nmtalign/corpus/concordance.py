"""Concordance: the translations of a word in a bitext, and their places, from an index on disk.

The index is one SQLite file. A row holds a block of sentences as word numbers. Each word lists its blocks, so
a rare word reads few rows, and a search is array arithmetic. Words that differ only in case are one word.

Sides are 0, the source, and 1, the target. Véronis and Langlais 2000, "Evaluation of parallel text alignment
systems"; Simard 2003, "Translation spotting for translation memories".
"""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import reduce
from itertools import accumulate, islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Integers, Longs, check_strictly_increasing, offsets_of
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.json_files import parse_json
from nmtalign.files.paths import as_path
from nmtalign.files.read_errors import reraise_as_data_error
from nmtalign.files.text_files import is_encodable
from nmtalign.text.tokenization import TextSettings

BLOCK = 1000  # pairs in a row
SEED = 1  # of the places that are shown
GAP = "…"  # between words of a translation that are not adjacent
_GAP, _UNKNOWN = -1, -2  # in place of the number of a form
_FORMS = TextSettings()  # lower case, composed letters
_EXPECTED = "expected an index that `nmtalign index` wrote; this one is damaged, write it again"
_APPLICATION, _VERSION = 0x6E6D7461, 1  # of the file: "nmta"
_TABLES = """
CREATE TABLE about (pairs INTEGER, text TEXT, languages TEXT);
CREATE TABLE files (name TEXT, content BLOB);
CREATE TABLE words (side INTEGER, number INTEGER, word TEXT, PRIMARY KEY (side, number)) WITHOUT ROWID;
CREATE TABLE forms (side INTEGER, form TEXT, number INTEGER, blocks BLOB,
                    PRIMARY KEY (side, form)) WITHOUT ROWID;
CREATE TABLE folds (side INTEGER PRIMARY KEY, numbers BLOB);
CREATE TABLE blocks (number INTEGER PRIMARY KEY, source_lengths BLOB, source BLOB, target_lengths BLOB,
                     target BLOB, link_source BLOB, link_target BLOB);
"""

Words = Sequence[str]
LinkedWords = tuple[Words, Words, Collection[tuple[int, int]]]
Languages = tuple[str | None, str | None]
Unit = tuple[int, ...]  # forms of the words of a query or a translation
Linked = tuple[int, int, list[int]]  # pair of a place in its block, position there, partners


class Occurrence(NamedTuple):
    """A place where the sought words occur."""

    line: int  # number of the pair, from 1
    words: tuple[list[str], list[str]]  # source and target sentence
    marked: tuple[list[int], list[int]]  # positions of the words sought and of their translation, by side


class Spotted(NamedTuple):
    """The translations of words, most frequent first; those that are not adjacent have ``…`` between them."""

    total: int  # places of the words
    different: int  # translations, all of them
    translations: list[tuple[str, int]]  # an empty string stands for no link
    lines: list[Occurrence]  # places drawn at random, in the order of the corpus; the same each time
    among: int  # places of which these are drawn: all, or those with the translation that was asked for


# --- numbers on disk -----------------------------------------------------------------------------


def _packed(numbers: Iterable[int] | Integers) -> bytes:
    """Return whole numbers in the fewest bytes each, after a byte that says how many."""
    values = np.asarray(numbers if isinstance(numbers, np.ndarray) else list(numbers), np.int64)
    size = np.min_scalar_type(int(values.max(initial=0))).itemsize
    return bytes([size]) + values.astype(f"<u{size}").tobytes()


def _unpacked(stored: bytes) -> Integers:
    return np.frombuffer(stored, f"<u{stored[0]}", offset=1)


class _Block(NamedTuple):
    """Pairs of the corpus; the fields are columns of the table, and are numbers of all pairs in a row."""

    source_lengths: Integers
    source: Integers
    target_lengths: Integers
    target: Integers
    link_source: Integers  # places in `source`
    link_target: Integers

    def side(self, side: int) -> tuple[Longs, Integers, Longs]:
        """Return where the sentences of a side begin and end, (N + 1,), its words, its ends of links."""
        lengths, tokens, links = self[2 * side], self[2 * side + 1], self[4 + side]
        return offsets_of(lengths), tokens, links.astype(np.int64)

    def expect_whole(self, folds: Sequence[Integers]) -> None:
        """Refuse words that have no form, sentences that are not all of the words, and links of no words."""
        for k, known in enumerate(folds):
            lengths, tokens, links = self[2 * k], self[2 * k + 1], self[4 + k]
            _expect_below(len(known), tokens)
            _expect_below(len(tokens) + 1, lengths)  # a sum could wrap around
            _expect_below(len(tokens), links)
            if lengths.sum() != len(tokens):
                raise DataError(f"{_EXPECTED} (sentences that are not all of their block)")


def _expect_below(end: int, numbers: Integers) -> None:
    if (numbers >= end).any():
        raise DataError(f"{_EXPECTED} (found the number {numbers.max()}, expected less than {end})")


# --- writing -------------------------------------------------------------------------------------


class _Side:
    """The words and forms of a side, numbered as they come."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.forms: dict[str, int] = {}  # number of the first word that has the form
        self.folds: list[int] = []  # form of each word
        self.of_blocks: list[Longs] = []  # forms that each block has

    def encode(self, sentences: Iterable[Words]) -> list[int]:
        """Return the word numbers of the sentences of a block."""
        numbers = self.numbers
        tokens = [numbers.setdefault(word, len(numbers)) for words in sentences for word in words]
        new = list(islice(numbers, len(self.folds), None))
        for form in _FORMS.normalized(new):
            self.folds.append(self.forms.setdefault(form, len(self.folds)))
        self.of_blocks.append(np.unique(np.array(self.folds, np.int64)[np.array(tokens, np.int64)]))
        return tokens

    def rows_of_forms(self, side: int) -> Iterator[tuple[int, str, int, bytes]]:
        """Yield the rows of the table of forms."""
        forms = np.concatenate([np.zeros(0, np.int64), *self.of_blocks])
        blocks = np.repeat(np.arange(len(self.of_blocks)), list(map(len, self.of_blocks)))
        ends = np.cumsum(np.bincount(forms, minlength=len(self.folds)))
        of_form = np.split(blocks[np.argsort(forms, kind="stable")], ends[:-1])
        for form, number in sorted(self.forms.items()):
            yield side, form, number, _packed(of_form[number])


def write_index(
    path: str | Path,
    pairs: Iterable[LinkedWords],
    text: TextSettings,
    languages: Languages = (None, None),
) -> int:
    """Write the index of a linked bitext into a new file, and return the number of pairs.

    Links are ``(source, target)`` from 0, each once, inside of their pair. `text` has cut the words; searched
    words are cut likewise.
    """
    try:
        with sqlite3.connect(as_path(path)) as database:
            count = _write(database, pairs, text, languages)
    except sqlite3.Error as error:
        if "full" in str(error) or "I/O" in str(error):
            raise OSError(errno.ENOSPC, str(error), str(path)) from None
        raise DataError(str(error)).at(path) from None
    database.close()
    return count


def _write(
    database: sqlite3.Connection, pairs: Iterable[LinkedWords], text: TextSettings, languages: Languages
) -> int:
    database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
    database.executescript(f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}")
    sides, count, rest = (_Side(), _Side()), 0, iter(pairs)
    while chunk := list(islice(rest, BLOCK)):
        row = map(_packed, _encoded(chunk, sides))
        database.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", (count // BLOCK, *row))
        count += len(chunk)
    for k, side in enumerate(sides):
        words = ((k, number, word) for word, number in side.numbers.items())
        database.executemany("INSERT INTO words VALUES (?, ?, ?)", words)
        database.executemany("INSERT INTO forms VALUES (?, ?, ?, ?)", side.rows_of_forms(k))
        database.execute("INSERT INTO folds VALUES (?, ?)", (k, _packed(side.folds)))
    with TemporaryDirectory() as folder:
        text = text.kept_in(Path(folder))
        files = [(path.name, path.read_bytes()) for path in Path(folder).iterdir()]
    database.executemany("INSERT INTO files VALUES (?, ?)", files)
    about = count, json.dumps(text.as_dict()), json.dumps(languages)
    database.execute("INSERT INTO about VALUES (?, ?, ?)", about)
    return count


def _encoded(chunk: Sequence[LinkedWords], sides: tuple[_Side, _Side]) -> Iterator[list[int]]:
    """Yield the columns of a block, in the order of :class:`_Block`."""
    source, target, links = zip(*chunk, strict=True)
    for side, sentences in zip(sides, (source, target), strict=True):
        yield list(map(len, sentences))
        yield side.encode(sentences)
    for k, sentences in enumerate((source, target)):
        begins = accumulate(map(len, sentences), initial=0)
        yield [begin + link[k] for begin, of_pair in zip(begins, links, strict=False) for link in of_pair]


# --- searching -----------------------------------------------------------------------------------


class _Places:
    """The places of a query in a block, and the forms of the other side that they are linked to."""

    def __init__(self, block: _Block, query: Unit, side: int, folds: Sequence[Integers]) -> None:
        self.offsets, tokens, ends = block.side(side)
        self.others, partners, other_ends = block.side(1 - side)
        self.starts = _places(folds[side][tokens], query, self.offsets)
        begins, size = np.zeros(len(tokens) + len(query), bool), max(1, len(partners))
        begins[self.starts] = True
        cells = []
        for k in range(len(query)):
            linked = np.flatnonzero(begins[ends - k])
            cells.append(np.searchsorted(self.starts, ends[linked] - k) * size + other_ends[linked])
        place, self.at = np.divmod(np.unique(np.concatenate(cells)), size)
        self.forms = folds[1 - side][partners[self.at]]
        self.sizes = np.bincount(place, minlength=len(self.starts))  # linked words of each place
        self.ends = np.cumsum(self.sizes)

    def counts(self) -> Counter[Unit]:
        """Return how often each translation occurs."""
        single, times = np.unique(self.forms[self.ends[self.sizes == 1] - 1], return_counts=True)
        counts = Counter[Unit](dict(zip(zip(single.tolist()), times.tolist(), strict=True)))
        counts[()] = int((self.sizes == 0).sum())
        several = self.sizes > 1
        at, forms = self.at.tolist(), self.forms.tolist()
        for end, size in zip(self.ends[several].tolist(), self.sizes[several].tolist(), strict=True):
            counts[_unit(forms[end - size : end], at[end - size : end])] += 1
        return +counts

    def translated_by(self, wanted: Iterable[Unit] | None) -> list[int]:
        """Return the numbers of the places that have one of some translations; of all, if none is wanted."""
        if wanted is None:
            return list(range(len(self.starts)))
        chosen = set[int]()
        for unit in wanted:
            like = np.flatnonzero(self.sizes == len(unit))
            rows = (self.ends[like] - len(unit))[:, None] + np.arange(len(unit))
            chosen.update(like[(self.forms[rows] == np.array(unit, np.int64)).all(axis=1)].tolist())
        return sorted(chosen)

    def linked(self, place: int) -> Linked:
        """Return the pair of a place in its block, its position there, and those of its partners."""
        pair = int(np.searchsorted(self.offsets, self.starts[place], "right")) - 1
        partners = self.at[self.ends[place] - self.sizes[place] : self.ends[place]] - self.others[pair]
        return pair, int(self.starts[place] - self.offsets[pair]), partners.tolist()


def _places(forms: Integers, query: Unit, offsets: Longs) -> Longs:
    """Return where the forms of a query stand side by side in one sentence."""
    last = max(0, len(forms) - len(query) + 1)
    same = [forms[k : last + k] == form for k, form in enumerate(query)]
    starts = np.flatnonzero(np.all(same, axis=0))
    return starts[starts + len(query) <= offsets[np.searchsorted(offsets, starts, "right")]]


def _unit(forms: Sequence[int], at: Sequence[int]) -> Unit:
    """Return the words of a translation with the gaps between them."""
    unit = [forms[0]]
    for form, before, after in zip(forms[1:], at, at[1:], strict=False):
        unit += [form] if after == before + 1 else [_GAP, form]
    return tuple(unit)


class Index:
    """An index for searches, opened for reading only; a DataError if the file is none."""

    def __init__(self, path: str | Path) -> None:
        path = as_path(path)
        if not path.is_file():
            raise DataError("expected an index that `nmtalign index` wrote, found no file").at(path)
        with reraise_as_data_error(path, _EXPECTED):  # immutable: SQLite opens no other file beside it
            address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
            self._open(path, sqlite3.connect(address, uri=True))

    @classmethod
    def of(
        cls, pairs: Iterable[LinkedWords], text: TextSettings, languages: Languages = (None, None)
    ) -> Index:
        """Return an index in memory; for the arguments see :func:`write_index`."""
        index, database = cls.__new__(cls), sqlite3.connect(":memory:")
        _write(database, pairs, text, languages)
        index._open(None, database)
        return index

    def _open(self, path: str | Path | None, database: sqlite3.Connection) -> None:
        """Take an index; without a path it is our own, and what goes wrong is no fault of a file."""
        self._path, self._database = path, database
        marks = [*self._one("PRAGMA application_id"), *self._one("PRAGMA user_version")]
        if marks != [_APPLICATION, _VERSION]:
            raise DataError("expected an index that `nmtalign index` of this version wrote")
        tables = "".join(f"{sql};\n" for (sql,) in database.execute("SELECT sql FROM sqlite_master"))
        if tables != _TABLES.lstrip():  # a view can count for ever
            raise DataError("expected the tables of an index, found others")
        self.pairs, text, languages = self._one("SELECT * FROM about")
        self._text = TextSettings.opened(parse_json(text), self._files().__getitem__)
        self._languages = _languages(parse_json(languages))
        rows = database.execute("SELECT numbers FROM folds ORDER BY side")
        self._folds = [_unpacked(numbers) for (numbers,) in rows]
        for folds in self._folds:
            _expect_below(len(folds), folds)
        if type(self.pairs) is not int or len(self._folds) != 2:
            raise DataError(_EXPECTED)

    def _files(self) -> dict[str, Path]:
        """Return where the files of the tokenizer lie by their names, while the index is open."""
        rows = self._database.execute("SELECT name, content FROM files").fetchall()
        if not rows:
            return {}
        folder = mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for n, (_, content) in enumerate(rows):
            Path(folder, str(n)).write_bytes(content)
        return {name: Path(folder, str(n)) for n, (name, _) in enumerate(rows)}

    def _one(self, question: str, *values: Any) -> Any:
        return self._database.execute(question, values).fetchone()

    def find(
        self,
        query: str,
        side: int,
        *,
        translation: str | None = None,
        limit: int | None = None,
        most: int = 10,
    ) -> Spotted:
        """Return the translations of one word or of adjacent words of a side; none is no error.

        With a `translation`, only lines are shown that have it, whether or not its words stand side by side.
        At most `limit` translations are named (None: all), and `most` lines shown.
        """
        _check_query(query, side, translation, limit, most)
        with nullcontext() if self._path is None else reraise_as_data_error(self._path, _EXPECTED):
            sought = self._query(query, side)
            forms = tuple(form for form, _ in sought)
            wanted = None if translation is None else self._wanted(translation, 1 - side)
            counts, among = Counter[Unit](), 0
            draw, kept = np.random.default_rng(SEED), list[tuple[float, int, Linked]]()
            for number in reduce(np.intersect1d, [blocks for _, blocks in sought]).tolist() if sought else ():
                places = _Places(self._block(number), forms, side, self._folds)
                counts.update(places.counts())
                chosen = places.translated_by(wanted)
                among += len(chosen)
                keys = draw.random(len(chosen))
                kept += [
                    (keys[k], number, places.linked(chosen[k])) for k in np.argsort(keys)[:most].tolist()
                ]
                kept = sorted(kept)[:most]
            units = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:limit]
            named = [(self._named(unit, 1 - side), count) for unit, count in units]
            lines = [self._occurrence(*place, len(forms), side) for place in sorted(key[1:] for key in kept)]
        return Spotted(counts.total(), len(counts), named, lines, among)

    def _query(self, query: str, side: int) -> list[tuple[int, Integers]]:
        """Return the forms of a query: cut at spaces, and where there are no such words, as the text was."""
        forms = [self._form(word, side) for word in query.split(" ") if word]
        if all(number != _UNKNOWN for number, _ in forms):
            return forms
        line = ("", query) if side else (query, "")
        tokens = self._text.tokens_of_pair(line, self._languages)[side]
        return [self._form(token.text, side) for token in tokens]

    def _wanted(self, translation: str, side: int) -> set[Unit]:
        """Return the forms of a translation, with and without gaps: ``…`` may be a word of the text."""
        words = [word for word in translation.split(" ") if word]
        both = words, [word for word in words if word != GAP] or words
        return {tuple(self._form(word, side)[0] for word in unit) for unit in both}

    def _form(self, word: str, side: int) -> tuple[int, Integers]:
        """Return the number of the form of a word, `_UNKNOWN` for an unknown one, and its blocks."""
        question = "SELECT number, blocks FROM forms WHERE side = ? AND form = ?"
        row = self._one(question, side, _FORMS.normalized([word])[0])
        number, packed = row or (_UNKNOWN, _packed([]))
        blocks = _unpacked(packed)
        check_strictly_increasing(blocks, name=self._path or "memory")
        if type(number) is not int:
            raise DataError(_EXPECTED)
        return number, blocks

    def _block(self, number: int) -> _Block:
        _, *columns = self._one("SELECT * FROM blocks WHERE number = ?", number)
        block = _Block(*map(_unpacked, columns))
        block.expect_whole(self._folds)
        return block

    def _occurrence(self, number: int, linked: Linked, size: int, side: int) -> Occurrence:
        (pair, start, partners), block = linked, self._block(number)
        sought, words = list(range(start, start + size)), list[list[str]]()
        for k in (0, 1):
            offsets, tokens, _ = block.side(k)
            words.append([self._word(n, k) for n in tokens[offsets[pair] : offsets[pair + 1]].tolist()])
        marked = (partners, sought) if side else (sought, partners)
        return Occurrence(number * BLOCK + pair + 1, (words[0], words[1]), marked)

    def _word(self, number: int, side: int) -> str:
        word: str = self._one("SELECT word FROM words WHERE side = ? AND number = ?", side, number)[0]
        return word

    def _named(self, unit: Unit, side: int) -> str:
        words = [GAP if form == _GAP else self._word(form, side) for form in unit]
        return " ".join(_FORMS.normalized(words))


def _check_query(query: str, side: int, translation: str | None, *counts: int | None) -> None:
    """Refuse arguments that nothing can be sought with."""
    for text in (query, translation or ""):
        if not isinstance(text, str) or not is_encodable(text):
            raise UsageError(f"expected words as text, in UTF-8, found {short_repr(text)}")
    if side not in (0, 1):
        raise UsageError(f"expected side 0, the source, or 1, the target, found {short_repr(side)}")
    for count in counts:
        if not (count is None or (isinstance(count, int) and count >= 0)):
            raise UsageError(
                f"expected a number of translations and of lines, 0 or more, found {short_repr(count)}"
            )


def _languages(names: Any) -> Languages:
    if not (isinstance(names, list) and len(names) == 2 and all(isinstance(n, str | None) for n in names)):
        raise DataError(f"expected two languages, found {names!r:.60}")
    return names[0], names[1]
