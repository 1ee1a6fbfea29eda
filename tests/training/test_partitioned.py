"""Learning from temporary files gives the same bytes as learning in memory."""

from __future__ import annotations

import errno
import os
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nmtalign as na
from nmtalign.corpus.buckets import make_buckets, store_buckets
from nmtalign.corpus.text import encode_text
from nmtalign.errors import UsageError
from nmtalign.files.array_files import TemporaryArrays, on_disk, release
from nmtalign.positions.e_step import EStep
from nmtalign.scorers.dictionary_phrases import Phrase
from nmtalign.training.checkpoint import Checkpoint
from nmtalign.training.em import (
    PRESET_HYPERPARAMETERS,
    EMIterations,
    Estimate,
    Estimator,
    Hyperparameters,
)
from nmtalign.training.encoded_bitext import cells_of_parts, default_memory, fits_in_memory, memory_bytes
from nmtalign.training.partitioned import PartitionedCounts, PartitionedEstimator
from nmtalign.training.prior import Prior
from tests.aligner.toy_language import toy_bitext

WORDS = ["a", "ab", "abc", "abcd", "abcde", "bcd", "bcda", "bcdab", "house", "houses", "5"]
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=6)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=30)
FAST = PRESET_HYPERPARAMETERS["fast"]
DEFAULT = PRESET_HYPERPARAMETERS["default"]
SHORT = Hyperparameters(forms=(0, 3, 4), short_forms=(0, 1, -1), model1_iterations=2, hmm_iterations=1)


def assert_same(found: Estimate, wanted: Estimate) -> None:
    for one, other in zip(found.lexicon.counts_of_kinds, wanted.lexicon.counts_of_kinds, strict=True):
        np.testing.assert_array_equal(one.keys, other.keys)
        np.testing.assert_array_equal(one.counts, other.counts)
        for mine, theirs in zip(one.sides, other.sides, strict=True):
            np.testing.assert_array_equal(mine.linked, theirs.linked)
            np.testing.assert_array_equal(mine.null, theirs.null)
    for model, wanted_model in zip(found.jump_models, wanted.jump_models, strict=True):
        np.testing.assert_array_equal(model.tables, wanted_model.tables)
    assert phrases_of(found) == phrases_of(wanted)


def phrases_of(estimate: Estimate) -> list[Phrase]:
    """Return the phrases of the lexicon of an estimate."""
    phrases = estimate.lexicon.phrases
    return [] if phrases is None else list(phrases.entries)


def long_text(pairs: int = 300) -> list[tuple[list[str], list[str]]]:
    """Return pairs whose words follow no order, so that many different words meet."""
    random = np.random.default_rng(1)
    words = [f"{stem}{number}" for number in range(60) for stem in ("ba", "bac", "cab", "dab")]
    sizes = random.integers(1, 12, (pairs, 2)).tolist()
    return [(random.choice(words, s).tolist(), random.choice(words, t).tolist()) for s, t in sizes]


@settings(max_examples=20)
@given(PAIRS, st.integers(1, 100), st.booleans())
def test_partitions_do_not_change_the_estimate(pairs, cells: int, drops_rare: bool):
    text = encode_text(pairs)
    with pytest.MonkeyPatch.context() as patched:
        if drops_rare:
            patched.setattr("nmtalign.corpus.word_pairs.MAX_UNSHARED_CELLS", 0)
        wanted = Estimator(text, SHORT, workers=1).run()
        found = PartitionedEstimator(text, SHORT, workers=1, part_cells=cells).run()
    assert_same(found, wanted)


@pytest.mark.parametrize(("drops_rare", "workers"), [(False, 1), (True, 2)])
def test_many_parts_and_ranges(monkeypatch, drops_rare: bool, workers: int):
    text = encode_text(long_text())
    if drops_rare:
        monkeypatch.setattr("nmtalign.corpus.word_pairs.MAX_UNSHARED_CELLS", 0)
    monkeypatch.setattr("nmtalign.training.result_store.MIN_PARALLEL_CELLS", 1 << 21)
    wanted = Estimator(text, DEFAULT, workers=1).run()
    estimator = PartitionedEstimator(text, DEFAULT, workers=workers, part_cells=1_000)
    sizes = np.array(estimator.range_sizes)  # (ranges, kinds of form)
    assert len(sizes) > 5
    assert ((sizes > 0).sum(axis=0) > 1).all()
    assert_same(estimator.run(), wanted)


def test_forms_that_are_not_nested():
    hyperparameters = Hyperparameters(forms=(0, 1, 4, -1), model1_iterations=2, hmm_iterations=1)
    text = encode_text(long_text(100))
    wanted = Estimator(text, hyperparameters, workers=1).run()
    assert_same(PartitionedEstimator(text, hyperparameters, workers=1, part_cells=500).run(), wanted)


