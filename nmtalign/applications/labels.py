"""Spans with labels, the schemes BIO, BIOES and IOB1, plain labels of words, and CoNLL-U.

Words without a link inside a span are part of it. Of spans that do not overlap, a word that two claim goes to
the one that begins first; spans over each other are projected independently. Projected labels are
well-formed, whatever the links are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from nmtalign.applications.linked_pairs import LinkedLines
from nmtalign.errors import DataError
from nmtalign.files.text_files import split_spaces
from nmtalign.names import LabelFormat
from nmtalign.text.paired_files import is_row_without_word, sentence_blocks

MAX_SPANS_PER_WORD = 100  # overlapping spans
NO_LABEL = "_"  # in plain labels, stands for a target word without a link
_SPAN = re.compile(r"(\d{1,9})-(\d{1,9}):(.+)")
_ADVICE = {
    "bio": "expected B-X, I-X after B-X or I-X, or O",
    "bioes": "expected B-X, I-X or E-X after B-X or I-X, S-X, or O",
    "iob1": "expected I-X, B-X after I-X or B-X, or O",
}


class LabeledSpan(NamedTuple):
    """The words from `start` up to `end` (not included), counted from 0, carry `label`."""

    start: int
    end: int
    label: str


# --- spans ---------------------------------------------------------------------------------------


class ProjectedSpans(NamedTuple):
    """Spans of the target, and the spans of the source that have no place in it."""

    spans: list[LabeledSpan]
    unlinked: int  # spans of the source whose words have no link
    displaced: list[LabeledSpan]  # spans of the source whose linked words all belong to spans before them


def project_spans(
    spans: Iterable[LabeledSpan], links: Collection[tuple[int, int]], target_length: int
) -> ProjectedSpans:
    """Return the spans of target words that the source spans are linked to, in order.

    A span goes to the words its words are linked to, and to words without a link between them. If words that
    belong to other spans are in between, it becomes several spans; without any link, none. Spans that do not
    overlap share no word of the target. Spans over each other do not affect each other.
    """
    targets_of: dict[int, list[int]] = {}
    linked_targets: set[int] = set()
    for s, t in links:
        targets_of.setdefault(s, []).append(t)
        linked_targets.add(t)
    projected: list[LabeledSpan] = []
    displaced: list[LabeledSpan] = []
    unlinked = 0
    for layer in _layers_of(spans):
        owners = _owners_of_words(layer, targets_of, linked_targets, target_length)
        projected += _spans_of_owners(owners)
        placed_numbers = {owner[0] for owner in owners if owner is not None}
        for number, span in enumerate(layer):
            if number in placed_numbers:
                continue
            if targets_of.keys().isdisjoint(range(span.start, span.end)):
                unlinked += 1
            else:
                displaced.append(span)
    projected.sort(key=lambda span: (span.start, -span.end))  # a span comes before those inside of it
    return ProjectedSpans(projected, unlinked, displaced)


def _layers_of(spans: Iterable[LabeledSpan]) -> list[list[LabeledSpan]]:
    """Return the spans in as few layers as possible; no two spans of a layer overlap."""
    layers: list[list[LabeledSpan]] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.label)):
        layer = next((layer for layer in layers if layer[-1].end <= span.start), None)
        if layer is not None:
            layer.append(span)
        elif len(layers) < MAX_SPANS_PER_WORD:
            layers.append([span])
        else:
            raise DataError(f"expected at most {MAX_SPANS_PER_WORD} spans over a word, found more")
    return layers


def _owners_of_words(
    layer: Sequence[LabeledSpan],
    targets_of: Mapping[int, Iterable[int]],
    linked_targets: Collection[int],
    target_length: int,
) -> list[tuple[int, str] | None]:
    """Return the number and the label of the span that each target word belongs to."""
    owners: list[tuple[int, str] | None] = [None] * target_length
    # words that are linked, or have an owner, lead on to the next word; the last entry is the end
    next_free = [t + (t in linked_targets) for t in range(target_length + 1)]
    for number, span in enumerate(layer):
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
    return owners


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


def parse_spans(line: str, length: int, unit: str = "words") -> list[LabeledSpan]:
    """Return the spans of a line such as ``0-2:PER 4-5:LOC``, end not included, within `length` words.

    >>> parse_spans("0-2:PER", 3)
    [LabeledSpan(start=0, end=2, label='PER')]
    """
    spans: list[LabeledSpan] = []
    for part in split_spaces(line):
        match = _SPAN.fullmatch(part)
        span = None if match is None else LabeledSpan(int(match[1]), int(match[2]), match[3])
        if span is None or not span.start < span.end <= length:
            raise DataError(f"expected spans like 0-2:NAME within {length} {unit}, found {part!r}")
        spans.append(span)
    return spans


# --- labels --------------------------------------------------------------------------------------


def spans_of_labels(labels: Sequence[str], format: LabelFormat = "bio") -> list[LabeledSpan]:
    """Return the spans of labels in one of the schemes; DataError if a label cannot follow the one before it.

    >>> spans_of_labels(["I-PER", "I-PER", "B-PER", "O"], "iob1")
    [LabeledSpan(start=0, end=2, label='PER'), LabeledSpan(start=2, end=3, label='PER')]
    """
    spans: list[LabeledSpan] = []
    open_name = ""  # the name of the span that the next word may continue
    for position, label in enumerate(labels):
        tag, _, name = label.partition("-")
        continues = name == open_name != "" and tag in ("I", "E")
        is_valid = label == "O" or (name != "" and tag in _tags_of(format, name == open_name))
        if format == "bioes" and open_name and not (is_valid and continues):
            expected = f"expected I-{open_name} or E-{open_name} after {labels[position - 1]}"
            raise DataError(f"{expected} for word {position}, found {label!r}")
        if not is_valid:
            found = f"{label!r}{_format_hint(tag, name, format)}"
            raise DataError(f"{_ADVICE[format]} for word {position}, found {found}")
        if continues:
            spans[-1] = spans[-1]._replace(end=position + 1)
        elif name:
            spans.append(LabeledSpan(position, position + 1, name))
        open_name = "" if tag in ("E", "S") else name
    if format == "bioes" and open_name:
        raise DataError(f"expected E-{open_name} after {labels[-1]}, found the end of the labels")
    return spans


def _tags_of(format: LabelFormat, is_open: bool) -> tuple[str, ...]:
    """Return the tags that a label may have, depending on whether a span of its name is open."""
    if format == "bioes":
        return ("I", "E", "B", "S") if is_open else ("B", "S")
    if format == "iob1":
        return ("I", "B") if is_open else ("I",)
    return ("I", "B") if is_open else ("B",)


def _format_hint(tag: str, name: str, format: LabelFormat) -> str:
    """Return the format that may be meant."""
    if not name and len(tag) > 1:
        return "; plain labels of words, such as parts of speech, are in the format labels"
    if name and tag in ("E", "S") and format != "bioes":
        return "; such labels are in the format bioes"
    if name and tag == "I" and format == "bio":
        return "; in the format iob1, a span begins with I-X"
    return ""


def labels_of_spans(spans: Iterable[LabeledSpan], length: int, format: LabelFormat = "bio") -> list[str]:
    """Return the labels of `length` words in one of the schemes.

    >>> labels_of_spans([LabeledSpan(0, 3, "PER"), LabeledSpan(3, 4, "LOC")], 5, "bioes")
    ['B-PER', 'I-PER', 'E-PER', 'S-LOC', 'O']
    """
    labels = ["O"] * length
    previous: LabeledSpan | None = None
    for span in spans:
        start, end, label = span
        labels[start:end] = [f"I-{label}"] * (end - start)
        follows = previous is not None and (previous.end, previous.label) == (start, label)
        if format != "iob1" or follows:
            labels[start] = f"B-{label}"
        if format == "bioes":
            labels[end - 1] = f"S-{label}" if end - start == 1 else f"E-{label}"
        previous = span
    return labels


def project_labels(
    labels: Sequence[str], links: Collection[tuple[int, int]], target_length: int
) -> tuple[list[str], int]:
    """Return a plain label for each target word, and the number of source words without a link.

    A target word gets the label of the first source word that it is linked to, or `NO_LABEL`.

    >>> project_labels(["DET", "ADJ", "NOUN"], [(0, 0), (1, 2), (2, 1)], 4)
    (['DET', 'NOUN', 'ADJ', '_'], 0)
    """
    source_of = _first_sources(links)
    projected = [labels[source_of[t]] if t in source_of else NO_LABEL for t in range(target_length)]
    linked = {s for s, _ in links}
    return projected, len(labels) - len(linked)


def _first_sources(links: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the first source word that each linked target word is linked to."""
    return {t: s for s, t in sorted(links, reverse=True)}


