"""Formats of link files, read and written.

========  ======================================================================================
pharaoh   one line per pair, ``0-0 1-2``: source-target, from 0; gold may contain ``3p4``, possible
talp      the same from 1
naacl     a line for each link, ``0001 1 3 S``: pair, source, target, all from 1; S sure, P possible
giza      GIZA++ ``A3``: three lines for each pair, with the words; pairs are read in any order
words     a line for each pair, ``the<sep>le cat<sep>chat``: linked words, no positions (write only)
tsv       a line for each pair, source, target and Pharaoh links between tabs: guided training
jsonl     an object for each pair: ``{"links": [[0, 0]], "possible": [], "source": [...], "target": [...]}``,
          with ``"unit": "pieces"`` if it is known what positions count
saved     a saved batch, or the posteriors of ``align``: read wherever links are, in the place of any format
========  ======================================================================================

Possible links of ``pharaoh``, ``talp`` and ``naacl`` are those that are not sure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count, groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import Longs, Reals
from nmtalign.display import short_repr
from nmtalign.errors import DataError, OnError, UsageError
from nmtalign.files.paths import name_file_in_errors
from nmtalign.files.text_files import check_unsplit, parse_json, read_lines, try_lines
from nmtalign.links.alignments import (
    AlignedBatch,
    BothWords,
    GoldAlignment,
    Link,
    links_inside,
    make_gold,
)
from nmtalign.links.saved_tables import DAMAGED_BATCH, is_batch_file, read_saved_links
from nmtalign.names import LINK_UNITS, SIDES, LinkUnitName
from nmtalign.validation import check_choice

_SURE_LINK = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_POSSIBLE_LINK = re.compile(r"(?<![^ ])(\d{1,9})[p?](\d{1,9})(?![^ ])", re.ASCII)
_FLOAT_PATTERN = r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"
_NAACL_LINE = re.compile(
    rf"(\d{{1,9}}) +(\d{{1,9}}) +(\d{{1,9}})(?: +([SP]))?(?: +{_FLOAT_PATTERN})? *", re.ASCII
)
_GIZA_WORD = re.compile(r"([^ ]+) \(\{ ((?:\d{1,9} )*)\}\) ?", re.ASCII)
_GIZA_HEADER = re.compile(
    r"# Sentence pair \((\d{1,9})\)"
    r"(?: source length (\d{1,9}))?(?: target length (\d{1,9}))?"
    rf"(?: alignment score : (?:{_FLOAT_PATTERN}|[-+]?(?:nan|inf)))? *",
    re.ASCII,
)
WORD_COUNT_ADVICE = (
    "positions count space-separated words; pass the text that was aligned, or the files that align --tokens"
    " wrote; `nmtalign check --links` shows the unit of the links"
)
# Formats that contain words as plain text, and their separators in addition to white space
WORD_SEPARATORS = {"giza": "", "words": "<sep>", "tsv": ""}
_PAIR_NUMBER_KEYS = ("pair", "line", "index")  # keys of JSON that may state the number of a pair
ParsedLine = TypeVar("ParsedLine")
LinksOfLine = TypeVar("LinksOfLine")

MAX_EMPTY_PAIRS = 1_000_000  # without a line in a file whose lines have the number of their pair
MAX_SHARED_CHARS = 100  # gold links of longer lines are not cached
_UNESCAPED_CODES = (*range(0x7F, 0xA0), 0x2028, 0x2029)  # control characters that json does not escape
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in _UNESCAPED_CODES}
_PROBABILITY_STEPS = 10_000  # probabilities are written with four decimal places


@dataclass(frozen=True)
class LinkRecord:
    """The links of one sentence pair in a file, with its words if the file has them.

    Raises DataError if a link is outside of the words.
    """

    gold: GoldAlignment  # all links are sure in formats without possible links
    source: tuple[str, ...] | None = None
    target: tuple[str, ...] | None = None
    unit: LinkUnitName | None = None  # what the positions count, if the file says so

    def __post_init__(self) -> None:
        if self.source is not None and self.target is not None:
            links_inside(self.gold.possible, len(self.source), len(self.target))

    @property
    def links(self) -> frozenset[Link]:
        """The sure links."""
        return self.gold.sure

    def has_words(self, source: Sequence[str], target: Sequence[str]) -> bool:
        """Return whether these are the words of the links, except for their case, if they have words."""
        for own, given in ((self.source, source), (self.target, target)):
            if own is not None and [word.lower() for word in own] != [word.lower() for word in given]:
                return False
        return True


# --- pharaoh, talp -------------------------------------------------------------------------------


def parse_pharaoh(line: str, *, first: int = 0) -> frozenset[Link]:
    """Return the links of a line such as ``0-0 1-2``; words count from `first`, 0 or 1."""
    parse_link = _PARSE_LINK_FROM[first]
    return frozenset([parse_link(text) for text in line.split(" ") if text])


def _parse_link(text: str, first: int) -> Link:
    match = _SURE_LINK.fullmatch(text)
    if match is None:
        reason = f"expected links like 0-1 between spaces, found {text!r}"
        if _POSSIBLE_LINK.fullmatch(text):
            raise DataError(f"{reason}; only gold links may be possible ones")
        raise DataError(f"{reason}; is this a file of links?")
    return Link(_parse_position(match[1], first), _parse_position(match[2], first))


_PARSE_LINK_FROM = [lru_cache(1 << 16)(partial(_parse_link, first=first)) for first in (0, 1)]


def _parse_position(text: str, first: int) -> int:
    position = int(text) - first
    if position < 0:
        raise DataError("expected positions from 1, found 0; does the file count from 0?")
    return position


def parse_gold(line: str, *, first: int = 0) -> GoldAlignment:
    """Return the gold links of a line such as ``0-0 1p2``: ``-`` sure, ``p`` (or ``?``) only possible."""
    return _parse_short_gold(line, first) if len(line) <= MAX_SHARED_CHARS else _parse_gold(line, first)


def _parse_gold(line: str, first: int) -> GoldAlignment:
    if "p" not in line and "?" not in line:  # then two searches of the whole line can be saved
        links = parse_pharaoh(line, first=first)
        return make_gold(links, links)
    sure = parse_pharaoh(_POSSIBLE_LINK.sub("", line), first=first)
    possible = parse_pharaoh(_POSSIBLE_LINK.sub(r"\1-\2", line), first=first)
    return make_gold(sure, possible)


# Equal lines share their links, however many lines a small compressed file unpacks to.
_parse_short_gold = lru_cache(1 << 12)(_parse_gold)


def format_pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Return links as a line without its end, sorted by source, then target."""
    return " ".join(f"{s}-{t}" for s, t in sorted(links))


