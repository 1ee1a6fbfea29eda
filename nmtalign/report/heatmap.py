"""Attention weights as a picture: target words are rows, source words are columns with their labels on top.

The layout is computed in inches from the words, so that labels stay readable from 3 to 80 words.
Only matplotlib's object interface is used: no pyplot, no global figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import Colormap, Normalize, PowerNorm, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from nmtalign.display import abbreviate, is_right_to_left, mark_mirrored_words, short_repr, visible
from nmtalign.errors import UsageError, warn_caller
from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix, GoldAlignment, Link
from nmtalign.links.inputs import LinksOfPair, as_gold
from nmtalign.names import SIDES
from nmtalign.report.curves import (
    DEFAULT_TITLE,
    NAMES_OF_KINDS,
    kinds_of_links,
    links_in_matrix,
    tell_links,
)
from nmtalign.report.style import (
    MARGIN_INCHES,
    MARGIN_ON_PAPER_INCHES,
    MAX_LABEL_CHARS,
    MAX_TITLE_CHARS,
    MIN_POINTS_ON_PAPER,
    POINTS_PER_INCH,
    TITLE_POINTS,
    Theme,
    flow,
    fonts_for,
    is_light,
    new_figure,
    text_width,
    theme_of,
    wrap_text,
)
from nmtalign.settings import PictureSettings
from nmtalign.validation import check_type, closest_name

MIN_WRITTEN_WEIGHT = 0.005  # smaller weights are not written into cells
NO_VECTOR_LABEL = "no vector"  # rows and columns of words without a vector are hatched in gray
HATCH_GRAY = "0.45"
SUM_TOLERANCE = 1e-3
TURNED_COLUMNS = "← columns run from right to left, as their sentence does"
# What the values of a matrix are: the first note where all rows (or columns) sum to 1, else the second.
NOTES_OF_VALUES = {
    "forward": (
        "each row sums to 1, attention of a target word",
        "attention of a target word, each row sums to 1 with the share that has no partner",
    ),
    "reverse": (
        "each column sums to 1, attention of a source word",
        "attention of a source word, each column sums to 1 with the share that has no partner",
    ),
    "combined": ("the weights that links are chosen from",) * 2,
    "scores": ("before positions and softmax",) * 2,
}
NUMBER_POINTS = 7  # of the smallest numbers that are written into cells
NUMBER_SHARE = 20.0 / POINTS_PER_INCH  # of a cell, is the size of its number
MAX_DRAWN_CELLS = 5_000  # cells of a larger matrix are dots of a picture

# layout
LABEL_PAD_INCHES = 0.08  # separates a label from its cell
PANEL_GAP_INCHES = 0.3
SCALE_INCHES = 1.0, 0.1  # width and height of the color scale
SCALE_END_INCHES = 0.15  # half of the number at an end of the scale
LEGEND_CELL_INCHES = 0.2
LEGEND_ROW_INCHES = 0.3  # a cell, or the scale with its numbers
LEGEND_GAP_INCHES = 0.14
NOTE_LINE_INCHES = 0.16
TITLE_LINE_INCHES = 0.2
MIN_FIGURE_INCHES = 2.6
MAX_PANEL_INCHES = 40.0
MAX_CELL_INCHES = 0.5
MAX_LABEL_CHARS_ON_PAPER = 16
MIN_FONT_POINTS = 5.0
MAX_FONT_POINTS = 16
LABEL_SHARE = 0.7  # of a cell, is the size of its labels
LABEL_PITCH = 1.1  # times its size is the least distance of a label from the next one
PANEL_TITLE_POINTS = 9.5
NOTE_POINTS = 8.0  # legend, color scale, spelled-out words


def draw_heatmap(
    matrices: AlignmentMatrix | Mapping[str, AlignmentMatrix],
    *,
    links: Alignment | Iterable[tuple[int, int]] | None = None,
    gold: GoldAlignment | LinksOfPair | None = None,
    title: str = "",
    numbers: bool | None = None,
    linear: bool | None = None,
    cmap: str | Colormap | None = None,
    dark: bool = False,
    columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw the attention weights of one sentence pair.

    Parameters
    ----------
    matrices : AlignmentMatrix or mapping of str to AlignmentMatrix
        Weights of shape (T, S); row t is target word t. Several panels (directions, methods, heads) by their
        titles; they share one color scale. Rows and columns of words without a vector are hatched.
    links : Alignment or iterable of (source, target), optional
        Chosen links, drawn as dots.
    gold : GoldAlignment or links, optional
        Hand-made links. With `links`, right links are dots, wrong ones have a box with a cross, and missed
        ones a dashed box with a plus, as on a card; without, gold links are boxes.
    title : str
    numbers : bool, optional
        Write the weights into the cells. The default writes them when they fit.
    linear : bool, optional
        Whether colors go up with the weights, from the smallest to the largest. The default is a square-root
        scale from 0 to 1, on which small weights can be seen, unless some weights are outside of it, or all
        are nearly uniform.
    cmap : str or matplotlib.colors.Colormap, optional
        A color map of matplotlib, or its name. The default goes from white to violet, as on a card; it can be
        read without color vision and in gray.
    dark : bool
        Draw on a dark ground.
    columns : int, optional
        Number of panels per row. Default: a layout that is as square as possible.
    width : float, optional
        Width in inches, such as 3.3 of a column of a paper. No text is smaller than 7 points. By default, the
        words determine the width.

    Returns
    -------
    matplotlib.figure.Figure
        Belongs to no global state; save it with :func:`save_heatmaps`.

    Raises
    ------
    DataError
        If a link lies outside the matrix.

    Warns
    -----
    NmtalignWarning
        If no installed font has the letters of a script, or a symbol such as an emoji; the message names
        them. If the words do not fit into `width`, so that some have no label.

    Examples
    --------
    >>> matrix = AlignmentMatrix(np.eye(2), ("good", "morning"), ("guten", "Morgen"))
    >>> figure = draw_heatmap(matrix, links=[(0, 0), (1, 1)])
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['good', 'morning']
    >>> len(draw_heatmap({"first head": matrix, "second head": matrix}).axes)  # two panels, the color bar
    3

    References
    ----------
    Bahdanau, Cho and Bengio (2015), Neural machine translation by jointly learning to align and translate,
    Figure 3.
    """
    wanted = "an AlignmentMatrix"
    if not isinstance(matrices, Mapping):
        matrices = {"": matrices}
        wanted = f"{wanted}, such as pair.matrix, or several by their titles"
    for matrix in matrices.values():
        check_type(matrix, AlignmentMatrix, wanted)
    settings = PictureSettings(
        links=links,
        gold=gold,
        title=title,
        numbers=numbers,
        linear=linear,
        cmap=cmap,
        dark=dark or None,
        columns=columns,
        width=width,
    )
    return draw_panels(matrices, settings)


