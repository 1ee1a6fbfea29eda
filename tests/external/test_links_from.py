"""Attention of other programs: files, layers, shifts, sub-words; a slow version in plain loops."""

from __future__ import annotations

import math
import re
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.decoding.extraction_methods import attention_posteriors, make_extraction
from nmtalign.errors import DataError, UsageError
from nmtalign.external.cross_attention import AttentionReduction
from nmtalign.external.links_from import Linker
from nmtalign.external.matrix_files import PairMatrix, read_matrices
from nmtalign.settings import LinkSettings

FOUR = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 4))  # layers, heads, T, S
WORDS = ["a", "b", "c", "d", "e"]


def test_npz_arrays_come_by_number(tmp_path):
    arrays = {f"pair-{n}": np.full((1, n + 1), n, dtype=float) for n in range(12)}
    np.savez_compressed(tmp_path / "a.npz", **dict(sorted(arrays.items())))  # pair-10 before pair-2
    assert [found.shape[1] for found in read_matrices(tmp_path / "a.npz")] == list(range(1, 13))
    np.savez(tmp_path / "b.npz", np.zeros((1, 1)), np.ones((2, 2)))  # arr_0, arr_1
    assert [found.shape for found in read_matrices(tmp_path / "b.npz")] == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["pair-0", "other"], "names that end with the number of the pair, found 'other'"),
        (["pair-0", "pair-2"], "found 2 arrays numbered from 0 to 2"),
        (["pair-1", "arr_1"], "found two with the same number: 'pair-1' and 'arr_1'"),
        (["pair-5"], "found 1 array numbered from 5 to 5"),
    ],
)
def test_names_without_order_are_refused(names, message, tmp_path):
    np.savez(tmp_path / "a.npz", **{name: np.zeros((1, 1)) for name in names})
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / 'a.npz'}: ") + ".*" + message):
        list(read_matrices(tmp_path / "a.npz"))


def test_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", pair0=np.array([{}], dtype=object))
    with pytest.raises(DataError, match=r"a\.npz, pair0: expected an array of real numbers"):
        list(read_matrices(tmp_path / "a.npz"))


def test_marian_soft_text(tmp_path):
    (tmp_path / "soft").write_text("0.9,0.1 0.25,0.75\nein Haus ||| 1 0.5\n\n")
    found = [matrix.tolist() for matrix in read_matrices(tmp_path / "soft")]
    assert found == [[[0.9, 0.1], [0.25, 0.75]], [[1.0], [0.5]], []]


@pytest.mark.parametrize("line", ["0.9,0.1 0.5", "0.9;0.1", "0.9,0.1 0.5,x"])
def test_a_bad_line_of_text_is_named(line, tmp_path):
    (tmp_path / "soft").write_text(f"1\n{line}\n")
    with pytest.raises(DataError, match="soft, line 2: expected the same number of weights for each"):
        list(read_matrices(tmp_path / "soft"))


FAIRSEQ = """\
S-1\tein Haus
A-1\t0.900000,0.050000,0.050000 0.100000,0.800000,0.100000 0.000000,0.000000,1.000000
S-0\tja
H-0\t-0.1\toui
A-0\t0.750000,0.250000 0.000000,1.000000
H-0\t-0.9\tno
A-0\t0.500000,0.500000 0.500000,0.500000
| Generate test with beam=2: BLEU4 = 1.0
"""


