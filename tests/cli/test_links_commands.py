"""The commands over link files, and ``lexicon``, as a person calls them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import nmtalign as na
from nmtalign.cli import main
from nmtalign.dictionaries.reading import read_dictionary
from nmtalign.files.compressed import open_binary
from nmtalign.links.formats import format_pharaoh, parse_pharaoh
from nmtalign.links.selection import SYMMETRIZATION_METHODS, symmetrize_many
from nmtalign.names import READ_LINKS


def run(capsys, *arguments):
    """Return (exit code, standard output, standard error) of a command."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path


@pytest.fixture
def files(tmp_path):
    """Links of two aligners and gold for three pairs."""
    return (
        write(tmp_path / "links", "0-0 1-1", "", "0-1 2-2"),
        write(tmp_path / "gold", "0-0 1p1 2-2", "", "0-1 1p1"),
        write(tmp_path / "other", "0-0 1-1 2-2", "", "0-1 1-1"),
    )


def test_evaluate_prints_scores_in_percent(capsys, files):
    code, out, err = run(capsys, "evaluate", *files[:2])
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (code, err) == (0, "")
    assert lines["precision"].startswith("75.00  [")
    assert lines["recall"].startswith("66.67  [")
    assert lines["aer"].startswith("28.57  [")
    assert lines["pairs"] == "3, links 4 (3 possible, 2 sure), sure gold links 3"
    assert "bootstrap:1000|confidence:0.95|seed:1|format:pharaoh|gold:pharaoh|version:" in lines["settings"]


def test_evaluate_by_sentence_and_comparison(capsys, files):
    code, out, _ = run(capsys, "evaluate", *files[:2], "--compare", files[2], "--by-sentence")
    table, _, summary = out.partition("\n\n")
    rows = [line.split("\t") for line in table.splitlines()]
    assert code == 0
    assert [row[:6] for row in rows[:3]] == [
        ["file", "line", "precision", "recall", "f1", "aer"],
        [str(files[0]), "1", "100.00", "50.00", "66.67", "25.00"],
        [str(files[0]), "2", "nan", "nan", "nan", "nan"],
    ]
    assert len(rows) == 1 + 2 * 3
    assert "+33.33" in next(line for line in summary.splitlines() if line.startswith("recall"))


def test_evaluate_says_which_scores_are_undefined(capsys, tmp_path):
    gold, none = write(tmp_path / "gold", "0-0", "1-1"), write(tmp_path / "none", "", "")
    code, out, err = run(capsys, "evaluate", none, gold)
    scores = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (code, "nan" in out) == (0, False)
    assert [scores[name].split()[0] for name in ("precision", "f1")] == ["undefined"] * 2
    assert [scores[name].split()[0] for name in ("recall", "aer")] == ["0.00", "100.00"]
    assert err == f"nmtalign: warning: {none} has no links, so precision and F1 are undefined\n"
    code, out, err = run(capsys, "evaluate", gold, none)
    assert (code, "nan" in out) == (0, False)
    assert err == f"nmtalign: warning: {none} has no sure links, so recall and F1 are undefined\n"
    code, out, err = run(capsys, "evaluate", none, gold, "--compare", gold)
    assert (code, "nan" in out) == (0, False)
    assert "undefined" in next(line for line in out.splitlines() if line.startswith("precision"))
    assert err.count("warning") == 1


def test_evaluate_scores_the_pairs_that_were_reviewed(capsys, tmp_path):
    about = {"pairs": 4, "text": "", "by": "", "at": ""}
    made = {1: ([[0, 0]], [[1, 1]]), 3: ([], [[2, 2]]), 4: ([], [])}
    records = [about | {"pair": n, "links": sure, "possible": more} for n, (sure, more) in made.items()]
    file = write(tmp_path / "corrections.jsonl", *map(json.dumps, records))
    links = write(tmp_path / "links", "0-0 1-1", "5-5 6-6", "0-1 2-2", "")
    code, out, err = run(capsys, "evaluate", links, file)
    assert code == 0
    assert "scored on the 3 of 4 pairs that were reviewed" in err
    claims = write(tmp_path / "claims.jsonl", json.dumps(records[0] | {"pairs": 999_999_999}))
    code, _, err = run(capsys, "evaluate", links, claims)
    assert (code, "the 999,999,999 pairs with gold links, found links for 4" in err) == (3, True)
    same = write(tmp_path / "same", "0-0 1-1", "0-1 2-2", ""), write(tmp_path / "gold", "0-0 1p1", "2p2", "")
    assert out == run(capsys, "evaluate", *same)[1]


