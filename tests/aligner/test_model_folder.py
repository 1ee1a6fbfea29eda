"""Model folders: what is written comes back; what is damaged or foreign is refused."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nmtalign
from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.opening import load
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.cli import main
from nmtalign.errors import DataError, UsageError
from nmtalign.state import fingerprints, is_model
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from tests.aligner.batches import training_links
from tests.aligner.toy_language import toy_bitext, training_job
from tests.corpus.test_parallel import run_alone

TOY = toy_bitext(80)
LEXICON = "scorer.lexicon"  # what the names of its files begin with
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
    text_settings = TextSettings(lowercase=False, unicode="none")
    return train_aligner(
        [*TOY.pairs, *odd],
        training_job(
            PRESET_HYPERPARAMETERS["fast"], text_settings=text_settings, languages=("en", None), workers=1
        ),
    )


@pytest.fixture
def folder(training, tmp_path: Path) -> Path:
    training.aligner.save(tmp_path / "new" / "model")
    return tmp_path / "new" / "model"


def test_a_saved_model_aligns_as_before(training, folder: Path):
    aligner = load_aligner(folder)
    for field in ("description", "text_settings", "languages", "training"):
        assert getattr(aligner, field) == getattr(training.aligner, field)
    words = [*TOY.words, (ODD, ODD[::-1]), (["unseen", "1997"], ["1997"])]
    before, after = (replace(one, workers=1).align_batch(words) for one in (training.aligner, aligner))
    for name in ("offsets", "source", "target", "probability", "scores"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


def test_odd_words_survive(training, folder: Path):
    lexicon = load_aligner(folder).lexicon
    assert lexicon.source_words == training.aligner.lexicon.source_words
    assert lexicon.target_words == training.aligner.lexicon.target_words
    assert set(ODD) <= set(lexicon.source_words)


def test_saved_twice_it_is_the_same_to_the_byte(training, folder: Path, tmp_path: Path):
    load_aligner(folder).save(tmp_path / "again")
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_model_can_be_opened_by_anyone(training, folder: Path):
    assert is_model(folder)
    aligner = load(folder)
    assert isinstance(aligner, Aligner)
    assert isinstance(nmtalign.load(folder, threshold=0.5), Aligner)
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
    return [
        *("arrays.npz", "meta.json", f"{LEXICON}.source.txt", f"{LEXICON}.target.txt"),
        *(f"{LEXICON}.forms-{k}.counts.npy" for k in (0, 1)),
    ]


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("name", files())
def test_a_truncated_part_is_refused(folder: Path, name: str, keep: float):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(keep * len(data))])
    with pytest.raises(DataError) as caught:
        load_aligner(folder)
    assert str(caught.value).startswith(str(folder))
    assert len(str(caught.value)) > len(str(folder)) + 30


@pytest.mark.parametrize("name", files())
def test_a_missing_part_is_refused_by_name(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(DataError) as caught:
        load_aligner(folder)
    assert str(caught.value).startswith(str(folder))
    assert name in str(caught.value)


def test_every_array_file_is_needed(folder: Path):
    for path in sorted(folder.glob(f"{LEXICON}.forms-*.npy")):
        kept = path.read_bytes()
        path.write_bytes(kept[:-4])
        with pytest.raises(DataError, match="model"):
            load_aligner(folder)
        path.write_bytes(kept)
    load_aligner(folder)


def test_a_flipped_byte_is_refused(folder: Path):
    data = bytearray((folder / "arrays.npz").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (folder / "arrays.npz").write_bytes(bytes(data))
    with pytest.raises(DataError, match="damaged"):
        load_aligner(folder)


def change_meta(folder: Path, **values: object) -> None:
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    (folder / "meta.json").write_text(json.dumps(meta | values), encoding="utf-8")


def record_again(folder: Path) -> None:
    """Write the sizes and checksums of what is there now."""
    change_meta(folder, files={k: v for k, v in fingerprints(folder).items() if k != "meta.json"})


@pytest.mark.parametrize("name", [name for name in files() if name != "meta.json"])
def test_a_changed_byte_of_any_file_is_refused(folder: Path, name: str, capsys):
    data = bytearray((folder / name).read_bytes())
    data[-2] ^= 1
    (folder / name).write_bytes(bytes(data))
    with pytest.raises(SystemExit) as caught:
        main(["align", "--pairs", str(folder / "meta.json"), "--model", str(folder)])
    assert caught.value.code == 3
    expected = re.escape(str(folder / name)) + ": expected the SHA-256 .*, found .*"
    assert re.fullmatch(f"nmtalign: error: {expected}\n", capsys.readouterr().err)


def put(folder: Path, name: str, change: Callable[[NDArray[Any]], Any]) -> None:
    """Change an array of a model whose checksums are right."""
    if name.endswith(".npy"):
        np.save(folder / name, change(np.load(folder / name)))
    else:
        with np.load(folder / "arrays.npz") as file:
            arrays = dict(file)
        np.savez_compressed(folder / "arrays.npz", **arrays | {name: change(arrays[name])})
    record_again(folder)


def first(value: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda array: np.concatenate([np.full_like(array[:1], value), array[1:]])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (f"{LEXICON}.forms-0.targets.npy", lambda a: a + 10**7, r"numbers from 0 to \d+, found 1000\d+"),
        (f"{LEXICON}.forms-0.targets.npy", lambda a: -a, r"numbers from 0 to \d+, found -\d+"),
        (f"{LEXICON}.forms-0.targets.npy", lambda a: a[::-1].copy(), "each entry above the one before"),
        (f"{LEXICON}.forms-0.targets.npy", lambda a: a.astype(float), "int64., found float64"),
        (f"{LEXICON}.forms-0.counts.npy", lambda a: a.astype(complex), "real numbers, found complex128"),
        (f"{LEXICON}.forms-0.counts.npy", lambda a: a.astype(str), "real numbers, found <U"),
        (f"{LEXICON}.forms-0.counts.npy", lambda a: -a, r"numbers from 0 to 1000000000000, found -"),
        (f"{LEXICON}.forms-0.counts.npy", lambda a: a.astype(np.float16), "float64., found float16"),
        (f"{LEXICON}.forms-1.counts.npy", lambda a: a.astype(">f4"), "float64., found >f4"),
        (f"{LEXICON}.forms-1.counts.npy", first(1e30), r"numbers from 0 to 1000000000000, found 1"),
        (f"{LEXICON}.forms-1.counts.npy", first(np.nan), "a finite number, found nan"),
        (f"{LEXICON}.forms-1.counts.npy", first(np.inf), "a finite number, found inf"),
        (f"{LEXICON}.forms-1.counts.npy", lambda a: a[:, None], r"\d+ entries, found \d+ x 1"),
        ("scorer.spectral.source.npy", lambda a: a[:, :0], r"\d+ x any entries, found \d+ x 0"),
        ("scorer.spectral.target.npy", lambda a: a[:, :3], r"\d+ x \d+ entries, found \d+ x 3"),
        ("scorer.spectral.target.npy", lambda a: a[:-1], r"\d+ x \d+ entries"),
        ("scorer.spectral.target_norms", first(-np.inf), "a finite number, found -inf"),
        ("scorer.lexicon.forms-0.pairs", lambda a: a + 1, r"numbers|word pairs of all forms"),
        ("scorer.lexicon.forms-0.source_null", first(-1), r"from 0 to 1000000000000, found -1"),
        ("scorer.lexicon.forms-1.target_linked", lambda a: a[:0], "any entries, found 0"),
        ("positions.source_tables", lambda a: a[:, :-1], "any x 1025 entries, found .* x 1024"),
        ("positions.source_tables", lambda a: a.astype(np.float16), "float64., found float16"),
        ("positions.target_tables", first(np.nan), "a finite number, found nan"),
        ("positions.target_classes", lambda a: a + 1000, r"numbers from 0 to \d+, found 1\d\d\d"),
        ("scorer.lexicon.source_counts", lambda a: a.astype(bool), "int64., found bool"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(spectral, tmp_path: Path, name, change, message):
    folder = shutil.copytree(spectral, tmp_path / "model")
    put(folder, name, lambda array: array)
    load_aligner(folder)
    put(folder, name, change)
    place = name if name.endswith(".npy") else f"arrays.npz, {name}"
    with pytest.raises(DataError, match=re.escape(str(folder / place)) + f": expected.*{message}"):
        load_aligner(folder)


@pytest.fixture(scope="module")
def spectral(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("spectral") / "model"
    unlike = [(TOY.pairs[k][0], TOY.pairs[k + 1][1]) for k in range(20)]  # words get several partners
    train_aligner(
        [*TOY.pairs, *unlike], training_job(PRESET_HYPERPARAMETERS["default"], workers=1)
    ).aligner.save(folder)
    return folder


@pytest.mark.parametrize("dtype", ["float16", ">f4", "float64", "longdouble"])
def test_vectors_of_any_precision_are_saved_and_opened(tmp_path: Path, dtype: str):
    matrix = np.eye(3, 4, dtype=dtype)
    sides = [nmtalign.Embeddings.of(list(words), matrix) for words in ("abc", "xyz")]
    aligner = nmtalign.vector_aligner(*sides)
    aligner.save(tmp_path / "model")
    opened = load_aligner(tmp_path / "model")
    assert opened.align(["a", "c"], ["z", "x"]).links == aligner.align(["a", "c"], ["z", "x"]).links
    kept = "float64" if dtype == "longdouble" else np.dtype(dtype).newbyteorder("=")
    assert opened.scorer.source.matrix.dtype == kept


@pytest.mark.parametrize("kind", ["forms-0", "forms-1"])
@pytest.mark.parametrize(
    ("letters", "message"),
    [
        (
            [1, 1],
            r"expected counts of \d+ source and \d+ target forms .* letters \(1, 1\), found counts of \d+",
        ),
        ([-1, 0], r"expected counts of .* letters \(-1, 0\)"),
        ([1001, 3], r"expected two kinds of form \(up to 1000 letters, .*, found \[1001, 3\]"),
        ([0.5, 3], r"expected two kinds of form .*, found \[0.5, 3\]"),
        ([3], r"expected two kinds of form .*, found \[3\]"),
    ],
)
def test_letters_that_do_not_fit_the_counts_are_refused(spectral, tmp_path: Path, kind, letters, message):
    folder = shutil.copytree(spectral, tmp_path / "model")
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    meta["parts"]["scorer"]["parts"]["lexicon"]["parts"][kind]["letters"] = letters
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        load_aligner(folder)
    assert str(caught.value).startswith(f"{folder / 'meta.json'}")


@pytest.mark.parametrize("weight", [float("nan"), 2, -0.5, "much", None])
def test_weights_that_make_no_sense_are_refused(spectral, tmp_path: Path, weight):
    folder = shutil.copytree(spectral, tmp_path / "model")
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    meta["parts"]["scorer"]["parts"]["spectral"]["weight"] = weight
    change_meta(folder, **meta)
    with pytest.raises(DataError, match=r"meta\.json: expected .*number.*, found"):
        load_aligner(folder)


def test_positions_without_agreement_come_back(training, tmp_path: Path):
    aligner = training.aligner
    replace(aligner, positions=replace(aligner.positions, agree=False)).save(tmp_path / "model")
    assert aligner.positions.agree
    assert not load_aligner(tmp_path / "model").positions.agree


def test_a_newer_version_is_refused(folder: Path):
    change_meta(folder, version=99)
    with pytest.raises(
        DataError, match=r"meta\.json: expected format version \d+, found 99; learn the model again"
    ):
        load_aligner(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "something"}', '"nmtalign model"', "\udcff"])
def test_a_foreign_folder_is_refused(folder: Path, text: str):
    (folder / "meta.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=r"meta\.json: "):
        load_aligner(folder)


def test_a_word_list_of_another_model_is_refused(folder: Path):
    path = folder / f"{LEXICON}.source.txt"
    path.write_bytes(path.read_bytes() + b"more\n")
    record_again(folder)
    with pytest.raises(DataError, match=r"source\.txt.*expected \d+ words, found \d+"):
        load_aligner(folder)


def test_parts_of_another_model_are_refused(folder: Path, tmp_path: Path):
    other = train_aligner(TOY.pairs[:50], training_job(PRESET_HYPERPARAMETERS["fast"], workers=1))
    other.aligner.save(tmp_path / "other")
    for name in ("arrays.npz", f"{LEXICON}.forms-0.counts.npy", f"{LEXICON}.forms-1.counts.npy"):
        kept = (folder / name).read_bytes()
        shutil.copy(tmp_path / "other" / name, folder / name)
        with pytest.raises(DataError, match=re.escape(name)):
            load_aligner(folder)
        record_again(folder)
        with pytest.raises(DataError):
            load_aligner(folder)
        (folder / name).write_bytes(kept)
        record_again(folder)


def test_folders_that_are_no_models(tmp_path: Path):
    assert not is_model(tmp_path)
    assert not is_model(tmp_path / "missing")
    with pytest.raises(DataError, match="there is none"):
        load_aligner(tmp_path)


def test_training_again_into_the_folder_leaves_nothing_of_the_old_model(folder: Path, tmp_path: Path):
    other = train_aligner(TOY.pairs, training_job(PRESET_HYPERPARAMETERS["default"], workers=1))
    other.aligner.save(folder, overwrite=True)
    train_aligner(TOY.pairs, training_job(PRESET_HYPERPARAMETERS["fast"], workers=1)).aligner.save(
        folder, overwrite=True
    )
    load_aligner(folder).save(tmp_path / "fresh")
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "fresh").iterdir()}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["thesis.py", "work/thesis.txt", "meta.json"])
def test_what_is_no_model_is_never_replaced(training, tmp_path: Path, name: str, overwrite: bool):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    for place in (path, path.parent):
        with pytest.raises(UsageError, match=r"is a file|contains other files"):
            training.aligner.save(place, overwrite=overwrite)
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == [path]
    assert path.read_text() == "{}"


def test_a_model_is_replaced_by_request_only_and_alone(training, folder: Path):
    before = fingerprints(folder)
    with pytest.raises(UsageError, match=r"contains a model; pass `overwrite=True` to replace the folder"):
        training.aligner.save(folder)
    (folder / "bahdanau").mkdir()
    (folder / "bahdanau" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="contains other files"):
        training.aligner.save(folder, overwrite=True)
    (folder / "bahdanau" / "thesis.txt").unlink()
    assert fingerprints(folder) == before
    training.aligner.save(folder, overwrite=True)
    assert fingerprints(folder) == before
    assert list(folder.parent.iterdir()) == [folder]


def test_an_empty_folder_is_taken(training, tmp_path: Path):
    training.aligner.save(tmp_path)
    assert is_model(tmp_path)


@pytest.mark.parametrize("languages", [("en",), "en", ("en", "fr", "de"), ("en", 3), None])
def test_languages_are_two(languages: Any):
    with pytest.raises(UsageError, match="expected a source and a target language"):
        nmtalign.train([("never", "read")], languages=languages)
    with pytest.raises(UsageError, match="expected a source and a target language"):
        replace(nmtalign.load(), languages=languages)


def test_an_open_model_does_not_see_its_files_shrink(training, folder: Path):
    """Mapped arrays would end the process without a word, so another process looks."""
    out = run_alone(f"""
        import os, pathlib
        from nmtalign.aligner.aligner import load_aligner
        folder, pair = pathlib.Path({str(folder)!r}), {TOY.pairs[3]!r}
        aligners = [load_aligner(folder), load_aligner(folder)]
        expected = aligners[0].align(*pair).links
        for path in folder.glob("*.npy"):
            os.truncate(path, 130)
        print(aligners[1].align(*pair).links == expected)
    """)
    assert out == "True\n"


def test_training_writes_what_it_aligns(training, folder: Path):
    own = training_links(training)
    words = [(s.split(" "), t.split(" ")) for s, t in TOY.pairs]
    again = replace(load_aligner(folder), workers=1).align_batch(words)
    assert [own.links(n) for n in range(len(words))] == [again.links(n) for n in range(len(words))]
