"""Every output and input counts the words between spaces of the user's lines, whatever the tokenizer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.aligner import preparation
from nmtalign.files.paths import bundled_path
from nmtalign.links.alignments import Link
from nmtalign.links.formats import parse_pharaoh
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import lines, run, write
from tests.report.sample_pairs import content_of

TOY = toy_bitext(70)
GLUED = [[f"({line})." if line else "" for line in side] for side in (TOY.source, TOY.target)]


def gold_file(folder: Path) -> Path:
    return write(folder / "gold", [" ".join(f"{s}-{t}" for s, t in sorted(links)) for links in TOY.links])


@pytest.fixture
def glued(tmp_path: Path) -> tuple[Path, Path]:
    """The toy text with signs that are glued to words: words between spaces are those of the gold."""
    return write(tmp_path / "a", GLUED[0]), write(tmp_path / "b", GLUED[1])


# --- train ---------------------------------------------------------------------------------------


def test_links_of_train_are_those_of_align_and_of_python(glued, tmp_path):
    options = "--tokenizer", "simple", "--preset", "fast", "-q"
    assert run("train", *glued, "-o", tmp_path / "model", *options, "--links", tmp_path / "own") == 0
    assert run("align", *glued, "--model", tmp_path / "model", "-o", tmp_path / "links", "-q") == 0
    assert lines(tmp_path / "own") == lines(tmp_path / "links")
    found = [parse_pharaoh(line) for line in lines(tmp_path / "own")]
    for links, *sides in zip(found, *GLUED, strict=True):
        S, T = (len(side.split()) for side in sides)
        assert all(s < S and t < T for s, t in links)
    right = sum(len(links & set(gold)) for links, gold in zip(found, TOY.links, strict=True))
    assert right > 0.9 * sum(map(len, TOY.links))
    batch = na.load(tmp_path / "model").align_batch(list(zip(*GLUED, strict=True)))
    assert [frozenset(batch.links(n)) for n in range(len(batch))] == found


def test_gold_counts_words_and_teaches_tokens(glued, tmp_path):
    """Where each word is one token, it teaches as if text were cut already; elsewhere it teaches, too."""
    gold = "--gold", gold_file(tmp_path), "--preset", "fast", "-q"
    plain = write(tmp_path / "c", TOY.source), write(tmp_path / "d", TOY.target)
    found = []
    for tokenizer in ("space", "simple"):
        options = *gold, "--tokenizer", tokenizer, "--probabilities", tmp_path / tokenizer
        assert run("train", *plain, "-o", tmp_path / f"{tokenizer}.model", *options) == 0
        found.append(lines(tmp_path / tokenizer))
    assert found[0] == found[1]
    options = *gold, "--tokenizer", "simple", "--links", tmp_path / "links"
    assert run("train", *glued, "-o", tmp_path / "model", *options) == 0
    links = [parse_pharaoh(line) for line in lines(tmp_path / "links")]
    right = sum(len(own & set(links)) for own, links in zip(links, TOY.links, strict=True))
    assert right > 0.9 * max(sum(map(len, links)), sum(map(len, TOY.links)))


def test_gold_outside_of_the_words_is_refused(glued, tmp_path, capsys):
    gold = write(tmp_path / "gold", [f"{len(GLUED[0][0].split())}-0", *[""] * (len(GLUED[0]) - 1)])
    options = "--tokenizer", "simple", "--gold", gold, "-q"
    assert run("train", *glued, "-o", tmp_path / "model", *options) == 3
    assert "line 1" in (err := capsys.readouterr().err)
    assert "positions count space-separated words" in err


# --- reports and pictures ------------------------------------------------------------------------


def test_a_report_shows_and_counts_words(tmp_path):
    texts = {
        "en": ["The cat, Mr. House (black).", "It sleeps."],
        "fr": ["L'eau, M. Maison (noire).", "Il dort."],
    }
    files = [write(tmp_path / f"text.{side}", own) for side, own in texts.items()]
    gold = write(tmp_path / "gold", ["1-0 3-2 4-3", "0-0 1-1"])
    assert run("report", *files, "--gold", gold, "-o", tmp_path / "r.html") == 0
    data = json.loads(content_of(tmp_path / "r.html"))
    for n, pair in enumerate(data["pairs"]):
        assert (pair["s"], pair["t"]) == (texts["en"][n].split(), texts["fr"][n].split())
        assert len(pair["bf"]) == len(pair["t"])
        assert len(pair["br"]) == len(pair["s"])
    assert [tuple(data["pairs"][1]["l"][k : k + 2]) for k in (0, 3)] == [(0, 0), (1, 1)]
    assert data["pairs"][1]["a"] == 0
    outside = write(tmp_path / "outside", ["5-0", ""])
    assert run("report", *files, "--gold", outside, "-o", tmp_path / "r.html") == 3


def test_words_with_an_unknown_token_are_unknown(tmp_path):
    files = write(tmp_path / "a", ["the cat, (xyzzy)."]), write(tmp_path / "b", ["le chat"])
    na.load("en_fr_vectors", unknown="zero", tokenizer="simple").save(tmp_path / "model")
    assert run("report", *files, "--model", tmp_path / "model", "-o", tmp_path / "r.html") == 0
    assert '"u":[[2],[]]' in content_of(tmp_path / "r.html")


def test_typed_sentences_show_tokens_and_files_show_words(tmp_path):
    pair = "The cat sleeps.", "Le chat dort."
    assert run("heatmap", *pair, "-o", tmp_path / "typed.svg") == 0
    write(tmp_path / "pairs.tsv", ["\t".join(pair)])
    assert run("heatmap", "--pairs", tmp_path / "pairs.tsv", "-o", tmp_path / "file.svg") == 0
    typed, read = ((tmp_path / f"{name}.svg").read_text(encoding="utf-8") for name in ("typed", "file"))
    assert "sleeps." in read
    assert "sleeps" in typed
    assert "sleeps." not in typed


# --- Python --------------------------------------------------------------------------------------


def test_a_typed_pair_counts_tokens_and_a_batch_of_lines_counts_words():
    aligner, pair = na.load(), ("The cat sleeps.", "Le chat dort.")
    found = aligner.align(*pair)
    assert found.matrix.source_tokens == ("The", "cat", "sleeps", ".")
    assert found.links == [Link(n, n) for n in range(4)]
    assert aligner.align_batch([pair]).links(0) == [Link(n, n) for n in range(3)]
    words = ["the", "cat"], ["le", "chat"]
    assert aligner.align_batch([words]).links(0) == aligner.align(*words).links


def test_links_from_count_words(tmp_path):
    """Similarities of the tokens a ( b ) and x . y as words a (b) and x. y."""
    similarities = np.full((3, 4), 0.1)
    similarities[[0, 2, 1], [0, 2, 3]] = 0.9
    np.savez(tmp_path / "s.npz", similarities)
    pairs, options = [("a (b)", "x. y")], {"similarities": tmp_path / "s.npz", "method": "simalign-argmax"}
    assert na.links_from(pairs, tokenizer="simple", **options).links(0) == [(0, 0), (1, 0), (1, 1)]
    files = write(tmp_path / "a", ["a (b)"]), write(tmp_path / "b", ["x. y"])
    given = "--similarities", tmp_path / "s.npz", "--method", "simalign-argmax", "--tokenizer", "simple"
    assert run("links-from", *files, *given, "-o", tmp_path / "links") == 0
    assert lines(tmp_path / "links") == ["0-0 1-0 1-1"]
    assert run("links-from", *files, *given, "-o", tmp_path / "links", "--tokens", tmp_path / "cut") == 0
    assert lines(tmp_path / "links") == ["0-0 2-2 3-1"]
    assert lines(tmp_path / "cut.source") == ["a ( b )"]
    archive = "--attention", tmp_path / "all.npz"
    assert run("links-from", *files, *given, "-o", tmp_path / "links", *archive) == 0
    assert run("report", *files, *archive, "-o", tmp_path / "r.html") == 0
    assert '"s":["a","(b)"],"t":["x.","y"],"l":[0,0,950,1,0,950,1,1,950]' in content_of(tmp_path / "r.html")


# --- what is told --------------------------------------------------------------------------------


def test_text_without_spaces_is_told_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nmtalign.cli.commands.align_command.PAIRS_PER_CHUNK", 2)
    texts = ["red tea", "green tea"] * 4, ["紅茶。", "緑茶。"] * 4
    files = write(tmp_path / "a", texts[0]), write(tmp_path / "b", texts[1])
    options = "--tokenizer", "simple", "--links", tmp_path / "links"
    assert run("train", *files, "-o", tmp_path / "model", *options) == 0
    assert capsys.readouterr().err.count("the target is written without spaces") == 1
    aligned = "align", *files, "--model", tmp_path / "model", "-o", tmp_path / "links"
    assert run(*aligned) == 0
    assert (err := capsys.readouterr().err).count("the target is written without spaces") == 1
    assert "--tokens PREFIX" in err
    assert run(*aligned, "--tokens", tmp_path / "cut") == 0
    assert "without spaces" not in capsys.readouterr().err
    with pytest.warns(UserWarning, match="the target is written without spaces"):
        na.load(tmp_path / "model").align_batch([("red tea", "紅茶。")])


def test_a_small_text_that_the_shipped_model_knows_is_told(monkeypatch):
    folder = bundled_path("en_fr_sample")
    pairs = list(na.read_bitext(folder / "text.tok.en", folder / "text.tok.fr"))
    pairs = [pair for pair in pairs if len(pair.source.split()) < 15][:60]
    monkeypatch.setattr("nmtalign.errors._given_advice", set())  # another test may have caused the advice
    with pytest.warns(UserWarning, match=r"en_fr_model knows 9\d % and 9\d % of .* `init='en_fr_model'`"):
        na.train(pairs, preset="fast")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        na.train(pairs, preset="fast", init="en_fr_model")
        na.train(list(zip(TOY.source, TOY.target, strict=True)), preset="fast")
        na.train(pairs[:40], preset="fast")
        na.train(pairs, preset="fast", lowercase=False)  # the model has lower case: it would be refused
        monkeypatch.setattr(preparation, "MAX_SMALL_PAIRS", 59)
        na.train(pairs, preset="fast")


def test_find_knows_the_tokens_of_a_model(tmp_path, capsys):
    files = write(tmp_path / "a", ["The cat sleeps."]), write(tmp_path / "b", ["Le chat dort."])
    assert run("find", "dort", *files, "--model", "en_fr_model") == 0
    assert "sleeps  " in capsys.readouterr().out
