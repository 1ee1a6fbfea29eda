"""Base classes of results: they add the methods that list, compare, draw and save a result.

The report, which is above this module, draws. Each method imports its function when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from nmtalign.names import CellValues
from nmtalign.settings import PictureSettings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from nmtalign.links.alignments import Alignment, GoldAlignment
    from nmtalign.links.inputs import LinksOfPair
    from nmtalign.report.html import Page

FIRST_AND_SECOND = ("first", "second")  # the names of two results in a comparison


def table_of_rows(
    rows: Iterable[Sequence[Any]], columns: Sequence[str], example: Sequence[Any]
) -> pd.DataFrame:
    """Return rows as a DataFrame whose columns have the same types if there are no rows.

    `example` is a row that shows the types.

    >>> table_of_rows([], ["pair", "probability"], (0, 0.5)).dtypes.astype(str).to_dict()
    {'pair': 'int64', 'probability': 'float64'}
    """
    import pandas as pd

    listed = list(rows)
    if listed:
        return pd.DataFrame(listed, columns=list(columns))
    return pd.DataFrame([example], columns=list(columns)).iloc[:0]


def with_frame_index(table: pd.DataFrame, frame_index: pd.Index | None) -> pd.DataFrame:
    """Return a table whose rows have the index of their pair; the column ``pair`` numbers the pairs."""
    return table if frame_index is None else with_row_index(table, frame_index[table["pair"].to_numpy(int)])


def with_row_index(table: pd.DataFrame, index: pd.Index) -> pd.DataFrame:
    """Return a table with an index, which has no name if a column has it: ``reset_index`` needs both."""
    is_taken = index.nlevels == 1 and index.name in table.columns
    return table.set_index(index.rename(None) if is_taken else index)


class Listed:
    """A result that can be listed."""

    def table(self) -> pd.DataFrame:
        """Return a pandas DataFrame: a row for each link or score; of a matrix, a cell for each weight."""
        from nmtalign.report.tables import to_table

        return to_table(self)


class Attended:
    """One or more sentence pairs with attention."""

    def word_table(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each word: how sharp its attention is, and how much it gets.

        Returns
        -------
        pandas.DataFrame
            The words of the source and then of the target, with the columns ``side``, ``position`` from 0,
            ``word`` and ``links``; for a batch, first ``pair``, and the index of its DataFrame.

            ``entropy``, in bits, is that of the attention of the word to the other side, with the null word:
            `forward` of a target word, `reverse` of a source word. ``null`` is what the null word, or the end
            of the sentence, gets: 1 minus the sum. ``coverage`` is the sum of the attention that the words of
            the other side give to the word (Tu et al. 2016).

        Raises
        ------
        UsageError
            If the attention of both directions is not known.

        Examples
        --------
        >>> import nmtalign
        >>> pair = nmtalign.load().align("the black cat", "le chat noir")
        >>> words = pair.word_table().sort_values("entropy", ascending=False)
        >>> words[["side", "word", "entropy"]].head(2).round(2).values.tolist()
        [['source', 'the', 0.02], ['target', 'le', 0.02]]
        """
        from nmtalign.report.tables import to_word_table

        return to_word_table(self)


class Result(Listed):
    """A result that can be listed and compared."""

    def compare(self, other: Self, *, names: tuple[str, str] = FIRST_AND_SECOND) -> pd.DataFrame:
        """Compare with another result of the same kind.

        Parameters
        ----------
        other : result of the same kind
        names : (str, str)
            What the table calls this result and the other one.

        Returns
        -------
        pandas.DataFrame
            Of two pairs or batches, their links and where each is found (``both``, ``first`` or ``second``).
            Of two evaluations, their differences with paired bootstrap intervals. Of two aligners, their
            settings. Of two matrices, a matplotlib figure with both instead of a table.
        """
        from nmtalign.report.tables import to_comparison

        table: pd.DataFrame = to_comparison(self, other, names)
        return table


class TableResult(Result):
    """A result that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        from nmtalign.report.tables import to_html

        return to_html(self)


class ViewableCurve(Listed):
    """Scores of many settings, which are drawn as a curve; a notebook shows it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        from nmtalign.report.style import png_for_notebook

        return png_for_notebook(self.plot())

    @overload
    def plot(self, *, ax: None = None) -> Figure: ...

    @overload
    def plot(self, *, ax: Axes) -> Axes: ...

    def plot(self, *, ax: Axes | None = None) -> Figure | Axes:
        """Draw precision against recall; the present links and those with the best F1 are marked.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of your own figure.

        Returns
        -------
        matplotlib.figure.Figure, or matplotlib.axes.Axes
            The axes if `ax` is given.
        """
        from nmtalign.report.drawing import draw_curve

        return draw_curve(self, ax)  # type: ignore[arg-type]  # the one subclass

    def save(self, path: str | Path) -> None:
        """Save the picture as .png, .svg or .pdf, or the table as .tsv."""
        from nmtalign.report.drawing import save_curve

        save_curve(self, path)  # type: ignore[arg-type]  # the one subclass


