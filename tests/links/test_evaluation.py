"""Evaluation: worked numbers, counts against plain loops, laws, the bootstrap, and scores by threshold."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import nmtalign as na
from nmtalign.errors import DataError, UsageError
from nmtalign.links import scoring
from nmtalign.links.alignments import Alignment, GoldAlignment
from nmtalign.links.evaluation import (
    THRESHOLDS,
    CurvePoint,
    ThresholdCurve,
    compare_evaluations,
    count_matches,
    evaluate,
)
from nmtalign.links.scoring import METRICS, Bootstrap, Counts
from nmtalign.report.page_content import evaluation_statistics
from tests.aligner.toy_language import toy_bitext, toy_training
from tests.naive_alignment import count_naively

link_sets = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)))
pairs = st.tuples(link_sets, link_sets, link_sets).map(
    lambda three: (three[0], GoldAlignment(three[1], three[1] | three[2]))
)
FEW = Bootstrap(samples=50)


def test_a_worked_example():
    """Och and Ney's definitions by hand: A has 4 links, 2 sure and 3 possible; S has 3."""
    gold = GoldAlignment({(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1), (2, 2), (3, 2)})
    result = evaluate([{(0, 0), (1, 1), (3, 2), (3, 3)}], [gold])
    assert result.precision == 3 / 4
    assert result.recall == 2 / 3
    np.testing.assert_allclose(result.f1, 2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3))
    np.testing.assert_allclose(result.aer, 1 - (2 + 3) / (4 + 3))


def test_links_that_are_all_wrong_have_an_f1_of_zero():
    result = evaluate([{(0, 1)}], [GoldAlignment({(0, 0)})])
    assert (result.precision, result.recall, result.f1, result.aer) == (0, 0, 0, 1)


@given(st.lists(pairs, min_size=1, max_size=6))
def test_counts_add_up_from_plain_loops(corpus):
    result = evaluate([links for links, _ in corpus], [gold for _, gold in corpus], bootstrap=FEW)
    naive = [count_naively(links, gold.sure, gold.possible) for links, gold in corpus]
    assert [(c.links, c.sure, c.in_sure, c.in_possible) for c in result.sentences] == naive
    a, s, a_s, a_p = (sum(column) for column in zip(*naive, strict=True))
    np.testing.assert_allclose(result.aer, 1 - (a_s + a_p) / (a + s) if a + s else math.nan)
    np.testing.assert_allclose(result.precision, a_p / a if a else math.nan)
    np.testing.assert_allclose(result.recall, a_s / s if s else math.nan)


@given(st.lists(pairs, min_size=1, max_size=6))
def test_scores_lie_between_0_and_1_and_in_their_intervals_ends(corpus):
    result = evaluate([links for links, _ in corpus], [gold for _, gold in corpus], bootstrap=FEW)
    for metric in METRICS:
        low, high = result.intervals[metric]
        value = getattr(result, metric)
        assert math.isnan(value) or 0 <= value <= 1
        assert math.isnan(low) or 0 <= low <= high <= 1


@given(pairs)
def test_one_sentence_is_a_corpus_of_one(pair):
    links, gold = pair
    assert count_matches([links], [gold]) == (Counts.from_links(links, gold),)
    assert Counts.from_links(links, gold) + Counts() == Counts.from_links(links, gold)


def test_without_possible_links_aer_is_one_minus_f1():
    random = np.random.default_rng(8)
    drawn = random.random((2, 30, 5, 6)) < 0.3
    links = [Alignment.from_matrix(matrix) for matrix in drawn[0]]
    sure = [Alignment.from_matrix(matrix).links for matrix in drawn[1]]
    result = evaluate(links, [GoldAlignment(gold, gold) for gold in sure])
    np.testing.assert_allclose(result.aer, 1 - result.f1)


def corpus(share, seed, N=200):
    """Gold is the diagonal of 10 words; each of its links is found with probability `share`."""
    random = np.random.default_rng(seed)
    gold = GoldAlignment({(n, n) for n in range(10)}, {(n, n) for n in range(10)})
    return [{(n, n) for n in range(10) if random.random() < share} | {(0, 9)} for _ in range(N)], [gold] * N


def test_the_interval_is_that_of_the_binomial():
    """Recall of independent links: its standard error is known."""
    low, high = evaluate(*corpus(0.7, 1), bootstrap=Bootstrap(samples=2000)).intervals["recall"]
    np.testing.assert_allclose(high - low, 2 * 1.96 * math.sqrt(0.7 * 0.3 / 2000), rtol=0.15)
    assert low < 0.7 < high


def test_the_same_seed_gives_the_same_intervals():
    one, two, other = (evaluate(*corpus(0.7, 1), bootstrap=Bootstrap(seed=seed)) for seed in (1, 1, 2))
    assert one == two
    assert one.intervals != other.intervals
    assert one.settings == "pairs:200|bootstrap:1000|confidence:0.95|seed:1"


