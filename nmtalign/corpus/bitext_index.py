"""The index of a linked bitext: one SQLite file, in which few rows are read to find a word.

Words and forms are numbered by side, as they come; forms are words without case, so words that differ only
in case have one form. If words are separated by spaces, forms have no punctuation at their edges, so *house*
is found in ``House,``; a tokenizer makes such marks tokens of their own. A row of the table ``blocks``
contains `PAIRS_PER_INDEX_BLOCK` sentence pairs as numbers of words. The table ``forms`` lists for each form
the blocks in which it occurs. If the pairs come from a DataFrame, the tables ``levels`` and ``labels``
contain its index.

Sides are 0, the source, and 1, the target. :mod:`nmtalign.applications.concordance` searches an index.
"""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate, islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

import numpy as np

from nmtalign.arrays import Integers, Longs, check_strictly_increasing, offsets_of
from nmtalign.corpus.sides import WordForms
from nmtalign.display import single_line, with_plural
from nmtalign.errors import DataError
from nmtalign.files.paths import as_path, reraise_as_data_error
from nmtalign.files.text_files import parse_json
from nmtalign.text.punctuation import without_edge_marks
from nmtalign.text.tokenization import Languages, TextSettings

PAIRS_PER_INDEX_BLOCK = 1000
UNKNOWN_FORM = -2  # the number of a form that does not occur
FORM_SETTINGS = TextSettings()  # forms are in lower case and have composed letters
SPACES = TextSettings().tokenizer  # words are separated by spaces
MISMATCH = "expected an index that `nmtalign find --index` wrote; this one is damaged, write it again"
APPLICATION_ID = 0x6E6D7461  # "nmta"; SQLite keeps it in the file
INDEX_VERSION = 2
VALUE_LABELS = "values"  # the kind of labels that are numbers or text, as JSON has them
_TABLES = """
CREATE TABLE about (pairs INTEGER, text TEXT, languages TEXT);
CREATE TABLE files (name TEXT, content BLOB);
CREATE TABLE words (side INTEGER, number INTEGER, word TEXT, PRIMARY KEY (side, number)) WITHOUT ROWID;
CREATE TABLE forms (side INTEGER, form TEXT, number INTEGER, blocks BLOB,
                    PRIMARY KEY (side, form)) WITHOUT ROWID;
CREATE TABLE folds (side INTEGER PRIMARY KEY, numbers BLOB);
CREATE TABLE blocks (number INTEGER PRIMARY KEY, source_lengths BLOB, source BLOB, target_lengths BLOB,
                     target BLOB, link_source BLOB, link_target BLOB);
CREATE TABLE levels (number INTEGER PRIMARY KEY, name TEXT, kind TEXT);
CREATE TABLE labels (level INTEGER, block INTEGER, labels TEXT, PRIMARY KEY (level, block)) WITHOUT ROWID;
"""

IndexedWords = Sequence[str]
IndexedPair = tuple[IndexedWords, IndexedWords, Collection[tuple[int, int]]]  # source, target, links
Label = str | float | bool | None  # of a pair, in the index of a DataFrame


class LabelLevel(NamedTuple):
    """One level of the index of a DataFrame."""

    name: str | None
    kind: str  # `VALUE_LABELS`, or the type of times in pandas, whose labels are integers
    labels: Sequence[Label]  # one for each pair


# --- numbers on disk -----------------------------------------------------------------------------


def _pack(numbers: Iterable[int] | Integers) -> bytes:
    """Return integers with as few bytes each as the largest needs, after one byte with this size."""
    values = np.asarray(numbers if isinstance(numbers, np.ndarray) else list(numbers), np.int64)
    largest = int(values.max(initial=0))
    size = np.min_scalar_type(largest).itemsize
    return bytes([size]) + values.astype(f"<u{size}").tobytes()


def _unpack(stored: bytes) -> Integers:
    """Return the integers that `_pack` has packed."""
    size = stored[0]
    return np.frombuffer(stored, f"<u{size}", offset=1)


def forms_function_of(text_settings: TextSettings) -> WordForms:
    """Return the function that makes forms of the words of a text that was split with these settings."""
    return _forms_without_marks if text_settings.tokenizer == SPACES else FORM_SETTINGS.normalized


def _forms_without_marks(words: Sequence[str]) -> list[str]:
    return FORM_SETTINGS.normalized([without_edge_marks(word) for word in words])


class BlockSide(NamedTuple):
    """One side of some sentence pairs."""

    offsets: Longs  # (N + 1,): where each sentence begins in `words`, and the end
    words: Integers  # of all sentences, one after the other
    link_ends: Longs  # of each link, the index of its word in `words`


