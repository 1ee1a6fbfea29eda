"""Tables of links: every row there, the same in all formats, read back by another program."""

from __future__ import annotations

import csv
import gzip
import json
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmtalign
from nmtalign import AlignedPair, Alignment, AlignmentMatrix, Link, UsageError, errors
from nmtalign.files.atomic_output import AtomicFiles
from nmtalign.links.alignments import AlignedBatch
from nmtalign.report.tables import LinkRow, batch_rows, link_table, open_table

AWKWARD = ['"', "a,b", "\\t", "tab\tin", "\u2028", "line\nend", "cr\r", "'", "=1+1", "中", "NA", "🙂"]


def write_table(rows, path):
    with AtomicFiles() as files:
        open_table(path, files)(rows)


def pair(words: list[str], links: set[tuple[int, int]]) -> AlignedPair:
    n = len(words)
    weights = np.arange(n * n).reshape(n, n) / (n * n)  # (T, S)
    return AlignedPair(
        Alignment(frozenset(links), n, n), AlignmentMatrix(weights, tuple(words), tuple(words))
    )


PAIRS = [pair(["x", "y"], {(1, 0), (0, 1)}), pair([], set()), pair(AWKWARD, {(i, i) for i in range(12)})]


def link_rows(pairs: list[AlignedPair]) -> list[LinkRow]:
    """Return the rows of a table, whose pairs count from 1 in files."""
    table = link_table(pairs).drop(columns="pair_score")
    rows = table.itertuples(index=False, name=None)
    return [LinkRow(number + 1, *rest) for number, *rest in rows]


def read_back(path: Path) -> list[tuple]:
    if path.suffix == ".jsonl":
        with open(path, encoding="utf-8", newline="\n") as file:
            return [tuple(json.loads(line).values()) for line in file]
    table = pd.read_csv(path, keep_default_na=False) if path.suffix == ".csv" else pd.read_parquet(path)
    return list(table.itertuples(index=False, name=None))


def test_rows_come_by_pair_then_source_then_target_and_empty_pairs_keep_their_number() -> None:
    rows = link_rows(PAIRS)
    assert [(row.line, row.source_position, row.target_position) for row in rows[:3]] == [
        (1, 0, 1),
        (1, 1, 0),
        (3, 0, 0),
    ]
    assert rows[0] == LinkRow(1, 0, "x", 1, "y", 0.5)  # the weight of row t = 1, column s = 0
    assert len(rows) == 14


def test_the_probability_of_the_link_goes_before_the_weight_of_the_cell() -> None:
    one = pair(["x", "y"], {(1, 0)})
    chosen = AlignedPair(one.alignment, one.matrix, probabilities={Link(1, 0): 0.125})
    assert [row.probability for row in link_rows([chosen])] == [0.125]


def test_a_batch_gives_the_rows_of_its_pairs() -> None:
    rows = link_rows(PAIRS)
    batch = AlignedBatch(
        offsets=np.array([0, 2, 2, 14]),
        source=np.array([row.source_position for row in rows], np.int32),
        target=np.array([row.target_position for row in rows], np.int32),
        probability=np.array([row.probability for row in rows], np.float32),
        scores=np.zeros(3),
    )
    words = [p.matrix.source_tokens for p in PAIRS]
    found = list(batch_rows(batch, words, words))
    assert [row[:5] for row in found] == [row[:5] for row in rows]
    np.testing.assert_allclose([row[5] for row in found], [row[5] for row in rows], rtol=1e-6)
    assert [row.line for row in batch_rows(batch, words, words, first=11)][-1] == 13


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_another_program_reads_back_every_word(tmp_path: Path, ending: str) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"links{ending}"
    write_table(link_rows(PAIRS), path)
    found, rows = read_back(path), link_rows(PAIRS)
    assert [row[:5] for row in found] == [row[:5] for row in rows]
    np.testing.assert_allclose([row[5] for row in found], [row[5] for row in rows], atol=5e-7)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5)
ROWS = st.builds(
    LinkRow,
    st.integers(1, 10**9),
    st.integers(0, 10**4),
    WORDS,
    st.integers(0, 10**4),
    WORDS,
    st.integers(0, 10**6).map(lambda steps: steps / 10**6),
)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@given(st.lists(ROWS, min_size=1, max_size=5))
def test_any_rows_come_back(ending: str, rows: list[LinkRow]) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"links{ending}"
        write_table(rows, path)
        found = read_by_csv(path) if ending == ".csv" else read_back(path)
    assert [row[:5] for row in found] == [row[:5] for row in rows]
    np.testing.assert_allclose([row[5] for row in found], [row[5] for row in rows], atol=5e-7)


