"""What public functions check and show alike: paths, shipped data, names of options, results in one line."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain, islice
from numbers import Integral, Real
from pathlib import Path
from reprlib import repr as shortened_repr
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from nmtalign.calls import check_call, closest_name
from nmtalign.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from nmtalign.links.alignments import Alignment, GoldAlignment

DICTIONARIES, MATRICES = (".pkl", ".json"), (".npz", ".npy")  # of the form word2int
LONGEST = 180  # characters of a result in one line
_PAUSE = 0.2  # seconds between two writings of progress
# of the data that comes with nmtalign: inside the installed package, or data/ of a checkout
_DATA = (Path(__file__).parent / "data", Path(__file__).parent.parent / "data")


def one_line(text: str) -> str:
    """Return text that shows a result: one line, cut where it is long."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def short(value: Any) -> str:
    """Return how messages show a value: shortened, and on one line, also where its repr has several.

    >>> short([1, 2]), short(memoryview(b"abc"))
    ('[1, 2]', 'memoryview of shape (3,)')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:  # of an array or a table
        return f"{type(value).__name__} of shape {tuple(shape)}"
    representation: object = type(value).__repr__
    if representation is object.__repr__:  # it would show the address in memory
        return type(value).__name__
    text = shortened_repr(value)
    return text if text.isprintable() else one_line(" ".join(text.split()))


def as_path(path: Any) -> Path:
    """Return a path, with the home folder for ``~``; UsageError for anything else, such as an open file."""
    return Path(expand_home(path))


def expand_home(path: Any) -> str:
    """Return a path, or the name of a model, with the home folder for ``~`` at its beginning.

    Nothing else expands ``~``. Otherwise the name stays as it was written, because ``./name`` and ``name``
    may be different things, such as a folder and a model at Hugging Face.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or not _may_be_path(text):
        raise UsageError(f"expected the path of a file or folder, found {short(path)}")
    return os.path.expanduser(text)


def _may_be_path(text: str) -> bool:
    """Return whether the system could have a file of a name."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half of a character
        return False


def is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether one can iterate over a value; an array of no axis only looks as if."""
    return isinstance(value, Iterable) and getattr(value, "ndim", None) != 0


def shipped(name: str) -> Path:
    """Return the path of a shipped file or folder; a UsageError if this installation has none of the name."""
    for folder in _DATA:
        if (folder / name).exists():
            return folder / name
    raise UsageError(f"this installation of nmtalign holds no data named {name!r}; name your own files")


@check_call()
def place_of(path: str | Path) -> Path:
    """Return a path as it is, or where there is nothing of that name, the shipped folder that is called so.

    >>> place_of("en_fr_vectors").is_dir(), place_of("nothing/of/the/kind").exists()
    (True, False)
    """
    path = as_path(path)
    paths = [path, *(folder / path for folder in _DATA)]
    return next((path for path in paths if path.exists()), path)


def is_word2int(path: Path) -> bool:
    """Tell whether a file of vectors is a dictionary from words to rows or a matrix, by its name."""
    return path.suffix in MATRICES or (path.suffix in DICTIONARIES and path.name.startswith("word2int"))


def partners(path: Path) -> list[Path]:
    """Return the names that the dictionary of a matrix may have, or the matrix of a dictionary."""
    name, other, endings = "word2int", "embeddings", MATRICES
    if path.suffix in MATRICES:
        name, other, endings = other, name, DICTIONARIES
    middle = path.stem.removeprefix(name) if path.stem.startswith(name) else f"_{path.stem}"
    stems = [f"{other}{middle}", *filter(None, [middle.lstrip("_-.")])]
    return [path.with_name(stem + ending) for stem in stems for ending in endings]


def begun(rows: Iterator[Any], what: str) -> Iterator[Any]:
    """Yield from an iterator, and refuse one that was read to its end before, and a closed file."""
    if getattr(rows, "closed", False):
        raise UsageError(f"expected {what}, found a closed file; read it before it is closed")
    first = [*islice(rows, 1)]
    if not first:
        used = "an iterator with nothing left, such as a generator that was read before"
        raise UsageError(f"expected {what}, found {used}; give a list, which can be read again")
    yield from chain(first, rows)


def expect_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse names that are not known."""
    known = tuple(known)
    for name in given:
        if not (isinstance(name, str) and name in known):
            raise UsageError(f"expected {what} among {', '.join(known)}, found {_and_closest(name, known)}")


def expect_choice(value: Any, known: Iterable[str], what: str) -> None:
    """Raise UsageError if a value is not one of the known names; `what` is a plural, such as "presets"."""
    known = tuple(known)
    if not (isinstance(value, str) and value in known):
        raise UsageError(f"expected one of the {what} {', '.join(known)}, found {_and_closest(value, known)}")


def _and_closest(name: object, known: Iterable[str]) -> str:
    """Return how messages show a wrong name, with the known name that is most like it."""
    closest = closest_name(name, known)
    return f"{short(name)}; did you mean {closest!r}?" if closest else short(name)


def parameter(name: str) -> str:
    """Return how messages name a parameter; the command line writes it as an option."""
    return f"`{name}`"


def expect_kind(value: Any, kind: type | tuple[type, ...], what: str) -> None:
    """Refuse a value of another type; a truth value is no number."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"expected {what}, found {short(value)}")


