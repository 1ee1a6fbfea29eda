"""Sentence pairs as users have them: checked once, at the door of each function that takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from reprlib import repr as short
from typing import Any, TypeGuard

from nmtalign.door import begun
from nmtalign.errors import DataError, UsageError
from nmtalign.files import is_text
from nmtalign.text.bitext import Bitext

Words = Sequence[str]
Sentence = str | Words
Pair = tuple[Sentence, Sentence]
Pairs = Iterable[Pair] | tuple[Sequence[Sentence], Sequence[Sentence]] | Any  # or a table of pandas


def checked_pairs(pairs: Pairs, *, lines: bool | None = None) -> Iterator[Pair]:
    """Yield sentence pairs, both sides a line of text or both sides words, and refuse anything else.

    Parameters
    ----------
    pairs : iterable of (source, target), or (list, list), or DataFrame
        Pairs of lines or of lists of words; a tuple of two lists, the sentences of each side; a table of
        these two columns. What :func:`nmtalign.read_bitext` returns is checked already.
    lines : bool, optional
        Whether all sentences are lines of text, or all lists of words. Left out: as the first one is.

    Raises
    ------
    UsageError
        If this is no collection of pairs, such as a path.
    DataError
        With the number of the first pair that is none, from 1; with both numbers if sides are unequal.

    Examples
    --------
    >>> list(checked_pairs((["a house", "a car"], ["une maison", "une auto"])))
    [('a house', 'une maison'), ('a car', 'une auto')]
    >>> list(checked_pairs(["ab", "cd"]))
    Traceback (most recent call last):
    nmtalign.errors.DataError: pair 1: expected a pair (source, target), found 'ab'
    """
    if isinstance(pairs, Bitext) and lines is not False:
        return iter(pairs)
    return _checked(_rows(pairs), lines)


def _checked(rows: Iterable[Any], lines: bool | None) -> Iterator[Pair]:
    for number, row in enumerate(rows, 1):
        try:
            row = row.tolist() if hasattr(row, "tolist") else row  # of an array (N, 2)
            if not isinstance(row, tuple | list) or len(row) != 2:
                raise DataError(f"expected a pair (source, target), found {short(row)}")
            pair = checked_pair(*row)
            found = isinstance(pair[0], str)
            if found is not (found if lines is None else lines):
                kinds = ("lines of text", "lists of words")[:: 1 if lines else -1]
                raise DataError(f"expected {kinds[0]} for all pairs, found {kinds[1]}")
        except DataError as error:
            raise error.at(f"pair {number:,}") from None
        lines = found
        yield pair


def are_lines(pair: Pair) -> TypeGuard[tuple[str, str]]:
    """Tell whether a checked pair is two lines of text, not two lists of words."""
    return isinstance(pair[0], str) and isinstance(pair[1], str)


def checked_pair(source: Sentence, target: Sentence) -> Pair:
    """Return one sentence pair, arrays of words as lists; DataError as of :func:`checked_pairs`."""
    pair = _checked_side(source, "source"), _checked_side(target, "target")
    if isinstance(pair[0], str) != isinstance(pair[1], str):
        raise DataError("expected two lines of text or two lists of words, found one of each")
    return pair


def _checked_side(side: Any, name: str) -> Sentence:
    """Return a line, or a list of words."""
    if isinstance(side, str):
        if "\n" in side:
            raise DataError(f"expected one line a side, found a line break in the {name}")
        if not (side.isascii() or is_text(side)):
            raise DataError(f"expected text, found half of a character in the {name}: {short(side)}")
        return side
    words = side.tolist() if hasattr(side, "tolist") else side  # an array, as tables hold them
    if not isinstance(words, list | tuple):
        raise DataError(f"expected a line of text or a list of words as {name}, found {short(side)}")
    for word in words:
        if not isinstance(word, str) or not word or "\n" in word or not (word.isascii() or is_text(word)):
            found = f"expected words, none empty or with a line break, in the {name}"
            raise DataError(f"{found}, found {short(word)}")
    return words


def _rows(pairs: Any) -> Iterable[Any]:
    """Return what should be pairs, one by one."""
    if hasattr(pairs, "itertuples"):  # of pandas
        names = [str(name) for name in pairs.columns]
        if len(names) != 2:
            found = f"expected a table of two columns, found {len(names)}: {', '.join(names)}"
            raise UsageError(f"{found}; choose source and target: table[['en', 'fr']]")
        rows: Iterable[Any] = pairs.itertuples(index=False, name=None)
        return rows
    if isinstance(pairs, str | bytes | Path) or not isinstance(pairs, Iterable):
        wanted = "expected sentence pairs (source, target)"
        raise UsageError(f"{wanted}, found {short(pairs)}; nmtalign.read_bitext reads files")
    if isinstance(pairs, Mapping | Set):
        wanted = "expected sentence pairs in an order, such as a list of (source, target)"
        raise UsageError(f"{wanted}, found a {type(pairs).__name__}: {short(pairs)}")
    if isinstance(pairs, Iterator):
        return begun(pairs, "sentence pairs")
    if isinstance(pairs, tuple) and len(pairs) == 2 and all(map(_is_column, pairs)):
        source, target = map(len, pairs)
        if source != target:
            raise DataError(f"expected as many target as source sentences, {source:,}, found {target:,}")
        return zip(*pairs, strict=True)
    return pairs


def _is_column(side: Any) -> bool:
    """Tell whether one of two may be all sentences of a side: a list, an array, a column of a table."""
    return isinstance(side, list) or hasattr(side, "tolist")
