"""`--count`: links of words, tokens or pieces, the same in every command and in Python."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.files.paths import bundled_path
from nmtalign.names import SIDES
from nmtalign.text.subwords import load_segmenter
from tests.cli.running import lines, run, write
from tests.conftest import REPOSITORY

SAMPLE = bundled_path("en_fr_sample")
ALL_PAIRS = [(pair.source, pair.target) for pair in na.read_bitext(SAMPLE / "text.en", SAMPLE / "text.fr")]
PAIRS = [pair for pair in ALL_PAIRS if len(pair[0].split()) < 14][:60]


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("text")
    return [write(folder / f"text.{n}", [pair[n] for pair in PAIRS]) for n in (0, 1)]


@pytest.fixture(scope="module")
def models(text) -> list[Path]:
    """A sentencepiece model of each side."""
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    paths = []
    for path in text:
        out = io.BytesIO()
        options = {"vocab_size": 300, "hard_vocab_limit": False, "minloglevel": 2}
        trainer.train(sentence_iterator=iter(lines(path)), model_writer=out, **options)
        paths.append(path.with_suffix(f"{path.suffix}.model"))
        paths[-1].write_bytes(out.getvalue())
    return paths


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory) -> Path:
    """A byte-level BPE of both sides."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([side for pair in PAIRS for side in pair], vocab_size=500)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def outputs(folder: Path) -> list[str | Path]:
    return ["-o", folder / "links", "--tokens", folder / "cut", "--guided", folder / "guided", "-q"]


@pytest.mark.parametrize("kind", ["sentencepiece", "tokenizers"])
def test_a_sub_word_model_cuts_raw_lines(text, models, tokenizer_json, tmp_path, kind):
    files = models if kind == "sentencepiece" else [tokenizer_json]
    spm = ",".join(map(str, files))
    assert run("align", *text, "--spm", spm, *outputs(tmp_path)) == 0
    batch = na.load().align_batch(PAIRS)
    for n, pair in enumerate(PAIRS):
        sides = [
            load_segmenter(str(path)).encode(line)
            for path, line in zip([files[0], files[-1]], pair, strict=True)
        ]
        assert [lines(tmp_path / f"cut.{side}")[n] for side in SIDES] == [" ".join(p) for p, _ in sides]
        words = [_word_spans(line) for line in pair]
        expected = {
            (s, t)
            for word, other in batch.links(n)
            for s in _overlapping(words[0][word], sides[0][1])
            for t in _overlapping(words[1][other], sides[1][1])
        }
        assert lines(tmp_path / "links")[n] == " ".join(f"{s}-{t}" for s, t in sorted(expected))
    found = na.load().align_batch(PAIRS, spm=files if len(files) == 2 else files[0])
    assert [" ".join(f"{s}-{t}" for s, t in found.links(n)) for n in range(len(PAIRS))] == lines(
        tmp_path / "links"
    )
    assert " ".join(found[3].tokens[0]) == lines(tmp_path / "cut.source")[3]
    assert found[3].forward.shape == tuple(map(len, found[3].tokens[::-1]))
    assert found[3].links == found.links(3)


def _word_spans(line: str) -> list[tuple[int, int]]:
    spans, position = [], 0
    for word in line.split(" "):
        if word:
            spans.append((position, position + len(word)))
        position += len(word) + 1
    return spans


def _overlapping(word: tuple[int, int], pieces: list[tuple[int, int]]) -> list[int]:
    """Return pieces as OpusTrainer's ``slice_cmp`` compares them with a word."""
    return [n for n, (start, stop) in enumerate(pieces) if not (word[1] <= start or word[0] >= stop)]


def test_marked_pieces_and_a_model_give_the_same_links(text, models, tmp_path):
    spm = ",".join(map(str, models))
    assert run("align", *text, "--spm", spm, *outputs(tmp_path)) == 0
    cut = [tmp_path / f"cut.{side}" for side in SIDES]
    again = "--pieces", "sentencepiece", "--count", "pieces", "-o", tmp_path / "again", "-q"
    assert run("align", *cut, *again) == 0
    assert lines(tmp_path / "again") == lines(tmp_path / "links")
    shards = "--out-shards", tmp_path / "run", "--shard-pairs", "25", "--workers", "2"
    assert run("align", *cut, *again, *shards) == 0
    assert lines(tmp_path / "again") == lines(tmp_path / "links")


