"""nmtalign train, then nmtalign align --model: one small bitext from files to links."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from nmtalign.aligner.aligner import load_aligner
from nmtalign.aligner.preparation import random_sample
from nmtalign.links.evaluation import evaluate
from nmtalign.text.bitext import read_bitext
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import run

TOY = toy_bitext(110, longest=15)


@pytest.fixture
def bitext(tmp_path: Path) -> tuple[Path, Path]:
    return TOY.write(tmp_path, ("text.en", "text.fr"))


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fast_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of the text with preset fast; a test that changes it takes a copy."""
    folder = tmp_path_factory.mktemp("fast")
    files = TOY.write(folder, ("text.en", "text.fr"))
    assert run("train", *files, "-o", folder / "model", "--preset", "fast", "-q") == 0
    return folder / "model"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_train_then_align(bitext, tmp_path: Path, capsys):
    model, out = (
        tmp_path / "model",
        {k: tmp_path / k for k in ("links", "scores", "pairs", "links2", "scores2", "pairs2")},
    )
    options = "--links", out["links"], "--probabilities", out["scores"], "--pair-scores", out["pairs"]
    assert run("train", *bitext, "-o", model, *options) == 0
    _, err = capsys.readouterr()
    assert "log-likelihood" in err
    assert "co-occurring word pairs" in err
    assert f"nmtalign report {bitext[0]} {bitext[1]} --model {model} -o report.html" in err
    assert "warning" not in err
    last = err.splitlines()[-1]
    batch = load_aligner(model).align_batch(read_bitext(*bitext))
    assert evaluate(batch).sentence in last
    assert f"nmtalign evaluate {out['links']} {bitext[0]} {bitext[1]} --model {model}" in last
    lines = out["links"].read_text().split("\n")
    assert len(lines) == len(TOY.links) + 1
    found = [{tuple(map(int, link.split("-"))) for link in line.split()} for line in lines[:-1]]
    assert sum(a != b for a, b in zip(found, TOY.links, strict=True)) < 0.1 * len(TOY.links)
    again = "-o", out["links2"], "--probabilities", out["scores2"], "--pair-scores", out["pairs2"]
    assert run("align", *bitext, "--model", model, *again) == 0
    for name in ("links", "scores", "pairs"):
        assert out[name].read_bytes() == out[f"{name}2"].read_bytes()
    assert "scorers=" not in capsys.readouterr().err
    assert run("align", *bitext, "--model", model, "--verbose", "-o", out["links2"]) == 0
    assert "scorers=lexicon,spectral forms=0,3,4,6 pairs=110 positions=hmm" in capsys.readouterr().err


def test_the_same_bytes_for_any_number_of_workers(bitext, tmp_path: Path):
    for workers in (1, 2):
        place = tmp_path / str(workers)
        options = "--workers", workers, "--preset", "fast", "--links", tmp_path / f"links{workers}", "-q"
        assert run("train", *bitext, "-o", place, *options) == 0
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert (tmp_path / "links1").read_bytes() == (tmp_path / "links2").read_bytes()


def test_one_file_with_both_sides_gives_the_same_model(fast_model, tmp_path: Path):
    both = write(tmp_path / "text.tsv", [f"{s}\t{t}" for s, t in TOY.pairs])
    assert run("train", "--pairs", both, "-o", tmp_path / "one", "--preset", "fast", "-q") == 0
    assert contents(tmp_path / "one") == contents(fast_model)


def test_long_pairs_are_left_out_as_if_they_were_empty(bitext, tmp_path: Path, capsys):
    long = [len(s.split()) > 12 or len(t.split()) > 12 for s, t in TOY.pairs]
    assert 5 < sum(long) < 100
    sides = [["" if out else pair[k] for pair, out in zip(TOY.pairs, long, strict=True)] for k in (0, 1)]
    empty = [write(tmp_path / name, lines) for name, lines in zip(("a", "b"), sides, strict=True)]
    options = "--preset", "fast", "--links"
    assert run("train", *empty, "-o", tmp_path / "one", *options, tmp_path / "links1", "-q") == 0
    bound = "--max-length", 12, "-o", tmp_path / "two"
    assert run("train", *bitext, *bound, *options, tmp_path / "links2") == 0
    assert f"{sum(long)} pairs with more than 12 tokens skipped" in capsys.readouterr().err
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert (tmp_path / "links1").read_bytes() == (tmp_path / "links2").read_bytes()


