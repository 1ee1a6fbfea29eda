"""Results in a notebook: plain tables with inline styles, so they also show where scripts do not run.

On a code host that takes the styles away, the numbers and the marks of links are left.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from functools import singledispatch
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from nmtalign.aligner.aligner import Aligner
from nmtalign.errors import UsageError
from nmtalign.links.alignments import AlignedPair, Alignment, AlignmentMatrix, Link
from nmtalign.links.evaluation import METRICS, Evaluation, compare
from nmtalign.report.heatmap import (
    SMALLEST_NUMBER,
    draw_heatmap,
    limits_of,
    matrices_of,
    number,
)
from nmtalign.report.style import LEVELS, is_light, scale, visible
from nmtalign.report.tables import link_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_CELLS = 1600  # a larger matrix is shown as a picture
DPI = 80  # of a picture as it is shown; it has twice as many dots
LABELS = "#7a7a7a"
NUMBERS_FIT = 24  # words: wider matrices have no numbers in their cells


@dataclass(frozen=True)
class _Shown:
    """What is drawn of a result."""

    matrix: AlignmentMatrix
    links: frozenset[Link] = frozenset()
    caption: str = ""
    probabilities: dict[Link, float] = field(default_factory=dict)


@singledispatch
def _shown(result: Any) -> _Shown:
    raise UsageError(f"there is no picture of a {type(result).__name__}")


@_shown.register
def _(result: AlignmentMatrix) -> _Shown:
    return _Shown(result)


@_shown.register
def _(result: AlignedPair) -> _Shown:
    parts = [f"{len(result.alignment)} links"]
    if result.score is not None:
        parts.append(f"score {result.score:.3f}")
    caption = " · ".join([*parts, result.settings] if result.settings else parts)
    return _Shown(result.matrix, result.alignment.links, caption, result.probabilities)


@_shown.register
def _(result: Alignment) -> _Shown:
    source, target = (map(str, range(n)) for n in (result.source_length, result.target_length))
    matrix = AlignmentMatrix(result.to_matrix().astype(np.float32), tuple(source), tuple(target))
    return _Shown(matrix, result.links, f"{len(result)} links; words are numbered from 0")


@singledispatch
def to_html(result: Any) -> str:
    """Return a result as HTML for a notebook.

    Examples
    --------
    >>> "●" in to_html(Alignment({(0, 0)}, 1, 1))
    True
    """
    shown = _shown(result)
    caption = f"<figcaption style='font-size:smaller'>{escape(visible(shown.caption))}</figcaption>"
    inner = _matrix_table(shown) if shown.matrix.weights.size <= MOST_CELLS else _picture(shown)
    return f"<figure style='margin:0;overflow-x:auto'>{inner}{caption if shown.caption else ''}</figure>"


@to_html.register
def _(result: Aligner) -> str:
    return str(to_table(result).to_html(header=False))


@to_html.register
def _(result: Evaluation) -> str:
    return str(to_table(result).to_html(float_format="{:.4f}".format))


def _matrix_table(shown: _Shown) -> str:
    """Return the weights as a table: target words are rows, ``●`` marks a link."""
    matrix = shown.matrix
    turned = "writing-mode:vertical-rl;transform:rotate(180deg);margin:auto"
    heads = "".join(
        f"<th style='vertical-align:bottom'><div style='{turned}'>{_word(word)}</div></th>"
        for word in matrix.source_tokens
    )
    rows = "".join(f"<tr>{_row(shown, t)}</tr>" for t in range(len(matrix.target_tokens)))
    style = "border-collapse:collapse;font-size:12px;line-height:1.3;text-align:center"
    head = f"<thead><tr><th></th>{heads}</tr></thead>"
    return f"<table style='{style}'>{head}<tbody>{rows}</tbody></table>"


def _row(shown: _Shown, t: int) -> str:
    matrix = shown.matrix
    low, high = limits_of([matrix])
    levels = np.clip(np.rint((matrix.weights[t] - low) / (high - low) * (LEVELS - 1)), 0, LEVELS - 1)
    cells = [f"<th style='text-align:right'>{_word(matrix.target_tokens[t])}</th>"]
    for s, level in enumerate(levels.astype(int)):
        colour = scale()[level]
        text = _cell(shown, s, t)
        words = f"{_word(matrix.source_tokens[s])} → {_word(matrix.target_tokens[t])}"
        title = f" title='{words}: {matrix.weights[t, s]:.3f}'" if text else ""
        style = f"background:{colour}" + (f";color:{'#000' if is_light(colour) else '#fff'}" if text else "")
        cells.append(f"<td style='{style}'{title}>{text}</td>")
    return "".join(cells)


def _cell(shown: _Shown, s: int, t: int) -> str:
    """Return the mark of a link and the weight; a dot for a weight where numbers do not fit."""
    weight = shown.matrix.weights[t, s]
    mark = "●" if (s, t) in shown.links else ""
    if abs(weight) < SMALLEST_NUMBER:
        return mark
    return mark + number(weight) if max(shown.matrix.weights.shape) <= NUMBERS_FIT else mark or "&nbsp;"


def _word(word: str) -> str:
    return escape(visible(word), quote=True)


def _picture(shown: _Shown) -> str:
    figure = draw_heatmap(shown.matrix, links=shown.links)
    data, width = base64.b64encode(_png(figure)).decode(), round(figure.get_figwidth() * DPI)
    T, S = shown.matrix.weights.shape
    alternative = f"attention weights of {T} target and {S} source words"
    return f"<img alt='{alternative}' width={width} src='data:image/png;base64,{data}'>"


def _png(figure: Figure) -> bytes:
    """Return a sharp picture without background, whose labels can be read on white and on black."""
    from matplotlib.text import Text

    file = io.BytesIO()
    inside = {text for axes in figure.axes for text in axes.texts}
    labels = [(text, text.get_color()) for text in figure.findobj(Text) if text not in inside]
    for text, _ in labels:
        text.set_color(LABELS)
    figure.savefig(file, format="png", dpi=2 * DPI, facecolor="none", metadata={"Software": None})
    for text, colour in labels:
        text.set_color(colour)
    return file.getvalue()


@singledispatch
def to_table(result: Any) -> pd.DataFrame:
    """Return a result as a DataFrame: links, weights, scores with their intervals, or settings."""
    raise UsageError(f"there is no table of a {type(result).__name__}")


@to_table.register
def _(result: AlignedPair) -> Any:
    return link_table(result).drop(columns="pair")


@to_table.register
def _(result: Alignment) -> Any:
    return _frame(list(result), columns=["source_position", "target_position"])


@to_table.register
def _(result: AlignmentMatrix) -> Any:
    return _frame(result.weights, index=list(result.target_tokens), columns=list(result.source_tokens))


@to_table.register
def _(result: Evaluation) -> Any:
    rows = [(getattr(result, metric), *result.intervals[metric]) for metric in METRICS]
    return _frame(rows, index=list(METRICS), columns=["score", "low", "high"])


@to_table.register
def _(result: Aligner) -> Any:
    parts = {
        "heads": result.head_settings,
        "positions": result.positions.settings,
        "extraction": result.resolved_extraction,
        "text": result.text,
    }
    return _frame({"setting": {name: str(part) for name, part in parts.items()}})


def _frame(data: Any, **options: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(data, **options)


def _differences(first: Evaluation, second: Evaluation) -> pd.DataFrame:
    rows = []
    for metric, difference in compare(first, second).items():
        scores = getattr(first, metric), getattr(second, metric)
        rows.append((*scores, difference.value, *difference.interval, difference.p))
    columns = ["first", "second", "difference", "low", "high", "p"]
    return _frame(rows, index=list(METRICS), columns=columns)


def to_heatmap(result: Any, *, view: str = "combined", **options: Any) -> Figure:
    """Draw a result; the links are marked unless `links` says otherwise. A notebook shows the figure.

    `view` chooses among the weights of an aligned pair, as in :func:`nmtalign.report.heatmap.matrices_of`.
    """
    shown = _shown(result)
    matrices = matrices_of(result, view) if isinstance(result, AlignedPair) else {"": shown.matrix}
    return _displayed(draw_heatmap(matrices, **{"links": shown.links or None, **options}))


def to_comparison(first: Any, second: Any) -> Any:
    """Return where the links of two results are found, a picture of two matrices, differences of scores."""
    if isinstance(first, AlignmentMatrix) and isinstance(second, AlignmentMatrix):
        return _displayed(draw_heatmap({"first": first, "second": second}))
    if isinstance(first, Aligner) and isinstance(second, Aligner):
        return to_table(first).join(to_table(second), how="outer", lsuffix=" of first", rsuffix=" of second")
    if isinstance(first, Evaluation) and isinstance(second, Evaluation):
        return _differences(first, second)
    return _link_comparison(first, second)


def _link_comparison(first: Any, second: Any) -> pd.DataFrame:
    ours, theirs = (_shown(result) for result in (first, second))
    if ours.matrix.weights.shape != theirs.matrix.weights.shape:
        shapes = f"{ours.matrix.weights.shape} and {theirs.matrix.weights.shape}"
        raise UsageError(f"expected two results of one sentence pair, found shapes (T, S) {shapes}")
    found = {
        **dict.fromkeys(ours.links, "first"),
        **dict.fromkeys(theirs.links, "second"),
        **dict.fromkeys(ours.links & theirs.links, "both"),
    }
    words = ours.matrix.source_tokens, ours.matrix.target_tokens
    rows = [(s, words[0][s], t, words[1][t], found[Link(s, t)]) for s, t in sorted(found)]
    columns = ["source_position", "source_word", "target_position", "target_word", "found"]
    return _frame(rows, columns=columns)


def _displayed(figure: Figure) -> Figure:
    """Let a notebook show a figure that belongs to no backend."""
    size = {
        name: round(inches * DPI)
        for name, inches in zip(("width", "height"), figure.get_size_inches(), strict=True)
    }
    figure.__dict__["_repr_png_"] = lambda: (_png(figure), size)
    return figure