def test_train_counts_what_align_counts(text, models, tmp_path):
    spm = ",".join(map(str, models))
    common = "--preset", "fast", "-q", "--tokenizer", "simple"
    for count in (["--count", "tokens"], ["--spm", spm], ["--count", "words"], []):
        name = "-".join(count[:2]).replace("/", "").replace(",", "")[-40:] or "plain"
        own = "--links", tmp_path / "own", "--probabilities", tmp_path / "p"
        assert run("train", *text, "-o", tmp_path / name, *common, *own, *count) == 0
        options = (
            "--model",
            tmp_path / name,
            "-o",
            tmp_path / "links",
            "--probabilities",
            tmp_path / "q",
            "-q",
        )
        assert run("align", *text, *options, *count) == 0
        assert lines(tmp_path / "own") == lines(tmp_path / "links")
        assert lines(tmp_path / "p") == lines(tmp_path / "q")


def test_train_joins_sub_words(text, models, tmp_path):
    cut = []
    for path, model in zip(text, models, strict=True):
        encode = load_segmenter(str(model)).encode
        cut.append(write(tmp_path / path.name, [" ".join(encode(line)[0]) for line in lines(path)]))
    common = "--preset", "fast", "-q", "--pieces", "sentencepiece"
    own = "--links", tmp_path / "own", "--count", "pieces"
    assert run("train", *cut, "-o", tmp_path / "model", *common, *own) == 0
    options = "--model", tmp_path / "model", "-o", tmp_path / "links", *common[3:], "--count", "pieces", "-q"
    assert run("align", *cut, *options) == 0
    assert lines(tmp_path / "own") == lines(tmp_path / "links")
    words = na.load(tmp_path / "model").scorer.vocabularies[0]
    assert "house" in words or "the" in words
    assert not any("▁" in word for word in words)


def test_links_from_counts_pieces(tmp_path):
    np.savez(tmp_path / "m.npz", np.eye(4)[None, None])
    pieces = write(tmp_path / "c", ["un@@ happ@@ y cat"]), write(tmp_path / "d", ["ch@@ at no@@ ir"])
    options = "--matrices", tmp_path / "m.npz", "--pieces", "bpe", "-o", tmp_path / "links", "-q"
    assert run("links-from", *pieces, *options) == 0
    assert lines(tmp_path / "links") == ["0-0 1-1"]
    assert run("links-from", *pieces, *options, "--count", "pieces", "--guided", tmp_path / "guided") == 0
    found = lines(tmp_path / "links")[0]
    assert found == "0-0 0-1 1-0 1-1 2-0 2-1 3-2 3-3"
    assert lines(tmp_path / "guided") == [f"un@@ happ@@ y cat\tch@@ at no@@ ir\t{found}"]
    sides = [[(lines(path)[0]) for path in pieces]]
    batch = na.links_from(sides, matrices=tmp_path / "m.npz", pieces="bpe", count="pieces")
    assert " ".join(f"{s}-{t}" for s, t in batch.links(0)) == found
    assert run("links-from", *pieces, *options, "--count", "tokens") == 2


@pytest.mark.parametrize("values", ["forward", "reverse", "combined", "scores"])
def test_attention_follows_the_unit(text, models, tmp_path, values):
    spm = ",".join(map(str, models))
    options = "-q", "--attention", tmp_path / "m.npz", "--values", values, "-o", tmp_path / "links"
    assert run("align", *text, *options) == 0
    words = np.load(tmp_path / "m.npz")
    assert run("align", *text, *options, "--spm", spm, "--tokens", tmp_path / "cut") == 0
    pieces = np.load(tmp_path / "m.npz")
    matrices = [name for name in pieces.files if name.startswith("pair")]
    assert matrices == [name for name in words.files if name.startswith("pair")]
    for n, (source, target) in enumerate(
        zip(lines(tmp_path / "cut.source"), lines(tmp_path / "cut.target"), strict=True)
    ):
        matrix = pieces[f"pair-{n + 1}"]
        assert matrix.shape == (len(target.split()), len(source.split()))
        if values in ("forward", "reverse"):
            sums = matrix.sum(axis=1 if values == "forward" else 0)
            own = words[f"pair-{n + 1}"].sum(axis=1 if values == "forward" else 0)
            assert sums.max() == pytest.approx(own.max(), abs=1e-5)
        else:
            assert np.nanmax(matrix) == words[f"pair-{n + 1}"].max()


