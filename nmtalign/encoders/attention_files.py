"""Readers for the attention files of other programs.

Axes: T target and S source pieces of a sentence pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np

from nmtalign.arrays import Archive, Flags, Reals, in_order, is_archive, is_array, read_array
from nmtalign.errors import DataError
from nmtalign.files import named, read_lines

Lines = Iterable[tuple[int, str]]

LOOK = 1_000  # first lines of a text that show its format
LINKABLE = "linkable"  # arrays whose names begin so mark cells of the pair with the number at the end
_BEFORE = " ||| "  # Marian writes the translation, this, and the weights
_FAIRSEQ = re.compile(r"(?P<kind>[A-Z])-(?P<pair>\d{1,9})\t(?P<rows>.*)")
_OPENNMT = re.compile(r"\s*\S+ (?P<row>(?:[ *]*\d\.\d{7} )*[ *]*\d\.\d{7}) *")


def read_matrices(path: str | Path, *, encoding: str = "utf-8") -> Iterator[Reals]:
    """Yield the attention of one sentence pair after the other; what the file holds says which form it is.

    * npz with one array a pair, (T, S) or (layers, heads, T, S), whose names end with the number of the pair
      (``arr_0``, ``pair-0``; from 0 or from 1, without gaps), or npy with the one array of one pair;
    * text of Marian's ``--alignment soft``: one line a pair, the target words between spaces, for each the
      weights of the source words between commas; what is in front of the last ``|||`` is left out;
    * what fairseq prints with ``--print-alignment soft``: lines ``A-17<tab>0.9,0.1 0.2,0.8`` as Marian's, in
      any order, 17 the number of the pair from 0; other lines are left out, and of several translations all
      but the first;
    * what OpenNMT-py prints with ``-attn_debug``: for each pair a table whose rows are a target word and its
      weights with 7 decimals, a ``*`` at the largest; tables are parted by any other lines.

    The last two have a row for the end of the sentence, fairseq and Marian a column, too. An npz may have an
    array ``linkable-0`` beside ``pair-0``, (T, S) of bool: cells that may have links. A DataError if a file
    is of no such kind, a name has no number, or a line holds something else.
    """
    return named(path, _matrices(path, encoding))


def _matrices(path: str | Path, encoding: str) -> Iterator[Reals]:
    if str(path) != "-" and is_archive(path):
        return read_npz(path)
    if str(path) != "-" and is_array(path):
        return iter([read_array(path)])
    lines = enumerate(read_lines(path, encoding=encoding), 1)
    head = list(islice(lines, LOOK))
    return _form([line for _, line in head])(chain(head, lines), path)


def _form(lines: Sequence[str]) -> Callable[[Lines, str | Path], Iterator[Reals]]:
    """Return the reader for a text that begins with these lines."""
    if any(_FAIRSEQ.fullmatch(line) for line in lines):
        return _read_fairseq
    return _read_opennmt if any(_OPENNMT.fullmatch(line) for line in lines) else _read_marian


def read_npz(path: str | Path) -> Iterator[Reals]:
    """Yield the arrays of an .npz file by the number that their names end with, but for `LINKABLE` ones."""
    with Archive(path) as archive:
        yield from map(archive.read, _of_pairs(archive, path))


def read_linkable(path: str | Path) -> Iterator[Flags | None]:
    """Yield which cells of each pair of a file may have links; None where the file does not say."""
    if str(path) == "-" or not is_archive(path):
        yield from repeat(None)
    with Archive(path) as archive:
        for name in _of_pairs(archive, path):
            marks = f"{LINKABLE}-{name.rpartition('-')[2]}"
            yield archive.read(marks) if marks in archive.names else None


def _of_pairs(archive: Archive, path: str | Path) -> list[str]:
    return in_order([name for name in archive.names if not name.startswith(f"{LINKABLE}-")], path)


def _read_marian(lines: Lines, path: str | Path) -> Iterator[Reals]:
    for number, line in lines:
        yield _rows(line.rpartition(_BEFORE)[2], path, number)


def _rows(text: str, path: str | Path, line: int) -> Reals:
    """Parse ``0.9,0.1 0.2,0.8``."""
    rows = [row.split(",") for row in text.split(" ") if row]
    try:
        return np.array(rows, dtype=np.float64) if rows else np.zeros((0, 0))
    except ValueError:
        raise DataError(
            "expected as many weights for each target word, with commas between: 0.9,0.1 0.2,0.8"
        ).at(path, line=line) from None


def _read_fairseq(lines: Lines, path: str | Path) -> Iterator[Reals]:
    """Yield the matrices by number; the lines with weights are held as text."""
    found: dict[int, tuple[int, str]] = {}
    for number, line in lines:
        match = _FAIRSEQ.fullmatch(line)
        if match and match["kind"] == "A":
            found.setdefault(int(match["pair"]), (number, match["rows"]))
    if sorted(found) != list(range(len(found))) or not found:
        raise DataError(
            f"expected a line A-0, A-1, ... for each pair, found {len(found)}"
            + (f" up to A-{max(found)}" if found else "; run fairseq with --print-alignment soft")
        ).at(path)
    for pair in range(len(found)):
        number, rows = found[pair]
        if re.search(r"\d-\d", rows):
            raise DataError("expected weights, found links; run fairseq with --print-alignment soft").at(
                path, line=number
            )
        yield _rows(rows, path, number)


def _read_opennmt(lines: Lines, path: str | Path) -> Iterator[Reals]:
    rows: list[list[str]] = []
    for number, line in chain(lines, [(0, "")]):
        match = _OPENNMT.fullmatch(line)
        if match:
            rows.append(match["row"].replace("*", " ").split())
            if len(rows[-1]) != len(rows[0]):
                raise DataError(f"expected {len(rows[0])} weights, found {len(rows[-1])}").at(
                    path, line=number
                )
        elif rows:
            yield np.array(rows, dtype=np.float64)
            rows = []