def test_fairseq_log(tmp_path):
    (tmp_path / "log").write_text(FAIRSEQ)
    first, second = read_matrices(tmp_path / "log")
    assert first.tolist() == [[0.75, 0.25], [0, 1]]  # of two translations the better one; by number
    assert second.shape == (3, 3)
    weights = AttentionReduction().weights(
        second, ["ein", "Haus"], ["a", "house"]
    )  # the ends of the sentences go
    np.testing.assert_array_equal(weights, [[0.9, 0.05], [0.1, 0.8]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A-0\t0.5,0.5\nA-2\t0.5,0.5\n", "A-0, A-1, ... for each pair, found 2 up to A-2"),
        ("S-0\tja\nH-0\t-1\toui\n", "found 0; run fairseq with --print-alignment soft"),
        ("A-0\t0-0 1-1\n", "line 1: expected weights such as 0.9,0.1 0.2,0.8, found links; run Marian with"),
        ("A-0\t0 2 1 3\n", "line 1: expected weights such as 0.9,0.1 0.2,0.8, found positions"),
        ("S-0\tja\nA-0\t0.5,0.5 0.1\n", "line 2: expected the same number of weights"),
    ],
)
def test_fairseq_logs_without_weights_are_refused(text, message, tmp_path):
    (tmp_path / "log").write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        list(read_matrices(tmp_path / "log"))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("le chat noir ||| 0-0 1-2 2-1 3-3", "found links; run Marian with --alignment soft"),
        ("0-0 1-2", "found links"),
        ("le chat ||| 0 2 1", "found positions"),
        ('{"attention": [[1.0]]}', "found JSON; numpy.savez writes"),
        ("[[0.9, 0.1], [0.2, 0.8]]", "found JSON; numpy.savez writes"),
    ],
)
def test_links_and_json_are_no_weights(line, found, tmp_path):
    (tmp_path / "soft").write_text(f"{line}\n")
    with pytest.raises(DataError, match=found):
        list(read_matrices(tmp_path / "soft"))


def test_matrices_of_nematus_and_sockeye(tmp_path):
    text = "1 ||| a b </s> ||| 0.285 ||| x y ||| 3 ||| 3\n.8 .1 .1\n.1 .8 .1\n0 0 1\n\n"
    text += "2 |||  ||| 0 |||  ||| 0 ||| 0\n"
    (tmp_path / "m").write_text(text)
    first, second = read_matrices(tmp_path / "m")
    assert first.tolist() == [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0, 0, 1]]
    assert second.shape == (0, 0)
    (tmp_path / "m").write_text(text.replace(".1 .8 .1", ".1 .8"))
    with pytest.raises(DataError, match="line 1: expected the same number of weights"):
        list(read_matrices(tmp_path / "m"))


@pytest.mark.parametrize(
    "start", ["", "A-0\t", "w ||| ", "1 ||| a ||| 0 ||| b ||| 1 ||| 1\n", "A-0\t0.1,", "a 0.1000000 "]
)
@pytest.mark.parametrize("odd", [*"9,-.* ", "0-", "0.1 ", "|||", " ||| ", "1-1 ", "1 ", "0.1000000 ", "1_"])
def test_runs_of_odd_characters_take_linear_time(start, odd, tmp_path):
    def seconds(count):
        (tmp_path / "m").write_text(f"{start}{odd * count}x\n")
        begin = time.process_time()
        with suppress(DataError):
            list(read_matrices(tmp_path / "m"))
        return time.process_time() - begin

    most = 30 * max(seconds(600), 0.001)  # quadratic: 100 times
    assert seconds(6_000) <= most or min(seconds(6_000) for _ in range(3)) <= most


def layers_of_a_model(count, pairs=1):
    return tuple(np.full((pairs, 4, 2, 2), 0.5) for _ in range(count))


@pytest.mark.parametrize("given", [layers_of_a_model(2), list(layers_of_a_model(3)), layers_of_a_model(2, 2)])
def test_the_layers_of_a_model_are_no_pairs(given):
    with pytest.raises(
        UsageError, match=r"found . arrays of shape .*, which look like the layers of a model"
    ):
        na.links_from([("a b", "x y")] * 2, matrices=given)
    whole = [np.concatenate(layers_of_a_model(6))] * 2
    assert len(na.links_from([("a b", "x y")] * 2, matrices=whole)) == 2


WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])  # le chat from the black cat
LABELED = pd.DataFrame(WEIGHTS, index=["le", "chat"], columns=["the", "black", "cat"])


@pytest.mark.parametrize("name", ["matrices", "similarities"])
def test_a_frame_of_weights_is_read_by_its_words(name):
    def weights_of(frame, pair=("the black cat", "le chat")):
        return na.links_from([pair], **{name: [frame]})[0].forward

    expected = weights_of(WEIGHTS)
    shuffled = LABELED.loc[["chat", "le"], ["cat", "the", "black"]]
    for frame in (LABELED, shuffled, LABELED.set_axis([1, 0])):  # labels that are no words are not read
        np.testing.assert_array_equal(weights_of(frame), expected)
    for wrong in (LABELED.rename({"le": "la"}), LABELED.set_axis(["chat", "chat"])):
        with pytest.raises(DataError, match=r"pair 0: expected rows with the labels \['le', 'chat'\], found"):
            weights_of(wrong)
    with pytest.raises(DataError, match=r"expected rows with the labels .* found"):
        weights_of(LABELED.T)
    twice = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["c", "c"])
    weights_of(twice, ("c c", "a b"))
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(weights_of(polars.from_pandas(shuffled.loc[["le", "chat"]])), expected)


