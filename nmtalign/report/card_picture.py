"""The card of the report as a picture: the curves, beneath them what they show, and the matrix with its key.

Lengths are pixels of a card that is 1100 pixels wide. A figure of 72 dots per inch makes them points. A card
of a given width has as many pixels as make its smallest text 7 points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np
from matplotlib.collections import Collection, PatchCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import NDArray

from nmtalign.display import abbreviate, are_opposite, is_right_to_left, mark_mirrored_words, visible
from nmtalign.links.alignments import AlignedPair, Link
from nmtalign.links.inputs import as_gold
from nmtalign.report.card_reasons import (
    NO_PARTNER,
    Bar,
    BarGroup,
    CardContent,
    PairWord,
    Part,
    PinnedReasons,
    attention_of,
    closest_calls,
    explain_pair,
    explain_word,
    facts_of,
    matrix_with_probabilities,
    pinned_word,
    shown_word,
    title_of_card,
    what_a_link_needs,
    whole_percent,
    words_in_view,
)
from nmtalign.report.curves import (
    OPPOSITE_DIRECTIONS,
    SIGNS,
    CurveMeasures,
    PlacedWords,
    cut_into_rows,
    kinds_of_links,
    line_width,
    place_in_columns,
    place_in_rows,
)
from nmtalign.report.page_content import min_posterior
from nmtalign.report.style import (
    DEFAULT_FONT,
    MAX_TITLE_CHARS,
    MIN_POINTS_ON_PAPER,
    POINTS_PER_INCH,
    Point,
    PointFigure,
    Theme,
    choose_fonts,
    fonts_for,
    scale_figure,
    theme_of,
    wrap_text,
)
from nmtalign.settings import PictureSettings

WIDTH_POINTS = 1100.0
PADDING_POINTS = 32.0
PADDING_ON_PAPER_POINTS = 8.0
CARD_COLUMN_GAP_POINTS = 48.0
MIN_ROOM_FOR_TWO_POINTS = 640.0  # the inspector with the matrix beside it

CARD_WORD_POINTS = 20.0
SENTENCE_POINTS = 15.0
FACT_POINTS = 13.0
HEAD_LINE_POINTS = 20.0
CARD_NOTE_POINTS = 12.0
SMALL_WORD_POINTS = 11.0

COLUMN_ROW_HEIGHT_POINTS = 32.0
MAX_ROWS_IN_LINE = 25  # of a matrix beside columns, whose rows are the words
MIN_WORD_GAP_POINTS = 8.0
LINK_END_GAP_POINTS = 8.0  # two links of a word end side by side

CELL_POINTS = 22.0
SMALL_CELL_POINTS = 18.0
MIN_LABELED_CELL_POINTS = 12.0  # smaller cells are an overview without labels
MIN_CELL_POINTS = 3.0
MAX_OVERVIEW_CELL_POINTS = 6.0
SIZE_NOTE_POINTS = 24.0  # a line above an overview states its size
CELL_GAP_POINTS = 1.0  # shows the grid around each cell
MIN_MATRIX_WIDTH_POINTS = 210.0  # the scale and a line about the direction of the columns fit into it
MIN_SHOWN_WEIGHT = 0.005
MAX_LABELED_CURVES = 2  # curves of a pinned word with their weight
DIM_ALPHA = 0.25  # of the other links
RING_POINTS = 4.5  # radius
CARD_STUB_POINTS = 15.0  # of a link to another row, at both of its ends
STUB_ALPHA = 0.6
FLAT_CROSSING = math.sin(math.radians(30))  # of flatter ones, a halo would shred the other curve
PLACES_OF_SIGNS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8)  # along a curve
SHIFTS_OF_STUB_SIGNS = (0, -14, 14, -28, 28)  # to the side
SIGN_GAP_POINTS = 16.0
BAR_ROW_POINTS = 24.0
MIN_BAR_POINTS = 60.0
BAR_NUMBER_POINTS = 56.0  # room for the number behind a bar
KEY_ROW_POINTS = 28.0

LARGE_WORDS = CurveMeasures(  # of a pair whose lines fit
    word_points=CARD_WORD_POINTS,
    word_gaps=(MIN_WORD_GAP_POINTS, 56.0),
    line_distance=164.0,
    row_distance=124.0,
    column_gaps=(60.0, 200.0),
    column_distance=COLUMN_ROW_HEIGHT_POINTS,
    edge=0.8 * CARD_WORD_POINTS,
    column_edge=6.0,
    reach=0.58,
)
SMALL_WORDS = LARGE_WORDS._replace(  # of a long pair, which is cut into rows, and of columns
    word_points=15.0, word_gaps=(MIN_WORD_GAP_POINTS, 24.0), line_distance=78.0, edge=0.8 * 15.0
)
MEANINGS = {
    "hit": "a link that people made, too; the thicker, the surer",
    "both": "a link; the thicker, the surer",
    "wrong": "a link that people did not make",
    "missed": "a link that people made, missed here",
}
ALONE = "a word without a link"
CELL_MEANING = "a cell: stronger is likelier"
DOT_MEANING = "; dot: linked"
TURNED = ("← columns run from right to left,", "as their sentence does")
NO_WORDS = "no words"
TEXT_ORDER = 3.0  # the order in which matplotlib draws texts, above curves and circles
# matplotlib looks for bold letters in each family of a text, and complains of those that have none
BOLD: dict[str, Any] = {"weight": "bold", "family": DEFAULT_FONT}


def draw_card(pair: AlignedPair, settings: PictureSettings) -> Figure:
    """Draw the card of one sentence pair, as a report shows it, perhaps with a word that is pinned.

    If the pair has a threshold, the card names the closest calls. Settings of other pictures are not used.

    Examples
    --------
    >>> from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix
    >>> matrix = AlignmentMatrix(np.eye(2), ("good", "morning"), ("guten", "Morgen"))
    >>> pair = AlignedPair(Alignment([(0, 0), (1, 1)], 2, 2), matrix)
    >>> figure = draw_card(pair, PictureSettings(title="Pair 7"))
    >>> round(figure.get_figwidth() * 72)
    1100
    """
    gold = settings.gold
    matrix = matrix_with_probabilities(pair)
    content = CardContent(
        matrix=replace(matrix, weights=np.clip(matrix.weights, 0.0, 1.0)),
        kinds=kinds_of_links(matrix, pair.alignment if settings.links is None else settings.links, gold),
        gold=None if gold is None else as_gold(gold),
        threshold=min_posterior(pair),
        has_second_words=pair.second is not None,
    )
    pin = None if settings.pin is None else pinned_word(pair, settings.pin)
    headline, sentence = explain_pair(content)
    reasons = None if pin is None else explain_word(content, pin)
    if reasons is not None:
        headline = reasons.headline
        sentence = "".join(text for text, _ in reasons.sentence)
    title = abbreviate(visible(title_of_card(settings.title, pair.languages)), MAX_TITLE_CHARS)
    words = (*matrix.source_tokens, *matrix.target_tokens)
    with fonts_for([*words, title, "×+←→–‘’…␣"]):
        card = _Canvas(theme_of(dark=bool(settings.dark)), content, pin, settings.width)
        bottom = _draw_head(card, content, title)
        layout = _MatrixLayout(card, content)
        bottom = _draw_curves(card, content, layout, bottom)
        bottom = _draw_below(card, content, layout, headline, sentence, reasons, bottom)
        card.finish(bottom)
    card.figure.title_and_description = headline, sentence
    return card.figure


class _Canvas(PointFigure):
    """The figure of a card, with the texts and shapes that it consists of."""

    def __init__(
        self, theme: Theme, content: CardContent, pin: PairWord | None, inches: float | None
    ) -> None:
        super().__init__(theme)
        self._inches = inches
        self.width_of_card = WIDTH_POINTS
        self.left = PADDING_POINTS
        if inches is not None:
            self.width_of_card = inches * POINTS_PER_INCH * SMALL_WORD_POINTS / MIN_POINTS_ON_PAPER
            self.left = PADDING_ON_PAPER_POINTS
        self.right = self.width_of_card - self.left
        self.room = self.right - self.left
        self.pin = pin
        # the positions of both sides that are not dim, if a word is pinned
        self._in_view = None if pin is None else words_in_view(pin, content.kinds)

    def finish(self, height: float) -> None:
        """Give the figure its height."""
        self.resize(self.width_of_card, height)
        if self._inches is not None:
            scale_figure(self.figure, self._inches, self._inches * height / self.width_of_card)

    def is_pinned(self, side: int, position: int) -> bool:
        """Return whether a word of a side, 0 or 1, is the pinned one."""
        return self.pin is not None and (side, position) == (self.pin.side, self.pin.position)

    def write_word(
        self, side: int, position: int, text: str, x: float, y: float, size: float, **style: Any
    ) -> None:
        """Write a word of a side, 0 or 1; while one is pinned, it and its partners are bold, others soft."""
        own: dict[str, Any] = {"zorder": TEXT_ORDER + 1}
        if self._in_view is not None and position not in self._in_view[side]:
            own["color"] = self.theme.soft
        elif self._in_view is not None and _has_bold_letters(text):
            own |= BOLD
        self.write(text, x, y, size, **own | style)

    def bold_width(self, text: str, size: float) -> float:
        """Return how wide a text of :meth:`write_bold` is."""
        return self.width(text, size, FontProperties(**BOLD) if _has_bold_letters(text) else None)

    def write_bold(
        self, text: str, x: float, y: float, size: float, *, ground: str | None = None, **style: Any
    ) -> None:
        """Write in bold letters, where the font has them, perhaps on a round ground of another color."""
        style = {"zorder": TEXT_ORDER + 1} | (BOLD if _has_bold_letters(text) else {}) | style
        if ground is not None:
            shape = "circle,pad=0.02" if len(text) == 1 else "round,pad=0.1"
            style["bbox"] = {"boxstyle": shape, "facecolor": ground, "edgecolor": "none"}
        self.write(text, x, y, size, **style)

    def write_parts(self, parts: Sequence[Part], x: float, y: float, size: float, room: float) -> float:
        """Write pieces of a sentence, some of them bold, in lines of a width; return where they end."""
        lines: list[list[Part]] = [[]]
        for word in _words_of_parts(parts):
            longer = [*lines[-1], (" ", ""), *word] if lines[-1] else word
            if lines[-1] and self._width_of_parts(longer, size) > room:
                lines.append(word)
            else:
                lines[-1] = longer
        for line in lines:
            left = x
            for style, run in groupby(line, key=lambda part: part[1]):
                text = "".join(piece for piece, _ in run)
                if style:
                    color = self.theme.ink if style == "bold" else self.theme.of_kind(style)
                    self.write_bold(text, left, y, size, color=color)
                else:
                    self.write(text, left, y, size)
                left += self._width_of_parts([(text, style)], size)
            y += 24
        return y

    def _width_of_parts(self, parts: Sequence[Part], size: float) -> float:
        """Return how wide pieces of a sentence are next to each other."""
        widths = [self.bold_width(text, size) if style else self.width(text, size) for text, style in parts]
        return sum(widths)

    def wrap(self, text: str, size: float, room: float) -> list[str]:
        """Return the lines of a text that is at most as wide as its room, unless a word is wider."""
        return wrap_text(self.figure, text, size, room)

    def write_lines(
        self, text: str, x: float, y: float, size: float, room: float, step: float, **style: Any
    ) -> float:
        """Write a text in lines of a width, which are a step apart; return where the next one would be."""
        for line in self.wrap(text, size, room):
            self.write(line, x, y, size, **style)
            y += step
        return y

    def line(
        self,
        points: Sequence[Point],
        color: str,
        width: float = 1.0,
        *,
        curved: bool = False,
        dashed: bool = False,
        alpha: float = 1.0,
    ) -> None:
        """Draw straight lines from point to point, or a curve along four points."""
        step = Path.CURVE4 if curved else Path.LINETO
        codes = [Path.MOVETO, *[step] * (len(points) - 1)]
        if dashed:
            self.stroke(points, codes, color, width, dashes=(5, 4), capstyle="butt", alpha=alpha)
        else:
            self.stroke(points, codes, color, width, alpha=alpha)

    def rectangle(self, x: float, y: float, width: float, height: float, color: str) -> None:
        """Draw a filled rectangle."""
        self._axes.add_patch(Rectangle((x, y), width, height, facecolor=color, linewidth=0))

    def ground(self, x: float, y: float, width: float, height: float) -> None:
        """Draw the ground of a pinned word, or of its row or column: a rectangle with round corners."""
        corners: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=4"}
        box = FancyBboxPatch(
            (x, y), width, height, facecolor=self.theme.hover, linewidth=0, zorder=0.5, **corners
        )
        self._axes.add_patch(box)

    def frame(self, x: float, y: float, side: float, color: str, *, dashed: bool) -> None:
        """Draw the outline of a cell."""
        style: Any = (0, (2, 1.7)) if dashed else "solid"
        about: dict[str, Any] = {"edgecolor": color, "linestyle": style, "linewidth": 1.5}
        self._axes.add_patch(Rectangle((x, y), side, side, fill=False, **about))

    def cells(self, places: Sequence[Point], side: float, weights: NDArray[np.floating]) -> None:
        """Draw cells whose opacity is the square root of their weight."""
        colors = [(*to_rgb(self.theme.weight), math.sqrt(weight)) for weight in weights]
        cells: Collection
        if side >= MIN_LABELED_CELL_POINTS:
            inner = side - 2 * CELL_GAP_POINTS
            corners: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=3"}
            boxes = [
                FancyBboxPatch((x + CELL_GAP_POINTS, y + CELL_GAP_POINTS), inner, inner, **corners)
                for x, y in places
            ]
            cells = PatchCollection(boxes, facecolors=colors, linewidths=0)
        else:  # an overview, whose thousands of cells are dots of a picture
            squares = [[(x, y), (x + side, y), (x + side, y + side), (x, y + side)] for x, y in places]
            plain: dict[str, Any] = {"linewidths": 0, "antialiased": False, "rasterized": True}
            cells = PolyCollection(squares, facecolors=colors, **plain)
        self._axes.add_collection(cells, autolim=False)

    def circle(self, x: float, y: float, radius: float, fill: str, edge: str = "none") -> None:
        """Draw a dot, or a ring that is filled."""
        self._axes.add_patch(Circle((x, y), radius, facecolor=fill, edgecolor=edge, linewidth=1.75, zorder=3))

    def sign(self, kind: str, x: float, y: float) -> None:
        """Write the sign of a kind of link on a ground of the card's color."""
        style = {"color": self.theme.of_kind(kind), "ha": "center", "zorder": TEXT_ORDER}
        self.write_bold(SIGNS[kind], x, y, 15, ground=self.theme.card, **style)


