"""Options of train that mix given word vectors with the lexicon."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nmtalign.vectors.storage import save_embeddings, save_pair
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import run
from tests.scorers.test_dense_training import VECTORS

TOY = toy_bitext(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text, vectors as a folder of both languages and as files, and vectors that are shorter."""
    path = tmp_path_factory.mktemp("vectors")
    TOY.write(path)
    save_pair(*VECTORS, path / "vectors", languages=("xx", "yy"))
    short = replace(VECTORS[1], matrix=VECTORS[1].matrix[:, :7])
    for name, own in {"first": VECTORS[0], "second": VECTORS[1], "short": short}.items():
        save_embeddings(own, path / name, format="folder")
    return path


def command(folder: Path, model: Path, *options: str) -> list[object]:
    given = [folder / word[1:] if word.startswith("@") else word for word in options]
    return ["train", folder / "source", folder / "target", "-o", model, "--preset", "fast", *given]


def test_a_folder_or_two_files_make_the_same_model(folder, tmp_path: Path, capsys):
    places = ("--vectors", "@vectors"), ("--source-vectors", "@first", "--target-vectors", "@second")
    for name, options in zip(("one", "two"), places, strict=True):
        assert run(*command(folder, tmp_path / name, *options, "--vectors-weight", "0.25")) == 0
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert "scorer.vectors.source.npy" in one
    capsys.readouterr()
    text = folder / "source", folder / "target"
    assert run("align", *text, "--model", tmp_path / "one", "-o", tmp_path / "links", "-v") == 0
    assert "scorers=lexicon,vectors " in capsys.readouterr().err
    alone = "--scorers", "vectors", "-v"
    assert run("align", *text, "--model", tmp_path / "one", "-o", tmp_path / "new", *alone) == 0
    assert "scorers=vectors " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--source-vectors", "@first"), 2, "--source-vectors and --target-vectors must be used together"),
        (("--vectors", "@vectors", "--target-vectors", "@second"), 2, "must be used together"),
        (
            ("--vectors", "@vectors", "--source-vectors", "@first", "--target-vectors", "@second"),
            2,
            "--vectors and --source-vectors cannot be combined",
        ),
        (("--vectors-weight", "0.2"), 2, "pass --vectors"),
        (("--vectors", "@vectors", "--vectors-weight", "1.5"), 2, "1.5 is not in the range"),
        (("--source-vectors", "@first", "--target-vectors", "@short"), 3, "has 24 dimensions, "),
        (
            ("--source-vectors", "@second", "--target-vectors", "@first"),
            3,
            "the vectors know none of the source words; are the languages swapped?",
        ),
    ],
)
def test_mistakes_are_told_in_one_line_before_training(
    folder, tmp_path: Path, capsys, options, code, message
):
    assert run(*command(folder, tmp_path / "model", *options)) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("rror: ") == 1
    assert "model 1, iteration" not in err
    assert not (tmp_path / "model").exists()
