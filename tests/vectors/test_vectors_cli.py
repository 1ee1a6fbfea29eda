"""``nmtalign vectors`` from the command line."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from nmtalign.aligner.opening import load
from nmtalign.cli.messages import warnings_to_stderr
from nmtalign.cli.program import group
from nmtalign.errors import DataError, UsageError
from nmtalign.vectors import storage
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from nmtalign.vectors.storage import load_both_languages, load_embeddings, save_embeddings
from nmtalign.vectors.subword_vectors import CharacterNgrams


def run(*arguments: object) -> Result:
    """Run a command; errors on purpose come out as they are."""
    with warnings_to_stderr():
        result = CliRunner().invoke(group, ["vectors", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def bitext(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "text.en", tmp_path / "text.fr"
    source.write_text("The cat\nThe dog\nThe cat's dog\n" * 5, encoding="utf-8")
    target.write_text("Le chat\nLe chien\nLe chien du chat\n" * 5, encoding="utf-8")
    return source, target


def test_learn_then_info(bitext: tuple[Path, Path], tmp_path: Path) -> None:
    options = ("--dimension", 2, "--tokenizer", "simple")
    result = run("learn", *bitext, "-o", tmp_path / "v", *options)
    assert "4 en and 4 fr words of 2 dimensions" in result.stderr
    source, target = load_both_languages(tmp_path / "v")
    assert source.vocabulary.words == ["the", "cat", "dog", "'s"]
    assert target.vocabulary.words == ["le", "chat", "chien", "du"]
    assert source.settings["text"] == {"tokenizer": "simple", "lowercase": True, "unicode": "nfc"}
    shown = run("info", tmp_path / "v", "--text", bitext[0], "--tokenizer", "simple").stdout
    assert "4 words, 2 dimensions, float32" in shown
    assert '"method": "counts"' in shown
    assert "40 of 40 words (100.0 %) have a vector" in shown


def test_info_counts_words_as_they_are_looked_up(tmp_path: Path) -> None:
    embeddings = Embeddings.of(["Paris", "e\u0301te\u0301", "zero"], [[1.0], [2.0], [0.0]])
    save_embeddings(embeddings, tmp_path / "v")
    (tmp_path / "text").write_text("PARIS Été\nParis zero\n", encoding="utf-8")
    shown = run("info", tmp_path / "v", "--text", tmp_path / "text").stdout
    assert "3 of 4 words (75.0 %) have a vector" in shown


def test_utf_16_is_read_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "x.vec").write_bytes("1 2\nété 1 2\n".encode("utf-16-le"))
    shown = run("info", tmp_path / "x.vec", "--encoding", "utf-16-le").stdout
    assert "x.vec: word2vec\n  1 words, 2 dimensions, float32\n  first words: été\n" in shown
    run("convert", tmp_path / "x.vec", tmp_path / "y.vec", "--to", "word2vec", "--encoding", "utf-16-le")
    assert (tmp_path / "y.vec").read_text(encoding="utf-8") == "1 2\nété 1.0 2.0\n"


def test_learned_vectors_align(bitext: tuple[Path, Path], tmp_path: Path) -> None:
    run("learn", *bitext, "-o", tmp_path / "v", "--dimension", 5)
    arguments = ["align", *map(str, bitext), "--vectors", str(tmp_path / "v"), "-o", str(tmp_path / "links")]
    assert CliRunner().invoke(group, arguments, catch_exceptions=False).exit_code == 0
    assert (tmp_path / "links").read_text().split("\n")[:2] == ["0-0 1-1", "0-0 1-1"]


def test_the_examples_of_help_run_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Shipped vectors have a name."""
    monkeypatch.chdir(tmp_path)
    load_all = storage.load_both_languages

    def load_few(*given: Any, **options: Any) -> list[Embeddings]:
        return [side.first(3000) for side in load_all(*given, **options)]

    monkeypatch.setattr(storage, "load_both_languages", load_few)  # neighbors of all words take seconds
    tried = 0
    for command in ([], ["info"]):
        said = CliRunner().invoke(group, ["vectors", *command, "--help"]).output
        example = " ".join(said.split("Example: nmtalign vectors ", 1)[1].split("\n\n")[0].split()).split(
            " Options"
        )[0]
        assert run(*example.split()).stdout
        tried += 1
    assert tried == 2
    Path("en_fr_vectors").mkdir()  # a folder of one's own comes first
    with pytest.raises(DataError, match="en_fr_vectors"):
        run("info", "en_fr_vectors")


def test_counts_of_a_learned_model(bitext: tuple[Path, Path], tmp_path: Path) -> None:
    model, options = tmp_path / "m", ("--subwords", "--dimension", 8)
    trained = ["train", *map(str, bitext), "-o", str(model), "--langs", "en,fr", "--tokenizer", "simple"]
    assert CliRunner().invoke(group, trained, catch_exceptions=False).exit_code == 0
    result = run("learn", "--model", model, "-o", tmp_path / "v", *options)
    assert "4 en and 4 fr words of 8 dimensions" in result.stderr
    assert load_both_languages(tmp_path / "v")[1].settings["text"]["tokenizer"] == "simple"
    for wrong, message in (
        ((*bitext, *options), "remove SOURCE and TARGET"),
        ((*options, "--tokenizer", "simple"), "--tokenizer cannot be combined with --model"),
    ):
        with pytest.raises(UsageError, match=message):
            run("learn", "--model", model, "-o", tmp_path / "w", *wrong)


