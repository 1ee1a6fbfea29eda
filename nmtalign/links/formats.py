"""Formats of link files, read and written.

========  ======================================================================================
pharaoh   a line for each pair, ``0-0 1-2``: source-target, from 0; gold may hold ``3p4``, possible
talp      the same from 1
naacl     a line for each link, ``0001 1 3 S``: pair, source, target, all from 1; S sure, P possible
giza      GIZA++ ``A3``: three lines for each pair, with the words
words     a line for each pair, ``the<sep>le cat<sep>chat``: linked words, no positions (write only)
tsv       a line for each pair, source, target and Pharaoh links between tabs: guided training
jsonl     an object for each pair: ``{"links": [[0, 0]], "possible": [], "source": [...], "target": [...]}``
========  ======================================================================================

Possible links of ``pharaoh``, ``talp`` and ``naacl`` are those that are not sure.

Corrections are links of single pairs of a text by people who looked, as a report writes and reads them: a
line of JSON for each pair, the links of ``jsonl`` with more beside them::

    {"pair": 3, "pairs": 447, "text": "ee0c9a5e97be", "links": [[0, 0]], "possible": [[1, 2]], "by": "Ann",
     "at": "2026-05-04T12:00:00Z"}
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import Longs
from nmtalign.calls import check_call
from nmtalign.door import as_path, expect_choice
from nmtalign.errors import DataError, UsageError
from nmtalign.files import format_ending, named, parse_json, read_lines
from nmtalign.links.alignments import AlignedBatch, BothWords, GoldAlignment, Link, links_inside

_SURE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_POSSIBLE = re.compile(r"(?<![^ ])(\d{1,9})[p?](\d{1,9})(?![^ ])", re.ASCII)
_NAACL = re.compile(r"(\d{1,9}) +(\d{1,9}) +(\d{1,9})(?: +([SP]))?(?: +[\d.eE+-]+)? *", re.ASCII)
_GIZA = re.compile(r"([^ ]+) \(\{ ((?:\d{1,9} )*)\}\) ?", re.ASCII)
_OF_CORRECTIONS = {"pair": int, "pairs": int, "text": str, "by": str, "at": str}
Parsed = TypeVar("Parsed")

MOST_EMPTY = 1_000_000  # pairs without a line of their own in a row
_SCALE = 10_000  # probabilities have four digits after the point


@dataclass(frozen=True)
class LinkRecord:
    """The links of one sentence pair in a file, with its words where the file has them.

    A DataError if a link lies outside of the words.
    """

    gold: GoldAlignment  # all links are sure in formats without possible links
    source: tuple[str, ...] | None = None
    target: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.source is not None and self.target is not None:
            links_inside(self.gold.possible, len(self.source), len(self.target))

    @property
    def links(self) -> frozenset[Link]:
        """The sure links."""
        return self.gold.sure


# --- pharaoh, talp -------------------------------------------------------------------------------


def parse_pharaoh(line: str, *, first: int = 0) -> frozenset[Link]:
    """Return the links of a line such as ``0-0 1-2``; words count from `first`, 0 or 1."""
    return frozenset(map(_LINKS_FROM[first], filter(None, line.split(" "))))


def _link(text: str, first: int) -> Link:
    match = _SURE.fullmatch(text)
    if match is None:
        reason = f"expected links like 0-1 between spaces, found {text!r}"
        raise DataError(f"{reason}; only gold may hold possible links (0p1)")
    return Link(_position(match[1], first), _position(match[2], first))


_LINKS_FROM = [lru_cache(1 << 16)(partial(_link, first=first)) for first in (0, 1)]


def _position(text: str, first: int) -> int:
    position = int(text) - first
    if position < 0:
        raise DataError("expected positions from 1, found 0; does the file count from 0?")
    return position


def parse_gold(line: str, *, first: int = 0) -> GoldAlignment:
    """Return the gold links of a line such as ``0-0 1p2``: ``-`` sure, ``p`` (or ``?``) only possible."""
    sure = parse_pharaoh(_POSSIBLE.sub("", line), first=first)
    return GoldAlignment(sure, parse_pharaoh(_POSSIBLE.sub(r"\1-\2", line), first=first))


def format_pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Return links as a line without its end, sorted by source, then target."""
    return " ".join(f"{s}-{t}" for s, t in sorted(links))


