"""nmtalign train, killed at one place after another: the same command goes on to the same bytes."""

from __future__ import annotations

import io
import os
import re
import signal
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtalign.cli import main
from nmtalign.cli.commands import train_command
from nmtalign.corpus.text import encode_text
from nmtalign.training import checkpoint
from nmtalign.training.checkpoint import Checkpoint, TrainingRun, checkpoint_of
from nmtalign.training.em import (
    PRESET_HYPERPARAMETERS,
    EMIterations,
    EMState,
    Estimator,
    Hyperparameters,
)
from nmtalign.training.prior import Prior
from tests.aligner.toy_language import toy_bitext
from tests.cli.running import exit_code, fork, run
from tests.corpus.encoded_sides import encode_side
from tests.corpus.test_parallel import needs_fork

TOY = toy_bitext(80)
OPTIONS = ("--workers", "1")


def killed(arguments: Sequence[object], owner: Any, name: str, number: int) -> bool:
    """Run the program in a process; return whether a call of a function killed it, by its number."""
    whole, calls = getattr(owner, name), count(1)

    def deadly(*given: Any, **named: Any) -> Any:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(*given, **named)

    def program() -> None:
        checkpoint.SECONDS_BETWEEN_CHECKPOINTS = 0.0
        setattr(owner, name, deadly)
        main([str(argument) for argument in arguments])

    return exit_code(fork(program)) == -signal.SIGKILL


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return TOY.write(tmp_path_factory.mktemp("bitext"))


@pytest.fixture(scope="module")
def undisturbed(bitext, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    assert run("train", *bitext, "-o", folder, "-q", *OPTIONS) == 0
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    return contents(folder)


@needs_fork
@pytest.mark.parametrize(
    ("owner", "name", "states", "told"),
    [
        (Estimator, "_hmm_iteration", ["checkpoint.npz", "run.json"], "iteration 3 of"),
        (Estimator, "_model1_iteration", ["checkpoint.npz", "run.json"], "model 1, iteration 3 of"),
        (os, "replace", [".partial-checkpoint.npz", "checkpoint.npz", "run.json"], "iteration 2 of"),
    ],
)
def test_a_killed_run_goes_on(
    bitext, undisturbed, tmp_path: Path, capsys, owner, name: str, states, told: str
):
    model = tmp_path / "model"
    arguments = ["train", *bitext, "-o", model, *OPTIONS]
    assert killed(arguments, owner, name, 3)
    left = sorted(path.name for path in (tmp_path / "model.state").iterdir())
    assert [re.sub("-[0-9a-f]{32}-", "-", name) for name in left] == states
    assert not model.exists()
    capsys.readouterr()
    assert run(*arguments) == 0
    err = capsys.readouterr().err
    assert told in err
    assert "jump pass 1 of" not in err
    assert contents(model) == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_state_belongs_to_a_text_its_settings_and_what_is_known():
    source, target = encode_side([["a", "b"], ["c"]]), encode_side([["x"], ["y", "z"]])
    array = np.arange(3.0)
    others = [
        (Hyperparameters(), None, None),
        (Hyperparameters(seed=1), None, None),
        (replace(Hyperparameters(), forms=(0, 4)), None, None),
        (Hyperparameters(), Prior([("a", "x", 1.0)]), None),
        (Hyperparameters(), Prior([("a", "x", 2.0)]), None),
        (Hyperparameters(), None, [array, array]),
        (Hyperparameters(), None, [array, array + 1]),
    ]
    keys = {checkpoint_of("nowhere", source, target, *given).key for given in others}
    keys.add(checkpoint_of("nowhere", target, source, *others[0]).key)
    assert len(keys) == len(others) + 1
    assert checkpoint_of("nowhere", source, target, *others[0]).key in keys
    assert checkpoint_of(None, source, target, Hyperparameters()) is None


def test_a_state_belongs_to_a_version_of_the_program(bitext, tmp_path: Path, monkeypatch):
    side = encode_side([["a"]])
    key = checkpoint_of("nowhere", side, side).key
    TrainingRun(tmp_path / "model.state", "command").start()
    (tmp_path / "model.state" / "checkpoint.npz").write_bytes(b"of this version")
    assert TrainingRun(tmp_path / "model.state", "command").has_progress
    monkeypatch.setattr("nmtalign.training.checkpoint.__version__", "another")
    assert not TrainingRun(tmp_path / "model.state", "command").has_progress
    assert checkpoint_of("nowhere", side, side).key != key


def test_links_are_written_without_a_model(bitext, tmp_path: Path, undisturbed, capsys):
    links = tmp_path / "links"
    assert run("train", *bitext, "--links", links, *OPTIONS) == 0
    err = capsys.readouterr().err
    assert "checkpoints" not in err
    assert "--model" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["links"]
    assert run("train", *bitext, "-o", tmp_path / "model", "--links", tmp_path / "same", *OPTIONS) == 0
    assert links.read_bytes() == (tmp_path / "same").read_bytes()
    assert run("train", *bitext, *OPTIONS) == 2
    assert "nothing to write" in capsys.readouterr().err


def test_no_recommended_command_replaces_a_file(bitext, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("report.html", "new_links.txt", "new_links_2.txt"):
        Path(name).write_text("precious")
    options = "-o", "model", "--links", "new_links_3.txt", *OPTIONS
    assert run("train", *bitext, *options) == 0
    said = capsys.readouterr().err
    recommended = re.findall(r"-o (\S+)", said)
    assert [name.rstrip(";") for name in recommended] == ["report_2.html", "new_links_4.txt"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Estimator, Any, bytes]:
    """An estimator, its result, and its last checkpoint."""
    path = tmp_path_factory.mktemp("finished") / "checkpoint.npz"
    text = encode_text(toy_bitext(20).words)
    estimator = Estimator(text, PRESET_HYPERPARAMETERS["fast"], workers=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checkpoint, "SECONDS_BETWEEN_CHECKPOINTS", 0)
        wanted = estimator.run(Checkpoint(path, "mine"))
        patched.delattr(EMIterations, "_initial_state")  # the state that was written is taken
        patched.delattr(EMIterations, "_hmm_iteration")
        estimator.run(Checkpoint(path, "mine"))
    return estimator, wanted, path.read_bytes()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("links", lambda array: array[:-1]),
        ("links", lambda array: -array),
        ("source_null", lambda array: array.astype(np.float16)),
        ("target_null", lambda array: array * np.nan),
        ("tables_0", lambda array: array[:, :-1]),
        ("tables_1", lambda array: array * 2**31),
        ("classes_1", lambda array: array + 10**9),
        ("done", lambda array: array + 99),
        ("model1_done", lambda array: array + 99),
        ("log_likelihood", lambda array: None),
    ],
)
def test_a_state_that_does_not_fit_is_made_again(finished, tmp_path: Path, name: str, changed):
    estimator, wanted, content = finished
    path = tmp_path / "checkpoint.npz"
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    arrays[name] = changed(arrays[name])
    np.savez(path, **{key: array for key, array in arrays.items() if array is not None})
    found = estimator.run(Checkpoint(path, "mine"))
    for one, other in zip(found.lexicon.counts_of_kinds, wanted.lexicon.counts_of_kinds, strict=True):
        np.testing.assert_array_equal(one.keys, other.keys)
        np.testing.assert_array_equal(one.counts, other.counts)


