"""Entries of bilingual dictionaries, and the phrases that are left when their glosses are cleaned.

A reader yields an :class:`Entry` for each entry of a file, and a DataError in the place of a malformed one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from nmtalign.errors import DataError
from nmtalign.names import Side

MAX_ALTERNATIVES = 1_000  # headwords, or translations, of an entry
MAX_PHRASE_CHARS = 200  # longer translations are explanations


class Entry(NamedTuple):
    """An entry of a dictionary: its headwords and glosses, as the file has them."""

    line: int  # where it begins, or its number in files without lines; counted from 1
    headwords: Sequence[str]
    glosses: Sequence[str]
    weight: float = 1.0
    is_clean: bool = False  # whether the glosses are phrases already
    language: str = ""  # code of the language of the headwords, where the file names it
    languages: Sequence[str] = ()  # codes of the languages of the glosses, where the file names them

    @property
    def translations(self) -> list[str]:
        """The phrases of the glosses, without remarks; clean glosses are phrases already."""
        if self.is_clean:
            return list(self.glosses)
        return [phrase for gloss in self.glosses for phrase in phrases_of(gloss)]


class JumpCount(NamedTuple):
    """How often attention jumps by so many words, as a file of eflomal's priors says."""

    side: Side  # the jump is over words of this side
    width: int
    weight: float


class Unused(NamedTuple):
    """A number of entries that are not used, because no headword is wanted or there is no translation.

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
    """Return the entry, or an error if it has too many headwords or translations."""
    most = max(len(entry.headwords), len(entry.glosses))
    if most > MAX_ALTERNATIVES:
        return DataError(f"expected at most {MAX_ALTERNATIVES:,} headwords and translations, found {most:,}")
    return entry


def without_empty(texts: Iterable[str]) -> list[str]:
    """Return the texts that have a character other than spaces, stripped."""
    stripped = [text.strip() for text in texts]
    return [text for text in stripped if text]
