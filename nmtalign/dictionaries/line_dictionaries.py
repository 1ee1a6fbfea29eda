"""Dictionaries with one entry per line: CC-CEDICT, EDICT, Wiktionary extracts, word lists, eflomal's priors.

The first lines decide on the format. EDICT files are in EUC-JP unless they are valid UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from nmtalign.dictionaries.entries import (
    UNUSED_ENTRY,
    Entry,
    JumpCount,
    Record,
    Unused,
    Wanted,
    without_brackets,
)
from nmtalign.display import with_plural
from nmtalign.errors import DataError, warn_caller
from nmtalign.files.json_files import parse_json
from nmtalign.files.text_files import try_lines
from nmtalign.names import Side

MAX_WEIGHT = 1e9  # the weight of an entry
_INTEGER = re.compile(r"-?\d{1,6}", re.ASCII).fullmatch
_FIRST_LINES = 200  # the lines that decide on the format

LINES_PER_BLOCK = 1_000  # looking at the headwords of a block together is faster

NumberedLine = tuple[int, str | DataError]
NumberedLines = Iterator[NumberedLine]

_CEDICT = re.compile(r"(\S+) (\S+) \[[^\]]*\] /(.*)/\s*").fullmatch
_EDICT = re.compile(r"(\S+) (?:\[([^\]]*)\] )?/(.*)/\s*").fullmatch
_EDICT_HEADWORDS = re.compile(r"[^ \[\];]+").findall
_JSON_WORDS = re.compile(r'"word"\s*:\s*"((?:[^"\\]|\\.)*)"').findall
_EDICT_HEADER = "？？？"
# the number of columns and the first column of the lines in eflomal's priors that are not about words
_OTHER_PRIORS = {(3, "HMMF"), (3, "HMMR"), (4, "FERF"), (4, "FERR")}


class LineFormat(NamedTuple):
    """A format with one entry per line."""

    name: str
    matches: Callable[[str], object]  # whether a line could be an entry
    read: Callable[[NumberedLines, str | Path, Wanted], Iterator[Record]]


def read_lines_of(path: str | Path, encoding: str, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of a text file."""
    lines: NumberedLines = enumerate(try_lines(path, encoding=encoding), 1)
    first = list(islice(lines, _FIRST_LINES))
    if encoding == "utf-8" and any(isinstance(line, DataError) for _, line in first):
        japanese = enumerate(try_lines(path, encoding="euc-jp"), 1)
        first_japanese = list(islice(japanese, _FIRST_LINES))
        if _format_of(first_japanese).name == "edict":
            lines, first = japanese, first_japanese
    return _format_of(first).read(chain(first, lines), path, wanted)


def _format_of(first: list[tuple[int, str | DataError]]) -> LineFormat:
    """Return the format that half of the first lines, or more, have."""
    texts = [line for _, line in first if isinstance(line, str)]
    texts = [text for text in texts if text.strip() and not text.startswith("#")]
    for candidate in _FORMATS:
        matching = sum(bool(candidate.matches(text)) for text in texts)
        if matching and 2 * matching >= len(texts):
            return candidate
    return _WORD_LIST


