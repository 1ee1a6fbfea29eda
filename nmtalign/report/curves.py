"""Links as curves between the words: the kinds of links, and a picture of a sentence pair.

Lengths are points. The words of both sides are in two lines, which are cut into rows if they are long, or in
two columns if the sides are written in opposite directions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.path import Path
from numpy.typing import NDArray

from nmtalign.display import abbreviate, are_opposite, is_right_to_left, mark_mirrored_words, visible
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
    PointFigure,
    Theme,
    flow,
    fonts_for,
    theme_of,
    wrap_text,
)
from nmtalign.settings import PictureSettings

DEFAULT_TITLE = "Word alignment"  # what a screen reader reads of a picture without a title
WORD_POINTS = 12.0
WORD_POINTS_ON_PAPER = (12.0, 10.0, 8.0)  # the first at which a pair needs no rows, else the last
LEGEND_POINTS = 9.0
WORD_GAP_POINTS = 10.0
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


# The kinds of links: chosen ones, judged by gold links if these are given; gold links alone; and gold links
# that are only possible and not chosen, of which there is no curve.
NAMES_OF_KINDS = {
    "both": "link",
    "hit": "right link",
    "wrong": "wrong link",
    "missed": "missed link",
    "sure": "sure gold link",
    "possible": "possible gold link",
    "open": "possible, not linked",
}
SIGNS = {"wrong": "×", "missed": "+"}  # written on the middle of a curve
DASHES = {"missed": (5, 4), "possible": (2, 4)}  # lengths of dashes and gaps


class CurveMeasures(NamedTuple):
    """How far apart words are in a picture, and how its curves bend."""

    word_points: float  # the size of the words
    word_gaps: tuple[float, float]  # the least and the largest between the words of a line
    line_distance: float  # from the source words of a row to its target words
    row_distance: float
    column_gaps: tuple[float, float]  # the least and the largest between the two columns
    column_distance: float  # from a word of a column to the next one
    edge: float  # from the middle of a line of words to the ends of its curves
    column_edge: float  # from a word of a column to the ends of its curves
    reach: float  # the share of its way at which a curve bends


class PlacedWord(NamedTuple):
    """A word of a picture: its middle, its width, and its row."""

    x: float
    y: float
    width: float
    row: int


@dataclass(frozen=True)
class PlacedWords:
    """Where the words of both sides are: in two lines for each row, or in two columns (`down`)."""

    sides: Sequence[Sequence[PlacedWord]]
    measures: CurveMeasures
    down: bool

    def course(self, link: tuple[int, int], shifts: tuple[float, float] = (0.0, 0.0)) -> list[Point]:
        """Return the four points of a link's curve, whose ends are shifted along the words."""
        source, target = (side[position] for side, position in zip(self.sides, link, strict=True))
        if self.down:
            x, y = source.x + source.width / 2 + self.measures.column_edge, source.y + shifts[0]
            u, v = target.x - target.width / 2 - self.measures.column_edge, target.y + shifts[1]
            reach = self.measures.reach * (u - x)
            return [(x, y), (x + reach, y), (u - reach, v), (u, v)]
        x, y = source.x + shifts[0], source.y + self.measures.edge
        u, v = target.x + shifts[1], target.y - self.measures.edge
        reach = self.measures.reach * (v - y)
        return [(x, y), (x, y + reach), (u, v - reach), (u, v)]

    def leads_out(self, link: tuple[int, int]) -> bool:
        """Return whether the words of a link are in different rows."""
        return self.sides[0][link[0]].row != self.sides[1][link[1]].row


def line_width(widths: Sequence[float], gap: float) -> float:
    """Return how wide words are as a line."""
    return sum(widths) + gap * max(0, len(widths) - 1)