def test_evaluate_counts_from_one(capsys, files, tmp_path):
    links = write(tmp_path / "one", "1-1 2-2", "", "1-2 3-3")
    gold = write(tmp_path / "gold_one", "1-1 2p2 3-3", "", "1-2 2p2")
    expected = run(capsys, "evaluate", *files[:2])[1].replace("pharaoh", "talp")
    assert (
        run(capsys, "evaluate", links, gold, "--links-format", "talp", "--gold-format", "talp")[1] == expected
    )


def test_evaluate_warns_where_only_one_file_counts_from_one(capsys, files, tmp_path):
    gold = write(tmp_path / "gold_one", "1-1 2p2 3-3", "", "1-2 2p2")
    assert "if all positions were one higher" in run(capsys, "evaluate", files[0], gold)[2]
    links = write(tmp_path / "one", "1-1 2-2", "", "1-2 3-3")
    assert "if all positions were one lower" in run(capsys, "evaluate", links, files[1])[2]
    assert run(capsys, "evaluate", files[0], gold, "--gold-format", "talp")[2] == ""
    diagonal = write(tmp_path / "diagonal", " ".join(f"{n}-{n}" for n in range(20)))  # moved, 19 of 20 fit
    assert run(capsys, "evaluate", diagonal, diagonal)[2] == ""


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (("0-0",), "bad: expected links for the 3 pairs with gold links, found links for 1"),
        (("0-0", "0:1", ""), "line 2: expected links like 0-1 between spaces, found '0:1'"),
    ],
)
def test_evaluate_refuses_bad_links(capsys, files, tmp_path, links, message):
    code, out, err = run(capsys, "evaluate", write(tmp_path / "bad", *links), files[1])
    assert (code, out) == (3, "")
    assert err.startswith("nmtalign: error: ")
    assert message in err


def test_missing_files_and_wrong_options(capsys, files):
    assert run(capsys, "evaluate", files[0], "nowhere")[0] == 3
    assert run(capsys, "evaluate", files[0])[0] == 2
    assert run(capsys, "convert", *files[:2], "--symmetrize", "grow")[0] == 2


@pytest.mark.parametrize("method", SYMMETRIZATION_METHODS)
def test_symmetrize(capsys, files, tmp_path, method):
    reverse = write(tmp_path / "reverse", "0-0 1-2", "3-3", "1-1 2-2")
    code, out, _ = run(capsys, "convert", files[0], reverse, "--symmetrize", method)
    sides = [
        [parse_pharaoh(line) for line in path.read_text().split("\n")[:-1]] for path in (files[0], reverse)
    ]
    expected = "".join(f"{format_pharaoh(links)}\n" for links in symmetrize_many(*sides, method))
    assert (code, out) == (0, expected)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["r"], "add --symmetrize METHOD"),
        (["--symmetrize", "union"], "or with --symmetrize a second file of links"),
        (["r", "--symmetrize", "union", "--to", "jsonl"], "Pharaoh links only"),
        (["r", "--symmetrize", "union", "--invert"], "Pharaoh links only"),
        (["--to", "jsonl"], "expected --from FORMAT and --to FORMAT"),
    ],
)
def test_convert_joins_two_files_or_converts_one(capsys, tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "f", "0-1")
    write(tmp_path / "r", "0-1")
    code, out, err = run(capsys, "convert", "f", *options)
    assert (code, out) == (2, "")
    assert told in err


def test_symmetrize_refuses_files_of_different_length_and_leaves_nothing(capsys, tmp_path):
    forward, reverse = write(tmp_path / "f", "0-1", "", ""), write(tmp_path / "r", "1-0")
    code, _, err = run(capsys, "convert", forward, reverse, "--symmetrize", "union", "-o", tmp_path / "out")
    assert code == 3
    assert "found 3 in" in err
    assert "and 1 in" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "r"]


def test_convert_there_and_back(capsys, files, tmp_path):
    source = write(tmp_path / "source", "a b c", "", "x y z")
    target = write(tmp_path / "target", "A B C", "Q", "X Y Z")
    texts = ("--source", source, "--target", target)
    for format in READ_LINKS:
        made = tmp_path / f"made.{format}"
        start = files[2] if format in ("giza", "tsv") else files[1]  # they know no possible links
        _, _, err = run(capsys, "convert", start, "--from", "pharaoh", "--to", format, "-o", made, *texts)
        assert err == f"nmtalign: links in {made}\n"
        code, out, _ = run(capsys, "convert", made, "--from", format, "--to", "pharaoh", *texts)
        assert (code, out) == (0, start.read_text())


