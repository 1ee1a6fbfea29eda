"""--on-error and --sides: no pair moves, and every bad record is reported with its number."""

from __future__ import annotations

import json
import random

import pytest

from tests.cli.running import bad_records_in, run


def test_a_bad_record_is_an_empty_line_and_an_entry(tmp_path, capsys):
    path, report = tmp_path / "pairs.txt", tmp_path / "bad.tsv"
    path.write_bytes(b"no ||| non\nno sides\na ||| b ||| c\n\xff ||| x\nno ||| non\n")
    assert run("align", "--pairs", path) == 3
    assert "line 2" in capsys.readouterr().err
    marked = "--on-error", "skip-marked", "--error-report", report
    assert run("align", "--pairs", path, *marked) == 0
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


# --- every command that reads links --------------------------------------------------------------


SKIPPED = "--on-error", "skip-marked"


def marked(report):
    return *SKIPPED, "--error-report", report


def entries_of(report):
    return [int(line.split("\t")[0]) for line in report.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def linked(tmp_path):
    """Three files of four pairs, of which the second has a bad line of links."""
    (tmp_path / "en").write_text("the cat\na dog\nthe house\nthe cat\n")
    (tmp_path / "fr").write_text("le chat\nun chien\nla maison\nle chat\n")
    (tmp_path / "links").write_text("0-0 1-1\n0-0 1:1\n0-0 1-1\n0-0\n")
    return tmp_path / "en", tmp_path / "fr", tmp_path / "links"


def test_convert_symmetrize_writes_an_empty_line_for_a_bad_one(linked, tmp_path, capsys):
    good = tmp_path / "good"
    good.write_text("0-0 1-1\n0-0\n1-1\nx\n")
    joined = "convert", linked[2], good, "--symmetrize", "intersection"
    assert run(*joined) == 3
    assert "line 2: expected links like 0-1" in capsys.readouterr().err
    assert run(*joined, *SKIPPED) == 0
    out, err = capsys.readouterr()
    assert out == "0-0 1-1\n\n1-1\n\n"
    assert "2 bad records\n" in err
    assert list(bad_records_in(err)) == [2, 4]


def test_find_and_index_do_without_a_bad_pair(linked, tmp_path, capsys):
    index = tmp_path / "index.db"
    texts = *linked[:2], "--links", linked[2]
    assert run("find", "cat", *texts) == 3
    capsys.readouterr()
    assert run("find", "cat", *texts, *SKIPPED) == 0
    out, err = capsys.readouterr()
    assert "2 in the source" in out
    found = bad_records_in(err)
    assert list(found) == [2]
    assert found[2].startswith(f"{linked[2]}, line 2: ")
    assert run("find", "cat", *texts, "--index", index, *SKIPPED) == 0
    assert bad_records_in(capsys.readouterr().err) == found
    assert run("find", "cat", "--index", index) == 0
    assert "2 in the source" in capsys.readouterr().out
    assert run("find", "cat", "--index", index, *SKIPPED) == 2
    assert "remove --on-error" in capsys.readouterr().err


def test_check_of_links_does_without_a_bad_pair(linked, tmp_path, capsys):
    source, target, links = linked
    report = tmp_path / "report"
    assert run("check", source, target, "--links", links) == 3
    assert run("check", source, target, "--links", links, *marked(report)) == 0
    assert "words" in capsys.readouterr().out
    assert entries_of(report) == [2]


@pytest.mark.parametrize("line", ["0-0 1:1", "0-0 9-9"])
def test_a_bad_line_of_an_expert_is_no_opinion(line, linked, tmp_path, capsys):
    source, target, links = linked
    links.write_text(f"0-0 1-1\n{line}\n0-0 1-1\n0-0\n")
    report, good = tmp_path / "report", tmp_path / "good"
    assert run("align", source, target, "--expert", links) == 3
    capsys.readouterr()
    assert run("align", source, target, "--expert", links, *marked(report)) == 0
    found = capsys.readouterr().out
    assert entries_of(report) == [2]
    good.write_text("0-0 1-1\n\n0-0 1-1\n0-0\n")
    assert run("align", source, target, "--expert", good) == 0
    assert capsys.readouterr().out == found


def giza_pair(number, source="NULL ({ }) the ({ 1 }) cat ({ 2 })"):
    header = f"# Sentence pair ({number}) source length 2 target length 2 alignment score : 1"
    return f"{header}\nle chat\n{source}\n"


def test_convert_skips_bad_and_missing_pairs_of_giza(tmp_path, capsys):
    path = tmp_path / "A3"
    path.write_text(giza_pair(1) + giza_pair(2, "NULL ({ })) the") + giza_pair(5))
    command = ("convert", path, "--from", "giza", "--to", "pharaoh")
    assert run(*command) == 3
    capsys.readouterr()
    assert run(*command, *SKIPPED) == 0
    out, err = capsys.readouterr()
    assert out == "0-0 1-1\n\n\n\n0-0 1-1\n"
    assert list(bad_records_in(err)) == [2, 3, 4]
    assert run("convert", path, "--from", "giza", "--to", "tsv", *SKIPPED) == 0
    whole = "the cat\tle chat\t0-0 1-1"
    assert capsys.readouterr().out.splitlines() == [whole, "\t\t", "\t\t", "\t\t", whole]


def test_train_does_without_bad_lines_of_gold(tmp_path, capsys):
    generator = random.Random(0)
    lines = [" ".join(generator.choices("abcdefgh", k=6)) for _ in range(60)]
    source, target, gold = tmp_path / "en", tmp_path / "fr", tmp_path / "gold"
    source.write_text("".join(f"{line}\n" for line in lines))
    target.write_text("".join(f"{line.upper()}\n" for line in lines))
    links = [" ".join(f"{n}-{n}" for n in range(6))] * 60
    links[3] = "0-0 x"
    gold.write_text("".join(f"{line}\n" for line in links))
    report = tmp_path / "report"
    command = ("train", source, target, "-o", tmp_path / "model", "--gold", gold, "--preset", "fast")
    assert run(*command) == 3
    assert "gold, line 4: expected links like 0-1" in capsys.readouterr().err
    assert run(*command, *marked(report)) == 0
    assert entries_of(report) == [4]
