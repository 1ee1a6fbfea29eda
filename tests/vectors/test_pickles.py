"""Pickles are read as data: honest ones as Python reads them, hostile ones never run and never swell."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import time
import tracemalloc
import zipfile
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtalign.errors import DataError
from nmtalign.vectors.pickles import ALLOWED, PickledObject, read_pickle
from nmtalign.vectors.storage import load_embeddings

PROTOCOLS = range(6)

keys = st.one_of(st.text(), st.integers(-(2**63), 2**63), st.none(), st.booleans(), st.binary(max_size=9))
plain = st.recursive(
    st.one_of(keys, st.floats(allow_nan=False), st.integers(-(2**90), 2**90)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.lists(inner, max_size=6).map(tuple),
        st.dictionaries(keys, inner, max_size=6),
    ),
    max_leaves=25,
)


@given(value=plain, protocol=st.sampled_from(PROTOCOLS))
def test_plain_values_are_what_python_reads(value: Any, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i8", "u1", "?", "<f2"])
def test_arrays_are_what_numpy_wrote(protocol: int, dtype: str) -> None:
    array = np.asfortranarray(np.arange(12).reshape(3, 4).astype(dtype))
    found = read_pickle(pickle.dumps([array, array], protocol))
    for one in found:
        np.testing.assert_array_equal(one.array(), array)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "word2int",
    [
        {"le": 0, "été": 1, "日本": 2},
        OrderedDict(le=0, la=1),
        Counter({"le": 3}),
        defaultdict(int, {"le": 0}),
        {"le": np.int64(0), "la": np.int32(1)},
    ],
    ids=lambda value: type(value).__name__,
)
def test_kinds_of_dictionaries(protocol: int, word2int: dict[str, int]) -> None:
    assert read_pickle(pickle.dumps(word2int, protocol)) == dict(word2int)


def test_texts_of_python_2() -> None:
    old = b"(dp0\nS'caf\\xc3\\xa9'\np1\nI7\ns."
    assert read_pickle(old, encoding="utf-8") == {"café": 7}


def test_a_set_and_a_long_line_of_items() -> None:
    assert read_pickle(pickle.dumps({1, "b"}, 4)) == {1, "b"}
    assert read_pickle(pickle.dumps(list(range(5000)), 2)) == list(range(5000))


def test_objects_become_inert_records() -> None:
    found = read_pickle(b"cgensim.models.keyedvectors\nKeyedVectors\n)\x81}X\x01\x00\x00\x00aK\x01sb.")
    assert isinstance(found, PickledObject)
    assert (found.name, found.get("a")) == ("gensim.models.keyedvectors.KeyedVectors", 1)


# --- hostile ones --------------------------------------------------------------------------------


class Evil:
    """Runs a command when read by an ordinary unpickler."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        return (os.system, (self.command,))


def call(module: str, name: str, argument: str) -> bytes:
    """The instructions of ``module.name(argument)``."""
    return f"c{module}\n{name}\n(V{argument}\ntR".encode()


def long_text(length: int) -> bytes:
    return b"X" + struct.pack("<I", length) + b"x" * length


KEYED = b"cgensim.models.keyedvectors\nKeyedVectors\n)\x81"
SHELL = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tC\x01btR"
FLOAT = b"cnumpy\ndtype\n(V%s\nK\x00K\x01tR(K\x03V<\nNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb" % b"f4"


SIDES = {
    "an array of 4 TB": b"J\xff\xff\xff\x7fM\xff\x01",
    "an array of 2^200 numbers": b"\x8a\x1a" + b"\x00" * 25 + b"\x01",
    "an array of minus one number": b"J\xff\xff\xff\xff",
}


def huge_array(sides: bytes) -> bytes:
    return SHELL + b"(K\x01(" + sides + b"t" + FLOAT + b"\x89C\x04\x00\x00\x00\x00tb."


