"""``nmtalign check``, the counters at the end of `align` and `train`, and escapes of Moses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import nmtalign as na
from nmtalign.cli.texts import languages_in_paths
from tests.checks.test_findings import ENGLISH, FRENCH
from tests.cli.running import run
from tests.text.test_slips import SOURCE, TARGET, write


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines(), delimiter="\t"))


def test_check_writes_a_table_and_a_summary(tmp_path, capsys):
    source, target = write(tmp_path, ["a\thouse", "a car"], ["une maison", ""])
    assert run("check", source, target) == 0
    printed = capsys.readouterr()
    header, first, second = rows(printed.out)
    assert header == ["line", "last", "side", "kind", "severity", "value", "advice"]
    assert first[:6] == ["1", "1", "source", "tab", "error", "\\t"]
    assert second[:5] == ["2", "2", "pair", "one-sided", "error"]
    assert f"tabs inside lines: 1, in line 1 of {source}; " in printed.err
    assert "2 findings in 2 lines" in printed.err


def test_a_wrong_path_is_an_error_before_the_text_is_checked(tmp_path, monkeypatch, capsys):
    def find_all(*_args, **_options):
        pytest.fail("the text was checked")

    monkeypatch.setattr("nmtalign.checks.checking.find_all", find_all)
    source, target = write(tmp_path, ["a house"], ["une maison"])
    assert run("check", source, target, "-o", tmp_path / "missing" / "findings.tsv") == 2
    assert "create it first" in capsys.readouterr().err


def test_check_of_files_of_different_length(tmp_path):
    source, target = write(tmp_path, SOURCE, [*TARGET[:200], "zu viel", *TARGET[200:]])
    table = tmp_path / "findings.tsv"
    assert run("check", source, target, "-o", table, "-q") == 0
    found = [row[:4] for row in rows(table.read_text())[1:]]
    assert ["201", "201", "target", "no-partner"] in found
    assert ["201", "300", "source", "slip"] in found


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("news.en.txt", "news.fr.txt", ("en", "fr")),
        ("en/news.txt.gz", "fr/news.txt.gz", ("en", "fr")),
        ("news_english.txt", "news_french.txt", ("en", "fr")),
        ("a.deu", "a.eng", ("deu", "eng")),
        ("en-fr.en", "en-fr.fr", ("en", "fr")),
        ("old.en.txt", "new.fr.txt", ("source", "target")),
        ("yes.txt", "no.txt", ("source", "target")),
        ("text.en", None, ("source", "target")),
    ],
)
def test_names_of_files_tell_their_languages(source, target, languages):
    assert languages_in_paths(source, target) == languages


def test_check_of_empty_files(tmp_path, capsys):
    source, target = write(tmp_path, [], [])
    assert run("check", source, target) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"error: {source} and {target}: expected lines of text, found none" in printed.err


def test_check_obeys_strict_and_writes_the_table_before(tmp_path, capsys):
    source, target = write(tmp_path, ["a\thouse"], ["une maison"])
    table = tmp_path / "findings.tsv"
    assert run("check", source, target, "-o", table, "--strict") == 3
    assert "1 error was found" in capsys.readouterr().err
    assert len(rows(table.read_text())) == 2
    assert run("check", *write(tmp_path, ["a house"], ["une maison"]), "--strict", "-o", table) == 0


def test_check_finds_swapped_files_by_names_and_languages(tmp_path, capsys):
    english, french = ENGLISH, FRENCH
    swapped = write(tmp_path, french, english)
    for arguments in (swapped, ("--langs", "en,fr", *swapped)):
        assert run("check", *arguments, "--strict") == 3
        printed = capsys.readouterr()
        kinds = [row[3] for row in rows(printed.out)]
        assert kinds.count("swapped-files") == 1
        assert "swapped files: 1, in line 1; swap source and target" in printed.err
    assert run("check", "--langs", "fr,en", *swapped, "--strict") == 0
    assert run("check", *write(tmp_path, english, french), "--strict") == 0


def test_check_with_the_bundled_model(tmp_path, capsys):
    paths = write(tmp_path, ["the house", "xqzt"], ["la maison", "blorp"])
    assert run("check", *paths, "--model", "en_fr_model") == 0
    assert rows(capsys.readouterr().out)[1][:4] == ["2", "2", "pair", "no-links"]


def test_check_reads_one_file_with_both_sides(tmp_path, capsys):
    path = tmp_path / "a.tsv"
    path.write_text("the house\t\n", encoding="utf-8")
    assert run("check", "--pairs", path) == 0
    printed = capsys.readouterr()
    assert rows(printed.out)[1][:4] == ["1", "1", "pair", "one-sided"]
    assert "in pair 1; " in printed.err


def test_align_counts_what_is_wrong(tmp_path, capsys):
    source = ["the house is old", "a\tcat", "the old house", "nous avons acheté du pain au marché", "xqzt"]
    target = ["la maison est vieille", "un chat", "the old house", "we bought bread at the market", "blorp"]
    assert run("align", *write(tmp_path, source, target), "-o", tmp_path / "links") == 0
    err = capsys.readouterr().err
    assert "1 pair without links" in err
    assert "tabs inside lines: 1, in line 2" in err
    assert "untranslated copies: 1, in line 3" in err
    assert "pairs with swapped sides: 1, in line 4" in err


def test_align_obeys_strict(tmp_path, capsys):
    paths = write(tmp_path, ["the house", "a\tcat"], ["la maison", "un chat"])
    assert run("align", *paths, "-o", tmp_path / "links", "--strict") == 3
    assert "pairs 1 to 2: tabs inside lines: 1, in line 2" in capsys.readouterr().err
    assert not (tmp_path / "links").exists()


def test_the_counts_are_in_the_log_for_programs(tmp_path, capsys):
    paths = write(tmp_path, ["the house", "a\tcat", ""], ["la maison", "un chat", ""])
    assert run("align", *paths, "-o", tmp_path / "links", "--log-json") == 0
    records = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    found = {record["kind"]: record["count"] for record in records if record["event"] == "finding"}
    assert found == {"tab": 1, "empty": 1}
    (aligned,) = [record for record in records if record["event"] == "aligned"]
    assert aligned["without_links"] == 1


def test_train_counts_what_is_wrong_and_obeys_strict(tmp_path, capsys):
    paths = write(tmp_path, ["a\tb", *SOURCE, ""], ["x", *TARGET, ""])
    options = ("-o", tmp_path / "model", "--preset", "fast", "--workers", "1")
    assert run("train", *paths, *options, "--links", tmp_path / "links") == 0
    err = capsys.readouterr().err
    assert "tabs inside lines: 1, in line 1" in err
    assert "pairs without text: 1, in line 302" in err
    assert "without links; to inspect" in err
    assert run("train", *paths, *options, "--force", "--strict") == 3
    assert "tabs inside lines: 1, in line 1" in capsys.readouterr().err


# --- escapes of Moses ----------------------------------------------------------------------------

RAW = (["he doesn't know", 'a " b'], ["il ne connaît pas l'homme", "a | b"])
ESCAPED = (["he doesn&apos;t know", "a &quot; b"], ["il ne connaît pas l&apos;homme", "a &#124; b"])


@pytest.mark.parametrize("tokenizer", ["space", "simple"])
def test_escaped_text_gets_the_links_of_the_raw_text(tokenizer, tmp_path):
    links = []
    for name, sides, options in (("raw", RAW, []), ("escaped", ESCAPED, ["--unescape"])):
        (tmp_path / name).mkdir()
        paths = write(tmp_path / name, *sides)
        run("align", *paths, "-o", tmp_path / "l", "-q", "--tokenizer", tokenizer, *options)
        links.append((tmp_path / "l").read_text())
    assert links[0] == links[1]


def test_escapes_are_counted_unless_they_are_read(tmp_path, capsys):
    paths = write(tmp_path, *ESCAPED)
    run("align", *paths, "-o", tmp_path / "l")
    assert "Moses escapes such as &apos;: 3, first in line 1" in capsys.readouterr().err
    run("align", *paths, "-o", tmp_path / "l", "--unescape")
    assert "Moses escapes" not in capsys.readouterr().err


def test_unescaped_pairs_of_python(tmp_path):
    source, target = write(tmp_path, *ESCAPED)
    pairs = na.read_bitext(source, target, unescape=True)
    assert [list(pair) for pair in pairs] == [list(pair) for pair in zip(*RAW, strict=True)]


# --- bad records ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["train", "check"])
def test_bad_records_are_left_out_and_listed(command, tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    records = [json.dumps({"source": s, "target": t}) for s, t in zip(SOURCE, TARGET, strict=True)]
    path.write_text("\n".join([*records[:5], "{broken", *records[5:]]) + "\n", encoding="utf-8")
    output = ("-o", tmp_path / "out", "--preset", "fast", "--workers", "1")
    output = output if command == "train" else output[:2]
    assert run(command, "--pairs", path, *output) == 3
    assert "a.jsonl, line 6" in capsys.readouterr().err
    report = tmp_path / "bad"
    skipping = ("--on-error", "skip-marked", "--error-report", report)
    assert run(command, "--pairs", path, *output, *skipping) == 0
    assert report.read_text().startswith("6\t")
    assert "1 bad record, listed in" in capsys.readouterr().err


def test_pairs_with_a_line_that_cannot_be_read_have_no_findings(tmp_path, capsys):
    english, french = list(SOURCE), list(TARGET)
    french.insert(200, "zu viel")  # from line 201 on, the lines are shifted by one
    french[250] = "une\ttabulation"  # the partner of source line 250, which cannot be read
    french[0] = ""
    source, target = map(Path, write(tmp_path, english, french))
    for path, number in ((source, 250), (target, 6)):
        lines = path.read_bytes().split(b"\n")
        lines[number - 1] = b"caf\xe9"
        path.write_bytes(b"\n".join(lines))
    table, report = tmp_path / "findings.tsv", tmp_path / "bad"
    skipping = ("--on-error", "skip-marked", "--error-report", report)
    assert run("check", source, target, "-o", table, *skipping) == 0
    findings = [row[:4] for row in rows(table.read_text())[1:]]
    assert ["1", "1", "pair", "one-sided"] in findings
    assert ["201", "300", "source", "slip"] in findings
    lines_of_pairs = {row[0] for row in findings if row[3] not in ("slip", "no-partner")}
    assert not lines_of_pairs & {"6", "250", "251"}
    assert [line.split("\t")[0] for line in report.read_text().splitlines()] == ["250", "6"]
    assert "2 bad records, listed in" in capsys.readouterr().err


def test_a_record_that_cannot_be_read_is_not_an_empty_pair(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    empty = json.dumps({"source": "", "target": ""})
    path.write_text(f"{{broken\n{empty}\n", encoding="utf-8")
    table = tmp_path / "findings.tsv"
    skipping = ("--on-error", "skip-marked", "--error-report", tmp_path / "bad")
    assert run("check", "--pairs", path, "-o", table, *skipping) == 0
    assert [row[:4] for row in rows(table.read_text())[1:]] == [["2", "2", "pair", "empty"]]
    capsys.readouterr()
    model = ("--model", "en_fr_model")
    assert run("align", "--pairs", path, "-o", tmp_path / "links", *model, *skipping) == 0
    assert "pairs without text: 1, in pair 2; " in capsys.readouterr().err


def test_swapped_files_are_found_although_the_first_line_cannot_be_read(tmp_path):
    source, target = tmp_path / "first", tmp_path / "second"  # only the model can know the languages
    source.write_bytes(b"\xe9\n" + "\n".join(FRENCH).encode())
    target.write_text("\n".join(["", *ENGLISH]), encoding="utf-8")
    table = tmp_path / "findings.tsv"
    skipping = ("--on-error", "skip-marked", "--error-report", tmp_path / "bad")
    assert run("check", source, target, "-o", table, "--model", "en_fr_model", *skipping) == 0
    assert "swapped-files" in [row[3] for row in rows(table.read_text())[1:]]