def place_in_rows(
    sides: Sequence[Sequence[str]],
    widths: Sequence[Sequence[float]],
    cuts: Sequence[tuple[int, int]],
    measures: CurveMeasures,
    corner: Point,
    room: float,
) -> PlacedWords:
    """Place words of some widths in two lines for each row; both are spread, as far as the gaps allow.

    `cuts` are those of :func:`cut_into_rows`; the first words are at the height of the corner.
    """
    left, top = corner
    least, largest = measures.word_gaps
    placed: list[list[PlacedWord]] = [[], []]
    for row, (before, after) in enumerate(pairwise(cuts)):
        parts = [widths[side][before[side] : after[side]] for side in (0, 1)]
        full = min(room, max(line_width(part, largest) for part in parts))
        for side, part in enumerate(parts):
            y = top + measures.row_distance * row + measures.line_distance * side
            gap = (full - sum(part)) / max(1, len(part) - 1)
            gap = max(min(gap, largest), min(gap, least))
            turned = is_right_to_left(sides[side])
            edge = left + (room - line_width(part, gap)) / 2
            line: list[PlacedWord] = []
            for width in reversed(part) if turned else part:
                line.append(PlacedWord(edge + width / 2, y, width, row))
                edge += width + gap
            placed[side] += reversed(line) if turned else line
    return PlacedWords(placed, measures, down=False)


def place_in_columns(
    widths: Sequence[Sequence[float]], measures: CurveMeasures, corner: Point, room: float
) -> PlacedWords:
    """Place the words of each side in a column; the columns are in the middle of their room."""
    left, top = corner
    columns = [max(side, default=0.0) for side in widths]
    least, largest = measures.column_gaps
    gap = max(least, min(largest, room - sum(columns)))
    inner = left + max(0.0, room - sum(columns) - gap) / 2 + columns[0]
    placed = [
        [
            PlacedWord(edge + outward * width / 2, top + measures.column_distance * row, width, 0)
            for row, width in enumerate(side)
        ]
        for side, edge, outward in zip(widths, (inner, inner + gap), (-1, 1), strict=True)
    ]
    return PlacedWords(placed, measures, down=True)


MEASURES = CurveMeasures(
    word_points=WORD_POINTS,
    word_gaps=(WORD_GAP_POINTS, WORD_GAP_POINTS),
    line_distance=58.0,
    row_distance=88.0,
    column_gaps=(40.0, 110.0),
    column_distance=18.0,
    edge=0.75 * WORD_POINTS,
    column_edge=4.0,
    reach=0.5,
)


