"""--pairs in the commands that read links: the same results as with two texts, from whatever file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import nmtalign as na
from tests.cli.running import bad_records_in, run, write

EN = ["the black cat", "a dog", "the house"]
FR = ["le chat noir", "un chien", "la maison"]
LINKS = ["0-0 1-2 2-1", "0-0 1-1", "0-0 1-1"]
UNIT = '<tu><tuv xml:lang="fr"><seg>{}</seg></tuv><tuv xml:lang="en"><seg>{}</seg></tuv></tu>'


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in {
        "en": EN,
        "fr": FR,
        "links": LINKS,
        "tags": [f"<b>{line}</b>" for line in EN],
    }.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    units = "".join(map(UNIT.format, FR, EN))
    Path("both.tmx").write_text(f'<tmx version="1.4"><body>{units}</body></tmx>')
    rows = [json.dumps({"a": source, "b": target}) for source, target in zip(EN, FR, strict=True)]
    Path("both.jsonl").write_text("".join(f"{row}\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize("pairs", ["both.tmx --sides en,fr", "both.jsonl --sides a,b"])
@pytest.mark.parametrize(
    "line",
    [
        "phrases en fr links",
        "phrases en fr links -o out",
        "lexicon en fr links",
        "lexicon en fr links -o out --lowercase",
        "project en fr links --tags tags",
        "find cat en fr --links links",
        "check en fr --links links",
    ],
)
def test_pairs_of_one_file_are_read_as_those_of_two(line, pairs, files, capsys):
    assert run(*line.split()) == 0
    expected = capsys.readouterr().out
    written = {path: path.read_bytes() for path in Path().glob("out*")}
    for path in written:
        path.unlink()
    assert run(*line.replace("en fr", f"--pairs {pairs}").split()) == 0
    assert capsys.readouterr().out == expected
    assert {path: path.read_bytes() for path in Path().glob("out*")} == written
    assert expected or written


@pytest.mark.parametrize(
    "bitext", ["both.tmx --sides en,fr", "both.jsonl --sides a,b", "en.srt fr.srt", "en fr"]
)
def test_any_bitext_becomes_two_files(bitext, files):
    cue = "{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{line}\n\n"
    for name, lines in (("en", EN), ("fr", FR)):
        Path(f"{name}.srt").write_text("".join(cue.format(n=n, line=line) for n, line in enumerate(lines, 1)))
    assert run("convert", *bitext.split(), "--to", "text", "-o", "out.gz") == 0
    for name, lines in (("source", EN), ("target", FR)):
        assert gzip.decompress(Path(f"out.{name}.gz").read_bytes()).decode() == "".join(
            f"{line}\n" for line in lines
        )


def test_text_of_a_bitext_has_one_line_for_each_pair(files, capsys):
    rows = [
        {"source": "a\rb", "target": "c"},
        {"source": "d\u2028e", "target": "f"},
        {"source": " g  h", "target": ""},
    ]
    Path("x.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, {"source": 1}]))
    assert run("convert", "x.jsonl", "--to", "text", "-o", "out") == 3
    assert "x.jsonl, line 1: the source 'a\\rb' contains a carriage return" in capsys.readouterr().err
    assert not list(Path().glob("out*"))
    assert run("convert", "x.jsonl", "--to", "text", "-o", "out", "--on-error", "skip-marked") == 0
    assert list(bad_records_in(capsys.readouterr().err)) == [1, 2, 4]
    assert Path("out.source").read_text() == "\n\n g  h\n\n"
    assert Path("out.target").read_text() == "\n\n\n\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("en fr --to text", "standard output takes one file"),
        ("en fr --to text -o x --sides en,fr", "found two files"),
        ("both.tmx --to text -o x --from pharaoh", "without links"),
        ("links --from pharaoh --to talp --sides en,fr", "of a TMX file, and there is none"),
        ("out.source out.target --to text -o out", "would destroy the input"),
    ],
)
def test_conversions_to_text_that_make_no_sense(options, says, files, capsys):
    Path("out.source").write_text("a\n")
    assert run("convert", *options.split()) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("phrases en links", "expected SOURCE TARGET LINKS, or --pairs FILE LINKS; add LINKS"),
        ("phrases --pairs both.tmx", "expected LINKS alone with --pairs FILE"),
        ("phrases --pairs both.tmx en fr", "expected LINKS alone with --pairs FILE"),
        ("project en fr links --sides en,fr --tags tags", "--sides requires --pairs FILE"),
        ("find cat --pairs both.tmx", "expected WORD SOURCE TARGET with --links FILE or --model DIR"),
        ("lexicon --pairs both.tmx links --model m", "--pairs FILE LINKS, or --model DIR alone"),
    ],
)
def test_files_that_are_missing_or_too_many(line, says, files, capsys):
    assert run(*line.split()) == 2
    assert says in capsys.readouterr().err


def test_a_bad_word_is_named_by_its_pair(files, capsys):
    Path("both.jsonl").write_text('{"a": "x|||y", "b": "chat"}\n{"a": "dog", "b": "chien"}\n')
    Path("links").write_text("0-0\n0-0\n")
    line = ["phrases", "--pairs", "both.jsonl", "--sides", "a,b", "links"]
    assert run(*line) == 3
    assert "both.jsonl, line 1: the source word 'x|||y'" in capsys.readouterr().err
    assert run(*line, "--on-error", "skip-marked") == 0
    out, err = capsys.readouterr()
    assert out == "dog ||| chien ||| 0-0\n"
    assert list(bad_records_in(err)) == [1]


def test_a_model_aligns_the_pairs_that_are_searched(files, capsys):
    line = ["find", "cat", "en", "fr", "--model", "en_fr_model"]
    assert run(*line) == 0
    expected = capsys.readouterr().out
    assert (
        run(*[word for word in line if word not in ("en", "fr")], "--pairs", "both.tmx", "--sides", "en,fr")
        == 0
    )
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("command", ["project", "lexicon", "phrases"])
def test_possible_links_are_links(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    text = write(tmp_path / "en", ["was sleeping"]), write(tmp_path / "fr", ["dormait"])
    options = ["--tags", write(tmp_path / "tags", ["<b>was</b> sleeping"])] if command == "project" else []
    outputs = []
    for links in ("0p0 1-0", "0-0 1-0"):
        assert run(command, *text, write(tmp_path / "links", [links]), *options) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != ""
    if command == "project":
        assert (
            outputs[0]
            == na.project([("was sleeping", "dormait", "0p0 1-0")], ["<b>was</b> sleeping"])[0] + "\n"
        )


THREE_LANGUAGES = """<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>ein Hund</seg>
</tuv><tuv xml:lang="fr-CA"><seg>un chien</seg></tuv><tuv xml:lang="en"><seg>a dog</seg></tuv>
</tu></body></tmx>"""


@pytest.mark.parametrize(
    "command",
    [
        "align --table {}",
        "find dog",
        "heatmap --lines 1 -o {}",
        "report -o {}",
    ],
)
def test_a_memory_is_read_in_the_languages_of_the_model(files, capsys, command):
    Path("three.tmx").write_text(THREE_LANGUAGES)
    ending = {"align": "tsv", "heatmap": "tsv", "report": "html"}.get(command.split()[0], "txt")
    line = [*command.format(f"out.{ending}").split(), "--pairs", "three.tmx"]
    assert run(*line, "--model", "en_fr_model") == 0
    told = capsys.readouterr()
    text = told.out if command.startswith("find") else Path(f"out.{ending}").read_text(encoding="utf-8")
    assert "dog" in text
    assert "chien" in text
    assert "--sides" not in told.err


def test_a_memory_without_the_languages_of_the_model_is_read_as_without_one(files, capsys):
    Path("three.tmx").write_text(THREE_LANGUAGES.replace('"en"', '"it"'))
    assert run("align", "--pairs", "three.tmx", "--model", "en_fr_model", "-o", "out") == 0
    assert "de and fr are read, not it; --sides A,B chooses others" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["project", "phrases", "lexicon", "align"])
def test_a_file_with_both_sides_is_named_by_pairs(files, capsys, command):
    assert run(command, "both.tmx", *[] if command == "align" else ["links"]) == 2
    assert "for a file with both sides write --pairs both.tmx" in capsys.readouterr().err
