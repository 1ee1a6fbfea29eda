"""Checks of the arguments of public functions: each raises UsageError or returns a normalized value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from numbers import Integral, Real
from typing import Any, TypeGuard

from nmtalign.calls import closest_name
from nmtalign.display import short_repr
from nmtalign.errors import UsageError


def check_type(value: Any, kind: type | tuple[type, ...], what: str) -> None:
    """Refuse a value of another type; a truth value is no number."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"expected {what}, found {short_repr(value)}")


def check_bool(value: Any, name: str) -> None:
    """Raise UsageError unless a value is True or False; ``"no"`` would count as True."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise UsageError(f"expected True or False as `{name}`, found {short_repr(value)}")


def check_number(
    value: Any, what: str, *, minimum: float = -math.inf, maximum: float = math.inf, integer: bool = False
) -> None:
    """Refuse what is no number from `minimum` to `maximum`: other types, truth values, NaN."""
    check_type(value, Integral if integer else Real, what)
    if not minimum <= value <= maximum:
        raise UsageError(f"expected {what}, found {short_repr(value)}")


def check_choice(value: Any, known: Iterable[str], what: str) -> None:
    """Raise UsageError if a value is not one of the known names; `what` is a plural, such as "presets"."""
    known = tuple(known)
    if not (isinstance(value, str) and value in known):
        raise UsageError(f"expected one of the {what} {', '.join(known)}, found {_and_closest(value, known)}")


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse names that are not known."""
    known = tuple(known)
    for name in given:
        if not (isinstance(name, str) and name in known):
            raise UsageError(f"expected {what} among {', '.join(known)}, found {_and_closest(name, known)}")


def _and_closest(name: object, known: Iterable[str]) -> str:
    """Return how messages show a wrong name, with the known name that is most like it."""
    closest = closest_name(name, known)
    return f"{short_repr(name)}; did you mean {closest!r}?" if closest else short_repr(name)


def quote_parameter(name: str) -> str:
    """Return how messages name a parameter; the command line writes it as an option."""
    return f"`{name}`"


def is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether one can iterate over a value; an array of no axis only looks as if."""
    return isinstance(value, Iterable) and getattr(value, "ndim", None) != 0


def reject_exhausted(rows: Iterator[Any], what: str) -> Iterator[Any]:
    """Yield from an iterator, and refuse one that was read to its end before, and a closed file."""
    if getattr(rows, "closed", False):
        raise UsageError(f"expected {what}, found a closed file; read it before it is closed")
    first = [*islice(rows, 1)]
    if not first:
        used = "an iterator with nothing left, such as a generator that was read before"
        raise UsageError(f"expected {what}, found {used}; give a list, which can be read again")
    yield from chain(first, rows)


def normalize_index(n: Any, count: int) -> int:
    """Return the number of one of `count` pairs, which counts from the end if it is negative."""
    check_type(n, Integral, "the number of a pair, a slice, or several numbers")
    if not -count <= n < count:
        raise IndexError(f"expected the number of one of {count:,} pairs, from 0, found {n}")
    return int(n) % count


def selected_indices(chosen: Any, count: int) -> Sequence[int] | None:
    """Return the numbers that a slice, a list or array of numbers, or a mask chooses; None for one number."""
    if isinstance(chosen, slice):
        return range(count)[chosen]
    if not isinstance(chosen, list) and getattr(chosen, "ndim", 0) != 1:
        return None
    values = chosen if isinstance(chosen, list) else chosen.tolist()
    if not values or not all(isinstance(value, bool) for value in values):
        return [normalize_index(value, count) for value in values]
    if len(values) != count:
        raise UsageError(f"expected a truth value of each of {count:,} pairs, found {len(values):,}")
    return [n for n, kept in enumerate(values) if kept]