def draw_panels(matrices: Mapping[str, AlignmentMatrix], settings: PictureSettings) -> Figure:
    """Draw the weights of one sentence pair, a panel for each title; see :func:`draw_heatmap`."""
    content = _make_content(list(matrices.values()), settings)
    title = settings.title
    first = content.matrices[0]
    with fonts_for([*first.source_tokens, *first.target_tokens, title, *matrices]):
        texts = PanelTexts(
            title=abbreviate(visible(title), MAX_TITLE_CHARS),
            panels=[visible(name) for name in matrices] if len(matrices) > 1 else [""],
            scale=_scale_name(matrices, content.norm),
            marks=[name for name, _ in content.legend],
            notes=_notes_below(matrices),
        )
        panels = PanelFigure(first, texts, content.theme, settings.columns, settings.width)
        content = content.with_numbers(panels.cell, is_on_paper=settings.width is not None)
        image = None
        for axes, matrix in zip(panels.axes, content.matrices, strict=True):
            image = _draw_panel(axes, matrix, content, panels.cell)
        if image:
            panels.add_color_scale(image)
        _draw_legend(panels, content)
    panels.figure.title_and_description = title or DEFAULT_TITLE, tell_links(first, content.kinds)
    return panels.figure


def draw_on_axes(axes: Axes, matrix: AlignmentMatrix, settings: PictureSettings) -> None:
    """Draw the weights of one sentence pair into axes of the caller, without color bar, legend and notes.

    The cells are squares, and the labels fit into them.
    """
    content = _make_content([matrix], settings)
    title = settings.title
    T, S = matrix.weights.shape
    with fonts_for([*matrix.source_tokens, *matrix.target_tokens, title]):
        axes.set_aspect("equal")
        box = axes.get_window_extent()
        dots_per_inch = axes.figure.dpi
        cell = min(box.width / max(S, 1), box.height / max(T, 1)) / dots_per_inch
        content = content.with_numbers(cell)
        _draw_panel(axes, matrix, content, cell)
        label_axes(axes, matrix, cell)
        if title:
            axes.set_title(abbreviate(visible(title), MAX_TITLE_CHARS), parse_math=False)


class _Content(NamedTuple):
    """The checked content of the picture of one sentence pair."""

    matrices: Sequence[AlignmentMatrix]
    kinds: dict[Link, str]  # the kind of each link that is marked
    numbers: bool | None  # None: where they fit
    theme: Theme
    cmap: str | Colormap
    norm: Normalize

    @property
    def legend(self) -> list[tuple[str, str]]:
        """The marks that the picture has: the name and the kind of each, hatched words last."""
        used = {*self.kinds.values()}
        marks = [(name, kind) for kind, name in NAMES_OF_KINDS.items() if kind in used]
        if any(matrix.unknown and any(matrix.unknown) for matrix in self.matrices):
            marks.append((NO_VECTOR_LABEL, NO_VECTOR_LABEL))
        return marks

    def with_numbers(self, cell: float, *, is_on_paper: bool = False) -> _Content:
        """Return the content with or without numbers, as they fit into cells with a side of some inches."""
        digits = _digit_count(float(np.ptp(self.norm.inverse([0.0, 1.0]))))
        ems = 1.2 + 0.65 * digits  # a number, and the space around it
        fit = cell >= NUMBER_POINTS / POINTS_PER_INCH * ems
        if self.numbers and is_on_paper and not fit:
            warn_caller(
                f"numbers of {NUMBER_POINTS} points do not fit into cells of {cell:.2f} inches, so there are"
                " none; pass a larger width, or fewer words"
            )
        numbers = fit if self.numbers is None or (is_on_paper and not fit) else self.numbers
        return self._replace(numbers=numbers)