def read_by_csv(path: Path) -> list[tuple]:
    """Read without guessing: pandas takes a word of digits for a number."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [(int(n), int(s), source, int(t), target, float(p)) for n, s, source, t, target, p in rows]


def test_tsv_has_one_line_for_each_link_and_says_what_would_break_it(tmp_path: Path) -> None:
    write_table(link_rows(PAIRS), tmp_path / "links.tsv")
    lines = (tmp_path / "links.tsv").read_bytes().decode().split("\n")
    assert lines[0] == "\t".join(LinkRow._fields)
    assert lines[-1] == ""
    assert len(lines) == 1 + 14 + 1
    words = [line.split("\t")[2] for line in lines[3:-1]]
    undo = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}
    undo["\\u2028"] = "\u2028"
    assert [re.sub(r"\\(u\w{4}|.)", lambda m: undo[m[0]], word) for word in words] == AWKWARD


def test_probabilities_are_fixed_point(tmp_path: Path) -> None:
    row = LinkRow(1, 0, "a", 0, "b", 1e-5)
    for ending in (".csv", ".tsv", ".jsonl"):
        write_table([row], tmp_path / f"small{ending}")
        assert "0.000010" in (tmp_path / f"small{ending}").read_text()


def test_writing_in_parts_equals_writing_at_once_also_compressed(tmp_path: Path) -> None:
    rows = link_rows(PAIRS)
    write_table(rows, tmp_path / "once.csv")
    with AtomicFiles() as files:
        write = open_table(tmp_path / "parts.csv.gz", files)
        write(rows[:3])
        write(iter(rows[3:]))
    assert gzip.decompress((tmp_path / "parts.csv.gz").read_bytes()) == (tmp_path / "once.csv").read_bytes()


def test_csv_is_read_by_the_standard_library(tmp_path: Path) -> None:
    write_table(link_rows(PAIRS), tmp_path / "links.csv")
    with open(tmp_path / "links.csv", encoding="utf-8", newline="") as file:
        assert [row["source_word"] for row in csv.DictReader(file)][2:] == AWKWARD


def test_a_table_in_python_is_a_data_frame() -> None:
    table = link_table(PAIRS)
    assert list(table.columns) == ["pair", *LinkRow._fields[1:], "pair_score"]
    assert sorted(set(table["pair"])) == [0, 2], "as pairs[0] and pairs[2]"
    assert len(table) == 14
    assert len(link_table(PAIRS[1])) == 0
    assert list(link_table([]).columns) == list(table.columns)


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    for name in ("links.xlsx", "links", "links.parquet.gz", "links.gz"):
        with pytest.raises(UsageError, match=r"\.csv, \.tsv, \.jsonl, \.parquet"):
            write_table([], tmp_path / name)
        assert not (tmp_path / name).exists()


FRAME = pd.DataFrame({"en": ["the cat", "a dog"], "fr": ["le chat", "un chien"], "n": [7, 8]})


def test_a_repeated_index_gets_advice_on_joins(monkeypatch):
    frame = FRAME.set_index(pd.Index(["x", "x"]))
    batch = nmtalign.load().align_batch(frame)
    tables = {
        "table": batch.table,
        "link_table": lambda: link_table(batch),
        "phrases": lambda: nmtalign.phrases(batch),
        "find": lambda: nmtalign.find(batch, "cat"),
    }
    for name, make in tables.items():
        monkeypatch.setattr(errors, "_given_advice", set())
        with pytest.warns(nmtalign.AdviceWarning, match="repeated values.* join it by the number") as caught:
            table = make()
        # batch.table is called here, the others in their own lines above
        assert caught[0].filename == __file__, name
    joined = frame.reset_index().join(table.set_index("pair"), how="inner")
    assert joined[["n", "source"]].values.tolist() == [[7, "the cat"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(errors, "_given_advice", set())
        nmtalign.load().align_batch(FRAME).table()


def test_an_index_named_like_a_column_can_be_reset():
    frame = FRAME.rename_axis("pair")
    batch = nmtalign.load().align_batch(frame)
    for table in (batch.table(), nmtalign.phrases(batch), nmtalign.find(batch, "cat")):
        assert table.reset_index()["pair"].tolist() == table["pair"].tolist()
        assert set(table.join(FRAME[["n"]])["n"]) <= {7, 8}
    assert nmtalign.load().align_batch(FRAME.rename_axis("id")).table().index.name == "id"


def test_empty_tables_have_the_types_of_full_ones():
    batch = nmtalign.load().align_batch(FRAME)
    empty = batch[:0]
    aligner = nmtalign.load()
    tables = [
        (empty.table(), batch.table()),
        (nmtalign.find(empty, "cat"), nmtalign.find(batch, "cat")),
        (nmtalign.phrases(empty), nmtalign.phrases(batch)),
        (nmtalign.lexicon(empty), nmtalign.lexicon(batch)),
        (nmtalign.lexicon(aligner, word="zzzz"), nmtalign.lexicon(aligner, word="cat")),
        (empty.compare(empty), batch.compare(batch)),
        (empty_pair().compare(empty_pair()), batch[0].compare(batch[0])),
        (nmtalign.check(FRAME[["en", "fr"]]), nmtalign.check(FRAME.assign(fr=["", "un chien"]))),
    ]
    for table, full in tables:
        assert len(table) == 0 < len(full)
        pd.testing.assert_series_equal(table.dtypes, full.dtypes)
        pd.testing.assert_series_equal(pd.concat([table, full]).dtypes, full.dtypes)


def empty_pair():
    return AlignedPair(Alignment([], 1, 1), AlignmentMatrix([[0.5]], ["a"], ["b"]))


def naive_words(aligned: AlignedPair) -> list[tuple]:
    """Return the rows of a table of words, cell by cell."""
    rows = []
    T, S = aligned.forward.shape
    for side, length, other in (("source", S, T), ("target", T, S)):
        for k in range(length):
            own = [aligned.reverse[o, k] if side == "source" else aligned.forward[k, o] for o in range(other)]
            received = [
                aligned.forward[o, k] if side == "source" else aligned.reverse[k, o] for o in range(other)
            ]
            null = max(1 - sum(map(float, own)), 0)
            entropy = -sum(p * np.log2(p) for p in [*map(float, own), null] if p > 0)
            links = sum(link[side == "target"] == k for link in aligned.links)
            word = aligned.tokens[side == "target"][k]
            rows.append((side, k, word, links, entropy, sum(map(float, received)), null))
    return rows


@pytest.mark.parametrize("model", ["en_fr_model", "en_fr_vectors"])
def test_words_have_entropy_coverage_and_null(model):
    frame = pd.DataFrame(
        {"en": ["the black cat sees it", "", "a dog"], "fr": ["le chat noir le voit", "rien", "un chien"]},
        index=["p", "q", "r"],
    )
    batch = nmtalign.load(model).align_batch(frame)
    table = batch.word_table()
    assert table.columns.tolist()[1:] == ["side", "position", "word", "links", "entropy", "coverage", "null"]
    expected = pd.DataFrame(
        [row for aligned in batch for row in naive_words(aligned)], columns=table.columns[1:]
    )
    found = table.drop(columns="pair").reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, atol=1e-5, check_dtype=False)
    assert table.index.tolist() == ["pqr"[n] for n in table["pair"]]
    assert table.query("pair == 1")[["entropy", "coverage", "null"]].to_numpy().tolist() == [[0, 0, 1]]
    alone = batch[2].word_table()
    of_batch = table.query("pair == 2").drop(columns="pair").reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, of_batch)


def test_words_of_given_attention_with_rows_and_columns_of_padding():
    given = np.array([[0.5, 0.25, 0.25, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
    batch = nmtalign.links_from([("a b c d", "x y z")], matrices=[given])
    table = batch.word_table().set_index("word")
    assert table.loc[list("xyz"), "entropy"].tolist() == [1.5, 0, 0]
    assert table.loc[list("xyz"), "null"].tolist() == [0, 1, 0]
    assert table.loc[list("abcd"), "coverage"].tolist() == [0.5, 1.25, 0.25, 0]
    assert table.loc["b", "entropy"] == pytest.approx(-0.2 * np.log2(0.2) - 0.8 * np.log2(0.8))
    assert table.loc["d", ["entropy", "null"]].tolist() == [0, 1]
    assert table["links"].sum() == 2 * len(batch.source)
    empty = nmtalign.links_from([("", "")], matrices=[np.zeros((0, 0))]).word_table()
    assert empty.empty
    assert empty.columns.tolist() == batch.word_table().columns.tolist()


def test_words_of_one_matrix_are_refused():
    with pytest.raises(UsageError, match="need attention of both directions"):
        PAIRS[0].word_table()
