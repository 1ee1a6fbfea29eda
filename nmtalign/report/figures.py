"""Figures whose layout and files depend on no setting of matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtalign.report.style import needs_outlines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Publishers refuse type 3, matplotlib's default; type 42 is TrueType.
FONT_TYPES: dict[str, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
_SUFFIXES_WITH_FONTS = (".pdf", ".ps", ".eps")  # files in which fonts are embedded


def new_figure(dpi: float | None = None) -> Figure:
    """Return a figure of a square inch that Agg draws and measures, whatever backend is chosen elsewhere.

    Users who save it by its own method get the same fonts as with `save_heatmaps`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1), dpi=dpi)
    FigureCanvasAgg(figure)
    vars(figure)["savefig"] = partial(_save_with_embedded_fonts, figure)
    return figure


def describe_figure(figure: Figure, title: str, description: str) -> None:
    """Give a figure the title and the description that a screen reader reads in its SVG."""
    vars(figure)["title_and_description"] = (title, description)


def description_of(figure: Figure) -> tuple[str, str] | None:
    """Return the title and the description of a figure, if it has them."""
    described: tuple[str, str] | None = vars(figure).get("title_and_description")
    return described


def _save_with_embedded_fonts(figure: Figure, file: Any, **options: Any) -> None:
    """Save a figure as ``Figure.savefig`` does, which takes the options, with fonts of type 42."""
    import matplotlib

    is_page = hasattr(file, "savefig")  # a page of PdfPages, which embeds fonts when it is closed
    fonts = nullcontext() if is_page else matplotlib.rc_context(FONT_TYPES)
    suffix = Path(file).suffix if isinstance(file, str | Path) else ""
    named = options.get("format") or suffix.removeprefix(".") or matplotlib.rcParams["savefig.format"]
    outlines = (
        _outline_postscript_fonts(figure) if f".{named.lower()}" in _SUFFIXES_WITH_FONTS else nullcontext()
    )
    with fonts, outlines:
        type(figure).savefig(figure, file, **options)


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