# --- CoNLL-U -------------------------------------------------------------------------------------
# A sentence is a block of lines: comments, and one row of ten columns per word. Lemmas, heads and relations
# are not projected, as they seldom apply in the other language; their columns are unspecified (``_``).

MAX_SENTENCE_CHARS = 4_194_304
_COLUMN_COUNT = 10
_FORM = 1
_PROJECTED = slice(3, 6)  # UPOS, XPOS and FEATS
_UNSPECIFIED = "_"


def read_sentences(lines: Iterable[str], path: str) -> Iterator[str]:
    """Yield the blocks of the lines of a file, which are separated by empty lines.

    >>> list(read_sentences(["# text = a", "1\\ta", "", "", "1\\tb"], "sentences.conllu"))
    ['# text = a\\n1\\ta', '1\\tb']
    """
    for block in sentence_blocks(lines):
        rows: list[str] = []
        length = 0
        for number, line in block:
            rows.append(line)
            length += len(line) + 1
            if length > MAX_SENTENCE_CHARS:
                limit = f"at most {MAX_SENTENCE_CHARS:,} characters"
                raise DataError(f"expected sentences of {limit}").at(path, line=number)
        yield "\n".join(rows)


def project_sentence(sentence: str, lines: LinkedLines) -> tuple[str, int]:
    """Return the sentence of the target, and the number of source words without a link.

    A target word gets the part of speech and the features of the first source word that it is linked to.
    """
    comments, rows = _parse_sentence(sentence)
    pair = lines.pair
    # pairs that are read from CoNLL-U have no-break spaces inside words
    forms = [row[_FORM].replace(" ", "\u00a0") for row in rows]
    words = [word.replace(" ", "\u00a0") for word in pair.source]
    if forms != words:
        raise DataError(_different_form(words, forms))
    if not pair.target:
        raise DataError("expected a target line with words; CoNLL-U has no sentence without words")
    source_of = _first_sources(pair.links)
    projected = [comment for comment in comments if not comment.startswith("# text")]
    projected.append(f"# text = {lines.target}")
    for t, word in enumerate(pair.target):
        if "\t" in word or "\n" in word:
            raise DataError(f"expected target words without tabs, found {word!r}")
        row = [str(t + 1), word, *[_UNSPECIFIED] * (_COLUMN_COUNT - 2)]
        if t in source_of:
            row[_PROJECTED] = rows[source_of[t]][_PROJECTED]
        projected.append("\t".join(row))
    linked = {s for s, _ in pair.links}
    return "\n".join(projected), len(rows) - len(linked)


