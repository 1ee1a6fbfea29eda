"""``--encoding`` is of every input that is text: what a command makes of it does not depend on its bytes."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from nmtalign.cli import main
from nmtalign.cli.parameter_types import INPUT
from tests.cli.test_types import ALL

SOURCE = ["the café is open .", "a café .", "the naïve friend", "a friend ."] * 5
TARGET = ["le café est fermé .", "un café .", "l'ami naïf", "un ami ."] * 5
LINKS = ["0-0 1-1 2-2 4-4", "0-0 1-1 2-2", "1-1 2-0", "0-0 1-1 2-2"] * 5
PAIRS = list(zip(SOURCE, TARGET, strict=True))
GIZA = "# Sentence pair ({})\nle café\nNULL ({{ }}) the ({{ 1 }}) café ({{ 2 }})"
VECTORS = "\n".join(["30 4", *(f"e{n} {' '.join(map(str, row))}" for n, row in enumerate(1 + np.eye(30, 4)))])
FILES = {
    "source": SOURCE,
    "target": TARGET,
    "links": LINKS,
    "pairs.tsv": ["\t".join(pair) for pair in PAIRS],
    "pairs.csv": [",".join(pair) for pair in PAIRS],
    "pairs.txt": [" ||| ".join(pair) for pair in PAIRS],
    "pairs.jsonl": [json.dumps({"source": s, "target": t}, ensure_ascii=False) for s, t in PAIRS],
    "pairs.po": [f'msgid "{s}"\nmsgstr "{t}"\n' for s, t in PAIRS],
    "prior": ["café\tcafé\t3"],
    "tags": [line.replace("café", "<b>café</b>") for line in SOURCE],
    "giza": [GIZA.format(number) for number in (1, 2)],
    "gold": ["0-0 1-1"] * 2,
    "weights": [f"é ||| {' '.join(['1' + ',0' * s.count(' ')] * len(t.split()))}" for s, t in PAIRS],
    "vectors.txt": [VECTORS],
    "dictionary": ["e1 e1", "e2 e2", "the le", "café café"],
}
KNOWN = {"manifest.json", *FILES}
COMMANDS = [
    "align source target -o out",
    *(f"align --pairs pairs.{ending} -o out" for ending in ("tsv", "csv", "txt", "jsonl", "po")),
    "links-from source target --matrices weights -o out",
    "align source target --out-shards shards -o out",
    "align - target -o out",
    "train source target --preset fast -q -o out",
    "train source target --preset fast --prior prior -q -o out",
    "evaluate giza gold --links-format giza",
    "convert giza --from giza --to tsv -o out",
    "convert links --from pharaoh --source source --target target --to words -o out",
    "phrases source target links -o out",
    "project source target links --tags tags -o out",
    "lexicon source target links -o out",
    "find café source target --links links",
    "find café source target --links links --index out",
    "heatmap --pairs pairs.tsv --lines 1 -o out.png",
    "report source target -o out.html",
    "vectors learn source target --dimension 2 -o out",
    "vectors info en_fr_vectors --text target",
]


def run(line: str, encoding: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command in a folder with the files in an encoding; `source` is also standard input."""
    folder.mkdir()
    for name, lines in FILES.items():
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode(encoding or "cp1252"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "source").read_bytes())))
    option = [] if encoding is None else ["--encoding", encoding]
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(line), *option])
    return int(ended.value.code or 0)


def made(folder: Path) -> dict[str, bytes]:
    """Return what a command wrote, but for the manifest of shards, which knows the bytes."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.name not in KNOWN}


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_made_does_not_depend_on_the_bytes(line, tmp_path, monkeypatch, capsys):
    found = []
    for encoding in ("utf-8", "cp1252"):
        assert run(line, encoding, tmp_path / encoding, monkeypatch) == 0, capsys.readouterr().err
        found.append((made(tmp_path / encoding), capsys.readouterr().out))
    assert found[0] == found[1]
    assert run(line, None, tmp_path / "none", monkeypatch) == 3
    assert "--encoding NAME" in capsys.readouterr().err


def test_shards_of_another_encoding_are_not_resumed(tmp_path, monkeypatch, capsys):
    line = "align source target --out-shards shards -o out"
    assert run(line, "cp1252", tmp_path / "a", monkeypatch) == 0
    with pytest.raises(SystemExit) as ended:
        main([*line.split(), "--encoding", "latin-1", "--resume"])
    assert ended.value.code == 2
    assert "latin-1" in capsys.readouterr().err


def is_text(param: click.Parameter) -> bool:
    return param.type is INPUT and param.name != "config"


def test_every_command_that_reads_text_has_the_option():
    # serve reads models and vectors of our own, and vectors map what `vectors convert` makes of other files
    without = {"serve", "vectors map"}
    reads = {name for name, command in ALL.items() if any(map(is_text, command.params))}
    has = {name for name, command in ALL.items() if any(param.name == "encoding" for param in command.params)}
    assert reads - without == has


@pytest.mark.parametrize("name", ["klingon", "hex", "cp500", "a\0b", ""])
def test_an_encoding_that_python_does_not_know_is_wrong_usage(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["align", "source", "target", "--encoding", name])
    assert ended.value.code == 2
    assert "expected an encoding such as utf-8 or cp1252, found" in capsys.readouterr().err
