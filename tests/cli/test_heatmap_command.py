"""nmtalign heatmap: two sentences or lines of a bitext in, a picture out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from nmtalign.report import drawing, style
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_pair
from tests.cli.running import run

ENGLISH = ["the", "cat", "sleeps", "black", "house", "white", "."]
FRENCH = ["le", "chat", "dort", "noir", "maison", "blanche", "."]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of vectors in which each word is the unit vector of its translation."""
    folder = tmp_path_factory.mktemp("vectors")
    sides = [
        Embeddings(Vocabulary.from_words(words), np.eye(7, dtype=np.float32)) for words in (ENGLISH, FRENCH)
    ]
    save_pair(*sides, folder, languages=("en", "fr"), format="word2int")
    return folder


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "the cat\tle chat\n\t\nthe white house\tla maison blanche\nsleeps\tdort\n", encoding="utf-8"
    )
    return path


def written(path: Path) -> list[str]:
    """Return the texts of an SVG."""
    return [node.text or "" for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_two_sentences_become_a_picture(vectors: Path, tmp_path: Path) -> None:
    assert (
        run("heatmap", "The black cat", "Le chat noir", "--vectors", vectors, "-o", tmp_path / "cat.svg") == 0
    )
    texts = written(tmp_path / "cat.svg")
    assert {"The", "black", "cat", "Le", "chat", "noir", "link"} <= set(texts)
    assert not [text for text in texts if text.startswith("pair")]


@pytest.mark.parametrize("backend", ["module://package_of_a_notebook.backend", "widget_of_a_notebook"])
def test_a_picture_is_drawn_whatever_backend_a_notebook_passes_on(
    vectors: Path, tmp_path: Path, backend: str
) -> None:
    out = tmp_path / "cat.png"
    command = [sys.executable, "-m", "nmtalign", "heatmap", "the cat", "le chat", "--vectors", vectors]
    done = subprocess.run(
        [*map(str, command), "-o", str(out)],
        env=os.environ | {"MPLBACKEND": backend},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert out.read_bytes().startswith(b"\x89PNG")


def test_all_directions_side_by_side_without_links(vectors: Path, tmp_path: Path) -> None:
    out = tmp_path / "cat.svg"
    code = run(
        "heatmap", "the cat", "le chat", "--vectors", vectors, "-o", out, "--values", "all", "--no-mark-links"
    )
    assert code == 0
    assert {"forward", "reverse", "combined"} <= set(written(out))
    assert "link" not in written(out)


def test_lines_of_a_bitext_become_pages(vectors: Path, pairs: Path, tmp_path: Path) -> None:
    draw = "heatmap", "--pairs", pairs, "--vectors", vectors
    assert run(*draw, "--lines", "3-4,1", "-o", tmp_path / "pairs.npz") == 0
    with np.load(tmp_path / "pairs.npz") as saved:
        assert [name for name in saved.files if name.startswith("pair")] == ["pair-1", "pair-3", "pair-4"]
    assert run(*draw, "-o", tmp_path / "pages.pdf") == 0
    pages = (tmp_path / "pages.pdf").read_bytes().count(b"/Type /Page ")
    assert pages == 4  # also the empty pair has its page


def test_lines_of_two_files_are_drawn(
    vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "text.en", tmp_path / "text.fr"
    source.write_text("the cat\nthe white house\n\nsleeps\n", encoding="utf-8")
    target.write_text("le chat\nla maison blanche\n\ndort\n", encoding="utf-8")
    draw = "heatmap", source, target, "--vectors", vectors
    assert run(*draw, "--lines", 2, "-o", tmp_path / "house.svg") == 0
    assert {"pair 2", "house", "maison"} <= set(written(tmp_path / "house.svg"))
    assert run(*draw, "--lines", 2, "-o", tmp_path / "house.tsv") == 0
    rows = (tmp_path / "house.tsv").read_text(encoding="utf-8").splitlines()
    assert rows[0].split("\t")[1:] == ["the", "white", "house"]
    assert [row.split("\t")[0] for row in rows[1:]] == ["la", "maison", "blanche"]
    pages = tmp_path / "pages.pdf"
    assert run(*draw, "--lines", "1-2,4", "--positions", "hmm", "-o", pages) == 0
    assert pages.read_bytes().count(b"/Type /Page ") == 3
    table = tmp_path / "text.tsv"
    table.write_text("le chat\n", encoding="utf-8")
    assert run("heatmap", source, table, "--lines", 1, "-o", table) == 2
    assert "-o/--output and TARGET_SENTENCE are the same file" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8") == "le chat\n"
    assert run(*draw, "--lines", 5, "-o", pages) == 3
    assert "--lines: pair 5 is out of range for 4 pairs" in capsys.readouterr().err
    target.write_text("le chat\n", encoding="utf-8")
    assert run(*draw, "--lines", 4, "-o", pages) == 3


def test_gold_links_stay_with_their_line(vectors: Path, pairs: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.txt"
    gold.write_text("0-0\n\n0-0 1p2\n0-0\n", encoding="utf-8")
    out = tmp_path / "house.svg"
    command = ("heatmap", "--pairs", pairs, "--lines", 3, "--gold", gold, "--vectors", vectors, "-o", out)
    assert run(*command) == 0
    assert {"pair 3", "maison"} <= set(written(out))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["one"], 2, "expected two sentences, or --pairs FILE"),
        (["one", "un", "--lines", "1"], 2, "--lines requires two files instead of sentences"),
        (["PAIRS", "un", "--lines", "1"], 2, "found 'un', which does not exist"),
        (["one", "un", "--positions", "hmm"], 2, "--positions hmm is fitted to a text"),
        (["--pairs", "PAIRS", "--lines", "9"], 3, "--lines: pair 9 is out of range for 4 pairs"),
        (["--pairs", "PAIRS", "--lines", "3-1"], 2, "rising ranges"),
        (
            ["--pairs", "PAIRS", "--lines", "x"],
            2,
            "from 1 and rising ranges of at most 1,000,000 numbers, such as 3,7-9; found 'x'",
        ),
        (
            ["--pairs", "PAIRS", "--gold", "GOLD"],
            3,
            "expected the same number of lines in each file, found 4 in the bitext",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str],
    code: int,
    message: str,
    vectors: Path,
    pairs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    gold = tmp_path / "gold.txt"
    gold.write_text("0-0\n", encoding="utf-8")
    named = [{"PAIRS": str(pairs), "GOLD": str(gold)}.get(argument, argument) for argument in arguments]
    out = tmp_path / "out.pdf"
    assert run("heatmap", *named, "--vectors", vectors, "-o", out) == code
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_files_without_lines_are_no_sentences_and_sentences_no_files(
    vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("text.en", "the cat\n"), ("text.fr", "le chat\n"), ("cat", "")):
        Path(name).write_text(text)
    draw = "heatmap", "--vectors", vectors, "-o", "out.svg"
    for given in (("text.en", "text.fr"), ("text.en", "no.fr"), ("the cat", "text.fr"), ("cat", "chat")):
        assert run(*draw, *given) == 2
        err = capsys.readouterr().err
        assert "expected two sentences, found the file" in err
        assert "is a word, add a space: '" in err
    assert not Path("out.svg").exists()
    assert run(*draw, "cat ", "chat") == 0
    Path("pairs.tsv").write_text("the cat\tle chat\n")  # as paste makes it
    assert run(*draw, "--pairs", "pairs.tsv", "--lines", 1) == 0
    for command in ("align", "train", "report"):
        assert run(command, "the cat", "text.fr", "-o", "out") == 2
        assert "expected the name of a file, found 'the cat', which does not exist" in capsys.readouterr().err
    assert run("align", "absent.en", "text.fr") == 3
    Path("the cat").write_text("the cat\n")
    assert run("align", "the cat", "text.fr", "-o", "out") == 0


def test_several_pairs_and_a_format_without_pages(
    vectors: Path, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("heatmap", "--pairs", pairs, "--vectors", vectors, "-o", tmp_path / "out.png") == 2
    said = capsys.readouterr().err
    assert f"error: {tmp_path / 'out.png'}: a .png file has one picture, found 4; save to .pdf" in said
    assert run("heatmap", "a", "b", "--vectors", vectors, "-o", tmp_path / "out.jpg") == 2
    assert "expected a file name ending in .png, .svg, .pdf" in capsys.readouterr().err


def test_a_missing_font_is_one_line_on_stderr(
    vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    only = {style.DEFAULT_FONT: style._font_paths()[style.DEFAULT_FONT]}
    monkeypatch.setattr(style, "_font_paths", lambda: only)
    assert run("heatmap", "the", "中", "--vectors", vectors, "-o", tmp_path / "out.png") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "installed font" in line]
    assert len(lines) == 1
    assert lines[0].startswith("nmtalign: warning: no installed font has the CJK letters")


def test_a_long_side_is_cropped_and_rows_can_be_chosen(vectors, tmp_path, capsys, monkeypatch):
    long = " ".join(f"w{n}" for n in range(400))
    draw = "heatmap", "--vectors", vectors
    drawn = []
    monkeypatch.setattr(drawing, "draw_panels", lambda matrices, settings: drawn.append((matrices, settings)))
    monkeypatch.setattr(style, "save_heatmaps", lambda figures, path, **_: list(figures))
    for options in ([], ["--columns", "300,302-303", "--rows", "1"]):
        assert run(*draw, long, "le chat", "-o", tmp_path / "a.png", *options) == 0
    err = capsys.readouterr().err
    assert err.count("are drawn") == 1
    assert "source words: only the first 150 of 400 are drawn; choose others with --columns" in err
    (whole, _), (part, more) = drawn
    assert whole["combined"].weights.shape == (2, 150)
    assert (part["combined"].source_tokens, part["combined"].target_tokens) == (
        ("w300", "w302", "w303"),
        ("chat",),
    )
    assert all(s < 3 and t < 1 for s, t in more.links or ())
    assert run(*draw, "a b", "c", "-o", tmp_path / "a.png", "--columns", "7") == 2
    assert "--columns: there are only 2 words; positions count from 0" in capsys.readouterr().err


def test_curves_in_place_of_a_matrix(
    vectors: Path, tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = "The black cat", "Le chat noir", "--vectors", vectors, "--curves"
    assert run("heatmap", *sentences, "--numbers", "-o", tmp_path / "cat.svg") == 0
    words = ["The", "black", "cat", "Le", "chat", "noir", *"001122"]
    assert sorted(filter(None, written(tmp_path / "cat.svg"))) == sorted(words)
    assert run("heatmap", "--pairs", pairs, "--vectors", vectors, "--curves", "-o", tmp_path / "all.pdf") == 0
    assert run("heatmap", *sentences, "--values", "all", "-o", tmp_path / "cat.png") == 2
    assert "--values all: curves and cards show one matrix" in capsys.readouterr().err
