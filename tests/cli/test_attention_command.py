"""nmtalign vectors attention: what it writes, who uses it, what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.aligner import attention_learning
from nmtalign.aligner.attention_learning import ATTENTION_SCHEDULE
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import save_pair
from tests.cli.test_align import run

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
NOMBRES = ("un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit")
ORDER = np.random.default_rng(0).permutation(
    len(NUMBERS)
)  # two spaces that only a projection brings together
PAIRS = 80  # enough parts for several steps of each pass


@pytest.fixture
def vectors(tmp_path) -> Path:
    """Vectors of words and of their translations, in two spaces."""
    english, french = (Vocabulary.from_words(words) for words in (NUMBERS, NOMBRES))
    rows = np.eye(len(NUMBERS), dtype=np.float32)
    sides = Embeddings(english, rows), Embeddings(french, rows[ORDER])
    save_pair(*sides, tmp_path / "vectors", languages=("en", "fr"), format="word2int")
    return tmp_path / "vectors"


@pytest.fixture
def bitext(tmp_path) -> tuple[Path, Path]:
    random = np.random.default_rng(1)
    chosen = [random.choice(len(NUMBERS), size=5, replace=False) for _ in range(PAIRS)]
    for name, words in (("text.en", NUMBERS), ("text.fr", NOMBRES)):
        lines = [" ".join(words[n] for n in numbers) for numbers in chosen]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path / "text.en", tmp_path / "text.fr"


@pytest.fixture
def few_steps(monkeypatch) -> None:
    """End the learning long before its end, where two runs of it are compared."""
    few = replace(ATTENTION_SCHEDULE, min_steps=60)
    monkeypatch.setattr(attention_learning, "ATTENTION_SCHEDULE", few)


@pytest.mark.parametrize("score", ["bahdanau", "scaled-dot"])
def test_what_is_learned_lies_in_the_folder_and_aligns(score, bitext, vectors, tmp_path, capsys):
    files = {path.name: path.read_bytes() for path in vectors.iterdir()}
    command = ["vectors", "attention", *bitext, "--vectors", vectors, "--score", score, "--size", 32]
    assert run(*command) == 0
    said = capsys.readouterr().err
    assert "pass 1 of at most" in said
    assert f"nmtalign: {score} of 32 units, held-out loss " in said
    assert files == {name: (vectors / name).read_bytes() for name in files}
    with np.load(vectors / f"{score}.npz") as found:
        about = json.loads(bytes(found["about"]))
    assert about["score"] == score
    assert about["units"] == 32
    assert about["pairs"] == PAIRS
    assert about["aligner"] == "learned from the same text"
    for positions in ("none", "diagonal", "hmm"):
        assert (
            run("align", *bitext, "--vectors", vectors, "--score", score, "--positions", positions, "-v") == 0
        )
        out, err = capsys.readouterr()
        assert f"score={score}({score}.npz)" in err
        assert set(out.splitlines()) == {"0-0 1-1 2-2 3-3 4-4"}
    aligner = na.load(vectors, score=score, positions="none")
    aligner.save(tmp_path / "saved")
    saved = na.load(tmp_path / "saved")
    assert saved.description == aligner.description
    for opened in (aligner, saved):
        pair = opened.align("two five one", "un deux cinq")
        assert [tuple(link) for link in pair.links] == [(0, 1), (1, 2), (2, 0)]


@pytest.mark.usefixtures("few_steps")
def test_another_run_or_number_of_workers_writes_the_same_bytes(bitext, vectors):
    command = ["vectors", "attention", *bitext, "--vectors", vectors, "--score", "bahdanau", "--size", 8]
    found = []
    for _ in range(2):
        assert run(*command, "--force") == 0
        found.append((vectors / "bahdanau.npz").read_bytes())
    pairs = na.read_bitext(*bitext)
    na.learn_attention(pairs, vectors, score="bahdanau", units=8, workers=1).save(vectors, overwrite=True)
    assert found[0] == found[1] == (vectors / "bahdanau.npz").read_bytes()


def test_an_older_file_is_kept_but_for_force(bitext, vectors, capsys):
    (vectors / "bahdanau.npz").write_bytes(b"mine")
    command = ["vectors", "attention", *bitext, "--vectors", vectors, "--score", "bahdanau"]
    assert run(*command) == 2
    said = capsys.readouterr().err
    assert "bahdanau.npz already exists; pass --force to replace it" in said
    assert "held-out loss" not in said  # refused before the work
    assert (vectors / "bahdanau.npz").read_bytes() == b"mine"


def test_vectors_and_what_was_learned_for_them_are_replaced_together(bitext, vectors):
    (vectors / "bahdanau.npz").write_bytes(b"of the older vectors")
    command = ["vectors", "learn", *bitext, "-o", vectors, "--dimension", 4]
    assert run(*command) == 2
    assert run(*command, "--force") == 0
    assert not (vectors / "bahdanau.npz").exists()


def test_bahdanau_without_weights_names_the_command(bitext, vectors, capsys):
    assert run("align", *bitext, "--vectors", vectors, "--score", "bahdanau") == 2
    wanted = f"nmtalign vectors attention SOURCE TARGET --vectors {vectors} --score bahdanau"
    assert wanted in capsys.readouterr().err


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("score", ["bahdanau", "scaled-dot"])
def test_two_files_of_vectors_align_in_python_as_their_folder_does(score, bitext, vectors):
    assert run("vectors", "attention", *bitext, "--vectors", vectors, "--score", score, "--size", 8) == 0
    files = vectors / "word2int_en.pkl", vectors / "word2int_fr.pkl"
    of_files = na.load(files, score=score, parameters=vectors / f"{score}.npz", positions="none")
    of_folder = na.load(vectors, score=score, positions="none")
    pair = "one two three", "trois un deux"
    np.testing.assert_array_equal(of_files.align(*pair).scores, of_folder.align(*pair).scores)


def test_two_files_of_vectors_without_parameters_say_what_has_them(bitext, vectors, capsys):
    two = "--source-vectors", vectors / "word2int_en.pkl", "--target-vectors", vectors / "word2int_fr.pkl"
    assert run("align", *bitext, *two, "--score", "bahdanau") == 2
    told = "which two files do not have; pass a folder of vectors with bahdanau.npz"
    assert told in capsys.readouterr().err
    with pytest.raises(na.UsageError, match=r"choose one by `score`, not cosine"):
        na.load(vectors, score="cosine", parameters=vectors / "bahdanau.npz")


@pytest.mark.parametrize("score", ["bahdanau", "scaled-dot"])
def test_parameters_of_other_vectors_are_refused(score, bitext, vectors, capsys):
    arrays = ("W", "U") if score == "bahdanau" else ("W_q", "W_k")
    others = {"v": np.ones(2)} if score == "bahdanau" else {}
    np.savez(vectors / f"{score}.npz", **{name: np.ones((3, 2)) for name in arrays}, **others)
    assert run("align", *bitext, "--vectors", vectors, "--score", score) == 3
    assert f"{score}.npz, {arrays[0]}" in capsys.readouterr().err


def test_a_text_without_known_words_is_refused(vectors, tmp_path, capsys):
    for name in ("x.en", "x.fr"):
        (tmp_path / name).write_text("cat dog\n" * 9)
    command = ["vectors", "attention", tmp_path / "x.en", tmp_path / "x.fr", "--vectors", vectors]
    assert run(*command, "--score", "scaled-dot") == 3
    assert "word of the text has a vector" in capsys.readouterr().err
    assert not (vectors / "scaled-dot.npz").exists()


@pytest.mark.usefixtures("few_steps")
def test_python_takes_an_aligner_and_refuses_scores_without_parameters(vectors, bitext):
    pairs = list(na.read_bitext(*bitext))
    model = na.train(pairs)
    learned = na.learn_attention(pairs, vectors, score="scaled-dot", model=model, units=8)
    assert {name: array.shape for name, array in learned.arrays.items()} == {
        "W_q": (8, 8),
        "W_k": (8, 8),
        "null": (2,),
        "null_probability": (),
    }
    hmm = na.fit_to(na.load(vectors, positions="hmm", score=learned.score), pairs)
    assert hmm.positions.null == model.positions.null
    assert hmm.scorer.score.scale == 1
    assert learned.save(vectors) == vectors / "scaled-dot.npz"
    with pytest.raises(na.UsageError, match="already exists; pass"):
        learned.save(vectors)
    learned.save(vectors, overwrite=True)
    with pytest.raises(na.UsageError, match="bahdanau, scaled-dot, found 'cosine'"):
        na.learn_attention(pairs, vectors, score="cosine")
    with pytest.raises(na.UsageError, match="`units` as an integer of at least 1"):
        na.learn_attention(pairs, vectors, units=0)


def test_of_one_pair_nothing_is_held_out_and_python_says_so(vectors):
    pair = [("one two", "un deux")]
    with pytest.warns(UserWarning, match="too few pairs to hold any out"):
        learned = na.learn_attention(pair, vectors, model=na.load(), units=4)
    assert str(learned).endswith(", 1 pair")


def test_an_empty_text_is_bad_data(vectors, tmp_path, capsys):
    (tmp_path / "empty").touch()
    texts = tmp_path / "empty", tmp_path / "empty"
    for model in ([], ["--model", na.resolve_path("en_fr_model")]):
        assert run("vectors", "attention", *texts, "--vectors", vectors, "--score", "scaled-dot", *model) == 3
        assert "expected sentence pairs" in capsys.readouterr().err
    assert not (vectors / "scaled-dot.npz").exists()