@pytest.fixture(scope="module")
def undisturbed_links(bitext, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("links")
    assert run("train", *bitext, "-o", folder / "model", "--links", folder / "links", "-q", *OPTIONS) == 0
    return (folder / "links").read_bytes()


def stop_before_the_links(bitext, model: Path, links: Path) -> list[object]:
    """Kill a run that has saved its model and not yet written its links; return the command."""
    arguments = ["train", *bitext, "-o", model, "--links", links, *OPTIONS]
    assert killed(arguments, train_command, "_write_links", 1)
    assert model.is_dir()
    assert not links.exists()
    return arguments


@needs_fork
def test_the_links_are_written_by_the_same_command_after_the_model_was_saved(
    bitext, undisturbed, undisturbed_links, tmp_path: Path
):
    arguments = stop_before_the_links(bitext, tmp_path / "model", tmp_path / "links")
    assert run(*arguments) == 0
    assert contents(tmp_path / "model") == undisturbed
    assert (tmp_path / "links").read_bytes() == undisturbed_links
    assert sorted(path.name for path in tmp_path.iterdir()) == ["links", "model"]


@needs_fork
def test_another_command_does_not_replace_the_model_of_a_stopped_run(bitext, tmp_path: Path, capsys):
    model = tmp_path / "model"
    arguments = stop_before_the_links(bitext, model, tmp_path / "links")
    before = contents(model)
    assert run(*arguments, "--preset", "fast") == 2
    assert "contains a model" in capsys.readouterr().err
    assert contents(model) == before
    assert run(*arguments) == 0


@needs_fork
def test_a_stopped_run_does_not_replace_a_model_that_came_later(bitext, tmp_path: Path, capsys):
    model = tmp_path / "model"
    arguments = stop_before_the_links(bitext, model, tmp_path / "links")
    (model / "meta.json").write_text((model / "meta.json").read_text() + "\n")
    assert run(*arguments) == 2
    assert "contains a model" in capsys.readouterr().err


def interrupt(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_run_without_a_checkpoint_leaves_nothing(bitext, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(Estimator, "run", interrupt)
    assert run("train", *bitext, "-o", tmp_path / "model") == 1
    why = "the first checkpoint is written after the first iteration"
    assert capsys.readouterr().err.endswith(f"error: interrupted, nothing is kept yet: {why}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_interrupted_after_the_model_was_saved_says_so(
    bitext, tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.setattr("nmtalign.cli.commands.train_command._write_links", interrupt)
    model = tmp_path / "model"
    assert run("train", *bitext, "-o", model, "--links", tmp_path / "links", "--preset", "fast") == 4
    kept = f"the model in {model} is complete; the same command resumes the run"
    assert capsys.readouterr().err.endswith(f"error: interrupted\nnmtalign: {kept}\n")


def test_a_run_that_is_interrupted_after_its_files_were_written_calls_none_of_them_lost(
    bitext, tmp_path: Path, monkeypatch, capsys
):
    model, links = tmp_path / "model", tmp_path / "links"
    remove = TrainingRun.remove

    def remove_and_stop(run: TrainingRun) -> None:
        remove(run)
        if model.exists():  # the first call is at the beginning of the run
            raise KeyboardInterrupt

    monkeypatch.setattr(TrainingRun, "remove", remove_and_stop)
    assert run("train", *bitext, "-o", model, "--links", links, "--preset", "fast") == 1
    assert capsys.readouterr().err.endswith("error: interrupted\n")
    assert sorted(tmp_path.iterdir()) == [links, model]


def test_links_that_are_called_lost_are_not_there(bitext, tmp_path: Path, monkeypatch, capsys):
    write = train_command._write_links
    monkeypatch.setattr(train_command, "_write_links", lambda *given: (write(*given), interrupt()))
    assert run("train", *bitext, "--links", tmp_path / "links", "--preset", "fast") == 1
    assert capsys.readouterr().err.endswith("error: interrupted, nothing is kept; -o DIR keeps checkpoints\n")
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_interrupted_in_an_iteration_keeps_the_ones_before(
    bitext, undisturbed, tmp_path: Path, monkeypatch, capsys
):
    """No checkpoint is due in so short a run: the interrupt itself writes the only one."""
    iterate = Estimator._hmm_iteration
    iterations: list[int] = []

    def interrupted_in_the_third(self: Estimator, state: EMState) -> EMState:
        iterations.append(state.hmm_iterations)
        if len(iterations) == 3:
            raise KeyboardInterrupt
        return iterate(self, state)

    model = tmp_path / "model"
    with monkeypatch.context() as patched:
        patched.setattr(Estimator, "_hmm_iteration", interrupted_in_the_third)
        assert run("train", *bitext, "-o", model, *OPTIONS) == 4
    assert "is kept in" in capsys.readouterr().err
    assert iterations == [0, 1, 2]
    assert sorted(path.name for path in (tmp_path / "model.state").iterdir()) == [
        "checkpoint.npz",
        "run.json",
    ]

    monkeypatch.delattr(EMIterations, "_initial_state")  # the state of the checkpoint is taken
    assert run("train", *bitext, "-o", model, *OPTIONS) == 0
    assert "iteration 3 of" in capsys.readouterr().err
    assert contents(model) == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_checkpoint_of_another_command_does_not_promise_that_the_run_is_resumed(
    bitext, tmp_path: Path, monkeypatch
):
    TrainingRun(tmp_path / "model.state", "another command").start()
    (tmp_path / "model.state" / "checkpoint.npz").write_bytes(b"of another command")
    monkeypatch.setattr(Estimator, "run", interrupt)
    assert run("train", *bitext, "-o", tmp_path / "model") == 1


def test_other_files_beside_a_state_are_left_alone(tmp_path: Path):
    for name in ("checkpoint.npz", "run.json", "thesis.tex"):
        (tmp_path / name).write_text("important")
    TrainingRun(tmp_path, "command").remove()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    TrainingRun(tmp_path / "nothing", "command").remove()