def format_gold(gold: GoldAlignment, *, first: int = 0) -> str:
    """Return gold links as a line: ``-`` between the positions of a sure link, ``p`` of a possible one."""
    links = []
    for link in sorted(gold.possible):
        kind = "-" if link in gold.sure else "p"
        links.append(f"{link.source + first}{kind}{link.target + first}")
    return " ".join(links)


# --- reading -------------------------------------------------------------------------------------


def read_by_line(
    path: str | Path, encoding: str, parse: Callable[[str], ParsedLine]
) -> Iterator[ParsedLine | DataError]:
    """Yield the parsed lines; a line that does not parse is replaced by its error."""
    for number, line in enumerate(try_lines(path, encoding=encoding), 1):
        try:
            yield line if isinstance(line, DataError) else parse(line)
        except DataError as error:
            yield error.at(path, line=number)


def _handle_errors(
    path: str | Path, records: Iterator[ParsedLine | DataError], empty: ParsedLine, on_error: OnError | None
) -> Iterator[ParsedLine]:
    """Yield the records; raise errors, or with `on_error` pass them on and yield an empty record instead."""
    for record in name_file_in_errors(path, records):
        if not isinstance(record, DataError):
            yield record
        elif on_error is None:
            raise record
        else:
            on_error(record)
            yield empty


def _read_naacl(path: str | Path, encoding: str) -> Iterator[LinkRecord]:
    """Yield the links of each pair; a pair without a line has none, and position 0 is the null word."""
    last_pair = 0
    empty = LinkRecord(GoldAlignment((), ()))
    for pair, lines in groupby(_naacl_lines(path, encoding), key=itemgetter(0)):
        yield from repeat(empty, pair - last_pair - 1)
        sure: set[Link] = set()
        possible: set[Link] = set()
        for _, source, target, kind in lines:
            if source and target:
                link = Link(source - 1, target - 1)
                possible.add(link)
                if kind != "P":
                    sure.add(link)
        yield LinkRecord(GoldAlignment(sure, possible))
        last_pair = pair