def test_convert_puts_giza_pairs_in_order(capsys, tmp_path):
    header = "# Sentence pair ({}) source length 1 target length 1 alignment score : 0.5"
    pair = header + "\nchat\nNULL ({{ {}}}) cat ({{ {}}})"
    giza = write(tmp_path / "A3", pair.format(2, "", "1 "), pair.format(1, "1 ", ""))
    assert run(capsys, "convert", giza, "--from", "giza", "--to", "pharaoh")[:2] == (0, "\n0-0\n")
    write(tmp_path / "A3", pair.format(1, "", "1 "), pair.format(3, "", "1 "))
    code, out, err = run(capsys, "convert", giza, "--from", "giza", "--to", "pharaoh", "-o", tmp_path / "out")
    assert (code, out) == (3, "")
    assert "A3, line 4: expected pair 2, which is nowhere in the file" in err
    assert not (tmp_path / "out").exists()


def test_convert_to_words_and_json(capsys, files, tmp_path):
    source = write(tmp_path / "source", "a b c", "", "x y z")
    target = write(tmp_path / "target", "A B C", "Q", "X Y Z")
    texts = ("--source", source, "--target", target)
    assert run(capsys, "convert", files[0], "--from", "pharaoh", "--to", "words", *texts)[1] == (
        "a<sep>A b<sep>B\n\nx<sep>Y z<sep>Z\n"
    )
    out = run(capsys, "convert", files[0], "--from", "pharaoh", "--to", "jsonl", *texts)[1]
    assert json.loads(out.split("\n")[1]) == {"links": [], "source": [], "target": ["Q"]}


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        (1, 3, "found more in"),
        (4, 3, "found only 3 in"),
    ],
)
def test_convert_refuses_texts_that_do_not_fit(capsys, files, tmp_path, lines, code, message):
    texts = [write(tmp_path / side, *["a b c"] * lines) for side in ("s", "t")]
    result = run(
        capsys,
        "convert",
        files[0],
        "--from",
        "pharaoh",
        "--to",
        "words",
        "--source",
        texts[0],
        "--target",
        texts[1],
    )
    assert result[0] == code
    assert message in result[2]


def test_convert_needs_both_texts(capsys, files):
    code, _, err = run(
        capsys, "convert", files[0], "--from", "pharaoh", "--to", "words", "--source", files[0]
    )
    assert code == 2
    assert "--target" in err
    assert run(capsys, "convert", files[0], "--from", "pharaoh", "--to", "giza")[0] == 2


def test_a_pipe_works(files):
    links = files[0].read_bytes()
    command = [sys.executable, "-m", "nmtalign", "convert", "-", str(files[2]), "--symmetrize", "union"]
    done = subprocess.run(command, input=links, capture_output=True, check=True)
    assert done.stdout == b"0-0 1-1 2-2\n\n0-1 1-1 2-2\n"


def test_convert_to_tsv(capsys, tmp_path):
    source, target = write(tmp_path / "s", "a cat", ""), write(tmp_path / "t", "un chat", "x")
    links = write(tmp_path / "l", "0-0 1-1", "")
    texts = ("--source", source, "--target", target)
    assert run(capsys, "convert", links, "--from", "pharaoh", "--to", "tsv", *texts)[1] == (
        "a cat\tun chat\t0-0 1-1\n\tx\t\n"
    )
    tabbed = write(tmp_path / "tab", "a\tb cat", "")
    texts = ("--source", tabbed, "--target", target)
    code, _, err = run(capsys, "convert", links, "--from", "pharaoh", "--to", "tsv", *texts)
    assert code == 3
    assert f"{tabbed}, line 1: the source word 'a\\tb' contains a tab" in err


def test_phrases(capsys, tmp_path):
    source, target = write(tmp_path / "s", "a cat", ""), write(tmp_path / "t", "chat un", "x")
    files = source, target, write(tmp_path / "l", "0-1 1-0", "")
    forward = "a ||| un ||| 0-0\na cat ||| chat un ||| 0-1 1-0\ncat ||| chat ||| 0-0\n"
    assert run(capsys, "phrases", *files, "--quiet") == (0, forward, "")
    assert run(capsys, "phrases", *files, "--longest", 1)[1].count("\n") == 2
    code, out, err = run(capsys, "phrases", *files, "-o", tmp_path / "p")
    assert (code, out) == (0, "")
    assert f"3 phrase pairs of 2 sentence pairs in {tmp_path}/p.extract and {tmp_path}/p.extract.inv, " in err
    assert (tmp_path / "p.extract").read_text() == forward
    assert (tmp_path / "p.extract.inv").read_text() == (
        "chat ||| cat ||| 0-0\nchat un ||| a cat ||| 0-1 1-0\nun ||| a ||| 0-0\n"
    )


