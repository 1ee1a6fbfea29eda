"""The layout of matplotlib figures, computed from the words that they show.

Heatmaps are laid out in inches, figures of curves in points.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nmtalign.links.alignments import AlignmentMatrix
from nmtalign.report.style import abbreviate, new_figure, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

    Point = tuple[float, float]

POINTS_PER_INCH = 72.0
MARGIN_INCHES = 0.15
TITLE_POINTS = 11.0

# --- heatmaps ------------------------------------------------------------------------------------

LABEL_PAD_INCHES = 0.08  # separates a label from its cell
PANEL_GAP_INCHES = 0.3
COLOR_BAR_INCHES = 0.14
COLOR_BAR_ROOM_INCHES = 0.75  # the bar and its numbers
MAX_COLOR_BAR_INCHES = 4.0
LEGEND_CELL_INCHES = 0.2
NOTE_LINE_INCHES = 0.16
MIN_FIGURE_INCHES = 2.6
MAX_PANEL_INCHES = 40.0
MAX_LABEL_CHARS = 24  # longer words are abbreviated, and spelled out below the picture
MIN_FONT_POINTS = 5.0
MAX_FONT_POINTS = 16.0
PANEL_TITLE_POINTS = 9.5
NOTE_POINTS = 8.0  # legend, color bar, spelled-out words


class PanelFigure:
    """A figure with a labeled panel for each name, room for a color bar and a legend; notes below."""

    def __init__(
        self,
        matrix: AlignmentMatrix,
        names: Sequence[str],
        title: str,
        columns: int | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.figure = new_figure()
        T, S = matrix.weights.shape
        square = max(3, math.ceil(math.sqrt(len(names))))
        self._columns = min(columns or square, len(names))
        self.cell = _cell_inches(S, T, self._columns)
        self._font_size = max(MIN_FONT_POINTS, min(MAX_FONT_POINTS, 0.7 * self.cell * POINTS_PER_INCH))
        # in cells smaller than a letter, only every n-th word gets a label, so that labels do not overlap
        label_inches = 1.1 * MIN_FONT_POINTS / POINTS_PER_INCH
        self._label_step = math.ceil(label_inches / self.cell)
        self._width = max(S, 1) * self.cell
        self._height = max(T, 1) * self.cell
        self._measure(matrix, names, title, notes)
        self._add_texts_and_panels(names, title)

    def _measure(
        self, matrix: AlignmentMatrix, names: Sequence[str], title: str, notes: Sequence[str]
    ) -> None:
        """Compute the size of the figure from the sizes of its texts."""
        words = [visible(word) for word in (*matrix.source_tokens, *matrix.target_tokens)]
        labels = [abbreviate(word, MAX_LABEL_CHARS) for word in words]
        S = len(matrix.source_tokens)
        self._labels = mark_mirrored_words(labels[:S]), mark_mirrored_words(labels[S:])
        word_of_label = dict(zip(labels, words, strict=True))
        spelled_out = [f"{label} = {word}" for label, word in word_of_label.items() if label != word]
        self._notes = [*notes, *spelled_out]

        source_labels, target_labels = self._labels
        self._top = self._widest(source_labels, self._font_size) + LABEL_PAD_INCHES
        self._top = max(self._top, 0.35)  # room for the name of the color bar
        self._left = self._widest(target_labels, self._font_size) + LABEL_PAD_INCHES
        self._head = MARGIN_INCHES + (0.3 if title else 0.0)
        self._row = (0.25 if any(names) else 0.0) + self._top + self._height
        rows = math.ceil(len(names) / self._columns)
        self._below = self._head + rows * self._row + (rows - 1) * PANEL_GAP_INCHES

        gaps = (self._columns - 1) * PANEL_GAP_INCHES
        panels_width = self._left + self._columns * self._width + gaps + COLOR_BAR_ROOM_INCHES
        title_width = self._widest([title], TITLE_POINTS)
        notes_width = self._widest(self._notes, NOTE_POINTS)
        width = max(panels_width, title_width, notes_width, MIN_FIGURE_INCHES)
        height = self._below + 0.35 + NOTE_LINE_INCHES * len(self._notes) + MARGIN_INCHES
        self.figure.set_size_inches(2 * MARGIN_INCHES + width, height)

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
        style = {"ha": "left", "va": "center"} | style
        self.figure.text(left / width, 1 - top / height, text, size=points, parse_math=False, **style)

    def _add_texts_and_panels(self, names: Sequence[str], title: str) -> None:
        """Add the title, the panels with their labels, and the spelled-out words."""
        if title:
            self._write(title, MARGIN_INCHES, MARGIN_INCHES + 0.08, TITLE_POINTS)
        self.axes: list[Axes] = []
        for number, name in enumerate(names):
            row, column = divmod(number, self._columns)
            left = MARGIN_INCHES + self._left + column * (self._width + PANEL_GAP_INCHES)
            top_of_row = self._head + row * (self._row + PANEL_GAP_INCHES)
            top = top_of_row + self._row - self._height
            axes = self._add_axes(left, top, self._width, self._height)
            self.axes.append(axes)
            self._label(axes, with_rows=column == 0)
            if name:
                self._write(name, left, top_of_row + 0.08, PANEL_TITLE_POINTS, weight="bold")
        for number, note in enumerate(self._notes):
            top = self._below + 0.4 + NOTE_LINE_INCHES * number
            self._write(note, MARGIN_INCHES, top, NOTE_POINTS, color="0.25")

    def _label(self, axes: Axes, *, with_rows: bool) -> None:
        """Write source words on top, rotated by 90 degrees, and target words on the left."""
        source, target = self._labels
        axes.xaxis.tick_top()
        pad = LABEL_PAD_INCHES * POINTS_PER_INCH / 2
        axes.tick_params(length=0, pad=pad, labelsize=self._font_size)
        labeled = slice(None, None, self._label_step)
        axes.set_xticks(range(len(source))[labeled], source[labeled], rotation=90, parse_math=False)
        row_labels = target[labeled] if with_rows else []
        axes.set_yticks(range(len(target))[labeled], row_labels, parse_math=False)
        axes.spines[:].set_visible(False)

    def add_color_bar(self, image: Any, name: str) -> None:
        """Add the color scale and its name at the right of the first row."""
        from matplotlib.colors import PowerNorm
        from matplotlib.ticker import FixedLocator, Locator, MaxNLocator

        gaps = (self._columns - 1) * PANEL_GAP_INCHES
        left = MARGIN_INCHES + self._left + self._columns * self._width + gaps + 0.15
        top = self._head + self._row - self._height
        height = min(self._height, MAX_COLOR_BAR_INCHES)
        axes = self._add_axes(left, top, COLOR_BAR_INCHES, height)
        max_ticks = max(2, min(6, int(height / 0.3)))
        ticks: Locator = MaxNLocator(max_ticks)
        if isinstance(image.norm, PowerNorm):
            # on a square-root scale, evenly spaced ticks would crowd at one end
            shares = (0, 0.05, 0.25, 0.5, 1) if max_ticks > 4 else (0, 0.25, 1)
            low, high = image.get_clim()
            ticks = FixedLocator([low + share * (high - low) for share in shares])
        bar = self.figure.colorbar(image, cax=axes, ticks=ticks, format="%.3g")
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=NOTE_POINTS, length=2)
        self._write(name, left, top - 0.06, NOTE_POINTS, va="bottom", linespacing=1.0)

    def add_legend(self, names: Sequence[str]) -> list[Axes]:
        """Write a line of names below the panels; return an empty cell before each."""
        left = MARGIN_INCHES
        top = self._below + 0.1
        cells: list[Axes] = []
        for name in names:
            cell = self._add_axes(left, top, LEGEND_CELL_INCHES, LEGEND_CELL_INCHES)
            cell.set_axis_off()
            cells.append(cell)
            middle = top + LEGEND_CELL_INCHES / 2
            self._write(name, left + LEGEND_CELL_INCHES + 0.06, middle, NOTE_POINTS)
            left += LEGEND_CELL_INCHES + 0.2 + self._widest([name], NOTE_POINTS)
        return cells


def label_axes(axes: Axes, matrix: AlignmentMatrix, cell: float) -> None:
    """Write the words of a matrix on top and on the left of axes whose cells have a side of `cell` inches."""
    font_size = max(MIN_FONT_POINTS, min(MAX_FONT_POINTS, 0.7 * cell * POINTS_PER_INCH))
    step = math.ceil(1.1 * MIN_FONT_POINTS / POINTS_PER_INCH / max(cell, 1e-3))
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=font_size)
    sides = (axes.set_xticks, matrix.source_tokens, 90), (axes.set_yticks, matrix.target_tokens, 0)
    for set_ticks, words, rotation in sides:
        labels = mark_mirrored_words([abbreviate(visible(word), MAX_LABEL_CHARS) for word in words])
        positions = range(len(labels))[::step]
        set_ticks(positions, labels[::step], rotation=rotation, parse_math=False)
    axes.spines[:].set_visible(False)


def _cell_inches(S: int, T: int, columns: int) -> float:
    """Return the side of a cell: large for few words, never so small that labels cannot be read."""
    longest = max(S, T, 1)
    if columns == 1:
        wanted = min(max(6.3 / longest, 0.16), 0.5)
    else:
        wanted = min(max(13.0 / (columns * longest), 0.12), 0.3)
    return min(wanted, MAX_PANEL_INCHES / longest)


def text_width(figure: Figure, text: str, points: float, font: FontProperties | None = None) -> float:
    """Return the width of a text in pixels, in a font or in the default one."""
    label = figure.text(0, 0, text, fontproperties=font, size=points, parse_math=False)
    width = label.get_window_extent().width
    label.remove()
    return float(width)


_TICK_LENGTHS = ("labelsize", "pad", "length")  # of the ticks of an axis, in points


def scale_figure(figure: Figure, width: float, height: float) -> None:
    """Give a figure another size in inches; all that it shows is scaled with it, and stays inside.

    If the size has other proportions, the picture is in its middle.
    """
    from matplotlib.collections import Collection, PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    old_width, old_height = figure.get_size_inches()
    factor = min(width / old_width, height / old_height)
    share = factor * old_width / width, factor * old_height / height  # of the new figure
    margin = (1 - share[0]) / 2, (1 - share[1]) / 2
    for axes in figure.axes:
        box = axes.get_position()
        left, bottom = margin[0] + share[0] * box.x0, margin[1] + share[1] * box.y0
        axes.set_position((left, bottom, share[0] * box.width, share[1] * box.height))
        for axis in (axes.xaxis, axes.yaxis):
            lengths = {name: value for name, value in axis.get_tick_params().items() if name in _TICK_LENGTHS}
            axis.set_tick_params(**{name: factor * value for name, value in lengths.items()})
        for text in axes.texts:
            text.set_fontsize(factor * text.get_fontsize())
    for text in figure.texts:
        x, y = text.get_position()
        text.set_position((margin[0] + share[0] * x, margin[1] + share[1] * y))
        text.set_fontsize(factor * text.get_fontsize())
    for kind in (Patch, Line2D):
        for shape in figure.findobj(kind):
            assert isinstance(shape, (Patch, Line2D))
            shape.set_linewidth(factor * shape.get_linewidth())
    for shapes in figure.findobj(Collection):
        shapes.set_linewidth([factor * line for line in np.atleast_1d(shapes.get_linewidth())])
        if isinstance(shapes, PathCollection):
            shapes.set_sizes([factor**2 * size for size in shapes.get_sizes()])
    figure.set_size_inches(width, height)


# --- curves between words ------------------------------------------------------------------------

WORD_POINTS = 12.0
LEGEND_POINTS = 9.0
WORD_GAP_POINTS = 10.0
LINE_GAP_POINTS = 58.0  # the curves are between the two lines
COLUMN_GAP_POINTS = 110.0  # the curves are between the two columns
ROW_GAP_POINTS = 30.0  # separates the rows of a long pair
COLUMN_WORD_POINTS = 18.0  # height of a word in a column, with the space below it
MAX_LINE_POINTS = 720.0  # longer sentences are cut into rows
STUB_POINTS = 10.0
STUB_OPACITY = 0.6
OPPOSITE_DIRECTIONS = "opposite directions: both are read from the top"
NUMBER_ROOM_POINTS = 14.0  # beside the words, if these are numbered
LEGEND_LINE_POINTS = 28.0  # the curve before each name of the legend
LEGEND_GAP_POINTS = 20.0
TITLE_HEIGHT_POINTS = 20.0
LEGEND_HEIGHT_POINTS = 22.0
NOTE_HEIGHT_POINTS = 18.0
TEXT_COLOR = "#1b1d22"  # the colors of the card in light
SOFT_COLOR = "#5a5e68"
MIN_ROW_FILL = 0.6  # a row has at least this share of the words for which there is room
_RIGHT_TO_LEFT_MARK = "\u200f"  # invisible


class CurveStyle(NamedTuple):
    """The look of the curves of a kind of link, and their text in the legend."""

    color: str
    dashes: tuple[int, ...]  # lengths of dashes and gaps; empty for a solid curve
    mark: str  # written on the middle of a curve
    meaning: str


CURVE_STYLES = {
    "both": CurveStyle("#00735a", (), "", "link"),
    "hit": CurveStyle("#00735a", (), "", "link in the gold"),
    "wrong": CurveStyle("#b54708", (), "×", "link not in it"),
    "missed": CurveStyle("#0063b1", (5, 4), "+", "sure link missing"),
    "sure": CurveStyle("#1f5fa8", (), "", "sure"),
    "possible": CurveStyle("#1f5fa8", (2, 4), "", "possible"),
}


class CurveFigure:
    """A figure with the words of both sides in two lines, and curves between them.

    If a line would be too long, it is cut into rows, where few links lead out of a row. If the sides are
    written in different directions, words are in two columns. The legend explains `kinds` of curves, which
    are keys of `CURVE_STYLES`.
    """

    def __init__(
        self,
        sides: Sequence[Sequence[str]],
        links: Iterable[tuple[int, int]],
        title: str,
        kinds: Sequence[str],
        *,
        numbers: bool,
    ) -> None:
        sides = [mark_mirrored_words(side) for side in sides]
        self.figure = new_figure(POINTS_PER_INCH)  # so that a pixel is a point
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        widths = [[text_width(self.figure, word, WORD_POINTS) for word in side] for side in sides]
        line_widths = [sum(side) + WORD_GAP_POINTS * (len(side) - 1) for side in widths]
        turned = [is_right_to_left(side) for side in sides]
        self.down = turned[0] != turned[1]
        cuts = [(0, 0), (len(sides[0]), len(sides[1]))]
        if not self.down and max(line_widths) > MAX_LINE_POINTS:
            cuts = cut_into_rows(widths, links, MAX_LINE_POINTS, WORD_GAP_POINTS)
        row_count = len(cuts) - 1
        # the row of each word, for both sides
        self._rows: list[list[int]] = [[], []]

        margin = MARGIN_INCHES * POINTS_PER_INCH
        number_room = NUMBER_ROOM_POINTS if numbers else 0.0
        title_height = TITLE_HEIGHT_POINTS if title else 0.0
        note = OPPOSITE_DIRECTIONS if self.down else ""
        kinds_height = LEGEND_HEIGHT_POINTS if kinds else 0.0
        note_height = NOTE_HEIGHT_POINTS if note else 0.0
        legend_height = kinds_height + note_height
        legend_widths = [self._legend_width(kind) for kind in kinds]
        if self.down:
            left_column, right_column = (max([0.0, *side]) for side in widths)
            words_width = left_column + COLUMN_GAP_POINTS + right_column + 2 * number_room
            words_height = COLUMN_WORD_POINTS * max(map(len, sides)) - COLUMN_WORD_POINTS / 2
            top = margin + title_height + COLUMN_WORD_POINTS / 2
        else:
            left_column = 0.0
            words_width = max(line_widths) if row_count == 1 else MAX_LINE_POINTS
            row_height = LINE_GAP_POINTS + ROW_GAP_POINTS + 2 * number_room
            words_height = LINE_GAP_POINTS + WORD_POINTS / 2 + number_room + (row_count - 1) * row_height
            top = margin + title_height + (number_room + WORD_POINTS / 2)
        title_width = text_width(self.figure, title, TITLE_POINTS)
        note_width = text_width(self.figure, note, LEGEND_POINTS)
        width = max(words_width, sum(legend_widths), title_width, note_width) + 2 * margin
        height = top + words_height + legend_height + margin
        self.figure.set_size_inches(width / POINTS_PER_INCH, height / POINTS_PER_INCH)
        self._axes.set(xlim=(0, width), ylim=(height, 0))  # y goes down

        # where curves end: of each side, the place of each word
        self._ends: list[list[Point]]
        if self.down:
            left_edge = (width - words_width) / 2 + number_room + left_column
            edges = left_edge, left_edge + COLUMN_GAP_POINTS
            self._ends = [_column_points(x, top, len(side)) for x, side in zip(edges, sides, strict=True)]
        else:
            self._ends = [[], []]
            for row, (before, after) in enumerate(pairwise(cuts)):
                for side in (0, 1):
                    row_widths = widths[side][before[side] : after[side]]
                    line_width = sum(row_widths) + WORD_GAP_POINTS * (len(row_widths) - 1)
                    start = (width - line_width) / 2
                    centers = _word_centers(row_widths, start, turned=turned[side])
                    y = top + row_height * row + LINE_GAP_POINTS * side
                    self._ends[side] += [(x, y) for x in centers]
                    self._rows[side] += [row] * len(centers)
        self._write(title, margin, margin + 6, TITLE_POINTS, ha="left")
        self._write_words(sides, widths, numbers=numbers)
        self._draw_legend(kinds, legend_widths, margin, height - margin - 4)
        note_y = height - margin - 4 - kinds_height
        self._write(note, margin, note_y, LEGEND_POINTS, ha="left", color=SOFT_COLOR)

    def _write(self, text: str, x: float, y: float, points: float, **style: Any) -> None:
        """Write a text whose middle is at a height; `style` are properties of matplotlib's Text."""
        style = {"ha": "center", "va": "baseline", "color": TEXT_COLOR} | style
        baseline = y + 0.35 * points
        self._axes.text(x, baseline, text, size=points, parse_math=False, **style)

    def _write_words(
        self, sides: Sequence[Sequence[str]], widths: Sequence[Sequence[float]], *, numbers: bool
    ) -> None:
        """Write the words of both sides, and their positions on the side that no curve reaches."""
        for side, outward in ((0, -1), (1, 1)):
            for position, word in enumerate(sides[side]):
                x, y = self._ends[side][position]
                if self.down:
                    self._write(word, x, y, WORD_POINTS, ha="right" if side == 0 else "left")
                    number_x = x + outward * (widths[side][position] + 9)
                    number_y = y
                else:
                    self._write(word, x, y, WORD_POINTS)
                    number_x = x
                    number_y = y + NUMBER_ROOM_POINTS * outward
                if numbers:
                    self._write(str(position), number_x, number_y, LEGEND_POINTS - 1, color=SOFT_COLOR)

    def _legend_width(self, kind: str) -> float:
        """Return the width of an entry of the legend, and of the gap behind it."""
        name_width = text_width(self.figure, CURVE_STYLES[kind].meaning, LEGEND_POINTS)
        return LEGEND_LINE_POINTS + LEGEND_GAP_POINTS + name_width

    def _draw_legend(self, kinds: Sequence[str], widths: Sequence[float], x: float, y: float) -> None:
        for kind, width in zip(kinds, widths, strict=True):
            middle = x + LEGEND_LINE_POINTS / 2
            self._draw([(x, y), (middle, y), (middle, y), (x + LEGEND_LINE_POINTS, y)], kind, 1.6)
            name_x = x + LEGEND_LINE_POINTS + 5
            self._write(CURVE_STYLES[kind].meaning, name_x, y, LEGEND_POINTS, ha="left", color=SOFT_COLOR)
            x += width

    def curve(self, link: tuple[int, int], kind: str, weight: float) -> None:
        """Draw a link; the likelier, the wider. One from a row to another is a stub at both of its ends."""
        source, target = link
        course = self._course(link)
        width = 1 + 1.6 * weight
        if self.down or self._rows[0][source] == self._rows[1][target]:
            self._draw(course, kind, width)
            return
        (x, y), (u, v) = course[0], course[-1]
        stubs = [(x, y), (x, y + STUB_POINTS), (u, v - STUB_POINTS), (u, v)]
        self._draw(stubs, kind, width, are_stubs=True)

    def _course(self, link: tuple[int, int]) -> list[Point]:
        """Return the two ends of a curve, and the points between them that it bends to."""
        source, target = link
        x, y = self._ends[0][source]
        u, v = self._ends[1][target]
        if self.down:
            x, u = x + 4, u - 4
            middle = (x + u) / 2
            return [(x, y), (middle, y), (middle, v), (u, v)]
        y, v = y + WORD_POINTS * 0.75, v - WORD_POINTS * 0.75
        middle = (y + v) / 2
        return [(x, y), (x, middle), (u, middle), (u, v)]

    def _draw(self, course: Sequence[Point], kind: str, width: float, *, are_stubs: bool = False) -> None:
        """Draw a curve along four points, with its mark on the middle; or a stub at each of its ends."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        style = CURVE_STYLES[kind]
        # matplotlib multiplies dashes by the width of the line
        line_style = (0, [length / width for length in style.dashes]) if style.dashes else "solid"
        curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        stubs = [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO]
        path = Path(course, stubs if are_stubs else curve)
        line: dict[str, Any] = {
            "color": style.color,
            "linestyle": line_style,
            "linewidth": width,
            "capstyle": "round",
            "alpha": STUB_OPACITY if are_stubs else 1.0,
        }
        self._axes.add_patch(PathPatch(path, fill=False, **line))
        if style.mark and not are_stubs:
            x, y = course[0]
            u, v = course[-1]
            ground = {"boxstyle": "circle,pad=0.05", "facecolor": "white", "edgecolor": "none"}
            middle = (x + u) / 2, (y + v) / 2
            self._write(style.mark, *middle, 10, color=style.color, weight="bold", bbox=ground)


def _column_points(x: float, top: float, count: int) -> list[Point]:
    """Return where the words of a column are."""
    return [(x, top + COLUMN_WORD_POINTS * number) for number in range(count)]


def _word_centers(widths: Sequence[float], start: float, *, turned: bool) -> list[float]:
    """Return the middle of each word of a line, which runs from right to left if it is turned."""
    centers: list[float] = []
    edge = start
    for width in reversed(widths) if turned else widths:
        centers.append(edge + width / 2)
        edge += width + WORD_GAP_POINTS
    return centers[::-1] if turned else centers


def cut_into_rows(
    widths: Sequence[Sequence[float]], links: Iterable[tuple[int, int]], room: float, gap: float
) -> list[tuple[int, int]]:
    """Return where the rows of a long pair begin and end on both sides.

    Each row is as long as its room allows, or ends sooner, where fewer links lead out of it. The widths are
    those of the words of both sides.
    """
    ends: list[list[float]] = []
    for side in widths:
        side_ends = [0.0]
        for width in side:
            side_ends.append(side_ends[-1] + width + gap)
        ends.append(side_ends)
    whole = len(widths[0]), len(widths[1])
    links = list(links)
    cuts = [(0, 0)]
    while cuts[-1] != whole:
        cuts.append(_next_cut(ends, links, cuts[-1], room))
    return cuts


def _next_cut(
    ends: Sequence[Sequence[float]], links: Sequence[tuple[int, int]], before: tuple[int, int], room: float
) -> tuple[int, int]:
    """Return where the row that begins at `before` ends on both sides."""
    choices: list[range] = []
    for side in (0, 1):
        start = before[side]
        stop = start
        while stop + 1 < len(ends[side]) and ends[side][stop + 1] - ends[side][start] <= room:
            stop += 1
        # a word that is wider than its row has a row of its own
        stop = max(stop, min(start + 1, len(ends[side]) - 1))
        shortest = start + math.ceil(MIN_ROW_FILL * (stop - start))
        choices.append(range(stop, shortest - 1, -1))
    best = choices[0][0], choices[1][0]
    if best == (len(ends[0]) - 1, len(ends[1]) - 1):
        return best
    fewest = len(links) + 1
    for source_end in choices[0]:
        for target_end in choices[1]:
            crossing = sum((source < source_end) != (target < target_end) for source, target in links)
            if crossing < fewest:
                fewest = crossing
                best = source_end, target_end
    return best


# --- words that are written from right to left ---------------------------------------------------


def _first_direction(words: Iterable[str]) -> str:
    """Return the direction of the first letter that has one: ``L``, ``R`` or ``AL``; empty if none has."""
    for word in words:
        for letter in word:
            direction = unicodedata.bidirectional(letter)
            if direction in ("L", "R", "AL"):
                return direction
    return ""


def is_right_to_left(words: Iterable[str]) -> bool:
    """Return whether the first letter of a sentence is one that is written from right to left."""
    return _first_direction(words) in ("R", "AL")


def mark_mirrored_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a sentence, with right-to-left marks around those whose brackets face to the left.

    A bracket that is a word of its own has no direction; it faces as in its sentence.
    """
    if not is_right_to_left(words):
        return words
    marked: list[str] = []
    for word in words:
        has_bracket = any(unicodedata.mirrored(letter) for letter in word)
        if has_bracket and _first_direction(word) != "L":
            word = f"{_RIGHT_TO_LEFT_MARK}{word}{_RIGHT_TO_LEFT_MARK}"
        marked.append(word)
    return marked
