"""nmtalign report: which pairs are shown, and what is said about them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign import AlignedPair, Alignment, AlignmentMatrix
from nmtalign.report.html import report_page
from nmtalign.report.page_content import SamplePair
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_pair
from tests.cli.running import bad_records_in, run
from tests.report.sample_pairs import data_of

ENGLISH = ["the", "cat", "sleeps", "black", "house", "white", "."]
FRENCH = ["le", "chat", "dort", "noir", "maison", "blanche", "."]
SOURCE = ["the cat sleeps", "", "the white house", "black zebra", "cat"]
TARGET = ["le chat dort", "le", "la maison blanche", "noir zebre", "chat"]
GOLD = ["0-0 1-1 2-2", "", "0-0 1-2 2-2", "0-1", "0-0"]
OTHER = ["0-0 1-1 2-2", "", "1-2", "0-1", "0-0"]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    sides = [
        Embeddings(Vocabulary.from_words(words), np.eye(7, dtype=np.float32)) for words in (ENGLISH, FRENCH)
    ]
    save_pair(*sides, folder, languages=("en", "fr"), format="word2int")
    return folder


@pytest.fixture
def files(tmp_path: Path, vectors: Path) -> dict[str, Path]:
    texts = {"source": SOURCE, "target": TARGET, "gold": GOLD, "other": OTHER}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {name: tmp_path / name for name in texts} | {"vectors": vectors, "out": tmp_path / "report.html"}


def report(files: dict[str, Path], *arguments: object) -> dict:
    """Write a report and return the data in it."""
    command = ("report", files["source"], files["target"], "--vectors", files["vectors"], "-o", files["out"])
    assert run(*command, "--positions", "diagonal", *arguments) == 0
    return data_of(files["out"].read_text(encoding="utf-8"))


@pytest.mark.parametrize("chosen", [["--lines", "3"], ["--sample", "2"], ["--worst", "2", "--by", "gold"]])
def test_the_page_has_all_gold_lines(files: dict[str, Path], chosen: list[str]) -> None:
    data = report(files, "--gold", files["gold"], *chosen)
    assert data["lines"] == len(GOLD)
    others = {n: line for n, line in enumerate(GOLD, 1) if line and n not in numbers(data)}
    assert {int(n): line for n, line in data["rest"].items()} == others
    assert len(others) > 0


def test_all_samples_of_a_text_have_one_key_and_other_texts_have_others(files: dict[str, Path]) -> None:
    chosen = (
        ["--lines", "1"],
        ["--lines", "3-4"],
        ["--worst", "2"],
        ["--gold", files["gold"], "--lines", "5"],
    )
    keys = {report(files, *options)["text"] for options in (*chosen, [])}
    (key,) = keys
    pairs = [unlinked(n, *map(words, pair)) for n, pair in enumerate(zip(SOURCE, TARGET, strict=True), 1)]
    assert data_of(report_page(pairs))["text"] == key  # all pairs are shown, so their words tell the text
    assert data_of(report_page(pairs[:2], gold=GOLD))["text"] is None
    files["target"].write_text("".join(f"{line}\n" for line in [*TARGET[:4], "le chat"]), encoding="utf-8")
    assert report(files, "--lines", "1")["text"] != key


def words(line: str) -> tuple[str, ...]:
    return tuple(line.split(" ")) if line else ()


def unlinked(number: int, source: tuple[str, ...], target: tuple[str, ...]) -> SamplePair:
    matrix = AlignmentMatrix(np.zeros((len(target), len(source))), source, target)
    return SamplePair(number, AlignedPair(Alignment((), len(source), len(target)), matrix))


def test_gold_lines_without_a_pair_are_refused(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with files["gold"].open("a") as gold:
        gold.write("0-0\n")
    command = "report", files["source"], files["target"], "--vectors", files["vectors"], "-o", files["out"]
    assert run(*command, "--gold", files["gold"], "--lines", "3") == 3
    assert "found 5 in the bitext and 6 in " in capsys.readouterr().err
    assert not files["out"].exists()


def numbers(data: dict) -> list[int]:
    return [pair["n"] for pair in data["pairs"]]


def test_the_commands_have_one_default_over_vectors(files, capsys) -> None:
    """The positions are fitted to the text, and unknown words get vectors by back-off, as in align."""
    sides = files["source"], files["target"]
    vectors = ("--vectors", files["vectors"])
    links = files["out"].with_name("links")
    assert run("align", *sides, *vectors, "-o", links, "--verbose") == 0
    settings = capsys.readouterr().err.splitlines()[-1].removeprefix("nmtalign: ")
    assert "unknown=backoff positions=hmm(fitted on 4 pairs)" in settings
    assert run("report", *sides, *vectors, "-o", files["out"]) == 0
    data = data_of(files["out"].read_text(encoding="utf-8"))
    assert data["settings"] == settings
    shown = [
        [f"{s}-{t}" for s, t in zip(pair["l"][::3], pair["l"][1::3], strict=True)] for pair in data["pairs"]
    ]
    assert [" ".join(pair) for pair in shown] == links.read_text(encoding="utf-8").splitlines()
    # a typed pair is a text of one pair
    sentences = SOURCE[2], TARGET[2]
    for side, sentence in zip(sides, sentences, strict=True):
        side.write_text(f"{sentence}\n", encoding="utf-8")
    table = files["out"].with_suffix(".npz")
    assert run("align", *sides, *vectors, "-o", links, "--attention", table, "--values", "combined") == 0
    aligned = np.load(table)["pair-1"]
    drawn = files["out"].with_suffix(".tsv")
    assert run("heatmap", *sentences, *vectors, "--values", "combined", "-o", drawn) == 0
    rows = [line.split("\t") for line in drawn.read_text(encoding="utf-8").splitlines()]
    np.testing.assert_allclose([[float(cell) for cell in row[1:]] for row in rows[1:]], aligned, atol=1e-6)


def test_a_small_corpus_is_shown_whole(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    data = report(files)
    assert numbers(data) == [1, 2, 3, 4, 5]
    assert data["pairs"][0]["s"] == ["the", "cat", "sleeps"]
    assert data["pairs"][3]["u"] == [[1], [1]]  # zebra, zebre
    assert data["rule"] == {"name": "mutual", "threshold": None, "second": None}
    assert data["settings"].startswith("score=cosine")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nmtalign: 5 pairs in " in captured.err


def test_lines_and_samples_are_shown_in_the_order_of_the_corpus(files: dict[str, Path]) -> None:
    assert numbers(report(files, "--lines", "4-5,1")) == [1, 4, 5]
    first, second = numbers(report(files, "--sample", 2))
    assert first < second
    assert numbers(report(files, "--sample", 2)) == [first, second]


def test_the_worst_come_first_with_figures_of_the_whole_corpus(files: dict[str, Path]) -> None:
    data = report(files, "--gold", files["gold"], "--worst", 2, "--by", "gold")
    assert numbers(data) == [4, 3]  # AER 1 and .6
    figures = {name: value for name, value, _ in data["summary"]}
    assert figures["Pairs in the corpus"] == "5"
    assert figures["Recall of the corpus"] == "62.5 %"
    assert figures["Recall"] == "25.0 %"
    compared = report(files, "--compare", f"mine={files['other']}", "--worst", 1, "--by", "mine")
    assert numbers(compared) == [4]
    assert compared["others"] == ["mine"]
    assert compared["systems"] is None


def test_systems_are_compared_on_the_whole_corpus_where_that_is_aligned(files: dict[str, Path]) -> None:
    both = (
        "--gold",
        files["gold"],
        "--compare",
        f"mine={files['other']}",
        "--compare",
        f"gold too={files['gold']}",
    )
    worst = report(files, *both, "--worst", 2, "--by", "gold")
    assert numbers(worst) == [4, 3]
    assert worst["systems"]["pairs"] == 5
    assert worst["systems"] == report(files, *both)["systems"]
    assert [row[0] for row in worst["systems"]["rows"]] == ["gold too", "mine", "these links"]
    assert report(files, *both, "--lines", "1,3")["systems"]["pairs"] == 2


def test_empty_sides_have_score_0(files: dict[str, Path]) -> None:
    assert numbers(report(files, "--worst", 1)) == [2]  # an empty side has score 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--lines", "1", "--worst", "2"], 2, "--lines and --worst cannot be combined"),
        (["--by", "gold"], 2, "--by sorts the pairs of --worst; add --worst N"),
        (["--worst", "1", "--by", "gold"], 2, "--by gold requires --gold FILE; add it"),
        (["--worst", "1", "--by", "x"], 2, "--by x requires --compare x=LINKS; add it"),
        (["--compare", "x"], 2, "--compare must be NAME=LINKS, found 'x'"),
        (["--compare", "gold=OTHER"], 2, "the name 'gold' is already used"),
        (["--compare", "these links=OTHER"], 2, "the name 'these links' is already used"),
        (["--gold", "SHORT"], 3, "found 5 in the bitext and 1 in SHORT"),
        (["--gold", "WRONG"], 3, "WRONG, line 5: link 7-0 is outside a pair of 1 source and 1 target words"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str],
    code: int,
    message: str,
    files: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files["out"].parent)
    Path("SHORT").write_text("0-0\n", encoding="utf-8")
    Path("WRONG").write_text("\n\n\n\n7-0\n", encoding="utf-8")
    command = ("report", files["source"], files["target"], "--vectors", files["vectors"], "-o", files["out"])
    assert run(*command, *arguments) == code
    assert message in capsys.readouterr().err
    assert not files["out"].exists()


def test_the_sentences_may_stand_in_one_file(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = files["out"].with_name("pairs.txt")
    pairs.write_text("the cat ||| le chat\n", encoding="utf-8")
    assert run("report", "--pairs", pairs, "--vectors", files["vectors"], "-o", files["out"]) == 0
    assert run("report", pairs, "--vectors", files["vectors"], "-o", files["out"]) == 2
    assert "expected SOURCE and TARGET, or --pairs FILE" in capsys.readouterr().err


@pytest.mark.parametrize("choice", [[], ["--lines", "1"], ["--sample", "2"], ["--worst", "1"]])
def test_the_page_knows_how_many_lines_the_text_has(files: dict[str, Path], choice: list[str]) -> None:
    assert report(files, *choice)["lines"] == 5


def test_where_the_weights_of_heads_end_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, line in (("source", "the cat"), ("target", "le chat")):
        (tmp_path / name).write_text(f"{line}\n" * 3, encoding="utf-8")
    command = "report", tmp_path / "source", tmp_path / "target", "-o", tmp_path / "report.html"
    assert run(*command) == 0
    assert "each head" not in capsys.readouterr().err
    monkeypatch.setattr("nmtalign.report.chosen_pairs.MAX_PAIRS_WITH_PARTS", 2)
    assert run(*command) == 0
    assert "warning: only the first 2 pairs show the weights of each scorer" in capsys.readouterr().err


def test_corrections_as_gold_judge_the_pairs_that_were_reviewed_alone(
    files: dict[str, Path], tmp_path: Path
) -> None:
    file = tmp_path / "corrections.jsonl"
    words = report(files)["pairs"][2]["h"]
    record = {"pair": 3, "pairs": 5, "text": words, "links": [[0, 0]], "possible": [], "by": "", "at": ""}
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    for options in ((), ("--worst", "5", "--by", "gold")):
        pairs = report(files, "--gold", file, *options)["pairs"]
        assert [pair["n"] for pair in pairs if pair["g"] is not None] == [3]
    batch = na.load(files["vectors"]).align_batch(na.read_bitext(files["source"], files["target"]))
    na.write_report(tmp_path / "page.html", batch, gold=na.read_gold(file))
    pairs = data_of((tmp_path / "page.html").read_text(encoding="utf-8"))["pairs"]
    assert [pair["n"] for pair in pairs if pair["g"] is not None] == [3]


def test_corrections_are_shown_and_those_of_other_words_are_refused(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "corrections.jsonl"
    pair = report(files)["pairs"][1]
    record = {
        "pair": 2,
        "pairs": 5,
        "text": pair["h"],
        "links": [[0, 0]],
        "possible": [],
        "by": "Ann",
        "at": "2026",
        "note": "an idiom?",
    }
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert report(files, "--corrections", file)["corrections"] == [record]
    assert report(files, "--corrections", file, "--lines", "1")["corrections"] == [
        record
    ]  # not shown, not lost
    for change, why in (
        ({"text": "other"}, "pair 2: the correction was made for other words"),
        ({"pairs": 6}, "of 5 pairs"),
    ):
        file.write_text(json.dumps(record | change) + "\n", encoding="utf-8")
        command = (
            "report",
            files["source"],
            files["target"],
            "--vectors",
            files["vectors"],
            "-o",
            files["out"],
        )
        assert run(*command, "--corrections", file) == 3
        assert why in capsys.readouterr().err


def test_a_bad_record_is_an_empty_pair_where_errors_are_marked(tmp_path: Path, capsys):
    source, target = tmp_path / "text.en", tmp_path / "text.fr"
    source.write_bytes(b"the cat\nthe \xff dog\na house\n")
    target.write_text("le chat\nle chien\nune maison\n")
    output = tmp_path / "report.html"
    arguments = ("report", source, target, "--lines", "1-3", "-o", output)
    assert run(*arguments) == 3
    assert "text.en, line 2: expected utf-8 text" in capsys.readouterr().err
    assert not output.exists()

    assert run(*arguments, "--on-error", "skip-marked") == 0
    err = capsys.readouterr().err
    assert "nmtalign: 1 bad record\n" in err
    assert bad_records_in(err)[2].startswith(f"{source}, line 2: expected utf-8 text")
    words = [pair["s"] for pair in data_of(output.read_text(encoding="utf-8"))["pairs"]]
    assert words == [["the", "cat"], [], ["a", "house"]]


@pytest.mark.parametrize("option", ["--gold", "--compare"])
@pytest.mark.parametrize(
    ("line", "why"),
    [("x", "line 3: expected links like 0-1"), ("0-0 7-1", "gold, line 3: link 7-1 is outside")],
)
def test_a_bad_line_of_links_makes_an_empty_pair_where_errors_are_marked(option, line, why, files, capsys):
    links = [*GOLD[:2], line, *GOLD[3:]]
    files["gold"].write_text("".join(f"{entry}\n" for entry in links))
    value = files["gold"] if option == "--gold" else f"other={files['gold']}"
    command = ("report", files["source"], files["target"], "--vectors", files["vectors"], "-o", files["out"])
    assert run(*command, option, value) == 3
    assert why in capsys.readouterr().err
    marked = ("--on-error", "skip-marked")
    data = report(files, option, value, *marked)
    assert why in bad_records_in(capsys.readouterr().err)[3]
    assert [pair["s"] for pair in data["pairs"]][1:4] == [[], [], ["black", "zebra"]]
    worst = ("--worst", 2, "--by", "gold") if option == "--gold" else ("--worst", 2)
    assert report(files, option, value, *marked, *worst)["pairs"]