def expect_flag(value: Any, name: str) -> None:
    """Raise UsageError unless a value is True or False; ``"no"`` would count as True."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise UsageError(f"expected True or False as `{name}`, found {short(value)}")


def expect_number(
    value: Any, what: str, *, least: float = -math.inf, most: float = math.inf, whole: bool = False
) -> None:
    """Refuse what is no number from `least` to `most`: other types, truth values, NaN."""
    expect_kind(value, Integral if whole else Real, what)
    if not least <= value <= most:
        raise UsageError(f"expected {what}, found {short(value)}")


def number_of(n: Any, count: int) -> int:
    """Return the number of one of `count` pairs, which counts from the end if it is negative."""
    expect_kind(n, Integral, "the number of a pair, a slice, or several numbers")
    if not -count <= n < count:
        raise IndexError(f"expected the number of one of {count:,} pairs, from 0, found {n}")
    return int(n) % count


def numbers_of(chosen: Any, count: int) -> Sequence[int] | None:
    """Return the numbers that a slice, a list or array of numbers, or a mask chooses; None for one number."""
    if isinstance(chosen, slice):
        return range(count)[chosen]
    if not isinstance(chosen, list) and getattr(chosen, "ndim", 0) != 1:
        return None
    values = chosen if isinstance(chosen, list) else chosen.tolist()
    if not values or not all(isinstance(value, bool) for value in values):
        return [number_of(value, count) for value in values]
    if len(values) != count:
        raise UsageError(f"expected a truth value of each of {count:,} pairs, found {len(values):,}")
    return [n for n, kept in enumerate(values) if kept]


class ProgressLine:
    """A line on stderr that is rewritten, if it is wanted; of `total` pairs is known how many are done."""

    def __init__(self, wanted: bool, total: int = 0) -> None:
        self._wanted, self._total, self._done = wanted, total, 0
        self._start, self._written, self._width = time.perf_counter(), -1.0, 0

    def advance(self, count: int) -> None:
        """Show that so many pairs more are done."""
        self._done += count
        self.show(f"{self._done:,} of {self._total:,} pairs, {self._done / self._total:.0%}")

    def show(self, text: str, *, last: bool = False) -> None:
        """Write a text in the place of the one before, a few times a second; the last one stays."""
        now = time.perf_counter() - self._start
        if not self._wanted or (now - self._written < _PAUSE and not last):
            return
        text = f"{text}, {now:.1f} s" if last else text
        sys.stderr.write("\r" + text.ljust(self._width) + ("\n" if last else ""))
        sys.stderr.flush()
        self._written, self._width = now, len(text)


def _drawing() -> Any:
    """Return what draws results: it stands above them, and the package opens it when a result is shown."""
    return import_module("nmtalign")._drawing


class Result:
    """A result that can be listed and compared."""

    @check_call()
    def table(self) -> pd.DataFrame:
        """Return a pandas DataFrame: a row for each link or score; of a matrix, a cell for each weight."""
        return cast("pd.DataFrame", _drawing().to_table(self))

    @check_call("write first.compare(second)")
    def compare(self, other: Any) -> Any:
        """Compare with another result of the same kind.

        Two pairs or batches give a table of their links, which says where each is found (``both``, ``first``
        or ``second``). Two matrices give a picture of both with one color scale. Two evaluations give their
        differences with paired bootstrap intervals.
        """
        return _drawing().to_comparison(self, other)


class TableResult(Result):
    """A result that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return str(_drawing().to_html(self))


class Viewable(Result):
    """A result that can be drawn; a notebook shows its heatmap."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return cast(tuple[bytes, dict[str, int]], _drawing().to_png(self))

    def show(self) -> Any:
        """Return the interactive card of the report for a notebook; it loads nothing from a network."""
        return _drawing().to_card(self)

    @check_call("write heatmap(values='forward')")
    def heatmap(
        self,
        *,
        values: str | None = None,
        curves: bool = False,
        links: Alignment | Iterable[tuple[int, int]] | None = None,
        gold: GoldAlignment | Iterable[tuple[int, int]] | str | None = None,
        title: str = "",
        numbers: bool | None = None,
        linear: bool | None = None,
        colors: str | Colormap | None = None,
        columns: int | None = None,
    ) -> Figure:
        """Draw the weights as a heatmap, or with ``curves=True`` the links as curves between the words.

        Parameters
        ----------
        values : {"combined", "forward", "reverse", "scores", "all"}, optional
            Which weights of an aligned pair are drawn; ``all`` draws the first three side by side. Left out:
            ``forward`` where the weights are a softmax over vectors, else ``combined``.
        curves : bool
            Draw curves between the words instead of a matrix.
        links : Alignment or iterable of (source, target), optional
            The links that are drawn; left out, those of the result.
        gold : GoldAlignment or links, optional
            Hand-made links, drawn as boxes.
        title : str
            Heading of the picture.
        numbers, linear, colors, columns : optional
            As for :func:`nmtalign.draw_heatmap`; curves take `numbers` alone.
        """
        options = _given(
            values=values,
            curves=None if curves is False else curves,
            links=links,
            gold=gold,
            title=title or None,
            numbers=numbers,
            linear=linear,
            colors=colors,
            columns=columns,
        )
        return cast("Figure", _drawing().to_heatmap(self, **options))

    @check_call("options such as `values` are given by their names")
    def save(
        self,
        path: str | Path,
        *,
        values: str | None = None,
        curves: bool = False,
        links: Alignment | Iterable[tuple[int, int]] | None = None,
        gold: GoldAlignment | Iterable[tuple[int, int]] | str | None = None,
        title: str = "",
        numbers: bool | None = None,
        linear: bool | None = None,
        colors: str | Colormap | None = None,
        columns: int | None = None,
    ) -> None:
        """Save the picture as .png, .svg or .pdf, or its numbers as .tsv, .csv or .npz.

        Options are those of :meth:`heatmap`; numbers take `values` alone.
        """
        options = _given(
            values=values,
            curves=None if curves is False else curves,
            links=links,
            gold=gold,
            title=title or None,
            numbers=numbers,
            linear=linear,
            colors=colors,
            columns=columns,
        )
        _drawing().save(self, path, **options)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}
