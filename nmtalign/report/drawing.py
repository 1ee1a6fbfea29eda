"""Pictures of results: what the methods of `nmtalign.results` draw.

Axes: T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from pathlib import Path
from typing import Any, overload

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from nmtalign.arrays import as_real_array
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path
from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix, GoldAlignment
from nmtalign.links.evaluation import CurvePoint, ThresholdCurve
from nmtalign.links.inputs import LinksOfPair
from nmtalign.report.card_picture import draw_card
from nmtalign.report.curves import draw_curves
from nmtalign.report.heatmap import draw_on_axes, draw_panels
from nmtalign.report.style import (
    PICTURE_FORMATS,
    PngAndSize,
    check_picture_suffix,
    new_figure,
    png_for_notebook,
    save_heatmaps,
    scale_figure,
    theme_of,
)
from nmtalign.report.tables import MATRIX_FORMATS, as_pair, matrices_to_draw, save_matrices, to_table
from nmtalign.results import Viewable
from nmtalign.settings import PictureSettings

MAX_GRID_PAIRS = 30
GRID_PANEL_INCHES = 3.2


def draw(
    result: Any, settings: PictureSettings, matrices: Mapping[str, AlignmentMatrix] | None = None
) -> Figure:
    """Draw the picture of a result that the settings ask for; `matrices` replaces those of a heatmap."""
    if settings.is_card:
        return draw_card(as_pair(result), settings)
    if matrices is None or settings.curves:
        matrices = matrices_to_draw(result, settings.values)
    settings = with_own_links(result, settings)
    if settings.curves:
        figure = draw_curves(_only(matrices, "curves show the links of one matrix"), settings)
    else:
        figure = draw_panels(matrices, settings)
    if settings.figsize is not None:
        scale_figure(figure, *settings.figsize)
    return figure


def with_own_links(result: Any, settings: PictureSettings) -> PictureSettings:
    """Return the settings with the links of a result, unless they have links; a matrix may have none."""
    links = as_pair(result).alignment.links
    needs_links = settings.links is None and (links or settings.curves)
    return replace(settings, links=links) if needs_links else settings


def _only(matrices: Mapping[str, AlignmentMatrix], what: str) -> AlignmentMatrix:
    """Return the one matrix; raise UsageError if there are several."""
    if len(matrices) > 1:
        raise UsageError(f"{what}; set `values` to one of {', '.join(matrices)}")
    [matrix] = matrices.values()
    return matrix


def to_axes(result: Any, axes: Axes, settings: PictureSettings) -> Axes:
    """Draw one matrix of a result into axes of the caller."""
    for name in ("figsize", "width"):
        if getattr(settings, name) is not None:
            size = f"`{name}` is the size of a new figure; with `ax`, the size is that of your figure"
            raise UsageError(size)
    known = ("values", "links", "gold", "title", "numbers", "linear", "cmap")
    settings.refuse_others(known, "axes of your own (`ax`)")
    matrix = _only(matrices_to_draw(result, settings.values), "`ax` takes one matrix")
    draw_on_axes(axes, matrix, with_own_links(result, settings))
    return axes


def to_grid(batch: Any, settings: PictureSettings) -> Figure:
    """Draw each pair of a batch into axes of its own."""
    pairs = len(batch)
    if not 1 <= pairs <= MAX_GRID_PAIRS:
        raise UsageError(
            f"expected 1 to {MAX_GRID_PAIRS} pairs to draw, found {pairs:,}; choose some: batch[:6]"
        )
    columns = min(settings.columns or pairs, pairs)
    rows = math.ceil(pairs / columns)
    figure = new_figure()
    size = settings.figsize or (columns * GRID_PANEL_INCHES, rows * GRID_PANEL_INCHES)
    figure.set_size_inches(*size)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    panel_settings = replace(settings, columns=None, figsize=None)
    for n, axes in enumerate(grid):
        if n < pairs:
            to_axes(batch[n], axes, replace(panel_settings, title=str(n)))
        else:
            axes.set_axis_off()
    return figure


def save(result: Any, path: str | Path, settings: PictureSettings) -> None:
    """Save the picture of a result, or its numbers, as the ending of the file says."""
    path = as_path(path)
    check_picture_suffix(path, PICTURE_FORMATS + MATRIX_FORMATS)
    if path.suffix.lower() in MATRIX_FORMATS:
        settings.refuse_others(("values",), "numbers")
        save_matrices([(1, matrices_to_draw(result, settings.values))], path)
        return
    if as_pair(result) is result and settings.suit_a_card:
        settings = replace(settings, card=True)
    save_heatmaps([draw(result, settings)], path, dpi=settings.dpi)


@overload
def heatmap(
    weights: ArrayLike | AlignmentMatrix | AlignedPair,
    source_words: Sequence[str] | None = None,
    target_words: Sequence[str] | None = None,
    *,
    ax: None = None,
    links: Alignment | Iterable[tuple[int, int]] | None = None,
    gold: GoldAlignment | LinksOfPair | None = None,
    title: str = "",
    numbers: bool | None = None,
    linear: bool | None = None,
    cmap: str | Colormap | None = None,
    dark: bool | None = None,
    width: float | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure: ...


@overload
def heatmap(
    weights: ArrayLike | AlignmentMatrix | AlignedPair,
    source_words: Sequence[str] | None = None,
    target_words: Sequence[str] | None = None,
    *,
    ax: Axes,
    links: Alignment | Iterable[tuple[int, int]] | None = None,
    gold: GoldAlignment | LinksOfPair | None = None,
    title: str = "",
    numbers: bool | None = None,
    linear: bool | None = None,
    cmap: str | Colormap | None = None,
) -> Axes: ...


def heatmap(
    weights: ArrayLike | AlignmentMatrix | AlignedPair,
    source_words: Sequence[str] | None = None,
    target_words: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    links: Alignment | Iterable[tuple[int, int]] | None = None,
    gold: GoldAlignment | LinksOfPair | None = None,
    title: str = "",
    numbers: bool | None = None,
    linear: bool | None = None,
    cmap: str | Colormap | None = None,
    dark: bool | None = None,
    width: float | None = None,
    figsize: tuple[float, float] | None = None,
) -> Figure | Axes:
    """Draw a matrix of weights with its words.

    Parameters
    ----------
    weights : array or DataFrame of shape (T, S), AlignmentMatrix, or AlignedPair
        Row t has the weights of target word t.
    source_words, target_words : sequence of str, optional
        The words of the columns and of the rows of an array. Default: the labels of a DataFrame, else
        numbers from 0.
    ax : matplotlib.axes.Axes, optional
        Axes of your own figure, into which the matrix is drawn, without color bar, legend and notes.
    links, gold, title, numbers, linear, cmap, dark, width : optional
        As for :func:`nmtalign.draw_heatmap`.
    figsize : (float, float), optional
        Width and height in inches. By default, they follow from the words.

    Returns
    -------
    matplotlib.figure.Figure, or matplotlib.axes.Axes
        The axes if `ax` is given.

    Examples
    --------
    >>> import matplotlib.figure
    >>> import nmtalign as na
    >>> left, right = matplotlib.figure.Figure(figsize=(6, 3)).subplots(1, 2)
    >>> weights = [[0.9, 0.1], [0.2, 0.8]]
    >>> axes = na.heatmap(weights, ["the", "cat"], ["le", "chat"], ax=left, cmap="viridis")
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['le', 'chat']
    """
    settings = PictureSettings(
        links=links,
        gold=gold,
        title=title,
        numbers=numbers,
        linear=linear,
        cmap=cmap,
        dark=dark,
        width=width,
        figsize=figsize,
    )
    result = _with_words(weights, source_words, target_words)
    return draw(result, settings) if ax is None else to_axes(result, ax, settings)


@singledispatch
def _with_words(
    weights: Any, source_words: Sequence[str] | None, target_words: Sequence[str] | None
) -> Viewable:
    """Return an array (T, S) with its words; a result unchanged.

    Without words, the rows and columns have the labels of a DataFrame, or are numbered from 0.
    """
    for name, words in (("source_words", source_words), ("target_words", target_words)):
        if isinstance(words, str):
            problem = f"expected `{name}` as a list of words, found the text {short_repr(words)}"
            raise UsageError(f"{problem}; write {short_repr(words)}.split()")
    shape = as_real_array(weights, "weights").shape
    if len(shape) != 2:
        raise DataError(f"expected weights of shape (T, S), found {shape}")
    labels = [range(length) for length in shape]
    if hasattr(weights, "index") and hasattr(weights, "columns"):  # a DataFrame
        labels = [weights.index, weights.columns]
    names = [[str(label) for label in labels_of_side] for labels_of_side in labels]
    rows = names[0] if target_words is None else target_words
    columns = names[1] if source_words is None else source_words
    return AlignmentMatrix(weights, columns, rows)


@_with_words.register(Viewable)
def _(result: Viewable, source_words: Sequence[str] | None, target_words: Sequence[str] | None) -> Viewable:
    if source_words is not None or target_words is not None:
        raise UsageError(f"words are passed with an array only; {short_repr(result)} has its own")
    return result


def to_png(result: Any) -> PngAndSize:
    """Return the heatmap of a result as a picture for a notebook."""
    pair = as_pair(result)
    title = ""
    if pair.alignment.links:
        title = f"{len(pair.alignment)} links"
        if pair.score is not None:
            title += f" · score {pair.score:.3f}"
    return png_for_notebook(draw(result, PictureSettings(title=title)))


# --- precision against recall over thresholds ----------------------------------------------------

CURVE_FORMATS = (*PICTURE_FORMATS, ".tsv")
_SIZE_INCHES = 5.2, 4.2
_MARGIN = 0.08  # around the curve, as a share of it
_MIN_SPAN = 0.1  # of an axis, so that a short curve does not look long
_LABELED = (0.1, 0.3, 0.5, 0.7, 0.9)  # thresholds whose numbers are at the curve


def draw_curve(curve: ThresholdCurve, axes: Axes | None = None) -> Figure | Axes:
    """Draw precision against recall into axes, which are returned, or return a figure of its own."""
    if axes is None:
        return _figure_of_curve(curve)
    _draw_curve_on(axes, curve)
    return axes


def _figure_of_curve(curve: ThresholdCurve) -> Figure:
    figure = new_figure()
    figure.set_size_inches(*_SIZE_INCHES)
    figure.set_layout_engine("constrained")
    _draw_curve_on(figure.add_subplot(), curve)
    return figure


def save_curve(curve: ThresholdCurve, path: str | Path) -> None:
    """Save the picture of a curve, or its table as .tsv."""
    check_picture_suffix(path, CURVE_FORMATS)
    path = as_path(path)
    if path.suffix.lower() != ".tsv":
        save_heatmaps([_figure_of_curve(curve)], path)
        return
    with AtomicFiles() as files:
        files.text(path).write(to_table(curve).to_csv(sep="\t", index=False, float_format="%.6g"))


def _draw_curve_on(ax: Axes, curve: ThresholdCurve) -> None:
    theme = theme_of(dark=False)
    known = [point for point in curve.points if not np.isnan(point.precision + point.recall)]
    ax.plot(*_places(known), color=theme.weight, linewidth=2, zorder=2)
    labeled = [point for point in known if point.threshold in _LABELED]
    ax.plot(*_places(labeled), ".", color=theme.weight, markersize=7, zorder=3)
    for point in labeled:
        place = point.recall, point.precision
        ax.annotate(
            f"{point.threshold:g}", place, (5, 5), textcoords="offset points", fontsize=8, color=theme.soft
        )
    best, present = curve.best, curve.present
    ax.plot(
        *_places([best]),
        "*",
        color=theme.accent,
        markersize=14,
        label=f"best F1 {best.f1:.3f}, at {best.threshold:g}",
    )
    at = "" if present.threshold is None else f", at {present.threshold:g}"
    ax.plot(
        *_places([present]),
        "o",
        color=theme.link,
        markersize=8,
        label=f"present links: F1 {present.f1:.3f}{at}",
    )
    recall, precision = _places([*known, present])
    ax.set(xlim=_limits(recall), ylim=_limits(precision))
    _draw_equal_f1(ax, theme.line)
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")
    ax.set_title(f"Links by {curve.method}, from low to high thresholds", fontsize=11, loc="left")
    ax.legend(loc="lower left", fontsize=9, frameon=True)


def _places(points: list[CurvePoint]) -> tuple[list[float], list[float]]:
    return [point.recall for point in points], [point.precision for point in points]


def _limits(values: list[float]) -> tuple[float, float]:
    known = [value for value in values if not np.isnan(value)] or [0.0, 1.0]
    high = max(known)
    low = min(*known, max(high - _MIN_SPAN, 0))
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def _draw_equal_f1(ax: Axes, color: str) -> None:
    """Draw thin lines of equal F1."""
    for f1 in np.arange(0.1, 1, 0.05 if ax.get_xlim()[0] > 0.4 else 0.1):
        recall = np.linspace(f1 / (2 - f1) + 1e-3, 1, 200)
        ax.plot(
            recall,
            f1 * recall / (2 * recall - f1),
            color=color,
            linewidth=0.7,
            zorder=1,
            scalex=False,
            scaley=False,
        )
