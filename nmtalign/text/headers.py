"""Which columns of a table are the source and the target, by their names; and which are identifiers.

A name counts if nothing but these words is in it, in any case and with any punctuation between:

1. ``source`` or ``src``, ``target``, ``tgt`` or ``trg``, wherever they are: *target,source* as well.
2. Two languages, in their order: *en,fr*, *en_US,fr_FR*, *eng_Latn,fra_Latn*, *English,French*,
   *text_en,text_fr*.
3. One name of 1 or 2, and one of 2 or 4 beside it: *source,fr* or *en,translation*.
4. Words for the two sides: *sentence1,sentence2*, *text,translation*, *original,translated*, *input,output*.

There may be other columns. A line with a number among its fields is text, because no column is named by a
number. Names such as ``source_lang`` or ``target_id`` are not the text of a side.

Identifiers, such as ``menu.file.open``, are not the text of a side either. A table, a catalog or records that
seem to pair them with texts are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from nmtalign.errors import DataError
from nmtalign.text.languages import known_language

_MAX_NAME_CHARS = 40
_SOURCE, _TARGET = {"source", "src"}, {"target", "tgt", "trg"}
_TEXT = {"text", "texts", "txt", "sentence", "sentences", "sent", "segment", "seg", "line", "string", "raw"}
_ORIGINAL = {"original", "input", "from"}
_TRANSLATION = {"translation", "translations", "translated", "output", "to"}
_NUMBERED = _TEXT | {"lang", "language", "l"}
_NUMBER_CODES = {"id", "no", "nr"}  # codes of languages, but usually names of the number of a row
_IDENTIFIER_NAMES = {"id", "ids", "key", "keys", "identifier", "uid", "uuid", "guid", "msgid", "resname"}
_VALUE_NAMES = _TEXT | {"value", "values", "message", "messages", "msg", "msgstr", "content", "label"}
_NUMERIC = re.compile(r"[-+]?[.,]*+\d[\d.,]*+(e[-+]?\d++)?", re.IGNORECASE)
_NAME_PARTS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|[^\W\d_]+|\d+")  # sourceText has two


class SideColumns(NamedTuple):
    """The columns of the source and the target; `is_certain` unless their names could be a sentence pair."""

    source: int
    target: int
    is_certain: bool


class _ColumnRole(NamedTuple):
    """What the name of a column says: ``source``, ``target``, ``language``, ``first`` or ``second``."""

    kind: str
    language: str = ""
    is_bare: bool = False  # a code of a language and nothing else, which may also be a word


def find_side_columns(names: Sequence[str]) -> SideColumns | None:
    """Return the columns of the two sides; None if the names are not those of sides.

    Raises DataError if more than one column could be a side.

    >>> find_side_columns(["id", "Target text", "Source text"])
    SideColumns(source=2, target=1, is_certain=True)
    >>> find_side_columns(["en", "fr"]), find_side_columns(["a cat", "un chat"])
    (SideColumns(source=0, target=1, is_certain=False), None)
    """
    if "source" in names and "target" in names:
        return SideColumns(names.index("source"), names.index("target"), is_certain=True)
    if len(names) == 2 and names[0].casefold() == names[1].casefold():
        return None  # a word that is the same in both languages, such as *source*
    if any(map(_NUMERIC.fullmatch, names)):
        return None
    roles: dict[int, _ColumnRole] = {}
    for column, name in enumerate(names):
        role = _role_of_name(name)
        if role is not None:
            roles[column] = role
    sources = _columns_of_kind(roles, "source")
    targets = _columns_of_kind(roles, "target")
    languages = _columns_of_kind(roles, "language")
    has_too_many_languages = not sources and not targets and len(languages) > 2
    is_ambiguous = len(sources) > 1 or len(targets) > 1 or has_too_many_languages
    if is_ambiguous and len(names) > 2:
        found = ", ".join(names)[:80]
        raise DataError(f"expected the names of two sides, found {found}; choose them: `select=A,B`")
    if sources and targets:  # rule 1 of the module
        return SideColumns(sources[0], targets[0], is_certain=True)
    # rule 2; two codes of different lengths, such as "it" and "was", are rather words
    if len(languages) == 2 and roles[languages[0]].language != roles[languages[1]].language:
        code_lengths = [len(names[column]) for column in languages if roles[column].is_bare]
        may_be_words = len(names) == 2 and len(code_lengths) == 2
        if not may_be_words or code_lengths[0] == code_lengths[1]:
            return SideColumns(languages[0], languages[1], is_certain=not may_be_words)
    # rules 3 and 4
    languages = [column for column in languages if roles[column].language != "id"]  # not Indonesian
    first = _columns_of_kind(roles, "first")
    second = _columns_of_kind(roles, "second")
    sources = sources or first[:1] or (languages if targets or second else [])
    targets = targets or second[:1] or (languages if sources else [])
    if len(sources) == len(targets) == 1 and sources != targets:
        return SideColumns(sources[0], targets[0], is_certain=True)
    return None


def find_text_columns(names: Sequence[str]) -> SideColumns | None:
    """Return the columns of :func:`find_side_columns`; DataError also for two of identifiers and texts.

    >>> find_text_columns(["key", "value"])
    Traceback (most recent call last):
        ...
    nmtalign.errors.DataError: expected the texts of both sides, found identifiers and texts (key, value); \
