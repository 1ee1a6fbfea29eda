"""Atoms: the words of a line without the punctuation at their edges, and this punctuation, with their links.

Markup is placed at atoms, so that ``<b>house</b>,`` becomes ``<b>maison</b>,``. An atom is the middle of a
word or one punctuation mark at its edge; atoms contain all characters of a line but the spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nmtalign.text.punctuation import MAX_EDGE_MARKS, edge_marks

_BETWEEN_SPACES = re.compile("[^ ]+")


class Atom(NamedTuple):
    """The characters from `start` up to `end` of a line."""

    start: int
    end: int


class WordAtoms(NamedTuple):
    """The numbers of the atoms of a word: marks before its middle, its middle, and marks after it."""

    lead: range
    middle: int
    trail: range
    is_punctuation: bool  # the middle is all of the word, and it is punctuation


class LineAtoms(NamedTuple):
    """A line, its atoms, and the atoms of each of its words."""

    line: str
    atoms: list[Atom]
    words: list[WordAtoms]


def split_line(line: str, word_spans: Iterable[tuple[int, int]] | None = None) -> LineAtoms:
    """Return the atoms of a line whose words are at `word_spans`, by default between spaces.

    Characters between words that are not spaces, such as a tab, are atoms that belong to no word.

    >>> [line[atom.start : atom.end] for line in ['le "chat", noir'] for atom in split_line(line).atoms]
    ['le', '"', 'chat', '"', ',', 'noir']
    """
    atoms: list[Atom] = []
    words: list[WordAtoms] = []
    position = 0
    if word_spans is None:
        word_spans = _spans_between_spaces(line, 0, len(line))
    for given_start, given_end in word_spans:
        start = max(given_start, position)  # tokens of a sub-word model may overlap
        end = max(given_end, start)
        atoms += _spans_between_spaces(line, position, start)
        position = end
        start, end = _without_spaces(line, start, end)
        lead, trail = edge_marks(line[start:end])
        is_punctuation = lead == end - start
        if is_punctuation:
            lead = trail = 0
        first = len(atoms)
        middle = first + lead
        atoms += [Atom(mark, mark + 1) for mark in range(start, start + lead)]
        atoms.append(Atom(start + lead, end - trail))
        atoms += [Atom(mark, mark + 1) for mark in range(end - trail, end)]
        words.append(WordAtoms(range(first, middle), middle, range(middle + 1, len(atoms)), is_punctuation))
    atoms += _spans_between_spaces(line, position, len(line))
    return LineAtoms(line, atoms, words)


def _spans_between_spaces(line: str, start: int, end: int) -> list[Atom]:
    """Return where the words between spaces are in a part of a line."""
    return [Atom(*match.span()) for match in _BETWEEN_SPACES.finditer(line, start, end)]


def _without_spaces(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a word without the spaces at its edges, which spaCy has in tokens of spaces."""
    while start < end and line[start] == " ":
        start += 1
    while start < end and line[end - 1] == " ":
        end -= 1
    return start, end


def link_atoms(source: LineAtoms, target: LineAtoms, links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the target atoms that each source atom is linked to, in order.

    The middles of linked words are linked, and so are the marks at their edges, counted from the outside.
    """
    targets: list[set[int]] = [set() for _ in source.atoms]
    for s, t in links:
        source_word, target_word = source.words[s], target.words[t]
        if source_word.is_punctuation != target_word.is_punctuation:
            source_atoms = _counterpart(source, source_word, target, target_word)
            target_atoms = _counterpart(target, target_word, source, source_word)
            for atom in source_atoms:
                targets[atom].update(target_atoms)
            continue
        targets[source_word.middle].add(target_word.middle)
        for marks, other_marks in (
            (source_word.lead, target_word.lead),
            (source_word.trail[::-1], target_word.trail[::-1]),
        ):
            for mark, other_mark in zip(marks, other_marks, strict=False):
                targets[mark].add(other_mark)
    return [sorted(linked) for linked in targets]


def _counterpart(line: LineAtoms, word: WordAtoms, other: LineAtoms, other_word: WordAtoms) -> Sequence[int]:
    """Return the atoms of a word that are linked to another word; one of both is punctuation.

    Of a word with marks, these are the marks that the other word contains, else all after the word.
    """
    if word.is_punctuation:
        return [word.middle]
    start, end = other.atoms[other_word.middle]
    punctuation = other.line[start : min(end, start + MAX_EDGE_MARKS)]
    marks = (*word.lead, *word.trail)
    same = [mark for mark in marks if line.line[line.atoms[mark].start] in punctuation]
    return same or word.trail or [word.middle]