def _make_content(matrices: Sequence[AlignmentMatrix], settings: PictureSettings) -> _Content:
    """Return the content of a picture; raise the errors of :func:`draw_heatmap`."""
    first = _same_words(matrices)
    kinds = kinds_of_links(first, settings.links, settings.gold)
    if settings.links is not None and settings.gold is not None:
        possible = links_in_matrix(as_gold(settings.gold).possible, first)
        kinds |= dict.fromkeys(possible - kinds.keys(), "open")
    theme = theme_of(dark=bool(settings.dark))
    if settings.cmap is not None:
        _check_colors(settings.cmap)
    return _Content(
        matrices=matrices,
        kinds=kinds,
        numbers=settings.numbers,
        theme=theme,
        cmap=theme.colormap if settings.cmap is None else settings.cmap,
        norm=_color_norm(matrices, settings.linear),
    )


def _draw_panel(axes: Axes, matrix: AlignmentMatrix, content: _Content, cell: float) -> Any:
    """Draw one matrix with all marks into axes whose cells have a side of `cell` inches; return the image."""
    image = _draw_cells(axes, matrix.weights, content)
    if is_right_to_left(matrix.source_tokens):
        axes.invert_xaxis()  # columns are in the order of their sentence, as in a report
    _hatch(axes, matrix)
    _draw_marks(axes, content.kinds, content.theme, cell, in_corner=bool(content.numbers))
    if content.numbers:
        _write_numbers(axes, image, matrix, cell)
    return image


def _check_colors(colors: Any) -> None:
    """Raise UsageError unless this is a color map of matplotlib, or its name."""
    if isinstance(colors, Colormap) or (isinstance(colors, str) and colors in colormaps):
        return
    closest = closest_name(colors, colormaps)
    advice = f"did you mean {closest!r}?" if closest else "pass the name of another, or a Colormap"
    raise UsageError(f"matplotlib has no color map {short_repr(colors)}; {advice}")


def crop_pair(
    pair: AlignedPair, gold: GoldAlignment | None, rows: Sequence[int], columns: Sequence[int]
) -> tuple[AlignedPair, GoldAlignment | None]:
    """Return some target words (rows) and source words (columns) of a pair, and the links between them."""
    # the new position of each word that stays
    new_source = {old: new for new, old in enumerate(columns)}
    new_target = {old: new for new, old in enumerate(rows)}

    def crop_links(all_links: Iterable[tuple[int, int]]) -> dict[Link, Link]:
        """Return the links that stay, each with its new positions."""
        return {
            Link(s, t): Link(new_source[s], new_target[t])
            for s, t in all_links
            if s in new_source and t in new_target
        }

    def crop_weights(weights: NDArray[np.floating] | None) -> Any:
        return None if weights is None else weights[np.ix_(rows, columns)]

    source, target = pair.tokens
    unknown = pair.matrix.unknown
    if unknown is not None:
        unknown = (
            frozenset(new_source[s] for s in unknown[0] if s in new_source),
            frozenset(new_target[t] for t in unknown[1] if t in new_target),
        )
    matrix = AlignmentMatrix(
        crop_weights(pair.matrix.weights),
        tuple(source[s] for s in columns),
        tuple(target[t] for t in rows),
        unknown,
        pair.matrix.caption,
    )
    kept = crop_links(pair.alignment)
    probable = [(old, new) for old, new in kept.items() if old in pair.probabilities]
    cropped = replace(
        pair,
        alignment=Alignment(kept.values(), len(columns), len(rows)),
        matrix=matrix,
        forward=crop_weights(pair.forward),
        reverse=crop_weights(pair.reverse),
        scores=crop_weights(pair.scores),
        probabilities={new: pair.probabilities[old] for old, new in probable},
        texts=None,
    )
    if gold is not None:
        sure, possible = (links_in_matrix(links, pair.matrix) for links in (gold.sure, gold.possible))
        gold = GoldAlignment(crop_links(sure).values(), crop_links(possible).values())
    return cropped, gold


