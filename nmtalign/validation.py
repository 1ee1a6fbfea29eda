"""Checks of arguments: each function raises UsageError, or returns the argument in one form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from numbers import Integral, Real
from typing import Any, TypeGuard

from nmtalign.display import short_repr, show_label, with_plural
from nmtalign.errors import UsageError, advise


def check_type(value: Any, kind: type | tuple[type, ...], what: str) -> None:
    """Raise UsageError unless `value` is an instance of `kind`; bools are never accepted.

    `what` describes the expected value in the message, such as "the links as an Alignment".
    """
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"expected {what}, found {short_repr(value)}")


def check_bool(value: Any, name: str) -> None:
    """Raise UsageError unless `value` is True or False; text such as ``"no"`` would count as True."""
    if type(value).__name__ not in ("bool", "bool_"):  # Python's or NumPy's
        raise UsageError(f"expected True or False as `{name}`, found {short_repr(value)}")


def check_number(
    value: Any,
    what: str,
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    integer: bool = False,
) -> None:
    """Raise UsageError unless `value` is a number in [minimum, maximum].

    Bools and NaN are rejected, and so are floats if `integer` is set. `what` describes the expected value in
    the message, such as "a threshold from 0 to 1".
    """
    check_type(value, Integral if integer else Real, what)
    if not minimum <= value <= maximum:
        raise UsageError(f"expected {what}, found {short_repr(value)}")


def check_choice(value: Any, known: Iterable[str], what: str) -> None:
    """Raise UsageError unless `value` is one of the known names; `what` is a plural, such as "presets"."""
    known = tuple(known)
    if not (isinstance(value, str) and value in known):
        found = f"{short_repr(value)}{hint_at_closest(value, known)}"
        raise UsageError(f"expected one of the {what} {', '.join(known)}, found {found}")


def check_select(select: Any) -> tuple[str, str] | None:
    """Return the names or numbers of both sides as text; raise UsageError for anything else."""
    if select is None:
        return None
    is_pair = isinstance(select, tuple | list) and len(select) == 2
    if not is_pair or not all(_is_side_name(side) for side in select):
        expected = "two columns, keys or languages as `select`, such as ('en', 'fr') or (1, 2)"
        raise UsageError(f"expected {expected}, found {short_repr(select)}")
    return str(select[0]), str(select[1])


def _is_side_name(side: Any) -> bool:
    return isinstance(side, str | Integral) and not isinstance(side, bool)


def hint_at_closest(value: object, known: Iterable[str]) -> str:
    """Return a question that names the known name that is most similar to a wrong one, or nothing."""
    closest = closest_name(value, known)
    return f"; did you mean {closest!r}?" if closest else ""


def closest_name(value: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a misspelt one; None if none is.

    >>> closest_name("mutal", ["argmax", "mutual"])
    'mutual'
    """
    from difflib import get_close_matches

    if not isinstance(value, str):
        return None
    names = list(known)
    matches = get_close_matches(value, names, 1) or get_close_matches(value.lower(), names, 1)
    return matches[0] if matches else None


def quote_parameter(name: str) -> str:
    """Return a parameter's name for a message; the command line turns the backticks into an option."""
    return f"`{name}`"


def refuse_settings(names: Sequence[str], what: str) -> None:
    """Raise UsageError if there are settings that do not apply to `what`."""
    if names:
        listed = " and ".join(map(quote_parameter, names))
        verb = "does" if len(names) == 1 else "do"
        raise UsageError(f"{listed} {verb} not apply to {what}; remove {listed}")


