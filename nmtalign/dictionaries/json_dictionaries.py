"""Dictionaries in JSON: extracts of Wiktionary, words with their translations, lines with two languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

from nmtalign.dictionaries.entries import (
    UNUSED_ENTRY,
    Entry,
    NumberedLines,
    Record,
    Wanted,
    is_weight,
    read_wanted_lines,
    wanted_entries,
    without_brackets,
)
from nmtalign.errors import DataError
from nmtalign.files.text_files import parse_json
from nmtalign.text.headers import find_side_columns, language_of_column

_WORDS = re.compile(r'"word"\s*+:\s*+"((?>(?:[^"\\]++|\\.)*))"').findall
# Keys that an entry of Wiktionary has besides its word
_WIKTIONARY_KEYS = {"senses", "translations", "lang", "lang_code", "pos", "forms", "etymology_text"}
_EXPECTED_JSON = (
    'expected {"word": "translation"}, with a list or weights if there are several translations, an object'
    ' with two languages such as {"en": "cat", "fr": "chat"}, or an entry of Wiktionary'
)


def is_json(line: str) -> bool:
    """Return whether a line seems to be an object."""
    return line.startswith("{") and line.rstrip().endswith("}")


def is_wiktionary(line: str) -> bool:
    """Return whether a line is an entry of an extract of Wiktionary."""
    if not is_json(line):
        return False
    try:
        value = _parse(line)
    except DataError:
        return False
    keys = (
        _WIKTIONARY_KEYS if _texts(value.get("translations")) is None else _WIKTIONARY_KEYS - {"translations"}
    )
    return "redirect" in value or ("word" in value and not keys.isdisjoint(value))


# --- extracts of Wiktionary ----------------------------------------------------------------------


def read_wiktionary(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of an extract by wiktextract: translations, or glosses where there are none.

    JSON is slow to parse, so only the lines that have a wanted word anywhere are parsed.
    """

    def parse(number: int, line: str) -> Record:
        entry = _wiktionary_entry(number, _parse(line))
        return UNUSED_ENTRY if entry is None or not wanted(entry.headwords) else entry

    return read_wanted_lines(
        lines, path, wanted, headwords_of=_words_in_json, looks_like_entry=is_json, parse=parse
    )


def _words_in_json(line: str) -> list[str] | None:
    """Return the words that a line names: the headword, forms, translations; None if one is damaged."""
    words: list[str] = _WORDS(line)
    try:
        return [parse_json(f'"{word}"') if "\\" in word else word for word in words]
    except DataError:
        return None


def _wiktionary_entry(number: int, value: Any) -> Entry | None:
    """Return an entry; None for a form of a word, or a redirection, which have no translations by design."""
    word = value.get("word") if isinstance(value, dict) else None
    if not isinstance(word, str):
        if isinstance(value, dict) and "redirect" in value:
            return None
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
    if senses and all(map(_is_inflection, senses)):
        return None
    glosses = []
    for sense in senses:
        texts = sense.get("glosses")
        if isinstance(texts, list) and texts and not _is_inflection(sense):
            glosses.append(texts[-1])  # those before are of the senses that this one is a part of
    texts = [gloss for gloss in glosses if isinstance(gloss, str)]
    return Entry(number, (word,), texts, language=language)