def test_a_matrix_and_a_dictionary_align(bitext: tuple[Path, Path], tmp_path: Path) -> None:
    run("learn", *bitext, "-o", tmp_path / "v", "--dimension", 5)
    for language, side in zip(("en", "fr"), load_both_languages(tmp_path / "v"), strict=True):
        np.save(tmp_path / f"{language}.npy", side.matrix)
        rows = {word: row for row, word in enumerate(side.vocabulary)}
        (tmp_path / f"{language}.json").write_text(json.dumps(rows), encoding="utf-8")
    sides = tmp_path / "en.npy", tmp_path / "fr.npy"
    given = ("--source-vectors", sides[0], "--target-vectors", sides[1])
    arguments = ["align", *map(str, (*bitext, *given)), "-o", str(tmp_path / "links")]
    assert CliRunner().invoke(group, arguments, catch_exceptions=False).exit_code == 0
    assert (tmp_path / "links").read_text().split("\n")[0] == "0-0 1-1"
    found, expected = (load(vectors).align("the cat", "le chat") for vectors in (sides, tmp_path / "v"))
    assert found.links == expected.links
    with pytest.raises(UsageError, match=r"the same file, .*en\.json"):
        run("convert", sides[0], tmp_path / "en.json", "--to", "word2vec")


def test_learn_from_one_file(tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a b ||| x y\nb ||| y\n" * 4, encoding="utf-8")
    options = ("--dimension", 5, "--langs", "de,en")
    run("learn", "--pairs", tmp_path / "pairs", "-o", tmp_path / "v", *options)
    assert sorted(path.name for path in (tmp_path / "v").iterdir()) == ["de", "en", "pair.json"]


def test_convert_there_and_back(bitext: tuple[Path, Path], tmp_path: Path) -> None:
    run("learn", *bitext, "-o", tmp_path / "v", "--dimension", 5)
    run("convert", tmp_path / "v" / "en", tmp_path / "en.bin", "--to", "word2vec-binary")
    run("convert", tmp_path / "en.bin", tmp_path / "word2int_en.pkl", "--to", "word2int")
    found, first = load_embeddings(tmp_path / "embeddings_en.npz"), load_embeddings(tmp_path / "v" / "en")
    assert found.vocabulary == first.vocabulary
    np.testing.assert_array_equal(found.matrix, first.matrix)


def test_convert_says_what_is_left_out(shared_data: Path, tmp_path: Path) -> None:
    model = shared_data / "loader_samples" / "gensim" / "toy-model.bin"
    assert "sub-words; they are omitted" in run("convert", model, tmp_path / "x", "--to", "word2vec").stderr
    assert "warning" not in run("convert", model, tmp_path / "y", "--to", "folder").stderr
    assert "sub-words: 100 vectors of 3 to 6 characters" in run("info", tmp_path / "y").stdout


def test_a_hostile_pickle_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "word2int_en.pkl"
    path.write_bytes(b"cos\nsystem\n(Vtrue\ntR.")
    np.savez(tmp_path / "embeddings_en.npz", embeddings=np.eye(2))
    with pytest.raises(DataError, match=r"word2int_en\.pkl: the pickle asks for os\.system"):
        run("info", path)
    path.write_bytes(pickle.dumps({"a": 0}))
    assert "can run any code" in run("info", path, "--unsafe-pickle").stderr


def test_nothing_to_read_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected SOURCE and TARGET"):
        run("learn", "-o", tmp_path / "v")
    with pytest.raises(DataError, match="no such file"):
        run("info", tmp_path / "nothing")


# --- two spaces into one -------------------------------------------------------------------------


@pytest.fixture
def two_spaces(tmp_path: Path) -> tuple[Path, Path]:
    """A space and the same one turned; the words are w0, w1, ... in both languages."""
    random = np.random.default_rng(0)
    X = random.standard_normal((80, 10)).astype(np.float32)
    turn = np.linalg.qr(random.standard_normal((10, 10)))[0].astype(np.float32)
    words = Vocabulary.from_words([f"word{n}" for n in range(80)])
    for language, matrix in (("en", X), ("fr", X @ turn)):
        save_embeddings(Embeddings(words, matrix), tmp_path / f"x.{language}", format="word2vec")
    return tmp_path / "x.en", tmp_path / "x.fr"


def test_map_and_neighbors(two_spaces: tuple[Path, Path], tmp_path: Path) -> None:
    dictionary = tmp_path / "d.txt"
    dictionary.write_text("".join(f"word{n} word{n}\n" for n in range(60, 80)), encoding="utf-8")
    for options in (["--dictionary", dictionary], []):
        said = run("map", *two_spaces, "-o", tmp_path / "v", "--force", *options).stderr
        assert "seed pairs" in said
        assert "unrelated" not in said
        source, target = load_both_languages(tmp_path / "v")
        np.testing.assert_allclose(source.matrix, target.matrix, atol=1e-4)
    lines = run("info", tmp_path / "v", "--neighbors", "word3", "--neighbors", "zz")
    rows = [line.split("\t") for line in lines.stdout.split("\n")]
    assert rows[0] == ["word", "neighbor", "csls"]
    assert rows[1][:2] == ["word3", "word3"]
    assert len(rows) == 12
    assert "'zz' has no vector" in lines.stderr


def test_map_says_that_subwords_are_left_out(two_spaces: tuple[Path, Path], tmp_path: Path) -> None:
    source = load_embeddings(two_spaces[0])
    pieces = CharacterNgrams(np.ones((5, source.dimension), np.float32), 2, 3)
    save_embeddings(replace(source, subwords=pieces), tmp_path / "with")
    said = run("map", tmp_path / "with", two_spaces[1], "--langs", "en,fr", "-o", tmp_path / "v").stderr
    assert "; sub-words cannot be mapped and are omitted" in said
