"""nmtalign links-from, pictures and reports of attention of other programs; jumps fitted on the text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import nmtalign as na
from nmtalign.external.matrix_files import GivenPair, read_pairs_with_attention, write_pair
from nmtalign.files.array_files import NpzWriter
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_pair
from tests.cli.running import run
from tests.report.sample_pairs import content_of

WORDS = [f"w{n}" for n in range(10)]


@pytest.fixture
def pieces(tmp_path):
    """Two pairs of sub-words and an empty one."""
    source, target = tmp_path / "pieces.src", tmp_path / "pieces.tgt"
    source.write_text("the un@@ happy cat\nyes\n\n", encoding="utf-8")
    target.write_text("le chat mal@@ heureux\noui\n\n", encoding="utf-8")
    return source, target


ATTENTION = np.array([[0.7, 0.1, 0.1, 0.1], [0, 0, 0.1, 0.9], [0.1, 0.6, 0.3, 0], [0.1, 0.3, 0.6, 0]])


def test_the_matrix_of_an_npy_file(tmp_path, capsys):
    for name, words in (("a", "a b c d"), ("b", "e f g h")):
        (tmp_path / name).write_text(f"{words}\n")
    np.save(tmp_path / "m.npy", ATTENTION)
    assert run("links-from", tmp_path / "a", tmp_path / "b", "--matrices", tmp_path / "m.npy") == 0
    assert capsys.readouterr().out == "0-0 1-2 2-3 3-1\n"


def test_matrices_of_an_npz_file(pieces, tmp_path, capsys):
    layers = np.stack([np.full((2, 4, 4), 0.25), np.stack([ATTENTION] * 2)])  # (2, 2, T, S)
    np.savez(tmp_path / "m.npz", layers, np.ones((2, 2, 1, 1)), np.zeros((2, 2, 0, 0)))
    options = "--matrices", tmp_path / "m.npz", "--layers", "1", "--attention-heads", "0-1"
    assert run("links-from", *pieces, *options, "-v") == 0
    out, err = capsys.readouterr()
    assert out == "0-0 1-2 2-3 3-1\n0-0\n\n"
    assert "layers=1 heads=0,1 shift=0 pieces=none extract=mutual" in err
    table = tmp_path / "links.tsv"
    assert run("links-from", *pieces, *options, "--pieces", "bpe", "--table", table) == 0
    assert capsys.readouterr().out == "0-0 1-2 2-1\n0-0\n\n"
    rows = [line.split("\t") for line in table.read_text().splitlines()]
    assert rows[2][:5] == ["1", "1", "unhappy", "2", "malheureux"]
    assert run("links-from", *pieces, *options, "--pieces", "bpe", "--threshold", "0.8") == 0
    assert capsys.readouterr().out == "1-2 2-1\n0-0\n\n"


def test_matrices_of_a_marian_text(pieces, tmp_path, capsys):
    rows = [[*row, 0.0] for row in ATTENTION] + [[0, 0, 0, 0, 1]]  # with the end of the sentence
    text = " ".join(",".join(map(str, row)) for row in rows)
    (tmp_path / "soft").write_text(f"le chat mal@@ heureux ||| {text}\noui ||| 1,0 0,1\n ||| 1\n")
    assert run("links-from", *pieces, "--matrices", tmp_path / "soft") == 0
    assert capsys.readouterr().out == "0-0 1-2 2-3 3-1\n0-0\n\n"
    assert run("links-from", *pieces, "--matrices", tmp_path / "soft", "--shift", "-1") == 0
    assert capsys.readouterr().out.splitlines()[0] == "0-1 1-3 3-2"


def test_pictures_and_reports_of_matrices(pieces, tmp_path, capsys):
    layers = np.stack([np.full((2, 4, 4), 0.25), np.stack([ATTENTION] * 2)])
    np.savez(tmp_path / "m.npz", layers, np.ones((2, 2, 1, 1)), np.zeros((2, 2, 0, 0)))
    archive = tmp_path / "a.npz"
    options = "--layers", "1", "--pieces", "bpe", "-o", tmp_path / "links", "--attention", archive
    assert run("links-from", *pieces, "--matrices", tmp_path / "m.npz", *options) == 0
    given = "--attention", archive
    (tmp_path / "pairs.tsv").write_text("the un@@ happy cat\tle chat mal@@ heureux\nyes\toui\n\t\n")
    assert run("heatmap", "--pairs", tmp_path / "pairs.tsv", *given, "-o", tmp_path / "all.pdf") == 0
    assert len(re.findall(rb"/Type /Page\b", (tmp_path / "all.pdf").read_bytes())) == 3
    assert run("heatmap", "--lines", "1", *given, "-o", tmp_path / "a.svg") == 0  # the archive has the lines
    drawn = (tmp_path / "a.svg").read_text()
    assert "unhappy" in drawn
    assert "malheureux" in drawn
    gold = tmp_path / "gold"
    gold.write_text("0-0 1-2 2-1\n0-0\n\n")
    choices = ([], ["--worst", "2", "--by", "score"], ["--lines", "2"])
    for choice, shown in zip(choices, ("unhappy", "unhappy", "oui"), strict=True):
        report = tmp_path / "report.html"
        assert run("report", *pieces, *given, "--gold", gold, *choice, "-o", report) == 0
        page = content_of(report)
        assert shown in page
        assert "layers=1 heads=all" in page
        assert '"layer 1 head 0","layer 1 head 1"]' in page  # its views
    assert run("heatmap", "--lines", "1", *given, "--values", "parts", "-o", tmp_path / "h.pdf") == 0
    capsys.readouterr()
    assert run("report", *pieces[::-1], *given, "-o", tmp_path / "x.html") == 3
    assert "a.npz: expected the attention of pair 1, 'le chat mal@@" in capsys.readouterr().err
    assert run("heatmap", "yes", "oui", *given, "-o", tmp_path / "x.png") == 3
    assert "made of another text" in capsys.readouterr().err
    assert run("report", *pieces, *given, "--score", "dot", "-o", tmp_path / "x.html") == 2
    assert "--score cannot be combined with --attention" in capsys.readouterr().err
    assert run("heatmap", "--attention", tmp_path / "m.npz", "-o", tmp_path / "x.png") == 3
    assert "expected an archive that `nmtalign links-from --attention FILE` has" in capsys.readouterr().err
    assert run("links-from", *pieces, "--matrices", "m", "--attention", tmp_path / "a.txt") == 2
    assert "expected a file name ending in .npz" in capsys.readouterr().err


@pytest.mark.parametrize("options", [{}, {"tokenizer": "simple"}, {"count": "tokens", "tokenizer": "simple"}])
def test_the_archive_has_what_links_from_returns(options, tmp_path):
    pairs = [("The cat, big.", "Le chat ."), ("", ""), ("no", "non pas")]
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("".join(f"{line}\n" for line, _ in pairs))
    target.write_text("".join(f"{line}\n" for _, line in pairs))
    sizes = [(3, 5 if "tokenizer" in options else 3), (0, 0), (2, 1)]
    given = [np.random.default_rng(0).dirichlet(np.ones(S), T) if S else np.zeros((T, S)) for T, S in sizes]
    np.savez(tmp_path / "m.npz", *given)
    archive = tmp_path / "a.npz"
    written = [f"--{name}={value}" for name, value in options.items()]
    outputs = "-o", tmp_path / "links", "--attention", archive
    assert run("links-from", source, target, "--matrices", tmp_path / "m.npz", *written, *outputs) == 0
    batch = na.links_from(pairs, matrices=given, **options)
    for found, pair, lines in zip(read_pairs_with_attention(archive), batch, pairs, strict=True):
        assert found.lines == lines
        assert found.pair == pair
        np.testing.assert_array_equal(found.pair.forward, pair.forward)
        np.testing.assert_array_equal(found.pair.reverse, pair.reverse)
        assert found.pair.extraction == pair.extraction
    if not options:
        assert run("links-from", source, target, "--matrices", archive, "-o", tmp_path / "again") == 0
        assert (tmp_path / "again").read_text() == (tmp_path / "links").read_text()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"forward": np.eye(3)}, r"expected attention of shape \(T, S\) = \(2, 2\)"),
        ({"reverse": np.array([["a", "b"]])}, "expected an array of real numbers"),
        ({"probabilities": {na.Link(0, 0): np.nan, na.Link(1, 1): 0.5}}, "finite number, found nan"),
        ({"score": "high"}, "finite number, found 'high'"),
    ],
)
def test_an_archive_with_other_values_is_an_error(changed, message, tmp_path):
    pair = na.links_from([("a b", "c d")], matrices=[np.eye(2)])[0]
    path = tmp_path / "a.npz"
    with open(path, "wb") as file, NpzWriter(file) as archive:
        write_pair(archive, 1, GivenPair(("a b", "c d"), replace(pair, **changed), {}))
    with pytest.raises(na.DataError, match=message):
        list(read_pairs_with_attention(path))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (2, "m.npz: expected an array for each pair, found none for pair 3"),
        (4, "m.npz: expected arrays for the 3 pairs of the text, found more"),
        (3, "m.npz: pair 2: expected attention of 1 target and 1 source pieces"),
    ],
)
def test_matrices_that_do_not_fit_the_text_are_named(arrays, message, pieces, tmp_path, capsys):
    shapes = [(4, 4), (3, 3) if arrays == 3 else (1, 1), (0, 0), (0, 0)][:arrays]
    np.savez(tmp_path / "m.npz", *(np.ones(shape) / max(shape[1], 1) for shape in shapes))
    output = tmp_path / "links"
    assert run("links-from", *pieces, "--matrices", tmp_path / "m.npz", "-o", output) == 3
    assert message in capsys.readouterr().err
    assert not output.exists()


def test_rows_that_do_not_sum_to_one_are_refused_or_normalized(pieces, tmp_path, capsys):
    np.savez(tmp_path / "m.npz", ATTENTION, [[2.25]], np.zeros((0, 0)))
    output = "-o", tmp_path / "links", "--probabilities", tmp_path / "scores"
    assert run("links-from", *pieces, "--matrices", tmp_path / "m.npz", *output) == 3
    expected = "m.npz: pair 2: expected rows that sum to 1, found 2.25 in row 1; .*--normalize"
    assert re.search(expected, capsys.readouterr().err)
    assert not (tmp_path / "links").exists()
    assert run("links-from", *pieces, "--matrices", tmp_path / "m.npz", *output, "--normalize", "-v") == 0
    assert "pieces=none normalized" in capsys.readouterr().err
    scores = [float(score) for score in (tmp_path / "scores").read_text().split()]
    assert max(scores) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layers", "1"], "--token-vectors, --similarities, found none"),
        (["--matrices", "m.npz", "--similarities", "s"], "found --matrices and --similarities"),
        (["--matrices", "m.npz", "--langs", "en,fr"], "--langs does not apply to --matrices"),
        (["--similarities", "s", "--pieces", "bpe"], "--pieces does not apply to --similarities"),
        (["--similarities", "s", "--threshold", "0.5"], "--threshold does not apply"),
        (["--encoder", "e", "--attention-heads", "1"], "--attention-heads does not apply to --encoder"),
        (
            ["--matrices", "m.npz", "--attention-heads", "3-1"],
            "numbers from 0 and rising ranges of at most 1,000,000 numbers, such as 3,7-9; found '3-1'",
        ),
    ],
)
def test_options_that_contradict_each_other(options, message, pieces, capsys):
    assert run("links-from", *pieces, *options) == 2
    assert message in capsys.readouterr().err


def test_similarities_by_published_methods(tmp_path, capsys):
    (tmp_path / "a").write_text("The cat.\n\n")
    (tmp_path / "b").write_text("Le chat.\n\n")
    np.savez(tmp_path / "s.npz", np.array([[0.9, 0.1, 0], [0.2, 0.7, 0.6], [0, 0.1, 0.5]]), np.zeros((0, 0)))
    given = tmp_path / "a", tmp_path / "b", "--similarities", tmp_path / "s.npz", "--tokenizer", "simple"
    expected = {"simalign-argmax": "0-0 1-1", "simalign-match": "0-0 1-1 2-2", "transport": "0-0 1-1 2-2"}
    for method, links in expected.items():
        assert run("links-from", *given, "--method", method, "-v", "--tokens", tmp_path / "tokens") == 0
        out, err = capsys.readouterr()
        assert out == f"{links}\n\n"
        assert f"s.npz method={method} extract=" in err
        assert "known" not in err
    assert (tmp_path / "tokens.target").read_text() == "Le chat .\n\n"
    report = tmp_path / "report.html"
    archive = "--attention", tmp_path / "archive.npz"
    assert run("links-from", *given, "--method", "transport", *archive) == 0
    assert run("report", *given[:2], *archive, "-o", report) == 0
    assert "method=transport" in content_of(report)


def test_jumps_are_fitted_on_the_first_pairs_in_any_chunk_and_process(tmp_path, monkeypatch, capsys):
    """Every sentence is turned round; which of two equal words is meant, only the jumps can tell."""
    random = np.random.default_rng(0)
    side = Embeddings(Vocabulary.from_words(WORDS), np.eye(len(WORDS), dtype=np.float32))
    save_pair(side, side, tmp_path, languages=("en", "fr"), format="word2int")
    lines = [list(random.choice(WORDS, size=random.integers(4, 8))) for _ in range(300)]
    for name, step in (("a", 1), ("b", -1)):
        (tmp_path / name).write_text("".join(f"{' '.join(words[::step])}\n" for words in lines))
    outputs = []
    for workers, characters in ((1, 4_000_000), (1, 2_000), (2, 500)):
        monkeypatch.setattr("nmtalign.text.chunks.MAX_CHUNK_CHARS", characters)
        places = tmp_path / "a", tmp_path / "b", "--vectors", tmp_path, "-o", tmp_path / "out", "-v"
        assert run("align", *places, "--positions", "hmm", "--workers", workers, "--threshold", "0.5") == 0
        outputs.append((tmp_path / "out").read_text())
    settings = "positions=hmm(fitted on 300 pairs) extract=posterior threshold=0.5 second=none"
    assert settings in capsys.readouterr().err
    assert outputs[0] == outputs[1] == outputs[2]
    turned = sum(
        {*links.split()} == {f"{n}-{len(words) - 1 - n}" for n in range(len(words))}
        for links, words in zip(outputs[0].splitlines(), lines, strict=True)
    )
    assert turned > 290


def test_pictures_and_reports_fit_jumps_too(tmp_path, capsys):
    side = Embeddings(Vocabulary.from_words(WORDS), np.eye(len(WORDS), dtype=np.float32))
    save_pair(side, side, tmp_path, languages=("en", "fr"), format="word2int")
    (tmp_path / "pairs.tsv").write_text("w1 w2 w3\tw3 w2 w1\nw4 w5\tw5 w4\n")
    options = "--pairs", tmp_path / "pairs.tsv", "--vectors", tmp_path, "--positions", "hmm"
    assert run("heatmap", *options, "--lines", "2", "-o", tmp_path / "pair.svg") == 0
    assert "pair 2" in (tmp_path / "pair.svg").read_text()
    assert run("report", *options, "-o", tmp_path / "report.html") == 0
    assert "positions=hmm(fitted on 2 pairs)" in content_of(tmp_path / "report.html")
    assert run("heatmap", "w1", "w1", *options[2:], "-o", tmp_path / "one.png") == 2
    assert "fitted to a text; pass two files" in capsys.readouterr().err