def test_phrases_refuse_what_would_read_as_two_sides(capsys, tmp_path):
    text, links = write(tmp_path / "s", "a", "a ||| b"), write(tmp_path / "l", "0-0", "0-0")
    code, out, err = run(capsys, "phrases", text, text, links, "-o", tmp_path / "p")
    assert (code, out) == (3, "")
    assert "s, line 2: the source word '|||' contains '|||', which separates words or columns" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l", "s"]


# --- the tokens that positions count -------------------------------------------------------------


@pytest.fixture
def raw(tmp_path):
    """Raw lines, and links of other tokens, as ``simple`` cuts the lines."""
    source = write(tmp_path / "s", "It's cold.", "The cat, then.")
    target = write(tmp_path / "t", "Y a-t-il l'eau.", "Le chat, puis.")
    return source, target, write(tmp_path / "l", "0-0 1-1 2-4 3-5", "0-0 1-1 2-2 3-3 4-4")


def test_words_stand_between_spaces(capsys, tmp_path, raw):
    linked = *raw[:2], write(tmp_path / "links", "0-1 1-2", "0-0 1-1 2-2")
    rows = [line.split("\t")[:2] for line in run(capsys, "lexicon", *linked)[1].splitlines()[1:]]
    assert sorted(rows) == sorted(
        [["It's", "a-t-il"], ["cold", "l'eau"], ["The", "Le"], ["cat", "chat"], ["then", "puis"]]
    )
    assert "\nit's\ta-t-il\t" in run(capsys, "lexicon", *linked, "--lowercase")[1]
    assert "cat, then. ||| chat, puis. ||| 0-0 1-1\n" in run(capsys, "phrases", *linked)[1]
    tags = write(tmp_path / "tags", "O B-X", "O O O")
    labels = "O O B-X\nO O O\n"
    tagged = "--tags", tags, "--tags-format", "bio"
    assert run(capsys, "project", *linked, *tagged, "--quiet") == (0, labels, "")
    _, _, err = run(capsys, "project", *linked, *tagged, "-o", tmp_path / "labels")
    assert f"annotations of 2 lines in {tmp_path}/labels, " in err
    single = [write(tmp_path / name, line) for name, line in (("a", "cat"), ("b", "chat"), ("c", "0-0"))]
    tags = write(tmp_path / "tags", "B-X")
    _, _, err = run(capsys, "project", *single, "--tags", tags, *tagged[2:], "-o", tmp_path / "labels")
    assert f"annotations of 1 line in {tmp_path}/labels, " in err


@pytest.mark.parametrize("command", ["lexicon", "phrases", "project"])
def test_links_of_tokens_name_the_line_and_what_to_do(capsys, monkeypatch, raw, command):
    monkeypatch.chdir(raw[0].parent)
    more = ("--tags", raw[0]) if command == "project" else ()
    code, _, err = run(capsys, command, *(path.name for path in raw), *more)
    assert code == 3
    assert " l, line 1: link 2-4 is outside a pair of 2 source and 3 target words; positions count" in err
    assert "files that align --tokens wrote" in err


@pytest.mark.parametrize(
    ("format", "lines", "expected"),
    [
        ("xml", ("the <b>black</b> cat", "<br/>"), "le chat <b>noir</b>\n<br/>x\n"),
        ("bio", ("O B-COL I-COL", ""), "O B-COL I-COL\nO\n"),
        ("spans", ("1-2:COL 2-3:ANIMAL", ""), "1-2:ANIMAL 2-3:COL\n\n"),
    ],
)
def test_project(capsys, tmp_path, format, lines, expected):
    source, target = write(tmp_path / "s", "the black cat", ""), write(tmp_path / "t", "le chat noir", "x")
    links, tags = write(tmp_path / "l", "0-0 1-2 2-1", ""), write(tmp_path / "tags", *lines)
    arguments = ("project", source, target, links, "--tags", tags, "--tags-format", format)
    assert run(capsys, *arguments, "--quiet") == (0, expected, "")
    assert run(capsys, *arguments, "-o", tmp_path / "out")[0] == 0
    assert (tmp_path / "out").read_text() == expected


