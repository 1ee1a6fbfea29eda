"""Links as curves between the words: the kinds of links, and a picture of a sentence pair.

Lengths are points. The words of both sides are in two lines, which are cut into rows if they are long, or in
two columns if the sides are written in opposite directions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray

from nmtalign.display import abbreviate, is_right_to_left, mark_mirrored_words, visible
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import Alignment, AlignmentMatrix, GoldAlignment, Link
from nmtalign.links.inputs import LinksOfPair, as_gold
from nmtalign.report.style import (
    MARGIN_INCHES,
    MARGIN_ON_PAPER_INCHES,
    MAX_LABEL_CHARS,
    MAX_TITLE_CHARS,
    POINTS_PER_INCH,
    TITLE_POINTS,
    Point,
    Theme,
    flow,
    fonts_for,
    new_figure,
    text_width,
    theme_of,
    wrap_text,
)
from nmtalign.settings import PictureSettings

DEFAULT_TITLE = "Word alignment"  # what a screen reader reads of a picture without a title
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
OPEN = "open"  # the kind of a possible gold link that is not linked, of which there is no curve


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
        legend_places = flow(legend_widths, room, LEGEND_HEIGHT_POINTS)
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


def draw_curves(matrix: AlignmentMatrix, settings: PictureSettings) -> Figure:
    """Draw the links of one sentence pair as curves between its words, as the report does.

    The likelier a link, the wider its curve. Links that the gold has are green, others orange with a cross;
    sure ones that are missing are blue and dashed, with a plus. Without `links` the gold links themselves
    are drawn: dashed if they are only possible. With `numbers`, each word has its position next to it. The
    sentences are two lines, which are split into rows if they are long. Two sentences in opposite writing
    directions are two columns. With `width` in inches, no text is smaller than 7 points.
    """
    kinds = kinds_of_links(matrix, settings.links, settings.gold)
    tokens = matrix.source_tokens, matrix.target_tokens
    sides = [[abbreviate(visible(word), MAX_LABEL_CHARS) or "␣" for word in side] for side in tokens]
    weights = np.clip(matrix.weights, 0.0, 1.0)
    shown = [] if {*kinds.values()} <= {"both"} else [kind for kind in CURVE_STYLES if kind in kinds.values()]
    title = abbreviate(visible(settings.title), MAX_TITLE_CHARS)
    with fonts_for([*sides[0], *sides[1], title, *(CURVE_STYLES[kind].mark for kind in shown)]):
        board = CurveFigure(
            sides,
            sorted(kinds),
            title,
            shown,
            theme_of(dark=bool(settings.dark)),
            numbers=bool(settings.numbers),
            width=settings.width,
        )
        for link, kind in sorted(kinds.items()):
            board.curve(link, kind, 0.6 if kind == "missed" else float(weights[link.target, link.source]))
    board.figure.title_and_description = title or DEFAULT_TITLE, tell_links(matrix, kinds)
    return board.figure


def kinds_of_links(
    matrix: AlignmentMatrix, links: Iterable[tuple[int, int]] | None, gold: GoldAlignment | LinksOfPair | None
) -> dict[Link, str]:
    """Return the links to draw, each with its key in `CURVE_STYLES`."""
    chosen = links_inside(() if links is None else links, matrix)
    if gold is None:
        return dict.fromkeys(chosen, "both")
    judged = as_gold(gold)
    sure, possible = links_inside(judged.sure, matrix), links_inside(judged.possible, matrix)
    if links is None:
        return {link: "sure" if link in sure else "possible" for link in sure | possible}
    kinds = {link: "hit" if link in possible else "wrong" for link in chosen}
    return kinds | dict.fromkeys(sure - chosen, "missed")


def tell_links(matrix: AlignmentMatrix, kinds: Mapping[Link, str]) -> str:
    """Return a sentence pair and its links in words, for readers who do not see them."""
    source, target = (
        [visible(word) for word in side] for side in (matrix.source_tokens, matrix.target_tokens)
    )
    told = f"{' '.join(source)} – {' '.join(target)}."
    listed = [
        f"{source[link.source]} – {target[link.target]}"
        + (f" ({kind})" if kind in ("wrong", "missed") else "")
        for link, kind in sorted(kinds.items())
        if kind != OPEN
    ]
    return f"{told} Links: {', '.join(listed)}." if listed else told


def links_inside(links: Iterable[tuple[int, int]], matrix: AlignmentMatrix) -> set[Link]:
    """Return `links` as a set; raise DataError if the matrix does not have their positions."""
    T, S = matrix.weights.shape
    # an Alignment knows the numbers of words, other links do not
    source = getattr(links, "source_length", S)
    target = getattr(links, "target_length", T)
    if (source, target) != (S, T):
        sizes = f"{source} and {target}"
        raise DataError(f"expected links of {S} source and {T} target words, found links of {sizes}")
    return set(Alignment(links, S, T).links)
