"""Placing markup: the elements of a source line at the characters of the target line, over links.

The target line is not changed: the result without its markup is the target line. The elements stay nested,
and each of them occurs once, or once for each of its parts if it is split.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from nmtalign.applications.markup import Element, MarkedText
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


# --- places of spans, and insertions -------------------------------------------------------------
# Markup is placed at atoms, so that ``<b>house</b>,`` becomes ``<b>maison</b>,``. An atom is the middle of a
# word or one punctuation mark at its edge; atoms contain all characters of a line but the spaces.


@dataclass
class Node:
    """An element of the source line, around the atoms from `first` to ``stop - 1``.

    `left` and `right` are the atoms next to it. If it is inside an atom, both are this atom.
    """

    opening: str
    closing: str
    characters: tuple[int, int]  # start and end, spaces not counted
    first: int
    stop: int
    left: int
    right: int
    joins_left: bool  # no space on its left side
    children: list[Node] = field(default_factory=list)


@dataclass
class PlacedPart:
    """A part of an element in the target: around the atoms `first` to ``stop - 1``, or a point."""

    node: Node
    number: int  # the number of the element among its siblings
    start: int  # characters of the target line
    end: int
    first: int = 0
    stop: int = 0
    children: list[PlacedPart] = field(default_factory=list)


class Placed(NamedTuple):
    """The target line with markup, and the number of elements whose words have no link."""

    text: str
    unlinked: int


def place_markup(
    marked: MarkedText,
    offset: Callable[[int], int],
    source: LineAtoms,
    target: LineAtoms,
    targets_of: Sequence[Sequence[int]],
    *,
    split: bool = False,
    escape: Callable[[str], str] = str,
) -> Placed:
    """Return the target line with the markup of a source line; `escape` is applied to its text.

    An element goes around the target atoms that its own atoms are linked to, and around all atoms between
    them, but not around target atoms of another element in the same parent. If several parts remain, the
    element goes around the longest part, or with `split` around each part; with `split`, it leaves out target
    atoms of words that are not in the element, too. An element that is all of its parent stays all of it.
    Placeholders, and elements without a link, go next to the target atoms of their neighbors. Overlapping
    codes begin before the first target atom of their words, and end after the last. `offset` counts the
    characters of the marked text without spaces.
    """
    positions = _Positions(marked.text, source, offset)
    tree = positions.node(marked.root)
    atoms = target.atoms
    start = atoms[0].start if atoms else 0
    end = atoms[-1].end if atoms else 0
    root = PlacedPart(tree, number=0, start=start, end=end, first=0, stop=len(atoms))
    placing = _Placing(target, targets_of, split)
    placing.fill(tree, [root])
    for element in marked.overlapping:
        placing.add_overlapping(positions.node(element), root)
    text = "".join(_rendered(root, target.line, escape))
    return Placed(f"{escape(target.line[:start])}{text}{escape(target.line[end:])}", placing.unlinked)


def _rendered(part: PlacedPart, line: str, escape: Callable[[str], str]) -> Iterator[str]:
    yield part.node.opening
    position = part.start
    for child in sorted(part.children, key=lambda child: (child.start, child.end, child.number)):
        yield escape(line[position : child.start])
        yield from _rendered(child, line, escape)
        position = child.end
    yield escape(line[position : part.end])
    yield part.node.closing


class _Positions:
    """Finds the atoms of elements that are at characters of a marked text."""

    def __init__(self, text: str, source: LineAtoms, offset: Callable[[int], int]) -> None:
        self._text = text
        self._offset = offset
        self._starts: list[int] = []  # where the atoms start, spaces not counted
        self._ends: list[int] = []
        length = 0
        for atom in source.atoms:
            self._starts.append(length)
            text_of_atom = source.line[atom.start : atom.end]
            length += len(text_of_atom) - text_of_atom.count(" ")
            self._ends.append(length)

    def node(self, element: Element) -> Node:
        """Return an element with its atoms."""
        start, end = self._offset(element.start), self._offset(element.end)
        after_start = bisect_right(self._ends, start)  # the atom of the character after the start
        before_end = bisect_left(self._starts, end) - 1  # the atom of the character before the end
        first = after_start
        stop = max(before_end + 1, first) if start < end else first
        return Node(
            opening=element.opening,
            closing=element.closing,
            characters=(start, end),
            first=first,
            stop=stop,
            left=bisect_left(self._starts, start) - 1,
            right=bisect_right(self._ends, end),
            joins_left=self._has_character(element.start - 1),
            children=[self.node(child) for child in element.children if not child.overlaps],
        )

    def _has_character(self, position: int) -> bool:
        return 0 <= position < len(self._text) and self._text[position] != " "


class _Placing:
    """Places elements in the parts of their parents."""

    def __init__(self, target: LineAtoms, targets_of: Sequence[Sequence[int]], split: bool) -> None:
        self._atoms = target.atoms
        self._targets_of = targets_of
        self._split = split
        self.unlinked = 0

    def fill(self, parent: Node, parts: list[PlacedPart]) -> None:
        """Place the children of an element in its parts."""
        if not parent.children:
            return
        spans = [part for part in parts if part.first < part.stop]
        starts = [part.start for part in parts]
        links = self._links_within(parent, spans)
        linked = list(links)
        runs = self._runs_of_children(parent, spans, links)
        taken = sorted((run.first, run.stop) for of_child in runs.values() for run in of_child)
        for number, child in enumerate(parent.children):
            placed = runs.get(number, [])
            if not placed:
                position = self._point_at_edge(child, parent, parts)
                neighbor = _linked_neighbor(child, linked)
                if position is None and neighbor is not None:
                    position = self._point_beside(neighbor, child, links, taken)
                if position is None:
                    position = parts[-1].end
                placed = [PlacedPart(child, number, position, position)]
                self._count_unlinked(child)
            for part in placed:
                index = bisect_right(starts, part.start) - 1
                parts[max(index, 0)].children.append(part)
            self.fill(child, placed)

    def _links_within(self, parent: Node, spans: list[PlacedPart]) -> dict[int, list[int]]:
        """Return the links of the atoms of an element to target atoms that are in one of its parts.

        Atoms without such a link are omitted.
        """
        links: dict[int, list[int]] = {}
        if not spans:
            return links
        for s in range(parent.first, parent.stop):
            inside = [t for t in self._targets_of[s] if _part_around(spans, t) is not None]
            if inside:
                links[s] = inside
        return links

    def _runs_of_children(
        self, parent: Node, spans: list[PlacedPart], links: dict[int, list[int]]
    ) -> dict[int, list[PlacedPart]]:
        """Return the parts of each child that is linked to atoms of its parent's parts."""
        owners: dict[int, int] = dict.fromkeys((t for inside in links.values() for t in inside), -1)
        whole: dict[int, list[PlacedPart]] = {}
        done = 0  # atoms before it; several children inside one atom share it, and the first has its links
        for number, child in enumerate(parent.children):
            if child.characters == parent.characters and child.first < child.stop:
                whole[number] = [self._part(child, number, span.first, span.stop) for span in spans]
                return whole
            for s in range(max(child.first, done), child.stop):
                for t in links.get(s, ()):
                    if owners[t] < 0:
                        owners[t] = number
            done = max(done, child.stop)
        return self._owned_runs(parent, spans, owners)

    def _owned_runs(
        self, parent: Node, spans: list[PlacedPart], owners: dict[int, int]
    ) -> dict[int, list[PlacedPart]]:
        """Return the runs of target atoms that belong to each child."""
        runs: dict[int, list[PlacedPart]] = {}
        owned = sorted(t for t, owner in owners.items() if self._split or owner >= 0)
        for (owner, _), group in groupby(owned, key=lambda t: (owners[t], _part_around(spans, t))):
            if owner >= 0:
                atoms = list(group)
                run = self._part(parent.children[owner], owner, atoms[0], atoms[-1] + 1)
                runs.setdefault(owner, []).append(run)
        if not self._split:
            for owner, parts in runs.items():
                runs[owner] = [max(parts, key=lambda run: run.stop - run.first)]
        return runs

    def _part(self, node: Node, number: int, first: int, stop: int) -> PlacedPart:
        return PlacedPart(node, number, self._atoms[first].start, self._atoms[stop - 1].end, first, stop)

    @staticmethod
    def _point_at_edge(child: Node, parent: Node, parts: list[PlacedPart]) -> int | None:
        """Return the point of an element that is at the start or the end of its parent, else None."""
        (start, end), (parent_start, parent_end) = child.characters, parent.characters
        if start == parent_start:
            return parts[0].start
        return parts[-1].end if end == parent_end else None

    def _point_beside(
        self,
        neighbor: int,
        child: Node,
        links: dict[int, list[int]],
        taken: list[tuple[int, int]],
    ) -> int:
        """Return the point beside the target of a source atom, never inside another element."""
        is_after = neighbor <= child.left
        t = links[neighbor][-1 if is_after else 0]
        index = bisect_right(taken, (t, len(self._atoms))) - 1
        if index >= 0 and t < taken[index][1]:
            first, stop = taken[index]
            t = stop - 1 if is_after else first
        return self._atoms[t].end if is_after else self._atoms[t].start

    def add_overlapping(self, code: Node, root: PlacedPart) -> None:
        """Place the two ends of a code as points in the innermost elements around them."""
        links = self._links_within(root.node, [root])
        linked = sorted({t for s in range(code.first, code.stop) for t in links.get(s, ())})
        if code.characters == root.node.characters:
            start, end = root.start, root.end
        elif linked:
            start, end = self._atoms[linked[0]].start, self._atoms[linked[-1]].end
        else:
            position = self._point_at_edge(code, root.node, [root])
            neighbor = _linked_neighbor(code, list(links))
            if position is None and neighbor is not None:
                position = self._point_beside(neighbor, code, links, [])
            start = end = root.end if position is None else position
            self._count_unlinked(code)
        for markup, position in ((code.opening, start), (code.closing, end)):
            parent = _innermost_part(root, position)
            point = replace(code, opening=markup, closing="", children=[])
            number = len(parent.node.children) + len(parent.children)  # after those that are there
            parent.children.append(PlacedPart(point, number, position, position))

    def _count_unlinked(self, child: Node) -> None:
        atoms = range(child.first, child.stop)
        if atoms and not any(self._targets_of[s] for s in atoms):
            self.unlinked += 1


def _innermost_part(part: PlacedPart, position: int) -> PlacedPart:
    """Return the innermost part that begins before a character and ends after it."""
    for child in part.children:
        if child.start < position < child.end:
            return _innermost_part(child, position)
    return part


def _part_around(spans: list[PlacedPart], t: int) -> int | None:
    """Return the number of the part that an atom is in."""
    index = bisect_right(spans, t, key=lambda part: part.first) - 1
    return index if index >= 0 and t < spans[index].stop else None


def _linked_neighbor(child: Node, linked: list[int]) -> int | None:
    """Return the linked atom beside an element that decides where it goes.

    An element that is joined to the word before it stays after this word; others go before the next word.
    If neither word beside it is linked, the nearest linked one decides.
    """
    before = bisect_right(linked, child.left) - 1
    after = bisect_left(linked, child.right)
    left = linked[before] if before >= 0 else None
    right = linked[after] if after < len(linked) else None
    ordered = (left, right) if child.joins_left else (right, left)
    for neighbor in ordered:
        if neighbor is not None and neighbor in (child.left, child.right):
            return neighbor
    return next((neighbor for neighbor in ordered if neighbor is not None), None)
