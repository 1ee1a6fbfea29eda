"""Annotation projection from source to target words over links: spans, BIO labels, and XML tags.

Words without a link inside an annotation are part of it; a word that two annotations claim goes to the one
that begins first. Projected labels and tags are well-formed, whatever the links are.

:func:`project` returns the annotations of all pairs. The command projects one line after the other with
:func:`project_line`, so its memory does not grow with the bitext.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from operator import index, itemgetter
from typing import Any, Literal, NamedTuple, overload

from nmtalign.applications.linked_pairs import LinkedBitext, LinkedPair, read_linked_pairs
from nmtalign.calls import check_call
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.names import TAG_FORMATS, TagFormat
from nmtalign.validation import check_choice, is_iterable

MAX_TAG_DEPTH = 100  # tags inside each other
MAX_SPANS_PER_WORD = 100  # on average over the words of a line
MAX_LISTED_PAIRS = 5  # in a warning
_TAG = re.compile(r"<(/?)([A-Za-z_][\w:.-]*+)([^<>]*+)>")
_SPAN = re.compile(r"(\d{1,9})-(\d{1,9}):(.+)")


class LabeledSpan(NamedTuple):
    """The words from `start` up to `end` (not included), counted from 0, carry `label`."""

    start: int
    end: int
    label: str


# --- spans and labels ----------------------------------------------------------------------------


def project_spans(
    spans: Iterable[LabeledSpan], links: Iterable[tuple[int, int]], target_length: int
) -> list[LabeledSpan]:
    """Return the spans of target words that the source spans are linked to, in order; no two share a word.

    A span goes to the words its words are linked to, and to words without a link between them. If words that
    belong to other spans are in between, it becomes several spans; without any link, none.
    """
    targets_of: dict[int, list[int]] = {}
    linked_targets: set[int] = set()
    for s, t in links:
        targets_of.setdefault(s, []).append(t)
        linked_targets.add(t)
    owners: list[tuple[int, str] | None] = [None] * target_length  # number and label of a span
    # words that are linked, or have an owner, lead on to the next word; the last entry is the end
    next_free = [t + (t in linked_targets) for t in range(target_length + 1)]
    for number, span in enumerate(sorted(spans)):
        claim = number, span.label
        words = {t for s in range(span.start, span.end) for t in targets_of.get(s, ())}
        for word in words:
            owners[word] = owners[word] or claim
        word = _find_free(next_free, min(words, default=target_length))
        last = max(words, default=0)
        while word < last:
            owners[word] = claim
            next_free[word] = word + 1
            word = _find_free(next_free, word)
    return _spans_of_owners(owners)


def _spans_of_owners(owners: Sequence[tuple[int, str] | None]) -> list[LabeledSpan]:
    """Return the runs of words that have the same owner."""
    spans: list[LabeledSpan] = []
    start = 0
    for owner, words in groupby(owners):
        end = start + len(list(words))
        if owner is not None:
            _, label = owner
            spans.append(LabeledSpan(start, end, label))
        start = end
    return spans


def _find_free(next_free: list[int], word: int) -> int:
    """Return the first free word from `word` on: one that does not lead on to another.

    The path is halved on the way, so that later searches are shorter.
    """
    while next_free[word] != word:
        next_free[word] = next_free[next_free[word]]
        word = next_free[word]
    return word


def spans_of_labels(labels: Sequence[str]) -> list[LabeledSpan]:
    """Return the spans of BIO labels: ``B-X`` begins, ``I-X`` continues, ``O`` is outside."""
    spans: list[LabeledSpan] = []
    previous = "O"
    for position, label in enumerate(labels):
        tag, _, name = label.partition("-")
        if tag == "I" and name and previous in (f"B-{name}", label):
            spans[-1] = spans[-1]._replace(end=position + 1)
        elif tag == "B" and name:
            spans.append(LabeledSpan(position, position + 1, name))
        elif label != "O":
            raise DataError(f"expected B-X, I-X after B-X or I-X, or O for word {position}, found {label!r}")
        previous = label
    return spans


def labels_of_spans(spans: Iterable[LabeledSpan], length: int) -> list[str]:
    """Return BIO labels of `length` words."""
    labels = ["O"] * length
    for start, end, label in spans:
        labels[start] = f"B-{label}"
        for position in range(start + 1, end):
            labels[position] = f"I-{label}"
    return labels


def parse_spans(line: str, length: int) -> list[LabeledSpan]:
    """Return the spans of a line such as ``0-2:PER 4-5:LOC``, end not included, within `length` words."""
    spans: list[LabeledSpan] = []
    for part in _split(line):
        match = _SPAN.fullmatch(part)
        span = None if match is None else LabeledSpan(int(match[1]), int(match[2]), match[3])
        if span is None or not span.start < span.end <= length:
            raise DataError(f"expected spans like 0-2:NAME within {length} words, found {part!r}")
        spans.append(span)
    _check_number_of_spans(spans, length)
    return spans


def _check_number_of_spans(spans: Iterable[LabeledSpan], length: int) -> None:
    """Raise DataError if so many spans overlap that their projection would take too long."""
    covered = sum(span.end - span.start for span in spans)
    if covered > MAX_SPANS_PER_WORD * length:
        limit = f"at most {MAX_SPANS_PER_WORD} spans over a word on the average"
        raise DataError(f"expected {limit}, found more")


def _split(line: str) -> list[str]:
    """Return what is separated by spaces in a line."""
    return [part for part in line.split(" ") if part]


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
    places = [match.span() for match in re.finditer("[^ ]+", plain)]
    starts = [start for start, _ in places]
    ends = [end for _, end in places]
    root = Element("", "", 0, len(places))
    path = [root]  # the elements that are open
    removed = 0  # characters of the tags so far
    for match in _TAG.finditer(line):
        position = match.start() - removed  # in the line without tags
        removed += len(match[0])
        slash, name, attributes = match.groups()
        parent = path[-1]
        if slash:
            if parent.name != name:
                expected = f"</{parent.name}>" if parent.name else "no closing tag"
                raise DataError(f"expected {expected}, found </{name}>; tags must be nested")
            parent.end = bisect_left(starts, position)
            path.pop()
        elif attributes.endswith("/"):
            word = bisect_left(starts, position)
            parent.children.append(Element(name, match[0], word, word, empty=True))
        else:
            element = Element(name, match[0], bisect_right(ends, position), 0)
            parent.children.append(element)
            path.append(element)
            if len(path) > MAX_TAG_DEPTH:
                raise DataError(f"expected tags at most {MAX_TAG_DEPTH} deep inside each other")
    if len(path) > 1:
        expected = f"expected </{path[-1].name}> before the end of the line"
        raise DataError(f"{expected}; where <{path[-1].name}> is a word, give labels or spans")
    return [plain[start:end] for start, end in places], root


def spans_of_tags(line: Element) -> list[LabeledSpan]:
    """Return the words that each element of a tagged line goes around, in order."""
    spans: list[LabeledSpan] = []
    waiting = line.children[::-1]
    while waiting:
        element = waiting.pop()
        waiting += element.children[::-1]
        if element.start < element.end:
            spans.append(LabeledSpan(element.start, element.end, element.name))
    return spans


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
    targets_of: list[list[int]] = [[] for _ in range(line.end)]
    for s, t in sorted(links):
        targets_of[s].append(t)
    return " ".join(_tagged_words(line, (0, len(target)), target, targets_of))


Run = tuple[int, int]  # target words from the first number up to the second


def _tagged_words(element: Element, run: Run, words: Sequence[str], targets_of: list[list[int]]) -> list[str]:
    """Return the target words of a run with the tags inside `element`."""
    tagged: list[str] = []
    cursor, run_end = run
    runs = sorted(_runs_of_children(element, run, targets_of), key=itemgetter(0))
    for (start, end), child in runs:
        tagged += words[cursor:start]
        inner = _tagged_words(child, (start, end), words, targets_of) or [""]
        inner[0] = child.opening + inner[0]
        inner[-1] += child.closing
        tagged += inner
        cursor = end
    return tagged + list(words[cursor:run_end])


def _runs_of_children(
    parent: Element, run: Run, targets_of: list[list[int]]
) -> Iterator[tuple[Run, Element]]:
    """Yield the run of words that each child goes around, and the child; runs do not overlap."""
    run_start, run_end = run
    owners: dict[int, int] = {}  # number of the child that each target word belongs to
    done = 0  # source words before it; several children within one word share it, and the first has its links
    for number, child in enumerate(parent.children):
        for s in range(max(child.start, done), child.end):
            for t in targets_of[s]:
                if run_start <= t < run_end:
                    owners.setdefault(t, number)
        if child.start < child.end:
            done = max(done, child.end)
    runs = _longest_runs(owners)
    taken = sorted(runs.values())
    linked_sources = [s for s in range(parent.start, parent.end) if targets_of[s]]
    for number, child in enumerate(parent.children):
        if number not in runs:
            point = _point_between(child.start, linked_sources, run, targets_of)
            before = bisect_left(taken, (point,)) - 1  # the last run that starts before the point
            if before >= 0 and point < taken[before][1]:
                point = taken[before][0]  # inside of another element: go in front of it
            runs[number] = (point, point)
        yield runs[number], child


def _longest_runs(owners: dict[int, int]) -> dict[int, Run]:
    """Return the longest run of each owner that begins and ends with its words, without another's."""
    longest: dict[int, Run] = {}
    for owner, group in groupby(sorted(owners), key=owners.__getitem__):
        words = list(group)
        run = words[0], words[-1] + 1
        longest[owner] = max(longest.get(owner, run), run, key=lambda run: run[1] - run[0])
    return longest


