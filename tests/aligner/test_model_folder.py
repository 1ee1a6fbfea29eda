"""Model folders: what is written comes back; what is damaged or foreign is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import nmtalign
from nmtalign.aligner.decoding import Extraction
from nmtalign.aligner.learned import LearnedAligner
from nmtalign.aligner.model_folder import is_model, load_model, save_model
from nmtalign.aligner.opening import load
from nmtalign.errors import DataError
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.settings import PRESETS
from nmtalign.training.train import train
from tests.aligner.toy_language import toy_bitext

TOY = toy_bitext(80)
ODD = [
    "a\u2028b",
    "\x85",
    "x\ry",
    "\x00",
    "\u00a0",
    "#",
    '"q"',
    "\ufeff",
    "e\u0301",
    "𝔘",
    "\x1c",
    "\u3000\u200b",
]


@pytest.fixture(scope="module")
def training():
    odd = [(" ".join(ODD), " ".join(reversed(ODD))), *(([word + " 07ab", "05yx " + word]) for word in ODD)]
    text = TextSettings(lowercase=False, unicode="none")
    return train([*TOY.pairs, *odd], settings=PRESETS["fast"], text=text, languages=("en", None), workers=1)


@pytest.fixture
def folder(training, tmp_path: Path) -> Path:
    save_model(training.model, tmp_path / "new" / "model")
    return tmp_path / "new" / "model"


def test_a_saved_model_aligns_as_before(training, folder: Path):
    model = load_model(folder)
    for field in ("settings", "text", "languages", "corpus"):
        assert getattr(model, field) == getattr(training.model, field)
    words = [*TOY.words, (ODD, ODD[::-1]), (["unseen", "1997"], ["1997"])]
    before, after = (LearnedAligner(m, workers=1).align_batch(words) for m in (training.model, model))
    for name in ("offsets", "source", "target", "probability", "scores"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


def test_odd_words_survive(training, folder: Path):
    lexicon = load_model(folder).lexicon
    assert lexicon.source_words == training.model.lexicon.source_words
    assert lexicon.target_words == training.model.lexicon.target_words
    assert set(ODD) <= set(lexicon.source_words)


def test_saved_twice_it_is_the_same_to_the_byte(training, folder: Path, tmp_path: Path):
    save_model(load_model(folder), tmp_path / "again")
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_model_can_be_opened_by_anyone(training, folder: Path):
    assert is_model(folder)
    aligner = load(folder)
    assert isinstance(aligner, LearnedAligner)
    assert isinstance(nmtalign.load(folder, threshold=0.5), LearnedAligner)
    assert aligner.align(*TOY.pairs[0]).alignment.links


def test_no_pickle_and_only_plain_arrays(folder: Path):
    assert {path.suffix for path in folder.iterdir()} == {".json", ".txt", ".npz", ".npy"}
    for path in folder.iterdir():
        if path.suffix == ".npy":
            assert np.load(path, allow_pickle=False).dtype.kind in "if"
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                assert all(array.dtype.kind in "if" for array in dict(arrays).values())
    json.loads((folder / "meta.json").read_text(encoding="utf-8"))


def files() -> list[str]:
    return ["arrays.npz", "source.txt", "target.txt", "view-0.counts.npy", "view-1.counts.npy", "meta.json"]


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("name", files())
def test_a_truncated_part_is_refused(folder: Path, name: str, keep: float):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(keep * len(data))])
    with pytest.raises(DataError) as caught:
        load_model(folder)
    assert str(caught.value).startswith(str(folder))
    assert len(str(caught.value)) > len(str(folder)) + 30


@pytest.mark.parametrize("name", files())
def test_a_missing_part_is_refused_by_name(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(DataError) as caught:
        load_model(folder)
    assert str(caught.value).startswith(str(folder))
    assert name in str(caught.value)


def test_every_array_file_is_needed(folder: Path):
    for path in sorted(folder.glob("view-*.npy")):
        kept = path.read_bytes()
        path.write_bytes(kept[:-4])
        with pytest.raises(DataError, match="model"):
            load_model(folder)
        path.write_bytes(kept)
    load_model(folder)


def test_a_flipped_byte_is_refused(folder: Path):
    data = bytearray((folder / "arrays.npz").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (folder / "arrays.npz").write_bytes(bytes(data))
    with pytest.raises(DataError, match="damaged"):
        load_model(folder)


def change_meta(folder: Path, **values: object) -> None:
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    (folder / "meta.json").write_text(json.dumps(meta | values), encoding="utf-8")


def test_a_newer_version_is_refused(folder: Path):
    change_meta(folder, version=99)
    with pytest.raises(DataError, match=r"meta\.json: .*99.*newer"):
        load_model(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "something"}', '"nmtalign model"', "\udcff"])
def test_a_foreign_folder_is_refused(folder: Path, text: str):
    (folder / "meta.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=r"meta\.json: "):
        load_model(folder)


def test_a_word_list_of_another_model_is_refused(folder: Path):
    lines = (folder / "source.txt").read_bytes()
    (folder / "source.txt").write_bytes(lines + b"more\n")
    with pytest.raises(DataError, match=r"source\.txt.*expected \d+ words, found \d+"):
        load_model(folder)


def test_parts_of_another_model_are_refused(folder: Path, tmp_path: Path):
    other = train(TOY.pairs[:50], settings=PRESETS["fast"], workers=1)
    save_model(other.model, tmp_path / "other")
    for name in ("arrays.npz", "view-0.counts.npy", "view-1.counts.npy"):
        kept = (folder / name).read_bytes()
        shutil.copy(tmp_path / "other" / name, folder / name)
        with pytest.raises(DataError):
            load_model(folder)
        (folder / name).write_bytes(kept)


def test_folders_that_are_no_models(tmp_path: Path):
    assert not is_model(tmp_path)
    assert not is_model(tmp_path / "missing")
    with pytest.raises(DataError, match="there is none"):
        load_model(tmp_path)


def test_training_again_into_the_folder_leaves_nothing_of_the_old_model(folder: Path, tmp_path: Path):
    other = train(TOY.pairs, settings=PRESETS["default"], workers=1)
    save_model(other.model, folder)
    save_model(train(TOY.pairs, settings=PRESETS["fast"], workers=1).model, folder)
    save_model(load_model(folder), tmp_path / "fresh")
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "fresh").iterdir()}


def test_training_writes_what_it_aligns(training, folder: Path):
    own = training.align(Extraction())
    words = [(s.split(" "), t.split(" ")) for s, t in TOY.pairs]
    again = LearnedAligner(load_model(folder), workers=1).align_batch(words)
    assert [own.links(n) for n in range(len(words))] == [again.links(n) for n in range(len(words))]