def test_an_expert_counts_the_same_unit(text, models, tmp_path):
    spm = ",".join(map(str, models))
    batch = na.load().align_batch(PAIRS)
    words = write(
        tmp_path / "words", [" ".join(f"{s}-{t}" for s, t in batch.links(n)) for n in range(len(PAIRS))]
    )
    assert (
        run("align", *text, "--spm", spm, "-o", tmp_path / "pieces", "-q", "--tokens", tmp_path / "cut") == 0
    )
    assert run("align", *text, "--expert", words, "-o", tmp_path / "links", "-q") == 0
    cut = [tmp_path / f"cut.{side}" for side in SIDES]
    options = "--pieces", "sentencepiece", "-q", "--expert"
    assert run("align", *cut, *options, words, "-o", tmp_path / "joined") == 0
    assert lines(tmp_path / "joined") == lines(tmp_path / "links")
    options = "--count", "pieces", *options, tmp_path / "pieces", "-o", tmp_path / "expanded"
    assert run("align", *cut, *options) == 0
    assert run("align", *text, "--expert", words, "-o", tmp_path / "raw", "-q", "--spm", spm) == 0
    assert lines(tmp_path / "expanded") == lines(tmp_path / "raw")


def test_lossless_tokens_give_back_the_lines(tmp_path, capsys):
    given = [
        ["The  cat’s\u00a0paw, (black).", " leading", "trailing ", "", "10\u00a0000 $"],
        ["Le chat noir.", "mené", "suivi", "vide", "10\u202f000 $"],
    ]
    files = write(tmp_path / "a", given[0]), write(tmp_path / "b", given[1])
    options = "--count", "tokens+spaces", "--tokens", tmp_path / "cut", "-o", tmp_path / "links", "-q"
    assert run("align", *files, *options, "--guided", tmp_path / "guided") == 0
    for side, name in enumerate(SIDES):
        cut = lines(tmp_path / f"cut.{name}")
        assert [line.replace(" ", "").replace("▁", " ") for line in cut] == given[side]
        assert [line.split("\t")[side] for line in lines(tmp_path / "guided")] == cut
        # a program that splits at any white space counts the same tokens
        assert [len(line.split()) for line in cut] == [len(line.split(" ")) if line else 0 for line in cut]
    tokens = [line.split(" ") for line in lines(tmp_path / "cut.source")]
    linked = {
        tokens[n][int(link.split("-")[0])]
        for n, line in enumerate(lines(tmp_path / "links"))
        for link in line.split()
    }
    assert "▁" not in linked
    marked = write(tmp_path / "c", ["a ▁ b", *given[0][1:]]), files[1]
    assert run("align", *marked, *options) == 3
    assert "c, line 1: the line has '▁'" in capsys.readouterr().err
    skipped = "--on-error", "skip-marked", "--error-report", tmp_path / "report"
    assert run("align", *marked, *options, *skipped) == 0
    assert lines(tmp_path / "cut.source")[0] == lines(tmp_path / "links")[0] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--count", "pieces"], "--pieces bpe"),
        (["--spm", "x.model", "--pieces", "bpe"], "cannot be combined"),
        (["--spm", "x.model", "--count", "words"], "with --spm, positions count pieces"),
        (["--count", "tokens+spaces"], "--tokens PREFIX"),
        (["--count", "tokens+spaces", "--tokens", "cut", "--spm", "x.model"], "--pieces and --spm"),
        (["--spm", "a,b,c"], "one for each side"),
    ],
)
def test_settings_that_contradict_each_other_are_usage_errors(
    text, tmp_path, monkeypatch, capsys, options, message
):
    monkeypatch.chdir(tmp_path)
    assert run("align", *text, *options) == 2
    assert message in capsys.readouterr().err


def test_files_that_are_no_models_are_named(text, tmp_path, capsys):
    pytest.importorskip("sentencepiece")
    for name in ("x.model", "x.json"):
        write(tmp_path / name, ["nothing"])
        assert run("align", *text, "--spm", tmp_path / name) == 3
        assert f"error: {tmp_path / name}: expected" in capsys.readouterr().err
    assert run("align", *text, "--spm", tmp_path / "nothing.model") == 3
    assert f"error: {tmp_path / 'nothing.model'}: No such file" in capsys.readouterr().err


def test_the_log_says_what_was_counted(text, tmp_path, capsys):
    assert run("align", *text, "-o", tmp_path / "links", "--count", "tokens", "--log-json") == 0
    events = map(json.loads, capsys.readouterr().err.splitlines())
    assert [event["count"] for event in events if event["event"] == "aligned"] == ["tokens"]


