"""Figures whose layout and files depend on no setting of matplotlib."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtalign.report.style import needs_outlines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