def running(touch: str) -> dict[str, bytes]:
    """Pickles that run `touch` in an ordinary reader."""
    evil = Evil(touch)
    code = f"__import__('os').system({touch!r})"
    return {
        **{f"reduce, protocol {p}": pickle.dumps(evil, p) for p in PROTOCOLS},
        **{f"a value of word2int, protocol {p}": pickle.dumps({"le": evil}, p) for p in (0, 2, 5)},
        "an attribute of a gensim object": KEYED + b"}V__x\n" + pickle.dumps(evil, 0)[:-1] + b"sb.",
        "an attribute's attribute": KEYED
        + b"}Vwv\n"
        + KEYED
        + b"}Vx\n"
        + pickle.dumps(evil, 2)[2:-1]
        + b"sbsb.",
        "hidden behind an honest dictionary": b"(dp0\nVle\nI0\ns" + pickle.dumps(evil, 0)[:-1] + b"0.",
        "eval": call("builtins", "eval", code) + b".",
        "eval of Python 2": call("__builtin__", "eval", code) + b".",
        "numpy's own runstring": call("numpy.testing._private.utils", "runstring", code) + b".",
        "numpy's own runstring, old place": call("numpy.testing", "runstring", code) + b".",
        "a dotted name": b"\x80\x04Vcollections\nVOrderedDict.fromkeys.__class__\n\x93.",
        "a name with the module in it": b"\x80\x04Vbuiltins\nVhash.__self__.exec\n\x93.",
        "an instance of protocol 0": f"(V{touch}\nios\nsystem\n.".encode(),
        "an object of protocol 1": f"(cos\nsystem\nV{touch}\no.".encode(),
        "gensim's own unpickle": call("gensim.utils", "unpickle", "/etc/passwd") + b".",
        "a name put together from the memo": b"\x80\x04Vos\n\x94Vsystem\n\x940\x930h\x00h\x01\x93V"
        + touch.encode()
        + b"\n\x85R.",
        "an extension code": b"\x80\x02\x82\x01.",
        "a persistent name": b"Pos.system\n.",
        "copyreg": b"ccopyreg\n_reconstructor\n(cos\n_wrap_close\nc__builtin__\nobject\nNtR.",
        "a state for a function of ours": b"cnumpy\ndtype\n}(Vmake\ncnumpy\ndtype\nub.",
        "a call of what was made": KEYED + b")R.",
        "items for an object": KEYED + b"(K\x01e.",
        "getattr": call("builtins", "getattr", "x") + b".",
        "another codec": b"c_codecs\nencode\n(Vx\nVzlib\ntR.",
    }


