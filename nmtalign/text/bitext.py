"""Sentence pairs from every kind of file: streamed, and one pair out for each record in.

===========  =========================================================================
two files    line n of one is the translation of line n of the other (``moses``)
fast-align   one file, ``source ||| target`` on a line
tsv          one file, columns between tabs, no quoting
===========  =========================================================================

A file may be compressed (.gz .bz2 .xz .zst) or ``-``. A record that does not parse is an error with its
place; given `on_error` it becomes an empty pair and the run goes on, so that no pair ever moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from nmtalign.errors import DataError, UsageError
from nmtalign.files import open_text, read_lines

__all__ = ["FORMATS", "SentencePair", "open_text", "read_bitext", "read_lines"]

OnError = Callable[[DataError], None]
_ENDINGS = {".tsv": "tsv"}
_PACKED = (".gz", ".bz2", ".xz", ".zst")


class SentencePair(NamedTuple):
    """One record of a bitext: two lines as they stand in the file."""

    source: str
    target: str


def read_bitext(
    source: str | Path,
    target: str | Path | None = None,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    select: tuple[str, str] | None = None,
    on_error: OnError | None = None,
) -> Iterator[SentencePair]:
    """Yield the sentence pairs of a bitext, in order, one for each record.

    Parameters
    ----------
    source : str or Path
        The source side, or the file that holds both sides; ``-`` is standard input.
    target : str or Path, optional
        The target side of a two-file bitext.
    format : str
        One of `FORMATS`, or ``auto``: two files, else by the file's ending, else by its first line.
    encoding : str
        Of text files.
    select : (str, str), optional
        Where the two sides are: columns of a TSV counted from 1.
    on_error : callable, optional
        Called with the error of a record that does not parse; an empty pair takes its place.
        Without it the error is raised.

    Raises
    ------
    DataError
        A record that does not parse, with file and line; two files of different length, with both counts.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.txt"
    ...     _ = path.write_text("the cat ||| le chat\\n", encoding="utf-8")
    ...     list(read_bitext(path))
    [SentencePair(source='the cat', target='le chat')]
    """
    if target is not None:
        if format not in ("auto", "moses"):
            raise UsageError(f"the format {format!r} is one file, but two were given")
        return _read_two(source, target, encoding)
    if format == "moses":
        raise UsageError("the format 'moses' is two files, but one was given")
    if format == "auto":
        format = _ENDINGS.get(_ending(source), "auto")
    return _read_one(source, format, encoding, select, on_error)


def _ending(path: str | Path) -> str:
    """Return the ending that tells the format: ``.tsv`` of ``pairs.tsv.gz``."""
    name = Path(path)
    return Path(name.stem).suffix.lower() if name.suffix.lower() in _PACKED else name.suffix.lower()


def _read_two(source: str | Path, target: str | Path, encoding: str) -> Iterator[SentencePair]:
    if str(source) == str(target) == "-":
        raise UsageError("only one side can come from standard input")
    sides = read_lines(source, encoding=encoding), read_lines(target, encoding=encoding)
    number = 0
    for source_line in sides[0]:
        target_line = next(sides[1], None)
        if target_line is None:
            raise _uneven(source, number + 1 + _count(sides[0]), target, number)
        number += 1
        yield SentencePair(source_line, target_line)
    rest = _count(sides[1])
    if rest:
        raise _uneven(source, number, target, number + rest)


def _count(lines: Iterator[str]) -> int:
    return sum(1 for _ in lines)


def _uneven(source: str | Path, source_count: int, target: str | Path, target_count: int) -> DataError:
    return DataError(
        f"expected as many lines in both files, found {source_count} in {source} and {target_count} in"
        f" {target}; a line is missing or too many, so the pairs after it do not belong together"
    )


def _read_one(
    path: str | Path, format: str, encoding: str, select: tuple[str, str] | None, on_error: OnError | None
) -> Iterator[SentencePair]:
    lines = read_lines(path, encoding=encoding)
    if format == "auto":
        format, lines = _guess(path, lines)
    if format not in _LINE_PARSERS:
        raise UsageError(f"there is no bitext format {format!r}; choose one of {', '.join(FORMATS)}")
    parse = _LINE_PARSERS[format](select)
    for number, line in enumerate(lines, 1):
        try:
            yield parse(line)
        except DataError as error:
            error = error.at(path, line=number)
            if on_error is None:
                raise error from None
            on_error(error)
            yield SentencePair("", "")


def _guess(path: str | Path, lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the format that the first line shows, and all lines again."""
    first = next(lines, None)
    if first is None:
        return "fast-align", lines
    if first and "|||" not in first and "\t" not in first:
        raise DataError(
            "expected 'source ||| target' or 'source<tab>target', found neither; name the format, or give"
            " two files"
        ).at(path, line=1)
    format = "tsv" if "\t" in first and "|||" not in first else "fast-align"
    return format, chain([first], lines)


# --- one record on a line ------------------------------------------------------------------------

LineParser = Callable[[str], SentencePair]


def _parse_fast_align(select: tuple[str, str] | None) -> LineParser:
    def parse(line: str) -> SentencePair:
        if not line:
            return SentencePair("", "")
        sides = line.split("|||")
        if len(sides) != 2:
            raise DataError(f"expected one '|||' between source and target, found {len(sides) - 1}")
        if "\t" in line:
            raise DataError("expected 'source ||| target' without tabs, found a tab; a number in front?")
        return SentencePair(sides[0].strip(" "), sides[1].strip(" "))

    return parse


def _parse_tsv(select: tuple[str, str] | None) -> LineParser:
    first, second = _columns(select)

    def parse(line: str) -> SentencePair:
        if not line:
            return SentencePair("", "")
        fields = line.split("\t")
        if select is None and len(fields) != 2:
            raise DataError(f"expected 2 columns, found {len(fields)}; choose which hold source and target")
        if len(fields) < max(first, second):
            raise DataError(f"expected at least {max(first, second)} columns, found {len(fields)}")
        return SentencePair(fields[first - 1], fields[second - 1])

    return parse


def _columns(select: tuple[str, str] | None) -> tuple[int, int]:
    names = select or ("1", "2")
    if not all(name.isdecimal() and int(name) > 0 for name in names):
        raise UsageError(f"expected two columns counted from 1, such as 1,2, found {','.join(names)}")
    return int(names[0]), int(names[1])


_LINE_PARSERS: dict[str, Callable[[tuple[str, str] | None], LineParser]] = {
    "fast-align": _parse_fast_align,
    "tsv": _parse_tsv,
}
FORMATS = ("moses", *_LINE_PARSERS)
