"""Scores without gold links, against worked numbers, plain loops, and laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nmtalign as na
from nmtalign.links import scoring
from nmtalign.links.scoring import (
    Bootstrap,
    ExpectedEvaluation,
    LinkSignals,
    compare_expected,
    evaluate_pairs,
    expected_evaluation,
)

PAIRS = 60


@pytest.fixture(scope="module")
def batch() -> na.AlignedBatch:
    sample = na.resolve_path("en_fr_sample")
    bitext = list(na.read_bitext(sample / "text.tok.en", sample / "text.tok.fr"))[:PAIRS]
    return na.load().align_batch(bitext)


def signals_of(rows: Sequence[Sequence[float]]) -> LinkSignals:
    return LinkSignals(*np.array(rows, float).T)


def naive_aer(links: float, sure: float, words: float, linked_words: float, style: str) -> float:
    scores = {}
    for metric, (constant, of_sure, of_unlinked, of_style) in scoring.COEFFICIENTS.items():
        logit = constant + of_sure * sure / links + of_unlinked * (words - linked_words) / words
        logit += of_style * (style == "sure_possible")
        scores[metric] = 1 / (1 + math.exp(-logit))
    precision, recall = scores["precision"], scores["recall"]
    if style == "dense":
        return 1 - 2 * precision * recall / (precision + recall)
    rho = scoring.SURE_GOLD_PER_LINK
    return 1 - (precision + rho * recall) / (1 + rho)


@pytest.mark.parametrize("style", ["dense", "sure_possible"])
def test_expected_scores_are_those_of_the_formulas(style: str) -> None:
    signals = signals_of([(10, 6, 25, 19, 0, 0, 0), (20, 11, 47, 40, 0, 0, 0)] * 5)
    found = expected_evaluation(signals, is_judged=False).styles[style]
    assert found.aer == pytest.approx(naive_aer(30, 17, 72, 59, style))
    assert found.f1 == pytest.approx(2 / (1 / found.precision + 1 / found.recall))
    assert found.aer == found.score("aer")


def test_signals_of_a_batch_are_those_of_plain_loops(batch: na.AlignedBatch) -> None:
    signals = na.evaluate(batch).signals
    for n, pair in enumerate(batch):
        assert signals.links[n] == len(pair.links)
        assert signals.sure[n] == sum(pair.probability(link) > 0.9 for link in pair.links)
        assert signals.words[n] == sum(map(len, pair.tokens))
        assert signals.linked_words[n] == sum(len({link[side] for link in pair.links}) for side in (0, 1))


def test_pairs_have_the_scores_of_their_batch(batch: na.AlignedBatch) -> None:
    expected, of_pairs = na.evaluate(batch), evaluate_pairs(batch)
    assert of_pairs.dense.values == expected.dense.values
    assert of_pairs.dense.intervals == expected.dense.intervals


def test_a_model_judges_its_own_links_as_the_batch_does(batch: na.AlignedBatch) -> None:
    own = na.evaluate(batch)
    judged = na.evaluate([batch.links(n) for n in range(len(batch))], judge=batch)
    assert judged.dense.values == own.dense.values
    assert judged.signals.foreign.sum() == 0
    assert judged.is_judged
    assert not own.is_judged


def test_a_judge_uses_posteriors_of_cells_that_it_did_not_choose(batch: na.AlignedBatch) -> None:
    pair = batch[0]
    links = set(pair.links)
    other = next((s, t) for s in range(3) for t in range(3) if (s, t) not in links)
    rest = [batch.links(n) for n in range(1, len(batch))]
    signals = na.evaluate([[*links, other], *rest], judge=batch).signals
    probabilities = [pair.probability(link) for link in [*pair.links, other]]
    assert signals.expected[0] == pytest.approx(sum(probabilities), rel=1e-5)
    outside = pair.posterior.sum() - sum(pair.posterior[t, s] for s, t in [*links, other])
    assert signals.missed[0] == pytest.approx(outside, abs=1e-4)
    assert signals.foreign[0] == sum(p < 0.1 for p in probabilities)


def test_intervals_are_wider_for_fewer_pairs_and_for_more_confidence(batch: na.AlignedBatch) -> None:
    def width(result: ExpectedEvaluation) -> float:
        low, high = result.dense.intervals["aer"]
        assert low < result.dense.aer < high
        return high - low

    everything, few = width(na.evaluate(batch)), width(na.evaluate(batch[:10]))
    sure = width(na.evaluate(batch, bootstrap=Bootstrap(confidence=0.99)))
    assert everything < few
    assert everything < sure
    # the error of the map itself remains
    repeated = na.evaluate(batch[list(range(PAIRS)) * 20])
    assert width(repeated) == pytest.approx(everything, rel=0.1)


def test_order_of_pairs_does_not_matter(batch: na.AlignedBatch) -> None:
    backward = na.evaluate(batch[::-1])
    assert backward.dense.values == pytest.approx(dict(na.evaluate(batch).dense.values))


def test_a_batch_that_was_pickled_has_its_probabilities(batch: na.AlignedBatch) -> None:
    import pickle

    again = na.evaluate(pickle.loads(pickle.dumps(batch)))
    assert again.dense.values == na.evaluate(batch).dense.values


def test_tables_and_dictionaries_name_the_style(batch: na.AlignedBatch) -> None:
    expected = na.evaluate(batch)
    table = expected.table()
    assert list(table.columns) == ["style", "metric", "expected", "low", "high"]
    assert set(table["style"]) == {"dense", "sure_possible"}
    values = expected.to_dict()
    assert values["dense"]["aer"] == expected.dense.aer
    assert values["dense"]["intervals"]["aer"] == list(expected.dense.intervals["aer"])
    low, high = expected.dense.intervals["aer"]
    assert f"{100 * low:.0f} to {100 * high:.0f} % (dense links)" in expected.sentence
    assert expected.sentence in repr(expected)


# --- comparison ----------------------------------------------------------------------------------


def judged(expected: float, missed: float, foreign: float = 0, links: float = 10) -> ExpectedEvaluation:
    rows = [(links, 5, 25, 20, expected + n % 2 / 4, missed, foreign) for n in range(100)]
    return expected_evaluation(signals_of(rows), is_judged=True)


def test_a_verdict_of_a_judge_follows_its_expected_error() -> None:
    better, worse = judged(9, 1), judged(8, 2)
    verdict = compare_expected(worse, better)
    assert verdict.better == 1
    assert verdict.errors[1] == pytest.approx(1 - 2 * 9.125 / (10 + 9.125 + 1))
    assert verdict.interval[0] <= verdict.difference <= verdict.interval[1] < 0
    assert compare_expected(better, worse).better == 0


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (judged(9, 1), "chance"),
        (judged(8.7, 1.2), "less than 6 points"),
        (judged(6, 3, foreign=1), "prefers its own"),
        (judged(5, 4, foreign=5), "rules 0.0 % and 50.0 % of the links out"),
    ],
)
def test_there_is_no_verdict_where_it_is_not_reliable(other: ExpectedEvaluation, reason: str) -> None:
    verdict = compare_expected(judged(9, 1), other)
    assert verdict.better is None
    assert reason in verdict.reason
    assert verdict.describe(("a", "b")).startswith("no verdict: ")


def test_links_that_the_model_rules_out_are_noise() -> None:
    verdict = compare_expected(judged(1, 9, foreign=8), judged(9, 1, foreign=1))
    assert verdict.better == 1
    assert "80.0 % and 10.0 % of the links out" in verdict.reason


def test_own_probabilities_are_compared_by_expected_aer(batch: na.AlignedBatch) -> None:
    aligner = na.load(threshold=0.95)
    pairs = [(" ".join(pair.tokens[0]), " ".join(pair.tokens[1])) for pair in batch]
    fewer = na.evaluate(aligner.align_batch(pairs))
    table = na.evaluate(batch).compare(fewer, names=("default", "fewer"))
    assert table.loc["expected error", "fewer"] == fewer.dense.aer
    assert table.attrs["verdict"].startswith(("default is better: ", "no verdict: "))


# --- what is refused -----------------------------------------------------------------------------


def test_links_without_probabilities_need_a_judge(batch: na.AlignedBatch) -> None:
    with pytest.raises(na.UsageError, match="pass `judge=batch`"):
        na.evaluate(["0-0"])
    plain = na.load("en_fr_vectors", score="cosine", positions="none").align_batch([("the cat", "le chat")])
    with pytest.raises(na.UsageError, match="no probabilities; pass `judge`"):
        na.evaluate(plain)
    result = na.links_from([("a b", "c d")], matrices=[np.eye(2)])
    with pytest.raises(na.UsageError, match="no probabilities"):
        na.evaluate(result)


def test_a_judge_stands_in_for_gold_links(batch: na.AlignedBatch) -> None:
    given: Any = {"judge": batch}
    with pytest.raises(na.UsageError, match="stands in for gold links"):
        na.evaluate(["0-0"], ["0-0"], **given)


def test_links_of_other_pairs_are_refused_with_the_place(batch: na.AlignedBatch) -> None:
    links = [batch.links(n) for n in range(len(batch))]
    with pytest.raises(na.DataError, match=f"expected links for the {PAIRS} pairs, found {PAIRS - 1}"):
        na.evaluate(links[:-1], judge=batch)
    with pytest.raises(na.DataError, match=f"found {PAIRS + 2}"):
        na.evaluate([*links, [], []], judge=batch)
    with pytest.raises(na.DataError, match=r"pair 3: link 0-500 is outside .* count the same words"):
        na.evaluate([*links[:3], [(0, 500)], *links[4:]], judge=batch)
    with pytest.raises(na.DataError, match="not about the same sentence pairs"):
        na.evaluate(batch).compare(na.evaluate(batch[1:]))
    with pytest.raises(na.UsageError, match="same judge"):
        na.evaluate(batch).compare(na.evaluate(batch, judge=batch))


def test_nothing_is_estimated_without_links(batch: na.AlignedBatch) -> None:
    with pytest.raises(na.DataError, match="expected links, found none"):
        na.evaluate([[] for _ in range(PAIRS)], judge=batch)