def _naacl_lines(path: str | Path, encoding: str) -> Iterator[tuple[int, int, int, str | None]]:
    """Yield pair, source and target position, all from 1, and the kind of each link."""
    pair = 1
    empty_pairs_left = MAX_EMPTY_PAIRS
    for number, line in enumerate(read_lines(path, encoding=encoding), 1):
        match = _NAACL_LINE.fullmatch(line)
        if match is None or not pair <= int(match[1]) <= pair + empty_pairs_left:
            rule = f"at most {MAX_EMPTY_PAIRS:,} pairs without a line"
            expected = f"a line like '{pair:04d} 1 3 S', pairs in order from 1, {rule}"
            raise DataError(f"expected {expected}, found {line[:60]!r}").at(path, line=number)
        empty_pairs_left -= max(int(match[1]) - pair - 1, 0)
        pair = int(match[1])
        yield pair, int(match[2]), int(match[3]), match[4]


class _GizaPair(NamedTuple):
    """The three lines of a sentence pair in a GIZA file; `line` is the number of the first one."""

    line: int
    header: str
    target: str | DataError
    source: str | DataError


def _read_giza(path: str | Path, encoding: str) -> Iterator[LinkRecord | DataError]:
    """Yield the links of each pair, ordered by the numbers in the headers.

    The parts of a file may have been joined in any order: unparsed lines wait for the pairs before them.
    """
    waiting: dict[int, _GizaPair] = {}
    following = 1
    for pair in _giza_pairs(path, encoding):
        try:
            number, *_ = _giza_numbers(pair.header)
            if number < following or number in waiting:
                raise DataError(f"expected each pair once, found pair {number:,} again")
        except DataError as error:
            raise error.at(path, line=pair.line) from None
        waiting[number] = pair
        while following in waiting:
            yield _try_giza(waiting.pop(following), path)
            following += 1
    for number in sorted(waiting):
        missing = range(following, number)
        expected = f"expected pair {following:,}, which is nowhere in the file, before pair {number:,}"
        gap = DataError(f"{expected}; a pair or a part is missing").at(path, line=waiting[number].line)
        if len(missing) > MAX_EMPTY_PAIRS:
            raise gap
        yield from repeat(gap, len(missing))
        yield _try_giza(waiting[number], path)
        following = number + 1


def _giza_pairs(path: str | Path, encoding: str) -> Iterator[_GizaPair]:
    lines = try_lines(path, encoding=encoding)
    for number, header in zip(count(1, 3), lines, strict=False):
        if isinstance(header, DataError):  # the number of the pair is unknown
            raise header
        yield _GizaPair(number, header, next(lines, ""), next(lines, ""))


def _try_giza(pair: _GizaPair, path: str | Path) -> LinkRecord | DataError:
    try:
        return _parse_giza(pair, path)
    except DataError as error:
        return error


def _giza_numbers(header: str) -> tuple[int, int | None, int | None]:
    """Return the number of a pair, and its numbers of source and target words if the header has them."""
    match = _GIZA_HEADER.fullmatch(header)
    if match is None or int(match[1]) == 0:
        expected = "'# Sentence pair (1) source length 2 target length 3 alignment score : 0.1'"
        raise DataError(f"expected {expected}, pairs counted from 1, found {header[:100]!r}")
    source_length = None if match[2] is None else int(match[2])
    target_length = None if match[3] is None else int(match[3])
    return int(match[1]), source_length, target_length


def _parse_giza(pair: _GizaPair, path: str | Path) -> LinkRecord:
    """Return the links of a pair; raise DataError if its header has other numbers of words."""
    if isinstance(pair.target, DataError):
        raise pair.target
    if isinstance(pair.source, DataError):
        raise pair.source
    target = tuple(filter(None, pair.target.split(" ")))
    try:
        source, links = _giza_links(pair.source, len(target))
    except DataError as error:
        raise error.at(path, line=pair.line + 2) from None
    _, source_length, target_length = _giza_numbers(pair.header)
    lengths = source_length, target_length
    for side, words, length in zip(SIDES, (source, target), lengths, strict=True):
        if length not in (None, len(words)):
            expected = f"expected {length:,} {side} words, as this line states"
            raise DataError(f"{expected}, found {len(words):,}").at(path, line=pair.line)
    return LinkRecord(GoldAlignment(links, links), source, target)