def _same_words(matrices: Sequence[AlignmentMatrix]) -> AlignmentMatrix:
    """Return the first matrix, after checking that all show the same sentence pair."""
    if not matrices:
        raise UsageError("expected at least one matrix to draw, found none")
    if len({(matrix.source_tokens, matrix.target_tokens) for matrix in matrices}) > 1:
        raise UsageError("the panels of one picture show one sentence pair; found different words")
    return matrices[0]


def _color_norm(matrices: Sequence[AlignmentMatrix], linear: bool | None) -> Normalize:
    """Return the color scale, linear or of square roots."""
    values = np.concatenate([matrix.weights.ravel() for matrix in matrices])
    are_shares = bool(((values >= 0) & (values <= 1 + 1e-5)).all())
    if linear is None:
        # square roots show small shares, but would hide the differences of nearly uniform weights
        linear = not are_shares or _are_nearly_uniform(matrices)
    low, high = _weight_range(values)
    if linear:
        return Normalize(low, high)
    if are_shares:
        low, high = 0.0, 1.0
    return PowerNorm(0.5, low, high)


def _sum_to_one(weights: NDArray[np.floating]) -> tuple[bool, bool]:
    """Return whether all rows, and whether all columns, are shares that sum to 1."""
    if weights.size == 0 or weights.min() < 0:
        return False, False
    row_errors = np.abs(weights.sum(axis=1) - 1)
    column_errors = np.abs(weights.sum(axis=0) - 1)
    return bool(row_errors.max() < SUM_TOLERANCE), bool(column_errors.max() < SUM_TOLERANCE)


def _are_nearly_uniform(matrices: Iterable[AlignmentMatrix]) -> bool:
    """Return whether all weights are nearly uniform.

    Uniform weights over N words are 1/N. Weights are nearly uniform if none is above 2/N, or more than
    halfway from 1/N to 1.
    """
    largest: list[float] = []
    limits: list[float] = []
    for matrix in matrices:
        T, S = matrix.weights.shape
        rows_sum_to_one, columns_sum_to_one = _sum_to_one(matrix.weights)
        if rows_sum_to_one:
            N = S
        elif columns_sum_to_one:
            N = T
        else:
            N = 0
        if N > 1:
            limits.append(min(2 / N, (1 + 1 / N) / 2))
        if matrix.weights.size:
            largest.append(float(matrix.weights.max()))
    return bool(limits) and max(largest) <= min(limits)


def _notes_below(matrices: Mapping[str, AlignmentMatrix]) -> list[str]:
    """Return the notes below a picture: which score was used, what the weights are, unknown words."""
    captions = {matrix.caption for matrix in matrices.values()}
    notes: list[str] = []
    if len(captions) == 1:
        [caption] = captions
        if caption:
            notes.append(f"score: {caption}")
    for name, matrix in matrices.items():
        weights = matrix.weights
        prefix = f"{visible(name)}: " if name else ""
        if matrix.caption and len(captions) > 1:
            says_name = matrix.caption.casefold().startswith(name.casefold())
            notes.append(matrix.caption if says_name else f"{prefix}{matrix.caption}")
        if name in NOTES_OF_VALUES:
            sums_to_one, sums_to_less = NOTES_OF_VALUES[name]
            note = sums_to_one if any(_sum_to_one(weights)) else sums_to_less
            if " sums" in sums_to_one and any(matrix.unknown or ()):
                note += ", hatched cells included"
            notes.append(f"{prefix}{note}")
        if _are_nearly_uniform([matrix]):
            digits = max(3, _digit_count(float(np.ptp(weights))))
            low = f"{weights.min():.{digits}f}".lstrip("0")
            high = f"{weights.max():.{digits}f}".lstrip("0")
            notes.append(f"{prefix}nearly uniform, all from {low} to {high}")
    first = next(iter(matrices.values()))
    if is_right_to_left(first.source_tokens):
        notes.append(TURNED_COLUMNS)
    sides = first.source_tokens, first.target_tokens
    for side, unknown, tokens in zip(SIDES, first.unknown or ((), ()), sides, strict=True):
        if unknown:
            words = dict.fromkeys(visible(tokens[position]) for position in sorted(unknown))
            listed = abbreviate(", ".join(words), MAX_TITLE_CHARS)
            notes.append(f"without a vector in the {side}: {listed}")
    return notes


def _weight_range(values: NDArray[np.floating]) -> tuple[float, float]:
    """Return the smallest and the largest weight, or 0 and 1 when all are equal."""
    if values.size == 0 or values.min() == values.max():
        return min([0.0, *values[:1]]), max([1.0, *values[:1]])
    return float(values.min()), float(values.max())


