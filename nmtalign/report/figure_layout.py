"""The layout of matplotlib figures, computed from the words that they show.

Heatmaps are laid out in inches, figures of curves in points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from nmtalign.display import abbreviate, is_right_to_left, mark_mirrored_words, visible
from nmtalign.errors import UsageError, warn_caller
from nmtalign.links.alignments import AlignmentMatrix
from nmtalign.report.style import Theme, new_figure

Point = tuple[float, float]

POINTS_PER_INCH = 72.0
MARGIN_INCHES = 0.15
MARGIN_ON_PAPER_INCHES = 0.04  # of a picture of a given width, whose page has margins of its own
MIN_POINTS_ON_PAPER = 7  # of the texts of a picture of a given width, as conferences ask
TITLE_POINTS = 11.0

# --- heatmaps ------------------------------------------------------------------------------------

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
MAX_LABEL_CHARS = 24  # longer words are abbreviated, and spelled out below the picture
MAX_LABEL_CHARS_ON_PAPER = 16
MIN_FONT_POINTS = 5.0
MAX_FONT_POINTS = 16
LABEL_SHARE = 0.7  # of a cell, is the size of its labels
LABEL_PITCH = 1.1  # times its size is the least distance of a label from the next one
PANEL_TITLE_POINTS = 9.5
NOTE_POINTS = 8.0  # legend, color scale, spelled-out words


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
        self._legend_places = _flow(widths, room + LEGEND_GAP_INCHES, LEGEND_ROW_INCHES)
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


def text_width(figure: Figure, text: str, points: float, font: FontProperties | None = None) -> float:
    """Return the width of a text in pixels, in a font or in the default one."""
    label = figure.text(0, 0, text, fontproperties=font, size=points, parse_math=False)
    width = label.get_window_extent().width
    label.remove()
    return float(width)


def wrap_text(figure: Figure, text: str, points: float, room: float) -> list[str]:
    """Return the lines of a text that is at most `room` pixels wide, unless a word is wider."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(figure, longer, points) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


_TICK_LENGTHS = ("labelsize", "pad", "length")  # of the ticks of an axis, in points


def scale_figure(figure: Figure, width: float, height: float) -> None:
    """Give a figure another size in inches; all that it shows is scaled with it, and stays inside.

    If the size has other proportions, the picture is in its middle.
    """
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
WORD_POINTS_ON_PAPER = (12.0, 10.0, 8.0)  # the first at which a pair needs no rows, else the last
LEGEND_POINTS = 9.0
WORD_GAP_POINTS = 10.0
LINE_GAP_POINTS = 58.0  # the curves are between the two lines
COLUMN_GAP_POINTS = 110.0  # the curves are between the two columns
MIN_COLUMN_GAP_POINTS = 40.0
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
MIN_ROW_FILL = 0.6  # a row has at least this share of the words for which there is room


class CurveStyle(NamedTuple):
    """The look of the curves of a kind of link, and their name in the legend."""

    color: str  # a field of `Theme`
    dashes: tuple[int, ...]  # lengths of dashes and gaps; empty for a solid curve
    mark: str  # written on the middle of a curve
    name: str


CURVE_STYLES = {
    "both": CurveStyle("link", (), "", "link"),
    "hit": CurveStyle("link", (), "", "right link"),
    "wrong": CurveStyle("wrong", (), "×", "wrong link"),
    "missed": CurveStyle("missed", (5, 4), "+", "missed link"),
    "sure": CurveStyle("accent", (), "", "sure gold link"),
    "possible": CurveStyle("accent", (2, 4), "", "possible gold link"),
}