def test_advice_depends_on_what_is_known_and_expected(tmp_path: Path, capsys):
    poor = [" ".join(f"{side}{n}x{k}" for k in range(8)) for side in "ab" for n in range(60)]
    files = write(tmp_path / "a", poor[:60]), write(tmp_path / "b", poor[60:])
    dictionary = write(tmp_path / "dictionary.tsv", ["a0x0\tb0x0"])
    advice = "a dictionary (--prior), or --word-encoder would help"
    assert run("train", *files, "-o", tmp_path / "poor") == 0
    assert advice in capsys.readouterr().err.splitlines()[-1]
    assert run("train", *files, "-o", tmp_path / "helped", "--prior", dictionary) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert "expected alignment error rate" in last
    assert advice not in last


def test_a_sample_is_learned_from_as_a_smaller_text(bitext, tmp_path: Path):
    links = tmp_path / "links"
    assert run("align", *bitext, "--model", "en_fr_model", "-o", links) == 0
    files = [*bitext, links]
    assert run("train", *bitext, "--expert", links, "--sample", 40, "-o", tmp_path / "of sample") == 0
    smaller = []
    for path in files:
        drawn = random_sample(path.read_text(encoding="utf-8").splitlines(), 40)
        smaller.append(write(path.with_name(f"smaller {path.name}"), drawn))
    assert run("train", *smaller[:2], "--expert", smaller[2], "-o", tmp_path / "of text") == 0
    assert contents(tmp_path / "of sample") == contents(tmp_path / "of text")
    assert contents(tmp_path / "of sample")["meta.json"] != b""


@pytest.mark.parametrize(("option", "why"), [("--links", "needs all pairs"), ("--gold", "a line for each")])
def test_a_sample_is_refused_where_all_pairs_are_needed(bitext, tmp_path: Path, capsys, option, why: str):
    file = write(tmp_path / "file", [])
    assert run("train", *bitext, "--sample", 40, option, file, "-o", tmp_path / "model") == 2
    message = capsys.readouterr().err
    assert why in message
    assert "--sample leaves pairs out" in message
    assert not (tmp_path / "model").exists()


def test_empty_lines_give_empty_lines(tmp_path: Path):
    source = write(tmp_path / "a", ["", *TOY.source[:40], "word"])
    target = write(tmp_path / "b", ["word", *TOY.target[:40], ""])
    assert run("train", source, target, "-o", tmp_path / "model", "--links", tmp_path / "links", "-q") == 0
    lines = (tmp_path / "links").read_text().split("\n")
    assert lines[0] == lines[41] == lines[42] == ""
    assert len(lines) == 43


def test_quiet_is_quiet_and_training_again_replaces_the_model(bitext, tmp_path: Path, capsys):
    for force in ([], ["--force"]):
        assert run("train", *bitext, "-o", tmp_path / "model", "--preset", "fast", "-q", *force) == 0
    out, err = capsys.readouterr()
    assert out == err == ""


@pytest.mark.parametrize("missing", [0, 1])
def test_a_missing_file(bitext, tmp_path: Path, capsys, missing: int):
    bitext[missing].unlink()
    assert run("train", *bitext, "-o", tmp_path / "model") == 3
    assert str(bitext[missing]) in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_files_of_different_length(bitext, tmp_path: Path, capsys):
    write(bitext[1], TOY.target[:-3])
    assert run("train", *bitext, "-o", tmp_path / "model") == 3
    err = capsys.readouterr().err
    assert str(bitext[1]) in err
    assert "107" in err
    assert not (tmp_path / "model").exists()


def test_nothing_to_learn_from(tmp_path: Path, capsys):
    empty = write(tmp_path / "a", ["", ""]), write(tmp_path / "b", ["x", "y"])
    assert run("train", *empty, "-o", tmp_path / "model") == 3
    assert "both sides" in capsys.readouterr().err


def test_a_folder_with_other_files_is_left_alone(bitext, tmp_path: Path, capsys):
    (tmp_path / "full").mkdir()
    write(tmp_path / "full" / "thesis.tex", ["important"])
    assert run("train", *bitext, "-o", tmp_path / "full") == 2
    assert "contains other files" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    assert run("train", *bitext, "-o", tmp_path / "full" / "thesis.tex") == 2
    assert "is a file" in capsys.readouterr().err


def test_a_folder_with_a_foreign_meta_json_is_left_alone(bitext, tmp_path: Path):
    (tmp_path / "other").mkdir()
    write(tmp_path / "other" / "meta.json", ['{"format": "nmtalign vectors"}'])
    assert run("train", *bitext, "-o", tmp_path / "other", "--preset", "fast", "-q") == 2
    assert len(list((tmp_path / "other").iterdir())) == 1


