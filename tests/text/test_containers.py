"""The containers that pairs may be in: tables of several packages, records, documents of spaCy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from nmtalign.corpus.units import PairToAlign
from nmtalign.errors import DataError
from nmtalign.text.bitext import Bitext, SentencePair, named_languages, read_bitext, read_pairs
from nmtalign.text.chunks import iter_chunks
from nmtalign.text.containers import SideNames, choose_sides

PAIRS = [("the cat", "le chat"), ("a dog", "un chien")]
COLUMNS = {"fr": ["le chat", "un chien"], "id": [1, 2], "en": ["the cat", "a dog"]}
RECORDS = [{"fr": french, "en": english} for english, french in PAIRS]


def polars() -> Any:
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def arrow() -> Any:
    return pytest.importorskip("pyarrow").table(COLUMNS)


def dataset() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(COLUMNS)


def nested_dataset() -> Any:
    rows = [{"id": n, "translation": record} for n, record in enumerate(RECORDS)]
    return pytest.importorskip("datasets").Dataset.from_list(rows)


CONTAINERS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "columns": lambda: COLUMNS,
    "records": lambda: RECORDS,
    "a stream of records": lambda: iter(RECORDS),
    "records in records": lambda: [{"translation": record} for record in RECORDS],
    "polars": polars,
    "pyarrow": arrow,
    "a batch of pyarrow": lambda: arrow().to_batches()[0],
    "a data set": dataset,
    "a stream of a data set": lambda: dataset().to_iterable_dataset(),
    "a data set of translations": nested_dataset,
    "a stream of translations": lambda: nested_dataset().to_iterable_dataset(),
}


RECORDS_OF_BOTH = [
    [{"id": 7, "en": "a cat", "fr": "un chat"}],
    [{"score": 0.5, "fr": "un chat", "en": "a cat", "meta": {"x": 1}}],
    [{"source": "web", "translation": {"fr": "un chat", "en": "a cat", "n": 3}}],
    [{"source": "a cat", "target": "un chat", "translation": {"en": "no"}}],
]


@pytest.mark.parametrize("records", RECORDS_OF_BOTH)
def test_records_in_memory_and_json_lines_have_the_same_sides(records: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    expected = {"a cat", "un chat"}
    assert list(read_bitext(path)) == list(Bitext(records))
    assert set(Bitext(records)[0]) == expected
    inner = records[0].get("translation", records[0])
    languages = tuple(key for key in inner if key in ("en", "fr"))
    assert named_languages(records) == (languages if len(languages) == 2 else (None, None))


def test_two_keys_of_other_names_are_sides_in_memory_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"title": "a cat", "body": "un chat"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 1: expected text under the key 'source'"):
        list(read_bitext(path))
    assert list(Bitext([{"title": "a cat", "body": "un chat", "n": 3}])) == [("a cat", "un chat")]


def test_chunks_are_of_checked_pairs() -> None:
    pair = PairToAlign("a cat", "un chat")
    [chunk] = iter_chunks([pair, ("a dog", "un chien")])
    assert chunk.lines[0] is pair
    assert type(chunk.lines[1]) is SentencePair
    with pytest.raises(DataError, match="pair 0: expected one line per side, found a line break"):
        list(iter_chunks([SentencePair("a\n", "b")]))


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_hold_the_same_pairs(container: str) -> None:
    languages = ("en", "fr")
    assert list(read_pairs(CONTAINERS[container](), languages=languages).pairs) == PAIRS
    assert list(read_pairs(CONTAINERS[container](), source="en", target="fr").pairs) == PAIRS
    swapped = [pair[::-1] for pair in PAIRS]
    assert list(read_pairs(CONTAINERS[container](), source="fr", target="en").pairs) == swapped


@pytest.mark.parametrize(
    ("columns", "languages", "sides"),
    [
        (["en", "fr"], (None, None), (0, 1)),
        (["fr", "en"], (None, None), (0, 1)),
        (["fr", "en"], ("en", "fr"), (1, 0)),
        (["French", "eng"], ("en", "fr"), (1, 0)),
        (["text_fr", "text_en", "score"], ("en", "fr"), (1, 0)),
        (["fr_FR", "en_US", "de"], ("en", "fr"), (1, 0)),
        (["score", "tgt", "src"], ("en", "fr"), (2, 1)),
        (["id", "target_text", "source_text"], (None, None), (2, 1)),
        (["b", "a"], ("en", "fr"), (0, 1)),
        ([0, 1], (None, None), (0, 1)),
    ],
)
def test_sides_are_known_by_their_names(columns: Any, languages: Any, sides: tuple[int, int]) -> None:
    assert choose_sides(columns, SideNames(languages=languages)) == sides


@pytest.mark.parametrize(
    ("pairs", "names", "message"),
    [
        (lambda: {"a": ["x"], "b": ["y"], "c": ["z"]}, {}, "two columns, found 3: a, b, c; name both sides"),
        (lambda: {"en": ["x"]}, {}, "two columns, found 1: en"),
        (lambda: {"en": ["x"], "fr": ["y", "z"]}, {}, "same length, found different ones: 'en' has 1"),
        (lambda: {"en": "x", "fr": "y"}, {}, "found 'x' as 'en'; the record of a single pair goes in a list"),
        (lambda: COLUMNS, {"source": "en"}, "found no `target`"),
        (lambda: COLUMNS, {"source": "en", "target": "de"}, "a column 'de' as `target`, found none among"),
        (lambda: COLUMNS, {"source": "en", "target": "en"}, "name the same column"),
        (lambda: PAIRS, {"source": "en", "target": "fr"}, "names of columns of a table, or keys of records"),
        (lambda: (["a"], ["b"]), {"source": "en", "target": "fr"}, "names of columns"),
        (lambda: [*RECORDS, {"en": "x"}], {}, "pair 2: expected a record with the keys 'fr' and 'en', found"),
        (lambda: [*RECORDS, ("a", "b")], {}, "pair 2: expected a record such as the first one"),
        (lambda: polars().lazy(), {}, r"found a LazyFrame; write table.collect\(\)"),
        (lambda: {"train": dataset()}, {}, r"found several parts: train; choose one: dataset\['train'\]"),
    ],
)
def test_what_is_refused_says_what_to_write(pairs: Any, names: Any, message: str) -> None:
    with pytest.raises(na.NmtalignError, match=message):
        list(read_pairs(pairs(), **names).pairs)


def test_every_function_that_takes_pairs_takes_named_columns() -> None:
    names: Any = {"source": "en", "target": "fr"}
    many = {"fr": COLUMNS["fr"] * 5, "en": COLUMNS["en"] * 5}
    aligner = na.train(many, **names)
    assert "cat-chat" in str(aligner.align("the cat", "le chat"))
    assert aligner.align_batch(COLUMNS, **names)[1].tokens == (("a", "dog"), ("un", "chien"))
    linked = na.links_from(COLUMNS, similarities=[[[1, 0], [0, 1]]] * 2, **names)
    assert linked[0].tokens == (("the", "cat"), ("le", "chat"))
    assert list(na.Bitext(COLUMNS, **names)) == PAIRS
    vectors = na.load("en_fr_vectors", positions="hmm")
    assert "fitted on 10 pairs" in na.fit_to(vectors, many, **names).positions.description
    with pytest.raises(na.UsageError, match="a column 'de'"):
        na.learn_attention(COLUMNS, "en_fr_vectors", source="de", target="fr")


def test_the_index_of_a_frame_survives_in_tables_filters_and_errors() -> None:
    frame = pd.DataFrame(COLUMNS, index=pd.Index([63, 105], name="row"))
    batch = na.load().align_batch(frame)
    assert batch.frame_index is not None
    assert batch.table().index.tolist() == [63, 63, 105, 105]
    assert batch.table().index.name == "row"
    assert frame.join(batch.table())["target_word"].tolist() == ["le", "chat", "un", "chien"]
    assert batch[np.array([False, True])].table().index.tolist() == [105, 105]
    assert batch[frame["id"] < 2].table().index.tolist() == [63, 63]
    assert batch.compare(batch).index.tolist() == [63, 63, 105, 105]
    assert na.load().align_batch(frame["en"], frame["fr"]).frame_index is not None
    assert na.Bitext(frame).frame_index is not None
    assert set(na.load().align_batch(na.Bitext(frame)[1:]).table().index) == {105}
    frame.loc[105, "fr"] = None
    with pytest.raises(na.DataError, match=r"pair 1 \(index 105\)"):
        na.load().align_batch(frame)
    with pytest.raises(na.DataError, match=r"pair 1 \(index 105\)"):
        na.load().align_batch(frame["en"], frame["fr"])
    with pytest.raises(na.DataError, match=r"pair 1 \(index 105\)"):
        list(na.iter_chunks(frame[["en", "fr"]]))
    with pytest.raises(na.DataError, match=r"pair 1 \(index 105\): expected links like 0-1"):
        na.evaluate(pd.Series(["0-0", "0:0"], index=frame.index), ["0-0"] * 2)


def test_a_mask_with_an_index_is_matched_by_it() -> None:
    index = pd.Index([63, 105, 7])
    frame = pd.DataFrame({"en": ["a", "b", "c"], "fr": ["x", "y", "z"]}, index=index)
    mask = pd.Series([False, True, True], index=[7, 63, 105])
    batch, bitext = na.load().align_batch(frame), na.Bitext(frame)
    for pairs in (batch, bitext):
        assert list(pairs[mask].frame_index) == [63, 105]
        assert list(pairs[mask.to_numpy()].frame_index) == [105, 7]
        assert list(pairs[mask.to_list()].frame_index) == [105, 7]
        message = "expected a mask with the index of the pairs, found 0 and 63 at position 0; "
        with pytest.raises(na.UsageError, match=message):
            pairs[mask.reset_index(drop=True)]
    repeated = na.load().align_batch(frame.set_axis([1, 1, 2]))
    assert len(repeated[mask.set_axis([1, 1, 2])]) == 2
    with pytest.raises(na.UsageError, match="found 2 and 1 at position 0"):
        repeated[mask.set_axis([2, 1, 1])]
    without_index = na.load().align_batch([("a", "x"), ("b", "y"), ("c", "z")])
    assert without_index[mask] == without_index[1:]


def test_labels_of_pandas_select_pairs() -> None:
    frame = pd.DataFrame({"en": ["a", "b", "c"], "fr": ["x", "y", "z"]}, index=[2, 0, 1])
    batch, bitext = na.load().align_batch(frame), na.Bitext(frame)
    lowest = pd.Series([0.5, 0.25, 0.125], index=frame.index).nsmallest(2).index
    for pairs in (batch, bitext):
        assert list(pairs[lowest].frame_index) == [1, 0]
        assert list(pairs[lowest.tolist()].frame_index) == [0, 2]  # numbers in a list are positions
        assert list(pairs[pd.Index([True, False, False])].frame_index) == [2]
        message = r"expected labels of the index of the pairs, found 7; select by position.*argsort"
        with pytest.raises(na.UsageError, match=message):
            pairs[pd.Index([1, 7])]
    repeated = na.load().align_batch(frame.set_axis(["s", "t", "s"]))
    assert list(repeated[pd.Index(["s"])].frame_index) == ["s", "s"]
    without_index = na.load().align_batch([("a", "x"), ("b", "y")])
    assert without_index[pd.Index([1])] == without_index[1:]


def test_a_column_beside_a_list_keeps_its_index() -> None:
    frame = pd.DataFrame(COLUMNS, index=[63, 105])
    source, target = "en", "fr"
    for sides in ((frame[source], list(frame[target])), (list(frame[source]), frame[target])):
        assert na.load().align_batch(*sides).frame_index.tolist() == [63, 105]
        assert na.Bitext(*sides).frame_index.tolist() == [63, 105]
    assert na.load().align_batch(frame[source], iter(frame[target])).frame_index is None
    with pytest.raises(na.NmtalignError, match="2"):
        na.load().align_batch(frame[source], ["x"])


def test_a_mask_of_polars_selects_by_position() -> None:
    polars = pytest.importorskip("polars")
    frame = pd.DataFrame(COLUMNS, index=[63, 105])
    batch = na.load().align_batch(frame)
    assert list(batch[polars.Series([False, True])].frame_index) == [105]
    assert list(batch[polars.Series([1, 0])].frame_index) == [105, 63]
    with pytest.raises(na.UsageError, match="expected True or False for each of 2 pairs, found 3 values"):
        batch[polars.Series([True, False, True])]


def test_an_index_of_several_levels_survives() -> None:
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["text", "line"])
    batch = na.load().align_batch(pd.DataFrame(COLUMNS, index=index))
    assert batch[[1]].table().index.tolist() == [("b", 2)] * 2


def test_tokens_of_documents_are_words() -> None:
    nlp = pytest.importorskip("spacy").blank("en")
    source, target = nlp("The cat's\n toy"), nlp("le jouet")
    pair = na.load().align(source, target)
    assert pair.tokens[0] == ("The", "cat", "'s", "  ", "toy")
    assert len(pair.tokens[0]) == len(source)
    batch = na.load().align_batch(nlp.pipe(COLUMNS["en"]), nlp.pipe(COLUMNS["fr"]))
    assert batch[1].tokens == (("a", "dog"), ("un", "chien"))
    assert list(read_pairs([(source[:2], target[:1])]).pairs) == [(["The", "cat"], ["le"])]
    assert list(read_pairs([(nlp(""), target[:0])]).pairs) == [([], [])]
    with pytest.raises(na.DataError, match=r"a single pair goes in a list: \[\(source, target\)\]"):
        list(read_pairs((source, target)).pairs)


def test_other_containers_have_no_index() -> None:
    assert read_pairs(PAIRS).frame_index is None
    assert read_pairs(COLUMNS).frame_index is None


def test_columns_of_different_indexes_are_not_paired_by_position() -> None:
    source = pd.Series(["the cat", "a dog"], index=[1, 2])
    target = pd.Series(["un chien", "le chat"], index=[2, 1])
    aligner = na.load()
    calls: list[Callable[[], Any]] = [
        lambda: aligner.align_batch(source, target),
        lambda: aligner.align_batch((source, target)),
        lambda: na.train(source, target),
        lambda: na.check(source, target),
        lambda: list(na.iter_chunks(source, target)),
    ]
    for call in calls:
        with pytest.raises(na.UsageError, match=r"found 1 and 2 at position 0; .*reset_index.*DataFrame"):
            call()
    batch = aligner.align_batch(source, target.sort_index())
    with pytest.raises(na.UsageError, match=r"found 1 and 2 at position 0; .*reset_index.*tags\.loc"):
        na.project(batch, pd.Series(["O O", "O O"], index=[2, 1]), format="bio")
    assert len(aligner.align_batch(source, target.tolist())) == 2
    with pytest.raises(na.DataError, match="same number of source and target sentences"):
        aligner.align_batch(source, target[:1])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_missing_cells_are_counted_and_listed(missing: Any) -> None:
    frame = pd.DataFrame(
        {"en": ["a dog", missing, "x", "y"], "fr": ["un chien", "z", missing, missing]},
        index=[f"s{n}" for n in range(4)],
        dtype=object,
    )
    message = (
        r"pair 1 \(index 's1'\): expected .* as source, found .*; 3 cells have this fault: "
        r".*pair 3 \(index 's3'\) target; write frame.dropna\(subset=\['en', 'fr'\]\)"
    )
    with pytest.raises(na.DataError, match=message):
        na.load().align_batch(frame)
    with pytest.raises(na.DataError, match=r"pair 1: .*3 cells have this fault: .*leave these pairs out"):
        na.load().align_batch(frame["en"].tolist(), frame["fr"].tolist())
    assert len(na.load().align_batch(frame.dropna(subset=["en", "fr"]))) == 1
    found = na.check(frame)
    assert found[found["kind"] == "missing"]["index"].tolist() == ["s1", "s2", "s3"]
    assert not {"empty", "one-sided"} & set(found["kind"])
    assert (na.check(frame["en"], frame["fr"])["kind"] == "missing").sum() == 3
    assert (na.check(list(zip(frame["en"], frame["fr"], strict=True)))["kind"] == "missing").sum() == 3


def test_line_breaks_in_cells_are_counted_and_checked() -> None:
    frame = pd.DataFrame({"en": ["a\ndog", "a\ncat"], "fr": ["un chien", "un chat"]})
    with pytest.raises(
        na.DataError, match=r"2 cells have this fault: .*; write frame\['en'\] = .*str.replace"
    ):
        na.load().align_batch(frame)
    found = na.check(frame)
    assert found[found["kind"] == "line-break"]["line"].tolist() == [1, 2]


def test_columns_of_pyarrow_are_sides() -> None:
    table = arrow()
    assert list(read_pairs(table["en"], table["fr"]).pairs) == PAIRS
    assert list(read_pairs((table["en"].combine_chunks(), table["fr"].combine_chunks())).pairs) == PAIRS


def test_languages_are_those_of_the_columns() -> None:
    french_first = {"fr": ["le chat", "un chien"] * 9, "en": ["the cat", "a dog"] * 9}
    frame = pd.DataFrame(french_first)
    records = [{"translation": record} for record in frame.to_dict("records")]
    for sides in ((frame,), (french_first,), (records,), (frame["fr"], frame["en"])):
        aligner = na.train(*sides)
        assert aligner.languages == ("fr", "en")
        batch = aligner.align_batch(frame[["en", "fr"]])  # in the other order
        assert batch[0].tokens == (("le", "chat"), ("the", "cat"))
    assert na.train(frame, source="en", target="fr").languages == ("en", "fr")
    assert na.train(frame, languages=("it", None)).languages == ("it", None)
    assert na.train(frame.rename(columns={"en": "b"})).languages == (None, None)


def test_lemmas_of_unknown_languages_are_refused() -> None:
    with pytest.raises(na.UsageError, match="known languages for `lemmas`, found 'klingon'"):
        na.train(PAIRS, languages=("en", "klingon"), lemmas=True)