def _read_cedict(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    for item in _wanted_lines(lines, _cedict_headwords, wanted, _looks_like_entry):
        if isinstance(item, Unused):
            yield item
            continue
        number, line, _ = item
        if isinstance(line, DataError):
            yield line
        elif line.startswith("#") or not line.strip():
            continue
        elif (found := _CEDICT(line)) is None:
            yield _malformed("traditional simplified [pinyin] /translation/", line).at(path, line=number)
        else:
            yield Entry(number, _cedict_headwords(line), found[3].split("/"))


def _cedict_headwords(line: str) -> list[str]:
    """Return the traditional and the simplified form, once if they are the same."""
    return list(dict.fromkeys(line.split(" ", 2)[:2]))


def _read_edict(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    for item in _wanted_lines(lines, _edict_headwords, wanted, _looks_like_entry):
        if isinstance(item, Unused):
            yield item
            continue
        number, line, _ = item
        if isinstance(line, DataError):
            yield line
        elif not line.strip() or line.lstrip().startswith(_EDICT_HEADER):
            continue
        elif (found := _EDICT(line)) is None:
            yield _malformed("word [reading] /translation/", line).at(path, line=number)
        else:
            yield Entry(number, _edict_headwords(line), found[3].split("/"))


def _edict_headwords(line: str) -> list[str]:
    """Return the spellings and the readings of a word, without remarks such as *(P)*."""
    before = line.partition("/")[0]
    if "(" in before:
        before = without_brackets(before.replace("[", ";").replace("]", ""))
    return _EDICT_HEADWORDS(before)


def _looks_like_entry(line: str) -> bool:
    """Return whether a line could be an entry of CC-CEDICT or EDICT; this is a quick check."""
    return line[-1:] == "/" and " /" in line


def _wanted_lines(
    lines: NumberedLines,
    headwords_of: Callable[[str], list[str]],
    wanted: Wanted,
    looks_like_entry: Callable[[str], bool],
) -> Iterator[tuple[int, str | DataError, bool] | Unused]:
    """Yield lines with their number, and whether one of their headwords is wanted.

    Lines that are not wanted and look like an entry are only counted.
    """
    while block := list(islice(lines, LINES_PER_BLOCK)):
        of_lines = [[] if isinstance(line, DataError) else headwords_of(line) for _, line in block]
        chosen = wanted(list(chain.from_iterable(of_lines)))
        unwanted = 0
        for (number, line), headwords in zip(block, of_lines, strict=True):
            is_wanted = not chosen.isdisjoint(headwords)
            if not is_wanted and not isinstance(line, DataError) and looks_like_entry(line):
                unwanted += 1
            else:
                yield number, line, is_wanted
        yield Unused(unwanted)


def _malformed(wanted: str, line: str) -> DataError:
    return DataError(f"expected {wanted}, found {line[:60]!r}")


# --- Wiktionary extracts -------------------------------------------------------------------------


def _read_wiktionary(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of an extract by wiktextract: translations, or glosses where there are none.

    JSON is slow to parse, so only the lines that have a wanted word anywhere are parsed.
    """
    for item in _wanted_lines(lines, _words_in_json, wanted, _is_json):
        if isinstance(item, Unused):
            yield item
            continue
        number, line, _ = item
        if isinstance(line, DataError):
            yield line
        elif line.strip():
            try:
                entry = _wiktionary_entry(number, parse_json(line))
            except DataError as error:
                yield error.at(path, line=number)
            else:
                if entry.glosses:
                    yield entry if wanted(entry.headwords) else UNUSED_ENTRY


def _words_in_json(line: str) -> list[str]:
    """Return the words that a line names: the headword, forms, translations."""
    words: list[str] = _JSON_WORDS(line)
    return [parse_json(f'"{word}"') if "\\" in word else word for word in words]


def _wiktionary_entry(number: int, value: Any) -> Entry:
    word = value.get("word") if isinstance(value, dict) else None
    if not isinstance(word, str):
        redirect = isinstance(value, dict) and "redirect" in value
        if redirect:
            return Entry(number, (), ())
        raise DataError("expected an object with a word")
    senses = _objects(value, "senses")
    listed = _objects(value, "translations")
    for sense in senses:
        listed += _objects(sense, "translations")
    language = _string(value, "lang_code")
    translations, languages = [], []
    for item in listed:
        translation = without_brackets(_string(item, "word")).strip()
        if translation:
            translations.append(translation)
            languages.append(_string(item, "lang_code") or _string(item, "code"))
    if translations:
        return Entry(number, (word,), translations, 1.0, True, language, languages)
    glosses = []
    for sense in senses:
        texts = sense.get("glosses")
        if isinstance(texts, list) and texts and not _is_inflection(sense):
            glosses.append(texts[-1])  # those before are of the senses that this one is a part of
    texts = [gloss for gloss in glosses if isinstance(gloss, str)]
    return Entry(number, (word,), texts, language=language)


def _objects(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a list that an object may have."""
    listed = value.get(name)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _string(value: dict[str, Any], name: str) -> str:
    """Return a text of an object; an empty one if there is none."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _is_inflection(sense: dict[str, Any]) -> bool:
    """Return whether a sense only says of which word this is a form."""
    return "form_of" in sense or "alt_of" in sense


# --- word lists ----------------------------------------------------------------------------------


def _read_word_list(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the pairs of a word list: word, translation, perhaps a weight; between tabs, else spaces."""
    for item in _wanted_lines(lines, _word_list_headword, wanted, _is_pair_of_words):
        if isinstance(item, Unused):
            yield item
            continue
        number, line, is_wanted = item
        if isinstance(line, DataError):
            yield line
        elif line.strip():
            columns = line.split("\t" if "\t" in line else " ")
            entry = _word_list_entry(number, columns, line, path)
            yield entry if is_wanted or isinstance(entry, DataError) else UNUSED_ENTRY


def _is_pair_of_words(line: str) -> bool:
    """Return whether a line has two columns between tabs."""
    return line.count("\t") == 1 and line[0] != "\t" and line[-1] != "\t"


def _word_list_headword(line: str) -> list[str]:
    """Return the first column, between tabs, or between spaces where there are none."""
    return [line.split("\t" if "\t" in line else " ", 1)[0]]


def _read_eflomal(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the pairs of the lines ``LEX``, and jumps; a warning counts the lines of fertilities."""
    fertilities = 0
    for item in _wanted_lines(lines, _eflomal_headword, wanted, lambda line: False):
        if isinstance(item, Unused):
            continue
        number, line, is_wanted = item
        if isinstance(line, DataError):
            yield line
            continue
        columns = line.split("\t" if "\t" in line else " ")
        if (len(columns), columns[0]) in _OTHER_PRIORS:
            prior = _prior_of_numbers(columns)
            if prior is None:
                fertilities += 1
                yield UNUSED_ENTRY
            else:
                yield prior.at(path, line=number) if isinstance(prior, DataError) else prior
        elif line.strip():
            pair = columns[1:] if len(columns) == 4 and columns[0] == "LEX" else columns
            entry = _word_list_entry(number, pair, line, path)
            yield entry if is_wanted or isinstance(entry, DataError) else UNUSED_ENTRY
    if fertilities:
        skipped = f"{with_plural(fertilities, 'line')} of fertilities (FERF, FERR)"
        why = "a model of nmtalign has no fertilities"
        warn_caller(f"{path}: skipped {skipped}; {why}")


def _prior_of_numbers(columns: list[str]) -> JumpCount | DataError | None:
    """Return a jump, None for a fertility, or what is wrong with the columns of either."""
    *_, number, count = columns
    is_jump = len(columns) == 3
    expected = "HMMF or HMMR, a jump" if is_jump else "FERF or FERR, a word, a number of links"
    if not (_INTEGER(number) and _is_weight(count)):
        wanted = f"{expected}, and a weight above 0, to {MAX_WEIGHT:g}"
        return DataError(f"expected {wanted}, found {' '.join(columns)[:80]!r}")
    if not is_jump:
        return None
    side: Side = "source" if columns[0] == "HMMF" else "target"
    return JumpCount(side, int(number), float(count))


def _is_weight(text: str) -> bool:
    """Return whether a text is a number above 0, to `MAX_WEIGHT`."""
    try:
        return 0 < float(text) <= MAX_WEIGHT
    except ValueError:
        return False


def _eflomal_headword(line: str) -> list[str]:
    """Return the word that a line is about, which comes after ``LEX``."""
    columns = line.split("\t" if "\t" in line else " ", 2)
    return columns[1:2] if columns[0] == "LEX" else columns[:1]


def _word_list_entry(number: int, columns: list[str], line: str, path: str | Path) -> Entry | DataError:
    try:
        weight = float(columns[2]) if len(columns) > 2 else 1.0
    except ValueError:
        weight = -1.0
    if not (2 <= len(columns) <= 3 and columns[0] and columns[1] and 0 < weight <= MAX_WEIGHT):
        expected = f"expected a word, its translation and perhaps a weight above 0, to {MAX_WEIGHT:g}"
        return DataError(f"{expected}, found {line[:80]!r}").at(path, line=number)
    is_word = " " not in columns[1].strip()  # a word is taken as it is: it may be a comma
    return Entry(number, (columns[0],), (columns[1],), weight, is_word)


def _is_eflomal(line: str) -> bool:
    columns = line.split("\t" if "\t" in line else " ")
    return (len(columns), columns[0]) in _OTHER_PRIORS or (len(columns) == 4 and columns[0] == "LEX")


def _is_json(line: str) -> bool:
    return line.startswith("{") and line.rstrip().endswith("}")


_FORMATS = (
    LineFormat("wiktionary", _is_json, _read_wiktionary),
    LineFormat("cedict", _CEDICT, _read_cedict),
    LineFormat("edict", _EDICT, _read_edict),
    LineFormat("eflomal", _is_eflomal, _read_eflomal),
)
_WORD_LIST = LineFormat("word-list", bool, _read_word_list)
