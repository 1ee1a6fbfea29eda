"""Every reader over damaged files: an error of one line that names the place, or what can still be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nmtalign.errors import NmtalignError
from tests.hostile.damage import check, damaged, wrong_values
from tests.hostile.readers import READERS

FOUND = sorted((Path(__file__).parent / "found").glob("*"))
OF_JSON = ("vectors en/meta.json", "pair.json", "json", "record")
SEEDS = range(8)


def prepared(name: str, folder: Path):
    reader = READERS[name]
    reader.beside(folder)
    return reader


@pytest.mark.parametrize("name", READERS)
def test_good_files_are_read(name, tmp_path):
    reader = prepared(name, tmp_path)
    for sample in reader.samples:
        assert check(reader, sample, tmp_path) == ""


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name, tmp_path):
    reader = prepared(name, tmp_path)
    for seed in SEEDS:
        for sample in reader.samples:
            check(reader, damaged(sample, seed), tmp_path)


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe", b"\n" * 9, bytes(range(256)), b"\x80\x04"])
def test_files_of_something_else(data, tmp_path):
    for name in READERS:
        (tmp_path / name.replace("/", "_")).mkdir()
        folder = tmp_path / name.replace("/", "_")
        check(prepared(name, folder), data, folder)


@pytest.mark.parametrize("name", OF_JSON)
def test_wrong_values_in_json(name, tmp_path):
    reader = prepared(name, tmp_path)
    for sample in reader.samples:
        for data in wrong_values(sample):
            check(reader, data, tmp_path)


def test_wrong_values_in_a_model(tmp_path):
    reader = prepared("model", tmp_path)
    for data in list(wrong_values(reader.samples[0]))[::23]:  # 2,300 in all
        check(reader, data, tmp_path)


def test_a_reader_that_falls_over_is_seen(tmp_path):
    """The check itself: an error of Python's own is not let through."""
    with pytest.raises(ZeroDivisionError):
        check(type(READERS["npz"])("x", lambda path: 1 / 0, (b"",)), b"", tmp_path)
    with pytest.raises(AssertionError, match="no place"):
        check(type(READERS["npz"])("x", _without_place, (b"",)), b"", tmp_path)


def _without_place(path: Path) -> None:
    raise NmtalignError("bad")


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_the_fuzzer_found(path, tmp_path):
    plain = {name.replace(" ", "_").replace("/", "_"): name for name in READERS}
    name = plain[re.sub(r"-(crash|timeout|oom|slow-unit)-\w+$", "", path.name)]
    check(prepared(name, tmp_path), path.read_bytes(), tmp_path)
