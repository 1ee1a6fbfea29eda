"""``align`` as a co-process: it answers each line of standard input before the next one comes."""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys

import pytest

from nmtalign.aligner.aligner import load_aligner
from nmtalign.files.paths import bundled_path
from nmtalign.files.text_files import is_input_awaited, read_lines
from nmtalign.run.stream import align_chunks
from nmtalign.text.bitext import SentencePair
from nmtalign.text.chunks import AwaitedChunk, chunk_pairs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pipe cannot be asked on Windows")
PATIENCE = 120  # seconds until a program that does not answer is ended


@pytest.mark.parametrize("separator", [" ||| ", "\t"])
def test_a_line_is_answered_before_the_next_one_comes(separator):
    command = [sys.executable, "-m", "nmtalign", "align", "--pairs", "-", "--model", "en_fr_model", "-q"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*command, "--workers", "2"], **pipes, text=True, encoding="utf-8") as program:
        answers = []
        for line in ("the black cat|le chat noir", "", "a dog|un chien", "a|\u00e9\u00e9"):
            program.stdin.write(line.replace("|", separator) + "\n")
            program.stdin.flush()
            if not select.select([program.stdout], [], [], PATIENCE)[0]:
                program.kill()
            answers.append(program.stdout.readline())
        program.stdin.write(f"the last cat{separator}le dernier chat")  # without a line end
        rest, _ = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0
    assert answers[:3] == ["0-0 1-2 2-1\n", "\n", "0-0 1-1\n"]
    assert answers[3].endswith("\n")
    assert rest == "0-0 1-1 2-2\n"


@pytest.fixture
def pipe(monkeypatch):
    """Standard input that is a pipe, and what writes to it."""
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as stdin, os.fdopen(writing, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writer


def test_input_is_awaited_once_all_lines_that_came_are_read(pipe):
    lines = read_lines("-")
    pipe.write(b"a\nb\nc")
    found = []
    for _ in range(2):
        found.append((next(lines), is_input_awaited()))
    assert found == [("a", False), ("b", True)]
    pipe.write(b"c\n")
    assert (next(lines), is_input_awaited()) == ("cc", True)
    pipe.close()
    assert not is_input_awaited()
    assert next(lines, None) is None


def test_input_of_no_file_is_never_awaited(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n"))
    assert not is_input_awaited()


def test_links_do_not_depend_on_where_chunks_are_awaited():
    aligner = load_aligner(bundled_path("en_fr_model"))
    pairs = [SentencePair("the black cat", "le chat noir"), SentencePair("a dog", "un chien")] * 6
    whole = chunk_pairs(pairs)
    waits = iter([True, False, False, True, *[False] * 8])
    parts = list(chunk_pairs(pairs, chunk_size=5, is_awaited=waits.__next__))
    assert [len(part.lines) for part in parts] == [1, 3, 5, 3]
    assert [isinstance(part, AwaitedChunk) for part in parts] == [True, True, False, False]
    read = []
    found = align_chunks(aligner, (read.append(part) or part for part in parts), workers=2)
    links = []
    for number, chunk in enumerate(found, 1):
        assert len(read) == number  # nothing is read ahead of an awaited chunk
        links += [chunk.batch.links(n) for n in range(len(chunk.batch))]
    [expected] = align_chunks(aligner, whole, workers=2)
    assert links == [expected.batch.links(n) for n in range(len(pairs))]