class CurveFigure(PointFigure):
    """A figure with the words of both sides in two lines, and curves between them.

    If a line would be too long, it is cut into rows, where few links lead out of a row. If the sides are
    written in different directions, words are in two columns. The legend explains `kinds` of curves, which
    are keys of `NAMES_OF_KINDS`. Without a `width` in inches, the figure is as wide as its words need.
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
        super().__init__(theme)
        self._sides = [mark_mirrored_words(side) for side in sides]
        self._down = are_opposite(*self._sides)
        self._note = OPPOSITE_DIRECTIONS if self._down else ""
        self._title = title
        self._kinds = kinds
        self._has_numbers = numbers
        self._number_room = NUMBER_ROOM_POINTS if numbers else 0.0
        self._margin = POINTS_PER_INCH * (MARGIN_INCHES if width is None else MARGIN_ON_PAPER_INCHES)
        words_width = self._fit_words(links, width)
        self._choose_room(words_width, width)
        self._place_texts_and_words()
        self._write_texts()

    def _fit_words(self, links: Iterable[tuple[int, int]], width: float | None) -> float:
        """Choose the size of the words and their rows; return how wide they are."""
        room = MAX_LINE_POINTS if width is None else width * POINTS_PER_INCH - 2 * self._margin
        least_gap, largest_gap = MEASURES.column_gaps
        column_gap = largest_gap if width is None else least_gap
        for points in (WORD_POINTS,) if width is None else WORD_POINTS_ON_PAPER:
            widths = [[self.width(word, points) for word in side] for side in self._sides]
            words_width = max(line_width(side, WORD_GAP_POINTS) for side in widths)
            if self._down:
                columns = [max(side, default=0.0) for side in widths]
                words_width = sum(columns) + column_gap + 2 * self._number_room
            if words_width <= room:
                break
        row_distance = MEASURES.row_distance + 2 * self._number_room
        self._measures = MEASURES._replace(word_points=points, row_distance=row_distance)
        self._widths = widths
        self._cuts = [(0, 0), (len(widths[0]), len(widths[1]))]
        if words_width <= room or self._down:
            return words_width
        self._cuts = cut_into_rows(widths, links, room, WORD_GAP_POINTS)
        return room

    def _choose_room(self, words_width: float, width: float | None) -> None:
        """Choose the width of the figure inside its margins."""
        self._legend_widths = [self._legend_width(kind) for kind in self._kinds]
        if width is None:
            title_width = self.width(self._title, TITLE_POINTS)
            note_width = self.width(self._note, LEGEND_POINTS)
            self._room = max(words_width, sum(self._legend_widths), title_width, note_width)
            return
        self._room = width * POINTS_PER_INCH - 2 * self._margin
        if words_width > self._room:
            least = math.ceil(10 * (words_width + 2 * self._margin) / POINTS_PER_INCH) / 10
            raise UsageError(f"words in two columns need a width of {least:g} inches, found {width:g}")

    def _place_texts_and_words(self) -> None:
        """Compute where title, words and legend are, and the height of the figure."""
        title = self._title
        self._title_lines = wrap_text(self.figure, title, TITLE_POINTS, self._room) if title else []
        bottom = self._place_words(self._margin + TITLE_HEIGHT_POINTS * len(self._title_lines))
        self._legend_places = flow(self._legend_widths, self._room, LEGEND_HEIGHT_POINTS)
        legend_height = self._legend_places[-1][1] + LEGEND_HEIGHT_POINTS if self._kinds else 0.0
        self._note_y = bottom + (NOTE_HEIGHT_POINTS if self._note else 0.0) - 4
        height = self._note_y + 4 + legend_height + self._margin
        self.resize(self._room + 2 * self._margin, height)

    def _place_words(self, top: float) -> float:
        """Place the words below a height; return where they end."""
        measures = self._measures
        if self._down:
            corner = self._margin + self._number_room, top + measures.column_distance / 2
            room = self._room - 2 * self._number_room
            self._words = place_in_columns(self._widths, measures, corner, room)
            return top + measures.column_distance * max(map(len, self._sides))
        edge = self._number_room + WORD_POINTS / 2
        corner = self._margin, top + edge
        self._words = place_in_rows(self._sides, self._widths, self._cuts, measures, corner, self._room)
        rows = len(self._cuts) - 1
        return top + edge + measures.row_distance * (rows - 1) + measures.line_distance + edge

    def _write_texts(self) -> None:
        for number, line in enumerate(self._title_lines):
            y = self._margin + 6 + TITLE_HEIGHT_POINTS * number
            self.write(line, self._margin, y, TITLE_POINTS)
        self._write_words()
        self.write(self._note, self._margin, self._note_y, LEGEND_POINTS, color=self.theme.soft)
        for kind, (x, y) in zip(self._kinds, self._legend_places, strict=True):
            self._draw_legend(kind, self._margin + x, self._note_y + LEGEND_HEIGHT_POINTS + y)

    def _write_words(self) -> None:
        """Write the words of both sides, and their positions on the side that no curve reaches."""
        points = self._measures.word_points
        for side, outward in ((0, -1), (1, 1)):
            placed = zip(self._sides[side], self._words.sides[side], strict=True)
            for position, (word, place) in enumerate(placed):
                if self._down:
                    edge = place.x - outward * place.width / 2
                    self.write(word, edge, place.y, points, ha="right" if side == 0 else "left")
                    number_x = edge + outward * (place.width + 9)
                    number_y = place.y
                else:
                    self.write(word, place.x, place.y, points, ha="center")
                    number_x = place.x
                    number_y = place.y + NUMBER_ROOM_POINTS * outward
                if self._has_numbers:
                    style = {"ha": "center", "color": self.theme.soft}
                    self.write(str(position), number_x, number_y, LEGEND_POINTS - 1, **style)

    def _legend_width(self, kind: str) -> float:
        """Return the width of an entry of the legend, and of the gap behind it."""
        name_width = self.width(NAMES_OF_KINDS[kind], LEGEND_POINTS)
        return LEGEND_LINE_POINTS + LEGEND_GAP_POINTS + name_width

    def _draw_legend(self, kind: str, x: float, y: float) -> None:
        """Draw a short curve of a kind, with its name."""
        middle = x + LEGEND_LINE_POINTS / 2
        self._draw([(x, y), (middle, y), (middle, y), (x + LEGEND_LINE_POINTS, y)], kind, 1.6)
        name_x = x + LEGEND_LINE_POINTS + 5
        self.write(NAMES_OF_KINDS[kind], name_x, y, LEGEND_POINTS, color=self.theme.soft)

    def curve(self, link: tuple[int, int], kind: str, weight: float) -> None:
        """Draw a link; the likelier, the wider. One from a row to another is a stub at both of its ends."""
        course = self._words.course(link)
        is_cut = self._words.leads_out(link)
        if is_cut:
            (x, y), (u, v) = course[0], course[-1]
            course = [(x, y), (x, y + STUB_POINTS), (u, v - STUB_POINTS), (u, v)]
        self._draw(course, kind, 1 + 1.6 * weight, are_stubs=is_cut)

    def _draw(self, course: Sequence[Point], kind: str, width: float, *, are_stubs: bool = False) -> None:
        """Draw a curve along four points, with its mark on the middle; or a stub at each of its ends."""
        curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
        stubs = [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO]
        color = self.theme.of_kind(kind)
        alpha = STUB_OPACITY if are_stubs else 1.0
        codes = stubs if are_stubs else curve
        self.stroke(course, codes, color, width, dashes=DASHES.get(kind, ()), alpha=alpha)
        if kind in SIGNS and not are_stubs:
            x, y = course[0]
            u, v = course[-1]
            ground = {"boxstyle": "circle,pad=0.05", "facecolor": self.theme.card, "edgecolor": "none"}
            middle = (x + u) / 2, (y + v) / 2
            self.write(SIGNS[kind], *middle, 10, ha="center", color=color, weight="bold", bbox=ground)


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
    used = {*kinds.values()}
    legend = [] if used <= {"both"} else [kind for kind in NAMES_OF_KINDS if kind in used]
    title = abbreviate(visible(settings.title), MAX_TITLE_CHARS)
    with fonts_for([*sides[0], *sides[1], title, *SIGNS.values()]):
        board = CurveFigure(
            sides,
            sorted(kinds),
            title,
            legend,
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
    """Return the links to draw, each with its kind, a key of `NAMES_OF_KINDS`."""
    chosen = links_in_matrix(() if links is None else links, matrix)
    if gold is None:
        return dict.fromkeys(chosen, "both")
    judged = as_gold(gold)
    sure, possible = links_in_matrix(judged.sure, matrix), links_in_matrix(judged.possible, matrix)
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
        if kind != "open"
    ]
    return f"{told} Links: {', '.join(listed)}." if listed else told


def links_in_matrix(links: Iterable[tuple[int, int]], matrix: AlignmentMatrix) -> set[Link]:
    """Return `links` as a set; raise DataError if the matrix does not have their positions."""
    T, S = matrix.weights.shape
    # an Alignment knows the numbers of words, other links do not
    source = getattr(links, "source_length", S)
    target = getattr(links, "target_length", T)
    if (source, target) != (S, T):
        sizes = f"{source} and {target}"
        raise DataError(f"expected links of {S} source and {T} target words, found links of {sizes}")
    return set(Alignment(links, S, T).links)