def is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether one can iterate over a value; an array without axes only claims to be iterable."""
    return isinstance(value, Iterable) and getattr(value, "ndim", None) != 0


def reject_exhausted(rows: Iterator[Any], what: str) -> Iterator[Any]:
    """Yield from an iterator; raise UsageError if it is exhausted, or is a closed file."""
    if getattr(rows, "closed", False):
        raise UsageError(f"expected {what}, found a closed file; read it before it is closed")
    first = list(islice(rows, 1))
    if not first:
        found = "an iterator with nothing left, such as a generator that was read before"
        raise UsageError(f"expected {what}, found {found}; pass a list, which can be read again")
    yield from chain(first, rows)


def check_same_index(first: Any, second: Any, what: str, *, by_label: str) -> None:
    """Raise UsageError if two indexes of pandas have the same length, but differ.

    `by_label` says what pairs the rows by their labels.
    """
    if len(first) != len(second) or first.equals(second):
        return
    found = _first_difference(first, second)
    by_position = "column.reset_index(drop=True) of both pairs them by position"
    raise UsageError(f"expected the same index of {what}, {found}; {by_position}, {by_label} by index")


def check_same_pairs(first: Any, second: Any, what: str) -> None:
    """Raise UsageError if the indexes of two results say that they have the same pairs in another order.

    A result has an index if it is one of pandas, or a batch of a DataFrame. An index 0, 1, 2, ... is the
    order of the rows itself, so another one goes with it, unless it has the same labels in another order.
    """
    indexes = [_index_of_pairs(result) for result in (first, second)]
    if indexes[0] is None or indexes[1] is None or len(indexes[0]) != len(indexes[1]):
        return
    one, other = indexes
    if one.equals(other):
        return
    has_plain_index = any(list(index) == list(range(len(index))) for index in indexes)
    if has_plain_index and not other.isin(one).all():
        return
    found = _first_difference(one, other)
    by_label = "second.loc[first.index], or second.loc[batch.frame_index], is in the order of the first"
    by_position = "lists are paired by position"
    raise UsageError(
        f"expected {what} of the same pairs in the same order, {found}; {by_label}; {by_position}"
    )


def _first_difference(first: Any, second: Any) -> str:
    """Return where two indexes of the same length first differ, as a clause of a message."""
    position = next((n for n, label in enumerate(first) if label != second[n]), 0)
    labels = f"{show_label(first, position)} and {show_label(second, position)}"
    return f"found {labels} at position {position}"


def _index_of_pairs(result: Any) -> Any:
    """Return the index of pandas' own or of a batch; None for what has none."""
    index = getattr(result, "frame_index", None)
    if index is None and hasattr(result, "reset_index"):
        index = result.index
    return index


def advise_on_repeated_index(frame_index: Any) -> None:
    """Advise on joins if the index of a DataFrame repeats values."""
    if frame_index is None or frame_index.is_unique:
        return
    problem = "the index of the pairs has repeated values, so a join of this table by index repeats rows"
    advice = "join it by the number of the row: frame.reset_index().join(table.set_index('pair'))"
    advise(f"{problem}; {advice}", topic="repeated index")


def normalize_index(n: Any, count: int) -> int:
    """Return the index of one of `count` pairs as a number from 0; negative indices count from the end."""
    check_type(n, Integral, "the number of a pair, a slice, or several numbers")
    if not -count <= n < count:
        raise IndexError(f"pair index {n} is out of range for {with_plural(count, 'pair')}")
    return int(n) % count


def selected_indices(selection: Any, count: int, frame_index: Any = None) -> Sequence[int] | None:
    """Return the indices that a slice, a list or array of indices, or a mask selects; None for one index.

    `frame_index` is the index of the pairs in pandas: a mask with an index is matched by it, and an index of
    labels selects the pairs that have them.
    """
    if frame_index is not None and hasattr(selection, "get_indexer_for") and selection.dtype != bool:
        return _places_of_labels(selection, frame_index)
    if isinstance(selection, slice):
        return range(count)[selection]
    if isinstance(selection, list):
        values = selection
    elif len(getattr(selection, "shape", ())) == 1:
        is_polars = not hasattr(selection, "tolist")
        values = selection.to_list() if is_polars else selection.tolist()
    else:
        return None
    is_mask = bool(values) and all(isinstance(value, bool) for value in values)
    if not is_mask:
        return [normalize_index(value, count) for value in values]
    if len(values) != count:
        raise UsageError(f"expected True or False for each of {count:,} pairs, found {len(values):,} values")
    if frame_index is not None and hasattr(selection, "iloc"):
        values = [values[place] for place in _places_in_index(selection.index, frame_index)]
    return [index for index, is_selected in enumerate(values) if is_selected]


def _places_of_labels(labels: Any, frame_index: Any) -> Sequence[int]:
    """Return where an index of the pairs has some labels, in their order."""
    places: list[int] = frame_index.get_indexer_for(labels).tolist()
    if -1 in places:
        missing = show_label(labels[frame_index.get_indexer_for(labels) < 0], 0)
        advice = "select by position with a list of numbers, such as batch[np.argsort(batch.scores)[:3]]"
        raise UsageError(f"expected labels of the index of the pairs, found {missing}; {advice}")
    return places


def _places_in_index(index: Any, frame_index: Any) -> Sequence[int]:
    """Return where the index of a mask has each label of another index of the same length."""
    if index.equals(frame_index):
        return range(len(index))
    if index.is_unique and frame_index.is_unique:
        places: list[int] = index.get_indexer(frame_index).tolist()
        if -1 not in places:
            return places
    found = _first_difference(index, frame_index)
    advice = "mask.to_numpy() selects by position"
    raise UsageError(f"expected a mask with the index of the pairs, {found}; {advice}")