def _giza_links(line: str, target_length: int) -> tuple[tuple[str, ...], set[Link]]:
    """Return source words and links of a line such as ``NULL ({ 3 }) the ({ 1 }) cat ({ 2 })``."""
    words: list[str] = []
    linked: list[list[int]] = []  # target positions of each word
    end = 0
    while match := _GIZA_WORD.match(line, end):
        end = match.end()
        words.append(match[1])
        linked.append([_parse_position(t, 1) for t in match[2].split(" ") if t])
    if words[:1] != ["NULL"]:
        raise DataError(f"expected 'NULL ({{ 1 }}) word ({{ 2 3 }}) ...', found {line[:60]!r}")
    if line[end:].strip(" "):
        raise DataError(f"expected 'NULL ({{ 1 }}) word ({{ 2 3 }}) ...', found {line[end : end + 60]!r}")
    links = {Link(s, t) for s, positions in enumerate(linked[1:]) for t in positions}
    links_inside(links, len(words) - 1, target_length)
    linked_targets = {t for _, t in links}
    for t in linked[0]:  # linked to the null word, which is not a link
        if t >= target_length:
            raise DataError(f"expected target words from 1 to {target_length}, found {t + 1} for NULL")
        if t in linked_targets:
            raise DataError(f"target word {t + 1} is linked to NULL and to another word")
    return tuple(words[1:]), links


def _read_jsonl(path: str | Path, encoding: str) -> Iterator[LinkRecord | DataError]:
    """Yield the links of each object; if objects have numbers, these have to agree with their lines."""
    numbering = _Numbering()
    number = 0
    for number, line in enumerate(try_lines(path, encoding=encoding), 1):
        try:
            if isinstance(line, DataError):
                raise line
            values = parse_json(line)
            record = _json_record(values, line)
            numbering.check(values, number)
        except DataError as error:
            yield error.at(path, line=number)
        else:
            yield record
    if numbering.total not in (None, number):
        expected = f'expected a line for each pair, {numbering.total!r:.60} as "pairs" states'
        raise DataError(f"{expected}, found {number:,}").at(path)


class _Numbering:
    """Checks what the objects of a file state: the number of the pair, from 0 or from 1, that of all pairs,
    and the unit of the links, which is the same in all.
    """

    def __init__(self) -> None:
        self.total: float | None = None
        self._units: list[object] = []  # the unit of the first object, or None
        self._begin: dict[str, int] = {}  # 0 or 1, by key

    def check(self, values: Mapping[str, Any], line: int) -> None:
        """Raise DataError if the number of an object is not that of its line."""
        for key in _PAIR_NUMBER_KEYS:
            stated = values.get(key)
            if type(stated) in (int, float):  # text under such a key is not a number of a pair
                begin = self._begin.setdefault(key, 0 if stated == line - 1 else 1)
                expected = line - 1 + begin
                if stated != expected:
                    rule = "pairs have to be in order, without gaps"
                    raise DataError(f'expected "{key}": {expected}, found {stated!r:.60}; {rule}')
        unit = values.get("unit")
        self._units = self._units or [unit]
        if unit != self._units[0]:
            raise DataError(f'expected "unit": {self._units[0]!r} as before, found {unit!r:.60}')
        total = values.get("pairs")
        if type(total) in (int, float):
            self.total = total if self.total is None else self.total
            if total != self.total:
                raise DataError(f'expected "pairs": {self.total!r:.60} as before, found {total!r:.60}')


def _json_record(values: Any, line: str) -> LinkRecord:
    gold = gold_of_json(values, line)
    unit = values.get("unit")
    if unit is not None and unit not in LINK_UNITS:
        raise DataError(f'expected "unit": {", ".join(LINK_UNITS)}, found {short_repr(unit)}')
    source = _json_words(values, "source", line)
    target = _json_words(values, "target", line)
    return LinkRecord(gold, source, target, unit)


