"""The picture of precision against recall over thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nmtalign.links.evaluation import CurvePoint, ThresholdCurve
from nmtalign.report.heatmap import PICTURE_FORMATS, check_picture_suffix
from nmtalign.report.style import new_figure, theme_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVE_FORMATS = (*PICTURE_FORMATS, ".tsv")
_SIZE_INCHES = 5.2, 4.2
_MARGIN = 0.08  # around the curve, as a share of it
_MIN_SPAN = 0.1  # of an axis, so that a short curve does not look long
_LABELED = (0.1, 0.3, 0.5, 0.7, 0.9)  # thresholds whose numbers are at the curve


def check_curve_path(path: str | Path) -> None:
    """Raise UsageError unless a file name has an ending of `CURVE_FORMATS`."""
    check_picture_suffix(path, CURVE_FORMATS)


def draw_curve(curve: ThresholdCurve) -> Figure:
    """Return a figure with the picture of a curve."""
    figure = new_figure()
    figure.set_size_inches(*_SIZE_INCHES)
    figure.set_layout_engine("constrained")
    draw_curve_on(figure.add_subplot(), curve)
    return figure


def draw_curve_on(ax: Axes, curve: ThresholdCurve) -> Axes:
    """Draw precision against recall into axes, which are returned."""
    theme = theme_of(dark=False)
    known = [point for point in curve.points if not np.isnan(point.precision + point.recall)]
    recall = np.array([point.recall for point in known])
    precision = np.array([point.precision for point in known])
    ax.plot(recall, precision, color=theme.weight, linewidth=2, zorder=2)
    labeled = [point for point in known if point.threshold in _LABELED]
    ax.plot(*_places(labeled), ".", color=theme.weight, markersize=7, zorder=3)
    for point in labeled:
        place = point.recall, point.precision
        ax.annotate(
            f"{point.threshold:g}", place, (5, 5), textcoords="offset points", fontsize=8, color=theme.soft
        )
    best, present = curve.best, curve.present
    ax.plot(
        *_places([best]),
        "*",
        color=theme.accent,
        markersize=14,
        label=f"best F1 {best.f1:.3f}, at {best.threshold:g}",
    )
    at = "" if present.threshold is None else f", at {present.threshold:g}"
    ax.plot(
        *_places([present]),
        "o",
        color=theme.link,
        markersize=8,
        label=f"present links: F1 {present.f1:.3f}{at}",
    )
    _limit(ax, [*known, present])
    _draw_equal_f1(ax, theme.line)
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")
    ax.set_title(f"Links by {curve.method}, from low to high thresholds", fontsize=11, loc="left")
    ax.legend(loc="lower left", fontsize=9, frameon=True)
    return ax


def _places(points: list[CurvePoint]) -> tuple[list[float], list[float]]:
    return [point.recall for point in points], [point.precision for point in points]


def _limit(ax: Axes, points: list[CurvePoint]) -> None:
    """Choose limits around all points."""
    recall, precision = _places(points)
    ax.set_xlim(*_limits(recall))
    ax.set_ylim(*_limits(precision))


def _limits(values: list[float]) -> tuple[float, float]:
    known = [value for value in values if not np.isnan(value)] or [0.0, 1.0]
    high = max(known)
    low = min(*known, max(high - _MIN_SPAN, 0))
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def _draw_equal_f1(ax: Axes, color: str) -> None:
    """Draw thin lines of equal F1."""
    for f1 in np.arange(0.1, 1, 0.05 if ax.get_xlim()[0] > 0.4 else 0.1):
        recall = np.linspace(f1 / (2 - f1) + 1e-3, 1, 200)
        ax.plot(
            recall,
            f1 * recall / (2 * recall - f1),
            color=color,
            linewidth=0.7,
            zorder=1,
            scalex=False,
            scaley=False,
        )