def _draw_cells(axes: Axes, weights: NDArray[np.floating], content: _Content) -> Any:
    """Draw one (T, S) matrix; return matplotlib's image, or None for an empty one."""
    if weights.size == 0:
        middle: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        axes.text(0.5, 0.5, "no words", size=8, color=content.theme.soft, **middle)
        return None
    T, S = weights.shape
    edges = np.arange(S + 1) - 0.5, np.arange(T + 1) - 0.5
    flat: dict[str, Any] = {
        "antialiased": False,
        "linewidth": 0,
        "rasterized": weights.size > MAX_DRAWN_CELLS,
    }
    image = axes.pcolormesh(*edges, weights, cmap=content.cmap, norm=content.norm, **flat)
    # faint lines guide the eye from a label to its cells
    line = "black" if is_light(to_hex(image.cmap(0.0))) else "white"
    faint: dict[str, Any] = {"colors": line, "linewidths": 0.4, "alpha": 0.13}
    axes.vlines(np.arange(1, S) - 0.5, -0.5, T - 0.5, **faint)
    axes.hlines(np.arange(1, T) - 0.5, -0.5, S - 0.5, **faint)
    axes.set(xlim=(-0.5, S - 0.5), ylim=(T - 0.5, -0.5))  # limits stay when marks are added
    return image


def _scale_name(matrices: Mapping[str, AlignmentMatrix], norm: Normalize) -> str:
    """Return what the color scale says about the numbers."""
    if isinstance(norm, PowerNorm):
        return "weight, √ scale"
    if _are_nearly_uniform(matrices.values()):
        return "weight, own range"
    return "score" if [*matrices] == ["scores"] else "weight"


def _hatch(axes: Axes, matrix: AlignmentMatrix) -> None:
    """Hatch the rows and columns of words without a vector."""
    T, S = matrix.weights.shape
    source, target = matrix.unknown or ((), ())
    hatched: dict[str, Any] = {"hatch": "////", "facecolor": HATCH_GRAY, "edgecolor": "0.6", "linewidth": 0}
    corners = [((s - 0.5, -0.5), 1, T) for s in sorted(source)]
    corners += [((-0.5, t - 0.5), S, 1) for t in sorted(target)]
    for corner, width, height in corners:
        axes.add_patch(Rectangle(corner, width, height, **hatched))


def _draw_marks(axes: Axes, kinds: Mapping[Link, str], theme: Theme, cell: float, *, in_corner: bool) -> None:
    """Mark the cells of links by their kinds, as on a card; beside numbers, the signs are in the corner.

    A right link is a dot, a wrong one a box with a cross, a missed one a dashed box with a plus. Gold links
    alone are boxes, dashed if only possible.
    """
    shift = 0.27 if in_corner else 0.0
    size = cell * POINTS_PER_INCH * (0.2 if in_corner else 0.38)  # points
    dashes: dict[str, Any] = {"missed": (3, 2.2), "possible": (3, 2.2), "open": (1, 1.4)}
    for kind in dict.fromkeys(kinds.values()):
        links = [link for link, own in sorted(kinds.items()) if own == kind]
        source, target = np.array(links).T
        corner = source + shift, target - shift
        if kind in ("both", "hit"):
            ring: dict[str, Any] = {"c": theme.card, "edgecolors": theme.ink, "linewidths": 0.8}
            axes.scatter(*corner, s=size**2, zorder=3, **ring)
            continue
        color = theme.of_kind(kind)
        _draw_boxes(axes, links, cell, color, theme.card, dashes.get(kind))
        if kind in ("wrong", "missed"):
            marker = "x" if kind == "wrong" else "+"
            thin = float(np.clip(size / 5, 0.8, 2.0))
            for width, sign_color in ((2.5 * thin, theme.card), (thin, color)):
                axes.scatter(*corner, s=size**2, marker=marker, c=sign_color, linewidths=width, zorder=3)


def _draw_boxes(
    axes: Axes, links: Iterable[Link], cell: float, color: str, ground: str, dash: tuple[float, float] | None
) -> None:
    """Outline the cells of links in a color, with a rim that is seen on every cell."""
    boxes = [Rectangle((s - 0.42, t - 0.42), 0.84, 0.84) for s, t in links]
    thin = float(np.clip(cell * 3.6, 0.7, 1.5))  # points
    for width, edge in ((2.5 * thin, ground), (thin, color)):
        # matplotlib multiplies dashes by the width of the line
        style = "solid" if dash is None or edge == ground else (0, dash)
        line: dict[str, Any] = {"edgecolor": edge, "linewidth": width, "linestyle": [style]}
        outline = PatchCollection(boxes, facecolor="none", capstyle="butt", **line)
        axes.add_collection(outline, autolim=False)


def _write_numbers(axes: Axes, image: Any, matrix: AlignmentMatrix, cell: float) -> None:
    """Write each weight into its cell, dark on light and light on dark; none where a word has no vector."""
    if image is None:
        return
    source, target = matrix.unknown or ((), ())
    digits = _digit_count(image.norm.vmax - image.norm.vmin)
    size = NUMBER_SHARE * cell * POINTS_PER_INCH
    if cell * POINTS_PER_INCH >= NUMBER_POINTS * 2:
        size = max(NUMBER_POINTS, size)
    for (t, s), weight in np.ndenumerate(matrix.weights):
        if abs(weight) >= MIN_WRITTEN_WEIGHT and s not in source and t not in target:
            color = "black" if is_light(to_hex(image.cmap(image.norm(weight)))) else "white"
            text = format_weight(weight, digits)
            axes.text(s, t + 0.08, text, ha="center", va="center", size=size, color=color)


