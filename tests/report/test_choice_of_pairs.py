"""Which pairs of a corpus a report shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from nmtalign import AlignedPair, Alignment, AlignmentMatrix, DataError, GoldAlignment, Link, load
from nmtalign.aligner.opening import vector_aligner
from nmtalign.aligner.preparation import random_sample
from nmtalign.external.matrix_files import GivenPair
from nmtalign.links.formats import parse_pharaoh
from nmtalign.report import chosen_pairs
from nmtalign.report.chosen_pairs import (
    CorpusRecord,
    align_for_report,
    align_record,
    read_corpus,
    weights_of_parts,
    worst_sample,
)
from nmtalign.report.page_content import SamplePair, example_with_crossing, most_instructive
from nmtalign.text.bitext import SentencePair
from nmtalign.vectors.embeddings import Embeddings, Vocabulary

LETTERS = list("abcdef")
ALIGNER = vector_aligner(*(Embeddings(Vocabulary.from_words(LETTERS), np.eye(6)) for _ in range(2)))


def records(count: int) -> list[CorpusRecord]:
    return [CorpusRecord(n, SentencePair("a", "a"), None, {}) for n in range(1, count + 1)]


def test_files_stay_beside_their_pairs(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("0-0\n\n0p0\n", encoding="utf-8")
    (tmp_path / "mine").write_text("\n0-0\n0-1\n", encoding="utf-8")
    pairs = [SentencePair(f"{word} {word}", f"{word} {word}") for word in "abc"]
    found = list(read_corpus(pairs, gold=tmp_path / "gold", others={"mine": tmp_path / "mine"}))
    assert [record.number for record in found] == [1, 2, 3]
    assert found[2].gold == GoldAlignment(frozenset(), frozenset({Link(0, 0)}))
    assert [record.others["mine"] for record in found] == [frozenset(), {Link(0, 0)}, {Link(0, 1)}]
    for uneven in (pairs[:2], [*pairs, pairs[0]]):
        with pytest.raises(
            DataError, match=r"the same number of lines in each file, found [24] in the bitext and 3 in "
        ):
            list(read_corpus(uneven, gold=tmp_path / "gold"))


def test_every_pair_is_equally_likely_in_a_sample() -> None:
    counts = Counter(r.number for seed in range(3000) for r in random_sample(records(10), 3, seed=seed))
    expected, spread = 900, np.sqrt(3000 * 0.3 * 0.7)
    assert all(abs(counts[n] - expected) < 4.5 * spread for n in range(1, 11))
    assert random_sample(records(3), 5) == records(3)


def test_the_worst_equal_a_full_sort() -> None:
    random = np.random.default_rng(0)
    corpus = []
    for n in range(1, 60):
        source = "".join(random.permutation(LETTERS)[:3])
        target = "".join(random.permutation(LETTERS)[:3])
        gold = GoldAlignment(
            frozenset({Link(0, int(random.integers(3)))}), frozenset(Link(0, t) for t in range(3))
        )
        corpus.append(CorpusRecord(n, SentencePair(" ".join(source), " ".join(target)), gold, {}))
    pairs = {pair.line: pair for pair in align_for_report(corpus, ALIGNER)}
    found = worst_sample(corpus, 7, ALIGNER)
    assert found.size == 59
    assert {name: len(one.sentences) for name, one in found.evaluations.items()} == {"these links": 59}
    by_score = sorted(pairs, key=lambda n: (pairs[n].aligned.score, n))[:7]
    assert [record.number for record in found.records] == by_score


def test_shown_pairs_know_their_unknown_words() -> None:
    record = CorpusRecord(4, SentencePair("a x", "y b y"), None, {"s": frozenset({Link(1, 2)})})
    (pair,) = align_for_report([record], ALIGNER)
    assert pair.aligned.matrix.unknown == ({1}, {0, 2})
    assert pair.line == 4
    assert pair.others["s"].links == {Link(1, 2)}


@pytest.mark.parametrize("together", [1, 2, 50])
def test_heads_are_shown_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch, together: int) -> None:
    monkeypatch.setattr(chosen_pairs, "PAIRS_PER_PARTS_CALL", together)
    aligned = ALIGNER.align("a b", "a c")
    heads = {name: np.full((2, 2), share) for name, share in (("first", 0.25), ("second", 0.5))}
    sentences = SentencePair("a b", "a c")
    attention = GivenPair(("a b", "a c"), aligned, heads)
    given = [CorpusRecord(n, sentences, None, {}, attention) for n in range(1, 5)]
    assert [list(pair.parts) for pair in align_for_report(given)] == [["first", "second"]] * 4
    monkeypatch.setattr(chosen_pairs, "MAX_PAIRS_WITH_PARTS", 3)
    assert [bool(pair.parts) for pair in align_for_report(given)] == [True, True, True, False]
    monkeypatch.setattr(chosen_pairs, "MAX_PART_WEIGHTS", 10)  # a pair has eight
    assert [bool(pair.parts) for pair in align_for_report(given)] == [True, True, False, False]


def test_pairs_beyond_the_room_of_a_page_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = enumerate([("a b", "b"), ("a b", "a b")], 1)
    corpus = [CorpusRecord(n, SentencePair(*pair), None, {}) for n, pair in pairs]
    monkeypatch.setattr(chosen_pairs, "MAX_MATRIX_CELLS", 3)
    with pytest.warns(UserWarning, match="pair 2: omitted, because a page has room for"):
        assert [pair.line for pair in align_for_report(corpus, ALIGNER)] == [1]
    for refused in (lambda: align_for_report(corpus[1:], ALIGNER), lambda: align_record(corpus[1], ALIGNER)):
        with pytest.raises(DataError, match="pair 2: "):
            refused()


def test_parts_of_a_model_are_its_own_attention() -> None:
    model = load()
    record = CorpusRecord(1, SentencePair("The black cat sleeps .", "Le chat noir dort ."), None, {})
    found = weights_of_parts(record, model)
    assert tuple(found) == model.scorer.names
    for name, weights in found.items():
        np.testing.assert_array_equal(weights, model.with_scorers([name]).align(*record.pair).posterior)
    assert weights_of_parts(record, ALIGNER) == {}


def test_pairs_shown_together_are_those_shown_alone() -> None:
    """To the last bit: short and long pairs, pairs that are cut into pieces, and pairs without words."""
    random, words = (
        np.random.default_rng(5),
        ["the", "black", "cat", "sleeps", ".", "le", "chat", "noir", "dort"],
    )
    lengths = [(3, 4), (0, 2), (300, 310), (3, 4), (25, 31), (2, 0), (7, 70)]
    sides = [[" ".join(random.choice(words, n)) for n in pair] for pair in lengths]
    corpus = [CorpusRecord(n, SentencePair(*pair), None, {}) for n, pair in enumerate(sides, 1)]
    together = align_for_report(corpus, load())
    assert [pair.line for pair in together] == [1, 2, 3, 4, 5, 6, 7]
    for record, pair in zip(corpus, together, strict=True):
        (alone,) = align_for_report([record], load())
        for one, other in (
            (alone.aligned, pair.aligned),
            (load().align_words_of_lines([record.pair])[0], pair.aligned),
        ):
            assert one.probabilities == other.probabilities
            assert (one.alignment, one.score, one.tokens) == (other.alignment, other.score, other.tokens)
            for name in ("matrix.weights", "forward", "reverse", "scores"):
                np.testing.assert_array_equal(*(attrgetter(name)(own) for own in (one, other)))
        for name, weights in alone.parts.items():
            np.testing.assert_array_equal(weights, pair.parts[name])


def judged(
    number: int, weights: dict[Link, float], gold: str, *, size: int = 3, possible: str = ""
) -> SamplePair:
    """Return a pair with links of given probabilities, of `size` words a side."""
    matrix = np.zeros((size, size))
    for (s, t), probability in weights.items():
        matrix[t, s] = probability
    chosen = {link: probability for link, probability in weights.items() if probability >= 0.5}
    words = tuple(f"w{n}" for n in range(size))
    aligned = AlignedPair(
        Alignment(frozenset(chosen), size, size), AlignmentMatrix(matrix, words, words), probabilities=chosen
    )
    sure = parse_pharaoh(gold)
    return SamplePair(number, aligned, GoldAlignment(sure, sure | parse_pharaoh(possible)))


def test_the_surest_wrong_link_of_a_readable_sentence_is_shown_first() -> None:
    one, other, third = Link(0, 0), Link(1, 1), Link(2, 1)
    right = judged(1, {one: 1.0}, "0-0")
    wrong = judged(2, {one: 0.8}, "")
    surer = judged(3, {one: 0.9, other: 0.95}, "0-0", possible="1-1")
    possible_only = [right, surer]
    assert most_instructive([]) is most_instructive(possible_only) is None
    assert most_instructive([right, wrong, surer]) == (2, one)
    displaced = judged(4, {one: 0.6}, "0-1")  # the gold has another partner of its word
    assert most_instructive([right, wrong, displaced]) == (4, one)
    assert most_instructive([judged(5, {one: 0.6}, "0-1", size=21), wrong]) == (2, one)  # too long
    assert most_instructive([displaced, judged(6, {one: 0.7}, "0-1")]) == (6, one)
    assert most_instructive([displaced, judged(7, {one: 0.6}, "0-1", size=2)]) == (7, one)  # shorter
    assert most_instructive([displaced, judged(8, {one: 0.6}, "0-1")]) == (4, one)  # the first of equals
    lacking = judged(9, {other: 0.3, third: 0.1}, "1-1 2-1")
    assert most_instructive([right, lacking]) == (9, third)  # the less likely of two that are missing
    assert most_instructive([lacking, wrong]) == (2, one)
    assert most_instructive([replace(wrong, gold=None)]) is None


def test_the_example_of_a_report_has_curves_that_cross_and_a_missing_link() -> None:
    straight = {Link(n, n): 1.0 for n in range(6)}
    crossed = straight.keys() - {Link(1, 1), Link(2, 2)} | {Link(1, 2), Link(2, 1)}
    all_right = "0-0 1-2 2-1 3-3 4-4 5-5"

    def pair(number: int, links: Iterable[Link], gold: str, size: int = 6) -> SamplePair:
        return judged(number, dict.fromkeys(links, 1.0), gold, size=size)

    assert example_with_crossing([pair(1, straight, "0-0 1-1")]) is None  # no curves cross
    right = pair(2, crossed, all_right)
    lacking = pair(3, crossed, f"{all_right} 5-4")
    worse = pair(4, crossed, f"{all_right} 5-4 4-5")
    turned = pair(5, {Link(n, 5 - n) for n in range(6)}, "0-5 1-4 2-3 3-2 4-1 5-0")
    assert example_with_crossing([right, turned]) == 5  # the longer crossing
    assert example_with_crossing([turned, right, worse, lacking]) == 3
    assert example_with_crossing([replace(lacking, gold=None)]) is None
    assert example_with_crossing([pair(6, crossed, all_right, size=14), right]) == 2  # too long
    assert example_with_crossing([pair(7, {Link(0, 1), Link(1, 0)}, "0-1", size=2)]) is None  # too short
    assert example_with_crossing([pair(8, {Link(1, 2), Link(3, 1)}, "1-2")]) is None  # not neighbors