def test_python_counts_tokens():
    batch = na.load().align_batch([("The cat sleeps.", "Le chat dort.")], count="tokens")
    assert batch[0].tokens[0] == ("The", "cat", "sleeps", ".")
    assert batch.links(0) == [(n, n) for n in range(4)]
    assert batch[0].links == batch.links(0)
    with pytest.raises(na.UsageError, match="lists of words"):
        na.load().align_batch([(["a"], ["b"])], count="tokens")


@pytest.mark.parametrize("model", [[], ["--vectors", "en_fr_vectors"]])
def test_costs_are_low_where_pair_scores_are_high(text, tmp_path, model):
    targets = lines(text[1])
    wrong = range(0, 60, 6)
    shifted = [targets[(n + 29) % 60] if n in wrong else line for n, line in enumerate(targets)]
    target = write(tmp_path / "target", [*shifted[:-1], ""])
    outputs = "--costs", tmp_path / "costs", "--pair-scores", tmp_path / "scores", "-o", tmp_path / "links"
    assert run("align", text[0], target, *outputs, *model, "-q") == 0
    costs, scores = np.loadtxt(tmp_path / "costs"), np.loadtxt(tmp_path / "scores")
    assert costs.shape == (60, 2)
    assert np.isfinite(costs).all()
    assert (costs[-1] == costs.max()).all()
    right = np.delete(np.arange(59), wrong)
    for cost in costs.T:
        lower = cost[right][:, None] < cost[list(wrong)]
        assert lower.mean() > (0.95 if not model else 0.5)
        order = scores[:, None] < scores  # most pairs of pairs are in the same order
        assert ((cost[:, None] > cost) & order).sum() > 0.7 * order.sum()
    sharded = "--out-shards", tmp_path / "run", "--shard-pairs", "25", "--workers", "2"
    written = (tmp_path / "costs").read_bytes()
    assert run("align", text[0], target, *outputs, *model, *sharded, "-q") == 0
    assert (tmp_path / "costs").read_bytes() == written


def test_costs_as_opusfilter_has_them(text, tmp_path):
    for name in ("costs", "costs.jsonl"):
        assert run("align", *text, "--costs", tmp_path / name, "-o", tmp_path / "links", "-q") == 0
    rows = [json.loads(line) for line in lines(tmp_path / "costs.jsonl")]
    expected = np.loadtxt(tmp_path / "costs").tolist()
    assert rows == [{"WordAlignFilter": costs} for costs in expected]
    sharded = "--out-shards", tmp_path / "run", "--shard-pairs", "25"
    written = (tmp_path / "costs.jsonl").read_bytes()
    assert run("align", *text, "--costs", tmp_path / "costs.jsonl", "-o", tmp_path / "l", "-q", *sharded) == 0
    assert (tmp_path / "costs.jsonl").read_bytes() == written


def test_marian_reads_links_and_shortlists_of_pieces(text, models, tmp_path):
    """Rules of Marian: a line for each pair, positions inside of the pieces, sorted, no empty field."""
    spm = ",".join(map(str, models))
    assert run("align", *text, "--spm", spm, *outputs(tmp_path)) == 0
    pieces = [[line.split(" ") for line in lines(tmp_path / f"cut.{side}")] for side in SIDES]
    links = lines(tmp_path / "links")
    assert len(links) == len(pieces[0]) == len(pieces[1])
    for line, source, target in zip(links, *pieces, strict=True):
        fields = line.split(" ") if line else []
        assert "" not in fields
        found = [tuple(map(int, field.split("-"))) for field in fields]
        assert found == sorted(set(found))
        assert all(s < len(source) and t < len(target) for s, t in found)
    files = [tmp_path / f"cut.{side}" for side in SIDES]
    assert run("lexicon", *files, tmp_path / "links", "-o", tmp_path / "lex", "-q") == 0
    known = [{piece for line in side for piece in line} for side in pieces]
    rows = [line.split(" ") for line in lines(tmp_path / "lex.s2t")]
    assert any("NULL" in row for row in rows)
    for target, source, probability in rows:
        if "NULL" in (source, target):  # skipped by Marian
            continue
        assert source in known[0]
        assert target in known[1]
        assert 0 < float(probability) <= 1


