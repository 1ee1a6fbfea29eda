"""align --attention and heatmap -o .tsv .csv .npz: the matrices of pairs as numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from nmtalign.text.chunks import MAX_MATRIX_CELLS
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_pair
from tests.cli.running import run

D = 6
WORDS = [f"w{n}" for n in range(300)]
SOURCE = ["w1 w2 w3", "w4", "", "w5 w6 unknown w7"]
TARGET = ["w3 w1", "w4 w9 w8", "w1", "new w5 w7 w6"]
PLAIN = "--score", "dot", "--positions", "none"
VALUES = ("scores", "forward", "reverse", "combined")


@pytest.fixture(scope="module")
def matrices() -> list[np.ndarray]:
    random = np.random.default_rng(3)
    return [random.standard_normal((300, D)).astype(np.float32) for _ in range(2)]


@pytest.fixture(scope="module")
def vectors(matrices: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    sides = [Embeddings(Vocabulary.from_words(WORDS), matrix) for matrix in matrices]
    save_pair(*sides, folder, languages=("en", "fr"), format="word2int")
    return folder


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    write(SOURCE, TARGET)
    return "text.en", "text.fr"


def write(source: list[str], target: list[str]) -> None:
    for name, lines in (("text.en", source), ("text.fr", target)):
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def naive(matrices: list[np.ndarray], source: str, target: str) -> dict[str, np.ndarray]:
    """Scores q·k/√d, and their softmax over source and over target words, cell by cell."""
    rows = [
        [
            np.zeros(D) if word not in WORDS else matrix[WORDS.index(word)].astype(float)
            for word in line.split()
        ]
        for matrix, line in zip(matrices, (source, target), strict=True)
    ]
    scores = np.array([[q @ k / D**0.5 for k in rows[0]] for q in rows[1]])
    powers = np.exp(scores)
    forward, reverse = powers / powers.sum(1, keepdims=True), powers / powers.sum(0, keepdims=True)
    return {"scores": scores, "forward": forward, "reverse": reverse, "combined": np.sqrt(forward * reverse)}


@pytest.mark.parametrize("values", [None, *VALUES])
def test_each_pair_has_its_matrix(values, matrices, vectors, text):
    chosen = () if values is None else ("--values", values)
    options = "--vectors", vectors, "--score", "scaled-dot", "--positions", "none", "-o", "links"
    assert run("align", *text, *options, "--attention", "a.npz", *chosen) == 0
    found = np.load("a.npz")
    assert found.files == ["pair-1", "pair-2", "pair-3", "pair-4", "linkable-4"]
    without = np.array([word not in WORDS for word in SOURCE[3].split()])  # w5 w6 unknown w7
    np.testing.assert_array_equal(found["linkable-4"], [[False] * 4, *[~without] * 3])  # new w5 w7 w6
    assert found["pair-3"].shape == (1, 0)
    for n in (0, 1, 3):
        expected = naive(matrices, SOURCE[n], TARGET[n])[values or "forward"]
        np.testing.assert_allclose(found[f"pair-{n + 1}"], expected, rtol=1e-6, atol=1e-7)


def test_the_bytes_do_not_depend_on_workers_and_chunks(vectors, text, monkeypatch):
    write(SOURCE * 30, TARGET * 30)
    written = []
    for workers, cells in ((1, MAX_MATRIX_CELLS), (2, MAX_MATRIX_CELLS), (2, 800), (1, 800)):
        monkeypatch.setattr("nmtalign.cli.commands.align_command.MAX_MATRIX_CELLS", cells)
        options = "--vectors", vectors, "--workers", workers, "-o", "links", "--attention", "a.npz"
        assert run("align", *text, *options) == 0
        written.append((Path("a.npz").read_bytes(), Path("links").read_bytes()))
    assert written == written[:1] * 4


def test_links_from_reads_the_same_links(vectors, text):
    long = [" ".join(np.random.default_rng(n).permutation(WORDS)) for n in range(2)]
    write([*SOURCE, "", long[0]], [*TARGET, "w1", long[1]])
    plain = "align", *text, "--vectors", vectors, *PLAIN, "--attention", "a.npz"
    assert run(*plain, "--extract", "argmax", "-o", "links") == 0
    assert (
        run("links-from", *text, "--matrices", "a.npz", "--normalize", "--extract", "argmax", "-o", "again")
        == 0
    )
    assert Path("again").read_text() == Path("links").read_text()
    write([*SOURCE, ""], [*TARGET, "w1"])
    assert run(*plain, "--values", "scores", "-o", "links") == 0
    method = "--method", "simalign-argmax"
    assert run("links-from", *text, "--similarities", "a.npz", *method, "-o", "again") == 0
    assert Path("again").read_text() == Path("links").read_text()


def test_a_word_may_be_linked_if_one_of_its_tokens_may(vectors, text):
    write(["w1, (new) w2"], ["w2 w1, new"])  # the comma has no vector
    plain = "align", *text, "--vectors", vectors, "--tokenizer", "simple", *PLAIN
    assert run(*plain, "-o", "links", "--attention", "a.npz") == 0
    expected = [[True, False, True], [True, False, True], [False] * 3]
    np.testing.assert_array_equal(np.load("a.npz")["linkable-1"], expected)


def test_pictures_of_a_file_hatch_words_that_have_no_links(vectors, text):
    plain = "align", *text, "--vectors", vectors, *PLAIN
    assert run(*plain, "-o", "links", "--attention", "a.npz") == 0
    assert run("links-from", *text, "--matrices", "a.npz", "-o", "links", "--attention", "all.npz") == 0
    assert run("heatmap", "--lines", 4, "--attention", "all.npz", "-o", "x.svg") == 0
    assert "without a vector in the source: unknown" in Path("x.svg").read_text()


def test_marks_of_another_shape_are_refused(text, capsys):
    write(["a b"], ["c"])
    np.savez("a.npz", **{"pair-1": [[0.5, 0.5]], "linkable-1": [[True], [True]]})
    assert run("links-from", *text, "--matrices", "a.npz") == 3
    expected = "a.npz: pair 1: expected linkable cells as bool of shape (1, 2), found bool of shape (2, 1)"
    assert expected in capsys.readouterr().err


def test_shares_of_long_pairs_sum_to_1_at_most(vectors, text):
    write([" ".join(WORDS)], [" ".join(WORDS[::-1])])  # in pieces that share source words
    plain = "align", *text, "--vectors", vectors, *PLAIN, "-o", "links", "--attention", "a.npz"
    for values, axis in (("forward", 1), ("reverse", 0)):
        assert run(*plain, "--values", values) == 0
        sums = np.load("a.npz")["pair-1"].sum(axis=axis)
        assert sums.max() <= 1 + 1e-9
        assert sums.max() > 0.9
    assert run(*plain, "--values", "scores") == 0
    assert np.isnan(np.load("a.npz")["pair-1"]).any()


def test_matrices_count_what_links_count(vectors, text):
    write(["w1 w2, w3"], ["(w3) w1"])
    plain = "align", *text, "--vectors", vectors, *PLAIN, "-o", "links", "--attention", "a.npz"
    assert run(*plain, "--tokenizer", "simple") == 0
    found = np.load("a.npz")["pair-1"]
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1)  # a word attends to the tokens of a word together
    assert run(*plain, "--tokenizer", "simple", "--tokens", "cut") == 0
    assert np.load("a.npz")["pair-1"].shape == (4, 4)
    write(["w1@@ w2 w3"], ["w3 w1@@ w2 w5"])
    assert run(*plain, "--pieces", "bpe") == 0
    found = np.load("a.npz")["pair-1"]
    assert found.shape == (3, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_model_writes_what_links_are_chosen_from(text):
    write(["the black cat"], ["le chat noir"])
    assert run("align", *text, "-o", "links", "--attention", "a.npz") == 0
    links = {(s, t) for t, s in np.argwhere(np.load("a.npz")["pair-1"] > 0.5).tolist()}
    assert {f"{s}-{t}" for s, t in links} == set(Path("links").read_text().split())


def test_what_cannot_be_written_is_refused(vectors, text, capsys, monkeypatch):
    align = "align", *text, "--vectors", vectors, "-o", "links"
    for options, message in (
        (("--values", "forward"), "--values chooses the values of --attention; add --attention FILE.npz"),
        (("--attention", "a.txt"), "--attention: expected a file name ending in .npz, found a.txt"),
        (("--attention", "a.npz", "--out-shards", "shards"), "cannot be combined with --attention"),
    ):
        assert run(*align, *options) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setattr("nmtalign.run.stream.MAX_MATRIX_CELLS", 10)
    assert run(*align, "--attention", "a.npz") == 3
    assert "pair 4: expected at most 10 weights" in capsys.readouterr().err
    assert {path.name for path in Path().iterdir()} == set(text)


# --- heatmap -------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", VALUES)
def test_a_table_has_the_words_as_labels(values, matrices, vectors, text):
    pair = 'w1 "w2" w3', "w3 a,b"
    options = "--vectors", vectors, "--score", "scaled-dot", "--positions", "none", "--values", values
    expected = naive(matrices, *pair)[values]
    for name, form in (("m.csv", {}), ("m.tsv", {"delimiter": "\t", "quoting": csv.QUOTE_NONE})):
        assert run("heatmap", *pair, *options, "-o", name) == 0
        with open(name, encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file, **form)
        assert head == ["", "w1", '"w2"', "w3"]
        assert [row[0] for row in rows] == ["w3", "a,b"]
        np.testing.assert_allclose([[*map(float, row[1:])] for row in rows], expected, atol=1e-6)


def test_arrays_of_several_pairs_and_values(vectors, text, capsys):
    Path("pairs.tsv").write_text("".join(map("{}\t{}\n".format, SOURCE, TARGET)), encoding="utf-8")
    plain = "--vectors", vectors, "--positions", "diagonal"  # each pair alone: the same bits in any text
    draw = "heatmap", "--pairs", "pairs.tsv", *plain
    assert run(*draw, "-o", "m.npz", "--lines", "1,4", "--values", "all") == 0
    found = np.load("m.npz")
    assert found.files == [f"{name}-{n}" for n in (1, 4) for name in ("forward", "reverse", "combined")]
    assert run(*draw, "-o", "whole.npz") == 0
    assert run("align", *text, *plain, "-o", "links", "--attention", "a.npz", "--values", "forward") == 0
    whole, aligned = np.load("whole.npz"), np.load("a.npz")
    assert [*whole.files, "linkable-4"] == aligned.files
    assert all(np.array_equal(whole[name], aligned[name]) for name in whole.files)
    assert run(*draw, "-o", "m.tsv") == 2
    assert "m.tsv: a .tsv file has one matrix, found 2; save to .npz" in capsys.readouterr().err
    assert not Path("m.tsv").exists()


def test_numbers_are_of_all_words_however_many(vectors, text):
    long = " ".join(WORDS[:200])
    assert run("heatmap", long, long, "--vectors", vectors, "-o", "m.npz") == 0
    assert np.load("m.npz")["pair-1"].shape == (200, 200)
    assert run("heatmap", long, long, "--vectors", vectors, "-o", "m.npz", "--rows", "1,3") == 0
    assert np.load("m.npz")["pair-1"].shape == (2, 200)


def test_words_without_a_vector_are_named(vectors, text, capsys):
    options = "--vectors", vectors, "--positions", "none"
    assert run("heatmap", "w1 new", "w2 w3 other", *options, "-o", "m.tsv") == 0
    assert "1 matrix in m.tsv" in (said := capsys.readouterr().err)
    assert "; words without a vector: new, other\n" in said


def test_an_empty_file_is_named(text, capsys):
    Path("pairs.tsv").write_text("")
    assert run("heatmap", "--pairs", "pairs.tsv", "-o", "out.pdf") == 3
    assert "pairs.tsv: expected sentence pairs, found none" in capsys.readouterr().err