def test_rows_of_marks_beside_those_of_words_are_not_compared():
    frame = pd.DataFrame(np.eye(3), index=["le", "chat", "</s>"], columns=["the", "cat", "</s>"])
    batch = na.links_from([("the cat", "le chat")], matrices=[frame])
    np.testing.assert_array_equal(batch[0].forward, np.eye(2))


@pytest.mark.parametrize("name", ["matrices", "similarities"])
@pytest.mark.parametrize(
    ("given", "way_on"),
    [
        ({0: np.eye(2)}, "found a dict; pass a list, such as list"),
        ({("a b", "c d"): np.eye(2)}, "found a dict; pass a list, such as list"),
        (pd.DataFrame(np.eye(2)), "found a DataFrame; the matrix of a single pair goes in a list"),
    ],
)
def test_arrays_that_are_not_in_the_order_of_the_pairs_are_refused(name, given, way_on):
    with pytest.raises(UsageError, match=f"in the order of the pairs, as `{name}`, {way_on}"):
        na.links_from([("a b", "c d")], **{name: given})


def test_a_matrix_and_vectors_are_read_by_their_words():
    shuffled = LABELED.loc[["chat", "le"], ["cat", "the", "black"]]
    matrix = na.AlignmentMatrix(shuffled, ["the", "black", "cat"], ["le", "chat"])
    np.testing.assert_allclose(matrix.weights, WEIGHTS)
    vectors = LABELED.T.loc[["cat", "the", "black"]]
    for words in (["the", "black", "cat"], {"the": 0, "black": 1, "cat": 2}):
        found = na.Embeddings.of(words, vectors).vectors(["the", "cat"])
        np.testing.assert_allclose(found, WEIGHTS.T[[0, 2]])


@pytest.mark.parametrize("name", ["matrices", "similarities"])
def test_a_series_of_arrays_is_in_the_order_of_the_frame(name):
    frame = pd.DataFrame({"en": ["a b", "c d"], "fr": ["x y", "z u"]}, index=["p", "q"])
    arrays = {"p": np.array([[0.9, 0.1], [0.2, 0.8]]), "q": np.array([[0.1, 0.9], [0.8, 0.2]])}
    series = pd.Series(arrays)
    expected = na.links_from(frame, **{name: [arrays["p"], arrays["q"]]})
    assert na.links_from(frame, **{name: series}) == expected
    with pytest.raises(
        UsageError, match=f"pairs and `{name}` of the same pairs .* found 'p' and 'q' at position 0"
    ):
        na.links_from(frame, **{name: series[::-1]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": "pieces"}, "pieces"),
        ({"spaces": "a b"}, "mark"),
        ({"spaces": "▁", "words": True}, "lists of words; pass lines"),
        ({"count": "letters"}, "letters"),
    ],
)
def test_the_unit_is_refused_before_a_model_is_opened(options, message, monkeypatch):
    monkeypatch.setattr("nmtalign.external.links_from.open_linker", None)
    words = options.pop("words", False)
    pairs = [(["a"], ["b"])] if words else [("a", "b")]
    with pytest.raises(UsageError, match=message):
        na.links_from(pairs, encoder="not-there", **options)


def opennmt_table(source, target, weights):
    """As OpenNMT-py prints it: names cut to 7 and 10 letters, the largest weight of a row starred."""
    lines = ["[2026-01-01 00:00:00,000 INFO] " + " " * 11 + "".join(f"{word:>10.7} " for word in source)]
    for word, row in zip([*target, "</s>"], weights, strict=True):
        cells = [f"{w:*>10.7f} " if k == int(np.argmax(row)) else f"{w:>10.7f} " for k, w in enumerate(row)]
        lines.append(f"{word:>10.10} " + "".join(cells))
    return "\n".join(lines) + "\n"