def format_gold(gold: GoldAlignment, *, first: int = 0) -> str:
    """Return gold links as a line: ``-`` between the positions of a sure link, ``p`` of a possible one."""
    kinds = ((link, "-" if link in gold.sure else "p") for link in sorted(gold.possible))
    return " ".join(f"{s + first}{kind}{t + first}" for (s, t), kind in kinds)


# --- reading -------------------------------------------------------------------------------------


def _read_by_line(path: str | Path, encoding: str, parse: Callable[[str], Parsed]) -> Iterator[Parsed]:
    for number, line in enumerate(read_lines(path, encoding=encoding), 1):
        try:
            yield parse(line)
        except DataError as error:
            raise error.at(path, line=number) from None


def _read_naacl(path: str | Path, encoding: str) -> Iterator[LinkRecord]:
    """Yield the links of each pair, none of those without a line; position 0 is the null word and no link."""
    pair = 0
    for number, lines in groupby(_naacl_lines(path, encoding), key=lambda line: line[0]):
        for _ in range(pair + 1, number):
            yield LinkRecord(GoldAlignment((), ()))
        links = [(Link(s - 1, t - 1), kind) for _, s, t, kind in lines if s and t]
        sure = frozenset(link for link, kind in links if kind != "P")
        yield LinkRecord(GoldAlignment(sure, frozenset(link for link, _ in links)))
        pair = number


def _naacl_lines(path: str | Path, encoding: str) -> Iterator[tuple[int, int, int, str | None]]:
    pair = 1
    for number, line in enumerate(read_lines(path, encoding=encoding), 1):
        match = _NAACL.fullmatch(line)
        if match is None or not pair <= int(match[1]) <= pair + MOST_EMPTY:
            expected = f"a line like '{pair:04d} 1 3 S', pairs in order from 1, no gap above {MOST_EMPTY:,}"
            raise DataError(f"expected {expected}, found {line[:60]!r}").at(path, line=number)
        pair = int(match[1])
        yield pair, int(match[2]), int(match[3]), match[4]


def _read_giza(path: str | Path, encoding: str) -> Iterator[LinkRecord]:
    lines = enumerate(read_lines(path, encoding=encoding), 1)
    for number, header in lines:
        try:
            if not header.startswith("# "):
                raise DataError(f"expected '# Sentence pair (1) ...', found {header!r}")
            (_, target), (number, links) = next(lines, (0, "")), next(lines, (number + 2, ""))
            yield _parse_giza(tuple(filter(None, target.split(" "))), links)
        except DataError as error:
            raise error.at(path, line=number) from None


def _parse_giza(target: tuple[str, ...], line: str) -> LinkRecord:
    words: list[str] = []
    links: set[Link] = set()
    end = 0
    while match := _GIZA.match(line, end):
        end = match.end()
        words.append(match[1])
        if len(words) > 1:  # the first is NULL: its target words have no link
            links.update(Link(len(words) - 2, _position(t, 1)) for t in match[2].split(" ") if t)
    if not words or line[end:].strip(" "):
        raise DataError(f"expected 'NULL ({{ 1 }}) word ({{ 2 3 }}) ...', found {line[end:] or line!r}")
    return LinkRecord(GoldAlignment(links, links), tuple(words[1:]), target)