def _point_between(position: int, linked_sources: list[int], run: Run, targets_of: list[list[int]]) -> int:
    """Return where something between source words goes: before the next linked word, or after the last."""
    run_start, run_end = run
    following = bisect_left(linked_sources, position)
    point = run_start
    if following < len(linked_sources):
        point = targets_of[linked_sources[following]][0]
    elif linked_sources:
        point = targets_of[linked_sources[-1]][-1] + 1
    return min(max(point, run_start), run_end)


# --- lines of annotations --------------------------------------------------------------------------


class ProjectedLine(NamedTuple):
    """The annotations of a target sentence as a line, and how many of the source found no place."""

    text: str
    unlinked: int  # annotations of the source whose words have no link


def project_line(line: str, pair: LinkedPair, format: TagFormat) -> ProjectedLine:
    """Project the annotations of one source sentence, written in one of `TAG_FORMATS`, to the target.

    DataError is raised if they are not well-formed, or do not fit the source words of the pair.
    """
    if format == "xml":
        return _project_xml(line, pair)
    if format == "bio":
        labels, unlinked = _project_labels(_split(line), pair)
        return ProjectedLine(" ".join(labels), unlinked)
    spans = parse_spans(line, len(pair.source))
    projected = project_spans(spans, pair.links, len(pair.target))
    text = " ".join(f"{start}-{end}:{label}" for start, end, label in projected)
    return ProjectedLine(text, count_unlinked(spans, pair.links))


