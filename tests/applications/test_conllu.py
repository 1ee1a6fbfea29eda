"""Projection of CoNLL-U."""

from __future__ import annotations

import pytest

import nmtalign as na
from nmtalign.applications.labels import read_sentences, with_target_rows
from nmtalign.errors import DataError
from tests.cli.running import run


def row(*columns):
    return "\t".join([*columns, *["_"] * (10 - len(columns))])


SOURCE = "\n".join(
    [
        "# sent_id = 1",
        "# text = the Cat sleeps",
        row("1", "the", "the", "DET", "DT", "Definite=Def", "2", "det"),
        row("2", "Cat", "cat", "NOUN", "NN", "Number=Sing", "3", "nsubj"),
        row("3-4", "sleeps"),
        row("3", "sleeps", "sleep", "VERB", "VBZ", "_", "0", "root"),
    ]
)
TARGET = "\n".join(
    [
        "# sent_id = 1",
        "# text = le  Chat dort bien",
        row("1", "le", "_", "DET", "DT", "Definite=Def"),
        row("2", "Chat", "_", "NOUN", "NN", "Number=Sing"),
        row("3", "dort", "_", "VERB", "VBZ"),
        row("4", "bien"),
    ]
)
PAIR = ("the Cat sleeps", "le  Chat dort bien", "0-0 1-1 2-2 2-1")


def test_parts_of_speech_are_those_of_the_first_linked_word():
    assert na.project([PAIR], [SOURCE], format="conllu") == [TARGET]


def test_the_command_reads_one_sentence_per_pair(capsys, tmp_path):
    contents = {"s": PAIR[0], "t": PAIR[1], "l": PAIR[2]}
    for name, line in contents.items():
        (tmp_path / name).write_text(f"{line}\n{line}\n", encoding="utf-8")
    tags = tmp_path / "tags"
    arguments = (
        "project",
        *(str(tmp_path / name) for name in contents),
        "--tags",
        str(tags),
        "-q",
    )
    tags.write_text(f"{SOURCE}\n\n\n{SOURCE}\n", encoding="utf-8")
    assert run(*arguments, "--tags-format", "conllu") == 0
    assert capsys.readouterr().out == f"{TARGET}\n\n" * 2
    tags.write_text(f"{SOURCE}\n\n1\tthe\n", encoding="utf-8")
    assert run(*arguments, "--tags-format", "conllu") == 3
    assert "tags, sentence 2: expected ten columns with tabs" in capsys.readouterr().err
    tags.write_text(SOURCE, encoding="utf-8")
    assert run(*arguments, "--tags-format", "conllu") == 3


@pytest.mark.parametrize(
    ("sentence", "target", "message"),
    [
        (row("2", "a"), "x", "beginning with 1, found '2"),
        (row("1", "b"), "x", "expected the source word 'a', found 'b' as word 1"),
        ("", "x", "expected ten columns"),
        (f"{row('1', 'a')}\n{row('2', 'b')}", "x", "expected the 1 source words, found 2"),
        (row("1", "a"), "x\ty", "expected target words without tabs"),
        (row("1", "a"), " ", "CoNLL-U has no sentence without words"),
    ],
)
def test_other_sentences_are_refused(sentence, target, message):
    with pytest.raises(DataError, match=message):
        na.project([("a", target, "")], [sentence], format="conllu")


def test_words_without_a_link_are_counted():
    with pytest.warns(UserWarning, match="1 annotation has no linked word; it was omitted"):
        assert na.project([("a", "x", "")], [row("1", "a", "_", "X")], format="conllu")


def test_spaces_inside_words_stay(capsys, tmp_path):
    """Vietnamese words, for example, have spaces; in the lines of a pair these are no-break spaces."""
    source = "\n".join([row("1", "Việt Nam", "_", "PROPN"), row("2", "ngủ", "_", "VERB")])
    target = "\n".join([row("1", "New York", "_", "PROPN"), row("2", "sleeps", "_", "VERB")])
    untagged = target.replace("PROPN", "_").replace("VERB", "_")
    files = [tmp_path / name for name in ("a.conllu", "b.conllu", "links.txt")]
    for file, text in zip(files, (f"{source}\n", f"{untagged}\n", "0-0 1-1\n"), strict=True):
        file.write_text(text, encoding="utf-8")
    options = ["--tags", str(files[0]), "--tags-format", "conllu", "-q"]
    assert run("project", *map(str, files), *options) == 0
    assert capsys.readouterr().out == f"# text = New\u00a0York sleeps\n{target}\n\n"


def test_sentences_without_an_end_are_bounded(monkeypatch):
    monkeypatch.setattr("nmtalign.applications.labels.MAX_SENTENCE_CHARS", 10)
    assert list(read_sentences(["1234", "1234", "", "1234"], "f")) == ["1234\n1234", "1234"]
    with pytest.raises(DataError, match="f, line 3: expected sentences of at most 10 characters"):
        list(read_sentences(["1234", "1234", "1"], "f"))


def test_rows_of_the_target_that_are_no_words_stay():
    rest = "\t_" * 8
    target = f"# text = Il va au parc\n1\tIl{rest}\n2\tva{rest}\n"
    target += f"2.1\tx{rest}\n3-4\tau{rest}\n3\tà{rest}\n4\tle{rest}"
    projected = f"# id\n# text = Il va à le\n1\tIl{rest}\n2\tva{rest}\n3\tà{rest}\n4\tle{rest}"
    expected = f"# id\n{target}"
    assert with_target_rows(projected, target) == expected
