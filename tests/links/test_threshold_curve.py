"""``evaluate(batch, gold, curve=True)``: the scores of the links of each threshold."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import nmtalign as na
from nmtalign.links.evaluation import THRESHOLDS, CurvePoint, ThresholdCurve
from nmtalign.links.scoring import Counts
from tests.aligner.toy_language import toy_bitext, toy_training

TOY = toy_bitext(40, seed=3)
GOLD = [
    na.GoldAlignment({link for link in links if link[1] % 3}, {*links, (0, 0)} if n % 5 else links)
    for n, links in enumerate(TOY.links)
]


def toy_batch(**options: Any) -> na.AlignedBatch:
    return toy_training("fast").aligner.align_batch(TOY.pairs, **options)


@pytest.mark.parametrize(
    "options", [{}, {"extract": "argmax"}, {"symmetrize": "union", "threshold": 0.3}], ids=str
)
def test_each_point_has_the_scores_of_the_links_of_its_threshold(options: dict[str, Any]) -> None:
    batch = toy_batch().choose(**options)
    curve = na.evaluate(batch, GOLD, curve=True)
    table = curve.table()
    assert table.threshold.tolist() == list(THRESHOLDS) == [point.threshold for point in curve.points]
    for n in (0, 29, 54, 98):
        links = batch.choose(**(options | {"threshold": THRESHOLDS[n]}))
        expected = na.evaluate(links, GOLD, bootstrap=0)
        assert curve.points[n].counts == expected.counts
        row = table.iloc[n]
        assert (row.precision, row.recall, row.f1, row.aer) == (
            expected.precision,
            expected.recall,
            expected.f1,
            expected.aer,
        )
        assert row.links == len(links.source)
    assert curve.best.f1 == table.f1.max()
    assert curve.present.counts == na.evaluate(batch, GOLD, bootstrap=0).counts
    assert curve.present.threshold == options.get("threshold")
    assert curve.method == next(iter(options.values()), "posterior")
    assert "ThresholdCurve of 99 thresholds: best F1 at" in repr(curve)


def test_a_pickled_batch_has_the_same_curve() -> None:
    batch = toy_batch(posteriors=True)
    pickled = pickle.loads(pickle.dumps(batch))
    assert na.evaluate(pickled, GOLD, curve=True) == na.evaluate(batch, GOLD, curve=True)


def test_of_corrections_only_the_reviewed_pairs_count(tmp_path: Path) -> None:
    from nmtalign.links.gold import GoldLinks

    reviewed = GoldLinks({2: GOLD[2], 7: GOLD[7]}, len(GOLD), is_partial=True)
    batch = toy_batch()
    curve = na.evaluate(batch, reviewed, curve=True)
    alone = na.evaluate(batch[[2, 7]], [GOLD[2], GOLD[7]], curve=True)
    assert curve == alone


def test_links_outside_of_all_gold_positions_are_counted() -> None:
    curve = na.evaluate(toy_batch(), [na.GoldAlignment({(0, 0)})] * len(TOY.pairs), curve=True)
    assert curve.points[0].counts.links > curve.points[0].counts.in_possible
    assert curve.points[0].counts.in_possible == curve.points[0].counts.in_sure


def test_the_picture_and_the_table_are_saved(tmp_path: Path) -> None:
    curve = na.evaluate(toy_batch(), GOLD, curve=True)
    for ending in ("png", "svg", "pdf", "tsv"):
        curve.save(tmp_path / f"curve.{ending}")
        assert (tmp_path / f"curve.{ending}").stat().st_size > 1000
    saved = pd.read_csv(tmp_path / "curve.tsv", sep="\t")
    np.testing.assert_allclose(saved, curve.table(), rtol=1e-5)
    assert "best F1" in (tmp_path / "curve.svg").read_text()
    with pytest.raises(na.UsageError, match=r"ending in \.png, \.svg, \.pdf, \.tsv"):
        curve.save(tmp_path / "curve.gif")
    figure = Figure()
    axes = figure.add_subplot()
    assert curve.plot(ax=axes) is axes
    assert curve.plot().axes[0].get_xlabel() == "recall"
    [line, *_] = axes.lines
    recall, precision = line.get_data()
    np.testing.assert_array_equal(recall, curve.table().recall)
    np.testing.assert_array_equal(precision, curve.table().precision)
    assert curve._repr_png_()[0].startswith(b"\x89PNG")


def test_labels_of_the_axes_are_inside_of_the_picture() -> None:
    curve = na.evaluate(toy_batch(), GOLD, curve=True)
    right = [780 + 9 * n // 5 for n in range(1, 100)]  # the numbers of the axis, as .825, have three digits
    points = [CurvePoint(n / 100, Counts(1000, 1200, k, k)) for n, k in enumerate(right, 1)]
    wide_numbers = ThresholdCurve(tuple(points), points[0], curve.method)
    for drawn in (curve, wide_numbers):
        figure = drawn.plot()
        figure.draw_without_rendering()  # arranges the axes
        around = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert min(around.x0, around.y0) >= 0
        assert around.x1 <= width
        assert around.y1 <= height


def test_a_curve_needs_posteriors() -> None:
    with pytest.raises(na.UsageError, match="a batch of align_batch, whose links a curve chooses again"):
        na.evaluate(["0-0"], ["0-0"], curve=True)
    with pytest.raises(na.UsageError, match="`posteriors=True`"):
        na.evaluate(pickle.loads(pickle.dumps(toy_batch())), GOLD, curve=True)
    with pytest.raises(na.DataError, match="expected links for the 39 pairs"):
        na.evaluate(toy_batch(), GOLD[:-1], curve=True)