def _json_words(values: Mapping[str, Any], side: str, line: str) -> tuple[str, ...] | None:
    """Return the words of a side of an object, if it has words."""
    words = values.get(side)
    if words is None:
        return None
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise DataError(f"expected words as lists of strings, found {line[:60]!r}")
    return tuple(words)


def _read_saved(path: str | Path, encoding: str) -> Iterator[LinkRecord]:
    for links, words, unit in read_saved_links(path):
        source, target = words or (None, None)
        try:
            yield LinkRecord(GoldAlignment(links), source, target, unit)
        except DataError:  # a link outside of the words
            raise DataError(DAMAGED_BATCH).at(path) from None


def _parse_tsv(line: str) -> LinkRecord:
    fields = line.split("\t")
    if len(fields) != 3:
        raise DataError(f"expected source, target and links between tabs, found {len(fields)} columns")
    source, target = (tuple(filter(None, text.split(" "))) for text in fields[:2])
    links = parse_pharaoh(fields[2])
    return LinkRecord(GoldAlignment(links, links), source, target)


def gold_of_json(values: Any, line: str) -> GoldAlignment:
    """Return the links of an object with lists of sure and of possible links; `line` is its text."""
    sure_links: Any = None
    possible_links: Any = []
    if isinstance(values, dict):
        sure_links = values.get("links")
        possible_links = values.get("possible", [])
    if not (_are_links(sure_links) and _are_links(possible_links)):
        raise DataError(f'expected an object like {{"links": [[0, 0], [1, 2]]}}, found {line[:60]!r}')
    sure = {Link(source, target) for source, target in sure_links}
    possible = {Link(source, target) for source, target in possible_links}
    return GoldAlignment(sure, sure | possible)


def _are_links(value: Any) -> bool:
    """Return whether a value of JSON is a list of pairs of positions."""
    if not isinstance(value, list):
        return False
    for pair in value:
        if not (isinstance(pair, list) and len(pair) == 2):
            return False
        if not all(type(n) is int and 0 <= n < 10**9 for n in pair):
            return False
    return True


# --- writing -------------------------------------------------------------------------------------


def _format_naacl(record: LinkRecord, number: int) -> str:
    lines = []
    for link in sorted(record.gold.possible):
        kind = "S" if link in record.gold.sure else "P"
        lines.append(f"{number:04d} {link.source + 1} {link.target + 1} {kind}\n")
    return "".join(lines)


def _words_of_record(record: LinkRecord) -> BothWords:
    if record.source is None or record.target is None:
        raise UsageError("this format contains words, and the link file has none; pass the two texts as well")
    return record.source, record.target


def _format_giza(record: LinkRecord, number: int) -> str:
    source, target = _words_of_record(record)
    check_unsplit(source, target, WORD_SEPARATORS["giza"])
    linked: list[list[int]] = [[] for _ in range(len(source) + 1)]  # by source word; 0 is the null word
    for s, t in sorted(record.links):
        linked[s + 1].append(t + 1)
    linked_targets = {t for _, t in record.links}
    linked[0] = [t + 1 for t in range(len(target)) if t not in linked_targets]
    words = []
    for word, positions in zip(("NULL", *source), linked, strict=True):
        numbers = "".join(f"{position} " for position in positions)
        words.append(f"{word} ({{ {numbers}}})")
    lengths = f"source length {len(source)} target length {len(target)}"
    header = f"# Sentence pair ({number}) {lengths} alignment score : 1"
    return f"{header}\n{' '.join(target)}\n{' '.join(words)}\n"


def _format_words(record: LinkRecord, number: int) -> str:
    source, target = _words_of_record(record)
    check_unsplit(source, target, WORD_SEPARATORS["words"])
    return " ".join(f"{source[s]}<sep>{target[t]}" for s, t in sorted(record.links)) + "\n"


def _format_guided(source: Sequence[str], target: Sequence[str], links: str) -> str:
    """Return the words of a pair and its links as one line of three columns."""
    check_unsplit(source, target, WORD_SEPARATORS["tsv"])
    return f"{' '.join(source)}\t{' '.join(target)}\t{links}\n"


def _format_jsonl(record: LinkRecord, number: int) -> str:
    values: dict[str, object] = {"links": sorted(record.links)}
    if possible := record.gold.possible - record.gold.sure:
        values["possible"] = sorted(possible)
    if record.source is not None and record.target is not None:
        values |= {"source": record.source, "target": record.target}
    if record.unit is not None:
        values["unit"] = record.unit
    return f"{json_text(values)}\n"


