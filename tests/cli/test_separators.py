"""Words with a tab, ``|||`` or a line break: files of other programs refuse them, our tables escape them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.files.text_files import LINE_BREAKS, without_formula
from tests.cli.running import bad_records_in, run, write

SKIPPED = ("--on-error", "skip-marked")
MARKED = (*SKIPPED, "--error-report", "report")
BREAKS = ["\t", *LINE_BREAKS.replace("\n", "")]
PLAIN = [  # commands that write words into plain files, each with the file that has a line for each pair
    ("align a b -o l2 --guided out", "out"),
    ("align a b -o l2 --tokens out --tokenizer space", "out.source"),
    ("align a b -o l2 --guided out --out-shards shards --shard-pairs 2", "out"),
    ("links-from a b --similarities s.npz -o l2 --guided out", "out"),
    ("links-from a b --similarities s.npz -o l2 --tokens out", "out.target"),
    ("convert l --from pharaoh --to tsv --source a --target b -o out", "out"),
    ("convert l --from pharaoh --to words --source a --target b -o out", "out"),
    ("convert words.jsonl --from jsonl --to tsv -o out", "out"),
    ("phrases a b l -o out", None),
    ("lexicon a b l -o out", None),
    ("lexicon a b l --priors out", None),
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(folder: Path, word: str, side: int = 0) -> None:
    """Write three pairs; a word of the second one is what is tested."""
    lines = [["the house", "the cat", "the dog"], ["la maison", "le chat", "le chien"]]
    lines[side][1] = lines[side][1].split(" ")[0] + f" x{word}y"
    write(folder / "a", lines[0])
    write(folder / "b", lines[1])
    write(folder / "l", ["0-0 1-1"] * 3)
    words = [[line.split(" ") for line in of_side] for of_side in lines]
    records = [{"links": [[0, 0]], "source": s, "target": t} for s, t in zip(*words, strict=True)]
    write(folder / "words.jsonl", list(map(json.dumps, records)))
    np.savez(folder / "s.npz", *[np.eye(2, dtype=np.float32)] * 3)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("line", "by_line"), PLAIN)
def test_a_plain_file_refuses_a_word_at_which_it_would_be_cut(files, capsys, line, by_line, side):
    separator = "|||" if line.startswith("phrases") else "<sep>" if "words -" in line else "\u2028"
    make(files, separator, side)
    before = sorted(path.name for path in files.iterdir())
    command = line.replace(" --out-shards shards --shard-pairs 2", "").split()
    assert run(*command) == 3
    err = capsys.readouterr().err
    file = "words.jsonl" if "words.jsonl" in line else "ab"[side]
    kind = ("source", "target")[side]
    assert f"error: {file}, line 2: the {kind} word 'x" in err
    assert "skip the pair with --on-error skip-marked" in err
    assert err.isascii()
    assert sorted(path.name for path in files.iterdir()) == before


@pytest.mark.parametrize(("side", "separator"), [(0, "\t"), (1, "\r")])
@pytest.mark.parametrize(("line", "by_line"), PLAIN)
def test_skip_marked_leaves_such_a_pair_empty_and_lists_it(files, capsys, line, by_line, side, separator):
    make(files, separator, side)
    is_listed = line.startswith(("align", "links-from"))
    assert run(*line.split(), *(MARKED if is_listed else SKIPPED)) == 0
    err = capsys.readouterr().err
    if is_listed:
        assert "1 bad record, listed in report" in err
        [entry] = (files / "report").read_text("utf-8").splitlines()
        assert entry.startswith("2\t")
    else:
        assert "1 bad record\n" in err
        assert "line 2: " in bad_records_in(err)[2]
    for path in files.glob("out*"):
        text = path.read_bytes().decode()
        assert text.split("\n") == [*text.splitlines(), ""]  # no other line ends
        assert "chat" not in text
        assert "chien" in text or path.name == "out.source"
    if by_line is not None:
        lines = (files / by_line).read_text("utf-8").split("\n")[:-1]
        assert [bool(line.strip("\t")) for line in lines] == [True, False, True]


def test_every_line_break_counts(files):
    for separator in BREAKS:
        make(files, separator)
        command = "convert", "l", "--from", "pharaoh", "--to", "tsv", "--source", "a", "--target", "b"
        assert run(*command) == 3
        assert run(*command, "-o", "g", *SKIPPED) == 0
        assert (files / "g").read_text("utf-8").split("\n")[1] == "\t\t"


def test_pairs_from_other_files_are_named_too(files, capsys):
    pairs = [{"source": "the cat", "target": "le chat"}, {"source": "the\rcat", "target": "a\u2028b"}]
    write(files / "p.jsonl", list(map(json.dumps, pairs)))
    write(files / "p.csv", ["source,target", "the cat,le chat", "the\tcat,le chat"])
    for name, place in (("p.jsonl", "p.jsonl, line 2"), ("p.csv", "p.csv, pair 2")):
        assert run("align", "--pairs", name, "-o", "l", "--guided", "g") == 3
        assert f"error: {place}: the source word" in capsys.readouterr().err
        assert run("align", "--pairs", name, "-o", "l", "--guided", "g", *MARKED) == 0
        assert (files / "l").read_text() == "0-0 1-1\n\n"


def test_other_outputs_keep_such_words(files):
    """Links, and tokens that a tokenizer has cut at the tab, hold none."""
    make(files, "\t")
    assert run("align", "a", "b", "-o", "l2") == 0
    assert run("align", "a", "b", "-o", "l2", "--tokens", "cut", "--tokenizer", "simple") == 0
    assert (files / "cut.source").read_text().split("\n")[1] == "the x y"
    assert run("convert", "l", "--from", "pharaoh", "--to", "talp") == 0


def test_tables_hold_every_word(files, capsys):
    make(files, "".join([*BREAKS, "\\", '"', ","]))
    word = (files / "a").read_bytes().decode().split("\n")[1].split(" ")[1]
    for ending in (".tsv", ".csv", ".jsonl"):
        assert run("align", "a", "b", "-o", "l2", "--expert", "l", "--table", f"t{ending}") == 0
    text = {path.suffix: path.read_bytes().decode() for path in files.glob("t.*")}
    for ending in (".tsv", ".jsonl"):
        assert text[ending].split("\n") == [*text[ending].splitlines(), ""]
    rows = [row[2] for row in csv.reader(io.StringIO(text[".csv"], newline=""))]
    assert rows.count(word) == 1
    assert [json.loads(line)["source_word"] for line in text[".jsonl"].splitlines()].count(word) == 1
    assert all(line.count("\t") == 5 for line in text[".tsv"].splitlines())

    capsys.readouterr()
    assert run("lexicon", "a", "b", "l") == 0
    lines = capsys.readouterr().out.split("\n")[:-1]
    assert [line.count("\t") for line in lines] == [5] * len(lines)
    assert "\nx\\t\\u000b\\u000c\\r\\u001c" in "\n".join(sorted(lines))


def test_a_list_keeps_colors_of_words_outside_of_terminals(files, capsys):
    make(files, "\x1b[31mred\x1b[0m")
    assert run("lexicon", "a", "b", "l") == 0
    assert "x\x1b[31mred\x1b[0my\tchat\t" in capsys.readouterr().out


def test_words_of_a_model_are_left_out_alone(files, capsys):
    pairs = [("the x\ty", "le chat"), ("the house", "la maison"), ("a house", "une maison")] * 5
    na.train(pairs).save(files / "model")
    assert run("lexicon", "--model", "model", "-o", "lex") == 3
    assert r"error: model: the source word 'x\ty' contains a tab" in capsys.readouterr().err
    assert run("lexicon", "--model", "model", "-o", "lex", *SKIPPED) == 0
    err = capsys.readouterr().err
    assert "nmtalign: a translation model whose vocabularies are pieces" in err  # a note, not a warning
    [problem] = bad_records_in(err).values()
    assert r"\t" in problem
    assert "house maison" in (files / "lex.t2s").read_text()
    assert "chat" not in (files / "lex.t2s").read_text().replace("the chat", "")
    assert run("lexicon", "--model", "model") == 0
    assert "x\\ty\t" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["lexicon a b l", "phrases a b l", "project a b l --tags a"])
def test_bad_lines_of_each_file_are_left_out(files, capsys, command):
    """Bytes that are no text, links that are none, and links outside, each in its line; the rest stays."""
    lines = [f"w{n} v{n}" for n in range(1, 6)]
    write(files / "a", lines)
    write(files / "b", lines)
    write(files / "l", ["0-0 1-1", "0:1", "0-5", "0-0 1-1", "0-0 1-1"])
    (files / "b").write_bytes((files / "b").read_bytes().replace(b"w4", b"\xff"))
    assert run(*command.split(), "-o", "out") == 3
    capsys.readouterr()
    assert run(*command.split(), *SKIPPED) == 0
    out, err = capsys.readouterr()
    assert "3 bad records\n" in err
    places = {2: "l, line 2", 3: "l, line 3", 4: "b, line 4"}
    found = bad_records_in(err)
    assert found.keys() == places.keys()
    assert all(found[number].startswith(f"{place}: ") for number, place in places.items())
    for number in (1, 2, 3, 4, 5):
        assert (f"w{number}" in out) is (number in (1, 5))
    if command.startswith("project"):
        assert out.split("\n")[:-1] == [lines[0], "", "", "", lines[4]]


def test_convert_leaves_bad_lines_empty(files, capsys):
    write(files / "l", ["0-0", "0:0", "1-1", "0-0"])
    write(files / "a", ["a b", "c d", "e f", "g"])
    write(files / "b", ["A B", "C D", "E", "G"])
    texts = "--source", "a", "--target", "b"
    assert run("convert", "l", "--from", "pharaoh", "--to", "tsv", *texts, *SKIPPED) == 0
    out, err = capsys.readouterr()
    assert out == "a b\tA B\t0-0\nc d\tC D\t\ne f\tE\t\ng\tG\t0-0\n"
    assert "2 bad records" in err
    assert list(bad_records_in(err)) == [2, 3]


def test_project_lists_bad_annotations(files, capsys):
    write(files / "a", ["a cat", "a cat", "a cat"])
    write(files / "b", ["un chat"] * 3)
    write(files / "l", ["0-0 1-1"] * 3)
    write(files / "tags", ["a <b>cat</b>", "a <b>cat", "a <b>cat</b>"])
    (files / "more").write_bytes(b"a <b>cat</b>\n\xff\na <b>cat</b>\n")
    assert run("project", "a", "b", "l", "--tags", "more", *SKIPPED) == 0
    out, err = capsys.readouterr()
    assert out == "un <b>chat</b>\n\nun <b>chat</b>\n"
    assert bad_records_in(err)[2].startswith("more, line 2: expected utf-8 text")
    assert run("project", "a", "b", "l", "--tags", "tags", *SKIPPED) == 0
    out, err = capsys.readouterr()
    assert out == "un <b>chat</b>\n\nun <b>chat</b>\n"
    assert bad_records_in(err)[2].startswith("tags, line 2: expected </b>")


@pytest.mark.parametrize("word", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "-", "\t=1", "\r"])
def test_signs_at_which_a_formula_begins(word):
    assert without_formula(word) == f"'{word}"
    assert without_formula(f"a{word}") == f"a{word}"


def test_formulas_can_be_made_text(files, capsys):
    word = "=1+1"
    write(files / "a", [f"{word} a=b"])
    write(files / "b", [f"{word} a=b"])
    write(files / "l", ["0-0 1-1"])
    aligned = "align", "a", "b", "--expert", "l", "-o", "l2"
    for ending, between in ((".csv", ","), (".tsv", "\t")):
        for option, shown in (((), word), (("--escape-formulas",), f"'{word}")):
            assert run(*aligned, "--table", f"t{ending}", *option) == 0
            row = (files / f"t{ending}").read_text("utf-8").split("\n")[1].split(between)
            assert row[2] == row[4] == shown
            assert "a=b" in (files / f"t{ending}").read_text("utf-8")
    shards = "--out-shards", "shards", "--table", "t.csv", "--escape-formulas"
    assert run(*aligned, *shards) == 0
    assert f"'{word}" in (files / "t.csv").read_text("utf-8")
    assert run(*aligned, "--out-shards", "shards", "--table", "t.csv", "--resume") == 2
    assert "a different escape formulas" in capsys.readouterr().err
    assert run(*aligned, "--table", "t.jsonl", "--escape-formulas") == 0
    assert f'"{word}"' in (files / "t.jsonl").read_text("utf-8")


SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
{first}

2
00:00:03,000 --> 00:00:04,000
the dog

3
00:00:05,000 --> 00:00:07,000
the ▁ house
"""
SAME_CUES = SUBTITLES.replace("▁", "old").format(first="le chat")
FEWER_CUES = SAME_CUES.replace("2\n00:00:03,000 --> 00:00:04,000\nthe dog\n\n", "")
LONG_CUE = SAME_CUES.replace("00:00:04,000\nthe dog\n\n3\n00:00:05,000 --> ", "")