def _project_xml(line: str, pair: LinkedPair) -> ProjectedLine:
    """Project the tags of a line, which contains the source words."""
    words, root = parse_tags(line)
    if words != list(pair.source):
        raise DataError(_difference(pair.source, words))
    text = project_tags(root, pair.target, pair.links)
    return ProjectedLine(text, count_unlinked(spans_of_tags(root), pair.links))


def _difference(expected: Sequence[str], words: Sequence[str]) -> str:
    """Return a message about the first word that differs."""
    both = list(zip_longest(expected, words, fillvalue=""))
    position = next(n for n, (word, found) in enumerate(both) if word != found)
    word, found = both[position]
    return f"expected the source words with tags; word {position} is {word!r}, found {found!r}"


def _project_labels(labels: Sequence[str], pair: LinkedPair) -> tuple[list[str], int]:
    """Return BIO labels of the target words, and the number of annotations without a link."""
    if len(labels) != len(pair.source):
        raise DataError(f"expected a label for each of {len(pair.source)} source words, found {len(labels)}")
    spans = spans_of_labels(labels)
    target_length = len(pair.target)
    projected = project_spans(spans, pair.links, target_length)
    return labels_of_spans(projected, target_length), count_unlinked(spans, pair.links)


def count_unlinked(spans: Iterable[LabeledSpan], links: Iterable[tuple[int, int]]) -> int:
    """Return the number of spans of which no word has a link."""
    linked = {s for s, _ in links}
    return sum(linked.isdisjoint(range(span.start, span.end)) for span in spans)


# --- the public function ---------------------------------------------------------------------------

Labels = str | Sequence[str]  # of one sentence: a line such as "O B-X I-X", or a list of labels
Spans = str | Sequence[tuple[int, int, str]]  # a line such as "1-3:X", or (start, end, label)


@overload
def project(pairs: LinkedBitext, tags: Iterable[str], *, format: Literal["xml"] = "xml") -> list[str]: ...


@overload
def project(pairs: LinkedBitext, tags: Iterable[Labels], *, format: Literal["bio"]) -> list[list[str]]: ...


@overload
def project(
    pairs: LinkedBitext, tags: Iterable[Spans], *, format: Literal["spans"]
) -> list[list[LabeledSpan]]: ...


