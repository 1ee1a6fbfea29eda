"""What an encoder has found is kept by everything that makes it; a stopped run goes on; memory is bounded."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import combinations, islice

import numpy as np
import pytest

import nmtalign
from nmtalign.cli import main
from nmtalign.errors import DataError
from nmtalign.external import hf_encoder
from nmtalign.external.hf_encoder import Encoder, EncoderSimilarities, Pieces
from nmtalign.external.links_from import encoder_linker
from nmtalign.settings import SourceEncoderSettings, SourceSettings
from tests.aligner.toy_language import links_of
from tests.external.tiny import LAYERS, ambiguous_bitext, make_encoder
from tests.later import torch, transformers

os.environ["HF_HUB_OFFLINE"] = "1"

TOY = ambiguous_bitext(20, seed=5)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_encoder(tmp_path_factory.mktemp("tiny"))


def aligned(tiny, cache, **more: object) -> list:
    return links_of(nmtalign.links_from(TOY.words, encoder=tiny, layer=LAYERS, cache=cache, **more))


def changed(cache, command: str, *values: object) -> None:
    with closing(sqlite3.connect(cache)) as file, file:
        file.execute(command, values)


@pytest.mark.parametrize("units", ["subwords", "words"])
def test_a_second_run_reads_the_cache(tiny, tmp_path, monkeypatch, units):
    first = aligned(tiny, tmp_path / "cache", units=units)
    monkeypatch.setattr(hf_encoder, "import_packages", lambda: pytest.fail("not even torch is needed"))
    assert aligned(tiny, tmp_path / "cache", units=units) == first


def test_all_that_changes_similarities_is_in_the_key(tiny, tmp_path):
    """Each setting by itself, against what is found without a cache."""
    other = tmp_path / "other"
    shutil.copytree(tiny, other)
    model = transformers.AutoModel.from_pretrained(other)
    with torch.no_grad():
        model.encoder.layer[1].output.dense.bias[:8] += 1
    model.save_pretrained(other)
    pair, found = TOY.words[0], {}
    for folder in (tiny, other):
        for layer in range(LAYERS + 1):
            for product in ("cosine", "dot"):
                for units in ("subwords", "words"):
                    own = EncoderSimilarities(Encoder(str(folder), layer), product, units=units)
                    cached = replace(own, cache=tmp_path / "cache")
                    own_matrix = next(own.read([pair])).matrix
                    for _ in range(2):
                        np.testing.assert_array_equal(next(cached.read([pair])).matrix, own_matrix)
                    if folder == tiny or layer == LAYERS:
                        found[folder, layer, product, units] = own_matrix
    for one, other_one in combinations(found.values(), 2):
        assert one.shape != other_one.shape or np.abs(one - other_one).max() > 1e-3
    encoder = Encoder(str(tiny), 1, languages=("a", "b"))
    base = EncoderSimilarities(encoder, cache="x")
    others = [
        replace(base, encoder=replace(encoder, languages=("a", "c"))),
        replace(base, encoder=replace(encoder, device="cuda")),
        base,
    ]
    assert len({own._key(pair) for own in others}) == 3
    assert base._key((["a b"], ["c"])) != base._key((["a", "b"], ["c"]))


def test_a_longest_window_is_in_the_key(tiny, monkeypatch):
    keys = set()
    for longest in (512, 256):
        monkeypatch.setattr(hf_encoder, "DEFAULT_WINDOW_SUBWORDS", longest)
        keys.add(EncoderSimilarities(Encoder(str(tiny)), cache="x")._key(TOY.words[0]))
    assert len(keys) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda value: value[:200] + bytes([value[200] ^ 1]) + value[201:],
        lambda value: value[:-4],
        lambda value: b"",
        lambda value: bytes(4),
        lambda value: 7,
        lambda value: "text",
        lambda value: None,
    ],
)
def test_a_damaged_entry_is_computed_again(tiny, tmp_path, damage):
    cache = tmp_path / "cache"
    first = aligned(tiny, cache)
    with closing(sqlite3.connect(cache)) as file:
        before = dict(file.execute("SELECT key, value FROM similarities").fetchall())
    key = next(iter(before))
    changed(cache, "UPDATE similarities SET value = ? WHERE key = ?", damage(before[key]), key)
    assert aligned(tiny, cache) == first
    with closing(sqlite3.connect(cache)) as file:
        after = dict(file.execute("SELECT key, value FROM similarities").fetchall())
    assert after.keys() == before.keys()
    size = 16 + 4 * sum(np.frombuffer(before[key], "<i4", 2, 4))
    assert before[key][4:size] == after[key][4:size]
    values = [np.frombuffer(own[key], "<f4", -1, size) for own in (before, after)]
    np.testing.assert_allclose(*values, atol=1e-5)


def test_numbers_that_overflow_are_told(tiny, monkeypatch):
    whole = Encoder._run
    monkeypatch.setattr(Encoder, "_run", lambda self, batch: [own * np.inf for own in whole(self, batch)])
    with pytest.raises(DataError, match=r"pair 1: .* NaN or infinity, by layer 2 in float32; `device=cpu`"):
        aligned(tiny, None)


def test_what_is_no_cache_is_refused_and_left(tiny, tmp_path):
    aligned(tiny, tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "text").write_bytes(b"no database, and longer than a header" * 9)
    (tmp_path / "short").write_bytes(whole[: len(whole) // 2])
    changed(tmp_path / "mine", "CREATE TABLE mine (word TEXT)")
    changed(tmp_path / "columns", "CREATE TABLE similarities (word TEXT)")
    for name in ("text", "short", "mine", "columns"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(DataError, match=f"{name}: expected a cache that nmtalign wrote .*; name another"):
            aligned(tiny, tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


def test_a_stopped_run_goes_on(tiny, tmp_path, monkeypatch, capsys):
    """Ctrl-C in the third block; the blocks before are not encoded again."""
    monkeypatch.setattr(hf_encoder, "ENCODED_PAIRS_IN_MEMORY", 6)
    TOY.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    seen, whole, stop = [], Encoder.vectors, [12]

    def stopping(self, pairs):
        if len(seen) == stop[0]:
            raise KeyboardInterrupt
        seen.extend(pairs)
        return whole(self, pairs)

    def run(*more: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    "links-from",
                    "source",
                    "target",
                    "--encoder",
                    str(tiny),
                    "--layer",
                    "2",
                    "-o",
                    "links",
                    *more,
                ]
            )
        return int(ended.value.code or 0), capsys.readouterr().err

    monkeypatch.setattr(Encoder, "vectors", stopping)
    code, told = run("--cache", "found")
    assert code == 4
    assert "interrupted\nnmtalign: finished work is kept in found; the same command resumes the run" in told
    assert not (tmp_path / "links").exists()
    stop[0], before = -1, len(seen)
    assert run("--cache", "found")[0] == 0
    assert seen[before:] == list(range(13, 21))
    text = (tmp_path / "links").read_text()
    seen.clear()
    stop[0] = 12
    code, told = run()
    assert (code, "nothing is kept; --cache FILE keeps the similarities of the encoder" in told) == (1, True)
    stop[0] = -1
    assert run()[0] == 0
    assert (tmp_path / "links").read_text() == text


def test_no_more_is_read_than_a_block(tiny, monkeypatch):
    """Neither pairs nor words are kept for a whole text."""
    monkeypatch.setattr(hf_encoder, "ENCODED_PAIRS_IN_MEMORY", 4)
    monkeypatch.setattr("nmtalign.external.links_from.PAIRS_IN_MEMORY", 4)
    monkeypatch.setattr(hf_encoder, "MAX_REMEMBERED_WORDS", 10)
    read = []
    pairs = (read.append(n) or pair for n, pair in enumerate(TOY.words))
    linker = encoder_linker(SourceSettings(encoder=SourceEncoderSettings(encoder=tiny, layer=1)))
    whole = links_of(nmtalign.links_from(TOY.words, encoder=tiny, layer=1))
    batches = linker.batches(pairs)
    for n, batch in enumerate(islice(batches, 3), 1):
        assert len(read) == 4 * n
        assert links_of(batch) == whole[4 * n - 4 : 4 * n]
    source = linker.read.__self__  # sentences have seven words
    assert all(len(pieces._known) <= 10 + 7 for pieces in source.encoder._opened[1])


def test_forgotten_words_are_cut_again(tiny, monkeypatch):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    words = [[f"x{n}", "ma3"] for n in range(6)]
    expected = [Pieces(tokenizer, 64).subwords_of_words(own) for own in words]
    monkeypatch.setattr(hf_encoder, "MAX_REMEMBERED_WORDS", 2)
    pieces = Pieces(tokenizer, 64)
    assert [pieces.subwords_of_words(own) for own in words] == expected