def with_target_rows(projected: str, target: str) -> str:
    """Return a projected sentence with the text of `target`, its word forms, and its rows that are no words.

    The latter are of multiword tokens (``3-4``), before their first word, and of empty nodes (``5.1``).
    """
    rows_before: dict[int, list[str]] = {}  # the number of a word, from 1
    forms: dict[int, str] = {}  # as they are written; in pairs, a space inside a word is a no-break space
    text = ""
    for line in target.split("\n"):
        if line.startswith("# text ="):
            text = line
        elif is_row_without_word(line):
            columns = line.split("\t", 1)
            number, separator = re.findall(r"^\d+|[-.]", columns[0])[:2]
            rows_before.setdefault(int(number) + (separator == "."), []).append(line)
        elif not line.startswith("#"):
            word_number, form = line.split("\t", 2)[:2]
            forms[int(word_number)] = form
    lines: list[str] = []
    for line in projected.split("\n"):
        if line.startswith("#"):
            lines.append(text if text and line.startswith("# text =") else line)
        else:
            word_number, form, annotation = line.split("\t", 2)
            n = int(word_number)
            lines += [*rows_before.pop(n, ()), "\t".join([word_number, forms.get(n, form), annotation])]
    return "\n".join([*lines, *(line for rows in rows_before.values() for line in rows)])


def _parse_sentence(sentence: str) -> tuple[list[str], list[list[str]]]:
    """Return the comments of a sentence, and the columns of its words."""
    comments: list[str] = []
    rows: list[list[str]] = []
    for line in sentence.split("\n"):
        if line.startswith("#"):
            comments.append(line)
            continue
        if is_row_without_word(line):
            continue
        row = line.split("\t")
        if len(row) != _COLUMN_COUNT or row[0] != str(len(rows) + 1):
            expected = f"expected ten columns with tabs between them, beginning with {len(rows) + 1}"
            raise DataError(f"{expected}, found {line[:80]!r}")
        rows.append(row)
    return comments, rows


def _different_form(words: Sequence[str], forms: Sequence[str]) -> str:
    """Return a message about the first form that is not the source word."""
    if len(words) != len(forms):
        return f"expected the {len(words)} source words, found {len(forms)} words in CoNLL-U"
    position = next(n for n, (word, form) in enumerate(zip(words, forms, strict=True)) if word != form)
    return f"expected the source word {words[position]!r}, found {forms[position]!r} as word {position + 1}"
