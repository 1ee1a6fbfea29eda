"""Concordance: the translations of words in a linked bitext, and their occurrences.

Searches are array arithmetic on the blocks of an index (:mod:`nmtalign.corpus.bitext_index`), which is on
disk or in memory. :func:`find` returns the occurrences as a table; :func:`search` also counts the
translations, which is what the command shows.

Véronis and Langlais 2000, "Evaluation of parallel text alignment systems"; Simard 2003, "Translation spotting
for translation memories".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nmtalign.applications.linked_pairs import (
    LinkedBitext,
    frame_index_of,
    keep_frame_index,
    read_linked_pairs,
)
from nmtalign.arrays import Integers, Longs
from nmtalign.corpus.bitext_index import (
    UNKNOWN_FORM,
    VALUE_LABELS,
    BitextIndex,
    BlockSide,
    IndexedPair,
    Label,
    LabelLevel,
    build_index,
    open_index,
    write_index_file,
)
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import atomic_file
from nmtalign.files.text_files import is_encodable, split_spaces
from nmtalign.links.alignments import AlignedBatch
from nmtalign.names import SIDES, Side
from nmtalign.results import table_of_rows, with_row_index
from nmtalign.validation import check_choice, check_number, check_type

if TYPE_CHECKING:
    import pandas as pd

SAMPLE_SEED = 1  # the seed that draws occurrences
MAX_EXAMPLES = 10  # the default number of occurrences that are drawn
GAP_SIGN = "…"  # between words of a translation that are not adjacent
GAP_FORM = -1  # in place of the number of a form

FormSequence = tuple[
    int, ...
]  # forms of the words of a query or of a translation, with `GAP_FORM` between them


class Occurrence(NamedTuple):
    """One occurrence of the words that are searched."""

    pair: int  # number of the sentence pair, from 0
    words: tuple[list[str], list[str]]  # source and target sentence
    positions: tuple[list[int], list[int]]  # those of the searched words and of their translation


class SearchResult(NamedTuple):
    """The translations of the words that are searched, and occurrences of these words."""

    occurrence_count: int  # all occurrences of the words
    translation_count: int  # different translations
    translations: list[tuple[str, int]]  # with their counts, most frequent first; "" stands for no link
    occurrences: list[Occurrence]  # in the order of the bitext
    candidates: int  # occurrences from which `occurrences` were drawn: all, or those with one translation


class _OccurrenceInBlock(NamedTuple):
    """An occurrence, as numbers within its block."""

    pair: int
    start: int  # position of the first searched word in its sentence
    partners: list[int]  # positions of the translation in the other sentence


class _Matches:
    """The occurrences of a query in a block, and the forms of the other side that they are linked to.

    There are P occurrences, and L linked words of all of them together, one occurrence after the other.
    """

    def __init__(
        self,
        block: tuple[BlockSide, BlockSide],
        query: FormSequence,
        side: int,
        form_ids: Sequence[Integers],
    ) -> None:
        self.offsets, tokens, link_ends = block[side]
        self.other_offsets, other_tokens, other_link_ends = block[1 - side]
        self.starts = _starts_of(query, form_ids[side][tokens], self.offsets)  # (P,)
        # a link from one of the first words to a word before the text would wrap around: hence the padding
        is_start = np.zeros(len(tokens) + len(query), bool)
        is_start[self.starts] = True
        cell_base = max(1, len(other_tokens))
        cells: list[Longs] = []  # occurrence * cell_base + linked word of the other side
        for k in range(len(query)):
            linked = np.flatnonzero(is_start[link_ends - k])  # links of the k-th word
            occurrences = np.searchsorted(self.starts, link_ends[linked] - k)
            cells.append(occurrences * cell_base + other_link_ends[linked])
        # without repetitions, by occurrence and then by position
        distinct_cells = np.unique(np.concatenate(cells))
        occurrences, self.partners = np.divmod(distinct_cells, cell_base)  # (L,)
        self.partner_forms = form_ids[1 - side][other_tokens[self.partners]]  # (L,)
        counts = np.bincount(occurrences, minlength=len(self.starts))
        self.sizes = counts  # (P,) linked words of each occurrence
        self.ends = np.cumsum(self.sizes)  # (P,)

    def count_translations(self) -> Counter[FormSequence]:
        """Return how often each translation occurs."""
        is_single = self.sizes == 1
        forms, numbers = np.unique(self.partner_forms[self.ends[is_single] - 1], return_counts=True)
        counts = Counter[FormSequence]()
        for form, number in zip(forms.tolist(), numbers.tolist(), strict=True):
            counts[(form,)] = number
        counts[()] = int((self.sizes == 0).sum())
        partners = self.partners.tolist()
        partner_forms = self.partner_forms.tolist()
        has_several = self.sizes > 1
        ends = self.ends[has_several].tolist()
        sizes = self.sizes[has_several].tolist()
        for end, size in zip(ends, sizes, strict=True):
            unit = _with_gaps(partner_forms[end - size : end], partners[end - size : end])
            counts[unit] += 1
        return +counts  # without zeros

    def translated_by(self, units: Iterable[FormSequence]) -> list[int]:
        """Return the numbers of the occurrences that have one of some translations, gaps ignored."""
        chosen = set[int]()
        for unit in units:
            same_size = np.flatnonzero(self.sizes == len(unit))
            starts = self.ends[same_size] - len(unit)
            rows = starts[:, None] + np.arange(len(unit))
            is_equal = (self.partner_forms[rows] == np.array(unit, np.int64)).all(axis=1)
            chosen.update(same_size[is_equal].tolist())
        return sorted(chosen)

    def occurrence(self, number: int) -> _OccurrenceInBlock:
        """Return an occurrence by its number."""
        start = self.starts[number]
        pair = int(np.searchsorted(self.offsets, start, "right")) - 1
        end = self.ends[number]
        partners = self.partners[end - self.sizes[number] : end] - self.other_offsets[pair]
        return _OccurrenceInBlock(pair, int(start - self.offsets[pair]), partners.tolist())


def _starts_of(query: FormSequence, forms: Integers, offsets: Longs) -> Longs:
    """Return where the forms of a query occur side by side within one sentence."""
    candidates = max(0, len(forms) - len(query) + 1)
    is_equal = [forms[k : candidates + k] == form for k, form in enumerate(query)]
    starts = np.flatnonzero(np.all(is_equal, axis=0))
    sentence_ends = offsets[np.searchsorted(offsets, starts, "right")]
    return starts[starts + len(query) <= sentence_ends]


def _with_gaps(forms: Sequence[int], positions: Sequence[int]) -> FormSequence:
    """Return the forms of a translation with `GAP_FORM` between those that are not adjacent."""
    unit = [forms[0]]
    for k in range(1, len(forms)):
        if positions[k] != positions[k - 1] + 1:
            unit.append(GAP_FORM)
        unit.append(forms[k])
    return tuple(unit)


# --- searching -----------------------------------------------------------------------------------


def search(
    index: BitextIndex,
    words: str,
    side: Side,
    *,
    translation: str | None = None,
    max_translations: int | None = None,
    max_examples: int | None = MAX_EXAMPLES,
) -> SearchResult:
    """Return the translations of one word, or of adjacent words, of a side.

    With a `translation`, only occurrences that have it are returned, whether or not its words are adjacent.
    At most `max_translations` are listed. `max_examples` are a random sample, the same in every run; None
    means all. Words that do not occur are not an error.
    """
    _check_query(words, side, translation, max_translations, max_examples)
    query_side = SIDES.index(side)
    with index.reading():
        forms, blocks = _look_up_query(index, words, query_side)
        units = None if translation is None else _units_of(index, translation, 1 - query_side)
        counts = Counter[FormSequence]()
        # random key, number of the block, occurrence
        drawn: list[tuple[float, int, _OccurrenceInBlock]] = []
        candidates = 0
        random = np.random.default_rng(SAMPLE_SEED)
        for block_number in blocks:
            matches = _Matches(index.block(block_number), forms, query_side, index.form_ids)
            counts.update(matches.count_translations())
            numbers = range(len(matches.starts)) if units is None else matches.translated_by(units)
            candidates += len(numbers)
            keys = random.random(len(numbers))
            for k in np.argsort(keys)[:max_examples].tolist():
                drawn.append((keys[k], block_number, matches.occurrence(numbers[k])))
            if max_examples is not None:
                drawn = sorted(drawn)[:max_examples]
        by_count = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        listed = [
            (_text_of_unit(index, unit, 1 - query_side), count) for unit, count in by_count[:max_translations]
        ]
        ordered = sorted((block_number, occurrence) for _, block_number, occurrence in drawn)
        occurrences = list(_occurrences(index, ordered, len(forms), query_side))
    return SearchResult(
        occurrence_count=counts.total(),
        translation_count=len(counts),
        translations=listed,
        occurrences=occurrences,
        candidates=candidates,
    )


def _check_query(
    words: str, side: Side, translation: str | None, max_translations: int | None, max_examples: int | None
) -> None:
    """Raise UsageError if nothing can be searched with these arguments."""
    for text in (words, translation or ""):
        if not isinstance(text, str) or not is_encodable(text):
            raise UsageError(f"expected words as text, in UTF-8, found {short_repr(text)}")
    check_choice(side, SIDES, "sides")
    for limit in (max_translations, max_examples):
        if limit is not None:
            check_number(limit, "a number of translations or examples, 0 or more", minimum=0, integer=True)


def _look_up_query(index: BitextIndex, words: str, side: int) -> tuple[FormSequence, list[int]]:
    """Return the forms of a query, and the blocks that contain all of them.

    The query is split at spaces; if these words do not occur, it is split as the bitext was.
    """
    found = [index.look_up(word, side) for word in split_spaces(words)]
    if any(form == UNKNOWN_FORM for form, _ in found):
        found = [index.look_up(token, side) for token in index.tokens(words, side)]
    forms = tuple(form for form, _ in found)
    if not forms:
        return forms, []
    blocks = reduce(np.intersect1d, [blocks for _, blocks in found])
    return forms, blocks.tolist()


def _units_of(index: BitextIndex, translation: str, side: int) -> set[FormSequence]:
    """Return the forms of a translation, with and without gaps: ``…`` may be a word of the text."""
    words = split_spaces(translation)
    without_gaps = [word for word in words if word != GAP_SIGN] or words
    units = set[FormSequence]()
    for unit in (words, without_gaps):
        units.add(tuple(index.look_up(word, side)[0] for word in unit))
    return units


def _text_of_unit(index: BitextIndex, unit: FormSequence, side: int) -> str:
    """Return a translation as text, in lower case."""
    words = [GAP_SIGN if form == GAP_FORM else index.word(form, side) for form in unit]
    return " ".join(index.normalized(words))


def _occurrences(
    index: BitextIndex,
    drawn: Iterable[tuple[int, _OccurrenceInBlock]],
    query_length: int,
    query_side: int,
) -> Iterator[Occurrence]:
    """Yield the sentences and positions of occurrences; each block is read once."""
    for block_number, drawn_of_block in groupby(drawn, key=lambda entry: entry[0]):
        block = index.block(block_number)
        for _, found in drawn_of_block:
            sentences: list[list[str]] = []
            for side, (offsets, tokens, _) in enumerate(block):
                sentence = tokens[offsets[found.pair] : offsets[found.pair + 1]]
                sentences.append(index.words(sentence.tolist(), side))
            searched = list(range(found.start, found.start + query_length))
            positions = (searched, found.partners) if query_side == 0 else (found.partners, searched)
            number = index.pair_number(block_number, found.pair)
            yield Occurrence(number, (sentences[0], sentences[1]), positions)


# --- the public function -------------------------------------------------------------------------


def find(
    pairs: LinkedBitext | BitextIndex | str | Path,
    words: str,
    *,
    side: Side | None = None,
    translation: str | None = None,
    examples: int | None = None,
) -> pd.DataFrame:
    """Return a concordance: where words occur in a linked bitext, and what they are linked to.

    The translation of an occurrence consists of all words of the other side that one of its words is linked
    to. Case makes no difference. The words are those that the positions of the links count: space-separated
    words are searched, and their translations returned, without the punctuation at their edges, so ``dog``
    is found in ``dog.``. In a batch that was aligned with ``count="tokens"``, punctuation marks are tokens of
    their own, which can be searched.

    Parameters
    ----------
    pairs : AlignedBatch, iterable, table, index, or path
        For each sentence pair an aligned pair, or a tuple (source, target, links). A sentence is a line,
        whose words are separated by spaces, or a list of words; links are (source, target) positions from 0,
        or a Pharaoh line. A table has these in columns, that of the links is named ``links``. An index is
        one that :func:`write_index` has written and :func:`open_index` has opened; a path is that of its
        file.
    words : str
        One word, or several that are adjacent.
    side : {"source", "target"}, optional
        The side of `words`; both if omitted.
    translation : str, optional
        Only occurrences with this translation; ``""`` means no link.
    examples : int, optional
        Maximum number of occurrences on each side: a random sample, the same in every run. Default: all.

    Returns
    -------
    pandas.DataFrame
        One row per occurrence, in the order of the bitext, the source side first, with the columns ``pair``
        (the number of the pair, counted from 0), ``side`` (the side of the words), ``translation`` (in lower
        case, ``…`` between words that are not adjacent, empty without a link), ``source`` and ``target`` (the
        sentences), and ``source_positions`` and ``target_positions`` (of the words and of their translation).
        Without an occurrence there are no rows. If the pairs come from a DataFrame, the
        rows have its index, also from a file of :func:`write_index`, so that the table can be joined to the
        DataFrame. Otherwise their index is the number of the pair.

    Warns
    -----
    AdviceWarning
        If the index of a DataFrame has repeated values, by which a join would repeat rows.

    References
    ----------
    Véronis and Langlais 2000, "Evaluation of parallel text alignment systems".

    Examples
    --------
    >>> import nmtalign as na
    >>> pairs = [("the house", "la maison", "0-0 1-1"), ("house rules", "le règlement", "1-0 1-1")]
    >>> table = na.find(pairs, "house")
    >>> print(table[["pair", "translation", "source"]].to_string(index=False))
     pair translation      source
        0      maison   the house
        1             house rules
    >>> na.find(pairs, "rules")["translation"].value_counts().to_dict()
    {'le règlement': 1}
    """
    check_type(words, str, "words as text, after the pairs")
    if isinstance(pairs, BitextIndex):
        index = pairs
    elif isinstance(pairs, str | Path):
        index = open_index(pairs)
    else:
        index = build_index(_indexed_pairs(pairs), *_splitting_of(pairs))
    sides = SIDES if side is None else (side,)
    rows: list[ConcordanceRow] = []
    for name in sides:
        result = search(index, words, name, translation=translation, max_examples=examples)
        for occurrence in result.occurrences:
            rows.append(_row_of(occurrence, name, index))
    example = ConcordanceRow(0, "source", "", "", "", [], [])
    table = table_of_rows(rows, ConcordanceRow._fields, example)
    if frame_index_of(pairs) is not None:
        return keep_frame_index(table, pairs)
    with index.reading():
        return with_row_index(table, frame_index_of_pairs(index, [row.pair for row in rows]))


def _indexed_pairs(pairs: LinkedBitext) -> Iterator[IndexedPair]:
    """Yield the words and links of each pair as an index reads them."""
    for pair in read_linked_pairs(pairs):
        yield pair.source, pair.target, sorted(pair.links.links)


def _splitting_of(pairs: object) -> tuple[Any, tuple[str | None, str | None]]:
    """Return the settings and languages that split searched words as the lines of a batch were split."""
    origin = pairs.origin if isinstance(pairs, AlignedBatch) else None
    splitting = None if origin is None else origin.splitting
    return (None, (None, None)) if splitting is None else splitting


def write_index(path: str | Path, pairs: LinkedBitext) -> None:
    """Write an index of a linked bitext, in which :func:`find` searches many words quickly.

    Parameters
    ----------
    path : str or Path
        The file to write; an older one is replaced.
    pairs : AlignedBatch, iterable, or table
        The sentence pairs with their links, as for :func:`find`. The index of a DataFrame is kept.

    Raises
    ------
    UsageError
        If the index of a DataFrame has labels that are not numbers, text or times.

    Examples
    --------
    >>> import tempfile
    >>> import nmtalign as na
    >>> batch = na.load().align_batch([("the cat", "le chat"), ("a dog", "un chien")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     na.write_index(f"{folder}/corpus.db", batch)
    ...     index = na.open_index(f"{folder}/corpus.db")
    ...     [na.find(index, word)["translation"].item() for word in ("the", "dog")]
    ['le', 'chien']
    """
    if not isinstance(path, str | Path):
        raise UsageError(f"expected the path of the index to write first, found {short_repr(path)}")
    settings, languages = _splitting_of(pairs)
    levels = label_levels(frame_index_of(pairs))
    with atomic_file(path) as partial:
        write_index_file(partial, _indexed_pairs(pairs), settings, languages, levels)


class ConcordanceRow(NamedTuple):
    """A row of the table that :func:`find` returns."""

    pair: int
    side: Side
    translation: str
    source: str
    target: str
    source_positions: list[int]
    target_positions: list[int]


def _row_of(occurrence: Occurrence, side: Side, index: BitextIndex) -> ConcordanceRow:
    other = 1 - SIDES.index(side)
    source, target = occurrence.words
    source_positions, target_positions = occurrence.positions
    translation = _words_with_gaps(occurrence.words[other], occurrence.positions[other])
    return ConcordanceRow(
        pair=occurrence.pair,
        side=side,
        translation=" ".join(index.normalized(translation)),
        source=" ".join(source),
        target=" ".join(target),
        source_positions=source_positions,
        target_positions=target_positions,
    )


def _words_with_gaps(words: Sequence[str], positions: Sequence[int]) -> list[str]:
    """Return the words at some positions, with `GAP_SIGN` between those that are not adjacent."""
    chosen: list[str] = []
    previous = None
    for position in positions:
        if previous is not None and position != previous + 1:
            chosen.append(GAP_SIGN)
        chosen.append(words[position])
        previous = position
    return chosen


# --- the index of a DataFrame, as labels that the index of a bitext keeps ------------------------

_TIMES = re.compile(r"datetime64\[(s|ms|us|ns)(?:, ([A-Za-z0-9_+:/-]+))?\]")  # unit and time zone


def label_levels(frame_index: pd.Index | None) -> list[LabelLevel]:
    """Return the levels of the index of a DataFrame; none if its labels are the numbers of the pairs.

    Raises UsageError for labels that are not numbers, text or times.
    """
    import pandas as pd

    if frame_index is None or frame_index.equals(pd.RangeIndex(len(frame_index))):
        return []
    levels: list[LabelLevel] = []
    for number, name in enumerate(frame_index.names):
        values = frame_index.get_level_values(number)
        shown_name = name if name is None else str(name)
        if isinstance(values, pd.DatetimeIndex):
            levels.append(LabelLevel(shown_name, str(values.dtype), values.asi8.tolist()))
        else:
            labels = [_as_label(value) for value in values.tolist()]
            levels.append(LabelLevel(shown_name, VALUE_LABELS, labels))
    return levels


def _as_label(value: Any) -> Label:
    """Return a label of an index as it is kept; None stands for a missing one."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, str) and is_encodable(value):
        return value
    advice = "number the rows: frame.reset_index(drop=True)"
    raise UsageError(f"expected an index of numbers, text or times, found {short_repr(value)}; {advice}")


def frame_index_of_pairs(index: BitextIndex, pairs: Sequence[int]) -> pd.Index:
    """Return the labels of pairs of an index; their numbers, from 0, if it keeps no labels."""
    import pandas as pd

    kinds = index.label_kinds()
    if not kinds:
        return pd.Index(np.array(pairs, np.int64))
    levels = [_as_pandas_index(kind, index.labels(number, pairs)) for number, (_, kind) in enumerate(kinds)]
    names = [name for name, _ in kinds]
    if len(levels) == 1:
        return levels[0].rename(names[0])
    return pd.MultiIndex.from_arrays(levels, names=names)


def _as_pandas_index(kind: str, labels: Sequence[Label]) -> pd.Index:
    """Return labels of one level as an index of pandas."""
    import pandas as pd

    if kind == VALUE_LABELS:
        return pd.Index(labels)
    times = _TIMES.fullmatch(kind)
    if times is None:
        raise DataError(f"expected labels of a known kind, found {kind!r:.60}")
    unit, zone = times.groups()
    index = pd.DatetimeIndex(np.array(labels, np.int64).view(f"datetime64[{unit}]"))
    return index if zone is None else index.tz_localize("UTC").tz_convert(zone)
