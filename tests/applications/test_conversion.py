"""``na.convert``, ``na.symmetrize`` and ``na.open_index``: the functions of commands that read links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nmtalign as na
from tests.cli.running import run

PAIRS = [("the black cat", "le chat noir"), ("a dog", "un chien")]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_convert_writes_what_the_command_writes(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.talp", "1-1 2-3\n\n")
    source = write(tmp_path / "text.en", "the black\na\n")
    target = write(tmp_path / "text.fr", "le chat noir\nun\n")
    na.convert(gold, tmp_path / "here", format="talp", to="tsv", source=source, target=target)
    assert (tmp_path / "here").read_text(encoding="utf-8").startswith("the black\tle chat noir\t0-0 1-2\n")
    words = ["--source", str(source), "--target", str(target)]
    output = ["-o", str(tmp_path / "there")]
    assert run("convert", gold, "--from", "talp", "--to", "tsv", *words, *output) == 0
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_convert_stops_at_the_first_bad_record(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.txt", "0-0\nx\n")
    with pytest.raises(na.DataError, match=r"gold.txt:2|gold.txt, line 2"):
        na.convert(gold, tmp_path / "out", format="pharaoh", to="talp")
    assert not (tmp_path / "out").exists()
    with pytest.raises(na.UsageError, match="pass both"):
        na.convert(gold, tmp_path / "out", format="pharaoh", to="tsv", source=gold)
    with pytest.raises(na.UsageError, match="did you mean 'pharaoh'"):
        na.convert(gold, tmp_path / "out", format="pharao", to="talp")  # type: ignore[arg-type]


def test_symmetrize_takes_batches_files_and_lines(tmp_path: Path) -> None:
    forward, reverse = ["0-0 1-1 2-2", ""], ["0-0 1-1 1-2", "0-0"]
    joined = na.symmetrize(forward, reverse)
    assert [joined.links(n) for n in range(2)] == [[(0, 0), (1, 1), (1, 2), (2, 2)], [(0, 0)]]
    files = [write(tmp_path / "f", "\n".join(forward) + "\n"), write(tmp_path / "r", "0-0 1-1 2-1\n0-0\n")]
    assert na.symmetrize(files[0], files[1], reversed=True) == joined
    both = na.symmetrize(forward, reverse, method="intersection")
    assert [len(both.links(n)) for n in range(2)] == [2, 0]
    with pytest.raises(na.DataError, match="the same number of pairs in both directions, found 2 and 1"):
        na.symmetrize(forward, ["0-0"])
    with pytest.raises(na.UsageError, match="did you mean 'union'"):
        na.symmetrize(forward, reverse, method="unio")  # type: ignore[arg-type]


def test_a_symmetrized_batch_keeps_its_words() -> None:
    frame = pd.DataFrame(PAIRS, columns=["en", "fr"], index=[7, 9])
    forward = na.load(extract="argmax").align_batch(frame)
    reverse = na.load(extract="argmax-reverse").align_batch(frame)
    joined = na.symmetrize(forward, reverse)
    assert joined[1].words[-1][:2] == ("dog", "chien")
    assert joined.table().index.unique().tolist() == [7, 9]


def test_tables_with_links_are_linked_pairs() -> None:
    frame = pd.DataFrame(
        {"fr": ["le chat", "un chat"], "links": ["0-0 1-1", "1-1"], "en": ["the cat", "a cat"]}
    )
    frame = frame.set_index(pd.Index(["x", "y"])).rename(columns={"en": "source", "fr": "target"})
    assert na.find(frame, "cat", side="source").index.tolist() == ["x", "y"]
    assert na.phrases(frame, longest=1).index.tolist() == ["x", "x", "y"]
    assert na.lexicon(frame).iloc[0][["source", "target", "count"]].tolist() == ["cat", "chat", 2]
    assert na.project(frame, ["O B-X", "O B-X"], format="bio") == [["O", "B-X"]] * 2
    frame["links"] = ["0-0", "5-5"]
    with pytest.raises(na.DataError, match=r"pair 1 \(index 'y'\): link 5-5 is outside"):
        na.phrases(frame)
    with pytest.raises(na.UsageError, match="a table with a column of links, named links"):
        na.phrases(frame.drop(columns="links"))


def test_applications_keep_the_index_of_a_batch() -> None:
    frame = pd.DataFrame(PAIRS, columns=["en", "fr"], index=[7, 9])
    batch = na.load().align_batch(frame)
    assert na.find(batch, "dog").index.tolist() == [9]
    assert set(na.phrases(batch[np.array([True, False])]).index) == {7}


def test_an_index_is_searched_many_times(tmp_path: Path) -> None:
    for name, side in (("text.en", 0), ("text.fr", 1)):
        write(tmp_path / name, "".join(f"{pair[side]}\n" for pair in PAIRS))
    links = write(tmp_path / "links", "0-0 1-2 2-1\n0-0 1-1\n")
    texts = [str(tmp_path / name) for name in ("text.en", "text.fr")]
    assert run("find", "cat", *texts, "--links", links, "--index", tmp_path / "corpus.db") == 0
    index = na.open_index(tmp_path / "corpus.db")
    assert repr(index) == "BitextIndex of 2 pairs from corpus.db"
    assert na.find(index, "cat")["translation"].tolist() == ["chat"]
    assert na.find(index, "dog").equals(na.find(tmp_path / "corpus.db", "dog"))
    with pytest.raises(
        na.DataError, match="expected an index that `nmtalign find --index` wrote, found no file"
    ):
        na.open_index(tmp_path / "nowhere.db")
