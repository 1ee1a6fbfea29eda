"""Links and gold links in the forms that public functions accept, checked once; `write_links` writes them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nmtalign.display import name_pair, short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path
from nmtalign.files.text_files import without_line_end
from nmtalign.links.alignments import (
    AlignedBatch,
    AlignedPair,
    Alignment,
    GoldAlignment,
    Link,
    as_links,
    links_inside,
)
from nmtalign.links.formats import (
    WORD_SEPARATORS,
    LinkRecord,
    format_record,
    parse_gold,
    parse_pharaoh,
    read_link_records,
    read_links,
)
from nmtalign.links.gold import GoldLinks, read_gold
from nmtalign.links.saved_tables import is_batch_file
from nmtalign.validation import is_iterable, reject_exhausted

_PHARAOH_LINE = re.compile(r"\d+[-p]\d+( \d+[-p]\d+)*")
_TYPES_OF_ONE_PAIR = (AlignedPair, Alignment, GoldAlignment, Set)
ParsedRow = TypeVar("ParsedRow")
LinksOfPair = Iterable[tuple[int, int]] | Alignment | AlignedPair | str
LinksInput = AlignedBatch | Iterable[LinksOfPair] | str | Path
GoldInput = Iterable[GoldAlignment | Iterable[tuple[int, int]] | str] | str | Path


def iter_links(alignments: LinksInput) -> Iterator[frozenset[Link]]:
    """Yield the links of each pair; a DataError names the first pair whose links are invalid."""
    if isinstance(alignments, AlignedBatch):
        return (frozenset(alignments.links(n)) for n in range(len(alignments)))
    if isinstance(alignments, str | Path):
        _check_not_a_line(alignments)
        return read_links(alignments)
    return _iter_parsed(alignments, _parse_links, "links")


def batch_of_links(links: Iterable[Iterable[tuple[int, int]]]) -> AlignedBatch:
    """Return the links of each pair as arrays, each with probability 1; pair scores are NaN, unknown."""
    offsets, flat = array("q", [0]), array("q")
    for links_of_pair in links:
        flat.extend(chain.from_iterable(sorted(links_of_pair)))
        offsets.append(len(flat) // 2)
    source, target = np.array(flat, np.int32).reshape(-1, 2).T.copy()
    scores = np.full(len(offsets) - 1, np.nan)
    return AlignedBatch(np.array(offsets), source, target, np.ones(len(source), np.float32), scores)


def write_links(path: str | Path, alignments: LinksInput, *, format: str = "pharaoh") -> None:
    """Write the links of each pair into a file, one line for each pair.

    Parameters
    ----------
    path : str or Path
        The file appears when it is complete. It is compressed if it ends in .gz, .bz2, .xz or .zst.
    alignments : AlignedBatch, path, or iterable
        The links: a batch, the file of one, or of Pharaoh lines, or for each pair an aligned pair, an
        alignment, a set of (source, target), or a Pharaoh line.
    format : {"pharaoh", "talp", "naacl", "jsonl", "giza", "words", "tsv"}
        The last three contain words, too, which a batch or aligned pairs have. JSON lines record the unit of
        a batch.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_links(f"{folder}/links.txt", [{(0, 0), (1, 2)}, set()])
    ...     Path(f"{folder}/links.txt").read_text()
    '0-0 1-2\\n\\n'
    """
    with AtomicFiles() as files:
        file = files.text(as_path(path))
        for number, record in enumerate(_iter_records(alignments, with_words=format in WORD_SEPARATORS)):
            try:
                text = format_record(record, format=format, number=number + 1)
            except DataError as error:
                raise error.at(f"pair {number:,}") from None
            file.write(text)


def _iter_records(alignments: LinksInput, *, with_words: bool) -> Iterator[LinkRecord]:
    """Yield the links of each pair, with its words if these are wanted and known, and what they count."""
    if isinstance(alignments, str | Path):
        _check_not_a_line(alignments)
        if is_batch_file(alignments):
            records = read_link_records(alignments)
            yield from (
                records if with_words else (replace(record, source=None, target=None) for record in records)
            )
            return
    unit = alignments.unit if isinstance(alignments, AlignedBatch) else None
    has_words = isinstance(alignments, Sequence | AlignedBatch) and not isinstance(alignments, str)
    pairs: Any = alignments if with_words and has_words else ()
    for links, pair in zip_longest(iter_links(alignments), pairs):
        source, target = pair.tokens if isinstance(pair, AlignedPair) else (None, None)
        yield LinkRecord(GoldAlignment(links), source, target, unit)


def as_gold_sequence(golds: GoldInput) -> Iterable[GoldAlignment]:
    """Return the gold links of each pair, in the forms of :func:`iter_links`; links without a kind are sure.

    The result for a file is a sequence: a file of corrections may claim many more pairs than it has.
    """
    if isinstance(golds, str | Path):
        _check_not_a_line(golds)
        return read_gold(golds)
    return golds if isinstance(golds, GoldLinks) else _iter_parsed(golds, as_gold, "gold links")


def check_same_words(first: Any, second: Any) -> None:
    """Raise DataError if the positions of two results count other units, or other words of a pair.

    Only aligned pairs have words; other links are not checked.
    """
    units = [getattr(result, "unit", None) for result in (first, second)]
    if None not in units and units[0] != units[1]:
        raise DataError(f"expected positions of the same unit, found {units[0]} and {units[1]}")
    for result in (first, second):
        has_words = getattr(result, "origin", result) is not None
        if not isinstance(result, Sequence | AlignedBatch) or not has_words:
            return
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if not (isinstance(one, AlignedPair) and isinstance(other, AlignedPair)):
            continue
        sizes = [len(words) for words in one.tokens]
        other_sizes = [len(words) for words in other.tokens]
        if sizes != other_sizes:
            found = (
                f"found pairs of {sizes[0]} and {sizes[1]} and of {other_sizes[0]} and {other_sizes[1]} words"
            )
            why = "`align` counts the tokens of a line, `align_batch` its space-separated words"
            place = name_pair(number, getattr(first, "frame_index", None))
            raise DataError(f"{place}: expected links of the same words, {found}; {why}")


def check_gold_inside(golds: Iterable[GoldAlignment], alignments: LinksInput) -> Iterator[GoldAlignment]:
    """Yield gold links; raise DataError if they are outside of the words of a batch or a list of pairs."""
    if isinstance(alignments, AlignedBatch):
        has_words = alignments.origin is not None
    else:
        has_words = isinstance(alignments, Sequence) and not isinstance(alignments, str)
    pairs: Any = alignments if has_words else ()
    frame_index = getattr(alignments, "frame_index", None)
    for number, gold in enumerate(golds):
        pair = pairs[number] if number < len(pairs) else None
        if isinstance(pair, AlignedPair):
            source, target = pair.tokens
            try:
                links_inside(gold.possible, len(source), len(target))
            except DataError as error:
                place = name_pair(number, frame_index)
                raise DataError(f"{place}: gold {error}; do both count the same words?") from None
        yield gold


def _parse_links(links_of_pair: Any) -> frozenset[Link]:
    """Return the links of one pair, in one of the forms of `LinksOfPair`."""
    if isinstance(links_of_pair, str):
        return parse_pharaoh(without_line_end(links_of_pair))
    if isinstance(links_of_pair, GoldAlignment):
        raise DataError("expected links, found gold links; pass their `sure` or their `possible` ones")
    if isinstance(links_of_pair, AlignedPair):
        links_of_pair = links_of_pair.links
    links = as_links(links_of_pair)
    if any(link.source < 0 or link.target < 0 for link in links):
        raise DataError("a link has a negative position; positions count from 0")
    return links


def as_gold(links_of_pair: Any) -> GoldAlignment:
    """Return the gold links of one pair; links without a kind are sure."""
    if isinstance(links_of_pair, GoldAlignment):
        return links_of_pair
    if isinstance(links_of_pair, str):
        return parse_gold(without_line_end(links_of_pair))
    links = _parse_links(links_of_pair)
    return GoldAlignment(links, links)


def _check_not_a_line(path: str | Path) -> None:
    """Raise UsageError for a Pharaoh line; a path, or the lines of all pairs, is expected."""
    if _PHARAOH_LINE.fullmatch(str(path)) and not as_path(path).exists():
        found = (
            f"expected links of each pair, or a path, found the links of one pair, {short_repr(str(path))}"
        )
        raise UsageError(f"{found}; lines go in a list: [{short_repr(str(path))}]")


def _iter_parsed(rows: Any, parse: Callable[[Any], ParsedRow], what: str) -> Iterator[ParsedRow]:
    """Return an iterator over the parsed rows, one for each pair; a DataError names the pair, from 0."""
    if hasattr(rows, "itertuples") or hasattr(rows, "iter_rows"):  # a table of pandas or polars
        reason = "a table of links lacks the pairs without links"
        advice = (
            f"{reason}: pass the batch that it was made of, or a column with a Pharaoh line for each pair"
        )
        raise UsageError(f"expected {what} of each pair, found a table, {short_repr(rows)}; {advice}")
    if not is_iterable(rows) or isinstance(rows, Mapping | Set):  # these have no order
        advice = "; a single pair goes in a list: [pair]" if isinstance(rows, _TYPES_OF_ONE_PAIR) else ""
        raise UsageError(f"expected {what} of each pair, or a path, found {short_repr(rows)}{advice}")
    if isinstance(rows, Iterator):
        rows = reject_exhausted(rows, what)
    return _parse_each(rows, parse)


def _parse_each(rows: Iterable[Any], parse: Callable[[Any], ParsedRow]) -> Iterator[ParsedRow]:
    column: Any = rows
    frame_index = column.index if hasattr(rows, "iloc") else None  # of a column of pandas
    for number, row in enumerate(rows):
        try:
            yield parse(row)
        except DataError as error:
            raise error.at(name_pair(number, frame_index)) from None
