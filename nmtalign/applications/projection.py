"""Annotation projection from source to target words over links: markup, labels of words, and spans.

:func:`project` returns the annotations of all pairs. The command projects one line after the other with
:func:`project_line`, so its memory does not grow with the bitext. The steps are in other modules: `markup`
and `labels` read annotations, `placing` splits lines at punctuation and inserts markup in the target.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import zip_longest
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypeGuard, overload
from xml.sax.saxutils import escape as escape_xml

from nmtalign.applications.labels import (
    LabeledSpan,
    ProjectedSpans,
    labels_of_spans,
    parse_spans,
    project_labels,
    project_sentence,
    project_spans,
    spans_of_labels,
)
from nmtalign.applications.linked_pairs import (
    LinkedBitext,
    LinkedLines,
    LinkedPair,
    frame_index_of,
    read_linked_lines,
)
from nmtalign.applications.markup import find_tags, matched_offsets, parse_markup
from nmtalign.applications.placing import LineAtoms, link_atoms, place_markup, split_line
from nmtalign.display import name_pair, short_repr, with_plural
from nmtalign.errors import DataError, UsageError, warn_caller
from nmtalign.files.text_files import split_spaces, without_line_end
from nmtalign.names import (
    LABEL_FORMATS,
    MARKUP_FORMATS,
    TAG_FORMATS,
    LabelFormat,
    MarkupFormat,
    SpanFormat,
    TagFormat,
)
from nmtalign.text.containers import words_of_doc
from nmtalign.validation import check_bool, check_choice, check_same_index, is_iterable

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PAIRS_IN_WARNING = 5
_ADVICE_ON_CHARACTERS = "pass a batch of lines, or write format='spans', which counts words"
_ADVICE_ON_TOKENS = "labels of tokens need align_batch(..., count='tokens'), or Docs that were aligned"
_ADVICE_ON_LINES = (
    "over lines write format='char-spans', with Spans or tuples (span.start_char, span.end_char, span.label_)"
)


# --- lines of annotations ------------------------------------------------------------------------


class Projected(NamedTuple):
    """The annotations of a target sentence, and those of the source that found no place."""

    annotation: str | list[str] | list[LabeledSpan]
    unlinked: int  # annotations of the source whose words have no link
    displaced: Sequence[LabeledSpan] = ()  # spans of the source whose words all belong to other spans
    cut: Sequence[LabeledSpan] = ()  # spans of characters that begin or end inside a word of the source

    @property
    def text(self) -> str:
        """The annotations as a line."""
        if isinstance(self.annotation, str):
            return self.annotation
        return " ".join(one if isinstance(one, str) else _text_of_span(one) for one in self.annotation)


def project_line(annotation: Any, lines: LinkedLines, format: TagFormat, *, split: bool = False) -> Projected:
    """Project the annotations of one source sentence to the target: a line, or a list of labels or spans.

    DataError is raised if they are not well-formed, or do not fit the source line of the pair.
    """
    if _is_markup(format):
        return _project_markup(annotation, lines, format, split)
    if _is_label(format):
        labels = split_spaces(annotation) if isinstance(annotation, str) else annotation
        return Projected(*_project_labels(labels, lines.pair, format))
    if format == "conllu":
        return Projected(*project_sentence(annotation, lines))
    projected, cut = _project_spans(annotation, lines, format)
    return Projected(*projected, cut)


def _text_of_span(span: LabeledSpan) -> str:
    return f"{span.start}-{span.end}:{span.label}"


def _is_markup(format: TagFormat) -> TypeGuard[MarkupFormat]:
    return format in MARKUP_FORMATS


def _is_label(format: TagFormat) -> TypeGuard[LabelFormat | Literal["labels"]]:
    return format == "labels" or format in LABEL_FORMATS


# --- markup --------------------------------------------------------------------------------------


def _project_markup(line: str, lines: LinkedLines, format: MarkupFormat, split: bool) -> Projected:
    """Insert the markup of a line, whose text is that of the source line, in the target line."""
    check_target(lines.target, format)
    placed = _place_markup(line, lines, format, split)
    if "<" in lines.target and not _has_text(placed.text, lines.target, format):
        raise DataError("expected a target line whose < is not taken for a tag; write &lt; for it")
    return placed


def project_into_text(line: str, lines: LinkedLines, *, split: bool = False) -> Projected:
    """Insert the inline elements of a segment of XLIFF or TMX in a target without escapes, and escape it."""
    return _place_markup(line, lines, "xliff", split, escape=escape_xml)


def words_on_lines(text: str) -> list[tuple[int, int]]:
    """Return where the words of a segment are, which spaces and line breaks separate.

    >>> words_on_lines("le chat\\nnoir")
    [(0, 2), (3, 7), (8, 12)]
    """
    return [word.span() for word in re.finditer("[^ \n]+", text)]


def _place_markup(
    line: str, lines: LinkedLines, format: MarkupFormat, split: bool, *, escape: Callable[[str], str] = str
) -> Projected:
    marked = parse_markup(line, format)
    marked = marked._replace(text=marked.text.replace("\n", " "))  # segments of files may have several lines
    offset = matched_offsets(marked.text, lines.source, format)
    if offset is None:
        raise DataError(_difference(lines.source, marked.text))
    source_spans, target_spans = lines.word_spans
    source = split_line(lines.source, source_spans)
    target = split_line(lines.target, target_spans)
    targets_of = link_atoms(source, target, lines.pair.links)
    placed = place_markup(marked, offset, source, target, targets_of, split=split, escape=escape)
    return Projected(*placed)


def check_target(line: str, format: TagFormat) -> None:
    """Raise DataError if markup is projected to a target line that has markup of its own."""
    if not _is_markup(format):
        return
    for tag in find_tags(line, format):
        found = repr(line[tag.start : tag.end][:40])
        raise DataError(f"expected a target line without tags, found {found}; remove it, or write &lt; for <")


def _has_text(line: str, text: str, format: MarkupFormat) -> bool:
    """Return whether a line with markup has a text."""
    try:
        return parse_markup(line, format).text == text
    except DataError:
        return False


def _difference(source: str, text: str) -> str:
    """Return a message about the first word that differs."""
    both = list(zip_longest(split_spaces(source), split_spaces(text), fillvalue=""))
    position = next(n for n, (word, found) in enumerate(both) if word != found)
    word, found = both[position]
    message = f"expected the source words with tags; word {position} is {word!r}, found {found!r}"
    if "<" in found or "&" in found:
        message += "; where < is text, write &lt;, and quote the values of attributes"
    return message


# --- labels and spans ----------------------------------------------------------------------------


def _project_labels(
    labels: Sequence[str], pair: LinkedPair, format: LabelFormat | Literal["labels"]
) -> tuple[list[str], int, list[LabeledSpan]]:
    """Return labels of the target words, the number of annotations without a link, and displaced spans."""
    if len(labels) != len(pair.source):
        raise DataError(f"expected a label for each of {len(pair.source)} source words, found {len(labels)}")
    target_length = len(pair.target)
    links = pair.links.links
    if format == "labels":
        return *project_labels(labels, links, target_length), []
    spans, unlinked, displaced = project_spans(spans_of_labels(labels, format), links, target_length)
    return labels_of_spans(spans, target_length, format), unlinked, displaced


def _project_spans(
    annotation: Any, lines: LinkedLines, format: TagFormat
) -> tuple[ProjectedSpans, list[LabeledSpan]]:
    """Return spans of the target, those of the source that have no place in it, and those that cut words."""
    pair = lines.pair
    if format == "spans":
        spans = _as_spans(annotation, lines, "words")
        return project_spans(spans, pair.links.links, len(pair.target)), []
    if not lines.has_text:
        expected = "expected lines of text or Docs, because `char-spans` count characters"
        raise DataError(f"{expected}, found words without a text; {_ADVICE_ON_CHARACTERS}")
    spans = _as_spans(annotation, lines, "characters")
    source_spans, target_spans = lines.word_spans
    source = split_line(lines.source, source_spans)
    target = split_line(lines.target, target_spans)
    linked = link_atoms(source, target, pair.links)
    links = [(s, t) for s, targets in enumerate(linked) for t in targets]
    projected = project_spans(_atoms_inside(spans, source), links, len(target.atoms))
    projected = projected._replace(
        spans=[_characters_of(span, target) for span in projected.spans],
        displaced=[_characters_of(span, source) for span in projected.displaced],
    )
    return projected, [span for span in spans if _cuts_word(span, source)]


def _cuts_word(span: LabeledSpan, line: LineAtoms) -> bool:
    """Return whether a span of characters begins or ends inside a word."""
    ends = [atom.end for atom in line.atoms]
    for offset in (span.start, span.end):
        following = bisect_right(ends, offset)
        if following < len(ends) and line.atoms[following].start < offset:
            return True
    return False


def _characters_of(span: LabeledSpan, line: LineAtoms) -> LabeledSpan:
    """Return a span of atoms as a span of characters."""
    first, last = line.atoms[span.start], line.atoms[span.end - 1]
    return LabeledSpan(first.start, last.end, span.label)


def _atoms_inside(spans: Iterable[LabeledSpan], line: LineAtoms) -> list[LabeledSpan]:
    """Return the spans of atoms that spans of characters are over."""
    starts = [atom.start for atom in line.atoms]
    ends = [atom.end for atom in line.atoms]
    return [
        LabeledSpan(bisect_right(ends, start), bisect_left(starts, end), label) for start, end, label in spans
    ]


# --- the public function -------------------------------------------------------------------------


class DocSpan(Protocol):
    """A span of spaCy, to type checkers."""

    @property
    def label_(self) -> str: ...


# the labels of one sentence: a line such as "O B-X I-X", a list, or an array
Labels: TypeAlias = "str | Sequence[str] | NDArray[Any]"
# a line such as "1-3:X", tuples (start, end, label), or spans of spaCy
Spans = str | Iterable[tuple[int, int, str] | DocSpan]


@overload
def project(
    pairs: LinkedBitext,
    tags: Iterable[str],
    *,
    format: MarkupFormat | Literal["conllu"] = "xml",
    split: bool = False,
) -> list[str]: ...


@overload
def project(
    pairs: LinkedBitext,
    tags: Iterable[Labels],
    *,
    format: LabelFormat | Literal["labels"],
    split: bool = False,
) -> list[list[str]]: ...


@overload
def project(
    pairs: LinkedBitext, tags: Iterable[Spans], *, format: SpanFormat, split: bool = False
) -> list[list[LabeledSpan]]: ...


def project(
    pairs: LinkedBitext, tags: Iterable[Any], *, format: TagFormat = "xml", split: bool = False
) -> list[Any]:
    """Project annotations of the source sentences to the target sentences, over links.

    A target word gets the annotation of the words that it is linked to; words without a link inside an
    annotation become part of it. The result is well-formed, whatever the links are. Markup is inserted
    in the target line at characters: the result without its markup is the target line, spaces included.
    The lines are those that were aligned, whatever `count` and the tokenizer are, and ``doc.text`` of a Doc
    of spaCy. Lists of words have no text: they are joined by spaces, and have no ``char-spans``.

    Parameters
    ----------
    pairs : AlignedBatch, iterable, or table
        For each sentence pair an aligned pair, or a tuple (source, target, links). A sentence is a line,
        whose words are separated by spaces, or a list of words; links are (source, target) positions from 0,
        or a Pharaoh line. A table has these in columns, that of the links is named ``links``.
    tags : iterable
        The annotations of each source sentence:

        * ``xml``: the line with its tags, such as ``"the <b>black cat</b>, <br/>"``. Tags must be nested.
          The spaces need not be those of the source line, and ``&amp;`` may be written for ``&``;
        * ``html``: the same with the rules of HTML, such as ``<br>`` without an end tag;
        * ``xliff``: XML in which ``<ph>``, ``<bpt>``, ``<ept>`` and ``<it>`` contain codes instead of text,
          and a pair of codes, such as ``<bx id="1"/>`` and ``<ex id="1"/>``, is an element;
        * ``bio``: a label for each word, such as ``["O", "B-X", "I-X"]`` or ``"O B-X I-X"``;
        * ``bioes``, ``iob1``: other schemes of such labels;
        * ``labels``: a plain label for each word, such as its part of speech. A target word gets that of the
          first word that it is linked to, ``_`` without a link;
        * ``spans``: tuples (start, end, label) of words, the end not included, such as ``[(1, 3, "X")]`` or
          ``"1-3:X"``; or spans of spaCy, such as ``doc.ents``. They may be nested or overlap, and are then
          projected independently of each other;
        * ``char-spans``: the same of characters of the line, or of ``doc.text``;
        * ``conllu``: a sentence in CoNLL-U, of which parts of speech and features are projected.
    format : {"xml", "html", "xliff", "bio", "bioes", "iob1", "labels", "spans", "char-spans", "conllu"}
        The format of `tags` and of the result.
    split : bool
        Split an element of markup whose words are apart in the target into several elements. Otherwise one
        element goes around all of them, unless words of another element are in between; then it goes around
        the longest part. Labels and spans are always split.

    Returns
    -------
    list
        For each pair the annotations of the target sentence: a line with markup, a list of labels, one for
        each target word, a list of (start, end, label), or a sentence in CoNLL-U.

    Warns
    -----
    NmtalignWarning
        If a span of characters begins or ends inside a word: it takes in the whole word.
        If no word of an annotation has a link. An element then goes between the words next to it; a label
        or span is omitted. Also if all words that a span is linked to belong to spans before it; such a
        span is omitted, and named.

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
    >>> na.project([("a house,", "une  maison!", "0-0 1-1")], ["<br>a <b>house</b>,"], format="html")
    ['<br>une  <b>maison</b>!']
    >>> na.project(pairs, [["DET", "ADJ", "NOUN"]], format="labels")
    [['DET', 'NOUN', 'ADJ']]
    """
    check_choice(format, TAG_FORMATS, "formats")
    check_bool(split, "split")
    if not is_iterable(tags) or isinstance(tags, str):
        raise UsageError(f"expected the annotations of each pair, found {short_repr(tags)}; pass a list")
    frame_index = frame_index_of(pairs)
    if frame_index is not None and hasattr(tags, "iloc"):
        column: Any = tags
        by_label = "tags.loc[batch.frame_index], or tags.loc[frame.index],"
        check_same_index(frame_index, column.index, "the pairs and `tags`", by_label=by_label)
    projected: list[Any] = []
    unlinked_pairs: list[int] = []  # a pair occurs once for each annotation
    displaced: list[tuple[int, LabeledSpan]] = []
    cut: list[tuple[int, LabeledSpan]] = []
    missing = object()
    remaining_tags = iter(tags)
    for number, lines in enumerate(read_linked_lines(pairs)):
        annotation = next(remaining_tags, missing)
        if annotation is missing:
            raise DataError(f"expected annotations of each pair, found annotations of only {number:,}")
        try:
            annotation = _as_python(annotation)
            if isinstance(annotation, str) and format != "conllu":  # whose sentences have several lines
                annotation = without_line_end(annotation)
            _check_annotation(annotation, lines, format)
            result = project_line(annotation, lines, format, split=split)
        except DataError as error:
            raise error.at(name_pair(number, frame_index)) from None
        projected.append(result.annotation)
        unlinked_pairs += [number] * result.unlinked
        displaced += [(number, span) for span in result.displaced]
        cut += [(number, span) for span in result.cut]
    if next(remaining_tags, missing) is not missing:
        raise DataError(f"expected annotations of {with_plural(len(projected), 'pair')}, found more")
    if unlinked_pairs:
        text = describe_unlinked(unlinked_pairs, format, "pair")
        warn_caller(text)
    if displaced:
        warn_caller(describe_displaced(displaced, "pair"))
    if cut:
        warn_caller(describe_cut(cut, "pair"))
    return projected


def _as_python(annotation: Any) -> Any:
    """Return an array of NumPy, polars or pyarrow as a list, and a value of pyarrow as one of Python."""
    for name in ("tolist", "to_pylist", "to_list", "as_py"):
        convert = getattr(annotation, name, None)
        if convert is not None:
            return convert()
    return annotation


def _check_annotation(annotation: Any, lines: LinkedLines, format: TagFormat) -> None:
    """Raise DataError for what cannot be the annotations of a sentence in a format."""
    is_text = isinstance(annotation, str)
    if _is_markup(format) and not is_text:
        found = f"found {short_repr(annotation)}"
        raise DataError(f"expected a line with tags as text, {found}; labels need format='bio' or 'labels'")
    if format == "conllu" and not is_text:
        raise DataError(f"expected a sentence in CoNLL-U as text, found {short_repr(annotation)}")
    if _is_label(format):
        labels = split_spaces(annotation) if is_text else annotation
        if not isinstance(labels, Sequence) or not all(isinstance(label, str) for label in labels):
            raise DataError(f"expected a list of labels, found {short_repr(labels)}")
        if len(labels) > len(lines.pair.source) and lines.words_are_between_spaces:
            found = f"found {len(labels)} labels for {len(lines.pair.source)} source words between spaces"
            raise DataError(f"expected a label for each word, {found}; {_ADVICE_ON_TOKENS}")


def _as_spans(annotation: Any, lines: LinkedLines, unit: str) -> list[LabeledSpan]:
    """Return the spans of a line, of tuples (start, end, label), or of entities of spaCy."""
    length = len(lines.pair.source) if unit == "words" else len(lines.source)
    if isinstance(annotation, str):
        return parse_spans(annotation, length, unit)
    wanted = f"expected spans like (0, 2, 'NAME') within {length} {unit}"
    if not is_iterable(annotation) or isinstance(annotation, Mapping | Set):
        raise DataError(f"{wanted}, found {short_repr(annotation)}")
    spans: list[LabeledSpan] = []
    for entry in annotation:
        given = _as_tuple(entry, lines, unit)
        try:
            start, end, label = given
            span = LabeledSpan(index(start), index(end), label)
        except (TypeError, ValueError):
            raise DataError(f"{wanted}, found {short_repr(entry)}") from None
        if not isinstance(label, str):
            raise DataError(f"{wanted}, found {short_repr(entry)}; labels are text, such as str(label)")
        if not 0 <= span.start < span.end <= length:
            raise DataError(f"{wanted}, found {short_repr(entry)}")
        spans.append(span)
    return spans


def _as_tuple(entry: Any, lines: LinkedLines, unit: str) -> Any:
    """Return a ``Span`` of spaCy as (start, end, label), anything else unchanged.

    A Span counts from the start of its Doc: DataError is raised if its words are not there in the source.
    """
    if not hasattr(entry, "label_"):
        return entry
    if unit == "words":
        start, end = entry.start, entry.end
        is_same = list(words_of_doc(entry) or ()) == list(lines.pair.source[start:end])
    else:
        start, end = entry.start_char, entry.end_char
        is_same = entry.text == lines.source[start:end]
    if not is_same:
        found = f"found {short_repr(entry.text)}, which is not at {unit} {start} to {end} of the source"
        is_in_line = unit == "words" and entry.text == lines.source[entry.start_char : entry.end_char]
        advice = f"; {_ADVICE_ON_LINES}" if is_in_line else ""
        raise DataError(f"expected spans of the Doc that was aligned, {found}{advice}")
    return start, end, entry.label_


def describe_unlinked(numbers: Sequence[int], format: TagFormat, unit: str) -> str:
    """Return a message on annotations without a link; `numbers` are those of their pairs or lines."""
    listed = [str(number) for number in dict.fromkeys(numbers[:MAX_PAIRS_IN_WARNING])]
    where = ", ".join(listed) + (", ..." if len(numbers) > MAX_PAIRS_IN_WARNING else "")
    inserted = "inserted between the neighboring words"
    if len(numbers) == 1:
        done = f"it was {inserted}" if _is_markup(format) else "it was omitted"
        return f"1 annotation has no linked word; {done} ({unit} {where})"
    done = f"they were {inserted}" if _is_markup(format) else "they were omitted"
    return f"{len(numbers):,} annotations have no linked word; {done} ({unit}s {where})"


def describe_cut(cut: Sequence[tuple[int, LabeledSpan]], unit: str) -> str:
    """Return a message on spans of characters that cut words, with the numbers of their pairs."""
    spans = f"{len(cut):,} span begins or ends" if len(cut) == 1 else f"{len(cut):,} spans begin or end"
    advice = "spans count characters, of which an emoji is one, not bytes or units of UTF-16"
    places = _list_places(cut, unit)
    return f"{spans} inside a word, and took in the whole word: {places}; {advice}"


def _list_places(spans: Sequence[tuple[int, LabeledSpan]], unit: str) -> str:
    listed = [f"{_text_of_span(span)} ({unit} {number})" for number, span in spans[:MAX_PAIRS_IN_WARNING]]
    return ", ".join(listed) + (", ..." if len(spans) > MAX_PAIRS_IN_WARNING else "")


def describe_displaced(displaced: Sequence[tuple[int, LabeledSpan]], unit: str) -> str:
    """Return a message on spans whose words all belong to other spans, with the numbers of their pairs."""
    places = _list_places(displaced, unit)
    linked = "linked only to words of annotations before"
    if len(displaced) == 1:
        return f"1 annotation is {linked} it and was omitted: {places}"
    return f"{len(displaced):,} annotations are {linked} them and were omitted: {places}"