def json_text(values: object) -> str:
    """Return JSON on one line; all characters that some reader takes for a line end are escaped."""
    text = json.dumps(values, ensure_ascii=False)
    return text.translate(_JSON_ESCAPES)


_READERS: dict[str, Callable[[str | Path, str], Iterator[LinkRecord | DataError]]] = {
    "pharaoh": partial(read_by_line, parse=lambda line: LinkRecord(parse_gold(line))),
    "talp": partial(read_by_line, parse=lambda line: LinkRecord(parse_gold(line, first=1))),
    "naacl": _read_naacl,
    "giza": _read_giza,
    "tsv": partial(read_by_line, parse=_parse_tsv),
    "jsonl": _read_jsonl,
}
_WRITERS: dict[str, Callable[[LinkRecord, int], str]] = {
    "pharaoh": lambda record, number: format_gold(record.gold) + "\n",
    "talp": lambda record, number: format_gold(record.gold, first=1) + "\n",
    "naacl": _format_naacl,
    "giza": _format_giza,
    "words": _format_words,
    "tsv": lambda record, number: _format_guided(*_words_of_record(record), format_pharaoh(record.links)),
    "jsonl": _format_jsonl,
}


def read_link_records(
    path: str | Path, *, format: str = "pharaoh", encoding: str = "utf-8", on_error: OnError | None = None
) -> Iterator[LinkRecord]:
    """Yield the links of each sentence pair of a file, in order; a DataError names the line.

    With `on_error` the error of a line that is a pair of its own, or of three lines of GIZA, is passed on and
    the pair has no links.
    """
    read = _read_saved if _is_saved(path, format) else _READERS[format]
    empty = LinkRecord(GoldAlignment((), ()))
    return _handle_errors(path, read(path, encoding), empty, on_error)


def _is_saved(path: str | Path, format: str) -> bool:
    """Return whether a file of links is a saved batch; UsageError if it is said to have another format."""
    check_choice(format, _READERS, "formats of links")
    is_saved = is_batch_file(path)
    if is_saved and format != "pharaoh":
        found = f"{path} is a file of align --posteriors or batch.save, which is read without a format"
        raise UsageError(f"{found}; do not set the format {format!r}")
    return is_saved


def read_links(
    path: str | Path, *, format: str = "pharaoh", encoding: str = "utf-8", on_error: OnError | None = None
) -> Iterator[frozenset[Link]]:
    """Yield the links of each pair; a link that is only possible is an error, because aligners have none.

    For `on_error` see :func:`read_link_records`.
    """
    if format in ("pharaoh", "talp") and not _is_saved(path, format):
        lines = read_by_line(path, encoding, partial(parse_pharaoh, first=int(format == "talp")))
        return _handle_errors(path, lines, frozenset(), on_error)
    records = read_link_records(path, format=format, encoding=encoding, on_error=on_error)
    return (record.links for record in records)


def with_numbered_errors(
    read: Callable[..., Iterator[LinksOfLine]], on_error: Callable[[int, DataError], object] | None
) -> Iterator[LinksOfLine]:
    """Yield what `read` yields for a file; pass on errors with the number of the pair, from 1."""
    number = 1

    def add_numbered(error: DataError) -> None:
        assert on_error is not None
        on_error(number, error)

    for links in read(on_error=None if on_error is None else add_numbered):
        yield links
        number += 1


def stated_unit(path: str | Path, *, format: str, encoding: str = "utf-8") -> LinkUnitName | None:
    """Return what the links of a file count, if the file says so: ``jsonl`` can, and saved batches."""
    if format != "jsonl" and not _is_saved(path, format):
        return None
    # a bad line is an error where the links are read
    records = read_link_records(path, format=format, encoding=encoding, on_error=lambda error: None)
    first = next(records, None)
    return None if first is None else first.unit


def check_unit(
    path: str | Path, unit: LinkUnitName = "words", *, format: str = "pharaoh", encoding: str = "utf-8"
) -> None:
    """Raise DataError if a file says that its links count something else."""
    stated = stated_unit(path, format=format, encoding=encoding)
    if stated not in (None, unit):
        expected = "space-separated words" if unit == "words" else unit
        raise DataError(f"expected links of {expected}, found links of {stated}").at(path)