def test_opennmt_tables(tmp_path):
    random = np.random.default_rng(0)
    log, expected = "", []
    for n, (S, T) in enumerate([(3, 2), (1, 4), (12, 1), (2, 0)]):
        weights = random.dirichlet(np.ones(S), T + 1)
        words = [f"wonderfully{k}" for k in range(12)]
        log += f"SENT {n}: {words[:S]}\nPRED {n}: 0.5000000 0.25\nPRED SCORE: -0.1234\n"
        log += opennmt_table(words[:S], words[:T], weights) + "\n"
        expected.append(weights)
    (tmp_path / "log").write_text(log)
    for found, weights in zip(read_matrices(tmp_path / "log"), expected, strict=True):
        np.testing.assert_allclose(found, weights, atol=1e-7)


def test_an_opennmt_table_that_was_cut_is_refused(tmp_path):
    (tmp_path / "log").write_text("  a  0.5000000 *0.5000000\n  b  1.0000000\n")
    with pytest.raises(DataError, match="line 2: expected 2 weights, found 1"):
        list(read_matrices(tmp_path / "log"))


def linker(extraction, name=""):
    return Linker(name, iter, attention_posteriors, extraction)


def pair_of(weights, words, extraction, name=""):
    """One pair to look at."""
    return linker(extraction, name).pair(PairMatrix(words, weights))


def batch_of(weights, extraction):
    """The links of one pair of as many different words as the weights have columns and rows."""
    words = tuple([f"w{n}" for n in range(size)] for size in weights.shape[::-1])
    return linker(extraction).align([PairMatrix(words, weights)])