def _parse_json(line: str) -> LinkRecord:
    values = parse_json(line)
    gold = gold_of_json(values, line)
    sides = values.get("source"), values.get("target")
    for side in sides:
        if side is not None and not (isinstance(side, list) and all(isinstance(word, str) for word in side)):
            raise DataError(f"expected words as lists of strings, found {line[:60]!r}")
    return LinkRecord(gold, *(None if side is None else tuple(side) for side in sides))


def _parse_tsv(line: str) -> LinkRecord:
    fields = line.split("\t")
    if len(fields) != 3:
        raise DataError(f"expected source, target and links between tabs, found {len(fields)} columns")
    source, target = (tuple(filter(None, text.split(" "))) for text in fields[:2])
    links = parse_pharaoh(fields[2])
    return LinkRecord(GoldAlignment(links, links), source, target)


def gold_of_json(values: Any, line: str) -> GoldAlignment:
    """Return the links of an object with lists of sure and of possible ones, which `line` says."""
    links: list[Any] = [None]
    if isinstance(values, dict):
        links = [values.get("links"), values.get("possible", [])]
    if not all(map(_are_links, links)):
        raise DataError(f'expected an object like {{"links": [[0, 0], [1, 2]]}}, found {line[:60]!r}')
    sure, possible = (frozenset(Link(*link) for link in pairs) for pairs in links)
    return GoldAlignment(sure, sure | possible)


def _are_links(value: Any) -> bool:
    pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    return pairs and all(type(n) is int and 0 <= n < 10**9 for pair in value for n in pair)


# --- corrections -----------------------------------------------------------------------------------


class Correction(NamedTuple):
    """The links of a pair, and who looked at them when."""

    pair: int  # line of the text, from 1
    pairs: int  # lines of the text
    text: str  # the words; see `text_key`
    gold: GoldAlignment
    by: str
    at: str  # ISO 8601


def text_key(source: Sequence[str], target: Sequence[str]) -> str:
    """Return twelve digits that tell the words of a pair from others."""
    words = f"{' '.join(source)}\n{' '.join(target)}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def are_corrections(path: str | Path) -> bool:
    """Tell by its name whether a file of gold links holds corrections."""
    return format_ending(as_path(path)) == ".jsonl"


def read_corrections(path: str | Path, *, encoding: str = "utf-8") -> dict[int, Correction]:
    """Return the corrections of a file by the number of the pair: of each pair the latest.

    All are of one text; a DataError names the line.
    """
    latest: dict[int, Correction] = {}
    corrections = named(path, _read_by_line(path, encoding, _parse_correction))
    for number, correction in enumerate(corrections, 1):
        first = next(iter(latest.values()), correction)
        if correction.pairs != first.pairs:
            expected = f"expected a text of {first.pairs:,} pairs as before"
            raise DataError(f"{expected}, found one of {correction.pairs:,}").at(path, line=number)
        if correction.pair not in latest or correction.at >= latest[correction.pair].at:
            latest[correction.pair] = correction
    return latest


def _parse_correction(line: str) -> Correction:
    record = parse_json(line)
    values: dict[str, Any] = record if isinstance(record, dict) else {}
    if not all(type(values.get(name)) is kind for name, kind in _OF_CORRECTIONS.items()):
        names = ", ".join(_OF_CORRECTIONS)
        raise DataError(f"expected a correction with {names} and links, found {line[:60]!r}")
    if not 1 <= values["pair"] <= values["pairs"]:
        raise DataError(f"expected a pair from 1 to {values['pairs']:,}, found {values['pair']:,}")
    return Correction(gold=gold_of_json(record, line), **{name: values[name] for name in _OF_CORRECTIONS})


# --- writing -------------------------------------------------------------------------------------


def _write_naacl(record: LinkRecord, number: int) -> str:
    kinds = ((link, "S" if link in record.gold.sure else "P") for link in sorted(record.gold.possible))
    return "".join(f"{number:04d} {s + 1} {t + 1} {kind}\n" for (s, t), kind in kinds)