def _digit_count(span: float) -> int:
    """Return how many digits tell weights apart that differ by at most `span`: 2, for flat weights to 4."""
    return int(np.clip(1 - math.floor(math.log10(span)), 2, 4)) if span > 0 else 2


def format_weight(weight: float, digits: int = 2) -> str:
    """Return a weight, with two digits in at most four characters if possible: 0.07 as ``.07``.

    >>> [format_weight(x) for x in (0.07, 0.999, -0.5, 12.34)], format_weight(0.1234, digits=3)
    (['.07', '1.0', '-.50', '12.3'], '.123')
    """
    if abs(weight) >= 0.995:
        return f"{weight:.1f}" if abs(weight) < 100 else f"{weight:.0f}"
    return f"{weight:.{digits}f}".replace("0.", ".", 1)


def _draw_legend(panels: PanelFigure, content: _Content) -> None:
    """Draw one cell for each kind of mark in the picture, with its name next to it."""
    pale = content._replace(norm=Normalize(0.0, 1.0))
    for axes, (_, kind) in zip(panels.add_legend(), content.legend, strict=True):
        _draw_cells(axes, np.full((1, 1), 0.35), pale)
        if kind == NO_VECTOR_LABEL:
            _hatch(axes, AlignmentMatrix([[0.0]], ("",), ("",), (frozenset({0}), frozenset())))
        else:
            _draw_marks(axes, {Link(0, 0): kind}, content.theme, LEGEND_CELL_INCHES, in_corner=False)


# --- layout of the panels -------------------------------------------------------------------------


class PanelTexts(NamedTuple):
    """The texts of a figure of panels, besides the words of the sentence pair."""

    title: str
    panels: Sequence[str]  # the title of each panel
    scale: str  # what the color scale shows
    marks: Sequence[str]  # the names of the marks, for the legend
    notes: Sequence[str]


