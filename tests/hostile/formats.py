"""Every foreign format: good files, wrong values in them, and the commands that read them."""

from __future__ import annotations

import json
import pickle
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import nmtalign
from nmtalign.files.array_files import read_arrays
from nmtalign.state import fingerprints
from nmtalign.vectors.embeddings import Vocabulary
from nmtalign.vectors.storage import save_pair
from nmtalign.vectors.subword_vectors import CharacterNgrams
from tests.hostile import readers
from tests.hostile.mutations import Mutation, in_array, in_json, in_npz, in_text

# What is changed, in which file, and its new content, or a function that returns it
Change = tuple[str, Path, bytes | Callable[[], bytes]]
PAIRS = [("the cat", "le chat"), ("a dog", "un chien"), ("the dog", "le chien")]


def nothing(folder: Path) -> None:
    """Repair nothing."""


@dataclass(frozen=True)
class Format:
    """Files that others write, and the commands that read them."""

    make: Callable[[Path], object]  # writes good files into a folder
    changes: Callable[[Path], Iterator[Change]]  # label, file, new content
    commands: tuple[str, ...]
    named: str  # what each message has to contain
    repair: Callable[[Path], object] = nothing  # makes hashes right again


def write_text(folder: Path) -> None:
    """Write three pairs, their links, and the links in other formats."""
    for side, ending in enumerate(("en", "fr")):
        lines = "".join(f"{pair[side]}\n" for pair in PAIRS)
        (folder / f"a.{ending}").write_text(lines, encoding="utf-8")
        many = "".join(f"{pair[side]}\n" for pair in PAIRS * 17)
        (folder / f"b.{ending}").write_text(many, encoding="utf-8")
    (folder / "l").write_text("0-0 1-1\n" * 3, encoding="utf-8")
    (folder / "l1").write_text("0-0 1-1\n" * 51, encoding="utf-8")


def of_file(
    name: str, content: bytes, changes: Callable[[bytes], Iterator[tuple[str, bytes]]], *commands: str
) -> Format:
    def make(folder: Path) -> None:
        write_text(folder)
        (folder / name).write_bytes(content)

    def changed(folder: Path) -> Iterator[Change]:
        for label, data in changes((folder / name).read_bytes()):
            yield label, folder / name, data

    return Format(make, changed, commands, name)


CORRECTIONS = "".join(
    json.dumps(
        {
            "pair": n,
            "pairs": 51,
            "text": nmtalign.links.gold.pair_fingerprint(*(s.split(" ") for s in (PAIRS * 17)[n - 1])),
            "links": [[0, 0]],
            "possible": [[1, 1]],
            "by": "A",
            "at": "2026-05-04T12:00:00Z",
        }
    )
    + "\n"
    for n in range(1, 52)
).encode()


def in_lines_of_json(data: bytes) -> Iterator[tuple[str, bytes]]:
    first, *rest = data.splitlines(keepends=True)
    for label, changed in in_json(first):
        yield label, b"".join([changed + b"\n", *rest])
    for label, changed in in_json(first):
        yield f"alone {label}", changed + b"\n"