def test_a_pair_to_look_at_has_the_links_and_weights():
    weights = np.array([[0.7, 0.2], [0.1, 0.6], [0.0, 0.0]])
    pair = pair_of(weights, (["a", "b"], ["x", "y", "z"]), make_extraction(null=False), "s")
    assert pair.alignment.links == {(0, 0), (1, 1)}
    np.testing.assert_allclose(pair.forward, weights)
    np.testing.assert_allclose(pair.reverse.sum(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(pair.matrix.weights, np.sqrt(weights * pair.reverse), atol=1e-6)
    assert set(pair.probabilities) == pair.alignment.links
    assert pair.description == "s extract=mutual"
    one_way = pair_of(weights, (["a", "b"], ["x", "y", "z"]), make_extraction(LinkSettings("argmax")))
    np.testing.assert_allclose(one_way.matrix.weights, weights, atol=1e-9)
    empty = pair_of(np.zeros((0, 2)), (["a", "b"], []), make_extraction(null=False))
    assert empty.matrix.weights.shape == (0, 2)
    assert not empty.alignment.links


@pytest.mark.parametrize(
    ("layers", "heads", "expected"),
    [
        (None, None, FOUR.mean(axis=(0, 1))),
        ((1,), None, FOUR[1].mean(axis=0)),
        ((1,), (0, 2), (FOUR[1, 0] + FOUR[1, 2]) / 2),
    ],
)
def test_layers_and_heads_are_averaged(layers, heads, expected):
    found = AttentionReduction(layers, heads).weights(FOUR, WORDS, WORDS[:4])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("reading", "attention", "message"),
    [
        (AttentionReduction((2,)), FOUR, "there is no layer 2: found 2, counted from 0"),
        (AttentionReduction(None, (3,)), FOUR, "there is no head 3: found 3"),
        (AttentionReduction((1,)), FOUR[0, 0], "there is no layer 1: found 1"),
        (AttentionReduction(), FOUR[0], r"found float64 of shape \(3, 4, 5\)"),
        (AttentionReduction(), FOUR[0, 0].T, "of 4 target and 5 source pieces, .* found 5 and 4"),
        (AttentionReduction(), FOUR[0, 0, :3], "found 3 and 5"),
        (AttentionReduction(), np.zeros((6, 5)), "found 6 and 5"),
        (AttentionReduction(), -FOUR[0, 0], "found a negative one"),
        (AttentionReduction(), np.full((4, 5), math.nan), "NaN"),
        (AttentionReduction(), np.full((4, 5), "x"), "expected numbers"),
    ],
)
def test_what_does_not_fit_is_refused(reading, attention, message):
    with pytest.raises(DataError, match=message):
        reading.weights(attention, WORDS, WORDS[:4])


def test_the_end_of_the_sentence_is_left_out():
    whole = np.random.default_rng(0).dirichlet(np.ones(4), 3)
    np.testing.assert_array_equal(AttentionReduction().weights(whole, WORDS[:3], WORDS[:2]), whole[:2, :3])
    assert AttentionReduction().weights(np.ones((1, 1)), [], []).shape == (0, 0)
    assert AttentionReduction(pieces="bpe").weights(np.ones((1, 4)), WORDS[:3], []).shape == (0, 3)


@pytest.mark.parametrize("kind", ["npz", "Marian", "fairseq", "OpenNMT-py"])
@pytest.mark.parametrize("ends", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_rows_sum_to_one_before_the_end_of_the_sentence_is_left_out(kind, ends, tmp_path):
    S, T = 40, 30
    attention = np.random.default_rng(3).dirichlet(np.full(S + ends[1], 0.1), T + ends[0])
    path = written(attention, kind, tmp_path)
    found = AttentionReduction().weights(next(read_matrices(path)), ["s"] * S, ["t"] * T)
    np.testing.assert_allclose(found, attention[:T, :S], atol=2e-6 if kind != "npz" else 1e-3)
    assert (found.sum(axis=1) <= 1 + 1e-12).all()


def written(attention, kind, folder):
    """Write the attention of one pair as another program does, with its decimals."""
    path = folder / "attention"
    if kind == "npz":
        np.savez(folder / "a.npz", attention.astype(np.float16))
        return folder / "a.npz"
    if kind == "OpenNMT-py":
        words = [f"w{k}" for k in range(max(attention.shape))]
        table = opennmt_table(words[: attention.shape[1]], words[: len(attention) - 1], attention)
        path.write_text(table)
        return path
    form = "{:.6f}" if kind == "fairseq" else "{:.6g}"
    text = " ".join(",".join(form.format(weight) for weight in row) for row in attention)
    path.write_text(f"A-0\t{text}\n" if kind == "fairseq" else f"{text}\n")
    return path


@pytest.mark.parametrize(
    ("row", "total"), [([2.25, 0.0], "2.25"), ([0.5, 0.4], "0.9"), ([0.501, 0.501], "1.002")]
)
def test_rows_that_do_not_sum_to_one_are_refused(row, total):
    attention = np.array([[0.0, 0.0], row])
    with pytest.raises(
        DataError, match=f"expected rows that sum to 1, found {total} in row 2; .*`normalize=True`"
    ):
        AttentionReduction().weights(attention, WORDS[:2], WORDS[:2])
    found = AttentionReduction(normalize=True).weights(attention, WORDS[:2], WORDS[:2])
    np.testing.assert_allclose(found, [[0, 0], np.array(row) / sum(row)], rtol=1e-12)
    heads = np.stack([np.full((3, 2, 2), 0.5)] * 2)
    heads[1, 2] = attention
    for reading in (AttentionReduction(), AttentionReduction((1,), (0, 2)), AttentionReduction(heads=(2,))):
        with pytest.raises(DataError, match=f"found {total} in row 2 of layer 1, head 2"):
            reading.weights(heads, WORDS[:2], WORDS[:2])
    assert AttentionReduction((0,)).weights(heads, WORDS[:2], WORDS[:2]).tolist() == [[0.5, 0.5]] * 2


@given(
    st.integers(1, 6), st.integers(1, 60), st.integers(0, 99), st.sampled_from([None, "mutual", "transport"])
)
def test_no_probability_is_above_one(T, S, seed, method):
    random = np.random.default_rng(seed)
    raw = random.gamma(0.2, size=(2, 2, T, S)) * 10 ** random.uniform(-3, 3, (2, 2, T, 1))
    almost = raw / raw.sum(axis=3, keepdims=True) * random.uniform(0.9991, 1.0009, (2, 2, T, 1))
    for reading, attention in ((AttentionReduction(normalize=True), raw), (AttentionReduction(), almost)):
        for pieces in (None, "bpe"):
            words = ["w@@"] * S, ["t"] * T  # one source word of many pieces
            weights = replace(reading, pieces=pieces).weights(attention, *words)
            assert weights.max() <= 1
            assert (batch_of(weights, make_extraction(LinkSettings(method))).probability <= 1).all()


def test_rows_are_shifted():
    rows = np.array([[k, 8 - k] for k in (1, 2, 3)]) / 8
    source = WORDS[:2]

    def shifted(shift, T):
        return (8 * AttentionReduction(shift=shift).weights(rows, source, WORDS[:T])[:, 0]).tolist()

    assert shifted(-1, 3) == [0, 1, 2]  # row t is that of predicting word t + 1
    assert shifted(-1, 2) == [0, 1]
    assert shifted(1, 2) == [2, 3]  # the first row is that of the begin of the sentence
    assert shifted(1, 3) == [2, 3, 0]
    assert shifted(0, 2) == [1, 2]


def naive_merged(weights, source_words, target_words):
    """Sum over the pieces of a source word, mean over those of a target word."""
    merged = []
    for t in range(max(target_words) + 1):
        rows = [row for row, word in zip(weights, target_words, strict=True) if word == t]
        sums = [
            [sum(w for w, word in zip(row, source_words, strict=True) if word == s) for row in rows]
            for s in range(max(source_words) + 1)
        ]
        merged.append([sum(column) / len(column) for column in sums])
    return merged


def test_pieces_become_words():
    source, target = ["un@@", "happ@@", "y", "cat"], ["mal@@", "heureux", "chat", "."]
    weights = np.random.default_rng(1).dirichlet(np.ones(4), size=4)
    reading = AttentionReduction(pieces="bpe")
    words, found, *_ = reading.pair((source, target), weights)
    np.testing.assert_allclose(found, naive_merged(weights, [0, 0, 0, 1], [0, 0, 1, 2]), rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert words == (["unhappy", "cat"], ["malheureux", "chat", "."])


def test_pieces_of_several_words_and_spaces_become_words():
    pieces = ["▁", "▁un", "happy", "▁of▁the", "▁"], ["▁", "a"]
    weights = np.array([[0.1, 0.2, 0.3, 0.2, 0.2], [0.3, 0.1, 0.1, 0.4, 0.1]])
    words, found, *_ = AttentionReduction(pieces="sentencepiece").pair(pieces, weights)
    assert words == (["unhappy", "of", "the"], ["a"])
    np.testing.assert_allclose(found, [[0.55, 0.15, 0.15]], rtol=1e-6)  # the last space is part of no word
    assert AttentionReduction(pieces="sentencepiece").weights(np.ones((1, 1)), ["▁"], ["▁"]).shape == (0, 0)


@pytest.mark.parametrize("line", ["▁ ▁a ▁b", "▁a▁b ▁c ▁", "▁x ▁ <0xE2> <0x82> <0xAC> b", "▁ ▁", "▁a ▁ ▁ b"])
@pytest.mark.parametrize("count", ["words", "pieces"])
def test_sub_words_are_the_same_words_as_those_of_an_aligner(line, count):
    pairs = [(line, line)]
    size = len(line.split())
    options = {"pieces": "sentencepiece", "count": count}
    linked = na.links_from(pairs, matrices=[np.eye(size)], **options)
    assert linked[0].tokens == na.load().align_batch(pairs, **options)[0].tokens
    of_lists = na.links_from([(line.split(), line.split())], matrices=[np.eye(size)], **options)
    assert of_lists == linked
    assert linked[0].links == [*linked.links(0)]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99), st.sampled_from([None, "mutual", "argmax"]))
def test_links_are_those_of_the_weights_and_never_of_zeros(T, S, seed, method):
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.ones(S), size=T) * random.integers(0, 2, (T, 1))
    found = batch_of(weights, make_extraction(LinkSettings(method), null=False))
    assert (weights[found.target, found.source] > 0).all()
    for t, s, probability in zip(found.target, found.source, found.probability, strict=True):
        assert weights[t, s] == max(weights[t])
        if method != "argmax":
            assert weights[t, s] == max(weights[:, s])
        of_column = weights[t, s] / sum(weights[:, s])
        assert probability == pytest.approx(math.sqrt(weights[t, s] * of_column))
    if method == "argmax":
        assert set(found.target.tolist()) == set(np.flatnonzero(weights.any(axis=1)).tolist())


def test_what_was_paid_to_the_end_of_the_sentence_is_lost():
    posteriors = attention_posteriors(np.array([[0.1, 0.0], [0.5, 0.5]])[..., None], np.ones((2, 2, 1), bool))
    np.testing.assert_allclose(posteriors.forward[..., 0], [[0.1, 0], [0.5, 0.5]], atol=1e-12)
    np.testing.assert_allclose(posteriors.reverse.sum(axis=0), 1)
