"""Gold links as data: the sequence that is read, its table, and the errors of links against it."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.links.evaluation import errors_of_links

PAIRS = [("the black cat", "le chat noir"), ("a dog", "un chien"), ("the house", "la maison")] * 4
GOLD = ["0-0 1-2 2-1", "0-0 1p1", "1-1 0-1"] * 4

positions = st.tuples(st.integers(0, 3), st.integers(0, 3))
links_of_pair = st.frozensets(positions.map(lambda link: na.Link(*link)), max_size=8)


@pytest.fixture(scope="module")
def batch():
    return na.load().align_batch(PAIRS)


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "gold.pharaoh"
    path.write_text("".join(f"{line}\n" for line in GOLD))
    return na.read_gold(path)


def test_gold_is_a_read_only_sequence_with_a_short_repr(gold):
    golds = [na.GoldAlignment({(0, 0), (1, 2), (2, 1)}), na.GoldAlignment({(0, 0)}, {(0, 0), (1, 1)})]
    golds.append(na.GoldAlignment({(1, 1), (0, 1)}))
    assert gold == golds * 4
    assert gold != golds * 3
    assert repr(gold) == "GoldLinks of 12 pairs: 24 sure links, 4 only possible"
    assert repr(gold[1:5:2]) == "GoldLinks of 2 pairs: 4 sure links, 1 only possible"
    assert gold[1:5:2] == [golds[1], golds[0]]
    assert gold[::-1] == (golds * 4)[::-1]
    assert gold[[2, -1, 0]] == [golds[2], golds[2], golds[0]]
    assert gold[np.array([True, False, False] * 4)] == [golds[0]] * 4
    assert gold[-1] == golds[2]
    assert pickle.loads(pickle.dumps(gold)) == gold == copy.deepcopy(gold)
    assert hash(gold[:1]) == hash(gold[3:4])
    with pytest.raises(IndexError):
        gold[12]


def test_gold_of_chosen_pairs_scores_chosen_pairs(batch, gold):
    mask = np.arange(len(PAIRS)) % 3 == 1
    chosen = na.evaluate(batch[mask], gold[mask]).sentences
    every = na.evaluate(batch, gold).sentences
    assert chosen == tuple(counts for counts, is_chosen in zip(every, mask, strict=True) if is_chosen)


def test_the_table_of_gold_has_a_row_for_each_link(gold, tmp_path):
    table = gold.table()
    assert table.columns.tolist() == ["pair", "source_position", "target_position", "kind"]
    links = {(n, *link) for n, of_pair in enumerate(gold) for link in of_pair.possible}
    assert set(table.iloc[:, :3].itertuples(index=False, name=None)) == links
    assert len(table) == len(links)
    assert table.query("pair == 1").kind.tolist() == ["sure", "possible"]
    assert gold[1].table().to_dict("list") == {
        "source_position": [0, 1],
        "target_position": [0, 1],
        "kind": ["sure", "possible"],
    }
    empty = na.GoldAlignment(()).table()
    assert empty.dtypes.to_dict() == gold[1].table().dtypes.to_dict()
    with_words = tmp_path / "gold.jsonl"
    record = {"links": [[0, 1]], "possible": [[1, 0]], "source": ["a", "cat"], "target": ["chat", "un"]}
    with_words.write_text(json.dumps(record) + '\n{"links": []}\n' + json.dumps({"links": [[0, 0]]}) + "\n")
    rows = na.read_gold(with_words, format="jsonl").table()
    assert rows.columns.tolist()[1:5] == ["source_position", "source_word", "target_position", "target_word"]
    words = rows[["source_word", "target_word"]]
    assert words.head(2).to_numpy().tolist() == [["a", "un"], ["cat", "chat"]]
    assert words.isna().all(axis=1).tolist() == [False, False, True]


@given(links=links_of_pair, sure=links_of_pair, other=links_of_pair)
def test_classes_of_errors_follow_from_their_definition(links, sure, other):
    gold = na.GoldAlignment(sure, sure | other)
    errors = errors_of_links(links, gold)
    assert {error.link for error in errors if error.kind == "missed"} == sure - links
    assert {error.link for error in errors if error.kind == "wrong"} == links - gold.possible
    assert [error.link for error in errors] == sorted(error.link for error in errors)
    for error in errors:
        wrong = error.kind == "wrong"
        opposite = [one for one in errors if one.kind != error.kind]
        shares_word = any(
            one.link.source == error.link.source or one.link.target == error.link.target for one in opposite
        )
        assert (error.of_class == "instead") == shares_word
        other_side = gold.possible if wrong else links
        sources, targets = {link.source for link in other_side}, {link.target for link in other_side}
        both_linked = error.link.source in sources and error.link.target in targets
        if not shares_word:
            assert error.of_class == ("additional" if both_linked else "unlinked")


def test_errors_of_a_batch_have_words_probabilities_and_counts(batch, gold):
    errors = batch.compare(gold)
    scored = na.evaluate(batch, gold, bootstrap=0).counts
    assert (errors.kind == "wrong").sum() == scored.links - scored.in_possible
    assert (errors.kind == "missed").sum() == scored.sure - scored.in_sure
    assert len(errors)
    for row in errors.itertuples():
        pair = batch[row.pair]
        source, target = pair.tokens
        assert (source[row.source_position], target[row.target_position]) == (
            row.source_word,
            row.target_word,
        )
        assert row.posterior == pair.posterior[row.target_position, row.source_position]
        if row.kind == "wrong":
            assert row.probability == pair.probability((row.source_position, row.target_position))
            assert row.doubt == row.probability
        else:
            assert np.isnan(row.probability)
            assert row.doubt == pytest.approx(1 - row.posterior**0.5)
        assert row.source_count == sum(source.split().count(row.source_word) for source, _ in PAIRS)
        assert row.target_count == sum(target.split().count(row.target_word) for _, target in PAIRS)
    perfect = batch.compare([set(batch.links(n)) for n in range(len(batch))])
    assert perfect.empty
    assert perfect.columns.tolist() == errors.columns.tolist()


def test_a_slip_of_an_annotator_comes_first(batch):
    gold = [set(batch.links(n)) for n in range(len(batch))]
    right = na.Link(1, 1)
    assert right in gold[1]
    gold[1] = gold[1] - {right} | {na.Link(0, 1)}
    first = batch.compare(gold).sort_values("doubt", ascending=False)
    assert first["pair"].tolist() == [1, 1]
    assert set(first["kind"]) == {"missed", "wrong"}
    assert (first["doubt"] > 0.95).all()


def test_errors_keep_the_index_of_the_pairs_and_their_order_is_checked(gold):
    frame = pd.DataFrame(PAIRS, columns=["en", "fr"], index=[f"s{n}" for n in range(len(PAIRS))])
    batch = na.load().align_batch(frame)
    column = pd.Series(GOLD, index=frame.index)
    errors = batch.compare(column)
    assert errors.index.tolist() == [f"s{n}" for n in errors["pair"]]
    pd.testing.assert_frame_equal(errors, batch.compare(gold))
    with pytest.raises(na.UsageError, match="same pairs in the same order"):
        batch.compare(column.iloc[::-1])


def test_a_pickled_batch_has_errors_without_posteriors(batch, gold):
    errors, known = pickle.loads(pickle.dumps(batch)).compare(gold), batch.compare(gold)
    assert errors["posterior"].isna().all()
    unchanged = [name for name in errors if name not in ("posterior", "doubt")]
    pd.testing.assert_frame_equal(errors[unchanged], known[unchanged])


def test_only_pairs_that_were_looked_at_are_compared_and_scored(batch, tmp_path):
    path = tmp_path / "corrections.jsonl"
    correction = {"pair": 2, "pairs": 12, "text": "x", "links": [[0, 0]], "by": "Ann", "at": "2026"}
    path.write_text(json.dumps(correction) + "\n")
    gold = na.read_gold(path)
    assert repr(gold) == "GoldLinks of 1 of 12 pairs: 1 sure link"
    assert batch.compare(gold)["pair"].unique().tolist() == [1]
    assert batch.compare(path).equals(batch.compare(gold))
    assert na.evaluate(batch, gold).sentences == na.evaluate(batch[1:2], ["0-0"]).sentences
    assert gold[1:].reviewed == [0]


def _read(tmp_path, text, **options):
    path = tmp_path / "gold.jsonl"
    path.write_text(text)
    return na.read_gold(path, **options)


def test_gold_of_another_text_or_unit_is_refused_with_the_place(batch, gold, tmp_path):
    for compare in (batch.compare, lambda given: na.evaluate(batch, given)):
        with pytest.raises(na.DataError, match=r"12.*found.*9|9 pairs.*found.*12"):
            compare(gold[3:])
        with pytest.raises(na.DataError, match="pair 3: gold link 5-0 is outside a pair of 3 source"):
            compare([*GOLD[:3], "5-0", *GOLD[4:]])
        of_pieces = _read(tmp_path, '{"links": [[0, 0]], "unit": "pieces"}\n' * 12, format="jsonl")
        with pytest.raises(na.DataError, match="same unit, found words and pieces"):
            compare(of_pieces)
        with pytest.raises(na.NmtalignError, match="expected gold links of each pair"):
            compare(3)
    with pytest.raises(na.UsageError, match="`names` are those of two batches"):
        batch.compare(gold, names=("a", "b"))