choose two columns: `select=A,B`
    """
    for name, other in (names, names[::-1]) if len(names) == 2 else ():
        words = {word.casefold() for word in _NAME_PARTS.findall(name)}
        is_identifier = bool(words & _IDENTIFIER_NAMES) and words <= _IDENTIFIER_NAMES | _VALUE_NAMES
        role = _role_of_name(other)
        other_words = {word.casefold() for word in _NAME_PARTS.findall(other)}
        is_value = bool(other_words) and other_words <= _VALUE_NAMES
        may_be_indonesian = known_language(name) is not None and role is not None and role.kind == "language"
        if is_identifier and (is_value or role is not None) and not may_be_indonesian:
            found = f"found identifiers and texts ({names[0]}, {names[1]})"
            raise DataError(f"expected the texts of both sides, {found}; choose two columns: `select=A,B`")
    return find_side_columns(names)


def language_of_column(name: str) -> str | None:
    """Return the code of the language in the name of a column, without country and script; None without one.

    >>> [language_of_column(name) for name in ("en", "text_fr", "pt_BR", "English", "id_row", "source")]
    ['en', 'fr', 'pt', 'en', None, None]
    """
    role = _role_of_name(name)
    return role.language.partition("-")[0] if role is not None and role.language else None


def _columns_of_kind(roles: dict[int, _ColumnRole], kind: str) -> list[int]:
    """Return the columns of a kind; if there are too many, without those of numbers, such as ``src_id``."""
    columns = [column for column, role in roles.items() if role.kind == kind]
    if len(columns) > (2 if kind == "language" else 1):
        columns = [column for column in columns if roles[column].language not in _NUMBER_CODES]
    return columns


def _role_of_name(name: str) -> _ColumnRole | None:
    name = name.strip(" \"'#")
    if len(name) > _MAX_NAME_CHARS:
        return None
    if language := known_language(name):
        return _ColumnRole("language", language, is_bare=name.isascii() and len(name) < 4)
    words = [word.casefold() for word in _NAME_PARTS.findall(name)]
    telling_words = [word for word in words if word not in _TEXT | _TRANSLATION]
    for kind, words_of_side in (("source", _SOURCE), ("target", _TARGET)):
        others = "-".join(word for word in telling_words if word not in words_of_side)
        if words_of_side.intersection(telling_words) and (not others or known_language(others)):
            return _ColumnRole(kind, others)
    if telling_words and (language := known_language("-".join(telling_words))):
        return _ColumnRole("language", language)
    if len(words) == 2 and words[0] in _NUMBERED and words[1] in ("1", "2", "a", "b"):
        return _ColumnRole("first" if words[1] in ("1", "a") else "second")
    if words and not telling_words:
        return _ColumnRole("second" if _TRANSLATION.intersection(words) else "first")
    if words and set(words) <= _ORIGINAL | _TEXT:
        return _ColumnRole("first")
    return None


# --- identifiers in the place of texts -----------------------------------------------------------

_MAX_HELD_ROWS = 1_000
_JUDGED_PAIRS = 20  # the first pairs with text on both sides
_MIN_JUDGED_PAIRS = 2
_FEW_PAIRS = 4  # so few may be numbers or codes that are translated
_MAX_OTHER_TEXTS = 1  # the pairs among them whose first side is not a single word of ASCII
_MAX_IDENTIFIER_CHARS = 200
_is_token = re.compile(r"[!-~]+").fullmatch
_has_parts = re.compile(r"[A-Za-z][._:/#]+[A-Za-z]").search
_has_structure = re.compile(r"[A-Za-z][._:/#]+[A-Za-z]|_|\d|[a-z][A-Z]|[a-z]-[a-z]+-[a-z]").search


def refuse_identifiers(rows: Iterable[Any], advice: str) -> Iterator[Any]:
    """Yield rows (source, target), and what else there is; raise DataError if one side has identifiers.

    These are single words, of which most have a structure, such as ``menu.file.open`` or ``Q42``, next to
    texts, of which most have none. Rows are held back while the first ones look like that.

    >>> list(refuse_identifiers([("menu.open", "Open"), ("menu.close_all", "Close all")], "choose others"))
    Traceback (most recent call last):
        ...
    nmtalign.errors.DataError: expected the texts of both sides, found identifiers such as 'menu.open' as \
source; choose others
    """
    held: list[Any] = []
    judged: list[tuple[str, str]] = []
    candidates = {"source": 0, "target": 1}
    iterator = iter(rows)
    for row in islice(iterator, _MAX_HELD_ROWS):
        held.append(row)
        if isinstance(row, DataError):
            continue
        if not (isinstance(row, tuple) and len(row) == 2 and all(isinstance(text, str) for text in row)):
            break
        if not all(text.strip() for text in row):
            continue
        judged.append(row)
        for name, side in list(candidates.items()):
            other_count = sum(not _may_be_identifier(texts[side]) for texts in judged)
            if other_count > _MAX_OTHER_TEXTS or other_count == len(judged):
                del candidates[name]
        if not candidates or len(judged) == _JUDGED_PAIRS:
            break
    are_few = len(judged) <= _FEW_PAIRS
    for name, side in candidates.items() if len(judged) >= _MIN_JUDGED_PAIRS else ():
        has_structure = _has_parts if are_few else _has_structure
        structured = list(dict.fromkeys(texts[side] for texts in judged if has_structure(texts[side])))
        plain = [texts for texts in judged if _is_plain(texts[1 - side])]
        enough = len(judged) if are_few else len(judged) / 2
        if len(structured) >= enough and len(plain) >= 0.8 * len(judged):
            found = f"found identifiers such as {structured[0][:60]!r} as {name}"
            raise DataError(f"expected the texts of both sides, {found}; {advice}")
    yield from chain(held, iterator)


def _is_plain(text: str) -> bool:
    """Return whether a text has letters, and no structure unless it has several words."""
    return any(map(str.isalpha, text)) and (" " in text.strip() or not _has_structure(text))


def _may_be_identifier(text: str) -> bool:
    return len(text) <= _MAX_IDENTIFIER_CHARS and _is_token(text) is not None