def in_whole_json(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield from in_json(data)


# ---- models


def right_hashes(folder: Path) -> None:
    meta = folder / "m" / "meta.json"
    content = json.loads(meta.read_text(encoding="utf-8"))
    meta.unlink()
    text = json.dumps(content | {"files": fingerprints(folder / "m")})
    meta.write_text(text, encoding="utf-8")


def in_folder(name: str) -> Callable[[Path], Iterator[Change]]:
    def changes(folder: Path) -> Iterator[Change]:
        for path in sorted((folder / name).rglob("*")):
            place = path.relative_to(folder).as_posix()
            data = path.read_bytes() if path.is_file() else b""
            if path.suffix == ".json":
                content = json.loads(data)
                content.pop("files", None)
                for label, changed in in_json(json.dumps(content).encode()):
                    yield f"{place} {label}", path, changed
            elif path.suffix == ".npz":
                for label, changed in in_npz(read_arrays(path)):
                    yield f"{place} {label}", path, changed
            elif path.suffix == ".npy":
                for label, changed in in_array(np.load(path)):
                    yield f"{place} {label}", path, changed
            elif path.suffix == ".txt":
                for label, changed in in_text(b"\n".join(data.split(b"\n")[:2])):
                    yield f"{place} {label}", path, changed + b"\n".join([b"", *data.split(b"\n")[2:]])

    return changes


@cache
def learned() -> nmtalign.Aligner:
    """Return an aligner with all parts that training can give it."""
    pairs = PAIRS * 17
    gold = [nmtalign.GoldAlignment({(0, 0), (1, 1)})] * len(pairs)
    expert = [{(0, 0), (1, 1)}] * len(pairs)
    return nmtalign.train(pairs, gold=gold, expert=expert, languages=("en", "fr"))


@cache
def of_few_parts() -> nmtalign.Aligner:
    """Return an aligner that takes little time to load."""
    return nmtalign.train(PAIRS * 17, preset="fast", languages=("en", "fr"))


def save_learned(folder: Path) -> None:
    write_text(folder)
    learned().save(folder / "m")


def embeddings(seed: int, words: list[str]) -> nmtalign.Embeddings:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((len(words), 4)).astype(np.float32)
    pieces = CharacterNgrams(rng.standard_normal((5, 4)).astype(np.float32), 1, 3)
    return nmtalign.Embeddings(
        Vocabulary.from_words(words), matrix, pieces, settings={"text": {"lowercase": True}}
    )


ENGLISH, FRENCH = ["the", "cat", "a", "dog"], ["le", "chat", "un", "chien"]


def save_over_vectors(**settings: Any) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        write_text(folder)
        aligner = nmtalign.vector_aligner(
            embeddings(0, ENGLISH), embeddings(0, FRENCH), unknown="subword", **settings
        )
        nmtalign.fit_to(aligner, PAIRS).save(folder / "m")

    return save


def save_bahdanau(folder: Path) -> None:
    save_vectors(folder)
    rng = np.random.default_rng(0)
    np.savez(
        folder / "p.npz",
        W=rng.random((4, 3)),
        U=rng.random((4, 3)),
        v=rng.random(3),
        b=np.zeros(3),
        null_probability=np.array(0.1),
    )
    aligner = nmtalign.vector_aligner(
        embeddings(0, ENGLISH),
        embeddings(0, FRENCH),
        score="bahdanau",
        parameters=folder / "p.npz",
        positions="hmm",
    )
    nmtalign.fit_to(aligner, PAIRS).save(folder / "m")


OF_MODEL = (
    "align a.en a.fr --model m -o out/l --pair-scores out/p --probabilities out/q",
    "lexicon --model m -o out/lex",
    "train b.en b.fr --init m -o out/m2 --preset fast --workers 1",
)


def model(make: Callable[[Path], object], *commands: str) -> Format:
    return Format(make, in_folder("m"), commands or OF_MODEL, "m", right_hashes)


def save_vectors(folder: Path) -> None:
    write_text(folder)
    save_pair(embeddings(0, ENGLISH), embeddings(0, FRENCH), folder / "v", languages=("en", "fr"))


def save_word2int(folder: Path) -> None:
    write_text(folder)
    save_pair(
        embeddings(0, ENGLISH), embeddings(0, FRENCH), folder / "v", languages=("en", "fr"), format="word2int"
    )


OF_VECTORS = (
    "align a.en a.fr --vectors v -o out/l",
    "vectors info v --neighbors cat",
    "vectors info v/en",
    "vectors convert v/fr out/v.vec --to word2vec",
)
OF_WORD2INT = (
    "align a.en a.fr --vectors v -o out/l",
    "vectors info v --neighbors cat",
    "vectors info v/word2int_en.pkl",
    "vectors convert v/embeddings_fr.npz out/v.vec --to word2vec",
)


def save_parameters(name: str, **arrays: Any) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        save_vectors(folder)
        np.savez(folder / "v" / f"{name}.npz", **arrays)

    return save


def save_token_vectors(folder: Path) -> None:
    write_text(folder)
    (folder / "t").mkdir()
    for side in ("source", "target"):
        np.save(folder / "t" / f"{side}.npy", np.eye(6))
        np.save(folder / "t" / f"{side}_lengths.npy", np.array([2, 2, 2]))
        np.save(folder / "t" / f"{side}_words.npy", np.array([0, 1] * 3))


def save_npz(name: str, **arrays: Any) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        write_text(folder)
        np.savez(folder / name, **arrays)

    return save


def npz_format(name: str, arrays: dict[str, Any], *commands: str) -> Format:
    arrays = {key: np.asarray(array) for key, array in arrays.items()}

    def changes(folder: Path) -> Iterator[Change]:
        for label, data in in_npz(arrays):
            yield label, folder / name, data

    return Format(save_npz(name, **arrays), changes, commands, name)


SQL_VALUES = (
    0,
    -1,
    2**31,
    10**12,
    2**63 - 1,
    1e300,
    None,
    "",
    "[]",
    b"",
    b"\x08",
    "x",
    b"\x08" + (2**63).to_bytes(8, "little"),
)


def packed_mutations(value: bytes) -> Iterator[bytes]:
    size = value[0]
    numbers = np.frombuffer(value, f"<u{size}", offset=1)
    for kind in (1, 2, 4, 8):
        yield bytes([kind]) + numbers.astype(f"<u{kind}").tobytes()
    for kind in (0, 3, 5, 16, 255):
        yield bytes([kind]) + value[1:]
    yield bytes([size]) + numbers[:-1].tobytes()
    yield bytes([size]) + np.concatenate([numbers, numbers]).tobytes()
    yield bytes([size]) + numbers[::-1].tobytes()
    for n in (2**31, 10**12, 2**63, 2**64 - 1):
        for place in (0, -1, slice(None)):
            wide = numbers.astype("<u8")
            if len(wide):
                wide[place] = n
                yield b"\x08" + wide.tobytes()


def save_index(folder: Path) -> None:
    write_text(folder)
    (folder / "x.db").write_bytes(readers._index())


def in_index(folder: Path) -> Iterator[Change]:
    path = folder / "x.db"
    good = path.read_bytes()
    database = sqlite3.connect(path)
    tables = {
        name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    todo = []
    for table, columns in tables.items():
        for column in columns:
            values: list[Any] = list(SQL_VALUES)
            for (value,) in database.execute(f"SELECT {column} FROM {table} LIMIT 1"):
                if isinstance(value, bytes):
                    values += packed_mutations(value)
                if isinstance(value, str) and value[:1] in "[{":
                    values += [data.decode() for _, data in in_json(value.encode())]
            todo += [(table, column, value) for value in values]
    database.close()
    for table, column, value in todo:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(good)
            with suppress(sqlite3.Error):
                database.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))
                database.commit()
                yield f"{table}.{column} = {value!r:.30}", path, database.serialize()