@pytest.mark.parametrize(
    ("format", "lines", "message"),
    [
        ("xml", ("<b>a cat</b>", "<b>a"), "tags, line 2: expected </b> before the end"),
        ("xml", ("a dog", "a"), "tags, line 1: expected the source words with tags; word 1 is 'cat'"),
        ("bio", ("O O", "O O"), "tags, line 2: expected a label for each of 1 source words, found 2"),
        ("spans", ("0-3:A", ""), "tags, line 1: expected spans like 0-2:NAME within 2 words"),
        ("bio", ("O O",), "tags; a line is missing or surplus"),
    ],
)
def test_project_refuses_annotations_that_do_not_fit(capsys, tmp_path, format, lines, message):
    source, target = write(tmp_path / "s", "a cat", "a"), write(tmp_path / "t", "un chat", "x")
    links, tags = write(tmp_path / "l", "0-0", ""), write(tmp_path / "tags", *lines)
    code, _, err = run(capsys, "project", source, target, links, "--tags", tags, "--tags-format", format)
    assert code == 3
    assert message in err


def test_project_refuses_links_of_another_text(capsys, tmp_path):
    text, tags = write(tmp_path / "s", "a cat"), write(tmp_path / "tags", "a cat")
    links = write(tmp_path / "l", "0-2")
    code, _, err = run(capsys, "project", text, text, links, "--tags", tags)
    assert code == 3
    assert "l, line 1: link 0-2 is outside a pair of 2 source and 2 target words" in err


def test_lexicon_of_links(capsys, tmp_path):
    source = write(tmp_path / "s", "the cat", "the dog", "")
    target = write(tmp_path / "t", "le chat", "le chien", "x")
    links = write(tmp_path / "l", "0-0 1-1", "0-0 1-1", "")
    out = run(capsys, "lexicon", source, target, links)[1].splitlines()
    assert out[1].split("\t")[:5] == ["the", "le", "2", "1.0000", "1.0000"]
    assert run(capsys, "lexicon", source, target, links, "--word", "chien")[1].count("\n") == 2
    assert run(capsys, "lexicon", source, target, links, "--word", "Chien")[1].count("\n") == 2
    code, shown, err = run(capsys, "lexicon", source, target, links, "--word", "oiseau")
    assert (code, shown) == (3, "")
    assert "no translation of 'oiseau' reaches --min-probability" in err
    code, shown, err = run(capsys, "lexicon", source, target, links, "-o", tmp_path / "lex")
    names = ", ".join(f"{tmp_path}/lex.{end}" for end in ("s2t", "t2s", "tsv"))
    assert (code, shown, err) == (0, "", f"nmtalign: 3 word pairs in {names}\n")
    assert (tmp_path / "lex.s2t").read_text() == (
        "x NULL 1.0000000\nchat cat 1.0000000\nchien dog 1.0000000\nle the 1.0000000\n"
    )
    assert (tmp_path / "lex.t2s").read_text() == (
        "cat chat 1.0000000\ndog chien 1.0000000\nthe le 1.0000000\nNULL x 1.0000000\n"
    )
    assert (tmp_path / "lex.tsv").read_text().splitlines()[1:] == sorted(out[1:])


def test_lexicon_refuses_what_does_not_fit(capsys, tmp_path):
    text, links = write(tmp_path / "s", "a cat", "b"), write(tmp_path / "l", "0-0")
    assert run(capsys, "lexicon", text, text)[0] == 2
    assert run(capsys, "lexicon")[0] == 2
    assert run(capsys, "lexicon", "--model", "model", "--lowercase")[0] == 2
    code, _, err = run(capsys, "lexicon", text, text, tmp_path)
    assert (code, "Is a directory, expected a file" in err) == (3, True)
    code, _, err = run(capsys, "lexicon", text, text, links)
    assert code == 3
    assert f"expected the same number of lines in each file, found 2 in {text} and 1 in {links};" in err
    code, _, err = run(capsys, "lexicon", text, text, write(tmp_path / "far", "0-2", ""))
    assert code == 3
    assert "far, line 1: link 0-2 is outside" in err


def test_what_became_of_annotations_without_a_link_is_said(capsys, tmp_path):
    sides = write(tmp_path / "a", "a b c"), write(tmp_path / "b", "x y")
    linked = *sides, write(tmp_path / "links", "0-0 2-1"), "--tags"
    code, out, err = run(capsys, "project", *linked, write(tmp_path / "xml", "a <u>b</u> <i>c</i>"))
    assert (code, out) == (0, "x <u></u><i>y</i>\n")
    assert err.splitlines()[1:] == [
        "nmtalign: 1 annotation has no linked word; it was inserted between the neighboring words (line 1)"
    ]
    labels = write(tmp_path / "bio", "B-X B-Y O")
    code, out, err = run(capsys, "project", *linked, labels, "--tags-format", "bio")
    assert (code, out) == (0, "B-X O\n")
    assert "1 annotation has no linked word; it was omitted (line 1)" in err
    all_linked = write(tmp_path / "spans", "0-2:X")
    spans = "--tags-format", "spans", "--quiet"
    assert run(capsys, "project", *linked, all_linked, *spans) == (0, "0-1:X\n", "")