@pytest.mark.parametrize(("N", "draws_per_block"), [(1, 1000), (7, 100), (7, 1), (60, 1000)])
def test_samples_drawn_in_blocks_are_those_drawn_one_by_one(
    monkeypatch: pytest.MonkeyPatch, N: int, draws_per_block: int
):
    monkeypatch.setattr(scoring, "DRAWS_PER_BLOCK", draws_per_block)
    table = np.random.default_rng(N).random((N, 3))
    one_by_one = np.random.default_rng(5)
    expected = [table[one_by_one.integers(0, N, N)].sum(axis=0) for _ in range(50)]
    np.testing.assert_allclose(Bootstrap(50, seed=5).draw(table), expected, rtol=1e-12)


def test_paired_bootstrap_tells_a_difference_from_none():
    good, golds = corpus(0.8, 1)
    worse, same = corpus(0.7, 2)[0], corpus(0.8, 3)[0]
    results = [evaluate(links, golds) for links in (worse, good, same)]
    better = compare_evaluations(results[0], results[1])["aer"]
    assert better.p < 0.01
    assert better.interval[0] < better.value < better.interval[1] < 0
    assert compare_evaluations(results[1], results[2])["aer"].p > 0.05
    nothing = compare_evaluations(results[0], results[0])["f1"]
    assert (nothing.value, nothing.interval, nothing.p) == (0, (0, 0), 1)


def test_swapping_the_two_turns_the_signs():
    results = [evaluate(*corpus(share, 1)) for share in (0.6, 0.8)]
    there, back = compare_evaluations(*results), compare_evaluations(*results[::-1])
    for metric in METRICS:
        assert there[metric].value == -back[metric].value
        assert there[metric].p == back[metric].p


def test_what_is_not_known_is_nan():
    result = evaluate([set()], [GoldAlignment((), ())])
    assert all(math.isnan(getattr(result, metric)) for metric in METRICS)
    assert math.isnan(compare_evaluations(result, result)["aer"].p)


def test_no_pairs_at_all_are_refused():
    with pytest.raises(DataError, match="at least one pair, found none"):
        evaluate([], [])


def test_different_lengths_are_refused():
    gold = GoldAlignment((), ())
    with pytest.raises(DataError, match="the 2 pairs with gold links, found links for 3"):
        evaluate([set()] * 3, [gold] * 2)
    with pytest.raises(DataError, match="the 3 pairs with gold links, found links for 1"):
        evaluate([set()], [gold] * 3)
    with pytest.raises(DataError, match="same gold links"):
        compare_evaluations(evaluate(*corpus(0.5, 1, 3)), evaluate(*corpus(0.5, 1, 4)))


def test_undefined_scores_are_named_so():
    assert repr(evaluate(["", ""], ["0-0", ""])) == (
        "Evaluation of 2 pairs: AER 1.0000, precision undefined, recall 0.0000"
    )
    statistics = evaluation_statistics(evaluate([""], [""]))
    assert [statistic.value for statistic in statistics] == ["undefined"] * 4


def test_without_samples_there_are_scores_but_no_intervals():
    with_samples, without = (evaluate(*corpus(0.7, 1), bootstrap=samples) for samples in (10, 0))
    assert without.sentences == with_samples.sentences
    assert np.isnan(list(without.intervals.values())).all()
    assert without.to_dict()["intervals"]["aer"] == [None, None]
    assert without.settings.endswith("|bootstrap:0|confidence:0.95|seed:1")
    difference = compare_evaluations(without, without)["aer"]
    assert difference.value == 0
    assert math.isnan(difference.p)


def test_comparisons_keep_or_take_a_bootstrap():
    gold = ["0-0 1-1", "0-0", "0-0"] * 9
    links = ["0-0 1-1", "0-1", "0-0"] * 9, ["0-0", "0-0", "0-1"] * 9
    narrow, wide = (
        Bootstrap(samples=300, confidence=0.5, seed=2),
        Bootstrap(samples=300, confidence=0.99, seed=2),
    )
    tables = []
    for bootstrap in (narrow, wide):
        first, second = (evaluate(given, gold, bootstrap=bootstrap) for given in links)
        tables.append(first.compare(second))
        assert tables[-1].attrs["settings"] == bootstrap.settings
    assert (tables[0]["low"] > tables[1]["low"]).any()
    pd.testing.assert_frame_equal(first.compare(second, bootstrap=narrow), tables[0])
    default = evaluate(links[1], gold)
    with pytest.raises(UsageError, match=r"the same Bootstrap, found .*; pass `bootstrap`"):
        first.compare(default)
    assert first.compare(default, bootstrap=20).attrs["settings"].startswith("bootstrap:20|")


def test_the_lines_of_open_files_are_read(tmp_path):
    """Each ends in a line break, also one of Windows."""
    (tmp_path / "links").write_bytes(b"0-0 1-1\r\n0-0\n")
    (tmp_path / "gold").write_bytes(b"0-0 1p1\n\n")
    with open(tmp_path / "links", newline="") as links, open(tmp_path / "gold") as gold:
        result = evaluate(links, gold)
    assert result.sentences == evaluate(["0-0 1-1", "0-0"], ["0-0 1p1", ""]).sentences


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
