"""Heads of attention are scored as the links that `links_from` makes of each, and bad input is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from nmtalign.text.bitext import SentencePair
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import run

TOY = toy_bitext(30, seed=5)
LAYERS, HEADS = 2, 3
GOLD = [na.GoldAlignment(links) for links in TOY.links]


def attention_of_pairs(*, end: bool = False) -> list[np.ndarray]:
    """Return attention (layers, heads, T, S) of each pair; layer 1, head 2 is sharp where there are links.

    With `end`, there is a row and a column more, for the end of the sentence.
    """
    rng = np.random.default_rng(4)
    found = []
    for (source, target), links in zip(TOY.words, TOY.links, strict=True):
        scores = rng.normal(0, 1, (LAYERS, HEADS, len(target) + end, len(source) + end))
        for s, t in links:
            scores[1, 2, t, s] += 4
            scores[0, 1, t, s] += 1.5
        powers = np.exp(scores)
        found.append(powers / powers.sum(axis=-1, keepdims=True))
    return found


@pytest.fixture(scope="module")
def attention():
    return attention_of_pairs()


def test_each_head_has_the_scores_of_its_links(attention):
    ranking = na.rank_heads(attention, GOLD)
    assert ranking.columns.tolist() == ["layer", "head", "aer", "precision", "recall", "f1"]
    assert ranking["aer"].is_monotonic_increasing
    assert ranking.loc[0, ["layer", "head"]].tolist() == [1, 2]
    assert ranking.loc[1, ["layer", "head"]].tolist() == [0, 1]
    assert ranking.index.tolist() == list(range(LAYERS * HEADS))
    for row in ranking.itertuples():
        batch = na.links_from(TOY.words, matrices=attention, layers=[row.layer], attention_heads=[row.head])
        scored = na.evaluate(batch, GOLD, bootstrap=0)
        assert (row.aer, row.precision, row.recall, row.f1) == pytest.approx(
            (scored.aer, scored.precision, scored.recall, scored.f1)
        )


def test_forms_of_attention_and_of_links_rank_alike(attention, tmp_path, monkeypatch):
    monkeypatch.setattr("nmtalign.external.head_ranking.PAIRS_IN_MEMORY", 7)
    ranking = na.rank_heads(attention, GOLD)
    np.savez(tmp_path / "heads.npz", **{f"pair-{n}": array for n, array in enumerate(attention)})
    lines = [" ".join(f"{s}-{t}" for s, t in sorted(links)) for links in TOY.links]
    named = [
        {f"{layer}.{head}": array[layer, head] for layer, head in np.ndindex(2, 3)} for array in attention
    ]
    for others in (
        na.rank_heads(tmp_path / "heads.npz", GOLD),
        na.rank_heads(iter(attention), lines),
        na.rank_heads(attention, (links for links in TOY.links)),
    ):
        pd.testing.assert_frame_equal(others, ranking)
    by_name = na.rank_heads(named, lines)
    assert by_name["head"].tolist() == [f"{row.layer}.{row.head}" for row in ranking.itertuples()]
    assert by_name["f1"].tolist() == ranking["f1"].tolist()
    with_end = attention_of_pairs(end=True)
    batch = na.links_from(TOY.words, matrices=with_end, layers=[1], attention_heads=[2])
    assert na.rank_heads(with_end, batch).loc[0, ["layer", "head", "aer"]].tolist() == [1, 2, 0]


def test_an_archive_of_attention_is_ranked(attention, tmp_path):
    TOY.write(tmp_path)
    np.savez(tmp_path / "heads.npz", **{f"pair-{n}": array for n, array in enumerate(attention)})
    files = [str(path) for path in TOY.write(tmp_path)]
    archive = tmp_path / "archive.npz"
    command = "links-from", *files, "--matrices", tmp_path / "heads.npz", "--attention", archive
    assert run(*command, "-o", tmp_path / "links.txt") == 0
    pd.testing.assert_frame_equal(na.rank_heads(archive, GOLD), na.rank_heads(attention, GOLD))


def test_rows_without_attention_have_no_links():
    weights = np.array([[[[1.0, 0.0], [0.0, 0.0]]]])
    ranking = na.rank_heads([weights], ["0-0"])
    assert ranking[["precision", "recall"]].to_numpy().tolist() == [[1, 1]]
    shifted = np.array([[[[0.0, 0.0], [1.0, 0.0]]]])
    assert na.rank_heads([shifted], ["0-0"], shift=1)["aer"].tolist() == [0]
    counts = np.array([[[[3.0, 1.0], [0.0, 5.0]]]])
    assert na.rank_heads([counts], ["0-0 1-1"], normalize=True)["aer"].tolist() == [0]


ONE = np.full((1, 2, 2, 3), 1 / 3)
REFUSED = {
    "too few links": ([ONE, ONE[..., :2] * 1.5], ["0-0"], na.DataError, "found no links of pair 1"),
    "too few arrays": ([ONE], ["0-0", "0-0"], na.DataError, "found no attention of pair 1"),
    "one matrix": ([ONE[0, 0]], ["0-0"], na.DataError, r"\(layers, heads, T, S\) for each pair, found shape"),
    "other heads": ([ONE, ONE[:, :1]], ["0-0"] * 2, na.DataError, "pair 1: expected the 2 heads"),
    "other names": ([{"a": ONE[0, 0]}, {"b": ONE[0, 0]}], [""] * 2, na.DataError, r"pair 1: .*\['b'\]"),
    "other shapes": ([{"a": ONE[0, 0], "b": np.eye(2)}], [""], na.DataError, "pair 0: .*the same shape"),
    "links outside": ([ONE], ["3-0"], na.DataError, "pair 0: link 3-0 is outside .*the same units"),
    "other sums": ([2 * ONE], [""], na.DataError, "pair 0: layer 0, head 0: expected rows that sum to 1"),
    "negative": ([-ONE], [""], na.DataError, "pair 0: layer 0, head 0: .*found a negative one"),
    "text": ("0-0", ["0-0"], na.NmtalignError, "0-0"),
    "a number": (3, ["0-0"], na.UsageError, "array for each pair, .*found 3"),
    "nothing": ([], [], na.DataError, "at least one pair, found none"),
    "a dictionary of arrays": ({"pair-0": ONE}, [""], na.UsageError, "list"),
    "layers of a model": ((np.ones((5, 2, 3, 3)),) * 4, [""] * 5, na.UsageError, "layers of a model"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_attention_that_does_not_fit_is_refused_with_the_place(case):
    matrices, links, kind, told = REFUSED[case]
    with pytest.raises(kind, match=told):
        na.rank_heads(matrices, links)


def test_attention_of_other_units_than_the_links_is_refused():
    pairs = [SentencePair("the cat", "le chat"), SentencePair("a dog", "un chien")]
    batch = na.load().align_batch(pairs)
    fitting = np.full((1, 2, 2, 2), 0.5)
    assert len(na.rank_heads([fitting, fitting], batch)) == 2
    with pytest.raises(na.DataError, match=r"pair 1: .*expected attention of 2 target and 2 source pieces"):
        na.rank_heads([fitting, np.full((1, 2, 2, 5), 0.2)], batch)
    with pytest.raises(na.UsageError, match="`shift` as -1, 0 or 1"):
        na.rank_heads([fitting, fitting], batch, shift=2)
