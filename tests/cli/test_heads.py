"""Heads of a learned model on the command line: chosen in training, and again when it aligns."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from nmtalign.cli import main
from nmtalign.models.loading import load
from tests.models.toy_language import toy_bitext

TOY = toy_bitext(60)


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return TOY.write(tmp_path_factory.mktemp("bitext"))


@pytest.fixture(scope="module")
def model(bitext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("heads") / "model"
    heads = "lexicon, vectors,bahdanau"
    assert run("train", *bitext, "-o", folder, "--preset", "fast", "--heads", heads, "-q") == 0
    return folder


def scores(bitext, tmp_path: Path, *options: object) -> str:
    out = tmp_path / "scores"
    assert run("align", *bitext, "-o", tmp_path / "links", "--scores", out, *options) == 0
    return out.read_text()


def test_each_choice_of_heads_aligns_in_its_own_way(bitext, model, tmp_path: Path):
    choices = [
        "lexicon",
        "vectors",
        "bahdanau",
        "lexicon,vectors",
        "lexicon,bahdanau",
        "lexicon,vectors,bahdanau",
    ]
    found = [scores(bitext, tmp_path, "--model", model, "--heads", heads) for heads in choices]
    assert len(set(found)) == len(choices)
    assert found[-1] == scores(bitext, tmp_path, "--model", model)
    assert found[2] == scores(bitext, tmp_path, "--model", model, "--score", "bahdanau")


def test_the_heads_stand_in_the_settings(model):
    assert load(model).heads == ("lexicon", "vectors", "bahdanau")
    for heads in (("bahdanau",), ("vectors",), ("vectors", "bahdanau"), ("lexicon", "bahdanau")):
        aligner = load(model, heads=heads)
        assert aligner.heads == heads
        assert f"heads={','.join(heads)} " in aligner.settings


def test_heads_that_are_not_there(bitext, model, tmp_path: Path, capsys):
    folder = tmp_path / "model"
    assert run("train", *bitext, "-o", folder, "--preset", "fast", "-q") == 0
    assert load(folder).heads == ("lexicon",)
    capsys.readouterr()
    align = ("align", *bitext, "-o", tmp_path / "links")
    assert run(*align, "--model", folder, "--heads", "vectors") == 2
    assert "this model has the heads lexicon, not vectors" in capsys.readouterr().err
    assert run(*align, "--model", folder, "--score", "bahdanau") == 2
    assert run(*align, "--model", model, "--heads", "wings") == 2
    assert (
        "expected heads among lexicon, vectors, spectral, bahdanau, attention, found wings"
        in capsys.readouterr().err
    )
    assert run("train", *bitext, "-o", tmp_path / "other", "--heads", "vectors") == 2
    assert "lexicon,vectors" in capsys.readouterr().err


def test_named_heads_are_all_that_a_preset_learns(bitext, tmp_path: Path):
    assert run("train", *bitext, "-o", tmp_path / "a", "--preset", "best", "--heads", "lexicon", "-q") == 0
    assert load(tmp_path / "a").heads == ("lexicon",)
    assert not list((tmp_path / "a").glob("*.vectors.npy"))


def test_a_picture_of_every_head_beside_the_joint_one(model, tmp_path: Path, capsys):
    picture = tmp_path / "heads.svg"
    pair = TOY.source[0], TOY.target[0]
    assert run("heatmap", *pair, "--model", model, "--view", "heads", "-o", picture) == 0
    nodes = ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    assert {"lexicon", "vectors", "bahdanau", "joint"} <= {node.text for node in nodes}
    assert run("heatmap", *pair, "--vectors", "en_fr_vectors", "--view", "heads", "-o", picture) == 2
    assert "learned models" in capsys.readouterr().err


def test_a_head_over_words(bitext, tmp_path: Path, capsys):
    words = ("--preset", "fast", "-q", "--bahdanau-inputs", "words", "--heads")
    assert run("train", *bitext, "-o", tmp_path / "model", *words, "lexicon,vectors,bahdanau") == 0
    assert scores(bitext, tmp_path, "--model", tmp_path / "model", "--score", "bahdanau")
    assert run("train", *bitext, "-o", tmp_path / "other", *words, "lexicon,bahdanau") == 2
    assert "needs their vectors" in capsys.readouterr().err


def test_gold_links_weigh_the_heads(bitext, tmp_path: Path, capsys):
    gold = tmp_path / "gold"
    gold.write_text("".join(" ".join(f"{s}-{t}" for s, t in sorted(links)) + "\n" for links in TOY.links))
    train = ("train", *bitext, "-o", tmp_path / "model", "--gold", gold)
    assert run(*train, "--preset", "fast") == 2
    assert "add --heads lexicon,spectral,bahdanau" in capsys.readouterr().err
    assert run(*train, "--heads", "lexicon,spectral") == 0
    assert "60 pairs with gold links are too few" in capsys.readouterr().err
    gold.write_text("50-0\n" * 100)
    many = tmp_path / "many"
    many.write_text("ab cd\n" * 100)
    assert (
        run("train", many, many, "-o", tmp_path / "other", "--heads", "lexicon,vectors", "--gold", gold) == 3
    )
    assert "gold link 50-0 lies outside of a pair of 2 and 2 words" in capsys.readouterr().err


def test_a_head_that_learns_from_gold_links(bitext, tmp_path: Path, capsys):
    gold, model, picture = tmp_path / "gold", tmp_path / "model", tmp_path / "heads.svg"
    gold.write_text("".join(" ".join(f"{s}-{t}" for s, t in sorted(links)) + "\n" for links in TOY.links))
    train = ("train", *bitext, "-o", model, "-q", "--heads", "lexicon,spectral,bahdanau")
    by_gold = ("--bahdanau-teacher", "gold")
    assert run(*train, *by_gold) == 2
    assert "add --gold FILE" in capsys.readouterr().err
    assert run(*train, *by_gold, "--gold", gold, "--links", tmp_path / "own") == 0
    scored = scores(bitext, tmp_path, "--model", model)
    assert (tmp_path / "own").read_bytes() == (tmp_path / "links").read_bytes()
    assert scores(bitext, tmp_path, "--model", model, "--score", "bahdanau") != scored
    assert (
        run("heatmap", TOY.source[0], TOY.target[0], "--model", model, "--view", "heads", "-o", picture) == 0
    )
    nodes = ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    assert {"lexicon", "spectral", "bahdanau", "joint"} <= {node.text for node in nodes}
    gold.write_text("\n".join(gold.read_text().split("\n")[-50:]))
    assert run(*train, *by_gold, "--gold", gold) == 3
    assert "expected 50 pairs with gold links or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "teacher"),
    [
        (("--heads", "lexicon,bahdanau"), "gold"),
        (("--heads", "lexicon,bahdanau", "--bahdanau-teacher", "posteriors"), "posteriors"),
        (("--preset", "best"), "gold"),
        (("--heads", "lexicon,vectors,bahdanau", "--bahdanau-inputs", "words"), "posteriors"),
        ((), "gold"),
        (("--heads", "lexicon,spectral"), "posteriors"),
    ],
)
def test_with_fifty_gold_pairs_they_are_the_teacher_unless_told_otherwise(options, teacher: str):
    from nmtalign.cli._heads import head_settings
    from nmtalign.cli.train import train

    with train.make_context("train", ["-o", "x", "--gold", "y", *options]) as context:
        assert head_settings(context.params, gold=50).opinion_teacher == teacher
        assert head_settings(context.params, gold=49).opinion_teacher == "posteriors"


def test_attention_with_several_heads(bitext, tmp_path: Path, capsys):
    model, picture = tmp_path / "model", tmp_path / "heads.svg"
    train = ("train", *bitext, "-o", model, "--preset", "fast", "-q", "--heads")
    assert run(*train, "lexicon,vectors,attention", "--attention-heads", 3) == 0
    assert scores(bitext, tmp_path, "--model", model, "--heads", "attention")
    pair = TOY.source[0], TOY.target[0]
    assert run("heatmap", *pair, "--model", model, "--view", "attention-heads", "-o", picture) == 0
    nodes = ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    assert {"head 1", "head 2", "head 3"} <= {node.text for node in nodes}
    assert run(*train, "lexicon,vectors") == 0
    assert run("heatmap", *pair, "--model", model, "--view", "attention-heads", "-o", picture) == 2
    assert run(*train, "lexicon,vectors,attention,bahdanau") == 2
    assert "one second opinion" in capsys.readouterr().err


def test_a_head_over_given_vectors(bitext, tmp_path: Path, capsys):
    from nmtalign.text.vocabulary import Vocabulary
    from nmtalign.vectors.embeddings import Embeddings
    from nmtalign.vectors.storage import save_pair

    random = np.random.default_rng(0)
    sides = []
    for lines in (TOY.source, TOY.target):
        words = sorted({word for line in lines for word in line.split()})[:-3]
        sides.append(
            Embeddings(Vocabulary.from_words(words), random.normal(size=(len(words), 9)).astype("f4"))
        )
    save_pair(*sides, tmp_path / "vectors", languages=("aa", "bb"), format="word2int")
    train = ("train", *bitext, "-o", tmp_path / "model", "--preset", "fast", "-q")
    given = ("--vectors", tmp_path / "vectors")
    for heads in (("lexicon,attention",), ("lexicon,bahdanau", "--bahdanau-inputs", "words")):
        assert run(*train, *given, "--links", tmp_path / "own", "--heads", *heads) == 0
        assert scores(bitext, tmp_path, "--model", tmp_path / "model")
        assert (tmp_path / "own").read_bytes() == (tmp_path / "links").read_bytes()
        assert load(tmp_path / "model").model.opinion.network.source_rows.rows.shape[1] == 9
    assert run(*train, *given, "--heads", "lexicon,vectors") == 2
    assert "--vectors is for the head attention or bahdanau" in capsys.readouterr().err
    assert run(*train, *given, "--heads", "lexicon,bahdanau") == 2
    assert "add --bahdanau-inputs words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "added"),
    [
        (("--bahdanau-inputs", "words"), "--heads lexicon,spectral,bahdanau"),
        (("--bahdanau-teacher", "bitext", "--heads", "lexicon"), "--heads lexicon,bahdanau"),
        (
            ("--bahdanau-inputs", "clues", "--heads", "lexicon,vectors,attention"),
            "--heads lexicon,vectors,bahdanau",
        ),
        (("--attention-heads", 2, "--preset", "best"), "--heads lexicon,vectors,spectral,attention"),
        (("--attention-heads", 4, "--preset", "fast"), "--heads lexicon,vectors,attention"),
        (("--vectors", "anywhere"), "--heads lexicon,spectral,attention"),
    ],
)
def test_an_option_that_no_head_would_use_is_refused_with_what_to_add(
    bitext, tmp_path: Path, capsys, options: tuple[object, ...], added: str
):
    assert run("train", *bitext, "-o", tmp_path / "model", "-q", *options) == 2
    assert capsys.readouterr().err.endswith(f"; add it: {added}\n")
    assert not (tmp_path / "model").exists()


def test_an_option_of_a_head_of_the_preset_asks_for_this_head(bitext, tmp_path: Path):
    train = ("train", *bitext, "-q", "--preset", "best", "-o")
    assert run(*train, tmp_path / "plain") == 0
    assert load(tmp_path / "plain").heads == ("lexicon", "vectors", "spectral")
    assert run(*train, tmp_path / "words", "--bahdanau-inputs", "words") == 0
    assert load(tmp_path / "words").heads == ("lexicon", "vectors", "spectral", "bahdanau")
    assert load(tmp_path / "words").model.settings.opinion_inputs == "words"