def test_links_of_other_words_are_refused(capsys, tmp_path):
    links = write(tmp_path / "links", "0-0 1-1")
    sides = write(tmp_path / "a", "Yes, sir!"), write(tmp_path / "b", "Oui, monsieur!")
    texts = "--source", sides[0], "--target", sides[1]
    written = "convert", links, "--from", "pharaoh", "--to", "words"
    code, out, _ = run(capsys, *written, *texts)
    assert (code, out) == (0, "Yes,<sep>Oui, sir!<sep>monsieur!\n")
    write(tmp_path / "links", "0-0 1-3")
    code, _, err = run(capsys, *written, *texts)
    assert code == 3
    assert f"{links}: pair 1: link 1-3 is outside" in err
    assert "files that align --tokens wrote" in err
    assert run(capsys, *written, "--lowercase")[0] == 2


def test_priors_of_eflomal_come_back(capsys, tmp_path):
    texts = write(tmp_path / "a", "the house", "a house"), write(tmp_path / "b", "la maison", "une maison")
    links = write(tmp_path / "links", "0-0 1-1", "0-0 1-1")
    code, out, _ = run(capsys, "lexicon", *texts, links, "--priors", tmp_path / "priors")
    assert (code, out) == (0, "")
    written = (tmp_path / "priors").read_text(encoding="utf-8").splitlines()
    assert {"FERF\thouse\t1\t2", "FERR\tla\t1\t1", "HMMF\t1\t6", "HMMR\t1\t6"} <= set(written)
    lines = [line for line in written if line.startswith("LEX")]
    assert "LEX\thouse\tmaison\t2.0000" in lines
    write(tmp_path / "priors", *lines)
    assert list(read_dictionary(tmp_path / "priors").itertuples(index=False, name=None)) == [
        (source, target, float(count)) for _, source, target, count in (line.split("\t") for line in lines)
    ]
    write(tmp_path / "priors", *lines, "HMMF\t-1\t3", "HMMR\t2\t1.5", "FERF\thouse\t1\t2", "FERR\tla\t1\t1")
    with pytest.warns(UserWarning, match="skipped 2 lines") as caught:
        assert len(read_dictionary(tmp_path / "priors")) == len(lines)
    messages = [str(warning.message) for warning in caught]
    assert "skipped 2 lines of fertilities (FERF, FERR)" in messages[0]
    assert "skipped 2 lines of jumps (HMMF, HMMR), which are not word pairs" in messages[1]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize(
    "command", ["phrases a b l -o P", "lexicon a b l -o P", "align a b --tokens P -o links"]
)
def test_a_prefix_with_an_ending_compresses_its_files(tmp_path, monkeypatch, capsys, command, ending):
    monkeypatch.chdir(tmp_path)
    for name, line in (("a", "the house"), ("b", "la maison"), ("l", "0-0 1-1")):
        write(tmp_path / name, line)
    for prefix in ("out", f"packed{ending}"):
        code, _, err = run(capsys, *[prefix if word == "P" else word for word in command.split()])
        assert code == 0, err
    plain = sorted(tmp_path.glob("out*"))
    assert len(plain) >= 2
    for path in plain:
        packed = tmp_path / (path.name.replace("out", "packed") + ending)
        with open_binary(packed) as file:
            assert file.read() == path.read_bytes()
        assert packed.read_bytes() != path.read_bytes()
    assert len(list(tmp_path.glob("packed*"))) == len(plain)


@pytest.mark.parametrize(
    "command", ["phrases a b l -o -", "lexicon a b l -o -", "align a b --tokens - -o links"]
)
def test_a_prefix_is_not_standard_output(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    for name, line in (("a", "the house"), ("b", "la maison"), ("l", "0-0 1-1")):
        write(tmp_path / name, line)
    code, _, err = run(capsys, *command.split())
    assert code == 2
    assert "pass a prefix of names" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "l"]


