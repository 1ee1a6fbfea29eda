"""Pictures and tables of results: the functions that the methods of `nmtalign.results` call.

Axes: T target words, S source words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike

from nmtalign.aligner.aligner import Aligner
from nmtalign.arrays import as_real_array
from nmtalign.decoding import saved_batches
from nmtalign.display import short_repr
from nmtalign.errors import DataError, UsageError
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.files.paths import as_path
from nmtalign.links.alignments import AlignedBatch, AlignedPair, Alignment, AlignmentMatrix, GoldAlignment
from nmtalign.links.evaluation import Evaluation, ThresholdCurve, compare_evaluations, error_table
from nmtalign.links.expected_scores import ExpectedEvaluation, compare_expected
from nmtalign.links.gold import gold_table
from nmtalign.links.inputs import LinksOfPair
from nmtalign.links.scoring import METRICS
from nmtalign.report.card_picture import draw_card
from nmtalign.report.curve_picture import check_curve_path, draw_curve, draw_curve_on
from nmtalign.report.figure_layout import scale_figure
from nmtalign.report.heatmap import (
    PICTURE_FORMATS,
    check_picture_suffix,
    draw_curves,
    draw_heatmap,
    draw_on_axes,
    matrices_by_title,
    save_heatmaps,
    svg_text,
)
from nmtalign.report.notebook_cards import Page, card_of_pair
from nmtalign.report.style import PngAndSize, abbreviate, new_figure, png_for_notebook, visible
from nmtalign.report.tables import (
    MATRIX_FORMATS,
    batch_word_table,
    link_table,
    pair_word_table,
    save_matrices,
)
from nmtalign.results import FIRST_AND_SECOND, Viewable, table_of_rows, with_frame_index
from nmtalign.settings import PictureSettings
from nmtalign.validation import (
    check_same_pairs,
    check_type,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

MAX_GRID_PAIRS = 30
MAX_HTML_PAIRS = 5  # of a batch in a notebook
MAX_HTML_CHARACTERS = 80
GRID_PANEL_INCHES = 3.2
COMPARISON_COLUMNS = ["source_position", "source_word", "target_position", "target_word", "found"]
COMPARISON_EXAMPLE = (0, "", 0, "", "")


@singledispatch
def _as_pair(result: Any) -> AlignedPair:
    """Return a result as a pair of words, weights and links."""
    raise UsageError(f"expected one sentence pair, found {short_repr(result)}")


@_as_pair.register
def _(result: AlignedPair) -> AlignedPair:
    return result


@_as_pair.register
def _(result: AlignmentMatrix) -> AlignedPair:
    return AlignedPair(Alignment(frozenset(), len(result.source_tokens), len(result.target_tokens)), result)


@_as_pair.register
def _(result: Alignment) -> AlignedPair:
    """Return a pair whose words are their numbers, from 0: an alignment has no words."""
    source, target = (map(str, range(n)) for n in (result.source_length, result.target_length))
    matrix = AlignmentMatrix(result.to_matrix().astype(np.float32), tuple(source), tuple(target))
    return AlignedPair(result, matrix)


def to_card(result: Any) -> Page:
    """Return the card of a result, with the tools of the report."""
    return card_of_pair(_as_pair(result))


def to_png(result: Any) -> PngAndSize:
    """Return the heatmap of a result as a picture for a notebook."""
    pair = _as_pair(result)
    title = ""
    if pair.alignment.links:
        title = f"{len(pair.alignment)} links"
        if pair.score is not None:
            title += f" · score {pair.score:.3f}"
    return png_for_notebook(to_heatmap(result, PictureSettings(title=title)))


def save_batch(batch: Any, path: str | Path) -> None:
    """Save a batch as :meth:`AlignedBatch.save` does."""
    saved_batches.write_batch(batch, path)


def batch_as_dict(batch: Any) -> dict[str, Any]:
    """Return a batch as plain values, as :meth:`AlignedBatch.to_dict` does."""
    return saved_batches.batch_to_dict(batch)


def batch_to_html(batch: Any) -> str:
    """Return the first pairs of a batch as a table for a notebook, below its counts."""
    caption = escape(repr(batch))
    if batch.origin is None:
        return f"<p>{caption}</p>"
    rows = []
    for n in range(min(len(batch), MAX_HTML_PAIRS)):
        pair = batch[n]
        source, target = (abbreviate(" ".join(words), MAX_HTML_CHARACTERS) for words in pair.tokens)
        words = abbreviate(repr(pair), MAX_HTML_CHARACTERS)
        label = n if batch.frame_index is None else batch.frame_index[n]
        score = np.nan if pair.score is None else pair.score
        rows.append((label, visible(source), visible(target), visible(words), score))
    table = _frame(rows, columns=["pair", "source", "target", "links", "pair score"])
    html = table.to_html(index=False, float_format="{:.3f}".format, na_rep="", border=0)
    more = f"<p>... and {len(batch) - len(rows):,} more</p>" if len(batch) > len(rows) else ""
    return f"<p>{caption}</p>{html}{more}"


def curve_for_notebook(curve: Any) -> PngAndSize:
    """Return the picture of a curve for a notebook."""
    return png_for_notebook(draw_curve(curve))


def to_curve(curve: Any, ax: Axes | None) -> Figure | Axes:
    """Draw a curve into axes, which are returned, or return a figure of its own."""
    return draw_curve(curve) if ax is None else draw_curve_on(ax, curve)


def save_curve(curve: Any, path: str | Path) -> None:
    """Save the picture of a curve, or its table as .tsv."""
    check_curve_path(path)
    path = as_path(path)
    if path.suffix.lower() != ".tsv":
        save_heatmaps([draw_curve(curve)], path)
        return
    with AtomicFiles() as files:
        files.text(path).write(to_table(curve).to_csv(sep="\t", index=False, float_format="%.6g"))


def to_html(result: Any) -> str:
    """Return the table of a result as HTML for a notebook."""
    table = to_table(result)
    return str(table.to_html(header=len(table.columns) > 1, float_format="{:.4f}".format))


@singledispatch
def to_table(result: Any) -> pd.DataFrame:
    """Return a result as a DataFrame: links, weights, scores with their intervals, or settings."""
    raise UsageError(f"there is no table of a {type(result).__name__}")


@to_table.register
def _(result: AlignedPair) -> Any:
    return link_table(result).drop(columns=["pair", "pair_score"])


@to_table.register
def _(result: AlignedBatch) -> Any:
    return link_table(result)


@to_table.register
def _(result: Alignment) -> Any:
    return _frame(list(result), columns=["source_position", "target_position"])


@to_table.register
def _(result: GoldAlignment) -> Any:
    return gold_table(result)


@to_table.register
def _(result: AlignmentMatrix) -> Any:
    return _frame(result.weights, index=list(result.target_tokens), columns=list(result.source_tokens))


@to_table.register
def _(result: Evaluation) -> Any:
    rows = [(getattr(result, metric), *result.intervals[metric]) for metric in METRICS]
    return _frame(rows, index=list(METRICS), columns=["score", "low", "high"])


@to_table.register
def _(result: ExpectedEvaluation) -> Any:
    rows = []
    for style, scores in result.styles.items():
        rows += [(style, metric, scores.score(metric), *scores.intervals[metric]) for metric in METRICS]
    return _frame(rows, columns=["style", "metric", "expected", "low", "high"])


@to_table.register
def _(result: ThresholdCurve) -> Any:
    rows = []
    for point in result.points:
        rows.append((point.threshold, *map(point.score, METRICS), point.counts.links))
    return _frame(rows, columns=["threshold", *METRICS, "links"])


@to_table.register
def _(result: Aligner) -> Any:
    settings = {
        "scorer": result.scorer.description,
        "positions": result.positions.description,
        "extraction": str(result.resolved_extraction),
        "text": str(result.text_settings),
    }
    return _frame({"setting": settings})


@singledispatch
def to_word_table(result: Any) -> pd.DataFrame:
    """Return the entropy and coverage of each word of a pair or batch as a DataFrame."""
    raise UsageError(f"there is no table of the words of a {type(result).__name__}")


@to_word_table.register
def _(result: AlignedPair) -> Any:
    return pair_word_table(result)


@to_word_table.register
def _(result: AlignedBatch) -> Any:
    return batch_word_table(result)


def _frame(data: Any, *, index: list[str] | None = None, columns: list[str] | None = None) -> pd.DataFrame:
    """Return a DataFrame; pandas is imported only here."""
    import pandas as pd

    return pd.DataFrame(data, index=index, columns=columns)


def draw(
    result: Any, settings: PictureSettings, matrices: Mapping[str, AlignmentMatrix] | None = None
) -> Figure:
    """Draw the picture of a result that the settings ask for; `matrices` replaces those of a heatmap."""
    if settings.is_card:
        return draw_card(_as_pair(result), settings)
    if settings.curves:
        return _draw_result_as_curves(result, settings)
    return to_heatmap(result, settings, matrices)


def to_heatmap(
    result: Any, settings: PictureSettings, matrices: Mapping[str, AlignmentMatrix] | None = None
) -> Figure:
    """Draw a result with its links, or with those of the settings."""
    if matrices is None:
        matrices = matrices_to_draw(result, settings.values)
    figure = draw_heatmap(
        matrices,
        dark=bool(settings.dark),
        columns=settings.columns,
        width=settings.width,
        **_matrix_settings(result, settings),
    )
    return _scaled(figure, settings)


def _scaled(figure: Figure, settings: PictureSettings) -> Figure:
    if settings.figsize is not None:
        scale_figure(figure, *settings.figsize)
    return figure


class _MatrixSettings(TypedDict):
    """The arguments that `draw_heatmap` and `draw_on_axes` share."""

    links: Alignment | Iterable[tuple[int, int]] | None
    gold: GoldAlignment | LinksOfPair | None
    title: str
    numbers: bool | None
    linear: bool | None
    cmap: str | Colormap | None


def _matrix_settings(result: Any, settings: PictureSettings) -> _MatrixSettings:
    """Return the settings of a matrix, by default with the links of the result if it has any."""
    links = settings.links
    if links is None:
        links = _as_pair(result).alignment.links or None
    return {
        "links": links,
        "gold": settings.gold,
        "title": settings.title,
        "numbers": settings.numbers,
        "linear": settings.linear,
        "cmap": settings.cmap,
    }


def to_axes(result: Any, axes: Axes, settings: PictureSettings) -> Axes:
    """Draw one matrix of a result into axes of the caller."""
    for name in ("figsize", "width"):
        if getattr(settings, name) is not None:
            size = f"`{name}` is the size of a new figure; with `ax`, the size is that of your figure"
            raise UsageError(size)
    known = ("values", "links", "gold", "title", "numbers", "linear", "cmap")
    settings.refuse_others(known, "axes of your own (`ax`)")
    matrices = matrices_to_draw(result, settings.values)
    if len(matrices) > 1:
        raise UsageError(f"`ax` takes one matrix; set `values` to one of {', '.join(matrices)}")
    [matrix] = matrices.values()
    draw_on_axes(axes, matrix, **_matrix_settings(result, settings))
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


def to_svg(result: Any, settings: PictureSettings) -> str:
    """Return the curves of a result as SVG."""
    return svg_text(_draw_result_as_curves(result, settings))


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
    return to_heatmap(result, settings) if ax is None else to_axes(result, ax, settings)


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


def _draw_result_as_curves(result: Any, settings: PictureSettings) -> Figure:
    """Draw the links of a result; raise UsageError if there are several matrices."""
    matrices = matrices_to_draw(result, settings.values)
    if len(matrices) > 1:
        raise UsageError(f"curves show the links of one matrix; set `values` to one of {', '.join(matrices)}")
    [matrix] = matrices.values()
    links = _as_pair(result).alignment.links if settings.links is None else settings.links
    numbers = False if settings.numbers is None else settings.numbers
    figure = draw_curves(
        matrix,
        links=links,
        gold=settings.gold,
        title=settings.title,
        numbers=numbers,
        dark=bool(settings.dark),
        width=settings.width,
    )
    return _scaled(figure, settings)


def matrices_to_draw(result: Any, values: str | None) -> dict[str, AlignmentMatrix]:
    """Return the matrices of an aligned pair by their titles, or the one matrix of another result."""
    pair = _as_pair(result)
    if pair is result:
        return matrices_by_title(pair, values)
    if values is not None:
        problem = f"`values` chooses among the matrices of an aligned pair, found {short_repr(values)}"
        raise UsageError(f"{problem}; remove it for a single matrix")
    return {"": pair.matrix}


def save(result: Any, path: str | Path, settings: PictureSettings) -> None:
    """Save the picture of a result, or its numbers, as the ending of the file says."""
    path = as_path(path)
    check_picture_suffix(path, PICTURE_FORMATS + MATRIX_FORMATS)
    if path.suffix.lower() in MATRIX_FORMATS:
        settings.refuse_others(("values",), "numbers")
        save_matrices([(1, matrices_to_draw(result, settings.values))], path)
        return
    if _as_pair(result) is result and settings.suit_a_card:
        settings = replace(settings, card=True)
    save_heatmaps([draw(result, settings)], path, dpi=settings.dpi)


@singledispatch
def to_comparison(first: Any, second: Any, names: tuple[str, str]) -> Any:
    """Return where the links of two results are found, a picture of two matrices, differences of scores."""
    rows = _compare_links(_as_pair(first), _as_pair(second), _checked_names(names, ["both"]))
    return table_of_rows(rows, COMPARISON_COLUMNS, COMPARISON_EXAMPLE)


def _checked_names(names: Any, columns: Sequence[str] = ()) -> tuple[str, str]:
    """Return the names of two results; raise UsageError unless they differ, also from other `columns`."""
    check_type(names, (tuple, list), "two names, of this result and of the other one")
    is_pair = len(names) == 2 and all(isinstance(name, str) for name in names)
    if not is_pair or len({*names, *columns}) < 2 + len(columns):
        others = f", other than {', '.join(columns)}" if columns else ""
        expected = f"expected two different names of the results as `names`{others}"
        raise UsageError(f"{expected}, found {short_repr(names)}")
    return names[0], names[1]


def _compare_links(ours: AlignedPair, theirs: AlignedPair, names: tuple[str, str]) -> list[tuple[Any, ...]]:
    sizes = [tuple(map(len, pair.tokens)) for pair in (ours, theirs)]
    if sizes[0] != sizes[1]:
        words = " and ".join(f"{size[0]} and {size[1]} words" for size in sizes)
        raise UsageError(f"expected two results of one sentence pair, found pairs of {words}")
    results = dict.fromkeys(ours.links, names[0]) | dict.fromkeys(theirs.links, names[1])
    results |= dict.fromkeys(ours.alignment.links & theirs.alignment.links, "both")
    source, target = ours.tokens
    return [(s, source[s], t, target[t], result) for (s, t), result in sorted(results.items())]


@to_comparison.register
def _(first: AlignedBatch, second: Any, names: tuple[str, str]) -> Any:
    if not isinstance(second, AlignedBatch):
        if names != FIRST_AND_SECOND:
            raise UsageError("`names` are those of two batches, found gold links; remove them")
        return error_table(first, second)
    names = _checked_names(names, ["both"])
    if len(first) != len(second):
        raise UsageError(f"expected two batches of the same pairs, found {len(first):,} and {len(second):,}")
    check_same_pairs(first, second, "links")
    pairs = enumerate(zip(first, second, strict=True))
    rows = [(n, *row) for n, both in pairs for row in _compare_links(*both, names)]
    table = table_of_rows(rows, ["pair", *COMPARISON_COLUMNS], (0, *COMPARISON_EXAMPLE))
    return with_frame_index(table, first.frame_index)


@to_comparison.register
def _(first: AlignmentMatrix, second: Any, names: tuple[str, str]) -> Any:
    return draw_heatmap(dict(zip(_checked_names(names), (first, second), strict=True)))


@to_comparison.register
def _(first: Aligner, second: Any, names: tuple[str, str]) -> Any:
    names = _checked_names(names)
    check_type(second, Aligner, "another aligner")
    ours, theirs = (
        to_table(one).add_suffix(f" of {name}") for one, name in zip((first, second), names, strict=True)
    )
    return ours.join(theirs, how="outer")


@to_comparison.register
def _(first: Evaluation, second: Any, names: tuple[str, str]) -> Any:
    others = ["difference", "low", "high", "p"]
    names = _checked_names(names, others)
    check_type(second, Evaluation, "another evaluation")
    rows = []
    for metric, difference in compare_evaluations(first, second).items():
        scores = getattr(first, metric), getattr(second, metric)
        rows.append((*scores, difference.value, *difference.interval, difference.p))
    table = _frame(rows, index=list(METRICS), columns=[*names, *others])
    table.attrs["settings"] = first.bootstrap.settings
    return table


@to_comparison.register
def _(first: ExpectedEvaluation, second: Any, names: tuple[str, str]) -> Any:
    others = ["difference", "low", "high"]
    names = _checked_names(names, others)
    verdict = compare_expected(first, second)
    row = (*verdict.errors, verdict.difference, *verdict.interval)
    table = _frame([row], index=["expected error"], columns=[*names, *others])
    table.attrs["settings"] = first.settings
    table.attrs["verdict"] = verdict.describe(names)
    return table