def _checked_side(lengths: Integers, words: Integers, link_ends: Integers, form_ids: Integers) -> BlockSide:
    """Return a side from its columns; raise DataError if they are inconsistent.

    A word may lack a form, the lengths of the sentences may not add up, or a link may lead to no word.
    """
    _check_below(len(form_ids), words)
    _check_below(len(words) + 1, lengths)  # a sum could wrap around
    _check_below(len(words), link_ends)
    if lengths.sum() != len(words):
        raise DataError(f"{MISMATCH} (the lengths of its sentences do not add up)")
    return BlockSide(offsets_of(lengths), words, link_ends.astype(np.int64))


def _check_below(end: int, numbers: Integers) -> None:
    """Raise DataError if a number is `end` or more."""
    if (numbers >= end).any():
        raise DataError(f"{MISMATCH} (found the number {numbers.max()}, expected less than {end})")


# --- writing -------------------------------------------------------------------------------------


class _SideWriter:
    """The words and forms of a side, numbered as they come."""

    def __init__(self, forms_of_words: WordForms) -> None:
        self._forms_of_words = forms_of_words
        self.word_numbers: dict[str, int] = {}
        self.form_numbers: dict[str, int] = {}  # a form has the number of its first word
        self.form_ids: list[int] = []  # form of each word
        self.forms_of_blocks: list[Longs] = []  # forms that occur in each block

    def encode(self, sentences: Iterable[IndexedWords]) -> list[int]:
        """Return the word numbers of the sentences of a block, and note which forms occur in it."""
        numbers = self.word_numbers
        tokens: list[int] = []
        for words in sentences:
            tokens += [numbers.setdefault(word, len(numbers)) for word in words]
        new_words = list(islice(numbers, len(self.form_ids), None))
        for form in self._forms_of_words(new_words):
            number = self.form_numbers.setdefault(form, len(self.form_ids))
            self.form_ids.append(number)
        forms = np.array(self.form_ids, np.int64)[np.array(tokens, np.int64)]
        self.forms_of_blocks.append(np.unique(forms))
        return tokens

    def rows_of_forms(self, side: int) -> Iterator[tuple[int, str, int, bytes]]:
        """Yield the rows of the table of forms."""
        forms = np.concatenate([np.zeros(0, np.int64), *self.forms_of_blocks])
        block_sizes = [len(forms_of_block) for forms_of_block in self.forms_of_blocks]
        blocks = np.repeat(np.arange(len(block_sizes)), block_sizes)
        # sort the blocks by form; a stable sort keeps those of a form in order
        by_form = blocks[np.argsort(forms, kind="stable")]
        ends = np.cumsum(np.bincount(forms, minlength=len(self.form_ids)))
        blocks_of_form = np.split(by_form, ends[:-1])
        for form, number in sorted(self.form_numbers.items()):
            yield side, form, number, _pack(blocks_of_form[number])


def write_index_file(
    path: str | Path,
    pairs: Iterable[IndexedPair],
    text_settings: TextSettings | None = None,
    languages: Languages = (None, None),
    levels: Sequence[LabelLevel] = (),
) -> int:
    """Write the index of a linked bitext into a new file, and return the number of pairs.

    Links are ``(source, target)`` from 0, each once, inside of their pair. `text_settings` has split the
    lines into words; searched words are split in the same way, without settings at spaces. `levels` are those
    of the index of the DataFrame that the pairs come from.
    """
    try:
        with sqlite3.connect(as_path(path)) as database:
            count = _write_tables(database, pairs, text_settings or TextSettings(), languages, levels)
    except sqlite3.Error as error:
        if "full" in str(error) or "I/O" in str(error):
            raise OSError(errno.ENOSPC, str(error), str(path)) from None
        raise DataError(str(error)).at(path) from None
    database.close()
    return count


