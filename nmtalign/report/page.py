"""The layout of pictures, computed from the words they show: of heatmaps in inches, of curves in points."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from nmtalign.links.alignments import AlignmentMatrix
from nmtalign.report.figures import new_figure
from nmtalign.report.style import shorten, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 72.0  # points in an inch
MARGIN = 0.15
PAD = 0.08  # between a label and its cell
GAP = 0.3  # between panels
BAR, BAR_ROOM = 0.14, 0.75  # width of the color bar, with its numbers
LEGEND_CELL = 0.2
LONGEST_LABEL = 24  # characters; longer words are shortened and spelled out below the picture
LARGEST_SIDE = 40.0  # a panel is never larger
SMALLEST_FONT = 5.0  # points
NOTE_SIZE = 8.0  # points: legend, color bar, spelled-out words

SIZE, SMALL = 12.0, 9.0  # points: words, and what is said of them
SPACE = 10.0  # between words of a line
DEPTH, BREADTH, ROW = 58.0, 110.0, 18.0  # between two lines of words, two columns, two words of a column
WIDEST = 720.0  # a line; longer sentences stand in columns
_MARK = "\u200f"  # the right-to-left mark, which is not seen
INK, SOFT = "#1d1e22", "#5c5f68"  # as in the report
KINDS = {  # color, dashes, mark and meaning of curves
    "both": ("#59616e", (), "", "link"),
    "hit": ("#2a7a55", (), "", "link in the gold"),
    "wrong": ("#b34700", (), "×", "link not in it"),
    "missed": ("#0a66a8", (5, 4), "+", "sure link missing"),
    "sure": ("#1f5fa8", (), "", "sure"),
    "possible": ("#1f5fa8", (2, 4), "", "possible"),
}


class Panels:
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
        self._columns = min(columns or max(3, math.ceil(math.sqrt(len(names)))), len(names))
        self.cell = _cell_size(S, T, self._columns)
        self._font_size = max(SMALLEST_FONT, min(16.0, 0.7 * self.cell * POINTS))
        self._every = math.ceil(1.1 * SMALLEST_FONT / POINTS / self.cell)  # fewer labels than overlap
        self._width, self._height = max(S, 1) * self.cell, max(T, 1) * self.cell
        self._measure(matrix, names, title, notes)
        self._fill(names, title)

    def _measure(
        self, matrix: AlignmentMatrix, names: Sequence[str], title: str, notes: Sequence[str]
    ) -> None:
        """Compute the size of the figure from the sizes of its texts."""
        words = [visible(w) for w in (*matrix.source_tokens, *matrix.target_tokens)]
        short = [shorten(word, LONGEST_LABEL) for word in words]
        S = len(matrix.source_tokens)
        self._labels = as_they_face(short[:S]), as_they_face(short[S:])
        pairs = dict(zip(short, words, strict=True)).items()
        self._notes = [*notes, *(f"{a} = {b}" for a, b in pairs if a != b)]
        self._top, self._left = (self._widest(side, self._font_size) + PAD for side in self._labels)
        self._top = max(self._top, 0.35)  # of the name of the color bar
        self._head = MARGIN + (0.3 if title else 0.0)
        self._row = (0.25 if any(names) else 0.0) + self._top + self._height
        rows = math.ceil(len(names) / self._columns)
        panels = self._left + self._columns * self._width + (self._columns - 1) * GAP + BAR_ROOM
        self._below = self._head + rows * self._row + (rows - 1) * GAP
        heading, said = self._widest([title], 11), self._widest(self._notes, NOTE_SIZE)
        height = self._below + 0.35 + 0.16 * len(self._notes) + MARGIN
        self.figure.set_size_inches(2 * MARGIN + max(panels, heading, said, 2.6), height)

    def _widest(self, texts: Sequence[str], points: float) -> float:
        """Return the width in inches of the widest of some texts, measured as lines of one text."""
        return _width(self.figure, "\n".join(dict.fromkeys(texts)), points) / self.figure.dpi

    def _axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Add axes at a place given in inches from the upper left corner."""
        total_width, total_height = self.figure.get_size_inches()
        bottom = total_height - top - height
        return self.figure.add_axes(
            (left / total_width, bottom / total_height, width / total_width, height / total_height)
        )

    def _write(self, text: str, left: float, top: float, points: float, **how: Any) -> None:
        """Write a line of text at a place given in inches from the upper left corner."""
        width, height = self.figure.get_size_inches()
        how = {"ha": "left", "va": "center"} | how
        self.figure.text(left / width, 1 - top / height, text, size=points, parse_math=False, **how)

    def _fill(self, names: Sequence[str], title: str) -> None:
        """Add the title, the panels with their labels, and the spelled-out words."""
        if title:
            self._write(title, MARGIN, MARGIN + 0.08, 11)
        self.axes = []
        for number, name in enumerate(names):
            row, column = divmod(number, self._columns)
            left = MARGIN + self._left + column * (self._width + GAP)
            top = self._head + row * (self._row + GAP) + self._row - self._height
            self.axes.append(self._axes(left, top, self._width, self._height))
            self._label(self.axes[-1], with_rows=column == 0)
            if name:
                self._write(name, left, self._head + row * (self._row + GAP) + 0.08, 9.5, weight="bold")
        for number, text in enumerate(self._notes):
            self._write(text, MARGIN, self._below + 0.4 + 0.16 * number, NOTE_SIZE, color="0.25")

    def _label(self, axes: Axes, *, with_rows: bool) -> None:
        """Write source words on top, rotated by 90 degrees, and target words on the left."""
        source, target = self._labels
        axes.xaxis.tick_top()
        axes.tick_params(length=0, pad=PAD * POINTS / 2, labelsize=self._font_size)
        every = slice(None, None, self._every)
        axes.set_xticks(range(len(source))[every], source[every], rotation=90, parse_math=False)
        axes.set_yticks(range(len(target))[every], target[every] if with_rows else [], parse_math=False)
        axes.spines[:].set_visible(False)

    def add_color_bar(self, image: Any, name: str) -> None:
        """Add the color scale and its name at the right of the first row."""
        from matplotlib.colors import PowerNorm
        from matplotlib.ticker import FixedLocator, MaxNLocator

        left = MARGIN + self._left + self._columns * self._width + (self._columns - 1) * GAP + 0.15
        top = self._head + self._row - self._height
        height = min(self._height, 4.0)
        axes = self._axes(left, top, BAR, height)
        most, (low, high) = max(2, min(6, int(height / 0.3))), image.get_clim()
        roots = isinstance(image.norm, PowerNorm)
        shares = (0, 0.05, 0.25, 0.5, 1) if most > 4 else (0, 0.25, 1)
        ticks = FixedLocator([low + share * (high - low) for share in shares]) if roots else MaxNLocator(most)
        bar = self.figure.colorbar(image, cax=axes, ticks=ticks, format="%.3g")
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=NOTE_SIZE, length=2)
        self._write(name, left, top - 0.06, NOTE_SIZE, va="bottom", linespacing=1.0)

    def add_legend(self, names: Sequence[str]) -> list[Axes]:
        """Write a line of names below the panels; return an empty cell before each."""
        left, cells = MARGIN, []
        for name in names:
            cells.append(self._axes(left, self._below + 0.1, LEGEND_CELL, LEGEND_CELL))
            cells[-1].set_axis_off()
            self._write(name, left + LEGEND_CELL + 0.06, self._below + 0.1 + LEGEND_CELL / 2, NOTE_SIZE)
            left += LEGEND_CELL + 0.2 + self._widest([name], NOTE_SIZE)
        return cells


