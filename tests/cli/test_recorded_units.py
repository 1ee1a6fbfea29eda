"""Files of links say what their links count, where the format has a place for it."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.errors import DataError
from nmtalign.files.paths import bundled_path
from nmtalign.links.inputs import write_links
from tests.cli.running import lines, run, write

SAMPLE = bundled_path("en_fr_sample")


@pytest.fixture
def text(tmp_path) -> list[Path]:
    return [write(tmp_path / side, lines(SAMPLE / f"text.{side}")[:12]) for side in ("en", "fr")]


@pytest.fixture
def pieces(text) -> list[Path]:
    """Each word is cut after its third letter."""
    files = []
    for path in text:
        cut = [[f"{w[:3]}@@ {w[3:]}" if len(w) > 3 else w for w in line.split(" ")] for line in lines(path)]
        files.append(write(path.with_name(f"{path.name}.bpe"), [" ".join(line) for line in cut]))
    return files


IN_SHARDS = ["--shard-pairs", "5"]
TABLES = [  # the shards of a Parquet table cannot be joined
    *((ending, []) for ending in (".csv", ".tsv", ".jsonl", ".parquet")),
    *((ending, IN_SHARDS) for ending in (".csv", ".tsv", ".jsonl")),
]


@pytest.mark.parametrize(("ending", "shards"), TABLES)
def test_tables_record_their_unit(text, pieces, tmp_path, ending, shards):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    marks = "--pieces", "bpe", "--count", "pieces"
    for name, files, options in (
        ("words", text, ()),
        ("tokens", text, ("--count", "tokens")),
        ("pieces", pieces, marks),
    ):
        table = tmp_path / f"{name}{ending}"
        in_shards = ["--out-shards", tmp_path / f"shards-{name}", *shards] if shards else []
        assert (
            run("align", *files, *options, "--table", table, "-o", tmp_path / "links", "-q", *in_shards) == 0
        )
        rows = _rows(table)
        if ending == ".parquet":
            from pyarrow.parquet import read_schema

            metadata = read_schema(table).metadata or {}
            assert metadata.get(b"unit", b"words").decode() == name
        elif ending == ".jsonl":
            assert {row.get("unit", "words") for row in rows} == {name}
            assert ("unit" in rows[0]) == (name != "words")
        else:
            assert len(rows[0]) == 6
        assert len(rows) == sum(len(line.split()) for line in lines(tmp_path / "links"))
        if shards:
            manifest = json.loads((tmp_path / f"shards-{name}" / "manifest.json").read_text("utf-8"))
            assert manifest["count"] == name


def _rows(path: Path) -> list[dict[str, object]]:
    if path.suffix == ".parquet":
        from pyarrow.parquet import read_table

        return read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in lines(path)]
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))


def test_attention_records_its_unit(pieces, tmp_path):
    path = tmp_path / "a.npz"
    options = "--pieces", "bpe", "--count", "pieces", "--attention", path
    assert run("align", *pieces, *options, "-o", tmp_path / "links", "-q") == 0
    assert zipfile.ZipFile(path).comment == b"unit: pieces"
    sizes = [[len(line.split()) for line in lines(side)] for side in pieces]
    with np.load(path) as arrays:
        assert [arrays[f"pair-{n}"].shape for n in range(1, 13)] == list(zip(*sizes[::-1], strict=True))
    matrices = "--matrices", path, "--normalize", "-o", tmp_path / "again", "-q"
    assert run("links-from", *pieces, *matrices) == 0


def test_json_lines_record_the_unit_of_a_batch(pieces, tmp_path):
    pairs = list(na.read_bitext(*pieces))
    batch = na.load().align_batch(pairs, pieces="bpe", count="pieces")
    assert (batch.unit, batch[2:4].unit) == ("pieces", "pieces")
    assert repr(batch).endswith(" links of pieces")
    write_links(tmp_path / "links.jsonl", batch, format="jsonl")
    assert {json.loads(line)["unit"] for line in lines(tmp_path / "links.jsonl")} == {"pieces"}
    convert = "convert", tmp_path / "links.jsonl", "--from", "jsonl", "--to", "jsonl"
    assert run(*convert, "-o", tmp_path / "again.jsonl") == 0
    assert lines(tmp_path / "again.jsonl") == lines(tmp_path / "links.jsonl")
    batch.save(tmp_path / "batch.npz")
    for format in ("pharaoh", "jsonl", "giza", "words", "tsv"):
        write_links(tmp_path / "of_batch", batch, format=format)
        write_links(tmp_path / "of_file", tmp_path / "batch.npz", format=format)
        assert lines(tmp_path / "of_file") == lines(tmp_path / "of_batch")


def test_evaluate_compares_recorded_units(text, pieces, tmp_path, capsys):
    aligner = na.load()
    write_links(tmp_path / "w", aligner.align_batch(list(na.read_bitext(*text))), format="jsonl")
    of_pieces = aligner.align_batch(list(na.read_bitext(*pieces)), pieces="bpe", count="pieces")
    write_links(tmp_path / "p", of_pieces, format="jsonl")
    formats = "--links-format", "jsonl", "--gold-format", "jsonl"
    assert run("evaluate", tmp_path / "w", tmp_path / "w", *formats) == 0
    capsys.readouterr()
    assert run("evaluate", tmp_path / "p", tmp_path / "w", *formats) == 3
    assert f"{tmp_path}/p: expected links of words, as in {tmp_path}/w, found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("units", "message"),
    [(["letters"], 'expected "unit": words, tokens, pieces'), (["words", "pieces"], "'words' as before")],
)
def test_wrong_units_are_refused(tmp_path, units, message):
    path = write(tmp_path / "links", [json.dumps({"links": [[0, 0]], "unit": unit}) for unit in units])
    with pytest.raises(DataError, match=message):
        na.read_gold(path, format="jsonl")


def test_convert_refuses_texts_of_other_words(text, pieces, tmp_path, capsys):
    """The file of links has its words; those of the texts are others."""
    to_jsonl = "--from", "pharaoh", "--to", "jsonl", "--source", text[0], "--target", text[1]
    assert run("align", *text, "-o", tmp_path / "links", "-q") == 0
    assert run("convert", tmp_path / "links", *to_jsonl, "-o", tmp_path / "links.jsonl") == 0
    capsys.readouterr()
    to_giza = "--from", "jsonl", "--to", "giza", "--source", pieces[0], "--target", pieces[1]
    assert run("convert", tmp_path / "links.jsonl", *to_giza, "-o", tmp_path / "giza") == 3
    assert "source words of the links, found" in capsys.readouterr().err


@pytest.mark.parametrize("spaces", [None, "▁"])
def test_tokens_of_a_batch_are_what_its_links_count(text, tmp_path, spaces):
    pairs = list(na.read_bitext(*text))
    given = {"spaces": spaces} if spaces else {"count": "tokens"}
    aligner = na.load()
    mark = ["--count", "tokens+spaces"] if spaces else []
    assert run("align", *text, "--tokens", tmp_path / "cut", *mark, "-o", tmp_path / "links", "-q") == 0
    batch = aligner.align_batch(pairs, **given)
    sides = [lines(tmp_path / f"cut.{side}") for side in ("source", "target")]
    assert [[" ".join(words) for words in pair.tokens] for pair in batch] == [
        *map(list, zip(*sides, strict=True))
    ]
    assert lines(tmp_path / "links") == [" ".join(f"{s}-{t}" for s, t in batch.links(n)) for n in range(12)]
    similarities = [pair.forward for pair in aligner.align_batch(pairs, count="tokens")]
    tokenizer = aligner.text_settings.tokenizer
    linked = na.links_from(pairs, similarities=similarities, tokenizer=tokenizer, **given)
    assert linked.unit == "tokens"
    assert [pair.tokens for pair in linked] == [pair.tokens for pair in batch]
