"""Cards and pages of the report in a notebook.

A card is the page of the report in a frame of its own, which runs its script but cannot reach the notebook.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nmtalign.links.alignments import AlignedPair
from nmtalign.report.figure_layout import is_right_to_left
from nmtalign.report.html import cards_page, report_page
from nmtalign.report.sample import SamplePair, as_sample_pairs
from nmtalign.validation import check_type

PAGE_HEIGHT_PIXELS = 720
# Sizes of the parts of a card, as in the style sheet and in assets/pairs/cards.js; letters have a mean width.
CARD_WIDTH_PIXELS = 930
CARD_EDGES_PIXELS = 173  # head, hairline, and the tools below
CURVES_PIXELS = 256  # two lines of words with the curves between them
LINE_LETTER_PIXELS = 11
LINE_WORD_GAP_PIXELS = 8
ROW_PIXELS = 112  # one row of a pair that is too long for two lines
ROW_LETTER_PIXELS = 8
ROW_WORD_GAP_PIXELS = 10
ROWS_EDGES_PIXELS = 24
MEAN_ROWS_PER_FULL_ROW = 1.1  # rows are not filled to the last word
COLUMN_WORD_PIXELS = 36  # one word in a column, where the sides have opposite directions
COLUMNS_EDGES_PIXELS = 90
INSPECTOR_PIXELS = 360
MATRIX_PIXELS = 300  # the cells of a matrix of few words
MATRIX_EDGES_PIXELS = 60
MAX_CELL_PIXELS = 36
MIN_CELL_PIXELS = 22
SMALL_CELL_PIXELS = 18  # in a matrix that takes more than half of the width
LABEL_LETTER_PIXELS = 7
MAX_LABEL_PIXELS = 130
OVERVIEW_PIXELS = 376  # a matrix of long sentences, with the part that is seen
MAX_WORDS_OF_MATRIX = 60  # only a part of a larger matrix is seen

# A frame has the color scheme of its element, which follows the theme of Jupyter, Visual Studio Code or
# Colab. In a page without a theme, the card has the colors that the reader prefers.
_LIGHT_NOTEBOOKS = "[data-jp-theme-light=true],.vscode-light,.vscode-high-contrast-light,[theme=light]"
_DARK_NOTEBOOKS = (
    "[data-jp-theme-light=false],.vscode-dark,.vscode-high-contrast:not(.vscode-high-contrast-light),"
    "[theme=dark]"
)
_THEME_OF_FRAME = (
    f":is({_LIGHT_NOTEBOOKS}) .nmtalign{{color-scheme:light}}"
    f":is({_DARK_NOTEBOOKS}) .nmtalign{{color-scheme:dark}}"
)


# A frame is as high as the card in it, which answers with its height.
_FIT = (
    "window.addEventListener('message',(e)=>{"
    "if(e.source===this.contentWindow&&e.data.height>0)this.style.height=e.data.height+'px'});"
    "this.contentWindow.postMessage('height','*')"
)


@dataclass(frozen=True, repr=False)
class Page:
    """An HTML page that a notebook shows in a frame."""

    html: str
    height: int = PAGE_HEIGHT_PIXELS  # height of the frame

    def __repr__(self) -> str:
        return f"Page of {len(self.html):,} characters, which a notebook shows"

    def _repr_html_(self) -> str:
        """Return the frame; it gets the height that the card in it tells, where a notebook runs scripts."""
        style = f"width:100%;height:{self.height}px;border:0;resize:vertical"
        # an attribute in double quotes needs no more, and the notebook stays small
        page = self.html.replace("&", "&amp;").replace('"', "&quot;")
        may = 'class="nmtalign" sandbox="allow-scripts allow-downloads"'
        frame = f'<iframe {may} title="Alignment" style="{style}" onload="{_FIT}" srcdoc="{page}"></iframe>'
        return f"<style>{_THEME_OF_FRAME}</style>{frame}"


def show(pairs: Iterable[AlignedPair], *, title: str = "Word alignment") -> Page:
    """Return the report of some aligned pairs for a notebook.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        All are shown; a slice of a batch, such as ``batch[:20]``, chooses some.
    title : str
        Heading of the page.

    Examples
    --------
    >>> import nmtalign
    >>> aligner = nmtalign.load()
    >>> page = nmtalign.show([aligner.align("the cat", "le chat"), aligner.align("a dog", "un chien")])
    >>> "<title>Word alignment</title>" in page.html
    True
    """
    check_type(title, str, "a title")
    return Page(report_page(as_sample_pairs(pairs), title=title))


def card_of_pair(pair: AlignedPair) -> Page:
    """Return the card of a pair, with the tools of the report."""
    return Page(cards_page([SamplePair(1, pair)]), _card_height(pair))


def _card_height(pair: AlignedPair) -> int:
    """Return about how many pixels high the card of a pair is in a notebook that is 1,000 pixels wide."""
    sides = pair.tokens
    letters = [sum(map(len, words)) for words in sides]
    line_width = max(
        LINE_LETTER_PIXELS * count + LINE_WORD_GAP_PIXELS * len(words)
        for count, words in zip(letters, sides, strict=True)
    )
    row_width = max(
        ROW_LETTER_PIXELS * count + ROW_WORD_GAP_PIXELS * len(words)
        for count, words in zip(letters, sides, strict=True)
    )
    longest = max(1, *map(len, sides))
    if is_right_to_left(sides[0]) != is_right_to_left(sides[1]):
        figure = COLUMNS_EDGES_PIXELS + COLUMN_WORD_PIXELS * longest
    elif line_width <= CARD_WIDTH_PIXELS:
        figure = CURVES_PIXELS
    else:
        rows = math.ceil(MEAN_ROWS_PER_FULL_ROW * row_width / CARD_WIDTH_PIXELS)
        figure = ROWS_EDGES_PIXELS + ROW_PIXELS * rows
    source_label, target_label = (_label_width(words) for words in sides)
    cell = min(MAX_CELL_PIXELS, max(MIN_CELL_PIXELS, MATRIX_PIXELS // longest))
    if target_label + MIN_CELL_PIXELS * len(sides[0]) > CARD_WIDTH_PIXELS / 2:
        cell = SMALL_CELL_PIXELS
    matrix = source_label + MATRIX_EDGES_PIXELS + cell * len(sides[1])
    if longest > MAX_WORDS_OF_MATRIX:
        lower = INSPECTOR_PIXELS + OVERVIEW_PIXELS
    elif target_label + cell * len(sides[0]) > CARD_WIDTH_PIXELS / 2:
        lower = INSPECTOR_PIXELS + matrix
    else:
        lower = max(INSPECTOR_PIXELS, matrix)
    return CARD_EDGES_PIXELS + figure + lower


def _label_width(words: Sequence[str]) -> int:
    """Return about how many pixels wide the longest label of a side of a matrix is."""
    letters = max(map(len, words), default=1)
    return min(MAX_LABEL_PIXELS, LABEL_LETTER_PIXELS * letters)