def in_parquet(data: bytes) -> Iterator[tuple[str, bytes]]:
    import io

    import pyarrow
    from pyarrow import parquet

    for name in ("source", "target"):
        for values in (
            [0, 1],
            [-1, 2**31],
            [10**12, 1],
            [1e300, float("nan")],
            ["", ""],
            [[], []],
            [None, None],
            [b"\xff", b""],
            [True, False],
            [{"a": 1}, None],
            [],
            ["x"],
        ):
            columns: dict[str, Any] = {"source": ["the cat", "a"], "target": ["le chat", "un"]}
            columns[name] = values
            if len(values) != 2:
                columns = dict.fromkeys(columns, values)
            file = io.BytesIO()
            parquet.write_table(pyarrow.table(columns), file)
            yield f"{name} {values}", file.getvalue()
    for n in range(len(data) - 300, len(data)):
        for byte in (0, 255, 0x7F):
            yield f"byte {n} {byte}", data[:n] + bytes([byte]) + data[n + 1 :]


def in_fasttext(data: bytes) -> Iterator[tuple[str, bytes]]:
    for place in range(0, 110, 4):
        for value in (0, -1, 1, 2**31 - 1, -(2**31), 10**6, 2**24):
            yield f"{place} = {value}", data[:place] + struct.pack("<i", value) + data[place + 4 :]
    for place in range(64, len(data) - 8, 4):
        for value in (10**12, -1, 2**62):
            yield f"{place} = {value} (8)", data[:place] + struct.pack("<q", value) + data[place + 8 :]


ATTRIBUTE_VALUES: tuple[Any, ...] = (
    0,
    -1,
    2**31,
    10**12,
    10**30,
    1e300,
    float("nan"),
    "",
    [],
    None,
    {},
    [1, 2],
    ["a"],
    ["a", "a"],
    "x",
)