class ViewableBatch(Result):
    """A result of many sentence pairs, of which some can be drawn together."""

    def heatmap(
        self,
        *,
        values: CellValues | Literal["all"] | None = None,
        numbers: bool | None = None,
        linear: bool | None = None,
        cmap: str | Colormap | None = None,
        columns: int = 3,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw some pairs side by side, such as ``batch[:6]``.

        Parameters
        ----------
        values, numbers, linear, cmap, figsize : optional
            As for :meth:`AlignedPair.heatmap`.
        columns : int
            Pairs in a row.

        Returns
        -------
        matplotlib.figure.Figure
            A figure with axes for each pair, which has its number in the batch as its title.
        """
        settings = PictureSettings(
            values=values,
            numbers=numbers,
            linear=linear,
            cmap=cmap,
            columns=columns,
            figsize=figsize,
        )
        from nmtalign.report.drawing import to_grid

        return to_grid(self, settings)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return :meth:`table` as a stream of Arrow, for ``pyarrow.table(batch)``; needs pyarrow."""
        import pyarrow

        return pyarrow.Table.from_pandas(self.table()).__arrow_c_stream__(requested_schema)

    def save(self, path: str | Path) -> None:
        """Save the batch in one small file, which :func:`nmtalign.open_batch` opens.

        The file has links, probabilities, pair scores, words, index, and the posteriors that
        ``align_batch(..., posteriors=True)`` has kept. It does not have the aligner.

        Parameters
        ----------
        path : str or Path
            A file that ends in .npz, or in .parquet (extra ``parquet``), with one row for each pair.
        """
        from nmtalign.decoding.batches import write_batch

        write_batch(self, path)  # type: ignore[arg-type]  # the one subclass

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, from which :func:`nmtalign.open_batch` makes an equal batch.

        They have links, probabilities, pair scores, words and index, but not the kept posteriors.

        Returns
        -------
        dict
            ``meta`` describes the batch. Each other key has one value, or one list of values, for each pair.

        Examples
        --------
        >>> import nmtalign as na, json
        >>> batch = na.load().align_batch([("the black cat", "le chat noir")])
        >>> values = batch.to_dict()
        >>> values["source_words"], values["link_target"]
        ([['the', 'black', 'cat']], [[0, 2, 1]])
        >>> na.open_batch(json.loads(json.dumps(values))) == batch
        True
        """
        from nmtalign.decoding.batches import batch_to_dict

        return batch_to_dict(self)  # type: ignore[arg-type]  # the one subclass

    def _repr_html_(self) -> str:
        from nmtalign.report.tables import batch_to_html

        return batch_to_html(self)


class Viewable(Result):
    """A result that can be drawn; a notebook shows its heatmap."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        from nmtalign.report.drawing import to_png

        return to_png(self)

    def show(self) -> Page:
        """Return the interactive card of the report, a page of HTML that a notebook shows.

        Returns
        -------
        Page
            A notebook shows it, and ``page.html`` is its HTML. It loads nothing from a network.
        """
        from nmtalign.report.html import to_card

        return to_card(self)

    @overload
    def heatmap(
        self,
        *,
        ax: None = None,
        values: CellValues | Literal["all"] | None = None,
        curves: bool = False,
        links: Alignment | Iterable[tuple[int, int]] | None = None,
        gold: GoldAlignment | LinksOfPair | None = None,
        title: str = "",
        numbers: bool | None = None,
        linear: bool | None = None,
        cmap: str | Colormap | None = None,
        dark: bool | None = None,
        columns: int | None = None,
        width: float | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure: ...

    @overload
    def heatmap(
        self,
        *,
        ax: Axes,
        values: CellValues | Literal["all"] | None = None,
        links: Alignment | Iterable[tuple[int, int]] | None = None,
        gold: GoldAlignment | LinksOfPair | None = None,
        title: str = "",
        numbers: bool | None = None,
        linear: bool | None = None,
        cmap: str | Colormap | None = None,
    ) -> Axes: ...

    def heatmap(
        self,
        *,
        ax: Axes | None = None,
        values: CellValues | Literal["all"] | None = None,
        curves: bool = False,
        links: Alignment | Iterable[tuple[int, int]] | None = None,
        gold: GoldAlignment | LinksOfPair | None = None,
        title: str = "",
        numbers: bool | None = None,
        linear: bool | None = None,
        cmap: str | Colormap | None = None,
        dark: bool | None = None,
        columns: int | None = None,
        width: float | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure | Axes:
        """Draw the weights as a heatmap, or with ``curves=True`` the links as curves between the words.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of your own figure, into which one matrix is drawn, without color bar, legend and notes.
            Curves, `dark`, `columns`, `width` and `figsize` need a figure of their own, not `ax`.
        values : {"combined", "forward", "reverse", "scores", "all"}, optional
            Which weights of an aligned pair are drawn; ``all`` draws the first three side by side. Default:
            ``forward`` where the weights are a softmax over vectors, else ``combined``.
        curves : bool
            Draw curves between the words instead of a matrix; not with `ax`.
        links : Alignment or iterable of (source, target), optional
            The links that are drawn. Default: the links of the result.
        gold : GoldAlignment or links, optional
            Hand-made links, by which right, wrong and missed links are marked.
        title : str
            Heading of the picture.
        numbers, linear, cmap, dark, columns, width : optional
            As for :func:`nmtalign.draw_heatmap`; curves take `numbers`, `dark` and `width`.
        figsize : (float, float), optional
            Width and height in inches. By default, they follow from the words.

        Returns
        -------
        matplotlib.figure.Figure, or matplotlib.axes.Axes
            The axes if `ax` is given.
        """
        settings = PictureSettings(
            values=values,
            curves=curves,
            links=links,
            gold=gold,
            title=title,
            numbers=numbers,
            linear=linear,
            cmap=cmap,
            dark=dark,
            columns=columns,
            width=width,
            figsize=figsize,
        )
        from nmtalign.report.drawing import draw, to_axes

        return draw(self, settings) if ax is None else to_axes(self, ax, settings)

    def svg(
        self,
        *,
        links: Alignment | Iterable[tuple[int, int]] | None = None,
        gold: GoldAlignment | LinksOfPair | None = None,
        title: str = "",
        numbers: bool | None = None,
    ) -> str:
        """Return the links as curves between the words, as a string of SVG; for the options see `heatmap`."""
        settings = PictureSettings(curves=True, links=links, gold=gold, title=title, numbers=numbers)
        from nmtalign.report.drawing import draw
        from nmtalign.report.style import svg_text

        return svg_text(draw(self, settings))

    def save(
        self,
        path: str | Path,
        *,
        values: CellValues | Literal["all"] | None = None,
        curves: bool = False,
        card: bool | None = None,
        dark: bool | None = None,
        pin: str | None = None,
        links: Alignment | Iterable[tuple[int, int]] | None = None,
        gold: GoldAlignment | LinksOfPair | None = None,
        title: str = "",
        numbers: bool | None = None,
        linear: bool | None = None,
        cmap: str | Colormap | None = None,
        columns: int | None = None,
        width: float | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: int = 150,
    ) -> None:
        """Save the picture as .png, .svg or .pdf, or its numbers as .tsv, .csv or .npz.

        The picture of an aligned pair is the card of the report: curves, what they show, and the matrix, in
        light colors, or with ``dark=True`` in dark ones. It takes `links`, `gold` and `title`. With `pin`, it
        shows what a word attends to and why it is linked: a word of the pair, or its place, such as ``s0``
        (the first source word) or ``t7``. With ``card=False``, or with an option that only :meth:`heatmap`
        has, the picture is that of :meth:`heatmap`; so it is by default for other results, which have no
        links or no weights. `width` is the width in inches, such as 3.3 of a column of a paper; no text is
        smaller than 7 points then. Numbers take `values` alone. `dpi` are the dots per inch of a .png.

        Examples
        --------
        >>> import nmtalign, tempfile
        >>> pair = nmtalign.load().align("the black cat", "le chat noir")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pair.save(f"{folder}/card.svg")
        ...     pair.save(f"{folder}/pinned.svg", pin="noir")
        ...     pair.save(f"{folder}/heatmap.svg", card=False)
        ...     pair.save(f"{folder}/curves.svg", curves=True)
        """
        settings = PictureSettings(
            values=values,
            curves=curves,
            card=card,
            dark=dark,
            pin=pin,
            links=links,
            gold=gold,
            title=title,
            numbers=numbers,
            linear=linear,
            cmap=cmap,
            columns=columns,
            width=width,
            figsize=figsize,
            dpi=dpi,
        )
        from nmtalign.report.drawing import save

        save(self, path, settings)
