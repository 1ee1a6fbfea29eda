"""Colors, labels and fonts that pages, notebooks and pictures share."""

from __future__ import annotations

import functools
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nmtalign.display import split_characters

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontEntry

_JOINERS = "\u200c\u200d"  # parts of ordinary words in Persian, Devanagari and emoji


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
        return {"missed": self.missed, "wrong": self.wrong}.get(kind, self.link)

    @property
    def colormap(self) -> Colormap:
        """The color map of matplotlib from the ground of the card to the color of weights."""
        from matplotlib.colors import LinearSegmentedColormap

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


def visible(text: str) -> str:
    """Return `text` with control and formatting characters replaced by something that can be seen.

    >>> visible("a\\x00b\\u202e")
    'a⟨U+0000⟩b⟨U+202E⟩'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _JOINERS or c == "\u00a0" else _visible_code_point(c) for c in text
    )


def _visible_code_point(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else f"⟨U+{ord(character):04X}⟩"


def abbreviate(word: str, longest: int) -> str:
    """Return `word`, or its beginning and end around ``…`` when it has more than `longest` characters.

    >>> abbreviate("Donaudampfschiffahrtsgesellschaft", 16)
    'Donaudam…llschaft'
    """
    characters = split_characters(word)
    if len(characters) <= longest:
        return word
    beginning = characters[: longest // 2]
    end = characters[-(longest // 2) :]
    return f"{''.join(beginning)}…{''.join(end)}"


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
    from fontTools.unicodedata import script, script_name

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
    from matplotlib.font_manager import findSystemFonts, fontManager

    listed = {entry.fname for entry in fontManager.ttflist}  # matplotlib makes its list once and keeps it
    for path in sorted(set(findSystemFonts()) - listed):
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
    from matplotlib.font_manager import weight_dict

    weight = weight_dict.get(entry.weight, 400) if isinstance(entry.weight, str) else int(entry.weight)
    return entry.style != "normal", abs(weight - 400), entry.fname


def _default_letters() -> frozenset[int]:
    from matplotlib.font_manager import fontManager

    return _letters_of_font(str(fontManager.findfont(DEFAULT_FONT)))


@functools.cache
def _letters_of_font(path: str) -> frozenset[int]:
    """Return the code points that a font file has glyphs for."""
    from matplotlib.ft2font import FT2Font

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


def new_figure(dpi: float | None = None) -> Figure:
    """Return a figure of a square inch that Agg draws and measures, whatever backend is chosen elsewhere.

    A notebook shows it, although it belongs to no backend. Users who save it by its own method get the same
    fonts as with `save_heatmaps`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _plain_figure_class()(figsize=(1, 1), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


@cache
def _plain_figure_class() -> type[Figure]:
    """Return the class of the figures, which needs matplotlib and is made when it is first used."""
    from matplotlib.figure import Figure

    class PlainFigure(Figure):
        """A figure that chooses its own fonts when it is saved."""

        title_and_description: tuple[str, str] | None = None  # what a screen reader reads in its SVG

        def savefig(self, fname: Any, **options: Any) -> None:
            """Save the figure as ``Figure.savefig`` does, which takes the options, with fonts of type 42."""
            with _embedded_fonts(self, fname, options.get("format")):
                super().savefig(fname, **options)

        def _repr_png_(self) -> PngAndSize:
            return png_for_notebook(self)

    PlainFigure.__qualname__ = "PlainFigure"  # pickled figures name the attribute of this module
    return PlainFigure


def __getattr__(name: str) -> Any:
    """Return the class of the figures, by which pickled figures are read."""
    if name == "PlainFigure":
        return _plain_figure_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def describe_figure(figure: Figure, title: str, description: str) -> None:
    """Give a figure the title and the description that a screen reader reads in its SVG."""
    figure.title_and_description = (title, description)  # type: ignore[attr-defined]  # a field of PlainFigure


def description_of(figure: Figure) -> tuple[str, str] | None:
    """Return the title and the description of a figure, if it has them."""
    described: tuple[str, str] | None = getattr(figure, "title_and_description", None)
    return described


def png_for_notebook(figure: Figure) -> PngAndSize:
    """Return a sharp picture without background, whose labels can be read on white and on black."""
    from matplotlib.text import Text

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
    import matplotlib

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
    from matplotlib.patheffects import Normal
    from matplotlib.text import Text

    texts = [text for text in figure.findobj(Text) if needs_outlines(text.get_text(), text.get_fontfamily())]
    before = [text.get_path_effects() for text in texts]
    for text in texts:
        text.set_path_effects([Normal()])
    try:
        yield
    finally:
        for text, effects in zip(texts, before, strict=True):
            text.set_path_effects(effects)
