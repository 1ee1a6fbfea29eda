"""Sentence pairs with the links of their words: what every application reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from nmtalign.display import name_pair, short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.text_files import split_spaces, without_line_end
from nmtalign.links.alignments import AlignedBatch, AlignedPair, Alignment, GoldAlignment
from nmtalign.results import with_frame_index
from nmtalign.text.containers import (
    PairTable,
    SideNames,
    Table,
    as_table,
    choose_sides,
    words_of_doc,
)
from nmtalign.validation import advise_on_repeated_index, is_iterable, reject_exhausted

if TYPE_CHECKING:
    import pandas as pd

LineOrWords = str | Sequence[str]  # a line, whose words are separated by spaces, or words
PairLinks = str | Iterable[tuple[int, int]]  # a Pharaoh line, or (source, target) positions


LinkedPairs = Iterable[AlignedPair | tuple[LineOrWords, LineOrWords, PairLinks]]
LinkedTable = Table | Mapping[str, Sequence[Any]]  # columns of the sides and of the links
LinkedBitext = LinkedPairs | LinkedTable

WordSpans = Sequence[tuple[int, int]]  # start and end of each word, in characters
BothSpans = tuple[WordSpans | None, WordSpans | None]

ADVICE_ON_PAIRS = "pass a batch, aligned pairs, or tuples (source, target, links)"
LINK_COLUMNS = ("links", "alignment", "alignments")


class LinkedPair(NamedTuple):
    """The words of both sides of a sentence pair, and their links."""

    source: Sequence[str]
    target: Sequence[str]
    links: Alignment

    def reversed(self) -> LinkedPair:
        """Return the pair with source and target swapped."""
        return LinkedPair(self.target, self.source, self.links.reversed())


class LinkedLines(NamedTuple):
    """A linked pair and its lines, as the caller gave them."""

    source: str
    target: str
    pair: LinkedPair
    word_spans: BothSpans = (None, None)  # where the words are in both lines; None if spaces separate them
    has_text: bool = True  # False if the lines are words that were joined by spaces

    @property
    def words_are_between_spaces(self) -> bool:
        """Whether the lines are text, and their words are those between spaces."""
        sides = ((self.source, self.pair.source), (self.target, self.pair.target))
        return self.has_text and all(_words_of(line) == list(words) for line, words in sides)

    @classmethod
    def with_words_of(cls, source: str, target: str, pair: LinkedPair) -> LinkedLines:
        """Return lines whose pair has their words, in the place of their normalized forms."""
        return cls(source, target, LinkedPair(_words_of(source), _words_of(target), pair.links))


def read_linked_pairs(pairs: LinkedBitext) -> Iterator[LinkedPair]:
    """Yield the words and links of each pair; an error names the pair, counted from 0.

    >>> [pair] = read_linked_pairs([("the cat", "le chat", "0-0 1-1")])
    >>> pair.source, sorted(pair.links.links)[1]
    (['the', 'cat'], Link(source=1, target=1))
    """
    return (pair for _, pair in _read_linked(pairs))


def read_linked_lines(pairs: LinkedBitext) -> Iterator[LinkedLines]:
    """Yield each pair with its lines; an error names the pair, counted from 0.

    >>> [lines] = read_linked_lines([(["the", "cat"], "le  chat", "0-0 1-1")])
    >>> lines.source, lines.target, lines.pair.target
    ('the cat', 'le  chat', ['le', 'chat'])
    """
    return (_with_lines(given, pair) for given, pair in _read_linked(pairs))


def _read_linked(pairs: LinkedBitext) -> Iterator[tuple[Any, LinkedPair]]:
    """Return an iterator over the items of a linked bitext, and the words and links of each."""
    table = None if isinstance(pairs, AlignedBatch) else as_table(pairs)
    if table is not None:
        return _as_linked_pairs(_rows_with_links(table), table.frame_index)
    if isinstance(pairs, AlignedPair):
        raise UsageError("expected sentence pairs, found one pair; a single pair goes in a list: [pair]")
    if not is_iterable(pairs) or isinstance(pairs, str | Mapping | Set):
        raise UsageError(f"expected sentence pairs with links, found {short_repr(pairs)}; {ADVICE_ON_PAIRS}")
    if isinstance(pairs, Iterator):
        pairs = reject_exhausted(pairs, "sentence pairs with links")
    return _as_linked_pairs(pairs, frame_index_of(pairs))


def keep_frame_index(table: pd.DataFrame, pairs: object) -> pd.DataFrame:
    """Return a table whose rows have the index that their pair has in a DataFrame, if pairs come from one.

    The column ``pair`` of the table numbers the pairs.
    """
    frame_index = frame_index_of(pairs)
    advise_on_repeated_index(frame_index)
    return with_frame_index(table, frame_index)


def frame_index_of(pairs: object) -> pd.Index | None:
    """Return the index of a DataFrame, or of the one that a batch comes from; None without one."""
    frame: Any = pairs
    index: pd.Index | None = frame.index if hasattr(frame, "itertuples") else None
    return getattr(frame, "frame_index", None) if index is None else index


def _rows_with_links(table: PairTable) -> Iterable[Any]:
    """Return the rows (source, target, links) of a table."""
    names = [str(name) for name in table.names]
    places = [number for number, name in enumerate(names) if name.lower() in LINK_COLUMNS]
    if len(places) != 1:
        expected = f"expected a table with a column of links, named {', '.join(LINK_COLUMNS)}"
        raise UsageError(f"{expected}, found {', '.join(names)}; {ADVICE_ON_PAIRS}")
    others = [number for number in range(len(names)) if number != places[0]]
    source, target = choose_sides([names[number] for number in others], SideNames())
    columns = others[source], others[target], places[0]
    return zip(*[table.column(number) for number in columns], strict=True)


def _as_linked_pairs(
    pairs: Iterable[Any], frame_index: pd.Index | None = None
) -> Iterator[tuple[Any, LinkedPair]]:
    """Yield each item, and its words and links; an error names the pair."""
    for number, given in enumerate(pairs):
        try:
            pair = _as_linked_pair(given)
        except DataError as error:
            raise error.at(name_pair(number, frame_index)) from None
        yield given, pair


def _with_lines(given: Any, pair: LinkedPair) -> LinkedLines:
    """Return a pair with its lines; words without a text are joined by spaces."""
    texts = given.texts if isinstance(given, AlignedPair) else None
    if texts is not None:
        source, target = texts
        return LinkedLines(source.text, target.text, pair, (source.spans, target.spans))
    sides = given[:2] if isinstance(given, tuple | list) and not isinstance(given, LinkedPair) else pair[:2]
    lines: list[str] = []
    spans: list[WordSpans | None] = []
    has_text = True
    for side in sides:
        doc_words = words_of_doc(side)
        if isinstance(side, str):
            lines.append(side)
        elif doc_words is not None:
            lines.append(doc_words.text)
        else:
            lines.append(" ".join(side))
            has_text = False
        spans.append(None if doc_words is None else doc_words.spans)
    return LinkedLines(lines[0], lines[1], pair, (spans[0], spans[1]), has_text)


def _as_linked_pair(pair: Any) -> LinkedPair:
    if isinstance(pair, LinkedPair):
        return pair
    if isinstance(pair, AlignedPair):
        return LinkedPair(*pair.tokens, pair.alignment)
    if not isinstance(pair, tuple | list) or len(pair) != 3:
        raise DataError(f"expected (source, target, links), found {short_repr(pair)}; {ADVICE_ON_PAIRS}")
    source = _words_of(pair[0])
    target = _words_of(pair[1])
    return LinkedPair(source, target, _alignment(pair[2], len(source), len(target)))


def _words_of(sentence: Any) -> list[str]:
    """Return the words of a line or a list of words."""
    if isinstance(sentence, str):
        return split_spaces(sentence)
    doc_words = words_of_doc(sentence)
    if doc_words is not None:
        return doc_words
    if not isinstance(sentence, Sequence) or not all(isinstance(word, str) for word in sentence):
        raise DataError(f"expected a sentence as text or as a list of words, found {short_repr(sentence)}")
    return list(sentence)


def _alignment(links: Any, source_length: int, target_length: int) -> Alignment:
    """Return the links of a pair of sentences, also possible ones; DataError if a link is outside of them."""
    from nmtalign.links.formats import parse_gold

    if isinstance(links, str):
        links = parse_gold(without_line_end(links))
    if isinstance(links, Alignment):
        links = links.links
    if isinstance(links, GoldAlignment):
        links = links.possible
    return Alignment(links, source_length, target_length)