def _words(record: LinkRecord) -> BothWords:
    if record.source is None or record.target is None:
        raise UsageError("this format holds words, and the link file has none; give the two texts as well")
    return record.source, record.target


def _write_giza(record: LinkRecord, number: int) -> str:
    source, target = _words(record)
    linked: list[list[int]] = [[] for _ in range(len(source) + 1)]
    for s, t in sorted(record.links):
        linked[s + 1].append(t + 1)
    linked[0] = sorted(set(range(1, len(target) + 1)) - {t + 1 for _, t in record.links})
    words = (
        f"{word} ({{ {''.join(f'{t} ' for t in positions)}}})"
        for word, positions in zip(("NULL", *source), linked, strict=True)
    )
    lengths = f"source length {len(source)} target length {len(target)}"
    header = f"# Sentence pair ({number}) {lengths} alignment score : 1"
    return f"{header}\n{' '.join(target)}\n{' '.join(words)}\n"


def _write_words(record: LinkRecord, number: int) -> str:
    source, target = _words(record)
    return " ".join(f"{source[s]}<sep>{target[t]}" for s, t in sorted(record.links)) + "\n"


def _guided(source: Sequence[str], target: Sequence[str], links: str, number: int) -> str:
    """Return the words of a pair and its links as one line of three columns."""
    sides = [" ".join(words) for words in (source, target)]
    if "\t" in sides[0] or "\t" in sides[1]:
        raise DataError(f"pair {number}: a word holds a tab, which would look like a column")
    return f"{sides[0]}\t{sides[1]}\t{links}\n"


def _write_jsonl(record: LinkRecord, number: int) -> str:
    values: dict[str, object] = {"links": sorted(record.links)}
    if possible := record.gold.possible - record.gold.sure:
        values["possible"] = sorted(possible)
    if record.source is not None and record.target is not None:
        values |= {"source": record.source, "target": record.target}
    return json.dumps(values, ensure_ascii=False) + "\n"


_READERS: dict[str, Callable[[str | Path, str], Iterator[LinkRecord]]] = {
    "pharaoh": partial(_read_by_line, parse=lambda line: LinkRecord(parse_gold(line))),
    "talp": partial(_read_by_line, parse=lambda line: LinkRecord(parse_gold(line, first=1))),
    "naacl": _read_naacl,
    "giza": _read_giza,
    "tsv": partial(_read_by_line, parse=_parse_tsv),
    "jsonl": partial(_read_by_line, parse=_parse_json),
}
_WRITERS: dict[str, Callable[[LinkRecord, int], str]] = {
    "pharaoh": lambda record, number: format_gold(record.gold) + "\n",
    "talp": lambda record, number: format_gold(record.gold, first=1) + "\n",
    "naacl": _write_naacl,
    "giza": _write_giza,
    "words": _write_words,
    "tsv": lambda record, number: _guided(*_words(record), format_pharaoh(record.links), number),
    "jsonl": _write_jsonl,
}


def read_records(
    path: str | Path, *, format: str = "pharaoh", encoding: str = "utf-8"
) -> Iterator[LinkRecord]:
    """Yield the links of each sentence pair of a file, in order; a DataError names the line."""
    expect_choice(format, _READERS, "formats of links")
    return named(path, _READERS[format](path, encoding))