def test_calls_that_make_no_sense(bitext, tmp_path: Path):
    model = tmp_path / "model"
    assert run("train", *bitext) == 2
    assert run("train", bitext[0], "-o", model) == 2
    assert run("train", *bitext, "--pairs", bitext[0], "-o", model) == 2
    assert run("train", *bitext, "-o", model, "--preset", "slow") == 2
    assert run("train", *bitext, "-o", model, "--workers", "0") == 2
    assert not model.exists()


def test_two_outputs_in_one_file_are_refused_before_learning(bitext, tmp_path: Path):
    model = tmp_path / "model"
    assert (
        run("train", *bitext, "-o", model, "--links", tmp_path / "x", "--probabilities", tmp_path / "x", "-q")
        == 2
    )
    assert not model.exists()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda s, t: (["" if n % 3 else line for n, line in enumerate(s)], t), "empty side"),
        (lambda s, t: (s, s), "same words on both sides"),
        (lambda s, t: (s, ["x", *t[:-1]]), "paired with line n + 1 of the target; are lines missing?"),
        (lambda s, t: (s, [t[(61 * n) % len(t)] for n in range(len(t))]), "hardly correlated"),
    ],
)
def test_warnings(bitext, tmp_path: Path, capsys, change, part: str):
    for path, lines in zip(bitext, change(TOY.source, TOY.target), strict=True):
        write(path, lines)
    assert run("train", *bitext, "-o", tmp_path / "model", "--preset", "fast", "-q") == 0
    err = capsys.readouterr().err
    assert err.startswith("nmtalign: warning: ")
    assert part in err


def test_a_model_without_a_part_is_named(bitext, fast_model, tmp_path: Path, capsys):
    model = shutil.copytree(fast_model, tmp_path / "model")
    (model / "scorer.lexicon.target.txt").unlink()
    assert run("align", *bitext, "--model", model) == 3
    assert "scorer.lexicon.target.txt" in capsys.readouterr().err
    assert run("align", *bitext, "--model", tmp_path / "nothing") == 3


def test_the_lexicon_of_a_model(fast_model, capsys):
    (s, t), source, target = sorted(TOY.links[0])[0], TOY.source[0].split(), TOY.target[0].split()
    assert run("lexicon", "--model", fast_model, "--word", source[s]) == 0
    first = capsys.readouterr().out.split("\n")[1].split("\t")
    assert first[:2] == [source[s], target[t]]


def test_a_model_is_replaced_by_force_alone(bitext, fast_model, tmp_path: Path, capsys):
    model = shutil.copytree(fast_model, tmp_path / "model")
    before = contents(model)
    for options in ([], ["--init", model], ["--tokenizer", "simple"]):
        assert run("train", *bitext, "-o", model, "-q", *options) == 2
        assert "--force" in capsys.readouterr().err
        assert contents(model) == before
    assert run("train", *bitext, "-o", model, "--init", model, "--force", "--preset", "fast", "-q") == 0
    assert contents(model) != before