def _cell_size(S: int, T: int, columns: int) -> float:
    """Return the side of a cell in inches: large for few words, never so small that labels cannot be read."""
    longest = max(S, T, 1)
    if columns == 1:
        wanted = min(max(6.3 / longest, 0.16), 0.5)
    else:
        wanted = min(max(13.0 / (columns * longest), 0.12), 0.3)
    return min(wanted, LARGEST_SIDE / longest)


def _width(figure: Figure, text: str, points: float) -> float:
    """Return the width of a text in pixels."""
    label = figure.text(0, 0, text, size=points, parse_math=False)
    width = label.get_window_extent().width
    label.remove()
    return float(width)


class Board:
    """A figure with the words of both sides in two lines, or else in two columns, and curves between them.

    The legend explains the `kinds` of the curves to come, keys of `KINDS`.
    """

    def __init__(
        self, sides: Sequence[Sequence[str]], title: str, kinds: Sequence[str], *, numbers: bool
    ) -> None:
        sides = [as_they_face(side) for side in sides]
        self.figure = new_figure(POINTS)
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        widths = [[_width(self.figure, word, SIZE) for word in side] for side in sides]
        lines = [sum(side) + SPACE * (len(side) - 1) for side in widths]
        turned = [_is_right_to_left(side) for side in sides]
        self.down = max(lines) > WIDEST or turned[0] != turned[1]
        margin, room = MARGIN * POINTS, 14.0 * numbers  # of the numbers
        top = margin + 20.0 * bool(title) + (ROW / 2 if self.down else room + SIZE / 2)
        legend = [48 + _width(self.figure, KINDS[kind][3], SMALL) for kind in kinds]
        if self.down:
            left, right = (max([0.0, *side]) for side in widths)
            inner, foot = left + BREADTH + right + 2 * room, ROW * max(map(len, sides)) - ROW / 2
        else:
            inner, foot = max(lines), DEPTH + SIZE / 2 + room
        width = max(inner, sum(legend), _width(self.figure, title, 11)) + 2 * margin
        height = top + foot + 22.0 * bool(legend) + margin
        self.figure.set_size_inches(width / POINTS, height / POINTS)
        self._axes.set(xlim=(0, width), ylim=(height, 0))
        start = (width - inner) / 2
        if self.down:
            edges = start + room + left, start + room + left + BREADTH
            self._ends = [
                [(x, top + ROW * n) for n in range(len(side))] for x, side in zip(edges, sides, strict=True)
            ]
        else:
            self._ends = [
                [(x, y) for x in _centers(side, (width - line) / 2, turned=back)]
                for side, line, back, y in zip(widths, lines, turned, (top, top + DEPTH), strict=True)
            ]
        self._write(title, margin, margin + 6, 11, ha="left")
        self._write_words(sides, widths, numbers=numbers)
        self._draw_legend(kinds, legend, margin, height - margin - 4)

    def _write(self, text: str, x: float, y: float, points: float, **how: Any) -> None:
        how = {"ha": "center", "va": "baseline", "color": INK} | how
        self._axes.text(x, y + 0.35 * points, text, size=points, parse_math=False, **how)

    def _write_words(
        self, sides: Sequence[Sequence[str]], widths: Sequence[Sequence[float]], *, numbers: bool
    ) -> None:
        for side, sign in enumerate((-1, 1)):
            for n, (word, (x, y)) in enumerate(zip(sides[side], self._ends[side], strict=True)):
                if self.down:
                    self._write(word, x, y, SIZE, ha="right" if side == 0 else "left")
                    beside = x + sign * (widths[side][n] + 9), y
                else:
                    self._write(word, x, y, SIZE)
                    beside = x, y + 14 * sign
                if numbers:
                    self._write(str(n), *beside, SMALL - 1, color=SOFT)

    def _draw_legend(self, kinds: Sequence[str], widths: Sequence[float], x: float, y: float) -> None:
        for kind, width in zip(kinds, widths, strict=True):
            self._draw([(x, y), (x + 14, y), (x + 14, y), (x + 28, y)], kind, 1.6)
            self._write(KINDS[kind][3], x + 33, y, SMALL, ha="left", color=SOFT)
            x += width

    def curve(self, link: tuple[int, int], kind: str, weight: float) -> None:
        """Draw a link; the likelier, the wider."""
        self._draw(self._course(link), kind, 1 + 1.6 * weight)

    def _course(self, link: tuple[int, int]) -> list[tuple[float, float]]:
        """Return the two ends of a curve, and the points between them that it bends to."""
        (x, y), (u, v) = (ends[n] for ends, n in zip(self._ends, link, strict=True))
        if self.down:
            x, u, middle = x + 4, u - 4, (x + u) / 2
            return [(x, y), (middle, y), (middle, v), (u, v)]
        y, v, middle = y + SIZE * 0.75, v - SIZE * 0.75, (y + v) / 2
        return [(x, y), (x, middle), (u, middle), (u, v)]

    def _draw(self, course: Sequence[tuple[float, float]], kind: str, width: float) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        color, dashes, mark, _ = KINDS[kind]
        style = (0, [length / width for length in dashes]) if dashes else "solid"
        path = Path(course, [Path.MOVETO, *[Path.CURVE4] * 3])
        line: dict[str, Any] = {"color": color, "linestyle": style, "linewidth": width, "capstyle": "round"}
        self._axes.add_patch(PathPatch(path, fill=False, **line))
        if mark:
            (x, y), *_, (u, v) = course
            ground = {"boxstyle": "circle,pad=0.05", "facecolor": "white", "edgecolor": "none"}
            self._write(mark, (x + u) / 2, (y + v) / 2, 10, color=color, weight="bold", bbox=ground)