@check_call("options such as `format` are given by their names")
def read_gold(path: str | Path, *, format: str = "pharaoh", encoding: str = "utf-8") -> list[GoldAlignment]:
    """Return the gold links of each pair.

    Parameters
    ----------
    path : str or Path
        A file of gold links, which may be compressed, or ``corrections.jsonl``, which a report saves; it has
        gold for the pairs that somebody looked at.
    format : {"pharaoh", "talp", "naacl", "giza", "tsv", "jsonl"}
        Pharaoh counts from 0, with ``3-4`` for a sure link and ``3p4`` for a possible one; TALP and NAACL
        count from 1.
    encoding : str
        Encoding of the file.

    Raises
    ------
    DataError
        With the line, where the file is not of that format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "gold.pharaoh"
    ...     _ = path.write_text("0-0 1p2\\n", encoding="utf-8")
    ...     read_gold(path)
    [GoldAlignment: 0-0 1p2]
    """
    if format == "pharaoh" and are_corrections(path):
        corrections = read_corrections(path, encoding=encoding)
        pairs = next((correction.pairs for correction in corrections.values()), 0)
        none = GoldAlignment((), ())
        return [corrections[n].gold if n in corrections else none for n in range(1, pairs + 1)]
    return [record.gold for record in read_records(path, format=format, encoding=encoding)]


def read_links(
    path: str | Path, *, format: str = "pharaoh", encoding: str = "utf-8"
) -> Iterator[frozenset[Link]]:
    """Yield the links of each pair; a link that is only possible is an error, as an aligner makes none."""
    if format in ("pharaoh", "talp"):
        return _read_by_line(path, encoding, partial(parse_pharaoh, first=int(format == "talp")))
    return (record.links for record in read_records(path, format=format, encoding=encoding))


def format_record(record: LinkRecord, *, format: str, number: int) -> str:
    """Return the lines of one pair, each with its end; `number` counts pairs from 1."""
    expect_choice(format, _WRITERS, "formats of links")
    return _WRITERS[format](record, number)


# --- batches: no Python object for a link --------------------------------------------------------


def _lines(tokens: Longs, offsets: Longs, table: list[str]) -> str:
    """Return lines of the words ``table[tokens]``; line n has those of ``offsets[n]:offsets[n + 1]``."""
    size = len(table)
    ends = [f"{word} " for word in table] + [f"{word}\n" for word in table] + ["\n"]
    empty = offsets[:-1] == offsets[1:]
    tokens = tokens.copy()
    tokens[offsets[1:][~empty] - 1] += size  # the last word of a line ends it
    tokens = np.insert(tokens, offsets[:-1][empty], 2 * size)
    return "".join(map(ends.__getitem__, tokens.tolist()))


def _distinct(values: Longs) -> tuple[list[int], Longs]:
    """Return the distinct values and, for each value, which of them it is."""
    top = int(values.max(initial=0)) + 1
    if top > 4 * len(values) + 65_536:
        distinct, tokens = np.unique(values, return_inverse=True)
    else:  # without sorting
        present = np.zeros(top, dtype=bool)
        present[values] = True
        distinct, tokens = present.nonzero()[0], (np.cumsum(present) - 1)[values]
    return distinct.tolist(), tokens.astype(np.int64)


def format_pharaoh_batch(batch: AlignedBatch) -> str:
    """Return the links of all pairs as Pharaoh lines, each with its end."""
    width = int(batch.target.max(initial=0)) + 1
    keys = batch.source.astype(np.int64) * width + batch.target
    distinct, tokens = _distinct(keys)
    return _lines(tokens, batch.offsets, [f"{key // width}-{key % width}" for key in distinct])


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
    links = format_pharaoh_batch(batch).split("\n")[:-1]
    pairs = enumerate(zip(source_words, target_words, links, strict=True), first)
    return "".join(_guided(*pair, number) for number, pair in pairs)


def format_scores_batch(batch: AlignedBatch) -> str:
    """Return the probabilities of the links, parallel to :func:`format_pharaoh_batch`, with four digits."""
    steps = np.rint(np.clip(batch.probability.astype(np.float64), 0, 1) * _SCALE).astype(np.int64)
    distinct, tokens = _distinct(steps)
    return _lines(tokens, batch.offsets, [f"{step / _SCALE:.4f}" for step in distinct])


def format_pair_scores_batch(batch: AlignedBatch) -> str:
    """Return the score of each pair on a line of its own, with six digits."""
    return "".join(f"{score:.6f}\n" for score in batch.scores.tolist())
