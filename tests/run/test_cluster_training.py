"""Training on a dask cluster: the bytes of one machine, also when workers die."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import TrainingResult, train_aligner
from nmtalign.cli import main
from nmtalign.errors import WorkerError
from nmtalign.run.cluster import ClusterStore, lost_cluster_as_error
from nmtalign.training import partitioned
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.training.prior import Prior
from nmtalign.training.result_store import LostResultError
from tests.aligner.batches import training_links
from tests.aligner.toy_language import toy_bitext, training_job
from tests.training.exchange import check_exchange

pytest.importorskip("distributed")

TOY = toy_bitext(250, vocabulary=300, longest=25)
PRIOR = Prior([("w1", "u2", 3.0), ("new", "neu", 1.0)])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch) -> None:
    """Let a small text have several parts and ranges."""
    monkeypatch.setattr("nmtalign.training.encoded_bitext.CLUSTER_PART_CELLS", 15_000)


def settings(**options: Any) -> TrainingJob:
    return training_job(PRESET_HYPERPARAMETERS["fast"], workers=1, **options)


def model_bytes(training: TrainingResult, folder: Path) -> dict[str, bytes]:
    training.aligner.save(folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, bytes]:
    """The files of the model that one machine learns."""
    return model_bytes(train_aligner(TOY.pairs, settings()), tmp_path_factory.mktemp("alone") / "model")


def test_slices_reach_their_receivers(client):
    check_exchange(ClusterStore(client))


class CountingStore(ClusterStore):
    """Passes the name of each function to `on_call` before it is called."""

    def __init__(self, client, on_call: Callable[[str], None]) -> None:
        super().__init__(client)
        self.on_call = on_call

    def call(self, function, calls, paths):
        self.on_call(function.__name__)
        return super().call(function, calls, paths)


def test_the_model_is_that_of_one_machine(client, alone, tmp_path):
    called = []
    found = train_aligner(TOY.pairs, settings(store=CountingStore(client, called.append)))
    assert model_bytes(found, tmp_path / "model") == alone
    passes = 1 + 2 + 2
    assert called.count("counts_of_part") == called.count("sum_range") == passes
    assert called.count("number_part") == called.count("linked_pairs_of_range") == 1
    batch, wanted = training_links(found), training_links(train_aligner(TOY.pairs, settings()))
    np.testing.assert_array_equal(batch.offsets, wanted.offsets)
    np.testing.assert_array_equal(batch.source, wanted.source)


def test_priors_and_rare_pairs(client, tmp_path, monkeypatch):
    monkeypatch.setattr("nmtalign.corpus.word_pairs.MAX_UNSHARED_CELLS", 1000)
    wanted = train_aligner(TOY.pairs, settings(prior=PRIOR))
    found = train_aligner(TOY.pairs, settings(prior=PRIOR, store=ClusterStore(client)))
    assert model_bytes(found, tmp_path / "found") == model_bytes(wanted, tmp_path / "wanted")


def kill_a_worker(client) -> None:
    """Kill the worker that keeps most results; another process takes its place."""
    processes = client.run(os.getpid)
    kept = client.has_what()
    address = max(processes, key=lambda worker: len(kept.get(worker, ())))
    os.kill(processes[address], signal.SIGKILL)


# before, in and after EM
KILLED_AT = [("merge_slices", 1), ("ratios_of_range", 4), ("linked_pairs_of_range", 1)]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_workers_cost_nothing_but_time(client, alone, tmp_path):
    called: list[str] = []
    killed: list[tuple[str, int]] = []

    def kill_at_some_calls(name: str) -> None:
        called.append(name)
        call = name, called.count(name)
        if call in KILLED_AT:
            killed.append(call)
            kill_a_worker(client)

    found = train_aligner(TOY.pairs, settings(store=CountingStore(client, kill_at_some_calls)))
    assert killed == KILLED_AT
    client.wait_for_workers(1)  # for the tests that follow
    assert called.count("number_part") > 1  # the parts were made again
    assert model_bytes(found, tmp_path / "model") == alone


def test_a_task_that_kills_its_workers_is_given_up_at_once(client):
    """Unlike a lost result, after which training makes all again; killing workers would break other tests."""
    from distributed import KilledWorker

    with (
        pytest.raises(WorkerError, match="several workers died while they worked on the same task") as caught,
        lost_cluster_as_error(client),
    ):
        raise KilledWorker("task", "worker", 3)
    assert not isinstance(caught.value, LostResultError)


def test_a_cluster_that_always_loses_results_is_given_up(client, monkeypatch):
    class Losing(ClusterStore):
        def read(self, handles):
            raise LostResultError("a worker was lost")

    monkeypatch.setattr(partitioned, "MAX_LOSSES", 2)
    with pytest.raises(WorkerError, match="workers died 2 times in one step"):
        train_aligner(TOY.pairs, settings(store=Losing(client)))


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_the_command_writes_the_same_files(client, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("nmtalign.training.encoded_bitext.CLUSTER_PART_CELLS", 50_000)  # fewer tasks
    for name, lines in (("source", TOY.source), ("target", TOY.target)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    sides = [str(tmp_path / name) for name in ("source", "target")]
    engines = {"local": [], "dask": ["--engine", "dask", "--scheduler", client.scheduler.address]}
    found = {}
    for engine, options in engines.items():
        outputs = ["-o", str(tmp_path / f"{engine}.model"), "--links", str(tmp_path / f"{engine}.links")]
        assert run("train", *sides, *outputs, "--preset", "fast", *options) == 0
        files = sorted((tmp_path / f"{engine}.model").iterdir())
        found[engine] = [(tmp_path / f"{engine}.links").read_bytes(), *(file.read_bytes() for file in files)]
    assert found["dask"] == found["local"]
    assert found["dask"][0].count(b"\n") == len(TOY.source)
    assert run("train", "-", sides[1], "-o", str(tmp_path / "m"), "--links", "x", *engines["dask"]) == 2
    assert "standard input" in capsys.readouterr().err