def test_priors_and_older_models_are_added():
    text = encode_text(long_text(100))
    older = Estimator(encode_text(long_text(50)), FAST, workers=1).run()
    for prior in (
        Prior(vocabulary_pairs=[("ba1", "bac2", 3.0)]),
        Prior(lexicon=older.lexicon, jump_models=older.jump_models),
    ):
        source, target = prior.extend(text.source, text.target)
        extended = encode_text(long_text(100))
        extended.__dict__.update(source=source, target=target)
        wanted = Estimator(extended, FAST, prior=prior, workers=1).run()
        found = PartitionedEstimator(extended, FAST, prior=prior, workers=1, part_cells=500).run()
        assert_same(found, wanted)


def test_phrases_of_the_text_are_kept_in_many_parts():
    text = long_text(100)
    phrases = [(source[0], " ".join(target[:2])) for source, target in text if len(target) > 1]
    prior = Prior(phrases=[*phrases, ("ba1", "not there")])
    wanted = Estimator(encode_text(text), FAST, prior=prior, workers=1).run()
    estimator = PartitionedEstimator(encode_text(text), FAST, prior=prior, workers=1, part_cells=500)
    assert len(estimator.range_sizes) > 5
    found = estimator.run()
    assert phrases_of(found) == list(dict.fromkeys(phrases))
    assert_same(found, wanted)