class CurveFigure:
    """A figure with the words of both sides in two lines, and curves between them.

    If a line would be too long, it is cut into rows, where few links lead out of a row. If the sides are
    written in different directions, words are in two columns. The legend explains `kinds` of curves, which
    are keys of `CURVE_STYLES`. Without a `width` in inches, the figure is as wide as its words need.
    """

    def __init__(
        self,
        sides: Sequence[Sequence[str]],
        links: Iterable[tuple[int, int]],
        title: str,
        kinds: Sequence[str],
        theme: Theme,
        *,
        numbers: bool,
        width: float | None = None,
    ) -> None:
        self._sides = [mark_mirrored_words(side) for side in sides]
        self.figure = new_figure(POINTS_PER_INCH)  # so that a pixel is a point
        self.figure.set_facecolor(theme.card)
        self._theme = theme
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._turned = [is_right_to_left(side) for side in self._sides]
        self.down = self._turned[0] != self._turned[1]
        self._number_room = NUMBER_ROOM_POINTS if numbers else 0.0
        self._is_on_paper = width is not None
        if width is None:
            margin = MARGIN_INCHES * POINTS_PER_INCH
            room = MAX_LINE_POINTS
            widths = self._word_widths(WORD_POINTS)
        else:
            margin = MARGIN_ON_PAPER_INCHES * POINTS_PER_INCH
            room = width * POINTS_PER_INCH - 2 * margin
            for points in WORD_POINTS_ON_PAPER:
                widths = self._word_widths(points)
                if self._words_width(widths) <= room:
                    break
        words_width = self._words_width(widths)
        cuts = [(0, 0), (len(self._sides[0]), len(self._sides[1]))]
        if not self.down and words_width > room:
            cuts = cut_into_rows(widths, links, room, WORD_GAP_POINTS)
            words_width = room

        note = OPPOSITE_DIRECTIONS if self.down else ""
        legend_widths = [self._legend_width(kind) for kind in kinds]
        if width is None:
            title_width = text_width(self.figure, title, TITLE_POINTS)
            note_width = text_width(self.figure, note, LEGEND_POINTS)
            room = max(words_width, sum(legend_widths), title_width, note_width)
        elif words_width > room:
            least = math.ceil(10 * (words_width + 2 * margin) / POINTS_PER_INCH) / 10
            raise UsageError(f"words in two columns need a width of {least:g} inches, found {width:g}")
        title_lines = wrap_text(self.figure, title, TITLE_POINTS, room) if title else []
        legend_places = _flow(legend_widths, room, LEGEND_HEIGHT_POINTS)
        legend_height = legend_places[-1][1] + LEGEND_HEIGHT_POINTS if kinds else 0.0
        note_height = NOTE_HEIGHT_POINTS if note else 0.0

        top = margin + TITLE_HEIGHT_POINTS * len(title_lines)
        bottom = self._place_words(widths, cuts, top, margin, room)
        height = bottom + note_height + legend_height + margin
        self.figure.set_size_inches((room + 2 * margin) / POINTS_PER_INCH, height / POINTS_PER_INCH)
        self._axes.set(xlim=(0, room + 2 * margin), ylim=(height, 0))  # y goes down
        for number, line in enumerate(title_lines):
            self._write(line, margin, margin + 6 + TITLE_HEIGHT_POINTS * number, TITLE_POINTS, ha="left")
        self._write_words(widths, numbers=numbers)
        note_y = height - margin - 4 - legend_height
        self._write(note, margin, note_y, LEGEND_POINTS, ha="left", color=theme.soft)
        for kind, (x, y) in zip(kinds, legend_places, strict=True):
            self._draw_legend(kind, margin + x, note_y + LEGEND_HEIGHT_POINTS + y)

    def _place_words(
        self,
        widths: Sequence[Sequence[float]],
        cuts: Sequence[tuple[int, int]],
        top: float,
        left: float,
        room: float,
    ) -> float:
        """Choose where curves end: the place of each word, and its row; return where the words end."""
        self._ends: list[list[Point]] = [[], []]  # of both sides
        self._rows: list[list[int]] = [[], []]
        if self.down:
            top += COLUMN_WORD_POINTS / 2
            columns = [max([0.0, *side]) for side in widths]
            spare = room - self._words_width(widths) if self._is_on_paper else 0.0
            gap = min(COLUMN_GAP_POINTS, self._column_gap + spare)
            left_edge = left + (room - sum(columns) - gap) / 2 + columns[0]
            for side, x in enumerate((left_edge, left_edge + gap)):
                self._ends[side] = _column_points(x, top, len(self._sides[side]))
            return top + COLUMN_WORD_POINTS * max(map(len, self._sides)) - COLUMN_WORD_POINTS / 2
        top += self._number_room + WORD_POINTS / 2
        row_height = LINE_GAP_POINTS + ROW_GAP_POINTS + 2 * self._number_room
        for row, (before, after) in enumerate(pairwise(cuts)):
            for side in (0, 1):
                row_widths = widths[side][before[side] : after[side]]
                start = left + (room - _line_width(row_widths)) / 2
                centers = _word_centers(row_widths, start, turned=self._turned[side])
                y = top + row_height * row + LINE_GAP_POINTS * side
                self._ends[side] += [(x, y) for x in centers]
                self._rows[side] += [row] * len(centers)
        return top + row_height * (len(cuts) - 2) + LINE_GAP_POINTS + WORD_POINTS / 2 + self._number_room

    def _word_widths(self, points: float) -> list[list[float]]:
        """Return the width of each word at a size, which is that of the figure from now on."""
        self._word_points = points
        return [[text_width(self.figure, word, points) for word in side] for side in self._sides]

    @property
    def _column_gap(self) -> float:
        """The least space for curves between two columns."""
        return MIN_COLUMN_GAP_POINTS if self._is_on_paper else COLUMN_GAP_POINTS

    def _words_width(self, widths: Sequence[Sequence[float]]) -> float:
        """Return how wide two columns are at least, or the wider line of words."""
        if not self.down:
            return max(map(_line_width, widths))
        return sum(max([0.0, *side]) for side in widths) + self._column_gap + 2 * self._number_room

    def _write(self, text: str, x: float, y: float, points: float, **style: Any) -> None:
        """Write a text whose middle is at a height; `style` are properties of matplotlib's Text."""
        style = {"ha": "center", "va": "baseline", "color": self._theme.ink} | style
        baseline = y + 0.35 * points
        self._axes.text(x, baseline, text, size=points, parse_math=False, **style)

    def _write_words(self, widths: Sequence[Sequence[float]], *, numbers: bool) -> None:
        """Write the words of both sides, and their positions on the side that no curve reaches."""
        for side, outward in ((0, -1), (1, 1)):
            for position, word in enumerate(self._sides[side]):
                x, y = self._ends[side][position]
                if self.down:
                    self._write(word, x, y, self._word_points, ha="right" if side == 0 else "left")
                    number_x = x + outward * (widths[side][position] + 9)
                    number_y = y
                else:
                    self._write(word, x, y, self._word_points)
                    number_x = x
                    number_y = y + NUMBER_ROOM_POINTS * outward
                if numbers:
                    self._write(str(position), number_x, number_y, LEGEND_POINTS - 1, color=self._theme.soft)

    def _legend_width(self, kind: str) -> float:
        """Return the width of an entry of the legend, and of the gap behind it."""
        name_width = text_width(self.figure, CURVE_STYLES[kind].name, LEGEND_POINTS)
        return LEGEND_LINE_POINTS + LEGEND_GAP_POINTS + name_width

    def _draw_legend(self, kind: str, x: float, y: float) -> None:
        """Draw a short curve of a kind, with its name."""
        middle = x + LEGEND_LINE_POINTS / 2
        self._draw([(x, y), (middle, y), (middle, y), (x + LEGEND_LINE_POINTS, y)], kind, 1.6)
        name_x = x + LEGEND_LINE_POINTS + 5
        self._write(CURVE_STYLES[kind].name, name_x, y, LEGEND_POINTS, ha="left", color=self._theme.soft)

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
        style = CURVE_STYLES[kind]
        # matplotlib multiplies dashes by the width of the line
        line_style = (0, [length / width for length in style.dashes]) if style.dashes else "solid"
        curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        stubs = [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO]
        path = Path(course, stubs if are_stubs else curve)
        color = getattr(self._theme, style.color)
        line: dict[str, Any] = {
            "color": color,
            "linestyle": line_style,
            "linewidth": width,
            "capstyle": "round",
            "alpha": STUB_OPACITY if are_stubs else 1.0,
        }
        self._axes.add_patch(PathPatch(path, fill=False, **line))
        if style.mark and not are_stubs:
            x, y = course[0]
            u, v = course[-1]
            ground = {"boxstyle": "circle,pad=0.05", "facecolor": self._theme.card, "edgecolor": "none"}
            middle = (x + u) / 2, (y + v) / 2
            self._write(style.mark, *middle, 10, color=color, weight="bold", bbox=ground)