@pytest.mark.parametrize(
    ("target", "pair", "place"),
    [
        (SAME_CUES, 3, "cue 3"),
        (FEWER_CUES, 3, "cue 3"),
        (LONG_CUE, 2, "cues 2 to 3"),
    ],
)
def test_cues_of_subtitles_are_named(files, target, pair, place, capsys):
    (files / "a.srt").write_text(SUBTITLES.format(first="the cat"), encoding="utf-8")
    (files / "b.srt").write_text(target, encoding="utf-8")
    command = ("align", "a.srt", "b.srt", "-o", "l", "--tokens", "t", "--count", "tokens+spaces")
    assert run(*command) == 3
    assert f"error: a.srt, {place}: the line has" in capsys.readouterr().err
    assert run(*command, *MARKED) == 0
    assert (files / "report").read_text(encoding="utf-8").startswith(f"{pair}\ta.srt, {place}: the line has")


def test_a_sentence_of_a_treebank_is_named(files, capsys):
    rows = ["1\tthe\t_", "", "1\t▁\t_", ""]
    filled = [row + 7 * "\t_" if row else row for row in rows]
    for name in ("a.conllu", "b.conllu"):
        write(files / name, filled)
    assert run("align", "a.conllu", "b.conllu", "-o", "l", "--tokens", "t", "--count", "tokens+spaces") == 3
    assert "error: a.conllu, sentence 2: the line has" in capsys.readouterr().err