@pytest.mark.parametrize("case", running("true"))
def test_nothing_runs(case: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    data = running(f"touch {canary}")[case]
    path = tmp_path / "word2int_en.pkl"
    path.write_bytes(data)
    np.savez(tmp_path / "embeddings_en.npz", embeddings=np.eye(3))
    with pytest.raises(DataError, match=r"word2int_en\.pkl"):
        load_embeddings(path)
    with pytest.raises(DataError, match=r"word2int_en\.pkl"):
        load_embeddings(path, format="gensim")
    assert not canary.exists()


def test_the_canary_can_sing(tmp_path: Path) -> None:
    """The same bytes do run in an ordinary reader, so the test above can fail."""
    canary = tmp_path / "canary"
    for case in ("reduce, protocol 0", "an attribute of a gensim object", "eval"):
        data = running(f"touch {canary}")[case]
        pickle.loads(data)
        assert canary.exists()
        canary.unlink()


@pytest.mark.parametrize("name", ["npy", "npz"])
def test_object_arrays_are_refused(name: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    array = np.array([Evil(f"touch {canary}")], dtype=object)
    pickle_path, path = tmp_path / "word2int_en.pkl", tmp_path / "embeddings_en.npz"
    pickle_path.write_bytes(pickle.dumps({"le": 0}))
    if name == "npz":
        np.savez(path, embeddings=array, allow_pickle=True)
    else:
        with open(path, "wb") as file:
            np.save(file, array, allow_pickle=True)
    with pytest.raises(DataError, match="embeddings_en"):
        load_embeddings(path)
    assert not canary.exists()


def test_object_arrays_in_side_files_are_refused(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    state = b"}(Vindex_to_key\n](Va\neV__numpys\n](Vvectors\neub."
    (tmp_path / "x.kv").write_bytes(b"\x80\x02" + KEYED + state)
    side = np.array([Evil(f"touch {canary}")], dtype=object)
    np.save(tmp_path / "x.kv.vectors.npy", side, allow_pickle=True)
    with pytest.raises(DataError, match=r"x\.kv"):
        load_embeddings(tmp_path / "x.kv")
    assert not canary.exists()


SWELLING = {
    "a text of 2^60 bytes": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"x.",
    "a text of 4 GB": b"X\xff\xff\xff\xff.",
    "bytes of 2^60": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60) + b".",
    "a byte array of 2^40": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".",
    "a frame of 2^62": b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"}.",
    "a number of 2 GB": b"\x8b\xff\xff\xff\x7f.",
    "a number of minus one byte": b"\x8b\xff\xff\xff\xff.",
    "a text of minus one byte": b"T\xff\xff\xff\xff.",
    "a text that jumps back to itself": b"T" + struct.pack("<i", -5) + b".",
    "a decimal number of a million digits": b"I" + b"9" * 1_000_000 + b"\n.",
    "a place in the memo at 2^32": b"}r\xff\xff\xff\xff(j\xff\xff\xff\xfee.",
    "a place that was never filled": b"h\x07.",
    **{name: huge_array(sides) for name, sides in SIDES.items()},
    "the same text encoded over and over": (
        b"(" + long_text(100_000) + b"q\x00c_codecs\nencode\nq\x01"
        + b"h\x01h\x00Vlatin1\n\x86R" * 5_000 + b"l."
    ),
    "the same pairs copied over and over": (
        b"(](" + b"(K\x01K\x02t" * 5_000 + b"eq\x00ccollections\nOrderedDict\nq\x01"
        + b"h\x01h\x00\x85R" * 9_000 + b"l."
    ),
    "the same table copied over and over": (
        b"((d" + b"".join(b"J" + struct.pack("<i", n) + b"Ns" for n in range(5_000)) + b"q\x00"
        b"ccollections\nCounter\nq\x01" + b"h\x01h\x00\x85R" * 9_000 + b"l."
    ),
    "tuples of tuples as a key": b"}(K\x00q\x00" + b"h\x00h\x00\x86q\x00" * 60 + b"Nu.",
    "a long list of arguments again and again": (
        b"(" + b"N" * 100_000 + b"tq\x00(cnumpy\ndtype\nq\x01" + b"h\x01h\x00R" * 20_000 + b"l."
    ),
    "tuples of tuples in a frozen set": b"\x80\x04(K\x00q\x00" + b"h\x00h\x00\x86q\x00" * 60 + b"\x91.",
    "tuples of tuples in a set": b"\x80\x04\x8f(K\x00q\x00" + b"h\x00h\x00\x86q\x00" * 60 + b"\x90.",
    "marks without an end": b"(" * 30_000 + b".",
    "lists in lists": b"]" * 30_000 + b"a" * 29_999 + b".",
    "nothing": b"",
    "half a file": pickle.dumps({f"word{n}": n for n in range(1000)})[:5000],
    "a protocol of the future": b"\x80\x09}.",
}  # fmt: skip


@pytest.mark.parametrize("case", SWELLING)
def test_memory_and_time_stay_in_proportion(case: str, tmp_path: Path) -> None:
    data = SWELLING[case]
    path = tmp_path / "word2int_en.pkl"
    path.write_bytes(data)
    np.savez(tmp_path / "embeddings_en.npz", embeddings=np.eye(3))
    begin = time.perf_counter()
    tracemalloc.start()
    try:
        with pytest.raises(DataError):
            load_embeddings(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 150 * len(data) + 2_000_000
    assert time.perf_counter() - begin < 20


def test_a_model_that_unpacks_out_of_proportion(tmp_path: Path) -> None:
    path = tmp_path / "x.kv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"\x80\x02X\xff\xff\xff\x0f")
        for _ in range(200):
            file.write(b"x" * (1 << 20))
    with pytest.raises(DataError, match="unpacks to over"):
        load_embeddings(path)


def test_an_npz_that_claims_more_than_it_has(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 300)}
    )
    with zipfile.ZipFile(tmp_path / "embeddings_en.npz", "w") as archive:
        archive.writestr("embeddings.npy", buffer.getvalue() + b"\0" * 64)
    (tmp_path / "word2int_en.pkl").write_bytes(pickle.dumps({"le": 0}))
    with pytest.raises(DataError, match="found one of shape"):
        load_embeddings(tmp_path / "word2int_en.pkl")


def test_the_list_holds_exact_names_only() -> None:
    assert all("." not in name for _, name in ALLOWED)
    assert not {("builtins", "eval"), ("builtins", "getattr"), ("os", "system")} & ALLOWED


def test_unsafe_pickle_is_loud(tmp_path: Path) -> None:
    (tmp_path / "word2int_en.pkl").write_bytes(pickle.dumps({"le": 0}))
    np.savez(tmp_path / "embeddings_en.npz", embeddings=np.eye(3))
    with pytest.warns(UserWarning, match="can run any code"):
        assert len(load_embeddings(tmp_path / "word2int_en.pkl", unsafe_pickle=True)) == 1


@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES)
def test_arrays_that_claim_more_than_they_have_are_refused(sides: bytes) -> None:
    with pytest.raises(DataError, match=r"NumPy array whose shape|expected [0-9]+ bytes, found 4"):
        read_pickle(huge_array(sides)).array()
    assert read_pickle(huge_array(b"K\x01")).array().tolist() == [0.0]


def test_arrays_of_objects_hold_nothing() -> None:
    found = read_pickle(pickle.dumps(np.array(["a", None], dtype=object), 4))
    assert isinstance(found, PickledObject)
    assert found.array() is None
