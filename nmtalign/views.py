"""How results show themselves: as HTML in a notebook, as a table, as a picture.

The drawing code lives in ``report/``, above the results it draws. It is found here by name when it is asked
for, as commands are found by the command line; no floor imports from one above it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_ROOM = "nmtalign.report.notebook"


class Listed:
    """A result that a notebook shows, and that can be listed and compared."""

    def _repr_html_(self) -> str:
        return str(self._view("to_html"))

    def table(self) -> pd.DataFrame:
        """Return the result as a table: a row for each link or score, a cell for each weight."""
        table: pd.DataFrame = self._view("to_table")
        return table

    def compare(self, other: Any) -> Any:
        """Put another result of the same kind beside this one.

        Returns a table of links with where they are found (``both``, ``first``, ``second``); for two
        matrices, a picture of both under one colour scale; for two evaluations, their differences with
        paired bootstrap intervals.
        """
        return self._view("to_comparison", other)

    def _view(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(_ROOM), name)(self, *arguments, **options)


class Viewable(Listed):
    """A result that can also be drawn."""

    def heatmap(self, **options: Any) -> Figure:
        """Draw the weights; options as of :func:`nmtalign.report.heatmap.draw_heatmap`.

        An aligned pair also takes ``view``: ``combined``, ``forward``, ``reverse`` or ``all`` side by side.
        """
        figure: Figure = self._view("to_heatmap", **options)
        return figure