def test_links_are_inverted(tmp_path, capsys):
    write(tmp_path / "links", "0-0 1-2", "", "2-1")
    options = "--from", "pharaoh", "--to", "pharaoh", "--invert"
    assert run(capsys, "convert", tmp_path / "links", *options)[1] == "0-0 2-1\n\n1-2\n"
    assert run(capsys, "convert", tmp_path / "links", "--invert")[1] == "0-0 2-1\n\n1-2\n"
    write(tmp_path / "talp", "1-2 2p3")
    options = "--from", "talp", "--to", "talp", "--invert"
    assert run(capsys, "convert", tmp_path / "talp", *options)[1] == "2-1 3p2\n"
    write(tmp_path / "en", "the cat")
    write(tmp_path / "fr", "le chat noir")
    write(tmp_path / "one", "1-2")
    words = "--from", "pharaoh", "--to", "tsv", "--invert"
    texts = "--source", tmp_path / "en", "--target", tmp_path / "fr"
    assert run(capsys, "convert", tmp_path / "one", *words, *texts)[1] == "le chat noir\tthe cat\t2-1\n"


# --- without gold links --------------------------------------------------------------------------


@pytest.fixture
def judged(tmp_path):
    """The links of twelve pairs by the bundled model, other links, and both sides of the text."""
    source = ["the black cat", "a house", "we have a car"] * 4
    target = ["le chat noir", "une maison", "nous avons une auto"] * 4
    return (
        write(tmp_path / "links", *["0-0 1-2 2-1", "0-0 1-1", "0-0 1-1 2-2 3-3"] * 4),
        write(tmp_path / "other", *["0-2 1-1 2-0", "0-1 1-0", "0-3 1-2 2-1 3-0"] * 4),
        write(tmp_path / "text.en", *source),
        write(tmp_path / "text.fr", *target),
    )


def test_evaluate_without_gold_prints_both_styles(capsys, judged):
    links, other, *text = judged
    code, out, _ = run(capsys, "evaluate", links, *text, "--model", "en_fr_model")
    assert code == 0
    assert "sure and possible links" in out
    assert "dense links" in out
    batch = na.load().align_batch(na.read_bitext(*text))
    expected = na.evaluate([batch.links(n) for n in range(12)], judge=batch)
    shown = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert f"{100 * expected.dense.aer:.1f}" in shown["aer"]
    assert expected.settings in shown["settings"]

    options = "--model", "en_fr_model", "--compare", other, "--json"
    code, out, _ = run(capsys, "evaluate", links, *text, *options)
    found = json.loads(out)
    assert found["files"][str(links)] == expected.to_dict()
    assert found["files"][str(other)]["dense"]["aer"] > expected.dense.aer
    assert found["verdict"]["better"] == str(links)
    assert found["verdict"]["reason"] == "the model rules 0.0 % and 100.0 % of the links out"


def test_evaluate_with_gold_prints_json(capsys, files):
    code, out, _ = run(capsys, "evaluate", *files[:2], "--compare", files[2], "--json")
    found = json.loads(out)
    assert code == 0
    assert [round(scores["precision"], 3) for scores in found["files"].values()] == [0.75, 1.0]
    assert found["differences"]["precision"]["value"] == 0.25


def test_evaluate_without_gold_needs_a_model_and_a_text(capsys, judged):
    links, _, source, target = judged
    model = "--model", "en_fr_model"
    for arguments, advice in (
        ((links, source, target), "add --model DIR"),
        ((links, source, *model), "add the text, SOURCE TARGET"),
        ((links, source, target, *model, "--by-sentence"), "need gold links"),
    ):
        code, _, err = run(capsys, "evaluate", *arguments)
        assert code == 2
        assert advice in err


def test_links_of_another_text_or_unit_are_refused_with_the_place(capsys, judged, tmp_path):
    _, _, *text = judged
    for lines, place in (
        (["0-0", "0-0"], "found 12 in"),
        (["0-0", "0-5", *["0-0"] * 10], "bad, line 2: link 0-5 is outside"),
        (["0-0", "zero", *["0-0"] * 10], "bad, line 2: expected links"),
        ([""] * 12, "bad: expected links, found none"),
    ):
        links = write(tmp_path / "bad", *lines)
        code, _, err = run(capsys, "evaluate", links, *text, "--model", "en_fr_model")
        assert code == 3
        assert place in err
    record = '{"links": [[0, 0]], "unit": "tokens"}'
    links = write(tmp_path / "links.jsonl", *[record] * 12)
    code, _, err = run(capsys, "evaluate", links, *text, "--model", "en_fr_model", "--links-format", "jsonl")
    assert code == 3
    assert "links.jsonl: expected links of space-separated words, found links of tokens" in err


