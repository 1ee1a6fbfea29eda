"""Entries of bilingual dictionaries, and the phrases that are left when their glosses are cleaned.

A reader yields an :class:`Entry` for each entry of a file, and a DataError in the place of a malformed one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from nmtalign.errors import DataError
from nmtalign.names import Side

MAX_ALTERNATIVES = 1_000  # headwords, or translations into one language, of an entry
MAX_PHRASE_CHARS = 200  # longer translations are explanations
MAX_WEIGHT = 1e9  # the weight of an entry
ENTRIES_PER_BLOCK = 1_000  # looking at the headwords of a block together is faster


class Entry(NamedTuple):
    """An entry of a dictionary: its headwords and glosses, as the file has them."""

    line: int  # where it begins, counted from 1
    headwords: Sequence[str]
    glosses: Sequence[str]
    weight: float = 1.0
    is_clean: bool = False  # whether the glosses are phrases already
    language: str = ""  # code of the language of the headwords, where the file names it
    languages: Sequence[str] = ()  # codes of the languages of the glosses, where the file names them

    def cleaned(self) -> Entry:
        """Return the entry with the phrases of its glosses, without remarks; clean glosses are phrases."""
        if self.is_clean:
            return self
        phrases_of_glosses = [list(phrases_of(gloss)) for gloss in self.glosses]
        phrases = list(chain.from_iterable(phrases_of_glosses))
        languages: list[str] = []
        for language, of_gloss in zip(self.languages, phrases_of_glosses, strict=False):
            languages += [language] * len(of_gloss)
        return self._replace(glosses=phrases, languages=languages, is_clean=True)


class JumpCount(NamedTuple):
    """How often attention jumps by so many words, as a file of eflomal's priors says."""

    side: Side  # the jump is over words of this side
    width: int
    weight: float


class Unused(NamedTuple):
    """A number of entries that are not used: no headword is wanted, or they have no translation by design.

    They are counted, to know the share of the entries that are malformed.
    """

    entries: int


UNUSED_ENTRY = Unused(1)

Wanted = Callable[[Collection[str]], Set[str]]  # returns those headwords whose translations are wanted
Record = Entry | JumpCount | DataError | Unused  # a DataError says what is wrong with an entry


def every_headword(headwords: Collection[str]) -> set[str]:
    """Return all headwords of an entry: a choice of entries that takes each of them."""
    return set(headwords)


# Text in brackets explains a translation: (of a person), [ugs.], <n>, {m}.
_BRACKETED = re.compile(
    r"\((?:[^()]|\([^()]*\))*\)|（[^（）]*）|\[[^\[\]]*\]|<[^<>]*>|\{[^{}]*\}|〈[^〈〉]*〉|【[^【】]*】"
)
_HAS_BRACKET = re.compile(r"[(（\[<{〈【]").search
_GLOSS_SEPARATORS = re.compile(r"[;,；，、/|]|\s=\s")
_REMARK = re.compile(
    r"\s*(CL:|see (also )?\S|also (written|pr\.)|(old |erhua |Japanese )?variant of|abbr\. (for|of|to)"
    r"|used in|same as|EntL\d)"
)
_NUMBER_OR_PARTICLE = re.compile(r"(?:\d{1,3}[.)]\s++)?(?:[Tt]o\s++(?!\Z))?")  # at the start of a gloss
_STRESS = re.compile("(?<=[\u0400-\u04ff])[\u0300\u0301]")  # marks of stress on Cyrillic letters
_EDGES = ' \t\u3000.:!?;…~*"“”«»'


def phrases_of(gloss: str) -> Iterator[str]:
    """Yield the translations in a gloss, without remarks, numbers and the *to* of English infinitives.

    >>> list(phrases_of("1. to abandon (a plan), give up; [obs.] forsake"))
    ['abandon', 'give up', 'forsake']
    """
    if gloss.isalpha() and len(gloss) <= MAX_PHRASE_CHARS:
        yield gloss  # most glosses are one word
        return
    if _REMARK.match(gloss):
        return
    gloss = without_brackets(gloss)
    for piece in _GLOSS_SEPARATORS.split(gloss):
        piece = piece.strip(_EDGES)
        beginning = _NUMBER_OR_PARTICLE.match(piece)
        piece = piece if beginning is None else piece[beginning.end() :].lstrip(_EDGES)
        if piece and len(piece) <= MAX_PHRASE_CHARS:
            yield piece


def without_brackets(text: str) -> str:
    """Return a text without what is in brackets, and without marks of stress on Cyrillic letters."""
    if not text.isascii():
        text = _STRESS.sub("", text)
    return _BRACKETED.sub(" ", text) if _HAS_BRACKET(text) else text


def check_size(entry: Entry) -> Entry | DataError:
    """Return the entry, or an error if it has too many headwords, or translations into one language."""
    of_languages = Counter(entry.languages).values() if entry.languages else [len(entry.glosses)]
    most = max(len(entry.headwords), *of_languages)
    if most > MAX_ALTERNATIVES:
        return DataError(f"expected at most {MAX_ALTERNATIVES:,} headwords and translations, found {most:,}")
    return entry


def is_weight(number: float) -> bool:
    """Return whether a number is above 0, to `MAX_WEIGHT`."""
    return 0 < number <= MAX_WEIGHT


# --- the entries that are wanted -----------------------------------------------------------------

NumberedLine = tuple[int, str | DataError]
NumberedLines = Iterator[NumberedLine]


def read_wanted_lines(
    lines: NumberedLines,
    path: str | Path,
    wanted: Wanted,
    *,
    headwords_of: Callable[[str], list[str] | None],
    looks_like_entry: Callable[[str], bool],
    parse: Callable[[int, str], Record | None],
) -> Iterator[Record]:
    """Yield what `parse` makes of lines, except None; it raises DataError for a malformed line.

    `headwords_of` returns None for a damaged line. Lines whose headwords are not wanted are only counted if
    they look like an entry; other lines are parsed, because they may be malformed. Empty lines are skipped.
    """
    while block := list(islice(lines, ENTRIES_PER_BLOCK)):
        of_lines = [[] if isinstance(line, DataError) else headwords_of(line) for _, line in block]
        chosen = wanted(list(chain.from_iterable(filter(None, of_lines))))
        unwanted = 0
        for (number, line), headwords in zip(block, of_lines, strict=True):
            if isinstance(line, DataError):
                yield line
                continue
            is_wanted = headwords is None or not chosen.isdisjoint(headwords)
            if not is_wanted and looks_like_entry(line):
                unwanted += 1
            elif line.strip():
                try:
                    record = parse(number, line)
                except DataError as error:
                    yield error.at(path, line=number)
                    continue
                if record is not None:
                    is_unused = isinstance(record, Entry) and not is_wanted
                    yield UNUSED_ENTRY if is_unused else record
        yield Unused(unwanted)


def wanted_entries(records: Iterator[Record], wanted: Wanted) -> Iterator[Record]:
    """Yield the entries of which a headword is wanted; others are only counted."""
    while block := list(islice(records, ENTRIES_PER_BLOCK)):
        of_entries = [record.headwords for record in block if isinstance(record, Entry)]
        chosen = wanted(list(chain.from_iterable(of_entries)))
        for record in block:
            is_unwanted = isinstance(record, Entry) and chosen.isdisjoint(record.headwords)
            yield UNUSED_ENTRY if is_unwanted else record