def _write_tables(
    database: sqlite3.Connection,
    pairs: Iterable[IndexedPair],
    text_settings: TextSettings,
    languages: Languages,
    levels: Sequence[LabelLevel] = (),
) -> int:
    """Write all tables, and return the number of pairs."""
    # a run that fails leaves no file behind, so no journal is needed
    database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
    database.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {INDEX_VERSION}")
    forms_of_words = forms_function_of(text_settings)
    sides = _SideWriter(forms_of_words), _SideWriter(forms_of_words)
    count = 0
    remaining = iter(pairs)
    while chunk := list(islice(remaining, PAIRS_PER_INDEX_BLOCK)):
        columns = map(_pack, _encoded_columns(chunk, sides))
        number = count // PAIRS_PER_INDEX_BLOCK
        database.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *columns))
        for level_number, level in enumerate(levels):
            labels = json.dumps(level.labels[count : count + len(chunk)])
            database.execute("INSERT INTO labels VALUES (?, ?, ?)", (level_number, number, labels))
        count += len(chunk)
    for side, writer in enumerate(sides):
        words = ((side, number, word) for word, number in writer.word_numbers.items())
        database.executemany("INSERT INTO words VALUES (?, ?, ?)", words)
        database.executemany("INSERT INTO forms VALUES (?, ?, ?, ?)", writer.rows_of_forms(side))
        database.execute("INSERT INTO folds VALUES (?, ?)", (side, _pack(writer.form_ids)))
    for level_number, level in enumerate(levels):
        database.execute("INSERT INTO levels VALUES (?, ?, ?)", (level_number, level.name, level.kind))
    with TemporaryDirectory() as folder:
        text_settings = text_settings.kept_in(Path(folder))  # copies the files of the tokenizer
        files = [(path.name, path.read_bytes()) for path in Path(folder).iterdir()]
    database.executemany("INSERT INTO files VALUES (?, ?)", files)
    about = count, json.dumps(text_settings.as_dict()), json.dumps(languages)
    database.execute("INSERT INTO about VALUES (?, ?, ?)", about)
    return count


def _encoded_columns(
    chunk: Sequence[IndexedPair], sides: tuple[_SideWriter, _SideWriter]
) -> Iterator[list[int]]:
    """Yield the columns of a block, in the order of the table."""
    sentences_of_sides = [pair[0] for pair in chunk], [pair[1] for pair in chunk]
    links_of_pairs = [pair[2] for pair in chunk]
    for writer, sentences in zip(sides, sentences_of_sides, strict=True):
        yield [len(words) for words in sentences]
        yield writer.encode(sentences)
    for side, sentences in enumerate(sentences_of_sides):
        starts = accumulate(map(len, sentences), initial=0)
        link_ends: list[int] = []
        for start, links in zip(starts, links_of_pairs, strict=False):  # the last start is the end
            link_ends += [start + link[side] for link in links]
        yield link_ends


# --- reading -------------------------------------------------------------------------------------