@pytest.fixture
def kept(capsys, judged, tmp_path):
    """The posteriors and the links of the text of `judged`, and the text as one file."""
    _, _, source, target = judged
    for name, options in {"kept.npz": (), "argmax.npz": ("--extract", "argmax")}.items():
        links = tmp_path / name.replace("npz", "links")
        outputs = "-o", links, "--posteriors", tmp_path / name
        assert run(capsys, "align", source, target, "--model", "en_fr_model", *options, *outputs)[0] == 0
    lines = (path.read_text().splitlines() for path in (source, target))
    write(tmp_path / "text.tsv", *map("\t".join, zip(*lines, strict=True)))
    return tmp_path


def test_posteriors_are_evaluated_without_gold_text_or_model(capsys, kept):
    code, out, _ = run(capsys, "evaluate", kept / "kept.npz", "--json")
    assert code == 0
    expected = na.evaluate(na.open_batch(kept / "kept.npz"))
    assert json.loads(out)["files"][str(kept / "kept.npz")] == expected.to_dict()
    two = "evaluate", kept / "kept.npz", "--compare", kept / "argmax.npz"
    code, out, _ = run(capsys, *two)
    assert code == 0
    assert "no verdict: " in out
    for links in (kept / "kept.links", kept / "kept.npz"):
        code, _, err = run(capsys, "evaluate", kept / "kept.links", "--compare", links)
        assert code == 2
        assert "expected GOLD, or the text" in err
    for options in ((), ("--compare", kept / "kept.npz"), (kept / "gold", "--curve", kept / "curve.tsv")):
        code, _, err = run(capsys, "evaluate", kept / "none.npz", *options)
        assert code == 3
        assert "No such file" in err
    code, _, err = run(capsys, "evaluate", kept / "kept.npz", "--sides", "1,2")
    assert (code, "--sides requires --pairs FILE" in err) == (2, True)


def test_links_and_posteriors_are_judged_with_a_text_of_one_file(capsys, judged, kept):
    model = "--model", "en_fr_model", "--json"
    found = []
    one_file = "--pairs", kept / "text.tsv"
    for text in (judged[2:], one_file, (*one_file, "--sides", "1,2")):
        for links in (kept / "kept.links", kept / "kept.npz"):
            code, out, err = run(capsys, "evaluate", links, *text, *model)
            assert code == 0, err
            found.append(json.loads(out)["files"][str(links)])
    assert all(one == found[0] for one in found)


def test_posteriors_of_another_text_are_refused_with_the_place(capsys, judged, kept):
    _, _, source, target = judged
    model = "--model", "en_fr_model"
    lines = source.read_text().splitlines()
    other = write(kept / "other.en", *lines[:2], "we have a dog", *lines[3:])
    code, _, err = run(capsys, "evaluate", kept / "kept.npz", other, target, *model)
    assert (code, "kept.npz, line 3: expected links of 'we have a dog'" in err) == (3, True)
    short = [write(kept / f"short{n}", "a", "b") for n in (0, 1)]
    assert run(capsys, "evaluate", kept / "kept.npz", *short, *model)[0] == 3
    gold = write(kept / "gold", "0-0", "0-0 2p1", *["0-0"] * 10)
    code, _, err = run(capsys, "evaluate", kept / "kept.npz", gold)
    assert code == 3
    assert "gold, line 2: gold link 2-1 is outside a pair of 2 source and 2 target words in" in err
    few = na.load().align_batch([("the cat", "le chat")] * 9, posteriors=True)
    few.save(kept / "few.npz")
    code, _, err = run(capsys, "evaluate", kept / "few.npz")
    assert (code, "few.npz: expected at least 10 pairs, found 9" in err) == (3, True)
    na.load().align_batch([("the cat", "le chat")] * 10, posteriors=True).save(kept / "ten.npz")
    code, _, err = run(capsys, "evaluate", kept / "kept.npz", "--compare", kept / "ten.npz")
    assert (code, "kept.npz and " in err) == (3, True)
    given = na.links_from([("a b", "x")] * 10, matrices=[np.array([[0.2, 0.8]])] * 10)
    given.save(kept / "given.npz")
    code, _, err = run(capsys, "evaluate", kept / "given.npz")
    assert (code, "given.npz: the links of this batch have no probabilities" in err) == (3, True)
    for options in (("--sides", "1,2"), ("gold", "--pairs", kept / "text.tsv")):
        assert run(capsys, "evaluate", kept / "kept.npz", *options, *model)[0] == 2
