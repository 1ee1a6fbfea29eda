"""Sub-words on the command line: sentencepiece models, marked text, and links of words out of both."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from nmtalign.links.formats import parse_pharaoh
from nmtalign.text.subwords import join_marked
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import lines, run, write

TOY = toy_bitext(150, longest=8)
SIDES = TOY.source, TOY.target


def marked(word: str, marks: str) -> str:
    """Cut a word after each second letter."""
    pieces = [word[start : start + 2] for start in range(0, len(word), 2)]
    return "@@ ".join(pieces) if marks == "bpe" else "▁" + " ".join(pieces)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("text")
    return write(folder / "source", TOY.source), write(folder / "target", TOY.target)


def pieces_of(line: str, marks: str) -> str:
    return " ".join(marked(word, marks) for word in line.split())


@pytest.fixture(scope="module")
def model(text, tmp_path_factory) -> Path:
    """A model of words."""
    folder = tmp_path_factory.mktemp("model") / "model"
    assert run("train", *text, "-o", folder, "--preset", "fast", "-q") == 0
    return folder


@pytest.mark.parametrize("marks", ["bpe", "sentencepiece"])
def test_sub_words_are_joined_and_links_count_words_or_pieces(text, model, tmp_path, marks, capsys):
    given = [[pieces_of(line, marks) for line in side] for side in SIDES]
    files = write(tmp_path / "source", given[0]), write(tmp_path / "target", given[1])
    options = "--model", model, "--probabilities", tmp_path / "scores", "-o", tmp_path / "links"
    assert run("align", *text, *options) == 0
    links, scores = lines(tmp_path / "links"), lines(tmp_path / "scores")
    guided = "--pieces", marks, "--guided", tmp_path / "guided"
    capsys.readouterr()
    assert run("align", *files, *options, *guided) == 0
    assert "links of words in" in capsys.readouterr().err
    assert (lines(tmp_path / "links"), lines(tmp_path / "scores")) == (links, scores)
    assert [line.split("\t")[:2] for line in lines(tmp_path / "guided")] == [
        *map(list, zip(*SIDES, strict=True))
    ]
    table = "--table", tmp_path / "table.tsv"
    assert (
        run("align", *files, *options, *guided, *table, "--count", "pieces", "--tokens", tmp_path / "cut")
        == 0
    )
    assert "links of pieces in" in capsys.readouterr().err
    assert [lines(tmp_path / f"cut.{side}") for side in ("source", "target")] == given
    rows = [line.split("\t") for line in lines(tmp_path / "guided")]
    assert [row[:2] for row in rows] == [*map(list, zip(*given, strict=True))]
    assert [row[2] for row in rows] == lines(tmp_path / "links")
    for n, (source, target) in enumerate(zip(*given, strict=True)):
        of_source, of_target = (join_marked(line, marks)[1] for line in (source, target))
        expected = {}
        for link, score in zip(links[n].split(), scores[n].split(), strict=True):
            word, other = map(int, link.split("-"))
            for s in range(of_source.first[word], of_source.stop[word]):
                for t in range(of_target.first[other], of_target.stop[other]):
                    expected[s, t] = score
        assert lines(tmp_path / "links")[n] == " ".join(f"{s}-{t}" for s, t in sorted(expected))
        assert lines(tmp_path / "scores")[n] == " ".join(expected[link] for link in sorted(expected))
    for row in lines(tmp_path / "table.tsv")[1:]:
        pair, s, source, t, target, _ = row.split("\t")
        found = (side[int(pair) - 1].split()[int(place)] for side, place in zip(given, (s, t), strict=True))
        assert (source, target) == tuple(found)


@pytest.fixture(scope="module")
def pieces(text) -> tuple[Path, Path]:
    """A sentencepiece model of each side."""
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    for path in text:
        out = io.BytesIO()
        sentences = iter(lines(path))
        trainer.train(
            sentence_iterator=sentences,
            model_writer=out,
            vocab_size=60,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        path.with_suffix(".model").write_bytes(out.getvalue())
    return text[0].with_suffix(".model"), text[1].with_suffix(".model")


@pytest.mark.parametrize("both", [False, True])
def test_raw_text_is_cut_by_sentencepiece_and_links_count_its_words(text, pieces, tmp_path, both):
    model, links = tmp_path / "model", tmp_path / "links"
    own = [path.rename(tmp_path / path.name) for path in pieces]  # only the model's copies are there later
    tokenizer = "sentencepiece:" + ",".join(map(str, own if both else own[:1]))
    assert run("train", *text, "-o", model, "--tokenizer", tokenizer, "--preset", "fast", "-q") == 0
    for path, place in zip(own, pieces, strict=True):
        path.rename(place)
    moved = model.rename(tmp_path / "moved")
    options = "--model", moved, "-o", links
    options += "--threshold", "0.4"  # single digits say little: both directions agree on few links for sure
    assert run("align", *text, *options) == 0
    found = [parse_pharaoh(line) for line in lines(links)]
    sizes = [(len(source.split()), len(target.split())) for source, target in zip(*SIDES, strict=True)]
    assert all(s < S and t < T for line, (S, T) in zip(found, sizes, strict=True) for s, t in line)
    right = sum(len(line & set(gold)) for line, gold in zip(found, TOY.links, strict=True))
    assert right > 0.6 * sum(map(len, TOY.links))
    assert right > 0.7 * sum(map(len, found))


def test_other_names_of_tokenizers_are_refused(text, tmp_path, capsys):
    for name in ("sentencepiece", "bpe", "simple:x"):
        assert run("align", *text, "--tokenizer", name) == 2
        assert "sentencepiece:FILE[,FILE]" in capsys.readouterr().err
    pytest.importorskip("sentencepiece")
    assert run("align", *text, "--tokenizer", f"sentencepiece:{tmp_path / 'none'}") == 3
    assert "expected a sentencepiece model" in capsys.readouterr().err


@pytest.mark.parametrize("shards", [False, True])
def test_guided_training_gets_the_pieces_that_sentencepiece_writes(text, pieces, tmp_path, shards):
    processor = pytest.importorskip("sentencepiece").SentencePieceProcessor
    model, guided = tmp_path / "model", tmp_path / "guided"
    tokenizer = "sentencepiece:" + ",".join(map(str, pieces))
    assert run("train", *text, "-o", model, "--tokenizer", tokenizer, "--preset", "fast", "-q") == 0
    options = ["--model", model, "-o", tmp_path / "links", "--guided", guided]
    options += ["--out-shards", tmp_path / "run"] if shards else []
    assert run("align", *text, *options, "--tokens", tmp_path / "cut") == 0
    for side, path in enumerate(pieces):
        encode = processor(model_file=str(path)).encode
        expected = [" ".join(encode(line, out_type=str)) for line in SIDES[side]]
        assert [line.split("\t")[side] for line in lines(guided)] == expected
    assert "▁" in lines(guided)[0]
    assert [line.split("\t")[2] for line in lines(guided)] == lines(tmp_path / "links")
    assert run("align", *text, *options[:-2] if shards else options) == 0
    for side in (0, 1):
        assert [line.split("\t")[side] for line in lines(guided)] == SIDES[side]