class BitextIndex:
    """An index that is open for reading.

    Attributes
    ----------
    pair_count : int
        Number of sentence pairs.
    form_ids : list of arrays
        For each side, the number of the form of each word.
    """

    def __init__(self, database: sqlite3.Connection, path: Path | None = None) -> None:
        """Check the tables; `path` is None for an index in memory, which is not checked for damage."""
        self._database = database
        self._path = path
        marks = [*self._row("PRAGMA application_id"), *self._row("PRAGMA user_version")]
        if marks != [APPLICATION_ID, INDEX_VERSION]:
            raise DataError("expected an index that `nmtalign find --index` of this version wrote")
        tables = "".join(f"{sql};\n" for (sql,) in database.execute("SELECT sql FROM sqlite_master"))
        if tables != _TABLES.lstrip():  # a view could count without end
            raise DataError("expected the tables of an index, found others")
        self.pair_count, text, languages = self._row("SELECT * FROM about")
        self._text_settings = TextSettings.opened(parse_json(text), self._unpack_files().__getitem__)
        self._languages = _check_languages(parse_json(languages))
        rows = database.execute("SELECT numbers FROM folds ORDER BY side")
        self.form_ids = [_unpack(numbers) for (numbers,) in rows]
        for forms_of_words in self.form_ids:
            _check_below(len(forms_of_words), forms_of_words)
        if type(self.pair_count) is not int or len(self.form_ids) != 2:
            raise DataError(MISMATCH)

    def _row(self, query: str, *values: Any) -> Any:
        """Return the first row that a query gives, None if there is none."""
        return self._database.execute(query, values).fetchone()

    def _unpack_files(self) -> dict[str, Path]:
        """Write the files of the tokenizer into a folder that exists as long as the index is open."""
        rows = self._database.execute("SELECT name, content FROM files").fetchall()
        if not rows:
            return {}
        folder = mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        paths: dict[str, Path] = {}
        for number, (name, content) in enumerate(rows):
            paths[name] = Path(folder, str(number))  # a name from the file could lead elsewhere
            paths[name].write_bytes(content)
        return paths

    def __repr__(self) -> str:
        name = "memory" if self._path is None else self._path.name
        return single_line(f"BitextIndex of {with_plural(self.pair_count, 'pair')} from {name}")

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which whatever a damaged file causes becomes a DataError that names it."""
        return nullcontext() if self._path is None else reraise_as_data_error(self._path, MISMATCH)

    def block(self, number: int) -> tuple[BlockSide, BlockSide]:
        """Return both sides of the block with this number; a DataError if its arrays do not fit."""
        _, *columns = self._row("SELECT * FROM blocks WHERE number = ?", number)
        lengths, words, target_lengths, target_words, link_source, link_target = map(_unpack, columns)
        source = _checked_side(lengths, words, link_source, self.form_ids[0])
        return source, _checked_side(target_lengths, target_words, link_target, self.form_ids[1])

    def pair_number(self, block_number: int, pair: int) -> int:
        """Return the number in the bitext of a pair of a block; both count from 0."""
        return block_number * PAIRS_PER_INDEX_BLOCK + pair

    def label_kinds(self) -> list[tuple[str | None, str]]:
        """Return name and kind of each level of the labels of pairs; none if the pairs have no labels."""
        return self._database.execute("SELECT name, kind FROM levels ORDER BY number").fetchall()

    def labels(self, level: int, pairs: Iterable[int]) -> list[Label]:
        """Return the labels of pairs, by their numbers in the bitext, on one level."""
        labels_of_blocks: dict[int, list[Label]] = {}
        found: list[Label] = []
        for pair in pairs:
            block, number = divmod(pair, PAIRS_PER_INDEX_BLOCK)
            if block not in labels_of_blocks:
                query = "SELECT labels FROM labels WHERE level = ? AND block = ?"
                labels_of_blocks[block] = _check_labels(parse_json(self._row(query, level, block)[0]))
            found.append(labels_of_blocks[block][number])
        return found

    def word(self, number: int, side: int) -> str:
        """Return a word of a side by its number."""
        row = self._row("SELECT word FROM words WHERE side = ? AND number = ?", side, number)
        word: str = row[0]
        return word

    def words(self, numbers: Iterable[int], side: int) -> list[str]:
        """Return words of a side by their numbers."""
        return [self.word(number, side) for number in numbers]

    def normalized(self, words: Sequence[str]) -> list[str]:
        """Return the forms of words as text."""
        return forms_function_of(self._text_settings)(words)

    def look_up(self, word: str, side: int) -> tuple[int, Integers]:
        """Return the number of the form of a word, `UNKNOWN_FORM` if it does not occur, and its blocks."""
        query = "SELECT number, blocks FROM forms WHERE side = ? AND form = ?"
        row = self._row(query, side, self.normalized([word])[0])
        if row is None:
            return UNKNOWN_FORM, np.zeros(0, np.int64)
        number, packed = row
        blocks = _unpack(packed)
        check_strictly_increasing(blocks, name=self._path or "memory")
        if type(number) is not int:
            raise DataError(MISMATCH)
        return number, blocks

    def tokens(self, line: str, side: int) -> list[str]:
        """Split a line of a side as the bitext was split."""
        lines = ("", line) if side == 1 else (line, "")
        both_sides = self._text_settings.tokens_of_pair(lines, self._languages)
        return [token.text for token in both_sides[side]]


def open_index(path: str | Path) -> BitextIndex:
    """Open the index of a linked bitext, in which :func:`nmtalign.find` searches many words quickly.

    Parameters
    ----------
    path : str or Path
        The file that :func:`nmtalign.write_index`, or ``nmtalign find --index``, has written.

    Raises
    ------
    DataError
        If the file is not an index, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import nmtalign as na
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     na.write_index(f"{folder}/corpus.db", [("the cat", "le chat", "0-0 1-1")])
    ...     index = na.open_index(f"{folder}/corpus.db")
    ...     [na.find(index, word)["translation"].item() for word in ("the", "cat")]
    ['le', 'chat']
    """
    path = as_path(path)
    if not path.is_file():
        raise DataError("expected an index that `nmtalign find --index` wrote, found no file").at(path)
    with reraise_as_data_error(path, MISMATCH):
        # immutable: SQLite opens no other file next to it
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        return BitextIndex(sqlite3.connect(address, uri=True), path)


def build_index(
    pairs: Iterable[IndexedPair],
    text_settings: TextSettings | None = None,
    languages: Languages = (None, None),
) -> BitextIndex:
    """Return an index in memory; the arguments are those of :func:`write_index_file`.

    Without `text_settings`, searched words are split at spaces.
    """
    database = sqlite3.connect(":memory:")
    _write_tables(database, pairs, text_settings or TextSettings(), languages)
    return BitextIndex(database)


def _check_languages(names: Any) -> Languages:
    """Return two languages, each a name or None; raise DataError if the names are something else."""
    if not (isinstance(names, list) and len(names) == 2 and all(isinstance(n, str | None) for n in names)):
        raise DataError(f"expected two languages, found {names!r:.60}")
    return names[0], names[1]


def _check_labels(labels: Any) -> list[Label]:
    """Return the labels of a block; raise DataError if they are not numbers, text or None."""
    listed = labels if isinstance(labels, list) else [labels]
    are_labels = all(isinstance(label, str | int | float | None) for label in listed)
    if not isinstance(labels, list) or not are_labels:
        raise DataError(f"expected labels of pairs, found {labels!r:.60}")
    return listed