def _centers(widths: Sequence[float], start: float, *, turned: bool) -> list[float]:
    """Return where the middles of the words of a line stand, from right to left if it is turned."""
    ordered = widths[::-1] if turned else widths
    ends = accumulate((width + SPACE for width in ordered), initial=start)
    centers = [end + width / 2 for end, width in zip(ends, ordered, strict=False)]
    return centers[::-1] if turned else centers


def _first_direction(words: Iterable[str]) -> str:
    """Return the direction of the first letter that has one: ``L``, ``R`` or ``AL``; empty if none has."""
    ways = (unicodedata.bidirectional(letter) for word in words for letter in word)
    return next((way for way in ways if way in ("L", "R", "AL")), "")


def _is_right_to_left(words: Iterable[str]) -> bool:
    """Tell whether the first letter of a sentence is one that is written from right to left."""
    return _first_direction(words) in ("R", "AL")


def as_they_face(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a sentence, with marks around those whose brackets face to the left.

    A bracket that stands alone has no direction; it faces as in its sentence.
    """
    if not _is_right_to_left(words):
        return words
    turned = [any(map(unicodedata.mirrored, word)) and _first_direction(word) != "L" for word in words]
    return [f"{_MARK}{word}{_MARK}" if turns else word for word, turns in zip(words, turned, strict=True)]
