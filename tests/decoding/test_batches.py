"""Batches: ``batch.save`` and ``na.open_batch`` with bad files, and ``na.concat``, several batches as one."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from nmtalign.decoding import batches
from nmtalign.files import array_files
from nmtalign.files.array_files import NpzWriter
from nmtalign.links.saved_tables import read_tables
from tests.aligner.batches import check_same_bits
from tests.aligner.toy_language import toy_bitext, toy_training

TOY = toy_bitext(30, seed=11)
FORMATS = ["npz", "parquet"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"threshold": 0.2},
    {"extract": "match"},
    {"symmetrize": "grow-diag-final"},
]


INDEXES = [
    pd.Index([4, 7], name="id"),
    pd.Index(["ä", "b\n"]),
    pd.Index([0.5, np.nan]),
    pd.MultiIndex.from_tuples([("x", 1), ("y", 2)], names=["book", None]),
]


def save_and_open(batch: na.AlignedBatch, path: Path) -> na.AlignedBatch:
    batch.save(path)
    return na.open_batch(path)


def through_json(batch: na.AlignedBatch) -> na.AlignedBatch:
    return na.open_batch(json.loads(json.dumps(batch.to_dict(), allow_nan=False)))


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    ("aligner", "options"),
    [
        (lambda: na.load(), {}),
        (lambda: na.load(tokenizer="simple"), {}),
        (lambda: na.load(tokenizer="simple"), {"count": "tokens"}),
        (lambda: na.load(), {"pieces": "bpe", "count": "pieces"}),
        (lambda: na.load("en_fr_vectors"), {}),
    ],
)
def test_an_opened_batch_is_equal_and_chooses_alike(
    ending: str, aligner: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    text = [("the c@@ at, a  d@@ og", "le ch@@ at, un chien"), ("", "le"), ("don't go", "n'y va\u00a0pas")]
    batch = aligner().align_batch(text, posteriors=True, **options)
    opened = save_and_open(batch, tmp_path / f"batch.{ending}")
    check_same_bits(opened, batch)
    for chosen in OPTIONS:
        check_same_bits(opened.choose(**chosen), batch.choose(**chosen))
    assert [pair.texts for pair in opened] == [pair.texts for pair in batch]
    pd.testing.assert_frame_equal(opened.table(), batch.table())
    check_same_bits(save_and_open(opened, tmp_path / f"again.{ending}"), batch)
    for batch_of_json in (through_json(batch), through_json(opened)):
        check_same_bits(batch_of_json, batch)
        assert [pair.texts for pair in batch_of_json] == [pair.texts for pair in batch]


@pytest.mark.parametrize("ending", FORMATS)
def test_parts_of_a_file_are_one_batch(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "PAIRS_PER_SAVED_CHUNK", 7)
    batch = toy_training("fast").aligner.align_batch(TOY.pairs, posteriors=True)
    opened = save_and_open(batch, tmp_path / f"batch.{ending}")
    check_same_bits(opened, batch)
    for chosen in OPTIONS:
        check_same_bits(opened.choose(**chosen), batch.choose(**chosen))
    picked = [29, 3, 3, 15, 0]
    check_same_bits(opened[picked].choose(threshold=0.1), batch[picked].choose(threshold=0.1))
    gold = [na.GoldAlignment(links) for links in TOY.links]
    assert na.evaluate(opened, gold, curve=True) == na.evaluate(batch, gold, curve=True)


def test_a_long_pair_keeps_its_sections(tmp_path: Path) -> None:
    text = [("the cat sees a dog " * 60, "le chat voit un chien " * 60), ("a", "un")]
    batch = na.load().align_batch(text, posteriors=True)
    opened = save_and_open(batch, tmp_path / "batch.npz")
    for chosen in OPTIONS:
        check_same_bits(opened.choose(**chosen), batch.choose(**chosen))


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("index", INDEXES)
def test_the_index_is_kept(ending: str, index: pd.Index, tmp_path: Path) -> None:
    frame = pd.DataFrame({"en": ["the cat", "a dog"], "fr": ["le chat", "un chien"]}, index=index)
    whole = na.load().align_batch(frame)
    for count in (2, 0):
        batch = whole[:count]
        for opened in (save_and_open(batch, tmp_path / f"batch-{count}.{ending}"), through_json(batch)):
            assert opened.frame_index is not None
            pd.testing.assert_index_equal(opened.frame_index, index[:count])


def test_an_index_that_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"en": ["the cat"], "fr": ["le chat"]}, index=[datetime(2026, 1, 2)])
    with pytest.raises(na.UsageError, match="index of numbers or text"):
        na.load().align_batch(frame).save(tmp_path / "batch.npz")
    assert not (tmp_path / "batch.npz").exists()


def test_batches_without_posteriors_words_or_pairs(tmp_path: Path) -> None:
    batch = na.load().align_batch([("the cat", "le chat")])
    opened = save_and_open(batch, tmp_path / "batch.npz")
    check_same_bits(opened, batch)
    with pytest.raises(na.UsageError, match="`posteriors=True`"):
        opened.choose(threshold=0.3)
    with pytest.raises(na.UsageError, match="not its aligner"):
        _ = opened[0].forward
    with pytest.raises(na.UsageError, match="not its aligner"):
        next(opened.matrices())
    links = na.symmetrize(["0-0 1-2"], ["0-0"])
    check_same_bits(save_and_open(links, tmp_path / "links.parquet"), links)
    check_same_bits(through_json(links), links)
    empty = na.load().align_batch([], posteriors=True)
    check_same_bits(save_and_open(empty, tmp_path / "empty.npz").choose(threshold=0.5), empty)
    given = na.links_from([("a b", "x")], matrices=[np.array([[0.2, 0.8]])])
    check_same_bits(save_and_open(given, tmp_path / "given.npz"), given)
    for one in (empty, given, given[:0]):
        check_same_bits(through_json(one), one)
    with pytest.raises(na.UsageError, match=r"ending in \.npz or \.parquet"):
        batch.save(tmp_path / "batch.pkl")


def test_a_file_is_small(tmp_path: Path) -> None:
    batch = toy_training("fast").aligner.align_batch(TOY.pairs * 50, posteriors=True)
    for ending in FORMATS:
        batch.save(tmp_path / f"batch.{ending}")
        assert (tmp_path / f"batch.{ending}").stat().st_size < 500 * len(batch)


@pytest.fixture(scope="module")
def good_file(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("good")
    batch = na.load().align_batch([("the cat", "le chat"), ("a dog", "un chien")], posteriors=True)
    files = {}
    for ending in FORMATS:
        batch.save(folder / f"batch.{ending}")
        files[ending] = (folder / f"batch.{ending}").read_bytes()
    return files


def test_wrong_columns_are_refused(tmp_path: Path, good_file: dict[str, bytes]) -> None:
    good = tmp_path / "good.npz"
    good.write_bytes(good_file["npz"])

    def check(changes: dict[str, Any], message: str) -> None:
        path = tmp_path / "wrong.npz"
        with NpzWriter(open(path, "wb")) as writer, np.load(good) as arrays:
            for name in arrays.files:
                array = changes.get(name, arrays[name])
                if array is not None:
                    writer.write(name, array)
        with pytest.raises(na.DataError, match=message):
            na.open_batch(path)

    meta = json.loads(np.load(good)["meta"].tobytes())
    encoded = lambda values: np.frombuffer(json.dumps(values).encode(), np.uint8)  # noqa: E731
    check({"meta": None}, "not a saved batch of nmtalign")
    check({"meta": encoded(meta | {"format": "other"})}, "not a saved batch of nmtalign")
    check({"meta": encoded(meta | {"version": 9})}, "version 1, found version 9")
    check({"meta": encoded(meta | {"unit": "letters"})}, "damaged")
    check({"link_source-0": np.array([0, 9, 0, 1])}, "damaged")
    check({"link_target-count-0": np.array([1, 3])}, "damaged")
    check({"cell_target-0": None}, "damaged")
    with np.load(good) as arrays:
        check({"cell_source-0": arrays["cell_source-0"] + 7}, "damaged")
    text = tmp_path / "links.txt"
    text.write_text("0-0 1-1\n")
    with pytest.raises(na.DataError, match="not a saved batch"):
        na.open_batch(text)
    with pytest.raises(na.DataError, match="No such file"):
        na.open_batch(tmp_path / "nothing.npz")
    shutil.copyfile(good, tmp_path / "named.parquet")
    assert len(na.open_batch(tmp_path / "named.parquet")) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"meta": None}, "the dictionary: this is not a saved batch"),
        ({"link_source": [[0, 9], [0]]}, "damaged"),
        ({"link_source": [[0.5], [0]]}, "damaged"),
        ({"link_target": [0, 1]}, "damaged"),
        ({"link_probability": [["a"], [0.5]]}, "damaged"),
        ({"source_words": [["the"]]}, "damaged"),
        ({"source_words": [[1], [2]]}, "damaged"),
        ({"pair_score": [0.5]}, "damaged"),
        ({"pair_score": None}, "damaged"),
    ],
)
def test_wrong_values_of_a_dictionary_are_refused(changes: dict[str, Any], message: str) -> None:
    values = na.load().align_batch([("the", "le"), ("a", "un")]).to_dict()
    with pytest.raises(na.DataError, match=message):
        na.open_batch({**values, **changes})


def test_a_notebook_shows_the_first_pairs() -> None:
    html = na.load().align_batch([("the <b>", "le <b>")] * 7)._repr_html_()
    assert "AlignedBatch of 7 pairs" in html
    assert html.count("the &lt;b&gt;") == 5
    assert "and 2 more" in html
    assert na.symmetrize(["0-0"], ["0-0"])._repr_html_().startswith("<p>AlignedBatch of 1 pair, 1 link")


def test_arrow_reads_the_table_of_a_batch() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"en": ["the cat", "a dog"], "fr": ["le chat", "un chien"]}, index=["s1", "s2"])
    batch = na.load().align_batch(frame)
    pd.testing.assert_frame_equal(pyarrow.table(batch).to_pandas(), batch.table())


TEXT = [("the black cat", "le chat noir"), ("", "le"), ("a dog", "un chien"), ("the house", "la maison")]


def frame_of(first: int, last: int) -> pd.DataFrame:
    index = pd.Index([f"s{n}" for n in range(first, last)], name="id")
    return pd.DataFrame(TEXT[first:last], columns=["en", "fr"], index=index)


def test_a_joined_batch_is_that_of_the_joined_text() -> None:
    aligner = na.load()
    parts = [aligner.align_batch(frame_of(0, 2)), aligner.align_batch(frame_of(2, 4), posteriors=True)]
    joined, expected = na.concat(parts), aligner.align_batch(frame_of(0, 4))
    check_same_bits(joined, expected)
    pd.testing.assert_frame_equal(joined.table(), expected.table())
    assert list(joined) == list(expected)
    for ours, theirs in zip(joined.matrices("forward"), expected.matrices("forward"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for options in ({"threshold": 0.2}, {"extract": "itermax"}, {}):
        check_same_bits(joined.choose(**options), expected.choose(**options))
        check_same_bits(joined[[3, 0, 3]].choose(**options), expected[[3, 0, 3]].choose(**options))
    check_same_bits(joined[[]].choose(threshold=0.2), expected[[]])
    gold = [na.GoldAlignment({(0, 0)} if n != 1 else ()) for n in range(4)]
    assert na.evaluate(joined, gold, curve=True) == na.evaluate(expected, gold, curve=True)


def test_what_does_not_fit_is_refused() -> None:
    aligner = na.load()
    words = aligner.align_batch(TEXT)
    with pytest.raises(na.UsageError, match="alike in unit, found 'tokens' in batch 1"):
        na.concat([words, aligner.align_batch(TEXT, count="tokens")])
    with pytest.raises(na.UsageError, match="alike in index"):
        na.concat([words, aligner.align_batch(frame_of(0, 2))])
    without = na.symmetrize(["0-0"], ["0-0"])
    with pytest.raises(na.UsageError, match="alike in"):
        na.concat([words, without])
    wrong: list[Any] = [[], words, [words, "0-0"], 3]
    for value in wrong:
        with pytest.raises(na.UsageError, match="expected a list of batches"):
            na.concat(cast(Any, value))
    assert na.concat([words]) is words
    assert len(na.concat([without, without])) == 2


def test_a_curve_of_links_that_were_chosen_in_different_ways_is_refused() -> None:
    batch = na.load().align_batch(TEXT)
    joined = na.concat([batch, batch.choose(extract="argmax")])
    with pytest.raises(na.UsageError, match="in different ways"):
        na.evaluate(joined, ["0-0", "", "0-0", "0-0"] * 2, curve=True)
    assert (
        na.evaluate(joined.choose(extract="argmax"), ["0-0", "", "0-0", "0-0"] * 2, curve=True).method
        == "argmax"
    )


def test_a_parquet_file_of_repeated_values_takes_no_more_memory_than_it_may(tmp_path, monkeypatch):
    """Equal values take next to no space in a file: rows without links, or one text in all rows."""
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "b.parquet"
    na.load().align_batch([("the cat " * 1_000, "le chat " * 1_000)]).save(path)
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(pyarrow.concat_tables([table] * 3), path)
    [(_, columns)] = read_tables(path)
    first, second, _ = columns["source_text"].values
    assert first is second
    assert columns["source_words"].values.count("cat") == 3_000
    assert len(set(map(id, columns["source_words"].values))) == 2
    na.load().align_batch([("", "")]).save(path)
    empty = pyarrow.concat_tables([pyarrow.parquet.read_table(path)] * 20_000)
    pyarrow.parquet.write_table(empty, path)
    assert len(na.open_batch(path)) == 20_000
    monkeypatch.setattr(array_files, "FREE_ARRAY_BYTES", 1 << 20)
    with pytest.raises(na.DataError, match=r"b.parquet: expected columns .* at most 1,048,576"):
        next(read_tables(path))
