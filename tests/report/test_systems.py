"""Systems of a report: what is said of their errors, and the links that a part of an aligner chooses."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from nmtalign import load
from nmtalign.links.evaluation import Evaluation, compare_evaluations, evaluate
from nmtalign.report.chosen_pairs import CorpusRecord, align_for_report
from nmtalign.report.html import report_page
from nmtalign.report.page_content import comparison_data, evaluate_systems
from nmtalign.text.bitext import SentencePair
from tests.report.sample_pairs import CAT, corpus, data_of

GOLD = ["0-0 1-1 2-2"] * 40


def with_errors(every: int) -> Evaluation:
    """Return the evaluation of links one of which is missing in every so many pairs."""
    return evaluate(["0-0 1-1 2-2" if n % every else "0-0 1-1" for n in range(40)], GOLD)


def test_differences_are_those_of_evaluate_whatever_the_order() -> None:
    systems = {"often": with_errors(2), "seldom": with_errors(8), "now and then": with_errors(5)}
    names = ["seldom", "now and then", "often"]
    for order in permutations(systems):
        data = comparison_data({name: systems[name] for name in order})
        assert data is not None
        assert [row[0] for row in data["rows"]] == names
        assert set(data["differences"]) == {"0-1", "0-2", "1-2"}
        for places, (value, low, high, p) in data["differences"].items():
            better, worse = (systems[names[int(place)]] for place in places.split("-"))
            expected = compare_evaluations(better, worse)["aer"]
            assert (value, low, high) == pytest.approx(
                [100 * x for x in (worse.aer - better.aer, *expected.interval)], abs=1e-4
            )
            assert value > 0
            assert float(p) == pytest.approx(expected.p, abs=0.005)


def verdict_of(systems: dict[str, Evaluation]) -> str:
    data = comparison_data(systems)
    assert data is not None
    return str(data["verdict"])


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ({"A": 2, "B": 8}, "Fewer errors in B than in A: AER 2.1 for 9.1 %, p = .001"),
        ({"A": 5, "B": 8}, "The difference is within chance: AER of B 2.1 %, of A (3.4 %, p = .36)"),
        (
            {"A": 2, "B": 8, "C": 5},
            "Fewer errors in B (AER 2.1 %) than in A (9.1 %, p = .001);"
            " the difference to C (3.4 %, p = .36) is within chance",
        ),
        (
            {"A": 8, "B": 8, "C": 8},
            "The differences are within chance: AER of A 2.1 %, of B (2.1 %, p = 1) and C (2.1 %, p = 1)",
        ),
    ],
)
def test_the_verdict_is_a_sentence(errors: dict[str, int], verdict: str) -> None:
    assert verdict_of({name: with_errors(every) for name, every in errors.items()}) == verdict


def test_several_systems_share_the_level_of_significance() -> None:
    """A difference that two systems alone would show is chance among six."""
    two = {"A": with_errors(3), "B": with_errors(8)}
    p = compare_evaluations(two["B"], two["A"])["aer"].p
    assert 0.05 / 15 < p < 0.05
    assert verdict_of(two).startswith("Fewer errors in B than in A")
    six = two | {name: with_errors(8) for name in "CDEF"}
    assert verdict_of(six).startswith("The differences are within chance")


def test_a_report_compares_its_links_and_all_systems_on_the_pairs_with_gold() -> None:
    pairs = corpus(12, 8)
    more = [replace(pair, others={**pair.others, "none": pair.aligned.alignment}) for pair in pairs]
    more[-1] = replace(more[-1], gold=None)
    data = data_of(report_page(more))["systems"]
    golds = [pair.gold for pair in more[:-1]]
    expected = {"these links": [pair.aligned.alignment for pair in more[:-1]]}
    expected |= {name: [pair.others[name] for pair in more[:-1]] for name in ("other", "none")}
    assert data["pairs"] == 11
    assert {row[0] for row in data["rows"]} == set(expected)
    for name, links, *shares, margin in data["rows"]:
        found = evaluate(expected[name], golds)
        assert links == found.counts.links
        assert shares == pytest.approx(
            [100 * found.score(m) for m in ("precision", "recall", "aer")], abs=1e-4
        )
        low, high = found.intervals["aer"]
        assert margin == pytest.approx(50 * (high - low), abs=1e-4)


def test_without_two_known_errors_nothing_is_compared() -> None:
    assert data_of(report_page([replace(CAT, gold=None)]))["systems"] is None
    assert data_of(report_page([replace(CAT, others={})]))["systems"] is None
    assert data_of(report_page([]))["systems"] is None
    unknown = evaluate([""], [""])  # no link, no sure gold link
    assert comparison_data({"A": unknown, "B": unknown}) is None
    assert evaluate_systems([]) == {}


def test_a_scorer_chooses_as_it_does_alone_and_a_head_the_best_source_of_each_word() -> None:
    model = load()
    lines = SentencePair("The black cat sleeps .", "Le chat noir dort .")
    (pair,) = align_for_report([CorpusRecord(1, lines, None, {})], model)
    for name in model.scorer.names:
        alone = model.with_scorers([name]).align_words_of_lines([lines])[0]
        assert set(pair.chosen_by(name)) == set(alone.alignment.links)
    random = np.random.default_rng(0).uniform(size=(4, 4))
    head = replace(CAT, parts={"head": random})
    assert sorted(head.chosen_by("head")) == sorted(
        (max(range(4), key=lambda s: random[t, s]), t) for t in range(4)
    )
    data = data_of(report_page([head]))["pairs"][0]
    assert data["c"] == {"head": [x for link in head.chosen_by("head") for x in link]}