def test_a_checkpoint_resumes(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("nmtalign.training.checkpoint.SECONDS_BETWEEN_CHECKPOINTS", 0)
    text = encode_text(long_text(60))
    path = tmp_path / "checkpoint.npz"
    wanted = PartitionedEstimator(text, FAST, workers=1, part_cells=500).run(Checkpoint(path, "mine"))
    resumed = PartitionedEstimator(text, FAST, workers=1, part_cells=500)
    with monkeypatch.context() as patched:
        patched.delattr(EMIterations, "_initial_state")
        patched.delattr(EMIterations, "_hmm_iteration")
        assert_same(resumed.run(Checkpoint(path, "mine")), wanted)
    # parts of another size do not fit, so the work is done again, and the user is told
    lines: list[str] = []
    again = PartitionedEstimator(text, FAST, workers=1, part_cells=300, report=lines.append)
    assert_same(again.run(Checkpoint(path, "mine")), wanted)
    assert any(line.startswith("the checkpoint does not fit, training starts anew") for line in lines)


def test_an_interrupted_iteration_keeps_the_state_before_it(tmp_path: Path, monkeypatch):
    text = encode_text(long_text(60))
    path = tmp_path / "checkpoint.npz"
    wanted = PartitionedEstimator(text, FAST, workers=1, part_cells=500).run()
    estimator = PartitionedEstimator(text, FAST, workers=1, part_cells=500)
    whole_pass = estimator._next_counts

    def counted_pass(counts: PartitionedCounts, floor: float, step: EStep) -> PartitionedCounts:
        counts = whole_pass(counts, floor, step)
        if not remaining:
            raise KeyboardInterrupt
        remaining.pop()
        return counts

    remaining = list(range(FAST.model1_iterations))
    monkeypatch.setattr(estimator, "_next_counts", counted_pass)
    with pytest.raises(KeyboardInterrupt):
        estimator.run(Checkpoint(path, "mine"))
    resumed = PartitionedEstimator(text, FAST, workers=1, part_cells=500)
    monkeypatch.delattr(EMIterations, "_initial_state")
    assert_same(resumed.run(Checkpoint(path, "mine")), wanted)


def test_counts_take_little_memory(monkeypatch):
    monkeypatch.setattr("nmtalign.corpus.buckets.MAX_BUCKET_CELLS", 5_000)
    random = np.random.default_rng(1)
    words = np.array([f"{number:x}" for number in range(3_000)])
    sentences = [random.choice(words, 20).tolist() for _ in range(400)]
    text = encode_text(list(zip(sentences[::2], sentences[1::2], strict=True)))
    hyperparameters = Hyperparameters(forms=(0, 2), model1_iterations=2, hmm_iterations=0)

    def peak(learned: Callable[[], object]) -> int:
        tracemalloc.start()
        learned()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    PartitionedEstimator(text, hyperparameters, workers=1, part_cells=5_000).run()  # caches what both need
    in_memory = peak(Estimator(text, hyperparameters, workers=1).run)
    estimator = PartitionedEstimator(text, hyperparameters, workers=1, part_cells=5_000)
    initial = estimator._initial_state
    assert peak(initial) < in_memory / 2


# --- the whole of learning -----------------------------------------------------------------------


@pytest.fixture
def little_memory(monkeypatch) -> None:
    """Let even small texts need more memory than they may use."""
    monkeypatch.setattr("nmtalign.training.encoded_bitext.BYTES_PER_TOKEN", 10**9)
    monkeypatch.setattr("nmtalign.training.encoded_bitext.MAX_PART_CELLS", 300)
    monkeypatch.setattr("nmtalign.corpus.sides.TOKENS_PER_BLOCK", 64)


def model_bytes(aligner: na.Aligner, folder: Path) -> dict[str, bytes]:
    aligner.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("options", [{}, {"preset": "fast", "tokenizer": "simple"}])
def test_the_model_is_the_same(tmp_path: Path, little_memory, options):
    bitext = [(" ".join(source), " ".join(target)) for source, target in long_text(60)]
    bitext.append((" ".join(["ba1"] * 260), " ".join(["cab2"] * 250)))  # is split into sections
    bitext.append(("", "ba1"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("nmtalign.training.encoded_bitext.BYTES_PER_TOKEN", 1)
        wanted = na.train(bitext, memory="1G", **options)
    found = na.train(bitext, memory="1G", **options)
    assert model_bytes(found, tmp_path / "found") == model_bytes(wanted, tmp_path / "wanted")


def test_no_files_are_left(tmp_path: Path, little_memory, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    na.train(toy_bitext(30).words, preset="fast", memory="1G")
    assert list(tmp_path.iterdir()) == []


def test_a_bound_that_the_words_exceed(little_memory, monkeypatch):
    monkeypatch.setattr("nmtalign.training.encoded_bitext.BYTES_PER_WORD", 10**9)
    with pytest.raises(UsageError, match=r"`memory` is too small: .* pairs of .* distinct words need .*M"):
        na.train(toy_bitext(30).words, memory="1G")


def test_parts_become_smaller_with_less_memory():
    text = encode_text(long_text(20))
    sides = text.source, text.target
    assert cells_of_parts(*sides, 300 * 10**6, 1) < cells_of_parts(*sides, 500 * 10**6, 1)
    assert cells_of_parts(*sides, 400 * 10**6, 2) < cells_of_parts(*sides, 400 * 10**6, 1)
    assert fits_in_memory(*sides, 300 * 10**6)
    assert fits_in_memory(*sides, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("4G", 4 * 10**9),
        ("4GB", 4 * 10**9),
        ("4 G", 4 * 10**9),
        ("4gb", 4 * 10**9),
        ("0.5G", 500_000_000),
        ("1.5GiB", 3 * 2**29),
        ("1500M", 1_500_000_000),
        ("2T", 2 * 10**12),
        ("900000K", 900_000_000),
        ("4000000000", 4 * 10**9),
        (4_000_000_000, 4 * 10**9),
    ],
)
def test_sizes_are_read(value, expected: int):
    assert memory_bytes(value) == expected


@pytest.mark.parametrize(
    "value", ["", "G", "4X", "4Gb it", "-4G", "1e9", "4,5G", "half", "iB", "4iB", True, 4.5, [4]]
)
def test_other_sizes_are_rejected(value):
    with pytest.raises(UsageError, match="expected a number of bytes as `memory`, such as 4G"):
        memory_bytes(value)


@pytest.mark.parametrize("value", ["4", "10M", "0G", 0])
def test_sizes_below_that_of_the_program_are_rejected(value):
    with pytest.raises(UsageError, match="`memory` must be at least 200M, which the program needs"):
        memory_bytes(value)


def test_the_default_is_a_part_of_the_machine():
    memory = default_memory()
    assert memory is None or memory >= 200_000_000


# --- arrays in temporary files -------------------------------------------------------------------


def test_arrays_are_written_and_read_in_part():
    file = TemporaryArrays()
    table = file.append(np.arange(12).reshape(6, 2))
    zeros = file.reserve(5, np.float32)
    file.write(zeros, np.ones(2, np.float32), 1)
    np.testing.assert_array_equal(file.read(table), np.arange(12).reshape(6, 2))
    np.testing.assert_array_equal(file.read(table, 2, 4), [[4, 5], [6, 7]])
    np.testing.assert_array_equal(file.read(zeros), [0, 1, 1, 0, 0])
    np.testing.assert_array_equal(file.read(file.append(np.zeros(0))), [])


def test_without_positioned_reads_and_writes(monkeypatch):
    monkeypatch.delattr(os, "preadv", raising=False)
    monkeypatch.delattr(os, "pwrite", raising=False)
    test_arrays_are_written_and_read_in_part()


def test_mapped_arrays_stay_when_they_are_released():
    array = on_disk(np.arange(10_000))
    array[3] = 7
    release(array[2:5])
    release(np.arange(3))
    assert array[2:5].tolist() == [2, 7, 4]
    assert on_disk(np.zeros((0, 2))).shape == (0, 2)


def test_a_full_disk_is_named(monkeypatch):
    def full(*given: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left") as caught:
        TemporaryArrays().append(np.ones(3))
    assert caught.value.filename == tempfile.gettempdir()


def test_stored_buckets_are_those_in_memory():
    text = encode_text(long_text(200))
    buckets = make_buckets(text.source, text.target)
    stored = store_buckets(text.source, text.target)
    assert stored.cell_counts == [bucket.cell_count for bucket in buckets]
    for one, other in zip([*stored, *stored[::2]], [*buckets, *buckets[::2]], strict=True):
        for name in ("sections", "source", "target", "source_lengths", "target_lengths"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