def _line_width(widths: Sequence[float]) -> float:
    """Return how wide words are as a line."""
    return sum(widths) + WORD_GAP_POINTS * (len(widths) - 1)


def _flow(widths: Sequence[float], room: float, row_height: float) -> list[Point]:
    """Place parts of some widths in lines of a room: where each begins, from the corner of the first."""
    places: list[Point] = []
    x = y = 0.0
    for width in widths:
        if x and x + width > room:
            x = 0.0
            y += row_height
        places.append((x, y))
        x += width
    return places


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
    ends = [[*accumulate(side, lambda end, width: end + width + gap, initial=0.0)] for side in widths]
    whole = len(widths[0]), len(widths[1])
    positions = np.array(list(links), int).reshape(-1, 2)
    cuts = [(0, 0)]
    while cuts[-1] != whole:
        cuts.append(_next_cut(ends, positions, cuts[-1], room))
    return cuts


def _next_cut(
    ends: Sequence[Sequence[float]], links: NDArray[np.int_], before: tuple[int, int], room: float
) -> tuple[int, int]:
    """Return where the row that begins at `before` ends on both sides; `links` has a row for each link."""
    shortest: list[int] = []
    longest: list[int] = []
    for start, side_ends in zip(before, ends, strict=True):
        stop = start
        while stop + 1 < len(side_ends) and side_ends[stop + 1] - side_ends[start] <= room:
            stop += 1
        # a word that is wider than its row has a row of its own
        stop = max(stop, min(start + 1, len(side_ends) - 1))
        shortest.append(start + math.ceil(MIN_ROW_FILL * (stop - start)))
        longest.append(stop)
    if longest == [len(side_ends) - 1 for side_ends in ends]:
        return longest[0], longest[1]
    choices = np.subtract(longest, shortest) + 1
    # the first end, counted from the shortest row, that is behind each word of a link
    first_ends = np.clip(links - shortest + 1, 0, choices)
    counts = np.zeros(choices + 1, int)
    np.add.at(counts, tuple(first_ends.T), 1)
    both_before = counts.cumsum(axis=0).cumsum(axis=1)
    # a link leads out of a row if one of its words alone is before the end
    leading_out = (both_before[:, -1:] + both_before[-1:] - 2 * both_before)[:-1, :-1]
    source_end, target_end = np.argwhere(leading_out == leading_out.min())[-1] + shortest  # the longest row
    return int(source_end), int(target_end)
