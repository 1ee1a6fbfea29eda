"""Annotation projection from source to target words over links: spans, BIO labels, and XML tags.

Words without a link inside an annotation are part of it; a word that two annotations claim goes to the one
that begins first. Projected labels and tags are well-formed, whatever the links are.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from nmtalign.errors import DataError

DEEPEST = 100  # tags inside each other, or spans over a word on the average
_TAG = re.compile(r"<(/?)([A-Za-z_][\w:.-]*+)([^<>]*+)>")


class Span(NamedTuple):
    """The words from `start` up to `end` (not included), counted from 0, carry `label`."""

    start: int
    end: int
    label: str


# --- spans and labels ----------------------------------------------------------------------------


def project_spans(spans: Iterable[Span], links: Iterable[tuple[int, int]], target_length: int) -> list[Span]:
    """Return the spans of target words that the source spans are linked to, in order; no two share a word.

    A span goes to the words its words are linked to, and to words without a link between them. Where
    words that belong elsewhere stand between, it becomes several spans; with no link at all, none.
    """
    partners: dict[int, list[int]] = {}
    for s, t in links:
        partners.setdefault(s, []).append(t)
    linked = {t for targets in partners.values() for t in targets}
    owner: list[tuple[int, str] | None] = [None] * target_length
    after = [t + (t in linked) for t in range(target_length + 1)]
    for number, span in enumerate(sorted(spans)):
        words = {t for s in range(span.start, span.end) for t in partners.get(s, ())}
        for word in words:
            owner[word] = owner[word] or (number, span.label)
        between, last = _free(after, min(words, default=target_length)), max(words, default=0)
        while between < last:
            owner[between] = number, span.label
            after[between] = between + 1
            between = _free(after, between)
    spans, start = [], 0
    for claim, group in groupby(owner):
        end = start + len(list(group))
        if claim is not None:
            spans.append(Span(start, end, claim[1]))
        start = end
    return spans


def _free(after: list[int], word: int) -> int:
    """Return the first word from `word` on that `after` does not lead on from; later ways are shorter."""
    while after[word] != word:
        after[word] = after[after[word]]
        word = after[word]
    return word


def spans_of_labels(labels: Sequence[str]) -> list[Span]:
    """Return the spans of BIO labels: ``B-X`` begins, ``I-X`` continues, ``O`` is outside."""
    spans: list[Span] = []
    before = "O"
    for n, label in enumerate(labels):
        tag, _, name = label.partition("-")
        if tag == "I" and name and before in (f"B-{name}", label):
            spans[-1] = spans[-1]._replace(end=n + 1)
        elif tag == "B" and name:
            spans.append(Span(n, n + 1, name))
        elif label != "O":
            raise DataError(f"expected B-X, I-X after B-X or I-X, or O for word {n}, found {label!r}")
        before = label
    return spans


def labels_of_spans(spans: Iterable[Span], length: int) -> list[str]:
    """Return BIO labels of `length` words."""
    labels = ["O"] * length
    for start, end, label in spans:
        labels[start:end] = [f"B-{label}"] + [f"I-{label}"] * (end - start - 1)
    return labels


def parse_spans(line: str, length: int) -> list[Span]:
    """Return the spans of a line such as ``0-2:PER 4-5:LOC``, end not included, within `length` words."""
    spans, covered = [], 0
    for part in filter(None, line.split(" ")):
        match = re.fullmatch(r"(\d{1,9})-(\d{1,9}):(.+)", part)
        if match is None or not int(match[1]) < int(match[2]) <= length:
            raise DataError(f"expected spans like 0-2:NAME within {length} words, found {part!r}")
        covered += int(match[2]) - int(match[1])
        if covered > DEEPEST * length:
            raise DataError(f"expected at most {DEEPEST} spans over a word on the average, found more")
        spans.append(Span(int(match[1]), int(match[2]), match[3]))
    return spans


# --- tags ----------------------------------------------------------------------------------------


@dataclass
class Element:
    """An element of a tagged line, around the words from `start` up to `end`; an empty one around none."""

    name: str
    opening: str
    start: int
    end: int
    empty: bool = False
    children: list[Element] = field(default_factory=list)

    @property
    def closing(self) -> str:
        return "" if self.empty else f"</{self.name}>"


def parse_tags(line: str) -> tuple[list[str], Element]:
    """Return the words of a line without its tags, and an element around all; DataError if tags overlap."""
    plain = _TAG.sub("", line)
    words = [match.span() for match in re.finditer("[^ ]+", plain)]
    starts, ends = [start for start, _ in words], [end for _, end in words]
    root = Element("", "", 0, len(words))
    path = [root]
    removed = 0
    for match in _TAG.finditer(line):
        at = match.start() - removed  # in the line without tags
        removed += len(match[0])
        closing, name, rest = match.groups()
        if closing:
            if path[-1].name != name:
                expected = f"</{path[-1].name}>" if path[-1].name else "no closing tag"
                raise DataError(f"expected {expected}, found </{name}>; tags must be nested")
            path.pop().end = bisect_left(starts, at)
        elif rest.endswith("/"):
            word = bisect_left(starts, at)
            path[-1].children.append(Element(name, match[0], word, word, empty=True))
        else:
            path[-1].children.append(Element(name, match[0], bisect_right(ends, at), 0))
            path.append(path[-1].children[-1])
            if len(path) > DEEPEST:
                raise DataError(f"expected tags at most {DEEPEST} deep inside each other")
    if len(path) > 1:
        expected = f"expected </{path[-1].name}> before the end of the line"
        raise DataError(f"{expected}; where <{path[-1].name}> is a word, give labels or spans")
    return [plain[start:end] for start, end in words], root


def spans_of_tags(line: Element) -> list[Span]:
    """Return the words that each element of a tagged line goes around, in order."""
    spans, waiting = [], line.children[::-1]
    while waiting:
        element = waiting.pop()
        waiting += element.children[::-1]
        if element.start < element.end:
            spans.append(Span(element.start, element.end, element.name))
    return spans


def unlinked(spans: Iterable[Span], links: Iterable[tuple[int, int]]) -> list[Span]:
    """Return the spans of which no word has a link."""
    linked = {s for s, _ in links}
    return [span for span in spans if linked.isdisjoint(range(span.start, span.end))]


def project_tags(line: Element, target: Sequence[str], links: Iterable[tuple[int, int]]) -> str:
    """Return the target words with the tags of a source line.

    An element goes around the words that its words are linked to and all between them, but not around words
    that another element beside it is linked to; it stays one element. One without links, and an empty one
    such as ``<br/>``, goes next to what its neighbors are linked to. The result has exactly the tags of
    `line`, properly nested, and the target words in their order.
    """
    for word in target:
        if _TAG.search(word):
            raise DataError(f"expected target words without tags, found {word!r}")
    linked: list[list[int]] = [[] for _ in range(line.end)]
    for s, t in sorted(links):
        linked[s].append(t)
    return " ".join(_render(line, (0, len(target)), target, linked))


Run = tuple[int, int]  # of target words


def _render(element: Element, run: Run, words: Sequence[str], linked: list[list[int]]) -> list[str]:
    """Return the target words of a run with the tags inside `element`."""
    pieces: list[str] = []
    cursor = run[0]
    for (start, end), child in sorted(_runs_of_children(element, run, linked), key=itemgetter(0)):
        pieces += words[cursor:start]
        inner = _render(child, (start, end), words, linked) or [""]
        inner[0] = child.opening + inner[0]
        inner[-1] += child.closing
        pieces += inner
        cursor = end
    return pieces + list(words[cursor : run[1]])


def _runs_of_children(parent: Element, run: Run, linked: list[list[int]]) -> Iterator[tuple[Run, Element]]:
    """Yield the run of words that each child goes around, and the child; runs do not overlap."""
    owner: dict[int, int] = {}
    done = 0  # source words; children within one word share it, and the first has its links
    for number, child in enumerate(parent.children):
        for word in (t for s in range(max(child.start, done), child.end) for t in linked[s]):
            if run[0] <= word < run[1]:
                owner.setdefault(word, number)
        done = max(done, child.end) if child.start < child.end else done
    runs = _longest_runs(owner)
    taken = sorted(runs.values())
    sources = [s for s in range(parent.start, parent.end) if linked[s]]
    for number, child in enumerate(parent.children):
        if number not in runs:
            point = _point(child.start, sources, run, linked)
            before = bisect_left(taken, (point,)) - 1  # the last stretch that begins before
            point = taken[before][0] if before >= 0 and point < taken[before][1] else point
            runs[number] = (point, point)
        yield runs[number], child


def _longest_runs(owner: dict[int, int]) -> dict[int, Run]:
    """Return the longest stretch of each owner that begins and ends with its words, without another's."""
    longest: dict[int, Run] = {}
    for number, group in groupby(sorted(owner), key=owner.__getitem__):
        words = list(group)
        run = words[0], words[-1] + 1
        longest[number] = max(longest.get(number, run), run, key=lambda run: run[1] - run[0])
    return longest


def _point(position: int, sources: list[int], run: Run, linked: list[list[int]]) -> int:
    """Return where something between source words goes: before the next linked word, or after the last."""
    after = bisect_left(sources, position)
    point = run[0]
    if after < len(sources):
        point = linked[sources[after]][0]
    elif sources:
        point = linked[sources[-1]][-1] + 1
    return min(max(point, run[0]), run[1])
