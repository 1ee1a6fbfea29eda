"""--forward and --reverse: links of each direction, as runs of `align` for each of them write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmtalign.files.text_files import read_lines
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import run

TOY = toy_bitext(25, seed=7)
METHODS = {"forward": "argmax", "reverse": "argmax-reverse"}
BOTH = "--forward forward --reverse reverse"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts with a long pair and an empty line, and what `train` writes about them."""
    folder = tmp_path_factory.mktemp("directions")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        pairs = [
            *TOY.pairs,
            (" ".join(TOY.pairs[0][0].split() * 8), " ".join(TOY.pairs[0][1].split() * 8)),
            ("", "x"),
        ]
        for name, lines in zip("ab", zip(*pairs, strict=True), strict=True):
            Path(name).write_text("".join(f"{line}, {line}.\n" if line else "\n" for line in lines))
        learn = "train a b --preset fast --tokenizer simple --workers 1 -q"
        assert run(*f"{learn} -o model --links trained {BOTH} --table trained.tsv".split()) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def lines_of(path):
    return list(read_lines(path))


def align(options, *, output="out"):
    assert run(*f"align a b --model model --workers 1 -q {options} -o {output}".split()) == 0
    return lines_of(output)


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--symmetrize union",
        "--threshold 0.4 --tokens tokens",
        "--tokens spaces --count tokens+spaces",
        "--attention a.npz",
    ],
)
def test_align_writes_the_links_of_both_directions_and_its_own(options):
    joined = align(f"{options} {BOTH}")
    found = {name: lines_of(name) for name in METHODS}
    assert joined == align(options)
    options = options.replace("--symmetrize union", "")
    for name, method in METHODS.items():
        assert found[name] == align(f"{options} --extract {method}")


def test_shards_have_the_links_of_both_directions():
    expected = align(BOTH)
    found = {name: lines_of(name) for name in METHODS}
    for _ in range(2):  # the second run reads the shards of the first one
        assert align(f"{BOTH} --out-shards shards --shard-pairs 10 --resume") == expected
        assert {name: lines_of(name) for name in METHODS} == found


def test_train_writes_what_align_writes():
    expected = align(f"{BOTH} --table aligned.tsv")
    assert lines_of("trained") == expected
    assert lines_of("trained.tsv") == lines_of("aligned.tsv")
    learn = "train a b --preset fast --tokenizer simple --workers 1 -q"
    assert run(*f"{learn} --forward f --reverse r".split()) == 0
    assert lines_of("f") == lines_of("forward")
    assert lines_of("r") == lines_of("reverse")


@pytest.mark.parametrize("method", ["intersection", "grow-diag-final-and"])
def test_joined_directions_are_symmetrized_links(method):
    expected = align(f"--symmetrize {method} --tokens tokens {BOTH}")
    assert run(*f"convert forward reverse --symmetrize {method} -o joined".split()) == 0
    short = [
        n for n, line in enumerate(lines_of("a")) if len(line) < 500
    ]  # a long pair is aligned in sections
    joined = lines_of("joined")
    assert [joined[n] for n in short] == [expected[n] for n in short]


def test_the_model_keeps_the_choice_of_links(capsys):
    learn = "train a b --preset fast --tokenizer simple --workers 1 -q --symmetrize intersection"
    assert run(*f"{learn} -o chosen --links links".split()) == 0
    assert lines_of("links") == align("--symmetrize intersection")
    assert run(*["align", "a", "b", "--model", "chosen", "--workers", "1", "-q", "-o", "again"]) == 0
    assert lines_of("again") == lines_of("links")
    assert run(*f"{learn} --extract mutual --links x".split()) == 2
    assert "cannot be combined" in capsys.readouterr().err
    assert run(*["train", "-", "b", "--links", "x", "--table", "x.tsv"]) == 2
    assert "--table reads the bitext again" in capsys.readouterr().err
    assert run(*["train", "a", "b", "--links", "x", "--table", "x.doc"]) == 2