def in_attributes(vectors: Any) -> Iterator[tuple[str, bytes]]:
    """Yield pickles of an object with another value in the place of each attribute."""
    for name, right in list(vectors.__dict__.items()):
        values = list(ATTRIBUTE_VALUES)
        if isinstance(right, np.ndarray):
            values += [right.astype(kind) for kind in ("f2", "f8", "i4", "i8", "?", "c8", "U3")]
            values += [
                right[:0],
                right[:1],
                right.T,
                right[None],
                right.reshape(-1),
                right[:, :0],
                np.concatenate([right, right]),
                right * np.nan,
                right * 1e300,
            ]
        for value in values:
            vectors.__dict__[name] = value
            yield f"{name} = {value!r:.30}", pickle.dumps(vectors, 4)
        vectors.__dict__[name] = right


def in_gensim(data: bytes) -> Iterator[tuple[str, bytes]]:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(2)
    vectors.add_vectors(["the", "cat"], np.eye(2, dtype=np.float32))
    yield from in_attributes(vectors)


def in_fasttext_kv(data: bytes) -> Iterator[tuple[str, bytes]]:
    from gensim.models.fasttext import FastTextKeyedVectors

    vectors = FastTextKeyedVectors(2, 1, 3, 5)
    vectors.add_vectors(["the", "cat"], np.eye(2, dtype=np.float32))
    vectors.vectors_vocab = np.eye(2, dtype=np.float32)
    vectors.vectors_ngrams = np.ones((5, 2), np.float32)
    yield "right", pickle.dumps(vectors, 4)
    yield from in_attributes(vectors)


def in_word2int(folder: Path) -> Iterator[Change]:
    for name in ("word2int_en.pkl", "word2int_fr.pkl"):
        rows = pickle.loads((folder / "v" / name).read_bytes())
        for value in (
            0,
            -1,
            2**31,
            10**12,
            10**300,
            1e300,
            float("nan"),
            "",
            [],
            None,
            5,
            4,
            True,
            np.int64(2),
            np.float32(1),
            np.arange(3),
        ):
            word = next(iter(rows))
            yield f"{name} row {value!r:.12}", folder / "v" / name, pickle.dumps({**rows, word: value})
        for value in (0, -1, None, 1.5, b"x", 2**70):
            yield f"{name} word {value!r:.12}", folder / "v" / name, pickle.dumps({**rows, value: 4})
        for value in (0, [], "", None, [("a", 1)], {1, 2}, np.eye(3), {}):
            yield f"{name} = {value!r:.12}", folder / "v" / name, pickle.dumps(value)
    for name in ("embeddings_en.npz", "embeddings_fr.npz"):
        for label, data in in_npz(read_arrays(folder / "v" / name)):
            yield f"{name} {label}", folder / "v" / name, data


_TMX = readers._TMX.encode()
_GIZA = "".join(readers._GIZA.replace("(1)", f"({n})", 1) for n in range(1, 52)).encode()
_XLIFF = readers._XLIFF.encode()
LINKS = (
    "evaluate l1 {0} --gold-format {1}",
    "convert {0} --from {1} --to pharaoh -o out/l",
    "convert {0} --from {1} --to naacl -o out/n",
)


def container(name: str, content: bytes, changes: Callable[[bytes], Iterator[Mutation]] = in_text) -> Format:
    """Return a format of pairs, which a small model aligns."""
    format = of_file(name, content, changes, f"align --pairs {name} --model m -o out/l --pair-scores out/p")

    def make(folder: Path) -> None:
        format.make(folder)
        of_few_parts().save(folder / "m")

    return replace(format, make=make)


def links(name: str, content: bytes, format: str, changes: Any = in_text) -> Format:
    return of_file(name, content, changes, *(c.format(name, format) for c in LINKS))


