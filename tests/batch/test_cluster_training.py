"""TrainingResult on a dask cluster: the model of one machine, to rounding, also when a worker dies."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nmtalign.aligner.aligner import load_aligner
from nmtalign.aligner.training_settings import TrainingSettings
from nmtalign.aligner.training_steps import TrainingResult, train_aligner
from nmtalign.batch.cluster import ClusterProcesses
from nmtalign.cli import main
from nmtalign.progress import Progress, open_reporter
from nmtalign.text.bitext import read_bitext
from nmtalign.training.distributed import DistributedBackend
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from tests.aligner.toy_language import toy_bitext

pytest.importorskip("distributed")

TOY = toy_bitext(250, vocabulary=300, longest=25)
CELLS = 7_500  # of a shard, so that there are several


def by_cluster(client, pairs, *, cells: int = CELLS, **options) -> TrainingResult:
    place = partial(DistributedBackend, processes=ClusterProcesses(client), cells=cells)
    return train_aligner(pairs, TrainingSettings(make_backend=place, **options))


def assert_same_model(one, other) -> None:
    assert one.lexicon.source_words == other.lexicon.source_words
    assert one.lexicon.target_words == other.lexicon.target_words
    for a, b in zip(one.lexicon.forms, other.lexicon.forms, strict=True):
        shared = np.intersect1d(a.keys, b.keys)
        assert len(shared) > 0.9999 * max(len(a.keys), len(b.keys))  # the smallest counts are dropped
        counts = (kind.counts[np.searchsorted(kind.keys, shared)] for kind in (a, b))
        np.testing.assert_allclose(*counts, rtol=1e-5, atol=1e-6)
    for a, b in zip(one.positions.jump_models, other.positions.jump_models, strict=True):
        np.testing.assert_allclose(a.tables, b.tables, rtol=1e-5, atol=1e-8)


def links(training: TrainingResult) -> list[tuple[np.ndarray, ...]]:
    batch = training.align()
    return [batch.offsets, batch.source, batch.target]


@pytest.fixture(scope="module")
def alone() -> TrainingResult:
    return train_aligner(TOY.pairs, TrainingSettings(PRESET_HYPERPARAMETERS["fast"], workers=1))


def test_the_model_is_that_of_one_machine(client, alone):
    found = by_cluster(client, TOY.pairs, hyperparameters=PRESET_HYPERPARAMETERS["fast"])
    assert_same_model(alone.aligner, found.aligner)
    assert found.aligner.training == alone.aligner.training
    for a, b in zip(links(alone), links(found), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_killed_worker_costs_nothing_but_time(client, alone):
    killed: list[int] = []

    def killing(progress: Progress) -> None:
        if progress.message.startswith("hidden Markov model, iteration 1"):
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    undisturbed = by_cluster(client, TOY.pairs, hyperparameters=PRESET_HYPERPARAMETERS["fast"])
    found = by_cluster(
        client,
        TOY.pairs,
        hyperparameters=PRESET_HYPERPARAMETERS["fast"],
        progress=open_reporter(killing, stage="reading"),
    )
    assert killed
    for a, b in zip(undisturbed.aligner.lexicon.forms, found.aligner.lexicon.forms, strict=True):
        np.testing.assert_array_equal(a.keys, b.keys)
        np.testing.assert_array_equal(a.counts, b.counts)


def test_the_command_writes_the_same_links(client, tmp_path, capsys):
    for name, lines in (("source", TOY.source), ("target", TOY.target)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    sides = [str(tmp_path / name) for name in ("source", "target")]
    engines = {"local": [], "dask": ["--engine", "dask", "--scheduler", client.scheduler.address]}
    for engine, options in engines.items():
        outputs = ["-o", str(tmp_path / f"{engine}.model"), "--links", str(tmp_path / f"{engine}.links")]
        assert run("train", *sides, *outputs, "--preset", "fast", *options) == 0
    assert_same_model(*(load_aligner(tmp_path / f"{engine}.model") for engine in engines))
    found = [(tmp_path / f"{engine}.links").read_bytes() for engine in engines]
    assert found[0] == found[1]
    assert found[0].count(b"\n") == len(TOY.source)
    assert run("train", "-", sides[1], "-o", str(tmp_path / "m"), "--links", "x", *engines["dask"]) == 2
    assert "standard input" in capsys.readouterr().err


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_a_real_bitext(client, shared_data: Path):
    folder = shared_data / "bitext" / "europarl_deen"
    sides = sorted(folder.glob("*.de*"))[0], sorted(folder.glob("*.en*"))[0]
    pairs = [pair for _, pair in zip(range(200), read_bitext(*sides), strict=False)]
    one = train_aligner(pairs, TrainingSettings(PRESET_HYPERPARAMETERS["fast"], workers=2))
    other = by_cluster(client, pairs, cells=1 << 16, hyperparameters=PRESET_HYPERPARAMETERS["fast"])
    assert_same_model(one.aligner, other.aligner)
    for a, b in zip(links(one), links(other), strict=True):
        np.testing.assert_array_equal(a, b)
