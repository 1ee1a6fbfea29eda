"""How results show themselves: in a notebook, as a table, as a picture.

Drawing needs floors above the results. The door of the package registers what draws, and results call it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Views(Protocol):
    """What shows a result."""

    def to_html(self, result: Any, /) -> str:
        """Return a result as HTML."""

    def to_png(self, result: Any, /) -> tuple[bytes, dict[str, int]]:
        """Return a picture of a result."""

    def to_card(self, result: Any, /) -> Any:
        """Return the card of a result."""

    def to_table(self, result: Any, /) -> pd.DataFrame:
        """Return a result as a table."""

    def to_comparison(self, first: Any, second: Any, /) -> Any:
        """Return two results side by side."""

    def to_heatmap(self, result: Any, /, **options: Any) -> Figure:
        """Draw a result."""

    def save(self, result: Any, path: str | Path, /, **options: Any) -> None:
        """Save the picture of a result."""


_views: list[Callable[[], Views]] = []


def register_views(open_views: Callable[[], Views]) -> None:
    """Let `open_views`, called when a result is shown, give what shows it."""
    _views[:] = [open_views]


class Result:
    """A result that can be listed and compared."""

    def table(self) -> pd.DataFrame:
        """Return the result as a table: a row for each link or score, a cell for each weight."""
        return _views[0]().to_table(self)

    def compare(self, other: Any) -> Any:
        """Compare with another result of the same kind.

        Returns a table of links with where they are found (``both``, ``first``, ``second``); for two
        matrices, a picture of both under one color scale; for two evaluations, their differences with
        paired bootstrap intervals.
        """
        return _views[0]().to_comparison(self, other)


class Listed(Result):
    """A result that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return _views[0]().to_html(self)


class Viewable(Result):
    """A result that can be drawn; a notebook shows its heatmap."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return _views[0]().to_png(self)

    def show(self) -> Any:
        """Return the interactive card of the report for a notebook; it loads nothing from a network."""
        return _views[0]().to_card(self)

    def heatmap(self, **options: Any) -> Figure:
        """Draw the weights; options as of :func:`nmtalign.report.heatmap.draw_heatmap`.

        An aligned pair also takes ``values``: ``combined``, ``forward``, ``reverse``, ``scores``, or ``all``
        for the first three side by side. Left out: ``forward`` where the weights are a softmax over vectors,
        else ``combined``.
        """
        return _views[0]().to_heatmap(self, **options)

    def save(self, path: str | Path, **options: Any) -> None:
        """Save the picture of :meth:`heatmap`, which takes the same options, as .png, .svg or .pdf.

        In .tsv, .csv and .npz there are the numbers in its place, of the same ``values``.
        """
        _views[0]().save(self, path, **options)
