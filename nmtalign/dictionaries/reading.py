"""Open bilingual dictionaries: objects of Python, and files of any known format, which their content tells.

Other formats are recognized by their endings and first bytes; the error names the program that converts them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nmtalign.dictionaries.entries import (
    MAX_WEIGHT,
    Entry,
    JumpCount,
    Unused,
    Wanted,
    check_size,
    every_headword,
)
from nmtalign.dictionaries.line_dictionaries import languages_of_file, read_lines_of
from nmtalign.display import short_repr, with_plural
from nmtalign.errors import DataError, UsageError, error_text, warn_caller
from nmtalign.files.compressed import DECOMPRESSION_ERRORS, open_binary
from nmtalign.files.paths import as_path, reraise_as_data_error
from nmtalign.files.text_files import check_encoding
from nmtalign.text.containers import PairTable, Table, as_table
from nmtalign.text.headers import find_side_columns, language_of_column
from nmtalign.validation import check_number

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class DictionaryFile:
    """A dictionary in a file."""

    path: str | Path
    encoding: str = "utf-8"  # the encoding of word lists; other formats have their own

    def check(self) -> None:
        """Raise an error now if there is no such file, or no such format, before a long text is read."""
        check_encoding(self.encoding)
        path = as_path(self.path)
        if str(path) == "-":
            return
        if path.is_file():
            check_own_format(path)
        else:
            open_binary(path).close()

    def named_languages(self) -> tuple[list[str], list[str]]:
        """Return the languages of headwords and of translations that a file on this disk names."""
        path = as_path(self.path)
        if str(path) == "-" or not path.is_file():  # it was read before
            return [], []
        return languages_of_file(path, self.encoding)

    def entries(
        self, wanted: Wanted = every_headword, jumps: list[JumpCount] | None = None
    ) -> Iterator[Entry]:
        """Yield the entries of wanted headwords that have translations, cleaned; warnings count the others.

        The jumps of eflomal's priors are added to `jumps`; a warning counts them if that is None.

        Raises DataError if no entry can be used: there are none, or half of them or more are malformed, or
        none has a translation. Then the file is not a dictionary.
        """
        total = malformed = translated = untranslated = skipped_jumps = 0
        first: DataError | None = None
        first_untranslated: Entry | None = None
        with reraise_as_data_error(self.path):
            if str(self.path) != "-" and as_path(self.path).is_file():
                check_own_format(as_path(self.path))
            for record in read_lines_of(as_path(self.path), self.encoding, wanted):
                if isinstance(record, Unused):
                    total += record.entries
                    continue
                total += 1
                if isinstance(record, JumpCount):
                    skipped_jumps += jumps is None
                    if jumps is not None:
                        jumps.append(record)
                    continue
                if isinstance(record, Entry):
                    line = record.line
                    record = check_size(record)
                    if isinstance(record, DataError):
                        record = record.at(self.path, line=line)
                if isinstance(record, DataError):
                    malformed += 1
                    first = record if first is None else first
                    continue
                record = record.cleaned()
                if record.glosses:
                    translated += 1
                    yield record
                else:
                    untranslated += 1
                    first_untranslated = first_untranslated or record
        if first is not None and 2 * malformed >= total:
            raise first
        if skipped_jumps:
            lines = f"{with_plural(skipped_jumps, 'line')} of jumps (HMMF, HMMR)"
            warn_caller(f"{self.path}: skipped {lines}, which are not word pairs")
        if not total:
            raise DataError("expected a dictionary, found no entries").at(self.path)
        if first is not None:
            found = f"{malformed:,} of {total:,} entries are malformed and were skipped"
            warn_caller(f"{self.path}: {found}, the first: {first}")
        if first_untranslated is not None and untranslated > translated:
            words = " ".join(first_untranslated.headwords)
            found = f"{untranslated:,} of {total:,} entries, the first in line {first_untranslated.line:,}"
            problem = f"no translations were found in {found}: {short_repr(words)}"
            if untranslated == total:
                raise DataError(f"expected entries with translations; {problem}").at(self.path)
            warn_caller(f"{self.path}: {problem}")


def read_dictionary(path: str | Path, *, encoding: str = "utf-8") -> pandas.DataFrame:
    """Read a bilingual dictionary as ``nmtalign train --prior`` does.

    The format is detected from the content: word lists (word, translation, and perhaps a weight, between tabs
    or spaces; objects of JSON; word lists of PyGlossary), CC-CEDICT, EDICT and EDICT2, Wiktionary extracts in
    JSON lines, and eflomal's priors. For other formats, such as StarDict, the error says how to convert them.

    Parameters
    ----------
    path : path
        The dictionary; it may be compressed.
    encoding : str
        The encoding of a word list. Other formats have their own.

    Returns
    -------
    pandas.DataFrame
        The columns ``headword``, ``translation`` and ``weight``, with one row for each translation. Glosses
        are split into their translations, without remarks in brackets.

    Raises
    ------
    DataError
        If the file is not a dictionary of these formats, at least half of its entries are malformed, or none
        has a translation.

    Warns
    -----
    NmtalignWarning
        If some entries are malformed, or most have no translation: how many, and where the first one is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "cedict.u8"
    >>> _ = path.write_text("貓 猫 [mao1] /cat/to hide (oneself)/", encoding="utf-8")
    >>> print(read_dictionary(path).to_string(index=False))
    headword translation  weight
           貓         cat     1.0
           貓        hide     1.0
           猫         cat     1.0
           猫        hide     1.0
    """
    import pandas

    rows = []
    for entry in DictionaryFile(path, encoding).entries():
        for headword in entry.headwords:
            rows += [(headword, translation, entry.weight) for translation in entry.glosses]
    return pandas.DataFrame(rows, columns=["headword", "translation", "weight"])


# --- dictionaries in memory ----------------------------------------------------------------------

MAX_TABLE_COLUMNS = 10  # a dictionary of Python with more keys has words

DictionaryRow = Sequence[str | float]  # headword, translation, perhaps a weight
TranslationsOfWord = str | Sequence[str] | Mapping[str, float]
GivenDictionary = str | Path | Table | Mapping[str, TranslationsOfWord] | Iterable[DictionaryRow]
GivenDictionaries = GivenDictionary | Sequence[GivenDictionary]


@dataclass(frozen=True)
class DictionaryRows:
    """A dictionary in memory, with the same entries as one in a file."""

    path: str  # what messages call it
    rows: Sequence[tuple[str, str, float]]  # headword, translation, weight
    columns: tuple[str, str] = ("", "")  # the names of the columns of a table

    def named_languages(self) -> tuple[list[str], list[str]]:
        """Return the languages of headwords and of translations that the columns name."""
        languages = [language_of_column(name) for name in self.columns]
        return [languages[0]] if languages[0] else [], [languages[1]] if languages[1] else []

    def entries(self, wanted: Wanted, jumps: list[JumpCount]) -> Iterator[Entry]:
        """Yield the entries of wanted headwords; there are no jumps."""
        chosen = wanted([headword for headword, *_ in self.rows])
        for number, (headword, translation, weight) in enumerate(self.rows, 1):
            if headword in chosen:
                yield Entry(number, (headword,), (translation,), weight, is_clean=True)


Dictionary = DictionaryFile | DictionaryRows


def open_dictionaries(
    given: GivenDictionaries | None, encoding: str = "utf-8", *, name: str = "prior"
) -> list[Dictionary]:
    """Return the dictionaries that a user gives as a parameter; a DataError now if there is no such file."""
    if given is None:
        return []
    if isinstance(given, str | Path):
        file = DictionaryFile(given, encoding)
        file.check()
        return [file]
    if isinstance(given, Mapping) and not _is_table_of_columns(given, name):
        return [_rows_of(given.items(), name)]
    if isinstance(given, ItemsView):
        return [_rows_of(given, name)]
    table = as_table(given)
    if table is not None:
        return [_rows_of_table(table, name)]
    if hasattr(given, "items") and hasattr(given, "index"):  # a Series of pandas, indexed by words
        return [_rows_of(given.items(), name)]
    if isinstance(given, Iterator):
        given = list(given)  # such as zip(headwords, translations)
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        expected = f"expected a path, a DataFrame, a dictionary or pairs as `{name}`"
        raise UsageError(f"{expected}, found {short_repr(given)}")
    if given and _is_dictionary_row(given[0]):
        return [_rows_of(given, name)]
    if (
        isinstance(given, tuple)
        and _is_dictionary_row(given)
        and not any(as_path(str(path)).exists() for path in given)
    ):
        advice = f"a single pair goes in a list: [{short_repr(given)}]"
        raise UsageError(f"expected word pairs, or files, as `{name}`, found {short_repr(given)}; {advice}")
    several = cast(Sequence[GivenDictionary], given)
    return [dictionary for one in several for dictionary in open_dictionaries(one, encoding, name=name)]


def _is_table_of_columns(given: Mapping[Any, Any], parameter: str) -> bool:
    """Return whether a dictionary has columns, not translations of words.

    A table has two columns, and perhaps ``weight``. They are ``headword`` and ``translation``, or have the
    names of two sides and several entries in parallel. UsageError is raised for what may be both.
    """
    if any(isinstance(column, str | set | frozenset | Mapping) for column in given.values()):
        return False
    names = [str(name) for name in given if name != "weight"]
    if set(names) == {"headword", "translation"}:
        return True
    if len(names) > MAX_TABLE_COLUMNS or not _has_side_names(names):
        return False
    lengths = [len(column) for column in given.values() if hasattr(column, "__len__")]
    are_parallel = len(lengths) == len(given) and len(set(lengths)) == 1 and lengths[0] > 1
    if len(names) == 2 and are_parallel:
        return True
    if len(names) > 2 and not are_parallel:
        return False
    found = f"found keys that may be words or names of columns: {short_repr(names)}"
    advice = "write pairs, [(word, translation), ...], or a DataFrame"
    raise UsageError(f"`{parameter}`: expected words with their translations, or columns, {found}; {advice}")


def _has_side_names(names: Sequence[str]) -> bool:
    """Return whether some of the names are those of two sides."""
    if {"headword", "translation"} <= set(names):
        return True
    try:
        return find_side_columns(names) is not None
    except DataError:  # more than two names are those of sides
        return True


def _is_dictionary_row(value: object) -> bool:
    """Return whether a value seems to be a headword and its translation, perhaps with a weight."""
    return isinstance(value, tuple | list) and 2 <= len(value) <= 3 and isinstance(value[0], str)


def _rows_of_table(table: PairTable, parameter: str) -> DictionaryRows:
    """Return the dictionary of the columns of headwords, translations and, if there is one, weights.

    Other columns are ignored. UsageError is raised if it is not clear which the first two are.
    """
    names = [str(name) for name in table.names]
    places = [number for number, name in enumerate(names) if name != "weight"]
    if {"headword", "translation"} <= set(names):
        chosen = [names.index("headword"), names.index("translation")]
    else:
        try:
            sides = find_side_columns([names[place] for place in places])
        except DataError:  # more than two columns may be sides
            sides = None
        if sides is None and len(places) != 2:
            expected = "expected the columns headword and translation, or two others and perhaps weight"
            found = f"found the columns {', '.join(names)[:80]}"
            raise UsageError(f"`{parameter}`: {expected}, {found}; choose two: table[['en', 'fr']]")
        chosen = places if sides is None else [places[sides.source], places[sides.target]]
    columns = names[chosen[0]], names[chosen[1]]
    if "weight" in names:
        chosen = [*chosen, names.index("weight")]
    rows = _rows_of(zip(*(table.column(place) for place in chosen), strict=True), parameter)
    return replace(rows, columns=columns)


def _rows_of(given: Iterable[Any], parameter: str) -> DictionaryRows:
    """Return the dictionary of the rows that a user gives as a parameter."""
    rows = []
    for number, row in enumerate(given):
        place = f"row {number} of `{parameter}`"
        is_row = isinstance(row, tuple | list) and 2 <= len(row) <= 3
        weight = row[2] if is_row and len(row) > 2 else 1.0
        translations = _translations_with_weights(row[1], weight) if is_row else []
        words = [row[0], *(translation for translation, _ in translations)] if is_row else [row]
        if not all(isinstance(word, str) for word in words):
            is_missing = any(word is None or word != word for word in words)  # NaN differs from itself
            advice = "; leave out rows without text, of a DataFrame with frame.dropna()" if is_missing else ""
            expected = "expected a headword and a translation"
            raise UsageError(f"{place}: {expected}, found {short_repr(row)}{advice}")
        for translation, number_of_links in translations:
            check_number(number_of_links, f"{place}: a weight above 0", minimum=1e-9, maximum=MAX_WEIGHT)
            rows.append((row[0], translation, float(number_of_links)))
    return DictionaryRows(parameter, rows)


def _translations_with_weights(translations: Any, weight: Any) -> list[tuple[Any, Any]]:
    """Return each translation of a headword with its weight: one, several, or a dictionary with weights."""
    if isinstance(translations, Mapping):
        return list(translations.items())
    if hasattr(translations, "tolist"):  # an array, as a cell of a Parquet file
        translations = translations.tolist()
    if isinstance(translations, list | tuple | set | frozenset):
        return [(translation, weight) for translation in translations]
    return [(translations, weight)]


# --- dictionaries of other formats, which another program converts to a word list ----------------

_HEAD_BYTES = 1 << 20  # the DTD of JMdict comes before its first element
_PACKED = re.compile(r"\.(?:gz|dz|bz2|xz|zst)$")
_STARDICT_INFO = b"StarDict's dict ifo file"
_ROOT = re.compile(rb"<(?:!DOCTYPE\s+)?(?:[\w.-]+:)?([A-Za-z][\w.-]*+)")
# Endings, what the files are, and the file that PyGlossary opens
_ENDINGS = {
    ".ifo": ("a StarDict dictionary", ".ifo"),
    ".idx": ("a StarDict dictionary", ".ifo"),
    ".syn": ("a StarDict dictionary", ".ifo"),
    ".index": ("a dictionary of dictd", ".index"),
    ".mdx": ("a dictionary of MDict", ".mdx"),
    ".bgl": ("a dictionary of Babylon", ".bgl"),
    ".slob": ("a dictionary of Aard", ".slob"),
    ".dsl": ("a dictionary of Lingvo", ".dsl"),
    ".xdxf": ("a dictionary in XDXF", ".xdxf"),
}
# Root elements, what the files are, and the options of PyGlossary
_ROOTS = {
    "JMdict": ("JMdict", " --read-format=JMDict"),
    "TEI": ("a dictionary in TEI", " --read-format=FreeDict"),
    "TEI.2": ("a dictionary in TEI", " --read-format=FreeDict"),
    "xdxf": ("a dictionary in XDXF", " --read-format=Xdxf"),
}
_EXPECTED = "expected a word list, CC-CEDICT, EDICT or an extract of Wiktionary"


def check_own_format(path: Path) -> None:
    """Raise DataError if a dictionary is of another format, with the command that converts it."""
    name = _PACKED.sub("", path.name)
    stem, ending = Path(name).stem, Path(name).suffix
    if ending == ".dict":  # the texts of StarDict and dictd, or a word list
        indexes = (path.with_name(f"{stem}{other}") for other in (".ifo", ".index"))
        ending = next((index.suffix for index in indexes if index.is_file()), "")
    if ending in _ENDINGS:
        kind, opened = _ENDINGS[ending]
        is_opened = Path(name).suffix == opened
        raise _converted(path, kind, path if is_opened else path.with_name(f"{stem}{opened}"))
    head = _head_of(path)
    if head.startswith(_STARDICT_INFO):
        raise _converted(path, "a StarDict dictionary", path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    root = _root_of(text) if text.startswith(b"<") else ""
    is_xml = text.startswith((b"<?xml", b"<!DOCTYPE")) and root != "html"
    if not is_xml and root not in (*_ROOTS, "dictionary"):
        return
    if root == "dictionary":
        words = _unused_name(path)
        command = f"lt-expand {shlex.quote(str(path))} | sed 's/<[^>]*>//g; s/:[<>]:/:/; s/:/\\t/' > {words}"
        advice = f"convert it with `{command}` (from Apertium's lttoolbox), and pass {words}"
        raise DataError(f"{_EXPECTED}, found a dictionary of Apertium; {advice}").at(path)
    kind, options = _ROOTS.get(root, (f"XML with the root element <{root}>", ""))
    raise _converted(path, kind, path, options)


def _converted(path: Path, kind: str, opened: Path, options: str = "") -> DataError:
    """Return an error with the command of PyGlossary that converts a dictionary."""
    words = _unused_name(opened)
    command = f"pyglossary {shlex.quote(str(opened))} {words}{options}"
    advice = f"convert it with `{command}` (pip install 'pyglossary<5.3' lxml), and pass {words}"
    return DataError(f"{_EXPECTED}, found {kind}; {advice}").at(path)


def _unused_name(path: Path) -> str:
    """Return a name for the word list of a dictionary that no file of this folder has."""
    stem = Path(_PACKED.sub("", path.name)).stem
    name, number = f"{stem}.txt", 1
    while Path(name).exists():
        number += 1
        name = f"{stem}-{number}.txt"
    return shlex.quote(name)


def _root_of(text: bytes) -> str:
    """Return the name of the root element of XML, or that of its DTD; "" if there is none."""
    place = 0
    while text.startswith((b"<?", b"<!--"), place):
        closing = b"?>" if text.startswith(b"<?", place) else b"-->"
        end = text.find(closing, place)
        if end < 0:
            return ""
        place = end + len(closing)
        while text[place : place + 1].isspace():
            place += 1
    root = _ROOT.match(text, place)
    return "" if root is None else root[1].decode("ascii", "replace")


def _head_of(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        with open_binary(path) as stream:
            return stream.read(_HEAD_BYTES)
    except DECOMPRESSION_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"the compressed file is damaged or truncated ({error_text(error)})") from None
