"""Words of strange files reach a terminal as text: no control character of theirs is a command for it."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.display import escape_controls
from tests.cli.running import run, write

pty = pytest.importorskip("pty", reason="no pseudo-terminals here")

WORD = "\x1b]0;title\x07\x1b[8m\x9b31m\x7f\x0c\x85\u2028\u202e\r"
SEEN = r"\x1b]0;title\x07\x1b[8m\x9b31m\x7f\x0c\x85\u2028\u202e\r"
OUR_STYLES = re.compile(r"\x1b\[(?:0|1|31|33)m|\r\x1b\[K|\r\n")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
COMMANDS = {  # with whether the word is shown
    "find the a b --links l": True,
    "find the a b --links l --translation le": True,
    "lexicon a b l": True,
    "lexicon --model model": True,
    "vectors info v --neighbors the": True,
    "vectors info v": True,
    "phrases odd odd l -q": False,
    "align a b -q -o l2 --guided -": False,
    "align odd odd -q -o l2 --guided -": True,
    "convert odd.jsonl --from jsonl --to jsonl": True,
    "convert odd.jsonl --from jsonl --to tsv": True,
    "project a b l --tags a -q": True,
    f"evaluate l {WORD}": False,
    f"evaluate {WORD} l --by-sentence --compare l": True,
    f"align missing{WORD} b --debug": True,
    f"align a b --nothing{WORD}": True,
    f"convert l --from {WORD} --to tsv": True,
    f"align a b --config {WORD} -q": True,
    "align --config defaults --help": True,
    "vectors info twice.bin": True,
    "align bad b -q -o l2 --on-error skip-marked --error-report -": False,
}
PROGRAM = """
import json, sys
from nmtalign.cli import main
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as end:
        print("<end>", flush=True)
"""


def on_a_terminal(folder: Path, commands: list[list[str]]) -> list[str]:
    """Return what a terminal gets from each command line, without the styles of our own."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    with subprocess.Popen(program, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        seen = b""
        while True:
            try:
                block = os.read(ours, 65_536)
            except OSError:  # the program has ended
                break
            if not block:
                break
            seen += block
    os.close(ours)
    text = OUR_STYLES.sub(lambda found: "\n" if "\n" in found[0] else "", seen.decode())
    *outputs, rest = text.split("<end>\n")
    assert rest == ""
    return outputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    odd = "\x1b[8m\x9b\x07\u202e"  # without what no plain file can hold
    for name, line in (("a", f"the {WORD} cat"), ("b", f"le {WORD} chat"), ("odd", f"the {odd} cat")):
        write(folder / name, [line] * 3)
    for name in ("l", WORD):
        write(folder / name, ["0-0 1-1 2-2"] * 3)
    (folder / "bad").write_bytes(b"a\n\xff\x1b[8m\na\n")
    record = {"links": [[0, 0]], "source": [f"a{odd}", WORD.replace("\r", "")], "target": ["b"]}
    write(folder / "odd.jsonl", [json.dumps(record)])
    for side, word in (("en", "the"), ("fr", "le")):
        (folder / "v").mkdir(exist_ok=True)
        (folder / f"v/word2int_{side}.pkl").write_bytes(pickle.dumps({WORD: 0, word: 1}, 2))
        np.savez(folder / f"v/embeddings_{side}.npz", embeddings=np.eye(2, dtype=np.float32))
    write(folder / "defaults", ["[align]", f"output = {json.dumps(WORD)}"])
    row = WORD.encode().replace(b"\n", b"") + b" " + np.ones(2, np.float32).tobytes()
    (folder / "twice.bin").write_bytes(b"2 2\n" + row + row)
    pairs = [(f"the {odd} cat", f"le {odd} chat"), ("the cat", "le chat"), ("a cat", "un chat")] * 5
    na.train(pairs).save(folder / "model")
    return folder


def test_no_control_character_of_a_word_reaches_a_terminal(folder: Path):
    commands = [line.split(" ") for line in COMMANDS]
    outputs = on_a_terminal(folder, commands)
    assert len(outputs) == len(commands)
    for (line, shown), output in zip(COMMANDS.items(), outputs, strict=True):
        assert not CONTROL.search(output), (line, output)
        assert "not foreseen" not in output, (line, output)
        assert r"\x1b" in output or r"\u001b" in output or not shown, (line, output)


def test_elsewhere_words_are_written_as_they_are(folder: Path, monkeypatch, capfdbinary):
    monkeypatch.chdir(folder)
    assert run("project", "a", "b", "l", "--tags", "a", "-q") == 0
    assert capfdbinary.readouterr().out == f"le {WORD} chat\n".encode() * 3
    assert run("align", "odd", "odd", "-q", "-o", "l2", "--guided", "-") == 0
    assert b"the \x1b[8m" in capfdbinary.readouterr().out


def test_tabs_and_line_ends_and_letters_of_all_scripts_stay():
    text = "a\tb\nc \u00a0 \u200c \u200d 👩\u200d👧 é ע\u200f\n"
    assert escape_controls(text) == text
    assert escape_controls(WORD) == SEEN