def test_a_lexicon_of_pieces_is_that_of_the_piece_links(text, models, tmp_path):
    """Links of words with the models, or links of pieces with the pieces: the same files."""
    spm = ",".join(map(str, models))
    assert (
        run("align", *text, "--spm", spm, "--tokens", tmp_path / "cut", "-o", tmp_path / "pieces", "-q") == 0
    )
    assert run("align", *text, "-o", tmp_path / "words", "-q") == 0
    cut = [tmp_path / f"cut.{side}" for side in SIDES]
    for name, given in {
        "one": [*cut, tmp_path / "pieces"],
        "two": [*text, tmp_path / "words", "--spm", spm],
    }.items():
        written = [f"--{kind}={tmp_path / name}.{kind}" for kind in ("vmap", "priors")]
        assert run("lexicon", *given, "-o", tmp_path / name, *written, "-q") == 0
    assert len(lines(tmp_path / "two.s2t")) > 300
    for kind in ("s2t", "t2s", "tsv", "vmap", "priors"):
        assert lines(tmp_path / f"two.{kind}") == lines(tmp_path / f"one.{kind}"), kind
    known = [{piece for line in lines(path) for piece in line.split(" ")} for path in cut]
    row = next(line.split(" ") for line in lines(tmp_path / "two.s2t") if "▁the " in line)
    assert row[1] in known[0]
    assert row[0] in known[1]


def test_a_lexicon_of_pieces_by_hand(tmp_path, capsys, monkeypatch):
    """Pieces without a linked word count as linked to the null word, also those of spaces alone."""

    class Halves:
        def encode(self, line):
            spans = [(n, min(n + 2, len(line))) for n in range(0, len(line), 2)]
            return [line[a:b].replace(" ", "▁") for a, b in spans], spans

    monkeypatch.setattr("nmtalign.corpus.units.load_segmenter", lambda file: Halves())
    given = [write(tmp_path / "a", ["abc de", "ab"]), write(tmp_path / "b", ["xy", "xy"])]
    given.append(write(tmp_path / "links", ["0-0", ""]))
    assert run("lexicon", *given, "--spm", "any") == 0
    rows = [line.split("\t")[:5] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["ab", "xy", "1", "0.5000", "0.3333"], ["c▁", "xy", "1", "1.0000", "0.3333"]]


@pytest.mark.parametrize(
    ("options", "code"), [(["--lowercase"], 2), (["--model", "en_fr_model"], 2), ([], 3)]
)
def test_pieces_of_a_lexicon_need_links_and_a_model(text, models, tmp_path, capsys, options, code):
    links = write(tmp_path / "links", ["0-99"] * 60)
    given = [] if "--model" in options else [*text, links]
    assert run("lexicon", *given, "--spm", models[0], *options) == code
    err = capsys.readouterr().err
    assert (
        "--lowercase and --spm cannot" in err
        or "or --model DIR alone" in err
        or "link 0-99 is outside" in err
    )
    assert run("lexicon", *text, links, "--spm", tmp_path / "none.model") == 3


def test_fairseq_and_opennmt_read_links_of_pieces(text, models, tmp_path, monkeypatch):
    """Rules of both: positions below the number of pieces; of OpenNMT-py: no pair without links.

    fairseq splits lines at all white space, OpenNMT-py at spaces. OpenNMT-py fails at an empty line of links.
    """
    monkeypatch.chdir(tmp_path)
    raw = [
        write(tmp_path / path.name, [*lines(path), ending])
        for path, ending in zip(text, ["", "x"], strict=True)
    ]
    spm = ",".join(map(str, models))
    assert run("align", *raw, "--spm", spm, "--guided", "pieces.tsv", "-o", "pieces.align", "-q") == 0
    assert lines(tmp_path / "pieces.align")[-1] == ""
    page = (REPOSITORY / "docs" / "howtos" / "guided_training.md").read_text(encoding="utf-8")
    command = next(line for line in page.splitlines() if line.startswith("awk "))
    subprocess.run(["bash", "-c", command], check=True)
    sides = [lines(tmp_path / f"train.{side}") for side in ("en", "fr")]
    links = lines(tmp_path / "train.align")
    assert len(links) == len(sides[0]) == len(sides[1]) == sum(map(bool, lines(tmp_path / "pieces.align")))
    for line, source, target in zip(links, *sides, strict=True):
        positions = [tuple(map(int, field.split("-"))) for field in line.strip().split(" ")]
        for sizes in (
            [len(source.split()), len(target.split())],
            [source.count(" ") + 1, target.count(" ") + 1],
        ):
            assert all(s < sizes[0] and t < sizes[1] for s, t in positions)
