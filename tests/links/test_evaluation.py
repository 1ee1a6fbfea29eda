"""Evaluation: worked numbers, counts against plain loops, laws, and the bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import Alignment, GoldAlignment
from nmtalign.links.evaluation import compare_evaluations, count_matches, evaluate
from nmtalign.links.scoring import METRICS, Bootstrap, Counts
from nmtalign.report.sample import evaluation_figures
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
    figures = evaluation_figures(evaluate([""], [""]))
    assert [figure.value for figure in figures] == ["undefined"] * 4


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
