"""align --on-error and --sides: no pair moves, and every bad record is reported with its number."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import run


def test_a_bad_record_is_an_empty_line_and_an_entry(tmp_path, capsys):
    path, report = tmp_path / "pairs.txt", tmp_path / "bad.tsv"
    path.write_bytes(b"no ||| non\nno sides\na ||| b ||| c\n\xff ||| x\nno ||| non\n")
    assert run("align", "--pairs", path, "--pairs-format", "fast-align") == 3
    assert "line 2" in capsys.readouterr().err
    marked = "--on-error", "skip-marked", "--error-report", report
    assert run("align", "--pairs", path, "--pairs-format", "fast-align", *marked) == 0
    out, err = capsys.readouterr()
    assert out == "0-0\n\n\n\n0-0\n"
    assert "3 bad records" in err
    entries = [line.split("\t") for line in report.read_text(encoding="utf-8").splitlines()]
    assert [number for number, _ in entries] == ["2", "3", "4"]
    assert all(f"{path}, line {number}: expected" in message for number, message in entries)
    assert "name its encoding (--encoding NAME)" in entries[-1][1]


def test_the_report_and_skip_marked_go_together(tmp_path, capsys):
    assert run("align", "a", "b", "--on-error", "skip-marked") == 2
    assert run("align", "a", "b", "--error-report", tmp_path / "report") == 2
    assert "must be used together" in capsys.readouterr().err


UNIT = '<tu><tuv xml:lang="{}"><seg>the cat</seg></tuv><tuv xml:lang="{}"><seg>le chat</seg></tuv></tu>'


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("pairs.tsv", "7\tthe cat\tx\tle chat\n", "2,4"),
        ("pairs.jsonl", json.dumps({"t": {"en": "the cat", "fr": "le chat"}}) + "\n", "t.en,t.fr"),
        ("pairs.tmx", f'<tmx version="1.4"><body>{UNIT.format("en", "fr")}</body></tmx>', "en,fr"),
    ],
)
def test_the_sides_are_chosen(name, text, columns, tmp_path, capsys):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run("align", "--pairs", tmp_path / name, "--sides", columns) == 0
    assert capsys.readouterr().out == "0-0 1-1\n"
    assert run("align", "--pairs", tmp_path / name, "--sides", "one") == 2
    assert run("align", tmp_path / name, tmp_path / name, "--sides", columns) == 2