FORMATS: dict[str, Format] = {
    "corrections": of_file(
        "c.jsonl",
        CORRECTIONS,
        in_lines_of_json,
        "evaluate l1 c.jsonl",
        "train b.en b.fr --gold c.jsonl -o out/m --preset fast --workers 1",
        "report b.en b.fr --gold c.jsonl --lines 1-3 -o out/r.html",
        "report b.en b.fr --corrections c.jsonl --lines 1-3 -o out/r.html",
    ),
    "pharaoh": of_file(
        "g.txt",
        b"0-0 1p1\n" + b"0-0 1-1\n" * 50,
        in_text,
        "evaluate l1 g.txt",
        "report b.en b.fr --gold g.txt --lines 1-3 -o out/r.html",
        "train b.en b.fr --gold g.txt -o out/m --preset fast --workers 1",
    ),
    "links": of_file(
        "g.txt",
        b"0-0 1-1\n" + b"0-0 1-1\n" * 2,
        in_text,
        "evaluate g.txt l",
        "lexicon a.en a.fr g.txt",
        "phrases a.en a.fr g.txt -o out/p",
        "project a.en a.fr g.txt --tags a.en -o out/t",
        "convert g.txt l --symmetrize union -o out/s",
        "find cat a.en a.fr --links g.txt --index out/x.db",
        "find cat a.en a.fr --links g.txt",
        "align a.en a.fr --expert g.txt -o out/l",
        "report a.en a.fr --compare x=g.txt -o out/r.html",
    ),
    "talp": links("g.txt", b"1-1 2-2\n" * 51, "talp", lambda data: in_text(data[:16])),
    "naacl": links(
        "g.txt",
        b"".join(b"%04d 1 1 S\n" % n for n in range(1, 52)),
        "naacl",
        lambda d: ((l, x + d[22:]) for l, x in in_text(d[:22])),
    ),
    "giza": links(
        "g.txt",
        _GIZA,
        "giza",
        lambda d: ((l, x + d[len(readers._GIZA) :]) for l, x in in_text(d[: len(readers._GIZA)])),
    ),
    "tsv": links(
        "g.txt",
        b"the cat\tle chat\t0-0 1-1\n" * 51,
        "tsv",
        lambda d: ((l, x + d[24:]) for l, x in in_text(d[:24])),
    ),
    "jsonl": links(
        "g.txt",
        b'{"links": [[0, 0]], "possible": [[1, 1]], "source": ["a", "b"], "target": ["b", "c"]}\n' * 51,
        "jsonl",
        in_lines_of_json,
    ),
    "model": model(save_learned),
    "model over vectors": model(save_over_vectors(positions="hmm"), OF_MODEL[0]),
    "model over vectors, softmax": model(
        save_over_vectors(positions="diagonal", diagonal=3.0, extract="transport", threshold=0.2), OF_MODEL[0]
    ),
    "model bahdanau": model(save_bahdanau, OF_MODEL[0]),
    "vectors": Format(save_vectors, in_folder("v"), OF_VECTORS, "v"),
    "word2int": Format(save_word2int, in_word2int, OF_WORD2INT, "v"),
    "bahdanau": Format(
        save_parameters(
            "bahdanau",
            W=np.ones((4, 3)),
            U=np.ones((4, 3)),
            v=np.ones(3),
            b=np.ones(3),
            null_probability=np.array(0.1),
        ),
        lambda f: (
            (l, f / "v" / "bahdanau.npz", d) for l, d in in_npz(read_arrays(f / "v" / "bahdanau.npz"))
        ),
        ("align a.en a.fr --vectors v --score bahdanau -o out/l",),
        "v",
    ),
    "layers": Format(
        save_parameters("bahdanau", layer_1=np.ones((8, 3)), layer_2=np.ones((3, 1))),
        lambda f: (
            (l, f / "v" / "bahdanau.npz", d) for l, d in in_npz(read_arrays(f / "v" / "bahdanau.npz"))
        ),
        ("align a.en a.fr --vectors v --score bahdanau -o out/l",),
        "v",
    ),
    "scaled-dot": Format(
        save_parameters(
            "scaled-dot", W_q=np.ones((4, 3)), W_k=np.ones((4, 3)), null_probability=np.array(0.1)
        ),
        lambda f: (
            (l, f / "v" / "scaled-dot.npz", d) for l, d in in_npz(read_arrays(f / "v" / "scaled-dot.npz"))
        ),
        (
            "align a.en a.fr --vectors v --score scaled-dot -o out/l",
            "align a.en a.fr --vectors v --score scaled-dot --positions hmm -o out/l",
        ),
        "v",
    ),
    "word2vec": of_file(
        "x.vec",
        b"2 2\nthe 1 2\ncat 3 4\n",
        in_text,
        "vectors info x.vec",
        "vectors convert x.vec out/v --to folder",
    ),
    "glove": of_file(
        "x.vec",
        b"the 1 2\ncat 3 4\n",
        in_text,
        "vectors info x.vec",
        "vectors convert x.vec out/v --to folder",
    ),
    "word2vec-binary": of_file(
        "x.bin",
        b"2 2\nthe " + bytes(8) + b"\ncat " + np.ones(2, "<f4").tobytes(),
        lambda d: ((l, x + d[4:]) for l, x in in_text(d[:4])),
        "vectors info x.bin",
        "vectors convert x.bin out/v --to folder",
    ),
    "fasttext": of_file(
        "x.bin",
        readers._fasttext(),
        in_fasttext,
        "vectors info x.bin",
        "vectors convert x.bin out/v --to folder",
    ),
    "gensim": of_file(
        "x.kv", readers._gensim(), in_gensim, "vectors info x.kv", "vectors convert x.kv out/v --to folder"
    ),
    "gensim fasttext": of_file(
        "x.kv",
        readers._gensim(),
        in_fasttext_kv,
        "vectors info x.kv",
        "vectors convert x.kv out/v --to folder",
    ),
    "index": Format(
        save_index,
        in_index,
        (
            "find cat --index x.db",
            "find chat --index x.db",
            "find cat --index x.db --translation chat",
        ),
        "x.db",
    ),
    "token vectors": npz_format(
        "t.npz",
        {f"{side}-{n}": np.eye(2) for side in ("source", "target") for n in range(3)},
        "links-from a.en a.fr --token-vectors t.npz -o out/l",
        "links-from a.en a.fr --token-vectors t.npz --units words -o out/l",
    ),
    "token vectors with words": npz_format(
        "t.npz",
        {
            f"{side}-{n}": np.eye(2)
            for side in ("source", "target", "words-source", "words-target")
            for n in range(3)
        }
        | {f"words-{side}-{n}": np.arange(2) for side in ("source", "target") for n in range(3)},
        "links-from a.en a.fr --token-vectors t.npz -o out/l",
        "links-from a.en a.fr --token-vectors t.npz --units words -o out/l",
    ),
    "token vectors in a folder": Format(
        save_token_vectors,
        in_folder("t"),
        (
            "links-from a.en a.fr --token-vectors t -o out/l",
            "links-from a.en a.fr --token-vectors t --units words -o out/l",
        ),
        "t",
    ),
    "similarities": npz_format(
        "s.npz",
        {f"arr_{n}": np.eye(2) for n in range(3)} | {"linkable-0": np.ones((2, 2), bool)},
        *(
            f"links-from a.en a.fr --similarities s.npz --method {m} -o out/l"
            for m in (
                "simalign-itermax",
                "simalign-match",
                "awesome-align",
                "awesome-align-entmax",
                "transport",
            )
        ),
    ),
    "matrices": npz_format(
        "s.npz",
        {f"arr_{n}": np.eye(2) for n in range(3)} | {"linkable-0": np.ones((2, 2), bool)},
        "links-from a.en a.fr --matrices s.npz -o out/l",
    ),
    "heads": npz_format(
        "s.npz",
        {f"arr_{n}": np.ones((2, 2, 2, 2)) / 2 for n in range(3)},
        "links-from a.en a.fr --matrices s.npz -o out/l",
        "links-from a.en a.fr --matrices s.npz --layers 1 --attention-heads 0 -o out/l",
    ),
    "marian": of_file(
        "s.txt", b"0.9,0.1 0.2,0.8\n" * 3, in_text, "links-from a.en a.fr --matrices s.txt -o out/l"
    ),
    "fairseq": of_file(
        "s.txt",
        b"S-0\tthe\nA-0\t0.9,0.1 0.2,0.8\nA-1\t1,0 0,1\nA-2\t1,0 0,1\n",
        in_text,
        "links-from a.en a.fr --matrices s.txt -o out/l",
    ),
    "opennmt": of_file(
        "s.txt", readers._OPENNMT.encode() * 3, in_text, "links-from a.en a.fr --matrices s.txt -o out/l"
    ),
    "tmx": container("x.tmx", _TMX),
    "xliff": container("x.xliff", _XLIFF),
    "po": container("x.po", readers._PO.encode()),
    "json lines": container(
        "x.jsonl",
        b'{"source": "the cat", "target": "le chat"}\n' * 2,
        in_lines_of_json,
    ),
    "csv": container("x.csv", b"source,target\nthe cat,le chat\n"),
    "fast-align": container("x.txt", b"the cat ||| le chat\n"),
    "parquet": container("x.parquet", readers._parquet(), in_parquet),
    "word list": of_file(
        "w.txt",
        b"the\tle\t0.5\ncat\tchat\t2\n",
        in_text,
        "train a.en a.fr --prior w.txt -o out/m --preset fast --workers 1",
    ),
    "dictionary": of_file(
        "w.txt", b"the\tle\ncat chat\n", in_text, "vectors map v/en v/fr --dictionary w.txt -o out/v"
    ),
}
