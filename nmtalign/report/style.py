"""What all pictures share: colors, fonts, figures that depend on no setting of matplotlib, texts, files."""

from __future__ import annotations

import functools
import io
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib
import numpy as np
from fontTools.unicodedata import script, script_name
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection, PathCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, FontProperties
from matplotlib.ft2font import FT2Font
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as MatplotlibPath
from matplotlib.patheffects import Normal
from matplotlib.text import Text

from nmtalign.display import abbreviate, visible
from nmtalign.errors import UsageError, warn_caller
from nmtalign.files.atomic_output import atomic_file
from nmtalign.files.paths import as_path
from nmtalign.validation import check_number, check_type


class Theme(NamedTuple):
    """The colors of pages and pictures, as in the style sheet of the card."""

    card: str
    ink: str
    soft: str
    line: str
    grid: str
    hover: str
    weight: str
    link: str
    missed: str
    wrong: str
    accent: str

    def of_kind(self, kind: str) -> str:
        """Return the color of a kind of link."""
        of_gold = {"sure": self.accent, "possible": self.accent, "open": self.soft}
        return {"missed": self.missed, "wrong": self.wrong, **of_gold}.get(kind, self.link)

    @property
    def colormap(self) -> Colormap:
        """The color map of matplotlib from the ground of the card to the color of weights."""
        return LinearSegmentedColormap.from_list("violet", [self.card, self.weight])


@cache
def theme_of(*, dark: bool) -> Theme:
    """Return the light or the dark colors, which the style sheet of the card defines.

    >>> theme_of(dark=False).weight, theme_of(dark=True).weight
    ('#5b2c91', '#c9a6ff')
    """
    sheet = resources.files("nmtalign.report").joinpath("assets", "card.css").read_text(encoding="utf-8")
    found = re.findall(r"--(\w+): light-dark\((#\w+), (#\w+)\)", sheet)
    colors = {name: _to_six_digits(pair[dark]) for name, *pair in found}
    return Theme(**{name: colors[name] for name in Theme._fields})


def _to_six_digits(color: str) -> str:
    """Return a color of a style sheet in the long form: ``#fff`` as ``#ffffff``."""
    return color if len(color) == 7 else "#" + "".join(2 * digit for digit in color[1:])


def is_light(color: str) -> bool:
    """Return whether black has more contrast than white with a color such as ``#fcffa4``.

    The better of the two always has a contrast of at least 4.58 (WCAG 2).

    >>> is_light("#fcffa4"), is_light("#000004")
    (True, False)
    """
    shares = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return bool(linear @ (0.2126, 0.7152, 0.0722) > 0.179)