@check_call("write project(batch, tags, format='bio')")
def project(pairs: LinkedBitext, tags: Iterable[Any], *, format: TagFormat = "xml") -> list[Any]:
    """Project annotations of the source sentences to the target sentences, over links.

    A target word gets the annotation of the words that it is linked to; words without a link inside an
    annotation become part of it. The result is well-formed, whatever the links are.

    Parameters
    ----------
    pairs : AlignedBatch, or iterable
        For each sentence pair an aligned pair, or a tuple (source, target, links). A sentence is a line,
        whose words are separated by spaces, or a list of words; links are (source, target) positions from 0,
        or a Pharaoh line.
    tags : iterable
        The annotations of each source sentence:

        * ``xml``: the line with its tags, such as ``"the <b>black cat</b>"``. Tags must be nested;
        * ``bio``: a label for each word, such as ``["O", "B-X", "I-X"]`` or ``"O B-X I-X"``;
        * ``spans``: tuples (start, end, label), the end not included, such as ``[(1, 3, "X")]`` or
          ``"1-3:X"``.
    format : {"xml", "bio", "spans"}
        The format of `tags` and of the result.

    Returns
    -------
    list
        For each pair the annotations of the target sentence: a line with tags, a list of labels, one for each
        target word, or a list of (start, end, label).

    Warns
    -----
    UserWarning
        If no word of an annotation has a link. An XML element then goes between the words beside it; a label
        or span is omitted.

    Raises
    ------
    DataError
        If the annotations are not well-formed, or do not fit the words; names the pair, counted from 0.

    Examples
    --------
    >>> import nmtalign as na
    >>> pairs = [("the black cat", "le chat noir", "0-0 1-2 2-1")]
    >>> na.project(pairs, ["O B-ANIMAL I-ANIMAL"], format="bio")
    [['O', 'B-ANIMAL', 'I-ANIMAL']]
    >>> na.project(pairs, ["the black <b>cat</b>"])
    ['le <b>chat</b> noir']
    """
    check_choice(format, TAG_FORMATS, "formats")
    if not is_iterable(tags) or isinstance(tags, str):
        raise UsageError(f"expected the annotations of each pair, found {short_repr(tags)}; pass a list")
    projected: list[Any] = []
    unlinked_pairs: list[int] = []  # a pair occurs once for each annotation
    missing = object()
    remaining_tags = iter(tags)
    for number, pair in enumerate(read_linked_pairs(pairs)):
        annotation = next(remaining_tags, missing)
        if annotation is missing:
            raise DataError(f"expected annotations of each pair, found those of only {number:,}")
        try:
            result, unlinked = _project_annotation(annotation, pair, format)
        except DataError as error:
            raise error.at(f"pair {number:,}") from None
        projected.append(result)
        unlinked_pairs += [number] * unlinked
    if next(remaining_tags, missing) is not missing:
        raise DataError(f"expected annotations of each of {len(projected):,} pairs, found more")
    if unlinked_pairs:
        text = describe_unlinked(unlinked_pairs, format, "pair")
        warnings.warn(text, stacklevel=3)
    return projected


def _project_annotation(
    annotation: Any, pair: LinkedPair, format: TagFormat
) -> tuple[str | list[str] | list[LabeledSpan], int]:
    """Return annotations of the target, and how many annotations of the source have no link."""
    if format == "xml":
        if not isinstance(annotation, str):
            raise DataError(f"expected a line with tags as text, found {short_repr(annotation)}")
        return _project_xml(annotation, pair)
    if format == "bio":
        labels = _split(annotation) if isinstance(annotation, str) else annotation
        if not isinstance(labels, Sequence) or not all(isinstance(label, str) for label in labels):
            raise DataError(f"expected a list of labels, found {short_repr(labels)}")
        return _project_labels(labels, pair)
    spans = _as_spans(annotation, len(pair.source))
    return project_spans(spans, pair.links, len(pair.target)), count_unlinked(spans, pair.links)


def _as_spans(annotation: Any, length: int) -> list[LabeledSpan]:
    """Return the spans of a line or of tuples (start, end, label) within `length` words."""
    if isinstance(annotation, str):
        return parse_spans(annotation, length)
    wanted = f"expected spans like (0, 2, 'NAME') within {length} words"
    if not isinstance(annotation, Sequence):
        raise DataError(f"{wanted}, found {short_repr(annotation)}")
    spans: list[LabeledSpan] = []
    for entry in annotation:
        try:
            start, end, label = entry
            span = LabeledSpan(index(start), index(end), label)
        except (TypeError, ValueError):
            raise DataError(f"{wanted}, found {short_repr(entry)}") from None
        if not isinstance(label, str) or not 0 <= span.start < span.end <= length:
            raise DataError(f"{wanted}, found {short_repr(entry)}")
        spans.append(span)
    _check_number_of_spans(spans, length)
    return spans


def describe_unlinked(numbers: Sequence[int], format: TagFormat, unit: str) -> str:
    """Return what became of annotations without a link; `numbers` are those of their pairs or lines."""
    listed = [str(number) for number in dict.fromkeys(numbers[:MAX_LISTED_PAIRS])]
    where = ", ".join(listed) + (", ..." if len(numbers) > MAX_LISTED_PAIRS else "")
    done = "put between the words beside them" if format == "xml" else "left out"
    return f"annotations of words without a link: {len(numbers):,}, {done} ({unit} {where})"