# --- head and curves -----------------------------------------------------------------------------


def _draw_head(card: _Canvas, content: CardContent, title: str) -> float:
    """Write the title and the facts; return where the words begin."""
    y = card.left + 8
    x = card.left
    if title:
        for line in card.wrap(title, SENTENCE_POINTS, card.room):
            if x > card.left:
                y += HEAD_LINE_POINTS
            card.write_bold(line, card.left, y, SENTENCE_POINTS)
            x = card.left + card.bold_width(line, SENTENCE_POINTS) + 16
    facts = facts_of(content)
    if are_opposite(*content.tokens):
        facts.append((OPPOSITE_DIRECTIONS, ""))
    for number, (fact, kind) in enumerate(facts):
        width = card.width(fact, FACT_POINTS)
        if x > card.left and x + 12 + width > card.right:
            x = card.left
            y += HEAD_LINE_POINTS
        elif number:
            card.write("·", x, y, FACT_POINTS, color=card.theme.soft)
            x += 12
        card.write(fact, x, y, FACT_POINTS, color=card.theme.of_kind(kind) if kind else card.theme.soft)
        x += width + 8
    return y + 40


def _sides(content: CardContent) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words of both sentences as they are shown."""
    source, target = ([shown_word(word) for word in side] for side in content.tokens)
    return mark_mirrored_words(source), mark_mirrored_words(target)


def _draw_curves(card: _Canvas, content: CardContent, matrix: _MatrixLayout, top: float) -> float:
    """Draw the words and the curves between them, perhaps with the matrix; return where they end."""
    sides = _sides(content)
    words = _place_words(card, content, sides, matrix, top)
    if matrix.is_in_line:
        top += matrix.top
        edge = max(word.x + word.width / 2 for word in words.sides[1])
        matrix.draw(edge + CARD_COLUMN_GAP_POINTS / 2, top - matrix.top - COLUMN_ROW_HEIGHT_POINTS / 2)
    if card.pin is not None:
        _draw_attention(card, content, card.pin, words)
    _draw_links(card, content, words)
    size = words.measures.word_points
    for side, placed in enumerate(words.sides):
        for position, (word, place) in enumerate(zip(sides[side], placed, strict=True)):
            if card.is_pinned(side, position):
                left = place.x - place.width / 2 - 6
                card.ground(left, place.y - 0.75 * size, place.width + 12, 1.5 * size)
            card.write_word(side, position, word, place.x, place.y, size, ha="center")
    _draw_rings(card, content, words)
    bottom = max([top, *(word.y for placed in words.sides for word in placed)])
    for words_of_side, y in zip(sides, (top, top + LARGE_WORDS.line_distance), strict=True):
        if not words_of_side and not words.down:
            card.write(NO_WORDS, card.width_of_card / 2, y, FACT_POINTS, ha="center", color=card.theme.soft)
            bottom = max(bottom, y)
    if matrix.is_in_line:
        bottom += 2 * KEY_ROW_POINTS
    return bottom + 36


def _place_words(
    card: _Canvas, content: CardContent, sides: Sequence[Sequence[str]], matrix: _MatrixLayout, top: float
) -> PlacedWords:
    """Place the words in columns, perhaps with the matrix in line, or else in one row, or in several."""
    widths = [[card.width(word, CARD_WORD_POINTS) for word in side] for side in sides]
    lines = [line_width(side, MIN_WORD_GAP_POINTS) for side in widths]
    in_columns = are_opposite(*content.tokens)
    if max(lines) <= card.room and not in_columns:
        one_row = [(0, 0), (len(sides[0]), len(sides[1]))]
        return place_in_rows(sides, widths, one_row, LARGE_WORDS, (card.left, top), card.room)
    factor = SMALL_WORDS.word_points / CARD_WORD_POINTS
    widths = [[factor * width for width in side] for side in widths]
    if in_columns:
        columns_width = sum(max(side, default=0.0) for side in widths) + SMALL_WORDS.column_gaps[1]
        room = card.room
        if matrix.go_in_line(room - columns_width):
            room -= matrix.width + CARD_COLUMN_GAP_POINTS
            top += matrix.top
        return place_in_columns(widths, SMALL_WORDS, (card.left, top), room)
    cuts = cut_into_rows(widths, content.links, card.room, MIN_WORD_GAP_POINTS + 2)
    return place_in_rows(sides, widths, cuts, SMALL_WORDS, (card.left, top), card.room)


def _link_shifts(links: Iterable[Link], words: PlacedWords) -> dict[Link, list[float]]:
    """Return how far the two ends of each link are from the middle of their words, so that none coincide."""
    shifts: dict[Link, list[float]] = {link: [0.0, 0.0] for link in links}
    for side in (0, 1):
        groups: dict[int, list[Link]] = {}
        for link in shifts:
            groups.setdefault(link[side], []).append(link)
        for position, group in groups.items():
            if len(group) < 2:
                continue
            room = COLUMN_ROW_HEIGHT_POINTS / 2 if words.down else words.sides[side][position].width
            step = min(LINK_END_GAP_POINTS, max(0.0, room - 4) / (len(group) - 1))
            others = words.sides[1 - side]
            group.sort(key=lambda link: others[link[1 - side]].y if words.down else others[link[1 - side]].x)
            for number, link in enumerate(group):
                shifts[link][side] = step * (number - (len(group) - 1) / 2)
    return shifts


def _draw_links(card: _Canvas, content: CardContent, words: PlacedWords) -> None:
    """Draw the curves, and links from one row to another as stubs at both of their ends."""
    shifts = _link_shifts(sorted(content.kinds), words)
    drawn: list[Sequence[Point]] = []
    signs: list[Point] = []
    for link, (source_shift, target_shift) in shifts.items():
        kind = content.kinds[link]
        points = words.course(link, (source_shift, target_shift))
        color = card.theme.of_kind(kind)
        missed = kind == "missed"
        width = 2.0 if missed else 1 + 2 * content.probability(link)
        is_own = card.is_pinned(0, link.source) or card.is_pinned(1, link.target)
        if is_own:
            width = 2.5 if missed else 4.0
        is_dim = card.pin is not None and not is_own
        if words.leads_out(link):  # a curve would run through words
            alpha = DIM_ALPHA if is_dim else 1.0 if is_own else STUB_ALPHA
            for x, y, down_or_up in ((*points[0], CARD_STUB_POINTS), (*points[3], -CARD_STUB_POINTS)):
                card.line([(x, y), (x, y + down_or_up)], color, width, dashed=missed, alpha=alpha)
            x, y = points[0]
            places = [(x + shift, y + CARD_STUB_POINTS + 6) for shift in SHIFTS_OF_STUB_SIGNS]
        else:
            if card.pin is None and not any(_crosses_flat(other, points, down=words.down) for other in drawn):
                # a halo, so that one curve passes over the other
                card.line(points, card.theme.card, 7, curved=True)
            card.line(points, color, width, dashed=missed, alpha=DIM_ALPHA if is_dim else 1.0, curved=True)
            drawn.append(points)
            places = [_point_at(points, share) for share in PLACES_OF_SIGNS]
        if kind in SIGNS and not is_dim:
            place = _free_place(places, signs)
            signs.append(place)
            card.sign(kind, *place)


def _free_place(places: Sequence[Point], signs: Sequence[Point]) -> Point:
    """Return the first place that is far enough from all signs, or the farthest one."""
    gaps = [min((math.dist(place, sign) for sign in signs), default=math.inf) for place in places]
    free = [place for place, gap in zip(places, gaps, strict=True) if gap >= SIGN_GAP_POINTS]
    return free[0] if free else places[int(np.argmax(gaps))]


def _crosses_flat(first: Sequence[Point], second: Sequence[Point], *, down: bool) -> bool:
    """Return whether two curves of a row cross at less than 30 degrees.

    All curves of a row have gone the same share of their way at a parameter, so they cross at one parameter.
    """
    along, over = (1, 0) if down else (0, 1)
    if abs(first[0][over] - second[0][over]) > 1:  # of another row
        return False
    before = second[0][along] - first[0][along]
    behind = second[3][along] - first[3][along]
    if before * behind >= 0:
        return False
    share = before / (before - behind)
    parameter = 0.5 - math.sin(math.asin(1 - 2 * share) / 3)
    (x, y), (u, v) = (_direction_at(points, parameter) for points in (first, second))
    return abs(x * v - y * u) < FLAT_CROSSING * math.hypot(x, y) * math.hypot(u, v)


def _point_at(points: Sequence[Point], parameter: float) -> Point:
    """Return a point of a Bézier curve."""
    t, u = parameter, 1 - parameter
    weights = u**3, 3 * u * u * t, 3 * u * t * t, t**3
    x, y = (sum(w * point[axis] for w, point in zip(weights, points, strict=True)) for axis in (0, 1))
    return x, y


def _direction_at(points: Sequence[Point], parameter: float) -> Point:
    """Return a vector along a Bézier curve."""
    t, u = parameter, 1 - parameter
    weights = u * u, 2 * u * t, t * t
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    x, y = (sum(w * step[axis] for w, step in zip(weights, steps, strict=True)) for axis in (0, 1))
    return x, y


def _middle(points: Sequence[Point]) -> Point:
    """Return the middle of a curve that is symmetric."""
    (x, y), (u, v) = points[0], points[-1]
    return (x + u) / 2, (y + v) / 2


def _draw_attention(card: _Canvas, content: CardContent, pin: PairWord, words: PlacedWords) -> None:
    """Draw a violet curve from the pinned word to each word that it looks at, two with a number."""
    weights, none = attention_of(pin)
    labeled = np.argsort(-weights, kind="stable")[:MAX_LABELED_CURVES].tolist()
    for position, weight in enumerate(weights.tolist()):
        if weight < MIN_SHOWN_WEIGHT:
            continue
        link = pin.link(position)
        points = words.course(link)
        card.line(points, card.theme.weight, 0.7 + 6 * weight, alpha=0.35 + 0.5 * weight, curved=True)
        if position in labeled:
            x, y = _middle(points)
            told = whole_percent(content.probability(link))
            if words.down:
                _write_weight(card, told, x, y - 8, "center")
            else:
                _write_weight(card, told, x - 10, y, "right")
    if none is not None and none >= MIN_SHOWN_WEIGHT:
        word = words.sides[pin.side][pin.position]
        away = -1 if pin.is_source else 1
        text = f"{NO_PARTNER} {whole_percent(none)}"
        if words.down:
            x = word.x + away * (word.width / 2 + 12)
            _write_weight(card, text, x, word.y, "right" if pin.is_source else "left")
        else:
            y = word.y + away * 1.25 * words.measures.word_points
            _write_weight(card, text, word.x, y, "center")


def _write_weight(
    card: _Canvas, text: str, x: float, y: float, ha: Literal["left", "center", "right"]
) -> None:
    ground = card.theme.card  # hides the curves behind the text
    card.write_bold(text, x, y, CARD_NOTE_POINTS, color=card.theme.weight, ha=ha, ground=ground)


def _has_bold_letters(text: str) -> bool:
    """Return whether the font of a text is the one that has bold letters."""
    families, _ = choose_fonts([text])
    return families == [DEFAULT_FONT]


def _words_of_parts(parts: Sequence[Part]) -> list[list[Part]]:
    """Return the words between spaces of a sentence, each as the pieces of its style.

    >>> _words_of_parts([("it makes ", ""), ("17", "bold"), ("; so", "")])
    [[('it', '')], [('makes', '')], [('17', 'bold'), (';', '')], [('so', '')]]
    """
    words: list[list[Part]] = [[]]
    for text, style in parts:
        first, *others = text.split(" ")
        if first:
            words[-1].append((first, style))
        for other in others:
            words.append([(other, style)] if other else [])
    return [word for word in words if word]


def _draw_rings(card: _Canvas, content: CardContent, words: PlacedWords) -> None:
    """Mark words without a link, where their curves would end: below and above words, or beside columns."""
    for side, alone in enumerate(content.alone()):
        toward_curves = 1 if side == 0 else -1
        for position in alone:
            word = words.sides[side][position]
            if words.down:
                x = word.x + toward_curves * (word.width / 2 + words.measures.column_edge + RING_POINTS)
                y = word.y
            else:
                x = word.x
                y = word.y + toward_curves * (words.measures.edge + RING_POINTS)
            card.circle(x, y, RING_POINTS, card.theme.card, card.theme.soft)


# --- inspector and matrix ------------------------------------------------------------------------


def _draw_below(
    card: _Canvas,
    content: CardContent,
    matrix: _MatrixLayout,
    headline: str,
    sentence: str,
    reasons: PinnedReasons | None,
    top: float,
) -> float:
    """Draw the inspector and, beside or below it, the matrix; return the height of the card."""
    card.line([(card.left, top), (card.right, top)], card.theme.line)
    top += 24
    beside = not matrix.is_in_line and matrix.width <= card.room / 2 and card.room >= MIN_ROOM_FOR_TWO_POINTS
    room = card.room - matrix.width - CARD_COLUMN_GAP_POINTS if beside else card.room
    has_dots = matrix.has_labels and bool(content.links)
    if reasons is None:
        bottom = _draw_inspector(card, content, headline, sentence, top, room, has_dots=has_dots)
    else:
        bottom = _draw_reasons(card, content, reasons, top, room)
    if beside:
        bottom = max(bottom, matrix.draw(card.right - matrix.width, top))
    elif not matrix.is_in_line:
        bottom = matrix.draw(card.left, bottom + 24)
    card.write("nmtalign", card.left, bottom - 8, CARD_NOTE_POINTS, color=card.theme.soft)
    return bottom + card.left - 8


def _draw_inspector(
    card: _Canvas,
    content: CardContent,
    headline: str,
    sentence: str,
    top: float,
    room: float,
    *,
    has_dots: bool,
) -> float:
    """Write headline, sentence, key and closest calls; return where they end."""
    y = _draw_headline(card, headline, top, room)
    y = card.write_lines(sentence, card.left, y, SENTENCE_POINTS, min(room, 560), step=24) + 16
    calls = closest_calls(content)
    half = (room - 40) / 2
    if room < 480:  # one below the other
        bottom = _draw_key(card, content, card.left, y, room, has_dots=has_dots)
        return _draw_calls(card, content, calls, card.left, bottom + KEY_ROW_POINTS, room) + 24
    bottom = _draw_key(card, content, card.left, y, half, has_dots=has_dots)
    return max(bottom, _draw_calls(card, content, calls, card.left + half + 40, y, half)) + 24


def _draw_headline(card: _Canvas, headline: str, top: float, room: float) -> float:
    """Write the headline of the inspector; return where it ends."""
    y = top + 14
    for line in card.wrap(headline, 1.1 * CARD_WORD_POINTS, room):
        card.write_bold(line, card.left, y, CARD_WORD_POINTS)
        y += 28
    return y + 4


def _draw_reasons(
    card: _Canvas, content: CardContent, reasons: PinnedReasons, top: float, room: float
) -> float:
    """Write why a pinned word is linked or not, with bars; return where this ends."""
    y = _draw_headline(card, reasons.headline, top, room)
    y = card.write_parts(reasons.sentence, card.left, y, SENTENCE_POINTS, min(room, 560)) + 16
    half = (room - 40) / 2
    bottom = y
    for number, group in enumerate(reasons.groups):
        if room < 480:
            y = bottom = _draw_group(card, group, card.left, y, room) + 8
        else:
            bottom = max(bottom, _draw_group(card, group, card.left + number * (half + 40), y, half))
    y = bottom + 12
    if reasons.together is not None:
        y = _draw_together(card, content, reasons, reasons.together, y, room)
    for note in reasons.notes:
        y = card.write_lines(note, card.left, y, CARD_NOTE_POINTS, room, step=18, color=card.theme.soft)
    return y + 24


def _draw_group(card: _Canvas, group: BarGroup, x: float, y: float, room: float) -> float:
    """Draw what one word looks at, as bars; return where they end."""
    card.write_bold(group.head, x, y, FACT_POINTS)
    y += 18
    card.write(group.note, x, y, CARD_NOTE_POINTS, color=card.theme.soft)
    return _draw_bars(card, group.bars, x, y + 4, room) + 16


def _draw_bars(
    card: _Canvas, bars: Sequence[Bar], x: float, y: float, room: float, number_room: float = 0.0
) -> float:
    """Draw bars behind their names, below each other; return the middle of the last one."""
    name_width = max(card.width(bar.name, CARD_NOTE_POINTS) for bar in bars) + 12
    width = max(MIN_BAR_POINTS, room - name_width - number_room)
    for bar in bars:
        y += BAR_ROW_POINTS
        color = card.theme.soft if bar.name == NO_PARTNER else card.theme.ink
        card.write(bar.name, x, y, CARD_NOTE_POINTS, color=color)
        _draw_bar(card, bar, x + name_width, y, width, 8)
        if number_room:
            card.write(whole_percent(bar.share), x + room, y, CARD_NOTE_POINTS, ha="right")
    return y


def _draw_bar(card: _Canvas, bar: Bar, x: float, y: float, width: float, height: float) -> None:
    """Draw the track of a bar around a height, its share, and a tick at its limit."""
    top = y - height / 2
    card.rectangle(x, top, width, height, card.theme.grid)
    color = card.theme.of_kind(bar.kind) if bar.kind else card.theme.weight
    card.rectangle(x, top, width * bar.share, height, color)
    if bar.limit is not None:
        card.rectangle(x + width * bar.limit - 1, top - 4, 2, height + 8, card.theme.ink)


def _draw_together(
    card: _Canvas, content: CardContent, reasons: PinnedReasons, bar: Bar, y: float, room: float
) -> float:
    """Draw the number of a cell as a bar, perhaps with what a link needs; return where it ends."""
    card.write_bold(reasons.together_head, card.left, y, FACT_POINTS)
    y += BAR_ROW_POINTS
    width = room - BAR_NUMBER_POINTS
    _draw_bar(card, bar, card.left, y, width, 12)
    card.write(whole_percent(bar.share), card.left + room, y, CARD_NOTE_POINTS, ha="right")
    if bar.limit is not None:
        y += 20
        tick = card.left + width * bar.limit
        card.write(what_a_link_needs(content), tick, y, CARD_NOTE_POINTS, ha="center", color=card.theme.soft)
    return y + 28


def _draw_key(
    card: _Canvas, content: CardContent, x: float, y: float, room: float, *, has_dots: bool
) -> float:
    """Draw the marks that this card shows, each with its meaning; return where they end."""
    card.write_bold("How to read it", x, y, FACT_POINTS)
    text_x = x + 48
    kinds = set(content.kinds.values())
    for kind, meaning in MEANINGS.items():
        if kind in kinds:
            y += KEY_ROW_POINTS
            points = [(x + 2, y - 6), (x + 2, y + 4), (x + 34, y - 4), (x + 34, y + 6)]
            card.line(points, card.theme.of_kind(kind), 2.5, dashed=kind == "missed", curved=True)
            if kind in SIGNS:
                card.sign(kind, x + 18, y)
            y = card.write_lines(meaning, text_x, y, FACT_POINTS, room - 48, step=18) - 18
    if any(content.alone()):
        y += KEY_ROW_POINTS
        card.circle(x + 18, y, 4.5, card.theme.card, card.theme.soft)
        card.write(ALONE, text_x, y, FACT_POINTS)
    y += KEY_ROW_POINTS
    card.cells([(x + 9, y - 9)], 18, np.ones(1))
    meaning = CELL_MEANING
    if has_dots:
        card.circle(x + 18, y, 3, card.theme.card)
        meaning += DOT_MEANING
    card.write(meaning, text_x, y, FACT_POINTS)
    return y + 12


def _draw_calls(
    card: _Canvas, content: CardContent, calls: Sequence[Bar], x: float, y: float, room: float
) -> float:
    """Draw the bars of the closest calls; return where they end."""
    if not calls:
        return y
    card.write_bold("Closest calls", x, y, FACT_POINTS)
    if any(call.limit is not None for call in calls):
        y += 20
        card.write(what_a_link_needs(content), x, y, CARD_NOTE_POINTS, color=card.theme.soft)
    return _draw_bars(card, calls, x, y + 4, room, BAR_NUMBER_POINTS) + 12


class _MatrixLayout:
    """The matrix of a card: its size, known before it is drawn at its place."""

    def __init__(self, card: _Canvas, content: CardContent) -> None:
        self._card = card
        self._content = content
        self._sides = _sides(content)
        S = len(self._sides[0])
        label_widths = [
            max([0.0, *(card.width(word, CARD_NOTE_POINTS) for word in side)]) for side in self._sides
        ]
        self._left = label_widths[1] + 8
        self.top = label_widths[0] + 8  # of the cells, below the labels of columns
        self.cell = CELL_POINTS
        self.is_in_line = False
        room = card.room
        if self._left + S * CELL_POINTS > room / 2:
            self.cell = SMALL_CELL_POINTS
        if self._left + S * self.cell > room:
            self.cell = (room - self._left) // max(1, S)
        self.has_labels = self.cell >= MIN_LABELED_CELL_POINTS
        if not self.has_labels:
            self._left = 0.0
            self.top = SIZE_NOTE_POINTS
            self.cell = max(MIN_CELL_POINTS, min(MAX_OVERVIEW_CELL_POINTS, room // max(1, S)))
        self._turned = is_right_to_left(content.matrix.source_tokens)
        self._measure()

    def _measure(self) -> None:
        S, T = map(len, self._sides)
        self.width = max(self._left + S * self.cell, MIN_MATRIX_WIDTH_POINTS)
        self._height = T * self.cell

    def go_in_line(self, room: float) -> bool:
        """Make the words of a column the rows of the matrix if it fits beside them; return whether so."""
        S, T = map(len, self._sides)
        width = max(S * COLUMN_ROW_HEIGHT_POINTS, MIN_MATRIX_WIDTH_POINTS) + CARD_COLUMN_GAP_POINTS
        self.is_in_line = 0 < T <= MAX_ROWS_IN_LINE and width <= room
        if self.is_in_line:
            self._left = 0.0
            self.cell = COLUMN_ROW_HEIGHT_POINTS
            self._measure()
        return self.is_in_line

    def _column(self, source: int) -> int:
        """Return the column of a source word, counted from the left."""
        return len(self._sides[0]) - 1 - source if self._turned else source

    def draw(self, left: float, top: float) -> float:
        """Draw the matrix and its key; return where they end."""
        card = self._card
        S, T = map(len, self._sides)
        x = left + self.width - S * self.cell
        y = top + self.top
        self._draw_band(x, y)
        if self.has_labels:
            self._draw_labels(x, y)
            self._draw_grid(x, y)
        else:
            note = f"an overview: {S} columns are source words, {T} rows are target words"
            left_of_note = min(x, card.right - card.width(note, CARD_NOTE_POINTS))
            card.write(note, left_of_note, top + 6, CARD_NOTE_POINTS, color=card.theme.soft)
        weights = self._content.matrix.weights
        rows, columns = np.nonzero(weights >= MIN_SHOWN_WEIGHT)
        places = [
            (x + self._column(int(source)) * self.cell, y + target * self.cell)
            for target, source in zip(rows.tolist(), columns.tolist(), strict=True)
        ]
        card.cells(places, self.cell, weights[rows, columns])
        self._draw_frame(x, y)
        self._draw_marks(x, y)
        bottom = y + self._height + 20
        if self._turned:
            for line in TURNED:
                card.write(
                    line, x + S * self.cell, bottom, CARD_NOTE_POINTS, ha="right", color=card.theme.soft
                )
                bottom += 16
        right = min(max(x + S * self.cell, card.left + 420), card.right)
        self._draw_scale(right, bottom)
        return bottom + 8

    def _draw_band(self, x: float, y: float) -> None:
        """Draw a ground for the row or the column of the pinned word."""
        pin = self._card.pin
        if pin is None:
            return
        if pin.is_source:
            column = x + self._column(pin.position) * self.cell
            self._card.ground(column, y - self.top, self.cell, self.top + self._height)
        else:
            width = self._left + len(self._sides[0]) * self.cell
            self._card.ground(x - self._left, y + pin.position * self.cell, width, self.cell)

    def _draw_labels(self, x: float, y: float) -> None:
        size = CARD_NOTE_POINTS if self.cell >= CELL_POINTS else SMALL_WORD_POINTS
        size = min(size, self.cell)
        for source, word in enumerate(self._sides[0]):
            center = x + (self._column(source) + 0.5) * self.cell
            upward = {"rotation": 90, "ha": "center", "va": "bottom", "zorder": TEXT_ORDER}
            self._card.write_word(0, source, word, center, y - 6 - 0.35 * size, size, **upward)
        for target, word in enumerate(() if self.is_in_line else self._sides[1]):
            middle = y + (target + 0.5) * self.cell
            self._card.write_word(1, target, word, x - 8, middle, size, ha="right")

    def _draw_grid(self, x: float, y: float) -> None:
        S, T = map(len, self._sides)
        for column in range(1, S):
            edge = x + column * self.cell
            self._card.line([(edge, y), (edge, y + self._height)], self._card.theme.grid)
        for row in range(1, T):
            edge = y + row * self.cell
            self._card.line([(x, edge), (x + S * self.cell, edge)], self._card.theme.grid)

    def _draw_frame(self, x: float, y: float) -> None:
        right = x + len(self._sides[0]) * self.cell
        bottom = y + self._height
        corners = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y)]
        self._card.line(corners, self._card.theme.line)

    def _draw_marks(self, x: float, y: float) -> None:
        """Draw dots on links, and frames with signs around errors."""
        card = self._card
        for link, kind in sorted(self._content.kinds.items()):
            left = x + self._column(link.source) * self.cell
            top = y + link.target * self.cell
            middle = left + self.cell / 2, top + self.cell / 2
            if kind in SIGNS:
                edge = min(1.0, self.cell / 6)
                card.frame(
                    left + edge,
                    top + edge,
                    self.cell - 2 * edge,
                    card.theme.of_kind(kind),
                    dashed=kind == "missed",
                )
                if self.has_labels:
                    self._draw_sign(kind, *middle)
            elif self.has_labels:
                card.circle(*middle, self.cell / 7, card.theme.card)

    def _draw_sign(self, kind: str, x: float, y: float) -> None:
        """Draw a plus or a cross with a rim of the card's color, which is seen on every cell."""
        card = self._card
        reach = 4.0
        if kind == "missed":
            strokes = [((x - reach, y), (x + reach, y)), ((x, y - reach), (x, y + reach))]
        else:
            near = reach * 0.75
            strokes = [
                ((x - near, y - near), (x + near, y + near)),
                ((x - near, y + near), (x + near, y - near)),
            ]
        for color, width in ((card.theme.card, 5.5), (card.theme.of_kind(kind), 2.0)):
            for stroke in strokes:
                card.line(stroke, color, width)

    def _draw_scale(self, right: float, y: float) -> None:
        """Draw the scale of the cells, which ends at a place."""
        card = self._card
        card.write("100\u00a0%", right, y, CARD_NOTE_POINTS, ha="right", color=card.theme.soft)
        x = right - 48 - 5 * 14
        places = [(x + 14 * step, y - 7.0) for step in range(5)]
        card.cells(places, 14, np.linspace(0.2, 1.0, 5) ** 2)
        card.write("0", x - 6, y, CARD_NOTE_POINTS, ha="right", color=card.theme.soft)