DEFAULT_FONT = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, Arabic, Hebrew and more
# Families worth trying first, and worth installing, by the script.
_FONTS_OF_SCRIPT = {
    "CJK": ("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "Microsoft YaHei"),
    "HIRAGANA": ("Noto Sans CJK JP", "IPAexGothic", "Yu Gothic", "Hiragino Sans"),
    "KATAKANA": ("Noto Sans CJK JP", "IPAexGothic", "Yu Gothic", "Hiragino Sans"),
    "HANGUL": ("Noto Sans CJK KR", "NanumGothic", "Malgun Gothic", "Apple SD Gothic Neo"),
    "ARABIC": ("Noto Sans Arabic", "Amiri", "Arial"),
    "DEVANAGARI": ("Noto Sans Devanagari", "Lohit Devanagari", "Mangal"),
    "TIBETAN": ("Noto Serif Tibetan",),
}
# worth installing for symbols that belong to no script
FONTS_OF_SYMBOLS = "Noto Emoji or Noto Sans Symbols 2"
# Scripts for which there is a family Noto Sans with their name.
_NOTO_SCRIPTS = {
    *("Armenian", "Bengali", "Ethiopic", "Georgian", "Gujarati", "Gurmukhi", "Hebrew", "Kannada", "Khmer"),
    *("Lao", "Malayalam", "Myanmar", "Sinhala", "Tamil", "Telugu", "Thaana", "Thai"),
}


_NO_SCRIPT = ("Common", "Inherited", "Unknown")  # the scripts of symbols that are used with any script


def script_of(character: str) -> str:
    """Return the script of a character, empty if it belongs to none, as emoji and mathematical symbols.

    >>> script_of("ж"), script_of("中"), script_of("👧")
    ('Cyrillic', 'CJK', '')
    """
    name = script_name(script(character))
    if name in _NO_SCRIPT:
        return ""
    return "CJK" if name == "Han" else name


def suggest_font(script: str) -> str:
    """Return the name of a font that has the letters of a script, empty if none is known."""
    if script in _NOTO_SCRIPTS:
        return f"Noto Sans {script}"
    return next(iter(_FONTS_OF_SCRIPT.get(script.upper(), ())), "")


def choose_fonts(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return font families that together have the letters of `texts`, and what none of them has.

    The first of the families, for matplotlib's font fall-back, is always DejaVu Sans. Missing are scripts by
    their names, and symbols that belong to no script, each by itself.
    """
    families = [DEFAULT_FONT]
    needed = {ord(c) for text in texts for c in text if unicodedata.category(c)[0] in "LNPS"}
    left = needed - _default_letters()
    for family in _candidate_families(left):
        letters = left & _letters_of_font(_font_paths()[family])
        if letters:
            families.append(family)
            left -= letters
        if not left:
            break
    return families, sorted({script_of(chr(c)) or chr(c) for c in left})


def _candidate_families(codes: set[int]) -> list[str]:
    """Return installed families: those known for the scripts of `codes` first, then all in order of name."""
    if not codes:
        return []
    scripts = sorted({script_of(chr(c)).upper() for c in codes} - {""})
    first = [
        family for script in scripts for family in _FONTS_OF_SCRIPT.get(script, ()) if family in _font_paths()
    ]
    return list(dict.fromkeys([*first, *sorted(_font_paths())]))


@functools.cache
def _font_paths() -> dict[str, str]:
    """Return a font file for each installed family, upright and of a regular weight if it has one."""
    fontManager = font_manager.fontManager
    listed = {entry.fname for entry in fontManager.ttflist}  # matplotlib makes its list once and keeps it
    for path in sorted(set(font_manager.findSystemFonts()) - listed):
        with suppress(OSError, RuntimeError, UnicodeError, ValueError):  # skips damaged and bitmap fonts
            fontManager.addfont(path)
    paths: dict[str, str] = {}
    for entry in sorted(fontManager.ttflist, key=_distance_from_regular):
        is_box = entry.name.startswith("Last Resort")  # has a box for every character, and no letter
        if is_box or entry.name in paths or not Path(entry.fname).exists():  # it may have been uninstalled
            continue
        paths[entry.name] = entry.fname
        if _distance_from_regular(entry)[:2] != (False, 0):  # else matplotlib tells of it with each text
            fontManager.ttflist.append(replace(entry, weight=400, style="normal"))
    return paths


def _distance_from_regular(entry: FontEntry) -> tuple[bool, int, str]:
    """Return how far a font is from an upright one of weight 400: a key for sorting."""
    weight = (
        font_manager.weight_dict.get(entry.weight, 400)
        if isinstance(entry.weight, str)
        else int(entry.weight)
    )
    return entry.style != "normal", abs(weight - 400), entry.fname


def _default_letters() -> frozenset[int]:
    return _letters_of_font(font_manager.findfont(DEFAULT_FONT))


@functools.cache
def _letters_of_font(path: str) -> frozenset[int]:
    """Return the code points that a font file has glyphs for."""
    return frozenset(FT2Font(path).get_charmap())


def needs_outlines(text: str, families: Iterable[str]) -> bool:
    """Return whether letters of a text are drawn with a font that has PostScript outlines.

    Of the families, the first one that has a letter draws it.
    """
    left = {ord(c) for c in text if not c.isspace()} - _default_letters()
    others = [family for family in families if family != DEFAULT_FONT] if left else []
    for family in others:
        path = _font_paths().get(family)
        found = left & _letters_of_font(path) if path else frozenset[int]()
        if path and found and _has_postscript_outlines(path):
            return True
        left -= found
    return False


@functools.cache
def _has_postscript_outlines(path: str) -> bool:
    """Return whether a font file, or the first font of a collection, has PostScript (CFF) outlines."""
    with open(path, "rb") as file:
        head = file.read(16)
        if head.startswith(b"ttcf"):  # a collection: where its first font begins stands behind their number
            file.seek(int.from_bytes(head[12:16]))
            head = file.read(4)
    return head.startswith(b"OTTO")


# --- figures that depend on no setting of matplotlib ---------------------------------------------


# Publishers refuse type 3, matplotlib's default; type 42 is TrueType.
FONT_TYPES: dict[str, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
_SUFFIXES_WITH_FONTS = (".pdf", ".ps", ".eps")  # files in which fonts are embedded


SCREEN_DPI = 80  # pictures in notebooks have twice as many dots, for sharp screens
LABEL_COLOR = "#7a7a7a"

PngAndSize = tuple[bytes, dict[str, int]]  # a picture, and the width and height at which it is shown


def new_figure(dpi: float | None = None) -> PlainFigure:
    """Return a figure of a square inch that Agg draws and measures, whatever backend is chosen elsewhere.

    A notebook shows it, although it belongs to no backend. Users who save it by its own method get the same
    fonts as with `save_heatmaps`.
    """
    figure = PlainFigure(figsize=(1, 1), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


class PlainFigure(Figure):
    """A figure that chooses its own fonts when it is saved."""

    title_and_description: tuple[str, str] | None = None  # what a screen reader reads in its SVG

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save the figure as ``Figure.savefig`` does, which takes the options, with fonts of type 42."""
        with _embedded_fonts(self, fname, options.get("format")):
            super().savefig(fname, **options)

    def _repr_png_(self) -> PngAndSize:
        return png_for_notebook(self)


def png_for_notebook(figure: Figure) -> PngAndSize:
    """Return a sharp picture without background, whose labels can be read on white and on black."""
    file = io.BytesIO()
    inside = {text for axes in figure.axes for text in axes.texts}
    labels = [(text, text.get_color()) for text in figure.findobj(Text) if text not in inside]
    for text, _ in labels:
        text.set_color(LABEL_COLOR)
    figure.savefig(
        file,
        format="png",
        backend="agg",
        dpi=2 * SCREEN_DPI,
        facecolor="none",
        metadata={"Software": None},
    )
    for text, color in labels:
        text.set_color(color)
    width, height = (round(inches * SCREEN_DPI) for inches in figure.get_size_inches())
    return file.getvalue(), {"width": width, "height": height}


@contextmanager
def _embedded_fonts(figure: Figure, file: Any, format: str | None) -> Iterator[None]:
    """Embed the fonts of a figure in the file to which it is saved in the block."""
    is_page = hasattr(file, "savefig")  # a page of PdfPages, which embeds fonts when it is closed
    fonts = nullcontext() if is_page else matplotlib.rc_context(FONT_TYPES)
    suffix = Path(file).suffix if isinstance(file, str | Path) else ""
    named = format or suffix.removeprefix(".") or matplotlib.rcParams["savefig.format"]
    outlines = (
        _outline_postscript_fonts(figure) if f".{named.lower()}" in _SUFFIXES_WITH_FONTS else nullcontext()
    )
    with fonts, outlines:
        yield


@contextmanager
def _outline_postscript_fonts(figure: Figure) -> Iterator[None]:
    """Draw texts as outlines if their fonts have PostScript outlines, as many Chinese and Japanese fonts do.

    matplotlib embeds such a font as type 42 in a way that most viewers do not display.
    """
    texts = [text for text in figure.findobj(Text) if needs_outlines(text.get_text(), text.get_fontfamily())]
    before = [text.get_path_effects() for text in texts]
    for text in texts:
        text.set_path_effects([Normal()])
    try:
        yield
    finally:
        for text, effects in zip(texts, before, strict=True):
            text.set_path_effects(effects)


@contextmanager
def fonts_for(texts: list[str]) -> Iterator[None]:
    """Draw with fonts that have the letters of `texts`; warn about those that no installed font has."""
    families, missing = choose_fonts([visible(text) for text in texts])
    symbols = [symbol for symbol in missing if len(symbol) == 1]
    lacking = {f"the {script} letters": suggest_font(script) for script in missing if script not in symbols}
    if symbols:
        lacking[f"the symbols {abbreviate(' '.join(symbols), MAX_TITLE_CHARS)}"] = FONTS_OF_SYMBOLS
    for letters, example in lacking.items():
        warn_caller(
            f"no installed font has {letters}, so they are drawn as boxes;"
            f" install {example or 'one that has them'}"
        )
    with matplotlib.rc_context({"font.family": families}), _ignore_missing_glyphs():
        yield


@contextmanager
def _ignore_missing_glyphs() -> Iterator[None]:
    """Keep matplotlib from warning about each letter again."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


# --- sizes and texts ------------------------------------------------------------------------------

Point = tuple[float, float]

POINTS_PER_INCH = 72.0
MARGIN_INCHES = 0.15
MARGIN_ON_PAPER_INCHES = 0.04  # of a picture of a given width, whose page has margins of its own
MIN_POINTS_ON_PAPER = 7  # of the texts of a picture of a given width, as conferences ask
TITLE_POINTS = 11.0
MAX_LABEL_CHARS = 24  # longer words are abbreviated, and spelled out below the picture


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


def flow(widths: Sequence[float], room: float, row_height: float) -> list[Point]:
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


class PointFigure:
    """A figure on which texts and lines are placed in points; y goes down from the upper edge."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.figure = new_figure(POINTS_PER_INCH)  # so that a pixel is a point
        self.figure.set_facecolor(theme.card)
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()

    def resize(self, width: float, height: float) -> None:
        """Give the figure a size in points."""
        self.figure.set_size_inches(width / POINTS_PER_INCH, height / POINTS_PER_INCH)
        self._axes.set(xlim=(0, width), ylim=(height, 0))

    def width(self, text: str, size: float, font: FontProperties | None = None) -> float:
        """Return how wide a text is, in a font or in the default one."""
        return text_width(self.figure, text, size, font)

    def write(self, text: str, x: float, y: float, size: float, **style: Any) -> None:
        """Write a text whose middle is at a height; `style` are properties of matplotlib's Text."""
        style = {"ha": "left", "va": "baseline", "color": self.theme.ink} | style
        self._axes.text(x, y + 0.35 * size, text, size=size, parse_math=False, **style)

    def stroke(
        self,
        points: Sequence[Point],
        codes: Sequence[np.uint8],
        color: str,
        width: float,
        *,
        dashes: Sequence[float] = (),
        capstyle: Literal["butt", "round"] = "round",
        alpha: float = 1.0,
    ) -> None:
        """Draw along points by the codes of matplotlib's Path; `dashes` are lengths of dashes and gaps."""
        # matplotlib multiplies dashes by the width of the line
        line: Any = (0, [length / width for length in dashes]) if dashes else "solid"
        about: dict[str, Any] = {"color": color, "linestyle": line, "linewidth": width, "alpha": alpha}
        path = MatplotlibPath(points, codes)
        self._axes.add_patch(PathPatch(path, fill=False, capstyle=capstyle, **about))


# --- files ---------------------------------------------------------------------------------------

PICTURE_FORMATS = (".png", ".svg", ".pdf")
MAX_TITLE_CHARS = 100
# The backend that draws a format, and the metadata of the file, which has no date and no version.
_BACKEND_AND_METADATA: dict[str, tuple[str, dict[str, str | None]]] = {
    ".png": ("agg", {"Software": None}),
    ".svg": ("svg", {"Date": None, "Creator": "nmtalign"}),
}
_FIXED_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "nmtalign", **FONT_TYPES}


def save_heatmaps(figures: Iterable[Figure], path: str | Path, *, dpi: int = 150) -> None:
    """Save pictures: one as .png, .svg (text stays text) or .pdf, several as the pages of a .pdf.

    A .pdf embeds fonts as type 42 (TrueType). Words of a font with PostScript outlines are drawn as outlines.
    The same figures give identical files. An older file stays until the new one is complete.

    Parameters
    ----------
    figures : iterable of Figure
        Read one at a time, so that memory does not grow with the number of pages.
    path : str or Path
        The file; its ending chooses the format.
    dpi : int
        Dots per inch of a .png.

    Raises
    ------
    UsageError
        For another ending, no figure, or several figures and a format without pages.
    """
    path = as_path(path)
    check_picture_suffix(path)
    check_number(dpi, "dots per inch from 1 to 2400", minimum=1, maximum=2400)
    check_type(figures, Iterable, "a list of pictures, made by draw_heatmap")
    with atomic_file(path) as partial, matplotlib.rc_context(_FIXED_SETTINGS), _ignore_missing_glyphs():
        if path.suffix.lower() == ".pdf":
            _save_pdf_pages(figures, partial, path)
        else:
            _save_single_picture(list(figures), partial, dpi, path)


def svg_text(figure: Figure, *, dpi: int = 150) -> str:
    """Return a picture as SVG, in which text stays text, with a title and a description if it has them."""
    file = io.StringIO()
    backend, metadata = _BACKEND_AND_METADATA[".svg"]
    with matplotlib.rc_context(_FIXED_SETTINGS), _ignore_missing_glyphs():
        figure.savefig(file, format="svg", dpi=dpi, backend=backend, metadata=metadata)
    svg = file.getvalue()
    described = getattr(figure, "title_and_description", None)
    if described is None:
        return svg
    title, description = map(escape, described)
    start = svg.index(">", svg.index("<svg")) + 1  # screen readers look behind the first tag
    return f"{svg[:start]}\n <title>{title}</title>\n <desc>{description}</desc>{svg[start:]}"


def check_picture_suffix(path: str | Path, known: Sequence[str] = PICTURE_FORMATS) -> None:
    """Raise UsageError unless a file name has one of the known endings."""
    if as_path(path).suffix.lower() not in known:
        raise UsageError(f"{path}: expected a file name ending in {', '.join(known)}")


def _save_pdf_pages(figures: Iterable[Figure], partial: str | Path, path: Path) -> None:
    from matplotlib.backends.backend_pdf import PdfPages

    count = 0
    # in memory, because PdfPages hides the error of a full disk behind one of its compressor
    file = io.BytesIO()
    with PdfPages(file, metadata={"Creator": "nmtalign", "CreationDate": None}) as pages:
        for figure in figures:
            pages.savefig(figure)
            count += 1
    if not count:
        raise UsageError(f"{path}: expected at least one picture to save, found none")
    Path(partial).write_bytes(file.getbuffer())


def _save_single_picture(figures: list[Figure], partial: str | Path, dpi: int, path: Path) -> None:
    if len(figures) != 1:
        raise UsageError(f"{path}: a {path.suffix} file has one picture, found {len(figures)}; save to .pdf")
    if path.suffix.lower() == ".svg":
        Path(partial).write_text(svg_text(figures[0], dpi=dpi), encoding="utf-8", newline="\n")
        return
    backend, metadata = _BACKEND_AND_METADATA[path.suffix.lower()]
    figures[0].savefig(partial, dpi=dpi, backend=backend, metadata=metadata)