def test_an_older_model_gives_its_tokenizer(bitext, tmp_path: Path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    text = "--tokenizer", "simple", "--no-lowercase", "--unicode", "nfkc"
    assert run("train", *bitext, "-o", first, "--preset", "fast", "-q", *text) == 0
    assert run("train", *bitext, "-o", second, "--init", first, "--preset", "fast", "-q") == 0
    assert str(load_aligner(second).text_settings) == "simple+cased+nfkc"
    third = "-o", tmp_path / "third", "--init", first, "-q"
    assert run("train", *bitext, *third, "--unicode", "nfkc", "--preset", "fast") == 0
    assert run("train", *bitext, "-o", tmp_path / "x", "--init", first, "-q", "--tokenizer", "space") == 2
    assert "text=simple+cased+nfkc, found text=space+cased+nfkc; remove" in capsys.readouterr().err


@pytest.mark.parametrize("mark", [".", ",", "\u3002"])
def test_words_that_end_in_punctuation_are_warned_of(bitext, tmp_path: Path, capsys, mark: str):
    write(bitext[1], [f"{line}{mark}" for line in TOY.target])
    command = "train", *bitext, "-o", tmp_path / "model", "--preset", "fast", "-q", "--force"
    assert run(*command) == 0
    (warning,) = capsys.readouterr().err.splitlines()
    assert "of the words end in punctuation, like" in warning
    assert "tokenizer simple" in warning
    assert run(*command, "--tokenizer", "simple") == 0
    assert capsys.readouterr().err == ""


def test_the_words_of_tokenized_text_are_not_warned_of(bitext, tmp_path: Path, capsys):
    for path, lines in zip(bitext, (TOY.source, TOY.target), strict=True):
        write(path, [f"l' {line} , mr. x ." if n % 3 == 0 else f"{line} !" for n, line in enumerate(lines)])
    assert run("train", *bitext, "-o", tmp_path / "model", "--preset", "fast", "-q") == 0
    assert capsys.readouterr().err == ""


def test_the_sides_of_one_file_are_chosen(bitext, fast_model, tmp_path: Path, capsys):
    both = write(tmp_path / "text.tsv", [f"{t}\tnote\t{s}" for s, t in TOY.pairs])
    sides = "--pairs", both, "--sides", "3,1"
    assert run("train", *sides, "-o", tmp_path / "one", "--preset", "fast", "-q") == 0
    assert contents(tmp_path / "one") == contents(fast_model)
    picture = "heatmap", "a", "b", "-o", tmp_path / "x.png"
    learning = "train", *bitext, "-o", tmp_path / "x"
    for command in (picture, learning):
        assert run(*command, "--sides", "1,2") == 2
        assert "--sides requires --pairs FILE" in capsys.readouterr().err


def test_train_takes_several_dictionaries_with_headwords_of_either_side(tmp_path: Path, capsys):
    source = write(tmp_path / "text.en", ["the mice went", "a red car"] * 5)
    target = write(tmp_path / "text.de", ["mäuse die gingen", "auto rotes ein"] * 5)
    first = write(tmp_path / "first", ["maus\tmouse", "gehen\tgo", "die\tthe", "gingen\twent", "alone"])
    second = write(tmp_path / "second", ["red rotes", "car auto", "a ein"])
    links = tmp_path / "links"
    options = "--prior", first, "--prior", second, "--lemmas", "--langs", "en,de", "--links", links
    assert run("train", source, target, "-o", tmp_path / "model", *options) == 0
    said = capsys.readouterr().err
    assert f"{first}: 4 word pairs for this text, headwords of the target" in said
    assert f"{second}: 3 word pairs for this text, headwords of the source" in said
    assert f"warning: {first}: 1 of 5 entries are malformed and were skipped" in said
    assert links.read_text().splitlines()[:2] == ["0-1 1-0 2-2", "0-2 1-1 2-0"]
    assert run("train", source, target, "-o", tmp_path / "other", "--lemmas") == 2
    assert "--lemmas requires the languages of both sides: pass --langs en,hu" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("4X", "expected a number of bytes as --memory, such as 4G, 1500M or 0.5G; found '4X'"),
        ("10M", "--memory must be at least 200M, which the program needs for any text; found '10M'"),
    ],
)
def test_the_memory_has_to_be_readable_and_enough(bitext, tmp_path: Path, capsys, size: str, message: str):
    assert run("train", *bitext, "-o", tmp_path / "model", "--memory", size) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "model.state").exists()


def test_the_memory_of_a_cluster_is_not_bounded(bitext, tmp_path: Path, capsys):
    assert run("train", *bitext, "-o", tmp_path / "model", "--memory", "4G", "--engine", "dask") == 2
    assert "--memory bounds learning on this machine; remove it" in capsys.readouterr().err


def test_a_text_on_disk_gets_the_same_model_and_links(bitext, tmp_path: Path, monkeypatch, capsys):
    options = "--preset", "fast", "--memory", "1GB"
    assert run("train", *bitext, "-o", tmp_path / "one", "--links", tmp_path / "links1", *options) == 0
    assert "parts on disk" not in capsys.readouterr().err
    monkeypatch.setattr("nmtalign.training.encoded_bitext.BYTES_PER_TOKEN", 10**9)
    assert run("train", *bitext, "-o", tmp_path / "two", "--links", tmp_path / "links2", *options) == 0
    err = capsys.readouterr().err
    assert "parts on disk" in err
    assert "warning: the links of all pairs are kept in memory" in err
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert (tmp_path / "links1").read_bytes() == (tmp_path / "links2").read_bytes()


def test_a_full_disk_ends_learning_and_is_named(bitext, tmp_path: Path, monkeypatch, capsys):
    def full(*given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("nmtalign.training.encoded_bitext.BYTES_PER_TOKEN", 10**9)
    monkeypatch.setattr(os, "pwrite", full)
    assert run("train", *bitext, "-o", tmp_path / "model", "--memory", "1G") != 0
    assert f"{tempfile.gettempdir()}: No space left on device" in capsys.readouterr().err
    assert not (tmp_path / "model.state").exists()