def _objects(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a list that an object may have."""
    items: list[Any] = []
    for listed in _all_values(value.get(name)):
        items += listed if isinstance(listed, list) else []
    return [item for item in items if isinstance(item, dict)]


def _string(value: dict[str, Any], name: str) -> str:
    """Return a text of an object; an empty one if there is none."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _is_inflection(sense: dict[str, Any]) -> bool:
    """Return whether a sense only says of which word this is a form."""
    return "form_of" in sense or "alt_of" in sense


# --- words with their translations ---------------------------------------------------------------


def read_json_lines(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of lines that have an object each: a word and its translations, or two languages."""
    return wanted_entries(_entries_of_lines(lines, path), wanted)


def read_json_object(lines: NumberedLines, path: str | Path, wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of one object over several lines: each word with its translations."""
    texts = []
    for _, line in lines:
        if isinstance(line, DataError):
            raise line
        texts.append(line)
    value = _object("\n".join(texts))
    return wanted_entries(_entries_of_object(1, value, _keys_of_sides(value, is_alone=True)), wanted)


def _entries_of_lines(lines: NumberedLines, path: str | Path) -> Iterator[Record]:
    first = list(islice(lines, 2))
    is_alone = len(first) == 1
    _check_keys([line for _, line in first if isinstance(line, str) and line.strip()])
    sides: tuple[str, str] | None = None
    for number, line in chain(first, lines):
        if isinstance(line, DataError):
            yield line
        elif line.strip():
            try:
                value = _object(line)
                if sides is None or not value.keys() >= set(sides):  # all lines have the order of the first
                    sides = _keys_of_sides(value, is_alone=is_alone)
            except DataError as error:
                yield error.at(path, line=number)
                continue
            for entry in _entries_of_object(number, value, sides):
                yield entry.at(path, line=number) if isinstance(entry, DataError) else entry


def _check_keys(lines: list[str]) -> None:
    """Raise DataError if two lines have the same keys, which are no words then, and none is known."""
    try:
        values = [_object(line) for line in lines]
        sides = [_keys_of_sides(value, is_alone=False) for value in values]
    except DataError:  # which the reader counts
        return
    if len(values) == 2 and values[0].keys() == values[1].keys() and len(values[0]) > 1 and sides[0] is None:
        keys = list(values[0])
        names = f"the keys {', '.join(keys)}"[:80]
        advice = f"name both languages, for instance with `jq -c '{{en: .{keys[0]}, fr: .{keys[1]}}}'`"
        raise DataError(f"{_EXPECTED_JSON}; found {names} on each line; {advice}")


class _Repeated(list[Any]):
    """The values of a key that an object has several times."""


def _parse(text: str) -> Any:
    """Return the value of JSON; its objects keep all values of a key."""
    return parse_json(text, make_object=_with_all_values)


def _with_all_values(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    values: dict[str, _Repeated] = {}
    for key, one in pairs:
        values.setdefault(key, _Repeated()).append(one)
    return {key: several if len(several) > 1 else several[0] for key, several in values.items()}


def _all_values(value: Any) -> list[Any]:
    return value if isinstance(value, _Repeated) else [value]


def _object(text: str) -> dict[str, Any]:
    value = _parse(text)
    if isinstance(value, list):
        advice = "write one object per line, for instance with `jq -c '.[]'`"
        raise DataError(f"{_EXPECTED_JSON}; found a list: {advice}")
    if not isinstance(value, dict):
        raise DataError(f"{_EXPECTED_JSON}; found {str(value)[:60]!r}")
    return value


def _keys_of_sides(value: dict[str, Any], *, is_alone: bool) -> tuple[str, str] | None:
    """Return the keys of a word and of its translations; None if the keys are words.

    An object that is alone in its file has words that may look like names of languages, as *it* does.
    """
    keys = [key for key, texts in value.items() if _texts(texts) is not None]
    for word, translations in product(("word", "headword"), ("translation", "translations")):
        if {word, translations} <= set(keys):
            return word, translations
    try:
        sides = find_side_columns(keys)
    except DataError:  # more than two languages
        if is_alone:
            return None
        advice = "choose two, for instance with `jq -c '{en, fr}'`"
        raise DataError(f"expected two languages, found the keys {', '.join(keys)[:80]}; {advice}") from None
    return None if sides is None else (keys[sides.source], keys[sides.target])


def _entries_of_object(number: int, value: dict[str, Any], sides: tuple[str, str] | None) -> Iterator[Record]:
    """Yield the entries of an object: one for two languages, or one for each word."""
    if sides is None:
        for word, translations in value.items():
            yield from _entries_of_word(number, word, translations)
        return
    source, target = sides
    headwords, translations = _texts(value[source]), _texts(value[target])
    weight = value.get("weight", 1.0)
    if headwords is None or translations is None or not _is_weight(weight):
        yield DataError(f"{_EXPECTED_JSON}; found {str(value)[:60]}")
        return
    language = language_of_column(source) or ""
    languages = [language_of_column(target) or ""] * len(translations)
    entry = _json_entry(number, headwords, translations, float(weight))
    yield entry._replace(language=language, languages=languages if any(languages) else ())


def _entries_of_word(number: int, word: str, translations: Any) -> Iterator[Record]:
    """Yield the entries of a word: one, or one for each weight."""
    if isinstance(translations, _Repeated):
        for value in translations:
            yield from _entries_of_word(number, word, value)
        return
    with_weights = translations if isinstance(translations, dict) else {}
    weights = [(text, weight) for text, listed in with_weights.items() for weight in _all_values(listed)]
    if weights and all(_is_weight(weight) for _, weight in weights):
        for translation, weight in weights:
            yield _json_entry(number, [word], [translation], float(weight))
        return
    texts = _texts(translations)
    if texts is None:
        yield DataError(f"{_EXPECTED_JSON}; found {str(translations)[:60]!r} for {word[:40]!r}")
    else:
        yield _json_entry(number, [word], texts)


def _json_entry(number: int, headwords: list[str], translations: list[str], weight: float = 1.0) -> Entry:
    """Return an entry whose translations are words, or glosses if they have spaces."""
    are_words = not any(" " in text.strip() for text in translations)
    return Entry(number, headwords, translations, weight, are_words)


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_weight(value)


def _texts(value: Any) -> list[str] | None:
    """Return the texts of a string or of a list of strings; None if it is anything else."""
    texts: list[Any] = []
    for one in _all_values(value):
        texts += one if isinstance(one, list) else [one]
    return texts if all(isinstance(text, str) for text in texts) else None
