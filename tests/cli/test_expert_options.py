"""nmtalign train and align with the links of an expert: files in, links out, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import nmtalign
from nmtalign.links.formats import read_links
from tests.aligner.toy_language import links_of, toy_bitext
from tests.cli.test_train import run

TOY = toy_bitext(40, seed=8, vocabulary=300, disorder=9)
FILES = "text.en", "text.fr"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bitext, its links, and none for each third pair."""
    monkeypatch.chdir(tmp_path)
    TOY.write(tmp_path, FILES)
    lines = [" ".join(f"{s}-{t}" for s, t in sorted(links)) for links in TOY.links]
    for name, own in (("links", lines), ("some", [line if n % 3 else "" for n, line in enumerate(lines)])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in own))
    return tmp_path


def test_training_and_new_text_by_files(files: Path):
    expert = list(read_links("some"))
    assert run("train", *FILES, "-o", "model", "--expert", "some", "--links", "own", "-q") == 0
    learned = nmtalign.train(TOY.pairs, expert=expert)
    expected = links_of(learned.align_batch(TOY.pairs, expert=expert))
    assert nmtalign.load("model").expert.trust == learned.expert.trust
    new = ("align", *FILES, "--model", "model", "--expert", "some", "-q")
    assert run(*new, "-o", "voted") == 0
    assert run(*new, "-o", "two", "--workers", "2") == 0
    for job in ("1/2", "2/2"):
        assert run(*new, "--out-shards", "shards", "--shard-pairs", "7", "--shard", job) == 0
    assert run(*new, "--out-shards", "shards", "--shard-pairs", "7", "--resume", "-o", "sharded") == 0
    for name in ("own", "voted", "two", "sharded"):
        assert list(read_links(name)) == expected
    (files / "some").write_text((files / "links").read_text())
    assert run(*new, "--out-shards", "shards", "--shard-pairs", "7", "--resume", "-o", "sharded") == 2


def test_positions_of_tokens(files: Path):
    """With --tokens links count tokens, those of the expert as well."""
    for side, lines in zip(FILES, (TOY.source, TOY.target), strict=True):
        (files / side).write_text("".join(line.replace(" ", ".") + "\n" for line in lines))
    dotted = [" ".join(f"{2 * s}-{2 * t}" for s, t in links) for links in TOY.links]
    (files / "tokens").write_text("".join(f"{line}\n" for line in dotted))
    assert run("train", *FILES, "-o", "model", "-q", "--tokenizer", "simple") == 0
    command = ("align", *FILES, "--model", "model", "--expert", "tokens", "-q", "-o", "found")
    assert run(*command, "--tokens", "cut") == 0
    assert run(*command) == 3


@pytest.mark.parametrize(
    ("line", "code", "found"),
    [
        ("train {files} -o new --expert short", 3, "found links for only 39 pairs"),
        ("align {files} --expert short", 3, "found links for only 39 pairs"),
        ("align {files} --expert long", 3, "expected the links of the expert for 40 pairs, found more lines"),
        ("align {files} --expert outside", 3, "outside, line 40: link 90-0 is outside"),
        ("align {files} --expert text.en", 3, "text.en, line 1: expected links like 0-1 between spaces"),
        (
            "align {files} --expert links --encoder e",
            2,
            "--expert LINKS and --encoder NAME cannot be combined",
        ),
    ],
)
def test_what_does_not_fit(files: Path, capsys, line: str, code: int, found: str):
    lines = (files / "links").read_text().splitlines(keepends=True)
    for name, own in (("short", lines[:39]), ("long", [*lines, "\n"]), ("outside", [*lines[:39], "90-0\n"])):
        (files / name).write_text("".join(own))
    assert run(*line.format(files=" ".join(FILES)).split()) == code
    assert found in capsys.readouterr().err
