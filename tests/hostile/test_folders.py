"""Folders from strangers: every file that one makes us open is plain, inside of it, and listed."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nmtalign
from nmtalign.applications.concordance import search
from nmtalign.corpus.bitext_index import VALUE_LABELS, LabelLevel, open_index, write_index_file
from nmtalign.errors import DataError, UsageError
from nmtalign.external.matrix_files import read_vectors
from nmtalign.files.paths import file_inside, fingerprint
from nmtalign.run.shards import is_shard_complete
from nmtalign.state import fingerprints
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.checkpoint import Checkpoint
from nmtalign.vectors.embeddings import Vocabulary
from nmtalign.vectors.storage import load_both_languages, load_embeddings, save_embeddings, save_pair
from nmtalign.vectors.subword_vectors import CharacterNgrams
from tests.hostile.readers import save_model

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


def _save_vectors(folder: Path) -> None:
    side = nmtalign.Embeddings(
        Vocabulary.from_words(["the", "cat"]), np.eye(2), CharacterNgrams(np.eye(2, dtype=np.float32), 1, 2)
    )
    for language in ("en", "fr"):
        save_embeddings(side, folder / language)
    (folder / "pair.json").write_text('{"languages": ["en", "fr"]}', encoding="utf-8")


def _save_words_and_rows(folder: Path) -> None:
    for language in ("en", "fr"):
        (folder / f"word2int_{language}.pkl").write_bytes(pickle.dumps({"the": 0, "cat": 1}))
        np.savez(folder / f"embeddings_{language}.npz", embeddings=np.eye(2))


def _save_token_vectors(folder: Path) -> None:
    for side in ("source", "target"):
        np.save(folder / f"{side}.npy", np.eye(2))
        np.save(folder / f"{side}_lengths.npy", np.array([2]))
        np.save(folder / f"{side}_words.npy", np.array([0, 1]))


def _save_gensim(folder: Path) -> None:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(2)
    vectors.add_vectors(["the", "cat"], np.eye(2, dtype=np.float32))
    vectors.save(str(folder / "x.kv"), separately=["vectors"])


FOLDERS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object], tuple[str, ...]]] = {
    "model": (
        save_model,
        lambda folder: nmtalign.load(folder / "model"),
        (
            "model/meta.json",
            "model/scorer.lexicon.source.txt",
            "model/arrays.npz",
            "model/scorer.lexicon.forms-0.counts.npy",
        ),
    ),
    "vectors": (
        _save_vectors,
        load_both_languages,
        ("pair.json", "en/meta.json", "en/vocab.txt", "fr/vectors.npy", "fr/subwords.npy"),
    ),
    "words and rows": (_save_words_and_rows, load_both_languages, ("word2int_en.pkl", "embeddings_fr.npz")),
    "token vectors": (
        _save_token_vectors,
        lambda folder: list(read_vectors(folder, "cosine", "subwords", [(["a", "c"], ["b", "d"])])),
        ("source.npy", "source_lengths.npy", "target_words.npy"),
    ),
    "gensim": (_save_gensim, lambda folder: load_embeddings(folder / "x.kv"), ("x.kv.vectors.npy",)),
}
CASES = [(kind, file) for kind, (_, _, files) in FOLDERS.items() for file in files]


@pytest.mark.parametrize("kind", ["pipe", "device", "file outside"])
@pytest.mark.parametrize(("name", "file"), CASES)
def test_a_file_of_a_folder_is_plain_and_inside(name: str, file: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    save, read, _ = FOLDERS[name]
    save(tmp_path / "folder")
    read(tmp_path / "folder")  # as it is
    path = tmp_path / "folder" / file
    path.rename(tmp_path / "outside")  # what it links to is right, and still refused
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "outside")
    with pytest.raises(DataError, match=r"leads out of it|plain file|beside it") as caught:
        read(tmp_path / "folder")
    assert str(tmp_path / "folder") in str(caught.value)


def test_a_link_inside_of_a_folder_is_followed(tmp_path: Path) -> None:
    _save_vectors(tmp_path)
    (tmp_path / "fr" / "vocab.txt").rename(tmp_path / "fr" / "words")
    (tmp_path / "fr" / "vocab.txt").symlink_to("words")
    load_both_languages(tmp_path)
    (tmp_path / "here").symlink_to(tmp_path)
    load_both_languages(tmp_path / "here")
    assert file_inside(tmp_path / "here", "pair.json").read_bytes()


def test_a_language_is_inside_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    _save_vectors(tmp_path / "folder")
    (tmp_path / "folder" / "fr").rename(tmp_path / "fr")
    (tmp_path / "folder" / "fr").symlink_to(tmp_path / "fr")
    with pytest.raises(DataError, match="leads out of it"):
        load_both_languages(tmp_path / "folder")


@pytest.mark.parametrize(
    "left_out",
    [
        "arrays.npz",
        "scorer.lexicon.source.txt",
        "scorer.lexicon.forms-0.counts.npy",
        "scorer.spectral.source.npy",
    ],
)
def test_what_a_model_opens_is_listed(left_out: str, tmp_path: Path) -> None:
    save_model(tmp_path)
    path = tmp_path / "model" / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    del meta["files"][left_out]
    path.write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(DataError, match=f"{left_out}: expected a file that meta.json lists"):
        nmtalign.load(tmp_path / "model")


def test_the_tokenizer_of_a_model_is_listed(tmp_path: Path) -> None:
    save_model(tmp_path)
    path = tmp_path / "model" / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    (tmp_path / "model" / "x.model").write_bytes(b"")
    meta["text"]["tokenizer"] = "sentencepiece:x.model"
    path.write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.model: expected a file that meta\.json lists"):
        nmtalign.load(tmp_path / "model")
    path.unlink()
    meta["files"] = fingerprints(tmp_path / "model")
    path.write_text(json.dumps(meta), encoding="utf-8")
    opened = nmtalign.load(tmp_path / "model").text_settings.tokenizer
    assert opened == f"sentencepiece:{tmp_path / 'model' / 'x.model'}"


@pytest.mark.parametrize("file", ["pair.json", "en/meta.json"])
@pytest.mark.parametrize("name", ["/dev/zero", "../x.model", "pipe"])
def test_vectors_name_no_tokenizer_outside(name: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    _save_vectors(tmp_path / "folder")
    path = tmp_path / "folder" / file
    (path.parent.parent / "x.model").write_bytes(b"")
    os.mkfifo(path.parent / "pipe")
    meta = json.loads(path.read_text(encoding="utf-8"))
    meta["settings"] = {"text": {"tokenizer": f"sentencepiece:{name}"}}
    path.write_text(json.dumps(meta), encoding="utf-8")
    with pytest.raises(DataError, match=r"leads out of it|plain file"):
        load_both_languages(tmp_path / "folder")


def test_vectors_keep_their_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "x.model").write_bytes(b"bytes")
    text_settings = TextSettings(tokenizer=f"sentencepiece:{tmp_path / 'x.model'}", lowercase=False)
    side = nmtalign.Embeddings(
        Vocabulary.from_words(["the"]), np.eye(1), settings={"text": text_settings.as_dict()}
    )
    save_pair(side, side, tmp_path / "pair", languages=("en", "fr"))
    (tmp_path / "x.model").unlink()
    (tmp_path / "pair").rename(tmp_path / "moved")
    for opened in load_both_languages(tmp_path / "moved"):
        kept = TextSettings.from_dict(opened.settings["text"])
        file = Path(kept.tokenizer.partition(":")[2])
        assert (kept.lowercase, file.read_bytes()) == (False, b"bytes")
        assert file.is_relative_to(tmp_path / "moved")


def test_what_is_resumed_is_plain(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "checkpoint.npz")
    assert Checkpoint(tmp_path / "checkpoint.npz", "mine").read() is None
    (tmp_path / "000000.links").write_bytes(b"0-0\n")
    record = {"files": {"links": fingerprint(tmp_path / "000000.links")}}
    (tmp_path / "000000.json").write_text(json.dumps(record), encoding="utf-8")
    assert is_shard_complete(tmp_path, 0, ["links"])
    (tmp_path / "000000.links").unlink()
    os.mkfifo(tmp_path / "000000.links")
    assert not is_shard_complete(tmp_path, 0, ["links"])


def test_an_index_opens_no_file_beside_it(tmp_path: Path) -> None:
    write_index_file(tmp_path / "x.db", [(["cat"], ["chat"], {(0, 0)})], TextSettings())
    for ending in ("journal", "wal"):
        os.mkfifo(tmp_path / f"x.db-{ending}")
    assert search(open_index(tmp_path / "x.db"), "cat", "source").translations == [("chat", 1)]


def test_an_index_has_the_tokenizer_in_it(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    letters = iter(["the cat sat on the mat", "a cat", "the mat"] * 9)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=letters, model_prefix=str(tmp_path / "x"), vocab_size=16, minloglevel=2
    )
    text_settings = TextSettings(tokenizer=f"sentencepiece:{tmp_path / 'x.model'}")
    assert [token.text for token in text_settings.tokens("cats")] == ["cat", "s"]
    write_index_file(tmp_path / "x.db", [(["cat", "s"], ["chats"], {(0, 0)})], text_settings)
    (tmp_path / "x.model").unlink()
    assert search(open_index(tmp_path / "x.db"), "cats", "source").translations == [("chats", 1)]


@pytest.mark.parametrize("name", ["/dev/zero", "../x.model", "x.model"])
def test_an_index_names_no_file_outside(name: str, tmp_path: Path) -> None:
    write_index_file(tmp_path / "x.db", [(["cat"], ["chat"], {(0, 0)})], TextSettings())
    (tmp_path / "x.model").write_bytes(b"")
    text = json.dumps({"tokenizer": f"sentencepiece:{name}"})
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("UPDATE about SET text = ?", (text,))
    with pytest.raises(DataError, match=r"x\.db: expected an index"):
        open_index(tmp_path / "x.db")


def test_an_index_writes_its_files_nowhere_else(tmp_path: Path) -> None:
    write_index_file(tmp_path / "x.db", [(["cat"], ["chat"], {(0, 0)})], TextSettings())
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("INSERT INTO files VALUES (?, ?)", (str(tmp_path / "written"), b"bytes"))
    open_index(tmp_path / "x.db")
    assert [path.name for path in tmp_path.iterdir()] == ["x.db"]


# --- what an index holds -------------------------------------------------------------------------


def packed(*numbers: int, size: int = 8) -> bytes:
    return bytes([size]) + b"".join(number.to_bytes(size, "little") for number in numbers)


DAMAGES = {
    "a block twice": ("UPDATE forms SET blocks = ?", packed(0, 0)),
    "a block three million times": ("UPDATE forms SET blocks = ?", b"\1" + bytes(3_000_000)),
    "blocks of an odd length": ("UPDATE forms SET blocks = ?", packed(0) + b"\0"),
    "a block that is not there": ("UPDATE forms SET blocks = ?", packed(7)),
    "a block beyond SQLite": ("UPDATE forms SET blocks = ?", packed(2**64 - 1)),
    "a word beyond SQLite": ("UPDATE blocks SET target = ?", packed(2**64 - 1)),
    "lengths that wrap": ("UPDATE blocks SET source_lengths = ?", packed(*[2**63] * 2, 1)),
    "lengths of another sum": ("UPDATE blocks SET target_lengths = ?", packed(5)),
    "a link that wraps": ("UPDATE blocks SET link_target = ?", packed(2**64 - 1)),
    "a link outside": ("UPDATE blocks SET link_source = ?", packed(1)),
    "no numbers": ("UPDATE blocks SET source = ?", b""),
    "numbers of 3 bytes": ("UPDATE blocks SET source = ?", packed(0, size=3)),
    "text for numbers": ("UPDATE folds SET numbers = ?", "abc"),
    "folds of one side": ("DELETE FROM folds WHERE side = length(?)", "a"),
    "a form that wraps": ("UPDATE folds SET numbers = ?", packed(2**64 - 1)),
    "deep JSON": ("UPDATE about SET text = ?", "[" * 100_000),
    "deep JSON that is whole": ("UPDATE about SET languages = ?", "[" * 900 + "]" * 900),
    "another language": ("UPDATE about SET languages = ?", '["en", 3]'),
    "languages": ("UPDATE about SET languages = ?", '["en", "fr", "de"]'),
    "pairs that are text": ("UPDATE about SET pairs = ?", "abc"),
    "no entry": ("DELETE FROM about WHERE pairs > length(?)", ""),
    "bytes that are not UTF-8": ("UPDATE words SET word = CAST(? AS TEXT)", b"\xff"),
    "a word that is a number": ("UPDATE forms SET number = ?", "x"),
}


DAMAGED_LABELS = {
    "labels that are gone": ("DELETE FROM labels WHERE labels <> ?", ""),
    "labels that are no list": ("UPDATE labels SET labels = ?", "{}"),
    "too few labels": ("UPDATE labels SET labels = ?", "[]"),
    "a list as a label": ("UPDATE labels SET labels = ?", "[[1]]"),
    "another kind": ("UPDATE levels SET kind = ?", "object"),
    "text as a time": ("UPDATE levels SET kind = ?", "datetime64[ns]"),
}


@pytest.mark.parametrize("case", DAMAGED_LABELS)
def test_damaged_labels(case: str, tmp_path: Path) -> None:
    levels = [LabelLevel("sid", VALUE_LABELS, ["s7"])]
    write_index_file(tmp_path / "x.db", [(["cat"], ["chat"], {(0, 0)})], levels=levels)
    assert nmtalign.find(tmp_path / "x.db", "cat").index.tolist() == ["s7"]
    command, value = DAMAGED_LABELS[case]
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute(command, (value,))
    with pytest.raises(DataError, match=r"x\.db: "):
        nmtalign.find(tmp_path / "x.db", "cat")


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_indexes(case: str, tmp_path: Path) -> None:
    write_index_file(tmp_path / "x.db", [(["cat"], ["chat"], {(0, 0)})], TextSettings())
    command, value = DAMAGES[case]
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute(command, (value,))
    with pytest.raises(DataError, match=r"x\.db: "):
        search(open_index(tmp_path / "x.db"), "cat", "source", translation="chat")


def test_words_that_are_no_text_are_the_fault_of_the_caller(tmp_path: Path) -> None:
    write_index_file(tmp_path / "x.db", [(["cat"], ["chat"], {(0, 0)})], TextSettings())
    index = open_index(tmp_path / "x.db")
    for query, translation in (("\udce9", None), ("cat", "\udce9")):
        with pytest.raises(UsageError, match="expected words as text, in UTF-8, found"):
            search(index, query, "source", translation=translation)