class PanelFigure:
    """A figure with a labeled panel for each name; below them the color scale, a legend, and notes.

    The figure is as large as its words need, or has a `width` in inches. Then no text is smaller than 7
    points, and if there is no room for all labels, only every n-th word has one, which a warning says.
    """

    def __init__(
        self,
        matrix: AlignmentMatrix,
        texts: PanelTexts,
        theme: Theme,
        columns: int | None = None,
        width: float | None = None,
    ) -> None:
        self.figure = new_figure()
        self.figure.set_facecolor(theme.card)
        self._theme = theme
        self._matrix = matrix
        self._texts = texts
        self._margin = MARGIN_INCHES if width is None else MARGIN_ON_PAPER_INCHES
        spelled_out = self._make_labels(MAX_LABEL_CHARS if width is None else MAX_LABEL_CHARS_ON_PAPER)
        square = max(3, math.ceil(math.sqrt(len(texts.panels))))
        columns = min(columns or square, len(texts.panels))
        if width is None:
            self._choose_cell(columns)
        else:
            self._fit_cell(columns, width)
        self._measure(width, spelled_out)
        self._add_texts_and_panels()

    def _make_labels(self, max_chars: int) -> list[str]:
        """Make the labels of both sides; return the lines that spell abbreviated words out."""
        tokens = self._matrix.source_tokens, self._matrix.target_tokens
        words = [[visible(word) for word in side] for side in tokens]
        short = [[abbreviate(word, max_chars) for word in side] for side in words]
        self._labels = [mark_mirrored_words(side) for side in short]
        word_of_label = dict(zip([*short[0], *short[1]], [*words[0], *words[1]], strict=True))
        return [f"{label} = {word}" for label, word in word_of_label.items() if label != word]

    def _choose_cell(self, columns: int) -> None:
        """Choose the size of cells and labels; the figure becomes as large as they need."""
        T, S = self._matrix.weights.shape
        self._columns = columns
        self.cell = _cell_inches(S, T, columns)
        points = LABEL_SHARE * self.cell * POINTS_PER_INCH
        self._font_size = max(MIN_FONT_POINTS, min(MAX_FONT_POINTS, points))
        self._label_step = _label_step(self.cell, MIN_FONT_POINTS)

    def _fit_cell(self, most_columns: int, width: float) -> None:
        """Choose the panels of a row, and the size of cells and labels, for a width in inches."""
        T, S = self._matrix.weights.shape
        for columns in range(most_columns, 0, -1):
            gaps = (columns - 1) * PANEL_GAP_INCHES + 2 * self._margin
            for points in range(MAX_FONT_POINTS, MIN_POINTS_ON_PAPER - 1, -1):
                left = self._widest(self._labels[1], points) + LABEL_PAD_INCHES
                room = max(width - gaps - left, 0.2)
                cell = min(room / (columns * max(S, 1)), MAX_CELL_INCHES, MAX_PANEL_INCHES / max(T, 1))
                if points <= LABEL_SHARE * cell * POINTS_PER_INCH:
                    break
            if _label_step(cell, MIN_POINTS_ON_PAPER) == 1:
                break
        self._columns = columns
        self.cell = cell
        self._font_size = points
        self._label_step = _label_step(cell, MIN_POINTS_ON_PAPER)
        if self._label_step > 1:
            pitch = LABEL_PITCH * MIN_POINTS_ON_PAPER / POINTS_PER_INCH
            needed = math.ceil(10 * (gaps + left + S * pitch)) / 10
            warn_caller(
                f"{S} source words of {MIN_POINTS_ON_PAPER} points do not fit into {width:g} inches,"
                f" so only one word in {self._label_step} has a label; pass a width of {needed:g} inches or"
                " more, or fewer words"
            )

    def _measure(self, width: float | None, spelled_out: Sequence[str]) -> None:
        """Compute the size of the figure from the sizes of its texts."""
        T, S = self._matrix.weights.shape
        self._width = max(S, 1) * self.cell
        self._height = max(T, 1) * self.cell
        source_labels, target_labels = self._labels
        self._top = self._widest(source_labels, self._font_size) + LABEL_PAD_INCHES
        self._left = self._widest(target_labels, self._font_size) + LABEL_PAD_INCHES
        panels_width = self._left + self._columns * self._width + (self._columns - 1) * PANEL_GAP_INCHES
        notes = [*self._texts.notes, *spelled_out]
        self._start = self._margin
        if width is None:
            title_width = self._widest([self._texts.title], TITLE_POINTS)
            room = max(panels_width, title_width, self._widest(notes, NOTE_POINTS), MIN_FIGURE_INCHES)
        else:
            room = width - 2 * self._margin
            self._start += max(0.0, room - panels_width) / 2  # in the middle
        titles = [self._texts.title] if self._texts.title else []
        self._title_lines = self._wrap(titles, TITLE_POINTS, room)
        self._notes = self._wrap(notes, NOTE_POINTS, room)
        self._place_legend(room)
        self._head = self._margin + TITLE_LINE_INCHES * len(self._title_lines)
        if self._title_lines:
            self._head += 0.1
        self._row = (0.25 if any(self._texts.panels) else 0.0) + self._top + self._height
        rows = math.ceil(len(self._texts.panels) / self._columns)
        self._below = self._head + rows * self._row + (rows - 1) * PANEL_GAP_INCHES + 0.1
        height = self._below + self._legend_height + NOTE_LINE_INCHES * len(self._notes) + self._margin
        self.figure.set_size_inches(2 * self._margin + room, height)

    def _place_legend(self, room: float) -> None:
        """Place the color scale and the marks in lines: where each begins, from the corner of the legend."""
        pictures = [SCALE_INCHES[0] + SCALE_END_INCHES + 0.04, *[LEGEND_CELL_INCHES] * len(self._texts.marks)]
        names = [self._texts.scale, *self._texts.marks]
        widths = [
            picture + 0.06 + self._widest([name], NOTE_POINTS) + LEGEND_GAP_INCHES
            for picture, name in zip(pictures, names, strict=True)
        ]
        self._legend_places = flow(widths, room + LEGEND_GAP_INCHES, LEGEND_ROW_INCHES)
        self._legend_height = self._legend_places[-1][1] + LEGEND_ROW_INCHES

    def _wrap(self, texts: Iterable[str], points: float, room: float) -> list[str]:
        """Return the lines of texts in a room of some inches."""
        return [
            line for text in texts for line in wrap_text(self.figure, text, points, room * self.figure.dpi)
        ]

    def _widest(self, texts: Sequence[str], points: float) -> float:
        """Return the width in inches of the widest of some texts, measured as lines of one text."""
        lines = "\n".join(dict.fromkeys(texts))
        return text_width(self.figure, lines, points) / self.figure.dpi

    def _add_axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Add axes at a place given in inches from the upper left corner."""
        figure_width, figure_height = self.figure.get_size_inches()
        bottom = figure_height - top - height
        return self.figure.add_axes(
            (
                left / figure_width,
                bottom / figure_height,
                width / figure_width,
                height / figure_height,
            )
        )

    def _write(self, text: str, left: float, top: float, points: float, **style: Any) -> None:
        """Write a line of text at a place given in inches from the upper left corner.

        `style` are properties of matplotlib's Text.
        """
        width, height = self.figure.get_size_inches()
        style = {"ha": "left", "va": "center", "color": self._theme.ink} | style
        self.figure.text(left / width, 1 - top / height, text, size=points, parse_math=False, **style)

    def _add_texts_and_panels(self) -> None:
        """Add the title, the panels with their labels, and the notes."""
        for number, line in enumerate(self._title_lines):
            self._write(line, self._margin, self._margin + 0.08 + TITLE_LINE_INCHES * number, TITLE_POINTS)
        self.axes: list[Axes] = []
        for number, name in enumerate(self._texts.panels):
            row, column = divmod(number, self._columns)
            left = self._start + self._left + column * (self._width + PANEL_GAP_INCHES)
            top_of_row = self._head + row * (self._row + PANEL_GAP_INCHES)
            top = top_of_row + self._row - self._height
            axes = self._add_axes(left, top, self._width, self._height)
            self.axes.append(axes)
            pad = LABEL_PAD_INCHES * POINTS_PER_INCH / 2
            style = {"pad": pad, "labelsize": self._font_size, "labelcolor": self._theme.ink}
            _write_labels(axes, self._labels, self._label_step, style, with_rows=column == 0)
            if name:
                self._write(name, left, top_of_row + 0.08, PANEL_TITLE_POINTS, weight="bold")
        for number, note in enumerate(self._notes):
            top = self._below + self._legend_height + NOTE_LINE_INCHES * (number + 0.5)
            self._write(note, self._margin, top, NOTE_POINTS, color=self._theme.soft)

    def add_color_scale(self, image: Any) -> None:
        """Draw the color scale of an image as the first part of the legend, with its name behind it."""
        x, y = self._legend_places[0]
        left, top = self._margin + x + SCALE_END_INCHES, self._below + y + 0.03
        width, height = SCALE_INCHES
        axes = self._add_axes(left, top, width, height)
        middle = 0.25 if isinstance(image.norm, PowerNorm) else 0.5  # a square-root scale is half way there
        low, high = image.get_clim()
        ticks = FixedLocator([low + share * (high - low) for share in (0, middle, 1)])
        scale = self.figure.colorbar(image, cax=axes, ticks=ticks, format="%.3g", orientation="horizontal")
        scale.outline.set(edgecolor=self._theme.line, linewidth=0.5)
        scale.ax.tick_params(
            labelsize=NOTE_POINTS, length=0, pad=2, labelcolor=self._theme.soft, color=self._theme.soft
        )
        self._write(self._texts.scale, left + width + 0.1, top + height / 2, NOTE_POINTS)

    def add_legend(self) -> list[Axes]:
        """Write the names of the marks behind the color scale; return an empty cell before each."""
        cells: list[Axes] = []
        for name, (x, y) in zip(self._texts.marks, self._legend_places[1:], strict=True):
            left, top = self._margin + x, self._below + y
            cell = self._add_axes(left, top, LEGEND_CELL_INCHES, LEGEND_CELL_INCHES)
            cell.set_axis_off()
            cells.append(cell)
            middle = top + LEGEND_CELL_INCHES / 2
            self._write(name, left + LEGEND_CELL_INCHES + 0.06, middle, NOTE_POINTS)
        return cells


def _label_step(cell: float, points: float) -> int:
    """Return which n-th words get labels, so that labels of some points do not overlap in small cells."""
    return math.ceil(LABEL_PITCH * points / POINTS_PER_INCH / max(cell, 1e-3))


def _write_labels(
    axes: Axes,
    labels: Sequence[Sequence[str]],
    step: int,
    style: Mapping[str, Any],
    *,
    with_rows: bool = True,
) -> None:
    """Write every n-th source word on top, rotated by 90 degrees, and every n-th target word on the left.

    `style` are parameters of matplotlib's ticks.
    """
    source, target = labels
    axes.xaxis.tick_top()
    axes.tick_params(length=0, **style)
    axes.set_xticks(range(len(source))[::step], source[::step], rotation=90, parse_math=False)
    axes.set_yticks(range(len(target))[::step], target[::step] if with_rows else [], parse_math=False)
    axes.spines[:].set_visible(False)


def label_axes(axes: Axes, matrix: AlignmentMatrix, cell: float) -> None:
    """Write the words of a matrix on top and on the left of axes whose cells have a side of `cell` inches."""
    font_size = max(MIN_FONT_POINTS, min(MAX_FONT_POINTS, LABEL_SHARE * cell * POINTS_PER_INCH))
    labels = [
        mark_mirrored_words([abbreviate(visible(word), MAX_LABEL_CHARS) for word in words])
        for words in (matrix.source_tokens, matrix.target_tokens)
    ]
    _write_labels(axes, labels, _label_step(cell, MIN_FONT_POINTS), {"labelsize": font_size})


def _cell_inches(S: int, T: int, columns: int) -> float:
    """Return the side of a cell: large for few words, never so small that labels cannot be read."""
    longest = max(S, T, 1)
    if columns == 1:
        wanted = min(max(6.3 / longest, 0.16), MAX_CELL_INCHES)
    else:
        wanted = min(max(13.0 / (columns * longest), 0.12), 0.3)
    return min(wanted, MAX_PANEL_INCHES / longest)