def format_record(record: LinkRecord, *, format: str, number: int) -> str:
    """Return the lines of one pair, each with its end; `number` counts pairs from 1."""
    check_choice(format, _WRITERS, "formats of links")
    return _WRITERS[format](record, number)


# --- batches, without a Python object for each link ----------------------------------------------


def _join_lines(indices: Longs, offsets: Longs, strings: list[str]) -> str:
    """Return lines of space-separated strings; line n has ``strings[indices[offsets[n]:offsets[n + 1]]]``.

    Each string is joined with the space or the line end after it, so that one join gives the text.
    """
    with_space = [f"{string} " for string in strings]
    with_line_end = [f"{string}\n" for string in strings]
    parts = [*with_space, *with_line_end, "\n"]
    is_empty = offsets[:-1] == offsets[1:]
    part_indices = indices.copy()
    last_of_lines = offsets[1:][~is_empty] - 1
    part_indices[last_of_lines] += len(strings)
    empty_line = len(parts) - 1
    part_indices = np.insert(part_indices, offsets[:-1][is_empty], empty_line)
    return "".join(map(parts.__getitem__, part_indices.tolist()))


def _number_distinct(values: Longs) -> tuple[list[int], Longs]:
    """Return the distinct values and, for each value, its index among them."""
    end = int(values.max(initial=0)) + 1
    if end > 4 * len(values) + 65_536:
        distinct, indices = np.unique(values, return_inverse=True)
    else:  # a table is faster than sorting
        is_present = np.zeros(end, dtype=bool)
        is_present[values] = True
        distinct = is_present.nonzero()[0]
        index_of_value = np.cumsum(is_present) - 1
        indices = index_of_value[values]
    return distinct.tolist(), indices.astype(np.int64)


def format_pharaoh_batch(batch: AlignedBatch) -> str:
    """Return the links of all pairs as Pharaoh lines, each with its end."""
    width = int(batch.target.max(initial=0)) + 1
    keys = batch.source.astype(np.int64) * width + batch.target
    distinct, tokens = _number_distinct(keys)
    return _join_lines(tokens, batch.offsets, [f"{key // width}-{key % width}" for key in distinct])


def format_guided_batch(
    batch: AlignedBatch,
    source_words: Sequence[Sequence[str]],
    target_words: Sequence[Sequence[str]],
    *,
    first: int = 1,
) -> str:
    """Return source words, target words and links of each pair between tabs, as guided training reads them.

    A DataError counts pairs from `first`.
    """
    lines = []
    links = format_pharaoh_batch(batch).split("\n")[:-1]
    for number, pair in enumerate(zip(source_words, target_words, links, strict=True), first):
        try:
            lines.append(_format_guided(*pair))
        except DataError as error:
            raise error.at(f"pair {number}") from None
    return "".join(lines)


def format_probabilities_batch(batch: AlignedBatch) -> str:
    """Return the probabilities of the links, parallel to :func:`format_pharaoh_batch`, with four digits."""
    steps = np.rint(np.clip(batch.probability.astype(np.float64), 0, 1) * _PROBABILITY_STEPS).astype(np.int64)
    distinct, tokens = _number_distinct(steps)
    return _join_lines(tokens, batch.offsets, [f"{step / _PROBABILITY_STEPS:.4f}" for step in distinct])


def format_pair_scores_batch(batch: AlignedBatch) -> str:
    """Return the score of each pair on a line of its own, with six digits."""
    return "".join(f"{score:.6f}\n" for score in batch.scores.tolist())


def format_costs(costs: Reals, *, for_opusfilter: bool = False) -> str:
    """Return two costs of each pair, of shape (N, 2), on a line with a tab between, with six digits.

    With `for_opusfilter`, the lines are JSON objects, as in a file of scores of OpusFilter.
    """
    if for_opusfilter:
        rows = (f"[{forward:.6f}, {reverse:.6f}]" for forward, reverse in costs.tolist())
        return "".join(f'{{"WordAlignFilter": {row}}}\n' for row in rows)
    return "".join(f"{forward:.6f}\t{reverse:.6f}\n" for forward, reverse in costs.tolist())
